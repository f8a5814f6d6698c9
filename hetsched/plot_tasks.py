"""Pictures of what goes over one bus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .plan import relative_speeds
from .plot import plot_trace
from .trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .divisible import DivisibleLoad


def plot_bus(plan: DivisibleLoad, ax: Axes | None = None) -> Axes:
    """A Gantt chart with the bus above the workers."""
    steps = [(s.worker + 1, s.kind, s.start, s.end, s.what) for s in plan.steps()]
    names = [f"{plan.names[worker - 1]} {what}" for worker, _, _, _, what in steps]
    bus = [(0, kind, start, end, name) for (_, kind, start, end, _), name in zip(steps, names, strict=True) if kind == "transfer"]
    speeds = np.concatenate(([0.0], relative_speeds(plan.cycle_times)))
    trace = Trace.from_steps(
        bus + steps, ("bus", *plan.names), kind="simulated", speeds=speeds.tolist(), unit="", predicted=plan.makespan
    )
    return plot_trace(trace, ax)
