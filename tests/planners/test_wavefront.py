"""hetsched.wavefront: the papers' numbers, every schedule against one made tile by tile, the bound
against all schedules."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from oracles.wavefront import divided, eager, least_makespan, panels, schedule, validate

import hetsched as hs
from hetsched.plots.canvas import digits

INF, NAN = math.inf, math.nan
RED = ("W", "N", "NW", "NE")  # the mask of the paper's red sweep, rows dealt

small_times = st.lists(st.integers(1, 9), min_size=1, max_size=5)
# Masks with the axis that they allow.
masks = st.sampled_from(
    [(("W", "N"), 1), (("W", "N"), 0), (("W", "N", "NW"), 1), (RED, 0), (("W", "N", "SW"), 1)]
)
orders = st.sampled_from(["across", "along"])


@pytest.mark.parametrize(
    ("n", "period", "order", "makespan"),
    [
        (10, 10, "across", 190),
        (50, 10, "across", 4030),
        (100, 10, "across", 16030),
        (100, 100, "across", 15602),
        (50, 10, "along", 8952),
    ],
)
def test_panels_of_the_2001_paper(n, period, order, makespan):
    plan = hs.wavefront(n, n, [3, 5, 8], period, order=order)
    assert plan.makespan == makespan
    assert plan.period == period
    assert plan.owner[:10].tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 2, 2] if period == 10 else [0] * 10


@pytest.mark.parametrize(("n", "makespan"), [(10, 251), (50, 6416), (100, 26411)])
@pytest.mark.parametrize("order", ["across", "along"])  # the same for chunks of one column
def test_cyclic_of_the_2001_paper(n, makespan, order):
    plan = hs.wavefront(n, n, [3, 5, 8], method="cyclic", order=order)
    assert plan.makespan == makespan
    assert plan.owner.tolist() == [j % 3 for j in range(n)]


def test_figure_2():
    plan = hs.wavefront(5, 10, [1] * 5, method="cyclic", mask=RED, axis=0)
    assert plan.starts.tolist() == [[2 * row + col for col in range(10)] for row in range(5)]


def test_figure_3():
    printed = [
        [0, 1, 3, 6, 10, 14, 18, 22, 26, 30],
        [2, 4, 7, 11, 15, 19, 23, 27, 31],
        [5, 8, 12, 16, 20, 24, 28, 32],
        [9, 13, 17, 21, 25, 29, 33],
        [14, 18, 22, 26, 30, 34],
        [20, 24, 28, 32, 36],
        [26, 30, 34, 38],
    ]
    plan = hs.wavefront(7, 20, [1, 2, 4], 7, mask="NW N NE W", axis=0)
    assert plan.owner.tolist() == [0, 0, 0, 0, 1, 1, 2]
    for row, starts in zip(plan.starts.tolist(), printed, strict=True):
        assert row[: len(starts)] == starts
    assert eager((7, 20), [1, 2, 4], plan.owner.tolist(), RED, 0)[1] == {
        (r, c): plan.starts[r, c] for r in range(7) for c in range(20)
    }


def test_motivating_example():
    assert hs.wavefront(56, 56, [1, 2, 4], 7, mask=RED, axis=0).makespan == 1818
    assert hs.wavefront(56, 56, [1, 2, 4], method="cyclic", mask=RED, axis=0).makespan == 4045


@given(st.integers(1, 8), st.integers(1, 14), small_times, st.integers(1, 10), masks)
def test_the_event_driven_rule_ends_at_the_same_time(rows, cols, times, period, mask_axis):
    """The order of the plans is fixed in advance; the paper's rule decides event by event."""
    mask, axis = mask_axis
    plan = hs.wavefront(rows, cols, times, period, mask=mask, axis=axis)
    assert eager((rows, cols), times, plan.owner.tolist(), mask, axis)[0] == plan.makespan


def exactly(plan):
    return schedule(
        plan.shape,
        [Fraction(t) for t in plan.cycle_times.tolist()],
        plan.owner.tolist(),
        plan.mask,
        plan.order,
        plan.axis,
    )


