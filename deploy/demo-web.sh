#!/bin/sh
# Runs `crivello simweb` for other containers. First adds all addresses of the network in
# deploy/demo-web.json to the container's network namespace, then drops all privileges.
set -eu

sites=10.93.128.0/17

if ! ip route replace local "$sites" dev lo; then
    echo "demo-web: cannot add $sites: this container needs NET_ADMIN (cap_add)" >&2
    exit 64
fi
exec setpriv --reuid=10001 --regid=10001 --clear-groups --inh-caps=-all --bounding-set=-all \
    crivello simweb --spec /usr/share/crivello/demo-web.json --access-log /data/access.log --insecure
