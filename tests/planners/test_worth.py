"""How many workers are worth it: against the obvious arithmetic, on measured and given
platforms."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.machine.measure import MeasuredPlatform


def measured(alone, crowded, share=None, *, quota=None, start=0.0):
    p = len(alone)
    once = {"size": 100, "gflops": list(crowded), "alone": list(alone), "share": share or [1.0] * p}
    return MeasuredPlatform(
        {
            "at_once": {"float64": once},
            "profiles": [],
            "cpus": list(range(p)),
            "start": start,
            "measured": 0.0,
            "took": 0.0,
            "quota": quota,
            "stolen": [0.0] * p,
            "notes": [],
        }
    )


speeds = st.lists(st.integers(1, 50), min_size=1, max_size=6)


@given(speeds, st.integers(1, 40), st.one_of(st.none(), st.fractions(Fraction(1, 10), 8)))
def test_constant_speeds(rates, n, quota):
    """Exact fractions: the fastest first, the fewest within 2 % of the least time."""
    plan = hs.workers_worth(
        n, n, n, hs.Platform.star(speeds=rates), quota=None if quota is None else float(quota)
    )
    work, ordered, times = Fraction(2 * n**3, 10**9), sorted(rates, reverse=True), []
    for p in range(1, len(rates) + 1):
        total = Fraction(sum(ordered[:p]))
        times.append(work / (total if quota is None else min(total, quota * total / p)))
    np.testing.assert_allclose(plan.times, np.array(times, float))
    close = [
        p
        for p, time in enumerate(times, 1)
        if time <= Fraction(102, 100) * min(times) * (1 - Fraction(1, 10**9))
    ]
    loose = [
        p
        for p, time in enumerate(times, 1)
        if time <= Fraction(102, 100) * min(times) * (1 + Fraction(1, 10**9))
    ]
    assert loose[0] <= plan.workers <= close[0]
    assert sorted((rates[i] for i in plan.enrolled), reverse=True) == ordered[: plan.workers]
    bound = work / (sum(rates) if quota is None else min(Fraction(sum(rates)), quota * max(rates)))
    assert plan.lower_bound <= float(min(times)) * (1 + 1e-12)
    assert plan.lower_bound == pytest.approx(min(float(bound), plan.makespan))
    assert plan.makespan == plan.times[plan.workers - 1]
    assert (plan.bounds <= plan.times).all()


@pytest.mark.parametrize(
    ("quota", "workers"),
    [(None, 4), (0.5, 1), (1, 1), (1.01, 1), (1.5, 2), (2, 2), (3.2, 4), (9, 4)],
)
def test_quota(quota, workers):
    plan = hs.workers_worth(1000, 1000, 1000, hs.Platform.star([0.01] * 4), quota=quota)
    assert plan.workers == workers
    assert plan.times[-1] == pytest.approx(0.02 / min(4, quota or 4))
    assert ("under a quota" in plan.describe()) == (quota is not None)


def test_slow_links():
    """Two computers slower than one, three slower still; with more work per byte they are not."""
    far = hs.Platform.star([0.02, 0.02, 0.02], link_costs=[0, 5, 9])
    plan = hs.workers_worth(1000, 1000, 1000, far)
    assert (plan.workers, plan.enrolled) == (1, (0,))
    assert plan.times[0] == pytest.approx(0.04)
    assert plan.times[0] < plan.times[1] <= plan.times[2] * (1 + 1e-12)
    assert hs.workers_worth(20000, 20000, 20000, far).workers == 3
    assert plan.lower_bound == pytest.approx(0.04 / 3)


def test_shared_memory():
    """Cores that slow each other down by as much as they add; then one is enough."""
    assert hs.workers_worth(99, 99, 99, measured([10, 10], [5, 5])).workers == 1
    plan = hs.workers_worth(1000, 1000, 1000, measured([10, 10, 10], [8, 8, 8]))
    assert plan.workers == 3
    np.testing.assert_allclose(plan.times, [0.2, 2 / 18, 2 / 24])
    assert plan.lower_bound == pytest.approx(2 / 30)


def test_small_products():
    """Starting the others takes longer than the work."""
    here = measured([10, 10], [10, 10], start=1e-4)
    assert [hs.workers_worth(n, n, n, here).workers for n in (10, 50, 100, 1000)] == [1, 1, 1, 2]


def test_measured_under_a_quota():
    """The cores were there for three quarters of the time: 1.5 cpus on two."""
    here = measured([10, 10], [7.5, 7.5], [0.75, 0.75], quota=1.5)
    plan = hs.workers_worth(1000, 1000, 1000, here)
    np.testing.assert_allclose(plan.times, [0.2, 2 / 15])
    assert (plan.workers, plan.quota) == (2, 1.5)
    assert hs.workers_worth(1000, 1000, 1000, here, quota=1).workers == 1


def test_this_machine():
    plan = hs.workers_worth(500, 500, 500, dtype=np.float32)
    assert 1 <= plan.workers <= len(plan.times) == hs.topology().worth
    workers = f"{plan.workers} worker{'' if plan.workers == 1 else 's'}"
    assert plan.describe().startswith(f"{workers} for a 500 x 500 x 500 product")


def test_nothing_to_do():
    plan = hs.workers_worth(0, 5, 5, hs.Platform.star([1, 2]))
    assert (plan.workers, plan.makespan, plan.lower_bound, plan.optimal) == (1, 0.0, 0.0, True)
    assert plan.steps() == []


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((-1, 1, 1), {}, ValueError, "m must be in"),
        ((1, 1.5, 1), {}, ValueError, "n must be an integer"),
        ((1, 1, "1"), {}, TypeError, "k must be an integer"),
        ((1, 1, 1), {"quota": 0}, ValueError, "quota must be greater than 0"),
        ((1, 1, 1), {"quota": np.nan}, ValueError, "quota must be finite"),
        ((1, 1, 1), {"dtype": int}, TypeError, "dtype int64 is not one of"),
        (
            (1, 1, 1),
            {"platform": measured([1], [1]), "dtype": np.float32},
            ValueError,
            "float32 was not measured",
        ),
        ((1, 1, 1), {"platform": hs.Platform.star([5e-324])}, ValueError, "overflows"),
    ],
)
def test_bad_arguments(arguments, options, error, words):
    with pytest.raises(error, match=words):
        hs.workers_worth(*arguments, **options)


@pytest.mark.slow
def test_forms():
    pytest.importorskip("matplotlib").use("Agg")
    plan = hs.workers_worth(100, 100, 100, hs.Platform.star([1, 2], names=["a", "b"]))
    assert json.loads(json.dumps(plan.to_dict()))["workers"] == 2
    assert hs.simulate(plan).makespan == plan.makespan
    assert plan.names == ("a", "b")
    assert plan.plot().get_xlabel() == "workers"
    assert "<svg" in plan._repr_html_()


@pytest.mark.parametrize("platform", [3, "star", {1, 2}])
def test_platform_is_a_platform(platform):
    with pytest.raises(TypeError, match="platform must be a Platform"):
        hs.workers_worth(10, 10, 10, platform)


def test_extreme_quotas():
    even = hs.Platform.star([0.02, 0.02])
    assert (
        hs.workers_worth(1000, 10, 17, even, quota=1.7e308).makespan
        == hs.workers_worth(1000, 10, 17, even).makespan
    )
    with pytest.raises(ValueError, match="the makespan overflows: give platform and quota"):
        hs.workers_worth(3000, 100000, 3, even, quota=5e-324)


def test_sizes_are_m_n_k_or_two_shapes():
    A, B = np.empty((30, 20)), np.empty((20, 50))
    star = hs.Platform.star([3.0, 5.0, 8.0])
    with hs.Pool(star, emulate=True) as pool:
        assert pool.plan(A.shape, B.shape) == pool.plan(30, 50, 20)
    plan = hs.plan_matmul(A.shape, B.shape, star)
    assert plan == hs.plan_matmul(30, 50, 20, star)
    assert plan.shape == (30, 50, 20)
    assert hs.workers_worth(A.shape, B.shape, star) == hs.workers_worth(30, 50, 20, star)
    with pytest.raises(ValueError, match="A has 20 columns, but B has 30 rows: both are k"):
        hs.plan_matmul(A.shape, A.shape, star)
    with pytest.raises(TypeError, match="k must be an integer, unless m and n are the shapes"):
        hs.plan_matmul(3, 4, star)
    with pytest.raises(TypeError, match="shapes of A and B: .*; got"):
        hs.plan_matmul((3, 4, 5), (4, 5), star)
    with pytest.raises(ValueError, match=r"the shape of B must be in \[0"):
        hs.workers_worth((3, 4), (4, -5), star)
    with pytest.raises(TypeError, match="platform must be a Platform"):
        hs.plan_matmul(3, 4, 5)


def test_cycle_times_in_place_of_a_platform():
    times = [3.0, 5.0, 8.0]
    star = hs.Platform.star(times)
    plan = hs.plan_matmul(30, 50, 20, star)
    for own in (times, tuple(times), np.array(times)):
        assert hs.plan_matmul(30, 50, 20, own) == plan
        assert hs.plan_matmul((30, 20), (20, 50), own) == plan
        assert hs.workers_worth(30, 50, 20, own) == hs.workers_worth(30, 50, 20, star)
        assert plan.on(own) == plan.on(star)
        assert hs.simulate(plan, own) == hs.simulate(plan, star)
    with pytest.raises(ValueError, match="platform has 2 workers, the plan is for 3"):
        hs.simulate(plan, [1.0, 2.0])
    for call in (lambda: hs.Pool(times, emulate=True), lambda: hs.map_tasks(abs, [1], times)):
        with pytest.raises(TypeError, match="workers must be an integer or a Platform, such as"):
            call()
    with pytest.raises(TypeError, match=r"n must come first: distribute\(78, \[3, 5\]\)"):
        hs.distribute([3, 5], 78)