@given(st.integers(1, 9), st.integers(1, 16), small_times, st.integers(1, 18), masks, orders)
def test_panels_tile_by_tile(rows, cols, times, period, mask_axis, order):
    mask, axis = mask_axis
    plan = hs.wavefront(rows, cols, times, period, mask=mask, axis=axis, order=order)
    makespan, start = exactly(plan)
    assert plan.makespan == makespan
    assert {
        (r, c): x for r, row in enumerate(plan.starts.tolist()) for c, x in enumerate(row)
    } == start
    lines = cols if axis == 1 else rows
    both = [panels(lines, times, min(period, lines), anew) for anew in (False, True)]
    spans = [schedule((rows, cols), times, owner, mask, order, axis)[0] for owner in both]
    assert plan.owner.tolist() == both[plan.redistributed]
    assert plan.makespan == min(spans)
    assert plan.redistributed == (spans[1] < spans[0])
    assert plan.counts.tolist() == [plan.owner.tolist().count(i) for i in range(len(times))]


@given(st.integers(1, 7), st.integers(1, 12), small_times, masks, orders)
def test_the_search_finds_the_best_period(rows, cols, times, mask_axis, order):
    mask, axis = mask_axis
    plan = hs.wavefront(rows, cols, times, mask=mask, axis=axis, order=order)
    lines = cols if axis == 1 else rows
    spans = {
        (period, anew): schedule(
            (rows, cols), times, panels(lines, times, period, anew), mask, order, axis
        )[0]
        for period in range(1, lines + 1)
        for anew in (False, True)
    }
    best = min(spans.values())
    assert plan.makespan == best
    assert plan.period == max(period for (period, _), span in spans.items() if span == best)
    assert plan.scope == "sorted panels of any period, ties by index"
    assert (
        hs.wavefront(
            rows, cols, times, plan.period, mask=mask, axis=axis, order=order
        ).owner.tolist()
        == plan.owner.tolist()
    )


@given(
    st.integers(1, 40),
    st.lists(st.integers(1, 30), min_size=2, max_size=5),
    st.integers(1, 12),
    st.integers(1, 4),
)
def test_closed_form_of_full_panels(rows, times, period, full):
    """sum(a) + (M rows - 1) max(a), for M = 1 or rows max(a) >= sum(a)."""
    a = [c * t for c, t in zip(divided(period, times), times, strict=True)]
    plan = hs.wavefront(rows, full * period, times, period)
    if full == 1 or (rows * max(a) >= sum(a) and sum(x > 0 for x in a) > 1):
        assert plan.makespan == sum(a) + (full * rows - 1) * max(a)


@given(
    st.integers(1, 9),
    st.integers(1, 16),
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5),
    masks,
    orders,
)
def test_real_times(rows, cols, times, mask_axis, order):
    mask, axis = mask_axis
    plan = hs.wavefront(rows, cols, times, mask=mask, axis=axis, order=order)
    makespan, start = exactly(plan)
    assert plan.makespan == pytest.approx(float(makespan), rel=1e-13)
    assert plan.starts == pytest.approx(
        np.array([[float(start[r, c]) for c in range(cols)] for r in range(rows)]), rel=1e-12
    )
    for factor in (2.0**-600, 2.0**600):  # the unit of time does not matter
        scaled = hs.wavefront(
            rows, cols, [t * factor for t in times], mask=mask, axis=axis, order=order
        )
        assert scaled.owner.tolist() == plan.owner.tolist()
        assert scaled.makespan == plan.makespan * factor


