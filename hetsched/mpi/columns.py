"""Block columns of a matrix: their owners, the ways of panels, transfers to the ranks and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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

    def panel_size(self, k: int) -> int:
        """Number of elements of the panel of block k, from its diagonal on."""
        return (self.n - self.first(k)) * self.width(k)

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
