"""Waits for other threads and processes that Ctrl-C can end.

Python runs a signal handler in the main thread, between two steps of its bytecode. A signal ends a
wait early only if it reaches the main thread while that thread sleeps. A signal between the release
of the interpreter's lock and the sleep, or one that reaches another thread, is handled when the
wait ends: perhaps never, if the wait has no limit. So the main thread waits in short pieces.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

#: Length of a piece in seconds: the longest delay of Ctrl-C.
PIECE = 0.05


def take(queue: SimpleQueue[T]) -> T:
    """The next item of a queue; waits until there is one."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=PIECE)
