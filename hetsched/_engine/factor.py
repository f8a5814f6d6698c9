"""Factorisations and solves of matrices and of stacks of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .run import Poll, Threads

Matrix = NDArray[Any]


def _lapack(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(name, dtype=dtype)  # type: ignore[no-any-return]


def cholesky(threads: Threads, a: Matrix | None, x: Matrix, poll: Poll) -> int:
    """The lower Cholesky factor of the Hermitian matrix whose lower triangle is in a (None: in x), to the lower triangle of x;
    what is above it is not touched. 0, or the order of the leading minor that is not positive definite."""
    n = len(x)
    if n == 0:
        return 0
    c, info = _lapack("potrf", x.dtype)(x if a is None else a, lower=True, clean=False)
    below = np.tri(n, dtype=bool)
    x[below] = c[below]
    return int(info)


def solve_triangular(threads: Threads, t: Matrix, b: Matrix, *, lower: bool, unit: bool, poll: Poll) -> None:
    """b (n, k) <- T^-1 b; zeros on the diagonal give infinities and NaN."""
    if b.size:
        from scipy.linalg import get_blas_funcs

        b[...] = get_blas_funcs("trsm", dtype=b.dtype)(1.0, t, b, lower=lower, diag=unit)


def qr(threads: Threads, a: Matrix | None, x: Matrix, tau: Matrix, poll: Poll) -> None:
    """R and the reflectors of a (None: of x), as LAPACK's geqrf has them, to x (m, n) and tau (min(m, n),)."""
    if x.size:
        x[...], tau[...], *_ = _lapack("geqrf", x.dtype)(x if a is None else a)


def apply_q(threads: Threads, x: Matrix, tau: Matrix, c: Matrix, *, adjoint: bool, poll: Poll) -> None:
    """c <- Q c or Q^H c; x (m, k) has the k reflectors of Q."""
    if c.size and tau.size:
        complex_ = c.dtype.kind == "c"
        multiply = _lapack("unmqr" if complex_ else "ormqr", c.dtype)
        trans = ("C" if complex_ else "T") if adjoint else "N"
        work = int(multiply("L", trans, x, tau, c, -1)[1][0].real)
        c[...] = multiply("L", trans, x, tau, c, max(work, 1))[0]


def tall_qr(
    threads: Threads,
    a: Matrix,
    q: Matrix | None,
    r: Matrix,
    b: Matrix | None,
    c: Matrix | None,
    residuals: Matrix | None,
    poll: Poll,
) -> None:
    """The economic QR of a (m, n), m >= n: q (m, n), r (n, n); c (n, k) = Q^H b; residuals (k,) = ||b - Q Q^H b||^2."""
    n = a.shape[1]
    x, tau = np.empty(a.shape, a.dtype, order="F"), np.zeros(n, a.dtype)
    qr(threads, a, x, tau, poll)
    r[...] = np.triu(x[:n])
    if q is not None:
        q[...] = np.eye(*q.shape)
        apply_q(threads, x, tau, q, adjoint=False, poll=poll)
    if b is not None:
        found = b.copy()
        apply_q(threads, x, tau, found, adjoint=True, poll=poll)
        if c is not None:
            c[...] = found[:n]
        if residuals is not None:
            with np.errstate(all="ignore"):
                residuals[...] = (abs(found[n:]) ** 2).sum(axis=0)


def inverse(threads: Threads, a: Matrix, out: Matrix, poll: Poll) -> int:
    """-1, or the first zero of the diagonal of U."""
    if not a.size:
        return -1
    lu, piv, info = _lapack("getrf", a.dtype)(a)
    if info == 0:
        out[...] = _lapack("getrs", a.dtype)(lu, piv, np.eye(len(a), dtype=a.dtype))[0]
    return int(info) - 1


def _each(shape: tuple[int, ...], one: Callable[[Any], int]) -> NDArray[np.int64]:
    status = np.empty(shape, np.int64)
    for index in np.ndindex(shape):
        status[index] = one(index)
    return status


def stack_solve(threads: Threads, a: Matrix, b: Matrix, out: Matrix, poll: Poll) -> NDArray[np.int64]:
    """Of each item -1, or the first zero of the diagonal of U."""

    def one(index: Any) -> int:
        if not b[index].size:
            return -1
        lu, piv, info = _lapack("getrf", a.dtype)(a[index])
        if info == 0:
            out[index] = _lapack("getrs", a.dtype)(lu, piv, b[index])[0]
        return int(info) - 1

    return _each(a.shape[:-2], one)


def stack_inverse(threads: Threads, a: Matrix, out: Matrix, poll: Poll) -> NDArray[np.int64]:
    """Of each item -1, or the first zero of the diagonal of U."""
    return _each(a.shape[:-2], lambda index: inverse(threads, a[index], out[index], poll))


def stack_cholesky(threads: Threads, a: Matrix, out: Matrix, poll: Poll) -> NDArray[np.int64]:
    """Of each item what `cholesky` says."""
    return _each(a.shape[:-2], lambda index: cholesky(threads, a[index], out[index], poll))


def stack_lu(threads: Threads, a: Matrix, lu: Matrix, piv: NDArray[np.int32], poll: Poll) -> NDArray[np.int64]:
    """Of each item -1, or the first zero of the diagonal of U."""

    def one(index: Any) -> int:
        if not a[index].size:
            return -1
        lu[index], piv[index], info = _lapack("getrf", a.dtype)(a[index])
        return int(info) - 1

    return _each(a.shape[:-2], one)
