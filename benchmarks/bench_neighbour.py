"""Products and factorisations beside other work: hetsched against numpy.matmul, plain BLIS, StarPU
and scipy.linalg.lu_factor.

For each situation a library computes without a pause for some seconds. A rate is given as a
fraction of what was to be had: that of hetsched on idle cores (`idle`, measured first), times the
share of the cores' time that the scheduler leaves to a process with a busy thread of normal
priority on each. Quotas need root and a cgroup (version 1): there a hog of the highest priority
takes a part of each 10 ms on one core.

StarPU is its dgemm and sgemm (Debian's starpu-examples) with the schedulers dmda, which goes by
measured times of its tasks, and lws, which steals work: one process of as many workers as there are
cores, the system's BLAS with one thread in each task, the number of blocks that is fastest for each
n on idle cores, in runs that also calibrate dmda. A figure is the rate that the program reports:
the mean of all products of one run of about those seconds, without its start, the partition of the
matrices, or any warming up. The others are called from Python, and what a call costs counts.
Without those programs the columns are left out.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

# sets the peers' BLAS up before NumPy comes
from bench_lu import output_of, starpu_environment, starpu_example

# isort: split
import numpy as np
from bench_matmul import peers
from common import PAUSE, parser, print_machine

import hetsched as hs
from hetsched.machine.topology import topology

CGROUP = Path("/sys/fs/cgroup/cpu/hetsched-bench")
PERIOD = 10_000  # microseconds

HOG = """
import os, sys, time
cpus, nice, busy, idle, moves = eval(sys.argv[1])
os.sched_setaffinity(0, {cpus[0]})
os.setpriority(os.PRIO_PROCESS, 0, nice)
turn = 0
while True:
    until = time.monotonic() + busy
    while time.monotonic() < until:
        for _ in range(10000): pass
    time.sleep(idle)
    if moves:
        turn += 1
        os.sched_setaffinity(0, {cpus[turn % len(cpus)]})
