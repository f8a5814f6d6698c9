"""Block columns of a matrix: owners, routes of panels, transfers to the ranks and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .loop import Loop, Waiting, all_of
from .record import FIRST, Record
from .windows import AHEAD, Array, Inbox, copy_in_parts, send_all

SCATTER, GATHER = FIRST, FIRST + 1  # tags


@dataclass(frozen=True, eq=False)
class Cut:
    """A side of n lines, cut into blocks of lines that ranks own.

    Attributes
    ----------
    n : int
        At least 1.
    block : int
        Lines of a block; the last one may have fewer.
    owner : int array
        The rank that owns each block; its first dimension is the number of blocks along the side.
    size : int
        Number of ranks.
    """

    n: int
    block: int
    owner: NDArray[np.int32]
    size: int

    @property
    def count(self) -> int:
        """Number of blocks along the side."""
        return len(self.owner)

    def first(self, k: int) -> int:
        """Line with which block k begins; n if k is the number of blocks."""
        return min(k * self.block, self.n)

    def width(self, k: int) -> int:
        """Number of lines of block k."""
        return self.first(k + 1) - self.first(k)

    def slice(self, k: int) -> slice:
        """The lines of block k."""
        return slice(self.first(k), self.first(k + 1))

    @cached_property
    def enrolled(self) -> list[int]:
        """The ranks that own blocks."""
        return [int(rank) for rank in np.unique(self.owner)]


class Columns(Cut):
    """A matrix of n columns, cut into block columns: owner (b,)."""

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

        def place(i: int, data: Array, _: float) -> None:
            copy_in_parts(self._part(local, i), data.T if self._by_columns else data)
            self._loop.fulfil(arrived[i])

        inbox = Inbox(self._loop, SCATTER, place)
        for i in range(len(self._own)):
            shape = self._part(local, i).shape
            shape = shape[::-1] if self._by_columns else shape
            await inbox.receive(i, self._root, partial(np.empty, shape, self._dtype))
        await inbox.empty()

    async def _deal(self, a: Array, local: Array, arrived: Sequence[Waiting]) -> None:
        """Send the blocks in the order of the columns, so that the first ones are factored soon."""

        def sent() -> Iterator[tuple[Array, int]]:
            kept = 0
            for k, owner in enumerate(self._columns.owner.tolist()):
                piece = a[self._rows(k), self._columns.slice(k)]
                if owner != self._root:
                    yield piece.T if self._by_columns else piece, owner
                    continue
                copy_in_parts(self._part(local, kept), piece)
                self._loop.fulfil(arrived[kept])
                kept += 1

        await self._send(sent(), SCATTER, 2 * AHEAD)

    async def gather(self, local: Array, out: Array | None) -> None:
        """Collect `local` of each rank into `out` at the root. `out` is stored by columns."""
        if self._loop.rank != self._root:
            blocks = range(len(self._own))
            await self._send(((self._part(local, i).T, self._root) for i in blocks), GATHER)
            return
        assert out is not None
        lines = out.T
        others = [rank for rank in self._columns.enrolled if rank != self._root]
        running = [self._loop.spawn(self._collect(rank, lines)) for rank in others]
        for i, k in enumerate(self._own):
            copy_in_parts(lines[self._columns.slice(k), self._rows(k)], self._part(local, i).T)
        await all_of(running)

    async def _send(self, blocks: Iterable[tuple[Array, int]], tag: int, size: int = AHEAD) -> None:
        await send_all(self._loop, self._record, self._dtype, blocks, tag, size)

    async def _collect(self, rank: int, lines: Array) -> None:
        def use(place: Array, data: Array, _: float) -> None:
            if data is not place:
                copy_in_parts(place, data)

        inbox = Inbox(self._loop, GATHER, use)
        for k in self._columns.own(rank):
            place = lines[self._columns.slice(k), self._rows(k)]
            await inbox.receive(place, rank, partial(_contiguous, place))
        await inbox.empty()


def _contiguous(place: Array) -> Array:
    """The array itself if it is contiguous, else one for a copy of it."""
    return place if place.flags.c_contiguous else np.empty(place.shape, place.dtype)
