"""LU factorisation with square blocks that belong to different ranks, by any map.

Step k has four parts. (1) The owners of the blocks (i, k), i >= k, choose the pivot rows by a
tournament, and the owner of the diagonal block factors these rows; one owner of all of these
blocks factors them with partial pivoting. All ranks learn the pivots. (2) The owners of the panel
solve for L and send each block (i, k) to the ranks that own a block (i, j), j > k. (3) Meanwhile
rows are exchanged in the other block columns. The owners of the blocks (k, j) solve for U and send
each block to the ranks that own a block (i, j), i > k. (4) Each rank updates its blocks (i, j) with
i, j > k. Two ranks exchange at most one message of each kind in a step.

There is a look-ahead of one: the owners of the next panel update its blocks first, then choose its
pivots and solve for its L while the rest of the update goes on. Rows are exchanged when the pivots
are known and the update has ended.

L travels as its transpose, so that blocks of L and of U are both columns of arrays (w, m) in
row-major order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runners.panel import lu_panel, moved_rows, substitute
from ..runners.pool import Pool, accumulate
from .grid import Blocks, Grid
from .grid_lines import Lines, spread
from .grid_rows import RowExchange
from .loop import Waiting
from .mail import Kind, Mail
from .panels import stopping
from .record import Record
from .tournament import Candidates, best, exchanges, tournament
from .windows import Array

_AHEAD = 2  # steps whose messages may be under way besides the present one
_LANE = 1  # of `Loop.compute`, for short computations that other ranks wait for


class _Panel(NamedTuple):
    """What a rank knows of a panel: pivots, the diagonal block if it has it, and blocks of L."""

    pivots: NDArray[np.int32]
    diagonal: Array
    left: Waiting  # its value: Lines


class GridLu:
    """The part of one rank in a factorisation.

    Parameters
    ----------
    listeners : iterable of int
        Ranks that learn the pivots, besides the owners of blocks.
    done : function of a block, optional
        Called on the owner of the diagonal block when it knows the pivots of its panel.

    Attributes
    ----------
    pivots : (n + 1,) int32 array
        On the owners of blocks and the listeners: pivots as in scipy.linalg.lu_factor, then the
        first zero on the diagonal of U, or -1.
    """

    def __init__(
        self,
        mail: Mail,
        blocks: Blocks,
        pool: Pool,
        listeners: Iterable[int],
        record: Record,
        done: Callable[[int], None] | None = None,
    ) -> None:
        self._mail, self._blocks, self._pool, self._record = mail, blocks, pool, record
        self._loop, self._grid, self._me = mail.loop, blocks.grid, mail.loop.rank
        self._listeners = sorted({*self._grid.enrolled, *listeners})
        self._done = done
        self._rows = RowExchange(mail, blocks)
        self.pivots = np.full(self._grid.n + 1, -1, np.int32)

    async def run(self) -> None:
        """Factor the blocks in place."""
        if self._me not in self._listeners:
            return
        rest, coming = Waiting(left=0), self._begin_panel(0, None)
        for k in range(self._grid.count):
            with self._record.waiting(f"pivots {k}"):
                panel = await coming
            await rest
            with self._record.waiting(f"rows and U {k}"):
                upper = await self._upper(k, panel)
            with self._record.waiting(f"L {k}"):
                left = await panel.left
            if k + 1 < self._grid.count:
                coming = self._begin_panel(k + 1, (left, upper))
            rest = self._loop.compute(partial(self._update, k, left, upper, first=False))
            await self._mail.next_step(_AHEAD)
        await rest

    # ---- the panel ----

    def _begin_panel(self, k: int, before: tuple[Lines, Lines] | None) -> Waiting:
        """Begin with a panel: update its blocks, and factor what this rank has of it.

        before : L and U of the step before
        """
        ranks = self._grid.panel_ranks(k)
        own = Waiting(left=0)
        if self._me in ranks:
            own = self._loop.compute(partial(self._head, k, before, len(ranks) == 1))
        return self._loop.spawn(self._panel(k, ranks, own))

    async def _panel(self, k: int, ranks: list[int], own: Waiting) -> _Panel:
        """Choose the pivots of a panel, and begin with its blocks of L.

        own : what `_head` returns
        """
        grid, lead, w = self._grid, ranks[0], self._grid.width(k)
        left, diagonal = np.empty((w, 0), self._blocks.dtype), np.empty((0, w), self._blocks.dtype)
        pivots = np.empty(w, np.int32)
        if ranks == [self._me]:
            diagonal, left, pivots = await own
        elif self._me in ranks:
            counts = [grid.extent(_below(grid, k, rank)) for rank in ranks]
            chosen = await tournament(self._mail, self._pool, await own, ranks, counts, w, _LANE)
            if chosen is not None:
                diagonal = chosen.factors
                pivots = exchanges(chosen.lines - grid.first(k))
        pivots = await self._tell_pivots(k, lead, pivots, diagonal)
        diagonal = await self._spread_diagonal(k, lead, diagonal)
        panel = _Panel(pivots, diagonal, Waiting())
        return panel._replace(left=self._loop.spawn(self._left(k, ranks, panel, left)))

    async def _left(self, k: int, ranks: list[int], panel: _Panel, left: Array) -> Lines:
        """Solve for the blocks of L of a panel, unless one rank has factored it, and send them on.

        Meanwhile rows are exchanged in the other block columns.
        """
        grid = self._grid
        if len(ranks) > 1 and self._me in ranks:
            await self._displace(k, ranks, panel.pivots, panel.diagonal)
            left = await self._loop.compute(partial(self._solve_left, k, panel.diagonal), _LANE)
        lines, wanted = Lines(grid, self._blocks.rows(k, k + 1), left), partial(grid.left_blocks, k)
        return await spread(self._mail, Kind.LEFT, lines, ranks, wanted)

    async def _tell_pivots(
        self, k: int, lead: int, pivots: NDArray[np.int32], diagonal: Array
    ) -> NDArray[np.int32]:
        """Send the pivots, counted from the first row of the panel, to all ranks.

        The first zero on the diagonal of the panel, or -1, is sent with them.
        """
        first = self._grid.first(k)
        if self._me == lead:
            zeros = np.flatnonzero(diagonal.diagonal() == 0)
            said = np.append(pivots, zeros[0] if len(zeros) else -1).astype(np.int32)
            for rank in self._listeners:
                if rank != lead:
                    self._mail.send(Kind.PIVOTS, said, rank)
            if self._done is not None:
                self._done(k)
        else:
            said = np.empty(len(pivots) + 1, np.int32)
            await self._mail.receive(Kind.PIVOTS, said, lead)
        self.pivots[first : first + len(pivots)] = said[:-1] + first
        if self.pivots[-1] < 0 <= said[-1]:
            self.pivots[-1] = first + said[-1]
        return said[:-1]

    async def _spread_diagonal(self, k: int, lead: int, diagonal: Array) -> Array:
        """Send the factors of the diagonal block to the ranks that solve for L or U."""
        ranks = dict.fromkeys(self._grid.panel_ranks(k) + self._grid.row_ranks(k))
        if self._me == lead:
            for rank in ranks:
                if rank != lead:
                    self._mail.send(Kind.DIAGONAL, diagonal, rank)
        elif self._me in ranks:
            diagonal = np.empty((diagonal.shape[1],) * 2, self._blocks.dtype)
            await self._mail.receive(Kind.DIAGONAL, diagonal, lead)
        return diagonal

    async def _displace(
        self, k: int, ranks: list[int], pivots: NDArray[np.int32], diagonal: Array
    ) -> None:
        """Exchange rows within the panel.

        Rows of the diagonal block that are no pivot rows go to the places of pivot rows.
        """
        grid, lead, w = self._grid, ranks[0], self._grid.width(k)
        target, source = moved_rows(pivots)
        below = target >= w
        target, source = target[below] + grid.first(k), source[below]
        owners = grid.owner[target // grid.block, k]
        own = self._blocks.column(k)
        if self._me == lead:
            top = own[self._lines(k, grid.lines([k]))]
            for rank in ranks[1:]:
                if (moved := source[owners == rank]).size:
                    self._mail.send(Kind.DISPLACED, top[moved], rank)
            own[self._lines(k, target[owners == lead])] = top[source[owners == lead]]
            own[self._lines(k, grid.lines([k]))] = diagonal
        elif (mine := target[owners == self._me]).size:
            data = np.empty((len(mine), w), self._blocks.dtype)
            await self._mail.receive(Kind.DISPLACED, data, lead)
            own[self._lines(k, mine)] = data

    def _lines(self, k: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where rows lie in block column k of this rank."""
        return self._blocks.lines(self._blocks.place[k][0], rows)

    # ---- the pivot row ----

    async def _upper(self, k: int, panel: _Panel) -> Lines:
        """Exchange rows, solve for the blocks of U, and send them on."""
        grid, me = self._grid, self._me
        target, source = moved_rows(panel.pivots)
        await self._rows.run(k, target + grid.first(k), source + grid.first(k))
        cols = (np.flatnonzero(grid.owner[k, k + 1 :] == me) + k + 1).tolist()
        upper = np.empty((grid.width(k), 0), self._blocks.dtype)
        if cols:
            job = partial(self._solve_upper, k, panel.diagonal, cols)
            upper = await self._loop.compute(job)
        lines, wanted = Lines(grid, cols, upper), partial(grid.upper_blocks, k)
        return await spread(self._mail, Kind.UPPER, lines, grid.row_ranks(k), wanted)

    # ---- on the threads for products ----

    def _head(self, k: int, before: tuple[Lines, Lines] | None, alone: bool) -> Any:
        """Update the blocks of a panel and factor them, or choose the candidates of this rank."""
        if before is not None:
            self._update(k - 1, *before, first=True)
        with self._record.computing(f"panel {k}"):
            if alone:
                return self._factor(k)
            lines = self._grid.lines(self._blocks.rows(k, k)).astype(np.int64)
            return best(self._loop, self._pool, Candidates(self._blocks.column(k, k), lines))

    def _factor(self, k: int) -> tuple[Array, Array, NDArray[np.int32]]:
        """Factor a panel that is on this rank alone: its diagonal block, L transposed, pivots."""
        own, w = self._blocks.column(k, k), self._grid.width(k)
        turned, pivots = np.empty((w, len(own)), own.dtype), np.empty(w, np.int32)
        lu_panel(self._pool, own, turned.T, pivots, stopping(self._loop))
        own[...] = turned.T
        upper, below = np.ascontiguousarray(turned[:, :w].T), np.ascontiguousarray(turned[:, w:])
        return upper, below, pivots

    def _solve_left(self, k: int, diagonal: Array) -> Array:
        """L below the diagonal block, transposed: X U = A is U^T X^T = A^T."""
        with self._record.computing(f"L of panel {k}"):
            own = self._blocks.column(k, k + 1)
            turned = np.array(own.T, order="C")
            upper, poll = _without_zeros(diagonal), stopping(self._loop)
            substitute(self._pool, upper.T, turned, lower=True, unit=False, poll=poll)
            own[...] = turned.T
            return turned

    def _solve_upper(self, k: int, diagonal: Array, cols: list[int]) -> Array:
        """The blocks of U of these block columns, side by side."""
        with self._record.computing(f"U of step {k}"):
            grid = self._grid
            found = np.empty((grid.width(k), grid.extent(cols)), self._blocks.dtype)
            places = []
            for group in self._blocks.groups:
                if own := [j for j in group.cols if j > k and grid.owner[k, j] == self._me]:
                    row, _ = group.below(k, grid.block)
                    start, _ = group.right(k + 1, grid.block)
                    view = group.matrix[row : row + grid.width(k), start:]
                    places.append((grid.inside(cols, own), view))
            for place, view in places:
                found[:, place] = view
            poll = stopping(self._loop)
            substitute(self._pool, diagonal, found, lower=True, unit=True, poll=poll)
            for place, view in places:
                view[...] = found[:, place]
            return found

    def _update(self, k: int, left: Lines, upper: Lines, *, first: bool) -> None:
        """Update the blocks of the next panel (first), or all blocks to the right of it."""
        for group in self._blocks.groups:
            row, rows = group.below(k + 1, self._grid.block)
            col, cols = group.right(k + 1 if first else k + 2, self._grid.block)
            if first:
                cols = [j for j in cols if j == k + 1]
            if not rows or not cols:
                continue
            with self._record.computing(f"{len(rows)} x {len(cols)} blocks after panel {k}"):
                target = group.matrix[row:, col : col + self._grid.extent(cols)]
                a, b = left.pick(rows).T, upper.pick(cols)
                accumulate(self._pool, a, b, target, -1.0, True, stopping(self._loop))


def _below(grid: Grid, k: int, rank: int) -> list[int]:
    """The block rows i >= k in which a rank owns the block (i, k)."""
    return (np.flatnonzero(grid.owner[k:, k] == rank) + k).tolist()


def _without_zeros(diagonal: Array) -> Array:
    """A diagonal block with ones in place of the zeros on its diagonal.

    A column without a pivot is not scaled, as in LAPACK. It is zero, up to rounding, once the rows
    above are eliminated.
    """
    zeros = np.flatnonzero(diagonal.diagonal() == 0)
    if len(zeros):
        diagonal = np.array(diagonal)
        diagonal[zeros, zeros] = 1
    return diagonal
