"""Stages of the planners in C that only tests call by themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetsched._engine import layers
from hetsched._engine.ffi import (
    LONG,
    cancellable,
    check_status,
    doubles,
    ffi,
    int32s,
    int64s,
    lib,
    or_null,
)

# ---- partition -----------------------------------------------------------------------------------


def partition_columns(
    areas: NDArray[np.float64], aspect: float, max_columns: int, max_rows: int, min_columns: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """order and column_start of hs_partition_columns."""
    p = len(areas)
    order, starts = np.empty(p, np.int32), np.empty(p + 1, np.int32)
    columns, cost = ffi.new("int32_t *"), ffi.new("double *")
    given = (p, doubles(areas), aspect, min_columns, max_columns, max_rows)
    found = (int32s(order), int32s(starts), columns, cost)
    cancellable(lambda cancel: lib.hs_partition_columns(*given, cancel, *found), p > LONG // 2)
    starts = starts[: columns[0] + 1].copy()
    return order[: starts[-1]].copy(), starts


def partition_contiguous(
    m: int, n: int, areas: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Workers and (pieces, 4) rectangles of hs_partition_contiguous."""
    p = len(areas)
    workers, rects = np.empty(3 * p, np.int32), np.empty((3 * p, 4), np.int64)
    pieces = ffi.new("int32_t *")
    found = int32s(workers), int64s(rects.reshape(-1)), pieces
    check_status(lib.hs_partition_contiguous(m, n, p, doubles(areas), ffi.NULL, *found))
    return workers[: pieces[0]], rects[: pieces[0]]


