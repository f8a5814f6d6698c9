"""Cholesky factorisation of the lower triangle, on the ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..runners.panel import cholesky_block, substitute
from ..runners.pool import Pool, accumulate
from .columns import Columns
from .loop import Bytes, Loop, Waiting
from .panels import Panels, stopping
from .record import Record
from .windows import Array


class Cholesky:
    """A = L L^H: a `Kind`. Rows above a diagonal block are neither read nor written.

    What is above the diagonal of a diagonal block does not affect the result, and becomes zero.

    Parameters
    ----------
    local : (n, held) array
        This rank's block columns side by side, in row-major order.
    """

    def __init__(self, loop: Loop, columns: Columns, local: Array, pool: Pool) -> None:
        self._loop, self._columns, self._local, self._pool = loop, columns, local, pool
        self._dtype: np.dtype[Any] = local.dtype
        self._own = columns.own(loop.rank)

    def bytes_of(self, k: int) -> int:
        return self._columns.panel_size(k) * self._dtype.itemsize

    def _view(self, k: int, data: Bytes) -> Array:
        return data.view(self._dtype).reshape(self._columns.width(k), -1).T

    def factor(self, k: int, i: int, data: Bytes) -> None:
        first, width, panel = self._columns.first(k), self._columns.width(k), self._view(k, data)
        own = self._columns.part(self._local, i)[first:]
        panel[...] = own
        top, turned = panel[:width], panel[width:].T
        minor = cholesky_block(self._pool, own[:width], top, stopping(self._loop))
        if minor:
            raise np.linalg.LinAlgError(
                f"{first + minor}-th leading minor of the array is not positive definite"
            )
        if self._dtype.kind == "c":  # X L^H = A is L X^H = A^H
            np.conjugate(turned, out=turned)
        substitute(self._pool, top, turned, lower=True, unit=False, poll=stopping(self._loop))
        if self._dtype.kind == "c":
            np.conjugate(turned, out=turned)
        top[np.triu_indices(width, 1)] = 0
        own[...] = panel

    def update(self, k: int, data: Bytes, begin: int, end: int) -> None:
        panel, above = self._view(k, data), self._columns.first(k)
        for i in range(begin, end):
            block = self._columns.slice(self._own[i])
            rows = panel[block.start - above :]
            turned = panel[block.start - above : block.stop - above].conj().T
            target = self._columns.part(self._local, i)[block.start :]
            accumulate(self._pool, rows, turned, target, -1.0, True, stopping(self._loop))

    def seen(self, k: int, data: Bytes) -> None:
        pass


async def cholesky(
    loop: Loop,
    columns: Columns,
    local: Array,
    pool: Pool,
    arrived: Sequence[Waiting],
    record: Record,
    done: Callable[[int], None] | None = None,
) -> None:
    """Factor a Hermitian matrix. local (n, held) has the lower parts of the block columns, by rows.

    Raises
    ------
    numpy.linalg.LinAlgError
        On all ranks, like any error of one rank, if the matrix is not positive definite.
    """
    await Panels(loop, columns, Cholesky(loop, columns, local, pool), record, done).run(arrived)
