"""`hs.simulate(plan, drift=)`: workers whose speeds change, against exact arithmetic that takes one
small piece of work after the other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs

PLANS = {
    "distribute": lambda p: hs.distribute(40, p),
    "profile": lambda p: hs.distribute_profile(40, p),
    "zones by profile": lambda p: hs.partition_profile((6, 7), p),
    "partition": lambda p: hs.partition(p, "columns", (12, 10)),
    "cuboids": lambda p: hs.cuboids(p, shape=(12, 10, 5)),
}
TIMES = st.lists(st.integers(1, 9), min_size=3, max_size=3)


def end_by_pieces(work, own, changes):
    """When a worker ends that has `work` left, in units of work; exact."""
    now = Fraction(0)
    moments = [(Fraction(0), own), *changes]
    for (_, time), (until, _) in zip(moments, [*moments[1:], (None, None)], strict=True):
        possible = None if until is None else (until - now) / time
        if possible is None or possible >= work:
            return now + work * time
        work -= possible
        now = until
    raise AssertionError


@pytest.mark.parametrize("kind", PLANS)
@given(own=TIMES, later=st.lists(st.tuples(st.integers(1, 60), TIMES), max_size=3))
def test_ends(kind, own, later):
    later = sorted(dict(later).items())
    plan = PLANS[kind](hs.Platform.star(own))
    found = hs.simulate(plan, drift=[(time, hs.Platform.star(times)) for time, times in later])
    for step in plan.steps():
        w = step.worker
        work = Fraction(step.end) / own[w]
        exact = end_by_pieces(
            work, Fraction(own[w]), [(Fraction(time), times[w]) for time, times in later]
        )
        (end,) = [event.end for event in found.events if event[:2] == (w, "compute")]
        assert end == pytest.approx(float(exact))
    assert found.makespan == found.predicted
    assert found.makespan >= found.ideal * (1 - 1e-12)


STAR = {"link_costs": [0.5, 0.25, 1.0]}
LINKS = [[0, 1, 2], [1, 0, 1], [2, 3, 0]]


def star(times):
    return hs.Platform.star(times, **STAR)


def complete(times):
    return hs.Platform.complete(times, LINKS)


#: Plans in which workers wait for messages or for each other, and their platforms.
WAITING = {
    "once": (star, lambda p: hs.plan_matmul(900, 800, 700, p, method="rectangles")),
    "layers": (star, lambda p: hs.plan_matmul(900, 800, 700, p, method="layers")),
    "pcss": (star, lambda p: hs.plan_matmul(900, 800, 700, p, method="layers", **PCSS)),
    "messages": (complete, lambda p: hs.plan_matmul(900, 800, 700, p, method="columns")),
    "sequential": (
        complete,
        lambda p: hs.plan_matmul(96, 96, 96, p, communication="sequential", block=32),
    ),
    "dynamic": (star, lambda p: hs.dynamic_product(5, p)),
    "divisible": (star, lambda p: hs.divisible_load(20, p, return_ratio=0.5)),
    "max_tasks": (star, lambda p: hs.max_tasks(60, p.cycle_times, send=1, receive=[2, 1, 1])),
    "min_time": (star, lambda p: hs.min_time(12, p.cycle_times, send=2)),
    "lu_pattern": (star, lambda p: hs.lu_pattern(9, p)),
    "lu_grid": (star, lambda p: hs.lu_grid(6, p)),
    "ring": (complete, lambda p: hs.slice_ring(p, work=30, volume=1)),
}
PCSS = {"communication": "pcss"}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", WAITING)
@given(own=TIMES, other=TIMES, when=st.integers(1, 60))
def test_plans_with_waits(kind, own, other, when):
    platform, make = WAITING[kind]
    plan, later = make(platform(own)), platform(other)
    usual = hs.simulate(plan)
    moment = when / 60 * usual.makespan
    same = hs.simulate(plan, drift=[(moment, platform(own))])
    assert same.finish == pytest.approx(usual.finish)
    after = hs.simulate(plan, drift=[(usual.makespan * (1 + 1e-9), later)])
    assert after.makespan == pytest.approx(usual.makespan)
    changed = hs.simulate(plan.on(later))
    at_once = hs.simulate(plan, drift=[(0.0, later)])
    assert at_once.makespan == pytest.approx(changed.makespan)
    assert at_once.finish == pytest.approx(changed.finish)
    found = hs.simulate(plan, drift=[(moment, later)])
    slowest = platform([max(a, b) for a, b in zip(own, other, strict=True)])
    fastest = platform([min(a, b) for a, b in zip(own, other, strict=True)])
    least, most = (hs.simulate(plan.on(p)).makespan for p in (fastest, slowest))
    assert least * (1 - 1e-9) <= found.makespan <= most * (1 + 1e-9)
    # what happens before the change is as planned
    done = [e for e in usual.events if e.end <= moment and e.kind != "wait"]
    events = {(e.worker, e.kind, e.what, round(e.end, 9)) for e in found.events}
    assert {(e.worker, e.kind, e.what, round(e.end, 9)) for e in done} <= events


@given(own=TIMES, later=st.lists(st.tuples(st.integers(1, 60), TIMES), max_size=3))
def test_steps_of_lu_one_after_the_other(own, later):
    later = sorted(dict(later).items())
    plan = hs.lu_pattern(7, own)
    found = hs.simulate(plan, drift=[(t, hs.Platform.star(times)) for t, times in later])
    left, now = plan.counts.tolist(), Fraction(0)
    for pivot in plan.owner[:-1].tolist():
        left[pivot] -= 1
        ends = []
        for i, count in enumerate(left):
            changes = [(Fraction(t) - now, times[i]) for t, times in later if t > now]
            past = [times[i] for t, times in later if t <= now]
            speed = Fraction(past[-1] if past else own[i])
            ends.append(now + end_by_pieces(Fraction(count), speed, changes))
        now = max(ends)
    assert found.makespan == pytest.approx(float(now))


def test_without_change_nothing_changes():
    star = hs.Platform.star([3, 5, 8])
    plan = hs.distribute(40, star)
    usual = hs.simulate(plan)
    for drift in ([], [(0.0, star)], [(7.0, star), (9.0, star)], [(1e9, star.replace(P0=1))]):
        assert hs.simulate(plan, drift=drift) == usual


def test_from_the_start_it_is_the_other_platform():
    plan = hs.distribute(40, hs.Platform.star([3, 5, 8]))
    other = hs.Platform.star([4, 4, 9])
    found = hs.simulate(plan, drift=[(0, other)])
    assert found.makespan == hs.simulate(plan, other).makespan
    assert found.ideal == pytest.approx(hs.simulate(plan, other).ideal)


def test_units_are_converted():
    seconds = hs.Platform.star([3, 5], unit=hs.Unit.gigaflop())
    plan = hs.distribute(40, seconds)
    million = seconds.replace(P0=30).to(hs.Unit("megaflop", "megabyte", 1e6, 1e6))
    found = hs.simulate(plan, drift=[(6.0, million)])
    assert found.makespan == pytest.approx(
        hs.simulate(plan, drift=[(6.0, seconds.replace(P0=30))]).makespan
    )


@pytest.mark.parametrize(
    ("drift", "error", "words"),
    [
        (7, TypeError, "drift must be a sequence"),
        ([7], TypeError, r"drift\[0\] must be \(time, Platform\), got 7"),
        ([(1, [3, 5])], TypeError, r"drift\[0\] must be \(time, Platform\), got a list"),
        ([(1, hs.Platform.star([3]))], ValueError, r"drift\[0\] has 1 workers, the plan is for 2"),
        (
            [(-1, hs.Platform.star([3, 5]))],
            ValueError,
            r"the time of drift\[0\] must be at least 0",
        ),
        ([(np.nan, hs.Platform.star([3, 5]))], ValueError, "must be finite"),
        ([(2, hs.Platform.star([3, 5]))] * 2, ValueError, "times of drift must increase, got 2 at"),
    ],
)
def test_refused(drift, error, words):
    with pytest.raises(error, match=words):
        hs.simulate(hs.distribute(40, [3, 5]), drift=drift)


def test_other_kinds_are_refused():
    plan = hs.wavefront(9, 9, [3, 5])
    with pytest.raises(TypeError, match="drift cannot be simulated for a Wavefront"):
        hs.simulate(plan, drift=[(1.0, hs.Platform.star([3, 5]))])
