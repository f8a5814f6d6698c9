"""The iteration of the 2003 paper on a ring of six hosts of unequal speed and links (cluster.py):
slices by a plan of speeds and links ("best"), all hosts by their speeds ("all"), equal slices. For
root.

    python benchmarks/cluster_ring.py [-n 2000] [--steps 400] [--json ring.json]

The speed of each host with the stencil is measured first. Each division runs some rounds, in turn,
and the median counts. Predicted is the plan's time for the measured speeds and the rates of the
links, also for equal slices.

The module is also the program of the ranks: python -m mpi4py cluster_ring.py JOB.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from cluster import GOODPUT, Cluster, Host, rate_of

import hetsched as hs

#: Hosts by fraction of a core and rate of the link.
PLATFORMS = {
    "equal links": [Host(cpu=share, rate="400mbit") for share in (0.4, 0.4, 0.2, 0.2, 0.1, 0.1)],
    "two slow links": [
        Host(cpu=share, rate=rate)
        for share, rate in zip(
            (0.4, 0.4, 0.2, 0.2, 0.1, 0.1), ["400mbit"] * 4 + ["10mbit"] * 2, strict=True
        )
    ],
}
FLOPS, GIGA = 6.0, 1e9  # of the stencil for an element
DIVISIONS = ("best", "all", "equal")

Job = dict[str, Any]


def stencil_speeds(comm: Any, pool: hs.Pool, n: int, seconds: float) -> list[float]:
    """Seconds per gigaflop of each rank with the stencil, all at once."""
    matrix, steps, count = np.ones((n, max(n // comm.size, 1))), 5, 0
    pool.stencil(matrix, steps)
    comm.Barrier()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        pool.stencil(matrix, steps)
        count += 1
    passed = time.perf_counter() - start
    return comm.allgather(passed * GIGA / (FLOPS * (n - 2) * matrix.shape[1] * steps * count))


def planned(name: str, platform: hs.Platform, n: int) -> tuple[Any, hs.Platform]:
    """A ring, and the platform by whose speeds it divides the columns.

    "best" knows speeds and links, "all" uses every host by its speed, and "equal" divides equally.
    """
    work, volume = FLOPS * (n - 2) * n / GIGA, 8.0 * n / GIGA
    if name == "best":
        return hs.slice_ring(platform, work=work, volume=volume), platform
    times = platform.cycle_times if name == "all" else np.ones(len(platform))
    alone = hs.Platform.star(times, unit=platform.unit)
    return hs.slice_ring(times, 0.0, work, volume, "all"), alone


def path_costs(rates: list[float]) -> Any:
    """(p, p) seconds per gigabyte between hosts with links of these bits per second."""
    cost = 8.0 * GIGA / GOODPUT / np.array(rates)
    links = np.maximum.outer(cost, cost)
    np.fill_diagonal(links, 0.0)
    return links


def ring(job: Job) -> Job:
    """Seconds of a step of each division, with what the plan says.

    The slices are on their ranks before the steps and after them.
    """
    from mpi4py import MPI

    comm, n, steps = MPI.COMM_WORLD, job["n"], job["steps"]
    with hs.Pool(1) as pool:
        times = stencil_speeds(comm, pool, n, job["seconds"])
        workers = [hs.Worker(cycle_time, name=f"P{i}") for i, cycle_time in enumerate(times)]
        platform = hs.Platform(workers, path_costs(job["rates"]), unit=hs.Unit.gigaflop())
        u = np.random.default_rng(0).standard_normal((n, n)) if comm.rank == 0 else None
        found: Job = {name: {"seconds": []} for name in DIVISIONS}
        zones, ends = {}, {}
        for name in DIVISIONS:
            plan, by = planned(name, platform, n)
            start = hs.mpi.scatter(comm, u, hs.lu_pattern(comm.size, np.ones(comm.size)))
            zones[name] = hs.mpi.stencil(comm, start, 8, plan=plan, platform=by, pool=pool)
        for _ in range(job["rounds"]):
            for name in DIVISIONS:
                plan, by = planned(name, platform, n)
                zone, trace = hs.mpi.stencil(
                    comm, zones[name], steps, plan=plan, platform=by, pool=pool, trace=True
                )
                ends[name] = hs.mpi.gather(comm, zone)
                if comm.rank == 0:
                    if not np.array_equal(ends[name], ends[DIVISIONS[0]]):
                        raise RuntimeError(f"{name} gives other bits")
                    profile = {what: float(np.mean(t)) for what, t in trace.profile().items()}
                    found[name]["seconds"].append(trace.makespan / steps)
                    found[name]["members"] = len(plan.ring)
                    found[name]["predicted"] = predicted(plan, by, platform, n)
                    found[name]["profile"] = {
                        what: time / trace.makespan for what, time in profile.items()
                    }
    return {"divisions": found, "cycle_times": times}


def predicted(plan: Any, by: hs.Platform, platform: hs.Platform, n: int) -> float:
    """Seconds of a step of this division on the measured platform."""
    work, volume = FLOPS * (n - 2) * n / GIGA, 8.0 * n / GIGA
    shares = plan.shares / plan.shares.sum()
    before, after = np.roll(plan.ring, 1), np.roll(plan.ring, -1)
    ends = [
        work * shares[i] * platform.cycle_times[i]
        + (volume * (platform.links[i, k] + platform.links[i, j]) if len(plan.ring) > 1 else 0.0)
        for j, i, k in zip(before, plan.ring, after, strict=True)
    ]
    return float(max(ends))


def main() -> None:
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        from mpi4py import MPI

        found = ring(json.loads(sys.argv[1]))
        if MPI.COMM_WORLD.rank == 0:
            print(json.dumps(found), flush=True)
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="of the measurement of speeds")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for name, hosts in PLATFORMS.items():
        job = {key: getattr(given, key) for key in ("n", "steps", "rounds", "seconds")}
        job["rates"] = [rate_of(host.rate) for host in hosts]
        with Cluster(hosts) as cluster:
            command = [sys.executable, "-m", "mpi4py", __file__, json.dumps(job)]
            found = json.loads(cluster.run(command, timeout=600).splitlines()[-1])
        print(f"{name}: load {os.getloadavg()[0]:.1f}")
        first = statistics.median(found["divisions"]["best"]["seconds"])
        for division, each in found["divisions"].items():
            seconds = statistics.median(each["seconds"])
            print(
                f"  {division:6} {each['members']} members {1e3 * seconds:8.3f} ms a step"
                f" {seconds / first:5.2f}  predicted {1e3 * each['predicted']:8.3f} ms"
                f" {seconds / each['predicted'] - 1:+6.1%}",
                flush=True,
            )
        rows.append({"platform": name, **job, **found})
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
