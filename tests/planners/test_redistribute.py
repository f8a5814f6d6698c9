"""redistribute: against all schedules of small rings, the paper's closed forms, and what every plan
must be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from inputs import many
from oracles.redistribution import fastest, least_busy, unbalanced
from validators import validate

import hetsched as hs


def random_counts(rng, q, items, least=0):
    """Two divisions of the items among q members."""
    return [
        (rng.multinomial(items, rng.dirichlet(np.full(q, 0.8))) + least).tolist() for _ in range(2)
    ]


def around(links, step):
    """Links of each member to the next one (step 1) or the previous one (-1)."""
    q = len(links)
    return [links[k][(k + step) % q] for k in range(q)]


@pytest.mark.few(1)
@pytest.mark.parametrize("q", [2, 3, 4])
def test_against_all_schedules(q):
    """Bounds are bounds, and what is called optimal is; one way it always is."""
    rng = np.random.default_rng(q)
    optimal = apart = 0
    for _ in range(many(60, 25) if q < 4 else many(25, 10)):
        before, after = random_counts(rng, q, int(rng.integers(0, 8 if q < 4 else 6)))
        links = rng.integers(1, 4, (q, q))
        for one_way, rotate in ((False, True), (True, True), (False, False)):
            plan = hs.redistribute(before, after, links, one_way=one_way, rotate=rotate)
            validate(plan)
            ways = around(links, 1), None if one_way else around(links, -1)
            best = fastest(before, after, *ways, rotate)
            assert plan.lower_bound <= best * (1 + 1e-12)
            assert plan.makespan >= best * (1 - 1e-12)
            if plan.optimal:
                assert plan.makespan == pytest.approx(best, rel=1e-12)
            assert plan.optimal or not one_way
            optimal += plan.optimal and best > 0
            apart += plan.makespan > best * (1 + 1e-12)
    assert optimal > 2 * apart


@pytest.mark.parametrize("seed", range(many(30, 10)))
def test_the_bound_is_at_least_that_of_the_ports_over_all_flows(seed):
    rng = np.random.default_rng(seed)
    q = int(rng.integers(1, 7))
    before, after = random_counts(rng, q, int(rng.integers(0, 60)))
    links = rng.choice([0.0, 0.3, 1.0, 7.0], (q, q))
    fractions = [[Fraction(x) for x in row] for row in links.tolist()]
    for rotate in (True, False):
        plan = hs.redistribute(before, after, links, rotate=rotate)
        validate(plan)
        want = least_busy(before, after, around(fractions, 1), around(fractions, -1), rotate)
        assert plan.lower_bound >= float(want) * (1 - 1e-12)


@pytest.mark.parametrize("seed", range(many(30, 10)))
def test_closed_forms_of_the_paper(seed):
    """Equal links, and items everywhere before and after: optimal in both cases."""
    rng = np.random.default_rng(seed)
    q = int(rng.integers(2, 9))
    before, after = random_counts(rng, q, int(rng.integers(0, 80)), least=1)
    extra = max(abs(a - b) for a, b in zip(before, after, strict=True))
    most = unbalanced(before, after)
    both = hs.redistribute(before, after, 0.5)
    assert both.optimal
    assert both.makespan == 0.5 * max(extra, -(-most // 2))
    one = hs.redistribute(before, after, 0.5, one_way=True)
    assert one.makespan == 0.5 * most
    links = rng.uniform(1, 3, (q, q))
    one = hs.redistribute(before, after, links, one_way=True)
    assert one.makespan == pytest.approx(max(one.flows * around(links, 1)), rel=1e-12)
    for plan in (both, one):
        validate(plan)


@pytest.mark.parametrize("seed", range(many(30, 10)))
def test_light_redistributions_are_optimal(seed):
    """No member sends more than it has at first: the busiest port decides, for any links."""
    rng = np.random.default_rng(seed)
    q = int(rng.integers(2, 9))
    before = rng.integers(50, 90, q)
    shift = rng.integers(-9, 10, q)
    after = before + shift - np.roll(shift, 1)
    plan = hs.redistribute(before, after, rng.uniform(1, 9, (q, q)))
    validate(plan)
    sent = np.maximum(plan.flows, 0) + np.maximum(-np.roll(plan.flows, 1), 0)
    assert (sent <= before).all()
    assert plan.optimal
    assert plan.scope == "all redistributions"


class TestChains:
    """One way, through members that have nothing: the sender waits for each item."""

    def test_slow_first_link(self):
        plan = hs.redistribute(
            [5, 0, 0], [0, 0, 5], [[0, 3, 9], [9, 0, 2], [9, 9, 0]], one_way=True
        )
        assert plan.makespan == 5 * 3 + 2
        assert plan.messages == [
            (0, 1, 5, 0.0, 15.0, 3.0),
            (1, 2, 5, 3.0, 17.0, 3.0),
        ]
        assert [(s.worker, s.start, s.end, s.what) for s in plan.steps()][-2:] == [
            (2, 12.0, 14.0, "1 from P1"),
            (2, 15.0, 17.0, "1 from P1"),
        ]

    def test_fast_first_link(self):
        plan = hs.redistribute(
            [5, 0, 0], [0, 0, 5], [[0, 2, 9], [9, 0, 3], [9, 9, 0]], one_way=True
        )
        assert plan.makespan == 2 + 5 * 3
        assert [(s.worker, s.start, s.end, s.what) for s in plan.steps()] == [
            (1, 0.0, 10.0, "5 from P0"),
            (2, 2.0, 17.0, "5 from P1"),
        ]

    def test_the_sender_catches_up(self):
        """Its own items take until 4, and then those that arrived meanwhile follow."""
        plan = hs.redistribute(
            [6, 2, 0], [0, 0, 8], [[0, 3, 9], [9, 0, 2], [9, 9, 0]], one_way=True
        )
        assert [m[2:4] for m in plan.messages if m.sender == 1] == [(3, 0.0), (5, 6.0)]
        assert plan.makespan == 6 * 3 + 2

    def test_no_more_rows_for_many_items(self):
        plan = hs.redistribute(
            [2**50, 0, 0], [0, 0, 2**50], [[0, 3, 9], [9, 0, 2], [9, 9, 0]], one_way=True
        )
        assert len(plan.messages) == 2
        with pytest.raises(ValueError, match="more than 3000000 entries"):
            hs.simulate(plan)


def test_arrivals_prove_more_than_ports():
    """The last of four items comes after the three before it, and by one link more."""
    plan = hs.redistribute([4, 0, 0], [0, 0, 4], 1.0, rotate=False)
    assert (plan.makespan, plan.lower_bound, plan.optimal) == (5.0, 5.0, True)
    other = hs.redistribute([0, 0, 4], [4, 0, 0], 1.0, rotate=False)
    assert (other.makespan, other.lower_bound, other.optimal) == (5.0, 5.0, True)


@pytest.mark.parametrize("seed", range(many(12, 6)))
def test_relations(seed):
    """Turned, mirrored and scaled rings; the way back; fewer ways to go."""
    rng = np.random.default_rng(seed)
    q = int(rng.integers(3, 7))
    before, after = map(np.array, random_counts(rng, q, 40, least=1))
    links = rng.uniform(1, 2, (q, q))
    plan = hs.redistribute(before, after, links)
    turned = hs.redistribute(before, after, links, ring=np.roll(np.arange(q), 2))
    mirrored = hs.redistribute(before, after, links, ring=np.arange(q)[::-1])
    back = hs.redistribute(after, before, links.T)
    for other in (turned, mirrored, back):
        validate(other)
        assert other.lower_bound == pytest.approx(plan.lower_bound, rel=1e-12)
    assert hs.redistribute(before, after, links, volume=4.0).makespan == 4 * plan.makespan
    assert plan.lower_bound <= hs.redistribute(before, after, links, one_way=True).makespan
    assert plan.lower_bound <= hs.redistribute(before, after, links, rotate=False).makespan
    platform = hs.Platform.complete(np.ones(q), links)
    assert hs.redistribute(before, after, platform) == plan


@pytest.mark.slow
def test_sizes():
    assert hs.redistribute([7], [7], 1.0).makespan == 0.0
    assert hs.redistribute([0, 0], [0, 0], 1.0).messages == []
    two = hs.redistribute([5, 1], [1, 5], [[0, 2], [9, 0]])
    assert (two.makespan, two.optimal) == (8.0, True)
    free = hs.redistribute([5, 1], [1, 5], 0.0)
    assert (free.makespan, free.steps(), hs.simulate(free).makespan) == (0.0, [], 0.0)
    large = hs.redistribute([2**53, 0], [0, 2**53], 1.0)
    assert large.makespan == 2.0**53
    rng = np.random.default_rng(0)
    before, after = random_counts(rng, 3000, 10**6, least=1)
    wide = hs.redistribute(before, after, 1.0)
    assert wide.optimal
    validate(wide)


def test_kept(tmp_path):
    platform = hs.Platform.complete([1.0, 2.0, 1.5], [[0, 1, 2], [3, 0, 1], [1, 1, 0]])
    plan = hs.redistribute([9, 0, 3], [4, 4, 4], platform, ring=[2, 0, 1], volume=0.5)
    plan.save(tmp_path / "moves.json")
    assert hs.Plan.load(tmp_path / "moves.json") == plan
    assert plan.on(platform).makespan == plan.makespan
    assert hs.simulate(plan).makespan == plan.makespan
    assert plan.load.tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flows": [4, -1, 0]}, "flows must lead from `before` to `after`"),
        ({"flows": [9, 4, 5]}, "flows must lead from `before` to `after`"),
        ({"flows": [2**60, 0, 0]}, r"flows"),
        ({"before": [9, 0, 2]}, "flows must lead"),
        ({"ring": [0, 0, 1]}, "ring must contain at least one worker, and no worker twice"),
        ({"ring": [0, 1, 3]}, "ring"),
        ({"makespan": 1.0}, "makespan must be"),
        ({"volume": 1e300}, r"volume \* links must be 0 or from"),
    ],
)
def test_files_are_checked(change, message):
    content = hs.redistribute([9, 0, 3], [4, 4, 4], 1.0).to_dict()
    assert content["flows"] == [4, 0, -1]
    with pytest.raises(ValueError, match=message):
        hs.Plan.from_dict(content | change)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([1, 2], [2, 2], 1.0), {}, ValueError, "after must have as many items as before"),
        (([1, 2], [3], 1.0), {}, ValueError, "after must have 2 entries"),
        (([], [], 1.0), {}, (ValueError, TypeError), "before must"),
        (([1, -2], [2, 2], 1.0), {}, ValueError, r"before\[1\] must be an integer in"),
        (([1, 2.5], [2, 2], 1.0), {}, ValueError, r"before\[1\] must be an integer in"),
        (([2**53, 1], [1, 2**53], 1.0), {}, ValueError, r"up to 2\*\*53"),
        (([1, 2], [2, 1], -1.0), {}, ValueError, "links must be at least 0"),
        (([1, 2], [2, 1], math.nan), {}, ValueError, "links must be"),
        (([1, 2], [2, 1], [[1, 1]]), {}, ValueError, r"links must have shape \(2, 2\)"),
        (([1, 2], [2, 1], hs.Platform.star([1, 2])), {}, ValueError, "Platform.complete"),
        (([1, 2], [2, 1], 1e61), {}, ValueError, r"volume \* links must be 0 or from 2\*\*-200"),
        (([1, 2], [2, 1], 1.0), {"volume": 5e-324}, ValueError, r"to 2\*\*200, got 4\.9"),
        (([1, 2], [2, 1], 1.0), {"volume": -1}, ValueError, "volume must be at least 0"),
        (([1, 2], [2, 1], 1.0), {"ring": [0, 0]}, ValueError, "ring must be a sequence of"),
        (([1, 2], [2, 1], 1.0), {"ring": [0]}, ValueError, r"before\[1\] must be 0, as worker 1"),
        (([1, 2], [2, 1], 1.0), {"one_way": "x"}, TypeError, "one_way must be True or False"),
        (
            ([1, 2], [2, 1], 1.0),
            {"one_way": True, "rotate": False},
            hs.InfeasibleError,
            "items would have to go to a previous member",
        ),
    ],
)
def test_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        hs.redistribute(*arguments, **options)


def test_latencies_against_all_schedules():
    """Each item is a message: it takes the link and the latency."""
    rng = np.random.default_rng(11)
    for _ in range(many(40, 15)):
        q = int(rng.integers(2, 4))
        before, after = random_counts(rng, q, int(rng.integers(0, 6)))
        links, latencies = rng.integers(0, 3, (q, q)), rng.integers(1, 3, (q, q))
        for one_way in (True, False):
            plan = hs.redistribute(
                before, after, links, volume=1.0, one_way=one_way, latencies=latencies
            )
            validate(plan)
            times = links + latencies
            ways = around(times, 1), None if one_way else around(times, -1)
            best = fastest(before, after, *ways, True)
            assert plan.lower_bound <= best * (1 + 1e-12)
            assert plan.makespan >= best * (1 - 1e-12)
            assert plan.optimal or not one_way
            if plan.optimal and plan.makespan:
                assert plan.scope == "all redistributions, item by item"
                assert plan.makespan == pytest.approx(best, rel=1e-12)


def test_latencies_are_kept():
    counts = [6, 0, 0], [2, 2, 2]
    plan = hs.redistribute(*counts, 1.0, volume=2.0, latencies=0.5)
    assert plan.makespan == hs.redistribute(*counts, 2.5).makespan
    assert hs.simulate(plan).makespan == plan.makespan
    assert hs.Plan.from_dict(plan.to_dict()) == plan
    faster = plan.on(hs.Platform.complete([1, 1, 1], np.full((3, 3), 0.5)))
    assert faster.makespan == hs.redistribute(*counts, 1.5).makespan
    plain = hs.redistribute(*counts, 1.0, volume=2.0, latencies=0)
    assert plain.latencies is None
    assert plain == hs.redistribute(*counts, 1.0, volume=2.0)
    for bad, message in (
        (-1.0, "latencies must be"),
        (np.zeros((2, 2)), "latencies"),
        (2.0**300, r"volume \* links \+ latencies must be"),
    ):
        with pytest.raises(ValueError, match=message):
            hs.redistribute(*counts, 1.0, latencies=bad)
