"""QR factorisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._base.need import need
from .._engine import factor, tall, tuning
from .._engine import run as engine
from .arguments import columns, in_place, matrices, matrix, require_finite
from .factor import Problem, perform

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..trace import Trace
    from .factor import Wish
    from .operands import Array
    from .workers import Resources

MODES = ("full", "r", "economic", "raw")


def is_tall(m: int, n: int) -> bool:
    """Whether a tree factors m x n elements faster than panels do."""
    ratio = tuning.TALL_RATIO if n <= tuning.TALL_COLS else tuning.TALL_WIDE_RATIO
    return n > 0 and m >= ratio * n


def decomposition(
    threads: engine.Threads,
    given: ArrayLike,
    overwrite_a: bool,
    mode: str,
    pivoting: bool,
    check_finite: bool,
) -> tuple[Any, ...]:
    """Implement `qr`."""
    a = matrices("a", given)
    overwrite_a, pivoting = check.flag("overwrite_a", overwrite_a), check.flag("pivoting", pivoting)
    mode = check.choice("mode", mode, MODES)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    if pivoting:
        scipy = need("scipy.linalg", "pivoting=True")
        found = by_item(
            a, lambda x: _flat(scipy.qr(x, mode=mode, pivoting=True, check_finite=False), mode)
        )
    else:
        memory = a if a.ndim == 2 and in_place(given, a, overwrite_a) else None
        found = by_item(a, lambda x: parts(threads, x, mode, memory))
    return ((found[0], found[1]), *found[2:]) if mode == "raw" else found


def by_plan(
    resources: Resources,
    given: ArrayLike,
    overwrite_a: bool,
    mode: str,
    check_finite: bool,
    wish: Wish,
) -> tuple[tuple[Any, ...], Trace | None]:
    """Implement `Pool.qr`."""
    a = matrix("a", given)
    overwrite_a, mode = check.flag("overwrite_a", overwrite_a), check.choice("mode", mode, MODES)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    mine = in_place(given, a, overwrite_a)
    x, tau = a if mine else columns(a.shape, a.dtype), np.zeros(min(a.shape), a.dtype)
    _, trace = perform(resources, Problem("qr", None if mine else a, x, tau=tau), wish)
    found = _parts_of(resources.threads, x, tau, mode)
    return (((found[0], found[1]), found[2]) if mode == "raw" else found), trace


def _flat(found: tuple[Any, ...], mode: str) -> tuple[Array, ...]:
    return (*found[0], *found[1:]) if mode == "raw" else found


def by_item(a: Array, one: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
    """The results of one(matrix) for each matrix of a stack, stacked."""
    stack = a.shape[:-2]
    if not stack:
        return one(a)
    found = [one(a[index]) for index in np.ndindex(stack)]
    # For an empty stack, the results for one matrix of zeros give the shapes.
    kinds = zip(*(found or [one(np.zeros(a.shape[-2:], a.dtype))]), strict=True)
    return tuple(np.stack(each)[: len(found)].reshape(*stack, *each[0].shape) for each in kinds)


def parts(
    threads: engine.Threads, a: Array, mode: str, memory: Array | None = None
) -> tuple[Array, ...]:
    """Factor one matrix: (Q, R), (R,), or (reflectors, tau, R) in mode "raw".

    memory : a itself if it may be overwritten, otherwise None.
    """
    m, n = a.shape
    if mode == "economic" and is_tall(m, n):
        q, r = columns((m, n), a.dtype), columns((n, n), a.dtype, zero=True)
        tall.tall_qr(threads, a, q, r, None, None, None, engine.Poll())
        return q, r
    if mode == "r" and is_tall(m, n):
        r = columns((m, n), a.dtype, zero=True)
        r[:n] = triangle(threads, a)
        return (r,)
    x, tau = reflectors(threads, a, memory)
    return _parts_of(threads, x, tau, mode)


def _parts_of(threads: engine.Threads, x: Array, tau: Array, mode: str) -> tuple[Array, ...]:
    """The results of `parts`, from the reflectors."""
    (m, n), k = x.shape, len(tau)
    r = columns((k if mode in ("economic", "raw") else m, n), x.dtype, zero=True)
    _copy_upper(r, x, k)
    if mode == "r":
        return (r,)
    return (
        (x, tau, r)
        if mode == "raw"
        else (unitary(threads, x, tau, k if mode == "economic" else m), r)
    )


def _copy_upper(r: Array, x: Array, k: int) -> None:
    """Copy the upper trapezium of the first k rows of x to r.

    It is copied a few columns at a time, because numpy.triu would create a mask of the whole
    matrix.
    """
    step = 64
    for j in range(0, x.shape[1], step):
        own = slice(j, min(j + step, k))
        r[: min(j, k), j : j + step] = x[: min(j, k), j : j + step]
        if j < k:
            r[own, j : j + step] = np.triu(x[own, j : j + step])


def triangle(threads: engine.Threads, a: Array) -> Array:
    """Only R of the economic factorisation."""
    m, n = a.shape
    if not is_tall(m, n):
        return parts(threads, a, "raw")[2]
    r = columns((n, n), a.dtype, zero=True)
    tall.tall_qr(threads, a, None, r, None, None, None, engine.Poll())
    return r


def reflectors(
    threads: engine.Threads, a: Array, memory: Array | None = None
) -> tuple[Array, Array]:
    """R on and above the diagonal, reflectors below it, and their factors, as in LAPACK's geqrf."""
    x = columns(a.shape, a.dtype) if memory is None else memory
    tau = np.zeros(min(a.shape), a.dtype)
    if a.size:
        factor.qr(threads, a if memory is None else None, x, tau, engine.Poll())
    return x, tau


def unitary(threads: engine.Threads, x: Array, tau: Array, width: int) -> Array:
    """The first `width` columns of Q."""
    q = columns((len(x), width), x.dtype)
    if q.size:
        factor.qr_multiply(
            threads, x[:, : len(tau)], tau, q, adjoint=False, identity=True, poll=engine.Poll()
        )
    return q


def apply(threads: engine.Threads, x: Array, tau: Array, c: Array, *, adjoint: bool) -> None:
    """c <- Q c, or Q^H c."""
    if c.size and tau.size:
        factor.qr_multiply(
            threads, x[:, : len(tau)], tau, c, adjoint=adjoint, identity=False, poll=engine.Poll()
        )
