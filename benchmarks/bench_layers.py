"""Layers on a star: time of the exact planner beside a table in NumPy and a MILP in HiGHS; what a
search over orders gains.

CPU time of this process, the least of three runs. Stars as in section 6.1 of the paper; links are
1, 30 and 100 times as slow, and slower still for a larger n, so that the messages stay as long
beside the work. One message after the other. `--quick` is a short run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from common import least, parser, print_machine
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

import hetsched as hs
from hetsched.studies.layers_star import random_star

Times = NDArray[np.float64]
MOST_TABLE = 3 * 10**8  # p n^2 that NumPy is asked for
MOST_MILP = 10**4  # n; beyond, HiGHS's tolerances are too coarse for whole numbers


def cpu_ms(call: Callable[[], object]) -> float:
    """Of the fastest of three runs, or of one that takes long."""
    return 1e3 * least(call, 3, clock=time.process_time, enough=2.0)


def per_layer(n: int, cycle: Times, link: Times) -> tuple[Times, Times]:
    return n**2 * cycle, 2 * n * link


def table(n: int, work: Times, message: Times) -> float:
    """Mode sccs, for the order given: F(m) = min over k of max(hold k, message k + F'(m - k))."""
    k = np.arange(n + 1)
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    for a, b in zip(work[::-1], message[::-1], strict=True):
        least = np.array(
            [
                np.maximum(k[: m + 1] * (a + b), k[: m + 1] * b + least[m::-1]).min()
                for m in range(n + 1)
            ]
        )
    return float(least[n])


def integer_program(n: int, work: Times, message: Times, limit: float) -> float:
    """The same as a MILP, solved by HiGHS to a gap of 1e-9 or until the time is over; infinite if
    it has nothing then."""
    p = len(work)
    rows = np.tril(np.tile(message, (p, 1)), -1) + np.diag(work + message)
    ends = LinearConstraint(np.hstack((rows, -np.ones((p, 1)))), -np.inf, 0)
    sums = LinearConstraint(np.append(np.ones(p), 0.0)[None], n, n)
    cost, whole = np.append(np.zeros(p), 1.0), np.append(np.ones(p), 0.0)
    found = milp(
        cost,
        constraints=[ends, sums],
        integrality=whole,
        bounds=Bounds(0, np.append(np.full(p, float(n)), np.inf)),
        options={"time_limit": limit, "mip_rel_gap": 1e-9},
    )
    return np.inf if found.x is None else float(found.fun)


def speed(sizes: list[int], workers: list[int], limit: float) -> None:
    print(
        '\nmode "sccs", method "exact": CPU ms; the table in NumPy; HiGHS (time limit), and its'
        " excess over ours"
    )
    for p in workers:
        for n in sizes:
            for slow in (1, 30, 100):
                cycle, link = random_star(p, 0)
                link *= slow * n / 1000
                work, message = per_layer(n, cycle, link)
                plan = hs.layers_star(n, cycle, link, "sccs")
                row = f"{cpu_ms(partial(hs.layers_star, n, cycle, link, 'sccs')):9.2f}"
                if p * n**2 <= MOST_TABLE:
                    assert abs(table(n, work, message) / plan.makespan - 1) < 1e-12
                    row += f"   table {cpu_ms(partial(table, n, work, message)):9.1f}"
                else:
                    row += f"   table {'-':>9}"
                if n <= MOST_MILP:
                    start = time.process_time()
                    found = integer_program(n, work, message, limit)
                    spent = time.process_time() - start
                    row += f"   HiGHS {1e3 * spent:9.1f} ({found / plan.makespan - 1:+.1e})"
                proof = "proven" if plan.scope else "not proven"
                print(
                    f"  p = {p:4}, n = {n:<10} links x {slow:<4} {row}   {proof} for its order",
                    flush=True,
                )


def orders(workers: list[int], seeds: int) -> None:
    print(
        '\nmode "sccs", n = 1000, links x 100: makespan over the lower bound, means; CPU ms of the'
        " search"
    )
    print(f"{'p':>6}{'as given':>12}{'fastest link first':>22}{'best':>10}{'proven':>10}{'ms':>10}")
    for p in workers:
        rows, proofs, spent = [], 0, []
        for seed in range(seeds):
            cycle, link = random_star(p, seed)
            link *= 100
            up = np.argsort(link)
            start = time.process_time()
            best = hs.layers_star(1000, cycle, link, "sccs", "best")
            spent.append(time.process_time() - start)
            plain = [
                hs.layers_star(1000, cycle[i], link[i], "sccs").makespan for i in (np.arange(p), up)
            ]
            bound = min(best.lower_bound, hs.layers_star(1000, cycle, link, "sccs").lower_bound)
            rows.append([x / bound - 1 for x in (*plain, best.makespan)])
            proofs += best.optimal
        given, ascending, found = np.mean(rows, axis=0)
        proven, ms = f"{proofs}/{seeds}", 1e3 * np.mean(spent)
        print(f"{p:6}{given:12.3%}{ascending:22.3%}{found:10.3%}{proven:>10}{ms:10.1f}", flush=True)


def main() -> None:
    quick = parser(__doc__, quick=True).parse_args().quick
    print_machine("SciPy")
    speed(
        [100, 1000] if quick else [100, 1000, 10**5, 10**9],
        [4, 16] if quick else [4, 16, 100],
        2.0 if quick else 10.0,
    )
    orders([4, 8, 16] if quick else [4, 8, 12, 16, 20, 40, 100], 5 if quick else 10)


if __name__ == "__main__":
    main()
