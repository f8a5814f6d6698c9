"""A product by a plan on Dask's workers: each gets the rows of A and the columns of B of its boxes,
and nobody else does them.

python examples/dask_product.py        # needs dask and distributed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import hetsched as hs


def matmul(client: Client, A: Any, B: Any, plan: hs.ProductPlan, workers: Sequence[str]) -> Any:
    """A B; workers[i] is the address of the plan's worker i."""
    parts = []
    for rank, row, col, depth, height, width, length in plan.boxes.tolist():
        here = {"workers": [workers[rank]], "direct": True}
        rows = client.scatter(A[row : row + height, depth : depth + length], **here)
        cols = client.scatter(B[depth : depth + length, col : col + width], **here)
        parts.append(client.submit(np.matmul, rows, cols, workers=here["workers"], pure=False))
    C = np.zeros((A.shape[0], B.shape[1]))
    for (_, row, col, _, height, width, _), part in zip(
        plan.boxes.tolist(), client.gather(parts), strict=True
    ):
        C[row : row + height, col : col + width] += part
    return C


def rates(client: Client, workers: Sequence[str], n: int = 500) -> list[float]:
    """Seconds per gigaflop of each worker, all at once."""

    def seconds() -> float:
        import time

        square = np.ones((n, n))
        start = time.perf_counter()
        for _ in range(10):
            np.matmul(square, square)
        return (time.perf_counter() - start) / 10

    found = client.gather(
        [client.submit(seconds, workers=[worker], pure=False) for worker in workers]
    )
    return [time / (2e-9 * n**3) for time in found]


if __name__ == "__main__":
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        A = B = np.random.default_rng(0).standard_normal((1500, 1500))
        plan = hs.plan_matmul(
            1500, 1500, 1500, hs.Platform.star(rates(client, workers)), method="rectangles"
        )
        C = matmul(client, A, B, plan, workers)
        print(f"{plan.certificate}; largest error {np.abs(C - A @ B).max():.2g}")
