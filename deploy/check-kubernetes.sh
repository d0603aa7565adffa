#!/bin/bash
# Checks the manifests in deploy/kubernetes/: against the schemas of the oldest Kubernetes with all features
# that they use and of the newest that the validator supports; and names that must match, which a schema
# cannot check. Needs python3. The validator is installed from PyPI into a temporary directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# The first version in which the retention of claims is stable; gRPC probes are stable since 1.27.
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
    skip "the validator cannot be installed from PyPI: $(tail -1 "$work/why")"

for version in "$oldest" "$newest"; do
    "$work/venv/bin/kubernetes-validate" --strict --quiet -k "$version" kubernetes/*.yaml
done
"$work/venv/bin/python" check-kubernetes.py kubernetes/*.yaml
echo "check-kubernetes: passed for Kubernetes $oldest and $newest"
