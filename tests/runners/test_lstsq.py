"""Least squares: solutions, ranks and residues beside SciPy's, of any rank and scale."""

import copy
import pickle

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from random_matrices import DTYPES, close, dtypes, eps, laid_out, layouts, random, seeds, sizes

import hetsched as hs

EPS = float(np.finfo(np.float64).eps)


def of_values(m, n, values, dtype=np.float64, seed=0):
    """A matrix of these singular values."""
    k = len(values)
    u, _ = np.linalg.qr(random((m, k), dtype, seed))
    v, _ = np.linalg.qr(random((n, k), dtype, seed + 1))
    return ((u * values) @ v.conj().T).astype(dtype)


def theirs(a, b, cond=None):
    """SciPy's answer, with the cutoff of ours. Where the rank is not full, SciPy has no residues
    before 1.18, and NaN since."""
    x, residues, rank, s = scipy.linalg.lstsq(
        a, b, cond=eps(a, b) * max(a.shape) if cond is None else cond
    )
    if rank < a.shape[1] < a.shape[0]:
        assert np.isnan(residues).all()
        residues = np.empty(0)
    return x, residues, rank, s


def assert_as_scipy(a, b, found, cond=None, scale=1.0):
    """scale: the condition that counts, which rounding is multiplied with; its square where there
    is a residue, which feels the condition itself."""
    x, residues, rank, s = theirs(a, b, cond)
    assert found.rank == rank
    close(found.x, x, scale=4 * scale)
    assert np.shape(found.residues) == np.shape(residues)
    real = found.x.real.dtype
    assert np.asarray(found.residues).dtype == real
    size = float(abs(np.asarray(b)).max(initial=0)) ** 2 * max(1, len(b))
    assert np.abs(found.residues - residues).max(initial=0) <= 100 * len(b) * eps(
        a, b
    ) * scale**0.5 * max(size, 1e-300)
    if a.size == 0:
        assert found.s.shape == (0,)
    elif found.method == "qr":
        assert found.s is None
        assert rank == min(a.shape)
    else:
        close(found.s, s)


@given(
    m=sizes,
    n=sizes,
    k=st.integers(-1, 4),
    types=st.tuples(dtypes, dtypes),
    layout=st.tuples(layouts, layouts),
    seed=seeds,
    deficit=st.sampled_from([0, 0, 1, 3, 40]),
    overwrite=st.tuples(st.booleans(), st.booleans()),
)
def test_as_scipy(m, n, k, types, layout, seed, deficit, overwrite):
    rank = max(0, min(m, n) - deficit)
    a = of_values(m, n, np.linspace(1, 3, rank), types[0], seed)
    # A deficit that was rounded to single precision is none in double.
    b = random(m if k < 0 else (m, k), types[1] if rank == min(m, n) else types[0], seed)
    ours = laid_out(a, layout[0]), laid_out(b, layout[1])
    found = hs.lstsq(*ours, None, *overwrite)
    assert overwrite[0] or (ours[0] == a).all()
    assert overwrite[1] or (ours[1] == b).all()
    if k == 0:  # which SciPy refuses
        assert found.x.shape == (n, 0)
        assert found.rank == rank
        return
    assert found.method == ("qr" if rank == min(m, n) else "svd")
    dtype = np.result_type(a, b)
    assert_as_scipy(a.astype(dtype), b.astype(dtype), found, scale=10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(130, 130), (200, 90), (700, 30), (30, 700), (90, 200)], ids=str)
