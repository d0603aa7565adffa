#!/bin/sh
# Installs the programs for the comparison: Scrapy in a virtual environment in the given directory, wget2
# and ip from the distribution. Reports what cannot be installed; the comparison runs without it.
set -u

venv=${1:?the directory of the virtual environment is missing}
here=$(dirname "$0")

have() { command -v "$1" >/dev/null 2>&1; }

as_root=""
if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi

# Installs packages of the distribution, or prints the command for it.
install() {
    echo "setup: installing $*" >&2
    line="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $*"
    if $line >/dev/null 2>&1 || { $as_root apt-get update >/dev/null 2>&1 && $line >/dev/null 2>&1; }; then
        return 0
    fi
    echo "setup: installation failed; run: apt-get install $*" >&2
}

have wget2 || install wget2
have ip || [ -x /usr/sbin/ip ] || install iproute2
python3 -c 'import ensurepip' 2>/dev/null || install python3-venv
if ! cmp -s "$here/scrapy/requirements.txt" "$venv/requirements.txt"; then
    if python3 -m venv "$venv" && "$venv/bin/pip" install --quiet -r "$here/scrapy/requirements.txt"; then
        cp "$here/scrapy/requirements.txt" "$venv/requirements.txt"
    else
        echo "setup: no Scrapy: it could not be installed from PyPI" >&2
    fi
fi
