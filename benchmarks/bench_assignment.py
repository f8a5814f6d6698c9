"""hs.assign against scipy.optimize.linear_sum_assignment: CPU time of the fastest run. The two take
turns."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from common import parser, print_machine, seconds_each
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import hetsched as hs


def instances(n: int) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(n)
    points, others = rng.random((2, n, 2))
    return {
        "uniform": rng.random((n, n)),
        "integers < 10": rng.integers(0, 10, (n, n)).astype(float),
        "integers < 100": rng.integers(0, 100, (n, n)).astype(float),
        "a_i b_j": np.outer(rng.random(n), rng.random(n)),
        "a_i b_j, integers": (
            np.outer(rng.integers(1, n + 1, n), rng.integers(1, n + 1, n)).astype(float)
        ),
        "distances": np.hypot(*(points[:, None] - others[None]).transpose(2, 0, 1)),
        "a_i + b_j": np.add.outer(rng.random(n), rng.random(n)),
        "all equal": np.ones((n, n)),
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("sizes", type=int, nargs="*", default=[10, 100, 1000, 4000])
    sizes = options.parse_args().sizes
    print_machine("SciPy")
    for n in sizes:
        print(
            f"n = {n:4}                 hetsched      SciPy   SciPy / hetsched   difference of the"
            " optima"
        )
        for name, costs in instances(n).items():
            repeats, rounds = max(1, min(500, 300_000 // n**2)), 1 if n > 2000 else 5
            cpu = partial(seconds_each, calls=repeats, clock=time.process_time)
            pairs = [
                (cpu(hs.assign, costs), cpu(linear_sum_assignment, costs)) for _ in range(rounds)
            ]
            own, scipys = (min(times) for times in zip(*pairs, strict=True))
            found = hs.assign(costs)
            optimum = costs[linear_sum_assignment(costs)].sum() if n < 2000 else found.bound
            off = found.cost - optimum
            print(
                f"  {name:18} {own * 1e3:9.4g} ms {scipys * 1e3:7.4g} ms {scipys / own:10.2f}"
                f" {off:20.2g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
