"""Eigenvalues of Hermitian matrices, singular values, and what follows from them.

The engine decomposes matrices from tuning.SPECTRAL_ORDER on, and tuning.EIGENVALUES_ORDER for the
eigenvalues alone of real ones; smaller ones, and matrices with NaN or infinities, are NumPy's, on
one thread. Of stacks, the engine decomposes matrices up to tuning.LANES_BYTES as well, several at a
time. It also makes tall matrices small by QR, reduces generalised problems by Cholesky, and
multiplies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._engine import run as engine
from .._engine import spectral, tuning
from .._engine.openblas import on_one_thread
from . import cholesky, qr, systems, triangular
from .arguments import columns, matrices, matrix, require_finite, squares
from .product import matmul

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from .operands import Array
    from .workers import Resources

#: LAPACK's names of algorithms, which SciPy accepts. Here they choose nothing.
_DRIVERS = ("ev", "evd", "evr", "evx", "gv", "gvd", "gvx")
_SVD_DRIVERS = ("gesdd", "gesvd")
#: Norms that are found from singular values -> how.
NORMS: dict[Any, Any] = {2: np.max, -2: np.min, "nuc": np.sum}
#: Norms that NumPy computes from the elements.
_ELEMENT_NORMS: tuple[Any, ...] = (None, "fro", 1, -1, np.inf, -np.inf)
#: Tall matrices with at least so many multiply-adds in their QR factorisation are made small by it.
_LEAST = 2e6


def eigh(
    resources: Resources,
    a: ArrayLike,
    b: ArrayLike | None,
    lower: bool,
    values_only: bool,
    kind: int,
    check_finite: bool,
    by_index: Any,
    by_value: Any,
    driver: str | None,
) -> Any:
    """Implement `eigh` and `eigvalsh`."""
    given = squares("a", a)
    lower, values_only = check.flag("lower", lower), check.flag("eigvals_only", values_only)
    kind = check.integer("type", kind, low=1, high=3)
    if driver is not None:
        check.choice("driver", driver, _DRIVERS)
    other = None if b is None else squares("b", b)
    if other is not None and other.shape != given.shape:
        raise ValueError(f"b must have the shape of a, {given.shape}, got {other.shape}")
    if check.flag("check_finite", check_finite):
        require_finite(*(x for x in (given, other) if x is not None))
    first, count = _range(given, by_index, by_value)
    dtype = given.dtype if other is None else np.promote_types(given.dtype, other.dtype)
    within = _within(given.ndim, dtype, by_value)
    factor: Array | None = None
    if other is not None:
        factor = cholesky.factors(
            resources.threads,
            other.astype(dtype, copy=False),
            lower,
            False,
            False,
            clean=True,
            name="b",
        )
        given = _standard(resources, given.astype(dtype, copy=False), factor, lower, kind)
    if values_only:
        values = eigenvalues(resources.threads, given, lower)
        return values[..., _wanted(values, first, count, within)]
    values, vectors = eigenvectors(resources.threads, given, lower, first, count, within)
    if factor is not None:
        vectors = _general(resources, vectors, factor, lower, kind)
    return values, vectors


def _by_numpy(function: Callable[..., Any], a: Array, *options: Any) -> Any:
    """A decomposition by NumPy, on one thread."""
    if min(a.shape[-2:]) < tuning.ONE_THREAD_ORDER:
        return function(a, *options)
    return on_one_thread(function, a, *options)


def eigenvalues(threads: engine.Threads, a: Array, lower: bool) -> Array:
    """Of each matrix of a stack."""
    uplo = "L" if lower else "U"
    if in_lanes(a, tuning.LANES_VALUES_BYTES):
        values = np.empty(a.shape[:-1], _real(a))
        failed = spectral.eigh_stack(threads, a, not lower, values, None, engine.Poll())
        if failed.any():
            values[failed] = _by_numpy(np.linalg.eigvalsh, a[failed], uplo)
        return values
    if a.shape[-1] < (tuning.SPECTRAL_ORDER if a.dtype.kind == "c" else tuning.EIGENVALUES_ORDER):
        found: Array = _by_numpy(np.linalg.eigvalsh, a, uplo)
        return found

    def one(x: Array) -> tuple[Array, ...]:
        values = np.empty(len(x), _real(x))
        if spectral.eigh(threads, x, not lower, values, None, 0, None, engine.Poll()) is None:
            return (_by_numpy(np.linalg.eigvalsh, x, uplo),)
        return (values,)

    return qr.by_item(a, one)[0]


def eigenvectors(
    threads: engine.Threads,
    a: Array,
    lower: bool,
    first: int,
    count: int,
    within: tuple[float, float] | None = None,
) -> tuple[Array, Array]:
    """The values first .. first + count - 1 of each matrix, and their vectors; or, of one
    matrix, the values `within` (low, high], where first is 0 and count the order."""

    def numpy(x: Array) -> tuple[Array, Array]:
        values, vectors = _by_numpy(np.linalg.eigh, x, "L" if lower else "U")
        wanted = _wanted(values, first, count, within)
        return values[..., wanted], vectors[..., wanted]

    def one(x: Array) -> tuple[Array, ...]:
        values = np.empty(len(x), _real(x))
        vectors = columns((len(x), count), x.dtype)
        found = spectral.eigh(threads, x, not lower, values, vectors, first, within, engine.Poll())
        if found is None:
            return numpy(x)
        start, number = found
        return values[start : start + number], vectors[:, :number]

    if in_lanes(a, tuning.LANES_BYTES):
        values, vectors = np.empty(a.shape[:-1], _real(a)), np.empty(a.shape, a.dtype)
        failed = spectral.eigh_stack(threads, a, not lower, values, vectors, engine.Poll())
        if failed.any():
            by_numpy = _by_numpy(np.linalg.eigh, a[failed], "L" if lower else "U")
            values[failed], vectors[failed] = by_numpy
        return values[..., first : first + count], vectors[..., first : first + count]
    if a.shape[-1] < tuning.SPECTRAL_ORDER:
        return numpy(a)
    values, vectors = qr.by_item(a, one)
    return values, vectors


def in_lanes(a: Array, most: int) -> bool:
    """Whether the matrices of a stack, each of at most so many bytes, are decomposed several at a
    time."""
    items, (m, n) = math.prod(a.shape[:-2]), a.shape[-2:]
    enough = items >= tuning.LANES_ITEMS and items * min(m, n) >= tuning.LANES_ROWS
    return a.ndim > 2 and enough and m * n * _real(a).itemsize <= most


def _wanted(values: Array, first: int, count: int, within: tuple[float, float] | None) -> slice:
    """The indices of the wanted values, which ascend."""
    if within is None:
        return slice(first, first + count)
    return slice(*np.searchsorted(values, within, side="right").tolist())


def _real(a: Array) -> Any:
    """The dtype of its singular values."""
    return np.empty(0, a.dtype).real.dtype


def _range(a: Array, by_index: Any, by_value: Any) -> tuple[int, int]:
    """The first wanted eigenvalue, and how many are wanted."""
    n = a.shape[-1]
    if by_index is None:
        return 0, n
    if by_value is not None:
        raise ValueError("give subset_by_index or subset_by_value, not both")
    low, high = _pair("subset_by_index", by_index)
    first = check.integer("subset_by_index[0]", low, low=0, high=max(n - 1, 0))
    last = check.integer("subset_by_index[1]", high, low=first, high=max(n - 1, 0))
    return first, min(last + 1, n) - first


def _within(ndim: int, dtype: np.dtype[Any], by_value: Any) -> tuple[float, float] | None:
    """The bounds of the wanted eigenvalues, in their type, for matrices of this dtype."""
    if by_value is None:
        return None
    if ndim > 2:
        raise ValueError(
            "subset_by_value is for one matrix: each of a stack may have other numbers"
        )
    bounds = check.reals(
        lambda: f"subset_by_value must be two numbers, got {check.shown(by_value)}",
        _pair("subset_by_value", by_value),
    )
    real = _real(np.empty(0, dtype))
    with np.errstate(over="ignore"):
        low, high = bounds.astype(real).tolist()
    if not low < high:
        raise ValueError(f"subset_by_value must increase in {real}, got {check.shown(by_value)}")
    return low, high


def _pair(name: str, given: Any) -> tuple[Any, Any]:
    pair = check.entries(name, given, "two numbers")
    if len(pair) != 2:
        raise ValueError(f"{name} must be two numbers, got {check.shown(given)}")
    return pair[0], pair[1]


def _standard(resources: Resources, a: Array, factor: Array, lower: bool, kind: int) -> Array:
    """The matrix with the eigenvalues of a generalised problem.

    factor : L of b = L L^H, or with lower=False U of b = U^H U.
    """
    whole = systems.mirrored(a, lower, True)
    if kind > 1:  # L^H a L
        left, right = (_turned(factor), factor) if lower else (factor, _turned(factor))
        return _multiplied(resources, _multiplied(resources, left, whole), right)
    half = _solved(resources, factor, whole, 0 if lower else 2, lower)  # L^-1 a
    return _turned(_solved(resources, factor, _turned(half), 0 if lower else 2, lower))


def _general(resources: Resources, vectors: Array, factor: Array, lower: bool, kind: int) -> Array:
    """Eigenvectors of the generalised problem, from eigenvectors of the standard one."""
    if kind == 3:
        return _multiplied(resources, factor if lower else _turned(factor), vectors)
    return _solved(resources, factor, vectors, 2 if lower else 0, lower)


def _turned(x: Array) -> Array:
    """The Hermitian transpose of each matrix."""
    return x.conj().swapaxes(-1, -2)


def _solved(resources: Resources, factor: Array, x: Array, trans: int, lower: bool) -> Array:
    return triangular.solution(resources.threads, factor, x, trans, lower, False, False, False, "b")


def _multiplied(resources: Resources, x: Array, y: Array) -> Array:
    """x y."""
    found: Array = matmul(resources, None, x, y, None, 1.0, 0.0, "auto", 1, "once", False, None)
    return found


# ---- singular values -----------------------------------------------------------------------------


def svd(
    resources: Resources,
    given: ArrayLike,
    full_matrices: bool,
    compute_uv: bool,
    check_finite: bool,
    driver: str,
) -> Any:
    """Implement `svd`."""
    a = matrices("a", given)
    full, vectors = check.flag("full_matrices", full_matrices), check.flag("compute_uv", compute_uv)
    check.choice("lapack_driver", driver, _SVD_DRIVERS)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    return decomposition(resources, a, full, vectors)


def decomposition(resources: Resources, a: Array, full: bool, vectors: bool) -> Any:
    """(u, s, vh), or s alone, of matrices that have been checked."""
    m, n = a.shape[-2:]
    short, long = sorted((m, n))
    few = float(m * n) * short < _LEAST or in_lanes(a, tuning.LANES_BYTES)
    if (full and vectors) or 100 * long < tuning.SVD_TALL_PERCENT * short or few:
        return decomposed(resources.threads, a, full, vectors)
    if m < n:
        if not vectors:
            return decomposition(resources, a.swapaxes(-1, -2), full, vectors)
        u, s, vh = decomposition(resources, _turned(a), full, vectors)
        return _turned(vh), s, _turned(u)
    threads = resources.threads
    if not vectors:
        (r,) = qr.by_item(a, lambda x: (qr.triangle(threads, x),))
        return decomposed(threads, r, False, False)
    q, r = qr.by_item(a, lambda x: qr.parts(threads, x, "economic"))
    u, s, vh = decomposed(threads, r, False, True)
    return _multiplied(resources, q, u), s, vh


def decomposed(threads: engine.Threads, a: Array, full: bool, vectors: bool) -> Any:
    """(u, s, vh), or s alone, without a QR factorisation before."""
    m, n = a.shape[-2:]
    k = min(m, n)

    def numpy(x: Array) -> tuple[Array, ...]:
        if not vectors:
            return (_by_numpy(np.linalg.svd, x, False, False),)
        return tuple(_by_numpy(np.linalg.svd, x, full))

    def one(x: Array) -> tuple[Array, ...]:
        s = np.empty(k, _real(x))
        if not vectors:
            return (s,) if spectral.svd(threads, x, s, None, None, engine.Poll()) else numpy(x)
        u = columns((m, m if full else k), x.dtype)
        vh = columns((n if full else k, n), x.dtype)
        return (u, s, vh) if spectral.svd(threads, x, s, u, vh, engine.Poll()) else numpy(x)

    if in_lanes(a, tuning.LANES_BYTES) and not (vectors and full and m != n):
        return _by_lanes(threads, a, vectors)
    found = numpy(a) if k < tuning.SPECTRAL_ORDER else qr.by_item(a, one)
    return found if vectors else found[0]


def _by_lanes(threads: engine.Threads, a: Array, vectors: bool) -> Any:
    """(u, s, vh) of economic shapes, or s alone, for a stack of small matrices."""
    *stack, m, n = a.shape
    k = min(m, n)
    s = np.empty((*stack, k), _real(a))
    u = np.empty((*stack, m, k), a.dtype) if vectors else None
    vh = np.empty((*stack, k, n), a.dtype) if vectors else None
    failed = spectral.svd_stack(threads, a, s, u, vh, engine.Poll())
    if u is None or vh is None:
        if failed.any():
            s[failed] = np.linalg.svd(a[failed], compute_uv=False)
        return s
    if failed.any():
        u[failed], s[failed], vh[failed] = np.linalg.svd(a[failed], False)
    return u, s, vh


def pseudo_inverse(
    resources: Resources,
    given: ArrayLike,
    atol: float | None,
    rtol: float | None,
    return_rank: bool,
    check_finite: bool,
) -> Any:
    """Implement `pinv`."""
    a = matrices("a", given)
    return_rank = check.flag("return_rank", return_rank)
    absolute = 0.0 if atol is None else check.number("atol", atol, low=0.0)
    precision = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    relative = precision if rtol is None else check.number("rtol", rtol, low=0.0)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    u, s, vh = decomposition(resources, a, False, True)
    large = s > absolute + relative * s.max(-1, keepdims=True, initial=0.0)
    with np.errstate(over="ignore"):  # of subnormal singular values
        inverse = np.where(large, 1 / np.where(large, s, 1), 0).astype(s.dtype)
    found = _multiplied(resources, _turned(vh) * inverse[..., None, :], _turned(u))
    rank = np.count_nonzero(large, axis=-1)
    return (found, rank if a.ndim > 2 else int(rank)) if return_rank else found


def _values_and(resources: Resources, given: ArrayLike, check_finite: bool, full: bool) -> Any:
    """One matrix, and its decomposition."""
    a = matrix("a", given)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    return a, decomposition(resources, a, full, True)


def _count(a: Array, s: Array, rcond: float | None) -> int:
    """How many singular values are larger than rcond times the largest."""
    precision = max(a.shape) * float(np.finfo(a.dtype).eps)
    relative = precision if rcond is None else check.number("rcond", rcond, low=0.0)
    return int(np.count_nonzero(s > relative * s.max(initial=0.0)))


def orthonormal_basis(
    resources: Resources, given: ArrayLike, rcond: float | None, check_finite: bool
) -> Array:
    """Implement `orth`."""
    a, (u, s, _) = _values_and(resources, given, check_finite, False)
    basis: Array = u[:, : _count(a, s, rcond)]
    return basis


def null_space(
    resources: Resources, given: ArrayLike, rcond: float | None, check_finite: bool
) -> Array:
    """Implement `null_space`."""
    a, (_, s, vh) = _values_and(resources, given, check_finite, True)
    return _turned(vh[_count(a, s, rcond) :])


def matrix_rank(resources: Resources, given: ArrayLike, tol: Any, rtol: Any) -> Any:
    """Implement `matrix_rank`."""
    a = matrices("a", given)
    if tol is not None and rtol is not None:
        raise ValueError("give tol or rtol, not both")
    s = decomposition(resources, a, False, False)
    precision = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    relative = precision if rtol is None else check.number("rtol", rtol, low=0.0)
    limit = relative * s.max(-1, keepdims=True, initial=0.0)
    if tol is not None:
        limit = check.number("tol", tol, low=0.0)
    rank = np.count_nonzero(s > limit, axis=-1)
    return rank if a.ndim > 2 else int(rank)


def condition(resources: Resources, given: ArrayLike) -> Any:
    """Implement `cond`."""
    a = matrices("a", given)
    if 0 in a.shape[-2:]:
        raise ValueError(f"a must not be empty, got shape {a.shape}")
    finite = np.isfinite(a).all((-2, -1), keepdims=True)
    # LAPACK may not converge for infinities
    s = decomposition(resources, a if finite.all() else np.where(finite, a, 0), False, False)
    with np.errstate(all="ignore"):
        found = s[..., 0] / s[..., -1]
    # 0 / 0 of a zero matrix, which also stands for one with infinities
    found = np.where(np.isnan(found), np.inf, found)
    found = np.where(np.isnan(a).any((-2, -1)), np.nan, found).astype(s.dtype)
    return found if a.ndim > 2 else found[()]


def norm(resources: Resources, a: Array, order: Any) -> Any:
    """One of NORMS of each matrix."""
    return NORMS[order](decomposition(resources, a, False, False), axis=-1)


def _is_norm(order: Any) -> bool:
    scalar = isinstance(order, (int, float, str, np.number, type(None)))
    return scalar and order in (*NORMS, *_ELEMENT_NORMS)


def checked_norm(resources: Resources, given: ArrayLike, order: Any, check_finite: bool) -> Any:
    """Implement `norm`."""
    a = matrices("a", given)
    if not _is_norm(order):
        known = ", ".join(map(str, (*NORMS, *_ELEMENT_NORMS)))
        raise ValueError(f"ord must be one of {known}, got {check.shown(order)}")
    if check.flag("check_finite", check_finite):
        require_finite(a)
    if 0 in a.shape[-2:]:
        return np.zeros(a.shape[:-2], _real(a))[()]
    if order in NORMS:
        return norm(resources, a, order)
    return np.linalg.norm(a, order, axis=(-2, -1))
