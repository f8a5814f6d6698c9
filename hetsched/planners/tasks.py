"""Tasks that a master hands to workers over one bus.

A plan gives the most tasks in a given time, or the least time for a given number of tasks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.progress import Progress, reporting
from .._engine import assign as engine
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, Unit, whose
from .distribute import distribute
from .stacked import PlanStack, stack_of, threads_for

_METHODS = engine.TASK_METHODS[:3]
_BRIEF = 1000  # cycle-times of stacks that are planned without threads


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _TaskPlan(Plan):
    counts: NDArray[np.int64]
    tasks: int
    makespan: float
    send_order: NDArray[np.int64]
    receive_order: NDArray[np.int64]
    send: float | NDArray[np.float64]
    receive: float | NDArray[np.float64]
    cycle_times: NDArray[np.float64]

    _table: ClassVar = {
        "counts": schema.Array("i8", "p", high=schema.COUNT),
        "tasks": schema.Integer(),
        "makespan": schema.Real(),
        "send_order": schema.Array("i8", "served", high="p - 1"),
        "receive_order": schema.Array("i8", "returning", high="p - 1"),
        "send": schema.Either(schema.Real(), schema.EACH),
        "receive": schema.Either(schema.Real(), schema.EACH),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        schema.require_dealt("counts", self.counts, self.tasks)
        schema.require_able("counts", self.counts, self.cycle_times)
        for name, message in (("send", self.send), ("receive", self.receive)):
            longest = max(message.tolist()) if isinstance(message, np.ndarray) else message
            if longest * len(self.counts) > schema.LONG:
                raise ValueError(
                    f"{name} of all workers together is too long for a double:"
                    " give times in a larger unit"
                )
        schema.require_order("send_order", self.send_order, self.counts)
        answers = self.receive.any() if isinstance(self.receive, np.ndarray) else self.receive
        if answers or len(self.receive_order):
            schema.require_order("receive_order", self.receive_order, self.counts)

    def _last(self, platform: Platform) -> float:
        """When the last worker ends, with the workers of `platform`."""
        return max(
            (step.end for step in replace(self, cycle_times=platform.cycle_times).steps()),
            default=0.0,
        )

    def _steps(self, finish: Finish) -> list[Step]:
        """Messages one after the other.

        They go out from the start, and come back as soon as the worker and the bus are ready.
        """
        steps: list[Step] = []
        ends: dict[int, float] = {}
        order = self.send_order.tolist()
        arrivals = [0.0, *_arrivals(self.send, self.send_order).tolist()]
        for slot, i in enumerate(order):
            start = arrivals[slot + 1]
            if _of(self.send, i):
                steps.append(Step(i, "transfer", arrivals[slot], start, "out"))
            count = int(self.counts[i])
            end = finish(i, start, count * float(self.cycle_times[i]))
            ends[i] = _settled(end, self.makespan)
            steps.append(Step(i, "compute", start, ends[i], f"{count} tasks"))
        bus = arrivals[-1]
        for i in self.receive_order.tolist():
            if message := _of(self.receive, i):
                start = max(bus, ends[i])
                bus = _settled(start + message, self.makespan)
                steps.append(Step(i, "transfer", start, bus, "back"))
        return steps


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MaxTasks(_TaskPlan):
    """The most tasks that workers can do in a given time.

    Attributes
    ----------
    counts : (p,) int64 array
        Tasks of each worker.
    tasks : int
        Sum of the counts, which is maximised: there is no lower_bound, but an `upper_bound`.
    T : float
        The given time. In a plan that `on` has made for slower workers: the time that it takes, if
        that is longer.
    makespan : float
        When the last worker ends.
    send_order, receive_order : (q,) int64 arrays
        The workers that get tasks, in the order of the messages to them, and back from them.
    send, receive : float, or (p,) float64 array
        Time of a message: one number, or one for each worker.
    cycle_times : (p,) float64 array
    """

    T: float

    _value: ClassVar[str] = "tasks"
    _table: ClassVar = {"T": schema.Real()}
    sense: ClassVar[str] = "max"

    def _on(self, platform: Platform) -> Plan:
        p = len(self.counts)
        out, back = check.each("send", self.send, p), check.each("receive", self.receive, p)
        end = engine.task_end(
            platform.cycle_times, out, back, self.send_order, self.receive_order, self.counts
        )
        bound = max(self.T, end)
        if bound == math.inf:
            raise ValueError("platform: the makespan overflows: give cycle-times in a larger unit")
        most = max_tasks(bound, platform, self.send, self.receive).upper_bound
        return self._carried(platform, self.tasks, most, T=bound, makespan=self._last(platform))

    @property
    def value(self) -> int:
        return self.tasks

    @property
    def upper_bound(self) -> int:
        """No plan does more tasks."""
        return int(self.bound)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MinTime(_TaskPlan):
    """The least time for a number of tasks.

    Attributes
    ----------
    counts : (p,) int64 array
        Tasks of each worker.
    tasks : int
        Sum of the counts: the number asked for.
    makespan : float
        The least double in which they can be done: the exact optimum, rounded up.
    send_order, receive_order : (q,) int64 arrays
        The workers that get tasks, in the order of the messages to them, and back from them.
    send, receive : float, or (p,) float64 array
        Time of a message: one number, or one for each worker.
    cycle_times : (p,) float64 array
    """

    def _on(self, platform: Platform) -> Plan:
        return self._carried(
            platform,
            self._last(platform),
            min_time(self.tasks, platform, self.send, self.receive).bound,
        )


def _per_task(given: Platform | ArrayLike | None, what: str) -> Platform | ArrayLike | None:
    """The platform in seconds per task and per message; numbers are returned as they are."""
    return given.per(Unit("task", "message"), what) if isinstance(given, Platform) else given


@overload
def max_tasks(
    T: float,
    cycle_times: Platform | check.Vector | None = None,
    send: float | ArrayLike = 0.0,
    receive: float | ArrayLike = 0.0,
    method: str = "best",
    *,
    speeds: check.Vector | None = None,
    progress: bool | Progress | None = None,
) -> MaxTasks: ...
@overload
def max_tasks(
    T: float,
    cycle_times: Platform | ArrayLike | None = None,
    send: float | ArrayLike = 0.0,
    receive: float | ArrayLike = 0.0,
    method: str = "best",
    *,
    speeds: ArrayLike | None = None,
    progress: bool | Progress | None = None,
) -> MaxTasks | PlanStack: ...
def max_tasks(
    T: float,
    cycle_times: Platform | ArrayLike | None = None,
    send: float | ArrayLike = 0.0,
    receive: float | ArrayLike = 0.0,
    method: str = "best",
    *,
    speeds: ArrayLike | None = None,
    progress: bool | Progress | None = None,
) -> MaxTasks | PlanStack:
    """Do as many equal tasks as possible in time T, on workers that the master reaches one at a
    time.

    Parameters
    ----------
    T : float
        Time, > 0.
    cycle_times : Platform or (p,) or (..., p) array_like
        Time per task of each worker, > 0, at least T / 2**53. A worker with an infinite one does
        nothing. An array with more than one axis is a stack: one plan for each set of workers,
        computed on all cores.
    send, receive : float or (p,) array_like
        Time of the message that a worker needs before its first task, and of the message that it
        sends back after its last; >= 0. One number for all workers, or one for each. The bus
        carries one message at a time. A worker without tasks needs no message. For a stack, any
        shape that broadcasts against its cycle-times.
    method : {"best", "paper", "fastest"}
        "paper": two matchings, with half of the time each; for equal messages. "fastest" sends to
        the fastest workers first.
    speeds : (p,) or (..., p) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    progress : bool or callable, optional
        For a stack: True shows a bar; a function is called with the fraction done.

    Returns
    -------
    MaxTasks
        "best" is optimal for equal messages in one direction, and in both for up to 12 workers. If
        messages differ between workers, it is optimal for up to 18 workers with messages in one
        direction and 8 in both. Otherwise the certificate says how far `upper_bound` is. For a
        stack: a PlanStack with tasks, bound and optimal (...), and counts (..., p).

    Notes
    -----
    Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 4.

    Equal messages in one direction: a matching of workers and slots is optimal. If every
    t_i >= (p - 1) send, a late slot costs a worker at most one task, and earliest deadline first is
    an optimal matching in O(p log p). Both directions: dynamic programming over pairs of sets of
    slots; for more workers the paper's matchings, improved in turn, and prices on the slots, which
    give the bound.

    Different messages: dynamic programming over sets of workers, inside a branch and bound over the
    order of the answers; for more workers local search.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.max_tasks(28, cycle_times=[5, 9], send=1)
    >>> plan.tasks, plan.counts.tolist(), plan.send_order.tolist()
    (8, [5, 3], [1, 0])
    >>> hs.max_tasks(28, cycle_times=[5, 9], send=1, method="fastest").tasks
    7
    >>> hs.max_tasks(28, cycle_times=[5, 9], send=[3, 1], receive=[1, 2]).counts.tolist()
    [4, 2]
    """
    check.amount_first("max_tasks", "T", T, cycle_times)
    if any(map(check.is_stack, (cycle_times, speeds))):
        return _max_stack(T, cycle_times, send, receive, method, speeds, progress)
    if progress is not None and progress is not False:
        raise ValueError("progress is for stacks of cycle_times")
    cycle_times = _per_task(cycle_times, "cycle_times: max_tasks")
    times = check.cycle_times(cycle_times, speeds)
    bound, p = check.number("T", T, above=0.0), len(times)
    out, back = check.each("send", send, p), check.each("receive", receive, p)
    _require_method(check.choice("method", method, _METHODS), out, back)
    _require_countable(bound, times)
    found = engine.max_tasks(bound, times, out, back, method)
    optimal = found.tasks == found.bound
    return trusted(
        MaxTasks,
        method=found.method,
        asked=method,
        optimal=optimal,
        scope="all allocations" if optimal else "",
        tasks=found.tasks,
        bound=found.bound,
        T=bound,
        makespan=found.makespan,
        **_parts(found, times, out, back),
        **whose(cycle_times, p),
    )


def _max_stack(
    T: float,
    cycle_times: Any,
    send: Any,
    receive: Any,
    method: str,
    speeds: Any,
    progress: bool | Progress | None,
) -> PlanStack:
    """One plan for each row of the stack."""
    times = check.cycle_times(cycle_times, speeds, stacked=True)
    p = times.shape[-1]
    name, given = ("cycle_times", cycle_times) if speeds is None else ("speeds", speeds)
    stacked = {name: np.array(given, np.float64).reshape(-1, p)}
    bound = check.number("T", T, above=0.0)
    common: dict[str, Any] = {"T": bound, "method": check.choice("method", method, _METHODS)}
    messages: dict[str, NDArray[np.float64]] = {}
    for message, value in (("send", send), ("receive", receive)):
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0):
            stacked[message] = check.each_of(message, value, times.shape).reshape(-1, p)
            messages[message] = np.ascontiguousarray(stacked[message])
        else:
            common[message] = check.number(message, value, low=0.0)
            messages[message] = np.full(p, common[message])
    rows = np.ascontiguousarray(times.reshape(-1, p))
    out, back = messages["send"], messages["receive"]
    _require_method(method, out, back, what=_OF_STACK)
    _require_countable(bound, rows, what=_OF_STACK)
    with reporting(progress) as tell:
        threads = threads_for(rows.size <= _BRIEF, tell)
        tasks, bounds, counts = engine.max_tasks_rows(bound, rows, out, back, method, threads, tell)
    results = {"tasks": tasks, "bound": bounds, "optimal": tasks == bounds, "counts": counts}
    return stack_of(times.shape[:-1], method, "tasks", results, max_tasks, stacked, common)


def min_time(
    tasks: int,
    cycle_times: Platform | ArrayLike | None = None,
    send: float | ArrayLike = 0.0,
    receive: float | ArrayLike = 0.0,
    *,
    speeds: ArrayLike | None = None,
) -> MinTime:
    """Do a number of equal tasks as early as possible, on workers that the master reaches one at a
    time.

    Parameters
    ----------
    tasks : int
        Number of tasks, 0 <= tasks <= 2**53.
    cycle_times, send, receive, speeds
        See `max_tasks`.

    Returns
    -------
    MinTime
        Optimal if `max_tasks` is.

    Notes
    -----
    Bisection over the doubles, with `max_tasks` (Beaumont et al. 2001, section 4.1): the makespan
    is the least double that suffices. If `max_tasks` is exact, that is the optimum, rounded up. The
    lower bound is the longest time that its upper bound on the tasks rules out.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.min_time(8, cycle_times=[5, 9], send=1)
    >>> plan.makespan, plan.counts.tolist(), plan.optimal
    (28.0, [5, 3], True)
    """
    check.amount_first("min_time", "tasks", tasks, cycle_times)
    cycle_times = _per_task(cycle_times, "cycle_times: min_time")
    times = check.cycle_times(cycle_times, speeds)
    wanted, p = check.integer("tasks", tasks, low=0), len(times)
    out, back = check.each("send", send, p), check.each("receive", receive, p)
    try:
        found, certificate = engine.min_time(wanted, times, out, back)
    except ValueError:
        raise ValueError(_out_of_range(wanted, times, out, back)) from None
    return trusted(
        MinTime,
        method=found.method,
        asked="best",
        tasks=wanted,
        **certificate,
        **_parts(found, times, out, back),
        **whose(cycle_times, p),
    )


def _out_of_range(
    wanted: int,
    times: NDArray[np.float64],
    send: NDArray[np.float64],
    receive: NDArray[np.float64],
) -> str:
    """Why no makespan is in the range of the engine."""
    least = distribute(wanted, times).makespan
    with np.errstate(over="ignore"):
        if not math.isfinite(least + float(send.sum() + receive.sum())):
            return "the makespan overflows: give times in a larger unit"
    if least / float(times.min()) > 2**52:
        return f"tasks must take less than 2**52 times the least cycle-time, got {wanted!r}"
    return (
        "send and receive are too long for cycle_times: the makespan is over 2**53 times the"
        " least cycle-time"
    )


_OF_STACK = "platform {} of the stack: "


def _require_method(
    method: str, send: NDArray[np.float64], receive: NDArray[np.float64], what: str = ""
) -> None:
    """Raise ValueError if the method is for equal messages only, and a row has others."""
    if method == "paper":
        uneven = [(messages != messages[..., :1]).any(-1) for messages in (send, receive)]
        if (bad := uneven[0] | uneven[1]).any():
            raise ValueError(
                what.format(np.argmax(bad))
                + "method 'paper' is for equal messages: give send and receive as one number each"
            )


def _require_countable(bound: float, times: NDArray[np.float64], what: str = "") -> None:
    """Raise ValueError if a worker, or all workers of a row, have too many tasks to be counted."""
    with np.errstate(over="ignore"):
        most = bound / times
    if (bad := most.max(-1) > 2**53).any():
        raise ValueError(
            what.format(np.argmax(bad))
            + f"T must be at most 2**53 times the least cycle-time, got {bound:g}"
        )
    if (bad := most.sum(-1) >= 2**62).any():
        raise ValueError(
            what.format(np.argmax(bad)) + f"T allows more than 2**62 tasks, got {bound:g}"
        )


def _parts(
    found: engine.Tasks,
    times: NDArray[np.float64],
    send: NDArray[np.float64],
    receive: NDArray[np.float64],
) -> dict[str, Any]:
    """The fields that both plans have."""
    return {
        "counts": check.frozen(found.counts),
        "send_order": check.frozen(found.send_order),
        "receive_order": check.frozen(found.receive_order),
        "send": _one_if_equal(send),
        "receive": _one_if_equal(receive),
        "cycle_times": check.frozen(times),
    }


def _one_if_equal(values: NDArray[np.float64]) -> float | NDArray[np.float64]:
    return float(values[0]) if (values == values[0]).all() else check.frozen(values)


def _of(message: float | NDArray[np.float64], i: int) -> float:
    return float(message[i]) if isinstance(message, np.ndarray) else message


def _arrivals(
    message: float | NDArray[np.float64], order: NDArray[np.int64]
) -> NDArray[np.float64]:
    """When messages that go out in this order end, one after the other from time 0."""
    if isinstance(message, np.ndarray):
        return np.cumsum(message[order], dtype=np.float64)
    return np.arange(1.0, len(order) + 1) * message


def _settled(end: float, makespan: float) -> float:
    """The end of a step, or the makespan if both are equal up to rounding."""
    return makespan if abs(end - makespan) <= 1e-14 * makespan else end
