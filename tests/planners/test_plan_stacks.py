"""Planners given a stack of platforms: each plan has the numbers that it has alone."""

from __future__ import annotations

import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import many
from trees import V2_MOUNT, Tree

import hetsched as hs
from hetsched._engine.rows import over_rows
from hetsched.machine import limits

MODES = ("scss", "sccs", "pccs", "pcss")
positive = st.floats(1e-3, 1e3) | st.sampled_from([1.0, 2.0, 3.0])


@st.composite
def stacks(draw, entries=positive, most=6):
    p, lead = (
        draw(st.integers(1, most)),
        tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))),
    )
    size = int(np.prod(lead)) * p
    return np.array(draw(st.lists(entries, min_size=size, max_size=size))).reshape(*lead, p)


def agrees(stack, names, alone):
    """Every plan alone says what the stack says of it."""
    for index in np.ndindex(stack.shape):
        one, own = alone(index), stack[index]
        assert own.to_dict() == one.to_dict()
        for name in names:
            assert np.array_equal(getattr(stack, name)[index], getattr(one, name)), name
        assert stack.optimal[index] == one.optimal
        assert stack.bound[index] == one.bound


@given(
    stacks(positive | st.just(0.0) | st.sampled_from([1e-300, 1e300])),
    st.sampled_from(["columns", "interval"]),
    st.data(),
)
def test_partitions_in_the_engine(areas, method, data):
    areas[..., 0] = np.where((areas > 0).any(-1), areas[..., 0], 1.0)
    given_as = data.draw(st.sampled_from(["areas", "speeds", "cycle_times"]))
    if given_as == "cycle_times":
        with np.errstate(divide="ignore", over="ignore"):
            areas = 1.0 / areas
    stack = hs.partition(**{given_as: areas}, method=method)
    assert isinstance(stack, hs.PlanStack)
    assert stack.rects.shape == (*areas.shape, 4)
    agrees(
        stack,
        ("cost", "rects"),
        lambda index: hs.partition(**{given_as: areas[index]}, method=method),
    )


@settings(max_examples=many(30, 15))
@given(
    stacks(most=4),
    st.sampled_from(["recursive", "snrpp", "best", "columns"]),
    st.sampled_from([None, (9, 12)]),
)
def test_partitions_with_options(areas, method, shape):
    weights = np.arange(1.0, areas.shape[-1] + 1)
    stack = hs.partition(areas, method, shape, link_costs=weights)
    agrees(
        stack,
        ("cost",),
        lambda index: hs.partition(areas[index], method, shape, link_costs=weights),
    )


@given(
    stacks(positive | st.just(np.inf)),
    st.sampled_from(["scss", "sccs", "pccs", "pcss"]),
    st.sampled_from(["exact", "best", "paper"]),
    st.data(),
)
def test_layers(times, mode, method, data):
    times[..., 0] = np.where(np.isinf(times).all(-1), 1.0, times[..., 0])
    n, costs = (
        data.draw(st.integers(0, 60)),
        data.draw(st.sampled_from([0.0, 0.5]) | st.just(times[(0,) * (times.ndim - 1)])),
    )
    costs = np.where(np.isinf(costs), 2.0, costs)
    every = np.broadcast_to(costs, times.shape)
    stack = hs.layers_star(n, times, costs, mode, method)
    agrees(
        stack,
        ("makespan", "counts"),
        lambda index: hs.layers_star(n, times[index], every[index], mode, method),
    )


@settings(max_examples=many(30, 15))
@given(stacks(), st.sampled_from(["best", "exact", "search", "multistart", "greedy"]), st.data())
def test_rings(times, method, data):
    p = times.shape[-1]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shape = data.draw(st.sampled_from([(), (p, p), (*times.shape, p)]))
    links = rng.random(shape) if shape else 0.5
    every = np.broadcast_to(links, (*times.shape, p))
    stack = hs.slice_ring(times, links, 10.0, 1.0, method)
    agrees(
        stack,
        ("makespan", "shares"),
        lambda index: hs.slice_ring(times[index], every[index], 10.0, 1.0, method),
    )


