"""Random mixtures of threads, processes, masks, limits and load under the drop-in library: right
results, and no hang.

    .venv/bin/python tests/mixtures.py [--seconds N] [--rounds N] [--seed S] [--round R] [--without]

Each round is a program of 1 to 8 threads that call NumPy and SciPy, while its main thread forks,
opens pools of processes, limits the BLAS with threadpoolctl, changes affinity masks, changes the
settings of the drop-in library, and multiplies in a handler of SIGALRM. Busy neighbours come and
go, and the CPU quota of its control group changes where the test may make one. The settings of the
library are drawn, too. --without leaves the drop-in library out: a finding that stays is not its.

What is compared:

- Each result is compared with the first result of the same call on the same operands, by a
  tolerance. The first result is compared with the forwarded library in the same way.
- In a strict round HETSCHED_DETERMINISTIC=1, the engine takes calls of every size on any number of
  workers, and the calls in `BITS` have one fate: all their routines are taken. So their results
  must have the bits of the first one.
- Drivers such as eigh, svd, eig and lstsq are forwarded, with a number of threads that depends on
  the load. They are compared by the tolerance alone.
- A number that threadpoolctl has set is read back while no call is in flight, and must be the one
  that was set, or after a limit has ended the one before it. Limits begin while no call is in
  flight, because threadpoolctl then reads the number to restore. They end while calls are in flight
  if the number before them is larger: another number may be one that the drop-in library has told
  for these calls, and would be lost.

A process forks while no call is in flight if a call of its round may be forwarded: OpenBLAS is not
safe there. Its threads end at a fork, whatever other threads of the program compute with them, and
the child inherits its locks. In the other rounds a process forks at any time.

A round that takes much longer than planned hangs: the stacks of all its threads are printed, in
Python by faulthandler, and in C by gdb if it is installed. The line printed with a finding repeats
it, as far as the timing does. Exit status 1 on findings.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.linalg

#: A process or round that takes so many seconds longer than planned hangs.
PATIENCE = 120.0
DTYPES = ("float32", "float64", "complex64", "complex128")
#: Columns of right-hand sides: the engine takes systems with fewer on several workers only.
COLUMNS = 48

# ---- calls ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operands:
    """A matrix with pivots far larger than the rest, a definite matrix, and right-hand sides."""

    general: Any
    definite: Any
    right: Any


def operands(seed: int, n: int, dtype: str) -> Operands:
    """Made without the BLAS, so that they are the same in each process."""
    rng = np.random.default_rng(seed)

    def normal(rows: int, cols: int) -> Any:
        found = rng.standard_normal((rows, cols))
        if dtype.startswith("complex"):
            found = (found + 1j * rng.standard_normal((rows, cols))) / np.sqrt(2)
        return found

    general = normal(n, n) / (2 * np.sqrt(n)) + 2 * np.eye(n)
    other = normal(n, n)
    definite = (other + other.conj().T) / (2 * np.sqrt(n)) + 3 * np.eye(n)
    made = general[rng.permutation(n)], definite, normal(n, COLUMNS)
    return Operands(*(x.astype(dtype) for x in made))


def _eig(x: Operands) -> Any:
    found = np.linalg.eigvals(x.general)
    return np.array([found.sum(), (found**2).sum(), abs(found).sum()])


def _eigh(x: Operands) -> Any:
    found, vectors = np.linalg.eigh(x.definite)
    return np.vstack([found, (vectors * found) @ vectors.conj().T])


def _svd(x: Operands) -> Any:
    left, found, right = np.linalg.svd(x.general)
    return np.vstack([found, (left * found) @ right])


#: Calls of routines that the engine takes, all of them.
BITS: dict[str, Callable[[Operands], Any]] = {
    "product": lambda x: x.general @ x.definite,
    "product of transposed": lambda x: x.general.T @ x.right,
    "matrix by vector": lambda x: x.general @ x.definite[0],
    "gram": lambda x: x.right.T @ x.right,
    "stack": lambda x: np.matmul(np.stack([x.general] * 3), x.right),
    "solve": lambda x: np.linalg.solve(x.general, x.right),
    "inverse": lambda x: np.linalg.inv(x.general),
    "cholesky": lambda x: np.linalg.cholesky(x.definite),
    "QR": lambda x: np.hstack(np.linalg.qr(x.general)),
    "LU": lambda x: scipy.linalg.lu_factor(x.general)[0],
    "LU solve": lambda x: scipy.linalg.lu_solve(scipy.linalg.lu_factor(x.general), x.right),
    "triangle": lambda x: scipy.linalg.solve_triangular(x.definite, x.right, lower=True),
}
#: Calls with a routine that is forwarded always or sometimes.
NEAR: dict[str, Callable[[Operands], Any]] = {
    "one right-hand side": lambda x: scipy.linalg.solve(x.general, x.right[:, 0]),
    "least squares": lambda x: np.linalg.lstsq(x.general, x.right, rcond=None)[0],
    "SciPy's inverse": lambda x: scipy.linalg.inv(x.general),
    "SciPy's QR": lambda x: np.hstack(scipy.linalg.qr(x.general)),
    "eigh": _eigh,
    "svd": _svd,
    "eig": _eig,
}


@dataclass(frozen=True)
class Case:
    """One call on operands of its own."""

    name: str
    seed: int
    n: int
    dtype: str

    def make(self) -> Callable[[], Any]:
        """The call, without arguments."""
        return partial((BITS | NEAR)[self.name], operands(self.seed, self.n, self.dtype))

    def is_near(self, found: Any, expected: Any) -> bool:
        scale = 50 * (self.n + 10) * np.finfo(self.dtype).eps
        return bool(np.abs(found - expected).max() <= scale * np.abs(expected).max())


def compute_in_pool(case: Case) -> Any:
    """A task of a pool of processes."""
    return case.make()()


# ---- plans of rounds -----------------------------------------------------------------------------

ACTIONS = ("fork", "processes", "limits", "masks", "alarm", "workers", "least")


@dataclass(frozen=True)
class Plan:
    """A round: all that is drawn before it begins.

    Parameters
    ----------
    workers : int
        At most so many of the drop-in library.
    strict : bool
        Whether calls in BITS must have the bits of the first result.
    actions : tuple of str
        What the main thread does, from ACTIONS.
    """

    seed: str
    seconds: float
    threads: int
    workers: int
    strict: bool
    actions: tuple[str, ...]
    cases: tuple[Case, ...]
    settings: dict[str, str]
    report: bool
    neighbours: bool
    quota: bool


def draw_plan(seed: int, number: int, seconds: float, largest: int = 400) -> Plan:
    """The plan of the round with that number, with matrices of at most that order."""
    rng = Random(f"{seed}/{number}")
    strict = rng.random() < 0.7
    actions = tuple(action for action in ACTIONS if rng.random() < 0.5)
    if strict:
        actions = tuple(action for action in actions if action != "least")
    settings = {"HETSCHED_BLAS_LEAST": "0", "HETSCHED_DETERMINISTIC": "1"}
    if not strict:
        settings["HETSCHED_DETERMINISTIC"] = rng.choice("01")
        settings["HETSCHED_BLAS_LEAST"] = rng.choice(("0", "1e5", "1e6,alone=inf", "0,alone=inf"))
    settings["HETSCHED_BLAS_BEHIND"] = rng.choice(("auto", "auto", "own", "1"))
    settings["OPENBLAS_NUM_THREADS"] = rng.choice("122")
    return Plan(
        seed=f"{seed}/{number}",
        seconds=seconds,
        threads=rng.randint(1, 8),
        workers=rng.choice((1, 2, 2)),
        strict=strict,
        actions=actions,
        cases=draw_cases(rng, strict, largest),
        settings=settings,
        report=rng.random() < 0.6,
        neighbours=rng.random() < 0.5,
        quota=rng.random() < 0.4,
    )


def draw_cases(rng: Random, strict: bool, largest: int) -> tuple[Case, ...]:
    """A dozen calls, most of them of the engine."""
    cases = []
    share = rng.choice((0.8, 1.0)) if strict else 0.5
    for _ in range(12):
        names = list(BITS) if rng.random() < share else list(NEAR)
        n = rng.randint(2, rng.choice((8, largest // 4, largest)))
        cases.append(Case(rng.choice(names), rng.randrange(10**6), n, rng.choice(DTYPES)))
    return tuple(cases)


def read_plan(text: str) -> Plan:
    found = json.loads(text)
    found["cases"] = tuple(Case(**case) for case in found["cases"])
    return Plan(**found | {"actions": tuple(found["actions"])})


# ---- the program of a round ----------------------------------------------------------------------


class Finding(Exception):
    """What is wrong."""


class Gate:
    """Threads pass it for each call; the main thread can keep it while no call is in flight."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls = 0
        self._closed = False

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._calls += 1
        try:
            yield
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """The lock is kept, so that a process forked meanwhile has it, too."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._calls)
            try:
                yield
            finally:
                self._closed = False
                self._changed.notify_all()


def numbers_of_threads() -> dict[str, int]:
    """What each BLAS of this process says of its number of threads."""
    import threadpoolctl

    info = threadpoolctl.threadpool_info()
    return {lib["filepath"]: lib["num_threads"] for lib in info if lib["user_api"] == "blas"}


class Program:
    """A round in a process of its own."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rng = Random(plan.seed)
        self.calls = [case.make() for case in plan.cases]
        self.library = ctypes.CDLL(None)
        self.has_library = hasattr(self.library, "hetsched_blas_set_least")
        self.mask = sorted(os.sched_getaffinity(0))
        self.gate = Gate()
        self.findings: list[str] = []
        self.counts = {"calls": 0, "other": 0}
        self.is_in_handler = False
        self.expected = self.first_results()
        self.until = time.monotonic() + plan.seconds

    def first_results(self) -> list[Any]:
        """Each call's result, near that of the forwarded library."""
        expected = [call() for call in self.calls]
        self.set_least("inf")
        for case, call, found in zip(self.plan.cases, self.calls, expected, strict=True):
            if not case.is_near(found, call()):
                raise Finding(f"{case}: the first result is not near that of the forwarded library")
        self.set_least(self.plan.settings["HETSCHED_BLAS_LEAST"])
        return expected

    def set_least(self, text: str) -> None:
        if self.has_library:
            self.library.hetsched_blas_set_least(text.encode())

    # -- calls --

    def judge(self, number: int, found: Any) -> None:
        """Compare a result with the first one."""
        case, expected = self.plan.cases[number], self.expected[number]
        self.counts["calls"] += 1
        if found.tobytes() == expected.tobytes():
            return
        if self.plan.strict and case.name in BITS:
            self.counts["other"] += 1
            difference = np.abs(found - expected).max()
            print(f"other bits, by {difference:.3g}: {case}", file=sys.stderr, flush=True)
        if not case.is_near(found, expected):
            raise Finding(f"{case}: another result, by {np.abs(found - expected).max():.3g}")

    def call(self, rng: Random) -> None:
        number = rng.randrange(len(self.calls))
        self.judge(number, self.calls[number]())

    def call_until_end(self, seed: str) -> None:
        """The body of a thread."""
        rng = Random(seed)
        try:
            while time.monotonic() < self.until and not self.findings:
                with self.gate.call():
                    self.call(rng)
                if rng.random() < 0.05:
                    time.sleep(rng.random() / 50)
                if "masks" in self.plan.actions and rng.random() < 0.05:
                    os.sched_setaffinity(0, self.draw_mask(rng))
        except Finding as finding:
            self.findings.append(str(finding))
        except BaseException:
            self.findings.append(traceback.format_exc())

    def call_some(self, rng: Random, most: int) -> None:
        for _ in range(rng.randint(1, most)):
            self.call(rng)

    # -- actions of the main thread --

    def may_fork(self) -> contextlib.AbstractContextManager[None]:
        """A moment at which the library behind lets the process fork."""
        is_engine = self.plan.strict and all(case.name in BITS for case in self.plan.cases)
        return contextlib.nullcontext() if is_engine else self.gate.quiet()

    def fork(self) -> None:
        """Work in a forked process, which ends in one of several ways."""
        seed = self.rng.random()
        with self.may_fork():
            child = os.fork()
        if child:
            self.wait_for(child)
            return
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        rng = Random(seed)
        self.counts = {"calls": 0, "other": 0}
        try:
            self.work_in_child(rng)
            status = 0
        except Finding as finding:
            print(f"in a forked process: {finding}", file=sys.stderr, flush=True)
            status = 3
        except Exception:
            traceback.print_exc()
            status = 3
        self.tell_counts()
        if rng.random() < 0.5:
            os._exit(status)
        sys.exit(status)

    def work_in_child(self, rng: Random) -> None:
        self.call_some(rng, 6)
        if rng.random() < 0.5:
            self.findings = []
            self.gate = Gate()
            self.until = time.monotonic() + 0.2
            threads = [
                threading.Thread(target=self.call_until_end, args=(f"c{i}",)) for i in (0, 1)
            ]
            for thread in threads:
                thread.start()
            self.call_some(rng, 3)
            for thread in threads:
                thread.join()
            if self.findings:
                raise Finding(self.findings[0])
        if rng.random() < 0.3:
            grandchild = os.fork()
            if not grandchild:
                self.call_some(rng, 3)
                os._exit(0)
            self.wait_for(grandchild)

    def wait_for(self, child: int) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                if status:
                    code = os.waitstatus_to_exitcode(status)
                    raise Finding(f"a forked process ended with {code}")
                return
            time.sleep(0.002)
        print(stacks(child), file=sys.stderr, flush=True)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise Finding("a forked process hangs")

    def processes(self) -> None:
        """Calls in a pool of processes."""
        method = self.rng.choice(("fork", "fork", "spawn", "forkserver"))
        numbers = [self.rng.randrange(len(self.calls)) for _ in range(6)]
        with self.may_fork():
            opened = multiprocessing.get_context(method).Pool(2)
        with opened as pool:
            tasks = [self.plan.cases[number] for number in numbers]
            try:
                found = pool.map_async(compute_in_pool, tasks).get(PATIENCE)
            except multiprocessing.TimeoutError:
                for process in multiprocessing.active_children():
                    print(stacks(process.pid), file=sys.stderr, flush=True)
                raise Finding(f"a pool of processes ({method}) hangs") from None
            pool.close()
            pool.join()
        for number, result in zip(numbers, found, strict=True):
            self.judge(number, result)

    def limits(self) -> None:
        """A limit of threadpoolctl, read back while no call is in flight."""
        import threadpoolctl

        count = self.rng.randint(1, 2)
        with self.gate.quiet():
            before = numbers_of_threads()
            limit = threadpoolctl.threadpool_limits(count, user_api="blas")
            self.require_numbers("set", dict.fromkeys(before, count))
        self.call_some(self.rng, 4)
        with self.gate.quiet():
            self.require_numbers("kept", dict.fromkeys(before, count))
        may_be_in_flight = min(before.values()) > count
        with contextlib.nullcontext() if may_be_in_flight else self.gate.quiet():
            limit.restore_original_limits()
        self.call_some(self.rng, 4)
        with self.gate.quiet():
            self.require_numbers("restored", before)

    def require_numbers(self, what: str, wanted: dict[str, int]) -> None:
        found = numbers_of_threads()
        if found != wanted:
            raise Finding(f"threads of the BLAS, {what}: {wanted}, but read back: {found}")

    def draw_mask(self, rng: Random) -> list[int]:
        return rng.sample(self.mask, rng.randint(1, len(self.mask)))

    def masks(self) -> None:
        """Another mask for all threads, the engine's included, as `taskset -a` sets it."""
        mask = self.draw_mask(self.rng)
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError):  # it has ended
                os.sched_setaffinity(int(task), mask)

    def alarm(self) -> None:
        """Products in a signal handler, for a while."""
        signal.setitimer(signal.ITIMER_REAL, 0.003, self.rng.choice((0.003, 0.02)))
        self.call_some(self.rng, 6)
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    def on_alarm(self, *_: object) -> None:
        if self.is_in_handler:
            return
        self.is_in_handler = True
        self.call(self.rng)
        self.is_in_handler = False

    def workers(self) -> None:
        if self.has_library:
            self.library.hetsched_blas_set_num_threads(self.rng.randint(1, 3))

    def least(self) -> None:
        self.set_least(self.rng.choice(("0", "inf", "1e4", "1e6,alone=inf", "inf,alone=0")))

    # -- all of it --

    def tell_counts(self) -> None:
        os.write(1, (json.dumps(self.counts) + "\n").encode())

    def act(self) -> None:
        """Each action once, then any of them."""
        signal.signal(signal.SIGALRM, self.on_alarm)
        first = list(self.plan.actions)
        while time.monotonic() < self.until and not self.findings:
            if self.plan.actions:
                getattr(self, first.pop() if first else self.rng.choice(self.plan.actions))()
            self.call(self.rng)
            time.sleep(self.rng.random() / 20)

    def run(self) -> int:
        body = self.call_until_end
        threads = [
            threading.Thread(target=body, args=(f"{self.plan.seed}/{i}",), daemon=True)
            for i in range(self.plan.threads)
        ]
        for thread in threads:
            thread.start()
        try:
            self.act()
        except Finding as finding:
            self.findings.append(str(finding))
        for thread in threads:
            thread.join()
        self.tell_counts()
        print(*self.findings, sep="\n", file=sys.stderr, flush=True)
        return 3 if self.findings else 0


