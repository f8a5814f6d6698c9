"""A library as an entry of LD_PRELOAD.

No character of its path may end the entry, and the loader may not replace any part of the path.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .kept import keep_link

#: glibc ends an entry at a space or a colon, musl at any white space or a colon. Both replace
#: $ORIGIN, $LIB and $PLATFORM.
_SPECIAL = frozenset(" \t\n\v\f\r:;$")
#: A program that exits with 0 if the library is mapped into its memory.
_LOOK = (
    "import sys; maps = open('/proc/self/maps', 'rb').read();"
    " sys.exit(sys.argv[1].encode() not in maps)"
)


def preloaded(library: Path, environment: Mapping[str, str]) -> str:
    """The path by which LD_PRELOAD names a library: its own path, or else a link in the folder of
    kept files.

    Parameters
    ----------
    library : Path
    environment : mapping
        The environment of the program that is to load the library.

    Raises
    ------
    OSError
        The loader does not load the library, or no path can name it. The message says why.
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
    """The path of the file by a link to its folder.

    A link to the file would not do: the libraries that it needs lie beside it ($ORIGIN in its
    RPATH).
    """
    folder, name = os.path.split(path)
    why = (
        f"LD_PRELOAD cannot name {path!r}, whose path has white space, a colon,"
        " a semicolon or a dollar sign"
    )
    try:
        link = str(keep_link(Path(folder)))
    except OSError as error:
        raise OSError(f"{why}; a link to it was not made: {error}") from None
    if not _is_plain(link):
        raise OSError(
            f"{why}; nor can it name a link in {os.path.dirname(link)!r}: set XDG_CACHE_HOME to"
            " another folder"
        )
    found = os.path.join(link, name)
    if not os.path.samefile(found, path):
        raise OSError(f"{why}, and {found!r} is another file")
    return found


def _require_loaded(path: str, environment: Mapping[str, str]) -> None:
    """Refuse a library that the loader would leave out when it starts a program, here this Python.

    The loader reports this only on stderr, if at all.
    """
    command = [sys.executable, "-I", "-S", "-c", _LOOK, os.path.basename(path)]
    its = os.environ | environment | {"LD_PRELOAD": path}
    try:
        done = subprocess.run(
            command, env=its, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except BlockingIOError:  # the system allows no process beside the one that becomes the program
        return
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise OSError(
            "the system's loader does not load"
            f" {path}{': ' if said else ''}{said[0] if said else ''}"
        )
