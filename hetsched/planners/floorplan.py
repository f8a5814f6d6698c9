"""Methods of `partition`: from areas to a floorplan, and from a floorplan to zones."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import schema
from .._base.later import Lazy, later
from .._engine import partition as engine
from ..errors import InfeasibleError

BESIDE, ABOVE, WHEEL = engine.BESIDE, engine.ABOVE, engine.WHEEL
AROUND, CORNERS = engine.AROUND, engine.CORNERS
FULL_COLUMNS = "partitions into full columns"

#: Most workers for which "best" tries a method: all guillotine cuts with pinwheels, all guillotine
#: cuts, zones around other zones, cuts of the sorted list.
_WHEELS, _ALL_CUTS, _AROUND, _INTERVAL = engine.WHEELS_MOST, 12, 64, 128
#: For more workers, "best" tries at most _CUTS cuts of the sorted list, and at least _FEWEST cuts
#: of a run.
_CUTS, _FEWEST = 1_000_000, 8
#: Most workers of "interval".
MOST_CUT = engine.INTERVAL_MOST
#: Most workers for which "best" tries zones around other zones in all orders of the workers.
_ALL_ORDERS = 5
#: Floorplans per worker that "best" tries without a budget, and the most workers times floorplans.
_EVALUATIONS, _EFFORT = 60_000, 200_000_000

Plan = NDArray[np.int32]
Pieces = NDArray[np.float64] | NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """Arguments of a method.

    `areas` sum to 1; `sides` are the rows and columns of a matrix, or None.
    """

    areas: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    groups: NDArray[np.int32] | None
    group_cost: float
    objective: str
    sides: tuple[int, int] | None
    seed: int
    budget: float | None
    columns: int | None = None  # number of columns for method "columns"

    @property
    def aspect(self) -> float:
        return 1.0 if self.sides is None else self.sides[1] / self.sides[0]

    @property
    def size(self) -> int:
        """Number of workers with a positive area."""
        return int((self.areas > 0).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Floorplan(Lazy):
    """A floorplan in postfix notation, with its zones.

    pieces (q, 5): worker, row, col, height, width. areas (p,): areas of the zones.
    """

    plan: Plan
    pieces: Pieces
    areas: NDArray[np.float64]
    columns: tuple[tuple[int, ...], ...]
    cost: float
    scope: str


def plan_floorplan(method: str, request: Request) -> tuple[str, Floorplan]:
    """The name of the method that found the floorplan, and the floorplan."""
    return _best(request) if method == "best" else (method, METHODS[method](request))


def laid_out(
    plan: Plan, request: Request, columns: tuple[tuple[int, ...], ...] = (), scope: str = ""
) -> Floorplan:
    """A floorplan with its lengths.

    The scope holds for the sum of half perimeters in the unit square or a similar box.
    """
    if request.sides is None:
        return of_pieces(plan, _in_square(plan, request), request, columns, scope)
    workers, cells = engine.floorplan_tile(*request.sides, request.areas, plan)
    return of_pieces(plan, _by_worker(workers, cells, len(request.areas)), request, columns)


def _in_square(plan: Plan, request: Request) -> Pieces:
    workers, rects, _ = engine.floorplan_rects(request.areas, request.weights, 1.0, plan)
    return _by_worker(workers, rects, len(request.areas))


def of_pieces(
    plan: Plan,
    pieces: Pieces,
    request: Request,
    columns: tuple[tuple[int, ...], ...] = (),
    scope: str = "",
) -> Floorplan:
    """A floorplan (or an empty one) with given zones."""
    areas = areas_of(pieces, len(request.areas))
    return Floorplan(
        plan=plan,
        pieces=pieces,
        areas=areas,
        columns=columns,
        cost=cost_of(pieces, request),
        scope=scope,
    )


def _by_worker(workers: NDArray[np.int32], rects: Pieces, p: int) -> Pieces:
    """Pieces in ascending order of worker; the pieces of a worker keep their order."""
    counts = np.bincount(workers, minlength=p)
    pieces: Any = np.empty((len(workers), 5), rects.dtype)
    if counts.max() == 1:
        places = (np.cumsum(counts) - 1)[workers]
        pieces[places, 0], pieces[places, 1:] = workers, rects
    else:
        order = np.argsort(workers, kind="stable")
        pieces[:, 0], pieces[:, 1:] = workers[order], rects[order]
    found: Pieces = pieces
    return found


def cost_of(pieces: Pieces, request: Request) -> float:
    """The value of the objective for given zones."""
    total = _objective(zones(pieces, len(request.areas)), request)
    if request.groups is not None:
        own = pieces.astype(np.float64)
        own[:, 0] = request.groups[pieces[:, 0].astype(np.int64)]
        total += request.group_cost * float(zones(own, int(request.groups.max()) + 1).sum())
    return total


def _objective(spans: NDArray[np.float64], request: Request) -> float:
    """The sum, or the maximum, of the costs of zones that span so many rows and columns."""
    costs = spans[:, 0] + spans[:, 1]
    with np.errstate(over="ignore"):  # no Partition is made of an infinite cost
        if request.weights is not None:
            costs *= request.weights
        return float(costs.max() if request.objective == "max" else costs.sum())


def zones(pieces: Pieces, p: int) -> NDArray[np.float64]:
    """(p, 2) numbers of rows and columns that the pieces of each worker span."""
    owners = pieces[:, 0].astype(np.int64)
    spans = np.zeros((p, 2))
    counts = np.bincount(owners, minlength=p)
    single = counts[owners] == 1
    if single.all():
        spans[owners] = pieces[:, 3:]
        return spans
    spans[owners[single]] = pieces[single, 3:]
    for worker in np.flatnonzero(counts > 1):
        own = pieces[owners == worker]
        for axis in (0, 1):
            spans[worker, axis] = _union(own[:, 1 + axis], own[:, 3 + axis])
    return spans


def areas_of(pieces: Pieces, p: int) -> NDArray[np.float64]:
    """(p,) area of each worker's pieces."""
    areas = np.bincount(
        pieces[:, 0].astype(np.int64), pieces[:, 3].astype(np.float64) * pieces[:, 4], p
    )
    return areas.astype(np.float64)


