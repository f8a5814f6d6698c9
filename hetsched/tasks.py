"""Tasks that a master hands to slaves over one bus: how many in a given time, how long for a given number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check, _engine
from .allocate import distribute
from .plan import Plan, Step, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .platform import Platform

_METHODS = ("best", "paper", "fastest")
_SPLITS = (0.5, 0.25, 0.75, 0.0, 1.0)  # of the time, between the two matchings that the alternation starts from


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _TaskPlan(Plan):
    counts: NDArray[np.int64]
    tasks: int
    makespan: float
    send_order: NDArray[np.int64]
    receive_order: NDArray[np.int64]
    send: float
    receive: float
    cycle_times: NDArray[np.float64]
    names: tuple[str, ...]

    @property
    def worker_names(self) -> tuple[str, ...]:
        return self.names

    def steps(self) -> list[Step]:
        """Messages one after the other: out from the start, back as soon as the worker and the bus are ready."""
        steps: list[Step] = []
        ends: dict[int, float] = {}
        messages = self.send_order.tolist()
        for slot, i in enumerate(messages):
            start = (slot + 1) * self.send
            if self.send:
                steps.append(Step(i, "transfer", slot * self.send, start, "out"))
            count = int(self.counts[i])
            ends[i] = _settled(start + count * float(self.cycle_times[i]), self.makespan)
            steps.append(Step(i, "compute", start, ends[i], f"{count} tasks"))
        if self.receive:
            bus = len(messages) * self.send
            for i in self.receive_order.tolist():
                start = max(bus, ends[i])
                bus = _settled(start + self.receive, self.makespan)
                steps.append(Step(i, "transfer", start, bus, "back"))
        return steps

    def plot(self, ax: Axes | None = None) -> Axes:
        from .simulate import simulate

        return simulate(self).plot(ax)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MaxTasks(_TaskPlan):
    """The tasks that slaves can do in a given time.

    Attributes
    ----------
    counts : (p,) int64 array
        Tasks of each slave.
    tasks : int
        Their sum, which is maximised: `lower_bound` says the same, `upper_bound` that there is no way to do more.
    upper_bound : int
    T : float
        The time that there is.
    makespan : float
        When the last one ends.
    send_order, receive_order : (q,) int64 arrays
        The slaves that get tasks, in the order of the messages to them, and back from them.
    send, receive : float
        Time of a message.
    cycle_times : (p,) float64 array
    names : tuple of str
    """

    upper_bound: int
    T: float

    _value: ClassVar[str] = "tasks"

    @property
    def gap(self) -> float:
        """(upper_bound - tasks) / upper_bound; 0.0 is a proof of optimality."""
        return (self.upper_bound - self.tasks) / self.upper_bound if self.upper_bound else 0.0

    def certificate(self) -> str:
        proof = "optimal" if self.optimal else f"optimal among {self.scope}" if self.scope else "not proven optimal"
        return f"tasks {self.tasks}, upper bound {self.upper_bound}, gap {self.gap:.2%}, {proof} ({self.method})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MinTime(_TaskPlan):
    """The least time for a number of tasks.

    Attributes
    ----------
    counts : (p,) int64 array
        Tasks of each slave.
    tasks : int
        Their sum, as asked for.
    makespan : float
        The least double in which they can be done, so the exact optimum, rounded up.
    send_order, receive_order : (q,) int64 arrays
        The slaves that get tasks, in the order of the messages to them, and back from them.
    send, receive : float
        Time of a message.
    cycle_times : (p,) float64 array
    names : tuple of str
    """

    _value: ClassVar[str] = "makespan"


class _Found(NamedTuple):
    """Tasks and slots (1, 2, ...; those of slaves without tasks mean nothing)."""

    method: str
    counts: NDArray[np.int64]
    send_slots: NDArray[np.int32]
    receive_slots: NDArray[np.int32]
    bound: int  # on the tasks


def max_tasks(
    T: float, cycle_times: Platform | ArrayLike, send: float = 0.0, receive: float = 0.0, method: str = "best"
) -> MaxTasks:
    """Do as many equal tasks as possible in time T, on slaves that the master reaches one at a time.

    Parameters
    ----------
    T : float
        Time, > 0.
    cycle_times : Platform or (p,) array_like
        Time per task of each slave, > 0, at least T / 2**53; an infinite one does nothing.
    send, receive : float
        Time of the message that a slave needs before its first task, and of the one it sends back after the last; >= 0. The
        bus carries one message at a time. A slave without tasks needs none.
    method : {"best", "paper", "fastest"}
        With messages back: "paper" is its two matchings, "best" improves several such by turns. Without, both are the optimum.
        "fastest" sends to the fastest slaves first.

    Returns
    -------
    MaxTasks
        Optimal where receive is 0, but for "fastest".

    Notes
    -----
    Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 4. Without messages back a matching of slaves and slots is
    optimal; where every t_i >= (p - 1) send, a slave loses at most one task by a late slot, and the earliest deadline first is
    an optimal matching in O(p log p).

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.max_tasks(28, [5, 9], send=1)
    >>> plan.tasks, plan.counts.tolist(), plan.send_order.tolist()
    (8, [5, 3], [1, 0])
    >>> hs.max_tasks(28, [5, 9], send=1, method="fastest").tasks
    7
    """
    times = _check.cycle_times(cycle_times, None)
    bound = _check.number("T", T, above=0.0)
    send, receive = _check.number("send", send, low=0.0), _check.number("receive", receive, low=0.0)
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    if bound / float(times.min()) > 2**53:
        raise ValueError(f"T must be at most 2**53 times the least cycle-time, got {bound:g}")
    found = _solve(bound, times, send, receive, method)
    tasks = int(found.counts.sum())
    optimal = tasks == found.bound
    return MaxTasks(
        method=found.method,
        lower_bound=float(tasks),
        optimal=optimal,
        scope="all allocations" if optimal else "",
        tasks=tasks,
        upper_bound=found.bound,
        T=bound,
        **_parts(found, times, send, receive, None, bound),
        names=names_of(cycle_times, len(times)),
    )


def min_time(tasks: int, cycle_times: Platform | ArrayLike, send: float = 0.0, receive: float = 0.0) -> MinTime:
    """Do a number of equal tasks as early as possible, on slaves that the master reaches one at a time.

    Parameters
    ----------
    tasks : int
        0 <= tasks <= 2**53.
    cycle_times, send, receive
        As for `max_tasks`.

    Returns
    -------
    MinTime
        Optimal where receive is 0.

    Notes
    -----
    Bisection over the doubles, with `max_tasks` (Beaumont et al. 2001, section 4.1): the makespan is the least double that
    suffices. Without messages back that is the optimum {j send + k t_i}, rounded up; with them the lower bound is found in the
    same way from the upper bound on the tasks.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.min_time(8, [5, 9], send=1)
    >>> plan.makespan, plan.counts.tolist(), plan.optimal
    (28.0, [5, 3], True)
    """
    times = _check.cycle_times(cycle_times, None)
    wanted = _check.integer("tasks", tasks, low=0)
    send, receive = _check.number("send", send, low=0.0), _check.number("receive", receive, low=0.0)
    least, p = float(distribute(wanted, times).makespan), len(times)
    if not math.isfinite(least + p * (send + receive)):
        raise ValueError("the makespan overflows: give times in a larger unit")
    if wanted and least / float(times.min()) > 2**52:
        raise ValueError(f"tasks must take less than 2**52 times the least cycle-time, got {tasks!r}")
    low, high = least * (1 - 1e-15), (least + p * (send + receive)) * (1 + 1e-15)
    makespan = bound = 0.0
    found = _Found("floor", np.zeros(p, np.int64), np.ones(p, np.int32), np.ones(p, np.int32), 0)
    if wanted:
        bound = makespan = _first_double(low, high, lambda T: _bound(T, times, send, receive) >= wanted)
        if receive:
            makespan = _first_double(bound, high, lambda T: int(_solve(T, times, send, receive, "best").counts.sum()) >= wanted)
        found = _solve(makespan, times, send, receive, "best")
    counts = _trimmed(found, times, send, wanted)
    parts = _parts(found, times, send, receive, counts, makespan)
    bound = min(bound, parts["makespan"])
    optimal = parts["makespan"] == bound
    return MinTime(
        method=found.method,
        lower_bound=bound,
        optimal=optimal,
        scope="all allocations" if optimal else "",
        tasks=wanted,
        **parts,
        names=names_of(cycle_times, p),
    )


def _settled(end: float, makespan: float) -> float:
    """The end of a step; the makespan, if it is that up to rounding."""
    return makespan if abs(end - makespan) <= 1e-14 * makespan else end


def _parts(
    found: _Found, times: NDArray[np.float64], send: float, receive: float, counts: NDArray[np.int64] | None, makespan: float
) -> dict[str, Any]:
    """The fields that follow from the slots; the makespan is when the steps end, but for rounding no later than the one given."""
    own = found.counts if counts is None else counts
    order = np.argsort(found.send_slots, kind="stable")
    back = np.argsort(-found.receive_slots, kind="stable")
    served, returning = order[own[order] > 0], back[own[back] > 0]
    ends = (np.arange(len(served)) + 1) * send + own[served] * times[served]
    bus = float(ends.max(initial=0.0))
    if receive and len(served):
        bus, end = len(served) * send, dict(zip(served.tolist(), ends.tolist(), strict=True))
        for i in returning.tolist():
            bus = max(bus, end[i]) + receive
    makespan = _settled(bus, makespan)
    return {
        "counts": _check.frozen(own),
        "makespan": makespan,
        "send_order": _check.frozen(served),
        "receive_order": _check.frozen(returning if receive else returning[:0]),
        "send": send,
        "receive": receive,
        "cycle_times": _check.frozen(times),
    }


def _trimmed(found: _Found, times: NDArray[np.float64], send: float, wanted: int) -> NDArray[np.int64]:
    """The counts with a task less for the last to end, as many as there are too many."""
    counts = found.counts.copy()
    while (excess := int(counts.sum()) - wanted) > 0:
        ends = np.where(counts > 0, found.send_slots * send + counts * times, -1.0)
        last = np.argsort(-ends, kind="stable")[: min(excess, int((counts > 0).sum()))]
        counts[last] -= 1
    return counts


def _first_double(low: float, high: float, enough: Callable[[float], bool]) -> float:
    """The least double of [low, high] that is enough; high is (or a little more)."""
    first, last = (int(np.float64(x).view(np.int64)) for x in (max(low, 5e-324), max(high, 5e-324)))
    while first < last:
        middle = (first + last) // 2
        if enough(float(np.int64(middle).view(np.float64))):
            last = middle
        else:
            first = middle + 1
    return float(np.int64(last).view(np.float64))


def _solve(bound: float, times: NDArray[np.float64], send: float, receive: float, method: str) -> _Found:
    p = len(times)
    finite = np.flatnonzero(np.isfinite(times))
    if len(finite) < p:
        inner = _solve(bound, np.ascontiguousarray(times[finite]), send, receive, method)
        counts, sends, receives = np.zeros(p, np.int64), np.full(p, p, np.int32), np.full(p, p, np.int32)
        counts[finite], sends[finite], receives[finite] = inner.counts, inner.send_slots, inner.receive_slots
        return _Found(inner.method, counts, sends, receives, inner.bound)
    slots = _slots(bound, send, receive, p)
    if slots == 0:
        return _Found("floor", np.zeros(p, np.int64), np.ones(p, np.int32), np.ones(p, np.int32), 0)
    if method == "fastest":
        order = np.empty(p, np.int32)
        order[np.argsort(times, kind="stable")] = np.arange(1, p + 1)
        return _evaluated("fastest", bound, times, send, receive, slots, order, order)
    if not receive:
        return _without_return(bound, times, send, slots)
    return _with_return(bound, times, send, receive, slots, method)


def _slots(bound: float, send: float, receive: float, p: int) -> int:
    """How many slaves the bus can serve."""
    if send > bound or receive > bound:
        return 0
    message = Fraction(send) + Fraction(receive)
    return min(p, int(Fraction(bound) // message)) if message else p


def _without_return(bound: float, times: NDArray[np.float64], send: float, slots: int) -> _Found:
    p = len(times)
    ones = np.ones(p, np.int32)
    most = np.maximum(_engine.task_counts(bound, times, send, 0.0, 1, None)[:, 0], 0)
    if not send:
        return _Found("floor", most, ones, ones, int(most.sum()))
    if Fraction(float(times.min())) >= (p - 1) * Fraction(send):
        sends = _earliest_deadline_first(np.where(most > 0, _engine.task_deadlines(bound, times, send, p, most), p), most)
        counts = np.where(sends > 0, most, np.maximum(most - 1, 0))
        late = np.flatnonzero(sends == 0)
        sends[late] = sends.max(initial=0) + 1 + np.arange(len(late))
        return _Found("deadlines", counts, sends, ones, int(counts.sum()))
    weights = np.maximum(_engine.task_counts(bound, times, send, 0.0, slots, None), 0)
    chosen = _match(weights)
    counts = np.where(chosen >= 0, weights[np.arange(p), chosen], 0)
    return _Found("matching", counts, np.where(chosen >= 0, chosen + 1, p).astype(np.int32), ones, int(counts.sum()))


def _earliest_deadline_first(deadlines: NDArray[np.int32], most: NDArray[np.int64]) -> NDArray[np.int32]:
    """Slots 1, 2, ... of as many slaves as possible, none after its deadline; 0 for the others and those without tasks.

    Of the slaves with deadlines up to d, min over e <= d of (e + those with deadlines in e + 1 .. d) are in time.
    """
    busy = np.flatnonzero(most > 0)
    order = busy[np.argsort(deadlines[busy], kind="stable")]
    sends = np.zeros(len(deadlines), np.int32)
    ranks, due = np.arange(1, len(order) + 1), deadlines[order]
    slack = np.minimum.accumulate(np.minimum(due - ranks, 0))  # minus those late so far
    before = np.concatenate(([0], slack[:-1])) if len(order) else slack
    taken = slack == before
    sends[order[taken]] = np.arange(1, int(taken.sum()) + 1)
    return sends


def _evaluated(
    name: str, bound: float, times: NDArray[np.float64], send: float, receive: float, slots: int,
    sends: NDArray[np.int32], receives: NDArray[np.int32],
) -> _Found:  # fmt: skip
    """The tasks that given slots allow; none for a slave beyond the slots that the bus has."""
    weights = _masked(bound, times, send, receive, slots, receives if receive else None)
    counts = np.where(sends <= slots, weights[np.arange(len(times)), np.minimum(sends, slots) - 1], 0)
    return _Found(name, counts, sends, receives, _bound(bound, times, send, receive))


def _masked(
    bound: float, times: NDArray[np.float64], send: float, receive: float, slots: int, receives: NDArray[np.int32] | None
) -> NDArray[np.int64]:
    weights = np.maximum(_engine.task_counts(bound, times, send, receive, slots, receives), 0)
    if receives is not None:
        weights[receives > slots] = 0
    return weights


def _bound(bound: float, times: NDArray[np.float64], send: float, receive: float) -> int:
    """At least the most tasks: as if all messages back (or all messages out) had the best slot. Exact where receive is 0."""
    finite = np.ascontiguousarray(times[np.isfinite(times)])
    slots = _slots(bound, send, receive, len(finite))
    if slots == 0:
        return 0
    if not receive:
        return int(_without_return(bound, finite, send, slots).counts.sum())
    first = np.ones(len(finite), np.int32)
    bounds = []
    for out, back in ((send, receive), (receive, send)):
        weights = _masked(bound, finite, out, back, slots, first)
        chosen = _match(weights)
        bounds.append(int(weights[np.arange(len(finite)), chosen][chosen >= 0].sum()))
    return min(bounds)


def _match(weights: NDArray[np.int64]) -> NDArray[np.int32]:
    return _engine.assign(weights, True)[0]


def _with_return(bound: float, times: NDArray[np.float64], send: float, receive: float, slots: int, method: str) -> _Found:
    """The paper's two matchings with half of the time each; "best": several splits, then one side anew while the other stays."""
    p = len(times)
    best: _Found | None = None
    for share in _SPLITS[: 1 if method == "paper" else None]:
        slot = [
            (_match(_engine.task_counts(part, times, message, 0.0, p, None)) + 1).astype(np.int32)
            if part >= message > 0
            else np.arange(1, p + 1, dtype=np.int32)
            for part, message in ((share * bound, send), (bound - share * bound, receive))
        ]
        found = _evaluated(method, bound, times, send, receive, slots, slot[0], slot[1])
        while method == "best":
            sends = _improved(bound, times, send, receive, slots, found.receive_slots)
            receives = _improved(bound, times, receive, send, slots, sends)
            better = _evaluated(method, bound, times, send, receive, slots, sends, receives)
            if better.counts.sum() <= found.counts.sum():
                break
            found = better
        if best is None or found.counts.sum() > best.counts.sum():
            best = found
        if best.counts.sum() == best.bound:
            break
    assert best is not None
    return best


def _improved(
    bound: float, times: NDArray[np.float64], out: float, back: float, slots: int, backs: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The best slots on one side for given slots on the other; slots + 1 for a slave without one."""
    chosen = _match(_masked(bound, times, out, back, slots, backs))
    return np.where(chosen >= 0, chosen + 1, slots + 1).astype(np.int32)
