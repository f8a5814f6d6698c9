"""Slices of a matrix on a ring of workers.

A plan says which workers take part, in which order, and how much each gets.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.drawn import Drawn
from .._base.frozen import Frozen
from .._base.progress import Progress, reporting
from .._engine.ring import METHODS, RING_EXACT, RING_MOST, Affine, Network, Ring
from ..errors import InfeasibleError
from ..machine.limits import threads_here
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, link_matrix, names_of, whose
from .stacked import PlanStack, plan_alone, stack_of

_LEAST, _MOST = 2.0**-200, 2.0**200  # range of cycle-times, links, work and volume
_ROUNDING = 1e-9  # of bandwidths that fill a link


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
    overheads : (p,) float64 array or None
        Additional time of each member's update; None if there is none.
    network : (m, 3) float64 array or None
        Of a plan of `shared_ring`: two nodes and the time per unit of volume of each link. `links`
        then holds 1 / bandwidth of the ring's messages.
    hops : (h, 3) int64 array or None
        Of a plan of `shared_ring`: the routes of the ring's messages, link by link: the member that
        sends, the one that receives, and the link.
    duplex : bool
        Whether each direction of a link of the network has its bandwidth; else both share it.
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
    overheads: NDArray[np.float64] | None = None
    network: NDArray[np.float64] | None = None
    hops: NDArray[np.int64] | None = None
    duplex: bool = False

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
        "overheads": schema.Maybe(schema.Array("f8", "p", high=_MOST)),
        "network": schema.Maybe(schema.Array("f8", "wires", 3, high=_MOST)),
        "hops": schema.Maybe(schema.Array("i8", "hops", 3)),
        "duplex": schema.Flag(),
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
        if (self.network is None) != (self.hops is None):
            raise ValueError("network and hops must be given together")
        if self.network is not None:
            used = float(self.link_use.max(initial=0.0))
            if not used <= 1.0 + _ROUNDING:
                raise ValueError(f"links must leave the network its bandwidths, one is used {used}")

    @property
    def link_use(self) -> NDArray[np.float64]:
        """(m,) part of the bandwidth of each link of the network that the messages take; with
        duplex (m, 2), from its first node and to it."""
        if self.network is None or self.hops is None:
            raise TypeError("link_use is for plans of shared_ring: this plan has no network")
        use = np.zeros((len(self.network), 2))
        for i, j, links in self._routes():
            node = i
            for link in links:
                a, b, cost = self.network[link].tolist()
                # a ring of two sends each message twice
                part = (2.0 if len(self.ring) == 2 else 1.0) * cost
                if cost > 0.0 and self.volume > 0.0:
                    use[link, int(node != a)] += part / max(float(self.links[i, j]), _LEAST)
                node = b if node == a else a
        return use if self.duplex else use.sum(axis=1)

    def _routes(self) -> list[tuple[int, int, list[int]]]:
        """Sender, receiver and links of each message of the ring; ValueError unless `hops` has
        them."""
        network, hops = cast(Any, self.network), cast(Any, self.hops)
        wanted = _messages(self.ring)
        routes: dict[tuple[int, int], list[int]] = {pair: [] for pair in wanted}
        for i, j, link in hops.tolist():
            if (i, j) not in routes or link >= len(network):
                raise ValueError(f"hops has the link {link} from worker {i} to {j}")
            routes[i, j].append(link)
        for (i, j), links in routes.items():
            node = i
            for link in links:
                ends = network[link, :2].tolist()
                if node not in ends:
                    raise ValueError(f"hops: link {link} does not go on from node {node:g}")
                node = ends[1] if node == ends[0] else ends[0]
            if node != j:
                raise ValueError(f"hops must lead from worker {i} to {j}, not to node {node:g}")
        return [(*pair, links) for pair, links in routes.items()]

    @property
    def transfers(self) -> NDArray[np.float64]:
        """(q,) time that each member of the ring spends on messages in a step."""
        own: NDArray[np.float64] = self.volume * _link_sums(self.links, self.ring)
        return own if self.latencies is None else own + _link_sums(self.latencies, self.ring)

    @property
    def length(self) -> float:
        """Sum over the members of (link to the next + link to the one before) / cycle-time.

        The best order makes this sum small if there are no latencies and overheads.
        """
        return float((_link_sums(self.links, self.ring) / self.cycle_times[self.ring]).sum())

    def _on(self, platform: Platform) -> Plan:
        """The same ring and shares; the members no longer end together.

        A plan over a network keeps it, and its bandwidths, on a star.
        """
        times = platform.cycle_times
        if self.network is not None and platform.links is None and platform.shape is None:
            return self._on_network(platform)
        matrix = links_between(platform)
        if np.isinf(times[self.ring]).any():
            raise ValueError("ring must have no worker with an infinite cycle-time")
        affine = Affine(self.latencies, self.overheads)
        _require_ranges(times, matrix, self.volume, affine)
        engine = Ring(times, matrix, self.work, self.volume, self.relays, affine)
        makespan, bound = engine.certificate(self.ring, self.shares)
        changed = {"links": check.frozen(matrix), "network": None, "hops": None, "duplex": False}
        return self._carried(platform, makespan, bound, **changed)

    def _on_network(self, platform: Platform) -> Plan:
        """The same ring, shares and bandwidths with other cycle-times."""
        times, affine = platform.cycle_times, Affine(self.latencies, self.overheads)
        _require_ranges(times, self.links, self.volume, affine)
        network = network_of(
            len(times),
            cast(Any, self.network),
            self.duplex,
            {(i, j): links for i, j, links in self._routes()},
        )
        engine = Ring(times, self.links, self.work, self.volume, self.relays, affine)
        return self._carried(platform, *network.certificate(engine, self.ring, self.shares))

    def _load(self) -> Any:
        """Work of each worker in a step."""
        return self.shares * self.work

    def _steps(self, finish: Finish) -> list[Step]:
        """One step of each member.

        It updates its slice, sends its boundary to the next member, and receives the boundary of
        the member before.
        """
        steps = []
        updates = self.shares * self.work * np.where(self.shares > 0, self.cycle_times, 0.0)
        if self.overheads is not None:
            updates = updates + self.overheads
        before, after = np.roll(self.ring, 1), np.roll(self.ring, -1)
        for i, x, y in zip(self.ring.tolist(), before.tolist(), after.tolist(), strict=True):
            now = finish(i, 0.0, float(updates[i]))
            if now > 0.0:
                steps.append(Step(i, "compute", 0.0, now, f"{self.shares[i]:.2%}"))
            if x == i:
                continue
            for other, what in ((y, f"to {self.names[y]}"), (x, f"from {self.names[x]}")):
                duration = self.volume * float(self.links[i, other])
                if self.latencies is not None:
                    duration += float(self.latencies[i, other])
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
    overheads: ArrayLike | None = None,
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
    overheads: ArrayLike | None = None,
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
    overheads: ArrayLike | None = None,
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
    overheads : (p,) array_like or float, optional
        Additional time of the update of every member, with any amount of work, >= 0. Default: none.
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
    as for sending. Latencies and overheads make the costs affine (section 2 of the paper).
    Latencies are paid for both messages. A ring of one worker pays its overhead only; a ring of two
    pays both ways. A member without work, a relay, still pays its overhead.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.slice_ring(hs.datasets.strasbourg(), work=100, volume=1)
    >>> plan.ring.tolist(), round(plan.makespan, 6), plan.optimal
    ([0, 3, 10, 9, 1, 2, 4, 11], 0.151548, True)
    """
    if any(map(check.is_stack, (cycle_times, speeds))):
        return _ring_stack(
            cycle_times,
            speeds,
            links,
            {
                "work": work,
                "volume": volume,
                "method": method,
                "relays": relays,
                "seed": seed,
                "budget": budget,
                "latencies": latencies,
                "overheads": overheads,
            },
            progress,
        )
    if progress is not None and progress is not False:
        raise ValueError("progress is for stacks of cycle_times")
    times = check.cycle_times(cycle_times, speeds)
    matrix = _links(cycle_times, links, len(times))
    step = _Step.of(len(times), work, volume, method, relays, seed, budget, latencies, overheads)
    affine = _among(step.affine, np.isfinite(times))
    _require_ranges(times, matrix, step.volume, affine)
    engine = Ring(times, matrix, step.work, step.volume, step.relays, affine)
    try:
        found = engine.best(step.method, step.seed, step.budget)
    except (InfeasibleError, NotImplementedError) as error:
        raise _infeasible(error, step.method, int(np.isfinite(times).sum())) from None
    found |= {name: check.frozen(found[name]) for name in ("ring", "shares")}
    return trusted(
        SliceRing,
        **found,
        asked=step.method,
        work=step.work,
        volume=step.volume,
        relays=step.relays,
        cycle_times=check.frozen(times),
        links=check.frozen(matrix),
        latencies=None if affine.latencies is None else check.frozen(affine.latencies),
        overheads=None if affine.overheads is None else check.frozen(affine.overheads),
        **whose(cycle_times, len(times)),
    )


