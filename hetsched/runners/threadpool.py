"""Controllers of hetsched's libraries for threadpoolctl.

Importing this module registers them. It needs threadpoolctl, which may not be installed.
"""

from __future__ import annotations

import ctypes

import threadpoolctl

from .._base.version import __version__
from .._engine.blas import DROP_IN, EXTENSION
from ..machine import limits
from . import workers


class SharedPool(threadpoolctl.LibController):  # type: ignore[misc]
    """The pool shared by `matmul`, `solve`, etc. Its library is the extension module."""

    user_api = "blas"
    internal_api = "hetsched"
    filename_prefixes = (EXTENSION,)

    def get_num_threads(self) -> int:
        limit = limits.process_limit()
        return workers.here() if limit is None else min(limit, workers.here())

    def set_num_threads(self, num_threads: int) -> None:
        limits.limit_process(None if num_threads >= workers.here() else max(1, num_threads))

    def get_version(self) -> str:
        return __version__


class DropIn(threadpoolctl.LibController):  # type: ignore[misc]
    """The drop-in library, if the program was started with it."""

    user_api = "blas"
    internal_api = "hetsched"
    filename_prefixes = (DROP_IN,)
    check_symbols = ("hetsched_blas_get_num_threads",)

    def get_num_threads(self) -> int:
        return int(self.dynlib.hetsched_blas_get_num_threads())

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.hetsched_blas_set_num_threads(ctypes.c_int(num_threads))

    def get_version(self) -> str:
        return __version__


threadpoolctl.register(SharedPool)
threadpoolctl.register(DropIn)
