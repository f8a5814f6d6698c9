"""csrc/allocate: counts of one dimension; owners in LU, wavefronts, factorisations and reductions,
and simulations of these plans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleError
from .ffi import (
    LONG,
    buffer,
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


def distribute(n: int, cycle_times: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Counts and makespan of hs_distribute."""
    counts = np.empty(len(cycle_times), np.int64)
    makespan = ffi.new("double *")
    given, found = (n, len(counts), doubles(cycle_times)), (int64s(counts), makespan)
    cancellable(lambda cancel: lib.hs_distribute(*given, cancel, *found), len(counts) > LONG)
    return counts, makespan[0]


def distribute_batch(
    n: NDArray[np.int64], cycle_times: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(rows, p) counts and (rows,) makespans of hs_distribute_batch."""
    rows, p = cycle_times.shape
    counts, makespans = np.empty((rows, p), np.int64), np.empty(rows)
    times = doubles(cycle_times.reshape(-1))
    given = (rows, int64s(n, rows), p, times)
    found = (int64s(counts.reshape(-1)), doubles(makespans))
    cancellable(lambda cancel: lib.hs_distribute_batch(*given, cancel, *found), rows * p > LONG)
    return counts, makespans


def distribute_after(
    n: int, cycle_times: NDArray[np.float64], starts: NDArray[np.float64]
) -> NDArray[np.int64]:
    """hs_distribute_after; the vectors must be contiguous."""
    counts = np.zeros(len(cycle_times), np.int64)
    given = (n, len(counts), doubles(cycle_times), doubles(starts, len(counts)))
    found = (int64s(counts), ffi.NULL)
    cancellable(
        lambda cancel: lib.hs_distribute_after(*given, cancel, *found), len(counts) > LONG // 10
    )
    return counts


def distribute_profile(n: int, times: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Counts and makespan of hs_distribute_profile for a (p, n + 1) table."""
    counts = np.empty(len(times), np.int64)
    makespan = ffi.new("double *")
    given = (n, len(times), doubles(times.reshape(-1), len(times) * (n + 1)))
    found = (int64s(counts), makespan)
    cancellable(lambda cancel: lib.hs_distribute_profile(*given, cancel, *found), times.size > LONG)
    return counts, makespan[0]


def _certified(call: Callable[[Any, Any], int], objective: str, long: bool) -> dict[str, Any]:
    """The certificate that call(cancel, certificate) makes.

    If the arguments are checked, the only ValueError of the engine is for a value that overflows.
    It becomes infinity here, and the constructor of the plan raises the error.
    """
    proof = ffi.new("hs_certificate *")
    try:
        cancellable(lambda cancel: call(cancel, proof), long)
    except InfeasibleError:
        raise
    except ValueError:
        return {objective: math.inf, "bound": math.inf, "optimal": False, "scope": ""}
    return certificate(proof, objective)


def distribute_certificate(
    n: int, cycle_times: NDArray[np.float64], counts: NDArray[np.int64]
) -> dict[str, Any]:
    """The certificate of hs_distribute_certificate."""
    p = len(cycle_times)
    given = n, p, doubles(cycle_times), int64s(counts, p)
    return _certified(
        lambda cancel, proof: lib.hs_distribute_certificate(*given, cancel, proof),
        "makespan",
        p > LONG,
    )


#: The numbers of hs_pattern_method, by the names of the methods of `lu_pattern`.
PATTERNS = {
    "pattern": lib.HS_PATTERN_BEST,
    "cyclic": lib.HS_PATTERN_CYCLIC,
    "contiguous": lib.HS_PATTERN_CONTIGUOUS,
    "given": lib.HS_PATTERN_GIVEN,
}


def pattern(
    owner: NDArray[np.int32], cycle_times: NDArray[np.float64], method: str, period: int
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Step costs and certificate of hs_pattern_best, which fills owner unless the method is
    "given"."""
    n, p = len(owner), len(cycle_times)
    step_costs = np.empty(max(n - 1, 0))
    given = n, p, doubles(cycle_times), PATTERNS[method], period
    found = int32s(owner), doubles(step_costs)
    proof = _certified(
        lambda cancel, proof: lib.hs_pattern_best(*given, cancel, *found, proof), "cost", n > LONG
    )
    return step_costs, proof


def pattern_profile(owner: NDArray[np.int32], times: NDArray[np.float64]) -> dict[str, Any]:
    """Certificate of hs_pattern_profile, which fills owner; times: (steps, p, n)."""
    given, costs = _steps(owner, times), doubles(np.empty(len(times)))
    return _certified(
        lambda cancel, proof: lib.hs_pattern_profile(*given, cancel, int32s(owner), costs, proof),
        "cost",
        times.size > LONG // 100,
    )


def pattern_profile_certificate(
    owner: NDArray[np.int32], times: NDArray[np.float64]
) -> dict[str, Any]:
    """Certificate of hs_pattern_profile_certificate; times: (steps, p, n)."""
    given = *_steps(owner, times), int32s(owner)
    return _certified(
        lambda cancel, proof: lib.hs_pattern_profile_certificate(*given, cancel, proof),
        "cost",
        times.size > LONG // 100,
    )


def _steps(owner: NDArray[np.int32], times: NDArray[np.float64]) -> tuple[Any, ...]:
    """n, steps, p and the times, row by row."""
    steps, p, n = times.shape
    if n != len(owner):
        raise ValueError(f"times are of {n} block columns, owner has {len(owner)}")
    return n, steps, p, doubles(times.reshape(-1), times.size)


ORDERS = {"across": lib.HS_ROW_WISE, "along": lib.HS_COLUMN_WISE}
WAVEFRONTS = {"panels": lib.HS_WAVEFRONT_PANELS, "cyclic": lib.HS_WAVEFRONT_CYCLIC}


def wavefront(
    length: int,
    lines: int,
    times: NDArray[np.float64],
    method: str,
    period: int,
    reach: int,
    order: str,
) -> tuple[NDArray[np.int32], int, bool, dict[str, Any]]:
    """Owners, period, whether redistributed, and certificate of hs_wavefront_best; period 0
    searches."""
    owner = np.empty(lines, np.int32)
    chosen, redistributed = ffi.new("int32_t *"), ffi.new("int32_t *")
    workers = len(times), doubles(times)
    problem = length, lines, *workers, WAVEFRONTS[method], period, reach, ORDERS[order]
    found = int32s(owner), chosen, redistributed
    proof = _certified(
        lambda cancel, proof: lib.hs_wavefront_best(*problem, cancel, *found, proof),
        "makespan",
        lines * (length + lines) > LONG,
    )
    return owner, chosen[0], bool(redistributed[0]), proof


def wavefront_certificate(
    length: int, owner: NDArray[np.int32], times: NDArray[np.float64], reach: int, order: str
) -> dict[str, Any]:
    """The certificate of hs_wavefront_certificate."""
    problem = (length, len(owner), len(times), doubles(times), int32s(owner), reach, ORDERS[order])
    return _certified(
        lambda cancel, proof: lib.hs_wavefront_certificate(*problem, cancel, proof),
        "makespan",
        length * len(owner) > LONG,
    )


def wavefront_times(
    length: int, owner: NDArray[np.int32], times: NDArray[np.float64], reach: int, order: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(length, lines) starts and ends of hs_wavefront_makespan."""
    makespan = ffi.new("double *")
    start, end = np.empty((length, len(owner))), np.empty((length, len(owner)))
    problem = (length, len(owner), len(times), doubles(times), int32s(owner), reach, ORDERS[order])
    found = makespan, doubles(start), doubles(end)
    cancellable(
        lambda cancel: lib.hs_wavefront_makespan(*problem, cancel, *found), start.size > LONG
    )
    return start, end


FACTORS = {"lu": lib.HS_LU, "cholesky": lib.HS_CHOLESKY, "qr": lib.HS_QR}


def factor_blocks(m: int, n: int, block: int) -> int:
    """Number of blocks of hs_factor_blocks."""
    count = ffi.new("int32_t *")
    check_status(lib.hs_factor_blocks(m, n, block, count))
    return count[0]  # type: ignore[no-any-return]


def factor_simulate(
    kind: str,
    m: int,
    n: int,
    block: int,
    owner: NDArray[np.int32],
    times: NDArray[np.float64],
    panel_times: NDArray[np.float64] | None = None,
    links: NDArray[np.float64] | None = None,
    late_panel: bool = False,
    steps: NDArray[np.float64] | None = None,
    itemsize: int = 8,
) -> tuple[float, float, NDArray[Any], NDArray[Any]]:
    """Makespan, multiply-adds, tasks and messages of hs_factor_simulate.

    times are per multiply-add, links per element of itemsize bytes; steps: (panels, p) times of
    updates.
    """
    makespan, work, counts = ffi.new("double *"), ffi.new("double *"), ffi.new("int64_t[2]")
    p, owners = len(times), factor_owners(m, n, block, owner)
    costs, alive = factor_costs(p, panel_times, links, late_panel, steps, itemsize)
    given = FACTORS[kind], m, n, block, p, doubles(times), owners, owner.ndim == 2, costs

    def call(tasks: Any, messages: Any) -> None:
        found = makespan, work, tasks, counts, messages, counts + 1
        cancellable(
            lambda cancel: lib.hs_factor_simulate(*given, cancel, *found),
            max(owner.shape) ** 2 > LONG,
        )

    call(ffi.NULL, ffi.NULL)
    tasks, messages = np.empty(counts[0], FACTOR_TASK), np.empty(counts[1], FACTOR_MESSAGE)
    call(
        buffer("hs_factor_task[]", tasks, FACTOR_TASK),
        buffer("hs_factor_message[]", messages, FACTOR_MESSAGE),
    )
    del alive
    return makespan[0], work[0], tasks, messages


REDUCTION_TASK = np.dtype(
    [(name, "i4") for name in ("kind", "worker", "panel", "block")]
    + [(name, "f8") for name in ("start", "end", "work")],
    align=True,
)
#: The kinds of tasks of a reduction, by their numbers.
REDUCTION_KINDS = {
    lib.HS_REDUCTION_PANEL: "panel",
    lib.HS_REDUCTION_PRODUCT: "product",
    lib.HS_REDUCTION_UPDATE: "update",
}
_Speeds = tuple[NDArray[np.float64], NDArray[np.float64] | None]


def _reduction(n: int, block: int, speeds: _Speeds) -> tuple[Any, ...]:
    """The problem of a reduction. speeds: times per multiply-add, and those of panels or None."""
    times, panel_times = speeds
    p = len(times)
    return n, block, p, doubles(times), or_null(panel_times, doubles, p)


def reduction_size(n: int, block: int) -> tuple[int, int]:
    """Tasks and blocks of hs_reduction_size."""
    tasks, blocks = ffi.new("int64_t *"), ffi.new("int32_t *")
    check_status(lib.hs_reduction_size(n, block, tasks, blocks))
    return tasks[0], blocks[0]


def reduction_owners(n: int, block: int, speeds: _Speeds) -> NDArray[np.int32]:
    """hs_reduction_owners."""
    owner = np.empty(reduction_size(n, block)[1], np.int32)
    given = _reduction(n, block, speeds)
    cancellable(lambda cancel: lib.hs_reduction_owners(*given, cancel, int32s(owner)), True)
    return owner


def reduction_simulate(
    n: int, block: int, speeds: _Speeds, owner: NDArray[np.int32]
) -> tuple[float, NDArray[Any]]:
    """Makespan and tasks of hs_reduction_simulate."""
    count, blocks = reduction_size(n, block)
    makespan, tasks = ffi.new("double *"), np.empty(count, REDUCTION_TASK)
    given = (*_reduction(n, block, speeds), int32s(owner, blocks))
    found = makespan, buffer("hs_reduction_task[]", tasks, REDUCTION_TASK)
    cancellable(lambda cancel: lib.hs_reduction_simulate(*given, cancel, *found), count > LONG)
    return makespan[0], tasks


def reduction_bound(n: int, block: int, speeds: _Speeds) -> tuple[float, float]:
    """Perfectly divided work and bound of hs_reduction_bound."""
    ideal, bound = ffi.new("double *"), ffi.new("double *")
    given = _reduction(n, block, speeds)
    cancellable(lambda cancel: lib.hs_reduction_bound(*given, cancel, ideal, bound), True)
    return ideal[0], bound[0]


def factor_bound(
    kind: str,
    m: int,
    n: int,
    block: int,
    times: NDArray[np.float64],
    panel_times: NDArray[np.float64] | None,
    grid: bool = False,
) -> tuple[float, float]:
    """Perfectly divided work and bound of hs_factor_bound. grid: owners in both directions."""
    ideal, bound = ffi.new("double *"), ffi.new("double *")
    p = len(times)
    given = FACTORS[kind], m, n, block, p, doubles(times), or_null(panel_times, doubles, p), grid
    found = ideal, bound
    cancellable(
        lambda cancel: lib.hs_factor_bound(*given, cancel, *found), len(times) > LONG // 100
    )
    return ideal[0], bound[0]


def factor_profile_bound(
    kind: str,
    m: int,
    n: int,
    block: int,
    least: NDArray[np.float64],
    panel_times: NDArray[np.float64],
) -> tuple[float, float]:
    """Divided work and bound of hs_factor_profile_bound; least: (panels, p)."""
    ideal, bound = ffi.new("double *"), ffi.new("double *")
    p = len(panel_times)
    times = doubles(least.reshape(-1), least.size), doubles(panel_times)
    problem = FACTORS[kind], m, n, block, p, *times
    cancellable(
        lambda cancel: lib.hs_factor_profile_bound(*problem, cancel, ideal, bound),
        least.size > LONG // 100,
    )
    return ideal[0], bound[0]


def factor_owners(m: int, n: int, block: int, owner: NDArray[np.int32]) -> Any:
    """Owners of the blocks of columns, or of rows and columns, as hs_factor_blocks cuts them."""
    rows = factor_blocks(n, m, block) if owner.ndim == 2 else 1
    return int32s(owner.reshape(-1), rows * factor_blocks(m, n, block))


#: Bytes of a segment in which a panel is passed on.
PANEL_SEGMENT_BYTES: int = lib.HS_PANEL_SEGMENT_BYTES


def factor_costs(
    p: int,
    panel_times: NDArray[np.float64] | None,
    links: NDArray[np.float64] | None,
    late_panel: bool,
    steps: NDArray[np.float64] | None,
    itemsize: int,
) -> tuple[Any, tuple[Any, ...]]:
    """The hs_factor_costs for p workers, and the objects that must stay alive with it.

    steps : (panels, p)
    """
    panels = or_null(panel_times, doubles, p)
    own = or_null(None if links is None else links.reshape(-1), doubles, p * p)
    updates = or_null(None if steps is None else steps.reshape(-1), doubles)
    segment = PANEL_SEGMENT_BYTES // itemsize
    costs = ffi.new("hs_factor_costs *", (panels, own, late_panel, updates, segment))
    return costs, (panels, own, updates)


_FACTOR_FIELDS = (
    ("worker", "i4"),
    ("panel", "i4"),
    ("block", "i4"),
    ("start", "f8"),
    ("end", "f8"),
    ("work", "f8"),
)
FACTOR_TASK = np.dtype(list(_FACTOR_FIELDS), align=True)  # hs_factor_task
FACTOR_MESSAGE = np.dtype(
    [(name, "i4") for name in ("panel", "sender", "receiver")]
    + [(name, "f8") for name in ("start", "end")],
    align=True,
)  # hs_factor_message


#: Most blocks along a side of hs_lu_grid_x.
LU_GRID_MOST: int = lib.HS_LU_GRID_MOST


_LU_GRIDS = {
    "best": lib.HS_LU_GRID_BEST,
    "1d1d": lib.HS_LU_GRID_1D1D,
    "nested": lib.HS_LU_GRID_NESTED,
    "columns": lib.HS_LU_GRID_COLUMNS,
    "cyclic": lib.HS_LU_GRID_CYCLIC,
    "given": lib.HS_LU_GRID_GIVEN,
}
_LU_GRID_NAMES = {number: name for name, number in _LU_GRIDS.items()}


class LuGridFound(NamedTuple):
    """What hs_lu_grid_best finds, and its certificate."""

    method: str
    owner: NDArray[np.int32]  #: (n, n)
    loads: NDArray[np.float64]
    ideal: NDArray[np.float64]
    traffic: NDArray[np.int64]
    received: NDArray[np.int64]  #: (p,)
    makespan: float
    proof: dict[str, Any]


def lu_grid_best(
    method: str,
    n: int,
    times: NDArray[np.float64],
    link_cost: float,
    owner: NDArray[np.int32] | None,
) -> LuGridFound:
    """hs_lu_grid_best; owner: (n, n) for method "given"."""
    p = len(times)
    owner = np.empty((n, n), np.int32) if owner is None else np.ascontiguousarray(owner)
    loads, ideal = np.empty(n), np.empty(n)
    traffic, received = np.empty(n, np.int64), np.empty(p, np.int64)
    views = doubles(loads), doubles(ideal), int64s(traffic), int64s(received)
    result = ffi.new("hs_lu_grid_result *", (int32s(owner.reshape(-1), n * n), *views, 0.0))
    grid = ffi.new("hs_lu_grid *", (n, p, doubles(times), link_cost))
    found, proof = ffi.new("hs_lu_grid_method *"), ffi.new("hs_certificate *")
    cancellable(
        lambda cancel: lib.hs_lu_grid_best(grid, _LU_GRIDS[method], cancel, found, result, proof),
        4 * n * (n + p) > LONG or p > 11,
    )
    name = _LU_GRID_NAMES[found[0]]
    own = name, owner, loads, ideal, traffic, received, result.makespan
    return LuGridFound(*own, certificate(proof, "cost"))
