"""What each rank did and when, converted to the clock of one rank."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import numpy as np

from .loop import Loop, LostRank
from .ranks import TAG

_ROUNDS = 8
_CLOCK = TAG  # tag of clock readings; products use larger tags
FIRST = TAG + 1

Recorded = tuple[str, float, float, str]
Step = tuple[int, str, float, float, str]


class Clock(NamedTuple):
    """How the clock of a rank differs from the clock of the root.

    Attributes
    ----------
    at, offset, error : float
        When this clock read `at`, it was `offset` ahead of the root's clock. The uncertainty is
        `error`, half of the shortest round trip.
    """

    at: float
    offset: float
    error: float


class Record:
    """The time intervals of one rank, by its own clock. Only recorded if a trace is wanted."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.events: list[Recorded] = []
        self.sent = self.messages = 0  # bytes and arrays that this rank has sent
        self.received = 0  # bytes of operands and layers that it has received

    def add(self, kind: str, start: float, end: float, what: str) -> None:
        """Record the interval [start, end) of `time.perf_counter`."""
        if self.wanted:
            self.events.append((kind, start, end, what))

    @staticmethod
    def now() -> float:
        """Seconds by the clock of this rank."""
        return time.perf_counter()

    @contextmanager
    def computing(self, what: str) -> Iterator[None]:
        """Record an interval of computing."""
        start = time.perf_counter()
        yield
        self.add("compute", start, time.perf_counter(), what)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Record an interval of waiting for something.

        `Trace.from_steps` leaves out the time in which the rank computes or receives.
        """
        start = time.perf_counter()
        yield
        self.add("wait", start, time.perf_counter(), what)


async def synchronised(loop: Loop, root: int) -> Clock:
    """Compare the clock of this rank with the root's clock. Lost ranks are left out.

    The shortest of several round trips counts (Cristian, 1989).
    """
    if loop.rank == root:
        for rank in range(loop.size):
            if rank != root:
                with suppress(LostRank):
                    await _answer(loop, rank)
        return Clock(time.perf_counter(), 0.0, 0.0)
    best = Clock(0.0, 0.0, np.inf)
    for _ in range(_ROUNDS):
        answer = np.zeros(1)
        coming = loop.receive(answer, root, _CLOCK)
        asked = time.perf_counter()
        await loop.send(np.zeros(1), root, _CLOCK)
        await coming
        now = time.perf_counter()
        best = min(
            best,
            Clock(now, (asked + now) / 2 - float(answer[0]), (now - asked) / 2),
            key=lambda clock: clock.error,
        )
    return best


async def _answer(loop: Loop, rank: int) -> None:
    for _ in range(_ROUNDS):
        ask = np.zeros(1)
        await loop.receive(ask, rank, _CLOCK)
        await loop.send(np.array([time.perf_counter()]), rank, _CLOCK)


def root_time(first: Clock, last: Clock, start: float) -> Callable[[float], float]:
    """A function from a time of another clock to seconds since `start` of the root's clock.

    The clock is assumed to drift evenly between its two readings.
    """
    span = last.at - first.at
    drift = (last.offset - first.offset) / span if span > 0 else 0.0
    return lambda own: max(own - first.offset - drift * (own - first.at) - start, 0.0)


def from_when_sent(steps: list[Step]) -> list[Step]:
    """The steps, with transfers of panels that begin when the owner has factored the panel.

    A rank records them from when it was ready to receive, and so waited for the owner.
    """
    made = {what: end for _, kind, _, end, what in steps if kind == "compute"}
    found = []
    for rank, kind, start, end, what in steps:
        panel = what.partition(" from rank ")[0]
        sent = min(made.get(panel, start), end) if kind == "transfer" else start
        found.append((rank, kind, max(start, sent), end, what))
    return found


def on_one_clock(
    records: Sequence[tuple[list[Recorded], Clock, Clock]], start: float
) -> tuple[list[Step], float]:
    """All events in seconds since `start` of the root's clock, and the largest clock error."""
    steps = []
    for rank, (events, first, last) in enumerate(records):
        at = root_time(first, last, start)
        steps += [(rank, kind, at(begin), at(end), what) for kind, begin, end, what in events]
    return steps, max((max(first.error, last.error) for _, first, last in records), default=0.0)
