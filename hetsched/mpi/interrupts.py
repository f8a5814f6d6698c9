"""Ctrl-C while ranks agree: it is noted, and raised where the other ranks can be told."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupts:
    """A context in which Ctrl-C only sets `pending`, except inside its `raised` blocks.

    At the end, a pending Ctrl-C goes to the previous handler. In threads other than the main one,
    which do not get Ctrl-C, the context has no effect.
    """

    def __init__(self) -> None:
        self.pending = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if callable(self._before):
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)
            if self.pending and kind is None:
                self._before(signal.SIGINT, None)

    def _note(self, *_: object) -> None:
        self.pending = True

    def look(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C is pending."""
        if self.pending:
            self.pending = False
            raise KeyboardInterrupt

    @contextmanager
    def raised(self) -> Iterator[None]:
        """A context with the previous effect of Ctrl-C; a pending Ctrl-C takes effect at once."""
        if not callable(self._before):
            yield
            return
        try:
            signal.signal(signal.SIGINT, self._before)
            if self.pending:
                self.pending = False
                self._before(signal.SIGINT, None)
            yield
        finally:
            signal.signal(signal.SIGINT, self._note)
