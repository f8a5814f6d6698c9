"""`hetsched demo`: products of real arrays on unequal workers, predicted and measured times."""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.replace import require_replaceable
from .._engine import kernels
from ..errors import EmulationWarning
from ..machine.topology import topology
from ..planners.partition import partition
from ..planners.product import ProductPlan
from ..platform import Platform
from ..plots.canvas import digits, write_figure
from ..plots.gantt import plot_trace
from ..runners.pool import Pool
from ..runners.shared import matmul
from ..trace import Trace
from .announcing import announcing
from .output import worker_table
from .report import Report

#: Three workers of the 2001 paper: the first is 8/3 as fast as the last.
CYCLE_TIMES = (3.0, 5.0, 8.0)
#: Speed of the emulated platform, relative to the host's measured speed.
_LOAD = 0.4
#: How much slower than usual the emulated workers are, one attempt after the other.
_SLOWER = (1.0, 4.0)
#: Seconds for which the threads of NumPy's BLAS may keep a core busy after a product.
_PAUSE = 0.25


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    demo = commands.add_parser(
        "demo",
        help="multiply real arrays on unequal workers and compare predicted and measured times",
    )
    demo.add_argument(
        "-o",
        "--output",
        default=".",
        metavar="DIR",
        help="folder for hetsched-demo.html and hetsched-demo.png (default: the current folder)",
    )
    demo.add_argument(
        "-n",
        "--size",
        type=int,
        default=3000,
        help="side of the large product (default: %(default)s)",
    )
    demo.set_defaults(command=_demo)


def _demo(given: argparse.Namespace) -> None:
    with announcing("running the demonstration, about half a minute", given.quiet):
        run_demo(given.output, given.size)


def run_demo(directory: str | Path, size: int = 3000) -> Path:
    """Run the demonstration, print its results, write hetsched-demo.html and hetsched-demo.png, and
    return the path of the first."""
    if size < 200:
        raise ValueError(f"size must be at least 200, got {size}")
    # Fail now, and not in the middle of the demonstration.
    for module in ("matplotlib.figure", "sklearn.datasets"):
        try:
            import_module(module)
        except ImportError as error:
            raise ImportError(
                f"the demonstration needs {module.split('.')[0]}: pip install 'hetsched[demo]'"
            ) from error
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "hetsched-demo.html"
    for written in (path, path.with_suffix(".png")):
        require_replaceable(written)
    report = Report("Matrix products on unequal workers")
    kernel, host = kernels.kernel(), topology()
    report.text(
        f"{host.model or 'This machine'}, {host.worth} workers on {host.cpus} of {host.online}"
        f" cpus; kernels: {kernel['name']} {kernel['version']}, {kernel['set']}"
        f" ({kernel['reason']})."
    )
    _digits(report)
    A, B = np.random.default_rng(2001).standard_normal((2, size, size))
    report.heading(f"2. A {size} x {size} product on emulated workers")
    _, plan, planned, equal = _compare(report, A, B)
    _real_cores(report, A, B)
    report.write(path)
    _picture(path.with_suffix(".png"), plan, planned, equal)
    print(f"\nReport with pictures: {path}")
    return path


def _emulated(gigaflops: float, seconds: float, slower: float) -> Pool:
    """A pool with the workers of the paper, at a fraction of the host's speed.

    The pool is slower if needed, so that the work takes at least `seconds`. All times are then
    multiplied by `slower`.
    """
    platform = Platform.star(CYCLE_TIMES)
    with Pool(1) as one:
        host = topology().worth / one.platform.cycle_times[0]
    total = platform.speeds.sum()
    return Pool(
        platform,
        emulate=True,
        time_scale=slower * max(total / (_LOAD * host), total * seconds / gigaflops),
    )


def _digits(report: Report) -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    half = len(digits.data) // 2
    new, known = digits.data[half:], digits.data[:half]
    report.heading(
        f"1. {len(new)} new images of handwritten digits compared with {len(known)} known ones, on"
        " emulated workers"
    )
    report.text(
        "Workers with cycle-times 3, 5 and 8: the first is 8/3 as fast as the last. "
        "Each worker computes some columns of the matrix of scalar products, new times knownᵀ."
    )
    products, *_ = _compare(report, new, known.T, seconds=1.0)
    # Squared distances, without the squared length of the new image, which does not change the
    # order.
    distances = (known**2).sum(axis=1) - 2.0 * products
    right = float(np.mean(digits.target[distances.argmin(axis=1)] == digits.target[half:]))
    report.text(
        "Sanity check: the nearest known image has the right label for"
        f" {right:.1%} of the new images."
    )


