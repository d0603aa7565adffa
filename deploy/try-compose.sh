#!/bin/bash
# Tests docker-compose.yml with the Docker engine of this machine. A simulated web is crawled while agents are
# added, stopped and killed. The judge of the web then checks its access log: was the crawl complete and
# polite?
#
#   deploy/try-compose.sh              with target/release/crivello (or CRIVELLO_BINARY)
#   deploy/try-compose.sh --short      adds two agents, kills one, and judges
#
# Takes about seven minutes, with --short four. Everything that it creates is removed at the end, except the
# base image and the cache of BuildKit. Its images are found by a label. Without a suitable engine on this
# machine the test is skipped with a message (with CRIVELLO_TEST_NO_SKIP: fails).
# COMPOSE selects one of several Compose commands: COMPOSE=docker-compose deploy/try-compose.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

project=crivello-try
binary=${CRIVELLO_BINARY:-target/release/crivello}
# The values of deploy/demo.toml.
delay=2s ip_delay=200ms
# Maximum number of repeated fetches after kills: requests in flight, and pages of the open commit.
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
*) fail "unknown arguments: $*; the only option is --short" ;;
esac
command -v docker >/dev/null || skip "no docker command (Debian: apt-get install docker.io)"
# DOCKER_HOST takes precedence over any context.
engine=${DOCKER_HOST:-$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null || true)}
case "${engine:-unix://}" in
unix://* | npipe://* | tcp://localhost* | tcp://127.* | tcp://\[::1\]*) ;;
*) skip "the Docker engine is at $engine; an engine on another machine cannot mount files of this one (DOCKER_HOST, docker context)" ;;
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
[[ -x "$binary" ]] || fail "no program at $binary: run \`make build\` or set CRIVELLO_BINARY"

# All trials use the same names and networks, so only one can run at a time.
exec 9>"${TMPDIR:-/tmp}/$project.lock"
flock --wait 1200 9 || skip "another trial is running"

