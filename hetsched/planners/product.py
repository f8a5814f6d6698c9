"""The plan of a matrix product C = A B: which worker computes which part, and when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from ..errors import InfeasibleError
from ..plan import Finish, Plan, Step, certified, undisturbed
from ..platform import UNIT, Platform, Unit, whose
from .distribute import distribute
from .floorplan import zones
from .product_domains import Domains, counted
from .product_messages import MESSAGE, bytes_of, earlier, from_owners, on_torus, transfers_of

#: Most boxes of a plan; a method needs about a second for so many.
MOST_BOXES = 1_000_000

#: How operands reach the workers: in steps, or all before the work; one after another, or at the
#: same time; and whether a worker computes while it receives.
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
    """The final sum of the layers, after all boxes are done.

    Each worker sums some rows of C, and receives the parts of these rows that other workers hold.

    rows: (p + 1,) int64; worker i sums rows[i] .. rows[i + 1] - 1. sent: (p,) bytes that each
    worker receives, over its own link. receive: (p, 2) start and end of that transfer, counted from
    the end of the last box. flops: (p,) additions of each worker. start: end of the last box.
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
        worker, row, col, depth, height, width, length of each box. The boxes of a worker are in the
        order in which it computes them.
    shared : bool
        Whether the boxes are only where the workers start: a worker that has finished takes tiles
        of slower workers.
    triangle : bool
        Whether the product is of a matrix and its own transpose. Then only the part of each box on
        and below the diagonal of C is computed, and mirrored.
    makespan : float
        In the unit of the cycle-times (seconds, if these are seconds per gigaflop).
    flops : (p,) float64 array
        Flops of each worker.
    sent : (b,) float64 array
        Bytes of A and B that each box waits for.
    receive : (b, 2) float64 array
        Start and end of the transfer of each box.
    communication : str
        How the operands are sent; see `Pool.plan`.
    layers : LayerSum or None
        If None, the boxes of a worker add up in C. Otherwise several boxes cover the same part of
        C. Then all boxes of a worker have the same rows and columns of C and add up in its own
        layer, and the layers are summed at the end.
    messages : structured array or None
        Messages on a platform with links between every two workers: box (the box that waits for the
        message), sender, bytes, and after (the box with the transfer that brings the data to the
        sender, or -1). None on a star, where each worker receives all data over its own link.
    links : (p, p) float64 array or None
        Time per gigabyte from the row's worker to the column's, if there are messages.
    itemsize : int
        Bytes of an element.
    tried : dict of str to float
        For the method "auto": the methods that it tried, and their makespans.
    domains : Domains or None
        For the method "domains": what each domain of the platform packs, reads from other nodes,
        and waits for.
    cycle_times, link_costs : (p,) float64 array
        Time per gigaflop and per gigabyte.
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
    itemsize: int = 8
    tried: dict[str, float] = field(default_factory=check.FrozenDict)

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
            schema.Columns(
                MESSAGE,
                "messages",
                box=(0, "boxes - 1"),
                sender=(0, "p - 1"),
                after=(-1, "boxes - 1"),
            )
        ),
        "links": schema.Maybe(schema.Array("f8", "p", "p")),
        "itemsize": schema.Integer(1, 64),
        "tried": schema.Numbers(),
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
            raise ValueError(
                f"boxes must begin with a worker of {len(self.names)}, got worker"
                f" {boxes[:, 0].max()}"
            )
        schema.require_inside("boxes", boxes[:, 1:], self.shape)
        for name, times in (
            ("receive", self.receive),
            ("layers.receive", layers and layers.receive),
        ):
            if times is not None and (times[:, 0] > times[:, 1]).any():
                raise ValueError(
                    f"{name} must be the start and the end of each transfer,"
                    " but a start is after its end"
                )
        if self.triangle and self.shape[0] != self.shape[1]:
            raise ValueError(f"shape must be (m, m, k) if triangle is True, got {self.shape}")
        if layers is not None:
            rows = layers.rows
            if rows[0] != 0 or rows[-1] != self.shape[0] or (np.diff(rows) < 0).any():
                raise ValueError(f"layers.rows must ascend from 0 to {self.shape[0]}")
            _require_layers(boxes, self.shape, self.shared)
        schema.require_able("flops", self.flops / UNIT, self.cycle_times)
        if layers is not None:
            schema.require_able("layers.flops", layers.flops, self.cycle_times)
        flops = np.bincount(boxes[:, 0], self._box_flops(), len(self.names))
        if not np.allclose(flops, self.flops, rtol=1e-9, atol=1.0):
            raise ValueError("flops must be the sums of the flops of each worker's boxes")
        if (messages is None) != (self.links is None):
            raise ValueError("messages and links must be given together")
        if messages is not None and (bad := messages["after"] >= messages["box"]).any():
            raise ValueError(
                f"messages[{int(np.argmax(bad))}] must come after the transfer of an earlier box"
            )

    @property
    def received(self) -> NDArray[np.float64]:
        """(p,) bytes that each worker receives: of A and B, and of C for a sum of layers."""
        total: NDArray[np.float64] = np.bincount(
            self.boxes[:, 0], self.sent, len(self.names)
        ).astype(np.float64)
        return total if self.layers is None else total + self.layers.sent

    @np.errstate(over="ignore", invalid="ignore")  # an overflow shows in the makespan
    def _on(self, platform: Platform) -> Plan:
        """The same boxes in the same order; in a sum of layers, each worker keeps its rows."""
        platform = platform.per(Unit.gigaflop(), "a product")
        if self.messages is None:
            costs = self._star_links(platform)
        elif platform.links is None:
            raise ValueError(
                "platform must have links between every two workers (Platform.complete), like the"
                " plan's platform"
            )
        else:
            costs = check.frozen(platform.link_costs)
        timed = _timed(
            platform,
            self.boxes,
            self.sent,
            self._box_flops(),
            self.communication,
            self.layers,
            self.messages,
        )
        return self._carried(
            platform,
            timed.pop("makespan"),
            timed.pop("bound"),
            link_costs=costs,
            tried=check.FrozenDict(),
            **timed,
        )

    def _box_flops(self) -> NDArray[np.float64]:
        """(b,) flops of each box."""
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

    def _steps(self, finish: Finish) -> list[Step]:
        steps = []
        overlap = COMMUNICATION[self.communication][2]
        ready = [0.0] * len(self.names)
        durations = (self._box_flops() / UNIT * self.cycle_times[self.boxes[:, 0]]).tolist()
        receive, layers = self.receive, self.layers
        if finish is not undisturbed:
            receive, layers = self._received(durations, finish)
        for box, worker in enumerate(self.boxes[:, 0].tolist()):
            start, end = receive[box].tolist()
            if end > start:
                steps.append(Step(worker, "transfer", start, end, self.transfer_label(box, worker)))
            begin = max(ready[worker], start if overlap else end)
            ready[worker] = finish(worker, begin, durations[box])
            steps.append(Step(worker, "compute", begin, ready[worker], self.box_labels[box]))
            ready[worker] = max(ready[worker], end)
        if layers is not None:
            steps += self._sum_steps(layers, overlap, finish)
        return steps

    def _received(
        self, durations: list[float], finish: Finish
    ) -> tuple[NDArray[np.float64], LayerSum | None]:
        """`receive` and `layers` if the workers finish at other times."""
        transfers, waits = _transfers(
            self.boxes, self.sent, self.link_costs, self.links, self.messages
        )
        p, how = len(self.names), self.communication
        receive, makespan = _schedule(
            self.boxes[:, 0], transfers, durations, p, how, waits, finish=finish
        )
        layers = self.layers
        if layers is not None:
            added = (layers.flops * self.cycle_times / UNIT).tolist()
            sums = layers.sent * self.link_costs / UNIT
            start = makespan
            own, _ = _schedule(np.arange(p), sums, added, p, how, start=start, finish=finish)
            layers = layers._replace(receive=own - start, start=start)
        return receive, layers

    def _sum_steps(self, layers: LayerSum, overlap: bool, finish: Finish) -> list[Step]:
        steps = []
        for worker, (start, end) in enumerate((layers.start + layers.receive).tolist()):
            if end > start:
                steps.append(
                    Step(
                        worker, "transfer", start, end, self.transfer_label(len(self.boxes), worker)
                    )
                )
            begin = start if overlap else end
            duration = float(layers.flops[worker] * self.cycle_times[worker] / UNIT)
            if layers.rows[worker + 1] > layers.rows[worker]:
                steps.append(Step(worker, "compute", begin, finish(worker, begin, duration), "sum"))
        return steps

    def transfer_label(self, box: int, worker: int) -> str:
        """Text for the data that a box waits for, or for the data of the final sum.

        Parameters
        ----------
        box : int
            Row of `boxes`; len(boxes) means the sum of layers.
        worker : int
            The worker that computes this part of the sum.
        """
        box = check.integer("box", box, low=0, high=len(self.boxes) - (self.layers is None))
        worker = check.integer("worker", worker, low=0, high=len(self.names) - 1)
        sent = (
            self.sent[box]
            if self.layers is None or box < len(self.boxes)
            else self.layers.sent[worker]
        )
        return f"{sent / 1e6:.4g} MB"

    @cached_property
    def box_labels(self) -> tuple[str, ...]:
        """Text for each box."""
        if self.layers is not None:
            return tuple(map(deep_label, self.boxes.tolist()))
        return tuple(f"{h} x {w} at ({r}, {c})" for _, r, c, _, h, w, _ in self.boxes.tolist())


