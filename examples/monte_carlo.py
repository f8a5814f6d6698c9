"""Monte Carlo over one master and its slaves: the example of the 2001 paper, section 4.

Many equal, independent simulations, each with a seed of its own: how much of the square lies in the
quarter of a circle? First planned for slaves of known speeds, then run for real on this machine's
cores.

    python examples/monte_carlo.py [--simulations N] [--samples N]
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import hetsched as hs

SAMPLES = 20_000


def simulate(job: tuple[int, int]) -> float:
    """An estimate of pi from a seed and a number of samples."""
    seed, samples = job
    x, y = np.random.default_rng(seed).random((2, samples))
    return 4.0 * float(np.count_nonzero(x * x + y * y <= 1.0)) / samples


def main(simulations: int, samples: int) -> None:
    # The paper's slaves: 4, 5 and 9 ms per simulation, and 1 ms to send each of them its
    # parameters.
    plan = hs.min_time(simulations, cycle_times=[4, 5, 9], send=1)
    counts, served = plan.counts.tolist(), plan.send_order.tolist()
    print(
        f"planned: {counts} simulations, slaves served in the order {served}, {plan.makespan:g} ms"
    )

    jobs = [(seed, samples) for seed in range(simulations)]
    for order in ("plan", "demand"):
        estimates, trace = hs.map_tasks(simulate, jobs, order=order, progress=True, trace=True)
        mean, error = np.mean(estimates), np.std(estimates) / math.sqrt(len(estimates))
        counts = [
            sum(int(e.what.split()[0]) for e in trace.events if e.worker == w and e.what)
            for w in range(len(trace.workers))
        ]
        print(
            f"{order:6}: pi = {mean:.5f} +- {error:.5f}, simulations of each core {counts},"
            f" {trace.makespan:.2f} s"
        )


# the processes of the start methods "spawn" and "forkserver" import this file
if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Estimates of pi on the processes of this machine, by plan and on demand."
    )
    parser.add_argument(
        "--simulations", type=int, default=200, metavar="N", help="how many (default: 200)"
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=SAMPLES,
        metavar="N",
        help=f"points of each (default: {SAMPLES})",
    )
    main(**vars(parser.parse_args()))
