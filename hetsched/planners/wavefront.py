"""Columns of tiles for workers, where every tile waits for its neighbours above and to the left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine import allocate as engine
from ..plan import Plan, Step, trusted
from ..platform import Platform, whose

METHODS = ("best", "panels", "cyclic")
ORDERS = tuple(engine.ORDERS)
_MOST = 2**53  # most tiles
_MASK = ("W", "N", "NW", "NE", "SW")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Wavefront(Plan):
    """Columns (or rows) of tiles for each worker, and the order in which it computes them.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns of tiles.
    axis : {1, 0}
        The lines that are dealt: columns (1) or rows (0). "Lines" below are columns or rows
        accordingly.
    owner : (lines,) int32 array
        The worker of each line.
    counts : (p,) int64 array
        Lines of each worker.
    period : int
        Lines in a panel.
    redistributed : bool
        Whether the lines left over after the last full panel were distributed anew.
    order : {"across", "along"}
        Order of the tiles in a chunk, a run of neighbouring lines of one worker: across its lines,
        or one line after the other.
    mask : tuple of str
        The neighbours that a tile waits for.
    makespan : float
        In the unit of the cycle-times.
    cycle_times : (p,) float64 array
        Time per tile.
    """

    shape: tuple[int, int]
    axis: int
    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    period: int
    redistributed: bool
    order: str
    mask: tuple[str, ...]
    makespan: float
    cycle_times: NDArray[np.float64]

    _table: ClassVar = {
        "shape": schema.Sizes("rows", "cols", low=1),
        "axis": schema.Integer(0, 1),
        "owner": schema.Array("i4", "lines", high="p - 1"),
        "counts": schema.Array("i8", "p", high="lines"),
        "period": schema.Integer(1, schema.COUNT),
        "redistributed": schema.Flag(),
        "order": schema.Text(*ORDERS),
        "mask": schema.Tuple(schema.Text(*_MASK)),
        "makespan": schema.Real(),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        if len(self.owner) != self.shape[self.axis] or math.prod(self.shape) > _MOST:
            raise ValueError(
                f"owner must have a worker for each line of shape {self.shape}, got"
                f" {len(self.owner)}"
            )
        if self.mask != _mask(self.mask, self.axis):
            raise ValueError(
                "mask must have each neighbour once,"
                f" in the order of {', '.join(_MASK)}, got {self.mask}"
            )
        schema.require_owners("owner", self.owner, self.counts, self.cycle_times)
        schema.require_able("counts", self._load(), self.cycle_times)

    @property
    def reach(self) -> int:
        """How many tiles the line before must be ahead: 1 with "NE" or "SW" in the mask, else 0."""
        return _reach(self.mask)

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """(k, 3) worker, first line and number of lines of each chunk."""
        first = np.concatenate(([0], np.flatnonzero(np.diff(self.owner)) + 1))
        lines = np.diff(np.append(first, len(self.owner)))
        return check.frozen(np.stack((self.owner[first], first, lines), axis=1).astype(np.int64))

    @cached_property
    def _times(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        length = self.shape[1 - self.axis]
        start, end = engine.wavefront_times(
            length, self.owner, self.cycle_times, self.reach, self.order
        )
        start, end = check.frozen(start), check.frozen(end)
        return (start, end) if self.axis == 1 else (check.frozen(start.T), check.frozen(end.T))

    @property
    def starts(self) -> NDArray[np.float64]:
        """(rows, columns) times when each tile starts."""
        return check.frozen(self._times[0])

    def _on(self, platform: Platform) -> Plan:
        length = self.shape[1 - self.axis]
        proof = engine.wavefront_certificate(
            length, self.owner, platform.cycle_times, self.reach, self.order
        )
        return self._carried(platform, proof["makespan"], proof["bound"])

    def _load(self) -> Any:
        """Tiles of each worker."""
        return self.counts * self.shape[1 - self.axis]

    def steps(self) -> list[Step]:
        starts, ends = (times.ravel().tolist() for times in self._times)
        rows, cols = self.shape
        owner = self.owner if self.axis == 1 else self.owner[:, None]
        workers = np.broadcast_to(owner, self.shape).ravel().tolist()
        return [
            Step(w, "compute", starts[at], ends[at], tile_label(at, cols))
            for at, w in enumerate(workers)
        ]


def tile_label(index: int, cols: int) -> str:
    """Text for a tile, counted row by row."""
    row, col = divmod(index, cols)
    return f"tile ({row}, {col})"


def wavefront(
    rows: int,
    cols: int,
    cycle_times: Platform | ArrayLike | None = None,
    period: int | None = None,
    *,
    speeds: ArrayLike | None = None,
    method: str = "best",
    order: str = "across",
    mask: str | Sequence[str] = ("W", "N"),
    axis: int = 1,
) -> Wavefront:
    """Deal columns of tiles to workers, if tiles wait for neighbours above and to the left.

    Parameters
    ----------
    rows, cols : int
        Numbers of rows and columns of equal tiles, >= 1.
    cycle_times : Platform or (p,) array_like
        Time per tile of each worker, > 0. A worker with an infinite cycle-time gets nothing.
    period : int, optional
        Columns in a panel. Default: the best of all periods; of equal ones the longest.
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    method : {"best", "panels", "cyclic"}
        "panels", or "best": each panel is divided by `distribute`. In a panel the workers are
        sorted by ascending time for a row; of equal ones, the first worker comes first. The columns
        left over after the last full panel are the first ones of a panel, or are distributed anew:
        both are simulated, and the better one is kept. "cyclic", for comparison: column j goes to
        worker j mod p, of the workers that can work, whatever its speed.
    order : {"across", "along"}
        Order of the tiles in a chunk, which is neighbouring columns of one worker. "across": row by
        row, so that the workers to the right can go on early (skewed rows with "NE" or "SW" in the
        mask). "along": one column after the other.
    mask : sequence of str, or str
        The neighbours that a tile waits for: "W" and "N", and any of "NW", "NE" (only with axis=0)
        and "SW" (only with axis=1).
    axis : {1, 0}
        Deal columns (1) or rows (0). For rows, read "row" for "column" above, and the other way
        round.

    Returns
    -------
    Wavefront
        lower_bound holds for every way to deal whole columns, and for every order of their tiles.

    Raises
    ------
    ValueError, TypeError
        For arguments outside their ranges, and for "NE" if columns are dealt or "SW" if rows are:
        a column would wait for the one to its right.

    Notes
    -----
    Beaumont, Boudet, Legrand, Rastello, Robert (2001), sections 2.1 and 2.3. The search simulates
    periods in the order of their lower bounds, until no later one can be better.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.wavefront(10, 10, cycle_times=[3, 5, 8], period=10)
    >>> plan.owner.tolist(), plan.makespan
    ([0, 0, 0, 0, 0, 1, 1, 1, 2, 2], 190.0)
    >>> hs.wavefront(10, 10, cycle_times=[3, 5, 8], method="cyclic").makespan
    251.0
    """
    rows, cols = check.integer("rows", rows, low=1), check.integer("cols", cols, low=1)
    times = check.cycle_times(cycle_times, speeds)
    asked = check.choice("method", method, METHODS)
    if method == "best":
        method = "panels"
    check.choice("order", order, ORDERS)
    axis = check.integer("axis", axis, low=0, high=1)
    neighbours = _mask(mask, axis)
    lines, length = (cols, rows) if axis == 1 else (rows, cols)
    if lines > 2**31 - 1 or rows * cols > _MOST:
        raise ValueError(
            f"rows x cols = {rows} x {cols} tiles are too many: at most 2**31 - 1 lines to deal,"
            " and 2**53 tiles"
        )
    if method != "panels" and period is not None:
        raise ValueError(f"period is for method='panels', got {period!r} with {method!r}")
    wanted = 0 if period is None else min(check.integer("period", period, low=1), lines)
    owner, chosen, redistributed, proof = engine.wavefront(
        length, lines, times, method, wanted, _reach(neighbours), order
    )
    return trusted(
        Wavefront,
        method=method,
        asked=asked,
        **proof,
        shape=(rows, cols),
        axis=axis,
        owner=check.frozen(owner),
        counts=check.frozen(np.bincount(owner, minlength=len(times)).astype(np.int64)),
        period=chosen,
        redistributed=redistributed,
        order=order,
        mask=neighbours,
        cycle_times=check.frozen(times),
        **whose(cycle_times, len(times)),
    )


def _mask(mask: str | Sequence[str], axis: int) -> tuple[str, ...]:
    words = mask.replace(",", " ").split() if isinstance(mask, str) else mask
    given = tuple(check.entries("mask", words, f"some of {', '.join(_MASK)}"))
    unknown = [name for name in given if name not in _MASK]
    if unknown:
        raise ValueError(f"mask must be of {', '.join(_MASK)}, got {unknown[0]!r}")
    if not {"W", "N"} <= set(given):
        raise ValueError(f"mask must have W and N, got {given}")
    if "NE" in given and axis == 1:
        raise ValueError(
            "mask has NE: a column would wait for the one to its right; deal rows with axis=0"
        )
    if "SW" in given and axis == 0:
        raise ValueError(
            "mask has SW: a row would wait for the one below it; deal columns with axis=1"
        )
    return tuple(name for name in _MASK if name in given)


def _reach(mask: tuple[str, ...]) -> int:
    return int("NE" in mask or "SW" in mask)
