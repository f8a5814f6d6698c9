"""Pivot rows of a panel whose rows are on several ranks, by a tournament.

Partial pivoting would need messages for each column of the panel. The tournament needs
ceil(log2(r)) messages one after the other for r ranks (communication-avoiding LU: Grigori, Demmel,
Xiang, SIAM J. Matrix Anal. Appl. 32, 2011). Each rank factors its rows of the panel (m, w) by LU
with partial pivoting; the w pivot rows are its candidates. The candidates of two ranks are factored
together in the same way, and the w pivot rows stay candidates, up to the root of a binary tree.
The root is the owner of the diagonal block. Its last factorisation is the one of the pivot rows in
their final order, so these rows need no further exchange.

Elements of L may exceed 1 in magnitude. They are at most 2^(w h) for a tree of height h, and the
growth factor of the whole factorisation is at most 2^(n (h + 1) - 1). For partial pivoting these
bounds are 1 and 2^(n - 1). On random matrices both methods have about the same growth.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runners.panel import lu_panel, moved_rows
from ..runners.pool import Pool
from .loop import Bytes, Loop
from .mail import Kind, Mail
from .panels import stopping
from .windows import Array


class Candidates(NamedTuple):
    """Rows of a panel that may become pivot rows.

    Attributes
    ----------
    values : (c, w) array
        The rows as they are before the factorisation of the panel.
    lines : (c,) int64 array
        Where they are in the matrix.
    """

    values: Array
    lines: NDArray[np.int64]


class Winners(NamedTuple):
    """The result of a tournament: the factors (w, w) of the pivot rows, and their places."""

    factors: Array
    lines: NDArray[np.int64]


def best(loop: Loop, pool: Pool, rows: Candidates) -> tuple[Candidates, Array]:
    """The first w pivot rows of LU with partial pivoting, in their order, and their factors (w, w).

    If there are fewer than w rows, all of them stay, in their order, without factors.
    """
    m, w = rows.values.shape
    if m < w:
        return rows, rows.values[:0]
    factors, pivots = np.empty((w, m), rows.values.dtype).T, np.empty(w, np.int32)
    lu_panel(pool, rows.values, factors, pivots, stopping(loop))
    order = np.arange(m)
    target, source = moved_rows(pivots)
    order[target] = source
    first = order[:w]
    return Candidates(rows.values[first], rows.lines[first]), factors[:w]


async def tournament(
    mail: Mail,
    pool: Pool,
    own: tuple[Candidates, Array],
    ranks: list[int],
    counts: list[int],
    width: int,
    lane: int,
) -> Winners | None:
    """Choose the pivot rows of a panel.

    Parameters
    ----------
    own : (Candidates, array)
        What `best` returns for this rank's rows of the panel.
    ranks : list of int
        The owners of the panel; the first one becomes the root of the tree.
    counts : list of int
        The number of rows of each of them.
    width : int
        The number of columns of the panel.
    lane : int
        The lane of `Loop.compute` for the factorisations of candidates of two ranks.

    Returns
    -------
    Winners or None
        On ranks[0]; None on the other ranks.
    """
    loop, me = mail.loop, ranks.index(mail.loop.rank)
    counts = [min(count, width) for count in counts]
    kept, factors = own
    distance = 1
    while distance < len(ranks):
        if me % (2 * distance):
            mail.send(Kind.CANDIDATES, _packed(kept), ranks[me - distance])
            return None
        if me + distance < len(ranks):
            data = np.empty(_size(counts[me + distance], kept.values), np.uint8)
            await mail.receive(Kind.CANDIDATES, data, ranks[me + distance])
            theirs = _unpacked(data, counts[me + distance], kept.values)
            joined = Candidates(*(np.concatenate(pair) for pair in zip(kept, theirs, strict=True)))
            kept, factors = await loop.compute(partial(best, loop, pool, joined), lane)
        for i in range(0, len(ranks) - distance, 2 * distance):
            counts[i] = min(counts[i] + counts[i + distance], width)
        distance *= 2
    return Winners(np.ascontiguousarray(factors), kept.lines)


def _size(count: int, like: Array) -> int:
    return count * (int(like.shape[1]) * like.itemsize + 8)


def _packed(rows: Candidates) -> Bytes:
    return np.concatenate([np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in rows])


def _unpacked(data: Bytes, count: int, like: Array) -> Candidates:
    cut = count * like.shape[1] * like.itemsize
    values = data[:cut].view(like.dtype).reshape(count, like.shape[1])
    return Candidates(values, data[cut:].view(np.int64))


def exchanges(chosen: NDArray[np.int64]) -> NDArray[np.int32]:
    """Pivots as in scipy.linalg.lu_factor that bring row chosen[i] to row i, for i = 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> exchanges(np.array([3, 0, 1])).tolist()
    [3, 3, 3]
    """
    pivots = np.empty(len(chosen), np.int32)
    at: dict[int, int] = {}  # row -> where it is now, if it has moved
    holds: dict[int, int] = {}  # place -> the row that is there, if another one was
    for i, row in enumerate(chosen.tolist()):
        pivot = at.get(row, row)
        other = holds.get(i, i)
        holds[i], holds[pivot] = row, other
        at[row], at[other] = i, pivot
        pivots[i] = pivot
    return pivots
