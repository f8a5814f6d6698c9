"""Whole, unmodified programs under `hetsched exec` in several situations, each compared with the
best number of BLAS threads that a user could have set for it.

The static choices for a program without hetsched are the default threads of its BLAS, one thread,
and one thread for each core. The best static choice is the fastest of them for this program in this
situation. A ratio is its time divided by the time under `hetsched exec`: at 1 or more, the user
does not need to choose. The goal, for each situation and for all together, is a geometric mean of
at least 1.0 and no ratio below 0.9.

Each measurement is a process of its own (programs/run.py). The processes of a round start, import
and make their data at the same time. Then they take turns: each warms up, times its work and ends
before the next one begins. A ratio is the median of the ratios within the rounds. A process that
does not answer within --limit seconds is killed and counts as failed.

With --most-rounds a cell whose ratio is still below 0.95 has more rounds, so that a few disturbed
rounds do not decide about the worst ratio. All its rounds count.

With --control each static choice has a second process, at the end of each round. The ratio of the
best choice to its own second process says what the noise of the machine, and the choice of the
fastest, do to the ratio of equal programs. The data of these processes are in memory, too.

OpenBLAS, which comes with NumPy and SciPy, is told its best kernel for this processor. Quotas need
root and a writable cpu controller of cgroups, version 1 or 2. Programs in Octave and R need
octave-cli and Rscript. They use the libblas and liblapack in the folder of --blas, or the system's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common import busy_programs, core_type, machine_lines, parser, threads_text

import hetsched as hs

Command = tuple[list[str], dict[str, str]]

HERE = Path(__file__).parent / "programs"
LEAST_WORST, LEAST_MEAN = 0.9, 1.0
#: Cells with a ratio below this have more rounds, up to --most-rounds.
CLOSE = 0.95

#: Variables by which a program's libraries are told a number of threads.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

#: Program of programs.py -> what it does.
PROGRAMS = {
    "kernel_ridge": "scikit-learn KernelRidge, rbf, 3000 x 300",
    "ridge": "scikit-learn Ridge, 20000 x 500",
    "linear_regression": "scikit-learn LinearRegression (gelsd), 5000 x 200",
    "pca": "scikit-learn PCA, randomized, 5000 x 1000",
    "pca_full": "scikit-learn PCA, full, 2000 x 300",
    "gaussian_process": "scikit-learn Gaussian process, 2000 x 20",
    "ols": "NumPy: QR and inverse of 20000 x 400",
    "als": "NumPy: a step of alternating least squares, 4000 x 3000, rank 200",
    "solve": "NumPy: solve, slogdet, inv, 2000",
    "matmul": "NumPy: two products, 1500",
    "solve_product": "NumPy: 60 x (solve and product of 400)",
    "eigh": "NumPy: eigh, 600",
    "svd": "NumPy: svd, 500",
    "eig": "NumPy: eig, 300",
    "tiny_eigh": "NumPy: 10,000 x eigh of 2 x 2 to 4 x 4",
}
#: Program -> its function in programs.m, and what it does.
OCTAVE = {
    "octave": ("dense", "Octave: A*B, A'*A, A\\b, chol, inv, det, 1500"),
    "octave_eig": ("eig_svd", "Octave: eig of 300, svd of 500"),
}
#: The same for programs.R.
R = {
    "R": ("dense", "R: %*%, crossprod, solve, chol, chol2inv, 1500"),
    "R_prcomp": ("principal_components", "R: prcomp, 2000 x 300"),
}
TEXTS = PROGRAMS | {name: text for name, (_, text) in (OCTAVE | R).items()}
#: Programs that are also run with several copies of their work at once.
COPIED = ("solve_product", "eigh", "svd")


@dataclass(frozen=True)
class Situation:
    """What else the machine does, and how a program does its work (run.py)."""

    text: str
    busy: int = 0
    pinned: bool = False
    quota: float | None = None
    way: str = "alone"


SITUATIONS = {
    "idle": Situation("no other program"),
    "busy": Situation("beside a busy program, pinned to one core", busy=1, pinned=True),
    "busy2": Situation("beside two busy programs, not pinned", busy=2),
    "quota1": Situation("under a quota of 1.0 cpus", quota=1.0),
    "quota1.5": Situation("under a quota of 1.5 cpus", quota=1.5),
    "threads4": Situation("the work in each of 4 Python threads at once", way="threads"),
    "joblib2x2": Situation("the work 4 times, by joblib, 2 processes x 2 threads", way="joblib"),
    "fork2": Situation("the work 4 times, by 2 forked processes", way="fork"),
}


# ---- what is run ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A way to run every program: what comes before its command, and what its environment has."""

    before: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)


