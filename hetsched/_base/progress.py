"""Progress of long calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

#: Called with the fraction done.
Progress = Callable[[float], object]

_ALMOST = 0.9999
_DELAY = 1.0  # seconds; shorter calls show no bar


_bars = True


@contextmanager
def no_bars() -> Iterator[None]:
    """A context in which no bar is shown."""
    global _bars
    before, _bars = _bars, False
    try:
        yield
    finally:
        _bars = before


class ProgressBar:
    """A bar on standard error for work that takes longer than a second.

    It is the bar of tqdm, or a plain one without tqdm. If standard error is not a terminal, nothing
    is shown.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._start = time.monotonic()
        self._shown = False
        self._seen = _bars and sys.stderr is not None and not sys.stderr.closed
        if not self._seen:
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
        """Show that this fraction of the work is done. The first call may report earlier work."""
        if self._bar is not None:
            if self._bar.n == 0:
                self._bar.initial = fraction
            self._bar.update(fraction - self._bar.n)
        elif self._seen and sys.stderr.isatty() and time.monotonic() - self._start >= _DELAY:
            self._shown = True
            print(
                f"\r[{'#' * round(40 * fraction):40}] {fraction:4.0%}",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def close(self) -> None:
        """End the bar, so that other output can follow."""
        if self._bar is not None:
            self._bar.close()
        elif self._shown:
            print(file=sys.stderr)


_nobody: AbstractContextManager[None] = nullcontext()


def reporting(progress: bool | Progress | None) -> AbstractContextManager[Progress | None]:
    """A context that reports progress: to a function, for True on a bar, else nowhere.

    The context gives the function to call with the fraction done, or None.
    """
    require_progress(progress)
    if progress is None or progress is False:
        return _nobody
    if progress is True:
        bar = ProgressBar()
        return _telling(bar.update, bar.close)
    return _telling(progress)


def require_progress(progress: Any) -> None:
    """Raise TypeError unless `reporting` accepts it."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(
            f"progress must be a function of the fraction done, True or False, got {progress!r}"
        )


@contextmanager
def _telling(say: Progress, close: Callable[[], None] = lambda: None) -> Iterator[Progress]:
    """Report fractions as they come, but 1 only when the block has ended without an error.

    Before that the work is not done: an emulated worker that has computed all still has to wait.
    """
    try:
        yield lambda fraction: say(min(fraction, _ALMOST))
        say(1.0)
    finally:
        close()


def share_of(progress: Progress | None, start: float, share: float) -> Progress | None:
    """The report function of a step that begins at `start` and is a share of the whole."""
    return None if progress is None else lambda fraction: progress(start + share * fraction)
