"""Old .mat files, of MATLAB 4 and of 5 to 7.2. SciPy reads a whole variable.

A file of version 5 to 7.2 consists of elements. An element is a tag with a type and a size,
followed by that many bytes. A variable is an element, possibly compressed by zlib, that contains
elements: flags, dimensions, a name, the real parts and the imaginary parts (MathWorks, "MAT-File
Format", chapter 1). This module checks them before SciPy reads the variable, for two reasons. SciPy
cannot list the variables of a file that also holds an object, such as a string or a date. And SciPy
trusts the types and sizes of the parts.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._base.need import need
from .._base.regular import open_regular
from .matlab import CLASSES, meant_dtype, require_numeric
from .stored import Held

_HEAD = 128  # bytes before the first element
_MATRIX, _COMPRESSED = 14, 15
#: Type of an element -> bytes of a number in it: integers of 8 to 64 bits, single, double.
_NUMBERS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_CLASSES = (
    "unknown",
    "cell",
    "struct",
    "object",
    "char",
    "sparse",
    "double",
    "single",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "function",
    "opaque",
    "object",
)
_LOGICAL, _COMPLEX = 0x200, 0x800  # bits of the flags; the lowest byte is the class
_SMALL = 2**16  # most bytes of each part before the numbers
_AT_ONCE = 2**18


class Variable(NamedTuple):
    """A variable, as described in a file.

    place, size : of its element, with the tag; 0 in files of version 4.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    parts: int = 1
    place: int = 0
    size: int = 0


def version_of(file: BinaryIO) -> int | None:
    """Version of a file: 4, 5 (for 5 to 7.2), or None.

    As in SciPy, a zero in the first bytes means version 4, because text has none. Otherwise the
    version stands after the text.
    """
    file.seek(0)
    head = file.read(_HEAD)
    if 0 in head[:4]:
        return 4
    minor_major = head[-4:-2] if head[-2:] == b"IM" else head[-4:-2][::-1]
    return 5 if len(head) == _HEAD and head[-2:] in (b"IM", b"MI") and minor_major[1] == 1 else None


def open_old_mat(name: str, path: str, inner: str | None, memory: int, version: int | None) -> Held:
    """Read a variable of an old file.

    SciPy needs twice its size while reading. Raises ValueError if that is more than `memory`.
    """
    if version is None:
        raise ValueError(
            f"{name} is not a .mat file that SciPy can read: it says no version that is known"
        )
    scipy_io, version5 = need("scipy.io", name), version == 5
    with open_regular(path) as file:
        try:
            variables = (
                list(_variables(file))
                if version5
                else [Variable(n, k, s) for n, s, k in scipy_io.whosmat(path)]
            )
        except Exception as error:  # any error of SciPy for a damaged file
            raise ValueError(f"{name} is not a .mat file that SciPy can read: {error}") from error
        found = _choose(name, path, inner, variables)
        size = 2 * math.prod(found.shape) * found.parts * CLASSES[found.kind].itemsize
        if size > memory:
            better = "save it with MATLAB's -v7.3, or as .npy or HDF5"
            raise ValueError(
                f"{name} is an old .mat file, which must fit in memory twice:"
                f" {size} bytes; {better}"
            )
        try:
            if version5:
                _require_numbers(file, found)
            alone = io.BufferedReader(_Alone(file, found)) if version5 else path
            array = scipy_io.loadmat(alone, variable_names=[found.name])[found.name]
        except Exception as error:
            raise ValueError(f"{name} is not a .mat file that SciPy can read: {error}") from error
    if not isinstance(array, np.ndarray) or array.shape != found.shape:
        rows, cols = found.shape
        raise ValueError(
            f"{name}: {found.name} is not the full matrix of {rows} x {cols} that its header says"
        )
    # MATLAB stores an array of class single as small integers if all of its elements are such.
    if found.kind == "single" and array.dtype.kind in "biu":
        array = array.astype(np.float32)
    matrix = Held(name, array, path)
    meant = meant_dtype(found.kind, array.dtype)
    if meant.kind == "b" or np.can_cast(array.dtype, meant):
        matrix.meant = meant
    matrix.identity["inner"] = found.name
    matrix.extra = 2 * array.nbytes
    return matrix


def _choose(name: str, path: str, inner: str | None, variables: list[Variable]) -> Variable:
    """Find the requested variable. Raises unless it is a full matrix of numbers."""
    there = f"its variables are {', '.join(variable.name for variable in variables) or 'none'}"
    if inner is None and len(variables) != 1:
        raise ValueError(f"{name}: say which variable, as in {path}:name; {there}")
    asked = variables[0].name if inner is None else inner.strip("/")
    found = [variable for variable in variables if variable.name == asked]
    if not found:
        raise ValueError(f"{name}: there is no variable {asked}; {there}")
    if len(found) > 1:
        raise ValueError(f"{name}: there are {len(found)} variables {asked}")
    require_numeric(name, asked, found[0].kind)
    if len(found[0].shape) != 2 or min(found[0].shape) < 0:
        raise ValueError(f"{name}: {asked} has shape {found[0].shape}, a matrix has 2 dimensions")
    return found[0]


