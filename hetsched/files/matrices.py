"""Matrices in all formats that products read: .npy, HDF5, MATLAB's .mat, and arrays in memory."""

from __future__ import annotations

import math
import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from .._base.regular import open_regular
from ..runners.operands import as_array
from .hdf5 import Dataset, is_dataset, is_hdf5, open_dataset, open_hdf5
from .mapped import find_file
from .mat5 import open_old_mat, version_of
from .npy import MAGIC, npy_header, open_npy
from .stored import STAGE, Array, Held, Matrix, Raw, require_bytes

#: Splits a.h5:/group/name into path and inner name if there is no such file yet.
_INNER = re.compile(r"(.+?\.(?:h5|hdf5|hdf|he5|mat|nc|npy)):(.+)", re.I | re.S)


def split_name(given: str | bytes | os.PathLike[Any]) -> tuple[str, str | None]:
    """Path and inner name of file.h5:/group/name. A file that exists may have any name."""
    path = os.fsdecode(given)
    if os.path.exists(path):
        return path, None
    for colon in re.finditer(":(?=.)", path, re.S):
        if os.path.isfile(path[: colon.start()]):
            return path[: colon.start()], path[colon.end() :]
    found = _INNER.fullmatch(path)
    return (found[1], found[2]) if found else (path, None)


def open_matrix(argument: str, given: Any, memory: int, opened: ExitStack) -> Matrix:
    """Open a matrix for reading.

    argument : name in messages.
    memory : bytes that an array may take.
    opened : closes the files.
    """
    if isinstance(given, str | bytes | os.PathLike):
        matrix = _open_path(argument, given, memory, opened)
    elif is_dataset(given):
        matrix = open_dataset(argument, given, False, opened)
    elif isinstance(given, np.ndarray):
        matrix = _open_array(argument, given, opened)
    else:
        raise TypeError(
            f"{argument} must be a path, an array or an HDF5 dataset, got {type(given).__name__}"
        )
    if matrix.dtype.kind not in "biufc":
        raise TypeError(f"{matrix.name} has dtype {matrix.dtype}; numbers are needed")
    return matrix


def read_whole(argument: str, path: str) -> Array:
    """Read a whole matrix into memory, from a file of any format that products read."""
    with ExitStack() as opened:
        matrix = open_matrix(argument, path, sys.maxsize, opened)
        if isinstance(matrix, Dataset):
            matrix.require_stored()
        _require_memory(matrix.name, matrix.nbytes)
        rows, cols = matrix.shape
        flat = np.empty(rows * cols, matrix.meant.newbyteorder("="))
        return matrix.read((0, rows), (0, cols), flat, np.empty(STAGE, np.uint8), lambda: False)


def _require_memory(name: str, size: int) -> None:
    """Raise ValueError if the memory of this computer is too small for a matrix.

    Even a small file can hold such a matrix, because holes take no space in it.
    """
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > there:
        raise ValueError(
            f"{name} has {size} bytes and this computer {there};"
            " hs.matmul_files reads matrices in parts"
        )


def read_matrix(argument: str, path: str) -> Array:
    """Read the array of numbers in a file into memory.

    An array in a .npy file may have any number of dimensions. All other files must hold a matrix.

    Raises
    ------
    OSError
        If the file cannot be read.
    TypeError
        If the file holds something else than numbers.
    ValueError
        If the file holds no such array, or was cut short.
    """
    where = split_name(path)[0]
    with open_regular(where) as file:
        head = file.read(len(MAGIC))
        if where != path or head != MAGIC and not head.startswith(b"PK"):
            return read_whole(argument, path)
        name = f"{argument} ({path})"
        if head != MAGIC:
            raise ValueError(f"{name} is an archive of arrays, not a .npy file")
        file.seek(0)
        shape, _, dtype = npy_header(name, file)
        if dtype.kind not in "biufc":
            raise TypeError(f"{name} has dtype {dtype}; numbers are needed")
        size = math.prod(shape) * dtype.itemsize
        require_bytes(name, file.tell() + size, os.fstat(file.fileno()).st_size)
        _require_memory(name, size)
        file.seek(0)
        try:
            array: Array = np.load(file, allow_pickle=False)
        except (OSError, MemoryError):
            raise
        except Exception as error:  # any error of NumPy for a damaged file
            raise ValueError(f"{name} is not a complete .npy file: {error}") from error
    return array


def _open_array(name: str, array: Array, opened: ExitStack) -> Matrix:
    """Open an array in memory.

    A memory map is read from its file, because its pages would count as memory of the process.
    """
    file = find_file(name, array, opened)
    if file is None or not file.shared or array.ndim != 2 or not array.flags.forc:
        return Held(name, as_array(name, array), None if file is None else file.path)
    transposed = not array.flags.c_contiguous
    stored = array.shape[::-1] if transposed else array.shape
    return Raw(name, stored, array.dtype, transposed, file.path, file.descriptor, file.offset)


def _open_path(
    argument: str, given: str | bytes | os.PathLike[Any], memory: int, opened: ExitStack
) -> Matrix:
    path, inner = split_name(given)
    name = f"{argument} ({os.fsdecode(given)})"
    with open_regular(path) as file:
        head = file.read(16)
        mat = Path(path).suffix.lower() == ".mat"
        version = version_of(file) if mat or head.startswith(b"MATLAB") else None
        hdf5 = version != 5 and not head.startswith(MAGIC) and is_hdf5(file)
    if head.startswith(MAGIC):
        if inner is not None:
            raise ValueError(f"{name}: a .npy file holds one array without a name")
        return open_npy(name, path, opened)
    if hdf5:
        return open_hdf5(name, path, inner, mat or head.startswith(b"MATLAB 7.3"), opened)
    if mat or version is not None:
        return open_old_mat(name, path, inner, memory, version)
    raise ValueError(f"{name} is not a complete .npy file, nor HDF5 or .mat")
