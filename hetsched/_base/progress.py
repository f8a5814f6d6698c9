"""How far a long call is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

#: Called with the fraction done.
Progress = Callable[[float], object]

_ALMOST = 0.9999
_DELAY = 1.0  # seconds: shorter calls show nothing


_bars = True


@contextmanager
def no_bars() -> Iterator[None]:
    """A block in which nobody sees a bar."""
    global _bars
    before, _bars = _bars, False
    try:
        yield
    finally:
        _bars = before


class ProgressBar:
    """A bar on standard error for work that takes longer than a second: tqdm's, or a plain one without it; nothing where that is
    no terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._start = time.monotonic()
        self._shown = False
        self._seen = _bars
        if not _bars:
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        self._bar = tqdm(
            total=1.0,
            disable=None,
            delay=_DELAY,
            leave=False,
            bar_format="{percentage:3.0f}% |{bar}| {elapsed}, {remaining} left",
        )

    def update(self, fraction: float) -> None:
        """Show that this fraction of the work is done; the first call may say what had been done before."""
        if self._bar is not None:
            if self._bar.n == 0:
                self._bar.initial = fraction
            self._bar.update(fraction - self._bar.n)
        elif self._seen and sys.stderr.isatty() and time.monotonic() - self._start >= _DELAY:
            self._shown = True
            print(f"\r[{'#' * round(40 * fraction):40}] {fraction:4.0%}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the line to others."""
        if self._bar is not None:
            self._bar.close()
        elif self._shown:
            print(file=sys.stderr)


_nobody: AbstractContextManager[None] = nullcontext()


def reporting(progress: bool | Progress | None) -> AbstractContextManager[Progress | None]:
    """A block whose progress is told as a `progress` argument says: to a function, with True on a bar, else to nobody.

    The block gets the function to call with the fraction done, or None.
    """
    if progress is None or progress is False:
        return _nobody
    if progress is True:
        bar = ProgressBar()
        return _telling(bar.update, bar.close)
    if not callable(progress):
        raise TypeError(f"progress must be a function of the fraction done, True or False, got {progress!r}")
    return _telling(progress)


@contextmanager
def _telling(say: Progress, close: Callable[[], None] = lambda: None) -> Iterator[Progress]:
    """Tells fractions as they come, but 1 only when the block has ended without an error: before that it is not done. An emulated
    worker that has computed all still has to wait."""
    try:
        yield lambda fraction: say(min(fraction, _ALMOST))
        say(1.0)
    finally:
        close()


def share_of(progress: Progress | None, start: float, share: float) -> Progress | None:
    """What a step reports to that begins when `start` is done and is a share of the whole."""
    return None if progress is None else lambda fraction: progress(start + share * fraction)
