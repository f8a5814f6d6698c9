"""The line of the user's program that a warning points to."""

from __future__ import annotations

import sys

_INSIDE = f"{__name__.partition('.')[0]}."


def stacklevel() -> int:
    """The stacklevel for a call of warnings.warn by the caller of this function.

    The warning then points to the line outside this package that led to it.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    return level
