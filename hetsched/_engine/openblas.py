"""The number of threads of an OpenBLAS of this process."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy.linalg  # noqa: F401  # loads the module with its LAPACK

from .ffi import ffi

T = TypeVar("T")


def thread_functions(library: Any) -> tuple[int, int]:
    """Addresses of the functions that set and get the thread count of a library's OpenBLAS.

    They are 0 if the library uses another BLAS.
    """
    import ctypes

    for name in ("scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
        for suffix in ("", "64_", "_64", "_64_"):
            found = (getattr(library, name.format(verb) + suffix, None) for verb in ("set", "get"))
            functions = [function for function in found if function is not None]
            if len(functions) == 2:
                pointers = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
                return pointers[0] or 0, pointers[1] or 0
    return 0, 0


class _Number:
    """The number of threads of a library.

    set_threads : its function. It allocates the buffers of the threads again, which takes as long
        as a small decomposition.
    place : the variable that it sets, which is visible in builds with threads of their own. None if
        it is not there, or is not the one that get_threads returns.
    """

    def __init__(self, set_threads: int, get_threads: int, place: int) -> None:
        self._set = ffi.cast("void (*)(int)", set_threads)
        self.get: Callable[[], int] = ffi.cast("int (*)(void)", get_threads)
        self._place = ffi.cast("int *", place) if place else None
        if self._place is not None and self._place[0] != self.get():
            self._place = None

    def set(self, threads: int) -> None:
        if self._place is None:
            self._set(threads)
        else:
            self._place[0] = threads


@functools.cache
def of_numpy() -> _Number | None:
    """NumPy's OpenBLAS.

    None if NumPy uses another library, or the drop-in library, which governs the threads itself.
    """
    import ctypes

    if hasattr(ctypes.CDLL(None), "hetsched_blas_get_num_threads"):
        return None
    library = ctypes.CDLL(sys.modules["numpy.linalg._umath_linalg"].__file__)
    set_threads, get_threads = thread_functions(library)
    if not set_threads:
        return None
    place = getattr(library, "blas_cpu_number", None)
    address = 0 if place is None else ctypes.cast(place, ctypes.c_void_p).value or 0
    return _Number(set_threads, get_threads, address)


class _Calls:
    """The calls in progress that have one thread, and the number of threads before the first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: set[object] = set()
        self.before = 1

    def enter(self, call: object) -> None:
        if (number := of_numpy()) is None:
            return
        with self.lock:
            if not self.calls:
                self.before = number.get()
            self.calls.add(call)
            if self.before != 1:
                number.set(1)

    def leave(self, call: object) -> None:
        """Tell OpenBLAS the number of before, unless somebody else has changed it meanwhile."""
        if (number := of_numpy()) is None:
            return
        with self.lock:
            self.calls.discard(call)
            if not self.calls and self.before != 1 and number.get() == 1:
                number.set(self.before)

    def forget(self) -> None:
        """End all calls: a child lacks the threads that would end them."""
        self.lock = threading.Lock()
        for call in tuple(self.calls):
            self.leave(call)


_calls = _Calls()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_calls.forget)


def on_one_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function of NumPy while its OpenBLAS has one thread.

    For calls so short that a second thread gains little, and loses much if another program has its
    core: the threads of OpenBLAS wait for each other in every step. The calls of other threads of
    the program that begin meanwhile have one thread, too.
    """
    call = object()
    try:
        _calls.enter(call)
        return function(*arguments)
    finally:
        _calls.leave(call)
