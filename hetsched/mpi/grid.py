"""Square blocks of a matrix: their owners, their places in memory, transfers to the ranks and back.

A rank puts its block columns into groups. All block columns of a group have the same block rows of
that rank, so that a group is one dense matrix and the update of a step is one product for each
group. A rank has one group by a block-cyclic map or the map "1d1d" of `lu_grid`, a few by "nested",
and at most one for each block column by any other map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import GATHER, SCATTER, Cut
from .loop import Loop, all_of
from .record import Record
from .windows import AHEAD, Array, Inbox, send_all

Index = slice | NDArray[np.intp]


class Grid(Cut):
    """A matrix of n rows and columns, cut into square blocks: owner (b, b)."""

    def lines(self, blocks: Sequence[int]) -> NDArray[np.intp]:
        """The rows of these block rows."""
        starts = np.asarray(blocks, np.intp) * self.block
        found = (starts[:, None] + np.arange(self.block)).ravel()
        kept: NDArray[np.intp] = found[found < self.n]
        return kept

    def extent(self, blocks: Sequence[int]) -> int:
        """The number of rows of these block rows, which are in ascending order."""
        if not blocks:
            return 0
        return (len(blocks) - 1) * self.block + self.width(blocks[-1])

    def inside(self, blocks: Sequence[int], some: Sequence[int]) -> Index:
        """Where the rows of some of these blocks lie, if the blocks lie side by side.

        Both lists are ascending. The result is a slice if the rows are adjacent.
        """
        at = np.searchsorted(blocks, some)
        if len(at) == 0 or at[-1] - at[0] == len(at) - 1:
            start = int(at[0]) * self.block if len(at) else 0
            return slice(start, start + self.extent(some))
        found = ((at * self.block)[:, None] + np.arange(self.block)).ravel()
        return found[: self.extent(some)]

    @cached_property
    def last_column(self) -> NDArray[np.intp]:
        """(b, size) the last block column in which a rank owns a block of a block row, or -1."""
        return _last(self.owner, self.size)

    @cached_property
    def last_row(self) -> NDArray[np.intp]:
        """(b, size) the last block row in which a rank owns a block of a block column, or -1."""
        return _last(self.owner.T, self.size)

    def left_blocks(self, k: int, source: int, target: int) -> list[int]:
        """The block rows i > k of which `target` needs L (i, k), and which `source` owns there."""
        held = self.owner[k + 1 :, k] == source
        return (np.flatnonzero(held & (self.last_column[k + 1 :, target] > k)) + k + 1).tolist()

    def upper_blocks(self, k: int, source: int, target: int) -> list[int]:
        """The block columns j > k of which `target` needs U (k, j), and which `source` owns."""
        held = self.owner[k, k + 1 :] == source
        return (np.flatnonzero(held & (self.last_row[k + 1 :, target] > k)) + k + 1).tolist()

    def panel_ranks(self, k: int) -> list[int]:
        """The owners of the blocks (i, k) with i >= k, in the order of their first blocks."""
        return list(dict.fromkeys(self.owner[k:, k].tolist()))

    def row_ranks(self, k: int) -> list[int]:
        """The owners of the blocks (k, j) with j > k, in the order of their first blocks."""
        return list(dict.fromkeys(self.owner[k, k + 1 :].tolist()))


def _last(owner: NDArray[np.int32], size: int) -> NDArray[np.intp]:
    found = np.full((len(owner), size), -1, np.intp)
    for j in range(owner.shape[1]):
        found[np.arange(len(owner)), owner[:, j]] = j
    return found


class Group(NamedTuple):
    """Block columns in which a rank owns the same block rows.

    Attributes
    ----------
    rows, cols : list of int
        Block rows and block columns, ascending.
    matrix : array
        The blocks of these rows and columns, in row-major order.
    """

    rows: list[int]
    cols: list[int]
    matrix: Array

    def below(self, k: int, block: int) -> tuple[int, list[int]]:
        """The row of `matrix` with which the block rows >= k begin, and these block rows."""
        at = int(np.searchsorted(self.rows, k))
        return at * block, self.rows[at:]

    def right(self, k: int, block: int) -> tuple[int, list[int]]:
        """The column of `matrix` with which the block columns >= k begin, and these columns."""
        at = int(np.searchsorted(self.cols, k))
        return at * block, self.cols[at:]


class Blocks:
    """The blocks of one rank, filled with zeros.

    Attributes
    ----------
    groups : list of Group
    """

    def __init__(self, grid: Grid, rank: int, dtype: np.dtype[Any]) -> None:
        self.grid, self.rank, self.dtype = grid, rank, dtype
        members: dict[tuple[int, ...], list[int]] = {}
        for j in range(grid.count):
            if rows := np.flatnonzero(grid.owner[:, j] == rank).tolist():
                members.setdefault(tuple(rows), []).append(j)
        self.groups = [
            Group(list(rows), cols, np.zeros((grid.extent(rows), grid.extent(cols)), dtype))
            for rows, cols in members.items()
        ]
        # block column -> its group, and its number there
        self.place = {
            j: (g, i) for g, group in enumerate(self.groups) for i, j in enumerate(group.cols)
        }
        self._starts = [_starts(grid, group.rows) for group in self.groups]

    def column(self, j: int, after: int = 0) -> Array:
        """The blocks (i, j) with i >= after, one below the other."""
        if j not in self.place:
            return np.empty((0, self.grid.width(j)), self.dtype)
        g, i = self.place[j]
        start, _ = self.groups[g].below(after, self.grid.block)
        at = i * self.grid.block
        return self.groups[g].matrix[start:, at : at + self.grid.width(j)]

    def rows(self, j: int, after: int = 0) -> list[int]:
        """The block rows i >= after of the blocks (i, j)."""
        if j not in self.place:
            return []
        return self.groups[self.place[j][0]].below(after, self.grid.block)[1]

    def lines(self, g: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where rows of the whole matrix lie in group g, which has them."""
        return self._starts[g][rows // self.grid.block] + rows % self.grid.block

    def write(self, j: int, a: Array, after: int = 0) -> None:
        """Copy block column j of a whole matrix to the blocks (i, j) here, i >= after."""
        lines = self.grid.lines(self.rows(j, after))
        self.column(j, after)[...] = a[lines, self.grid.slice(j)]


def _starts(grid: Grid, rows: list[int]) -> NDArray[np.intp]:
    found = np.full(grid.count, -1, np.intp)
    found[rows] = np.arange(len(rows)) * grid.block
    return found


class GridMoves:
    """Brings the blocks of a matrix from the root to their owners, and back.

    A message has what a rank owns of one block column, row by row.

    Parameters
    ----------
    lower : bool
        Only the blocks on and below the diagonal are sent.
    """

    def __init__(
        self, loop: Loop, blocks: Blocks, root: int, record: Record, lower: bool = False
    ) -> None:
        self._loop, self._blocks, self._root, self._record = loop, blocks, root, record
        self._grid, self._lower = blocks.grid, lower

    def _after(self, j: int) -> int:
        return j if self._lower else 0

    def _parts(self, rank: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """The block columns in which a rank owns blocks, with their rows there."""
        for j in range(self._grid.count):
            rows = np.flatnonzero(self._grid.owner[self._after(j) :, j] == rank) + self._after(j)
            if rows.size:
                yield j, self._grid.lines(rows.tolist())

    def _shape(self, j: int, lines: NDArray[np.intp]) -> tuple[int, int]:
        return len(lines), self._grid.width(j)

    async def scatter(self, a: Array | None) -> None:
        """Send the matrix a of the root to the blocks of each rank."""
        loop, root, dtype = self._loop, self._root, self._blocks.dtype
        if loop.rank == root:
            assert a is not None
            for j in self._blocks.place:
                loop.go_on()
                self._blocks.write(j, a, self._after(j))
            await all_of([loop.spawn(self._deal(a, rank)) for rank in self._others()])
            return

        def use(j: int, data: Array, _: float) -> None:
            self._part(j)[...] = data

        inbox = Inbox(loop, SCATTER, use)
        for j, lines in self._parts(loop.rank):
            await inbox.receive(j, root, partial(np.empty, self._shape(j, lines), dtype))
        await inbox.empty()

    def _part(self, j: int) -> Array:
        return self._blocks.column(j, self._after(j))

    def _others(self) -> list[int]:
        return [rank for rank in self._grid.enrolled if rank != self._root]

    async def _deal(self, a: Array, rank: int) -> None:
        parts = ((a[lines, self._grid.slice(j)], rank) for j, lines in self._parts(rank))
        await send_all(self._loop, self._record, self._blocks.dtype, parts, SCATTER, AHEAD)

    async def gather(self, out: Array | None) -> None:
        """Collect the blocks of each rank into out at the root."""
        loop, root = self._loop, self._root
        if loop.rank != root:
            parts = ((self._part(j), root) for j, _ in self._parts(loop.rank))
            await send_all(loop, self._record, self._blocks.dtype, parts, GATHER, AHEAD)
            return
        assert out is not None
        coming = [loop.spawn(self._collect(rank, out)) for rank in self._others()]
        for j, lines in self._parts(root):
            loop.go_on()
            out[lines, self._grid.slice(j)] = self._part(j)
        await all_of(coming)

    async def _collect(self, rank: int, out: Array) -> None:
        def use(place: tuple[NDArray[np.intp], slice], data: Array, _: float) -> None:
            out[place] = data

        inbox = Inbox(self._loop, GATHER, use)
        for j, lines in self._parts(rank):
            make = partial(np.empty, self._shape(j, lines), self._blocks.dtype)
            await inbox.receive((lines, self._grid.slice(j)), rank, make)
        await inbox.empty()
