"""Exact profiles against a yardstick: numpy.sort of 5 million random doubles in the same run.
Fastest of five."""

from __future__ import annotations

from functools import partial

import numpy as np
from common import least, parser, print_machine

import hetsched as hs

P, N = 64, 10_000


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    rng = np.random.default_rng(0)
    values = rng.random(5_000_000)
    yardstick = least(partial(np.sort, values))
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
        seconds = least(partial(hs.distribute_profile, N, table))
        ratio = yardstick / seconds
        print(f"  {name:30} {seconds * 1e3:8.2f} ms  ({ratio:.1f} times faster than the sort)")

    big = rng.uniform(1.0, 4.0, 100_000)
    stack = rng.uniform(1.0, 4.0, (100_000, 8))
    others = {
        "distribute, p = 1e5, n = 1e15": partial(hs.distribute, 10**15, big),
        "distribute, 100 000 rows of 8": partial(hs.distribute, 1000, stack),
        "lu_pattern, n = 1e6, p = 64": partial(hs.lu_pattern, 10**6, big[:64]),
    }
    for name, call in others.items():
        print(f"{name:32} {least(call) * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
