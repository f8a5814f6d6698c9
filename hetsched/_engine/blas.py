"""csrc/blas: the library that programs call as their BLAS and LAPACK."""

from __future__ import annotations

import sys
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
