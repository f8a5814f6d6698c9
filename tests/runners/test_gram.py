"""hs.gram, and products of a matrix by its own transpose: what NumPy computes, exactly symmetric,
for half the work."""

import threading

import numpy as np
import pytest
from inputs import many
from validators import validate

import hetsched as hs
import hetsched.runners.product
from hetsched._engine import kernels
from hetsched._engine import run as engine

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
SIZES = [
    (0, 3),
    (3, 0),
    (1, 1),
    (1, 50),
    (2, 3),
    (7, 5),
    (8, 8),
    (9, 2),
    (15, 4),
    (16, 3),
    (17, 9),
    (49, 31),
    (130, 70),
]


@pytest.fixture(params=["blis", "openblas", "c"])
def kernel(request):
    before = kernels.kernel()["name"]
    try:
        kernels.use_kernel(request.param)
    except ValueError:
        pytest.skip(f"no {request.param} in this build")
    yield request.param
    kernels.use_kernel(before)


@pytest.fixture
def no_shortcut(monkeypatch):
    """Small products take the engine too."""
    monkeypatch.setattr(hetsched.runners.product, "SMALL", 0)
    monkeypatch.setattr(hetsched.runners.product, "NUMPY_SIDE", 0)


@pytest.fixture(scope="module")
def pool():
    with hs.Pool(3) as pool:
        yield pool


def laid_out(rng, shape, dtype, layout):
    values = rng.standard_normal((*shape[:-2], 2 * shape[-2], 3 * shape[-1]))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(values.shape)
    values = values.astype(dtype)
    m, n = shape[-2:]
    return {
        "C": lambda: np.ascontiguousarray(values[..., :m, :n]),
        "F": lambda: np.ascontiguousarray(values[..., :m, :n].swapaxes(-1, -2)).swapaxes(-1, -2),
        "strided": lambda: values[..., ::2, ::3],
        "negative": lambda: (
            values[..., m - 1 :: -1, n - 1 :: -1] if m and n else values[..., :m, :n]
        ),
        "broadcast": lambda: np.broadcast_to(values[..., :1, :n], shape),
    }[layout]()


def assert_gram(C, A, of, conjugate=True):
    """Within the bound of sums of k products, and exactly what its mirror image is."""
    large = C.size > 20_000  # NumPy would take seconds in extended precision
    wide = A.astype(
        (np.complex128 if large else np.clongdouble)
        if A.dtype.kind == "c"
        else np.float64
        if large
        else np.longdouble
    )
    left = wide if of == "rows" else wide.swapaxes(-1, -2)
    right = left.swapaxes(-1, -2)
    if conjugate:
        left, right = (left, right.conj()) if of == "rows" else (left.conj(), right)
    exact, bound = left @ right.copy(), np.abs(left).astype(float) @ np.abs(right).astype(float)
    k = left.shape[-1]
    assert C.shape == exact.shape
    assert C.dtype == A.dtype
    assert np.all(
        np.abs(C - exact) <= (1 + large) * (4 * np.sqrt(k) + 8) * np.finfo(C.dtype).eps * bound
    )
    image = C.swapaxes(-1, -2)
    assert np.array_equal(C, image.conj() if conjugate else image)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("of", ["rows", "columns"])
def test_gram(kernel, no_shortcut, dtype, of):
    rng = np.random.default_rng(1)
    for shape in SIZES:
        for layout in ("C", "F", "strided", "negative", "broadcast"):
            A = laid_out(rng, shape, dtype, layout)
            assert_gram(hs.gram(A, of=of), A, of)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("out_layout", ["C", "F", "strided", "negative"])
