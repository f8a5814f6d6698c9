"""Files of TOML."""

from __future__ import annotations

import os
import re
from typing import Any

from .regular import read_regular

_MOST_PARTS = 16
#: How strings and comments of TOML begin, and how each of them ends; escapes in strings of double quotes are no end.
#: A single expression would need possessive quantifiers, which Python matches wrongly before 3.11.5.
_BEGIN = re.compile(r"""\"{3}|'{3}|["'#]""")
_END = {
    '"""': re.compile(r'\\.|"{3,5}', re.S),
    "'''": re.compile("'{3,5}"),
    '"': re.compile(r'\\.|"|$', re.S | re.M),
    "'": re.compile("'|$", re.M),
    "#": re.compile("$", re.M),
}


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file of TOML holds.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is not TOML, or has keys of many parts or tables deep within each other; the message does not name the file.
    """
    import tomllib

    text = read_regular(path).decode()
    for run in re.split(r"[^\w\t .-]", _without_strings(text)):  # to read a key of n parts takes tomllib n^2 steps
        if run.count(".") > _MOST_PARTS:
            raise ValueError(f"a key has {run.count('.') + 1} parts, as in {run[:20].strip()}...")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it has values too deep within each other") from None


def _without_strings(text: str) -> str:
    """TOML with an s for each string and comment; in a file that is cut short the last may have no end."""
    parts, done = [], 0
    while begin := _BEGIN.search(text, done):
        parts.append(text[done : begin.start()])
        done = begin.end()
        while (end := _END[begin[0]].search(text, done)) and end[0].startswith("\\"):
            done = end.end()
        done = end.end() if end else len(text)
    return "s".join([*parts, text[done:]])
