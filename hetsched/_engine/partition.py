"""csrc/partition: rectangles and cuboids."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
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
from .rows import RowError, over_rows

#: The operators of a floorplan.
BESIDE: int = lib.HS_BESIDE
ABOVE: int = lib.HS_ABOVE
WHEEL: int = lib.HS_WHEEL
AROUND: int = lib.HS_AROUND
CORNERS: int = lib.HS_CORNERS

#: The numbers of hs_partition_method, by the names that `partition` gives them.
METHODS: dict[str, int] = {
    "best": lib.HS_PARTITION_BEST,
    "columns": lib.HS_PARTITION_COLUMNS,
    "interval": lib.HS_PARTITION_INTERVAL,
    "guillotine": lib.HS_PARTITION_GUILLOTINE,
    "nonrectangular": lib.HS_PARTITION_NONRECTANGULAR,
    "contiguous": lib.HS_PARTITION_CONTIGUOUS,
    "rows": lib.HS_PARTITION_ROWS,
    "kalinov-lastovetsky": lib.HS_PARTITION_KALINOV_LASTOVETSKY,
    "recursive": lib.HS_PARTITION_RECURSIVE,
    "nagamochi-abe": lib.HS_PARTITION_NAGAMOCHI_ABE,
    "snrpp": lib.HS_PARTITION_SNRPP,
    "kaddoura": lib.HS_PARTITION_KADDOURA,
    "mohammadi-behroozi": lib.HS_PARTITION_MOHAMMADI_BEHROOZI,
    "search": lib.HS_PARTITION_SEARCH,
    "given": lib.HS_PARTITION_GIVEN,
}
_NAMES = {number: name for name, number in METHODS.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """An hs_partition without its areas.

    sides : rows and columns of a matrix, or None for the unit square.
    floorplan : the floorplan for method "given" without rectangles.
    """

    method: str
    sides: tuple[int, int] | None = None
    largest: bool = False
    weights: NDArray[np.float64] | None = None
    groups: NDArray[np.int32] | None = None
    group_cost: float = 0.0
    columns: int | None = None
    floorplan: NDArray[np.int32] | None = None

    def of(
        self, areas: NDArray[np.float64], rects: NDArray[np.float64] | None
    ) -> tuple[Any, tuple[Any, ...]]:
        """The hs_partition for the areas (..., p) and the rectangles (..., p, k, 4) of one set of
        workers or of several, and the objects that must stay alive with it."""
        p = areas.shape[-1]
        m, n = self.sides or (0, 0)
        floorplan = self.floorplan
        each = 0 if rects is None else rects.shape[-2]
        fields = (
            p,
            doubles(areas.reshape(-1)),
            METHODS[self.method],
            m,
            n,
            self.largest,
            or_null(self.weights, doubles, p),
            or_null(self.groups, int32s, p),
            self.group_cost,
            self.columns or 0,
            ffi.NULL if rects is None else doubles(rects.reshape(-1), areas.size * each * 4),
            each,
            or_null(floorplan, int32s),
            0 if floorplan is None else len(floorplan),
        )
        return ffi.new("hs_partition *", fields), fields


class Zones:
    """An hs_partition_plan and its certificate, for p workers with at most `each` pieces."""

    def __init__(self, p: int, each: int, matrix: bool) -> None:
        self._ints = np.empty((4 + each) * p + 1, np.int32)
        self._rects: NDArray[Any] = np.empty((each * p, 4), np.int64 if matrix else np.float64)
        self._starts = 2 * p, 3 * p, 4 * p + 1
        ints, rects = int32s(self._ints), self._rects.reshape(-1)
        self.plan = ffi.new("hs_partition_plan *")
        self.plan.plan = ints
        self.plan.order, self.plan.column_start, self.plan.workers = (
            ints + start for start in self._starts
        )
        if matrix:
            self.plan.cells = int64s(rects)
        else:
            self.plan.rects = doubles(rects)
        self.proof = ffi.new("hs_certificate *")

    @property
    def method(self) -> str:
        return _NAMES[self.plan.method]

    @property
    def certificate(self) -> dict[str, Any]:
        return certificate(self.proof, "cost")

    @property
    def floorplan(self) -> tuple[int, ...]:
        return tuple(self._ints[: self.plan.length].tolist())

    @property
    def columns(self) -> tuple[tuple[int, ...], ...]:
        first, second, _ = self._starts
        order = self._ints[first:second].tolist()
        starts = self._ints[second : second + self.plan.columns + 1].tolist()
        return tuple(tuple(order[a:b]) for a, b in itertools.pairwise(starts))

    @property
    def pieces(self) -> NDArray[Any]:
        """(pieces, 5) worker, row, col, height, width."""
        count, first = self.plan.pieces, self._starts[2]
        pieces = np.empty((count, 5), self._rects.dtype)
        pieces[:, 0] = self._ints[first : first + count]
        pieces[:, 1:] = self._rects[:count]
        return pieces


#: Most workers for which a method takes some ten milliseconds.
_BRIEF = {"best": 4, "interval": 60, "guillotine": 7, "nonrectangular": 4}


def _is_long(problem: Problem, p: int, seconds: float | None) -> bool:
    brief = _BRIEF.get(problem.method, LONG // 2 if problem.sides is None else 1000)
    if problem.method == "given":
        brief = 1000
    return seconds is not None or p > (min(brief, 9) if problem.largest else brief)


def partition_best(
    problem: Problem,
    areas: NDArray[np.float64],
    rects: NDArray[np.float64] | None = None,
    seed: int = 0,
    seconds: float | None = None,
) -> Zones:
    """hs_partition_best."""
    p = len(areas)
    found = Zones(p, 3 if rects is None else max(3, rects.shape[-2]), problem.sides is not None)
    (given, alive), limits = problem.of(areas, rects), effort(seed, seconds)
    cancellable(
        lambda cancel: lib.hs_partition_best(given, limits, cancel, found.plan, found.proof),
        _is_long(problem, p, seconds),
    )
    del alive
    return found


#: Methods that give each worker one rectangle.
_RECTANGLES = frozenset(METHODS) - {"best", "nonrectangular", "contiguous", "snrpp", "given"}


def is_brief_batch(method: str, rows: int, p: int) -> bool:
    """Whether `partition_batch` takes less time than the start of threads for it."""
    if method in ("best", "guillotine", "nonrectangular"):
        return False
    return rows * p * (p * p if method == "interval" else 1) <= LONG


def partition_batch(
    problem: Problem,
    areas: NDArray[np.float64],
    rects: NDArray[np.float64] | None,
    seed: int,
    seconds: float | None,
    threads: int,
    progress: Callable[[float], object] | None,
) -> dict[str, NDArray[Any]]:
    """hs_partition_batch of areas (rows, p) and rectangles (rows, p, k, 4): cost, bound, optimal.

    It includes the zones' rects (rows, p, 4) in the unit square, if the method gives each worker
    one rectangle. RowError if the engine refuses a row.
    """
    rows, p = areas.shape
    costs, bounds, optimal = np.empty(rows), np.empty(rows), np.empty(rows, np.int32)
    zones = None
    if problem.sides is None and problem.method in _RECTANGLES:
        zones = np.empty((rows, p, 4))
    limits = effort(seed, seconds)

    def call(first: int, last: int, cancel: Any) -> int:
        own, failed = slice(first, last), ffi.new("int64_t *")
        given, alive = problem.of(areas[own], None if rects is None else rects[own])
        drawn = ffi.NULL if zones is None else doubles(zones[own].reshape(-1))
        found = doubles(costs[own]), doubles(bounds[own]), int32s(optimal[own]), drawn, failed
        status = lib.hs_partition_batch(last - first, given, limits, cancel, *found)
        del alive
        try:
            check_status(status)
        except (ValueError, NotImplementedError) as error:
            raise RowError(first + failed[0]) from error
        return 0

    over_rows(call, rows, threads, progress)
    found = {"cost": costs, "bound": bounds, "optimal": optimal.astype(np.bool_)}
    return found if zones is None else {**found, "rects": zones}


def zones_spans(p: int, pieces: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(p, 2) spans and (p,) areas of hs_zones_spans, of pieces (q, 5)."""
    spans, areas = np.empty((p, 2)), np.empty(p)
    workers = pieces[:, 0].astype(np.int32)
    rects = pieces[:, 1:].astype(np.float64).reshape(-1)
    given = p, len(pieces), int32s(workers), doubles(rects)
    check_status(lib.hs_zones_spans(*given, doubles(spans.reshape(-1)), doubles(areas)))
    return spans, areas


