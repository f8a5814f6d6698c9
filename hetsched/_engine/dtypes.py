"""The types of elements, by their numbers in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ffi import lib

DTYPES = {
    np.dtype(name): i for i, name in enumerate(("float32", "float64", "complex64", "complex128"))
}
CODES = {dtype.num: code for dtype, code in DTYPES.items()}


def flops_per_update(dtype: np.dtype[Any]) -> float:
    """Flops of one multiply-add: 2, or 8 for complex."""
    return lib.hs_flops_per_update(DTYPES[dtype])  # type: ignore[no-any-return]
