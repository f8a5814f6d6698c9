"""Products of a ProductPlan. Panels of A and B go to the ranks that need them, step by step.

Layers are summed at the end. The algorithm is SUMMA (van de Geijn, Watts, 1997) on rectangles of
any size, without a barrier. While a rank computes a step, it receives the panels of the next two
steps from the ranks that hold them. Each panel is sent to it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine import run as engine
from .._engine.dtypes import flops_per_update
from ..planners.product import COMMUNICATION, ProductPlan
from ..runners.pool import Pool, accumulate
from .loop import Loop, Waiting
from .record import FIRST, Record
from .windows import Array
from .zones import (
    Exchange,
    Held,
    Piece,
    copied,
    in_parts,
    of_rank,
    overlaps,
    reader,
    without_empty,
)

LOOK_AHEAD = 2  # number of steps for which a rank receives while it computes one
# Depths of panels for a plan without steps: the largest, the usual least one, and the number of
# panels to aim for.
_WIDE, _NARROW, _STEPS = 512, 128, 8
_PANELS, _LAYERS, _RESULT = FIRST, FIRST + 1, FIRST + 2  # tags

Interval = tuple[int, int]


class Part(NamedTuple):
    """A rectangle of C that a rank computes, or a layer of it."""

    row: int
    col: int
    height: int
    width: int


class Step(NamedTuple):
    """What a rank multiplies at a time.

    It is the interval [start, end) of the depth for some of the rank's parts, with the rows of A
    and the columns of B that these parts need, each once.
    """

    start: int
    end: int
    parts: tuple[int, ...]
    rows: tuple[Interval, ...]
    cols: tuple[Interval, ...]


def parts_of(plan: ProductPlan, rank: int) -> list[Part]:
    """The rectangles of C that a rank computes, in the order of the plan."""
    own = plan.boxes[plan.boxes[:, 0] == rank]
    return list(dict.fromkeys(Part(r, c, h, w) for _, r, c, _, h, w, _ in own.tolist()))


def steps_of(plan: ProductPlan, rank: int) -> list[Step]:
    """The steps of a rank, in order: the steps of the plan, or else panels.

    Panels are 128 to 512 deep. The last one of a box, and one that another box cuts, may be less.
    """
    own = plan.boxes[plan.boxes[:, 0] == rank].tolist()
    places = {part: i for i, part in enumerate(parts_of(plan, rank))}
    stepwise = COMMUNICATION[plan.communication][0]
    cuts: set[int] = set()
    for _, _, _, depth, _, _, length in own:
        width = max(length, 1) if stepwise else min(_WIDE, max(_NARROW, -(-length // _STEPS)))
        cuts |= {*range(depth, depth + length, width), depth + length}
    found = []
    edges = sorted(cuts)
    for start, end in zip(edges, edges[1:], strict=False):
        active = [box for box in own if box[3] <= start and end <= box[3] + box[6]]
        if active:
            parts = tuple(sorted(places[Part(r, c, h, w)] for _, r, c, _, h, w, _ in active))
            rows = _union((r, r + h) for _, r, _, _, h, _, _ in active)
            cols = _union((c, c + w) for _, _, c, _, _, w, _ in active)
            found.append(Step(start, end, parts, rows, cols))
    return found


def _union(intervals: Iterator[Interval]) -> tuple[Interval, ...]:
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return tuple(found)


def panels(
    plan: ProductPlan,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    itemsize: int,
    *,
    me: int | None = None,
) -> Iterator[Piece]:
    """All pieces of A (`of` 0) and of B (`of` 1) that ranks get from other ranks or themselves.

    a and b are the boxes in which the operands are held. With `me`, only pieces that this rank
    sends or receives.
    """
    for target in range(len(plan.names)):
        held = [boxes if me is None or me == target else of_rank(boxes, me) for boxes in (a, b)]
        if not any(len(boxes) for boxes in held):
            continue
        for step, (start, end, _, rows, cols) in enumerate(steps_of(plan, target)):
            wanted = [(0, row, start, stop - row, end - start) for row, stop in rows]
            wanted += [(1, start, col, end - start, stop - col) for col, stop in cols]
            for of, *rectangle in wanted:
                for source, r, c, h, w in overlaps(held[of], *rectangle):
                    yield from in_parts(Piece(source, target, step, of, r, c, h, w), itemsize)


def result_boxes(plan: ProductPlan) -> NDArray[np.int64]:
    """(b, 5) rank, row, col, height, width of C, as the ranks hold it at the end."""
    if plan.layers is None:
        boxes = [(rank, *part) for rank in range(len(plan.names)) for part in parts_of(plan, rank)]
    else:
        cuts = plan.layers.rows.tolist()
        boxes = [
            (i, cuts[i], 0, cuts[i + 1] - cuts[i], plan.shape[1]) for i in range(len(plan.names))
        ]
    return without_empty(np.array(boxes, np.int64).reshape(-1, 5))


def layers(plan: ProductPlan, itemsize: int, *, me: int | None = None) -> Iterator[Piece]:
    """The pieces that ranks sum, in the order in which the target sums them.

    `step` of a piece is the number of the part of its source.
    """
    strips = result_boxes(plan)
    for source in range(len(plan.names)):
        for i, (row, col, height, width) in enumerate(parts_of(plan, source)):
            for target, r, c, h, w in overlaps(strips, row, col, height, width):
                if me is None or me in (source, target):
                    yield from in_parts(Piece(source, target, i, 2, r, c, h, w), itemsize)


class _Panel:
    """The rows of A, or the columns of B, that a step needs: all intervals side by side."""

    def __init__(
        self, intervals: tuple[Interval, ...], along: int, depth: Interval, dtype: np.dtype[Any]
    ) -> None:
        self._intervals, self._along, self._depth, self._dtype = intervals, along, depth, dtype
        self._first = np.concatenate(([0], np.cumsum([end - start for start, end in intervals])))
        self._array: Array | None = None

    def place(self, piece: Piece, data: Array) -> None:
        """Store a piece of the panel; a piece that is the whole panel is not copied."""
        at = (piece.row, piece.col)[self._along]
        i = next(i for i, (start, end) in enumerate(self._intervals) if start <= at < end)
        count, depth = int(self._first[-1]), self._depth[1] - self._depth[0]
        shape = (count, depth) if self._along == 0 else (depth, count)
        if data.shape == shape:
            self._array = data
            return
        if self._array is None:
            self._array = np.empty(shape, self._dtype)
        side = int(self._first[i]) + at - self._intervals[i][0]
        deep = (piece.col, piece.row)[self._along] - self._depth[0]
        row, col = (side, deep) if self._along == 0 else (deep, side)
        self._array[row : row + piece.height, col : col + piece.width] = data

    def of(self, start: int, length: int) -> Array:
        """The part for some rows of A, or columns of B."""
        assert self._array is not None
        i = next(
            i
            for i, (begin, end) in enumerate(self._intervals)
            if begin <= start and start + length <= end
        )
        first = int(self._first[i]) + start - self._intervals[i][0]
        return (
            self._array[first : first + length]
            if self._along == 0
            else self._array[:, first : first + length]
        )


class Product:
    """C = A B on one rank.

    Parameters
    ----------
    operands : (Held, Held)
        A and B.
    dtype : numpy.dtype
        The dtype of the computation. Operands of another dtype are converted when they are sent.
    progress : function of this rank and a number of flops, or None
        Called when this many flops are done.
    """

    def __init__(
        self,
        loop: Loop,
        plan: ProductPlan,
        operands: tuple[Held, Held],
        dtype: np.dtype[Any],
        pool: Pool,
        record: Record,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self._loop = loop
        self._plan = plan
        self._held = operands
        self._dtype = dtype
        self._pool = pool
        self._record, self._progress = record, progress
        self._parts = parts_of(plan, loop.rank)
        self._steps = steps_of(plan, loop.rank)
        self.c = [np.zeros((part.height, part.width), dtype) for part in self._parts]
        self._opened = [Waiting() for _ in self._steps]
        self._ready = [Waiting() for _ in self._steps]
        self._panels: list[tuple[_Panel, _Panel] | None] = [None] * len(self._steps)
        self._missing = [0] * len(self._steps)

    async def run(self) -> tuple[Array, ...]:
        """Compute the product; return this rank's rectangles of C, as in `result_boxes`."""
        loop, me, itemsize = self._loop, self._loop.rank, self._dtype.itemsize
        pieces = list(panels(self._plan, self._held[0].boxes, self._held[1].boxes, itemsize, me=me))
        for piece in pieces:
            if piece.target == me:
                self._missing[piece.step] += 1
        for step in range(min(1 + LOOK_AHEAD, len(self._steps))):
            self._open(step)
        readers = [reader(of_rank(x.boxes, me), x.parts) for x in self._held]
        exchange = Exchange(
            loop,
            self._record,
            self._dtype,
            _PANELS,
            lambda piece: readers[piece.of](piece),
            self._place,
            lambda step: self._opened[step],
        )
        computed = loop.spawn(self._compute())
        await exchange.run(pieces)
        await computed
        return tuple(self.c) if self._plan.layers is None else await self._sum()

    def _open(self, step: int) -> None:
        start, end, _, rows, cols = self._steps[step]
        self._panels[step] = (
            _Panel(rows, 0, (start, end), self._dtype),
            _Panel(cols, 1, (start, end), self._dtype),
        )
        self._loop.fulfil(self._opened[step])

    def _place(self, piece: Piece, data: Array) -> None:
        panel = self._panels[piece.step]
        assert panel is not None
        panel[piece.of].place(piece, data.astype(self._dtype, copy=False))
        self._missing[piece.step] -= 1
        if self._missing[piece.step] == 0:
            self._loop.fulfil(self._ready[piece.step])

    async def _compute(self) -> None:
        begun = [False] * len(self._parts)
        for step, (start, end, parts, _, _) in enumerate(self._steps):
            with self._record.waiting(f"layers {start}"):
                await self._ready[step]
            await self._loop.compute(lambda step=step: self._multiply(step, begun))  # type: ignore[misc]
            self._panels[step] = None
            if step + 1 + LOOK_AHEAD < len(self._steps):
                self._open(step + 1 + LOOK_AHEAD)
            if self._progress is not None:
                updates = sum(self._parts[i].height * self._parts[i].width for i in parts) * (
                    end - start
                )
                self._progress(self._loop.rank, flops_per_update(self._dtype) * updates)

    def _multiply(self, step: int, begun: list[bool]) -> None:
        panel, (start, end, parts, _, _) = self._panels[step], self._steps[step]
        assert panel is not None
        with self._record.computing(f"layers {start} to {end - 1}"):
            for i in parts:
                row, col, height, width = self._parts[i]
                a, b = panel[0].of(row, height), panel[1].of(col, width)
                accumulate(
                    self._pool,
                    a,
                    b,
                    self.c[i],
                    1.0,
                    begun[i],
                    engine.Poll(lambda _: self._loop.go_on()),
                )
                begun[i] = True

    async def _sum(self) -> tuple[Array, ...]:
        """Sum the layers of all ranks over the rows of C that belong to this rank."""
        me = self._loop.rank
        strips = of_rank(result_boxes(self._plan), me)
        total = np.zeros((int(strips[:, 3].sum()), self._plan.shape[1]), self._dtype)
        first = int(strips[0, 1]) if len(strips) else 0

        def read(piece: Piece) -> Array:
            part = self._parts[piece.step]
            r, c = piece.row - part.row, piece.col - part.col
            return self.c[piece.step][r : r + piece.height, c : c + piece.width]

        def add(piece: Piece, data: Array) -> None:
            r = piece.row - first
            total[r : r + piece.height, piece.col : piece.col + piece.width] += data

        exchange = Exchange(self._loop, self._record, self._dtype, _LAYERS, read, add)
        await exchange.run(layers(self._plan, self._dtype.itemsize, me=me), in_order=True)
        return (total,) if len(strips) else ()


async def moved(
    loop: Loop, record: Record, held: Held, wanted: NDArray[np.int64], targets: tuple[Array, ...]
) -> None:
    """Move a matrix from the ranks that hold it to `targets`, this rank's boxes of `wanted`."""
    me = loop.rank
    read = reader(of_rank(held.boxes, me), held.parts)
    place = reader(of_rank(wanted, me), targets)

    def placed(piece: Piece, data: Array) -> None:
        place(piece)[...] = data

    pieces = copied(held.boxes, wanted, held.dtype.itemsize, me=me)
    await Exchange(loop, record, held.dtype, _RESULT, read, placed, counted=False).run(pieces)
