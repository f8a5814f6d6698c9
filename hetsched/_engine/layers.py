"""csrc/layers: layers of the inner dimension on a star."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ffi import LONG, cancellable, check_status, doubles, ffi, int32s, int64s, lib, or_null
from .rows import over_rows

MODES = {"scss": lib.HS_SCSS, "sccs": lib.HS_SCCS, "pccs": lib.HS_PCCS, "pcss": lib.HS_PCSS}
METHODS = {"exact": lib.HS_LAYERS_EXACT, "best": lib.HS_LAYERS_BEST, "paper": lib.HS_LAYERS_PAPER}
MOST: float = lib.HS_LAYERS_MOST


class Layers:
    """An hs_layers and the arrays that it points to; orders are int32 arrays of all workers."""

    def __init__(
        self,
        mode: str,
        n: int,
        compute: NDArray[np.float64],
        send: NDArray[np.float64],
        most: NDArray[np.int64] | None = None,
    ) -> None:
        self.n, self.p = n, len(compute)
        p = self.p
        self._views = doubles(compute), doubles(send, p), or_null(most, int64s, p)
        self.handle = ffi.new("hs_layers *", (MODES[mode], p, n, *self._views))

    def schedule(
        self, order: NDArray[np.int32], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], float]:
        """(3, p) start and end of the message, end of the work; makespan of hs_layers_schedule."""
        times, makespan = np.empty((3, self.p)), ffi.new("double *")
        views = int32s(order, self.p), int64s(counts, self.p)
        check_status(lib.hs_layers_schedule(self.handle, *views, *map(doubles, times), makespan))
        return times, makespan[0]

    def relaxed(self, order: NDArray[np.int32] | None = None) -> tuple[NDArray[np.float64], float]:
        """Shares and makespan of hs_layers_relaxed."""
        shares, makespan = np.empty(self.p), ffi.new("double *")
        check_status(
            lib.hs_layers_relaxed(
                self.handle, or_null(order, int32s, self.p), doubles(shares), makespan
            )
        )
        return shares, makespan[0]

    def bound(self) -> float:
        """hs_layers_bound."""
        bound = ffi.new("double *")
        cancellable(lambda cancel: lib.hs_layers_bound(self.handle, cancel, bound), self.p > LONG)
        return bound[0]  # type: ignore[no-any-return]

    def paper(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Shares and counts of hs_layers_paper, by index."""
        shares, counts = np.empty(self.p), np.empty(self.p, np.int64)
        check_status(lib.hs_layers_paper(self.handle, ffi.NULL, doubles(shares), int64s(counts)))
        return shares, counts

    def exact(self) -> tuple[NDArray[np.int64], bool]:
        """Counts of hs_layers_exact by index, and whether they are proven optimal."""
        counts, optimal = np.empty(self.p, np.int64), ffi.new("int *")
        outputs = int64s(counts), optimal
        cancellable(
            lambda cancel: lib.hs_layers_exact(self.handle, ffi.NULL, cancel, *outputs), self.p > 50
        )
        return counts, bool(optimal[0])

    def best(self, work: int) -> tuple[NDArray[np.int32], NDArray[np.int64], bool]:
        """Order and counts of hs_layers_best, and whether they are proven optimal."""
        order = np.empty(self.p, np.int32)
        counts = np.empty(self.p, np.int64)
        optimal = ffi.new("int *")
        outputs = int32s(order), int64s(counts), optimal
        cancellable(
            lambda cancel: lib.hs_layers_best(self.handle, work, cancel, *outputs), self.p > 6
        )
        return order, counts, bool(optimal[0])


def is_brief_batch(method: str, rows: int, p: int) -> bool:
    """Whether `layers_batch` takes less time than the start of threads for it."""
    return rows * p * p * (p if method == "best" else 1) <= LONG // 10


def layers_batch(
    method: str,
    mode: str,
    n: int,
    compute: NDArray[np.float64],
    send: NDArray[np.float64],
    most: NDArray[np.int64] | None,
    work: int,
    threads: int,
    progress: Callable[[float], object] | None,
) -> tuple[NDArray[Any], ...]:
    """(rows, p) orders and counts, (rows,) makespans, bounds and whether they are optimal, of
    hs_layers_batch."""
    rows, p = compute.shape
    order = np.empty((rows, p), np.int32)
    counts = np.empty((rows, p), np.int64)
    proven = np.empty(rows, np.int32)
    makespans, bounds = np.empty(rows), np.empty(rows)
    times, messages = doubles(compute.reshape(-1), rows * p), doubles(send.reshape(-1), rows * p)
    limits = None if most is None else int64s(most.reshape(-1), rows * p)
    outputs = (
        (int32s(order.reshape(-1)), p),
        (int64s(counts.reshape(-1)), p),
        (doubles(makespans), 1),
        (doubles(bounds), 1),
        (int32s(proven), 1),
    )

    def call(first: int, last: int, cancel: Any) -> int:
        room = ffi.NULL if limits is None else limits + first * p
        own = ffi.new(
            "hs_layers *", (MODES[mode], p, n, times + first * p, messages + first * p, room)
        )
        found = (view + first * width for view, width in outputs)
        return lib.hs_layers_batch(METHODS[method], last - first, own, work, cancel, *found)  # type: ignore[no-any-return]

    over_rows(call, rows, threads, progress)
    return order, counts, makespans, bounds, proven.astype(bool)
