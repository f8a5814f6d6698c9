"""hetsched.divisible_load: linear programs over all orders, bounds, schedules that keep the bus exclusive."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles_divisible import makespan_of_orders, makespans

import hetsched as hs
from hetsched import _engine

INF = math.inf
cost = st.one_of(st.just(0.0), st.sampled_from([0.25, 0.5, 1.0]), st.floats(0.01, 2))
worker = st.tuples(st.floats(0.1, 5), cost)
ratio = st.sampled_from([0.0, 0.3, 1.0, 2.5])


def check_schedule(plan):
    """Shares sum to the load; messages one at a time; work after the message, results after the work; the makespan is the end."""
    assert plan.shares.sum() == pytest.approx(plan.load, rel=1e-12)
    assert (plan.shares >= 0).all()
    assert sorted(plan.send_order.tolist()) == list(plan.enrolled) == np.flatnonzero(plan.shares).tolist()
    assert sorted(plan.receive_order.tolist()) == (list(plan.enrolled) if plan.return_ratio else [])
    steps, slack = plan.steps(), 1e-12 * plan.makespan
    bus = sorted((s.start, s.end) for s in steps if s.kind == "transfer")
    assert all(a[1] <= b[0] + slack for a, b in zip(bus, bus[1:], strict=False))
    for i in plan.enrolled:
        own = [s for s in steps if s.worker == i]
        message = plan.shares[i] * plan.link_costs[i]
        wanted = (
            [message] * bool(message)
            + [plan.shares[i] * plan.cycle_times[i]]
            + [plan.return_ratio * message] * bool(plan.return_ratio * message)
        )
        assert [s.end - s.start for s in own] == pytest.approx(wanted, abs=slack)
        assert all(a.end <= b.start + slack for a, b in zip(own, own[1:], strict=False))
    assert max(s.end for s in steps) == pytest.approx(plan.makespan, rel=1e-13)
    assert hs.simulate(plan).makespan == pytest.approx(plan.makespan, rel=1e-13)
    assert plan.lower_bound <= plan.makespan
    assert json.loads(json.dumps(plan.to_dict()))["shares"] == plan.shares.tolist()


@settings(deadline=None, max_examples=40)
@given(workers=st.lists(worker, min_size=1, max_size=3), z=ratio, load=st.sampled_from([1.0, 1e6, 1e-9]))
@example(workers=[(3.546875, 1.0), (3.5625, 1.0)], z=1.0, load=1e6)  # the search ends a rounding above its start
def test_all_orders(workers, z, load):
    times, costs = zip(*workers, strict=True)
    wanted = makespans(times, costs, [z * c for c in costs])
    for method, makespan in wanted.items():
        plan = hs.divisible_load(load, times, costs, return_ratio=z, method=method)
        assert plan.makespan == pytest.approx(makespan * load, rel=1e-9)
        assert plan.lower_bound <= wanted["best"] * load * (1 + 1e-9)
        check_schedule(plan)
        assert not plan.optimal or plan.makespan == pytest.approx(wanted["best"] * load, rel=1e-9)
        assert plan.optimal or method != "best"


def test_four_workers_neither_fifo_nor_lifo():
    times, costs = [1.5, 3.0, 0.7, 2.2], [0.5, 0.2, 0.9, 0.6]
    wanted = makespans(times, costs, [1.5 * c for c in costs])
    plan = hs.divisible_load(10, times, costs, return_ratio=1.5)
    assert plan.makespan == pytest.approx(10 * wanted["best"], rel=1e-9)
    assert wanted["best"] < 0.999 * min(wanted["fifo"], wanted["lifo"])
    for method in ("fifo", "lifo"):
        assert hs.divisible_load(10, times, costs, return_ratio=1.5, method=method).makespan == pytest.approx(10 * wanted[method])


@settings(deadline=None, max_examples=40)
@given(workers=st.lists(worker, min_size=6, max_size=7), z=ratio, seed=st.integers(0, 99))
def test_more_workers(workers, z, seed):
    times, costs = (np.array(x) for x in zip(*workers, strict=True))
    p, rng = len(times), np.random.default_rng(seed)
    out, back = (rng.permutation(p).astype(np.int32) for _ in range(2))
    given = times, costs, z * costs
    bound = _engine.divisible_bound(*given)
    _, _, shares, makespan, _ = _engine.divisible_orders(*given, out, back, 0, 0.0)
    assert makespan == pytest.approx(makespan_of_orders(*given, tuple(out), tuple(back)), rel=1e-9)
    assert shares.sum() == pytest.approx(1)
    found = _engine.divisible_orders(*given, out, back, 500, bound)
    assert bound <= found[3] <= makespan
    assert found[3] == pytest.approx(makespan_of_orders(*given, tuple(found[0]), tuple(found[1])), rel=1e-9)


def test_search():
    rng = np.random.default_rng(0)
    times, costs = rng.uniform(0.5, 10, 9), rng.uniform(0.05, 1, 9)
    before = times.copy(), costs.copy()
    plans = {m: hs.divisible_load(1, times, costs, return_ratio=0.5, method=m) for m in ("best", "fifo", "lifo")}
    for plan in plans.values():
        check_schedule(plan)
        assert plan.gap < 0.25
    assert plans["best"].makespan < 0.999 * min(plans["fifo"].makespan, plans["lifo"].makespan)
    assert plans["best"].gap < 0.05
    assert plans["fifo"].scope == "first in, first out"
    again = hs.divisible_load(1, times, costs, return_ratio=0.5)
    assert again.shares.tolist() == plans["best"].shares.tolist()
    assert (times == before[0]).all()
    assert (costs == before[1]).all()


def test_without_results_the_cheapest_links_first_is_optimal():
    rng = np.random.default_rng(1)
    times, costs = rng.uniform(0.5, 10, 50), rng.uniform(0.05, 1, 50)
    plan = hs.divisible_load(100, times, costs)
    assert plan.optimal
    assert plan.send_order.tolist() == sorted(plan.enrolled, key=lambda i: costs[i])
    free = hs.divisible_load(6, [1, 2, INF, 3])
    assert free.makespan == pytest.approx(6 / (1 + 1 / 2 + 1 / 3))
    assert free.enrolled == (0, 1, 3)


def test_platform_and_plot():
    pytest.importorskip("matplotlib").use("Agg")
    platform = hs.Platform.star([2, 3], link_costs=[0.5, 0.25], names=["a", "b"])
    plan = hs.divisible_load(1, platform, return_ratio=1)
    assert plan.worker_names == ("a", "b")
    assert plan.link_costs.tolist() == [0.5, 0.25]
    labels = [label.get_text() for label in plan.plot().get_yticklabels()]
    assert "bus" in labels
    assert "optimal" in plan.certificate()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hs.divisible_load(0, [1]), ValueError, "load must be greater than 0"),
        (lambda: hs.divisible_load(1, [0]), ValueError, r"cycle_times\[0\] must be positive"),
        (lambda: hs.divisible_load(1, [1], [1, 2]), ValueError, "link_costs must be a number or have 1 entries"),
        (lambda: hs.divisible_load(1, [1, 2], [1, -2]), ValueError, r"link_costs\[1\] must be finite and not negative"),
        (lambda: hs.divisible_load(1, [1], INF), ValueError, "link_costs must be finite"),
        (lambda: hs.divisible_load(1, [1], 1, return_ratio=-1), ValueError, "return_ratio must be at least 0"),
        (lambda: hs.divisible_load(1, [1], 1, method="x"), ValueError, "method must be one of best, fifo, lifo, got 'x'"),
        (lambda: hs.divisible_load(1e300, [1e300], 1), ValueError, "overflows"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