def _union(starts: NDArray[np.generic], lengths: NDArray[np.generic]) -> float:
    total, reached = 0.0, -np.inf
    for start, length in sorted(zip(starts.tolist(), lengths.tolist(), strict=True)):
        total += max(0.0, start + length - max(reached, start))
        reached = max(reached, start + length)
    return total


def require_kind(name: str, zones: NDArray[Any], shape: tuple[int, ...] | None) -> None:
    """Require integers for zones in cells of a shape, and floats in the unit square or cube."""
    if zones.dtype.kind != ("f" if shape is None else "i"):
        raise ValueError(
            f"{name} must be {'float64 without' if shape is None else 'int64 in'} a shape, got"
            f" {zones.dtype}"
        )


def require_times(name: str, work: NDArray[np.float64], cycle_times: NDArray[np.float64]) -> None:
    """Require finite times for the shares of the work.

    An infinite cycle-time is 1 / area of a sliver, and is not used.
    """
    schema.require_able(name, work, np.where(np.isinf(cycle_times), 0.0, cycle_times))


def require_floorplan(plan: tuple[int, ...]) -> None:
    """Require a floorplan in postfix notation that contains each worker once."""
    depth, takes = 0, {BESIDE: 2, ABOVE: 2, WHEEL: 5, AROUND: 2, CORNERS: 3}
    for i, entry in enumerate(plan):
        depth -= takes.get(entry, 0)
        if depth < 0:
            raise ValueError(f"floorplan[{i}] has too few zones before it")
        depth += 1
    workers = [entry for entry in plan if entry >= 0]
    if depth != 1 or len(set(workers)) < len(workers):
        raise ValueError("floorplan must contain each worker once, and end in one zone")


