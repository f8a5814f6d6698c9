"""Iterations in slices on the threads of a pool, by a ring of its workers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._engine import run as engine
from ..planners.ring import SliceRing
from ..planners.stencil import FLOPS, Members, StencilPlan, plan_stencil, timed_for
from ..platform import UNIT
from .operands import Array, as_array, element_strides, writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from .._base.progress import Progress
    from .workers import Workers

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_EVENTS = 2**31 - 1  # of a trace
_SAMPLE = 1 << 20  # updates that measure a rate


def plan_for(
    workers: Workers, rows: int, cols: int, steps: int, dtype: np.dtype[Any], ring: SliceRing | Sequence[int] | None
) -> StencilPlan:
    """What `Pool.plan_stencil` returns."""
    rows, cols = check.integer("rows", rows, low=1), check.integer("cols", cols, low=1)
    return plan_stencil(rows, cols, steps, _members(workers, rows, cols, dtype), dtype.itemsize, ring)


def run(
    threads: engine.Threads, workers: Workers, U: ArrayLike, steps: int, weight: float, plan: StencilPlan | SliceRing | None,
    out: Array | None, trace: bool, progress: Progress | None,
) -> Any:  # fmt: skip
    """What `Pool.stencil` returns."""
    matrix = _checked_matrix(U)
    factor = _checked_weight(weight, matrix.dtype)
    target = np.empty(matrix.shape, matrix.dtype) if out is None else writable(out, matrix.shape, matrix.dtype, "U")
    rows, cols = matrix.shape
    members = _members(workers, rows, cols, matrix.dtype)
    if plan is None or isinstance(plan, SliceRing):
        own = plan_stencil(rows, cols, steps, members, matrix.itemsize, plan)
    else:
        own = _checked_plan(workers, plan, matrix, steps, members)
    if workers.emulated and own.makespan:
        rate = update_rate(matrix.dtype, rows, -(-cols // len(own.ring)))
        wanted = np.where(own.counts > 0, workers.in_gigaflops.speeds, 0.0)
        workers.require_capacity(wanted, rate, f"this stencil, {matrix.dtype}")
    events = 3 * own.iterations * len(own.ring) if trace else 0  # an update, an exchange with each neighbour
    if events > _EVENTS:
        raise ValueError(f"trace would have up to {events} events, at most {_EVENTS} are possible")
    pace = exchange = None
    if workers.emulated:
        pace = own.cycle_times * (workers.time_scale * FLOPS / UNIT)
        if own.exchange_times.any():
            exchange = np.ascontiguousarray(own.exchange_times * workers.time_scale)
    result = engine.run_slices(
        threads, matrix, target, factor, own.iterations, workers=len(workers), ring=own.ring.astype(np.int32),
        widths=own.counts[own.ring], exchange=exchange, pace=pace, poll=engine.Poll(progress), event_capacity=events,
    )  # fmt: skip
    workers.warn_if_late(result.late, own.names, own.makespan * workers.time_scale)
    if not trace:
        return target
    exchanges = dict(zip(own.ring.tolist(), own.exchange_labels, strict=True))
    ideal = float(own.iterations * own.work / (1.0 / own.cycle_times).sum())
    return target, workers.trace(
        own, result, lambda worker, kind, box: f"step {box // 2}" if kind == "compute" else exchanges[worker][box % 2], ideal,
        own.finish.tolist(),
    )  # fmt: skip


def _members(workers: Workers, rows: int, cols: int, dtype: np.dtype[Any]) -> Members:
    p = len(workers)
    none = np.broadcast_to(np.float64(0.0), (p, p))
    platform = None if workers.given is None else workers.in_gigaflops
    if platform is None:
        rate = update_rate(dtype, rows, -(-cols // p))
        return Members(np.full(p, UNIT / rate), none, workers.names)
    links = platform.links
    if workers.emulated and links is None and platform.link_costs.any():
        raise ValueError(
            "the platform is a star whose links have costs: a ring needs a link between every two workers (Platform.complete)"
        )
    return Members(platform.cycle_times, none if links is None or not workers.emulated else links, workers.names, platform.unit)


def _checked_matrix(value: ArrayLike) -> Array:
    array = as_array("U", value)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"U must be a matrix with at least one element, got shape {array.shape}")
    if array.dtype not in DTYPES:
        raise TypeError(f"U has dtype {array.dtype}; a stencil takes float32 and float64")
    return array if element_strides(array) else array.copy()


def _checked_weight(value: float, dtype: np.dtype[Any]) -> float:
    weight = check.number("weight", value)
    with np.errstate(over="ignore"):
        if not np.isfinite(dtype.type(weight)):
            raise ValueError(f"weight must be finite in {dtype}, got {weight:g}")
    return weight


def _checked_plan(workers: Workers, plan: StencilPlan, matrix: Array, steps: int, members: Members) -> StencilPlan:
    """The slices of a plan with the times of the pool that runs it."""
    if not isinstance(plan, StencilPlan):
        raise TypeError(f"plan must be one of plan_stencil or slice_ring, got {type(plan).__name__}")
    workers.require_as_many(plan.names)
    if plan.shape != matrix.shape:
        raise ValueError(f"plan is for a matrix of {plan.shape[0]} x {plan.shape[1]}, U has shape {matrix.shape}")
    return timed_for(members, plan, steps, matrix.itemsize)


def update_rate(dtype: np.dtype[Any], rows: int, cols: int) -> float:
    """Flops per second of one core with slices of about that size, up to 8 MB, measured in a few milliseconds."""
    return _rate(dtype, min(max(_power(rows), 4), 1024), min(_power(cols), 1024))


def _power(size: int) -> int:
    """The next power of two."""
    return 1 << max(size - 1, 1).bit_length()


@cache
def _rate(dtype: np.dtype[Any], rows: int, cols: int) -> float:
    matrix, one = np.ones((rows, cols), dtype), engine.Threads(1, None)
    steps = max(2, _SAMPLE // matrix.size)
    ring, widths = np.zeros(1, np.int32), np.array([cols], np.int64)
    finish = min(
        engine.run_slices(
            one, matrix, matrix, 0.25, steps, workers=1, ring=ring, widths=widths, exchange=None, pace=None, poll=None,
            event_capacity=0,
        ).finish[0]
        for _ in range(4)
    )  # fmt: skip
    return FLOPS * (rows - 2) * cols * steps / finish
