"""Systems of equations, inverses and determinants of square matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._engine import factor
from .._engine import run as engine
from .._engine import stack as stack_engine
from . import cholesky, lu, triangular
from .arguments import columns, in_place, require_finite, right_sides, squares, stacked, which
from .determinants import determinant, sign_and_log

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .operands import Array

#: SciPy's name for a kind of matrix -> the name used in this file.
KINDS = {
    "gen": "general", "general": "general", "pos": "positive", "positive definite": "positive",
    "sym": "symmetric", "symmetric": "symmetric", "her": "hermitian", "hermitian": "hermitian",
    "upper triangular": "upper", "lower triangular": "lower", "diagonal": "diagonal",
    "tridiagonal": "tridiagonal", "banded": "general",
}  # fmt: skip
_SLOGDET_RESULT: Any = type(np.linalg.slogdet(np.eye(1)))


def solution(
    threads: engine.Threads,
    given: ArrayLike,
    b: ArrayLike,
    lower: bool,
    overwrite_a: bool,
    overwrite_b: bool,
    check_finite: bool,
    assume_a: str | None,
    transposed: bool,
) -> Array:
    """Implement `solve`."""
    a = squares("a", given)
    right = right_sides(b, a.shape[-1])
    stacked("a", a, right)
    kind = KINDS[check.choice("assume_a", "general" if assume_a is None else assume_a, KINDS)]
    lower, transposed = check.flag("lower", lower), check.flag("transposed", transposed)
    overwrite_a = check.flag("overwrite_a", overwrite_a)
    overwrite_b = check.flag("overwrite_b", overwrite_b)
    if check.flag("check_finite", check_finite):
        require_finite(a, right)
    # a real matrix stays real, even with complex right-hand sides
    dtype = np.promote_types(a.dtype, right.real.dtype)
    fresh, a = a.dtype != dtype, a.astype(dtype, copy=False)
    mine = fresh or in_place(given, a, overwrite_a, right)
    if kind in ("diagonal", "tridiagonal"):
        a, mine = _band(a, 0 if kind == "diagonal" else 1), True
        kind = "upper" if kind == "diagonal" else "general"
    if kind in ("upper", "lower"):
        trans, up = int(transposed), kind == "upper"
        return triangular.solution(threads, a, b, trans, not up, False, overwrite_b, False, "a")
    if kind == "positive":
        # The transposed matrix is the conjugate one. Its other triangle holds the same elements.
        flipped, below = (a.swapaxes(-1, -2), not lower) if transposed else (a, lower)
        c = cholesky.factors(threads, flipped, below, mine, False, clean=False)
        return cholesky.solve_with(threads, "a", c, np.asarray(below), b, right, overwrite_b)
    if kind in ("symmetric", "hermitian"):
        a, mine = mirrored(a, lower, kind == "hermitian"), True
    if a.ndim == right.ndim == 2 or a.ndim == 2 and right.ndim == 1:
        factors, singular = factored(threads, a, mine)
        if singular >= 0:
            raise np.linalg.LinAlgError(singular_words("a", (), singular))
        return lu.solve_with(
            threads, "a", factors.lu, factors.piv, b, right, int(transposed), overwrite_b
        )
    x, zeros = solve_stack(threads, a.swapaxes(-1, -2) if transposed else a, right)
    require_regular("a", zeros)
    return x


def factored(threads: engine.Threads, a: Array, overwrite: bool = False) -> tuple[lu.Factors, int]:
    """The LU factors of a matrix, and the index of the first zero on the diagonal of U, or -1."""
    x = lu.Factors.of(a, overwrite, False)
    return x, x.problem.run(threads)[0]


def solve_stack(threads: engine.Threads, a: Array, right: Array) -> tuple[Array, NDArray[np.int64]]:
    """Solve each system of a stack.

    Returns the solutions and, for each matrix, the index of the first zero on the diagonal of U,
    or -1.
    """
    dtype = np.promote_types(a.dtype, right.dtype)
    stack = stacked("a", a, right)
    sides = right[:, None] if right.ndim == 1 else right
    sides = np.broadcast_to(sides.astype(dtype, copy=False), (*stack, *sides.shape[-2:]))
    x, singular = np.empty(sides.shape, dtype), np.full(stack, -1)
    if a.shape[-1] and 0 not in stack:
        whole = np.broadcast_to(a.astype(dtype, copy=False), (*stack, *a.shape[-2:]))
        singular = stack_engine.solve(threads, whole, sides, x, engine.Poll())
    return (x[..., 0] if right.ndim == 1 else x), singular


def singular_words(name: str, index: tuple[int, ...], place: int) -> str:
    return f"{name} is singular: element {place} of the diagonal of U is zero{which(index)}"


def require_regular(name: str, singular: NDArray[np.int64]) -> None:
    """Raise LinAlgError for the first singular matrix of a stack.

    singular : for each matrix, the index of its first zero pivot, or -1.
    """
    if (singular >= 0).any():
        index = tuple(np.argwhere(singular >= 0)[0].tolist())
        raise np.linalg.LinAlgError(singular_words(name, index, int(singular[index])))


def _band(a: Array, width: int) -> Array:
    """The matrices with zeros outside so many diagonals on either side of the main one."""
    return np.tril(np.triu(a, -width), width)


def mirrored(a: Array, lower: bool, hermitian: bool) -> Array:
    """Full symmetric or Hermitian matrices from one triangle of each.

    A single matrix is stored in column-major order.
    """
    full = columns(a.shape, a.dtype) if a.ndim == 2 else np.empty(a.shape, a.dtype)
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = a.diagonal(axis1=-2, axis2=-1)
    np.add(half, half.swapaxes(-1, -2).conj() if hermitian else half.swapaxes(-1, -2), out=full)
    place = np.arange(a.shape[-1])
    full[..., place, place] = diagonal.real if hermitian else diagonal
    return full


# ---- inverses and determinants -------------------------------------------------------------------


def inverse(
    threads: engine.Threads, given: ArrayLike, overwrite_a: bool, check_finite: bool
) -> Array:
    """Implement `inv`."""
    a = squares("a", given)
    overwrite_a = check.flag("overwrite_a", overwrite_a)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    out, singular = run_inverse(
        threads, a, in_place(given, a, overwrite_a) and a.flags.f_contiguous
    )
    require_regular("a", singular)
    return out


def run_inverse(
    threads: engine.Threads, a: Array, overwrite: bool = False
) -> tuple[Array, NDArray[np.int64]]:
    """The inverses and, for each matrix, the index of the first zero on the diagonal of U, or
    -1."""
    if a.ndim == 2:
        out = columns(a.shape, a.dtype)
        singular = np.asarray(
            factor.inverse(threads, a, out, engine.Poll()) if a.size else -1, np.int64
        )
        if overwrite and singular < 0:
            a[...] = out
            return a, singular
        return out, singular
    out = np.empty(a.shape, a.dtype)
    if not a.size:
        return out, np.full(a.shape[:-2], -1)
    return out, stack_engine.inverse(threads, a, out, engine.Poll())


def lu_of(
    threads: engine.Threads, a: Array, overwrite: bool = False
) -> tuple[Array, NDArray[np.int32]]:
    """The LU factors of a matrix or of a stack. The matrices may be singular."""
    if a.ndim == 2:
        x, _ = factored(threads, a, overwrite)
        return x.lu, x.piv
    return lu.stack(threads, a)[:2]


def det(threads: engine.Threads, given: ArrayLike, overwrite_a: bool, check_finite: bool) -> Any:
    """Implement `det`."""
    a = squares("a", given)
    overwrite_a = check.flag("overwrite_a", overwrite_a)
    finite = check.flag("check_finite", check_finite)
    if finite:
        require_finite(a)
    else:
        finite = bool(np.isfinite(a).all())
    factors = lu_of(threads, a, in_place(given, a, overwrite_a))
    with np.errstate(**({} if finite else {"over": "ignore", "under": "ignore"})):  # type: ignore[arg-type]
        return determinant(*factors)


def slogdet(threads: engine.Threads, a: Array) -> Any:
    """Implement `slogdet` for matrices that have been checked.

    The result has the type of numpy.linalg.slogdet's result.
    """
    sign, log = sign_and_log(*lu_of(threads, a))
    return _SLOGDET_RESULT(sign.astype(a.dtype), log.astype(a.real.dtype))
