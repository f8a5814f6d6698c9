"""csrc/blas: the library that programs call as their BLAS and LAPACK."""

from __future__ import annotations

import sys
from pathlib import Path

from . import _hetsched


def library() -> Path:
    """The file of the drop-in library.

    Raises
    ------
    OSError
        Not on Linux, for which alone it is built.
    """
    path = Path(_hetsched.__file__).parent / "lib" / "libhetsched_blas.so"
    if not path.exists():
        raise OSError(f"the drop-in library is built on Linux; this is {sys.platform}, and there is no {path}")
    return path
