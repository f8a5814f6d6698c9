"""A worker of a StarPlan. It receives chunks and panels, computes meanwhile, returns results."""

from __future__ import annotations

import itertools
import time
from collections import deque
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..runners.pool import Pool, accumulate
from . import chunks
from .chunks import LOAD, PANEL, RESULT, A, Array, B, C, Chunk, Product, Step
from .loop import Condition, Loop, Waiting
from .panels import stopping
from .record import FIRST, Clock, synchronised

TAG = FIRST


class Report(NamedTuple):
    """What a worker reports at the end of a product.

    Attributes
    ----------
    cpu : float
        CPU time in seconds.
    sent, received : int
        Bytes of matrices sent and received.
    allocated : int
        Largest size of its buffers, in bytes.
    clock : Clock or None
        Its last clock reading, if there is a trace.
    """

    cpu: float
    sent: int
    received: int
    allocated: int
    clock: Clock | None


class Worker:
    """A rank that works for a master."""

    def __init__(self, master: int) -> None:
        self.master = master
        self._chunks: deque[tuple[int, Chunk]] = deque()
        # results that the master has asked for, and results that have been sent
        self._granted = self._given = 0
        self._ended = False
        self._told = Condition()
        self._arena = np.zeros(0, np.uint8)
        self.sent = self.received = self.allocated = 0

    def heard(self, _: int, what: Any) -> None:
        """Take what the master says: more chunks, a request for the next result, or the end."""
        kind, value = what
        if kind == "chunks":
            self._chunks.extend(value)
        elif kind == "give":
            self._granted += 1
        elif kind == "end":
            self._ended = True
        self._told.changed()

    async def run(self, loop: Loop, product: Product, pool: Pool, traced: bool) -> None:
        """Compute chunk after chunk until the master says that there are no more.

        It may be called again for the next product of the same master.
        """
        began = time.process_time()
        last = None
        if traced:
            loop.tell(("clock", await synchronised(loop, self.master)), self.master)
        while True:
            await self._told.until(loop, lambda: bool(self._chunks) or self._ended)
            if not self._chunks:
                break
            pipelined = [self._chunks.popleft() for _ in chunks.pipelined(self._chunks)]
            await _Work(self, loop, product, pool, pipelined).run()
        self._ended = False  # the next product may begin when this one is reported
        if traced:
            last = await synchronised(loop, self.master)
        report = Report(time.process_time() - began, self.sent, self.received, self.allocated, last)
        loop.tell(("report", report), self.master)

    def room(self, size: int) -> Array:
        """A buffer of this many bytes, in the same memory as before if it is large enough."""
        if len(self._arena) < size:
            self._arena = np.zeros(0, np.uint8)  # free the old buffer before a new one is allocated
            self._arena = np.empty(size, np.uint8)
            self.allocated = max(self.allocated, size)
        return self._arena[:size]

    async def asked(self, loop: Loop) -> None:
        """Wait until the master is ready for the next result."""
        await self._told.until(loop, lambda: self._granted > self._given)
        self._given += 1


class _Place(NamedTuple):
    """A chunk in the arena: the part that it holds, and the buffers that its panels use in turn."""

    number: int
    chunk: Chunk
    held: Array
    buffers: list[Array]