@pytest.mark.parametrize("full", [True, False])
def test_large(shape, dtype, full):
    k = min(shape)
    a = of_values(*shape, np.linspace(1, 9, k if full else k // 2), dtype)
    b = random((shape[0], 3), dtype, 5)
    found = hs.lstsq(a, b)
    assert found.method == ("qr" if full else "svd")
    assert_as_scipy(a, b, found, scale=100)


class TestWithoutVectors:
    """Orders from which the engine solves R without singular vectors."""

    @pytest.mark.parametrize(
        ("rank", "dtype"),
        [(150, dtype) for dtype in DTYPES] + [(rank, np.float64) for rank in (0, 1, 299)],
    )
    @pytest.mark.parametrize("shape", [(300, 300), (500, 300), (300, 500)], ids=str)
    def test_as_scipy(self, shape, rank, dtype):
        a = of_values(*shape, np.linspace(1, 3, rank), dtype)
        b = random((shape[0], 3), dtype, 5)
        found = hs.lstsq(a, b)
        assert found.method == "svd"
        assert_as_scipy(a, b, found, scale=100)

    def test_numbers_of_right_sides(self):
        """None, a few, many, and so many that the vectors are formed after all: solutions belong to
        their right-hand sides, in any order."""
        a, b = of_values(300, 300, np.linspace(1, 3, 200)), random((300, 310), seed=5)
        x = theirs(a, b)[0]
        order = np.random.default_rng(0).permutation(310)
        for k in (0, 1, 4, 17, 40, 300, 301, 310):
            found = hs.lstsq(a, b[:, order[:k]])
            assert found.rank == 200
            close(found.x, x[:, order[:k]], scale=400)

    @pytest.mark.parametrize("k", [1, 40])
    @pytest.mark.parametrize(
        ("scale_a", "scale_b"), [(1e-290, 1e-280), (1e280, 1e290), (1, 1e-290)]
    )
    def test_scales(self, scale_a, scale_b, k):
        a, b = of_values(400, 300, np.linspace(1, 3, 200)), random((400, k), seed=5)
        found = hs.lstsq(a * scale_a, b * scale_b)
        assert found.rank == 200
        close(found.x / scale_b * scale_a, theirs(a, b)[0], scale=400)
        close(found.s / scale_a, theirs(a, b)[3], scale=400)

    def test_cutoff(self):
        """Singular values up to cond times the largest one count as zero."""
        a = np.diag(np.r_[4.0, np.ones(200), np.full(99, 1e-9)])
        for cond, rank in ((0.3, 1), (0.25, 1), (0.2, 201), (1e-12, 300)):
            found = hs.lstsq(a, np.ones(300), cond)
            assert found.rank == rank
            np.testing.assert_allclose(
                found.x * a.diagonal(), [1.0] * rank + [0.0] * (300 - rank), atol=1e-13
            )

    def test_right_side_that_is_not_finite(self):
        a, b = of_values(300, 300, np.linspace(1, 3, 200)), random((300, 2), seed=5)
        b[7, 1] = np.nan
        found = hs.lstsq(a, b, check_finite=False)
        assert found.rank == 200
        close(found.x[:, 0], theirs(a, b[:, 0])[0], scale=400)
        assert np.isnan(found.x[:, 1]).all()

    def test_stack(self):
        a = np.stack([of_values(300, 300, np.linspace(1, 3, rank)) for rank in (300, 150)])
        b = random((2, 300, 2), seed=5)
        found = hs.lstsq(a, b)
        assert found.rank.tolist() == [300, 150]
        for index in range(2):
            x, _, _, s = theirs(a[index], b[index])
            close(found.x[index], x, scale=400)
            close(found.s[index], s, scale=400)


class TestRank:
    """Never full where it is not; near the threshold as the singular values say."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(
        "shape", [(60, 30), (30, 60), (40, 40), (300, 20), (20, 300), (120, 60)], ids=str
    )
    def test_random_deficient(self, shape, dtype):
        """Two equal columns, a combination, half the rank: SciPy's default cutoff takes some of
        these for full."""
        m, n = shape
        for seed in range(3):
            a = random(shape, dtype, seed)
            equal, sum_of_all, half = (
                a.copy(),
                a.copy(),
                random((m, min(m, n) // 2), dtype) @ random((min(m, n) // 2, n), dtype),
            )
            equal[:, -1] = equal[:, 0]
            sum_of_all[-1] = sum_of_all[:-1].sum(axis=0)
            for matrix, rank in (
                (equal, min(m, n - 1)),
                (sum_of_all, min(m - 1, n)),
                (half, min(m, n) // 2),
            ):
                b = random(m, dtype, seed + 1)
                found = hs.lstsq(matrix, b)
                assert found.rank == rank
                x = np.linalg.pinv(matrix.astype(np.complex128), rcond=eps(a) * max(shape)) @ b
                error = abs(found.x - x).max() / abs(x).max()
                assert error < 1e4 * eps(a) * max(shape), error

    @pytest.mark.parametrize("ratio", [0.3, 0.9, 0.999, 1.001, 1.1, 3.0, 100.0])
    @pytest.mark.parametrize("shape", [(30, 10), (80, 10), (10, 30), (10, 80), (12, 12)], ids=str)
    def test_near_the_threshold(self, shape, ratio):
        cond = 1e-6
        values = np.ones(10)
        values[-1] = ratio * cond
        a, b = of_values(*shape, values), random(shape[0], seed=3)
        for given_cond in (cond, 1e-12):
            expected = 10 if ratio > 1 or given_cond < cond else 9
            assert hs.lstsq(a, b, given_cond).rank == expected == theirs(a, b, given_cond)[2]
        assert_as_scipy(a, b, hs.lstsq(a, b, cond), cond, scale=1e7)

    @pytest.mark.parametrize("exponent", range(0, 18))
    def test_conditions(self, exponent):
        """Solved by QR only where the singular values confirm it, and then as exact as by them."""
        values = np.geomspace(1, 10.0**-exponent, 12)
        for shape in ((12, 12), (30, 12), (90, 12), (12, 30), (12, 90)):
            a, b = of_values(*shape, values), random(shape[0], seed=1)
            found = hs.lstsq(a, b)
            s = np.linalg.svd(a, compute_uv=False)
            if found.method == "qr":
                assert s[-1] > EPS * max(shape) * s[0]
            if exponent <= 11:
                assert found.method == "qr"
            if exponent >= 16:
                assert found.method == "svd"
            if not 12 <= exponent <= 15:  # where rounding may decide
                assert found.rank == np.count_nonzero(s > EPS * max(shape) * s[0])
                if exponent < 8:
                    assert_as_scipy(a, b, found, scale=10.0 ** (2 * exponent))

    @pytest.mark.parametrize("cond", [0.0, 1e-300, -1.0, 0.5, 1.0, 2.0])
    def test_any_cond(self, cond):
        a, b = of_values(20, 6, [1, 0.9, 0.8, 0.4, 0.2, 0.1]), random(20)
        # SciPy 1.18 refuses negative ones
        expected = theirs(a, b, EPS if cond < 0 else cond)
        found = hs.lstsq(a, b, cond)
        assert found.rank == expected[2]
        close(found.x, expected[0], scale=20)

    def test_hilbert(self):
        a = scipy.linalg.hilbert(40)[:, :20]
        b = a @ np.ones(20)
        found = hs.lstsq(a, b)
        assert found.method == "svd"
        assert abs(a @ found.x - b).max() < 1e-13
        assert_as_scipy(a, b, found, scale=1e16)


class TestScales:
    @pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e290])
    @pytest.mark.parametrize("shape", [(30, 7), (8, 7), (7, 30), (7, 8)], ids=str)
    def test_all(self, scale, shape):
        a, b = random(shape), random(shape[0], seed=1)
        found = hs.lstsq(a * scale, b)
        assert found.method == "qr"
        close(found.x * scale, hs.lstsq(a, b).x, scale=1000)

    @pytest.mark.parametrize("shape", [(30, 4), (6, 4), (4, 6), (4, 30)], ids=str)
    @pytest.mark.parametrize(
        "scales",
        [(1, 1e-150, 1e150, 1), (1e-150, 1, 1, 1), (1, 1e150, 1, 1), (1e-5, 1, 1e5, 1)],
        ids=str,
    )
    def test_columns(self, scales, shape):
        a = random(shape)
        side = a if shape[0] > shape[1] else a.T
        side *= scales
        b = random(shape[0], seed=1)
        assert_as_scipy(a, b, hs.lstsq(a, b), scale=1e10)

    def test_powers_of_time(self):
        """Columns of very different sizes, well conditioned but for that: QR's answer is the better
        one, and the rank is full."""
        t = np.linspace(0, 1, 50)
        a = np.vander(t, 4, increasing=True) * [1, 1e3, 1e6, 1e9]
        found = hs.lstsq(a, a @ np.ones(4))
        assert found.rank == 4
        np.testing.assert_allclose(found.x, 1, rtol=1e-4)

    @pytest.mark.parametrize("place", [0, 3, -1])
    @pytest.mark.parametrize("shape", [(30, 6), (7, 6), (6, 7), (6, 30)], ids=str)
    def test_zero_column(self, place, shape):
        a = random(shape)
        a[:, place] = 0
        b = random(shape[0], seed=1)
        found = hs.lstsq(a, b)
        assert_as_scipy(a, b, found, scale=100)
        assert found.x[place] == pytest.approx(0, abs=1e-13)

    def test_zeros(self):
        for shape in ((30, 6), (6, 30), (5, 5)):
            found = hs.lstsq(np.zeros(shape), np.ones(shape[0]))
            assert found.rank == 0
            assert not found.x.any()
            assert not found.s.any()
            a = random(shape)
            found = hs.lstsq(a, np.zeros(shape[0]))
            assert not found.x.any()
            assert found.rank == min(shape)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("k", [(), (2,), (0,)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_empty(shape, k, dtype):
    a, b = np.zeros(shape, dtype), random((shape[0], *k), dtype)
    found, expected = hs.lstsq(a, b), scipy.linalg.lstsq(a, b)
    close(found.x, expected[0].astype(dtype))
    np.testing.assert_allclose(found.residues, expected[1], rtol=1e-5)
    assert np.shape(found.residues) == np.shape(expected[1])
    assert found.rank == 0
    assert found.s.shape == (0,)


class TestStacks:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(
        ("left", "right"), [((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((4,), ())], ids=str
    )
    @pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5), (30, 3)], ids=str)
    def test_as_items(self, left, right, shape, dtype):
        a, b = random((*left, *shape), dtype), random((*right, shape[0], 2), dtype, 1)
        stack = np.broadcast_shapes(left, right)
        found = hs.lstsq(a, b)
        wide = np.broadcast_to(a, (*stack, *shape)), np.broadcast_to(b, (*stack, shape[0], 2))
        assert found.x.shape == (*stack, shape[1], 2)
        assert found.s.shape == (*stack, min(shape))
        assert found.rank.shape == found.method.shape == stack
        for index in np.ndindex(stack):
            x, residues, rank, s = theirs(wide[0][index], wide[1][index])
            condition = s[0] / s[-1]
            close(found.x[index], x, scale=condition**2)
            close(found.s[index], s, scale=4)
            assert found.rank[index] == rank
            np.testing.assert_allclose(
                found.residues[index], residues, rtol=1e3 * eps(a) * condition, atol=1e3 * eps(a)
            )

    def test_one_right_side_and_mixed_ranks(self):
        a = random((3, 6, 2))
        a[1, :, 1] = a[1, :, 0]
        found = hs.lstsq(a, np.arange(6.0))
        assert found.x.shape == (3, 2)
        assert found.rank.tolist() == [2, 1, 2]
        assert found.method.tolist() == ["qr", "svd", "qr"]
        assert np.isnan(found.residues).tolist() == [False, True, False]
        np.testing.assert_array_equal(
            found.residues[::2], hs.lstsq(a[::2], np.arange(6.0)).residues
        )
        assert hs.lstsq(a[:0], np.arange(6.0)).x.shape == (0, 2)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(6, 2), (20, 2), (4, 4), (2, 6), (5, 0), (0, 3)], ids=str)
    @pytest.mark.parametrize("sides", [(), (1,), (3,), (0,)], ids=str)
    def test_shapes_of_residues(self, shape, sides, dtype):
        """They depend on no value: not on ranks, nor on whether there is any matrix."""
        m, n = shape
        ranks = (range(3) if min(shape) > 1 else (0, 0, 0), (0, 0, 0), (min(shape),) * 3)
        b = random((m, *sides), dtype, 3)
        expected = sides if m > n else (0,)
        for each in ranks:
            a = np.stack([of_values(m, n, np.linspace(2, 3, rank), dtype, rank) for rank in each])
            for stack in (a, a[:0], a[:, None]):
                found = hs.lstsq(stack, b)
                assert found.residues.shape == (*stack.shape[:-2], *expected)
                assert found.residues.dtype == np.zeros(1, dtype).real.dtype
            found = hs.lstsq(a, b)
            assert found.rank.tolist() == list(each)
            for matrix, rank, residues in zip(a, each, found.residues, strict=True):
                single = hs.lstsq(matrix, b).residues
                assert np.shape(single) == (expected if rank == n else (0,))
                if rank == n:
                    np.testing.assert_allclose(residues, single, rtol=100 * eps(a))
                else:
                    assert np.isnan(residues).all()


class TestResult:
    def test_is_a_tuple_of_four(self):
        found = hs.lstsq([[1, 0], [1, 1], [1, 2]], [1, 3, 5])
        x, residues, rank, s = found
        assert (x is found.x, residues is found.residues, rank, s, found.method) == (
            True,
            True,
            2,
            None,
            "qr",
        )
        assert type(found) is hs.LeastSquares
        assert repr(found).startswith("LeastSquares(x=array(")
        assert repr(found).endswith("rank=2, s=None, method='qr')")
        for other in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
            assert type(other) is hs.LeastSquares
            assert other.method == "qr"
            np.testing.assert_array_equal(other.x, found.x)

    def test_in_place(self):
        """Only what is allowed, and what is dense and writable."""
        a, b = np.asfortranarray(random((9, 4))), random((9, 2), seed=1)
        kept = a.copy(), b.copy()
        close(hs.lstsq(a, b, overwrite_a=True).x, hs.lstsq(*kept).x, scale=10)
        assert not (a == kept[0]).all()
        assert (b == kept[1]).all()
        a = kept[0].copy()
        close(hs.lstsq(a, b, overwrite_b=True).x, hs.lstsq(*kept).x, scale=10)
        assert not (b == kept[1]).all()
        assert (a == kept[0]).all()


def test_not_finite():
    """SciPy's would not return: here a NaN in the matrix reaches the solution."""
    for shape in ((9, 4), (30, 4), (4, 9), (4, 30)):
        for bad in (np.nan, np.inf):
            a, b = random(shape), random(shape[0], seed=1)
            b[1] = bad
            assert not np.isfinite(hs.lstsq(a, b, check_finite=False).x).all()
            with pytest.raises(ValueError, match="^array must not contain infs or NaNs$"):
                hs.lstsq(a, b)
            a[1, 2] = bad
            assert not np.isfinite(hs.lstsq(a, b, check_finite=False).x).all()
            stack = hs.lstsq(np.stack([random(shape), a]), np.ones(shape[0]), check_finite=False)
            assert np.isfinite(stack.x[0]).all()
            assert not np.isfinite(stack.x[1]).all()


@pytest.mark.parametrize(
    ("args", "options", "error", "words"),
    [
        ((np.ones(3), np.ones(3)), {}, ValueError, r"^a must be a matrix, got shape \(3,\)$"),
        (
            (np.ones((3, 2)), np.ones(2)),
            {},
            ValueError,
            r"^b must have shape \(3,\) or \(..., 3, k\), got \(2,\)$",
        ),
        ((np.ones((3, 2)), 1.0), {}, ValueError, "^b must have shape"),
        (
            (np.ones((3, 0)), np.ones(2)),
            {},
            ValueError,
            r"^b must have shape \(3,\) or \(..., 3, k\), got \(2,\)$",
        ),
        (
            (np.ones((0, 3)), np.ones((1, 2))),
            {},
            ValueError,
            r"^b must have shape \(0,\) or \(..., 0, k\), got \(1, 2\)$",
        ),
        ((np.ones((3, 2)), np.ones(3)), {"cond": np.nan}, ValueError, "^cond "),
        ((np.ones((3, 2)), np.ones(3)), {"cond": "x"}, TypeError, "^cond must be"),
        ((np.ones((3, 2)), np.ones(3)), {"overwrite_a": "x"}, TypeError, "^overwrite_a must be"),
        (
            (np.ones((2, 3, 3)), np.ones((4, 3, 1))),
            {},
            ValueError,
            "^the stacks of a and b do not broadcast",
        ),
        ((np.ones((3, 2), object), np.ones(3)), {}, TypeError, "^a has dtype object"),
    ],
)
def test_refused(args, options, error, words):
    with pytest.raises(error, match=words):
        hs.lstsq(*args, **options)


@pytest.mark.parametrize("cond", [0.0, 1.0, 2.5, -1.0])
def test_cond_outside_of_0_and_1_is_the_precision(cond):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 4))
    b = rng.standard_normal(8)
    found, theirs = hs.lstsq(a, b, cond=cond), np.linalg.lstsq(a, b, rcond=cond)
    assert found.rank == theirs[2] == 2
    np.testing.assert_allclose(found.x, theirs[0], rtol=1e-9)


def test_a_result_with_another_field():
    found = hs.lstsq(np.eye(3), np.ones(3))
    other = found._replace(rank=1)
    assert (other.rank, other.method) == (1, found.method)
    assert repr(other).endswith(f"method={found.method!r})")
