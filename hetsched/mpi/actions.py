"""Actions of time-independent traces of SimGrid: messages, with their numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from .zones import Piece

GIGA = 1e9
_MOST = 2**31 - 1  # bytes of a message, which SimGrid counts in 32 bits


def compute(flops: float) -> str:
    """A computation on the host of a rank."""
    if not math.isfinite(flops):
        raise ValueError("plan has work of more flops than a double holds: give it in another unit")
    return f"compute {flops!r}"


class Message(NamedTuple):
    """A message with its number among the messages from its source to its target.

    `step` is the step of the target, or the tile of a line, that needs it.
    """

    source: int
    target: int
    tag: int
    size: int
    step: int = 0

    @property
    def send(self) -> str:
        return f"isend {self.target} {self.tag} {self.size}"

    @property
    def receive(self) -> str:
        return f"irecv {self.source} {self.tag} {self.size}"

    @property
    def wait(self) -> str:
        return f"wait {self.source} {self.target} {self.tag}"


class Numbers:
    """Numbers the messages between each two ranks."""

    def __init__(self) -> None:
        self._next: Counter[tuple[int, int]] = Counter()

    def message(self, source: int, target: int, size: int, step: int) -> Message:
        if size > _MOST:
            raise ValueError(
                f"plan has a message of {size} bytes, and SimGrid counts at most {_MOST}"
            )
        tag = self._next[source, target]
        self._next[source, target] += 1
        return Message(source, target, tag, size, step)

    def of_pieces(self, pieces: Iterable[Piece], item: int) -> list[Message]:
        """A message for each piece that goes to another rank."""
        return [
            self.message(x.source, x.target, x.height * x.width * item, x.step)
            for x in pieces
            if x.source != x.target
        ]
