"""The drop-in library as the libblas.so.3 of a system, and as one that is loaded at run time: by a
library that names both."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hetsched.machine.dropin import library

BEHIND = sorted(Path("/usr/lib").glob("*/libblis.so.4")) + sorted(
    Path("/usr/lib").glob("*/libopenblas.so.0")
)
pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="the drop-in library is built on Linux"
    ),
    pytest.mark.skipif(
        shutil.which("gcc") is None or not BEHIND,
        reason="needs gcc, and BLIS or OpenBLAS as a shared library",
    ),
]
PROGRAM = """
#include <stdio.h>
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *,
            const double *, const int *, const double *, const int *, const double *, double *,
            const int *);
void daxpy_(const int *, const double *, const double *, const int *, double *, const int *);
static double a[300 * 300], c[300 * 300];
int main(void)
{
    const int n = 300, all = 300 * 300, step = 1;
    const double one = 1.0, zero = 0.0;
    for (int i = 0; i < all; i++) a[i] = i % 7;
    dgemm_("N", "T", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    daxpy_(&all, &one, a, &step, c, &step);
    double expected = a[5];
    for (int l = 0; l < n; l++) expected += a[5 + l * n] * a[l * n];
    printf("%g %g\\n", c[5], expected);
    return 0;
}
"""


def compile_with(*arguments):
    done = subprocess.run(
        ["gcc", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def shim(tmp_path):
    """A libblas.so.3 with our functions before those of the library behind, as the guide makes
    it."""
    ours = library().parent
    made = tmp_path / "libblas.so.3"
    compile_with(
        "-shared",
        "-o",
        made,
        "-Wl,-soname,libblas.so.3",
        "-Wl,--no-as-needed",
        f"-Wl,-rpath,{ours}:{BEHIND[0].parent}",
        f"-L{ours}",
        "-l:libhetsched_blas.so",
        f"-L{BEHIND[0].parent}",
        f"-l:{BEHIND[0].name}",
    )
    return made


def run(program, environment):
    done = subprocess.run(
        [program], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    got, expected = map(float, done.stdout.split())
    assert got == expected
    return done.stderr


def test_in_the_place_of_libblas(tmp_path, shim, monkeypatch):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    # what programs are linked with has the names itself
    linked, stub = tmp_path / "linked.so", tmp_path / "linked.c"
    stub.write_text("void dgemm_(void) {} void daxpy_(void) {}")
    compile_with("-shared", "-fPIC", "-Wl,-soname,libblas.so.3", stub, "-o", linked)
    compile_with(source, "-o", program, linked)
    settings = {"LD_LIBRARY_PATH": str(shim.parent), "HETSCHED_BLAS_CORES": "0,1"}
    assert run(program, settings) == ""
    report = run(program, {**settings, "HETSCHED_BLAS_REPORT": "1"})
    (line,) = [line for line in report.splitlines() if line.startswith("dgemm ")]
    assert line.split()[1] == "1"


def test_loaded_at_run_time(tmp_path, shim):
    """As FlexiBLAS and libblastrampoline do it: names are asked for of the one library, which is in
    no global scope."""
    source, program = tmp_path / "program.c", tmp_path / "program"
    names = {"dgemm_": "gemm", "daxpy_": "axpy"}
    text = PROGRAM.replace("#include <stdio.h>", "#include <dlfcn.h>\n#include <stdio.h>")
    for name in names:
        text = text.replace(f"void {name}(", f"static void (*{name})(")
    load = (
        '    void *blas = dlopen("'
        + str(shim)
        + '", RTLD_NOW | RTLD_LOCAL);\n    if (!blas) return 1;\n'
    )
    load += "".join(f'    *(void **)&{name} = dlsym(blas, "{name}");\n' for name in names)
    source.write_text(
        text.replace("    for (int i = 0; i < all", load + "    for (int i = 0; i < all", 1)
    )
    compile_with(source, "-o", program, "-ldl")
    report = run(program, {"HETSCHED_BLAS_CORES": "0,1", "HETSCHED_BLAS_REPORT": "1"})
    (line,) = [line for line in report.splitlines() if line.startswith("dgemm ")]
    assert line.split()[1] == "1"
