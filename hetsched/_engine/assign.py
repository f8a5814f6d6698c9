"""csrc/assign: matching, independent tasks and divisible loads on a star."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ffi import LONG, cancellable, check_status, doubles, ffi, int32s, int64s, lib, or_null


def assign(
    costs: NDArray[Any], maximise: bool
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[Any]]:
    """Column of each row, row prices and column prices of hs_assign.

    For int64 costs they are from hs_assign_int64. The costs may have any row stride.
    """
    rows, cols = costs.shape
    columns = np.empty(rows, np.int32)
    row_prices = np.empty(rows, costs.dtype)
    col_prices = np.empty(cols, costs.dtype)
    whole = costs.dtype == np.int64
    function, kind, view = (
        (lib.hs_assign_int64, "int64_t *", int64s)
        if whole
        else (lib.hs_assign, "double *", doubles)
    )
    start, stride = ffi.cast(kind, costs.ctypes.data), costs.strides[0] // 8
    given = (rows, cols, start, stride, maximise)
    found = (int32s(columns), view(row_prices), view(col_prices))
    cancellable(lambda cancel: function(*given, cancel, *found), rows * cols > LONG)
    return columns, row_prices, col_prices


def task_counts(
    bound: float,
    times: NDArray[np.float64],
    send: float,
    receive: float,
    slots: int,
    receive_slots: NDArray[np.int32] | None,
) -> NDArray[np.int64]:
    """(p, slots) counts of hs_task_counts."""
    counts = np.empty((len(times), slots), np.int64)
    p = len(times)
    given = bound, p, doubles(times), send, receive, slots, or_null(receive_slots, int32s, p)
    cancellable(
        lambda cancel: lib.hs_task_counts(*given, cancel, int64s(counts.reshape(-1))),
        counts.size > LONG,
    )
    return counts


def task_deadlines(
    bound: float, times: NDArray[np.float64], send: float, slots: int, counts: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Deadlines of hs_task_deadlines."""
    deadlines = np.empty(len(times), np.int32)
    p = len(times)
    given = bound, p, doubles(times), send, slots, int64s(counts, p)
    cancellable(
        lambda cancel: lib.hs_task_deadlines(*given, cancel, int32s(deadlines)), len(times) > LONG
    )
    return deadlines


def _links(
    p: int, sends: NDArray[np.float64], receives: NDArray[np.float64] | None
) -> tuple[Any, Any]:
    return doubles(sends, p), or_null(receives, doubles, p)


def task_orders(
    bound: float,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64] | None,
    send_order: NDArray[np.int32],
    receive_order: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Counts of hs_task_orders."""
    p, q = len(times), len(send_order)
    counts, orders = np.empty(p, np.int64), (int32s(send_order, q), int32s(receive_order, q))
    check_status(
        lib.hs_task_orders(
            bound, p, doubles(times), *_links(p, sends, receives), q, *orders, int64s(counts)
        )
    )
    return counts


#: Most workers for which hs_task_links is exact: without messages back, and with them.
LINKS_SENT: int = lib.HS_TASK_LINKS_SENT
LINKS_BOTH: int = lib.HS_TASK_LINKS_BOTH


def task_links(
    bound: float,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64] | None,
    work: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], bool]:
    """Send order, receive order and whether they are optimal, of hs_task_links."""
    p = len(times)
    out, back = np.empty(p, np.int32), np.empty(p, np.int32)
    enrolled, optimal = ffi.new("int32_t *"), ffi.new("int *")
    given = bound, p, doubles(times), *_links(p, sends, receives), work, 1
    found = enrolled, int32s(out), int32s(back), optimal
    cancellable(lambda cancel: lib.hs_task_links(*given, cancel, *found), work > LONG or p > 5)
    return out[: enrolled[0]].copy(), back[: enrolled[0]].copy(), bool(optimal[0])


def task_positions(
    bound: float,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64] | None,
    depth: int,
) -> NDArray[np.int64]:
    """(p, p, depth) weights of hs_task_positions."""
    p = len(times)
    weights = np.empty((p, p, depth), np.int64)
    given = bound, p, doubles(times), *_links(p, sends, receives), depth
    cancellable(
        lambda cancel: lib.hs_task_positions(*given, cancel, int64s(weights.reshape(-1))),
        weights.size > LONG,
    )
    return weights


AXIAL_MOST: int = lib.HS_ASSIGN_AXIAL_MOST


def assign_axial(weights: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Columns, tubes and total of hs_assign_axial."""
    p = len(weights)
    columns, tubes, total = np.empty(p, np.int32), np.empty(p, np.int32), ffi.new("int64_t *")
    given, found = (p, int64s(weights.reshape(-1), p**3)), (int32s(columns), int32s(tubes), total)
    cancellable(lambda cancel: lib.hs_assign_axial(*given, cancel, *found), p > 9)
    return columns, tubes, total[0]


def divisible_orders(
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64],
    out: NDArray[np.int32],
    back: NDArray[np.int32],
    work: int,
    enough: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], float, bool]:
    """Send order, receive order, shares, makespan and whether they are optimal, of
    hs_divisible_orders."""
    p = len(times)
    orders, shares = (out.copy(), back.copy()), np.empty(p)
    makespan, optimal = ffi.new("double *"), ffi.new("int *")
    given = p, doubles(times), doubles(sends, p), doubles(receives, p), work, 1, enough
    found = *(int32s(order, p) for order in orders), doubles(shares), makespan, optimal
    cancellable(
        lambda cancel: lib.hs_divisible_orders(*given, cancel, *found),
        (p > 5 and work > 0) or p > 100,
    )
    return *orders, shares, makespan[0], bool(optimal[0])


def divisible_bound(
    times: NDArray[np.float64], sends: NDArray[np.float64], receives: NDArray[np.float64]
) -> float:
    """hs_divisible_bound."""
    bound, p = ffi.new("double *"), len(times)
    given = p, doubles(times), doubles(sends, p), doubles(receives, p)
    cancellable(lambda cancel: lib.hs_divisible_bound(*given, cancel, bound), p > 500)
    return bound[0]  # type: ignore[no-any-return]
