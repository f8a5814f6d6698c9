"""Slices of a matrix on a ring of workers.

A plan says which workers take part, in which order, and how much each gets.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.drawn import Drawn
from .._base.frozen import Frozen
from .._base.progress import Progress, reporting
from .._engine.ring import BATCHED, RING_EXACT, RING_MOST, Ring, ring_batch
from ..errors import InfeasibleError
from ..machine.limits import threads_here
from ..plan import Finish, Plan, Step, certified
from ..platform import Platform, link_matrix, names_of, whose
from .stacked import PlanStack, certified_rows, one_by_one, stack_of

METHODS = ("exact", "best", "search", "multistart", "greedy", "all")
_LEAST, _MOST = 2.0**-200, 2.0**200  # range of cycle-times, links, work and volume
#: Search: most rounds, and most work: p^2 a round up to 64 workers, p a round for more.
_ROUNDS, _EFFORT, _LARGE_EFFORT = 4000, 4_000_000, 200_000
_MOST_ROUNDS = 2**30  # most rounds of one call of the engine
#: Rounds of the search for a short ring of all workers: one to two seconds for a thousand workers.
_TOUR_ROUNDS = 10_000
_BOUND_ROUNDS, _BOUND_EFFORT = 300, 200_000_000
_FEW = 12  # most workers for which the best ring takes no time to find


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SliceRing(Plan):
    """A ring of some of the workers, and the share of the work that each member has.

    Attributes
    ----------
    ring : (q,) int64 array
        The members in order. The first has the lowest index; the second is its neighbour with the
        lower index.
    shares : (p,) float64 array
        Share of the work of each worker; they sum to 1, and are 0 outside the ring.
    makespan : float
        Time of a step, in which every member updates its slice and exchanges a boundary with both
        neighbours.
    work, volume : float
        Work of the whole matrix in a step, and volume of the boundary between two slices.
    relays : bool
        Whether members without work were allowed.
    cycle_times : (p,) float64 array
        Time per unit of work.
    links : (p, p) float64 array
        Time per unit of volume from row to column.
    latencies : (p, p) float64 array or None
        Additional time of each message from row to column; None if there is none.
    """

    ring: NDArray[np.int64]
    shares: NDArray[np.float64]
    makespan: float
    work: float
    volume: float
    relays: bool
    cycle_times: NDArray[np.float64]
    links: NDArray[np.float64]
    latencies: NDArray[np.float64] | None = None

    _table: ClassVar = {
        "ring": schema.Array("i8", "members", high="p - 1"),
        "shares": schema.Array("f8", "p", high=1.0),
        "makespan": schema.Real(),
        "work": schema.Real(schema.LEAST, _MOST),
        "volume": schema.Real(0.0, _MOST),
        "relays": schema.Flag(),
        "cycle_times": schema.Array("f8", "p", low=_LEAST, high=math.inf),
        "links": schema.Array("f8", "p", "p", high=_MOST),
        "latencies": schema.Maybe(schema.Array("f8", "p", "p", high=_MOST)),
    }

    def _check(self) -> None:
        ring = self.ring.tolist()
        if (
            not ring
            or len(set(ring)) < len(ring)
            or not set(np.flatnonzero(self.shares).tolist()) <= set(ring)
        ):
            raise ValueError("ring must contain each worker with a share, and no worker twice")
        schema.require_close("sum of shares", math.fsum(self.shares.tolist()), 1.0)
        schema.require_able("shares", self._load(), self.cycle_times)
        if np.isinf(self.cycle_times[self.ring]).any():
            raise ValueError("ring must have no worker with an infinite cycle-time")

    @property
    def transfers(self) -> NDArray[np.float64]:
        """(q,) time that each member of the ring spends on messages in a step."""
        return _paid(self.links, self.latencies, self.volume, self.ring)

    @property
    def length(self) -> float:
        """Sum over the members of (link to the next + link to the one before) / cycle-time.

        The best order makes this sum small if there are no latencies.
        """
        return float((_link_sums(self.links, self.ring) / self.cycle_times[self.ring]).sum())

    def _on(self, platform: Platform) -> Plan:
        """The same ring and shares; the members no longer end together."""
        times, matrix = platform.cycle_times, links_between(platform)
        able = _able(times, matrix)
        ends = self.shares * self.work * times
        ends[self.ring] += _paid(matrix, self.latencies, self.volume, self.ring)
        makespan = float(ends.max())
        costs, volume = _messages(matrix, self.latencies, self.volume)
        bound = _bound(times[able], costs, able, self.work, volume, self.relays, makespan)
        return self._carried(platform, makespan, bound, links=check.frozen(matrix))

    def _load(self) -> Any:
        """Work of each worker in a step."""
        return self.shares * self.work

    def _steps(self, finish: Finish) -> list[Step]:
        """One step of each member.

        It updates its slice, sends its boundary to the next member, and receives the boundary of
        the member before.
        """
        steps = []
        before, after = np.roll(self.ring, 1), np.roll(self.ring, -1)
        for i, x, y in zip(self.ring.tolist(), before.tolist(), after.tolist(), strict=True):
            now = finish(i, 0.0, float(self.shares[i] * self.work * self.cycle_times[i]))
            if now > 0.0:
                steps.append(Step(i, "compute", 0.0, now, f"{self.shares[i]:.2%}"))
            if x == i:
                continue
            for other, what in ((y, f"to {self.names[y]}"), (x, f"from {self.names[x]}")):
                duration = float(_paid_to(self.links, self.latencies, self.volume, i, other))
                if duration > 0.0:
                    steps.append(Step(i, "transfer", now, now + duration, what))
                now += duration
        return steps


@overload
def slice_ring(
    cycle_times: Platform | check.Vector | None = None,
    links: ArrayLike | None = None,
    work: float | None = None,
    volume: float | None = None,
    method: str = "best",
    *,
    speeds: check.Vector | None = None,
    latencies: ArrayLike | None = None,
    relays: bool = False,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> SliceRing: ...
@overload
def slice_ring(
    cycle_times: Platform | ArrayLike | None = None,
    links: ArrayLike | None = None,
    work: float | None = None,
    volume: float | None = None,
    method: str = "best",
    *,
    speeds: ArrayLike | None = None,
    latencies: ArrayLike | None = None,
    relays: bool = False,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> SliceRing | PlanStack: ...
def slice_ring(
    cycle_times: Platform | ArrayLike | None = None,
    links: ArrayLike | None = None,
    work: float | None = None,
    volume: float | None = None,
    method: str = "best",
    *,
    speeds: ArrayLike | None = None,
    latencies: ArrayLike | None = None,
    relays: bool = False,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> SliceRing | PlanStack:
    """Choose workers, arrange them on a ring, and give each a slice, so that a step ends early.

    In each step of an iteration, a member of the ring updates its slice of the matrix and then
    exchanges a boundary with both neighbours. More workers compute faster, but each costs messages.
    It may be best to leave some out, even fast ones behind slow links.

    Parameters
    ----------
    cycle_times : Platform or (p,) or (..., p) array_like
        Time per unit of work, > 0. A Platform gives its links too. A worker with an infinite
        cycle-time is left out. An array with more than one axis is a stack: one plan for each set
        of workers, computed on all cores.
    links : (p, p) array_like or float
        links[i][j] is the time per unit of volume from worker i to worker j, >= 0, not necessarily
        symmetric; the diagonal is not read. A number means that all links are equal. For a stack,
        (p, p) or any shape that broadcasts to (..., p, p).
    work : float
        Work of a step, > 0, in the unit of the cycle-times.
    volume : float
        Volume that two neighbours send each other in a step, >= 0, in the unit of the links.
    method : {"best", "exact", "search", "multistart", "greedy", "all"}
        "exact": optimal, for up to 22 workers that could be in the best ring (352 MiB then, 80 MiB
        for 20), and for any number if all links are equal. "search": local search from greedy
        rings. "best": "exact" if that is possible, otherwise "search". "multistart": the best of
        the greedy rings that start with each worker. "greedy": the paper's greedy ring, from the
        fastest worker. "all": all workers, without selection; the shortest ring for up to 22
        workers, for more a ring by Lin and Kernighan's moves.
    speeds : (p,) or (..., p) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    latencies : (p, p) array_like or float, optional
        Additional time of every message from worker i to worker j, >= 0; the diagonal is not read.
        Default: none.
    relays : bool
        Whether a member of the ring may have no work and only pass boundaries on. By default every
        member has work.
    seed : int
        Seed of the search.
    budget : float, optional
        Seconds for the search. Default: a fixed number of rounds, which takes a fraction of a
        second for up to 64 workers.
    progress : bool or callable, optional
        For a stack: True shows a bar; a function is called with the fraction done.

    Returns
    -------
    SliceRing
        All members with work end together. lower_bound holds for all rings of the workers. For a
        stack: a PlanStack with makespan, bound and optimal (...), and shares (..., p).

    Raises
    ------
    InfeasibleError
        For more workers than the method can take. With "all", if the ring that is found leaves a
        worker without work.
    ValueError, TypeError
        For arguments outside their ranges: cycle-times, links, work and volume must be from
        2**-200 to 2**200.

    Notes
    -----
    Renard, Robert, Vivien (2003). Worker i in the ring pays volume * (links[i][next] +
    links[i][before]). As in the paper's text, it pays on its own side of the link, for receiving
    as for sending. Latencies, which make the costs affine, are paid for both messages too. A ring
    of one worker pays nothing; a ring of two pays both ways.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.slice_ring(hs.datasets.strasbourg(), work=100, volume=1)
    >>> plan.ring.tolist(), round(plan.makespan, 6), plan.optimal
    ([0, 3, 10, 9, 1, 2, 4, 11], 0.151548, True)
    """
    if any(map(check.is_stack, (cycle_times, speeds))):
        alike: dict[str, Any] = {
            "work": work,
            "volume": volume,
            "method": check.choice("method", method, METHODS),
            "relays": relays,
            "seed": seed,
            "budget": budget,
            "latencies": latencies,
        }
        return _ring_stack(cycle_times, speeds, links, alike, progress)
    if progress is not None and progress is not False:
        raise ValueError("progress is for stacks of cycle_times")
    times = check.cycle_times(cycle_times, speeds)
    matrix = _links(cycle_times, links, len(times))
    amount = _amount("work", work, above=0.0)
    boundary = _amount("volume", volume, low=0.0)
    asked = check.choice("method", method, METHODS)
    if not isinstance(relays, bool | np.bool_):
        raise TypeError(f"relays must be True or False, got {relays!r}")
    start = check.integer("seed", seed, low=0, high=2**64 - 1)
    seconds = None if budget is None else check.number("budget", budget, low=0.0)

    able = _able(times, matrix)
    own = times[able]
    shares = np.zeros(len(times))
    own_latencies = None if latencies is None else _latencies(latencies, len(times), able)
    costs, volume = _messages(matrix, own_latencies, boundary)
    common = _common(costs, able)
    if method in ("exact", "best") and common is not None:
        ring, shares[able], makespan = _homogeneous(own, common, amount, volume)
        method, bound, scope = "exact", makespan, "all rings"
    else:
        engine = Ring(own, _inner(costs, able), amount, volume, bool(relays))
        if method in ("exact", "best"):
            method, found = _exact(engine, method, own, start, seconds)
        else:
            found = _heuristic(engine, method, own, start, seconds)
        shares[able], makespan = _shares(engine, found)
        ring = found.astype(np.int64)
        exact = method == "exact"
        bound = makespan if exact else engine.bound(makespan, _bound_rounds(len(own)))
        shortest = method == "all" and len(own) <= RING_EXACT and (shares[able] > 0).all()
        scope = "all rings" if exact else "rings of all workers" if shortest else ""
    return SliceRing(
        method=method,
        asked=asked,
        **certified(bound, makespan=makespan),
        scope=scope,
        ring=check.frozen(able[ring]),
        shares=check.frozen(shares),
        work=amount,
        volume=boundary,
        relays=bool(relays),
        cycle_times=check.frozen(times),
        links=check.frozen(matrix),
        latencies=None if own_latencies is None else check.frozen(own_latencies),
        **whose(cycle_times, len(times)),
    )


def _ring_stack(
    cycle_times: Any,
    speeds: Any,
    links: Any,
    common: dict[str, Any],
    progress: bool | Progress | None,
) -> PlanStack:
    """One ring for each row of the stack."""
    times = check.cycle_times(cycle_times, speeds, stacked=True)
    p = times.shape[-1]
    if links is None:
        raise TypeError("links must be given together with a stack of cycle_times")
    matrices = check.reals(
        lambda: f"links must be a number or an array of numbers, got {links!r}", links
    )
    try:
        matrices = np.broadcast_to(matrices, (*times.shape, p))
    except ValueError:
        raise ValueError(
            f"links of shape {matrices.shape} do not broadcast to {(*times.shape, p)}"
        ) from None
    name, given = ("cycle_times", cycle_times) if speeds is None else ("speeds", speeds)
    stacked = {
        name: np.array(given, np.float64).reshape(-1, p),
        "links": matrices.reshape(-1, p, p),
    }
    names: dict[str, tuple[Any, ...]] = {
        "makespan": (np.float64,),
        "bound": (np.float64,),
        "optimal": (np.bool_,),
        "shares": (np.float64, p),
    }
    matrices, flat = stacked["links"], times.reshape(-1, p)
    with reporting(progress) as tell:
        if _batched(common, p) and _usual(flat, matrices):
            work = _amount("work", common["work"], above=0.0)
            volume = _amount("volume", common["volume"], low=0.0)
            found = ring_batch(
                common["method"],
                flat,
                np.ascontiguousarray(matrices),
                work,
                volume,
                common["relays"],
                _rounds(p),
                check.integer("seed", common["seed"], low=0, high=2**64 - 1),
                _bound_rounds(p),
                threads_here(),
                tell,
            )
            bound, optimal = certified_rows(found[2], found[1])
            results = {"makespan": found[1], "bound": bound, "optimal": optimal, "shares": found[0]}
            return stack_of(
                times.shape[:-1], common["method"], "makespan", results, slice_ring, stacked, common
            )
        results = one_by_one(slice_ring, names, stacked, common, tell)
    return stack_of(
        times.shape[:-1], common["method"], "makespan", results, slice_ring, stacked, common
    )


def _batched(common: dict[str, Any], p: int) -> bool:
    """Whether the engine can plan the whole stack with these arguments."""
    if (
        common["latencies"] is not None
        or common["budget"] is not None
        or not isinstance(common["relays"], bool)
    ):
        return False
    return common["method"] in BATCHED and (common["method"] != "exact" or p <= RING_EXACT)


def _usual(times: NDArray[np.float64], links: NDArray[np.float64]) -> bool:
    """Whether no platform of the stack needs an error message or special treatment.

    Then all workers can work, all numbers are in their ranges, and no platform has only equal
    links.
    """
    p = times.shape[-1]
    between = links[:, ~np.eye(p, dtype=bool)]
    if p < 2 or p > RING_MOST or not ((times >= _LEAST) & (times <= _MOST)).all():
        return False
    proper = (between == 0.0) | ((between >= _LEAST) & (between <= _MOST))
    return bool(proper.all() and (between != between[:, :1]).any(axis=1).all())


def _rounds(p: int) -> int:
    """Rounds of a search without a budget."""
    return min(_ROUNDS, 1 + _EFFORT // p**2) if p <= 64 else max(20, _LARGE_EFFORT // p)


def _exact(
    engine: Ring, method: str, times: NDArray[np.float64], seed: int, budget: float | None
) -> tuple[str, NDArray[np.int32]]:
    try:
        return "exact", engine.exact()
    except NotImplementedError:
        if method == "best":
            return "search", _heuristic(engine, "search", times, seed, budget)
        raise InfeasibleError(
            f'method "exact" is for up to {RING_EXACT} workers that could be in the best ring, more'
            f' of the {engine.p} could: use method "search" or "best"'
        ) from None


def _heuristic(
    engine: Ring, method: str, times: NDArray[np.float64], seed: int, budget: float | None
) -> NDArray[np.int32]:
    fastest = int(np.argmin(times))
    if method == "greedy":
        return engine.greedy(fastest)
    if method == "multistart":
        return engine.greedy(-1)
    if method == "search":
        return _searched(engine, engine.greedy(-1 if engine.p <= 64 else fastest), seed, budget)
    if engine.p <= RING_EXACT:
        return engine.shortest()
    return _toured(engine, seed, budget)


def _searched(
    engine: Ring, ring: NDArray[np.int32], seed: int, budget: float | None
) -> NDArray[np.int32]:
    """The ring after a search of a fixed length, or as long as the budget allows."""
    p = engine.p
    rounds = _rounds(p)
    end = None if budget is None else time.monotonic() + budget
    if end is not None:
        rounds = min(rounds, 100)
    while True:
        start = time.monotonic()
        ring, seed, _ = engine.search(ring, rounds, seed)
        now = time.monotonic()
        if end is None or now >= end or p == 1:
            return ring
        rounds = max(
            1, int(min(2 * rounds, _MOST_ROUNDS, rounds * (end - now) / max(now - start, 1e-6)))
        )


def _toured(engine: Ring, seed: int, budget: float | None) -> NDArray[np.int32]:
    """A short ring of all workers, by a fixed number of rounds or as the budget allows."""
    ring = np.arange(engine.p, dtype=np.int32)
    end = None if budget is None else time.monotonic() + budget
    rounds = min(10 * engine.p, _TOUR_ROUNDS) if end is None else 0
    while True:
        ring, seed = engine.tour(ring, rounds, seed)
        if end is None or time.monotonic() >= end:
            return ring
        rounds = engine.p


def _shares(engine: Ring, ring: NDArray[np.int32]) -> tuple[NDArray[np.float64], float]:
    try:
        return engine.shares(ring)
    except InfeasibleError:
        raise InfeasibleError(
            "the ring of all workers that was found takes less time than the messages of one of"
            ' them, which would get no work: allow relays, or use method "exact"'
        ) from None


def _homogeneous(
    times: NDArray[np.float64], link: float, work: float, volume: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """The fastest worker alone, or all workers: section 3 of the paper."""
    fastest = int(np.argmin(times))
    rates = times[fastest] / times
    alone = work * float(times[fastest])
    together = work * float(times[fastest]) / float(rates.sum()) + 2.0 * volume * link
    if len(times) == 1 or alone <= together:
        return np.array([fastest]), (np.arange(len(times)) == fastest).astype(np.float64), alone
    return np.arange(len(times)), rates / rates.sum(), together


def _bound_rounds(p: int) -> int:
    return min(_BOUND_ROUNDS, 1 + _BOUND_EFFORT // p**2)


def _bound(
    times: NDArray[np.float64],
    matrix: NDArray[np.float64],
    able: NDArray[np.int64],
    work: float,
    volume: float,
    relays: bool,
    makespan: float,
) -> float:
    """Lower bound on the time of every ring.

    It is the least time of a ring if there are few workers, or if all links are equal.
    """
    common = _common(matrix, able)
    if common is not None:
        return _homogeneous(times, common, work, volume)[2]
    engine = Ring(times, _inner(matrix, able), work, volume, relays)
    if len(able) <= _FEW:
        return _shares(engine, engine.exact())[1]
    return engine.bound(makespan, _bound_rounds(len(able)))


# ---- profile -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RingProfile(Frozen, Drawn):
    """The best ring for every ratio of work and volume.

    Attributes
    ----------
    ratios : (k,) float64 array
        Ring i is best for work / volume from ratios[i] to ratios[i + 1]; the first is 0.
    rings : tuple of int64 arrays
    lengths : (k,) float64 array
        Sum over the members of (link to the next + link to the one before) / cycle-time.
    least_lengths : (p,) float64 array
        The least length of all rings of 1, 2, ..., p workers.
    proven : (k,) bool array
        Whether every member has work for all these ratios, so that the ring is optimal. If False,
        the makespan is a lower bound.
    cycle_times : (p,) float64 array
    links : (p, p) float64 array
    names : tuple of str
    """

    ratios: NDArray[np.float64]
    rings: tuple[NDArray[np.int64], ...]
    lengths: NDArray[np.float64]
    least_lengths: NDArray[np.float64]
    proven: NDArray[np.bool_]
    cycle_times: NDArray[np.float64]
    links: NDArray[np.float64]
    names: tuple[str, ...]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(k,) number of members of each ring: p_opt in the paper."""
        return np.array([len(ring) for ring in self.rings], np.int64)

    def at(self, ratio: float) -> int:
        """Index of the ring that is best at a ratio; at a breakpoint, the smaller of the two.

        Parameters
        ----------
        ratio : float
            work / volume, >= 0.
        """
        value = check.number("ratio", ratio, low=0.0)
        return max(0, int(np.searchsorted(self.ratios, value)) - 1)

    def makespan(self, work: float, volume: float) -> float:
        """Time of a step with the best ring.

        Parameters
        ----------
        work, volume : float
            See `slice_ring`.
        """
        amount = check.number("work", work, above=0.0)
        boundary = check.number("volume", volume, above=0.0)
        i = self.at(min(amount / boundary, sys.float_info.max))
        with np.errstate(over="ignore"):
            time = float(
                (amount + boundary * self.lengths[i])
                / (1.0 / self.cycle_times[self.rings[i]]).sum()
            )
        if time == math.inf:
            raise ValueError("work and volume are too large: the time of a step overflows")
        return time

    def __repr__(self) -> str:
        jumps = " -> ".join(map(str, self.sizes.tolist()))
        places = ", ".join(f"{ratio:.6g}" for ratio in self.ratios[1:].tolist())
        return f"<RingProfile: {jumps} workers" + (
            f" at work / volume {places}>" if places else ">"
        )


