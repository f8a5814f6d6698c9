"""Numbers of the 2001 paper, reproduced: its examples, and runs of figures 7 and 10.

`hetsched reproduce static2001` prints them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._base.table import table
from ..planners.distribute import distribute
from ..planners.factor import FactorPlan
from ..planners.lu_pattern import lu_pattern
from ..planners.partition import Partition, partition
from ..planners.tasks import max_tasks
from ..platform import Platform
from ..runners.pool import Pool
from ..trace import Trace
from .claims import Claim, Study
from .static2001_draws import drawn_claims

TIMES = (3, 5, 8)
AREAS = (0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3)
#: The distribution of figure 4 in blocks, the step of figure 7, and the slice of figure 10.
BLOCKS, STEP, SLICE = 78, 33, 10
#: Rows of the paper's tables: counts and time of algorithm 2; f in a number of columns, and where
#: the last of them starts.
TABLE1 = ("39 23 14 117", "40 23 14 120", "40 24 14 120")
TABLE2 = (
    "1.05 1.2 1.54 2.12 2.9 4 5.9 9",
    "2.1 2.28 2.56 2.94 3.5 4.38 5.76",
    "3.18 3.38 3.66 4 4.58 5.5",
    "4.28 4.48 4.78 5.2 5.88",
    "5.38 5.6 5.98 6.5",
    "6.5 6.8 7.28",
    "7.7 8.1",
    "9",
)
CUTS2 = (
    "0 0 0 0 0 0 0 0",
    "1 2 2 3 3 4 5",
    "2 3 4 4 5 6",
    "3 4 5 6 7",
    "4 5 6 7",
    "5 6 7",
    "6 7",
    "7",
)
_FIGURE8 = "3 2.5 2 2 1.8 1.67 1.71 1.87 1.67 1.6"


class Run(NamedTuple):
    """An emulated LU factorisation: makespans in seconds, and update times in the paper's unit.

    updates has, for each step and worker, how long it updated.
    """

    predicted: float
    measured: float
    updates: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Static2001(Study):
    """The printed numbers of the 2001 paper, beside ours.

    Attributes
    ----------
    figure7 : dict of str to Run
        78 block columns on t = (3, 5, 8): "contiguous", the distribution that is right for
        products, and "pattern".
    figure10 : dict of str to Run
        Ten block columns: "pattern" and "cyclic".
    """

    figure7: dict[str, Run]
    figure10: dict[str, Run]

    heading = "figure: number"

    def claims(self) -> list[Claim]:
        """Numbers of the text, of tables 1 and 2 and of figures 4 to 23, and why some differ.

        Only numbers that can be computed are included.
        """
        counts = [distribute(n, TIMES) for n in (BLOCKS, SLICE)]
        averages = " ".join(f"{distribute(n, TIMES).makespan / n:.3g}" for n in range(1, SLICE + 1))
        pattern, cyclic, blocks = (
            lu_pattern(n, TIMES, method=m)
            for n, m in ((10, "pattern"), (10, "cyclic"), (78, "contiguous"))
        )
        left = np.bincount(blocks.owner[STEP:], minlength=3) * TIMES
        costs = {
            name: partition(AREAS, name).cost for name in ("columns", "kalinov-lastovetsky", "rows")
        }
        around = partition(AREAS, "contiguous", (10, 10)).cost / 10
        best = partition(AREAS)
        one = max_tasks(28, [5, 9], 1)
        fastest = max_tasks(28, [5, 9], 1, method="fastest")
        three = max_tasks(118, [4, 5, 9], 1)

        def numbers(values: Iterable[float]) -> str:
            return " ".join(f"{value:.4g}" for value in values)

        rates = [1 / t for t in TIMES]
        first = [int(BLOCKS * rate / sum(rates)) for rate in rates]
        steps = [distribute(n, TIMES).counts.tolist() for n in range(sum(first), BLOCKS + 1)]
        rows = [
            [partition(AREAS[:q], "columns", columns=c) for q in range(c, len(AREAS) + 1)]
            for c in range(1, len(AREAS) + 1)
        ]
        columns = partition(AREAS, "columns")
        kaddoura, recursive = partition(AREAS, "kaddoura"), partition(AREAS, "recursive")
        return [
            Claim("Table 1: the start of algorithm 2", "39 23 14", numbers(first)),
            *(
                Claim(
                    f"Table 1: {sum(counts)} chunks, counts and time",
                    printed,
                    numbers([*counts, _longest(counts)]),
                )
                for counts, printed in zip(steps, TABLE1, strict=True)
            ),
            Claim("4: 78 chunks, counts", "40 24 14", numbers(counts[0].counts)),
            Claim("6: 10 chunks, counts", "5 3 2", numbers(counts[1].counts)),
            Claim("7: updates after block 33, times", "21 120", numbers(left[:2])),
            Claim(
                "8: average cost of 1 to 10 chunks",
                _FIGURE8,
                averages,
                "1.875 is cut off, the others are rounded",
                corrected=(_FIGURE8.replace("1.87 ", "1.88 "), averages),
            ),
            Claim(
                "10: owners",
                "3 2 1 1 2 1 3 1 2 1",
                " ".join(str(w + 1) for w in pattern.owner.tolist()),
            ),
            Claim(
                "10: updates by the algorithm, steps 1 to 9",
                "15 15 12 10 9 8 6 5 3",
                numbers(pattern.step_costs),
            ),
            Claim(
                "10: updates cyclic, steps 1 to 9",
                "24 24 16 16 16 8 8 8 3",
                numbers(cyclic.step_costs),
            ),
            *(
                Claim(
                    f"Table 2: half perimeters in {c} column{'s' if c > 1 else ''}",
                    printed,
                    numbers(map(_in_its_box, plans)),
                )
                for c, (plans, printed) in enumerate(zip(rows, TABLE2, strict=True), 1)
            ),
            *(
                Claim(
                    f"Table 2: areas before the last of {c} columns",
                    printed,
                    numbers(map(_before_the_last, plans)),
                )
                for c, (plans, printed) in enumerate(zip(rows, CUTS2, strict=True), 1)
                if c > 1
            ),
            Claim("16: areas in each column", "3 3 2", numbers(map(len, columns.columns))),
            Claim(
                "Table 2, 16: columns",
                "5.5",
                f"{costs['columns']:.4g}",
                f"not the least: {best.cost:.4g}",
            ),
            Claim("17: Kalinov and Lastovetsky", "6", f"{costs['kalinov-lastovetsky']:.4g}"),
            Claim(
                "17: horizontal slices",
                "8",
                f"{costs['rows']:.4g}",
                "p + 1: a misprint",
                corrected=(f"{len(AREAS) + 1}", f"{costs['rows']:.4g}"),
            ),
            Claim(
                "19: Crandall and Quinn, steps of recursion", "3", f"{_depth(recursive.floorplan)}"
            ),
            Claim(
                "19: Crandall and Quinn, cost", "", f"{recursive.cost:.4g}", "the paper prints none"
            ),
            Claim(
                "3.2.6: Kaddoura, Ranka and Wang refine it",
                "",
                f"{kaddoura.cost:.4g}",
                "our reading, which is never above Crandall and Quinn: the paper says no more",
            ),
            Claim("18: contiguous blocks", "8.2", f"{around:.4g}"),
            Claim("4.3.1: T = 28, t = (5, 9), tasks", "8", f"{one.tasks}"),
            Claim("4.3.1: the same, fastest first", "7", f"{fastest.tasks}"),
            Claim("23: T = 118, t = (4, 5, 9), tasks of each", "29 23 13", numbers(three.counts)),
            Claim(
                "23: sigma(1), sigma(2), sigma(3)",
                "2 3 1",
                numbers(np.argsort(three.send_order) + 1),
            ),
            *drawn_claims(),
        ]

    def tables(self) -> str:
        """Figures 7 and 10 as measured on emulated workers."""
        lines = [
            f"Figure 7, measured: time of the updates in step {STEP} of {BLOCKS}, workers of"
            " cycle-times 3, 5, 8"
        ]
        rows = [
            (f"  {name}", *(f"{value:.1f}" for value in run.updates[STEP - 1]))
            for name, run in self.figure7.items()
        ]
        lines.append(table(rows, "<>", (14, 6)))
        lines += [
            "",
            (
                "Figure 10, measured: time of the updates of each step,"
                " the slowest worker's, and the sum"
            ),
        ]
        rows = []
        for name, run in self.figure10.items():
            steps = [max(step) for step in run.updates[: SLICE - 1]]
            rows.append((f"  {name}", *(f"{value:.1f}" for value in (*steps, sum(steps)))))
        lines.append(table(rows, "<>", (14, 5)))
        rows = [("makespans", "predicted", "measured", "")]
        for figure, runs in (("7", self.figure7), ("10", self.figure10)):
            for name, run in runs.items():
                off = run.measured / run.predicted - 1
                rows.append(
                    (
                        f"  {figure}, {name}",
                        f"{run.predicted:.4f} s",
                        f"{run.measured:.4f} s",
                        f"{off:+.2%}",
                    )
                )
        lines += ["", table(rows, "<>")]
        return "\n".join(lines)


def drawn_partitions() -> list[tuple[str, Partition]]:
    """The partitions in figures 12 to 15 and 19, with titles.

    The areas of figure 19 are the paper's; it has none for the other figures.
    """
    thirteen = [1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8]
    clusters = [k // 3 for k in range(12)]
    return [
        ("12: thirteen workers", partition(thirteen)),
        ("13: the same in columns", partition(thirteen, "columns")),
        ("14: four clusters of three", partition(thirteen[1:], groups=clusters, group_cost=10.0)),
        ("15: twelve areas in three columns", partition(thirteen[1:], "columns", columns=3)),
        ("19: recursive", partition(AREAS, "recursive")),
    ]


def _longest(counts: list[int]) -> float:
    return max(count * t for count, t in zip(counts, TIMES, strict=True))


def _in_its_box(plan: Partition) -> float:
    """Half perimeters of columns of the first areas, in the box of height 1 that they fill.

    They are not scaled to a square. Each column costs its height; the rest of the square's cost
    shrinks with the width.
    """
    count = len(plan.columns)
    return count + sum(AREAS[: len(plan.areas)]) * (plan.cost - count)


def _before_the_last(plan: Partition) -> int:
    return len(plan.areas) - len(plan.columns[-1])


def _depth(floorplan: tuple[int, ...]) -> int:
    """Number of levels of cuts."""
    depths: list[int] = []
    for entry in floorplan:
        if entry < 0:
            depths.append(1 + max(depths.pop(), depths.pop()))
        else:
            depths.append(0)
    return depths[0]


def reproduce_static2001(seconds: float = 1.5) -> Static2001:
    """Plan the 2001 paper's examples, and factor matrices on emulated workers (figures 7 and 10).

    Each factorisation should take this many seconds.
    """
    runs = {
        (blocks, name): _factored(blocks, width, name, seconds)
        for blocks, width, names in (
            (BLOCKS, 8, ("contiguous", "pattern")),
            (SLICE, 40, ("pattern", "cyclic")),
        )
        for name in names
    }
    return Static2001(
        *(
            {name: run for (b, name), run in runs.items() if b == blocks}
            for blocks in (BLOCKS, SLICE)
        )
    )


def _factored(blocks: int, width: int, owner: str, seconds: float) -> Run:
    """Factor a random matrix of this many block columns.

    Without look-ahead, the updates of a worker in a step follow each other.
    """
    n, platform = blocks * width, Platform.star(TIMES)
    matrix = np.random.default_rng(0).standard_normal((n, n))
    with Pool(platform, emulate=True) as pool:
        scale = seconds / pool.plan_lu(n, n, owner=owner, block=width, look_ahead=False).makespan
    with Pool(platform, emulate=True, time_scale=scale) as pool:
        plan = pool.plan_lu(n, n, owner=owner, block=width, look_ahead=False)
        _, trace = pool.lu_factor(matrix, owner=plan, trace=True)
    return Run(plan.makespan * scale, trace.makespan, _update_times(plan, trace, scale))


def _update_times(plan: FactorPlan, trace: Trace, scale: float) -> tuple[tuple[float, ...], ...]:
    """Time from the first start to the last end of each worker's updates of a step.

    The unit is an update by a worker of cycle-time 1.
    """
    steps, p = len(plan.step_times), len(plan.names)
    tasks = plan.tasks[plan.tasks["panel"] != plan.tasks["block"]]
    unit = np.full(steps, np.inf)
    unit[tasks["panel"]] = tasks["flops"] * scale / 1e9
    panel_of = {
        plan.label(k, j): k
        for k, j in zip(tasks["panel"].tolist(), tasks["block"].tolist(), strict=True)
    }
    first, last = np.full((steps, p), np.inf), np.zeros((steps, p))
    for event in trace.events:
        if event.what in panel_of:
            k, w = panel_of[event.what], event.worker
            first[k, w], last[k, w] = min(first[k, w], event.start), max(last[k, w], event.end)
    times = (
        np.where(np.isfinite(first), last - np.where(np.isfinite(first), first, 0.0), 0.0)
        / unit[:, None]
    )
    return tuple(map(tuple, times.tolist()))
