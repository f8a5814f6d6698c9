"""Matrices in .npy files."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, BinaryIO

import numpy as np

from .stored import Raw, open_file

MAGIC = b"\x93NUMPY"


def open_npy(name: str, path: str, opened: ExitStack) -> Raw:
    """Open the matrix in a .npy file."""
    descriptor = open_file(path, opened)
    with open(descriptor, "rb", closefd=False) as file:
        shape, fortran, dtype = npy_header(name, file)
        offset = file.tell()
    if dtype.kind not in "biufc":
        raise TypeError(f"{name} has dtype {dtype}; numbers are needed")
    return Raw(name, shape[::-1] if fortran else shape, dtype, fortran, path, descriptor, offset)


def npy_header(name: str, file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of a .npy file: shape, whether columns are contiguous, and dtype.

    Afterwards the file is at its first element.
    """
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"its version is {version[0]}.{version[1]}")
        header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = header(file)
    except OSError:
        raise
    except Exception as error:  # NumPy raises many types for a damaged file
        raise ValueError(
            f"{name} is not a complete .npy file: {str(error) or type(error).__name__}"
        ) from error
    # NumPy accepts True as a length, so the type is checked here.
    if not all(type(length) is int and 0 <= length < 2**63 for length in shape):
        raise ValueError(f"{name} is not a complete .npy file: it says that its shape is {shape}")
    return shape, fortran, dtype
