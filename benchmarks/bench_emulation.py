"""Emulated platforms: measured against predicted makespan, for block columns and for layers in four
modes; and the CPU time that waiting takes. Medians of five."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import median_run, parser, print_machine

import hetsched as hs

Matrix = np.ndarray[Any, np.dtype[np.float64]]
PLATFORMS = {
    "t = (3, 5, 8)": [3, 5, 8],
    "t = (1, 2, 4)": [1, 2, 4],
    "8 workers, 1:4": list(np.linspace(1, 4, 8)),
}
# the 2001 paper's matrices; the time that a perfect division would take
N, BLOCK, SECONDS = 2496, 32, 1.5
STAR = hs.Platform.star([3, 5, 8, 4], link_costs=[20, 30, 10, 25])
SHAPE = 400, 300, 6000  # m, n, k of the layers
WORKERS = 2, 64  # of the pools whose CPU time is looked at; the host may have fewer cores
# seconds after each product, as between those of a program: real workers look for the next one,
# then sleep
PAUSE = 0.05


def layers() -> None:
    """Layers of a long inner dimension, and their sum."""
    m, n, k = SHAPE
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    print(f"\n{m} x {k} x {n} in layers, t = (3, 5, 8, 4), links (20, 30, 10, 25)")
    for mode in ("scss", "sccs", "pccs", "pcss"):
        with hs.Pool(STAR, emulate=True) as pool:
            plan = pool.plan(m, n, k, method="layers", communication=mode)
            run = partial(pool.matmul, A, B, method="layers", communication=mode, trace=True)
            _, measured = median_run(lambda run=run: run()[1])
        counts = np.bincount(plan.boxes[:, 0], plan.boxes[:, 6], len(STAR)).astype(int).tolist()
        off = measured / plan.makespan - 1
        print(
            f"{mode:15}  predicted {plan.makespan:.4f} s, measured {measured:.4f} s ({off:+.3%}),"
            f" counts {counts}"
        )


def cpu_seconds(call: Callable[[], object]) -> float:
    """Of this process, its threads included, from a call to the end of the pause after it."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_SELF)
        call()
        time.sleep(PAUSE)
        after = resource.getrusage(resource.RUSAGE_SELF)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    once()
    return statistics.median(once() for _ in range(5))


def of_zones(pool: hs.Pool, plan: hs.ProductPlan, A: Matrix, B: Matrix, C: Matrix) -> None:
    """The zones of a plan, one after another."""
    for _, i, j, _, height, width, _ in plan.boxes.tolist():
        pool.matmul(A[i : i + height], B[:, j : j + width], out=C[i : i + height, j : j + width])


def of_product(n: int) -> None:
    """CPU seconds of a product: real workers beside one, emulated ones beside one that does their
    zones."""
    rng = np.random.default_rng(0)
    A, B, C = rng.standard_normal((n, n)), rng.standard_normal((n, n)), np.empty((n, n))
    with hs.Pool(1) as one:
        alone = cpu_seconds(lambda: one.matmul(A, B, out=C))
        print(f"\n{n} x {n} float64, CPU seconds: one worker {alone:.4f}")
        for p in WORKERS:
            with hs.Pool(p) as pool:
                spent = cpu_seconds(partial(pool.matmul, A, B, out=C))
            print(f"{p:2} real workers      {spent:.4f} ({spent / alone - 1:+.1%})")
        for p in WORKERS:
            # n / 1000 seconds
            with hs.Pool(
                hs.Platform.star([p * n / 1000 / (2e-9 * n**3)] * p), emulate=True
            ) as pool:
                plan = pool.plan(n, n, n)
                spent = cpu_seconds(partial(pool.run, plan, A, B, C))
            needed = cpu_seconds(partial(of_zones, one, plan, A, B, C))
            print(
                f"{p:2} emulated workers  {spent:.4f}, their zones {needed:.4f}"
                f" ({spent / needed - 1:+.1%})"
            )


def of_sleep(n: int) -> None:
    """CPU seconds of a product that takes a second and has next to nothing to compute."""
    A = np.ones((n, n))
    for p in WORKERS:
        with hs.Pool(hs.Platform.star([p / (2e-9 * n**3)] * p), emulate=True) as pool:
            spent = cpu_seconds(partial(pool.run, pool.plan(n, n, n), A, A))
        print(f"{p:2} emulated workers, {n} x {n} in a second: {spent:.4f}")


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((N, N)), rng.standard_normal((N, N))
    print(f"{N} x {N} float64, block columns of {BLOCK}")
    for name, times in PLATFORMS.items():
        platform = hs.Platform.star(times)
        scale = SECONDS * float(platform.speeds.sum()) / (2e-9 * N**3)
        with hs.Pool(platform, emulate=True, time_scale=scale) as pool:
            plan = pool.plan(N, N, N, method="columns", block=BLOCK)
            run = partial(pool.matmul, A, B, method="columns", block=BLOCK, trace=True)
            _, measured = median_run(lambda run=run: run()[1])
        predicted = plan.makespan * scale
        counts = (plan.boxes[:, 5] // BLOCK).tolist()
        off = measured / predicted - 1
        print(
            f"{name:15}  predicted {predicted:.4f} s, measured {measured:.4f} s ({off:+.3%}),"
            f" counts {counts}"
        )
    layers()
    for n in (1000, 2000):
        of_product(n)
    of_sleep(64)


if __name__ == "__main__":
    main()
