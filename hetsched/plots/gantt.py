"""Gantt charts: of traces, and of plans as the traces that they predict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..plan import Plan, Step, simulate
from ..platform import relative_speeds
from ..trace import Trace
from .canvas import _COLOURS, _INK, _SMALLEST, _axes, _bar, _draw_boxes, _fit_text, _line, _points, _rows, _title, figure_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.divisible import DivisibleLoad
    from ..planners.star import StarPlan
    from ..planners.star_lu import StarLuPlan
    from ..planners.stencil import StencilPlan


def plot_trace(trace: Trace, ax: Axes | None = None) -> Axes:
    """Gantt chart: a row per worker, worker 0 at the top; where transfers overlap computing, they are drawn below it."""
    p = len(trace.workers)
    ax = _axes(ax, figure_size("rows", p))
    from matplotlib.patches import Patch

    unit = f" {trace.unit}" if trace.unit else ""
    kinds = [kind for kind in ("compute", "transfer", "wait") if any(e.kind == kind for e in trace.events)]
    ax.set_xlabel(f"time ({trace.unit})" if trace.unit else "time", parse_math=False)
    title = f"{trace.kind}, makespan {trace.makespan:.6g}{unit}, efficiency {trace.efficiency:.1%}"
    heading = _title(ax, title, loc="left", pad=22 if kinds else 6)
    if kinds:
        ax.legend(
            handles=[Patch(facecolor=_COLOURS[kind], edgecolor="#bbbbbb", linewidth=0.5, label=kind) for kind in kinds],
            loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8, borderpad=0.4,
            borderaxespad=0, handlelength=1.2, columnspacing=1.4,
        )  # fmt: skip
    longest = max(trace.makespan, trace.predicted or 0.0)
    ax.set_xlim(0, longest * 1.01 if longest > 0 else 1.0)
    row = _rows(ax, heading, trace.workers, trace.predicted is not None)
    if trace.predicted is not None:
        _line(ax, trace.predicted, f"predicted {trace.predicted:.6g}{unit}")

    events = [e for kind in _COLOURS for e in trace.events if e.kind == kind]
    worker, start, end = (np.array([e[i] for e in events], float) for i in (0, 2, 3))
    half = _bar(row) / 2
    top, bottom = np.full(len(events), -half), np.full(len(events), half)
    if trace.overlapped:
        kind_of = np.array([e.kind for e in events])
        bottom[kind_of == "compute"] = top[kind_of == "transfer"] = 0.3 * half
    width, height = (end - start) * _points(ax)[0], (bottom - top) * row
    colours = [_COLOURS[e.kind] for e in events]
    _draw_boxes(ax, start, worker + top, end, worker + bottom, colours, np.minimum(width, height))
    sizes: dict[str, tuple[float, float]] = {}
    for i in np.flatnonzero(width > _SMALLEST):
        what, kind = events[i].what, events[i].kind
        if what and kind in _INK:
            middle = worker[i] + (top[i] + bottom[i]) / 2
            _fit_text(ax, ((start[i] + end[i]) / 2, middle), (width[i], height[i]), [(what, 0)], _INK[kind], sizes)
    return ax


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """The trace that a plan predicts."""
    return plot_trace(simulate(plan), ax)


def plot_iterations(plan: StencilPlan, ax: Axes | None = None) -> Axes:
    """The first three steps of an iteration."""
    return plot_trace(simulate(replace(plan, iterations=min(3, plan.iterations))), ax)


def plot_star(plan: StarPlan, ax: Axes | None = None) -> Axes:
    """Gantt chart: the master's port on top, below it a row per worker."""
    return _plot_master(plan, "port", lambda step: plan.names[step.worker], plan.method, None, ax)


def plot_star_lu(plan: StarLuPlan, ax: Axes | None = None) -> Axes:
    """The same, with the master's panels in the row of its port."""
    panels = [Step(0, "compute", panel.start, panel.end, f"panel {k}") for k, panel in enumerate(plan.panels)]
    return _plot_master(plan, "master", lambda step: plan.names[step.worker], plan.method, None, ax, panels)


def plot_bus(plan: DivisibleLoad, ax: Axes | None = None) -> Axes:
    """A Gantt chart with the bus above the workers."""
    return _plot_master(plan, "bus", lambda step: f"{plan.names[step.worker]} {step.what}", "simulated", plan.makespan, ax)


def _plot_master(
    plan: StarPlan | StarLuPlan | DivisibleLoad,
    name: str,
    what: Callable[[Step], str],
    kind: str,
    predicted: float | None,
    ax: Axes | None,
    own: Iterable[Step] = (),
) -> Axes:
    """The plan with a row above the workers for what the master does itself, and all transfers, called by what they are."""
    steps = plan.steps()
    sent = [step._replace(worker=0, what=what(step)) for step in steps if step.kind == "transfer"]
    rows = [step._replace(worker=step.worker + 1) for step in steps]
    speeds = [0.0, *relative_speeds(plan.cycle_times).tolist()]
    return plot_trace(
        Trace.from_steps([*own, *sent, *rows], (name, *plan.names), kind=kind, speeds=speeds, unit="", predicted=predicted), ax
    )
