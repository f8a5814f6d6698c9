"""What two plans say of each other."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

import hetsched as hs
from hetsched.plan import Plan

EXACT, CLOSE, SOLVED = 1e-12, 1e-9, 1e-6
#: Classes of plans that depend on the order of the workers, the last three where some are equal: of
#: these the first comes first.
IN_ORDER = {
    "plans with messages in this order", "layers", "sorted panels of any period, ties by index",
    "guillotine partitions of the list sorted by area",
    "guillotine partitions of the list of each group and of the groups sorted by area",
}  # fmt: skip
UNTIMED = {"planning_time", "lp_solves", "iterations"}


def said(plan: Any) -> dict[str, Any]:
    """The fields of a result that follow from its input, structured arrays and named tuples in
    parts."""
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
        elif isinstance(value, tuple) and any(
            isinstance(x, np.ndarray | tuple | Plan) for x in value
        ):
            for at, inner in enumerate(value):
                add(f"{name}[{at}]", inner)
        else:
            parts[name] = value

    add("plan", plan)
    return parts


def _equal(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            isinstance(two, np.ndarray)
            and one.shape == two.shape
            and one.dtype == two.dtype
            and bool((one == two).all())
        )
    return bool(one == two)


def unchanged(plan: Any, again: Any, what: str) -> None:
    """Everything is the same."""
    old, new = said(plan), said(again)
    assert old.keys() == new.keys(), f"{what}: {old.keys() ^ new.keys()} are not in both"
    for name, value in old.items():
        assert _equal(value, new[name]), f"{what}: {name} was {value!r} and is {new[name]!r}"


def _times_factor(value: Any, factor: float) -> Any:
    if isinstance(value, tuple) and all(isinstance(x, float) for x in value):
        return tuple(x * factor for x in value)
    numbers = (
        isinstance(value, float)
        or type(value) is type(factor)
        or (isinstance(value, np.ndarray) and value.dtype.kind in "fi")
    )
    return value * factor if numbers else value


def follows(plan: Any, again: Any, factor: float, *, free: bool) -> None:
    """Every field is the same, or exactly scaled; of a plan's value and bound it is known which."""
    old, new = said(plan), said(again)
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
            assert after == wanted, (
                f"times scaled by {factor:g}: {name} was {before!r} and is {after!r}"
            )


def agree(plan: Any, other: Any, what: str, tolerance: float = EXACT) -> None:
    """Two results for the same problem: neither is below the other's bound; of equal claims the
    values are equal."""
    if isinstance(plan, hs.RingProfile):
        for ratio in np.geomspace(1e-3, 1e3, 7) * max(1.0, float(plan.ratios[-1])):
            amounts = ratio * plan.volume, plan.volume
            one, two = plan.makespan(*amounts), other.makespan(*amounts)
            assert math.isclose(one, two, rel_tol=CLOSE), (
                f"{what}: at work / volume {ratio:g} {one!r} and {two!r}"
            )
        return
    if isinstance(plan, hs.MaxTasks):
        for a, b in ((plan, other), (other, plan)):
            assert a.tasks <= b.upper_bound, (
                f"{what}: {a.tasks} tasks are above the upper bound {b.upper_bound}"
            )
        assert not (plan.optimal and other.optimal) or plan.tasks == other.tasks, (
            f"{what}: two optima"
        )
        return
    if isinstance(plan, hs.Assignment):
        most = max(
            float(np.abs(x).max())
            for x in (plan.row_prices, plan.col_prices, other.row_prices, other.col_prices)
        )
        slack = 0 if isinstance(plan.cost, int) else 4 * EXACT * most * len(plan.rows)
        assert abs(plan.cost - other.cost) <= slack, (
            f"{what}: costs {plan.cost!r} and {other.cost!r}"
        )
        return
    for a, b in ((plan, other), (other, plan)):
        if b.method == "relaxed" != a.method:
            continue  # another problem: layers divided at will
        assert a.lower_bound <= b.value * (1 + tolerance), (
            f"{what}: the bound {a.lower_bound!r} of {a.method!r} is above the value {b.value!r} of"
            f" {b.method!r}"
        )
    same_class = (
        plan.scope == other.scope != "" and plan.scope not in IN_ORDER and type(plan) is type(other)
    )
    if "relaxed" in (plan.method, other.method) and plan.method != other.method:
        return
    if (plan.optimal and other.optimal) or same_class:
        assert math.isclose(plan.value, other.value, rel_tol=10 * tolerance), (
            f"{what}: {plan.value!r} ({plan.certificate}) and {other.value!r} ({other.certificate})"
        )
