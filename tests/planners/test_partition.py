"""hetsched.partition: exact tilings, and the least cost among full columns."""

from __future__ import annotations

import itertools
import json
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import column_cost, column_cost_of_any_sets, covers_exactly
from stages import partition_columns

import hetsched as hs

INF, NAN = math.inf, math.nan
LEAST, MOST = math.ulp(0.0), float(np.finfo(float).max)
PAPER = [0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3]  # Table 2 of the 2001 paper


def areas_lists(max_size: int, *, zeros: bool = True) -> st.SearchStrategy[list[float]]:
    zero = [st.just(0.0)] if zeros else []
    kinds = [
        st.floats(1e-6, 1.0),
        st.integers(1, 5).map(float),
        st.sampled_from([1.0, 1.0 + 2**-52, 1.0 - 2**-53, 2.0, 4.0]),
        st.floats(-100, 100).map(lambda x: 10.0**x),
    ]
    return st.one_of(
        *(st.lists(st.one_of(kind, *zero), min_size=1, max_size=max_size) for kind in kinds),
    ).filter(any)


def shares(areas: list[float]) -> list[Fraction]:
    total = sum(map(Fraction, areas))
    return [Fraction(area) / total for area in areas]


def check_unit_square(plan: hs.Partition, areas: list[float]) -> None:
    """Areas right, inside the square, no two overlap: then the rectangles tile it, as the areas sum
    to 1."""
    for (row, col, height, width), share in zip(plan.rects.tolist(), shares(areas), strict=True):
        if share == 0:
            assert (row, col, height, width) == (0, 0, 0, 0)
        else:
            assert height > 0
            assert width > 0
            assert height * width == pytest.approx(float(share), rel=1e-12, abs=1e-300)
        assert 0 <= row <= row + height <= 1 + 1e-12
        assert 0 <= col <= col + width <= 1 + 1e-12
    for (r, c, h, w), (row, col, height, width) in itertools.combinations(plan.rects.tolist(), 2):
        common_height = min(r + h, row + height) - max(r, row)
        common_width = min(c + w, col + width) - max(c, col)
        assert min(common_height, common_width) <= 1e-12


def plain_recurrence(areas: np.ndarray, widest: int) -> float:
    """F(q) = min F(a) + 1 + (P_q - P_a)(q - a) over q - a <= widest: Algorithm 3, without its
    dimension C."""
    prefix = np.concatenate(([0.0], np.cumsum(np.sort(areas / areas.sum()))))
    least = np.zeros(len(prefix))
    index = np.arange(len(prefix), dtype=float)
    for q in range(1, len(prefix)):
        a = max(0, q - widest)
        least[q] = (least[a:q] + (prefix[q] - prefix[a:q]) * (q - index[a:q])).min() + 1
    return float(least[-1])


def structure_cost(areas: list[float], order: np.ndarray, starts: np.ndarray) -> Fraction:
    exact = shares(areas)
    ends = itertools.pairwise(starts.tolist())
    return sum(
        (1 + sum(exact[i] for i in order[a:b].tolist()) * (b - a) for a, b in ends), Fraction(0)
    )


# ---- the unit square -----------------------------------------------------------------------------


def test_papers_example():
    plan = hs.partition(PAPER, "columns")
    assert plan.cost == pytest.approx(5.5, rel=1e-14)
    assert plan.columns == ((0, 1, 2), (3, 4, 5), (6, 7))
    assert plan.lower_bound == pytest.approx(5.4077, abs=5e-5)
    assert plan.gap == pytest.approx(5.5 / 5.4077 - 1, abs=1e-5)
    assert not plan.optimal
    assert plan.scope == "partitions into full columns"
    assert plan.shape is None
    check_unit_square(plan, PAPER)
    assert plan.rects[7] == pytest.approx([0.4, 0.5, 0.6, 0.5])


