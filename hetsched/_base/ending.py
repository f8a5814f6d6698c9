"""The end of the interpreter while threads that the program leaves behind, daemon threads, still compute.

From some moment on Python ends each other thread that asks for the interpreter's lock (from 3.14 on it stops it for ever), in a
callback too. What lies on the stack of such a thread is then gone, though others may be at work on it, and C++ code on that stack
ends the process. So what calls Python back, and what comes back to it through C++, is ended before.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

_PATIENCE = 10.0  # seconds for all that has to be waited for: it is cancelled, and has ended in a fraction of one

#: What cancels and waits, given how many seconds are left, to be asked at any time.
End = Callable[[Callable[[], float]], None]

_ends: list[End] = []
_thread: int | None = None  # the one that ends the interpreter, once it has begun to


def before_the_end(end: End) -> End:
    """A decorator of a function that cancels what other threads compute and waits for it; what they begin later is to be refused,
    see `is_refused`.

    It is called by the thread that ends the interpreter, after the program's last statement, when all threads have ended that are
    waited for and before daemon threads are.
    """
    _ends.append(end)
    return end


def is_refused() -> bool:
    """Whether the calling thread is to compute no more, for another one ends the interpreter."""
    return _thread is not None and _thread != threading.get_ident()


def cancelled() -> BaseException:
    """What a call that was cancelled raises: KeyboardInterrupt, or what ends a thread without a word."""
    return SystemExit() if is_refused() else KeyboardInterrupt()


@atexit.register
def _end_all() -> None:
    global _thread
    _thread = threading.get_ident()
    until = time.monotonic() + _PATIENCE
    for end in _ends:
        end(lambda: max(0.0, until - time.monotonic()))
