"""LU: factors against SciPy and exact elimination, schedules against a slow simulation, emulated
runs against schedules."""

from __future__ import annotations

import json
import math
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from interrupted import interrupted
from oracles.lu import apart, backward_error, edges, exact_lu, perfect_division, schedule

import hetsched as hs
from hetsched._engine import allocate, kernels
from hetsched.runners.arguments import require_finite

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
THREE = [3, 5, 8]


def random_matrix(rng, shape, dtype):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def same_as_scipy(a, result):
    lu, piv = result
    expected, expected_piv = scipy.linalg.lu_factor(a)
    assert lu.shape == expected.shape
    assert lu.dtype == expected.dtype
    assert lu.flags.f_contiguous
    assert piv.dtype == expected_piv.dtype
    assert piv.tolist() == expected_piv.tolist()
    np.testing.assert_allclose(
        lu, expected, atol=1e3 * np.finfo(a.dtype).eps * max(a.shape) * abs(a).max()
    )


@pytest.fixture(params=kernels.KERNELS)
def kernel(request):
    before = kernels.kernel()["name"]
    try:
        kernels.use_kernel(request.param)
    except (ValueError, ImportError):
        pytest.skip(f"no {request.param} in this build")
    yield request.param
    kernels.use_kernel(before)


class TestFactors:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_shapes_on_every_kernel(self, kernel, dtype):
        rng = np.random.default_rng(1)
        with hs.Pool(2) as pool:
            for m, n, blocks in (
                (1, 1, [1]),
                (2, 3, [1, 2]),
                (64, 64, [16, 33]),
                (31, 100, [7, 16]),
                (230, 200, [None, 40]),
            ):
                for block in blocks:
                    a = random_matrix(rng, (m, n), dtype)
                    result = pool.lu_factor(a, block=block)
                    assert backward_error(a, *result) < 1
                    # in single precision a near tie may go either way
                    if dtype in (np.float64, np.complex128):
                        same_as_scipy(a, result)

    @given(
        m=st.integers(0, 40), n=st.integers(0, 40), block=st.integers(1, 45),
        dtype=st.sampled_from(DTYPES),
        steps=st.tuples(st.sampled_from([-3, -1, 1, 2]), st.sampled_from([-3, -1, 1, 2])),
        by_columns=st.booleans(), seed=st.integers(0, 99), overwrite=st.booleans(),
        workers=st.integers(1, 3),
    )  # fmt: skip
    def test_any_strides(self, m, n, block, dtype, seed, steps, by_columns, overwrite, workers):
        rng = np.random.default_rng(seed)
        store = random_matrix(rng, (3 * m, 3 * n), dtype)
        a = np.asarray(store, order="F" if by_columns else "C")[:: steps[0], :: steps[1]][:m, :n]
        before, around = a.copy(), store.copy()
        lu, piv = POOLS[workers].lu_factor(a, overwrite_a=overwrite, block=block)
        assert lu.shape == (m, n)
        assert piv.shape == (min(m, n),)
        assert backward_error(before, lu, piv) < 1
        assert ((piv >= np.arange(len(piv))) & (piv < max(m, 1))).all()
        if not (overwrite and a.flags.f_contiguous):
            assert (store == around).all()
            assert not np.shares_memory(lu, store)

    @given(
        rows=st.integers(1, 7).flatmap(
            lambda n: st.lists(
                st.lists(st.integers(-4, 4), min_size=n, max_size=n), min_size=n, max_size=n
            )
        ),
        block=st.integers(1, 7),
    )
    def test_exact_elimination(self, rows, block):
        """Small integers: ties go to the first row, and singular matrices are factored to the end,
        as far as rounding allows."""
        _, table = exact_lu(rows)
        singular = [k for k in range(len(rows)) if table[k][k] == 0]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lu, piv = POOLS[2].lu_factor(rows, block=block)
        assert backward_error(np.array(rows, float), lu, piv) < 1
        if not singular:
            assert abs(np.prod(lu.diagonal())) == pytest.approx(
                float(abs(np.prod([table[k][k] for k in range(len(rows))])))
            )
        assert len(caught) == int((lu.diagonal() == 0).any())

    def test_large_with_every_kind_of_pool(self):
        a = random_matrix(np.random.default_rng(0), (700, 650), np.float64)
        expected, piv = scipy.linalg.lu_factor(a)
        pools = [hs.Pool(1), hs.Pool(2), hs.Pool(5), hs.Pool(hs.Platform.star(THREE))]
        for pool in pools:
            with pool:
                for given_a in (a, np.asfortranarray(a), np.asfortranarray(a)[:, ::1]):
                    lu, own = pool.lu_factor(given_a)
                    np.testing.assert_allclose(lu, expected, atol=1e-11)
                    assert own.tolist() == piv.tolist()

    def test_power_of_two_and_padding(self):
        rng = np.random.default_rng(5)
        for dtype in DTYPES:
            a = random_matrix(rng, (513, 512), dtype)
            for part in (a[:512], a[:, :511], a[1:]):
                assert backward_error(part, *hs.lu_factor(part)) < 1

    def test_overwrite_a(self):
        rng = np.random.default_rng(2)
        for shape in ((120, 120), (64, 80), (97, 33)):
            a = np.asfortranarray(random_matrix(rng, shape, np.float64))
            kept = a.copy()
            lu, piv = hs.lu_factor(a, overwrite_a=True)
            assert lu is a
            assert backward_error(kept, lu, piv) < 1
        rows = random_matrix(rng, (30, 30), np.float64)
        kept = rows.copy()
        hs.lu_factor(rows, overwrite_a=True)
        assert (rows == kept).all()
        fixed = np.asfortranarray(rows)
        fixed.setflags(write=False)
        assert hs.lu_factor(fixed, overwrite_a=True)[0] is not fixed

    def test_same_bits_every_time(self):
        """Who does a task does not change its result."""
        a = random_matrix(np.random.default_rng(3), (400, 400), np.float64)
        first, piv = POOLS[2].lu_factor(a, block=48)
        with hs.Pool(1) as one, hs.Pool(4) as four:
            for pool in (one, four, four):
                lu, own = pool.lu_factor(a, block=48)
                assert (lu == first).all()
                assert (own == piv).all()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_empty(self, dtype):
        for shape in ((0, 0), (0, 3), (3, 0)):
            lu, piv = hs.lu_factor(np.empty(shape, dtype))
            assert lu.shape == shape
            assert lu.dtype == dtype
            assert piv.shape == (0,)
            assert piv.dtype == np.int32

    def test_integers_become_float64(self):
        lu, piv = hs.lu_factor([[1, 2], [4, 6]])
        assert lu.dtype == np.float64
        assert lu.tolist() == [[4, 6], [0.25, 0.5]]
        assert piv.tolist() == [1, 1]


#: Made once: hypothesis would make hundreds.
POOLS = {workers: hs.Pool(workers) for workers in (1, 2, 3)}


