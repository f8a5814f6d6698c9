"""A worker of a StarPlan: receives what a chunk holds and its panels, computes meanwhile, gives results back when asked to."""

from __future__ import annotations

import time
from collections import deque
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._engine import run as engine
from ..runners.pool import Pool, accumulate
from . import chunks
from .chunks import LOAD, PANEL, RESULT, A, Array, B, C, Chunk, Product, Step
from .loop import Condition, Loop, Waiting, Window
from .record import FIRST, Clock, synchronised

TAG = FIRST


class Report(NamedTuple):
    """What a worker says in the end.

    Attributes
    ----------
    cpu : float
        CPU seconds.
    sent, received : int
        Bytes of matrices.
    allocated : int
        Bytes of its buffers, at most.
    clock : Clock or None
        Its last, where there is a trace.
    """

    cpu: float
    sent: int
    received: int
    allocated: int
    clock: Clock | None


class Worker:
    """One of the ranks around a master."""

    def __init__(self, master: int) -> None:
        self.master = master
        self._chunks: deque[tuple[int, Chunk]] = deque()
        self._granted = self._given = 0  # results that the master has asked for, that have been sent
        self._ended = False
        self._told = Condition()
        self._arena = np.zeros(0, np.uint8)
        self.sent = self.received = self.allocated = 0

    def heard(self, _: int, what: Any) -> None:
        """What the master says: more chunks, that it waits for the next result, or that this is all."""
        kind, value = what
        if kind == "chunks":
            self._chunks.extend(value)
        elif kind == "give":
            self._granted += 1
        elif kind == "end":
            self._ended = True
        self._told.changed()

    async def run(self, loop: Loop, product: Product, pool: Pool, traced: bool) -> None:
        """Chunk after chunk."""
        began = time.process_time()
        last = None
        if traced:
            loop.tell(("clock", await synchronised(loop, self.master)), self.master)
        while True:
            await self._told.until(loop, lambda: bool(self._chunks) or self._ended)
            if not self._chunks:
                break
            number, chunk = self._chunks.popleft()
            work = _Work(self, loop, product, pool, number, chunk)
            await work.run()
        if traced:
            last = await synchronised(loop, self.master)
        report = Report(time.process_time() - began, self.sent, self.received, self.allocated, last)
        loop.tell(("report", report), self.master)

    def room(self, size: int) -> Array:
        """So many bytes, always the same ones where they suffice."""
        if len(self._arena) < size:
            self._arena = np.zeros(0, np.uint8)  # the old ones are free before there are new ones
            self._arena = np.empty(size, np.uint8)
            self.allocated = max(self.allocated, size)
        return self._arena[:size]

    async def asked(self, loop: Loop) -> None:
        """Wait until the master waits for the next result."""
        await self._told.until(loop, lambda: self._granted > self._given)
        self._given += 1