class _Work:
    """The work on the chunks of one `chunks.pipelined`."""

    def __init__(
        self,
        worker: Worker,
        loop: Loop,
        product: Product,
        pool: Pool,
        pipelined: list[tuple[int, Chunk]],
    ) -> None:
        self._worker, self._loop, self._product, self._pool = worker, loop, product, pool
        self._t = product.shape[2]
        self._arrived: deque[int] = deque()
        # panels that have freed their buffers; chunks that have been returned
        self._free = self._returned = 0
        self._news = Condition()
        self._blocks = self._peak = 0
        self._places = self._placed(pipelined)

    def _placed(self, pipelined: list[tuple[int, Chunk]]) -> list[_Place]:
        """Assign memory of the arena to the chunks.

        Panel buffers are at its start. Behind them is one room for the parts that two neighbouring
        chunks hold, one chunk at each end of the room.
        """
        dtype, product = np.dtype(self._product.dtype), self._product
        held, panel = (
            [chunks.elements_in(product, chunk, Step(kind, 0, 0)) for _, chunk in pipelined]
            for kind in (LOAD, PANEL)
        )
        passing = max(
            chunks.slots(chunk) * size for (_, chunk), size in zip(pipelined, panel, strict=True)
        )
        room = max(map(sum, itertools.pairwise([0, *held])))
        arena = self._worker.room((passing + room) * dtype.itemsize).view(dtype)
        places, turn = [], 0
        for i, (number, chunk) in enumerate(pipelined):
            start = passing + (room - held[i] if i % 2 else 0)
            ends = [0, passing - panel[i]][: chunks.slots(chunk)]
            buffers = [
                arena[at : at + panel[i]]
                for at in (ends[turn:] + ends[:turn] if len(ends) == 2 else ends)
            ]
            places.append(_Place(number, chunk, arena[start : start + held[i]], buffers))
            turn = (turn + len(chunks.panels_of(chunk, self._t))) % 2
        return places

    async def run(self) -> None:
        coming = self._loop.spawn(self._receive())
        results = []
        for place in self._places:
            number, chunk = place.number, place.chunk
            for _ in chunks.panels_of(chunk, self._t):
                await self._news.until(self._loop, lambda: bool(self._arrived))
                first = self._arrived.popleft()
                start, end = await self._loop.compute(
                    partial(self._multiply, self._operands(place, first))
                )
                done = first // chunk.depth + 1
                self._loop.tell(
                    ("computed", (number, done, start, end, self._peak)), self._worker.master
                )
                if chunk.held == C:
                    self._leave(chunk, first)
                else:
                    results.append(self._loop.spawn(self._give_back(place, first)))
            if chunk.held == C:
                results.append(self._loop.spawn(self._give_back_all(place)))
        await coming
        for result in results:
            await result

    def _panel(self, place: _Place, first: int) -> Array:
        """The buffer of a panel. A streamed block is behind the blocks that stay for its layer."""
        chunk = place.chunk
        size = chunks.elements_in(self._product, chunk, Step(PANEL, first, 0))
        if chunks.streamed(chunk) and not chunks.along(chunk, self._t, first):
            start = self._stays(chunk, first)
            return place.buffers[0][start : start + size]
        return place.buffers[first // chunk.depth % chunks.slots(chunk)][:size]

    def _stays(self, chunk: Chunk, first: int) -> int:
        """Number of elements that stay for the layer of a streamed block."""
        return chunks.parts(self._product, chunk, first)[A + B - chunks.streamed(chunk)].size

    def _streamed(self, place: _Place, first: int) -> dict[int, Array]:
        """A streamed block, the blocks that it meets, and the strip of C that they update."""
        product, chunk, panel = self._product, place.chunk, place.buffers[0]
        own, other = chunks.parts(product, chunk, first), chunks.streamed(chunk)
        rest = A + B - other
        all_of_it = chunks.whole(product, chunk)
        (c,) = chunks.views(place.held, product, [(C, all_of_it)]).values()
        found = chunks.views(panel, product, [(rest, own[rest])])
        found |= chunks.views(panel[own[rest].size :], product, [(other, own[other])])
        row, col = own[C].row - all_of_it.row, own[C].col - all_of_it.col
        return found | {C: c[row : row + own[C].height, col : col + own[C].width]}

    def _operands(self, place: _Place, first: int) -> dict[int, Array]:
        if chunks.streamed(place.chunk):
            return self._streamed(place, first)
        found: dict[int, Array] = {}
        for kind, data in ((LOAD, place.held), (PANEL, self._panel(place, first))):
            of = chunks.message_parts(self._product, place.chunk, Step(kind, first, 0))
            found |= chunks.views(data, self._product, of)
        return found

    def _multiply(self, x: dict[int, Array]) -> tuple[float, float]:
        start = time.perf_counter()
        accumulate(self._pool, x[A], x[B], x[C], self._product.alpha, True, stopping(self._loop))
        return start, time.perf_counter()

    async def _receive(self) -> None:
        """Receive each message into its place as soon as that place is free."""
        for i, step in chunks.steps_of([place.chunk for place in self._places], self._t):
            if step.kind != RESULT:
                await self._receive_one(i, step)

    async def _receive_one(self, i: int, step: Step) -> None:
        place = self._places[i]
        chunk = place.chunk
        if step.kind == LOAD:
            await self._news.until(self._loop, lambda: self._returned >= i - 1)
            data = place.held
        else:
            needed = (
                step.after
                if chunk.held == C
                else step.first // chunk.depth - chunks.slots(chunk) + 1
            )
            await self._news.until(self._loop, lambda: self._free >= needed)
            data = self._panel(place, step.first)
        self._blocks += chunks.blocks_in(chunk, self._t, step)
        self._peak = max(self._peak, self._blocks)
        await self._loop.receive(data, self._worker.master, TAG)
        self._worker.received += data.nbytes
        if step.kind == PANEL:
            self._arrived.append(step.first)
            self._news.changed()

    async def _give_back(self, place: _Place, first: int) -> None:
        """Return the rows or columns of C of a panel. Its buffer is free only after that."""
        await self._worker.asked(self._loop)
        size = chunks.elements_in(self._product, place.chunk, Step(RESULT, first, 0))
        await self._send(self._panel(place, first)[:size])  # C comes first in a panel
        self._leave(place.chunk, first)

    async def _give_back_all(self, place: _Place) -> None:
        """Return the part of C that a chunk holds. Its place is free only after that."""
        await self._worker.asked(self._loop)
        await self._send(place.held)
        self._blocks -= chunks.traffic_of(place.chunk, self._t).held
        self._returned += 1
        self._news.changed()

    def _send(self, data: Array) -> Waiting:
        self._worker.sent += data.nbytes
        return self._loop.send(data, self._worker.master, TAG)

    def _leave(self, chunk: Chunk, first: int) -> None:
        """Mark the buffer of a panel as free."""
        self._blocks -= chunks.blocks_leaving(chunk, self._t, first)
        self._free += 1
        self._news.changed()
