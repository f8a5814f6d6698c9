"""Plans for thousands of workers and matrices of a million rows, on paper. Writes the tables of
docs/scale.md.

python benchmarks/scale.py [--write docs/scale.md]
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hetsched as hs

N, Q = 10**6, 1000  # rows of the matrices, and of a block
PORT, LINK = 12.5e9, 1.25e9  # bytes per second of the master's port and of a worker's own link
FASTEST, SLOWEST = 1e12, 1e11  # flops per second of the workers: drawn evenly between these
ENOUGH = 0.5  # of the speeds: with less than this one has too many workers


def speeds(p: int, seed: int = 0) -> Any:
    """(p,) flops per second."""
    return np.random.default_rng([p, seed]).uniform(SLOWEST, FASTEST, p)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def master(counts: Sequence[int], memory: Sequence[int], blocks: int = N // Q) -> tuple[str, str]:
    """One master of so many workers, each with so many blocks of memory; and a verdict."""
    rows, limits = [], []
    for m in memory:
        most = 0
        for p in counts:
            platform = hs.Platform.star(2.0 * Q**3 / speeds(p), 8.0 * Q**2 / PORT, m)
            plan = hs.plan_product(blocks, blocks, blocks, platform, "search")
            ideal = blocks**3 / (1.0 / plan.cycle_times).sum()
            port = float((plan.messages["end"] - plan.messages["start"]).sum()) / plan.makespan
            share = ideal / plan.makespan
            most = p if share >= ENOUGH else most
            rows.append(
                (
                    m,
                    p,
                    int(plan.mu.max()),
                    f"{plan.makespan:.3g}",
                    f"{port:.0%}",
                    f"{share:.0%}",
                    plan.binding,
                )
            )
        limits.append(f"{most} with {m} blocks" if most else f"none of these with {m} blocks")
    text = table(
        (
            "blocks of memory",
            "workers",
            "mu",
            "seconds",
            "port busy",
            "of the speeds used",
            "bound",
        ),
        rows,
    )
    return (
        text,
        (
            "The most workers, of those in the table, of which one master uses half the speed:"
            f" {', '.join(limits)}."
        ),
    )


def two_levels(p: int, groups: int) -> dict[str, float]:
    """Half perimeters of zones in the unit square: flat, and groups first and then their workers;
    and of the groups alone, flat with each worker's zone fetched from outside of its group."""
    own = speeds(p).reshape(groups, -1)
    flat = hs.partition(own.reshape(-1), "columns")
    outer = hs.partition(own.sum(axis=1), "columns")
    inner = 0.0
    for rates, (_, _, height, width) in zip(own, outer.rects.tolist(), strict=True):
        zones = hs.partition(rates, "columns").rects[:, 2:]
        inner += float((zones * (height, width)).sum())
    return {"flat": flat.cost, "bound": flat.bound, "levels": inner, "between": outer.cost}


def zones(cases: Sequence[tuple[int, int]]) -> tuple[str, str]:
    """Volumes of products in zones; and a verdict."""
    rows, gains = [], []
    for p, groups in cases:
        found = two_levels(p, groups)
        sent = 8.0 * N**2 * found["flat"] / p / LINK  # of a worker, on average
        work = 2.0 * N**3 / speeds(p).sum()
        rows.append(
            (
                p,
                groups,
                f"{found['flat']:.1f}",
                f"{found['flat'] / found['bound'] - 1:.2%}",
                f"{found['levels']:.1f}",
                f"{found['levels'] / found['flat'] - 1:+.1%}",
                f"{found['between']:.1f}",
                f"{work:.0f}",
                f"{sent:.0f}",
            )
        )
        gains.append(
            f"{found['flat'] / found['between']:.1f} times less between {groups} groups of"
            f" {p // groups}"
        )
    head = (
        "workers",
        "groups",
        "flat",
        "over the bound",
        "two levels",
        "beside flat",
        "between groups",
        "seconds of work",
        "seconds of a worker's link",
    )
    return (
        table(head, rows),
        f"With two levels, where a group fetches once what its workers share: {'; '.join(gains)}.",
    )


def lu(counts: Sequence[int], blocks: Sequence[int]) -> tuple[str, str]:
    """How well block columns keep p workers busy; and a verdict."""
    rows = []
    for p in counts:
        for n in blocks:
            plan = hs.lu_pattern(n, speeds=speeds(p))
            ideal = n * (n - 1) / 2 / speeds(p).sum()
            rows.append((p, n, N // n, f"{ideal / plan.cost:.0%}", plan.optimal))
    best = {p: max(float(row[3][:-1]) for row in rows if row[0] == p) for p in counts}
    said = ", ".join(f"{share:.0f} % of {p}" for p, share in best.items())
    head = ("workers", "block columns", "columns of each", "of the speeds used", "optimal")
    return (
        table(head, rows),
        f"Updates alone, with the best of these widths: {said} workers' speed.",
    )


def planning(counts: Sequence[int]) -> str:
    """Seconds that plans take."""
    calls: dict[str, Callable[[Any], Any]] = {
        "distribute(10^6)": lambda s: hs.distribute(10**6, speeds=s),
        "lu_pattern(10^4)": lambda s: hs.lu_pattern(10**4, speeds=s),
        'partition("columns")': lambda s: hs.partition(s, "columns"),
        "layers_star(10^4)": lambda s: hs.layers_star(
            10**4, hs.Platform.star(speeds=s, link_costs=1e-3)
        ),
    }
    rows = []
    for name, call in calls.items():
        row = [name]
        for p in counts:
            given, times = speeds(p), []
            for _ in range(3):
                start = time.perf_counter()
                call(given)
                times.append(time.perf_counter() - start)
            row.append(f"{1e3 * sorted(times)[1]:.1f} ms")
        rows.append(row)
    return table(("plan", *(f"p = {p}" for p in counts)), rows)


def sections() -> dict[str, str]:
    """The texts between the page's markers."""
    found = {}
    for name, (text, verdict) in {
        "master": master((10, 30, 100, 1000, 10_000), (1000, 10_000)),
        "zones": zones(((1000, 25), (10_000, 100))),
        "lu": lu((1000, 10_000), (1000, 10_000, 100_000)),
    }.items():
        found[name] = f"{text}\n\n{verdict}"
    found["planning"] = planning((1000, 10_000))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="the page whose tables are replaced")
    given = parser.parse_args()
    page = given.write.read_text() if given.write else ""
    for name, text in sections().items():
        print(f"{name}\n\n{text}\n")
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda found, text=text: f"{found[1]}{text}\n{found[2]}",
            page,
            flags=re.S,
        )
    if given.write:
        given.write.write_text(page)


if __name__ == "__main__":
    main()
