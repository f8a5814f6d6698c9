"""What several benchmarks share: options, the lines on the machine and the versions, and timing.

NumPy is imported only where it is needed: peer_blas chooses the peers' kernels before NumPy comes.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetsched import Trace

Call = Callable[[], object]

#: Seconds before the calls of another library: OpenBLAS's threads keep their cores busy for more
#: than 50 ms after a call.
PAUSE = 0.25


# ---- options -------------------------------------------------------------------------------------


def parser(doc: str | None, *, quick: bool = False) -> argparse.ArgumentParser:
    """A parser with the module's docstring, and with `--quick` if asked."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if quick:
        made.add_argument("--quick", action="store_true", help="a short run, with small sizes")
    return made


# ---- what is compared ----------------------------------------------------------------------------


def machine_lines(*peers: str) -> list[str]:
    """The machine, and the versions of hetsched, of NumPy with its BLAS, and of the peers.

    Parameters
    ----------
    *peers : str
        Names of installed distributions, such as "SciPy".
    """
    import numpy as np

    import hetsched as hs
    from hetsched._engine import kernels

    host, kernel = hs.topology(), kernels.kernel()
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    machine = (
        f"{host.model or platform.machine()}, {host.worth} workers on {host.cpus} of {host.online}"
        f" cpus{load}; {platform.system()} {platform.release()}, Python"
        f" {platform.python_version()}"
    )
    engine = " ".join(filter(None, (kernel["name"], kernel["version"], kernel["set"])))
    found = [f"hetsched {hs.__version__} on {engine}"]
    found.append(f"NumPy {np.__version__} with {blas['name']} {blas['version']}")
    found += [f"{name} {version(name)}" for name in peers]
    if core_type := os.environ.get("OPENBLAS_CORETYPE"):
        found.append(f"OPENBLAS_CORETYPE={core_type}")
    return [machine, "; ".join(found)]


def print_machine(*peers: str) -> None:
    """Print `machine_lines`."""
    print(*machine_lines(*peers), sep="\n", flush=True)


def threads_text(threads: int) -> str:
    return f"{threads} thread{'s' if threads > 1 else ''}"


def core_type() -> str:
    """The OPENBLAS_CORETYPE for a processor with AVX-512, "" for another one.

    OpenBLAS does not know all processors with AVX-512.
    """
    try:
        found = "avx512f" in Path("/proc/cpuinfo").read_text()
    except OSError:
        found = False
    return "SKYLAKEX" if found else ""


@contextlib.contextmanager
def busy_programs(count: int, *, pinned: bool = False) -> Iterator[None]:
    """With so many programs that compute all the time; pinned: on the first core that this process
    may use."""
    pin = f"os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n" if pinned else ""
    code = f"import os\n{pin}while os.getppid() == {os.getpid()}:\n for _ in range(10000): pass"
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", code]))
            stack.callback(process.kill)
        if count:
            time.sleep(0.3)  # until they have started
        yield


# ---- timing --------------------------------------------------------------------------------------


def seconds_of(call: Call, clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    call()
    return clock() - start


def seconds_each(
    call: Callable[..., object],
    *arguments: Any,
    calls: int,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds per call, of so many calls that are timed together."""
    start = clock()
    for _ in range(calls):
        call(*arguments)
    return (clock() - start) / calls


def least(
    call: Call,
    runs: int = 5,
    *,
    clock: Callable[[], float] = time.perf_counter,
    enough: float = math.inf,
) -> float:
    """Seconds of the fastest run; no further run is made after `enough` seconds in all."""
    found: list[float] = []
    while len(found) < runs and sum(found) < enough:
        found.append(seconds_of(call, clock))
    return min(found)


def turns(
    calls: Mapping[str, Call],
    rounds: int,
    repeats: int = 1,
    *,
    pause: float = PAUSE,
    warm: bool = True,
    enough: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of all timed calls of each library, by name. The libraries take turns.

    Parameters
    ----------
    calls : mapping of str to callable
    rounds : int
        Turns of each library.
    repeats : int
        Timed calls in a turn, at least.
    pause : float
        Seconds before each turn, for the threads of the library before to go to sleep.
    warm : bool
        Begin each turn with a call that is not timed.
    enough : float
        Calls in a turn are repeated until so many seconds have passed.
    clock : callable
        time.perf_counter, or time.process_time for CPU time.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(pause)
            if warm:
                call()
            own: list[float] = []
            while len(own) < repeats or sum(own) < enough:
                own.append(seconds_of(call, clock))
            times[name] += own
    return times


def medians(
    calls: Mapping[str, Call], rounds: int, repeats: int = 1, **more: Any
) -> dict[str, float]:
    """The medians of `turns`."""
    return {
        name: statistics.median(own) for name, own in turns(calls, rounds, repeats, **more).items()
    }


def median_run(run: Callable[[], Trace], runs: int = 5) -> tuple[Trace, float]:
    """The first of some traces of the same run, and the median of their makespans."""
    traces = [run() for _ in range(runs)]
    return traces[0], statistics.median(trace.makespan for trace in traces)
