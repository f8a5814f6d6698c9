"""hetsched.lu_factor against scipy.linalg.lu_factor, in one run, with equal numbers of threads, and beside our own dgemm.

SciPy's OpenBLAS is told the kernels that are fastest for its dgemm here (it does not know every processor). The libraries take
turns: a pause until the last one's threads have gone to sleep, one call to warm up if they are short, then timed calls. Rates are
of the fastest call of each (what a busy machine leaves of it). Input by columns, both look for NaN.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time

KINDS = ("", "SKYLAKEX", "HASWELL", "ZEN")
PAUSE = 0.25


def fastest_openblas() -> str:
    """The OPENBLAS_CORETYPE with the fastest product; "" for its own choice."""
    code = """
import time, numpy as np
from scipy.linalg.blas import dgemm
a = np.asfortranarray(np.random.default_rng(0).standard_normal((700, 700)))
times = []
for _ in range(15):
    start = time.perf_counter(); dgemm(1.0, a, a); times.append(time.perf_counter() - start)
print(min(times))
"""
    times = {}
    for kind in KINDS:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        if kind:
            environment["OPENBLAS_CORETYPE"] = kind
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:  # another one is an instruction that this processor does not have
            times[kind] = float(done.stdout)
    best = min(times, key=times.__getitem__)
    return best if times[best] < 0.97 * times[""] else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 1000, 3000, 6000])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    if "OPENBLAS_CORETYPE" not in os.environ and (kind := fastest_openblas()):
        os.environ["OPENBLAS_CORETYPE"] = kind

    import numpy as np
    import scipy
    from scipy.linalg import lu_factor
    from threadpoolctl import threadpool_limits

    import hetsched as hs
    from hetsched import _engine

    kernel = _engine.kernel()
    print(f"{hs.topology().model}, {hs.topology().worth} workers; Linux {platform.release()}, load {os.getloadavg()[0]:.1f}")
    print(f"hetsched {hs.__version__} on {kernel['name']} {kernel['version']} {kernel['set']}")
    print(f"SciPy {scipy.__version__}, OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', '')}; {given.dtype}")
    rng = np.random.default_rng(0)
    work = _engine.flops_per_update(np.dtype(given.dtype)) / 3
    for threads in given.threads:
        print(f"\n{threads} thread{'s' if threads > 1 else ''}: GFLOP/s; ratio to SciPy (of medians), share of our dgemm")
        print(f"{'n':>6} {'hetsched':>9} {'scipy':>9} {'matmul':>9}   ratio  (medians)   share")
        with threadpool_limits(threads, user_api="blas"), hs.Pool(threads) as pool:
            for n in given.sizes:
                a = np.asfortranarray(rng.standard_normal((n, n)).astype(given.dtype))
                out = np.empty_like(a)
                calls = {
                    "hetsched": lambda a=a, pool=pool: pool.lu_factor(a),
                    "scipy": lambda a=a: lu_factor(a),
                    "matmul": lambda a=a, out=out, pool=pool: pool.matmul(a, a, out=out),
                }
                times: dict[str, list[float]] = {name: [] for name in calls}
                repeats = max(1, min(20, int(3e9 / n**3)))
                for _ in range(given.rounds):
                    for name, call in calls.items():
                        time.sleep(PAUSE)
                        if n < 3000:
                            call()
                        for _ in range(repeats):
                            start = time.perf_counter()
                            call()
                            times[name].append(time.perf_counter() - start)
                best = {name: min(own) for name, own in times.items()}
                middle = {name: statistics.median(own) for name, own in times.items()}
                rate = {name: work * n**3 / t / 1e9 for name, t in best.items()}
                rate["matmul"] *= 3
                ratio, medians = rate["hetsched"] / rate["scipy"], middle["scipy"] / middle["hetsched"]
                rates = " ".join(f"{rate[name]:9.1f}" for name in calls)
                print(f"{n:>6} {rates}   {ratio:5.3f}   ({medians:5.3f})   {rate['hetsched'] / rate['matmul']:5.3f}", flush=True)


if __name__ == "__main__":
    main()
