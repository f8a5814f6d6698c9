"""Traces of what happened, or would happen: one form for simulated, emulated and real runs."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import groupby
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ._base import check
from ._base.drawn import Drawn
from ._base.frozen import Frozen
from ._base.replace import replace_file

_KINDS = ("compute", "transfer", "wait")


class Event(NamedTuple):
    """An interval of a worker's time, [start, end).

    kind is "compute", "transfer" or "wait"; what says for what it waits, if the run recorded that.
    """

    worker: int
    kind: str
    start: float
    end: float
    what: str


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Frozen, Drawn):
    """Every worker's compute, transfer and wait intervals.

    Attributes
    ----------
    events : tuple of Event
        Sorted by worker, then by start. There are no gaps from 0 to the makespan, because waiting
        is an event too. A worker may transfer while it computes.
    workers : tuple of str
        Names of the workers; for LU at a master, the last one is the master.
    kind : {"simulated", "emulated", "real"}
    unit : str
        Unit of all times; "s" for emulated and real runs.
    predicted : float or None
        The plan's makespan in the trace's unit.
    ideal : float or None
        Time of the work divided perfectly over the speeds, in the trace's unit.
    speeds : tuple of float
        Relative speeds of the workers.
    cpu : tuple of float or None
        CPU seconds that each worker used; None for simulated runs.
    predicted_finish : tuple of float or None
        When each worker ends by the plan, in the trace's unit; to compare with `finish`.
    peak, predicted_peak : tuple of int or None
        For a StarPlan or a StarLuPlan: the most blocks that each worker held at a time, and would
        hold by the plan. A master that has a row holds the whole matrix.
    clock_error : float or None
        Largest error of one worker's times relative to another's, if each has its own clock (on
        several computers).
    received : tuple of int or None
        For a run on several computers: bytes of operands and of sums that each worker got from
        other workers, without results.
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
    clock_error: float | None = None
    received: tuple[int, ...] | None = None

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
        clock_error: float | None = None,
        received: Sequence[int] | None = None,
    ) -> Trace:
        """Make a trace of the given steps; all other time is waiting.

        Steps of kind "wait" say for what the worker waits. They count where the worker neither
        computes nor transfers.

        Parameters
        ----------
        steps : iterable of (worker, kind, start, end, what)
            In any order.
        workers : sequence of str
            Names of the workers.
        kind, speeds, unit, predicted, ideal, cpu, predicted_finish, clock_error, received :
            See the attributes.
        """
        workers = check.entries("workers", workers, "a sequence of names")
        rates = _per_worker("speeds", speeds, len(workers))
        busy: list[list[Event]] = [[] for _ in workers]
        waits: list[list[Event]] = [[] for _ in workers]
        for i, step in enumerate(check.entries("steps", steps, "a sequence of steps")):
            event = _event(i, step, len(workers))
            (waits if event.kind == "wait" else busy)[event.worker].append(event)
        makespan = max((e.end for own in (*busy, *waits) for e in own), default=0.0)
        events: list[Event] = []
        for worker, own in enumerate(busy):
            now, reasons = 0.0, deque(sorted(waits[worker], key=_interval))
            for event in sorted(own, key=_interval):
                events += _gap(worker, now, event.start, reasons)
                events.append(event)
                now = max(now, event.end)
            events += _gap(worker, now, makespan, reasons)
        return cls(
            tuple(events),
            tuple(workers),
            kind,
            unit,
            None if predicted is None else check.number("predicted", predicted),
            None if ideal is None else check.number("ideal", ideal),
            rates,
            None if cpu is None else _per_worker("cpu", cpu, len(workers)),
            (
                None
                if predicted_finish is None
                else _per_worker("predicted_finish", predicted_finish, len(workers))
            ),
            clock_error=(
                None if clock_error is None else check.number("clock_error", clock_error, low=0.0)
            ),
            received=(
                None if received is None else tuple(_as_many("received", received, len(workers)))
            ),
        )

    @cached_property
    def makespan(self) -> float:
        """End of the last event."""
        return max((e.end for e in self.events), default=0.0)

    def total(self, kind: str) -> tuple[float, ...]:
        """Time that each worker spent on events of a kind.

        Parameters
        ----------
        kind : {"compute", "transfer", "wait"}
        """
        if not isinstance(kind, str):
            raise TypeError(f"kind must be a string, got {kind!r}")
        check.choice("kind", kind, _KINDS)
        sums = [0.0] * len(self.workers)
        for event in self.events:
            if event.kind == kind:
                sums[event.worker] += event.end - event.start
        return tuple(sums)

    def profile(self) -> dict[str, tuple[float, ...]]:
        """Time of each worker by what it did. The times of a worker add up to the makespan.

        Returns
        -------
        dict of tuple of float
            "compute"; "transfer", without the time in which the worker also computed; "wait for
            ..." for each thing that workers waited for, without its number; "wait" for the rest.

        Examples
        --------
        >>> import hetsched as hs
        >>> steps = [(0, "compute", 0.0, 4.0, ""), (1, "compute", 3.0, 5.0, "")]
        >>> steps += [(1, "transfer", 1.0, 4.0, ""), (0, "wait", 4.0, 5.0, "panel 2")]
        >>> profile = hs.Trace.from_steps(steps, ["A", "B"], kind="real", speeds=[1, 1]).profile()
        >>> profile["compute"], profile["transfer"]
        ((4.0, 2.0), (0.0, 2.0))
        >>> profile["wait for panel"], profile["wait"]
        ((1.0, 0.0), (0.0, 1.0))
        """
        found = {"compute": [0.0] * len(self.workers), "transfer": [0.0] * len(self.workers)}
        for worker, own in groupby(self.events, lambda e: e.worker):
            busy: list[Event] = []
            for event in own:
                if event.kind != "wait":
                    busy.append(event)
                    continue
                what = _NUMBER.sub("", event.what)
                name = f"wait for {what}" if what else "wait"
                sums = found.setdefault(name, [0.0] * len(self.workers))
                sums[worker] += event.end - event.start
            found["compute"][worker] = _covered(e for e in busy if e.kind == "compute")
            found["transfer"][worker] = _covered(busy) - found["compute"][worker]
        rest = {"wait": found.pop("wait")} if "wait" in found else {}
        return {name: tuple(sums) for name, sums in (found | rest).items()}

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
        """Whether events of a worker overlap.

        It transfers while it computes, or receives from several workers at the same time.
        """
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
        """Time of perfectly divided work / makespan.

        If the work is unknown, the fraction of the time spent computing, weighted by speed.
        """
        if self.makespan == 0.0:
            return 1.0
        if self.ideal is not None:
            return self.ideal / self.makespan
        weights = sum(self.speeds)
        return sum(s * t for s, t in zip(self.speeds, self._computing, strict=True)) / (
            weights * self.makespan
        )

    @cached_property
    def core_share(self) -> tuple[float, ...] | None:
        """CPU time of each worker / time that it computed, at most 1.0; None if it is not known.

        For real runs. Below 1.0, other programs, or a quota, had the worker's core for the rest of
        that time; tasks in Python that wait have the same effect. The value is an upper bound:
        waiting for other workers may take CPU time, which is counted too. A worker that computed
        nothing has 1.0.
        """
        if self.kind != "real" or self.cpu is None:
            return None
        return tuple(
            min(1.0, own / time) if time > 0.0 else 1.0
            for own, time in zip(self.cpu, self._computing, strict=True)
        )

    @cached_property
    def _computing(self) -> tuple[float, ...]:
        """Time that each worker computes. There may be a million events."""
        return self.total("compute")

    def to_chrome(self, path: str | PathLike[str]) -> None:
        """Write Chrome-trace JSON, for Perfetto and chrome://tracing. Waiting shows as a gap.

        Parameters
        ----------
        path : path_like
            Replaced as a whole or not at all, like the files of the other methods. Times are taken
            as seconds, even if they have no unit, and rounded to 1/8 microsecond.
        """
        other = {"kind": self.kind, "unit": self.unit, "predicted": self.predicted}
        records = [_metadata("process_name", 0, {"name": f"hetsched ({self.kind})"})]
        # Perfetto takes thread 0 for the idle thread of the kernel
        for tid, lane in enumerate(lanes(self), 1):
            records.append(_metadata("thread_name", tid, {"name": lane.name}))
            records.append(_metadata("thread_sort_index", tid, {"sort_index": tid}))
            records += [_slice(tid, event) for event in lane.events if event.kind != "wait"]
        with _text_file(path) as file:
            file.write(
                f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(other)}, "traceEvents": [\n'
            )
            file.write(",\n".join(map(json.dumps, records)))
            file.write("\n]}\n")

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write an interactive Gantt chart for a browser.

        The chart can be zoomed and moved, and explains its events. It is one file that needs no
        other file and no network.

        Parameters
        ----------
        path : path_like
            Replaced as a whole or not at all. With 10^5 events it has some megabytes.
        """
        text: str = import_module("hetsched.plots.html").gantt_page(self)
        with _text_file(path) as file:
            file.write(text)

    def to_paje(self, path: str | PathLike[str]) -> None:
        """Write a Paje trace, for ViTE: one container per worker, which computes, transfers or
        waits.

        Parameters
        ----------
        path : path
        """
        changes: list[tuple[float, str]] = []
        tracks = lanes(self)
        for i, lane in enumerate(tracks):
            starts = [e.start for e in lane.events[1:]]
            for event, later in zip(lane.events, [*starts, math.inf], strict=False):
                what = _quoted(event.what or event.kind)
                changes.append(
                    (event.start, f"5 {_decimal(event.start)} state lane{i} {event.kind} {what}\n")
                )
                if later > event.end:
                    changes.append((event.end, f"6 {_decimal(event.end)} state lane{i}\n"))
        changes.sort(key=lambda change: change[0])  # stable: a lane's own changes stay in order
        end = _decimal(self.makespan)
        with _text_file(path) as file:
            file.write(_paje_header())
            file.write(f"3 0.0 all program 0 {_quoted(f'hetsched ({self.kind})')}\n")
            file.writelines(
                f"3 0.0 lane{i} worker all {_quoted(lane.name)}\n" for i, lane in enumerate(tracks)
            )
            file.writelines(line for _, line in changes)
            file.writelines(f"4 {end} worker lane{i}\n" for i in range(len(tracks)))
            file.write(f"4 {end} program all\n")

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write worker, name, kind, start, end, what as CSV: a row per event, waits included.

        The times round-trip.

        Parameters
        ----------
        path : path
        """
        with _text_file(path) as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(("worker", "name", "kind", "start", "end", "what"))
            rows.writerows((e.worker, self.workers[e.worker], *e[1:]) for e in self.events)

    def __repr__(self) -> str:
        predicted = "" if self.predicted is None else f", predicted {self.predicted:.6g}"
        return (
            f"<Trace: {self.kind}, {len(self.workers)} workers, "
            f"makespan {f'{self.makespan:.6g} {self.unit}'.strip()}{predicted}, "
            f"efficiency {self.efficiency:.1%}{cores_text(self)}>"
        )


