"""Iterations of a stencil on the threads of a pool. The slices belong to a ring of workers."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._base.progress import share_of
from .._engine import run as engine
from ..planners.distribute import distribute
from ..planners.redistribute import redistribute
from ..planners.remap import messages, transfers
from ..planners.ring import SliceRing, matrix_of
from ..planners.stencil import FLOPS, Members, StencilPlan, inner_rows, plan_stencil, timed_for
from ..platform import UNIT, divided_time
from .operands import Array, as_array, element_strides, writable
from .watch import Choice, Record, Stretch, Watch, rates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from .._base.progress import Progress
    from .workers import Resources, Workers

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_EVENTS = 2**31 - 1  # most events of a trace
_LOOKED = 1024  # most steps of a stretch that are timed
_FEW = 12  # for at most this many workers the best ring is found quickly
_SAMPLE = 1 << 20  # updates in a measurement of a rate
_NARROW = 32  # columns of a slice, at least, if there are several


def plan_for(
    workers: Workers,
    rows: int,
    cols: int,
    steps: int,
    dtype: np.dtype[Any],
    ring: SliceRing | Sequence[int] | None,
    latencies: ArrayLike | None,
    overheads: ArrayLike | None,
) -> StencilPlan:
    """Implement `Pool.plan_stencil`."""
    rows, cols = check.integer("rows", rows, low=1), check.integer("cols", cols, low=1)
    p = len(workers)
    waits = None if latencies is None else matrix_of("latencies", latencies, p)
    fixed = None if overheads is None else check.each("overheads", overheads, p)
    members = _members(workers, rows, cols, dtype)._replace(
        latencies=waits if waits is not None and waits.any() else None,
        overheads=fixed if fixed is not None and fixed.any() else None,
    )
    return plan_stencil(rows, cols, steps, members, dtype.itemsize, ring)


def run(
    resources: Resources,
    U: ArrayLike,
    steps: int,
    weight: float,
    plan: StencilPlan | SliceRing | None,
    out: Array | None,
    rebalance: int | None,
    drift: Any,
    trace: bool,
    progress: Progress | None,
) -> Any:
    """Implement `Pool.stencil`."""
    workers = resources.workers
    matrix = _checked_matrix(U)
    factor = checked_weight(weight, matrix.dtype)
    target = (
        np.empty(matrix.shape, matrix.dtype)
        if out is None
        else writable(out, matrix.shape, matrix.dtype, "U")
    )
    rows, cols = matrix.shape
    members = _members(workers, rows, cols, matrix.dtype)
    if plan is None or isinstance(plan, SliceRing):
        own = plan_stencil(rows, cols, steps, members, matrix.itemsize, plan)
    else:
        own = _checked_plan(workers, plan, matrix, steps, members)
    watch = Watch(workers, own.iterations, rebalance, drift)
    for each in watch.workers:
        _require_emulable(each, own, matrix.dtype)
    events = 3 * own.iterations * len(workers if watch.every else own.ring) if trace else 0
    if events > _EVENTS:
        raise ValueError(f"trace would have up to {events} events, at most {_EVENTS} are possible")
    if not (rebalance or drift):
        return _run_whole(resources, own, matrix, target, factor, trace, progress)
    return _run_watched(resources, watch, own, matrix, target, factor, trace, progress)


def _require_emulable(workers: Workers, plan: StencilPlan, dtype: np.dtype[Any]) -> None:
    if workers.emulated and plan.makespan:
        rate = update_rate(dtype, plan.shape[0], -(-plan.shape[1] // len(plan.ring)))
        wanted = np.where(plan.counts > 0, workers.in_gigaflops.speeds, 0.0)
        workers.require_capacity(wanted, rate, f"this stencil, {dtype}")


def _run_slices(
    resources: Resources,
    plan: StencilPlan,
    source: Array,
    target: Array,
    factor: float,
    events: int,
    progress: Progress | None,
) -> engine.RunResult:
    threads, workers = resources
    pace = exchange = overheads = None
    if workers.emulated:
        pace = plan.cycle_times * (workers.time_scale * FLOPS / UNIT)
        if plan.exchange_times.any():
            exchange = np.ascontiguousarray(plan.exchange_times * workers.time_scale)
        if plan.overheads is not None:
            overheads = plan.overheads[plan.ring] * workers.time_scale
    return engine.run_slices(
        threads,
        source,
        target,
        factor,
        plan.iterations,
        workers=len(workers),
        ring=plan.ring.astype(np.int32),
        widths=plan.counts[plan.ring],
        exchange=exchange,
        overheads=overheads,
        pace=pace,
        poll=engine.Poll(progress),
        event_capacity=events,
    )


def _label(plan: StencilPlan, first: int = 0) -> Callable[[int, str, int], str]:
    exchanges = dict(zip(plan.ring.tolist(), plan.exchange_labels, strict=True))
    return lambda worker, kind, box: (
        f"step {first + box // 2}" if kind == "compute" else exchanges[worker][box % 2]
    )


def _ideal(plan: StencilPlan) -> float:
    return divided_time(plan.iterations * plan.work, plan.cycle_times)


def _run_whole(
    resources: Resources,
    plan: StencilPlan,
    source: Array,
    target: Array,
    factor: float,
    trace: bool,
    progress: Progress | None,
) -> Any:
    # for each step and member: an update, and an exchange with each of two neighbours
    events = 3 * plan.iterations * len(plan.ring) if trace else 0
    result = _run_slices(resources, plan, source, target, factor, events, progress)
    workers = resources.workers
    workers.warn_if_late(result.late, plan.names, plan.makespan * workers.time_scale)
    if not trace:
        return target
    return target, workers.trace(plan, result, _label(plan), _ideal(plan), plan.finish.tolist())


# ---- slices that move ----------------------------------------------------------------------------


def _run_watched(
    resources: Resources,
    watch: Watch,
    plan: StencilPlan,
    source: Array,
    target: Array,
    factor: float,
    trace: bool,
    progress: Progress | None,
) -> Any:
    """Run in stretches. Columns may change their owners between two stretches."""
    first = watch.workers[0]
    steps = plan.iterations
    itemsize = source.itemsize
    rows, cols = plan.shape
    scale, record, work = first.time_scale, Record(len(first)), np.empty(source.shape, source.dtype)
    known, state = _members(first, rows, cols, source.dtype), source
    for part in watch.stretches():
        members = _members(part.workers, rows, cols, source.dtype)
        own = timed_for(members, plan, part.end - part.first, itemsize)
        looked = own.iterations if trace else min(own.iterations, _LOOKED)
        events = 3 * looked * len(own.ring) if trace or part.checks_division else 0
        into = target if part.end == steps else work
        tell = share_of(progress, part.first / steps, own.iterations / steps)
        result = _run_slices(
            resources._replace(workers=part.workers), own, state, into, factor, events, tell
        )
        state, label = into, _label(own, part.first)
        steps_of = []
        if trace:
            for i, kind, start, end, box in result.events:
                steps_of.append((i, kind, start, end, label(i, kind, box)))
        record.predicted_finish[own.ring] = (record.predicted + own.finish * scale)[own.ring]
        record.add(steps_of, max(result.finish), result.busy, result.late)
        record.predicted += own.makespan * scale
        record.ideal += _ideal(own) * scale
        if part.checks_division:
            flops = own.counts * (own.work / own.shape[1])
            paid = own.overheads if first.emulated else None
            fixed = 0.0 if paid is None else paid * scale
            known = members._replace(
                cycle_times=rates(result.events, flops * scale, known.cycle_times, fixed),
                latencies=own.latencies,
                overheads=own.overheads,
            )
            plan = _moved(watch, record, plan, known, members.links, part, trace)
    first.warn_if_late(record.late.tolist(), plan.names, record.predicted)
    if not steps:
        target[...] = source
    return (target, record.trace(plan.names, first)) if trace else target


def _moved(
    watch: Watch,
    record: Record,
    plan: StencilPlan,
    known: Members,
    links: NDArray[np.float64],
    part: Stretch,
    trace: bool,
) -> StencilPlan:
    """The plan for the next stretch.

    links : the present links of the emulated platform, over which columns move.
    """
    rows, cols = plan.shape
    if not inner_rows(rows):
        return plan
    count, column, p = part.end - part.first, rows * plan.itemsize / UNIT, len(plan.names)
    here = timed_for(known, plan, count, plan.itemsize).makespan
    choices = []
    for ring in [plan.ring.tolist()] + ([None] if p <= _FEW else []):
        other = plan_stencil(rows, cols, count, known, plan.itemsize, ring, bounded=False)
        cost = max((end for *_, end in _moves(plan, other, column * known.links)), default=0.0)
        choices.append(Choice(other.makespan, cost, other))
    choice = watch.better(here, (watch.steps - part.end) / count, choices)
    if choice is None:
        return plan
    sent = [
        (receiver, "transfer", start, end, f"{items} columns from {plan.names[sender]}")
        for sender, receiver, items, start, end in _moves(plan, choice.plan, column * links)
    ]
    record.pass_messages(sent, part.workers.time_scale, trace)
    moved: StencilPlan = choice.plan
    return moved


def _moves(
    plan: StencilPlan, other: StencilPlan, times: NDArray[np.float64]
) -> list[tuple[int, int, int, float, float]]:
    """Sender, receiver, columns, start and end of each message that leads to another plan.

    Columns go directly to their new owners, or along the ring if that takes less time and the
    order of the members stays the same.

    times : (p, p) of a column from row to column.
    """
    moves = transfers(plan.owners, other.owners, len(plan.names))
    direct = [(i, j, int(moves[i, j]), start, end) for i, j, start, end in messages(moves * times)]
    ring, inner = sorted((plan.ring, other.ring), key=len, reverse=True)
    if not direct or not np.array_equal(ring[np.isin(ring, inner)], inner):
        return direct
    along = redistribute(plan.counts, other.counts, times, ring=ring, rotate=False)
    return [m[:5] for m in along.messages] if along.makespan < direct[-1][4] else direct


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
            "the platform is a star whose links have costs: a ring needs a link between every two"
            " workers (Platform.complete)"
        )
    return Members(
        platform.cycle_times,
        none if links is None or not workers.emulated else links,
        workers.names,
        platform.unit,
    )


def _checked_matrix(value: ArrayLike) -> Array:
    array = as_array("U", value)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"U must be a matrix with at least one element, got shape {array.shape}")
    if array.dtype not in DTYPES:
        raise TypeError(f"U has dtype {array.dtype}; a stencil takes float32 and float64")
    return array if element_strides(array) else array.copy()


def checked_weight(value: float, dtype: np.dtype[Any]) -> float:
    weight = check.number("weight", value)
    with np.errstate(over="ignore"):
        if not np.isfinite(dtype.type(weight)):
            raise ValueError(f"weight must be finite in {dtype}, got {weight:g}")
    return weight


def _checked_plan(
    workers: Workers, plan: StencilPlan, matrix: Array, steps: int, members: Members
) -> StencilPlan:
    """The slices of a given plan, with the times of the pool that runs it."""
    if not isinstance(plan, StencilPlan):
        raise TypeError(
            f"plan must be one of plan_stencil or slice_ring, got {type(plan).__name__}"
        )
    workers.require_as_many(plan.names)
    if plan.shape != matrix.shape:
        raise ValueError(
            f"plan is for a matrix of {plan.shape[0]} x {plan.shape[1]}, U has shape {matrix.shape}"
        )
    return timed_for(members, plan, steps, matrix.itemsize)


def sweep(
    resources: Resources, matrix: Array, weight: float, steps: int, poll: engine.Poll
) -> None:
    """Steps of the iteration on a matrix, in place.

    Slices are as wide as the workers are fast. If that would make them narrow, or if the speeds are
    equal, the slices are equal, and only as many workers as there are slices take part.
    """
    threads, workers = resources
    cols, p = matrix.shape[1], len(workers)
    speeds = workers.shares[matrix.dtype]
    if cols < _NARROW * p or speeds is None:
        p = min(max(cols // _NARROW, 1), p)
        widths = np.diff(np.arange(p + 1) * cols // p)
    else:
        widths = distribute(cols, speeds=speeds).counts
    ring = np.flatnonzero(widths)
    engine.run_slices(
        threads,
        matrix,
        matrix,
        weight,
        steps,
        workers=len(workers),
        ring=ring.astype(np.int32),
        widths=widths[ring],
        exchange=None,
        overheads=None,
        pace=None,
        poll=poll,
        event_capacity=0,
    )


def update_rate(dtype: np.dtype[Any], rows: int, cols: int) -> float:
    """Flops per second of one core with slices of about this size, up to 8 MB.

    Measured in a few milliseconds.
    """
    return _rate(dtype, min(max(_power(rows), 4), 1024), min(_power(cols), 1024))


def _power(size: int) -> int:
    """The least power of two >= 2 that is not below `size`."""
    return 1 << max(size - 1, 1).bit_length()


@cache
def _rate(dtype: np.dtype[Any], rows: int, cols: int) -> float:
    matrix, one = np.ones((rows, cols), dtype), engine.Threads(1, None)
    steps = max(2, _SAMPLE // matrix.size)
    sweep = partial(
        engine.run_slices,
        one,
        matrix,
        matrix,
        0.25,
        steps,
        workers=1,
        ring=np.zeros(1, np.int32),
        widths=np.array([cols], np.int64),
        exchange=None,
        overheads=None,
        pace=None,
        poll=None,
        event_capacity=0,
    )
    finish = min(sweep().finish[0] for _ in range(4))
    return FLOPS * (rows - 2) * cols * steps / finish
