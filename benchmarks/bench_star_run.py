"""Plans for workers with limited memory, run on emulated stars: measured against predicted
makespan, median of five."""

from __future__ import annotations

import statistics

import numpy as np
from common import parser, print_machine

import hetsched as hs
from hetsched.planners.star import METHODS as ALL

METHODS = [method for method in ALL if method != "exact"]  # which is for small instances
# r, s, t; link costs, cycle-times and memory of each worker
PLATFORMS = {
    "2 workers, the links count": ((4, 8, 3), [1, 2], [2, 3], [12, 21]),
    "4 workers, computing counts": ((9, 14, 6), [1, 1, 2, 2], [8, 12, 8, 20], [21, 32, 45, 60]),
    "8 workers, all unequal": (
        (12, 20, 8),
        [1, 2, 4, 1, 2, 4, 1, 3],
        [3, 5, 8, 13, 21, 34, 3, 5],
        [5, 12, 21, 32, 45, 60, 77, 96],
    ),
}
BLOCK, SECONDS = 48, 0.3  # the makespan of "het"


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    rng = np.random.default_rng(0)
    print(
        f"blocks of {BLOCK} x {BLOCK} float64; peaks: blocks by the plan, measured, of the memory"
    )
    for name, ((r, s, t), costs, times, memory) in PLATFORMS.items():
        platform = hs.Platform.star(times, link_costs=costs, memory=memory)
        A = rng.standard_normal((r * BLOCK, t * BLOCK))
        B = rng.standard_normal((t * BLOCK, s * BLOCK))
        scale = SECONDS / hs.plan_product(r, s, t, platform, "het").makespan
        print(f"{name}: r, s, t = {r}, {s}, {t}")
        with hs.Pool(platform, emulate=True, time_scale=scale) as pool:
            for method, order in [(method, "plan") for method in METHODS] + [
                ("oddoml", "demand"),
                ("bmm", "demand"),
            ]:
                plan = hs.plan_product(r, s, t, platform, method)
                traces = []
                for _ in range(5):
                    C, trace = pool.run(plan, A, B, order=order, trace=True)
                    assert np.allclose(C, A @ B)
                    traces.append(trace)
                measured = statistics.median(trace.makespan for trace in traces)
                predicted = traces[0].predicted
                peaks = [max(trace.peak[i] for trace in traces) for i in range(len(memory))]
                assert all(peak <= limit for peak, limit in zip(peaks, memory, strict=True))
                held = " ".join(
                    f"{x}/{y}/{m}"
                    for x, y, m in zip(traces[0].predicted_peak, peaks, memory, strict=True)
                    if y
                )
                label = method if order == "plan" else f"{method} *"
                off = measured / predicted - 1
                print(
                    f"  {label:9} predicted {predicted:.4f} s, measured {measured:.4f} s"
                    f" ({off:+.2%})  {held}"
                )
    print("* order decided at run time")


if __name__ == "__main__":
    main()
