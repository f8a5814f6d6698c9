"""BLIS is found wherever Debian, pkg-config or its own install put it, and is used only if header,
library and panels agree.

The BLIS here is a stub of a few lines: what is tested is the search and the engine's choice, not
the kernels.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from inputs import many

from hetsched._engine import ffi, kernels
from hetsched.cli import main as cli

ROOT = Path(__file__).parents[2]
CC = os.environ.get("CC", "cc")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Debian's directories and ELF libraries"
)

HEADER = """
typedef long dim_t, inc_t;
typedef int num_t;
typedef struct { const void *a, *b; } auxinfo_t;
typedef struct { int unused; } cntx_t;
#ifndef BLIS_ARCH_SKX
#define BLIS_ARCH_SKX 0
#endif
enum { BLIS_FLOAT = 1, BLIS_DOUBLE, BLIS_GEMM_UKR, BLIS_MR = 10, BLIS_NR, BLIS_KC, BLIS_MC };
void bli_init(void);
const char *bli_info_get_version_str(void);
int bli_arch_query_id(void);
const char *bli_arch_string(int id);
cntx_t *bli_gks_query_cntx(void);
dim_t bli_cntx_get_blksz_def_dt(num_t type, int size, const cntx_t *context);
dim_t bli_cntx_get_blksz_max_dt(num_t type, int size, const cntx_t *context);
static inline void bli_auxinfo_set_next_ab(void *a, void *b, auxinfo_t *next)
{
    next->a = a, next->b = b;
}
"""
SINCE_1_0 = """
#define BLIS_VERSION_STRING "{version}"
void *bli_cntx_get_ukr_dt(num_t type, int kernel, const cntx_t *context);
int bli_cntx_ukr_prefers_rows_dt(num_t type, int kernel, const cntx_t *context);
"""
BEFORE_1_0 = """
void *bli_cntx_get_l3_nat_ukr_dt(num_t type, int kernel, const cntx_t *context);
int bli_cntx_l3_nat_ukr_prefers_rows_dt(num_t type, int kernel, const cntx_t *context);
"""
LIBRARY = """
static void multiply(void) {}
extern int printf(const char *, ...);
extern char *getenv(const char *);
void bli_init(void)
{
    const char *set = getenv("BLIS_ARCH_TYPE");
    if (getenv("SHOW")) printf("init %s|", set ? set : "-");
}
const char *bli_info_get_version_str(void) { return VERSION; }
int bli_arch_query_id(void) { return 0; }
const char *bli_arch_string(int id) { return "stub"; }
void *bli_gks_query_cntx(void)
{
    static int context;
#ifdef _OPENMP
#pragma omp parallel
#pragma omp atomic
    context++;
#endif
#ifdef BROKEN
    void missing(void);
    missing();
#endif
    return &context;
}
long bli_cntx_get_blksz_def_dt(int type, int size, const void *context) { return 4; }
#ifndef GAP
#define GAP 0
#endif
long bli_cntx_get_blksz_max_dt(int type, int size, const void *context)
{
    return 4 + (size == GAP);
}
void *bli_cntx_get_ukr_dt(int type, int kernel, const void *context) { return (void *)multiply; }
int bli_cntx_ukr_prefers_rows_dt(int type, int kernel, const void *context) { return 0; }
void *bli_cntx_get_l3_nat_ukr_dt(int type, int kernel, const void *context)
{
    return (void *)multiply;
}
int bli_cntx_l3_nat_ukr_prefers_rows_dt(int type, int kernel, const void *context) { return 0; }
"""
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(find C)
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
# Do not find a BLIS that is installed on this machine.
foreach(kind CMAKE_SYSTEM_PATH CMAKE_ENVIRONMENT_PATH SYSTEM_ENVIRONMENT_PATH)
  set(CMAKE_FIND_USE_${kind} OFF)
endforeach()
list(APPEND CMAKE_MODULE_PATH "${MODULES}")
find_package(BLIS 0.9)
if(BLIS_FOUND)
  set(use "${CMAKE_BINARY_DIR}/use")
  file(WRITE "${use}.c"
       "#include <${BLIS_HEADER}>\nint main(void) { return bli_arch_query_id(); }\n")
  try_compile(usable "${use}" "${use}.c" LINK_LIBRARIES BLIS::BLIS)
endif()
message(STATUS "result|${BLIS_FOUND} ${usable}|${BLIS_VERSION}|${BLIS_HEADER}|${BLIS_LIBRARIES}|")
"""


