"""hs.distribute_profile: the exact min-max for times of any shape."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles.allocate import profile_makespan, profile_optimum

import hetsched as hs

INF, NAN = math.inf, math.nan


@st.composite
def small_tables(draw):
    """n and tables of at most 12 values, so that there are ties; short ones, and impossible
    counts."""
    p = draw(st.integers(1, 4))
    n = draw(st.integers(0, {1: 70, 2: 24, 3: 10, 4: 7}[p]))
    value = st.integers(1, draw(st.sampled_from([2, 5, 12]))).map(float) | st.sampled_from(
        [0.5, INF]
    )
    sizes = st.lists(st.integers(0, n + 2) | st.just(n + 1), min_size=p, max_size=p)
    return n, [
        [draw(st.sampled_from([0.0, 9.0, NAN]))] + draw(st.lists(value, min_size=k, max_size=k))
        for k in draw(sizes)
    ]


def check(plan, tables):
    """What every plan must fulfil, whoever made it."""
    n = int(plan.counts.sum())
    times = [table[x] if x else 0.0 for table, x in zip(tables, plan.counts.tolist(), strict=True)]
    assert plan.times.tolist() == times
    assert plan.makespan == max(times) == plan.lower_bound == plan.value
    assert plan.displs.tolist() == [sum(plan.counts.tolist()[:i]) for i in range(len(tables))]
    assert (plan.optimal, plan.gap, plan.method, plan.scope) == (
        True,
        0.0,
        "distribute_profile",
        "all allocations",
    )
    return n


@given(small_tables())
@example((64, [[0.0] + [1.0] * 64]))
@example((63, [[0.0] + [1.0] * 31 + [INF] * 32, [0.0] + [INF] * 31 + [2.0] * 32]))
def test_against_enumeration(case):
    n, tables = case
    counts, makespan = profile_optimum(n, tables)
    given = [np.array(table) for table in tables]
    if counts is None:
        with pytest.raises(hs.InfeasibleError, match=f"n = {n} chunks cannot be distributed"):
            hs.distribute_profile(n, given)
        return
    plan = hs.distribute_profile(n, given)
    assert plan.makespan == makespan
    assert plan.counts.tolist() == list(counts)
    assert check(plan, tables) == n
    assert hs.distribute_profile(n, tables).counts.tolist() == list(counts)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(given, tables, strict=True))
    assert not any(a.flags.writeable for a in (plan.counts, plan.displs, plan.times))


def shapes(kind, rng, p, n):
    x = np.arange(n + 1.0)
    speed = rng.uniform(0.5, 2, (p, 1))
    noisy = speed * x * rng.uniform(0.6, 1.4, (p, n + 1)) + 1
    return {
        "random": lambda: rng.random((p, n + 1)) + 1e-3,
        "few values": lambda: rng.integers(1, 5, (p, n + 1)).astype(float),
        "noisy": lambda: noisy,
        "increasing": lambda: speed * x + 1,
        "falling": lambda: np.where(rng.random((p, 1)) < 0.5, speed * (n + 1 - x), speed * x + 1),
        "steps": lambda: speed * np.ceil((x + 1) / 64) * 64,
        "multiples": lambda: np.where(x % 6 == 0, noisy, INF),
        "sparse": lambda: np.where(rng.random((p, n + 1)) < 0.02, noisy, INF),
        "alike": lambda: np.tile(rng.random(n + 1) + 1, (p, 1)),
    }[kind]()


KINDS = [
    "random",
    "few values",
    "noisy",
    "increasing",
    "falling",
    "steps",
    "multiples",
    "sparse",
    "alike",
]


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "n"), [(2, 150), (7, 191), (20, 192), (3, 1200)])
def test_against_dynamic_programming(kind, p, n):
    rng = np.random.default_rng([p, n, KINDS.index(kind)])
    for size in (n, n - 1, n - 7):
        tables = shapes(kind, rng, p, size)
        makespan = profile_makespan(size, tables)
        if makespan == INF:
            with pytest.raises(hs.InfeasibleError):
                hs.distribute_profile(size, tables)
            continue
        plan = hs.distribute_profile(size, tables)
        assert check(plan, tables.tolist()) == size
        assert plan.makespan == makespan


def test_many_values_take_several_samples():
    """5 * 10^5 different times; only two tables matter, so that the optimum is known."""
    n, rng = 100_000, np.random.default_rng(3)
    tables = rng.permuted(np.arange(5.0 * (n + 1)).reshape(5, n + 1) + 10 * n, axis=1)
    tables[[0, 3]] = rng.permuted(np.arange(1.0, 2 * n + 3)).reshape(2, n + 1)
    best = np.maximum(tables[0, 1:n], tables[3, n - 1 : 0 : -1]).min()
    best = min(best, tables[0, n], tables[3, n])
    tables[[1, 2, 4]] = np.maximum(tables[[1, 2, 4]], best + 1)
    plan = hs.distribute_profile(n, tables)
    assert plan.makespan == best
    assert check(plan, tables.tolist()) == n


@given(n=st.integers(0, 200), times=st.lists(st.integers(1, 12).map(float), min_size=1, max_size=8))
def test_constant_times_are_those_of_distribute(n, times):
    plain = hs.distribute(n, times)
    tables, functions = [t * np.arange(n + 1) for t in times], [lambda x, t=t: t * x for t in times]
    for profiles in (times, hs.Platform.star(times), tables, functions):
        plan = hs.distribute_profile(n, profiles)
        assert plan.counts.tolist() == plain.counts.tolist()
        assert plan.makespan == plain.makespan
        assert plan.times.tolist() == (plain.counts * plain.cycle_times).tolist()


def test_an_infinite_number_gets_nothing():
    assert hs.distribute_profile(9, [INF, 1, INF, 0.5]).counts.tolist() == [0, 3, 0, 6]


def table_of(profile, n, **limits):
    """What one worker's profile means: its makespans for 1 .. n, inf where impossible."""
    out = []
    for x in range(1, n + 1):
        try:
            out.append(hs.distribute_profile(x, [profile], **limits).makespan)
        except hs.InfeasibleError:
            out.append(INF)
    return out


