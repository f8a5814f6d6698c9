"""Block columns of a matrix: their owners, the ways of panels, transfers to the ranks and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .loop import Loop, Waiting, all_of
from .record import FIRST, Record

Array = NDArray[Any]

SCATTER, GATHER = FIRST, FIRST + 1  # tags
_AHEAD = 2  # block columns under way to or from a rank
# copied between two checks for Ctrl-C: this many bytes, but at least this many rows
_PART, _LINES = 1 << 18, 8


@dataclass(frozen=True, eq=False)
class Columns:
    """A matrix of n columns, cut into blocks that ranks own.

    Attributes
    ----------
    n : int
        At least 1.
    block : int
        Columns of a block; the last one may have fewer.
    owner : (b,) int array
        The rank that owns each block.
    size : int
        Number of ranks.
    """

    n: int
    block: int
    owner: NDArray[np.int32]
    size: int

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.owner)

    def first(self, k: int) -> int:
        """Column with which block k begins; n if k is the number of blocks."""
        return min(k * self.block, self.n)

    def width(self, k: int) -> int:
        """Number of columns of block k."""
        return self.first(k + 1) - self.first(k)

    def slice(self, k: int) -> slice:
        """The columns of block k."""
        return slice(self.first(k), self.first(k + 1))

    def own(self, rank: int) -> list[int]:
        """The blocks of a rank."""
        return [int(k) for k in np.flatnonzero(self.owner == rank)]

    def held(self, rank: int) -> int:
        """Number of columns of a rank, which holds its blocks side by side."""
        return sum(self.width(k) for k in self.own(rank))

    def part(self, local: Array, i: int) -> Array:
        """The i-th block among the columns of a rank. Only the last block of all is narrower."""
        return local[:, i * self.block : (i + 1) * self.block]

    @cached_property
    def enrolled(self) -> list[int]:
        """The ranks that own blocks."""
        return sorted(set(self.owner.tolist()))

    @cached_property
    def routes(self) -> list[tuple[int, ...]]:
        """For each block k the ranks that its panel passes after its owner.

        These are the ranks with blocks to the right, in the order of their next block.
        """
        return _routes(self.owner.tolist())

    def chains(self, *, backward: bool) -> list[tuple[int, ...]]:
        """For each block k the other ranks with blocks to the left (backward: to the right).

        The ranks with the farthest blocks come first.
        """
        ways = self.routes if backward else _routes(self.owner[::-1].tolist())[::-1]
        return [way[::-1] for way in ways]


def _routes(owner: list[int]) -> list[tuple[int, ...]]:
    order: list[int] = []
    found = []
    for own in reversed(owner):
        found.append(tuple(rank for rank in order if rank != own))
        order = [own, *found[-1]]
    return found[::-1]


class Sent(NamedTuple):
    """Bytes that each rank sends, (p,) each.

    Attributes
    ----------
    scatter, gather : (p,) int64 array
        The matrix from the root to the ranks, and back to the root.
    panels : (p,) int64 array
        The panels and their pivots; each panel goes once over each hop of its way.
    pivots : (p,) int64 array
        All pivots at the end, from the owner of the last block, for the columns to the left.
    """

    scatter: NDArray[np.int64]
    panels: NDArray[np.int64]
    pivots: NDArray[np.int64]
    gather: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Bytes of all ranks together."""
        return int(sum(part.sum() for part in self))


def lu_bytes(columns: Columns, itemsize: int, root: int) -> Sent:
    """Bytes sent by an LU factorisation of a matrix at the root, and back to the root.

    Examples
    --------
    >>> import numpy as np
    >>> sent = lu_bytes(Columns(4, 2, np.array([0, 1], np.int32), 2), 8, 0)
    >>> # 4 x 2 elements to rank 1, as many with 2 pivots, 4 pivots and a word, 4 x 2 elements back
    >>> sent.total, sent.panels.tolist()
    (220, [72, 0])
    """
    scatter, panels, pivots, gather = (np.zeros(columns.size, np.int64) for _ in range(4))
    for k, (owner, route) in enumerate(zip(columns.owner.tolist(), columns.routes, strict=True)):
        width = columns.width(k)
        if owner != root:
            scatter[root] += columns.n * width * itemsize
            gather[owner] += columns.n * width * itemsize
        for sender in (owner, *route)[:-1]:
            panels[sender] += lu_panel_bytes(columns, k, itemsize)
    pivots[columns.owner[-1]] = (
        len({*columns.enrolled, root} - {int(columns.owner[-1])}) * 4 * (columns.n + 1)
    )
    return Sent(scatter, panels, pivots, gather)


def lu_panel_bytes(columns: Columns, k: int, itemsize: int) -> int:
    """Bytes of the panel of block k, from its diagonal on, with its pivots."""
    return cholesky_panel_bytes(columns, k, itemsize) + 4 * columns.width(k)


def cholesky_panel_bytes(columns: Columns, k: int, itemsize: int) -> int:
    """Bytes of the panel of block k, from its diagonal on."""
    return (columns.n - columns.first(k)) * columns.width(k) * itemsize


def cholesky_bytes(columns: Columns, itemsize: int, root: int) -> Sent:
    """Bytes sent by a Cholesky factorisation of a matrix at the root, and back to the root.

    Of a block column, the rows above its diagonal block are not sent.

    Examples
    --------
    >>> import numpy as np
    >>> cholesky_bytes(Columns(4, 2, np.array([0, 1], np.int32), 2), 8, 0).total  # 2 x 2, 4 x 2, 2 x 2 elements
    128
    """
    scatter, panels, gather = (np.zeros(columns.size, np.int64) for _ in range(3))
    for k, (owner, route) in enumerate(zip(columns.owner.tolist(), columns.routes, strict=True)):
        size = cholesky_panel_bytes(columns, k, itemsize)
        if owner != root:
            scatter[root] += size
            gather[owner] += size
        for sender in (owner, *route)[:-1]:
            panels[sender] += size
    return Sent(scatter, panels, np.zeros(columns.size, np.int64), gather)