@pytest.mark.slow
@given(
    st.sampled_from([(1, 1), (1, 4), (4, 1), (2, 3), (3, 2), (3, 3), (2, 4)]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from([("W", "N"), ("W", "N", "SW")]),
)
def test_the_bound_holds_for_every_schedule(shape, times, mask):
    least = least_makespan(shape, times, mask)
    plans = [
        hs.wavefront(*shape, times, mask=mask),
        hs.wavefront(*shape, times, mask=mask, method="cyclic"),
    ]
    assert plans[0].makespan <= plans[1].makespan
    for plan in plans:
        assert plan.lower_bound <= least * (1 + 1e-12)
        assert plan.makespan >= least
        assert not plan.optimal or plan.makespan == least


@given(st.integers(1, 30), st.integers(1, 30), small_times, masks, orders)
def test_certificate(rows, cols, times, mask_axis, order):
    mask, axis = mask_axis
    lines, length = (cols, rows) if axis == 1 else (rows, cols)
    lag = min(length, 2 if {"NE", "SW"} & set(mask) else 1)
    plan = hs.wavefront(rows, cols, times, mask=mask, axis=axis, order=order)
    work = rows * cols / sum(1 / t for t in times)
    chain = (length + lag * (lines - 1)) * min(times)
    whole = length * max(c * t for c, t in zip(divided(lines, times), times, strict=True))
    assert plan.makespan >= plan.lower_bound >= max(work, chain, whole) * (1 - 1e-12)
    assert plan.optimal == (plan.gap <= 1e-12)
    content = json.loads(json.dumps(plan.to_dict()))
    assert content["type"] == "Wavefront"
    assert content["owner"] == plan.owner.tolist()


def test_known_certificates():
    best = hs.wavefront(50, 50, [3, 5, 8])  # better than the paper's 4030, and proven
    assert (best.makespan, best.lower_bound, best.optimal) == (3900, 3900, True)
    assert hs.wavefront(100, 100, [3, 5, 8], 100).lower_bound == 15300
    assert hs.wavefront(100, 100, [3, 5, 8]).makespan == 15406
    assert hs.wavefront(9, 7, [2]).optimal
    # 64 equal workers and columns: the last starts 63 tiles late, and the first ends 63 early
    assert hs.wavefront(640, 64, [1] * 64).lower_bound == 640 + 63
    assert hs.wavefront(4, 64, [1] * 64).lower_bound == 4 + 63  # the chain
    assert hs.wavefront(64, 4, [1] * 4, mask=RED, axis=0).lower_bound == 4 + 2 * 63
    # 4 equal workers share the work after 0, 1, 2, 3 and until 3, 2, 1, 0 tiles before the end
    assert hs.wavefront(100, 64, [1] * 4).lower_bound == (100 * 64 + 2 * (0 + 1 + 2 + 3)) / 4
    few = hs.wavefront(640, 4, [1] + [1.001] * 9).lower_bound  # no more workers than columns
    assert few == pytest.approx((640 * 4 + 2 * (1 + 2 + 3) / 1.001) / (1 + 3 / 1.001), rel=1e-14)
    assert (
        hs.wavefront(64, 100, [1] * 4, mask=RED, axis=0).lower_bound
        == (100 * 64 + 4 * (0 + 1 + 2 + 3)) / 4
    )


@given(st.integers(1, 9), st.integers(1, 12), small_times, masks, orders)
def test_simulated_trace(rows, cols, times, mask_axis, order):
    mask, axis = mask_axis
    given_times = np.array(times, float)
    plan = hs.wavefront(rows, cols, given_times, mask=mask, axis=axis, order=order)
    trace = hs.simulate(plan)
    validate(trace.events, plan.shape, plan.owner.tolist(), mask, axis)
    assert trace.makespan == trace.predicted == plan.makespan
    assert given_times.tolist() == times
    assert given_times.flags.writeable
    assert not any(
        x.flags.writeable
        for x in (plan.owner, plan.counts, plan.cycle_times, plan.starts, plan.chunks)
    )
    assert [w for w, _, n in plan.chunks.tolist() for _ in range(n)] == plan.owner.tolist()


def test_axis_0_is_the_transpose():
    columns, rows = (
        hs.wavefront(*shape, [3, 5, 8], 10, axis=axis)
        for shape, axis in (((37, 23), 1), ((23, 37), 0))
    )
    assert columns.owner.tolist() == rows.owner.tolist()
    assert (columns.starts == rows.starts.T).all()
    skewed = (
        hs.wavefront(37, 23, [3, 5, 8], 10, mask="W N SW"),
        hs.wavefront(23, 37, [3, 5, 8], 10, mask="W N NE", axis=0),
    )
    assert skewed[0].makespan == skewed[1].makespan > columns.makespan
    assert (skewed[0].reach, skewed[1].reach, columns.reach) == (1, 1, 0)


def test_speeds_platforms_and_names():
    plan = hs.wavefront(20, 20, speeds=[1, 0, 0.5])
    assert plan.counts[1] == 0
    assert plan.owner.tolist() == hs.wavefront(20, 20, [1, INF, 2]).owner.tolist()
    named = hs.wavefront(20, 20, hs.Platform.star([3, 5], names=["fast", "slow"]))
    assert named.names == ("fast", "slow")
    assert hs.simulate(named).workers == ("fast", "slow")


def test_a_period_beyond_the_columns_is_one_panel():
    plan = hs.wavefront(5, 7, [1, 2], 1000)
    assert plan.period == 7
    assert plan.owner.tolist() == hs.wavefront(5, 7, [1, 2], 7).owner.tolist()


@pytest.mark.slow
def test_large():
    plan = hs.wavefront(100, 100_000, np.linspace(1, 3, 10))
    assert plan.gap < 0.01
    assert hs.wavefront(2**20, 100, [3, 5, 8]).gap < 0.05


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((0, 5, [1]), {}, ValueError, "rows must be in"),
        ((5, 0, [1]), {}, ValueError, "cols must be in"),
        ((5, 2.5, [1]), {}, ValueError, "cols must be an integer"),
        (("5", 5, [1]), {}, TypeError, "rows must be an integer"),
        ((5, 5, [1, NAN]), {}, ValueError, r"cycle_times\[1\] is NaN"),
        ((5, 5, [1, 0]), {}, ValueError, r"cycle_times\[1\] must be positive"),
        ((5, 5, [INF]), {}, ValueError, "cycle_times are all infinite"),
        ((5, 5, []), {}, ValueError, "cycle_times is empty"),
        ((5, 5), {}, TypeError, "give either cycle_times or speeds"),
        ((5, 5, [1], 0), {}, ValueError, "period must be in"),
        ((5, 5, [1], 1.5), {}, ValueError, "period must be an integer"),
        ((5, 5, [1], 3), {"method": "cyclic"}, ValueError, "period is for method='panels', got 3"),
        (
            (5, 5, [1]),
            {"method": "least"},
            ValueError,
            "method must be one of best, panels, cyclic, got 'least'",
        ),
        (
            (5, 5, [1]),
            {"order": "rows"},
            ValueError,
            "order must be one of across, along, got 'rows'",
        ),
        ((5, 5, [1]), {"axis": 2}, ValueError, "axis must be in"),
        (
            (5, 5, [1]),
            {"mask": ("W", "N", "E")},
            ValueError,
            "mask must be of W, N, NW, NE, SW, got 'E'",
        ),
        ((5, 5, [1]), {"mask": "W"}, ValueError, "mask must have W and N"),
        ((5, 5, [1]), {"mask": RED}, ValueError, "mask has NE: .* axis=0"),
        ((5, 5, [1]), {"mask": "W N SW", "axis": 0}, ValueError, "mask has SW: .* axis=1"),
        ((2**30, 2**30, [1]), {}, ValueError, "tiles are too many"),
        ((1, 2**31, [1]), {}, ValueError, "tiles are too many"),
    ],
)
def test_bad_arguments(arguments, keywords, error, message):
    with pytest.raises(error, match=message):
        hs.wavefront(*arguments, **keywords)