class TestAccuracy:
    """As good as LAPACK, within a small factor."""

    def matrices(self):
        rng = np.random.default_rng(7)
        n = 150
        a = rng.standard_normal((n, n))
        yield "random", a
        yield "graded rows", a * np.logspace(0, -14, n)[:, None]
        yield "graded columns", a * np.logspace(0, 14, n)
        yield "ill-conditioned", scipy.linalg.hilbert(n) + 0.0
        u, _ = np.linalg.qr(a)
        yield "condition 1e15", u * np.logspace(0, -15, n) @ u.T
        yield "Wilkinson", wilkinson(50)
        yield (
            "Kahan",
            scipy.linalg.toeplitz(np.zeros(n), np.full(n, -0.3)) + np.diag(0.95 ** np.arange(n)),
        )

    def test_backward_error(self):
        for name, a in self.matrices():
            own, lapack = (
                backward_error(a, *hs.lu_factor(a)),
                backward_error(a, *scipy.linalg.lu_factor(a)),
            )
            assert own <= 4 * lapack + 0.05, name

    def test_residual_of_systems(self):
        """The High Performance Linpack's residual, below 16; and beside SciPy's."""
        rng = np.random.default_rng(8)
        for name, a in self.matrices():
            b = rng.standard_normal(len(a))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
                norms = [
                    linpack(a, x, b)
                    for x in (hs.solve(a, b), scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b))
                ]
            assert norms[0] <= 4 * norms[1] + 0.05, name
        a = rng.uniform(-0.5, 0.5, (1000, 1000))
        b = rng.uniform(-0.5, 0.5, 1000)
        assert linpack(a, hs.solve(a, b), b) < 16

    def test_growth(self):
        """Wilkinson's matrix doubles the last column in every step: exact, so no bit is lost on the
        way."""
        n = 50
        lu, piv = hs.lu_factor(wilkinson(n))
        assert piv.tolist() == list(range(n))
        assert lu[:, -1].tolist() == [2.0**k for k in range(n)]

    def test_tiny_and_huge(self):
        for scale in (1e-310, 1e-300, 1e300):
            a = random_matrix(np.random.default_rng(1), (40, 40), np.float64) * scale
            lower, upper, order = apart(*hs.lu_factor(a))
            np.testing.assert_allclose(
                lower @ upper / scale, a[order] / scale, atol=1e-12 if scale > 1e-305 else 1e-2
            )
        tiny = np.full((2, 2), 1e-310) + np.diag([0, 1e-310])
        assert hs.lu_factor(tiny)[0][1, 0] == 1.0
        pair = np.array([[1e-310 + 1e-310j, 1], [1e-310 - 1e-310j, 1]])
        assert hs.lu_factor(pair)[0][1, 0] == pytest.approx(-1j)


def wilkinson(n):
    a = np.tril(np.full((n, n), -1.0), -1) + np.eye(n)
    a[:, -1] = 1.0
    return a


def linpack(a, x, b):
    norm = np.linalg.norm
    eps, inf = np.finfo(a.dtype).eps, np.inf
    return norm(a @ x - b, inf) / (eps * (norm(a, inf) * norm(x, inf) + norm(b, inf)) * len(a))


class TestSingular:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_warning_as_of_scipy(self, dtype):
        a = np.ones((90, 90), dtype)
        with pytest.warns(scipy.linalg.LinAlgWarning) as expected:
            scipy.linalg.lu_factor(a)
        with pytest.warns(scipy.linalg.LinAlgWarning) as caught:
            lu, piv = hs.lu_factor(a)
        assert (
            str(caught[0].message)
            == str(expected[0].message)
            == "Diagonal number 2 is exactly zero. Singular matrix."
        )
        assert caught[0].filename == __file__
        assert (
            lu
            == np.tril(np.eye(1, 90).T @ np.ones((1, 90)))
            + np.triu(np.ones((90, 90)), 1) * (np.arange(90)[:, None] == 0)
        ).all() or (lu[0] == 1).all()
        assert (lu[1:, 1:] == 0).all()
        assert (lu[:, 0] == 1).all()
        assert piv.tolist() == list(range(90))

    def test_warning_of_a_pool(self):
        with (
            hs.Pool(2) as pool,
            pytest.warns(RuntimeWarning, match="Diagonal number 1 is") as caught,
        ):
            lu, _ = pool.lu_factor(np.zeros((3, 5)))
        assert caught[0].filename == __file__
        assert not lu.any()

    def test_later_zero(self):
        a = random_matrix(np.random.default_rng(4), (200, 200), np.float64)
        a[:, 150] = 0.0
        with pytest.warns(scipy.linalg.LinAlgWarning, match="Diagonal number 151 is"):
            lu, _ = hs.lu_factor(a)
        assert np.isfinite(lu).all()

    def test_solve(self):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            hs.solve(np.ones((70, 70)), np.ones(70))
        assert hs.det(np.ones((70, 70))) == 0.0

    def test_without_scipy(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "scipy.linalg", None)
        with pytest.warns(hs.errors.LinAlgWarning, match="Diagonal number 2"):
            hs.lu_factor(np.ones((2, 2)))


class TestSystems:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("trans", [0, 1, 2])
    def test_lu_solve(self, dtype, trans):
        rng = np.random.default_rng(trans)
        for n, k in ((1, 1), (3, 2), (60, 6), (130, 40)):
            a, b = random_matrix(rng, (n, n), dtype), random_matrix(rng, (n, k), dtype)
            factors = hs.lu_factor(a)
            for right in (
                b,
                b[:, 0],
                np.asfortranarray(b),
                np.repeat(b, 2, axis=0)[::2],
                b[::-1][::-1],
            ):
                kept = right.copy()
                x = hs.lu_solve(factors, right, trans)
                assert (right == kept).all()
                assert x.shape == right.shape
                assert x.dtype == dtype
                matrix = (a, a.T, a.conj().T)[trans]
                expected = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), right, trans)
                errors = [abs(matrix @ y - right).max() for y in (x, expected)]
                assert (
                    errors[0]
                    <= 8 * errors[1] + 8 * np.finfo(dtype).eps * abs(x).max() * abs(a).max()
                )

    def test_factors_of_scipy(self):
        a = random_matrix(np.random.default_rng(0), (50, 50), np.float64)
        b = np.arange(50)
        np.testing.assert_allclose(
            hs.lu_solve(scipy.linalg.lu_factor(a), b), np.linalg.solve(a, b), rtol=1e-9
        )
        rows = np.ascontiguousarray(hs.lu_factor(a)[0])
        np.testing.assert_allclose(
            hs.lu_solve((rows, hs.lu_factor(a)[1].tolist()), b, 1),
            np.linalg.solve(a.T, b),
            rtol=1e-9,
        )

    def test_overwrite_b(self):
        a = np.diag([2.0, 4.0])
        b = np.array([2.0, 4.0])
        assert hs.lu_solve(hs.lu_factor(a), b, overwrite_b=True) is b
        assert b.tolist() == [1, 1]
        whole = np.array([2, 4])
        assert hs.lu_solve(hs.lu_factor(a), whole, overwrite_b=True).tolist() == [1, 1]
        assert whole.tolist() == [2, 4]

    def test_mixed_types(self):
        a = np.array([[2, 0], [0, 4]], np.float32)
        x = hs.lu_solve(hs.lu_factor(a), [2j, 4])
        assert x.dtype == np.complex128
        assert x.tolist() == [1j, 1]

    def test_zero_on_the_diagonal(self):
        factors = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([0, 1], np.int32)
        assert not np.isfinite(hs.lu_solve(factors, [1.0, 2.0])).all()

    def test_solve(self):
        a = random_matrix(np.random.default_rng(1), (80, 80), np.complex128)
        b = random_matrix(np.random.default_rng(2), (80, 9), np.complex128)
        np.testing.assert_allclose(hs.solve(a, b), np.linalg.solve(a, b), rtol=1e-9)
        assert hs.solve(np.empty((0, 0)), np.empty((0, 2))).shape == (0, 2)
        assert hs.solve(2 * np.eye(3), [2, 4, 6]).tolist() == [1, 2, 3]

    @given(
        st.integers(0, 6).flatmap(
            lambda n: st.lists(
                st.lists(st.integers(-3, 3), min_size=n, max_size=n), min_size=n, max_size=n
            )
        )
    )
    def test_det(self, rows):
        a = np.array(rows, float).reshape(len(rows), len(rows))
        value = hs.det(a)
        assert type(value) is np.float64
        assert value == pytest.approx(float(exact_det(rows)), rel=1e-12, abs=1e-9)

    def test_det_of_other_types(self):
        a = random_matrix(np.random.default_rng(1), (20, 20), np.complex64)
        assert type(hs.det(a)) is np.complex128
        assert hs.det(a) == pytest.approx(np.linalg.det(a.astype(np.complex128)), rel=1e-4)
        assert hs.det(np.diag(np.array([1e30, 1e30], np.float32))) == pytest.approx(1e60)


