"""Sweeps over a matrix by a wavefront: the part of one rank.

Each rank keeps its chunks, runs of neighbouring columns (or rows) of tiles, and computes their
tiles in the order of the plan. A chunk has a border on each side: the line of elements before it
with new values, and the line after it with the values that were there before the sweep. The line
after it comes with the chunk. The line before it comes in parts, one message for each tile, as soon
as the tile is computed by the owner of the chunk before. Tiles never wait for the chunk after
theirs, so between two chunks all messages have one direction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._base.progress import Progress
from ..planners.wavefront import Wavefront, tile_label
from ..runners.pool import Pool, update
from ..runners.recurrence import Stencil
from ..trace import Trace
from . import product
from .arguments import Call, trace_of
from .loop import Condition, Loop, Waiting, all_of
from .panels import stopping
from .record import FIRST, Clock, Record, synchronised
from .windows import AHEAD, Array, Inbox
from .zones import Held, Zone, boxes_of, of_rank, tile_cuts

_BORDER = FIRST + 12  # tag of borders; zones move with smaller tags
_SHARES = 100  # reports of the progress of a rank, at most

#: A function of the array and the row, column, height and width of a tile.
Function = Callable[[Array, int, int, int, int], object]
Tile = tuple[int, int]


def stretches(length: int, width: int, reach: int, order: str) -> Iterator[list[Tile]]:
    """The tiles of a chunk in the order of the plan, as (tile of its line, line of the chunk).

    The tiles of a stretch are computed without a pause. Only its first tile may have to wait for
    the chunk before, and only its last tile may release the chunk after it.

    length, width : tiles of a line, and lines of the chunk
    """
    if order == "along":
        for line in range(width):
            tiles = [(i, line) for i in range(length)]
            if line in (0, width - 1):
                yield from ([tile] for tile in tiles)
            else:
                yield tiles
        return
    for step in range(length + reach * (width - 1)):
        first = 0 if step < length else (step - length) // reach + 1
        last = min(width - 1, step // reach) if reach else width - 1
        yield [(step - reach * line, line) for line in range(first, last + 1)]


@dataclass
class Chunk:
    """A chunk of this rank.

    Attributes
    ----------
    before, after : int or None
        The ranks that own the chunk before and the chunk after.
    first, width : int
        Lines of tiles.
    start, end : int
        Lines of elements.
    array : 2-D array
        The chunk with its borders.
    base : int
        The line of the image with which the array begins.
    arrived, finished : int
        Tiles of the line before the chunk that have arrived, and of its last line that are done.
    """

    before: int | None
    after: int | None
    first: int
    width: int
    start: int
    end: int
    array: Array
    base: int
    arrived: int = 0
    finished: int = 0


class WavefrontRun:
    """The sweep on one rank."""

    def __init__(
        self,
        call: Call,
        plan: Wavefront,
        kernel: Stencil | Function,
        image: Held,
        shape: tuple[int, int],
        pool: Pool,
        watched: bool,
    ) -> None:
        self._call, self._plan, self._kernel, self._pool = call, plan, kernel, pool
        self._image, self._shape, self._axis, self._watched = image, shape, plan.axis, watched
        self._boxes = boxes_of(plan, shape, call.ranks.size)
        self._along = tile_cuts(shape[1 - plan.axis], plan.shape[1 - plan.axis])
        self._lines = tile_cuts(shape[plan.axis], plan.shape[plan.axis])
        self._length = len(self._along) - 1
        self._changed = Condition()
        self._untold = 0  # elements that are computed, and of which the root does not know yet

    def result(self, stays: bool, traced: bool, tell: Progress | None) -> tuple[Any, Trace | None]:
        """Run; the image at the end goes to the root unless it stays with the ranks."""
        call, self._record = self._call, Record(traced)
        whole: list[Array] = []

        def made() -> None:
            self._chunks = self._made()
            lines = sum(chunk.end - chunk.start for chunk in self._chunks)
            self._own = lines * self._along[-1]  # elements of this rank
            if call.at_root and not stays:
                whole.append(np.empty(self._shape, self._image.dtype))

        def heard(_: int, count: int) -> None:
            call.done += count
            if tell is not None:
                tell(call.done / (self._shape[0] * self._shape[1]))

        self._heard = heard
        call.ranks.agree(made)
        parts, clocks, start = call.ranks.run(
            lambda loop: self._main(loop, None if stays else tuple(whole)), heard
        )
        value: Any = whole[0] if whole else None
        if stays:
            value = Zone(self._shape, self._boxes, call.ranks.rank, parts, self._image.dtype)
        record = trace_of(call, self._plan, self._record, clocks, start) if traced else None
        return value, record

    # ---- chunks ----

    def _made(self) -> list[Chunk]:
        """The chunks of this rank, with room for their elements and borders."""
        chunks, dtype = self._plan.chunks.tolist(), self._image.dtype
        whole = None
        if not isinstance(self._kernel, Stencil):
            # Lines lie together in memory, so that lines which are not written take none.
            whole = np.zeros(self._shape, dtype, order="F" if self._axis == 1 else "C")
        found = []
        for number, (rank, first, width) in enumerate(chunks):
            if rank != self._call.ranks.rank:
                continue
            before = chunks[number - 1][0] if number else None
            after = chunks[number + 1][0] if number + 1 < len(chunks) else None
            start, end = self._lines[first], self._lines[first + width]
            base = start - (before is not None)
            stop = end + (after is not None) * self._keeps_after
            array = self._empty(stop - base, dtype) if whole is None else whole
            base = base if whole is None else 0
            found.append(Chunk(before, after, first, width, start, end, array, base))
        return found

    @property
    def _keeps_after(self) -> bool:
        """Whether a chunk needs the line after it."""
        kernel = self._kernel
        return not isinstance(kernel, Stencil) or bool(kernel.used.take(2, self._axis).any())

    def _empty(self, lines: int, dtype: np.dtype[Any]) -> Array:
        length = self._shape[1 - self._axis]
        return np.empty((length, lines) if self._axis == 1 else (lines, length), dtype)

    def _part(self, chunk: Chunk, start: int, end: int) -> Array:
        """Lines of the image in the array of a chunk."""
        lines = slice(start - chunk.base, end - chunk.base)
        return chunk.array[:, lines] if self._axis == 1 else chunk.array[lines]

    def _line(self, chunk: Chunk, line: int) -> Array:
        """A line of elements."""
        at = line - chunk.base
        return chunk.array[:, at] if self._axis == 1 else chunk.array[at]

    # ---- the run ----

    async def _main(
        self, loop: Loop, whole: tuple[Array, ...] | None
    ) -> tuple[tuple[Array, ...], list[Clock], float]:
        self._loop, root, dtype = loop, self._call.root, self._image.dtype
        traced = self._record.wanted
        clocks = [await synchronised(loop, root)] if traced else []
        start = self._record.now()
        await self._deal()
        running = [loop.spawn(each) for each in self._exchanges()]
        await self._compute()
        await all_of(running)
        parts = tuple(self._part(chunk, chunk.start, chunk.end) for chunk in self._chunks)
        if whole is not None:
            wanted = np.array([(root, 0, 0, *self._shape)], np.int64)
            chunks = Held(self._boxes, parts, dtype)
            await product.moved(loop, self._record, chunks, wanted, whole)
        if traced:
            clocks.append(await synchronised(loop, root))
        return parts, clocks, start

    async def _deal(self) -> None:
        """Move the image from the ranks that hold it to chunks, with the lines after them."""
        wanted = self._boxes.copy()
        wanted[:-1, 3 + self._axis] += self._keeps_after
        own = of_rank(wanted, self._loop.rank)
        targets = tuple(
            self._part(chunk, chunk.start, chunk.start + size)
            for chunk, size in zip(self._chunks, own[:, 3 + self._axis].tolist(), strict=True)
        )
        await product.moved(self._loop, self._record, self._image, wanted, targets)

    async def _compute(self) -> None:
        """Compute the tiles of this rank in the order of the plan."""
        loop, plan = self._loop, self._plan
        under_way: deque[Waiting] = deque()
        for chunk in self._chunks:
            for tiles in stretches(self._length, chunk.width, plan.reach, plan.order):
                row, line = tiles[0]
                if chunk.before is not None and line == 0:
                    with self._record.waiting(f"border {chunk.first}"):
                        await self._until_arrived(chunk, min(row + plan.reach, self._length - 1))
                if len(under_way) == AHEAD:
                    await under_way.popleft()
                done = loop.compute(partial(self._do, chunk, tiles))
                under_way.append(loop.spawn(self._end(done, chunk, tiles[-1])))
        await all_of(under_way)

    async def _until_arrived(self, chunk: Chunk, tile: int) -> None:
        await self._changed.until(self._loop, lambda: chunk.arrived > tile)

    async def _until_finished(self, chunk: Chunk, tile: int) -> None:
        await self._changed.until(self._loop, lambda: chunk.finished > tile)

    def _do(self, chunk: Chunk, tiles: list[Tile]) -> int:
        """Compute a stretch of tiles; return the number of their elements."""
        count = 0
        for along, line in tiles:
            self._loop.go_on()
            row, col = (along, chunk.first + line)[:: 1 if self._axis == 1 else -1]
            with self._record.computing(
                tile_label(row * self._plan.shape[1] + col, self._plan.shape[1])
            ):
                count += self._do_tile(chunk, along, chunk.first + line)
        return count

    def _do_tile(self, chunk: Chunk, along: int, line: int) -> int:
        start, size = self._along[along], self._along[along + 1] - self._along[along]
        first, width = self._lines[line] - chunk.base, self._lines[line + 1] - self._lines[line]
        box = (start, first, size, width) if self._axis == 1 else (first, start, width, size)
        if isinstance(self._kernel, Stencil):
            update(self._pool, chunk.array, self._kernel, box, stopping(self._loop))
        else:
            self._kernel(chunk.array, *box)
        return size * width

    async def _end(self, done: Waiting, chunk: Chunk, last: Tile) -> None:
        """Announce that a stretch is done. `last` is its last tile."""
        count = await done
        if last[1] == chunk.width - 1:
            chunk.finished = last[0] + 1
            self._changed.changed()
        if self._watched:
            self._tell(count)

    def _tell(self, count: int) -> None:
        """Tell the root of computed elements, not too often."""
        self._untold += count
        ended = self._chunks[-1].finished == self._length
        if self._untold * _SHARES < self._own and not ended:
            return
        if self._call.at_root:
            self._heard(self._call.root, self._untold)
        else:
            self._loop.tell(self._untold, self._call.root)
        self._untold = 0

    # ---- borders ----

    def _exchanges(self) -> Iterator[Any]:
        """A coroutine for each rank that needs borders from here, and for each that sends some.

        The borders between two ranks travel in the order of the chunks, in which they are computed.
        """
        outgoing: dict[int, list[Chunk]] = {}
        incoming: dict[int, list[Chunk]] = {}
        for chunk in self._chunks:
            if chunk.after is not None:
                outgoing.setdefault(chunk.after, []).append(chunk)
            if chunk.before is not None:
                incoming.setdefault(chunk.before, []).append(chunk)
        yield from (self._send(to, chunks) for to, chunks in outgoing.items())
        yield from (self._receive(source, chunks) for source, chunks in incoming.items())

    async def _send(self, to: int, chunks: list[Chunk]) -> None:
        under_way: deque[Waiting] = deque()
        for chunk in chunks:
            line = self._line(chunk, chunk.end - 1)
            for tile in range(self._length):
                await self._until_finished(chunk, tile)
                if len(under_way) == AHEAD:
                    await under_way.popleft()
                data = line[self._tile(tile)].copy()
                self._record.sent += data.nbytes
                self._record.messages += 1
                under_way.append(self._loop.send(data, to, _BORDER))
        await all_of(under_way)

    async def _receive(self, source: int, chunks: list[Chunk]) -> None:
        inbox: Inbox[tuple[Chunk, int]] = Inbox(self._loop, _BORDER, self._arrived)
        for chunk in chunks:
            for tile in range(self._length):
                size = self._along[tile + 1] - self._along[tile]
                room = partial(np.empty, size, self._image.dtype)
                await inbox.receive((chunk, tile), source, room)
        await inbox.empty()

    def _arrived(self, item: tuple[Chunk, int], data: Array, _: float) -> None:
        chunk, tile = item
        self._line(chunk, chunk.start - 1)[self._tile(tile)] = data
        chunk.arrived = tile + 1
        self._record.received += data.nbytes
        self._changed.changed()

    def _tile(self, tile: int) -> slice:
        """The elements of a line in a tile."""
        return slice(self._along[tile], self._along[tile + 1])
