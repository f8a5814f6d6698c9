"""Plans of the reduction of a Hermitian matrix to a band, for unequal workers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._base import check, schema
from .._engine import allocate, spectral
from .._engine.dtypes import DTYPES, flops_per_update
from ..plan import Plan, Step, certified
from ..platform import Platform, Unit, whose
from .factor import checked_panel_times, per_update
from .lu_pattern import PATTERNS, LuPattern, lu_pattern
from .timed_tasks import TimedTasks

if TYPE_CHECKING:
    Owner = str | LuPattern | ArrayLike

#: Ways to deal the blocks.
OWNERS = ("greedy", *PATTERNS)
_HIGH = 2**31 - 1
_FIELDS = ("kind", "worker", "panel", "block", "start", "end")  # of hs_reduction_task
_TASK = np.dtype([(name, allocate.REDUCTION_TASK[name]) for name in _FIELDS] + [("flops", "f8")])
_PANEL = next(k for k, name in allocate.REDUCTION_KINDS.items() if name == "panel")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReductionPlan(TimedTasks, Plan):
    """Which worker does which tasks of a reduction to a band, and when.

    Attributes
    ----------
    n : int
        Order of the matrix.
    block : int
        Columns of a block, and diagonals of the band below the main one.
    owner : (b,) int32 array
        The worker of each block of columns.
    counts : (p,) int64 array
        Blocks of each worker.
    makespan : float
        In the unit of the cycle-times (seconds, if these are seconds per gigaflop).
    tasks : structured array
        kind, worker, panel, block, start, end, flops of each task. kind 0 factors a panel; kind 1
        multiplies the rows of a block with the panel; kind 2 updates the columns of a block.
    cycle_times : (p,) float64 array
        Time per gigaflop.
    panel_times : (p,) float64 array
        Time per gigaflop of a panel.
    ideal : float
        Time of the work divided perfectly over the speeds, if workers never meet.
    dtype : str
    """

    n: int
    block: int
    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    makespan: float
    tasks: NDArray[Any]
    cycle_times: NDArray[np.float64]
    panel_times: NDArray[np.float64]
    ideal: float
    dtype: str

    _table: ClassVar = {
        "n": schema.Integer(0, _HIGH),
        "block": schema.Integer(1, _HIGH),
        "owner": schema.Array("i4", "blocks", high="p - 1"),
        "counts": schema.Array("i8", "p"),
        "makespan": schema.Real(),
        "tasks": schema.Columns(
            _TASK,
            "tasks",
            kind=(0, len(allocate.REDUCTION_KINDS) - 1),
            worker=(0, "p - 1"),
            panel=(0, "blocks - 1"),
            block=(0, "blocks - 1"),
        ),
        "cycle_times": schema.CYCLE_TIMES,
        "panel_times": schema.CYCLE_TIMES,
        "ideal": schema.Real(),
        "dtype": schema.Text(*(dtype.name for dtype in DTYPES)),
    }

    def _check(self) -> None:
        tasks, blocks = _size(self.n, self.block)
        if self.owner.shape != (blocks,):
            raise ValueError(
                f"owner has {len(self.owner)} entries, but {self.n} columns make {blocks} blocks of"
                f" {self.block}"
            )
        if len(self.tasks) != tasks:
            raise ValueError(f"tasks must be {tasks}, got {len(self.tasks)}")
        schema.require_owners("owner", self.owner, self.counts, self.cycle_times)
        if (self.tasks["start"] > self.tasks["end"]).any():
            raise ValueError("tasks['start'] must be at most tasks['end']")

    def label(self, task: int) -> str:
        """Text for a task.

        Parameters
        ----------
        task : int
            An index of `tasks`.

        Returns
        -------
        str
        """
        index = check.integer("task", task, low=0, high=len(self.tasks) - 1)
        kind, panel, block = (int(self.tasks[index][name]) for name in ("kind", "panel", "block"))
        return _label(kind, panel, block)

    def _on(self, platform: Platform) -> Plan:
        """The same owners, with other speeds."""
        times = platform.per(Unit.gigaflop(), "cycle_times: plan_reduction").cycle_times
        return plan_reduction(
            self.n,
            platform,
            owner=self.owner,
            block=self.block,
            dtype=self.dtype,
            panel_times=self._panel_times_on(times),
        )

    def steps(self) -> list[Step]:
        names = ("worker", "start", "end", "kind", "panel", "block")
        return [
            Step(worker, "compute", start, end, _label(kind, panel, block))
            for worker, start, end, kind, panel, block in zip(
                *(self.tasks[name].tolist() for name in names), strict=True
            )
        ]


def _label(kind: int, panel: int, block: int) -> str:
    name = allocate.REDUCTION_KINDS[kind]
    return f"panel {panel}" if kind == _PANEL else f"{name} of block {block}, panel {panel}"


def plan_reduction(
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    owner: Owner = "greedy",
    block: int | None = None,
    dtype: DTypeLike = np.float64,
    panel_times: ArrayLike | None = None,
) -> ReductionPlan:
    """Schedule the reduction of a Hermitian matrix to a band, the first stage of `eigh`.

    Blocks of columns are dealt to workers, which share the memory of the matrix. For each panel,
    each worker first multiplies the rows of its blocks with the panel, then it updates the columns
    of its blocks. Between the two all workers meet. The owner of the next panel factors it right
    after its update.

    Parameters
    ----------
    n : int
        Order of the matrix, >= 0.
    cycle_times : Platform or (p,) array_like
        Seconds per gigaflop of each worker, > 0. A worker with an infinite one gets nothing.
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them.
    owner : {"greedy", "pattern", "cyclic", "contiguous"}, LuPattern or (b,) array_like
        How the blocks are dealt. "greedy": from the last block back, each to the worker with which
        the step that begins with it ends first; then single blocks are moved as long as the
        makespan falls. The others are methods of `lu_pattern`. Or the worker of each block.
    block : int, optional
        Columns of a block, and diagonals of the band. `Pool.run` needs a multiple of 16, and at
        most 512 bytes of a row. Default: one block for each entry of a given owner, otherwise the
        band that `eigvalsh` takes.
    dtype : dtype_like
    panel_times : (p,) array_like, optional
        Seconds per gigaflop in a panel, > 0, if they differ from cycle_times. Infinite only for a
        worker that owns no panel.

    Returns
    -------
    ReductionPlan
        lower_bound holds for all owners with these blocks: in each meeting, the work divided
        perfectly, and the best division of whole blocks or the next panel with its update.

    Raises
    ------
    ValueError, TypeError
        The message names the argument.

    Notes
    -----
    The block algorithm of Bischof, Lang, Sun (2000). For a panel V with the factor T of its
    reflectors, the trailing matrix A becomes A - V Y^H - Y V^H + V X V^H with Y = A V T and X =
    T^H V^H Y. A product task has the rows of Y of one block, an update task its columns from the
    diagonal on. The matrix is shared, so there are no messages. Planned in C by
    `hs_reduction_owners`, O(b + p) for each of up to b p moves that are tried in a round.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.plan_reduction(1000, [3, 5, 8])
    >>> cyclic = hs.plan_reduction(1000, [3, 5, 8], owner="cyclic")
    >>> round(cyclic.makespan / plan.makespan, 2)
    1.54
    """
    n = check.integer("n", n, low=0, high=_HIGH)
    if isinstance(cycle_times, Platform):
        cycle_times = cycle_times.per(Unit.gigaflop(), "cycle_times: plan_reduction")
    times = check.cycle_times(cycle_times, speeds)
    element = check.dtype(dtype, DTYPES)
    panels = times if panel_times is None else checked_panel_times(panel_times, len(times))
    flops = flops_per_update(element)
    rates = (
        per_update("cycle_times", times, flops),
        None if panels is times else per_update("panel_times", panels, flops),
    )
    block, owners, method = _deal(n, rates, owner, block, element)
    _require_able(owners, times, panels, max(n - 2, 0) // block)
    makespan, raw = allocate.reduction_simulate(n, block, rates, owners)
    ideal, bound = allocate.reduction_bound(n, block, rates)
    if math.isfinite(makespan) and not math.isfinite(ideal):
        raise ValueError(
            "the work divided over the workers overflows:"
            " give cycle_times and panel_times in a larger unit"
        )
    tasks = np.empty(len(raw), _TASK)
    for name in _FIELDS:
        tasks[name] = raw[name]
    tasks["flops"] = raw["work"] * flops
    return ReductionPlan(
        method=method,
        **certified(bound, makespan=makespan),
        n=n,
        block=block,
        owner=check.frozen(owners),
        counts=check.frozen(np.bincount(owners, minlength=len(times))),
        tasks=check.frozen(tasks),
        cycle_times=check.frozen(times),
        panel_times=check.frozen(panels),
        ideal=ideal,
        dtype=element.name,
        **whose(cycle_times, len(times)),
    )


def _size(n: int, block: int) -> tuple[int, int]:
    """Tasks and blocks."""
    try:
        return allocate.reduction_size(n, block)
    except ValueError:
        raise ValueError(f"block={block} cuts {n} columns into too many blocks") from None


def _deal(
    n: int,
    rates: tuple[NDArray[np.float64], NDArray[np.float64] | None],
    owner: Owner,
    block: int | None,
    dtype: np.dtype[Any],
) -> tuple[int, NDArray[np.int32], str]:
    """The columns of a block, the owner of each block, and the name of the method."""
    p = len(rates[0])
    if block is not None:
        block = check.integer("block", block, low=1, high=_HIGH)
    if isinstance(owner, str):
        if owner not in OWNERS:
            raise ValueError(
                f"owner must be one of {', '.join(OWNERS)}, a LuPattern or the workers,"
                f" got {owner!r}"
            )
        block = block or spectral.reduction_block(n, dtype)
        count = _size(n, block)[1]
        if count == 0:
            return block, np.empty(0, np.int32), owner
        if owner == "greedy":
            return block, _greedy(n, block, rates), owner
        with np.errstate(over="ignore"):
            # exact, and no sum of them overflows
            relative = np.ldexp(rates[0], -int(np.frexp(rates[0].min())[1]))
        return block, lu_pattern(count, relative, method=owner).owner.copy(), owner
    method = owner.method if isinstance(owner, LuPattern) else "given"
    workers = owner.owner if isinstance(owner, LuPattern) else owner
    owners = check.integers("owner", workers, low=0, high=p - 1)
    if owners.ndim != 1:
        raise ValueError(f"owner must have one dimension, got shape {owners.shape}")
    block = block or max(1, -(-n // max(1, len(owners))))
    if len(owners) != (count := _size(n, block)[1]):
        raise ValueError(
            f"owner has {len(owners)} entries, but {n} columns make {count} blocks of {block}"
        )
    return block, np.ascontiguousarray(owners, np.int32), method


def _greedy(
    n: int, block: int, rates: tuple[NDArray[np.float64], NDArray[np.float64] | None]
) -> NDArray[np.int32]:
    times, panels = rates
    steps = max(n - 2, 0) // block
    if panels is not None and steps and not (np.isfinite(times) & np.isfinite(panels)).any():
        raise ValueError("panel_times must be finite for a worker with a finite cycle-time")
    return allocate.reduction_owners(n, block, rates)


def _require_able(
    owners: NDArray[np.int32],
    times: NDArray[np.float64],
    panels: NDArray[np.float64],
    steps: int,
) -> None:
    """Refuse blocks of workers that cannot do their tasks."""
    for what, idle in (
        ("cycle-time", np.isinf(times[owners])),
        ("panel time", np.isinf(panels[owners[:steps]])),
    ):
        if idle.any():
            raise ValueError(f"owner[{int(np.argmax(idle))}] is a worker with an infinite {what}")