SPREAD = np.concatenate([np.full(150, 1e3), np.full(150, 1e-3)])


def spread(scale=SPREAD, dtype=np.float64):
    """Rows of very different sizes times the tridiagonal (-1, 2, -1), whose determinant is its size
    plus one."""
    n = len(scale)
    return (scale[:, None] * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))).astype(dtype)


class TestDetOfAnySize:
    """A determinant is right wherever its value can be written, however large or small its factors
    are."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("order", ["falling", "rising", "mixed"])
    def test_factors_beyond_the_range(self, dtype, order):
        scale = {
            "falling": SPREAD,
            "rising": SPREAD[::-1],
            "mixed": np.random.default_rng(0).permutation(SPREAD),
        }[order]
        assert hs.det(spread(scale, dtype)) == pytest.approx(
            301.0, rel=1e-3 if np.finfo(dtype).bits == 32 else 1e-10
        )

    def test_columns_of_one_size(self):
        """As many at either end of the range as make the product of each end alone overflow."""
        for size in (1e300, 1e-300, 5e-324):
            scale = np.array([size] * 40 + [1 / size if size > 1e-308 else 2.0**1023] * 40)
            assert hs.det(np.diag(scale)) == pytest.approx(
                float(math.prod(map(Fraction, scale))), rel=1e-12
            )

    def test_complex_by_magnitude(self):
        scale = np.array([1e200j, 1e200, 1e-200j, 1e-200, 3 + 4j])
        assert hs.det(np.diag(scale)) == pytest.approx(-(3 + 4j), rel=1e-12)
        angles = np.exp(1j * np.linspace(0, 7, 700))
        value = hs.det(np.diag(angles * np.repeat([1e100, 1e-100], 350)))
        assert value == pytest.approx(np.prod(angles), rel=1e-9)

    def test_many_factors(self):
        """More than fit one product of mantissas: some 600 mantissas alone may underflow."""
        assert hs.det(np.diag(np.full(640, 3.0))) == pytest.approx(3.0**640, rel=1e-12)
        assert hs.det(np.diag(np.repeat([0.5, 2.0, 5.0, 0.2], 300))) == pytest.approx(
            1.0, rel=1e-10
        )

    def test_empty_and_singular(self):
        assert hs.det(np.empty((0, 0))) == 1.0
        assert hs.det(np.empty((0, 0), np.complex64)) == 1.0
        singular = spread(np.repeat([1e300, 1.0], 5))
        singular[:, 7] = 0.0
        assert hs.det(singular) == 0.0  # zero times what overflows

    @pytest.mark.parametrize("dtype", [np.float64, np.complex128])
    @pytest.mark.parametrize(
        ("size", "over", "words"), [(1e200, "over", "overflow"), (1e-200, "under", "underflow")]
    )
    def test_out_of_range_as_numpy(self, dtype, size, over, words):
        """Values that cannot be written are judged by np.errstate, in NumPy's words."""
        a = np.diag(np.full(4, size)).astype(dtype)
        limit = np.inf if over == "over" else 0.0
        with np.errstate(all="ignore"):
            assert hs.det(a).real == limit
            assert hs.det(a[[1, 0, 2, 3]]).real == -limit
        words = f"{words} encountered in det"
        with (
            np.errstate(all="ignore", **{over: "warn"}),
            pytest.warns(RuntimeWarning, match=f"^{words}$"),
        ):
            assert hs.det(a).real == limit
        with (
            np.errstate(all="ignore", **{over: "raise"}),
            pytest.raises(FloatingPointError, match=f"^{words}$"),
        ):
            hs.det(a)
        called = []
        with np.errstate(
            all="ignore", call=lambda kind, flag: called.append(kind), **{over: "call"}
        ):
            hs.det(a)
        assert called == [words.split()[0]]
        with np.errstate(all="raise"):
            assert hs.det(np.diag([1e200, 1e-200])) == pytest.approx(1.0)

    def test_denormal_value(self):
        a = np.diag([2.0**-1000, 2.0**-60, -1.0])
        with np.errstate(under="ignore"):
            assert hs.det(a) == -(2.0**-1060)
        with (
            np.errstate(under="raise"),
            pytest.raises(FloatingPointError, match="underflow encountered in det"),
        ):
            hs.det(a)

    def test_overflow_on_the_way(self):
        a = np.array([[1e308, 1e308, 0], [-1e308, 1e308, 1], [1e308, 0, 1e308]])
        with pytest.warns(RuntimeWarning, match="overflow encountered in det"):
            assert not np.isfinite(hs.det(a))


def exact_det(rows):
    if not rows:
        return Fraction(1)
    _, table = exact_lu(rows)
    product = Fraction(1)
    for k in range(len(rows)):
        product *= table[k][k]
    order = exact_lu(rows)[0]
    inversions = sum(
        order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order))
    )
    return -product if inversions % 2 else product


