"""The file behind a numpy.memmap.

An array that maps a file has the name of the file, but now another file may have this name:
programs that save in one step write a new file and rename it. Only the system knows which file the
array maps. On Linux /proc/self/maps has an entry for every mapped address: the offset in the file,
the file's device and inode, and its name, which ends in " (deleted)" if the file has lost it. The
file that has the name now is mapped too, and both entries are compared. (`os.stat` cannot be used
instead: on Btrfs and on overlays its device differs from the one in /proc/self/maps.)
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .stored import Array, open_file, require_bytes

if TYPE_CHECKING:
    import mmap

_MAPS = "/proc/self/maps"


class MappedFile(NamedTuple):
    """A file that an array maps.

    path, descriptor : its name and open descriptor.
    offset : position of the array's first byte.
    shared : whether changes of the array reach the file.
    """

    path: str
    descriptor: int
    offset: int
    shared: bool


def find_file(name: str, array: Array, opened: ExitStack) -> MappedFile | None:
    """Open the file that an array maps by its name.

    None if the array is not a memory map, or if the file of this name is not the mapped one.

    Raises
    ------
    ValueError
        See `require_whole`.
    """
    first = require_whole(name, array)
    if first is None or not isinstance(array, np.memmap) or array.filename is None:
        return None
    try:
        descriptor = open_file(array.filename, opened)
    except OSError:  # it has lost its name, or cannot be opened by it
        return None
    mapped = _find_entry(first, descriptor)
    if mapped is None:
        return None
    return MappedFile(
        os.fspath(array.filename), descriptor, mapped.offset + first - mapped.start, mapped.shared
    )


def is_map_of(array: Array, path: str) -> bool:
    """Whether an array maps the file of this name, even if the file had another name then."""
    if not isinstance(array, np.memmap):
        return False
    with ExitStack() as opened:
        try:
            descriptor = open_file(path, opened)
        except OSError:
            return False
        return _find_entry(_bounds(array)[0], descriptor) is not None


def require_whole(name: str, array: Array) -> int | None:
    """Address of the first byte of an array that maps a file; None for other arrays.

    Raises
    ------
    ValueError
        If the file has been cut short. Reading or writing elements that it no longer has would
        end the process by a signal.
    """
    if not isinstance(array, np.memmap) or not array.size:
        return None
    import mmap  # imported here, because it loads a shared library that only memory maps need

    mapping = getattr(array, "_mmap", None)
    if not isinstance(mapping, mmap.mmap):
        return None
    first, end = _bounds(array)
    base = _address(mapping)
    if not base <= first <= end <= base + len(mapping):
        return None
    start = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    require_bytes(name, start + end - base, mapping.size())
    return first


def _bounds(array: Array) -> tuple[int, int]:
    """Addresses of an array's first byte and of the byte after its last."""
    first = end = array.__array_interface__["data"][0]
    for length, stride in zip(array.shape, array.strides, strict=True):
        first += min(0, (length - 1) * stride)
        end += max(0, (length - 1) * stride)
    return first, end + array.itemsize


def _address(mapping: mmap.mmap) -> int:
    address: int = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    return address


class _Entry(NamedTuple):
    start: int
    offset: int
    shared: bool
    file: tuple[bytes, ...]


def _find_entry(first: int, descriptor: int) -> _Entry | None:
    """The entry of /proc/self/maps with this address; None unless it is of the open file."""
    import mmap

    try:
        with mmap.mmap(descriptor, 1, access=mmap.ACCESS_READ) as named:
            mapped, candidate = _entries(first, _address(named))
    except (OSError, ValueError):  # an empty file or a pipe, or a system without /proc/self/maps
        return None
    return (
        mapped
        if mapped is not None and candidate is not None and mapped.file == candidate.file
        else None
    )


def _entries(*addresses: int) -> list[_Entry | None]:
    """The entries of /proc/self/maps with these addresses."""
    found: list[_Entry | None] = [None] * len(addresses)
    with open(_MAPS, "rb") as maps:
        for line in maps:
            bounds, permissions, offset, *file = line.split(maxsplit=5)
            start, end = (int(bound, 16) for bound in bounds.split(b"-"))
            for i, address in enumerate(addresses):
                if start <= address < end:
                    found[i] = _Entry(start, int(offset, 16), b"s" in permissions, tuple(file))
    return found