def test_measured_points():
    # below the first point its speed, linear between, beyond the last point its speed
    assert table_of(([2, 4, 8], [6.0, 8.0, 4.0]), 10) == [
        3.0,
        6.0,
        7.0,
        8.0,
        7.0,
        6.0,
        5.0,
        4.0,
        4.5,
        5.0,
    ]
    assert table_of(([4], [2.0]), 8) == [0.5 * x for x in range(1, 9)]
    assert table_of(([0, 4], [1.0, 5.0]), 6) == [2.0, 3.0, 4.0, 5.0, 6.25, 7.5]
    assert table_of(([0, 4], [0.0, 4.0]), 3) == [1.0, 2.0, 3.0]
    assert table_of(([0.5, 2.5], [1.0, 3.0]), 3) == pytest.approx([1.5, 2.5, 3.6])
    assert table_of(np.array([[2, 4, 8], [6.0, 8.0, 4.0]]), 4) == [3.0, 6.0, 7.0, 8.0]
    assert table_of((3.0, 5.0), 3) == [5.0, INF, INF]  # two numbers are a table of two entries
    assert table_of([0, 5.0, 4.0], 3) == [5.0, 4.0, INF]
    assert table_of([7.0], 2) == [INF, INF]


def test_functions():
    calls = []

    def for_arrays(x):
        calls.append(x)
        return x * 2.0

    assert hs.distribute_profile(6, [for_arrays]).makespan == 12.0
    (sizes,) = calls
    assert sizes.tolist() == [1, 2, 3, 4, 5, 6]
    assert sizes.dtype == np.int64
    assert table_of(lambda x: 3.0 if x < 3 else math.sqrt(x), 5) == [
        3.0,
        3.0,
        math.sqrt(3),
        2.0,
        math.sqrt(5),
    ]
    assert table_of(lambda x: 4.0, 3) == [4.0] * 3
    assert hs.distribute_profile(5, [lambda x: 1.0 / (6 - x), 1.0], memory=[5, 2]).makespan == 1.0
    most = []
    hs.distribute_profile(50, [lambda x: (most.append(np.max(x)), x)[1], 1.0], memory=[7, None])
    assert most == [7]

    def broken(x):
        raise ZeroDivisionError("of the user")

    with pytest.raises(ZeroDivisionError, match="of the user"):
        hs.distribute_profile(5, [broken])


@given(small_tables(), st.data())
def test_limits_are_infinite_entries(case, data):
    n, tables = case
    limit = st.integers(0, n + 2)
    least = data.draw(limit | st.lists(limit, min_size=len(tables), max_size=len(tables)))
    most = data.draw(
        st.none() | limit | st.lists(st.none() | limit, min_size=len(tables), max_size=len(tables))
    )
    low = least if isinstance(least, list) else [least] * len(tables)
    high = most if isinstance(most, list) else [most] * len(tables)
    allowed = [
        [
            t if low[i] <= x <= (n if high[i] is None else high[i]) else INF
            for x, t in enumerate(table)
        ]
        for i, table in enumerate(tables)
    ]
    counts, makespan = profile_optimum(n, allowed)
    if counts is None:
        with pytest.raises(hs.InfeasibleError):
            hs.distribute_profile(n, tables, min_chunk=least, memory=most)
    else:
        plan = hs.distribute_profile(n, tables, min_chunk=least, memory=most)
        assert (plan.counts.tolist(), plan.makespan) == (list(counts), makespan)


