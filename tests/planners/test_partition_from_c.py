"""hs_partition_best from a C program gives the plans of hetsched.partition, to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from c_tools import run, tool
from inputs import many

import hetsched as hs
from hetsched.planners.floorplan import METHODS

#: Reads lines of method, m, n, largest, columns, p, areas, weights; prints the plan of each.
PROGRAM = r"""
#include <hetsched.h>
#include <stdio.h>

enum { P = 32 };

int main(void)
{
    static double areas[P], weights[P], rects[12 * P];
    static int32_t workers[3 * P], plan[2 * P], order[P], start[P + 1];
    int method, largest, columns, p;
    long long m, n;
    while (scanf("%d %lld %lld %d %d %d", &method, &m, &n, &largest, &columns, &p) == 6) {
        for (int i = 0; i < p; i++) if (scanf("%la", &areas[i]) != 1) return 1;
        for (int i = 0; i < p; i++) if (scanf("%la", &weights[i]) != 1) return 1;
        hs_partition problem = {.p = p, .areas = areas, .method = method, .m = m, .n = n,
                                .largest = largest, .weights = weights, .columns = columns};
        hs_partition_plan found = {.plan = plan, .order = order, .column_start = start,
                                   .workers = workers, .rects = rects};
        hs_certificate c;
        hs_status status = hs_partition_best(&problem, NULL, NULL, &found, &c);
        if (status) return 2;
        printf("%d %a %a %d %d %d %d\n", found.method, c.value, c.bound, c.optimal, found.length,
               found.columns, found.pieces);
        printf("%s\n", c.scope);
        for (int k = 0; k < found.length; k++) printf("%d ", plan[k]);
        printf("\n");
        for (int q = 0; q < found.pieces; q++)
            printf("%d %a %a %a %a\n", workers[q], rects[4 * q], rects[4 * q + 1],
                   rects[4 * q + 2], rects[4 * q + 3]);
    }
    return 0;
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="shared libraries as Linux has them")
def test_the_same_plans(tmp_path):
    (tmp_path / "plans.c").write_text(PROGRAM, encoding="utf-8")
    words = run(sys.executable, "-m", "hetsched", "--cflags", "--libs").split()
    compiler = tool(os.environ.get("CC", "cc"))
    run(compiler, "-std=c11", tmp_path / "plans.c", "-o", tmp_path / "plans", *words)
    rng, lines, plans = np.random.default_rng(5), [], []
    numbers = {name: number for number, name in enumerate(METHODS)}
    for _ in range(many(400, 150)):
        method = str(rng.choice(METHODS))
        p = int(rng.integers(1, 5 if method in ("best", "nonrectangular") else 9))
        areas = rng.choice([rng.random(p), rng.integers(1, 4, p).astype(float)])
        weights = np.ones(p) if rng.random() < 0.5 else rng.uniform(0.5, 2.0, p)
        sides = (int(rng.integers(3, 60)), int(rng.integers(3, 60)))
        shape = sides if method == "contiguous" or rng.random() < 0.4 else None
        objective = "max" if p < 8 and rng.random() < 0.3 else "sum"
        columns = p if method == "columns" and shape is None and rng.random() < 0.3 else None
        plan = hs.partition(
            areas, method, shape, link_costs=weights, objective=objective, columns=columns
        )
        plans.append(plan)
        m, n = shape or (0, 0)
        reals = " ".join(float(x).hex() for x in [*plan.areas, *weights])
        head = (numbers[method], m, n, int(objective == "max"), columns or 0, p)
        lines.append(f"{' '.join(map(str, head))} {reals}\n")
    done = subprocess.run(
        [tmp_path / "plans"], input="".join(lines), capture_output=True, text=True, check=True
    )
    told = iter(done.stdout.splitlines())
    found_by = {**numbers, "search": len(numbers)}
    for plan in plans:
        method, cost, bound, optimal, _, columns, pieces = next(told).split()
        assert int(method) == found_by[plan.method]
        assert (float.fromhex(cost), float.fromhex(bound)) == (plan.cost, plan.bound)
        assert (bool(int(optimal)), int(columns)) == (plan.optimal, len(plan.columns))
        assert next(told) == plan.scope
        assert tuple(map(int, next(told).split())) == plan.floorplan
        rows = [next(told).split() for _ in range(int(pieces))]
        zones = [[int(worker), *map(float.fromhex, rect)] for worker, *rect in rows]
        assert zones == plan.pieces.tolist()
    assert next(told, None) is None
