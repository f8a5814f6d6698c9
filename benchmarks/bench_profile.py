"""Exact profiles against a yardstick: numpy.sort of 5 million random doubles in the same run.
Fastest of five."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import hetsched as hs

P, N = 64, 10_000


def fastest(function: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(0)
    values = rng.random(5_000_000)
    yardstick = fastest(lambda: np.sort(values))
    print(f"numpy.sort of 5 000 000 doubles  {yardstick * 1e3:8.2f} ms")

    x = np.arange(N + 1)
    speed = rng.uniform(0.5, 2.0, (P, 1))
    noisy = speed * x * rng.uniform(0.7, 1.3, (P, N + 1)) + 1.0
    tables = {
        "random": rng.random((P, N + 1)) + 1e-9,
        "increasing with noise": noisy,
        "increasing": speed * x + 1.0,
        "even numbers only": np.where(x % 2 == 0, rng.random((P, N + 1)) + 1e-9, np.inf),
        "multiples of 8 only": np.where(x % 8 == 0, noisy, np.inf),
        "alike": np.tile(rng.random(N + 1) + 1e-9, (P, 1)),
        "four values": rng.integers(1, 5, (P, N + 1)).astype(float),
    }
    print(f"distribute_profile, p = {P}, n = {N}")
    for name, table in tables.items():
        seconds = fastest(lambda table=table: hs.distribute_profile(N, table))  # type: ignore[misc]
        print(
            f"  {name:30} {seconds * 1e3:8.2f} ms  ({yardstick / seconds:.1f} times faster than the"
            " sort)"
        )

    big = rng.uniform(1.0, 4.0, 100_000)
    print(
        "distribute, p = 1e5, n = 1e15   "
        f" {fastest(lambda: hs.distribute(10**15, big)) * 1e3:8.2f} ms"
    )
    stack = rng.uniform(1.0, 4.0, (100_000, 8))
    print(
        "distribute, 100 000 rows of 8   "
        f" {fastest(lambda: hs.distribute(1000, stack)) * 1e3:8.2f} ms"
    )
    print(
        "lu_pattern, n = 1e6, p = 64     "
        f" {fastest(lambda: hs.lu_pattern(10**6, big[:64])) * 1e3:8.2f} ms"
    )


if __name__ == "__main__":
    main()
