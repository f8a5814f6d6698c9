"""Block columns dealt by profiles: hs.lu_pattern and hs.plan_factor against all owners, and runs of
such plans."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import many
from oracles.allocate import best_owners, every_owner, profile_costs
from oracles.lu import backward_error
from validators import validate

import hetsched as hs

INF = math.inf


def drawn_tables(rng, p, size, holes=0.0):
    """(p, size + 1, size + 1) times of zones, in any order; some are impossible."""
    tables = rng.integers(1, 20, (p, size + 1, size + 1)).astype(float)
    tables[rng.random(tables.shape) < holes] = INF
    return tables


def steps_of(tables, n):
    """For each step of n block columns the times of each worker by its number of columns."""
    return [[table[n - 1 - k].tolist() for table in tables] for k in range(n - 1)]


@settings(max_examples=many(40, 15))
@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32), st.sampled_from([0.0, 0.3]))
def test_nothing_is_better_than_the_best_of_all_owners(n, p, seed, holes):
    tables = drawn_tables(np.random.default_rng(seed), p, n, holes)
    steps = steps_of(tables, n)
    least, owner, bound = best_owners(n, p, steps)
    if owner is None:
        with pytest.raises(hs.InfeasibleError, match=f"{n} block columns cannot be dealt"):
            hs.lu_pattern(n, profiles=list(tables))
        return
    plan = hs.lu_pattern(n, profiles=list(tables))
    validate(plan)
    assert plan.cost == least
    assert plan.optimal
    assert plan.scope == "all allocations"
    assert profile_costs(plan.owner.tolist(), p, steps) == plan.step_costs.tolist()
    given_plan = hs.lu_pattern(n, profiles=list(tables), owner=owner)
    validate(given_plan)
    assert given_plan.cost == least
    assert given_plan.lower_bound == bound
    assert given_plan.method == "given"


def test_every_given_map_is_certified():
    tables = drawn_tables(np.random.default_rng(5), 2, 5)
    steps = steps_of(tables, 5)
    _, _, bound = best_owners(5, 2, steps)
    for owner in every_owner(5, 2):
        plan = hs.lu_pattern(5, profiles=list(tables), owner=owner)
        assert plan.cost == sum(profile_costs(owner, 2, steps))
        assert plan.lower_bound == bound


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_numbers_are_constant_speeds(n):
    """The pattern of the cycle-times, in steps that are longer by the height."""
    plan, usual = hs.lu_pattern(n, profiles=[3, 5, 8]), hs.lu_pattern(n, [3, 5, 8])
    assert plan.owner[1:].tolist() == usual.owner[1:].tolist()
    heights = np.arange(n - 1, 0, -1)
    assert plan.step_costs.tolist() == (heights * usual.step_costs).tolist()
    assert plan.optimal
    validate(plan)


def test_a_device_with_little_room_gets_what_it_holds():
    """It is the fastest, but holds eight blocks of nine."""
    plan = hs.lu_pattern(4, profiles=[lambda h, w: np.where(h * w <= 8, 1.0 * h * w, INF), 3])
    validate(plan)
    assert plan.counts[1] >= 1
    assert plan.times[0].tolist() == [6.0, 9.0]
    with pytest.raises(hs.InfeasibleError, match=r"worker 0 3 block columns in step 0; 3 x 3"):
        hs.lu_pattern(
            4, profiles=[lambda h, w: np.where(h * w <= 8, 1.0 * h * w, INF), 3], owner=[0] * 4
        )


@pytest.mark.slow
def test_many_workers_keep_a_bound():
    rng = np.random.default_rng(2)
    tables = rng.uniform(1, 2, (12, 41, 41)) * np.arange(41)
    plan = hs.lu_pattern(40, profiles=list(tables + 1))
    validate(plan)
    assert plan.lower_bound < plan.cost < 1.2 * plan.lower_bound


@given(st.integers(2, 9), st.integers(1, 3), st.integers(0, 2**32))
def test_scaled_and_permuted(n, p, seed):
    rng = np.random.default_rng(seed)
    tables = drawn_tables(rng, p, n)
    plan = hs.lu_pattern(n, profiles=list(tables))
    twice = hs.lu_pattern(n, profiles=list(tables * 2))
    assert twice.owner.tolist() == plan.owner.tolist()
    assert twice.cost == 2 * plan.cost
    order = rng.permutation(p)
    assert hs.lu_pattern(n, profiles=[tables[i] for i in order]).cost == plan.cost


def test_simulated_and_kept(tmp_path):
    plan = hs.lu_pattern(8, profiles=[lambda h, w: 1.0 + h * w, lambda h, w: 2.0 * h * np.sqrt(w)])
    assert hs.simulate(plan).makespan == pytest.approx(plan.cost)
    plan.save(tmp_path / "plan.json")
    assert hs.Plan.load(tmp_path / "plan.json") == plan
    usual = plan.on([1, 2])
    assert usual.times is None
    assert usual.owner.tolist() == plan.owner.tolist()
    slower = hs.Platform.star(plan.cycle_times * 2)
    assert hs.simulate(plan, drift=[(0.0, slower)]).makespan == pytest.approx(2 * plan.cost)
    with pytest.raises(TypeError, match=r"plan again with lu_pattern\(profiles=\)"):
        hs.replan(plan, [1, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cycle_times": [1, 2]}, "profiles must be given without cycle_times"),
        ({"speeds": [1, 2]}, "profiles must be given without cycle_times"),
        ({"period": 2}, "profiles must be given without period"),
        ({"method": "cyclic"}, "profiles must be given without period"),
        ({"owner": [0, 1]}, "owner must have shape"),
        ({"owner": [0, 1, 2, 0]}, r"owner\[2\] must be an integer in \[0, 1\]"),
        ({"profiles": []}, "profiles is empty"),
        ({"profiles": [1, -1]}, r"profiles\[1\].* must be positive"),
        ({"profiles": [1, [[1, np.nan]] * 5]}, r"profiles\[1\].* must be positive"),
        ({"profiles": [1e308, 1e308]}, "profiles have times up to .*, of which 4 overflow"),
    ],
)
def test_errors_of_patterns(options, message):
    with pytest.raises(ValueError, match=message):
        hs.lu_pattern(4, **{"profiles": [1, 2], **options})


def test_too_many_times():
    with pytest.raises(ValueError, match="use larger blocks"):
        hs.lu_pattern(5000, profiles=[1, 2])


# ---- factorisations ----


def seconds(h, w):
    """Slow for narrow parts."""
    return 1e-3 * h * w * (1 + 2 / w)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["lu", "qr", "cholesky"])
def test_no_owners_of_a_factorisation_are_below_the_bound(kind):
    for n, p in ((17, 2), (12, 3)):
        profiles = [seconds, lambda h, w: 2e-3 * h * w, lambda h, w: 1e-3 * w * (h + 3)][:p]
        plan = hs.plan_factor(n, n, kind=kind, profiles=profiles, block=4)
        validate(plan)
        for owner in itertools.product(range(p), repeat=-(-n // 4)):
            other = hs.plan_factor(n, n, kind=kind, profiles=profiles, block=4, owner=owner)
            assert other.lower_bound == min(plan.lower_bound, other.makespan)
            assert other.makespan >= plan.lower_bound * (1 - 1e-12)
            validate(other)


@pytest.mark.parametrize(
    "shape", [(0, 0), (0, 5), (5, 0), (7, 7), (8, 8), (9, 9), (20, 9), (9, 30)]
)
@pytest.mark.parametrize("look_ahead", [True, False])
def test_constant_profiles_are_cycle_times(shape, look_ahead):
    """With the same owners, all times are those of the cycle-times."""
    block, times = 8, [3.0, 5.0]
    gigaflops = 2 * block**3 / 1e9
    options = {"block": block, "look_ahead": look_ahead, "dtype": np.float64}
    plan = hs.plan_lu(*shape, profiles=[t * gigaflops for t in times], **options)
    usual = hs.plan_lu(*shape, times, **options, owner=plan.owner)
    validate(plan)
    assert plan.makespan == pytest.approx(usual.makespan, rel=1e-12)
    assert plan.lower_bound == pytest.approx(usual.lower_bound, rel=1e-12)
    assert plan.tasks["end"] == pytest.approx(usual.tasks["end"], rel=1e-12)
    assert plan.step_efficiency.shape == usual.step_efficiency.shape


def test_times_of_the_steps_count():
    """The first step has two columns of two block rows for worker 0, the second one of one row."""
    table = np.ones((3, 3))
    table[2, 2], table[1, 1] = 6.0, 5.0
    plan = hs.plan_lu(12, 12, profiles=[table], block=4, panel_times=[1.0])
    updates = plan.tasks[plan.tasks["panel"] != plan.tasks["block"]]
    work = 2 * 4**3 / 1e9
    spent = np.diff([updates["start"], updates["end"]], axis=0)[0]
    speeds = [6.0 / (4 * work), 6.0 / (4 * work), 5.0 / work]
    assert spent == pytest.approx(updates["flops"] / 1e9 * speeds)
    assert plan.step_cycle_times[:, 0] == pytest.approx([speeds[0], speeds[2], INF])
    assert plan.on([1.0]).makespan < plan.makespan


def test_a_platform_adds_links_and_names():
    names = ["gpu", "core"]
    workers = [hs.Worker(9.0, name=name) for name in names]
    platform = hs.Platform(workers, [[0, 1e6], [1e6, 0]])
    plan = hs.plan_lu(40, 40, platform, profiles=[1e-3, 2e-3], block=8)
    validate(plan)
    assert plan.names == tuple(names)
    assert len(plan.messages) > 0
    assert plan.makespan > hs.plan_lu(40, 40, profiles=[1e-3, 2e-3], block=8).makespan


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": None}, "block must be given with profiles"),
        ({"cycle_times": [1, 2]}, "profiles must be given without cycle_times"),
        ({"speeds": [1, 2]}, "profiles must be given without cycle_times"),
        ({"cycle_times": hs.Platform.star([1])}, "profiles must have 1 entries"),
        ({"owner": "contiguous"}, "owner must be"),
        ({"owner": np.zeros((5, 5), int)}, "owner must have one dimension"),
        ({"owner": [0, 1]}, "owner has 2 entries"),
        ({"profiles": [1, -1]}, r"profiles\[1\].* must be positive"),
        ({"profiles": [5e-324, 1]}, "is too small"),
        ({"panel_times": [1.0]}, "panel_times must have 2 entries"),
    ],
)
def test_errors_of_factorisations(options, message):
    with pytest.raises(ValueError, match=message):
        hs.plan_factor(40, 40, **{"profiles": [1, 2], "block": 8, **options})


def test_parts_that_do_not_fit():
    small = [[1.0] * 3] * 3  # two rows and columns at most
    with pytest.raises(hs.InfeasibleError, match="5 block columns cannot be dealt"):
        hs.plan_lu(40, 40, profiles=[small, small], block=8)
    with pytest.raises(hs.InfeasibleError, match=r"owner gives worker 1 .* profiles\[1\]"):
        hs.plan_lu(40, 40, profiles=[1, small], block=8, owner="cyclic")
    with pytest.raises(TypeError, match=r"plan again with plan_factor\(profiles=\)"):
        hs.replan(hs.plan_lu(40, 40, profiles=[1, 2], block=8), [1, 2])


# ---- runs ----


def factored(plan, a, pool):
    if plan.kind == "lu":
        assert backward_error(a, *pool.lu_factor(a, owner=plan)) < 1
    elif plan.kind == "qr":
        q, r = pool.qr(a, owner=plan)
        assert np.allclose(q @ r, a)
    else:
        spd = a @ a.T + len(a) * np.eye(len(a))
        assert np.allclose(pool.cholesky(spd, owner=plan), np.linalg.cholesky(spd))


@pytest.mark.parametrize("kind", ["lu", "qr", "cholesky"])
def test_a_pool_runs_what_it_measured(kind):
    n, block = 100, 16
    profiles = hs.measure_zones(n, n, block, block=block, points=3, seconds=0.01)
    a = np.random.default_rng(1).standard_normal((n, n))
    with hs.Pool(len(profiles)) as pool:
        plan = pool.plan_factor(n, n, kind=kind, profiles=profiles, block=block)
        validate(plan)
        assert plan.names == pool.platform.names
        factored(plan, a, pool)


def test_an_emulated_pool_keeps_the_times_of_the_steps():
    n, block = 60, 12
    profiles = [lambda h, w: 2e-4 * h * w * (1 + 2 / w), lambda h, w: 3e-4 * h * w]
    plan = hs.plan_lu(n, n, profiles=profiles, block=block)
    a = np.random.default_rng(2).standard_normal((n, n))
    platform = hs.Platform.star(plan.cycle_times, unit=hs.Unit.gigaflop())
    with (
        warnings.catch_warnings(),
        hs.Pool(platform, emulate=True, time_scale=10) as pool,
    ):
        warnings.simplefilter("ignore", hs.EmulationWarning)
        (lu, piv), trace = pool.lu_factor(a, owner=plan, trace=True)
        with pytest.raises(ValueError, match="profiles are for real workers"):
            pool.plan_lu(n, n, profiles=profiles, block=block)
        with pytest.raises(ValueError, match="profiles are for real workers"):
            pool.plan(n, n, n, profiles=profiles)
    assert backward_error(a, lu, piv) < 1
    assert trace.predicted == 10 * plan.makespan
    starts = {(step.worker, step.what): 10 * step.start for step in plan.steps()}
    ends = {(step.worker, step.what): 10 * step.end for step in plan.steps()}
    for event in trace.events:
        if event.kind == "compute":
            key = event.worker, event.what
            assert event.start == pytest.approx(starts[key], rel=1e-9, abs=1e-12)
            assert event.end >= ends[key] * (1 - 1e-9)


@pytest.mark.parametrize("method", ["auto", "columns"])
def test_a_pool_plans_a_product_by_what_it_measured(method):
    m, n, k = 70, 90, 40
    profiles = hs.measure_zones(m, n, k, block=16, points=3, seconds=0.01)
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    with hs.Pool(len(profiles)) as pool:
        plan = pool.plan(m, n, k, profiles=profiles, block=16, method=method)
        validate(plan)
        assert plan.method == "profiles"
        assert plan.names == pool.platform.names
        assert plan == pool.plan(a.shape, b.shape, profiles=profiles, block=16, method=method)
        result, trace = pool.run(plan, a, b, trace=True)
        assert np.allclose(result, a @ b)
        assert trace.predicted == pytest.approx(plan.makespan)
        with pytest.raises(ValueError, match=f"profiles are for {len(profiles) + 1} workers"):
            pool.plan(m, n, k, profiles=[*profiles, 1.0], block=16)
        with pytest.raises(ValueError, match="method"):
            pool.plan(m, n, k, profiles=profiles, method="layers")
        with pytest.raises(ValueError, match=f"profiles must have {len(profiles)} entries"):
            pool.plan_lu(n, n, profiles=[*profiles, 1.0], block=16)
