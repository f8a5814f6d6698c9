"""Linear algebra on all cores that this process may use, with the names of SciPy and NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check
from . import cholesky as cholesky_run
from . import lstsq as lstsq_run
from . import lu as lu_run
from . import qr as qr_run
from . import spectral, systems, triangular
from .arguments import squares
from .lstsq import LeastSquares
from .operands import Array, as_array
from .shared import shared_resources

# ---- LU ------------------------------------------------------------------------------------------


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, NDArray[np.int32]]:
    """LU factorisation on all cores that this process may use.

    The result is that of scipy.linalg.lu_factor. `a` may be a stack of square matrices.

    Parameters
    ----------
    a : (m, n) or (..., n, n) array_like
    overwrite_a, check_finite : bool
        See `Pool.lu_factor`.

    Returns
    -------
    (ndarray, ndarray)
        (lu, piv), like scipy.linalg.lu_factor.

    Examples
    --------
    >>> import hetsched as hs
    >>> lu, piv = hs.lu_factor([[1.0, 2.0], [4.0, 6.0]])
    >>> lu.tolist(), piv.tolist()
    ([[4.0, 6.0], [0.25, 0.5]], [1, 1])
    """
    resources, array = shared_resources(), as_array("a", a)
    if array.ndim > 2:
        return lu_run.run_stack(resources.threads, array, overwrite_a, check_finite)
    return lu_run.run(resources, a, overwrite_a, check_finite)  # type: ignore[no-any-return]


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
        Factors and pivots, as returned by `lu_factor` or scipy.linalg.lu_factor.
    b : (n,) or (..., n, k) array_like
    trans : {0, 1, 2}
    overwrite_b : bool
        Store the solution in the memory of b if possible.
    check_finite : bool

    Returns
    -------
    ndarray
        The solution, with the shape of b. A zero on the diagonal of U gives infinities and NaN.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.lu_solve(hs.lu_factor([[1.0, 2.0], [4.0, 6.0]]), [5.0, 16.0]).tolist()
    [1.0, 2.0]
    """
    return lu_run.solution(
        shared_resources().threads, lu_and_piv, b, trans, overwrite_b, check_finite
    )


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Array:
    """Solve a x = b on all cores.

    The method is LU factorisation with partial pivoting, or the one that `assume_a` selects.

    Parameters
    ----------
    a : (..., n, n) array_like
    b : (n,) or (..., n, k) array_like
        Stacks of a and b are broadcast like in numpy.linalg.solve: b is a single right-hand side
        only if it has one dimension.
    lower : bool
        Whether the lower triangle of a symmetric, Hermitian or positive definite matrix is
        read, instead of the upper one.
    overwrite_a, overwrite_b : bool
        Whether the memory of a and b may be used. Their contents are lost then.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN.
    assume_a : str, optional
        The kind of matrix, with SciPy's names:

        - None, "general" or "gen": LU factorisation. SciPy looks for a structure first; here none
          is detected, and there is no warning for an ill-conditioned matrix.
        - "positive definite", "pos": Cholesky factorisation, which is half the work.
        - "symmetric", "sym", and "hermitian", "her": one triangle is read; LU factorisation of the
          full matrix.
        - "upper triangular", "lower triangular": one triangle is read.
        - "diagonal", "tridiagonal": one diagonal, or three, are read.
        - "banded": as None. For narrow bands scipy.linalg.solve_banded is faster.
    transposed : bool
        Whether to solve a^T x = b.

    Returns
    -------
    ndarray
        The solution, with the shape of b after broadcasting the stacks of a and b.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is exactly singular, or if assume_a is "pos" and a is not positive definite.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.solve([[1.0, 2.0], [4.0, 6.0]], [5.0, 16.0]).tolist()
    [1.0, 2.0]
    >>> hs.solve([[4.0, 2.0], [2.0, 5.0]], [6.0, 7.0], assume_a="pos").tolist()
    [1.0, 1.0]
    """
    threads = shared_resources().threads
    return systems.solution(
        threads, a, b, lower, overwrite_a, overwrite_b, check_finite, assume_a, transposed
    )


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of a square matrix, or of each matrix of a stack, on all cores.

    Parameters
    ----------
    a : (..., n, n) array_like
    overwrite_a : bool
        Store the inverse in the memory of a, if a is a single matrix in column-major (Fortran)
        order.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN.

    Returns
    -------
    ndarray
        The inverse, with the shape of a.

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
    return systems.inverse(shared_resources().threads, a, overwrite_a, check_finite)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Determinant of a square matrix, or of each matrix of a stack, by LU on all cores.

    Intermediate products may overflow or underflow without harm. If the determinant itself does,
    numpy.errstate decides what happens, as for numpy.linalg.det.

    Parameters
    ----------
    a : (..., n, n) array_like
    overwrite_a : bool
        Store the factors in the memory of a if possible.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN.

    Returns
    -------
    float64 or complex128
        For a stack, an array of this dtype.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.det([[1.0, 2.0], [4.0, 6.0]])
    np.float64(-2.0)
    """
    threads = shared_resources().threads
    return systems.det(threads, a, overwrite_a, check_finite)


def slogdet(a: ArrayLike) -> Any:
    """Sign and logarithm of the absolute value of the determinant, on all cores.

    The sign of a complex determinant is the determinant divided by its absolute value.

    Parameters
    ----------
    a : (..., n, n) array_like

    Returns
    -------
    (sign, logabsdet)
        Like numpy.linalg.slogdet; 0 and -inf for a singular matrix.

    Examples
    --------
    >>> import hetsched as hs
    >>> sign, log = hs.slogdet([[1.0, 2.0], [4.0, 6.0]])
    >>> float(sign), round(float(log), 6)
    (-1.0, 0.693147)
    """
    threads = shared_resources().threads
    return systems.slogdet(threads, squares("a", a))


# ---- Cholesky and triangles ----------------------------------------------------------------------


def cholesky(
    a: ArrayLike, lower: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Cholesky factor of a symmetric or Hermitian positive definite matrix, on all cores.

    A = L L^H or A = U^H U. The function is like scipy.linalg.cholesky, but the default is the lower
    factor, as in numpy.linalg.cholesky.

    Parameters
    ----------
    a : (..., n, n) array_like
        Only one triangle and the real part of the diagonal are read.
    lower : bool
        If True, read the lower triangle and return L. Otherwise read the upper one and return U.
    overwrite_a : bool
        Store the factor in the memory of a if possible.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN in either triangle.

    Returns
    -------
    ndarray
        The factor, with zeros in the other triangle.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is not positive definite: "k-th leading minor of the array is not positive definite".

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.cholesky([[4.0, 2.0], [2.0, 10.0]]).tolist()
    [[2.0, 0.0], [1.0, 3.0]]
    """
    return cholesky_run.factors(
        shared_resources().threads, a, lower, overwrite_a, check_finite, clean=True
    )


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Cholesky factorisation for `cho_solve`, on all cores: (c, lower).

    In contrast to `cholesky`, the content of the other triangle of c is unspecified.

    Parameters
    ----------
    a : (..., n, n) array_like
    lower, overwrite_a, check_finite : bool
        See `cholesky`.

    Returns
    -------
    (ndarray, bool)
        c, with the shape of a, and lower. lower is a single bool for a stack too, in contrast to
        SciPy, which returns an array.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a is not positive definite: "k-th leading minor of the array is not positive definite".

    Examples
    --------
    >>> import hetsched as hs
    >>> c, lower = hs.cho_factor([[4.0, 2.0], [2.0, 10.0]])
    >>> c[0].tolist(), lower
    ([2.0, 1.0], False)
    """
    return cholesky_run.factors(
        shared_resources().threads, a, lower, overwrite_a, check_finite, clean=False
    ), bool(lower)


def cho_solve(
    c_and_lower: tuple[ArrayLike, Any],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve A x = b from the Cholesky factor of A, on all cores.

    Parameters
    ----------
    c_and_lower : (c, lower)
        As returned by `cho_factor` or scipy.linalg.cho_factor for one matrix or a stack. `lower`
        is a flag, which may be a zero-dimensional array (SciPy 1.18), or an array with the shape
        of the stack (as SciPy returns for stacks).
    b : (n,) or (..., n, k) array_like
    overwrite_b : bool
        Store the solution in the memory of b if possible.
    check_finite : bool

    Returns
    -------
    ndarray
        The solution, with the shape of b.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.cho_solve(hs.cho_factor([[4.0, 2.0], [2.0, 10.0]]), [6.0, 12.0]).tolist()
    [1.0, 1.0]
    """
    return cholesky_run.solution(
        shared_resources().threads, c_and_lower, b, overwrite_b, check_finite
    )


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: Literal[0, 1, 2, "N", "T", "C"] = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve A x = b (trans 0 or "N"), A^T x = b (1, "T") or A^H x = b (2, "C") with a triangular A,
    on all cores.

    Parameters
    ----------
    a : (..., n, n) array_like
    b : (n,) or (..., n, k) array_like
    trans : {0, 1, 2, "N", "T", "C"}
    lower : bool
        Whether to read the lower triangle of a, instead of the upper one.
    unit_diagonal : bool
        If True, the diagonal is taken to be ones and is not read.
    overwrite_b : bool
        Store the solution in the memory of b if possible.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN in either triangle.

    Returns
    -------
    ndarray
        The solution, with the shape of b.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a diagonal element is zero: "singular matrix: resolution failed at diagonal k", where k
        is the first one.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0], lower=True).tolist()
    [1.0, 2.0]
    """
    return triangular.solution(
        shared_resources().threads, a, b, trans, lower, unit_diagonal, overwrite_b, check_finite
    )


# ---- QR and least squares ------------------------------------------------------------------------


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    *,
    mode: str = "economic",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """QR factorisation on all cores, with the results of scipy.linalg.qr.

    The default mode is "economic", as in numpy.linalg.qr.

    Parameters
    ----------
    a : (..., m, n) array_like
    overwrite_a : bool
        Whether the memory of a may be used. Its content is lost then.
    mode : {"full", "r", "economic", "raw"}
        "full": Q (m, m) and R (m, n). "economic": Q (m, k) and R (k, n), where k is the smaller of
        m and n. "r": (R,). "raw": ((reflectors, tau), R), as in LAPACK's geqrf.
    pivoting : bool
        Compute A[:, P] = Q R, where the diagonal of R is nonincreasing in size, and return P as the
        last item. SciPy computes this factorisation and must be installed.
    check_finite : bool

    Returns
    -------
    tuple
        The signs of the diagonal of R are not determined.

    Raises
    ------
    ImportError
        If pivoting is True and SciPy is not installed.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> Q, R = hs.qr([[3.0, 1.0], [4.0, 2.0], [0.0, 2.0]])
    >>> Q.shape, np.round(abs(R), 12).tolist()
    ((3, 2), [[5.0, 2.2], [0.0, 2.039607805437]])
    """
    return qr_run.decomposition(
        shared_resources().threads, a, overwrite_a, mode, pivoting, check_finite
    )


def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> LeastSquares:
    """Least squares on all cores: the x that minimises ||b - a x||.

    If there are several such x, the result is the one of minimal length.

    Parameters
    ----------
    a : (..., m, n) array_like
    b : (m,) or (..., m, k) array_like
    cond : float, optional
        Singular values up to cond times the largest one count as zero. The default is the machine
        precision of the dtype times the larger of m and n, as in numpy.linalg.lstsq. SciPy's
        default lacks this factor, so that rounding errors can count towards the rank. A value
        that is not between 0 and 1 means the machine precision, as in LAPACK and NumPy; SciPy 1.18
        refuses a negative one.
    overwrite_a, overwrite_b : bool
        Whether the memory of a and b may be used. Their contents are lost then.
    check_finite : bool

    Returns
    -------
    LeastSquares
        (x, residues, rank, s) like scipy.linalg.lstsq, with an attribute `method`. It is "qr" if a
        bound on the singular values proves that the matrix is well conditioned. Then s is None for
        a single matrix, and never for a stack.
        Otherwise it is "svd". For matrices without full rank, SciPy's residues depend on its
        version; see `LeastSquares` for the residues returned here.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the singular value decomposition does not converge.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> found = hs.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    >>> np.round(found.x, 12).tolist(), found.rank, found.method
    ([1.0, 2.0], 2, 'qr')
    """
    return lstsq_run.solution(
        shared_resources().threads, a, b, cond, overwrite_a, overwrite_b, check_finite
    )


# ---- eigenvalues and singular values -------------------------------------------------------------


def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float] | None = None,
    driver: str | None = None,
) -> Any:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix, or of each of a stack.

    Parameters
    ----------
    a : (..., n, n) array_like
        Only one triangle and the real part of the diagonal are read.
    b : (..., n, n) array_like, optional
        Positive definite, for the generalised problem that `type` names.
    lower : bool
        Whether the lower triangles of a and b are read, instead of the upper ones.
    eigvals_only : bool
        Return only the eigenvalues.
    overwrite_a, overwrite_b : bool
        Accepted as in SciPy; the memory is not used.
    type : {1, 2, 3}
        a v = w b v, a b v = w v, or b a v = w v.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN.
    subset_by_index : (2,) sequence of int, optional
        Only the eigenvalues from the first to the second index, both included.
    subset_by_value : (2,) sequence of float, optional
        Only the eigenvalues above the first and not above the second number; for one matrix.
    driver : str, optional
        One of LAPACK's names that SciPy accepts. It chooses nothing.

    Returns
    -------
    w : (..., k) ndarray
        Ascending eigenvalues; k is n, or the number that a subset has.
    v : (..., n, k) ndarray, unless eigvals_only
        Column i belongs to w[i]. Orthonormal; for type 1 and 2 v^H b v = 1, for type 3
        v^H b^-1 v = 1.

    Raises
    ------
    numpy.linalg.LinAlgError
        If b is not positive definite, or LAPACK does not converge.

    Notes
    -----
    The engine solves problems of order 300 or more (400 for the eigenvalues alone of real matrices)
    by two reductions, to a band and to tridiagonal form, and by divide and conquer (see the page on
    theory). Smaller ones are NumPy's. In a stack, the engine also solves small problems, several at
    a time, by QR iteration. All eigenvalues are computed, also
    for a subset, but only the vectors that are wanted. A generalised problem is reduced to a
    standard one by Cholesky factorisation, triangular systems and products.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.eigh([[2.0, 1.0], [1.0, 2.0]], eigvals_only=True).round(6).tolist()
    [1.0, 3.0]
    """
    check.flag("overwrite_a", overwrite_a)
    check.flag("overwrite_b", overwrite_b)
    return spectral.eigh(
        shared_resources(),
        a,
        b,
        lower,
        eigvals_only,
        type,
        check_finite,
        subset_by_index,
        subset_by_value,
        driver,
    )


