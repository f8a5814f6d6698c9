"""hetsched.divisible_load: linear programs over all orders, bounds, schedules that keep the bus
exclusive."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from inputs import many
from interrupted import interrupted
from oracles.divisible import exact_makespan, exact_one_way, makespan_of_orders, makespans, replay

import hetsched as hs
from hetsched._engine.ffi import check_status, doubles, ffi, int32s, lib

INF = math.inf
cost = st.one_of(st.just(0.0), st.sampled_from([0.25, 0.5, 1.0]), st.floats(0.01, 2))
worker = st.tuples(st.floats(0.1, 5), cost)
ratio = st.sampled_from([0.0, 0.3, 1.0, 2.5])
spread = st.builds(
    lambda mantissa, exponent: mantissa * 10.0**exponent, st.floats(1, 10), st.integers(-12, 12)
)
any_cost = st.one_of(cost, spread)
any_worker = st.tuples(
    st.one_of(st.sampled_from([0.25, 0.5, 1.0]), st.floats(0.1, 5), spread), any_cost
)
any_ratio = st.one_of(ratio, st.sampled_from([1e-9, 0.01, 0.5, 1e9]))


def check_schedule(plan):
    """Shares sum to the load; messages one at a time; work after the message, results after the
    work; the makespan is the end."""
    assert plan.shares.sum() == pytest.approx(plan.amount, rel=1e-12)
    assert (plan.shares >= 0).all()
    assert (
        sorted(plan.send_order.tolist())
        == list(plan.enrolled)
        == np.flatnonzero(plan.shares).tolist()
    )
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


@pytest.mark.slow
@given(
    workers=st.lists(worker, min_size=1, max_size=3),
    z=ratio,
    load=st.sampled_from([1.0, 1e6, 1e-9]),
)
# the search ends a rounding above its start
@example(workers=[(3.546875, 1.0), (3.5625, 1.0)], z=1.0, load=1e6)
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


@pytest.mark.slow
def test_four_workers_neither_fifo_nor_lifo():
    times, costs = [1.5, 3.0, 0.7, 2.2], [0.5, 0.2, 0.9, 0.6]
    wanted = makespans(times, costs, [1.5 * c for c in costs])
    plan = hs.divisible_load(10, times, costs, return_ratio=1.5)
    assert plan.makespan == pytest.approx(10 * wanted["best"], rel=1e-9)
    assert wanted["best"] < 0.999 * min(wanted["fifo"], wanted["lifo"])
    for method in ("fifo", "lifo"):
        assert hs.divisible_load(
            10, times, costs, return_ratio=1.5, method=method
        ).makespan == pytest.approx(10 * wanted[method])


def divisible_bound(times, sends, receives):
    """hs_divisible_bound."""
    bound = ffi.new("double *")
    given = (doubles(x) for x in (times, sends, receives))
    check_status(lib.hs_divisible_bound(len(times), *given, ffi.NULL, bound))
    return bound[0]


def divisible_orders(times, sends, receives, out, back, work, enough):
    """Send order, receive order, shares, makespan and `optimal` of hs_divisible_orders."""
    orders, shares = (out.copy(), back.copy()), np.empty(len(times))
    makespan, optimal = ffi.new("double *"), ffi.new("int *")
    given = (doubles(x) for x in (times, sends, receives))
    found = *map(int32s, orders), doubles(shares), makespan, optimal
    check_status(lib.hs_divisible_orders(len(times), *given, work, 1, enough, ffi.NULL, *found))
    return *orders, shares, makespan[0], bool(optimal[0])


@given(workers=st.lists(any_worker, min_size=1, max_size=3), z=any_ratio)
@example(workers=[(0.25, 0.87581947), (0.25, 0.1894157), (0.5, 0.15185239)], z=0.5)
@example(workers=[(6.5e-12, 0.0147), (1.3e-11, 7.9e-8), (3.65e-7, 1.84e-5), (24.2, 0.117)], z=0.1)
def test_exact(workers, z):
    """In exact arithmetic: no orders are better, the bound is below all, the shares reach the
    makespan."""
    times, costs = zip(*workers, strict=True)
    backs = [z * c for c in costs]
    least = exact_makespan(times, costs, backs)
    assert divisible_bound(*map(np.array, (times, costs, backs))) <= least
    plan = hs.divisible_load(1, times, costs, return_ratio=z)
    assert plan.optimal
    assert least * (1 - Fraction(1e-14)) <= Fraction(plan.makespan) <= least * (1 + Fraction(2e-12))
    for method in ("best", "fifo", "lifo"):
        plan = hs.divisible_load(1, times, costs, return_ratio=z, method=method)
        back = plan.receive_order if z else []
        reached = replay(times, costs, backs, plan.shares, plan.send_order, back) / sum(
            map(Fraction, plan.shares.tolist())
        )
        assert abs(reached / Fraction(plan.makespan) - 1) < 1e-13
        assert Fraction(plan.lower_bound) <= least * (1 + Fraction(2e-12))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("times", "costs", "z"),
    [
        ([0.38381741962419785, 0.140839329383286, 3.5624359677998894, 1552277563.5846825],
         [9.977722441128812, 0.19732663687434648, 6.139234482920258, 1552277.5635846823], 3.0),
        ([0.40944165885570705, 7885512.403394139, 3309713790.702767, 0.000428710732387961],
         [10.389789697466949, 0.000690021539315681, 3.744795661790681e16, 613171231.8523483], 0.1),
    ],
)  # fmt: skip
def test_exact_four_far_apart(times, costs, z):
    """Once called optimal: the first 2.6 % above the optimum, the second by a factor of 6e5."""
    plan = hs.divisible_load(1, times, costs, return_ratio=z)
    least = exact_makespan(times, costs, [z * c for c in costs])
    assert plan.optimal
    assert least * (1 - Fraction(1e-14)) <= Fraction(plan.makespan) <= least * (1 + Fraction(2e-12))


# of each, some orders once were overstated: the plan with the slow worker was worse, up to 1.5
# times, and called optimal
STARS = [
    (
        [0.25, 2.0, 0.5, 1.0],
        [0.8527719369899291, 0.9418142370558904, 0.07148684244265262, 0.16219996579331575],
        1.0, 3, 5.3430365944114975, 741307.2298204091,
    ),
    (
        [0.25, 0.5, 1.0, 0.25],
        [0.8349121794326069, 0.10875458860489413, 0.13834239302911694, 0.9650226309027482],
        3.0, 3, 4240470.004658439, 4240.47000465844,
    ),
    (
        [1.6453846252476207, 1.1181451140573966, 2.4906059389929327, 2.4687487622875683],
        [1.9293939745137232, 1.5050093990802045, 0.9202448670991108, 1.118896358755472],
        3.0, 3, 830955887.5952882, 830955.8875952882,
    ),
    ([0.25, 0.25, 0.5], [0.87581947, 0.1894157, 0.15185239], 0.5, 3, 25170.6, 100.0),
]  # fmt: skip


@given(
    workers=st.lists(any_worker, min_size=1, max_size=4),
    z=any_ratio,
    place=st.integers(0, 4),
    factor=st.sampled_from([1e3, 1e5, 1e7, 1e12, 1e100, 1e250]),
    dear=st.sampled_from([0.0, 1e-3, 0.5, 1.0]),
)
def test_a_useless_worker_changes_nothing(workers, z, place, factor, dear):
    times, costs = (list(x) for x in zip(*workers, strict=True))
    slowest = max(t + c * (1 + z) for t, c in workers)
    extra = factor * slowest * (1 - dear) or slowest, factor * slowest * dear / (1 + z)
    check_useless(times, costs, z, min(place, len(times)), *extra)


@pytest.mark.parametrize("star", STARS)
def test_a_useless_worker_once_changed_the_plan(star):
    check_useless(*star)


def check_useless(times, costs, z, place, time, cost):
    without = hs.divisible_load(1, times, costs, return_ratio=z)
    more = hs.divisible_load(
        1,
        times[:place] + [time] + times[place:],
        costs[:place] + [cost] + costs[place:],
        return_ratio=z,
    )
    assert without.optimal
    assert more.optimal
    its_most = without.makespan / (time + cost * (1 + z))  # the share that it can do in this time
    assert (
        without.makespan * (1 - its_most - 2e-12) <= more.makespan <= without.makespan * (1 + 2e-12)
    )


@settings(max_examples=many(30, 15))
@given(
    workers=st.lists(any_worker, min_size=2, max_size=5),
    z=any_ratio,
    random=st.randoms(use_true_random=False),
)
def test_permutation(workers, z, random):
    plan = hs.divisible_load(1, *zip(*workers, strict=True), return_ratio=z)
    mixed = random.sample(workers, len(workers))
    other = hs.divisible_load(1, *zip(*mixed, strict=True), return_ratio=z)
    assert plan.optimal
    assert other.optimal
    assert other.makespan == pytest.approx(plan.makespan, rel=3e-12)


@settings(max_examples=many(30, 15))
@given(
    workers=st.lists(any_worker, min_size=1, max_size=5),
    z=any_ratio,
    up=st.integers(-800, 800),
    load=st.integers(-90, 90),
)
def test_scaling_by_powers_of_two_is_exact(workers, z, up, load):
    times, costs = (np.array(x) for x in zip(*workers, strict=True))
    plan = hs.divisible_load(1, times, costs, return_ratio=z)
    scaled = hs.divisible_load(2.0**load, np.ldexp(times, up), np.ldexp(costs, up), return_ratio=z)
    assert scaled.makespan == math.ldexp(plan.makespan, up + load)
    assert scaled.lower_bound == math.ldexp(plan.lower_bound, up + load)
    assert scaled.shares.tolist() == np.ldexp(plan.shares, load).tolist()
    assert scaled.send_order.tolist() == plan.send_order.tolist()
    assert scaled.receive_order.tolist() == plan.receive_order.tolist()
    assert scaled.optimal == plan.optimal


@given(workers=st.lists(any_worker, min_size=6, max_size=12), z=any_ratio)
def test_no_plan_is_below_the_bound(workers, z):
    times, costs = (np.array(x) for x in zip(*workers, strict=True))
    given, order = (times, costs, z * costs), np.argsort(costs, kind="stable").astype(np.int32)
    bound = divisible_bound(*given)
    for work in (0, 300):
        out, back, shares, makespan, _ = divisible_orders(
            *given, order, order[::-1].copy(), work, bound
        )
        reached = replay(*given, shares, out, back) / sum(map(Fraction, shares.tolist()))
        assert abs(reached / Fraction(makespan) - 1) < 1e-13
        assert bound <= reached


@given(workers=st.lists(any_worker, min_size=1, max_size=40))
def test_one_way_bound(workers):
    """Without results the bound is the optimum, and in exact arithmetic not above it."""
    times, costs = (np.array(x) for x in zip(*workers, strict=True))
    least = exact_one_way(times, costs)
    for messages in ((costs, 0 * costs), (0 * costs, costs)):  # the second is the first, backwards
        bound = divisible_bound(times, *messages)
        assert least * (1 - Fraction(1e-12)) <= Fraction(bound) <= least


@pytest.mark.slow
@given(workers=st.lists(worker, min_size=6, max_size=7), z=ratio, seed=st.integers(0, 99))
def test_more_workers(workers, z, seed):
    times, costs = (np.array(x) for x in zip(*workers, strict=True))
    p, rng = len(times), np.random.default_rng(seed)
    out, back = (rng.permutation(p).astype(np.int32) for _ in range(2))
    given = times, costs, z * costs
    bound = divisible_bound(*given)
    _, _, shares, makespan, _ = divisible_orders(*given, out, back, 0, 0.0)
    assert makespan == pytest.approx(makespan_of_orders(*given, tuple(out), tuple(back)), rel=1e-9)
    assert shares.sum() == pytest.approx(1)
    found = divisible_orders(*given, out, back, 500, bound)
    assert bound <= found[3] <= makespan
    assert found[3] == pytest.approx(
        makespan_of_orders(*given, tuple(found[0]), tuple(found[1])), rel=1e-9
    )


def test_search():
    rng = np.random.default_rng(0)
    times, costs = rng.uniform(0.5, 10, 9), rng.uniform(0.05, 1, 9)
    before = times.copy(), costs.copy()
    plans = {
        m: hs.divisible_load(1, times, costs, return_ratio=0.5, method=m)
        for m in ("best", "fifo", "lifo")
    }
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
    assert plan.names == ("a", "b")
    assert plan.link_costs.tolist() == [0.5, 0.25]
    labels = [label.get_text() for label in plan.plot().get_yticklabels()]
    assert "bus" in labels
    assert "optimal" in str(plan.certificate)


@pytest.mark.few(3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("load", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("z", [0.0, 5e-324, 1e-300, 0.5, 3.0, 1e300])
def test_extreme_data(load, z):
    """A right plan or a clear refusal. With two workers: the closed form of one of them alone
    bounds every plan from above."""
    plans = 0
    values, links = (
        [5e-324, 2.3e-308, 1e-300, 1e-12, 1.0, 1e300, 1e308, INF],
        [0.0, 5e-324, 1e-300, 1.0, 1e300],
    )
    for times in ((a, b) for a in values for b in values if a < b):
        for costs in ((a, b) for a in links for b in links):
            try:
                plan = hs.divisible_load(load, times, costs, return_ratio=z)
            except ValueError as error:
                assert "flows: give times or the load in a" in str(error)  # noqa: PT017
                continue
            plans += 1
            assert plan.optimal
            assert plan.shares.sum() == pytest.approx(load, rel=1e-12)
            assert max(step.end for step in plan.steps()) == pytest.approx(plan.makespan, rel=1e-12)
            alone = min(
                Fraction(t) + Fraction(c) + Fraction(z * c)
                for t, c in zip(times, costs, strict=True)
                if t < INF
            )
            assert 0 < Fraction(plan.makespan) <= alone * Fraction(load) * (1 + Fraction(1e-12))
    assert plans > 0


def test_one_worker():
    for time, cost, z in ((1.0, 0.0, 0.0), (3.0, 0.1, 1e-300), (1e-3, 7.0, 4.0)):
        plan = hs.divisible_load(5, [time], [cost], return_ratio=z)
        assert plan.makespan == pytest.approx(5 * (time + cost + z * cost), rel=1e-15)
        assert plan.shares.tolist() == [5.0]
        assert plan.optimal


@pytest.mark.slow
def test_ctrl_c_ends_the_search():
    program = """
        import time
        import numpy as np, hetsched as hs
        rng = np.random.default_rng(0)
        times, costs = rng.uniform(0.5, 10, 2000), rng.uniform(0.05, 1, 2000) / 2000
        print("ready", flush=True)
        try:
            for _ in range(100):
                hs.divisible_load(1, times, costs, return_ratio=0.5)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), flush=True)
        print(hs.divisible_load(1, [1], 0).makespan)
        """
    assert interrupted(program) == ["1.0"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hs.divisible_load(0, [1]), ValueError, "load must be greater than 0"),
        (lambda: hs.divisible_load(1, [0]), ValueError, r"cycle_times\[0\] must be positive"),
        (
            lambda: hs.divisible_load(1, [1], [1, 2]),
            ValueError,
            "link_costs must be a number or have 1 entries",
        ),
        (
            lambda: hs.divisible_load(1, [1, 2], [1, -2]),
            ValueError,
            r"link_costs\[1\] must be finite and not negative",
        ),
        (lambda: hs.divisible_load(1, [1], INF), ValueError, "link_costs must be finite"),
        (
            lambda: hs.divisible_load(1, [1], 1, return_ratio=-1),
            ValueError,
            "return_ratio must be at least 0",
        ),
        (
            lambda: hs.divisible_load(1, [1], 1, method="x"),
            ValueError,
            "method must be one of best, fifo, lifo, got 'x'",
        ),
        (lambda: hs.divisible_load(1e300, [1e300], 1), ValueError, "overflows"),
        (lambda: hs.divisible_load(1, [1, 1e308], 1e308), ValueError, "overflows"),
        (
            lambda: hs.divisible_load(1e-300, [1e-300], 0),
            ValueError,
            "makespan or a share underflows",
        ),
        (lambda: hs.divisible_load(1, [INF, INF], 1), ValueError, "all infinite"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