def partition_interval(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    reach: int = 0,
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_interval, without an order and groups."""
    p = len(areas)
    plan, length, cost = np.empty(2 * p, np.int32), ffi.new("int32_t *"), ffi.new("double *")
    given = p, doubles(areas), or_null(weights, doubles, p), aspect, ffi.NULL, ffi.NULL, 0.0, reach
    found = int32s(plan), length, cost
    cancellable(lambda cancel: lib.hs_partition_interval(*given, cancel, *found), p > 60)
    return plan[: length[0]].copy(), cost[0]


# The numbers of hs_rule, by the names that `partition` gives them.
RULES = {
    "rows": lib.HS_RULE_ROWS,
    "kalinov-lastovetsky": lib.HS_RULE_KALINOV_LASTOVETSKY,
    "recursive": lib.HS_RULE_RECURSIVE,
    "nagamochi-abe": lib.HS_RULE_NAGAMOCHI_ABE,
    "snrpp": lib.HS_RULE_SNRPP,
    "kaddoura": lib.HS_RULE_KADDOURA,
    "mohammadi-behroozi": lib.HS_RULE_MOHAMMADI_BEHROOZI,
}


def partition_rule(
    rule: str, areas: NDArray[np.float64], aspect: float = 1.0
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_rule; rule is one of RULES."""
    plan = np.empty(2 * len(areas), np.int32)
    length, cost = ffi.new("int32_t *"), ffi.new("double *")
    given = RULES[rule], len(areas), doubles(areas), aspect
    found = int32s(plan), length, cost
    cancellable(lambda cancel: lib.hs_partition_rule(*given, cancel, *found), len(areas) > LONG)
    return plan[: length[0]].copy(), cost[0]


# ---- cuboids -------------------------------------------------------------------------------------


def partition_cuboids(
    volumes: NDArray[np.float64],
    faces: NDArray[np.float64],
    axes: int,
    order: NDArray[np.int32] | None,
    tries: int,
    seed: int,
) -> tuple[NDArray[np.int32], float]:
    """tree and cost of hs_partition_cuboids."""
    p = len(volumes)
    tree, length, cost = np.empty(2 * p - 1, np.int32), ffi.new("int32_t *"), ffi.new("double *")
    given = (
        p,
        doubles(volumes),
        doubles(faces, 3),
        axes,
        or_null(order, int32s, int(np.count_nonzero(volumes))),
        tries,
        seed,
    )
    cancellable(
        lambda cancel: lib.hs_partition_cuboids(*given, cancel, int32s(tree), length, cost), p > 16
    )
    return tree[: length[0]].copy(), cost[0]


def partition_cuboids_exact(
    volumes: NDArray[np.float64], faces: NDArray[np.float64], axes: int
) -> tuple[NDArray[np.int32], float]:
    """tree and cost of hs_partition_cuboids_exact."""
    p = len(volumes)
    tree, length, cost = np.empty(2 * p - 1, np.int32), ffi.new("int32_t *"), ffi.new("double *")
    given, found = (p, doubles(volumes), doubles(faces, 3), axes), (int32s(tree), length, cost)
    cancellable(lambda cancel: lib.hs_partition_cuboids_exact(*given, cancel, *found), p > 8)
    return tree[: length[0]].copy(), cost[0]


def cuboid_boxes(volumes: NDArray[np.float64], tree: NDArray[np.int32]) -> NDArray[np.float64]:
    """(p, 6) boxes of hs_cuboid_boxes."""
    boxes = np.empty((len(volumes), 6))
    check_status(
        lib.hs_cuboid_boxes(
            len(volumes), doubles(volumes), int32s(tree), len(tree), doubles(boxes.reshape(-1))
        )
    )
    return boxes


def tile_cuboids(
    shape: tuple[int, int, int], volumes: NDArray[np.float64], tree: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(p, 6) boxes of hs_tile_cuboids."""
    boxes = np.empty((len(volumes), 6), np.int64)
    given = *shape, len(volumes), doubles(volumes), int32s(tree), len(tree)
    cancellable(
        lambda cancel: lib.hs_tile_cuboids(*given, cancel, int64s(boxes.reshape(-1))),
        len(volumes) > LONG // 50,
    )
    return boxes


def cuboids_bound(volumes: NDArray[np.float64], faces: NDArray[np.float64]) -> float:
    """hs_cuboids_bound."""
    bound = ffi.new("double *")
    check_status(lib.hs_cuboids_bound(len(volumes), doubles(volumes), doubles(faces, 3), bound))
    return bound[0]  # type: ignore[no-any-return]


# ---- layers --------------------------------------------------------------------------------------


class Layers(layers.Layers):
    """An hs_layers with the functions that compute a part of a plan."""

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


# ---- LU on a grid of blocks ----------------------------------------------------------------------


def lu_grid_deal(n: int, times: NDArray[np.float64], plan: NDArray[np.int32]) -> NDArray[np.int32]:
    """(n, n) owners of hs_lu_grid_deal."""
    owner = np.empty((n, n), np.int32)
    given = n, len(times), doubles(times), int32s(plan), len(plan)
    cancellable(
        lambda cancel: lib.hs_lu_grid_deal(*given, cancel, int32s(owner.reshape(-1))),
        owner.size > LONG,
    )
    return owner


def lu_grid_evaluate(
    owner: NDArray[np.int32], times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Loads, traffic and what each worker receives, of hs_lu_grid_evaluate."""
    n, p = len(owner), len(times)
    loads, traffic, received = np.empty(n), np.empty(n, np.int64), np.empty(p, np.int64)
    given = n, p, doubles(times), int32s(owner.reshape(-1), n * n)
    found = doubles(loads), int64s(traffic), int64s(received)
    cancellable(lambda cancel: lib.hs_lu_grid_evaluate(*given, cancel, *found), owner.size > LONG)
    return loads, traffic, received


def lu_grid_bound(
    n: int, times: NDArray[np.float64], link_cost: float = 0.0
) -> NDArray[np.float64]:
    """(n,) bounds of hs_lu_grid_bound."""
    bounds = np.empty(n)
    given = n, len(times), doubles(times), link_cost
    cancellable(
        lambda cancel: lib.hs_lu_grid_bound(*given, cancel, doubles(bounds)),
        n * len(times) > LONG // 10,
    )
    return bounds
