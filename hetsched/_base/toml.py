"""Reads TOML files."""

from __future__ import annotations

import os
import re
from typing import Any

from .regular import read_text

_MOST_PARTS = 16
#: How strings and comments of TOML begin, and how each of them ends. An escape in a string of
#: double quotes is not an end. A single expression would need possessive quantifiers, which Python
#: matches wrongly before 3.11.5.
_BEGIN = re.compile(r"""\"{3}|'{3}|["'#]""")
_END = {
    '"""': re.compile(r'\\.|"{3,5}', re.S),
    "'''": re.compile("'{3,5}"),
    '"': re.compile(r'\\.|"|$', re.S | re.M),
    "'": re.compile("'|$", re.M),
    "#": re.compile("$", re.M),
}


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a TOML file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not TOML, or has keys of many parts or deeply nested tables. The message does not
        name the file.
    """
    import tomllib

    text = read_text(path)
    # tomllib takes n^2 steps for a key of n parts
    for run in re.split(r"[^\w\t .-]", _without_strings(text)):
        if run.count(".") > _MOST_PARTS:
            raise ValueError(f"a key has {run.count('.') + 1} parts, as in {run[:20].strip()}...")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _without_strings(text: str) -> str:
    """Replace each TOML string and comment by an s. In a truncated file the last may not end."""
    parts, done = [], 0
    while begin := _BEGIN.search(text, done):
        parts.append(text[done : begin.start()])
        done = begin.end()
        while (end := _END[begin[0]].search(text, done)) and end[0].startswith("\\"):
            done = end.end()
        done = end.end() if end else len(text)
    return "s".join([*parts, text[done:]])
