"""Rings: time of the exact method, the search against the optimum at p = 14, and what a search
reaches for up to 2000 workers.

CPU time of this process, the least of three runs for the exact method. Problems at p = 14: five
kinds of platform, work / volume from 0.1 to 100; only those where the best ring has more than one
worker, most of which leave some out. `--quick` is a short run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from common import least, parser, print_machine
from numpy.typing import NDArray

import hetsched as hs

Problem = tuple[NDArray[np.float64], NDArray[np.float64], float]


def cpu() -> float:
    return time.process_time()


def plane(rng: np.random.Generator, p: int) -> NDArray[np.float64]:
    points = rng.random((p, 2))
    return np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))


def draws(p: int) -> Iterator[Problem]:
    """Lognormal times and links; times that differ by orders of magnitude; links by a factor of
    each end; few fast workers without links to speak of; points in the plane."""
    rng = np.random.default_rng(p)
    while True:
        yield rng.lognormal(0, 1.5, p), rng.lognormal(0, 1.5, (p, p)), 10 ** rng.uniform(-1, 2)
        yield rng.lognormal(0, 2.5, p), rng.uniform(0.5, 1.5, (p, p)), 10 ** rng.uniform(-1, 2)
        factor = rng.uniform(0.1, 1, p)
        yield (
            rng.uniform(1, 3, p),
            rng.choice([1, 1.1, 1.2], (p, p)) * np.add.outer(factor, factor),
            10 ** rng.uniform(-1, 2),
        )
        sides = rng.uniform(0.1, 1, (p, 1)) + rng.uniform(0, 0.1, (p, p))
        yield rng.choice([0.1, 0.1, 0.1, 10.0], p), sides, 10 ** rng.uniform(-1, 2)
        yield rng.uniform(1, 10, p), plane(rng, p), 10 ** rng.uniform(-1, 2)


def exact_times(sizes: list[int]) -> None:
    print(
        "\nexact, all workers or most in the best ring: CPU ms for work / volume = 3, 30, 300,"
        " least of three; memory"
    )
    for p in sizes:
        rng = np.random.default_rng(p)
        times, links, row = rng.uniform(1, 10, p), plane(rng, p), []
        for work in (3.0, 30.0, 300.0):
            call = partial(hs.slice_ring, times, links, work, 1.0)
            ms = 1e3 * least(call, 3, clock=time.process_time)
            row.append(f"{ms:8.1f} ({len(call().ring)})")
        print(f"  p = {p:2}", *row, f"  {4 * p * 2**p / 2**20:7.2f} MiB", flush=True)


def quality(count: int) -> None:
    print(f"\n{count} problems of 14 workers: (makespan - optimum) / optimum")
    found: dict[str, list[float]] = {"greedy": [], "multistart": [], "search": []}
    seconds, sizes, gaps = [], [], []
    for times, links, work in draws(14):
        best = hs.slice_ring(times, links, work, 1.0)
        if len(best.ring) == 1:
            continue
        sizes.append(len(best.ring))
        for method, off in found.items():
            start = cpu()
            plan = hs.slice_ring(times, links, work, 1.0, method)
            if method == "search":
                seconds.append(cpu() - start)
                gaps.append(plan.gap)
            off.append(plan.makespan / best.makespan - 1)
        if len(sizes) == count:
            break
    print(f"  the best ring leaves some out in {sum(size < 14 for size in sizes)} of them")
    for method, off in found.items():
        beyond = sum(x > 0.002 for x in off)
        print(
            f"  {method:10} mean {statistics.mean(off):8.4%}   worst {max(off):8.3%}   above 0.2 %:"
            f" {beyond}"
        )
    spent, median = 1e3 * statistics.mean(seconds), statistics.median(gaps)
    print(
        f"  search: {spent:.1f} ms CPU; certified gap, median {median:.2%}, worst {max(gaps):.1%}"
    )


def large(sizes: list[int]) -> None:
    print("\nsearch, points in the plane: makespan, members, certified gap, CPU s; greedy makespan")
    for p in sizes:
        rng = np.random.default_rng(p)
        times, links = rng.uniform(1, 10, p), plane(rng, p)
        for work in (3.0, 100.0, 3000.0):
            greedy = hs.slice_ring(times, links, work, 1.0, "greedy").makespan
            start = cpu()
            plan = hs.slice_ring(times, links, work, 1.0, "search")
            spent = cpu() - start
            row = f"{plan.makespan:10.5f} {len(plan.ring):5} {plan.gap:9.3%} {spent:8.2f} s"
            print(
                f"  p = {p:4}, work / volume {work:5g}: {row}   greedy {greedy:10.5f}", flush=True
            )


def main() -> None:
    quick = parser(__doc__, quick=True).parse_args().quick
    print_machine()
    exact_times([10, 14, 16] if quick else [10, 14, 16, 18, 20, 22])
    quality(20 if quick else 200)
    large([50] if quick else [50, 200, 500, 2000])


if __name__ == "__main__":
    main()
