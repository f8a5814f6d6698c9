"""Plans on MPI against ScaLAPACK and Dask, on one machine made into hosts of unequal speed
(cluster.py). For root.

Four hosts with one rank each, equal and with speeds 1 : 4, of one core in sum. What the hosts can
do is measured first, all at once, by products in memory; the efficiency is the useful flops over
what they could have done in the time. ScaLAPACK's best grid, block and BLAS are searched for on
each platform and each kind of run, and Dask's best blocks; hetsched takes one plan of the measured
rates. Times are medians of some rounds, one after the other. Every result is checked. "at the
root": matrices and result are at rank 0 (for Dask at a client beside host 0, with CPU of its own,
and so has its scheduler); "in zones": they are where the ranks need them, before and after.

    python benchmarks/bench_cluster.py --parts dense star port --json cluster.json
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cluster_port
import cluster_profile
import cluster_ring
import cluster_star
import peer_scalapack
from cluster import Cluster, ClusterError, Host, version_of
from peer_blas import peer_environment
from peer_scalapack import Setting

PLACE = Path(__file__).parent
PLATFORMS = {"equal": (0.25, 0.25, 0.25, 0.25), "1 : 4": (0.4, 0.4, 0.1, 0.1)}
BLOCKS = (64, 128, 256)
SQUARE = 128  # side of hetsched's square blocks in LU
PARTS = (2, 4, 8)  # of a side, of Dask's blocks
PARTS_OF_RUN = ("dense", "star", "port", "profile", "ring")
KINDS = {"product": 2.0, "lu": 2.0 / 3.0}
_PORT = 8786

Row = dict[str, Any]


def on_ranks(cluster: Cluster, jobs: list[Row], **options: Any) -> list[Row]:
    """What cluster_ranks.py finds; an exception on a rank ends all of them."""
    command = [sys.executable, "-m", "mpi4py", str(PLACE / "cluster_ranks.py"), json.dumps(jobs)]
    return [json.loads(line) for line in cluster.run(command, **options).splitlines()]


@dataclass
class Scalapack:
    """The best of all settings on a cluster, found once for each kind of run."""

    cluster: Cluster
    program: str
    blocks: tuple[int, ...]

    def seconds(
        self, kind: str, n: int, setting: Setting, blas: str, rounds: int, from_root: bool
    ) -> list[float]:
        environment = {**peer_scalapack.environment(blas), **_set_by(peer_environment())}
        command = peer_scalapack.command(
            self.program, kind, n, setting, rounds, from_root=from_root
        )
        hosts = range(setting.rows * setting.cols)
        return peer_scalapack.seconds_of(
            self.cluster.run(command, environment=environment, hosts=hosts, timeout=180)
        )

    def search(self, kind: str, n: int, from_root: bool) -> tuple[Setting, str]:
        """BLAS by the products of one process; then every grid and block."""
        one = Setting(1, 1, 128)
        folders = peer_scalapack.blas_folders()
        blas = min(
            folders, key=lambda name: min(self.seconds("product", 1000, one, name, 2, False))
        )
        settings = [
            Setting(*grid, block)
            for grid in peer_scalapack.grids(len(self.cluster.hosts))
            for block in self.blocks
        ]
        return (
            min(settings, key=lambda each: self.seconds(kind, n, each, blas, 1, from_root)[0]),
            blas,
        )


def _set_by(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if os.environ.get(name) != value}


class Dask:
    """A scheduler and a client beside host 0, a worker with one thread on each host."""

    def __init__(self, cluster: Cluster, python: str) -> None:
        self.cluster, self.python = cluster, python
        self.address = f"tcp://{cluster.address(0)}:{_PORT}"
        environment = _set_by(peer_environment(DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE="False"))
        self.environment = environment
        scheduler = [
            "scheduler",
            "--host",
            cluster.address(0),
            "--port",
            str(_PORT),
            "--no-dashboard",
        ]
        self.started = [
            cluster.start(
                0, [python, "-m", "dask", *scheduler], environment=environment, limited=False
            )
        ]
        worker = [
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--memory-limit",
            "0",
        ]
        for host in range(len(cluster.hosts)):
            where = ["--host", cluster.address(host), "--name", str(host)]
            self.started.append(
                cluster.start(
                    host, [python, "-m", "dask", *worker, *where], environment=environment
                )
            )

    def seconds(self, n: int, blocks: int, rounds: int) -> list[float]:
        words = [self.address, *map(str, (n, blocks, rounds, len(self.cluster.hosts)))]
        client = self.cluster.start(
            0,
            [self.python, str(PLACE / "peer_dask.py"), *words],
            environment=self.environment,
            limited=False,
        )
        *times, residual = map(float, self.cluster.finish(client, "Dask", 180).split())
        if not residual < 1e-9:
            raise ClusterError(f"Dask's result is wrong: residual {residual:g}")
        return times

    def close(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()


def dense(given: argparse.Namespace) -> list[Row]:
    """Products and LU on each platform, by all."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="scalapack-") as place:
        program = peer_scalapack.build(place)
        for name in given.platforms:
            with Cluster(
                [Host(cpu=share, rate=given.rate) for share in PLATFORMS[name]]
            ) as cluster:
                rows += on_platform(
                    given, name, cluster, Scalapack(cluster, program, tuple(given.blocks))
                )
    return rows