def run(*command, **options):
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip()


TRIPLET = run(CC, "-print-multiarch") or "any-linux-gnu"


def write_header(path, version):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        HEADER + (BEFORE_1_0 if version == "0.9.0" else SINCE_1_0.format(version=version))
    )


def write_library(path, version, *flags):
    path.parent.mkdir(parents=True, exist_ok=True)
    compile_ = (CC, "-O0", "-fPIC", f'-DVERSION="{version}"', *flags, "-x", "c", "-")
    if path.suffix == ".so":
        run(*compile_, "-shared", "-o", path, input=LIBRARY)
    else:
        run(*compile_, "-c", "-o", path.with_suffix(".o"), input=LIBRARY)
        run("ar", "rcs", path, path.with_suffix(".o"))


def write_flavour(tree, name, version="1.1"):
    """As Debian does, e.g. blis64-openmp."""
    stem = name.split("-")[0]
    flags = ["-fopenmp"] if name.endswith("openmp") else []
    write_header(tree / "include" / TRIPLET / name / f"{stem}.h", version)
    write_library(tree / "lib" / TRIPLET / name / f"lib{stem}.a", version, *flags)
    return tree / "lib" / TRIPLET / name / f"lib{stem}.a"


@pytest.fixture(scope="module")
def find(tmp_path_factory):
    """find(tree) configures a project against that tree alone: None, or version, header, libraries
    and the output."""
    import cmake

    cmake_command = Path(cmake.CMAKE_BIN_DIR) / "cmake"
    project = tmp_path_factory.mktemp("find")
    (project / "CMakeLists.txt").write_text(PROJECT)
    fixed = (
        f"-DMODULES={ROOT / 'cmake'}",
        f"-DCMAKE_LIBRARY_ARCHITECTURE={TRIPLET}",
        f"-DCMAKE_C_COMPILER={CC}",
    )

    def find(tree, pkg_config_path=""):
        forget = [f"-U{name}*" for name in ("BLIS_", "PC_BLIS_", "__pkg_config_")]
        environment = os.environ | {
            "PKG_CONFIG_PATH": str(pkg_config_path),
            "PKG_CONFIG_LIBDIR": "/none",
        }
        command = (
            cmake_command,
            "-S",
            project,
            "-B",
            project / "build",
            *forget,
            *fixed,
            f"-DCMAKE_PREFIX_PATH={tree}",
        )
        output = run(*command, env=environment)
        found, *rest = output.split("result|")[1].split("|")[:4]
        return tuple(rest) if found == "TRUE TRUE" else None

    return find


FLAVOURS = [
    f"{stem}-{kind}" for stem in ("blis", "blis64") for kind in ("pthread", "serial", "openmp")
]


@pytest.mark.slow
@pytest.mark.parametrize("name", many(FLAVOURS, FLAVOURS[::3]))
def test_debians_flavours(find, tmp_path, name):
    version = "2.1" if "64" in name else "0.9.0"
    library = write_flavour(tmp_path, name, version)
    # its static library needs the compiler's OpenMP
    flags = ";-fopenmp" if name.endswith("openmp") else ""
    assert find(tmp_path) == (version, f"{name.split('-')[0]}.h", f"{library}{flags}")