def test_out(no_shortcut, dtype, out_layout):
    rng = np.random.default_rng(2)
    for shape in ((33, 70), (70, 33), (3, 20, 25)):
        for of in ("rows", "columns"):
            A = laid_out(rng, shape, dtype, "C")
            n = shape[-2 if of == "rows" else -1]
            C = laid_out(rng, (*shape[:-2], n, n), dtype, out_layout)
            C[...] = np.nan  # the old content does not matter
            assert hs.gram(A, C, of=of) is C
            assert_gram(C, A, of)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_larger_than_every_block(kernel, dtype):
    rng = np.random.default_rng(3)
    shapes = (
        [(1300, 40), (260, 1100), (60, 6000)]
        if np.dtype(dtype).kind == "f"
        else [(700, 40), (160, 700), (60, 3000)]
    )
    for shape in shapes:
        A = laid_out(rng, shape, dtype, "C")
        assert_gram(hs.gram(A), A, "rows")
        assert_gram(hs.gram(A.T, of="columns"), A.T, "columns")


@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_knows_its_own_transpose(kernel, no_shortcut, pool, dtype):
    """A A^T, of complex numbers too: without conjugation."""
    rng = np.random.default_rng(4)
    for shape in SIZES:
        for layout in many(("C", "F", "strided", "negative"), ("F", "strided")):
            A = laid_out(rng, shape, dtype, layout)
            for C in (hs.matmul(A, A.T), pool.matmul(A, A.T), np.asarray(hs.asarray(A) @ A.T)):
                assert_gram(C, A, "rows", conjugate=False)
            assert_gram(pool.matmul(A.T, A), A, "columns", conjugate=False)
    B = laid_out(rng, (4, 30, 20), dtype, "C")
    C = pool.matmul(B, B.swapaxes(-1, -2), alpha=-2.0)
    assert_gram(C / -2, B, "rows", conjugate=False)


def counted(monkeypatch):
    """How many products the engine works out by halves, and how many it is asked for."""
    counts = [0, 0]
    own = engine._product

    def product(a, b, c, alpha, beta, halves=False, hermitian=False):
        counts[0] += bool(halves)
        counts[1] += 1
        return own(a, b, c, alpha, beta, halves, hermitian)

    monkeypatch.setattr(engine, "_product", product)
    return counts


def test_what_is_recognised(no_shortcut, pool, monkeypatch):
    counts = counted(monkeypatch)
    A = np.random.default_rng(5).standard_normal((40, 40))
    out = np.empty((40, 40))
    halves = [
        lambda: pool.matmul(A, A.T),
        lambda: pool.matmul(A.T, A, out),
        lambda: pool.matmul(A[::2, ::-1], A[::2, ::-1].T),
        lambda: hs.matmul(A[3:, 1:9], A[3:, 1:9].T, alpha=3.0),
        lambda: hs.gram(A.astype(complex)),
    ]
    others = [
        lambda: pool.matmul(A, A),
        lambda: pool.matmul(A, A.T.copy()),
        lambda: pool.matmul(A[:20], A[20:].T),
        lambda: pool.matmul(A[:20], A.T),
        lambda: pool.matmul(A, A.T[::-1, ::-1]),
        lambda: pool.matmul(A, A.T, A.copy(), beta=1.0),  # an out that may not be symmetric
    ]
    for call in halves:
        counts[:] = 0, 0
        call()
        assert counts == [1, 1]
    for call in others:
        counts[:] = 0, 0
        call()
        assert counts == [0, 1]


def test_added_to_any_matrix(no_shortcut, pool):
    rng = np.random.default_rng(6)
    A, C = rng.standard_normal((50, 30)), rng.standard_normal((50, 50))
    np.testing.assert_allclose(
        pool.matmul(A, A.T, C.copy(), beta=2.0), A @ A.T + 2 * C, rtol=1e-12, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore::hetsched.EmulationWarning")
def test_emulated_pools_follow_their_plan():
    A = np.random.default_rng(7).standard_normal((60, 40))
    with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True, time_scale=20) as pool:
        C, trace = pool.matmul(A, A.T, trace=True)
    np.testing.assert_allclose(C, A @ A.T, rtol=1e-12, atol=1e-12)
    assert np.array_equal(C, C.T)
    assert trace.predicted <= trace.makespan


def best_cuts(n, block, cycle_times):
    """The least time of any division of the triangle's columns into intervals, in the workers'
    order, at multiples of block."""
    ends = [*range(0, n, block), n]
    best = {0: 0.0}
    for time in cycle_times:
        found = {}
        for start, value in best.items():
            for end in ends[ends.index(start) :]:
                work = sum(n - col for col in range(start, end)) * time
                found[end] = min(found.get(end, np.inf), max(value, work))
        best = found
    return best[n]


