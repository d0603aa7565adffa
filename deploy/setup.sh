#!/bin/sh
# Checks the requirements of a build: cargo, a C and C++ compiler, libclang.
#
#   deploy/setup.sh          installs missing packages, as root or with a sudo that needs no password;
#                            otherwise prints the command to run, and fails
#   deploy/setup.sh --tests  installs Chromium and etcd, which only some tests need. If that is not possible, prints a
#                            message and does not fail; those tests are then skipped
#
# Prints nothing if all requirements are met. It can be run repeatedly.
set -eu

missing=""
need() { missing="$missing $1"; }

have() { command -v "$1" >/dev/null 2>&1; }

# Succeeds if one of the given directories contains a libclang library.
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

# Succeeds if clang's own headers (stdbool.h and others) are installed, or BINDGEN_EXTRA_CLANG_ARGS is set.
# libclang needs these headers, and Debian can install the library without them.
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

# Searches like the build of RocksDB's bindings: LIBCLANG_PATH, llvm-config, the usual directories.
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

# Only tests need these; without one of them, those tests are skipped with a message.
if [ "${1:-}" = --tests ]; then
    wanted=""
    if ! { have chromium || have chromium-browser || have google-chrome-stable || have google-chrome; }; then
        wanted="chromium fonts-liberation"
    fi
    have etcd || wanted="$wanted etcd-server"
    [ -n "$wanted" ] || exit 0
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi
    if have apt-get && { [ -z "$as_root" ] || { have sudo && sudo -n true 2>/dev/null; }; }; then
        echo "setup: installing $wanted, for tests of the dashboard and of several coordinators" >&2
        install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $wanted"
        if $install >/dev/null 2>&1 || { $as_root apt-get update >/dev/null 2>&1 && $install >/dev/null 2>&1; }; then
            exit 0
        fi
    fi
    echo "setup: not installed: $wanted: tests that need them will be skipped (to install: apt-get install $wanted)" >&2
    exit 0
fi

if ! have cargo && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    echo "setup: cargo is installed but not on the PATH: run  . \"${CARGO_HOME:-$HOME/.cargo}/env\"" >&2
    exit 1
fi
if ! have cargo; then
    echo "setup: Rust is missing: install it from https://rustup.rs, then try again" >&2
    exit 1
fi
# `cc` compiles the C code, `c++` RocksDB.
if ! have "${CXX:-c++}" || ! have "${CC:-cc}"; then
    need g++
fi
if ! have_libclang; then
    if [ -n "${LIBCLANG_PATH:-}" ]; then
        echo "setup: LIBCLANG_PATH is $LIBCLANG_PATH, which contains no libclang" >&2
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
    echo "setup: missing:$missing. Run this command, then try again:" >&2
    echo "    sudo sh -c '$line'" >&2
    exit 1
fi
echo "setup: installing$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Package lists may be old or missing. If the installation fails, updates them and tries again.
install() {
    # shellcheck disable=SC2086 # split into words on purpose
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >"$log" 2>&1
}
if ! install && ! { $as_root apt-get update >"$log" 2>&1 && install; }; then
    cat "$log" >&2
    echo "setup: the installation failed. Run this command to see the reason:" >&2
    echo "    sudo sh -c '$line'" >&2
    exit 1
fi