def deep_label(box: Sequence[int]) -> str:
    """Text for a box of layers."""
    _, row, col, depth, height, width, length = box
    return f"{height} x {width} x {length} at ({row}, {col}, {depth})"


class Task(NamedTuple):
    """A product to plan.

    shape: m, n, k. block: side of a block. communication: how operands are sent. itemsize: bytes of
    an element. flops_per_update: flops of an update. groups: groups of workers that share the data
    that comes from other workers.
    """

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
        """Width of the pivot columns of a step."""
        return self.block if COMMUNICATION[self.communication][0] else self.shape[2]

    @property
    def unit_layer(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Time of each worker for `block` columns of A and rows of B, and for their transfer."""
        m, n, _ = self.shape
        work, sent = self.flops_per_update * m * n, self.itemsize * (m + n)
        return tuple(
            self.block * x / UNIT
            for x in (work * self.platform.cycle_times, sent * self.platform.link_costs)
        )  # type: ignore[return-value]


def in_zones(method: str, pieces: NDArray[np.int64], task: Task) -> ProductPlan:
    """The plan of zones of C, (worker, row, col, height, width) in elements.

    Zones may extend beyond C.
    """
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
            f"block = {task.block} makes {steps} steps of {len(own)} boxes, together more than"
            f" {MOST_BOXES}: give a larger block"
        )
    depths = np.arange(0, max(k, 1), max(task.step, 1))
    lengths = np.minimum(max(task.step, 1), k - depths)
    boxes = np.empty((len(depths), len(own), 7), np.int64)
    boxes[:, :, [0, 1, 2, 4, 5]] = own
    boxes[:, :, 3], boxes[:, :, 6] = depths[:, None], lengths[:, None]
    # a worker's first box of a step waits for the transfer
    first = np.diff(own[:, 0], prepend=-1) > 0
    sent = (
        task.itemsize
        * lengths[:, None]
        * np.where(first, zones(own, p).sum(axis=1)[own[:, 0]], 0.0)
    )
    if task.linked:
        heads = np.flatnonzero(first) + len(own) * np.arange(len(depths))[:, None]
        ends = np.append(depths, k)
        messages = from_owners(own, task.shape, task.itemsize, ends, heads, task.groups)
        return _with_times(
            method,
            "",
            boxes.reshape(-1, 7),
            bytes_of(messages, boxes.size // 7),
            task,
            None,
            messages=messages,
        )
    # then it matters which worker has the smaller block
    ragged = (n if method == "columns" else m) % task.block
    exact = method in ("columns", "rows") and not task.platform.link_costs.any() and not ragged
    scope = f"slices into block {method}" if exact else ""
    return _with_times(method, scope, boxes.reshape(-1, 7), sent.reshape(-1), task, None)


def in_domains(pieces: NDArray[np.int64], task: Task) -> ProductPlan:
    """The plan of `in_zones`, in which the zones of each domain form a rectangle of C."""
    plan = in_zones("domains", pieces, task)
    zones, (_, _, k) = plan.boxes[:, [0, 1, 2, 4, 5]], task.shape
    return replace(plan, domains=counted(zones, k, task.platform, task.itemsize))


def in_cannon(task: Task) -> ProductPlan:
    """The plan of Cannon's algorithm.

    C, A and B are cut evenly into s x s parts for s^2 workers. In each of s steps a worker
    multiplies a part of A by a part of B, then passes the part of A to the left and the part of B
    upwards.
    """
    m, n, k = task.shape
    p, q = len(task.platform), task.block
    grid = math.isqrt(p)
    if grid * grid != p:
        raise ValueError(f"method 'cannon' needs a square number of workers, the platform has {p}")
    if not COMMUNICATION[task.communication][0]:
        raise ValueError(
            f"communication must be 'sequential' or 'parallel', got {task.communication!r}: method"
            " 'cannon' works in steps"
        )
    if min(-(-side // q) for side in task.shape) < grid:
        raise InfeasibleError(
            f"m, n, k = {m}, {n}, {k} are too small for method 'cannon', which cuts A, B and C into"
            f" {grid} x {grid} parts"
        )
    rows, cols, inner = (
        np.minimum(q * (-(-side // q) * np.arange(grid + 1) // grid), side).astype(np.int64)
        for side in (m, n, k)
    )
    i, j = np.divmod(np.arange(p), grid)
    boxes = np.empty((grid, p, 7), np.int64)
    for step in range(grid):
        part = (i + j + step) % grid
        sides = (
            rows[i],
            cols[j],
            inner[part],
            np.diff(rows)[i],
            np.diff(cols)[j],
            np.diff(inner)[part],
        )
        boxes[step] = np.stack((np.arange(p), *sides), axis=1)
    if task.linked:
        messages = on_torus(grid, boxes, task.itemsize)
        return _with_times(
            "cannon",
            "",
            boxes.reshape(-1, 7),
            bytes_of(messages, boxes.size // 7),
            task,
            None,
            messages=messages,
        )
    sent = task.itemsize * ((boxes[..., 4] + boxes[..., 5]) * boxes[..., 6]).astype(np.float64)
    return _with_times("cannon", "", boxes.reshape(-1, 7), sent.reshape(-1), task, None)


def in_triangle(task: Task) -> ProductPlan:
    """The plan of A Aᵀ that computes one half of C.

    The workers get block columns of the lower triangle of C, in the order of the workers, divided
    by speed as evenly as possible. A zone needs only the rows of A from its first column on.
    """
    n, _, k = task.shape
    cuts = np.array(_triangle_cuts(n, task.block, task.platform.speeds.tolist()), np.int64)
    worker = np.flatnonzero(np.diff(cuts))
    col, end = cuts[worker], cuts[worker + 1]
    boxes = np.stack(
        (worker, col, col, np.zeros_like(col), n - col, end - col, np.full_like(col, k)), axis=1
    )
    return _with_times(
        "triangle",
        "",
        boxes,
        task.itemsize * k * (n - col).astype(np.float64),
        task,
        None,
        triangle=True,
    )


def _triangle_cuts(n: int, block: int, speeds: list[float]) -> list[int]:
    """The p + 1 columns between which the workers' parts of a triangle lie.

    The triangle has n columns, the first with n elements. No other cuts at multiples of block take
    less time, up to rounding. They are found by bisection over the time: each worker takes as much
    as it can in the given time.
    """

    def cuts(time: float) -> list[int]:
        found = [0]
        for speed in speeds:
            # the next w columns have w left - w (w - 1) / 2 elements
            left, budget = n - found[-1], time * speed
            whole = 2 * left + 1
            root = whole * whole - 8.0 * budget
            width = (
                left
                if root <= 1.0
                else int((whole - math.sqrt(root)) / 2.0 * (1.0 + 1e-15)) // block * block
            )
            found.append(found[-1] + min(width, left))
        return found

    low, high = n * (n + 1) / 2.0 / sum(speeds), n * (n + 1) / max(speeds)
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (low, middle) if cuts(middle)[-1] == n else (middle, high)
    return cuts(high)


def _require_layers(boxes: NDArray[np.int64], shape: tuple[int, int, int], shared: bool) -> None:
    """Check the boxes of a sum of layers.

    If the workers share boxes, each box must have the whole width of C. Otherwise all boxes of a
    worker must have the same rows and columns of C.
    """
    zones, (m, n, _) = boxes[:, [1, 2, 4, 5]], shape
    if shared:
        bad = (zones[:, 1] != 0) | (zones[:, 3] != n)
        starts = zones[:, 0] == 0
        follows = np.zeros(len(boxes), bool)
        follows[1:] = (zones[1:, 0] == zones[:-1, 0] + zones[:-1, 2]) & (
            boxes[1:, [3, 6]] == boxes[:-1, [3, 6]]
        ).all(axis=1)
        ends = zones[:, 0] + zones[:, 2] == m
        before = np.append(True, ends[:-1])
        bad |= np.where(starts, ~before, ~follows)
        bad[-1:] |= ~ends[-1:]
        what = (
            "a layer of the whole C, or a band of its rows after the band above,"
            " if workers share boxes"
        )
    else:
        _, first, worker = np.unique(boxes[:, 0], return_index=True, return_inverse=True)
        bad = (zones != zones[first][worker]).any(axis=1)
        what = "at the same place of C as the other boxes of its worker, because they are summed"
    if bad.any():
        raise ValueError(
            f"boxes[{int(np.argmax(bad))}] must be {what}, got {boxes[np.argmax(bad)].tolist()}"
        )


def _updates(boxes: NDArray[np.int64], triangle: bool) -> NDArray[np.float64]:
    """(b,) multiply-adds of each box; in a triangle, only those on and below the diagonal count."""
    height, width, length = boxes[:, 4:].T.astype(np.float64)
    above = width * (width - 1.0) / 2.0 if triangle else 0.0
    found: NDArray[np.float64] = (height * width - above) * length
    return found


def in_layers(method: str, given: NDArray[np.int64], task: Task) -> ProductPlan:
    """The plan of boxes (worker, row, col, depth, height, width, length), in elements.

    The boxes are in the order of the port. Each worker has one box, or several with the same rows
    and columns. Together they cover the iteration space; they may extend beyond it.
    """
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
        # elements of each worker's rows in each layer, which may exceed 2^63
        held = common * width.astype(np.float64)
        own = worker == np.arange(p)[:, None]
        bytes_sent = task.itemsize * np.where(own, 0, held).sum(axis=1)
        added = np.maximum(held.sum(axis=1) - np.diff(rows) * float(n), 0) * (
            1.0 if task.flops_per_update == 2.0 else 2.0
        )
        layers = LayerSum(rows, bytes_sent, np.zeros((p, 2)), added, 0.0)
    return _with_times(method, "", boxes, sent, task, layers)


def in_routed_layers(
    given: NDArray[np.int64], arrivals: NDArray[np.float64], sent: NDArray[np.float64], task: Task
) -> ProductPlan:
    """The plan of layers that arrive over any network.

    The boxes (worker, row, col, depth, height, width, length) span the whole of C; the boxes of a
    worker follow one another. Box b arrives from arrivals[b, 0] to arrivals[b, 1]. Its sent[b]
    bytes include the data that its worker sends on. A worker computes a box after it has arrived,
    or in modes with simultaneous start while it arrives. The messages of the final sum take no
    time.
    """
    some = (given[:, 6] > 0) & (given[:, 3] < task.shape[2])
    plan, receive = in_layers("layers", given[some], task), arrivals[some]
    overlap = COMMUNICATION[task.communication][2]
    work = plan._box_flops() / UNIT * task.platform.cycle_times[plan.boxes[:, 0]]
    ready = np.zeros(len(task.platform))
    for worker, (first, last), busy in zip(
        plan.boxes[:, 0].tolist(), receive.tolist(), work.tolist(), strict=True
    ):
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
    """The same boxes without the final sum: the layers stay with their workers.

    The plan ends when the last box is done.
    """
    if plan.layers is None:
        return plan
    return replace(plan, layers=None, **certified(plan.bound, makespan=plan.layers.start))


def in_shared_layers(given: NDArray[np.int64], task: Task) -> ProductPlan:
    """The plan of layers of the whole of C for a shared run.

    Workers that have finished take over boxes (worker, row, col, depth, height, width, length) of
    other workers. Nothing is sent.
    """
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
    """The plan of boxes (b, 7), which wait for sent[b] bytes each; times are computed here.

    That includes the times of the sum of layers.
    """
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
        itemsize=task.itemsize,
        communication=task.communication,
        **timed,
        messages=None if messages is None else check.frozen(messages),
        cycle_times=check.frozen(platform.cycle_times),
        link_costs=check.frozen(platform.link_costs),
        **whose(platform, len(platform)),
    )


def _timed(
    platform: Platform,
    boxes: NDArray[np.int64],
    sent: NDArray[np.float64],
    flops: NDArray[np.float64],
    communication: str,
    layers: LayerSum | None,
    messages: NDArray[Any] | None,
) -> dict[str, Any]:
    """The fields that depend on times: `receive`, `layers`, `links`, `makespan` and its bound."""
    times, costs, worker = platform.cycle_times, platform.link_costs, boxes[:, 0]
    workers, bound = np.arange(len(times)), float(flops.sum() / platform.speeds.sum() / UNIT)
    links = None if messages is None else platform.links
    transfers, waits = _transfers(boxes, sent, costs, links, messages)
    receive, makespan = _schedule(
        worker, transfers, (flops * times[worker] / UNIT).tolist(), len(times), communication, waits
    )
    if layers is not None:
        added = (layers.flops * times / UNIT).tolist()
        own, last = _schedule(workers, layers.sent * costs / UNIT, added, len(times), communication)
        layers, makespan = layers._replace(receive=own, start=makespan), makespan + last
        rows, sent, given, flops = (check.frozen(array) for array in layers[:4])
        layers = layers._replace(rows=rows, sent=sent, receive=given, flops=flops)
    return {
        "receive": check.frozen(receive),
        "layers": layers,
        "links": links,
        "makespan": makespan,
        "bound": bound,
    }


def _transfers(
    boxes: NDArray[np.int64],
    sent: NDArray[np.float64],
    costs: NDArray[np.float64],
    links: NDArray[np.float64] | None,
    messages: NDArray[Any] | None,
) -> tuple[NDArray[np.float64], list[list[int]] | None]:
    """(b,) times of the transfers, over the links of a star or between workers, and the transfers
    that each of them waits for."""
    if messages is None:
        return sent * costs[boxes[:, 0]] / UNIT, None
    assert links is not None
    return transfers_of(messages, boxes, links), earlier(messages, len(boxes))


def _schedule(
    workers: NDArray[np.int64],
    transfers: NDArray[np.float64],
    updates: list[float],
    p: int,
    communication: str,
    waits: list[list[int]] | None = None,
    *,
    start: float = 0.0,
    finish: Finish = undisturbed,
) -> tuple[NDArray[np.float64], float]:
    """(b, 2) start and end of the transfer of each box, and the makespan.

    Nothing begins before `start`. Workers are served in order. A box is not served before the
    transfers that it waits for.
    """
    _, parallel, overlap = COMMUNICATION[communication]
    receive: list[tuple[float, float]] = []
    ready, port = [start] * p, start
    for box, (worker, transfer, update) in enumerate(
        zip(workers.tolist(), transfers.tolist(), updates, strict=True)
    ):
        begin = ready[worker]
        if waits is not None:
            begin = max([begin, *(receive[other][1] for other in waits[box])])
        end = begin
        if transfer > 0:
            begin = begin if parallel else max(port, begin)
            port = end = begin + transfer
        receive.append((begin, end))
        ready[worker] = max(finish(worker, begin if overlap else end, update), end)
    return np.array(receive, np.float64).reshape(-1, 2), max(ready)
