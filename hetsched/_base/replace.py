"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .regular import require_regular

#: Disk errors for which the system does not name the file.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file beside `path` and rename it to `path` when the block ends.

    If the block fails, the file is removed. If path is a symbolic link, the file that it points to
    is replaced; if path is something else, such as a device, OSError is raised. A replaced file
    keeps its permissions, a new one gets the permissions that the umask leaves.
    """
    target = Path(os.path.realpath(path))
    mode = None
    if target.exists():
        require_regular(target, path)
        mode = target.stat().st_mode & 0o7777
    name = target.parent / f".{os.urandom(16).hex()}.part"  # no other file has this name
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        # The system applies the umask here: asking for the umask would change it for all threads.
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
