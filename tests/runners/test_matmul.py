"""hs.matmul and Pool.matmul compute what NumPy computes, for every dtype, layout and shape."""

import math
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from inputs import many

import hetsched as hs
import hetsched.runners.product
from hetsched._engine import kernels

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
#: Products of several panels in depth, of one column, of one row, and of several panels in all.
MANY_PANELS = ((70, 90000, 50), (20000, 300, 1), (1, 300, 20000), (300, 400, 500))


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch):
    """Small products take the engine too."""
    monkeypatch.setattr(hetsched.runners.product, "SMALL", 0)
    monkeypatch.setattr(hetsched.runners.product, "NUMPY_SIDE", 0)


@pytest.fixture(params=["blis", "openblas", "c"])
def kernel(request):
    before = kernels.kernel()["name"]
    try:
        kernels.use_kernel(request.param)
    except ValueError:
        pytest.skip(f"no {request.param} in this build")
    yield request.param
    kernels.use_kernel(before)


@pytest.fixture(scope="module")
def pool():
    with hs.Pool(3) as pool:
        yield pool


def random(rng, shape, dtype):
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def laid_out(rng, rows, cols, dtype, layout):
    """A rows x cols array with the given memory layout."""
    if layout == "C":
        return random(rng, (rows, cols), dtype)
    if layout == "F":
        return random(rng, (cols, rows), dtype).T
    if layout == "strided":
        return random(rng, (2 * rows, 3 * cols), dtype)[::2, ::3]
    if layout == "negative":
        return random(rng, (rows, 2 * cols), dtype)[::-1, ::-2]
    if layout == "broadcast":
        return np.broadcast_to(random(rng, (1, cols), dtype), (rows, cols))
    raise AssertionError(layout)


def widest(A, B):
    wide = np.clongdouble if np.iscomplexobj(A) else np.longdouble
    return A.astype(wide) @ B.astype(wide)


def size(A, B):
    return np.abs(A).astype(float) @ np.abs(B).astype(float)


def assert_near(result, exact, bound, k):
    """Within the usual bound of a sum of k products, k eps |A| |B|."""
    assert result.shape == exact.shape
    assert np.all(
        np.abs(result - exact) <= (4 * math.sqrt(k) + 8) * np.finfo(result.dtype).eps * bound
    )


