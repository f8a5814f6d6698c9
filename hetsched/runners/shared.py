"""The pool of this machine's cores, and the functions that use it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any

from numpy.typing import ArrayLike, NDArray

from .._base.progress import Progress
from .._engine import fast
from .._engine import run as engine
from ..machine import limits
from ..machine.blocks import everywhere
from ..machine.measure import when_measured
from ..machine.topology import topology
from . import product as product_run
from .operands import Array
from .pool import Pool
from .workers import here

_shared: Pool | None = None
_lock = threading.RLock()  # a signal handler may multiply while the thread that it interrupts makes the pool
with suppress(ImportError, AttributeError):  # threadpoolctl is not there, or too old to be told of others
    from . import threadpool as threadpool


class _Smaller(Pool):
    """Some workers on no cpu in particular: other threads, or processes, have others."""

    def _started(self) -> engine.Threads:
        blocks = everywhere(topology())  # those of the pool whose part they are: another depth would give other bits
        own = () if blocks is None else (blocks,)
        return engine.Threads(len(self), None, own, (0,) * len(self), deterministic=self.deterministic)


class _Own(threading.local):
    """Of a thread: the pools that limits have asked for, by their sizes, and the shared pool of which they are a part; and pools
    of one worker, for calls inside a run of another pool."""

    whole: Pool | None = None
    pools: dict[int, Pool]

    def __init__(self) -> None:
        self.nested: list[Pool] = []


_own = _Own()


def shared_pool() -> Pool:
    """The pool of this process, or where a limit is smaller a pool of this thread.

    In a progress function, a tile, or a signal handler that interrupts one, the calling thread works on a run of that pool
    already, whose workers are busy: then it is a pool of one worker, the calling thread alone.
    """
    global _shared
    pool = _shared
    if pool is None or pool._is_elsewhere():
        with _lock:
            if _shared is None or _shared._is_elsewhere():
                _shared = Pool()
                here.cache_clear()
            pool = _shared
        _own.whole, _own.pools = None, {}  # parts of another one
    most = limits.most()
    if most is not None and most < len(pool):
        pool = _smaller(pool, most)
    return _nested(pool) if pool._is_inside() else pool


def _nested(whole: Pool) -> Pool:
    for pool in _own.nested:
        if not pool._is_inside():
            return pool
    _own.nested.append(_Smaller(1, deterministic=whole.deterministic))
    return _own.nested[-1]


def _smaller(whole: Pool, size: int) -> Pool:
    if _own.whole is not whole:
        _own.whole, _own.pools = whole, {}
    pool = _own.pools.get(size)
    if pool is None:
        pool = _own.pools[size] = _Smaller(size, deterministic=whole.deterministic)
    return pool


def unpinned_pool(size: int) -> Pool:
    """Some workers on no cpu in particular, beside other processes that have as many on the same cpus."""
    return _Smaller(size)


def renew_shared_pool() -> None:
    """The next call makes a new one, by what has been measured meanwhile; runs in progress end on the old one."""
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
    """alpha A B + beta out on all cores that this process may use, by the speeds that `measure` found; see `Pool.matmul`.

    Integers, booleans, half and extended precision and objects give what numpy.matmul gives, by NumPy.

    Parameters
    ----------
    A, B, out, alpha, beta :
        As of `Pool.matmul`.
    method : str
        One of `Pool.plan`: "columns", "rows", "rectangles", "layers", "cuboids", ... "auto" shares tiles of C,
        or, where C is small and the inner dimension long, layers that are summed in the end.
    trace : bool
        Return a Trace as well; for operands of at most two dimensions.
    progress :
        As of `Pool.matmul`.

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
    if (
        _shared is not None
        and (small := fast.product(A, B, out, alpha, beta, method, trace, progress, product_run.SMALL)) is not None
    ):
        return small
    return shared_pool().matmul(A, B, out, alpha, beta, method=method, trace=trace, progress=progress)


def gram(A: ArrayLike, out: NDArray[Any] | None = None, *, of: str = "rows") -> Array:
    """Inner products of the rows of A with each other, A Aᴴ, or of its columns, Aᴴ A: half the work of a product, on all cores.

    Parameters
    ----------
    A : (..., m, n) array_like
        Numbers with any strides; nothing is copied. Other dtypes than float32, float64, complex64 and complex128 go to NumPy.
    out : ndarray, optional
        Where the result goes: its shape and dtype, no memory in common with A.
    of : {"rows", "columns"}

    Returns
    -------
    (..., m, m) or (..., n, n) ndarray
        Exactly symmetric; of complex numbers exactly Hermitian, with a real diagonal.

    Raises
    ------
    ValueError, TypeError
        The message names the argument; nothing has been changed.

    See Also
    --------
    matmul : `matmul(A, A.T)` is recognised and takes half the work, too; of complex numbers it is A Aᵀ.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.gram([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    >>> hs.gram([[1.0, 2.0j]], of="columns").tolist()
    [[(1+0j), 2j], [-2j, (4+0j)]]
    """
    pool = shared_pool()
    return product_run.gram(pool._live(), pool._workers, A, out, of)
