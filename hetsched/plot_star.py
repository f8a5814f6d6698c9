"""Picture of a product on a star."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .plan import Step, relative_speeds
from .plot import plot_trace
from .trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .star import StarPlan


def plot_star(plan: StarPlan, ax: Axes | None = None) -> Axes:
    """Gantt chart: the master's port on top, below it a row per worker.

    Parameters
    ----------
    plan : StarPlan
    ax : matplotlib Axes, optional
        Default: a new pyplot figure, as high as the workers need.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    rows = [step._replace(worker=step.worker + 1) for step in plan.steps()]
    port = [Step(0, "transfer", step.start, step.end, plan.names[step.worker - 1]) for step in rows if step.kind == "transfer"]
    speeds = [0.0, *relative_speeds(plan.cycle_times).tolist()]
    work = sum(speeds[step.worker] * (step.end - step.start) for step in rows if step.kind == "compute")
    trace = Trace.from_steps(
        [*port, *rows], ("port", *plan.names), kind=plan.method, speeds=speeds, unit="", ideal=work / sum(speeds)
    )
    return plot_trace(trace, ax)
