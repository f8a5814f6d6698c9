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


def test_plans_with_messages_are_refused():
    plan = hs.min_time(9, hs.Platform.star([3, 5]), 1.0)
    with pytest.raises(
        TypeError, match="drift is for plans without messages and waits, got a MinT"
    ):
        hs.simulate(plan, drift=[])
