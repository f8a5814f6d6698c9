"""Runs of many steps that measure the workers at intervals and may divide the work anew.

When speeds change, a static plan loses time in each step, while moving data to new owners costs
time once. `RentOrBuy` decides by the past loss: after each stretch of steps, the time that the
stretch took is compared with the time that it would have taken after moving.
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
_WORTH = 0.98  # a new division must need at most this fraction of the time; smaller gains are noise
_NAP = 0.05  # longest sleep during a message, in seconds: Ctrl-C is noticed in between


class Stretch(NamedTuple):
    """Steps first .. end - 1, their workers, and whether to check the division after them."""

    first: int
    end: int
    workers: Workers
    checks_division: bool


class Choice(NamedTuple):
    """Another division of the work: the time of a stretch with it, and the cost of moving to it."""

    after: float
    cost: float
    plan: Any


class Judge:
    """Decides after each stretch whether to move to another division: see `RentOrBuy`."""

    def __init__(self) -> None:
        self._rule = RentOrBuy(0.0)

    def better(self, here: float, left: float, choices: Sequence[Choice]) -> Choice | None:
        """Return the division to move to now, or None.

        `here` is the time of a stretch with the present division, by the measured speeds; `left`
        is the number of stretches still to come.
        """
        best = min(choices, key=lambda x: x.cost + left * x.after)
        if best.after > _WORTH * here or best.cost + left * best.after >= left * here:
            return None
        self._rule.move_cost = best.cost
        if not self._rule.should_move(here, best.after):
            return None
        self._rule = RentOrBuy(0.0)
        return best


class Watch(Judge):
    """The schedule of a run: the steps after which it checks its division, and the steps from which
    emulated workers have other speeds."""

    def __init__(self, workers: Workers, steps: int, rebalance: int | None, drift: Any) -> None:
        self.every = None if rebalance is None else check.integer("rebalance", rebalance, low=1)
        super().__init__()
        self._first, self.steps = workers, steps
        self._later = [] if drift is None else _drifting(workers, drift)

    @property
    def workers(self) -> list[Workers]:
        """The pool's workers, then the ones that replace them in later steps."""
        return [self._first, *(workers for step, workers in self._later if step < self.steps)]

    def stretches(self) -> Iterator[Stretch]:
        """Divide the steps into stretches, each with the same workers from begin to end."""
        now, workers, later = 0, self._first, list(self._later)
        while now < self.steps:
            while later and later[0][0] <= now:
                workers = later.pop(0)[1]
            end = min(self.steps, later[0][0] if later else self.steps)
            if self.every is not None:
                end = min(end, (now // self.every + 1) * self.every)
            yield Stretch(
                now,
                end,
                workers,
                self.every is not None and end % self.every == 0 and end < self.steps,
            )
            now = end


def _drifting(workers: Workers, drift: Any) -> list[tuple[int, Workers]]:
    if not workers.emulated:
        raise ValueError("drift is for emulated workers: the speed of real workers cannot be set")
    later: list[tuple[int, Workers]] = []
    for i, pair in enumerate(check.entries("drift", drift, "a sequence of (step, Platform)")):
        if (
            not isinstance(pair, tuple | list)
            or len(pair) != 2
            or not isinstance(pair[1], Platform)
        ):
            raise TypeError(f"drift[{i}] must be a step and a Platform, got {pair!r}")
        step = check.integer(f"drift[{i}][0]", pair[0], low=0)
        if later and step <= later[-1][0]:
            raise ValueError(f"drift[{i}][0] must be a later step than {later[-1][0]}, got {step}")
        if len(pair[1]) != len(workers):
            raise ValueError(
                f"drift[{i}][1] has {len(pair[1])} workers, the pool has {len(workers)}"
            )
        try:
            later.append((step, Workers(pair[1], True, workers.time_scale)))
        except ValueError as error:
            raise ValueError(f"drift[{i}][1]: {error}") from None
    return later


class Record:
    """Everything that was run so far: steps on one common clock, and CPU times."""

    def __init__(self, workers: int) -> None:
        self.steps: RunSteps = []
        self.now = self.predicted = self.ideal = 0.0
        self.cpu = np.zeros(workers)
        self.late = np.zeros(workers)
        self.predicted_finish = np.zeros(workers)

    def add(
        self,
        steps: RunSteps,
        ended: float,
        cpu: Sequence[float] | float,
        late: Sequence[float] | float = 0.0,
    ) -> None:
        """Add the steps of a stretch. Their times count from the start of the stretch."""
        self.steps += [
            (worker, kind, start + self.now, end + self.now, what)
            for worker, kind, start, end, what in steps
        ]
        self.now += ended
        self.cpu += cpu
        self.late = np.maximum(self.late, late)

    def pass_messages(self, messages: RunSteps, scale: float, keep: bool) -> None:
        """Wait as long as messages of an emulated platform take; they are sorted by their ends."""
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
        """The trace of all stretches, for the workers of the first one with the plan's names."""
        emulated = workers.emulated
        return Trace.from_steps(
            self.steps, names, kind=workers.kind, speeds=workers.in_gigaflops.speeds.tolist(),
            predicted=self.predicted if emulated else None, ideal=self.ideal, cpu=self.cpu.tolist(),
            predicted_finish=self.predicted_finish.tolist() if emulated else None,
        )  # fmt: skip


def rates(
    events: Sequence[tuple[int, str, float, float, int]],
    work: NDArray[np.floating[Any]],
    known: NDArray[np.float64],
    fixed: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """(p,) time per unit of work, by the compute events. A worker does `work` in each event.

    fixed : (p,) time of each event besides its work.

    A worker without events keeps its time in `known`. The median over the events is used. Steps in
    which another program held the core are outliers: the worker has its full speed in the other
    steps, and no division of the work would have avoided the delay.
    """
    spent: list[list[float]] = [[] for _ in known]
    for worker, kind, start, end, _ in events:
        if kind == "compute":
            spent[worker].append(end - start)
    found, extra = known.copy(), np.broadcast_to(fixed, known.shape)
    for i, own in enumerate(spent):
        if own and work[i] > 0.0 and (middle := float(np.median(own) - extra[i])) > 0.0:
            found[i] = middle / work[i]
    return found