def run_program(text: str) -> int:
    warnings.simplefilter("ignore", DeprecationWarning)  # fork of a process with threads
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    try:
        program = Program(read_plan(text))
    except Finding as finding:
        print(finding, file=sys.stderr)
        return 3
    return program.run()


def stacks(process: int | None) -> str:
    """The stacks of all threads in C. Those in Python the process prints on standard error."""
    if process is None:
        return ""
    said = ""
    if shutil.which("gdb"):
        command = ["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt 14"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        said = "\n".join(line for line in done.stdout.splitlines() if re.match("#|Thread", line))
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGUSR1)
        time.sleep(1.0)
    return said


# ---- what surrounds it ---------------------------------------------------------------------------


@contextlib.contextmanager
def control_group() -> Iterator[Path | None]:
    """An empty control group with the cpu controller, or None where none can be made."""
    for root, name in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"), ("/sys/fs/cgroup", "cpu.max")):
        path = Path(root) / f"hetsched-mixtures-{os.getpid()}"
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            yield path if (path / name).exists() else None
        finally:
            for _ in range(50):  # the last process may be about to end
                with contextlib.suppress(OSError):
                    path.rmdir()
                    break
                time.sleep(0.1)
        return
    yield None


def allow(group: Path, cpus: float | None) -> None:
    """Change the quota of a control group; None: no quota."""
    quota = -1 if cpus is None else int(cpus * 100000)
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{'max' if cpus is None else quota} 100000")
    else:
        (group / "cpu.cfs_quota_us").write_text(str(quota))


