"""Products whose inner dimension is divided: layers and boxes, replayed by rules of their own, and
run."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inputs import many

import hetsched as hs

# parallel, overlapping
MODES = {"once": (0, 0), "sccs": (0, 0), "scss": (0, 1), "pccs": (1, 0), "pcss": (1, 1)}


def replay(plan: hs.ProductPlan) -> float:
    """The makespan by the rules, from the boxes and the costs alone; checks that every multiply-add
    is done once."""
    m, n, k = plan.shape
    p = len(plan.names)
    parallel, overlap = MODES[plan.communication]
    done = np.zeros((m, n, k), int)
    port, end = 0.0, np.zeros(p)
    layer = [np.zeros((m, n), bool) for _ in range(p)]
    for worker, r, c, d, h, w, length in plan.boxes.tolist():
        done[r : r + h, c : c + w, d : d + length] += 1
        assert not layer[worker].any()  # one box per worker
        layer[worker][r : r + h, c : c + w] = True
        sending = 8 * length * (h + w) * plan.link_costs[worker] / 1e9
        # what takes no time does not wait for the port
        begin = 0.0 if parallel or sending == 0 else port
        come = begin + sending
        port = max(port, come)
        work = 2 * h * w * length * plan.cycle_times[worker] / 1e9
        end[worker] = max(begin + work, come) if overlap else come + work
    assert (done == 1).all()
    if plan.layers is None:
        return float(end.max())
    start = end.max()
    port, end = 0.0, np.zeros(p)
    rows = plan.layers.rows.tolist()
    assert rows[0] == 0
    assert rows[-1] == m
    for worker in range(p):
        own = slice(rows[worker], rows[worker + 1])
        come = sum(layer[i][own].sum() for i in range(p) if i != worker) * 8.0
        additions = max(sum(x[own].sum() for x in layer) - (own.stop - own.start) * n, 0)
        assert plan.layers.sent[worker] == come
        assert plan.layers.flops[worker] == additions
        sending = come * plan.link_costs[worker] / 1e9
        begin = 0.0 if parallel or sending == 0 else port
        port = max(port, begin + sending)
        work = additions * plan.cycle_times[worker] / 1e9
        end[worker] = max(begin + work, begin + sending) if overlap else begin + sending + work
    return float(start + end.max())


def plan_of(
    platform: hs.Platform, sizes: tuple[int, int, int], **options: object
) -> hs.ProductPlan:
    from hetsched.planners.product_methods import plan_boxes

    return plan_boxes(*sizes, platform, **options)  # type: ignore[arg-type]


WORKERS = st.lists(st.tuples(st.floats(0.5, 20), st.floats(0, 300)), min_size=1, max_size=5)


# a free message does not wait for the port
@example([(1.0, 1.0), (1.0, 0.0)], "cuboids", "once", (2, 2, 3), 1)
@given(
    WORKERS,
    st.sampled_from(["layers", "cuboids"]),
    st.sampled_from(list(MODES)),
    st.tuples(*[st.integers(2, 20)] * 3),
    st.integers(1, 3),
)
def test_replayed(workers, method, mode, sizes, block):
    platform = hs.Platform.star([t for t, _ in workers], link_costs=[c for _, c in workers])
    try:
        plan = plan_of(platform, sizes, method=method, communication=mode, block=block)
    except hs.InfeasibleError:
        assert method == "cuboids"
        assert np.prod([-(-size // block) for size in sizes]) < len(workers)
        return
    assert plan.makespan == pytest.approx(replay(plan), rel=1e-9)
    assert plan.lower_bound <= plan.makespan
    trace = hs.simulate(plan)
    assert trace.makespan == pytest.approx(plan.makespan, rel=1e-9)
    moved = sum(e.end - e.start for e in trace.events if e.kind == "transfer")
    if not MODES[mode][1]:
        assert moved == pytest.approx((plan.received * plan.link_costs).sum() / 1e9, rel=1e-9)
    assert plan.to_dict()["boxes"] == plan.boxes.tolist()


@given(WORKERS, st.sampled_from(list(MODES)), st.tuples(*[st.integers(1, 12)] * 3))
def test_no_number_of_workers_is_better(workers, mode, sizes):
    platform = hs.Platform.star([t for t, _ in workers], link_costs=[c for _, c in workers])
    best = plan_of(platform, sizes, method="layers", communication=mode).makespan
    work, come = (
        2 * np.prod(sizes) * platform.cycle_times / 1e9,
        8 * sizes[2] * (sizes[0] + sizes[1]) * platform.link_costs / 1e9,
    )
    # the whole product by one worker
    alone = np.maximum(work, come) if MODES[mode][1] else work + come
    assert best <= alone[np.argmin(work + come)] * (1 + 1e-12)
    auto = plan_of(platform, sizes, communication=mode)
    for method in ("columns", "rows", "layers"):
        assert auto.makespan <= plan_of(
            platform, sizes, method=method, communication=mode
        ).makespan * (1 + 1e-12)


def test_the_sum_counts():
    """A large C is not worth summing, a small one with a long inner dimension is."""
    platform = hs.Platform.star([1.0, 2.0, 3.0], link_costs=[2.0, 3.0, 4.0])
    assert plan_of(platform, (2000, 2000, 50)).layers is None
    long = plan_of(platform, (50, 50, 20000))
    assert long.method == "layers"
    assert long.makespan < 0.8 * min(
        plan_of(platform, (50, 50, 20000), method=m).makespan
        for m in ("columns", "rows", "rectangles")
    )
    alone = plan_of(platform, (2000, 2000, 2), method="layers")
    assert alone.layers is None
    assert alone.boxes[:, 0].tolist() == [0]


@pytest.mark.parametrize(
    ("method", "mode"),
    many(
        list(itertools.product(["layers", "cuboids", "rectangles", "auto"], MODES)),
        [
            *(("layers", mode) for mode in MODES),
            *(("cuboids", mode) for mode in ("once", "scss", "pccs")),
            *(("rectangles", mode) for mode in ("sccs", "pcss")),
            ("auto", "once"),
        ],
    ),
)
def test_emulated(method, mode):
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((60, 700)), rng.standard_normal((700, 50))
    platform = hs.Platform.star([30.0, 50, 80, 40], link_costs=[200.0, 300, 0, 250])
    with hs.Pool(platform, emulate=True) as pool:
        C, trace = pool.matmul(A, B, method=method, communication=mode, trace=True)
        plan = pool.plan(60, 50, 700, method=method, communication=mode)
    np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
    assert trace.predicted == pytest.approx(plan.makespan)
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    computed = [
        sum(e.end - e.start for e in trace.events if e.kind == "compute" and e.worker == w)
        for w in range(4)
    ]
    paid = plan.flops + (0 if plan.layers is None else plan.layers.flops)
    assert (np.array(computed) >= paid * plan.cycle_times / 1e9 * (1 - 1e-6)).all()
    sums = [e for e in trace.events if e.what == "sum"]
    assert bool(sums) == (plan.layers is not None)
    if plan.layers is not None:
        assert min(e.start for e in sums) >= plan.layers.start * (1 - 1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("workers", [1, 3, hs.Platform.star([1.0, 4.0])], ids=str)
@pytest.mark.parametrize("method", ["auto", "layers", "cuboids"])
def test_real(dtype, workers, method):
    rng = np.random.default_rng(5)
    shapes = (14, 9000), (9000, 23), (14, 23)
    A, B, C = (rng.standard_normal(s).astype(dtype) for s in shapes)
    if dtype.startswith("complex"):
        A, C = A + 1j * A[::-1], C * 1j
        A, C = A.astype(dtype), C.astype(dtype)
    small = 1e-3 if dtype in ("float32", "complex64") else 1e-11
    for order in "CF":
        out = np.array(C, order=order)[:, ::-1]
        expected = 2 * (A[:, ::-1] @ B) + (3 - (1j if dtype.startswith("complex") else 0)) * out
        with hs.Pool(workers) as pool:
            beta = 3 - 1j if dtype.startswith("complex") else 3
            got = pool.matmul(A[:, ::-1], B, out=out, alpha=2, beta=beta, method=method)
            assert got is out
            np.testing.assert_allclose(got, expected, rtol=0, atol=small * 20)
            plain, trace = pool.matmul(A, B, method=method, trace=True)
            np.testing.assert_allclose(plain, A @ B, rtol=0, atol=small * 20)
            assert {e.what for e in trace.events if e.kind == "compute"} >= (
                {"sum"} if len(pool) > 1 and method != "cuboids" else set()
            )


def test_nan_in_out_does_not_matter():
    A, B = np.ones((8, 20000)), np.ones((20000, 7))
    out = np.full((8, 7), np.nan)
    with hs.Pool(2) as pool:
        assert pool.plan(8, 7, 20000).layers is not None
        pool.matmul(A, B, out=out)
    assert (out == 20000).all()


def test_plans_of_nothing():
    """No inner dimension: C is only scaled. No rows: the plan's shape is what is wrong."""
    with hs.Pool(2) as pool:
        plan = hs.layers_star(0, [1, 1])
        A = np.ones((4, 0))
        assert (pool.run(plan, A, A.T) == 0).all()
        assert (pool.run(plan, A, A.T, np.full((4, 4), 7.0)) == 0).all()
        assert (pool.run(plan, A, A.T, np.full((4, 4), 7.0), beta=2.0) == 14).all()
        assert pool.run(hs.layers_star(3, [1, 1]), np.ones((0, 3)), np.ones((3, 2))).shape == (0, 2)
        for plan in (hs.partition([1, 1], shape=(4, 5)), hs.cuboids([1, 1], shape=(4, 5, 3))):
            with pytest.raises(ValueError, match="plan has shape"):
                pool.run(plan, np.zeros((0, 3)), np.zeros((3, 5)))


