"""Arrays that travel between ranks while earlier ones are used, at most a few at a time.

The windows bound the memory. A sender copies the next array when an earlier one has been received,
and a receiver makes a place for the next one when an earlier one has been used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .loop import Loop, Waiting, all_of
from .record import Record

Array = NDArray[Any]
Item = TypeVar("Item")

AHEAD = 2  # arrays under way between two ranks, in each direction
# copied between two checks for Ctrl-C: this many bytes, but at least this many rows
_PART, _LINES = 1 << 18, 8


async def send_all(
    loop: Loop,
    record: Record,
    dtype: np.dtype[Any],
    matrices: Iterable[tuple[Array, int]],
    tag: int,
    size: int = AHEAD,
) -> None:
    """Send each matrix to its rank, row by row, with at most `size` under way, and count them.

    A matrix that is stored so in the right dtype is not copied, so it must not change meanwhile.
    """
    under_way: deque[Waiting] = deque()
    for matrix, to in matrices:
        if len(under_way) == size:
            await under_way.popleft()
        data = matrix
        if not (matrix.flags.c_contiguous and matrix.dtype == dtype):
            copy_in_parts(data := np.empty(matrix.shape, dtype), matrix)
        record.sent += data.nbytes
        record.messages += 1
        under_way.append(loop.send(data, to, tag))
    await all_of(under_way)


class Inbox(Generic[Item]):
    """Receives arrays in the order of the calls of `receive`, at most AHEAD at a time.

    Parameters
    ----------
    use : function of an item, its array, and a time
        Called when an array has arrived, with the time from which this rank waited for it.
    """

    def __init__(self, loop: Loop, tag: int, use: Callable[[Item, Array, float], None]) -> None:
        self._loop, self._tag, self._use = loop, tag, use
        self._coming: deque[tuple[Waiting, Item, Array]] = deque()

    async def receive(self, item: Item, source: int, make: Callable[[], Array]) -> None:
        """Begin to receive a contiguous array, which is made once there is room."""
        if len(self._coming) == AHEAD:
            await self._use_first()
        data = make()
        self._coming.append((self._loop.receive(data, source, self._tag), item, data))

    async def empty(self) -> None:
        """Wait for everything that is coming, and use it."""
        while self._coming:
            await self._use_first()

    async def _use_first(self) -> None:
        waiting, item, data = self._coming.popleft()
        since = Record.now()
        await waiting
        self._use(item, data, since)


def copy_in_parts(target: Array, source: Array) -> None:
    """Copy source to target in parts, between which Ctrl-C is handled."""
    for lines in _parts(target):
        target[lines] = source[lines]


def touched(loop: Loop, array: Array) -> Array:
    """Fill an array with zeros; a job for `Loop.compute`.

    The first write to new memory is slow. Without this, the first block column that arrives would
    wait for nearly all of the memory.
    """
    for lines in _parts(array):
        loop.go_on()
        array[lines] = 0
    return array


def _parts(array: Array) -> Iterator[slice]:
    lines = max(_LINES, _PART // max(1, array.shape[1] * array.itemsize))
    return (slice(i, i + lines) for i in range(0, len(array), lines))
