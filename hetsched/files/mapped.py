"""The file behind a numpy.memmap.

An array that maps a file has the file's name, but another file may have that name by now: programs that save in one step write
a new file and rename it. What the array maps is known to the system alone. On Linux /proc/self/maps says it for every address:
where in the file the address is, the file's device and inode, and its name, which ends in " (deleted)" after the file lost it.
The file that has the name now is mapped too, and both entries are compared. (`os.stat` does not do: on Btrfs and on overlays it
tells another device than /proc/self/maps.)
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
    """A file's name and open descriptor, where in it the array's first byte is, and whether changes of the array reach it."""

    path: str
    descriptor: int
    offset: int
    shared: bool


def find_file(name: str, array: Array, opened: ExitStack) -> MappedFile | None:
    """The file that an array maps, opened by its name; None for an array of another kind, or where no file of that name is it.

    Raises
    ------
    ValueError
        If the file has been cut short: elements that it no longer has cannot be read, and who tries is killed by a signal.
    """
    if not isinstance(array, np.memmap) or not array.size:
        return None
    import mmap  # a library of its own, which programs without maps need not load

    mapping = getattr(array, "_mmap", None)
    if not isinstance(mapping, mmap.mmap):
        return None
    first, end = _bounds(array)
    base = _address(mapping)
    if not base <= first <= end <= base + len(mapping):
        return None
    start = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    require_bytes(name, start + end - base, mapping.size())
    if array.filename is None:
        return None
    try:
        descriptor = open_file(array.filename, opened)
    except OSError:  # it has no name any more, or cannot be read by it
        return None
    try:
        with mmap.mmap(descriptor, 1, access=mmap.ACCESS_READ) as named:
            mapped, candidate = _entries(first, _address(named))
    except (OSError, ValueError):  # empty, or a pipe; or the system has no such list
        return None
    if mapped is None or candidate is None or mapped.file != candidate.file:
        return None
    return MappedFile(os.fspath(array.filename), descriptor, mapped.offset + first - mapped.start, mapped.shared)


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


def _entries(*addresses: int) -> list[_Entry | None]:
    """The entries of the list of mappings that have these addresses."""
    found: list[_Entry | None] = [None] * len(addresses)
    with open(_MAPS, "rb") as maps:
        for line in maps:
            bounds, permissions, offset, *file = line.split(maxsplit=5)
            start, end = (int(bound, 16) for bound in bounds.split(b"-"))
            for i, address in enumerate(addresses):
                if start <= address < end:
                    found[i] = _Entry(start, int(offset, 16), b"s" in permissions, tuple(file))
    return found