@pytest.mark.parametrize(
    ("arguments", "limits", "message"),
    [
        (
            (5, [1, 1]),
            {"memory": 2},
            "n = 5 chunks cannot be distributed: profiles, min_chunk and memory allow 4 at most",
        ),
        ((5, [[0, 1, 1], 1]), {"memory": [None, 2]}, "allow 4 at most"),
        (
            (5, [1, 1]),
            {"min_chunk": 3, "memory": 4},
            "no counts that profiles, min_chunk and memory allow sum to it",
        ),
        (
            (3, [[0, INF, 1], [0, INF, 1]]),
            {},
            "no counts that profiles, min_chunk and memory allow sum to it",
        ),
        ((3, [[0], []]), {}, "allow 0 at most"),
    ],
)
def test_infeasible(arguments, limits, message):
    with pytest.raises(hs.InfeasibleError, match=message):
        hs.distribute_profile(*arguments, **limits)


@pytest.mark.parametrize(
    ("profiles", "error", "message"),
    [
        ([], ValueError, "profiles is empty"),
        (3.0, TypeError, "profiles must be a sequence with one profile per worker"),
        (
            lambda x: x,
            TypeError,
            "profiles must be a sequence with one profile per worker, got function",
        ),
        ("ab", TypeError, "profiles must be a sequence with one profile per worker, got str"),
        ([1, 0], ValueError, r"profiles\[1\]: the time of 1 chunk must be positive, got 0"),
        ([-1.0], ValueError, r"profiles\[0\]: the time of 1 chunk must be positive, got -1"),
        ([NAN], ValueError, r"profiles\[0\]: the time of 1 chunk must be positive, got nan"),
        (
            [([0, 10], [-5, 1])],
            ValueError,
            r"profiles\[0\]: times must be finite and positive",
        ),
        (
            [([1e300], [1e-300])],
            ValueError,
            r"profiles\[0\]: the time of 1 chunk must be positive, got 0",
        ),
        (
            [[0, 1, NAN]],
            ValueError,
            r"profiles\[0\]: the time of 2 chunks must be positive, got nan",
        ),
        (
            [[0, 1, -INF]],
            ValueError,
            r"profiles\[0\]: the time of 2 chunks must be positive, got -inf",
        ),
        (
            ["ab"],
            TypeError,
            (
                r"profiles\[0\] must be a number, a table, a pair \(sizes, times\) or a function,"
                r" got 'ab'"
            ),
        ),
        ([None], TypeError, r"profiles\[0\] must be a number"),
        (
            [[[1, 2]]],
            ValueError,
            (
                r"profiles\[0\] must be a number, a 1-D table or a pair \(sizes, times\), got shape"
                r" \(1, 2\)"
            ),
        ),
        (
            [([1, 2], [1])],
            ValueError,
            r"profiles\[0\] must have as many sizes as times, got 2 and 1",
        ),
        (
            [([2, 1], [1, 1])],
            ValueError,
            r"profiles\[0\]: sizes must be finite, increasing and not negative, got \[2.0, 1.0\]",
        ),
        ([([1, 1], [1, 1])], ValueError, "sizes must be finite, increasing"),
        ([([-1, 1], [1, 1])], ValueError, "sizes must be finite, increasing and not negative"),
        ([([0], [1])], ValueError, "sizes must be finite, increasing and not negative"),
        ([([1, INF], [1, 1])], ValueError, "sizes must be finite"),
        ([([1, NAN], [1, 1])], ValueError, r"profiles\[0\]\[0\]\[1\] is NaN"),
        ([([], [])], ValueError, r"profiles\[0\]\[0\] is empty"),
        ([([1, 2], [1, 0])], ValueError, r"profiles\[0\]: times must be finite and positive"),
        ([([1, 2], [1, INF])], ValueError, r"profiles\[0\]: times must be finite and positive"),
        (
            [lambda x: -x],
            ValueError,
            r"profiles\[0\]: the time of 1 chunk must be positive, got -1",
        ),
        ([lambda x: "a"], TypeError, r"profiles\[0\] must return real numbers"),
        ([lambda x: [1.0, 2.0]], TypeError, r"profiles\[0\] must return real numbers"),
    ],
)
def test_bad_profiles(profiles, error, message):
    with pytest.raises(error, match=message):
        hs.distribute_profile(5, profiles)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_chunk": -1}, ValueError, r"min_chunk must be in \[0, 9007199254740992\], got -1"),
        ({"min_chunk": [1, -1]}, ValueError, r"min_chunk\[1\] must be an integer in"),
        (
            {"min_chunk": [1, 2, 3]},
            ValueError,
            r"min_chunk must be .* one for each of the 2 workers, got shape \(3,\)",
        ),
        (
            {"min_chunk": None},
            TypeError,
            "min_chunk must be an integer or an array of integers, got None",
        ),
        ({"min_chunk": 0.5}, ValueError, "min_chunk must be an integer, got 0.5"),
        ({"memory": [None, -1]}, ValueError, r"memory\[1\] must be an integer in"),
        (
            {"memory": [[1, 2]]},
            ValueError,
            r"memory must be an integer or one for each of the 2 workers, got shape \(1, 2\)",
        ),
        ({"memory": "a"}, TypeError, "memory must be an integer or an array of integers"),
        ({"n": -1}, ValueError, r"n must be in \[0,"),
        ({"n": True}, TypeError, "n must be an integer"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        hs.distribute_profile(**{"n": 5, "profiles": [1, 2], **options})


def test_as_a_plan():
    platform = hs.Platform.star([3, 5], names=["fast", "slow"])
    assert hs.distribute_profile(4, platform).names == ("fast", "slow")
    plan = hs.distribute_profile(
        80, [([1, 10, 60], [8, 10, 30]), 3, 4, 100], memory=[60, None, None, None]
    )
    assert plan.counts.tolist() == [60, 12, 8, 0]
    assert plan.times.tolist() == [30.0, 36.0, 32.0, 0.0]
    assert plan.cycle_times.tolist() == [0.5, 3.0, 4.0, INF]
    trace = hs.simulate(plan)
    assert (trace.makespan, trace.predicted) == (36.0, 36.0)
    assert trace.finish == (30.0, 36.0, 32.0, 0.0)
    assert [e.what for e in trace.events if e.kind == "compute"] == [
        "60 chunks",
        "12 chunks",
        "8 chunks",
    ]
    assert 0 < trace.efficiency <= 1
    assert json.loads(json.dumps(plan.to_dict()))["counts"] == [60, 12, 8, 0]
    assert "optimal (distribute_profile)" in str(plan.certificate)


def test_no_chunks():
    plan = hs.distribute_profile(0, [lambda x: x, [0.0], 3])
    assert plan.counts.tolist() == [0, 0, 0]
    assert plan.makespan == 0.0
    assert plan.cycle_times.tolist() == [1.0, 1.0, 1.0]
    assert hs.simulate(plan).efficiency == 1.0


@pytest.mark.slow
def test_picture():
    pytest.importorskip("matplotlib").use("Agg")
    plan = hs.distribute_profile(
        80, [([1, 10, 60], [8, 10, 30]), 3, 4, 100], memory=[60, None, None, None]
    )
    ax = plan.plot()
    assert [patch.get_width() for patch in ax.patches] == plan.times.tolist()
    assert "80 chunks over 4 workers" in ax.get_title(loc="left")
    assert "<svg" in plan._repr_html_()
    __import__("matplotlib.pyplot").pyplot.close("all")


def test_times_that_overflow_are_impossible():
    assert hs.distribute_profile(2, [1e-320, 1e308]).counts.tolist() == [2, 0]
    with pytest.raises(hs.InfeasibleError, match="cannot be distributed"):
        hs.distribute_profile(3, [1e308])


def test_limits_in_half_precision():
    assert hs.distribute_profile(
        4, [3, 5], memory=np.array([2, 4], np.float16)
    ).counts.tolist() == [2, 2]


def test_a_profile_without_dimensions():
    """An entry of a masked array is an array, but has no length."""
    assert hs.distribute_profile(4, [np.array(3.0), 5]).counts.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda ragged: hs.distribute_profile(5, [ragged, [1, 2]]), "profiles"),
        (lambda ragged: hs.distribute_profile(5, np.array([ragged, 2], object)), "profiles"),
        (lambda ragged: hs.divisible_load(1, [1, 2], ragged), "link_costs"),
        (lambda ragged: hs.layers_star(5, [1, 2], ragged), "link_costs"),
        (lambda ragged: hs.max_tasks(10, [1, 2], ragged), "send"),
        (lambda ragged: hs.min_time(10, [1, 2], 0, ragged), "receive"),
    ],
)
def test_ragged_lists_are_named(function, name):
    for ragged in ([[1], [1, 2]], [1, [2]], [[1], [2, [3]]]):
        with pytest.raises((TypeError, ValueError), match=f"^{name}"):
            function(ragged)
