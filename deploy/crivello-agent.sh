#!/bin/sh
# Runs one agent in a container: finds it a directory, a name and an address. What is typed after it
# goes to `crivello agent`.
#
# All agents of a Compose project share the volume on /data, and each takes a slot of it:
# /data/agent-1, agent-2 and so on, the first that nobody holds. Why not a volume for each container:
# Compose can give replicas only anonymous ones, and `docker compose down` leaves these behind,
# nameless, with archives in them; nor does anything lead from the container that is made next to the
# state of the one before. A slot outlives any container. An agent that was killed is continued by
# whoever takes its slot, with its name, under which the coordinator knows it.
#
# The lock is of the kind that ends with the process that holds it, so there is nothing to clean up
# after a kill. It holds between the containers of one machine, as Compose has them. On several
# machines each agent needs a volume of its own, as in deploy/kubernetes/: then set CRIVELLO_SLOT.
set -eu

root=${CRIVELLO_DATA:-/data}
port=${CRIVELLO_PORT:-7070}

say() { echo "crivello-agent: $*" >&2; }

if [ ! -w "$root" ]; then
    say "$root cannot be written by user $(id -u): mount a volume there that belongs to that user"
    exit 64
fi

# Takes a slot if nobody holds it. The descriptor stays open across `exec`, and the lock with it.
take() {
    exec 9>>"$root/.$1.lock"
    flock --nonblock 9
}

host=$(hostname)
name=${CRIVELLO_SLOT:-}
if [ -z "$name" ]; then
    # The one that this container had before it was started again: for the length of a lease the
    # coordinator takes its address for that agent's, and lets no other agent have it.
    last=$(grep -lsx "$host" "$root"/.agent-*.lock | head -n 1) || true
    if [ -n "$last" ]; then
        name=$(basename "$last" .lock)
        name=${name#.}
        take "$name" || name=
    fi
fi
if [ -z "$name" ]; then
    n=1
    while name=agent-$n && ! take "$name"; do
        n=$((n + 1))
    done
fi
if [ -z "${CRIVELLO_SLOT:-}" ]; then
    echo "$host" >"$root/.$name.lock"
fi
say "slot $root/$name"

# The host name is the container's own on every network that it shares with others, whichever
# address it has there; an address may belong to another container a second after this one is gone,
# while the coordinator still takes it for this one's.
exec crivello agent \
    --data "$root/$name" \
    --name "$name" \
    --listen "0.0.0.0:$port" \
    --advertise "${CRIVELLO_ADVERTISE:-$host:$port}" \
    "$@"