@pytest.mark.slow
def test_plans_of_a_triangle():
    rng = np.random.default_rng(11)
    for _ in range(60):
        n, block, k = int(rng.integers(1, 30)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
        times = rng.uniform(1, 9, rng.integers(1, 5))
        platform = hs.Platform.star(times)
        with hs.Pool(platform, emulate=True) as pool:
            plan = pool.plan(n, n, k, method="triangle", block=block)
        validate(plan)
        unit = 2 * k / 1e9
        assert plan.makespan == pytest.approx(best_cuts(n, block, times) * unit, rel=1e-9)
        assert plan.lower_bound == pytest.approx(
            n * (n + 1) / 2 * unit / (1 / times).sum(), rel=1e-9
        )
        assert plan.flops.sum() == pytest.approx(n * (n + 1) * k)
        cells = np.zeros((n, n), int)
        for _, row, col, depth, height, width, length in plan.boxes.tolist():
            cells[row : row + height, col : col + width] += 1
            assert (depth, length) == (0, k)
            assert col % block == 0
        assert np.all(np.tril(cells) == np.tri(n, dtype=int))
        again = hs.Plan.from_dict(plan.to_dict())
        assert np.array_equal(again.boxes, plan.boxes)
        other = again.on(platform)
        assert other.triangle
        assert other.makespan == pytest.approx(plan.makespan)
        assert max(step.end for step in other.steps()) == pytest.approx(plan.makespan)


@pytest.mark.filterwarnings("ignore::hetsched.EmulationWarning")
def test_products_by_a_plan_of_a_triangle(no_shortcut, pool):
    """Emulated and real, alone and in stacks, of all dtypes."""
    rng = np.random.default_rng(12)
    with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True, time_scale=20) as emulated:
        assert emulated.matmul(np.ones((0, 3)), np.ones((0, 3)).T).shape == (0, 0)
        for dtype in DTYPES:
            A = laid_out(rng, (2, 50, 30), dtype, "strided")
            for runner in (emulated, pool):
                C = runner.matmul(A, A.swapaxes(-1, -2), method="triangle")
                assert_gram(C, A, "rows", conjugate=False)
                _, trace = runner.matmul(A[0], A[0].T, trace=True)
                assert np.isfinite(trace.makespan)
            plan = emulated.plan(50, 50, 30, dtype=dtype, method="triangle")
            for same in (plan, plan.on(emulated.platform)):
                assert_gram(emulated.run(same, A[1], A[1].T), A[1], "rows", conjugate=False)
        A = rng.standard_normal((20, 10))
        _, halves = emulated.matmul(A, A.T, trace=True)
        _, whole = emulated.matmul(A, A.T.copy(), trace=True)
        assert halves.predicted < 0.7 * whole.predicted
        plan = emulated.plan(20, 20, 10, method="triangle")
        C = np.full((20, 20), 7.0)
        bad = [
            ("method 'triangle' needs m = n", lambda: emulated.plan(20, 21, 10, method="triangle")),
            (
                "method 'triangle' cannot be combined with",
                lambda: emulated.matmul(A, A.T, C, method="triangle", communication="sequential"),
            ),
            ("the plan computes one triangle", lambda: emulated.run(plan, A, A.T.copy(), C)),
            (
                "the plan computes one triangle",
                lambda: emulated.matmul(A, A.T.copy(), C, method="triangle"),
            ),
            (
                "the plan computes one triangle",
                lambda: emulated.matmul(A, A.T, C, beta=1.0, method="triangle"),
            ),
        ]
        for message, call in bad:
            with pytest.raises(ValueError, match=f"^{message}"):
                call()
        assert np.all(C == 7.0)