@settings(max_examples=many(30, 15))
@given(stacks(most=4), st.booleans(), st.booleans())
def test_tasks(times, own, back):
    send = times / 8 if own else 0.25
    every = np.broadcast_to(send, times.shape)
    stack = hs.max_tasks(20, times, send, 0.5 if back else 0.0)
    agrees(
        stack,
        ("tasks", "counts"),
        lambda index: hs.max_tasks(
            20, times[index], every[index] if own else send, 0.5 if back else 0.0
        ),
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["het", "hom", "overlap", "search", "exact"])
def test_products(method):
    platforms = [hs.Platform.star([2, 3], link_costs=[1, c], memory=[12, 21]) for c in (1, 2, 5)]
    stack = hs.plan_product(3, 4, 2, platforms, method)
    assert stack.shape == (3,)
    for i, platform in enumerate(platforms):
        alone = hs.plan_product(3, 4, 2, platform, method)
        for name in ("makespan", "bound", "optimal", "columns"):
            assert np.array_equal(getattr(stack, name)[i], getattr(alone, name))
        assert stack[i].makespan == alone.makespan


def test_products_in_limited_time():
    platforms = [hs.Platform.star([2, 3], link_costs=[1, c], memory=[12, 21]) for c in (1, 2, 5)]
    stack = hs.plan_product(4, 8, 3, platforms, budget=0.01)
    for i, platform in enumerate(platforms):
        assert stack.makespan[i] <= hs.plan_product(4, 8, 3, platform, "het").makespan
        assert stack.bound[i] == hs.plan_product(4, 8, 3, platform, "het").bound


STAR = hs.Platform.star([1, 2], link_costs=[1, 1], memory=[12, 12])
LITTLE = hs.Platform.star([1, 2], link_costs=[1, 1], memory=[2, 2])
MESH = hs.Platform.mesh([[1.0, 2.0]], [[1.0]], np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("platforms", "options", "error", "match"),
    [
        ([STAR, LITTLE], {}, hs.InfeasibleError, "platform 1 of the stack: platform: no worker's"),
        ([STAR, MESH], {}, ValueError, "platform 1 of the stack: platform must be a star"),
        (
            [STAR, STAR],
            {"method": "exact", "budget": 0.0},
            ValueError,
            "platform [01] of the stack: method='exact' is for small instances",
        ),
        ([STAR, STAR], {"returns": "soon"}, ValueError, "returns must be one of lazy, eager"),
    ],
)
def test_products_without_a_plan(platforms, options, error, match):
    with pytest.raises(error, match=match):
        hs.plan_product(4, 40, 3, platforms, **options)


def test_a_part_of_a_stack():
    areas = np.random.default_rng(1).random((3, 4, 5))
    stack = hs.partition(areas, "columns")
    part = stack[1:, ::2]
    assert part.shape == (2, 2)
    assert part.cost.tolist() == stack.cost[1:, ::2].tolist()
    assert (
        part[1, 1].to_dict()
        == stack[2, 2].to_dict()
        == hs.partition(areas[2, 2], "columns").to_dict()
    )
    assert [row.shape for row in stack] == [(4,)] * 3
    assert len(stack) == 3
    assert part == stack[1:][:, ::2]
    assert part != stack[:2, ::2]
    assert pickle.loads(pickle.dumps(stack)) == stack
    assert not pickle.loads(pickle.dumps(stack)).cost.flags.writeable
    assert not stack.rects.flags.writeable
    assert {"cost", "rects", "bound"} <= set(dir(stack))
    assert (stack.gap == (stack.cost - stack.bound) / stack.bound).all()
    assert stack.value is stack.cost
    with pytest.raises(AttributeError, match="makespan"):
        _ = stack.makespan
    with pytest.raises(IndexError):
        _ = stack[3]
    assert repr(stack[0, :0]) == "<PlanStack: no plans (columns)>"
    assert "12" not in repr(stack[:, :0])
    assert (
        repr(hs.partition(np.ones((2, 4)), "columns"))
        == "<PlanStack: 2 plans, cost 4 to 4, gap at most 0.00% (columns)>"
    )


def test_what_was_given_is_not_looked_at_again():
    areas = np.array([[1.0, 2.0], [3.0, 1.0]])
    stack = hs.partition(areas, "columns")
    before = stack[1].to_dict()
    areas[:] = 1.0
    assert stack[1].to_dict() == before


