"""hs.lu_pattern: the paper's numbers, and every step's cost at its least at once."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import many
from oracles import distribute_makespan, fractions
from oracles.allocate import every_owner, update_costs

import hetsched as hs

INF = math.inf
THREE = [3, 5, 8]
times_lists = st.lists(
    st.integers(1, 9).map(float) | st.floats(1e-2, 1e2) | st.just(INF), min_size=1, max_size=6
).filter(lambda times: not all(map(math.isinf, times)))


def rounded_costs(owner, times):
    """Step costs of any owners, summed up naively."""
    finite = [Fraction(0) if math.isinf(t) else Fraction(t) for t in times]
    return [float(cost) for cost in update_costs(owner, finite)]


def test_figure_8():
    """Selected processors and average costs, row by row; row 8 is 15 / 8 = 1.875."""
    selected = [0, 1, 0, 2, 0, 1, 0, 0, 1, 2]
    costs = ["3", "2.5", "2", "2", "1.8", "1.67", "1.71", "1.875", "1.67", "1.6"]
    counts = [
        (1, 0, 0),
        (1, 1, 0),
        (2, 1, 0),
        (2, 1, 1),
        (3, 1, 1),
        (3, 2, 1),
        (4, 2, 1),
        (5, 2, 1),
        (5, 3, 1),
        (5, 3, 2),
    ]
    assert hs.lu_pattern(10, THREE).owner[::-1].tolist() == selected
    for size in range(1, 11):
        plan = hs.lu_pattern(size + 1, THREE)  # its first step updates `size` blocks
        digits = len(costs[size - 1].partition(".")[2])
        assert round(plan.step_costs[0] / size, digits) == float(costs[size - 1])
        assert tuple(np.bincount(plan.owner[1:], minlength=3)) == counts[size - 1]


def test_figure_10():
    plan, cyclic = hs.lu_pattern(10, THREE), hs.lu_pattern(10, THREE, method="cyclic")
    assert plan.owner.tolist() == [2, 1, 0, 0, 1, 0, 2, 0, 1, 0]
    assert plan.step_costs.tolist() == [15, 15, 12, 10, 9, 8, 6, 5, 3]
    assert plan.cost == 83.0
    assert plan.counts.tolist() == [5, 3, 2]
    assert cyclic.owner.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert cyclic.step_costs.tolist() == [24, 24, 16, 16, 16, 8, 8, 8, 3]
    assert cyclic.cost == 123.0
    assert cyclic.lower_bound == 83.0
    assert cyclic.gap == 40 / 83


def test_figures_6_and_7():
    assert (
        hs.lu_pattern(10, THREE, method="contiguous").owner.tolist() == [0] * 5 + [1] * 3 + [2] * 2
    )
    plan = hs.lu_pattern(78, THREE, method="contiguous")
    assert plan.counts.tolist() == [40, 24, 14]
    loads = {s.worker: s.end - s.start for s in plan.steps() if s.what.startswith("step 32:")}
    assert loads == {0: 21.0, 1: 120.0, 2: 112.0}
    assert plan.step_costs[32] == 120.0


@settings(max_examples=many(25, 15))
@given(st.integers(1, 6), st.lists(st.integers(1, 9), min_size=1, max_size=3), st.data())
def test_nothing_is_better_for_any_weights(n, times, data):
    weights = data.draw(st.lists(st.integers(0, 5), min_size=n - 1, max_size=n - 1))
    exact = [Fraction(t) for t in times]
    own = update_costs(hs.lu_pattern(n, times).owner.tolist(), exact)
    least = [
        min(costs)
        for costs in zip(
            *(update_costs(owner, exact) for owner in every_owner(n, len(times))), strict=True
        )
    ]
    assert own == least
    total = min(
        sum(w * c for w, c in zip(weights, update_costs(owner, exact), strict=True))
        for owner in every_owner(n, len(times))
    )
    assert sum(w * c for w, c in zip(weights, own, strict=True)) == total


def test_nothing_is_better_for_seven_blocks():
    exact = [Fraction(t) for t in THREE]
    every = [update_costs(owner, exact) for owner in every_owner(7, 3)]
    assert hs.lu_pattern(7, THREE).step_costs.tolist() == [
        min(costs) for costs in zip(*every, strict=True)
    ]


@given(n=st.integers(1, 40), times=times_lists)
def test_every_suffix_is_a_distribution(n, times):
    plan = hs.lu_pattern(n, times)
    for k in range(n):
        assert (
            np.bincount(plan.owner[k:], minlength=len(times)).tolist()
            == hs.distribute(n - k, times).counts.tolist()
        )
    assert plan.step_costs.tolist() == [
        float(distribute_makespan(m, times)) for m in range(n - 1, 0, -1)
    ]
    assert plan.optimal is True
    assert plan.gap == 0.0
    assert plan.scope == "all allocations"
    assert plan.period is None


def test_ties_near_rounding():
    """3 * 0.1 rounds to 0.3's neighbour, and the real 3 * 0.1 is above the double 0.3: exact
    comparisons decide."""
    assert hs.lu_pattern(4, [0.1, 0.3]).owner.tolist() == [0, 1, 0, 0]
    third = math.nextafter(1 / 3, 1)
    assert 3 * third == 1.0
    assert hs.lu_pattern(4, [third, 1.0]).owner[::-1].tolist() == [0, 0, 1, 0]
    assert fractions([third])[0] * 3 > 1
    assert hs.lu_pattern(5, [1, 1, 1]).owner.tolist() == [1, 0, 2, 1, 0]
    assert hs.lu_pattern(3, [5e-324, 1e-323]).owner[::-1].tolist() == [0, 0, 1]
    assert hs.lu_pattern(3, [5e307, 5e307]).step_costs.tolist() == [5e307, 5e307]


@given(
    n=st.integers(1, 40),
    times=times_lists,
    period=st.none() | st.integers(1, 45),
    method=st.sampled_from(["pattern", "cyclic", "contiguous"]),
)
def test_costs_of_every_method(n, times, period, method):
    plan = hs.lu_pattern(n, times, period if method == "pattern" else None, method=method)
    owner = plan.owner.tolist()
    assert plan.step_costs.tolist() == pytest.approx(rounded_costs(owner, times), rel=1e-15)
    assert plan.cost == pytest.approx(math.fsum(plan.step_costs), rel=1e-13)
    assert plan.counts.tolist() == [owner.count(i) for i in range(len(times))]
    best = hs.lu_pattern(n, times)
    assert plan.lower_bound == best.cost <= plan.cost
    assert plan.optimal == (plan.cost <= best.cost * (1 + 1e-12))
    assert (plan.scope != "") == plan.optimal
    assert plan.method == method
    assert len(plan.step_costs) == n - 1
    assert plan.owner.dtype == np.int32
    assert plan.counts.dtype == np.int64
    assert not any(
        a.flags.writeable for a in (plan.owner, plan.counts, plan.step_costs, plan.cycle_times)
    )
    if method != "pattern":
        enrolled = [i for i, t in enumerate(times) if not math.isinf(t)]
        assert owner == (
            [enrolled[k % len(enrolled)] for k in range(n)] if method == "cyclic" else sorted(owner)
        )
        assert method == "cyclic" or plan.counts.tolist() == best.counts.tolist()


@given(n=st.integers(1, 40), times=times_lists, period=st.integers(1, 45))
def test_slices(n, times, period):
    plan = hs.lu_pattern(n, times, period)
    pattern = hs.lu_pattern(period, times).owner.tolist()
    assert plan.owner[::-1].tolist() == (pattern[::-1] * n)[:n]
    assert plan.period == (period if period < n else None)


def test_slices_of_ten():
    plan = hs.lu_pattern(30, THREE, 10)
    assert plan.owner.tolist() == [2, 1, 0, 0, 1, 0, 2, 0, 1, 0] * 3
    assert plan.period == 10
    assert plan.optimal is False
    assert plan.scope == ""
    assert hs.lu_pattern(32, THREE, 10).owner.tolist() == [1, 0] + plan.owner.tolist()
    assert "not proven optimal (pattern)" in str(plan.certificate)


@pytest.mark.slow
def test_a_million_blocks():
    n = 10**6
    times = np.random.default_rng(2).uniform(1, 5, 50)
    plan = hs.lu_pattern(n, times, 1000)
    assert len(plan.owner) == n
    assert 0 < plan.gap < 0.03
    assert hs.lu_pattern(n, times).gap == 0.0
    assert hs.lu_pattern(n, times).counts.tolist() == hs.distribute(n, times).counts.tolist()


@given(
    n=st.integers(1, 20),
    times=times_lists,
    method=st.sampled_from(["pattern", "cyclic", "contiguous"]),
)
def test_simulated_updates(n, times, method):
    plan = hs.lu_pattern(n, times, method=method)
    trace = hs.simulate(plan)
    assert trace.makespan == trace.predicted == plan.cost
    starts = [0.0, *np.cumsum(plan.step_costs).tolist()]
    right = [plan.owner[k + 1 :].tolist() for k in range(n)]
    wanted = [
        (
            i,
            starts[k],
            starts[k] + right[k].count(i) * times[i],
            f"step {k}: {right[k].count(i)} updates",
        )
        for k in range(n - 1)
        for i in range(len(times))
        if i in right[k]
    ]
    assert [(s.worker, s.start, s.end, s.what) for s in plan.steps()] == wanted
    assert 0 <= trace.efficiency <= 1 + 1e-12


def test_forms_of_input():
    given_times = np.array([3.0, 5.0, 8.0])
    plan = hs.lu_pattern(10, given_times)
    assert given_times.flags.writeable
    assert given_times.tolist() == [3, 5, 8]
    platform = hs.Platform.star(THREE, names=["a", "b", "c"])
    assert hs.lu_pattern(10, platform).owner.tolist() == plan.owner.tolist()
    assert hs.lu_pattern(10, platform).names == ("a", "b", "c")
    assert (
        hs.lu_pattern(10, speeds=[1, 0, 0.5]).owner.tolist()
        == hs.lu_pattern(10, [1, INF, 2]).owner.tolist()
    )
    content = json.loads(json.dumps(plan.to_dict()))
    assert (content["type"], content["cost"], content["gap"]) == ("LuPattern", 83.0, 0.0)
    alone = hs.lu_pattern(1, [2])
    assert (alone.owner.tolist(), alone.step_costs.tolist(), alone.cost, alone.gap) == (
        [0],
        [],
        0.0,
        0.0,
    )


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((0, THREE), {}, ValueError, r"n must be in \[1, 9007199254740992\], got 0"),
        ((1.5, THREE), {}, ValueError, "n must be an integer, got 1.5"),
        ((5, [1, -2]), {}, ValueError, r"cycle_times\[1\] must be positive, got -2"),
        ((5, [[1, 2]]), {}, ValueError, r"cycle_times must be one-dimensional, got shape \(1, 2\)"),
        ((5, [INF]), {}, ValueError, "cycle_times are all infinite"),
        ((5,), {}, TypeError, "give either cycle_times or speeds"),
        ((5, THREE, 0), {}, ValueError, r"period must be in \[1, 9007199254740992\], got 0"),
        ((5, THREE, "3"), {}, TypeError, "period must be an integer, got '3'"),
        (
            (5, THREE),
            {"method": "least"},
            ValueError,
            "method must be one of best, pattern, cyclic, contiguous, got 'least'",
        ),
        (
            (5, THREE, 2),
            {"method": "cyclic"},
            ValueError,
            'period is for method "pattern" only, got period=2 with',
        ),
    ],
)
def test_bad_input(arguments, options, error, message):
    with pytest.raises(error, match=message):
        hs.lu_pattern(*arguments, **options)


@pytest.mark.slow
def test_picture():
    pytest.importorskip("matplotlib").use("Agg")
    ax = hs.lu_pattern(10, THREE).plot()
    (picture,) = ax.images
    shown = picture.get_array()
    assert shown.shape == (3, 10)
    assert np.argmax(shown, axis=0).tolist() == [2, 1, 0, 0, 1, 0, 2, 0, 1, 0]
    assert shown.sum() == 10
    assert [t.get_text() for t in ax.get_yticklabels()] == ["P0", "P1", "P2"]
    assert "cost of the updates 83, gap 0.00%" in ax.get_title(loc="left")
    (picture,) = hs.lu_pattern(30_001, THREE).plot().images
    assert picture.get_array().shape[1] == 2000
    assert np.allclose(picture.get_array().sum(0), 1)
    assert "<svg" in hs.lu_pattern(1, [1])._repr_html_()
    __import__("matplotlib.pyplot").pyplot.close("all")


def test_a_speed_of_minus_zero_is_zero():
    assert hs.lu_pattern(4, speeds=[1, -0.0]).owner.tolist() == [0, 0, 0, 0]
