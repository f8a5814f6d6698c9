"""Where the time of a product and of LU goes on hosts of unequal speed: what bench_cluster.py
--parts profile runs.

Each line is a run by a plan of the measured rates; the matrices are at the root before and after.
The shares of the makespan are means over the ranks (`Trace.profile`). CPU is the CPU time of a
rank, with what messages take, over what its quota allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cluster import Cluster, Host

BLOCK = 128  # of square blocks

Row = dict[str, Any]


def profile(
    on_ranks: Any, platforms: Iterable[tuple[str, tuple[float, ...]]], n: int, rounds: int
) -> list[Row]:
    """A row for each platform, a name and the fraction of a core of each host."""
    rows = []
    for name, cpu in platforms:
        with Cluster([Host(cpu=share) for share in cpu]) as cluster:
            (rated,) = on_ranks(cluster, [{"kind": "rate", "seconds": 3}])
            job = {"kind": "profile", "n": n, "rounds": rounds, "block": BLOCK, "cpu": cpu}
            (found,) = on_ranks(cluster, [job | {"gflops": rated["gflops"]}], timeout=600)
        print(name)
        for run, each in found["runs"].items():
            parts = ", ".join(f"{what} {share:.0%}" for what, share in each["profile"].items())
            print(
                f"  {run:18} {each['seconds']:6.2f} s  CPU {each['cpu']:.0%}: {parts}", flush=True
            )
        rows.append({"platform": name, **found})
    return rows