def assert_product(result, A, B, alpha=1, beta=0, C=None):
    exact, bound = alpha * widest(A, B), abs(alpha) * size(A, B)
    if C is not None and beta != 0:
        exact, bound = exact + beta * C, bound + abs(beta) * np.abs(C)
    assert_near(result, exact, bound, A.shape[-1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("out_layout", ["C", "F", "strided", "negative"])
def test_layouts(kernel, pool, dtype, out_layout):
    rng = np.random.default_rng(1)
    for layout_a in ("C", "F", "strided", "negative", "broadcast"):
        for layout_b in ("C", "F", "negative"):
            m, n, k = rng.integers(1, 90, 3)
            A, B = laid_out(rng, m, k, dtype, layout_a), laid_out(rng, k, n, dtype, layout_b)
            C = laid_out(rng, m, n, dtype, out_layout)
            C[...] = np.nan  # with beta = 0 the old content does not matter
            result = pool.matmul(A, B, out=C)
            assert result is C
            assert_product(C, A, B)


@cache
def large(m, n, k, dtype):
    """A, B, C, their product in the widest precision and |A| |B|: the same for every kernel."""
    rng = np.random.default_rng([m, n, k])
    A, B, C = random(rng, (m, k), dtype), random(rng, (k, n), dtype), random(rng, (m, n), dtype)
    return A, B, C, widest(A, B), size(A, B)


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", many(DTYPES, DTYPES[1:3]))
def test_larger_than_every_block(kernel, pool, dtype):
    """More than one panel in depth, rows and columns, with ragged ends."""
    small = np.dtype(dtype).kind == "c"
    for shape in (
        ((601, 83, 1100), (67, 4500, 390)) if not small else ((331, 53, 1030), (35, 2300, 270))
    ):
        A, B, C, exact, bound = large(*shape, dtype)
        assert_near(pool.matmul(A, B), exact, bound, shape[2])
        result = pool.matmul(A, B, out=C.copy(), alpha=-0.5, beta=2.0)
        assert_near(result, 2 * C - exact / 2, bound / 2 + 2 * np.abs(C), shape[2])


@given(data=st.data())
def test_alpha_beta(pool, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    m, n, k = (data.draw(st.integers(0, 70)) for _ in range(3))
    scalars = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0])
    alpha, beta = data.draw(scalars), data.draw(scalars)
    if np.dtype(dtype).kind == "c":
        alpha, beta = complex(alpha, data.draw(scalars)), complex(beta, data.draw(scalars))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    layouts = st.sampled_from(["C", "F", "strided", "negative"])
    A, B = (
        laid_out(rng, m, k, dtype, data.draw(layouts)),
        laid_out(rng, k, n, dtype, data.draw(layouts)),
    )
    C = laid_out(rng, m, n, dtype, data.draw(layouts))
    before = C.copy()
    if beta == 0:
        C[...] = np.nan
    pool.matmul(A, B, out=C, alpha=alpha, beta=beta)
    assert_product(C, A, B, alpha, beta, before)


@given(data=st.data())
def test_shapes_as_numpy(pool, data):
    """1-D and stacked operands, empty dimensions, mixed dtypes."""
    k = data.draw(st.integers(0, 9))
    stack = data.draw(st.sampled_from([(), (1,), (3,), (2, 3)]))
    other = data.draw(st.sampled_from([(), (1,), stack]))
    a = data.draw(st.sampled_from([(k,), (*stack, data.draw(st.integers(0, 9)), k)]))
    b = data.draw(st.sampled_from([(k,), (*other, k, data.draw(st.integers(0, 9)))]))
    rng = np.random.default_rng(3)
    A = random(rng, a, data.draw(st.sampled_from(DTYPES)))
    B = random(rng, b, data.draw(st.sampled_from(DTYPES)))
    ours, numpys = pool.matmul(A, B), np.matmul(A, B)
    assert np.shape(ours) == np.shape(numpys)
    assert ours.dtype == numpys.dtype
    assert type(ours) is type(numpys)
    np.testing.assert_allclose(ours, numpys, rtol=1e-4, atol=1e-4)


def test_read_only_and_unaligned_inputs(pool):
    rng = np.random.default_rng(4)
    A = random(rng, (20, 30), np.float64)
    A.setflags(write=False)
    raw = np.zeros(30 * 10 * 8 + 1, np.uint8)
    B = raw[1:].view(np.float64).reshape(30, 10)
    B[...] = random(rng, (30, 10), np.float64)
    assert not B.flags.aligned
    assert_product(pool.matmul(A, B), A, np.array(B))


def test_nan_and_inf_propagate(pool):
    A, B = np.ones((40, 30)), np.ones((30, 50))
    A[3, 4], B[7, 8] = np.nan, np.inf
    C = pool.matmul(A, B)
    assert np.isnan(C[3]).all()
    assert np.isinf(np.delete(C[:, 8], 3)).all()
    assert np.isfinite(np.delete(np.delete(C, 3, 0), 8, 1)).all()


@pytest.fixture(params=["engine", "NumPy"])
def way(request, monkeypatch):
    """Small products go to the engine in these tests, else to NumPy: the rules are the same."""
    if request.param == "NumPy":
        monkeypatch.setattr(hetsched.runners.product, "SMALL", 10**9)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", DTYPES)
class TestScalars:
    """As BLAS has them: alpha times the product, not times an operand."""

    @pytest.mark.parametrize("n", [1, 9, 70])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_alpha_zero_does_not_read_the_operands(self, kernel, pool, dtype, n, bad):
        A = np.full((n, n), bad, dtype)
        assert (pool.matmul(A, A, out=np.ones((n, n), dtype), alpha=0, beta=2) == 2).all()
        assert (pool.matmul(A, A, alpha=0) == 0).all()
        assert (pool.matmul(np.ones((n, n), dtype), A, alpha=-0.0) == 0).all()

    @pytest.mark.parametrize("n", [1, 9, 70])
    def test_beta_zero_does_not_read_out(self, kernel, pool, dtype, n):
        A = np.ones((n, n), dtype)
        for bad in (np.nan, np.inf):
            assert (
                pool.matmul(A, A, out=np.full((n, n), bad, dtype), alpha=2, beta=0) == 2 * n
            ).all()

    @pytest.mark.parametrize("n", [1, 9, 70])
    def test_scalars_that_are_no_numbers(self, kernel, pool, dtype, n):
        A = np.ones((n, n), dtype)
        assert np.isnan(pool.matmul(A, A, out=np.ones((n, n), dtype), alpha=np.nan, beta=1)).all()
        assert np.isnan(pool.matmul(A, A, out=np.ones((n, n), dtype), alpha=1, beta=np.nan)).all()
        assert np.isnan(pool.matmul(A, A, out=np.ones((n, n), dtype), alpha=0, beta=np.nan)).all()
        assert np.isinf(pool.matmul(A, A, out=np.ones((n, n), dtype), alpha=np.inf, beta=1)).all()
        assert np.isinf(pool.matmul(A, A, out=np.ones((n, n), dtype), alpha=1, beta=np.inf)).all()

    @pytest.mark.parametrize("turned", [False, True])
    @pytest.mark.parametrize("unit", [1, 1j])
    def test_what_only_the_product_can_bear(self, kernel, pool, dtype, turned, unit):
        """alpha A would underflow or overflow, alpha (A B) does neither."""
        if unit == 1j and np.dtype(dtype).kind != "c":
            return
        double = np.finfo(dtype).dtype == np.float64
        for tiny, alpha in (
            ((1e-290, 1e-30), (1e-200, 1e200)) if double else ((1e-36, 1e-10), (1e-30, 1e30))
        ):
            A, B = np.full((65, 40), tiny, dtype), np.full((40, 70), 1 / tiny / 40, dtype)
            for X, Y in ((A, B), (B.T, A.T)):
                out = np.empty((X.shape[0], Y.shape[1]), dtype, order="F" if turned else "C")
                product = pool.matmul(X, Y, out=out, alpha=alpha * unit)
                np.testing.assert_allclose(
                    product, np.full(out.shape, alpha * unit, dtype), rtol=1e-5
                )

    def test_scalars_of_another_type_are_rounded_first(self, kernel, pool, dtype):
        """A float32 product with alpha = 1e-60 is one with alpha = 0, as in sgemm."""
        A = np.full((9, 9), np.nan, dtype)
        single = np.finfo(dtype).dtype == np.float32
        product = pool.matmul(A, A, out=np.ones((9, 9), dtype), alpha=1e-60, beta=1)
        assert (product == 1).all() if single else np.isnan(product).all()
        product = pool.matmul(np.ones_like(A), np.ones_like(A), out=A, beta=1e-60)
        assert (product == 9).all() if single else np.isnan(product).all()


OTHERS = (
    np.int64,
    np.uint8,
    np.int16,
    np.bool_,
    np.float16,
    np.longdouble,
    np.clongdouble,
    object,
    ">f8",
    ">c8",
    ">i4",
)


class TestOtherNumbers:
    """What the engine does not multiply comes from numpy.matmul, or goes to the engine in the dtype
    that it would be there."""

    @pytest.mark.parametrize("left", DTYPES + OTHERS, ids=str)
    @pytest.mark.parametrize("right", DTYPES + OTHERS, ids=str)
    def test_dtypes(self, pool, left, right):
        rng = np.random.default_rng(0)
        for a, b in (
            ((7, 5), (5, 6)),
            ((5,), (5, 6)),
            ((7, 5), (5,)),
            ((5,), (5,)),
            ((2, 7, 5), (5, 6)),
            ((0, 5), (5, 0)),
        ):
            A, B = (
                rng.integers(0, 9, shape).astype(dtype) for shape, dtype in ((a, left), (b, right))
            )
            for found in (hs.matmul(A, B), pool.matmul(A, B)):
                with np.errstate(invalid="ignore"):  # NumPy's kernels may read beyond its buffers
                    expected = np.matmul(A, B)
                assert type(found) is type(expected)
                assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
                assert np.array_equal(found, expected)  # small integers: no rounding
            if len(a) > 1 or len(b) > 1:
                out = np.full(np.shape(expected), 3, expected.dtype)
                assert pool.matmul(A, B, out) is out
                assert np.array_equal(out, expected)

    def test_exactly(self, pool):
        """Integers are not rounded, and wrap as NumPy's; fractions stay fractions."""
        A = np.array([[2**62, 1], [3, 2**53 + 1]])
        assert pool.matmul(A, np.eye(2, dtype=int)).tolist() == A.tolist()
        assert np.array_equal(pool.matmul(A, A), A @ A)
        F = np.array([[Fraction(1, 3), Fraction(1, 7)], [Fraction(2, 5), Fraction(0)]], object)
        assert pool.matmul(F, F).tolist() == (F @ F).tolist()
        assert type(pool.matmul(F, F)[0, 0]) is Fraction
        assert pool.matmul(F, F, alpha=Fraction(1, 2))[0, 0] == (F @ F)[0, 0] / 2

    @pytest.mark.parametrize(
        "dtype", [np.int64, np.uint8, np.float16, np.longdouble, np.clongdouble, object]
    )
    def test_alpha_beta(self, pool, dtype):
        rng = np.random.default_rng(1)
        A, B, C = (rng.integers(0, 5, shape).astype(dtype) for shape in ((4, 3), (3, 5), (4, 5)))
        for alpha, beta in ((2, 0), (1, 1), (3, 2), (0, 2), (2, 0.0), (1.0, 1.0), (0, 0)):
            out = C.copy()
            assert pool.matmul(A, B, out, alpha, beta) is out
            assert out.dtype == dtype
            assert np.array_equal(out.astype(complex), (alpha * (A @ B) + beta * C).astype(complex))
        assert np.array_equal(pool.matmul(A, B, alpha=2), 2 * (A @ B))

    def test_alpha_zero_ignores_operands(self, pool):
        A, out = np.full((2, 2), np.nan, np.float16), np.full((2, 2), np.nan, np.float16)
        assert (pool.matmul(A, A, out, alpha=0) == 0).all()
        assert (pool.matmul(A, A, out, alpha=0, beta=2.0) == 0).all()
        assert (pool.matmul(A, A, alpha=0) == 0).all()

    @pytest.mark.parametrize(
        ("dtype", "keywords", "words"),
        [
            (np.int64, {"alpha": 0.5}, "alpha is 0.5, A and B are int64"),
            (np.int64, {"alpha": 1j}, "alpha is complex, A and B are int64"),
            (np.int64, {"alpha": np.nan}, "alpha is nan, A and B are int64"),
            (np.uint8, {"alpha": -1}, "alpha is -1, A and B are uint8"),
            (np.uint8, {"alpha": 256}, "alpha is 256, A and B are uint8"),
            (np.bool_, {"alpha": 2}, "alpha is 2, A and B are bool"),
            (
                np.int64,
                {"beta": 0.5, "out": np.ones((3, 3), int)},
                "beta is 0.5, A and B are int64",
            ),
            (np.float16, {"alpha": 1j}, "alpha is complex"),
            (object, {"alpha": "x"}, "alpha must be a number"),
            (np.int64, {"out": np.ones((3, 3))}, "out has dtype <f8, the product has <i8"),
        ],
    )
    def test_what_does_not_fit(self, pool, dtype, keywords, words):
        A = np.ones((3, 3), dtype)
        with pytest.raises(TypeError, match=re.escape(words)):
            pool.matmul(A, A, **keywords)
        assert "out" not in keywords or (keywords["out"] == 1).all()

    def test_plans_are_for_the_engine(self, pool):
        A = np.ones((3, 3), int)
        words = (
            "A and B have dtypes int64 and int64, their product int64; supported are float32,"
            " float64, complex64, complex128"
        )
        plan = pool.plan(3, 3, 3)
        for call in (
            lambda: pool.matmul(A, A, trace=True),
            lambda: pool.matmul(A, A, method="columns"),
            lambda: pool.run(plan, A, A),
        ):
            with pytest.raises(TypeError, match=words):
                call()
        with (
            hs.Pool(hs.Platform.star([1e3, 1e3]), emulate=True) as emulated,
            pytest.raises(TypeError, match=words),
        ):
            emulated.matmul(A, A)
        assert pool.matmul(A, A.astype(float), trace=True)[0].tolist() == [[3.0] * 3] * 3

    @pytest.mark.filterwarnings("ignore:the matrix subclass")
    def test_containers(self, pool):
        """Lists, numpy.matrix, data frames and memory views: their numbers as a plain array."""
        A = np.arange(6.0).reshape(2, 3)
        for same in (A.tolist(), np.matrix(A), memoryview(A), hs.asarray(A), Frame(A)):
            found = pool.matmul(same, A.T)
            assert type(found) is np.ndarray
            assert np.array_equal(found, A @ A.T)


def test_masks_are_never_ignored(pool, tmp_path):
    """By nobody who takes an array."""
    plain = np.ones((4, 4))
    masked = np.ma.masked_array(plain, np.eye(4))
    calls = [
        ("U", lambda: pool.stencil(masked, 2)),
        (
            "image",
            lambda: pool.sweep(hs.wavefront(2, 2, [1, 1, 1]), masked, hs.Stencil(np.ones((3, 3)))),
        ),
        ("A", lambda: hs.matmul_files(masked, plain, tmp_path / "c.npy", memory="10MB")),
        ("B", lambda: hs.matmul_files(plain, masked, tmp_path / "c.npy", memory="10MB")),
        ("A", lambda: pool.run(pool.plan(4, 4, 4), masked, plain)),
        ("out", lambda: hs.matmul_files(plain, plain, masked.copy(), memory="10MB")),
        ("out", lambda: pool.run(pool.plan(4, 4, 4), plain, plain, masked)),
        ("out", lambda: pool.stencil(plain, 2, out=masked)),
    ]
    for name, call in calls:
        with pytest.raises(TypeError, match=rf"^{name} is a masked array"):
            call()


class Frame:
    """As a data frame shows itself to numpy.asarray."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


class TestErrors:
    """Every one names the argument, and out is as it was."""

    A, B = np.ones((4, 5)), np.ones((5, 6))

    @pytest.mark.parametrize(
        ("A", "B", "error", "words"),
        [
            ([["x"]], B, TypeError, "A has dtype <U1; numbers are needed"),
            (A, np.ones((5, 6), "m8[s]"), TypeError, "B has dtype timedelta64"),
            (A, np.ones((5, 6), [("x", float)]), TypeError, "B has dtype"),
            (
                np.ma.masked_array(A, A > 0),
                B,
                TypeError,
                "A is a masked array, and its mask would be ignored",
            ),
            (A, np.ma.masked_array(B), TypeError, "B is a masked array"),
            (
                scipy.sparse.csr_matrix(A),
                B,
                TypeError,
                "A is a sparse csr_matrix; give A.toarray()",
            ),
            (A, scipy.sparse.coo_array(B), TypeError, "B is a sparse coo_array"),
            ([[1.0, 2.0], [3.0]], B, ValueError, "A is not an array: .*inhomogeneous"),
            (np.float64(3), B, ValueError, "A is a scalar"),
            (A, np.float64(3), ValueError, "B is a scalar"),
            (A, np.ones((4, 6)), ValueError, "A has 5 columns and B has 4 rows"),
            (
                np.ones((2, 4, 5)),
                np.ones((3, 5, 6)),
                ValueError,
                "stacks of A and B do not broadcast",
            ),
        ],
    )
    @pytest.mark.parametrize("shared", [True, False])
    def test_operands(self, pool, A, B, error, words, shared):
        with pytest.raises(error, match=words):
            (hs if shared else pool).matmul(A, B)

    @pytest.mark.parametrize(
        ("out", "error", "words"),
        [
            (np.zeros((4, 7)), ValueError, r"out has shape \(4, 7\)"),
            (np.zeros((4, 6), np.float32), TypeError, "out has dtype"),
            (np.zeros((4, 6), ">f8"), TypeError, "out has dtype >f8"),
            ([[0.0] * 6] * 4, TypeError, "out must be an array"),
            (np.ma.zeros((4, 6)), TypeError, "out is a masked array"),
            (np.broadcast_to(np.zeros(6), (4, 6)), ValueError, "out is read-only"),
            (
                np.lib.stride_tricks.as_strided(np.zeros(6), (4, 6), (0, 8)),
                ValueError,
                "out overlaps itself",
            ),
            (
                np.zeros(4 * 6 * 8 + 1, np.uint8)[1:].view(float).reshape(4, 6),
                ValueError,
                "out is not aligned",
            ),
        ],
    )
    def test_out(self, pool, out, error, words):
        before = np.array(out)
        with pytest.raises(error, match=words):
            pool.matmul(self.A, self.B, out=out)
        assert np.array_equal(np.array(out), before)

    def test_out_overlaps_an_input(self, pool):
        memory = np.arange(100.0)
        A = memory[:25].reshape(5, 5)
        before = memory.copy()
        for out in (A, memory[20:45].reshape(5, 5), A.T):
            with pytest.raises(ValueError, match="out overlaps A"):
                pool.matmul(A, np.eye(5), out=out)
            with pytest.raises(ValueError, match="out overlaps B"):
                hs.matmul(np.eye(5), A, out=out)
        assert np.array_equal(memory, before)
        interleaved = memory[1:50:2].reshape(5, 5)  # between the elements of an input: no overlap
        pool.matmul(memory[0:50:2].reshape(5, 5), np.eye(5), out=interleaved)
        assert np.array_equal(interleaved, before[0:50:2].reshape(5, 5))

    @pytest.mark.parametrize(
        ("keywords", "error", "words"),
        [
            ({"alpha": "2"}, TypeError, "alpha must be a number"),
            ({"alpha": 1j}, TypeError, "alpha is complex"),
            ({"beta": 1.0}, ValueError, "beta needs out"),
            ({"method": "diagonal"}, ValueError, "method must be one of"),
            ({"block": 10**30}, ValueError, r"block must be in \[1, "),
            ({"block": 2**63}, ValueError, r"block must be in \[1, "),
            ({"block": -3}, ValueError, r"block must be in \[1, "),
            ({"block": "x"}, TypeError, "block must be an integer"),
            ({"block": 0}, ValueError, "block must be in"),
            ({"block": 1.5}, ValueError, "block must be an integer"),
        ],
    )
    def test_keywords(self, pool, keywords, error, words):
        with pytest.raises(error, match=words):
            pool.matmul(self.A, self.B, **keywords)

    def test_product_larger_than_memory_addresses(self, pool):
        huge = np.broadcast_to(np.ones(1), (2**40, 1))
        with pytest.raises(ValueError, match="larger than the address space"):
            pool.matmul(huge, huge.T)

    def test_product_larger_than_memory(self, pool):
        tall = np.broadcast_to(np.ones(1), (2**26, 1))
        with pytest.raises(MemoryError):
            pool.matmul(tall, tall.T)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    many(
        [(shape, dtype) for shape in MANY_PANELS for dtype in DTYPES],
        [
            (MANY_PANELS[0], np.float32),
            (MANY_PANELS[1], np.float64),
            (MANY_PANELS[2], np.complex64),
            *((MANY_PANELS[3], dtype) for dtype in DTYPES),
        ],
    ),
)
def test_the_same_bits_every_time(dtype, shape):
    m, k, n = shape
    A, B = (
        random(np.random.default_rng(5), (m, k), dtype),
        random(np.random.default_rng(6), (k, n), dtype),
    )
    with hs.Pool(3) as threads:
        results = {threads.matmul(A, B).tobytes() for _ in range(many(5, 2))}
        results |= {threads.matmul(A, B, trace=True)[0].tobytes() for _ in range(2)}
    assert len(results) == 1


def test_unknown_kernel():
    with pytest.raises(ValueError, match="name must be one of"):
        kernels.use_kernel("mkl")
