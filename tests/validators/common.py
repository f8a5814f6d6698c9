"""What all plans have: certificates, arrays, steps that can be replayed; and who judges which."""

from __future__ import annotations

import itertools
import math
import traceback
from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

import hetsched as hs
from hetsched.plan import Plan
from hetsched.planners.compare import Comparison

# relative: of sums of a few doubles; of long chains and of what solvers leave
EXACT, CLOSE = 1e-12, 1e-9
TILES = 600  # work up to which the slow oracles are asked: tiles, blocks, pairs of boxes
FLOPS = {"float32": 2.0, "float64": 2.0, "complex64": 8.0, "complex128": 8.0}
BYTES = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
#: Type of plan -> its judge.
VALIDATORS: dict[type, Callable[[Any], None]] = {}


def judges(*kinds: type) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Makes a function the judge of plans of these types."""

    def enter(judge: Callable[[Any], None]) -> Callable[[Any], None]:
        VALIDATORS.update(dict.fromkeys(kinds, judge))
        return judge

    return enter


def validate(plan: Any) -> None:
    """Raise AssertionError if anything about the plan is wrong."""
    kind = type(plan)
    if isinstance(plan, Comparison):
        for part in plan.values():
            validate(part)
        return
    assert kind in VALIDATORS, f"no validator for {kind.__name__}"
    _arrays(plan)
    if isinstance(plan, Plan):
        _certificate(plan)
    try:
        VALIDATORS[kind](plan)
    except AssertionError as error:
        if str(error):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]  # an oracle's, without words
        raise AssertionError(
            f"the replay of a {kind.__name__} fails in {place.name}: {place.line}"
        ) from error


def same(name: str, given: Any, wanted: Any, tolerance: float = 0.0, scale: float = 0.0) -> None:
    """Equal up to the relative tolerance, and the same again of the scale."""
    mine, own = np.asarray(given, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    assert mine.shape == own.shape, f"{name} has shape {mine.shape}, not {own.shape}"
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(own), max(scale, 1e-300))  # of denormal numbers a rounding is much
        equal = (mine == own) | (np.abs(mine - own) <= tolerance * size)
    assert equal.all(), f"{name} is {given!r}, by its own content {wanted!r}"


def _arrays(plan: Any) -> None:
    """Read-only, without NaN."""
    for field in fields(plan):
        value = getattr(plan, field.name)
        parts = value if isinstance(value, tuple) else (value,)
        for part in parts:
            if isinstance(part, np.ndarray):
                assert not part.flags.writeable, f"{field.name} can be written to"
                if part.dtype.kind == "f":
                    assert not np.isnan(part).any(), f"{field.name} has a NaN"
            elif isinstance(part, float):
                assert not math.isnan(part), f"{field.name} is NaN"


def _certificate(plan: Plan) -> None:
    assert isinstance(plan.method, str), "method is no string"
    assert plan.method, "method is empty"
    assert isinstance(plan.scope, str), "scope is no string"
    assert type(plan.optimal) is bool, f"optimal is {plan.optimal!r}, no bool"
    value, bound = plan.value, plan.bound
    assert math.isfinite(value), f"the value is {value}"
    assert isinstance(bound, int | float), f"the bound is {bound!r}"
    assert math.isfinite(bound), f"the bound is {bound}"
    assert bound >= 0, f"the bound {bound} is negative"
    assert bound <= value if plan.sense == "min" else value <= bound, (
        f"the bound {bound!r} is not one of the value {value!r}"
    )
    assert plan.gap >= 0, f"gap {plan.gap}"
    if not isinstance(plan, hs.MaxTasks):
        same(
            "gap",
            plan.gap,
            0.0 if value == bound else (value - bound) / bound if bound else math.inf,
            EXACT,
        )
        assert not plan.optimal or value <= bound * (1 + EXACT), (
            f"optimal, but the value {value!r} is above its bound {bound!r}"
        )
        own = plan.method == "given" and plan.scope.endswith("that they have")
        assert plan.optimal or value > bound or own, (
            "the value is its own bound, but optimal is False"
        )
    certificate = plan.certificate
    assert certificate[:7] == (
        plan._value,
        plan.sense,
        value,
        bound,
        plan.gap,
        plan.optimal,
        plan.scope,
    ), "another certificate"
    assert isinstance(plan, hs.DistributionStack) or str(certificate) in repr(plan), (
        "repr without the certificate"
    )
    names = plan.names
    assert isinstance(names, tuple), "names are no tuple"
    assert names, "nobody has a name"
    assert all(isinstance(name, str) for name in names), f"names are {names}"
    times = getattr(plan, "cycle_times", None)
    if isinstance(times, np.ndarray):
        assert times.shape[-1] == len(names), f"{len(names)} names for {times.shape[-1]} workers"
        assert (times > 0).all(), "a cycle-time is not positive"
    assert plan.to_dict()["type"] == type(plan).__name__, "to_dict has another type"


def ints(name: str, array: Any, shape: tuple[int, ...] | None = None, kind: str = "i") -> list[Any]:
    assert isinstance(array, np.ndarray), f"{name} is no array"
    assert array.dtype.kind == kind, f"{name} has dtype {array.dtype}"
    assert shape is None or array.shape == shape, f"{name} has shape {array.shape}, not {shape}"
    return array.tolist()


def dealt(counts: list[int], displs: list[int] | None, times: Sequence[float]) -> None:
    assert all(count >= 0 for count in counts), f"counts {counts} have a negative one"
    if displs is not None:
        assert displs == [sum(counts[:i]) for i in range(len(counts))], (
            f"displs {displs} do not follow from counts {counts}"
        )
    idle = [
        i
        for i, (count, time) in enumerate(zip(counts, times, strict=True))
        if count and math.isinf(time)
    ]
    assert not idle, f"worker {idle} has something to do and an infinite cycle-time"


def fastest_division(n: int, times: Sequence[float]) -> Fraction:
    """The n-th smallest of all multiples of the times, by bisection over the rationals."""
    finite = [Fraction(t) for t in times if not math.isinf(t)]
    if n == 0:
        return Fraction(0)
    best = None
    for t in finite:  # the least multiple of each that n multiples are not above
        low, high = 1, n
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle)
                if sum(middle * t // other for other in finite) >= n
                else (middle + 1, high)
            )
        if sum(low * t // other for other in finite) >= n:
            best = low * t if best is None else min(best, low * t)
    assert best is not None
    return best


def replayed(
    plan: Plan, *, end: float | None, shared: bool = False, scale: float = 0.0, others: int = 0
) -> None:
    """The steps: inside the plan, the last one at its end, no worker computes two things at a time
    (unless shared). Others, such as a master that works, are numbered after the workers."""
    own: dict[int, list[tuple[float, float]]] = {}
    last = 0.0
    for worker, kind, start, stop, what in plan.steps():
        assert 0 <= worker < len(plan.names) + others, f"a step of worker {worker}"
        assert kind in ("compute", "transfer"), f"a step of kind {kind!r}"
        assert isinstance(what, str), "a step without words"
        assert math.isfinite(start), f"a step starts at {start}"
        assert math.isfinite(stop), f"a step ends at {stop}"
        assert 0 <= start <= stop, f"a step from {start} to {stop}"
        last = max(last, stop)
        if kind == "compute":
            own.setdefault(worker, []).append((start, stop))
    slack = CLOSE * max(last, scale)
    for worker, stretches in own.items():
        for (_, stop), (start, _) in itertools.pairwise(sorted(stretches)):
            assert shared or start >= stop - slack, f"worker {worker} does two things at a time"
    if end is not None:
        same("the end of the last step", last, end, CLOSE, scale)
