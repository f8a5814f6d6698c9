"""Cholesky factorisation of the lower triangle with square blocks that belong to different ranks.

In step k the owner of the diagonal block factors it and sends it to the owners of the blocks
(i, k), i > k. They solve for L and send each block to the ranks that own a block (i, j) with
k < j <= i, or a block (j, i) with j >= i. The owners of the next panel update its blocks first, and
factor and send it while the rest of the update goes on.

L travels as its conjugate transpose, so that its blocks are columns of arrays (w, m) in row-major
order. Blocks above the diagonal are neither read nor written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..runners.panel import cholesky_block, substitute
from ..runners.pool import Pool, accumulate
from .grid import Blocks, Grid
from .grid_lines import Lines, spread
from .loop import Waiting
from .mail import Kind, Mail
from .panels import stopping
from .record import Record
from .windows import Array

_LANE = 1  # of `Loop.compute`, for short computations that other ranks wait for


class GridCholesky:
    """The part of one rank in A = L L^H.

    Parameters
    ----------
    done : function of a block, optional
        Called on the owner of a diagonal block when it has been factored.
    """

    def __init__(
        self,
        mail: Mail,
        blocks: Blocks,
        pool: Pool,
        record: Record,
        done: Callable[[int], None] | None = None,
    ) -> None:
        self._mail, self._blocks, self._pool, self._record = mail, blocks, pool, record
        self._loop, self._grid, self._me = mail.loop, blocks.grid, mail.loop.rank
        self._done = done
        self._left = _last_left(self._grid)

    async def run(self) -> None:
        """Factor the blocks in place.

        Raises
        ------
        numpy.linalg.LinAlgError
            On all ranks, like any error of one rank, if the matrix is not positive definite.
        """
        rest, coming = Waiting(left=0), self._begin_panel(0, None)
        for k in range(self._grid.count):
            with self._record.waiting(f"L {k}"):
                left = await coming
            await rest  # updates that wait would keep their blocks of L
            if k + 1 < self._grid.count:
                coming = self._begin_panel(k + 1, left)
            rest = self._loop.compute(
                partial(self._update, k, left, range(k + 2, self._grid.count))
            )
            await self._mail.next_step(1)
        await rest

    def _begin_panel(self, k: int, left: Lines | None) -> Waiting:
        """Update the blocks of a panel by L of the step before, and factor the diagonal block."""
        own = Waiting(left=0)
        if self._blocks.rows(k, k):
            own = self._loop.compute(partial(self._head, k, left))
        return self._loop.spawn(self._panel(k, own))

    async def _panel(self, k: int, own: Waiting) -> Lines:
        """Solve for the blocks of L of a panel, and send them on.

        own : what `_head` returns
        """
        grid, lead = self._grid, int(self._grid.owner[k, k])
        ranks = list(dict.fromkeys(grid.owner[k + 1 :, k].tolist()))
        rows, w = self._blocks.rows(k, k + 1), grid.width(k)
        diagonal = await own
        turned = np.empty((w, 0), self._blocks.dtype)
        if self._me == lead:
            for rank in ranks:
                if rank != lead:
                    self._mail.send(Kind.DIAGONAL, diagonal, rank)
            if self._done is not None:
                self._done(k)
        elif rows:
            diagonal = np.empty((w, w), self._blocks.dtype)
            await self._mail.receive(Kind.DIAGONAL, diagonal, lead)
        if rows:
            turned = await self._loop.compute(partial(self._solve, k, diagonal), _LANE)
        wanted = partial(self._wanted, k)
        return await spread(self._mail, Kind.LEFT, Lines(grid, rows, turned), ranks, wanted)

    def _wanted(self, k: int, source: int, target: int) -> list[int]:
        """The block rows i > k of which `target` needs L (i, k), and which `source` owns there."""
        held = self._grid.owner[k + 1 :, k] == source
        below = self._grid.last_row[k + 1 :, target] >= np.arange(k + 1, self._grid.count)
        needed = below | (self._left[k + 1 :, target] > k)
        return (np.flatnonzero(held & needed) + k + 1).tolist()

    # ---- on the threads for products ----

    def _head(self, k: int, left: Lines | None) -> Array:
        """Update the blocks of a panel; factor the diagonal block if this rank owns it."""
        if left is not None:
            self._update(k - 1, left, [k])
        first, w = self._grid.first(k), self._grid.width(k)
        top = np.zeros((w, w), self._blocks.dtype)
        if self._grid.owner[k, k] == self._me:
            with self._record.computing(f"panel {k}"):
                own = self._blocks.column(k, k)[:w]
                minor = cholesky_block(self._pool, own, top, stopping(self._loop))
                if minor:
                    raise np.linalg.LinAlgError(
                        f"{first + minor}-th leading minor of the array is not positive definite"
                    )
                own[...] = top
        return top

    def _solve(self, k: int, diagonal: Array) -> Array:
        """L below the diagonal block, conjugate and transposed: X L^H = A is L X^H = A^H."""
        with self._record.computing(f"L of panel {k}"):
            own, poll = self._blocks.column(k, k + 1), stopping(self._loop)
            turned = np.conjugate(own.T, order="C")
            substitute(self._pool, diagonal, turned, lower=True, unit=False, poll=poll)
            own[...] = turned.conj().T
            return turned

    def _update(self, k: int, left: Lines, columns: range | list[int]) -> None:
        """Update this rank's blocks of these block columns from the diagonal on."""
        own = [j for j in columns if self._blocks.rows(j, j)]
        if not own:
            return
        with self._record.computing(f"{len(own)} block columns after panel {k}"):
            turned = left._replace(data=left.data.conj())
            for j in own:
                target = self._blocks.column(j, j)
                a, b = turned.pick(self._blocks.rows(j, j)).T, left.pick([j])
                accumulate(self._pool, a, b, target, -1.0, True, stopping(self._loop))


def _last_left(grid: Grid) -> NDArray[np.intp]:
    """(b, size) the last block column in the lower triangle in which a rank owns a block of a row.

    -1 if it owns none there.
    """
    found = np.full((grid.count, grid.size), -1, np.intp)
    for j in range(grid.count):
        rows = np.arange(j, grid.count)
        found[rows, grid.owner[rows, j]] = j
    return found
