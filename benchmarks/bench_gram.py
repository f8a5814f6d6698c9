"""A Aᵀ by hetsched against numpy (A @ A.T), scipy.linalg.blas and BLIS's syrk, in one run, each at
its best kernel and with equal numbers of threads; and against hetsched's own product of two
matrices of these sizes.

The libraries take turns: a pause until the last one's threads have gone to sleep, one call to warm
up, then timed calls. A figure is the median over all rounds; the ratios are hetsched's rate over
that of the fastest peer and over that of its own product. SciPy and BLIS write one triangle only;
"one triangle" is hetsched's engine doing the same, and its ratio to the faster of them.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from functools import partial

from bench_matmul import Blis, ours, tables  # which chooses the peers' kernels, before NumPy
from common import medians, threads_text

# isort: split
import numpy as np
from scipy.linalg import blas

from hetsched._engine import run as engine
from hetsched._engine.ffi import check_status, ffi, lib
from hetsched.machine.topology import topology

SHAPES = [(n, n) for n in (512, 1000, 2000, 4000)] + [(4000, 300), (300, 4000)]  # n, k: A is n x k
Peer = Callable[[np.ndarray, np.ndarray], object]


class BlisSyrk(Blis):
    """Its syrk, by way of CBLAS."""

    def gram(self, a: np.ndarray, c: np.ndarray) -> None:
        real, syrk = ctypes.c_double, self.library.cblas_dsyrk
        if c.dtype == np.float32:
            real, syrk = ctypes.c_float, self.library.cblas_ssyrk
        n, k = a.shape
        syrk(
            101, 122, 111, n, k, real(1), ctypes.c_void_p(a.ctypes.data), k,
            real(0), ctypes.c_void_p(c.ctypes.data), n,
        )  # fmt: skip


def peers(threads: int, dtype: type) -> dict[str, Peer]:
    """Name -> c = a a^T."""
    syrk = blas.dsyrk if dtype is np.float64 else blas.ssyrk
    found: dict[str, Peer] = {
        "numpy": lambda a, c: np.matmul(a, a.T, out=c),
        "scipy": lambda a, c: syrk(1.0, a.T, c=c.T, trans=1, overwrite_c=1),
    }
    with contextlib.suppress(OSError, TypeError, IndexError):
        found["blis"] = BlisSyrk(threads).gram
    return found


class Triangle:
    """The lower triangle of a a^T, by the engine."""

    def __init__(self, threads: int) -> None:
        self.threads = engine.Threads(threads, topology().places[:threads])

    def __call__(self, a: np.ndarray, c: np.ndarray) -> None:
        (n, k), product = a.shape, ffi.new("hs_product *")
        operands = [ffi.from_buffer(x) for x in (a, a, c)]
        lib.hs_product_default(
            product, lib.HS_FLOAT64 if c.dtype == np.float64 else lib.HS_FLOAT32, n, n, k, *operands
        )
        product.b_row_stride, product.b_col_stride, product.triangle = 1, k, lib.HS_TRIANGLE_LOWER
        check_status(lib.hs_gemm(self.threads.handle, product, ffi.NULL, ffi.NULL, ffi.NULL))


def table(threads: int, dtype: type, scale: float) -> None:
    """One block of the report."""
    rng = np.random.default_rng(0)
    others, triangle = peers(threads, dtype), Triangle(threads)
    print(f"\n{np.dtype(dtype).name}, {threads_text(threads)}: milliseconds (median)")
    print(
        f"{'n x k':>12} {'hetsched':>9} "
        + " ".join(f"{name:>9}" for name in others)
        + "   product  one triangle  to the best peer  to the product  one triangle to SciPy's and"
        " BLIS's"
    )
    with ours(threads) as multiply:
        for n, k in SHAPES:
            a = rng.standard_normal((n, k)).astype(dtype)
            b = rng.standard_normal((k, n)).astype(dtype)
            c = np.zeros((n, n), dtype)
            rounds = max(3, int(scale * (9 if n * n * k < 2e9 else 5)))
            repeats = max(1, min(100, int(0.1 / (n * n * k / 5e10))))
            calls: dict[str, Callable[[], object]] = {"hetsched": partial(multiply, a, a.T, c)}
            calls |= {name: partial(f, a, c) for name, f in others.items()}
            calls["product"] = partial(multiply, a, b, c)
            calls["triangle"] = partial(triangle, a, c)
            seconds = medians(calls, rounds, repeats)
            own, product, half = seconds["hetsched"], seconds["product"], seconds["triangle"]
            alike = min(seconds[name] for name in others if name != "numpy")
            best = min(seconds[name] for name in others)
            times = " ".join(f"{1e3 * t:9.3f}" for t in seconds.values())
            print(
                f"{f'{n} x {k}':>12} {times}  {best / own:22.3f}  {product / own:14.3f} "
                f" {alike / half:14.3f}",
                flush=True,
            )


if __name__ == "__main__":
    tables(__doc__, table, "SciPy")
