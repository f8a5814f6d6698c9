"""What every plan has: a method, a value, a proven bound, and the gap between the two."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ._base.drawn import Drawn
from .platform import relative_speeds
from .trace import Trace

#: Entries of a predicted schedule at most: each takes some 200 bytes.
MOST_STEPS = 3_000_000


class Step(NamedTuple):
    """A stretch of one worker's predicted time: kind is "compute" or "transfer"."""

    worker: int
    kind: str
    start: float
    end: float
    what: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Plan(Drawn):
    """Base of all plans.

    Attributes
    ----------
    method : str
        How the plan was found.
    lower_bound : float
        A proven lower bound on what `value` can be, over all plans (not only those that the method searches).
    optimal : bool
        True only where optimality among all plans is proven.
    scope : str
        The class of plans among which the method finds the best, or "" if it is a heuristic.
    """

    method: str
    lower_bound: float
    optimal: bool
    scope: str

    _value: ClassVar[str]  # the name of the attribute that lower_bound bounds
    _scale: ClassVar[str] = "cycle_times"  # the arguments that make it too large for a double

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):  # of which no plan is better than another
            raise ValueError(f"the {self._value} overflows: give {self._scale} in a larger unit")

    @property
    def value(self) -> float:
        """What is minimised: the makespan or the cost."""
        return float(getattr(self, self._value))

    @property
    def gap(self) -> float:
        """(value - lower_bound) / lower_bound; 0.0 is a proof of optimality."""
        if self.value == self.lower_bound:
            return 0.0
        return (self.value - self.lower_bound) / self.lower_bound if self.lower_bound > 0 else float("inf")

    def certificate(self) -> str:
        """One sentence: the value, the bound, the gap, and what is proven."""
        proof = "optimal" if self.optimal else f"optimal among {self.scope}" if self.scope else "not proven optimal"
        return f"{self._value} {self.value:.6g}, lower bound {self.lower_bound:.6g}, gap {self.gap:.2%}, {proof} ({self.method})"

    def steps(self) -> list[Step]:
        """The predicted schedule, in the plan's unit of time; `simulate` makes a Trace of it."""
        raise TypeError(f"a {type(self).__name__} cannot be simulated: it has no cycle-times")

    @property
    def worker_names(self) -> tuple[str, ...]:
        """A name for each worker."""
        names: tuple[str, ...] = self.names  # type: ignore[attr-defined]
        return names

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        content = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return {"type": type(self).__name__, **content, "gap": self.gap}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.certificate()}>"


def plain(value: Any) -> Any:
    """Arrays and tuples as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return value


def proven(value: float, bound: float) -> bool:
    """Whether value equals the bound up to rounding."""
    return value <= bound * (1 + 1e-12)


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
