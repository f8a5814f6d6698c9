"""Cost of `partition` over the bound 2 sum sqrt(area) beside what it should be, and the time that
planning takes.

A figure is the mean over random platforms: speeds uniform in (1, 10), or lognormal with sigma 1.6;
or one platform of two classes. Times are medians, CPU and wall clock. `--draws 5 --quick` is a
short run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from common import parser, print_machine
from numpy.typing import NDArray

import hetsched as hs
from hetsched._engine import partition as engine

Areas = NDArray[np.float64]

#: speeds, workers, and methods with the mean ratio that each should have, if any.
RANDOM = (
    ("uniform", 8, {"columns": None, "nagamochi-abe": None, "interval": 1.019, "best": 1.0155}),
    ("uniform", 12, {"columns": None, "nagamochi-abe": None, "interval": 1.010, "best": 1.005}),
    ("uniform", 64, {"columns": None, "nagamochi-abe": None, "interval": 1.0015, "best": 1.001}),
    ("lognormal", 8, {"columns": None, "nagamochi-abe": None, "interval": None, "best": 1.018}),
    ("lognormal", 32, {"columns": None, "nagamochi-abe": None, "interval": None, "best": 1.004}),
)
CLASSES = (
    ("1 of 20, 1 of 1", [20.0, 1.0], {"columns": None, "nonrectangular": 1.02, "best": 1.02}),
    (
        "1 of 100, 3 of 1",
        [100.0, 1.0, 1.0, 1.0],
        {"columns": None, "nonrectangular": 1.012, "best": 1.012},
    ),
    (
        "32 of 20, 32 of 1",
        [20.0] * 32 + [1.0] * 32,
        {"columns": None, "nonrectangular": None, "best": None},
    ),
    (
        "1 of 20, 63 of 1",
        [20.0] + [1.0] * 63,
        {"columns": None, "nonrectangular": None, "best": None},
    ),
)


def draws(kind: str, p: int, count: int) -> list[Areas]:
    rng = np.random.default_rng(p)
    return [
        rng.uniform(1, 10, p) if kind == "uniform" else rng.lognormal(0, 1.6, p)
        for _ in range(count)
    ]


def ratio(areas: Areas, method: str) -> float:
    plan = hs.partition(areas, method)
    return plan.cost / float(2 * np.sqrt(plan.areas).sum())


def row(
    name: str, value: float, target: float | None, form: str = ".4f", error: float | None = None
) -> None:
    """Met is what is not above the target in its digits, three at least; error is the standard
    error of the mean."""
    spread = "" if error is None else f" +- {error:.4f}"
    goal = ""
    if target is not None:
        digits = max(3, len(f"{target:g}".partition(".")[2]))
        goal = f"  target {target:g}  {'met' if round(value, digits) <= target else 'MISSED'}"
    print(f"  {name:38} {value:10{form}}{spread:10}{goal}", flush=True)


def timed(function: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median CPU and wall time, in seconds."""
    cpu, wall = [], []
    for _ in range(rounds):
        start = time.process_time(), time.perf_counter()
        function()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return statistics.median(cpu), statistics.median(wall)


def ratios(count: int) -> None:
    print(f"\ncost / (2 sum sqrt(area)), mean over {count} random platforms")
    for kind, p, methods in RANDOM:
        for method, target in methods.items():
            found = [ratio(areas, method) for areas in draws(kind, p, count)]
            error = float(np.std(found) / np.sqrt(count))
            row(f"{kind}, p = {p}, {method}", statistics.mean(found), target, error=error)
    print("\ncost / (2 sum sqrt(area)), workers of two speeds")
    for name, speeds, methods in CLASSES:
        for method, target in methods.items():
            row(f"{name}, {method}", ratio(np.array(speeds), method), target)


def many(count: int) -> None:
    """Beyond 128 workers "best" tries some of the cuts of "interval"."""
    print(f"\np = 200: cost of best / cost of interval, the worst of {count} random platforms")
    for kind in ("uniform", "lognormal"):
        costs = [
            [hs.partition(areas, method).cost for method in ("best", "interval")]
            for areas in draws(kind, 200, count)
        ]
        row(f"{kind}, p = 200", max(best / interval for best, interval in costs), 1.0002, ".5f")


