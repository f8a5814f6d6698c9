"""LU factorisation with partial pivoting on the ranks, by block columns of different owners.

Right-looking with a look-ahead of one: the owner of the next block column updates that one first, factors it and sends it on
before it goes on with the others. All rows of a panel are with its owner, so that pivoting needs no messages. A panel and its
pivots go from rank to rank along those that still have columns to the right, in the order in which they will own a panel: as in
the increasing ring of HPL (Petitet, Whaley, Dongarra, Cleary). No rank waits for anything but panels.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._engine import run as engine
from ..runners.panel import lu_panel, moved_rows, substitute
from ..runners.pool import Pool, accumulate
from .columns import GATHER, Array, Columns, lu_panel_bytes
from .loop import Bytes, Loop, Waiting, Window, all_of
from .record import Record

_PANEL, _PIVOTS = GATHER + 1, GATHER + 2  # tags
_HELD = 4  # panels that a rank has at a time, those that it waits for included
_LINE = 64


class Kind(Protocol):
    """What the ranks compute of a factorisation."""

    def bytes_of(self, k: int) -> int:
        """Of a panel as it travels."""

    def factor(self, k: int, block: Array, data: Bytes) -> None:
        """Factor the panel of this rank's block k, (n, w), and make the data that travels."""

    def update(self, k: int, data: Bytes, blocks: Array, first: int) -> None:
        """Update blocks of this rank, side by side, the first of which is block `first`, by panel k."""

    def seen(self, k: int, data: Bytes) -> None:
        """Keep what will be needed of panel k; called once for each that this rank has to do with."""


class Panels:
    """Factors the block columns of one rank, with panels of the others.

    Parameters
    ----------
    local : (n, held) array
        This rank's block columns side by side; a matrix by rows, in which rows are exchanged some ten times as fast.
    done : function of a block, optional
        Called when this rank has factored a panel.
    """

    def __init__(
        self, loop: Loop, columns: Columns, local: Array, kind: Kind, record: Record, done: Callable[[int], None] | None = None
    ) -> None:
        self._loop, self._columns, self._local, self._kind, self._record, self._done = loop, columns, local, kind, record, done
        self._own = columns.own(loop.rank)
        self._place = {k: i for i, k in enumerate(self._own)}
        self._last = self._own[-1] if self._own else -1
        self._window = Window(loop, _HELD)
        self._free: list[Bytes] = []
        self._memory: dict[int, Bytes] = {}
        self._room = [Waiting() for _ in range(self._last + 1)]  # memory for a panel of this rank
        self._panels = [Waiting() for _ in range(self._last + 1)]
        self._sends: dict[int, Waiting] = {}

    async def run(self, arrived: Sequence[Waiting]) -> None:
        """Factor; arrived[i] is done when the i-th of this rank's blocks is in local."""
        loop, own = self._loop, self._own
        if not own:
            return
        loop.spawn(self._receive())
        if own[0] == 0:
            await self._make(0, None, arrived)
        for k in range(self._last + 1):
            data = await self._panels[k]
            self._kind.seen(k, data)
            using = []
            right = bisect_right(own, k)
            if k + 1 in self._place:
                using.append(await self._make(k + 1, data, arrived))
                right += 1
            if right < len(own):
                await all_of(arrived)
                using.append(loop.compute(partial(self._update, k, data, right, len(own))))
            loop.spawn(self._release(k, using))

    async def _make(self, k: int, data: Bytes | None, arrived: Sequence[Waiting]) -> Waiting:
        """Begin with block k, by the panel before it, and factor it."""
        memory = await self._room[k]
        await arrived[self._place[k]]
        job = self._loop.compute(partial(self._head, k, data, memory))
        self._loop.spawn(self._send(k, memory, job))
        return job

    async def _send(self, k: int, memory: Bytes, job: Waiting) -> None:
        await job
        if self._columns.routes[k]:
            self._pass(k, memory, self._columns.routes[k][0])
        self._loop.fulfil(self._panels[k], memory)
        if self._done is not None:
            self._done(k)

    async def _receive(self) -> None:
        """Take the panels in their order, and pass them on."""
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
            await self._loop.receive(data, way[i - 1], _PANEL)
            self._record.add("transfer", start, time.perf_counter(), f"panel {k} from rank {way[i - 1]}")
            if i + 1 < len(way):
                self._pass(k, data, way[i + 1])
            self._loop.fulfil(self._panels[k], data)

    def _pass(self, k: int, data: Bytes, to: int) -> None:
        self._record.sent += data.nbytes
        self._record.messages += 1
        self._sends[k] = self._loop.send(data, to, _PANEL)

    async def _release(self, k: int, using: list[Waiting]) -> None:
        await all_of(using)
        if k in self._sends:
            await self._sends.pop(k)
        self._free.append(self._memory.pop(k))
        self._window.leave()

    # ---- on the thread for products ----

    def _head(self, k: int, data: Bytes | None, memory: Bytes) -> None:
        i = self._place[k]
        if data is not None:
            self._update(k - 1, data, i, i + 1)
        with self._record.computing(f"panel {k}"):
            self._kind.factor(k, self._columns.part(self._local, i), memory)

    def _update(self, k: int, data: Bytes, begin: int, end: int) -> None:
        width = self._columns.block
        with self._record.computing(f"{end - begin} block{'s' * (end - begin > 1)} after panel {k}"):
            self._kind.update(k, data, self._local[:, begin * width : end * width], self._own[begin])


