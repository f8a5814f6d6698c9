"""Layers on a mesh: time, linear programs and simplex iterations of each method beside SciPy's
linprog from scratch, and how far PMFT, the heuristic and the search are from the optimum.

CPU time of this process, the median over the meshes (section 6.2 of the paper). `--quick` is a
short run, `--exact` adds branch and bound, with a limit of 60 s for each mesh.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import numpy as np
from common import parser, print_machine
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

import hetsched as hs
from hetsched.studies.layers_mesh import random_mesh

METHODS = ("relaxed", "heuristic", "pmft", "neighbours")


def cpu(run: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def linprog_relaxed(plan: hs.MeshPlan) -> float:
    """The same program by SciPy, from scratch, its matrices included."""
    n, p, m = plan.n, len(plan.cycle_times), len(plan.links)
    tail, head = plan.links.T
    link, node = np.arange(m), np.arange(p)
    unit = 1.0 / (1.0 / (n * n * np.delete(plan.cycle_times, plan.source))).sum()

    def matrix(
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64], object]], rows: int
    ) -> coo_array:
        row, column = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        value = np.concatenate([np.broadcast_to(part[2], len(part[0])) for part in parts])
        return coo_array((value, (row, column)), shape=(rows, 2 * p + m + 1)).tocsr()

    upper = matrix(
        [
            (link, p + head, -1.0),
            (link, p + tail, 1.0),
            (link, 2 * p + link, 2 * n * plan.link_costs / unit),
            (m + node, np.full(p, 2 * p + m), -1.0),
            (m + node, p + node, 1.0),
            (m + node, node, n * n * plan.cycle_times / unit),
        ],
        m + p,
    )
    equal = matrix([(head, 2 * p + link, 1.0), (tail, 2 * p + link, -1.0), (node, node, -1.0)], p)
    right, most = np.zeros(p), np.full(2 * p + m + 1, np.inf)
    right[plan.source], most[plan.source], most[p + plan.source] = -n, 0.0, 0.0
    goal = (np.arange(2 * p + m + 1) == 2 * p + m).astype(float)
    found = linprog(
        goal,
        upper,
        np.zeros(m + p),
        equal,
        right,
        np.stack([np.zeros_like(most), most], 1),
        method="highs-ds",
    )
    return float(found.fun * unit)


def measure(size: int, meshes: int, exact: bool, limit: float) -> None:
    draw = random.Random(size).random
    methods = METHODS + ("milp",) * exact
    rows: dict[str, list[tuple[float, int, int, float]]] = {method: [] for method in methods}
    scipy, gaps = [], []
    for _ in range(meshes):
        mesh = random_mesh(size, draw)
        plans = {}
        for method in methods:
            seconds, plan = cpu(
                lambda m=method, own=mesh: hs.layers_mesh(1500, *own, method=m, budget=limit)
            )
            plans[method] = plan
            rows[method].append((seconds, plan.lp_solves, plan.iterations, plan.makespan))
        seconds, value = cpu(lambda plan=plans["relaxed"]: linprog_relaxed(plan))
        assert abs(value / plans["relaxed"].makespan - 1) < 1e-6
        scipy.append(seconds)
        gaps.append(plans[methods[-1]].gap)
    best = [
        min(rows[method][i][3] for method in methods if method != "relaxed") for i in range(meshes)
    ]
    least = [row[3] for row in rows["relaxed"]]
    print(
        f"\n{size} x {size}, {meshes} meshes; linprog from scratch:"
        f" {1e3 * statistics.median(scipy):.1f} ms for one program"
    )
    for method, row in rows.items():
        seconds, solves, iterations, values = zip(*row, strict=True)
        over = [
            value / other - 1
            for value, other in zip(values, best if method != "relaxed" else least, strict=True)
        ]
        print(
            f"  {method:10} {1e3 * statistics.median(seconds):9.1f} ms "
            f" {statistics.median(solves):6.0f} programs {statistics.median(iterations):8.0f}"
            f" iterations  over the best found: mean {statistics.mean(over):.2%}, largest"
            f" {max(over):.2%}",
            flush=True,
        )
    print(
        f"  gap of {methods[-1]}: mean {statistics.mean(gaps):.2%}, proven optimal"
        f" {sum(gap == 0 for gap in gaps)} of {meshes}"
    )


def main() -> None:
    options = parser(__doc__, quick=True)
    options.add_argument("--exact", action="store_true", help="with branch and bound")
    given = options.parse_args()
    print_machine("SciPy", "highspy")
    for size, meshes in ((3, 2), (5, 2)) if given.quick else ((5, 10), (7, 10), (9, 10), (20, 2)):
        if size < 20:
            measure(size, meshes, given.exact and size < 9, 60.0)
        else:
            large(size)


def large(size: int) -> None:
    """Without the search, which takes minutes there."""
    mesh = random_mesh(size, random.Random(size).random)
    for method in METHODS[:3]:
        seconds, plan = cpu(lambda m=method: hs.layers_mesh(1500, *mesh, method=m))
        print(
            f"\n{size} x {size} {method}: {seconds:.2f} s, {plan!r}"
            if method == "relaxed"
            else f"  {method}: {seconds:.2f} s, {plan!r}"
        )


if __name__ == "__main__":
    main()
