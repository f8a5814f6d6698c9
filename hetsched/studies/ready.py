"""Parameter studies that are available by name, one for each paper: `hetsched study --list`.

Each call draws one random platform from its seed and returns one row for each method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import datasets
from ..planners.layers import layers_star
from ..planners.partition import partition
from ..planners.ring import slice_ring
from ..planners.star import PAPER, plan_product
from .layers_star import random_star

Rows = list[dict[str, Any]]
_PARTITIONS = ("columns", "rows", "recursive", "kalinov-lastovetsky", "interval", "nonrectangular")
_MODES = ("scss", "sccs", "pccs", "pcss")
_LAYERS = 1000


class Ready(NamedTuple):
    """The arguments of `study`, and one line that says what is compared."""

    what: str
    function: Callable[..., Rows]
    grid: Mapping[str, Sequence[Any]]
    repeats: int


def ppopp2008(ratio: float, columns: int, seed: int) -> Rows:
    """The seven methods of the 2008 paper on eight random workers.

    Their speeds, links and memory are between the usual ones of its experiments and `ratio` times
    worse. C has 100 rows and this many columns of blocks.
    """
    usual = datasets.ppopp2008("real2007").workers[0]
    assert usual.memory is not None
    platform = datasets.random(
        "uniform",
        8,
        seed=seed,
        ratio=ratio,
        cycle_time=usual.cycle_time,
        link_costs=(usual.link_cost, ratio * usual.link_cost),
        memory=(int(usual.memory / ratio), usual.memory),
    )
    plans = {method: plan_product(100, columns, 100, platform, method) for method in PAPER}
    least = min(plan.makespan for plan in plans.values())
    return [
        {
            "method": method,
            "makespan": plan.makespan,
            "relative": plan.makespan / least,
            "bound": plan.lower_bound,
            "enrolled": len(plan.enrolled),
        }
        for method, plan in plans.items()
    ]


def static2001(kind: str, p: int, seed: int) -> Rows:
    """Cost of partitions of the square among random workers over the lower bound.

    The bound is two times the sum of the sides of squares of these areas.
    """
    areas = datasets.random(kind, p, seed=seed).speeds
    rows = []
    for method in _PARTITIONS:
        plan = partition(areas, method)
        rows.append(
            {
                "method": method,
                "cost": plan.cost,
                "bound": plan.lower_bound,
                "ratio": plan.cost / plan.lower_bound,
            }
        )
    return rows


def rings(work: float, p: int, seed: int) -> Rows:
    """How many of p random workers with random links take part in an iteration on a ring.

    work is the work per volume. The heuristic of the 2003 paper is compared with the best ring.
    """
    platform = datasets.random("uniform", p, seed=seed, topology="complete", link_costs=(0.1, 1.0))
    plans = {
        method: slice_ring(platform, work=work, volume=1.0, method=method)
        for method in ("greedy", "exact")
    }
    best = plans["exact"].makespan
    return [
        {
            "method": method,
            "makespan": plan.makespan,
            "relative": plan.makespan / best,
            "enrolled": len(plan.ring),
        }
        for method, plan in plans.items()
    ]


def layers(p: int, seed: int) -> Rows:
    """The four modes of communication of layers on a star, by the paper's rule and exactly.

    The star is as in section 6.1 of the paper on layer based partition, with N = 1000.
    """
    cycle_times, link_costs = random_star(p, seed)
    rows = []
    for mode in _MODES:
        for method in ("paper", "exact"):
            plan = layers_star(_LAYERS, cycle_times, link_costs, mode, method)
            rows.append(
                {
                    "mode": mode,
                    "method": method,
                    "makespan": plan.makespan,
                    "bound": plan.lower_bound,
                    "relative": plan.makespan / plan.lower_bound,
                    "volume": plan.volume,
                }
            )
    return rows


#: The studies by name.
READY = {
    "static2001": Ready(
        "cost of partitions over the lower bound, by method, workers and distribution of speeds",
        static2001,
        {"kind": ("equal", "uniform", "lognormal", "two-kinds", "zipf"), "p": (4, 8, 16, 32)},
        10,
    ),
    "rings": Ready(
        "workers in the best ring, and the heuristic over the best ring, by work per volume",
        rings,
        {"work": (1.0, 3.0, 10.0, 30.0, 100.0), "p": (4, 8, 12)},
        10,
    ),
    "ppopp2008": Ready(
        "makespans of the seven methods on stars of equal (ratio 1) to very unequal workers",
        ppopp2008,
        {"ratio": (1.0, 2.0, 4.0, 8.0), "columns": (400, 800)},
        10,
    ),
    "layers": Ready(
        "layers on a star: the paper's rule against the exact method, by mode and workers",
        layers,
        {"p": (2, 4, 8, 16, 32, 64)},
        10,
    ),
}
