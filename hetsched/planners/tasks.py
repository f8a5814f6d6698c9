"""Tasks that a master hands to workers over one bus.

A plan gives the most tasks in a given time, or the least time for a given number of tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.progress import Progress, reporting
from ..plan import Finish, Plan, Step
from ..platform import Platform, Unit, whose
from .distribute import distribute
from .stacked import PlanStack, one_by_one, stack_of
from .task_orders import Found, Message, exact_links, nothing, solve, total, upper_bound

_METHODS = ("best", "paper", "fastest")


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
        bound = max(self.T, _enough(self, platform.cycle_times.tolist()))
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
    bound = check.number("T", T, above=0.0)
    out, back = _message("send", send, len(times)), _message("receive", receive, len(times))
    check.choice("method", method, _METHODS)
    if method == "paper" and (isinstance(out, np.ndarray) or isinstance(back, np.ndarray)):
        raise ValueError(
            "method 'paper' is for equal messages: give send and receive as one number each"
        )
    if bound / float(times.min()) > 2**53:
        raise ValueError(f"T must be at most 2**53 times the least cycle-time, got {bound:g}")
    found = solve(bound, times, out, back, method)
    tasks = found.tasks
    optimal = tasks == found.bound
    return MaxTasks(
        method=found.method,
        asked=method,
        optimal=optimal,
        scope="all allocations" if optimal else "",
        tasks=tasks,
        bound=found.bound,
        T=bound,
        **_parts(found, times, out, back, None, bound),
        **whose(cycle_times, len(times)),
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
    common: dict[str, Any] = {
        "T": check.number("T", T, above=0.0),
        "method": check.choice("method", method, _METHODS),
    }
    for message, value in (("send", send), ("receive", receive)):
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0):
            stacked[message] = check.each_of(message, value, times.shape).reshape(-1, p)
        else:
            common[message] = check.number(message, value, low=0.0)
    names: dict[str, tuple[Any, ...]] = {
        "tasks": (np.int64,),
        "bound": (np.int64,),
        "optimal": (np.bool_,),
        "counts": (np.int64, p),
    }
    with reporting(progress) as tell:
        results = one_by_one(max_tasks, names, stacked, common, tell)
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
    wanted = check.integer("tasks", tasks, low=0)
    least, p = float(distribute(wanted, times).makespan), len(times)
    out, back = _message("send", send, p), _message("receive", receive, p)
    messages = total(out, p) + total(back, p)
    if not math.isfinite(least + messages):
        raise ValueError("the makespan overflows: give times in a larger unit")
    if wanted and least / float(times.min()) > 2**52:
        raise ValueError(
            f"tasks must take less than 2**52 times the least cycle-time, got {tasks!r}"
        )
    with np.errstate(over="ignore"):  # all tasks on one worker
        alone = float(
            (
                np.broadcast_to(out, p)
                + np.broadcast_to(back, p)
                + (wanted * times if wanted else 0.0)
            ).min()
        )
    low, high = least * (1 - 1e-15), min((least + messages) * (1 + 1e-14), alone * (1 + 1e-14))
    if wanted and high / float(times.min()) > 2**53:
        raise ValueError(
            "send and receive are too long for cycle_times: the makespan is over 2**53 times the"
            " least cycle-time"
        )
    makespan = bound = 0.0
    found = nothing(p)
    if wanted:
        bound = makespan = low  # if each T is decided anyway, a cheap bound is enough
        if not exact_links(times, out, back):
            bound = makespan = _first_double(
                low, high, lambda T: upper_bound(T, times, out, back) >= wanted
            )
        if isinstance(out, np.ndarray) or isinstance(back, np.ndarray) or (out and back):
            too_short = [0.0]

            def enough(T: float) -> bool:
                found = solve(T, times, out, back, "best", wanted)
                if found.bound < wanted:
                    too_short.append(T)
                return found.tasks >= wanted

            makespan = _first_double(bound, high, enough)
            bound = max(bound, math.nextafter(max(too_short), math.inf))
            if bound < makespan:
                bound = _first_double(
                    bound,
                    makespan,
                    lambda T: solve(T, times, out, back, "best", wanted).bound >= wanted,
                )
        found = solve(makespan, times, out, back, "best", wanted)
    counts = _trimmed(found, times, out, wanted)
    parts = _parts(found, times, out, back, counts, makespan)
    bound = min(bound, parts["makespan"])
    optimal = parts["makespan"] == bound
    return MinTime(
        method=found.method,
        asked="best",
        bound=bound,
        optimal=optimal,
        scope="all allocations" if optimal else "",
        tasks=wanted,
        **parts,
        **whose(cycle_times, p),
    )


def _message(name: str, given: float | ArrayLike, p: int) -> Message:
    """One time, or an array of p times if the workers' times are not all equal."""
    values = check.each(name, given, p, "worker")
    return float(values[0]) if (values == values[0]).all() else check.frozen(values)