def eigvalsh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float] | None = None,
    driver: str | None = None,
) -> Array:
    """Eigenvalues of a symmetric or Hermitian matrix, or of each of a stack.

    Parameters
    ----------
    a, b, lower, overwrite_a, overwrite_b, type, check_finite :
        See `eigh`.
    subset_by_index, subset_by_value, driver :
        See `eigh`.

    Returns
    -------
    (..., n) ndarray
        Ascending.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).round(6).tolist()
    [1.0, 3.0]
    """
    return eigh(  # type: ignore[no-any-return]
        a,
        b,
        lower=lower,
        eigvals_only=True,
        overwrite_a=overwrite_a,
        overwrite_b=overwrite_b,
        type=type,
        check_finite=check_finite,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
        driver=driver,
    )


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Singular value decomposition a = u diag(s) vh, or of each matrix of a stack.

    Parameters
    ----------
    a : (..., m, n) array_like
    full_matrices : bool
        Whether u is (m, m) and vh (n, n). Otherwise they have min(m, n) columns and rows.
    compute_uv : bool
        Whether u and vh are wanted.
    overwrite_a : bool
        Accepted as in SciPy; the memory is not used.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN.
    lapack_driver : {"gesdd", "gesvd"}
        It chooses nothing.

    Returns
    -------
    u, s, vh : ndarrays, or s alone
        The singular values descend.

    Raises
    ------
    numpy.linalg.LinAlgError
        If LAPACK does not converge.

    Notes
    -----
    A matrix with at least 1.6 times as many rows as columns (or the reverse) is factored by QR on
    all cores first, if m n min(m, n) is at least 2e6, unless full_matrices asks for all columns of
    u or all rows of vh. R, or any other matrix, is
    decomposed by the engine if its smaller side is at least 300 (see the page on theory), else by
    NumPy. Then u is a product on all cores. Small matrices of a stack are decomposed by the engine,
    several at a time by QR iteration. Values and vectors have an error of a small multiple of
    the precision times the largest singular value; values far below it have no correct digits, as
    with LAPACK's gesdd.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.svd([[3.0, 0.0], [4.0, 5.0]], compute_uv=False).round(6).tolist()
    [6.708204, 2.236068]
    """
    check.flag("overwrite_a", overwrite_a)
    return spectral.svd(
        shared_resources(), a, full_matrices, compute_uv, check_finite, lapack_driver
    )


def svdvals(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Singular values of a matrix, or of each matrix of a stack.

    Parameters
    ----------
    a, overwrite_a, check_finite :
        See `svd`.

    Returns
    -------
    (..., min(m, n)) ndarray
        Descending.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.svdvals([[3.0, 0.0], [4.0, 5.0]]).round(6).tolist()
    [6.708204, 2.236068]
    """
    return svd(a, False, False, overwrite_a, check_finite)  # type: ignore[no-any-return]