class _Work:
    """One chunk."""

    def __init__(self, worker: Worker, loop: Loop, product: Product, pool: Pool, number: int, chunk: Chunk) -> None:
        self._worker, self._loop, self._product, self._pool = worker, loop, product, pool
        self._number, self._chunk, self._t = number, chunk, product.shape[2]
        self._slots = Window(loop, chunks.slots(chunk))
        self._arrived: deque[int] = deque()
        self._news = Condition()
        self._blocks = self._peak = 0
        dtype = np.dtype(product.dtype)
        held, panel = (chunks.elements_in(product, chunk, Step(kind, 0, 0)) for kind in (LOAD, PANEL))
        count = min(chunks.slots(chunk), -(-chunks.length_of(chunk, self._t) // chunk.depth))
        arena = worker.room((held + count * panel) * dtype.itemsize).view(dtype)
        self._held = arena[:held]
        self._panels = [arena[held + i * panel : held + (i + 1) * panel] for i in range(count)]

    async def run(self) -> None:
        coming = self._loop.spawn(self._receive())
        results = []
        for _ in range(0, chunks.length_of(self._chunk, self._t), self._chunk.depth):
            await self._news.until(self._loop, lambda: bool(self._arrived))
            first = self._arrived.popleft()
            start, end = await self._loop.compute(partial(self._multiply, self._operands(first)))
            done = first // self._chunk.depth + 1
            self._loop.tell(("computed", (self._number, done, start, end, self._peak)), self._worker.master)
            if self._chunk.held == C:
                self._free(first)
            else:
                results.append(self._loop.spawn(self._give_back(first)))
        await coming
        for result in results:
            await result
        if self._chunk.held == C:
            await self._worker.asked(self._loop)
            await self._send(self._held)

    def _panel(self, first: int) -> Array:
        """Where a panel comes; the blocks of a streamed operand behind what stays for a layer."""
        size = chunks.elements_in(self._product, self._chunk, Step(PANEL, first, 0))
        if chunks.streamed(self._chunk) and not chunks.along(self._chunk, first):
            start = self._stays(first)
            return self._panels[0][start : start + size]
        return self._panels[first // self._chunk.depth % chunks.slots(self._chunk)][:size]

    def _stays(self, first: int) -> int:
        """Elements of what stays for the layer of a block."""
        return chunks.parts(self._product, self._chunk, first)[A + B - chunks.streamed(self._chunk)].size

    def _streamed(self, first: int) -> dict[int, Array]:
        """A block, what it meets, and the strip of C that they change."""
        product, chunk = self._product, self._chunk
        own, other = chunks.parts(product, chunk, first), chunks.streamed(chunk)
        rest = A + B - other
        all_of_it = chunks.whole(product, chunk)
        (c,) = chunks.views(self._held, product, [(C, all_of_it)]).values()
        found = chunks.views(self._panels[0], product, [(rest, own[rest])])
        found |= chunks.views(self._panels[0][own[rest].size :], product, [(other, own[other])])
        row, col = own[C].row - all_of_it.row, own[C].col - all_of_it.col
        return found | {C: c[row : row + own[C].height, col : col + own[C].width]}

    def _operands(self, first: int) -> dict[int, Array]:
        if chunks.streamed(self._chunk):
            return self._streamed(first)
        found: dict[int, Array] = {}
        for kind, data in ((LOAD, self._held), (PANEL, self._panel(first))):
            of = chunks.message_parts(self._product, self._chunk, Step(kind, first, 0))
            found |= chunks.views(data, self._product, of)
        return found

    def _multiply(self, x: dict[int, Array]) -> tuple[float, float]:
        start = time.perf_counter()
        accumulate(self._pool, x[A], x[B], x[C], 1.0, True, engine.Poll(lambda _: self._loop.go_on()))
        return start, time.perf_counter()

    async def _receive(self) -> None:
        """A message is received where its buffer is free, into it."""
        steps = [step for step in chunks.steps_of(self._chunk, self._t) if step.kind != RESULT]
        for step in steps:
            if step.kind == PANEL:
                await self._slots.enter()
            self._blocks += chunks.blocks_in(self._chunk, self._t, step)
            self._peak = max(self._peak, self._blocks)
            data = self._held if step.kind == LOAD else self._panel(step.first)
            await self._loop.receive(data, self._worker.master, TAG)
            self._worker.received += data.nbytes
            if step.kind == PANEL:
                self._arrived.append(step.first)
                self._news.changed()

    async def _give_back(self, first: int) -> None:
        """The rows or columns of C of a panel, before which its buffer is not free."""
        await self._worker.asked(self._loop)
        size = chunks.elements_in(self._product, self._chunk, Step(RESULT, first, 0))
        await self._send(self._panel(first)[:size])  # C comes first in a panel
        self._free(first)

    def _send(self, data: Array) -> Waiting:
        self._worker.sent += data.nbytes
        return self._loop.send(data, self._worker.master, TAG)

    def _free(self, first: int) -> None:
        chunk = self._chunk
        came = chunks.blocks_in(chunk, self._t, Step(PANEL, first, 0))
        self._blocks -= 1 + chunks.leaving(chunk, first) if chunks.streamed(chunk) else came
        self._slots.leave()
