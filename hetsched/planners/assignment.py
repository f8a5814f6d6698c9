"""The assignment problem: pairs of rows and columns of least total cost, with prices as the
proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check
from .._base.frozen import Frozen
from .._engine import assign as engine
from ..errors import InfeasibleError

_LARGEST_INTEGER, _LARGEST_REAL = 2**58, 2.0**990


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Assignment(Frozen):
    """Pairs of rows and columns, each used at most once.

    Attributes
    ----------
    rows, cols : (k,) int64 arrays
        The pairs, by ascending row; k is the smaller side of the matrix.
    cost : float or int
        Sum of the costs of the pairs; an int for integer costs.
    bound : float or int
        Sum of the prices, rounded to the safe side: no assignment costs less (or more, if
        maximised).
    row_prices, col_prices : (m,), (n,) arrays
        The proof of the bound, exact for the given doubles: row_prices[i] + col_prices[j] <=
        costs[i, j] (>= if maximised), and the prices on the longer side are not positive (not
        negative).
    optimal : bool
        Whether cost and bound are equal up to rounding: 10^-12 of the largest price for each pair.
    """

    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    cost: float
    bound: float
    row_prices: NDArray[Any]
    col_prices: NDArray[Any]
    optimal: bool

    def __repr__(self) -> str:
        proof = "optimal" if self.optimal else "not proven optimal"
        return (
            f"<Assignment: {len(self.rows)} pairs, cost {self.cost:.6g},"
            f" bound {self.bound:.6g}, {proof}>"
        )


def assign(costs: ArrayLike, maximize: bool = False) -> Assignment:
    """Pair rows with columns at the least total cost, or at the largest one.

    Parameters
    ----------
    costs : (m, n) array_like
        Real numbers, any strides. A pair with an infinite cost (minus infinite if maximised) is not
        allowed. Integers are computed exactly, up to 2**58 in magnitude; floats may be up to
        2**990.
    maximize : bool, default False
        Whether to find the largest total cost.

    Returns
    -------
    Assignment
        With min(m, n) pairs.

    Raises
    ------
    ValueError, TypeError
        For NaN, an empty matrix, costs that are too large or infinite on the wrong side.
    InfeasibleError
        If the allowed pairs admit no assignment.

    Notes
    -----
    Shortest augmenting paths of Jonker and Volgenant (1987), for whole rows at a time,
    O(m n min(m, n)).

    Examples
    --------
    >>> import hetsched as hs
    >>> found = hs.assign([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> found.cols.tolist(), found.cost, found.bound, found.optimal
    ([1, 0, 2], 5, 5, True)
    """
    matrix = _matrix(costs, maximize)
    swap = not matrix.flags.c_contiguous and matrix.flags.f_contiguous
    work = matrix.T if swap else matrix
    if work.strides[1] != 8 or work.strides[0] % 8:
        work = np.ascontiguousarray(work)
    try:
        partner, own, other = engine.assign(work, maximize)
    except InfeasibleError:
        raise InfeasibleError("costs allow no assignment: too many pairs are infinite") from None
    used = np.flatnonzero(partner >= 0)
    pairs = used, partner[used].astype(np.int64)
    rows, cols = pairs[::-1] if swap else pairs
    if swap:
        order = np.argsort(rows)
        rows, cols = rows[order], cols[order]
        own, other = other, own
    chosen = matrix[rows, cols].tolist()
    prices = own.tolist() + other.tolist()
    cost: float
    bound: float
    if matrix.dtype == np.int64:
        cost, bound = sum(chosen), sum(prices)
        optimal = cost == bound
    else:
        cost, bound = math.fsum(chosen), _rounded_sum(prices, up=maximize)
        optimal = abs(cost - bound) <= 1e-12 * max(map(abs, prices)) * len(chosen)
    return Assignment(
        rows=check.frozen(rows),
        cols=check.frozen(cols),
        cost=cost,
        bound=bound,
        row_prices=check.frozen(own),
        col_prices=check.frozen(other),
        optimal=optimal,
    )


def _matrix(costs: ArrayLike, maximize: bool) -> NDArray[Any]:
    """The costs as int64 or float64; not copied if they already are."""
    if not isinstance(maximize, bool | np.bool_):
        raise TypeError(f"maximize must be True or False, got {maximize!r}")
    try:
        given = np.asarray(costs)
    except ValueError:
        raise TypeError(
            "costs must be a matrix of real numbers, got rows of unequal lengths"
        ) from None
    if isinstance(costs, np.ma.MaskedArray):
        raise TypeError("costs must be a matrix of real numbers, got a masked array")
    if given.dtype.kind not in "iuf":
        raise TypeError(f"costs must be a matrix of real numbers, got dtype {given.dtype}")
    if given.ndim != 2 or given.size == 0:
        raise ValueError(
            f"costs must be a matrix with at least one row and one column, got shape {given.shape}"
        )
    if given.dtype.kind == "f":
        matrix = given.astype(np.float64, copy=False)
        forbidden = -math.inf if maximize else math.inf
        low, high = float(matrix.min()), float(matrix.max())  # NaN if any entry is
        if not (low >= -_LARGEST_REAL and high <= _LARGEST_REAL):
            bad = ~((np.abs(matrix) <= _LARGEST_REAL) | (matrix == forbidden))
            if bad.any():
                i, where = check.first(bad)
                wanted = f"at most 2**990 in magnitude or {forbidden}"
                raise ValueError(f"costs{where} must be {wanted}, got {matrix[i]:g}")
        return matrix
    if int(given.min()) < -_LARGEST_INTEGER or int(given.max()) > _LARGEST_INTEGER:
        raise ValueError(
            "costs must be at most 2**58 in magnitude where they are integers; give floats instead"
        )
    return given.astype(np.int64, copy=False)


def _rounded_sum(values: list[float], *, up: bool) -> float:
    """The sum, or the next double on the safe side if it is not exact."""
    total = math.fsum(values)
    error = math.fsum([*values, -total])
    if (error > 0) if up else (error < 0):
        return math.nextafter(total, math.inf if up else -math.inf)
    return total
