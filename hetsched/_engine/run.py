"""csrc/threads, run, product, sweep and measure: pools of threads, and all that runs on them."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._base.ending import before_the_end, cancelled, is_refused
from . import kernels as kernels  # importing it chooses a kernel
from .allocate import ORDERS
from .dtypes import CODES, DTYPES
from .ffi import check_status, doubles, ffi, int32s, int64s, lib, or_null
from .schedule import BOX, as_boxes, as_rows
from .sites import Site, sites_of
from .star import STAR_MESSAGE, Star, message_count, star_chunks, star_messages

if TYPE_CHECKING:
    from .._base.progress import Progress


class Poll:
    """Called back during a run. It keeps an exception, to be raised once the engine returns."""

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
    """Keep a KeyboardInterrupt that arrives before the try block of Poll."""
    frame = traceback.tb_frame if traceback is not None else None
    context = frame.f_locals.get("context") if frame is not None else None
    if context is not None:
        ffi.from_handle(context).error = error


@ffi.def_extern(error=1, onerror=_poll_failed)  # type: ignore[untyped-decorator]
def hs_python_poll(context: Any, fraction: float) -> int:
    return ffi.from_handle(context)(fraction)  # type: ignore[no-any-return]


class Tile:
    """A tile function in Python. An exception in it ends the run and is kept by the poll."""

    def __init__(
        self,
        function: Callable[[NDArray[Any], int, int, int, int], object],
        array: NDArray[Any],
        poll: Poll,
    ) -> None:
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


def _domains(
    domains: Sequence[kernels.Blocking], of: Sequence[int]
) -> tuple[tuple[Any, Any, Any], object]:
    """Arguments count, domains and domain_of of the engine, and what must live as long as they."""
    names = [
        ffi.NULL if x.kernel is None else ffi.new("char[]", x.kernel.encode()) for x in domains
    ]
    given = [(name, x.depth, x.rows, x.cols) for name, x in zip(names, domains, strict=True)]
    return (len(domains), given, list(of)), names


class ThreadsRefused(RuntimeError):
    """The system does not start so many threads."""


_living: weakref.WeakValueDictionary[int, Threads] = weakref.WeakValueDictionary()


class Threads:
    """Owner of an hs_pool. The threads end with the last reference, so never during a product."""

    def __init__(
        self,
        workers: int,
        cores: Sequence[int] | None,
        domains: Sequence[kernels.Blocking] = (),
        domain_of: Sequence[int] = (),
        *,
        sites: Sequence[Site] = (),
        site_of: Sequence[int] = (),
        deterministic: bool = False,
        elastic: bool = False,
    ) -> None:
        """Create the pool.

        domains and domain_of give the blocking of each domain and the domain of each worker.
        Without domains all workers are alike and share a cache. sites and site_of: see
        hs_pool_bind. deterministic: see hs_pool_set_deterministic. elastic: see
        hs_pool_set_elastic.
        """
        if sites and len(site_of) != max(1, len(domains)):
            raise ValueError(f"site_of must have an entry for each domain, got {len(site_of)}")
        for name, each in (("cores", cores), ("domain_of", domain_of if domains else None)):
            if each is not None and len(each) != workers:
                raise ValueError(
                    f"{name} must have {workers} entries, one for each worker, got {len(each)}"
                )
        # Create the owner first: an interrupt may come between the call that makes a pool and the
        # next step of Python.
        owner = ffi.gc(ffi.new("hs_pool **"), lib.hs_python_end_pool)
        pinned = ffi.NULL if cores is None else list(cores)
        if domains:
            given, _names = _domains(domains, domain_of)
            status = lib.hs_pool_create_domains(workers, pinned, *given, owner)
        else:
            status = lib.hs_pool_create(workers, pinned, owner)
        if status == lib.HS_ERROR_THREAD:
            raise ThreadsRefused(
                f"workers is {workers}: the system refuses to start so many threads for this"
                " process; see RLIMIT_NPROC (ulimit -u), and pids.max of its cgroup"
            )
        check_status(status)
        self._owner, self.handle, self.size = owner, owner[0], workers
        if sites:
            places, _cpus = sites_of(sites)
            check_status(lib.hs_pool_bind(self.handle, len(sites), places, list(site_of)))
        check_status(lib.hs_pool_set_deterministic(self.handle, deterministic))
        check_status(lib.hs_pool_set_elastic(self.handle, elastic))
        _living[id(self)] = self
        if is_refused():  # _end_runs may not have seen this pool
            raise cancelled()

    def trim(self) -> None:
        """hs_pool_trim."""
        check_status(lib.hs_pool_trim(self.handle))

    def is_inside(self) -> bool:
        """hs_pool_is_inside."""
        return bool(lib.hs_pool_is_inside(self.handle))

    def availability(self, speeds: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """hs_pool_availability: (p,)."""
        found = np.empty(self.size)
        lib.hs_pool_availability(self.handle, or_null(speeds, doubles, self.size), doubles(found))
        return found


def cpus_stamp() -> int:
    """hs_cpus_stamp: another number once the calling thread may run on other cpus."""
    return lib.hs_cpus_stamp()  # type: ignore[no-any-return]


@before_the_end
def _end_runs(left: Callable[[], float]) -> None:
    """End all runs before Python ends threads.

    A thread that Python ends inside a poll loses its stack. Its run is on that stack, and workers
    of a pool still work on it.
    """
    pools = [pool for pool in (ref() for ref in _living.valuerefs()) if pool is not None]
    for pool in pools:
        lib.hs_pool_claim(pool.handle, 0.0)
    for pool in pools:
        lib.hs_pool_claim(pool.handle, left())


def address(array: NDArray[Any]) -> Any:
    """Address of the first element; the array may be read-only.

    A buffer takes a third of the time of `ctypes`.
    """
    flags = array.flags
    if flags.c_contiguous:
        return ffi.from_buffer(array)
    if flags.f_contiguous:
        return ffi.from_buffer(array.T)
    return ffi.cast("void *", array.ctypes.data)


def operand(array: NDArray[Any] | None) -> tuple[Any, int, int]:
    """Address of a matrix, and its strides in elements; null and zeros for None."""
    if array is None:
        return ffi.NULL, 0, 0
    rows, cols = (stride // array.itemsize for stride in array.strides)
    return ffi.cast("void *", array.ctypes.data), rows, cols


def line_start(memory: NDArray[np.uint8]) -> int:
    """Index of the first byte of an array that starts a cache line."""
    return -int(ffi.cast("uintptr_t", ffi.from_buffer(memory))) % 64


def is_transpose(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two matrices of one dtype are transposes of each other because they share memory."""
    transposed = a.shape == b.shape[::-1] and a.strides == b.strides[::-1]
    return transposed and a.ctypes.data == b.ctypes.data


