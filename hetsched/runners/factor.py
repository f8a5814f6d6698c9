"""Factorisations of one matrix by a pool: by a plan, or with tasks dealt by the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._engine import factor, tuning
from .._engine import run as engine
from .._engine.dtypes import DTYPES, flops_per_update
from ..plan import simulate
from ..planners.factor import KINDS, FactorPlan, plan_factor
from ..platform import UNIT

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .._base.progress import Progress
    from ..planners.factor import Owner
    from ..planners.star_lu import StarLuPlan
    from ..trace import Trace
    from .operands import Array
    from .workers import Resources, Workers


@dataclass(frozen=True)
class Wish:
    """Options of a factorisation: owner of each block (or a plan), block size, trace, progress."""

    owner: Owner | FactorPlan | StarLuPlan | None = None
    block: int | None = None
    trace: bool = False
    progress: Progress | None = None


NOTHING = Wish()

#: Up to this value of elements times columns the calling thread factors alone, with other loops.
_ALONE = {
    "lu": tuning.ALONE_FACTOR_UPDATES,
    "cholesky": tuning.ALONE_CHOLESKY_UPDATES,
    "qr": tuning.ALONE_FACTOR_UPDATES,
}


class Problem(NamedTuple):
    """A checked matrix to be factored, and the memory of its results."""

    kind: str
    a: Array | None  # None: x holds the matrix
    x: Array
    pivots: NDArray[np.int32] | None = None
    tau: Array | None = None
    clear: bool = False

    def run(
        self,
        threads: engine.Threads,
        order: factor.Order | None = None,
        progress: Progress | None = None,
        events: int = 0,
    ) -> tuple[int, engine.RunResult]:
        """Factor; return the index of what failed, or -1, and the record of the run."""
        return factor.run(
            threads,
            self.kind,
            self.a,
            self.x,
            pivots=self.pivots,
            tau=self.tau,
            clear=self.clear,
            workers=threads.size,
            order=order,
            poll=engine.Poll(progress),
            event_capacity=events,
        )


def plan_for(
    workers: Workers,
    m: int,
    n: int,
    *,
    dtype: np.dtype[Any],
    link_costs: ArrayLike | None = None,
    **options: Any,
) -> FactorPlan:
    """Implement `Pool.plan_factor`."""
    workers.require_profiles(options["profiles"])
    if link_costs is None and not workers.emulated:
        link_costs = 0.0
    known = dtype if dtype in DTYPES else np.dtype(np.float64)
    platform = workers.platform_for(known)
    if workers.deterministic and options.get("block") is None and isinstance(options["owner"], str):
        m = check.integer("m", m, low=0, high=2**31 - 1)
        n = check.integer("n", n, low=0, high=2**31 - 1)
        options["block"] = factor.block(
            check.choice("kind", options["kind"], KINDS), m, n, known, 1
        )
    return plan_factor(m, n, platform, dtype=dtype, link_costs=link_costs, **options)


def perform(resources: Resources, x: Problem, wish: Wish = NOTHING) -> tuple[int, Trace | None]:
    """Factor; return the index of what failed, or -1, and the trace or None."""
    threads, workers = resources
    plan = _chosen(workers, x, wish)
    if workers.emulated:
        workers.require_products(x.x.dtype)
    if plan is None:
        return x.run(threads, progress=wish.progress)[0], None
    events = len(plan.tasks) + len(plan.messages) if wish.trace else 0
    failed, result = x.run(threads, _order(workers, plan, x.x.dtype), wish.progress, events)
    workers.warn_if_late(result.late, plan.names, plan.makespan * workers.time_scale)
    if not wish.trace:
        return failed, None
    blocks = plan.blocks
    return failed, workers.trace(
        plan,
        result,
        lambda _, __, task: plan.label(*divmod(task, blocks)),
        plan.ideal,
        simulate(plan).finish,
    )


def _chosen(workers: Workers, x: Problem, wish: Wish) -> FactorPlan | None:
    """The plan of a factorisation.

    A given plan is checked against the matrix and the workers. Otherwise the plan is made from the
    given owner and block, or from the speeds of the workers. None leaves the choice to the engine.
    This is for equal cores with no options given, and for matrices so small that speeds do not
    matter.
    """
    owner, block = wish.owner, wish.block
    if isinstance(owner, FactorPlan):
        return _checked(workers, owner, x, block)
    shared = x.x.size * min(x.x.shape) > _ALONE[x.kind]
    planned = workers.emulated or (shared and workers.shares[x.x.dtype] is not None)
    if owner is None and block is None and not planned and not wish.trace:
        return None
    if owner is None:
        owner = "pattern" if planned else "cyclic"
    return plan_for(
        workers,
        *x.x.shape,
        kind=x.kind,
        dtype=x.x.dtype,
        owner=owner,
        block=block,
        profiles=None,
    )


def _checked(workers: Workers, plan: FactorPlan, x: Problem, block: int | None) -> FactorPlan:
    a = x.x
    if plan.kind != x.kind:
        raise ValueError(f'owner is a plan of kind "{plan.kind}", this is "{x.kind}"')
    if plan.shape != a.shape or plan.dtype != a.dtype.name:
        raise ValueError(
            f"owner is a plan for {plan.shape} {plan.dtype}, A is {a.shape} {a.dtype.name}"
        )
    if block is not None and block != plan.block:
        raise ValueError(f"block must be the plan's, {plan.block}, or be left out, got {block!r}")
    workers.require_as_many(plan.names, "owner is a plan")
    if workers.emulated and not np.array_equal(plan.cycle_times, workers.in_gigaflops.cycle_times):
        raise ValueError(
            f"owner is a plan for cycle-times {plan.cycle_times}, the pool has"
            f" {workers.in_gigaflops.cycle_times}"
        )
    return plan


def _order(workers: Workers, plan: FactorPlan, dtype: np.dtype[Any]) -> factor.Order:
    pace = panel_pace = links = steps = None
    if workers.emulated:
        scale, flops = workers.time_scale, flops_per_update(dtype)
        # A worker without blocks may have an infinite cycle-time.
        finite = np.where(np.isfinite(plan.cycle_times), plan.cycle_times, 0.0)
        pace, panel_pace = finite * (scale / UNIT), plan.panel_times * (scale * flops / UNIT)
        links = None if plan.links is None else plan.links * (scale * dtype.itemsize / UNIT)
        if plan.step_cycle_times is not None:
            steps = plan.step_cycle_times * (scale * flops / UNIT)
    return factor.Order(plan.block, plan.owner, pace, panel_pace, links, not plan.look_ahead, steps)
