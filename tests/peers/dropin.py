"""That the drop-in library is there and takes the calls: a suite that ran without it would pass and say nothing."""

from __future__ import annotations

import ctypes
import re


def require() -> None:
    """RuntimeError unless this process has the library, with more than one worker and no smallest size."""
    here = ctypes.CDLL(None)
    if not hasattr(here, "hetsched_blas_get_least"):
        raise RuntimeError("the drop-in library is not loaded")
    here.hetsched_blas_get_least.restype = ctypes.c_double
    if here.hetsched_blas_get_num_threads() < 2 or here.hetsched_blas_get_least(b"dgemm") != 0.0:
        raise RuntimeError("the drop-in library forwards")


def calls(stderr: str) -> tuple[int, int]:
    """How many calls the engine took, and how many there were, by the tables that processes print in the end."""
    rows = [list(map(int, row.split())) for row in re.findall(r"^[sdcz][a-z]+ +(\d+(?: +\d+){5}) ", stderr, re.M)]
    return sum(row[0] for row in rows), sum(sum(row[:6]) for row in rows)
