#!/bin/bash
# Checks the manifests in deploy/kubernetes/: their schema for the oldest Kubernetes that has all they
# use and for the newest that the validator knows, and what a schema cannot see (names that must
# match). Takes python3; the validator comes from PyPI into a directory that is removed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# gRPC probes and the retention of claims are stable since then.
oldest=1.32.0
newest=1.37.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() {
    if [[ -n "${CRIVELLO_TEST_NO_SKIP:-}" ]]; then
        printf 'check-kubernetes: %s\n' "$*" >&2
        exit 1
    fi
    printf 'check-kubernetes: SKIPPED: %s\n' "$*"
    exit 0
}
python3 -m venv "$work/venv" 2>"$work/why" || skip "no python3 with venv: $(tail -1 "$work/why")"
"$work/venv/bin/pip" install --quiet "kubernetes-validate==$newest" 2>"$work/why" ||
    skip "the validator cannot be had from PyPI: $(tail -1 "$work/why")"

for version in "$oldest" "$newest"; do
    "$work/venv/bin/kubernetes-validate" --strict --quiet -k "$version" kubernetes/*.yaml
done
"$work/venv/bin/python" check-kubernetes.py kubernetes/*.yaml
echo "check-kubernetes: all is well, for Kubernetes $oldest and $newest"
