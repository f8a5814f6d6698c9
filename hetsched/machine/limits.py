"""Limits on the number of threads: of the process, by threadpoolctl, and of single threads."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from .._base import check
from .topology import topology

if TYPE_CHECKING:
    from collections.abc import Iterator

_process: int | None = None
_own: ContextVar[int | None] = ContextVar("hetsched.thread_limit", default=None)


def thread_limit(n: int) -> AbstractContextManager[None]:
    """Limit the workers of hetsched to n in a context, for this thread only.

    Parameters
    ----------
    n : int
        At least 1. More than the available workers is no limit.

    Returns
    -------
    context manager
        It is a decorator too. Inside another `thread_limit`, or inside threadpoolctl's
        `threadpool_limits`, the smaller limit holds.

    Notes
    -----
    The limit applies to everything that uses the shared pool of this machine (`matmul`, `solve`,
    `Array`, ...), and to planners that are given a stack of platforms. A `Pool` keeps the workers
    that it was created with. Like `numpy.errstate`, the limit is a context variable: threads that
    are started inside do not inherit it, asyncio tasks do. For a limit on the whole process use
    `threadpoolctl.threadpool_limits`, if threadpoolctl is installed.

    Threads with a limit have their own pools.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> with hs.thread_limit(1):
    ...     hs.matmul(np.eye(2), [[1.0], [2.0]]).tolist()
    [[1.0], [2.0]]
    """
    return _limited(check.integer("n", n, low=1))


@contextmanager
def _limited(n: int) -> Iterator[None]:
    outer = _own.get()
    token = _own.set(n if outer is None else min(n, outer))
    try:
        yield
    finally:
        _own.reset(token)


def most() -> int | None:
    """Most workers that a call that begins now may use; None for no limit."""
    own = _own.get()
    return _process if own is None or (_process is not None and _process < own) else own


def process_limit() -> int | None:
    return _process


def limit_process(n: int | None) -> None:
    """Set the limit for later calls of all threads; None for no limit."""
    global _process
    _process = n


def threads_here() -> int:
    """Number of threads with which a call that begins now may compute on this machine.

    It is the number worth starting by `topology`, or a smaller limit. Calling this function reads
    the machine's topology.
    """
    worth, limit = topology().worth, most()
    return worth if limit is None else min(worth, limit)
