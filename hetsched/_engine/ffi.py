"""What this folder shares: the library, its errors, array arguments, calls that Ctrl-C can end."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.ending import before_the_end, cancelled, is_refused
from .._base.waits import PIECE
from ..errors import InfeasibleError
from ._hetsched import ffi as ffi
from ._hetsched import lib as lib

_EXCEPTIONS = {
    lib.HS_ERROR_VALUE: ValueError,
    lib.HS_ERROR_MEMORY: MemoryError,
    lib.HS_ERROR_INFEASIBLE: InfeasibleError,
    lib.HS_ERROR_THREAD: RuntimeError,
    lib.HS_ERROR_UNSUPPORTED: NotImplementedError,
}


def check_status(status: int) -> None:
    """Raise the error that a status other than HS_OK means."""
    if status == lib.HS_ERROR_CANCELLED:
        raise cancelled()
    if status != lib.HS_OK:
        raise _EXCEPTIONS.get(status, RuntimeError)(
            ffi.string(lib.hs_status_string(status)).decode()
        )


_DOUBLE, _INT32, _INT64 = np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64)


def buffer(kind: str, array: NDArray[Any], dtype: np.dtype[Any], count: int | None = None) -> Any:
    """The memory of a contiguous array of this dtype, as C sees it.

    If C takes a number of entries for granted, the array must have `count` entries. So C reads and
    writes existing memory only, whatever a plan says.
    """
    if array.dtype != dtype or (count is not None and array.size != count):
        wanted = f"{dtype}" if count is None else f"{count} x {dtype}"
        raise ValueError(
            f"the engine needs an array of {wanted}, got one of {array.dtype} and shape"
            f" {array.shape}"
        )
    return ffi.from_buffer(kind, array)


def doubles(array: NDArray[np.float64], count: int | None = None) -> Any:
    return buffer("double[]", array, _DOUBLE, count)


def int32s(array: NDArray[np.int32], count: int | None = None) -> Any:
    return buffer("int32_t[]", array, _INT32, count)


def int64s(array: NDArray[np.int64], count: int | None = None) -> Any:
    return buffer("int64_t[]", array, _INT64, count)


def or_null(array: NDArray[Any] | None, view: Callable[..., Any], *count: int) -> Any:
    return ffi.NULL if array is None else view(array, *count)


def effort(seed: int, seconds: float | None) -> Any:
    """An hs_effort: so many seconds, or a fixed amount of work."""
    return ffi.new("hs_effort *", (seed, seconds is not None, seconds or 0.0))


def certificate(found: Any, objective: str) -> dict[str, Any]:
    """The fields of a plan that an hs_certificate holds; `objective` names the plan's value."""
    return {
        objective: found.value,
        "bound": found.bound,
        "optimal": bool(found.optimal),
        "scope": ffi.string(found.scope).decode(),
    }


#: Calls with more entries run beside the main thread. The longest of the shorter calls take about
#: ten milliseconds.
LONG = 100_000


#: Calls of other threads than the main one: the flag that cancels each, and the event that tells
#: that it has ended.
_calls: set[tuple[Any, threading.Event]] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_calls.clear)  # a child lacks the parent's other threads


@contextmanager
def ended_before_exit(cancel: Any) -> Iterator[None]:
    """A context for calls of C that the flag cancels, in a thread that Python may end.

    Python does not wait for daemon threads. One that returns from C when the interpreter is gone
    reads memory that has been freed.
    """
    own = cancel, threading.Event()
    _calls.add(own)
    try:
        if is_refused():
            raise cancelled()
        yield
    finally:
        _calls.discard(own)
        own[1].set()


@before_the_end
def _end_calls(left: Callable[[], float]) -> None:
    calls = list(_calls)
    for cancel, _ in calls:
        cancel[0] = 1
    for _, ended in calls:
        ended.wait(left())


def cancellable(call: Callable[[Any], int], long: bool) -> None:
    """Run call(cancel). If it may take long, it runs beside the main thread.

    Ctrl-C then ends it at once. Exceptions of the call are raised.
    """
    if not long:
        check_status(call(ffi.NULL))
        return
    cancel = ffi.new("int *")
    if threading.current_thread() is not threading.main_thread():
        with ended_before_exit(cancel):
            status = call(cancel)
        check_status(status)
        return
    outcome: list[int | BaseException] = []
    turn, ended = threading.Lock(), threading.Lock()
    ended.acquire()

    def run() -> None:
        if not turn.acquire(blocking=False):
            return
        try:
            outcome.append(call(cancel))
        except BaseException as error:
            outcome.append(error)
        ended.release()

    # threading.Thread is not used: an interrupt in its start loses the thread, and an interrupt in
    # its join takes the thread for ended (Python 3.11). An interrupt can come between any two
    # steps: `turn` says that the call has begun or never will, `outcome` that it has ended.
    try:
        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:  # the system refuses: then Ctrl-C waits for the end
            run()
        while not ended.acquire(timeout=PIECE):
            pass
    except BaseException:
        cancel[0] = 1
        if not turn.acquire(blocking=False):
            while not outcome:
                ended.acquire()
        raise
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    check_status(found)
