"""Orders of the messages over one bus, for `max_tasks` and `min_time`: matchings, exact searches,
bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine import assign as engine

# shares of the time for the first of the two starting matchings
_SPLITS = (0.5, 0.25, 0.75, 0.0, 1.0)
#: Most workers for which orders are proven optimal: equal links with answers; different links
#: without answers, and with them.
_AXIAL, _FORWARD, _BOTH = engine.AXIAL_MOST, engine.LINKS_SENT, engine.LINKS_BOTH
_CUBE = 128  # most workers for which weights by worker and both slots are stored
_ROUNDS = 300  # rounds of prices on the slots, three times as many up to 40 workers
_STEPS = 60  # steps of the bound with fractions
_WORK = 30_000_000  # work of the search with different links: about a second

#: One time for all workers, or one for each.
Message = float | NDArray[np.float64]
Slots = NDArray[np.int32]


class Found(NamedTuple):
    """Tasks and slots; slots count from 1, and mean nothing for workers without tasks."""

    method: str
    counts: NDArray[np.int64]
    send_slots: Slots
    receive_slots: Slots
    bound: int  # upper bound on the tasks

    @property
    def tasks(self) -> int:
        return int(self.counts.sum())


def nothing(p: int) -> Found:
    return Found("floor", np.zeros(p, np.int64), np.ones(p, np.int32), np.ones(p, np.int32), 0)


def part(message: Message, chosen: NDArray[np.int64]) -> Message:
    """The times of the chosen workers."""
    return np.ascontiguousarray(message[chosen]) if isinstance(message, np.ndarray) else message


def solve(
    bound: float,
    times: NDArray[np.float64],
    send: Message,
    receive: Message,
    method: str,
    wanted: int | None = None,
) -> Found:
    """The tasks that can be done in time `bound`.

    With `wanted`, it returns as soon as it is known whether so many tasks can be reached, if that
    can be known.
    """
    p = len(times)
    finite = np.flatnonzero(np.isfinite(times))
    if len(finite) < p:
        inner = solve(
            bound,
            np.ascontiguousarray(times[finite]),
            part(send, finite),
            part(receive, finite),
            method,
            wanted,
        )
        counts = np.zeros(p, np.int64)
        sends = np.full(p, p, np.int32)
        receives = np.full(p, p, np.int32)
        counts[finite] = inner.counts
        sends[finite] = inner.send_slots
        receives[finite] = inner.receive_slots
        return Found(inner.method, counts, sends, receives, inner.bound)
    # the same problem backwards in time
    if not np.any(send) and np.any(receive) and method == "best":
        inner = solve(bound, times, receive, 0.0, method, wanted)
        return Found(inner.method, inner.counts, inner.receive_slots, inner.send_slots, inner.bound)
    if isinstance(send, np.ndarray) or isinstance(receive, np.ndarray):
        back = None if not np.any(receive) else np.broadcast_to(receive, p).astype(np.float64)
        return _linked(
            bound, times, np.broadcast_to(send, p).astype(np.float64), back, method, wanted
        )
    slots = _slots(bound, send, receive, p)
    if slots == 0:
        return nothing(p)
    if method == "fastest":
        order = np.empty(p, np.int32)
        order[np.argsort(times, kind="stable")] = np.arange(1, p + 1)
        return _evaluated("fastest", bound, times, send, receive, slots, order, order)
    if not receive:
        return _without_return(bound, times, send, slots)
    found = _with_return(bound, times, send, receive, slots, method)
    if method == "paper" or found.tasks == found.bound or p > _CUBE or _decided(found, wanted):
        return found
    return _by_slots(found, bound, times, send, receive, slots, wanted)


def exact_links(times: NDArray[np.float64], send: Message, receive: Message) -> bool:
    """Whether the links differ and `solve` proves its orders optimal."""
    p = int(np.isfinite(times).sum())
    linked = isinstance(send, np.ndarray) or isinstance(receive, np.ndarray)
    return linked and p <= (_BOTH if np.any(send) and np.any(receive) else _FORWARD)


def upper_bound(bound: float, times: NDArray[np.float64], send: Message, receive: Message) -> int:
    """Upper bound on the number of tasks.

    It assumes that all messages back (or all messages out) have the best slot. It is exact for
    equal links with messages in one direction.
    """
    finite = np.flatnonzero(np.isfinite(times))
    times = np.ascontiguousarray(times[finite])
    send = part(send, finite)
    receive = part(receive, finite)
    if not np.any(send):
        send, receive = receive, send
    if isinstance(send, np.ndarray) or isinstance(receive, np.ndarray):
        return _linked_bound(bound, times, send, receive)
    slots = _slots(bound, send, receive, len(finite))
    if slots == 0:
        return 0
    if not receive:
        return _without_return(bound, times, send, slots).tasks
    first = np.ones(len(finite), np.int32)
    ways = ((send, receive), (receive, send))
    if len(finite) > _CUBE:
        return _linked_bound(bound, times, send, receive)
    return min(_matched(_masked(bound, times, out, back, slots, first)) for out, back in ways)


def _decided(found: Found, wanted: int | None) -> bool:
    return wanted is not None and (found.tasks >= wanted or found.bound < wanted)


# ---- equal links ----


def _slots(bound: float, send: float, receive: float, p: int) -> int:
    """Number of workers that the bus can serve."""
    if send > bound or receive > bound:
        return 0
    message = Fraction(send) + Fraction(receive)
    return min(p, int(Fraction(bound) // message)) if message else p


def _without_return(bound: float, times: NDArray[np.float64], send: float, slots: int) -> Found:
    p = len(times)
    ones = np.ones(p, np.int32)
    most = np.maximum(engine.task_counts(bound, times, send, 0.0, 1, None)[:, 0], 0)
    if not send:
        return Found("floor", most, ones, ones, int(most.sum()))
    if Fraction(float(times.min())) >= (p - 1) * Fraction(send):
        sends = _earliest_deadline_first(
            np.where(most > 0, engine.task_deadlines(bound, times, send, p, most), p), most
        )
        counts = np.where(sends > 0, most, np.maximum(most - 1, 0))
        late = np.flatnonzero(sends == 0)
        sends[late] = sends.max(initial=0) + 1 + np.arange(len(late))
        return Found("deadlines", counts, sends, ones, int(counts.sum()))
    weights = np.maximum(engine.task_counts(bound, times, send, 0.0, slots, None), 0)
    chosen = _match(weights)
    counts = np.where(chosen >= 0, weights[np.arange(p), chosen], 0)
    return Found(
        "matching",
        counts,
        np.where(chosen >= 0, chosen + 1, p).astype(np.int32),
        ones,
        int(counts.sum()),
    )


def _earliest_deadline_first(deadlines: NDArray[np.int32], most: NDArray[np.int64]) -> Slots:
    """Slots 1, 2, ... of as many workers as possible, none after its deadline.

    The slot is 0 for the other workers, and for workers without tasks. Of the workers with
    deadlines up to d, min over e <= d of (e + the number with deadlines in e + 1 .. d) are in time.
    """
    busy = np.flatnonzero(most > 0)
    order = busy[np.argsort(deadlines[busy], kind="stable")]
    sends = np.zeros(len(deadlines), np.int32)
    ranks, due = np.arange(1, len(order) + 1), deadlines[order]
    # minus the number of late workers so far
    slack = np.minimum.accumulate(np.minimum(due - ranks, 0))
    before = np.concatenate(([0], slack[:-1])) if len(order) else slack
    taken = slack == before
    sends[order[taken]] = np.arange(1, int(taken.sum()) + 1)
    return sends


def _evaluated(
    name: str,
    bound: float,
    times: NDArray[np.float64],
    send: float,
    receive: float,
    slots: int,
    sends: Slots,
    receives: Slots,
) -> Found:
    """The tasks that given slots allow; none for a worker whose slot the bus does not have."""
    weights = _masked(bound, times, send, receive, slots, receives if receive else None)
    counts = np.where(
        sends <= slots, weights[np.arange(len(times)), np.minimum(sends, slots) - 1], 0
    )
    return Found(name, counts, sends, receives, upper_bound(bound, times, send, receive))


def _masked(
    bound: float,
    times: NDArray[np.float64],
    send: float,
    receive: float,
    slots: int,
    receives: Slots | None,
) -> NDArray[np.int64]:
    weights = np.maximum(engine.task_counts(bound, times, send, receive, slots, receives), 0)
    if receives is not None:
        weights[receives > slots] = 0
    return weights


def _match(weights: NDArray[np.int64]) -> Slots:
    return engine.assign(weights, True)[0]


def _matched(weights: NDArray[np.int64]) -> int:
    """The largest total weight of workers and slots."""
    chosen = _match(weights)
    return int(weights[np.arange(len(weights)), chosen][chosen >= 0].sum())


def _with_return(
    bound: float, times: NDArray[np.float64], send: float, receive: float, slots: int, method: str
) -> Found:
    """The paper's two matchings with half of the time each.

    "best" tries several splits of the time. Then it improves one side in turn, while the other
    side stays.
    """
    p = len(times)
    best: Found | None = None
    for share in _SPLITS[: 1 if method == "paper" else None]:
        slot = []
        for time, message in ((share * bound, send), (bound - share * bound, receive)):
            places = np.arange(1, p + 1, dtype=np.int32)
            if time >= message > 0:
                counts = engine.task_counts(time, times, message, 0.0, p, None)
                places = (_match(counts) + 1).astype(np.int32)
            slot.append(places)
        found = _evaluated(method, bound, times, send, receive, slots, slot[0], slot[1])
        while method == "best":
            sends = _improved(bound, times, send, receive, slots, found.receive_slots)
            receives = _improved(bound, times, receive, send, slots, sends)
            better = _evaluated(method, bound, times, send, receive, slots, sends, receives)
            if better.tasks <= found.tasks:
                break
            found = better
        if best is None or found.tasks > best.tasks:
            best = found
        if best.tasks == best.bound:
            break
    assert best is not None
    return best


def _improved(
    bound: float, times: NDArray[np.float64], out: float, back: float, slots: int, backs: Slots
) -> Slots:
    """The best slots on one side for given slots on the other; slots + 1 means no slot."""
    chosen = _match(_masked(bound, times, out, back, slots, backs))
    return np.where(chosen >= 0, chosen + 1, slots + 1).astype(np.int32)


def _by_slots(
    found: Found,
    bound: float,
    times: NDArray[np.float64],
    send: float,
    receive: float,
    slots: int,
    wanted: int | None,
) -> Found:
    """The best tasks over all pairs of slots: exact for few workers.

    For more workers, prices on the slots give a bound.
    """
    p = len(times)
    weights = np.zeros((p, p, p), np.int64)
    for k in range(slots):
        weights[:, :slots, k] = _masked(
            bound, times, send, receive, slots, np.full(p, k + 1, np.int32)
        )
    if p > _AXIAL // 2:
        top, columns, tubes = priced(weights, found.tasks, wanted)
        counts = weights[np.arange(p), columns, tubes]
        if counts.sum() > found.tasks:
            found = Found("prices", counts, columns + 1, tubes + 1, top)
        found = found._replace(bound=min(found.bound, top))
        if p > _AXIAL or found.tasks == found.bound or _decided(found, wanted):
            return found
    columns, tubes, total = engine.assign_axial(weights)
    return Found("exact", weights[np.arange(p), columns, tubes], columns + 1, tubes + 1, total)


def priced(
    weights: NDArray[np.int64], known: int, wanted: int | None = None
) -> tuple[int, Slots, Slots]:
    """An upper bound on the axial assignment, and the best columns and tubes found.

    The bound comes from prices on the last index (Lagrangian relaxation). Every worker pays for its
    tube. What is left is a matching of workers and columns. Tubes in demand become dearer
    (subgradients). All numbers are integers of 1/scale task, so the bound is exact. From the
    columns found, the best tubes, and then the best columns for these tubes, are tried as a
    solution.
    """
    p, (rows, base) = len(weights), (np.arange(len(weights)), weights.min(axis=(1, 2)))
    # Every worker has one column and one tube, so this lowers the value of all solutions equally.
    scaled = weights - base[:, None, None]
    sure = int(base.sum())
    scale = 1 << max(0, min(16, 57 - int(p * (int(scaled.max()) + 1)).bit_length()))
    scaled *= scale
    prices, step, stalled = np.zeros(p, np.int64), 1.0, 0
    least = best = None
    columns = tubes = np.arange(p, dtype=np.int32)
    for _ in range(_ROUNDS * (3 if p <= 40 else 1)):
        profit = scaled - prices
        tube = profit.argmax(axis=2)
        top = np.take_along_axis(profit, tube[:, :, None], axis=2)[:, :, 0]
        column = _match(top)
        value = int(top[rows, column].sum() + prices.sum())
        demand = np.bincount(tube[rows, column], minlength=p) - 1
        if least is None or value < least:
            least, stalled = value, 0
        else:
            stalled += 1
        back = _match(scaled[rows, column])
        column = _match(scaled[rows, :, back])
        total = int(scaled[rows, column, back].sum())
        if best is None or total > best:
            best, columns, tubes = total, column, back
        bound = least // scale + sure
        reached = max(known, best // scale + sure)
        if bound <= reached or (wanted is not None and (bound < wanted or reached >= wanted)):
            break
        if stalled == 10:
            step, stalled = step / 2, 0
        norm = int((demand * demand).sum())
        if norm == 0 or step < 1e-3:
            break
        move = step * max(value - best, 1) / norm
        prices = prices + np.rint(move * demand).astype(np.int64)
    assert least is not None
    return least // scale + sure, columns.astype(np.int32), tubes.astype(np.int32)


# ---- different links ----


def _linked(
    bound: float,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64] | None,
    method: str,
    wanted: int | None,
) -> Found:
    p = len(times)
    proven = False
    if method == "fastest":
        out = back = _affordable(np.argsort(times, kind="stable"), bound, sends, receives)
        counts = engine.task_orders(bound, times, sends, receives, out, back)
    else:
        # min_time calls this a hundred times
        work = _WORK if wanted is None else min(_WORK // 50, 100 * p**3)
        out, back, proven = engine.task_links(bound, times, sends, receives, work)
        counts = engine.task_orders(bound, times, sends, receives, out, back)
        # try all workers, by the rule for fractional tasks
        if wanted is not None and counts.sum() < wanted and not proven:
            with np.errstate(over="ignore"):
                rule = _affordable(np.argsort(sends * times, kind="stable"), bound, sends, receives)
            others = engine.task_orders(bound, times, sends, receives, rule, rule)
            if others.sum() > counts.sum():
                out, back, counts = rule, rule, others
    slots = []
    for order in (out, back[::-1]):
        slot = np.full(p, p, np.int32)
        slot[order] = np.arange(1, len(order) + 1)
        slots.append(slot)
    tasks = int(counts.sum())
    if proven:
        return Found("exact", counts, slots[0], slots[1], tasks)
    top = upper_bound(bound, times, sends, 0.0 if receives is None else receives)
    if (
        receives is not None
        and p <= _CUBE
        and top > tasks
        and not (wanted is not None and (tasks >= wanted or top < wanted))
    ):
        positions = engine.task_positions(bound, times, sends, receives, p)
        top = min(top, priced(positions, tasks, wanted)[0])
    return Found(
        "search" if method == "best" else method, counts, slots[0], slots[1], max(top, tasks)
    )


def _affordable(
    order: NDArray[np.int64],
    bound: float,
    sends: NDArray[np.float64],
    receives: NDArray[np.float64] | None,
) -> Slots:
    """The first workers of an order, as long as their messages together fit into the bound."""
    left, chosen = Fraction(bound), []
    for i in order.tolist():
        left -= Fraction(sends[i]) + (0 if receives is None else Fraction(receives[i]))
        if left < 0:
            break
        chosen.append(i)
    return np.array(chosen, np.int32)


def _linked_bound(bound: float, times: NDArray[np.float64], send: Message, receive: Message) -> int:
    p = len(times)
    out, back = (np.broadcast_to(message, p).astype(np.float64) for message in (send, receive))
    ways = ((out, back), (back, out)) if back.any() else ((out, None),)
    first = min(_matched(engine.task_positions(bound, times, a, b, 1)[:, :, 0]) for a, b in ways)
    return min(first, _fractional_bound(bound, times, (out, back)))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _fractional_bound(
    bound: float, times: NDArray[np.float64], messages: Sequence[NDArray[np.float64]]
) -> int:
    """Upper bound on the number of tasks: workers may be served, and tasks be done, in part.

    x_i is the part of worker i. A message of length m at mean time M ends at M + m / 2. With parts,
    the workers with the least m_i t_i go first (Smith's rule). So tasks(x) = sum x_i bound / t_i -
    quadratic costs, which is concave on [0, 1]^p. Frank-Wolfe steps maximise it; the tangent of
    each step is a bound.
    """
    x, rates = np.ones(len(times)), bound / times
    orders = [
        np.argsort(message / max(message.max(), 1e-300) * times, kind="stable")
        for message in messages
    ]
    ways = [
        (order, message[order], 1.0 / times[order])
        for order, message in zip(orders, messages, strict=True)
    ]

    def costs(part: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = 0.0, np.zeros_like(part)
        for order, message, weight in ways:
            share = part[order]
            before = np.cumsum(share * message) - share * message
            after = np.cumsum((share * weight)[::-1])[::-1] - share * weight
            value += float((share * weight * (before + (share + 1) * message / 2)).sum())
            slope[order] += weight * (before + (share + 0.5) * message) + message * after
        return value, slope

    least = math.inf
    for _ in range(_STEPS):
        cost, slope = costs(x)
        value, gradient = float((x * rates).sum()) - cost, rates - slope
        target = (gradient > 0).astype(np.float64)
        rise = float((gradient * (target - x)).sum())
        if not math.isfinite(value + rise):  # a message overflows in comparison with the times
            break
        least = min(least, value + rise)
        if rise <= 1e-3:
            break
        # the curvature along the step
        ahead = costs(target)[0] - cost - float((slope * (target - x)).sum())
        x = x + (target - x) * min(1.0, rise / (2 * ahead) if ahead > 0 else 1.0)
    # more tasks are never asked for; infinite if a rate overflows
    if not least < 2**53 * len(times):
        return 2**53 * len(times)
    return math.floor(least * (1 + 1e-12 * len(times)) + 1e-9)


def total(message: Message, p: int) -> float:
    """Total time of the messages to, or from, p workers; infinite if it overflows."""
    try:
        return math.fsum(message.tolist()) if isinstance(message, np.ndarray) else p * message
    except OverflowError:
        return math.inf
