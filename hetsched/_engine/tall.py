"""csrc/factor/tall.c: QR factorisation of tall matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import CODES
from .ffi import doubles, ffi, lib, or_null
from .run import Poll, Threads, finish, operand


def tall_qr(
    threads: Threads,
    a: NDArray[Any],
    q: NDArray[Any] | None,
    r: NDArray[Any],
    b: NDArray[Any] | None,
    c: NDArray[Any] | None,
    residuals: NDArray[np.float64] | None,
    poll: Poll,
) -> None:
    """hs_tall_qr. The arrays must be 2-D and aligned, of one supported dtype, of fitting shapes.

    residuals is (k,) and contiguous.
    """
    k = 0 if b is None else b.shape[1]
    operands = [operand(array) for array in (a, q, r, b, c)]
    fields = (
        CODES[a.dtype.num],
        *a.shape,
        k,
        *(x for operand in operands for x in operand),
        or_null(residuals, doubles, k),
    )
    handle = ffi.new_handle(poll)
    options = ffi.new("hs_options *", (ffi.NULL, lib.hs_python_poll, handle))
    status = lib.hs_tall_qr(threads.handle, ffi.new("hs_tall *", fields), options, ffi.NULL)
    finish(status, poll)
