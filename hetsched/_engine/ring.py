"""csrc/ring: rings of workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ffi import cancellable, doubles, ffi, int32s, lib
from .rows import over_rows

RING_EXACT: int = lib.HS_RING_EXACT
RING_MOST: int = lib.HS_RING_MOST

#: The numbers of hs_ring_method, by the names that `slice_ring` gives them.
BATCHED = {
    "exact": lib.HS_RING_METHOD_EXACT,
    "best": lib.HS_RING_METHOD_BEST,
    "search": lib.HS_RING_METHOD_SEARCH,
    "multistart": lib.HS_RING_METHOD_MULTISTART,
    "greedy": lib.HS_RING_METHOD_GREEDY,
}


def ring_batch(
    method: str,
    times: NDArray[np.float64],
    links: NDArray[np.float64],
    work: float,
    volume: float,
    relays: bool,
    rounds: int,
    seed: int,
    bound_rounds: int,
    threads: int,
    progress: Callable[[float], object] | None,
) -> tuple[NDArray[Any], ...]:
    """(rows, p) shares, (rows,) makespans, bounds and whether the rings are exact, of
    hs_ring_batch."""
    rows, p = times.shape
    shares = np.empty((rows, p))
    makespans = np.empty(rows)
    bounds = np.empty(rows)
    exact = np.empty(rows, np.int32)
    own_times = doubles(times.reshape(-1), rows * p)
    own_links = doubles(links.reshape(-1), rows * p * p)
    outputs = (
        (doubles(shares.reshape(-1)), p),
        (doubles(makespans), 1),
        (doubles(bounds), 1),
        (int32s(exact), 1),
    )

    def call(first: int, last: int, cancel: Any) -> int:
        own = ffi.new(
            "hs_ring *", (p, own_times + first * p, own_links + first * p * p, work, volume, relays)
        )
        found = (view + first * width for view, width in outputs)
        given = BATCHED[method], last - first, own, rounds, seed, bound_rounds, cancel
        return lib.hs_ring_batch(*given, *found)  # type: ignore[no-any-return]

    over_rows(call, rows, threads, progress)
    return shares, makespans, bounds, exact.astype(bool)


class Ring:
    """An hs_ring and the arrays that it points to; rings are int32 arrays of its workers."""

    def __init__(
        self,
        times: NDArray[np.float64],
        links: NDArray[np.float64],
        work: float,
        volume: float,
        relays: bool = False,
    ) -> None:
        self.p = len(times)
        self._views = doubles(times), doubles(links.reshape(-1), self.p**2)
        self.handle = ffi.new("hs_ring *", (self.p, *self._views, work, volume, relays))

    def _found(self, function: Any, *given: Any, long: bool) -> NDArray[np.int32]:
        ring, size, makespan = np.empty(self.p, np.int32), ffi.new("int32_t *"), ffi.new("double *")
        cancellable(
            lambda cancel: function(self.handle, *given, cancel, int32s(ring), size, makespan), long
        )
        return ring[: size[0]].copy()

    def greedy(self, first: int) -> NDArray[np.int32]:
        """Ring of hs_ring_greedy."""
        return self._found(lib.hs_ring_greedy, first, long=self.p > (80 if first < 0 else 1000))

    def exact(self) -> NDArray[np.int32]:
        """Ring of hs_ring_exact."""
        return self._found(lib.hs_ring_exact, long=self.p > 8)

    def search(
        self, ring: NDArray[np.int32], rounds: int, seed: int
    ) -> tuple[NDArray[np.int32], int, float]:
        """Ring, state of the random numbers and makespan that hs_ring_search found from a ring."""
        found, size = np.resize(ring, self.p), ffi.new("int32_t *", len(ring))
        state, makespan = ffi.new("uint64_t *", seed), ffi.new("double *")
        outputs = int32s(found), size, state, makespan
        cancellable(lambda cancel: lib.hs_ring_search(self.handle, rounds, cancel, *outputs), True)
        return found[: size[0]].copy(), state[0], makespan[0]

    def shortest(self) -> NDArray[np.int32]:
        """Ring of hs_ring_shortest."""
        ring = np.empty(self.p, np.int32)
        cancellable(
            lambda cancel: lib.hs_ring_shortest(self.handle, cancel, int32s(ring)), self.p > 14
        )
        return ring

    def tour(
        self, ring: NDArray[np.int32], rounds: int, seed: int
    ) -> tuple[NDArray[np.int32], int]:
        """Ring and state of the random numbers of hs_ring_tour, from a ring of all workers."""
        found, state = np.array(ring, np.int32), ffi.new("uint64_t *", seed)
        cancellable(
            lambda cancel: lib.hs_ring_tour(self.handle, rounds, cancel, int32s(found), state), True
        )
        return found, state[0]

    def lengths(self) -> NDArray[np.float64]:
        """(2^p,) lengths of hs_ring_lengths."""
        lengths = np.empty(2**self.p)
        cancellable(
            lambda cancel: lib.hs_ring_lengths(self.handle, cancel, doubles(lengths)), self.p > 14
        )
        return lengths

    def shares(self, ring: NDArray[np.int32]) -> tuple[NDArray[np.float64], float]:
        """Shares and makespan of hs_ring_shares."""
        shares, makespan = np.empty(self.p), ffi.new("double *")
        given, found = (self.handle, len(ring), int32s(ring)), (doubles(shares), makespan)
        cancellable(lambda cancel: lib.hs_ring_shares(*given, cancel, *found), self.p > 1000)
        return shares, makespan[0]

    def bound(self, makespan: float, rounds: int) -> float:
        """hs_ring_bound."""
        bound = ffi.new("double *")
        cancellable(
            lambda cancel: lib.hs_ring_bound(self.handle, makespan, rounds, cancel, bound),
            self.p > 200,
        )
        return bound[0]  # type: ignore[no-any-return]
