"""hetsched.layers_star: the closed forms, all counts and orders in fractions, schedules replayed by
the rules of each mode."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from oracles.layers import (
    closed_form,
    last_end,
    least_end,
    least_end_table,
    least_of_all,
    limited_end,
    per_layer,
    relaxed_end,
    rounded,
)  # fmt: skip
from stages import Layers

import hetsched as hs
from hetsched.planners.layers import METHODS, MODES

INF, NAN = math.inf, math.nan
# the golden case, N = 100
CYCLE, LINK = ("0.0002", "0.0003", "0.0005", "0.0007"), ("0.0003", "0.0008", "0.0005", "0.0004")
TIMES, COSTS = [float(w) for w in CYCLE], [float(z) for z in LINK]
OPTIMA = {"scss": 89.64, "sccs": 92.70, "pccs": 88.58, "pcss": 86.00}
# small integers, so that ties and work = message occur, and what a layer takes is exact
worker = st.tuples(st.integers(1, 9), st.integers(0, 9))
modes = st.sampled_from(MODES)


def engine_of(mode, n, workers, most=None):
    work, message = (np.array(values, float) for values in zip(*workers, strict=True))
    return Layers(mode, n, work, message, None if most is None else np.array(most, np.int64))


def fractions_of(workers):
    return [Fraction(a) for a, _ in workers], [Fraction(b) for _, b in workers]


def check(plan):
    """The schedule replayed by the rules of its mode alone; what follows from the counts; the
    certificate."""
    n, counts, order = plan.n, plan.counts.tolist(), plan.order.tolist()
    assert sum(counts) == n
    assert min(counts) >= 0
    assert sorted(order) == [i for i, k in enumerate(counts) if k]
    assert plan.displs.tolist() == [sum(counts[:i]) for i in range(len(counts))]
    slack = 1e-12 * plan.makespan
    port = 0.0
    for i in order:
        (sent, received), (start, end) = plan.receive[i].tolist(), plan.compute[i].tolist()
        message, work = (
            counts[i] * 2 * n * plan.link_costs[i],
            counts[i] * n**2 * plan.cycle_times[i],
        )
        if plan.mode in ("scss", "sccs"):
            assert sent >= port - slack
            port = received
        assert received - sent == pytest.approx(message, rel=1e-9, abs=slack)
        if plan.mode in ("sccs", "pccs"):
            assert start >= received - slack
            assert end - start == pytest.approx(work, rel=1e-9, abs=slack)
        else:
            assert start >= sent - slack
            assert end - start == pytest.approx(max(work, message), rel=1e-9, abs=slack)
    for i, count in enumerate(counts):
        if not count:
            assert plan.receive[i].tolist() == plan.compute[i].tolist() == [0.0, 0.0]
    assert plan.makespan == max((end for _, end in plan.compute.tolist()), default=0.0)
    assert 0 <= plan.lower_bound <= plan.makespan
    assert plan.optimal == (plan.gap <= 1e-12)
    assert plan.shares.sum() == pytest.approx(n, rel=1e-9)
    q = len(order)
    assert plan.volume == 2 * n**2
    assert plan.volume_with_sum == 2 * n**2 + max(q - 1, 0) * n**2
    assert plan.elements_held.tolist() == [
        2 * n * k + (n if plan.disk else n**2) if k else 0 for k in counts
    ]
    assert plan.elements_on_disk.tolist() == [n**2 if k and plan.disk else 0 for k in counts]
    assert (plan.elements_held <= plan.memory).all()
    trace = hs.simulate(plan)
    assert trace.makespan == pytest.approx(plan.makespan, rel=1e-12)
    assert trace.workers == plan.names
    assert json.loads(json.dumps(plan.to_dict()))["counts"] == counts


# ---- the closed forms ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "end"),
    [
        ("scss", Fraction(12500000, 141943)),
        ("sccs", Fraction(48968466, 539161)),
        ("pccs", Fraction(122421165, 1394639)),
        ("pcss", Fraction(21000, 247)),
    ],
)
def test_golden_values(mode, end):
    work, message = per_layer(100, CYCLE, LINK)
    assert closed_form(mode, work, message, 100)[1] == end
    assert relaxed_end(mode, work, message, 100, range(4)) == end
    plans = {method: hs.layers_star(100, TIMES, COSTS, mode, method) for method in METHODS}
    for plan in plans.values():
        check(plan)
    assert plans["paper"].relaxed == pytest.approx(float(end), rel=1e-14)
    assert plans["exact"].relaxed == pytest.approx(float(end), rel=1e-14)
    assert plans["exact"].makespan == pytest.approx(OPTIMA[mode], rel=1e-14)
    assert plans["paper"].makespan >= plans["exact"].makespan >= plans["best"].makespan
    assert plans["best"].optimal
    assert plans["exact"].optimal == (mode in ("pccs", "pcss"))
    assert plans["exact"].scope


def test_paper_is_worse():
    """Its integers are not the best, and for few layers far from it."""
    assert hs.layers_star(100, TIMES, COSTS, "scss", "paper").makespan == pytest.approx(92.72)
    # no share is above one half, and of workers without layers the first gets the only one
    for mode in MODES:
        paper, exact = (
            hs.layers_star(1, [12, 1, 2, 4, 6], 0.0, mode, method) for method in ("paper", "exact")
        )
        assert (paper.counts.tolist(), paper.makespan) == ([1, 0, 0, 0, 0], 12.0)
        assert (exact.counts.tolist(), exact.makespan) == ([0, 1, 0, 0, 0], 1.0)
        check(paper)


@given(mode=modes, n=st.integers(0, 60), workers=st.lists(worker, min_size=1, max_size=6))
def test_paper(mode, n, workers):
    work, message = fractions_of(workers)
    shares, _ = closed_form(mode, work, message, n)
    found, counts = engine_of(mode, n, workers).paper()
    assert found.tolist() == pytest.approx([float(s) for s in shares], rel=1e-12, abs=1e-12)
    assert counts.tolist() == rounded(mode, work, message, shares, n)


@given(mode=modes, workers=st.lists(worker, min_size=1, max_size=5), data=st.data())
def test_relaxed(mode, workers, data):
    """In any order as by the recursion; ascending send is the best of all orders."""
    work, message = fractions_of(workers)
    order = data.draw(st.permutations(range(len(workers))))
    engine = engine_of(mode, 7, workers)
    shares, end = engine.relaxed(np.array(order, np.int32))
    assert end == pytest.approx(float(relaxed_end(mode, work, message, 7, order)), rel=1e-13)
    used = [i for i in order if shares[i] > 1e-9]
    assert float(
        last_end(mode, work, message, used, [Fraction(s) for s in shares.tolist()])
    ) == pytest.approx(end, rel=1e-9)
    least = min(
        relaxed_end(mode, work, message, 7, other) for other in permutations(range(len(workers)))
    )
    assert engine.relaxed()[1] == pytest.approx(float(least), rel=1e-13)
    ascending = sorted(range(len(workers)), key=lambda i: message[i])
    assert relaxed_end(mode, work, message, 7, ascending) == least


# ---- whole layers --------------------------------------------------------------------------------


@given(mode=modes, n=st.integers(0, 8), workers=st.lists(worker, min_size=1, max_size=4))
def test_all_counts_and_orders(mode, n, workers):
    work, message = fractions_of(workers)
    engine, given_order = engine_of(mode, n, workers), range(len(workers))
    counts, proven = engine.exact()
    assert proven
    assert last_end(mode, work, message, given_order, counts.tolist()) == least_end(
        mode, work, message, n, given_order
    )
    order, counts, proven = engine.best(10**5)
    assert proven
    assert sorted(order.tolist()) == list(given_order)
    least = least_of_all(mode, work, message, n)
    assert last_end(mode, work, message, order.tolist(), counts.tolist()) == least
    assert engine.bound() <= least
    times, makespan = engine.schedule(order, counts)
    assert makespan == least == times[2].max()


@given(
    mode=st.sampled_from(MODES[:2]),
    n=st.integers(20, 250),
    workers=st.lists(
        st.tuples(st.floats(0.1, 10), st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.7, 5.0])),
        min_size=1,
        max_size=8,
    ),
    links=st.sampled_from(["own", "ascending", "descending", "equal"]),
)
def test_tables(mode, n, workers, links):
    """Against the whole table: windows leave nothing out, also where links are so slow that most of
    the table is in them."""
    send = [b for _, b in workers]
    send = {
        "own": send,
        "ascending": sorted(send),
        "descending": sorted(send)[::-1],
        "equal": [send[0]] * len(send),
    }[links]
    engine = engine_of(mode, n, [(a, b) for (a, _), b in zip(workers, send, strict=True)])
    counts, proven = engine.exact()
    makespan = engine.schedule(np.arange(len(workers), dtype=np.int32), counts)[1]
    assert proven
    assert makespan == pytest.approx(
        least_end_table(mode, [a for a, _ in workers], send, n), rel=1e-13
    )


@pytest.mark.parametrize("seed", range(many(24, 6)))
def test_wide_windows(seed):
    """Platforms where the best counts are often not near the real shares."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(9, 14)), int(rng.integers(100, 300))
    work, send = rng.uniform(1, 5, p), np.sort(rng.uniform(0.5, 1, p)) * rng.choice([0.3, 1.0, 2.0])
    send = (send, send[::-1].copy(), np.full(p, send[0]), np.round(4 * send) / 4)[seed % 4]
    engine = engine_of(
        MODES[seed // 4 % 2], n, list(zip(work.tolist(), send.tolist(), strict=True))
    )
    counts, proven = engine.exact()
    makespan = engine.schedule(np.arange(p, dtype=np.int32), counts)[1]
    assert proven
    assert makespan == pytest.approx(
        least_end_table(MODES[seed // 4 % 2], work, send, n), rel=1e-13
    )
    order, counts, _ = engine.best(10**4)
    assert engine.schedule(order, counts)[1] <= makespan


@given(
    mode=modes,
    method=st.sampled_from(METHODS),
    n=st.sampled_from([0, 1, 2, 7, 100, 4099, 2**30]),
    times=st.lists(st.one_of(st.floats(0.01, 100), st.just(INF)), min_size=1, max_size=9).filter(
        lambda t: min(t) < INF
    ),
    scale=st.sampled_from([0.0, 1e-3, 1.0, 1e3]),
    data=st.data(),
)
def test_schedules(mode, method, n, times, scale, data):
    costs = data.draw(st.lists(st.floats(0.01, 10), min_size=len(times), max_size=len(times)))
    costs = [scale * c for c in costs]
    plan = hs.layers_star(n, times, costs, mode, method)
    check(plan)
    assert all(k == 0 for k, t in zip(plan.counts.tolist(), times, strict=True) if t == INF)
    if method == "best":
        assert plan.makespan <= hs.layers_star(n, times, costs, mode, "exact").makespan * (
            1 + 1e-12
        )


@pytest.mark.parametrize("mode", MODES[:2])
def test_many_workers(mode):
    """More than are proven: never worse than in the order given or by ascending links; many layers
    cost no more."""
    rng = np.random.default_rng(5)
    times, costs = rng.uniform(1, 5, 40), rng.uniform(1, 5, 40)
    up = np.argsort(costs)
    best = hs.layers_star(3000, times, 100 * costs, mode, "best")
    check(best)
    assert not best.optimal
    assert best.makespan < hs.layers_star(3000, times, 100 * costs, mode).makespan
    assert best.makespan <= hs.layers_star(3000, times[up], 100 * costs[up], mode).makespan
    assert best.gap < 0.003
    many = hs.layers_star(2**30, times, costs * 2**20, mode)
    check(many)
    assert many.scope  # proven for its order
    assert many.makespan <= many.relaxed * (1 + 1e-7)


def test_search_beats_sorting():
    """For few layers ascending links are far from the best order."""
    times, costs = np.array([3, 9, 4, 6, 5]) / 64, np.array([1, 1, 2, 2, 1]) / 16
    best = hs.layers_star(8, times, costs, "sccs", "best")
    check(best)
    up = np.argsort(costs, kind="stable")
    assert best.makespan < hs.layers_star(8, times[up], costs[up], "sccs").makespan


def test_slow_links_are_left_out():
    plan = hs.layers_star(64, [1, 1, 1], [900, 1, 1], "sccs")
    check(plan)
    assert plan.counts[0] == 0
    assert plan.order.tolist() == [1, 2]
    best = hs.layers_star(64, [1, 1, 1], [900, 1, 1], "sccs", "best")
    assert best.makespan <= plan.makespan


def test_one_layer():
    """Goes to the worker that ends it first, in any order, and the bound says so."""
    for mode in MODES:
        for method in ("exact", "best"):
            plan = hs.layers_star(1, [5, 3, 4], [1, 1.5, 0.4], mode, method)
            check(plan)
            assert plan.counts.tolist() == ([0, 0, 1] if mode[2] == "c" else [0, 1, 0])
            assert plan.makespan == (4.8 if mode[2] == "c" else 3.0)
            assert plan.optimal


def test_one_worker():
    for mode in MODES:
        plan = hs.layers_star(10, [0.5], [2.0], mode)
        check(plan)
        assert plan.counts.tolist() == [10]
        assert plan.makespan == (
            10 * 100 * 0.5 + 10 * 20 * 2.0 if mode[2] == "c" else 10 * 100 * 0.5
        )
        assert plan.optimal
        assert plan.volume_with_sum == plan.volume
    assert hs.layers_star(10, [0.5], [200.0], "scss").makespan == 10 * 20 * 200.0


def test_free_links_need_no_order():
    times = [3.0, 5.0, 8.0]
    plans = [
        hs.layers_star(78, times, mode=mode, method=method)
        for mode in MODES
        for method in ("exact", "best")
    ]
    for plan in plans:
        check(plan)
        assert plan.counts.tolist() == hs.distribute(78, times).counts.tolist()
        assert plan.optimal
        assert all(step.kind == "compute" for step in plan.steps())


# ---- limits --------------------------------------------------------------------------------------

# a worker and the layers that it may have: often all, few or none
limited = st.lists(st.tuples(worker, st.integers(0, 9)), min_size=1, max_size=4)


@given(mode=modes, n=st.integers(0, 8), given_workers=limited)
def test_all_counts_and_orders_within_limits(mode, n, given_workers):
    workers, most = zip(*given_workers, strict=True)
    work, message = fractions_of(workers)
    engine, given_order = engine_of(mode, n, workers, most), range(len(workers))
    least = least_of_all(mode, work, message, n, most)
    if least is None:
        for call in (
            engine.exact,
            engine.bound,
            engine.relaxed,
            engine.paper,
            lambda: engine.best(99),
        ):
            with pytest.raises(hs.InfeasibleError):
                call()
        return
    counts, proven = engine.exact()
    assert proven
    assert (counts <= most).all()
    assert last_end(mode, work, message, given_order, counts.tolist()) == least_end(
        mode, work, message, n, given_order, most
    )
    order, counts, proven = engine.best(10**5)
    assert proven
    assert (counts <= most).all()
    assert last_end(mode, work, message, order.tolist(), counts.tolist()) == least
    assert engine.bound() <= least


@given(
    mode=modes,
    n=st.integers(0, 60),
    given_workers=st.lists(st.tuples(worker, st.integers(0, 40)), min_size=1, max_size=6),
)
def test_paper_within_limits(mode, n, given_workers):
    """The closed form of those that may have something; what is above a limit goes round and
    round."""
    open_workers = [(own, limit) for own, limit in given_workers if limit or not n]
    if sum(limit for _, limit in given_workers) < n:
        return
    workers, most = zip(*open_workers, strict=True)
    work, message = fractions_of(workers)
    shares, _ = closed_form(mode, work, message, n)
    found, counts = engine_of(mode, n, *zip(*given_workers, strict=True)).paper()
    placed = [i for i, (_, limit) in enumerate(given_workers) if limit or not n]
    assert found[placed].tolist() == pytest.approx([float(s) for s in shares], rel=1e-12, abs=1e-12)
    assert counts[placed].tolist() == rounded(mode, work, message, shares, n, most if n else None)
    assert counts.sum() == n


limits = st.lists(
    st.tuples(st.floats(0.1, 10), st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.7, 5.0]), st.floats(0, 2)),
    min_size=1,
    max_size=6,
)


def limits_of(given_workers, n):
    """Work, messages and limits, of which the last one is raised until they allow all layers."""
    work, message, room = zip(*given_workers, strict=True)
    most = [int(r * n / len(room)) for r in room]
    most[-1] = max(most[-1], n - sum(most[:-1]))
    return work, message, most


@given(mode=st.sampled_from(MODES[:2]), n=st.integers(1, 300), given_workers=limits, data=st.data())
def test_relaxed_within_limits(mode, n, given_workers, data):
    """The linear programs of an order, and of the rows that hold in all; shares that sum to n, none
    above its limit."""
    work, message, most = limits_of(given_workers, n)
    engine = engine_of(mode, n, list(zip(work, message, strict=True)), most)
    order = data.draw(st.permutations(range(len(work))))
    for given_order in (order, None):
        shares, end = engine.relaxed(
            None if given_order is None else np.array(given_order, np.int32)
        )
        assert end == pytest.approx(
            limited_end(mode, work, message, n, most, given_order), rel=1e-6
        )
        assert shares.sum() == pytest.approx(n, rel=1e-9)
        assert (shares >= 0).all()
        assert (shares <= np.array(most) * (1 + 1e-12)).all()
    shares, end = engine.relaxed(np.array(order, np.int32))
    assert engine.relaxed()[1] <= end * (1 + 1e-12)
    ends = last_end(
        mode,
        [*map(Fraction, work)],
        [*map(Fraction, message)],
        order,
        [*map(Fraction, shares.tolist())],
    )
    assert float(ends) == pytest.approx(end, rel=1e-6)


@given(mode=st.sampled_from(MODES[:2]), n=st.integers(10, 300), given_workers=limits)
def test_programs_within_limits(mode, n, given_workers):
    """Branch and bound by HiGHS."""
    work, message, most = limits_of(given_workers, n)
    engine = engine_of(mode, n, list(zip(work, message, strict=True)), most)
    counts, proven = engine.exact()
    order = np.arange(len(work), dtype=np.int32)
    assert proven
    assert engine.schedule(order, counts)[1] == pytest.approx(
        limited_end(mode, work, message, n, most, order.tolist(), whole=True), rel=1e-6
    )


@pytest.mark.parametrize("mode", MODES)
def test_many_layers_within_limits(mode):
    """As few numbers of layers are looked at as without limits."""
    rng = np.random.default_rng(3)
    times, costs, n = rng.uniform(1, 5, 40), rng.uniform(1, 5, 40) * 2**20, 2**30
    memory = 2.0 * n * rng.uniform(0.01, 0.05, 40) * n + n
    plan = hs.layers_star(n, times, costs, mode, memory=memory, disk=True)
    check(plan)
    assert plan.scope  # proven for its order
    assert plan.makespan <= plan.relaxed * (1 + 1e-7)
    free = hs.layers_star(n, times, costs, mode)
    assert (plan.counts < free.counts).any()
    assert free.makespan < plan.makespan


@given(
    mode=modes, method=st.sampled_from(METHODS), n=st.integers(1, 40), disk=st.booleans(),
    given_workers=st.lists(st.tuples(worker, st.integers(0, 40)), min_size=1, max_size=6),
)  # fmt: skip
def test_memory(mode, method, n, disk, given_workers):
    times, costs = np.array([own for own, _ in given_workers], float).T
    room = [layers for _, layers in given_workers]
    room[0] = max(room[0], n - sum(room[1:]))
    memory = np.array([2.0 * n * layers + (n if disk else n**2) for layers in room])
    call = {"mode": mode, "method": method, "disk": disk}
    plan = hs.layers_star(n, times, costs, memory=memory, **call)
    check(plan)
    assert plan.memory.tolist() == memory.tolist()
    assert (plan.counts <= room).all()
    # not enough for one layer more
    least = hs.layers_star(n, times, costs, memory=memory + 2 * n - 1, **call)
    assert least.counts.tolist() == plan.counts.tolist()
    free = hs.layers_star(n, times, costs, **call)
    endless = hs.layers_star(n, times, costs, memory=math.inf, **call)
    assert endless.counts.tolist() == free.counts.tolist()
    assert np.isinf(free.memory).all()
    if method != "paper":
        more = hs.layers_star(n, times, costs, memory=memory + 6 * n, **call)
        assert free.makespan <= more.makespan * (1 + 1e-12)
        assert more.makespan <= plan.makespan * (1 + 1e-12)
    assert free.lower_bound <= plan.lower_bound * (1 + 1e-12) or method == "best"


def test_memory_of_a_platform():
    unit = hs.Unit.multiply_add()
    platform = hs.Platform.star(TIMES, COSTS, memory=[15000, None, 14000, 30000], unit=unit)
    plan = hs.layers_star(100, platform)
    check(plan)
    assert plan.memory.tolist() == [15000, INF, 14000, 30000]
    assert plan.counts[0] == 25
    assert (
        hs.layers_star(100, platform, memory=INF).counts.tolist()
        == hs.layers_star(100, TIMES, COSTS).counts.tolist()
    )
    wide = hs.layers_star(100, TIMES, COSTS)
    with pytest.raises(
        ValueError, match="plan needs .* elements of memory at worker P0, which has 15000"
    ):
        wide.on(platform)
    moved = plan.on(hs.Platform.star([1.0] * 4, memory=30000, unit=unit))
    assert moved.memory.tolist() == [30000.0] * 4
    assert moved.lower_bound <= moved.makespan
    elements = hs.Platform.star(
        TIMES, COSTS, memory=60, unit=hs.Unit("multiply-add", "kilobyte", 2.0, 1000.0)
    )
    in_elements = hs.layers_star(100, elements, memory=None, disk=True)  # 60 kB are 7500 elements
    assert in_elements.memory.tolist() == [7500.0] * 4
    blocks = hs.Platform.star(TIMES, COSTS, memory=12)  # of some size
    assert np.isinf(hs.layers_star(100, blocks).memory).all()


def test_what_does_not_fit():
    with pytest.raises(
        hs.InfeasibleError,
        match=(
            r"memory has room for 30 of 100 layers: each layer takes 200 elements .* 10000 elements"
            r" more; with disk"
        ),
    ):
        hs.layers_star(100, [1, 1, 1, INF], memory=[12000, 12000, 12000, INF])
    assert hs.layers_star(100, [1, 1, 1, INF], memory=12000, disk=True).counts.sum() == 100
    with pytest.raises(
        hs.InfeasibleError,
        match=r"memory has room for 57 of 100 layers: .* holds 100 elements more$",
    ):
        hs.layers_star(100, [1, 1, 1], memory=4000, disk=True)
    with pytest.raises(hs.InfeasibleError, match=r"memory\[1\] has room for 0 of 5 layers"):
        hs.layers_star(5, np.ones((2, 3)), memory=[[100.0], [0.0]])


@pytest.mark.parametrize("method", METHODS)
def test_stacks_within_limits(method):
    rng = np.random.default_rng(2)
    times, costs = rng.uniform(1, 5, (7, 4)), rng.uniform(0, 9, 4)
    memory = 2.0 * 30 * rng.integers(8, 20, (7, 4)) + 30
    stack = hs.layers_star(30, times, costs, "sccs", method, memory=memory, disk=True)
    for i in range(7):
        alone = hs.layers_star(30, times[i], costs, "sccs", method, memory=memory[i], disk=True)
        assert stack[i] == alone
        assert stack.counts[i].tolist() == alone.counts.tolist()
        assert (stack.makespan[i], stack.bound[i]) == (alone.makespan, alone.lower_bound)


# ---- arguments and results -----------------------------------------------------------------------


def test_platform_and_speeds():
    platform = hs.Platform.star(TIMES, link_costs=COSTS, names=["a", "b", "c", "d"])
    plan, plain = (
        hs.layers_star(100, platform, mode="sccs"),
        hs.layers_star(100, TIMES, COSTS, "sccs"),
    )
    assert plan.counts.tolist() == plain.counts.tolist()
    assert plan.names == ("a", "b", "c", "d")
    assert hs.layers_star(100, platform, 0.0, "sccs").makespan < plan.makespan
    fast = hs.layers_star(100, speeds=[4, 2, 0])
    assert fast.counts.tolist() == [67, 33, 0]
    check(fast)


def test_inputs_are_not_modified_and_results_are_frozen():
    times, costs = np.array(TIMES), np.array(COSTS)
    plan = hs.layers_star(100, times, costs, "scss", "best")
    assert times.tolist() == TIMES
    assert costs.tolist() == COSTS
    again = hs.layers_star(100, times, costs, "scss", "best")
    assert plan.to_dict() == again.to_dict()
    for name in (
        "counts",
        "order",
        "receive",
        "compute",
        "shares",
        "elements_held",
        "cycle_times",
        "link_costs",
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(plan, name)[0] = 0
    assert "optimal" in repr(plan)
    assert "<svg" in plan._repr_html_()


def test_plots():
    for n in (0, 1, 1000):
        plan = hs.layers_star(n, np.linspace(1, 3, 30), 5.0, "scss")
        ax = plan.plot()
        assert "scss" in ax.get_title(loc="left")
        assert len(ax.collections) == 3
        assert len(ax.collections[0].get_paths()) == len(plan.order)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, [1]), "n must be in"),
        ((2**30 + 1, [1]), "n must be in"),
        ((1.5, [1]), "n must be an integer"),
        ((5, []), "cycle_times is empty"),
        ((5, [1, NAN]), r"cycle_times\[1\] is NaN"),
        ((5, [1, 0]), r"cycle_times\[1\] must be positive"),
        ((5, [INF, INF]), "all infinite"),
        ((5, [1, 1], [1]), "link_costs must be a number or have 2 entries"),
        ((5, [1, 1], [1, -1]), r"link_costs\[1\] must be finite and not negative"),
        ((5, [1, 1], [1, INF]), r"link_costs\[1\] must be finite and not negative"),
        ((5, [1, 1], [NAN, 1]), r"link_costs\[0\] is NaN"),
        ((5, [1, 1], NAN), "link_costs must be finite"),
        ((5, [1, 1], 1, "spss"), "mode must be one of scss, sccs, pccs, pcss"),
        ((5, [1, 1], 1, "scss", "optimal"), "method must be one of exact, best, paper"),
        ((5, [1, 1e-95], 1), r"n\^2 cycle_times\[1\] must be from 2\*\*-300"),
        ((5, [1, 1], [1, 1e300]), r"2 n link_costs\[1\] must be from 2\*\*-300"),
    ],
)
def test_bad_values(arguments, message):
    with pytest.raises(ValueError, match=message):
        hs.layers_star(*arguments)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("5", [1]), {}, "n must be an integer"),
        ((5,), {}, "give either cycle_times or speeds"),
        ((5, [1]), {"speeds": [1]}, "give either cycle_times or speeds"),
        ((5, [1], "x"), {}, "link_costs must be"),
        ((5, [1]), {"memory": "x"}, "memory must be a number or an array"),
        ((5, [1]), {"disk": "x"}, "disk must be True or False"),
    ],
)
def test_bad_types(arguments, options, message):
    with pytest.raises(TypeError, match=message):
        hs.layers_star(*arguments, **options)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (-1, "memory must not be negative, got -1"),
        ([9, NAN], r"memory\[1\] must not be negative, got nan"),
        ([9, 9, 9], r"shape \(3,\)"),
    ],
)
def test_bad_memory(memory, message):
    with pytest.raises(ValueError, match=message):
        hs.layers_star(2, [1, 1], memory=memory)