class TestPlot:
    @pytest.fixture(autouse=True)
    def _headless(self):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        yield
        matplotlib.pyplot.close("all")

    @pytest.mark.few(2)
    @pytest.mark.parametrize(
        ("arguments", "axis"),
        [
            (arguments, axis)
            for turn, arguments in enumerate(
                [
                    (10, 10, [3, 5, 8], 10),
                    (1, 7, [1, 2]),
                    (2, 2, [1]),
                    (3000, 30, [1, 2]),
                    (30, 900, list(range(1, 40))),
                ]
            )
            for axis in many((0, 1), (turn % 2,))
        ],
    )
    def test_shows_every_chunk_and_the_front(self, arguments, axis):
        plan = hs.wavefront(*arguments, axis=axis)
        ax = plan.plot()
        ax.figure.canvas.draw()
        boxes, *front = ax.collections
        assert len(boxes.get_paths()) == len(plan.chunks)
        assert ax.get_ylim() == (plan.shape[0], 0)
        assert ax.get_xlim() == (0, plan.shape[1])
        assert len(front) == (min(plan.shape) > 1)
        assert f"makespan {digits(plan.makespan)}" in ax.get_title(loc="left")

    @pytest.mark.slow
    def test_in_notebooks(self):
        assert "<svg" in hs.wavefront(10, 10, [3, 5, 8])._repr_html_()


@pytest.mark.parametrize("method", ["panels", "cyclic"])
def test_a_makespan_that_overflows_is_no_optimum(method):
    with pytest.raises(ValueError, match="the makespan overflows"):
        hs.wavefront(10, 10, [1e308, 1e308], method=method)


@pytest.mark.parametrize("mask", [None, 3, True, Fraction(1, 3)])
def test_a_mask_has_entries(mask):
    with pytest.raises(TypeError, match="mask must be some of W, N"):
        hs.wavefront(3, 3, [1], mask=mask)


@pytest.mark.parametrize("name", ["method", "order"])
@pytest.mark.parametrize("value", [None, 3, ["panels"], np.ones(2), np.zeros(0)])
def test_words_are_words(name, value):
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        hs.wavefront(3, 3, [1], **{name: value})


def test_cyclic_leaves_out_who_cannot_work():
    plan = hs.wavefront(4, 5, [INF, 2, INF, 1], method="cyclic")
    assert plan.owner.tolist() == [1, 3, 1, 3, 1]
    assert plan.makespan == hs.wavefront(4, 5, [2, 1], method="cyclic").makespan
