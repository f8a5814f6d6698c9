"""The certificates of the C library say what the plans of Python say: value, bound, and whether the
plan is optimal."""

from __future__ import annotations

import numpy as np
import pytest

import hetsched as hs
from hetsched._engine import _hetsched

ffi, lib = _hetsched.ffi, _hetsched.lib


def of(function, *given):
    """The certificate that a function fills in."""
    found = ffi.new("hs_certificate *")
    assert function(*given, found) == lib.HS_OK
    assert found.sense == lib.HS_MINIMISED
    return found


def view(kind, array):
    return ffi.from_buffer(f"{kind}[]", np.ascontiguousarray(array))


def agrees(found, value, plan, rel=1e-12):
    assert found.value == pytest.approx(value, rel=rel)
    assert found.bound == pytest.approx(plan.lower_bound, rel=1e-9)
    assert found.gap == pytest.approx(plan.gap, rel=1e-6, abs=1e-11)
    assert bool(found.optimal) == plan.optimal or plan.scope


@pytest.fixture
def rng():
    return np.random.default_rng(17)


@pytest.mark.parametrize(
    ("sense", "value", "bound"),
    [("min", 18, 17), ("max", 17, 18), ("max", 5, 5), ("max", 0, 3), ("min", 3, 0)],
)
def test_the_gap_is_over_the_bound(sense, value, bound):
    found = ffi.new("hs_certificate *")
    code = {"min": lib.HS_MINIMISED, "max": lib.HS_MAXIMISED}[sense]
    assert lib.hs_certificate_of(b"tasks", code, value, bound, found) == lib.HS_OK

    class Told:
        gap = hs.Plan.gap

    told = Told()
    told.value, told.bound = float(value), float(bound)
    assert found.gap == told.gap


@pytest.mark.parametrize("p", [1, 2, 3, 7, 40])
def test_distribute(p, rng):
    for _ in range(10):
        t = rng.uniform(1, 9, p)
        plan = hs.distribute(1000, t)
        found = of(
            lib.hs_distribute_certificate,
            1000,
            p,
            view("double", t),
            view("int64_t", plan.counts),
            ffi.NULL,
        )
        agrees(found, plan.makespan, plan)
        assert found.optimal


@pytest.mark.parametrize("p", [1, 2, 3, 7])
def test_profiles(p, rng):
    for _ in range(10):
        times = rng.uniform(0.1, 9, (p, 31))
        plan = hs.distribute_profile(30, times)
        found = of(
            lib.hs_profile_certificate,
            30,
            p,
            view("double", times.reshape(-1)),
            view("int64_t", plan.counts),
            ffi.NULL,
        )
        agrees(found, plan.makespan, plan)
        first = np.array([30] + [0] * (p - 1))
        found = of(
            lib.hs_profile_certificate,
            30,
            p,
            view("double", times.reshape(-1)),
            view("int64_t", first),
            ffi.NULL,
        )
        assert found.value == times[0, 30]
        assert found.bound == plan.makespan
    for wrong in ([31] + [0] * (p - 1), [-1] * p, [29] + [0] * (p - 1)):
        given = (
            view("double", times.reshape(-1)),
            view("int64_t", np.array(wrong)),
            ffi.NULL,
            ffi.new("hs_certificate *"),
        )
        assert lib.hs_profile_certificate(30, p, *given) == lib.HS_ERROR_VALUE


