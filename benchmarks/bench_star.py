"""The one-port simulator in messages per second, and the planning of products on a star. CPU time,
the least of five runs."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from common import least, parser, print_machine

import hetsched as hs
from hetsched._engine.star import Star
from hetsched.planners.star import METHODS as ALL

METHODS = [method for method in ALL if method != "exact"]  # which is for small instances
ORDERS = ("in turn", "on demand", "", "listed", "starving", "lagging")  # of hs_star_order


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    rng = np.random.default_rng(1)
    nobody = np.zeros(0, np.int32)
    print("million messages per second, chunks given, log written")
    print(f"{'workers':>8}" + "".join(f"{order:>12}" for order in ORDERS if order))
    for p in (2, 8, 20, 100):
        costs = rng.uniform(1, 4, p)
        times = 50 * rng.uniform(1, 4, p)
        memory = rng.integers(100, 2000, p)
        shape = 300, 600, 400
        platform = hs.Platform.star(times, link_costs=costs, memory=memory)
        plan = hs.plan_product(*shape, platform, "oddoml")
        star, served = Star(shape, times, costs, memory), plan.messages["worker"].copy()
        rates = []
        for order, name in enumerate(ORDERS):
            if name:
                given = (plan.chunks, order, served if name == "listed" else nobody, False)
                seconds = least(partial(star.simulate, *given), clock=time.process_time)
                rates.append(len(plan.messages) / seconds / 1e6)
        print(f"{p:8}" + "".join(f"{rate:12.1f}" for rate in rates), flush=True)

    print("\nseconds of planning; makespan over the lower bound")
    print(f"{'r, s, t':>18}{'workers':>8}" + "".join(f"{method:>16}" for method in METHODS))
    for shape, p in (
        ((100, 1000, 100), 8),
        ((100, 4000, 100), 20),
        ((1000, 1000, 1000), 20),
        ((100, 1000, 100), 100),
    ):
        costs = rng.uniform(1, 4, p)
        times = 0.15 * rng.uniform(1, 4, p)
        memory = rng.integers(1000, 20000, p)
        platform, cells = hs.Platform.star(times, link_costs=costs, memory=memory), []
        for method in METHODS:
            start = time.process_time()
            plan = hs.plan_product(*shape, platform, method)
            cells.append(
                f"{time.process_time() - start:9.3f} {plan.makespan / plan.lower_bound:6.3f}"
            )
        print(f"{shape!s:>18}{p:8}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