def ring_profile(
    cycle_times: Platform | ArrayLike | None = None,
    links: ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
) -> RingProfile:
    """The best ring for every ratio of work and volume.

    The profile shows how many workers take part, and where that number changes.

    Parameters
    ----------
    cycle_times, links, speeds
        See `slice_ring`; up to 22 workers.

    Returns
    -------
    RingProfile
        The breakpoints are exact up to rounding.

    Raises
    ------
    InfeasibleError
        For more than 22 workers.
    ValueError, TypeError
        See `slice_ring`.

    Notes
    -----
    The time of a ring is linear in the work. The lower envelope of the shortest rings of all 2^p
    subsets is searched from both ends. It takes O(2^p p^2) time, and as much again for each ring of
    the profile. It needs as much memory as method "exact".

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.ring_profile(hs.datasets.strasbourg())
    <RingProfile: 1 -> 6 -> 8 -> 13 workers at work / volume 7.95752, 37.8784, 282.027>
    """
    times = check.cycle_times(cycle_times, speeds)
    matrix = _links(cycle_times, links, len(times))
    able = _able(times, matrix)
    if len(able) > RING_EXACT:
        raise InfeasibleError(
            f"a profile is for up to {RING_EXACT} workers, cycle_times has {len(able)}"
        )
    own, inner = times[able], _inner(matrix, able)
    lengths = Ring(own, inner, 1.0, 1.0).lengths()
    rates = 1.0 / own
    speed, sizes = np.zeros(1), np.zeros(1, np.int8)
    for rate in rates:
        speed, sizes = np.concatenate((speed, speed + rate)), np.concatenate((sizes, sizes + 1))
    pieces = _envelope(lengths, speed)
    rings, flags = [], []
    for ratio, subset in pieces:
        members = np.flatnonzero(subset >> np.arange(len(own)) & 1)
        ring = members[Ring(own[members], _inner(inner, members), 1.0, 1.0).shortest()]
        paid = _link_sums(inner, ring).max()
        flags.append(bool((ratio + lengths[subset]) / speed[subset] >= paid * (1 - 1e-12)))
        rings.append(check.frozen(able[ring]))
    least = np.full(len(times), np.inf)
    np.minimum.at(least, sizes[1:].astype(np.int64) - 1, lengths[1:])
    return RingProfile(
        ratios=check.frozen(np.array([ratio for ratio, _ in pieces])),
        rings=tuple(rings),
        lengths=check.frozen(lengths[[subset for _, subset in pieces]]),
        least_lengths=check.frozen(least),
        proven=check.frozen(np.array(flags)),
        cycle_times=check.frozen(times),
        links=check.frozen(matrix),
        names=names_of(cycle_times, len(times)),
    )


