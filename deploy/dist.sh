#!/bin/sh
# Packs target/dist/crivello-VERSION-TARGET.tar.gz: the stripped program, man pages, shell completions,
# systemd units and licenses. `make dist` builds the program and calls this script.
#
# Install it with:  tar -xzf crivello-*.tar.gz -C /usr/local --strip-components=1
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
build=${CARGO_TARGET_DIR:-target}/release
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=$(rustc -vV | sed -n 's/^host: //p')
name=crivello-$version-$target
dist=${CARGO_TARGET_DIR:-target}/dist
root=$dist/$name
doc=$root/share/doc/crivello

rm -rf "$root"
install -d "$root/bin" "$doc"
install -m 0755 "$build/crivello" "$root/bin/crivello"
strip "$root/bin/crivello"
# Man pages, completions, and the licenses of dependencies.
"$cargo" run --release --locked --quiet -p crivello --example dist -- "$root/share"
install -D -m 0644 -t "$root/lib/systemd/system" deploy/systemd/*.service
install -D -m 0644 -t "$root/lib/sysusers.d" deploy/systemd/crivello.conf
install -m 0644 LICENSE LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$doc"

# Reproducible: the same commit gives the same bytes.
date=$(git log -1 --format=%cI 2>/dev/null || date -Iseconds)
tar -C "$dist" --sort=name --owner=0 --group=0 --numeric-owner --mtime="$date" -cf - "$name" \
    | gzip -9n >"$dist/$name.tar.gz"
echo "$dist/$name.tar.gz"
