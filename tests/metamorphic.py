"""Relations between the plans of related inputs: what must hold though nobody knows the best plan.

`check` calls the planner again: as before, with all times scaled by 2^k, with the workers in another order, with a worker who is
of no use, and by the other methods. It compares what the plans claim of each other: a bound holds for every plan of the same
problem, two optima are equal, and so are two plans that are the best of the same class.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from validators import validate

import hetsched as hs
from hetsched.plan import Plan
from hetsched.planners.product_methods import plan_boxes
from hetsched.planners.stencil import Members, plan_stencil

EXACT, CLOSE, SOLVED = 1e-12, 1e-9, 1e-6
MOST_WORKERS, LONGEST, SECONDS = 24, 0.1, 0.6  # of a call that is repeated; of all of them
LEAST_TIME, MOST_TIME = 1e-60, 1e60  # between these a power of two more or less is exact
DEAR = 2.0**60  # times the longest of all: who is so slow, or so far, is of no use
#: Classes of plans that depend on the order of the workers, the last three where some are equal: of these the first comes first.
IN_ORDER = {
    "plans with messages in this order", "layers", "sorted panels of any period, ties by index",
    "guillotine partitions of the list sorted by area",
    "guillotine partitions of the list of each group and of the groups sorted by area",
}  # fmt: skip
UNTIMED = {"planning_time", "lp_solves", "iterations"}

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A planner, and what its arguments mean.

    times: scaled together, the value follows (or, with `free`, does not); rates: scaled the other way. workers: arguments with an
    entry, or a row and a column, for each worker. useless: the entries of a worker of no use; two sets of them with a Platform.
    ranking: methods, each no worse than the next ones; `rank` says in what. others: methods without a rank.
    """

    run: Callable[..., Any]
    times: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    useless: dict[str, float] = field(default_factory=dict)
    rankings: tuple[tuple[str, ...], ...] = ()
    others: tuple[str, ...] = ()
    selector: str = "method"
    rank: str = "value"
    honours: Callable[[Arguments, Any], None] = lambda given, plan: None
    comparable: Callable[[Arguments], bool] = lambda given: True
    tolerance: float = EXACT


# ---- arguments ----------------------------------------------------------------------------------------------------


def _numbers(value: Any) -> Iterator[float]:
    """All numbers in an argument."""
    if isinstance(value, hs.Platform):
        for part in (value.cycle_times, value.link_costs, value.links, value.right, value.down):
            yield from _numbers(part)
    elif isinstance(value, Members):
        yield from _numbers(value.cycle_times)
        yield from _numbers(value.links)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, np.ndarray):
        yield from _numbers(value.tolist()) if value.dtype.kind == "O" else map(float, np.asarray(value).ravel())
    elif isinstance(value, int | float | np.generic) and not isinstance(value, bool):
        yield float(value)


def _platform(old: hs.Platform, times: Any, costs: Any, links: Any, memory: Sequence[Any]) -> hs.Platform:
    workers = map(hs.Worker, np.asarray(times).tolist(), np.asarray(costs).tolist(), memory)
    return hs.Platform(workers, links, unit=old.unit)


def scaled(value: Any, factor: float) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, hs.Platform):
        links = None if value.links is None else value.links * factor
        return _platform(value, value.cycle_times * factor, value.link_costs * factor, links, value.memory)
    if isinstance(value, Members):
        return Members(value.cycle_times * factor, value.links * factor, value.names)
    if isinstance(value, list | tuple):
        return type(value)(scaled(part, factor) for part in value)
    return np.asarray(value) * factor if np.ndim(value) else value * factor


def permuted(value: Any, order: np.ndarray) -> Any:
    if isinstance(value, hs.Platform):
        links = None if value.links is None else value.links[np.ix_(order, order)]
        memory = [value.memory[i] for i in order]
        return _platform(value, value.cycle_times[order], value.link_costs[order], links, memory)
    if isinstance(value, Members):
        return Members(value.cycle_times[order], value.links[np.ix_(order, order)], tuple(value.names[i] for i in order))
    if isinstance(value, list | tuple) and len(value) == len(order):
        return [permuted(value[i], order) if np.ndim(value[i]) and len(value[i]) == 0 else value[i] for i in order]
    if np.ndim(value) == 0:
        return value
    array = np.asarray(value)
    return array[np.ix_(order, order)] if array.ndim == 2 else array[order]


