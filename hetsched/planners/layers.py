"""A matrix product in layers on a star.

The inner dimension is divided, and every worker computes a layer of the whole result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.progress import Progress, reporting
from .._engine import layers as engine
from ..errors import InfeasibleError
from ..plan import Plan, Step, trusted
from ..platform import Platform, Unit, require_star, whose
from .distribute import displs_of
from .layer_memory import (
    beside,
    completed,
    elements_of,
    memory_of,
    require_fit,
    room_of,
    too_little,
)
from .stacked import PlanStack, stack_of, threads_for

MODES = tuple(engine.MODES)
METHODS = tuple(method for method in engine.METHODS if method != "given")
MOST_LAYERS = engine.SIDE
_LEAST, _MOST = 1.0 / engine.MOST, engine.MOST


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LayersPlan(Plan):
    """C = A B of n x n matrices, divided along the inner dimension.

    Worker i gets counts[i] columns of A and rows of B, and multiplies them to a layer of C.

    Attributes
    ----------
    n : int
        Side of the matrices.
    mode : {"scss", "sccs", "pccs", "pcss"}
        See `layers_star`.
    counts : (p,) int64 array
        Layers of each worker; they sum to n.
    displs : (p,) int64 array
        The first column of A, and row of B, of each worker, if they are dealt in worker order.
    order : (q,) int64 array
        The workers with layers, in the order of their messages; sorted by index if all messages go
        out at once.
    receive, compute : (p, 2) float64 arrays
        Start and end of each worker's message, and of its work; 0 for workers without layers. With
        simultaneous start the work lasts at least as long as the message.
    makespan : float
        When the last worker ends. It does not include the sum of the layers.
    shares : (p,) float64 array
        Fractional layers of each worker: the best for this order, or the paper's.
    relaxed : float
        The makespan with these shares.
    volume : int
        Elements of A and B sent, 2 n^2: each element is sent once.
    volume_with_sum : int
        `volume` plus (q - 1) n^2 for the sum: every worker with layers sends its layer, except the
        one that keeps the sum. Less is impossible, because each element of C is in q places. To
        send the sum back to the source takes n^2 more.
    elements_held : (p,) int64 array
        Elements that each worker holds in memory: 2 n counts[i] of A and B, and n^2 of its layer,
        or n of it with `disk`.
    memory : (p,) float64 array
        Most elements that each worker can hold; infinite without a limit.
    disk : bool
        Whether each worker stores its layer on its disk, row by row.
    cycle_times, link_costs : (p,) float64 arrays
        Time per multiply-add and per element, as given.
    """

    n: int
    mode: str
    counts: NDArray[np.int64]
    displs: NDArray[np.int64]
    order: NDArray[np.int64]
    receive: NDArray[np.float64]
    compute: NDArray[np.float64]
    makespan: float
    shares: NDArray[np.float64]
    relaxed: float
    volume: int
    volume_with_sum: int
    elements_held: NDArray[np.int64]
    memory: NDArray[np.float64]
    disk: bool
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]

    _table: ClassVar = {
        "n": schema.Count(0, MOST_LAYERS),
        "mode": schema.Text(*MODES),
        "counts": schema.Array("i8", "p", high="n"),
        "displs": schema.Array("i8", "p", high="n"),
        "order": schema.Array("i8", "served", high="p - 1"),
        "receive": schema.Array("f8", "p", 2, high=schema.LONG),
        "compute": schema.Array("f8", "p", 2, high=schema.LONG),
        "makespan": schema.Real(),
        "shares": schema.EACH,
        "relaxed": schema.Real(),
        "volume": schema.Integer(high=2**100),
        "volume_with_sum": schema.Integer(high=2**100),
        "elements_held": schema.Array("i8", "p"),
        "memory": schema.Array("f8", "p", high=math.inf),
        "disk": schema.Flag(),
        "cycle_times": schema.CYCLE_TIMES,
        "link_costs": schema.EACH,
    }

    def _check(self) -> None:
        schema.require_dealt("counts", self.counts, self.n, self.displs)
        schema.require_able("counts", self._load(), self.cycle_times)
        schema.require_order("order", self.order, self.counts)
        schema.require_close("makespan", self.makespan, float(self.compute.max()))

    @classmethod
    def _completed(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return completed(content)

    @property
    def elements_on_disk(self) -> NDArray[np.int64]:
        """(p,) elements of its layer that each worker stores on its disk."""
        return check.frozen(np.where(self.counts > 0, self.n**2 if self.disk else 0, 0))

    def _on(self, platform: Platform) -> Plan:
        memory = memory_of(elements_of(platform), (len(platform),))
        require_fit(self.names, self.elements_held, memory)
        costs = self._star_links(platform)
        given = "given", self.mode, self.n, platform.cycle_times, costs, memory, self.disk
        with _naming(self.n, platform.cycle_times, costs, memory, self.disk):
            found = engine.layers_plan(*given, (self.order, self.counts))
        return self._carried(
            platform,
            found.proof["makespan"],
            found.proof["bound"],
            receive=check.frozen(found.receive),
            compute=check.frozen(found.compute),
            shares=check.frozen(found.shares),
            relaxed=found.relaxed,
            link_costs=costs,
            memory=check.frozen(memory),
        )

    def _load(self) -> Any:
        """Multiply-adds of each worker."""
        return self.counts * float(self.n) ** 2

    def steps(self) -> list[Step]:
        """The message and the work of each worker with layers."""
        steps = []
        for i in self.order.tolist():
            count = int(self.counts[i])
            what = f"{count} layer{'s' * (count != 1)}"
            for kind, (start, end) in (
                ("transfer", self.receive[i].tolist()),
                ("compute", self.compute[i].tolist()),
            ):
                if start < end:
                    steps.append(Step(i, kind, start, end, what))
        return steps


@overload
def layers_star(
    n: int,
    cycle_times: Platform | check.Vector | None = None,
    link_costs: ArrayLike | None = None,
    mode: str = "pccs",
    method: str = "exact",
    *,
    speeds: check.Vector | None = None,
    memory: ArrayLike | Sequence[float | None] | None = None,
    disk: bool = False,
    progress: bool | Progress | None = None,
) -> LayersPlan: ...
@overload
def layers_star(
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    link_costs: ArrayLike | None = None,
    mode: str = "pccs",
    method: str = "exact",
    *,
    speeds: ArrayLike | None = None,
    memory: ArrayLike | Sequence[float | None] | None = None,
    disk: bool = False,
    progress: bool | Progress | None = None,
) -> LayersPlan | PlanStack: ...
def layers_star(
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    link_costs: ArrayLike | None = None,
    mode: str = "pccs",
    method: str = "exact",
    *,
    speeds: ArrayLike | None = None,
    memory: ArrayLike | Sequence[float | None] | None = None,
    disk: bool = False,
    progress: bool | Progress | None = None,
) -> LayersPlan | PlanStack:
    """Divide the inner dimension of an n x n matrix product among workers around a source.

    The source holds A and B. A worker with k columns of A and rows of B receives 2 n k elements and
    does n^2 k multiply-adds. Each element of A and B is sent once. Every worker ends with a full
    matrix, and C is the sum of these matrices. The plan does not include that sum: see
    `volume_with_sum`. A worker holds 2 n k + n^2 elements. If memory is short, it can store its
    matrix on its disk, row by row, and hold 2 n k + n elements.

    Parameters
    ----------
    n : int
        Side of the matrices, 0 <= n <= 2**30.
    cycle_times : Platform or (p,) or (..., p) array_like
        Time per multiply-add of each worker, > 0: w_i Tcp. A worker with an infinite cycle-time
        gets nothing. An array with more than one axis is a stack: one plan for each set of workers,
        computed on all cores.
    link_costs : float or (p,) array_like, optional
        Time to send a worker an element, >= 0: z_i Tcm. Default: the link costs of the Platform, or
        0. For a stack, any shape that broadcasts against its cycle-times.
    mode : {"scss", "sccs", "pccs", "pcss"}
        Communication is sequential (sc), one message after the other, or parallel (pc), all at
        once. The start is consecutive (cs): a worker computes when all its data has arrived. Or it
        is simultaneous (ss): a worker computes while its data arrives, and ends no earlier than the
        message.
    method : {"exact", "best", "paper"}
        "exact": the best counts, for messages in the order of the workers. "best": also the best
        order; the same as "exact" if all messages go out at once. "paper": the closed form in the
        order of the workers, in which all workers end together, rounded as in section 4.5.
    speeds : (p,) or (..., p) array_like, optional
        1 / cycle_times, given instead of them.
    memory : float or (p,) array_like, optional
        Elements that each worker can hold, infinite (or None) without a limit. Default: the memory
        of a Platform with a unit. For a stack, any shape that broadcasts against its cycle-times. A
        worker with too little memory for one layer gets nothing.
    disk : bool
        Whether workers store what they compute on their disks. Writing takes no time in the model.
    progress : bool or callable, optional
        For a stack: True shows a bar; a function is called with the fraction done.

    Returns
    -------
    LayersPlan
        lower_bound holds for every order with one message for each worker. If messages go out at
        once, "exact" is optimal. Otherwise "best" is usually proven optimal for up to 16 workers,
        and for up to 20 workers with different links. For a stack: a PlanStack with makespan, bound
        and optimal (...), and counts (..., p).

    Raises
    ------
    InfeasibleError
        If the memory of all workers together does not hold n layers.
    ValueError, TypeError
        For arguments outside their ranges: n^2 cycle_times and 2 n link_costs must be from 2**-300
        to 2**300 if they are not 0.

    Notes
    -----
    Liu, Shi, Zhang, Robertazzi, Layer Based Partition for Matrix Multiplication on Heterogeneous
    Processor Platforms, section 4. For fractional shares, ascending link costs are the best order;
    for whole layers, another order is often better. Whole layers are found by dynamic programming,
    in O(p n) at worst and usually much less, for any n. If work takes less time than its message,
    the longer of the two is used in the paper's formulas for simultaneous start.

    Section 3.3 describes layers on disks, and says nothing more about memory limits. So "paper"
    gives the layers above a limit to the workers that end first, as it does with the layers that
    rounding leaves over.

    Examples
    --------
    >>> import hetsched as hs
    >>> cycle_times, link_costs = [2e-4, 3e-4, 5e-4, 7e-4], [3e-4, 8e-4, 5e-4, 4e-4]
    >>> plan = hs.layers_star(100, cycle_times, link_costs, "sccs")
    >>> plan.counts.tolist(), round(plan.makespan, 2), plan.optimal
    ([45, 28, 16, 11], 92.7, False)
    >>> plan = hs.layers_star(100, cycle_times, link_costs, "sccs", "best")
    >>> plan.order.tolist(), plan.counts.tolist(), round(plan.makespan, 2), plan.optimal
    ([0, 3, 2, 1], [44, 27, 17, 12], 90.64, True)
    >>> plan.volume, plan.volume_with_sum
    (20000, 50000)
    >>> memory = [15000, 15000, 30000, 30000]
    >>> hs.layers_star(100, cycle_times, memory=memory).counts.tolist()
    [25, 25, 29, 21]
    >>> hs.layers_star(100, cycle_times, memory=memory, disk=True).counts.tolist()
    [43, 28, 17, 12]
    """
    check.amount_first("layers_star", "n", n, cycle_times)
    side = check.integer("n", n, low=0, high=MOST_LAYERS)
    for name, value, choices in (("mode", mode, MODES), ("method", method, METHODS)):
        check.choice(name, value, choices)
    if any(map(check.is_stack, (cycle_times, speeds))):
        return _layers_stack(
            side,
            cycle_times,
            link_costs,
            mode,
            method,
            speeds,
            memory,
            check.flag("disk", disk),
            progress,
        )
    if progress is not None and progress is not False:
        raise ValueError("progress is for stacks of cycle_times")
    if isinstance(cycle_times, Platform):
        cycle_times = cycle_times.per(Unit.multiply_add(), "cycle_times: layers_star")
    times = check.cycle_times(cycle_times, speeds)
    p = len(times)
    if link_costs is None:
        require_star("cycle_times", cycle_times)
    given = getattr(cycle_times, "link_costs", 0.0) if link_costs is None else link_costs
    costs = check.each("link_costs", given, p)
    room = memory_of(elements_of(cycle_times) if memory is None else memory, (p,))
    disk = check.flag("disk", disk)
    with _naming(side, times, costs, room, disk):
        found = engine.layers_plan(method, mode, side, times, costs, room, disk)
    held = 2 * side * found.counts + beside(side, disk)
    return trusted(
        LayersPlan,
        method=method,
        **found.proof,
        n=side,
        mode=mode,
        counts=check.frozen(found.counts),
        displs=displs_of(found.counts),
        order=check.frozen(found.order),
        receive=check.frozen(found.receive),
        compute=check.frozen(found.compute),
        shares=check.frozen(found.shares),
        relaxed=found.relaxed,
        volume=2 * side**2,
        volume_with_sum=(2 + max(len(found.order) - 1, 0)) * side**2,
        elements_held=check.frozen(np.where(found.counts > 0, held, 0)),
        memory=check.frozen(room),
        disk=disk,
        cycle_times=check.frozen(times),
        link_costs=check.frozen(costs),
        **whose(cycle_times, p),
    )


def _layers_stack(
    n: int,
    cycle_times: Any,
    link_costs: Any,
    mode: str,
    method: str,
    speeds: Any,
    memory: Any,
    disk: bool,
    progress: bool | Progress | None,
) -> PlanStack:
    """One plan for each row of the stack."""
    times = check.cycle_times(cycle_times, speeds, stacked=True)
    costs = check.each_of("link_costs", 0.0 if link_costs is None else link_costs, times.shape)
    room = memory_of(memory, times.shape)
    shape, p = times.shape[:-1], times.shape[-1]
    rows = np.ascontiguousarray(times.reshape(-1, p)), np.ascontiguousarray(costs.reshape(-1, p))
    with reporting(progress) as tell, _naming(n, times, costs, room, disk):
        threads = threads_for(engine.is_brief_batch(method, *rows[0].shape), tell)
        limits = np.ascontiguousarray(room.reshape(-1, p))
        results = engine.layers_batch(method, mode, n, *rows, limits, disk, threads, tell)
    name, given = ("cycle_times", cycle_times) if speeds is None else ("speeds", speeds)
    stacked = {
        name: np.array(given, np.float64).reshape(-1, p),
        "link_costs": rows[1],
        "memory": room.reshape(-1, p),
    }
    return stack_of(
        shape,
        method,
        "makespan",
        results,
        layers_star,
        stacked,
        {"n": n, "mode": mode, "method": method, "disk": disk},
    )


@contextmanager
def _naming(
    n: int,
    times: NDArray[np.float64],
    costs: NDArray[np.float64],
    memory: NDArray[np.float64],
    disk: bool,
) -> Iterator[None]:
    """A context for calls of the engine: its errors name the argument and its entry."""
    try:
        yield
    except ValueError:
        held = np.where(np.isfinite(times), room_of(n, memory, beside(n, disk)), 0).sum(axis=-1)
        if (short := held < n).any():
            i, where = check.first(short)
            raise InfeasibleError(too_little(n, disk, held[i], where)) from None
        _require_range("cycle_times", times, max(n, 1) ** 2, "n^2")
        _require_range("link_costs", costs, 2 * max(n, 1), "2 n")
        raise


def _require_range(name: str, values: NDArray[np.float64], factor: int, what: str) -> None:
    """ValueError unless the engine can compute with these times of a layer."""
    with np.errstate(over="ignore"):
        scaled = values * float(factor)
    bad = np.isfinite(values) & (values > 0) & ~((scaled >= _LEAST) & (scaled <= _MOST))
    if bad.any():
        i, where = check.first(bad)
        raise ValueError(
            f"{what} {name}{where} must be from 2**-300 to 2**300, got {scaled[i]:g}:"
            " give times in another unit"
        ) from None