def _aligned(size: int) -> Bytes:
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size]


def stopping(loop: Loop) -> engine.Poll:
    """For a computation that ends soon after the run is stopped."""
    return engine.Poll(lambda _: loop.go_on())


class _View(NamedTuple):
    """A panel of LU as it travels: the factors of (m, w) by columns, then the pivots, counted from its first row."""

    factors: Array
    pivots: NDArray[np.int32]


class Lu:
    """LU with partial pivoting: a `Kind`.

    Attributes
    ----------
    pivots : (n + 1,) int32 array
        Of the panels that this rank has seen, as of scipy.linalg.lu_factor; then the first zero of the diagonal of U, or -1.
    """

    def __init__(self, loop: Loop, columns: Columns, dtype: np.dtype[Any], pool: Pool) -> None:
        self._loop, self._columns, self._dtype, self._pool = loop, columns, dtype, pool
        self.pivots = np.full(columns.n + 1, -1, np.int32)

    def bytes_of(self, k: int) -> int:
        return lu_panel_bytes(self._columns, k, self._dtype.itemsize)

    def _view(self, k: int, data: Bytes) -> _View:
        rows, width = self._columns.n - self._columns.first(k), self._columns.width(k)
        cut = rows * width * self._dtype.itemsize
        return _View(data[:cut].view(self._dtype).reshape(width, rows).T, data[cut:].view(np.int32))

    def factor(self, k: int, block: Array, data: Bytes) -> None:
        view = self._view(k, data)
        own = block[self._columns.first(k) :]
        lu_panel(self._pool, own, view.factors, view.pivots, stopping(self._loop))
        own[...] = view.factors

    def update(self, k: int, data: Bytes, blocks: Array, first: int) -> None:
        del first  # all rows of them
        view, width = self._view(k, data), self._columns.width(k)
        below = blocks[self._columns.first(k) :]
        target, source = moved_rows(view.pivots)
        below[target] = below[source]
        upper, lower = below[:width], below[width:]
        substitute(self._pool, view.factors[:width], upper, lower=True, unit=True, poll=stopping(self._loop))
        accumulate(self._pool, view.factors[width:], upper, lower, -1.0, True, stopping(self._loop))

    def seen(self, k: int, data: Bytes) -> None:
        view, first = self._view(k, data), self._columns.first(k)
        np.add(view.pivots, first, out=self.pivots[first : first + len(view.pivots)])
        zeros = np.flatnonzero(view.factors.diagonal() == 0)
        if len(zeros) and self.pivots[-1] < 0:
            self.pivots[-1] = first + int(zeros[0])


async def tell_pivots(loop: Loop, columns: Columns, pivots: NDArray[np.int32], root: int, record: Record) -> None:
    """The owner of the last block has seen all pivots, and tells them to those that own others, and to the root."""
    last = int(columns.owner[-1])
    others = sorted({*columns.enrolled, root} - {last})
    if loop.rank in others:
        await loop.receive(pivots, last, _PIVOTS)
    if loop.rank == last:
        record.sent += pivots.nbytes * len(others)
        record.messages += len(others)
        await all_of([loop.send(pivots, rank, _PIVOTS) for rank in others])


def exchange_left(loop: Loop, columns: Columns, local: Array, pivots: NDArray[np.int32]) -> None:
    """The rows that later panels have exchanged, in this rank's columns of L. pivots as of `Lu`."""
    own, place = columns.own(loop.rank), len(columns.own(loop.rank))
    order = np.arange(columns.n)  # of rows, by the panels to the right
    for k in range(columns.count - 1, own[0] - 1 if own else columns.count - 1, -1):
        if k == own[place - 1]:
            place -= 1
            moved = np.flatnonzero(order != np.arange(columns.n))
            part = columns.part(local, place)
            loop.go_on()
            part[moved] = part[order[moved]]
        first = columns.first(k)
        target, source = moved_rows(pivots[first : columns.first(k + 1)] - np.int32(first))
        step = np.arange(columns.n)
        step[first + target] = first + source
        order = step[order]


async def lu(
    loop: Loop, columns: Columns, local: Array, pool: Pool, root: int, arrived: Sequence[Waiting], record: Record,
    done: Callable[[int], None] | None = None,
) -> NDArray[np.int32]:  # fmt: skip
    """Factor the matrix whose block columns the ranks hold in local, (n, held) by rows.

    Returns
    -------
    (n + 1,) int32 array
        Those of scipy.linalg.lu_factor, then the first zero of the diagonal of U, or -1; on the ranks that own blocks and on the
        root. local holds the factors then.
    """
    kind = Lu(loop, columns, local.dtype, pool)
    await Panels(loop, columns, local, kind, record, done).run(arrived)
    await tell_pivots(loop, columns, kind.pivots, root, record)
    await loop.compute(partial(_exchange, loop, columns, local, kind.pivots, record))
    return kind.pivots


def _exchange(loop: Loop, columns: Columns, local: Array, pivots: NDArray[np.int32], record: Record) -> None:
    if local.size:
        with record.computing("exchanges of rows to the left"):
            exchange_left(loop, columns, local, pivots)
