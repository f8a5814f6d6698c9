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
from .._engine.schedule import (
    MESSAGE,
    MOST_BOXES,
    MOST_MESSAGES,
    Boxes,
    Matmul,
    Schedule,
    Sum,
    as_boxes,
    as_rows,
)
from ..drifted import Drifted
from ..plan import Finish, Plan, Step, certified
from ..platform import UNIT, Platform, Unit, whose
from .product_domains import Domains

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
        C. Then the boxes of a worker add up in its own layer, the least rectangle of C around them,
        and the layers are summed at the end.
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
            if self.shared:
                _require_bands(boxes, self.shape)
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
        own = _sum_of(self.layers)
        found = self._engine(platform).schedule(as_boxes(self.boxes), self.sent, self.messages, own)
        return self._carried(
            platform,
            found.makespan,
            found.bound,
            link_costs=costs,
            links=None if self.messages is None else platform.links,
            receive=check.frozen(found.receive),
            layers=_layer_sum(own, found),
            tried=check.FrozenDict(),
        )

    def _engine(self, platform: Platform | None = None) -> Matmul:
        """The product and the workers of the plan, or the workers of a platform, as the engine sees
        them."""
        given = self if platform is None else platform
        total, volumes = self.flops.sum(), _updates(self.boxes, self.triangle).sum()
        _, parallel, overlap = COMMUNICATION[self.communication]
        return Matmul(
            self.shape,
            given.cycle_times,
            given.link_costs,
            None if self.messages is None else given.links,
            self.itemsize,
            float(total / max(volumes, 1.0)) or 2.0,
            parallel=parallel,
            overlap=overlap,
            triangle=self.triangle,
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
        engine, boxes, layers = self._engine(), as_boxes(self.boxes), self.layers
        overlap = COMMUNICATION[self.communication][2]
        if isinstance(finish, Drifted):
            found = engine.schedule(
                boxes,
                self.sent,
                self.messages,
                _sum_of(layers),
                changes=finish.table,
                work=True,
            )
            if layers is not None:
                assert found.sum_receive is not None
                layers = layers._replace(receive=found.sum_receive, start=found.start)
        else:
            found = engine.schedule(boxes, self.sent, arrivals=self.receive, work=True)
        assert found.work is not None
        steps = []
        rows = (self.boxes[:, 0], *found.receive.T, *found.work.T)
        for box, (worker, start, end, begin, done) in enumerate(
            zip(*(row.tolist() for row in rows), strict=True)
        ):
            if end > start:
                steps.append(Step(worker, "transfer", start, end, self.transfer_label(box, worker)))
            steps.append(Step(worker, "compute", begin, done, self.box_labels[box]))
        if layers is not None:
            steps += self._sum_steps(layers, overlap, finish)
        return steps

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


@dataclass(frozen=True)
class Task:
    """A product to plan.

    shape: m, n, k. block: side of a block. communication: how operands are sent. itemsize: bytes of
    an element. flops_per_update: flops of an update.
    """

    shape: tuple[int, int, int]
    platform: Platform
    block: int
    communication: str
    itemsize: int
    flops_per_update: float
    shared: bool

    @cached_property
    def linked(self) -> bool:
        """Whether messages between workers take time."""
        links = self.platform.links
        return links is not None and bool(links.any())

    @property
    def step(self) -> int:
        """Width of the pivot columns of a step; 0 for a single step."""
        return self.block if COMMUNICATION[self.communication][0] else 0

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Numbers of blocks in m, n and k."""
        m, n, k = (-(-side // self.block) for side in self.shape)
        return m, n, k

    @property
    def unit_layer(self) -> NDArray[np.float64]:
        """Time of each worker for `block` columns of A and rows of B."""
        m, n, _ = self.shape
        work = self.flops_per_update * m * n
        return self.block * (work * self.platform.cycle_times) / UNIT

    @cached_property
    def cycle_times(self) -> NDArray[np.float64]:
        return check.frozen(self.platform.cycle_times)

    @cached_property
    def link_costs(self) -> NDArray[np.float64]:
        return check.frozen(self.platform.link_costs)

    @cached_property
    def engine(self) -> Matmul:
        """The product and the workers as the engine sees them."""
        return self._engine(False)

    def _engine(self, triangle: bool) -> Matmul:
        _, parallel, overlap = COMMUNICATION[self.communication]
        return Matmul(
            self.shape,
            self.cycle_times,
            self.link_costs,
            self.platform.links if self.linked else None,
            self.itemsize,
            self.flops_per_update,
            parallel=parallel,
            overlap=overlap,
            triangle=triangle,
        )

    @cached_property
    def half(self) -> Matmul:
        """The same for the lower triangle of C."""
        return self._engine(True)


class Candidate(NamedTuple):
    """A plan in the arrays of the engine; `plan` makes the ProductPlan of the one that is chosen.

    boxes: hs_box, and the bytes that each waits for. proof: the certificate, if it is known.
    """

    task: Task
    method: str
    boxes: Boxes
    schedule: Schedule
    messages: NDArray[Any] | None = None
    layers: Sum | None = None
    proof: dict[str, Any] | None = None
    triangle: bool = False

    @property
    def makespan(self) -> float:
        """The makespan; infinite if it overflows."""
        found = self.schedule.makespan
        return found if math.isfinite(found) else math.inf

    def plan(self, **fields: Any) -> ProductPlan:
        """The ProductPlan, with some fields changed."""
        task, (boxes, sent), schedule = self.task, self.boxes, self.schedule
        messages = self.messages
        made: dict[str, Any] = {
            "method": self.method,
            **(self.proof or certified(schedule.bound, makespan=schedule.makespan)),
            "shape": task.shape,
            "boxes": check.frozen(as_rows(boxes)),
            "shared": task.shared,
            "triangle": self.triangle,
            "flops": check.frozen(schedule.flops),
            "sent": check.frozen(sent),
            "receive": check.frozen(schedule.receive),
            "layers": _layer_sum(self.layers, schedule),
            "itemsize": task.itemsize,
            "communication": task.communication,
            "messages": None if messages is None else check.frozen(messages),
            "links": None if messages is None else task.platform.links,
            "cycle_times": task.cycle_times,
            "link_costs": task.link_costs,
            **whose(task.platform, len(task.platform)),
        }
        return ProductPlan(**made | fields)


def in_zones(
    method: str,
    pieces: NDArray[np.int64],
    task: Task,
    groups: NDArray[np.int64] | None = None,
) -> Candidate:
    """The plan of zones of C, (worker, row, col, height, width) in elements.

    Zones may extend beyond C. Workers of a group share the data that comes from other workers.
    """
    engine = task.engine
    count, (boxes, sent) = engine.zones(pieces, task.step, MOST_BOXES)
    require_few(count, 0, task)
    messages = None
    if task.linked:
        count, sent, messages = engine.owners(boxes, groups, MOST_MESSAGES)
        require_few(0, count, task)
    schedule = engine.schedule(boxes, sent, messages)
    return Candidate(task, method, (boxes, sent), schedule, messages)


def require_few(boxes: int, messages: int, task: Task) -> None:
    """Refuse a plan with too many boxes or messages."""
    if boxes > MOST_BOXES:
        steps = -(-max(task.shape[2], 1) // (task.step or max(task.shape[2], 1)))
        raise ValueError(
            f"block = {task.block} makes {steps} steps of {boxes // steps} boxes, together more"
            f" than {MOST_BOXES}: give a larger block"
        )
    if messages > MOST_MESSAGES:
        raise ValueError(
            f"block makes more than {MOST_MESSAGES} messages between the workers: give a larger"
            " block"
        )


def in_triangle(task: Task) -> ProductPlan:
    """The plan of A Aᵀ that computes one half of C.

    The workers get block columns of the lower triangle of C, in the order of the workers, divided
    by speed as evenly as possible. A zone needs only the rows of A from its first column on.
    """
    boxes, sent = task.half.triangle(task.block)
    schedule = task.half.schedule(boxes, sent)
    return Candidate(task, "triangle", (boxes, sent), schedule, triangle=True).plan()


def _require_bands(boxes: NDArray[np.int64], shape: tuple[int, int, int]) -> None:
    """Check the boxes of a sum of layers that workers share: each has the whole width of C."""
    zones, (m, n, _) = boxes[:, [1, 2, 4, 5]], shape
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
    if bad.any():
        raise ValueError(
            f"boxes[{int(np.argmax(bad))}] must be a layer of the whole C, or a band of its rows"
            " after the band above, if workers share boxes, got"
            f" {boxes[np.argmax(bad)].tolist()}"
        )


def is_scattered(plan: ProductPlan) -> bool:
    """Whether a worker has boxes at several places of C."""
    _, first, worker = np.unique(plan.boxes[:, 0], return_index=True, return_inverse=True)
    zones = plan.boxes[:, [1, 2, 4, 5]]
    return bool((zones != zones[first][worker]).any())


def _updates(boxes: NDArray[np.int64], triangle: bool) -> NDArray[np.float64]:
    """(b,) multiply-adds of each box; in a triangle, only those on and below the diagonal count."""
    height, width, length = boxes[:, 4:].T.astype(np.float64)
    above = width * (width - 1.0) / 2.0 if triangle else 0.0
    found: NDArray[np.float64] = (height * width - above) * length
    return found


def in_layers(method: str, given: NDArray[np.int64], task: Task) -> Candidate:
    """The plan of boxes (worker, row, col, depth, height, width, length), in elements.

    The boxes are in the order of the port. Together they cover the iteration space; they may extend
    beyond it.
    """
    return _summed(method, *task.engine.layers(as_boxes(given)), task)


def _summed(method: str, boxes: Boxes, layers: Sum | None, task: Task) -> Candidate:
    schedule = task.engine.schedule(*boxes, layers=layers)
    return Candidate(task, method, boxes, schedule, layers=layers)


def in_routed_layers(
    given: NDArray[np.int64], arrivals: NDArray[np.float64], sent: NDArray[np.float64], task: Task
) -> Candidate:
    """The plan of layers that arrive over any network.

    The boxes (worker, row, col, depth, height, width, length) span the whole of C; the boxes of a
    worker follow one another. Box b arrives from arrivals[b, 0] to arrivals[b, 1]. Its sent[b]
    bytes include the data that its worker sends on. A worker computes a box after it has arrived,
    or in modes with simultaneous start while it arrives. The messages of the final sum take no
    time.
    """
    some = (given[:, 6] > 0) & (given[:, 3] < task.shape[2])
    (boxes, _), layers = task.engine.layers(as_boxes(given[some]))
    routed = boxes, np.ascontiguousarray(sent[some])
    schedule = task.engine.schedule(*routed, layers=layers, arrivals=arrivals[some])
    return Candidate(task, "layers", routed, schedule, layers=layers)


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
    boxes, nothing = as_boxes(given), np.zeros(len(given))
    layers = task.engine.shared_layers()
    schedule = task.engine.schedule(boxes, nothing, layers=layers)
    return Candidate(task, "layers", (boxes, nothing), schedule, layers=layers).plan()


def _sum_of(layers: LayerSum | None) -> Sum | None:
    return None if layers is None else Sum(layers.rows, layers.sent, layers.flops)


def _layer_sum(own: Sum | None, schedule: Schedule) -> LayerSum | None:
    """The sum of layers with its times."""
    if own is None or schedule.sum_receive is None:
        return None
    rows, sent, flops, receive = (check.frozen(array) for array in (*own, schedule.sum_receive))
    return LayerSum(rows, sent, receive, flops, schedule.start)
