"""The partition rules of others in the engine: the papers' numbers, what the papers prove, and slow
versions of each."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import stages
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import covers_exactly
from oracles.rules import (
    AROUND,
    RULES,
    half_perimeter,
    kaddoura_cost,
    mohammadi_behroozi_cost,
    tree_of,
    workers_of,
    zones,
)

import hetsched as hs

INF, NAN = math.inf, math.nan
LEAST, MOST = math.ulp(0.0), float(np.finfo(float).max)
PAPER = [0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3]  # section 3.2.6 of the 2001 paper
RECTANGULAR = [rule for rule in RULES if rule != "snrpp"]


def areas_lists(max_size: int) -> st.SearchStrategy[list[float]]:
    kinds = [
        st.floats(1e-6, 1.0),
        st.integers(1, 5).map(float),
        st.sampled_from([1.0, 1.0 + 2**-52, 1.0 - 2**-53, 2.0, 4.0]),
        st.floats(-100, 100).map(lambda x: 10.0**x),
        st.integers(-6, 6).map(lambda k: 6.0**k),  # one worker above the others, again and again
    ]
    return st.one_of(
        *(
            st.lists(st.one_of(kind, kind, kind, st.just(0.0)), min_size=1, max_size=max_size)
            for kind in kinds
        )
    ).filter(any)


aspects = st.one_of(st.sampled_from([1.0, 2.0, 0.5, 3.0]), st.floats(0.05, 20.0))


def solved(rule: str, areas: list[float], aspect: float = 1.0) -> tuple[list[int], float]:
    plan, cost = stages.partition_rule(rule, np.array(areas), aspect)
    return plan.tolist(), cost


def cost_of(found: dict[int, list[tuple[float, float, float, float]]]) -> float:
    return math.fsum(half_perimeter(pieces) for pieces in found.values())


def bound(areas: list[float]) -> float:
    total = math.fsum(areas)
    return 2 * math.fsum(math.sqrt(area / total) for area in areas)


# ---- known values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "cost", "plan"),
    [
        ("rows", 9, [0, 1, -2, 2, -2, 3, -2, 4, -2, 5, -2, 6, -2, 7, -2]),
        ("kalinov-lastovetsky", 6, [0, 1, -2, 2, -2, 3, -2, 4, -2, 5, -2, 6, 7, -2, -1]),
        ("recursive", 5.56, [7, 6, -1, 5, 3, -1, -2, 4, 2, -2, 0, 1, -2, -2, -1]),
        ("nagamochi-abe", 251 / 45, [7, 6, -2, 5, 3, -1, 4, 2, 0, 1, -2, -1, -2, -2, -1]),
        ("kaddoura", 5.52047619047619, [7, 6, 5, 3, -2, -1, -2, 4, 2, -2, 0, -2, 1, -2, -1]),
        ("snrpp", 5.5, [0, 1, -1, 2, 3, -1, -2, 4, 5, -1, -2, 6, 7, -2, -1]),
        ("mohammadi-behroozi", 5.51, [3, 2, -2, 5, -1, 7, -2, 1, 0, -1, 4, -2, 6, -2, -1]),
    ],
)
def test_papers_example(rule, cost, plan):
    found, found_cost = solved(rule, PAPER)
    assert found_cost == pytest.approx(cost, rel=1e-12)
    assert found == plan


def test_figure_17():
    """Two columns of weight 0.5 each."""
    plan, cost = solved("kalinov-lastovetsky", PAPER)
    columns = tree_of(plan)[1:]
    assert [workers_of(column) for column in columns] == [[0, 1, 2, 3, 4, 5], [6, 7]]
    assert [sum(PAPER[i] for i in workers_of(column)) for column in columns] == pytest.approx(
        [0.5, 0.5]
    )
    assert cost == pytest.approx(6, rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_one_worker_has_the_box(rule):
    assert solved(rule, [0.0, 7.0, 0.0]) == ([1], 2.0)
    plan, cost = solved(rule, [LEAST], 4.0)
    assert plan == [0]
    assert cost == 2.5


@pytest.mark.parametrize("rule", ["kalinov-lastovetsky", "recursive", "snrpp"])
@pytest.mark.parametrize("p", [4, 16, 256])
def test_equal_areas_are_squares(rule, p):
    assert solved(rule, [0.1] * p)[1] == pytest.approx(2 * math.sqrt(p), rel=1e-12)


@pytest.mark.parametrize("p", [9, 81, 729])
def test_thirds_of_equal_areas_are_ties(p):
    """Three equal parts: the first reaches a third, and nobody goes around, whatever the rounding
    of 1/3."""
    assert AROUND not in solved("snrpp", [0.1] * p)[0]
    plan, cost = solved("nagamochi-abe", [0.1] * p)
    assert len(workers_of(tree_of(plan)[1])) == p // 3
    found = zones(RULES["nagamochi-abe"]([0.1] * p, 1.0), [0.1] * p, 1.0)
    assert cost == pytest.approx(cost_of(found), rel=1e-12)


def test_one_large_worker_goes_around():
    """1 : 20: an L around a square instead of two slices."""
    assert solved("snrpp", [1.0, 20.0]) == ([0, 1, AROUND], pytest.approx(2 + 2 / math.sqrt(21)))
    assert solved("nagamochi-abe", [1.0, 20.0]) == ([1, 0, -1], pytest.approx(3))
    # a third is not less than a third
    assert solved("snrpp", [1.0, 2.0]) == ([0, 1, -1], pytest.approx(3))
    # the corner is 2 : 1, so that both in it are squares
    plan, cost = solved("snrpp", [1.0, 1.0, 40.0])
    assert plan == [0, 1, -1, 2, AROUND]
    assert cost == pytest.approx(2 + 4 / math.sqrt(42), rel=1e-14)


@pytest.mark.parametrize("operator", [-1, -2])
def test_corners_as_wide_as_the_box(operator):
    """Where the best corner does not fit it is clipped, and its owner has no L: by hand in the slow
    version."""
    tree = (AROUND, (operator, 0, 1), 2)
    areas, aspect = [1.0, 1.0, 1.0], 8.0 if operator == -2 else 1 / 8
    pieces = zones(tree, areas, aspect)
    assert len(pieces[2]) == 1
    assert cost_of(pieces) < cost_of(zones(tree, areas, 1.0)) + math.sqrt(8) + 1 / math.sqrt(8)


# ---- slow versions -------------------------------------------------------------------------------


@given(st.sampled_from(sorted(RULES)), areas_lists(12), aspects)
@example("snrpp", [1.0, 6.0, 36.0, 216.0, 1296.0, 7776.0], 1.0)
@example("snrpp", [1.0, 1.0, 1.0, 40.0, 40.0, 1000.0], 3.0)
@example("nagamochi-abe", [1.0] * 9, 1.0)
@example("nagamochi-abe", [2.0, 1.0, 1.0, 1.0, 1.0], 1.0)
@example("recursive", [1.0] * 9, 1.0)
@example("kalinov-lastovetsky", [1.0] * 7, 1.0)
@example("kalinov-lastovetsky", [1e-14, 1e-14, 1e-14, 1.0, 1.0, 1e-14, 1.0], 1.0)
@example("kalinov-lastovetsky", [1.0, 1.0, 1e12, 1.0], 1.0)
@example("kalinov-lastovetsky", [100.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 1.0)
@example("kalinov-lastovetsky", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 100.0], 1.0)
@example("kalinov-lastovetsky", [1.0, 1.0], 20.0)
@example("kalinov-lastovetsky", [1.0, 1.0, 1.0], 0.05)
def test_is_the_slow_rule(rule, areas, aspect):
    plan, cost = solved(rule, areas, aspect)
    tree = RULES[rule](areas, aspect)
    assert tree_of(plan) == tree
    assert sorted(workers_of(tree)) == [i for i, area in enumerate(areas) if area > 0]
    found = zones(tree, areas, aspect)
    assert cost == pytest.approx(cost_of(found), rel=1e-11)
    total = math.fsum(areas)
    for worker, pieces in found.items():  # the slow geometry is right
        assert math.fsum(h * w for _, _, h, w in pieces) == pytest.approx(
            areas[worker] / total, rel=1e-9
        )


@given(areas_lists(10), aspects)
@example([1.0] * 4, 1.0)
@example([1.0] * 5, 3.0)
@example([8.0, 1.0, 1.0, 1.0], 0.3)
def test_kaddoura(areas, aspect):
    """Its cost is the slow one's, the tree's own, and no more than that of the rule which it
    refines."""
    plan, cost = solved("kaddoura", areas, aspect)
    assert cost == pytest.approx(kaddoura_cost(areas, aspect), rel=1e-10)
    tree = tree_of(plan)
    assert sorted(workers_of(tree)) == [i for i, area in enumerate(areas) if area > 0]
    assert cost == pytest.approx(cost_of(zones(tree, areas, aspect)), rel=1e-10)
    assert cost <= solved("recursive", areas, aspect)[1] * (1 + 1e-12)


@given(
    st.sampled_from(["recursive", "nagamochi-abe", "snrpp"]),
    st.integers(20, 300),
    st.integers(0, 2**32),
    aspects,
)
def test_is_the_slow_rule_for_many(rule, p, seed, aspect):
    areas = (10.0 ** np.random.default_rng(seed).uniform(-3, 0, p)).tolist()
    plan, cost = solved(rule, areas, aspect)
    tree = tree_of(plan)
    assert cost == pytest.approx(cost_of(zones(tree, areas, aspect)), rel=1e-10)
    if p < 60:
        assert tree == RULES[rule](areas, aspect)


@given(st.sampled_from(sorted(RULES)), areas_lists(12), aspects, st.integers(-60, 60))
def test_unit_of_the_areas_does_not_matter(rule, areas, aspect, exponent):
    assert solved(rule, [math.ldexp(area, exponent) for area in areas], aspect) == solved(
        rule, areas, aspect
    )


@given(
    st.sampled_from(["recursive", "nagamochi-abe", "snrpp"]),
    areas_lists(12),
    aspects,
    st.randoms(use_true_random=False),
)
def test_neither_the_order_nor_the_side_matters(rule, areas, aspect, random):
    cost = solved(rule, areas, aspect)[1]
    assert solved(rule, random.sample(areas, len(areas)), aspect)[1] == pytest.approx(
        cost, rel=1e-11
    )
    assert solved(rule, areas, 1 / aspect)[1] == pytest.approx(cost, rel=1e-11)


@given(areas_lists(12), aspects)
def test_rows_cost(areas, aspect):
    size = sum(area > 0 for area in areas)
    assert solved("rows", areas, aspect)[1] == pytest.approx(
        size * math.sqrt(aspect) + 1 / math.sqrt(aspect), rel=1e-12
    )


# ---- what is proven ------------------------------------------------------------------------------


def ratio(rect: tuple[float, float, float, float]) -> float:
    return max(rect[2] / rect[3], rect[3] / rect[2])


@given(areas_lists(14), aspects)
def test_nagamochi_abe_ratio_of_sides(areas, aspect):
    tree = tree_of(solved("nagamochi-abe", areas, aspect)[0])
    falling = sorted((area for area in areas if area > 0), reverse=True)
    steepest = max((a / b for a, b in itertools.pairwise(falling)), default=0.0)
    limit = max(aspect, 1 / aspect, 3.0, 1.0 + steepest) * (1 + 1e-9)
    assert all(ratio(rect) <= limit for (rect,) in zones(tree, areas, aspect).values())


@given(areas_lists(14))
@example([1 / 3 + 1e-9, 1 / 3, 1 / 3, 1e-9, 1e-9, 1e-9])  # 1.2028, the worst known
@example([1.0, 1e-9])
def test_nagamochi_abe_is_within_a_quarter_of_the_best(areas):
    """Every partition of the square into at least two rectangles has cuts of length 1, hence cost
    3."""
    least = max(bound(areas), 2.0 if sum(area > 0 for area in areas) == 1 else 3.0)
    assert solved("nagamochi-abe", areas)[1] <= 1.25 * least * (1 + 1e-12)


def test_nagamochi_abe_is_not_within_a_quarter_of_the_bound():
    areas = [1.0, 1e-9]
    assert solved("nagamochi-abe", areas)[1] > 1.49 * bound(areas)


@given(st.lists(st.integers(1, 40).map(float), min_size=1, max_size=10), aspects)
def test_mohammadi_behroozi(areas, aspect):
    """One list of joins gives what joining anew in every box does."""
    plan, cost = solved("mohammadi-behroozi", areas, aspect)
    assert sorted(workers_of(tree_of(plan))) == list(range(len(areas)))
    assert cost == pytest.approx(mohammadi_behroozi_cost(areas, aspect), rel=1e-10)


@given(st.lists(st.floats(-3, 0).map(lambda x: 10.0**x), min_size=1, max_size=6))
@example([2.0, 1.0])
@example([9.0, 9.0, 3.0, 1.0])
@example([27.0, 18.0, 6.0, 2.0, 1.0])
@example([1.0, 1.0, 1.0, 1.0, 1.0])
@example([1e6, 1.0, 1.0, 1.0])
def test_mohammadi_behroozi_guarantee(areas):
    """At most 1.203 times the best partition into rectangles, as their abstract says; and 2 /
    sqrt(3) times the bound if no rectangle is longer than 3 : 1."""
    plan, cost = solved("mohammadi-behroozi", areas)
    best = hs.partition(areas, "guillotine")
    assert best.scope == "partitions into rectangles"
    assert best.cost * (1 - 1e-12) <= cost <= 1.203 * best.cost
    pieces = [piece for own in zones(tree_of(plan), areas, 1.0).values() for piece in own]
    if max(ratio(piece) for piece in pieces) <= 3:
        assert cost <= 2 / math.sqrt(3) * bound(areas) * (1 + 1e-11)


@given(areas_lists(14), st.floats(-1, 1).map(lambda x: 3.0**x))
@example([1.0, 2.0 + 1e-9], 1.0)  # the ratio is sqrt(3/2) in the limit, for a square and for 3 : 1
@example([1.0, 8.0 + 1e-8], 3.0)
@example([1.0, 1.0, 1.0, 1.0, 26.0], 1.0)
def test_snrpp_guarantee(areas, aspect):
    plan, cost = solved("snrpp", areas, aspect)
    published = zones(tree_of(plan), areas, aspect, stretched=False)
    for pieces in published.values():
        assert len(pieces) == 2 or ratio(pieces[0]) <= 3 * (1 + 1e-9)
    assert cost <= cost_of(published) * (1 + 1e-11)
    assert cost_of(published) <= math.sqrt(1.5) * bound(areas) * (1 + 1e-11)


def test_snrpp_guarantee_is_tight():
    for areas, aspect in ([1.0, 2.0 + 1e-9], 1.0), ([1.0, 8.0 + 1e-8], 3.0):
        total = sum(areas)
        owner = solved("snrpp", areas, aspect)[1] - 2 * math.sqrt(areas[0] / total)
        assert owner / (2 * math.sqrt(areas[1] / total)) == pytest.approx(math.sqrt(1.5), rel=1e-6)


# ---- many and extreme areas ----------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["uniform", "equal", "geometric", "steep"])
def test_100000_areas(rule, kind):
    p = 100_000
    areas = {
        "uniform": lambda: np.random.default_rng(3).random(p) + 0.1,
        "equal": lambda: np.ones(p),
        "geometric": lambda: 0.999 ** np.arange(p) + 1e-300,
        "steep": lambda: np.maximum(0.2 ** np.arange(p), 1e-250),
    }[kind]()
    plan, cost = stages.partition_rule(rule, areas)
    assert len(plan) == 2 * p - 1
    assert np.array_equal(np.sort(plan[plan >= 0]), np.arange(p))
    heights = np.cumsum(np.where(plan >= 0, 1, -1))
    assert heights[-1] == 1
    assert heights.min() == 1
    squares = 2 * np.sqrt(areas / areas.sum()).sum()
    assert squares * (1 - 1e-9) <= cost
    if rule == "rows":
        assert cost == pytest.approx(p + 1, rel=1e-9)
    if rule == "nagamochi-abe":
        assert cost <= 1.25 * max(squares, 3)
    if rule == "snrpp":
        assert cost <= math.sqrt(1.5) * squares


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "areas",
    [
        [LEAST] * 5,
        [MOST / 8] * 5,
        [1e300, 1e-300],
        [1e300, 1e-300, 1e-300, 1e-310, LEAST],
        [LEAST, 1.0, 1e300, 1.0, LEAST],
        [10.0**-k for k in range(300)],
    ],
)
@pytest.mark.parametrize("aspect", [1.0, 1e-12, 1e12])
def test_extreme_areas(rule, areas, aspect):
    plan, cost = solved(rule, areas, aspect)
    assert sorted(entry for entry in plan if entry >= 0) == list(range(len(areas)))
    assert math.isfinite(cost)
    assert cost >= max(math.sqrt(aspect), 1 / math.sqrt(aspect)) * (1 - 1e-12)


def test_a_vanishing_area_costs_nothing_in_its_corner():
    assert solved("snrpp", [1e300, 1e-300]) == ([1, 0, AROUND], 2.0)


# ---- contiguous blocks ---------------------------------------------------------------------------


def runs(m: int, n: int, areas: list[float]) -> list[tuple[int, list[int]]]:
    workers, rects = stages.partition_contiguous(m, n, np.array(areas))
    return list(zip(workers.tolist(), rects.tolist(), strict=True))


def test_figure_18():
    """The cost of contiguous blocks of a 10 x 10 grid."""
    found = runs(10, 10, PAPER)
    assert found == [
        (0, [0, 0, 1, 5]),
        (1, [0, 5, 1, 5]),
        (2, [1, 0, 1, 8]),
        (3, [1, 8, 1, 2]),
        (3, [2, 0, 1, 8]),
        (4, [2, 8, 1, 2]),
        (4, [3, 0, 1, 8]),
        (5, [3, 8, 1, 2]),
        (5, [4, 0, 1, 10]),
        (6, [5, 0, 2, 10]),
        (7, [7, 0, 3, 10]),
    ]
    of_worker = [[rect for worker, rect in found if worker == i] for i in range(8)]
    assert sum(map(half_perimeter, of_worker)) == 82


@given(st.integers(1, 30), st.integers(1, 30), areas_lists(20))
@example(1, 1, [1.0, 2.0])
@example(5, 7, [0.0, 3.0, 0.0])
@example(3, 5, [1.0, 13.0, 1.0])
def test_contiguous_blocks_are_runs_of_cells(m, n, areas):
    found = runs(m, n, areas)
    assert covers_exactly((m, n), [rect for _, rect in found])
    assert [worker for worker, _ in found] == sorted(worker for worker, _ in found)
    cells = [
        [r * n + c for r in range(row, row + h) for c in range(col, col + w)]
        for _, (row, col, h, w) in found
    ]
    assert list(itertools.chain(*cells)) == list(range(m * n))  # in row-major order
    pieces = [[(h, w) for worker, (_, _, h, w) in found if worker == i] for i in range(len(areas))]
    assert max(map(len, pieces)) <= 3
    # no two pieces that would be one: partial rows only at the ends, whole rows together
    for of_worker in pieces:
        assert all(h == 1 or w == n for h, w in of_worker)
        assert sum(w == n for _, w in of_worker) <= 1
        assert all(w == n for _, w in of_worker[1:-1])
    with np.errstate(divide="ignore"):
        counts = hs.distribute(m * n, 1 / np.array(areas)).counts.tolist()
    found_counts = [sum(h * w for h, w in of_worker) for of_worker in pieces]
    loads = [
        max(c / a for c, a in zip(each, areas, strict=True) if c) for each in (counts, found_counts)
    ]
    assert loads[0] == pytest.approx(loads[1], rel=1e-12)


def test_contiguous_blocks_of_the_largest_grid():
    found = runs(2**26, 2**27, [1.0, 2.0, 1.0])
    assert sum(h * w for _, (_, _, h, w) in found) == 2**53
    assert found == [
        (0, [0, 0, 2**24, 2**27]),
        (1, [2**24, 0, 2**25, 2**27]),
        (2, [3 * 2**24, 0, 2**24, 2**27]),
    ]
    assert runs(2**53, 1, [1.0, 1.0]) == [(0, [0, 0, 2**52, 1]), (1, [2**52, 0, 2**52, 1])]
    assert runs(1, 2**53, [1.0, 1.0]) == [(0, [0, 0, 1, 2**52]), (1, [0, 2**52, 1, 2**52])]


def test_a_fine_grid_costs_as_much_as_slices():
    m = n = 10**6
    found = runs(m, n, PAPER)
    of_worker = [[rect for worker, rect in found if worker == i] for i in range(len(PAPER))]
    assert sum(map(half_perimeter, of_worker)) / m == pytest.approx(len(PAPER) + 1, rel=1e-4)


# ---- refusals ------------------------------------------------------------------------------------

BAD_AREAS = [[1.0, NAN], [-1.0, 2.0], [-LEAST], [INF, 1.0], [-INF], [0.0, -0.0], [MOST, MOST], []]


@pytest.mark.parametrize("areas", BAD_AREAS)
def test_bad_areas(areas):
    for rule in RULES:
        with pytest.raises(ValueError, match="outside its documented range"):
            solved(rule, areas)
    with pytest.raises(ValueError, match="outside its documented range"):
        runs(3, 3, areas)


@pytest.mark.parametrize("aspect", [0.0, -1.0, INF, -INF, NAN])
def test_bad_aspect(aspect):
    with pytest.raises(ValueError, match="outside its documented range"):
        solved("recursive", [1.0, 2.0], aspect)


def test_bad_rule():
    assert (*RULES, "kaddoura", "mohammadi-behroozi") == tuple(stages.RULES)
    with pytest.raises(KeyError):
        solved("columns", [1.0, 2.0])


@pytest.mark.parametrize(
    ("m", "n"), [(0, 1), (1, 0), (-1, 5), (2**53 + 1, 1), (2**27, 2**26 + 1), (2**62, 2**62)]
)
def test_bad_grid(m, n):
    with pytest.raises(ValueError, match="outside its documented range"):
        runs(m, n, [1.0, 2.0])


def test_inputs_are_untouched():
    areas = np.array(PAPER)
    areas.setflags(write=False)
    for rule in RULES:
        first, again = (stages.partition_rule(rule, areas) for _ in range(2))
        assert first[0].tolist() == again[0].tolist()
        assert first[1] == again[1]
    stages.partition_contiguous(10, 10, areas)
    assert areas.tolist() == PAPER
