"""Plans of a stencil iteration on a ring of workers.

A plan gives each worker whole columns, and predicts the time of a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from .._engine import allocate as engine
from ..plan import MOST_STEPS, Plan, Step, certified
from ..platform import UNIT, Platform, Unit, whose
from .ring import SliceRing, links_between, slice_ring

#: Flops of the update of an element.
FLOPS = 7.0
_MOST = 2**30 - 1  # most steps
_KINDS = ("compute", "transfer", "transfer")

#: Members of a ring in order, and their columns.
Slices = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StencilPlan(Plan):
    """Columns of a matrix for each worker of a ring, for some steps of a stencil iteration.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns of the matrix.
    iterations : int
        Number of steps.
    ring : (q,) int64 array
        The workers with columns, in the order of their slices.
    counts : (p,) int64 array
        Columns of each worker; 0 for workers that take no part.
    displs : (p,) int64 array
        First column of each worker.
    step_time : float
        Time of a step of the slowest member of the ring. A member updates its slice and exchanges
        columns with both neighbours.
    makespan : float
        iterations * step_time.
    itemsize : int
        Bytes of an element.
    cycle_times : (p,) float64 array
        Seconds per gigaflop.
    links : (p, p) float64 array
        Seconds per gigabyte from row to column.
    latencies : (p, p) float64 array or None
        Additional seconds of each message from row to column; None if there are none.
    overheads : (p,) float64 array or None
        Additional seconds of each member's update in every step; None if there are none.
    """

    shape: tuple[int, int]
    iterations: int
    ring: NDArray[np.int64]
    counts: NDArray[np.int64]
    displs: NDArray[np.int64]
    step_time: float
    makespan: float
    itemsize: int
    cycle_times: NDArray[np.float64]
    links: NDArray[np.float64]
    latencies: NDArray[np.float64] | None = None
    overheads: NDArray[np.float64] | None = None

    _table: ClassVar = {
        "shape": schema.Sizes("rows", "cols", low=1),
        "iterations": schema.Integer(0, _MOST),
        "ring": schema.Array("i8", "members", high="p - 1"),
        "counts": schema.Array("i8", "p", high="cols"),
        "displs": schema.Array("i8", "p", high="cols"),
        "step_time": schema.Real(),
        "makespan": schema.Real(),
        "itemsize": schema.Integer(1, 16),
        "cycle_times": schema.CYCLE_TIMES,
        "links": schema.Array("f8", "p", "p"),
        "latencies": schema.Maybe(schema.Array("f8", "p", "p")),
        "overheads": schema.Maybe(schema.Array("f8", "p")),
    }

    def _check(self) -> None:
        schema.require_order("ring", self.ring, self.counts)
        own = self.counts[self.ring]
        schema.require_dealt("counts", own, self.shape[1])
        if not np.array_equal(self.displs[self.ring], np.cumsum(own) - own):
            raise ValueError("displs must be the sums of the counts before each member of the ring")
        schema.require_able("counts", self._load(), self.cycle_times)
        with np.errstate(over="ignore"):
            slowest = float((self.update_times + self.exchange_times.sum(axis=1)).max())
        schema.require_close("step_time", self.step_time, slowest)

    @property
    def work(self) -> float:
        """Gigaflops of a step: seven flops per element, except in the first and the last row."""
        return FLOPS * inner_rows(self.shape[0]) * self.shape[1] / UNIT

    @property
    def volume(self) -> float:
        """Gigabytes of a column without its first and last element.

        In a step each member sends this much to each of its neighbours.
        """
        return inner_rows(self.shape[0]) * self.itemsize / UNIT

    @property
    def update_times(self) -> NDArray[np.float64]:
        """(q,) seconds that each member of the ring takes to update its slice, with overheads."""
        own = self.counts[self.ring] * (self.work / self.shape[1]) * self.cycle_times[self.ring]
        return np.asarray(own if self.overheads is None else own + self.overheads[self.ring])

    @property
    def exchange_times(self) -> NDArray[np.float64]:
        """(q, 2) seconds of each member's exchange with the next one and with the one before."""
        times = self.volume * _link_pairs(self.links, self.ring)
        return times if self.latencies is None else times + _link_pairs(self.latencies, self.ring)

    @property
    def owners(self) -> NDArray[np.int64]:
        """(n,) worker of each column."""
        return np.repeat(self.ring, self.counts[self.ring])

    def _on(self, platform: Platform) -> Plan:
        """The same slices on another platform.

        It may be a star without link costs: then messages take no time, as in `Pool.plan_stencil`.
        """
        platform = platform.per(Unit.gigaflop(), "a stencil")
        free = platform.links is None and platform.shape is None and not platform.link_costs.any()
        links = (
            np.broadcast_to(np.float64(0.0), (len(platform),) * 2)
            if free
            else links_between(platform)
        )
        members = Members(
            platform.cycle_times,
            links,
            **whose(platform, len(platform)),
            latencies=self.latencies,
            overheads=self.overheads,
        )
        slices = (self.ring, self.counts[self.ring])
        bound = _best_ring(*self.shape, members, self.itemsize).lower_bound
        return _evaluated(
            *self.shape, self.iterations, members, self.itemsize, slices, "given", bound
        )

    def _load(self) -> Any:
        """Gigaflops of each worker in all steps."""
        return self.iterations * self.work * (self.counts / self.shape[1])

    def _lags(self) -> Iterator[NDArray[np.float64]]:
        """For each step k, how long before k * step_time each member starts it.

        The slowest member never waits.
        """
        spare = self.step_time - self.update_times - self.exchange_times.sum(axis=1)
        spare[np.argmin(spare)] = 0.0  # exactly 0, without rounding errors
        lag, moves = np.zeros(len(self.ring)), True
        for _ in range(self.iterations):
            yield lag
            if moves:
                ended = lag + spare
                after = np.minimum(ended, np.minimum(np.roll(ended, 1), np.roll(ended, -1)))
                lag, moves = after, bool((after != lag).any())

    @property
    def finish(self) -> NDArray[np.float64]:
        """(p,) when each worker ends its last step; 0 for workers that take no part."""
        times = np.zeros(len(self.names))
        last = np.zeros(0)
        for lag in self._lags():
            if lag is last:
                break  # it no longer changes
            last = lag
        if self.iterations:
            spare = self.step_time - self.update_times - self.exchange_times.sum(axis=1)
            times[self.ring] = self.makespan - last - spare
        return times

    def steps(self) -> list[Step]:
        """Each step of each member: the update, then the exchanges with the next and the previous.

        A member starts a step when it and both neighbours have ended the previous one. ValueError
        for more than 3 * 10**6 entries.
        """
        times = np.column_stack((self.update_times, self.exchange_times))
        if self.iterations * max(1, int((times > 0.0).sum())) > MOST_STEPS:
            raise ValueError(
                f"a schedule of {self.iterations} steps of {len(self.ring)} workers has more than"
                f" {MOST_STEPS} entries: plan fewer steps; makespan and finish hold for any number"
            )
        steps = []
        members, labels = self.ring.tolist(), self.exchange_labels
        durations = times.tolist()
        for k, lag in enumerate(self._lags()):
            for i, early, own, (after, before) in zip(
                members, lag.tolist(), durations, labels, strict=True
            ):
                now = k * self.step_time - early
                for kind, duration, what in zip(
                    _KINDS, own, (f"step {k}", after, before), strict=True
                ):
                    if duration > 0.0:
                        steps.append(Step(i, kind, now, now + duration, what))
                        now += duration
        return steps

    @property
    def exchange_labels(self) -> list[tuple[str, str]]:
        """Texts of each member's exchange with the next one, and with the one before."""
        named = [f"with {self.names[i]}" for i in self.ring.tolist()]
        return list(zip(named[1:] + named[:1], named[-1:] + named[:-1], strict=True))


