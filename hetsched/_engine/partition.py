"""csrc/partition: rectangles and cuboids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ffi import (
    LONG,
    cancellable,
    certificate,
    check_status,
    doubles,
    effort,
    ffi,
    int32s,
    int64s,
    lib,
    or_null,
)
from .rows import over_rows


def partition_columns(
    areas: NDArray[np.float64], aspect: float, max_columns: int, max_rows: int, min_columns: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """order and column_start of hs_partition_columns."""
    p = len(areas)
    order, starts = np.empty(p, np.int32), np.empty(p + 1, np.int32)
    columns, cost = ffi.new("int32_t *"), ffi.new("double *")
    given = (p, doubles(areas), aspect, min_columns, max_columns, max_rows)
    found = (int32s(order), int32s(starts), columns, cost)
    cancellable(lambda cancel: lib.hs_partition_columns(*given, cancel, *found), p > LONG // 2)
    starts = starts[: columns[0] + 1].copy()
    return order[: starts[-1]].copy(), starts


#: The operators of a floorplan.
BESIDE: int = lib.HS_BESIDE
ABOVE: int = lib.HS_ABOVE
WHEEL: int = lib.HS_WHEEL
AROUND: int = lib.HS_AROUND
CORNERS: int = lib.HS_CORNERS

#: The numbers of hs_batch_method, by the names that `partition` gives them.
BATCHED = {"columns": lib.HS_BATCH_COLUMNS, "interval": lib.HS_BATCH_INTERVAL}


def is_brief_batch(method: str, rows: int, p: int) -> bool:
    """Whether `partition_batch` takes less time than the start of threads for it."""
    return rows * p * (1 if method == "columns" else p * p) <= LONG


def partition_batch(
    method: str,
    areas: NDArray[np.float64],
    threads: int,
    progress: Callable[[float], object] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(rows, p, 4) rectangles and (rows,) bounds of hs_partition_batch; method is one of
    BATCHED."""
    rows, p = areas.shape
    rects, bounds = np.empty((rows, p, 4)), np.empty(rows)
    inputs, zones, least = doubles(areas.reshape(-1)), doubles(rects.reshape(-1)), doubles(bounds)

    def call(first: int, last: int, cancel: Any) -> int:
        own = inputs + first * p, cancel, zones + 4 * first * p, least + first
        return lib.hs_partition_batch(BATCHED[method], last - first, p, *own)  # type: ignore[no-any-return]

    over_rows(call, rows, threads, progress)
    return rects, bounds


def column_sides(
    areas: NDArray[np.float64], order: NDArray[np.int32], starts: NDArray[np.int32]
) -> NDArray[np.float64]:
    """(p, 2) heights and widths of hs_column_sides."""
    sides = np.empty((len(areas), 2))
    p, columns = len(areas), len(starts) - 1
    given = p, doubles(areas), int32s(order, int(starts[-1])), int32s(starts), columns
    check_status(lib.hs_column_sides(*given, doubles(sides.reshape(-1))))
    return sides


def floorplan_rects(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    plan: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.float64], float]:
    """Workers, rectangles (q, 4) and cost of hs_floorplan_rects."""
    p = len(areas)
    workers, rects = np.empty(2 * p, np.int32), np.empty((2 * p, 4))
    pieces, cost = ffi.new("int32_t *"), ffi.new("double *")
    check_status(
        lib.hs_floorplan_rects(
            p, doubles(areas), or_null(weights, doubles, p), aspect, int32s(plan), len(plan),
            int32s(workers), doubles(rects.reshape(-1)), pieces, cost,
        )
    )  # fmt: skip
    return workers[: pieces[0]], rects[: pieces[0]], cost[0]


