"""Runs of plans of plan_product: block sizes, required speed of the host, and measured results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._engine import run as engine
from .._engine.dtypes import flops_per_update
from .._engine.run import seconds
from .._engine.star import DEMAND, LISTED, MOST, STREAM_A, STREAM_B, Star, peaks
from ..planners.cover import require_chunks
from ..planners.star import StarPlan, no_port, port_log, require_room
from ..platform import UNIT, Unit, divided_time, relative_speeds
from ..trace import Trace

if TYPE_CHECKING:
    from .._base.progress import Progress
    from .operands import Operands
    from .workers import Resources

ORDERS = ("plan", "demand")
_LARGEST = 256  # largest side of the products in a measurement of a rate
_COPIED = 1 << 22  # bytes copied in a measurement of a rate


def run(
    resources: Resources,
    plan: StarPlan,
    x: Operands,
    order: str,
    trace: bool,
    progress: Progress | None,
) -> Trace | None:
    """Compute C = alpha A B + beta C."""
    threads, workers = resources
    workers.require_as_many(plan.names)
    times = costs = None
    memory: tuple[int | None, ...] = (None,) * len(workers)
    if workers.emulated:
        unit = Unit.block_update(block_of(plan.shape, x.sizes), x.c.dtype)
        blocks = workers.platform.per(unit, "a plan of plan_product with these operands")
        times, costs = (t * workers.time_scale for t in (blocks.cycle_times, blocks.link_costs))
        memory = blocks.memory
    own = checked(plan, x, order, times, costs, memory)
    if workers.emulated:
        flops, rate, carried, copied = own.rates()
        workers.require_capacity(
            flops * workers.time_scale / UNIT, rate, f"panels of this plan, {x.c.dtype}"
        )
        workers.require_links(carried, copied)
    result = own.run(threads, progress)
    if workers.emulated:
        workers.warn_if_late(
            [*result.late, result.port_late], plan.names, float(result.simulated["end"].max())
        )
    return own.trace(result, workers.kind) if trace else None


@dataclass(frozen=True)
class StarRun:
    """A checked product by a plan.

    star : of the workers that run it, or of the plan at real speed.
    times : seconds per block update, None at real speed.
    costs : seconds per block sent, None at real speed.
    """

    plan: StarPlan
    operands: Operands
    block: int
    order: str
    star: Star
    times: NDArray[np.float64] | None
    costs: NDArray[np.float64] | None

    def simulated(self) -> NDArray[Any]:
        """The port's log by the model, in the unit of the star.

        Raises ValueError if no port can send the chunks and their messages in that order.
        """
        return port_log(self.plan, self.star, LISTED if self.order == "plan" else DEMAND)[1]

    def run(self, threads: engine.Threads, progress: Progress | None) -> engine.StarRunResult:
        x = self.operands
        served = None
        if self.order == "plan":
            served = np.ascontiguousarray(self.plan.messages["worker"])
        try:
            return engine.run_star(
                threads,
                x.a,
                x.b,
                x.c,
                x.alpha,
                x.beta,
                star=self.star,
                chunks=self.plan.chunks,
                served=served,
                block=self.block,
                pace=self.times,
                poll=engine.Poll(progress),
            )
        except engine.NoSuchRun as error:
            raise no_port(error) from error

    def trace(self, result: engine.StarRunResult, kind: str) -> Trace:
        """The measured trace, with the prediction of the model for the same order of messages."""
        plan, p = self.plan, len(self.plan.names)
        predicted = ideal = finish = None
        if self.times is not None:
            predicted = float(result.simulated["end"].max())
            ideal = divided_time(float(plan.updates.sum()), self.times)
            finish = np.zeros(p)
            # For messages without work, compute_end is the end of the message.
            np.maximum.at(finish, result.simulated["worker"], result.simulated["compute_end"])
        trace = Trace.from_steps(
            replace(plan, messages=result.messages).steps(),
            plan.names,
            kind=kind,
            speeds=relative_speeds(plan.cycle_times if self.times is None else self.times).tolist(),
            predicted=predicted,
            ideal=ideal,
            cpu=result.busy,
            predicted_finish=None if finish is None else finish.tolist(),
        )
        predicted_peak = peaks(plan.shape[2], p, plan.chunks, result.simulated)
        return replace(
            trace, peak=tuple(result.peak), predicted_peak=tuple(predicted_peak.tolist())
        )

    def rates(self) -> tuple[NDArray[np.float64], float, NDArray[np.float64], float]:
        """Speeds that the plan needs, and speeds of this host.

        Returns the flops per second that each worker needs, the flops per second of one core on
        such panels, the bytes per second that each link needs, and the bytes per second that one
        core copies. A link without cost needs 0.
        """
        assert self.times is not None
        assert self.costs is not None
        dtype, plan, q = self.operands.c.dtype, self.plan, self.block
        used = np.bincount(plan.chunks["worker"], minlength=len(plan.names)) > 0
        flops = np.where(used, flops_per_update(dtype) * float(q) ** 3 / self.times, 0.0)
        with np.errstate(divide="ignore"):
            carried = np.where(
                used & (self.costs > 0), float(q) ** 2 * dtype.itemsize / self.costs, 0.0
            )
        x = plan.chunks[np.argmax(plan.chunks["height"] * plan.chunks["width"])]
        # The sides in the order of HELD: sides[held] is the one that panels are cut along.
        sides = [plan.shape[2], x["width"], x["height"]]
        sides[x["held"]] = min(x["depth"], sides[x["held"]])
        if x["buffers"] in (STREAM_A, STREAM_B):
            sides[2 if x["buffers"] == STREAM_A else 1] = 1
        depth, width, height = (min(int(side) * q, _LARGEST) for side in sides)
        return flops, panel_rate(dtype, height, width, depth), carried, copy_rate()


def checked(
    plan: StarPlan,
    x: Operands,
    order: str,
    times: NDArray[np.float64] | None,
    costs: NDArray[np.float64] | None,
    memory: tuple[int | None, ...],
) -> StarRun:
    """Check a plan against its operands and workers.

    times, costs : of the workers that run it; None at real speed.
    memory : of these workers; None for the memory in the plan.
    """
    check.choice("order", order, ORDERS)
    require_chunks(plan)
    limits = np.array(
        [own if m is None else m for m, own in zip(memory, plan.memory.tolist(), strict=True)],
        np.int64,
    )
    require_room(plan, limits)
    for what, own in (("cycle-time", times), ("link cost", costs)):
        if own is not None and (own > MOST).any():
            i = int(np.argmax(own))
            raise ValueError(
                f"worker {plan.names[i]} of the pool has a {what} of {own[i]:g}: too slow for a"
                " plan of plan_product"
            )
    if times is None or costs is None:
        star = Star(plan.shape, plan.cycle_times, plan.link_costs, limits)
    else:
        star = Star(plan.shape, times, costs, limits)
    return StarRun(plan, x, block_of(plan.shape, x.sizes), order, star, times, costs)


def block_of(shape: tuple[int, int, int], sizes: tuple[int, int, int]) -> int:
    """The smallest q with which m, n, k elements make r, s, t blocks of q; shape is (r, s, t).

    Examples
    --------
    >>> from hetsched.runners.star import block_of
    >>> block_of((4, 8, 3), (310, 640, 240))
    80
    """
    names = (("A", "rows", "r"), ("B", "columns", "s"), ("A", "columns", "t"))
    parts = list(zip(names, sizes, shape, strict=True))
    for (name, lines, letter), size, blocks in parts:
        if size < blocks or -(-size // -(-size // blocks)) != blocks:
            raise ValueError(
                f"{name} has {size} {lines}, which no size of blocks makes the plan's {letter} ="
                f" {blocks} blocks"
            )
    (largest, _, _), size, blocks = max(parts, key=lambda part: -(-part[1] // part[2]))
    q = -(-size // blocks)
    for (name, lines, letter), own, wanted in parts:
        if -(-own // q) != wanted:
            raise ValueError(
                f"{name} has {own} {lines}, which are {-(-own // q)} in blocks of {q}, the plan has"
                f" {letter} = {wanted}; smaller blocks would be too many for {largest}"
            )
    return q


@cache
def panel_rate(dtype: np.dtype[Any], height: int, width: int, depth: int) -> float:
    """Flops per second of one core that adds products of panels to a chunk.

    Measured in a few milliseconds.
    """
    a = np.ones((height, depth), dtype)
    b = np.ones((depth, width), dtype)
    c = np.zeros((height, width), dtype)
    one = engine.Threads(1, None)
    flops = flops_per_update(dtype) * height * width * depth
    return flops / seconds(lambda: engine.gemm(one, a, b, c, 1.0, 1.0, None, None))


@cache
def copy_rate() -> float:
    """Bytes per second that one core copies, measured once per process in a few milliseconds."""
    source, target = np.ones(_COPIED // 8), np.zeros(_COPIED // 8)
    return _COPIED / seconds(lambda: np.copyto(target, source))
