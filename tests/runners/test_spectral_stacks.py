"""Decompositions of stacks of small matrices, by definition and by relations between calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupted import interrupted

import hetsched as hs
from hetsched._engine import spectral, tuning

DTYPES = [np.dtype(x) for x in (np.float32, np.float64, np.complex64, np.complex128)]
dtypes, seeds = st.sampled_from(DTYPES), st.integers(0, 2**31)
counts = st.sampled_from([(1,), (2, 3), (7,), (8,), (9,), (4, 1, 5), (49,), (0,), (3, 0)])
sides = st.integers(0, 12)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Each stack is decomposed by the engine, whatever its size."""
    monkeypatch.setattr(tuning, "LANES_ITEMS", 0)
    monkeypatch.setattr(tuning, "LANES_ROWS", 0)


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def turned(x):
    return x.conj().swapaxes(-1, -2)


def hermitian(shape, dtype, seed=0):
    x = random(shape, dtype, seed)
    return x + turned(x)


def close(found, expected, scale=1.0):
    assert found.shape == expected.shape
    limit = 10 * scale * np.finfo(found.dtype).eps
    assert np.abs(found - expected).max(initial=0) <= limit


def laid_out(a, kind):
    """The same matrices, with other strides."""
    if kind == "columns":
        return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    if kind == "gaps":
        wide = np.full((*a.shape[:-2], 2 * a.shape[-2], 3 * a.shape[-1]), np.nan, a.dtype)
        wide[..., ::2, 1::3] = a
        return wide[..., ::2, 1::3]
    if kind == "backwards":
        return a[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
    return a


layouts = st.sampled_from(["rows", "columns", "gaps", "backwards"])


# ---- definitions ---------------------------------------------------------------------------------


@given(
    n=sides, dtype=dtypes, seed=seeds, stack=counts, lower=st.booleans(), layout=layouts,
)  # fmt: skip
def test_eigh(n, dtype, seed, stack, lower, layout):
    a = hermitian((*stack, n, n), dtype, seed)
    half = a.copy()
    half[..., *(np.triu_indices(n, 1) if lower else np.tril_indices(n, -1))] = np.nan
    given_ = laid_out(half, layout)
    values, vectors = hs.eigh(given_, lower=lower, check_finite=False)
    assert np.array_equal(given_, half, equal_nan=True)
    assert (values.dtype, vectors.dtype) == (a.real.dtype, dtype)
    assert (np.diff(values) >= 0).all()
    size = (n + 1) * np.abs(a).max(initial=1)
    close(a @ vectors, vectors * values[..., None, :], size)
    close(turned(vectors) @ vectors, np.broadcast_to(np.eye(n), a.shape), n + 1)
    close(values, np.linalg.eigvalsh(a), size)
    assert np.array_equal(hs.eigvalsh(given_, lower=lower, check_finite=False), values)


@given(m=sides, n=sides, dtype=dtypes, seed=seeds, stack=counts, layout=layouts)
def test_svd(m, n, dtype, seed, stack, layout):
    a = laid_out(random((*stack, m, n), dtype, seed), layout)
    kept = a.copy()
    u, s, vh = hs.svd(a, full_matrices=False)
    assert np.array_equal(a, kept)
    k = min(m, n)
    assert (u.shape, s.shape, vh.shape) == ((*stack, m, k), (*stack, k), (*stack, k, n))
    assert (u.dtype, s.dtype, vh.dtype) == (dtype, a.real.dtype, dtype)
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()
    size = (m + n + 1) * np.abs(a).max(initial=1)
    close((u * s[..., None, :]) @ vh, a, size)
    for x in (u, turned(vh)):
        close(turned(x) @ x, np.broadcast_to(np.eye(k), (*stack, k, k)), m + n + 1)
    close(s, np.linalg.svd(a, compute_uv=False), size)
    assert np.array_equal(hs.svdvals(a), s)


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_order_fifty(dtype):
    a = random((20, 50, 50), dtype)
    u, s, vh = hs.svd(a)
    close((u * s[:, None, :]) @ vh, a, 50 * np.abs(a).max())
    close(s, np.linalg.svd(a, compute_uv=False), 50 * np.abs(a).max())
    h = a + turned(a)
    values, vectors = hs.eigh(h)
    close(h @ vectors, vectors * values[:, None, :], 50 * np.abs(h).max())
    close(values, np.linalg.eigvalsh(h), 50 * np.abs(h).max())


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_matrices(dtype):
    """Singular, diagonal, clustered and graded ones beside each other."""
    n = 9
    index = np.arange(n)
    grades = 2.0 ** -(3.0 * np.add.outer(index, index))
    each = [
        np.zeros((n, n)),
        np.eye(n),
        np.ones((n, n)),
        np.eye(n, k=1) + np.eye(n, k=-1),
        np.eye(n) + 2 * np.finfo(dtype).eps * random((n, n), DTYPES[1]),
        grades * random((n, n), DTYPES[1]),
        grades[::-1, ::-1] * random((n, n), DTYPES[1]),
        np.diag(index),
        np.eye(n, k=1),
    ]
    a = np.stack(each).astype(dtype)
    u, s, vh = hs.svd(a)
    close((u * s[:, None, :]) @ vh, a, n * np.abs(a).max())
    for x in (u, turned(vh)):
        close(turned(x) @ x, np.broadcast_to(np.eye(n), a.shape), n)
    close(s, np.linalg.svd(a, compute_uv=False), n * n)
    h = a + turned(a)
    values, vectors = hs.eigh(h)
    close(h @ vectors, vectors * values[:, None, :], n * np.abs(h).max())
    close(turned(vectors) @ vectors, np.broadcast_to(np.eye(n), a.shape), n)
    assert np.array_equal(hs.svdvals(np.stack([np.diag(index)] * 2))[1], index[::-1])


@given(n=st.integers(1, 8), dtype=dtypes, seed=seeds, data=st.data())
def test_subsets(n, dtype, seed, data):
    a = hermitian((3, n, n), dtype, seed)
    low = data.draw(st.integers(0, n - 1))
    high = data.draw(st.integers(low, n - 1))
    values, vectors = hs.eigh(a)
    some, own = hs.eigh(a, subset_by_index=[low, high])
    assert np.array_equal(some, values[:, low : high + 1])
    assert np.array_equal(own, vectors[..., low : high + 1])
    assert np.array_equal(hs.eigvalsh(a, subset_by_index=[low, high]), some)


@given(n=st.integers(1, 6), dtype=dtypes, seed=seeds, kind=st.integers(1, 3))
def test_generalised(n, dtype, seed, kind):
    a, x = hermitian((5, n, n), dtype, seed), random((5, n, n), dtype, seed + 1)
    b = (x @ turned(x) + n * np.eye(n)).astype(dtype)
    values, v = hs.eigh(a, b, type=kind)
    left, right = {1: (a, b), 2: (a @ b, np.eye(n)), 3: (b @ a, np.eye(n))}[kind]
    size = n * n * np.abs(left).max() * max(1.0, np.abs(right).max()) * max(1.0, np.abs(v).max())
    close(left @ v, (right @ v) * values[..., None, :], 30 * size)


# ---- relations -----------------------------------------------------------------------------------


def decomposed(a, symmetric):
    """Values and vectors."""
    return hs.eigh(a) if symmetric else hs.svd(a, full_matrices=False)


@given(
    m=st.integers(1, 9), n=st.integers(1, 9), dtype=dtypes, seed=seeds,
    symmetric=st.booleans(), count=st.sampled_from([3, 8, 35]),
)  # fmt: skip
def test_an_item_has_the_same_bits_anywhere(m, n, dtype, seed, symmetric, count):
    """In another order, alone, in another shape of the stack, and with a step of 0."""
    a = hermitian((count, n, n), dtype, seed) if symmetric else random((count, m, n), dtype, seed)
    whole = decomposed(a, symmetric)
    order = np.random.default_rng(seed).permutation(count)
    for found, expected in zip(decomposed(a[order], symmetric), whole, strict=True):
        assert found.tobytes() == expected[order].tobytes()
    one = order[0]
    for found, expected in zip(decomposed(a[one][None], symmetric), whole, strict=True):
        assert found[0].tobytes() == expected[one].tobytes()
    repeated = np.broadcast_to(a[one], (2, 9, *a.shape[1:]))
    for found, expected in zip(decomposed(repeated, symmetric), whole, strict=True):
        assert all(x.tobytes() == expected[one].tobytes() for x in found.reshape(18, -1))


@given(
    n=st.integers(1, 9), dtype=dtypes, seed=seeds, power=st.integers(-100, 100),
    symmetric=st.booleans(),
)  # fmt: skip
def test_powers_of_two_are_factors(n, dtype, seed, power, symmetric):
    a = hermitian((5, n, n), dtype, seed) if symmetric else random((5, n, n), dtype, seed)
    factor = np.array(2.0**power, a.real.dtype)
    first, second = decomposed(a, symmetric), decomposed(a * factor, symmetric)
    values = 0 if symmetric else 1
    for i, (x, y) in enumerate(zip(first, second, strict=True)):
        assert np.array_equal(x * factor if i == values else x, y)


@given(m=st.integers(1, 9), n=st.integers(1, 9), dtype=dtypes, seed=seeds)
def test_transposition(m, n, dtype, seed):
    """It exchanges the factors. Squares are not transposed inside, so only their values agree."""
    a = random((5, m, n), dtype, seed)
    u, s, vh = hs.svd(a, full_matrices=False)
    p, values, qh = hs.svd(a.swapaxes(-1, -2), full_matrices=False)
    close(values, s, 4 * (m + n) * np.abs(a).max())
    if m != n:
        assert np.array_equal(p, vh.swapaxes(-1, -2))
        assert np.array_equal(qh, u.swapaxes(-1, -2))


@given(n=st.integers(1, 9), dtype=dtypes, seed=seeds)
def test_both_triangles(n, dtype, seed):
    """The upper triangle of a matrix is the lower one of its conjugate transpose."""
    a = hermitian((5, n, n), dtype, seed)
    for x, y in zip(hs.eigh(a, lower=True), hs.eigh(a, lower=False), strict=True):
        assert np.array_equal(x, y)


# ---- which way, and errors -----------------------------------------------------------------------


def calls_of(monkeypatch):
    """The numbers of items that the engine decomposes from now on."""
    seen = []
    for name in ("eigh_stack", "svd_stack"):
        own = getattr(spectral, name)

        def watched(threads, a, *rest, own=own):
            seen.append(a.shape[:-2])
            return own(threads, a, *rest)

        monkeypatch.setattr(spectral, name, watched)
    return seen


def test_what_uses_stacks(monkeypatch):
    seen = calls_of(monkeypatch)
    a = random((6, 5, 4), DTYPES[1])
    close(a @ hs.pinv(a) @ a, a, 100)
    np.testing.assert_allclose(hs.cond(a), np.linalg.cond(a))
    assert hs.matrix_rank(a).tolist() == [4] * 6
    np.testing.assert_allclose(hs.norm(a, 2), np.linalg.norm(a, 2, axis=(1, 2)))
    assert seen == [(6,)] * 4
    seen.clear()
    hs.svd(a)  # with bases of the whole space
    hs.svd(a[0])
    hs.eigvalsh(a[0] @ a[0].T)
    assert not seen


def test_arrays(monkeypatch):
    """The functions of numpy.linalg."""
    seen = calls_of(monkeypatch)
    a = random((6, 5, 4), DTYPES[1])
    h = hermitian((6, 5, 5), DTYPES[2])
    for name, given_, options in (
        ("svdvals", a, {}),
        ("cond", a, {}),
        ("matrix_rank", a, {}),
        ("pinv", a, {}),
        ("norm", a, {"ord": 2, "axis": (-2, -1)}),
        ("eigvalsh", h, {"UPLO": "U"}),
    ):
        call = getattr(np.linalg, name)
        found, expected = call(hs.asarray(given_), **options), call(given_, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    u, s, vh = (np.asarray(x) for x in np.linalg.svd(hs.asarray(a), full_matrices=False))
    close((u * s[:, None, :]) @ vh, a, 50)
    values, vectors = (np.asarray(x) for x in np.linalg.eigh(hs.asarray(h)))
    close(h @ vectors, vectors * values[:, None, :], 50)
    assert seen == [(6,)] * 8


def test_few_and_large_matrices_go_to_numpy(monkeypatch):
    monkeypatch.undo()
    seen = calls_of(monkeypatch)
    few, large = np.zeros((tuning.LANES_ITEMS - 1, 60, 60)), np.zeros((5, 170, 170))
    for a in (few, large, np.zeros((7, 3, 3))):
        hs.svdvals(a)
        hs.eigh(a)
    assert not seen
    assert hs.eigvalsh(large).shape == (5, 170)  # without vectors they may be larger
    hs.svdvals(np.zeros((100, 3, 3)))
    assert seen == [(5,), (100,)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_not_finite(dtype):
    """Matrices that the engine does not decompose are NumPy's, with its errors."""
    a = hermitian((12, 4, 4), dtype)
    a[5, 2, 1] = np.nan
    for call in (hs.eigh, hs.eigvalsh, hs.svd, hs.svdvals):
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            call(a)
        with pytest.raises(np.linalg.LinAlgError):
            call(a, check_finite=False)


def test_a_matrix_that_fails_is_numpys(monkeypatch):
    """As one whose iteration does not converge."""
    for name, results in (("eigh_stack", 2), ("svd_stack", 3)):
        own = getattr(spectral, name)

        def spoilt(threads, a, *rest, own=own, results=results):
            failed = own(threads, a, *rest)
            for x in rest[-results - 1 : -1]:
                if x is not None:
                    x[1, 2] = np.nan
            failed[1, 2] = True
            return failed

        monkeypatch.setattr(spectral, name, spoilt)
    a = hermitian((2, 3, 5, 5), DTYPES[3])
    values, vectors = hs.eigh(a)
    close(a @ vectors, vectors * values[..., None, :], 50)
    close(hs.eigvalsh(a), values, 50)
    u, s, vh = hs.svd(a)
    close((u * s[..., None, :]) @ vh, a, 50)
    close(hs.svdvals(a), s, 50)


@pytest.mark.slow
def test_ctrl_c():
    """In a stack that would take minutes. All items are one matrix."""
    assert (
        interrupted("""
        import time
        import numpy as np, hetsched as hs
        a = np.random.default_rng(0).standard_normal((30, 30))
        stack = np.broadcast_to(a, (3_000_000, 30, 30))
        print("ready", flush=True)
        try:
            for _ in range(100):
                hs.svdvals(stack, check_finite=False)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic())
    """)
        == []
    )
