"""Determinants from the LU factors of a matrix or of a stack.

Intermediate results neither overflow nor underflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .operands import Array

#: Number of mantissas with a product within the range. Each is at least 1/2, and at most 2**(1/2)
#: for complex numbers.
_TOGETHER = 512


def determinant(lu: Array, piv: NDArray[np.int32]) -> Any:
    """Determinants from the factors (..., n, n) and pivots (..., n), in double precision.

    This is the precision of scipy.linalg.det. numpy.errstate decides what happens if a value is
    beyond the range.
    """
    mantissa, exponent = _mantissa(lu, piv)
    with np.errstate(all="ignore"):
        value = np.ldexp(mantissa, exponent[..., None])  # rounds once
    size = abs(value).max(axis=-1)
    if not np.isfinite(size).all():
        np.linalg.det(np.diag([1e200, 1e200]))  # overflows on purpose: NumPy's own warning or error
    if ((size < np.finfo(np.float64).tiny) & mantissa.any(axis=-1)).any():
        np.linalg.det(np.diag([1e-200, 1e-200]))
    return value.view(_wide(lu))[..., 0][()]


def sign_and_log(lu: Array, piv: NDArray[np.int32]) -> tuple[Any, Any]:
    """Sign of the determinant and logarithm of its absolute value; 0 and -inf for a zero.

    The sign of a complex number is the number divided by its absolute value.
    """
    parts, exponent = _mantissa(lu, piv)
    mantissa = parts.view(_wide(lu))[..., 0]
    with np.errstate(all="ignore"):
        size = abs(mantissa)
        sign = np.where(size != 0, mantissa / size, mantissa)
        log = np.log(size) + exponent * np.log(2.0)
    return sign[()], log[()]


def _wide(lu: Array) -> Any:
    return np.complex128 if lu.dtype.kind == "c" else np.float64


def _mantissa(lu: Array, piv: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The determinants as (parts, exponent): numbers of moderate size times powers of two.

    The numbers have one part, or two if they are complex. They are scaled because the factors, and
    the product of some of them, may be anywhere in the range.
    """
    exchanges = np.count_nonzero(piv != np.arange(piv.shape[-1]), axis=-1)
    sign = np.asarray((-1.0) ** exchanges)[..., None]
    values = np.concatenate([lu.diagonal(axis1=-2, axis2=-1), sign], axis=-1).astype(_wide(lu))
    exponent = np.zeros(values.shape[:-1], np.int64)
    with np.errstate(all="ignore"):
        while True:
            parts = values.view(np.float64).reshape(*values.shape, values.itemsize // 8)
            _, powers = np.frexp(abs(parts).max(axis=-1))
            powers[~np.isfinite(parts).all(axis=-1)] = 0  # for these C does not define the exponent
            parts = np.ldexp(parts, -powers[..., None])
            exponent += powers.sum(axis=-1, dtype=np.int64)
            length = values.shape[-1]
            if length == 1:
                return parts[..., 0, :], exponent
            values = np.multiply.reduceat(
                parts.view(_wide(lu))[..., 0], np.arange(0, length, _TOGETHER), axis=-1
            )