def of_columns(order: NDArray[np.int32], starts: NDArray[np.int32]) -> Plan:
    """The floorplan of full columns: column j holds order[starts[j]:starts[j + 1]] from the top."""
    sizes = np.diff(starts)
    plan = np.full(2 * len(order) - 1, ABOVE, np.int32)
    # every column but the first ends with BESIDE
    first = 2 * starts[:-1] - np.minimum(np.arange(len(sizes)), 1)
    place = np.arange(len(order)) - np.repeat(starts[:-1], sizes)
    plan[np.repeat(first, sizes) + np.maximum(2 * place - 1, 0)] = order
    plan[(first + 2 * sizes - 1)[1:]] = BESIDE
    return plan


def _members(order: NDArray[np.int32], starts: NDArray[np.int32]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(order[a:b].tolist()) for a, b in itertools.pairwise(starts.tolist()))


def columns_of(plan: Plan) -> tuple[tuple[int, ...], ...]:
    """The columns of a floorplan of full columns."""
    stack: list[list[list[int]]] = []
    for entry in plan.tolist():
        if entry >= 0:
            stack.append([[entry]])
            continue
        second = stack.pop()
        if entry == BESIDE:
            stack[-1] += second
        else:
            stack[-1][-1] += second[0]
    return tuple(tuple(column) for column in stack[0])


# ---- methods -------------------------------------------------------------------------------------


def _columns(request: Request) -> Floorplan:
    p = len(request.areas)
    m, n = request.sides or (p, p)
    least, most = (1, min(n, p)) if request.columns is None else (request.columns, request.columns)
    if least > min(n, request.size):
        raise InfeasibleError(
            f"columns must be at most {min(n, request.size)}, the number of columns of the matrix"
            f" and of workers, got {least}"
        )
    if most * m < request.size:
        raise InfeasibleError(
            f"columns must be at least {-(-request.size // m)} for {request.size} workers, got"
            f" {most}"
        )
    order, starts = engine.partition_columns(request.areas, request.aspect, most, min(m, p), least)
    if request.sides is not None:
        return laid_out(of_columns(order, starts), request, _members(order, starts))
    sides = engine.column_sides(request.areas, order, starts)
    return Floorplan(
        plan=later(lambda: of_columns(order, starts)),
        pieces=later(lambda: _in_square(of_columns(order, starts), request)),
        areas=sides[:, 0] * sides[:, 1],
        columns=later(lambda: _members(order, starts)),
        cost=_objective(sides, request),
        scope=(
            _full_columns(request.columns)
            if request.weights is None and request.objective == "sum"
            else ""
        ),
    )


def _full_columns(count: int | None) -> str:
    if count is None:
        return FULL_COLUMNS
    return f"partitions into {count} full column{'s' if count > 1 else ''}"


def _rule(name: str) -> Callable[[Request], Floorplan]:
    def follow(request: Request) -> Floorplan:
        plan, _ = engine.partition_rule(name, request.areas, request.aspect)
        return laid_out(
            plan, request, columns_of(plan) if name in ("rows", "kalinov-lastovetsky") else ()
        )

    return follow


def _contiguous(request: Request) -> Floorplan:
    if request.sides is None:
        raise ValueError('method "contiguous" needs shape, because it distributes whole cells')
    if request.sides[0] * request.sides[1] > 2**53:
        raise InfeasibleError(
            f'method "contiguous" is for at most 2**53 cells, and shape {request.sides} has more'
        )
    workers, cells = engine.partition_contiguous(*request.sides, request.areas)
    pieces = np.column_stack((workers.astype(np.int64), cells))
    return of_pieces(np.empty(0, np.int32), pieces, request)


def _most(method: str, largest: bool) -> int:
    """Most workers of a method."""
    return {
        "interval": engine.LARGEST_MOST if largest else MOST_CUT,
        "guillotine": engine.LARGEST_EXACT if largest else engine.GUILLOTINE_MOST,
        "nonrectangular": engine.AROUND_MOST,
    }[method]