def _product(
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    alpha: complex,
    beta: complex,
    halves: bool = False,
    hermitian: bool = False,
) -> tuple[Any, tuple[Any, ...]]:
    """The hs_product, and the objects that must stay alive with it.

    The arrays must be 2-D and aligned, of one supported dtype. halves: one triangle is computed and
    mirrored; hermitian: b is conjugated.
    """
    e = c.itemsize
    (m, n), k = c.shape, a.shape[1]
    (ars, acs), (brs, bcs), (crs, ccs) = a.strides, b.strides, c.strides
    pa, pb, pc = address(a), address(b), address(c)
    fields = (
        CODES[c.dtype.num],
        m,
        n,
        k,
        pa,
        ars // e,
        acs // e,
        pb,
        brs // e,
        bcs // e,
        pc,
        crs // e,
        ccs // e,
        (alpha.real, alpha.imag),
        (beta.real, beta.imag),
        lib.HS_TRIANGLE_MIRRORED if halves else lib.HS_TRIANGLE_NONE,
        hermitian,
    )
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
    hermitian: bool = False,
) -> None:
    """C <- alpha A B + beta C, shared by all workers of the pool.

    If b is the transpose of a, half of the product is computed. hermitian: b is the transpose of a,
    and its conjugate is meant.
    """
    product, alive = _product(a, b, c, alpha, beta, beta == 0 and is_transpose(a, b), hermitian)
    shares = or_null(speeds, doubles, threads.size)
    if poll is None:
        status = lib.hs_gemm(threads.handle, product, shares, ffi.NULL, ffi.NULL)
    else:
        handle = ffi.new_handle(poll)
        status = lib.hs_gemm(threads.handle, product, shares, lib.hs_python_poll, handle)
    del alive
    if status:
        raise_error(status, poll)