def test_same_plan_same_bits():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((30, 4000)), rng.standard_normal((4000, 30))
    with hs.Pool(3) as pool:
        results = [pool.matmul(A, B, method="layers") for _ in range(5)]
    assert all((x == results[0]).all() for x in results)


def test_nothing_to_divide():
    platform = hs.Platform.star([1.0, 2.0], link_costs=[1.0, 1.0])
    for sizes in ((0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1)):
        plan = plan_of(platform, sizes, method="layers")
        assert plan.layers is None
        with hs.Pool(platform) as pool:
            out = np.ones(sizes[:2])
            pool.matmul(
                np.ones((sizes[0], sizes[2])),
                np.ones((sizes[2], sizes[1])),
                out=out,
                beta=2.0,
                method="layers",
            )
            assert (out == 2 + sizes[2]).all()


def test_steps_go_along_what_is_divided():
    platform = hs.Platform.star([1.0, 2.0], link_costs=[1.0, 1.0])
    for method in ("layers", "cuboids"):
        with pytest.raises(
            ValueError, match=f"'parallel' has steps along the inner dimension, which '{method}'"
        ):
            plan_of(platform, (8, 8, 8), method=method, communication="parallel")
    assert plan_of(platform, (8, 8, 8), communication="parallel").layers is None


