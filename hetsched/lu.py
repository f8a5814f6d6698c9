"""LU factorisation: plans for unequal workers, and what a run needs; systems and determinants."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _check, _engine
from .errors import LinAlgWarning
from .operands import Array, element_strides, operand
from .pattern import METHODS, LuPattern, lu_pattern
from .plan import Plan, Step, names_of, proven
from .product import UNIT
from .simulate import simulate
from .trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .platform import Platform

#: A method of `lu_pattern`, its result, or the worker of each block of columns.
Owner = str | LuPattern | ArrayLike

_HIGH = 2**31 - 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LuPlan(Plan):
    """Who factors and updates which block of columns of an LU factorisation, and when.

    Attributes
    ----------
    shape : (int, int)
        m, n.
    block : int
        Columns of a block.
    owner : (b,) int32 array
        The worker of each block.
    counts : (p,) int64 array
        Blocks of each worker.
    makespan : float
        In the unit of the cycle-times (seconds, where these are seconds per gigaflop).
    tasks : structured array
        worker, panel, block, start, end, flops of each task: with panel == block the panel is factored, else it updates the
        block.
    cycle_times : (p,) float64 array
        Per gigaflop.
    names : tuple of str
        The platform's, or P0, P1, ...
    """

    shape: tuple[int, int]
    block: int
    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    makespan: float
    tasks: NDArray[Any]
    cycle_times: NDArray[np.float64]
    names: tuple[str, ...]

    _value: ClassVar[str] = "makespan"

    @property
    def worker_names(self) -> tuple[str, ...]:
        return self.names

    @cached_property
    def step_times(self) -> NDArray[np.float64]:
        """(steps, 2) when the first task of each panel starts and the last one ends. They overlap: the next panel is early."""
        steps = int(self.tasks["panel"].max(initial=-1)) + 1
        times = np.full((steps, 2), np.inf)
        times[:, 1] = 0.0
        np.minimum.at(times[:, 0], self.tasks["panel"], self.tasks["start"])
        np.maximum.at(times[:, 1], self.tasks["panel"], self.tasks["end"])
        return times

    @cached_property
    def step_efficiency(self) -> NDArray[np.float64]:
        """(steps,) how well the updates of each step are balanced: perfectly divided time / time of the last worker."""
        steps = len(self.step_times)
        updates = self.tasks[self.tasks["panel"] != self.tasks["block"]]
        load = np.zeros((steps, len(self.names)))
        np.add.at(load, (updates["panel"], updates["worker"]), updates["flops"])
        busy = np.where(load > 0, load, 0.0) * np.where(load > 0, self.cycle_times, 0.0)
        with np.errstate(invalid="ignore"):
            shares = load.sum(axis=1) / (1.0 / self.cycle_times).sum() / busy.max(axis=1)
        return np.where(busy.any(axis=1), shares, 1.0)

    @cached_property
    def flops(self) -> NDArray[np.float64]:
        """(p,) of each worker."""
        return np.bincount(self.tasks["worker"], self.tasks["flops"], len(self.names)).astype(np.float64)

    def label(self, panel: int, block: int) -> str:
        """A task in words."""
        return f"panel {panel}" if panel == block else f"block {block} after panel {panel}"

    def steps(self) -> list[Step]:
        rows = zip(*(self.tasks[name].tolist() for name in ("worker", "start", "end", "panel", "block")), strict=True)
        return [Step(worker, "compute", start, end, self.label(panel, block)) for worker, start, end, panel, block in rows]

    def plot(self, ax: Axes | None = None) -> Axes:
        from .plot import plot_trace

        return plot_trace(simulate(self), ax)


def plan_lu(
    m: int,
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    owner: Owner = "pattern",
    block: int | None = None,
    dtype: DTypeLike = np.float64,
) -> LuPlan:
    """The schedule of an LU factorisation whose blocks of columns are dealt to workers.

    A worker goes through the steps in order. Of each it first updates the block that is the next panel, if that is its own, and
    factors it (a look-ahead of one), then it updates its other blocks from the left. It waits for nothing but the panel.

    Parameters
    ----------
    m, n : int
        Sizes of the matrix, >= 0.
    cycle_times : Platform or (p,) array_like
        Seconds per gigaflop of each worker, > 0; an infinite one gets nothing.
    speeds : (p,) array_like, optional
        1 / cycle_times, instead of them.
    owner : {"pattern", "cyclic", "contiguous"}, LuPattern or (b,) array_like
        A method of `lu_pattern`, a result of it, or the worker of each block.
    block : int, optional
        Columns of a block. Default: such that the owners given have one each, else what `lu_factor` chooses.
    dtype : dtype_like

    Returns
    -------
    LuPlan
        lower_bound is the largest of two: the work divided perfectly over the speeds, and the panels, each with the update of
        the next one, by the fastest worker one after another. Both hold for every owner, with these blocks.

    Raises
    ------
    ValueError, TypeError
        The message names the argument.

    Notes
    -----
    The algorithm of Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 2.4, simulated task by task with the work that
    each really has; there all updates take the same time and panels none. O(b^2) for b blocks.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.plan_lu(1000, 1000, [3, 5, 8], owner=hs.lu_pattern(10, [3, 5, 8]))
    >>> cyclic = hs.plan_lu(1000, 1000, [3, 5, 8], owner="cyclic", block=100)
    >>> round(cyclic.makespan / plan.makespan, 2)
    1.51
    """
    m, n = _check.integer("m", m, low=0, high=_HIGH), _check.integer("n", n, low=0, high=_HIGH)
    times = _check.cycle_times(cycle_times, speeds)
    kind = np.dtype(dtype)
    if kind not in _engine.DTYPES:
        raise TypeError(f"dtype {kind} is not one of {', '.join(d.name for d in _engine.DTYPES)}")
    block, owners, method = _deal(m, n, times, owner, block, kind)
    flops = _engine.flops_per_update(kind)
    makespan, _, raw = _engine.lu_simulate(m, n, block, owners, times * (flops / UNIT))
    fields = ["worker", "panel", "block", "start", "end"]
    tasks = np.empty(len(raw), [(name, _engine.LU_TASK[name]) for name in fields] + [("flops", "f8")])
    for name in fields:
        tasks[name] = raw[name]
    tasks["flops"] = raw["work"] * flops
    bound = max(tasks["flops"].sum() / (1.0 / times).sum(), _chain(tasks) * times.min()) / UNIT
    return LuPlan(
        method=method,
        lower_bound=min(float(bound), makespan),
        optimal=proven(makespan, float(bound)),
        scope="",
        shape=(m, n),
        block=block,
        owner=_check.frozen(owners),
        counts=_check.frozen(np.bincount(owners, minlength=len(times))),
        makespan=makespan,
        tasks=_check.frozen(tasks),
        cycle_times=_check.frozen(times),
        names=names_of(cycle_times, len(times)),
    )


def _chain(tasks: NDArray[Any]) -> float:
    """Flops of the panels and of their updates of the next one."""
    critical = (tasks["block"] - tasks["panel"] == 0) | (
        (tasks["block"] - tasks["panel"] == 1) & (tasks["block"] <= tasks["panel"].max(initial=-1))
    )
    return float(tasks["flops"][critical].sum())


def _deal(
    m: int, n: int, times: NDArray[np.float64], owner: Owner, block: int | None, dtype: np.dtype[Any]
) -> tuple[int, NDArray[np.int32], str]:
    """Block, owner of each, and the method's name."""
    if block is not None:
        block = _check.integer("block", block, low=1, high=_HIGH)
    if isinstance(owner, str):
        if owner not in METHODS:
            raise ValueError(f"owner must be one of {', '.join(METHODS)}, a LuPattern or the workers, got {owner!r}")
        if block is None:
            block = _engine.lu_block(m, n, dtype, len(times))
        count = _blocks(m, n, block)
        if count == 0:
            return block, np.empty(0, np.int32), owner
        return block, lu_pattern(count, times, method=owner).owner.copy(), owner
    method = owner.method if isinstance(owner, LuPattern) else "given"
    owners = _check.integers("owner", owner.owner if isinstance(owner, LuPattern) else owner, low=0, high=len(times) - 1)
    if owners.ndim != 1:
        raise ValueError(f"owner must be one-dimensional, got shape {owners.shape}")
    if block is None:
        block = max(1, -(-n // max(1, len(owners))))
    if (count := _blocks(m, n, block)) != len(owners):
        raise ValueError(f"owner has {len(owners)} entries, {m} x {n} elements make {count} blocks of {block} columns")
    if (idle := np.isinf(times[owners])).any():
        raise ValueError(f"owner[{int(np.argmax(idle))}] is a worker with an infinite cycle-time")
    return block, owners.astype(np.int32), method


def _blocks(m: int, n: int, block: int) -> int:
    try:
        return _engine.lu_blocks(m, n, block)
    except ValueError:
        raise ValueError(f"block={block} cuts {m} x {n} elements into too many blocks") from None


# ---- a run --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Factors:
    """Checked arguments of `Pool.lu_factor`, and where its results go."""

    a: Array | None  # None: lu holds the matrix
    lu: Array
    piv: NDArray[np.int32]

    @classmethod
    def of(cls, A: ArrayLike, overwrite_a: bool, check_finite: bool) -> Factors:
        a = matrix("A", A)
        if check_finite:
            require_finite(a)
        piv = np.empty(min(a.shape), np.int32)
        if overwrite_a and a is A and a.flags.f_contiguous and a.flags.writeable:
            return cls(None, a, piv)
        return cls(a, _columns(a.shape, a.dtype), piv)

    def run(
        self,
        threads: _engine.Threads,
        workers: int,
        block: int,
        owner: NDArray[np.int32] | None,
        pace: NDArray[np.float64] | None,
        progress: Any,
        events: int,
    ) -> tuple[int, _engine.RunResult]:
        """The first zero of the diagonal or -1, and what was recorded."""
        return _engine.run_lu(
            threads, self.a, self.lu, self.piv, workers=workers, block=block, owner=owner, cooperative=pace is None,
            pace=pace, poll=_engine.Poll(progress), event_capacity=events,
        )  # fmt: skip


def trace_of(plan: LuPlan, result: _engine.RunResult, emulated: bool, scale: float) -> Trace:
    """What was recorded, beside what the plan predicts; scale: seconds per unit of the plan's."""
    blocks = max(1, len(plan.owner))
    return Trace.from_steps(
        (
            (worker, kind, start, end, plan.label(*divmod(task, blocks)))
            for worker, kind, start, end, task in result.events
        ),
        plan.names,
        kind="emulated" if emulated else "real",
        speeds=(1.0 / plan.cycle_times).tolist(),
        predicted=plan.makespan * scale,
        ideal=float(plan.flops.sum() / (1.0 / plan.cycle_times).sum() / UNIT) * scale,
        cpu=result.busy,
        predicted_finish=[t * scale for t in simulate(plan).finish],
    )  # fmt: skip


def matrix(name: str, value: ArrayLike) -> Array:
    """A matrix of a supported dtype; integers become float64."""
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    array = operand(name, array)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {array.shape}")
    return array


def require_finite(array: Array) -> None:
    """ValueError as of numpy.asarray_chkfinite."""
    with np.errstate(all="ignore"):
        if np.isfinite(array.sum()):  # a NaN or an infinity would show; a sum that overflows is looked at again
            return
    if not np.isfinite(array).all():
        raise ValueError("array must not contain infs or NaNs")


def _columns(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An empty matrix by columns that starts with a cache line, as the engine likes it."""
    memory = np.empty(shape[0] * shape[1] * dtype.itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + shape[0] * shape[1] * dtype.itemsize].view(dtype).reshape(shape, order="F")


def warn_singular(column: int, depth: int) -> None:
    """As scipy.linalg.lu_factor; depth: of the calls from the user's."""
    try:
        from scipy.linalg import LinAlgWarning as kind
    except ImportError:
        kind = LinAlgWarning
    warnings.warn(f"Diagonal number {column + 1} is exactly zero. Singular matrix.", kind, stacklevel=depth)


# ---- systems ------------------------------------------------------------------------------------------------------


def solution(
    threads: _engine.Threads,
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: Literal[0, 1, 2],
    overwrite_b: bool,
    check_finite: bool,
) -> Array:
    """What `lu_solve` returns."""
    try:
        given, pivots = lu_and_piv
    except (TypeError, ValueError):
        raise TypeError("lu_and_piv must be a pair of arrays, as lu_factor returns it") from None
    lu = matrix("lu", given)
    n = lu.shape[0]
    if lu.shape[1] != n:
        raise ValueError(f"lu must be square, got shape {lu.shape}")
    piv = np.ascontiguousarray(_check.integers("piv", pivots, low=0, high=max(n - 1, 0)), np.int32)
    if piv.shape != (n,):
        raise ValueError(f"piv must have shape ({n},), got {piv.shape}")
    if trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, got {trans!r}")
    right = np.asarray(b)
    right = operand("b", right.astype(np.float64) if right.dtype.kind in "biu" else right)
    if right.ndim > 2 or right.shape[0] != n:
        raise ValueError(f"b must have shape ({n},) or ({n}, k), got {right.shape}")
    if check_finite:
        require_finite(lu)
        require_finite(right)
    dtype = np.promote_types(lu.dtype, right.dtype)
    lu = lu.astype(dtype, copy=False)
    in_place = overwrite_b and right is b and right.dtype == dtype and right.flags.writeable and right.flags.forc
    x = right if in_place else np.array(right, dtype, order="F")
    if not element_strides(lu):
        lu = lu.copy()
    conjugate = trans == 2 and dtype.kind == "c"
    if conjugate:
        np.conjugate(x, out=x)
    _engine.lu_solve(threads, lu, piv, trans != 0, x[:, None] if x.ndim == 1 else x, _engine.Poll())
    if conjugate:
        np.conjugate(x, out=x)
    return x


def determinant(lu: Array, piv: NDArray[np.int32]) -> Any:
    """From the factors; in double precision, as scipy.linalg.det."""
    wide = np.complex128 if lu.dtype.kind == "c" else np.float64
    exchanges = int(np.count_nonzero(piv != np.arange(len(piv))))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        product = np.prod(lu.diagonal().astype(wide))
    return wide(-product if exchanges % 2 else product)
