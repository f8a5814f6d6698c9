"""A product by Dask's distributed workers, matrices at the client: scheduler, n, blocks per side,
rounds, workers.

Run by the Python that has dask, as the client. Blocks of A and B go straight to the workers, in
turn; those of C come back and are put together, all in the time. Prints the seconds of each round,
and then a residual.
"""

from __future__ import annotations

import sys
import time

import dask.array as da
import numpy as np
from distributed import Client


def distributed_array(client: Client, a: np.ndarray, blocks: int) -> da.Array:
    """Its blocks on the workers, in turn."""
    n, workers = len(a), sorted(client.scheduler_info(n_workers=-1)["workers"])
    cuts = [n * i // blocks for i in range(blocks + 1)]
    rows = []
    for i in range(blocks):
        row = []
        for j in range(blocks):
            part = np.ascontiguousarray(a[cuts[i] : cuts[i + 1], cuts[j] : cuts[j + 1]])
            future = client.scatter(
                part, workers=[workers[(i * blocks + j) % len(workers)]], direct=True, hash=False
            )
            row.append(da.from_delayed(future, part.shape, part.dtype))
        rows.append(row)
    return da.block(rows)


def product(client: Client, a: np.ndarray, b: np.ndarray, blocks: int) -> np.ndarray:
    x, y = (distributed_array(client, m, blocks) for m in (a, b))
    c = (x @ y).persist()
    parts = client.gather(client.compute(c.to_delayed().ravel().tolist()), direct=True)
    return np.block([parts[i * blocks : (i + 1) * blocks] for i in range(blocks)])


def main() -> None:
    address, n, blocks, rounds = sys.argv[1], *map(int, sys.argv[2:5])
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    with Client(address, direct_to_workers=True, timeout=60) as client:
        client.wait_for_workers(int(sys.argv[5]), timeout=60)
        for _ in range(rounds):
            start = time.perf_counter()
            c = product(client, a, b, blocks)
            print(time.perf_counter() - start, flush=True)
        v = rng.standard_normal(n)
        expected = a @ (b @ v)
        print(np.abs(c @ v - expected).max() / np.abs(expected).max())


if __name__ == "__main__":
    main()
