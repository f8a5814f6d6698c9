"""What chunks ahead of results gain and lose: the table of docs/reproduction-2008.md, but for
"best" without them.

On the paper's 29 instances and on random small ones, by the inner dimension t: "overlap" over
"oddoml", the makespan of "best" over the lower bound, and in how many of its plans chunks are
ahead. Two minutes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import numpy as np
from common import parser, print_machine

import hetsched as hs

Instance = tuple[tuple[int, int, int], hs.Platform]
GROUPS = ((1, 3), (4, 12), (20, 40))  # of t


def drawn(seed: int) -> Instance:
    """One to four workers that the port can feed, or not."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 5))
    shape = (
        int(rng.integers(8, 60)),
        int(rng.integers(10, 80)),
        int(rng.choice([1, 2, 3, 4, 6, 8, 12, 20, 40])),
    )
    costs = rng.uniform(1, 2, p)
    times = rng.uniform(1, 2, p) * float(rng.choice([0.3, 1, 3, 10]))
    return shape, hs.Platform.star(
        times, link_costs=costs, memory=rng.integers(20, 400, p).tolist()
    )


def show(name: str, instances: Iterable[Instance]) -> None:
    ratios, gaps, ahead = [], [], 0
    for shape, platform in instances:
        one, two, best = (
            hs.plan_product(*shape, platform, method) for method in ("oddoml", "overlap", "best")
        )
        ratios.append(two.makespan / one.makespan)
        gaps.append(best.makespan / best.lower_bound)
        ahead += bool(best.chunks["ahead"].any())
    spread = f"{statistics.mean(ratios):.3f} ({min(ratios):.3f}, {max(ratios):.3f})"
    print(
        f"{name:12}{spread:>24}{statistics.mean(gaps):12.3f}{f'{ahead} of {len(gaps)}':>14}",
        flush=True,
    )


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    print(f"{'':12}{'overlap / oddoml':>24}{'best / bound':>12}{'chunks ahead':>14}")
    show(
        "2008",
        ((shape, hs.datasets.ppopp2008(name)) for name, shape in hs.datasets.ppopp2008_instances()),
    )
    instances = [drawn(seed) for seed in range(300)]
    for low, high in GROUPS:
        show(f"t {low} to {high}", (x for x in instances if low <= x[0][2] <= high))


if __name__ == "__main__":
    main()
