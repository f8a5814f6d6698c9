"""Plans of factorisations for unequal workers."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._base import check, schema
from .._base.table import table
from .._engine import allocate, factor
from .._engine.dtypes import DTYPES, flops_per_update
from ..plan import Plan, Step, certified
from ..platform import UNIT, Platform, Unit, whose
from .factor_profile import deal_by_profiles, mean_update_times, workers_of
from .lu_grid import LuGrid
from .lu_pattern import PATTERNS, LuPattern, lu_pattern
from .lu_profile import Profiles, columns_right
from .timed_tasks import TimedTasks

#: A method of `lu_pattern`, its result, or the worker of each block of columns; a result of
#: `lu_grid`, or the worker of each block.
Owner = str | LuPattern | LuGrid | ArrayLike
Times = NDArray[np.float64]

KINDS = tuple(allocate.FACTORS)

_HIGH = 2**31 - 1
_FIELDS = ("worker", "panel", "block", "start", "end")  # of hs_factor_task
_TASK = np.dtype([(name, allocate.FACTOR_TASK[name]) for name in _FIELDS] + [("flops", "f8")])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FactorPlan(TimedTasks, Plan):
    """Which worker factors and updates which block of columns of a factorisation, and when.

    Attributes
    ----------
    kind : str
        "lu", "cholesky" or "qr".
    shape : (int, int)
        m, n.
    block : int
        Columns of a block.
    owner : (b,) or (r, b) int32 array
        The worker of each block of columns, or of each block of rows and columns.
    counts : (p,) int64 array
        Blocks of each worker.
    makespan : float
        In the unit of the cycle-times (seconds, if these are seconds per gigaflop).
    tasks : structured array
        worker, panel, block, start, end, flops of each task. If panel == block, the task factors
        the panel; otherwise it updates the block. With owners in both directions an update may be
        several tasks: its head, then parts of its rows.
    messages : structured array
        panel, sender, receiver, start, end of each message; empty without links. The sender is the
        owner of the panel or a worker that passes it on.
    cycle_times : (p,) float64 array
        Time per gigaflop of an update; from profiles, the mean of each worker's updates.
    panel_times : (p,) float64 array
        Time per gigaflop of a panel.
    links : (p, p) float64 array or None
        Time per gigabyte from each worker to each; None if messages take no time.
    look_ahead : bool
        See `plan_factor`.
    ideal : float
        Time of the work divided perfectly over the speeds.
    dtype : str
    step_cycle_times : (steps, p) float64 array or None
        From profiles: time per gigaflop of the updates of each step, infinite for a worker without
        any. Else None: cycle_times in all steps.
    """

    kind: str
    shape: tuple[int, int]
    block: int
    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    makespan: float
    tasks: NDArray[Any]
    messages: NDArray[Any]
    cycle_times: Times
    panel_times: Times
    links: Times | None
    look_ahead: bool
    ideal: float
    dtype: str
    step_cycle_times: Times | None = None

    _table: ClassVar = {
        "kind": schema.Text(*KINDS),
        "shape": schema.Sizes("m", "n", high=_HIGH),
        "block": schema.Integer(1, _HIGH),
        "owner": schema.Array("i4", "*blocks", high="p - 1"),
        "counts": schema.Array("i8", "p"),
        "makespan": schema.Real(),
        "tasks": schema.Columns(_TASK, "tasks", worker=(0, "p - 1")),
        "messages": schema.Columns(
            allocate.FACTOR_MESSAGE, "messages", sender=(0, "p - 1"), receiver=(0, "p - 1")
        ),
        "cycle_times": schema.CYCLE_TIMES,
        "panel_times": schema.CYCLE_TIMES,
        "links": schema.Maybe(schema.Array("f8", "p", "p")),
        "look_ahead": schema.Flag(),
        "ideal": schema.Real(),
        "dtype": schema.Text(*(dtype.name for dtype in DTYPES)),
        "step_cycle_times": schema.Maybe(
            schema.Array("f8", "*steps", low=schema.LEAST, high=math.inf)
        ),
    }

    def _check(self) -> None:
        (m, n), owner = self.shape, self.owner
        blocks = _blocks(m, n, self.block)
        shape = (_blocks(n, m, self.block), blocks) if owner.ndim == 2 else (blocks,)
        if owner.shape != shape:
            raise ValueError(
                f"owner has shape {owner.shape}, but {m} x {n} elements make {blocks} blocks of"
                f" {self.block} columns"
            )
        if self.kind == "cholesky" and m != n:
            raise ValueError(f"shape must be square for a Cholesky factorisation, got {self.shape}")
        schema.require_owners("owner", owner, self.counts, self.cycle_times)
        panels = -(-min(m, n) // self.block)
        for name, numbers, most in (
            ("tasks['panel']", self.tasks["panel"], panels),
            ("tasks['block']", self.tasks["block"], blocks),
            ("messages['panel']", self.messages["panel"], panels),
        ):
            if numbers.max(initial=-1) >= most:
                raise ValueError(
                    f"{name} must be less than {most}, the number of blocks, got {numbers.max()}"
                )
        rows = self.step_cycle_times
        if rows is not None:
            if rows.shape != (shape := (panels, len(self.counts))):
                raise ValueError(f"step_cycle_times must have shape {shape}, got {rows.shape}")
            if owner.ndim == 2:
                raise ValueError("step_cycle_times must be None for owners of blocks")
            if np.isinf(rows[columns_right(owner, rows.shape[1])[:panels] > 0]).any():
                raise ValueError("step_cycle_times must be finite for workers with updates")
        for name, steps in (("tasks", self.tasks), ("messages", self.messages)):
            if (steps["start"] > steps["end"]).any():
                raise ValueError(f"{name}['start'] must be at most {name}['end']")

    @cached_property
    def step_times(self) -> NDArray[np.float64]:
        """(steps, 2) when the first task of each panel starts and its last task ends.

        The steps overlap, because the next panel is factored early.
        """
        steps = int(self.tasks["panel"].max(initial=-1)) + 1
        times = np.full((steps, 2), np.inf)
        times[:, 1] = 0.0
        np.minimum.at(times[:, 0], self.tasks["panel"], self.tasks["start"])
        np.maximum.at(times[:, 1], self.tasks["panel"], self.tasks["end"])
        return check.frozen(times)

    @cached_property
    def step_efficiency(self) -> NDArray[np.float64]:
        """(steps,) load balance of the updates of each step.

        It is the time of perfectly divided updates / the time of the last worker. From profiles,
        they are divided at the speeds of the workers that have updates in the step.
        """
        steps = len(self.step_times)
        updates = self.tasks[self.tasks["panel"] != self.tasks["block"]]
        load = np.zeros((steps, len(self.names)))
        np.add.at(load, (updates["panel"], updates["worker"]), updates["flops"])
        with np.errstate(over="ignore", invalid="ignore"):
            times = self.cycle_times if self.step_cycle_times is None else self.step_cycle_times
            times = times / times.min(axis=-1, keepdims=True)
            busy = np.where(load > 0, load, 0.0) * np.where(load > 0, times, 0.0)
            shares = load.sum(axis=1) / (1.0 / times).sum(axis=-1) / busy.max(axis=1)
        return check.frozen(np.where(busy.any(axis=1), shares, 1.0))

    @property
    def blocks(self) -> int:
        """Blocks of columns, at least 1.

        A task has the number panel * blocks + block in a trace.
        """
        return max(1, int(self.owner.shape[-1]))

    def step_table(self) -> str:
        """The steps as text, one per line.

        A line has the start and end, the worker that factors the panel, the time that each worker
        updates, and the efficiency.
        """
        steps = len(self.step_times)
        updates = self.tasks[self.tasks["panel"] != self.tasks["block"]]
        busy = np.zeros((steps, len(self.names)))
        np.add.at(busy, (updates["panel"], updates["worker"]), updates["end"] - updates["start"])
        rows = [("step", "start", "end", "panel", *self.names, "efficiency")]
        for k, (start, end) in enumerate(self.step_times.tolist()):
            own = (f"{t:.4g}" for t in busy[k].tolist())
            panel = self.names[self.owner[(k, k) if self.owner.ndim == 2 else k]]
            rows.append(
                (
                    str(k),
                    f"{start:.4g}",
                    f"{end:.4g}",
                    panel,
                    *own,
                    f"{self.step_efficiency[k]:.1%}",
                )
            )
        own = (f"{t:.4g}" for t in busy.sum(axis=0).tolist())
        rows.append(("all", "0", f"{self.makespan:.4g}", "", *own, f"{self.efficiency:.1%}"))
        return table(rows, ">")

    def label(self, panel: int, block: int) -> str:
        """Text for a task.

        Parameters
        ----------
        panel, block : int
            See `tasks`.

        Returns
        -------
        str
        """
        blocks = self.blocks - 1
        return _label(
            check.integer("panel", panel, low=0, high=blocks),
            check.integer("block", block, low=0, high=blocks),
        )

    def _on(self, platform: Platform) -> Plan:
        """The same owners, with the same speeds in all steps."""
        times = platform.per(Unit.gigaflop(), "cycle_times: plan_factor").cycle_times
        return plan_factor(
            *self.shape,
            platform,
            kind=self.kind,
            owner=self.owner,
            block=self.block,
            dtype=self.dtype,
            panel_times=self._panel_times_on(times),
            look_ahead=self.look_ahead,
        )

    def steps(self) -> list[Step]:
        rows = zip(
            *(self.tasks[name].tolist() for name in ("worker", "start", "end", "panel", "block")),
            strict=True,
        )
        steps = [
            Step(worker, "compute", start, end, _label(panel, block))
            for worker, start, end, panel, block in rows
        ]
        for panel, _, receiver, start, end in self.messages.tolist():
            steps.append(Step(receiver, "transfer", start, end, _label(panel, panel)))
        return steps


def _label(panel: int, block: int) -> str:
    return f"panel {panel}" if panel == block else f"block {block} after panel {panel}"


def plan_factor(
    m: int,
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    kind: str = "lu",
    owner: Owner = "pattern",
    block: int | None = None,
    dtype: DTypeLike = np.float64,
    panel_times: ArrayLike | None = None,
    link_costs: ArrayLike | None = None,
    look_ahead: bool = True,
    profiles: Profiles | None = None,
) -> FactorPlan:
    """Schedule a factorisation with blocks of columns that are dealt to workers.

    A worker goes through the steps in order. In each step it first updates the block that is the
    next panel, if it owns that block, and factors it (a look-ahead of one). Then it updates its
    other blocks from the left. It waits only for the panel.

    Parameters
    ----------
    m, n : int
        Sizes of the matrix, >= 0.
    cycle_times : Platform or (p,) array_like
        Seconds per gigaflop of each worker, > 0. A worker with an infinite one gets nothing.
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them.
    kind : {"lu", "cholesky", "qr"}
        LU with partial pivoting; Cholesky, of the lower triangle of a square matrix; QR by blocks
        of Householder reflectors.
    owner : {"pattern", "cyclic", "contiguous"}, LuPattern, LuGrid, (b,) or (r, b) array_like
        A method of `lu_pattern`, a result of it, or the worker of each block of columns. Or a
        result of `lu_grid`, or the worker of each block, with rows cut like columns: r and b are
        the numbers of blocks of m and of n. These two do not allow link_costs.
    block : int, optional
        Columns of a block. A cut is also made at column min(m, n), where the panels end. Default:
        the least block that makes one for each entry of a given owner, otherwise the block that
        `lu_factor` and the other factorisations choose.
    dtype : dtype_like
    panel_times : (p,) array_like, optional
        Seconds per gigaflop in a panel, > 0, if they differ from cycle_times: a device may be fast
        in updates and slow in panels. Infinite only for a worker that owns no panel.
    link_costs : float, (p,) or (p, p) array_like, optional
        Seconds per gigabyte, >= 0. A number is for every message. (p,) is for each worker's link to
        a switch; a message goes over two of these links, one after the other. (p, p) is from each
        worker to each. Default: the links of a Platform, otherwise messages take no time.
    look_ahead : bool
        If False, a worker factors the next panel only after all its updates of the step.
    profiles : sequence of p, optional
        The seconds in which each worker updates w block columns of h block rows with one panel, in
        any of the forms of `partition_profile`: products of depth `block`, such as
        `measure_zones(m, n, block, block=block)` measures. cycle_times is then left out, or a
        Platform that only has links and names; block must be given; owner must be "pattern",
        "cyclic" or a list of columns.

    Returns
    -------
    FactorPlan
        lower_bound is the larger of two bounds: the work divided perfectly over the speeds, and the
        critical path of all panels, each with the update of the next one, on the fastest worker.
        Both hold for every owner with these blocks. With profiles, each worker has in each step the
        best speed that any number of block columns gives it.

    Raises
    ------
    ValueError, TypeError
        The message names the argument.
    InfeasibleError
        If no owners were found with parts that fit the profiles, or the given ones do not fit.

    Notes
    -----
    The algorithm of Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 2.4, which has one
    distribution for LU, Cholesky and QR. In the paper all updates take the same time and panels
    take none; here each task is simulated with the work that it really has. In LU an update
    includes its triangular solve, and row exchanges take no time. In QR a panel includes the factor
    T of its block of reflectors.

    With owners in both directions, the owner of block (k, k) factors the whole panel k, because
    partial pivoting and the reflectors need the panel in one memory. The owner of block (k, j) does
    the head of update (k, j): in LU the triangular solve, in QR the product with V^H (Cholesky has
    none). Then all workers with rows below update them side by side, and the next task in these
    columns waits for all of them.

    A panel goes from its owner through the workers with blocks to its right, in the order of their
    next blocks, and each of these passes it on in segments of 2**20 bytes, as the ranks of
    `hetsched.mpi` do. A worker sends, receives and computes at the same time, but it sends at most
    one panel at a time and receives at most one. The order is that of HPL's increasing ring
    (Petitet, Whaley, Dongarra, Cleary).

    Time O(b^2 + b p) for b blocks of columns, O(b^2 p) with owners in both directions.

    With profiles, the owners are dealt as by `lu_pattern`. In a step all updates of a worker have
    the speed that its profile has for all its block columns at the height of the step; a triangular
    solve, and the parts of Cholesky and QR, have this speed, too. Without panel_times a panel has
    the speed of one block column, the highest that fits. The plan has the mean of these speeds in
    cycle_times; an emulated pool of `Platform.star(plan.cycle_times)` paces each step by its own.

    Examples
    --------
    >>> import hetsched as hs
    >>> times = [3, 5, 8]
    >>> pattern = hs.lu_pattern(10, cycle_times=times)
    >>> plan = hs.plan_factor(1000, 1000, cycle_times=times, owner=pattern)
    >>> cyclic = hs.plan_factor(1000, 1000, cycle_times=times, owner="cyclic", block=100)
    >>> round(cyclic.makespan / plan.makespan, 2)
    1.51
    """
    m, n = check.integer("m", m, low=0, high=_HIGH), check.integer("n", n, low=0, high=_HIGH)
    if isinstance(cycle_times, Platform):
        cycle_times = cycle_times.per(Unit.gigaflop(), "cycle_times: plan_factor")
    if profiles is None:
        times = check.cycle_times(cycle_times, speeds)
    else:
        times = np.ones(workers_of(profiles, cycle_times, speeds))
    kind = check.choice("kind", kind, KINDS)
    if kind == "cholesky" and m != n:
        raise ValueError(f"n must be equal to m for a Cholesky factorisation, got {m} x {n}")
    element = check.dtype(dtype, DTYPES)
    if not isinstance(look_ahead, bool | np.bool_):
        raise TypeError(f"look_ahead must be True or False, got {look_ahead!r}")
    panels = times if panel_times is None else checked_panel_times(panel_times, len(times))
    links = _links(link_costs, cycle_times, len(times))
    flops = flops_per_update(element)
    by_step = None
    if profiles is None:
        block, owners, method = _deal(kind, m, n, times, owner, block, element)
    else:
        block, given, method = _given_owners(m, n, len(times), owner, block)
        blocks = _blocks(n, m, block), _blocks(m, n, block)
        own = None if panel_times is None else panels
        owners, by_step = deal_by_profiles(m, n, block, blocks, profiles, given, own, flops)
        panels = by_step.panels
    columns = np.diagonal(owners) if owners.ndim == 2 else owners
    slow = np.isinf(panels[columns[: -(-min(m, n) // block)]])
    if slow.any():
        where = ", ".join([str(int(np.argmax(slow)))] * owners.ndim)
        raise ValueError(f"owner[{where}] is a worker with an infinite panel time")
    if links is not None and owners.ndim == 2:
        raise ValueError(
            "link_costs must be 0 for an owner of blocks in both directions (left out, they are"
            " the platform's)"
        )
    updates = per_update("cycle_times", times, flops)
    factoring = None if panels is times else per_update("panel_times", panels, flops)
    waits = None if links is None else links * (element.itemsize / UNIT)
    own_steps = None if by_step is None else per_update("profiles", by_step.times, flops)
    makespan, _, raw, messages = allocate.factor_simulate(
        kind,
        m,
        n,
        block,
        owners,
        updates,
        factoring,
        waits,
        not look_ahead,
        own_steps,
        element.itemsize,
    )
    if by_step is None:
        ideal, bound = allocate.factor_bound(
            kind, m, n, block, updates, factoring, owners.ndim == 2
        )
    else:
        least = per_update("profiles", by_step.least, flops)
        ideal, bound = allocate.factor_profile_bound(
            kind, m, n, block, least, per_update("panel_times", panels, flops)
        )
    if math.isfinite(makespan) and not math.isfinite(ideal):
        raise ValueError(
            "the work divided over the workers overflows:"
            " give cycle_times and panel_times in a larger unit"
        )
    tasks = np.empty(len(raw), _TASK)
    for name in _FIELDS:
        tasks[name] = raw[name]
    tasks["flops"] = raw["work"] * flops
    if by_step is not None:
        times = mean_update_times(tasks, panels)
    return FactorPlan(
        method=method,
        **certified(bound, makespan=makespan),
        kind=kind,
        shape=(m, n),
        block=block,
        owner=check.frozen(owners),
        counts=check.frozen(np.bincount(owners.ravel(), minlength=len(times))),
        tasks=check.frozen(tasks),
        messages=check.frozen(messages),
        cycle_times=check.frozen(times),
        panel_times=check.frozen(panels),
        links=None if links is None else check.frozen(links),
        look_ahead=bool(look_ahead),
        ideal=ideal,
        dtype=element.name,
        step_cycle_times=None if by_step is None else check.frozen(by_step.times),
        **whose(cycle_times, len(times)),
    )


def plan_lu(
    m: int,
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    owner: Owner = "pattern",
    block: int | None = None,
    dtype: DTypeLike = np.float64,
    panel_times: ArrayLike | None = None,
    link_costs: ArrayLike | None = None,
    look_ahead: bool = True,
    profiles: Profiles | None = None,
) -> FactorPlan:
    """`plan_factor` of kind "lu".

    Parameters
    ----------
    m, n, cycle_times, speeds, owner, block, dtype, panel_times, link_costs, look_ahead, profiles :
        See `plan_factor`.

    Returns
    -------
    FactorPlan
        Of kind "lu".

    Examples
    --------
    >>> import hetsched as hs
    >>> times = [3, 5, 8]
    >>> hs.plan_lu(1000, 1000, cycle_times=times) == hs.plan_factor(1000, 1000, cycle_times=times)
    True
    """
    return plan_factor(
        m,
        n,
        cycle_times,
        speeds=speeds,
        owner=owner,
        block=block,
        dtype=dtype,
        panel_times=panel_times,
        link_costs=link_costs,
        look_ahead=look_ahead,
        profiles=profiles,
    )


def per_update(name: str, times: Times, flops: float) -> Times:
    """Seconds per update."""
    small = times * (flops / UNIT)
    if not small.all():
        raise ValueError(
            f"{name}{check.first(small == 0)[1]} is too small: give times in a smaller unit"
        )
    return small


def checked_panel_times(given: ArrayLike, p: int) -> Times:
    times = check.positive("panel_times", check.vector("panel_times", given))
    if len(times) != p:
        raise ValueError(f"panel_times must have {p} entries, got {len(times)}")
    return times


def _links(link_costs: ArrayLike | None, platform: Any, p: int) -> Times | None:
    """(p, p) time per unit of data from each worker to each, 0 to itself; None if all are 0."""
    given = link_costs
    if given is None:
        own = getattr(platform, "links", None)
        given = getattr(platform, "link_costs", None) if own is None else own
        if given is None:
            return None
    costs = check.reals(f"link_costs must be numbers, got {given!r}", given)
    if costs.shape not in ((), (p,), (p, p)):
        raise ValueError(
            f"link_costs must be a number or have shape ({p},) or ({p}, {p}), got {costs.shape}"
        )
    if costs.ndim == 2:
        np.fill_diagonal(costs, 0.0)  # no worker sends to itself
    bad = ~((costs >= 0) & np.isfinite(costs))
    if bad.any():
        raise ValueError(f"link_costs must be finite and not negative, got {costs[bad][0]:g}")
    with np.errstate(over="ignore"):
        if costs.ndim == 0:
            links = np.full((p, p), costs)
        else:
            links = np.add.outer(costs, costs) if costs.ndim == 1 else costs
    np.fill_diagonal(links, 0.0)
    if not np.isfinite(links).all():
        raise ValueError(
            "link_costs of two workers have a sum that overflows: give them in a larger unit"
        )
    return links if links.any() else None


def _deal(
    kind: str,
    m: int,
    n: int,
    times: NDArray[np.float64],
    owner: Owner,
    block: int | None,
    dtype: np.dtype[Any],
) -> tuple[int, NDArray[np.int32], str]:
    """The columns of a block, the owner of each block, and the name of the method."""
    if block is not None:
        block = check.integer("block", block, low=1, high=_HIGH)
    if isinstance(owner, str):
        if owner not in PATTERNS:
            raise ValueError(
                f"owner must be one of {', '.join(PATTERNS)},"
                f" a LuPattern or the workers, got {owner!r}"
            )
        if block is None:
            block = factor.block(kind, m, n, dtype, len(times))
        count = _blocks(m, n, block)
        if count == 0:
            return block, np.empty(0, np.int32), owner
        with np.errstate(over="ignore"):
            # exact, and no sum of them overflows
            relative = np.ldexp(times, -int(np.frexp(times.min())[1]))
        return block, lu_pattern(count, relative, method=owner).owner.copy(), owner
    method = owner.method if isinstance(owner, LuPattern | LuGrid) else "given"
    owners = check.integers(
        "owner",
        owner.owner if isinstance(owner, LuPattern | LuGrid) else owner,
        low=0,
        high=len(times) - 1,
    )
    if owners.ndim not in (1, 2):
        raise ValueError(f"owner must have one dimension or two, got shape {owners.shape}")
    if block is None:
        block = _least_block(m, n, owners.shape[-1])
    count = _blocks(m, n, block)
    if owners.ndim == 1 and count != len(owners):
        raise ValueError(
            f"owner has {len(owners)} entries, but {m} x {n} elements make {count} blocks of"
            f" {block} columns"
        )
    if owners.ndim == 2 and owners.shape != (shape := (_blocks(n, m, block), count)):
        raise ValueError(
            f"owner has shape {owners.shape}, but {m} x {n} elements make {shape} blocks of {block}"
            " rows and columns"
        )
    if (idle := np.isinf(times[owners])).any():
        where = ", ".join(str(int(i)) for i in np.argwhere(idle)[0])
        raise ValueError(f"owner[{where}] is a worker with an infinite cycle-time")
    return block, np.ascontiguousarray(owners, np.int32), method


def _given_owners(
    m: int, n: int, p: int, owner: Owner, block: int | None
) -> tuple[int, NDArray[np.int32] | None, str]:
    """What `_deal` returns, with profiles; no owners if they are to be dealt by them."""
    if block is None:
        raise ValueError("block must be given with profiles, which count in it")
    if isinstance(owner, str) and owner not in ("pattern", "cyclic"):
        raise ValueError(
            f'owner must be "pattern", "cyclic" or the workers with profiles, got {owner!r}'
        )
    block, owners, method = _deal("lu", m, n, np.ones(p), owner, block, np.dtype(np.float64))
    if owners.ndim == 2:
        raise ValueError("owner must have one dimension with profiles")
    if isinstance(owner, str) and owner == "pattern":
        return block, None, "profiles"
    return block, owners, method


def _least_block(m: int, n: int, count: int) -> int:
    """The least columns of a block that make at most so many blocks."""
    sizes = range(max(1, -(-n // max(1, count))), n)
    return sizes.start + bisect_left(sizes, True, key=lambda block: _blocks(m, n, block) <= count)


def _blocks(m: int, n: int, block: int) -> int:
    try:
        return allocate.factor_blocks(m, n, block)
    except ValueError:
        raise ValueError(f"block={block} cuts {m} x {n} elements into too many blocks") from None
