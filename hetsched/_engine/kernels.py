"""csrc/kernel: which micro-kernels multiply."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._base import check
from .ffi import check_status, ffi, lib
from .openblas import thread_functions

KERNELS = ("blis", "openblas", "c")
#: Instruction sets that our own kernels are written for, on any processor.
SETS = ("avx512", "avx2", "neon", "plain")
#: The least depth and the largest block size of hs_blocking.
LEAST_DEPTH: int = lib.HS_BLOCKING_DEPTH
MOST: int = lib.HS_BLOCKING_MOST


@dataclass(frozen=True)
class Blocking:
    """The micro-kernel and the block sizes with which the workers of a domain multiply.

    Parameters
    ----------
    kernel : {"avx512", "avx2", "neon", "plain"}, optional
        The instruction set of our own micro-kernels; None for the kernel in use.
    depth, rows, cols : (int, int)
        For float32 and float64, in elements: the depth of packed panels, rows of a packed block of
        A, columns of a packed panel of B; 0 for the kernel's own size. A depth of 1 counts as 2;
        rows and columns below the register tile count as the tile.

    Attributes
    ----------
    kernel, depth, rows, cols :
        The parameters.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.Blocking("plain", depth=(256, 192))
    Blocking(kernel='plain', depth=(256, 192), rows=(0, 0), cols=(0, 0))
    """

    kernel: str | None = None
    depth: tuple[int, int] = (0, 0)
    rows: tuple[int, int] = (0, 0)
    cols: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if self.kernel is not None:
            check.choice("kernel", self.kernel, SETS)
        for name in ("depth", "rows", "cols"):
            given = check.entries(name, getattr(self, name), "a pair of integers")
            if len(given) != 2:
                raise ValueError(
                    f"{name} must be a pair, for float32 and float64, got {len(given)} numbers"
                )
            pair = tuple(
                check.integer(f"{name}[{i}]", x, low=0, high=MOST) for i, x in enumerate(given)
            )
            object.__setattr__(self, name, pair)


def version() -> str:
    """Version of the C library."""
    return ffi.string(lib.hs_version()).decode()  # type: ignore[no-any-return]


def kernel() -> dict[str, Any]:
    """The kernel in use: name, version, set, reason, and refused, why BLIS is not used.

    "kernels" has, for each real type, the source of its micro-kernel and its register tile.
    """
    info = ffi.new("hs_kernel_info *")
    check_status(lib.hs_kernel_describe(info))
    texts = {
        key: ffi.string(getattr(info, key)).decode()
        for key in ("name", "version", "set", "reason", "refused")
    }
    kernels = {
        name: (ffi.string(info.source[i]).decode(), info.tile_rows[i], info.tile_cols[i])
        for i, name in enumerate(("float32", "float64"))
    }
    return {**texts, "kernels": kernels}


class Sizes(NamedTuple):
    """Sizes of a kernel for a real type: rows and columns of the register tile; its block sizes.

    The block sizes are depth, rows and columns.
    """

    tile: tuple[int, int]
    blocks: tuple[int, int, int]


def sizes(name: str | None) -> tuple[Sizes, Sizes]:
    """hs_kernel_sizes, for float32 and float64.

    Raises NotImplementedError for an instruction set that this processor does not have.
    """
    tile, blocks = ffi.new("int32_t[2]"), ffi.new("int32_t[3]")
    found = []
    for dtype in (lib.HS_FLOAT32, lib.HS_FLOAT64):
        check_status(
            lib.hs_kernel_sizes(ffi.NULL if name is None else name.encode(), dtype, tile, blocks)
        )
        found.append(Sizes((tile[0], tile[1]), (blocks[0], blocks[1], blocks[2])))
    return found[0], found[1]


def blocking(
    sizes: Sequence[int],
    ways: Sequence[int],
    sharing: Sequence[int],
    tile: tuple[int, int],
    itemsize: int,
) -> tuple[int, int, int]:
    """hs_blocking: depth, rows and columns for caches L1, L2 and L3; 0 where a cache is unknown."""
    blocks = ffi.new("int32_t[3]")
    caches = ffi.new("hs_caches *", (list(sizes), list(ways), list(sharing)))
    check_status(lib.hs_blocking(caches, *tile, itemsize, blocks))
    return blocks[0], blocks[1], blocks[2]


def use_kernel(name: str) -> None:
    """Select "blis", "openblas" or "c" for all later products of this process."""
    if name not in KERNELS:
        raise ValueError(f"name must be one of {', '.join(KERNELS)}, got {name!r}")
    if name == "openblas":
        _hand_in_openblas()  # asked for, so used even if its threads cannot be limited
    try:
        check_status(lib.hs_kernel_select(name.encode()))
    except NotImplementedError:
        raise ValueError(f"kernel {name!r} is not available in this build") from None


def _hand_in_openblas() -> bool:
    """Use SciPy's own gemm, found through the capsules that it exports to Cython.

    Returns whether its number of threads can be held at one.
    """
    import ctypes
    import re

    from scipy.linalg import cython_blas

    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointers = []
    for name in ("sgemm", "dgemm"):
        capsule = cython_blas.__pyx_capi__[name]
        signature = api.PyCapsule_GetName(capsule)
        pointers.append(api.PyCapsule_GetPointer(capsule, signature))
    wide = re.search(rb"\b(int64_t|long long|npy_int64|blas_int64)\b", signature) is not None
    set_threads, get_threads = thread_functions(ctypes.CDLL(cython_blas.__file__))
    gemm = [ffi.cast("void *", pointer) for pointer in pointers]
    threads = ffi.cast("void (*)(int)", set_threads), ffi.cast("int (*)(void)", get_threads)
    check_status(lib.hs_kernel_use_fortran(*gemm, 8 if wide else 4, *threads))
    return set_threads != 0


def _choose_kernel() -> None:
    """Choose BLIS if the build has it, else our own kernels, else SciPy's OpenBLAS.

    Our own kernels are chosen where they were measured beside other libraries, OpenBLAS where it is
    installed. All workers call it at the same time, so its own threads must be held at one. This is
    not required of Accelerate on macOS, which has no function for it.
    """
    from importlib.util import find_spec

    chosen = kernel()
    if (
        chosen["name"] == "c"
        and chosen["set"] in ("plain", "neon")
        and find_spec("scipy") is not None
    ):
        with contextlib.suppress(Exception):  # another SciPy or another BLAS: keep our own kernels
            if _hand_in_openblas() or sys.platform == "darwin":
                use_kernel("openblas")


_choose_kernel()
