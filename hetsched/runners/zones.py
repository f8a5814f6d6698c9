"""Products with zones that move.

When speeds change, C is divided anew between two stretches of the inner dimension.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.progress import share_of
from .._engine.dtypes import flops_per_update
from ..planners.partition import Partition, gained
from ..planners.product import COMMUNICATION, ProductPlan
from ..planners.product_methods import plan_of_partition
from ..platform import UNIT, Platform
from . import product
from .watch import Choice, Record, Stretch, Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._base.progress import Progress
    from ..trace import Trace
    from .operands import Operands
    from .workers import Resources


def run(
    resources: Resources,
    plan: Partition,
    x: Operands,
    communication: str,
    rebalance: int | None,
    drift: Any,
    progress: Progress | None,
) -> Trace:
    """Compute C = alpha A B + beta C. A step is one block of the inner dimension."""
    workers = resources.workers
    m, _, k = x.sizes
    whole, block = product.checked(workers, plan, x, communication), _block(plan, m)
    watch = Watch(workers, -(-k // block), rebalance, drift)
    if watch.every is not None and not plan.floorplan:
        raise ValueError(
            f'plan is a partition by method "{plan.method}", which has no cuts to move: rebalance'
            " needs cuts"
        )
    for each in watch.workers:
        if each.emulated:
            each.require_products(x.c.dtype)
    if not watch.steps:
        return product.run(resources, whole, (x.a, x.b, x.c, x.alpha, x.beta), progress)
    record, times = Record(len(workers)), workers.in_gigaflops.cycle_times
    for part in watch.stretches():
        first, end = part.first * block, min(part.end * block, k)
        own = _plan(plan, x, end - first, part.workers.in_gigaflops, communication)
        tell = share_of(progress, first / k, (end - first) / k)
        beta = x.beta if part.first == 0 else 1.0
        operands = (x.a[:, first:end], x.b[first:end], x.c, x.alpha, beta)
        trace = product.run(resources._replace(workers=part.workers), own, operands, tell)
        _add(record, trace, own, part)
        if part.checks_division:
            times = rates(trace, own, times, workers.time_scale)
            plan = _moved(watch, record, plan, x, times, part, communication)
    return record.trace(plan.names, workers)


def rates(
    trace: Trace, plan: ProductPlan, known: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """(p,) measured time per gigaflop; a worker that computed nothing keeps its time in `known`."""
    spent, work = np.array(trace.total("compute")) / scale, plan.flops / UNIT
    found: NDArray[np.float64] = np.where(
        (spent > 0) & (work > 0), spent / np.where(work > 0, work, 1.0), known
    )
    return found


def _plan(
    plan: Partition, x: Operands, depth: int, platform: Platform, communication: str
) -> ProductPlan:
    m, n, _ = x.sizes
    return plan_of_partition(
        plan, m, n, depth, platform, x.c.itemsize, flops_per_update(x.c.dtype), communication
    )


def _add(record: Record, trace: Trace, plan: ProductPlan, part: Stretch) -> None:
    steps = [(e.worker, e.kind, e.start, e.end, e.what) for e in trace.events if e.kind != "wait"]
    scale = part.workers.time_scale
    if trace.predicted_finish is not None:
        ends = np.array(trace.predicted_finish)
        record.predicted_finish = np.where(
            ends > 0, record.predicted + ends, record.predicted_finish
        )
    record.add(steps, trace.makespan, trace.cpu or 0.0)
    record.predicted += plan.makespan * scale
    record.ideal += plan.lower_bound * scale


def _moved(
    watch: Watch,
    record: Record,
    plan: Partition,
    x: Operands,
    times: NDArray[np.float64],
    part: Stretch,
    communication: str,
) -> Partition:
    """The zones for the next stretch.

    If they change, the elements of C go to their new owners over the present links of the platform.
    """
    m, n, _ = x.sizes
    platform, depth = watch.workers[0].in_gigaflops, (part.end - part.first) * _block(plan, m)
    known = Platform.star(times, platform.link_costs, unit=platform.unit)
    areas = np.where(plan.areas > 0, 1.0 / times, 0.0)
    change = plan.recut(areas)
    choices = []
    for other in (change.plan, change.fresh):
        after = _plan(other, x, depth, known, communication).makespan
        sent = _messages(plan, other, x, known, communication)
        choices.append(Choice(after, max((end for *_, end in sent), default=0.0), other))
    here = _plan(plan, x, depth, known, communication).makespan
    choice = watch.better(here, (watch.steps - part.end) / (part.end - part.first), choices)
    if choice is None:
        return plan
    sent = _messages(plan, choice.plan, x, part.workers.in_gigaflops, communication)
    record.pass_messages(
        [(i, "transfer", start, end, "cells of C") for i, start, end in sent],
        part.workers.time_scale,
        True,
    )
    moved: Partition = choice.plan
    return replace(moved, names=plan.names)


def _messages(
    old: Partition, new: Partition, x: Operands, platform: Platform, communication: str
) -> list[tuple[int, float, float]]:
    """(worker, start, end) of each message with elements of C, over the worker's own link.

    The messages are sent one after another, or all at the same time if the operands are too.
    """
    m, n, _ = x.sizes
    pieces = []
    for plan in (old, new):
        inside = plan.pieces.astype(np.float64) * np.array([1, *[_block(plan, m)] * 4])
        inside[:, 3] = np.minimum(inside[:, 1] + inside[:, 3], m) - inside[:, 1]
        inside[:, 4] = np.minimum(inside[:, 2] + inside[:, 4], n) - inside[:, 2]
        pieces.append(inside)
    units = gained(pieces[0], pieces[1], len(old.names)) * (x.c.itemsize / UNIT)
    lengths = units * platform.link_costs
    together = COMMUNICATION[communication][1]
    found, port = [], 0.0
    for i in np.flatnonzero(lengths).tolist():
        found.append((i, port, port + float(lengths[i])))
        port += 0.0 if together else float(lengths[i])
    return sorted(found, key=lambda message: message[2])


def _block(plan: Partition, rows: int) -> int:
    assert plan.shape is not None
    return -(-rows // plan.shape[0])
