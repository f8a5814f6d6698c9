"""That the drop-in library is there and takes the calls: a suite that ran without it would pass and
say nothing."""

from __future__ import annotations

import ctypes
import re

LIMITS = ("HETSCHED_BLAS", "HETSCHED_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def preloaded(env: dict[str, str]) -> dict[str, str]:
    """The environment with the drop-in library, every call of which is the engine's: nothing limits
    the threads behind it, which would have it forward all."""
    from hetsched.machine.dropin import environment

    return environment(
        least="0",
        report=True,
        given={name: value for name, value in env.items() if name not in LIMITS},
    )


def require() -> None:
    """RuntimeError unless this process has the library, with more than one worker and no smallest
    size."""
    here = ctypes.CDLL(None)
    if not hasattr(here, "hetsched_blas_get_least"):
        raise RuntimeError("the drop-in library is not loaded")
    here.hetsched_blas_get_least.restype = ctypes.c_double
    if here.hetsched_blas_get_num_threads() < 2 or here.hetsched_blas_get_least(b"dgemm") != 0.0:
        raise RuntimeError("the drop-in library forwards")


def calls(stderr: str) -> tuple[int, int]:
    """How many calls the engine took, and how many there were, by the tables that processes print
    in the end."""
    rows = [
        list(map(int, row.split()))
        for row in re.findall(r"^[sdcz][a-z]+ +(\d+(?: +\d+){5}) ", stderr, re.M)
    ]
    return sum(row[0] for row in rows), sum(sum(row[:6]) for row in rows)
