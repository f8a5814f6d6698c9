#!/bin/sh
# Runs the tests in Python with several Pythons, each in an environment of its own with the newest packages that pip finds:
# test-all.sh MAKE PYTHON..., where a Python is a program. One that does not run, such as a shim of pyenv's for a version that is not
# chosen, is looked for among pyenv's versions. One that is not there either is named and left out. The exit status is 1 if tests fail
# with a Python, or if there is none of them.
set -u
[ $# -ge 2 ] || { echo "usage: test-all.sh MAKE PYTHON..." >&2; exit 2; }
cd "$(dirname "$0")/.." || exit 1
make=$1
shift

find_python() {
    for program in "$1" $(printf '%s\n' "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"$1" | sort -rV); do
        "$program" -c 'import venv' >/dev/null 2>&1 && { echo "$program"; return 0; }
    done
    return 1
}

passed=""
failed=""
missing=""
for name; do
    if ! python=$(find_python "$name"); then
        echo "test-all: $name is not there: left out"
        missing="$missing $name"
        continue
    fi
    echo "test-all: $name is $python"
    if "$make" --no-print-directory test-python PYTHON="$python" TARGET=newest && "$make" --no-print-directory test-python PYTHON="$python"; then
        passed="$passed $name"
    else
        failed="$failed $name"
    fi
done
echo "test-all: passed:${passed:- none}. Failed:${failed:- none}. Not there:${missing:- none}."
[ -z "$failed" ] && [ -n "$passed" ]
