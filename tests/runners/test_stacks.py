"""Stacks of matrices: products, systems and factors of each item by one worker, beside NumPy's."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched._engine import run as engine
from hetsched._engine import stack
from hetsched.runners import product

DTYPES = [np.dtype(x) for x in (np.float32, np.float64, np.complex64, np.complex128)]
SIZES = [0, 1, 2, 7, 8, 9, 16, 17, 50]


@pytest.fixture(scope="module", autouse=True)
def two_workers():
    """Which stacks are long depends on the number of workers."""
    with hs.thread_limit(2):
        yield


@pytest.fixture(scope="module")
def threads():
    found = engine.Threads(2, None)
    yield found
    del found


@pytest.fixture
def engaged(monkeypatch):
    """However small, products are not NumPy's; which function of the engine multiplies them."""
    called = []
    for module, name in ((stack, "products"), (engine, "gemm")):
        own = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, own=own, name=name: called.append(name) or own(*given)
        )
    monkeypatch.setattr(product, "SMALL", 0)
    return called


def numbers(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    return (
        found + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else found
    ).astype(dtype)


def assert_product(found, a, b):
    """Within the usual bound for sums in any order."""
    exact = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
    sums = np.matmul(np.abs(a).astype(float), np.abs(b).astype(float))
    assert found.dtype == np.promote_types(a.dtype, b.dtype)
    assert found.shape == exact.shape
    bound = (a.shape[-1] + 4) * np.finfo(found.dtype).eps * sums
    assert (np.abs(found - exact) <= bound).all()


def layouts(x):
    """The same items stored in other ways: by columns, backwards, with gaps, the stack inside."""
    spread = np.zeros((*x.shape[:-2], 2 * x.shape[-2], 3 * x.shape[-1]), x.dtype)
    spread[..., ::2, ::3] = x
    yield x
    yield np.ascontiguousarray(np.swapaxes(x, -1, -2)).swapaxes(-1, -2)
    yield np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1]
    yield spread[..., ::2, ::3]
    yield np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)


# ---- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_products(engaged, dtype, n):
    a, b = numbers((9, n, 5), dtype), numbers((9, 5, n), dtype, 1)
    for x in layouts(a):
        assert_product(hs.matmul(x, b), a, b)
        assert_product(hs.matmul(a, next(layouts(b))), a, b)
    for y in layouts(b):
        assert_product(hs.matmul(y, a), b, a)
        assert_product(hs.matmul(a, y), a, b)
    assert n == 0 or set(engaged) == {"products"}


@given(st.data())
def test_broadcasting(data):
    sides = st.integers(1, 9)
    m, k, n = (data.draw(sides) for _ in range(3))
    full = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))

    def shared():
        kept = tuple(size if data.draw(st.booleans()) else 1 for size in full)
        return kept[data.draw(st.integers(0, len(full))) :]

    dtypes = [data.draw(st.sampled_from(DTYPES)) for _ in range(2)]
    a, b = numbers((*shared(), m, k), dtypes[0]), numbers((*shared(), k, n), dtypes[1], 1)
    small, product.SMALL = product.SMALL, 0
    try:
        assert_product(hs.matmul(a, b), a, b)
        if a.ndim > 2:
            out = np.full((2, *np.matmul(a, b).shape), 7.0, np.promote_types(*dtypes))[1]
            assert hs.matmul(a, b, out, 2.0) is out
            assert_product(out / 2, a, b)
    finally:
        product.SMALL = small


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_alpha_and_beta(engaged, dtype):
    a, b, c = (numbers((12, 9, 9), dtype, seed) for seed in range(3))
    alpha = 2.0 - 1.0j if dtype.kind == "c" else -2.0
    out = c.copy()
    hs.matmul(a, b, out, alpha, 0.5)
    np.testing.assert_allclose(
        out, alpha * np.matmul(a, b) + 0.5 * c, rtol=0, atol=200 * np.finfo(dtype).eps
    )
    out[...] = np.nan
    hs.matmul(a, b, out, alpha, 0.0)
    np.testing.assert_allclose(out, alpha * np.matmul(a, b), rtol=0, atol=200 * np.finfo(dtype).eps)
    hs.matmul(np.full_like(a, np.nan), b, c, 0.0, 0.0)
    assert not c.any()
    assert engaged == ["products"] * 3


def test_vectors_and_arrays(engaged):
    a, b, v = numbers((20, 6, 6)), numbers((6, 6), seed=1), numbers(6, seed=2)
    for x, y in ((a, b), (a, v), (v, a), (b, a)):
        np.testing.assert_allclose(hs.asarray(x) @ y, np.matmul(x, y), rtol=0, atol=1e-13)
    ours = hs.asarray(a) @ b
    assert type(ours).__name__ == "Array"
    assert set(engaged) == {"products"}


def test_few_or_large_items_are_everybodys(engaged, monkeypatch):
    monkeypatch.setattr(product, "LARGE", 100)
    a = numbers((40, 5, 5))
    assert_product(hs.matmul(a, a), a, a)
    assert engaged == ["gemm"] * 40


def test_other_dtypes_are_numpys(engaged):
    for dtype in (np.int32, bool, np.longdouble, object):
        a = np.arange(3 * 4 * 4).reshape(3, 4, 4).astype(dtype)
        found = hs.matmul(a, a)
        assert found.dtype == np.matmul(a, a).dtype
        assert (found == np.matmul(a, a)).all()
    assert not engaged


def test_the_same_bits_with_any_workers(engaged):
    a, b = numbers((50, 33, 40)), numbers((50, 40, 9), seed=1)
    results = set()
    for workers in (1, 2, 5):
        with hs.Pool(workers) as pool:
            results |= {pool.matmul(a, b).tobytes() for _ in range(5)}
    assert len(results) == 1


