"""hetsched.allocate: optimal to the last bit, for every double that a cycle-time can be."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from oracles import distribute_makespan, fractions, greedy_counts, rounded

import hetsched as hs

INF, NAN = math.inf, math.nan
LEAST, MOST = math.ulp(0.0), float(np.finfo(float).max)


def neighbour(base: float, places: int) -> float:
    """The double that many places after (or before) base."""
    for _ in range(abs(places)):
        base = math.nextafter(base, math.copysign(INF, places))
    return base


# Times that differ by a few roundings, and small multiples of such times: k t_i and l t_j collide,
# or nearly so.
nearly_tied = st.tuples(
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-300, 1e300, 2.0**-1022, 7 * LEAST]),
    st.lists(
        st.tuples(st.integers(-3, 3), st.sampled_from([1, 1, 2, 3, 5])), min_size=1, max_size=12
    ),
).map(lambda drawn: [neighbour(drawn[0] * factor, places) for places, factor in drawn[1]])
each_alike = [
    st.floats(LEAST, MOST),
    st.integers(1, 2**52 - 1).map(lambda k: k * LEAST),  # subnormal
    st.floats(-300, 300).map(lambda x: 10.0**x),
    st.integers(1, 12).map(float),
    st.sampled_from([1.0, 2.0, INF, LEAST, MOST]),
]
times_lists = st.one_of(
    nearly_tied, *(st.lists(kind, min_size=1, max_size=12) for kind in each_alike)
).filter(lambda times: not all(map(math.isinf, times)))
chunks = st.one_of(st.integers(0, 60), st.integers(0, 10**15), st.integers(2**53 - 50, 2**53))


def distributed(n: int, times: list[float]) -> hs.Distribution:
    """Refused where the makespan overflows: the fastest worker alone must need more than the
    largest double then."""
    try:
        return hs.distribute(n, times)
    except ValueError as error:
        if "makespan overflows" not in str(error) or n * Fraction(min(times)) <= Fraction(MOST):
            raise
        reject()


def exact_makespan(plan: hs.Distribution) -> Fraction:
    loads = [
        c * Fraction(t)
        for c, t in zip(plan.counts.tolist(), plan.cycle_times.tolist(), strict=True)
        if c
    ]
    return max(loads, default=Fraction(0))


@pytest.mark.parametrize(
    ("n", "times", "counts", "makespan"),
    [
        (78, [3, 5, 8], [40, 24, 14], 120),
        (10, [3, 5, 8], [5, 3, 2], 16),
        (7, [1, 2, 4], [4, 2, 1], 4),
        (0, [3, 5, 8], [0, 0, 0], 0),
        (1, [8, 5, 3], [0, 0, 1], 3),
        (6, [2, 2, 2, 2], [2, 2, 1, 1], 4),
        (6, [1, 2, 0.5], [2, 1, 3], 2),  # 2 * 1, 1 * 2 and 4 * 0.5 tie
        (5, [INF, 5, INF, 5], [0, 3, 0, 2], 15),
        # 3 t rounds to 1, the real product is above 1
        (3, [math.nextafter(1 / 3, 1), 1], [2, 1], 1),
        (2**53, [7], [2**53], 7 * 2.0**53),
        (3, [LEAST, 2 * LEAST], [2, 1], 2 * LEAST),
        (10**15, [1e300, 1e-300], [0, 10**15], 1e15 * 1e-300),
    ],
)
def test_known_values(n, times, counts, makespan):
    plan = hs.distribute(n, times)
    assert plan.counts.tolist() == counts
    assert plan.makespan == makespan


@given(n=chunks, times=times_lists)
@example(n=10**15, times=[1.0, math.nextafter(1.0, 2), math.nextafter(1.0, 0)])
@example(n=2**53, times=[MOST, LEAST])
@example(n=2**53, times=[1 / 3, 1 / 7, 1 / 11, 0.1])
@example(n=10**15, times=[float(k) for k in range(1, 13)])
def test_is_the_greedy_optimum_exactly(n, times):
    plan = distributed(n, times)
    top = exact_makespan(plan)
    assert int(plan.counts.sum()) == n
    assert plan.counts.tolist() == greedy_counts(n, times, top)
    assert plan.makespan == rounded(top)
    assert plan.cycle_times.tolist() == times


@given(n=st.integers(0, 60), times=times_lists)
def test_makespan_is_the_nth_smallest_multiple(n, times):
    plan = distributed(n, times)
    assert exact_makespan(plan) == distribute_makespan(n, times)


@given(n=chunks, times=st.lists(st.integers(1, 3).map(float), min_size=1, max_size=30))
def test_ties_go_to_the_lowest_index(n, times):
    counts = hs.distribute(n, times).counts
    for value in set(times):
        own = [c for c, t in zip(counts.tolist(), times, strict=True) if t == value]
        assert own == sorted(own, reverse=True)
        assert own[0] - own[-1] <= 1


@given(
    n=chunks,
    times=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12),
    exponent=st.integers(-1000, 1000),
)
def test_unit_of_time_does_not_matter(n, times, exponent):
    scaled = [math.ldexp(t, exponent) for t in times]
    assert distributed(n, scaled).counts.tolist() == distributed(n, times).counts.tolist()


@given(n=chunks, times=times_lists)
def test_displs_determinism_and_inputs(n, times):
    given_times = np.array(times)
    plan, again = distributed(n, given_times), hs.distribute(n, times)
    assert plan.counts.tolist() == again.counts.tolist()
    assert plan.displs.tolist() == [sum(plan.counts.tolist()[:i]) for i in range(len(times))]
    assert plan.counts.dtype == plan.displs.dtype == np.int64
    assert given_times.tolist() == times
    assert given_times.flags.writeable
    assert not any(a.flags.writeable for a in (plan.counts, plan.displs, plan.cycle_times))


@given(n=chunks, times=times_lists)
def test_certificate(n, times):
    plan = distributed(n, times)
    assert plan.optimal is True
    assert plan.lower_bound == plan.value == plan.makespan
    assert plan.gap == 0.0
    assert plan.method == "distribute"
    assert plan.scope == "all allocations"
    assert "gap 0.00%, optimal (distribute)" in str(plan.certificate)
    content = plan.to_dict()
    assert content["type"] == "Distribution"
    assert json.loads(json.dumps(content))["counts"] == plan.counts.tolist()


@given(n=chunks, times=times_lists)
def test_simulated_makespan_is_the_plans(n, times):
    plan = distributed(n, times)
    trace = hs.simulate(plan)
    loads = [c * t if c else 0.0 for c, t in zip(plan.counts.tolist(), times, strict=True)]
    assert trace.makespan == trace.predicted == plan.makespan
    assert list(trace.finish) == loads
    assert trace.kind == "simulated"


def test_simulated_trace_of_the_papers_example():
    trace = hs.simulate(hs.distribute(78, [3, 5, 8]))
    assert [tuple(event) for event in trace.events] == [
        (0, "compute", 0.0, 120.0, "40 chunks"),
        (1, "compute", 0.0, 120.0, "24 chunks"),
        (2, "compute", 0.0, 112.0, "14 chunks"),
        (2, "wait", 112.0, 120.0, ""),
    ]
    assert trace.ideal == pytest.approx(78 / (1 / 3 + 1 / 5 + 1 / 8), rel=1e-14)
    assert trace.efficiency == pytest.approx(trace.ideal / 120, rel=1e-14)


@pytest.mark.parametrize(
    ("n", "times"),
    [
        (5, [1e-310]),
        (5, [1e300, 1e-300]),
        (0, [1.0]),
        (6, [1.0, 1.0, 1.0]),
    ],
)
def test_simulated_efficiency_is_a_share(n, times):
    assert 0.0 <= hs.simulate(distributed(n, times)).efficiency <= 1.0 + 1e-12


@given(n=chunks, exponents=st.lists(st.integers(-500, 500), min_size=1, max_size=10))
def test_speeds_instead_of_cycle_times(n, exponents):
    speeds, times = [2.0**e for e in exponents], [2.0**-e for e in exponents]
    by_speed = hs.distribute(n, speeds=speeds)
    assert by_speed.counts.tolist() == distributed(n, times).counts.tolist()
    assert by_speed.cycle_times.tolist() == times


def test_zero_speed_gets_nothing():
    plan = hs.distribute(9, speeds=[0, 1, 0, 2])
    assert plan.counts.tolist() == [0, 3, 0, 6]
    assert plan.makespan == 3.0


@pytest.mark.parametrize(
    "times",
    [
        (3, 5, 8),
        np.array([3, 5, 8]),
        np.array([3, 5, 8], np.uint8),
        np.array([3, 0, 5, 0, 8, 0], np.float32)[::2],
    ],
    ids=["tuple", "int64", "uint8", "strided float32"],
)
def test_forms_of_cycle_times(times):
    assert hs.distribute(78, times).counts.tolist() == [40, 24, 14]


def test_platform_instead_of_cycle_times():
    assert hs.distribute(78, hs.Platform.star([3, 5, 8])).counts.tolist() == [40, 24, 14]


MANY_TIMES = {
    "equal": lambda rng, p: np.full(p, 0.1),
    "uniform": lambda rng, p: rng.uniform(1, 10, p),
    "integers": lambda rng, p: rng.integers(1, 200, p) / 8,
    "far apart": lambda rng, p: 10.0 ** rng.uniform(-300, 300, p),
    "nearly tied": lambda rng, p: np.array(
        [neighbour(0.1 * k, d) for k, d in rng.integers(1, 4, (p, 2)).tolist()]
    ),
    "mostly idle": lambda rng, p: np.where(np.arange(p) % 4 == 1, rng.uniform(1, 2, p), INF),
    # of 321 each may have (2^53 + 1) / 321 chunks
    "half idle": lambda rng, p: np.where(np.arange(p) % 2, 0.1, INF),
}


@pytest.mark.parametrize("n", [0, 1, 77, 150, 1000, 12345, 10**15, 2**53 - 1, 2**53])
@pytest.mark.parametrize("p", [511, 642, 1001])
@pytest.mark.parametrize("kind", MANY_TIMES)
def test_many_workers_to_the_last_chunk(kind, p, n):
    """No chunk that is dealt comes after one that is not, in order of the end and of the worker:
    only one allocation is so."""
    times = MANY_TIMES[kind](np.random.default_rng(p + n), p)
    counts = hs.distribute(n, times).counts.tolist()
    assert sum(counts) == n
    able = [(i, Fraction(t)) for i, t in enumerate(times.tolist()) if t < INF]
    assert all(counts[i] == 0 for i in np.flatnonzero(np.isinf(times)))
    last = max(((counts[i] * t, i) for i, t in able if counts[i]), default=(Fraction(0), -1))
    assert last < min(((counts[i] + 1) * t, i) for i, t in able)


@pytest.mark.parametrize("n", [10.0, np.int32(10), np.uint8(10), np.float64(10), Fraction(10)])
def test_forms_of_n(n):
    assert hs.distribute(n, [3, 5, 8]).counts.tolist() == [5, 3, 2]


@pytest.mark.parametrize("kind", ["integers", "reals", "reciprocals"])
def test_many_workers_and_chunks(kind):
    p, n = 100_000, 10**15
    rng = np.random.default_rng(5)
    times = {
        "integers": rng.integers(1, 1000, p).astype(float),
        "reals": rng.random(p) + 0.5,
        "reciprocals": 1.0 / np.arange(1, p + 1),
    }[kind]
    start = time.process_time()
    plan = hs.distribute(n, times)
    assert time.process_time() - start < 5.0  # O(p log p): hundredths of a second
    units = [int(t) for t in (times * 2.0**80).tolist()]  # exact: all times are above 2^-28
    assert all(math.ldexp(u, -80) == t for u, t in zip(units, times.tolist(), strict=True))
    counts = plan.counts.tolist()
    top = max(c * u for c, u in zip(counts, units, strict=True))
    below = [(top - 1) // u for u in units]
    left = n - sum(below)
    assert sum(counts) == n
    assert left > 0
    extra = {i for i in [i for i, u in enumerate(units) if top % u == 0][:left]}
    assert counts == [b + (i in extra) for i, b in enumerate(below)]
    assert plan.makespan == rounded(Fraction(top, 2**80))


@pytest.mark.parametrize(
    ("times", "error", "message"),
    [
        ([1, NAN], ValueError, r"cycle_times\[1\] is NaN"),
        ([1, 2, 0], ValueError, r"cycle_times\[2\] must be positive, got 0"),
        ([1, -0.0], ValueError, r"cycle_times\[1\] must be positive"),
        ([-3, 1], ValueError, r"cycle_times\[0\] must be positive, got -3"),
        ([1, -INF], ValueError, r"cycle_times\[1\] must be positive, got -inf"),
        ([INF, INF], ValueError, "cycle_times are all infinite"),
        ([], ValueError, "cycle_times is empty"),
        (np.empty(0), ValueError, "cycle_times is empty"),
        (3.0, ValueError, "cycle_times must be one-dimensional"),
        ([[1, 2], [3]], TypeError, "cycle_times must be a sequence of real numbers"),
        ("abc", TypeError, "cycle_times must be a sequence of real numbers"),
        (["1", "2"], TypeError, "cycle_times must be a sequence of real numbers"),
        ([1, None], TypeError, "cycle_times must be a sequence of real numbers"),
        ([1, 2j], TypeError, "cycle_times must be a sequence of real numbers"),
        ([True, True], TypeError, "cycle_times must be a sequence of real numbers"),
        ({"a": 1}, TypeError, "cycle_times must be a sequence of real numbers"),
        (None, TypeError, "give either cycle_times or speeds"),
    ],
)
def test_bad_cycle_times(times, error, message):
    with pytest.raises(error, match=message):
        hs.distribute(3, times)


@pytest.mark.parametrize(
    ("speeds", "error", "message"),
    [
        ([1, NAN], ValueError, r"speeds\[1\] is NaN"),
        ([1, -1], ValueError, r"speeds\[1\] must be finite and not negative, got -1"),
        ([INF, 1], ValueError, r"speeds\[0\] must be finite and not negative, got inf"),
        ([0, 0], ValueError, "speeds are all zero"),
        ([], ValueError, "speeds is empty"),
        ("abc", TypeError, "speeds must be a sequence of real numbers"),
        ([LEAST], ValueError, "speeds are too small"),
    ],
)
def test_bad_speeds(speeds, error, message):
    with pytest.raises(error, match=message):
        hs.distribute(3, speeds=speeds)


def test_cycle_times_and_speeds_exclude_each_other():
    with pytest.raises(TypeError, match="give either cycle_times or speeds"):
        hs.distribute(3, [1], speeds=[1])


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (-1, ValueError, r"n must be in \[0, 9007199254740992\], got -1"),
        (2**53 + 1, ValueError, r"n must be in \[0, 9007199254740992\], got 9007199254740993"),
        (2.0**60, ValueError, "n must be in"),
        pytest.param(10**400, ValueError, "n must be in", id="10**400"),
        (1.5, ValueError, "n must be an integer, got 1.5"),
        (NAN, ValueError, "n must be an integer, got nan"),
        (INF, ValueError, "n must be an integer, got inf"),
        (True, TypeError, "n must be an integer, got True"),
        (np.True_, TypeError, "n must be an integer"),
        ("3", TypeError, "n must be an integer, got '3'"),
        (None, TypeError, "n must be an integer, got None"),
        (1j, TypeError, "n must be an integer"),
        ([3], TypeError, "n must be an integer"),
    ],
)
def test_bad_n(n, error, message):
    with pytest.raises(error, match=message):
        hs.distribute(n, [1, 2])


@given(
    st.lists(st.integers(1, 9).map(float), min_size=1, max_size=5), st.integers(1, 25), st.data()
)
def test_the_oracle_refuses_what_is_not_optimal(times, n, data):
    """greedy_counts against enumeration: it accepts the n-th smallest multiple and no other."""
    multiples = sorted(k * t for k in range(1, n + 2) for t in fractions(times))
    candidate = data.draw(st.sampled_from(multiples))
    accepted = greedy_counts(n, times, candidate) is not None
    assert accepted == (candidate == distribute_makespan(n, times))


@pytest.mark.parametrize("n", [782, [782, 1]])
def test_a_makespan_that_overflows_is_no_optimum(n):
    times = [1e308] if isinstance(n, int) else [[1e308], [1e308]]
    with pytest.raises(
        ValueError, match="the makespan overflows: give cycle_times in a larger unit"
    ):
        hs.distribute(n, times)
    assert hs.distribute(1, [1e308]).makespan == 1e308


def test_a_speed_of_minus_zero_is_zero():
    assert hs.distribute(5, speeds=[1.0, -0.0]).counts.tolist() == [5, 0]


def test_simulated_times_near_the_largest_double():
    plan = hs.distribute(12, [1e308] * 12)
    assert hs.simulate(plan).makespan == hs.simulate(plan).ideal == plan.makespan == 1e308
