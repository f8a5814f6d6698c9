"""The cpus that the calling thread may use now: its affinity mask, which an OpenMP runtime may have
narrowed for its own threads."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

from .._base.regular import read_regular

#: An OpenMP runtime may bind threads if one of these variables is set.
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_QUESTIONS = (
    "omp_get_proc_bind",
    "omp_get_num_places",
    "omp_get_place_num_procs",
    "omp_get_place_proc_ids",
)


def cpus() -> frozenset[int]:
    """The affinity mask of the calling thread, or all places of the OpenMP runtime that has bound
    it to one.

    The runtime pins the thread that loads it to its first place, although the process has all
    places. Any other mask was set by something else and is returned unchanged. The result is empty
    if the system does not tell.
    """
    own = _own()
    if own and any(name in os.environ for name in _BINDING):
        try:
            for places in _places():
                if own in places:
                    return frozenset().union(*places)
        finally:
            if _own() != own:  # LLVM's and Intel's runtimes bind a thread that asks for places
                os.sched_setaffinity(0, own)
    return own


@contextmanager
def whole() -> Iterator[None]:
    """A context in which the calling thread has all of `cpus`, for threads that are started inside:
    they inherit the mask."""
    own, wanted = _own(), cpus()
    if own == wanted:
        yield
        return
    os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def _own() -> frozenset[int]:
    try:
        return frozenset(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # a system without masks, or one that does not tell
        return frozenset()


def _places() -> Iterator[list[frozenset[int]]]:
    """The places of each OpenMP runtime in this process that binds threads."""
    lines = (line.split(maxsplit=5) for line in read_regular("/proc/self/maps").splitlines())
    paths = {os.fsdecode(words[5]) for words in lines if len(words) == 6 and b".so" in words[5]}
    for path in sorted(paths):
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_NOLOAD)
        except OSError:  # the file was replaced, or is no library
            continue
        if all(hasattr(library, name) for name in _QUESTIONS) and library.omp_get_proc_bind():
            yield [_place(library, place) for place in range(library.omp_get_num_places())]


def _place(library: ctypes.CDLL, place: int) -> frozenset[int]:
    ids = (ctypes.c_int * max(0, library.omp_get_place_num_procs(place)))()
    library.omp_get_place_proc_ids(place, ids)
    return frozenset(ids)
