"""Runs that look up: slices and zones that move where speeds change, beside a replay of every
decision that shares nothing."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from oracles.stencil import iterated

import hetsched as hs
from hetsched.planners.partition import gained
from hetsched.planners.remap import messages, transfers
from hetsched.runners import stencil as slices
from hetsched.runners import zones
from hetsched.runners.watch import Choice, Watch, rates
from hetsched.runners.workers import Workers

LINKS = [[0, 2, 9], [4, 0, 3], [9, 1, 0]]
AT_FIRST, LATER = hs.Platform.complete([3, 5, 8], LINKS), hs.Platform.complete([9, 5, 4], LINKS)
STAR, OTHER = hs.Platform.star([3, 5, 8], [5, 9, 2]), hs.Platform.star([9, 5, 4], [5, 9, 2])
SCALE = 10.0


@pytest.fixture(scope="module")
def ring():
    with hs.Pool(AT_FIRST, emulate=True, time_scale=SCALE) as pool:
        yield pool


@pytest.fixture(scope="module")
def star():
    with hs.Pool(STAR, emulate=True, time_scale=2 * SCALE) as pool:
        yield pool


@pytest.fixture(scope="module")
def real():
    with hs.Pool(3) as pool:
        yield pool


# ---- messages ------------------------------------------------------------------------------------


@given(data=st.data())
def test_messages_one_at_a_time_and_within_twice_the_least(data):
    p = data.draw(st.integers(1, 6))
    entry = st.integers(0, 9).map(lambda x: x / 4)
    times = np.array([[data.draw(entry) if i != j else 0.0 for j in range(p)] for i in range(p)])
    found = messages(times)
    assert sorted((i, j, Fraction(end) - Fraction(start)) for i, j, start, end in found) == sorted(
        (i, j, Fraction(times[i, j])) for i in range(p) for j in range(p) if times[i, j]
    )
    assert [end for *_, end in found] == sorted(end for *_, end in found)
    for worker in range(p):
        own = sorted((start, end) for i, j, start, end in found if worker in (i, j))
        assert all(end <= start for (_, end), (start, _) in zip(own[:-1], own[1:], strict=True))
    busiest = max(times.sum(0) + times.sum(1))
    assert found == [] or found[-1][3] < 2 * busiest


def test_who_gets_what():
    before, after = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2])
    assert transfers(before, after, 3).tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


@given(st.data())
def test_gained_cells_counted_one_by_one(data):
    p = data.draw(st.integers(1, 5))
    shape = data.draw(st.integers(3, 9)), data.draw(st.integers(3, 9))
    draw = st.lists(st.integers(1, 9), min_size=p, max_size=p)
    plans = [hs.partition(data.draw(draw), shape=shape) for _ in range(2)]
    owners = [np.full(shape, -1), np.full(shape, -1)]
    for owner, plan in zip(owners, plans, strict=True):
        for worker, row, col, height, width in plan.pieces.tolist():
            owner[row : row + height, col : col + width] = worker
    want = [int(((owners[1] == i) & (owners[0] != i)).sum()) for i in range(p)]
    assert gained(plans[0].pieces, plans[1].pieces, p).tolist() == want


# ---- when to look, and whether to move -----------------------------------------------------------


@pytest.mark.slow
@given(
    steps=st.integers(0, 40),
    every=st.none() | st.integers(1, 12),
    at=st.lists(st.integers(0, 50), max_size=4, unique=True).map(sorted),
)
def test_stretches(steps, every, at):
    workers = Workers(STAR, True, 100.0)
    platforms = [hs.Platform.star([4 + k, 5, 8]) for k in range(len(at))]
    watch = Watch(workers, steps, every, list(zip(at, platforms, strict=True)))
    seen = {}
    for part in watch.stretches():
        assert part.end > part.first
        for step in range(part.first, part.end):
            assert step not in seen
            seen[step] = part.workers.platform
        assert part.checks_division == (
            every is not None and part.end % every == 0 and part.end < steps
        )
        if every is not None:
            assert part.first // every == (part.end - 1) // every
    assert sorted(seen) == list(range(steps))
    for step, platform in seen.items():
        earlier = [k for k in range(len(at)) if at[k] <= step]
        assert platform is (platforms[earlier[-1]] if earlier else STAR)


def test_moves_when_the_loss_has_reached_the_price():
    workers = Workers(STAR, True, 100.0)
    choice = Choice(2.0, 1.0, "new")
    watch = Watch(workers, 100, 1, None)
    assert [watch.better(2.4, 50, [choice]) for _ in range(3)] == [None, None, choice]
    # it begins again
    assert [watch.better(2.4, 50, [choice]) for _ in range(3)] == [None, None, choice]
    assert watch.better(2.4, 2, [choice]) is None  # does not pay any more
    assert watch.better(2.0, 50, [choice]) is None
    cheap = Choice(2.1, 0.0, "cheap")
    assert Watch(workers, 100, 1, None).better(2.4, 2, [choice, cheap]) is cheap
    # the better one costs
    assert Watch(workers, 100, 1, None).better(2.4, 50, [choice, cheap]) is None


def test_rates_are_those_of_the_median_step():
    events = [
        (0, "compute", 0.0, 1.0, 0),
        (0, "compute", 1.0, 9.0, 2),
        (0, "compute", 9.0, 10.0, 4),
    ]
    events += [(0, "transfer", 0.0, 5.0, 1)]
    work, known = np.array([2.0, 1.0, 0.0]), np.array([7.0, 8.0, 9.0])
    assert rates(events, work, known).tolist() == [0.5, 8.0, 9.0]
    assert rates(events, work, known, np.array([0.5, 9.0, 9.0])).tolist() == [0.25, 8.0, 9.0]
    assert rates(events, work, known, np.full(3, 2.0)).tolist() == [7.0, 8.0, 9.0]


# ---- slices --------------------------------------------------------------------------------------


def matrix(m, n, dtype="d"):
    return np.random.default_rng(m * n).standard_normal((m, n)).astype(dtype)


@given(
    m=st.integers(1, 9), n=st.integers(1, 30), steps=st.integers(0, 9), every=st.integers(1, 10),
    dtype=st.sampled_from("fd"), in_place=st.booleans(), trace=st.booleans(),
)  # fmt: skip
def test_the_same_bits_on_real_workers(real, m, n, steps, every, dtype, in_place, trace):
    array = matrix(m, n, dtype)
    given_array = array.copy()
    found = real.stencil(
        given_array, steps, rebalance=every, out=given_array if in_place else None, trace=trace
    )
    result = found[0] if trace else found
    np.testing.assert_array_equal(result, iterated(array, steps, 0.25))
    assert (result is given_array) == in_place
    if not in_place:
        np.testing.assert_array_equal(given_array, array)
    if trace:
        # nothing moves in shared memory
        assert not any("column" in e.what for e in found[1].events)
        updates = [e for e in found[1].events if e.kind == "compute"]
        assert {e.what for e in updates} == {f"step {k}" for k in range(steps)}


def step_time(counts, order, times, links, rows, itemsize):
    """Of a member, seven flops an element and a column to and fro each neighbour."""
    worst = Fraction(0)
    for k, i in enumerate(order):
        own = Fraction(7 * (rows - 2) * counts[i], 10**9) * Fraction(times[i])
        if len(order) > 1:
            for j in (order[(k + 1) % len(order)], order[k - 1]):
                own += Fraction((rows - 2) * itemsize, 10**9) * Fraction(links[i][j])
        worst = max(worst, own)
    return worst


def test_drift_without_looking_is_the_old_plan_on_the_new_platform(ring):
    array = matrix(300, 400)
    plan = ring.plan_stencil(300, 400, 12)
    result, trace = ring.stencil(array, 12, plan=plan, drift=[(5, LATER)], trace=True)
    np.testing.assert_array_equal(result, iterated(array, 12, 0.25))
    counts, order = plan.counts.tolist(), plan.ring.tolist()
    parts = [(5, [3, 5, 8]), (7, [9, 5, 4])]
    want = sum(n * step_time(counts, order, times, LINKS, 300, 8) for n, times in parts)
    assert trace.predicted == pytest.approx(SCALE * float(want), rel=1e-12)
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    assert max(trace.predicted_finish) == pytest.approx(trace.predicted, rel=1e-12)
    work = Fraction(7 * 298 * 400, 10**9)
    ideal = sum(n * work / sum(1 / Fraction(t) for t in times) for n, times in parts)
    assert trace.ideal == pytest.approx(SCALE * float(ideal), rel=1e-12)


def seen(monkeypatch, module, *looks):
    """What each look finds, in the place of what a busy host makes of it: the last one for ever."""
    left = [np.array(times, float) for times in looks]
    monkeypatch.setattr(module, "rates", lambda *_: left.pop(0) if len(left) > 1 else left[0])


def test_slices_move_once_that_pays(ring, monkeypatch):
    array = matrix(300, 400)
    plan = ring.plan_stencil(300, 400, 40)
    seen(monkeypatch, slices, [3, 5, 8], [9, 5, 4])
    result, trace = ring.stencil(array, 40, plan=plan, drift=[(5, LATER)], rebalance=5, trace=True)
    np.testing.assert_array_equal(result, iterated(array, 40, 0.25))
    order, counts = plan.ring.tolist(), plan.counts.tolist()
    moved = [e for e in trace.events if "columns from" in e.what]
    # the loss of one stretch is more than the price, so that all is as the plan of the new speeds
    # from step 10 on
    with hs.Pool(LATER, emulate=True, time_scale=SCALE) as pool:
        later = min(
            (pool.plan_stencil(300, 400, 30, ring=x) for x in (order, None)),
            key=lambda x: x.makespan,
        )
    assert later.ring.tolist() == order
    # along the ring: the member in the middle receives and sends at the same time
    told = {(int(e.what[-1]), e.worker): int(re.match(r"\d+", e.what)[0]) for e in moved}
    left = np.cumsum([plan.counts[i] - later.counts[i] for i in order])[:2].tolist()
    assert min(left) > 0
    assert told == {(order[k], order[k + 1]): left[k] for k in range(2)}
    column = 300 * 8 / 1e9 * SCALE
    end = max(column * n * LINKS[i][j] for (i, j), n in told.items())
    parts = [(5, counts, [3, 5, 8]), (5, counts, [9, 5, 4]), (30, later.counts.tolist(), [9, 5, 4])]
    steps = sum(n * step_time(own, order, times, LINKS, 300, 8) for n, own, times in parts)
    assert trace.predicted == pytest.approx(SCALE * float(steps) + end, rel=1e-9)
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    # every message lasts as long as its columns take on the link, and nobody computes meanwhile
    for e in moved:
        length = told[int(e.what[-1]), e.worker] * column * LINKS[int(e.what[-1])][e.worker]
        assert e.end - e.start >= length * (1 - 1e-9)
    begin = min(e.start for e in moved)
    assert not any(e.kind == "compute" and e.start < begin < e.end - 1e-9 for e in trace.events)


def test_columns_go_directly_where_that_is_sooner():
    """Past a neighbour behind a slow link, and where the order of the ring changes."""
    links = np.array([[0, 50, 1], [50, 0, 50], [1, 50, 0]]) * 1.0
    with hs.Pool(hs.Platform.complete([3, 5, 8], links), emulate=True, time_scale=SCALE) as pool:
        plans = [
            pool.plan_stencil(30, 90, 1, ring=order) for order in ([0, 1, 2], [0, 2, 1], [2, 0])
        ]
    counts = [dict(enumerate(plan.counts.tolist())) for plan in plans]
    assert all(n for n in counts[0].values())
    for plan, other in ((0, 1), (1, 0), (0, 2), (2, 1)):
        moves = slices._moves(plans[plan], plans[other], links)
        held = transfers(plans[plan].owners, plans[other].owners, 3)
        direct = messages(held * links)
        assert moves[-1][-1] <= direct[-1][-1]
        net = np.zeros(3, int)
        for sender, receiver, items, start, end in moves:
            assert end >= start + items * links[sender, receiver] * (1 - 1e-12)
            net[[sender, receiver]] += -items, items
        assert (plans[plan].counts + net == plans[other].counts).all()


def test_overheads_stay_when_slices_move(monkeypatch):
    """They are no part of the speeds that are measured, and of every new plan."""
    array, fixed = matrix(300, 400), [2e-4, 0.0, 1e-4]
    asked = []
    monkeypatch.setattr(
        slices, "rates", lambda *given: asked.append(given) or np.array([9.0, 5.0, 4.0])
    )
    with hs.Pool(AT_FIRST, emulate=True, time_scale=SCALE) as pool:
        plan = pool.plan_stencil(300, 400, 40, overheads=fixed)
        result, trace = pool.stencil(
            array, 40, plan=plan, drift=[(5, LATER)], rebalance=10, trace=True
        )
    np.testing.assert_array_equal(result, iterated(array, 40, 0.25))
    assert [given[3].tolist() for given in asked] == [pytest.approx(SCALE * np.array(fixed))] * 3
    with hs.Pool(LATER, emulate=True, time_scale=SCALE) as pool:
        order = plan.ring.tolist()
        later = pool.plan_stencil(300, 400, 30, ring=order, overheads=fixed)
    moved = max(e.end for e in trace.events if "columns" in e.what)
    assert moved > 0
    old = [own.step_time for own in (plan, plan.on(LATER), later)]
    steps = 5 * old[0] + 5 * old[1] + 30 * old[2]
    assert trace.predicted >= SCALE * steps * (1 - 1e-9)
    assert trace.predicted < SCALE * steps * 1.3


def test_nothing_moves_where_nothing_changes_or_little_is_left(ring, monkeypatch):
    array = matrix(200, 200)
    plan = ring.plan_stencil(200, 200, 20)
    seen(monkeypatch, slices, [3, 5, 8])
    _, trace = ring.stencil(array, 20, plan=plan, rebalance=4, trace=True)
    assert not any("columns" in e.what for e in trace.events)
    assert trace.predicted == pytest.approx(SCALE * plan.makespan, rel=1e-9)
    dear = hs.Platform.complete([3, 5, 8], 1e4 * np.array(LINKS))
    late = hs.Platform.complete([9, 5, 4], 1e4 * np.array(LINKS))
    seen(monkeypatch, slices, [9, 5, 4])
    with hs.Pool(dear, emulate=True, time_scale=SCALE / 4) as pool:
        alone = pool.plan_stencil(60, 40, 6, ring=[0, 1, 2])
        _, trace = pool.stencil(
            matrix(60, 40), 6, plan=alone, rebalance=2, drift=[(1, late)], trace=True
        )
    assert not any("columns" in e.what for e in trace.events)


def test_errors_of_slices(ring, real):
    array = matrix(5, 6)
    kept = array.copy()
    for change, error, words in [
        ({"rebalance": 0}, ValueError, r"rebalance must be in \[1, "),
        ({"rebalance": 1.5}, (TypeError, ValueError), "rebalance must be an integer"),
        ({"drift": 3}, TypeError, "drift must be a sequence"),
        ({"drift": [LATER]}, TypeError, r"drift\[0\] must be a step and a Platform"),
        (
            {"drift": [(1, LATER), (1, LATER)]},
            ValueError,
            r"drift\[1\]\[0\] must be a later step than 1",
        ),
        (
            {"drift": [(1, hs.Platform.star([1, 2]))]},
            ValueError,
            r"drift\[0\]\[1\] has 2 workers, the pool has 3",
        ),
        ({"drift": [(-1, LATER)]}, ValueError, r"drift\[0\]\[0\] must be in \[0, "),
        (
            {"drift": [(1, hs.Platform.complete([1e-9] * 3, LINKS))]},
            ValueError,
            r"^drift\[0\]\[1\]: .*too fast",
        ),
    ]:
        with pytest.raises(error, match=words):
            ring.stencil(array, 4, out=array, **change)
    with pytest.raises(ValueError, match="drift is for emulated workers"):
        real.stencil(array, 4, out=array, drift=[(1, LATER)])
    np.testing.assert_array_equal(array, kept)


# ---- zones ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("communication", "dtype"),
    [
        ("once", "f"),
        ("sequential", "D"),
        ("parallel", "f"),
        *many([("once", "D"), ("sequential", "f"), ("parallel", "D")], []),
    ],
)
def test_zones_move_and_the_product_is_right(star, communication, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    m, n, k = 117, 128, 95  # blocks of 10, the last of each smaller
    A, B, C = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
    plan = hs.partition(STAR, shape=(12, 13))
    want = 2 * (A.astype("D") @ B.astype("D")) - C
    options = {"communication": communication, "drift": [(2, OTHER)], "trace": True}
    static = star.run(plan, A, B, C.copy(), 2.0, -1.0, **options)[1]
    seen(monkeypatch, zones, [3, 5, 8], [3, 5, 8], [9, 5, 4])
    found, trace = star.run(plan, A, B, C.copy(), 2.0, -1.0, **options, rebalance=1)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-4 if dtype == "f" else 1e-12)
    moved = [e for e in trace.events if e.what == "cells of C"]
    assert trace.predicted < 0.85 * static.predicted
    assert trace.makespan >= trace.predicted * (1 - 1e-9)
    assert len({e.start for e in moved}) == (1 if communication == "parallel" else len(moved))
    gains = gained(plan.pieces, plan.recut([1 / 9, 1 / 5, 1 / 4]).plan.pieces, 3)
    fresh = gained(plan.pieces, hs.partition([1 / 9, 1 / 5, 1 / 4], plan.asked, (12, 13)).pieces, 3)
    assert {e.worker for e in moved} in (
        {*np.flatnonzero(gains).tolist()},
        {*np.flatnonzero(fresh).tolist()},
    )


def test_rates_of_a_product(star):
    A, B = matrix(60, 40), matrix(40, 50)
    plan = star.plan(60, 50, 40, method="columns")
    trace = star.run(plan, A, B, trace=True)[1]
    busy = np.array(trace.total("compute")) / (plan.flops / 1e9) / 4
    assert zones.rates(trace, plan, np.ones(3), 4.0).tolist() == pytest.approx(busy.tolist())


def test_zones_without_drift_are_the_plan(star, real):
    A, B = matrix(60, 40), matrix(40, 50)
    plan = hs.partition(STAR, shape=(6, 5))
    own = star.run(plan, A, B, communication="sequential", trace=True)[1]
    found, trace = star.run(plan, A, B, communication="sequential", rebalance=100, trace=True)
    np.testing.assert_allclose(found, A @ B, atol=1e-12)
    assert (trace.predicted, trace.ideal) == pytest.approx((own.predicted, own.ideal), rel=1e-12)
    assert trace.predicted_finish == pytest.approx(own.predicted_finish, rel=1e-12)
    np.testing.assert_allclose(real.run(plan, A, B, rebalance=1), A @ B, atol=1e-12)
    empty = star.run(plan, A[:, :0], B[:0], np.ones((60, 50)), 1.0, 3.0, rebalance=1)
    assert (empty == 3.0).all()


def test_errors_of_zones(star, real):
    A = np.ones((6, 6))
    plan = hs.partition(STAR, shape=(6, 6))
    with pytest.raises(
        TypeError, match="plan must be a partition for rebalance and drift, got a ProductPlan"
    ):
        real.run(real.plan(6, 6, 6), A, A, rebalance=1)
    with pytest.raises(TypeError, match="rebalance, drift and layers are for products"):
        real.run(hs.max_tasks(5.0, [1, 1, 1], send=0.5), abs, [1, 2], rebalance=1)
    with pytest.raises(ValueError, match="order is for a plan of plan_product, got 'demand' with"):
        star.run(plan, A, A, rebalance=1, order="demand")
    with pytest.raises(ValueError, match=r"rebalance must be in \[1, "):
        star.run(plan, A, A, rebalance=0)
    given_rects = hs.partition([3, 5, 8], rects=plan.rects, shape=(6, 6))
    with pytest.raises(ValueError, match="no cuts to move"):
        star.run(given_rects, A, A, rebalance=1)
    with pytest.raises(ValueError, match="too fast"):
        star.run(plan, A, A, drift=[(1, hs.Platform.star([1e-9] * 3))])
