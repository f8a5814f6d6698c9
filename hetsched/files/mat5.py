"""Old .mat files (MATLAB 5 to 7.2), looked at before SciPy reads a variable: it believes the types of the parts that it finds.

A file has elements, each a tag of a type and a size, then so many bytes. That of a variable, perhaps compressed by zlib,
is made of elements: flags, dimensions, a name, the real parts and the imaginary ones (MathWorks, "MAT-File Format", chapter 1).
"""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

_HEAD = 128  # bytes before the first element
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13)  # types of elements: integers of 8 to 64 bits, single, double
_COMPLEX = 0x800  # of the flags
_SMALL = 2**16  # bytes of what comes before the numbers
_AT_ONCE = 2**18


class _Body:
    """The bytes of an element, one part after the other."""

    def __init__(self, file: BinaryIO, size: int, compressed: bool) -> None:
        self._file, self._left = file, size
        self._unpack = zlib.decompressobj() if compressed else None

    def take(self, count: int) -> bytes:
        """So many bytes; ValueError where there are fewer."""
        found = b""
        while len(found) < count and (more := self._more(count - len(found))):
            found += more
        if len(found) < count:
            raise ValueError("a part is cut short")
        return found

    def skip(self, count: int) -> None:
        """Go on behind so many bytes."""
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


def require_numbers(file: BinaryIO, variable: str) -> None:
    """ValueError if a variable of that name says that its elements are something else than numbers, or the file ends before."""
    try:
        file.seek(_HEAD - 2)
        order = ">" if file.read(2) == b"MI" else "<"
        place = _HEAD
        while len(head := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", head)
            body = _Body(file, size, kind == _COMPRESSED)
            if kind == _COMPRESSED:
                kind, _ = struct.unpack(f"{order}II", body.take(8))
            if kind == _MATRIX:
                _require_numbers(body, order, variable)
            place += 8 + size
            file.seek(place)
    except zlib.error as error:
        raise ValueError(str(error)) from None


def _require_numbers(body: _Body, order: str, variable: str) -> None:
    flags, _, name = (_small(body, order) for _ in range(3))
    if name and name.decode("latin-1") != variable:  # SciPy makes up a name for one without
        return
    (bits,) = struct.unpack_from(f"{order}I", flags.ljust(4, b"\0"))
    for _ in range(2 if bits & _COMPLEX else 1):
        kind, size, inside = _tag(body, order)
        if kind not in _NUMBERS:
            raise ValueError(f"its elements are of type {kind}")
        if not inside:
            body.skip(size + -size % 8)


def _tag(body: _Body, order: str) -> tuple[int, int, bytes]:
    """Type and size, and the data of an element that has at most 4 bytes, which are in the tag."""
    head = body.take(8)
    kind, size = struct.unpack(f"{order}II", head)
    return (kind & 0xFFFF, kind >> 16, head[4:]) if kind >> 16 else (kind, size, b"")


def _small(body: _Body, order: str) -> bytes:
    _, size, inside = _tag(body, order)
    if size > (len(inside) or _SMALL):
        raise ValueError(f"a part of {size} bytes comes before its elements")
    data = inside or body.take(size)
    body.skip(0 if inside else -size % 8)
    return data[:size]
