"""A plan for a matrix product C = A B, and what it takes: which worker computes which part of the iteration space, and when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from ..errors import InfeasibleError
from ..plan import Plan, Step, certified
from ..platform import UNIT, Platform, Unit, whose
from .distribute import distribute
from .floorplan import zones
from .product_domains import Domains, counted
from .product_messages import MESSAGE, bytes_of, earlier, from_owners, on_torus, transfers_of

#: Boxes of a plan at most: a second for each method.
MOST_BOXES = 1_000_000

#: How operands reach the workers: in steps, or all before the work; one after another, or at the same time; and whether the work
#: on them starts with the transfer.
COMMUNICATION = {
    "once": (False, False, False),
    "sequential": (True, False, False),
    "parallel": (True, True, False),
    "scss": (False, False, True),
    "sccs": (False, False, False),
    "pccs": (False, True, False),
    "pcss": (False, True, True),
}


class LayerSum(NamedTuple):
    """The sum of layers, when all boxes are done: each worker has some rows of C, and gets what others hold of them.

    rows: (p + 1,) int64, worker i's are rows[i] .. rows[i + 1] - 1. sent: (p,) bytes that it gets, over its own link. receive:
    (p, 2) start and end of that, from the end of the last box. flops: (p,) additions. start: the end of the last box.
    """

    rows: NDArray[np.int64]
    sent: NDArray[np.float64]
    receive: NDArray[np.float64]
    flops: NDArray[np.float64]
    start: float


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
    triangle : bool
        The product is of a matrix by its own transpose: of each box only what lies on and below the diagonal of C is computed,
        and mirrored.
    makespan : float
        In the unit of the cycle-times (seconds, where these are seconds per gigaflop).
    flops : (p,) float64 array
        Of each worker.
    sent : (b,) float64 array
        Bytes of A and B that each box waits for.
    receive : (b, 2) float64 array
        Start and end of that transfer.
    communication : str
        How the operands are sent; see `Pool.plan`.
    layers : LayerSum or None
        None: the boxes of a worker add up in C. Else C has several boxes above each other: each worker's boxes, with the same
        rows and columns of C, add up in a layer of its own, and the layers are summed in the end.
    messages : structured array or None
        On a complete platform what is sent: box (that waits for it), sender, bytes, and after: the box whose own transfer brings
        it to the sender, or -1. None on a star, whose workers get all over a link of their own.
    links : (p, p) float64 array or None
        Per gigabyte from row to column, where there are messages.
    domains : Domains or None
        Of method "domains": what each domain of the platform packs, reads from other nodes, and waits for.
    cycle_times, link_costs : (p,) float64 array
        Per gigaflop and per gigabyte.
    """

    shape: tuple[int, int, int]
    boxes: NDArray[np.int64]
    shared: bool
    triangle: bool
    makespan: float
    flops: NDArray[np.float64]
    sent: NDArray[np.float64]
    receive: NDArray[np.float64]
    communication: str
    layers: LayerSum | None
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]
    messages: NDArray[Any] | None = None
    links: NDArray[np.float64] | None = None
    domains: Domains | None = None

    _table: ClassVar = {
        "shape": schema.Sizes("m", "n", "k"),
        "boxes": schema.Array("i8", "boxes", 7),
        "shared": schema.Flag(),
        "triangle": schema.Flag(),
        "makespan": schema.Real(),
        "flops": schema.EACH,
        "sent": schema.Array("f8", "boxes"),
        "receive": schema.Array("f8", "boxes", 2, high=schema.LONG),
        "communication": schema.Text(*COMMUNICATION),
        "layers": schema.Maybe(
            schema.Record(
                LayerSum,
                rows=schema.Array("i8", "p + 1", high="m"),
                sent=schema.EACH,
                receive=schema.Array("f8", "p", 2, high=schema.LONG),
                flops=schema.EACH,
                start=schema.Real(),
            )
        ),
        "cycle_times": schema.Array("f8", "p", low=schema.LEAST),
        "link_costs": schema.EACH,
        "messages": schema.Maybe(
            schema.Columns(MESSAGE, "messages", box=(0, "boxes - 1"), sender=(0, "p - 1"), after=(-1, "boxes - 1"))
        ),
        "links": schema.Maybe(schema.Array("f8", "p", "p")),
        "domains": schema.Maybe(
            schema.Record(
                Domains,
                names=schema.Tuple(schema.Text(), "domains"),
                of=schema.Array("i8", "p", high="domains - 1"),
                packed=schema.Array("f8", "domains"),
                traffic=schema.Array("f8", "domains", 2),
                synchronisations=schema.Array("i8", "domains"),
            )
        ),
    }

    def _check(self) -> None:
        boxes, layers, messages = self.boxes, self.layers, self.messages
        if boxes[:, 0].max(initial=0) >= len(self.names):
            raise ValueError(f"boxes must begin with a worker of {len(self.names)}, got {boxes[:, 0].max()}")
        schema.require_inside("boxes", boxes[:, 1:], self.shape)
        for name, times in (("receive", self.receive), ("layers.receive", layers and layers.receive)):
            if times is not None and (times[:, 0] > times[:, 1]).any():
                raise ValueError(f"{name} must be the start and the end of each transfer")
        if self.triangle and self.shape[0] != self.shape[1]:
            raise ValueError(f"shape must be m, m, k of a triangle, got {self.shape}")
        if layers is not None and (layers.rows[0] != 0 or layers.rows[-1] != self.shape[0] or (np.diff(layers.rows) < 0).any()):
            raise ValueError(f"layers.rows must ascend from 0 to {self.shape[0]}")
        if layers is not None:
            _require_layers(boxes, self.shape, self.shared)
        schema.require_able("flops", self.flops / UNIT, self.cycle_times)
        if layers is not None:
            schema.require_able("layers.flops", layers.flops, self.cycle_times)
        if not np.allclose(np.bincount(boxes[:, 0], self._box_flops(), len(self.names)), self.flops, rtol=1e-9, atol=1.0):
            raise ValueError("flops must be those of the boxes of each worker")
        if (messages is None) != (self.links is None):
            raise ValueError("messages and links must be there both, or none of them")
        if messages is not None and (bad := messages["after"] >= messages["box"]).any():
            raise ValueError(f"messages[{int(np.argmax(bad))}] must come after the transfer of an earlier box")

    @property
    def received(self) -> NDArray[np.float64]:
        """(p,) bytes of A and B, and for a sum of layers of C, that each worker gets."""
        total: NDArray[np.float64] = np.bincount(self.boxes[:, 0], self.sent, len(self.names)).astype(np.float64)
        return total if self.layers is None else total + self.layers.sent

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is told by the makespan
    def _on(self, platform: Platform) -> Plan:
        """The same boxes in the same order; in a sum of layers everybody keeps his rows."""
        platform = platform.per(Unit.gigaflop(), "a product")
        if self.messages is None:
            costs = self._star_links(platform)
        elif platform.links is None:
            raise ValueError("platform must have links between every two workers (Platform.complete), as the plan's")
        else:
            costs = check.frozen(platform.link_costs)
        timed = _timed(platform, self.boxes, self.sent, self._box_flops(), self.communication, self.layers, self.messages)
        return self._carried(platform, timed.pop("makespan"), timed.pop("bound"), link_costs=costs, **timed)

    def _box_flops(self) -> NDArray[np.float64]:
        """(b,) of each box."""
        volumes = _updates(self.boxes, self.triangle)
        flops: NDArray[np.float64] = volumes * (self.flops.sum() / max(volumes.sum(), 1.0))
        return flops

    def _load(self) -> Any:
        """Gigaflops of the product, without the sum of layers."""
        return self.flops / UNIT

    def _busy(self) -> NDArray[np.float64]:
        flops = self.flops if self.layers is None else self.flops + self.layers.flops
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(flops > 0, flops / UNIT * self.cycle_times, 0.0)

    def steps(self) -> list[Step]:
        steps = []
        overlap = COMMUNICATION[self.communication][2]
        ready = [0.0] * len(self.names)
        durations = (self._box_flops() / UNIT * self.cycle_times[self.boxes[:, 0]]).tolist()
        for box, worker in enumerate(self.boxes[:, 0].tolist()):
            start, end = self.receive[box].tolist()
            if end > start:
                steps.append(Step(worker, "transfer", start, end, self.transfer_label(box, worker)))
            begin = max(ready[worker], start if overlap else end)
            ready[worker] = begin + durations[box]
            steps.append(Step(worker, "compute", begin, ready[worker], self.box_labels[box]))
            ready[worker] = max(ready[worker], end)
        if self.layers is not None:
            steps += self._sum_steps(overlap)
        return steps

    def _sum_steps(self, overlap: bool) -> list[Step]:
        assert self.layers is not None
        steps = []
        for worker, (start, end) in enumerate((self.layers.start + self.layers.receive).tolist()):
            if end > start:
                steps.append(Step(worker, "transfer", start, end, self.transfer_label(len(self.boxes), worker)))
            begin = start if overlap else end
            duration = float(self.layers.flops[worker] * self.cycle_times[worker] / UNIT)
            if self.layers.rows[worker + 1] > self.layers.rows[worker]:
                steps.append(Step(worker, "compute", begin, begin + duration, "sum"))
        return steps

    def transfer_label(self, box: int, worker: int) -> str:
        """What a box, or the sum as box len(boxes), waits for, in words.

        Parameters
        ----------
        box : int
            A row of `boxes`, or their number for the sum of layers.
        worker : int
            Whose part of the sum it is.
        """
        box = check.integer("box", box, low=0, high=len(self.boxes) - (self.layers is None))
        worker = check.integer("worker", worker, low=0, high=len(self.names) - 1)
        sent = self.sent[box] if self.layers is None or box < len(self.boxes) else self.layers.sent[worker]
        return f"{sent / 1e6:.4g} MB"

    @cached_property
    def box_labels(self) -> tuple[str, ...]:
        """Each box in words."""
        if self.layers is not None:
            return tuple(map(deep_label, self.boxes.tolist()))
        return tuple(f"{h} x {w} at ({r}, {c})" for _, r, c, _, h, w, _ in self.boxes.tolist())