def gemm_boxes(
    sizes: tuple[int, int, int], workers: int, speeds: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """(b, 7) rows of hs_gemm_boxes; none if hs_gemm is not layered."""
    shares = or_null(speeds, doubles, workers)
    count = lib.hs_gemm_boxes(*sizes, workers, shares, ffi.NULL, 0)
    boxes = np.zeros(count, BOX)
    lib.hs_gemm_boxes(*sizes, workers, shares, ffi.from_buffer("hs_box[]", boxes), count)
    return as_rows(boxes)


def gemm_zones(
    dtype: np.dtype[Any],
    sizes: tuple[int, int, int],
    domains: Sequence[kernels.Blocking],
    domain_of: Sequence[int],
    speeds: NDArray[np.float64] | None,
) -> NDArray[np.int64]:
    """(d, 4) rectangles of hs_gemm_zones."""
    given, _names = _domains(domains, domain_of)
    rects, p = np.zeros((len(domains), 4), np.int64), len(domain_of)
    shares = or_null(speeds, doubles, p)
    out = ffi.from_buffer("int64_t[]", rects)
    check_status(lib.hs_gemm_zones(CODES[dtype.num], *sizes, p, *given, shares, out))
    return rects


def _boxes(rows: NDArray[np.int64]) -> Any:
    """The rows as an array of hs_box."""
    return ffi.from_buffer("hs_box[]", as_boxes(rows))


OUTSIDE, UNCOVERED, OVERLAP = lib.HS_OUTSIDE, lib.HS_UNCOVERED, lib.HS_OVERLAP


class Fault(NamedTuple):
    """An hs_cover: the kind of fault, the element, and the indices of two boxes, or -1.

    The kind is OUTSIDE, UNCOVERED, OVERLAP, or else HS_TWO_WORKERS.
    """

    kind: int
    row: int
    col: int
    depth: int
    boxes: tuple[int, int]


def fault_of_boxes(
    rows: NDArray[np.int64],
    shape: tuple[int, int, int],
    *,
    triangle: bool = False,
    one_worker: bool = False,
) -> Fault | None:
    """hs_boxes_cover: the reason why boxes do not tile a product, or None if they do.

    Boxes are (b, 7): worker, row, col, depth, height, width, length. The product is m x n x k, or
    its lower triangle.
    """
    cover = ffi.new("hs_cover *")
    which = lib.HS_TRIANGLE_LOWER if triangle else lib.HS_TRIANGLE_NONE
    status = lib.hs_boxes_cover(*shape, which, one_worker, len(rows), _boxes(rows), cover)
    if status == lib.HS_OK:
        return None
    if status != lib.HS_ERROR_VALUE:
        check_status(status)
    return Fault(cover.fault, cover.row, cover.col, cover.depth, (cover.first, cover.second))


def run_product(
    threads: Threads,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    alpha: complex,
    beta: complex,
    *,
    workers: int,
    boxes: NDArray[np.int64],
    cooperative: bool,
    speeds: NDArray[np.float64] | None,
    pace: NDArray[np.float64] | None,
    receive: NDArray[np.float64] | None,
    layered: bool,
    sum_rows: NDArray[np.int64] | None,
    sum_receive: NDArray[np.float64] | None,
    layers: Sequence[NDArray[Any] | None] | None = None,
    overlap: bool,
    halves: bool,
    poll: Poll,
    event_capacity: int,
) -> RunResult:
    """hs_run_product with everything recorded.

    boxes: as in `fault_of_boxes`; halves: they are of a triangle and its mirror image; layers:
    where the kept layers of each worker are stored, with rows side by side.
    """
    product, alive = _product(a, b, c, alpha, beta, halves)
    rows, shares = or_null(sum_rows, int64s, workers + 1), or_null(speeds, doubles, workers)
    transfers = [
        ffi.NULL if times is None else doubles(np.ascontiguousarray(times).reshape(-1), 2 * count)
        for times, count in ((sum_receive, workers), (receive, len(boxes)))
    ]
    kept = ffi.NULL
    if layers is not None:
        if len(layers) != workers:
            raise ValueError(
                f"layers must have {workers} entries, one for each worker, got {len(layers)}"
            )
        kept = ffi.new(
            "void *[]",
            [ffi.NULL if x is None else ffi.cast("void *", x.ctypes.data) for x in layers],
        )
    box_array = _boxes(boxes)
    fields = (
        box_array,
        len(boxes),
        cooperative,
        layered,
        rows,
        transfers[0],
        shares,
        transfers[1],
        kept,
        overlap,
    )
    recorder = Recorder(workers, pace, poll, event_capacity)
    status = lib.hs_run_product(
        threads.handle, product, ffi.new("hs_boxes *", fields), recorder.options, recorder.trace
    )
    del alive
    return recorder.result(status)


class NoSuchRun(ValueError):
    """The engine refuses to run a plan."""


class StarRunResult(NamedTuple):
    """The log of the port with measured seconds, that of the model, and what was measured of the
    workers.

    peak: most blocks that each worker held; late, busy: lateness and CPU time of each worker;
    port_late: lateness of the port.
    """

    messages: NDArray[Any]
    simulated: NDArray[Any]
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
    poll: Poll,
) -> StarRunResult:
    """hs_run_star; driven by demand if there is no list of the workers served.

    Raises NoSuchRun for chunks and messages that no port can send.
    """
    product, alive = _product(a, b, c, alpha, beta)
    recorder = Recorder(star.p, pace, poll, 0)
    try:
        count = message_count(star.handle.t, chunks)
    except ValueError as error:
        raise NoSuchRun(str(error)) from error
    messages, simulated = (np.zeros(count, STAR_MESSAGE) for _ in range(2))
    peak = np.zeros(star.p, np.int64)
    views = star_chunks(chunks), star_messages(messages), int64s(peak)
    order = (
        (lib.HS_STAR_DEMAND, 0, ffi.NULL)
        if served is None
        else (lib.HS_STAR_LISTED, len(served), int32s(served))
    )
    task = ffi.new(
        "hs_star_product *",
        (
            star.handle,
            len(chunks),
            views[0],
            *order,
            block,
            views[1],
            count,
            0,
            views[2],
            0.0,
            star_messages(simulated),
        ),
    )
    times = ffi.addressof(recorder.trace, "times")
    status = lib.hs_run_star(threads.handle, product, task, recorder.options, times)
    del alive
    if status == lib.HS_ERROR_VALUE:
        raise NoSuchRun(ffi.string(lib.hs_status_string(status)).decode())
    result = recorder.result(status)
    return StarRunResult(messages, simulated, peak.tolist(), result.late, result.busy, task.late)


