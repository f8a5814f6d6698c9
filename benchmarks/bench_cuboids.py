"""Cost of `cuboids` over the bound 3 sum v^(2/3): boxes, rectangles and layers, and the time that
planning takes.

A figure is the mean over random speeds (uniform in (0, 1), or lognormal with sigma 1.6), with gamma
= 1 and other weights.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from common import parser, print_machine

import hetsched as hs


def draws(kind: str, p: int, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(p)
    return [rng.random(p) if kind == "uniform" else rng.lognormal(0, 1.6, p) for _ in range(count)]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--draws", type=int, default=50)
    count = options.parse_args().draws
    print_machine()
    print("cost / bound at gamma = 1; median time of method best, ms")
    print(
        f"{'speeds':10} {'p':>4} {'best':>8} {'interval':>8} {'rectangles':>10} {'layers':>8}"
        f" {'ms':>8}"
    )
    for kind in ("uniform", "lognormal"):
        for p in (2, 4, 8, 12, 16, 32, 64):
            found: dict[str, list[float]] = {
                name: [] for name in ("best", "interval", "rectangles", "layers")
            }
            times = []
            for volumes in draws(kind, p, count if p <= 12 else min(count, 4)):
                bound = 3 * ((volumes / volumes.sum()) ** (2 / 3)).sum()
                for name, ratios in found.items():
                    start = time.perf_counter()
                    ratios.append(hs.cuboids(volumes, method=name).cost / bound)
                    if name == "best":
                        times.append(1e3 * (time.perf_counter() - start))
            best, interval, rectangles, layers = (
                statistics.mean(ratios) for ratios in found.values()
            )
            print(
                f"{kind:10} {p:4} {best:8.4f} {interval:8.4f} {rectangles:10.4f} {layers:8.3f}"
                f" {statistics.median(times):8.1f}"
            )
    print("\ncost / own lower bound, p = 8, uniform speeds")
    print(f"{'gamma':>8} {'best':>8} {'rectangles':>10} {'layers':>8}")
    for gamma in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0):
        gaps = [
            statistics.mean(
                1 + hs.cuboids(volumes, gamma, method=name).gap
                for volumes in draws("uniform", 8, count)
            )
            for name in ("best", "rectangles", "layers")
        ]
        print(f"{gamma:8g} {gaps[0]:8.4f} {gaps[1]:10.4f} {gaps[2]:8.4f}")


if __name__ == "__main__":
    main()
