"""Factorisations by block columns that belong to different ranks.

They are right-looking with a look-ahead of one: the owner of the next block column updates that
column first, factors it and sends it on, and only then updates its other columns. All rows of a
panel are on its owner, so pivoting needs no messages. A panel goes from rank to rank, through the
ranks that still have columns to the right, in the order in which they own the next panels. This is
the increasing ring of HPL (Petitet, Whaley, Dongarra, Cleary). A rank waits only for panels.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from .._engine import run as engine
from .._engine.allocate import PANEL_SEGMENT_BYTES
from .columns import GATHER, Columns
from .loop import Bytes, Loop, Waiting, Window, all_of
from .record import Record

_PANEL = GATHER + 1  # tag
_HELD = 4  # panels that a rank has at a time, including panels that it waits for
SEGMENT = PANEL_SEGMENT_BYTES  # a rank passes one on while it receives the next ones
_LINE = 64


class Kind(Protocol):
    """The computations of one factorisation on a rank.

    The blocks of a rank are numbered as they lie in its memory, the blocks of the matrix from the
    left.
    """

    def bytes_of(self, k: int) -> int:
        """Bytes of a panel as it is sent."""

    def factor(self, k: int, i: int, data: Bytes) -> None:
        """Factor the panel of block k, this rank's i-th block, and make the data to send."""

    def update(self, k: int, data: Bytes, begin: int, end: int) -> None:
        """Update this rank's blocks begin .. end - 1 by panel k."""

    def seen(self, k: int, data: Bytes) -> None:
        """Keep what is needed later of panel k.

        Called for each panel that this rank deals with, before updates by that panel.
        """


class Panels:
    """Factors the block columns of one rank, with panels from the other ranks.

    Parameters
    ----------
    done : function of a block, optional
        Called when this rank has factored a panel.
    """

    def __init__(
        self,
        loop: Loop,
        columns: Columns,
        kind: Kind,
        record: Record,
        done: Callable[[int], None] | None = None,
    ) -> None:
        self._loop = loop
        self._columns = columns
        self._kind = kind
        self._record = record
        self._done = done
        self._own = columns.own(loop.rank)
        self._place = {k: i for i, k in enumerate(self._own)}
        self._last = self._own[-1] if self._own else -1
        self._window = Window(loop, _HELD)
        self._free: list[Bytes] = []
        self._memory: dict[int, Bytes] = {}
        self._room = [Waiting() for _ in range(self._last + 1)]  # memory for a panel of this rank
        self._panels = [Waiting() for _ in range(self._last + 1)]
        self._sends: dict[int, list[Waiting]] = {}

    async def run(self, arrived: Sequence[Waiting]) -> None:
        """Factor. arrived[i] is done when this rank's i-th block is here."""
        loop, own = self._loop, self._own
        if not own:
            return
        loop.spawn(self._receive())
        if own[0] == 0:
            await self._make(0, None, arrived)
        for k in range(self._last + 1):
            with self._record.waiting(f"panel {k}"):
                data = await self._panels[k]
            self._kind.seen(k, data)
            using = []
            right = bisect_right(own, k)
            if k + 1 in self._place:
                using.append(await self._make(k + 1, data, arrived))
                right += 1
            if right < len(own):
                with self._record.waiting("the matrix"):
                    await all_of(arrived)
                using.append(loop.compute(partial(self._update, k, data, right, len(own))))
            loop.spawn(self._release(k, using))

    async def _make(self, k: int, data: Bytes | None, arrived: Sequence[Waiting]) -> Waiting:
        """Update block k by the panel before it, and factor it."""
        memory = await self._room[k]
        with self._record.waiting("the matrix"):
            await arrived[self._place[k]]
        job = self._loop.compute(partial(self._head, k, data, memory))
        self._loop.spawn(self._send(k, memory, job))
        return job

    async def _send(self, k: int, memory: Bytes, job: Waiting) -> None:
        await job
        if self._columns.routes[k]:
            for segment in _segments(memory):
                self._pass(k, segment, self._columns.routes[k][0])
        self._loop.fulfil(self._panels[k], memory)
        if self._done is not None:
            self._done(k)

    async def _receive(self) -> None:
        """Receive the panels in their order, and pass them on."""
        me, owner = self._loop.rank, self._columns.owner
        for k in range(self._last + 1):
            await self._window.enter()
            memory = self._free.pop() if self._free else _aligned(self._kind.bytes_of(0))
            self._memory[k], data = memory, memory[: self._kind.bytes_of(k)]
            if owner[k] == me:
                self._loop.fulfil(self._room[k], data)
                continue
            way = (int(owner[k]), *self._columns.routes[k])
            i = way.index(me)
            start = time.perf_counter()
            coming = [
                (segment, self._loop.receive(segment, way[i - 1], _PANEL))
                for segment in _segments(data)
            ]
            for segment, waiting in coming:
                await waiting
                if i + 1 < len(way):
                    self._pass(k, segment, way[i + 1])
            self._record.add(
                "transfer", start, time.perf_counter(), f"panel {k} from rank {way[i - 1]}"
            )
            self._loop.fulfil(self._panels[k], data)

    def _pass(self, k: int, data: Bytes, to: int) -> None:
        self._record.sent += data.nbytes
        self._record.messages += 1
        self._sends.setdefault(k, []).append(self._loop.send(data, to, _PANEL))

    async def _release(self, k: int, using: list[Waiting]) -> None:
        await all_of(using)
        await all_of(self._sends.pop(k, ()))
        self._free.append(self._memory.pop(k))
        self._window.leave()

    # ---- on the thread for products ----

    def _head(self, k: int, data: Bytes | None, memory: Bytes) -> None:
        i = self._place[k]
        if data is not None:
            self._update(k - 1, data, i, i + 1)
        with self._record.computing(f"panel {k}"):
            self._kind.factor(k, i, memory)

    def _update(self, k: int, data: Bytes, begin: int, end: int) -> None:
        with self._record.computing(
            f"{end - begin} block{'s' * (end - begin > 1)} after panel {k}"
        ):
            self._kind.update(k, data, begin, end)


def _segments(data: Bytes) -> list[Bytes]:
    return [data[i : i + SEGMENT] for i in range(0, len(data), SEGMENT)]


def _aligned(size: int) -> Bytes:
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]


def stopping(loop: Loop) -> engine.Poll:
    """A poll for a computation that must end soon after the run is stopped."""
    return engine.Poll(lambda _: loop.go_on())
