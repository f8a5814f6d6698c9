"""LU factorisation on the threads of a pool, and the solution of systems with the factors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._base import check
from .._engine import factor
from .._engine import run as engine
from .._engine import stack as stack_engine
from ..errors import LinAlgWarning
from ..planners.star_lu import StarLuPlan
from . import star_lu
from .arguments import columns, in_place, matrix, require_finite, right_sides, squares, stacked
from .factor import NOTHING, Problem, Wish, perform
from .operands import Array, as_array, element_strides
from .triangular import solved

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .workers import Resources


def run(
    resources: Resources,
    given: ArrayLike,
    overwrite_a: bool,
    check_finite: bool,
    wish: Wish = NOTHING,
) -> Any:
    """Implement `Pool.lu_factor`."""
    x = Factors.of(given, overwrite_a, check_finite)
    if isinstance(wish.owner, StarLuPlan):
        if wish.block is not None:
            raise ValueError(
                f"block must be left out with a plan of plan_star_lu, got {wish.block!r}"
            )
        singular, trace = star_lu.perform(
            resources, wish.owner, x.problem, wish.trace, wish.progress
        )
    else:
        singular, trace = perform(resources, x.problem, wish)
    if singular >= 0:
        warn_singular(singular)
    return (x.lu, x.piv) if trace is None else ((x.lu, x.piv), trace)


class Factors(NamedTuple):
    """Checked arguments of `Pool.lu_factor`, and the memory of its results."""

    a: Array | None  # None: lu holds the matrix
    lu: Array
    piv: NDArray[np.int32]

    @classmethod
    def of(cls, given: ArrayLike, overwrite_a: bool, check_finite: bool) -> Factors:
        overwrite_a = check.flag("overwrite_a", overwrite_a)
        check_finite = check.flag("check_finite", check_finite)
        a = matrix("a", given)
        if check_finite:
            require_finite(a)
        piv = np.empty(min(a.shape), np.int32)
        if in_place(given, a, overwrite_a) and a.flags.f_contiguous:
            return cls(None, a, piv)
        return cls(a, columns(a.shape, a.dtype), piv)

    @property
    def problem(self) -> Problem:
        return Problem("lu", self.a, self.lu, pivots=self.piv)


def warn_singular(column: int, stacklevel: int = 4) -> None:
    """Warn of a zero on the diagonal, like scipy.linalg.lu_factor.

    stacklevel : distance to the user's line. The default is for calls by `run`, if the caller of
    `run` is called on the user's line.
    """
    try:
        from scipy.linalg import LinAlgWarning as kind
    except ImportError:
        kind = LinAlgWarning
    warnings.warn(
        f"Diagonal number {column + 1} is exactly zero. Singular matrix.",
        kind,
        stacklevel=stacklevel,
    )


# ---- systems and stacks --------------------------------------------------------------------------


def stack(threads: engine.Threads, a: Array) -> tuple[Array, NDArray[np.int32], NDArray[np.int64]]:
    """Factor each matrix of a stack; return (lu, piv, singular).

    singular : index of the first zero on the diagonal of U for each matrix, or -1.
    """
    lu, piv = np.empty(a.shape, a.dtype), np.empty(a.shape[:-2] + (min(a.shape[-2:]),), np.int32)
    if not a.size:
        return lu, piv, np.full(a.shape[:-2], -1)
    return lu, piv, stack_engine.lu(threads, a, lu, piv, engine.Poll())


def run_stack(
    threads: engine.Threads, given: ArrayLike, overwrite_a: bool, check_finite: bool
) -> tuple[Array, NDArray[np.int32]]:
    """Implement `lu_factor` for a stack."""
    a = squares("a", given)
    check.flag("overwrite_a", overwrite_a)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    lu, piv, singular = stack(threads, a)
    if (singular >= 0).any():
        warn_singular(int(singular[singular >= 0][0]))
    return lu, piv


def solution(
    threads: engine.Threads,
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: Literal[0, 1, 2],
    overwrite_b: bool,
    check_finite: bool,
) -> Array:
    """Implement `lu_solve`."""
    try:
        given, pivots = lu_and_piv
    except (TypeError, ValueError):
        raise TypeError("lu_and_piv must be a pair of arrays, as lu_factor returns it") from None
    lu = squares("lu", given)
    n = lu.shape[-1]
    piv = np.ascontiguousarray(
        check.integers("piv", as_array("piv", pivots), low=0, high=max(n - 1, 0)), np.int32
    )
    if piv.shape != lu.shape[:-1]:
        raise ValueError(f"piv must have shape {lu.shape[:-1]}, got {piv.shape}")
    overwrite_b = check.flag("overwrite_b", overwrite_b)
    check_finite = check.flag("check_finite", check_finite)
    if isinstance(trans, np.ndarray) or trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, got {trans!r}")
    right = right_sides(b, n)
    if check_finite:
        require_finite(lu, right)
    return solve_with(threads, "lu", lu, piv, b, right, trans, overwrite_b)


def solve_with(
    threads: engine.Threads,
    name: str,
    lu: Array,
    piv: NDArray[np.int32],
    b: ArrayLike,
    right: Array,
    trans: int,
    overwrite_b: bool,
) -> Array:
    """Solve with the factors of a matrix or a stack.

    name : name of the matrices in error messages.
    right : the checked right-hand sides of the argument b.
    """
    pivots = np.broadcast_to(piv, (*stacked(name, lu, right), lu.shape[-1]))

    def one(lu: Array, x: Array, index: tuple[int, ...]) -> None:
        conjugate = trans == 2 and x.dtype.kind == "c"
        if conjugate:
            np.conjugate(x, out=x)
        own = lu if element_strides(lu) else lu.copy()
        factor.lu_solve(
            threads, own, np.ascontiguousarray(pivots[index]), trans != 0, x, engine.Poll()
        )
        if conjugate:
            np.conjugate(x, out=x)

    return solved(name, lu, b, right, overwrite_b, one)
