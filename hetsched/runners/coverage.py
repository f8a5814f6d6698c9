"""What a program of Arrays hands to hetsched, and what it leaves to NumPy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .._base.table import Table
from .._engine import fast

#: Functions of dense linear algebra outside numpy.linalg.
_OTHERS = (np.dot, np.vdot, np.inner, np.outer, np.tensordot, np.einsum, np.kron, np.cov, np.corrcoef)
_PRODUCTS = ("matmul", "dot")


class Tally(NamedTuple):
    """Calls of one function, and the seconds that they took."""

    calls: int
    seconds: float


class Coverage:
    """What `coverage` counted; printed, a sentence.

    Attributes
    ----------
    taken, left : dict of str to Tally
        By the names of NumPy's functions: calls that hetsched worked out, and calls that NumPy did. Products by `@` are "matmul".
    """

    def __init__(self) -> None:
        self.taken: dict[str, Tally] = {}
        self.left: dict[str, Tally] = {}

    def __str__(self) -> str:
        parts = [f"{_names(self.taken)} taken"] if self.taken else []
        parts += [f"{_names(self.left)} left"] if self.left else []
        return ", ".join(parts) or "nothing of linear algebra was called on Arrays"

    def __repr__(self) -> str:
        return f"<Coverage: {self}>"

    def table(self) -> Table:
        """A row for each function: its calls, what share of them was taken, and the seconds of both."""
        nothing = Tally(0, 0.0)
        rows = Table()
        for name in sorted({*self.taken, *self.left}):
            taken, left = self.taken.get(name, nothing), self.left.get(name, nothing)
            counts = {"function": name, "taken": taken.calls, "left": left.calls}
            rows.append({**counts, "seconds taken": taken.seconds, "seconds left": left.seconds})
        return rows


def _names(tallies: dict[str, Tally]) -> str:
    """Their calls, products together."""
    counts: dict[str, int] = {}
    for name, tally in tallies.items():
        kind = "products" if name in _PRODUCTS else name
        counts[kind] = counts.get(kind, 0) + tally.calls
    words = ((count, "product" if name == "products" and count == 1 else name) for name, count in counts.items())
    return ", ".join(f"{count} {name}" for count, name in words)


class _Call:
    """A call that goes on; inner is whether one inside it was taken."""

    def __init__(self) -> None:
        self.taken = self.inner = False


_open: list[Coverage] = []
_lock = threading.Lock()
_calls = threading.local()


@contextmanager
def coverage() -> Iterator[Coverage]:
    """Count the calls of linear algebra on Arrays in a block: what hetsched takes, and what it leaves to NumPy.

    Returns
    -------
    context manager
        The block gets a Coverage, whose counts grow as it runs.

    Notes
    -----
    Counted are `@`, numpy.matmul, dot, inner, outer, tensordot, einsum, kron, cov, corrcoef and the functions of numpy.linalg, of
    all threads, where one of the arguments is an Array. Of a function that calls others, such as numpy.linalg.multi_dot, only
    those inside count once hetsched takes one of them. A small product, which is left to NumPy at once, takes some
    microseconds more in such a block.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> X = hs.asarray(np.eye(300))
    >>> with hs.coverage() as seen:
    ...     w = np.linalg.eigh(X @ X)
    >>> print(seen)
    1 product taken, 1 eigh left
    """
    seen = Coverage()
    with _lock:
        _open.append(seen)
        fast.watch(True)
    try:
        yield seen
    finally:
        with _lock:
            _open[:] = [other for other in _open if other is not seen]
            fast.watch(bool(_open))


def name_of(function: Callable[..., Any]) -> str | None:
    """Under which a function is counted, if it is, and now."""
    if not _open or (function is not np.matmul and function not in _OTHERS and not _is_linalg(function)):
        return None
    return function.__name__


def _is_linalg(function: Callable[..., Any]) -> bool:
    return getattr(function, "__module__", "") == "numpy.linalg"


@contextmanager
def counted(name: str) -> Iterator[None]:
    """A block that is a call of a function; `took` in it says that hetsched does it."""
    stack = _calls.__dict__.setdefault("stack", [])
    call, start = _Call(), time.perf_counter()
    stack.append(call)
    try:
        yield
    finally:
        stack.pop()
        seconds = time.perf_counter() - start
        if stack and (call.taken or call.inner):
            stack[-1].inner = True
        if call.taken or not call.inner:
            with _lock:
                for seen in _open:
                    tallies = seen.taken if call.taken else seen.left
                    calls, before = tallies.get(name, Tally(0, 0.0))
                    tallies[name] = Tally(calls + 1, before + seconds)


def took() -> None:
    """The call that goes on is hetsched's."""
    if _open and (stack := _calls.__dict__.get("stack")):
        stack[-1].taken = True
