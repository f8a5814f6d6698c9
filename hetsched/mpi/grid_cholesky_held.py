"""A Cholesky factorisation of square blocks that the ranks hold, and solves with the factor.

Forward substitution is that of LU. In backward substitution, with L^H, the owner of a diagonal
block collects the contributions of the blocks below it. It sends its block of the solution to the
owners of the blocks to the left.
"""

from __future__ import annotations

from ..runners.pool import Pool, accumulate
from .grid import Blocks
from .grid_cholesky import GridCholesky
from .grid_solve import GridSubstitution
from .loop import Loop
from .mail import Mail
from .panels import stopping
from .ranks import Ranks
from .record import Record
from .windows import Array


def grid_cholesky_held(ranks: Ranks, blocks: Blocks, pool: Pool) -> None:
    """Factor a Hermitian matrix that the ranks hold already, by square blocks.

    Only the lower triangle is read. `blocks` is overwritten with L, and with zeros above its
    diagonal. See `work.grid_lu_held` for the arguments.

    Raises
    ------
    numpy.linalg.LinAlgError
        On all ranks, if the matrix is not positive definite.
    """

    async def main(loop: Loop) -> None:
        record = Record(False)
        await GridCholesky(Mail(loop, record), blocks, pool, record).run()

    ranks.run(main)
    for j in blocks.place:
        above = [i for i in blocks.rows(j) if i < j]
        blocks.column(j)[: blocks.grid.extent(above)] = 0


def grid_cholesky_solve_held(
    ranks: Ranks, blocks: Blocks, b: Array | None, cols: int, pool: Pool, root: int = 0
) -> None:
    """Solve with the factor of `grid_cholesky_held`. See `work.solve_held` for b and cols."""

    async def main(loop: Loop) -> None:
        record = Record(False)
        work = GridCholeskySubstitution(Mail(loop, record), blocks, cols, pool, root, record)
        await work.run(None, b)

    ranks.run(main)


class GridCholeskySubstitution(GridSubstitution):
    """Solves with the blocks of L that one rank holds. Blocks above the diagonal are not read."""

    _unit = False

    def _sides(self, k: int, backward: bool) -> tuple[list[int], list[int]]:
        before, after = super()._sides(k, backward=False)
        return (after, before) if backward else (before, after)

    # ---- on the threads for products ----

    def _triangle(self, k: int, backward: bool) -> Array:
        triangle = super()._triangle(k, backward)
        return triangle.conj().T if backward else triangle

    def _contribute(self, k: int, backward: bool, x: Array) -> None:
        if not backward:
            super()._contribute(k, backward, x)
            return
        own = [j for j in self._blocks.place if j < k and k in self._blocks.rows(j)]
        for j in own:  # blocks of a row may be in several arrays
            turned = self._blocks.column(j, k)[: self._grid.width(k)].conj().T
            target = self._sums[self._grid.slice(j)]
            with self._record.computing(f"contribution of block {k}"):
                accumulate(self._pool, turned, x, target, 1.0, True, stopping(self._loop))