class TestBadInput:
    def test_matrices(self):
        for call in (hs.lu_factor, hs.det, lambda a: hs.solve(a, np.ones(2))):
            for bad in (np.array([[1.0, np.nan], [1, 1]]), np.array([[1.0, -np.inf], [1, 1]])):
                with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                    call(bad)
            with pytest.raises(ValueError, match=r"^a must be a matrix, got shape \(2,\)$"):
                call(np.ones(2))
            with pytest.raises(TypeError, match="a has dtype"):
                call(np.array([["x", "y"], ["z", "w"]]))
            with pytest.raises(ValueError, match=r"^a must be a matrix, got shape \(\)$"):
                call(1.0)
        for call in (hs.det, lambda a: hs.solve(a, np.ones(2))):
            with pytest.raises(ValueError, match="a must be square"):
                call(np.ones((2, 3)))
        with hs.Pool(1) as pool, pytest.raises(ValueError, match="a must be a matrix"):
            pool.lu_factor(np.ones((2, 2, 2)))

    @pytest.mark.parametrize(
        ("bad", "words"),
        [
            (
                np.ma.masked_array(np.eye(2), np.eye(2) > 0),
                " is a masked array, and its mask would be ignored",
            ),
            (scipy.sparse.eye(2, format="csc"), " is a sparse csc_"),
            (
                np.eye(2, dtype=np.longdouble),
                rf" has dtype {np.dtype(np.longdouble)}; supported are float32",
            ),
            (np.eye(2, dtype=object), " has dtype object"),
        ],
        ids=["masked", "sparse", "longdouble", "object"],
    )
    def test_refused(self, bad, words):
        """By every function, and by the name of the argument that it is."""
        factors = hs.lu_factor(np.eye(2))
        with hs.Pool(1) as pool:
            for call in (hs.lu_factor, pool.lu_factor, hs.det, lambda a: hs.solve(a, np.ones(2))):
                with pytest.raises(TypeError, match="^a" + words):
                    call(bad)
        for call in (lambda b: hs.solve(np.eye(2), b), lambda b: hs.lu_solve(factors, b)):
            with pytest.raises(TypeError, match="^b" + words):
                call(bad)
        with pytest.raises(TypeError, match="^lu" + words):
            hs.lu_solve((bad, factors[1]), np.ones(2))
        if isinstance(bad, np.ma.MaskedArray):
            with pytest.raises(TypeError, match="^piv is a masked"):
                hs.lu_solve((factors[0], np.ma.masked_array(factors[1])), np.ones(2))

    def test_right_sides(self):
        for call in (
            lambda b: hs.solve(np.eye(2), b),
            lambda b: hs.lu_solve(hs.lu_factor(np.eye(2)), b),
        ):
            for bad in (1.0, np.ones(3), np.ones((2, 3, 2))):
                with pytest.raises(
                    ValueError, match=r"^b must have shape \(2,\) or \(..., 2, k\), got "
                ):
                    call(bad)

    @pytest.mark.parametrize(
        "dtype", [">f8", ">f4", ">c16", ">i4", np.int8, np.bool_, np.uint64, np.float16]
    )
    def test_converted(self, dtype):
        a, b = np.array([[1, 1], [1, 0]]).astype(dtype), np.array([1, 0]).astype(dtype)
        assert hs.solve(a, b).tolist() == [0, 1]
        assert hs.solve(a, b).dtype.isnative
        assert hs.det(a) == -1
        lu, piv = hs.lu_factor(a)
        assert lu.dtype == (
            np.float32 if dtype is np.float16 else np.linalg.solve(a, b).dtype.newbyteorder("=")
        )
        assert hs.lu_solve((lu.astype(lu.dtype.newbyteorder()), piv), b).tolist() == [0, 1]

    def test_check_finite(self):
        lu, _ = hs.lu_factor(np.array([[1.0, np.nan], [1, 1]]), check_finite=False)
        assert np.isnan(lu).any()
        for n in (40, 300):
            lu, piv = hs.lu_factor(np.full((n, n), np.nan), check_finite=False)
            assert np.isnan(lu).all()
            assert ((piv >= np.arange(n)) & (piv < n)).all()
        require_finite(np.full((3, 3), 1.7e308))  # the sum is not finite, the elements are
        require_finite(np.empty((0, 3)))

    @pytest.mark.parametrize("dtype", DTYPES)
    # on both sides of where it is looked for in another way
    @pytest.mark.parametrize("n", [1, 3, 99, 100, 101])
    def test_one_element_is_not_finite(self, n, dtype):
        bad = [np.nan, np.inf, -np.inf] + (
            [complex(0, np.inf), complex(1, np.nan)] if np.dtype(dtype).kind == "c" else []
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for order in "CF":
                for value in bad:
                    for at in ((0, 0), (n - 1, n // 2), (n - 1, n - 1)):
                        a = np.ones((n, n), dtype, order=order)
                        a[at] = value
                        with pytest.raises(ValueError, match="infs or NaNs"):
                            require_finite(a)
                        with pytest.raises(ValueError, match="infs or NaNs"):
                            require_finite(a[::-1])
                for value in (
                    np.finfo(dtype).max,
                    -np.finfo(dtype).max,
                    np.finfo(dtype).smallest_subnormal,
                ):
                    require_finite(np.full((n, n), value, dtype, order=order))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_read_only_and_any_layout(self, dtype):
        a = random_matrix(np.random.default_rng(5), (2 * 17, 3 * 17), dtype)
        given = [
            a[:17, :17],
            a[::2, ::3],
            a[16::-1, 16::-1],
            a[:17, :17].T,
            np.asfortranarray(a[:17, :17]),
        ]
        for x in given:
            copy = x.copy()
            x.flags.writeable = False
            for y in (x, x.astype(dtype)):
                lu, piv = hs.lu_factor(y)
                same_as_scipy(copy, (lu, piv))
            assert np.array_equal(x, copy)

    def test_owners_and_blocks(self):
        a = np.eye(10)
        with hs.Pool(hs.Platform.star(THREE)) as pool:
            for bad, message in (
                ({"owner": [0, 1]}, None),
                ({"owner": [0, 1, 2], "block": 5}, "owner has 3 entries"),
                ({"owner": [0, 3]}, r"owner\[1\] must be an integer in"),
                ({"owner": [[0, 1]]}, "owner has shape"),
                ({"owner": "best"}, "owner must be one of"),
                ({"block": 0}, "block must be in"),
                ({"block": 2.5}, "block must be an integer"),
            ):
                if message is None:
                    pool.lu_factor(a, **bad)
                    continue
                with pytest.raises(ValueError, match=message):
                    pool.lu_factor(a, **bad)
        with pytest.raises(ValueError, match="infinite cycle-time"):
            hs.plan_lu(10, 10, [1, np.inf], owner=[0, 1])
        with pytest.raises(ValueError, match="too many blocks"):
            hs.plan_lu(100_000, 100_000, [1, 2], block=1)
        with pytest.raises(TypeError, match="dtype int64"):
            hs.plan_lu(10, 10, [1, 2], dtype=int)
        for bad, error, message in (
            ({"panel_times": [1]}, ValueError, "panel_times must have 2 entries, got 1"),
            ({"panel_times": [1, 0]}, ValueError, r"panel_times\[1\] must be positive"),
            ({"panel_times": [1, np.nan]}, ValueError, r"panel_times\[1\] is NaN"),
            ({"link_costs": -1}, ValueError, "link_costs must be finite and not negative, got -1"),
            (
                {"link_costs": [1, np.inf]},
                ValueError,
                "link_costs must be finite and not negative, got inf",
            ),
            (
                {"link_costs": [1, 2, 3]},
                ValueError,
                r"link_costs must be a number or have shape \(2,\) or \(2, 2\), got \(3,\)",
            ),
            ({"link_costs": "fast"}, TypeError, "link_costs must be numbers"),
            ({"look_ahead": 1}, TypeError, "look_ahead must be True or False, got 1"),
        ):
            with pytest.raises(error, match=message):
                hs.plan_lu(10, 10, [1, 2], **bad)

    def test_factors(self):
        good, piv = hs.lu_factor(np.eye(3))
        for factors, b, trans, error, message in (
            ((good, piv), np.ones(2), 0, ValueError, "b must have shape"),
            ((good, piv), np.ones((3, 1, 1)), 0, ValueError, "b must have shape"),
            ((good, piv), np.ones(3), 3, ValueError, "trans must be"),
            ((good, [0, 1]), np.ones(3), 0, ValueError, "piv must have shape"),
            ((good, [0, 1, 3]), np.ones(3), 0, ValueError, r"piv\[2\] must be"),
            ((good[:2], piv), np.ones(3), 0, ValueError, "lu must be square"),
            (good[0, 0], np.ones(3), 0, TypeError, "pair of arrays"),
            ((good, piv), [1, np.nan, 1], 0, ValueError, "infs or NaNs"),
            ((good, piv), ["a", "b", "c"], 0, TypeError, "b has dtype"),
        ):
            with pytest.raises(error, match=message):
                hs.lu_solve(factors, b, trans)
        for b in (np.ones(2), np.ones((3, 1, 1)), 1.0):
            with pytest.raises(ValueError, match="b must have shape"):
                hs.solve(np.eye(3), b)

    def test_closed_pool(self):
        pool = hs.Pool(1)
        pool.close()
        with pytest.raises(ValueError, match="closed"):
            pool.lu_factor(np.eye(3))


class TestPlan:
    @given(
        m=st.integers(0, 60) | st.integers(60_000, 500_000),  # panels of several segments
        n=st.integers(0, 60),
        block=st.integers(1, 20),
        times=st.lists(st.integers(1, 9), min_size=1, max_size=4),
        look_ahead=st.booleans(),
        data=st.data(),
    )
    def test_schedule(self, m, n, block, times, look_ahead, data):
        p = len(times)
        count = len(edges(m, n, block)) - 1 if n else 0
        owner = data.draw(st.lists(st.integers(0, p - 1), min_size=count, max_size=count))
        panel_times = data.draw(st.none() | st.lists(st.integers(1, 20), min_size=p, max_size=p))
        links = data.draw(
            st.none()
            | st.lists(
                st.lists(st.integers(0, 40).map(float), min_size=p, max_size=p),
                min_size=p,
                max_size=p,
            )
        )
        plan = hs.plan_lu(
            m,
            n,
            times,
            owner=np.array(owner, int),
            block=block,
            panel_times=panel_times,
            link_costs=links,
            look_ahead=look_ahead,
        )
        expected: tuple[dict, dict] = {}, {}
        if count:
            any_links = links and any(links[i][j] for i in range(p) for j in range(p) if i != j)
            per_element = (
                [[Fraction(8) * int(x) for x in row] for row in links] if any_links else None
            )
            doubled = [
                [Fraction(2) * t for t in row] if row else None for row in (times, panel_times)
            ]
            expected = schedule(
                m, n, block, owner, *doubled, per_element, look_ahead, segment=2**20 // 8
            )
        assert len(plan.tasks) == len(expected[0])
        for worker, panel, to, start, end, _ in plan.tasks.tolist():
            wanted = expected[0][worker, panel, to]
            assert (start, end) == pytest.approx(tuple(float(t) * 1e-9 for t in wanted), rel=1e-12)
        assert len(plan.messages) == len(expected[1])
        for panel, sender, receiver, start, end in plan.messages.tolist():
            wanted = expected[1][panel, sender, receiver]
            assert (start, end) == pytest.approx(tuple(float(t) * 1e-9 for t in wanted), rel=1e-12)
        assert plan.makespan == max((t[4] for t in plan.tasks.tolist()), default=0.0)
        assert plan.lower_bound <= plan.makespan * (1 + 1e-12)
        assert hs.simulate(plan).makespan == plan.makespan
        rank = min(m, n)
        # multiplications and additions, the triangle's diagonal counted half: m n r - (m + n) r^2 /
        # 2 + r^3 / 3
        assert plan.flops.sum() == pytest.approx(
            2 * (m * n * rank - (m + n) * rank**2 / 2 + rank**3 / 3), rel=1e-9, abs=1e-9
        )

    @given(
        times=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=5),
        m=st.integers(1, 50), n=st.integers(1, 50), block=st.integers(1, 60),
    )  # fmt: skip
    def test_ideal(self, times, m, n, block):
        """Both kinds of work divided perfectly: a linear program. A worker without speed takes no
        part."""
        own, panels = map(list, zip(*times, strict=True))
        plan = hs.plan_lu(m, n, [*own, np.inf], panel_times=[*panels, 1.0], block=block)
        is_panel = plan.tasks["panel"] == plan.tasks["block"]
        work = [plan.tasks["flops"][which].sum() for which in (~is_panel, is_panel)]
        assert plan.ideal == pytest.approx(1e-9 * perfect_division(*work, own, panels), rel=1e-7)
        assert plan.ideal <= plan.lower_bound * (1 + 1e-12)
        assert plan.efficiency == pytest.approx(plan.ideal / plan.makespan)

    def test_slow_panels(self):
        """A device ten times as fast in updates as in panels had better leave them to the
        others."""
        usual, panels = [1.0, 10.0], [40.0, 10.0]
        mine = hs.plan_lu(1000, 1000, usual, panel_times=panels, owner=[0] * 10)
        given = hs.plan_lu(1000, 1000, usual, panel_times=[np.inf, 10.0], owner=[1] * 10)
        assert mine.makespan > 1.5 * hs.plan_lu(1000, 1000, usual, owner=[0] * 10).makespan
        assert given.makespan > 0
        assert hs.plan_lu(1000, 1000, usual).panel_times.tolist() == usual
        with pytest.raises(ValueError, match=r"owner\[0\] is a worker with an infinite panel time"):
            hs.plan_lu(1000, 1000, usual, panel_times=[np.inf, 10.0], owner=[0] * 10)
        assert (
            hs.plan_lu(2, 8, usual, panel_times=[np.inf, 1.0], owner=[1, 0, 0], block=4).makespan
            > 0
        )

    @given(
        st.lists(
            st.tuples(st.floats(0.1, 99.0), st.floats(0.1, 99.0) | st.just(np.inf)),
            min_size=1,
            max_size=6,
        ),
        st.integers(0, 60),
        st.integers(0, 60),
        st.integers(1, 70),
    )
    def test_bound_task_by_task(self, pairs, m, n, block):
        """Panels one after another, each with the update of the next one by whoever is fastest at
        both together."""
        times, panel_times = (list(given) for given in zip(*pairs, strict=True))
        able = int(np.argmin(panel_times))
        if np.isinf(panel_times[able]):
            return
        plan = hs.plan_lu(
            m,
            n,
            times,
            panel_times=panel_times,
            owner=[able] * allocate.factor_blocks(m, n, block),
            block=block,
        )
        work = {(t["panel"], t["block"]): 1e-9 * t["flops"] for t in plan.tasks}
        chain = work.get((0, 0), 0.0) * panel_times[able]
        for k in range(1, sum(panel == own for panel, own in work)):
            chain += min(work[k - 1, k] * time + work[k, k] * panel for time, panel in pairs)
        assert plan.lower_bound == pytest.approx(
            min(max(plan.ideal, chain), plan.makespan), rel=1e-9
        )

    def test_chain(self):
        """With very many fast workers the panels one after another are what is left: the bound is
        attained."""
        plan = hs.plan_lu(400, 400, [1.0] * 8, block=100, owner=[0, 0, 0, 0], panel_times=[3.0] * 8)
        tasks = plan.tasks[
            np.diff(np.c_[plan.tasks["panel"], plan.tasks["block"]], axis=1)[:, 0] <= 1
        ]
        factors = tasks["panel"] == tasks["block"]
        chain = 1e-9 * (3 * tasks["flops"][factors].sum() + tasks["flops"][~factors].sum())
        assert plan.lower_bound == pytest.approx(chain)

    def test_links(self):
        """All forms of links; a message costs bytes times link cost, and a star's goes over two of
        them. Worker 1 passes panel 0 on to worker 2."""
        times, shape = [1.0, 1.0, 1.0], (300, 300)
        forms = {
            "number": (4.0, [[0, 4, 4], [4, 0, 4], [4, 4, 0]]),
            "star": ([1.0, 2.0, 3.0], [[0, 3, 4], [3, 0, 5], [4, 5, 0]]),
            "complete": ([[9, 1, 2], [3, 9, 4], [5, 6, 9]], [[0, 1, 2], [3, 0, 4], [5, 6, 0]]),
        }
        for costs, wanted in forms.values():
            for dtype, size in ((np.float64, 8), (np.complex64, 8), (np.float32, 4)):
                plan = hs.plan_lu(
                    *shape, times, owner="cyclic", block=100, link_costs=costs, dtype=dtype
                )
                assert plan.links.tolist() == wanted
                lengths = {
                    (m["panel"], m["receiver"]): m["end"] - m["start"] for m in plan.messages
                }
                assert lengths == pytest.approx(
                    {
                        (0, 1): wanted[0][1] * 300 * 100 * size / 1e9,
                        (0, 2): wanted[1][2] * 300 * 100 * size / 1e9,
                        (1, 2): wanted[1][2] * 200 * 100 * size / 1e9,
                    }
                )
        star = hs.Platform.star(times, [1.0, 2.0, 3.0])
        complete = hs.Platform.complete(times, [[0, 1, 2], [3, 0, 4], [5, 6, 0]])
        assert hs.plan_lu(*shape, star, block=100).links.tolist() == forms["star"][1]
        assert hs.plan_lu(*shape, complete, block=100).links.tolist() == forms["complete"][1]
        assert hs.plan_lu(*shape, star, block=100, link_costs=0).links is None
        free, paid = (
            hs.plan_lu(*shape, times, owner="cyclic", block=20, link_costs=cost)
            for cost in (None, 50.0)
        )
        assert paid.makespan > 1.2 * free.makespan
        assert len(free.messages) == 0
        transfers = [s for s in paid.steps() if s.kind == "transfer"]
        assert len(transfers) == len(paid.messages) > 0
        for port in ("sender", "receiver"):  # one thing at a time
            for w in range(3):
                own = np.sort(paid.messages[paid.messages[port] == w], order="start")
                assert (own["start"][1:] >= own["end"][:-1]).all()

    def test_look_ahead(self):
        """Without it the panels are on everybody's way."""
        early, late = (
            hs.plan_lu(1200, 1200, [1.0] * 4, block=60, look_ahead=on) for on in (True, False)
        )
        assert late.makespan > 1.05 * early.makespan
        assert (early.look_ahead, late.look_ahead) == (True, False)
        of_next = [s.what for s in late.steps() if s.worker == late.owner[1]]
        assert of_next.index("panel 1") > max(
            of_next.index(what) for what in of_next if what.endswith("after panel 0")
        )

    def test_table(self):
        plan = hs.plan_lu(
            400,
            400,
            hs.Platform.star([1, 2], names=["gpu", "a core of the host"]),
            block=100,
            owner=[0, 1, 0, 0],
        )
        lines = plan.step_table().splitlines()
        assert len(lines) == 6
        assert (
            " ".join(lines[0].split()) == "step start end panel gpu a core of the host efficiency"
        )
        assert {len(line) for line in lines} == {len(lines[0])}
        assert [line.split()[-1] for line in lines[1:]] == [
            *(f"{x:.1%}" for x in plan.step_efficiency),
            f"{plan.efficiency:.1%}",
        ]
        assert lines[2].split()[:4] == [
            "1",
            f"{plan.step_times[1, 0]:.4g}",
            f"{plan.step_times[1, 1]:.4g}",
            "a",
        ]
        assert hs.plan_lu(0, 0, [1.0]).step_table().count("\n") == 1

    def test_pattern_against_cyclic(self):
        """Section 2.4's numbers: 83 for the pattern and 123 in turn, all updates equal, is 1.48;
        with the work that the steps have, and panels on the way, a little more."""
        pattern = hs.plan_lu(3000, 3000, THREE, block=300)
        cyclic = hs.plan_lu(3000, 3000, THREE, block=300, owner="cyclic")
        assert pattern.owner.tolist() == [2, 1, 0, 0, 1, 0, 2, 0, 1, 0]
        assert 1.4 < cyclic.makespan / pattern.makespan < 1.6
        assert pattern.counts.tolist() == [5, 3, 2]
        assert (pattern.step_efficiency[:-1] >= cyclic.step_efficiency[:-1]).all()
        assert ((pattern.step_efficiency > 0) & (pattern.step_efficiency <= 1 + 1e-12)).all()

    def test_step_efficiency(self):
        plan = hs.plan_lu(400, 400, [1, 2], block=100, owner=[0, 1, 0, 0])
        # the updates after panel 0: blocks 2 and 3 of worker 0, block 1 of worker 1: both busy for
        # two units, of three that they can do in that time
        assert plan.step_efficiency.tolist() == pytest.approx([1.0, 2 / 2 / 1.5, 1 / 1 / 1.5, 1.0])
        assert plan.step_times[0, 0] == 0.0
        assert plan.step_times[-1, 1] == plan.makespan
        assert (plan.step_times[1:, 0] < plan.step_times[:-1, 1]).any()  # the next panel is early

    def test_more_workers_never_needed(self):
        one = hs.plan_lu(500, 500, [2.0], block=50)
        assert one.optimal
        assert one.makespan == pytest.approx(2.0 * 2 / 3 * 500**3 / 1e9, rel=1e-9)
        assert hs.plan_lu(500, 500, [2.0, np.inf], block=50).makespan == one.makespan

    def test_of_a_pool(self):
        with hs.Pool(2) as pool:
            plan = pool.plan_lu(1000, 1000, dtype=np.float32)
            assert plan.counts.sum() == len(plan.owner)
            assert plan.names == ("P0", "P1")
            with pytest.raises(TypeError, match="dtype"):
                pool.plan_lu(10, 10, dtype=int)

    @pytest.mark.slow
    def test_forms(self):
        plan = hs.plan_lu(100, 100, hs.Platform.star(THREE), block=20)
        assert json.loads(json.dumps(plan.to_dict()))["makespan"] == plan.makespan
        assert "not proven optimal (pattern)" in str(plan.certificate)
        assert not plan.owner.flags.writeable
        assert plan.steps()[0].what == "panel 0"
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        assert plan.plot() is not None


class TestRuns:
    @pytest.mark.parametrize("look_ahead", [True, False])
    @pytest.mark.parametrize("links", [None, 40.0])
    def test_emulated_with_panels_and_messages(self, links, look_ahead):
        """The clock of the emulated platform is the simulation's: who ends when, to the last task
        and message."""
        a = random_matrix(np.random.default_rng(0), (240, 260), np.float64)
        with (
            warnings.catch_warnings(),
            hs.Pool(hs.Platform.star(THREE), emulate=True, time_scale=10) as pool,
        ):
            warnings.simplefilter("ignore", hs.EmulationWarning)
            plan = pool.plan_lu(
                240, 260, block=40, panel_times=[9, 4, 8], link_costs=links, look_ahead=look_ahead
            )
            (lu, piv), trace = pool.lu_factor(a, owner=plan, trace=True)
        same_as_scipy(a, (lu, piv))
        assert trace.predicted == 10 * plan.makespan
        done = [(e.worker, e.kind, e.what) for e in trace.events if e.kind != "wait"]
        steps = [(s.worker, s.kind, s.what) for s in plan.steps()]
        assert sorted(done) == sorted(steps)
        starts = {(s.worker, s.what, s.kind): 10 * s.start for s in plan.steps()}
        ends = {(s.worker, s.what, s.kind): 10 * s.end for s in plan.steps()}
        for event in trace.events:
            if event.kind == "wait":
                continue
            key = event.worker, event.what, event.kind
            assert event.start == pytest.approx(starts[key], rel=1e-9, abs=1e-12)
            assert event.end >= ends[key] * (1 - 1e-9)
            if event.kind == "transfer":
                assert event.end == pytest.approx(ends[key], rel=1e-9)
        for w in range(3):
            tasks = [what for worker, kind, what in done if worker == w and kind == "compute"]
            assert tasks == [s.what for s in plan.steps() if s.worker == w and s.kind == "compute"]

    def test_who_has_no_blocks_left_is_not_late(self, monkeypatch):
        """It has ended, however long the others go on."""
        a = random_matrix(np.random.default_rng(0), (200, 200), np.float64)
        seen = []
        monkeypatch.setattr(
            "hetsched.runners.workers.Workers.warn_if_late", lambda _, late, *__: seen.append(late)
        )
        with hs.Pool(hs.Platform.star([3, 3]), emulate=True, time_scale=50) as pool:
            (lu, piv), trace = pool.lu_factor(a, owner=[1, 0, 0, 0, 0, 0, 0, 0], trace=True)
        same_as_scipy(a, (lu, piv))
        assert trace.predicted > 0.5
        assert seen[0][1] < 0.5 * trace.predicted

    @pytest.mark.parametrize(
        "platform",
        [hs.Platform.star(THREE, [20, 30, 40]), hs.Platform.complete([3, 4], [[0, 90], [50, 0]])],
    )
    def test_links_of_the_platform(self, platform):
        a = random_matrix(np.random.default_rng(0), (150, 150), np.float64)
        with warnings.catch_warnings(), hs.Pool(platform, emulate=True, time_scale=10) as pool:
            warnings.simplefilter("ignore", hs.EmulationWarning)
            (lu, piv), trace = pool.lu_factor(a, block=30, trace=True)
            plan = pool.plan_lu(150, 150, block=30)
        same_as_scipy(a, (lu, piv))
        assert len(plan.messages)
        assert sum(e.kind == "transfer" for e in trace.events) == len(plan.messages)
        assert trace.total("transfer") == pytest.approx(
            [10 * t for t in hs.simulate(plan).total("transfer")]
        )
        assert trace.makespan >= trace.predicted * (1 - 1e-9)

    def test_plan_on_real_cores(self):
        a = random_matrix(np.random.default_rng(0), (200, 200), np.float64)
        plan = hs.plan_lu(
            200, 200, [1, 2], block=20, panel_times=[5, 6], link_costs=3.0, look_ahead=False
        )
        with hs.Pool(2) as pool:
            (lu, piv), trace = pool.lu_factor(a, owner=plan, trace=True)
        same_as_scipy(a, (lu, piv))
        assert trace.kind == "real"
        assert not any(e.kind == "transfer" for e in trace.events)
        assert len([e for e in trace.events if e.kind == "compute"]) == len(plan.tasks)

    def test_plan_of_something_else(self):
        a = np.eye(40)
        with hs.Pool(hs.Platform.star(THREE), emulate=True, time_scale=5) as pool:
            for plan, message in (
                (
                    hs.plan_lu(40, 41, THREE, block=10),
                    r"plan for \(40, 41\) float64, A is \(40, 40\) float64",
                ),
                (hs.plan_lu(40, 40, THREE, block=10, dtype=np.float32), "plan for .* float32"),
                (hs.plan_lu(40, 40, [3, 5], block=10), "plan for 2 workers, the pool has 3"),
                (hs.plan_lu(40, 40, [3, 5, 9], block=10), "plan for cycle-times"),
            ):
                with pytest.raises(ValueError, match=message):
                    pool.lu_factor(a, owner=plan)
            with pytest.raises(ValueError, match="block must be the plan's, 10"):
                pool.lu_factor(a, owner=pool.plan_lu(40, 40, block=10), block=20)
            assert (pool.lu_factor(a, owner=pool.plan_lu(40, 40, block=10), block=10)[0] == a).all()

    @pytest.mark.parametrize("owner", ["pattern", "cyclic"])
    def test_emulated_as_predicted(self, owner):
        a = random_matrix(np.random.default_rng(0), (400, 400), np.float64)
        with (
            warnings.catch_warnings(),
            hs.Pool(hs.Platform.star(THREE), emulate=True, time_scale=5) as pool,
        ):
            warnings.simplefilter("ignore", hs.EmulationWarning)
            (lu, piv), trace = pool.lu_factor(a, owner=owner, block=40, trace=True)
            plan = pool.plan_lu(400, 400, owner=owner, block=40)
        same_as_scipy(a, (lu, piv))
        assert trace.kind == "emulated"
        assert trace.predicted == pytest.approx(plan.makespan * 5)
        assert trace.makespan >= trace.predicted * (1 - 1e-9)
        assert trace.predicted_finish == pytest.approx(
            tuple(5 * t for t in hs.simulate(plan).finish)
        )
        assert trace.efficiency <= 1
        done = [(e.worker, e.what) for e in trace.events if e.kind == "compute"]
        assert sorted(done) == sorted((s.worker, s.what) for s in plan.steps())
        for w in range(3):  # in the order of the plan, and nobody is faster than its cycle-time
            assert [what for worker, what in done if worker == w] == [
                s.what for s in plan.steps() if s.worker == w
            ]
            assert trace.total("compute")[w] >= 5 * plan.flops[w] * THREE[w] / 1e9 * (1 - 1e-9)

    def test_trace_on_real_cores(self):
        a = random_matrix(np.random.default_rng(0), (300, 300), np.float64)
        with hs.Pool(2) as pool:
            (lu, piv), trace = pool.lu_factor(a, trace=True, block=50)
        same_as_scipy(a, (lu, piv))
        assert trace.kind == "real"
        whats = [e.what for e in trace.events if e.kind == "compute"]
        assert {f"panel {k}" for k in range(6)} <= set(whats)
        assert len(whats) == 21

    def test_complex_costs_four_times_as_much(self):
        times = [
            hs.plan_lu(100, 100, [1, 1], block=25, dtype=dtype).makespan
            for dtype in (np.float64, np.complex128)
        ]
        assert times[1] == pytest.approx(4 * times[0])

    def test_several_threads(self):
        rng = np.random.default_rng(0)
        matrices = [random_matrix(rng, (150 + 10 * i, 200), np.float64) for i in range(4)]
        results = [None] * 4

        def run(i):
            for _ in range(5):
                results[i] = hs.lu_factor(matrices[i])

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for a, result in zip(matrices, results, strict=True):
            same_as_scipy(a, result)

    def test_progress_and_its_errors(self):
        class Stop(Exception):
            pass

        seen = []

        def stop(fraction):
            seen.append(fraction)
            raise Stop

        a = random_matrix(np.random.default_rng(0), (300, 300), np.float64)
        with hs.Pool(hs.Platform.star([300, 500]), emulate=True) as pool:
            with pytest.raises(Stop):
                pool.lu_factor(a, progress=stop)
            assert len(seen) == 1
            assert 0 <= seen[0] <= 1

    @pytest.mark.few(1)
    @pytest.mark.parametrize("kind", ["real", "emulated"])
    def test_ctrl_c(self, kind):
        maker = (
            "hs.Pool(2)"
            if kind == "real"
            else "hs.Pool(hs.Platform.star([1000, 2000]), emulate=True)"
        )
        program = f"""
            import time
            import numpy as np, hetsched as hs
            A = np.random.default_rng(0).standard_normal((2500, 2500))
            pool = {maker}
            pool.lu_factor(A[:20, :20])
            print("ready", flush=True)
            try:
                for _ in range(1000):
                    pool.lu_factor(A)
            except KeyboardInterrupt:
                print("interrupted", time.monotonic(), flush=True)
            print(pool.lu_factor(A[:1, :1])[1].tolist())
            """
        assert interrupted(program) == ["[0]"]


class TestExtremePlans:
    """Times at the ends of the doubles: no warning, and a plan or an error that names the
    argument."""

    @pytest.mark.parametrize(
        ("times", "options"),
        [
            ([1e-290, 1e-300, 1e-280], {}),
            ([1 / 1e307, 1 / 1.7e308, 1e-300], {}),
            ([7, 1], {"panel_times": [7.3e-243, 3.9e106]}),
            ([1e308], {"look_ahead": False}),
            ([1e300, 1.7e308], {}),
        ],
    )
    def test_plans(self, times, options):
        plan = hs.plan_lu(10, 17, times, block=5, **options)
        assert 0.0 < plan.lower_bound <= plan.makespan < np.inf
        assert 0.0 <= plan.step_efficiency.min() <= plan.step_efficiency.max() <= 1.0 + 1e-12
        assert plan.efficiency <= 1.0 + 1e-12

    def test_too_small(self):
        with pytest.raises(ValueError, match=r"cycle_times\[1\] is too small"):
            hs.plan_lu(10, 10, [1e-300, 5e-324])
        with pytest.raises(ValueError, match=r"panel_times\[0\] is too small"):
            hs.plan_lu(10, 10, [1], panel_times=[5e-324])

    def test_too_large(self):
        with pytest.raises(ValueError, match="the makespan overflows"):
            hs.plan_lu(2000, 2000, [1.7e308])
        with pytest.raises(ValueError, match="link_costs of two workers have a sum that overflows"):
            hs.plan_lu(10, 10, [1, 1], link_costs=[1e308, 1e308])

    @pytest.mark.parametrize("dtype", [-1, 0.5, [1, 2], "x,y", "f8,(", np.ones(2)])
    def test_dtypes(self, dtype):
        with pytest.raises(TypeError, match="dtype must be one of float32"):
            hs.plan_lu(10, 10, [1], dtype=dtype)

    def test_labels(self):
        plan = hs.plan_lu(10, 10, [1], block=5)
        assert plan.label(1, 1) == "panel 1"
        for wrong in (2, -1, 0.5, "x", np.ones(2)):
            with pytest.raises((ValueError, TypeError), match="panel must be"):
                plan.label(wrong, 1)


@pytest.mark.parametrize("value", [np.ones(2), "x", [True], NotImplemented])
def test_flags_are_no_arrays(value):
    factors = hs.lu_factor(np.eye(2))
    for name in ("overwrite_a", "check_finite"):
        with pytest.raises(TypeError, match=f"{name} must be True or False"):
            hs.lu_factor(np.eye(2), **{name: value})
    for name in ("overwrite_b", "check_finite"):
        with pytest.raises(TypeError, match=f"{name} must be True or False"):
            hs.lu_solve(factors, np.ones(2), **{name: value})
    with pytest.raises(ValueError, match="trans must be 0, 1 or 2"):
        hs.lu_solve(factors, np.ones(2), np.ones(2))


def test_arrays_of_no_dimension_are_their_elements():
    """As NumPy and SciPy 1.18 return numbers and flags."""
    a, b = np.diag([4.0, 1e-3, 1e-9]), np.ones(3)
    assert hs.lstsq(a, b, np.array(1e-6)).rank == hs.lstsq(a, b, 1e-6).rank == 2
    assert hs.lstsq(a, b, np.array(0)).rank == 3
    assert (
        hs.distribute(np.array(78), [3, 5, 8]).counts.tolist()
        == hs.distribute(78, [3, 5, 8]).counts.tolist()
    )
    assert hs.plan_lu(
        np.array(10.0), 10, [1, 2], block=np.array(5), link_costs=np.array(2)
    ).makespan == (hs.plan_lu(10, 10, [1, 2], block=5, link_costs=2).makespan)
    assert hs.matmul(a, a, alpha=np.array(2)).tolist() == (2 * a @ a).tolist()
    for bad, error in (
        (np.array("x"), TypeError),
        (np.array(None, object), TypeError),
        (np.array(np.nan), ValueError),
    ):
        with pytest.raises(error, match="^cond must be"):
            hs.lstsq(a, b, bad)
        with pytest.raises(error, match="^n must be"):
            hs.distribute(bad, [3, 5])
    with pytest.raises(TypeError, match="^n must be an integer, got "):
        hs.distribute(np.array(True), [3, 5])
    with pytest.raises(TypeError, match="^check_finite must be True or False, got masked$"):
        hs.lstsq(a, b, check_finite=np.ma.masked)
