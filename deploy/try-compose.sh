#!/bin/bash
# Tries docker-compose.yml with the Docker engine of this machine: a simulated web is crawled while
# agents are added, stopped and killed, and its judge then reads in its access log whether they were
# complete and polite.
#
#   deploy/try-compose.sh              with target/release/crivello (or CRIVELLO_BINARY)
#   deploy/try-compose.sh --short      two agents more, one killed, the verdict
#
# Takes some seven minutes, the short one four. Everything it makes is gone afterwards, with the
# exception of the base image and of what BuildKit keeps for its next build: images are known by a label.
# Where there is no engine on this machine, or none that can do this, it says so and does nothing (with
# CRIVELLO_TEST_NO_SKIP: fails).
# COMPOSE chooses between several Composes: COMPOSE=docker-compose deploy/try-compose.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

project=crivello-try
binary=${CRIVELLO_BINARY:-target/release/crivello}
# The same as in deploy/demo.toml.
delay=2s ip_delay=200ms
# Of a kill: what was in flight, and in the open commit.
repeats_max=100
short=

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

case "$*" in
"") ;;
--short) short=1 ;;
*) fail "not understood: $*; there is but --short" ;;
esac
command -v docker >/dev/null || skip "no docker command (Debian: apt-get install docker.io)"
# DOCKER_HOST goes before any context.
engine=${DOCKER_HOST:-$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null || true)}
case "${engine:-unix://}" in
unix://* | npipe://* | tcp://localhost* | tcp://127.* | tcp://\[::1\]*) ;;
*) skip "the Docker engine is at $engine, and another machine's cannot mount the files of this one (DOCKER_HOST, docker context)" ;;
esac
why=$(timeout 20 docker info --format '{{.ServerVersion}}' 2>&1) || skip "no Docker engine: ${why##*$'\n'}"
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
command -v python3 >/dev/null || skip "no python3"
[[ -x "$binary" ]] || fail "no program at $binary: type  make build  or name one in CRIVELLO_BINARY"

# Names and networks of a trial are always the same: one at a time.
exec 9>"${TMPDIR:-/tmp}/$project.lock"
flock --wait 1200 9 || skip "another trial goes on"

