"""Functions of numpy.linalg that an Array takes over, with NumPy's arguments, results and errors.

Each returns None for a call that NumPy is to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._engine import tuning
from .._engine.dtypes import DTYPES
from . import cholesky, lstsq, qr, spectral, systems
from .operands import Array
from .shared import shared_resources

#: Calls with less work than one matrix with this many rows go to NumPy's LAPACK.
FEW_ROWS = tuning.NUMPY_LAPACK_ROWS
_SLOGDET_RESULT: Any = type(np.linalg.slogdet(np.eye(1)))
_QR_RESULT: Any = type(np.linalg.qr(np.eye(1)))
_EIGH_RESULT: Any = type(np.linalg.eigh(np.eye(1)))
_SVD_RESULT: Any = type(np.linalg.svd(np.eye(1)))


class Plain:
    """Marks a value in a tuple that stays a plain array, as in NumPy."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _plain(x: Any) -> Any:
    """View an array of a subclass as a plain array. Other values stay as they are."""
    return x.view(np.ndarray) if isinstance(x, np.ndarray) else x


def _taken(*arrays: Any) -> bool:
    return all(type(x) is np.ndarray and x.dtype in DTYPES and x.ndim >= 2 for x in arrays)


def _pays(shape: tuple[int, ...]) -> bool:
    """Whether stacks of matrices (m, n) have enough multiply-adds."""
    m, n = shape[-2:]
    return 0 not in shape and math.prod(shape[:-2]) * m * n * min(m, n) >= FEW_ROWS**3


def _finite(x: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.isfinite(x.sum()))


def _square(a: Any) -> Array | None:
    """a as a plain array, if its matrices are square, finite and large enough; otherwise None."""
    x = _plain(a)
    return x if _taken(x) and x.shape[-1] == x.shape[-2] and _pays(x.shape) and _finite(x) else None


def _solve(a: Any, b: Any) -> Any:
    x, y = _square(a), _plain(b)
    if x is None or type(y) is not np.ndarray or y.dtype not in DTYPES or y.ndim == 0:
        return None
    if y.shape[-2 if y.ndim > 1 else 0] != x.shape[-1] or not _finite(y):
        return None
    try:
        np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        return None
    threads = shared_resources().threads
    try:
        found = systems.solution(threads, x, y, False, False, False, False, "gen", False)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError("Singular matrix") from None
    return np.ascontiguousarray(found)


def _inv(a: Any) -> Any:
    x = _square(a)
    if x is None:
        return None
    found, singular = systems.run_inverse(shared_resources().threads, x)
    if (singular >= 0).any():
        raise np.linalg.LinAlgError("Singular matrix")
    return np.ascontiguousarray(found)


def _det(a: Any) -> Any:
    x = _square(a)
    if x is None:
        return None
    threads = shared_resources().threads
    return systems.det(threads, x, False, False).astype(x.dtype)


def _slogdet(a: Any) -> Any:
    x = _square(a)
    if x is None:
        return None
    threads = shared_resources().threads
    return _SLOGDET_RESULT(*map(Plain, systems.slogdet(threads, x)))


def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    x = _square(a)
    if x is None or not isinstance(upper, bool):
        return None
    out = np.zeros(x.shape, x.dtype)
    if cholesky.run(shared_resources().threads, x, out, not upper, True).any():
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return out


def _qr(a: Any, mode: str = "reduced") -> Any:
    x, words = _plain(a), {"reduced": "economic", "complete": "full", "r": "economic", "raw": "raw"}
    if (
        not isinstance(mode, str)
        or mode not in words
        or not _taken(x)
        or not _pays(x.shape)
        or not _finite(x)
    ):
        return None
    threads = shared_resources().threads
    if mode == "r":
        return qr.by_item(x, lambda item: (qr.triangle(threads, item),))[0]
    found = qr.by_item(x, lambda item: qr.parts(threads, item, words[mode]))
    if mode == "raw":
        return found[0].swapaxes(-1, -2), Plain(found[1])
    return _QR_RESULT(*found)


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Computed in double precision, as in NumPy, so that the rank agrees with NumPy's."""
    x, y = _plain(a), _plain(b)
    if (
        not _taken(x)
        or x.ndim != 2
        or type(y) is not np.ndarray
        or y.dtype not in DTYPES
        or y.ndim not in (1, 2)
    ):
        return None
    if len(y) != len(x) or not _pays(x.shape) or not (_finite(x) and _finite(y)):
        return None
    if rcond is not None and not isinstance(rcond, int | float):
        return None
    dtype = np.promote_types(x.dtype, y.dtype)
    wide = np.promote_types(dtype, np.float64)
    sides = y[:, None] if y.ndim == 1 else y
    cut = lstsq.cutoff(x.shape, wide, rcond)
    double = x.astype(wide, copy=False), sides.astype(wide, copy=False)
    found = lstsq.least_squares(shared_resources().threads, *double, cut, values=True)
    real = dtype.type(0).real.dtype
    solution = np.ascontiguousarray(found.x.astype(dtype, copy=False))
    residues = found.residues.astype(real, copy=False)
    return (
        solution[:, 0] if y.ndim == 1 else solution,
        residues,
        Plain(np.int32(found.rank)),
        Plain(found.s.astype(real)),
    )


