"""Gantt charts of traces, and of plans as the traces that they predict."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..plan import Plan, Step, simulate
from ..platform import relative_speeds
from ..trace import Event, Trace, cores_text
from .canvas import (
    _COLOURS,
    _INK,
    _SMALLEST,
    _axes,
    _bar,
    _draw_boxes,
    _fit_text,
    _key,
    _line,
    _points,
    _rows,
    _title,
    digits,
    figure_size,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.divisible import DivisibleLoad
    from ..planners.star import StarPlan
    from ..planners.star_lu import StarLuPlan
    from ..planners.stencil import StencilPlan

_PANEL = re.compile(r"panel (\d+)")
_UPDATE = re.compile(r"block \d+ after panel (\d+)$|step (\d+):")
_DARK = "#10254a"  # colour of panels
# colours of updates of the first step and of the last
_EARLY, _LATE = np.array([0.78, 0.89, 0.96]), np.array([0.16, 0.53, 0.76])
_LINKED = 128  # number of panels up to which they are joined by a line


def phases(events: Iterable[Event]) -> list[tuple[str, int]]:
    """The look of each event and its step in a factorisation: panel, update, or its kind and -1."""
    found = []
    for event in events:
        panel = _PANEL.fullmatch(event.what) if event.kind == "compute" else None
        update = _UPDATE.match(event.what) if event.kind == "compute" else None
        if panel:
            found.append(("panel", int(panel[1])))
        elif update:
            found.append(("update", int(update[1] or update[2])))
        else:
            found.append((event.kind, -1))
    if any(phase == "update" for phase, _ in found):
        return found
    return [(event.kind, -1) for event in events]


def title_of(trace: Trace) -> str:
    """The line above a chart: makespan, efficiency, and what other programs left of the cores."""
    unit = f" {trace.unit}" if trace.unit else ""
    return (
        f"{trace.kind}, makespan {digits(trace.makespan)}{unit}, efficiency"
        f" {percent(trace.efficiency)}{cores_text(trace)}"
    )


def step_colour(step: int, steps: int) -> tuple[float, float, float]:
    """Colour of an update; later steps are darker."""
    red, green, blue = (_EARLY + (_LATE - _EARLY) * step / max(steps - 1, 1)).tolist()
    return red, green, blue


def plot_trace(trace: Trace, ax: Axes | None = None, *, until: float | None = None) -> Axes:
    """Draw a Gantt chart with a row for each worker, worker 0 at the top.

    Transfers that overlap computing are drawn below it. In a factorisation the panels are dark and
    joined by a line in their order, and updates of later steps are darker.

    Parameters
    ----------
    until : float, optional
        Least end of the time axis, so that charts side by side can have the same one.
    """
    p = len(trace.workers)
    events = [e for kind in _COLOURS for e in trace.events if e.kind == kind]
    looks = phases(events)
    steps = 1 + max((step for phase, step in looks if phase == "update"), default=-1)
    chain = _chain(events, looks)
    shown = {phase for phase, _ in looks}
    ax = _axes(ax, figure_size("rows", p), 0.5, len(shown) + ("update" in shown) + bool(len(chain)))
    unit = f" {trace.unit}" if trace.unit else ""
    ax.set_xlabel(f"time ({trace.unit})" if trace.unit else "time", parse_math=False)
    heading = _title(ax, title_of(trace))
    longest = max(trace.makespan, trace.predicted or 0.0, until or 0.0)
    ax.set_xlim(0, longest * 1.01 if longest > 0 else 1.0)

    colours: list[Any] = [
        (
            _DARK
            if phase == "panel"
            else step_colour(step, steps)
            if phase == "update"
            else _COLOURS[phase]
        )
        for phase, step in looks
    ]
    if handles := _handles(shown, steps, bool(len(chain))):
        _key(ax, handles)
    row = _rows(ax, heading, trace.workers, trace.predicted is not None)
    if trace.predicted is not None:
        _line(ax, trace.predicted, f"predicted {digits(trace.predicted)}{unit}")

    worker, start, end = (np.array([e[i] for e in events], float) for i in (0, 2, 3))
    half = _bar(row) / 2
    top, bottom = np.full(len(events), -half), np.full(len(events), half)
    if trace.overlapped:
        kind_of = np.array([e.kind for e in events])
        bottom[kind_of == "compute"] = top[kind_of == "transfer"] = 0.3 * half
    width, height = (end - start) * _points(ax)[0], (bottom - top) * row
    _draw_boxes(ax, start, worker + top, end, worker + bottom, colours, np.minimum(width, height))
    if len(chain):
        ax.plot(chain[:, 0], chain[:, 1], color=_DARK, linewidth=0.5)
    sizes: dict[str, tuple[float, float]] = {}
    for i in np.flatnonzero(width > _SMALLEST):
        what, phase = events[i].what, looks[i][0]
        if what and phase != "wait":
            middle = worker[i] + (top[i] + bottom[i]) / 2
            ink = "black" if phase == "update" else _INK.get(phase, "white")
            _fit_text(
                ax,
                ((start[i] + end[i]) / 2, middle),
                (width[i], height[i]),
                [(what, 0)],
                ink,
                sizes,
            )
    return ax


def _chain(events: Sequence[Event], looks: Sequence[tuple[str, int]]) -> NDArray[np.float64]:
    """(2 * panels, 2): times and workers of a line from panel to panel: start and end of each."""
    panels = sorted(
        (step, e.start, e.end, e.worker)
        for e, (phase, step) in zip(events, looks, strict=True)
        if phase == "panel"
    )
    if not 1 < len(panels) <= _LINKED:
        return np.empty((0, 2))
    return np.array(
        [(time, worker) for _, start, end, worker in panels for time in (start, end)], float
    )


def _handles(shown: set[str], steps: int, joined: bool) -> list[Any]:
    """Entries of the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    looks: list[tuple[str, Any, str]] = [
        ("compute", _COLOURS["compute"], "compute"),
        ("panel", _DARK, "panel"),
    ]
    looks += [
        ("update", step_colour(step, steps), f"update, step {step}")
        for step in sorted({0, steps - 1})
    ]
    looks += [(kind, _COLOURS[kind], kind) for kind in ("transfer", "wait")]
    handles: list[Any] = [
        Patch(facecolor=colour, edgecolor="#bbbbbb", linewidth=0.5, label=label)
        for phase, colour, label in looks
        if phase in shown
    ]
    if joined:
        handles.append(Line2D([], [], color=_DARK, linewidth=0.5, label="from panel to panel"))
    return handles


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the trace that a plan predicts."""
    return plot_trace(simulate(plan), ax)


def plot_iterations(plan: StencilPlan, ax: Axes | None = None) -> Axes:
    """Draw the first three steps of an iteration."""
    return plot_trace(simulate(replace(plan, iterations=min(3, plan.iterations))), ax)


def plot_star(plan: StarPlan, ax: Axes | None = None) -> Axes:
    """Draw a Gantt chart: the master's port at the top, and below it a row for each worker."""
    return _plot_master(plan, "port", lambda step: plan.names[step.worker], plan.method, None, ax)


