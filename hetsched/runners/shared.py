"""The pool on the cores of this machine that a process shares, and the functions that use it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any

from numpy.typing import ArrayLike, NDArray

from .._base.progress import Progress
from .._engine import fast
from ..machine import limits
from ..machine.measure import when_measured
from . import product as product_run
from .operands import Array
from .pool import (
    Pool,
    UnpinnedPool,
    has_other_quota,
    is_elsewhere,
    is_here,
    is_inside,
    resources_of,
)
from .workers import Resources, here

_shared: Pool | None = None
# Reentrant: a signal handler may multiply while the thread that it interrupts makes the pool.
_lock = threading.RLock()
# threadpoolctl may be missing, or too old to register other libraries.
with suppress(ImportError, AttributeError):
    from . import threadpool as threadpool


class _Own(threading.local):
    """Pools of one thread.

    `pools` are the pools that limits have asked for, by their sizes. `whole` is the shared pool of
    which they are a part. `nested` are pools of one worker, for calls inside a run of another pool.
    """

    whole: Pool | None = None
    pools: dict[int, Pool]

    def __init__(self) -> None:
        self.nested: list[Pool] = []


_own = _Own()


def shared_pool() -> Pool:
    """The pool of this process, or a pool of this thread if a limit is smaller.

    In a progress function, in a tile, or in a signal handler that interrupts one, the calling
    thread already works on a run of that pool, so its workers are busy. In this case the result is
    a pool of one worker, the calling thread alone.
    """
    global _shared
    pool = _shared
    if pool is None or not is_here(pool):
        with _lock:
            if _shared is None or is_elsewhere(_shared) or has_other_quota(_shared):
                _shared = Pool()
                here.cache_clear()
            pool = _shared
            resources_of(pool)  # it has seen this mask now
        _own.whole, _own.pools = None, {}  # the old ones are parts of another pool
    most = limits.most()
    if most is not None and most < len(pool):
        pool = _smaller(pool, most)
    return _nested(pool) if is_inside(pool) else pool


def shared_resources() -> Resources:
    """What a run needs of the `shared_pool`."""
    pool = shared_pool()
    return resources_of(pool, seen=pool is _shared)


def _nested(whole: Pool) -> Pool:
    for pool in _own.nested:
        if not is_inside(pool):
            return pool
    _own.nested.append(UnpinnedPool(1, deterministic=whole.deterministic))
    return _own.nested[-1]


def _smaller(whole: Pool, size: int) -> Pool:
    if _own.whole is not whole:
        _own.whole, _own.pools = whole, {}
    pool = _own.pools.get(size)
    if pool is None:
        pool = _own.pools[size] = UnpinnedPool(size, deterministic=whole.deterministic)
    return pool


def unpinned_pool(size: int) -> Pool:
    """A pool of workers that are not pinned, because other processes have as many on the same
    cpus."""
    return UnpinnedPool(size)


def renew_shared_pool() -> None:
    """Make the next call create a new pool, for what has been measured meanwhile.

    Runs in progress end on the old pool.
    """
    global _shared
    with _lock:
        _shared = None
    here.cache_clear()


when_measured(renew_shared_pool)


def _forget_shared_pool() -> None:
    global _shared, _lock, _own
    _shared, _lock, _own = None, threading.RLock(), _Own()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_shared_pool)


def matmul(
    A: ArrayLike,
    B: ArrayLike,
    out: NDArray[Any] | None = None,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    *,
    method: str = "auto",
    trace: bool = False,
    progress: bool | Progress | None = None,
) -> Any:
    """alpha A B + beta out on all cores that this process may use, by the speeds that `measure`
    found.

    See `Pool.matmul`. Integers, booleans, half and extended precision and objects are multiplied by
    NumPy and give the result of numpy.matmul.

    Parameters
    ----------
    A, B, out, alpha, beta :
        See `Pool.matmul`.
    method : str
        A method of `Pool.plan`: "columns", "rows", "rectangles", "layers", "cuboids", ... "auto"
        shares tiles of C. If C is small and the inner dimension long, it shares layers, which are
        summed at the end.
    trace : bool
        Return a Trace as well; for operands of at most two dimensions.
    progress :
        See `Pool.matmul`.

    Returns
    -------
    ndarray, or (ndarray, Trace)
        A scalar for two 1-D operands.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> hs.matmul(np.eye(2), np.arange(4.0).reshape(2, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    if _shared is not None:
        seen = fast.product(A, B, out, alpha, beta, method, trace, progress, product_run.SMALL)
        if seen is not None and seen is not True:
            return seen
    else:
        seen = None
    wishes = method, 1, "once", trace, progress
    return product_run.matmul(shared_resources(), seen, A, B, out, alpha, beta, *wishes)


def gram(A: ArrayLike, out: NDArray[Any] | None = None, *, of: str = "rows") -> Array:
    """Inner products of the rows of A with each other, A Aᴴ, or of its columns, Aᴴ A.

    It takes half the work of a product and uses all cores.

    Parameters
    ----------
    A : (..., m, n) array_like
        Numbers with any strides; nothing is copied. NumPy computes dtypes other than float32,
        float64, complex64 and complex128.
    out : ndarray, optional
        Where the result goes. It must have the shape and dtype of the result and share no memory
        with A.
    of : {"rows", "columns"}

    Returns
    -------
    (..., m, m) or (..., n, n) ndarray
        Exactly symmetric. For complex numbers exactly Hermitian, with a real diagonal.

    Raises
    ------
    ValueError, TypeError
        The message names the argument. Nothing has been changed.

    See Also
    --------
    matmul : `matmul(A, A.T)` also takes half the work. For complex numbers it is A Aᵀ.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.gram([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    >>> hs.gram([[1.0, 2.0j]], of="columns").tolist()
    [[(1+0j), 2j], [-2j, (4+0j)]]
    """
    return product_run.gram(shared_resources(), A, out, of)
