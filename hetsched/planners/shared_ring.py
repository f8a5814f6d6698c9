"""Slices of a matrix on a ring of workers, with messages that share the links of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check
from .._engine.ring import SHARED_EXACT, SHARED_MOST, Ring
from ..errors import InfeasibleError
from ..plan import trusted
from ..platform import Platform, whose
from .ring import SliceRing, _among, _in_range, _messages, _require_ranges, _Step, network_of

_METHODS = ("best", "exact", "search", "greedy")
_MOST_NODES = 2**14


def shared_ring(
    cycle_times: Platform | check.Vector | None = None,
    network: ArrayLike | None = None,
    work: float | None = None,
    volume: float | None = None,
    method: str = "best",
    *,
    speeds: check.Vector | None = None,
    duplex: bool = False,
    routes: Mapping[tuple[int, int], Sequence[int]] | None = None,
    ring: Sequence[int] | None = None,
    latencies: ArrayLike | None = None,
    overheads: ArrayLike | None = None,
    seed: int = 0,
    budget: float | None = None,
) -> SliceRing:
    """Choose workers, a ring, shares, and bandwidths on a network with links that messages share.

    Like `slice_ring`, but messages between neighbours on the ring take routes through a network,
    and several of them may use one link. Each message gets a bandwidth. All messages over a link
    together get at most the bandwidth of the link.

    Parameters
    ----------
    cycle_times : Platform or (p,) array_like
        Time per unit of work, > 0. A worker with an infinite cycle-time is left out, but messages
        may pass through it. Link costs of a Platform are not used.
    network : (m, 3) array_like
        (node, node, time per unit of volume) of each link. The nodes 0 to p - 1 are the workers,
        further ones are routers. A link leads both ways. 0 means that it has no limit. Two links
        may join the same nodes.
    work, volume : float
        See `slice_ring`.
    method : {"best", "exact", "search", "greedy"}
        "exact": all rings, for up to 10 workers; seconds for 10. "search": local search from greedy
        rings, for up to 64 workers. "best": "exact" for up to 8 workers, otherwise "search".
        "greedy": the ring grows from the fastest worker by the worker, at the place, with which a
        step is shortest if each link is divided fairly.
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    duplex : bool
        Whether each direction of a link has its bandwidth. By default both directions share it.
    routes : mapping, optional
        (i, j) -> the rows of `network` on the route from worker i to worker j, in order. For other
        pairs: the route with the fewest links, and of these the one with the fastest slowest link.
    ring : sequence of int, optional
        The members in order, instead of a method: only the bandwidths and shares are computed.
    latencies : (p, p) array_like or float, optional
        See `slice_ring`.
    overheads : (p,) array_like or float, optional
        See `slice_ring`.
    seed : int
        Seed of the search.
    budget : float, optional
        Seconds for the search. Default: a fixed number of rings, which takes some seconds for 64
        workers.

    Returns
    -------
    SliceRing
        `links` holds 1 / bandwidth of the messages of the ring; for other pairs it holds the time
        per unit of volume if a message had its route alone. `hops` has the routes, `link_use` the
        part of each link that is used. lower_bound holds for all rings with these routes. Members
        may be relays, without work.

    Raises
    ------
    InfeasibleError
        For more workers than the method can take, and for a network that does not connect all
        workers.
    ValueError, TypeError
        For arguments outside their ranges.

    Notes
    -----
    Legrand, Renard, Robert, Vivien, "Mapping and load-balancing iterative computations", IEEE
    Transactions on Parallel and Distributed Systems 15(6), 2004. To choose the ring is NP-complete.
    The bandwidths of a ring are a convex problem. Its dual gives the bound. All 2 q messages of a
    step keep their bandwidths during the whole step, also while their senders compute.

    Examples
    --------
    Four workers on one switch, behind links of which each carries four messages:

    >>> import hetsched as hs
    >>> star = [(i, 4, 1.0) for i in range(4)]
    >>> plan = hs.shared_ring([1.0, 1.0, 2.0, 2.0], star, work=60, volume=1)
    >>> plan.ring.tolist(), round(plan.makespan, 3), plan.link_use.round(3).tolist()
    ([0, 2, 1, 3], 27.771, [1.0, 1.0, 1.0, 1.0])
    >>> alone = hs.slice_ring([1.0, 1.0, 2.0, 2.0], 1.0, work=60, volume=1)
    >>> round(alone.makespan, 3)
    22.0
    """
    times = check.cycle_times(cycle_times, speeds)
    p = len(times)
    if isinstance(cycle_times, Platform) and (
        cycle_times.links is not None or cycle_times.shape is not None
    ):
        raise TypeError(
            "cycle_times must be numbers or a Platform without links between workers: network"
            " has the links"
        )
    if not isinstance(duplex, bool | np.bool_):
        raise TypeError(f"duplex must be True or False, got {duplex!r}")
    check.choice("method", method, _METHODS)
    table = _table(network)
    step = _Step.of(p, work, volume, method, True, seed, budget, latencies, overheads)
    affine = _among(step.affine, np.isfinite(times))
    none = np.broadcast_to(np.float64(0.0), (p, p))
    _require_ranges(times, none, step.volume, affine)
    able = int(np.isfinite(times).sum())
    most = SHARED_EXACT if method == "exact" and ring is None else SHARED_MOST
    if able > most:
        what = f'method "{method}"' if ring is None else "a given ring"
        raise InfeasibleError(f"{what} is for up to {most} workers, got {able}")
    try:
        net = network_of(p, table, bool(duplex), _routes(routes, table, p))
    except InfeasibleError:
        raise InfeasibleError("network does not connect all workers") from None
    engine = Ring(times, none, step.work, step.volume, True, affine)
    if ring is None:
        found = net.best(engine, step.method, step.seed, step.budget)
        asked = step.method
    else:
        order = _ring(ring, times)
        found = net.bandwidths(engine, order) | {"ring": order, "method": "given"}
        asked = "given"
    hops = [(i, j, link) for i, j in _messages(found["ring"]) for link in net.route(i, j)]
    arrays = {name: check.frozen(found[name]) for name in ("ring", "shares", "links")}
    return trusted(
        SliceRing,
        **found | arrays,
        asked=asked,
        work=step.work,
        volume=step.volume,
        relays=True,
        cycle_times=check.frozen(times),
        latencies=None if affine.latencies is None else check.frozen(affine.latencies),
        overheads=None if affine.overheads is None else check.frozen(affine.overheads),
        network=check.frozen(table),
        hops=check.frozen(np.array(hops, np.int64).reshape(-1, 3)),
        duplex=bool(duplex),
        **whose(cycle_times, p),
    )


def _table(network: Any) -> NDArray[np.float64]:
    """(m, 3) links of the network, checked."""
    table = check.links("network", network, "node, node, time per unit of volume", _MOST_NODES)
    if (bad := ~_in_range(table[:, 2], zero=True)).any():
        k = int(np.argmax(bad))
        raise ValueError(
            f"network[{k}][2] must be 0 or from 2**-200 to 2**200, got {table[k, 2]:g}"
        )
    return table


def _routes(given: Any, table: NDArray[np.float64], p: int) -> dict[tuple[int, int], list[int]]:
    """The given routes, checked."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"routes must map pairs of workers to links, got {given!r:.60}")
    found = {}
    for pair, links in given.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"routes has the key {pair!r:.60}, which is not a pair of workers")
        i, j = (check.integer("a worker of routes", x, low=0, high=p - 1) for x in pair)
        route = [
            check.integer(f"a link of routes[{i}, {j}]", x, low=0, high=len(table) - 1)
            for x in check.entries(f"routes[{i}, {j}]", links, "a sequence of links")
        ]
        node = i
        for link in route:
            ends = table[link, :2].astype(int).tolist()
            if node not in ends:
                raise ValueError(f"routes[{i}, {j}]: link {link} does not go on from node {node}")
            node = ends[1] if node == ends[0] else ends[0]
        if node != j or len(set(route)) < len(route):
            raise ValueError(f"routes[{i}, {j}] must lead from {i} to {j}, and take no link twice")
        found[i, j] = route
    return found


def _ring(given: Any, times: NDArray[np.float64]) -> NDArray[np.int64]:
    """The given ring in the order of plans: from the lowest worker on, to its lower neighbour."""
    members = [
        check.integer("a worker of ring", i, low=0, high=len(times) - 1)
        for i in check.entries("ring", given, "a sequence of workers")
    ]
    if not members or len(set(members)) < len(members):
        raise ValueError("ring must have workers, and no worker twice")
    if np.isinf(times[members]).any():
        raise ValueError("ring must have no worker with an infinite cycle-time")
    first = members.index(min(members))
    turned = members[first:] + members[:first]
    if len(turned) > 2 and turned[1] > turned[-1]:
        turned[1:] = turned[:0:-1]
    return np.array(turned, np.int64)