#: The numbers of hs_profile_method, by the names of the methods of `partition_profile`.
PROFILES: dict[str, int] = {
    "best": lib.HS_PROFILE_BEST,
    "columns": lib.HS_PROFILE_COLUMNS,
    "rows": lib.HS_PROFILE_ROWS,
    "guillotine": lib.HS_PROFILE_GUILLOTINE,
}


def partition_profile(
    times: NDArray[np.float64], method: str, seed: int, seconds: float | None
) -> tuple[NDArray[np.int64], str, dict[str, Any]]:
    """(p, 4) zones, the method and the certificate of hs_partition_profile for (p, m, n) times."""
    p, m, n = times.shape
    cells = np.empty((p, 4), np.int64)
    found, proof = ffi.new("hs_profile_method *"), ffi.new("hs_certificate *")
    given = m, n, p, doubles(times.reshape(-1)), PROFILES[method], effort(seed, seconds)
    results = found, int64s(cells.reshape(-1)), proof
    cancellable(lambda cancel: lib.hs_partition_profile(*given, cancel, *results), True)
    made = next(name for name, number in PROFILES.items() if number == found[0])
    return cells, made, certificate(proof, "makespan")


def partition_profile_certificate(
    times: NDArray[np.float64], cells: NDArray[np.int64]
) -> dict[str, Any]:
    """hs_partition_profile_certificate for (p, m, n) times and (p, 4) zones."""
    p, m, n = times.shape
    proof = ffi.new("hs_certificate *")
    given = m, n, p, doubles(times.reshape(-1)), int64s(cells.reshape(-1), 4 * p)
    cancellable(
        lambda cancel: lib.hs_partition_profile_certificate(*given, cancel, proof),
        times.size > LONG,
    )
    return certificate(proof, "makespan")


