"""All planners on random inputs, judged by validators and relations; and plans that are damaged,
which must not pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from inputs import many
from instances import INSTANCES, forged
from metamorphic import CALLS, agree, check, follows, in_order, unchanged
from validators import VALIDATORS, validate

import hetsched as hs
from hetsched.plan import Plan
from hetsched.planners.product_methods import plan_boxes
from hetsched.planners.stencil import Members, plan_stencil

#: Random inputs of each planner, fewer of the slow ones.
COUNTS = dict.fromkeys(INSTANCES, many(20, 6)) | {
    "min_time": 6,
    "layers_mesh": 6,
    "layers_network": 6,
    "divisible_load": many(10, 6),
}


def planned(call: str, seed: int) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """A random call and its result, None where there is no plan."""
    args, options = INSTANCES[call](np.random.default_rng([seed, *call.encode()]))
    try:
        return args, options, CALLS[call].run(*args, **options)
    except hs.InfeasibleError:
        return args, options, None
    except ValueError as error:
        if call in ("layers_mesh", "layers_network") and "are too far apart" in str(error):
            return args, options, None
        raise


@pytest.mark.parametrize("call", INSTANCES)
def test_random_plans_pass(call):
    if call.startswith("layers_") and call != "layers_star":
        pytest.importorskip("highspy")
    found = 0
    for seed in range(COUNTS[call]):
        args, options, plan = planned(call, seed)
        if plan is not None:
            validate(plan)
            check(call, args, options, plan)
            found += 1
    assert found > COUNTS[call] / 2


@pytest.mark.parametrize("seed", range(12))
def test_recuts_pass(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 7))
    shape = None if seed % 2 else (p + 3, 9)
    old = hs.partition(
        rng.uniform(0.5, 2, p), shape=shape, link_costs=None if seed % 3 else rng.uniform(0.5, 2, p)
    )
    validate(old.recut(rng.uniform(0.5, 2, p)))
    same = old.recut(old.areas)
    validate(same)
    assert same.moved <= 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_plans_of_files_pass(seed):
    rng = np.random.default_rng(seed)
    m, n, k = (int(rng.choice([0, 1, 2, 50, 300, 1000])) for _ in range(3))
    dtypes = ["float32", "float64", "complex64", "complex128"]
    a, b = np.zeros((m, k), rng.choice(dtypes)), np.zeros((k, n), rng.choice(dtypes))
    kind = np.result_type(a, b)
    out = np.zeros((m, n), kind)
    bounds = []
    for memory in (2**24, 2**25, 2**30):
        plan = hs.plan_files(a, b, out, memory=memory)
        validate(plan)
        assert plan.shape == (m, n, k)
        bounds.append(plan.bound)
    assert bounds == sorted(bounds, reverse=True)


# ---- every type has a judge ----------------------------------------------------------------------


def _all_subclasses(kind: type) -> set[type]:
    return {kind} | {deeper for sub in kind.__subclasses__() for deeper in _all_subclasses(sub)}


def test_every_plan_has_a_validator():
    for name in hs.__all__:
        getattr(hs, name)
    kinds = {kind for kind in _all_subclasses(Plan) if kind.__module__.startswith("hetsched.")}
    plans = {kind for kind in kinds - {Plan} if not kind.__name__.startswith("_")}
    assert plans - VALIDATORS.keys() == set()
    others = {hs.Assignment, hs.Recut, hs.RingProfile}
    assert VALIDATORS.keys() - plans == others


def test_every_planner_has_relations():
    assert INSTANCES.keys() == CALLS.keys()
    run = {rules.run for rules in CALLS.values()} | {hs.plan_files, hs.compare_partitions}
    named = [getattr(hs, name) for name in hs.__all__]
    wrong = {
        hs.measure,
        hs.measure_zones,
        hs.topology,
        hs.simulate,
        hs.replan,
        hs.matmul,
        hs.matmul_files,
        hs.map_tasks,
        hs.asarray,
    }
    wrong |= {
        hs.det,
        hs.gram,
        hs.slogdet,
        hs.solve,
        hs.inv,
        hs.lu_factor,
        hs.lu_solve,
        hs.cholesky,
        hs.cho_factor,
        hs.cho_solve,
    }
    wrong |= {hs.eigh, hs.eigvalsh, hs.svd, hs.svdvals, hs.pinv}
    wrong |= {hs.matrix_rank, hs.cond, hs.orth, hs.norm, hs.null_space}
    wrong |= {hs.solve_triangular, hs.qr, hs.lstsq, hs.thread_limit, hs.coverage, hs.study}
    planners = {f for f in named if callable(f) and not isinstance(f, type)} - wrong
    assert planners - run == set()


# ---- what must not pass --------------------------------------------------------------------------


@cache
def samples() -> dict[type, Any]:
    """A plan of each type, none of them trivial."""
    zeros = np.zeros((300, 400))
    platform = hs.Platform.star([2.0, 3.0], [1.0, 2.0], [12, 21])
    links = [[0.0, 2.0, 4.0], [1.0, 0.0, 2.0], [3.0, 1.0, 0.0]]
    members = Members(np.array([1.0, 2.0]), np.array([[0.0, 0.5], [0.25, 0.0]]), ("a", "b"))
    old = hs.partition([3, 2, 1, 1])
    plans = [
        hs.assign([[4, 1, 3], [2, 0, 5], [3, 2, 2]]),
        hs.cuboids([3, 2, 2, 1, 5], gamma=0.5),
        hs.distribute(79, [3, 5, 8]),
        hs.distribute([[79], [17]], np.array([[[3, 5, 8.0]], [[8, 4, 3.0]]])),
        hs.divisible_load(100, [2, 3, 4], [0.2, 0.5, 0.3], return_ratio=0.5),
        hs.dynamic_product(9, [2, 3, 4], beta=2.0),
        hs.plan_files(zeros, zeros.T.copy(), np.zeros((300, 300)), memory=2**24),
        hs.layers_star(100, [2e-4, 3e-4, 5e-4, 7e-4], [3e-4, 8e-4, 5e-4, 4e-4], "sccs"),
        hs.lu_grid(6, [1.0, 1.5, 2.0], link_cost=0.1),
        hs.lu_pattern(12, [3, 5, 8], period=5),
        hs.plan_reduction(20, [3, 5, 8], block=3),
        hs.plan_lu(100, 100, [3, 5, 8], block=12, link_costs=0.5),
        hs.max_tasks(30, [5, 9, 7], send=1, receive=0.5, method="fastest"),
        hs.min_time(9, [5, 9, 7], send=1, receive=0.5),
        hs.partition([5, 3, 2, 1, 1]),
        plan_boxes(60, 50, 40, hs.Platform.star([1.0, 2.0], [0.1, 0.2]), method="layers"),
        hs.distribute_profile(30, [([1, 10, 60], [8, 10, 30]), 3, 4]),
        hs.partition_profile((6, 7), [([1, 6], [1, 7], [[2, 9], [9, 30]]), 3, 4, 4]),
        old.recut([3, 2, 1, 2]),
        hs.redistribute([5, 1, 3], [2, 4, 3], links, volume=0.5),
        hs.ring_profile([1.0, 1.5, 2.0], links),
        hs.slice_ring([1.0, 1.5, 2.0], links, 100.0, 1.0),
        hs.plan_product(4, 8, 3, platform, "het"),
        hs.plan_star_lu(6, platform, "oddoml", width=2),
        plan_stencil(50, 41, 5, members, 8),
        hs.wavefront(6, 7, [3, 5, 8]),
        hs.workers_worth(1000, 1000, 1000, hs.Platform.star([0.02, 0.03, 0.5]), quota=1e9),
    ]
    if _highspy():
        mesh = [[4e-4, 3e-4], [2e-4, 5e-4]], [[3e-4], [8e-4]], [[5e-4, 4e-4]]
        plans += [hs.layers_mesh(100, *mesh), hs.layers_mesh(100, *mesh, installments=2)]
    return {type(plan): plan for plan in plans}


def _highspy() -> bool:
    from importlib.util import find_spec

    return find_spec("highspy") is not None


KINDS = [pytest.param(kind, id=kind.__name__) for kind in VALIDATORS]
#: What a damage of one part in a million, or of one, may leave consistent: inputs that do not bind,
#: and bounds that hold still.
FREE = {
    hs.Cuboids: {"bound", "cycle_times"},
    hs.DynamicProduct: {"seed"},
    hs.FilesPlan: {"depth", "memory", "names", "peak", "pieces"},
    hs.LayersPlan: {"bound", "memory"},
    hs.FactorPlan: {"bound"},
    hs.ReductionPlan: {"bound"},
    hs.MaxTasks: {"cycle_times", "T", "bound"},
    hs.MeshPlan: {
        "cycle_times",
        "iterations",
        "link_costs",
        "bound",
        "disk",
        "lp_solves",
        "memory",
        "planning_time",
        "source_computes",
    },
    hs.InstallmentPlan: {
        "cycle_times",
        "disk",
        "iterations",
        "link_costs",
        "bound",
        "lp_solves",
        "memory",
        "planning_time",
        "source_computes",
    },
    hs.MinTime: {"cycle_times"},
    hs.Partition: {"cycle_times", "group_cost"},
    hs.ProductPlan: {"itemsize", "shared", "tried"},
    hs.ProfileDistribution: {"counts", "times"},
    hs.ProfilePartition: {"bound", "times"},
    hs.Redistribution: {"bound", "links", "next_first", "one_way", "rotate"},
    hs.RingProfile: {"volume"},
    hs.SliceRing: {"duplex", "relays"},
    hs.StarLuPlan: {"bound", "memory", "planning_time"},
    hs.StarPlan: {"chunks.buffers", "memory", "mu", "planning_time"},
    hs.StencilPlan: {"cycle_times", "links", "bound"},
    hs.Wavefront: {"cycle_times", "bound", "redistributed"},
    hs.WorkersWorth: {"cycle_times", "quota", "times"},
}


def sample(kind: type) -> Any:
    if kind not in samples():
        pytest.importorskip("highspy")
    return samples()[kind]


def damaged(plan: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Other contents of a field that are a little wrong, in several ways, each with a word for
    it."""
    value = getattr(plan, name)
    wrong: list[tuple[str, Any]] = []
    if isinstance(value, bool):
        wrong = [(name, not value)]
    elif isinstance(value, int):
        wrong = [(name, value + 1)]
    elif isinstance(value, float):
        wrong = [(name, value * (1 + 1e-6) if value else 1.0), (f"NaN for {name}", math.nan)]
    elif (
        isinstance(value, np.ndarray)
        and value.dtype.names is None
        and value.size
        and value.dtype.kind in "if"
    ):
        # of a table of links the corners are not read
        for at in (0, value.size - 1) if value.ndim == 1 else (1, value.size - 2):
            other = value.copy()
            old = other.flat[at]
            other.flat[at] = (
                old + 1 if value.dtype.kind == "i" else old * (1 + 1e-6) if old else 0.5
            )
            other.setflags(write=False)
            wrong.append((name, other))
        if not isinstance(plan, Plan):  # which takes a copy
            wrong.append((f"writeable {name}", value.copy()))
    elif isinstance(value, np.ndarray) and value.dtype.names and value.size:
        for inner in value.dtype.names:
            other = value.copy()
            other[inner][len(other) // 2] += 1
            other.setflags(write=False)
            wrong.append((f"{name}.{inner}", other))
    elif isinstance(value, tuple) and name == "names":
        wrong = [(name, value[:-1]), (name, (*value, "one more"))]
    for what, content in wrong:
        yield what, {name: content}


def rejected(plan: Any, changes: dict[str, Any]) -> bool:
    """Whether the plan with these changes cannot be made, or the judge says in words what is wrong
    with it."""
    try:
        validate(replace(plan, **changes))
    except AssertionError as error:
        return bool(str(error))
    except (IndexError, ValueError, KeyError):  # broken so far that nobody can make it, or read it
        return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_the_samples_pass(kind):
    validate(sample(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_damage_does_not_pass(kind):
    plan = sample(kind)
    assert is_dataclass(plan)
    with np.errstate(all="ignore"):
        passed = {
            what
            for field in fields(plan)
            for what, bad in damaged(plan, field.name)
            if not rejected(plan, bad)
        }
    assert passed <= FREE.get(kind, set())


@pytest.mark.parametrize("kind", [kind for kind in VALIDATORS if issubclass(kind, Plan)])
def test_false_claims_do_not_pass(kind):
    plan = sample(kind)
    value = "makespan" if kind is hs.DistributionStack else plan._value
    false = plan.value * (1 + 1e-9) + 1e-300 if plan.sense == "min" else plan.value - 1
    for bound in (false, math.inf, -1.0):
        assert rejected(plan, {"bound": bound})
    assert rejected(plan, {"optimal": not plan.optimal})
    if kind not in (hs.DistributionStack, hs.MaxTasks, hs.FilesPlan):
        assert rejected(plan, {value: math.inf})


def test_relations_can_fail():
    """What `check` compares: a plan of other content, of another factor, and bounds and optima that
    contradict each other."""
    plan = hs.lu_pattern(12, [3, 5, 8], method="cyclic")
    best = hs.lu_pattern(12, [3, 5, 8])
    with pytest.raises(AssertionError, match="method was"):
        unchanged(plan, best, "the same call")
    with pytest.raises(AssertionError, match="scaled by 2"):
        follows(plan, plan, 2.0, free=False)
    with pytest.raises(AssertionError, match="the bound"):
        agree(replace(plan, bound=plan.cost), best, "methods")
    with pytest.raises(AssertionError, match="certificate|and"):
        agree(forged(plan, optimal=True), best, "methods")
    with pytest.raises(AssertionError, match="counts"):
        check("distribute", (79, [3, 5, 8]), {}, hs.distribute(78, [3, 5, 8]))
    given = {"n": 5, "cycle_times": [1.0, 2.0], "link_costs": [0.5, 1.0]}
    layers = hs.layers_star(**given)
    slow = forged(layers, makespan=layers.makespan * 1.5, compute=layers.compute * 1.5)
    with pytest.raises(AssertionError, match="'best' finds"):
        in_order("layers_star", given, {"best": slow, "exact": layers})
    many = hs.max_tasks(28, [5, 9], send=1)
    with pytest.raises(AssertionError, match="above the upper bound"):
        agree(many, forged(many, bound=many.tasks - 1), "again")
    found = hs.assign([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    with pytest.raises(AssertionError, match="costs 5 and 6"):
        agree(found, replace(found, cost=6), "again")
