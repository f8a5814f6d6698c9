"""QR factorisations: what makes them one, and SciPy's shapes and dtypes. Signs and columns beyond
the rank are free."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from random_matrices import DTYPES, dtypes, eps, laid_out, layouts, random, seeds, sizes, stacks

import hetsched as hs

MODES = ["full", "r", "economic", "raw"]


def wide(x):
    return np.asarray(x, np.complex128)


def assert_factors(a, q, r):
    """Orthonormal columns, a triangle, and their product; each within rounding of the
    dimensions."""
    m, n = a.shape
    bound = 10 * max(1, m, n) * eps(a)
    size = max(1e-300, float(abs(wide(a)).max(initial=0)))
    assert abs(wide(q).conj().T @ wide(q) - np.eye(q.shape[1])).max(initial=0) <= bound
    assert not np.tril(r, -1).any()
    assert abs(wide(q) @ wide(r) - wide(a)).max(initial=0) <= bound * size


def from_reflectors(x, tau):
    """Q, one reflector after the other."""
    q = np.eye(len(x), dtype=np.complex128)
    for i in reversed(range(len(tau))):
        v = wide(x[:, i]).copy()
        v[:i], v[i] = 0, 1
        q -= np.multiply.outer(complex(tau[i]) * v, v.conj() @ q)
    return q


def assert_as_scipy(a, mode, found):
    """The shapes and dtypes of SciPy, and a factorisation."""
    theirs = scipy.linalg.qr(a, mode=mode)
    assert len(found) == len(theirs)
    flat = [
        (*found[0], *found[1:]) if mode == "raw" else found,
        (*theirs[0], *theirs[1:]) if mode == "raw" else theirs,
    ]
    assert [(x.shape, x.dtype) for x in flat[0]] == [
        (x.shape, x.dtype.newbyteorder("=")) for x in flat[1]
    ]
    r = found[-1]
    if mode == "raw":
        x, tau = found[0]
        assert_factors(a, from_reflectors(x, tau)[:, : len(r)], r)
        assert (np.triu(x[: len(r)]) == r).all()
    elif mode == "r":
        gram = wide(r).conj().T @ wide(r) - wide(a).conj().T @ wide(a)
        assert abs(gram).max(initial=0) <= 50 * max(a.shape) * eps(a) * max(
            1, abs(a).max(initial=0) ** 2 * max(a.shape)
        )
        assert not np.tril(r, -1).any()
    else:
        assert_factors(a, *found)


@given(
    m=sizes,
    n=sizes,
    dtype=dtypes,
    layout=layouts,
    mode=st.sampled_from(MODES),
    seed=seeds,
    rank=st.integers(0, 50),
)
def test_as_scipy(m, n, dtype, layout, mode, seed, rank):
    a = random((m, n), dtype, seed)
    if rank < min(m, n):
        a = random((m, rank), dtype, seed) @ random((rank, n), dtype, seed + 1)
    given_a = laid_out(a, layout)
    found = hs.qr(given_a, mode=mode)
    assert (given_a == a).all()
    assert_as_scipy(a, mode, found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "shape", [(129, 129), (200, 97), (97, 200), (500, 7), (7, 500), (260, 65), (259, 65)], ids=str
)
def test_large(shape, mode, dtype):
    a = random(shape, dtype)
    assert_as_scipy(a, mode, hs.qr(a, mode=mode))


@given(
    stack=stacks,
    m=st.integers(0, 12),
    n=st.integers(0, 12),
    dtype=dtypes,
    mode=st.sampled_from(MODES),
)
def test_stacks(stack, m, n, dtype, mode):
    a = random((*stack, m, n), dtype)
    found = hs.qr(a, mode=mode)
    one = scipy.linalg.qr(random((m, n), dtype), mode=mode)
    if mode == "raw":
        (x, tau), r = found
        assert x.shape == (*stack, m, n)
        assert tau.shape == (*stack, min(m, n))
        assert r.shape == (*stack, min(m, n), n)
    else:
        assert [x.shape for x in found] == [(*stack, *x.shape) for x in one]
    for index in np.ndindex(stack):
        item = (
            ((x[index], tau[index]), r[index]) if mode == "raw" else tuple(x[index] for x in found)
        )
        assert_as_scipy(a[index], mode, item)


@pytest.mark.parametrize(
    "a", [np.zeros((5, 3)), np.zeros((3, 5)), np.ones((30, 4)), np.eye(6)[:, [0, 1, 1, 2]]], ids=str
)
@pytest.mark.parametrize("mode", ["full", "economic"])
def test_deficient(a, mode):
    assert_factors(a, *hs.qr(a, mode=mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_overwrite(order, mode):
    a = np.array(random((30, 20)), order=order)
    kept = a.copy()
    assert_as_scipy(kept, mode, hs.qr(a, mode=mode))
    assert (a == kept).all()
    found = hs.qr(a, overwrite_a=True, mode=mode)
    assert_as_scipy(kept, mode, found)
    if mode == "raw":
        assert np.shares_memory(found[0][0], a)
    fixed = laid_out(kept, "read-only")
    assert_as_scipy(kept, mode, hs.qr(fixed, True, mode=mode))
    assert (fixed == kept).all()


class TestPivoting:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("mode", MODES)
    def test_as_scipy(self, mode, dtype):
        a = random((9, 6), dtype)
        found, theirs = (
            hs.qr(a, mode=mode, pivoting=True),
            scipy.linalg.qr(a, mode=mode, pivoting=True),
        )
        if mode == "raw":
            found, theirs = ((*x[0], *x[1:]) for x in (found, theirs))
        for x, y in zip(found, theirs, strict=True):
            np.testing.assert_array_equal(x, y)

    def test_stack(self):
        a = random((3, 5, 4))
        q, r, p = hs.qr(a, mode="economic", pivoting=True)
        for i in range(3):
            np.testing.assert_allclose(q[i] @ r[i], a[i][:, p[i]], atol=1e-13)

    def test_without_scipy(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "scipy.linalg", None)
        with pytest.raises(ImportError, match="^pivoting=True needs scipy"):
            hs.qr(np.eye(2), pivoting=True)


def test_not_finite():
    a = random((6, 4))
    a[2, 1] = np.nan
    with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
        hs.qr(a)
    for mode in ("full", "economic"):
        q, r = hs.qr(a, mode=mode, check_finite=False)
        assert not np.isfinite(q @ r).all()


@pytest.mark.parametrize(
    ("a", "options", "error", "words"),
    [
        (np.ones(3), {}, ValueError, r"^a must be a matrix, got shape \(3,\)$"),
        (1.0, {}, ValueError, "^a must be a matrix"),
        (np.eye(2), {"mode": "complete"}, ValueError, "^mode must be one of "),
        (np.eye(2), {"mode": None}, (ValueError, TypeError), "^mode must be"),
        (np.eye(2), {"pivoting": "x"}, TypeError, "^pivoting must be"),
        (np.eye(2), {"overwrite_a": "x"}, TypeError, "^overwrite_a must be"),
        (np.eye(2, dtype=object), {}, TypeError, "^a has dtype object"),
    ],
)
def test_refused(a, options, error, words):
    with pytest.raises(error, match=words):
        hs.qr(a, **options)
