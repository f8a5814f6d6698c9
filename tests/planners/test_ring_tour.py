"""Rings of all workers beyond the exact method, against cutting planes and the Held-Karp bound;
affine costs of messages."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from oracles.ring import balanced, best_time, rings
from scipy.optimize import LinearConstraint, milp
from validators import validate

import hetsched as hs
from hetsched._engine.ring import METHODS

BERLIN = """
565 575 25 185 345 750 945 685 845 655 880 660 25 230 525 1000 580 1175 650 1130 1605 620 1220 580
1465 200 1530 5 845 680 725 370 145 665 415 635 510 875 560 365 300 465 520 585 480 415 835 625
975 580 1215 245 1320 315 1250 400 660 180 410 250 420 555 575 665 1150 1160 700 580 685 595 685
610 770 610 795 645 720 635 760 650 475 960 95 260 875 920 700 500 555 815 830 485 1170 65 830
610 605 625 595 360 1340 725 1740 245
"""  # berlin52 of TSPLIB, whose shortest tour is 7542


def square(p, seed):
    """Random points, and the distances between them."""
    x, y = np.random.default_rng(seed).random((2, p))
    return np.hypot(np.subtract.outer(x, x), np.subtract.outer(y, y))


def edges(times, links):
    """What an edge adds to the length."""
    return links / times[:, None] + (links / times[:, None]).T


def length(D, ring):
    return sum(D[i, j] for i, j in zip(ring, (*ring[1:], ring[0]), strict=True))


def shortest_tour(D):
    """By integer programs with cuts for what falls into parts."""
    p = len(D)
    pairs = list(itertools.combinations(range(p), 2))
    cost = [D[i, j] for i, j in pairs]
    degree = np.array([[float(v in pair) for pair in pairs] for v in range(p)])
    rows, low = list(degree), [2.0] * p
    while True:
        high = [2.0] * p + [math.inf] * (len(rows) - p)
        found = milp(
            cost,
            integrality=np.ones(len(pairs)),
            bounds=(0, 1),
            constraints=LinearConstraint(np.array(rows), low, high),
        )
        assert found.success
        part = list(range(p))
        for (i, j), x in zip(pairs, found.x, strict=True):
            if x > 0.5:
                part = [part[i] if q == part[j] else q for q in part]
        parts = [{v for v in range(p) if part[v] == q} for q in set(part)]
        if len(parts) == 1:
            return found.fun
        for inside in parts:
            rows.append(np.array([float((i in inside) != (j in inside)) for i, j in pairs]))
            low.append(2.0)


def one_trees(D, tour, rounds=150):
    """Held and Karp's bound: least trees over all but one, and two edges of that, with prices that
    make them a tour."""
    p, prices, best, pace, stale = len(D), np.zeros(len(D)), 0.0, 2.0, 0
    for _ in range(rounds):
        C = D + prices[:, None] + prices[None, :]
        near, parent, out = C[1].copy(), np.ones(p, int), np.ones(p, bool)
        out[:2], degree, total = False, np.zeros(p, int), 0.0
        for _ in range(p - 2):
            j = int(np.argmin(np.where(out, near, np.inf)))
            out[j], total = False, total + near[j]
            degree[[j, parent[j]]] += 1
            closer = out & (C[j] < near)
            near[closer], parent[closer] = C[j][closer], j
        ends = np.argsort(C[0, 1:])[:2] + 1
        degree[0], total = 2, total + C[0, ends].sum() - 2 * prices.sum()
        degree[ends] += 1
        stale = 0 if total > best else stale + 1
        best = max(best, total)
        if stale == 8:
            pace, stale = pace * 0.6, 0
        if (degree == 2).all():
            break
        prices += pace * (tour - total) / ((degree - 2) ** 2).sum() * (degree - 2)
    return best


@pytest.mark.few(2)
@pytest.mark.parametrize(("p", "seed"), [(23, 0), (27, 1), (31, 2), (36, 3)])
def test_shortest_of_some(p, seed):
    """Of unequal workers and links that are not symmetric."""
    rng = np.random.default_rng(seed)
    times, links = rng.uniform(1, 4, p), square(p, seed) * rng.uniform(0.8, 1.2, (p, p)) + 0.05
    plan = hs.slice_ring(times, links, 1000.0 * p, 1.0, "all")
    validate(plan)
    assert sorted(plan.ring.tolist()) == list(range(p))
    assert (plan.scope, plan.method, plan.optimal) == ("", "all", False)
    D = edges(times, links)
    assert plan.length == pytest.approx(length(D, plan.ring.tolist()), rel=1e-12)
    assert plan.length == pytest.approx(shortest_tour(D), rel=1e-6)


def test_berlin52():
    points = np.array(BERLIN.split(), float).reshape(-1, 2)
    D = np.rint(np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1)))
    plan = hs.slice_ring(np.full(52, 2.0), D, 1e9, 1.0, "all")
    assert plan.length == 7542


@pytest.mark.slow
@pytest.mark.parametrize(("p", "off"), [(100, 1.02), (200, 1.02), (400, 1.02)])
def test_near_the_bound(p, off):
    D = square(p, p)
    plan = hs.slice_ring(np.full(p, 2.0), D, 1000.0 * p, 1.0, "all")
    assert one_trees(D, plan.length) <= plan.length <= off * one_trees(D, plan.length)


def test_relations():
    """Scales, a worker who cannot work, seeds, more time, and the exact method where both can."""
    p = 40
    rng = np.random.default_rng(5)
    times, links = rng.uniform(1, 4, p), square(p, 5)
    plan = hs.slice_ring(times, links, 1e4, 1.0, "all")
    assert plan == hs.slice_ring(times, links, 1e4, 1.0, "all")
    twice = hs.slice_ring(2 * times, 2 * links, 1e4, 1.0, "all")
    assert (twice.ring.tolist(), twice.makespan) == (plan.ring.tolist(), 2 * plan.makespan)
    more = hs.slice_ring([*times, math.inf], np.pad(links, (0, 1)), 1e4, 1.0, "all")
    assert more.ring.tolist() == plan.ring.tolist()
    assert hs.slice_ring(times, links, 1e4, 1.0, "all", seed=7).length == pytest.approx(
        plan.length, rel=0.02
    )
    assert hs.slice_ring(times, links, 1e4, 1.0, "all", budget=0.1).length <= plan.length * 1.02
    assert plan.makespan >= plan.lower_bound
    assert len(hs.slice_ring(times, links, 1e4, 0.0, "all").ring) == p
    assert len(hs.slice_ring(times, 0.0, 1e4, 1.0, "all").ring) == p


def test_one_without_work():
    """As of few workers: a ring of all that leaves one without is refused, or has relays."""
    times, links = np.ones(30), square(30, 1)
    links[3] = links[:, 3] = 1e4
    with pytest.raises(hs.InfeasibleError, match="the ring of all workers that was found"):
        hs.slice_ring(times, links, 30.0, 1.0, "all")
    assert hs.slice_ring(times, links, 30.0, 1.0, "all", relays=True).shares[3] == 0


class TestLatencies:
    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize("relays", [False, True])
    def test_optimal(self, seed, relays):
        """Against all rings, with the time of each message in fractions."""
        rng = np.random.default_rng(seed)
        p, work, volume = int(rng.integers(1, 6)), 20.0, float(rng.choice([0.0, 0.5, 2.0]))
        times, links, own = (
            rng.uniform(1, 3, p),
            rng.uniform(0, 1, (p, p)),
            rng.uniform(0, 2, (p, p)),
        )
        plan = hs.slice_ring(times, links, work, volume, latencies=own, relays=relays)
        validate(plan)
        sums = [
            [Fraction(volume) * Fraction(links[i, j]) + Fraction(own[i, j]) for j in range(p)]
            for i in range(p)
        ]
        assert plan.makespan == pytest.approx(
            float(best_time(times.tolist(), sums, work, 1.0, relays)), rel=1e-11
        )
        assert plan.optimal

    def test_equal_ones(self):
        """All or one, as of equal links: each member pays them twice."""
        plan = hs.slice_ring([1.0, 1.0, 2.0], 0.5, 10.0, 2.0, latencies=0.25)
        assert plan.makespan == pytest.approx(10 / 2.5 + 2 * (2 * 0.5 + 0.25))
        assert plan.optimal
        assert hs.slice_ring([1.0, 1.0, 2.0], 0.5, 10.0, 2.0, latencies=9).ring.tolist() == [0]

    def test_fewer_members(self):
        """The dearer a message, the fewer take part; without any, nothing changes."""
        platform = hs.datasets.strasbourg()
        sizes = [
            len(hs.slice_ring(platform, work=100, volume=1, latencies=x).ring)
            for x in (0.0, 0.01, 0.1, 1.0)
        ]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] > sizes[-1]
        assert hs.slice_ring(platform, work=100, volume=1, latencies=0.0) == hs.slice_ring(
            platform, work=100, volume=1
        )
        assert hs.slice_ring(platform, work=100, volume=1).latencies is None

    def test_kept(self, tmp_path):
        platform = hs.Platform.complete([1.0, 2.0, 1.5], np.full((3, 3), 0.5))
        plan = hs.slice_ring(
            platform, work=20.0, volume=2.0, latencies=[[9, 1, 2], [1, 9, 3], [2, 3, 9]]
        )
        plan.save(tmp_path / "ring.json")
        assert hs.Plan.load(tmp_path / "ring.json") == plan
        assert plan.on(platform).makespan == pytest.approx(plan.makespan, rel=1e-14)
        assert hs.simulate(plan).makespan == pytest.approx(plan.makespan, rel=1e-12)
        assert plan.latencies.diagonal().tolist() == [0, 0, 0]

    @pytest.mark.parametrize(
        ("latencies", "error", "message"),
        [
            (-1.0, ValueError, "latencies must be at least 0"),
            (math.nan, ValueError, "latencies must be finite"),
            ([[0, -1], [1, 0]], ValueError, "latencies"),
            ([[0, math.nan], [1, 0]], ValueError, "latencies"),
            ([[0, 1]], ValueError, r"latencies must have shape \(2, 2\)"),
            ("x", TypeError, "latencies"),
            ([[0, 1e-100], [1, 0]], ValueError, r"volume \* links \+ latencies must be 0 or from"),
        ],
    )
    def test_refused(self, latencies, error, message):
        with pytest.raises(error, match=message):
            hs.slice_ring([1.0, 2.0], [[0, 0], [0, 0]], 10.0, 1.0, latencies=latencies)


class TestOverheads:
    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("relays", [False, True])
    def test_optimal(self, seed, relays):
        """Against all rings in fractions, with links of all kinds and with equal ones."""
        rng = np.random.default_rng(seed)
        p, work = int(rng.integers(1, 6)), 20.0
        times, fixed = rng.uniform(1, 3, p), rng.choice([0.0, 1.0, 4.0, 12.0], p)
        links = rng.uniform(0, 1, (p, p)) if seed % 3 else np.full((p, p), 0.25)
        own = rng.uniform(0, 2, (p, p)) if seed % 2 else 0.5
        plan = hs.slice_ring(times, links, work, 2.0, latencies=own, overheads=fixed, relays=relays)
        validate(plan)
        sums = [
            [
                2 * Fraction(links[i, j]) + Fraction(np.broadcast_to(own, (p, p))[i, j])
                for j in range(p)
            ]
            for i in range(p)
        ]
        best = float(best_time(times.tolist(), sums, work, 1.0, relays, overheads=fixed.tolist()))
        assert plan.makespan == pytest.approx(best, rel=1e-11)
        assert plan.optimal
        for method in ("search", "multistart", "greedy"):
            other = hs.slice_ring(
                times, links, work, 2.0, method, latencies=own, overheads=fixed, relays=relays
            )
            validate(other)
            assert other.lower_bound <= best * (1 + 1e-11)
            assert other.makespan >= best * (1 - 1e-11)

    @pytest.mark.few(3)
    @pytest.mark.parametrize("seed", range(8))
    def test_profile(self, seed):
        """At every ratio the best of all rings in fractions, and what `slice_ring` finds there."""
        rng = np.random.default_rng(seed)
        p, volume = int(rng.integers(1, 6)), 2.0
        times, fixed = rng.uniform(1, 3, p), rng.choice([0.0, 1.0, 4.0, 12.0], p)
        links = rng.uniform(0, 1, (p, p)) if seed % 3 else np.full((p, p), 0.25)
        given = {"overheads": fixed, "latencies": rng.uniform(0, 2, (p, p)) if seed % 2 else None}
        profile = hs.ring_profile(times, links, volume=volume, **given)
        validate(profile)
        extra = given["latencies"] if seed % 2 else np.zeros((p, p))
        sums = [
            [2 * Fraction(links[i, j]) + Fraction(extra[i, j]) for j in range(p)] for i in range(p)
        ]
        ratios = [*np.geomspace(0.01, 500, 12), *(profile.ratios[1:] * (1 + 1e-9))]
        for ratio in ratios:
            work = float(ratio) * volume
            lines = (
                balanced(times.tolist(), sums, work, 1.0, ring, fixed.tolist())[0]
                for ring in rings(p)
            )
            found = profile.makespan(work, volume)
            assert found == pytest.approx(float(min(lines)), rel=1e-11)
            plan = hs.slice_ring(times, links, work, volume, **given)
            if profile.proven[profile.at(ratio)]:
                assert plan.makespan == pytest.approx(found, rel=1e-11)
            else:
                assert plan.makespan >= found * (1 - 1e-11)
        if fixed.any():
            with pytest.raises(ValueError, match="volume must be 2, that of the profile"):
                profile.makespan(9.0, 1.0)

    def test_profile_of_one(self):
        """With little work the worker with the least overhead is best, even a slow one."""
        profile = hs.ring_profile([1.0, 3.0], 100.0, overheads=[5.0, 1.0])
        assert [ring.tolist() for ring in profile.rings] == [[1], [0], [0, 1]]
        assert profile.ratios[1] == pytest.approx(2.0)
        assert profile.overheads.tolist() == [5.0, 1.0]
        linear = hs.ring_profile([1.0, 3.0], 100.0, volume=7.0, overheads=0.0)
        assert linear.overheads is None
        assert linear.makespan(4.0, 2.0) == 4.0
        plain = hs.ring_profile([1.0, 3.0], 100.0)
        assert linear.ratios.tolist() == pytest.approx(plain.ratios.tolist(), rel=1e-14)

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"overheads": -1.0}, ValueError, "overheads must be at least 0"),
            ({"overheads": [1.0]}, ValueError, "overheads must be a number or have 2 entries"),
            ({"latencies": [[0, 1]]}, ValueError, r"latencies must have shape \(2, 2\)"),
            ({"volume": 0.0}, ValueError, "volume must be > 0, got 0"),
            ({"volume": math.nan}, ValueError, "volume must be finite"),
            ({"volume": "x"}, TypeError, "volume must be a number"),
        ],
    )
    def test_profile_refused(self, options, error, message):
        with pytest.raises(error, match=message):
            hs.ring_profile([1.0, 2.0], 1.0, **options)

    def test_ring_of_one(self):
        """A worker pays its overhead alone, too."""
        plan = hs.slice_ring([1.0, 1.0], 10.0, 4.0, 1.0, overheads=[5.0, 1.0])
        assert (plan.ring.tolist(), plan.makespan, plan.optimal) == ([1], 5.0, True)
        one = hs.slice_ring([2.0], 0.0, 4.0, 1.0, overheads=0.5)
        assert one.makespan == 8.5
        assert hs.simulate(one).makespan == 8.5

    def test_equal_links(self):
        """Of any number of workers, those take part whose overhead pays off."""
        fixed = np.arange(1000.0)
        plan = hs.slice_ring(np.full(1000, 2.0), 1.0, 1e4, 1.0, overheads=fixed)
        validate(plan)
        assert plan.optimal
        assert plan.ring.tolist() == list(range(len(plan.ring)))
        assert fixed[len(plan.ring) - 1] < plan.makespan - 2 <= fixed[len(plan.ring)]

    def test_kept(self, tmp_path):
        """In a file, on another platform, in a new plan; files of earlier versions have none."""
        platform = hs.Platform.complete([1.0, 2.0, 1.5], np.full((3, 3), 0.5))
        plan = hs.slice_ring(platform, work=20.0, volume=2.0, overheads=[3.0, 0.0, 1.0])
        plan.save(tmp_path / "ring.json")
        assert hs.Plan.load(tmp_path / "ring.json") == plan
        assert plan.on(platform).makespan == pytest.approx(plan.makespan, rel=1e-14)
        assert hs.replan(plan, platform).makespan == plan.makespan
        content = hs.slice_ring(platform, work=20.0, volume=2.0).to_dict()
        assert content.pop("overheads") is None
        assert hs.Plan.from_dict(content).overheads is None
        assert hs.slice_ring(platform, work=20.0, volume=2.0, overheads=0.0).overheads is None

    @pytest.mark.slow
    def test_a_stack(self):
        times = np.random.default_rng(0).uniform(1, 3, (20, 4))
        own = np.random.default_rng(1).uniform(0, 1, (4, 4))
        for method in METHODS:
            given = {"method": method, "latencies": own, "overheads": [1.0, 2.0, 0.0, 3.0]}
            given["relays"] = method == "all"
            stack = hs.slice_ring(times, own + 0.1, 9.0, 1.0, **given)
            for row in range(20):
                plan = hs.slice_ring(times[row], own + 0.1, 9.0, 1.0, **given)
                assert stack[row] == plan
                assert (stack.makespan[row], stack.bound[row]) == (plan.makespan, plan.bound)
                assert (stack.optimal[row], stack.shares[row].tolist()) == (
                    plan.optimal,
                    plan.shares.tolist(),
                )

    @pytest.mark.parametrize(
        ("overheads", "error", "message"),
        [
            (-1.0, ValueError, "overheads must be at least 0"),
            ([1.0, math.nan], ValueError, r"overheads\[1\] is NaN"),
            ([1.0], ValueError, "overheads must be a number or have 2 entries"),
            ("x", TypeError, "overheads"),
            ([0.0, 1e-100], ValueError, r"overheads\[1\] must be 0 or from 2\*\*-200"),
        ],
    )
    def test_refused(self, overheads, error, message):
        with pytest.raises(error, match=message):
            hs.slice_ring([1.0, 2.0], [[0, 1], [1, 0]], 10.0, 1.0, overheads=overheads)


def test_the_first_platform_with_an_error():
    """A stack says which platform has it, and what the planner says of this platform alone."""
    times = np.ones((5, 3))
    links = np.ones((5, 3, 3))
    links[3, 1, 2] = 1e-70
    with pytest.raises(ValueError, match=r"platform 3 of the stack: links\[1\]\[2\] must be 0 or"):
        hs.slice_ring(times, links, 1.0, 1.0)
    times[2, 1] = 1e-70
    with pytest.raises(ValueError, match=r"platform 2 of the stack: cycle_times\[1\] must be from"):
        hs.slice_ring(times, links, 1.0, 1.0)
    links = np.ones((2, 3, 3))
    links[1, 0] = links[1, :, 0] = 50.0
    with pytest.raises(hs.InfeasibleError, match="platform 1 of the stack: the ring of all"):
        hs.slice_ring(np.ones((2, 3)), links, 10.0, 1.0, "all")