class _Step(NamedTuple):
    """The arguments of `slice_ring` that hold for all platforms of a stack, checked."""

    work: float
    volume: float
    method: str
    relays: bool
    seed: int
    budget: float | None
    affine: Affine

    @classmethod
    def of(
        cls,
        p: int,
        work: Any,
        volume: Any,
        method: Any,
        relays: Any,
        seed: Any,
        budget: Any,
        latencies: Any,
        overheads: Any,
    ) -> _Step:
        amount = _amount("work", work, above=0.0)
        boundary, affine = _fixed_costs(p, volume, latencies, overheads)
        asked = check.choice("method", method, tuple(METHODS))
        if not isinstance(relays, bool | np.bool_):
            raise TypeError(f"relays must be True or False, got {relays!r}")
        return cls(
            amount,
            boundary,
            asked,
            bool(relays),
            check.integer("seed", seed, low=0, high=2**64 - 1),
            None if budget is None else check.number("budget", budget, low=0.0),
            affine,
        )


def _infeasible(error: Exception, method: str, workers: int) -> InfeasibleError:
    """The error for a ring that the engine refuses."""
    if isinstance(error, InfeasibleError):
        return InfeasibleError(
            "the ring of all workers that was found takes less time than the messages of one of"
            ' them, which would get no work: allow relays, or use method "exact"'
        )
    if workers > RING_MOST:
        return InfeasibleError(
            f"rings are for up to {RING_MOST} workers with unequal links, got {workers}; methods"
            ' "exact" and "best" take any number of workers with equal links'
        )
    return InfeasibleError(
        f'method "exact" is for up to {RING_EXACT} workers that could be in the best ring, more'
        f' of the {workers} could: use method "search" or "best"'
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
    shape, p = times.shape[:-1], times.shape[-1]
    if links is None:
        raise TypeError("links must be given together with a stack of cycle_times")
    given = check.reals(
        lambda: f"links must be a number or an array of numbers, got {links!r}", links
    )
    try:
        matrices = np.broadcast_to(given, (*shape, p, p)).reshape(-1, p, p)
    except ValueError:
        raise ValueError(
            f"links of shape {given.shape} do not broadcast to {(*shape, p, p)}"
        ) from None
    step = _Step.of(p, **common)
    name, workers = ("cycle_times", cycle_times) if speeds is None else ("speeds", speeds)
    stacked = {name: np.array(workers, np.float64).reshape(-1, p), "links": matrices}
    own = given if given.ndim == 0 else np.ascontiguousarray(matrices)
    engine = Ring(times, own, step.work, step.volume, step.relays, step.affine)
    try:
        if not _in_range(own[..., ~np.eye(p, dtype=bool)] if own.ndim else own, zero=True).all():
            raise ValueError("links must be 0 or from 2**-200 to 2**200")
        with reporting(progress) as tell:
            results = engine.batch(step.method, step.seed, step.budget, threads_here(), tell)
    except (ValueError, NotImplementedError):
        for row in range(len(times.reshape(-1, p))):
            plan_alone(slice_ring, row, stacked, common)
        raise
    return stack_of(shape, step.method, "makespan", results, slice_ring, stacked, common)


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
        Sum over the members of (what it pays in a step) / (volume * cycle-time). Without latencies
        and overheads, this is the sum of (link to the next + link to the one before) / cycle-time.
    least_lengths : (p,) float64 array
        The least length of all rings of 1, 2, ..., p workers.
    proven : (k,) bool array
        Whether every member has work for all these ratios, so that the ring is optimal. If False,
        the makespan is a lower bound.
    cycle_times : (p,) float64 array
    links : (p, p) float64 array
    names : tuple of str
    volume : float
        The volume that the profile is for. It matters only with latencies or overheads.
    latencies : (p, p) float64 array or None
    overheads : (p,) float64 array or None
        See `SliceRing`.
    """

    ratios: NDArray[np.float64]
    rings: tuple[NDArray[np.int64], ...]
    lengths: NDArray[np.float64]
    least_lengths: NDArray[np.float64]
    proven: NDArray[np.bool_]
    cycle_times: NDArray[np.float64]
    links: NDArray[np.float64]
    names: tuple[str, ...]
    volume: float = 1.0
    latencies: NDArray[np.float64] | None = None
    overheads: NDArray[np.float64] | None = None

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
            See `slice_ring`. With latencies or overheads, volume must be that of the profile.
        """
        amount = check.number("work", work, above=0.0)
        boundary = check.number("volume", volume, above=0.0)
        linear = self.latencies is None and self.overheads is None
        if not linear and boundary != self.volume:
            raise ValueError(
                f"volume must be {self.volume:g}, that of the profile, as latencies and overheads"
                f" do not grow with it; got {boundary:g}"
            )
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
    volume: float = 1.0,
    latencies: ArrayLike | None = None,
    overheads: ArrayLike | None = None,
) -> RingProfile:
    """The best ring for every ratio of work and volume.

    The profile shows how many workers take part, and where that number changes.

    Parameters
    ----------
    cycle_times, links, speeds
        See `slice_ring`; up to 22 workers.
    volume : float
        Volume that two neighbours send each other in a step, > 0. Without latencies and overheads,
        only the ratio of work and volume matters, and the profile holds for any volume.
    latencies, overheads
        See `slice_ring`.

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
    The time of a ring is linear in the work, also with latencies and overheads. The lower envelope
    of the shortest rings of all 2^p subsets is searched from both ends. It takes O(2^p p^2) time,
    and as much again for each ring of the profile. It needs as much memory as method "exact".

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.ring_profile(hs.datasets.strasbourg())
    <RingProfile: 1 -> 6 -> 8 -> 13 workers at work / volume 7.95752, 37.8784, 282.027>
    """
    times = check.cycle_times(cycle_times, speeds)
    matrix = _links(cycle_times, links, len(times))
    boundary, affine = _fixed_costs(len(times), volume, latencies, overheads)
    if boundary == 0.0:
        raise ValueError("volume must be > 0, got 0: the profile is over work / volume")
    affine = _among(affine, np.isfinite(times))
    _require_ranges(times, matrix, boundary, affine)
    try:
        found = Ring(times, matrix, 1.0, boundary, affine=affine).profile()
    except NotImplementedError:
        raise InfeasibleError(
            f"a profile is for up to {RING_EXACT} workers, cycle_times has"
            f" {int(np.isfinite(times).sum())}"
        ) from None
    works, sizes, rings, lengths, proven, least = found
    return RingProfile(
        ratios=check.frozen(works / boundary),
        rings=tuple(
            check.frozen(ring[:size].astype(np.int64))
            for ring, size in zip(rings, sizes.tolist(), strict=True)
        ),
        lengths=check.frozen(lengths / boundary),
        least_lengths=check.frozen(least / boundary),
        proven=check.frozen(proven),
        cycle_times=check.frozen(times),
        links=check.frozen(matrix),
        names=names_of(cycle_times, len(times)),
        volume=boundary,
        latencies=None if affine.latencies is None else check.frozen(affine.latencies),
        overheads=None if affine.overheads is None else check.frozen(affine.overheads),
    )


