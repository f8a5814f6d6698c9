"""The engine as Python sees it: the only module that touches the FFI."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleError

if TYPE_CHECKING:
    from .._base.progress import Progress

try:
    from ._hetsched import ffi, lib
except ModuleNotFoundError as error:
    raise ImportError(
        "hetsched's engine is not built here: this is a source tree. Run 'pip install -e .' in it, or leave the "
        "directory to use an installed hetsched"
    ) from error

_EXCEPTIONS = {
    lib.HS_ERROR_VALUE: ValueError,
    lib.HS_ERROR_MEMORY: MemoryError,
    lib.HS_ERROR_INFEASIBLE: InfeasibleError,
    lib.HS_ERROR_THREAD: RuntimeError,
    lib.HS_ERROR_UNSUPPORTED: NotImplementedError,
}


def check_status(status: int) -> None:
    """Raise what a status other than HS_OK means."""
    if status != lib.HS_OK:
        raise _EXCEPTIONS.get(status, RuntimeError)(ffi.string(lib.hs_status_string(status)).decode())


def _doubles(array: NDArray[np.float64]) -> Any:
    return ffi.from_buffer("double[]", array)


def _int32s(array: NDArray[np.int32]) -> Any:
    return ffi.from_buffer("int32_t[]", array)


def _int64s(array: NDArray[np.int64]) -> Any:
    return ffi.from_buffer("int64_t[]", array)


def version() -> str:
    """Version of the C library."""
    return ffi.string(lib.hs_version()).decode()  # type: ignore[no-any-return]


def distribute(n: int, cycle_times: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Counts and makespan of hs_distribute."""
    counts = np.empty(len(cycle_times), np.int64)
    makespan = ffi.new("double *")
    given, found = (n, len(counts), _doubles(cycle_times)), (_int64s(counts), makespan)
    _cancellable(lambda cancel: lib.hs_distribute(*given, cancel, *found), len(counts) > _LONG)
    return counts, makespan[0]


def _or_null(array: NDArray[Any] | None, view: Callable[[NDArray[Any]], Any]) -> Any:
    return ffi.NULL if array is None else view(array)


#: Calls on more entries are made beside the main thread: the longest of the others take some ten milliseconds.
_LONG = 100_000


def _cancellable(call: Callable[[Any], int], long: bool) -> None:
    """call(cancel), on a thread beside the main one if it may take long: then Ctrl-C ends it at once. What it raises passes."""
    if not long or threading.current_thread() is not threading.main_thread():
        check_status(call(ffi.NULL))
        return
    cancel = ffi.new("int *")
    outcome: list[int | BaseException] = []
    running = threading.Lock()
    running.acquire()

    def run() -> None:
        try:
            outcome.append(call(cancel))
        except BaseException as error:
            outcome.append(error)
        finally:
            running.release()

    try:  # not threading.Thread: an interrupt in its start loses the thread, one in its join takes it for ended (Python 3.11)
        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:  # the system refuses
            running.release()
            raise
        running.acquire()
    except BaseException:
        cancel[0] = 1
        running.acquire()
        raise
    (found,) = outcome
    if isinstance(found, BaseException):
        raise found
    check_status(found)