class Recorder:
    """The hs_options of a run, a full hs_trace, and the objects that must stay alive with them."""

    def __init__(
        self, workers: int, pace: NDArray[np.float64] | None, poll: Poll, event_capacity: int
    ) -> None:
        self.poll = poll
        self.events = ffi.new("hs_event[]", event_capacity)
        self.times = [ffi.new("double[]", workers) for _ in range(3)]
        self.alive = or_null(pace, doubles, workers), ffi.new_handle(poll)
        self.options = ffi.new("hs_options *", (self.alive[0], lib.hs_python_poll, self.alive[1]))
        self.trace = ffi.new("hs_trace *", (self.events, event_capacity, 0, self.times))

    def result(self, status: int) -> RunResult:
        if status:
            raise_error(status, self.poll)
        if self.poll.error is not None:  # an error in the last tiles, after the last poll
            raise self.poll.error
        recorded = [
            (e.worker, _EVENT_KINDS[e.kind], e.start, e.end, e.box)
            for e in self.events[0 : self.trace.event_count]
        ]
        return RunResult(recorded, *(list(times) for times in self.times))


STENCIL_RULES = {"sum": lib.HS_SUM, "min": lib.HS_MIN}


def _stencil(array: NDArray[Any], weights: NDArray[np.float64], rule: str) -> Any:
    steps = [stride // array.itemsize for stride in array.strides]
    data = ffi.cast("void *", array.ctypes.data)
    return ffi.new(
        "hs_stencil *",
        (
            CODES[array.dtype.num],
            STENCIL_RULES[rule],
            *array.shape,
            data,
            *steps,
            weights.ravel().tolist(),
        ),
    )


def sweep_once(
    array: NDArray[Any],
    weights: NDArray[np.float64],
    rule: str,
    box: tuple[int, int, int, int] | None = None,
) -> None:
    """hs_stencil_tile on a row, column, height and width. Default: the whole array."""
    lib.hs_stencil_tile(_stencil(array, weights, rule), *(box or (0, 0, *array.shape)))


def run_wavefront(
    threads: Threads,
    array: NDArray[Any],
    kernel: (
        tuple[NDArray[np.float64], str]
        | tuple[int, int]
        | Callable[[NDArray[Any], int, int, int, int], object]
    ),
    *,
    workers: int,
    shape: tuple[int, int],
    axis: int,
    owner: NDArray[np.int32],
    reach: int,
    order: str,
    pace: NDArray[np.float64] | None,
    poll: Poll,
    event_capacity: int,
    box: tuple[int, int, int, int] | None = None,
) -> RunResult:
    """hs_run_wavefront.

    The kernel is the weights and the rule of a stencil, the addresses of a C function and its
    context, or a Python function. box: row, column, height and width of the part of the array that
    is computed. Default: the whole array.
    """
    row, col, height, width = (0, 0, *array.shape) if box is None else box
    if callable(kernel):
        if sys.is_finalizing():  # Python would end the workers, which are other threads
            raise RuntimeError(
                "the interpreter is ending: no other thread can call kernel any more"
            )
        function, alive = lib.hs_python_tile, ffi.new_handle(Tile(kernel, array, poll))
    elif isinstance(kernel[0], int):
        function, alive = ffi.cast("hs_tile_function", kernel[0]), ffi.cast("void *", kernel[1])
    else:
        function, alive = lib.hs_stencil_tile, _stencil(array, *kernel)
    problem = (
        height,
        width,
        *shape,
        axis,
        int32s(owner, shape[axis]),
        reach,
        ORDERS[order],
        function,
        alive,
        row,
        col,
    )
    recorder = Recorder(workers, pace, poll, event_capacity)
    task = ffi.new("hs_wavefront *", problem)
    return recorder.result(
        lib.hs_run_wavefront(threads.handle, task, recorder.options, recorder.trace)
    )


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
    overheads: NDArray[np.float64] | None,
    pace: NDArray[np.float64] | None,
    poll: Poll | None,
    event_capacity: int,
) -> RunResult:
    """hs_run_slices; source and target are 2-D and aligned, of one dtype; exchange is (size, 2),
    overheads (size,)."""
    e = target.itemsize
    source_at, target_at = (ffi.cast("void *", array.ctypes.data) for array in (source, target))
    times = ffi.NULL if exchange is None else doubles(exchange.reshape(-1), 2 * len(ring))
    strides = [[stride // e for stride in array.strides] for array in (source, target)]
    problem = (
        CODES[target.dtype.num],
        *target.shape,
        source_at,
        *strides[0],
        target_at,
        *strides[1],
        weight,
        steps,
        len(ring),
        int32s(ring),
        int64s(widths, len(ring)),
        times,
        or_null(overheads, doubles, len(ring)),
    )
    recorder = Recorder(workers, pace, poll or Poll(), event_capacity)
    return recorder.result(
        lib.hs_run_slices(
            threads.handle, ffi.new("hs_slices *", problem), recorder.options, recorder.trace
        )
    )


MEASURED = {"gemm": lib.HS_MEASURE_GEMM, "panel": lib.HS_MEASURE_PANEL, "trsm": lib.HS_MEASURE_TRSM}


class Measurement(NamedTuple):
    """What hs_measure_kernel has found.

    times: seconds of the repetitions of each worker, none for a worker that rested; batch: of how
    many repetitions each time is the mean; elapsed, busy: seconds of the wall clock and of the core
    for all of them; width: columns of a panel; flops: of one repetition.
    """

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
    sides: tuple[int, int] = (0, 0),
) -> Measurement:
    """hs_measure_kernel on one of the `workers` of a pool, or on all at once with -1.

    It runs without the GIL. sides: rows and columns of a product; 0 for `size`.
    """
    times = np.empty((workers, capacity))
    count, batch = np.empty(workers, np.int32), np.empty(workers, np.int32)
    elapsed, busy = np.empty(workers), np.empty(workers)
    views = (doubles(times), int32s(count), int32s(batch), doubles(elapsed), doubles(busy))
    fields = (
        MEASURED[kernel],
        DTYPES[dtype],
        size,
        worker,
        seconds,
        capacity,
        least,
        *views,
        0,
        0.0,
        *sides,
    )
    what, poll = ffi.new("hs_measurement *", fields), Poll()
    handle = ffi.new_handle(poll)
    status = lib.hs_measure_kernel(threads.handle, what, lib.hs_python_poll, handle)
    if status:
        raise_error(status, poll)
    return Measurement(
        [row[:k].copy() for row, k in zip(times, count.tolist(), strict=True)],
        batch,
        elapsed,
        busy,
        what.width,
        what.flops,
    )


def clock() -> float:
    """The engine's monotonic clock, in seconds."""
    return lib.hs_clock()  # type: ignore[no-any-return]


def seconds(call: Callable[[], object]) -> float:
    """Seconds of a short call: the third smallest of eight times."""
    times = []
    for _ in range(8):
        start = clock()
        call()
        times.append(clock() - start)
    return sorted(times)[2]


def pinned(threads: Threads, workers: int) -> list[bool]:
    """Which workers are pinned to a core of their own."""
    flags = np.empty(workers, np.int32)
    lib.hs_pool_pinned(threads.handle, int32s(flags))
    return [bool(flag) for flag in flags]


_EVENT_KINDS = {lib.HS_COMPUTE: "compute", lib.HS_TRANSFER: "transfer"}


class RunResult(NamedTuple):
    """Events (worker, kind, start, end, box), and the end, lateness and CPU time of each worker.

    All times are in seconds.
    """

    events: list[tuple[int, str, float, float, int]]
    finish: list[float]
    late: list[float]
    busy: list[float]


def finish(status: int, poll: Poll | None) -> None:
    """Raise the error that a run's status means, or the error that its poll has caught."""
    if status:
        raise_error(status, poll)


def raise_error(status: int, poll: Poll | None) -> NoReturn:
    if status == lib.HS_ERROR_CANCELLED:
        raise (poll and poll.error) or cancelled()
    check_status(status)
    raise AssertionError("unreachable")