def zone_times(
    heights: NDArray[np.float64],
    widths: NDArray[np.float64],
    points: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """(m, n) times of hs_zone_times, from points (heights, widths)."""
    times = np.empty(shape)
    rows, cols = points.shape
    sizes = doubles(heights, rows), doubles(widths, cols)
    given = rows, cols, *sizes, doubles(np.ascontiguousarray(points).reshape(-1))
    check_status(lib.hs_zone_times(*given, *shape, doubles(times.reshape(-1))))
    return times


#: The kinds of hs_flaw.
OUTSIDE, OVERLAP, AREA = lib.HS_FLAW_OUTSIDE, lib.HS_FLAW_OVERLAP, lib.HS_FLAW_AREA


def zones_flaw(
    m: float, n: float, near: float, rects: NDArray[np.float64]
) -> tuple[int, tuple[int, int]]:
    """The flaw, 0 if there is none, and the rectangles of hs_zones_flaw, of rectangles (q, 4)."""
    flaw, at = ffi.new("int32_t *"), ffi.new("int32_t[2]")
    given = m, n, near, len(rects), doubles(rects.reshape(-1))
    cancellable(lambda cancel: lib.hs_zones_flaw(*given, cancel, flaw, at), len(rects) > 1000)
    return flaw[0], (at[0], at[1])


CUBOIDS_EXACT: int = lib.HS_CUBOIDS_EXACT
#: Most workers for which hs_partition_best tries these methods.
TRIED = {
    "interval": lib.HS_BEST_INTERVAL,
    "guillotine": lib.HS_BEST_GUILLOTINE,
    "nonrectangular": lib.HS_BEST_NONRECTANGULAR,
}
#: Most workers of hs_partition_interval, hs_partition_guillotine, hs_partition_nonrectangular and
#: hs_partition_largest (at all, and exact).
INTERVAL_MOST: int = lib.HS_INTERVAL_MOST
GUILLOTINE_MOST: int = lib.HS_GUILLOTINE_MOST
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