def partition_columns(
    areas: NDArray[np.float64], aspect: float, max_columns: int, max_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """order and column_start of hs_partition_columns."""
    p = len(areas)
    order, starts = np.empty(p, np.int32), np.empty(p + 1, np.int32)
    columns, cost = ffi.new("int32_t *"), ffi.new("double *")
    given, found = (p, _doubles(areas), aspect, max_columns, max_rows), (_int32s(order), _int32s(starts), columns, cost)
    _cancellable(lambda cancel: lib.hs_partition_columns(*given, cancel, *found), p > _LONG // 2)
    starts = starts[: columns[0] + 1].copy()
    return order[: starts[-1]].copy(), starts


def column_sides(areas: NDArray[np.float64], order: NDArray[np.int32], starts: NDArray[np.int32]) -> NDArray[np.float64]:
    """(p, 2) heights and widths of hs_column_sides."""
    sides = np.empty((len(areas), 2))
    columns = len(starts) - 1
    check_status(
        lib.hs_column_sides(len(areas), _doubles(areas), _int32s(order), _int32s(starts), columns, _doubles(sides.reshape(-1)))
    )
    return sides


def floorplan_rects(
    areas: NDArray[np.float64], weights: NDArray[np.float64] | None, aspect: float, plan: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float64], float]:
    """Workers, rectangles (q, 4) and cost of hs_floorplan_rects."""
    p = len(areas)
    workers, rects = np.empty(2 * p, np.int32), np.empty((2 * p, 4))
    pieces, cost = ffi.new("int32_t *"), ffi.new("double *")
    check_status(
        lib.hs_floorplan_rects(
            p, _doubles(areas), _or_null(weights, _doubles), aspect, _int32s(plan), len(plan),
            _int32s(workers), _doubles(rects.reshape(-1)), pieces, cost,
        )
    )  # fmt: skip
    return workers[: pieces[0]], rects[: pieces[0]], cost[0]


def floorplan_tile(
    m: int, n: int, areas: NDArray[np.float64], plan: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Workers and integer rectangles (q, 4) of hs_floorplan_tile."""
    p = len(areas)
    workers, rects = np.empty(2 * p, np.int32), np.empty((2 * p, 4), np.int64)
    pieces = ffi.new("int32_t *")
    given = m, n, p, _doubles(areas), _int32s(plan), len(plan)
    found = _int32s(workers), _int64s(rects.reshape(-1)), pieces
    _cancellable(lambda cancel: lib.hs_floorplan_tile(*given, cancel, *found), p > 1000)
    return workers[: pieces[0]], rects[: pieces[0]]


def _floorplan(
    function: Any, areas: NDArray[np.float64], weights: NDArray[np.float64] | None, aspect: float, *rest: Any, long: bool
) -> tuple[NDArray[np.int32], float]:
    p = len(areas)
    plan, length, cost = np.empty(2 * p, np.int32), ffi.new("int32_t *"), ffi.new("double *")
    given = p, _doubles(areas), _or_null(weights, _doubles), aspect, *rest
    _cancellable(lambda cancel: function(*given, cancel, _int32s(plan), length, cost), long)
    return plan[: length[0]].copy(), cost[0]


def partition_interval(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    order: NDArray[np.int32] | None = None,
    groups: NDArray[np.int32] | None = None,
    group_weight: float = 0.0,
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_interval."""
    rest = _or_null(order, _int32s), _or_null(groups, _int32s), group_weight
    return _floorplan(lib.hs_partition_interval, areas, weights, aspect, *rest, long=len(areas) > 60)


def partition_guillotine(
    areas: NDArray[np.float64], weights: NDArray[np.float64] | None, aspect: float, wheels: bool
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_guillotine."""
    return _floorplan(lib.hs_partition_guillotine, areas, weights, aspect, wheels, long=len(areas) > (7 if wheels else 11))


def partition_around(
    areas: NDArray[np.float64], weights: NDArray[np.float64] | None, aspect: float, order: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_nonrectangular."""
    rest = _or_null(order, _int32s)
    return _floorplan(lib.hs_partition_nonrectangular, areas, weights, aspect, rest, long=len(areas) > 40)


def partition_narrow(
    areas: NDArray[np.float64], weights: NDArray[np.float64] | None, aspect: float, order: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int32], float]:
    """Floorplan and largest half perimeter of hs_partition_largest."""
    rest = _or_null(order, _int32s)
    return _floorplan(lib.hs_partition_largest, areas, weights, aspect, rest, long=len(areas) > 9)


def partition_search(
    areas: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    aspect: float,
    plan: NDArray[np.int32],
    seed: int,
    evaluations: int,
    temperature: float,
) -> tuple[NDArray[np.int32], int, float]:
    """Floorplan, state of the random numbers and cost that hs_partition_search found from a guillotine plan."""
    plan, state, cost = plan.copy(), ffi.new("uint64_t *", seed), ffi.new("double *")
    given = len(areas), _doubles(areas), _or_null(weights, _doubles), aspect, evaluations, temperature
    _cancellable(lambda cancel: lib.hs_partition_search(*given, cancel, _int32s(plan), len(plan), state, cost), True)
    return plan, state[0], cost[0]


def distribute_batch(n: NDArray[np.int64], cycle_times: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(rows, p) counts and (rows,) makespans of hs_distribute_batch."""
    rows, p = cycle_times.shape
    counts, makespans = np.empty((rows, p), np.int64), np.empty(rows)
    times = _doubles(cycle_times.reshape(-1))
    given, found = (rows, _int64s(n), p, times), (_int64s(counts.reshape(-1)), _doubles(makespans))
    _cancellable(lambda cancel: lib.hs_distribute_batch(*given, cancel, *found), rows * p > _LONG)
    return counts, makespans


def distribute_after(n: int, cycle_times: NDArray[np.float64], starts: NDArray[np.float64]) -> NDArray[np.int64]:
    """hs_distribute_after; the vectors are contiguous."""
    counts = np.zeros(len(cycle_times), np.int64)
    given, found = (n, len(counts), _doubles(cycle_times), _doubles(starts)), (_int64s(counts), ffi.NULL)
    _cancellable(lambda cancel: lib.hs_distribute_after(*given, cancel, *found), len(counts) > _LONG // 10)
    return counts


def distribute_profile(n: int, times: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Counts and makespan of hs_distribute_profile for a (p, n + 1) table."""
    counts = np.empty(len(times), np.int64)
    makespan = ffi.new("double *")
    given, found = (n, len(times), _doubles(times.reshape(-1))), (_int64s(counts), makespan)
    _cancellable(lambda cancel: lib.hs_distribute_profile(*given, cancel, *found), times.size > _LONG)
    return counts, makespan[0]


def distribute_prefix(n: int, cycle_times: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """owner and makespans of hs_distribute_prefix."""
    owner, makespans = np.empty(n, np.int32), np.empty(n)
    given, found = (n, len(cycle_times), _doubles(cycle_times)), (_int32s(owner), _doubles(makespans))
    _cancellable(lambda cancel: lib.hs_distribute_prefix(*given, cancel, *found), n > _LONG)
    return owner, makespans


# The numbers of hs_rule, by the names that `partition` gives them.
RULES = ("rows", "kalinov-lastovetsky", "recursive", "nagamochi-abe", "snrpp")


def partition_rule(rule: str, areas: NDArray[np.float64], aspect: float = 1.0) -> tuple[NDArray[np.int32], float]:
    """Floorplan and cost of hs_partition_rule; rule is one of RULES."""
    plan = np.empty(2 * len(areas), np.int32)
    length, cost = ffi.new("int32_t *"), ffi.new("double *")
    given, found = (RULES.index(rule), len(areas), _doubles(areas), aspect), (_int32s(plan), length, cost)
    _cancellable(lambda cancel: lib.hs_partition_rule(*given, cancel, *found), len(areas) > _LONG)
    return plan[: length[0]].copy(), cost[0]


def partition_contiguous(m: int, n: int, areas: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The worker and the (row, col, height, width) of each piece of hs_partition_contiguous."""
    p = len(areas)
    workers, rects = np.empty(3 * p, np.int32), np.empty((3 * p, 4), np.int64)
    pieces = ffi.new("int32_t *")
    given, found = (m, n, p, _doubles(areas)), (_int32s(workers), _int64s(rects.reshape(-1)), pieces)
    _cancellable(lambda cancel: lib.hs_partition_contiguous(*given, cancel, *found), p > _LONG)
    return workers[: pieces[0]].copy(), rects[: pieces[0]].copy()


def wavefront_makespan(length: int, owner: NDArray[np.int32], times: NDArray[np.float64], reach: int, order: int) -> float:
    """Makespan of hs_wavefront_makespan."""
    makespan = ffi.new("double *")
    problem = (length, len(owner), len(times), _doubles(times), _int32s(owner), reach, order)
    _cancellable(
        lambda cancel: lib.hs_wavefront_makespan(*problem, cancel, makespan, ffi.NULL, ffi.NULL), length * len(owner) > _LONG
    )
    return makespan[0]  # type: ignore[no-any-return]


def wavefront_times(
    length: int, owner: NDArray[np.int32], times: NDArray[np.float64], reach: int, order: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(length, lines) starts and ends of hs_wavefront_makespan."""
    makespan = ffi.new("double *")
    start, end = np.empty((length, len(owner))), np.empty((length, len(owner)))
    problem = (length, len(owner), len(times), _doubles(times), _int32s(owner), reach, order)
    found = makespan, _doubles(start), _doubles(end)
    _cancellable(lambda cancel: lib.hs_wavefront_makespan(*problem, cancel, *found), start.size > _LONG)
    return start, end


def wavefront_bound(length: int, lines: int, times: NDArray[np.float64], reach: int) -> float:
    """Lower bound of hs_wavefront_bound."""
    bound = ffi.new("double *")
    given = length, lines, len(times), _doubles(times), reach
    _cancellable(lambda cancel: lib.hs_wavefront_bound(*given, cancel, bound), len(times) > _LONG)
    return bound[0]  # type: ignore[no-any-return]


def wavefront_panels(
    length: int, lines: int, times: NDArray[np.float64], period: int, reach: int, order: int
) -> tuple[NDArray[np.int32], int, bool, float]:
    """Owners, period, whether redistributed, and makespan of hs_wavefront_panels; period 0 searches."""
    owner = np.empty(lines, np.int32)
    chosen, redistributed, makespan = ffi.new("int32_t *"), ffi.new("int32_t *"), ffi.new("double *")
    problem = (length, lines, len(times), _doubles(times), period, reach, order)
    found = _int32s(owner), chosen, redistributed, makespan
    _cancellable(lambda cancel: lib.hs_wavefront_panels(*problem, cancel, *found), lines * (length + lines) > _LONG)
    return owner, chosen[0], bool(redistributed[0]), makespan[0]


CUBOIDS_EXACT: int = lib.HS_CUBOIDS_EXACT


def partition_cuboids(
    volumes: NDArray[np.float64], faces: NDArray[np.float64], axes: int, order: NDArray[np.int32] | None, tries: int, seed: int
) -> tuple[NDArray[np.int32], float]:
    """tree and cost of hs_partition_cuboids."""
    p = len(volumes)
    tree, length, cost = np.empty(2 * p - 1, np.int32), ffi.new("int32_t *"), ffi.new("double *")
    given = p, _doubles(volumes), _doubles(faces), axes, _or_null(order, _int32s), tries, seed
    _cancellable(lambda cancel: lib.hs_partition_cuboids(*given, cancel, _int32s(tree), length, cost), p > 16)
    return tree[: length[0]].copy(), cost[0]


def partition_cuboids_exact(
    volumes: NDArray[np.float64], faces: NDArray[np.float64], axes: int
) -> tuple[NDArray[np.int32], float]:
    """tree and cost of hs_partition_cuboids_exact."""
    p = len(volumes)
    tree, length, cost = np.empty(2 * p - 1, np.int32), ffi.new("int32_t *"), ffi.new("double *")
    given, found = (p, _doubles(volumes), _doubles(faces), axes), (_int32s(tree), length, cost)
    _cancellable(lambda cancel: lib.hs_partition_cuboids_exact(*given, cancel, *found), p > 8)
    return tree[: length[0]].copy(), cost[0]


def cuboid_boxes(volumes: NDArray[np.float64], tree: NDArray[np.int32]) -> NDArray[np.float64]:
    """(p, 6) boxes of hs_cuboid_boxes."""
    boxes = np.empty((len(volumes), 6))
    check_status(lib.hs_cuboid_boxes(len(volumes), _doubles(volumes), _int32s(tree), len(tree), _doubles(boxes.reshape(-1))))
    return boxes


def tile_cuboids(shape: tuple[int, int, int], volumes: NDArray[np.float64], tree: NDArray[np.int32]) -> NDArray[np.int64]:
    """(p, 6) boxes of hs_tile_cuboids."""
    boxes = np.empty((len(volumes), 6), np.int64)
    given = *shape, len(volumes), _doubles(volumes), _int32s(tree), len(tree)
    _cancellable(lambda cancel: lib.hs_tile_cuboids(*given, cancel, _int64s(boxes.reshape(-1))), len(volumes) > _LONG // 50)
    return boxes


class StarResult(NamedTuple):
    """Of hs_star_plan; both arrays are empty where there are more messages than were to be recorded."""

    makespan: float
    variant: int
    variants: list[float]
    sides: NDArray[np.int64]
    columns: NDArray[np.int64]
    message_count: int
    chunks: NDArray[Any]
    messages: NDArray[Any]


STAR_MESSAGE = np.dtype(
    [("worker", "i4"), ("kind", "i4"), ("chunk", "i8"), ("depth", "i8")]
    + [(name, "f8") for name in ("start", "end", "compute_start", "compute_end")]
)
STAR_CHUNK = np.dtype(
    [(name, "i4") for name in ("worker", "held", "buffers")]
    + [(name, "i8") for name in ("row", "col", "height", "width", "depth")],
    align=True,
)


class Star:
    """An hs_star and the arrays that it points to."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        times: NDArray[np.float64],
        costs: NDArray[np.float64],
        memory: NDArray[np.int64],
    ) -> None:
        self.p = len(times)
        self._views = _doubles(times), _doubles(costs), _int64s(memory)
        self.handle = ffi.new("hs_star *", (*shape, self.p, *self._views))

    def plan(self, method: int, variant: int, eager: bool, most: int, long: bool) -> StarResult:
        """hs_star_plan; the chunks and messages too if there are at most so many messages."""
        summary = ffi.new("hs_star_summary *")
        sides, columns = np.empty(self.p, np.int64), np.empty(self.p, np.int64)
        chunks, messages = np.zeros(0, STAR_CHUNK), np.zeros(0, STAR_MESSAGE)

        def call(outputs: tuple[Any, Any]) -> None:
            plan = (self.handle, method, variant, eager)
            arrays = (summary, _int64s(sides), _int64s(columns), *outputs)
            _cancellable(lambda cancel: lib.hs_star_plan(*plan, cancel, *arrays), long)

        call((ffi.NULL, ffi.NULL))
        result, variants = summary.variant, list(summary.variants)
        if summary.message_count <= most:
            if variant < 0 and method == lib.HS_STAR_HET:
                variant = result
            chunks, messages = np.zeros(summary.chunk_count, STAR_CHUNK), np.zeros(summary.message_count, STAR_MESSAGE)
            call((ffi.from_buffer("hs_star_chunk[]", chunks), ffi.from_buffer("hs_star_message[]", messages)))
        return StarResult(summary.makespan, result, variants, sides, columns, summary.message_count, chunks, messages)

    def search(self, eager: bool, seed: int, effort: int) -> tuple[NDArray[Any], int, float]:
        """Chunks, order and makespan of hs_star_search."""
        shares, by_rows, order = ffi.new("hs_star_share[]", self.p), ffi.new("int32_t *"), ffi.new("int32_t *")
        makespan, count = ffi.new("double *"), ffi.new("int64_t *")
        found = (by_rows, shares, order, makespan)
        _cancellable(lambda cancel: lib.hs_star_search(self.handle, eager, seed, effort, cancel, *found), effort > 0)
        check_status(lib.hs_star_cut(self.handle, by_rows[0], shares, count, ffi.NULL))
        chunks = np.zeros(count[0], STAR_CHUNK)
        check_status(lib.hs_star_cut(self.handle, by_rows[0], shares, count, ffi.from_buffer("hs_star_chunk[]", chunks)))
        return chunks, order[0], makespan[0]

    def exact(self, most_chunks: int, effort: int, limit: float) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Chunks, and the worker of each message, of hs_star_exact; most_chunks as its header says."""
        chunks, served = np.zeros(most_chunks, STAR_CHUNK), np.empty(most_chunks * (self.handle.t + 2), np.int32)
        count, length, makespan = ffi.new("int64_t *"), ffi.new("int64_t *"), ffi.new("double *")
        found = count, ffi.from_buffer("hs_star_chunk[]", chunks), length, _int32s(served), makespan
        _cancellable(lambda cancel: lib.hs_star_exact(self.handle, effort, limit, cancel, *found), effort > 0)
        return chunks[: count[0]].copy(), served[: length[0]].copy()

    def simulate(
        self, chunks: NDArray[Any], order: int, served: NDArray[np.int32], eager: bool, long: bool = False
    ) -> tuple[float, NDArray[Any]]:
        """Makespan and messages of hs_star_simulate for an array of STAR_CHUNK."""
        count, makespan = ffi.new("int64_t *"), ffi.new("double *")
        given = (len(chunks), ffi.from_buffer("hs_star_chunk[]", chunks), order, len(served), _int32s(served), eager)

        def call(messages: Any) -> None:
            out = (messages, count, makespan)
            _cancellable(lambda cancel: lib.hs_star_simulate(self.handle, *given, cancel, *out), long)

        call(ffi.NULL)
        messages = np.zeros(count[0], STAR_MESSAGE)
        call(ffi.from_buffer("hs_star_message[]", messages))
        return makespan[0], messages

    def bounds(self, layout: int) -> list[float]:
        """hs_star_bounds."""
        bounds = ffi.new("double[5]")
        _cancellable(lambda cancel: lib.hs_star_bounds(self.handle, layout, cancel, bounds), self.p > _LONG // 20)
        return list(bounds)


def star_side(memory: int, layout: int) -> int:
    """hs_star_side."""
    return lib.hs_star_side(memory, layout)  # type: ignore[no-any-return]


def assign(costs: NDArray[Any], maximise: bool) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[Any]]:
    """Column of each row, row prices and column prices of hs_assign, or of hs_assign_int64 for int64 costs; any row stride."""
    rows, cols = costs.shape
    columns, row_prices, col_prices = np.empty(rows, np.int32), np.empty(rows, costs.dtype), np.empty(cols, costs.dtype)
    whole = costs.dtype == np.int64
    function, kind, view = (lib.hs_assign_int64, "int64_t *", _int64s) if whole else (lib.hs_assign, "double *", _doubles)
    start, stride = ffi.cast(kind, costs.ctypes.data), costs.strides[0] // 8
    given, found = (rows, cols, start, stride, maximise), (_int32s(columns), view(row_prices), view(col_prices))
    _cancellable(lambda cancel: function(*given, cancel, *found), rows * cols > _LONG)
    return columns, row_prices, col_prices


def task_counts(
    bound: float, times: NDArray[np.float64], send: float, receive: float, slots: int, receive_slots: NDArray[np.int32] | None
) -> NDArray[np.int64]:
    """(p, slots) counts of hs_task_counts."""
    counts = np.empty((len(times), slots), np.int64)
    given = bound, len(times), _doubles(times), send, receive, slots, _or_null(receive_slots, _int32s)
    _cancellable(lambda cancel: lib.hs_task_counts(*given, cancel, _int64s(counts.reshape(-1))), counts.size > _LONG)
    return counts


def task_deadlines(
    bound: float, times: NDArray[np.float64], send: float, slots: int, counts: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Deadlines of hs_task_deadlines."""
    deadlines = np.empty(len(times), np.int32)
    given = bound, len(times), _doubles(times), send, slots, _int64s(counts)
    _cancellable(lambda cancel: lib.hs_task_deadlines(*given, cancel, _int32s(deadlines)), len(times) > _LONG)
    return deadlines


RING_EXACT: int = lib.HS_RING_EXACT
RING_MOST: int = 1 << 14


class Ring:
    """An hs_ring and the arrays that it points to; rings are int32 arrays of its workers."""

    def __init__(
        self, times: NDArray[np.float64], links: NDArray[np.float64], work: float, volume: float, relays: bool = False
    ) -> None:
        self.p = len(times)
        self._views = _doubles(times), _doubles(links.reshape(-1))
        self.handle = ffi.new("hs_ring *", (self.p, *self._views, work, volume, relays))

    def _found(self, function: Any, *given: Any, long: bool) -> NDArray[np.int32]:
        ring, size, makespan = np.empty(self.p, np.int32), ffi.new("int32_t *"), ffi.new("double *")
        _cancellable(lambda cancel: function(self.handle, *given, cancel, _int32s(ring), size, makespan), long)
        return ring[: size[0]].copy()

    def greedy(self, first: int) -> NDArray[np.int32]:
        """Ring of hs_ring_greedy."""
        return self._found(lib.hs_ring_greedy, first, long=self.p > (80 if first < 0 else 1000))

    def exact(self) -> NDArray[np.int32]:
        """Ring of hs_ring_exact."""
        return self._found(lib.hs_ring_exact, long=self.p > 8)

    def search(self, ring: NDArray[np.int32], rounds: int, seed: int) -> tuple[NDArray[np.int32], int, float]:
        """Ring, state of the random numbers and makespan that hs_ring_search found from a ring."""
        found, size = np.resize(ring, self.p), ffi.new("int32_t *", len(ring))
        state, makespan = ffi.new("uint64_t *", seed), ffi.new("double *")
        outputs = _int32s(found), size, state, makespan
        _cancellable(lambda cancel: lib.hs_ring_search(self.handle, rounds, cancel, *outputs), True)
        return found[: size[0]].copy(), state[0], makespan[0]

    def shortest(self) -> NDArray[np.int32]:
        """Ring of hs_ring_shortest."""
        ring = np.empty(self.p, np.int32)
        _cancellable(lambda cancel: lib.hs_ring_shortest(self.handle, cancel, _int32s(ring)), self.p > 14)
        return ring

    def lengths(self) -> NDArray[np.float64]:
        """(2^p,) lengths of hs_ring_lengths."""
        lengths = np.empty(2**self.p)
        _cancellable(lambda cancel: lib.hs_ring_lengths(self.handle, cancel, _doubles(lengths)), self.p > 14)
        return lengths

    def shares(self, ring: NDArray[np.int32]) -> tuple[NDArray[np.float64], float]:
        """Shares and makespan of hs_ring_shares."""
        shares, makespan = np.empty(self.p), ffi.new("double *")
        given, found = (self.handle, len(ring), _int32s(ring)), (_doubles(shares), makespan)
        _cancellable(lambda cancel: lib.hs_ring_shares(*given, cancel, *found), self.p > 1000)
        return shares, makespan[0]

    def bound(self, makespan: float, rounds: int) -> float:
        """hs_ring_bound."""
        bound = ffi.new("double *")
        _cancellable(lambda cancel: lib.hs_ring_bound(self.handle, makespan, rounds, cancel, bound), self.p > 200)
        return bound[0]  # type: ignore[no-any-return]


def lu_blocks(m: int, n: int, block: int) -> int:
    """Number of blocks of hs_lu_blocks."""
    count = ffi.new("int32_t *")
    check_status(lib.hs_lu_blocks(m, n, block, count))
    return count[0]  # type: ignore[no-any-return]


def lu_simulate(
    m: int, n: int, block: int, owner: NDArray[np.int32], times: NDArray[np.float64],
    panel_times: NDArray[np.float64] | None = None, links: NDArray[np.float64] | None = None, late_panel: bool = False,
) -> tuple[float, float, NDArray[Any], NDArray[Any]]:  # fmt: skip
    """Makespan, multiply-adds, tasks and messages of hs_lu_simulate; times are per multiply-add, links per element."""
    makespan, work, counts = ffi.new("double *"), ffi.new("double *"), ffi.new("int64_t[2]")
    costs, alive = _lu_costs(panel_times, links, late_panel)
    given = m, n, block, len(times), _doubles(times), _int32s(owner), costs

    def call(tasks: Any, messages: Any) -> None:
        found = makespan, work, tasks, counts, messages, counts + 1
        _cancellable(lambda cancel: lib.hs_lu_simulate(*given, cancel, *found), len(owner) ** 2 > _LONG)

    call(ffi.NULL, ffi.NULL)
    tasks, messages = np.empty(counts[0], LU_TASK), np.empty(counts[1], LU_MESSAGE)
    call(ffi.from_buffer("hs_lu_task[]", tasks), ffi.from_buffer("hs_lu_message[]", messages))
    del alive
    return makespan[0], work[0], tasks, messages


def _lu_costs(
    panel_times: NDArray[np.float64] | None, links: NDArray[np.float64] | None, late_panel: bool
) -> tuple[Any, tuple[Any, ...]]:
    """The hs_lu_costs and what must stay alive with it."""
    views = _or_null(panel_times, _doubles), _or_null(None if links is None else links.reshape(-1), _doubles)
    return ffi.new("hs_lu_costs *", (*views, late_panel)), views


_LU_FIELDS = ("worker", "i4"), ("panel", "i4"), ("block", "i4"), ("start", "f8"), ("end", "f8"), ("work", "f8")
LU_TASK = np.dtype(list(_LU_FIELDS), align=True)  # hs_lu_task
LU_MESSAGE = np.dtype(
    [(name, "i4") for name in ("panel", "sender", "receiver")] + [(name, "f8") for name in ("start", "end")], align=True
)  # hs_lu_message


def lu_grid_deal(n: int, times: NDArray[np.float64], plan: NDArray[np.int32]) -> NDArray[np.int32]:
    """(n, n) owners of hs_lu_grid_deal."""
    owner = np.empty((n, n), np.int32)
    given = n, len(times), _doubles(times), _int32s(plan), len(plan)
    _cancellable(lambda cancel: lib.hs_lu_grid_deal(*given, cancel, _int32s(owner.reshape(-1))), owner.size > _LONG)
    return owner


def lu_grid_evaluate(
    owner: NDArray[np.int32], times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Loads, traffic and what each worker receives, of hs_lu_grid_evaluate."""
    n, p = len(owner), len(times)
    loads, traffic, received = np.empty(n), np.empty(n, np.int64), np.empty(p, np.int64)
    given = n, p, _doubles(times), _int32s(owner.reshape(-1))
    found = _doubles(loads), _int64s(traffic), _int64s(received)
    _cancellable(lambda cancel: lib.hs_lu_grid_evaluate(*given, cancel, *found), owner.size > _LONG)
    return loads, traffic, received


def lu_grid_bound(n: int, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) bounds of hs_lu_grid_bound."""
    bounds = np.empty(n)
    given = n, len(times), _doubles(times)
    _cancellable(lambda cancel: lib.hs_lu_grid_bound(*given, cancel, _doubles(bounds)), n * len(times) > _LONG // 10)
    return bounds


def _links(sends: NDArray[np.float64], receives: NDArray[np.float64] | None) -> tuple[Any, Any]:
    return _doubles(sends), _or_null(receives, _doubles)


def task_orders(
    bound: float, times: NDArray[np.float64], sends: NDArray[np.float64], receives: NDArray[np.float64] | None,
    send_order: NDArray[np.int32], receive_order: NDArray[np.int32],
) -> NDArray[np.int64]:  # fmt: skip
    """Counts of hs_task_orders."""
    counts, q = np.empty(len(times), np.int64), len(send_order)
    orders = _int32s(send_order), _int32s(receive_order)
    check_status(lib.hs_task_orders(bound, len(times), _doubles(times), *_links(sends, receives), q, *orders, _int64s(counts)))
    return counts


def task_links(
    bound: float, times: NDArray[np.float64], sends: NDArray[np.float64], receives: NDArray[np.float64] | None, work: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], bool]:
    """Send order, receive order and whether they are optimal, of hs_task_links."""
    p = len(times)
    out, back = np.empty(p, np.int32), np.empty(p, np.int32)
    enrolled, optimal = ffi.new("int32_t *"), ffi.new("int *")
    given = bound, p, _doubles(times), *_links(sends, receives), work, 1
    found = enrolled, _int32s(out), _int32s(back), optimal
    _cancellable(lambda cancel: lib.hs_task_links(*given, cancel, *found), work > _LONG or p > 5)
    return out[: enrolled[0]].copy(), back[: enrolled[0]].copy(), bool(optimal[0])


def task_positions(
    bound: float, times: NDArray[np.float64], sends: NDArray[np.float64], receives: NDArray[np.float64] | None, depth: int
) -> NDArray[np.int64]:
    """(p, p, depth) weights of hs_task_positions."""
    p = len(times)
    weights = np.empty((p, p, depth), np.int64)
    given = bound, p, _doubles(times), *_links(sends, receives), depth
    _cancellable(lambda cancel: lib.hs_task_positions(*given, cancel, _int64s(weights.reshape(-1))), weights.size > _LONG)
    return weights


def assign_axial(weights: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Columns, tubes and total of hs_assign_axial."""
    p = len(weights)
    columns, tubes, total = np.empty(p, np.int32), np.empty(p, np.int32), ffi.new("int64_t *")
    given, found = (p, _int64s(weights.reshape(-1))), (_int32s(columns), _int32s(tubes), total)
    _cancellable(lambda cancel: lib.hs_assign_axial(*given, cancel, *found), p > 9)
    return columns, tubes, total[0]


def divisible_orders(
    times: NDArray[np.float64], sends: NDArray[np.float64], receives: NDArray[np.float64], out: NDArray[np.int32],
    back: NDArray[np.int32], work: int, enough: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], float, bool]:  # fmt: skip
    """Send order, receive order, shares, makespan and whether they are optimal, of hs_divisible_orders."""
    p = len(times)
    orders, shares = (out.copy(), back.copy()), np.empty(p)
    makespan, optimal = ffi.new("double *"), ffi.new("int *")
    given = p, _doubles(times), _doubles(sends), _doubles(receives), work, 1, enough
    found = *map(_int32s, orders), _doubles(shares), makespan, optimal
    _cancellable(lambda cancel: lib.hs_divisible_orders(*given, cancel, *found), (p > 5 and work > 0) or p > 100)
    return *orders, shares, makespan[0], bool(optimal[0])


def divisible_bound(times: NDArray[np.float64], sends: NDArray[np.float64], receives: NDArray[np.float64]) -> float:
    """hs_divisible_bound."""
    bound, p = ffi.new("double *"), len(times)
    given = p, _doubles(times), _doubles(sends), _doubles(receives)
    _cancellable(lambda cancel: lib.hs_divisible_bound(*given, cancel, bound), p > 500)
    return bound[0]  # type: ignore[no-any-return]


class Layers:
    """An hs_layers and the arrays that it points to; orders are int32 arrays of all workers."""

    def __init__(self, mode: int, n: int, compute: NDArray[np.float64], send: NDArray[np.float64]) -> None:
        self.n, self.p = n, len(compute)
        self._views = _doubles(compute), _doubles(send)
        self.handle = ffi.new("hs_layers *", (mode, self.p, n, *self._views))

    def schedule(self, order: NDArray[np.int32], counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """(3, p) start of the message, its end and that of the work, and the makespan, of hs_layers_schedule."""
        times, makespan = np.empty((3, self.p)), ffi.new("double *")
        check_status(lib.hs_layers_schedule(self.handle, _int32s(order), _int64s(counts), *map(_doubles, times), makespan))
        return times, makespan[0]

    def relaxed(self, order: NDArray[np.int32] | None = None) -> tuple[NDArray[np.float64], float]:
        """Shares and makespan of hs_layers_relaxed."""
        shares, makespan = np.empty(self.p), ffi.new("double *")
        check_status(lib.hs_layers_relaxed(self.handle, _or_null(order, _int32s), _doubles(shares), makespan))
        return shares, makespan[0]

    def bound(self) -> float:
        """hs_layers_bound."""
        bound = ffi.new("double *")
        _cancellable(lambda cancel: lib.hs_layers_bound(self.handle, cancel, bound), self.p > _LONG)
        return bound[0]  # type: ignore[no-any-return]

    def paper(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Shares and counts of hs_layers_paper, by index."""
        shares, counts = np.empty(self.p), np.empty(self.p, np.int64)
        check_status(lib.hs_layers_paper(self.handle, ffi.NULL, _doubles(shares), _int64s(counts)))
        return shares, counts

    def exact(self) -> tuple[NDArray[np.int64], bool]:
        """Counts of hs_layers_exact by index, and whether they are proven optimal."""
        counts, optimal = np.empty(self.p, np.int64), ffi.new("int *")
        outputs = _int64s(counts), optimal
        _cancellable(lambda cancel: lib.hs_layers_exact(self.handle, ffi.NULL, cancel, *outputs), self.p > 50)
        return counts, bool(optimal[0])

    def best(self, work: int) -> tuple[NDArray[np.int32], NDArray[np.int64], bool]:
        """Order and counts of hs_layers_best, and whether they are proven optimal."""
        order, counts, optimal = np.empty(self.p, np.int32), np.empty(self.p, np.int64), ffi.new("int *")
        outputs = _int32s(order), _int64s(counts), optimal
        _cancellable(lambda cancel: lib.hs_layers_best(self.handle, work, cancel, *outputs), self.p > 6)
        return order, counts, bool(optimal[0])


def clock() -> float:
    """The engine's monotonic clock, in seconds."""
    return lib.hs_clock()  # type: ignore[no-any-return]


def seconds(call: Callable[[], object]) -> float:
    """Of a short call: the third least time of eight."""
    times = []
    for _ in range(8):
        start = clock()
        call()
        times.append(clock() - start)
    return sorted(times)[2]


# ---- kernels ----------------------------------------------------------------------------------------------------

KERNELS = ("blis", "openblas", "c")


def kernel() -> dict[str, Any]:
    """What multiplies: name, version, set, reason, why not BLIS; per real type whose micro-kernel and its register tile."""
    info = ffi.new("hs_kernel_info *")
    check_status(lib.hs_kernel_describe(info))
    texts = {key: ffi.string(getattr(info, key)).decode() for key in ("name", "version", "set", "reason", "refused")}
    kernels = {
        name: (ffi.string(info.source[i]).decode(), info.tile_rows[i], info.tile_cols[i])
        for i, name in enumerate(("float32", "float64"))
    }
    return {**texts, "kernels": kernels}


def use_kernel(name: str) -> None:
    """Select "blis", "openblas" or "c" for all later products of this process."""
    if name not in KERNELS:
        raise ValueError(f"name must be one of {', '.join(KERNELS)}, got {name!r}")
    if name == "openblas":
        _hand_in_openblas()  # whether its threads can be limited or not: it was asked for
    try:
        check_status(lib.hs_kernel_select(name.encode()))
    except NotImplementedError:
        raise ValueError(f"kernel {name!r} is not available in this build") from None


def _hand_in_openblas() -> bool:
    """SciPy's own gemm, found through the capsules that it exports to Cython. Returns whether its threads can be held at one."""
    import ctypes
    import re

    from scipy.linalg import cython_blas

    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointers = []
    for name in ("sgemm", "dgemm"):
        capsule = cython_blas.__pyx_capi__[name]
        signature = api.PyCapsule_GetName(capsule)
        pointers.append(api.PyCapsule_GetPointer(capsule, signature))
    wide = re.search(rb"\b(int64_t|long long|npy_int64|blas_int64)\b", signature) is not None
    set_threads, get_threads = _openblas_threads(ctypes.CDLL(cython_blas.__file__))
    gemm = [ffi.cast("void *", pointer) for pointer in pointers]
    threads = ffi.cast("void (*)(int)", set_threads), ffi.cast("int (*)(void)", get_threads)
    check_status(lib.hs_kernel_use_fortran(*gemm, 8 if wide else 4, *threads))
    return set_threads != 0


def _openblas_threads(library: Any) -> tuple[int, int]:
    """Addresses of what sets and what gets the number of threads of the OpenBLAS behind a library; 0 where it is another BLAS."""
    import ctypes

    for name in ("scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
        for suffix in ("", "64_", "_64", "_64_"):
            found = (getattr(library, name.format(verb) + suffix, None) for verb in ("set", "get"))
            functions = [function for function in found if function is not None]
            if len(functions) == 2:
                first, second = (ctypes.cast(function, ctypes.c_void_p).value for function in functions)
                return first or 0, second or 0
    return 0, 0


def _choose_kernel() -> None:
    """BLIS if the build has it; else our own where they are tuned for the processor; else SciPy's OpenBLAS, if it is there.

    All workers call it at once, so its own threads must be held at one; not so macOS' Accelerate, which has no such function."""
    from importlib.util import find_spec

    chosen = kernel()
    if chosen["name"] == "c" and chosen["set"] == "plain" and find_spec("scipy") is not None:
        with contextlib.suppress(Exception):  # another SciPy, another BLAS: our own kernels do
            if _hand_in_openblas() or sys.platform == "darwin":
                use_kernel("openblas")


# ---- pool and products ------------------------------------------------------------------------------------------

DTYPES = {np.dtype(name): i for i, name in enumerate(("float32", "float64", "complex64", "complex128"))}
_CODES = {dtype.num: code for dtype, code in DTYPES.items()}
Box = tuple[int, int, int, int, int, int, int]


def flops_per_update(dtype: np.dtype[Any]) -> float:
    """Flops of one multiply-add: 2, or 8 for complex."""
    return lib.hs_flops_per_update(DTYPES[dtype])  # type: ignore[no-any-return]


class Poll:
    """Called back while a run lasts; keeps what it raises, to be raised again when the engine has returned."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self.error: BaseException | None = None

    def __call__(self, fraction: float) -> int:
        try:
            if self.progress is not None and self.error is None:
                self.progress(fraction)
        except BaseException as error:
            self.error = error
        return int(self.error is not None)


def _poll_failed(kind: type[BaseException], error: BaseException, traceback: TracebackType) -> None:
    """A KeyboardInterrupt that arrives before Poll's own try block."""
    frame = traceback.tb_frame if traceback is not None else None
    context = frame.f_locals.get("context") if frame is not None else None
    if context is not None:
        ffi.from_handle(context).error = error


@ffi.def_extern(error=1, onerror=_poll_failed)  # type: ignore[untyped-decorator]
def hs_python_poll(context: Any, fraction: float) -> int:
    return ffi.from_handle(context)(fraction)  # type: ignore[no-any-return]


class Tile:
    """A tile function in Python; what it raises ends the run and is kept by the poll."""

    def __init__(self, function: Callable[[NDArray[Any], int, int, int, int], object], array: NDArray[Any], poll: Poll) -> None:
        self.function, self.array, self.poll = function, array, poll

    @property
    def error(self) -> BaseException | None:
        return self.poll.error

    @error.setter
    def error(self, error: BaseException) -> None:
        if self.poll.error is None:
            self.poll.error = error

    def __call__(self, row: int, col: int, height: int, width: int) -> None:
        try:
            if self.error is None:
                self.function(self.array, row, col, height, width)
        except BaseException as error:
            self.error = error


@ffi.def_extern(onerror=_poll_failed)  # type: ignore[untyped-decorator]
def hs_python_tile(context: Any, row: int, col: int, height: int, width: int) -> None:
    ffi.from_handle(context)(row, col, height, width)


class Threads:
    """Owner of an hs_pool; the threads end when the last reference goes, so never under a running product."""

    def __init__(self, workers: int, cores: Sequence[int] | None) -> None:
        handle = ffi.new("hs_pool **")
        check_status(lib.hs_pool_create(workers, ffi.NULL if cores is None else list(cores), handle))
        self.handle = ffi.gc(handle[0], lib.hs_pool_destroy)
        self._size = workers

    def trim(self) -> None:
        """hs_pool_trim."""
        check_status(lib.hs_pool_trim(self.handle))

    def availability(self, speeds: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """hs_pool_availability: (p,)."""
        found = np.empty(self._size)
        lib.hs_pool_availability(self.handle, _or_null(speeds, _doubles), _doubles(found))
        return found


def _address(array: NDArray[Any]) -> Any:
    if array.flags.c_contiguous:
        return ffi.from_buffer(array)
    return ffi.cast("void *", array.ctypes.data)


def _product(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], alpha: complex, beta: complex) -> tuple[Any, tuple[Any, ...]]:
    """The hs_product and what must stay alive with it. The arrays are 2-D, of one supported dtype, aligned."""
    e = c.itemsize
    (m, n), k = c.shape, a.shape[1]
    (ars, acs), (brs, bcs), (crs, ccs) = a.strides, b.strides, c.strides
    pa, pb, pc = _address(a), _address(b), _address(c)
    fields = (
        _CODES[c.dtype.num], m, n, k, pa, ars // e, acs // e, pb, brs // e, bcs // e, pc, crs // e, ccs // e,
        (alpha.real, alpha.imag), (beta.real, beta.imag),
    )  # fmt: skip
    return ffi.new("hs_product *", fields), (pa, pb, pc)


def gemm(
    threads: Threads,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    alpha: complex,
    beta: complex,
    speeds: NDArray[np.float64] | None,
    poll: Poll | None,
) -> None:
    """C <- alpha A B + beta C, shared by all workers of the pool."""
    product, alive = _product(a, b, c, alpha, beta)
    shares = ffi.NULL if speeds is None else _doubles(speeds)
    if poll is None:
        status = lib.hs_gemm(threads.handle, product, shares, ffi.NULL, ffi.NULL)
    else:
        handle = ffi.new_handle(poll)
        status = lib.hs_gemm(threads.handle, product, shares, lib.hs_python_poll, handle)
    del alive
    if status:
        _raise(status, poll)


def gemm_boxes(sizes: tuple[int, int, int], workers: int, speeds: NDArray[np.float64] | None) -> list[tuple[int, int, int]]:
    """(worker, depth, length) of hs_gemm_boxes: none where hs_gemm is not layered."""
    shares = _or_null(speeds, _doubles)
    count = lib.hs_gemm_boxes(*sizes, workers, shares, ffi.NULL, 0)
    boxes = ffi.new("hs_box[]", count)
    lib.hs_gemm_boxes(*sizes, workers, shares, boxes, count)
    return [(box.worker, box.depth, box.length) for box in boxes]


def run_product(
    threads: Threads,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    alpha: complex,
    beta: complex,
    *,
    workers: int,
    boxes: Sequence[Box],
    cooperative: bool,
    speeds: NDArray[np.float64] | None,
    pace: NDArray[np.float64] | None,
    receive: NDArray[np.float64] | None,
    layered: bool,
    sum_rows: NDArray[np.int64] | None,
    sum_receive: NDArray[np.float64] | None,
    overlap: bool,
    poll: Poll,
    event_capacity: int,
) -> RunResult:
    """hs_run_product with everything recorded."""
    product, alive = _product(a, b, c, alpha, beta)
    box_array = ffi.new("hs_box[]", [tuple(int(x) for x in box) for box in boxes])
    rows, shares = _or_null(sum_rows, _int64s), _or_null(speeds, _doubles)
    transfers = [_or_null(x, lambda y: _doubles(np.ascontiguousarray(y).reshape(-1))) for x in (sum_receive, receive)]
    fields = (box_array, len(boxes), cooperative, layered, rows, transfers[0], shares, transfers[1], overlap)
    recorder = _Recorder(workers, pace, poll, event_capacity)
    status = lib.hs_run_product(threads.handle, product, ffi.new("hs_boxes *", fields), recorder.options, recorder.trace)
    del alive
    return recorder.result(status)


class StarRunResult(NamedTuple):
    """The port's log with measured seconds, most blocks that each worker held, the lateness and CPU time of each worker, and the
    lateness of the port."""

    messages: NDArray[Any]
    peak: list[int]
    late: list[float]
    busy: list[float]
    port_late: float


def run_star(
    threads: Threads,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    alpha: complex,
    beta: complex,
    *,
    star: Star,
    chunks: NDArray[Any],
    served: NDArray[np.int32] | None,
    block: int,
    pace: NDArray[np.float64] | None,
    message_count: int,
    poll: Poll,
) -> StarRunResult:
    """hs_run_star, demand driven without a list of those served."""
    product, alive = _product(a, b, c, alpha, beta)
    recorder = _Recorder(star.p, pace, poll, 0)
    messages, peak = np.zeros(message_count, STAR_MESSAGE), np.zeros(star.p, np.int64)
    views = ffi.from_buffer("hs_star_chunk[]", chunks), ffi.from_buffer("hs_star_message[]", messages), _int64s(peak)
    order = (lib.HS_STAR_DEMAND, 0, ffi.NULL) if served is None else (lib.HS_STAR_LISTED, len(served), _int32s(served))
    task = ffi.new("hs_star_product *", (star.handle, len(chunks), views[0], *order, block, views[1], 0, views[2], 0.0))
    times = ffi.addressof(recorder.trace, "times")
    result = recorder.result(lib.hs_run_star(threads.handle, product, task, recorder.options, times))
    del alive
    return StarRunResult(messages, peak.tolist(), result.late, result.busy, task.late)


class _Recorder:
    """The hs_options of a run, an hs_trace of all of it, and what must stay alive with them."""

    def __init__(self, workers: int, pace: NDArray[np.float64] | None, poll: Poll, event_capacity: int) -> None:
        self.poll = poll
        self.events = ffi.new("hs_event[]", event_capacity)
        self.times = [ffi.new("double[]", workers) for _ in range(3)]
        self.alive = _or_null(pace, _doubles), ffi.new_handle(poll)
        self.options = ffi.new("hs_options *", (self.alive[0], lib.hs_python_poll, self.alive[1]))
        self.trace = ffi.new("hs_trace *", (self.events, event_capacity, 0, self.times))

    def result(self, status: int) -> RunResult:
        if status:
            _raise(status, self.poll)
        if self.poll.error is not None:  # in the last tiles, after the last poll
            raise self.poll.error
        recorded = [(e.worker, _EVENT_KINDS[e.kind], e.start, e.end, e.box) for e in self.events[0 : self.trace.event_count]]
        return RunResult(recorded, *(list(times) for times in self.times))


def _stencil(array: NDArray[Any], weights: NDArray[np.float64], rule: int) -> Any:
    steps = [stride // array.itemsize for stride in array.strides]
    data = ffi.cast("void *", array.ctypes.data)
    return ffi.new("hs_stencil *", (_CODES[array.dtype.num], rule, *array.shape, data, *steps, weights.ravel().tolist()))


def sweep_once(array: NDArray[Any], weights: NDArray[np.float64], rule: int) -> None:
    """hs_stencil_tile on the whole array."""
    lib.hs_stencil_tile(_stencil(array, weights, rule), 0, 0, *array.shape)


def run_wavefront(
    threads: Threads,
    array: NDArray[Any],
    kernel: tuple[NDArray[np.float64], int] | tuple[int, int] | Callable[[NDArray[Any], int, int, int, int], object],
    *,
    workers: int,
    shape: tuple[int, int],
    axis: int,
    owner: NDArray[np.int32],
    reach: int,
    order: int,
    pace: NDArray[np.float64] | None,
    poll: Poll,
    event_capacity: int,
) -> RunResult:
    """hs_run_wavefront; the kernel is a stencil's weights and rule, addresses of a C function and its context, or Python."""
    if callable(kernel):
        function, alive = lib.hs_python_tile, ffi.new_handle(Tile(kernel, array, poll))
    elif isinstance(kernel[0], int):
        function, alive = ffi.cast("hs_tile_function", kernel[0]), ffi.cast("void *", kernel[1])
    else:
        function, alive = lib.hs_stencil_tile, _stencil(array, *kernel)
    problem = (*array.shape, *shape, axis, _int32s(owner), reach, order, function, alive)
    recorder = _Recorder(workers, pace, poll, event_capacity)
    task = ffi.new("hs_wavefront *", problem)
    return recorder.result(lib.hs_run_wavefront(threads.handle, task, recorder.options, recorder.trace))


def run_slices(
    threads: Threads,
    source: NDArray[Any],
    target: NDArray[Any],
    weight: float,
    steps: int,
    *,
    workers: int,
    ring: NDArray[np.int32],
    widths: NDArray[np.int64],
    exchange: NDArray[np.float64] | None,
    pace: NDArray[np.float64] | None,
    poll: Poll | None,
    event_capacity: int,
) -> RunResult:
    """hs_run_slices; source and target are 2-D, of one supported dtype, aligned; exchange is (size, 2)."""
    e = target.itemsize
    source_at, target_at = (ffi.cast("void *", array.ctypes.data) for array in (source, target))
    times = _or_null(exchange, lambda x: _doubles(x.reshape(-1)))
    strides = [[stride // e for stride in array.strides] for array in (source, target)]
    problem = (
        _CODES[target.dtype.num], *target.shape, source_at, *strides[0], target_at, *strides[1], weight, steps, len(ring),
        _int32s(ring), _int64s(widths), times,
    )  # fmt: skip
    recorder = _Recorder(workers, pace, poll or Poll(), event_capacity)
    return recorder.result(lib.hs_run_slices(threads.handle, ffi.new("hs_slices *", problem), recorder.options, recorder.trace))


def lu_block(m: int, n: int, dtype: np.dtype[Any], workers: int) -> int:
    """The block that hs_run_lu chooses."""
    return lib.hs_lu_block(m, n, DTYPES[dtype], workers)  # type: ignore[no-any-return]


def run_lu(
    threads: Threads,
    a: NDArray[Any] | None,
    lu: NDArray[Any],
    pivots: NDArray[np.int32],
    *,
    workers: int,
    block: int,
    owner: NDArray[np.int32] | None,
    cooperative: bool,
    pace: NDArray[np.float64] | None,
    panel_pace: NDArray[np.float64] | None,
    links: NDArray[np.float64] | None,
    late_panel: bool,
    poll: Poll,
    event_capacity: int,
) -> tuple[int, RunResult]:
    """hs_run_lu: the first zero of the diagonal or -1, and what was recorded. a is None where lu holds the matrix."""
    problem, alive = _lu(a, lu, pivots, block, owner)
    costs, views = _lu_costs(panel_pace, links, late_panel)
    problem.costs, problem.cooperative = costs, cooperative
    recorder = _Recorder(workers, pace, poll, event_capacity)
    result = recorder.result(lib.hs_run_lu(threads.handle, problem, recorder.options, recorder.trace))
    del alive, costs, views
    return problem.singular, result


def lu_solve(
    threads: Threads, lu: NDArray[Any], pivots: NDArray[np.int32], transposed: bool, b: NDArray[Any], poll: Poll
) -> None:
    """hs_lu_solve; b is a matrix and becomes the solution."""
    problem, alive = _lu(None, lu, pivots, 0, None)
    steps = [stride // b.itemsize for stride in b.strides]
    data, handle = ffi.cast("void *", b.ctypes.data), ffi.new_handle(poll)
    status = lib.hs_lu_solve(threads.handle, problem, transposed, b.shape[1], data, *steps, lib.hs_python_poll, handle)
    del alive
    if status:
        _raise(status, poll)


def _lu(
    a: NDArray[Any] | None, lu: NDArray[Any], pivots: NDArray[np.int32], block: int, owner: NDArray[np.int32] | None
) -> tuple[Any, tuple[Any, ...]]:
    """The hs_lu and what must stay alive with it. The arrays are 2-D, of one supported dtype, aligned."""
    e = lu.itemsize
    alive = ffi.NULL if a is None else _address(a), _or_null(owner, _int32s), _int32s(pivots)
    source = (ffi.NULL, 0, 0) if a is None else (alive[0], *(stride // e for stride in a.strides))
    target = ffi.cast("void *", lu.ctypes.data), *(stride // e for stride in lu.strides)
    fields = (_CODES[lu.dtype.num], *lu.shape, *source, *target, block, alive[1], 0, ffi.NULL, alive[2], -1)
    return ffi.new("hs_lu *", fields), alive


MEASURED = ("gemm", "panel", "trsm")


class Measurement(NamedTuple):
    """Seconds of the repetitions of each worker, none of one that rested; of how many each is the mean; seconds of the wall clock
    and of the core for all of them; columns of a panel; flops of one repetition."""

    times: list[NDArray[np.float64]]
    batch: NDArray[np.int32]
    elapsed: NDArray[np.float64]
    busy: NDArray[np.float64]
    width: int
    flops: float


def measure_kernel(
    threads: Threads,
    kernel: str,
    dtype: np.dtype[Any],
    size: int,
    *,
    workers: int,
    worker: int = -1,
    seconds: float = 0.0,
    least: int = 1,
    capacity: int = 1000,
) -> Measurement:
    """hs_measure_kernel on the `workers` of a pool, one of them or, with -1, all at once; without the GIL."""
    times = np.empty((workers, capacity))
    count, batch = np.empty(workers, np.int32), np.empty(workers, np.int32)
    elapsed, busy = np.empty(workers), np.empty(workers)
    views = (_doubles(times), _int32s(count), _int32s(batch), _doubles(elapsed), _doubles(busy))
    fields = (MEASURED.index(kernel), DTYPES[dtype], size, worker, seconds, capacity, least, *views, 0, 0.0)
    what, poll = ffi.new("hs_measurement *", fields), Poll()
    handle = ffi.new_handle(poll)
    status = lib.hs_measure_kernel(threads.handle, what, lib.hs_python_poll, handle)
    if status:
        _raise(status, poll)
    return Measurement(
        [row[:k].copy() for row, k in zip(times, count.tolist(), strict=True)], batch, elapsed, busy, what.width, what.flops
    )


def pinned(threads: Threads, workers: int) -> list[bool]:
    """Which workers are held on a core of their own."""
    flags = np.empty(workers, np.int32)
    lib.hs_pool_pinned(threads.handle, _int32s(flags))
    return [bool(flag) for flag in flags]


_EVENT_KINDS = {lib.HS_COMPUTE: "compute", lib.HS_TRANSFER: "transfer"}


class RunResult(NamedTuple):
    """events (worker, kind, start, end, box), and per worker its end, its lateness and its CPU time, in seconds."""

    events: list[tuple[int, str, float, float, int]]
    finish: list[float]
    late: list[float]
    busy: list[float]


def _raise(status: int, poll: Poll | None) -> NoReturn:
    if status == lib.HS_ERROR_CANCELLED:
        raise (poll and poll.error) or KeyboardInterrupt()
    check_status(status)
    raise AssertionError("unreachable")


_choose_kernel()