def static_choices(cores: int, cpus: int) -> dict[str, Choice]:
    counts = sorted({1, cores} - {cpus})  # the default is a thread for each cpu
    return {"default": Choice()} | {
        threads_text(count): Choice(environment=dict.fromkeys(THREADS, str(count)))
        for count in counts
    }


def again(choice: str) -> str:
    """The name of a static choice's second process."""
    return f"{choice}, again"


def hetsched_choices(earlier: str | None) -> dict[str, Choice]:
    own = str(Path(sys.executable).with_name("hetsched"))
    found = {"exec": Choice([own, "exec", "--"])}
    if earlier:
        found["before"] = Choice([earlier, "exec", "--"])
    return found


def plain_environment(blas: str | None) -> dict[str, str]:
    """The environment of this process without numbers of threads; blas: the folder with the BLAS of
    Octave and R."""
    found = {name: value for name, value in os.environ.items() if name not in THREADS}
    if blas:
        found["LD_LIBRARY_PATH"] = blas
        found["R_LD_LIBRARY_PATH"] = f"{blas}:/usr/lib/R/lib"
    return found


def command(name: str, way: str, seconds: float) -> list[str]:
    """How a program is started."""
    if name in OCTAVE:
        words = ["octave-cli", "--norc", "--no-history", str(HERE / "programs.m"), OCTAVE[name][0]]
    elif name in R:
        words = ["Rscript", "--vanilla", str(HERE / "programs.R"), R[name][0]]
    else:
        words = [sys.executable, str(HERE / "run.py"), name, way]
    return [*words, str(seconds)]


def installed(name: str) -> bool:
    return shutil.which(command(name, "alone", 0.0)[0]) is not None


# ---- situations ----------------------------------------------------------------------------------


@contextlib.contextmanager
def quota(cpus: float | None) -> Iterator[list[str]]:
    """What a command begins with that is to have so many cpus' worth of time.

    Raises
    ------
    OSError
        Such a group cannot be made here.
    """
    if cpus is None:
        yield []
        return
    root, period = Path("/sys/fs/cgroup"), 100_000
    first = (root / "cpu").is_dir()
    if not first:
        (root / "cgroup.subtree_control").write_text("+cpu")
    group = (root / "cpu" if first else root) / f"hetsched-benchmark-{os.getpid()}"
    group.mkdir()
    try:
        if first:
            (group / "cpu.cfs_quota_us").write_text(str(int(cpus * period)))
        else:
            (group / "cpu.max").write_text(f"{int(cpus * period)} {period}")
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        remove(group)


def remove(group: Path) -> None:
    """Remove a cgroup. It is in use until the kernel has done with its last process."""
    for _ in range(50):
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    group.rmdir()


@contextlib.contextmanager
def made(situation: Situation) -> Iterator[list[str]]:
    """In a situation: what each command begins with."""
    with quota(situation.quota) as limited, busy_programs(situation.busy, pinned=situation.pinned):
        yield limited


def why_not(situation: Situation) -> str:
    """Why a situation cannot be made here, or ""."""
    try:
        with quota(situation.quota):
            return ""
    except OSError as error:
        return str(error)


# ---- measurements --------------------------------------------------------------------------------


