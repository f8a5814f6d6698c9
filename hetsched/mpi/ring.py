"""Iterations of a stencil on the ranks of a communicator, in slices that stay with their ranks.

Each rank holds adjacent columns. Neighbours on the ring exchange d columns, the halos, before d
steps, so that there is one message in each direction for d steps and not for each. The number of
bytes is the same as with one column in each step. A rank updates its inner columns while the halos
travel. The columns beside the halos follow in a strip of 3 d columns, of which the middle third is
valid: each step makes one more column at each end of a strip invalid. So in each step a member of a
ring updates 6 d columns besides its slice. The plan charges this, and the processor time of the
exchanges, as an overhead of each step.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._base.progress import Progress
from .._base.regular import open_regular
from .._base.replace import replace_file, require_replaceable
from .._engine import run as engine
from ..plan import Plan
from ..planners.remap import transfers
from ..planners.ring import SliceRing, links_between
from ..planners.stencil import (
    FLOPS,
    Members,
    StencilPlan,
    inner_rows,
    plan_stencil,
    timed_for,
)
from ..platform import UNIT, Platform, Unit, names_of
from ..runners.pool import Pool, sweep
from ..runners.stencil import DTYPES, checked_weight
from ..runners.watch import Choice, Judge
from ..trace import Trace
from . import pools, product
from .arguments import (
    Call,
    agreed,
    as_text,
    columns,
    described,
    held,
    require_one_plan,
    trace_of,
)
from .kinds import wrong_kind
from .loop import Loop, Waiting, all_of
from .panels import stopping
from .ranks import TIMEOUT, Ranks
from .record import FIRST, Clock, Record, synchronised
from .zones import Held, Zone, require_ranks, without_empty

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .windows import Array

#: Most columns of a halo: beyond it, strips cost more than messages.
DEEP = 8
#: Columns that a member of a ring updates besides its slice, in each step: two strips.
BESIDES = 6 * DEEP

#: Tags of messages to the member before and to the next one, and to and from the root. Zones move
#: with smaller tags.
_BACK, _ON, _UP, _DOWN = (FIRST + 8 + i for i in range(4))
_SAMPLE = 1 << 20  # elements, at most, of the slice with which a rank measures its speed
_EXCHANGES = 20  # of halos, with which it measures what one takes


class Sweep(NamedTuple):
    """What `stencil` returns if it is given a tolerance.

    Attributes
    ----------
    value : array, Zone or None
        See `stencil`.
    steps : int
        Number of steps that were done.
    change : float
        Largest difference of an element between the last step and the one before; infinite if it
        was never compared.
    """

    value: Any
    steps: int
    change: float


def stencil(
    comm: Any,
    U: ArrayLike | Zone | None = None,
    steps: int = 0,
    *,
    weight: float = 0.25,
    plan: StencilPlan | SliceRing | None = None,
    root: int = 0,
    platform: Platform | None = None,
    tolerance: float | None = None,
    every: int = 10,
    rebalance: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 1000,
    done: int = 0,
    pool: Pool | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    timeout: float = TIMEOUT,
) -> Any:
    """Run steps of the iteration of `Pool.stencil` on the ranks of a communicator.

    All ranks must call it. Each rank is one worker of a ring and keeps a slice of columns.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    U : (m, n) array_like at the root and None elsewhere; or on every rank its Zone
        float32 or float64.
    steps : int
        >= 0; the same on all ranks, as are weight, tolerance, every, rebalance, checkpoint_every
        and done.
    weight : float
        See `Pool.stencil`.
    plan : StencilPlan or SliceRing, optional
        For as many workers as there are ranks: `Pool.plan_stencil` or `hs.slice_ring`. Ranks other
        than the root may leave it out.
    root : int
    platform : Platform, optional
        Used at the root if there is no StencilPlan: cycle-times in seconds per gigaflop and links
        between every two ranks, such as `measure` finds. Default: the speeds of the ranks from a
        brief measurement that is made once for each communicator, and links without cost. The
        same measurement finds the processor time of a message, for any platform.
    tolerance : float, optional
        >= 0. The iteration ends when no element has changed by more in a step.
    every : int
        >= 1. Steps between two comparisons with the tolerance.
    rebalance : int, optional
        >= 1. Every `rebalance` steps the columns are divided anew for the measured speeds, if that
        saves more time than it costs (see `Pool.stencil`).
    checkpoint : path, optional
        File of the root, which is replaced after every `checkpoint_every` steps: see
        `load_checkpoint`.
    checkpoint_every : int
        >= 1.
    done : int
        >= 0. Number of steps that led to U, as `load_checkpoint` returns it. The checkpoints of
        this call count from there; nothing else depends on it.
    pool : Pool, optional
        The pool with which this rank computes; see `matmul`.
    trace, progress :
        See `Pool`. The trace is at the root and has a worker for each rank. The root reports the
        progress.
    timeout : float
        See `matmul`.

    Returns
    -------
        The matrix after the last step: an array at the root and None elsewhere, or if U is a Zone,
        on every rank its Zone, the slice that it holds now. With a tolerance a `Sweep`. With
        trace=True a pair, the second item of which is the Trace at the root and None elsewhere.

    Raises
    ------
    ValueError, TypeError, OSError
        On every rank, before anything is sent, if an argument on any rank is invalid.
    LostRank
        See `matmul`.

    Notes
    -----
    The bits are the same as with `Pool.stencil`, for any number of ranks. Neighbours exchange up to
    8 columns at once, and then do as many steps. A step sends the bytes that the plan counts, and
    once, for each division of the columns, the ends of the halos. A plan that is made here charges
    each member, in every step, for 48 columns that it updates besides its own and for an eighth of
    an exchange. So a small matrix stays on one rank.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> U = hs.mpi.stencil(MPI.COMM_WORLD, U, 1000)  # doctest: +SKIP
    """
    call = Call(comm, root, pool, timeout)
    limits = _Limits(steps, weight, tolerance, every, rebalance, checkpoint, checkpoint_every, done)
    with call.ranks:
        return _stencil(call, U, plan, platform, limits, trace, progress)


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[NDArray[Any], int]:
    """Read a checkpoint of `stencil`.

    Parameters
    ----------
    path : path

    Returns
    -------
    U : (m, n) ndarray
        The matrix, float32 or float64.
    steps : int
        Number of steps that led to it.

    Raises
    ------
    ValueError
        If the file is not a checkpoint, or is cut.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> U, done = hs.mpi.load_checkpoint("heat.npz")  # doctest: +SKIP
    >>> U = hs.mpi.stencil(  # doctest: +SKIP
    ...     comm,
    ...     U if comm.rank == 0 else None,
    ...     100_000 - done,
    ...     checkpoint="heat.npz",
    ...     done=done,
    ... )
    """
    path = check.path("path", path)
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as found:
            matrix, done = found["U"], found["steps"]
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a checkpoint of a stencil: {error}") from None
    if matrix.ndim != 2 or matrix.size == 0 or matrix.dtype not in DTYPES:
        raise ValueError(
            f"{path}: U must be a matrix of float32 or float64, got shape {matrix.shape}"
            f" of {matrix.dtype}"
        )
    if done.shape != () or done.dtype != np.int64 or done < 0:
        raise ValueError(f"{path}: steps must be a number >= 0")
    return matrix, int(done)


class _Limits(NamedTuple):
    """How long the iteration goes on, and what happens between its steps."""

    steps: int
    weight: float
    tolerance: float | None
    every: int
    rebalance: int | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_every: int
    done: int

    def checked(self, dtype: np.dtype[Any], at_root: bool) -> _Limits:
        """The same with checked values. Only the root's path is checked."""
        path = None if self.checkpoint is None else check.path("checkpoint", self.checkpoint)
        if at_root and path is not None:
            require_replaceable(path)
        return _Limits(
            check.integer("steps", self.steps, low=0, high=2**30 - 1),
            checked_weight(self.weight, dtype),
            None if self.tolerance is None else check.number("tolerance", self.tolerance, low=0.0),
            check.integer("every", self.every, low=1),
            None if self.rebalance is None else check.integer("rebalance", self.rebalance, low=1),
            path,
            check.integer("checkpoint_every", self.checkpoint_every, low=1),
            check.integer("done", self.done, low=0),
        )

    def stretches(self) -> Iterator[tuple[int, int]]:
        """First step and end of each stretch. A stretch ends where the run compares, rebalances or
        writes a checkpoint."""
        periods = [
            period
            for period, wanted in (
                (self.every, self.tolerance is not None),
                (self.rebalance, self.rebalance is not None),
                (self.checkpoint_every, self.checkpoint is not None),
            )
            if wanted and period is not None
        ]
        now = 0
        while now < self.steps:
            end = min([self.steps, *((now // period + 1) * period for period in periods)])
            yield now, end
            now = end


def _stencil(
    call: Call,
    U: ArrayLike | Zone | None,
    plan: StencilPlan | SliceRing | None,
    platform: Platform | None,
    limits: _Limits,
    trace: bool,
    progress: bool | Progress | None,
) -> Any:
    ranks, root = call.ranks, call.root
    with call.reporting(progress) as tell:
        mine: list[Any] = []

        def checked() -> tuple[Any, ...]:
            call.require_progress(progress)
            matrix, of_u = described("U", U, ranks.rank, root)
            dtype = np.dtype(of_u.dtype) if of_u.kind != "none" else DTYPES[1]
            if dtype not in DTYPES:
                raise TypeError(f"U has dtype {dtype}; a stencil takes float32 and float64")
            if of_u.kind != "none" and 0 in of_u.shape:
                raise ValueError(f"U must have at least one element, got shape {of_u.shape}")
            if plan is not None:
                if not isinstance(plan, StencilPlan | SliceRing):
                    raise wrong_kind(plan, "one of plan_stencil or slice_ring")
                require_ranks(plan, ranks.size)
            if platform is not None and not isinstance(platform, Platform):
                raise TypeError(f"platform must be a Platform, got {check.shown(platform)}")
            own = limits.checked(dtype, call.at_root)
            mine.extend((matrix, own))
            same = own._replace(checkpoint="a path" if own.checkpoint is not None else None)
            wishes = (
                check.flag("trace", trace),
                not isinstance(plan, StencilPlan) and (platform is None or ranks.size > 1),
            )
            return of_u, as_text(plan), wishes, same, pools.here(), root

        shapes, texts, wishes, same, places, roots = columns(ranks.agree(checked))
        call.require_one_root(roots)
        shape = agreed("U", shapes, root)
        _require_same(same, root)
        require_one_plan(texts, root)
        (traced, measures), dtype = wishes[root], np.dtype(shape.dtype)
        own_pool = call.pool(places)
        known = _measured(ranks, own_pool, dtype, shape.shape) if measures else None
        matrix, own = mine
        made: list[StencilPlan] = []

        def planned() -> str | None:
            if not call.at_root:
                return None
            if isinstance(plan, StencilPlan):
                made.append(_timed(plan, shape.shape, own.steps, dtype))
            else:
                members = _members(platform, known, places)
                made.append(_planned(shape.shape, own.steps, members, known, dtype.itemsize, plan))
            return as_text(made[0])

        text = ranks.agree(planned)[root]
        followed = made[0] if call.at_root else Plan.from_dict(json.loads(text))
        assert isinstance(followed, StencilPlan)
        run = _Run(call, followed, own, dtype, own_pool, tell, traced)
        done, record = run.result(held(shape, matrix, root), stays=shape.kind == "zone")
    found = done.value if own.tolerance is None else done
    return (found, record) if traced else found


def _require_same(given: list[_Limits], root: int) -> None:
    """Raise ValueError unless all ranks give the same. A checkpoint may have other paths."""
    for rank, other in enumerate(given):
        for name, wanted in given[root]._asdict().items():
            if (theirs := getattr(other, name)) != wanted:
                raise ValueError(
                    f"{name} must be the same on all ranks, got {wanted!r} at the root, rank"
                    f" {root}, and {theirs!r} on rank {rank}"
                )


# ---- the plan ------------------------------------------------------------------------------------


class _Measured(NamedTuple):
    """What a rank takes for its part of a step.

    cycle_time : seconds per gigaflop of an update
    exchange : seconds for an exchange of halos of `DEEP` columns, without the time of the links
    """

    cycle_time: float
    exchange: float


def _measured(
    ranks: Ranks, pool: Pool, dtype: np.dtype[Any], shape: tuple[int, int]
) -> list[_Measured]:
    """What each rank takes with slices of about this size. All measure together."""
    rows = min(max(shape[0], 3), 1024)
    cols = min(max(shape[1] // ranks.size, 1), max(_SAMPLE // rows, 1))

    def measure() -> list[_Measured]:
        matrix = np.ones((rows, cols), dtype)
        steps = max(2, _SAMPLE // matrix.size)
        used, began = time.process_time(), time.perf_counter()
        found = pools.timed(ranks, lambda: sweep(pool, matrix, 0.25, steps, engine.Poll()))
        cores = (time.process_time() - used) / (time.perf_counter() - began)
        flops = FLOPS * inner_rows(rows) * cols * steps
        # an exchange takes processor time from the update, which runs on `cores` cores
        exchanges = ranks.gather(
            _exchange_time(ranks, shape[0], dtype) / min(max(cores, 0.01), len(pool))
        )
        return [
            _Measured(float(np.median(own)) * UNIT / flops, exchange)
            for own, exchange in zip(found, exchanges, strict=True)
        ]

    key = "stencil", dtype, len(pool), rows, cols, shape[0]
    found: list[_Measured] = ranks.kept(key, measure)
    return found


def _exchange_time(ranks: Ranks, rows: int, dtype: np.dtype[Any]) -> float:
    """Seconds of processor time of this thread for an exchange of halos with two neighbours."""
    if ranks.size == 1:
        return 0.0
    lines = np.ones((max(inner_rows(rows), 1), DEEP), dtype)
    beside = (ranks.rank - 1) % ranks.size, (ranks.rank + 1) % ranks.size

    async def repeat(loop: Loop) -> float:
        await all_of(_exchanged(loop, beside, lines, lines)[1])  # the first makes connections
        used = time.thread_time()
        for _ in range(_EXCHANGES):
            await all_of(_exchanged(loop, beside, lines.copy(), lines.copy())[1])
        return (time.thread_time() - used) / _EXCHANGES

    found: float = ranks.run(repeat)
    return found


def _exchanged(
    loop: Loop, beside: tuple[int, int], first: Array, last: Array
) -> tuple[list[Array], list[Waiting]]:
    """Begin to send the first columns to the member before and the last ones to the next.

    Returns what comes, from the member before and from the next one, and what to wait for.
    """
    before, after = beside
    coming = [np.empty_like(first), np.empty_like(last)]
    return coming, [
        loop.receive(coming[0], before, _ON),
        loop.receive(coming[1], after, _BACK),
        loop.send(first, before, _BACK),
        loop.send(last, after, _ON),
    ]


def _members(
    platform: Platform | None, known: list[_Measured] | None, places: list[pools.Place]
) -> Members:
    """The ranks as members of a ring: a platform without costs of links has free messages."""
    p = len(places)
    if platform is None:
        assert known is not None
        times = np.array([each.cycle_time for each in known])
        return Members(times, np.zeros((p, p)), tuple(pools.names(places)))
    platform = platform.per(Unit.gigaflop(), "a stencil")
    if len(platform) != p:
        raise ValueError(f"platform has {len(platform)} workers, the communicator {p} ranks")
    free = platform.links is None and platform.shape is None and not platform.link_costs.any()
    links = np.zeros((p, p)) if free else links_between(platform)
    return Members(platform.cycle_times, links, names_of(platform, p), platform.unit)


def _planned(
    shape: tuple[int, int],
    steps: int,
    members: Members,
    known: list[_Measured] | None,
    itemsize: int,
    ring: SliceRing | None,
) -> StencilPlan:
    """The slices of the ranks. A rank that is alone in the ring has no halos and no exchange."""
    overheads = BESIDES * inner_rows(shape[0]) * FLOPS / UNIT * members.cycle_times
    if known is not None:
        overheads = overheads + [each.exchange / DEEP for each in known]
    paid = members._replace(overheads=overheads)
    plan = plan_stencil(*shape, steps, paid, itemsize, ring)
    alone = int(np.argmin(members.cycle_times) if ring is None else plan.ring[0])
    is_faster = ring is None and plan.work * members.cycle_times[alone] <= plan.step_time
    if len(plan.ring) > 1 and not is_faster:
        return plan
    return plan_stencil(*shape, steps, members, itemsize, [alone])


def _timed(
    plan: StencilPlan, shape: tuple[int, int], steps: int, dtype: np.dtype[Any]
) -> StencilPlan:
    """A given plan, timed for the steps and the dtype of this call."""
    if plan.shape != shape:
        raise ValueError(
            f"plan is for a matrix of {plan.shape[0]} x {plan.shape[1]}, U has shape {shape}"
        )
    own = Members(plan.cycle_times, plan.links, plan.names, plan.unit)
    return timed_for(own, plan, steps, dtype.itemsize)


def _slices(ring: NDArray[np.int64], counts: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """(q, 5) rank, row, col, height, width of the slices, in the order of the ring."""
    widths = counts[ring]
    found = np.zeros((len(ring), 5), np.int64)
    found[:, 0], found[:, 2] = ring, np.cumsum(widths) - widths
    found[:, 3], found[:, 4] = rows, widths
    return without_empty(found)


# ---- the run -------------------------------------------------------------------------------------


class _Run:
    """The iteration on one rank."""

    def __init__(
        self,
        call: Call,
        plan: StencilPlan,
        limits: _Limits,
        dtype: np.dtype[Any],
        pool: Pool,
        tell: Progress | None,
        traced: bool,
    ) -> None:
        self._call, self._plan, self._limits, self._dtype = call, plan, limits, dtype
        self._pool, self._tell, self._traced = pool, tell, traced
        self._record, self._judge = Record(traced), Judge()
        self._current = plan  # as divided last, at the root
        self._ring, self._counts = plan.ring, plan.counts
        self._slice: Array = np.empty((0, 0), dtype)
        self._spent = self._updated = 0.0  # seconds, and columns times steps, since the last look
        self._per_byte = 0.0  # seconds to move a byte of a slice

    def result(self, matrix: Held, *, stays: bool) -> tuple[Sweep, Trace | None]:
        """Run; the matrix at the end goes to the root unless it stays with the ranks."""
        call, shape = self._call, self._plan.shape
        whole: list[Array] = []
        call.ranks.agree(
            lambda: (
                whole.append(np.empty(shape, self._dtype)) if call.at_root and not stays else None
            )
        )
        (steps, change, slices), clocks, start = call.ranks.run(
            lambda loop: self._main(loop, matrix, None if stays else tuple(whole))
        )
        value: Any = whole[0] if whole else None
        if stays:
            parts = (self._slice,) if self._slice.size else ()
            value = Zone(shape, slices, call.ranks.rank, parts, self._dtype)
        trace = trace_of(call, self._plan, self._record, clocks, start) if self._traced else None
        return Sweep(value, steps, change), trace

    async def _main(
        self, loop: Loop, matrix: Held, whole: tuple[Array, ...] | None
    ) -> tuple[tuple[int, float, NDArray[np.int64]], list[Clock], float]:
        root, limits = self._call.root, self._limits
        self._loop = loop
        clocks = [await synchronised(loop, root)] if self._traced else []
        start = began = self._record.now()
        await self._deal(matrix, self._ring, self._counts)
        if self._slice.size:
            self._per_byte = (self._record.now() - began) / self._slice.nbytes
        done, change = 0, np.inf
        for first, end in limits.stretches() if inner_rows(self._plan.shape[0]) else ():
            compares = limits.tolerance is not None and end % limits.every == 0
            await self._advance(first, end - first - compares)
            if compares:
                change = await self._compare(end - 1)
            done = end
            if self._tell is not None:
                self._tell(done / limits.steps)
            if limits.checkpoint is not None and end % limits.checkpoint_every == 0:
                await self._save(end)
            if limits.tolerance is not None and change <= limits.tolerance:
                break
            if limits.rebalance and end % limits.rebalance == 0 and end < limits.steps:
                await self._rebalance(limits.rebalance, end)
        slices = _slices(self._ring, self._counts, self._plan.shape[0])
        if whole is not None:
            await self._collect(whole)
        if self._traced:
            clocks.append(await synchronised(loop, root))
        return (done, float(change), slices), clocks, start

    # ---- slices ----

    async def _deal(self, matrix: Held, ring: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Move the matrix from the ranks that hold it to slices."""
        rows, me = self._plan.shape[0], self._loop.rank
        wanted = _slices(ring, counts, rows)
        own = np.empty((rows, int(counts[me])), self._dtype)
        targets = (own,) if own.size else ()
        await product.moved(self._loop, self._record, matrix, wanted, targets)
        self._ring, self._counts, self._slice = ring, counts, own
        order = ring.tolist()
        self._halo = min(DEEP, int(counts[ring].min()))
        self._ends: list[Array] = []
        self._beside: tuple[int, int] | None = None
        if own.size and len(order) > 1:
            at = order.index(me)
            self._beside = order[at - 1], order[(at + 1) % len(order)]
            self._ends, waits = self._exchange(own[[0, -1]], self._halo)
            await all_of(waits)

    def _exchange(self, lines: Array, depth: int) -> tuple[list[Array], list[Waiting]]:
        """Begin to exchange these rows of the outer columns with the neighbours.

        Returns (rows, depth) arrays, for the columns before this slice and after it, and what to
        wait for.
        """
        assert self._beside is not None
        first = np.ascontiguousarray(lines[:, :depth])
        last = np.ascontiguousarray(lines[:, -depth:])
        self._record.sent += first.nbytes + last.nbytes
        self._record.messages += 2
        self._record.received += first.nbytes + last.nbytes
        return _exchanged(self._loop, self._beside, first, last)

    async def _collect(self, whole: tuple[Array, ...]) -> None:
        shape = self._plan.shape
        parts = (self._slice,) if self._slice.size else ()
        slices = Held(_slices(self._ring, self._counts, shape[0]), parts, self._dtype)
        wanted = np.array([(self._call.root, 0, 0, *shape)], np.int64)
        await product.moved(self._loop, self._record, slices, wanted, whole)

    # ---- steps ----

    async def _advance(self, first: int, steps: int) -> None:
        """Do steps of the slice, as many at once as the halos have columns."""
        if not self._slice.size:
            return
        end = first + steps
        while first < end:
            depth = end - first if self._beside is None else min(self._halo, end - first)
            what = f"step {first}" if depth == 1 else f"steps {first} to {first + depth - 1}"
            if self._beside is None:
                await self._loop.compute(lambda d=depth, w=what: self._do([self._slice], d, w))  # type: ignore[misc]
            else:
                await self._step_with_halos(depth, what)
            first += depth

    def _do(self, parts: list[Array], steps: int, what: str) -> float:
        """Do steps of parts of the slice, each a cylinder. Returns when they ended."""
        start = self._record.now()
        with self._record.computing(what):
            for part in parts:
                sweep(self._pool, part, self._limits.weight, steps, stopping(self._loop))
        now = self._record.now()
        self._spent += now - start
        self._updated += steps * sum(part.shape[1] for part in parts)
        return now

    async def _step_with_halos(self, depth: int, what: str) -> None:
        own, loop = self._slice, self._loop
        width = own.shape[1]
        halos, waits = self._exchange(own[1:-1], depth)
        alone = width > 2 * depth  # some columns need no halo
        # the columns beside the halos, before they change
        sides = [own[:, : 2 * depth].copy(), own[:, -2 * depth :].copy()] if alone else [own]
        running = loop.compute(lambda: self._do([own], depth, what)) if alone else None
        await all_of(waits)
        arrived = self._record.now()
        if running is not None:
            ended = await running
            if arrived > ended:
                self._record.add("transfer", ended, arrived, f"halos of {depth} columns")
        strips = []
        for i, side in enumerate(sides):
            strip = [side]
            if i == 0:
                strip.insert(0, self._joined(0, halos[0]))
            if i == len(sides) - 1:
                strip.append(self._joined(1, halos[1]))
            strips.append(np.concatenate(strip, axis=1))
        await loop.compute(lambda: self._do(strips, depth, what))
        if alone:
            own[:, :depth] = strips[0][:, depth : 2 * depth]
            own[:, -depth:] = strips[1][:, depth : 2 * depth]
        else:
            own[...] = strips[0][:, depth : depth + width]

    def _joined(self, side: int, halo: Array) -> Array:
        """The columns of a halo with their first and last elements, which never change."""
        depth = halo.shape[1]
        ends = self._ends[side][:, -depth:] if side == 0 else self._ends[side][:, :depth]
        return np.concatenate((ends[:1], halo, ends[1:]))

    async def _compare(self, step: int) -> float:
        """Do one step; the largest change of an element on any rank."""
        before = self._slice.copy()
        await self._advance(step, 1)

        def largest() -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                return float(np.abs(self._slice - before).max(initial=0.0))

        own = await self._loop.compute(largest)
        found = await self._decided(np.array([own]), lambda table: table.max(axis=0), np.empty(1))
        return float(found[0])

    # ---- between steps ----

    async def _decided(
        self, own: NDArray[np.float64], decide: Callable[[Any], Any], answer: Any
    ) -> Any:
        """What the root decides by the values of all ranks: an array like `answer`, on each."""
        loop, root = self._loop, self._call.root
        others = [rank for rank in range(loop.size) if rank != root]
        if loop.rank != root:
            await loop.send(own, root, _UP)
            await loop.receive(answer, root, _DOWN)
            return answer
        table = np.empty((loop.size, len(own)))
        table[root] = own
        await all_of([loop.receive(table[rank], rank, _UP) for rank in others])
        answer[...] = decide(table)
        await all_of([loop.send(answer, rank, _DOWN) for rank in others])
        return answer

    async def _rebalance(self, every: int, now: int) -> None:
        """Divide the columns anew for the steps from `now` on, if that pays."""
        p, rows = self._loop.size, self._plan.shape[0]
        pace = self._spent / self._updated if self._updated else 0.0
        self._spent = self._updated = 0.0
        column = inner_rows(rows) * FLOPS / UNIT

        def decide(table: NDArray[np.float64]) -> NDArray[np.int64]:
            known = self._plan.cycle_times.copy()
            seen = table[:, 0] > 0.0
            known[seen] = table[seen, 0] / column
            return self._divided(every, now, known, float(table[:, 1].max()))

        # the ring, then -1, and the counts
        found = await self._decided(
            np.array([pace, self._per_byte]), decide, np.empty(2 * p, np.int64)
        )
        ring, counts = found[:p][found[:p] >= 0], found[p:].copy()
        if np.array_equal(ring, self._ring) and np.array_equal(counts, self._counts):
            return
        parts = (self._slice,) if self._slice.size else ()
        slices = _slices(self._ring, self._counts, rows)
        await self._deal(Held(slices, parts, self._dtype), ring, counts)

    def _divided(
        self, every: int, now: int, cycle_times: NDArray[np.float64], per_byte: float
    ) -> NDArray[np.int64]:
        """The ring, padded with -1, and the counts, for the steps from `now` on. At the root."""
        plan, p, itemsize = self._current, self._loop.size, self._dtype.itemsize
        rows, cols = plan.shape
        members = Members(
            cycle_times, plan.links, plan.names, plan.unit, plan.latencies, plan.overheads
        )
        here = timed_for(members, plan, every, itemsize).makespan
        other = plan_stencil(rows, cols, every, members, itemsize, plan.ring.tolist())
        moves = transfers(plan.owners, other.owners, p)
        most = float(max(moves.sum(axis=0).max(), moves.sum(axis=1).max()))
        cost = most * rows * itemsize * per_byte
        left = (self._limits.steps - now) / every
        choice = self._judge.better(here, left, [Choice(other.makespan, cost, other)])
        if choice is not None:
            self._current = plan = other
        return np.concatenate((plan.ring, np.full(p - len(plan.ring), -1), plan.counts))

    async def _save(self, done: int) -> None:
        root = self._call.at_root
        whole = np.empty(self._plan.shape if root else (0, 0), self._dtype)
        await self._collect((whole,) if root else ())
        if root:
            await self._loop.compute(lambda: self._write(whole, done))

    def _write(self, matrix: Array, done: int) -> None:
        assert self._limits.checkpoint is not None
        with replace_file(self._limits.checkpoint) as file:
            np.savez(file, U=matrix, steps=np.int64(self._limits.done + done))