@pytest.mark.slow
def test_the_best_of_several_flavours(find, tmp_path):
    for name in reversed(FLAVOURS):
        library = write_flavour(tmp_path, name)
    assert find(tmp_path) == ("1.1", "blis.h", str(library))
    assert "blis-pthread" in str(library)


@pytest.mark.slow
def test_its_own_install(find, tmp_path):
    write_header(tmp_path / "include" / "blis" / "blis.h", "1.1")
    shared, static = tmp_path / "lib" / "libblis.so", tmp_path / "lib" / "libblis.a"
    write_library(shared, "1.1")
    assert find(tmp_path) == ("1.1", "blis.h", str(shared))
    write_library(static, "1.1")
    assert find(tmp_path) == ("1.1", "blis.h", str(static))
    write_library(static, "1.1", "-DBROKEN")  # cannot be linked
    assert find(tmp_path) == ("1.1", "blis.h", str(shared))


def test_pkg_config_alone_knows(find, tmp_path):
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config on this machine")
    tree, empty = tmp_path / "tree", tmp_path / "empty"
    write_header(tree / "headers" / "blis.h", "1.1")
    write_library(tree / "archives" / "libblis.a", "1.1")
    (tree / "pc").mkdir()
    (tree / "pc" / "blis.pc").write_text(
        f"Name: BLIS\nDescription: stub\nVersion: 1.1\nLibs: -L{tree}/archives -lblis\nCflags:"
        f" -I{tree}/headers\n"
    )
    assert find(empty, tree / "pc") == ("1.1", "blis.h", str(tree / "archives" / "libblis.a"))
    assert find(empty) is None


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("header", "library"), [("1.1", "2.1"), ("0.9.0", "1.1"), ("1.1", "0.9.0"), ("0.8.1", "0.8.1")]
)
def test_header_and_library_of_one_release(find, tmp_path, header, library):
    write_header(tmp_path / "include" / "blis" / "blis.h", header)
    write_library(tmp_path / "lib" / "libblis.a", library)
    assert find(tmp_path) is None


def test_no_library_from_elsewhere(find, tmp_path):
    """A header in one prefix and a library in another do not make a BLIS."""
    write_header(tmp_path / "one" / "include" / "blis" / "blis.h", "1.1")
    write_library(tmp_path / "other" / "lib" / "libblis.a", "1.1")
    assert find(f"{tmp_path / 'one'};{tmp_path / 'other'}") is None


MAIN = """
#include "kernel/kernel.h"
#include <stdio.h>
hs__cpu hs__cpu_detect(void) { return (hs__cpu){.avx2_fma = 1, .avx512 = 1}; }
int main(void)
{
    hs_kernel_info info;
    hs_kernel_describe(&info);
    printf("%s|%s|%s|%d", info.name, info.version, info.refused, hs_kernel_select("blis"));
    return 0;
}
"""


# Whoever changes the environment in place races with getenv of other threads: the functions that do
# so are counted here.
QUIET_MAIN = """
#define _GNU_SOURCE
#include "kernel/kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
hs__cpu hs__cpu_detect(void) { return (hs__cpu){.avx2_fma = 1, .avx512 = 1}; }
static int changes;
int setenv(const char *name, const char *value, int replace)
{
    (void)name, (void)value, (void)replace;
    return changes++;
}
int unsetenv(const char *name) { (void)name; return changes++; }
int putenv(char *text) { (void)text; return changes++; }
int main(void)
{
    char **before = environ;
    size_t count = 0;
    while (before[count]) count++;
    hs_kernel_info info;
    hs_kernel_describe(&info);
    const char *left = getenv("BLIS_ARCH_TYPE");
    const char *where = environ == before && !before[count] ? "same" : "moved";
    printf("%s|%s|%d changes, %s", info.name, left ? left : "-", changes, where);
    return 0;
}
"""


