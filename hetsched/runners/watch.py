"""Runs of many steps that look up now and then: how fast the workers have been, and whether to divide the work anew.

Where speeds change, a static plan loses time in each step, and moving what changes its owner costs time once. The loss of the
past decides, by `RentOrBuy`: after each stretch of steps, what it would have taken after moving is compared with what it took.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from ..planners.remap import RentOrBuy
from ..platform import Platform
from ..trace import Trace
from .workers import Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

RunSteps = list[tuple[int, str, float, float, str]]
_WORTH = 0.98  # of the time: less is taken for noise
_NAP = 0.05  # seconds at most in which a message does not look for Ctrl-C


class Stretch(NamedTuple):
    """Steps from first to end, without end; who the workers then are; whether to look up after them."""

    first: int
    end: int
    workers: Workers
    looks: bool


class Choice(NamedTuple):
    """Another division: what a stretch would take with it, and what moving to it costs."""

    after: float
    cost: float
    plan: Any


class Watch:
    """When a run of so many steps looks up, and who the emulated workers are from which step on."""

    def __init__(self, workers: Workers, steps: int, rebalance: int | None, drift: Any) -> None:
        self.every = None if rebalance is None else check.integer("rebalance", rebalance, low=1)
        self._first, self.steps, self._rule = workers, steps, RentOrBuy(0.0)
        self._later = [] if drift is None else _drifting(workers, drift)

    @property
    def workers(self) -> list[Workers]:
        """All that there will be, those of the pool first."""
        return [self._first, *(workers for step, workers in self._later if step < self.steps)]

    def stretches(self) -> Iterator[Stretch]:
        now, workers, later = 0, self._first, list(self._later)
        while now < self.steps:
            while later and later[0][0] <= now:
                workers = later.pop(0)[1]
            end = min(self.steps, later[0][0] if later else self.steps)
            if self.every is not None:
                end = min(end, (now // self.every + 1) * self.every)
            yield Stretch(now, end, workers, self.every is not None and end % self.every == 0 and end < self.steps)
            now = end

    def better(self, here: float, left: float, choices: Sequence[Choice]) -> Choice | None:
        """The division to move to now, if any: what a stretch takes now, as measured, and how many more there will be."""
        best = min(choices, key=lambda x: x.cost + left * x.after)
        if best.after > _WORTH * here or best.cost + left * best.after >= left * here:
            return None
        self._rule.move_cost = best.cost
        if not self._rule.should_move(here, best.after):
            return None
        self._rule = RentOrBuy(0.0)
        return best


def _drifting(workers: Workers, drift: Any) -> list[tuple[int, Workers]]:
    if not workers.emulated:
        raise ValueError("drift is for emulated workers: real ones are as fast as they are")
    later: list[tuple[int, Workers]] = []
    for i, pair in enumerate(check.entries("drift", drift, "a sequence of (step, Platform)")):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[1], Platform):
            raise TypeError(f"drift[{i}] must be a step and a Platform, got {pair!r}")
        step = check.integer(f"drift[{i}][0]", pair[0], low=0)
        if later and step <= later[-1][0]:
            raise ValueError(f"drift[{i}][0] must be a later step than {later[-1][0]}, got {step}")
        if len(pair[1]) != len(workers):
            raise ValueError(f"drift[{i}][1] has {len(pair[1])} workers, the pool has {len(workers)}")
        later.append((step, Workers(pair[1], True, workers.time_scale)))
    return later


class Record:
    """What was run so far: steps on one clock, and CPU time."""

    def __init__(self, workers: int) -> None:
        self.steps: RunSteps = []
        self.now = self.predicted = self.ideal = 0.0
        self.cpu = np.zeros(workers)
        self.late = np.zeros(workers)
        self.predicted_finish = np.zeros(workers)

    def add(self, steps: RunSteps, ended: float, cpu: Sequence[float] | float, late: Sequence[float] | float = 0.0) -> None:
        """Steps of a stretch, on its own clock."""
        self.steps += [(worker, kind, start + self.now, end + self.now, what) for worker, kind, start, end, what in steps]
        self.now += ended
        self.cpu += cpu
        self.late = np.maximum(self.late, late)

    def pass_messages(self, messages: RunSteps, scale: float, keep: bool) -> None:
        """Wait for messages of an emulated platform, which are in the order of their ends."""
        began = time.perf_counter()
        for worker, kind, start, end, what in messages:
            while (left := began + end * scale - time.perf_counter()) > 0:
                time.sleep(min(left, _NAP))
            if keep:
                ended = time.perf_counter() - began
                self.steps.append((worker, kind, self.now + start * scale, self.now + ended, what))
        self.now += time.perf_counter() - began
        self.predicted += max((end for _, _, _, end, _ in messages), default=0.0) * scale

    def trace(self, names: Sequence[str], workers: Workers) -> Trace:
        """Of all stretches; the workers of the first, and their names in the plan."""
        emulated = workers.emulated
        return Trace.from_steps(
            self.steps, names, kind=workers.kind, speeds=workers.in_gigaflops.speeds.tolist(),
            predicted=self.predicted if emulated else None, ideal=self.ideal, cpu=self.cpu.tolist(),
            predicted_finish=self.predicted_finish.tolist() if emulated else None,
        )  # fmt: skip


def rates(
    events: Sequence[tuple[int, str, float, float, int]], work: NDArray[np.floating[Any]], known: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(p,) time per work, of what was computed: `work` in each event of a worker; `known` of who did nothing.

    That of the median event: where another program has a core for turns that are longer than a step, its worker is as fast as
    ever in the steps between, and everybody waits in the others, however the work is divided.
    """
    spent: list[list[float]] = [[] for _ in known]
    for worker, kind, start, end, _ in events:
        if kind == "compute":
            spent[worker].append(end - start)
    found = known.copy()
    for i, own in enumerate(spent):
        if own and work[i] > 0.0 and (middle := float(np.median(own))) > 0.0:
            found[i] = middle / work[i]
    return found
