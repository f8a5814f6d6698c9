"""csrc/ring: rings of workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ffi import LONG, cancellable, certificate, doubles, effort, ffi, int32s, int64s, lib, or_null
from .rows import over_rows

RING_EXACT: int = lib.HS_RING_EXACT
RING_MOST: int = lib.HS_RING_MOST
SHARED_EXACT: int = lib.HS_RING_SHARED_EXACT
SHARED_MOST: int = lib.HS_RING_SHARED_MOST

#: The numbers of hs_ring_method, by the names that `slice_ring` gives them.
METHODS = {
    "exact": lib.HS_RING_METHOD_EXACT,
    "best": lib.HS_RING_METHOD_BEST,
    "search": lib.HS_RING_METHOD_SEARCH,
    "multistart": lib.HS_RING_METHOD_MULTISTART,
    "greedy": lib.HS_RING_METHOD_GREEDY,
    "all": lib.HS_RING_METHOD_ALL,
}
_NAMES = {number: name for name, number in METHODS.items()}

#: More workers than these may take longer than a few milliseconds; a search always may.
_BRIEF = {"exact": 8, "best": 8, "search": 0, "multistart": 80, "greedy": 200, "all": 14}


class Affine(NamedTuple):
    """Fixed times: (p, p) of each message, and (p,) of each member's update."""

    latencies: NDArray[np.float64] | None = None
    overheads: NDArray[np.float64] | None = None


_LINEAR = Affine()