def test_progress(engaged):
    told = []
    a = numbers((3000, 40, 40))
    hs.matmul(a, a, progress=told.append)
    assert told[-1] == 1.0
    assert all(0 <= x <= 1 for x in told)


def test_ctrl_c():
    a, out = np.ones((100, 300, 300)), np.empty((100, 300, 300))

    def without_end(pool):
        while True:
            pool.matmul(a, a, out)

    timer = threading.Timer(0.2, _thread.interrupt_main)
    with hs.Pool(1) as pool:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            without_end(pool)
        np.testing.assert_array_equal(pool.matmul(a[:9], a[0]), 300.0)


# ---- systems -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [0, 1, 5])
def test_solve(threads, dtype, n, columns):
    a, b = numbers((6, n, n), dtype), numbers((6, n, columns), dtype, 1)
    for x, y in zip(layouts(a), layouts(b), strict=True):
        out = np.full_like(b, np.nan)
        assert (stack.solve(threads, x, y, out, None) == -1).all()
        wrong = np.abs(np.matmul(a.astype(np.complex128), out) - b).max(initial=0)
        size = np.abs(a).sum(-1).max(initial=0) * np.abs(out).max(initial=0)
        assert wrong <= 30 * np.finfo(dtype).eps * size


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_inverse_and_determinant(threads, dtype, n):
    a = numbers((2, 3, n, n), dtype)
    out, factors, pivots = np.full_like(a, np.nan), np.empty_like(a), np.empty((2, 3, n), np.int32)
    assert (stack.inverse(threads, a, out, None) == -1).all()
    wrong = np.abs(np.matmul(a.astype(np.complex128), out) - np.eye(n)).max(initial=0)
    assert wrong <= 30 * np.finfo(dtype).eps * np.abs(a).sum(-1).max(initial=0) * np.abs(out).max(
        initial=0
    )
    assert (stack.lu(threads, a, factors, pivots, None) == -1).all()
    sign = (-1.0) ** (pivots != np.arange(n)).sum(-1)
    exact = np.linalg.det(a.astype(np.complex128)) if n else np.ones((2, 3))
    np.testing.assert_allclose(
        sign * np.diagonal(factors, axis1=-2, axis2=-1).astype(np.complex128).prod(-1),
        exact,
        rtol=3e4 * np.finfo(dtype).eps,
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", SIZES[1:])
def test_cholesky(threads, dtype, n):
    half = numbers((6, n, n), dtype)
    a = np.matmul(half, half.conj().swapaxes(-1, -2)) + np.eye(n, dtype=dtype)
    exact = np.linalg.cholesky(a.astype(np.complex128))
    dirty = np.where(np.tri(n, dtype=bool), a, np.nan).astype(dtype)
    for x in layouts(dirty):
        for out in layouts(np.full_like(a, 7)):
            assert (stack.cholesky(threads, x, out, None) == 0).all()
            np.testing.assert_allclose(
                np.tril(out),
                exact,
                rtol=0,
                atol=100 * n * np.finfo(dtype).eps * np.abs(exact).max(),
            )
            assert (out[..., ~np.tri(n, dtype=bool)] == 7).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [2, 8, 17, 40])
def test_what_has_no_solution(threads, dtype, n):
    a = numbers((5, n, n), dtype)
    a[1, :, n // 2] = 0
    a[3] = 0
    out = np.empty_like(a)
    assert stack.solve(threads, a, a, out, None).tolist() == [-1, n // 2, -1, 0, -1]
    assert np.isnan(out[[1, 3]]).all()
    np.testing.assert_allclose(
        out[[0, 2, 4]],
        np.broadcast_to(np.eye(n), (3, n, n)),
        rtol=0,
        atol=1e5 * np.finfo(dtype).eps,
    )
    b = np.broadcast_to(np.eye(n, dtype=dtype), (5, n, n)).copy()
    b[2, n - 1, n - 1] = -1
    b[4, 0, 0] = np.nan
    assert stack.cholesky(threads, b, out, None).tolist() == [0, 0, n, 0, 1]


def test_nan_and_infinity_travel(threads):
    a, b = numbers((4, 20, 20)), numbers((4, 20, 2), seed=1)
    a[1, 3, 4], a[2, 5, 6] = np.nan, np.inf
    out = np.empty_like(b)
    stack.solve(threads, a, b, out, None)
    assert np.isfinite(out[[0, 3]]).all()
    assert np.isnan(out[1]).all()
    np.testing.assert_allclose(out[2], np.linalg.solve(a[2], b[2]), rtol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tiny_and_huge_numbers(threads, dtype):
    tiny = np.finfo(dtype).tiny
    for scale in (tiny * 4, tiny / 64, np.finfo(dtype).max / 64):
        a = (np.eye(9) + 0.1 * np.ones((9, 9))).astype(dtype) * scale
        out = np.empty((1, 9, 9), dtype)
        assert (stack.solve(threads, a[None], a[None], out, None) == -1).all()
        np.testing.assert_allclose(out[0], np.eye(9), rtol=0, atol=(1e-2 if scale < tiny else 1e-4))


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-3, 3), st.integers(-3, 3)), max_size=5))
def test_merged_dimensions_have_the_same_items(dimensions):
    shape = tuple(size for size, *_ in dimensions)
    strides = [tuple(d[i] for d in dimensions) for i in (1, 2)]
    sizes, steps = stack.merged(shape, strides)

    def offsets(shape, strides):
        return [
            tuple(sum(i * s for i, s in zip(index, stride, strict=True)) for stride in strides)
            for index in np.ndindex(*shape)
        ]

    assert offsets(tuple(sizes), steps) == offsets(shape, strides)
