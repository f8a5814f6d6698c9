"""Checks of matmul's arguments by NumPy's rules for shapes and dtypes.

Errors name the argument.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._base import check
from .._base.progress import Progress, share_of
from .._engine.dtypes import DTYPES

#: Names of the dtypes that the engine multiplies.
SUPPORTED = ", ".join(d.name for d in DTYPES)
Array = NDArray[Any]
_ADDRESSES = np.iinfo(np.intp).max


def as_array(name: str, value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    """numpy.asarray, but raise TypeError if the conversion would silently lose information.

    It would ignore the mask of a masked array, and take a sparse matrix for a single object.
    """
    if type(value) is np.ndarray and dtype is None:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and its mask would be ignored; give {name}.filled(...) or"
            f" {name}.data"
        )
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(value):
        raise TypeError(f"{name} is a sparse {type(value).__name__}; give {name}.toarray()")
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:  # OverflowError: outside the range
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{name} is not an array{'' if dtype is None else f' of dtype {dtype!r}'}: {error}"
        ) from None


def operand(name: str, value: ArrayLike) -> Array:
    """Convert to an aligned array of a supported dtype in this machine's byte order.

    The array is copied only if its byte order or alignment differs.
    """
    found = as_array(name, value)
    if found.dtype not in DTYPES:
        native = found.dtype.newbyteorder("=")
        if native not in DTYPES:
            raise TypeError(f"{name} has dtype {found.dtype}; supported are {SUPPORTED}")
        found = found.astype(native)
    return found if element_strides(found) else found.copy()


def element_strides(array: Array) -> bool:
    """Whether the array can be described by strides counted in elements."""
    flags = array.flags
    return flags.aligned and (flags.forc or all(s % array.itemsize == 0 for s in array.strides))


class Operands(NamedTuple):
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
        return (*self.c.shape[-2:], self.a.shape[-1])

    def products(
        self, progress: Progress | None
    ) -> Iterator[tuple[tuple[Array, Array, Array], Progress | None]]:
        """The operands of each product of a stack, and its progress function.

        Each product counts as an equal share of the whole.
        """
        if self.c.ndim == 2:  # without the time that the loop takes to start
            yield (self.a, self.b, self.c), progress
            return
        shape = self.c.shape[:-2]
        share = 1.0 / max(1, math.prod(shape))
        for i, index in enumerate(np.ndindex(shape)):
            yield (
                (self.a[index], self.b[index], self.c[index]),
                share_of(progress, i * share, share),
            )

    def by_numpy(self) -> None:
        """Compute the products with NumPy, by the rules of the engine.

        A and B are not read if alpha is 0. C is not read if beta is 0. Overflow caused by the two
        scalars gives no warning.
        """
        if self.alpha == 1 and self.beta == 0:
            np.matmul(self.a, self.b, out=self.c)
            return
        with np.errstate(all="ignore"):
            alpha, beta = self.c.dtype.type(self.alpha), self.c.dtype.type(self.beta)
            product: Any = None
            if alpha != 0:
                product = np.matmul(self.a, self.b)
                product *= alpha
            if beta == 0:
                self.c[...] = 0 if product is None else product
            elif product is None:
                self.c[...] *= beta
            else:
                product += beta * self.c
                self.c[...] = product


def operands(
    A: ArrayLike,
    B: ArrayLike,
    out: Array | None,
    alpha: complex,
    beta: complex,
    *,
    others: bool = False,
    make: bool = True,
) -> Operands:
    """Check all arguments before any memory is changed, and allocate the output if none is given.

    The operands are converted as numpy.matmul converts them.

    others : whether to accept dtypes that the engine does not multiply.
    make : whether to allocate the output. If False, the result has only its shape and dtype.
    """
    a, b = as_array("A", A), as_array("B", B)
    dtype = _common_dtype(a, b, others)
    a, b = _in_elements(a, dtype), _in_elements(b, dtype)
    alpha, beta = scalar("alpha", alpha, dtype), scalar("beta", beta, dtype)

    a2 = a[None, :] if a.ndim == 1 else a
    b2 = b[:, None] if b.ndim == 1 else b
    *stack, m, k = a2.shape
    *stack_of_b, rows, n = b2.shape
    if k != rows:
        raise ValueError(
            f"A has {k} columns and B has {rows} rows (shapes {a.shape} and {b.shape}): they must"
            " be equal"
        )
    if stack != stack_of_b:
        try:
            stack = [*np.broadcast_shapes(a2.shape[:-2], b2.shape[:-2])]
        except ValueError:
            raise ValueError(
                f"the stacks of A and B do not broadcast: shapes {a.shape} and {b.shape}"
            ) from None
        a2 = np.broadcast_to(a2, (*stack, m, k))
        b2 = np.broadcast_to(b2, (*stack, k, n))
    if math.prod(stack) * m * n * dtype.itemsize > _ADDRESSES:
        raise ValueError(
            f"A and B of shapes {a.shape} and {b.shape} have a product larger than the address"
            " space"
        )

    shape = (*stack, *(m,) * (a.ndim > 1), *(n,) * (b.ndim > 1))
    if out is None:
        if beta != 0:
            raise ValueError("beta needs out: there is nothing to add to")
        result = np.empty(shape, dtype) if make else np.broadcast_to(np.zeros((), dtype), shape)
    else:
        result = _output(out, shape, dtype, a, b)
    c = result
    if b.ndim == 1:
        c = c[..., None]
    if a.ndim == 1:
        c = c[..., None, :]
    return Operands(a2, b2, c, result, alpha, beta)


def _common_dtype(a: Array, b: Array, others: bool) -> np.dtype[Any]:
    """The dtype of the product; raise if A or B are no numbers or scalars."""
    if a.dtype is b.dtype and a.dtype in DTYPES and a.ndim and b.ndim:
        return a.dtype
    for operand, x in (("A", a), ("B", b)):
        if x.dtype.kind not in "biufcO":
            raise TypeError(f"{operand} has dtype {x.dtype}; numbers are needed")
        if x.ndim == 0:
            raise ValueError(f"{operand} is a scalar; matmul needs at least one dimension")
    dtype = np.promote_types(a.dtype, b.dtype).newbyteorder("=")
    if dtype not in DTYPES and not others:
        raise TypeError(
            f"A and B have dtypes {a.dtype} and {b.dtype}, their product {dtype}; supported are"
            f" {SUPPORTED}"
        )
    return dtype


def _in_elements(x: Array, dtype: np.dtype[Any]) -> Array:
    """The array with this dtype, copied only where its dtype or its strides are others."""
    x = x if x.dtype is dtype else x.astype(dtype, copy=False)
    return x if element_strides(x) else x.copy()


def scalar(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """Check a scalar and convert it to a number of the dtype's kind."""
    if type(value) is float and dtype.kind == "f" and dtype in DTYPES:
        return value
    value = check.element(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Complex):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if dtype.kind == "O":
        return value
    if dtype.kind != "c" and not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is complex, A and B are {dtype}: it must be real")
    if dtype.kind in "biu":
        return _whole(name, value, dtype)
    try:
        if dtype not in DTYPES:
            with np.errstate(all="ignore"):
                return dtype.type(value)
        return complex(value) if dtype.kind == "c" else float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise ValueError(f"{name} is outside the range of {dtype}") from None