@pytest.mark.parametrize(
    ("areas", "cost", "sizes"),
    [
        ([1], 2, [1]),
        ([7, 7, 7, 7], 4, [2, 2]),
        ([0.3] * 9, 6, [3, 3, 3]),
        ([LEAST] * 9, 6, [3, 3, 3]),
        ([MOST] * 9, 6, [3, 3, 3]),
        ([1] * 100, 20, [10] * 10),
        ([0, 0, 5, 0], 2, [1]),
    ],
)
def test_known_values(areas, cost, sizes):
    plan = hs.partition(areas, "columns")
    assert plan.cost == pytest.approx(cost, rel=1e-14)
    assert [len(column) for column in plan.columns] == sizes
    assert plan.optimal
    assert plan.gap == pytest.approx(0, abs=1e-14)


@given(areas_lists(9))
@example([1e-100, 1e100])
@example([1.0] * 9)
@example([1e-16] * 8 + [1.0])
def test_least_cost_among_columns(areas):
    plan = hs.partition(areas, "columns")
    assert plan.cost == pytest.approx(float(column_cost(areas)), rel=1e-12)


@given(
    areas_lists(6),
    st.one_of(st.none(), st.integers(1, 6)),
    st.one_of(st.none(), st.integers(1, 6)),
)
def test_sorted_runs_are_the_best_columns(areas, max_columns, max_rows):
    """The oracle's own assumption, under the limits too."""
    assert column_cost(areas, max_columns, max_rows) == column_cost_of_any_sets(
        areas, max_columns, max_rows
    )


@given(areas_lists(12), st.sampled_from(["columns", "rows"]))
def test_tiles_the_unit_square(areas, method):
    plan = hs.partition(areas, method)
    check_unit_square(plan, areas)
    assert plan.rects.dtype == np.float64
    assert plan.cost == pytest.approx(math.fsum(plan.rects[:, 2:].ravel().tolist()), rel=1e-14)
    squares = 2 * sum(math.sqrt(s) for s in shares(areas))
    assert plan.lower_bound >= min(plan.cost, squares) * (1 - 1e-12)
    # few zones cannot all be squares: the corners of the square are in some
    if sum(area > 0 for area in areas) > 3:
        assert plan.lower_bound == pytest.approx(min(plan.cost, squares), rel=1e-12)
    assert plan.lower_bound <= plan.cost
    assert plan.gap >= 0
    assert plan.imbalance == pytest.approx(1, rel=1e-12)
    assert plan.areas == pytest.approx([float(s) for s in shares(areas)], rel=1e-12, abs=1e-300)
    assert sorted(itertools.chain(*plan.columns)) == [i for i, area in enumerate(areas) if area > 0]
    for column in plan.columns:  # left to right, top to bottom, and full
        rows, cols, heights, widths = plan.rects[list(column)].T
        assert len({*cols.tolist()}) == len({*widths.tolist()}) == 1
        assert rows.tolist() == sorted(rows.tolist())
        assert heights.sum() == pytest.approx(1, rel=1e-12)
    lefts = [plan.rects[column[0], 1] for column in plan.columns]
    assert lefts == sorted(lefts)


@given(areas_lists(9), st.randoms(use_true_random=False), st.integers(-60, 60))
def test_order_and_unit_of_the_areas_do_not_matter(areas, random, exponent):
    plan = hs.partition(areas, "columns")
    shuffled = random.sample(areas, len(areas))
    assert hs.partition(shuffled, "columns").cost == pytest.approx(plan.cost, rel=1e-12)
    assert (
        hs.partition([math.ldexp(area, exponent) for area in areas], "columns").rects.tolist()
        == plan.rects.tolist()
    )


@given(areas_lists(12))
def test_rows_cost_one_more_than_the_workers(areas):
    plan = hs.partition(areas, "rows")
    enrolled = sum(area > 0 for area in areas)
    assert plan.cost == pytest.approx(enrolled + 1, rel=1e-12)
    assert plan.columns == (tuple(i for i, area in enumerate(areas) if area > 0),)
    assert plan.method == "rows"
    assert plan.scope == ""
    assert not (plan.optimal and enrolled > 2)