def copied(target: Array, source: Array) -> None:
    """Copy source to target in parts, between which Ctrl-C is handled."""
    for lines in _parts(target):
        target[lines] = source[lines]


def touched(loop: Loop, array: Array) -> Array:
    """Fill an array with zeros; a job for `Loop.compute`.

    The first write to new memory is slow. Without this, the first block column that arrives would
    wait for nearly all of the memory.
    """
    for lines in _parts(array):
        loop.go_on()
        array[lines] = 0
    return array


def _parts(array: Array) -> Iterator[slice]:
    lines = max(_LINES, _PART // max(1, array.shape[1] * array.itemsize))
    return (slice(i, i + lines) for i in range(0, len(array), lines))


class Moves:
    """Brings the block columns of a matrix from the root to their owners, and back.

    Parameters
    ----------
    by_columns : bool
        Blocks are sent from the root column by column, as the root stores the matrix; else row by
        row.
    lower : bool
        Only the rows of each block from its diagonal on are sent.
    """

    def __init__(
        self,
        loop: Loop,
        columns: Columns,
        dtype: np.dtype[Any],
        root: int,
        by_columns: bool,
        lower: bool,
        record: Record,
    ) -> None:
        self._loop, self._columns, self._dtype, self._root = loop, columns, dtype, root
        self._by_columns, self._lower, self._record = by_columns, lower, record
        self._own = columns.own(loop.rank)

    def _rows(self, k: int) -> slice:
        return slice(self._columns.first(k) if self._lower else 0, self._columns.n)

    def _part(self, local: Array, i: int) -> Array:
        """The rows of this rank's i-th block that are sent."""
        return self._columns.part(local, i)[self._rows(self._own[i])]

    async def scatter(self, a: Array | None, local: Array, arrived: Sequence[Waiting]) -> None:
        """Send the matrix a of the root to local (n, held) of each rank.

        arrived[i] is done when the i-th block of this rank has arrived.
        """
        if self._loop.rank == self._root:
            assert a is not None
            await self._deal(a, local, arrived)
            return

        def buffer(i: int) -> Array:
            shape = self._part(local, i).shape
            return np.empty(shape[::-1] if self._by_columns else shape, self._dtype)

        def placed(i: int, data: Array) -> None:
            copied(self._part(local, i), data.T if self._by_columns else data)
            self._loop.fulfil(arrived[i])

        await self._receive(self._root, SCATTER, len(self._own), buffer, placed)

    async def _deal(self, a: Array, local: Array, arrived: Sequence[Waiting]) -> None:
        """Send the blocks in the order of the columns, so that the first ones are factored soon."""
        under_way: deque[Waiting] = deque()
        kept = 0
        for k, owner in enumerate(self._columns.owner.tolist()):
            piece = a[self._rows(k), self._columns.slice(k)]
            if owner == self._root:
                copied(self._part(local, kept), piece)
                self._loop.fulfil(arrived[kept])
                kept += 1
                continue
            if len(under_way) == 2 * _AHEAD:
                await under_way.popleft()
            under_way.append(self._send(piece.T if self._by_columns else piece, owner, SCATTER))
        await all_of(under_way)

    async def gather(self, local: Array, out: Array | None) -> None:
        """Collect local of each rank into out at the root, which is stored by columns."""
        if self._loop.rank != self._root:
            under_way: deque[Waiting] = deque()
            for i in range(len(self._own)):
                if len(under_way) == _AHEAD:
                    await under_way.popleft()
                under_way.append(self._send(self._part(local, i).T, self._root, GATHER))
            await all_of(under_way)
            return
        assert out is not None
        lines = out.T
        others = [rank for rank in self._columns.enrolled if rank != self._root]
        running = [self._loop.spawn(self._collect(rank, lines)) for rank in others]
        for i, k in enumerate(self._own):
            copied(lines[self._columns.slice(k), self._rows(k)], self._part(local, i).T)
        await all_of(running)

    async def _collect(self, rank: int, lines: Array) -> None:
        places = [lines[self._columns.slice(k), self._rows(k)] for k in self._columns.own(rank)]

        def buffer(i: int) -> Array:
            place = places[i]
            return place if place.flags.c_contiguous else np.empty(place.shape, place.dtype)

        def placed(i: int, data: Array) -> None:
            if data is not places[i]:
                copied(places[i], data)

        await self._receive(rank, GATHER, len(places), buffer, placed)

    def _send(self, piece: Array, to: int, tag: int) -> Waiting:
        if piece.flags.c_contiguous and piece.dtype == self._dtype:
            data = piece
        else:
            copied(data := np.empty(piece.shape, self._dtype), piece)
        self._record.sent += data.nbytes
        self._record.messages += 1
        return self._loop.send(data, to, tag)

    async def _receive(
        self,
        source: int,
        tag: int,
        count: int,
        buffer: Callable[[int], Array],
        placed: Callable[[int, Array], None],
    ) -> None:
        coming: deque[tuple[Waiting, int, Array]] = deque()

        async def one() -> None:
            waiting, i, data = coming.popleft()
            await waiting
            placed(i, data)

        for i in range(count):
            if len(coming) == _AHEAD:
                await one()
            data = buffer(i)
            coming.append((self._loop.receive(data, source, tag), i, data))
        while coming:
            await one()
