"""Products and factorisations beside other work: hetsched against numpy.matmul, plain BLIS and scipy.linalg.lu_factor.

For each situation a library computes without a pause for some seconds. A rate is given as a fraction of what was to be had:
that of hetsched on idle cores (`idle`, measured first), times the share of the cores' time that the scheduler leaves to a process
with a busy thread of normal priority on each. Quotas need root and a cgroup (version 1): there a hog of the highest priority
takes a part of each 10 ms on one core.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_matmul import PAUSE, peers

import hetsched as hs
from hetsched import _engine
from hetsched.topology import topology

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
def hog(cpus: list[int], nice: int = 0, busy: float = 1.0, idle: float = 0.0, moves: bool = False) -> Iterator[None]:
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
            found[f"a core at {share:.0%}"] = (lambda share=share: taken(cpus[-1], 1 - share), p - 1 + share)
    else:
        print("no quotas: they need root and a cgroup of version 1")
    return found


def throughput(call: Callable[[], object], seconds: float) -> float:
    """Calls per second."""
    time.sleep(PAUSE)
    call()
    count, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        call()
        count += 1
    return count / passed


def calls(n: int, dtype: type) -> tuple[dict[str, Callable[[], object]], dict[str, Callable[[], object]]]:
    """Products, and factorisations; hetsched first."""
    from scipy.linalg import lu_factor

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, n, n)).astype(dtype)
    c = np.zeros((n, n), dtype)
    others = peers(topology().worth)
    products = {"hetsched": lambda: hs.matmul(a, b, c), **{name: (lambda f=f: f(a, b, c)) for name, f in others.items()}}
    factors = {"hetsched": lambda: hs.lu_factor(a, check_finite=False), "scipy": lambda: lu_factor(a, check_finite=False)}
    return products, factors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 2000, 4000])
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement; of whole periods of the hogs")
    parser.add_argument("--only", nargs="*", help="situations, by the start of their names")
    given = parser.parse_args()
    kernel, host = _engine.kernel(), topology()
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    print(f"{host.model or 'unknown'}, {host.worth} workers; Linux {platform.release()}, Python {platform.python_version()}")
    print(f"hetsched {hs.__version__} on {kernel['name']} {kernel['version']} {kernel['set']}; NumPy {np.__version__}", end=" ")
    print(f"with {blas['name']} {blas['version']}")
    for dtype in given.dtypes:
        for n in given.sizes:
            for what, flops, functions in zip(
                ("matmul", "lu_factor"), (2.0 * n**3, 2.0 * n**3 / 3), calls(n, np.dtype(dtype).type), strict=True
            ):
                names = list(functions)
                print(f"\n{what}, n = {n}, {dtype}: GFLOP/s, fraction of what was to be had, hetsched / best peer")
                print(f"{'':>16} {'cores':>6} " + " ".join(f"{name:>16}" for name in names) + "  ratio", flush=True)
                whole = 0.0
                for situation, (make, cores) in situations(list(host.places)).items():
                    if given.only and situation != "idle" and not any(situation.startswith(word) for word in given.only):
                        continue
                    with make():
                        rates = [throughput(functions[name], given.seconds) * flops / 1e9 for name in names]
                    whole = whole or rates[0]
                    fractions = [rate / (whole * cores / host.worth) for rate in rates]
                    cells = " ".join(f"{rate:9.1f} ({fraction:4.2f})" for rate, fraction in zip(rates, fractions, strict=True))
                    print(f"{situation:>16} {cores:6.2f} {cells}  {rates[0] / max(rates[1:]):5.2f}", flush=True)


if __name__ == "__main__":
    main()