# ---- version 5 to 7.2 ----------------------------------------------------------------------------


class _Body:
    """Reads the parts of an element one after the other."""

    def __init__(self, file: BinaryIO, order: str, size: int, compressed: bool) -> None:
        self._file, self._left = file, size
        self._unpack = zlib.decompressobj() if compressed else None
        self.order = order

    def take(self, count: int) -> bytes:
        """Read `count` bytes; ValueError if there are fewer."""
        found = b""
        while len(found) < count and (more := self._more(count - len(found))):
            found += more
        if len(found) < count:
            raise ValueError("a part is cut short")
        return found

    def skip(self, count: int) -> None:
        """Skip `count` bytes."""
        while count:
            count -= len(self.take(min(count, _AT_ONCE)))

    def _more(self, count: int) -> bytes:
        if self._unpack is None:
            return self._read(count)
        while packed := self._unpack.unconsumed_tail or self._read(_AT_ONCE):
            if found := self._unpack.decompress(packed, count):
                return found
        return b""

    def _read(self, count: int) -> bytes:
        found = self._file.read(min(count, self._left))
        self._left -= len(found)
        return found

    def head(self) -> tuple[int, int]:
        """Read the type and size of a variable's element."""
        kind, size = struct.unpack(f"{self.order}II", self.take(8))
        return kind, size

    def tag(self) -> tuple[int, int, bytes]:
        """Read type and size of a part, and its data if they are in the tag (at most 4 bytes)."""
        head = self.take(8)
        kind, size = struct.unpack(f"{self.order}II", head)
        return (kind & 0xFFFF, kind >> 16, head[4:]) if kind >> 16 else (kind, size, b"")

    def small(self) -> bytes:
        """Read the data of a part with a limited size."""
        _, size, inside = self.tag()
        if size > (len(inside) or _SMALL):
            raise ValueError(f"a part of {size} bytes comes before its elements")
        data = inside or self.take(size)
        self.skip(0 if inside else -size % 8)
        return data[:size]


def _variables(file: BinaryIO) -> Iterator[Variable]:
    """Yield all variables with a name. One without a name holds the contents of objects."""
    file.seek(_HEAD - 2)
    order = ">" if file.read(2) == b"MI" else "<"
    place, end = _HEAD, os.fstat(file.fileno()).st_size
    while place < end:
        body, size = _open_variable(file, order, place)
        found = _describe(body, place, size)
        if found.name:
            yield found
        place += size


def _open_variable(file: BinaryIO, order: str, place: int) -> tuple[_Body, int]:
    """The body of a variable's element, and the size of the element with its tag."""
    file.seek(place)
    kind, size = _Body(file, order, 8, False).head()
    body = _Body(file, order, size, kind == _COMPRESSED)
    if kind == _COMPRESSED:
        kind, _ = body.head()
    if kind != _MATRIX:
        raise ValueError(f"an element of type {kind} is where a variable should be")
    return body, 8 + size


def _describe(body: _Body, place: int, size: int) -> Variable:
    (flags,) = struct.unpack_from(f"{body.order}I", body.small().ljust(4, b"\0"))
    kind = _CLASSES[flags & 0xFF] if flags & 0xFF < len(_CLASSES) else "unknown"
    shape: tuple[int, ...] = ()
    if kind != "opaque":  # an opaque variable has no dimensions
        lengths = body.small()
        shape = struct.unpack(f"{body.order}{len(lengths) // 4}i", lengths[: len(lengths) // 4 * 4])
    name = body.small().decode("latin-1")
    if kind in CLASSES and flags & _LOGICAL:
        kind = "logical"
    return Variable(name, kind, shape, 2 if flags & _COMPLEX else 1, place, size)


def _require_numbers(file: BinaryIO, variable: Variable) -> None:
    """Raise ValueError unless the parts of a variable are complete.

    By their tags they must hold as many numbers as the variable has elements, and the bytes must be
    there.
    """
    file.seek(_HEAD - 2)
    order = ">" if file.read(2) == b"MI" else "<"
    body, _ = _open_variable(file, order, variable.place)
    _describe(body, 0, 0)
    for _ in range(variable.parts):
        kind, size, inside = body.tag()
        if kind not in _NUMBERS:
            raise ValueError(f"its elements are of type {kind}")
        if size != math.prod(variable.shape) * _NUMBERS[kind]:
            raise ValueError(
                f"{size} bytes are not {math.prod(variable.shape)} elements of type {kind}"
            )
        if not inside:
            body.skip(size + -size % 8)


class _Alone(io.RawIOBase):
    """A file with only one variable: the head of the file, and the element of the variable."""

    def __init__(self, file: BinaryIO, variable: Variable) -> None:
        self._file, self._variable, self._at = file, variable, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        end = _HEAD + self._variable.size
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: end}
        self._at = starts[whence] + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        head = self._at < _HEAD
        self._file.seek(self._at if head else self._variable.place + self._at - _HEAD)
        left = (_HEAD if head else _HEAD + self._variable.size) - self._at
        found = self._file.read(max(0, min(len(buffer), left)))
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)
