"""Standard streams of a command.

Printing a character never fails. If a stream fails, one message says so.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import TextIO

#: Replacements of characters that hetsched prints, for streams that cannot encode them.
EQUIVALENTS = {
    "±": "+-",
    "×": "x",
    "→": "->",
    "↓": "v",
    "≥": ">=",
    "²": "^2",
    "ᵀ": "^T",
    "ᴴ": "^H",
    "…": "...",
}
_HANDLER = "hetsched.equivalents"
_RAISING = ("strict", "surrogateescape", "surrogatepass")  # Python's error handlers that may raise


def _encode(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace the first character that cannot be encoded.

    The replacement is its equivalent, the byte of a file name, or else an escape as in JSON, so
    that JSON output stays valid.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF and not error.encoding.startswith(("utf-16", "utf-32")):
        return bytes([code - 0xDC00]), error.start + 1
    units = character.encode("utf-16-be", "surrogatepass")
    escape = "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    return EQUIVALENTS.get(character, escape), error.start + 1


codecs.register_error(_HANDLER, _encode)


def prepare() -> None:
    """Prepare the streams before a command prints.

    Closed streams become the null device. Streams with a strict error handler are made to take
    every character.
    """
    # In the order of the descriptors 0, 1, 2, so that each stream gets its own one.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream, raising in ((sys.stdout, _RAISING), (sys.stderr, (*_RAISING, "backslashreplace"))):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in raising:
            stream.reconfigure(errors=_HANDLER)


def as_text(option: str, word: str) -> str:
    """Decode an argument of the command line for a file in UTF-8.

    With a locale of fewer characters, Python leaves some bytes of arguments undecoded.
    """
    try:
        return word.encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError:
        raise ValueError(f"{option} must be text in UTF-8, got {word!r}") from None


def say(text: str) -> None:
    """Print a line on standard error. A failure is ignored."""
    with contextlib.suppress(OSError):
        print(f"hetsched: {text}", file=sys.stderr)


def finish() -> bool:
    """Flush the streams. Return whether all output was written or its reader has closed the pipe.

    Output that cannot be written is dropped.
    """
    whole = True
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)
    except OSError as error:
        say(f"standard output: {error.strerror}")
        _drop(sys.stdout)
        whole = False
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)
    return whole


def _drop(stream: TextIO) -> None:
    """Send the rest of a stream's buffer to the null device, or else Python's exit would fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
