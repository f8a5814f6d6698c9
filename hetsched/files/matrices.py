"""Matrices in files: .npy, HDF5 and MATLAB's .mat, read and written block by block through buffers of the caller."""

from __future__ import annotations

import math
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from mmap import ALLOCATIONGRANULARITY
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._base.need import need
from .._base.regular import open_regular
from ..runners.operands import as_array
from .mat5 import require_numbers

Array = NDArray[Any]
#: First and one after the last.
Range = tuple[int, int]
#: What a.h5:/group/name is split by.
_INNER = re.compile(r"(.+?\.(?:h5|hdf5|hdf|he5|mat|nc|npy)):(.+)", re.I | re.S)
_HDF5 = b"\x89HDF\r\n\x1a\n"
#: Bytes through which elements of another type are converted, and most bytes read between two looks at `stop`.
STAGE = 2**18
_STRETCH = 2**22
#: Bytes of elements that a dataset may leave out, where all of it is to be in memory.
_MADE_UP = 2**26
#: Pieces of lines of which the system is told before they are read.
_AHEAD = 64


class Matrix:
    """A matrix stored as `lines` of contiguous elements: its rows, or its columns where `transposed`.

    Attributes
    ----------
    name : str
        For messages.
    shape : (int, int)
    dtype : dtype
        As stored.
    meant : dtype
        What the elements are: MATLAB stores whole numbers of class double in fewer bytes.
    transposed : bool
    chunk : (int, int) or None
        Rows and columns of the pieces that are only read whole.
    extra : int
        Bytes of memory that reading takes beside the caller's buffers.
    path : str or None
        The file, without symbolic links.
    identity : dict
        What tells it from others beside its content, for the journal.
    nbytes, bytes_read : int
        Of the matrix; and so far.
    """

    chunk: tuple[int, int] | None = None
    extra = 0

    def __init__(self, name: str, stored: tuple[int, ...], dtype: np.dtype[Any], transposed: bool, path: str | None) -> None:
        if len(stored) != 2:
            raise ValueError(f"{name} has {len(stored)} dimensions, a matrix has 2")
        self.name, self.dtype, self.meant, self.transposed = name, dtype, dtype, transposed
        self.lines, self.length = int(stored[0]), int(stored[1])
        self.shape = (self.length, self.lines) if transposed else (self.lines, self.length)
        self.identity: dict[str, Any] = {"shape": list(self.shape), "dtype": dtype.str}
        self.path = None if path is None else os.path.realpath(path)
        if path is not None:
            self.identity["path"] = self.path
        self._opened = () if path is None else _stamp(path)
        self.nbytes = self.lines * self.length * dtype.itemsize
        self.bytes_read = 0
        self.drop_behind = False

    def read(self, rows: Range, cols: Range, buffer: Array, stage: Array, stop: Callable[[], bool]) -> Array:
        """A block, in the dtype of the flat buffer that it is put into; stage has STAGE bytes."""
        (l0, l1), (p0, p1) = self._stored(rows, cols)
        block = buffer[: (l1 - l0) * (p1 - p0)].reshape(l1 - l0, p1 - p0)
        if self.dtype == block.dtype:
            self._fetch(l0, p0, block, stop)
        else:
            width = max(1, min(p1 - p0, STAGE // self.dtype.itemsize))
            height = max(1, STAGE // (width * self.dtype.itemsize))
            for line in range(l0, l1, height):
                for at in range(p0, p1, width):
                    target = block[line - l0 : line - l0 + height, at - p0 : at - p0 + width]
                    part = stage[: target.size * self.dtype.itemsize].view(self.dtype).reshape(target.shape)
                    self._fetch(line, at, part, stop)
                    np.copyto(target, part, casting="unsafe")
        self.bytes_read += block.size * self.dtype.itemsize
        return block.T if self.transposed else block

    def _stored(self, rows: Range, cols: Range) -> tuple[Range, Range]:
        """The lines of a block, and the places in them."""
        return (cols, rows) if self.transposed else (rows, cols)

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        raise NotImplementedError

    def unchanged(self) -> bool:
        """Whether the file is the one that was opened, and nobody has written to it."""
        return self.path is None or _stamp(self.path) == self._opened


def _stamp(path: str) -> tuple[int, ...]:
    """Size and what changes with every change; tools set the time of modification back, that of the last change nobody can."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


def checksum(data: Array, stop: Callable[[], bool]) -> int:
    """zlib.crc32 of contiguous elements."""
    memory, result = data.reshape(-1).view(np.uint8).data, 0
    for at in range(0, len(memory), _STRETCH):
        if stop():
            raise InterruptedError
        result = zlib.crc32(memory[at : at + _STRETCH], result)
    return result


def require_bytes(name: str, needed: int, have: int) -> None:
    """ValueError for a file that has fewer bytes than its header says, before memory is taken for them."""
    if have < needed:
        raise ValueError(f"{name} is cut short: {needed} bytes were expected, it has {have}")


class Raw(Matrix):
    """Elements that lie in a file line after line."""

    def __init__(
        self,
        name: str,
        stored: tuple[int, ...],
        dtype: np.dtype[Any],
        transposed: bool,
        path: str,
        offset: int,
        writable: bool = False,
    ) -> None:
        super().__init__(name, stored, dtype, transposed, path)
        self.offset = offset
        require_bytes(name, offset + self.nbytes, self._opened[0])
        self.identity |= {"offset": offset, "transposed": transposed}
        self.file = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | getattr(os, "O_CLOEXEC", 0))

    def close(self) -> None:
        os.close(self.file)

    def _stretches(self, line: int, at: int, block: Array) -> Iterator[tuple[int, memoryview]]:
        """Offsets in the file and the memory of what is contiguous in both."""
        pitch = self.length * self.dtype.itemsize
        start = self.offset + line * pitch + at * self.dtype.itemsize
        memory = block.reshape(-1).view(np.uint8).data
        piece = block.shape[1] * self.dtype.itemsize
        if piece == pitch:
            pitch = piece = len(memory)
        for i in range(len(memory) // piece if piece else 0):
            for s in range(0, piece, _STRETCH):
                yield start + i * pitch + s, memory[i * piece + s : i * piece + min(s + _STRETCH, piece)]

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        ahead = self._stretches(line, at, block) if block.shape[1] < self.length and hasattr(os, "posix_fadvise") else iter(())
        for i, (offset, memory) in enumerate(self._stretches(line, at, block)):
            if stop():
                raise InterruptedError
            if i % _AHEAD == 0:
                for _, (place, piece) in zip(range(_AHEAD if i else 2 * _AHEAD), ahead, strict=False):
                    os.posix_fadvise(self.file, place, len(piece), os.POSIX_FADV_WILLNEED)
            while memory:
                count = os.preadv(self.file, [memory], offset)
                if count == 0:
                    raise OSError(f"{self.name} was cut short while it was read")
                memory, offset = memory[count:], offset + count
        if self.drop_behind:
            self._drop(line, at, block)

    def write(self, rows: Range, cols: Range, flat: Array, stop: Callable[[], bool]) -> None:
        """Write a block that lies in `flat` as lines."""
        (l0, l1), (p0, p1) = self._stored(rows, cols)
        block = flat.reshape(l1 - l0, p1 - p0)
        for offset, memory in self._stretches(l0, p0, block):
            if stop():
                raise InterruptedError
            while memory:
                count = os.pwrite(self.file, memory, offset)
                memory, offset = memory[count:], offset + count
        self._drop(l0, p0, block)  # starts to write to the disk

    def _drop(self, line: int, at: int, block: Array) -> None:
        """Tell the system that lines that have been read or written to their end are not needed soon."""
        if at + block.shape[1] == self.length and hasattr(os, "posix_fadvise"):
            pitch = self.length * self.dtype.itemsize
            os.posix_fadvise(self.file, self.offset + line * pitch, len(block) * pitch, os.POSIX_FADV_DONTNEED)

    def checksum(self, rows: Range, cols: Range, stage: Array) -> int:
        """zlib.crc32 of a block as it is in the file."""
        (l0, l1), (p0, p1) = self._stored(rows, cols)
        width = max(1, min(p1 - p0, len(stage) // self.dtype.itemsize))
        result = 0
        for line in range(l0, l1):
            for at in range(p0, p1, width):
                part = stage[: min(width, p1 - at) * self.dtype.itemsize].view(self.dtype).reshape(1, -1)
                self._fetch(line, at, part, lambda: False)
                result = zlib.crc32(part.data, result)
        return result


class Held(Matrix):
    """An array in memory."""

    def __init__(self, name: str, array: Array, path: str | None = None) -> None:
        transposed = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
        self._array = array.T if transposed else array
        super().__init__(name, self._array.shape, array.dtype, transposed, path)

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        block[...] = self._array[line : line + block.shape[0], at : at + block.shape[1]]


class Chunked(Matrix):
    """An HDF5 dataset that only HDF5 can read: chunked, compressed, or of a type of its own."""

    def __init__(self, name: str, dataset: Any, dtype: np.dtype[Any], transposed: bool, path: str) -> None:
        super().__init__(name, dataset.shape, dtype, transposed, path)
        self._dataset = dataset
        self.identity |= {"inner": dataset.name, "transposed": transposed}
        if dataset.chunks:
            self.chunk = dataset.chunks[::-1] if transposed else dataset.chunks
        cache = dataset.id.get_access_plist().get_chunk_cache()[1]
        self.extra = 2**20 + cache + 2 * math.prod(dataset.chunks or (0,)) * dtype.itemsize  # what HDF5 keeps, and filters

    def require_stored(self) -> None:
        """ValueError where the shape promises much more than there is in the file, for which HDF5 would make up zeros."""
        own = self._dataset
        if own.is_virtual or own.external:  # it is in other files
            return
        there = own.id.get_num_chunks() * math.prod(own.chunks) * self.dtype.itemsize if own.chunks else own.id.get_storage_size()
        if self.nbytes - there > _MADE_UP:
            raise ValueError(f"{self.name} is cut short: {self.nbytes} bytes were expected, it has {there}")

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        if not block.size:
            return
        target = block if self._dataset.dtype.fields is None else block.view(self._dataset.dtype)
        grain = self._dataset.chunks[0] if self._dataset.chunks else 1
        step = max(1, _STRETCH // (block[0].nbytes * grain)) * grain
        place = line
        while place < line + len(block):
            if stop():
                raise InterruptedError
            end = min(line + len(block), (place // step + 1) * step)  # whole chunks
            try:
                self._dataset.read_direct(target[place - line : end - line], np.s_[place:end, at : at + block.shape[1]])
            except (OSError, RuntimeError) as error:  # a chunk that is damaged
                raise ValueError(f"{self.name} is not HDF5 that can be read: {error}") from error
            place = end


# ---- opening ----------------------------------------------------------------------------------------------------


def split_name(given: str | bytes | os.PathLike[Any]) -> tuple[str, str | None]:
    """The path and the inner name of file.h5:/group/name."""
    path = os.fsdecode(given)
    if not os.path.exists(path) and (found := _INNER.fullmatch(path)):
        return found[1], found[2]
    return path, None


def open_matrix(argument: str, given: Any, memory: int, opened: ExitStack) -> Matrix:
    """A matrix to be read. argument: its name in messages; memory: bytes that an array may take; opened closes the files."""
    if isinstance(given, str | bytes | os.PathLike):
        matrix = _open_path(argument, given, memory, opened)
    elif _is_dataset(given):
        matrix = _open_dataset(argument, given, False, given.file.filename, opened)
    elif isinstance(given, np.ndarray):
        matrix = _open_array(argument, given, opened)
    else:
        raise TypeError(f"{argument} must be a path, an array or an HDF5 dataset, got {type(given).__name__}")
    if matrix.dtype.kind not in "biufc":
        raise TypeError(f"{matrix.name} has dtype {matrix.dtype}; numbers are needed")
    return matrix


def read_whole(argument: str, path: str) -> Array:
    """The matrix in a file, of any kind that products of files read, in memory."""
    with ExitStack() as opened:
        matrix = open_matrix(argument, path, sys.maxsize, opened)
        if isinstance(matrix, Chunked):
            matrix.require_stored()
        _require_memory(matrix.name, matrix.nbytes)
        rows, cols = matrix.shape
        flat = np.empty(rows * cols, matrix.meant.newbyteorder("="))
        return matrix.read((0, rows), (0, cols), flat, np.empty(STAGE, np.uint8), lambda: False)


def _require_memory(name: str, size: int) -> None:
    """ValueError for what no memory of this computer has room for: also what takes no room in a file, such as its holes."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > there:
        raise ValueError(f"{name} has {size} bytes and this computer {there}; hs.matmul_files reads matrices in parts")


_NPY = b"\x93NUMPY"


def read_matrix(argument: str, path: str) -> Array:
    """The array in a file, in memory: of a .npy file whatever it holds, else a matrix.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it holds no such thing, or was cut short.
    """
    where = split_name(path)[0]
    with open_regular(where) as file:
        head = file.read(6)
        if where != path or head != _NPY and not head.startswith(b"PK"):
            return read_whole(argument, path)
        name = f"{argument} ({path})"
        file.seek(0)
        if head == _NPY:
            shape, _, dtype = npy_header(name, file)
            if not dtype.hasobject:
                size = math.prod(shape) * dtype.itemsize
                require_bytes(name, file.tell() + size, os.fstat(file.fileno()).st_size)
                _require_memory(name, size)
            file.seek(0)
        try:
            array = np.load(file, allow_pickle=False)
        except OSError:
            raise
        except Exception as error:  # whatever NumPy meets in a broken one
            raise ValueError(f"{name} is not a complete .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name} is an archive of arrays, not a .npy file")
    return array


def _is_dataset(given: Any) -> bool:
    return type(given).__module__.startswith("h5py.") and hasattr(given, "read_direct")


def _open_array(name: str, array: Array, opened: ExitStack) -> Matrix:
    """A memory map is read as the file that it maps: its pages would count as the process's memory."""
    mapped = getattr(array, "_mmap", None)
    if isinstance(array, np.memmap) and mapped is not None and array.filename and array.mode != "c" and array.flags.forc:
        base = np.frombuffer(mapped, np.uint8).__array_interface__["data"][0]
        page = array.offset - array.offset % ALLOCATIONGRANULARITY
        if array.ndim == 2 and array.size:
            transposed = not array.flags.c_contiguous
            stored = array.shape[::-1] if transposed else array.shape
            offset = page + array.__array_interface__["data"][0] - base
            return _raw(name, stored, array.dtype, transposed, str(array.filename), offset, opened)
    return Held(name, as_array(name, array))


def _raw(
    name: str, stored: tuple[int, ...], dtype: np.dtype[Any], transposed: bool, path: str, offset: int, opened: ExitStack
) -> Raw:
    matrix = Raw(name, stored, dtype, transposed, path, offset)
    opened.callback(matrix.close)
    return matrix


def _open_path(argument: str, given: str | bytes | os.PathLike[Any], memory: int, opened: ExitStack) -> Matrix:
    path, inner = split_name(given)
    name = f"{argument} ({os.fsdecode(given)})"
    with open_regular(path) as file:
        head = file.read(1024)
        if head.startswith(b"\x93NUMPY"):
            if inner is not None:
                raise ValueError(f"{name}: a .npy file holds one array without a name")
            file.seek(0)
            shape, fortran, dtype = npy_header(name, file)
            if dtype.hasobject:
                raise TypeError(f"{name} has dtype {dtype}; numbers are needed")
            return _raw(name, shape[::-1] if fortran else shape, dtype, fortran, path, file.tell(), opened)
    if head.startswith(_HDF5) or _HDF5 in (head[512:520], head[:8]):
        matlab = Path(path).suffix.lower() == ".mat" or head.startswith(b"MATLAB 7.3")
        h5py = need("h5py", name)
        try:
            with ExitStack() as here:
                file = here.enter_context(h5py.File(path, "r", rdcc_nbytes=2**20))
                matrix = _open_dataset(name, _dataset_of(name, file, inner), matlab, path, opened)
                if isinstance(matrix, Chunked):
                    opened.push(here.pop_all())
            return matrix
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:  # of HDF5, for what is broken
            if isinstance(error, OSError) and error.errno is not None or str(error).startswith(name):
                raise
            raise ValueError(f"{name} is not HDF5 that can be read: {error}") from error
    if head.startswith(b"MATLAB 5.0") or Path(path).suffix.lower() == ".mat":
        return _open_old_mat(name, path, inner, memory, head.startswith(b"MATLAB 5.0"))
    raise ValueError(f"{name} is not a complete .npy file, nor HDF5 or .mat")


def npy_header(name: str, file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns are contiguous, and dtype of a .npy file, which is then at its first element."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"its version is {version[0]}.{version[1]}")
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = header(file)
    except OSError:
        raise
    except Exception as error:  # whatever NumPy meets in a broken one: also IndexError, TokenError, MemoryError
        raise ValueError(f"{name} is not a complete .npy file: {str(error) or type(error).__name__}") from error
    if not all(type(length) is int and 0 <= length < 2**63 for length in shape):  # True is an int to NumPy
        raise ValueError(f"{name} is not a complete .npy file: it says that its shape is {shape}")
    return shape, fortran, dtype


def _dataset_of(name: str, file: Any, inner: str | None) -> Any:
    """The dataset of that name, or the only matrix that there is."""
    matrices: list[str] = []

    def visit(path: str, item: Any) -> None:
        matrix = len(getattr(item, "shape", None) or ()) == 2 or "MATLAB_empty" in item.attrs
        if matrix and not path.startswith("#"):  # MATLAB keeps the contents of cells in #refs#
            matrices.append(path)

    if inner is None or inner.strip("/") not in file or not hasattr(file[inner], "read_direct"):
        file.visititems(visit)
        there = f"its matrices are {', '.join(matrices[:20]) or 'none'}"
        if inner is not None:
            raise ValueError(f"{name}: there is no dataset {inner}; {there}")
        if len(matrices) != 1:
            raise ValueError(f"{name}: say which dataset, as in {file.filename}:name; {there}")
        return file[matrices[0]]
    return file[inner]


def _open_dataset(name: str, dataset: Any, matlab: bool, path: str, opened: ExitStack) -> Matrix:
    if dataset.shape is None:
        raise ValueError(f"{name} has no elements, not even a shape")
    if matlab and np.ravel(dataset.attrs.get("MATLAB_empty", 0)).tolist() == [1]:  # what is stored is the shape
        return Held(name, np.zeros(_empty_shape(name, dataset)), path)
    fields = dataset.dtype.fields
    dtype = dataset.dtype
    if fields is not None and list(fields) == ["real", "imag"] and fields["real"][0] == fields["imag"][0]:
        dtype = np.dtype(f"{fields['real'][0].byteorder}c{dtype.itemsize}")  # MATLAB's complex numbers
    plain = dataset.chunks is None and not dataset.external and not dataset.is_virtual
    offset = dataset.id.get_offset() if plain and dtype.kind in "iufc" else None
    dataset.file.flush()
    if offset is not None:
        return _raw(name, dataset.shape, dtype, matlab, path, offset, opened)
    return Chunked(name, dataset, dtype, matlab, path)


def _empty_shape(name: str, dataset: Any) -> tuple[int, ...]:
    lengths = dataset[()].tolist() if dataset.dtype.kind in "ui" and dataset.shape == (2,) else []
    if 0 not in lengths or not all(0 <= length < 2**40 for length in lengths):
        raise ValueError(f"{name}: MATLAB_empty says that it is empty, but it is not the shape of an empty matrix")
    return tuple(lengths)


def _open_old_mat(name: str, path: str, inner: str | None, memory: int, version5: bool) -> Matrix:
    """SciPy reads a variable of an old .mat file only whole; it takes its size twice while it does."""
    io = need("scipy.io", name)
    try:
        variables = {variable: (shape, kind) for variable, shape, kind in io.whosmat(path)}
    except Exception as error:  # whatever SciPy meets in a broken file
        raise ValueError(f"{name} is not a .mat file that SciPy can read: {error}") from error
    there = f"its variables are {', '.join(variables) or 'none'}"
    if inner is None and len(variables) != 1:
        raise ValueError(f"{name}: say which variable, as in {path}:name; {there}")
    variable = next(iter(variables)) if inner is None else inner.strip("/")
    if variable not in variables:
        raise ValueError(f"{name}: there is no variable {variable}; {there}")
    shape, kind = variables[variable]
    if kind not in ("double", "single", "logical") and not re.fullmatch(r"u?int\d+", kind):
        raise TypeError(f"{name}: {variable} is of class {kind}; a full matrix of numbers is needed")
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"{name}: {variable} has shape {tuple(shape)}, a matrix has 2 dimensions")
    size = 2 * math.prod(shape) * {"double": 8, "single": 4, "logical": 1}.get(kind, 8)
    if size > memory:
        better = "save it with MATLAB's -v7.3, or as .npy or HDF5"
        raise ValueError(f"{name} is an old .mat file, which must fit in memory twice: {size} bytes; {better}")
    try:
        if version5:
            with open_regular(path) as file:
                require_numbers(file, variable)
        array = io.loadmat(path, variable_names=[variable])[variable]  # small integers where a double array holds no others
    except Exception as error:
        raise ValueError(f"{name} is not a .mat file that SciPy can read: {error}") from error
    if not isinstance(array, np.ndarray) or array.shape != tuple(shape):
        raise ValueError(f"{name}: {variable} is not the full matrix of {shape[0]} x {shape[1]} that its header says")
    if kind == "single" and array.dtype.kind in "biu":
        array = array.astype(np.float32)
    matrix = Held(name, array, path)
    matrix.meant = {"double": np.result_type(array, np.float64), "logical": np.dtype(bool)}.get(kind, array.dtype)
    matrix.identity["inner"] = variable
    matrix.extra = 2 * array.nbytes
    return matrix