class Neighbours:
    """Processes that keep a cpu busy; they come and go."""

    def __init__(self) -> None:
        self.busy: list[subprocess.Popen[bytes]] = []

    def change(self, rng: Random) -> None:
        if self.busy and rng.random() < 0.5:
            self.end_one()
        elif len(self.busy) < 3:
            self.busy.append(subprocess.Popen(["sh", "-c", "while :; do :; done"]))

    def end_one(self) -> None:
        process = self.busy.pop()
        process.kill()
        process.wait()

    def end(self) -> None:
        while self.busy:
            self.end_one()


def disturb(plan: Plan, process: subprocess.Popen[bytes], group: Path | None) -> bool:
    """Change neighbours and quota until the process ends. Returns whether it hangs."""
    rng = Random(plan.seed + "/outside")
    neighbours = Neighbours()
    until = time.monotonic() + plan.seconds + PATIENCE + 60.0
    disturbed = time.monotonic() + plan.seconds
    try:
        while time.monotonic() < until:
            if plan.neighbours and time.monotonic() < disturbed:
                neighbours.change(rng)
            if time.monotonic() >= disturbed:
                neighbours.end()
            if group and plan.quota:
                is_late = time.monotonic() >= disturbed
                allow(group, None if is_late else rng.choice((0.4, 0.8, 1.2, 1.7, None)))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.05, 0.5))
                return False
    finally:
        neighbours.end()
    return True


