"""Tasks over one bus: tasks lost against the optimum, on average over random instances; then gaps
where no optimum is known."""

from __future__ import annotations

import time

import numpy as np
from common import parser, print_machine

import hetsched as hs


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    rng = np.random.default_rng(2001)
    print("200 instances, p = 2 .. 7, messages both ways: tasks lost on average (at most)")
    lost: dict[str, list[int]] = {"paper": [], "fastest": []}
    cpu = 0.0
    for _ in range(200):
        p = int(rng.integers(2, 8))
        times, (send, receive) = rng.uniform(1, 10, p), rng.uniform(0.2, 2, 2)
        T = float(rng.uniform(1, 6) * p * (send + receive))
        start = time.process_time()
        plan = hs.max_tasks(T, times, send, receive)
        cpu += time.process_time() - start
        assert plan.optimal
        for method, values in lost.items():
            values.append(plan.tasks - hs.max_tasks(T, times, send, receive, method).tasks)
    for name, values in lost.items():
        print(f"  {name:12} {np.mean(values):6.3f} ({max(values)})")
    print(f"  best: {cpu / 200 * 1e3:.2f} ms of CPU time each")

    print("more workers, 10 instances each: mean gap, share proven optimal, CPU seconds each")
    for links in ("equal", "own, one way", "own, both ways"):
        for p in (8, 12, 16, 20, 40, 80):
            gaps, proofs, start = [], 0, time.process_time()
            for _ in range(10):
                times = rng.uniform(1, 20, p)
                send, receive = (
                    (rng.uniform(0.2, 2, 2)) if links == "equal" else rng.uniform(0, 2, (2, p))
                )
                if links == "own, one way":
                    receive = 0.0
                T = float(rng.uniform(1, 3) * p * (np.mean(send) + np.mean(receive)))
                plan = hs.max_tasks(T, times, send, receive)
                gaps.append(plan.gap)
                proofs += plan.optimal
            print(
                f"  {links:14} p = {p:3} {np.mean(gaps):8.3%} {proofs:3}/10"
                f" {(time.process_time() - start) / 10:6.2f}",
                flush=True,
            )

    print("stacks, messages both ways, a time in which workers do 0 to 20 tasks")
    for rows in (1_000, 10_000):
        times = rng.uniform(1, 20, (rows, 16))
        begin, start = time.perf_counter(), time.process_time()
        stack = hs.max_tasks(20.0, times, 0.4, 0.3)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - start
        print(
            f"  {rows:6} platforms of 16 workers: {seconds:.2f} s, {cpu / rows * 1e3:.3f} ms of CPU"
            f" time each, {stack.optimal.mean():.1%} proven optimal"
        )

    print("min_time(100), 16 workers, messages both ways: CPU seconds")
    times = rng.uniform(1, 20, 16)
    for receive in (0.3, rng.uniform(0.1, 0.5, 16)):
        start = time.process_time()
        least = hs.min_time(100, times, 0.4, receive)
        print(f"  {time.process_time() - start:.2f} (gap {least.gap:.3%})")


if __name__ == "__main__":
    main()
