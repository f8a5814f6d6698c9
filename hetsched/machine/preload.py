"""A library as an entry of LD_PRELOAD: nothing in its path may end the entry, and nothing may be replaced by the loader."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .kept import keep_link

#: glibc ends an entry at a space or a colon, musl at any white space or a colon; $ORIGIN, $LIB and $PLATFORM are replaced.
_SPECIAL = frozenset(" \t\n\v\f\r:;$")
#: Exits with 0 if the library is in its memory.
_LOOK = "import sys; maps = open('/proc/self/maps', 'rb').read(); sys.exit(sys.argv[1].encode() not in maps)"


def preloaded(library: Path, environment: Mapping[str, str]) -> str:
    """The path by which LD_PRELOAD names a library: its own, or else that of a link among what is kept of this machine.

    Parameters
    ----------
    library : Path
    environment : mapping
        Of the program that is to have it.

    Raises
    ------
    OSError
        The loader does not load it, or no path names it; the message says why.
    """
    path = os.path.abspath(library)
    if not _is_plain(path):
        path = os.path.realpath(library)
    if not _is_plain(path):
        path = _linked(path)
    _require_loaded(path, environment)
    return path


def _is_plain(path: str) -> bool:
    return not _SPECIAL & set(path)


def _linked(path: str) -> str:
    """The same by a link to its folder. Not to the file: what it needs itself lies beside it ($ORIGIN in its RPATH)."""
    folder, name = os.path.split(path)
    why = f"LD_PRELOAD cannot name {path!r}, whose path has white space, a colon, a semicolon or a dollar sign"
    try:
        link = str(keep_link(Path(folder)))
    except OSError as error:
        raise OSError(f"{why}; a link to it was not made: {error}") from None
    if not _is_plain(link):
        raise OSError(f"{why}; nor can it name a link in {os.path.dirname(link)!r}: set XDG_CACHE_HOME to another folder")
    found = os.path.join(link, name)
    if not os.path.samefile(found, path):
        raise OSError(f"{why}, and {found!r} is another file")
    return found


def _require_loaded(path: str, environment: Mapping[str, str]) -> None:
    """Refuse a library that a program, this Python, would be started without: the loader says so at best on stderr."""
    command = [sys.executable, "-I", "-S", "-c", _LOOK, os.path.basename(path)]
    its = os.environ | environment | {"LD_PRELOAD": path}
    try:
        done = subprocess.run(command, env=its, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except BlockingIOError:  # no process is to be had beside the one that becomes the program
        return
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise OSError(f"the system's loader does not load {path}{': ' if said else ''}{said[0] if said else ''}")