def environment_of(plan: Plan, report: str | None, is_without: bool) -> dict[str, str]:
    from hetsched.machine import dropin

    given = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    given |= plan.settings
    if is_without:
        return given
    least = plan.settings["HETSCHED_BLAS_LEAST"]
    return dropin.environment(
        threads=plan.workers, least=least, report=report or False, given=given
    )


def run_round(plan: Plan, is_without: bool = False) -> tuple[list[str], dict[str, int]]:
    """The findings of a round, and its counts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
        control_group() as group,
    ):
        report = folder if plan.report else None
        process = subprocess.Popen(
            [sys.executable, __file__, "--program", json.dumps(asdict(plan))],
            env=environment_of(plan, report, is_without),
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        if group and plan.quota:
            with contextlib.suppress(OSError):
                (group / "cgroup.procs").write_text(str(process.pid))
        findings = []
        if disturb(plan, process, group):
            findings.append(f"the program hangs\n{stacks(process.pid)}")
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        out.seek(0)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
        counts = sum_counts(out.read().decode())
        if status or findings:
            findings.append(f"exit status {status}\n{said[-20000:]}")
        elif counts["other"]:
            findings.append(f"{counts['other']} results have other bits\n{said}")
        if report and not is_without:
            findings += faults_of_records(folder)
        return findings, counts


def sum_counts(text: str) -> dict[str, int]:
    counts = {"calls": 0, "other": 0}
    for line in text.splitlines():
        for name, count in json.loads(line).items():
            counts[name] += count
    return counts


def faults_of_records(folder: str) -> list[str]:
    """What the report says of files that are no records of a process."""
    from hetsched.machine import dropin

    lines = dropin.report(folder).splitlines()
    return [line for line in lines if "is left out of the report" in line]


def mix(
    seed: int,
    seconds: float | None = None,
    rounds: int | None = None,
    first: int = 0,
    length: float | None = None,
    largest: int = 400,
    is_without: bool = False,
    out: Any = None,
) -> list[str]:
    """So many rounds from the first one, or that long; prints and returns the findings."""
    began, number, total = time.monotonic(), first, {"calls": 0, "other": 0}
    all_findings = []
    while (rounds is None or number < first + rounds) and (
        seconds is None or time.monotonic() - began < seconds
    ):
        plan = draw_plan(seed, number, length or Random(f"{number}").uniform(2.0, 8.0), largest)
        findings, counts = run_round(plan, is_without)
        for name, count in counts.items():
            total[name] += count
        for finding in findings:
            text = (
                f"{finding}\n{plan}\nrepeats it: tests/mixtures.py --seed {seed} --round {number}"
            )
            print(text, file=out, flush=True)
            all_findings.append(text)
        number += 1
    print(
        f"seed {seed}: {number - first} rounds, {total['calls']} results,"
        f" {len(all_findings)} findings, {time.monotonic() - began:.0f} s",
        file=out,
        flush=True,
    )
    return all_findings


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, help="this one alone")
    parser.add_argument("--without", action="store_true", help="without the drop-in library")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.program:
        return run_program(given.program)
    if given.round is not None:
        return bool(mix(given.seed, rounds=1, first=given.round, is_without=given.without))
    if given.seconds is None and given.rounds is None:
        given.seconds = 60.0
    return bool(mix(given.seed, given.seconds, given.rounds, is_without=given.without))


if __name__ == "__main__":
    sys.exit(main())