def floorplan_tile(
    m: int, n: int, areas: NDArray[np.float64], plan: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Workers and integer rectangles (q, 4) of hs_floorplan_tile."""
    p = len(areas)
    workers, rects = np.empty(2 * p, np.int32), np.empty((2 * p, 4), np.int64)
    pieces = ffi.new("int32_t *")
    given = m, n, p, doubles(areas), int32s(plan), len(plan)
    found = int32s(workers), int64s(rects.reshape(-1)), pieces
    cancellable(lambda cancel: lib.hs_floorplan_tile(*given, cancel, *found), p > 1000)
    return workers[: pieces[0]], rects[: pieces[0]]


def _floorplan(
    function: Any,
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    *rest: Any,
    long: bool,
) -> tuple[NDArray[np.int32], float]:
    p = len(areas)
    plan, length, cost = np.empty(2 * p, np.int32), ffi.new("int32_t *"), ffi.new("double *")
    given = p, doubles(areas), or_null(weights, doubles, p), aspect, *rest
    cancellable(lambda cancel: function(*given, cancel, int32s(plan), length, cost), long)
    return plan[: length[0]].copy(), cost[0]


def _order(areas: NDArray[np.float64], order: NDArray[np.int32] | None) -> Any:
    """The order of the workers with a positive area, if it is given."""
    return or_null(order, int32s, int(np.count_nonzero(areas)))


def partition_interval(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    order: NDArray[np.int32] | None = None,
    groups: NDArray[np.int32] | None = None,
    group_weight: float = 0.0,
    reach: int = 0,
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_interval."""
    rest = _order(areas, order), or_null(groups, int32s, len(areas)), group_weight, reach
    return _floorplan(
        lib.hs_partition_interval, areas, weights, aspect, *rest, long=len(areas) > 60
    )


def partition_guillotine(
    areas: NDArray[np.float64], weights: NDArray[np.float64] | None, aspect: float, wheels: bool
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_guillotine."""
    return _floorplan(
        lib.hs_partition_guillotine,
        areas,
        weights,
        aspect,
        wheels,
        long=len(areas) > (7 if wheels else 11),
    )


def partition_around(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    order: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_nonrectangular."""
    rest = _order(areas, order)
    return _floorplan(
        lib.hs_partition_nonrectangular, areas, weights, aspect, rest, long=len(areas) > 40
    )


def partition_narrow(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    order: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and largest half perimeter of hs_partition_largest."""
    rest = _order(areas, order)
    return _floorplan(lib.hs_partition_largest, areas, weights, aspect, rest, long=len(areas) > 9)


def partition_search(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    plan: NDArray[np.int32],
    seed: int,
    evaluations: int,
    temperature: float,
) -> tuple[NDArray[np.int32], int, float]:
    """Floorplan, state of the random numbers and cost: hs_partition_search on a guillotine plan."""
    plan, state, cost = plan.copy(), ffi.new("uint64_t *", seed), ffi.new("double *")
    p = len(areas)
    given = p, doubles(areas), or_null(weights, doubles, p), aspect, evaluations, temperature
    found = int32s(plan), len(plan), state, cost
    cancellable(lambda cancel: lib.hs_partition_search(*given, cancel, *found), True)
    return plan, state[0], cost[0]


# The numbers of hs_rule, by the names that `partition` gives them.
RULES = {
    "rows": lib.HS_RULE_ROWS,
    "kalinov-lastovetsky": lib.HS_RULE_KALINOV_LASTOVETSKY,
    "recursive": lib.HS_RULE_RECURSIVE,
    "nagamochi-abe": lib.HS_RULE_NAGAMOCHI_ABE,
    "snrpp": lib.HS_RULE_SNRPP,
    "kaddoura": lib.HS_RULE_KADDOURA,
}


def partition_rule(
    rule: str, areas: NDArray[np.float64], aspect: float = 1.0
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_rule; rule is one of RULES."""
    plan = np.empty(2 * len(areas), np.int32)
    length, cost = ffi.new("int32_t *"), ffi.new("double *")
    given = (RULES[rule], len(areas), doubles(areas), aspect)
    found = (int32s(plan), length, cost)
    cancellable(lambda cancel: lib.hs_partition_rule(*given, cancel, *found), len(areas) > LONG)
    return plan[: length[0]].copy(), cost[0]


def partition_contiguous(
    m: int, n: int, areas: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The worker and the (row, col, height, width) of each piece of hs_partition_contiguous."""
    p = len(areas)
    workers, rects = np.empty(3 * p, np.int32), np.empty((3 * p, 4), np.int64)
    pieces = ffi.new("int32_t *")
    given, found = (m, n, p, doubles(areas)), (int32s(workers), int64s(rects.reshape(-1)), pieces)
    cancellable(lambda cancel: lib.hs_partition_contiguous(*given, cancel, *found), p > LONG)
    return workers[: pieces[0]].copy(), rects[: pieces[0]].copy()


def zones_bound(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    height: float,
    width: float,
    largest: bool,
) -> float:
    """hs_zones_bound."""
    bound = ffi.new("double *")
    p = len(areas)
    check_status(
        lib.hs_zones_bound(
            p, doubles(areas), or_null(weights, doubles, p), height, width, largest, bound
        )
    )
    return bound[0]  # type: ignore[no-any-return]


CUBOIDS_EXACT: int = lib.HS_CUBOIDS_EXACT
#: Most workers of hs_partition_interval, hs_partition_guillotine (without and with wheels),
#: hs_partition_nonrectangular and hs_partition_largest (at all, and exact).
INTERVAL_MOST: int = lib.HS_INTERVAL_MOST
GUILLOTINE_MOST: int = lib.HS_GUILLOTINE_MOST
WHEELS_MOST: int = lib.HS_WHEELS_MOST
AROUND_MOST: int = lib.HS_AROUND_MOST
LARGEST_MOST: int = lib.HS_LARGEST_MOST
LARGEST_EXACT: int = lib.HS_LARGEST_EXACT


_CUBOIDS = {
    "best": lib.HS_CUBOIDS_BEST,
    "guillotine": lib.HS_CUBOIDS_GUILLOTINE,
    "interval": lib.HS_CUBOIDS_INTERVAL,
    "layers": lib.HS_CUBOIDS_LAYERS,
    "rectangles": lib.HS_CUBOIDS_RECTANGLES,
    "search": lib.HS_CUBOIDS_SEARCH,
}
_CUBOIDS_NAMES = {number: name for name, number in _CUBOIDS.items()}


def cuboids_best(
    volumes: NDArray[np.float64],
    weights: tuple[float, float, float],
    shape: tuple[int, int, int] | None,
    method: str,
    orders: int | None,
    seed: int,
) -> tuple[str, NDArray[np.float64] | NDArray[np.int64], dict[str, Any]]:
    """Method, (p, 6) boxes and certificate of hs_cuboids_best. orders: None for the default."""
    p = len(volumes)
    boxes: NDArray[np.float64] | NDArray[np.int64]
    if shape is None:
        boxes = np.empty((p, 6))
        places = doubles(boxes.reshape(-1)), ffi.NULL
    else:
        boxes = np.empty((p, 6), np.int64)
        places = ffi.NULL, int64s(boxes.reshape(-1))
    problem = ffi.new("hs_cuboids *", (p, doubles(volumes), *weights, *(shape or (0, 0, 0))))
    tried = 0 if orders is None else orders or -1
    found, proof = ffi.new("hs_cuboids_method *"), ffi.new("hs_certificate *")
    given = problem, _CUBOIDS[method], tried, effort(seed, None)
    cancellable(lambda cancel: lib.hs_cuboids_best(*given, cancel, found, *places, proof), p > 8)
    return _CUBOIDS_NAMES[found[0]], boxes, certificate(proof, "cost")