# ---- networks ------------------------------------------------------------------------------------


def _messages(ring: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Sender and receiver of each message of a ring; a message of a ring of two stands for two."""
    if len(ring) == 1:
        return []
    members, after, before = ring.tolist(), np.roll(ring, -1).tolist(), np.roll(ring, 1).tolist()
    pairs = zip(members, after, before, strict=True)
    return list(dict.fromkeys(pair for i, j, k in pairs for pair in ((i, j), (i, k))))


def network_of(
    p: int,
    table: NDArray[np.float64],
    duplex: bool,
    routes: Mapping[tuple[int, int], list[int]],
) -> Network:
    """The engine's network of (m, 3) links."""
    ends = np.ascontiguousarray(table[:, :2].astype(np.int32))
    return Network(p, ends, np.ascontiguousarray(table[:, 2]), duplex, routes)


# ---- arguments -----------------------------------------------------------------------------------


def _link_sums(links: NDArray[np.float64], ring: NDArray[np.int64]) -> NDArray[np.float64]:
    """(q,) sum of each member's links to the next member and to the one before."""
    if len(ring) == 1:
        return np.zeros(1)
    sums: NDArray[np.float64] = links[ring, np.roll(ring, -1)] + links[ring, np.roll(ring, 1)]
    return sums


def matrix_of(name: str, given: ArrayLike, p: int) -> NDArray[np.float64]:
    """(p, p) numbers >= 0, 0 from each worker to itself.

    A single number for all of them is broadcast, which takes no memory.
    """
    if np.isscalar(given):
        return np.broadcast_to(np.float64(check.number(name, given, low=0.0)), (p, p))
    return link_matrix(given, p, name)


def _fixed_costs(
    p: int, volume: Any, latencies: ArrayLike | None, overheads: ArrayLike | None
) -> tuple[float, Affine]:
    """The volume, latencies and overheads of `slice_ring`, checked."""
    return _amount("volume", volume, low=0.0), Affine(
        None if latencies is None else matrix_of("latencies", latencies, p),
        None if overheads is None else check.each("overheads", overheads, p),
    )


def _among(affine: Affine, able: NDArray[np.bool_]) -> Affine:
    """The fixed times, None instead of those that are 0 for all workers that can work."""
    latencies, overheads = affine
    if latencies is not None:
        alike = not any(latencies.strides)
        own = latencies[:1, :1] if alike else latencies[np.ix_(able, able)]
        latencies = latencies if own.any() else None
    if overheads is not None and not overheads[able].any():
        overheads = None
    return Affine(latencies, overheads)


def _links(given: Any, links: ArrayLike | None, p: int) -> NDArray[np.float64]:
    """(p, p) links of the platform, or as given."""
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
    return matrix_of("links", links, p)


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


def _in_range(values: NDArray[np.float64], *, zero: bool = False) -> NDArray[np.bool_]:
    """Whether values are from 2**-200 to 2**200, or perhaps 0."""
    proper: NDArray[np.bool_] = (values >= _LEAST) & (values <= _MOST)
    return proper | (values == 0.0) if zero else proper


def _require_ranges(
    times: NDArray[np.float64], links: NDArray[np.float64], volume: float, affine: Affine
) -> None:
    """Raise ValueError for numbers out of their ranges."""
    if (bad := np.isfinite(times) & ~_in_range(times)).any():
        i = int(np.argmax(bad))
        raise ValueError(f"cycle_times[{i}] must be from 2**-200 to 2**200, got {times[i]:g}")
    for first, rows in check.row_blocks(_entries(links)):
        if (bad := ~_in_range(rows, zero=True)).any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            raise ValueError(
                f"links[{first + i}][{j}] must be 0 or from 2**-200 to 2**200, got {rows[i, j]:g}"
            )
    latencies, overheads = affine
    if overheads is not None and (bad := ~_in_range(overheads, zero=True)).any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"overheads[{i}] must be 0 or from 2**-200 to 2**200, got {overheads[i]:g}"
        )
    if latencies is None:
        return
    with np.errstate(over="ignore"):
        costs = volume * _entries(links, latencies) + _entries(latencies, links)
    if (bad := ~_in_range(costs, zero=True)).any():
        raise ValueError(
            f"volume * links + latencies must be 0 or from 2**-200 to 2**200, got {costs[bad][0]:g}"
        )


def _entries(*matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first of some matrices, or one entry of it if each is one number for all pairs."""
    part = slice(0, 1 if not any(any(matrix.strides) for matrix in matrices) else None)
    return matrices[0][part, part]
