"""Stacks of small matrices, by hetsched's workers and by NumPy: products, solutions, inverses,
Cholesky factors, eigenvalues and singular values.

Milliseconds of the fastest of several calls, and in brackets NumPy's time over hetsched's. NumPy's
is the faster one of a single thread and of all threads. They take turns. With --busy another
program computes on the first core all the time, and times are medians. With --threads 1 set
OPENBLAS_NUM_THREADS=1 as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import numpy as np
from common import busy_programs, parser, print_machine, turns
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import hetsched as hs
from hetsched._engine import run as engine
from hetsched._engine import stack
from hetsched.runners import spectral

SHAPES = ((1000, 50), (16, 500), (100000, 8))
SPECTRAL_SHAPES = ((1000, 50), (100000, 8))
CALLS = 3  # in each turn
DTYPES = ("float32", "float64", "complex64", "complex128")

Pairs = dict[str, tuple[Callable[[], object], Callable[[], object]]]


def calls(
    pool: hs.Pool, threads: engine.Threads, a: NDArray[np.generic], b: NDArray[np.generic]
) -> Pairs:
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


def spectral_calls(
    threads: engine.Threads, a: NDArray[np.generic], b: NDArray[np.generic]
) -> Pairs:
    """The same for decompositions; b has the imaginary parts."""
    if a.dtype.kind == "c":
        a = a + b * a.dtype.type(1j)
    h = a + a.conj().swapaxes(-1, -2)
    return {
        "eigh": (
            lambda: spectral.eigenvectors(threads, h, True, 0, h.shape[-1]),
            lambda: np.linalg.eigh(h),
        ),
        "eigvalsh": (
            lambda: spectral.eigenvalues(threads, h, True),
            lambda: np.linalg.eigvalsh(h),
        ),
        "svd": (
            lambda: spectral.decomposed(threads, a, True, True),
            lambda: np.linalg.svd(a),
        ),
        "svdvals": (
            lambda: spectral.decomposed(threads, a, False, False),
            lambda: np.linalg.svd(a, compute_uv=False),
        ),
    }


def on_one_thread(call: Callable[[], object]) -> Callable[[], object]:
    def limited() -> object:
        with threadpool_limits(1, user_api="blas"):
            return call()

    return limited


def line(pairs: Pairs, rounds: int, busy: bool) -> str:
    """The times of a row of the table."""
    text = ""
    for ours, numpys in pairs.values():
        each = {"ours": ours, "all": numpys, "one": on_one_thread(numpys)}
        times = turns(each, rounds, CALLS, pause=0.1)
        of = {name: (statistics.median if busy else min)(found) for name, found in times.items()}
        text += f"{1e3 * of['ours']:12.2f} ({min(of['all'], of['one']) / of['ours']:5.2f})"
    return text


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--busy", action="store_true")
    arguments.add_argument("--spectral", action="store_true", help="only the decompositions")
    options = arguments.parse_args()
    print_machine()
    rng = np.random.default_rng(0)
    pool = hs.Pool(options.threads)
    threads = engine.Threads(options.threads, list(range(options.threads)))

    def row(count: int, n: int, dtype: str, of: Callable[..., Pairs]) -> None:
        a, b = (rng.standard_normal((count, n, n)).astype(dtype) for _ in range(2))
        text = line(of(a, b), options.rounds, options.busy)
        print(f"{f'{count} x ({n} x {n}) {dtype}':28}{text}", flush=True)

    def head(*names: str) -> None:
        print(f"{'':28}" + "".join(f"{name:>20}" for name in names))

    with busy_programs(int(options.busy), pinned=options.busy):
        if not options.spectral:
            head("product", "solve", "inverse", "Cholesky")
            for count, n in SHAPES:
                for dtype in DTYPES:
                    row(count, n, dtype, lambda a, b: calls(pool, threads, a, b))
        head("eigh", "eigvalsh", "svd", "svdvals")
        for count, n in SPECTRAL_SHAPES:
            for dtype in DTYPES:
                row(count, n, dtype, lambda a, b: spectral_calls(threads, a, b))


if __name__ == "__main__":
    main()