@pytest.mark.parametrize("mode", ["scss", "pccs", "pcss"])
def test_partitions_in_the_other_modes(mode):
    """Workers with several rectangles: the first of them waits for the transfer."""
    platform = hs.Platform.star([1.0, 20.0, 30.0], link_costs=[5.0, 20.0, 30.0])
    part = hs.partition(platform, "nonrectangular", (40, 40))
    A, B = np.ones((40, 30)), np.ones((30, 40))
    with hs.Pool(platform, emulate=True, time_scale=20.0) as pool:
        C, trace = pool.run(part, A, B, communication=mode, trace=True)
    assert (C == 30).all()
    assert trace.makespan >= trace.predicted * (1 - 1e-9)


def test_pictures():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    platform = hs.Platform.star([1.0, 2.0, 3.0], link_costs=[1.0, 2.0, 3.0])
    plan = plan_of(platform, (30, 30, 3000), method="layers")
    ax = plan.plot()
    assert "layers" in ax.get_title(loc="left")
    assert "<svg" in plan._repr_html_()
    plt.close("all")


@pytest.mark.parametrize("mode", ["scss", "sccs", "pccs", "pcss"])
def test_a_plan_of_layers_star_runs(mode):
    """In the units of the pool, its makespan is when the sum begins."""
    n, times, costs = 48, np.array([2.0, 3.0, 5.0, 7.0]), np.array([30.0, 8.0, 50.0, 4.0])
    plan = hs.layers_star(n, 2e-9 * times, 8e-9 * costs, mode, "best")
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    with hs.Pool(hs.Platform.star(times, link_costs=costs), emulate=True, time_scale=200.0) as pool:
        C, trace = pool.run(plan, A, B, trace=True)
        twice = pool.run(plan, np.hstack([A, A]), np.vstack([B, B]))  # blocks of two
        with pytest.raises(
            ValueError, match="communication is for a partition, got 'pccs' with a LayersPlan"
        ):
            pool.run(plan, A, B, communication="pccs")
    np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-12)
    np.testing.assert_allclose(twice, 2 * (A @ B), rtol=0, atol=1e-12)
    sums = [
        e
        for e in trace.events
        if e.what == "sum" or (e.kind == "transfer" and e.start > 200 * plan.makespan * 0.999)
    ]
    # work that waits for its data ends with it
    rest = [e for e in trace.events if e.kind != "wait" and e not in sums]
    assert max(e.end for e in rest) >= 200 * plan.makespan * (1 - 1e-9)
    assert min(e.start for e in sums) >= 200 * plan.makespan * (1 - 1e-9)
    simulated = hs.simulate(plan)
    for worker, finish in enumerate(simulated.finish):
        ends = [e.end for e in rest if e.worker == worker]
        assert max(ends, default=0.0) >= 200 * finish * (1 - 1e-9)
    assert trace.predicted > 200 * plan.makespan


