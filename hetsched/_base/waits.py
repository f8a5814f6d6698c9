"""Waits for other threads and processes, which Ctrl-C ends.

Python runs a signal's handler in the main thread, between two steps of its bytecode. A signal cuts a wait short only if it comes
to the main thread and finds it asleep. One that comes between the release of the interpreter's lock and the sleep, or to another
thread, is handled when the wait ends: without a limit perhaps never. So the main thread waits in short pieces.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

#: Seconds of a piece: the longest delay of Ctrl-C.
PIECE = 0.05


def take(queue: SimpleQueue[T]) -> T:
    """The next item of a queue, once there is one."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=PIECE)
