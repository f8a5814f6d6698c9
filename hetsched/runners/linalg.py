"""Linear algebra on all cores that this process may use, by the names of SciPy and NumPy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import cholesky as cholesky_run
from . import lstsq as lstsq_run
from . import lu as lu_run
from . import qr as qr_run
from . import systems, triangular
from .arguments import squares
from .lstsq import LeastSquares
from .operands import Array, as_array
from .shared import shared_pool

# ---- LU -----------------------------------------------------------------------------------------------------------


def lu_factor(A: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, NDArray[np.int32]]:
    """LU factorisation on all cores that this process may use: (lu, piv) as scipy.linalg.lu_factor; see `Pool.lu_factor`.

    A may be a stack of square matrices, [..., n, n].

    Parameters
    ----------
    A : (m, n) or (..., n, n) array_like
    overwrite_a, check_finite : bool
        As of `Pool.lu_factor`.

    Returns
    -------
    (ndarray, ndarray)
        lu and piv.

    Examples
    --------
    >>> import hetsched as hs
    >>> lu, piv = hs.lu_factor([[1.0, 2.0], [4.0, 6.0]])
    >>> lu.tolist(), piv.tolist()
    ([[4.0, 6.0], [0.25, 0.5]], [1, 1])
    """
    pool, a = shared_pool(), as_array("A", A)
    if a.ndim > 2:
        return lu_run.run_stack(pool._live(), a, overwrite_a, check_finite)
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
    b : (n,) or (..., n, k) array_like
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
    return lu_run.solution(shared_pool()._live(), lu_and_piv, b, trans, overwrite_b, check_finite)


def solve(
    A: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
    transposed: bool = False,
) -> Array:
    """Solve A x = b on all cores, by LU factorisation with partial pivoting or by what the kind of matrix allows.

    Parameters
    ----------
    A : (..., n, n) array_like
    b : (n,) or (..., n, k) array_like
        Stacks of A and b are broadcast as by numpy.linalg.solve: only a b with one dimension is one right side.
    lower : bool
        Which triangle of a symmetric, Hermitian or positive definite matrix is read.
    overwrite_a, overwrite_b : bool
        Their memory may be used, and their content lost.
    check_finite : bool
        Whether infinities and NaN are refused.
    assume_a : {"gen", "pos", "sym", "her", "upper triangular", "lower triangular"}
        "pos", positive definite: by Cholesky factors, half the work. "sym" and "her", symmetric and Hermitian: by LU factors of
        the whole matrix that one triangle stands for. SciPy's long words, "general", "positive definite", "symmetric" and
        "hermitian", do as well. Nothing is guessed, and there is no warning of an ill-conditioned matrix.
    transposed : bool
        Solve A^T x = b.

    Returns
    -------
    ndarray
        Of the shape of b, with the stack of both.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is exactly singular, or not positive definite where it should be.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.solve([[1.0, 2.0], [4.0, 6.0]], [5.0, 16.0]).tolist()
    [1.0, 2.0]
    >>> hs.solve([[4.0, 2.0], [2.0, 5.0]], [6.0, 7.0], assume_a="pos").tolist()
    [1.0, 1.0]
    """
    pool = shared_pool()
    return systems.solution(pool._live(), A, b, lower, overwrite_a, overwrite_b, check_finite, assume_a, transposed)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of a square matrix, or of each matrix of a stack, on all cores.

    Parameters
    ----------
    a : (..., n, n) array_like
    overwrite_a : bool
        Put the inverse into a, if it is a matrix by columns (Fortran order).
    check_finite : bool

    Returns
    -------
    ndarray
        Of the shape of a.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is exactly singular.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.inv([[2.0, 0.0], [1.0, 4.0]]).tolist()
    [[0.5, 0.0], [-0.125, 0.25]]
    """
    return systems.inverse(shared_pool()._live(), a, overwrite_a, check_finite)


