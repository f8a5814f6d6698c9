"""hs.partition_profile: zones whose times depend on their height and width, against all tilings."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validators import validate

import hetsched as hs

INF = math.inf


# ---- all tilings of small matrices ----


def tilings(m, n, p):
    """Every tiling with at most one rectangle for each of p workers: {worker: (row, col, height,
    width)}. The first free cell, row by row, is the corner of the next rectangle."""
    taken = np.zeros((m, n), bool)
    zones = {}

    def rest():
        free = np.argwhere(~taken)
        if not len(free):
            yield dict(zones)
            return
        r, c = free[0].tolist()
        for i in set(range(p)) - set(zones):
            for h, w in itertools.product(range(1, m - r + 1), range(1, n - c + 1)):
                if taken[r : r + h, c : c + w].any():
                    continue
                taken[r : r + h, c : c + w] = True
                zones[i] = (r, c, h, w)
                yield from rest()
                del zones[i]
                taken[r : r + h, c : c + w] = False

    return rest()


def guillotine(zones):
    """Whether cuts from side to side take all zones apart."""
    if len(zones) < 2:
        return True
    for axis in (0, 1):
        for line in {zone[axis] for zone in zones}:
            low = [z for z in zones if z[axis] + z[axis + 2] <= line]
            high = [z for z in zones if z[axis] >= line]
            if low and high and len(low) + len(high) == len(zones):
                return guillotine(low) and guillotine(high)
    return False


def strips(zones, axis):
    """Whether all zones lie in full columns (axis 1) or rows (axis 0)."""
    ends = {(zone[axis], zone[axis] + zone[axis + 2]) for zone in zones}
    return all(a == c or b <= c or d <= a for (a, b), (c, d) in itertools.permutations(ends, 2))


CLASSES = {
    "any": lambda zones: True,
    "guillotine": guillotine,
    "columns": lambda zones: strips(zones, 1),
    "rows": lambda zones: strips(zones, 0),
}


def least(table):
    """{class: (least makespan, least sum of half perimeters with it)}, of an array (p, m, n)."""
    p, m, n = table.shape
    found = dict.fromkeys(CLASSES, (INF, 0))
    for zones in tilings(m, n, p):
        time = max(table[i, h - 1, w - 1] for i, (_, _, h, w) in zones.items())
        if time == INF:
            continue
        value = time, sum(h + w for _, _, h, w in zones.values())
        for name, holds in CLASSES.items():
            if value < found[name] and holds(list(zones.values())):
                found[name] = value
    return found


def as_profiles(table):
    """The table as 2-D profiles, whose row 0 and column 0 are not read."""
    return [np.pad(own, ((1, 0), (1, 0)), constant_values=-1.0).tolist() for own in table]


def tables():
    rng = np.random.default_rng(7)
    sizes = [(1, 1, 1), (1, 4, 2), (3, 1, 3), (2, 2, 4), (3, 3, 3), (4, 3, 3), (5, 5, 2), (3, 4, 4)]
    for (m, n, p), kind in itertools.product(sizes, range(6)):
        area = np.outer(np.arange(1, m + 1), np.arange(1, n + 1))
        speeds = rng.integers(1, 6, (p, 1, 1))
        table = (
            speeds * area + rng.integers(0, 3, (p, m, n))
            if kind < 3
            else rng.integers(1, 30, (p, m, n))
        ).astype(float)
        table[rng.random(table.shape) < (0.0, 0.2, 0.4)[kind % 3]] = INF
        yield pytest.param(table, id=f"{m}x{n}, {p} workers, {kind}")


@pytest.mark.few(16)
@pytest.mark.parametrize("table", list(tables()))
def test_against_all_tilings(table):
    p, m, n = table.shape
    wanted = least(table)
    for method in ("guillotine", "columns", "rows", "best"):
        value, cost = wanted["guillotine" if method == "best" else method]
        if value == INF:
            with pytest.raises(hs.InfeasibleError):
                hs.partition_profile((m, n), as_profiles(table), method)
            continue
        plan = hs.partition_profile((m, n), as_profiles(table), method)
        validate(plan)
        assert plan.makespan == value
        assert plan.lower_bound <= wanted["any"][0]
        assert plan.times.tolist() == [
            table[i, h - 1, w - 1] if h else 0.0 for i, (_, _, h, w) in enumerate(plan.rects)
        ]
        assert plan.scope
        if method in ("guillotine", "best"):  # up to four workers
            assert plan.optimal
            assert plan.half_perimeters == cost


def test_five_workers_in_a_pinwheel():
    """No cut goes from side to side: the bound holds for this tiling, no method finds it."""
    fits = [(1, 2), (2, 1), (1, 2), (2, 1), (1, 1)]
    profiles = [lambda h, w, fit=fit: 1.0 if (h, w) == fit else INF for fit in fits]
    with pytest.raises(hs.InfeasibleError, match='method "best" found no zones that fit profiles'):
        hs.partition_profile((3, 3), profiles)
    rects = [(0, 0, 1, 2), (0, 2, 2, 1), (2, 1, 1, 2), (1, 0, 2, 1), (1, 1, 1, 1)]
    plan = hs.partition_profile((3, 3), profiles, rects=rects)
    validate(plan)
    assert (plan.method, plan.makespan, plan.optimal) == ("given", 1.0, True)


# ---- relations ----


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 12), st.integers(1, 12))
def test_constant_speeds(times, m, n):
    """Never below the best distribution of the cells, and never above the plan that `partition`
    makes for the same speeds."""
    plan = hs.partition_profile((m, n), times)
    cells = hs.distribute(m * n, times)
    assert plan.makespan >= plan.lower_bound >= cells.makespan
    if m * n >= len(times):
        zones = hs.partition(cycle_times=times, shape=(m, n), method="columns")
        assert plan.makespan <= (zones.load * times).max()
        same = hs.partition_profile((m, n), times, rects=zones.rects)
        assert same.makespan == (zones.load * times).max()
        assert same.lower_bound <= plan.makespan


@given(st.data())
def test_scaled_permuted_and_transposed(data):
    m, n, p = (data.draw(st.integers(1, most)) for most in (7, 7, 4))
    values = st.one_of(st.integers(1, 20), st.just(INF))
    table = np.array(data.draw(st.lists(values, min_size=p * m * n, max_size=p * m * n)), float)
    table = table.reshape(p, m, n)
    try:
        plan = hs.partition_profile((m, n), as_profiles(table))
    except hs.InfeasibleError:
        plan = None
    order = data.draw(st.permutations(range(p)))
    for other, shape, factor in (
        (4.0 * table, (m, n), 4.0),
        (table[order], (m, n), 1.0),
        (table.transpose(0, 2, 1), (n, m), 1.0),
        (np.concatenate((table, np.full((1, m, n), INF))), (m, n), 1.0),
    ):
        if plan is None:
            with pytest.raises(hs.InfeasibleError):
                hs.partition_profile(shape, as_profiles(other))
            continue
        found = hs.partition_profile(shape, as_profiles(other))
        assert found.makespan == factor * plan.makespan
        assert found.half_perimeters == plan.half_perimeters


def test_many_workers():
    rng = np.random.default_rng(3)
    times = rng.integers(1, 10, 20).astype(float)
    plan = hs.partition_profile((40, 30), times)
    validate(plan)
    assert plan.method in ("columns", "rows")
    assert plan.gap < 0.1
    assert plan == hs.partition_profile((40, 30), times)
    other = hs.partition_profile((40, 30), times, seed=5)
    assert max(plan.lower_bound, other.lower_bound) <= min(plan.makespan, other.makespan)
    quick = hs.partition_profile((40, 30), times, budget=0.0)
    assert quick.lower_bound == plan.lower_bound


# ---- profiles ----


def test_device_with_limited_memory():
    """A device four times as fast as a core, which holds 40 of 80 cells."""
    free = hs.partition_profile((8, 10), [1, 4, 4])
    held = hs.partition_profile((8, 10), [1, 4, 4], memory=[40, None, None])
    assert (free.makespan, free.load.tolist()) == (56.0, [56, 12, 12])
    assert (held.makespan, held.load.tolist()) == (80.0, [40, 20, 20])
    assert held.optimal
    naive = hs.partition([1, 0.25, 0.25], shape=(8, 10), method="columns")
    with pytest.raises(hs.InfeasibleError, match=r"rects\[0\] of .* does not fit profiles\[0\]"):
        hs.partition_profile((8, 10), [1, 4, 4], memory=[40, None, None], rects=naive.rects)


def test_costs_of_rows_and_columns():
    """One worker pays for each row of its zone, the other for each column: halves are not best."""
    profiles = [lambda h, w: h * w + 5.0 * h, lambda h, w: h * w + 5.0 * w]
    plan = hs.partition_profile((6, 6), profiles)
    assert plan.optimal
    assert plan.rects[:, 2:].tolist() == [[4, 6], [2, 6]]
    assert plan.times.tolist() == [4 * 6 + 5 * 4, 2 * 6 + 5 * 6]
    for rects in ([(0, 0, 3, 6), (3, 0, 3, 6)], [(0, 0, 6, 3), (0, 3, 6, 3)]):
        assert hs.partition_profile((6, 6), profiles, rects=rects).makespan == 48.0


def test_points():
    points = ([2, 6], [1, 5], [[4.0, 12.0], [10.0, 50.0]])
    one = hs.partition_profile((6, 5), [points])
    assert one.makespan == 50.0
    middle = hs.partition_profile((4, 3), [points]).makespan
    assert middle == (4 + 12 + 10 + 50) / 4
    beyond = hs.partition_profile((12, 10), [points]).makespan
    assert beyond == 200.0  # the speed at 6 x 5
    below = hs.partition_profile((1, 1), [points]).makespan
    assert below == 2.0
    holed = ([2, 6], [1, 5], [[4.0, 12.0], [10.0, INF]])
    with pytest.raises(hs.InfeasibleError, match="has 12 cells, and the largest zones"):
        hs.partition_profile((4, 3), [holed])
    assert hs.partition_profile((6, 1), [holed]).makespan == 10.0


def test_functions():
    calls = []

    def for_arrays(h, w):
        calls.append(np.shape(h))
        return 2.0 * h * w

    def for_numbers(h, w):
        return 2.0 * h * w if h * w < 30 else INF

    assert hs.partition_profile((3, 4), [for_arrays]).makespan == 24.0
    assert calls == [(3, 4)]
    assert hs.partition_profile((3, 4), [for_numbers]).makespan == 24.0
    with pytest.raises(hs.InfeasibleError):
        hs.partition_profile((6, 5), [for_numbers])


def test_platform():
    platform = hs.Platform.star([1.0, 2.0], names=["fast", "slow"])
    plan = hs.partition_profile((3, 4), platform)
    assert plan.names == ("fast", "slow")
    assert plan.load.tolist() == [8, 4]
    assert plan.on(hs.Platform.star([1.0, 4.0])).makespan == 16.0


@pytest.mark.parametrize(
    ("shape", "profiles", "options", "error", "message"),
    [
        ((0, 3), [1], {}, ValueError, r"shape\[0\]"),
        (3, [1], {}, TypeError, "shape must be a pair"),
        ((2, 2), [], {}, ValueError, "profiles is empty"),
        ((2, 2), 5, {}, TypeError, "profiles must be a sequence"),
        ((2**12, 2**12 + 1), [1], {}, ValueError, r"more than 2\*\*24 times"),
        ((2, 2), [0.0], {}, ValueError, r"profiles\[0\]: the time of 1"),
        ((2, 2), [1, math.nan], {}, ValueError, r"profiles\[1\]"),
        ((2, 2), [[1, 2, 3]], {}, ValueError, r"profiles\[0\] must be a number, a 2-D table"),
        ((2, 2), [[[0, 0], [0, -1]]], {}, ValueError, r"profiles\[0\]: the time of 1 x 1 cells"),
        ((2, 2), ["a"], {}, TypeError, r"profiles\[0\]"),
        ((2, 2), [([1], [1, 2], [[1.0]])], {}, ValueError, r"times must have shape \(1, 2\)"),
        ((2, 2), [([2, 1], [1], [[1.0], [1.0]])], {}, ValueError, "heights must be finite"),
        ((2, 2), [([1], [0], [[1.0]])], {}, ValueError, "widths must be finite"),
        ((2, 2), [([1], [1], [[math.nan]])], {}, ValueError, "times must be positive"),
        ((2, 2), [lambda h, w: "x"], {}, TypeError, r"profiles\[0\] must return real numbers"),
        ((2, 2), [lambda h, w: h - 1], {}, ValueError, r"profiles\[0\]: the time of 1 x 1"),
        ((2, 2), [1], {"method": "interval"}, ValueError, "method"),
        ((2, 2), [1], {"memory": [1, 2]}, ValueError, "memory"),
        ((2, 2), [1], {"memory": 3}, hs.InfeasibleError, "has 4 cells, and the largest zones"),
        ((2, 2), [1], {"seed": -1}, ValueError, "seed"),
        ((2, 2), [1], {"budget": -1.0}, ValueError, "budget"),
        ((2, 2), [1], {"rects": [[0, 0, 2, 1]]}, ValueError, "rects must cover all of shape"),
        ((2, 2), [1], {"rects": [[0, 0, 3, 2]]}, ValueError, r"rects\[0\] must lie inside"),
        ((2, 2), [1], {"rects": [[0, 0, 2]]}, ValueError, r"rects must have shape \(1, 4\)"),
        (
            (2, 2),
            [1, 1],
            {"rects": [[0, 0, 2, 1], [0, 0, 1, 2]]},
            ValueError,
            "rects must not overlap",
        ),
        (
            (2, 2),
            [1],
            {"rects": [[0, 0, 2, 2]], "method": "rows"},
            ValueError,
            "rects must be given without method",
        ),
        ((200, 200), [1] * 9, {"method": "guillotine"}, hs.InfeasibleError, "too large for method"),
    ],
)
def test_refusals(shape, profiles, options, error, message):
    with pytest.raises(error, match=message):
        hs.partition_profile(shape, profiles, **options)


# ---- products ----


def test_product():
    """The zones of the partition, each worker with the time that its profile says."""
    profiles = [lambda h, w: 1e-3 * (h * w + 4 * h), 2e-3, lambda h, w: 5e-3 * h * w + 0.001]
    zones = hs.partition_profile((8, 10), profiles)
    plan = hs.plan_matmul(75, 98, 40, profiles=profiles, block=10)
    validate(plan)
    assert plan.shape == (75, 98, 40)
    assert plan.makespan == pytest.approx(zones.makespan, rel=1e-12)
    assert plan.lower_bound == pytest.approx(zones.lower_bound, rel=1e-12)
    assert plan.optimal
    assert plan.scope == "one zone for each worker"
    assert plan.boxes[:, 0].tolist() == zones.pieces[:, 0].tolist()
    trace = hs.simulate(plan)
    ends = [event.end for event in trace.events if event.kind == "compute"]
    assert sorted(ends) == pytest.approx(sorted(zones.times[zones.times > 0]))
    shapes = hs.plan_matmul((75, 40), (40, 98), profiles=profiles, block=10)
    assert shapes == plan


def test_product_with_links():
    platform = hs.Platform.star([1.0, 1.0], [0.5, 0.25], names=["near", "far"])
    alone = hs.plan_matmul(80, 60, 50, profiles=[1e-3, 2e-3], block=10)
    plan = hs.plan_matmul(80, 60, 50, platform, profiles=[1e-3, 2e-3], block=10)
    validate(plan)
    assert plan.names == ("near", "far")
    assert plan.makespan > alone.makespan
    assert plan.lower_bound == alone.lower_bound
    assert plan.scope == ""


def test_product_of_a_worker_without_a_zone():
    plan = hs.plan_matmul(20, 20, 20, profiles=[1.0, [[1.0]]], block=10)
    validate(plan)
    assert plan.flops.tolist() == [16000.0, 0.0]
    assert plan.makespan == pytest.approx(4.0)


def test_product_of_a_part_of_a_block():
    """Sides that are no multiples of the block, of which one has a single block."""
    plan = hs.plan_matmul(1, 6, 3, profiles=[3, 5], block=2)
    validate(plan)
    assert plan.makespan == pytest.approx(6.0)
    assert sorted(plan.boxes[:, 5].tolist()) == [2, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k"),
        ({"method": "layers"}, "method"),
        ({"communication": "parallel"}, "communication"),
        ({"platform": hs.Platform.star([1.0])}, "platform has 1"),
        ({"platform": hs.Platform.star([1.0, 2.0], memory=[5, 5])}, "no memory limits"),
        (
            {"platform": hs.Platform.complete([1.0, 2.0], np.ones((2, 2)) - np.eye(2))},
            "platform must be a star",
        ),
    ],
)
def test_product_refusals(options, message):
    sizes = {"m": 20, "n": 20, "k": 20}
    with pytest.raises(ValueError, match=message):
        hs.plan_matmul(**sizes | options, profiles=[1.0, 2.0], block=10)


def test_runs():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((75, 40)), rng.standard_normal((40, 98))
    profiles = [1e-3, lambda h, w: 2e-3 * h * w + 1e-3 * h]
    plan = hs.plan_matmul(75, 98, 40, profiles=profiles, block=10)
    zones = hs.partition_profile((8, 10), profiles)
    with hs.Pool(2) as pool:
        assert np.allclose(pool.run(plan, a, b), a @ b)
        result, trace = pool.run(zones, a, b, trace=True)
        assert np.allclose(result, a @ b)
        assert trace.predicted == pytest.approx(zones.makespan)
        with pytest.raises(ValueError, match=r"plan has shape \(8, 10\)"):
            pool.run(zones, a[:60], b)


def test_an_emulated_pool_of_the_plan_keeps_the_times_of_the_profiles():
    """The platform of the plan's cycle-times paces each worker as its profile says."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((60, 40)), rng.standard_normal((40, 60))
    profiles = [lambda h, w: 1e-3 * (h * w + 6), 4e-3]
    plan = hs.plan_matmul(60, 60, 40, profiles=profiles, block=10)
    platform = hs.Platform.star(plan.cycle_times, unit=hs.Unit.gigaflop())
    with hs.Pool(platform, emulate=True) as pool:
        result, trace = pool.run(plan, a, b, trace=True)
    assert np.allclose(result, a @ b)
    assert trace.makespan >= 0.99 * plan.makespan


