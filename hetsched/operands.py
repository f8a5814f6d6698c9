"""NumPy's matmul rules for shapes and dtypes, with errors that name the argument."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._engine import DTYPES

_SUPPORTED = ", ".join(d.name for d in DTYPES)
Array = NDArray[Any]


def operand(name: str, value: ArrayLike) -> Array:
    """An array of a supported dtype with at least one dimension; copied only where its elements are not aligned."""
    array = np.asarray(value)
    if array.dtype not in DTYPES:
        if array.dtype.newbyteorder("=") in DTYPES:
            raise TypeError(
                f"{name} has foreign byte order ({array.dtype.str}); convert it with {name}.astype({array.dtype.name!r})"
            )
        raise TypeError(f"{name} has dtype {array.dtype}; supported are {_SUPPORTED}")
    if array.ndim == 0:
        raise ValueError(f"{name} is a scalar; matmul needs at least one dimension")
    return array if element_strides(array) else array.copy()


def element_strides(array: Array) -> bool:
    """Whether the array can be described by strides counted in elements."""
    return array.flags.aligned and all(s % array.itemsize == 0 for s in array.strides)


@dataclass(frozen=True)
class Operands:
    """Checked operands of one matmul call: stacks of matrices and what the caller gets back.

    a, b and c have equal stack dimensions in front of their two matrix dimensions.
    """

    a: Array
    b: Array
    c: Array
    result: Array
    alpha: complex
    beta: complex

    @property
    def sizes(self) -> tuple[int, int, int]:
        """m, n, k of each product."""
        return self.c.shape[-2], self.c.shape[-1], self.a.shape[-1]

    def __iter__(self) -> Iterator[tuple[Array, Array, Array]]:
        for index in np.ndindex(self.c.shape[:-2]):
            yield self.a[index], self.b[index], self.c[index]


def operands(A: ArrayLike, B: ArrayLike, out: Array | None, alpha: complex, beta: complex, *, name: str = "out") -> Operands:
    """Check everything before anything is changed, and make the output where none is given; name is that of `out`."""
    a, b = operand("A", A), operand("B", B)
    dtype = a.dtype if a.dtype == b.dtype else np.promote_types(a.dtype, b.dtype)
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    alpha, beta = scalar("alpha", alpha, dtype), scalar("beta", beta, dtype)

    a2 = a[None, :] if a.ndim == 1 else a
    b2 = b[:, None] if b.ndim == 1 else b
    if a2.shape[-1] != b2.shape[-2]:
        raise ValueError(
            f"A has {a2.shape[-1]} columns and B has {b2.shape[-2]} rows (shapes {a.shape} and {b.shape}): they must be equal"
        )
    try:
        stack = np.broadcast_shapes(a2.shape[:-2], b2.shape[:-2])
    except ValueError:
        raise ValueError(f"the stacks of A and B do not broadcast: shapes {a.shape} and {b.shape}") from None
    full = (*stack, a2.shape[-2], b2.shape[-1])
    if math.prod(full) * dtype.itemsize > np.iinfo(np.intp).max:
        raise ValueError(f"A and B of shapes {a.shape} and {b.shape} have a product larger than the address space")
    a2 = np.broadcast_to(a2, (*stack, *a2.shape[-2:]))
    b2 = np.broadcast_to(b2, (*stack, *b2.shape[-2:]))

    shape = stack + a.shape[-2:-1] * (a.ndim > 1) + b.shape[-1:] * (b.ndim > 1)
    if out is None:
        if beta != 0:
            raise ValueError(f"beta needs {name}: there is nothing to add to")
        result = np.empty(shape, dtype)
    else:
        result = _output(out, shape, dtype, a, b, name)
    c = result
    if b.ndim == 1:
        c = c[..., None]
    if a.ndim == 1:
        c = c[..., None, :]
    return Operands(a2, b2, c, result, alpha, beta)


def scalar(name: str, value: complex, dtype: np.dtype[Any]) -> complex:
    """A number of the dtype's kind."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Complex):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if dtype.kind != "c" and not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is complex, A and B are {dtype}")
    return complex(value) if dtype.kind == "c" else float(value)


def writable(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any], what: str, name: str = "out") -> Array:
    """An array that a result can be written to, which is to have the shape and dtype of `what`."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{name} must be an array, got {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"{name} has shape {out.shape}, {what} has {shape}")
    if out.dtype != dtype:
        raise TypeError(f"{name} has dtype {out.dtype.str}, {what} has {dtype.str}")
    if not out.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if not element_strides(out):
        raise ValueError(f"{name} is not aligned to its elements")
    if _overlaps_itself(out):
        raise ValueError(f"{name} overlaps itself: several of its elements share memory")
    return out


def _output(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any], a: Array, b: Array, name: str) -> Array:
    writable(out, shape, dtype, "the product", name)
    for other, x in (("A", a), ("B", b)):
        if np.may_share_memory(out, x) and _shares_memory(out, x):
            raise ValueError(f"{name} overlaps {other}; give it memory of its own")
    return out


def _shares_memory(x: Array, y: Array) -> bool:
    try:
        return np.shares_memory(x, y, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True  # not decided in reasonable time: refuse


def _overlaps_itself(array: Array) -> bool:
    """Whether two index tuples may reach one element; sufficient strides prove that none do."""
    if array.size <= 1:
        return False
    sides = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    reach = array.itemsize
    for stride, n in sides:
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False
