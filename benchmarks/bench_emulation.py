"""Emulated platforms: measured against predicted makespan, median of five; block columns, and layers in four modes."""

from __future__ import annotations

import statistics

import numpy as np

import hetsched as hs

PLATFORMS = {
    "t = (3, 5, 8)": [3, 5, 8],
    "t = (1, 2, 4)": [1, 2, 4],
    "8 workers, 1:4": list(np.linspace(1, 4, 8)),
}
N, BLOCK, SECONDS = 2496, 32, 1.5  # the 2001 paper's matrices; the time that a perfect division would take
STAR = hs.Platform.star([3, 5, 8, 4], link_costs=[20, 30, 10, 25])
SHAPE = 400, 300, 6000  # m, n, k of the layers


def layers() -> None:
    """Layers of a long inner dimension, and their sum."""
    m, n, k = SHAPE
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    print(f"\n{m} x {k} x {n} in layers, t = (3, 5, 8, 4), links (20, 30, 10, 25)")
    for mode in ("scss", "sccs", "pccs", "pcss"):
        with hs.Pool(STAR, emulate=True) as pool:
            plan = pool.plan(m, n, k, method="layers", communication=mode)
            traces = [pool.matmul(A, B, method="layers", communication=mode, trace=True)[1] for _ in range(5)]
        measured = statistics.median(trace.makespan for trace in traces)
        counts = np.bincount(plan.boxes[:, 0], plan.boxes[:, 6], len(STAR)).astype(int).tolist()
        off = measured / plan.makespan - 1
        print(f"{mode:15}  predicted {plan.makespan:.4f} s, measured {measured:.4f} s ({off:+.3%}), counts {counts}")


def main() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((N, N)), rng.standard_normal((N, N))
    print(f"{N} x {N} float64, block columns of {BLOCK}")
    for name, times in PLATFORMS.items():
        platform = hs.Platform.star(times)
        scale = SECONDS * float(platform.speeds.sum()) / (2e-9 * N**3)
        with hs.Pool(platform, emulate=True, time_scale=scale) as pool:
            plan = pool.plan(N, N, N, method="columns", block=BLOCK)
            traces = [pool.matmul(A, B, method="columns", block=BLOCK, trace=True)[1] for _ in range(5)]
        measured = statistics.median(trace.makespan for trace in traces)
        predicted = plan.makespan * scale
        counts = (plan.boxes[:, 5] // BLOCK).tolist()
        off = measured / predicted - 1
        print(f"{name:15}  predicted {predicted:.4f} s, measured {measured:.4f} s ({off:+.3%}), counts {counts}")
    layers()


if __name__ == "__main__":
    main()
