"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .regular import require_regular

#: Errors of a disk, in which the system does not say which file it was.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file written beside `path` and renamed to it when the block ends; removed when the block fails.

    Where path is a symbolic link, the file that it points to is replaced; OSError where it is something else, such as a device.
    The permissions are those of the file that is replaced; of a new file what the umask leaves.
    """
    target = Path(os.path.realpath(path))
    mode = None
    if target.exists():
        require_regular(target, path)
        mode = target.stat().st_mode & 0o7777
    name = target.parent / f".{os.urandom(16).hex()}.part"  # nobody else has that name
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        # The system applies the umask: to ask for it is to change it for all threads.
        with os.fdopen(os.open(name, flags, 0o666 if mode is None else 0o600), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(name, mode)
        os.replace(name, target)
    except BaseException as error:
        name.unlink(missing_ok=True)
        if isinstance(error, OSError) and (error.filename == str(name) or error.filename is None and error.errno in _DISK):
            error.filename = os.fspath(path)
        raise
