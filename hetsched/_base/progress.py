"""How far a long call is."""

from __future__ import annotations


class ProgressBar:
    """A tqdm bar for work that takes longer than a second; nothing where tqdm or the terminal is missing."""

    def __enter__(self) -> ProgressBar:
        try:
            from tqdm import tqdm
        except ImportError:
            self._bar = None
        else:
            self._bar = tqdm(
                total=1.0,
                disable=None,
                delay=1.0,
                leave=False,
                bar_format="{percentage:3.0f}% |{bar}| {elapsed}, {remaining} left",
            )
        return self

    def update(self, fraction: float) -> None:
        """Show that this fraction of the work is done; the first call may say what had been done before."""
        if self._bar is not None:
            if self._bar.n == 0:
                self._bar.initial = fraction
            self._bar.update(fraction - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