"""

OTHER = """
import numpy as np, hetsched as hs
A = np.ones((2000, 2000))
while True: hs.matmul(A, A)
"""


@contextlib.contextmanager
def running(code: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments])
    try:
        time.sleep(1.0)  # it has started
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def hog(
    cpus: list[int], nice: int = 0, busy: float = 1.0, idle: float = 0.0, moves: bool = False
) -> Iterator[None]:
    with running(HOG, repr((cpus, nice, busy, idle, moves))):
        yield


@contextlib.contextmanager
def taken(cpu: int, share: float) -> Iterator[None]:
    """A core of which others have that share."""
    CGROUP.mkdir(exist_ok=True)
    try:
        (CGROUP / "cpu.cfs_period_us").write_text(str(PERIOD))
        (CGROUP / "cpu.cfs_quota_us").write_text(str(int(share * PERIOD)))
        with running(HOG, repr(([cpu], -20, 1.0, 0.0, False))) as process:
            (CGROUP / "tasks").write_text(str(process.pid))
            time.sleep(0.2)
            yield
    finally:
        CGROUP.rmdir()


def situations(cpus: list[int]) -> dict[str, tuple[Callable[[], Any], float]]:
    """Name -> what makes it, and how many of the cores it leaves."""
    p = len(cpus)
    found: dict[str, tuple[Callable[[], Any], float]] = {
        "idle": (contextlib.nullcontext, p),
        "hog on one core": (lambda: hog(cpus[-1:]), p - 0.5),
        "hog, nice 10": (lambda: hog(cpus[-1:], nice=10), p - 110 / (1024 + 110)),
        "hog, 1 s in 2 s": (lambda: hog(cpus[-1:], idle=1.0), p - 0.25),
        "hog that moves": (lambda: hog(cpus, moves=True), p - 0.5),
        "hetsched twice": (lambda: running(OTHER), p / 2),
    }
    if os.geteuid() == 0 and CGROUP.parent.joinpath("cpu.cfs_quota_us").exists():
        for share in (0.25, 0.5, 0.75):
            found[f"a core at {share:.0%}"] = (
                lambda share=share: taken(cpus[-1], 1 - share),
                p - 1 + share,
            )
    else:
        print("no quotas: they need root and a cgroup of version 1")
    return found


def rate(call: Callable[[], object], flops: float, seconds: float) -> float:
    """GFLOP/s of calls one after the other."""
    time.sleep(PAUSE)
    call()
    count, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        call()
        count += 1
    return count * flops / passed / 1e9


class StarPU:
    """One of its programs under one of its schedulers."""

    def __init__(self, program: str, threads: int, scheduler: str) -> None:
        self.program, self.threads = program, threads
        self.home = tempfile.TemporaryDirectory(prefix="starpu-")
        self.environment = starpu_environment(threads, scheduler, self.home.name)
        self.unit = 1
        # as Debian builds it a tenth of the iterations that were asked for are done
        if self.run(100, 1, 1) == 0.0:
            self.unit = 10
        # n -> GFLOP/s on idle cores, blocks in each direction
        self.best: dict[int, tuple[float, int]] = {}

    def run(self, n: int, blocks: int, products: int, calibrate: bool = False) -> float:
        """GFLOP/s that it reports; 0.0 without any."""
        sizes = [
            self.program,
            "-size",
            str(n),
            "-nblocks",
            str(blocks),
            "-iter",
            str(products * self.unit),
        ]
        lines = output_of(
            sizes, {**self.environment, "STARPU_CALIBRATE": str(int(calibrate))}
        ).splitlines()
        return max((float(line.split()[-1]) for line in lines if line[:1].isdigit()), default=0.0)

    def rate(self, n: int, seconds: float) -> float:
        """The first time for n, when the cores are idle, it looks for the best number of blocks."""
        if n not in self.best:
            choices = [
                b for b in range(2, n) if n % b == 0 and b * b >= 2 * self.threads and n // b >= 100
            ][:5] or [1]
            # tasks are known after ten
            self.best[n] = max((self.run(n, b, 3, calibrate=True), b) for b in choices)
        expected, blocks = self.best[n]
        return self.run(n, blocks, max(1, round(seconds * expected * 1e9 / (2.0 * n**3))))


def starpu_peers(dtype: str, threads: int) -> dict[str, StarPU]:
    name = {"float64": "dgemm", "float32": "sgemm"}[dtype]
    program = starpu_example(name)
    if program is None:
        print(f"no {name} of StarPU: apt install starpu-examples")
        return {}
    return {
        f"StarPU {scheduler}": StarPU(program, threads, scheduler) for scheduler in ("dmda", "lws")
    }


Rates = dict[str, Callable[[float], float]]


def rates_of(n: int, dtype: str, others: dict[str, StarPU]) -> dict[str, Rates]:
    """Products and factorisations, hetsched first: GFLOP/s in so many seconds."""
    from scipy.linalg import lu_factor

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, n, n)).astype(dtype)
    c = np.zeros((n, n), dtype)
    flops = 2.0 * n**3
    products: Rates = {"hetsched": partial(rate, lambda: hs.matmul(a, b, c), flops)}
    products |= {
        name: partial(rate, partial(f, a, b, c), flops)
        for name, f in peers(topology().worth).items()
    }
    products |= {name: partial(other.rate, n) for name, other in others.items()}
    factors: Rates = {
        "hetsched": partial(rate, lambda: hs.lu_factor(a, check_finite=False), flops / 3),
        "scipy": partial(rate, lambda: lu_factor(a, check_finite=False), flops / 3),
    }
    return {"matmul": products, "lu_factor": factors}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sizes", type=int, nargs="*", default=[1000, 2000, 4000])
    options.add_argument(
        "--dtypes", nargs="*", choices=["float64", "float32"], default=["float64", "float32"]
    )
    options.add_argument(
        "--seconds",
        type=float,
        default=4.0,
        help="of each measurement; of whole periods of the hogs",
    )
    options.add_argument("--only", nargs="*", help="situations, by the start of their names")
    given = options.parse_args()
    host = topology()
    print_machine("SciPy")
    peers(host.worth)  # it chooses the kernels of BLIS, for the processes that are started here too
    for dtype in given.dtypes:
        others = starpu_peers(dtype, host.worth)
        for n in given.sizes:
            for what, functions in rates_of(n, dtype, others).items():
                names = list(functions)
                print(
                    f"\n{what}, n = {n}, {dtype}: GFLOP/s, fraction of what the cores leave,"
                    " hetsched / best peer"
                )
                heads = " ".join(f"{name:>16}" for name in names)
                print(f"{'':>16} {'cores':>6} {heads}  ratio", flush=True)
                whole = 0.0
                for situation, (make, cores) in situations(list(host.places)).items():
                    if (
                        given.only
                        and situation != "idle"
                        and not any(situation.startswith(word) for word in given.only)
                    ):
                        continue
                    with make():
                        rates = [functions[name](given.seconds) for name in names]
                    whole = whole or rates[0]
                    fractions = [rate / (whole * cores / host.worth) for rate in rates]
                    cells = " ".join(
                        f"{rate:9.1f} ({fraction:4.2f})"
                        for rate, fraction in zip(rates, fractions, strict=True)
                    )
                    print(
                        f"{situation:>16} {cores:6.2f} {cells}  {rates[0] / max(rates[1:]):5.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