def plot_star_lu(plan: StarLuPlan, ax: Axes | None = None) -> Axes:
    """Draw the same chart as `plot_star`, with the master's work in the row of its port."""
    return _plot_master(
        plan,
        "master",
        lambda step: plan.names[step.worker],
        plan.method,
        None,
        ax,
        plan.master_time,
    )


def plot_bus(plan: DivisibleLoad, ax: Axes | None = None) -> Axes:
    """Draw a Gantt chart with the bus above the workers."""
    return _plot_master(
        plan,
        "bus",
        lambda step: f"{plan.names[step.worker]} {step.what}",
        "simulated",
        plan.makespan,
        ax,
    )


def _plot_master(
    plan: StarPlan | StarLuPlan | DivisibleLoad,
    name: str,
    what: Callable[[Step], str],
    kind: str,
    predicted: float | None,
    ax: Axes | None,
    master_time: float = math.inf,
) -> Axes:
    """Draw a plan with a row above the workers for the work of the master and all transfers.

    The transfers are labelled by `what`. In `steps` the master, if it works, follows the workers.
    master_time : time per unit of work.
    """
    steps = plan.steps()
    sent = [step._replace(worker=0, what=what(step)) for step in steps if step.kind == "transfer"]
    count = len(plan.names)
    rows = [step._replace(worker=(step.worker + 1) % (count + 1)) for step in steps]
    speeds = relative_speeds(np.array([master_time, *plan.cycle_times])).tolist()
    return plot_trace(
        Trace.from_steps(
            [*sent, *rows],
            (name, *plan.names),
            kind=kind,
            speeds=speeds,
            unit="",
            predicted=predicted,
        ),
        ax,
    )
