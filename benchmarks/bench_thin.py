"""A large matrix times a vector or a few: hetsched's workers and NumPy.

Milliseconds of the fastest of several calls, and in brackets NumPy's time over hetsched's. The two
take turns. With --threads 1 set OPENBLAS_NUM_THREADS=1 as well. "by columns" is the transpose
of a matrix that is stored by rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from common import parser, print_machine, turns

import hetsched as hs

CALLS = 3  # in each turn
DTYPES = ("float32", "float64", "complex64", "complex128")
COLUMNS = (1, 2, 4, 8)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("-n", "--size", type=int, default=4000)
    options = arguments.parse_args()
    print_machine()
    n, rng, pool = options.size, np.random.default_rng(0), hs.Pool(options.threads)
    print(f"{f'n = {n}':28}" + "".join(f"{f'{k} columns':>17}" for k in COLUMNS))
    for dtype in DTYPES:
        rows = rng.standard_normal((n, n)).astype(dtype)
        for name, a in (("by rows", rows), ("by columns", rows.T)):
            line = f"{f'{dtype} {name}':28}"
            for k in COLUMNS:
                b = rng.standard_normal(n if k == 1 else (n, k)).astype(dtype)
                calls = {"ours": partial(pool.matmul, a, b), "numpy": partial(np.matmul, a, b)}
                times = turns(calls, options.rounds, CALLS, pause=0.1)
                first, second = min(times["ours"]), min(times["numpy"])
                line += f"{1e3 * first:9.2f} ({second / first:5.2f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
