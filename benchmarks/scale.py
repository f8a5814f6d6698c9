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
LATENCY = 1e-5  # seconds of a message
FLOPS = 6.0  # of a stencil for an element
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


def lu_grids(counts: Sequence[int], blocks: Sequence[int]) -> tuple[str, str]:
    """How well square blocks keep p workers busy, and their links; and a verdict."""
    rows, best = [], []
    for p in counts:
        shares = {}
        for n in blocks:
            q = N // n
            for method in ("1d1d", "cyclic"):
                plan = hs.lu_grid(n, 2.0 * q**3 / speeds(p), method)
                share = float(plan.ideal.sum()) / plan.makespan
                sent = 8.0 * q**2 * float(plan.received.max()) / LINK
                shares[share] = f"{sent / plan.makespan:.0%}"
                rows.append((p, n, method, f"{share:.0%}", f"{plan.makespan:.0f}", f"{sent:.0f}"))
        best.append(f"{max(shares):.0%} of {p} workers' speed, links busy {shares[max(shares)]}")
    head = (
        "workers",
        "blocks on a side",
        "method",
        "of the speeds used",
        "seconds of updates",
        "seconds of the busiest link",
    )
    return table(head, rows), f"The best of these uses {' of the time; '.join(best)} of the time."


def in_groups(n: int, own: Any) -> Any:
    """(n, n) owners of blocks in two levels.

    `lu_grid` deals the blocks to the groups, the rows of own, and the block rows and columns of
    each group to its workers.
    """
    outer = hs.lu_grid(n, 1.0 / own.sum(axis=1), "1d1d").owner
    owner = np.empty((n, n), np.int32)
    for group, rates in enumerate(own):
        mine = outer == group
        lines, columns = np.flatnonzero(mine.any(axis=1)), np.flatnonzero(mine.any(axis=0))
        side = max(len(lines), len(columns))
        inner = hs.lu_grid(side, 1.0 / rates, "1d1d").owner[-len(lines) :, -len(columns) :]
        box = np.ix_(lines, columns)
        owner[box] = np.where(mine[box], inner + group * own.shape[1], owner[box])
    return owner


def lu_levels(cases: Sequence[tuple[int, int]], n: int = 4000) -> tuple[str, str]:
    """LU in two dimensions, flat and in two levels; and a verdict."""
    rows, gains, q = [], [], N // n
    for p, groups in cases:
        rates = speeds(p)
        own = rates.reshape(groups, -1)
        times, between = 2.0 * q**3 / rates, {}
        for name, owner in (
            ("flat", hs.lu_grid(n, times, "1d1d").owner),
            ("two levels", in_groups(n, own)),
        ):
            plan = hs.lu_grid(n, times, owner=owner)
            outer = hs.lu_grid(n, 1.0 / own.sum(axis=1), owner=owner // (p // groups))
            between[name] = int(outer.received.sum())
            share = float(plan.ideal.sum()) / plan.makespan
            received = int(plan.received.sum())
            rows.append(
                (p, groups, name, f"{share:.0%}", f"{received:.3g}", f"{between[name]:.3g}")
            )
        gains.append(
            f"{between['flat'] / between['two levels']:.1f} times less between {groups} groups of"
            f" {p // groups}"
        )
    head = (
        "workers",
        "groups",
        "map",
        "of the speeds used",
        "blocks received by workers",
        "by groups",
    )
    return (
        table(head, rows),
        f"With two levels, where a group fetches once what its workers share: {'; '.join(gains)}.",
    )


def rings(counts: Sequence[int], sizes: Sequence[int]) -> tuple[str, str]:
    """Steps of a stencil on square matrices, in slices on a ring; and a verdict."""
    rows, limits = [], []
    for n in sizes:
        most = 0
        for p in counts:
            rates = speeds(p)
            plan = hs.slice_ring(
                FLOPS / rates, 8.0 / LINK, float(n) ** 2, float(n), latencies=LATENCY
            )
            share = FLOPS * float(n) ** 2 / rates.sum() / plan.makespan
            messages = 2.0 * (8.0 * n / LINK + LATENCY) / plan.makespan
            most = p if share >= ENOUGH else most
            rows.append(
                (n, p, len(plan.ring), f"{plan.makespan:.2g}", f"{messages:.0%}", f"{share:.0%}")
            )
        limits.append(f"{most} with {n} rows" if most else f"none of these with {n} rows")
    head = (
        "rows",
        "workers",
        "members",
        "seconds of a step",
        "of it messages",
        "of the speeds used",
    )
    return (
        table(head, rows),
        "The most workers, of those in the table, of which a ring uses half the speed:"
        f" {', '.join(limits)}.",
    )


def ring_levels(p: int, groups: int, n: int) -> tuple[str, str]:
    """Rings through groups with faster links inside; and a verdict."""
    rates, group = speeds(p), np.arange(p) % groups
    links = np.where(group[:, None] == group, 8.0 / PORT, 8.0 / LINK)
    rows, ends, members = [], {}, 0
    for name, method in (("the paper's greedy ring", "greedy"), ("local search", "search")):
        plan = hs.slice_ring(
            FLOPS / rates, links, float(n) ** 2, float(n), method, latencies=LATENCY
        )
        crossed = int((group[plan.ring] != group[np.roll(plan.ring, -1)]).sum())
        ends[method], members = plan.makespan, len(plan.ring)
        rows.append((name, len(plan.ring), crossed, f"{plan.makespan:.3g}"))
    flat = hs.slice_ring(FLOPS / rates, 8.0 / LINK, float(n) ** 2, float(n), latencies=LATENCY)
    rows.append(
        ("all links as slow as between groups", len(flat.ring), "-", f"{flat.makespan:.3g}")
    )
    head = ("ring", "members", "links between groups", "seconds of a step")
    return (
        table(head, rows),
        f"Faster links inside {groups} groups make a step {flat.makespan / ends['search']:.1f}"
        f" times as fast with {members} of {p} workers.",
    )


def planning(counts: Sequence[int]) -> str:
    """Seconds that plans take."""
    calls: dict[str, Callable[[Any], Any]] = {
        "distribute(10^6)": lambda s: hs.distribute(10**6, speeds=s),
        "lu_pattern(10^4)": lambda s: hs.lu_pattern(10**4, speeds=s),
        'lu_grid(1000, "1d1d")': lambda s: hs.lu_grid(1000, speeds=s, method="1d1d"),
        "slice_ring, equal links": lambda s: hs.slice_ring(
            speeds=s, links=1e-3, work=1e12, volume=1e6
        ),
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
        "lu grid": lu_grids((1000, 10_000), (1000, 4000)),
        "lu levels": lu_levels(((1000, 25), (10_000, 100))),
        "rings": rings((10, 100, 1000, 10_000), (N // 10, N)),
        "ring levels": ring_levels(1000, 25, N // 10),
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
