"""csrc/spectral: eigenvalues of Hermitian matrices, singular values, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import CODES, DTYPES
from .ffi import doubles, ffi, int32s, lib, or_null
from .run import Poll, Recorder, RunResult, Threads, address, finish, operand


def eigh(
    threads: Threads,
    a: NDArray[Any],
    upper: bool,
    values: NDArray[Any],
    vectors: NDArray[Any] | None,
    first: int,
    within: tuple[float, float] | None,
    poll: Poll,
) -> tuple[int, int] | None:
    """hs_run_eigh: the first wanted value and how many are wanted, or None if a is not finite.

    The arrays must be aligned, of one supported dtype and its real dtype, of fitting shapes. values
    is contiguous. The columns of `vectors` belong to the values from `first` on, or to the values
    `within` (low, high]; then it has n columns.
    """
    count = 0 if vectors is None else vectors.shape[1]
    fields = (
        CODES[a.dtype.num],
        len(a),
        *operand(a),
        upper,
        address(values),
        *operand(vectors),
        first,
        count,
        within is not None,
        *(within or (0.0, 0.0)),
    )
    eigh_ = ffi.new("hs_eigh *", fields)
    handle = ffi.new_handle(poll)
    options = ffi.new("hs_options *", (ffi.NULL, lib.hs_python_poll, handle))
    finish(lib.hs_run_eigh(threads.handle, eigh_, options, ffi.NULL), poll)
    return None if eigh_.failed else (eigh_.first, eigh_.count)


def svd(
    threads: Threads,
    a: NDArray[Any],
    values: NDArray[Any],
    u: NDArray[Any] | None,
    vh: NDArray[Any] | None,
    poll: Poll,
) -> bool:
    """hs_run_svd: whether the matrix is finite. The arrays are as for `eigh`."""
    left, *left_strides = operand(u)
    right, *right_strides = operand(vh)
    fields = (
        CODES[a.dtype.num],
        *a.shape,
        *operand(a),
        address(values),
        left,
        0 if u is None else u.shape[1],
        *left_strides,
        right,
        0 if vh is None else len(vh),
        *right_strides,
    )
    svd_ = ffi.new("hs_svd *", fields)
    handle = ffi.new_handle(poll)
    options = ffi.new("hs_options *", (ffi.NULL, lib.hs_python_poll, handle))
    finish(lib.hs_run_svd(threads.handle, svd_, options, ffi.NULL), poll)
    return not svd_.failed


def least_squares(
    threads: Threads,
    a: NDArray[Any],
    values: NDArray[Any],
    b: NDArray[Any],
    rcond: float,
    poll: Poll,
) -> int | None:
    """hs_run_least_squares: the rank, or None if a or b is not finite.

    The arrays are as for `eigh`. The first rows of b become the solutions.
    """
    fields = (
        CODES[a.dtype.num],
        *a.shape,
        *operand(a),
        address(values),
        b.shape[1],
        *operand(b),
        *operand(None),
        rcond,
    )
    squares = ffi.new("hs_least_squares *", fields)
    handle = ffi.new_handle(poll)
    options = ffi.new("hs_options *", (ffi.NULL, lib.hs_python_poll, handle))
    finish(lib.hs_run_least_squares(threads.handle, squares, options, ffi.NULL), poll)
    return None if squares.failed else int(squares.rank)


def reduction_block(n: int, dtype: np.dtype[Any]) -> int:
    """The block size that hs_reduction_block chooses."""
    return lib.hs_reduction_block(n, DTYPES[dtype])  # type: ignore[no-any-return]


def reduce(
    threads: Threads,
    a: NDArray[Any],
    band: NDArray[Any],
    owner: NDArray[np.int32],
    pace: NDArray[np.float64] | None,
    panel_pace: NDArray[np.float64] | None,
    poll: Poll,
    event_capacity: int,
) -> RunResult | None:
    """hs_run_reduction of the lower triangle: what was recorded, or None if a is not finite.

    band is (block + 1, n), column by column.
    """
    recorder = Recorder(threads.size, pace, poll, event_capacity)
    owners = int32s(owner)
    panels = or_null(panel_pace, doubles, threads.size)
    fields = (
        CODES[a.dtype.num],
        len(a),
        len(band) - 1,
        *operand(a),
        False,
        owners,
        panels,
        address(band),
        len(band),
    )
    reduction = ffi.new("hs_reduction *", fields)
    result = recorder.result(
        lib.hs_run_reduction(threads.handle, reduction, recorder.options, recorder.trace)
    )
    return None if reduction.failed else result
