"""Arrays that ranks send each other in the steps of a factorisation, counted by kind."""

from __future__ import annotations

from collections import Counter, deque
from enum import IntEnum

from .columns import GATHER
from .loop import Loop, Waiting, all_of
from .record import Record
from .windows import Array


class Kind(IntEnum):
    """What a message carries; the number is its tag.

    CANDIDATES have rows of a panel that may become pivot rows, and their numbers. PIVOTS have the
    exchanges of rows of a step. DISPLACED has rows of the panel that make room for pivot rows, and
    ROWS has exchanged rows of the other block columns. DIAGONAL, LEFT and UPPER have factors: the
    diagonal block, blocks of L and blocks of U. RIGHT, SUM and FOUND belong to a solve.
    """

    CANDIDATES = GATHER + 1
    PIVOTS = GATHER + 2
    DISPLACED = GATHER + 3
    DIAGONAL = GATHER + 4
    LEFT = GATHER + 5
    UPPER = GATHER + 6
    ROWS = GATHER + 7
    RIGHT = GATHER + 8
    SUM = GATHER + 9
    FOUND = GATHER + 10


class Mail:
    """Sends and receives arrays, and counts what this rank sends.

    Attributes
    ----------
    bytes : Counter
        Bytes sent, by `Kind`.
    """

    def __init__(self, loop: Loop, record: Record) -> None:
        self.loop, self._record = loop, record
        self.bytes: Counter[Kind] = Counter()
        self._under_way: deque[list[Waiting]] = deque([[]])

    def send(self, kind: Kind, data: Array, to: int) -> None:
        """Send a contiguous array, which must not change until it has been received."""
        self.bytes[kind] += data.nbytes
        self._record.sent += data.nbytes
        self._record.messages += 1
        self._under_way[-1].append(self.loop.send(data, to, kind))

    def receive(self, kind: Kind, data: Array, source: int) -> Waiting:
        """Receive into a contiguous array."""
        return self.loop.receive(data, source, kind)

    async def next_step(self, ahead: int) -> None:
        """Begin a step, once the messages of all but the last `ahead` steps have been received.

        This bounds the memory for messages.
        """
        self._under_way.append([])
        while len(self._under_way) > ahead + 1:
            await all_of(self._under_way.popleft())