def _compare(
    report: Report, A: NDArray[Any], B: NDArray[Any], seconds: float = 0.0
) -> tuple[NDArray[Any], ProductPlan, Trace, Trace]:
    """Compare planned and equal split on the same emulated workers, and both with NumPy.

    If the host cannot keep up, because other programs use its cores, the runs are repeated with
    slower workers.
    """
    reference = A @ B
    (m, k), n = A.shape, B.shape[1]
    for slower in _SLOWER:
        with _emulated(2e-9 * m * n * k, seconds, slower) as pool:
            time.sleep(_PAUSE)
            plan = pool.plan(m, n, k)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", EmulationWarning)
                C, planned = pool.run(plan, A, B, trace=True)
                rows = partition([1.0] * len(pool), "rows", (m, n))
                D, equal = pool.run(rows, A, B, trace=True)
        late = [warning for warning in caught if issubclass(warning.category, EmulationWarning)]
        for warning in caught:
            if warning not in late:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        if not late:
            break
    if slower > 1.0:
        report.text(
            "The host could not keep up, so these emulated workers are"
            f" {slower:g} times slower than in the first attempt."
        )
    worst = max(float(np.abs(X - reference).max()) for X in (C, D)) / float(np.abs(reference).max())

    report.table(worker_table(plan, planned))
    report.text(
        f"Makespan: predicted {planned.predicted:.4f} s, measured {planned.makespan:.4f} s"
        f" ({_off(planned)})."
    )
    report.text(f"Certificate, in platform seconds (not scaled): {plan.certificate}.")
    gain = (
        f"The plan is {equal.makespan / planned.makespan:.2f} times as fast (predicted:"
        f" {_ratio(equal, planned):.2f})."
        if not late
        else f"The plan is predicted to be {_ratio(equal, planned):.2f} times as fast."
    )
    report.text(
        f"Equal split on the same workers: predicted {equal.predicted:.4f} s, measured"
        f" {equal.makespan:.4f} s ({_off(equal)}). {gain}"
    )
    for warning in late:
        report.text(
            f"Other programs disturbed this run, so its times are not reliable: {warning.message}."
        )
    report.text(f"Largest difference from NumPy's result: {worst:.1e} of the largest element.")
    report.picture("Planned split: the part of each worker", plan.plot)
    latest = max(planned.makespan, equal.makespan)  # one time axis for both
    report.picture(
        "Planned split: trace of the run", lambda ax: plot_trace(planned, ax, until=latest)
    )
    report.picture(
        "Equal split: trace of the run, in which the fast workers wait",
        lambda ax: plot_trace(equal, ax, until=latest),
    )
    return C, plan, planned, equal


def _picture(path: Path, plan: ProductPlan, planned: Trace, equal: Trace) -> None:
    """Draw the plan, and both splits on one time axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.9])
    plan.plot(figure.add_subplot(grid[:, 0])).set_title(
        "Planned: the part of each worker", loc="left", fontsize=10
    )
    latest = max(planned.makespan, equal.makespan)
    runs = (("Planned split", planned), ("Equal split, same workers", equal))
    for row, (name, trace) in enumerate(runs):
        axes = plot_trace(trace, figure.add_subplot(grid[row, 1]), until=latest)
        title = (
            f"{name}: predicted {digits(trace.predicted or 0.0)} s, measured"
            f" {digits(trace.makespan)} s"
        )
        axes.set_title(title, loc="left", fontsize=10, pad=22)
        axes.set_xlabel("time (s)" if row else "")
    write_figure(figure, path, dpi=110)


def _off(trace: Trace) -> str:
    return f"{trace.makespan / trace.predicted - 1:+.2%}" if trace.predicted else "-"


def _ratio(slow: Trace, fast: Trace) -> float:
    return (slow.predicted or 0.0) / (fast.predicted or 1.0)


def _real_cores(report: Report, A: NDArray[Any], B: NDArray[Any]) -> None:
    n = len(A)
    report.heading(f"3. The same {n} x {n} product on this machine's cores")
    C, D = np.empty((n, n)), np.empty((n, n))
    seconds = _median_in_turns(3, lambda: matmul(A, B, out=C), lambda: np.matmul(A, B, out=D))
    ours, numpys = (2.0 * n**3 / s / 1e9 for s in seconds)
    difference = float(np.abs(C - D).max() / np.abs(D).max())
    report.text(
        f"hetsched {ours:.1f} GFLOP/s, numpy.matmul {numpys:.1f} GFLOP/s: {ours / numpys:.3f} times"
        f" as fast (medians of 3 alternating runs; largest difference {difference:.1e} of the"
        " largest element)."
    )
    _, trace = matmul(A, B, trace=True)
    report.picture("Real cores: trace of the run", trace.plot)


def _median_in_turns(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    for function in functions:
        function()
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for own, function in zip(times, functions, strict=True):
            time.sleep(_PAUSE)
            start = time.perf_counter()
            function()
            own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in times]
