#!/bin/sh
# Runs one agent in a container: chooses its directory, its name and its address. Arguments are passed to
# `crivello agent`.
#
# All agents of a Compose project share the volume on /data. Each takes the first free slot of it:
# /data/agent-1, agent-2 and so on. A volume for each container would not work: Compose can give replicas
# only anonymous volumes, which `docker compose down` leaves behind without names, with archives in them, and
# a new container would not find the state of the previous one. A slot outlives its container. The container
# that takes the slot of a killed agent continues that agent, under the name that the coordinator knows.
#
# The lock ends with the process that holds it, so nothing has to be cleaned up after a kill. It works
# between containers of one machine, which is where Compose runs them. On several machines each agent needs
# its own volume, as in deploy/kubernetes/; then set CRIVELLO_SLOT.
set -eu

root=${CRIVELLO_DATA:-/data}
port=${CRIVELLO_PORT:-7070}

say() { echo "crivello-agent: $*" >&2; }

if [ ! -w "$root" ]; then
    say "user $(id -u) cannot write to $root: mount a volume there that belongs to this user"
    exit 64
fi

# Takes a slot if it is free. The descriptor, and with it the lock, stays open across `exec`.
take() {
    exec 9>>"$root/.$1.lock"
    flock --nonblock 9
}

host=$(hostname)
name=${CRIVELLO_SLOT:-}
if [ -z "$name" ]; then
    # Prefers the slot that this container had before a restart. Until that agent's lease expires, the
    # coordinator reserves this container's address for it, and rejects another agent there.
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

# The address is a host name, because an IP address may belong to another container a second after this one
# has ended, while the coordinator still assigns it to this agent. The host name is unique to the container
# and resolves on every network that it shares with other containers.
exec crivello agent \
    --data "$root/$name" \
    --name "$name" \
    --listen "0.0.0.0:$port" \
    --advertise "${CRIVELLO_ADVERTISE:-$host:$port}" \
    "$@"
