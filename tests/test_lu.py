"""LU: factors against SciPy and exact elimination, schedules against a slow simulation, emulated runs against schedules."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles_lu import apart, backward_error, edges, exact_lu, schedule

import hetsched as hs
from hetsched import _engine
from hetsched.lu import require_finite

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
    np.testing.assert_allclose(lu, expected, atol=1e3 * np.finfo(a.dtype).eps * max(a.shape) * abs(a).max())


@pytest.fixture(params=_engine.KERNELS)
def kernel(request):
    before = _engine.kernel()["name"]
    try:
        _engine.use_kernel(request.param)
    except (ValueError, ImportError):
        pytest.skip(f"no {request.param} in this build")
    yield request.param
    _engine.use_kernel(before)


class TestFactors:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_shapes_on_every_kernel(self, kernel, dtype):
        rng = np.random.default_rng(1)
        with hs.Pool(2) as pool:
            for m, n, blocks in ((1, 1, [1]), (2, 3, [1, 2]), (64, 64, [16, 33]), (31, 100, [7, 16]), (230, 200, [None, 40])):
                for block in blocks:
                    a = random_matrix(rng, (m, n), dtype)
                    result = pool.lu_factor(a, block=block)
                    assert backward_error(a, *result) < 1
                    if dtype in (np.float64, np.complex128):  # in single precision a near tie may go either way
                        same_as_scipy(a, result)

    @settings(deadline=None, max_examples=80)
    @given(
        m=st.integers(0, 40), n=st.integers(0, 40), block=st.integers(1, 45), dtype=st.sampled_from(DTYPES),
        steps=st.tuples(st.sampled_from([-3, -1, 1, 2]), st.sampled_from([-3, -1, 1, 2])), by_columns=st.booleans(),
        seed=st.integers(0, 99), overwrite=st.booleans(), workers=st.integers(1, 3),
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

    @settings(deadline=None, max_examples=60)
    @given(
        rows=st.integers(1, 7).flatmap(
            lambda n: st.lists(st.lists(st.integers(-4, 4), min_size=n, max_size=n), min_size=n, max_size=n)
        ),
        block=st.integers(1, 7),
    )
    def test_exact_elimination(self, rows, block):
        """Small integers: ties go to the first row, and singular matrices are factored to the end, as far as rounding allows."""
        _, table = exact_lu(rows)
        singular = [k for k in range(len(rows)) if table[k][k] == 0]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lu, piv = POOLS[2].lu_factor(rows, block=block)
        assert backward_error(np.array(rows, float), lu, piv) < 1
        if not singular:
            assert abs(np.prod(lu.diagonal())) == pytest.approx(float(abs(np.prod([table[k][k] for k in range(len(rows))]))))
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
        yield "Kahan", scipy.linalg.toeplitz(np.zeros(n), np.full(n, -0.3)) + np.diag(0.95 ** np.arange(n))

    def test_backward_error(self):
        for name, a in self.matrices():
            own, lapack = backward_error(a, *hs.lu_factor(a)), backward_error(a, *scipy.linalg.lu_factor(a))
            assert own <= 4 * lapack + 0.05, name

    def test_residual_of_systems(self):
        """The High Performance Linpack's residual, below 16; and beside SciPy's."""
        rng = np.random.default_rng(8)
        for name, a in self.matrices():
            b = rng.standard_normal(len(a))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
                norms = [linpack(a, x, b) for x in (hs.solve(a, b), scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b))]
            assert norms[0] <= 4 * norms[1] + 0.05, name
        a = rng.uniform(-0.5, 0.5, (1000, 1000))
        b = rng.uniform(-0.5, 0.5, 1000)
        assert linpack(a, hs.solve(a, b), b) < 16

    def test_growth(self):
        """Wilkinson's matrix doubles the last column in every step: exact, so no bit is lost on the way."""
        n = 50
        lu, piv = hs.lu_factor(wilkinson(n))
        assert piv.tolist() == list(range(n))
        assert lu[:, -1].tolist() == [2.0**k for k in range(n)]

    def test_tiny_and_huge(self):
        for scale in (1e-310, 1e-300, 1e300):
            a = random_matrix(np.random.default_rng(1), (40, 40), np.float64) * scale
            lower, upper, order = apart(*hs.lu_factor(a))
            np.testing.assert_allclose(lower @ upper / scale, a[order] / scale, atol=1e-12 if scale > 1e-305 else 1e-2)
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
        assert str(caught[0].message) == str(expected[0].message) == "Diagonal number 2 is exactly zero. Singular matrix."
        assert caught[0].filename == __file__
        assert (
            lu == np.tril(np.eye(1, 90).T @ np.ones((1, 90))) + np.triu(np.ones((90, 90)), 1) * (np.arange(90)[:, None] == 0)
        ).all() or (lu[0] == 1).all()
        assert (lu[1:, 1:] == 0).all()
        assert (lu[:, 0] == 1).all()
        assert piv.tolist() == list(range(90))

    def test_warning_of_a_pool(self):
        with hs.Pool(2) as pool, pytest.warns(RuntimeWarning, match="Diagonal number 1 is") as caught:
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
            for right in (b, b[:, 0], np.asfortranarray(b), np.repeat(b, 2, axis=0)[::2], b[::-1][::-1]):
                kept = right.copy()
                x = hs.lu_solve(factors, right, trans)
                assert (right == kept).all()
                assert x.shape == right.shape
                assert x.dtype == dtype
                matrix = (a, a.T, a.conj().T)[trans]
                expected = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), right, trans)
                errors = [abs(matrix @ y - right).max() for y in (x, expected)]
                assert errors[0] <= 8 * errors[1] + 8 * np.finfo(dtype).eps * abs(x).max() * abs(a).max()

    def test_factors_of_scipy(self):
        a = random_matrix(np.random.default_rng(0), (50, 50), np.float64)
        b = np.arange(50)
        np.testing.assert_allclose(hs.lu_solve(scipy.linalg.lu_factor(a), b), np.linalg.solve(a, b), rtol=1e-9)
        rows = np.ascontiguousarray(hs.lu_factor(a)[0])
        np.testing.assert_allclose(hs.lu_solve((rows, hs.lu_factor(a)[1].tolist()), b, 1), np.linalg.solve(a.T, b), rtol=1e-9)

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

    @settings(deadline=None, max_examples=60)
    @given(
        st.integers(0, 6).flatmap(
            lambda n: st.lists(st.lists(st.integers(-3, 3), min_size=n, max_size=n), min_size=n, max_size=n)
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


def exact_det(rows):
    if not rows:
        return Fraction(1)
    _, table = exact_lu(rows)
    product = Fraction(1)
    for k in range(len(rows)):
        product *= table[k][k]
    order = exact_lu(rows)[0]
    inversions = sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
    return -product if inversions % 2 else product


class TestBadInput:
    def test_matrices(self):
        for call in (hs.lu_factor, hs.det, lambda a: hs.solve(a, np.ones(2))):
            for bad in (np.array([[1.0, np.nan], [1, 1]]), np.array([[1.0, -np.inf], [1, 1]])):
                with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                    call(bad)
            with pytest.raises(ValueError, match="A must be a matrix"):
                call(np.ones((2, 2, 2)))
            with pytest.raises(TypeError, match="A has dtype"):
                call(np.array([["x", "y"], ["z", "w"]]))
            with pytest.raises(ValueError, match="A is a scalar"):
                call(1.0)
        for call in (hs.det, lambda a: hs.solve(a, np.ones(2))):
            with pytest.raises(ValueError, match="A must be square"):
                call(np.ones((2, 3)))

    def test_check_finite(self):
        lu, _ = hs.lu_factor(np.array([[1.0, np.nan], [1, 1]]), check_finite=False)
        assert np.isnan(lu).any()
        for n in (40, 300):
            lu, piv = hs.lu_factor(np.full((n, n), np.nan), check_finite=False)
            assert np.isnan(lu).all()
            assert ((piv >= np.arange(n)) & (piv < n)).all()
        require_finite(np.full((3, 3), 1.7e308))  # the sum is not finite, the elements are
        require_finite(np.empty((0, 3)))

    def test_owners_and_blocks(self):
        a = np.eye(10)
        with hs.Pool(hs.Platform.star(THREE)) as pool:
            for bad, message in (
                ({"owner": [0, 1]}, None),
                ({"owner": [0, 1, 2], "block": 5}, "owner has 3 entries"),
                ({"owner": [0, 3]}, r"owner\[1\] must be an integer in"),
                ({"owner": [[0, 1]]}, "one-dimensional"),
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
    @settings(deadline=None, max_examples=80)
    @given(
        m=st.integers(0, 60),
        n=st.integers(0, 60),
        block=st.integers(1, 20),
        times=st.lists(st.integers(1, 9), min_size=1, max_size=4),
        data=st.data(),
    )
    def test_schedule(self, m, n, block, times, data):
        count = len(edges(m, n, block)) - 1 if n else 0
        owner = data.draw(st.lists(st.integers(0, len(times) - 1), min_size=count, max_size=count))
        plan = hs.plan_lu(m, n, times, owner=np.array(owner, int), block=block)
        expected = schedule(m, n, block, owner, [Fraction(t) for t in times]) if count else {}
        assert len(plan.tasks) == len(expected)
        for worker, panel, to, start, end, _ in plan.tasks.tolist():
            wanted = expected[worker, panel, to]
            assert (start, end) == pytest.approx(tuple(float(t) * 2e-9 for t in wanted), rel=1e-12)
        assert plan.makespan == max((t[4] for t in plan.tasks.tolist()), default=0.0)
        assert plan.lower_bound <= plan.makespan * (1 + 1e-12)
        assert hs.simulate(plan).makespan == plan.makespan
        rank = min(m, n)
        # multiplications and additions, the triangle's diagonal counted half: m n r - (m + n) r^2 / 2 + r^3 / 3
        assert plan.flops.sum() == pytest.approx(2 * (m * n * rank - (m + n) * rank**2 / 2 + rank**3 / 3), rel=1e-9, abs=1e-9)

    def test_pattern_against_cyclic(self):
        """Section 2.4's numbers: 83 for the pattern and 123 in turn, all updates equal, is 1.48; with the work that the steps
        have, and panels on the way, a little more."""
        pattern = hs.plan_lu(3000, 3000, THREE, block=300)
        cyclic = hs.plan_lu(3000, 3000, THREE, block=300, owner="cyclic")
        assert pattern.owner.tolist() == [2, 1, 0, 0, 1, 0, 2, 0, 1, 0]
        assert 1.4 < cyclic.makespan / pattern.makespan < 1.6
        assert pattern.counts.tolist() == [5, 3, 2]
        assert (pattern.step_efficiency[:-1] >= cyclic.step_efficiency[:-1]).all()
        assert ((pattern.step_efficiency > 0) & (pattern.step_efficiency <= 1 + 1e-12)).all()

    def test_step_efficiency(self):
        plan = hs.plan_lu(400, 400, [1, 2], block=100, owner=[0, 1, 0, 0])
        # the updates after panel 0: blocks 2 and 3 of worker 0, block 1 of worker 1: both busy for two units, of three that
        # they can do in that time
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

    def test_forms(self):
        plan = hs.plan_lu(100, 100, hs.Platform.star(THREE), block=20)
        assert json.loads(json.dumps(plan.to_dict()))["makespan"] == plan.makespan
        assert "not proven optimal (pattern)" in plan.certificate()
        assert not plan.owner.flags.writeable
        assert plan.steps()[0].what == "panel 0"
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        assert plan.plot() is not None


class TestRuns:
    @pytest.mark.parametrize("owner", ["pattern", "cyclic"])
    def test_emulated_as_predicted(self, owner):
        a = random_matrix(np.random.default_rng(0), (400, 400), np.float64)
        with warnings.catch_warnings(), hs.Pool(hs.Platform.star(THREE), emulate=True, time_scale=5) as pool:
            warnings.simplefilter("ignore", hs.EmulationWarning)
            (lu, piv), trace = pool.lu_factor(a, owner=owner, block=40, trace=True)
            plan = pool.plan_lu(400, 400, owner=owner, block=40)
        same_as_scipy(a, (lu, piv))
        assert trace.kind == "emulated"
        assert trace.predicted == pytest.approx(plan.makespan * 5)
        assert trace.makespan >= trace.predicted * (1 - 1e-9)
        assert trace.predicted_finish == pytest.approx(tuple(5 * t for t in hs.simulate(plan).finish))
        assert trace.efficiency <= 1
        done = [(e.worker, e.what) for e in trace.events if e.kind == "compute"]
        assert sorted(done) == sorted((s.worker, s.what) for s in plan.steps())
        for w in range(3):  # in the order of the plan, and nobody is faster than its cycle-time
            assert [what for worker, what in done if worker == w] == [s.what for s in plan.steps() if s.worker == w]
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
        times = [hs.plan_lu(100, 100, [1, 1], block=25, dtype=dtype).makespan for dtype in (np.float64, np.complex128)]
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

    @pytest.mark.parametrize("kind", ["real", "emulated"])
    def test_ctrl_c(self, kind):
        maker = "hs.Pool(2)" if kind == "real" else "hs.Pool(hs.Platform.star([1000, 2000]), emulate=True)"
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(f"""
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
                """),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            word, when = process.stdout.readline().split()
            assert word == "interrupted"
            assert float(when) - sent < 5.0  # generous: a loaded machine; without the poll it is minutes
            assert process.stdout.readline() == "[0]\n"
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
            process.stdout.close()
            process.wait()