@pytest.mark.parametrize("code", "?bBhilqeg")
def test_other_dtypes_are_numpys(code):
    A = (np.random.default_rng(8).integers(0, 4, (2, 9, 5))).astype(code)
    for of in ("rows", "columns"):
        H = A.swapaxes(-1, -2)
        expected = np.matmul(A, H) if of == "rows" else np.matmul(H, A)
        C = hs.gram(A, of=of)
        assert C.dtype == expected.dtype
        assert np.array_equal(C, expected)
    wide = A.astype(np.clongdouble) * (1 + 2j)
    assert np.array_equal(hs.gram(wide), np.matmul(wide, wide.conj().swapaxes(-1, -2)))
    objects = A[0].astype(int).astype(object)
    assert hs.gram(objects).tolist() == (objects @ objects.T).tolist()


def test_byte_order_and_lists():
    A = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(hs.gram(A.astype(">f8")), A @ A.T)
    assert hs.gram(A.astype(">f8")).dtype.isnative
    assert np.array_equal(hs.gram(A.tolist(), of="columns"), A.T @ A)
    packed = np.zeros(12, np.dtype([("skip", "u1"), ("x", "f8")]))  # not aligned
    packed["x"] = A.ravel()
    assert np.array_equal(hs.gram(packed["x"].reshape(3, 4)), A @ A.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_travel(no_shortcut, dtype):
    A = np.ones((30, 20), dtype)
    A[3, 4], A[7, 5] = np.nan, np.inf
    with np.errstate(all="ignore"):
        C = hs.gram(A)
        expected = A @ A.conj().T
    assert np.array_equal(np.isfinite(C.real), np.isfinite(expected.real))
    if np.iscomplexobj(C):  # infinite times complex is this or that
        assert np.all(C.diagonal().imag == 0)
    else:
        assert np.array_equal(C, expected, equal_nan=True)


def test_the_same_bits_again(pool):
    A = np.random.default_rng(9).standard_normal((300, 500))
    first = pool.matmul(A, A.T)
    assert all(np.array_equal(first, pool.matmul(A, A.T)) for _ in range(5))


def test_bad_calls_change_nothing():
    A, C = np.ones((3, 4)), np.full((3, 3), 7.0)
    frozen = C.copy()
    frozen.flags.writeable = False
    bad = [
        (ValueError, "A has shape", lambda: hs.gram(np.ones(4), C)),
        (ValueError, "A has shape", lambda: hs.gram(3.0, C)),
        (TypeError, "A has dtype", lambda: hs.gram(np.array([["x"]]), C)),
        (TypeError, "A is a masked", lambda: hs.gram(np.ma.ones((3, 4)), C)),
        (ValueError, "A of shape", lambda: hs.gram(np.broadcast_to(1.0, (2**40, 2)))),
        (ValueError, "of must be", lambda: hs.gram(A, C, of="diagonal")),
        (
            ValueError,
            r"out has shape \(3, 3\), the product has \(4, 4\)",
            lambda: hs.gram(A, C, of="columns"),
        ),
        (
            ValueError,
            r"out has shape \(4, 5\), the product has \(4, 4\)",
            lambda: hs.gram(A, np.empty((4, 5)), of="columns"),
        ),
        (TypeError, "out has dtype", lambda: hs.gram(A.astype("f4"), C)),
        (TypeError, "out must be", lambda: hs.gram(A, C.tolist())),
        (TypeError, "out must be", lambda: hs.gram(A, C.tolist(), of="columns")),
        (ValueError, "out is read-only", lambda: hs.gram(A, frozen)),
        (ValueError, "out overlaps A", lambda: hs.gram(C, C)),
        (ValueError, "out overlaps A", lambda: hs.gram(C, C.T, of="columns")),
    ]
    for kind, message, call in bad:
        with pytest.raises(kind, match=f"^{message}"):
            call()
    assert np.all(C == 7.0)


def test_several_threads():
    """One pool, many callers."""
    rng = np.random.default_rng(10)
    matrices = [rng.standard_normal((120 + 7 * i, 150)) for i in range(4)]
    results = [None] * 4

    def work(i):
        results[i] = hs.gram(matrices[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for A, C in zip(matrices, results, strict=True):
        assert_gram(C, A, "rows")
