"""LU factorisation with partial pivoting on the ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runners.panel import lu_panel, moved_rows, substitute
from ..runners.pool import Pool, accumulate
from .columns import GATHER, Columns
from .loop import Bytes, Loop, Waiting, all_of
from .panels import Panels, stopping
from .record import Record
from .windows import Array

_PIVOTS = GATHER + 2  # tag


class _View(NamedTuple):
    """A panel of LU as it is sent.

    First the factors, (m, w) by columns, then the pivots, counted from the first row of the panel.
    """

    factors: Array
    pivots: NDArray[np.int32]


class Lu:
    """LU with partial pivoting: a `Kind`.

    Parameters
    ----------
    local : (n, held) array
        This rank's block columns side by side, in row-major order, in which rows are exchanged some
        ten times as fast.

    Attributes
    ----------
    pivots : (n + 1,) int32 array
        Pivots of the panels that this rank has seen, as in scipy.linalg.lu_factor. The last entry
        is the first zero on the diagonal of U, or -1.
    """

    def __init__(self, loop: Loop, columns: Columns, local: Array, pool: Pool) -> None:
        self._loop, self._columns, self._local, self._pool = loop, columns, local, pool
        self._dtype: np.dtype[Any] = local.dtype
        self.pivots = np.full(columns.n + 1, -1, np.int32)
        # panel that has been seen -> target and source rows
        self._moved: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}

    def bytes_of(self, k: int) -> int:
        columns = self._columns
        return columns.panel_size(k) * self._dtype.itemsize + 4 * columns.width(k)

    def _view(self, k: int, data: Bytes) -> _View:
        rows, width = self._columns.n - self._columns.first(k), self._columns.width(k)
        cut = rows * width * self._dtype.itemsize
        return _View(data[:cut].view(self._dtype).reshape(width, rows).T, data[cut:].view(np.int32))

    def factor(self, k: int, i: int, data: Bytes) -> None:
        view = self._view(k, data)
        own = self._columns.part(self._local, i)[self._columns.first(k) :]
        lu_panel(self._pool, own, view.factors, view.pivots, stopping(self._loop))
        own[...] = view.factors

    def update(self, k: int, data: Bytes, begin: int, end: int) -> None:
        view, width, block = self._view(k, data), self._columns.width(k), self._columns.block
        below = self._local[self._columns.first(k) :, begin * block : end * block]
        target, source = self._moved[k]
        below[target] = below[source]
        upper, lower = below[:width], below[width:]
        substitute(
            self._pool,
            view.factors[:width],
            upper,
            lower=True,
            unit=True,
            poll=stopping(self._loop),
        )
        accumulate(self._pool, view.factors[width:], upper, lower, -1.0, True, stopping(self._loop))

    def seen(self, k: int, data: Bytes) -> None:
        view, first = self._view(k, data), self._columns.first(k)
        self._moved[k] = moved_rows(view.pivots)
        np.add(view.pivots, first, out=self.pivots[first : first + len(view.pivots)])
        zeros = np.flatnonzero(view.factors.diagonal() == 0)
        if len(zeros) and self.pivots[-1] < 0:
            self.pivots[-1] = first + int(zeros[0])


async def tell_pivots(
    loop: Loop,
    columns: Columns,
    pivots: NDArray[np.int32],
    listeners: Iterable[int],
    record: Record,
) -> None:
    """Send all pivots from the owner of the last block to the other owners and the listeners."""
    last = int(columns.owner[-1])
    others = sorted({*columns.enrolled, *listeners} - {last})
    if loop.rank in others:
        await loop.receive(pivots, last, _PIVOTS)
    if loop.rank == last:
        record.sent += pivots.nbytes * len(others)
        record.messages += len(others)
        await all_of([loop.send(pivots, rank, _PIVOTS) for rank in others])


def exchange_left(loop: Loop, columns: Columns, local: Array, pivots: NDArray[np.int32]) -> None:
    """Apply the row exchanges of later panels to this rank's columns of L; pivots as in `Lu`."""
    own, place = columns.own(loop.rank), len(columns.own(loop.rank))
    order = np.arange(columns.n)  # order of the rows after the exchanges of the panels to the right
    for k in range(columns.count - 1, own[0] - 1 if own else columns.count - 1, -1):
        if k == own[place - 1]:
            place -= 1
            moved = np.flatnonzero(order != np.arange(columns.n))
            part = columns.part(local, place)
            loop.go_on()
            part[moved] = part[order[moved]]
        first = columns.first(k)
        target, source = moved_rows(pivots[first : columns.first(k + 1)] - np.int32(first))
        step = np.arange(columns.n)
        step[first + target] = first + source
        order = step[order]


async def lu(
    loop: Loop,
    columns: Columns,
    local: Array,
    pool: Pool,
    listeners: Iterable[int],
    arrived: Sequence[Waiting],
    record: Record,
    done: Callable[[int], None] | None = None,
) -> NDArray[np.int32]:
    """Factor a matrix. local (n, held) has the block columns of each rank, in row-major order.

    Returns
    -------
    (n + 1,) int32 array
        The pivots of scipy.linalg.lu_factor, then the first zero on the diagonal of U, or -1; on
        the ranks that own blocks and on the listeners. local then holds the factors.
    """
    kind = Lu(loop, columns, local, pool)
    await Panels(loop, columns, kind, record, done).run(arrived)
    await tell_pivots(loop, columns, kind.pivots, listeners, record)
    await loop.compute(partial(_exchange, loop, columns, local, kind.pivots, record))
    return kind.pivots


def _exchange(
    loop: Loop, columns: Columns, local: Array, pivots: NDArray[np.int32], record: Record
) -> None:
    if local.size:
        with record.computing("exchanges of rows to the left"):
            exchange_left(loop, columns, local, pivots)