def on_platform(
    given: argparse.Namespace, name: str, cluster: Cluster, peer: Scalapack
) -> list[Row]:
    (rated,) = on_ranks(cluster, [{"kind": "rate", "seconds": 3}])
    gflops, rows = rated["gflops"], []
    print(
        f"{name}: {' '.join(f'{rate:.1f}' for rate in gflops)} GFLOP/s of products in memory",
        flush=True,
    )
    for kind, from_root in itertools.product(
        given.kinds, [where == "root" for where in given.where]
    ):
        n, found = given.n, {}
        if kind == "product" or from_root:  # LU has its matrix at the root
            job = {
                "kind": kind,
                "n": n,
                "from_root": from_root,
                "rounds": given.rounds,
                "gflops": gflops,
            }
            (ours,) = on_ranks(cluster, [job], timeout=180)
            found["hetsched"] = ours["seconds"], ours["method"]
            first = statistics.median(ours["seconds"])
            if kind == "lu":
                (square,) = on_ranks(cluster, [{**job, "block": SQUARE}], timeout=180)
                found["by square blocks"] = square["seconds"], square["method"]
        setting, blas = peer.search(kind, n, from_root)
        found["ScaLAPACK"] = (
            peer.seconds(kind, n, setting, blas, given.rounds, from_root),
            f"{setting}, {blas}",
        )
        if kind == "product" and from_root and given.dask_python:
            found["Dask"] = dask_best(cluster, given, n)
        for who, (times, how) in found.items():
            seconds = statistics.median(times)
            row = {
                "platform": name,
                "kind": kind,
                "n": n,
                "from": "at the root" if from_root else "in zones",
                "who": who,
                "seconds": seconds,
                "all": times,
                "ratio": seconds / first,
                "how": how,
                "efficiency": KINDS[kind] * n**3 / 1e9 / (sum(gflops) * seconds),
                "gflops": gflops,
            }
            rows.append(row)
            print(
                f"  {kind:8}{row['from']:12}{who:17}{seconds:8.2f} s {row['ratio']:6.2f}"
                f" {row['efficiency']:7.1%}  {how}",
                flush=True,
            )
    return rows


def dask_best(cluster: Cluster, given: argparse.Namespace, n: int) -> tuple[list[float], str]:
    peer = Dask(cluster, given.dask_python)
    try:
        best = min(PARTS, key=lambda blocks: min(peer.seconds(n, blocks, 2)))
        return peer.seconds(n, best, given.rounds), f"{best} x {best} blocks"
    finally:
        peer.close()


def machine(given: argparse.Namespace) -> Row:
    """What was measured on, and by what."""
    import hetsched as hs

    mpirun = Cluster([Host()]).mpirun
    dask = "-"
    if given.dask_python:
        code = (
            "import distributed, numpy; print(distributed.__version__, 'NumPy', numpy.__version__)"
        )
        dask = subprocess.run(
            [given.dask_python, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
    return {
        "processor": hs.topology().model,
        "cpus": os.cpu_count(),
        "linux": platform.release(),
        "load": os.getloadavg()[0],
        "open mpi": version_of(mpirun),
        "hetsched": hs.__version__,
        "dask": dask,
        "rate": given.rate or "not limited",
        "when": time.strftime("%Y-%m-%d"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--parts", nargs="*", choices=PARTS_OF_RUN, default=["dense", "star", "port"]
    )
    parser.add_argument(
        "--stars", nargs="*", default=[], help="platforms of cluster_star.py; all without"
    )
    parser.add_argument("--methods", nargs="*", default=[], help="of these; all without")
    parser.add_argument("--star-rounds", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--platforms", nargs="*", choices=list(PLATFORMS), default=list(PLATFORMS))
    parser.add_argument("-n", type=int, default=3000, help="side of the matrices")
    parser.add_argument(
        "--where",
        nargs="*",
        choices=["root", "zones"],
        default=["root", "zones"],
        help="the matrices",
    )
    parser.add_argument("--blocks", type=int, nargs="*", default=list(BLOCKS), help="of ScaLAPACK")
    parser.add_argument("--rate", help="of every link, such as 1gbit; without, that of the machine")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--dask-python",
        help="a Python that has dask and distributed; without, Dask does not take part",
    )
    parser.add_argument("--json", type=Path, help="where all figures are written")
    given = parser.parse_args()
    if reason := Cluster.why_not():
        sys.exit(reason)
    found: Row = {"machine": machine(given)}
    print(", ".join(f"{name} {value}" for name, value in found["machine"].items()))
    parts = {
        "dense": dense,
        "port": lambda _: cluster_port.port(on_ranks),
        "profile": lambda given: cluster_profile.profile(
            on_ranks, [(name, PLATFORMS[name]) for name in given.platforms], given.n, given.rounds
        ),
        "ring": lambda given: cluster_ring.ring(on_ranks, given.n, given.rounds),
        "star": lambda given: cluster_star.star(
            on_ranks, given.star_rounds, given.stars, given.methods
        ),
    }
    for part in given.parts:
        found[part] = parts[part](given)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
