"""The engine as Python sees it: the only module that touches the FFI."""

from __future__ import annotations

from typing import Any

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


def partition_columns(
    areas: NDArray[np.float64], max_columns: int, max_rows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
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
            m, n, len(areas), _doubles(areas), _int32s(order), _int32s(starts), len(starts) - 1, _int64s(rects.reshape(-1))
        )
    )
    return rects