#: If the workers had at least this share of their cores, a trace does not mention it.
_WHOLE = 0.95


def cores_text(trace: Trace) -> str:
    """ ", the workers had at most 52% of their cores" if other programs had the rest, else ""."""
    if trace.core_share is None:
        return ""
    times = trace._computing
    had = sum(s * t for s, t in zip(trace.core_share, times, strict=True))
    share = had / sum(times) if sum(times) > 0.0 else 1.0
    return f", the workers had at most {share:.0%} of their cores" if share < _WHOLE else ""


_NUMBER = re.compile(r" \d+$")


def _interval(event: Event) -> tuple[float, float]:
    return event.start, event.end


def _gap(worker: int, start: float, end: float, reasons: deque[Event]) -> Iterator[Event]:
    """The waits in [start, end), which is divided where the reason changes.

    Reasons that are over at the end are removed. They are sorted; where two overlap, the first one
    counts.
    """
    while start < end and reasons:
        reason = reasons[0]
        begin, until = max(reason.start, start), min(reason.end, end)
        if begin < until:
            if start < begin:
                yield Event(worker, "wait", start, begin, "")
            yield Event(worker, "wait", begin, until, reason.what)
            start = until
        if reason.end > end:
            break
        reasons.popleft()
    if start < end:
        yield Event(worker, "wait", start, end, "")


