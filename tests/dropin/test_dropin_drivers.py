"""Forwarded calls of LAPACK: the numbers of arguments are LAPACK's, and NumPy and SciPy get the
right results."""

import re
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import pytest

from hetsched.machine.dropin import library

calls.skip_without_library()
ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^ *(REAL|COMPLEX|ALL)\((\w+), (?:([A-Z]+), )?([\d, ]+)\)", re.M)


def table():
    """(function with its letter, arguments, characters, m, n, lwork or None) of each line of
    drivers.h."""
    text = (ROOT / "csrc/blas/drivers.h").read_text()
    for kind, routine, taken, given in LINE.findall(text):
        numbers = [int(number) for number in given.split(",")]
        lwork = numbers.pop() if taken else None
        *counts, characters, m, n = numbers
        letters = {"REAL": ("sd",), "COMPLEX": ("cz",), "ALL": ("sd", "cz")}[kind]
        for pair, count in zip(letters, counts, strict=True):
            for letter in pair:
                yield letter + routine, count, characters, m, n, lwork


def declared():
    """The types and names of the arguments of each function that SciPy declares."""
    linalg = pytest.importorskip("scipy.linalg")
    path = Path(linalg.__file__).with_name("cython_lapack.pxd")
    if not path.exists():
        pytest.skip("SciPy has no declarations here")
    found = re.findall(r"^cdef void (\w+)\((.*?)\)", path.read_text(), re.M)
    return {name: [word.strip() for word in words.split(",")] for name, words in found}


def test_arguments_are_those_of_lapack():
    known, rows = declared(), list(table())
    assert len(rows) > 250
    assert len({name for name, *_ in rows}) == len(rows)
    assert sum(lwork is not None for *_, lwork in rows) == 36
    for name, count, characters, m, n, lwork in rows:
        arguments = known[name]
        assert len(arguments) == count, name
        assert sum(argument.startswith("char ") for argument in arguments) == characters, name
        assert arguments[n - 1] in ("int *n", "int *m"), name  # ggglm has n before m
        assert arguments[m - 1] in ("int *m", "int *n"), name
        assert lwork is None or arguments[lwork - 1] == "int *lwork", name


def test_all_families_of_names():
    import ctypes

    ours = ctypes.CDLL(str(library()))
    for name, *_ in table():
        for text in (f"{name}_", f"{name}_64_", f"scipy_{name}_", f"scipy_{name}_64_"):
            assert hasattr(ours, text)


RESULTS = """
import numpy as np, scipy.linalg as la
for name in "float32", "float64", "complex64", "complex128":
    rng = np.random.default_rng(1)
    n, real = 40, name.startswith("f")
    a = rng.standard_normal((n, n)) + (0 if real else 1j) * rng.standard_normal((n, n))
    b = rng.standard_normal((n, n)) + 9 * np.eye(n)
    a, b = a.astype(name), b.astype(name)
    h, p, tall = a + a.conj().T, b @ b.conj().T, np.vstack([a, b])
    near = lambda x, y: np.testing.assert_allclose(x, y, rtol=0, atol=3e5 * np.finfo(name).eps)
    for driver in "ev", "evd", "evr", "evx":
        w, v = la.eigh(h, driver=driver)
        near(v * w @ v.conj().T, h)
    for driver in "gv", "gvd", "gvx":
        w, v = la.eigh(h, p, driver=driver)
        near(h @ v, p @ v * w)
    w, v = np.linalg.eigh(h)
    near(v * w @ v.conj().T, h)
    for driver in "gesdd", "gesvd":
        u, s, v = la.svd(tall, full_matrices=False, lapack_driver=driver)
        near(u * s @ v, tall)
    u, s, v = np.linalg.svd(a)
    near(u * s @ v, a)
    w, v = la.eig(a)
    near(a @ v, v * w)
    w, v = np.linalg.eig(a)
    near(a @ v, v * w)
    w, v = la.eig(a, b)
    near(a @ v, b @ v * w)
    t, z = la.schur(a, sort="lhp")[:2]
    near(z @ t @ z.conj().T, a)
    s, t, q, z = la.qz(a, b)
    near(q @ s @ z.conj().T, a)
    s, t, _, _, q, z = la.ordqz(a, b, sort="iuc")
    near(q @ t @ z.conj().T, b)
    h2, q = la.hessenberg(a, calc_q=True)
    near(q @ h2 @ q.conj().T, a)
    for driver in "gelsd", "gelss", "gelsy":
        near(tall.conj().T @ (tall @ la.lstsq(tall, tall[:, 0], lapack_driver=driver)[0]),
             tall.conj().T @ tall[:, 0])
    near(np.linalg.lstsq(tall, tall @ a[0], rcond=None)[0], a[0])
    q, r, pivots = la.qr(tall, pivoting=True, mode="economic")
    near(q @ r, tall[:, pivots])
    r, q = la.rq(a)
    near(r @ q, a)
    for kind in "sym", "her", "gen", "pos":
        c = p if kind == "pos" else a + a.T if kind == "sym" else h
        near(c @ la.solve(c, a, assume_a=kind), a)
    l, d, pivots = la.ldl(h)
    near(l @ d @ l.conj().T, h)
    near(la.inv(b) @ b, np.eye(n))
    x = la.solve_sylvester(b, p, a)
    near(b @ x + x @ p, a)
print("right")
"""


@pytest.mark.slow
def test_results_of_numpy_and_scipy():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RESULTS],
        env=calls.environment(HETSCHED_BLAS_LEAST="inf"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    passed = set(re.findall(r"^([sdcz][a-z0-9]+) +\d+ +1\.0 +[\d.]+$", done.stderr, re.M))
    for letter in "sdcz":
        pair = ("he", "un") if letter in "cz" else ("sy", "or")
        routines = ["gesdd", "gesvd", "geev", "ggev", "gees", "gges", "gehrd", "gelsd", "gelss"]
        routines += ["gelsy", "geqp3", "gerqf", "tgsen", "trsyl"]
        routines += [pair[0] + name for name in ("ev", "evd", "evr", "evx", "gv", "gvd", "gvx")]
        routines += [pair[1] + "ghr"]
        assert sorted({letter + routine for routine in routines} - passed) == []
