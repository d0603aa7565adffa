#!/bin/sh
# Runs `crivello simweb` for other containers: takes all addresses of the network that
# deploy/demo-web.json names for this one, within the container's own network namespace, and gives up
# the right to such things.
set -eu

sites=10.93.128.0/17

if ! ip route replace local "$sites" dev lo; then
    echo "demo-web: $sites cannot be had: this container needs NET_ADMIN (cap_add)" >&2
    exit 64
fi
exec setpriv --reuid=10001 --regid=10001 --clear-groups --inh-caps=-all --bounding-set=-all \
    crivello simweb --spec /usr/share/crivello/demo-web.json --access-log /data/access.log --insecure
