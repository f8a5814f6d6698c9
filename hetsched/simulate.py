"""From a plan to the trace that it predicts."""

from __future__ import annotations

import math

from .plan import Plan, relative_speeds
from .trace import Trace


def simulate(plan: Plan) -> Trace:
    """The trace that a plan predicts, in the plan's unit of time.

    Parameters
    ----------
    plan : Plan
        Any plan with cycle-times: of `distribute`, `distribute_profile`, `lu_pattern`, of `partition` with a Platform, of
        `Pool.plan`.

    Returns
    -------
    Trace
        With kind "simulated"; its makespan is the plan's.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.simulate(hs.distribute(10, [3, 5, 8])).makespan
    16.0
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"plan must be a plan, got {type(plan).__name__}")
    steps = plan.steps()
    makespan = max((step.end for step in steps), default=0.0)
    speeds = relative_speeds(plan.cycle_times).tolist()  # type: ignore[attr-defined]
    total = sum(speeds)
    done = [(speeds[step.worker], step.end - step.start) for step in steps if step.kind == "compute"]
    work = sum(speed * time for speed, time in done)
    ideal = work / total if math.isfinite(work) else sum(speed / total * time for speed, time in done)
    return Trace.from_steps(steps, plan.worker_names, kind="simulated", speeds=speeds, unit="", predicted=makespan, ideal=ideal)
