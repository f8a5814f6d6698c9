"""Tasks over one bus: tasks lost against the optimum, on average over random instances; then gaps
where no optimum is known."""

from __future__ import annotations

import time

import numpy as np
from common import parser, print_machine

import hetsched as hs
from hetsched.planners import task_orders


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    rng = np.random.default_rng(2001)
    print("200 instances, p = 2 .. 7, messages both ways: tasks lost on average (at most)")
    lost: dict[str, list[int]] = {
        "paper": [],
        "fastest": [],
        "alternation": [],
        "prices": [],
        "best": [],
    }
    cpu = 0.0
    for _ in range(200):
        p = int(rng.integers(2, 8))
        times, (send, receive) = rng.uniform(1, 10, p), rng.uniform(0.2, 2, 2)
        T = float(rng.uniform(1, 6) * p * (send + receive))
        start = time.process_time()
        plan = hs.max_tasks(T, times, send, receive)
        cpu += time.process_time() - start
        weights = task_orders.engine.task_positions(
            T, times, np.full(p, send), np.full(p, receive), p
        )
        columns, tubes, best = task_orders.engine.assign_axial(weights)
        assert plan.optimal
        slots = task_orders._slots(T, send, receive, p)
        found = task_orders._with_return(T, times, send, receive, slots, "best")
        _, columns, tubes = task_orders.priced(weights, found.tasks)
        lost["alternation"].append(best - found.tasks)
        lost["prices"].append(
            best - max(found.tasks, int(weights[np.arange(p), columns, tubes].sum()))
        )
        for method in ("paper", "fastest", "best"):
            lost[method].append(best - hs.max_tasks(T, times, send, receive, method).tasks)
    for name, values in lost.items():
        print(f"  {name:12} {np.mean(values):6.3f} ({max(values)})")
    print(f"  best: {cpu / 200 * 1e3:.2f} ms of CPU time each")

    print("more slaves, 10 instances each: mean gap, share proven optimal, CPU seconds each")
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


if __name__ == "__main__":
    main()
