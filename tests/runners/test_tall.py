"""QR of tall matrices: LAPACK's test ratios, R and Qᴴ b against SciPy, any strides, hard matrices,
Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from hetsched._engine.run import Poll, Threads
from hetsched._engine.tall import tall_qr

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
#: About the rows of a block and of a group of them, for few columns; block - 1, block, block + 1
#: for the smallest blocks.
SHAPES = [
    (0, 0),
    (1, 0),
    (5, 0),
    (1, 1),
    (2, 1),
    (2, 2),
    (7, 3),
    (8, 8),
    (9, 8),
    (17, 16),
    (64, 64),
    (200, 193),
    (600, 7),
    (4103, 1),
    (8207, 1),
    (5000, 16),
    (5001, 17),
    (3000, 40),
    (20011, 8),
    (9001, 60),
]


@pytest.fixture(scope="module", params=[1, 2])
def threads(request):
    return Threads(request.param, None)


def random_matrix(rng, shape, dtype):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def factor(threads, a, order="F", k=0, b=None):
    """Q, R, c and residuals; what was given is as it was."""
    m, n = a.shape
    q, r = np.full((m, n), 7, a.dtype, order=order), np.full((n, n), 5, a.dtype, order=order)
    c, residuals = (
        (np.empty((n, b.shape[1]), a.dtype), np.empty(b.shape[1]))
        if b is not None
        else (None, None)
    )
    before = a.copy()
    tall_qr(threads, a, q, r, b, c, residuals, Poll())
    assert np.array_equal(a, before, equal_nan=True)
    assert not np.tril(r, -1).any()
    return q, r, c, residuals


def assert_factors(a, q, r):
    """LAPACK's ratios (TESTING/LIN/dqrt01) under 30, of numbers that do not overflow; n sqrt(m) is
    m in long ones."""
    m, n = a.shape
    unit = np.finfo(a.dtype).eps * max(min(m, n * m**0.5), 1)
    wide = np.result_type(a.dtype, np.float64)
    scale = float(np.abs(a).max(initial=0)) or 1.0
    a, q, r = a.astype(wide) / scale, q.astype(wide), r.astype(wide) / scale
    norm = scipy.linalg.norm(a, 1) if a.size else 0
    assert scipy.linalg.norm(a - q @ r, 1) <= 30 * unit * norm if a.size else True
    assert np.abs(np.eye(n) - q.conj().T @ q).sum(axis=0).max(initial=0) <= 30 * unit
    assert np.all(np.diag(r).imag == 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors(threads, shape, dtype):
    rng = np.random.default_rng(shape[0])
    a = random_matrix(rng, shape, dtype)
    q, r, _, _ = factor(threads, a, "CF"[shape[1] % 2])
    assert_factors(a, q, r)
    if a.size:
        expected = np.abs(scipy.linalg.qr(a, mode="r")[0][: shape[1]])
        assert (
            np.abs(np.abs(r) - expected).max()
            <= 100 * np.finfo(dtype).eps * max(shape) ** 0.5 * expected.max()
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides(threads, dtype):
    rng = np.random.default_rng(1)
    m, n = 5000, 20
    large = random_matrix(rng, (2 * m, 3 * n), dtype)
    for a in (
        large[::2, ::3],
        large[:m, :n],
        large[m - 1 :: -1, n - 1 :: -1],
        large.T[:n].T[:m],
        np.asfortranarray(large[:m, :n]),
    ):
        results = []
        for q in (
            np.empty((m, n), dtype),
            np.empty((m, n), dtype, "F"),
            np.empty((n, 2 * m), dtype).T[::2],
            np.empty((m, 2 * n), dtype)[:, ::-2],
            np.empty((m, n + 1), dtype)[:, 1:],
        ):
            r = np.empty((2 * n, n), dtype)[::-2]
            tall_qr(threads, a, q, r, None, None, None, Poll())
            results.append((q, r))
        assert_factors(a, *results[0])
        for q, r in results[1:]:
            assert np.array_equal(q, results[0][0])
            assert np.array_equal(r, results[0][1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (40, 7), (300, 300), (6000, 30), (9000, 1)])
def test_least_squares(threads, shape, dtype):
    rng = np.random.default_rng(2)
    (m, n), eps = shape, np.finfo(dtype).eps
    a, b = random_matrix(rng, shape, dtype), random_matrix(rng, (m, 3), dtype)
    q, r, c, residuals = factor(threads, a, b=b)
    assert np.abs(q.conj().T @ b - c).max() <= 100 * eps * m**0.5 * np.abs(b).max()
    rest = b - q @ c
    assert np.allclose(
        residuals, (rest * rest.conj()).real.sum(axis=0), rtol=100 * eps, atol=100 * eps * m**0.5
    )
    again, same, more = np.empty_like(r), np.empty_like(c), np.empty(3)
    tall_qr(threads, a, None, again, b, same, more, Poll())  # without Q
    signs = np.sign(np.diag(again).real) * np.sign(np.diag(r).real)
    assert np.abs(again * signs[:, None] - r).max() <= 100 * eps * m**0.5 * np.abs(r).max()
    if m > 2 * n:
        expected = scipy.linalg.lstsq(a, b)
        assert np.abs(scipy.linalg.solve_triangular(again, same) - expected[0]).max() <= 1000 * eps
        assert np.allclose(more, expected[1], rtol=1000 * eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_hard_matrices(threads, dtype):
    """Rank-deficient, zero columns, graded, at the ends of the range."""
    rng = np.random.default_rng(3)
    info = np.finfo(dtype)
    m, n = 4000, 24
    a = random_matrix(rng, (m, n), dtype)
    zeros, graded, rows = (
        a.copy(),
        a * np.logspace(0, -20, n).astype(dtype),
        a * np.logspace(0, -20, m).astype(dtype)[:, None],
    )
    zeros[:, [0, 7, 8, 23]] = 0
    deficient = (random_matrix(rng, (m, 5), dtype) @ random_matrix(rng, (5, n), dtype)).astype(
        dtype
    )
    ends = [float(info.max) / 1e4, float(info.tiny) * 1e4] + (
        [1e300, 1e-300] if info.bits == 64 else []
    )
    hard = [
        zeros,
        np.zeros_like(a),
        np.ones_like(a),
        deficient,
        graded.astype(dtype),
        rows.astype(dtype),
        np.eye(m, n, dtype=dtype),
    ]
    hard += [a / dtype(8) * dtype(end) for end in ends]
    for x in hard:
        q, r, _, _ = factor(threads, x)
        assert np.isfinite(r).all()
        assert_factors(x, q, r)
    q, r, _, _ = factor(threads, graded.astype(dtype))
    # column by column
    assert (
        np.abs(q @ r - graded).max(axis=0) @ (1 / np.abs(graded).max(axis=0))
        <= 30 * n * m**0.5 * info.eps
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(threads, value):
    a = np.random.default_rng(4).standard_normal((5000, 20))
    a[4321, 11] = value
    q, r, _, _ = factor(threads, a)
    assert np.isfinite(r[:, :11]).all()
    assert not np.isfinite(r[11:, 11:].diagonal()).any()
    assert not np.isfinite(q[:, 11:]).all()


def test_same_bits_from_all_pools():
    a = np.random.default_rng(5).standard_normal((20000, 30))
    first, *others = (factor(Threads(workers, None), a)[:2] for workers in (1, 2, 5))
    for q, r in others:
        assert np.array_equal(q, first[0])
        assert np.array_equal(r, first[1])


class Stop(Exception):
    pass


@pytest.mark.slow
def test_poll_ends_it(threads):
    def progress(fraction):
        assert 0 <= fraction <= 1
        raise Stop

    a = np.random.default_rng(6).standard_normal((100_000, 50))
    r, c, b, residuals = (
        np.empty((50, 50)),
        np.empty((50, 400)),
        np.ones((100_000, 400)),
        np.empty(400),
    )
    with pytest.raises(Stop):
        tall_qr(threads, a, None, r, b, c, residuals, Poll(progress))
