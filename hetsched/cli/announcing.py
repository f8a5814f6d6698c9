"""What a long command says first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .streams import say

_DELAY = 1.0  # seconds, the same as for progress bars


@contextmanager
def announcing(text: str, quiet: bool) -> Iterator[None]:
    """Say on standard error what a block does, if it takes longer than a second.

    A refused argument and a result from a cache are sooner. With `quiet`, nothing is said.
    """
    timer = threading.Timer(_DELAY, say, [text])
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
