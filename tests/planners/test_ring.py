"""hetsched.ring: the paper's platforms, all rings in fractions, the integer program, and what is
proven."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from oracles.ring import balanced, best_time, messages, milp_time, rings, shortest

import hetsched as hs
from hetsched._engine.ring import METHODS

INF, NAN = math.inf, math.nan
CLOSE = 1 + 1e-11
LYON, STRASBOURG = hs.datasets.lyon(), hs.datasets.strasbourg()


def check(plan):
    """Shares, makespan, schedule and certificate by the model alone, in fractions."""
    times, links, ring = plan.cycle_times.tolist(), plan.links.tolist(), plan.ring.tolist()
    shares = [Fraction(s) for s in plan.shares.tolist()]
    assert len(set(ring)) == len(ring) >= 1
    assert ring[0] == min(ring)
    assert len(ring) < 3 or ring[1] < ring[-1]
    assert abs(sum(shares) - 1) < 1e-12
    assert all(s == 0 for i, s in enumerate(shares) if i not in ring)
    paid = messages(links, plan.volume, ring)
    ends = [
        shares[i] * Fraction(plan.work) * Fraction(times[i]) + b
        for i, b in zip(ring, paid, strict=True)
    ]
    assert max(ends) == pytest.approx(plan.makespan, rel=1e-12)
    working = [end for i, end in zip(ring, ends, strict=True) if shares[i] > 0]
    assert plan.relays or len(working) == len(ring)
    assert float(min(working)) == pytest.approx(float(max(working)), rel=1e-11)
    assert plan.transfers.tolist() == pytest.approx([float(b) for b in paid], rel=1e-13)
    length = sum(
        b / Fraction(times[i]) for b, i in zip(messages(links, 1.0, ring), ring, strict=True)
    )
    assert plan.length == pytest.approx(float(length), rel=1e-12)
    trace = hs.simulate(plan)
    assert trace.makespan == pytest.approx(plan.makespan, rel=1e-12)
    assert not trace.overlapped
    for i, end in zip(ring, ends, strict=True):
        assert trace.finish[i] == pytest.approx(float(end), rel=1e-11)
    assert 0 < plan.lower_bound <= plan.makespan
    assert plan.optimal == (plan.gap <= 1e-12)


# ---- the paper's platforms -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "length", "makespan", "size"),
    [(LYON, 330.0577497952, 0.6225910041750, 14), (STRASBOURG, 211.4703489691, 0.1515483604766, 8)],
    ids=["lyon", "strasbourg"],
)
def test_golden_values(platform, length, makespan, size):
    everybody = hs.slice_ring(platform, work=1000, volume=1, method="all")
    assert everybody.length == pytest.approx(length, rel=1e-12)
    assert everybody.scope == "rings of all workers"
    plan = hs.slice_ring(platform, work=100, volume=1)
    assert plan.makespan == pytest.approx(makespan, rel=1e-12)
    assert (len(plan.ring), plan.optimal, plan.scope) == (size, True, "all rings")
    check(plan)
    for method in METHODS:
        if (method, size) != ("all", 8):
            other = hs.slice_ring(platform, work=100, volume=1, method=method)
            check(other)
            assert other.makespan >= plan.makespan * (1 - 1e-12)
            assert other.lower_bound <= plan.makespan


def test_all_where_the_messages_of_one_take_longer():
    with pytest.raises(hs.InfeasibleError, match="allow relays"):
        hs.slice_ring(STRASBOURG, work=100, volume=1, method="all")
    plan = hs.slice_ring(STRASBOURG, work=100, volume=1, method="all", relays=True)
    check(plan)
    assert (len(plan.ring), plan.scope) == (13, "")
    assert plan.makespan == pytest.approx(float(plan.transfers.max()), rel=1e-12)


@pytest.mark.parametrize(
    ("platform", "sizes", "ratios"),
    [
        (LYON, [1, 14], [65.5240860618]),
        (STRASBOURG, [1, 6, 8, 13], [7.9575199977, 37.8783552078, 282.0266048019]),
    ],
    ids=["lyon", "strasbourg"],
)
def test_golden_profiles(platform, sizes, ratios):
    profile = hs.ring_profile(platform)
    assert profile.sizes.tolist() == sizes
    assert profile.ratios[0] == 0
    assert profile.ratios[1:].tolist() == pytest.approx(ratios, rel=1e-11)
    assert profile.proven.all()
    for ratio, (small, large) in zip(ratios, pairwise(sizes), strict=True):
        assert len(hs.slice_ring(platform, work=ratio * (1 - 1e-9), volume=1).ring) == small
        assert len(hs.slice_ring(platform, work=ratio * (1 + 1e-9), volume=1).ring) == large


def test_greedy_on_strasbourg_depends_on_where_it_starts():
    """P6 and P11 are the fastest; the paper does not say which one to take."""
    ratios = [1, 10, 30, 100, 200, 282, 300, 1000]
    off = []
    for ratio in ratios:
        best = hs.slice_ring(STRASBOURG, work=ratio, volume=1).makespan
        off.append(hs.slice_ring(STRASBOURG, work=ratio, volume=1, method="greedy").makespan / best)
        assert (
            hs.slice_ring(STRASBOURG, work=ratio, volume=1, method="multistart").makespan
            <= 1.0013 * best
        )
    assert max(off) > 2.0
    order = np.arange(13)[::-1]
    links = STRASBOURG.links[np.ix_(order, order)]
    from_p11 = hs.slice_ring(STRASBOURG.cycle_times[order], links, 100, 1, "greedy")
    assert from_p11.makespan < 1.01 * hs.slice_ring(STRASBOURG, work=100, volume=1).makespan


def test_datasets():
    for platform, p in ((LYON, 14), (STRASBOURG, 13)):
        assert len(platform) == p
        assert (platform.links == platform.links.T).all()
        assert (platform.links.diagonal() == 0).all()
        assert (platform.links + np.eye(p) > 0).all()
    assert math.fsum(LYON.cycle_times) == pytest.approx(0.31804)
    assert math.fsum(STRASBOURG.cycle_times) == pytest.approx(0.13832)
    # Lyon: P0, P1, P5 at one switch, P2, P3, P6, P7 at another, a slow path between the two
    assert {float(LYON.links[i, j]) for i in (0, 1, 5) for j in (2, 3, 6, 7)} == {1.702}
    assert {float(LYON.links[i, j]) for i, j in combinations((0, 1, 5), 2)} == {0.198}
    assert sorted(np.unique(LYON.links).tolist()) == [0, 0.198, 0.248, 0.262, 1.702]
    assert set(STRASBOURG.links[7].tolist()) == {0, 0.154}
    assert STRASBOURG.links[6, 8] == STRASBOURG.links[12, 5] == 0.151
    assert STRASBOURG.links[0, 11] == 0.016
    assert STRASBOURG.links[1, 9] == 0.017
    assert hs.datasets.lyon() == LYON


# ---- all rings -----------------------------------------------------------------------------------

number = st.one_of(st.integers(1, 5).map(float), st.floats(0.05, 20))


@st.composite
def problems(draw, most=5):
    p = draw(st.integers(1, most))
    times = draw(st.lists(number, min_size=p, max_size=p))
    costs = st.one_of(st.just(0.0), number)
    links = [[draw(costs) for _ in range(p)] for _ in range(p)]
    if draw(st.booleans()):
        links = [[links[min(i, j)][max(i, j)] for j in range(p)] for i in range(p)]
    return (
        times,
        links,
        draw(st.sampled_from([0.1, 1.0, 3.0, 10.0, 40.0])),
        draw(st.sampled_from([0.0, 0.3, 1.0, 2.0])),
    )


@given(problems(), st.booleans())
def test_exact_is_optimal(problem, relays):
    times, links, work, volume = problem
    plan = hs.slice_ring(times, links, work, volume, relays=relays)
    check(plan)
    assert plan.optimal
    if relays:
        assert plan.makespan == pytest.approx(float(best_time(*problem, True)), rel=1e-12)
    else:  # a share that is 0 up to rounding may count or not
        assert plan.makespan <= best_time(*problem, False, Fraction(1, 10**10)) * CLOSE
        assert plan.makespan * CLOSE >= best_time(*problem, False, Fraction(-1, 10**10))
    for method in ("search", "multistart", "greedy"):
        other = hs.slice_ring(times, links, work, volume, method, relays=relays)
        check(other)
        assert other.makespan * CLOSE >= plan.makespan
        assert other.lower_bound <= plan.makespan * CLOSE


def random_problem(seed, p, spread=1.5):
    rng = np.random.default_rng(seed)
    times, links = rng.lognormal(0, spread, p), rng.lognormal(0, spread, (p, p))
    if seed % 2:
        links = links + links.T
    return times.tolist(), links.tolist(), float(10 ** rng.uniform(-1, 2)), 1.0


def relay_problem(seed, p):
    """Fast workers with dear links, and slow ones that are cheap to talk to, but not for
    themselves."""
    rng = np.random.default_rng(seed)
    fast = p // 2 + 1
    times = np.where(np.arange(p) < fast, rng.uniform(1, 2, p), rng.uniform(20, 60, p))
    links = rng.uniform(1, 3, (p, p))
    links[:, fast:] = rng.uniform(0.05, 0.2, (p, p - fast))
    links[fast:] = rng.uniform(1, 4, (p - fast, p))
    return times.tolist(), links.tolist(), float(rng.uniform(3, 12)), 1.0


@pytest.mark.slow
def test_exact_with_messages_that_dominate():
    """The shortest ring of a subset is not allowed, or takes longer than its formula; relays make a
    difference."""
    unbalanced = relaying = 0
    for seed in range(30):
        problem = relay_problem(seed, 5)
        formula = min(balanced(*problem, ring)[0] for ring in rings(5))
        plans = [hs.slice_ring(*problem, relays=relays) for relays in (False, True)]
        for plan in plans:
            check(plan)
            assert plan.makespan == pytest.approx(
                float(best_time(*problem, plan.relays)), rel=1e-12
            )
            unbalanced += plan.makespan > float(formula) * (1 + 1e-9)
        relaying += plans[1].makespan < plans[0].makespan * (1 - 1e-9)
        for method in ("search", "multistart", "greedy"):
            for relays in (False, True):
                check(hs.slice_ring(*problem, method, relays=relays))
    assert unbalanced > 30
    assert relaying > 5


@pytest.mark.slow
def test_exact_for_seven():
    for seed in range(2):
        times, links, _, _ = random_problem(seed, 7, 0.7)
        for work in (3.0, 10.0):
            plan = hs.slice_ring(times, links, work, 1.0)
            assert plan.makespan == pytest.approx(
                float(best_time(times, links, work, 1.0, False)), rel=1e-12
            )


def test_against_the_integer_program():
    """All sizes for four and five workers, most of which take some of them only; the best size for
    up to eight."""
    taken = set()
    for seed in range(many(6, 4)):
        p = 4 + seed % 2
        times, links, work, volume = relay_problem(seed, p)
        plan = hs.slice_ring(times, links, work, volume, relays=True)
        values = {size: milp_time(times, links, work, volume, size) for size in range(2, p + 1)}
        values[1] = work * min(times)
        assert min(values.values()) == pytest.approx(plan.makespan, rel=1e-6)
        taken.add(len(plan.ring))
    assert len(taken) > 2
    for p in many((6, 7, 8), (6,)):
        rng = np.random.default_rng(p)
        times, links = rng.uniform(1, 4, p), rng.uniform(0.1, 2, (p, p))
        plan = hs.slice_ring(times, links, 25.0, 1.0)
        assert milp_time(times, links, 25.0, 1.0, len(plan.ring)) == pytest.approx(
            plan.makespan, rel=1e-6
        )


def test_direction_does_not_matter_but_sides_do():
    """Each member pays at its own side of its links: transposing links is another problem."""
    times, links = [1.0, 2.0, 2.0], [[0, 1, 1], [5, 0, 1], [5, 1, 0]]
    first, second = (
        hs.slice_ring(times, matrix, 30.0, 1.0, method="all")
        for matrix in (links, np.transpose(links))
    )
    assert first.transfers.tolist() == [2.0, 6.0, 6.0]
    assert second.transfers.tolist() == [10.0, 2.0, 2.0]
    assert first.makespan == pytest.approx(
        float(balanced(times, links, 30.0, 1.0, (0, 1, 2))[0]), rel=1e-12
    )


def test_one_and_two_workers():
    plan = hs.slice_ring([2.0], [[7.0]], 10.0, 3.0)
    assert (plan.ring.tolist(), plan.shares.tolist(), plan.makespan, plan.transfers.tolist()) == (
        [0],
        [1.0],
        20.0,
        [0.0],
    )
    assert [step.kind for step in plan.steps()] == ["compute"]
    plan = hs.slice_ring([1.0, 1.0], [[0, 1.0], [2.0, 0]], 100.0, 1.0)
    assert plan.transfers.tolist() == [2.0, 4.0]  # both ways
    assert plan.makespan == pytest.approx((100 + 6) / 2)
    assert plan.shares.tolist() == pytest.approx([0.51, 0.49])


# ---- equal links ---------------------------------------------------------------------------------


@given(
    st.lists(number, min_size=1, max_size=5),
    st.sampled_from([0.0, 0.1, 0.5, 2.0]),
    st.sampled_from([0.5, 1.0, 4.0, 20.0]),
)
def test_homogeneous(times, link, work):
    p = len(times)
    plan = hs.slice_ring(times, link, work, 1.5)
    check(plan)
    assert plan.optimal
    together = Fraction(work) / sum(1 / Fraction(t) for t in times) + 2 * Fraction(1.5) * Fraction(
        link
    )
    closed = min(Fraction(work) * Fraction(min(times)), together if p > 1 else INF)
    assert plan.makespan == pytest.approx(float(closed), rel=1e-12)
    assert len(plan.ring) in (1, p)
    table = np.full((p, p), link)
    by_table = hs.slice_ring(times, table, work, 1.5)
    assert by_table.ring.tolist() == plan.ring.tolist()
    assert by_table.shares.tolist() == plan.shares.tolist()
    assert hs.slice_ring(times, table, work, 1.5, method="search").makespan == pytest.approx(
        plan.makespan, rel=1e-11
    )


def test_homogeneous_threshold():
    """All workers from W = H 2c / (w_min - w_cumul) on."""
    times, link = [3.0, 5.0, 8.0], 2.0
    threshold = 2 * link / (3.0 - 1 / (1 / 3 + 1 / 5 + 1 / 8))
    assert hs.slice_ring(times, link, threshold * (1 - 1e-9), 1).ring.tolist() == [0]
    assert hs.slice_ring(times, link, threshold * (1 + 1e-9), 1).ring.tolist() == [0, 1, 2]
    assert hs.ring_profile(times, link).ratios.tolist() == pytest.approx([0, threshold])


@pytest.mark.parametrize("relays", [False, True])
def test_shares_keep_their_digits_beside_a_much_faster_member(relays):
    """The fast worker's share was a difference of large numbers: the slow one ended 5e-6 early, or
    late."""
    plan = hs.slice_ring(
        [2554.2753010343, 3.7e-10], [[0, 1], [4, 0]], 0.11, 1, "all", relays=relays
    )
    assert plan.ring.tolist() == [0, 1]
    ends = plan.shares * plan.work * plan.cycle_times + plan.transfers
    assert ends == pytest.approx([plan.makespan] * 2, rel=1e-14)
    assert plan.shares.sum() == pytest.approx(1, rel=1e-15)


def test_somebody_works_where_messages_take_much_longer():
    """All members paid as much as the step takes, up to rounding, so that all dropped out: shares
    of 0 / 0."""
    dear = 2.0**60
    plan = hs.slice_ring([0.03, dear], [[0, dear], [dear, 0]], 100, 1, "all", relays=True)
    assert plan.shares == pytest.approx([1, 0])
    assert plan.makespan == 2 * dear
    plan = hs.slice_ring(
        [1, 1, 3], [[0, dear, dear], [dear, 0, dear], [dear, dear, 0]], 1, 1, "all", relays=True
    )
    assert plan.shares == pytest.approx([3 / 7, 3 / 7, 1 / 7])


def test_homogeneous_with_very_many_workers():
    plan = hs.slice_ring(np.full(100_000, 2.0), 1e-6, 1e6, 1.0)
    assert len(plan.ring) == 100_000
    assert plan.makespan == pytest.approx(20.000002)


# ---- heuristics and bounds -----------------------------------------------------------------------


@pytest.mark.slow
def test_search_is_near_the_optimum():
    """Also where few take part; within 0.2 % where multi-start greedy is far off."""
    worst = 0.0
    for seed in range(40):
        problem = random_problem(seed, 11, 0.8 if seed % 4 else 1.5)
        best = hs.slice_ring(*problem).makespan
        found = hs.slice_ring(*problem, "search")
        worst = max(worst, hs.slice_ring(*problem, "multistart").makespan / best)
        assert best * (1 - 1e-12) <= found.makespan <= 1.002 * best
        assert found.lower_bound <= best * CLOSE
    assert worst > 1.05


def test_bound_is_tight_where_work_dominates():
    rng = np.random.default_rng(0)
    times, points = rng.uniform(1, 10, 300), rng.random((300, 2))
    links = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    plan = hs.slice_ring(times, links, 3000.0, 1.0, method="search")
    assert plan.gap < 0.001
    assert len(plan.ring) == 300
    greedy = hs.slice_ring(times, links, 3000.0, 1.0, method="greedy")
    assert plan.makespan < greedy.makespan
    assert hs.slice_ring(times, links, 3000.0, 1.0, method="best").method == "search"


def test_exact_beyond_22_where_most_are_out_of_the_question():
    """Workers behind links that take longer than a whole step alone are left away before the
    subsets are counted."""
    rng = np.random.default_rng(3)
    times, links = rng.uniform(1, 2, 40), rng.uniform(0.1, 1, (40, 40))
    links[12:] += 1000
    plan = hs.slice_ring(times, links, 20.0, 1.0)
    check(plan)
    assert plan.optimal
    assert plan.ring.max() < 12
    inner = hs.slice_ring(times[:12], links[:12, :12], 20.0, 1.0)
    assert plan.makespan == pytest.approx(min(inner.makespan, 20.0 * float(times.min())), rel=1e-12)
    with pytest.raises(
        hs.InfeasibleError,
        match="up to 22 workers that could be in the best ring, more of the 40 could",
    ):
        hs.slice_ring(times, rng.uniform(0.1, 1, (40, 40)), 1000.0, 1.0, "exact")
    assert (
        hs.slice_ring(times, rng.uniform(0.1, 1, (40, 40)), 1000.0, 1.0, budget=0).method
        == "search"
    )


def test_scales():
    """Only work / volume matters; extreme units do not."""
    times, links, work, volume = random_problem(8, 9, 0.8)
    plan = hs.slice_ring(times, links, work, volume)
    for k in (-130, -30, 30, 130):
        scaled = hs.slice_ring(times, np.ldexp(links, k), work, math.ldexp(volume, -k))
        assert (scaled.ring.tolist(), scaled.makespan) == (plan.ring.tolist(), plan.makespan)
    doubled = hs.slice_ring(np.multiply(times, 2.0**60), links, work, volume * 2.0**60)
    assert doubled.ring.tolist() == plan.ring.tolist()
    assert doubled.shares.tolist() == pytest.approx(plan.shares.tolist(), rel=1e-12)
    assert doubled.makespan == pytest.approx(plan.makespan * 2.0**60, rel=1e-12)
    far = hs.slice_ring(
        [2.0**200, 2.0**-200, 1.0],
        np.full((3, 3), 2.0**200) * [1, 2.0**-300, 1],
        2.0**-200,
        2.0**100,
    )
    check(far)
    assert far.ring.tolist() == [1]


def test_determinism_and_seeds():
    rng = np.random.default_rng(5)
    times, links = rng.uniform(1, 10, 80), rng.uniform(0.1, 1, (80, 80))
    plans = [hs.slice_ring(times, links, 30.0, 1.0, "search", seed=seed) for seed in (0, 0, 1)]
    assert plans[0].ring.tolist() == plans[1].ring.tolist()
    assert plans[0].shares.tolist() == plans[1].shares.tolist()
    assert plans[0].ring.tolist() != plans[2].ring.tolist()
    longer = hs.slice_ring(times, links, 30.0, 1.0, "search", budget=0.2)
    assert longer.makespan <= hs.slice_ring(times, links, 30.0, 1.0, "greedy").makespan
    check(longer)


def test_forms_of_input():
    times, links, work, volume = random_problem(4, 6, 0.5)
    plan = hs.slice_ring(times, links, 20.0, volume)
    platform = hs.Platform([hs.Worker(t, name=f"w{i}") for i, t in enumerate(times)], links)
    by_platform = hs.slice_ring(platform, work=20, volume=np.float32(volume))
    assert by_platform.ring.tolist() == plan.ring.tolist()
    assert by_platform.names == ("w0", "w1", "w2", "w3", "w4", "w5")
    star = hs.slice_ring(hs.Platform.star(times), links, 20.0, volume)
    assert star.makespan == plan.makespan
    wide = np.zeros((6, 12))
    wide[:, ::2] = links
    np.fill_diagonal(wide[:, ::2], NAN)
    before = wide.copy()
    assert hs.slice_ring(np.array(times), wide[:, ::2], 20.0, volume).makespan == plan.makespan
    assert np.array_equal(wide, before, equal_nan=True)
    by_speed = hs.slice_ring(
        None, np.pad(links, (0, 1)), 20.0, volume, speeds=[*(1 / t for t in times), 0]
    )
    assert by_speed.makespan == pytest.approx(plan.makespan, rel=1e-12)
    assert (by_speed.shares[6], by_speed.cycle_times[6]) == (0, INF)
    assert not any(
        a.flags.writeable for a in (plan.ring, plan.shares, plan.cycle_times, plan.links)
    )
    content = plan.to_dict()
    assert (content["type"], content["ring"], content["gap"]) == (
        "SliceRing",
        plan.ring.tolist(),
        0.0,
    )
    free = hs.slice_ring(times, links, 20.0, 0)
    assert free.makespan == pytest.approx(20 / sum(1 / t for t in times))


GOOD = ([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]], 1.0, 1.0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({0: [1, 0]}, ValueError, r"cycle_times\[1\] must be positive"),
        (
            {0: [1, 1e-61]},
            ValueError,
            r"cycle_times\[1\] must be from 2\*\*-200 to 2\*\*200, got 1e-61",
        ),
        ({0: []}, ValueError, "cycle_times is empty"),
        ({0: None}, TypeError, "give either cycle_times or speeds"),
        ({1: None}, TypeError, "links must be given"),
        (
            {0: hs.Platform.star([1, 2]), 1: None},
            TypeError,
            "links must be given: the Platform is a star",
        ),
        ({0: LYON}, TypeError, "links must not be given with a Platform that has links"),
        ({1: [[0, 1, 1], [1, 0, 1]]}, ValueError, r"links must have shape \(2, 2\), got \(2, 3\)"),
        (
            {1: [[0, NAN], [1, 0]]},
            ValueError,
            r"links\[0, 1\] must be finite and not negative, got nan",
        ),
        (
            {1: [[0, 1], [-1, 0]]},
            ValueError,
            r"links\[1, 0\] must be finite and not negative, got -1",
        ),
        (
            {1: [[0, 1e70], [1, 0]]},
            ValueError,
            r"links\[0\]\[1\] must be 0 or from 2\*\*-200 to 2\*\*200, got 1e\+70",
        ),
        ({1: [[0, 1], [1]]}, TypeError, "links must be a matrix of real numbers"),
        ({1: -1.0}, ValueError, "links must be at least 0"),
        ({1: 1e-70}, ValueError, r"links\[0\]\[0\] must be 0 or from"),
        ({1: "ab"}, TypeError, "links must be a number"),
        ({2: None}, TypeError, "work must be a number, got None"),
        ({2: 0.0}, ValueError, "work must be greater than 0"),
        ({2: INF}, ValueError, "work must be finite"),
        ({2: 1e70}, ValueError, r"work must be from 2\*\*-200 to 2\*\*200"),
        ({3: -1.0}, ValueError, "volume must be at least 0"),
        ({3: 1e-70}, ValueError, r"volume must be from 2\*\*-200"),
        (
            {"method": "tsp"},
            ValueError,
            "method must be one of exact, best, search, multistart, greedy, all, got 'tsp'",
        ),
        ({"relays": 1}, TypeError, "relays must be True or False, got 1"),
        ({"seed": -1}, ValueError, "seed must be in"),
        ({"budget": -1.0}, ValueError, "budget must be at least 0"),
    ],
)
def test_bad_input(change, error, message):
    given_values = [change.get(i, value) for i, value in enumerate(GOOD)]
    with pytest.raises(error, match=message):
        hs.slice_ring(
            *given_values, **{key: value for key, value in change.items() if isinstance(key, str)}
        )


def test_too_many_workers():
    with pytest.raises(hs.InfeasibleError, match="up to 16384 workers with unequal links, got"):
        hs.slice_ring(np.ones(2**14 + 1), 1.0, 1, 1, "greedy")


# ---- profiles ------------------------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(8))
def test_profile_is_the_envelope(seed):
    times, links, _, _ = random_problem(seed, 5, 0.6)
    profile = hs.ring_profile(times, links)
    assert (np.diff(profile.ratios) > 0).all()
    assert profile.sizes[-1] == 5
    lengths = {}
    for size in range(1, 6):
        for members in combinations(range(5), size):
            lengths[members] = shortest(times, links, members)
        least = min(length for members, length in lengths.items() if len(members) == size)
        assert profile.least_lengths[size - 1] == pytest.approx(float(least), rel=1e-12)
    for ratio in [
        *np.geomspace(0.01, 1000, 25),
        *(profile.ratios[1:] * (1 - 1e-9)),
        *(profile.ratios[1:] * (1 + 1e-9)),
    ]:
        lines = (
            (Fraction(ratio) + d) / sum(1 / Fraction(times[i]) for i in members)
            for members, d in lengths.items()
        )
        best, i = min(lines), profile.at(ratio)
        assert profile.makespan(ratio, 1.0) == pytest.approx(float(best), rel=1e-12)
        assert profile.makespan(3 * ratio, 3.0) == pytest.approx(3 * float(best), rel=1e-12)
        optimum = hs.slice_ring(times, links, ratio, 1.0).makespan
        if profile.proven[i]:
            assert optimum == pytest.approx(float(best), rel=1e-12)
            assert len(hs.slice_ring(times, links, ratio, 1.0).ring) == profile.sizes[i]
        else:
            assert optimum >= float(best) * (1 - 1e-12)


def test_profile_tells_where_it_is_only_a_bound():
    flags = [hs.ring_profile(*relay_problem(seed, 5)[:2]).proven.tolist() for seed in range(10)]
    assert all(flag[0] for flag in flags)
    assert not all(all(flag) for flag in flags)


def test_profile_edges():
    assert hs.ring_profile([3.0], 1.0).sizes.tolist() == [1]
    assert repr(hs.ring_profile([3.0], 1.0)) == "<RingProfile: 1 workers>"
    free = hs.ring_profile([1.0, 2.0], 0.0)
    assert (free.sizes.tolist(), free.ratios.tolist()) == ([2], [0.0])
    idle = hs.ring_profile([1.0, INF, 2.0], 1.0)
    assert [ring.tolist() for ring in idle.rings] == [[0], [0, 2]]
    assert idle.least_lengths.tolist() == [0, 3, INF]
    with pytest.raises(
        hs.InfeasibleError, match="a profile is for up to 22 workers, cycle_times has 23"
    ):
        hs.ring_profile(np.ones(23), 1.0)
    with pytest.raises(ValueError, match="ratio must be at least 0"):
        free.at(-1)


# ---- pictures, Ctrl-C ----------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    found = importlib.import_module("matplotlib.pyplot")
    yield found
    found.close("all")


@pytest.mark.few(1)
@pytest.mark.parametrize("p", many([1, 2, 9, 10, 60], [1, 10]))
def test_picture(pyplot, p):
    """A wedge for each member in order, as long as its share; what is written can be read."""
    rng = np.random.default_rng(p)
    plan = hs.slice_ring(rng.uniform(1, 5, p), rng.uniform(0.1, 1, (p, p)), 1000.0, 1.0, "search")
    ax = plan.plot()
    wedges = ax.patches
    assert len(wedges) == len(plan.ring) == p
    for wedge, i in zip(wedges, plan.ring.tolist(), strict=True):
        assert (wedge.theta2 - wedge.theta1) / 360 == pytest.approx(plan.shares[i])
    for first, second in zip(wedges, (*wedges[1:], wedges[0]), strict=True):
        assert p == 1 or first.get_facecolor() != second.get_facecolor()
    ax.figure.canvas.draw()
    assert all(text.get_fontsize() >= 7 for text in ax.texts)
    assert len(ax.texts) == p or p == 60
    profile = hs.ring_profile(plan.cycle_times[:9], plan.links[:9, :9])
    assert profile.plot().get_ylabel() == "workers"
    assert "SliceRing" in plan._repr_html_()


def test_search_of_one_worker_with_a_budget():
    """There is nothing to search: no round after round until their number overflows."""
    plan = hs.slice_ring([2.0, INF], [[0.0, 1.0], [2.0, 0.0]], 3.0, 1.0, "search", budget=0.2)
    assert (plan.ring.tolist(), plan.makespan, plan.optimal) == ([0], 6.0, True)
