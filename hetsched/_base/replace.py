"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from . import check
from .regular import require_regular, unescape_mount

#: Disk errors for which the system does not name the file.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_MOUNTS = "/proc/self/mountinfo"


def require_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise OSError with the given name unless `replace_file` can write the file. Nothing is
    changed.

    Calls that compute for a long time before they write use this check at their start. A read-only
    file is refused although the system allows a rename to it in a writable folder: the missing
    permission protects its content. A mount point cannot be replaced; containers mount single
    files (docker -v file:file).
    """
    name = check.path("path", path)
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "its folder cannot be written to", name)
    if not os.path.lexists(target):
        return
    require_regular(target, path)
    # root could write it
    if not os.stat(target).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "is read-only", name)
    try:
        os.close(os.open(target, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0)))
    except OSError as error:
        error.filename = name
        raise
    if _is_mount_point(target):
        raise OSError(
            errno.EBUSY,
            "is a mount point, which cannot be replaced; give a file in a folder that is mounted",
            name,
        )
    if _is_kept(target, folder):
        raise PermissionError(
            errno.EPERM,
            "cannot be replaced: it is another user's, in a folder with the sticky bit",
            name,
        )


def _is_mount_point(target: str) -> bool:
    try:
        with open(_MOUNTS, "rb") as mounts:
            points = [unescape_mount(os.fsdecode(line.split(b" ")[4])) for line in mounts]
    except OSError:  # not Linux
        return os.stat(target).st_dev != os.stat(os.path.dirname(target)).st_dev
    return target in points


def _is_kept(target: str, folder: str) -> bool:
    """Whether only the owner of the file, the owner of the folder and root can replace the file."""
    own, around = os.stat(target), os.stat(folder)
    allowed = (0, own.st_uid, around.st_uid)
    return bool(around.st_mode & stat.S_ISVTX) and os.geteuid() not in allowed


def require_others(
    name: str, path: str | os.PathLike[str], inputs: Mapping[str, str | os.PathLike[str]]
) -> None:
    """Raise ValueError if the output file is also one of the input files, under any name."""
    for argument, given in inputs.items():
        if os.path.exists(path) and os.path.exists(given) and os.path.samefile(path, given):
            raise ValueError(
                f"{name} and {argument} are the same file, {os.fspath(given)};"
                f" give {name} a name of its own"
            )


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file beside `path` and rename it to `path` when the block ends.

    If the block fails, the file is removed. If path is a symbolic link, the file that it points to
    is replaced. If the file cannot be replaced, OSError is raised before the block. A replaced file
    keeps its permissions, a new one gets the permissions that the umask leaves.
    """
    path = check.path("path", path)
    require_replaceable(path)
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode & 0o7777 if target.exists() else None
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
        if isinstance(error, OSError) and (
            error.filename == str(name) or error.filename is None and error.errno in _DISK
        ):
            error.filename = path
        raise
