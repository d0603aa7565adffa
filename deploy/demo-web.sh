#!/bin/sh
# Runs `crivello simweb` for other containers. It serves 127.0.0.0/8 on the loopback device, where
# nobody else can see it, so:
#
#   10.93.128.0/17 are this machine's addresses, and are translated to 127.1.0.0/17 and on
#   the device of the container's network takes the name `lo`, to which simweb binds its socket
#   dnsmasq puts 10.93.128.x for 127.1.0.x into the answers of simweb's name server
#
# What the hosts see of their visitors (addresses of their own, one each) stays as it was, so the
# access log can be judged as any other. All of this is within the container's own network namespace.
set -eu

sites=10.93.128.0/17
spec=${CRIVELLO_WEB_SPEC:-/usr/share/crivello/demo-web.json}
log=${CRIVELLO_WEB_LOG:-/data/access.log}

say() { echo "demo-web: $*" >&2; }

if ! ip link set lo down; then
    say "the network cannot be set up: this container needs NET_ADMIN (cap_add)"
    exit 64
fi
if ! ip link set lo name loop0; then
    say "the kernel will not rename lo, so the simulated web cannot be reached from containers"
    exit 70
fi
ip link set loop0 up
ip link set eth0 down
ip link set eth0 name lo
ip link set lo up
ip route add local "$sites" dev loop0
iptables -t nat -A PREROUTING -d "$sites" -j NETMAP --to 127.1.0.0/17

dnsmasq --keep-in-foreground --no-resolv --no-hosts --server=127.0.0.1#5353 --cache-size=0 \
    --alias=127.1.0.0,10.93.128.0,255.255.128.0 --user=root --log-facility=- &

exec setpriv --reuid=10001 --regid=10001 --clear-groups --inh-caps=-all --bounding-set=-all \
    crivello simweb --spec "$spec" --access-log "$log"
