"""csrc/stack: stacks of products, systems and factors.

Arrays must be aligned, of one supported dtype, with strides of whole elements. Operands are
broadcast to the stack of the output, the items of which must not overlap. Except for products, an
output may also be an operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import CODES
from .ffi import doubles, ffi, int32s, int64s, lib, or_null
from .run import Poll, Threads, address, finish

Array = NDArray[Any]
Indices = NDArray[np.int64]
Shares = NDArray[np.float64]


def products(
    threads: Threads,
    a: Array,
    b: Array,
    c: Array,
    alpha: complex,
    beta: complex,
    poll: Poll | None,
    speeds: Shares | None = None,
) -> None:
    """c <- alpha a b + beta c for a (..., m, k), b (..., k, n) and c (..., m, n)."""
    _run(threads, lib.HS_STACK_MULTIPLY, (a, b, c), poll, speeds, alpha=alpha, beta=beta)


def solve(
    threads: Threads,
    a: Array,
    b: Array,
    out: Array,
    poll: Poll | None,
    speeds: Shares | None = None,
) -> Indices:
    """out <- a^-1 b for a (..., n, n), b and out (..., n, k).

    Returns for each item the first column without a pivot, or -1. An item without a solution
    becomes NaN.
    """
    return _run(threads, lib.HS_STACK_SOLVE, (a, b, out), poll, speeds)


def inverse(
    threads: Threads, a: Array, out: Array, poll: Poll | None, speeds: Shares | None = None
) -> Indices:
    """out <- a^-1; otherwise like `solve`."""
    return _run(threads, lib.HS_STACK_INVERT, (a, None, out), poll, speeds)


def lu(
    threads: Threads,
    a: Array,
    out: Array,
    pivots: NDArray[np.int32],
    poll: Poll | None,
    speeds: Shares | None = None,
) -> Indices:
    """out <- the factors L (without its unit diagonal) and U of each item.

    pivots (..., n) must be contiguous; they are as in scipy.linalg.lu_factor. Returns for each item
    the first zero on the diagonal of U, or -1.
    """
    return _run(threads, lib.HS_STACK_LU, (a, None, out), poll, speeds, pivots=pivots)


def cholesky(
    threads: Threads, a: Array, out: Array, poll: Poll | None, speeds: Shares | None = None
) -> Indices:
    """Lower triangles of out <- L with L L^H = a; only the lower triangles of a are read.

    Returns for each item 0, or the order of the first leading minor that is not positive definite.
    In that case the triangle becomes NaN.
    """
    return _run(threads, lib.HS_STACK_CHOLESKY, (a, None, out), poll, speeds)


def merged(
    shape: tuple[int, ...], strides: list[tuple[int, ...]]
) -> tuple[list[int], list[list[int]]]:
    """The dimensions of a stack and the strides of its arrays.

    Dimensions that all arrays step through evenly are merged into one.
    """
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for size, *here in zip(shape, *strides, strict=True):
        if size == 1:
            continue
        if sizes and all(
            step[-1] == size * stride for step, stride in zip(steps, here, strict=True)
        ):
            sizes[-1] *= size
            for step, stride in zip(steps, here, strict=True):
                step[-1] = stride
        else:
            sizes.append(size)
            for step, stride in zip(steps, here, strict=True):
                step.append(stride)
    return sizes, steps


def _run(
    threads: Threads,
    operation: int,
    operands: tuple[Array, Array | None, Array],
    poll: Poll | None,
    speeds: Shares | None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    pivots: NDArray[np.int32] | None = None,
) -> Indices:
    a, b, c = operands
    stack, e = c.shape[:-2], c.itemsize
    arrays = [
        np.broadcast_to(x, (*stack, *x.shape[-2:])) if x is not c else c
        for x in (a, b, c)
        if x is not None
    ]
    sizes, steps = merged(stack, [tuple(stride // e for stride in x.strides[:-2]) for x in arrays])
    addresses = [address(x) for x in arrays]
    matrices = [
        (at, x.strides[-2] // e, x.strides[-1] // e)
        for at, x in zip(addresses, arrays, strict=True)
    ]
    views = [ffi.new("int64_t[]", step) for step in steps]
    if b is None:
        matrices.insert(1, (ffi.NULL, 0, 0))
        views.insert(1, ffi.NULL)
    product = (
        CODES[c.dtype.num],
        c.shape[-2],
        c.shape[-1],
        a.shape[-1],
        *matrices[0],
        *matrices[1],
        *matrices[2],
        (alpha.real, alpha.imag),
        (beta.real, beta.imag),
    )
    size = ffi.new("int64_t[]", sizes)
    info = np.empty(stack, np.int64)
    found = ffi.NULL if operation == lib.HS_STACK_MULTIPLY else int64s(info.reshape(-1))
    rows = ffi.NULL if pivots is None else int32s(pivots.reshape(-1), info.size * min(c.shape[-2:]))
    problem = ffi.new("hs_stack *", (operation, len(sizes), size, *views, product, rows, found))
    handle = ffi.NULL if poll is None else ffi.new_handle(poll)
    options = ffi.new(
        "hs_options *", (ffi.NULL, ffi.NULL if poll is None else lib.hs_python_poll, handle)
    )
    status = lib.hs_run_stack(
        threads.handle, problem, or_null(speeds, doubles, threads.size), options, ffi.NULL
    )
    finish(status, poll)
    return info
