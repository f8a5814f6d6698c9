"""Many problems of one kind, computed on several threads, some rows at a time.

The engine's planners know nothing of threads.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from typing import Any

from .._base.waits import take
from .ffi import check_status, ended_before_exit, ffi

#: Computes rows first .. last - 1; a flag cancels it. It returns a status, or raises.
Rows = Callable[[int, int, Any], int]


class RowError(Exception):
    """The engine refuses a row of a stack; `row` is its number."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


_CHUNKS = 32  # chunks for each thread: the last ones end soon, and progress is reported as often


def over_rows(
    call: Rows,
    rows: int,
    threads: int,
    progress: Callable[[float], object] | None = None,
) -> None:
    """Run `call` for all rows, in chunks on so many threads.

    threads : 0 if the calling thread is to do all rows at once; then there is no progress.

    The calling thread reports progress and handles Ctrl-C. The first error ends everything. Chunks
    that are running then end by themselves; nothing reads what they still write.
    """
    if not threads:
        check_status(call(0, rows, ffi.NULL))
        return
    step = max(1, rows // (_CHUNKS * threads))
    starts, cancel = itertools.count(0, step), ffi.new("int *")
    ended: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            with ended_before_exit(cancel):
                while not cancel[0] and (first := next(starts)) < rows:
                    last = min(first + step, rows)
                    check_status(call(first, last, cancel))
                    ended.put(last - first)
        except BaseException as error:
            ended.put(error)

    done = 0
    try:
        for _ in range(min(threads, -(-rows // step))):
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
