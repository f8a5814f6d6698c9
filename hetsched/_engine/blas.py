"""csrc/blas: the library that programs call as their BLAS and LAPACK."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import _hetsched

#: What the files of the extension and of the drop-in library begin with.
EXTENSION, DROP_IN = "_hetsched", "libhetsched_blas"


def library() -> Path:
    """The file of the drop-in library.

    Raises
    ------
    OSError
        Not on Linux, for which alone it is built.
    """
    path = Path(_hetsched.__file__).parent / "lib" / f"{DROP_IN}.so"
    if not path.exists():
        raise OSError(
            f"the drop-in library is built on Linux; this is {sys.platform}, and there is no {path}"
        )
    return path


def report_of(records: Sequence[str]) -> str:
    """The report of the records of several processes, whose paths are given.

    Raises
    ------
    OSError
        There is no drop-in library, or no memory for the text.
    """
    write = ctypes.CDLL(str(library())).hetsched_blas_write_report
    write.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int]
    paths = (ctypes.c_char_p * len(records))(*map(os.fsencode, records))
    # Text that is not written to a stream can be printed to any.
    with open(os.memfd_create("hetsched-report"), "w+b") as file:
        if not write(paths, len(records), file.fileno()):
            raise MemoryError("the report of the calls")
        file.seek(0)
        return file.read().decode("ascii", "replace")