class Process:
    """One measurement. `failed` is "hung" or "failed" if there is none, else empty."""

    def __init__(self, words: list[str], environment: Mapping[str, str], limit: float) -> None:
        self.limit, self.failed = limit, ""
        self.process = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that the processes that it starts are killed with it
        )

    def next_line(self) -> str:
        """The next line that it prints, or "" if it fails."""
        timer = threading.Timer(self.limit, self._hang)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if not line:
            self.failed = self.failed or "failed"
        return line

    def seconds(self) -> float:
        """Let it do its work and end: the seconds of one repetition, NaN if it fails."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("go\n")
            self.process.stdin.close()  # Octave reads a line only when it sees what follows
        line = self.next_line()
        try:
            if self.process.wait(self.limit) != 0:
                self.failed = self.failed or "failed"
        except subprocess.TimeoutExpired:
            self._hang()
        return math.nan if self.failed else float(line)

    def close(self) -> None:
        self._kill()
        with self.process:
            pass  # closes its pipes and waits for its end

    def _hang(self) -> None:
        self.failed = "hung"
        self._kill()

    def _kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass
class Cell:
    """A program in a situation: seconds of each choice in each round, or why it has none.

    static : names of the static choices
    """

    program: str
    situation: str
    static: list[str]
    seconds: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def median(self, choice: str) -> float:
        return statistics.median(self.seconds[choice])

    @property
    def best(self) -> str:
        """The fastest static choice, "" if all failed."""
        there = [choice for choice in self.static if choice not in self.failed]
        return min(there, key=self.median, default="")

    def ratio(self, choice: str, to: str = "exec") -> float:
        """Median over the rounds of time of the choice / time of another one, by default of
        `hetsched exec`; NaN if one failed or was not run."""
        if any(name in self.failed or name not in self.seconds for name in (choice, to)):
            return math.nan
        pairs = zip(self.seconds[choice], self.seconds[to], strict=True)
        return statistics.median(other / own for other, own in pairs)

    @property
    def control(self) -> float:
        """The ratio of the best static choice to its second process."""
        return self.ratio(self.best, again(self.best))

    def text(self, choice: str) -> str:
        return self.failed.get(choice) or f"{self.median(choice):.4f}"

    def ratio_text(self, choice: str) -> str:
        if "exec" in self.failed:
            return self.failed["exec"]
        ratio = self.ratio(choice)
        return "-" if math.isnan(ratio) else f"{ratio:.2f}"


def measure(
    cell: Cell,
    commands: Mapping[str, Command],
    rounds: int,
    limit: float,
    most_rounds: int = 0,
) -> None:
    """Fill a cell. The choices take turns; one that has failed is left out of the other rounds.

    most_rounds : as long as the ratio is below CLOSE, there are more rounds, up to this number
    """
    for done in range(max(rounds, most_rounds)):
        if done >= rounds and not cell.ratio(cell.best) < CLOSE:
            return
        with contextlib.ExitStack() as stack:
            processes: dict[str, Process] = {}
            for choice, (words, environment) in commands.items():
                if choice not in cell.failed:
                    processes[choice] = Process(words, environment, limit)
                    stack.callback(processes[choice].close)
            for process in processes.values():
                process.next_line()  # it is ready
            for choice, process in processes.items():
                seconds = process.seconds()
                if process.failed:
                    cell.failed[choice] = process.failed
                else:
                    cell.seconds.setdefault(choice, []).append(seconds)


# ---- what is printed -----------------------------------------------------------------------------


def summary(cells: list[Cell], choice: str = "") -> tuple[float, float, str]:
    """The figures of a choice's ratios, by default of each cell's best static one."""
    return figures_of(cells, lambda cell: cell.ratio(choice or cell.best))


def figures_of(cells: list[Cell], ratio_of: Callable[[Cell], float]) -> tuple[float, float, str]:
    """Geometric mean and least of the ratios, and the program and situation of the least. Cells
    without a ratio do not count."""
    there = [(ratio, cell) for cell in cells if not math.isnan(ratio := ratio_of(cell))]
    if not there:
        return math.nan, math.nan, "none"
    worst, cell = min(there, key=lambda pair: pair[0])
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in there))
    return mean, worst, f"{cell.program}, {cell.situation}"


def verdict(cells: list[Cell]) -> str:
    """The figures of some cells, and whether they meet the goal. A program that fails under
    `hetsched exec` misses it."""
    mean, worst, where = summary(cells)
    failed = sum("exec" in cell.failed for cell in cells)
    figures = f"geometric mean {mean:.2f}, worst {worst:.2f} ({where})"
    if failed:
        figures += f", {failed} failed under hetsched exec"
    met = worst >= LEAST_WORST and mean >= LEAST_MEAN and not failed
    goal = f"the goal (mean {LEAST_MEAN:.1f}, worst {LEAST_WORST:.1f})"
    return f"{figures}: {goal} is {'met' if met else 'missed'}"


def print_head(contenders: list[str]) -> None:
    names = " ".join(f"{choice:>10}" for choice in contenders)
    earlier = "  before / exec" if "before" in contenders else ""
    print(f"{'seconds':18} {names}  {'best static':11}  best static / exec{earlier}", flush=True)


def print_row(cell: Cell, contenders: list[str]) -> None:
    times = " ".join(f"{cell.text(choice):>10}" for choice in contenders)
    earlier = f"  {cell.ratio_text('before'):>13}" if "before" in contenders else ""
    print(
        f"{cell.program:18} {times}  {cell.best or '-':11}  {cell.ratio_text(cell.best):>18}"
        f"{earlier}",
        flush=True,
    )


def control_text(cells: list[Cell]) -> str:
    """Geometric mean and least of the ratios of the best static choice to its second process, and
    how many are below the goal; "" if there are none."""
    there = [cell for cell in cells if not math.isnan(cell.control)]
    if not there:
        return ""
    mean, worst, where = figures_of(there, lambda cell: cell.control)
    low = sum(cell.control < LEAST_WORST for cell in there)
    return (
        f"geometric mean {mean:.2f}, worst {worst:.2f} ({where}), {low} of {len(there)} below"
        f" {LEAST_WORST:.1f}"
    )


def print_verdicts(cells: list[Cell], contenders: list[str]) -> None:
    """One line for each situation and one for all."""
    print()
    situations = list(dict.fromkeys(cell.situation for cell in cells))
    for situation in situations:
        own = [cell for cell in cells if cell.situation == situation]
        print(f"{situation}: {verdict(own)}")
        if control := control_text(own):
            print(f"{situation}: the best static choice beside itself: {control}")
    print(f"all: {verdict(cells)}")
    if "before" in contenders:
        mean, worst, where = summary(cells, "before")
        print(f"before / exec: geometric mean {mean:.2f}, worst {worst:.2f} ({where})")


def print_table(cells: list[Cell]) -> None:
    """Best static / exec, programs by situations, and what the situations are: in Markdown."""
    situations = list(dict.fromkeys(cell.situation for cell in cells))
    ratios = {(cell.program, cell.situation): cell.ratio_text(cell.best) for cell in cells}
    print("\n| best static choice / hetsched exec | " + " | ".join(situations) + " |")
    print("|---" * (1 + len(situations)) + "|")
    for program in dict.fromkeys(cell.program for cell in cells):
        row = [ratios.get((program, situation), "") for situation in situations]
        print(f"| {TEXTS[program]} | " + " | ".join(row) + " |")
    for what, index in (("geometric mean", 0), ("worst", 1)):
        own = [[cell for cell in cells if cell.situation == name] for name in situations]
        row = [f"{summary(each)[index]:.2f}" for each in own]
        print(f"| {what} | " + " | ".join(row) + " |")
    print()
    for name in situations:
        print(f"- {name}: {SITUATIONS[name].text}")


def written(cells: list[Cell], machine: list[str], given: argparse.Namespace) -> str:
    """All seconds in JSON."""
    found = {
        "machine": machine,
        "seconds of a measurement": given.seconds,
        "situations": {name: SITUATIONS[name].text for name in given.situations},
        "cells": [
            {
                "program": cell.program,
                "situation": cell.situation,
                "seconds": cell.seconds,
                "failed": cell.failed,
                "best static": cell.best,
                "control": None if math.isnan(cell.control) else cell.control,
                "ratio": None if math.isnan(cell.ratio(cell.best)) else cell.ratio(cell.best),
            }
            for cell in cells
        ],
    }
    return json.dumps(found, indent=1)


# ---- the run -------------------------------------------------------------------------------------


def options() -> argparse.ArgumentParser:
    made = parser(__doc__, quick=True)
    made.add_argument("--programs", nargs="+", choices=TEXTS, default=list(TEXTS))
    made.add_argument("--situations", nargs="+", choices=SITUATIONS, default=list(SITUATIONS))
    made.add_argument("--rounds", type=int, help="default: 5, or 1 with --quick")
    made.add_argument("--most-rounds", type=int, default=0, help=f"for ratios below {CLOSE:g}")
    made.add_argument(
        "--seconds",
        type=float,
        help="least time of a measurement (default: 0.3, or 0.1 with --quick)",
    )
    made.add_argument(
        "--limit", type=float, default=60.0, help="seconds after which a process has hung"
    )
    made.add_argument("--before", metavar="HETSCHED", help="bin/hetsched of an earlier version")
    made.add_argument("--control", action="store_true", help="each static choice twice")
    made.add_argument("--json", type=Path, metavar="FILE", help="where all seconds are written")
    made.add_argument("--blas", help="folder with the BLAS and LAPACK of Octave and R")
    made.add_argument("--core-type", default=core_type(), help="OPENBLAS_CORETYPE")
    return made


def cells_of(
    situation: str,
    static: dict[str, Choice],
    adaptive: dict[str, Choice],
    given: argparse.Namespace,
) -> Iterator[Cell]:
    """Each program in a situation, as soon as it is measured."""
    way = SITUATIONS[situation].way
    plain = plain_environment(given.blas)
    with made(SITUATIONS[situation]) as limited:
        for name in given.programs:
            if not installed(name) or (way != "alone" and name not in COPIED):
                continue
            words = command(name, way, given.seconds)
            commands = {
                choice: ([*limited, *how.before, *words], plain | how.environment)
                for choice, how in (static | adaptive).items()
            }
            cell = Cell(name, situation, list(static))
            measure(cell, commands, given.rounds, given.limit, given.most_rounds)
            yield cell


def main() -> None:
    # cgroups are removed and processes are killed in any case
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = options().parse_args()
    given.rounds = given.rounds or (1 if given.quick else 5)
    given.seconds = given.seconds or (0.1 if given.quick else 0.3)
    if given.core_type:
        os.environ["OPENBLAS_CORETYPE"] = given.core_type
    machine = machine_lines("SciPy", "scikit-learn", "joblib")
    print(*machine, sep="\n")
    rounds = f"{given.rounds} round{'s' if given.rounds > 1 else ''}"
    if given.most_rounds > given.rounds:
        rounds += f", up to {given.most_rounds} for ratios below {CLOSE:g}"
    print(f"{rounds}, at least {given.seconds:g} s of work in each")
    for name in given.programs:
        if not installed(name):
            print(f"{name} is left out: {command(name, 'alone', 0.0)[0]} is not installed")
    static = static_choices(len(hs.topology().places), hs.topology().cpus)
    adaptive = hetsched_choices(given.before)
    contenders = [*static, *adaptive]
    if given.control:
        adaptive |= {again(choice): how for choice, how in static.items()}
    cells: list[Cell] = []
    for situation in given.situations:
        print(f"\n{situation}: {SITUATIONS[situation].text}")
        if reason := why_not(SITUATIONS[situation]):
            print(f"left out: {reason}")
            continue
        print_head(contenders)
        for cell in cells_of(situation, static, adaptive, given):
            print_row(cell, contenders)
            cells.append(cell)
    if not cells:
        sys.exit("nothing was measured: no such program is installed for these situations")
    print_verdicts(cells, contenders)
    print_table(cells)
    if given.json:
        given.json.write_text(written(cells, machine, given))


if __name__ == "__main__":
    main()