def det(A: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Determinant of a square matrix by LU factorisation on all cores: a float64 or complex128; of a stack an array of them.

    Products of its factors may leave their range. Where the value itself does, numpy.errstate says what happens, as with
    numpy.linalg.det.

    Parameters
    ----------
    A : (..., n, n) array_like
    overwrite_a : bool
        Put the factors into A, if that is possible.
    check_finite : bool
        Whether infinities and NaN are refused.

    Returns
    -------
    float64 or complex128, or an array of them

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.det([[1.0, 2.0], [4.0, 6.0]])
    np.float64(-2.0)
    """
    pool = shared_pool()
    return systems.det(pool._live(), A, overwrite_a, check_finite)


def slogdet(a: ArrayLike) -> Any:
    """Sign of the determinant, or its direction in the complex plane, and the logarithm of its size, on all cores.

    Parameters
    ----------
    a : (..., n, n) array_like

    Returns
    -------
    (sign, logabsdet)
        As of numpy.linalg.slogdet; 0 and -inf of a singular matrix.

    Examples
    --------
    >>> import hetsched as hs
    >>> sign, log = hs.slogdet([[1.0, 2.0], [4.0, 6.0]])
    >>> float(sign), round(float(log), 6)
    (-1.0, 0.693147)
    """
    pool = shared_pool()
    return systems.slogdet(pool._live(), squares("a", a))


# ---- Cholesky and triangles ---------------------------------------------------------------------------------------


def cholesky(a: ArrayLike, lower: bool = True, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Cholesky factor of a symmetric or Hermitian positive definite matrix, on all cores: A = L L^H or U^H U.

    As of scipy.linalg.cholesky, but the lower factor is the default, as of numpy.linalg.cholesky.

    Parameters
    ----------
    a : (..., n, n) array_like
        Only one triangle is read, and the real part of the diagonal.
    lower : bool
        The lower triangle is read, and L returned; else the upper one, and U.
    overwrite_a : bool
        Put the factor into a where that is possible.
    check_finite : bool
        Whether infinities and NaN, in either triangle, are refused.

    Returns
    -------
    ndarray
        The factor, with zeros in the other triangle.

    Raises
    ------
    numpy.linalg.LinAlgError
        "k-th leading minor of the array is not positive definite".

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.cholesky([[4.0, 2.0], [2.0, 10.0]]).tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """
    return cholesky_run.factors(shared_pool()._live(), a, lower, overwrite_a, check_finite, clean=True)


def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, bool]:
    """The same for `cho_solve`: (c, lower), where nothing is said of the other triangle of c.

    Parameters
    ----------
    a : (..., n, n) array_like
    lower, overwrite_a, check_finite : bool
        As of `cholesky`.

    Returns
    -------
    (ndarray, bool)
        c, of the shape of a, and lower: a bool for a stack, too, where SciPy has an array of them.

    Raises
    ------
    numpy.linalg.LinAlgError
        "k-th leading minor of the array is not positive definite".

    Examples
    --------
    >>> import hetsched as hs
    >>> c, lower = hs.cho_factor([[4.0, 2.0], [2.0, 10.0]])
    >>> c[0].tolist(), lower
    ([2.0, 1.0], False)
    """
    return cholesky_run.factors(shared_pool()._live(), a, lower, overwrite_a, check_finite, clean=False), bool(lower)


