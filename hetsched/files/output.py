"""Outputs of products of files.

An output is an array, or a file that is written beside its place and moved there when it is
complete.
"""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .._base.need import need
from .._base.replace import require_replaceable
from ..runners.operands import require_unmasked
from .hdf5 import dtype_of, files_of, is_dataset, refusing, require_open
from .mapped import is_map_of, require_whole
from .matrices import split_name
from .stored import Array, Matrix, Range, Raw, open_file

_SUFFIXES = {
    ".npy": "npy",
    ".mat": "mat",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".hdf": "hdf5",
    ".he5": "hdf5",
    ".nc": "hdf5",
}
_VARIABLE = re.compile("[A-Za-z][A-Za-z0-9_]{0,62}")  # what MATLAB loads
_CLASSES = {"f4": "single", "f8": "double", "c8": "single", "c16": "double"}


class OutputFile:
    """A .npy, HDF5 or .mat file, written as `path`.partial and renamed when it is complete.

    Attributes
    ----------
    path, partial, journal : str
    places : set of (str or int)
        The three paths, or an open descriptor.
    transposed : bool
        Whether columns are contiguous, as in .mat files.
    identity : dict
        What the journal stores to recognise the output.
    """

    def __init__(
        self, given: str | bytes | os.PathLike[Any], shape: tuple[int, int], dtype: np.dtype[Any]
    ) -> None:
        path, inner = split_name(given)
        self.name = f"out ({os.fsdecode(given)})"
        kind = _SUFFIXES.get(Path(path).suffix.lower())
        if kind is None:
            raise ValueError(f"{self.name} must end in {', '.join(_SUFFIXES)}")
        if kind == "npy" and inner is not None:
            raise ValueError(f"{self.name}: a .npy file holds one array without a name")
        self.path = os.path.realpath(path)
        if not os.path.isdir(os.path.dirname(self.path)):
            raise FileNotFoundError(errno.ENOENT, "its folder does not exist", path)
        require_replaceable(path)
        self.partial, self.journal = f"{self.path}.partial", f"{self.path}.journal"
        self.places: set[str | int] = {self.path, self.partial, self.journal}
        for there in (self.partial, self.journal):
            if os.path.exists(there):
                require_replaceable(there)
        self.shape, self.dtype, self._kind = shape, dtype, kind
        self.transposed = kind == "mat"
        self._inner = _inner_name(self.name, inner or "C")
        if kind != "npy":
            self._require_alone(need("h5py", self.name))
        self.identity: dict[str, Any] = {"path": self.path, "kind": kind, "inner": self._inner}

    def _require_alone(self, h5py: Any) -> None:
        """Raise ValueError if replacing the file would delete other matrices in it."""
        if self._kind == "mat" and not _VARIABLE.fullmatch(self._inner):
            raise ValueError(f"{self.name}: {self._inner!r} is not the name of a MATLAB variable")
        if not os.path.exists(self.path) or not h5py.is_hdf5(self.path):
            return
        others: list[str] = []

        def visit(path: str, group: Any) -> None:
            for entry in group:
                inside = f"{path}/{entry}".strip("/")
                link = group.get(entry, getlink=True)
                if inside != self._inner and (
                    not isinstance(link, h5py.HardLink) or hasattr(group[entry], "shape")
                ):
                    others.append(inside)

        with refusing(self.name), h5py.File(self.path, "r") as file:
            visit("", file)
            file.visititems(
                lambda path, item: visit(path, item) if isinstance(item, h5py.Group) else None
            )
        if others:
            raise ValueError(
                f"{self.name} exists and also holds {', '.join(others[:5])}, which would be lost;"
                " give a new file"
            )

    @property
    def stored(self) -> tuple[int, int]:
        """(number of lines, length of a line) in the file."""
        return self.shape[::-1] if self.transposed else self.shape

    def require_space(self) -> None:
        """Raise OSError unless the disk has space for the part that is not yet allocated."""
        have = os.stat(self.partial).st_blocks * 512 if os.path.exists(self.partial) else 0
        needed = math.prod(self.shape) * self.dtype.itemsize - have
        free = shutil.disk_usage(os.path.dirname(self.path)).free
        if needed > free:
            raise OSError(
                errno.ENOSPC,
                f"no space left: {needed} bytes are needed, {free} are free",
                self.path,
            )

    def create(self) -> int:
        """Create the partial file in full size; return the offset of its elements."""
        if self._kind == "npy":
            with open(self.partial, "wb") as file:
                order = {
                    "descr": self.dtype.str,
                    "fortran_order": self.transposed,
                    "shape": self.shape,
                }
                np.lib.format.write_array_header_1_0(file, order)
                offset = file.tell()
        else:
            offset = self._create_hdf5(need("h5py", self.name))
        size = math.prod(self.shape) * self.dtype.itemsize
        with open(self.partial, "r+b") as file:
            if size and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), offset, size)
            elif size:
                file.truncate(max(offset + size, os.path.getsize(self.partial)))
            os.fsync(file.fileno())  # the file must be on disk before the journal names it
        return offset

    def _create_hdf5(self, h5py: Any) -> int:
        """Create a contiguous dataset with all space allocated, to be written like a plain file."""
        matlab = self._kind == "mat"
        kind = self.dtype
        if matlab and kind.kind == "c":
            part = np.dtype(f"f{kind.itemsize // 2}")
            kind = np.dtype([("real", part), ("imag", part)])
        empty = math.prod(self.shape) == 0
        with h5py.File(self.partial, "w", userblock_size=512 if matlab else 0) as file:
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
            links.set_create_intermediate_group(True)
            if matlab and empty:  # MATLAB stores the shape of an empty matrix
                dataset = file.create_dataset(self._inner, data=np.array(self.shape, np.uint64))
                dataset.attrs["MATLAB_empty"] = np.uint8(1)
            else:
                space = h5py.h5s.create_simple(self.stored)
                made = h5py.h5d.create(
                    file.id,
                    self._inner.encode(),
                    h5py.h5t.py_create(kind, logical=True),
                    space,
                    plist,
                    links,
                )
                dataset = h5py.Dataset(made)
            if matlab:
                dataset.attrs["MATLAB_class"] = np.bytes_(_CLASSES[self.dtype.str[1:]])
            offset = 0 if empty else int(dataset.id.get_offset())
        if matlab:
            text = b"MATLAB 7.3 MAT-file, Platform: hetsched".ljust(116) + bytes(8) + b"\x00\x02IM"
            with open(self.partial, "r+b") as raw:
                raw.write(text)
        return offset

    def frame(self, offset: int) -> int:
        """zlib.crc32 of the bytes of the partial file before and after its elements."""
        with open(self.partial, "rb") as file:
            before = zlib.crc32(file.read(offset))
            file.seek(offset + math.prod(self.shape) * self.dtype.itemsize)
            return zlib.crc32(file.read(), before)

    def open(self, offset: int, opened: ExitStack) -> Raw:
        """Open the elements of the partial file for writing and reading."""
        stored = self.stored if math.prod(self.shape) else (0, 0)
        file = open_file(self.partial, opened, os.O_RDWR)
        return Raw(self.name, stored, self.dtype, self.transposed, self.partial, file, offset)

    def finish(self, file: int) -> None:
        """Rename the partial file to the output."""
        os.fsync(file)
        if os.path.exists(self.path):
            os.chmod(self.partial, os.stat(self.path).st_mode & 0o7777)
        os.replace(self.partial, self.path)
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
        with suppress(OSError):  # not every file system can sync a folder
            os.fsync(folder)
        os.close(folder)


