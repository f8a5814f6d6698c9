"""The pool of this machine's cores, and the functions that use it."""

from __future__ import annotations

import os
import threading
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.progress import Progress
from .._engine import fast
from ..machine.measure import when_measured
from . import lu as lu_run
from . import product as product_run
from .lu import Factors, determinant, right_sides, solution, square
from .operands import Array
from .pool import Pool

_shared: Pool | None = None
_lock = threading.Lock()


def shared_pool() -> Pool:
    global _shared
    with _lock:
        if _shared is None:
            _shared = Pool()
        return _shared


def renew_shared_pool() -> None:
    """The next call makes a new one, by what has been measured meanwhile; runs in progress end on the old one."""
    global _shared
    with _lock:
        _shared = None


when_measured(renew_shared_pool)


def _forget_shared_pool() -> None:
    global _shared, _lock
    _shared, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_shared_pool)


def matmul(
    A: ArrayLike,
    B: ArrayLike,
    out: NDArray[Any] | None = None,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    *,
    method: str = "auto",
    trace: bool = False,
    progress: bool | Progress | None = None,
) -> Any:
    """alpha A B + beta out on all cores that this process may use, by the speeds that `measure` found; see `Pool.matmul`.

    method is one of `Pool.plan`: "columns", "rows", "rectangles", "layers", "cuboids", ... "auto" shares tiles of C,
    or, where C is small and the inner dimension long, layers that are summed in the end.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> hs.matmul(np.eye(2), np.arange(4.0).reshape(2, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    pool = _shared
    if pool is None:
        pool = shared_pool()
    elif (small := fast.product(A, B, out, alpha, beta, method, trace, progress, product_run.SMALL)) is not None:
        return small
    return pool.matmul(A, B, out, alpha, beta, method=method, trace=trace, progress=progress)


def gram(A: ArrayLike, out: NDArray[Any] | None = None, *, of: str = "rows") -> Array:
    """Inner products of the rows of A with each other, A Aᴴ, or of its columns, Aᴴ A: half the work of a product, on all cores.

    Parameters
    ----------
    A : (..., m, n) array_like
        Numbers with any strides; nothing is copied. Other dtypes than float32, float64, complex64 and complex128 go to NumPy.
    out : ndarray, optional
        Where the result goes: its shape and dtype, no memory in common with A.
    of : {"rows", "columns"}

    Returns
    -------
    (..., m, m) or (..., n, n) ndarray
        Exactly symmetric; of complex numbers exactly Hermitian, with a real diagonal.

    Raises
    ------
    ValueError, TypeError
        The message names the argument; nothing has been changed.

    See Also
    --------
    matmul : `matmul(A, A.T)` is recognised and takes half the work, too; of complex numbers it is A Aᵀ.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.gram([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    >>> hs.gram([[1.0, 2.0j]], of="columns").tolist()
    [[(1+0j), 2j], [-2j, (4+0j)]]
    """
    pool = shared_pool()
    return product_run.gram(pool._live(), pool._workers, A, out, of)


def lu_factor(A: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, NDArray[np.int32]]:
    """LU factorisation on all cores that this process may use: (lu, piv) as scipy.linalg.lu_factor; see `Pool.lu_factor`.

    Examples
    --------
    >>> import hetsched as hs
    >>> lu, piv = hs.lu_factor([[1.0, 2.0], [4.0, 6.0]])
    >>> lu.tolist(), piv.tolist()
    ([[4.0, 6.0], [0.25, 0.5]], [1, 1])
    """
    pool = shared_pool()
    return lu_run.run(pool._live(), pool._workers, A, overwrite_a, check_finite)  # type: ignore[no-any-return]


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: Literal[0, 1, 2] = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve A x = b (trans 0), A^T x = b (1) or A^H x = b (2) from the factors of A, on all cores.

    Parameters
    ----------
    lu_and_piv : (lu, piv)
        As `lu_factor` and scipy.linalg.lu_factor return them.
    b : (n,) or (n, k) array_like
    trans : {0, 1, 2}
    overwrite_b : bool
        Put the solution into b where that is possible.
    check_finite : bool

    Returns
    -------
    ndarray
        Of the shape of b. A zero on the diagonal of U gives infinities and NaN.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.lu_solve(hs.lu_factor([[1.0, 2.0], [4.0, 6.0]]), [5.0, 16.0]).tolist()
    [1.0, 2.0]
    """
    return solution(shared_pool()._live(), lu_and_piv, b, trans, overwrite_b, check_finite)


def solve(A: ArrayLike, b: ArrayLike) -> Array:
    """Solve A x = b by LU factorisation with partial pivoting, on all cores.

    Raises
    ------
    ValueError, TypeError
        Also for infinities and NaN.
    numpy.linalg.LinAlgError
        If A is exactly singular.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.solve([[1.0, 2.0], [4.0, 6.0]], [5.0, 16.0]).tolist()
    [1.0, 2.0]
    """
    a = square("A", A)
    right = right_sides(b, len(a))
    x, singular = factored(a, True)
    if singular >= 0:
        raise np.linalg.LinAlgError(f"A is singular: element {singular} of the diagonal of U is zero")
    return solution(shared_pool()._live(), (x.lu, x.piv), right, 0, False, True)


def det(A: ArrayLike) -> Any:
    """Determinant of a square matrix by LU factorisation on all cores: a float64 or complex128.

    Products of its factors may leave their range. Where the value itself does, numpy.errstate says what happens, as with
    numpy.linalg.det.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.det([[1.0, 2.0], [4.0, 6.0]])
    np.float64(-2.0)
    """
    x, _ = factored(square("A", A), True)
    return determinant(x.lu, x.piv)


def factored(a: Array, check_finite: bool) -> tuple[Factors, int]:
    """The factors of a matrix, and which element of the diagonal of U is the first zero, or -1."""
    x, pool = Factors.of(a, False, check_finite), shared_pool()
    return x, x.run(pool._live(), pool._workers)[0]