work=$(mktemp -d)
compose+=(--project-name "$project")
# For all commands below: `down` ignores services of profiles that are not named.
export COMPOSE_PROFILES=demo
export CRIVELLO_IMAGE=$project
# Label of all images that this script builds, including those without a name.
label=crivello.trial
export CRIVELLO_TRIAL=$project
# The engine's own builder, whatever `docker buildx use` has selected. Other builders neither know the images
# of the engine nor store their results there. It has the name of the context.
BUILDX_BUILDER=$(docker context show 2>/dev/null || echo default)
export BUILDX_BUILDER
# Overrides a .env file.
export CRIVELLO_CONFIG=./deploy/demo.toml
# Empty: Docker picks free ports.
export CRIVELLO_HTTP_PORT='' CRIVELLO_STANDBY_HTTP_PORT='' CRIVELLO_ETCD='' PROMETHEUS_PORT=''
events=
# Removes everything that this run, or a killed run before it, has created.
clean() {
    COMPOSE_PROFILES=demo,observability,ha "${compose[@]}" down --volumes --remove-orphans \
        >"$work/down" 2>&1 || cat "$work/down" >&2
    # Images with a name, and the first stage, which a builder without BuildKit leaves without a name.
    docker image ls --quiet --no-trunc --filter "label=$label=$project" | sort --unique |
        xargs --no-run-if-empty docker image rm --force >/dev/null 2>&1 || true
}
finish() {
    local code=$?
    [[ -z "$events" ]] || kill "$events" 2>/dev/null || true
    if ((code != 0)); then
        printf -- '-- the last log lines of the containers\n' >&2
        "${compose[@]}" logs --tail 15 >&2 2>/dev/null || true
    fi
    clean
    rm -rf "$work" deploy/prebuilt
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Without a registry, the base image is built from Debian packages.
base=debian:bookworm-slim
if ! docker image inspect "$base" >/dev/null 2>&1 && ! timeout 120 docker pull --quiet "$base" >/dev/null 2>&1; then
    base=crivello-base:bookworm
    if ! docker image inspect "$base" >/dev/null 2>&1; then
        command -v debootstrap >/dev/null ||
            skip "no base image can be pulled or built (Debian: apt-get install debootstrap)"
        ((EUID == 0)) || skip "no base image can be pulled, and debootstrap needs root to build one"
        say "no base image can be pulled: building $base with debootstrap"
        timeout 600 debootstrap --variant=minbase bookworm "$work/root" >"$work/debootstrap" 2>&1 ||
            skip "no base image can be pulled or built: $(tail -1 "$work/debootstrap")"
        rm -rf "$work"/root/var/{cache/apt/archives,lib/apt/lists}/*
        tar -C "$work/root" -c . | docker import - "$base" >/dev/null
        rm -rf "$work/root"
    fi
fi
timeout 120 docker run --rm "$base" apt-get -o APT::Update::Error-Mode=any update >"$work/apt" 2>&1 ||
    skip "containers cannot install Debian packages here: $(tail -1 "$work/apt")"
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
        skip "Debian packages could not be downloaded during the build of the image"
    fail "the image cannot be built"
fi
docker run --rm "$project" --version >"$work/version" 2>&1 ||
    skip "$binary does not run in $base: $(tail -1 "$work/version")"

# Runs a command in the container of a coordinator.
coordinator=coordinator
crivello() { "${compose[@]}" exec -T "$coordinator" crivello "$@"; }
# Prints the number of agents in a state (active, draining, dead).
count() { crivello agents --json | grep -o "\"state\":[ ]*\"$1\"" | wc -l; }
pages() { crivello status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["totals"]["pages"])'; }
# until_true SECONDS WHAT COMMAND…: waits until a command succeeds.
until_true() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" 2>/dev/null; do
        ((SECONDS < end)) || fail "timeout: $what"
        sleep 0.5
    done
}
agents_are() { [[ $(count active) == "$1" ]]; }
pages_are() { (($(pages) >= $1)); }
containers() { docker ps --quiet --filter "label=com.docker.compose.project=$project" --filter label=com.docker.compose.service=agent; }
# Prints the slot, and so the name, of the agent in a container.
slot_of() { docker logs "$1" 2>&1 | sed -n 's,^crivello-agent: slot /data/,,p' | tail -1; }
# Records the exit code of each container, because the slot of a removed container is unknown.
docker events --filter "label=com.docker.compose.service=agent" --filter event=die \
    --format '{{.Actor.Attributes.name}} exit code {{.Actor.Attributes.exitCode}}' >"$work/ends" 9>&- &
events=$!

up() {
    "${compose[@]}" up -d "$@" >"$work/up" 2>&1 && return
    cat "$work/up" >&2
    ! grep -q 'overlap' "$work/up" || skip "its networks are in use: is another such cluster running here?"
    fail "the cluster cannot be started"
}
down() { "${compose[@]}" down >"$work/down" 2>&1 || { cat "$work/down" >&2; fail "the cluster cannot be stopped"; }; }
# Copies the access log of the web to $work/log.
fetch_log() { "${compose[@]}" exec -T --user 10001 web cat /data/access.log >"$work/log"; }

begin() {
    say "up: starts a coordinator, three agents and the simulated web"
    up
    until_true 300 "three agents are members" agents_are 3
    until_true 300 "150 pages are fetched" pages_are 150
    crivello status
}

scale_up() {
    say "up -d --scale agent=5: two more agents join"
    up --scale agent=5
    until_true 300 "five agents are members" agents_are 5
    until_true 300 "500 pages are fetched" pages_are 500
    crivello status
}

# Prints the first value of a query's result.
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
        [[ $(prometheus_says 'min(up{job="agents"})') == 1 ]]
}

# Builds an image with Debian's version of Prometheus, from the profile `observability`. Without a registry,
# only images of Debian packages are available.
make_prometheus() {
    say "building an image of Debian's Prometheus"
    docker build --tag "$project-prometheus" --label "$label=$project" - >"$work/prometheus" 2>&1 <<END && return
FROM $base
RUN apt-get update && apt-get install -y --no-install-recommends prometheus \
 && install -d -o nobody /prometheus
USER nobody
ENTRYPOINT ["prometheus"]
END
    printf 'try-compose: SKIPPED: Prometheus: its image cannot be built: %s\n' "$(tail -1 "$work/prometheus")"
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
    "${compose[@]}" rm --stop --force prometheus >"$work/rm" 2>&1 || { cat "$work/rm" >&2; fail "Prometheus cannot be removed"; }
}

scale_down() {
    local from=$SECONDS
    say "up -d --scale agent=3: two agents hand over their groups and leave"
    up --scale agent=3
    echo "took $((SECONDS - from)) s"
    cat "$work/ends"
    [[ $(grep -c 'exit code 0$' "$work/ends") == 2 ]] || fail "not both agents were drained"
    until_true 10 "three agents are left" agents_are 3
    [[ $(count dead) == 0 ]] || fail "an agent that left is listed as dead"
    crivello status
}

# kill_one N: kills one of N agents and starts it again.
kill_one() {
    local victim
    victim=$(containers | head -1)
    say "kill -9 of the container of $(slot_of "$victim")"
    docker kill "$victim" >/dev/null
    until_true 300 "the agent is dead" agents_are $(($1 - 1))
    crivello status
    say "up: the agent returns with its name and state"
    up --scale "agent=$1"
    until_true 300 "$1 agents are members" agents_are "$1"
}

kill_all() {
    say "kill -9 of the coordinator and all agents, and up again"
    "${compose[@]}" kill coordinator agent >"$work/kill" 2>&1 || { cat "$work/kill" >&2; fail "the containers cannot be killed"; }
    up
    until_true 300 "three agents are members" agents_are 3
    crivello status
}

wait_for_it() {
    say "wait"
    crivello wait --timeout 10m
    crivello status
    fetch_log
    say "warnings and errors in the logs"
    "${compose[@]}" logs --no-color coordinator agent 2>/dev/null | sed -n 's/^.*Z *\(WARN\|ERROR\) /\1 /p' |
        sed 's/[0-9][0-9.]*/N/g' | sort | uniq -c | sort -rn | sed -n 1,20p
}

