#!/bin/sh
# Runs the tests against an installed wheel: test-wheel.sh WHEEL [PYTHON [what pytest takes]], by default python3 and -n 2 --dist loadfile.
# The environment is new; the tests lie where the source tree's package cannot be imported, and see no compiler. Left out are those that
# compile (test_blis, test_c_library, test_matlab) and those of the source tree itself (test_layout, test_packaging, test_c_pages); others that need a compiler skip.
set -eu
[ $# -ge 1 ] || { echo "usage: test-wheel.sh WHEEL [PYTHON [what pytest takes]]" >&2; exit 2; }
[ -f "$1" ] || { echo "test-wheel.sh: WHEEL: no file $1" >&2; exit 1; }
wheel=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
python=python3
[ $# = 0 ] || { python=$1; shift; }
[ $# -ge 1 ] || set -- -n 2 --dist loadfile
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_DISABLE_PIP_VERSION_CHECK
unset PYTHONPATH # would put others' packages before those of the environment
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --only-binary=hetsched "${wheel}[test-all]"

# The programs of this machine without its compilers; earlier folders of PATH come first.
mkdir "$work/bin" "$work/tree"
(
    IFS=:
    for folder in $PATH; do
        [ -d "$folder" ] || continue
        find "$folder" -maxdepth 1 ! -type d ! -name cc ! -name 'c[89]9*' ! -name '*gcc*' ! -name '*g++*' ! -name 'c++*' ! -name '*clang*' ! -name tcc \
            -exec sh -c 'for file; do [ -e "$0/${file##*/}" ] || ln -s "$file" "$0/"; done' "$work/bin" {} +
    done
)
for name in *; do
    case $name in hetsched | csrc | cmake | CMakeLists.txt | build | dist | demo) ;; *) cp -r "$name" "$work/tree/" ;; esac
done
cd "$work/tree"
PATH=$work/venv/bin:$work/bin
export PATH
unset CC VIRTUAL_ENV
if command -v cc gcc g++ clang; then echo "test-wheel.sh: these are compilers" >&2; exit 1; fi
python -c 'import hetsched, sys; sys.exit(not hetsched.__file__.startswith(sys.prefix))' || { echo "test-wheel.sh: another hetsched is imported" >&2; exit 1; }
hetsched info
python -m pytest -q "$@" --ignore=tests/_engine/test_blis.py --ignore=tests/_engine/test_c_library.py --ignore=tests/project/test_layout.py --ignore=tests/project/test_packaging.py \
    --ignore=tests/project/test_matlab.py --deselect=tests/project/test_api.py::test_c_pages