def _inner_name(name: str, given: str) -> str:
    """The name of a dataset in its file, in the form that HDF5 accepts."""
    parts = [part for part in given.split("/") if part not in ("", ".")]
    try:
        encoded = given.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: the name of the dataset must be text in UTF-8") from None
    if not parts or b"\0" in encoded:
        raise ValueError(f"{name}: {given!r} is not the name of a dataset")
    return "/".join(parts)


class OutputArray:
    """An array or HDF5 dataset, written in place. An interrupted call leaves it half written."""

    def __init__(self, given: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.name = "out"
        require_unmasked(self.name, given)
        if not isinstance(given, np.ndarray):
            require_open(self.name, given)
        if given.shape != shape:
            raise ValueError(f"out has shape {given.shape}, the product has {shape}")
        own = given.dtype if isinstance(given, np.ndarray) else dtype_of(self.name, given)
        if own != dtype:
            raise TypeError(f"out has dtype {own}, the product has {dtype}")
        writable = (
            given.flags.writeable if isinstance(given, np.ndarray) else given.file.mode == "r+"
        )
        if not writable:
            raise ValueError("out is read-only")
        self._array = given
        self.transposed = False
        self.places: set[str | int]
        if isinstance(given, np.ndarray):
            require_whole(self.name, given)
            file = getattr(given, "filename", None)
            self.places = set() if file is None else {os.fspath(file)}
        else:
            self.places = files_of(given)

    def write(self, rows: Range, cols: Range, flat: Array, stop: Callable[[], bool]) -> None:
        """Write a block that is stored in `flat` row by row."""
        if flat.size:
            self._array[slice(*rows), slice(*cols)] = flat.reshape(
                rows[1] - rows[0], cols[1] - cols[0]
            )


Output = OutputFile | OutputArray


def open_output(
    given: Any, shape: tuple[int, int], dtype: np.dtype[Any], inputs: dict[str, tuple[Any, Matrix]]
) -> Output:
    """Check the output completely, before anything is changed.

    inputs : name -> (argument, matrix) of each input.
    """
    output: Output
    if isinstance(given, str | bytes | os.PathLike):
        output = OutputFile(given, shape, dtype)
    elif isinstance(given, np.ndarray) or is_dataset(given):
        output = OutputArray(given, shape, dtype)
    else:
        raise TypeError(
            f"out must be a path, an array or an HDF5 dataset, got {type(given).__name__}"
        )
    for argument, (value, matrix) in inputs.items():
        mapped = (
            isinstance(given, np.ndarray)
            and matrix.path is not None
            and is_map_of(given, matrix.path)
        )
        if mapped or any(matrix.is_in(place) for place in output.places):
            raise ValueError(f"out and {argument} are the same file, {matrix.path}")
        if (
            isinstance(value, np.ndarray)
            and isinstance(given, np.ndarray)
            and np.may_share_memory(value, given)
        ):
            raise ValueError(f"out overlaps {argument}; give it memory of its own")
        # in a file without a name, such as one in memory
        if is_dataset(value) and is_dataset(given) and value == given:
            raise ValueError(f"out and {argument} are the same dataset")
    return output