@pytest.mark.parametrize("rows", [0, 1, 2, 63, 64, 65, 1000])
def test_all_rows_are_planned(rows):
    areas = np.random.default_rng(2).random((rows, 3)) + 0.1
    told = []
    stack = hs.partition(areas, "columns", progress=told.append)
    assert stack.cost.shape == (rows,)
    assert stack.cost.tolist() == [hs.partition(own, "columns").cost for own in areas]
    assert told == sorted(told)
    assert told[-1:] == [1.0] or rows == 0


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: hs.partition([[1, 2], [0, 0]], "columns"), ValueError, r"areas\[1\] are all zero"),
        (
            lambda: hs.partition([[1, 2], [1, np.nan]], "columns"),
            ValueError,
            r"areas\[1, 1\] is NaN",
        ),
        (
            lambda: hs.partition([[1, 2], [1]], "columns"),
            TypeError,
            "areas must be a sequence of real numbers",
        ),
        (lambda: hs.partition(np.ones((3, 0)), "columns"), ValueError, "areas is empty"),
        (
            lambda: hs.partition(np.ones((3, 2)), rects=np.ones((2, 4))),
            ValueError,
            r"rects must have shape \(3, 2, 4\), or with k rectangles .*, got \(2, 4\)",
        ),
        (
            lambda: hs.partition(np.ones((3, 17)), "guillotine"),
            hs.InfeasibleError,
            "platform 0 of the stack",
        ),
        (lambda: hs.partition([1, 2], progress=True), ValueError, "progress is for stacks"),
        (lambda: hs.partition(np.ones((3, 2)), progress=7), TypeError, "progress must be"),
        (
            lambda: hs.layers_star(5, np.ones((3, 2)), np.ones((2, 2))),
            ValueError,
            "link_costs of shape",
        ),
        (
            lambda: hs.layers_star(5, np.full((3, 2), 1e300)),
            ValueError,
            r"n\^2 cycle_times\[0, 0\]",
        ),
        (
            lambda: hs.slice_ring(np.ones((3, 2)), None, 1, 1),
            TypeError,
            "links must be given together",
        ),
        (
            lambda: hs.slice_ring(np.ones((3, 2)), np.ones((2, 2, 2)), 1, 1),
            ValueError,
            "links of shape",
        ),
        (
            lambda: hs.slice_ring(np.ones((3, 2)), 1.0, -1, 1),
            ValueError,
            "work must be greater than 0",
        ),
        (lambda: hs.max_tasks(-1, np.ones((3, 2))), ValueError, "T must be"),
        (lambda: hs.max_tasks(1, np.ones((3, 2)), send=[1, -1]), ValueError, r"send\[1\]"),
        (lambda: hs.plan_product(1, 1, 1, []), TypeError, "platform must be a Platform"),
        (
            lambda: hs.plan_product(1, 1, 1, [hs.Platform.star([1]), hs.Platform.star([1, 2])]),
            ValueError,
            r"platform\[1\]",
        ),
    ],
)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_an_error_ends_the_other_chunks():
    seen, gate = [], threading.Event()

    def call(first, last, cancel):
        if first == 0:
            raise ValueError("row 0")
        gate.wait(5)
        seen.append((first, bool(cancel[0])))
        return 0

    with pytest.raises(ValueError, match="row 0"):
        over_rows(call, 10_000, 2)
    gate.set()
    assert len(seen) < 64


def test_an_interrupt_from_progress_goes_up():
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hs.partition(np.random.default_rng(3).random((5000, 8)), "columns", progress=stop)


STACKS = {
    "columns": lambda: hs.partition(np.random.default_rng(3).random((50_000, 8)), "columns"),
    "layers": lambda: hs.layers_star(100, np.random.default_rng(3).random((5000, 8)) + 0.1),
    "rings": lambda: hs.slice_ring(
        np.ones((600, 3)), np.random.default_rng(3).random((600, 3, 3)), 1, 1, method="greedy"
    ),
    "guillotine": lambda: hs.partition(np.random.default_rng(3).random((600, 4)), "guillotine"),
}


@pytest.fixture(params=STACKS)
def started(request, monkeypatch, tmp_path):
    """A call that says how many threads a stack starts on a machine of eight cores, and the
    machine."""
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    tree = Tree(tmp_path).cpus("0-7", "0-7").smt(*"01234567")
    threads = []

    class Counted(threading.Thread):
        def start(self):
            threads.append(self)
            super().start()

    def count():
        threads.clear()
        STACKS[request.param]()
        return len(threads)

    monkeypatch.setattr("hetsched.machine.limits.topology", lambda: hs.topology(str(tree)))
    monkeypatch.setattr("hetsched._engine.rows.threading", SimpleNamespace(Thread=Counted))
    return count, tree


def test_as_many_threads_as_are_worth_it(started):
    count, _ = started
    assert count() == 8


def test_threads_of_the_environment(started, monkeypatch):
    count, _ = started
    monkeypatch.setenv("HETSCHED_NUM_THREADS", "3")
    assert count() == 3


def test_threads_of_a_quota(started):
    count, tree = started
    tree.cgroup("0::/a", V2_MOUNT).write("sys/fs/cgroup/a/cpu.max", "20000 10000")
    assert count() == 2


