"""The iteration of the 2003 paper on a ring of six hosts of unequal speed and links: what
bench_cluster.py --parts ring runs.

Slices by a plan of speeds and links ("best") are compared with all hosts by their speeds ("all")
and with equal slices. The speed of each host with the stencil is measured first. Each division runs
some rounds, in turn, and the median counts. Predicted is the plan's time for the measured speeds
and the rates of the links, also for equal slices. It charges the columns that a host updates
besides its slice, and for "best" also the processor time of messages.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from cluster import GOODPUT, Cluster, Host, rate_of

CPU = (0.4, 0.4, 0.2, 0.2, 0.1, 0.1)
PLATFORMS = {
    "equal links": ["400mbit"] * 6,
    "two slow links": ["400mbit"] * 4 + ["10mbit"] * 2,
}
STEPS = 200

Row = dict[str, Any]


def path_costs(rates: list[str]) -> Any:
    """(p, p) seconds per gigabyte between hosts with links of these rates."""
    cost = 8e9 / GOODPUT / np.array([rate_of(rate) for rate in rates])
    links = np.maximum.outer(cost, cost)
    np.fill_diagonal(links, 0.0)
    return links


def ring(on_ranks: Any, n: int, rounds: int) -> list[Row]:
    """A row for each platform."""
    rows = []
    for name, rates in PLATFORMS.items():
        hosts = [Host(cpu=share, rate=rate) for share, rate in zip(CPU, rates, strict=True)]
        with Cluster(hosts) as cluster:
            (rated,) = on_ranks(cluster, [{"kind": "stencil rate", "n": n, "seconds": 5}])
            job = {"kind": "ring", "n": n, "steps": STEPS, "rounds": rounds}
            job |= {"cycle_times": rated["cycle_times"], "links": path_costs(rates).tolist()}
            (found,) = on_ranks(cluster, [job], timeout=600)
        print(name)
        first = statistics.median(found["divisions"]["best"]["seconds"])
        for division, each in found["divisions"].items():
            seconds = statistics.median(each["seconds"])
            print(
                f"  {division:6} {each['members']} members {1e3 * seconds:8.3f} ms a step"
                f" {seconds / first:5.2f}  predicted {1e3 * each['predicted']:8.3f} ms"
                f" {seconds / each['predicted'] - 1:+6.1%}",
                flush=True,
            )
        rows.append({"platform": name, **found})
    return rows