def test_measured():
    profiles = hs.measure_zones(48, 64, 300, block=16, points=3, seconds=0.01)
    assert len(profiles) == hs.topology().worth
    for heights, widths, times in profiles:
        assert heights.tolist() == [1, 2, 3]
        assert widths.tolist() == [1, 2, 4]
        assert times.shape == (3, 3)
        assert (times > 0).all()
    plan = hs.plan_matmul(48, 64, 300, profiles=profiles, block=16)
    validate(plan)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((48, 300)), rng.standard_normal((300, 64))
    with hs.Pool(len(profiles)) as pool:
        assert np.allclose(pool.run(plan, a, b), a @ b)
    for options, name in (({"m": 0}, "m"), ({"block": 5000}, "block"), ({"points": 1}, "points")):
        with pytest.raises(ValueError, match=name):
            hs.measure_zones(**{"m": 8, "n": 8, "k": 8} | options)


@pytest.mark.parametrize("method", ["rows", "columns"])
def test_long_matrices_of_constant_speeds(method):
    """Zones of full width, or height, are shares of a line."""
    times = [1, 2, 5]
    expected = hs.distribute(20_000, cycle_times=times)
    shape = (20_000, 1) if method == "rows" else (1, 20_000)
    plan = hs.partition_profile(shape, times, method=method)
    assert plan.makespan == expected.makespan
    assert (plan.rects[:, 2] * plan.rects[:, 3] * times).max() == expected.makespan
    validate(plan)