def _at_most(method: str, request: Request) -> None:
    limit = _most(method, request.objective == "max")
    if request.size > limit:
        aim = ' with objective "max"' if request.objective == "max" else ""
        raise InfeasibleError(
            f'method "{method}"{aim} is for up to {limit} workers, areas has {request.size}'
        )


@contextlib.contextmanager
def _told_apart(method: str) -> Iterator[None]:
    """Raise InfeasibleError if the engine gives up.

    It keeps all forms that a zone may have, and gives up if there are too many.
    """
    try:
        yield
    except NotImplementedError:
        raise InfeasibleError(
            f'method "{method}" would not end: link_costs or areas are too far apart, or have too'
            ' few values, for so many workers. Use "columns" or "best"'
        ) from None


def _interval(request: Request) -> Floorplan:
    _at_most("interval", request)
    if request.objective == "max":
        plan, _ = engine.partition_narrow(
            request.areas, request.weights, request.aspect, _sorted(request.areas)
        )
        return laid_out(plan, request)
    group_cost = request.group_cost if request.groups is not None else 0.0
    with _told_apart("interval"):
        plan, _ = engine.partition_interval(
            request.areas, request.weights, request.aspect, None, request.groups, group_cost
        )
    within = "" if request.groups is None else " of each group and of the groups"
    return laid_out(
        plan, request, scope=f"guillotine partitions of the list{within} sorted by area"
    )


def _guillotine(request: Request) -> Floorplan:
    size = request.size
    _at_most("guillotine", request)
    if request.objective == "max":
        plan, _ = engine.partition_narrow(request.areas, request.weights, request.aspect)
        return laid_out(plan, request, scope="guillotine partitions")
    with _told_apart("guillotine"):
        plan, _ = engine.partition_guillotine(
            request.areas, request.weights, request.aspect, size <= _WHEELS
        )
    scope = "guillotine partitions"
    if size <= _WHEELS:  # up to six workers, a tiling without a straight cut is a pinwheel
        scope = "partitions into rectangles" if size <= 6 else "guillotine and pinwheel partitions"
    return laid_out(plan, request, scope=scope)


def _nonrectangular(request: Request) -> Floorplan:
    _at_most("nonrectangular", request)
    found = [("nonrectangular", laid_out(plan, request)) for plan in _around_plans(request)]
    return _least(found, request)[1]


def _around_plans(request: Request) -> Iterator[Plan]:
    yield engine.partition_around(request.areas, request.weights, request.aspect)[0]
    # "snrpp" puts zones around other zones in ways that a list does not allow
    yield engine.partition_rule("snrpp", request.areas, request.aspect)[0]
    if 2 < request.size <= _ALL_ORDERS:
        for order in itertools.permutations(np.flatnonzero(request.areas > 0).tolist()):
            given = np.array(order, np.int32)
            yield engine.partition_around(request.areas, request.weights, request.aspect, given)[0]