@pytest.mark.parametrize("p", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_patterns(n, p, rng):
    for method in ("pattern", "cyclic", "contiguous", "random"):
        t = rng.uniform(1, 9, p)
        owner = rng.integers(0, p, n)
        plan = (
            hs.lu_pattern(n, t, owner=owner)
            if method == "random"
            else hs.lu_pattern(n, t, method=method)
        )
        found = of(
            lib.hs_pattern_certificate,
            n,
            p,
            view("double", t),
            view("int32_t", plan.owner),
            ffi.NULL,
        )
        agrees(found, plan.cost, plan)
        loads = [
            max(t[i] * (plan.owner[k + 1 :] == i).sum() for i in range(p)) for k in range(n - 1)
        ]
        assert found.value == pytest.approx(sum(loads), rel=1e-12)
    for wrong in (-1, p):
        given = (
            view("double", t),
            view("int32_t", np.full(n, wrong, np.int32)),
            ffi.NULL,
            ffi.new("hs_certificate *"),
        )
        assert lib.hs_pattern_certificate(n, p, *given) == lib.HS_ERROR_VALUE


@pytest.mark.parametrize("p", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["guillotine", "columns", "recursive"])
def test_partition(p, weighted, method, rng):
    for _ in range(20):
        s = 10.0 ** rng.uniform(-2, 1, p)
        c = np.round(rng.uniform(1, 3, p), 1 if rng.integers(2) else 0) if weighted else np.ones(p)
        plan = hs.partition(areas=s, method=method, link_costs=c)
        floorplan = np.array(plan.floorplan, np.int32)
        words = (
            view("double", s),
            view("double", c),
            1.0,
            view("int32_t", floorplan),
            len(floorplan),
        )
        agrees(of(lib.hs_floorplan_certificate, p, *words), plan.cost, plan, rel=1e-9)


@pytest.mark.parametrize("p", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("method", ["guillotine", "snrpp", "contiguous"])
def test_zones(p, method, rng):
    for _ in range(20):
        m, n = (int(side) for side in rng.integers(5, 60, 2))
        plan = hs.partition(areas=rng.uniform(1, 9, p), method=method, shape=(m, n))
        workers, rects = plan.pieces[:, 0].astype(np.int32), plan.pieces[:, 1:].astype(np.int64)
        c = view("double", plan.link_costs)
        pieces = len(workers), view("int32_t", workers), view("int64_t", rects.reshape(-1))
        agrees(of(lib.hs_zones_certificate, m, n, p, c, *pieces), plan.cost, plan)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 9])
def test_cuboids(p, rng):
    for faces in [
        (1, 1, 1),
        (1, 2, 0.1),
        (0, 1, 1),
        (3, 0, 0),
        *rng.uniform(0, 1, (6, 3)).tolist(),
    ]:
        volumes = 10.0 ** rng.uniform(-2, 1, p)
        plan = hs.cuboids(volumes, faces[2], alpha=faces[0], beta=faces[1], method="guillotine")
        tree, length, cost = ffi.new("int32_t[]", 2 * p), ffi.new("int32_t *"), ffi.new("double *")
        v, f = view("double", volumes), view("double", np.array(faces, float))
        assert lib.hs_partition_cuboids_exact(p, v, f, 7, ffi.NULL, tree, length, cost) == lib.HS_OK
        agrees(of(lib.hs_cuboids_certificate, p, v, f, tree, length[0]), plan.cost, plan, rel=1e-9)


@pytest.mark.parametrize("p", [1, 2, 5])
@pytest.mark.parametrize("shape", [(100, 100), (90, 140), (140, 90)])
@pytest.mark.parametrize("panels", [False, True])
def test_lu(p, shape, panels, rng):
    t = rng.uniform(1, 5, p)
    own = rng.uniform(1, 20, p) if panels else None
    plan = hs.plan_lu(*shape, t, owner="cyclic", block=10, panel_times=own)
    seconds = 2e-9  # a multiply-add is two flops, times are per gigaflop
    costs = ffi.NULL
    if own is not None:
        held = view("double", own * seconds)
        costs = ffi.new("hs_factor_costs *", (held, ffi.NULL, 0))
    found = of(
        lib.hs_factor_certificate,
        lib.HS_LU,
        *shape,
        10,
        p,
        view("double", t * seconds),
        view("int32_t", plan.owner.ravel()),
        plan.owner.ndim == 2,
        costs,
        ffi.NULL,
    )
    agrees(found, plan.makespan, plan, rel=1e-9)


@pytest.mark.parametrize("method", ["1d1d", "cyclic"])
def test_lu_grid(method, rng):
    t = rng.uniform(1, 5, 4)
    plan = hs.lu_grid(20, t, method)
    found = of(
        lib.hs_lu_grid_certificate,
        20,
        4,
        view("double", t),
        0.0,
        view("int32_t", plan.owner.reshape(-1)),
        ffi.NULL,
    )
    agrees(found, plan.makespan, plan)


def test_wavefront(rng):
    t = rng.uniform(1, 5, 4)
    plan = hs.wavefront(30, 40, t)
    found = of(
        lib.hs_wavefront_certificate,
        30,
        40,
        4,
        view("double", t),
        view("int32_t", plan.owner),
        0,
        lib.HS_ROW_WISE,
        ffi.NULL,
    )
    agrees(found, plan.makespan, plan)
