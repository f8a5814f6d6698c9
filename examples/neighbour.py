"""Kernel ridge regression in NumPy, and the one line that makes it hold its own beside a busy
neighbour.

The program learns a function of 40 variables from samples: a Gaussian kernel (a product), a system
of equations, predictions (another product). NumPy's library splits each of them equally over the
cores, and so ends when that core ends on which another program runs. With `X = hs.asarray(X)` the
same program uses hetsched's pool, whose workers take tiles over from each other.

    python examples/neighbour.py [--neighbour] [--size N] [--rounds R]

Times each of the two, in turns, alone; with --neighbour also beside a program of its own that keeps
one core busy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import hetsched as hs

HOG = (
    "import os, sys\nif hasattr(os, 'sched_setaffinity'): os.sched_setaffinity(0,"
    " [int(sys.argv[1])])\nwhile True: pass"
)


def learn(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predictions at `new` by kernel ridge regression: plain NumPy, whatever kind of array X is."""
    width = 2.0 * X.shape[1]

    def kernel(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
        distances = (P * P).sum(1)[:, None] + (Q * Q).sum(1) - 2.0 * (P @ Q.T)
        return np.exp(-distances / width)

    K = kernel(X, X)
    weights = np.linalg.solve(K + 1e-3 * np.eye(len(X)), y)
    return np.asarray(kernel(new, X) @ weights)


@contextmanager
def neighbour(cpu: int) -> Iterator[None]:
    """A program that keeps one core busy, as long as the block lasts."""
    hog = subprocess.Popen([sys.executable, "-c", HOG, str(cpu)])
    try:
        time.sleep(0.5)
        yield
    finally:
        hog.kill()
        hog.wait()


def clocked(function: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Seconds, result; after a pause, for OpenBLAS's threads keep their cores busy for a while
    after a call."""
    time.sleep(0.25)
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def timed(
    X: np.ndarray, y: np.ndarray, new: np.ndarray, rounds: int
) -> tuple[list[float], list[float], float]:
    """Seconds of plain NumPy and of hs.asarray, in turns, and how far their results are apart."""
    plain, ours, apart = [], [], 0.0
    for _ in range(rounds):
        seconds, one = clocked(lambda: learn(X, y, new))
        plain.append(seconds)
        seconds, two = clocked(lambda: learn(hs.asarray(X), y, new))  # the one line
        ours.append(seconds)
        apart = max(apart, float(np.abs(one - two).max()))
    return plain, ours, apart


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--neighbour", action="store_true", help="also beside a program that keeps one core busy"
    )
    parser.add_argument(
        "--size", type=int, default=2000, help="samples to learn from (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="repetitions of each (default: %(default)s)"
    )
    given = parser.parse_args()

    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((given.size, 40)), rng.standard_normal((given.size, 40))
    y = np.sin(X[:, :20]) + X[:, 20:] ** 2
    learn(X[:300], y[:300], new), learn(hs.asarray(X[:300]), y[:300], new)  # the threads of both

    cpu = hs.topology().places[-1]
    print(
        f"kernel ridge regression, {given.size} samples, median (least, most) of {given.rounds},"
        " seconds"
    )
    print(f"{'':<34}{'plain NumPy':>22}{'hs.asarray':>22}{'ratio':>8}")
    for label in ("alone", "beside a neighbour")[: 1 + given.neighbour]:
        if label == "alone":
            plain, ours, apart = timed(X, y, new, given.rounds)
        else:
            with neighbour(cpu):
                plain, ours, apart = timed(X, y, new, given.rounds)
            label += f" on cpu {cpu}"
        cells = [f"{statistics.median(x):.3f} ({min(x):.3f}, {max(x):.3f})" for x in (plain, ours)]
        ratio = statistics.median(plain) / statistics.median(ours)
        print(f"{label:<34}{cells[0]:>22}{cells[1]:>22}{ratio:>8.2f}")
        assert apart < 1e-6, apart
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"load of the system over the last minute: {load:.2f}")


if __name__ == "__main__":
    main()
