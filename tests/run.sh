#!/usr/bin/env bash
# Runs all tests; `make test` calls it. First come tests with time limits of their own, then the scenarios, and
# beside these the unit tests with the lowest priority, because scenarios wait for a third of their time.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A test of tests/tidy fails if a binary with tests is missing here.
timed=(--test cli --test service --test short --test simweb --test tidy)
units=(--lib --bin crivello --test graph --test offline_sieve --test recrawl)
scenarios=(--test scenarios)

cargo=("${CARGO:-cargo}" test --release)
all=("${cargo[@]}" --workspace --no-fail-fast)
# More threads than cores, because most scenarios wait; scenarios with high load take permits.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-8}

"${cargo[@]}" --workspace --no-run && "${all[@]}" "${units[@]}" --no-run || exit

# Each run is a process group of its own, so that it can be ended as a whole.
set -m
groups=()
stop() {
    trap '' INT TERM
    for group in "${groups[@]}"; do
        kill -- "-$group" 2>/dev/null
    done
    wait
    exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM

failed=()
run() {
    local name=$1
    shift
    "$@" </dev/null &
    groups+=($!)
    wait $! || failed+=("$name")
    unset 'groups[-1]'
}

run_units() {
    local failed=0
    nice -n 19 "${all[@]}" "${units[@]}" || failed=1
    nice -n 19 "${all[@]}" --doc || failed=1
    return $failed
}

run "tests with time limits" "${all[@]}" "${timed[@]}"
echo "== scenarios; the output of the unit tests follows"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
RUST_TEST_THREADS=2 run_units </dev/null >"$log" 2>&1 &
units_pid=$!
groups+=("$units_pid")
run scenarios "${all[@]}" "${scenarios[@]}"
echo "== unit tests"
wait "$units_pid" || failed+=("unit tests")
cat "$log"

if ((${#failed[@]} > 0)); then
    printf '== failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "== all tests passed"
