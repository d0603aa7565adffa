#!/bin/bash
# Tries docker-compose.yml with the Docker engine of this machine: a simulated web is crawled while
# agents are added, stopped and killed, and its access log is then compared with that of one agent
# that crawled the same web alone.
#
#   deploy/try-compose.sh              with target/release/crivello (or CRIVELLO_BINARY)
#
# Takes some six minutes. Everything it makes is gone afterwards, with the exception of the base
# image. Where there is no engine it says so and does nothing (with CRIVELLO_TEST_NO_SKIP: fails).
# COMPOSE chooses between several Composes: COMPOSE=docker-compose deploy/try-compose.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

project=crivello-try
binary=${CRIVELLO_BINARY:-target/release/crivello}
# The same as in deploy/demo.toml.
delay=2 ip_delay=0.2
# Of a kill: what was in flight, and in the open commit.
repeats_max=100
seeds=(http://h0.site0.test:8080/ http://h0.site1.test:8080/)

say() { printf '== %s\n' "$*"; }
fail() {
    printf 'try-compose: %s\n' "$*" >&2
    exit 1
}
skip() {
    [[ -n "${CRIVELLO_TEST_NO_SKIP:-}" ]] && fail "$*"
    printf 'try-compose: SKIPPED: %s\n' "$*"
    exit 0
}

command -v docker >/dev/null || skip "no docker command (Debian: apt-get install docker.io)"
why=$(docker info --format '{{.ServerVersion}}' 2>&1) || skip "no Docker engine: ${why##*$'\n'}"
say "Docker engine ${why##*$'\n'}"
if [[ -n "${COMPOSE:-}" ]]; then
    read -ra compose <<<"$COMPOSE"
elif docker compose version >/dev/null 2>&1; then
    compose=(docker compose)
elif command -v docker-compose >/dev/null; then
    compose=(docker-compose)
else
    skip "no Compose (Debian: apt-get install docker-compose)"
fi
say "$("${compose[@]}" version --short 2>/dev/null | sed 's/^/Compose /')"
[[ -x "$binary" ]] || fail "no program at $binary: type  make build  or name one in CRIVELLO_BINARY"

work=$(mktemp -d)
compose+=(--project-name "$project")
# For every command below: `down` would leave what belongs to a profile that is not named.
export COMPOSE_PROFILES=demo
export CRIVELLO_IMAGE=$project
# Whatever a .env says.
export CRIVELLO_CONFIG=./deploy/demo.toml
# Any port that is free.
export CRIVELLO_HTTP_PORT=
events=
nameless() { docker image ls --quiet --no-trunc --filter dangling=true | sort; }
nameless >"$work/nameless"
# Whatever was left by a run that was killed.
clean() {
    "${compose[@]}" down --volumes --remove-orphans >"$work/down" 2>&1 || cat "$work/down" >&2
    docker image rm --force "$project" "$project-web" >/dev/null 2>&1 || true
    # The first stage, which a builder without BuildKit leaves behind without a name.
    comm -13 "$work/nameless" <(nameless) | xargs --no-run-if-empty docker image rm --force >/dev/null 2>&1 || true
}
finish() {
    local code=$?
    [[ -z "$events" ]] || kill "$events" 2>/dev/null || true
    if ((code != 0)); then
        printf -- '-- the last that the containers said\n' >&2
        "${compose[@]}" logs --tail 15 >&2 2>/dev/null || true
    fi
    clean
    rm -rf "$work" deploy/prebuilt
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Without a registry, Debian's own packages make the base image.
base=debian:bookworm-slim
if ! docker image inspect "$base" >/dev/null 2>&1 && ! docker pull --quiet "$base" >/dev/null 2>&1; then
    base=crivello-base:bookworm
    if ! docker image inspect "$base" >/dev/null 2>&1; then
        command -v debootstrap >/dev/null ||
            skip "$base cannot be pulled nor made (Debian: apt-get install debootstrap)"
        ((EUID == 0)) || skip "no image can be pulled, and debootstrap takes root to make one"
        say "no image can be pulled: making $base with debootstrap"
        debootstrap --variant=minbase bookworm "$work/root" >"$work/debootstrap" 2>&1 ||
            { tail -5 "$work/debootstrap" >&2; fail "debootstrap failed"; }
        rm -rf "$work"/root/var/{cache/apt/archives,lib/apt/lists}/*
        tar -C "$work/root" -c . | docker import - "$base" >/dev/null
        rm -rf "$work/root"
    fi
fi
export CRIVELLO_BUILDER_IMAGE=$base CRIVELLO_RUNTIME_IMAGE=$base
mkdir -p deploy/prebuilt
cp "$binary" deploy/prebuilt/crivello
strip deploy/prebuilt/crivello 2>/dev/null || true
export CRIVELLO_PREBUILT=deploy/prebuilt/crivello

clean
say "building the image from $binary and $base"
"${compose[@]}" build >"$work/build" 2>&1 || { tail -20 "$work/build" >&2; fail "no image"; }

# What people type in the README, typed in a container.
crivello() { "${compose[@]}" exec -T coordinator crivello "$@"; }
# How many agents are in this state (active, draining, dead).
count() { crivello agents --json | grep -o "\"state\":[ ]*\"$1\"" | wc -l; }
pages() { crivello status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["totals"]["pages"])'; }
# until SECONDS WHAT COMMAND…: waits for a command to succeed.
until_true() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" 2>/dev/null; do
        ((SECONDS < end)) || fail "not within the time it had: $what"
        sleep 0.5
    done
}
agents_are() { [[ $(count active) == "$1" ]]; }
pages_are() { (($(pages) >= $1)); }
containers() { docker ps --quiet --filter "label=com.docker.compose.project=$project" --filter label=com.docker.compose.service=agent; }
# The slot that the agent in a container took, which is its name.
slot_of() { docker logs "$1" 2>&1 | sed -n 's,^crivello-agent: slot /data/,,p' | tail -1; }
# How containers ended, one line each: the slot is not known any more when a container is gone.
docker events --filter "label=com.docker.compose.service=agent" --filter event=die \
    --format '{{.Actor.Attributes.name}} exit code {{.Actor.Attributes.exitCode}}' >"$work/ends" &
events=$!

say "up: a coordinator, three agents, the simulated web"
"${compose[@]}" up -d >"$work/up" 2>&1 || { cat "$work/up" >&2; fail "it does not come up"; }
until_true 60 "three agents are members" agents_are 3
until_true 60 "150 pages are fetched" pages_are 150
crivello status

say "up -d --scale agent=5: two more join by themselves"
"${compose[@]}" up -d --scale agent=5 >"$work/up" 2>&1 || { cat "$work/up" >&2; fail "no scaling"; }
until_true 60 "five agents are members" agents_are 5
until_true 60 "500 pages are fetched" pages_are 500
crivello status

say "up -d --scale agent=3: two hand over what they have, and leave"
from=$SECONDS
"${compose[@]}" up -d --scale agent=3 >"$work/up" 2>&1 || { cat "$work/up" >&2; fail "no scaling"; }
echo "took $((SECONDS - from)) s"
cat "$work/ends"
[[ $(grep -c 'exit code 0$' "$work/ends") == 2 ]] || fail "not both were drained"
until_true 10 "three agents are left" agents_are 3
[[ $(count dead) == 0 ]] || fail "one that left counts as dead"
crivello status

victim=$(containers | head -1)
say "kill -9 of the container of $(slot_of "$victim")"
docker kill "$victim" >/dev/null
until_true 60 "the others know" agents_are 2
crivello status
say "up: it comes back as who it was"
"${compose[@]}" up -d >"$work/up" 2>&1 || { cat "$work/up" >&2; fail "it does not come up"; }
until_true 60 "three agents are members" agents_are 3

say "kill -9 of the coordinator and all agents, and up again"
"${compose[@]}" kill coordinator agent >"$work/kill" 2>&1 || { cat "$work/kill" >&2; fail "no kill"; }
"${compose[@]}" up -d >"$work/up" 2>&1 || { cat "$work/up" >&2; fail "it does not come up"; }
until_true 60 "three agents are members" agents_are 3
crivello status

say "wait"
crivello wait --timeout 10m
crivello status

say "what was warned of"
"${compose[@]}" logs --no-color coordinator agent 2>/dev/null | sed -n 's/^.*Z *\(WARN\|ERROR\) /\1 /p' |
    sed 's/[0-9][0-9.]*/N/g' | sort | uniq -c | sort -rn | head -n 20

say "down, and up again: the same crawl, the same agents, nothing fetched again"
before=$("${compose[@]}" exec -T web grep -c '' /data/access.log)
crivello stop
"${compose[@]}" down >"$work/down" 2>&1
"${compose[@]}" up -d >"$work/up" 2>&1 || { cat "$work/up" >&2; fail "it does not come up"; }
until_true 60 "the coordinator answers" crivello resume
until_true 60 "three agents are members" agents_are 3
[[ $(count dead) == 0 ]] || fail "an agent did not come back"
crivello wait --timeout 2m
"${compose[@]}" exec -T web cat /data/access.log >"$work/log"
[[ $(grep -c '' "$work/log") == "$before" ]] || fail "pages were fetched again"

say "what was archived (an index is whole when its agent has ended)"
crivello stop
"${compose[@]}" down >"$work/down" 2>&1
# shellcheck disable=SC2016 # expanded in the container
docker run --rm --volume "${project}_agents:/data:ro" --entrypoint bash "$project" -c '
    for agent in agent-*; do echo "$agent $(cat "$agent"/warc/*.cdxj | grep -c "")"; done
    echo "all $(cat agent-*/warc/*.cdxj | grep -c "")"' | tee "$work/archived"
archived=$(sed -n 's/^all //p' "$work/archived")
# A kill may come between an answer and the commit that archives it; the page is fetched again then.
answered=$(grep -c '"complete":true' "$work/log")
((archived <= answered && archived + repeats_max >= answered)) ||
    fail "$archived records are archived, of $answered answers"

say "one agent, alone, in the same web"
docker run --rm --network none --volume "$PWD/deploy/demo-web.json:/web.json:ro" \
    --entrypoint bash "$project" -c '
    set -eu
    cd /tmp
    crivello simweb --spec /web.json --access-log log >ready &
    until [ -s ready ]; do sleep 0.1; done
    crivello crawl --quiet --out crawl --contact https://crivello.invalid/alone \
        --dns 127.0.0.1:5353 --allow-network 127.1.0.0/16 --delay 50ms --ip-delay 1ms "$@" >&2
    kill $!; wait $!
    cat log' bash "${seeds[@]}" >"$work/alone"

say "what the simulated web's log says of the cluster"
python3 deploy/judge-log.py "$work/log" "$work/alone" "$delay" "$ip_delay" "$repeats_max"
