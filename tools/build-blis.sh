#!/bin/sh
# Builds BLIS for wheels: build-blis.sh PREFIX installs a static, position-independent library, its headers and its licence there.
# BLIS_TARBALL=FILE takes the release's tarball from FILE, for machines without GitHub (Debian's blis_1.1.orig.tar.gz is the same file).
# BLIS_FAMILY=NAME builds another family or set of kernels than this machine's, with CC=... a compiler for it, and AR=... its ar.
set -eu
version=1.1
sha256=847c035809b8994c077ade737a4813601db96c4cf0d903d08ba6a9b8ee0fe03e
url=https://github.com/flame/blis/archive/refs/tags/$version.tar.gz

[ $# = 1 ] || { echo "usage: build-blis.sh PREFIX" >&2; exit 2; }
case $1 in /*) prefix=$1 ;; *) prefix=$PWD/$1 ;; esac
case $(uname -m) in
    x86_64 | amd64) family=x86_64 ;;
    aarch64 | arm64) family=arm64 ;;
    *) family=generic ;;
esac
family=${BLIS_FAMILY:-$family}

# Never inside a checkout: BLIS takes its version from the first git repository that it finds.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
tarball=${BLIS_TARBALL:-}
if [ -z "$tarball" ]; then
    tarball=$work/blis.tar.gz
    curl -fsSL --retry 3 -o "$tarball" "$url" || { echo "build-blis.sh: $url cannot be had; give its file in BLIS_TARBALL" >&2; exit 1; }
fi
[ -f "$tarball" ] || { echo "build-blis.sh: BLIS_TARBALL: no file $tarball" >&2; exit 1; }
if command -v sha256sum >/dev/null; then found=$(sha256sum <"$tarball"); else found=$(shasum -a 256 <"$tarball"); fi
found=${found%% *}
[ "$found" = "$sha256" ] || { echo "build-blis.sh: $tarball is not BLIS $version: sha256 $found, not $sha256" >&2; exit 1; }

tar -xzf "$tarball" -C "$work"
cd "$work/blis-$version"
# The engine has threads of its own and asks BLIS for micro-kernels only; the names of the BLAS belong to others.
log=$work/log
quietly() { "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; exit 1; }; }
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
quietly ./configure --prefix="$prefix" --disable-shared --enable-static --disable-threading --disable-blas --disable-cblas "$family"
quietly make -j"$jobs"
quietly make install
cp LICENSE "$prefix/share/blis/LICENSE"
echo "BLIS $version ($family): $prefix"
