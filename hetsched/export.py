"""Traces as files for other tools: Perfetto, ViTE, spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._files import replace_file

if TYPE_CHECKING:
    from .trace import Event, Trace

_PAJE_HEADER = """\
%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineEntityValue 2
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
%EventDef PajeCreateContainer 3
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 4
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajeSetState 5
% Time date
% Type string
% Container string
% Value string
% What string
%EndEventDef
%EventDef PajePopState 6
% Time date
% Type string
% Container string
%EndEventDef
0 program 0 "Program"
0 worker program "Worker"
1 state worker "State"
2 compute state "compute" "0.0 0.447 0.698"
2 transfer state "transfer" "0.902 0.624 0.0"
2 wait state "wait" "0.937 0.937 0.937"
"""


class Lane(NamedTuple):
    """Events that do not overlap, in order of time."""

    worker: int
    name: str
    events: list[Event]


def lanes(trace: Trace) -> list[Lane]:
    """One lane per worker; two, the second for transfers, where transfers overlap computing.

    Perfetto drops, and ViTE garbles, events of one lane that overlap.
    """
    split = trace.overlapped
    own: list[tuple[list[Event], list[Event]]] = [([], []) for _ in trace.workers]
    for event in trace.events:
        own[event.worker][split and event.kind == "transfer"].append(event)
    return [
        Lane(worker, f"{trace.workers[worker]}{suffix}", events)
        for worker, pair in enumerate(own)
        for suffix, events in zip(("", " transfer"), pair[: 1 + split], strict=False)
    ]


def write_chrome(trace: Trace, path: str | PathLike[str]) -> None:
    """Write Chrome-trace JSON. Waiting is left out: Perfetto shows it as the gap that it is.

    Parameters
    ----------
    trace : Trace
        Its times are taken as seconds, also where they have no unit, and rounded to 1/8 microsecond.
    path : path_like
        Replaced whole, or not at all.
    """
    other = {"kind": trace.kind, "unit": trace.unit, "predicted": trace.predicted}
    records: list[dict[str, Any]] = [_metadata("process_name", 0, {"name": f"hetsched ({trace.kind})"})]
    for tid, lane in enumerate(lanes(trace), 1):  # Perfetto takes thread 0 for the idle thread of the kernel
        records.append(_metadata("thread_name", tid, {"name": lane.name}))
        records.append(_metadata("thread_sort_index", tid, {"sort_index": tid}))
        for event in lane.events:
            if event.kind != "wait":
                start, end = _microseconds(event.start), _microseconds(event.end)
                records.append(
                    {
                        "ph": "X",
                        "pid": 1,
                        "tid": tid,
                        "ts": start,
                        "dur": end - start,
                        "name": event.what or event.kind,
                        "cat": event.kind,
                    }
                )
    with _text_file(path) as file:
        file.write(f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(other)}, "traceEvents": [\n')
        file.write(",\n".join(map(json.dumps, records)))
        file.write("\n]}\n")


def write_paje(trace: Trace, path: str | PathLike[str]) -> None:
    """Write a Paje trace: a container per worker, whose state is compute, transfer or wait.

    Parameters
    ----------
    trace : Trace
    path : path_like
        Replaced whole, or not at all.
    """
    changes: list[tuple[float, str]] = []
    tracks = lanes(trace)
    for i, lane in enumerate(tracks):
        starts = [e.start for e in lane.events[1:]]
        for event, later in zip(lane.events, [*starts, math.inf], strict=False):
            what = _quoted(event.what or event.kind)
            changes.append((event.start, f"5 {_decimal(event.start)} state lane{i} {event.kind} {what}\n"))
            if later > event.end:
                changes.append((event.end, f"6 {_decimal(event.end)} state lane{i}\n"))
    changes.sort(key=lambda change: change[0])  # stable: a lane's own changes stay in order
    end = _decimal(trace.makespan)
    with _text_file(path) as file:
        file.write(_PAJE_HEADER)
        file.write(f"3 0.0 all program 0 {_quoted(f'hetsched ({trace.kind})')}\n")
        file.writelines(f"3 0.0 lane{i} worker all {_quoted(lane.name)}\n" for i, lane in enumerate(tracks))
        file.writelines(line for _, line in changes)
        file.writelines(f"4 {end} worker lane{i}\n" for i in range(len(tracks)))
        file.write(f"4 {end} program all\n")


def write_csv(trace: Trace, path: str | PathLike[str]) -> None:
    """Write one row per event, waiting included; the times round-trip.

    Parameters
    ----------
    trace : Trace
    path : path_like
        Replaced whole, or not at all.
    """
    with _text_file(path) as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("worker", "name", "kind", "start", "end", "what"))
        rows.writerows((e.worker, trace.workers[e.worker], *e[1:]) for e in trace.events)


@contextmanager
def _text_file(path: str | PathLike[str]) -> Iterator[io.TextIOWrapper]:
    with replace_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.detach()  # flushes, and leaves the closing to replace_file


def _metadata(name: str, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "pid": 1, "tid": tid, "name": name, "args": args}


def _microseconds(seconds: float) -> float:
    # Perfetto truncates 1000.0 * ts to nanoseconds: exact for eighths, whereas other fractions could make neighbours
    # overlap by a nanosecond, and then it drops one of them.
    return round(seconds * 8e6) / 8


def _decimal(time: float) -> str:
    return np.format_float_positional(time, trim="0")  # PajeNG reads no exponents and needs the point


def _quoted(text: str) -> str:
    # Paje has no escapes, and ViTE loses empty strings.
    return '"' + (" ".join(text.replace('"', "'").split()) or " ") + '"'
