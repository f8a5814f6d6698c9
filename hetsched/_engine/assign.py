"""csrc/assign: matching, independent tasks and divisible loads on a star."""

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


class Tasks(NamedTuple):
    """An hs_task_plan."""

    method: str
    counts: NDArray[np.int64]
    send_order: NDArray[np.int64]
    receive_order: NDArray[np.int64]
    tasks: int
    bound: int
    makespan: float


#: The methods of an hs_task_method, by their numbers; the first three can be asked for.
TASK_METHODS = (
    "best",
    "paper",
    "fastest",
    "floor",
    "deadlines",
    "matching",
    "prices",
    "exact",
    "search",
)


def _task_workers(
    times: NDArray[np.float64], sends: NDArray[np.float64], receives: NDArray[np.float64]
) -> Any:
    """An hs_task_workers, which is valid as long as its arrays are in use."""
    p = len(times)
    return ffi.new(
        "hs_task_workers *", (p, doubles(times), doubles(sends, p), doubles(receives, p), 0, 0)
    )


def _planned(call: Callable[[Any, Any, Any], int], p: int, long: bool) -> tuple[Tasks, Any]:
    """The plan and the certificate that call(cancel, plan, certificate) makes."""
    counts, orders = np.empty(p, np.int64), np.empty((2, p), np.int32)
    arrays = int64s(counts), int32s(orders[0]), int32s(orders[1])
    plan, proof = ffi.new("hs_task_plan *", arrays), ffi.new("hs_certificate *")
    cancellable(lambda cancel: call(cancel, plan, proof), long)
    found = Tasks(
        TASK_METHODS[plan.method],
        counts,
        orders[0, : plan.served].astype(np.int64),
        orders[1, : plan.answering].astype(np.int64),
        plan.tasks,
        plan.bound,
        plan.makespan,
    )
    return found, proof


def max_tasks(
    bound: float,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64],
    method: str,
) -> Tasks:
    """The plan of hs_max_tasks."""
    workers, p = _task_workers(times, sends, receives), len(times)
    given = workers, bound, TASK_METHODS.index(method), ffi.NULL
    return _planned(
        lambda cancel, *found: lib.hs_max_tasks(*given, cancel, *found),
        p,
        p * p > LONG or (p > 5 and bool(receives.any() or sends.any())),
    )[0]


def min_time(
    tasks: int,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64],
) -> tuple[Tasks, dict[str, Any]]:
    """The plan of hs_min_time, and the fields of its certificate."""
    workers, p = _task_workers(times, sends, receives), len(times)
    given = workers, tasks, ffi.NULL
    found, proof = _planned(
        lambda cancel, *found: lib.hs_min_time(*given, cancel, *found),
        p,
        p * p > LONG or (p > 3 and bool(receives.any() or sends.any())),
    )
    return found, certificate(proof, "makespan")


def max_tasks_rows(
    bound: float,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64],
    method: str,
    threads: int,
    progress: Callable[[float], object] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Tasks (rows,), bounds (rows,) and counts (rows, p) of hs_max_tasks_batch, on so many threads.

    times : (rows, p)
    sends, receives : (rows, p), or (p,) for all rows
    threads : see `over_rows`
    """
    rows, p = times.shape
    tasks, bounds = np.empty(rows, np.int64), np.empty(rows, np.int64)
    counts = np.empty((rows, p), np.int64)
    strides = [p if messages.ndim > 1 else 0 for messages in (sends, receives)]
    steps = [p, *strides]
    inputs = [
        doubles(array.reshape(-1), rows * p if step else p)
        for array, step in zip((times, sends, receives), steps, strict=True)
    ]
    outputs = int64s(tasks), int64s(bounds), int64s(counts.reshape(-1))
    number = TASK_METHODS.index(method)

    def call(first: int, last: int, cancel: Any) -> int:
        given = [array + first * step for array, step in zip(inputs, steps, strict=True)]
        workers = ffi.new("hs_task_workers *", (p, *given, *strides))
        found = outputs[0] + first, outputs[1] + first, outputs[2] + first * p
        return int(
            lib.hs_max_tasks_batch(last - first, workers, bound, number, ffi.NULL, cancel, *found)
        )

    over_rows(call, rows, threads, progress)
    return tasks, bounds, counts


def task_end(
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64],
    send_order: NDArray[np.int64],
    receive_order: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> float:
    """hs_task_end."""
    workers, served = _task_workers(times, sends, receives), len(send_order)
    if not len(receive_order):
        workers.receives = ffi.NULL
    orders = send_order.astype(np.int32), receive_order.astype(np.int32)
    end = ffi.new("double *")
    check_status(
        lib.hs_task_end(workers, served, *map(int32s, orders), int64s(counts, len(times)), end)
    )
    return end[0]  # type: ignore[no-any-return]


class Divided(NamedTuple):
    """An hs_divisible_plan."""

    method: str
    shares: NDArray[np.float64]
    send_order: NDArray[np.int64]
    receive_order: NDArray[np.int64]


#: The methods of an hs_divisible_method, by their numbers; the first three can be asked for.
DIVISIBLE_METHODS = ("best", "fifo", "lifo", "exact")
#: Most workers for which all orders are tried.
DIVISIBLE_PROVEN: int = lib.HS_DIVISIBLE_PROVEN


def divisible_best(
    size: float,
    times: NDArray[np.float64],
    sends: NDArray[np.float64],
    receives: NDArray[np.float64] | None,
    method: str,
) -> tuple[Divided, dict[str, Any]]:
    """The plan of hs_divisible_best, and the fields of its certificate."""
    p = len(times)
    shares, orders = np.empty(p), np.empty((2, p), np.int32)
    arrays = doubles(shares), int32s(orders[0]), int32s(orders[1])
    given = doubles(times), doubles(sends, p), or_null(receives, doubles, p)
    load = ffi.new("hs_divisible_load *", (size, p, *given))
    plan = ffi.new("hs_divisible_plan *", arrays)
    proof, number = ffi.new("hs_certificate *"), DIVISIBLE_METHODS.index(method)
    cancellable(
        lambda cancel: lib.hs_divisible_best(load, number, ffi.NULL, cancel, plan, proof),
        (p > 5 and method == "best") or p > 100,
    )
    found = Divided(
        DIVISIBLE_METHODS[plan.method],
        shares,
        orders[0, : plan.served].astype(np.int64),
        orders[1, : plan.answering].astype(np.int64),
    )
    return found, certificate(proof, "makespan")
