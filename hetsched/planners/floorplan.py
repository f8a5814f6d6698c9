"""Floorplans and zones: the methods of `partition`, their limits, and what zones measure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import schema
from .._engine import partition as engine

BESIDE, ABOVE, WHEEL = engine.BESIDE, engine.ABOVE, engine.WHEEL
AROUND, CORNERS = engine.AROUND, engine.CORNERS
FULL_COLUMNS = "partitions into full columns"

#: The methods of `partition`.
METHODS = tuple(name for name in engine.METHODS if name not in ("search", "given"))

Plan = NDArray[np.int32]
Pieces = NDArray[np.float64] | NDArray[np.int64]


def zones(pieces: Pieces, p: int) -> NDArray[np.float64]:
    """(p, 2) numbers of rows and columns that the pieces of each worker span."""
    return engine.zones_spans(p, pieces)[0]


def areas_of(pieces: Pieces, p: int) -> NDArray[np.float64]:
    """(p,) area of each worker's pieces."""
    return engine.zones_spans(p, pieces)[1]


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


def most_workers(method: str, largest: bool) -> int | None:
    """Most workers of positive area that a method takes; None if it takes any number."""
    return {
        "interval": engine.LARGEST_MOST if largest else engine.INTERVAL_MOST,
        "guillotine": engine.LARGEST_EXACT if largest else engine.GUILLOTINE_MOST,
        "nonrectangular": engine.AROUND_MOST,
    }.get(method)


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
    limits = {**engine.TRIED, **({"guillotine": engine.LARGEST_EXACT} if largest else {})}
    slow = {
        method: (
            f"slow for more than {limit} workers, got {size}: name it in methods to use it"
            if size <= (most := most_workers(method, largest) or size)
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
