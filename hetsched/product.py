"""Plans for a matrix product C = A B: which worker computes which part of C."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _check
from .allocate import distribute
from .errors import InfeasibleError
from .floorplan import METHODS as PARTITIONS
from .floorplan import areas_of, zones
from .partition import Partition, partition
from .plan import Plan, Step, proven

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .platform import Platform

#: Beside those of `partition`: block columns, block rows, `partition` into columns, whichever is fastest.
METHODS = ("auto", "columns", "rows", "rectangles", *(name for name in PARTITIONS if name not in ("columns", "rows")))

#: How operands reach the workers.
COMMUNICATION = ("once", "sequential", "parallel")

#: Workers up to which "auto" also looks for the best partition.
_FEW = 64

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
    sent : (b,) float64 array
        Bytes of A and B that each box waits for.
    receive : (b, 2) float64 array
        Start and end of that transfer.
    communication : {"once", "sequential", "parallel"}
        When the operands are sent.
    cycle_times, link_costs : (p,) float64 array
        Per gigaflop and per gigabyte.
    names : tuple of str
    """

    shape: tuple[int, int, int]
    boxes: NDArray[np.int64]
    shared: bool
    makespan: float
    flops: NDArray[np.float64]
    sent: NDArray[np.float64]
    receive: NDArray[np.float64]
    communication: str
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]
    names: tuple[str, ...]

    _value: ClassVar[str] = "makespan"

    @property
    def worker_names(self) -> tuple[str, ...]:
        return self.names

    @property
    def received(self) -> NDArray[np.float64]:
        """(p,) bytes of A and B that each worker gets."""
        total: NDArray[np.float64] = np.bincount(self.boxes[:, 0], self.sent, len(self.names)).astype(np.float64)
        return total

    def steps(self) -> list[Step]:
        steps = []
        ready = [0.0] * len(self.names)
        volumes = np.prod(self.boxes[:, 4:].astype(np.float64), axis=1)
        rate = self.flops.sum() / max(volumes.sum(), 1.0) / UNIT
        durations = (volumes * rate * self.cycle_times[self.boxes[:, 0]]).tolist()
        for box, worker in enumerate(self.boxes[:, 0].tolist()):
            start, end = self.receive[box].tolist()
            if end > start:
                steps.append(Step(worker, "transfer", start, end, self.transfer_label(box)))
            begin = max(ready[worker], end)
            ready[worker] = begin + durations[box]
            steps.append(Step(worker, "compute", begin, ready[worker], self.box_labels[box]))
        return steps

    def transfer_label(self, box: int) -> str:
        """What a box waits for, in words."""
        return f"{self.sent[box] / 1e6:.4g} MB"

    @cached_property
    def box_labels(self) -> list[str]:
        """Each box in words."""
        return [f"{h} x {w} at ({r}, {c})" for _, r, c, _, h, w, _ in self.boxes.tolist()]

    def plot(self, ax: Axes | None = None) -> Axes:
        from .plot import plot_boxes

        rects = [(i, r, c, h, w) for i, r, c, depth, h, w, _ in self.boxes.tolist() if depth == 0]
        return plot_boxes(self.shape[:2], rects, self.names, ax)


