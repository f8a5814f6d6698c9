"""Stacks of small matrices: products, solutions, inverses and Cholesky factors by hetsched's
workers and by NumPy.

Milliseconds, the least of several rounds (each times both, after a pause), and NumPy's over
hetsched's. With --threads 1 set OPENBLAS_NUM_THREADS=1 as well.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import hetsched as hs
from hetsched._engine import run as engine
from hetsched._engine import stack

SHAPES = ((1000, 50), (16, 500), (100000, 8))
PAUSE, CALLS = 0.1, 3  # OpenBLAS's threads keep their cores busy for a while after a call
DTYPES = ("float32", "float64", "complex64", "complex128")


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


def calls(
    pool: hs.Pool, threads: engine.Threads, a: NDArray[np.generic], b: NDArray[np.generic]
) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Each operation by hetsched and by NumPy, on items a and b."""
    positive = a @ a.conj().swapaxes(-1, -2) + a.shape[-1] * np.eye(a.shape[-1], dtype=a.dtype)
    return {
        "product": (lambda: pool.matmul(a, b), lambda: np.matmul(a, b)),
        "solve": (
            lambda: stack.solve(threads, a, b, np.empty_like(b), None),
            lambda: np.linalg.solve(a, b),
        ),
        "inverse": (
            lambda: stack.inverse(threads, a, np.empty_like(a), None),
            lambda: np.linalg.inv(a),
        ),
        "Cholesky": (
            lambda: stack.cholesky(threads, positive, np.zeros_like(a), None),
            lambda: np.linalg.cholesky(positive),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    pool, threads = (
        hs.Pool(options.threads),
        engine.Threads(options.threads, list(range(options.threads))),
    )
    print(
        f"{'':28}" + "".join(f"{name:>20}" for name in ("product", "solve", "inverse", "Cholesky"))
    )
    for count, n in SHAPES:
        for dtype in DTYPES:
            a, b = (rng.standard_normal((count, n, n)).astype(dtype) for _ in range(2))
            line = f"{f'{count} x ({n} x {n}) {dtype}':28}"
            for ours, numpys in calls(pool, threads, a, b).values():
                first, second = least(ours, numpys, options.rounds)
                line += f"{1e3 * first:12.2f} ({second / first:4.2f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
