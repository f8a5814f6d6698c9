"""Eigenvalues, singular values and pseudo-inverses, beside SciPy's and by their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many

import hetsched as hs
from hetsched._engine import tuning
from hetsched.runners import spectral

sla = pytest.importorskip("scipy.linalg")
DTYPES = [np.dtype(x) for x in (np.float32, np.float64, np.complex64, np.complex128)]
dtypes, seeds = st.sampled_from(DTYPES), st.integers(0, 2**31)
stacks = st.sampled_from([(), (), (3,), (2, 2), (0,)])
sides = st.integers(0, 9)


def of_types(name, values):
    """Each value in all types of numbers, or in a real and a complex one by turns."""
    return pytest.mark.parametrize(
        (name, "dtype"),
        [
            (value, dtype)
            for turn, value in enumerate(values)
            for dtype in many(DTYPES, DTYPES[turn % 2 :: 2])
        ],
    )


@pytest.fixture(autouse=True, params=["NumPy's", "the engine's"])
def small(request, monkeypatch):
    """Small matrices go the ways of large ones."""
    monkeypatch.setattr(spectral, "_LEAST", 1.0)
    if request.param == "the engine's":
        monkeypatch.setattr(tuning, "SPECTRAL_ORDER", 0)
        monkeypatch.setattr(tuning, "EIGENVALUES_ORDER", 0)


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def hermitian(n, dtype, seed, stack=()):
    x = random((*stack, n, n), dtype, seed)
    return x + x.conj().swapaxes(-1, -2)


def definite(n, dtype, seed, stack=()):
    x = random((*stack, n, n), dtype, seed)
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


def half(a, lower):
    """NaN where nothing is to be read."""
    a = a.copy()
    a[..., *(np.triu_indices(a.shape[-1], 1) if lower else np.tril_indices(a.shape[-1], -1))] = (
        np.nan
    )
    return a


def eps(x):
    return np.finfo(x.dtype).eps


def close(found, expected, scale=1.0):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0) <= 300 * scale * eps(found)


# ---- Hermitian matrices --------------------------------------------------------------------------


@given(n=sides, dtype=dtypes, seed=seeds, stack=stacks, lower=st.booleans())
def test_eigh(n, dtype, seed, stack, lower):
    a = hermitian(n, dtype, seed, stack)
    given_ = half(a, lower)
    values, vectors = hs.eigh(given_, lower=lower, check_finite=False)
    assert np.array_equal(given_, half(a, lower), equal_nan=True)
    assert values.dtype == a.real.dtype
    assert vectors.dtype == dtype
    assert (np.diff(values) >= 0).all()
    size = max(n, 1) * np.abs(a).max(initial=1)
    close(a @ vectors, vectors * values[..., None, :], size)
    close(vectors.conj().swapaxes(-1, -2) @ vectors, np.broadcast_to(np.eye(n), a.shape), n + 1)
    close(hs.eigvalsh(given_, lower=lower, check_finite=False), values, size)
    close(hs.eigh(given_, lower=lower, eigvals_only=True, check_finite=False), values, size)


@given(
    n=st.integers(1, 8), dtype=dtypes, seed=seeds, stack=st.sampled_from([(), (2,)]),
    lower=st.booleans(), kind=st.integers(1, 3),
)  # fmt: skip
def test_generalised(n, dtype, seed, stack, lower, kind):
    a, b = hermitian(n, dtype, seed, stack), definite(n, dtype, seed + 1, stack)
    values, v = hs.eigh(half(a, lower), half(b, lower), lower=lower, type=kind, check_finite=False)
    assert values.dtype == a.real.dtype
    assert v.dtype == dtype
    left, right = {1: (a, b), 2: (a @ b, np.eye(n)), 3: (b @ a, np.eye(n))}[kind]
    size = n * n * np.abs(left).max() * max(1.0, np.abs(right).max()) * max(1.0, np.abs(v).max())
    close(left @ v, (right @ v) * values[..., None, :], size)
    weight = np.linalg.inv(b) if kind == 3 else b
    close(v.conj().swapaxes(-1, -2) @ weight @ v, np.broadcast_to(np.eye(n), a.shape), 100 * n)
    for i in np.ndindex(stack):
        expected = sla.eigh(a[i], b[i], type=kind, eigvals_only=True)
        close(values[i], expected.astype(values.dtype), size)


@given(n=st.integers(1, 9), dtype=dtypes, seed=seeds, data=st.data())
def test_subsets(n, dtype, seed, data):
    a = hermitian(n, dtype, seed)
    low = data.draw(st.integers(0, n - 1))
    high = data.draw(st.integers(low, n - 1))
    values, vectors = hs.eigh(a)
    some, own = hs.eigh(a, subset_by_index=[low, high])
    assert some.tolist() == values[low : high + 1].tolist()
    assert np.array_equal(own, vectors[:, low : high + 1])
    close(some, sla.eigh(a, subset_by_index=[low, high], eigvals_only=True), n * np.abs(a).max())
    # The lower bound is not in the range, and the upper one is.
    for edges in ([values[low - 1] if low else -np.inf, values[high]], [values[high], np.inf]):
        some, own = hs.eigh(a, subset_by_value=edges)
        kept = (values > edges[0]) & (values <= edges[1])
        assert some.tolist() == values[kept].tolist()
        assert np.array_equal(own, vectors[:, kept])
    edges = [values[low] - 1e-2, values[high] + 1e-2]
    kept = (values > edges[0]) & (values <= edges[1])
    assert len(hs.eigvalsh(a, subset_by_value=edges)) == np.count_nonzero(kept)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"a": np.ones((2, 3))}, ValueError, "a must be square"),
        ({"a": [[1, np.nan], [0, 1]]}, ValueError, "must not contain infs or NaNs"),
        ({"b": [[1, np.inf], [0, 1]]}, ValueError, "must not contain infs or NaNs"),
        ({"b": np.eye(3)}, ValueError, "b must have the shape of a"),
        ({"b": -np.eye(2)}, np.linalg.LinAlgError, "not positive definite"),
        ({"a": np.eye(2, dtype=np.longdouble)}, TypeError, "a has dtype"),
        ({"type": 4}, ValueError, r"type must be in \[1, 3\]"),
        ({"lower": "x"}, TypeError, "lower must be"),
        ({"driver": "fast"}, ValueError, "driver must be one of"),
        ({"subset_by_index": [0, 2]}, ValueError, r"subset_by_index\[1\] must be in \[0, 1\]"),
        ({"subset_by_index": [1, 0]}, ValueError, r"subset_by_index\[1\] must be in \[1, 1\]"),
        ({"subset_by_index": [1]}, ValueError, "subset_by_index must be two numbers"),
        ({"subset_by_index": 1}, TypeError, "subset_by_index must be two numbers"),
        ({"subset_by_value": [1, 1]}, ValueError, "subset_by_value must increase"),
        (
            {"a": np.eye(2, dtype=np.float32), "subset_by_value": [1, 1 + 1e-9]},
            ValueError,
            "subset_by_value must increase in float32",
        ),
        ({"subset_by_value": [None, None]}, TypeError, "subset_by_value must be two numbers"),
        ({"subset_by_value": [np.nan, 1]}, ValueError, "subset_by_value must increase"),
        ({"subset_by_value": [0, 1], "subset_by_index": [0, 1]}, ValueError, "not both"),
        ({"a": np.zeros((2, 2, 2)), "subset_by_value": [0, 1]}, ValueError, "is for one matrix"),
    ],
)
def test_eigh_refuses(options, error, words):
    for call in (hs.eigh, hs.eigvalsh):
        with pytest.raises(error, match=words):
            call(**({"a": np.eye(2)} | options))


# ---- singular values -----------------------------------------------------------------------------


@given(
    m=sides, n=sides, dtype=dtypes, seed=seeds, stack=stacks, full=st.booleans(),
    turned=st.booleans(),
)  # fmt: skip
def test_svd(m, n, dtype, seed, stack, full, turned):
    a = random((*stack, m, n), dtype, seed)
    if turned:
        a = np.asfortranarray(a)
    kept = a.copy()
    u, s, vh = hs.svd(a, full_matrices=full)
    k = min(m, n)
    assert (a == kept).all()
    assert u.shape == (*stack, m, m if full else k)
    assert vh.shape == (*stack, n if full else k, n)
    assert s.shape == (*stack, k)
    assert (u.dtype, s.dtype, vh.dtype) == (dtype, a.real.dtype, dtype)
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()
    size = (m + n + 1) * np.abs(a).max(initial=1)
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, size)
    for x in (u, vh.conj().swapaxes(-1, -2)):
        eye = np.eye(x.shape[-1])
        close(x.conj().swapaxes(-1, -2) @ x, np.broadcast_to(eye, (*stack, *eye.shape)), m + n + 1)
    expected = np.linalg.svd(a, compute_uv=False)
    close(s, expected, size)
    close(hs.svdvals(a), expected, size)
    close(hs.svd(a, compute_uv=False), expected, size)


@pytest.mark.parametrize("shape", [(900, 60), (60, 900), (300, 200), (50, 900)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tall_and_wide(shape, dtype):
    a = random(shape, dtype)
    u, s, vh = hs.svd(a, full_matrices=False)
    assert np.abs((u * s) @ vh - a).max() <= 300 * eps(a) * s[0]
    assert np.abs(hs.svdvals(a) - np.linalg.svd(a, compute_uv=False)).max() <= 300 * eps(a) * s[0]


@given(
    m=sides, n=sides, dtype=dtypes, seed=seeds, stack=stacks, rank=st.integers(0, 9),
)  # fmt: skip
def test_pinv(m, n, dtype, seed, stack, rank):
    rank = min(m, n, rank)
    a = random((*stack, m, rank), dtype, seed) @ random((*stack, rank, n), dtype, seed + 1)
    rtol = 1e-3 if eps(a) > 1e-10 else 1e-9
    found, ranks = hs.pinv(a, rtol=rtol, return_rank=True)
    assert found.shape == (*stack, n, m)
    assert found.dtype == dtype
    expected = np.linalg.pinv(a, rcond=rtol)
    size = (m + n + 1) * np.abs(expected).max(initial=1) ** 2 * np.abs(a).max(initial=1)
    close(found, expected, size)
    assert np.array_equal(
        ranks, np.linalg.matrix_rank(a, rtol=rtol) if min(m, n) else np.zeros(stack)
    )
    if not stack:
        assert isinstance(ranks, int)


@given(
    m=st.integers(1, 9), n=st.integers(1, 9), dtype=dtypes, seed=seeds, rank=st.integers(0, 9),
)  # fmt: skip
def test_range_and_null_space(m, n, dtype, seed, rank):
    rank = min(m, n, rank)
    a = random((m, rank), dtype, seed) @ random((rank, n), dtype, seed + 1)
    rcond = 1e-3 if eps(a) > 1e-10 else 1e-9
    s = np.linalg.svd(a, compute_uv=False)
    rank = int(np.count_nonzero(s > rcond * s[0]))
    basis, null = hs.orth(a, rcond), hs.null_space(a, rcond)
    assert basis.shape == (m, rank)
    assert null.shape == (n, n - rank)
    assert basis.dtype == null.dtype == dtype
    size = (m + n) * max(1.0, s[0])
    close(a @ null, np.zeros((m, n - rank), dtype), size / eps(a) * rcond)
    close(basis @ (basis.conj().T @ a), a, size / eps(a) * rcond)
    close(basis.conj().T @ basis, np.eye(rank, dtype=dtype), m + n)
    close(null.conj().T @ null, np.eye(n - rank, dtype=dtype), m + n)
    assert hs.matrix_rank(a, rtol=rcond) == rank
    assert hs.matrix_rank(a, tol=rcond * s[0]) == rank


@given(m=st.integers(1, 9), n=st.integers(1, 9), dtype=dtypes, seed=seeds, stack=stacks)
def test_rank_and_condition(m, n, dtype, seed, stack):
    a = random((*stack, m, n), dtype, seed)
    expected = np.linalg.cond(a)
    found = hs.cond(a)
    assert np.shape(found) == np.shape(expected)
    assert found.dtype == a.real.dtype
    np.testing.assert_allclose(found, expected, rtol=1e3 * eps(a) * np.max(expected, initial=1.0))
    assert np.array_equal(hs.matrix_rank(a), np.linalg.matrix_rank(a))


def test_a_range_of_a_pair_is_in_the_type_of_both():
    a = np.diag([1.0, 2.0]).astype(np.float32)
    values, _ = hs.eigh(a, np.eye(2), subset_by_value=[1 - 1e-9, 2 - 1e-9])
    assert values.tolist() == [1.0]


ORDERS = [None, "fro", 1, -1, 2, -2, np.inf, -np.inf, "nuc"]


@given(m=sides, n=sides, dtype=dtypes, seed=seeds, stack=stacks, order=st.sampled_from(ORDERS))
def test_norms(m, n, dtype, seed, stack, order):
    a = random((*stack, m, n), dtype, seed)
    found = hs.norm(a, order)
    assert np.shape(found) == stack
    assert found.dtype == a.real.dtype
    if not m * n:
        assert not np.any(found)
        return
    for i in np.ndindex(stack):
        expected = sla.norm(a[i].astype(np.result_type(dtype, np.float64)), order)
        close(np.asarray(found[i]), np.asarray(expected, a.real.dtype), (m + n) * np.abs(a).max())


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ((np.eye(2), 3), "ord must be one of 2, -2, nuc, None, fro, 1, -1, inf, -inf, got 3"),
        ((np.eye(2), "l2"), "ord must be one of"),
        ((np.eye(2), [2]), "ord must be one of"),
        ((np.ones(2), 2), "a must be a matrix"),
        (([[np.nan]],), "array must not contain infs or NaNs"),
    ],
)
def test_wrong_norms(given_, words):
    with pytest.raises(ValueError, match=words):
        hs.norm(*given_)


def test_an_order_may_be_a_scalar_of_numpy():
    assert hs.norm(np.diag([3.0, 4.0]), np.int64(2)) == 4.0


def test_norms_with_nan():
    assert np.isnan(hs.norm([[np.nan, 1.0]], "fro", check_finite=False))


def test_condition_of_singular_matrices():
    assert hs.cond(np.zeros((3, 3))) == np.inf
    assert hs.cond([[1.0, 0.0], [0.0, 0.0]]) == np.inf
    assert hs.cond(np.diag([np.inf, 1.0])) == np.inf
    stack = np.array([np.diag([2.0, 1.0]), [[np.inf, 1.0], [1.0, 0.0]], [[np.nan, np.inf], [0, 1]]])
    np.testing.assert_array_equal(hs.cond(stack), [2.0, np.inf, np.nan])
    assert hs.cond(stack.astype(np.float32)).dtype == np.float32
    assert hs.matrix_rank(np.zeros((2, 3, 4))).tolist() == [0, 0]


def test_tolerances_are_scipys():
    a = np.diag([1.0, 1e-3, 1e-17])
    for options in (
        {},
        {"atol": 1e-20},
        {"atol": 1e-2},
        {"rtol": 1e-2},
        {"atol": 1e-4, "rtol": 0.0},
        {"rtol": 0.0},
    ):
        ours, rank = hs.pinv(a, return_rank=True, **options)
        theirs, its = sla.pinv(a, return_rank=True, **options)
        np.testing.assert_allclose(ours, theirs)
        assert rank == its


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: hs.svd(np.ones(3)), ValueError, "a must be a matrix"),
        (lambda: hs.svd([[np.nan]]), ValueError, "must not contain infs or NaNs"),
        (lambda: hs.svd([[1.0]], lapack_driver="x"), ValueError, "lapack_driver must be one of"),
        (
            lambda: hs.svd([[1.0]], full_matrices="x"),
            TypeError,
            "full_matrices must be True or False",
        ),
        (lambda: hs.svdvals([[np.inf]]), ValueError, "must not contain infs or NaNs"),
        (lambda: hs.pinv([[1.0]], atol=-1), ValueError, "atol must be at least 0"),
        (lambda: hs.pinv([[1.0]], rtol=-1), ValueError, "rtol must be at least 0"),
        (lambda: hs.pinv([[1.0]], rtol=np.nan), ValueError, "rtol must be finite"),
        (lambda: hs.pinv(np.ma.ones((2, 2))), TypeError, "a is a masked array"),
        (lambda: hs.orth(np.ones((2, 2, 2))), ValueError, "a must be a matrix"),
        (lambda: hs.orth([[np.inf]]), ValueError, "must not contain infs or NaNs"),
        (lambda: hs.null_space([[1.0]], -1), ValueError, "rcond must be at least 0"),
        (lambda: hs.matrix_rank([[1.0]], 1, rtol=1), ValueError, "tol or rtol, not both"),
        (lambda: hs.matrix_rank([[1.0]], -1), ValueError, "tol must be at least 0"),
        (lambda: hs.cond(np.ones((0, 2))), ValueError, "a must not be empty"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_integers_and_half_precision():
    assert hs.svdvals([[3, 0], [4, 5]]).dtype == np.float64
    assert hs.eigvalsh(np.eye(2, dtype=np.float16)).dtype == np.float32


# ---- large and special matrices ------------------------------------------------------------------

#: Around the width of the band, and of several bands.
ORDERS = [31, 32, 33, 64, 65, 130]


def spectra(n, dtype):
    """Values that are hard for divide and conquer: by name."""
    tiny = eps(np.empty(0, dtype))
    ladder = np.arange(n)
    return {
        "equal": np.full(n, 3.0),
        "none": np.zeros(n),
        "graded": tiny ** (ladder / max(n - 1, 1)),
        "one large": np.where(ladder == 0, 1.0, tiny),
        "one small": np.where(ladder == 0, tiny, 1.0),
        "two clusters": np.where(ladder % 2, 1.0, -1.0) * (1 + tiny * ladder),
        "huge": np.linspace(-1, 1, n) * np.finfo(dtype).max / (8 * n),
        "small": np.linspace(-1, 1, n) * np.finfo(dtype).tiny * 64 * n,
    }


def unitary(n, dtype, seed):
    return np.linalg.qr(random((n, n), dtype, seed))[0]


@of_types("n", ORDERS)
def test_hermitian_matrices_with_given_values(n, dtype):
    for name, wanted in spectra(n, dtype).items():
        q = unitary(n, dtype, n)
        a = (q * wanted.astype(q.real.dtype)) @ q.conj().T
        a = (a / 2 + a.conj().T / 2).astype(dtype)
        size = n * max(np.abs(wanted).max(), np.finfo(dtype).tiny)
        for lower in (True, False):
            values, vectors = hs.eigh(half(a, lower), lower=lower, check_finite=False)
            assert np.abs(values - np.sort(wanted)).max() <= 30 * eps(a) * size, name
            assert np.abs(a @ vectors - vectors * values).max() <= 30 * eps(a) * size, name
            assert np.abs(vectors.conj().T @ vectors - np.eye(n)).max() <= 30 * n * eps(a), name
            alone = hs.eigvalsh(half(a, lower), lower=lower, check_finite=False)
            assert np.abs(alone - values).max() <= 30 * eps(a) * size, name


@of_types("shape", [*((n, n) for n in ORDERS), (33, 70), (70, 33), (64, 80), (97, 96)])
def test_matrices_with_given_singular_values(shape, dtype):
    m, n = shape
    k = min(shape)
    for name, wanted in spectra(k, dtype).items():
        s = np.sort(np.abs(wanted))[::-1].astype(np.empty(0, dtype).real.dtype)
        a = ((unitary(m, dtype, 1)[:, :k] * s) @ unitary(n, dtype, 2)[:k]).astype(dtype)
        size = max(shape) * max(s[0], np.finfo(dtype).tiny)
        for full in (False, True):
            u, values, vh = hs.svd(a, full_matrices=full)
            assert np.abs(values - s).max() <= 30 * eps(a) * size, name
            assert (np.diff(values) <= 0).all()
            assert (values >= 0).all()
            assert np.abs((u[:, :k] * values) @ vh[:k] - a).max() <= 30 * eps(a) * size, name
            for x in (u, vh.conj().T):
                error = np.abs(x.conj().T @ x - np.eye(x.shape[1])).max()
                assert error <= 30 * max(shape) * eps(a), name
        assert np.abs(hs.svdvals(a) - values).max() <= 30 * eps(a) * size, name


@pytest.mark.parametrize("order", ["C", "F", "reversed", "broadcast"])
def test_any_strides(order):
    a = hermitian(70, DTYPES[3], 5)
    given_ = {
        "C": a,
        "F": np.asfortranarray(a),
        "reversed": np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
        "broadcast": np.broadcast_to(np.complex128(2), (70, 70)),
    }[order]
    values, vectors = hs.eigh(given_)
    u, s, vh = hs.svd(given_)
    assert np.abs(given_ @ vectors - vectors * values).max() <= 1e-11
    assert np.abs((u * s) @ vh - given_).max() <= 1e-11


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("imaginary", [np.nan, np.inf, 1.0])
def test_the_imaginary_part_of_a_hermitian_diagonal_is_not_read(dtype, imaginary):
    rng = np.random.default_rng(5)
    a = rng.standard_normal((200, 200)) + 1j * rng.standard_normal((200, 200))
    a = (1e-6 * (a + a.conj().T)).astype(dtype)
    expected = np.linalg.eigvalsh(a)
    a[3, 3] = complex(a[3, 3].real, imaginary * float(np.finfo(dtype).max) / 2)
    eps = np.finfo(dtype).eps
    found = hs.eigvalsh(a, check_finite=False)
    np.testing.assert_allclose(found, expected, atol=200 * eps * abs(expected).max())


def test_what_is_not_finite_is_numpys():
    a = np.full((40, 40), np.nan)
    for call, its in ((hs.eigh, np.linalg.eigh), (hs.svd, np.linalg.svd)):
        try:
            expected = its(a)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                call(a, check_finite=False)
        else:
            for own, other in zip(call(a, check_finite=False), expected, strict=True):
                assert np.array_equal(own, other, equal_nan=True)
