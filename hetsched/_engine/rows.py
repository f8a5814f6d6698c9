"""Many problems of one kind, some rows at a time, on several threads: the engine's planners know nothing of threads."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from typing import Any

from .._base.waits import take
from .ffi import check_status, ffi

#: A call for rows first .. last - 1, which a flag cancels; a status, or what it raises.
Rows = Callable[[int, int, Any], int]

_CHUNKS = 32  # for each thread: what is left at the end is short, and progress is told as often

#: How many threads may be started, asked where they are, and where progress is told.
Threads = Callable[[], int]


def over_rows(call: Rows, rows: int, brief: bool, threads: Threads, progress: Callable[[float], object] | None = None) -> None:
    """call for all rows: at once if that is brief, else in chunks on threads.

    Progress is told, and Ctrl-C seen, by the thread that calls. The first error ends all; chunks that run then end by themselves,
    and write only where nobody looks any more.
    """
    if brief and progress is None:
        check_status(call(0, rows, ffi.NULL))
        return
    most = threads()
    step = max(1, rows // (_CHUNKS * most))
    starts, cancel = itertools.count(0, step), ffi.new("int *")
    ended: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            while not cancel[0] and (first := next(starts)) < rows:
                last = min(first + step, rows)
                check_status(call(first, last, cancel))
                ended.put(last - first)
        except BaseException as error:
            ended.put(error)

    done = 0
    try:
        for _ in range(min(most, -(-rows // step))):
            threading.Thread(target=work, daemon=True).start()
        while done < rows:
            found = take(ended)
            if isinstance(found, BaseException):
                raise found
            done += found
            if progress is not None:
                progress(done / rows)
    finally:
        cancel[0] = 1
