"""SciPy's OpenBLAS where there is no better kernel: only if its own threads can be held at one; all
workers call it at once."""

import ctypes
import sys

import numpy as np
import pytest

import hetsched as hs
from hetsched._engine import kernels

PLAIN = {"name": "c", "set": "plain"}


@pytest.mark.parametrize(
    ("found", "limited", "platform", "chosen"),
    [
        (PLAIN, True, "linux", ["openblas"]),
        (PLAIN, False, "linux", []),
        (PLAIN, False, "darwin", ["openblas"]),
        ({"name": "c", "set": "neon"}, True, "linux", ["openblas"]),
        ({"name": "c", "set": "avx2"}, True, "linux", []),
        ({"name": "blis", "set": "generic"}, True, "linux", []),
    ],
)
def test_the_default_is_an_openblas_that_can_be_limited(
    monkeypatch, found, limited, platform, chosen
):
    pytest.importorskip("scipy")
    selected = []
    monkeypatch.setattr(kernels, "kernel", lambda: found)
    monkeypatch.setattr(kernels, "_hand_in_openblas", lambda: limited)
    monkeypatch.setattr(kernels, "use_kernel", selected.append)
    monkeypatch.setattr(sys, "platform", platform)
    kernels._choose_kernel()
    assert selected == chosen


@pytest.mark.parametrize(
    "name",
    [
        "scipy_openblas_{}_num_threads",
        "scipy_openblas_{}_num_threads64_",
        "openblas_{}_num_threads64_",
    ],
)
def test_the_functions_for_threads_by_every_name(name):
    class Library:
        pass

    library = Library()
    assert kernels._openblas_threads(library) == (0, 0)
    functions = [
        ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda count: None),
        ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1),
    ]
    setattr(library, name.format("set"), functions[0])
    assert kernels._openblas_threads(library) == (0, 0)
    setattr(library, name.format("get"), functions[1])
    assert kernels._openblas_threads(library) == tuple(
        ctypes.cast(function, ctypes.c_void_p).value for function in functions
    )


def test_scipys_threads_are_what_they_were():
    cython_blas = pytest.importorskip("scipy.linalg.cython_blas")
    addresses = kernels._openblas_threads(ctypes.CDLL(cython_blas.__file__))
    if not all(addresses):
        pytest.skip("SciPy has another BLAS")
    set_threads = ctypes.CFUNCTYPE(None, ctypes.c_int)(addresses[0])
    threads = ctypes.CFUNCTYPE(ctypes.c_int)(addresses[1])
    before, kernel = threads(), kernels.kernel()["name"]
    a = np.arange(300.0 * 300).reshape(300, 300) % 7
    set_threads(2)
    try:
        kernels.use_kernel("openblas")
        result = hs.matmul(a, a)
        assert threads() == 2
    finally:
        kernels.use_kernel(kernel)
        set_threads(before)
    assert np.array_equal(result, a @ a)