def _covered(events: Iterable[Event]) -> float:
    """The time in which at least one of the events goes on; they are sorted by start."""
    sum_, now = 0.0, 0.0
    for event in events:
        sum_ += max(event.end - max(event.start, now), 0.0)
        now = max(now, event.end)
    return sum_


def _event(i: int, step: Any, workers: int) -> Event:
    try:
        event = Event(*step)
    except TypeError:
        raise TypeError(
            f"steps[{i}] must be (worker, kind, start, end, what), got {step!r}"
        ) from None
    worker, kind, start, end, what = event
    if (
        type(worker) is int
        and 0 <= worker < workers
        and type(start) is type(end) is float
        and -math.inf < start <= end < math.inf
        and kind in _KINDS
    ):
        return event  # without slower checks: there may be a million events
    worker = check.integer(f"steps[{i}]: worker", worker, low=0, high=workers - 1)
    kind = check.choice(f"steps[{i}]: kind", kind, _KINDS)
    start = check.number(f"steps[{i}]: start", start)
    end = check.number(f"steps[{i}]: end", end, low=start)
    return Event(worker, kind, start, end, str(what))


def _per_worker(name: str, values: Any, workers: int) -> tuple[float, ...]:
    return tuple(
        check.number(f"{name}[{i}]", x) for i, x in enumerate(_as_many(name, values, workers))
    )


