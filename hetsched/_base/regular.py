"""Reading regular files only: a pipe could block the reader for ever, a device may have no end."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from typing import BinaryIO

#: Most bytes of a file of text: a platform, a plan, a description of a machine.
MOST = 2**30


def require_regular(where: int | str | os.PathLike[str], name: str | os.PathLike[str]) -> None:
    """Raise OSError with the given name unless the path, or the open file, is a regular file."""
    mode = os.stat(where).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(name))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is a pipe, a socket or a device, not a file", os.fspath(name))


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; OSError for anything else."""
    # without it, opening a pipe may block
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        require_regular(descriptor, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str], most: int = MOST) -> bytes:
    """The content of a regular file; OSError for anything else, and for a larger file."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"has more than {most} bytes", os.fspath(path))
        return file.read()


def read_text(path: str | os.PathLike[str], most: int = MOST) -> str:
    """All of a regular file of text in UTF-8, with or without a byte order mark.

    Raises
    ------
    OSError
        See `read_regular`.
    ValueError
        For bytes that are not UTF-8; the message does not name the file.
    """
    data = read_regular(path, most)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:2]:
        raise ValueError(
            "it must be text in UTF-8, and is in UTF-16 or another encoding of two or four bytes"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"it must be text in UTF-8, and has the byte 0x{data[error.start]:02x} at {error.start}"
        ) from None


def unescape_mount(field: str) -> str:
    """A path from /proc/self/mountinfo or /proc/mounts.

    The kernel writes white space and backslashes in it as octal numbers.
    """
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field)