def _of(message: Message, i: int) -> float:
    return float(message[i]) if isinstance(message, np.ndarray) else message


def _enough(plan: _TaskPlan, times: list[float]) -> float:
    """The least double in which workers with these times finish a plan, computed in fractions."""
    bus, ends = Fraction(0), {}
    for i in plan.send_order.tolist():
        bus += Fraction(_of(plan.send, i))
        ends[i] = bus + int(plan.counts[i]) * Fraction(times[i])
    for i in plan.receive_order.tolist():
        if message := Fraction(_of(plan.receive, i)):
            ends[i] = bus = max(bus, ends[i]) + message
    last = max(ends.values(), default=Fraction(0))
    found = float(last)
    return math.nextafter(found, math.inf) if Fraction(found) < last else found


def _arrivals(message: Message, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """When messages that go out in this order end, one after the other from time 0."""
    if isinstance(message, np.ndarray):
        return np.cumsum(message[order], dtype=np.float64)
    return np.arange(1.0, len(order) + 1) * message


def _settled(end: float, makespan: float) -> float:
    """The end of a step, or the makespan if both are equal up to rounding."""
    return makespan if abs(end - makespan) <= 1e-14 * makespan else end


def _parts(
    found: Found,
    times: NDArray[np.float64],
    send: Message,
    receive: Message,
    counts: NDArray[np.int64] | None,
    makespan: float,
) -> dict[str, Any]:
    """The fields that follow from the slots.

    The makespan is when the steps end; up to rounding, it is no later than the given one.
    """
    own = found.counts if counts is None else counts
    order = np.argsort(found.send_slots, kind="stable")
    back = np.argsort(-found.receive_slots, kind="stable")
    served, returning = order[own[order] > 0], back[own[back] > 0]
    arrivals = _arrivals(send, served)
    ends = arrivals + own[served] * times[served]
    last = float(ends.max(initial=0.0))
    if np.any(receive) and len(served):
        bus, end = float(arrivals[-1]), dict(zip(served.tolist(), ends.tolist(), strict=True))
        for i in returning.tolist():
            if _of(receive, i):
                bus = max(bus, end[i]) + _of(receive, i)
        last = max(last, bus)
    return {
        "counts": check.frozen(own),
        "makespan": _settled(last, makespan),
        "send_order": check.frozen(served),
        "receive_order": check.frozen(returning if np.any(receive) else returning[:0]),
        "send": send,
        "receive": receive,
        "cycle_times": check.frozen(times),
    }


def _trimmed(
    found: Found, times: NDArray[np.float64], send: Message, wanted: int
) -> NDArray[np.int64]:
    """The counts without the tasks that are too many: the workers that end last lose one each."""
    counts = found.counts.copy()
    while (excess := int(counts.sum()) - wanted) > 0:
        order = np.argsort(found.send_slots, kind="stable")
        order = order[counts[order] > 0]
        ends = np.full(len(counts), -1.0)
        ends[order] = _arrivals(send, order) + counts[order] * times[order]
        last = np.argsort(-ends, kind="stable")[: min(excess, len(order))]
        counts[last] -= 1
    return counts


def _first_double(low: float, high: float, enough: Callable[[float], bool]) -> float:
    """The least double of [low, high] that is enough; high (or a little more) is enough."""
    first, last = (int(np.float64(x).view(np.int64)) for x in (max(low, 5e-324), max(high, 5e-324)))
    while first < last:
        middle = (first + last) // 2
        if enough(float(np.int64(middle).view(np.float64))):
            last = middle
        else:
            first = middle + 1
    return float(np.int64(last).view(np.float64))