def _best(request: Request) -> tuple[str, Floorplan]:
    """The method that found the best floorplan, and the floorplan.

    The name is "search" if a search over orders improved the best floorplan before it.
    """
    size, largest = request.size, request.objective == "max"
    if request.groups is not None:
        return "interval", _interval(request)
    found = []  # methods that prove more come first: the first of equals is taken
    for name, most in (("guillotine", 7 if largest else _ALL_CUTS), ("interval", _INTERVAL)):
        with contextlib.suppress(InfeasibleError):
            if size <= most:
                found.append((name, METHODS[name](request)))
    found += [(name, METHODS[name](request)) for name in ("columns", *engine.RULES)]
    if size > _INTERVAL and (reach := math.isqrt(_CUTS // size)) >= _FEWEST and not largest:
        with contextlib.suppress(InfeasibleError):
            found.append(("interval", _some_intervals(request, reach)))
    if largest:
        name, plan = _best(replace(request, objective="sum"))
        found.append((name, laid_out(plan.plan, request)))
    elif size > _ALL_CUTS or request.budget is not None:
        found += [
            ("search", laid_out(plan, request))
            for plan in _searched(request, _least(found, request)[1].plan)
        ]
    if 1 < size <= _AROUND:
        found.append(("nonrectangular", _nonrectangular(request)))
    elif size > _AROUND and not largest:
        found.append(("nonrectangular", laid_out(_around_the_largest(request), request)))
    return _least(found, request)


def _some_intervals(request: Request, reach: int) -> Floorplan:
    """Some of the cuts of "interval", without a scope.

    The list is made coarser until `reach` cells are left.
    """
    with _told_apart("interval"):
        plan, _ = engine.partition_interval(
            request.areas, request.weights, request.aspect, reach=reach
        )
    return laid_out(plan, request)


def _around_the_largest(request: Request) -> Plan:
    """The largest zone around full columns of the other zones, which lie in its corner."""
    owner = int(np.argmax(request.areas))
    others = np.array(request.areas)
    others[owner] = 0.0
    plan = of_columns(*engine.partition_columns(others, 1.0, request.size, request.size))
    return np.concatenate((plan, np.array([owner, AROUND], np.int32)))


def _searched(request: Request, plan: Plan) -> Iterator[Plan]:
    """Floorplans found by searches from the given one.

    It is one search of a fixed length, or as many searches as the budget allows.
    """
    if (plan < ABOVE).any():
        return
    size, seed = request.size, request.seed
    evaluations = min(_EVALUATIONS * size, _EFFORT // size)
    end = None if request.budget is None else time.monotonic() + request.budget
    while True:
        start = time.monotonic()
        plan, seed, _ = engine.partition_search(
            request.areas, request.weights, request.aspect, plan, seed, evaluations, 0.5 / size**2
        )
        yield plan
        took = time.monotonic() - start
        if end is None or time.monotonic() >= end:
            return
        evaluations = max(
            1000, int(min(evaluations, evaluations * (end - time.monotonic()) / max(took, 1e-6)))
        )


def _least(found: list[tuple[str, Floorplan]], request: Request) -> tuple[str, Floorplan]:
    """The floorplan of least cost, the first of equals.

    In a matrix, only floorplans with a load within 5 % of the best balanced one count.
    """
    if request.sides is not None:
        loads = [_load(f, request) for _, f in found]
        found = [pair for pair, load in zip(found, loads, strict=True) if load <= 1.05 * min(loads)]
    least = min(f.cost for _, f in found)
    return next(pair for pair in found if pair[1].cost <= least * (1 + 1e-12))


def _load(found: Floorplan, request: Request) -> float:
    """The largest ratio of cells given to cells asked for."""
    given = found.areas / found.areas.sum()
    return float((given / np.where(request.areas > 0, request.areas, np.inf)).max())


def _sorted(areas: NDArray[np.float64]) -> NDArray[np.int32]:
    order = np.argsort(areas, kind="stable").astype(np.int32)
    return order[areas[order] > 0]


METHODS: dict[str, Callable[[Request], Floorplan]] = {
    "best": lambda request: _best(request)[1],
    "columns": _columns,
    "interval": _interval,
    "guillotine": _guillotine,
    "nonrectangular": _nonrectangular,
    "contiguous": _contiguous,
    **{name: _rule(name) for name in engine.RULES},
}


def slow_methods(size: int, matrix: bool, groups: bool, largest: bool) -> dict[str, str]:
    """Methods that cannot plan for `size` workers of positive area in about a second, and why.

    Methods that do not work with (or without) a matrix, groups, or objective "max" are included.
    """
    if groups:
        return {
            method: "does not take groups"
            for method in METHODS
            if method not in ("best", "interval")
        }
    limits = {
        "interval": _INTERVAL,
        "guillotine": 7 if largest else _ALL_CUTS,
        "nonrectangular": _AROUND,
    }
    slow = {
        method: (
            f"slow for more than {limit} workers, got {size}: name it in methods to use it"
            if size <= (most := _most(method, largest))
            else f"for at most {most} workers, got {size}"
        )
        for method, limit in limits.items()
        if size > limit
    }
    return (
        slow
        if matrix
        else {**slow, "contiguous": "needs shape, because it distributes whole cells"}
    )
