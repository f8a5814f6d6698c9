"""How many threads hetsched may use at most: for the whole process, as threadpoolctl says, and for a thread alone."""

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
    """A context in which the functions of hetsched use at most n workers, for this thread alone.

    Parameters
    ----------
    n : int
        At least 1; more than there are is no limit.

    Returns
    -------
    context manager
        A decorator, too. Inside another one, or inside threadpoolctl's `threadpool_limits`, the smaller limit holds.

    Notes
    -----
    It is for what shares the pool of this machine's cores: `matmul`, `solve`, `Array`, ..., and for planners that are given a
    stack of platforms. A `Pool` has the workers that it was made with. Like `numpy.errstate` the limit is a context variable:
    threads that are started inside do not inherit it, tasks of asyncio do. Limits for the whole process are those of
    `threadpoolctl.threadpool_limits`, where that is installed.

    Threads with a limit have pools of their own: their calls run at the same time, not one after another.

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
    """How many workers a call that begins now may use; None is no limit."""
    own = _own.get()
    return _process if own is None or (_process is not None and _process < own) else own


def process_limit() -> int | None:
    return _process


def limit_process(n: int | None) -> None:
    """For calls that begin later, of all threads; None is no limit."""
    global _process
    _process = n


def threads_here() -> int:
    """How many threads a call that begins now may have compute on this machine: those worth starting, by `topology`, or fewer
    by a limit. It reads what the machine is."""
    worth, limit = topology().worth, most()
    return worth if limit is None else min(worth, limit)
