"""The engine as Python sees it: the only module that touches the FFI."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleError

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
    check_status(lib.hs_distribute(n, len(counts), _doubles(cycle_times), _int64s(counts), makespan))
    return counts, makespan[0]


def partition_columns(areas: NDArray[np.float64], max_columns: int, max_rows: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """order and column_start of hs_partition_columns."""
    p = len(areas)
    order, starts = np.empty(p, np.int32), np.empty(p + 1, np.int32)
    columns, cost = ffi.new("int32_t *"), ffi.new("double *")
    check_status(
        lib.hs_partition_columns(p, _doubles(areas), max_columns, max_rows, _int32s(order), _int32s(starts), columns, cost)
    )
    starts = starts[: columns[0] + 1].copy()
    return order[: starts[-1]].copy(), starts


def tile_columns(
    m: int, n: int, areas: NDArray[np.float64], order: NDArray[np.int32], starts: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(p, 4) rectangles of hs_tile_columns."""
    rects = np.empty((len(areas), 4), np.int64)
    check_status(
        lib.hs_tile_columns(
            m,
            n,
            len(areas),
            _doubles(areas),
            _int32s(order),
            _int32s(starts),
            len(starts) - 1,
            _int64s(rects.reshape(-1)),
        )
    )
    return rects


def clock() -> float:
    """The engine's monotonic clock, in seconds."""
    return lib.hs_clock()  # type: ignore[no-any-return]


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
        _hand_in_openblas()
    try:
        check_status(lib.hs_kernel_select(name.encode()))
    except NotImplementedError:
        raise ValueError(f"kernel {name!r} is not available in this build") from None


def _hand_in_openblas() -> None:
    """SciPy's own gemm, found through the capsules that it exports to Cython."""
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
    status = lib.hs_kernel_use_fortran(ffi.cast("void *", pointers[0]), ffi.cast("void *", pointers[1]), 8 if wide else 4)
    check_status(status)


def _choose_kernel() -> None:
    """BLIS if the build has it; else our own where they are tuned for the processor; else SciPy's OpenBLAS, if it is there."""
    from importlib.util import find_spec

    chosen = kernel()
    if chosen["name"] == "c" and chosen["set"] == "plain" and find_spec("scipy") is not None:
        with contextlib.suppress(Exception):  # another SciPy, another BLAS: our own kernels do
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

    def __init__(self, progress: Callable[[float], object] | None = None) -> None:
        self.progress = progress
        self.error: BaseException | None = None

    def __call__(self, fraction: float) -> int:
        try:
            if self.progress is not None:
                self.progress(fraction)
        except BaseException as error:
            self.error = error
            return 1
        return 0


def _poll_failed(kind: type[BaseException], error: BaseException, traceback: TracebackType) -> None:
    """A KeyboardInterrupt that arrives before Poll's own try block."""
    frame = traceback.tb_frame if traceback is not None else None
    context = frame.f_locals.get("context") if frame is not None else None
    if context is not None:
        ffi.from_handle(context).error = error


@ffi.def_extern(error=1, onerror=_poll_failed)  # type: ignore[untyped-decorator]
def hs_python_poll(context: Any, fraction: float) -> int:
    return ffi.from_handle(context)(fraction)  # type: ignore[no-any-return]


class Threads:
    """Owner of an hs_pool; the threads end when the last reference goes, so never under a running product."""

    def __init__(self, workers: int, cores: Sequence[int] | None) -> None:
        handle = ffi.new("hs_pool **")
        check_status(lib.hs_pool_create(workers, ffi.NULL if cores is None else list(cores), handle))
        self.handle = ffi.gc(handle[0], lib.hs_pool_destroy)


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
    poll: Poll,
    event_capacity: int,
) -> RunResult:
    """hs_run_product with everything recorded."""
    product, alive = _product(a, b, c, alpha, beta)
    box_array = ffi.new("hs_box[]", [tuple(int(x) for x in box) for box in boxes])
    events = ffi.new("hs_event[]", event_capacity)
    times = {name: ffi.new("double[]", workers) for name in ("finish", "late", "busy")}
    handle = ffi.new_handle(poll)
    run = ffi.new("hs_run *")
    run.boxes, run.box_count, run.cooperative = box_array, len(boxes), cooperative
    inputs = {"speeds": speeds, "pace": pace, "receive": receive}
    buffers = {name: _doubles(np.ascontiguousarray(x).reshape(-1)) for name, x in inputs.items() if x is not None}
    for name, buffer in (*buffers.items(), *times.items()):
        setattr(run, name, buffer)
    run.events, run.event_capacity = events, event_capacity
    run.poll, run.poll_context = lib.hs_python_poll, handle
    status = lib.hs_run_product(threads.handle, product, run)
    del alive
    if status:
        _raise(status, poll)
    recorded = [(e.worker, _EVENT_KINDS[e.kind], e.start, e.end, e.box) for e in events[0 : run.event_count]]
    return RunResult(recorded, *(list(times[name]) for name in ("finish", "late", "busy")))


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