def build_engine(path, version, *flags, main=MAIN):
    """The engine's choice of kernels, linked to path/libblis.so as on a machine with AVX-512."""
    write_header(path / "blis64.h", version)
    write_library(path / "libblis.so", version)
    sources = [
        ROOT / "csrc" / "kernel" / f"{name}.c"
        for name in ("kernel", "kernel_blis", "kernel_c", "kernel_fortran")
    ]
    includes = (
        f"-I{ROOT / 'csrc' / 'include'}",
        f"-I{ROOT / 'csrc'}",
        f"-isystem{path}",
        '-DHS_BLIS_HEADER="blis64.h"',
    )
    linked = (
        "-x",
        "none",
        path / "libblis.so",
        f"-Wl,-rpath,{path}",
        "-lpthread",
        "-lm",
        "-o",
        path / "main",
    )
    run(
        CC,
        "-O0",
        "-Wall",
        "-Werror",
        *includes,
        *flags,
        *sources,
        "-x",
        "c",
        "-",
        *linked,
        input=main,
    )
    return path / "main"


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.9.0", "1.1"])
def test_the_library_is_replaced_after_the_build(tmp_path, version):
    """Two releases share the name libblis.so.4 but not their structures."""
    engine = build_engine(tmp_path, version, "-DBLIS_CONFIG_SKX")
    assert run(engine) == f"blis|{version}||0"
    unsupported = ffi.lib.HS_ERROR_UNSUPPORTED
    write_library(tmp_path / "libblis.so", "2.1")
    assert run(engine) == f"c||BLIS 2.1 was loaded, the build was for {version}|{unsupported}"
    for size in (10, 11):  # BLIS_MR, BLIS_NR
        write_library(tmp_path / "libblis.so", version, f"-DGAP={size}")
        assert (
            run(engine)
            == f"c||the panels of BLIS's kernel set stub are of a special form|{unsupported}"
        )


@pytest.mark.slow
@pytest.mark.parametrize(("version", "shown"), [("0.9.0", "3"), ("1.1", "3"), ("2.1", "skx")])
def test_the_environment_is_left_where_it_is(tmp_path, monkeypatch, version, shown):
    """getenv of another thread may be reading it; BLIS sees the set for as long as it initialises
    itself."""
    monkeypatch.setenv("SHOW", "1")
    monkeypatch.delenv("BLIS_ARCH_TYPE", raising=False)
    flags = ("-DBLIS_CONFIG_SKX", "-DBLIS_ARCH_SKX=3")
    engine = build_engine(tmp_path, version, *flags, main=QUIET_MAIN)
    assert run(engine) == f"init {shown}|blis|-|0 changes, same"
    monkeypatch.setenv("BLIS_ARCH_TYPE", "7")
    assert run(engine) == "init 7|blis|7|0 changes, same"


@pytest.mark.slow
def test_a_blis_without_avx512(tmp_path, monkeypatch):
    monkeypatch.delenv("BLIS_ARCH_TYPE", raising=False)
    engine = build_engine(tmp_path, "1.1")
    assert run(engine) == f"c||BLIS 1.1 was built without AVX-512|{ffi.lib.HS_ERROR_UNSUPPORTED}"
    monkeypatch.setenv("BLIS_ARCH_TYPE", "0")
    assert run(engine) == "blis|1.1||0"


def test_info_says_why_blis_is_not_used(monkeypatch, capsys):
    kernel = kernels.kernel()
    for changes, want in (
        ({"name": "blis", "version": "1.1", "refused": ""}, "blis 1.1"),
        (
            {"name": "c", "version": "", "refused": ""},
            "hetsched's own kernels in C (no BLIS in this build)",
        ),
        (
            {"name": "c", "version": "", "refused": "too old"},
            "hetsched's own kernels in C (too old)",
        ),
        ({"name": "openblas", "version": "", "refused": "too old"}, "openblas (too old)"),
    ):
        monkeypatch.setattr(kernels, "kernel", lambda changes=changes: kernel | changes)
        assert cli.main(["info"]) == 0
        assert f"library        {want}\n" in capsys.readouterr().out
