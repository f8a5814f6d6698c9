#!/bin/sh
# Installs the Debian packages that are missing, if this is Debian and we are root (or have sudo); says in words what to do if not.
# system-packages.sh PYTHON, and after it "clang" for what "make cfuzz" needs, "tests" for the BLAS's and LAPACK's own test programs
# and for a compiler and an emulator of aarch64.
set -u
python=$1
missing=""
command -v "$python" >/dev/null || { echo "hetsched: $python is not installed (3.11 or later is needed)"; exit 1; }
command -v cc >/dev/null || missing="$missing gcc libc6-dev"
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
"$python" -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || missing="$missing python3-dev"
if [ "${2:-}" = clang ]; then
    clang=$(clang -print-runtime-dir 2>/dev/null) && [ -n "$(find "$clang" -name 'libclang_rt.fuzzer*' 2>/dev/null)" ] || missing="$missing clang libclang-rt-dev"
fi
required=$missing
has_blis() {
    [ -n "$(find /usr/include /usr/local/include -maxdepth 3 \( -name blis.h -o -name blis64.h \) 2>/dev/null)" ] ||
        pkg-config --exists blis 2>/dev/null || pkg-config --exists blis64 2>/dev/null
}
has_blis || missing="$missing libblis-pthread-dev"
if [ "${2:-}" = tests ]; then
    [ -n "$(find /usr/lib -path '*/lapack/xlintstd' 2>/dev/null)" ] || missing="$missing liblapack-test"
    [ -n "$(find /usr/lib -path '*/blas/xblat3d' 2>/dev/null)" ] || missing="$missing libblas-test"
    [ -n "$(find /usr/lib -path '*/blas/libblas.so.3' 2>/dev/null)" ] || missing="$missing libblas3"
    command -v aarch64-linux-gnu-gcc >/dev/null || missing="$missing gcc-aarch64-linux-gnu"
    [ -f /usr/aarch64-linux-gnu/include/stdio.h ] || missing="$missing libc6-dev-arm64-cross"
    command -v qemu-aarch64 >/dev/null || missing="$missing qemu-user"
fi
[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null; then
    [ -z "$required" ] || { echo "hetsched needs (by Debian's names):$required"; exit 1; }
    has_blis || echo "hetsched: BLIS was not found; install it for full speed. Going on without."
    exit 0
fi
as_root=""
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root="sudo"; else
        [ -z "$required" ] || { echo "hetsched needs Debian packages and is not root; please run: apt-get install$missing"; exit 1; }
        echo "hetsched: not root; going on without (what would be used: apt-get install$missing)."
        exit 0
    fi
fi
export DEBIAN_FRONTEND=noninteractive
install="$as_root apt-get install -y -qq --no-install-recommends $missing"
"$python" "$(dirname "$0")/elapsed.py" "hetsched: installing$missing" "about a minute" \
    sh -c "{ $install || { $as_root apt-get update -qq; $install; }; } </dev/null >/dev/null 2>&1" && exit 0
[ -z "$required" ] || { echo "hetsched: apt-get install$missing failed"; exit 1; }
echo "hetsched:$missing could not be installed; going on without."
