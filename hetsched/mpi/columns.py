"""Block columns of a matrix: who owns them, which ranks a panel passes, and how they come to the ranks and back."""

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
_PART, _LINES = 1 << 18, 8  # bytes, at least so many rows, that are copied before Ctrl-C is looked for


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
        """Blocks."""
        return len(self.owner)

    def first(self, k: int) -> int:
        """Column with which block k begins; of block b it is n."""
        return min(k * self.block, self.n)

    def width(self, k: int) -> int:
        """Columns of block k."""
        return self.first(k + 1) - self.first(k)

    def slice(self, k: int) -> slice:
        """The columns of block k."""
        return slice(self.first(k), self.first(k + 1))

    def own(self, rank: int) -> list[int]:
        """Blocks of a rank."""
        return [int(k) for k in np.flatnonzero(self.owner == rank)]

    def held(self, rank: int) -> int:
        """Columns of a rank, which holds its blocks side by side."""
        return sum(self.width(k) for k in self.own(rank))

    def part(self, local: Array, i: int) -> Array:
        """The i-th block among the columns that a rank holds: only the last of all is narrower."""
        return local[:, i * self.block : (i + 1) * self.block]

    @cached_property
    def enrolled(self) -> list[int]:
        """Ranks that own anything."""
        return sorted(set(self.owner.tolist()))

    @cached_property
    def routes(self) -> list[tuple[int, ...]]:
        """Of each block k the ranks that its panel passes after its owner: those with blocks to the right, by their next one."""
        return _routes(self.owner.tolist())

    def chains(self, *, backward: bool) -> list[tuple[int, ...]]:
        """Of each block k the other ranks with blocks to the left (backward: to the right), those first whose blocks are
        farthest."""
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
        The matrix from the root, and back to it.
    panels : (p,) int64 array
        Over each hop of its way every panel goes once, with its pivots.
    pivots : (p,) int64 array
        All of them in the end, by the owner of the last block, for the columns to the left.
    """

    scatter: NDArray[np.int64]
    panels: NDArray[np.int64]
    pivots: NDArray[np.int64]
    gather: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Of all ranks."""
        return int(sum(part.sum() for part in self))


def lu_bytes(columns: Columns, itemsize: int, root: int) -> Sent:
    """What an LU factorisation of a matrix at the root sends, and the root gets back.

    Examples
    --------
    >>> import numpy as np
    >>> sent = lu_bytes(Columns(4, 2, np.array([0, 1], np.int32), 2), 8, 0)
    >>> sent.total, sent.panels.tolist()  # 4 x 2 elements to rank 1, as many with 2 pivots, 4 pivots and a word, 4 x 2 elements
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
    pivots[columns.owner[-1]] = len({*columns.enrolled, root} - {int(columns.owner[-1])}) * 4 * (columns.n + 1)
    return Sent(scatter, panels, pivots, gather)


def lu_panel_bytes(columns: Columns, k: int, itemsize: int) -> int:
    """Of the panel of block k, from its diagonal on, and its pivots."""
    return cholesky_panel_bytes(columns, k, itemsize) + 4 * columns.width(k)


def cholesky_panel_bytes(columns: Columns, k: int, itemsize: int) -> int:
    """Of the panel of block k, from its diagonal on."""
    return (columns.n - columns.first(k)) * columns.width(k) * itemsize


def cholesky_bytes(columns: Columns, itemsize: int, root: int) -> Sent:
    """What a Cholesky factorisation of a matrix at the root sends, and the root gets back: of block columns what is not above
    their diagonals.

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
    """target[...] = source, with moments for Ctrl-C."""
    for lines in _parts(target):
        target[lines] = source[lines]


def touched(loop: Loop, array: Array) -> Array:
    """The array, filled with zeros; a job for `Loop.compute`. Whoever writes to memory first waits for it: with the first block
    column that comes, for nearly all of it."""
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
        Blocks travel from the root column by column, as the matrix is stored there, else row by row.
    lower : bool
        Of each block only the rows from its diagonal on.
    """

    def __init__(
        self, loop: Loop, columns: Columns, dtype: np.dtype[Any], root: int, by_columns: bool, lower: bool, record: Record
    ) -> None:
        self._loop, self._columns, self._dtype, self._root = loop, columns, dtype, root
        self._by_columns, self._lower, self._record = by_columns, lower, record
        self._own = columns.own(loop.rank)

    def _rows(self, k: int) -> slice:
        return slice(self._columns.first(k) if self._lower else 0, self._columns.n)

    def _part(self, local: Array, i: int) -> Array:
        """Of this rank's i-th block what travels."""
        return self._columns.part(local, i)[self._rows(self._own[i])]

    async def scatter(self, a: Array | None, local: Array, arrived: Sequence[Waiting]) -> None:
        """From the matrix a at the root to local (n, held) of each rank; arrived[i] is done when its i-th block has come."""
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
        """In the order of the columns, so that the first ones can be factored soon."""
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
        """From local of each rank to out at the root, which is stored by columns."""
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
        self, source: int, tag: int, count: int, buffer: Callable[[int], Array], placed: Callable[[int, Array], None]
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