def pinv(
    a: ArrayLike,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The Moore-Penrose pseudo-inverse of a matrix, or of each matrix of a stack.

    Parameters
    ----------
    a : (..., m, n) array_like
    atol, rtol : float, optional
        Singular values up to atol + rtol * (largest one) count as zero. Default: atol 0, rtol
        max(m, n) times the precision of the dtype.
    return_rank : bool
        Return (pinv, rank).
    check_finite : bool
        Whether to raise ValueError for infinities and NaN.

    Returns
    -------
    (..., n, m) ndarray, or (ndarray, rank)

    Raises
    ------
    numpy.linalg.LinAlgError
        If LAPACK does not converge.

    Notes
    -----
    It is computed by `svd`, like scipy.linalg.pinv.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.pinv([[1.0, 1.0], [1.0, 1.0]]).round(6).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    return spectral.pseudo_inverse(shared_resources(), a, atol, rtol, return_rank, check_finite)


def orth(a: ArrayLike, rcond: float | None = None, *, check_finite: bool = True) -> Array:
    """An orthonormal basis of the range of a matrix, as scipy.linalg.orth.

    Parameters
    ----------
    a : (m, n) array_like
    rcond : float, optional
        Singular values up to rcond times the largest one count as zero. Default: max(m, n) times
        the precision of the dtype.
    check_finite : bool
        Whether to raise ValueError for infinities and NaN.

    Returns
    -------
    (m, rank) ndarray

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.orth([[3.0, 0.0], [4.0, 0.0]]).shape
    (2, 1)
    """
    return spectral.orthonormal_basis(shared_resources(), a, rcond, check_finite)


def null_space(a: ArrayLike, rcond: float | None = None, *, check_finite: bool = True) -> Array:
    """An orthonormal basis of the null space of a matrix, as scipy.linalg.null_space.

    Parameters
    ----------
    a, rcond, check_finite :
        See `orth`.

    Returns
    -------
    (n, n - rank) ndarray

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.null_space([[1.0, 1.0]]).shape
    (2, 1)
    """
    return spectral.null_space(shared_resources(), a, rcond, check_finite)


def matrix_rank(a: ArrayLike, tol: float | None = None, *, rtol: float | None = None) -> Any:
    """The rank of a matrix, or of each matrix of a stack, as numpy.linalg.matrix_rank.

    Parameters
    ----------
    a : (..., m, n) array_like
    tol : float, optional
        Singular values up to it count as zero. Not together with rtol.
    rtol : float, optional
        The same, in units of the largest singular value. Default: max(m, n) times the precision of
        the dtype.

    Returns
    -------
    int, or (...) ndarray of int

    Raises
    ------
    numpy.linalg.LinAlgError
        If LAPACK does not converge.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.matrix_rank([[1.0, 1.0], [1.0, 1.0]])
    1
    """
    return spectral.matrix_rank(shared_resources(), a, tol, rtol)


def norm(
    a: ArrayLike,
    ord: float | str | None = None,  # noqa: A002
    *,
    check_finite: bool = True,
) -> Any:
    """A norm of a matrix, or of each matrix of a stack, as scipy.linalg.norm.

    Parameters
    ----------
    a : (..., m, n) array_like
    ord : {None, "fro", 1, -1, 2, -2, inf, -inf, "nuc"}
        None and "fro": the root of the sum of all squares. 1 and inf: the largest sum of absolute
        values of a column, or of a row; -1 and -inf: the smallest. 2, -2 and "nuc": the largest
        singular value, the smallest, and the sum of all.
    check_finite : bool
        Raise an error for NaN and infinities.

    Returns
    -------
    float, or (...) ndarray
        0 for empty matrices.

    Raises
    ------
    numpy.linalg.LinAlgError
        If LAPACK does not converge.

    Examples
    --------
    >>> import hetsched as hs
    >>> float(hs.norm([[3.0, 0.0], [4.0, 0.0]], 2))
    5.0
    """
    return spectral.checked_norm(shared_resources(), a, ord, check_finite)


def cond(a: ArrayLike) -> Any:
    """The condition number of a matrix, or of each matrix of a stack, in the 2-norm.

    It is the largest singular value over the smallest, as numpy.linalg.cond.

    Parameters
    ----------
    a : (..., m, n) array_like
        Not empty.

    Returns
    -------
    float, or (...) ndarray
        inf if the smallest computed singular value is 0, or if a has infinities; NaN if it has NaN.
        For other matrices without full rank, rounding leaves a large finite number.

    Raises
    ------
    numpy.linalg.LinAlgError
        If LAPACK does not converge.

    Examples
    --------
    >>> import hetsched as hs
    >>> float(hs.cond([[2.0, 0.0], [0.0, 1.0]]))
    2.0
    """
    return spectral.condition(shared_resources(), a)
