"""Runs of plans of the reduction to a band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine import run as engine
from .._engine import spectral
from .._engine.dtypes import flops_per_update
from ..plan import simulate
from ..platform import UNIT
from .arguments import columns, require_finite, squares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .._base.progress import Progress
    from ..planners.reduction import ReductionPlan
    from ..trace import Trace
    from .operands import Array
    from .workers import Resources, Workers


def run(
    resources: Resources, plan: ReductionPlan, given: ArrayLike, progress: Progress | None
) -> tuple[Array, Trace]:
    """The band, as scipy.linalg.eig_banded takes a lower one, and the trace."""
    threads, workers = resources
    a = _checked(workers, plan, given)
    band = columns((plan.block + 1, plan.n), a.dtype)
    pace, panel_pace = _paces(workers, plan, a.dtype)
    result = spectral.reduce(
        threads,
        a,
        band,
        plan.owner,
        pace,
        panel_pace,
        engine.Poll(progress),
        len(plan.tasks),
    )
    if result is None:
        raise ValueError("A must be finite")
    workers.warn_if_late(result.late, plan.names, plan.makespan * workers.time_scale)
    trace = workers.trace(
        plan, result, lambda _, __, task: plan.label(task), plan.ideal, simulate(plan).finish
    )
    return band, trace


def _checked(workers: Workers, plan: ReductionPlan, given: ArrayLike) -> Array:
    a = squares("A", given)
    if a.shape != (plan.n, plan.n) or a.dtype.name != plan.dtype:
        raise ValueError(
            f"plan is for {plan.n} x {plan.n} {plan.dtype}, A is {a.shape} {a.dtype.name}"
        )
    require_finite(a)
    widest = 512 // a.dtype.itemsize
    if plan.block % 16 or plan.block > widest:
        raise ValueError(
            f"plan has blocks of {plan.block} columns: a run needs a multiple of 16, at most"
            f" {widest} in {plan.dtype}"
        )
    workers.require_as_many(plan.names, "plan is")
    if not workers.emulated:
        return a
    workers.require_products(a.dtype)
    if not np.array_equal(plan.cycle_times, workers.in_gigaflops.cycle_times):
        raise ValueError(
            f"plan is for cycle-times {plan.cycle_times}, the pool has"
            f" {workers.in_gigaflops.cycle_times}"
        )
    return a


def _paces(
    workers: Workers, plan: ReductionPlan, dtype: np.dtype[Any]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Seconds per flop, and per multiply-add of a panel, of emulated workers."""
    if not workers.emulated:
        return None, None
    # A worker without blocks may have infinite times.
    times, panels = (
        np.where(np.isfinite(each), each, 0.0) * (workers.time_scale / UNIT)
        for each in (plan.cycle_times, plan.panel_times)
    )
    return times, panels * flops_per_update(dtype)