def test_equal_areas_stay_in_index_order():
    plan = hs.partition([2, 1, 2, 1, 1, 2], "columns")
    assert list(itertools.chain(*plan.columns)) == [1, 3, 4, 0, 2, 5]


def test_results_are_read_only_and_inputs_untouched():
    areas = np.array(PAPER)
    plan = hs.partition(areas, "columns")
    assert areas.tolist() == PAPER
    assert areas.flags.writeable
    assert not any(a.flags.writeable for a in (plan.rects, plan.areas, plan.cycle_times))
    assert plan.rects.tolist() == hs.partition(PAPER, "columns").rects.tolist()
    with pytest.raises(AttributeError):
        plan.cost = 0.0


def test_certificate_and_dict():
    plan = hs.partition(PAPER, "columns", shape=(20, 20))
    assert plan.scope == ""
    assert "not proven optimal (columns)" in str(plan.certificate)
    content = json.loads(json.dumps(plan.to_dict()))
    assert content["shape"] == [20, 20]
    assert content["rects"] == plan.rects.tolist()
    assert "optimal among partitions into full columns (columns)" in str(
        hs.partition(PAPER, "columns").certificate
    )


# ---- many areas ----------------------------------------------------------------------------------


def many_areas(kind: str, p: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    return {
        "uniform": lambda: rng.random(p) + 0.5,
        "equal": lambda: np.full(p, 0.1),
        "few values": lambda: rng.integers(1, 4, p).astype(float),
        "harmonic": lambda: 1.0 / np.arange(1, p + 1),
        "geometric": lambda: 0.98 ** np.arange(p),
        "far apart": lambda: 10.0 ** rng.uniform(-100, 100, p),
        "two heaps": lambda: np.where(np.arange(p) < p // 2, 1e-9, 1.0),
    }[kind]()


@pytest.mark.parametrize(
    "kind", ["uniform", "equal", "few values", "harmonic", "geometric", "far apart", "two heaps"]
)
def test_cost_of_2000_areas_is_the_plain_recurrences(kind):
    areas = many_areas(kind, 2000)
    assert hs.partition(areas, "columns").cost == pytest.approx(
        plain_recurrence(areas, len(areas)), rel=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["few values", "uniform", "equal"])
def test_100000_areas(kind):
    """A best column of k parts and width W >= k min(areas) has k // 2 * W <= 1, or halving it would
    pay."""
    areas = many_areas(kind, 100_000)
    widest = math.isqrt(int(2 * areas.sum() / areas.min())) + 2
    start = time.process_time()
    plan = hs.partition(areas, "columns")
    assert time.process_time() - start < 5.0  # O(p log p)
    assert plan.cost == pytest.approx(plain_recurrence(areas, widest), rel=1e-11)
    assert plan.lower_bound <= plan.cost
    assert max(map(len, plan.columns)) <= widest
    assert plan.actual_areas == pytest.approx(areas / areas.sum(), rel=1e-10)
    assert math.fsum(plan.actual_areas) == pytest.approx(1, rel=1e-12)
    assert (plan.rects[:, 0] + plan.rects[:, 2]).max() == pytest.approx(1, abs=1e-12)
    assert (plan.rects[:, 1] + plan.rects[:, 3]).max() == pytest.approx(1, abs=1e-12)


# ---- limits on the columns -----------------------------------------------------------------------


@st.composite
def limited(draw, max_size):
    areas = draw(areas_lists(max_size))
    size = sum(area > 0 for area in areas)
    max_columns = draw(st.integers(1, size))
    return areas, max_columns, draw(st.integers(-(-size // max_columns), size))


@given(limited(12))
@example(([1.0] * 10, 3, 4))
@example(([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 100.0, 100.0, 100.0], 2, 5))
def test_least_cost_within_limits(case):
    areas, max_columns, max_rows = case
    order, starts = partition_columns(np.array(areas), 1.0, max_columns, max_rows)
    assert len(starts) - 1 <= max_columns
    assert np.diff(starts).max() <= max_rows
    assert np.diff(starts).min() >= 1
    assert sorted(order.tolist()) == [i for i, area in enumerate(areas) if area > 0]
    assert float(structure_cost(areas, order, starts)) == pytest.approx(
        float(column_cost(areas, max_columns, max_rows)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("areas", "max_columns", "max_rows", "cost"),
    [
        ([3, 2, 4, 4, 2, 1, 3, 2, 3, 3, 2, 2, 1, 4], 14, 5, 7.416666666666667),
        ([3, 2, 4, 4, 2, 1, 3, 2, 3, 3, 2, 2, 1, 4], 6, 5, 7.416666666666667),
        ([4, 2, 3, 4, 4, 4, 3, 4, 3, 4, 4, 3, 3, 1], 14, 5, 7.478260869565217),
    ],
)
def test_least_cost_with_few_rows(areas, max_columns, max_rows, cost):
    """Where a later cut wins only because the earlier one has too many rows: a search by cost alone
    misses it."""
    assert float(column_cost(areas, max_columns, max_rows)) == pytest.approx(cost)
    order, starts = partition_columns(np.array(areas, float), 1.0, max_columns, max_rows)
    assert float(structure_cost(areas, order, starts)) == pytest.approx(cost, rel=1e-12)


@given(areas_lists(10), st.data())
def test_fixed_number_of_columns(areas, data):
    """The least over all ways to cut the sorted areas into so many columns."""
    given_areas = sorted(area for area in areas if area > 0)
    size = len(given_areas)
    count = data.draw(st.integers(1, size))
    plan = hs.partition(areas, "columns", columns=count)
    total = sum(map(Fraction, given_areas))
    least = min(
        sum(
            (1 + sum(map(Fraction, given_areas[a:b])) / total * (b - a))
            for a, b in zip((0, *cuts), (*cuts, size), strict=True)
        )
        for cuts in itertools.combinations(range(1, size), count - 1)
    )
    assert len(plan.columns) == count
    assert plan.cost == pytest.approx(float(least), rel=1e-12)
    assert plan.cost >= hs.partition(areas, "columns").cost * (1 - 1e-12)
    assert plan.guarantee is None


def test_fixed_number_of_columns_of_a_matrix():
    plan = hs.partition([1] * 12, "columns", (12, 12), columns=2)
    assert [len(column) for column in plan.columns] == [6, 6]
    assert hs.partition([1] * 4, "columns", columns=1).scope == "partitions into 1 full column"
    for columns, shape, text in (
        (5, None, "at most 4"),
        (3, (9, 2), "at most 2"),
        (1, (3, 9), "at least 2"),
    ):
        with pytest.raises(hs.InfeasibleError, match=f"columns must be {text}"):
            hs.partition([1] * 4, "columns", shape, columns=columns)
    with pytest.raises(ValueError, match='columns is for method "columns", got "best"'):
        hs.partition([1] * 4, columns=2)
    for wrong in (0, 1.5, True):
        with pytest.raises((TypeError, ValueError), match="columns"):
            hs.partition([1] * 4, "columns", columns=wrong)


@given(areas_lists(40))
@example([1.0, 1.0])
@example([1.0] * 17)
def test_guarantee(areas):
    """2001 paper, section 3.2.4."""
    plan = hs.partition(areas, "columns")
    p, own = len(plan.areas[plan.areas > 0]), plan.areas[plan.areas > 0]
    factor = math.sqrt(own.max() / own.min()) * (1 + 1 / math.sqrt(p))
    assert plan.guarantee == pytest.approx(factor * 2 * np.sqrt(own).sum())
    assert plan.cost <= plan.guarantee * (1 + 1e-12)
    assert hs.partition(areas, "rows").guarantee is None
    for method in ("snrpp", "nonrectangular"):
        around = hs.partition(areas, method)
        assert around.guarantee == pytest.approx(math.sqrt(6) * np.sqrt(own).sum())
        assert around.cost <= around.guarantee * (1 + 1e-12)
        costs = [2.0] + [1.0] * (len(areas) - 1)
        assert hs.partition(areas, method, link_costs=costs).guarantee is None
        assert hs.partition(areas, method, objective="max").guarantee is None
        assert hs.partition(areas, method, shape=(99, 99)).guarantee is None


def test_limits_that_leave_no_structure():
    with pytest.raises(hs.InfeasibleError):
        partition_columns(np.ones(7), 1.0, 2, 3)


def test_shape_limits_the_columns():
    assert [len(column) for column in hs.partition([1] * 12, "columns", shape=(3, 4)).columns] == [
        3
    ] * 4
    assert [len(column) for column in hs.partition([1] * 12, "columns", shape=(12, 1)).columns] == [
        12
    ]


def test_columns_follow_the_shape_of_the_matrix():
    """12 equal workers on 2 x 100 cells: 12 columns of 2 x 8.33 cost 124, 6 columns of two 1 x
    16.67 cost 212."""
    assert [
        len(column) for column in hs.partition([1] * 12, "columns", shape=(2, 100)).columns
    ] == [1] * 12
    assert [
        len(column) for column in hs.partition([1] * 12, "columns", shape=(100, 2)).columns
    ] == [12]
    assert [
        len(column) for column in hs.partition([1] * 12, "columns", shape=(300, 400)).columns
    ] == [3] * 4


# ---- matrices ------------------------------------------------------------------------------------


@st.composite
def matrices(draw):
    return (draw(st.integers(1, 40)), draw(st.integers(1, 40))), draw(areas_lists(30))


@given(matrices(), st.sampled_from(["columns", "rows"]))
@example(((1, 1), [3.0]), "columns")
@example(((40, 1), [1.0] * 30), "columns")
@example(((1, 40), [1.0] * 30), "columns")
@example(((5, 6), [float(i) for i in range(1, 31)]), "columns")
@example(((5, 5), [0.0, 1e-100, 1e100, 0.0, 1.0]), "columns")
def test_tiles_a_matrix_exactly(case, method):
    shape, areas = case
    m, n = shape
    enrolled = sum(area > 0 for area in areas)
    if enrolled > m * n:
        with pytest.raises(
            hs.InfeasibleError, match=rf"{m * n} cells, fewer than the {enrolled} workers"
        ):
            hs.partition(areas, method, shape)
        return
    plan = hs.partition(areas, method, shape)
    rects = plan.rects.tolist()
    assert plan.rects.dtype == np.int64
    assert plan.shape == shape
    assert covers_exactly(shape, rects)
    for area, rect in zip(areas, rects, strict=True):
        if area == 0 or 0 in rect[2:]:
            assert rect == [0, 0, 0, 0]
    assert plan.cost == sum(h + w for _, _, h, w in rects)
    squares = sum(2 * math.sqrt(h * w) for _, _, h, w in rects)
    assert squares * (1 - 1e-12) <= plan.lower_bound <= plan.cost
    if enrolled > 3:
        fits = all(h * w <= min(shape) ** 2 for _, _, h, w in rects)  # squares of these sizes
        assert (
            plan.optimal == all(h == w for _, _, h, w in rects)
            or not fits
            or sum(h > 0 for _, _, h, _ in rects) < 4
        )

    assert len(plan.columns) <= n
    assert sorted(itertools.chain(*plan.columns)) == [i for i, rect in enumerate(rects) if rect[2]]
    for column in plan.columns:
        assert 0 < len(column) <= m
        assert len({(rects[i][1], rects[i][3]) for i in column}) == 1
        assert sum(rects[i][2] for i in column) == m

    # The load: actual / asked share, at most (n + C - 1) / n over the C columns and likewise over
    # the rows of a column.
    exact = shares(areas)
    ratios = [Fraction(h * w, m * n) / s for (_, _, h, w), s in zip(rects, exact, strict=True) if s]
    assert plan.imbalance == pytest.approx(float(max(ratios)), rel=1e-12)
    assert plan.imbalance >= 1 - 1e-12
    columns, rows = (1, enrolled) if method == "rows" else (min(n, enrolled), min(m, enrolled))
    assert plan.imbalance <= (1 + (columns - 1) / n) * (1 + (rows - 1) / m) * (1 + 1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (1, 12), (12, 1), (3, 4), (5, 5), (7, 2)])
def test_as_many_equal_workers_as_cells(shape):
    p = shape[0] * shape[1]
    plan = hs.partition([0.3] * p, "columns", shape=shape)
    assert plan.rects[:, 2:].tolist() == [[1, 1]] * p
    assert plan.optimal
    assert plan.imbalance == pytest.approx(1)
    with pytest.raises(hs.InfeasibleError, match=f"{p} cells, fewer than the {p + 1} workers"):
        hs.partition([0.3] * (p + 1), "columns", shape=shape)
    assert covers_exactly(
        shape, hs.partition([0.3] * p + [0.0], "columns", shape=shape).rects.tolist()
    )


def test_infeasible_is_a_value_error():
    with pytest.raises(ValueError, match=r"shape \(1, 2\) has 2 cells"):
        hs.partition([1, 1, 1], "columns", shape=(1, 2))


def test_papers_example_on_blocks():
    plan = hs.partition(PAPER, "columns", shape=(10, 10))
    heights_and_widths = [[3, 2], [3, 2], [4, 2], [3, 3], [3, 3], [4, 3], [4, 5], [6, 5]]
    assert plan.rects[:, 2:].tolist() == heights_and_widths
    assert plan.cost == 55


@pytest.mark.parametrize(
    ("areas", "shape"), [([1, 1e-9, 1e-9, 1e-9], (10, 10)), ([1, 2, 4, 8, 16, 32], (3, 3))]
)
def test_no_column_is_empty(areas, shape):
    assert all(hs.partition(areas, "columns", shape=shape).columns)


def test_the_largest_matrix():
    side = 2**53
    plan = hs.partition([1, 2, 1], "columns", shape=(side, side))
    assert sum(h * w for _, _, h, w in plan.rects.tolist()) == side * side
    assert plan.imbalance == pytest.approx(1)
    with pytest.raises(ValueError, match=r"shape\[0\] must be in"):
        hs.partition([1, 1], "columns", shape=(side + 1, 1))


# ---- platforms and simulation --------------------------------------------------------------------


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=9))
def test_areas_of_a_platform_are_its_speeds(times):
    platform = hs.Platform.star(times)
    plan = hs.partition(platform, "columns")
    assert plan.rects.tolist() == hs.partition(1 / np.array(times), "columns").rects.tolist()
    assert plan.cycle_times.tolist() == times
    trace = hs.simulate(plan)
    assert trace.makespan == pytest.approx(1 / math.fsum(1 / t for t in times), rel=1e-12)
    assert trace.efficiency == pytest.approx(1, rel=1e-12)


def test_simulated_matrix():
    plan = hs.partition(hs.Platform.star([1, 2, 4]), "columns", shape=(7, 4))
    cells = (plan.rects[:, 2] * plan.rects[:, 3]).tolist()
    trace = hs.simulate(plan)
    assert trace.finish == pytest.approx([c * t for c, t in zip(cells, [1, 2, 4], strict=True)])
    assert trace.ideal == pytest.approx(28 / 1.75)
    assert trace.makespan == max(trace.finish)


@given(areas_lists(9))
def test_without_cycle_times_all_end_together(areas):
    trace = hs.simulate(hs.partition(areas, "columns"))
    assert trace.makespan == pytest.approx(1, rel=1e-12)
    assert [end for end, area in zip(trace.finish, areas, strict=True) if area == 0] == [
        0.0
    ] * areas.count(0.0)


def test_simulated_sliver():
    assert hs.simulate(hs.partition([1, 1e-310], "columns")).makespan == pytest.approx(1)


def test_platform_of_extreme_speeds():
    plan = hs.partition(hs.Platform.star([1e-310, 1.0]), "columns", shape=(4, 4))
    assert plan.rects.tolist() == [[0, 0, 4, 4], [0, 0, 0, 0]]


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("areas", "error", "message"),
    [
        ([1, NAN], ValueError, r"areas\[1\] is NaN"),
        ([1, 0, -1], ValueError, r"areas\[2\] must be finite and not negative, got -1"),
        ([INF, 1], ValueError, r"areas\[0\] must be finite and not negative, got inf"),
        ([-INF], ValueError, r"areas\[0\] must be finite and not negative, got -inf"),
        ([-LEAST], ValueError, r"areas\[0\] must be finite and not negative"),
        ([0, 0.0, -0.0], ValueError, "areas are all zero"),
        ([], ValueError, "areas is empty"),
        (1.0, ValueError, "areas must be one-dimensional"),
        ("abc", TypeError, "areas must be a sequence of real numbers"),
        (["1"], TypeError, "areas must be a sequence of real numbers"),
        ([True], TypeError, "areas must be a sequence of real numbers"),
        ([1j], TypeError, "areas must be a sequence of real numbers"),
        (None, TypeError, "give one of areas, cycle_times and speeds"),
        ([[1], [1, 2]], TypeError, "areas must be a sequence of real numbers"),
    ],
)
def test_bad_areas(areas, error, message):
    with pytest.raises(error, match=message):
        hs.partition(areas, "columns")


@pytest.mark.parametrize("method", ["", "COLUMNS", "nope", None, 3, ["columns"]])
def test_bad_method(method):
    with pytest.raises(ValueError, match="method must be one of best, columns"):
        hs.partition([1, 2], method)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ((0, 5), ValueError, r"shape\[0\] must be in \[1, "),
        ((5, -1), ValueError, r"shape\[1\] must be in \[1, "),
        ((5, 2.5), ValueError, r"shape\[1\] must be an integer, got 2.5"),
        ((NAN, 5), ValueError, r"shape\[0\] must be an integer, got nan"),
        ((5, True), TypeError, r"shape\[1\] must be an integer, got True"),
        (("5", 5), TypeError, r"shape\[0\] must be an integer, got '5'"),
        (5, TypeError, "shape must be a pair of integers such as .*, got 5"),
        ((1, 2, 3), TypeError, r"shape must be a pair of integers such as .*, got \(1, 2, 3\)"),
        ((), TypeError, "shape must be a pair of integers"),
    ],
)
def test_bad_shape(shape, error, message):
    with pytest.raises(error, match=message):
        hs.partition([1, 2], "columns", shape=shape)


