"""LU by a plan of plan_star_lu on ranks. The root is the master, and the other ranks its workers.

The root has the matrix. It factors the panels and solves for the rows beside them, and the workers
compute the products as for any StarPlan. While they do, another thread of the root updates the
root's own columns and factors the next panel.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._base.progress import require_progress, share_of
from ..planners.cover import require_chunks
from ..planners.star_lu import by_step
from ..runners.arguments import columns as by_columns
from ..runners.arguments import require_finite, square
from ..runners.lu import warn_singular
from ..runners.pool import resources_of
from ..runners.star_lu import Master, ahead_in, trace_of
from . import star
from .arguments import reports
from .loop import Loop, Waiting
from .worker import Worker

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._base.progress import Progress
    from ..planners.star import StarPlan
    from ..planners.star_lu import StarLuPlan
    from ..platform import Platform
    from ..runners.operands import Array
    from ..runners.pool import Pool
    from ..trace import Trace
    from .chunks import Product
    from .master import Master as Port
    from .ranks import Ranks

_AHEAD = 1  # the lane of `Loop.compute` for the next panel: lane 0 copies messages meanwhile


class Job(NamedTuple):
    """What all ranks must know: the products of the workers, one after the other."""

    products: list[Product]
    trace: bool


def run_star_lu(
    ranks: Ranks,
    A: ArrayLike | None,
    pool: Pool,
    plan: StarLuPlan | None = None,
    *,
    root: int = 0,
    block: int | None = None,
    cycle_times: Platform | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    check_finite: bool = True,
    stacklevel: int = 3,
) -> Any:
    """Factor P A = L U with partial pivoting; A is at the root.

    Parameters
    ----------
    ranks : Ranks
        All ranks must call this; only the arguments of the root count.
    plan : StarLuPlan
        For one worker less than there are ranks.
    block, cycle_times : None
        The plan has its own.
    A, pool, root, trace, progress, check_finite, stacklevel :
        See `factor.run_lu`.

    Returns
    -------
    (lu, piv), or ((lu, piv), Trace)
        See `factor.run_lu`. The trace has a worker for each rank of the plan, and the master.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument at the root is invalid.
    """
    mine: list[_Lead] = []
    with reports(progress, ranks.rank == root) as tell:

        def fitting() -> Job | None:
            if ranks.rank != root:
                return None
            if A is None:
                raise ValueError(f"A must be given at the root, rank {ranks.rank}")
            assert plan is not None
            require_progress(progress)
            for name, value in (("block", block), ("platform", cycle_times)):
                if value is not None:
                    raise ValueError(f"{name} must be left out with a plan of plan_star_lu")
            star.require_workers(plan, ranks)
            a = square("A", A)
            if check.flag("check_finite", check_finite):
                require_finite(a)
            lu = by_columns(a.shape, a.dtype)
            lu[...] = a
            others = [rank for rank in range(ranks.size) if rank != root]
            traced = check.flag("trace", trace)
            mine.append(_Lead(plan, lu, pool, others, traced, tell))
            return Job([product for product, _ in mine[0].products], traced)

        job = ranks.agree(fitting)[root]
        if ranks.rank != root:
            worker = Worker(root)

            async def follow(loop: Loop) -> None:
                for product in job.products:
                    await worker.run(loop, product, pool, job.trace)

            ranks.run(follow, worker.heard)
            return (None, None) if job.trace else None
        (lead,) = mine
        ranks.run(lead.run, lead.heard)
    if lead.master.singular >= 0:
        warn_singular(lead.master.singular, stacklevel)
    found = lead.master.lu, lead.master.pivots
    return (found, lead.trace()) if job.trace else found


class _Lead:
    """The root.

    Attributes
    ----------
    master : Master
        Its own work.
    products : list of (Product, array)
        The products of the workers, and the port's log by the model.
    """

    def __init__(
        self,
        plan: StarLuPlan,
        lu: Array,
        pool: Pool,
        ranks: list[int],
        traced: bool,
        progress: Progress | None,
    ) -> None:
        for product in plan.products:
            require_chunks(product)
        self._plan, self._pool, self._ranks = plan, pool, ranks
        self._traced, self._progress = traced, progress
        self._steps = by_step(plan)
        self.master = Master(plan, lu, np.empty(len(lu), np.int32))
        self.products = [
            star.product_of(product, self.master.operands(k), "plan")
            for k, (_, product) in enumerate(self._steps)
            if product is not None
        ]
        self._port: Port | None = None  # of the present product
        self._records: list[tuple[int, float, Trace]] = []

    def heard(self, source: int, what: Any) -> None:
        """Pass on what a worker says of the present product."""
        assert self._port is not None
        self._port.heard(source, what)

    async def run(self, loop: Loop) -> None:
        """Factor panel after panel."""
        self.master.stopped = loop.stopped
        threads, products = resources_of(self._pool).threads, iter(self.products)
        updates, done = int(self._plan.updates.sum()), 0
        ahead = ahead_in(self._steps)
        for k, (_, plan) in enumerate(self._steps):
            if k == 0 or not ahead[k - 1]:
                await loop.compute(partial(self.master.factor, threads, k))
            await loop.compute(partial(self.master.solve, threads, k))
            if plan is None:
                await loop.compute(partial(self.master.update, threads, k))
                continue
            next_panel = Waiting(left=0)
            if ahead[k]:
                next_panel = loop.compute(partial(self.master.ahead, threads, k), _AHEAD)
            own = int(plan.updates.sum())
            told = share_of(self._progress, done / updates, own / updates)
            await self._multiply(loop, k, plan, *next(products), told)
            await next_panel
            done += own

    async def _multiply(
        self,
        loop: Loop,
        k: int,
        plan: StarPlan,
        product: Product,
        simulated: Array,
        progress: Progress | None,
    ) -> None:
        x, at = self.master.operands(k), self.master.now()
        port = star.master_of(plan, product, x, "plan", self._ranks, progress)
        self._port = port
        await port.run(loop, self._traced)
        if self._traced:
            self._records.append((k, at, star.trace_of(plan, x, simulated, port)))

    def trace(self) -> Trace:
        """The trace of the whole run."""
        return trace_of(self._plan, self.master, self._records, "real")
