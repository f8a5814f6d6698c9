"""hetsched against numpy.matmul and plain BLIS, in one run, each at its best kernel and with equal
numbers of threads.

The libraries take turns: a pause until the last one's threads have gone to sleep, one call to warm
up, then timed calls. A figure is the median over all rounds; the ratio is hetsched's rate over that
of the faster peer.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import glob
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator

from common import medians, parser, print_machine, threads_text
from peer_blas import blis_arch_type  # before NumPy

# isort: split
import numpy as np

import hetsched as hs
from hetsched.machine.topology import topology

CUBES = (64, 256, 512, 1000, 2000, 4000)
# m, k, n
SHAPES = [(n, n, n) for n in CUBES] + [
    (8000, 200, 8000),
    (200, 8000, 200),
    (100, 100_000, 100),
    (32, 300_000, 32),
]


class Blis:
    """The shared library by way of its CBLAS interface, with the kernels that suit this
    processor."""

    def __init__(self, threads: int) -> None:
        # hetsched has BLIS inside; the peer must be told the same kernel set, and reads it when it
        # initialises itself.
        if kind := blis_arch_type():
            os.environ.setdefault("BLIS_ARCH_TYPE", kind)
        found = glob.glob("/usr/lib/*/blis-pthread/libblis.so*") or [
            ctypes.util.find_library("blis")
        ]
        self.library = ctypes.CDLL(found[0])
        self.library.bli_thread_set_num_threads(ctypes.c_long(threads))

    def matmul(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        real = ctypes.c_double if c.dtype == np.float64 else ctypes.c_float
        gemm = self.library.cblas_dgemm if c.dtype == np.float64 else self.library.cblas_sgemm
        (m, n), k = c.shape, a.shape[1]
        gemm(
            101, 111, 111, m, n, k, real(1), ctypes.c_void_p(a.ctypes.data), k,
            ctypes.c_void_p(b.ctypes.data), n, real(0), ctypes.c_void_p(c.ctypes.data), n,
        )  # fmt: skip


def peers(threads: int) -> dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], object]]:
    """Name -> c = a b."""
    found: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], object]] = {
        "numpy": lambda a, b, c: np.matmul(a, b, out=c)
    }
    with contextlib.suppress(OSError, TypeError, IndexError):
        found["blis"] = Blis(threads).matmul
    return found


@contextlib.contextmanager
def ours(threads: int) -> Iterator[Callable[[np.ndarray, np.ndarray, np.ndarray], object]]:
    """hs.matmul where the shared pool has that many workers, else a pool that has."""
    if threads == topology().worth:
        yield lambda a, b, c: hs.matmul(a, b, c)
    else:
        with hs.Pool(threads) as pool:
            yield lambda a, b, c: pool.matmul(a, b, c)


def table(threads: int, dtype: type, scale: float) -> None:
    """One block of the report."""
    rng = np.random.default_rng(0)
    others = peers(threads)
    print(f"\n{np.dtype(dtype).name}, {threads_text(threads)}: GFLOP/s (median)")
    print(
        f"{'m x k x n':>16} {'hetsched':>9} "
        + " ".join(f"{name:>9}" for name in others)
        + "  ratio to the best peer"
    )
    with ours(threads) as multiply:
        for m, k, n in SHAPES:
            a = rng.standard_normal((m, k)).astype(dtype)
            b = rng.standard_normal((k, n)).astype(dtype)
            c = np.zeros((m, n), dtype)
            flops = 2.0 * m * n * k
            rounds = max(3, int(scale * (9 if flops < 5e9 else 5)))
            repeats = max(1, min(200, int(0.15 / (flops / 5e10))))
            calls = {
                name: lambda f=f, a=a, b=b, c=c: f(a, b, c)
                for name, f in {"hetsched": multiply, **others}.items()
            }
            seconds = medians(calls, rounds, repeats)
            best = min(t for name, t in seconds.items() if name != "hetsched")
            rates = " ".join(f"{flops / t / 1e9:9.1f}" for t in seconds.values())
            extra = ""
            if m == 64:
                more = 1e6 * (seconds["hetsched"] - seconds["numpy"])
                extra = f"   ({more:+.1f} microseconds over NumPy)"
            ratio = best / seconds["hetsched"]
            print(f"{f'{m} x {k} x {n}':>16} {rates}  {ratio:.3f}{extra}", flush=True)


def printed_number(code: str, *arguments: str) -> float:
    """The number that a program prints, in a process of its own."""
    command = [sys.executable, "-c", code, *arguments]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def import_time() -> None:
    """Seconds that the import adds to NumPy's."""

    def seconds(module: str) -> float:
        code = f"import time; t = time.time(); import {module}; print(time.time() - t)"
        return statistics.median(printed_number(code) for _ in range(9))

    numpy, whole = seconds("numpy"), seconds("hetsched")
    more = whole - numpy
    print(f"\nimport: numpy {numpy:.3f} s, hetsched {whole:.3f} s: {more:.3f} s more (median of 9)")


def extra_memory() -> None:
    """Peak memory of a product beyond its operands, each in a fresh process."""
    code = """
import resource, sys
import numpy as np, hetsched as hs
n = int(sys.argv[1])
A, B, C = np.ones((n, n)), np.ones((n, n)), np.ones((n, n))
hs.matmul(A[:200, :200], B[:200, :200])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
hs.matmul(A, B, out=C)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (3 * A.nbytes))
"""
    for n in (1000, 2000, 4000):
        print(f"extra memory, n = {n}: {printed_number(code, str(n)):.1%} of the operands")


def tables(doc: str | None, table: Callable[[int, type, float], None], *distributions: str) -> None:
    """Parse the options, then print a table for each number of threads and each dtype."""
    from threadpoolctl import threadpool_limits

    options = parser(doc)
    options.add_argument(
        "--scale", type=float, default=1.0, help="rounds, relative to the usual number"
    )
    options.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    options.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    given = options.parse_args()
    print_machine(*distributions)
    for threads in given.threads:
        with threadpool_limits(threads, user_api="blas"):
            for dtype in given.dtypes:
                table(threads, np.dtype(dtype).type, given.scale)


def main() -> None:
    tables(__doc__, table)
    import_time()
    extra_memory()


if __name__ == "__main__":
    main()
