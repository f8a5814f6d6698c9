"""Products with vectors and with a few rows or columns: each element of the large operand is read
as it lies in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many

import hetsched as hs
from hetsched._engine import run as engine
from hetsched.runners import product

DTYPES = [np.dtype(x) for x in (np.float32, np.float64, np.complex64, np.complex128)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(product, "SMALL", 0)


def numbers(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    return (
        found + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else found
    ).astype(dtype)


def assert_product(found, a, b):
    exact = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
    sums = np.matmul(np.abs(a).astype(float), np.abs(b).astype(float))
    assert np.shape(found) == exact.shape
    assert (np.abs(found - exact) <= (a.shape[-1] + 4) * np.finfo(found.dtype).eps * sums).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("n", many([1, 2, 3, 4, 5, 7, 8], [1, 2, 4, 5, 8]))
@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 900), (65, 17), (3000, 3), *many([(63, 64), (400, 300)], [])]
)
def test_skinny(dtype, order, n, shape):
    a = np.array(numbers(shape, dtype), order=order)
    right, left = numbers((shape[1], n), dtype, 1), numbers((n, shape[0]), dtype, 2)
    for b in (right, np.asfortranarray(right), np.repeat(right, 2, 0)[::2], right[::-1, ::-1]):
        assert_product(hs.matmul(a, b), a, b)
        out = np.full((n, shape[0]), np.nan, dtype).T
        assert hs.matmul(a, b, out) is out
        assert_product(out, a, b)
    for b in (left, np.asfortranarray(left)):
        assert_product(hs.matmul(b, a), b, a)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_vectors(dtype):
    a, v, w = numbers((70, 90), dtype), numbers(90, dtype, 1), numbers(70, dtype, 2)
    for x in (a, np.asfortranarray(a), a[::-1], a[:, ::-1]):
        assert_product(hs.matmul(x, v), x, v)
        assert_product(hs.matmul(w, x), w, x)
        assert_product(np.asarray(hs.asarray(x) @ v), x, v)
        assert_product(np.asarray(np.dot(w, hs.asarray(x))), w, x)
    assert_product(hs.matmul(v, v), v, v)
    out = np.empty(70, dtype)
    assert np.matmul(hs.asarray(a), v, out=out) is out
    assert_product(out, a, v)


@given(
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(1, 600),
    st.sampled_from(DTYPES),
    st.booleans(),
    st.booleans(),
)
def test_alpha_and_beta(m, n, k, dtype, by_columns, turned):
    a, b, c = numbers((m, k), dtype), numbers((k, n), dtype, 1), numbers((m, n), dtype, 2)
    a = np.asfortranarray(a) if by_columns else a
    alpha, beta = (2.0 - 1.0j, 1.0j) if dtype.kind == "c" else (-2.0, 0.5)
    expected = alpha * np.matmul(a.astype(np.complex128), b) + beta * c
    if turned:
        a, b, c = b.T, a.T, c.T
    out = c.copy()
    threads = engine.Threads(2, None)
    engine.gemm(threads, a, b, out, alpha, beta, None, None)
    np.testing.assert_allclose(
        out.T if turned else out, expected, rtol=0, atol=1000 * np.finfo(dtype).eps * k
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "shape", [(2000, 300, 1), (1, 300, 2000), (3, 50000, 4), (1, 70000, 1), (300, 2000, 3)]
)
def test_the_same_bits_with_any_workers(dtype, shape):
    m, k, n = shape
    a, b = numbers((m, k), dtype), numbers((k, n), dtype, 1)
    results = set()
    for workers in (1, 2, 5):
        with hs.Pool(workers) as pool:
            results |= {pool.matmul(a, b).tobytes() for _ in range(3)}
    assert len(results) == 1


def test_neither_rows_nor_columns_side_by_side(monkeypatch):
    """NumPy's below NUMPY_SIDE, packed from there on."""
    asked = []
    own = engine.gemm
    monkeypatch.setattr(engine, "gemm", lambda *given: asked.append(given) or own(*given))
    a = numbers((120, 160))[::2, ::2]
    for n in range(1, 9):
        b = numbers((80, n), seed=n)
        assert_product(hs.matmul(a, b), a, b)
        assert_product(hs.matmul(b.T, a.T), b.T, a.T)
        assert len(asked) == 2 * max(0, n - product.NUMPY_SIDE + 1)


def test_nan_and_infinity_travel():
    a, v = np.ones((50, 60)), np.ones(60)
    a[3, 4], a[7, 8] = np.nan, np.inf
    for x in (a, np.asfortranarray(a)):
        found = hs.matmul(x, v)
        assert np.isnan(found[3])
        assert found[7] == np.inf
        assert (np.delete(found, [3, 7]) == 60).all()
    out = np.full(50, np.nan)
    assert not hs.matmul(a, v, out, 0.0).any()
