"""What happened, or what would: one form for simulated, emulated and real runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _check

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Event(NamedTuple):
    """One stretch of a worker's time, [start, end); kind is "compute", "transfer" or "wait"."""

    worker: int
    kind: str
    start: float
    end: float
    what: str


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Every worker's compute, transfer and wait intervals.

    Attributes
    ----------
    events : tuple of Event
        By worker, then by start; without gaps from 0 to the makespan (waiting is an event too). A worker may transfer while
        it computes.
    workers : tuple of str
        Names.
    kind : {"simulated", "emulated", "real"}
    unit : str
        Of all times; "s" for emulated and real runs.
    predicted : float or None
        The plan's makespan in the trace's unit.
    ideal : float or None
        The work divided perfectly over the speeds, in the trace's unit.
    speeds : tuple of float
        Relative speeds of the workers.
    cpu : tuple of float or None
        CPU seconds that each worker used; None for simulated runs.
    predicted_finish : tuple of float or None
        When the plan has each worker end, in the trace's unit: to be compared with `finish`.
    peak, predicted_peak : tuple of int or None
        Of a StarPlan: the most blocks that each worker held at a time, and would hold by the plan.
    """

    events: tuple[Event, ...]
    workers: tuple[str, ...]
    kind: str
    unit: str
    predicted: float | None
    ideal: float | None
    speeds: tuple[float, ...]
    cpu: tuple[float, ...] | None = None
    predicted_finish: tuple[float, ...] | None = None
    peak: tuple[int, ...] | None = None
    predicted_peak: tuple[int, ...] | None = None

    @classmethod
    def from_steps(
        cls,
        steps: Iterable[Sequence[Any]],
        workers: Sequence[str],
        *,
        kind: str,
        speeds: Sequence[float],
        unit: str = "s",
        predicted: float | None = None,
        ideal: float | None = None,
        cpu: Sequence[float] | None = None,
        predicted_finish: Sequence[float] | None = None,
    ) -> Trace:
        """A trace of the given (worker, kind, start, end, what); all other time is waiting."""
        workers = _check.entries("workers", workers, "a sequence of names")
        rates = _per_worker("speeds", speeds, len(workers))
        busy: list[list[Event]] = [[] for _ in workers]
        for i, step in enumerate(_check.entries("steps", steps, "a sequence of steps")):
            event = _event(i, step, len(workers))
            busy[event.worker].append(event)
        makespan = max((e.end for own in busy for e in own), default=0.0)
        events: list[Event] = []
        for worker, own in enumerate(busy):
            now = 0.0
            for event in sorted(own, key=lambda e: (e.start, e.end)):
                if event.start > now:
                    events.append(Event(worker, "wait", now, event.start, ""))
                events.append(event)
                now = max(now, event.end)
            if now < makespan:
                events.append(Event(worker, "wait", now, makespan, ""))
        return cls(
            tuple(events),
            tuple(workers),
            kind,
            unit,
            None if predicted is None else _check.number("predicted", predicted),
            None if ideal is None else _check.number("ideal", ideal),
            rates,
            None if cpu is None else _per_worker("cpu", cpu, len(workers)),
            None if predicted_finish is None else _per_worker("predicted_finish", predicted_finish, len(workers)),
        )

    @cached_property
    def makespan(self) -> float:
        """End of the last event."""
        return max((e.end for e in self.events), default=0.0)

    def total(self, kind: str) -> tuple[float, ...]:
        """Time that each worker spent on events of a kind."""
        if not isinstance(kind, str):
            raise TypeError(f"kind must be a string, got {kind!r}")
        sums = [0.0] * len(self.workers)
        for event in self.events:
            if event.kind == kind:
                sums[event.worker] += event.end - event.start
        return tuple(sums)

    @cached_property
    def finish(self) -> tuple[float, ...]:
        """When each worker ended its last compute or transfer event."""
        ends = [0.0] * len(self.workers)
        for event in self.events:
            if event.kind != "wait":
                ends[event.worker] = max(ends[event.worker], event.end)
        return tuple(ends)

    @cached_property
    def overlapped(self) -> bool:
        """Whether some worker transfers while it computes."""
        slack = 1e-9 * self.makespan  # ends and starts that should be equal may differ by rounding
        worker, end = -1, 0.0
        for event in self.events:
            if event.worker != worker:
                worker, end = event.worker, 0.0
            if event.start < end - slack:
                return True
            end = max(end, event.end)
        return False

    @cached_property
    def efficiency(self) -> float:
        """Perfectly divided work / makespan; where the work is unknown, the share of time spent computing, weighted by speed."""
        if self.makespan == 0.0:
            return 1.0
        if self.ideal is not None:
            return self.ideal / self.makespan
        weights = sum(self.speeds)
        return sum(s * t for s, t in zip(self.speeds, self.total("compute"), strict=True)) / (weights * self.makespan)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Gantt chart with matplotlib; returns the axes."""
        from .plot import plot_trace

        return plot_trace(self, ax)

    def to_chrome(self, path: str | PathLike[str]) -> None:
        """Write Chrome-trace JSON, for Perfetto and chrome://tracing."""
        from .export import write_chrome

        write_chrome(self, path)

    def to_paje(self, path: str | PathLike[str]) -> None:
        """Write a Paje trace, for ViTE."""
        from .export import write_paje

        write_paje(self, path)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write worker, name, kind, start, end, what as CSV."""
        from .export import write_csv

        write_csv(self, path)

    def __repr__(self) -> str:
        predicted = "" if self.predicted is None else f", predicted {self.predicted:.6g}"
        return (
            f"<Trace: {self.kind}, {len(self.workers)} workers, "
            f"makespan {f'{self.makespan:.6g} {self.unit}'.strip()}{predicted}, "
            f"efficiency {self.efficiency:.1%}>"
        )

    def _repr_html_(self) -> str:
        from html import escape

        from .plot import figure_svg

        return f"<p>{escape(repr(self)[1:-1])}</p>{figure_svg(self.plot)}"


def _event(i: int, step: Any, workers: int) -> Event:
    try:
        event = Event(*step)
    except TypeError:
        raise TypeError(f"steps[{i}] must be (worker, kind, start, end, what), got {step!r}") from None
    worker, kind, start, end, what = event
    if type(worker) is int and 0 <= worker < workers and type(start) is type(end) is float and math.isfinite(end - start):
        return event  # there may be a million of them
    worker = _check.integer(f"steps[{i}]: worker", worker, low=0, high=workers - 1)
    start, end = _check.number(f"steps[{i}]: start", start), _check.number(f"steps[{i}]: end", end)
    return Event(worker, str(kind), start, end, str(what))


def _per_worker(name: str, values: Any, workers: int) -> tuple[float, ...]:
    found = _check.entries(name, values, "a sequence of numbers")
    if len(found) != workers:
        raise ValueError(f"{name} must have {workers} entries, one for each worker, got {len(found)}")
    return tuple(_check.number(f"{name}[{i}]", x) for i, x in enumerate(found))
