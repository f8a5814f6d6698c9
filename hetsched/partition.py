"""Two-dimensional partition: rectangles of given areas that tile a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check, _engine
from .errors import InfeasibleError
from .plan import Plan, Step, names_of, proven, relative_speeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .platform import Platform

METHODS = ("columns", "rows")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Partition(Plan):
    """Rectangles that tile the unit square, or an m x n matrix.

    Attributes
    ----------
    rects : (p, 4) array
        row, col, height, width of each worker's rectangle: float64 in the unit square, int64 in a matrix. All zero for a
        worker that gets nothing.
    columns : tuple of tuple of int
        The workers of each column, left to right, top to bottom.
    cost : float
        Sum of the half perimeters (height + width) of all rectangles.
    areas : (p,) float64 array
        The areas asked for, scaled to sum 1.
    shape : (int, int) or None
        The matrix, in rows and columns; None for the unit square.
    cycle_times : (p,) float64 array
        Time per cell of the matrix (or for the whole square): the platform's, or 1 / area.
    names : tuple of str
        The platform's, or P0, P1, ...
    """

    rects: NDArray[np.float64] | NDArray[np.int64]
    columns: tuple[tuple[int, ...], ...]
    cost: float
    areas: NDArray[np.float64]
    shape: tuple[int, int] | None
    cycle_times: NDArray[np.float64]
    names: tuple[str, ...]

    _value: ClassVar[str] = "cost"

    @property
    def worker_names(self) -> tuple[str, ...]:
        return self.names

    @cached_property
    def actual_areas(self) -> NDArray[np.float64]:
        """(p,) the areas of the rectangles, as shares of the whole."""
        cells = self.rects[:, 2].astype(np.float64) * self.rects[:, 3]
        return cells if self.shape is None else cells / (self.shape[0] * self.shape[1])

    @property
    def imbalance(self) -> float:
        """Largest actual area / asked area: 1.0 is perfect balance; integer cuts cost a little."""
        given = self.areas > 0
        return float((self.actual_areas[given] / self.areas[given]).max())

    def steps(self) -> list[Step]:
        cells = 1 if self.shape is None else self.shape[0] * self.shape[1]
        steps = []
        for i, (_, _, height, width) in enumerate(self.rects.tolist()):
            area, time = float(self.actual_areas[i]), float(self.cycle_times[i])
            if area > 0:  # a time that overflows is 1 / area of a sliver
                duration = area * cells * time if math.isfinite(time) else cells * area / float(self.areas[i])
                steps.append(Step(i, "compute", 0.0, duration, f"{height:.4g} x {width:.4g}"))
        return steps

    def plot(self, ax: Axes | None = None) -> Axes:
        from .plot import plot_partition

        return plot_partition(self, ax)


def partition(areas: Platform | ArrayLike, method: str = "columns", shape: tuple[int, int] | None = None) -> Partition:
    """Tile a square or a matrix with one rectangle per worker, of given areas and small half perimeters.

    In a matrix product over the rectangles of C, a worker receives as much of A and B as the half perimeter of its
    rectangle: the cost is the communication.

    Parameters
    ----------
    areas : (p,) array_like or Platform
        Relative areas, >= 0, at least one positive; of a Platform the speeds.
    method : {"columns", "rows"}
        "columns": full columns of rectangles, the best of that kind. "rows": horizontal slices.
    shape : (m, n), optional
        Tile an m x n matrix exactly, with integer rectangles. At least one cell per worker is needed; a worker whose share
        rounds to nothing gets nothing.

    Returns
    -------
    Partition
        lower_bound is 2 sum(sqrt(area)): every rectangle is at best a square. For a matrix the areas are those of the
        integer rectangles.

    Raises
    ------
    ValueError, TypeError
        For NaN, negative or infinite areas, an unknown method, a shape that is not two positive integers.
    InfeasibleError
        For more workers than cells.

    Notes
    -----
    Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 3.2; the recurrence is solved in O(p log p).

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.partition([0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3])
    >>> round(plan.cost, 9), len(plan.columns)
    (5.5, 3)
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    platform_times: NDArray[np.float64] | None = getattr(areas, "cycle_times", None)
    if platform_times is None:
        given = _check.vector("areas", areas)
    else:
        given = areas.speeds if np.isfinite(areas.speeds).all() else relative_speeds(platform_times)  # type: ignore[union-attr]
    bad = ~((given >= 0) & np.isfinite(given))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"areas[{i}] must be finite and not negative, got {given[i]:g}")
    if not (given > 0).any():
        raise ValueError("areas are all zero")
    with np.errstate(over="ignore"):
        scaled = given / given.max()
    scaled /= scaled.sum()
    with np.errstate(divide="ignore", over="ignore"):
        times = 1.0 / scaled if platform_times is None else platform_times

    p = len(scaled)
    sides = None if shape is None else _shape(shape, int((scaled > 0).sum()))
    m, n = sides or (p, p)
    if method == "rows":
        order = np.flatnonzero(scaled > 0).astype(np.int32)
        starts = np.array([0, len(order)], np.int32)
    else:
        order, starts = _engine.partition_columns(scaled, min(n, p), min(m, p))

    if sides is None:
        rects: NDArray[np.float64] | NDArray[np.int64] = _unit_rects(scaled, order, starts)
    else:
        rects = _engine.tile_columns(*sides, scaled, order, starts)
    enrolled = (rects[:, 2] > 0) & (rects[:, 3] > 0)
    columns = (tuple(w for w in order[a:b].tolist() if enrolled[w]) for a, b in zip(starts[:-1], starts[1:], strict=True))
    cost = float((rects[:, 2] + rects[:, 3])[enrolled].sum())
    bound = 2.0 * float(np.sqrt(rects[:, 2].astype(np.float64) * rects[:, 3]).sum())
    return Partition(
        method=method,
        lower_bound=min(bound, cost),
        optimal=proven(cost, bound),
        scope="partitions into full columns" if method == "columns" and sides is None else "",
        rects=_check.frozen(rects),
        columns=tuple(filter(None, columns)),
        cost=cost,
        areas=_check.frozen(scaled),
        shape=sides,
        cycle_times=_check.frozen(times),
        names=names_of(areas, p),
    )


def _shape(shape: tuple[int, int], workers: int) -> tuple[int, int]:
    try:
        m, n = shape
    except (TypeError, ValueError):
        raise TypeError(f"shape must be a pair of integers, got {shape!r}") from None
    m, n = _check.integer("shape[0]", m, low=1), _check.integer("shape[1]", n, low=1)
    if workers > m * n:
        raise InfeasibleError(f"shape ({m}, {n}) has {m * n} cells, fewer than the {workers} workers of areas")
    return m, n


def _unit_rects(areas: NDArray[np.float64], order: NDArray[np.int32], starts: NDArray[np.int32]) -> NDArray[np.float64]:
    rects = np.zeros((len(areas), 4))
    left = 0.0
    for first, end in zip(starts[:-1], starts[1:], strict=True):
        members = order[first:end]
        cuts = np.concatenate(([0.0], np.cumsum(areas[members])))
        width = cuts[-1]
        rects[members, 0] = cuts[:-1] / width
        rects[members, 1] = left
        rects[members, 2] = areas[members] / width
        rects[members, 3] = width
        left = math.fsum((left, width))
    return rects