def test_covers_exactly_sees_what_is_wrong():
    assert covers_exactly((2, 3), [[0, 0, 2, 1], [0, 1, 1, 2], [1, 1, 1, 2], [0, 0, 0, 0]])
    assert not covers_exactly((2, 3), [[0, 0, 2, 1], [0, 1, 1, 2], [1, 1, 1, 1]])  # a hole
    assert not covers_exactly((2, 3), [[0, 0, 2, 2], [0, 1, 1, 2], [1, 1, 1, 2]])  # an overlap
    assert not covers_exactly((2, 3), [[0, 0, 2, 4]])
    assert not covers_exactly((2, 3), [[-1, 0, 3, 3]])


@pytest.mark.parametrize(
    "options", [{"link_costs": [1.7e308, 1e307]}, {"groups": [0, 1], "group_cost": 1.7e308}]
)
def test_a_cost_that_overflows_is_no_optimum(options):
    with pytest.raises(
        ValueError, match="the cost overflows: give link_costs and group_cost in a larger unit"
    ):
        hs.partition([1, 1], **options)


@pytest.mark.parametrize("objective", [None, np.zeros((0, 3)), np.ones(2)])
def test_objective_is_a_word(objective):
    with pytest.raises(ValueError, match="objective must be one of"):
        hs.partition([1, 1], objective=objective)


def test_groups_are_not_ragged():
    with pytest.raises(ValueError, match="groups must be 2 integers"):
        hs.partition([1, 1], groups=[1, [2]])


@pytest.mark.parametrize("methods", [3, -1, 0.5])
def test_methods_are_a_sequence(methods):
    with pytest.raises(TypeError, match="methods must be some of"):
        hs.compare_partitions([1, 2], methods)
    with pytest.raises(ValueError, match="methods must be some of"):
        hs.compare_partitions([1, 2], [methods])