work=$(mktemp -d)
compose+=(--project-name "$project")
# For every command below: `down` would leave what belongs to a profile that is not named.
export COMPOSE_PROFILES=demo
export CRIVELLO_IMAGE=$project
# By its label an image is known as made here, also one without a name.
label=crivello.trial
export CRIVELLO_TRIAL=$project
# The engine's own builder, whichever is chosen with `docker buildx use`: others neither know the images of
# the engine nor leave there what they build. It is called like the context.
BUILDX_BUILDER=$(docker context show 2>/dev/null || echo default)
export BUILDX_BUILDER
# Whatever a .env says.
export CRIVELLO_CONFIG=./deploy/demo.toml
# Any ports that are free.
export CRIVELLO_HTTP_PORT='' PROMETHEUS_PORT=''
events=
# Whatever was left by a run that was killed.
clean() {
    COMPOSE_PROFILES=demo,observability "${compose[@]}" down --volumes --remove-orphans \
        >"$work/down" 2>&1 || cat "$work/down" >&2
    # Those with a name, and the first stage, which a builder without BuildKit leaves without one.
    docker image ls --quiet --no-trunc --filter "label=$label=$project" | sort --unique |
        xargs --no-run-if-empty docker image rm --force >/dev/null 2>&1 || true
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
if ! docker image inspect "$base" >/dev/null 2>&1 && ! timeout 120 docker pull --quiet "$base" >/dev/null 2>&1; then
    base=crivello-base:bookworm
    if ! docker image inspect "$base" >/dev/null 2>&1; then
        command -v debootstrap >/dev/null ||
            skip "no base image can be pulled, nor made (Debian: apt-get install debootstrap)"
        ((EUID == 0)) || skip "no image can be pulled, and debootstrap takes root to make one"
        say "no image can be pulled: making $base with debootstrap"
        timeout 600 debootstrap --variant=minbase bookworm "$work/root" >"$work/debootstrap" 2>&1 ||
            skip "no base image can be pulled, nor made: $(tail -1 "$work/debootstrap")"
        rm -rf "$work"/root/var/{cache/apt/archives,lib/apt/lists}/*
        tar -C "$work/root" -c . | docker import - "$base" >/dev/null
        rm -rf "$work/root"
    fi
fi
timeout 120 docker run --rm "$base" apt-get -o APT::Update::Error-Mode=any update >"$work/apt" 2>&1 ||
    skip "no Debian packages can be had in containers here: $(tail -1 "$work/apt")"
export CRIVELLO_BUILDER_IMAGE=$base CRIVELLO_RUNTIME_IMAGE=$base
mkdir -p deploy/prebuilt
cp "$binary" deploy/prebuilt/crivello
strip deploy/prebuilt/crivello 2>/dev/null || true
export CRIVELLO_PREBUILT=deploy/prebuilt/crivello

clean
say "building the image from $binary and $base"
if ! timeout 900 "${compose[@]}" build >"$work/build" 2>&1; then
    tail -20 "$work/build" >&2
    ! grep -Eq 'Failed to fetch|Unable to fetch|Temporary failure' "$work/build" ||
        skip "Debian's packages could not be had while the image was built"
    fail "no image"
fi
docker run --rm "$project" --version >"$work/version" 2>&1 ||
    skip "$binary does not run in $base: $(tail -1 "$work/version")"

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
    --format '{{.Actor.Attributes.name}} exit code {{.Actor.Attributes.exitCode}}' >"$work/ends" 9>&- &
events=$!

up() {
    "${compose[@]}" up -d "$@" >"$work/up" 2>&1 && return
    cat "$work/up" >&2
    ! grep -q 'overlap' "$work/up" || skip "its networks are taken: does another cluster of it run here?"
    fail "it does not come up"
}
down() { "${compose[@]}" down >"$work/down" 2>&1 || { cat "$work/down" >&2; fail "it does not go down"; }; }
# What the web logged, at $work/log.
fetch_log() { "${compose[@]}" exec -T --user 10001 web cat /data/access.log >"$work/log"; }

begin() {
    say "up: a coordinator, three agents, the simulated web"
    up
    until_true 300 "three agents are members" agents_are 3
    until_true 300 "150 pages are fetched" pages_are 150
    crivello status
}

scale_up() {
    say "up -d --scale agent=5: two more join by themselves"
    up --scale agent=5
    until_true 300 "five agents are members" agents_are 5
    until_true 300 "500 pages are fetched" pages_are 500
    crivello status
}

# The first value of a query.
prometheus_says() {
    python3 -c '
import json, sys, urllib.parse, urllib.request
query = urllib.parse.urlencode({"query": sys.argv[2]})
with urllib.request.urlopen(f"http://{sys.argv[1]}/api/v1/query?{query}") as answer:
    print(json.load(answer)["data"]["result"][0]["value"][1])' \
        "$("${compose[@]}" port prometheus 9090)" "$1"
}
prometheus_sees() {
    [[ $(prometheus_says 'count(up{job="agents"} == 1)') == "$1" ]] &&
        [[ $(prometheus_says 'count(up{job="coordinator"} == 1)') == 1 ]] &&
        [[ $(prometheus_says 'min(up)') == 1 ]]
}

# Of what the profile `observability` starts: Prometheus, as Debian has it, since images of Debian are
# all that can be had without a registry.
make_prometheus() {
    say "building an image of Debian's Prometheus"
    docker build --tag "$project-prometheus" --label "$label=$project" - >"$work/prometheus" 2>&1 <<END && return
FROM $base
RUN apt-get update && apt-get install -y --no-install-recommends prometheus \
 && install -d -o nobody /prometheus
USER nobody
ENTRYPOINT ["prometheus"]
END
    printf 'try-compose: SKIPPED: Prometheus: no image of it can be made: %s\n' "$(tail -1 "$work/prometheus")"
}

watch_it() {
    local query
    docker image inspect "$project-prometheus" >/dev/null 2>&1 || return 0
    say "up -d prometheus, of the profile observability"
    PROMETHEUS_IMAGE=$project-prometheus up --no-deps prometheus
    until_true 300 "Prometheus reaches the coordinator and $1 agents" prometheus_sees "$1"
    query=$(sed -n 's/.*"expr": "\([^"$]*\)".*/\1/p' deploy/grafana/dashboards/cluster.json | head -n 1)
    until_true 30 "Prometheus answers $query" prometheus_says "$query" >"$work/answer"
    echo "the coordinator and $1 agents are up; $query is $(<"$work/answer")"
    "${compose[@]}" rm --stop --force prometheus >"$work/rm" 2>&1 || { cat "$work/rm" >&2; fail "Prometheus stays"; }
}

