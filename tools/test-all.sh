#!/bin/sh
# Runs all tests part by part and says how long each part took: test-all.sh MAKE PYTHON...
# First the parts of make test with all inputs and the slow tests, and the fuzzer for ten minutes.
# Then the tests in Python with several Pythons, each in an environment of its own with the newest
# packages that pip finds. A Python is a program. One that does not run, such as a shim of pyenv's
# for a version that is not chosen, is looked for among pyenv's versions. One that is not there
# either is named and left out. The exit status is 1 if a part fails, or if no Python is there.
set -u
[ $# -ge 2 ] || { echo "usage: test-all.sh MAKE PYTHON..." >&2; exit 2; }
cd "$(dirname "$0")/.." || exit 1
make=$1
shift

passed=""
failed=""
missing=""

# run_part NAME TARGET...: makes the target, and keeps the name by what came of it
run_part() {
    name=$1
    shift
    start=$(date +%s)
    echo "test-all: $name: make $*"
    if "$make" --no-print-directory "$@"; then
        passed="$passed $name"
        result=passed
    else
        failed="$failed $name"
        result=failed
    fi
    echo "test-all: $name: $result after $(($(date +%s) - start)) s"
    [ $result = passed ]
}

find_python() {
    for program in "$1" $(printf '%s\n' "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"$1" | sort -rV); do
        "$program" -c 'import venv' >/dev/null 2>&1 && { echo "$program"; return 0; }
    done
    return 1
}

run_part ctest ctest
run_part pytest pytest
run_part pytest-address pytest-address
run_part fuzz fuzz SECONDS=600

pythons=0
for given; do
    if ! python=$(find_python "$given"); then
        echo "test-all: $given is not there: left out"
        missing="$missing $given"
        continue
    fi
    pythons=$((pythons + 1))
    run_part "$given-packages" test-python PYTHON="$python" TARGET=newest &&
        run_part "$given" test-python PYTHON="$python"
done
echo "test-all: passed:${passed:- none}. Failed:${failed:- none}. Not there:${missing:- none}."
[ -z "$failed" ] && [ $pythons -gt 0 ]
