"""csrc/core/tuning.h: thresholds that decide which way a call takes, and how each was found."""

from __future__ import annotations

from .ffi import lib

NUMPY_UPDATES: int = lib.HS__NUMPY_UPDATES
NUMPY_SIDE: int = lib.HS__NUMPY_SIDE
NUMPY_LAPACK_ROWS: int = lib.HS__NUMPY_LAPACK_ROWS
STACK_ITEM_UPDATES: int = lib.HS__STACK_ITEM_UPDATES
STACK_ITEMS_PER_WORKER: int = lib.HS__STACK_ITEMS_PER_WORKER
STACK_MEDIUM_UPDATES: int = lib.HS__STACK_MEDIUM_UPDATES
STACK_MEDIUM_ITEMS: int = lib.HS__STACK_MEDIUM_ITEMS
STACK_LARGE_ITEMS: int = lib.HS__STACK_LARGE_ITEMS
TALL_RATIO: int = lib.HS__TALL_RATIO
ALONE_FACTOR_UPDATES: int = lib.HS__ALONE_FACTOR_UPDATES
ALONE_CHOLESKY_UPDATES: int = lib.HS__ALONE_CHOLESKY_UPDATES
THIN: int = lib.HS__THIN
PACKED_SHARE: int = lib.HS__PACKED_SHARE