def cho_solve(c_and_lower: tuple[ArrayLike, Any], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """Solve A x = b from the Cholesky factor of A, on all cores.

    Parameters
    ----------
    c_and_lower : (c, lower)
        As `cho_factor` and scipy.linalg.cho_factor return them, of one matrix or of a stack: `lower` is a flag, which may be an
        array of no dimension (SciPy 1.18), or an array with the shape of the stack (SciPy's stacks).
    b : (n,) or (..., n, k) array_like
    overwrite_b : bool
        Put the solution into b where that is possible.
    check_finite : bool

    Returns
    -------
    ndarray
        Of the shape of b.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.cho_solve(hs.cho_factor([[4.0, 2.0], [2.0, 10.0]]), [6.0, 12.0]).tolist()
    [1.0, 1.0]
    """
    return cholesky_run.solution(shared_pool()._live(), c_and_lower, b, overwrite_b, check_finite)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: Literal[0, 1, 2, "N", "T", "C"] = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve A x = b (trans 0 or "N"), A^T x = b (1, "T") or A^H x = b (2, "C") with a triangular A, on all cores.

    Parameters
    ----------
    a : (..., n, n) array_like
    b : (n,) or (..., n, k) array_like
    trans : {0, 1, 2, "N", "T", "C"}
    lower : bool
        Which triangle of a is read.
    unit_diagonal : bool
        The diagonal is taken for ones, and not read.
    overwrite_b : bool
        Put the solution into b where that is possible.
    check_finite : bool
        Whether infinities and NaN, in either triangle, are refused.

    Returns
    -------
    ndarray
        Of the shape of b.

    Raises
    ------
    numpy.linalg.LinAlgError
        "singular matrix: resolution failed at diagonal k", the first one that is zero.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0], lower=True).tolist()
    [1.0, 2.0]
    """
    return triangular.solution(shared_pool()._live(), a, b, trans, lower, unit_diagonal, overwrite_b, check_finite)


# ---- QR and least squares -----------------------------------------------------------------------------------------


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    *,
    mode: str = "economic",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """QR factorisation on all cores, as scipy.linalg.qr returns it; the default is the economic one, as of numpy.linalg.qr.

    Parameters
    ----------
    a : (..., m, n) array_like
    overwrite_a : bool
        The memory of a may be used, and its content lost.
    mode : {"full", "r", "economic", "raw"}
        "full": Q (m, m) and R (m, n). "economic": Q (m, k) and R (k, n), where k is the least of m and n. "r": (R,). "raw":
        ((reflectors, tau), R), as of LAPACK's geqrf.
    pivoting : bool
        A[:, P] = Q R with a falling diagonal of R; P comes last. That is SciPy's, which must be installed.
    check_finite : bool

    Returns
    -------
    tuple
        The signs of the diagonal of R are not determined.

    Raises
    ------
    ImportError
        Where pivoting needs SciPy.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> Q, R = hs.qr([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]])
    >>> Q.shape, np.round(abs(R), 12).tolist()
    ((3, 2), [[5.0, 2.2], [0.0, 2.039607805437]])
    """
    return qr_run.decomposition(shared_pool()._live(), a, overwrite_a, mode, pivoting, check_finite)


def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> LeastSquares:
    """Least squares on all cores: x with the least ||b - a x||, of several the shortest.

    Parameters
    ----------
    a : (..., m, n) array_like
    b : (m,) or (..., m, k) array_like
    cond : float, optional
        Singular values up to this times the largest one count as zero. By default the precision of the dtype times the larger
        of m and n, as of numpy.linalg.lstsq: SciPy's default, without that factor, takes rounding for rank. A negative one
        stands for the precision, as of NumPy and of SciPy before 1.18, which refuses it.
    overwrite_a, overwrite_b : bool
        Their memory may be used, and their content lost.
    check_finite : bool

    Returns
    -------
    LeastSquares
        (x, residues, rank, s) as of scipy.linalg.lstsq, and `method`: "qr" where the matrix has been shown to be well
        conditioned, by a bound that its singular values keep; s is None then. Otherwise "svd". Where the rank is not full,
        SciPy's residues depend on its version; see `LeastSquares` for those here.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the singular values cannot be found.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> found = hs.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    >>> np.round(found.x, 12).tolist(), found.rank, found.method
    ([1.0, 2.0], 2, 'qr')
    """
    return lstsq_run.solution(shared_pool()._live(), a, b, cond, overwrite_a, overwrite_b, check_finite)
