"""Iterations on a ring: measured against predicted time of a step on emulated workers, and updates
per second on real cores.

Emulated: T is the plan's time of a step; the median of five. Real: the fastest of five, all in
turns, as the machine may be shared; traffic is one reading and one writing of the slices in each
step. NumPy does the same by the expression of the documentation, with one thread. `--quick` is a
short run.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from common import parser, print_machine, seconds_of

import hetsched as hs

LYON, STRASBOURG = hs.datasets.lyon(), hs.datasets.strasbourg()
# seconds per gigaflop and per gigabyte; the tables of the paper are per megaflop and per megabit
PLATFORMS = {
    "t = (3, 5, 8), links 20": hs.Platform.complete([3, 5, 8], np.full((3, 3), 20.0)),
    "t = (3, 5, 8), links 20 .. 200": hs.Platform.complete(
        [3, 5, 8], [[0, 20, 200], [40, 0, 60], [200, 80, 0]]
    ),
    "two, t = (1, 2), links 100": hs.Platform.complete([1, 2], np.full((2, 2), 100.0)),
    "8 workers, 1:4, no messages": hs.Platform.star(np.linspace(1, 4, 8)),
    "Lyon": hs.Platform.complete(LYON.cycle_times * 1e3, LYON.links * 8e3),
    "Strasbourg": hs.Platform.complete(STRASBOURG.cycle_times * 1e3, STRASBOURG.links * 8e3),
}
ROWS, COLS, STEPS, SECONDS = 402, 1200, 20, 1.0


def emulated(repeats: int) -> None:
    U = np.random.default_rng(0).standard_normal((ROWS, COLS))
    print(
        f"{ROWS} x {COLS} float64, {STEPS} steps, time scaled to {SECONDS / STEPS * 1e3:g} ms a"
        " step"
    )
    print(
        "  platform                        enrolled       T     measured     off    of all runs   "
        " gap to the bound"
    )
    for name, workers in PLATFORMS.items():
        with hs.Pool(workers, emulate=True, time_scale=1e3) as pool:
            scale = SECONDS / pool.plan_stencil(ROWS, COLS, STEPS).makespan
        with hs.Pool(workers, emulate=True, time_scale=scale) as pool:
            plan = pool.plan_stencil(ROWS, COLS, STEPS)
            runs = [pool.stencil(U, STEPS, trace=True)[1].makespan / STEPS for _ in range(repeats)]
        wanted, measured = plan.step_time * scale, statistics.median(runs)
        spread = f"{min(runs) / wanted - 1:+.2%} .. {max(runs) / wanted - 1:+.2%}"
        enrolled = f"{len(plan.ring)} of {len(workers)}"
        row = (
            f"{wanted * 1e3:7.3f} ms {measured * 1e3:7.3f} ms {measured / wanted - 1:+.3%}  "
            f" {spread}   {plan.gap:.3%}"
        )
        print(f"  {name:31} {enrolled:9} {row}", flush=True)


def by_numpy(U: np.ndarray, steps: int) -> float:
    """Seconds; the matrix has a column more on each side."""
    m, n = U.shape
    old = np.zeros((m, n + 2), U.dtype)
    old[:, 1:-1] = U
    new = old.copy()
    weight = U.dtype.type(0.25)
    start = time.perf_counter()
    for _ in range(steps):
        old[:, 0], old[:, -1] = old[:, -2], old[:, 1]
        middle = old[1:-1, 1:-1]
        around = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
        new[1:-1, 1:-1] = middle + weight * (around - 4 * middle)
        old, new = new, old
    return time.perf_counter() - start


def real(repeats: int, sizes: list[int]) -> None:
    print(
        "\nreal cores: million updates per second (GB/s); in brackets the copies to and from the"
        " slices, ms"
    )
    most = len(hs.Pool())
    pools = {workers: hs.Pool(workers) for workers in sorted({1, most})}
    for dtype in (np.float64, np.float32):
        for n in sizes:
            U = np.random.default_rng(0).standard_normal((n, n)).astype(dtype)
            steps = max(4, int(1e8) // n**2)
            few = max(2, steps // 10)
            numpy: list[float] = []
            runs: dict[int, list[tuple[float, float]]] = {workers: [] for workers in pools}
            for _ in range(repeats):
                numpy.append(by_numpy(U, few) / few)
                for workers, pool in pools.items():
                    copies = seconds_of(lambda pool=pool, U=U: pool.stencil(U, 0))
                    _, trace = pool.stencil(U, steps, trace=True)
                    runs[workers].append((trace.makespan / steps, copies))
            updates = (n - 2) * n
            row = [f"NumPy {updates / min(numpy) / 1e6:4.0f}"]
            for workers, own in runs.items():
                seconds, copies = (min(x) for x in zip(*own, strict=True))
                speed = (
                    f"{updates / seconds / 1e6:5.0f}"
                    f" ({updates * 2 * U.itemsize / seconds / 1e9:4.1f})"
                )
                row.append(f"{workers} worker{'s' * (workers > 1)} {speed} [{copies * 1e3:.1f}]")
            print(f"  {np.dtype(dtype).name} {n:5} x {n:<5} {'   '.join(row)}", flush=True)


def main() -> None:
    quick = parser(__doc__, quick=True).parse_args().quick
    print_machine()
    emulated(1 if quick else 5)
    real(1 if quick else 5, [500, 1000] if quick else [500, 1000, 2000, 6000])


if __name__ == "__main__":
    main()