def _envelope(lengths: NDArray[np.float64], speed: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The lower envelope of the lines (x + length) / speed of the subsets, for x > 0.

    Returns the x from which a line is lowest, and its subset. The first subset is the empty one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / speed
        start = lengths * inverse
    start[0] = np.inf
    lowest = np.flatnonzero(start == start.min())
    first, last = int(lowest[np.argmax(speed[lowest])]), len(speed) - 1
    pieces = [(0.0, first)]
    pending = [(first, last)]
    while pending:
        a, b = pending.pop()
        if inverse[a] <= inverse[b]:
            continue
        x = float((start[b] - start[a]) / (inverse[a] - inverse[b]))
        times = x * inverse + start
        times[0] = np.inf
        c = int(np.argmin(times))
        if times[c] < min(times[a], times[b]) * (1 - 1e-13):
            pending += [(c, b), (a, c)]  # the left part first
        else:
            pieces.append((x, b))
    return pieces


# ---- arguments -----------------------------------------------------------------------------------


def _link_sums(links: NDArray[np.float64], ring: NDArray[np.int64]) -> NDArray[np.float64]:
    """(q,) sum of each member's links to the next member and to the one before."""
    if len(ring) == 1:
        return np.zeros(1)
    sums: NDArray[np.float64] = links[ring, np.roll(ring, -1)] + links[ring, np.roll(ring, 1)]
    return sums


def _paid_to(
    links: NDArray[np.float64], latencies: NDArray[np.float64] | None, volume: float, i: Any, j: Any
) -> NDArray[np.float64]:
    """Time of a message from i to j."""
    own: NDArray[np.float64] = volume * links[i, j]
    return own if latencies is None else own + latencies[i, j]


def _paid(
    links: NDArray[np.float64],
    latencies: NDArray[np.float64] | None,
    volume: float,
    ring: NDArray[np.int64],
) -> NDArray[np.float64]:
    """(q,) time of each member's messages with the next member and with the one before."""
    own: NDArray[np.float64] = volume * _link_sums(links, ring)
    return own if latencies is None else own + _link_sums(latencies, ring)


def _messages(
    links: NDArray[np.float64], latencies: NDArray[np.float64] | None, volume: float
) -> tuple[NDArray[np.float64], float]:
    """Links and a volume that give the same times of messages without latencies."""
    if latencies is None:
        return links, volume
    alike = links.strides == latencies.strides == (0, 0)
    part = slice(0, 1) if alike else slice(None)
    with np.errstate(over="ignore"):
        costs = volume * links[part, part] + latencies[part, part]
    if not alike:
        np.fill_diagonal(costs, 0.0)
    if (bad := (costs != 0.0) & ~((costs >= _LEAST) & (costs <= _MOST))).any():
        raise ValueError(
            f"volume * links + latencies must be 0 or from 2**-200 to 2**200, got {costs[bad][0]:g}"
        )
    return (np.broadcast_to(costs[0, 0], links.shape) if alike else costs), 1.0


def _latencies(given: ArrayLike, p: int, able: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """(p, p) latencies, 0 from each worker to itself; None if all are 0.

    A single number for all of them is broadcast, which takes no memory.
    """
    if np.isscalar(given):
        number = check.number("latencies", given, low=0.0)
        return np.broadcast_to(np.float64(number), (p, p)) if number else None
    matrix = link_matrix(given, p, "latencies")
    return matrix if matrix[np.ix_(able, able)].any() else None


def _links(given: Any, links: ArrayLike | None, p: int) -> NDArray[np.float64]:
    """(p, p) links of the platform, or as given.

    A single number for all of them is broadcast, which takes no memory.
    """
    if isinstance(given, Platform) and given.links is not None:
        if links is not None:
            raise TypeError("links must not be given with a Platform that has links")
        return given.links.copy()
    if links is None:
        kind = (
            ""
            if not isinstance(given, Platform)
            else ": the Platform is a " + ("star" if given.shape is None else "mesh")
        )
        raise TypeError(
            f"links must be given{kind}; slice_ring needs links between every two workers, from"
            " Platform.complete or links="
        )
    if np.isscalar(links):
        number = check.number("links", links, low=0.0)
        return np.broadcast_to(np.float64(number), (p, p))
    return link_matrix(links, p)


def links_between(platform: Platform) -> NDArray[np.float64]:
    """(p, p) links of a platform that has links between every two workers."""
    if platform.links is None:
        kind = "star" if platform.shape is None else "mesh"
        raise ValueError(
            "platform must have links between every two workers (Platform.complete), but it is a"
            f" {kind}"
        )
    return platform.links


def _amount(name: str, value: float | None, **limits: float) -> float:
    number = check.number(name, value, **limits)
    if number and not _LEAST <= number <= _MOST:
        raise ValueError(f"{name} must be from 2**-200 to 2**200, got {number:g}")
    return number


def _able(times: NDArray[np.float64], links: NDArray[np.float64]) -> NDArray[np.int64]:
    """The workers with a finite cycle-time; ValueError for numbers out of their ranges."""
    able = np.flatnonzero(np.isfinite(times))
    bad = np.isfinite(times) & ~((times >= _LEAST) & (times <= _MOST))
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"cycle_times[{i}] must be from 2**-200 to 2**200, got {times[i]:g}")
    for first, rows in check.row_blocks(links[:1, :1] if links.strides == (0, 0) else links):
        if (bad := (rows != 0.0) & ~((rows >= _LEAST) & (rows <= _MOST))).any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            raise ValueError(
                f"links[{first + i}][{j}] must be 0 or from 2**-200 to 2**200, got {rows[i, j]:g}"
            )
    return able


def _inner(links: NDArray[np.float64], members: NDArray[np.int64]) -> NDArray[np.float64]:
    if len(members) > RING_MOST:
        raise InfeasibleError(
            f"rings are for up to {RING_MOST} workers with unequal links, got {len(members)}"
        )
    inner = np.empty((len(members), len(members)))
    for first, rows in check.row_blocks(inner):
        rows[:] = links[np.ix_(members[first : first + len(rows)], members)]
    return inner


def _common(links: NDArray[np.float64], members: NDArray[np.int64]) -> float | None:
    """The cost of a link if it is the same for all members; 0 for one worker, otherwise None."""
    if len(members) == 1:
        return 0.0
    first = float(links[members[0], members[1]])
    if links.strides == (0, 0):
        return first
    for i in members:
        if ((links[i, members] != first) & (members != i)).any():
            return None
    return first
