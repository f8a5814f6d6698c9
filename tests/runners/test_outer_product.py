"""Products step by step (2001 paper, section 3.1) over every partition, run and replayed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import hetsched as hs

METHODS = (
    "columns",
    "rows",
    "rectangles",
    "best",
    "interval",
    "guillotine",
    "nonrectangular",
    "contiguous",
    "recursive",
    "nagamochi-abe",
    "mohammadi-behroozi",
    "kalinov-lastovetsky",
    "snrpp",
    "auto",
)


def platform(times: list[float], costs: list[float]) -> hs.Platform:
    return hs.Platform.star(times, link_costs=costs)


def plan_of(pl: hs.Platform, sizes: tuple[int, int, int], **options: object) -> hs.ProductPlan:
    from hetsched.planners.product_methods import plan_boxes

    return plan_boxes(*sizes, pl, **options)  # type: ignore[arg-type]


def replay(plan: hs.ProductPlan, block: int) -> float:
    """Plays the plan by its rules, without its times; checks them on the way and returns the
    makespan."""
    m, n, k = plan.shape
    p = len(plan.names)
    painted = np.zeros((m, n, k), np.int64)
    ready, port = np.zeros(p), 0.0
    steps = np.unique(plan.boxes[:, 3])
    assert steps.tolist() == list(range(0, k, k if plan.communication == "once" else block))
    for depth in steps.tolist():
        of_step = np.flatnonzero(plan.boxes[:, 3] == depth)
        for worker in range(p):
            own = [i for i in of_step if plan.boxes[i, 0] == worker]
            if not own:
                continue
            rows, cols, updates = set(), set(), 0
            for i in own:
                _, r, c, d, h, w, length = plan.boxes[i].tolist()
                painted[r : r + h, c : c + w, d : d + length] += 1
                rows |= set(range(r, r + h))
                cols |= set(range(c, c + w))
                updates += h * w * length
            volume = 8 * (len(rows) + len(cols)) * length
            assert plan.sent[own].tolist() == [volume] + [0] * (len(own) - 1)
            duration = volume * plan.link_costs[worker] / 1e9
            if duration > 0:
                begin = (
                    ready[worker] if plan.communication == "parallel" else max(ready[worker], port)
                )
                ready[worker] = port = begin + duration
                assert plan.receive[own[0]] == pytest.approx([begin, port], rel=1e-12)
            ready[worker] += 2 * updates * plan.cycle_times[worker] / 1e9
    assert (painted == 1).all()
    return float(ready.max())


@given(
    st.lists(st.tuples(st.floats(0.5, 20), st.floats(0, 30)), min_size=1, max_size=6),
    st.sampled_from(METHODS),
    st.sampled_from(["once", "sequential", "parallel"]),
    st.tuples(st.integers(4, 24), st.integers(4, 24), st.integers(1, 20)),
    st.integers(1, 3),
)
@example([(1.0, 0.0), (2.0, 0.0)], "auto", "once", (4, 4, 5), 2)
def test_replayed(workers, method, communication, sizes, block):
    pl = platform([t for t, _ in workers], [c for _, c in workers])
    if -(-sizes[0] // block) * -(-sizes[1] // block) < len(workers):
        return
    plan = plan_of(pl, sizes, method=method, communication=communication, block=block)
    assume(plan.layers is None)  # of "auto": those are replayed in test_product_layers.py
    assert plan.makespan == pytest.approx(replay(plan, block), rel=1e-9)
    trace = hs.simulate(plan)
    assert trace.makespan == pytest.approx(plan.makespan, rel=1e-12)
    assert plan.lower_bound <= plan.makespan
    for worker in range(len(workers)):  # a worker does one thing at a time
        spans = sorted(
            (e.start, e.end) for e in trace.events if e.worker == worker and e.kind != "wait"
        )
        assert all(a[1] <= b[0] + 1e-12 for a, b in zip(spans, spans[1:], strict=False))
    if communication == "sequential":  # and so does the port
        spans = sorted((e.start, e.end) for e in trace.events if e.kind == "transfer")
        assert all(a[1] <= b[0] + 1e-12 for a, b in zip(spans, spans[1:], strict=False))


@pytest.mark.parametrize(
    "method",
    [method for method in METHODS if method not in ("columns", "rows", "rectangles", "auto")],
)
def test_blocks_moved_in_a_step_are_the_cost(method):
    pl = platform([3, 5, 8, 4, 2], [1, 1, 1, 1, 1])
    cells = hs.partition(pl, method, shape=(15, 20), link_costs=[1] * 5)
    plan = plan_of(pl, (15 * 4, 20 * 4, 40), method=method, communication="sequential", block=4)
    steps = plan.sent.reshape(10, -1).sum(axis=1) / 8 / 16
    assert steps == pytest.approx(np.full(10, cells.cost))
    assert plan.received.sum() == pytest.approx(plan.sent.sum())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("communication", ["once", "sequential", "parallel"])
def test_runs(method, communication):
    rng = np.random.default_rng(3)
    A, B = rng.integers(-4, 5, (90, 50)).astype(float), rng.integers(-4, 5, (50, 70)).astype(float)
    C = rng.integers(-4, 5, (90, 70)).astype(float)
    with hs.Pool(platform([300, 40, 60], [20, 50, 10]), emulate=True, time_scale=0.2) as pool:
        result, trace = pool.matmul(
            A, B, C.copy(), 2, -1, method=method, block=10, communication=communication, trace=True
        )
        plan = pool.plan(90, 70, 50, method=method, block=10, communication=communication)
    assert (result == 2 * A @ B - C).all()
    assert trace.predicted == pytest.approx(plan.makespan * 0.2)
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    moved = [(e.worker, e.start, e.end) for e in trace.events if e.kind == "transfer"]
    assert len(moved) == np.count_nonzero(plan.receive[:, 1] > plan.receive[:, 0])
    for worker, start, _ in moved:  # as planned
        assert np.abs(plan.receive[plan.boxes[:, 0] == worker, 0] * 0.2 - start).min() < 1e-9


def test_runs_over_a_partition():
    rng = np.random.default_rng(4)
    A, B = rng.integers(-4, 5, (60, 30)).astype(float), rng.integers(-4, 5, (30, 60)).astype(float)
    zones = hs.partition([1, 12], "nonrectangular", shape=(12, 12))
    assert len(zones.pieces) == 3
    with hs.Pool(platform([120, 10], [1, 1]), emulate=True, time_scale=0.1) as pool:
        result, trace = pool.run(zones, A, B, communication="sequential", trace=True)
        assert (result == A @ B).all()
        assert len({e.start for e in trace.events if e.kind == "transfer"}) == 2 * 6
        with pytest.raises(
            ValueError, match="communication must be one of once, sequential, parallel"
        ):
            pool.run(zones, A, B, communication="fast")
    with hs.Pool(platform([120, 10], [0, 0])) as pool:  # on real cores the same boxes
        assert (
            pool.matmul(A, B, method="nonrectangular", communication="parallel", block=5) == A @ B
        ).all()


def test_auto_takes_the_fastest():
    pl = platform([8, 1, 8, 1, 30], [4, 0.1, 3, 2, 9])
    for communication in ("once", "sequential", "parallel"):
        times = {
            method: (
                plan_of(
                    pl, (400, 300, 200), method=method, block=10, communication=communication
                ).makespan
            )
            for method in ("columns", "rows", "rectangles", "best", "contiguous")
        }
        assert plan_of(pl, (400, 300, 200), block=10, communication=communication).makespan == min(
            times.values()
        )


def test_bad_communication():
    with pytest.raises(
        ValueError,
        match=(
            "communication must be one of once, sequential, parallel, scss, sccs, pccs, pcss, got"
            " 'none'"
        ),
    ):
        plan_of(platform([1], [1]), (4, 4, 4), communication="none")


def test_communication_of_a_plan_that_has_its_own():
    platform = hs.Platform.star([2, 3], link_costs=[0.1, 0.1])
    with hs.Pool(platform, emulate=True) as pool:
        plan = pool.plan(6, 6, 6, block=2, communication="parallel")
        with pytest.raises(
            ValueError, match="communication is for a partition, got 'parallel' with a ProductPlan"
        ):
            pool.run(plan, np.ones((6, 6)), np.ones((6, 6)), communication="parallel")


def test_too_many_boxes():
    """A million steps are refused before any of them is made; with larger blocks they are few."""
    platform = hs.Platform.star([1, 2, 3], [1, 1, 1])
    with hs.Pool(platform, emulate=True) as pool:
        with pytest.raises(ValueError, match="block = 1 makes 1000000 steps"):
            pool.plan(100, 100, 10**6, communication="sequential")
        plan = pool.plan(100, 100, 10**6, communication="sequential", block=10**4)
        assert sorted(set(plan.boxes[:, 3].tolist())) == list(range(0, 10**6, 10**4))


@pytest.mark.parametrize("kind", ["emulated", "real"])
def test_sizes_that_are_none(kind):
    with (
        hs.Pool(hs.Platform.star([1, 2]), emulate=True) if kind == "emulated" else hs.Pool(2)
    ) as pool:
        for size in (10**30, -1, math.nan, 2.5, math.inf):
            for name in ("m", "n", "k"):
                with pytest.raises(ValueError, match=f"^{name} must be"):
                    pool.plan(**{"m": 9, "n": 9, "k": 9, name: size})
        for size in ("9", None, True, [9]):
            with pytest.raises(TypeError, match="^k must be"):
                pool.plan(9, 9, size)
        assert pool.plan(9, 9, 285.0).shape == (9, 9, 285)
        for name in ("method", "communication"):
            for value in (3, None, [], "x"):
                with pytest.raises(ValueError, match=f"^{name} must be one of"):
                    pool.plan(9, 9, 9, **{name: value})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["auto", "columns", "rectangles", "layers", "cuboids", "best"])
@pytest.mark.parametrize(("times", "costs"), [([1e308, 1e308], [0, 0]), ([1, 2], [1e308, 1e308])])
def test_a_makespan_that_overflows(method, times, costs):
    """It was infinite, with a warning."""
    with (
        hs.Pool(hs.Platform.star(times, costs), emulate=True) as pool,
        pytest.raises(ValueError, match="(makespan|cost) overflows"),
    ):
        pool.plan(10**6, 10**6, 10**6, method=method)


@pytest.mark.filterwarnings("error")
def test_more_cells_than_a_method_takes():
    with hs.Pool(hs.Platform.star([1, 2, 3], [1, 1, 1]), emulate=True) as pool:
        assert pool.plan(10**15, 10**15, 10**6).shape == (10**15, 10**15, 10**6)
    with pytest.raises(hs.InfeasibleError, match="cells"):
        hs.partition([1, 2], "contiguous", (10**15, 10**15))
