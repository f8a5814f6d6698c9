"""Everything that runs, where sizes begin, end and meet a kernel's tile: 0, 1, 2, tile - 1, tile,
tile + 1, and above a page of one row or column. Sums are exact, so results are NumPy's; the memory
around them is the sanitized run's to watch.
"""

from itertools import product

import numpy as np
import pytest
from inputs import many
from oracles.stencil import iterated

import hetsched as hs
import hetsched.runners.product
from hetsched._engine import kernels
from hetsched.files import plan as files_plan

# nobody's times are of interest here
pytestmark = pytest.mark.filterwarnings("ignore:the host could not keep up")

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
METHODS = ("auto", "columns", "rows", "rectangles", "layers", "cuboids", "best", "contiguous")


@pytest.fixture(autouse=True)
def no_shortcut(monkeypatch):
    """Small products take the engine, too."""
    monkeypatch.setattr(hetsched.runners.product, "SMALL", 0)
    monkeypatch.setattr(hetsched.runners.product, "NUMPY_SIDE", 0)


@pytest.fixture(scope="module")
def pools():
    platform = hs.Platform.star([3, 5, 8], link_costs=[0.1, 0.2, 0.1])
    with hs.Pool(2) as two, hs.Pool(platform) as three, hs.Pool(platform, emulate=True) as emulated:
        yield {"two": two, "three": three, "emulated": emulated}


def edges(dtype, axis):
    """Of the kernel's register tile for the real type of dtype."""
    _, *tile = kernels.kernel()["kernels"][np.finfo(dtype).dtype.name]
    return sorted({0, 1, 2, *(tile[axis] + d for d in (-1, 0, 1))})


def integers(rng, shape, dtype):
    values = rng.integers(-4, 5, shape)
    return (
        values + 1j * rng.integers(-4, 5, shape) if np.dtype(dtype).kind == "c" else values
    ).astype(dtype)


def laid_out(x, order):
    """By rows, by columns, or every second element of both."""
    if order == "strided":
        wide = np.full((2 * x.shape[0], 2 * x.shape[1]), 7, x.dtype)
        wide[::2, ::2] = x
        return wide[::2, ::2]
    return np.asarray(x, order=order)


def assert_product(pool, shape, dtype, orders, **options):
    m, n, k = shape
    rng = np.random.default_rng(m * 10007 + n * 101 + k)
    a, b = (
        laid_out(integers(rng, (m, k), dtype), orders[0]),
        laid_out(integers(rng, (k, n), dtype), orders[1]),
    )
    frame = np.full((m + 2, n + 2), 5, dtype, order="F" if orders[2] == "F" else "C")
    c = frame[1:-1, 1:-1]
    expected = frame.copy()
    expected[1:-1, 1:-1] = 2 * (a @ b) + 3 * c
    assert pool.matmul(a, b, c, 2, 3, **options) is c
    np.testing.assert_array_equal(frame, expected, err_msg=f"{shape} {dtype} {orders} {options}")
    np.testing.assert_array_equal(
        pool.matmul(a, b, **options), a @ b, err_msg=f"{shape} {dtype} {orders} {options}"
    )


ORDERS = (
    ("C", "C", "C"),
    ("F", "F", "F"),
    ("C", "F", "C"),
    ("F", "C", "F"),
    ("strided", "C", "F"),
    ("C", "strided", "C"),
)


@pytest.mark.few(1)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["three", "emulated"])
def test_products(pools, name, method):
    sizes = {d: product(edges(d, 0), edges(d, 1), (0, 1, 2, 5)) for d in DTYPES}
    turn = 0
    for dtype in DTYPES:
        for shape in sizes[dtype]:
            turn += 1
            # the others have other orders
            if turn % 5 not in ((2,) if name == "emulated" else many((0, 1), (0,))):
                continue
            try:
                assert_product(pools[name], shape, dtype, ORDERS[turn % len(ORDERS)], method=method)
            except hs.InfeasibleError:  # less to divide than workers
                assert method in ("best", "contiguous", "rectangles", "cuboids")
                assert min(shape) < 3


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "trace"), [("two", False), ("two", True), ("three", False), ("emulated", True)]
)
def test_one_row_or_column_of_more_than_a_page(pools, name, dtype, trace):
    line = 4096 // np.dtype(dtype).itemsize
    for length, width, order in product((line - 1, line, line + 1, 2 * line), (1, 2), ("C", "F")):
        if name == "emulated" and (width, order) != (1, "C"):
            continue
        for m, n in ((length, width), (width, length)):
            for k, method in (
                (1, "auto"),
                (1600, "auto"),
                (40, "layers"),
                (3, "cuboids"),
                *many([(2, "layers"), (40, "columns")], []),
            ):
                a, b = np.ones((m, k), dtype, order), np.ones((k, n), dtype, order)
                out = np.full((m, n), np.nan, dtype, order)
                pools[name].matmul(a, b, out, method=method, trace=trace)
                assert (out == k).all(), (m, n, k, method, order)


@pytest.mark.slow
def test_communication(pools):
    tile = edges(np.float64, 0)[-2]
    for how, shape, block in product(
        ("sccs", "pccs", "scss", "pcss", "sequential", "parallel"),
        product((1, 2, tile + 1), repeat=3),
        (1, 2),
    ):
        assert_product(
            pools["emulated"],
            shape,
            np.float64,
            ORDERS[sum(shape) % 4],
            method="columns",
            communication=how,
            block=block,
        )


