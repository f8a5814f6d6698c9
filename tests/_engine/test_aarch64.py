"""The engine for aarch64: cross-compiled without a warning; the tests in C of its kernels and of
what stands on them run in QEMU. They say nothing of speed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from c_tools import ROOT, run, tool

PACKAGES = {"aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "qemu-aarch64": "qemu-user"}
MISSING = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
if not Path("/usr/aarch64-linux-gnu/include/stdio.h").is_file():
    MISSING.append("libc6-dev-arm64-cross")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs Debian's {' '.join(MISSING)}"),
]

#: Programs of csrc/tests whose results depend on the instruction set.
PROGRAMS = (
    "kernel",
    "product",
    "thin",
    "lu",
    "factor",
    "tall",
    "stacks",
    "slices",
    "wavefront",
    "rows",
    "chase",
    "lanes",
)

INFO = r"""
#include <stdio.h>
#include "hetsched.h"
int main(void)
{
    hs_kernel_info x;
    if (hs_kernel_describe(&x)) return 1;
    printf("%s, %s (%s)", x.name, x.set, x.reason);
    for (int type = 0; type < 2; type++) printf(", %d x %d", x.tile_rows[type], x.tile_cols[type]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def build():
    """Kept, as those of the other tests in C are: the next run compiles what has changed. The
    engine is compiled as for a release, the tests by -O1."""
    folder = ROOT / "build" / "ctest-aarch64"
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'aarch64.cmake'}"
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS=-Werror", "-DCMAKE_C_FLAGS_RELEASE=-O1"]
    run(
        tool("cmake"),
        "-S",
        ROOT,
        "-B",
        folder,
        toolchain,
        "-DSKBUILD=OFF",
        "-DHETSCHED_BLIS=OFF",
        "-DHETSCHED_TESTS=ON",
        *flags,
    )
    run(
        tool("cmake"),
        "--build",
        folder,
        "-j",
        "2",
        "--target",
        *(f"test_{name}" for name in PROGRAMS),
    )
    return folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(build, name):
    run(
        tool("ctest"),
        "--test-dir",
        build,
        "--output-on-failure",
        "--no-tests=error",
        "-R",
        f"^{name}$",
    )


def test_kernel_in_use(build, tmp_path):
    source, program = tmp_path / "info.c", tmp_path / "info"
    source.write_text(INFO, encoding="utf-8")
    library = build / "csrc" / "libhetsched.a"
    run(
        "aarch64-linux-gnu-gcc",
        "-I",
        ROOT / "csrc" / "include",
        source,
        library,
        "-pthread",
        "-lm",
        "-o",
        program,
    )
    printed = run("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", program)
    assert printed == "c, neon (any aarch64 processor), 8 x 12, 8 x 6"
