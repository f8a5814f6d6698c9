"""What must hold between the plans of related inputs."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from validators import validate

import hetsched as hs
from hetsched.planners.floorplan import slow_methods

from .arguments import as_matrix, extended, numbers_in, of_each, permuted, scaled
from .calls import CALLS, Arguments, Call
from .claims import CLOSE, EXACT, agree, follows, unchanged

MOST_WORKERS, LONGEST, SECONDS = 24, 0.1, 0.6  # of a call that is repeated; of all of them
LEAST_TIME, MOST_TIME = 1e-60, 1e60  # between these a power of two more or less is exact
DEAR = 2.0**60  # times the longest of all: who is so slow, or so far, is of no use


#: Planners with an argument `owner`.
_FACTORS = ("plan_lu", "plan_factor", "plan_reduction")


def check(call: str, args: tuple[Any, ...], kwargs: dict[str, Any], plan: Any) -> None:
    """Assert what relates a planner's result to those of other inputs; nothing is said where the
    first takes long.

    Parameters
    ----------
    call : str
        A name in CALLS: that of the public function, or "plan_boxes" and "plan_stencil" for what
        pools plan.
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
    by_profiles = given.get("profiles") is not None
    if call in ("plan_matmul", "plan_lu", "plan_factor") and by_profiles:
        return  # partition_profile and lu_pattern have their own relations
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
            if not any(
                word in str(error)
                for word in ("overflow", "underflow", "too far apart", "is for equal messages")
            ):
                raise


def _scaling(
    call: str, rules: Call, given: Arguments, again: Callable[..., Any], plan: Any
) -> None:
    for names, free in (((*rules.times, *rules.rates), False), (rules.free, True)):
        used = {name: given[name] for name in names if given[name] is not None}
        if not used:
            continue
        if call == "partition" and "link_costs" in names and given["groups"] is not None:
            used["group_cost"] = given["group_cost"]
        if call == "partition" and not free and "link_costs" not in used:
            continue
        if call == "dynamic_product" and given["drift"] is not None:
            continue  # its times and platforms would have to change, too
        if call == "layers_network":
            used["links"] = np.asarray(given["links"], float).reshape(-1, 3)
        numbers = [abs(x) for x in numbers_in(list(used.values())) if x != 0 and not math.isinf(x)]
        if numbers and not LEAST_TIME <= min(numbers) <= max(numbers) <= MOST_TIME:
            continue
        profiles = given.get("profiles")
        if profiles is None or isinstance(profiles, hs.Platform):
            profiles = ()
        if any(map(callable, profiles)):
            continue
        for factor in (2.0**-7, 2.0**5):
            if call == "assign" and np.asarray(given["costs"]).dtype.kind in "iu":
                if factor < 1:
                    continue
                factor = int(factor)
            changes = {
                name: scaled(value, 1 / factor if name in rules.rates else factor)
                for name, value in used.items()
            }
            if "profiles" in used:
                changes["profiles"] = _scaled_profiles(used["profiles"], factor)
            if call == "layers_network":
                changes["links"] = used["links"] * [1.0, 1.0, factor]
            new = again(**changes)
            validate(new)
            follows(plan, new, factor, free=free)


def _scaled_profiles(profiles: Any, factor: float) -> Any:
    """Times scaled, sizes not: of 1-D profiles, and of zones."""
    if isinstance(profiles, hs.Platform):
        return scaled(profiles, factor)
    result = []
    for profile in profiles:
        points = (
            isinstance(profile, list | tuple)
            and len(profile) in (2, 3)
            and all(np.ndim(x) == 1 for x in profile[:-1])
            and np.ndim(profile[-1]) == len(profile) - 1
        )
        result.append(
            (*profile[:-1], np.asarray(profile[-1]) * factor)
            if points
            else np.asarray(profile, float) * factor
        )
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
        assert turned.cost == -plan.cost or not isinstance(plan.cost, int), (
            "minus the costs, maximised"
        )
        return
    if call == "layers_mesh":
        in_turn = given.get("mode") in ("scss", "sccs")  # to the right first
        if not in_turn and not isinstance(given["cycle_times"], hs.Platform):
            turned = {
                name: None if given[name] is None else np.asarray(given[name]).T
                for name in ("cycle_times", "speeds")
            }
            turned["memory"] = of_each(given["memory"], plan.shape, lambda own: own.T)
            flipped = {
                a: None if given[b] is None else np.asarray(given[b]).T
                for a, b in (("right", "down"), ("down", "right"))
            }
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
        changes = {
            name: None if given[name] is None else np.asarray(given[name])[order]
            for name in ("cycle_times", "speeds")
        }
        changes["memory"] = of_each(given["memory"], (p,), lambda own: own[order])
        other = again(**changes, links=moved, source=int(place[int(given["source"])]))
        validate(other)
        agree(plan, other, "nodes in another order", rules.tolerance)
        return
    p = len(plan.names)
    if p < 2 or isinstance(plan, hs.DistributionStack) or given.get("ring") is not None:
        return
    order = rng.permutation(p)
    changes = {
        name: permuted(as_matrix(name, given[name]), order)
        for name in rules.workers
        if given[name] is not None
    }
    if call in _FACTORS and not isinstance(given["owner"], str):
        if isinstance(given["owner"], hs.LuPattern | hs.LuGrid):
            return
        changes["owner"] = np.argsort(order)[np.asarray(given["owner"], int)]
    if call in ("lu_pattern", "lu_grid") and given["owner"] is not None:
        changes["owner"] = np.argsort(order)[np.asarray(given["owner"], int)]
    if call in ("partition", "partition_profile") and given["rects"] is not None:
        changes["rects"] = np.asarray(given["rects"])[order]
    other = again(**changes)
    validate(other)
    if rules.comparable(given):
        agree(plan, other, f"workers in the order {order.tolist()}", rules.tolerance)
    if call in ("distribute", "distribute_profile") or (call == "lu_pattern" and plan.optimal):
        assert plan.value == other.value or call == "lu_pattern", (
            f"{plan.value!r} and {other.value!r} in another order"
        )


