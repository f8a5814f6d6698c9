"""Items that move along a ring of workers to new owners.

When speeds have changed, the slices of a ring are divided anew. A plan says how many items cross
each edge of the ring, and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine.ring import Moves
from ..errors import InfeasibleError
from ..plan import MOST_STEPS, Plan, Step, trusted
from ..platform import Platform, whose
from .ring import links_between, matrix_of

_MOST = 2**53  # most items
_MOST_TIME = 2.0**200  # of an item

#: Volume of an item, (p, p) links and (p, p) latencies or None.
_Costs = tuple[float, NDArray[np.float64], NDArray[np.float64] | None]


class RingMessage(NamedTuple):
    """Items that one member of a ring sends to a neighbour.

    Item k is sent from start + k * period on. The period is the time of an item, or longer if the
    sender waits for each of them; the last item arrives at `end`.
    """

    sender: int
    receiver: int
    items: int
    start: float
    end: float
    period: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Redistribution(Plan):
    """How the items of a ring of workers get to their new owners.

    Attributes
    ----------
    ring : (q,) int64 array
        The members in order.
    before, after : (p,) int64 array
        Items of each worker at first and in the end; the load is `after`.
    flows : (q,) int64 array
        Items that ring[k] sends to the next member; negative if the next member sends them to
        ring[k].
    next_first : bool
        Whether messages to next members are as early as possible, and the others as late as
        possible; or the other way round.
    makespan : float
        When the last item arrives.
    volume : float
        Volume of an item.
    one_way : bool
        Whether items go to next members only.
    rotate : bool
        Whether items may pass between the last and the first member.
    links : (p, p) float64 array
        Time per unit of volume from row to column.
    latencies : (p, p) float64 array or None
        Additional time of each item from row to column; None if there is none.
    """

    ring: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    flows: NDArray[np.int64]
    next_first: bool
    makespan: float
    volume: float
    one_way: bool
    rotate: bool
    links: NDArray[np.float64]
    latencies: NDArray[np.float64] | None = None

    _scale: ClassVar[str] = "links"
    _table: ClassVar = {
        "ring": schema.Array("i8", "members", high="p - 1"),
        "before": schema.Array("i8", "p", high=_MOST),
        "after": schema.Array("i8", "p", high=_MOST),
        "flows": schema.Array("i8", "members", low=-_MOST, high=_MOST),
        "next_first": schema.Flag(),
        "makespan": schema.Real(),
        "volume": schema.Real(),
        "one_way": schema.Flag(),
        "rotate": schema.Flag(),
        "links": schema.Array("f8", "p", "p"),
        "latencies": schema.Maybe(schema.Array("f8", "p", "p", high=_MOST_TIME)),
    }

    def _check(self) -> None:
        ring = self.ring.tolist()
        if not ring or len(set(ring)) < len(ring):
            raise ValueError("ring must contain at least one worker, and no worker twice")
        for name, counts in (("before", self.before), ("after", self.after)):
            _require_members(name, counts, self.ring)
        moves = self._moves(self.links)
        try:
            makespan, _ = moves.certificate(self.flows, self.next_first)
        except ValueError:
            raise ValueError(
                "flows must lead from `before` to `after`, across the edges that one_way and rotate"
                " allow, and not all the way round the ring"
            ) from None
        schema.require_close("makespan", self.makespan, makespan)

    def _moves(self, links: NDArray[np.float64]) -> Moves:
        costs = self.volume, links, self.latencies
        return _moves(self.ring, self.before, self.after, costs, self.one_way, self.rotate)

    def _times(self, senders: Any, receivers: Any) -> NDArray[np.float64]:
        """Time of an item from each sender to its receiver."""
        return _item_times((self.volume, self.links, self.latencies), senders, receivers)

    def _on(self, platform: Platform) -> Plan:
        """The same flows in the same order; messages take as long as the links of the platform."""
        links = links_between(platform)
        makespan, bound = self._moves(links).certificate(self.flows, self.next_first)
        return self._carried(platform, makespan, bound, links=check.frozen(links))

    def _load(self) -> Any:
        """Items of each worker in the end."""
        return self.after

    @property
    def messages(self) -> list[RingMessage]:
        """The messages, sorted by their ends."""
        senders, receivers, items, starts, periods = self._moves(self.links).messages(
            self.flows, self.next_first
        )
        senders, receivers = self.ring[senders], self.ring[receivers]
        times = self._times(senders, receivers)
        ends = starts + (items - 1) * periods + times
        columns = (senders, receivers, items, starts, ends, periods)
        found = [RingMessage(*row) for row in zip(*(x.tolist() for x in columns), strict=True)]
        return sorted(found, key=lambda message: message.end)

    def steps(self) -> list[Step]:
        """The messages that each member receives; a separate one for each item that was waited for.

        ValueError for more than 3 * 10**6 entries.
        """
        steps: list[Step] = []
        for sender, receiver, items, start, end, period in self.messages:
            time = float(self._times(sender, receiver))
            if time == 0.0:
                continue
            apart = items if period > time else 1
            if len(steps) + apart > MOST_STEPS:
                raise ValueError(
                    f"the schedule has more than {MOST_STEPS} entries: messages holds all of it"
                )
            what = f"{items // apart} from {self.names[sender]}"
            if apart == 1:
                steps.append(Step(receiver, "transfer", start, end, what))
                continue
            for k in range(items):
                now = start + k * period
                steps.append(Step(receiver, "transfer", now, now + time, what))
        return steps


def redistribute(
    before: ArrayLike,
    after: ArrayLike,
    links: Platform | ArrayLike,
    *,
    ring: Sequence[int] | NDArray[np.int64] | None = None,
    volume: float = 1.0,
    one_way: bool = False,
    rotate: bool = True,
    latencies: ArrayLike | None = None,
) -> Redistribution:
    """Move the items of a ring of workers to new owners, so that the last one arrives early.

    The items are equal and lie in order around the ring, like the columns of slices. A member sends
    items to its neighbours only: its last ones to the next member, its first ones to the previous
    one. It sends at most one item at a time and at the same time receives at most one, and it may
    pass on what it has received.

    Parameters
    ----------
    before, after : (p,) array_like of int
        Items of each worker at first and in the end, with the same sum up to 2**53. Workers outside
        the ring have none.
    links : Platform or (p, p) array_like or float
        links[i][j] is the time per unit of volume from worker i to worker j, >= 0. A Platform has
        such links. A number means that all links are equal.
    ring : sequence of int, optional
        The members in order. Default: all workers.
    volume : float
        Volume of an item, >= 0, in the unit of the links.
    one_way : bool
        Whether items go to next members only.
    rotate : bool
        Whether items may pass between the last and the first member of the ring. If not, item 0
        stays at the begin of the first slice, as column 0 of `Pool.stencil` does.
    latencies : (p, p) array_like or float, optional
        Additional time of each item from row to column, >= 0: each item is a message of its own.
        Default: none.

    Returns
    -------
    Redistribution
        Optimal if one_way, if no member sends more than it has at first, and if all links are equal
        and every member has items before and after; in other cases its bound says how good it is.
        With latencies all of this holds among redistributions that send items one by one, not for
        several items in one message.

    Raises
    ------
    InfeasibleError
        If items would have to go to a previous member, although one_way is True and rotate is not.
    ValueError, TypeError
        For arguments outside their ranges: volume * links + latencies must be 0 or from 2**-200 to
        2**200.

    Notes
    -----
    Renard, Robert, Vivien (2006). The flow across one edge decides all flows. They are searched
    from those that keep the busiest member's port least busy. Messages in one direction then start
    as early as possible, those in the other direction end as late as possible. The bound is the
    time of the busiest port; for up to 64 members also the time until consecutive members can have
    received what they lack.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.redistribute([4, 4, 4, 4], [7, 3, 3, 3], links=0.5)
    >>> plan.flows.tolist(), plan.makespan, plan.optimal
    ([-2, -1, 0, 1], 1.5, True)
    """
    old, new = (
        check.integers(name, counts, low=0, high=_MOST)
        for name, counts in (("before", before), ("after", after))
    )
    if old.ndim != 1 or len(old) == 0:
        raise ValueError(f"before must have one entry for each worker, got shape {old.shape}")
    if new.shape != old.shape:
        raise ValueError(f"after must have {len(old)} entries, as before has, got {new.shape}")
    p = len(old)
    if isinstance(links, Platform) and len(links) != p:
        raise ValueError(f"links are of {len(links)} workers, before has {p} entries")
    matrix = links_between(links) if isinstance(links, Platform) else matrix_of("links", links, p)
    order = np.arange(p) if ring is None else check.integers("ring", ring, low=0, high=p - 1)
    if order.ndim != 1 or len(order) == 0 or len(set(order.tolist())) < len(order):
        raise ValueError(f"ring must be a sequence of different workers, got {order.tolist()}")
    _require_members("before", old, order)
    _require_members("after", new, order)
    items = sum(old.tolist())
    if items != sum(new.tolist()) or items > _MOST:
        raise ValueError(
            f"after must have as many items as before, up to 2**53: before has {items}, after"
            f" {sum(new.tolist())}"
        )
    size, single, turned = (
        check.number("volume", volume, low=0.0),
        check.flag("one_way", one_way),
        check.flag("rotate", rotate),
    )
    extra = None if latencies is None else matrix_of("latencies", latencies, p)
    extra = extra if extra is not None and extra.any() else None
    moves = _moves(order, old, new, (size, matrix, extra), single, turned)
    try:
        found = moves.best()
    except InfeasibleError:
        raise InfeasibleError(
            "items would have to go to a previous member: allow one_way=False or rotate=True"
        ) from None
    found["flows"] = check.frozen(found["flows"])
    if found["optimal"] and extra is not None:
        found["scope"] = "all redistributions, item by item"
    return trusted(
        Redistribution,
        method="one way" if single else "both ways",
        **found,
        ring=check.frozen(order),
        before=check.frozen(old),
        after=check.frozen(new),
        volume=size,
        one_way=single,
        rotate=turned,
        links=check.frozen(matrix),
        latencies=None if extra is None else check.frozen(extra),
        **whose(links, p),
    )


def _moves(
    ring: NDArray[np.int64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    costs: _Costs,
    one_way: bool,
    rotate: bool,
) -> Moves:
    """The problem of the members; ValueError if the time of an item is out of range."""
    following, previous = (_item_times(costs, ring, np.roll(ring, step)) for step in (-1, 1))
    for times in (following, previous):
        if (bad := (times > _MOST_TIME) | (times > 0.0) & (times < 1.0 / _MOST_TIME)).any():
            more = "" if costs[2] is None else " + latencies"
            raise ValueError(
                f"volume * links{more} must be 0 or from 2**-200 to 2**200, got {times[bad][0]:g}"
            )
    return Moves(before[ring], after[ring], following, None if one_way else previous, rotate)


def _item_times(costs: _Costs, senders: Any, receivers: Any) -> NDArray[np.float64]:
    """Time of an item from each sender to its receiver."""
    volume, links, latencies = costs
    with np.errstate(over="ignore"):
        times: NDArray[np.float64] = volume * links[senders, receivers]
        return times if latencies is None else times + latencies[senders, receivers]


def _require_members(name: str, counts: NDArray[np.int64], ring: NDArray[np.int64]) -> None:
    outside = counts.copy()
    outside[ring] = 0
    if outside.any():
        i = int(np.argmax(outside > 0))
        raise ValueError(f"{name}[{i}] must be 0, as worker {i} is not in the ring")