scale_down() {
    local from=$SECONDS
    say "up -d --scale agent=3: two hand over what they have, and leave"
    up --scale agent=3
    echo "took $((SECONDS - from)) s"
    cat "$work/ends"
    [[ $(grep -c 'exit code 0$' "$work/ends") == 2 ]] || fail "not both were drained"
    until_true 10 "three agents are left" agents_are 3
    [[ $(count dead) == 0 ]] || fail "one that left counts as dead"
    crivello status
}

# Of so many agents.
kill_one() {
    local victim
    victim=$(containers | head -1)
    say "kill -9 of the container of $(slot_of "$victim")"
    docker kill "$victim" >/dev/null
    until_true 300 "the others know" agents_are $(($1 - 1))
    crivello status
    say "up: it comes back as who it was"
    up --scale "agent=$1"
    until_true 300 "$1 agents are members" agents_are "$1"
}

kill_all() {
    say "kill -9 of the coordinator and all agents, and up again"
    "${compose[@]}" kill coordinator agent >"$work/kill" 2>&1 || { cat "$work/kill" >&2; fail "no kill"; }
    up
    until_true 300 "three agents are members" agents_are 3
    crivello status
}

wait_for_it() {
    say "wait"
    crivello wait --timeout 10m
    crivello status
    fetch_log
    say "what was warned of"
    "${compose[@]}" logs --no-color coordinator agent 2>/dev/null | sed -n 's/^.*Z *\(WARN\|ERROR\) /\1 /p' |
        sed 's/[0-9][0-9.]*/N/g' | sort | uniq -c | sort -rn | sed -n 1,20p
}

come_back() {
    local before
    say "down, and up again: the same crawl, the same agents, nothing fetched again"
    before=$(grep -c '' "$work/log")
    crivello stop
    down
    up
    until_true 300 "the coordinator answers" crivello resume
    until_true 300 "three agents are members" agents_are 3
    [[ $(count dead) == 0 ]] || fail "an agent did not come back"
    crivello wait --timeout 2m
    fetch_log
    [[ $(grep -c '' "$work/log") == "$before" ]] || fail "pages were fetched again"
}

count_archived() {
    local archived answered
    say "what was archived (an index is whole when its agent has ended)"
    crivello stop
    down
    # shellcheck disable=SC2016 # expanded in the container
    docker run --rm --volume "${project}_agents:/data:ro" --entrypoint bash "$project" -c '
        for agent in agent-*; do echo "$agent $(cat "$agent"/warc/*.cdxj | grep -c "")"; done
        echo "all $(cat agent-*/warc/*.cdxj | grep -c "")"' | tee "$work/archived"
    archived=$(sed -n 's/^all //p' "$work/archived")
    # A kill may come between an answer and the commit that archives it; the page is fetched again then.
    answered=$(grep -c '"complete":true' "$work/log")
    ((archived <= answered && archived + repeats_max >= answered)) ||
        fail "$archived records are archived, of $answered answers"
}

[[ -n "$short" ]] || make_prometheus
begin
scale_up
if [[ -n "$short" ]]; then
    kill_one 5
    wait_for_it
else
    scale_down
    kill_one 3
    kill_all
    watch_it 3
    wait_for_it
    come_back
    count_archived
fi

say "what the simulated web's judge says of the cluster"
"$binary" simweb judge "$work/log" --spec deploy/demo-web.json --delay "$delay" --ip-delay "$ip_delay" \
    --repeats-max "$repeats_max" || fail "promises were broken"
say "every promise was kept; this took $SECONDS s"