def _whole(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not low <= value <= high or value != int(value):
        raise TypeError(f"{name} is {value}, A and B are {dtype}: it must be a value of that dtype")
    return dtype.type(int(value))


def require_unmasked(name: str, out: Any) -> None:
    if isinstance(out, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, and its mask would be ignored; give {name}.data"
        )


def writable(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> Array:
    """Check that a result can be written to an array; return the array.

    shape, dtype : of the result, which error messages call `what`.
    """
    require_unmasked("out", out)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be an array, got {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, {what} has {shape}")
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype.str}, {what} has {dtype.str}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    if not element_strides(out):
        raise ValueError("out is not aligned to its elements")
    if _overlaps_itself(out):
        raise ValueError(
            "out overlaps itself: its strides do not exclude that several of its elements share"
            " memory"
        )
    return out


def _output(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any], a: Array, b: Array) -> Array:
    writable(out, shape, dtype, "the product")
    for other, x in (("A", a), ("B", b)):
        if np.may_share_memory(out, x) and _shares_memory(out, x):
            raise ValueError(f"out overlaps {other}; give it memory of its own")
    return out


def _shares_memory(x: Array, y: Array) -> bool:
    most: Any = 10_000  # NumPy's type hints before 2.5 allow only -1 and 0
    try:
        return np.shares_memory(x, y, max_work=most)
    except np.exceptions.TooHardError:
        return True  # undecided within the work limit: treat as shared


def _overlaps_itself(array: Array) -> bool:
    """Whether two index tuples may address the same element.

    If the strides are large enough, this is proven to be impossible.
    """
    if array.size <= 1 or array.flags.forc:
        return False
    sides = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    reach = array.itemsize
    for stride, n in sides:
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False
