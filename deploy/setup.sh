#!/bin/sh
# Sees to it that Crivello can be built here: cargo, a C and C++ compiler, libclang.
#
#   deploy/setup.sh          installs what is missing, as root or with a sudo that asks nothing;
#                            otherwise says the one line to type, and fails
#   deploy/setup.sh --tests  the same for what some tests need and nothing else: Chromium. Where it
#                            cannot be installed, says so and does not fail: those tests are skipped
#
# Says nothing when all is there. May be run any number of times.
set -eu

missing=""
need() { missing="$missing $1"; }

have() { command -v "$1" >/dev/null 2>&1; }

# The first libclang library below the given directories.
libclang_in() {
    for dir in "$@"; do
        for file in "$dir"/libclang.so "$dir"/libclang.so.* "$dir"/libclang-*.so "$dir"/libclang-*.so.*; do
            case "$file" in *libclang-cpp*) continue ;; esac
            if [ -e "$file" ]; then
                return 0
            fi
        done
    done
    return 1
}

# Whether clang's own headers (stdbool.h and the like) are there: libclang reads with them, and on
# Debian the library can be installed without.
clang_headers() {
    [ -z "${BINDGEN_EXTRA_CLANG_ARGS:-}" ] || return 0
    for dir in "$@" /usr/lib/llvm-*/lib /usr/lib /usr/lib64 /usr/local/lib /usr/local/lib64; do
        for file in "$dir"/clang/*/include/stdbool.h; do
            if [ -e "$file" ]; then
                return 0
            fi
        done
    done
    return 1
}

# Where the build of RocksDB's bindings looks: LIBCLANG_PATH, llvm-config, the usual places.
have_libclang() {
    if [ -n "${LIBCLANG_PATH:-}" ]; then
        [ -f "$LIBCLANG_PATH" ] || libclang_in "$LIBCLANG_PATH"
        return
    fi
    if have llvm-config; then
        libdir=$(llvm-config --libdir 2>/dev/null)
        if libclang_in "$libdir" && clang_headers "$libdir"; then
            return 0
        fi
    fi
    clang_headers && libclang_in /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/lib64/llvm*/lib /usr/lib \
        /usr/local/lib /usr/local/lib64
}

# What only tests need: without it they say that they are skipped.
if [ "${1:-}" = --tests ]; then
    for browser in chromium chromium-browser google-chrome-stable google-chrome; do
        if have "$browser"; then exit 0; fi
    done
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi
    if have apt-get && { [ -z "$as_root" ] || { have sudo && sudo -n true 2>/dev/null; }; }; then
        echo "setup: installing chromium, for the tests of the dashboard" >&2
        install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-liberation"
        if $install >/dev/null 2>&1 || { $as_root apt-get update >/dev/null 2>&1 && $install >/dev/null 2>&1; }; then
            exit 0
        fi
    fi
    echo "setup: no Chromium: the tests of the dashboard will be skipped (apt-get install chromium brings one)" >&2
    exit 0
fi

if ! have cargo && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    echo "setup: cargo is installed but not on the PATH: type  . \"${CARGO_HOME:-$HOME/.cargo}/env\"" >&2
    exit 1
fi
if ! have cargo; then
    echo "setup: Rust is missing: install it from https://rustup.rs, then try again" >&2
    exit 1
fi
# `cc` compiles the C parts, `c++` RocksDB.
if ! have "${CXX:-c++}" || ! have "${CC:-cc}"; then
    need g++
fi
if ! have_libclang; then
    if [ -n "${LIBCLANG_PATH:-}" ]; then
        echo "setup: LIBCLANG_PATH is set to $LIBCLANG_PATH, where no libclang is" >&2
        exit 1
    fi
    need libclang-dev
fi
[ -n "$missing" ] || exit 0

line="apt-get update && apt-get install -y --no-install-recommends$missing"
if ! have apt-get; then
    echo "setup: missing:$missing (the names of Debian's packages): install them, then try again" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif have sudo && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "setup: missing:$missing. Type this line, then try again:" >&2
    echo "    sudo sh -c '$line'" >&2
    exit 1
fi
echo "setup: installing$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The lists may be old or absent: try, refresh, try again.
install() {
    # shellcheck disable=SC2086 # several words are meant
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >"$log" 2>&1
}
if ! install && ! { $as_root apt-get update >"$log" 2>&1 && install; }; then
    cat "$log" >&2
    echo "setup: that failed. Type this line to see why:" >&2
    echo "    sudo sh -c '$line'" >&2
    exit 1
fi
