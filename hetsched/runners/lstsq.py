"""Least squares by QR factorisation.

For an ill-conditioned matrix, the singular value decomposition of R is used as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._engine import run as engine
from .._engine import spectral as engine_spectral
from .._engine import tall, tuning
from . import qr, spectral
from .arguments import columns, in_place, matrices, require_finite, right_sides, stacked
from .triangular import substitute

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .operands import Array

#: Columns of the inverse of R that are computed together.
_TOGETHER = 128


class _Four(NamedTuple):
    x: Any
    residues: Any
    rank: Any
    s: Any


class LeastSquares(_Four):
    """Result of `lstsq`: a tuple (x, residues, rank, s) with an attribute `method`.

    Attributes
    ----------
    x : (n,) or (n, k) ndarray
        The solutions. If a system has several, the one of minimal length.
    residues : (k,) ndarray or float
        Squared lengths of b - a x, real, if there are more equations than unknowns and the rank is
        full. Otherwise an array of shape (0,), as in NumPy and in SciPy before 1.18.

        For a stack with more equations than unknowns the shape is (..., k), or (...,) for one right
        side, with NaN for matrices without full rank, as in SciPy 1.18. For other stacks it is
        (..., 0).
    rank : int
        For a stack, an array of ranks.
    s : (min(m, n),) ndarray or None
        Singular values in descending order; None if they were not needed. For a stack the shape is
        (..., min(m, n)), and s is never None.
    method : {"qr", "svd"}
        "qr": the matrix is proven to be well conditioned, and R x = Q^H b was solved. "svd": it may
        be ill-conditioned, and the singular value decomposition of R was used. For a stack, an
        array of these strings.
    """

    method: Any

    def __new__(cls, x: Any, residues: Any, rank: Any, s: Any, method: Any) -> LeastSquares:
        self = super().__new__(cls, x, residues, rank, s)
        self.method = method
        return self

    def _replace(self, **changed: Any) -> LeastSquares:
        fields = {**self._asdict(), "method": self.method, **changed}
        return LeastSquares(**fields)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.method)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, method={self.method!r})"


def solution(
    threads: engine.Threads,
    given: ArrayLike,
    b: ArrayLike,
    cond: float | None,
    overwrite_a: bool,
    overwrite_b: bool,
    check_finite: bool,
) -> LeastSquares:
    """Implement `lstsq`."""
    a = matrices("a", given)
    right = right_sides(b, a.shape[-2])
    stack = stacked("a", a, right)
    dtype = np.promote_types(a.dtype, right.dtype)
    cut = cutoff(a.shape, dtype, None if cond is None else check.number("cond", cond))
    overwrite_a = check.flag("overwrite_a", overwrite_a)
    overwrite_b = check.flag("overwrite_b", overwrite_b)
    if check.flag("check_finite", check_finite):
        require_finite(a, right)
    memory = (
        not stack and a.dtype == dtype and in_place(given, a, overwrite_a, right),
        not stack and right.dtype == dtype and in_place(b, right, overwrite_b, a),
    )
    a = (
        np.broadcast_to(a.astype(dtype, copy=False), (*stack, *a.shape[-2:]))
        if stack
        else a.astype(dtype, copy=False)
    )
    sides = right[:, None] if right.ndim == 1 else right
    sides = sides.astype(dtype, copy=False)
    if not stack:
        found = least_squares(threads, a, sides, cut, overwrite=memory)
        return _as_given(found, right.ndim == 1)
    sides = np.broadcast_to(sides, (*stack, *sides.shape[-2:]))
    each = [
        least_squares(threads, a[index], sides[index], cut, values=True)
        for index in np.ndindex(stack)
    ]
    m, n, k = *a.shape[-2:], sides.shape[-1]
    return _stacked(
        each or [_none((m, n), k, dtype)], stack, right.ndim == 1, k if m > n or n == 0 else 0
    )


def cutoff(shape: tuple[int, ...], dtype: np.dtype[Any], cond: float | None) -> float:
    """Singular values up to this factor times the largest one count as zero.

    The factor is `cond` if it is given, and eps if `cond` is outside (0, 1), as in LAPACK.
    """
    eps = float(np.finfo(dtype).eps)
    if cond is None:
        return eps * max(shape[-2:])
    return cond if 0 < cond < 1 else eps


def _as_given(found: LeastSquares, one: bool) -> LeastSquares:
    if not one:
        return found
    x, residues, rank, s = found
    return LeastSquares(
        x[..., 0], residues[0] if len(residues) else residues, rank, s, found.method
    )


def _none(shape: tuple[int, ...], k: int, dtype: np.dtype[Any]) -> LeastSquares:
    real = np.empty(0, dtype).real.dtype
    return LeastSquares(
        np.zeros((shape[1], k), dtype), np.empty(0, real), 0, np.zeros(min(shape), real), "qr"
    )


def _stacked(
    each: list[LeastSquares], stack: tuple[int, ...], one: bool, sides: int
) -> LeastSquares:
    """Combine the results of the matrices of a stack.

    Each matrix gets `sides` residues, which are NaN if it has none, so that their shape does not
    depend on the ranks.
    """
    count = int(np.prod(stack))

    def together(values: Sequence[Any]) -> Any:
        array = np.stack(values)[:count]
        return array.reshape(*stack, *array.shape[1:])

    x, residues, rank, s = zip(*each, strict=True)
    residues = tuple(r if len(r) == sides else np.full(sides, np.nan, r.dtype) for r in residues)
    x, residues = together(x), together(residues)
    if one:
        x, residues = x[..., 0], residues[..., 0] if residues.shape[-1] else residues
    return LeastSquares(
        x, residues, together(rank), together(s), together([found.method for found in each])
    )


def least_squares(
    threads: engine.Threads,
    a: Array,
    b: Array,
    cut: float,
    *,
    values: bool = False,
    overwrite: tuple[bool, bool] = (False, False),
) -> LeastSquares:
    """Least squares for one matrix (m, n) and right-hand sides (m, k) of the same dtype.

    values : whether to compute the singular values in any case.
    """
    (m, n), k = a.shape, b.shape[1]
    if m == 0 or n == 0:
        real = a.real.dtype
        residues = (abs(b) ** 2).sum(axis=0, dtype=real) if n == 0 else np.empty(0, real)
        return LeastSquares(np.zeros((n, k), a.dtype), residues, 0, np.empty(0, real), "qr")
    if m < n:
        return _shortest(threads, a, b, cut, values)
    r, c, residues = _projected(threads, a, b, overwrite)
    x, rank, s, method = _solved(threads, r, c, cut, max(m, n), values, adjoint=False)
    return LeastSquares(x, residues if m > n and rank == n else residues[:0], rank, s, method)


def _projected(
    threads: engine.Threads, a: Array, b: Array, overwrite: tuple[bool, bool]
) -> tuple[Array, Array, NDArray[np.floating[Any]]]:
    """R, the first n rows of Q^H b, and the sums of squares of the other rows."""
    (m, n), k = a.shape, b.shape[1]
    if qr.is_tall(m, n):
        r, c = columns((n, n), a.dtype, zero=True), columns((n, k), a.dtype)
        residues = np.zeros(k)
        if k:
            tall.tall_qr(threads, a, None, r, b, c, residues, engine.Poll())
        else:
            tall.tall_qr(threads, a, None, r, None, None, None, engine.Poll())
        return r, c, residues.astype(a.real.dtype)
    x, tau = qr.reflectors(threads, a, a if overwrite[0] else None)
    c = b if overwrite[1] else np.array(b, order="F")
    qr.apply(threads, x, tau, c, adjoint=True)
    with np.errstate(all="ignore"):
        return np.triu(x[:n]), np.array(c[:n], order="F"), (abs(c[n:]) ** 2).sum(axis=0)


def _shortest(
    threads: engine.Threads, a: Array, b: Array, cut: float, values: bool
) -> LeastSquares:
    """The shortest solution for fewer equations than unknowns: a^H = Q R, x = Q (R^H)^-1 b."""
    (m, n), k = a.shape, b.shape[1]
    adjoint = a.T if a.dtype.kind == "f" else a.conj().T
    tall = qr.is_tall(n, m)
    if tall:
        q, r = qr.parts(threads, adjoint, "economic")
    else:
        q, tau = qr.reflectors(threads, adjoint)
        r = np.triu(q[:m])
    y, rank, s, method = _solved(threads, r, np.array(b, order="F"), cut, n, values, adjoint=True)
    x = columns((n, k), a.dtype, zero=True)
    if tall:
        engine.gemm(threads, q, y, x, 1.0, 0.0, None, engine.Poll())
    else:
        x[:m] = y
        qr.apply(threads, q, tau, x, adjoint=False)
    return LeastSquares(x, np.empty(0, a.real.dtype), rank, s, method)


def _solved(
    threads: engine.Threads,
    r: Array,
    c: Array,
    cut: float,
    longest: int,
    values: bool,
    *,
    adjoint: bool,
) -> tuple[Array, int, Any, str]:
    """Return the shortest x that minimises ||R x - c||, rank, singular values and method.

    With `adjoint`, R^H takes the place of R. The singular values are None if they were not needed.
    If the condition number is near 1 / eps, the smallest singular values are rounding errors. Then
    no system with R itself is solved.
    """
    n = len(r)
    s: Any = None
    limit = max(cut, float(np.finfo(r.dtype).eps) * longest)
    if not np.isfinite(r).all():  # NaN and infinities of the arguments propagate
        well, s = True, np.full(n, np.nan, r.real.dtype) if values else None
    elif _ill_conditioned(r, limit):
        well = False
    elif values:
        s = spectral.decomposed(threads, r, False, False)
        well = bool(s[-1] > limit * s[0])
    else:
        well = _well_conditioned(threads, r, limit)
    if well:
        substitute(threads, r, c, lower=False, trans=2 if adjoint else 0)
        return c, n, s, "qr"
    x, rank, s = _shortest_of_square(threads, r.conj().T if adjoint else r, c, cut)
    return x, rank, s, "svd"


def _shortest_of_square(
    threads: engine.Threads, a: Array, b: Array, cut: float
) -> tuple[Array, int, Any]:
    """The shortest x that minimises ||a x - b|| for a square matrix; rank and singular values."""
    n, k = len(a), b.shape[1]
    if n >= tuning.SPECTRAL_ORDER and k <= n:
        x, s = np.array(b, order="F"), np.empty(n, a.real.dtype)
        rank = engine_spectral.least_squares(threads, a, s, x, cut, engine.Poll())
        if rank is not None:
            return x, rank, s
    u, s, vh = spectral.decomposed(threads, a, False, True)
    rank = int(np.count_nonzero(s > cut * s[0]))
    with np.errstate(all="ignore"):
        y = (u[:, :rank].conj().T @ b) / s[:rank, None]
        return vh[:rank].conj().T @ y, rank, s


def _ill_conditioned(r: Array, limit: float) -> bool:
    """Whether the smallest singular value of R is proven to be at most `limit` times the largest.

    The smallest one is at most the smallest element of the diagonal, whose inverse is an element of
    R^-1, and the largest one at least the largest element.
    """
    return bool(abs(r.diagonal()).min() <= limit * abs(r).max())


def _well_conditioned(threads: engine.Threads, r: Array, limit: float) -> bool:
    """Whether the smallest singular value of R is proven to exceed `limit` times the largest.

    Their ratio is at least 1 / (||R|| ||R^-1||) in the Frobenius norm (Golub and Van Loan, 2.3.2).
    This takes n^3 / 3 multiply-adds, because R^-1 is triangular.
    """
    n, largest = len(r), abs(r).max()
    if largest == 0 or not r.diagonal().all():
        return False
    with np.errstate(all="ignore"):
        r = r / largest
        total = 0.0
        for start in range(0, n, _TOGETHER):
            stop = min(n, start + _TOGETHER)
            inverse = columns((stop, stop - start), r.dtype, zero=True)
            np.fill_diagonal(inverse[start:], 1)
            substitute(threads, r[:stop, :stop], inverse, lower=False)
            total = np.hypot(total, np.linalg.norm(inverse))
        return bool(limit * float(np.linalg.norm(r)) * float(total) < 1)
