# Sourced by `run`, `check` and `test`. Plain sh; needs no more than python3.

set -eu
cd "$(dirname "$0")/.."
venv=${CODE_ENV_VENV:-.venv}
# Tests start hundreds of interpreters, and each would compile the package anew.
unset PYTHONDONTWRITEBYTECODE

# Makes $venv if it is not there, and installs this package into it. Argument: an extra to install with it, if any.
# What was installed from the same pyproject.toml before is not looked at again: pip takes seconds to see that.
install() {
    installed=$venv/installed-${1:-plain}.toml
    if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        make_venv
    elif cmp -s pyproject.toml "$installed"; then
        return
    fi
    # uv installs the many packages of `dev` in a quarter of pip's time. Of pip's settings it knows only what `with_uv`
    # tells it; where it finds no packages, as with another index, pip has to.
    if [ "${1:-}" != dev ] || ! { with_pip uv && with_uv ".[dev]"; }; then
        with_pip -e ".${1:+[$1]}"
    fi
    cp pyproject.toml "$installed"
}

with_pip() {
    "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$@"
}

with_uv() {
    # A folder of wheels can hold a build of torch without CUDA, which is gigabytes smaller.
    UV_FIND_LINKS=$(echo "${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}" | tr ' ' ',')
    export UV_FIND_LINKS
    "$venv/bin/python" -m uv pip install --quiet --python "$venv/bin/python" -e "$1"
}

# Lints and checks types: seconds, once mypy has a cache.
check() {
    "$venv/bin/ruff" check
    "$venv/bin/ruff" format --check --quiet
    "$venv/bin/mypy"
}

make_venv() {
    python=
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$candidate
            break
        fi
    done
    if [ -z "$python" ]; then
        echo "code_env needs Python 3.11 or newer, as python3 or as the path in PYTHON (now '${PYTHON:-}')." >&2
        exit 1
    fi
    made_here=$([ -e "$venv" ] && echo no || echo yes)
    if ! "$python" -m venv "$venv"; then
        [ "$made_here" = no ] || rm -rf "$venv"
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        echo "$python cannot make a virtual environment in $venv: venv or ensurepip is missing. On Debian and Ubuntu: apt-get install python$version-venv" >&2
        exit 1
    fi
}
