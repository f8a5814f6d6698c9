"""The test programs of the reference BLAS and LAPACK, of Debian's libblas-test and liblapack-test, with the library."""

import os
import subprocess
from pathlib import Path

import dropin_calls as calls
import pytest
from test_dropin_programs import table

from hetsched.machine import dropin

calls.skip_without_library()
BLAS, LAPACK = (sorted(Path("/usr/lib").glob(f"*/{folder}")) for folder in ("blas", "lapack"))
FAILURES = ("FAIL", "did not pass", "*** Error", "*** Illegal", "SUSPECT", "FATAL", "aborted")


def passed(program, given, taken, tmp_path):
    """That the program finds no fault, and that its calls of these functions were taken."""
    if not program.exists() or not given.exists():
        pytest.skip(f"{program.name} is not installed: Debian's packages libblas-test, liblapack-test")
    made = {key: value for key, value in os.environ.items() if not key.startswith(("HETSCHED_BLAS", "OMP_", "OPENBLAS_"))}
    made = dropin.environment(least="0", report=True, given=made)
    made.pop("HETSCHED_BLAS_SPEEDS", None)
    made["HETSCHED_BLAS_CORES"] = calls.two_cores()
    if program.parent.name == "blas":
        made["LD_LIBRARY_PATH"] = str(program.parent)
    with given.open() as file:
        done = subprocess.run(
            [program], stdin=file, env=made, cwd=tmp_path, capture_output=True, text=True, timeout=300, errors="replace"
        )
    assert done.returncode == 0, done.stderr
    said = done.stdout + "".join(path.read_text(errors="replace") for path in tmp_path.iterdir())
    found = [line for line in said.splitlines() if any(word in line for word in FAILURES)]
    assert not found, found[:10]
    assert "PASSED" in said.upper()
    counted = table(done.stderr)
    for name in taken:
        assert counted[name]["taken"] > 0, name
        assert counted[name]["taken"] > counted[name]["refused"] or name[1:] == "gels", name  # which is for tall systems alone


def folder_of(found):
    return found[0] if found else Path("/nowhere")


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("level", [2, 3])
def test_the_blas(letter, level, tmp_path):
    folder = folder_of(BLAS)
    routines = ["gemv"] if level == 2 else ["gemm", "syrk", "trsm"]
    passed(folder / f"xblat{level}{letter}", folder / f"{letter}blat{level}.in", [letter + each for each in routines], tmp_path)


@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("level", [2, 3])
def test_the_blas_in_c(letter, level, tmp_path):
    folder = folder_of(BLAS)
    routines = ["gemv"] if level == 2 else ["gemm", "syrk", "trsm"]
    passed(folder / f"x{letter}cblat{level}", folder / f"{letter}in{level}", [letter + each for each in routines], tmp_path)


@pytest.mark.parametrize("letter", "sz")  # 10 seconds each
def test_lapack(letter, tmp_path):
    folder = folder_of(LAPACK)
    taken = ["getrf", "getrs", "getri", "potrf", "potrs", "trtrs", "geqrf", "orgqr", "ormqr", "gels", "gemm", "trsm"]
    passed(folder / f"xlintst{letter}", folder / f"{letter}test.in", [letter + each for each in taken], tmp_path)
