"""The types of elements, by their numbers in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ffi import lib

DTYPES: dict[np.dtype[Any], int] = {
    np.dtype(np.float32): lib.HS_FLOAT32,
    np.dtype(np.float64): lib.HS_FLOAT64,
    np.dtype(np.complex64): lib.HS_COMPLEX64,
    np.dtype(np.complex128): lib.HS_COMPLEX128,
}
CODES = {dtype.num: code for dtype, code in DTYPES.items()}


def flops_per_update(dtype: np.dtype[Any]) -> float:
    """Flops of one multiply-add: 2, or 8 for complex."""
    return lib.hs_flops_per_update(DTYPES[dtype])  # type: ignore[no-any-return]
