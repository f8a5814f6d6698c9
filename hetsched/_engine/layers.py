"""csrc/layers: layers of the inner dimension on a star."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ffi import (
    LONG,
    cancellable,
    certificate,
    check_status,
    doubles,
    ffi,
    int32s,
    int64s,
    lib,
    or_null,
)
from .rows import over_rows

MODES = {"scss": lib.HS_SCSS, "sccs": lib.HS_SCCS, "pccs": lib.HS_PCCS, "pcss": lib.HS_PCSS}
METHODS = {
    "exact": lib.HS_LAYERS_EXACT,
    "best": lib.HS_LAYERS_BEST,
    "paper": lib.HS_LAYERS_PAPER,
    "given": lib.HS_LAYERS_GIVEN,
}
MOST: float = lib.HS_LAYERS_MOST
SIDE: int = lib.HS_LAYERS_SIDE


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

    def exact(self) -> tuple[NDArray[np.int64], bool]:
        """Counts of hs_layers_exact by index, and whether they are proven optimal."""
        counts, optimal = np.empty(self.p, np.int64), ffi.new("int *")
        outputs = int64s(counts), optimal
        cancellable(
            lambda cancel: lib.hs_layers_exact(self.handle, ffi.NULL, cancel, *outputs), self.p > 50
        )
        return counts, bool(optimal[0])


def is_brief_batch(method: str, rows: int, p: int) -> bool:
    """Whether `layers_batch` takes less time than the start of threads for it."""
    return rows * p * p * (p if method == "best" else 1) <= LONG // 10


class LayersFound(NamedTuple):
    """What hs_layers_plan finds, and its certificate."""

    counts: NDArray[np.int64]
    order: NDArray[np.int64]  #: (served,)
    receive: NDArray[np.float64]  #: (p, 2)
    compute: NDArray[np.float64]  #: (p, 2)
    shares: NDArray[np.float64]
    relaxed: float
    proof: dict[str, Any]


def layers_plan(
    method: str,
    mode: str,
    n: int,
    cycle_times: NDArray[np.float64],
    link_costs: NDArray[np.float64],
    memory: NDArray[np.float64],
    disk: bool,
    given: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> LayersFound:
    """hs_layers_plan; given: order and counts for method "given"."""
    p = len(cycle_times)
    counts, order = np.zeros(p, np.int64), np.empty(p, np.int32)
    receive, compute, shares = np.empty((p, 2)), np.empty((p, 2)), np.empty(p)
    served = 0
    if given is not None:
        served = len(given[0])
        order[:served], counts[:] = given
    found = ffi.new(
        "hs_layers_result *",
        (
            int64s(counts), int32s(order), served, doubles(receive.reshape(-1)),
            doubles(compute.reshape(-1)), doubles(shares), 0.0,
        ),
    )  # fmt: skip
    views = doubles(cycle_times), doubles(link_costs, p), doubles(memory, p)
    product = ffi.new("hs_layers_product *", (MODES[mode], p, n, *views, disk))
    proof = ffi.new("hs_certificate *")
    cancellable(
        lambda cancel: lib.hs_layers_plan(product, METHODS[method], cancel, found, proof),
        p > (6 if method == "best" else 50),
    )
    return LayersFound(
        counts=counts,
        order=order[: found.served].astype(np.int64),
        receive=receive,
        compute=compute,
        shares=shares,
        relaxed=found.relaxed,
        proof=certificate(proof, "makespan"),
    )


def layers_room(n: int, beside: int, memory: NDArray[np.float64]) -> NDArray[np.int64]:
    """hs_layers_room, for memories of any shape."""
    most = np.empty(memory.shape, np.int64)
    views = doubles(np.ascontiguousarray(memory).reshape(-1)), int64s(most.reshape(-1))
    check_status(lib.hs_layers_room(n, beside, memory.size, *views))
    return most


def layers_batch(
    method: str,
    mode: str,
    n: int,
    cycle_times: NDArray[np.float64],
    link_costs: NDArray[np.float64],
    memory: NDArray[np.float64],
    disk: bool,
    threads: int,
    progress: Callable[[float], object] | None,
) -> dict[str, NDArray[Any]]:
    """(rows,) makespans, bounds and whether they are optimal, (rows, p) counts, of
    hs_layers_batch."""
    rows, p = cycle_times.shape
    counts = np.empty((rows, p), np.int64)
    makespans, bounds, optimal = np.empty(rows), np.empty(rows), np.empty(rows, np.int32)
    times = doubles(cycle_times.reshape(-1), rows * p)
    costs = doubles(link_costs.reshape(-1), rows * p)
    limits = doubles(memory.reshape(-1), rows * p)
    whole = int64s(counts.reshape(-1))
    numbers = doubles(makespans), doubles(bounds), int32s(optimal)

    def call(first: int, last: int, cancel: Any) -> int:
        at = first * p
        own = ffi.new(
            "hs_layers_product *", (MODES[mode], p, n, times + at, costs + at, limits + at, disk)
        )
        found = (view + first for view in numbers)
        return lib.hs_layers_batch(METHODS[method], last - first, own, cancel, whole + at, *found)  # type: ignore[no-any-return]

    over_rows(call, rows, threads, progress)
    return {
        "makespan": makespans,
        "bound": bounds,
        "optimal": optimal.astype(bool),
        "counts": counts,
    }