come_back() {
    local before
    say "down, and up again: same crawl, same agents, nothing is fetched again"
    before=$(grep -c '' "$work/log")
    crivello stop
    down
    up
    until_true 300 "the coordinator answers" crivello resume
    until_true 300 "three agents are members" agents_are 3
    [[ $(count dead) == 0 ]] || fail "an agent did not return"
    crivello wait --timeout 2m
    fetch_log
    [[ $(grep -c '' "$work/log") == "$before" ]] || fail "pages were fetched again"
}

count_archived() {
    local archived answered
    say "number of archived records (an index is complete when its agent has ended)"
    crivello stop
    down
    # shellcheck disable=SC2016 # expanded in the container
    docker run --rm --volume "${project}_agents:/data:ro" --entrypoint bash "$project" -c '
        for agent in agent-*; do echo "$agent $(cat "$agent"/warc/*.cdxj | grep -c "")"; done
        echo "all $(cat agent-*/warc/*.cdxj | grep -c "")"' | tee "$work/archived"
    archived=$(sed -n 's/^all //p' "$work/archived")
    # If an agent is killed between a response and the commit that archives it, the page is fetched again.
    answered=$(grep -c '"complete":true' "$work/log")
    ((archived <= answered && archived + repeats_max >= answered)) ||
        fail "$archived records are archived, but the web sent $answered responses"
}

# Builds an image with Debian's version of etcd, for the profile `ha`.
make_etcd() {
    say "building an image of Debian's etcd"
    docker build --tag "$project-etcd" --label "$label=$project" - >"$work/etcd" 2>&1 <<END && return
FROM $base
RUN apt-get update && apt-get install -y --no-install-recommends etcd-server
END
    printf 'try-compose: SKIPPED: etcd: its image cannot be built: %s\n' "$(tail -1 "$work/etcd")"
}

# A new crawl with two coordinators, of which the active one is killed.
fail_over() {
    docker image inspect "$project-etcd" >/dev/null 2>&1 || return 0
    say "up, with the profile ha: a second coordinator stands by"
    "${compose[@]}" down --volumes >"$work/down" 2>&1 || { cat "$work/down" >&2; fail "the cluster cannot be removed"; }
    export COMPOSE_PROFILES=demo,ha CRIVELLO_ETCD=http://etcd:2379 ETCD_IMAGE=$project-etcd
    up
    until_true 300 "three agents are members" agents_are 3
    until_true 300 "50 pages are fetched" pages_are 50
    local active=coordinator
    coordinator=standby
    if "${compose[@]}" logs --no-color standby 2>/dev/null | grep -q 'coordinator listening'; then
        active=standby coordinator=coordinator
    fi
    say "kill -9 of the active coordinator, $active"
    "${compose[@]}" kill "$active" >"$work/kill" 2>&1 || { cat "$work/kill" >&2; fail "it cannot be killed"; }
    until_true 60 "the other coordinator answers" agents_are 3
    until_true 300 "300 pages are fetched" pages_are 300
    say "up: it returns, and stands by"
    up
    crivello status
    until_true 60 "three agents are members" agents_are 3
}

if [[ -z "$short" ]]; then
    make_prometheus
    make_etcd
fi
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

say "the verdict of the simulated web's judge"
"$binary" simweb judge "$work/log" --spec deploy/demo-web.json --delay "$delay" --ip-delay "$ip_delay" \
    --repeats-max "$repeats_max" || fail "promises were broken"
[[ -n "$short" ]] || fail_over
say "all checks passed in $SECONDS s"