def _as_many(name: str, values: Any, workers: int) -> list[Any]:
    return check.as_many(name, check.entries(name, values, "a sequence of numbers"), workers)


# ---- files for other tools: Perfetto, ViTE, spreadsheets ----

#: Events in the order of their numbers, with their fields. Fields are strings, except for the date
#: and the colour.
_PAJE_EVENTS = (
    ("PajeDefineContainerType", "Alias Type Name"),
    ("PajeDefineStateType", "Alias Type Name"),
    ("PajeDefineEntityValue", "Alias Type Name Color"),
    ("PajeCreateContainer", "Time Alias Type Container Name"),
    ("PajeDestroyContainer", "Time Type Name"),
    ("PajeSetState", "Time Type Container Value What"),
    ("PajePopState", "Time Type Container"),
)
_PAJE_TYPES = """\
0 program 0 "Program"
0 worker program "Worker"
1 state worker "State"
2 compute state "compute" "0.0 0.447 0.698"
2 transfer state "transfer" "0.902 0.624 0.0"
2 wait state "wait" "0.937 0.937 0.937"
"""


def _paje_header() -> str:
    lines = []
    for number, (event, names) in enumerate(_PAJE_EVENTS):
        fields = [
            f"% {name} {({'Time': 'date', 'Color': 'color'}).get(name, 'string')}"
            for name in names.split()
        ]
        lines += [f"%EventDef {event} {number}", *fields, "%EndEventDef"]
    return "\n".join(lines) + f"\n{_PAJE_TYPES}"


class Lane(NamedTuple):
    """Events that do not overlap, in order of time."""

    worker: int
    name: str
    events: list[Event]


def lanes(trace: Trace) -> list[Lane]:
    """One lane for each worker, or several if events of a worker overlap.

    The first is for computing and waiting, the others are for transfers. Transfers from several
    workers at the same time have a lane each: Perfetto drops, and ViTE garbles, events of one lane
    that overlap.
    """
    split, slack = trace.overlapped, 1e-9 * trace.makespan
    own: list[list[list[Event]]] = [[[] for _ in range(1 + split)] for _ in trace.workers]
    for event in trace.events:
        tracks = own[event.worker]
        if not split or event.kind != "transfer":
            tracks[0].append(event)
            continue
        free = [x for x in tracks[1:] if not x or x[-1].end <= event.start + slack]
        if not free:
            tracks.append([])
            free = tracks[-1:]
        free[0].append(event)
    return [
        Lane(worker, trace.workers[worker] + _lane_suffix(number), events)
        for worker, tracks in enumerate(own)
        for number, events in enumerate(tracks)
    ]


def _lane_suffix(number: int) -> str:
    return ("", " transfer")[number] if number < 2 else f" transfer {number}"


@contextmanager
def _text_file(path: str | PathLike[str]) -> Iterator[io.TextIOWrapper]:
    with replace_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.detach()  # flushes, and leaves the closing to replace_file


def _metadata(name: str, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "pid": 1, "tid": tid, "name": name, "args": args}


def _slice(tid: int, event: Event) -> dict[str, Any]:
    start, end = _microseconds(event.start), _microseconds(event.end)
    name = event.what or event.kind
    return {
        "ph": "X",
        "pid": 1,
        "tid": tid,
        "ts": start,
        "dur": end - start,
        "name": name,
        "cat": event.kind,
    }


def _microseconds(seconds: float) -> float:
    # Perfetto truncates 1000.0 * ts to nanoseconds, which is exact for eighths. Other fractions
    # could make neighbours overlap by a nanosecond, and then Perfetto drops one of them.
    return round(seconds * 8e6) / 8


def _decimal(time: float) -> str:
    # PajeNG reads no exponents and needs the point
    return np.format_float_positional(time, trim="0")


def _quoted(text: str) -> str:
    # Paje has no escapes, and ViTE loses empty strings.
    return '"' + (" ".join(text.replace('"', "'").split()) or " ") + '"'
