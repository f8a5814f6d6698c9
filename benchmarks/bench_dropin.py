"""Whole programs with `libhetsched_blas.so` and without, in turns: what `hetsched exec` brings to
programs that are not changed.

Each program runs in a process of its own, and times its repetitions without imports and data; the
figure is the median of the ratios of neighbouring processes' medians (time without / time with).
OpenBLAS, which NumPy and SciPy bring, is told its best kernel for this processor; Octave and R use
the libblas and liblapack that --blas names, or the system's. With --busy somebody else's program
computes on the first core all the time; with --quota the program may use so many cores' worth of
time (as root).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent / "programs"
PYTHON = ["kernel_ridge", "ridge", "pca", "gaussian_process", "ols", "als", "solve", "matmul"]


def command(name: str, repeats: int) -> list[str] | None:
    """How a program is started, or None where what runs it is not there."""
    if name == "octave":
        return (
            ["octave-cli", "--norc", str(HERE / "programs.m"), str(repeats)]
            if shutil.which("octave-cli")
            else None
        )
    if name == "R":
        return (
            ["Rscript", "--vanilla", str(HERE / "programs.R"), str(repeats)]
            if shutil.which("Rscript")
            else None
        )
    return [sys.executable, str(HERE / "programs.py"), name, str(repeats)]


@contextlib.contextmanager
def quota(cores: float | None) -> Iterator[list[str]]:
    """What a command begins with that is to have so many cores' worth of time."""
    if cores is None:
        yield []
        return
    root = Path("/sys/fs/cgroup")
    first = (root / "cpu").is_dir()
    group = (root / "cpu" if first else root) / "hetsched-benchmark"
    group.mkdir()
    try:
        if first:
            (group / "cpu.cfs_quota_us").write_text(str(int(cores * 100_000)))
        else:
            (group / "cpu.max").write_text(f"{int(cores * 100_000)} 100000")
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        time.sleep(0.2)
        group.rmdir()


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    done = subprocess.run(arguments, env=environment, check=True, capture_output=True, text=True)
    return statistics.median(float(line) for line in done.stdout.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "programs",
        nargs="*",
        default=[*PYTHON, "octave", "R", "joblib", "joblib_multiprocessing", "fork"],
    )
    parser.add_argument("--repeats", type=int, default=5, help="in each process")
    parser.add_argument("--turns", type=int, default=3, help="processes of each")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--quota", type=float, metavar="CORES")
    parser.add_argument("--library", help="default: the one that is installed")
    parser.add_argument(
        "--blas", help="folder with the libblas.so.3 and liblapack.so.3 of Octave and R"
    )
    parser.add_argument(
        "--core-type",
        default="SKYLAKEX" if "avx512dq" in Path("/proc/cpuinfo").read_text() else "",
        help="OPENBLAS_CORETYPE",
    )
    given = parser.parse_args()
    library = given.library
    if library is None:
        from hetsched.machine.dropin import library as installed

        library = str(installed())
    plain = dict(os.environ)
    if given.core_type:
        plain["OPENBLAS_CORETYPE"] = given.core_type
    if given.blas:
        plain["LD_LIBRARY_PATH"] = given.blas
        plain["R_LD_LIBRARY_PATH"] = f"{given.blas}:/usr/lib/R/lib"
    preloaded = {**plain, "LD_PRELOAD": library}
    print(
        f"# {platform.processor() or platform.machine()}, {os.cpu_count()} cpus,"
        f" {'one busy' if given.busy else 'idle'}"
        + (f", a quota of {given.quota:g}" if given.quota else "")
    )
    with quota(given.quota) as limited:
        compare(given, limited, plain, preloaded)


def compare(
    given: argparse.Namespace, limited: list[str], plain: dict[str, str], preloaded: dict[str, str]
) -> None:
    neighbour = None
    if given.busy:
        neighbour = subprocess.Popen(
            [sys.executable, "-c", "import os\nos.sched_setaffinity(0, {0})\nwhile True: pass"]
        )
        time.sleep(0.3)
    try:
        for name in given.programs:
            program = command(name, given.repeats)
            if program is None:
                print(f"{name:18} not installed")
                continue
            arguments = [*limited, *program]
            pairs = [
                (seconds(arguments, plain), seconds(arguments, preloaded))
                for _ in range(given.turns)
            ]
            ratio = statistics.median(without / with_ for without, with_ in pairs)
            without, with_ = (statistics.median(pair[i] for pair in pairs) for i in range(2))
            print(
                f"{name:18} {without * 1e3:9.1f} ms {with_ * 1e3:9.1f} ms   {ratio:5.2f}",
                flush=True,
            )
    finally:
        if neighbour is not None:
            neighbour.kill()


if __name__ == "__main__":
    main()