@pytest.mark.slow
@pytest.mark.parametrize("emulate", [False, True])
def test_products_on_a_star(emulate):
    platform = hs.Platform.star([2e-4, 3e-4], link_costs=[1e-4, 1e-4], memory=[12, 21])
    with hs.Pool(platform, emulate=emulate) as pool:
        for r, s, t in product((1, 2), (1, 3), (1, 2)):
            plan = hs.plan_product(r, s, t, platform, budget=0)
            for block, less in product((1, 2, 9), (0, 1)):
                m, n, k = (max(1, x * block - less * (block > 1)) for x in (r, s, t))
                a, b = np.ones((m, k)), np.ones((k, n), order="F")
                np.testing.assert_array_equal(pool.run(plan, a, b), np.full((m, n), float(k)))


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_and_systems(pools, dtype):
    sizes = sorted({*edges(dtype, 0), *edges(dtype, 1), 49})
    eps = 100 * np.finfo(dtype).eps
    for turn, (m, n) in enumerate(product(sizes, sizes)):
        rng = np.random.default_rng(turn)
        a = laid_out(
            (integers(rng, (m, n), dtype) + 50 * np.eye(m, n)).astype(dtype),
            ("C", "F", "strided")[turn % 3],
        )
        lu, piv = pools[("two", "three")[turn % 2]].lu_factor(
            a, block=(None, 1, 2)[turn % 3] if m and n else None
        )
        rank = min(m, n)
        lower, upper = np.tril(lu[:, :rank], -1) + np.eye(m, rank), np.triu(lu[:rank])
        swapped = a.copy()
        for i, j in enumerate(piv):
            swapped[[i, j]] = swapped[[j, i]]
        np.testing.assert_allclose(lower @ upper, swapped, atol=60 * max(m, n, 1) * eps)
        if m != n:
            continue
        for cols in (0, 1, 2, 5, 6, 7):
            b = laid_out(integers(rng, (n, cols), dtype), ("F", "C")[cols % 2])
            for trans in (0, 1, 2):
                x = hs.lu_solve((lu, piv), b, trans=trans)
                np.testing.assert_allclose(
                    (a, a.T, a.conj().T)[trans] @ x, b, atol=60 * max(n, 1) * eps
                )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iterations_in_slices(pools, dtype):
    page = 4096 // np.dtype(dtype).itemsize
    rng = np.random.default_rng(0)
    with hs.Pool(
        hs.Platform.complete([30, 50, 80], np.full((3, 3), 1e-3)), emulate=True, time_scale=8
    ) as emulated:
        for m, n in [
            *product((1, 2, 3, 7, 8, 9), (1, 2, 3, 15, 16, 17)),
            (page + 1, 1),
            (page, 2),
            (3, page),
            (2, page + 1),
        ]:
            u = integers(rng, (m, n), dtype)
            for pool, order, steps in (
                (pools["two"], "C", 3),
                (pools["two"], "F", 1),
                (emulated, "strided", 2),
            ):
                np.testing.assert_array_equal(
                    pool.stencil(laid_out(u, order), steps), iterated(u, steps, 0.25)
                )


def test_sweeps(pools):
    kernel = hs.Stencil([[0, 0.5, 0], [0.25, 0, 0.25], [0, 1, 0]])
    rng = np.random.default_rng(0)
    for m, n in [*product((1, 2, 3, 9), (1, 2, 3, 9)), (600, 1), (1, 600)]:
        image = rng.integers(0, 9, (m, n)).astype(float)
        around = np.pad(image, 1)
        for i, j in product(range(1, m + 1), range(1, n + 1)):
            around[i, j] = (
                0.5 * around[i - 1, j]
                + 0.25 * around[i, j - 1]
                + 0.25 * around[i, j + 1]
                + around[i + 1, j]
            )
        for rows, cols, name in product({1, m}, {1, n}, ("two", "three")):
            plan = hs.wavefront(rows, cols, [1.0, 2.0, 3.0][: len(pools[name])])
            out = np.full((m + 2, n + 2), 7.0)
            pools[name].sweep(plan, image, kernel, out[1:-1, 1:-1])
            assert (np.concatenate([out[0], out[-1], out[:, 0], out[:, -1]]) == 7).all()
            np.testing.assert_array_equal(out[1:-1, 1:-1], around[1:-1, 1:-1])


@pytest.mark.slow
def test_files(pools, tmp_path, monkeypatch):
    monkeypatch.setattr(files_plan, "RESERVE", 0)
    tile = edges(np.float64, 0)[-2]
    page = 513
    shapes = {
        *product((0, 1, 2, tile + 1), repeat=3),
        (page, 1, 3),
        (1, page, 3),
        (page, 1, 600),
        (3, 1, page),
        (1, 1, 2000),
    }
    rng = np.random.default_rng(0)
    for turn, (m, n, k) in enumerate(sorted(shapes)):
        a, b = integers(rng, (m, k), np.float64), integers(rng, (k, n), np.float64)
        np.save(tmp_path / "A.npy", laid_out(a, "CF"[turn % 2]))
        np.save(tmp_path / "B.npy", laid_out(b, "CF"[turn // 2 % 2]))
        hs.matmul_files(
            tmp_path / "A.npy",
            tmp_path / "B.npy",
            tmp_path / "C.npy",
            memory="8M",
            pool=pools["two"],
        )
        np.testing.assert_array_equal(np.load(tmp_path / "C.npy"), a @ b)
        out = np.empty((m, n))
        hs.matmul_files(a, b, out, memory="8M", pool=pools["two"])
        np.testing.assert_array_equal(out, a @ b)
