"""Products of a StarPlan. One rank is the master, and the other ranks are its workers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base import check
from .._base.progress import Progress
from .._engine.star import STAR_CHUNK, STAR_MESSAGE, peaks
from ..plan import Plan
from ..planners.star import StarPlan
from ..platform import Unit, divided_time, relative_speeds
from ..runners.operands import Operands, operands
from ..runners.pool import Pool
from ..runners.star import ORDERS, block_of, checked
from ..trace import Trace
from .chunks import PANEL, Array, Chunk, Product
from .kinds import wrong_kind
from .loop import Loop
from .master import Master
from .ranks import Ranks
from .record import root_time
from .worker import Worker


def operands_of(A: ArrayLike, B: ArrayLike) -> Operands:
    """The operands of C = A B with C = 0, for which pages of memory are made as they are used."""
    x = operands(A, B, None, 1.0, 0.0)
    if x.c.ndim > 2:
        raise ValueError(f"A and B must be matrices, got stacks of {x.c.shape[:-2]}")
    c = np.zeros(x.c.shape, x.c.dtype)
    return x._replace(c=c, result=c.reshape(x.result.shape))


def product_of(plan: StarPlan, x: Operands, order: str) -> tuple[Product, Array]:
    """What the ranks need to know, and the port's log by the model.

    Plan, operands and order are checked before.
    """
    check.choice("order", order, ORDERS)
    simulated = checked(plan, x, order, None, None, (None,) * len(plan.names)).simulated()
    by_columns = tuple(abs(r) < abs(c) for r, c in (array.strides for array in (x.c, x.a, x.b)))
    block = block_of(plan.shape, x.sizes)
    product = Product(x.c.dtype.name, x.sizes, plan.shape, block, by_columns, x.alpha)  # type: ignore[arg-type]
    return product, simulated


def master_of(
    plan: StarPlan,
    product: Product,
    x: Operands,
    order: str,
    ranks: list[int],
    progress: Progress | None,
) -> Master:
    """The master of C += A B."""
    served = plan.messages["worker"].tolist() if order == "plan" else None
    table = [Chunk(*row) for row in plan.chunks.tolist()]
    return Master(
        product, table, plan.names, plan.memory.tolist(), served, (x.c, x.a, x.b), ranks, progress
    )


def require_workers(plan: Plan, ranks: Ranks) -> None:
    """Raise ValueError unless there is one rank for each worker beside the root."""
    if len(plan.names) != ranks.size - 1:
        raise ValueError(
            f"plan is for {len(plan.names)} workers, there are {ranks.size - 1} ranks beside the"
            " root"
        )


def run_star(
    ranks: Ranks,
    plan: StarPlan | None,
    A: Any,
    B: Any,
    root: int,
    order: str,
    pool: Pool,
    trace: bool,
    progress: Progress | None,
) -> Any:
    """Compute A B at the root; the result is None elsewhere.

    With trace a pair, the second item of which is the Trace at the root and None elsewhere.

    Parameters
    ----------
    ranks : Ranks
        The root is the master; the other ranks are the workers of the plan in their order.
    plan : StarPlan
        At the root; the other ranks may leave it out.
    A, B : array_like
        At the root.
    order : {"plan", "demand"}
    pool : Pool
        The pool with which a worker computes.
    progress : function, optional
        Called at the root with the fraction that is done.

    Raises
    ------
    ValueError, TypeError
        On every rank, if the operands, the plan or the number of ranks do not fit.
    """
    mine: list[tuple[Operands, Array]] = []  # at the root: operands, and the log by the model

    def fitting() -> tuple[Product, bool] | None:
        if ranks.rank != root:
            return None
        if not isinstance(plan, StarPlan):
            raise wrong_kind(plan, "a StarPlan")
        require_workers(plan, ranks)
        x = operands_of(A, B)
        product, simulated = product_of(plan, x, order)
        mine.append((x, simulated))
        return product, trace

    product, traced = ranks.agree(fitting)[root]
    if ranks.rank != root:
        worker = Worker(root)
        ranks.run(lambda loop: worker.run(loop, product, pool, traced), worker.heard)
        return (None, None) if trace else None
    assert plan is not None
    ((x, simulated),) = mine
    others = [rank for rank in range(ranks.size) if rank != root]
    master = master_of(plan, product, x, order, others, progress)

    async def lead(loop: Loop) -> None:
        await master.run(loop, traced)

    ranks.run(lead, master.heard)
    return (x.result, trace_of(plan, x, simulated, master)) if trace else x.result


def messages_of(master: Master) -> Array:
    """The log of the port as `StarPlan.messages`, in seconds of the master's clock from the start.

    A panel counts as arrived when it is computed. This also holds if the master saw its arrival
    later, or if the clocks differ by more than their known error.
    """
    clocks = []
    for peer in master.peers:
        first = peer.clock or master.clock
        last = (peer.report and peer.report.clock) or first
        clocks.append(root_time(first, last, master.began))
    found = np.zeros(len(master.log), STAR_MESSAGE)
    for i, (worker, kind, number, first_layer, start, end) in enumerate(master.log):
        begin, done = start - master.began, end - master.began
        computing = (done, done)
        if kind == PANEL and (number, first_layer) in master.computed:
            from_, to = (clocks[worker](time) for time in master.computed[number, first_layer])
            done = max(begin, min(done, from_))
            computing = max(from_, done), max(to, done)
        found[i] = (worker, kind, number, first_layer, begin, done, *computing)
    return found


def clock_error(master: Master) -> float:
    """The largest error of all clock readings."""
    readings = [
        clock
        for peer in master.peers
        for clock in (peer.clock, peer.report and peer.report.clock)
        if clock is not None
    ]
    return max((clock.error for clock in readings), default=0.0)


def trace_of(plan: StarPlan, x: Operands, simulated: Array, master: Master) -> Trace:
    """The trace of the run; simulated is the port's log by the model.

    It has the prediction of the model for the same order if the plan's times are known to be in
    seconds.
    """
    messages = messages_of(master)
    log = replace(plan, chunks=np.array(master.chunks, STAR_CHUNK), messages=messages)
    predicted = ideal = finish = None
    if plan.unit == Unit.block_update(master.product.block, x.c.dtype):
        predicted = float(simulated["end"].max())
        ideal = divided_time(float(plan.updates.sum()), plan.cycle_times)
        ends = np.zeros(len(plan.names))
        np.maximum.at(ends, simulated["worker"], simulated["compute_end"])
        finish = ends.tolist()
    trace = Trace.from_steps(
        log.steps(),
        plan.names,
        kind="real",
        speeds=relative_speeds(plan.cycle_times).tolist(),
        predicted=predicted,
        ideal=ideal,
        cpu=[0.0 if peer.report is None else peer.report.cpu for peer in master.peers],
        predicted_finish=finish,
        clock_error=clock_error(master),
    )
    predicted_peak = peaks(plan.shape[2], len(plan.names), plan.chunks, simulated)
    return replace(
        trace,
        peak=tuple(peer.peak for peer in master.peers),
        predicted_peak=tuple(predicted_peak.tolist()),
    )
