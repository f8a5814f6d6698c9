"""Speedup of whole, unmodified programs under `hetsched exec` (time without / time with).

Each program runs in a process of its own, which times some repetitions without imports and without
reading data. Processes with `libhetsched_blas.so` and without it take turns. The figure is the
median ratio of back-to-back processes. OpenBLAS, which comes with NumPy and SciPy, is told its best
kernel for this processor. Octave and R use the libblas and liblapack in the folder of --blas, or
the system's. With --busy another program computes on the first core all the time. With --quota the
program has a CPU quota of so many cores (as root).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from common import busy_programs, core_type, parser, print_machine

HERE = Path(__file__).parent / "programs"
PYTHON = ["kernel_ridge", "ridge", "pca", "gaussian_process", "ols", "als", "solve", "matmul"]


def command(name: str, repeats: int) -> list[str] | None:
    """How a program is started, or None where what runs it is not there."""
    if name == "octave":
        words = ["octave-cli", "--norc", str(HERE / "programs.m")]
    elif name == "R":
        words = ["Rscript", "--vanilla", str(HERE / "programs.R")]
    else:
        words = [sys.executable, str(HERE / "programs.py"), name]
    return [*words, str(repeats)] if shutil.which(words[0]) else None


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
    options = parser(__doc__)
    options.add_argument(
        "programs",
        nargs="*",
        default=[*PYTHON, "octave", "R", "joblib", "joblib_multiprocessing", "fork"],
    )
    options.add_argument("--repeats", type=int, default=5, help="in each process")
    options.add_argument("--turns", type=int, default=3, help="processes of each")
    options.add_argument("--busy", action="store_true")
    options.add_argument("--quota", type=float, metavar="CORES")
    options.add_argument("--library", help="default: the one that is installed")
    options.add_argument(
        "--blas", help="folder with the libblas.so.3 and liblapack.so.3 of Octave and R"
    )
    options.add_argument("--core-type", default=core_type(), help="OPENBLAS_CORETYPE")
    given = options.parse_args()
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
    print_machine("SciPy")
    quota_text = f", a quota of {given.quota:g} cores" if given.quota else ""
    print(f"{'one core busy' if given.busy else 'no other program'}{quota_text}")
    with quota(given.quota) as limited:
        compare(given, limited, plain, preloaded)


def compare(
    given: argparse.Namespace, limited: list[str], plain: dict[str, str], preloaded: dict[str, str]
) -> None:
    with busy_programs(int(given.busy), pinned=given.busy):
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


if __name__ == "__main__":
    main()
