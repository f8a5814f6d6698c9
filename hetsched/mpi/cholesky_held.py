"""A Cholesky factorisation of block columns that the ranks hold, and solves with the factor.

Forward substitution with L is that of LU. Backward substitution is with L^H, of which the ranks
hold block rows. The owner of a block solves with the triangle on the diagonal, and sends the block
of the solution to the ranks with blocks before it. These ranks subtract what it contributes to
their blocks, first to the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..runners.panel import substitute
from ..runners.pool import Pool, accumulate
from .cholesky import cholesky
from .columns import GATHER, Columns
from .loop import Waiting
from .lu_solve import Substitution
from .panels import stopping
from .ranks import Ranks
from .record import Record
from .windows import Array

_BLOCK = GATHER + 6  # tag of blocks of the solution


def cholesky_held(ranks: Ranks, columns: Columns, local: Array, pool: Pool) -> None:
    """Factor a Hermitian matrix that the ranks hold already, by block columns.

    Only the lower triangle is read. `local` is overwritten with L, and with zeros above its
    diagonal. See `work.lu_held` for the arguments.

    Raises
    ------
    numpy.linalg.LinAlgError
        On all ranks, if the matrix is not positive definite.
    """
    own = columns.own(ranks.rank)
    arrived = [Waiting(left=0) for _ in own]
    record = Record(False)
    ranks.run(lambda loop: cholesky(loop, columns, local, pool, arrived, record))
    for i, k in enumerate(own):
        columns.part(local, i)[: columns.first(k)] = 0


def cholesky_solve_held(
    ranks: Ranks,
    columns: Columns,
    local: Array,
    b: Array | None,
    cols: int,
    pool: Pool,
    root: int = 0,
) -> None:
    """Solve with the factor of `cholesky_held`. See `work.solve_held` for the arguments."""
    record = Record(False)
    ranks.run(
        lambda loop: CholeskySubstitution(loop, columns, local, cols, pool, root, record).solve(b)
    )


class CholeskySubstitution(Substitution):
    """Solves with the part of L that one rank holds. The rows above the diagonal are not read."""

    _unit = False

    async def solve(self, b: Array | None) -> None:
        """Solve L L^H x = b. b (n, cols), by rows at the root, becomes the solution."""
        await self._substitute(b)

    async def _backward(self) -> None:
        loop, owner = self._loop, self._columns.owner.tolist()
        self._sums[...] = 0.0
        done = Waiting(left=0)
        later: Callable[[], None] | None = None
        for k in reversed(range(len(owner))):
            before = [j for j in self._place if j < k]
            if owner[k] == loop.rank:
                x = self._own[self._place[k]]
                await loop.compute(partial(self._solve_turned, k))
                for rank in sorted(set(owner[:k]) - {loop.rank}):
                    await self._send(x, rank, _BLOCK)
            elif before:
                x = self._block(k)
                await loop.receive(x, owner[k], _BLOCK)
            if later is not None:
                done, later = loop.compute(later), None
            if k - 1 in self._place:
                done = loop.compute(partial(self._contribute_turned, k, x, [k - 1]))
                later = partial(self._contribute_turned, k, x, before[:-1])
            elif before:
                done = loop.compute(partial(self._contribute_turned, k, x, before))
        await done

    # ---- on the thread for products ----

    def _solve_turned(self, k: int) -> None:
        rows, i = self._columns.slice(k), self._place[k]
        x = self._own[i]
        x -= self._sums[rows]
        triangle = self._columns.part(self._local, i)[rows].conj().T
        poll = stopping(self._loop)
        with self._record.computing(f"solution of block {k}"):
            substitute(self._pool, triangle, x, lower=False, unit=False, poll=poll)

    def _contribute_turned(self, k: int, x: Array, blocks: list[int]) -> None:
        """Add what block k of the solution contributes to these blocks."""
        rows, poll = self._columns.slice(k), stopping(self._loop)
        for j in blocks:
            turned = self._columns.part(self._local, self._place[j])[rows].conj().T
            target = self._sums[self._columns.slice(j)]
            with self._record.computing(f"contribution of block {k}"):
                accumulate(self._pool, turned, x, target, 1.0, True, poll)