class Members(NamedTuple):
    """Workers that could be in a ring.

    cycle_times : (p,) seconds per gigaflop
    links : (p, p) seconds per gigabyte
    latencies : (p, p) additional seconds of a message, or None
    overheads : (p,) additional seconds of an update, or None
    """

    cycle_times: NDArray[np.float64]
    links: NDArray[np.float64]
    names: tuple[str, ...]
    unit: Unit | None = None
    latencies: NDArray[np.float64] | None = None
    overheads: NDArray[np.float64] | None = None


def plan_stencil(
    rows: int,
    cols: int,
    steps: int,
    members: Members,
    itemsize: int,
    ring: SliceRing | Sequence[int] | None = None,
    *,
    bounded: bool = True,
) -> StencilPlan:
    """Whole columns for a ring of workers; see `Pool.plan_stencil`.

    bounded : with False, the plan for a given ring has no lower bound, which takes the search for
        the best ring.
    """
    cycle_times = members.cycle_times
    rows, cols = check.integer("rows", rows, low=1), check.integer("cols", cols, low=1)
    count = check.integer("steps", steps, low=0, high=_MOST)
    inner = max(inner_rows(rows), 1)
    best = _best_ring(rows, cols, members, itemsize) if ring is None or bounded else None
    if ring is None:
        assert best is not None
        given, method = [best.ring], "rounded ring"
        if (best.shares[best.ring] == 0.0).any():  # in whole columns, a relay would get one
            given.append(_best_ring(rows, cols, members, itemsize, relays=False).ring)
        alone = inner * cols * FLOPS / UNIT * cycle_times
        if members.overheads is not None:
            alone = alone + members.overheads
        given.append(np.array([np.argmin(alone)]))
    else:
        given, method = [_ring_of(ring, len(members.cycle_times))], "given ring"
    divided = [
        option for order in given for option in _divisions(inner, cols, members, itemsize, order)
    ]
    slices = min(divided, key=lambda option: _step_time(inner, members, itemsize, option))
    bound = 0.0 if best is None else best.lower_bound
    return _evaluated(rows, cols, count, members, itemsize, slices, method, bound)


