"""LU factorisation by a plan of plan_star_lu.

The calling thread is the master. The products go to the workers like the product of any StarPlan.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._base.progress import share_of
from ..planners.cover import require_chunks
from ..planners.star_lu import LuStep, StarLuPlan
from ..platform import divided_time, relative_speeds
from ..trace import Trace
from . import star
from .factor import Problem
from .operands import Operands, operands
from .triangular import substitute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._base.progress import Progress
    from .._engine import run as engine
    from .operands import Array
    from .workers import Resources, Workers


def perform(
    resources: Resources,
    plan: StarLuPlan,
    x: Problem,
    trace: bool,
    progress: Progress | None,
) -> tuple[int, Trace | None]:
    """Factor; return (column of the first zero on the diagonal of U or -1, trace or None)."""
    threads, workers = resources
    pivots, lu = x.pivots, x.x
    assert pivots is not None
    workers.require_as_many(plan.names, "owner is a plan")
    # star.run checks each product again, but only when a part of the matrix is already factored.
    for product in plan.products:
        require_chunks(product)
    q = _block(plan, lu.shape)
    if x.a is not None:
        lu[...] = x.a
    singular, begin = -1, time.perf_counter()
    records: list[tuple[float, Trace]] = []
    updates = plan.updates.sum()
    done = 0
    for k, panel in enumerate(plan.panels):
        start = time.perf_counter()
        failed = _panel(threads, lu, pivots, panel.first * q, (panel.first + panel.width) * q)
        if singular < 0 <= failed:
            singular = panel.first * q + failed
        if workers.emulated:
            _wait(start + (panel.end - panel.start) * workers.time_scale)
        if k < len(plan.products):
            product = plan.products[k]
            own = int(product.updates.sum())
            told = share_of(progress, done / updates, own / updates)
            at = time.perf_counter() - begin
            record = star.run(resources, product, _rest(lu, panel, q), "plan", trace, told)
            if record is not None:
                records.append((at, record))
            done += own
    return singular, _trace(workers, plan, records) if trace else None


def _block(plan: StarLuPlan, shape: tuple[int, ...]) -> int:
    """Rows and columns of one block of the plan."""
    m, n = shape
    if m != n:
        raise ValueError(f"a must be square for a plan of plan_star_lu, got shape {shape}")
    q = -(-n // plan.blocks)
    if n < plan.blocks or -(-n // q) != plan.blocks:
        raise ValueError(
            f"A has {n} rows, which no size of blocks makes the plan's n = {plan.blocks} blocks"
        )
    return q


def _panel(
    threads: engine.Threads, lu: Array, pivots: NDArray[np.int32], first: int, end: int
) -> int:
    """Factor columns first .. end - 1, exchange rows of the rest, and solve for U."""
    panel = lu[first:, first:end].copy(order="F")
    own = pivots[first:end]
    failed, _ = Problem("lu", None, panel, pivots=own).run(threads)
    lu[first:, first:end] = panel
    order = np.arange(len(panel))
    for i, other in enumerate(own.tolist()):
        order[[i, other]] = order[[other, i]]
    moved = np.flatnonzero(order != np.arange(len(order)))
    for columns in (lu[first:, :first], lu[first:, end:]):
        columns[moved] = columns[order[moved]]
    own += first
    substitute(threads, panel[: end - first], lu[first:end, end:], lower=True, unit=True)
    return failed


def _rest(lu: Array, panel: LuStep, q: int) -> Operands:
    """The operands of C -= A B, the update of the rest of the matrix."""
    first, end = panel.first * q, (panel.first + panel.width) * q
    return operands(lu[end:, first:end], lu[first:end, end:], lu[end:, end:], -1.0, 1.0)


def _wait(until: float) -> None:
    if (left := until - time.perf_counter()) > 0:
        time.sleep(left)


def _trace(workers: Workers, plan: StarLuPlan, records: list[tuple[float, Trace]]) -> Trace:
    """The traces of the products one after the other.

    The prediction also counts the master's panels between them.
    """
    p, scale = len(plan.names), workers.time_scale
    steps: list[tuple[int, str, float, float, str]] = []
    cpu, finish, peaks, now = np.zeros(p), np.zeros(p), np.zeros((2, p), np.int64), 0.0
    for k, (at, record) in enumerate(records):
        steps += [
            (e.worker, e.kind, at + e.start, at + e.end, f"step {k}: {e.what}")
            for e in record.events
            if e.kind != "wait"
        ]
        cpu += np.array(record.cpu)
        peaks = np.maximum(peaks, np.array([record.peak, record.predicted_peak]))
        now += (plan.panels[k].end - plan.panels[k].start) * scale
        if record.predicted is not None:
            busy = np.array(record.predicted_finish)
            finish = np.where(busy > 0.0, now + busy, finish)
            now += record.predicted
    last = plan.panels[-1]
    ideal = divided_time(float(plan.updates.sum()), plan.cycle_times) * scale
    trace = Trace.from_steps(
        steps,
        plan.names,
        kind=workers.kind,
        speeds=relative_speeds(plan.cycle_times).tolist(),
        predicted=now + (last.end - last.start) * scale if workers.emulated else None,
        ideal=ideal if workers.emulated else None,
        cpu=cpu.tolist(),
        predicted_finish=finish.tolist() if workers.emulated else None,
    )
    return replace(trace, peak=tuple(peaks[0].tolist()), predicted_peak=tuple(peaks[1].tolist()))