def _useless(
    call: str, rules: Call, given: Arguments, again: Callable[..., Any], plan: Any
) -> None:
    if call == "assign":
        _useless_row(given, again, plan)
        return
    if call in ("distribute_profile", "partition_profile") or (
        call == "lu_pattern" and given["profiles"] is not None
    ):
        if isinstance(given["profiles"], hs.Platform) or given.get("rects") is not None:
            return
        more = {
            name: [*given[name], 0] if np.ndim(given[name]) else given[name]
            for name in {"min_chunk", "memory"} & set(given)
        }
        nothing = [1.0] if call == "distribute_profile" else [[1.0]]
        other = again(profiles=[*given["profiles"], nothing], **more)
        validate(other)
        assert other.value == plan.value, (
            f"a worker without a profile: {plan.value!r} becomes {other.value!r}"
        )
        return
    if call == "layers_network":
        links = [
            *np.asarray(given["links"], float).reshape(-1, 3).tolist(),
            (int(given["source"]), len(plan.names), 1e-3),
        ]
        worth = {"cycle_times": math.inf, "speeds": 0.0}
        more = {name: extended(given[name], extra, 0.0) for name, extra in worth.items()}
        more["memory"] = of_each(
            given["memory"], (len(plan.names),), lambda own: np.append(own, np.inf)
        )
        other = again(**more, links=links)
        validate(other)
        agree(plan, other, "a node that does nothing", rules.tolerance)
        return
    if not rules.useless or isinstance(plan, hs.DistributionStack) or given.get("ring") is not None:
        return
    if call == "wavefront" and given["method"] == "cyclic":
        return
    if call == "dynamic_product" and given["drift"] is not None:
        return  # its platforms would need one more worker
    if call == "partition" and given["rects"] is not None:
        return
    if call in ("partition", "cuboids", "dynamic_product") and any(
        isinstance(x, hs.Platform) for x in given.values()
    ):
        # a worker of a platform has a speed, and so a zone: the smallest one has a side in common
        # with another
        return
    if given.get("method") == "cannon":
        return  # the number of workers would be no square
    if call in _FACTORS and (not isinstance(given["owner"], str) or given["block"] is None):
        return  # the block depends on the number of workers
    numbers = [x for name in rules.workers for x in numbers_in(given[name]) if not math.isinf(x)]
    if not numbers or (
        isinstance(given.get("cycle_times"), hs.Platform) and given.get("links") is not None
    ):
        return
    dear = DEAR * max(numbers)
    if dear > MOST_TIME:
        return
    ways = [(rules.useless, CLOSE, "no use")]
    if call == "slice_ring" and given["cycle_times"] is not None and given["method"] != "all":
        ways.append(({name: dear for name in rules.useless}, CLOSE, "no use, with a finite time"))
    for entries, tolerance, what in ways:
        changes = {
            name: extended(given[name], extra, dear)
            for name, extra in entries.items()
            if given[name] is not None
        }
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
                assert math.isclose(old, new, rel_tol=EXACT), (
                    f"a worker of {what}: {name} {old!r} becomes {new!r}"
                )
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


def _methods(
    call: str, rules: Call, given: Arguments, again: Callable[..., Any], plan: Any
) -> None:
    if getattr(plan, "method", "") == "given":
        return
    names = dict.fromkeys(name for ranking in (*rules.rankings, rules.others) for name in ranking)
    asked = given.get(rules.selector)
    if not names or not isinstance(asked, str) or not rules.comparable(given):
        return
    if call == "partition":  # "best" does not try what is slow
        slow = slow_methods(int((plan.areas > 0).sum()), False, False, given["objective"] == "max")
        names = {name: None for name in names if name not in slow}
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
        if call in _FACTORS and other.block != plan.block:
            continue
        agree(plan, other, f"methods {asked!r} and {name!r}", rules.tolerance)
        found[name] = other
    in_order(call, given, found)


def in_order(call: str, given: Arguments, found: dict[str, Any]) -> None:
    """No method is better than those that rank before it."""
    rules = CALLS[call]
    for ranking in rules.rankings:
        present = [
            name for name in ranking if name in found and _ranked(call, given, name, found[name])
        ]
        for better, worse in pairwise(present):
            one, two = getattr(found[better], rules.rank), getattr(found[worse], rules.rank)
            assert one <= two * (1 + rules.tolerance), (
                f"{better!r} finds {one!r}, {worse!r} {two!r}"
            )
    if call == "max_tasks":
        for name in set(found) - {"best"}:
            assert "best" not in found or found["best"].tasks >= found[name].tasks, (
                f"'best' does less than {name!r}"
            )


def _ranked(call: str, given: Arguments, name: str, plan: Any) -> bool:
    """Whether a method's place in its ranking is promised for this input."""
    if call == "lu_pattern":
        return given["period"] is None
    if call in ("layers_mesh", "layers_network"):
        return not given["prune"] and (name != "milp" or (given["gap"] == 0 and plan.optimal))
    if call == "partition":
        return given["groups"] is None
    return True
