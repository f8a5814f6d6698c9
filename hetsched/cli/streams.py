"""Standard streams of a command: printing a character never fails, and a stream that fails is told of once, in words."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
from typing import TextIO

#: What stands for characters that hetsched prints where a stream cannot encode them.
EQUIVALENTS = {"±": "+-", "×": "x", "→": "->", "↓": "v", "≥": ">=", "²": "^2", "ᵀ": "^T", "ᴴ": "^H", "…": "..."}
_HANDLER = "hetsched.equivalents"
_RAISING = ("strict", "surrogateescape", "surrogatepass")  # handlers of Python that may raise


def _encode(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for the first character that cannot be encoded: its equivalent, the byte of a file name, or else JSON's escape,
    so that JSON stays JSON."""
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
    """Before a command prints: streams that are closed become the null device, and those that are strict take every character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in this order, so that each takes its own descriptor
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream, raising in ((sys.stdout, _RAISING), (sys.stderr, (*_RAISING, "backslashreplace"))):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in raising:
            stream.reconfigure(errors=_HANDLER)


def as_text(option: str, word: str) -> str:
    """A word of the command line for a file in UTF-8, where a locale of fewer characters left its bytes undecoded."""
    try:
        return word.encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError:
        raise ValueError(f"{option} must be text in UTF-8, got {word!r}") from None


def say(text: str) -> None:
    """A line on standard error, whatever becomes of it."""
    with contextlib.suppress(OSError):
        print(f"hetsched: {text}", file=sys.stderr)


def finish() -> bool:
    """Whether the streams took what was printed, or have a reader that has gone; what they did not take is dropped."""
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
    """What is left in the stream's buffer goes to the null device, else Python's end fails at it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
