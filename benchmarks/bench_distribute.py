"""Time of `distribute` for many workers beside numpy.sort of as many doubles in the same run: CPU
time, medians of turns.

NumPy sorts with AVX-512 or AVX2 where there is one, at some 5 ns a double: to read and write an
array of doubles a few times is as much. What the C function takes is shown by itself; the rest is
Python's.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np

import hetsched as hs
from hetsched._engine import allocate
from hetsched.machine.topology import topology

#: hs.distribute's time over numpy.sort's, at most.
TARGET = 10.0


def ratios(
    functions: dict[str, Callable[[], object]], rounds: int
) -> dict[str, tuple[float, float]]:
    """Median CPU seconds, and the median over the rounds of the CPU time over that of the first."""
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.process_time()
            function()
            taken[name].append(time.process_time() - start)
    first = next(iter(taken.values()))
    return {
        name: (
            statistics.median(own),
            statistics.median(a / b for a, b in zip(own, first, strict=True)),
        )
        for name, own in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    given = parser.parse_args()
    host = topology()
    print(
        f"{host.model or platform.machine()}, {host.worth} workers on {host.cpus} of {host.online}"
        f" cpus; hetsched {hs.__version__}, Python {platform.python_version()}, NumPy"
        f" {np.__version__}"
    )
    p, n = 10**5, 10**15
    rng = np.random.default_rng(5)
    kinds = {
        "uniform": rng.uniform(1, 10, p),
        "of six decades": 10 ** rng.uniform(-3, 3, p),
        "integers up to 9, all tie": rng.integers(1, 10, p).astype(float),
    }
    for kind, times in kinds.items():
        print(f"\nn = {n:.0e}, p = {p:.0e}, cycle-times {kind}")
        functions: dict[str, Callable[[], object]] = {
            "numpy.sort": lambda times=times: np.sort(times),  # type: ignore[misc]
            "hs_distribute": lambda times=times: allocate.distribute(n, times),  # type: ignore[misc]
            "hs.distribute": lambda times=times: hs.distribute(n, times),  # type: ignore[misc]
        }
        for name, (seconds, ratio) in ratios(functions, given.rounds).items():
            goal = (
                f"  target {TARGET:g}  {'met' if ratio <= TARGET else 'MISSED'}"
                if name == "hs.distribute"
                else ""
            )
            print(f"  {name:16} {1e3 * seconds:8.2f} ms  {ratio:6.1f} x numpy.sort{goal}")


if __name__ == "__main__":
    main()
