"""Counts of the calls on Arrays that hetsched computes, and of the calls left to NumPy."""

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
_OTHERS = (
    np.dot,
    np.vdot,
    np.inner,
    np.outer,
    np.tensordot,
    np.einsum,
    np.kron,
    np.cov,
    np.corrcoef,
)
_PRODUCTS = ("matmul", "dot")


class Tally(NamedTuple):
    """Number of calls of one function, and their time in seconds."""

    calls: int
    seconds: float


class Coverage:
    """The counts of `coverage`; str() gives a sentence.

    Attributes
    ----------
    taken, left : dict of str to Tally
        Calls that hetsched computed, and calls that NumPy computed, by the name of the NumPy
        function. Products by `@` are "matmul".
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
        """One row for each function: its calls taken and left, and the seconds of both."""
        nothing = Tally(0, 0.0)
        rows = Table()
        for name in sorted({*self.taken, *self.left}):
            taken, left = self.taken.get(name, nothing), self.left.get(name, nothing)
            counts = {"function": name, "taken": taken.calls, "left": left.calls}
            rows.append({**counts, "seconds taken": taken.seconds, "seconds left": left.seconds})
        return rows


def _names(tallies: dict[str, Tally]) -> str:
    """Text with the number of calls of each function; all products count together."""
    counts: dict[str, int] = {}
    for name, tally in tallies.items():
        kind = "products" if name in _PRODUCTS else name
        counts[kind] = counts.get(kind, 0) + tally.calls
    words = (
        (count, "product" if name == "products" and count == 1 else name)
        for name, count in counts.items()
    )
    return ", ".join(f"{count} {name}" for count, name in words)


class _Call:
    """A call in progress.

    inner : whether hetsched took a call inside it
    left : names and seconds of the calls inside it that were left to NumPy. They count if `inner`
    """

    def __init__(self) -> None:
        self.taken = self.inner = False
        self.left: list[tuple[str, float]] = []


_open: list[Coverage] = []
_lock = threading.Lock()
_calls = threading.local()


@contextmanager
def coverage() -> Iterator[Coverage]:
    """Count the calls of linear algebra on Arrays in a block, taken by hetsched or left to NumPy.

    Returns
    -------
    context manager
        The block gets a Coverage. Its counts grow while the block runs.

    Notes
    -----
    The functions counted are `@`, numpy.matmul, dot, vdot, inner, outer, tensordot, einsum, kron,
    cov, corrcoef and the functions of numpy.linalg. Calls on all threads count if one of the
    arguments is an Array. If a function calls others, such as numpy.linalg.multi_dot, and hetsched
    takes one of the inner calls, then only the inner calls count; otherwise only the outer call. In
    such a block a small product, which otherwise goes to NumPy at once, takes some microseconds
    more.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> X = hs.asarray(np.eye(300))
    >>> with hs.coverage() as seen:
    ...     w = np.linalg.eigvals(X @ X)
    >>> print(seen)
    1 product taken, 1 eigvals left
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
    """Return the name under which a function is counted, or None if it is not counted now."""
    if not _open or (
        function is not np.matmul and function not in _OTHERS and not _is_linalg(function)
    ):
        return None
    return function.__name__


def _is_linalg(function: Callable[..., Any]) -> bool:
    return getattr(function, "__module__", "") == "numpy.linalg"


@contextmanager
def counted(name: str) -> Iterator[None]:
    """Count the block as a call of a function. `took` inside it marks it as taken by hetsched."""
    stack = _calls.__dict__.setdefault("stack", [])
    call, start = _Call(), time.perf_counter()
    stack.append(call)
    try:
        yield
    finally:
        stack.pop()
        seconds = time.perf_counter() - start
        if call.taken:
            _add([(name, seconds)], taken=True)
            left = []
        else:
            left = call.left if call.inner else [(name, seconds)]
        if stack:
            stack[-1].inner |= call.taken or call.inner
            stack[-1].left += left
        else:
            _add(left, taken=False)


def _add(calls: list[tuple[str, float]], *, taken: bool) -> None:
    """Add calls to the tallies of all blocks that are open."""
    with _lock:
        for seen in _open:
            tallies = seen.taken if taken else seen.left
            for name, seconds in calls:
                count, before = tallies.get(name, Tally(0, 0.0))
                tallies[name] = Tally(count + 1, before + seconds)


def took() -> None:
    """Mark the call in progress as taken by hetsched."""
    if _open and (stack := _calls.__dict__.get("stack")):
        stack[-1].taken = True
