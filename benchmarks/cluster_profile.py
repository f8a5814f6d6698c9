"""Where the time of a product and of LU goes on four hosts of unequal speed (cluster.py). For root.

    python benchmarks/cluster_profile.py [-n 2000] [--json profile.json]

Each line is a run by a plan of the measured rates; the matrices are at the root before and after.
The columns are shares of the makespan, in the mean over the ranks: `Trace.profile`. CPU is the CPU
time of a rank, with what messages take, over the time of a core that its quota allows.

The module is also the program of the ranks: python -m mpi4py cluster_profile.py JOB.
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
from bench_cluster import PLATFORMS
from cluster import Cluster, Host

import hetsched as hs

BLOCK = 128  # of square blocks

Job = dict[str, Any]


def rates(comm: Any, pool: hs.Pool, seconds: float) -> list[float]:
    """GFLOP/s of each rank with products, all at once."""
    a = np.random.default_rng(0).standard_normal((1000, 1000))
    out = np.empty_like(a)
    pool.matmul(a, a, out=out)
    comm.Barrier()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        pool.matmul(a, a, out=out)
        count += 1
    return comm.allgather(2.0 * count / (time.perf_counter() - start))


def profiles(job: Job) -> Job:
    """Makespan and shares of each kind of run: the medians of the rounds."""
    from mpi4py import MPI

    comm, n = MPI.COMM_WORLD, job["n"]
    root = comm.rank == 0
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, n)) if root else None for _ in range(2))
    with hs.Pool(1) as pool:
        times = [1.0 / rate for rate in rates(comm, pool, job["seconds"])]
        platform = hs.Platform.star(times, unit=hs.Unit.gigaflop())
        grid = hs.lu_grid(-(-n // BLOCK), times)
        calls = {
            "product": lambda: hs.mpi.matmul(comm, a, b, platform=platform, pool=pool, trace=True),
            "LU, block columns": lambda: hs.mpi.lu_factor(
                comm, a, platform=platform, pool=pool, trace=True
            ),
            "LU, square blocks": lambda: hs.mpi.lu_factor(
                comm, a, grid, block=BLOCK, pool=pool, trace=True
            ),
        }
        found: Job = {}
        for name, call in calls.items():
            seconds, cpu, shares = [], [], []
            for _ in range(job["rounds"]):
                comm.Barrier()
                spent = time.process_time()
                trace = call()[-1]
                used = comm.gather(time.process_time() - spent)
                if root:
                    allowed = trace.makespan * np.array(job["cpu"])
                    seconds.append(trace.makespan)
                    cpu.append(float(np.mean(used / allowed)))
                    shares.append(
                        {
                            what: float(np.mean(spent)) / trace.makespan
                            for what, spent in trace.profile().items()
                        }
                    )
            if root:
                names = dict.fromkeys(what for each in shares for what in each)
                found[name] = {
                    "seconds": statistics.median(seconds),
                    "cpu": statistics.median(cpu),
                    "profile": {
                        what: statistics.median(each.get(what, 0.0) for each in shares)
                        for what in names
                    },
                }
    return {"runs": found, "gflops": [1.0 / cycle_time for cycle_time in times]}


def main() -> None:
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        from mpi4py import MPI

        found = profiles(json.loads(sys.argv[1]))
        if MPI.COMM_WORLD.rank == 0:
            print(json.dumps(found), flush=True)
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of the measurement of rates")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for name, shares in PLATFORMS.items():
        job = {key: getattr(given, key) for key in ("n", "rounds", "seconds")}
        job["cpu"] = shares
        with Cluster([Host(cpu=share) for share in shares]) as cluster:
            command = [sys.executable, "-m", "mpi4py", __file__, json.dumps(job)]
            found = json.loads(cluster.run(command, timeout=600).splitlines()[-1])
        print(f"{name}: load {os.getloadavg()[0]:.1f}")
        for run, each in found["runs"].items():
            parts = ", ".join(f"{what} {share:.0%}" for what, share in each["profile"].items())
            print(
                f"  {run:18} {each['seconds']:6.2f} s  CPU {each['cpu']:.0%}: {parts}", flush=True
            )
        rows.append({"platform": name, **job, **found})
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
