"""The end of the interpreter while daemon threads of the program still compute.

From some moment on, Python ends every other thread that asks for the interpreter's lock (from 3.14
on it stops the thread forever), also inside a callback. The stack of such a thread is then gone,
although other threads may still use it, and C++ code on that stack ends the process. So everything
that calls Python back, or returns to it through C++, is ended before.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable

# seconds to wait for everything; it is cancelled and ends in a fraction of a second
_PATIENCE = 10.0

#: Cancels and waits. It gets a function that returns the seconds left and may be called any time.
End = Callable[[Callable[[], float]], None]

_ends: list[End] = []
_thread: int | None = None  # the thread that ends the interpreter, once it has begun to


def before_the_end(end: End) -> End:
    """Decorate a function that cancels computations of other threads and waits for them.

    Computations that begin later must be refused, see `is_refused`. The function is called by the
    thread that ends the interpreter, after the program's last statement. All threads that Python
    waits for have then ended, and daemon threads have not been ended yet.
    """
    _ends.append(end)
    return end


def is_refused() -> bool:
    """Whether the calling thread must not compute any more, because another one ends Python."""
    return _thread is not None and _thread != threading.get_ident()


def cancelled() -> BaseException:
    """The error of a cancelled call: KeyboardInterrupt, or SystemExit to end a thread silently."""
    return SystemExit() if is_refused() else KeyboardInterrupt()


@atexit.register
def _end_all() -> None:
    global _thread
    _thread = threading.get_ident()
    until = time.monotonic() + _PATIENCE
    for end in _ends:
        end(lambda: max(0.0, until - time.monotonic()))
