"""The test programs of the reference BLAS and LAPACK, of Debian's libblas-test and liblapack-test,
with the library."""

import os
import re
import subprocess
from pathlib import Path

import dropin_calls as calls
import pytest

calls.skip_without_library()
BLAS, LAPACK = (sorted(Path("/usr/lib").glob(f"*/{folder}")) for folder in ("blas", "lapack"))
FAILURES = ("FAIL", "did not pass", "*** Error", "*** Illegal", "SUSPECT", "FATAL", "aborted")
FAILURES += ("failed to pass", "*** XERBLA")
#: Functions that are for some calls alone: tall systems, all eigenvalues, matrices with elements.
_FOR_SOME = ("gels", "syev", "syevd", "syevr", "heev", "heevd", "heevr", "gesdd", "gesvd")
_FOR_SOME += ("sygv", "sygvd", "hegv", "hegvd")


def faults(program, given, environment, cwd):
    """Lines in which the program says what it finds wrong, all that it says, and our report."""
    with given.open() as file:
        done = subprocess.run(
            [program],
            stdin=file,
            env=environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=300,
            errors="replace",
        )
    assert done.returncode == 0, done.stderr
    said = done.stdout + "".join(path.read_text(errors="replace") for path in cwd.iterdir())
    found = [line for line in said.splitlines() if any(word in line for word in FAILURES)]
    return found, said, done.stderr


def passed(program, given, taken, tmp_path):
    """That the program finds no fault in what it is given but those of the system's libraries, and
    that its calls of these functions were taken."""
    if not program.exists() or not given.exists():
        pytest.skip(
            f"{program.name} is not installed: Debian's packages libblas-test, liblapack-test"
        )
    made, usual = calls.environment(), dict(os.environ)
    if program.parent.name == "blas":
        made["LD_LIBRARY_PATH"] = usual["LD_LIBRARY_PATH"] = str(program.parent)
    found, said, report = faults(program, given, made, tmp_path)
    if found:  # with LAPACK 3.11 and BLIS, slatrs3 has some
        alone = tmp_path / "alone"
        alone.mkdir()
        theirs, _, _ = faults(program, given, usual, alone)
        assert not set(found) - set(theirs), found[:10]
    assert "PASSED" in said.upper()
    counted = calls.table(report)
    for name in taken:
        assert counted[name]["taken"] > 0, name
        assert counted[name]["taken"] > counted[name]["refused"] or name[1:] in _FOR_SOME, name


def folder_of(found):
    return found[0] if found else Path("/nowhere")


@pytest.mark.parametrize(
    "program", ["xblat{level}{letter}", "x{letter}cblat{level}"], ids=["fortran", "c"]
)
@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("level", [2, 3])
def test_the_blas(program, letter, level, tmp_path):
    folder = folder_of(BLAS)
    given = "{letter}blat{level}.in" if program.startswith("xblat") else "{letter}in{level}"
    routines = ["gemv"] if level == 2 else ["gemm", "syrk", "trsm"]
    names = (folder / name.format(letter=letter, level=level) for name in (program, given))
    passed(*names, [letter + each for each in routines], tmp_path)


_BLOCKS = (
    "5                      Number of values of NB\n1 3 3 3 20             Values of NB (the"
    " blocksize)\n1 0 5 9 1 "
)
_ONE_BLOCK = (
    "1                      Number of values of NB\n20                     Values of NB (the"
    " blocksize)\n1 "
)


@pytest.mark.slow
@pytest.mark.parametrize("letter", "sdcz")
def test_lapack(letter, tmp_path):
    """With one of the programs' block sizes, which are LAPACK's own matter: each repeats all
    tests."""
    folder = folder_of(LAPACK)
    given = folder / f"{letter}test.in"
    if given.exists():
        said = given.read_text()
        assert said.count(_BLOCKS) == 1
        given = tmp_path.with_suffix(".in")
        given.write_text(said.replace(_BLOCKS, _ONE_BLOCK))
    taken = [
        "getrf",
        "getrs",
        "getri",
        "potrf",
        "potrs",
        "trtrs",
        "geqrf",
        "orgqr",
        "ormqr",
        "gels",
        "gemm",
        "trsm",
    ]
    passed(folder / f"xlintst{letter}", given, [letter + each for each in taken], tmp_path)


def _one_block(said):
    """The input with the last of its block sizes."""
    said = re.sub(
        r"^\d+(?= +Number of (?:values of NB|parameter values)\b)", "1", said, count=1, flags=re.M
    )
    values = r"^[\d ]*?(\d+)( +Values of (?:NB|NBMIN|NX|NRHS)\b)"
    said, count = re.subn(values, r"\1\2", said, flags=re.M)
    assert count in (3, 4)
    return said


def _larger(said):
    """The input with orders around the engine's block sizes. What the reference library itself
    fails at these orders is left out: band matrices, for which the program has no room, and types 9
    and 10 of syevr's ranges; and 20 roundings of a pair, of which 50 are allowed, as elsewhere."""
    orders = {"M": "64 65 130 130 70 40", "N": "64 97 70 131 130 130"}
    if "Values of M" not in said:
        orders = {"N": "48 65 97"}
    for name, values in orders.items():
        count = len(values.split())
        said = re.sub(
            rf"^\d+(?= +Number of values of {name}\b)", str(count), said, count=1, flags=re.M
        )
        said = re.sub(rf"^[\d ]+(?= Values of {name}\b)", values, said, count=1, flags=re.M)
    said = said.replace("20.0 ", "50.0 ")
    if not re.match("SEP|SE2", said):
        return said
    said = re.sub(r"^T(?= +Put T to test the LAPACK)", "F", said, flags=re.M)
    types = "1 2 3 4 5 6 7 8 11 12 13 14 15"
    return re.sub(r"^(SEP|SE2) 20\n[\d ]+$", rf"\1 13\n{types}", said, flags=re.M)


#: What each of the inputs calls.
_EIGENVALUES = {
    "sep": ("syev", "syevd", "syevr"),
    "se2": ("syev", "syevd", "syevr"),
    "svd": ("gesdd", "gesvd"),
    "{letter}sg": ("sygv", "sygvd"),
}


@pytest.mark.slow
@pytest.mark.parametrize("letter", "sdcz")
@pytest.mark.parametrize("name", list(_EIGENVALUES))
@pytest.mark.parametrize("orders", ["small", "large"])
def test_lapack_eigenvalues(letter, name, orders, tmp_path):
    """The drivers and their error exits; svd.in asks for the same vectors of all jobs."""
    folder = folder_of(LAPACK)
    given = folder / f"{name.format(letter=letter)}.in"
    if given.exists():
        said = given.read_text()
        if orders == "large":
            said = _one_block(said)
        given = tmp_path.with_suffix(".in")
        given.write_text(_larger(said) if orders == "large" else said)
    taken = [calls.usual(letter, routine) for routine in _EIGENVALUES[name]]
    passed(folder / f"xeigtst{letter}", given, taken, tmp_path)
