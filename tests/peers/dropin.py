"""That the drop-in library is there and takes every call: a suite that ran without it would pass and say nothing."""

from __future__ import annotations

import ctypes


def require() -> None:
    """RuntimeError unless this process has the library, with more than one worker and no smallest size."""
    here = ctypes.CDLL(None)
    if not hasattr(here, "hetsched_blas_get_least"):
        raise RuntimeError("the drop-in library is not loaded")
    here.hetsched_blas_get_least.restype = ctypes.c_double
    if here.hetsched_blas_get_num_threads() < 2 or here.hetsched_blas_get_least(b"dgemm") != 0.0:
        raise RuntimeError("the drop-in library forwards")
