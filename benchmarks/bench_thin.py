"""A large matrix times a vector or a few: hetsched's workers and NumPy.

Milliseconds, the least of several rounds (each times both, after a pause), and NumPy's over
hetsched's. With --threads 1 set OPENBLAS_NUM_THREADS=1 as well. "by columns" is the transpose of a
matrix that is stored by rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import hetsched as hs

PAUSE, CALLS = 0.1, 3  # OpenBLAS's threads keep their cores busy for a while after a call
DTYPES = ("float32", "float64", "complex64", "complex128")
COLUMNS = (1, 2, 4, 8)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def least(
    ours: Callable[[], object], numpys: Callable[[], object], rounds: int
) -> tuple[float, float]:
    first, second = [], []
    for _ in range(rounds):
        time.sleep(PAUSE)
        first += [seconds(ours) for _ in range(CALLS)]
        second += [seconds(numpys) for _ in range(CALLS)]
    return min(first), min(second)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-n", "--size", type=int, default=4000)
    options = parser.parse_args()
    n, rng, pool = options.size, np.random.default_rng(0), hs.Pool(options.threads)
    print(f"{f'n = {n}':28}" + "".join(f"{f'{k} columns':>17}" for k in COLUMNS))
    for dtype in DTYPES:
        rows = rng.standard_normal((n, n)).astype(dtype)
        for name, a in (("by rows", rows), ("by columns", rows.T)):
            line = f"{f'{dtype} {name}':28}"
            for k in COLUMNS:
                b = rng.standard_normal(n if k == 1 else (n, k)).astype(dtype)
                first, second = least(
                    lambda a=a, b=b: pool.matmul(a, b),
                    lambda a=a, b=b: np.matmul(a, b),
                    options.rounds,
                )
                line += f"{1e3 * first:9.2f} ({second / first:5.2f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