def plan_matmul(
    m: int,
    n: int,
    k: int,
    platform: Platform,
    *,
    method: str = "auto",
    block: int = 1,
    communication: str = "once",
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
    method, block, communication :
        See `Pool.plan`.
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
    if communication not in COMMUNICATION:
        raise ValueError(f"communication must be one of {', '.join(COMMUNICATION)}, got {communication!r}")
    task = Task((m, n, k), platform, k if communication == "once" else block, communication, itemsize, flops_per_update, shared)
    plans = []
    for name in _candidates(platform) if method == "auto" else (method,):
        try:
            pieces = _pieces(name, -(-m // block), -(-n // block), platform)
        except InfeasibleError:  # fewer blocks than workers: slices do, or there is nothing to divide
            if method != "auto":
                raise
            continue
        plans.append(_with_times(name, _in_elements(pieces, block), task))
    return min(plans, key=lambda plan: plan.makespan)


def _candidates(platform: Platform) -> tuple[str, ...]:
    return METHODS[1:4] + (("best", "contiguous") if platform.link_costs.any() and len(platform) <= _FEW else ())


def plan_of_partition(
    given: Partition, m: int, n: int, k: int, platform: Platform, itemsize: int, flops_per_update: float, communication: str
) -> ProductPlan:
    """The product over the zones of a partition of C's elements or blocks."""
    if given.shape is None:
        raise ValueError("plan is a partition of the unit square: give partition() a shape")
    if len(given.areas) != len(platform):
        raise ValueError(f"plan is for {len(given.areas)} workers, the pool has {len(platform)}")
    if communication not in COMMUNICATION:
        raise ValueError(f"communication must be one of {', '.join(COMMUNICATION)}, got {communication!r}")
    rows, cols = given.shape
    block = -(-m // rows)
    if -(-m // block) != rows or -(-n // block) != cols:
        raise ValueError(f"plan has shape {given.shape}, which is neither ({m}, {n}) nor its number of square blocks")
    width = k if communication == "once" else block
    task = Task((m, n, k), platform, width, communication, itemsize, flops_per_update, False)
    return _with_times(given.method, _in_elements(given.pieces, block), task)


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


def _pieces(method: str, rows: int, cols: int, platform: Platform) -> NDArray[np.int64]:
    if method == "columns":
        return _columns(rows, cols, platform)
    if method == "rows":
        return _rows(rows, cols, platform)
    if rows * cols < len(platform):
        raise InfeasibleError(f"{rows} x {cols} blocks are fewer than the {len(platform)} workers of the platform")
    if method == "rectangles":
        return partition(platform, "columns", (rows, cols)).pieces.astype(np.int64)
    costs = platform.link_costs
    found = partition(platform, method, (rows, cols), link_costs=costs if (costs > 0).all() else None)
    return found.pieces.astype(np.int64)


class Task(NamedTuple):
    """A product to plan: m, n, k; the width of a step's pivots; how they are sent; sizes of an element and an update."""

    shape: tuple[int, int, int]
    platform: Platform
    step: int
    communication: str
    itemsize: int
    flops_per_update: float
    shared: bool


def _with_times(method: str, pieces: NDArray[np.int64], task: Task) -> ProductPlan:
    m, n, k = task.shape
    platform, p = task.platform, len(task.platform)
    worker, row, col = pieces[:, 0], pieces[:, 1], pieces[:, 2]
    height = np.clip(m - row, 0, pieces[:, 3])  # the last blocks may stick out
    width = np.clip(n - col, 0, pieces[:, 4])
    inside = (height > 0) & (width > 0)
    own = np.stack((worker, row, col, height, width), axis=1)[inside]
    own = own[np.argsort(own[:, 0], kind="stable")]
    areas = areas_of(own, p)
    times, costs = platform.cycle_times, platform.link_costs

    depths = np.arange(0, max(k, 1), max(task.step, 1))
    lengths = np.minimum(max(task.step, 1), k - depths)
    boxes = np.empty((len(depths), len(own), 7), np.int64)
    boxes[:, :, [0, 1, 2, 4, 5]] = own
    boxes[:, :, 3], boxes[:, :, 6] = depths[:, None], lengths[:, None]
    first = np.diff(own[:, 0], prepend=-1) > 0  # a worker's first box of a step waits for the transfer
    sent = task.itemsize * lengths[:, None] * np.where(first, zones(own, p).sum(axis=1)[own[:, 0]], 0.0)
    work = task.flops_per_update * lengths[:, None] * np.where(first, areas[own[:, 0]], 0.0)
    receive, makespan = _schedule(
        own[:, 0], first, sent * costs[own[:, 0]] / UNIT, work * times[own[:, 0]] / UNIT, p, task.communication == "parallel"
    )
    flops = task.flops_per_update * k * areas
    bound = float(flops.sum() / platform.speeds.sum() / UNIT)
    return ProductPlan(
        method=method,
        lower_bound=min(bound, makespan),
        optimal=proven(makespan, bound),
        scope=f"slices into block {method}" if method in ("columns", "rows") and not costs.any() else "",
        shape=task.shape,
        boxes=_check.frozen(boxes.reshape(-1, 7)),
        shared=task.shared,
        makespan=makespan,
        flops=_check.frozen(flops),
        sent=_check.frozen(sent.reshape(-1)),
        receive=_check.frozen(receive.reshape(-1, 2)),
        communication=task.communication,
        cycle_times=_check.frozen(times),
        link_costs=_check.frozen(costs),
        names=platform.names,
    )


def _schedule(
    workers: NDArray[np.int64],
    first: NDArray[np.bool_],
    transfers: NDArray[np.float64],
    updates: NDArray[np.float64],
    p: int,
    parallel: bool,
) -> tuple[NDArray[np.float64], float]:
    """Start and end of the transfer of each box (steps, boxes), and the makespan. Workers are served in order, step by step."""
    receive = np.zeros((*transfers.shape, 2))
    ready, port = [0.0] * p, 0.0
    order = [(box, worker) for box, worker in enumerate(workers.tolist()) if first[box]]
    for step, (transfer, update) in enumerate(zip(transfers.tolist(), updates.tolist(), strict=True)):
        for box, worker in order:
            start = end = ready[worker]
            if transfer[box] > 0:
                start = start if parallel else max(port, start)
                port = end = start + transfer[box]
            receive[step, box] = start, end
            ready[worker] = end + update[box]
    return receive, max(ready)