def _as_matrix(name: str, value: Any) -> Any:
    """Links given as rows are one matrix, others' rows are not."""
    rows = name in ("links", "link_costs") and isinstance(value, list | tuple) and np.ndim(value) == 2
    return np.asarray(value, float) if rows else value


def extended(value: Any, extra: float, dear: float) -> Any:
    """With one more worker; in a Platform his time and links are dear."""
    if isinstance(value, hs.Platform):
        links = None if value.links is None else np.pad(value.links, (0, 1), constant_values=dear)
        memory = [*value.memory, None if None in value.memory else max(value.memory)]
        return _platform(value, [*value.cycle_times, dear], [*value.link_costs, dear], links, memory)
    if isinstance(value, Members):
        links = np.pad(value.links, (0, 1), constant_values=dear)
        return Members(np.append(value.cycle_times, dear), links, (*value.names, "useless"))
    if value is None or np.ndim(value) == 0:
        return value
    array = np.asarray(value)
    if array.ndim == 2:
        return np.pad(array.astype(float), (0, 1), constant_values=extra)
    return np.append(array, int(extra) if array.dtype.kind in "iu" and not math.isinf(extra) else extra)


# ---- what two plans say of each other -----------------------------------------------------------------------------


def _said(plan: Any) -> dict[str, Any]:
    """The fields of a result that follow from its input, structured arrays and named tuples in parts."""
    parts: dict[str, Any] = {}

    def add(name: str, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.dtype.names:
            for inner in value.dtype.names:
                add(f"{name}.{inner}", value[inner])
        elif isinstance(value, dict):
            for key, inner in value.items():
                add(f"{name}.{key}", inner)
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            for key, inner in value._asdict().items():
                add(f"{name}.{key}", inner)
        elif is_dataclass(value):
            for inner in fields(value):
                if inner.name not in UNTIMED:
                    add(f"{name}.{inner.name}", getattr(value, inner.name))
        elif isinstance(value, tuple) and any(isinstance(x, np.ndarray) for x in value):
            for at, inner in enumerate(value):
                add(f"{name}[{at}]", inner)
        else:
            parts[name] = value

    add("plan", plan)
    return parts


def _equal(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(two, np.ndarray) and one.shape == two.shape and one.dtype == two.dtype and bool((one == two).all())
    return bool(one == two)


def unchanged(plan: Any, again: Any, what: str) -> None:
    """Everything is the same."""
    old, new = _said(plan), _said(again)
    assert old.keys() == new.keys(), f"{what}: {old.keys() ^ new.keys()} are not in both"
    for name, value in old.items():
        assert _equal(value, new[name]), f"{what}: {name} was {value!r} and is {new[name]!r}"


def _times_factor(value: Any, factor: float) -> Any:
    if isinstance(value, tuple) and all(isinstance(x, float) for x in value):
        return tuple(x * factor for x in value)
    numbers = (
        isinstance(value, float) or type(value) is type(factor) or (isinstance(value, np.ndarray) and value.dtype.kind in "fi")
    )
    return value * factor if numbers else value


def follows(plan: Any, again: Any, factor: float, *, free: bool) -> None:
    """Every field is the same, or exactly scaled; of a plan's value and bound it is known which."""
    old, new = _said(plan), _said(again)
    assert old.keys() == new.keys(), f"scaled: {old.keys() ^ new.keys()} are not in both"
    for name, value in old.items():
        if name.endswith("names"):
            continue
        alike = _equal(value, new[name]) or _equal(_times_factor(value, factor), new[name])
        assert alike, f"times scaled by {factor:g}: {name} was {value!r} and is {new[name]!r}"
    if isinstance(plan, Plan):
        timed = not free and not isinstance(plan, hs.MaxTasks)
        for name in ("value", "bound"):
            before, after = getattr(plan, name), getattr(again, name)
            wanted = before * factor if timed else before
            assert after == wanted, f"times scaled by {factor:g}: {name} was {before!r} and is {after!r}"


def agree(plan: Any, other: Any, what: str, tolerance: float = EXACT) -> None:
    """Two results for the same problem: neither is below the other's bound; of equal claims the values are equal."""
    if isinstance(plan, hs.RingProfile):
        for ratio in np.geomspace(1e-3, 1e3, 7) * max(1.0, float(plan.ratios[-1])):
            one, two = plan.makespan(ratio, 1.0), other.makespan(ratio, 1.0)
            assert math.isclose(one, two, rel_tol=CLOSE), f"{what}: at work / volume {ratio:g} {one!r} and {two!r}"
        return
    if isinstance(plan, hs.MaxTasks):
        for a, b in ((plan, other), (other, plan)):
            assert a.tasks <= b.upper_bound, f"{what}: {a.tasks} tasks are above the upper bound {b.upper_bound}"
        assert not (plan.optimal and other.optimal) or plan.tasks == other.tasks, f"{what}: two optima"
        return
    if isinstance(plan, hs.Assignment):
        most = max(float(np.abs(x).max()) for x in (plan.row_prices, plan.col_prices, other.row_prices, other.col_prices))
        slack = 0 if isinstance(plan.cost, int) else 4 * EXACT * most * len(plan.rows)
        assert abs(plan.cost - other.cost) <= slack, f"{what}: costs {plan.cost!r} and {other.cost!r}"
        return
    for a, b in ((plan, other), (other, plan)):
        if b.method == "relaxed" != a.method:
            continue  # another problem: layers divided at will
        assert a.lower_bound <= b.value * (1 + tolerance), (
            f"{what}: the bound {a.lower_bound!r} of {a.method!r} is above the value {b.value!r} of {b.method!r}"
        )
    same_class = plan.scope == other.scope != "" and plan.scope not in IN_ORDER and type(plan) is type(other)
    if "relaxed" in (plan.method, other.method) and plan.method != other.method:
        return
    if (plan.optimal and other.optimal) or same_class:
        assert math.isclose(plan.value, other.value, rel_tol=10 * tolerance), (
            f"{what}: {plan.value!r} ({plan.certificate}) and {other.value!r} ({other.certificate})"
        )


# ---- the calls ----------------------------------------------------------------------------------------------------


def _sum_of(name: str) -> Callable[[Arguments, Any], None]:
    def honours(given: Arguments, plan: Any) -> None:
        wanted = np.asarray(given[name])
        assert (plan.counts.sum(-1) == wanted).all(), f"counts {plan.counts.tolist()} are not {name} = {given[name]}"

    return honours


def _size_is(names: Sequence[str]) -> Callable[[Arguments, Any], None]:
    def honours(given: Arguments, plan: Any) -> None:
        assert list(plan.shape) == [given[name] for name in names], f"the shape is {plan.shape}"

    return honours


def _owners(given: Arguments, plan: Any) -> None:
    assert len(plan.owner) == given["n"], f"{len(plan.owner)} owners of n = {given['n']}"


def _in_profile(given: Arguments, plan: hs.ProfileDistribution) -> None:
    _sum_of("n")(given, plan)
    p = len(plan.names)
    for name, wrong in (("min_chunk", np.less), ("memory", np.greater)):
        limits = np.broadcast_to([given["n"] if x is None else x for x in np.ravel(given[name])], p)
        bad = wrong(plan.counts, limits) & (plan.counts > 0)
        assert not bad.any(), f"counts {plan.counts.tolist()}, {name} {limits.tolist()}"


def _like_costs(given: Arguments, plan: hs.Assignment) -> None:
    costs = np.asarray(given["costs"])
    sign = -1 if given["maximize"] else 1
    chosen = costs[plan.rows, plan.cols].tolist()
    assert plan.cost == (sum(chosen) if isinstance(plan.cost, int) else math.fsum(chosen)), "cost is not the sum of the pairs"
    from fractions import Fraction

    rows, cols = [[Fraction(x) for x in prices.tolist()] for prices in (plan.row_prices, plan.col_prices)]
    for i, row in enumerate(costs.tolist()):
        for j, cost in enumerate(row):
            over = not math.isinf(cost) and sign * (rows[i] + cols[j]) > sign * Fraction(cost)
            assert not over, f"the prices of row {i} and column {j} are more than their cost"
    longer = (rows if len(rows) > len(cols) else []) + (cols if len(cols) > len(rows) else [])
    assert all(sign * x <= 0 for x in longer), "a price on the longer side has the wrong sign"


def _asked_tasks(given: Arguments, plan: hs.MinTime) -> None:
    assert plan.tasks == given["tasks"], f"{plan.tasks} tasks, {given['tasks']} asked for"


def _asked_time(given: Arguments, plan: hs.MaxTasks) -> None:
    assert float(given["T"]) == plan.T, f"T is {plan.T}"


def _asked_load(given: Arguments, plan: hs.DivisibleLoad) -> None:
    assert plan.amount == float(given["load"]), f"the load is {plan.amount}"


def _asked_layers(given: Arguments, plan: Any) -> None:
    assert plan.n == given["n"], f"n is {plan.n}"


def _asked_ring(given: Arguments, plan: hs.SliceRing) -> None:
    assert (plan.work, plan.volume) == (given["work"], given["volume"]), "another work or volume"


def _asked_sides(given: Arguments, plan: Any) -> None:
    assert plan.shape == (None if given["shape"] is None else tuple(given["shape"])), f"the shape is {plan.shape}"


def _in_square(given: Arguments) -> bool:
    return given["shape"] is None and given.get("budget") is None


_RECTANGLES = ("columns", "rows", "recursive", "nagamochi-abe", "kalinov-lastovetsky")

CALLS: dict[str, Call] = {
    "distribute": Call(
        hs.distribute, ("cycle_times",), ("speeds",), workers=("cycle_times", "speeds", "counts"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "counts": 0}, honours=_sum_of("n"),
    ),
    "distribute_profile": Call(
        hs.distribute_profile, ("profiles",), workers=("profiles", "min_chunk", "memory"), honours=_in_profile
    ),
    "lu_pattern": Call(
        hs.lu_pattern, ("cycle_times",), ("speeds",), workers=("cycle_times", "speeds"),
        useless={"cycle_times": math.inf, "speeds": 0.0}, rankings=(("pattern", "cyclic"), ("pattern", "contiguous")),
        honours=_owners,
    ),
    "lu_grid": Call(
        hs.lu_grid, ("cycle_times", "link_cost"), ("speeds",), workers=("cycle_times", "speeds"),
        useless={"cycle_times": math.inf, "speeds": 0.0}, rank="cost", honours=_owners,
        rankings=tuple(("best", other) for other in ("1d1d", "nested", "columns", "cyclic")),
    ),
    "plan_lu": Call(
        hs.plan_lu, ("cycle_times", "panel_times", "link_costs"), ("speeds",), selector="owner",
        workers=("cycle_times", "speeds", "panel_times", "link_costs"), others=("pattern", "cyclic", "contiguous"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "panel_times": 1.0, "link_costs": 0.0},
        honours=_size_is(("m", "n")),
    ),
    "wavefront": Call(
        hs.wavefront, ("cycle_times",), ("speeds",), workers=("cycle_times", "speeds"), others=("panels", "cyclic"),
        useless={"cycle_times": math.inf, "speeds": 0.0}, honours=_size_is(("rows", "cols")),
    ),
    "partition": Call(
        hs.partition, ("link_costs",), free=("areas",), workers=("areas", "cycle_times", "speeds", "link_costs", "groups"),
        useless={"areas": 0.0, "cycle_times": math.inf, "speeds": 0.0, "link_costs": 1.0, "groups": 0}, comparable=_in_square,
        honours=_asked_sides,
        rankings=(
            *(("best", other) for other in (*_RECTANGLES, "interval", "guillotine", "nonrectangular", "snrpp")),
            *(("guillotine", other) for other in (*_RECTANGLES, "interval")),
        ),
    ),
    "cuboids": Call(
        hs.cuboids, ("alpha", "beta", "gamma"), free=("volumes",),
        workers=("volumes", "cycle_times", "speeds"), useless={"volumes": 0.0, "cycle_times": math.inf, "speeds": 0.0},
        comparable=_in_square, honours=_asked_sides,
        rankings=tuple(("best", other) for other in ("guillotine", "interval", "layers", "rectangles")),
    ),
    "assign": Call(hs.assign, ("costs",), honours=_like_costs),
    "max_tasks": Call(
        hs.max_tasks, ("T", "cycle_times", "send", "receive"), ("speeds",), workers=("cycle_times", "speeds", "send", "receive"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "send": 0.0, "receive": 0.0},
        others=("best", "paper", "fastest"), honours=_asked_time,
    ),
    "min_time": Call(
        hs.min_time, ("cycle_times", "send", "receive"), ("speeds",), workers=("cycle_times", "speeds", "send", "receive"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "send": 0.0, "receive": 0.0}, honours=_asked_tasks,
    ),
    "divisible_load": Call(
        hs.divisible_load, ("cycle_times", "link_costs"), ("speeds",), workers=("cycle_times", "speeds", "link_costs"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "link_costs": 1.0}, honours=_asked_load, tolerance=CLOSE,
        rankings=(("best", "fifo"), ("best", "lifo")),
    ),
    "slice_ring": Call(
        hs.slice_ring, ("cycle_times", "links"), ("speeds",), workers=("cycle_times", "speeds", "links"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "links": 1.0}, honours=_asked_ring, tolerance=CLOSE,
        rankings=(("exact", "best", "search", "multistart", "greedy"), ("exact", "all")),
    ),
    "ring_profile": Call(
        hs.ring_profile, ("cycle_times", "links"), ("speeds",), workers=("cycle_times", "speeds", "links"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "links": 1.0},
    ),
    "plan_product": Call(
        hs.plan_product, ("platform",), workers=("platform",), useless={"platform": 0.0}, honours=_size_is(("r", "s", "t")),
        rankings=tuple(("best", other) for other in ("search", "hom", "homi", "het", "orroml", "ommoml", "oddoml", "bmm")),
    ),
    "layers_star": Call(
        hs.layers_star, ("cycle_times", "link_costs"), ("speeds",), workers=("cycle_times", "speeds", "link_costs"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "link_costs": 1.0}, honours=_asked_layers,
        rankings=(("best", "exact", "paper"),),
    ),
    "layers_mesh": Call(
        hs.layers_mesh, ("cycle_times", "right", "down"), ("speeds",), honours=_asked_layers, tolerance=SOLVED,
        rankings=(("relaxed", "milp", "neighbours", "pmft"), ("milp", "heuristic")),
    ),
    "layers_network": Call(
        hs.layers_network, ("cycle_times",), ("speeds",), honours=_asked_layers, tolerance=SOLVED,
        rankings=(("relaxed", "milp", "neighbours", "pmft"), ("milp", "heuristic")),
    ),
    "plan_boxes": Call(
        plan_boxes, ("platform",), workers=("platform",), useless={"platform": 0.0}, honours=_size_is(("m", "n", "k")),
        rankings=tuple(("auto", other) for other in ("columns", "rows", "rectangles")), others=("layers", "cuboids", "best"),
    ),
    "plan_matmul": Call(
        hs.plan_matmul, ("platform",), workers=("platform",), useless={"platform": 0.0}, honours=_size_is(("m", "n", "k")),
        rankings=tuple(("best", other) for other in ("columns", "rows", "rectangles")), others=("layers", "cuboids"),
    ),
    "plan_stencil": Call(
        plan_stencil, ("members",), workers=("members",), useless={"members": 0.0}, honours=_size_is(("rows", "cols")),
        tolerance=CLOSE,
    ),
    "workers_worth": Call(
        hs.workers_worth, ("platform",), workers=("platform",), useless={"platform": 0.0}, honours=_size_is(("m", "n", "k"))
    ),
}  # fmt: skip


# ---- the relations ------------------------------------------------------------------------------------------------


def check(call: str, args: tuple[Any, ...], kwargs: dict[str, Any], plan: Any) -> None:
    """Assert what relates a planner's result to those of other inputs; nothing is said where the first takes long.

    Parameters
    ----------
    call : str
        A name in CALLS: that of the public function, or "plan_boxes" and "plan_stencil" for what pools plan.
    args, kwargs
        As of the call that returned `plan`.
    """
    rules = CALLS[call]
    signature = inspect.signature(rules.run)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments)
    extra = given.pop("options", {})
    rules.honours(given, plan)

    def again(**changes: Any) -> Any:
        return rules.run(**{**given, **extra, **changes})

    workers = len(getattr(plan, "names", ())) or max(len(plan.row_prices), len(plan.col_prices))
    if workers > MOST_WORKERS or given.get("budget") is not None:
        return
    began = time.perf_counter()
    unchanged(plan, again(), "the same call")
    if time.perf_counter() - began > LONGEST:
        return
    for relation in (_scaling, _order, _useless, _methods):
        if time.perf_counter() - began > SECONDS:
            return
        try:
            relation(call, rules, given, again, plan)
        except ValueError as error:  # of the changed input, not of the given one
            if not any(word in str(error) for word in ("overflow", "underflow", "too far apart", "is for equal messages")):
                raise


def _scaling(call: str, rules: Call, given: Arguments, again: Callable[..., Any], plan: Any) -> None:
    for names, free in (((*rules.times, *rules.rates), False), (rules.free, True)):
        used = {name: given[name] for name in names if given[name] is not None}
        if not used:
            continue
        if call == "partition" and "link_costs" in names and given["groups"] is not None:
            used["group_cost"] = given["group_cost"]
        if call == "partition" and not free and "link_costs" not in used:
            continue
        if call == "layers_network":
            used["links"] = np.asarray(given["links"], float).reshape(-1, 3)
        numbers = [abs(x) for x in _numbers(list(used.values())) if x != 0 and not math.isinf(x)]
        if numbers and not LEAST_TIME <= min(numbers) <= max(numbers) <= MOST_TIME:
            continue
        profiles = given.get("profiles", ())
        if not isinstance(profiles, hs.Platform) and any(map(callable, profiles)):
            continue
        for factor in (2.0**-7, 2.0**5):
            if call == "assign" and np.asarray(given["costs"]).dtype.kind in "iu":
                if factor < 1:
                    continue
                factor = int(factor)
            changes = {name: scaled(value, 1 / factor if name in rules.rates else factor) for name, value in used.items()}
            if call == "distribute_profile":
                changes["profiles"] = _scaled_profiles(used["profiles"], factor)
            if call == "layers_network":
                changes["links"] = used["links"] * [1.0, 1.0, factor]
            new = again(**changes)
            validate(new)
            follows(plan, new, factor, free=free)


def _scaled_profiles(profiles: Any, factor: float) -> Any:
    """Times scaled, sizes not."""
    if isinstance(profiles, hs.Platform):
        return scaled(profiles, factor)
    result = []
    for profile in profiles:
        pair = isinstance(profile, list | tuple) and len(profile) == 2 and all(np.ndim(x) == 1 for x in profile)
        result.append((profile[0], np.asarray(profile[1]) * factor) if pair else np.asarray(profile) * factor)
    return result


def _order(call: str, rules: Call, given: Arguments, again: Callable[..., Any], plan: Any) -> None:
    rng = np.random.default_rng(len(rules.workers) + 7)
    if call == "assign":
        costs = np.asarray(given["costs"])
        m, n = costs.shape
        other = again(costs=costs[rng.permutation(m)][:, rng.permutation(n)])
        validate(other)
        agree(plan, other, "rows and columns in another order")
        agree(plan, again(costs=costs.T), "rows and columns swapped")
        turned = again(costs=-costs, maximize=not given["maximize"])
        assert turned.cost == -plan.cost or not isinstance(plan.cost, int), "minus the costs, maximised"
        return
    if call == "layers_mesh":
        if not isinstance(given["cycle_times"], hs.Platform):
            turned = {name: None if given[name] is None else np.asarray(given[name]).T for name in ("cycle_times", "speeds")}
            flipped = {a: None if given[b] is None else np.asarray(given[b]).T for a, b in (("right", "down"), ("down", "right"))}
            other = again(**turned, **flipped, source=tuple(given["source"])[::-1])
            validate(other)
            agree(plan, other, "rows and columns swapped", rules.tolerance)
        return
    if call == "layers_network":
        p = len(plan.cycle_times)
        order = rng.permutation(p)
        place = np.argsort(order)
        links = np.asarray(given["links"], float).reshape(-1, 3)
        moved = np.column_stack((place[links[:, :2].astype(int)], links[:, 2]))
        changes = {name: None if given[name] is None else np.asarray(given[name])[order] for name in ("cycle_times", "speeds")}
        other = again(**changes, links=moved, source=int(place[int(given["source"])]))
        validate(other)
        agree(plan, other, "nodes in another order", rules.tolerance)
        return
    p = len(plan.names)
    if p < 2 or isinstance(plan, hs.DistributionStack) or given.get("ring") is not None:
        return
    order = rng.permutation(p)
    changes = {name: permuted(_as_matrix(name, given[name]), order) for name in rules.workers if given[name] is not None}
    if call == "plan_lu" and not isinstance(given["owner"], str):
        if isinstance(given["owner"], hs.LuPattern):
            return
        changes["owner"] = np.argsort(order)[np.asarray(given["owner"], int)]
    if call in ("lu_pattern", "lu_grid") and given["owner"] is not None:
        changes["owner"] = np.argsort(order)[np.asarray(given["owner"], int)]
    if call == "partition" and given["rects"] is not None:
        changes["rects"] = np.asarray(given["rects"])[order]
    other = again(**changes)
    validate(other)
    if rules.comparable(given):
        agree(plan, other, f"workers in the order {order.tolist()}", rules.tolerance)
    if call in ("distribute", "distribute_profile") or (call == "lu_pattern" and plan.optimal):
        assert plan.value == other.value or call == "lu_pattern", f"{plan.value!r} and {other.value!r} in another order"


def _useless(call: str, rules: Call, given: Arguments, again: Callable[..., Any], plan: Any) -> None:
    if call == "assign":
        _useless_row(given, again, plan)
        return
    if call == "distribute_profile":
        if isinstance(given["profiles"], hs.Platform):
            return
        more = {name: [*given[name], 0] if np.ndim(given[name]) else given[name] for name in ("min_chunk", "memory")}
        other = again(profiles=[*given["profiles"], [1.0]], **more)
        validate(other)
        assert other.value == plan.value, f"a worker without a profile: {plan.value!r} becomes {other.value!r}"
        return
    if call == "layers_network":
        links = [*np.asarray(given["links"], float).reshape(-1, 3).tolist(), (int(given["source"]), len(plan.names), 1e-3)]
        worth = {"cycle_times": math.inf, "speeds": 0.0}
        more = {name: extended(given[name], extra, 0.0) for name, extra in worth.items()}
        other = again(**more, links=links)
        validate(other)
        agree(plan, other, "a node that does nothing", rules.tolerance)
        return
    if not rules.useless or isinstance(plan, hs.DistributionStack) or given.get("ring") is not None:
        return
    if call == "wavefront" and given["method"] == "cyclic":
        return
    if call == "partition" and given["rects"] is not None:
        return
    if call in ("partition", "cuboids") and any(isinstance(x, hs.Platform) for x in given.values()):
        return  # a worker of a platform has a speed, and so a zone: the smallest one has a side in common with another
    if call == "plan_lu" and (not isinstance(given["owner"], str) or given["block"] is None):
        return  # the block depends on the number of workers
    numbers = [x for name in rules.workers for x in _numbers(given[name]) if not math.isinf(x)]
    if not numbers or (isinstance(given.get("cycle_times"), hs.Platform) and given.get("links") is not None):
        return
    dear = DEAR * max(numbers)
    if dear > MOST_TIME:
        return
    ways = [(rules.useless, CLOSE, "no use")]
    if call == "slice_ring" and given["cycle_times"] is not None and given["method"] != "all":
        ways.append(({name: dear for name in rules.useless}, CLOSE, "no use, with a finite time"))
    for entries, tolerance, what in ways:
        changes = {name: extended(given[name], extra, dear) for name, extra in entries.items() if given[name] is not None}
        if call == "partition" and given["link_costs"] is None:
            changes.pop("link_costs", None)
        try:
            other = again(**changes)
        except hs.InfeasibleError:  # more workers than blocks
            assert call == "plan_boxes", "a worker of no use makes it infeasible"
            continue
        validate(other)
        if call in ("partition", "cuboids") and plan.optimal:
            for name in ("value", "bound"):  # sums of one more number, 0
                old, new = getattr(plan, name), getattr(other, name)
                assert math.isclose(old, new, rel_tol=EXACT), f"a worker of {what}: {name} {old!r} becomes {new!r}"
        elif not isinstance(plan, hs.WorkersWorth):
            agree(plan, other, f"a worker of {what}", max(tolerance, rules.tolerance))


def _useless_row(given: Arguments, again: Callable[..., Any], plan: hs.Assignment) -> None:
    """Where every column has a row without it, a row that is dearer than all others is not used."""
    costs = np.asarray(given["costs"])
    m, n = costs.shape
    finite = costs[np.isfinite(costs)] if costs.dtype.kind == "f" else costs
    if m < n or not finite.size:
        return
    worst = finite.min() if given["maximize"] else finite.max()
    row = np.full((1, n), worst, costs.dtype)
    if costs.dtype.kind == "f":
        row[:] = math.inf * (-1 if given["maximize"] else 1)
    other = again(costs=np.concatenate((costs, row)))
    validate(other)
    agree(plan, other, "a row that is not allowed")


def _methods(call: str, rules: Call, given: Arguments, again: Callable[..., Any], plan: Any) -> None:
    if getattr(plan, "method", "") == "given":
        return
    names = dict.fromkeys(name for ranking in (*rules.rankings, rules.others) for name in ranking)
    asked = given.get(rules.selector)
    if not names or not isinstance(asked, str) or not rules.comparable(given):
        return
    found = {asked: plan}
    began = time.perf_counter()
    for name in names:
        changes: dict[str, Any] = {rules.selector: name}
        if name != asked and call in ("lu_pattern", "wavefront"):
            changes["period"] = None
        if name != asked and call == "plan_product":
            changes["variant"] = None
        if time.perf_counter() - began > SECONDS:
            break
        try:
            other = again(**changes) if name != asked else plan
        except (hs.InfeasibleError, ValueError):  # not for this input
            continue
        validate(other)
        if call == "plan_lu" and (other.block != plan.block):
            continue
        agree(plan, other, f"methods {asked!r} and {name!r}", rules.tolerance)
        found[name] = other
    in_order(call, given, found)


def in_order(call: str, given: Arguments, found: dict[str, Any]) -> None:
    """No method is better than those that rank before it."""
    rules = CALLS[call]
    for ranking in rules.rankings:
        present = [name for name in ranking if name in found and _ranked(call, given, name, found[name])]
        for better, worse in pairwise(present):
            one, two = getattr(found[better], rules.rank), getattr(found[worse], rules.rank)
            assert one <= two * (1 + rules.tolerance), f"{better!r} finds {one!r}, {worse!r} {two!r}"
    if call == "max_tasks":
        for name in set(found) - {"best"}:
            assert "best" not in found or found["best"].tasks >= found[name].tasks, f"'best' does less than {name!r}"


def _ranked(call: str, given: Arguments, name: str, plan: Any) -> bool:
    """Whether a method's place in its ranking is promised for this input."""
    if call == "lu_pattern":
        return given["period"] is None
    if call in ("layers_mesh", "layers_network"):
        return not given["prune"] and (name != "milp" or (given["gap"] == 0 and plan.optimal))
    if call == "partition":
        return given["groups"] is None
    return True
