"""csrc/schedule: boxes of a product, the messages that they wait for, and their schedule."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleError
from .ffi import (
    LONG,
    buffer,
    cancellable,
    certificate,
    check_status,
    doubles,
    ffi,
    int32s,
    int64s,
    lib,
    or_null,
)

#: hs_box; the numbers are row, col, depth, height, width, length.
BOX = np.dtype([("worker", "i4"), ("numbers", "i8", 6)], align=True)

#: hs_message: what a box waits for. The sender, the number of bytes, and the box with the transfer
#: that brings the data to the sender; -1 if the sender has the data.
MESSAGE = np.dtype([("box", "i8"), ("sender", "i8"), ("bytes", "f8"), ("after", "i8")])


def as_boxes(rows: NDArray[np.int64]) -> NDArray[Any]:
    """The rows (b, 7) as an array of hs_box."""
    boxes = np.zeros(len(rows), BOX)
    boxes["worker"], boxes["numbers"] = rows[:, 0], rows[:, 1:]
    return boxes


def as_rows(boxes: NDArray[Any]) -> NDArray[np.int64]:
    """(b, 7) worker, row, col, depth, height, width, length."""
    rows = np.empty((len(boxes), 7), np.int64)
    rows[:, 0], rows[:, 1:] = boxes["worker"], boxes["numbers"]
    return rows


class Sum(NamedTuple):
    """An hs_layer_sum: (p + 1,) rows, (p,) bytes sent, (p,) flops."""

    rows: NDArray[np.int64]
    sent: NDArray[np.float64]
    flops: NDArray[np.float64]


class Schedule(NamedTuple):
    """An hs_schedule: (b, 2) receive and work, (p,) flops, (p, 2) receive of the sum.

    The sum is None if there is none; so is work if it was not asked for.
    """

    receive: NDArray[np.float64]
    work: NDArray[np.float64] | None
    flops: NDArray[np.float64]
    sum_receive: NDArray[np.float64] | None
    start: float
    makespan: float
    bound: float


#: (b,) boxes, and the bytes that each of them waits for.
Boxes = tuple[NDArray[Any], NDArray[np.float64]]

#: Most boxes and messages of a plan. A method needs some tenths of a second for so many.
MOST_BOXES: int = lib.HS_MATMUL_MOST_BOXES
MOST_MESSAGES: int = lib.HS_MATMUL_MOST_MESSAGES

#: hs_dynamic_task.
TASK = np.dtype(
    [(name, "i4") for name in ("worker", "row", "col", "depth")]
    + [("sent", "i4", lib.HS_DYNAMIC_OPERANDS), ("start", "f8"), ("end", "f8")],
    align=True,
)

#: The numbers of hs_dynamic_kind and hs_dynamic_method, by their names in `dynamic_product`.
DYNAMIC_KINDS: dict[str, int] = {
    "outer": lib.HS_DYNAMIC_OUTER,
    "matrix": lib.HS_DYNAMIC_MATRIX,
}
DYNAMIC_METHODS: dict[str, int] = {
    "dynamic-2phases": lib.HS_DYNAMIC_TWO_PHASES,
    "dynamic": lib.HS_DYNAMIC_GROWING,
    "random": lib.HS_DYNAMIC_RANDOM,
    "sorted": lib.HS_DYNAMIC_SORTED,
}
DYNAMIC_OPERANDS: int = lib.HS_DYNAMIC_OPERANDS
DYNAMIC_MOST_TASKS: int = lib.HS_DYNAMIC_MOST_TASKS

#: The numbers of hs_matmul_method, by the names of the methods of `plan_matmul`.
METHODS: dict[str, int] = {
    "auto": lib.HS_MATMUL_AUTO,
    "columns": lib.HS_MATMUL_COLUMNS,
    "rows": lib.HS_MATMUL_ROWS,
    "rectangles": lib.HS_MATMUL_RECTANGLES,
    "layers": lib.HS_MATMUL_LAYERS,
    "cuboids": lib.HS_MATMUL_CUBOIDS,
    "cannon": lib.HS_MATMUL_CANNON,
    "domains": lib.HS_MATMUL_DOMAINS,
    "nodes": lib.HS_MATMUL_NODES,
    "best": lib.HS_MATMUL_PARTITION,
    "interval": lib.HS_MATMUL_INTERVAL,
    "guillotine": lib.HS_MATMUL_GUILLOTINE,
    "nonrectangular": lib.HS_MATMUL_NONRECTANGULAR,
    "contiguous": lib.HS_MATMUL_CONTIGUOUS,
    "kalinov-lastovetsky": lib.HS_MATMUL_KALINOV_LASTOVETSKY,
    "recursive": lib.HS_MATMUL_RECURSIVE,
    "nagamochi-abe": lib.HS_MATMUL_NAGAMOCHI_ABE,
    "snrpp": lib.HS_MATMUL_SNRPP,
    "kaddoura": lib.HS_MATMUL_KADDOURA,
    "mohammadi-behroozi": lib.HS_MATMUL_MOHAMMADI_BEHROOZI,
}
_NAMES = sorted(METHODS, key=METHODS.__getitem__)

#: Most workers for which a method takes some ten milliseconds; for the other methods LONG.
_BRIEF = {
    "auto": 4,
    "best": 4,
    "layers": 30,
    "cuboids": 8,
    "nodes": 20,
    "interval": 60,
    "guillotine": 7,
    "nonrectangular": 4,
}


class Found(NamedTuple):
    """What hs_matmul_best has found: arrays, certificate, and the makespans of what it tried."""

    method: str
    boxes: Boxes
    schedule: Schedule
    messages: NDArray[Any] | None
    layers: Sum | None
    proof: dict[str, Any]
    tried: dict[str, float]


class NoPlanError(ValueError):
    """The engine refuses a plan: with too many boxes or messages, or a makespan that overflows."""

    def __init__(self, boxes: int, messages: int, overflows: bool) -> None:
        super().__init__("an argument is outside its documented range")
        self.boxes, self.messages, self.overflows = boxes, messages, overflows


class Matmul:
    """An hs_matmul and the arrays that it points to."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        cycle_times: NDArray[np.float64],
        link_costs: NDArray[np.float64],
        links: NDArray[np.float64] | None,
        itemsize: int,
        update: float,
        *,
        parallel: bool,
        overlap: bool,
        triangle: bool = False,
    ) -> None:
        self.p = p = len(cycle_times)
        self._k, self._linked = shape[2], links is not None
        self._views = (
            doubles(np.ascontiguousarray(cycle_times)),
            doubles(np.ascontiguousarray(link_costs), p),
            or_null(
                None if links is None else np.ascontiguousarray(links).reshape(-1), doubles, p * p
            ),
        )
        self._handle = ffi.new(
            "hs_matmul *", (*shape, p, *self._views, itemsize, update, parallel, overlap, triangle)
        )

    # ---- the best plan ----

    def best(
        self,
        method: str,
        block: int,
        *,
        stepwise: bool,
        zones_only: bool,
        nodes: NDArray[np.int32] | None,
        domains: NDArray[np.int32] | None,
        zones: NDArray[np.int64] | None = None,
    ) -> Found:
        """hs_matmul_best. NoPlanError if it has a known reason to refuse the plan."""
        p, steps = self.p, max(-(-self._k // block), 1) if stepwise else 1
        options = ffi.new(
            "hs_matmul_options *",
            (METHODS[method], block, stepwise, zones_only)
            + (or_null(nodes, int32s, p), or_null(domains, int32s, p))
            + (ffi.NULL if zones is None else ffi.from_buffer("int64_t[]", zones),),
        )
        room = max(min(3 * p * steps, MOST_BOXES), p)
        boxes, sent, own = np.zeros(room, BOX), np.empty(room), self._empty_sum()
        notes = np.empty(min(p * p * steps, MOST_MESSAGES) if self._linked else 0, MESSAGE)
        receive, flops, of_sum = np.empty((room, 2)), np.empty(p), np.empty((p, 2))
        tried = np.empty(len(METHODS))
        found, proof = ffi.new("hs_matmul_found *"), ffi.new("hs_certificate *")
        found.box_capacity, found.message_capacity = room, len(notes)
        found.boxes, found.sent = ffi.from_buffer("hs_box[]", boxes), doubles(sent)
        found.messages, found.tried = _as_messages(notes), doubles(tried)
        found.sum = self._handle_of(own)[0]
        schedule = found.schedule
        schedule.receive, schedule.sum_receive = _flat(receive), _flat(of_sum)
        schedule.flops = doubles(flops)
        long = p > _BRIEF.get(method, LONG) or len(notes) > LONG or room > LONG
        long = long or (method in ("auto", "layers") and p * self._k // block > LONG)
        try:
            cancellable(
                lambda cancel: lib.hs_matmul_best(self._handle, options, cancel, found, proof), long
            )
        except InfeasibleError:
            raise
        except ValueError:
            raise NoPlanError(
                found.box_count, found.message_count, math.isinf(schedule.makespan)
            ) from None
        count, layers = found.box_count, own if found.layered else None
        times = schedule.start, schedule.makespan, schedule.bound
        return Found(
            _NAMES[found.method],
            (_first(boxes, count), _first(sent, count)),
            Schedule(
                _first(receive, count), None, flops, None if layers is None else of_sum, *times
            ),
            None if found.message_count < 0 else _first(notes, found.message_count),
            layers,
            certificate(proof, "makespan"),
            {name: value for name, value in zip(_NAMES, tried.tolist(), strict=True) if value >= 0},
        )

    # ---- boxes ----

    def zones(self, pieces: NDArray[np.int64], step: int, most: int) -> tuple[int, Boxes]:
        """Number of boxes, and boxes of hs_matmul_zones: none if there are more than `most`.

        pieces : (q, 5) worker, row, col, height, width.
        """
        depth = max(self._k, 1)
        room = min(most, len(pieces) * -(-depth // (step or depth)))
        workers, rects = pieces[:, 0].astype(np.int32), pieces[:, 1:].reshape(-1)
        return self._boxes(
            lib.hs_matmul_zones, room, step, len(pieces), int32s(workers), int64s(rects)
        )

    def triangle(self, block: int) -> Boxes:
        """hs_matmul_triangle."""
        return self._boxes(lib.hs_matmul_triangle, self.p, block)[1]

    def _boxes(self, function: Any, room: int, *given: Any) -> tuple[int, Boxes]:
        boxes, sent, count = np.zeros(room, BOX), np.empty(room), ffi.new("int64_t *")
        found = ffi.from_buffer("hs_box[]", boxes), doubles(sent), count
        check_status(function(self._handle, *given, room, *found))
        kept = count[0] if count[0] <= room else 0
        return count[0], (boxes[:kept], sent[:kept])

    def layers(self, given: NDArray[Any]) -> tuple[Boxes, Sum | None]:
        """Boxes and sum of hs_matmul_layers."""
        boxes, sent, own, found = self._layers(len(given))
        boxes_given = ffi.from_buffer("hs_box[]", given)
        cancellable(
            lambda cancel: lib.hs_matmul_layers(
                self._handle, len(given), boxes_given, cancel, *found
            ),
            self.p > LONG // 20,
        )
        return _cut(boxes, sent, own, *found[2::2])

    def _layers(self, room: int) -> tuple[NDArray[Any], NDArray[np.float64], Sum, Any]:
        """The outputs of functions that make layers: as arrays, and as C takes them."""
        boxes, sent, own = np.zeros(room, BOX), np.empty(room), self._empty_sum()
        counts = ffi.new("int64_t *"), self._handle_of(own), ffi.new("int32_t *")
        return boxes, sent, own, (ffi.from_buffer("hs_box[]", boxes), doubles(sent), *counts)

    def shared_layers(self) -> Sum:
        """hs_matmul_shared_layers."""
        own = self._empty_sum()
        check_status(lib.hs_matmul_shared_layers(self._handle, self._handle_of(own)))
        return own

    def _empty_sum(self) -> Sum:
        return Sum(np.empty(self.p + 1, np.int64), np.empty(self.p), np.empty(self.p))

    def _handle_of(self, own: Sum) -> Any:
        """An hs_layer_sum of these arrays, which must stay alive with it."""
        views = int64s(own.rows, self.p + 1), doubles(own.sent, self.p), doubles(own.flops, self.p)
        return ffi.new("hs_layer_sum *", views)

    # ---- messages ----

    def owners(
        self, boxes: NDArray[Any], groups: NDArray[np.int64] | None, most: int
    ) -> tuple[int, NDArray[np.float64], NDArray[Any]]:
        """Number of messages, bytes for each box, and messages of hs_matmul_owners.

        If there are more than `most` messages, the list has as many.
        """
        workers, depths = boxes["worker"], boxes["numbers"][:, 2]
        room = min(most, len(np.unique(depths)) * len(np.unique(workers)) ** 2)
        sent, messages, found = _messages(len(boxes), room)
        given = len(boxes), ffi.from_buffer("hs_box[]", boxes), or_null(groups, int64s, self.p)
        cancellable(
            lambda cancel: lib.hs_matmul_owners(self._handle, *given, cancel, *found), room > LONG
        )
        return found[-1][0], sent, messages[: found[-1][0]]

    # ---- schedules ----

    def schedule(
        self,
        boxes: NDArray[Any],
        sent: NDArray[np.float64],
        messages: NDArray[Any] | None = None,
        layers: Sum | None = None,
        *,
        arrivals: NDArray[np.float64] | None = None,
        changes: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
        work: bool = False,
    ) -> Schedule:
        """hs_matmul_schedule.

        arrivals : (b, 2) when each box arrives, in place of messages and bytes.
        changes : (c,) times when speeds change, and (c, p) cycle-times from then on.
        work : whether the schedule says when each box is computed.
        """
        count, p = len(boxes), self.p
        receive, flops = np.empty((count, 2)), np.empty(p)
        busy = np.empty((count, 2)) if work else None
        of_sum = None if layers is None else np.empty((p, 2))
        views = (
            ffi.from_buffer("hs_box[]", boxes),
            doubles(sent, count),
            0 if messages is None else len(messages),
            or_null(messages, _as_messages),
            or_null(arrivals, _flat, 2 * count),
            ffi.NULL if layers is None else self._handle_of(layers),
        )
        plan = ffi.new("hs_matmul_plan *", (count, *views))
        times, rows = (np.empty(0), np.empty(0)) if changes is None else changes
        speeds = doubles(times), _flat(rows, len(times) * p)
        drift = ffi.new("hs_speed_changes *", (len(times), *speeds))
        outputs = (
            _flat(receive), or_null(busy, _flat), doubles(flops), or_null(of_sum, _flat)
        )  # fmt: skip
        found = ffi.new("hs_schedule *", outputs)
        given = self._handle, plan, ffi.NULL if changes is None else drift
        check_status(lib.hs_matmul_schedule(*given, found))
        return Schedule(receive, busy, flops, of_sum, found.start, found.makespan, found.bound)


class Demand:
    """An hs_dynamic and the arrays that it points to.

    changes : (c,) times when speeds change, and (c, p) cycle-times from then on; or None.
    """

    def __init__(
        self,
        n: int,
        kind: str,
        times: NDArray[np.float64],
        changes: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    ) -> None:
        self._p, self._tasks = len(times), n ** (3 if kind == "matrix" else 2)
        moments, rows = (np.empty(0), np.empty(0)) if changes is None else changes
        own, views = doubles(times), (doubles(moments), _flat(rows, len(moments) * self._p))
        drift = ffi.new("hs_speed_changes *", (len(moments), *views))
        self._held = own, views, drift
        self._handle = ffi.new(
            "hs_dynamic *",
            {"p": self._p, "cycle_times": own, "n": n, "kind": DYNAMIC_KINDS[kind]},
        )
        self._handle.changes = ffi.NULL if changes is None else drift

    def simulate(
        self, method: str, beta: float, seed: int
    ) -> tuple[NDArray[Any], float, dict[str, Any]]:
        """(tasks,) TASK, makespan and certificate of hs_dynamic_product."""
        handle = self._handle
        handle.method, handle.beta, handle.seed = DYNAMIC_METHODS[method], beta, seed
        tasks = np.empty(self._tasks, TASK)
        blocks = np.empty((self._p, DYNAMIC_OPERANDS), np.int64)
        given = buffer("hs_dynamic_task[]", tasks, TASK), int64s(blocks.reshape(-1))
        makespan, proof = ffi.new("double *"), ffi.new("hs_certificate *")
        cancellable(
            lambda cancel: lib.hs_dynamic_product(handle, cancel, *given, makespan, proof),
            self._tasks > LONG // 10,
        )
        return tasks, makespan[0], certificate(proof, "volume")

    def bounds(self) -> tuple[float, float]:
        """Volume and makespan of hs_dynamic_bounds."""
        volume, makespan = ffi.new("double *"), ffi.new("double *")
        check_status(lib.hs_dynamic_bounds(self._handle, volume, makespan))
        return volume[0], makespan[0]

    def predict(self, beta: float) -> float:
        """hs_dynamic_predict."""
        volume = ffi.new("double *")
        check_status(lib.hs_dynamic_predict(self._handle, beta, volume))
        return float(volume[0])

    def beta(self) -> float:
        """hs_dynamic_beta."""
        found = ffi.new("double *")
        cancellable(
            lambda cancel: lib.hs_dynamic_beta(self._handle, cancel, found), self._p > LONG // 100
        )
        return float(found[0])


def _first(array: NDArray[Any], count: int) -> NDArray[Any]:
    """The first entries of an array: a copy, if the others take much memory."""
    return array[:count] if len(array) < 2 * count + 1000 else array[:count].copy()


def _cut(
    boxes: NDArray[Any], sent: NDArray[np.float64], own: Sum, count: Any, layered: Any
) -> tuple[Boxes, Sum | None]:
    return (boxes[: count[0]], sent[: count[0]]), own if layered[0] else None


def _messages(boxes: int, room: int) -> tuple[NDArray[np.float64], NDArray[Any], Any]:
    """The outputs of functions that make messages: as arrays, and as C takes them."""
    sent, messages = np.empty(boxes), np.empty(room, MESSAGE)
    return sent, messages, (room, doubles(sent), _as_messages(messages), ffi.new("int64_t *"))


def _as_messages(messages: NDArray[Any]) -> Any:
    return buffer("hs_message[]", messages, MESSAGE)


def _flat(array: NDArray[np.float64], *count: int) -> Any:
    return doubles(array.reshape(-1), *count)
