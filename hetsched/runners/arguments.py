"""Arguments of linear algebra: matrices, stacks, right-hand sides, and the memory of results."""

from __future__ import annotations

import cmath
from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine.run import line_start
from .operands import Array, as_array, operand

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: For at most this many elements NumPy computes the sum of the squares on one thread.
_FEW = 10_000
#: For a matrix of at most this many bytes, alignment costs more time than it saves.
_SMALL = 1 << 17


def numbers(name: str, value: ArrayLike) -> Array:
    """Convert to a supported dtype: integers and booleans to float64, half precision to float32."""
    array = as_array(name, value)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    elif array.dtype.kind == "f" and array.dtype.itemsize == 2:
        array = array.astype(np.float32)
    return operand(name, array)


def matrices(name: str, value: ArrayLike) -> Array:
    """A matrix or a stack of matrices, (..., m, n)."""
    array = numbers(name, value)
    if array.ndim < 2:
        raise ValueError(f"{name} must be a matrix, got shape {array.shape}")
    return array


def matrix(name: str, value: ArrayLike) -> Array:
    """One matrix."""
    array = matrices(name, value)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {array.shape}")
    return array


def square(name: str, value: ArrayLike) -> Array:
    """One square matrix."""
    array = matrix(name, value)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    return array


def squares(name: str, value: ArrayLike) -> Array:
    """A square matrix or a stack of square matrices."""
    array = matrices(name, value)
    if array.shape[-2] != array.shape[-1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    return array


def right_sides(value: ArrayLike, n: int) -> Array:
    """One or several right-hand sides for n unknowns, converted to a supported dtype.

    An array with three or more dimensions is a stack.
    """
    right = numbers("b", value)
    if right.ndim == 0 or right.shape[-2 if right.ndim > 1 else 0] != n:
        raise ValueError(f"b must have shape ({n},) or (..., {n}, k), got {right.shape}")
    return right


def stacked(name: str, a: Array, b: Array) -> tuple[int, ...]:
    """The shape of the common stack of matrices and right-hand sides, by NumPy's broadcasting
    rules.

    () if both are single. `name` is the name of the matrices in the error message.
    """
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(
            f"the stacks of {name} and b do not broadcast: shapes {a.shape} and {b.shape}"
        ) from None


def require_finite(*arrays: Array) -> None:
    """Raise the ValueError of numpy.asarray_chkfinite if an element is infinite or NaN."""
    # A NaN or an infinity makes the sum (or the sum of squares) non-finite. Because a sum of finite
    # elements can overflow as well, a non-finite sum is followed by a check of each element.
    for array in arrays:
        if array.size <= _FEW and array.flags.forc:
            elements = array.ravel("K")
            if cmath.isfinite(np.vdot(elements, elements)):  # vdot gives no warnings
                continue
        else:
            with np.errstate(all="ignore"):
                if np.isfinite(array.sum()):
                    continue
        if not np.isfinite(array).all():
            raise ValueError("array must not contain infs or NaNs")


def columns(shape: tuple[int, ...], dtype: np.dtype[Any], *, zero: bool = False) -> Array:
    """Allocate a matrix in column-major order, empty or of zeros.

    A large matrix starts at a cache line, which is faster in the engine.
    """
    size = shape[0] * shape[1] * dtype.itemsize
    if size <= _SMALL:
        return (np.zeros if zero else np.empty)(shape, dtype, order="F")
    memory = (np.zeros if zero else np.empty)(size + 64, np.uint8)
    return np.ndarray(shape, dtype, memory, line_start(memory), order="F")


def in_place(given: Any, array: Array, overwrite: bool, beside: Array | None = None) -> bool:
    """Whether a result may be stored in the memory of an argument.

    It may if the caller allows it (`overwrite`), `array` is the argument itself and not a copy,
    writable and contiguous, and it shares no memory with `beside`, which is read as well.
    """
    allowed = overwrite and array is given and array.flags.writeable and array.flags.forc
    return allowed and (beside is None or not np.may_share_memory(array, beside))


def solution_memory(
    a: Array, b: ArrayLike, right: Array, dtype: np.dtype[Any], overwrite_b: bool
) -> Array:
    """The right-hand sides of a system with matrix a, in the memory of the solution.

    This is b itself if it may be overwritten, otherwise a copy in column-major order.
    """
    return (
        right
        if right.dtype == dtype and in_place(b, right, overwrite_b, a)
        else np.array(right, dtype, order="F")
    )


def as_columns(b: Array) -> Array:
    """View right-hand sides as a matrix."""
    return b[:, None] if b.ndim == 1 else b


def which(index: tuple[int, ...]) -> str:
    """Text that names a matrix of a stack; empty for a single matrix."""
    return f", matrix {list(map(int, index))} of the stack" if index else ""
