"""QR of tall matrices against scipy.linalg.qr, and what least squares need of it against numpy.linalg.lstsq, in one run with
equal numbers of threads.

OpenBLAS is told the kernels that are fastest for its dgemm here (it does not know every processor). The libraries take turns: a
pause until the last one's threads have gone to sleep, one call to warm up, then timed calls. Times are of the fastest call of
each (what a busy machine leaves of it). Input by columns.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

PAUSE = 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="*", default=["20000x200", "200000x50"])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--dtypes", nargs="*", default=["float64"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=3, help="timed ones in a round")
    given = parser.parse_args()
    if "avx512f" in Path("/proc/cpuinfo").read_text() and "OPENBLAS_CORETYPE" not in os.environ:
        os.environ["OPENBLAS_CORETYPE"] = "SKYLAKEX"

    import numpy as np
    import scipy
    from scipy.linalg import qr
    from threadpoolctl import threadpool_limits

    import hetsched as hs
    from hetsched._engine.dtypes import flops_per_update
    from hetsched._engine.run import Poll, Threads
    from hetsched._engine.tall import tall_qr

    print(f"{hs.topology().model}; Linux {platform.release()}, load {os.getloadavg()[0]:.1f}; hetsched {hs.__version__}")
    print(f"SciPy {scipy.__version__}, NumPy {np.__version__}, OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', '')}")
    print("milliseconds; GFLOP/s are 2 m n² of R, 4 m n² of Q and R, whoever does more")
    rng = np.random.default_rng(0)
    for threads in given.threads:
        own = Threads(threads, None)
        for dtype in given.dtypes:
            for shape in given.shapes:
                m, n = map(int, shape.split("x"))
                a = np.asfortranarray(rng.standard_normal((m, n)).astype(dtype))
                b = rng.standard_normal((m, 1)).astype(dtype)
                q, r, c, residuals = np.empty_like(a), np.empty((n, n), dtype), np.empty((n, 1), dtype), np.empty(1)

                def solve(a=a, b=b, r=r, c=c, residuals=residuals, own=own):
                    tall_qr(own, a, None, r, b, c, residuals, Poll())
                    return scipy.linalg.solve_triangular(r, c)

                calls: dict[str, Callable[[], object]] = {
                    "qr": lambda a=a, q=q, r=r, own=own: tall_qr(own, a, q, r, None, None, None, Poll()),
                    "scipy": lambda a=a: qr(a, mode="economic"),
                    "lstsq": solve,
                    "numpy": lambda a=a, b=b: np.linalg.lstsq(a, b, rcond=None),
                    "matmul": lambda a=a, r=r, q=q: np.matmul(a, r, out=q),
                }
                best = dict.fromkeys(calls, float("inf"))
                with threadpool_limits(threads, user_api="blas"):
                    for _ in range(given.rounds):
                        for name, call in calls.items():
                            time.sleep(PAUSE)
                            call()
                            for _ in range(given.calls):
                                start = time.perf_counter()
                                call()
                                best[name] = min(best[name], time.perf_counter() - start)
                rate = 2 * flops_per_update(np.dtype(dtype)) * m * n**2 / 1e9
                print(
                    f"{threads} thread{'s' if threads > 1 else ' '} {dtype:>10} {m:>7} x {n:<4}"
                    f" Q, R {best['qr'] * 1e3:7.1f} ({rate / best['qr']:5.1f}) SciPy {best['scipy'] * 1e3:7.1f}"
                    f" ratio {best['scipy'] / best['qr']:5.2f};"
                    f" least squares {best['lstsq'] * 1e3:7.1f} ({rate / 2 / best['lstsq']:5.1f})"
                    f" NumPy {best['numpy'] * 1e3:7.1f}"
                    f" ratio {best['numpy'] / best['lstsq']:5.2f}; NumPy's product {rate / 2 / best['matmul']:5.1f} GFLOP/s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
