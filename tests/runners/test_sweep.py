"""Pool.sweep: the bits of a sequential sweep, nobody before its neighbours, time kept on emulated
workers."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupted import interrupted
from oracles.wavefront import swept, validate

import hetsched as hs
from hetsched._engine import run as engine
from hetsched.runners.pool import update

INF = np.inf
GAUSS_SEIDEL = [[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]]
# the paper's mask: north-west, north, north-east, west
CHAMFER = [[4, 3, 4], [3, 0, INF], [INF, INF, INF]]
PLATFORM = [3, 5, 8]


@pytest.fixture(scope="module")
def pools():
    made = [hs.Pool(1), hs.Pool(2), hs.Pool(5), hs.Pool(hs.Platform.star([1, 4, 2]))]
    yield made
    for pool in made:
        pool.close()


@pytest.fixture(scope="module")
def emulated():
    with hs.Pool(hs.Platform.star(PLATFORM), emulate=True) as pool:
        yield pool


def layouts(image):
    """The same values with other strides."""
    m, n = image.shape
    spread = np.zeros((2 * m, 3 * n), image.dtype)[::2, ::3]
    spread[...] = image
    return [image, np.asfortranarray(image), spread, image[::-1, ::-1].copy()[::-1, ::-1]]


@given(data=st.data())
def test_bits_of_the_sequential_sweep(pools, data):
    draw = data.draw
    rule = draw(st.sampled_from(["sum", "min"]))
    unused = 0.0 if rule == "sum" else INF
    weights = np.array(
        draw(st.lists(st.sampled_from([unused, 0.1, 0.25, 1 / 3, 1.0]), min_size=9, max_size=9))
    ).reshape(3, 3)
    axis, corners = draw(st.sampled_from([(1, False), (0, False), (0, True), (1, True)]))
    if not corners:
        weights[0, 2] = weights[2, 0] = unused
    if (weights == unused).all():
        weights[1, 1] = 0.5
    m, n = draw(st.integers(1, 14)), draw(st.integers(1, 14))
    rows, cols = draw(st.integers(1, m)), draw(st.integers(1, n))
    mask = ["W", "N"]
    if corners:  # lines of one element, or a tile would wait for one that waits for it
        mask.append("SW" if axis else "NE")
        rows, cols = (rows, n) if axis else (m, cols)
    pool = draw(st.sampled_from(pools))
    order, method = (
        draw(st.sampled_from(["across", "along"])),
        draw(st.sampled_from(["panels", "cyclic"])),
    )
    plan = hs.wavefront(rows, cols, pool.platform, mask=mask, axis=axis, order=order, method=method)
    image = (
        np.random.default_rng(draw(st.integers(0, 99)))
        .standard_normal((m, n))
        .astype(draw(st.sampled_from("fd")))
    )
    want = swept(image, weights, rule, by_columns=corners and axis == 1)
    given_image = draw(st.sampled_from(layouts(image)))
    result, trace = pool.sweep(plan, given_image, hs.Stencil(weights, rule), trace=True)
    assert result.dtype == image.dtype
    np.testing.assert_array_equal(result, want)
    np.testing.assert_array_equal(given_image, image)
    validate(trace.events, plan.shape, plan.owner.tolist(), plan.mask, axis)
    assert trace.kind == "real"
    assert trace.predicted == max(trace.predicted_finish) > 0


def test_in_place_and_into_another():
    image = np.random.default_rng(1).standard_normal((30, 40))
    kernel, want = hs.Stencil(GAUSS_SEIDEL), swept(image, np.array(GAUSS_SEIDEL), "sum")
    plan = hs.wavefront(6, 8, [1, 1])
    with hs.Pool(2) as pool:
        other = np.zeros_like(image)
        assert pool.sweep(plan, image, kernel, other) is other
        np.testing.assert_array_equal(other, want)
        shifted = np.zeros((31, 40))
        shifted[1:] = image
        # out overlaps the image
        assert pool.sweep(plan, shifted[1:], kernel, shifted[:-1]).base is shifted
        np.testing.assert_array_equal(shifted[:-1], want)
        assert pool.sweep(plan, image, kernel, out=image) is image
        np.testing.assert_array_equal(image, want)
        np.testing.assert_array_equal(
            pool.sweep(plan, [[1.0] * 8] * 6, kernel),
            swept(np.ones((6, 8)), np.array(GAUSS_SEIDEL), "sum"),
        )


def test_a_distance_transform():
    """Forward sweep by rows as in the paper, backward sweep on the mirrored image: distances to the
    zeros."""
    image = np.full((40, 60), INF)
    image[[5, 30], [50, 7]] = 0
    plan = hs.wavefront(40, 12, PLATFORM, mask=hs.Stencil(CHAMFER, "min").mask, axis=0)
    with hs.Pool(hs.Platform.star(PLATFORM)) as pool:
        for view in (image, image[::-1, ::-1]):
            pool.sweep(plan, view, hs.Stencil(CHAMFER, "min"), out=view)
    down, right = np.abs(
        np.indices((40, 60)) - np.array([[5, 50], [30, 7]])[:, :, None, None]
    ).transpose(1, 0, 2, 3)
    np.testing.assert_array_equal(
        image, (3 * np.maximum(down, right) + np.minimum(down, right)).min(0)
    )


class TestEmulation:
    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        ("keywords", "makespan"),
        [
            ({"period": 10}, 4030),
            ({"method": "cyclic"}, 6416),
            ({"period": 10, "order": "along"}, 8952),
        ],
    )
    def test_workers_take_the_time_they_should(self, emulated, keywords, makespan):
        image = np.random.default_rng(2).standard_normal((100, 100))
        plan = hs.wavefront(50, 50, PLATFORM, **keywords)
        result, trace = emulated.sweep(
            plan, image, hs.Stencil(GAUSS_SEIDEL), flops=15_000, trace=True
        )
        np.testing.assert_array_equal(result, swept(image, np.array(GAUSS_SEIDEL), "sum"))
        assert trace.kind == "emulated"
        assert trace.predicted == pytest.approx(makespan * 4 * 15e-6)
        assert trace.ideal == pytest.approx(100 * 100 * 15e-6 / sum(1 / t for t in PLATFORM))
        assert trace.makespan >= trace.predicted
        assert all(
            real >= wanted - 1e-9
            for real, wanted in zip(trace.finish, trace.predicted_finish, strict=True)
        )
        validate(trace.events, plan.shape, plan.owner.tolist(), plan.mask, 1)
        simulated = hs.simulate(plan)
        assert trace.predicted_finish == pytest.approx([t * 60e-6 for t in simulated.finish])
        for worker in range(3):  # the tiles in the order in which the plan has them
            assert [e.what for e in trace.events if e[:2] == (worker, "compute")] == [
                e.what for e in simulated.events if e[:2] == (worker, "compute")
            ]

    def test_rows_are_dealt(self, emulated):
        image = np.full((56, 112), INF)
        image[0, 0] = 0
        plan = hs.wavefront(56, 56, PLATFORM, 7, mask="NW N NE W", axis=0)
        result, trace = emulated.sweep(
            plan, image, hs.Stencil(CHAMFER, "min"), flops=5_000, trace=True
        )
        np.testing.assert_array_equal(result, swept(image, np.array(CHAMFER), "min"))
        assert trace.predicted == pytest.approx(plan.makespan * 2 * 5e-6)
        validate(trace.events, plan.shape, plan.owner.tolist(), plan.mask, 0)

    def test_time_scale_and_the_pools_own_cycle_times(self):
        image, plan = np.ones((12, 12)), hs.wavefront(12, 12, [1, 1, 1])
        with hs.Pool(hs.Platform.star(PLATFORM), emulate=True, time_scale=2.0) as pool:
            _, trace = pool.sweep(plan, image, hs.Stencil(GAUSS_SEIDEL), flops=1e5, trace=True)
        wanted = hs.wavefront(12, 12, PLATFORM, plan.period)  # the same owners would take
        assert trace.predicted > wanted.makespan * 2e-4
        assert trace.makespan >= trace.predicted

    def test_waiting_takes_no_core(self):
        """A fast worker that waits for a slow one all the time, beside many more that wait for
        both."""
        times = [1, 40, *[1] * 14]
        with hs.Pool(hs.Platform.star(times), emulate=True, time_scale=10.0) as pool:
            plan = hs.wavefront(10, 16, times, method="cyclic")
            _, trace = pool.sweep(
                plan, np.ones((10, 16)), hs.Stencil(GAUSS_SEIDEL), flops=8e4, trace=True
            )
        assert trace.makespan >= trace.predicted > 0.3
        assert sum(trace.cpu) < 0.5 * trace.makespan

    def test_what_the_host_cannot_do(self):
        image, kernel = np.ones((300, 300)), hs.Stencil(GAUSS_SEIDEL)
        plan = hs.wavefront(3, 3, [1.0])
        with hs.Pool(hs.Platform.star([0.1]), emulate=True) as pool:  # 10 GFLOP/s
            with pytest.raises(ValueError, match=r"platform is too fast .*this stencil, float64"):
                pool.sweep(plan, image, kernel)
            pool.sweep(plan, image, kernel, flops=1e5)  # of which the host has to do only a few
            with pytest.warns(hs.EmulationWarning, match="worker P0 was .* late"):
                pool.sweep(plan, image, lambda *_: time.sleep(0.01))


class TestKernels:
    def test_python(self, pools):
        def cumulate(a, row, col, height, width):
            threads.add(threading.get_ident())
            for i in range(row, row + height):
                for j in range(col, col + width):
                    a[i, j] += (
                        (a[i - 1, j] if i else 0)
                        + (a[i, j - 1] if j else 0)
                        - (a[i - 1, j - 1] if i and j else 0)
                    )

        image = np.arange(600).reshape(20, 30)
        for pool in pools:
            threads: set[int] = set()
            plan = hs.wavefront(7, 9, pool.platform)
            result, trace = pool.sweep(plan, image, cumulate, trace=True)
            np.testing.assert_array_equal(result, image.cumsum(0).cumsum(1))
            validate(trace.events, plan.shape, plan.owner.tolist(), plan.mask, 1)
            assert trace.predicted is None
            assert len(threads) == len(set(plan.owner.tolist()))

    def test_c(self, pools):
        """Any function pointer will do; this one comes from ctypes."""
        cells = np.zeros((9, 8), np.int32)

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)
        def count(context, row, col, height, width):
            assert context == cells.ctypes.data
            cells[row : row + height, col : col + width] += 1

        address = ctypes.cast(count, ctypes.c_void_p).value
        for pool in pools:
            pool.sweep(
                hs.wavefront(4, 3, pool.platform), cells.copy(), (address, cells.ctypes.data)
            )
        assert (cells == len(pools)).all()

    @pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
    def test_errors_in_python(self, pools, error):
        def fail(a, row, col, height, width):
            done.append((row, col))
            if (row, col) == (5, 5):
                raise error("here")

        for pool in pools:
            done: list[tuple[int, int]] = []
            with pytest.raises(error, match="here"):
                pool.sweep(hs.wavefront(10, 10, pool.platform), np.ones((10, 10)), fail)
            assert (6, 5) not in done
            assert (9, 9) not in done
            assert (
                pool.sweep(
                    hs.wavefront(1, 1, pool.platform), np.ones((1, 1)), hs.Stencil(GAUSS_SEIDEL)
                )[0, 0]
                == 0
            )

    @pytest.mark.parametrize("workers", [1, 2, 5])  # on the calling thread, and on others
    def test_a_kernel_may_not_use_its_own_pool(self, workers):
        plan = hs.wavefront(1, workers, [1] * workers, method="cyclic")
        for column in range(workers):

            def nest(a, row, col, height, width, own=column):
                if col == own:
                    pool.sweep(plan, a, KERNEL)

            with hs.Pool(workers) as pool, pytest.raises(RuntimeError, match="of this very thread"):
                pool.sweep(plan, np.ones((1, workers)), nest)

    def test_stencil(self):
        assert hs.Stencil(GAUSS_SEIDEL).flops == 8
        assert hs.Stencil(GAUSS_SEIDEL).mask == ("W", "N")
        assert hs.Stencil(CHAMFER, "min").mask == ("W", "N", "NW", "NE")
        assert hs.Stencil(CHAMFER, "min").used.sum() == 5
        assert hs.Stencil([[0, 0, 0], [0, 1, 0], [2, 0, 0]]).mask == ("W", "N", "NE")
        assert not hs.Stencil(GAUSS_SEIDEL).weights.flags.writeable


def test_progress_and_its_errors(emulated):
    seen = []

    def watch(fraction):
        seen.append(fraction)
        if len(seen) == 3:
            raise EOFError("enough")

    with pytest.raises(EOFError, match="enough"):
        emulated.sweep(
            hs.wavefront(9, 9, PLATFORM),
            np.ones((9, 9)),
            hs.Stencil(GAUSS_SEIDEL),
            flops=1e9,
            progress=watch,
        )
    assert len(seen) == 3
    assert seen == sorted(seen)
    assert all(0 <= x <= 1 for x in seen)


@pytest.mark.slow
def test_ctrl_c_stops_a_long_sweep():
    code = """
        import time
        import numpy as np, hetsched as hs
        pool = hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True)
        plan = hs.wavefront(9, 9, [3, 5, 8])
        kernel = hs.Stencil([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
        print("ready", flush=True)
        try:
            pool.sweep(plan, np.ones((9, 9)), kernel, flops=1e12)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), flush=True)
        """
    assert interrupted(code) == []


PLAN = hs.wavefront(4, 4, [1, 2])
KERNEL = hs.Stencil(GAUSS_SEIDEL)
SQUARE = np.ones((4, 4))
READ_ONLY = np.ones((4, 4))
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        (
            (hs.distribute(4, [1, 2]), SQUARE, KERNEL),
            {},
            TypeError,
            "plan must be a plan of wavefront",
        ),
        (
            (hs.wavefront(4, 4, [1]), SQUARE, KERNEL),
            {},
            ValueError,
            "plan is for 1 workers, the pool has 2",
        ),
        ((PLAN, np.ones(4), KERNEL), {}, ValueError, "image must be a matrix, got 1 dimensions"),
        (
            (PLAN, np.ones((3, 9)), KERNEL),
            {},
            ValueError,
            "plan has 4 x 4 tiles, the image only 3 x 9 elements",
        ),
        (
            (hs.wavefront(50_000, 50_000, [1, 2], 2), SQUARE, KERNEL),
            {},
            ValueError,
            "the image only 4 x 4",
        ),
        (
            (PLAN, np.ones((4, 4), int), KERNEL),
            {},
            TypeError,
            "image has dtype int64; a Stencil takes float32 and float64",
        ),
        ((PLAN, SQUARE.astype(">f8"), KERNEL), {}, TypeError, "image has dtype >f8"),
        (
            (PLAN, SQUARE, hs.Stencil(CHAMFER, "min")),
            {},
            ValueError,
            r"plan has the mask \('W', 'N'\), the kernel also needs SW",
        ),
        (
            (
                hs.wavefront(4, 4, [1, 2], mask="W N NE", axis=0),
                np.ones((8, 8)),
                hs.Stencil(CHAMFER, "min"),
            ),
            {},
            ValueError,
            "plan deals 4 rows of tiles; .* needs all 8 rows one by one",
        ),
        (
            (PLAN, SQUARE, "sum"),
            {},
            TypeError,
            "kernel must be a Stencil, a callable, or two addresses",
        ),
        ((PLAN, SQUARE, (1, 2, 3)), {}, TypeError, "kernel must be a Stencil"),
        ((PLAN, SQUARE, {1.0, 2.0}), {}, TypeError, "kernel must be a Stencil"),
        ((PLAN, SQUARE, [1, 2]), {}, TypeError, "kernel must be a Stencil"),
        ((PLAN, SQUARE, (1.0, 2.0)), {}, TypeError, "kernel must be a Stencil"),
        ((PLAN, SQUARE, (True, 0)), {}, TypeError, "kernel must be a Stencil"),
        ((PLAN, SQUARE, "ab"), {}, TypeError, "kernel must be a Stencil"),
        ((PLAN, SQUARE, (0, 0)), {}, ValueError, r"kernel\[0\] must be in"),
        ((PLAN, SQUARE, (1.5, 0)), {}, TypeError, "kernel must be a Stencil"),
        ((PLAN, SQUARE, KERNEL), {"flops": 0}, ValueError, "flops must be greater than 0"),
        ((PLAN, SQUARE, KERNEL), {"flops": "1"}, TypeError, "flops must be a number"),
        ((PLAN, SQUARE, KERNEL, [[1.0]]), {}, TypeError, "out must be an array"),
        (
            (PLAN, SQUARE, KERNEL, np.ones((4, 5))),
            {},
            ValueError,
            r"out has shape \(4, 5\), the image has \(4, 4\)",
        ),
        (
            (PLAN, SQUARE, KERNEL, np.ones((4, 4), "f")),
            {},
            TypeError,
            "out has dtype <f4, the image has <f8",
        ),
        ((PLAN, READ_ONLY, KERNEL, READ_ONLY), {}, ValueError, "out is read-only"),
        (
            (PLAN, SQUARE, KERNEL, np.lib.stride_tricks.as_strided(np.ones(7), (4, 4), (8, 8))),
            {},
            ValueError,
            "out overlaps itself",
        ),
    ],
)
def test_bad_arguments(arguments, keywords, error, message):
    with hs.Pool(2) as pool, pytest.raises(error, match=message):
        pool.sweep(*arguments, **keywords)
    assert (SQUARE == 1).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((GAUSS_SEIDEL, "max"), ValueError, "rule must be one of sum, min, got 'max'"),
        (([1, 2, 3],), ValueError, r"weights must have shape \(3, 3\), got \(3,\)"),
        (("abc",), TypeError, "weights must be real numbers"),
        ((CHAMFER,), ValueError, "weights must be finite, got"),
        (
            (np.full((3, 3), np.nan), "min"),
            ValueError,
            "weights must be finite, or infinite for none",
        ),
        ((np.full((3, 3), -INF), "min"), ValueError, "weights must be finite"),
        ((np.zeros((3, 3)),), ValueError, "weights use no neighbour"),
    ],
)
def test_bad_stencils(arguments, error, message):
    with pytest.raises(error, match=message):
        hs.Stencil(*arguments)


def test_closed_pool():
    pool = hs.Pool(2)
    pool.close()
    with pytest.raises(ValueError, match="the pool is closed"):
        pool.sweep(PLAN, SQUARE, KERNEL)


@pytest.mark.parametrize("corner", [0, 0.125])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "box",
    [
        (0, 0, 90, 300),
        (1, 1, 70, 200),
        (3, 2, 31, 128),
        (3, 2, 32, 127),
        (5, 299, 1, 1),
        (2, 1, 80, 1),
    ],
)
def test_a_part_of_a_matrix(box, workers, corner):
    """What a rank does with a tile: all workers share it, and nothing beside it changes."""
    row, col, height, width = box
    image = np.random.default_rng(3).standard_normal((90, 300)).astype("f")
    weights = np.array([[0.125, 0.25, corner], [0.25, 0.1, 0.25], [0, 0.25, 0.125]])
    want = image.copy()
    for i in range(row, row + height):
        for j in range(col, col + width):
            total = np.float32(0)
            for k, weight in enumerate(weights.ravel().astype("f")):
                r, c = i + k // 3 - 1, j + k % 3 - 1
                if weight and 0 <= r < 90 and 0 <= c < 300:
                    total = total + weight * want[r, c]
            want[i, j] = total
    with hs.Pool(workers) as pool:
        update(pool, image, hs.Stencil(weights), box, engine.Poll())
    np.testing.assert_array_equal(image, want)