class Ring:
    """An hs_ring and the arrays that it points to.

    A matrix of links or latencies with strides of 0 is one number for all pairs. With links of
    three dimensions, times and links are a stack, and the other numbers hold for all its rows.
    """

    def __init__(
        self,
        times: NDArray[np.float64],
        links: NDArray[np.float64],
        work: float,
        volume: float,
        relays: bool = False,
        affine: Affine = _LINEAR,
    ) -> None:
        self.p = times.shape[-1]
        self.rows = times.size // self.p
        self._times = doubles(times.reshape(-1))
        own_links, link = _matrix(links, self.rows * self.p**2)
        latencies, latency = _matrix(affine.latencies, self.p**2)
        self._views = own_links, latencies, or_null(affine.overheads, doubles, self.p)
        self._numbers = (work, volume, relays, link, latencies, latency, self._views[2])
        self.handle = self._row(0)

    def _row(self, row: int) -> Any:
        links = self._views[0]
        own = links if links == ffi.NULL else links + row * self.p**2
        return ffi.new("hs_ring *", (self.p, self._times + row * self.p, own, *self._numbers))

    def best(self, method: str, seed: int, seconds: float | None) -> dict[str, Any]:
        """The method, ring, shares and certificate of hs_ring_best."""
        ring, shares = np.empty(self.p, np.int32), np.empty(self.p)
        size, used = ffi.new("int32_t *"), ffi.new("hs_ring_method *")
        proof = ffi.new("hs_certificate *")
        given = self.handle, METHODS[method], effort(seed, seconds)
        found = int32s(ring), size, doubles(shares), used, proof
        cancellable(
            lambda cancel: lib.hs_ring_best(*given, cancel, *found), self.p > _BRIEF[method]
        )
        return {
            "method": _NAMES[used[0]],
            "ring": ring[: size[0]].astype(np.int64),
            "shares": shares,
            **certificate(proof, "makespan"),
        }

    def batch(
        self,
        method: str,
        seed: int,
        seconds: float | None,
        threads: int,
        progress: Callable[[float], object] | None,
    ) -> dict[str, NDArray[Any]]:
        """(rows, p) shares, (rows,) makespans, bounds and whether they are optimal, of
        hs_ring_batch."""
        shares = np.empty((self.rows, self.p))
        makespans, bounds = np.empty(self.rows), np.empty(self.rows)
        optimal = np.empty(self.rows, np.int32)
        given = METHODS[method], effort(seed, seconds)
        outputs = (
            (doubles(shares.reshape(-1)), self.p),
            (doubles(makespans), 1),
            (doubles(bounds), 1),
            (int32s(optimal), 1),
        )

        def call(first: int, last: int, cancel: Any) -> int:
            found = (view + first * width for view, width in outputs)
            return lib.hs_ring_batch(  # type: ignore[no-any-return]
                last - first, self._row(first), *given, cancel, *found
            )

        over_rows(call, self.rows, threads, progress)
        return {
            "makespan": makespans,
            "bound": bounds,
            "optimal": optimal.astype(bool),
            "shares": shares,
        }

    def certificate(
        self, ring: NDArray[np.int64], shares: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Makespan and bound of hs_ring_certificate for given shares."""
        proof, order = ffi.new("hs_certificate *"), ring.astype(np.int32)
        given = self.handle, len(order), int32s(order), doubles(shares, self.p)
        cancellable(
            lambda cancel: lib.hs_ring_certificate(*given, cancel, proof), self.p > _BRIEF["exact"]
        )
        return proof.value, proof.bound

    def profile(self) -> tuple[NDArray[Any], ...]:
        """Works, sizes, (k, p) rings, lengths, whether they are proven, and least lengths, of
        hs_ring_profile."""
        room, count = 0, ffi.new("int32_t *", 64)
        least = np.empty(self.p)
        while count[0] > room:
            room = count[0]
            works, lengths = np.empty(room), np.empty(room)
            sizes, proven = np.empty(room, np.int32), np.empty(room, np.int32)
            rings = np.empty((room, self.p), np.int32)
            found = (
                count,
                doubles(works),
                int32s(sizes),
                int32s(rings.reshape(-1)),
                doubles(lengths),
                int32s(proven),
                doubles(least),
            )
            cancellable(
                lambda cancel: lib.hs_ring_profile(self.handle, room, cancel, *found),  # noqa: B023
                self.p > _BRIEF["all"],
            )
        k = slice(0, count[0])
        return works[k], sizes[k], rings[k], lengths[k], proven[k].astype(bool), least

    def shortest(self) -> NDArray[np.int32]:
        """Ring of hs_ring_shortest."""
        ring = np.empty(self.p, np.int32)
        cancellable(
            lambda cancel: lib.hs_ring_shortest(self.handle, cancel, int32s(ring)), self.p > 14
        )
        return ring

    def lengths(self) -> NDArray[np.float64]:
        """(2^p,) lengths of hs_ring_lengths."""
        lengths = np.empty(2**self.p)
        cancellable(
            lambda cancel: lib.hs_ring_lengths(self.handle, cancel, doubles(lengths)), self.p > 14
        )
        return lengths


class Moves:
    """An hs_redistribution and the arrays that it points to.

    before, after : (q,) items of each member
    following, previous : (q,) time of an item to the next member and to the previous one; no
        previous: no items go that way
    """

    def __init__(
        self,
        before: NDArray[np.int64],
        after: NDArray[np.int64],
        following: NDArray[np.float64],
        previous: NDArray[np.float64] | None,
        closed: bool,
    ) -> None:
        self.size = q = len(before)
        views = int64s(before), int64s(after, q), doubles(following, q)
        self._views = *views, or_null(previous, doubles, q)
        self.handle = ffi.new("hs_redistribution *", (q, *self._views, closed))

    def best(self) -> dict[str, Any]:
        """The flows, their order and the certificate of hs_ring_redistribute."""
        flows, order = np.empty(self.size, np.int64), ffi.new("int32_t *")
        proof = ffi.new("hs_certificate *")
        found = int64s(flows), order, proof
        self._call(lambda cancel: lib.hs_ring_redistribute(self.handle, cancel, *found))
        return {
            "flows": flows,
            "next_first": bool(order[0]),
            **certificate(proof, "makespan"),
        }

    def certificate(self, flows: NDArray[np.int64], next_first: bool) -> tuple[float, float]:
        """Makespan and bound of hs_ring_redistribution_certificate."""
        proof = ffi.new("hs_certificate *")
        given = self.handle, int64s(flows, self.size), next_first
        self._call(lambda cancel: lib.hs_ring_redistribution_certificate(*given, cancel, proof))
        return proof.value, proof.bound

    def messages(self, flows: NDArray[np.int64], next_first: bool) -> tuple[NDArray[Any], ...]:
        """Senders, receivers, items, starts and periods of hs_ring_redistribution_messages."""
        given = self.handle, int64s(flows, self.size), next_first
        room, count = 0, ffi.new("int64_t *", 4 * self.size)
        while count[0] > room:
            room = count[0]
            ends = np.empty((2, room), np.int32)
            items, times = np.empty(room, np.int64), np.empty((2, room))
            found = count, int32s(ends[0]), int32s(ends[1]), int64s(items), *map(doubles, times)
            self._call(
                lambda cancel: lib.hs_ring_redistribution_messages(*given, room, cancel, *found)  # noqa: B023
            )
        k = slice(0, count[0])
        return ends[0, k], ends[1, k], items[k], times[0, k], times[1, k]

    def _call(self, call: Callable[[Any], int]) -> None:
        cancellable(call, self.size > LONG // 100)


class Network:
    """An hs_ring_network with the routes between p workers.

    Routes are the given ones, and the routes of hs_ring_routes for the other pairs.
    """

    def __init__(
        self,
        p: int,
        ends: NDArray[np.int32],
        costs: NDArray[np.float64],
        duplex: bool,
        given: Mapping[tuple[int, int], list[int]],
    ) -> None:
        self.p = p
        nodes = max(p, int(ends.max(initial=-1)) + 1)
        self._views = int32s(ends.reshape(-1)), doubles(costs)
        self.handle = ffi.new(
            "hs_ring_network *", (nodes, len(costs), *self._views, duplex, ffi.NULL, ffi.NULL)
        )
        self.first, self.hops = np.zeros(p * p + 1, np.int64), np.zeros(1, np.int32)
        for _ in range(2):
            room = self.hops.size
            found = int64s(self.first), int32s(self.hops)
            cancellable(
                lambda cancel: lib.hs_ring_routes(p, self.handle, room, cancel, *found),  # noqa: B023
                p > _BRIEF["multistart"],
            )
            if self.first[-1] <= room:
                break
            self.hops = np.zeros(int(self.first[-1]), np.int32)
        if given:
            routes = [given.get(divmod(k, p), self._at(k)) for k in range(p * p)]
            self.first = np.cumsum([0, *map(len, routes)], dtype=np.int64)
            self.hops = np.array([0, *(link for route in routes for link in route)], np.int32)[1:]
        self._routes = int64s(self.first), int32s(self.hops)
        self.handle.first, self.handle.hops = self._routes

    def _at(self, pair: int) -> list[int]:
        hops: list[int] = self.hops[self.first[pair] : self.first[pair + 1]].tolist()
        return hops

    def route(self, i: int, j: int) -> list[int]:
        """The links from worker i to worker j."""
        return self._at(i * self.p + j)

    def best(self, problem: Ring, method: str, seed: int, seconds: float | None) -> dict[str, Any]:
        """The method, ring, links, shares and certificate of hs_ring_shared_best."""
        ring, size = np.empty(self.p, np.int32), ffi.new("int32_t *")
        used = ffi.new("hs_ring_method *")
        links, shares, proof = *self._outputs(), ffi.new("hs_certificate *")
        given = problem.handle, self.handle, METHODS[method], effort(seed, seconds)
        found = int32s(ring), size, doubles(links.reshape(-1)), doubles(shares), used, proof
        cancellable(lambda cancel: lib.hs_ring_shared_best(*given, cancel, *found), self.p > 4)
        return {
            "method": _NAMES[used[0]],
            "ring": ring[: size[0]].astype(np.int64),
            "links": links,
            "shares": shares,
            **certificate(proof, "makespan"),
        }

    def bandwidths(self, problem: Ring, ring: NDArray[np.int64]) -> dict[str, Any]:
        """The links, shares and certificate of hs_ring_bandwidths."""
        links, shares, proof = *self._outputs(), ffi.new("hs_certificate *")
        given = problem.handle, self.handle, len(ring), int32s(ring.astype(np.int32))
        found = doubles(links.reshape(-1)), doubles(shares), proof
        cancellable(lambda cancel: lib.hs_ring_bandwidths(*given, cancel, *found), self.p > 8)
        return {"links": links, "shares": shares, **certificate(proof, "makespan")}

    def certificate(
        self, problem: Ring, ring: NDArray[np.int64], shares: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Makespan and bound of hs_ring_shared_certificate for given bandwidths and shares."""
        proof, order = ffi.new("hs_certificate *"), ring.astype(np.int32)
        given = problem.handle, self.handle, len(order), int32s(order), doubles(shares, self.p)
        cancellable(
            lambda cancel: lib.hs_ring_shared_certificate(*given, cancel, proof), self.p > 8
        )
        return proof.value, proof.bound

    def _outputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.empty((self.p, self.p)), np.empty(self.p)


def _matrix(given: NDArray[np.float64] | None, count: int) -> tuple[Any, float]:
    """The memory of a matrix, or NULL and the number that stands for all its entries."""
    if given is None:
        return ffi.NULL, 0.0
    if not any(given.strides):
        return ffi.NULL, float(given.reshape(-1)[0])
    return doubles(given.reshape(-1), count), 0.0
