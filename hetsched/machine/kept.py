"""Files that are kept for later processes, in the cache folder of the user.

They are measurements of this machine, one file for each kind and for everything that it depends on,
and links to installations.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform as system
import secrets
import stat
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from .._base.regular import read_regular
from .._base.replace import replace_file
from .._base.version import __version__
from .._engine import kernels
from .topology import Topology

_MOST = 2**24  # bytes of a record, many times what any machine needs


def fingerprint(host: Topology) -> dict[str, Any]:
    """The conditions under which a measurement is valid."""
    kernel = kernels.kernel()
    return {
        "hetsched": __version__,
        "engine": kernels.version(),
        "model": host.model,
        "system": f"{system.system()} {system.machine()}",
        "cpus": list(host.allowed),
        "cores": [[cpu.core, cpu.type, cpu.capacity, cpu.max_frequency] for cpu in host.logical],
        "domains": [
            [list(x.cpus), x.kernel, [cache and cache.bytes for cache in x.caches]]
            for x in host.domains
        ],
        "workers": list(host.places[: host.worth]),
        "quota": host.quota,
        "kernel": (
            [kernel[key] for key in ("name", "version", "set")]
            + [list(x) for x in kernel["kernels"].values()]
        ),
    }


def header(host: Topology, kind: str) -> dict[str, Any]:
    """The first fields of a record of this kind."""
    return {"format": f"hetsched-{kind}", "version": 2, "fingerprint": fingerprint(host)}


def kept_record(host: Topology, kind: str) -> dict[str, Any] | None:
    """The record of this machine that `keep` has stored; None if there is none, or none that can be
    read.

    It takes a fraction of a millisecond.
    """
    wanted = header(host, kind)
    try:
        path = _path(wanted)
        found = (
            None
            if path is None or not _is_ours(path.parent)
            else json.loads(read_regular(path, _MOST))
        )
    except (OSError, ValueError, RecursionError):
        return None
    return (
        found
        if isinstance(found, dict) and all(found.get(key) == value for key, value in wanted.items())
        else None
    )


def keep(record: dict[str, Any]) -> None:
    """Store a record, which begins with its `header`."""
    path = _path(record)
    if path is not None:
        _write(path, record)


def keep_link(target: Path) -> Path:
    """A symbolic link to a folder of this installation, in the folder of kept files.

    Raises
    ------
    OSError
        The link cannot be made, or another user could replace it.
    """
    folder = _folder()
    if folder is None:
        raise OSError("this user has no home folder: set XDG_CACHE_HOME")
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_ours(folder):
        raise OSError(
            f"{folder} is another user's, or others can write to it:"
            " set XDG_CACHE_HOME to a folder of your own"
        )
    link = folder / f"library-{sha256(os.fsencode(target) + __version__.encode()).hexdigest()[:16]}"
    if not (link.is_symlink() and os.readlink(link) == os.fspath(target)):
        new = folder / f"{link.name}.{os.getpid()}.{secrets.token_hex(4)}"
        new.symlink_to(target)
        new.replace(link)
    return link


def _write(path: Path, record: dict[str, Any]) -> None:
    # If the home folder cannot be written to, the next process measures again.
    with contextlib.suppress(OSError):
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if _is_ours(path.parent):
            with replace_file(path) as file:
                file.write(json.dumps(record).encode())


def _is_ours(folder: Path) -> bool:
    """Whether only this user can have put anything into the folder.

    Files that other users could write are not trusted, and no link that they could make is
    followed.
    """
    status = os.lstat(folder)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _path(record: dict[str, Any]) -> Path | None:
    """The file of a record; None for a user without a home folder."""
    folder = _folder()
    digest = sha256(json.dumps(record["fingerprint"], sort_keys=True).encode()).hexdigest()[:16]
    return (
        None
        if folder is None
        else folder / f"{record['format'].removeprefix('hetsched-')}-{digest}.json"
    )


def _folder() -> Path | None:
    """The folder of all kept files; None for a user without a home folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        usual = "Library/Caches" if sys.platform == "darwin" else ".cache"
        return (Path(base) if os.path.isabs(base) else Path.home() / usual) / "hetsched"
    except RuntimeError:
        return None
