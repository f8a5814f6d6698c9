"""Cholesky factorisation, and the solution of systems with the factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._engine import factor
from .._engine import run as engine
from .._engine import stack as stack_engine
from .arguments import (
    columns,
    in_place,
    require_finite,
    right_sides,
    square,
    squares,
    stacked,
    which,
)
from .factor import Problem, perform
from .triangular import solved, substitute

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ..trace import Trace
    from .factor import Wish
    from .operands import Array
    from .workers import Resources


def factors(
    threads: engine.Threads,
    given: ArrayLike,
    lower: bool,
    overwrite_a: bool,
    check_finite: bool,
    *,
    clean: bool,
    name: str = "a",
) -> Array:
    """Implement `cholesky` and, without `clean`, `cho_factor`.

    With `clean` the other triangle of the result is set to zero. Without it, a result in place
    keeps the elements of a there, and any other result has zeros.
    """
    a = squares(name, given)
    lower, overwrite_a = check.flag("lower", lower), check.flag("overwrite_a", overwrite_a)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    if a.ndim == 2 and in_place(given, a, overwrite_a):
        c, minors = a, run(threads, None, a, lower, clean)
    else:
        c = columns(a.shape, a.dtype) if a.ndim == 2 else np.zeros(a.shape, a.dtype)
        minors = run(threads, a, c, lower, True)
    if minors.any():
        index = tuple(np.argwhere(minors)[0].tolist())
        raise np.linalg.LinAlgError(
            f"{minors[index]}-th leading minor of the array is not positive definite{which(index)}"
        )
    return c


def by_plan(
    resources: Resources,
    given: ArrayLike,
    lower: bool,
    overwrite_a: bool,
    check_finite: bool,
    wish: Wish,
) -> tuple[Array, Trace | None]:
    """Implement `Pool.cholesky`."""
    a = square("a", given)
    lower, overwrite_a = check.flag("lower", lower), check.flag("overwrite_a", overwrite_a)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    mine = in_place(given, a, overwrite_a)
    c = a if mine else columns(a.shape, a.dtype)
    turned = (None if mine else a, c) if lower else (None if mine else a.T, c.T)
    failed, trace = perform(resources, Problem("cholesky", *turned, clear=True), wish)
    if failed >= 0:
        raise np.linalg.LinAlgError(
            f"{failed + 1}-th leading minor of the array is not positive definite"
        )
    return c, trace


def run(
    threads: engine.Threads, a: Array | None, c: Array, lower: bool, clear: bool
) -> NDArray[np.int64]:
    """Write the factors of a to one triangle of c. If a is None, factor c in place.

    Returns one number for each matrix: 0, or the order of the first leading minor that is not
    positive definite.

    The upper factor is computed as a lower one: the upper triangle of A is the lower triangle of
    A^T, which is the conjugate of A, and U = L^T.
    """
    if not lower:
        a, c = None if a is None else a.swapaxes(-1, -2), c.swapaxes(-1, -2)
    if c.ndim == 2:
        return np.asarray(
            factor.cholesky(threads, a, c, engine.Poll(), clear=clear) if c.size else 0, np.int64
        )
    if not c.size:
        return np.zeros(c.shape[:-2], np.int64)
    return stack_engine.cholesky(threads, c if a is None else a, c, engine.Poll())


def solution(
    threads: engine.Threads,
    c_and_lower: tuple[ArrayLike, Any],
    b: ArrayLike,
    overwrite_b: bool,
    check_finite: bool,
) -> Array:
    """Implement `cho_solve`."""
    try:
        given, lower = c_and_lower
    except (TypeError, ValueError):
        raise TypeError(
            "c_and_lower must be a pair (c, lower), as returned by cho_factor"
        ) from None
    c = squares("c", given)
    lowers = triangles(lower, c.shape[:-2])
    right = right_sides(b, c.shape[-1])
    overwrite_b = check.flag("overwrite_b", overwrite_b)
    if check.flag("check_finite", check_finite):
        require_finite(c, right)
    return solve_with(threads, "c", c, lowers, b, right, overwrite_b)


def triangles(lower: Any, stack: tuple[int, ...]) -> NDArray[np.bool_]:
    """For each matrix of a stack, whether the factor is the lower triangle.

    `lower` is one flag for all matrices, or an array of flags as SciPy returns it.
    """
    if not isinstance(lower, np.ndarray) or lower.ndim == 0:
        return np.full(stack, check.flag("lower", lower))
    if lower.dtype.kind not in "biuf":
        raise TypeError(
            "lower must be True, False or an array of booleans, got an array of dtype"
            f" {lower.dtype}"
        )
    if lower.shape != stack:
        raise ValueError(
            f"lower must be True, False or an array of booleans of shape {stack}, got shape"
            f" {lower.shape}"
        )
    return lower.astype(bool)


def solve_with(
    threads: engine.Threads,
    name: str,
    c: Array,
    lowers: NDArray[np.bool_],
    b: ArrayLike,
    right: Array,
    overwrite_b: bool,
) -> Array:
    """Solve C C^H x = b for matrices with `lowers` True, and C^H C x = b for the other ones."""
    each = np.broadcast_to(lowers, stacked(name, c, right))

    def one(t: Array, x: Array, index: tuple[int, ...]) -> None:
        lower = bool(each[index])
        for trans in (0, 2) if lower else (2, 0):
            substitute(threads, t, x, lower=lower, trans=trans)

    return solved(name, c, b, right, overwrite_b, one)
