"""Arguments of linear algebra: matrices, stacks of them, right sides, and where results go."""

from __future__ import annotations

import cmath
from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine.run import line_start
from .operands import Array, as_array, operand

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Elements whose squares NumPy sums on one thread.
_FEW = 10_000
#: Bytes of a matrix for which to look where it starts takes longer than what it saves.
_SMALL = 1 << 17


def numbers(name: str, value: ArrayLike) -> Array:
    """Of a supported dtype: integers and booleans become float64, half precision float32."""
    array = as_array(name, value)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    elif array.dtype.kind == "f" and array.dtype.itemsize == 2:
        array = array.astype(np.float32)
    return operand(name, array)


def matrices(name: str, value: ArrayLike) -> Array:
    """A matrix or a stack of them, [..., m, n]."""
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
    """One matrix with as many rows as columns."""
    array = matrix(name, value)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    return array


def squares(name: str, value: ArrayLike) -> Array:
    """A matrix with as many rows as columns, or a stack of such."""
    array = matrices(name, value)
    if array.shape[-2] != array.shape[-1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    return array


def right_sides(value: ArrayLike, n: int) -> Array:
    """One or several for n unknowns, of a supported dtype; what has three dimensions or more is a stack."""
    right = numbers("b", value)
    if right.ndim == 0 or right.shape[-2 if right.ndim > 1 else 0] != n:
        raise ValueError(f"b must have shape ({n},) or (..., {n}, k), got {right.shape}")
    return right


def stacked(name: str, a: Array, b: Array) -> tuple[int, ...]:
    """The stack of a matrix or matrices called `name` and right sides, by NumPy's rules: () where both are single."""
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"the stacks of {name} and b do not broadcast: shapes {a.shape} and {b.shape}") from None


def require_finite(*arrays: Array) -> None:
    """ValueError as of numpy.asarray_chkfinite."""
    for array in arrays:  # a NaN or an infinity would show in a sum, as of squares; one that overflows is looked at again
        if array.size <= _FEW and array.flags.forc:
            elements = array.ravel("K")
            if cmath.isfinite(np.vdot(elements, elements)):  # which warns of nothing
                continue
        else:
            with np.errstate(all="ignore"):
                if np.isfinite(array.sum()):
                    continue
        if not np.isfinite(array).all():
            raise ValueError("array must not contain infs or NaNs")


def columns(shape: tuple[int, ...], dtype: np.dtype[Any], *, zero: bool = False) -> Array:
    """A matrix by columns, empty or of zeros, that starts with a cache line where it is large, as the engine likes it."""
    size = shape[0] * shape[1] * dtype.itemsize
    if size <= _SMALL:
        return (np.zeros if zero else np.empty)(shape, dtype, order="F")
    memory = (np.zeros if zero else np.empty)(size + 64, np.uint8)
    return np.ndarray(shape, dtype, memory, line_start(memory), order="F")


def in_place(given: Any, array: Array, overwrite: bool, beside: Array | None = None) -> bool:
    """Whether a result may take the memory of an argument: the caller allows it, it is theirs and not a copy, dense, and shares
    nothing with what is read besides."""
    allowed = overwrite and array is given and array.flags.writeable and array.flags.forc
    return allowed and (beside is None or not np.may_share_memory(array, beside))


def solution_memory(a: Array, b: ArrayLike, right: Array, dtype: np.dtype[Any], overwrite_b: bool) -> Array:
    """The right sides of a system with the matrix a where the solution is to be: in b itself or in a copy by columns."""
    return right if right.dtype == dtype and in_place(b, right, overwrite_b, a) else np.array(right, dtype, order="F")


def as_columns(b: Array) -> Array:
    """Right sides as a matrix: a view."""
    return b[:, None] if b.ndim == 1 else b


def which(index: tuple[int, ...]) -> str:
    """Words for a matrix of a stack; none for a single one."""
    return f", matrix {list(map(int, index))} of the stack" if index else ""