def matrices(count: int) -> None:
    print(
        f"\n24 x 24 cells, p = 16, uniform speeds: mean of the largest cells / ideal, {count}"
        " random platforms"
    )
    for method, target in (("columns", None), ("interval", 1.116), ("best", 1.116)):
        plans = (hs.partition(areas, method, (24, 24)) for areas in draws("uniform", 16, count))
        row(method, statistics.mean(plan.imbalance for plan in plans), target)
    print(
        f"\nspeeds drift by 5 % (normal), p = 8: moved fraction of the matrix, mean over {count}"
        " random platforms"
    )
    rng = np.random.default_rng(5)
    changes = [
        hs.partition(s).recut(s * np.exp(0.05 * rng.standard_normal(8)))
        for s in draws("uniform", 8, count)
    ]
    row("recut", statistics.mean(c.moved for c in changes), 0.025)
    row("nothing can move less than", statistics.mean(c.moved_bound for c in changes), None)
    row("a fresh partition", statistics.mean(c.fresh_moved for c in changes), None)
    row(
        "cost of recut / cost of fresh",
        statistics.mean(c.plan.cost / c.fresh.cost for c in changes),
        None,
    )


def times(quick: bool) -> None:
    print("\ntime, s: CPU, with the wall clock below it")
    for method, p, target, rounds in (
        ("guillotine", 12, 0.2, 5),
        ("guillotine", 15, 10.0, 1),
        ("interval", 128, 2.0, 3),
        ("best", 200, 5.0, 1),
        ("best", 400, 5.0, 1),
        ("best", 1000, 30.0, 1),
    ):
        if quick and p in (15, 1000):
            continue
        (areas,) = draws("uniform", p, 1)
        cpu, wall = timed(lambda areas=areas, method=method: hs.partition(areas, method), rounds)  # type: ignore[misc]
        row(f"{method}, p = {p}", cpu, target, ".3f")
        row("", wall, None, ".3f")

    p = 10**5 if quick else 10**6
    (areas,) = draws("uniform", p, 1)
    shares = areas / areas.sum()
    print(f"\np = {p}, ms: CPU, with the wall clock below it, and CPU time / numpy.sort's")
    yardstick = timed(lambda: np.sort(areas), 21)
    functions = {
        "numpy.sort": lambda: np.sort(areas),
        "numpy.argsort": lambda: np.argsort(areas),
        "hs_partition_columns": lambda: engine.partition_columns(shares, 1.0, p, p),
        "hs_partition_best": lambda: engine.partition_best(
            engine.Problem(method="columns"), shares
        ),
        "hs.partition, method columns": lambda: hs.partition(areas, "columns"),
        "the same with pieces and names": lambda: (
            (plan := hs.partition(areas, "columns")).pieces is plan.names
        ),
    }
    targets = {"hs_partition_columns": 10.0, "hs.partition, method columns": 15.0}
    for name, function in functions.items():
        cpu, wall = timed(function, 9)
        row(name, 1e3 * cpu, None, ".1f")
        row("", 1e3 * wall, None, ".1f")
        row("  / numpy.sort", cpu / yardstick[0], targets.get(name), ".1f")


def stacks(quick: bool) -> None:
    rows = 10_000 if quick else 100_000
    speeds = np.random.default_rng(16).lognormal(0, 1, (rows, 16))
    numbers = np.random.default_rng(17).random(10**6 if quick else 10**7)
    print(
        f"\n{rows} platforms of 16 workers at once, wall clock, ms, and over that of 3 numpy.sort"
        f" of {numbers.size} doubles"
    )
    sort = 3 * timed(lambda: np.sort(numbers), 9)[1]
    row("3 numpy.sort", 1e3 * sort, None, ".1f")
    for name, function, target in (
        ("columns: rectangles, costs, bounds", lambda: hs.partition(speeds, "columns"), 1.0),
        ("interval, a tenth of them", lambda: hs.partition(speeds[::10], "interval"), None),
        (
            "columns one by one, a tenth of them",
            lambda: [hs.partition(own, "columns").cost for own in speeds[::10]],
            None,
        ),
    ):
        wall = timed(function, 5)[1]  # type: ignore[arg-type]
        row(name, 1e3 * wall, None, ".1f")
        row("  / 3 numpy.sort", wall / sort, target, ".2f")


def main() -> None:
    options = parser(__doc__, quick=True)
    options.add_argument("--draws", type=int, default=100)
    given = options.parse_args()
    print_machine()
    times(given.quick)
    stacks(given.quick)
    matrices(given.draws)
    ratios(given.draws)
    many(1 if given.quick else 10)


if __name__ == "__main__":
    main()
