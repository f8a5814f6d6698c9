"""One rank's part of a factorisation, on the threads of its pool.

The panels come from other ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._engine import factor
from .._engine import run as engine
from .pool import Pool, resources_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .operands import Array


def lu_panel(
    pool: Pool, a: Array, panel: Array, pivots: NDArray[np.int32], poll: engine.Poll
) -> None:
    """panel <- the factors L (without its ones) and U of a (m, w), m >= w.

    pivots : (w,), as in scipy.linalg.lu_factor.
    """
    threads = resources_of(pool).threads
    factor.run(threads, "lu", a, panel, pivots=pivots, workers=len(pool), poll=poll)


def cholesky_block(pool: Pool, a: Array, out: Array, poll: engine.Poll) -> int:
    """Lower triangle of out <- L with L L^H = a.

    Returns 0, or the order of the leading minor that is not positive definite.
    """
    return factor.cholesky(resources_of(pool).threads, a, out, poll)


def substitute(
    pool: Pool, t: Array, x: Array, *, lower: bool, unit: bool, poll: engine.Poll
) -> None:
    """x <- T^-1 x, where T is a triangle of t (w, w) and x (w, r) holds the right-hand sides."""
    if x.size:
        threads = resources_of(pool).threads
        factor.solve_triangular(threads, t, x, lower=lower, unit=unit, poll=poll)


def moved_rows(pivots: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(target, source) of rows that move if row i is exchanged with row pivots[i], i = 0, 1, ...

    Examples
    --------
    >>> import numpy as np
    >>> [rows.tolist() for rows in moved_rows(np.array([2, 1, 2], np.int32))]
    [[0, 2], [2, 0]]
    """
    holds: dict[int, int] = {}
    for i, pivot in enumerate(pivots.tolist()):
        if pivot != i:
            holds[i], holds[pivot] = holds.get(pivot, pivot), holds.get(i, i)
    moved = [(target, source) for target, source in holds.items() if target != source]
    pairs = np.array(moved, np.intp).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
