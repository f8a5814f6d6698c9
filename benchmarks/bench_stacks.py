"""Stacks of small matrices: products, solutions, inverses and Cholesky factors by hetsched's
workers and by NumPy.

Milliseconds of the fastest of several calls, and in brackets NumPy's time over hetsched's. The two
take turns. With --threads 1 set OPENBLAS_NUM_THREADS=1 as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from common import parser, print_machine, turns
from numpy.typing import NDArray

import hetsched as hs
from hetsched._engine import run as engine
from hetsched._engine import stack

SHAPES = ((1000, 50), (16, 500), (100000, 8))
CALLS = 3  # in each turn
DTYPES = ("float32", "float64", "complex64", "complex128")


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
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=2)
    options = arguments.parse_args()
    print_machine()
    rng = np.random.default_rng(0)
    pool = hs.Pool(options.threads)
    threads = engine.Threads(options.threads, list(range(options.threads)))
    heads = ("product", "solve", "inverse", "Cholesky")
    print(f"{'':28}" + "".join(f"{name:>20}" for name in heads))
    for count, n in SHAPES:
        for dtype in DTYPES:
            a, b = (rng.standard_normal((count, n, n)).astype(dtype) for _ in range(2))
            line = f"{f'{count} x ({n} x {n}) {dtype}':28}"
            for ours, numpys in calls(pool, threads, a, b).values():
                pair = {"ours": ours, "numpy": numpys}
                times = turns(pair, options.rounds, CALLS, pause=0.1)
                first, second = min(times["ours"]), min(times["numpy"])
                line += f"{1e3 * first:12.2f} ({second / first:4.2f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
