"""Plans for a matrix product C = A B: which worker computes which part of C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import _check
from .allocate import distribute
from .errors import InfeasibleError
from .floorplan import zones
from .partition import Partition, partition
from .plan import Plan, Step, proven

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .platform import Platform

METHODS = ("auto", "columns", "rows", "rectangles")

#: Flops in a unit of work and bytes in a unit of data: cycle-times are seconds per gigaflop, link costs seconds per gigabyte.
UNIT = 1e9


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProductPlan(Plan):
    """Boxes of the iteration space of C = A B, A m x k and B k x n, for each worker.

    Attributes
    ----------
    shape : (int, int, int)
        m, n, k.
    boxes : (b, 7) int64 array
        worker, row, col, depth, height, width, length of each box, in the order in which its worker does them.
    shared : bool
        The boxes are where the workers start; those that are early take tiles over from the others.
    makespan : float
        In the unit of the cycle-times (seconds, where these are seconds per gigaflop).
    flops : (p,) float64 array
        Of each worker.
    received : (p,) float64 array
        Bytes of A and B that each worker needs.
    cycle_times, link_costs : (p,) float64 array
        Per gigaflop and per gigabyte.
    names : tuple of str
    """

    shape: tuple[int, int, int]
    boxes: NDArray[np.int64]
    shared: bool
    makespan: float
    flops: NDArray[np.float64]
    received: NDArray[np.float64]
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]
    names: tuple[str, ...]

    _value: ClassVar[str] = "makespan"

    @property
    def worker_names(self) -> tuple[str, ...]:
        return self.names

    @property
    def receive(self) -> NDArray[np.float64]:
        """(p, 2) start and end of each worker's transfer: the master's one port serves the workers in order."""
        ends = np.cumsum(self.received * self.link_costs / UNIT)
        return np.stack((np.concatenate(([0.0], ends[:-1])), ends), axis=1)

    def steps(self) -> list[Step]:
        steps = []
        for worker, (start, end) in enumerate(self.receive.tolist()):
            if end > start:
                steps.append(Step(worker, "transfer", start, end, f"{self.received[worker] / 1e6:.4g} MB"))
            if self.flops[worker] > 0:
                duration = float(self.flops[worker] * self.cycle_times[worker] / UNIT)
                steps.append(Step(worker, "compute", end, end + duration, self.label(worker)))
        return steps

    def label(self, worker: int) -> str:
        """The parts of C of a worker, in words."""
        own = zip(self.boxes[:, 0].tolist(), self.box_labels, strict=True)
        return ", ".join(label for i, label in own if i == worker)

    @property
    def box_labels(self) -> list[str]:
        """Each box in words."""
        return [f"{h} x {w} at ({r}, {c})" for _, r, c, _, h, w, _ in self.boxes.tolist()]

    def plot(self, ax: Axes | None = None) -> Axes:
        from .plot import plot_boxes

        rects = [(i, r, c, h, w) for i, r, c, _, h, w, _ in self.boxes.tolist()]
        return plot_boxes(self.shape[:2], rects, self.names, ax)


def plan_matmul(
    m: int,
    n: int,
    k: int,
    platform: Platform,
    *,
    method: str = "auto",
    block: int = 1,
    itemsize: int = 8,
    flops_per_update: float = 2.0,
    shared: bool = False,
) -> ProductPlan:
    """Plan C = A B, A m x k, B k x n, for a star platform.

    Parameters
    ----------
    m, n, k : int
        Sizes in elements, >= 0.
    platform : Platform
        Cycle-times in seconds per gigaflop, link costs in seconds per gigabyte.
    method : {"auto", "columns", "rows", "rectangles"}
        "columns": block columns of C by `distribute` (2001 paper, section 2.2). "rows": the same with rows. "rectangles":
        `partition` into columns of rectangles (section 3.2), which moves less data. "auto": the one with the smallest
        predicted makespan.
    block : int
        Cuts are at multiples of it.
    itemsize, flops_per_update :
        Bytes of an element; flops of one multiply-add (8 for complex).
    shared : bool
        See ProductPlan.

    Returns
    -------
    ProductPlan
        Its lower bound is the work divided perfectly over the speeds.
    """
    m, n, k = (_check.integer(name, size, low=0) for name, size in (("m", m), ("n", n), ("k", k)))
    block = _check.integer("block", block, low=1)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    plans = []
    for name in METHODS[1:] if method == "auto" else (method,):
        try:
            pieces = _PIECES[name](-(-m // block), -(-n // block), platform)
        except InfeasibleError:  # fewer blocks than workers: slices do, or there is nothing to divide
            if method != "auto":
                raise
            continue
        plans.append(_with_times(name, _in_elements(pieces, block), (m, n, k), platform, itemsize, flops_per_update, shared))
    return min(plans, key=lambda plan: plan.makespan)


def plan_of_partition(
    given: Partition, m: int, n: int, k: int, platform: Platform, itemsize: int, flops_per_update: float
) -> ProductPlan:
    """The product over the rectangles of a partition of C's elements or blocks."""
    if given.shape is None:
        raise ValueError("plan is a partition of the unit square: give partition() a shape")
    if len(given.areas) != len(platform):
        raise ValueError(f"plan is for {len(given.areas)} workers, the pool has {len(platform)}")
    rows, cols = given.shape
    block = -(-m // rows)
    if -(-m // block) != rows or -(-n // block) != cols:
        raise ValueError(f"plan has shape {given.shape}, which is neither ({m}, {n}) nor its number of square blocks")
    return _with_times(given.method, _in_elements(given.pieces, block), (m, n, k), platform, itemsize, flops_per_update, False)


def _in_elements(pieces: NDArray[Any], block: int) -> NDArray[np.int64]:
    elements: NDArray[np.int64] = pieces.astype(np.int64) * np.array([1, block, block, block, block])
    return elements


def _slices(along: int, across: int, platform: Platform) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    plan = distribute(along if across else 0, platform)
    return plan.displs, plan.counts, np.where(plan.counts > 0, across, 0)


def _columns(rows: int, cols: int, platform: Platform) -> NDArray[np.int64]:
    start, width, height = _slices(cols, rows, platform)
    return np.stack((np.arange(len(platform)), np.zeros_like(start), start, height, width), axis=1)


def _rows(rows: int, cols: int, platform: Platform) -> NDArray[np.int64]:
    start, height, width = _slices(rows, cols, platform)
    return np.stack((np.arange(len(platform)), start, np.zeros_like(start), height, width), axis=1)


def _rectangles(rows: int, cols: int, platform: Platform) -> NDArray[np.int64]:
    if rows * cols < len(platform):
        raise InfeasibleError(f"{rows} x {cols} blocks are fewer than the {len(platform)} workers of the platform")
    return partition(platform, "columns", (rows, cols)).pieces.astype(np.int64)


_PIECES = {"columns": _columns, "rows": _rows, "rectangles": _rectangles}


def _with_times(
    method: str,
    pieces: NDArray[np.int64],
    shape: tuple[int, int, int],
    platform: Platform,
    itemsize: int,
    flops_per_update: float,
    shared: bool,
) -> ProductPlan:
    m, n, k = shape
    p = len(platform)
    worker, row, col = pieces[:, 0], pieces[:, 1], pieces[:, 2]
    height = np.clip(m - row, 0, pieces[:, 3])  # the last blocks may stick out
    width = np.clip(n - col, 0, pieces[:, 4])
    inside = (height > 0) & (width > 0)
    own = np.stack((worker, row, col, height, width), axis=1)[inside]
    flops = flops_per_update * k * np.bincount(own[:, 0], own[:, 3].astype(np.float64) * own[:, 4], p)
    received = itemsize * k * zones(own, p).sum(axis=1)
    zero = np.zeros(len(own), np.int64)
    boxes = np.stack((*own[:, :3].T, zero, *own[:, 3:].T, zero + k), axis=1)
    times, costs = platform.cycle_times, platform.link_costs
    ends = np.cumsum(received * costs / UNIT) + flops * times / UNIT
    makespan = float(ends[flops > 0].max(initial=0.0))
    bound = float(flops.sum() / platform.speeds.sum() / UNIT)
    return ProductPlan(
        method=method,
        lower_bound=min(bound, makespan),
        optimal=proven(makespan, bound),
        scope=f"slices into block {method}" if method in ("columns", "rows") and not costs.any() else "",
        shape=shape,
        boxes=_check.frozen(boxes),
        shared=shared,
        makespan=makespan,
        flops=_check.frozen(flops),
        received=_check.frozen(received),
        cycle_times=_check.frozen(times),
        link_costs=_check.frozen(costs),
        names=platform.names,
    )
