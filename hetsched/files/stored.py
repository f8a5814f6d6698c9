"""Matrices that are read block by block into buffers of the caller.

A matrix is lines of elements in a file, or an array in memory.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Index of the first element, and of the one after the last.
Range = tuple[int, int]
#: Bytes of the buffer in which elements are converted, and most bytes read between two checks of
#: `stop`.
STAGE = 2**18
STRETCH = 2**22
#: Number of pieces of lines that the system is told to read ahead.
_AHEAD = 64


class Matrix:
    """A matrix stored as lines of contiguous elements: its rows, or its columns if `transposed`.

    Parameters
    ----------
    name : str
        Name in messages.
    stored : (int, int)
        Number of lines, and their length.
    dtype : dtype
    transposed : bool
    path : str, optional
        The file.
    places : sequence of (str or int)
        Paths and open descriptors of the files with the elements. They are checked for changes.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
        Dtype of the stored elements.
    meant : dtype
        Dtype that the elements stand for. It may differ from `dtype`, because MATLAB stores whole
        numbers of class double in fewer bytes.
    transposed : bool
    chunk : (int, int) or None
        Rows and columns of the chunks, which can only be read whole.
    extra : int
        Bytes of memory that reading takes in addition to the caller's buffers.
    path : str or None
        The file, without symbolic links.
    identity : dict
        Properties besides the content that identify the matrix, for the journal.
    nbytes, bytes_read : int
        Bytes of the matrix, and bytes read so far.
    """

    chunk: tuple[int, int] | None = None
    extra = 0

    def __init__(
        self,
        name: str,
        stored: tuple[int, ...],
        dtype: np.dtype[Any],
        transposed: bool,
        path: str | None = None,
        places: tuple[str | int, ...] = (),
    ) -> None:
        if len(stored) != 2:
            raise ValueError(f"{name} has {len(stored)} dimensions, a matrix has 2")
        self.name, self.dtype, self.meant, self.transposed = name, dtype, dtype, transposed
        self.lines, self.length = int(stored[0]), int(stored[1])
        self.shape = (self.length, self.lines) if transposed else (self.lines, self.length)
        self.identity: dict[str, Any] = {"shape": list(self.shape), "dtype": dtype.str}
        self.path = None if path is None else os.path.realpath(path)
        if path is not None:
            self.identity["path"] = self.path
        self._places = places
        self._opened = _stamps(places)
        self.nbytes = self.lines * self.length * dtype.itemsize
        self.bytes_read = 0
        self.drop_behind = False

    def read(
        self, rows: Range, cols: Range, buffer: Array, stage: Array, stop: Callable[[], bool]
    ) -> Array:
        """Read a block into the flat buffer, converted to its dtype; `stage` has STAGE bytes."""
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
                    part = (
                        stage[: target.size * self.dtype.itemsize]
                        .view(self.dtype)
                        .reshape(target.shape)
                    )
                    self._fetch(line, at, part, stop)
                    np.copyto(target, part, casting="unsafe")
        self.bytes_read += block.size * self.dtype.itemsize
        return block.T if self.transposed else block

    def _stored(self, rows: Range, cols: Range) -> tuple[Range, Range]:
        """(range of lines, range within the lines) of a block."""
        return (cols, rows) if self.transposed else (rows, cols)

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        raise NotImplementedError

    def unchanged(self) -> bool:
        """Whether the files are still the opened ones, and no program has written to them."""
        try:
            return _stamps(self._places) == self._opened
        except OSError:  # removed or closed
            return False

    def is_in(self, place: str | int) -> bool:
        """Whether the file of this name or descriptor holds elements of the matrix."""
        try:
            status = os.stat(place)
        except OSError:
            return False
        return any(stamp[:2] == (status.st_dev, status.st_ino) for stamp in self._opened)


def _stamps(places: tuple[str | int, ...]) -> list[tuple[int, ...]]:
    """For each file: device, inode, size, and times that change with every change of the file.

    A tool can set the time of modification back, but no tool can set the time of the last change
    (ctime).
    """
    found = [os.stat(place) for place in places]
    return [
        (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns)
        for file in found
    ]


def checksum(data: Array, stop: Callable[[], bool]) -> int:
    """zlib.crc32 of contiguous elements."""
    memory, result = data.reshape(-1).view(np.uint8).data, 0
    for at in range(0, len(memory), STRETCH):
        if stop():
            raise InterruptedError
        result = zlib.crc32(memory[at : at + STRETCH], result)
    return result


def require_bytes(name: str, needed: int, have: int) -> None:
    """Raise ValueError if a file has fewer bytes than its header says.

    Called before memory is allocated for them.
    """
    if have < needed:
        raise ValueError(f"{name} is cut short: {needed} bytes were expected, it has {have}")


class Raw(Matrix):
    """Elements in a file, line after line. `file` is its descriptor, which the caller closes."""

    def __init__(
        self,
        name: str,
        stored: tuple[int, ...],
        dtype: np.dtype[Any],
        transposed: bool,
        path: str,
        file: int,
        offset: int,
    ) -> None:
        super().__init__(name, stored, dtype, transposed, path, (file,))
        self.file, self.offset = file, offset
        require_bytes(name, offset + self.nbytes, os.fstat(file).st_size)
        self.identity |= {"offset": offset, "transposed": transposed}

    def _stretches(self, line: int, at: int, block: Array) -> Iterator[tuple[int, memoryview]]:
        """Yield (offset in the file, memory) of pieces that are contiguous in both."""
        pitch = self.length * self.dtype.itemsize
        start = self.offset + line * pitch + at * self.dtype.itemsize
        memory = block.reshape(-1).view(np.uint8).data
        piece = block.shape[1] * self.dtype.itemsize
        if piece == pitch:
            pitch = piece = len(memory)
        for i in range(len(memory) // piece if piece else 0):
            for s in range(0, piece, STRETCH):
                yield (
                    start + i * pitch + s,
                    memory[i * piece + s : i * piece + min(s + STRETCH, piece)],
                )

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        ahead = (
            self._stretches(line, at, block)
            if block.shape[1] < self.length and hasattr(os, "posix_fadvise")
            else iter(())
        )
        for i, (offset, memory) in enumerate(self._stretches(line, at, block)):
            if stop():
                raise InterruptedError
            if i % _AHEAD == 0:
                for place, piece in islice(ahead, _AHEAD if i else 2 * _AHEAD):
                    os.posix_fadvise(self.file, place, len(piece), os.POSIX_FADV_WILLNEED)
            while memory:
                count = os.preadv(self.file, [memory], offset)
                if count == 0:
                    raise OSError(f"{self.name} was cut short while it was read")
                memory, offset = memory[count:], offset + count
        if self.drop_behind:
            self._drop(line, at, block)

    def write(self, rows: Range, cols: Range, flat: Array, stop: Callable[[], bool]) -> None:
        """Write a block that is stored in `flat` as lines."""
        (l0, l1), (p0, p1) = self._stored(rows, cols)
        block = flat.reshape(l1 - l0, p1 - p0)
        for offset, memory in self._stretches(l0, p0, block):
            if stop():
                raise InterruptedError
            while memory:
                count = os.pwrite(self.file, memory, offset)
                memory, offset = memory[count:], offset + count
        self._drop(l0, p0, block)  # starts writing to the disk

    def _drop(self, line: int, at: int, block: Array) -> None:
        """Tell the system that lines read or written to their end are not needed soon."""
        if at + block.shape[1] == self.length and hasattr(os, "posix_fadvise"):
            pitch = self.length * self.dtype.itemsize
            os.posix_fadvise(
                self.file, self.offset + line * pitch, len(block) * pitch, os.POSIX_FADV_DONTNEED
            )

    def checksum(self, rows: Range, cols: Range, stage: Array) -> int:
        """zlib.crc32 of a block in the file."""
        (l0, l1), (p0, p1) = self._stored(rows, cols)
        width = max(1, min(p1 - p0, len(stage) // self.dtype.itemsize))
        result = 0
        for line in range(l0, l1):
            for at in range(p0, p1, width):
                part = (
                    stage[: min(width, p1 - at) * self.dtype.itemsize]
                    .view(self.dtype)
                    .reshape(1, -1)
                )
                self._fetch(line, at, part, lambda: False)
                result = zlib.crc32(part.data, result)
        return result


class Held(Matrix):
    """An array in memory."""

    def __init__(self, name: str, array: Array, path: str | None = None) -> None:
        transposed = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
        self._array = array.T if transposed else array
        super().__init__(
            name, self._array.shape, array.dtype, transposed, path, () if path is None else (path,)
        )

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        block[...] = self._array[line : line + block.shape[0], at : at + block.shape[1]]


def open_file(path: str, opened: ExitStack, flags: int = os.O_RDONLY) -> int:
    """Open a file; return its descriptor, which `opened` closes."""
    # Without O_NONBLOCK, opening a pipe may wait.
    file = os.open(path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
    opened.callback(os.close, file)
    return file