def _decomposable(a: Any, most: int = tuning.LANES_BYTES) -> Array | None:
    """a as a plain array, if the engine decomposes its matrices; otherwise None.

    most : bytes of a matrix of a stack.
    """
    x = _plain(a)
    if not _taken(x):
        return None
    large = min(x.shape[-2:]) >= tuning.SPECTRAL_ORDER and _pays(x.shape)
    return x if (large or spectral.in_lanes(x, most)) and _finite(x) else None


def _hermitian(a: Any, side: Any, most: int = tuning.LANES_BYTES) -> tuple[Array, bool] | None:
    """a as a plain array, and whether its lower triangle counts."""
    x = _decomposable(a, most)
    if x is None or x.shape[-1] != x.shape[-2] or not isinstance(side, str):
        return None
    return (x, side in "Ll") if side in ("L", "l", "U", "u") else None


def _eigh(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803
    given = _hermitian(a, UPLO)
    if given is None:
        return None
    x, lower = given
    threads = shared_resources().threads
    values, vectors = spectral.eigenvectors(threads, x, lower, 0, x.shape[-1])
    return _EIGH_RESULT(Plain(values), np.ascontiguousarray(vectors))


def _eigvalsh(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803
    given = _hermitian(a, UPLO, tuning.LANES_VALUES_BYTES)
    if given is None:
        return None
    return Plain(spectral.eigenvalues(shared_resources().threads, *given))


def _svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    x = _decomposable(a)
    if x is None or hermitian:
        return None
    resources = shared_resources()
    if not compute_uv:
        return Plain(spectral.decomposition(resources, x, False, False))
    u, s, vh = spectral.decomposition(resources, x, bool(full_matrices), True)
    return _SVD_RESULT(np.ascontiguousarray(u), Plain(s), np.ascontiguousarray(vh))


def _svdvals(a: Any, /) -> Any:
    return _svd(a, compute_uv=False)


def _limit(value: Any) -> bool:
    """Whether a limit of singular values is one number that is not negative."""
    return isinstance(value, (int, float)) and value >= 0


def _pinv(a: Any, rcond: Any = None, hermitian: Any = False, **others: Any) -> Any:
    x, relative = _decomposable(a), 1e-15 if rcond is None else rcond
    if x is None or hermitian or others or not _limit(relative):
        return None
    resources = shared_resources()
    found = spectral.pseudo_inverse(resources, x, None, float(relative), False, False)
    return np.ascontiguousarray(found)


def _matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Any:  # noqa: N803
    x, limits = _decomposable(A), [x for x in (tol, rtol) if x is not None]
    if x is None or hermitian or len(limits) > 1 or not all(map(_limit, limits)):
        return None
    return Plain(np.asarray(spectral.matrix_rank(shared_resources(), x, tol, rtol))[()])


def _cond(x: Any, p: Any = None) -> Any:
    a = _decomposable(x)
    if a is None or not (p is None or (isinstance(p, int) and p == 2)):
        return None
    return Plain(spectral.condition(shared_resources(), a))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:  # noqa: A002
    a = _decomposable(x)
    if a is None or keepdims or not isinstance(ord, (int, str)) or ord not in spectral.NORMS:
        return None
    if not isinstance(axis, (tuple, type(None))):
        return None
    if axis != (-2, -1) and (a.ndim > 2 or axis not in (None, (0, 1))):
        return None
    return Plain(spectral.norm(shared_resources(), a, ord))


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.linalg.solve: _solve,
    np.linalg.inv: _inv,
    np.linalg.det: _det,
    np.linalg.slogdet: _slogdet,
    np.linalg.cholesky: _cholesky,
    np.linalg.qr: _qr,
    np.linalg.lstsq: _lstsq,
    np.linalg.eigh: _eigh,
    np.linalg.eigvalsh: _eigvalsh,
    np.linalg.svd: _svd,
    np.linalg.svdvals: _svdvals,
    np.linalg.pinv: _pinv,
    np.linalg.matrix_rank: _matrix_rank,
    np.linalg.cond: _cond,
    np.linalg.norm: _norm,
}