def test_given_cuboids_run():
    platform = hs.Platform.star([1.0, 2.0, 3.0, 4.0])
    cubes = hs.cuboids(platform, shape=(10, 12, 14))
    rng = np.random.default_rng(1)
    # blocks of 2, the last column short
    A, B = rng.standard_normal((20, 28)), rng.standard_normal((28, 23))
    for pool in (hs.Pool(platform), hs.Pool(platform, emulate=True, time_scale=1e3)):
        with pool:
            np.testing.assert_allclose(pool.run(cubes, A, B), A @ B, rtol=0, atol=1e-12)
            with pytest.raises(
                ValueError, match=r"plan has shape \(10, 12, 14\), which is neither \(20, 26, 28\)"
            ):
                pool.run(cubes, A, np.ones((28, 26)))
            with pytest.raises(
                ValueError, match="communication must be one of once, .* got 'parallel'"
            ):
                pool.run(cubes, A, B, communication="parallel")
            with pytest.raises(ValueError, match="unit cube: give cuboids"):
                pool.run(hs.cuboids(platform), A, B)
            with pytest.raises(ValueError, match="plan is for 3 workers, the pool has 4"):
                pool.run(hs.cuboids([1, 2, 3], shape=(10, 12, 14)), A, B)
            with pytest.raises(ValueError, match="plan has n = 9, which is neither k = 28"):
                pool.run(hs.layers_star(9, [1, 2, 3, 4]), A, B)


@pytest.mark.parametrize(
    "method", ["auto", "columns", "rows", "rectangles", "layers", "cuboids", "best"]
)
def test_matmul_takes_a_method(method):
    rng = np.random.default_rng(2)
    for m, k, n in ((40, 30, 50), (9, 6000, 8)):
        A, B = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        np.testing.assert_allclose(hs.matmul(A, B, method=method), A @ B, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="method must be one of auto, columns, .* got 'some'"):
        hs.matmul(A, B, method="some")
