"""Factorisations and solves of a matrix at the root, which deals its blocks to the ranks."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check
from .._base.progress import Progress, require_progress
from ..plan import simulate
from ..planners.factor import FactorPlan, plan_factor
from ..planners.lu_grid import LuGrid
from ..planners.lu_pattern import LuPattern, lu_pattern
from ..platform import Platform, Unit, relative_speeds
from ..runners.arguments import as_columns, require_finite, right_sides, square
from ..runners.arguments import columns as by_columns
from ..runners.lu import warn_singular
from ..runners.pool import Pool
from ..runners.systems import singular_words
from ..trace import Trace
from .arguments import reports
from .columns import Columns
from .grid import Grid
from .kinds import wrong_kind
from .loop import Loop
from .pools import require_real_cores
from .ranks import Ranks
from .record import Clock, Record, from_when_sent, on_one_clock, synchronised
from .windows import Array, touched
from .work import ColumnWork, Context, GridWork, Work

if TYPE_CHECKING:
    Plans = LuPattern | FactorPlan | LuGrid

# least and most columns of a block; blocks that each rank should have
_NARROW, _WIDE, _EACH = 32, 192, 4


class Job(NamedTuple):
    """What all ranks must know of a call; the root decides it."""

    kind: str
    n: int
    dtype: str
    block: int
    owner: NDArray[np.int32]
    by_columns: bool
    trace: bool
    watched: bool
    cols: int = 0


class Given(NamedTuple):
    """What only the root has."""

    a: Array
    plan: Plans | None
    b: Array | None = None
    right: ArrayLike | None = None


def default_block(n: int, ranks: int) -> int:
    """Columns of a block for this many ranks that own blocks.

    A multiple of 32 from 32 to 192, such that each rank owns about four blocks. Narrow blocks
    balance better, because the updates of a step differ by one block. Wide blocks multiply faster
    and make fewer steps; each step waits for the one before on its way from rank to rank.

    Examples
    --------
    >>> [default_block(n, 4) for n in (100, 4000, 100_000)]
    [32, 192, 192]
    """
    return min(max(_NARROW * round(n / (_EACH * max(ranks, 1) * _NARROW)), _NARROW), _WIDE)


def dealt(
    kind: str,
    n: int,
    dtype: np.dtype[Any],
    size: int,
    plan: Plans | None,
    block: int | None,
    cycle_times: Platform | ArrayLike | None,
) -> tuple[int, Plans]:
    """The columns of a block of a matrix of n >= 1 columns, and the plan of the blocks.

    Raises
    ------
    ValueError, TypeError
        If the plan is for another number of ranks or blocks.
    """
    if block is not None:
        block = check.integer("block", block, low=1, high=2**31 - 1)
    if plan is None:
        times = np.ones(size) if cycle_times is None else cycle_times
        speeds = check.cycle_times(times, None, name="platform")
        if len(speeds) != size:
            raise ValueError(
                f"platform must have one worker for each of {size} ranks, got {len(speeds)}"
            )
        block = default_block(n, int(np.isfinite(speeds).sum())) if block is None else block
        plan = lu_pattern(-(-n // block), times)
    elif cycle_times is not None:
        raise ValueError("platform must be left out where a plan is given: the plan has its own")
    _require(kind, plan, n, dtype, size)
    owner = plan.owner
    if block is None:
        block = plan.block if isinstance(plan, FactorPlan) else max(1, -(-n // len(owner)))
    if isinstance(plan, FactorPlan) and block != plan.block:
        raise ValueError(f"block must be the plan's, {plan.block}, or be left out, got {block}")
    if (count := -(-n // block)) != len(owner):
        raise ValueError(
            f"plan has {len(owner)} block columns, {n} columns make {count} blocks of {block}"
        )
    return block, plan


def _require(kind: str, plan: Plans, n: int, dtype: np.dtype[Any], size: int) -> None:
    if not isinstance(plan, LuPattern | FactorPlan | LuGrid):
        raise wrong_kind(plan, "a plan of lu_pattern, plan_factor or lu_grid")
    if len(plan.names) != size:
        raise ValueError(f"plan is for {len(plan.names)} ranks, the communicator has {size}")
    if isinstance(plan, FactorPlan) and (plan.kind != kind or plan.owner.ndim != 1):
        raise ValueError(f'plan must be of kind "{kind}" with owners of block columns')
    if isinstance(plan, FactorPlan) and (plan.shape != (n, n) or plan.dtype != dtype.name):
        raise ValueError(f"plan is for {plan.shape} {plan.dtype}, A is {(n, n)} {dtype.name}")


class Wishes(NamedTuple):
    """Arguments that the three functions have in common."""

    kind: str
    plan: Plans | None = None
    root: int = 0
    block: int | None = None
    cycle_times: Platform | ArrayLike | None = None
    trace: bool = False
    progress: bool | Progress | None = None
    check_finite: bool = True
    lower: bool = True


def run_lu(
    ranks: Ranks,
    A: ArrayLike | None,
    pool: Pool,
    plan: Plans | None = None,
    *,
    root: int = 0,
    block: int | None = None,
    cycle_times: Platform | ArrayLike | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    check_finite: bool = True,
    stacklevel: int = 3,
) -> Any:
    """Factor P A = L U with partial pivoting, as scipy.linalg.lu_factor does; A is at the root.

    Parameters
    ----------
    ranks : Ranks
        All ranks must call this; only the arguments of the root count.
    A : (n, n) array_like at the root
        float32, float64, complex64 or complex128, with any strides; integers become float64.
    pool : Pool
        The pool with which this rank computes.
    plan : LuPattern, FactorPlan or LuGrid, optional
        Owners of the block columns, from `lu_pattern` or `plan_lu`, or of square blocks, from
        `lu_grid`, for as many workers as there are ranks.
    block : int, optional
        Columns of a block. Default: the block width of the plan; for a LuPattern or LuGrid the
        width that makes as many blocks as it has owners; without a plan `default_block`.
    cycle_times : Platform or (p,) array_like, optional
        Cycle-times of the ranks, if there is no plan: `lu_pattern` deals the blocks. Default: all
        equal.
    trace, progress, check_finite :
        See `Pool.lu_factor`.
    stacklevel : int
        Stack level of the warning; 3 is the caller of this function.

    Returns
    -------
    (lu, piv), or ((lu, piv), Trace)
        At the root, as from `Pool.lu_factor`; every other rank gets None instead of each. The
        trace has the prediction of `plan_lu` if the unit of the plan is the gigaflop.

    Warns
    -----
    RuntimeWarning
        At the root, if U has a zero on its diagonal, as in `Pool.lu_factor`.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument at the root is invalid.

    Notes
    -----
    By block columns all rows of a panel are on one rank, which finds the pivots without messages.
    A rank holds its block columns and at most four panels; the root also holds the result.

    By square blocks the owners of a panel choose its pivots by a tournament (see `tournament`), so
    that the pivots may differ from partial pivoting. A rank holds its blocks, the blocks of L and U
    that it needs in a step, and messages of three steps.
    """
    wishes = Wishes("lu", plan, root, block, cycle_times, trace, progress, check_finite)
    with reports(progress, ranks.rank == root) as tell:
        job, given = _agreed(ranks, A, None, pool, wishes)
        run = _Run(ranks, job, given, pool, root, tell)
        found = None
        if job.n == 0:
            found = (
                None
                if given is None
                else (np.empty((0, 0), job.dtype, order="F"), np.empty(0, np.int32))
            )
        else:
            ranks.run(run.factored, run.heard)
            if run.out is not None and run.pivots is not None:
                found = run.out, run.pivots[:-1].copy()
        record = run.traced() if job.trace else None
    if run.out is not None and run.singular >= 0:
        warn_singular(run.singular, stacklevel)
    return (found, record) if job.trace else found


def run_cholesky(
    ranks: Ranks,
    A: ArrayLike | None,
    pool: Pool,
    plan: Plans | None = None,
    *,
    lower: bool = True,
    root: int = 0,
    block: int | None = None,
    cycle_times: Platform | ArrayLike | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    check_finite: bool = True,
) -> Any:
    """Factor A = L L^H, or U^H U with lower=False, by Cholesky; A is at the root.

    Parameters
    ----------
    A : (n, n) array_like at the root
        Only one triangle is read.
    plan : LuPattern, FactorPlan or LuGrid, optional
        See `run_lu`. A plan of `plan_factor` must be of kind "cholesky".
    lower : bool
        The value of the root counts.
    ranks, pool, root, block, cycle_times, trace, progress, check_finite :
        See `run_lu`.

    Returns
    -------
    ndarray, or (ndarray, Trace)
        At the root, with zeros in the other triangle; every other rank gets None instead of each.

    Raises
    ------
    numpy.linalg.LinAlgError
        On every rank: "k-th leading minor of the array is not positive definite".
    ValueError, TypeError
        See `run_lu`.
    """
    wishes = Wishes(
        "cholesky", plan, root, block, cycle_times, trace, progress, check_finite, lower
    )
    with reports(progress, ranks.rank == root) as tell:
        job, given = _agreed(ranks, A, None, pool, wishes)
        run = _Run(ranks, job, given, pool, root, tell)
        if job.n:
            ranks.run(run.factored, run.heard)
        elif given is not None:
            run.out = np.empty((0, 0), job.dtype)
        record = run.traced() if job.trace else None
    found = run.out if lower or run.out is None else run.out.T
    return (found, record) if job.trace else found


def run_solve(
    ranks: Ranks,
    A: ArrayLike | None,
    b: ArrayLike | None,
    pool: Pool,
    plan: Plans | None = None,
    *,
    root: int = 0,
    block: int | None = None,
    cycle_times: Platform | ArrayLike | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    check_finite: bool = True,
) -> Any:
    """Solve A x = b by `run_lu` and substitution; the factors stay on the ranks.

    Parameters
    ----------
    A : (n, n) array_like at the root
    b : (n,) or (n, k) array_like at the root
    ranks, pool, plan, root, block, cycle_times, trace, progress, check_finite :
        See `run_lu`.

    Returns
    -------
    ndarray, or (ndarray, Trace)
        At the root, with the shape of b; every other rank gets None instead of each.

    Raises
    ------
    numpy.linalg.LinAlgError
        On every rank, if U has a zero on its diagonal.
    ValueError, TypeError
        See `run_lu`.
    """
    wishes = Wishes("lu", plan, root, block, cycle_times, trace, progress, check_finite)
    with reports(progress, ranks.rank == root) as tell:
        job, given = _agreed(ranks, A, b, pool, wishes)
        run = _Run(ranks, job, given, pool, root, tell)
        if job.n:
            ranks.run(run.solved, run.heard)
            ranks.agree(run.require_regular)
        record = run.traced() if job.trace else None
    found = None if given is None else _as_given(given, np.dtype(job.dtype))
    return (found, record) if job.trace else found


def _as_given(given: Given, dtype: np.dtype[Any]) -> Array:
    """The solutions in the form of the right-hand sides.

    Complex right-hand sides of a real matrix were solved as two real right-hand sides each.
    """
    assert given.b is not None
    assert given.right is not None
    right = np.asarray(given.right)
    wanted = np.promote_types(dtype, right.dtype if right.dtype.kind == "c" else dtype)
    return given.b.view(wanted).reshape(right.shape)


def _agreed(
    ranks: Ranks, A: ArrayLike | None, b: ArrayLike | None, pool: Pool, x: Wishes
) -> tuple[Job, Given | None]:
    """What all ranks agree on, and at the root what only the root has."""
    kept: list[Given] = []

    def checked() -> tuple[int, Job | None]:
        root = check.integer("root", x.root, low=0, high=ranks.size - 1)
        require_real_cores(pool)
        if ranks.rank != root:
            return root, None
        given, job = _at_root(ranks, A, b, x)
        kept.append(given)
        return root, job

    roots, jobs = zip(*ranks.agree(checked), strict=True)
    if len(set(roots)) > 1:
        raise ValueError(f"root must be the same on all ranks, got {sorted(set(roots))}")
    return jobs[x.root], kept[0] if kept else None


def _at_root(
    ranks: Ranks, A: ArrayLike | None, b: ArrayLike | None, x: Wishes
) -> tuple[Given, Job]:
    if A is None:
        raise ValueError(f"A must be given at the root, rank {ranks.rank}")
    a = square("A", A)
    if not check.flag("lower", x.lower):
        a = a.T  # U is the transpose of the lower factor of the transpose
    n = len(a)
    require_progress(x.progress)
    flags = (check.flag("trace", x.trace), x.progress is not None and x.progress is not False)
    right = None if b is None else right_sides(b, n)
    if right is not None and right.ndim > 2:
        raise ValueError(f"b must have shape ({n},) or ({n}, k), got {right.shape}")
    if check.flag("check_finite", x.check_finite):
        require_finite(*(array for array in (a, right) if array is not None))
    sides = None
    dtype = a.dtype
    if right is not None:
        # a real matrix with complex right-hand sides is factored as a real matrix
        dtype = np.promote_types(a.dtype, right.real.dtype)
        sides = np.array(as_columns(right), np.promote_types(dtype, right.dtype), order="C").view(
            dtype
        )
    block, owner = 1, np.empty(0, np.int32)
    plan = x.plan
    if n:
        block, plan = dealt(x.kind, n, dtype, ranks.size, x.plan, x.block, x.cycle_times)
        owner = np.ascontiguousarray(plan.owner, np.int32)
    elif plan is not None:
        _require(x.kind, plan, n, dtype, ranks.size)
    by_lines = a.flags.f_contiguous and not a.flags.c_contiguous
    job = Job(
        x.kind,
        n,
        dtype.name,
        block,
        owner,
        by_lines,
        *flags,
        0 if sides is None else sides.shape[1],
    )
    return Given(a, plan, sides, right), job


class _Run:
    """One call on one rank."""

    def __init__(
        self,
        ranks: Ranks,
        job: Job,
        given: Given | None,
        pool: Pool,
        root: int,
        tell: Progress | None,
    ) -> None:
        self._ranks = ranks
        self._job = job
        self._given = given
        self._pool = pool
        self._root = root
        self._tell = tell
        self.record = Record(job.trace)
        self.out: Array | None = None
        self.pivots: NDArray[np.int32] | None = None
        self._clocks: list[Clock] = []
        self._start = 0.0
        self._done = 0.0

    @property
    def singular(self) -> int:
        """The first zero on the diagonal of U; -1 if there is none or it is not known."""
        return -1 if self.pivots is None or self.pivots.size == 0 else int(self.pivots[-1])

    def require_regular(self) -> None:
        """Raise LinAlgError on the root, which knows, if U has a zero on its diagonal."""
        if self._given is not None and self.singular >= 0:
            raise np.linalg.LinAlgError(singular_words("A", (), self.singular))

    def heard(self, _: int, block: int) -> None:
        """Report that the panel of a block has been factored; called at the root."""
        left = 1.0 - block * self._job.block / self._job.n
        self._done = max(self._done, 1.0 - left**3)
        if self._tell is not None:
            self._tell(self._done)

    async def factored(self, loop: Loop) -> None:
        """Scatter, factor, gather."""
        await self._begin(loop)
        work = await self._factor(loop)
        if self._given is not None:
            self.out = by_columns(self._given.a.shape, np.dtype(self._job.dtype))
            await loop.compute(partial(touched, loop, self.out.T))
        await work.gather(self.out)
        await self._end(loop)

    async def solved(self, loop: Loop) -> None:
        """Scatter, factor, substitute."""
        await self._begin(loop)
        work = await self._factor(loop)
        assert self.pivots is not None
        sides = None if self._given is None else self._given.b
        if self.singular < 0 and self._job.cols:
            await work.solve(self.pivots, self._job.cols, sides)
        await self._end(loop)

    async def _begin(self, loop: Loop) -> None:
        if self._job.trace:
            self._clocks.append(await synchronised(loop, self._root))
        self._start = time.perf_counter()

    async def _end(self, loop: Loop) -> None:
        if self._job.trace:
            self._clocks.append(await synchronised(loop, self._root))

    async def _factor(self, loop: Loop) -> Work:
        work = self._work(loop)
        self.pivots = await work.factor(None if self._given is None else self._given.a)
        return work

    def _work(self, loop: Loop) -> Work:
        job, dtype = self._job, np.dtype(self._job.dtype)
        side = Context(loop, self._pool, self._root, self.record, self._progress(loop))
        lower = job.kind == "cholesky"
        if job.owner.ndim == 2:
            return GridWork(side, Grid(job.n, job.block, job.owner, loop.size), dtype, lower)
        columns = Columns(job.n, job.block, job.owner, loop.size)
        return ColumnWork(side, columns, dtype, job.by_columns, lower)

    def _progress(self, loop: Loop) -> Callable[[int], None] | None:
        if not self._job.watched:
            return None
        return (
            partial(self.heard, loop.rank)
            if loop.rank == self._root
            else partial(loop.tell, to=self._root)
        )

    def traced(self) -> Trace | None:
        """The trace of all ranks, at the root."""
        clocks = self._clocks or [Clock(0.0, 0.0, 0.0)] * 2
        found = self._ranks.gather((self.record.events, *clocks))
        if self._given is None:
            return None
        steps = from_when_sent(on_one_clock(found, self._start)[0])
        plan, job = self._given.plan, self._job
        if plan is None:  # the matrix is empty
            return Trace.from_steps(
                steps,
                [f"P{i}" for i in range(self._ranks.size)],
                kind="real",
                speeds=[1.0] * self._ranks.size,
            )
        speeds = relative_speeds(plan.cycle_times).tolist()
        if isinstance(plan, LuPattern) and plan.unit == Unit.gigaflop():
            times = Platform.star(plan.cycle_times, names=plan.names, unit=plan.unit)
            plan = plan_factor(
                job.n,
                job.n,
                times,
                kind=job.kind,
                owner=job.owner,
                block=job.block,
                dtype=job.dtype,
            )
        if not isinstance(plan, FactorPlan):
            return Trace.from_steps(steps, plan.names, kind="real", speeds=speeds)
        return Trace.from_steps(
            steps,
            plan.names,
            kind="real",
            speeds=speeds,
            predicted=plan.makespan,
            ideal=plan.ideal,
            predicted_finish=simulate(plan).finish,
        )