def deep_label(box: Sequence[int]) -> str:
    """A box of layers in words."""
    _, row, col, depth, height, width, length = box
    return f"{height} x {width} x {length} at ({row}, {col}, {depth})"


class Task(NamedTuple):
    """A product to plan: m, n, k; the side of a block; how operands are sent; sizes of an element and an update; groups of
    workers who share what comes from others."""

    shape: tuple[int, int, int]
    platform: Platform
    block: int
    communication: str
    itemsize: int
    flops_per_update: float
    shared: bool
    groups: NDArray[np.int64] | None = None

    @property
    def linked(self) -> bool:
        """Whether messages between workers take time."""
        links = self.platform.links
        return links is not None and bool(links.any())

    @property
    def step(self) -> int:
        """The width of a step's pivots."""
        return self.block if COMMUNICATION[self.communication][0] else self.shape[2]

    @property
    def unit_layer(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Each worker's time for `block` columns of A and rows of B, and for their transfer."""
        m, n, _ = self.shape
        work, sent = self.flops_per_update * m * n, self.itemsize * (m + n)
        return tuple(self.block * x / UNIT for x in (work * self.platform.cycle_times, sent * self.platform.link_costs))  # type: ignore[return-value]


def in_zones(method: str, pieces: NDArray[np.int64], task: Task) -> ProductPlan:
    """The plan of (worker, row, col, height, width) zones of C, in elements; they may stick out of it."""
    m, n, k = task.shape
    p = len(task.platform)
    worker, row, col = pieces[:, 0], pieces[:, 1], pieces[:, 2]
    height = np.clip(m - row, 0, pieces[:, 3])
    width = np.clip(n - col, 0, pieces[:, 4])
    inside = (height > 0) & (width > 0)
    own = np.stack((worker, row, col, height, width), axis=1)[inside]
    own = own[np.argsort(own[:, 0], kind="stable")]

    steps = -(-max(k, 1) // max(task.step, 1))
    if steps * len(own) > MOST_BOXES:
        raise ValueError(
            f"block = {task.block} makes {steps} steps of {len(own)} boxes, more than {MOST_BOXES} together: give a larger one"
        )
    depths = np.arange(0, max(k, 1), max(task.step, 1))
    lengths = np.minimum(max(task.step, 1), k - depths)
    boxes = np.empty((len(depths), len(own), 7), np.int64)
    boxes[:, :, [0, 1, 2, 4, 5]] = own
    boxes[:, :, 3], boxes[:, :, 6] = depths[:, None], lengths[:, None]
    first = np.diff(own[:, 0], prepend=-1) > 0  # a worker's first box of a step waits for the transfer
    sent = task.itemsize * lengths[:, None] * np.where(first, zones(own, p).sum(axis=1)[own[:, 0]], 0.0)
    if task.linked:
        heads = np.flatnonzero(first) + len(own) * np.arange(len(depths))[:, None]
        ends = np.append(depths, k)
        messages = from_owners(own, task.shape, task.itemsize, ends, heads, task.groups)
        return _with_times(method, "", boxes.reshape(-1, 7), bytes_of(messages, boxes.size // 7), task, None, messages=messages)
    ragged = (n if method == "columns" else m) % task.block  # then it matters who has the smaller block
    exact = method in ("columns", "rows") and not task.platform.link_costs.any() and not ragged
    scope = f"slices into block {method}" if exact else ""
    return _with_times(method, scope, boxes.reshape(-1, 7), sent.reshape(-1), task, None)


def in_domains(pieces: NDArray[np.int64], task: Task) -> ProductPlan:
    """The plan of zones as of `in_zones`, those of each domain of the platform a rectangle of C."""
    plan = in_zones("domains", pieces, task)
    zones, (_, _, k) = plan.boxes[:, [0, 1, 2, 4, 5]], task.shape
    return replace(plan, domains=counted(zones, k, task.platform, task.itemsize))


def in_cannon(task: Task) -> ProductPlan:
    """The plan of Cannon's algorithm: C, A and B are cut evenly into s x s parts for s^2 workers; a worker multiplies in each of
    s steps a part of A with one of B, and passes both on, to the left and upwards."""
    m, n, k = task.shape
    p, q = len(task.platform), task.block
    grid = math.isqrt(p)
    if grid * grid != p:
        raise ValueError(f"method 'cannon' needs a square number of workers, the platform has {p}")
    if not COMMUNICATION[task.communication][0]:
        raise ValueError(
            f"method 'cannon' is in steps: communication must be 'sequential' or 'parallel', got {task.communication!r}"
        )
    if min(-(-side // q) for side in task.shape) < grid:
        raise InfeasibleError(
            f"method 'cannon' cuts A, B and C into {grid} x {grid} parts, m, n, k = {m}, {n}, {k} are too small"
        )
    rows, cols, inner = (
        np.minimum(q * (-(-side // q) * np.arange(grid + 1) // grid), side).astype(np.int64) for side in (m, n, k)
    )
    i, j = np.divmod(np.arange(p), grid)
    boxes = np.empty((grid, p, 7), np.int64)
    for step in range(grid):
        part = (i + j + step) % grid
        sides = (rows[i], cols[j], inner[part], np.diff(rows)[i], np.diff(cols)[j], np.diff(inner)[part])
        boxes[step] = np.stack((np.arange(p), *sides), axis=1)
    if task.linked:
        messages = on_torus(grid, boxes, task.itemsize)
        return _with_times("cannon", "", boxes.reshape(-1, 7), bytes_of(messages, boxes.size // 7), task, None, messages=messages)
    sent = task.itemsize * ((boxes[..., 4] + boxes[..., 5]) * boxes[..., 6]).astype(np.float64)
    return _with_times("cannon", "", boxes.reshape(-1, 7), sent.reshape(-1), task, None)


def in_triangle(task: Task) -> ProductPlan:
    """The plan of A Aᵀ by halves: block columns of the lower triangle of C, as even by speed as they can be in the order of the
    workers. A zone needs the rows of A from its first column on, and no others."""
    n, _, k = task.shape
    cuts = np.array(_triangle_cuts(n, task.block, task.platform.speeds.tolist()), np.int64)
    worker = np.flatnonzero(np.diff(cuts))
    col, end = cuts[worker], cuts[worker + 1]
    boxes = np.stack((worker, col, col, np.zeros_like(col), n - col, end - col, np.full_like(col, k)), axis=1)
    return _with_times("triangle", "", boxes, task.itemsize * k * (n - col).astype(np.float64), task, None, triangle=True)


def _triangle_cuts(n: int, block: int, speeds: list[float]) -> list[int]:
    """p + 1 columns of a triangle of n (the first has n elements) where the workers' parts begin and end, with the least time of
    all such cuts at multiples of block, up to rounding: bisection of the time, in which everybody takes what he can."""

    def cuts(time: float) -> list[int]:
        found = [0]
        for speed in speeds:
            left, budget = n - found[-1], time * speed  # w columns of the rest have w left - w (w - 1) / 2 elements
            whole = 2 * left + 1
            root = whole * whole - 8.0 * budget
            width = left if root <= 1.0 else int((whole - math.sqrt(root)) / 2.0 * (1.0 + 1e-15)) // block * block
            found.append(found[-1] + min(width, left))
        return found

    low, high = n * (n + 1) / 2.0 / sum(speeds), n * (n + 1) / max(speeds)
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (low, middle) if cuts(middle)[-1] == n else (middle, high)
    return cuts(high)


def _require_layers(boxes: NDArray[np.int64], shape: tuple[int, int, int], shared: bool) -> None:
    """Boxes that are summed: of the whole width of C where workers share them, else those of a worker in one place of C."""
    zones, (m, n, _) = boxes[:, [1, 2, 4, 5]], shape
    if shared:
        bad = (zones[:, 1] != 0) | (zones[:, 3] != n)
        starts = zones[:, 0] == 0
        follows = np.zeros(len(boxes), bool)
        follows[1:] = (zones[1:, 0] == zones[:-1, 0] + zones[:-1, 2]) & (boxes[1:, [3, 6]] == boxes[:-1, [3, 6]]).all(axis=1)
        ends = zones[:, 0] + zones[:, 2] == m
        before = np.append(True, ends[:-1])
        bad |= np.where(starts, ~before, ~follows)
        bad[-1:] |= ~ends[-1:]
        what = "layers of the whole of C, or bands of their rows in turn, where workers share them"
    else:
        _, first, worker = np.unique(boxes[:, 0], return_index=True, return_inverse=True)
        bad = (zones != zones[first][worker]).any(axis=1)
        what = "in one place of C for each worker, as they are summed"
    if bad.any():
        raise ValueError(f"boxes[{int(np.argmax(bad))}] must be {what}, got {boxes[np.argmax(bad)].tolist()}")


def _updates(boxes: NDArray[np.int64], triangle: bool) -> NDArray[np.float64]:
    """(b,) multiply-adds of each box: of the zones of a triangle those at the diagonal and below."""
    height, width, length = boxes[:, 4:].T.astype(np.float64)
    above = width * (width - 1.0) / 2.0 if triangle else 0.0
    found: NDArray[np.float64] = (height * width - above) * length
    return found


def in_layers(method: str, given: NDArray[np.int64], task: Task) -> ProductPlan:
    """The plan of (worker, row, col, depth, height, width, length) boxes, in elements, in the order of the port, of each worker
    one, or several of the same rows and columns; together they are the iteration space, or more of it than there is."""
    m, n, k = task.shape
    platform, p = task.platform, len(task.platform)
    boxes = given.copy()
    boxes[:, 4:] = np.clip((m, n, k) - boxes[:, 1:4], 0, boxes[:, 4:])
    boxes = boxes[(boxes[:, 4:] > 0).all(axis=1)]
    worker, row, _, _, height, width, length = boxes.T
    sent = task.itemsize * length * (height + width).astype(np.float64)
    layered = bool((boxes[:, 3] > 0).any())
    layers = None
    if layered:
        speeds = np.zeros(p)
        speeds[worker] = platform.speeds[worker]
        rows = np.concatenate(([0], np.cumsum(distribute(m, speeds=speeds).counts)))
        top, low = rows[:-1, None], rows[1:, None]
        _, first = np.unique(worker, return_index=True)  # a worker has one layer
        worker, row, height, width = worker[first], row[first], height[first], width[first]
        common = np.clip(np.minimum(low, row + height) - np.maximum(top, row), 0, None)
        held = common * width.astype(np.float64)  # of a worker's rows, in each layer: their number may be more than 2^63
        own = worker == np.arange(p)[:, None]
        bytes_sent = task.itemsize * np.where(own, 0, held).sum(axis=1)
        added = np.maximum(held.sum(axis=1) - np.diff(rows) * float(n), 0) * (1.0 if task.flops_per_update == 2.0 else 2.0)
        layers = LayerSum(rows, bytes_sent, np.zeros((p, 2)), added, 0.0)
    return _with_times(method, "", boxes, sent, task, layers)


def in_routed_layers(
    given: NDArray[np.int64], arrivals: NDArray[np.float64], sent: NDArray[np.float64], task: Task
) -> ProductPlan:
    """The plan of layers, (worker, row, col, depth, height, width, length) with the whole of C, of each worker one after the
    other, that come from arrivals[b, 0] to arrivals[b, 1], over whatever links, with what is sent on sent[b] bytes; a worker
    computes one from then on, in modes with simultaneous start meanwhile. The messages of their sum take no time."""
    some = (given[:, 6] > 0) & (given[:, 3] < task.shape[2])
    plan, receive = in_layers("layers", given[some], task), arrivals[some]
    overlap = COMMUNICATION[task.communication][2]
    work = plan._box_flops() / UNIT * task.platform.cycle_times[plan.boxes[:, 0]]
    ready = np.zeros(len(task.platform))
    for worker, (first, last), busy in zip(plan.boxes[:, 0].tolist(), receive.tolist(), work.tolist(), strict=True):
        ready[worker] = max(last, max(ready[worker], first if overlap else last) + busy)
    end, layers, added = float(ready.max(initial=0.0)), plan.layers, 0.0
    if layers is not None:
        added = plan.makespan - layers.start
        layers = layers._replace(start=end)
    return replace(
        plan, receive=check.frozen(receive), sent=check.frozen(sent[some]), layers=layers,
        **certified(plan.bound, makespan=end + added),
    )  # fmt: skip


def without_sum(plan: ProductPlan) -> ProductPlan:
    """The same boxes, whose layers stay with their workers: all is done when the last box is."""
    if plan.layers is None:
        return plan
    return replace(plan, layers=None, **certified(plan.bound, makespan=plan.layers.start))


def in_shared_layers(given: NDArray[np.int64], task: Task) -> ProductPlan:
    """Layers of the whole of C, whose (worker, row, col, depth, height, width, length) boxes early workers take over. Nothing is
    sent."""
    m, n, _ = task.shape
    p = len(task.platform)
    rows = np.concatenate(([0], np.cumsum(distribute(m, task.platform).counts)))
    added = np.diff(rows) * float(n * (p - 1)) * (1.0 if task.flops_per_update == 2.0 else 2.0)
    layers = LayerSum(rows, np.zeros(p), np.zeros((p, 2)), added, 0.0)
    return _with_times("layers", "", given, np.zeros(len(given)), task, layers)


def _with_times(
    method: str,
    scope: str,
    boxes: NDArray[np.int64],
    sent: NDArray[np.float64],
    task: Task,
    layers: LayerSum | None,
    triangle: bool = False,
    messages: NDArray[Any] | None = None,
) -> ProductPlan:
    """The plan of boxes (b, 7) that wait for sent[b] bytes each, and of the sum of layers whose times are not known yet."""
    platform = task.platform
    flops = task.flops_per_update * _updates(boxes, triangle)
    timed = _timed(platform, boxes, sent, flops, task.communication, layers, messages)
    return ProductPlan(
        method=method,
        **certified(timed.pop("bound"), makespan=timed.pop("makespan")),
        scope=scope,
        shape=task.shape,
        boxes=check.frozen(boxes),
        shared=task.shared,
        triangle=triangle,
        flops=check.frozen(np.bincount(boxes[:, 0], flops, len(platform)).astype(np.float64)),
        sent=check.frozen(sent),
        communication=task.communication,
        **timed,
        messages=None if messages is None else check.frozen(messages),
        cycle_times=check.frozen(platform.cycle_times),
        link_costs=check.frozen(platform.link_costs),
        **whose(platform, len(platform)),
    )


def _timed(
    platform: Platform, boxes: NDArray[np.int64], sent: NDArray[np.float64], flops: NDArray[np.float64], communication: str,
    layers: LayerSum | None, messages: NDArray[Any] | None,
) -> dict[str, Any]:  # fmt: skip
    """What follows from the times of the workers: `receive`, `layers`, `links`, `makespan` and its bound."""
    times, costs, worker = platform.cycle_times, platform.link_costs, boxes[:, 0]
    workers, bound = np.arange(len(times)), float(flops.sum() / platform.speeds.sum() / UNIT)
    links, transfers, waits = None, sent * costs[worker] / UNIT, None
    if messages is not None:
        assert platform.links is not None
        links, waits = platform.links, earlier(messages, len(boxes))
        transfers = transfers_of(messages, boxes, links)
    receive, makespan = _schedule(worker, transfers, flops * times[worker] / UNIT, len(times), communication, waits)
    if layers is not None:
        added = layers.flops * times / UNIT
        own, last = _schedule(workers, layers.sent * costs / UNIT, added, len(times), communication)
        layers, makespan = layers._replace(receive=own, start=makespan), makespan + last
        rows, sent, given, flops = (check.frozen(array) for array in layers[:4])
        layers = layers._replace(rows=rows, sent=sent, receive=given, flops=flops)
    return {"receive": check.frozen(receive), "layers": layers, "links": links, "makespan": makespan, "bound": bound}


def _schedule(
    workers: NDArray[np.int64], transfers: NDArray[np.float64], updates: NDArray[np.float64], p: int, communication: str,
    waits: list[list[int]] | None = None,
) -> tuple[NDArray[np.float64], float]:  # fmt: skip
    """(b, 2) start and end of the transfer of each box, and the makespan. Workers are served in order, a box not before the
    transfers of those it waits for."""
    _, parallel, overlap = COMMUNICATION[communication]
    receive: list[tuple[float, float]] = []
    ready, port = [0.0] * p, 0.0
    for box, (worker, transfer, update) in enumerate(zip(workers.tolist(), transfers.tolist(), updates.tolist(), strict=True)):
        start = ready[worker]
        if waits is not None:
            start = max([start, *(receive[other][1] for other in waits[box])])
        end = start
        if transfer > 0:
            start = start if parallel else max(port, start)
            port = end = start + transfer
        receive.append((start, end))
        ready[worker] = max((start if overlap else end) + update, end)
    return np.array(receive, np.float64).reshape(-1, 2), max(ready)
