"""Systems with a triangular matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._engine import factor
from .._engine import run as engine
from .arguments import (
    as_columns,
    require_finite,
    right_sides,
    solution_memory,
    squares,
    stacked,
    which,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .operands import Array

_TRANS: dict[Any, int] = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solution(
    threads: engine.Threads,
    given: ArrayLike,
    b: ArrayLike,
    trans: Any,
    lower: bool,
    unit_diagonal: bool,
    overwrite_b: bool,
    check_finite: bool,
    name: str = "a",
) -> Array:
    """Implement `solve_triangular`. `name` is the name of the matrix in error messages."""
    a = squares(name, given)
    right = right_sides(b, a.shape[-1])
    trans = transposition(trans)
    lower, unit = check.flag("lower", lower), check.flag("unit_diagonal", unit_diagonal)
    overwrite_b = check.flag("overwrite_b", overwrite_b)
    if check.flag("check_finite", check_finite):
        require_finite(a, right)
    stacked(name, a, right)
    if not unit and right.size:
        zeros = np.argwhere(a.diagonal(axis1=-2, axis2=-1) == 0)
        if len(zeros):
            *index, place = zeros[0].tolist()
            raise np.linalg.LinAlgError(
                f"singular matrix: resolution failed at diagonal {place}{which(tuple(index))}"
            )

    def one(t: Array, x: Array, _: tuple[int, ...]) -> None:
        substitute(threads, t, x, lower=lower, trans=trans, unit=unit)

    return solved(name, a, b, right, overwrite_b, one)


def transposition(trans: Any) -> int:
    """Convert SciPy's names of `trans` to 0, 1 or 2."""
    if not isinstance(trans, int | str | np.integer) or trans not in _TRANS:
        raise ValueError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return _TRANS[trans]


def substitute(
    threads: engine.Threads, t: Array, x: Array, *, lower: bool, trans: int = 0, unit: bool = False
) -> None:
    """x <- T^-1 x (trans 0), T^-T x (trans 1) or T^-H x (trans 2), for a matrix x.

    T is the lower or upper triangle of t, as `lower` says.
    """
    conjugate = trans == 2 and x.dtype.kind == "c"
    if conjugate:
        np.conjugate(x, out=x)
    if trans:
        t, lower = t.T, not lower
    if x.size:
        factor.solve_triangular(threads, t, x, lower=lower, unit=unit, poll=engine.Poll())
    if conjugate:
        np.conjugate(x, out=x)


def solved(
    name: str,
    a: Array,
    b: ArrayLike,
    right: Array,
    overwrite_b: bool,
    one: Callable[[Array, Array, tuple[int, ...]], None],
) -> Array:
    """Solve for each matrix of a stack.

    name : name of the matrices in error messages.
    right : the checked right-hand sides of the argument b.
    one : one(matrix, b, index) replaces the right-hand sides b by the solution, in place.
    """
    dtype = np.promote_types(a.dtype, right.dtype)
    stack = stacked(name, a, right)
    if stack:
        x = np.empty((*stack, *right.shape[-2:]), dtype)
        x[...] = right
    else:
        x = solution_memory(a, b, right, dtype, overwrite_b)
    a = np.broadcast_to(a.astype(dtype, copy=False), (*stack, *a.shape[-2:]))
    for index in np.ndindex(stack):
        one(a[index], as_columns(x[index]), index)
    return x
