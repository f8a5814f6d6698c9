"""A distributed matrix: scattered from the root, factored, used in solves, gathered.

The plan decides whether the ranks hold block columns or square blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..runners.pool import Pool
from .cholesky import cholesky
from .columns import Columns, Moves
from .grid import Blocks, Grid, GridMoves
from .grid_cholesky import GridCholesky
from .grid_lu import GridLu
from .grid_solve import GridSubstitution
from .loop import Loop, Waiting
from .lu import lu
from .lu_solve import Substitution
from .mail import Mail
from .ranks import Ranks
from .record import Record
from .windows import Array, touched


class Context(NamedTuple):
    """What the work on a rank needs besides the matrix.

    `done` is called with the number of a block when its panel has been factored on this rank.
    """

    loop: Loop
    pool: Pool
    root: int
    record: Record
    done: Callable[[int], None] | None = None


class Work(Protocol):
    """One matrix on the ranks. All ranks call the same methods in the same order."""

    async def factor(self, a: Array | None) -> NDArray[np.int32] | None:
        """Factor the matrix a of the root. The root gets (n + 1,) pivots as from `lu`."""

    async def solve(self, pivots: NDArray[np.int32], cols: int, b: Array | None) -> None:
        """Overwrite the right-hand sides b (n, cols) on the root with the solution."""

    async def gather(self, out: Array | None) -> None:
        """Bring the factors to the root."""


class ColumnWork:
    """A matrix that the ranks hold by block columns.

    Parameters
    ----------
    by_columns : bool
        See `Moves`.
    lower : bool
        Factor by Cholesky, not LU.
    """

    def __init__(
        self, side: Context, columns: Columns, dtype: np.dtype[Any], by_columns: bool, lower: bool
    ) -> None:
        self._side, self._columns, self._dtype, self._lower = side, columns, dtype, lower
        self._local = np.empty((columns.n, columns.held(side.loop.rank)), dtype)
        self._moves = Moves(side.loop, columns, dtype, side.root, by_columns, lower, side.record)

    async def factor(self, a: Array | None) -> NDArray[np.int32] | None:
        loop, pool, root, record, done = self._side
        columns, local = self._columns, self._local
        await loop.compute(partial(touched, loop, local))
        arrived = [Waiting() for _ in columns.own(loop.rank)]
        dealing = loop.spawn(self._moves.scatter(a, local, arrived))
        pivots = None
        if self._lower:
            await cholesky(loop, columns, local, pool, arrived, record, done)
        else:
            pivots = await lu(loop, columns, local, pool, [root], arrived, record, done)
        await dealing
        return pivots

    async def solve(self, pivots: NDArray[np.int32], cols: int, b: Array | None) -> None:
        loop, pool, root, record, _ = self._side
        work = Substitution(loop, self._columns, self._local, cols, pool, root, record)
        await work.run(pivots, b)

    async def gather(self, out: Array | None) -> None:
        with self._side.record.waiting("the result"):
            await self._moves.gather(self._local, out)


class GridWork:
    """A matrix that the ranks hold by square blocks.

    Parameters
    ----------
    lower : bool
        Factor by Cholesky, not LU.
    """

    def __init__(self, side: Context, grid: Grid, dtype: np.dtype[Any], lower: bool) -> None:
        self._side, self._lower = side, lower
        self._blocks = Blocks(grid, side.loop.rank, dtype)
        self._mail = Mail(side.loop, side.record)
        self._moves = GridMoves(side.loop, self._blocks, side.root, side.record, lower)

    async def factor(self, a: Array | None) -> NDArray[np.int32] | None:
        _, pool, root, record, done = self._side
        with record.waiting("the matrix"):
            await self._moves.scatter(a)
        if self._lower:
            await GridCholesky(self._mail, self._blocks, pool, record, done).run()
            return None
        work = GridLu(self._mail, self._blocks, pool, [root], record, done)
        await work.run()
        return work.pivots

    async def solve(self, pivots: NDArray[np.int32], cols: int, b: Array | None) -> None:
        _, pool, root, record, _ = self._side
        work = GridSubstitution(self._mail, self._blocks, cols, pool, root, record)
        await work.run(pivots, b)

    async def gather(self, out: Array | None) -> None:
        with self._side.record.waiting("the result"):
            await self._moves.gather(out)


# ---- matrices that the ranks hold already --------------------------------------------------------


def lu_held(ranks: Ranks, columns: Columns, local: Array, pool: Pool) -> NDArray[np.int32]:
    """Factor a matrix that the ranks hold already, by block columns.

    Parameters
    ----------
    columns : Columns
        Must be the same on all ranks.
    local : (n, held) array
        This rank's block columns side by side, in row-major order, in one of the four dtypes,
        which must be the same on all ranks. It is overwritten with the factors.

    Returns
    -------
    (n + 1,) int32 array
        On every rank, as from `lu`.
    """
    arrived = [Waiting(left=0) for _ in columns.own(ranks.rank)]
    found: NDArray[np.int32] = ranks.run(
        lambda loop: lu(loop, columns, local, pool, range(ranks.size), arrived, Record(False))
    )
    return found


def solve_held(
    ranks: Ranks,
    columns: Columns,
    local: Array,
    pivots: NDArray[np.int32],
    b: Array | None,
    cols: int,
    pool: Pool,
    root: int = 0,
) -> None:
    """Solve with the factors and the pivots of `lu_held`.

    Parameters
    ----------
    b : (n, cols) array at the root, None elsewhere
        Right-hand sides in row-major order, in the dtype of local. They are overwritten with the
        solution.
    cols : int
        Number of right-hand sides, on every rank.
    """
    ranks.run(
        lambda loop: Substitution(loop, columns, local, cols, pool, root, Record(False)).run(
            pivots, b
        )
    )


def grid_lu_held(ranks: Ranks, blocks: Blocks, pool: Pool) -> NDArray[np.int32]:
    """Factor a matrix that the ranks hold already, by square blocks.

    Parameters
    ----------
    blocks : Blocks
        This rank's part of a grid, which must be the same on all ranks. It is overwritten with the
        factors.

    Returns
    -------
    (n + 1,) int32 array
        On every rank: pivots as in scipy.linalg.lu_factor, then the first zero on the diagonal of
        U, or -1.
    """

    async def main(loop: Loop) -> NDArray[np.int32]:
        record = Record(False)
        work = GridLu(Mail(loop, record), blocks, pool, range(ranks.size), record)
        await work.run()
        return work.pivots

    found: NDArray[np.int32] = ranks.run(main)
    return found


def grid_solve_held(
    ranks: Ranks,
    blocks: Blocks,
    pivots: NDArray[np.int32],
    b: Array | None,
    cols: int,
    pool: Pool,
    root: int = 0,
) -> None:
    """Solve with the factors and the pivots of `grid_lu_held`.

    Parameters
    ----------
    b, cols :
        See `solve_held`.
    """

    async def main(loop: Loop) -> None:
        record = Record(False)
        work = GridSubstitution(Mail(loop, record), blocks, cols, pool, root, record)
        await work.run(pivots, b)

    ranks.run(main)
