"""The 2008 paper's algorithms on its kinds of platform, in small: what bench_cluster.py --parts
star runs.

A master that does not compute and four workers with limited memory, whose links, speeds or memories
differ. Cycle-times and link costs are measured there first, the former of all workers at once, and
the plans are made of them; the makespan is from the master's first message to its last.
"""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from typing import Any

from cluster import Cluster, Host

METHODS = ("hom", "homi", "het", "orroml", "ommoml", "oddoml", "bmm", "best")
DTYPE, BLOCK = "complex128", 256  # a block update is 4 times as long as in float64, a block twice
BYTES = 16 * BLOCK**2
SHAPE = (10, 10, 10)
PANEL = 10  # blocks of the messages by which links are measured
CLEAR = 0.05  # makespans that the model has this far apart should be in its order

Row = dict[str, Any]


@dataclass(frozen=True)
class Workers:
    """Of each worker the fraction of a core, Mbit/s of its link, and buffers of one block."""

    cpu: tuple[float, ...]
    rate: tuple[int, ...]
    memory: tuple[int, ...]


PLATFORMS = {
    "links 10 : 5 : 1": Workers((0.25, 0.25, 0.25, 0.25), (400, 400, 200, 40), (45, 45, 45, 45)),
    "speeds 4 : 2 : 1": Workers((0.4, 0.2, 0.1, 0.1), (400, 400, 400, 400), (45, 45, 45, 45)),
    "memories 21 to 140": Workers(
        (0.25, 0.25, 0.25, 0.25), (400, 400, 400, 400), (21, 45, 96, 140)
    ),
    "all of these": Workers((0.4, 0.2, 0.1, 0.1), (200, 400, 400, 40), (21, 96, 45, 140)),
}


def inversions(simulated: list[float], measured: list[float]) -> tuple[int, int]:
    """Pairs that are in another order than simulated, of those that the model has clearly apart."""
    pairs = [
        pair
        for pair in itertools.combinations(zip(simulated, measured, strict=True), 2)
        if _clear(pair[0][0], pair[1][0])
    ]
    return sum((x[0] < y[0]) != (x[1] < y[1]) for x, y in pairs), len(pairs)


def _clear(x: float, y: float) -> bool:
    return max(x, y) > (1 + CLEAR) * min(x, y)


def star(on_ranks: Any, rounds: int, names: list[str], methods: list[str]) -> list[Row]:
    """A row for each platform."""
    rows = []
    for name in names or PLATFORMS:
        workers = PLATFORMS[name]
        hosts = [
            Host(cpu=0.7),
            *(
                Host(cpu=cpu, rate=f"{rate}mbit")
                for cpu, rate in zip(workers.cpu, workers.rate, strict=True)
            ),
        ]
        with Cluster(hosts) as cluster:
            measure = [
                {"kind": "updates", "block": BLOCK, "dtype": DTYPE, "seconds": 3},
                {"kind": "links", "bytes": PANEL * BYTES},
            ]
            updates, links = on_ranks(cluster, measure)
            job = {
                "kind": "star",
                "shape": SHAPE,
                "block": BLOCK,
                "dtype": DTYPE,
                "methods": methods or METHODS,
                "rounds": rounds,
                "memory": workers.memory,
                "cycle_times": updates["cycle_times"][1:],
                "link_costs": [BYTES * cost for cost in links["seconds_per_byte"][1:]],
            }
            (row,) = on_ranks(cluster, [job], timeout=600)
        rows.append({"platform": name, **row})
        _print(rows[-1])
    return rows


def _print(row: Row) -> None:
    times, costs = (
        " ".join(f"{1e3 * x:.2f}" for x in row[name]) for name in ("cycle_times", "link_costs")
    )
    print(f"{row['platform']}: cycle-times {times} ms, link costs {costs} ms", flush=True)
    found = {
        name: (each["simulated"], statistics.median(each["measured"]))
        for name, each in row["methods"].items()
    }
    for name, (simulated, measured) in sorted(found.items(), key=lambda item: item[1]):
        each = row["methods"][name]
        peak = max(x / limit for x, limit in zip(each["peak"], row["memory"], strict=True))
        print(
            f"  {name:8}{simulated:8.2f} s simulated {measured:8.2f} s measured"
            f" {measured / simulated - 1:+7.1%}  {len(each['enrolled'])} workers,"
            f" {each['messages']} messages, {each['blocks']} blocks, {peak:.0%} of a memory",
            flush=True,
        )
    wrong, pairs = inversions(*(list(column) for column in zip(*found.values(), strict=True)))
    print(
        f"  order: {wrong} of {pairs} pairs that are {CLEAR:.0%} apart are not as simulated",
        flush=True,
    )