def test_threads_under_a_limit(started):
    count, _ = started
    with hs.thread_limit(5):
        assert count() == 5
    assert count() == 8


def test_threads_under_a_limit_of_the_process(started, monkeypatch):
    """Which threadpoolctl sets."""
    count, _ = started
    monkeypatch.setattr(limits, "_process", 1)
    assert count() == 1


def slices(areas):
    """The algorithm of a user: full rows."""
    tops = areas.cumsum() - areas
    return [(top, 0.0, height, 1.0) for top, height in zip(tops, areas, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(300_000,), (500, 2400)])
def test_rects_in_any_memory_order(shape):
    areas = np.linspace(1.0, 2.0, np.prod(shape)).reshape(shape)
    plans = hs.partition(areas, "columns")
    again = hs.partition(areas, rects=np.asfortranarray(plans.rects))
    assert again.cost == pytest.approx(plans.cost)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_own_algorithms_are_judged(shape):
    times = hs.datasets.random("uniform", 5, 3, size=shape) if shape else [3.0, 4.0, 5.0, 6.0, 7.0]
    found = hs.compare_partitions(cycle_times=times, methods=["columns"], own={"mine": slices})
    assert list(found) == ["columns", "mine"]
    rows = np.reshape(times, (-1, 5))
    alone = [
        hs.partition(cycle_times=row, rects=slices((1 / row) / (1 / row).sum())) for row in rows
    ]
    for name, expected in (
        ("cost", [plan.cost for plan in alone]),
        ("bound", [plan.bound for plan in alone]),
    ):
        assert np.reshape(getattr(found["mine"], name), -1) == pytest.approx(expected)
    assert np.reshape(found["mine"].cost, -1) == pytest.approx([6.0] * len(rows))
    assert "mine" in repr(found)
    given = np.array([slices(row) for row in (1 / rows) / (1 / rows).sum(-1, keepdims=True)])
    given = given.reshape(*np.shape(times), 4)
    again = hs.compare_partitions(cycle_times=times, methods=["rows"], own={"mine": given})
    assert np.array_equal(again["mine"].cost, found["mine"].cost)
    assert list(again) == ["rows", "mine"]


def test_a_comparison_of_a_stack():
    stack = hs.datasets.random("uniform", 5, 3, size=20)
    found = hs.compare_partitions(cycle_times=stack)
    assert set(found) == {"columns", "interval"}
    assert "only if asked for" in found.skipped["best"]
    mean = found["columns"].cost.mean()
    assert repr(found).splitlines()[0].startswith(f"columns              mean cost {mean:.6g}")
    with pytest.raises(TypeError, match="stacks of plans, which have no plot"):
        found.plot()
    assert "no plans" in repr(hs.compare_partitions(cycle_times=stack[:0]))


def test_to_frame():
    pytest.importorskip("pandas")
    stack = hs.partition(
        cycle_times=hs.datasets.random("uniform", 5, 3, size=(2, 3)), method="columns"
    )
    frame = stack.to_frame()
    assert list(frame) == ["i", "j", "cost", "bound", "optimal", "gap"]
    assert frame["cost"].tolist() == stack.cost.reshape(-1).tolist()
    for row in frame.itertuples():
        plan = stack[row.i, row.j]
        assert (row.cost, row.bound, row.optimal) == (plan.cost, plan.bound, plan.optimal)
        assert row.gap == pytest.approx(plan.gap)


@pytest.mark.parametrize(
    ("own", "error", "words"),
    [
        ({"rows": slices}, ValueError, "own must have names that are not those of methods"),
        ({3: slices}, ValueError, "own must have names"),
        ([slices], TypeError, "own must be a mapping of names, got list"),
        ({"x": 3.0}, ValueError, r"own\['x'\]: rects must have shape"),
        ({"x": lambda areas: "no"}, TypeError, r"own\['x'\]: rects must be an array"),
        (
            {"x": lambda areas: [(0, 0, 1, 1)] * 3},
            ValueError,
            r"own\['x'\]: rects must not overlap",
        ),
        ({"x": lambda areas: [(0, 0, 1, 1)] * 2}, ValueError, r"own\['x'\]: rects must have shape"),
    ],
)
def test_own_algorithms_that_are_refused(own, error, words):
    with pytest.raises(error, match=words):
        hs.compare_partitions([3, 5, 8], ["columns"], own=own)
    with pytest.raises(error, match="own"):
        hs.compare_partitions([[3, 5, 8]] * 2, ["columns"], own=own)