def _best_ring(
    rows: int, cols: int, members: Members, itemsize: int, *, relays: bool = True
) -> SliceRing:
    """The best ring for fractional columns; with relays, its lower bound holds for all slices."""
    inner = max(inner_rows(rows), 1)  # without inner rows nothing changes; plan the ring for one
    links = members.links if members.links.any() else 0.0
    work, volume = inner * cols * FLOPS / UNIT, inner * itemsize / UNIT
    return slice_ring(
        members.cycle_times,
        links,
        work,
        volume,
        method="best",
        latencies=members.latencies,
        overheads=members.overheads,
        relays=relays,
    )


def timed_for(members: Members, plan: StencilPlan, steps: int, itemsize: int) -> StencilPlan:
    """The slices, latencies and overheads of a plan, timed for these members and this size of an
    element in bytes."""
    count = check.integer("steps", steps, low=0, high=_MOST)
    members = members._replace(latencies=plan.latencies, overheads=plan.overheads)
    return _evaluated(
        *plan.shape, count, members, itemsize, (plan.ring, plan.counts[plan.ring]), plan.method, 0.0
    )


def _evaluated(
    rows: int,
    cols: int,
    steps: int,
    members: Members,
    itemsize: int,
    slices: Slices,
    method: str,
    bound: float,
) -> StencilPlan:
    """The plan of given slices; bound is a lower bound on the time of a step."""
    cycle_times, links, names, unit, latencies, overheads = members
    ring, counts = slices
    inner = inner_rows(rows)
    step_time = _step_time(inner, members, itemsize, slices)
    own, first = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    own[ring], first[ring] = counts, np.cumsum(counts) - counts
    makespan = steps * step_time
    return StencilPlan(
        method=method,
        **certified(steps * bound if inner else 0.0, makespan=makespan),
        shape=(rows, cols),
        iterations=steps,
        ring=check.frozen(ring),
        counts=check.frozen(own),
        displs=check.frozen(first),
        step_time=step_time,
        itemsize=itemsize,
        cycle_times=check.frozen(cycle_times),
        links=check.frozen(links),
        latencies=None if latencies is None else check.frozen(latencies),
        overheads=None if overheads is None else check.frozen(overheads),
        names=names,
        unit=unit,
    )


def _divisions(
    inner: int, cols: int, members: Members, itemsize: int, ring: NDArray[np.int64]
) -> Iterator[Slices]:
    """Divisions of the columns, with at least one for each member of the ring.

    After each division, members that would have no column without this minimum drop out.
    """
    while True:
        column, paid = _times(inner, members, itemsize, ring)
        if len(ring) <= cols:
            yield ring, engine.distribute_after(cols - len(ring), column, paid + column) + 1
        stay = engine.distribute_after(cols, column, paid) > 0
        if stay.all():
            return
        ring = ring[stay]


def _times(
    inner: int, members: Members, itemsize: int, ring: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time of each member of a ring for a column, and for its exchanges and its overhead."""
    column: NDArray[np.float64] = inner * FLOPS / UNIT * members.cycle_times[ring]
    paid = inner * itemsize / UNIT * _link_pairs(members.links, ring).sum(axis=1)
    if members.latencies is not None:
        paid = paid + _link_pairs(members.latencies, ring).sum(axis=1)
    return column, paid if members.overheads is None else paid + members.overheads[ring]


def _step_time(inner: int, members: Members, itemsize: int, slices: Slices) -> float:
    ring, counts = slices
    column, paid = _times(inner, members, itemsize, ring)
    return float((counts * column + paid).max())


def _ring_of(ring: SliceRing | Sequence[int], workers: int) -> NDArray[np.int64]:
    if isinstance(ring, SliceRing):
        if len(ring.names) != workers:
            raise ValueError(f"plan is for {len(ring.names)} workers, the pool has {workers}")
        return ring.ring
    order = check.integers("ring", ring, low=0, high=workers - 1)
    if order.ndim != 1 or len(order) == 0 or len(set(order.tolist())) < len(order):
        raise ValueError(f"ring must be a sequence of different workers, got {order.tolist()}")
    return order


def inner_rows(rows: int) -> int:
    """Number of rows that change: all but the first and the last one."""
    return max(rows - 2, 0)


def _link_pairs(links: NDArray[np.float64], ring: NDArray[np.int64]) -> NDArray[np.float64]:
    """(q, 2) links of each member to the next one and to the one before."""
    if len(ring) == 1:
        return np.zeros((1, 2))
    return np.stack((links[ring, np.roll(ring, -1)], links[ring, np.roll(ring, 1)]), axis=1)
