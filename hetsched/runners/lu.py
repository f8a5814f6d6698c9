"""LU factorisation on the threads of a pool, and systems by it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._base import check
from .._engine import factor
from .._engine import run as engine
from .._engine.dtypes import DTYPES, flops_per_update
from ..errors import LinAlgWarning
from ..plan import simulate
from ..planners.lu import LuPlan, plan_lu
from ..platform import UNIT
from .arguments import columns, in_place, matrix, require_finite, right_sides, squares, stacked
from .operands import Array, as_array, element_strides
from .triangular import solved

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .._base.progress import Progress
    from ..planners.lu import Owner
    from .workers import Workers


def plan_for(
    workers: Workers, m: int, n: int, *, dtype: np.dtype[Any], link_costs: ArrayLike | None = None, **options: Any
) -> LuPlan:
    """What `Pool.plan_lu` returns."""
    if link_costs is None and not workers.emulated:
        link_costs = 0.0
    platform = workers.platform_for(dtype if dtype in DTYPES else np.dtype(np.float64))
    return plan_lu(m, n, platform, dtype=dtype, link_costs=link_costs, **options)


def run(
    threads: engine.Threads, workers: Workers, A: ArrayLike, overwrite_a: bool, check_finite: bool,
    owner: Owner | LuPlan | None = None, block: int | None = None, trace: bool = False, progress: Progress | None = None,
) -> Any:  # fmt: skip
    """What `Pool.lu_factor` returns."""
    x = Factors.of(A, overwrite_a, check_finite)
    plan = _chosen(workers, x.lu, owner, block, trace)
    if workers.emulated:
        workers.require_products(x.lu.dtype)
    events = len(plan.tasks) + len(plan.messages) if plan is not None and trace else 0
    singular, result = x.run(threads, workers, plan, progress, events)
    if singular >= 0:
        _warn_singular(singular)
    if plan is not None:
        workers.warn_if_late(result.late, plan.names, plan.makespan * workers.time_scale)
    if plan is None or not trace:
        return x.lu, x.piv
    blocks = max(1, len(plan.owner))
    return (x.lu, x.piv), workers.trace(
        plan, result, lambda _, __, task: plan.label(*divmod(task, blocks)), plan.ideal, simulate(plan).finish
    )


def _chosen(workers: Workers, a: Array, owner: Owner | LuPlan | None, block: int | None, trace: bool) -> LuPlan | None:
    """The plan given, if it is for this matrix and these workers; that of the owner and block given, or of the workers' speeds.
    None where the engine knows best: equal cores with nothing given."""
    if isinstance(owner, LuPlan):
        return _checked_plan(workers, owner, a, block)
    planned = workers.emulated or workers.shares[a.dtype] is not None
    if owner is None and block is None and not planned and not trace:
        return None
    if owner is None:
        owner = "pattern" if planned else "cyclic"
    return plan_for(workers, *a.shape, dtype=a.dtype, owner=owner, block=block)


def _checked_plan(workers: Workers, plan: LuPlan, a: Array, block: int | None) -> LuPlan:
    if plan.shape != a.shape or plan.dtype != a.dtype.name:
        raise ValueError(f"owner is a plan for {plan.shape} {plan.dtype}, A is {a.shape} {a.dtype.name}")
    if block is not None and block != plan.block:
        raise ValueError(f"block must be the plan's, {plan.block}, or be left out, got {block!r}")
    workers.require_as_many(plan.names, "owner is a plan")
    if workers.emulated and not np.array_equal(plan.cycle_times, workers.in_gigaflops.cycle_times):
        raise ValueError(f"owner is a plan for cycle-times {plan.cycle_times}, the pool has {workers.in_gigaflops.cycle_times}")
    return plan


@dataclass(frozen=True, eq=False)
class Factors:
    """Checked arguments of `Pool.lu_factor`, and where its results go."""

    a: Array | None  # None: lu holds the matrix
    lu: Array
    piv: NDArray[np.int32]

    @classmethod
    def of(cls, A: ArrayLike, overwrite_a: bool, check_finite: bool) -> Factors:
        overwrite_a, check_finite = check.flag("overwrite_a", overwrite_a), check.flag("check_finite", check_finite)
        a = matrix("A", A)
        if check_finite:
            require_finite(a)
        piv = np.empty(min(a.shape), np.int32)
        if in_place(A, a, overwrite_a) and a.flags.f_contiguous:
            return cls(None, a, piv)
        return cls(a, columns(a.shape, a.dtype), piv)

    def run(
        self,
        threads: engine.Threads,
        workers: Workers,
        plan: LuPlan | None = None,
        progress: Progress | None = None,
        events: int = 0,
    ) -> tuple[int, engine.RunResult]:
        """The first zero of the diagonal or -1, and what was recorded."""
        pace = panel_pace = links = None
        if plan is not None and workers.emulated:
            scale, flops = workers.time_scale, flops_per_update(self.lu.dtype)
            finite = np.where(np.isfinite(plan.cycle_times), plan.cycle_times, 0.0)  # who has no blocks
            pace, panel_pace = finite * (scale / UNIT), plan.panel_times * (scale * flops / UNIT)
            links = None if plan.links is None else plan.links * (scale * self.lu.itemsize / UNIT)
        order = None
        if plan is not None:
            order = factor.Order(plan.block, plan.owner, pace, panel_pace, links, not plan.look_ahead)
        return factor.run(
            threads, "lu", self.a, self.lu, pivots=self.piv, workers=len(workers), order=order, poll=engine.Poll(progress), event_capacity=events
        )


def _warn_singular(column: int) -> None:
    """As scipy.linalg.lu_factor. `run` calls this, and is called by a function on the user's line."""
    try:
        from scipy.linalg import LinAlgWarning as kind
    except ImportError:
        kind = LinAlgWarning
    warnings.warn(f"Diagonal number {column + 1} is exactly zero. Singular matrix.", kind, stacklevel=4)


# ---- systems and stacks -------------------------------------------------------------------------------------------


def stack(threads: engine.Threads, a: Array) -> tuple[Array, NDArray[np.int32], NDArray[np.int64]]:
    """The factors of each matrix of a stack, and which element of the diagonal of U is the first zero, or -1."""
    lu, piv = np.empty(a.shape, a.dtype), np.empty(a.shape[:-2] + (min(a.shape[-2:]),), np.int32)
    if not a.size:
        return lu, piv, np.full(a.shape[:-2], -1)
    return lu, piv, factor.stack_lu(threads, a, lu, piv, engine.Poll())


def run_stack(threads: engine.Threads, A: ArrayLike, overwrite_a: bool, check_finite: bool) -> tuple[Array, NDArray[np.int32]]:
    """What `lu_factor` returns of a stack."""
    a = squares("A", A)
    check.flag("overwrite_a", overwrite_a)
    if check.flag("check_finite", check_finite):
        require_finite(a)
    lu, piv, singular = stack(threads, a)
    if (singular >= 0).any():
        _warn_singular(int(singular[singular >= 0][0]))
    return lu, piv


def solution(
    threads: engine.Threads,
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
    lu = squares("lu", given)
    n = lu.shape[-1]
    piv = np.ascontiguousarray(check.integers("piv", as_array("piv", pivots), low=0, high=max(n - 1, 0)), np.int32)
    if piv.shape != lu.shape[:-1]:
        raise ValueError(f"piv must have shape {lu.shape[:-1]}, got {piv.shape}")
    overwrite_b, check_finite = check.flag("overwrite_b", overwrite_b), check.flag("check_finite", check_finite)
    if isinstance(trans, np.ndarray) or trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, got {trans!r}")
    right = right_sides(b, n)
    if check_finite:
        require_finite(lu, right)
    return solve_with(threads, "lu", lu, piv, b, right, trans, overwrite_b)


def solve_with(
    threads: engine.Threads,
    name: str,
    lu: Array,
    piv: NDArray[np.int32],
    b: ArrayLike,
    right: Array,
    trans: int,
    overwrite_b: bool,
) -> Array:
    """The solutions by the factors of a matrix, or matrices, called `name`; right are the right sides that b stands for."""
    pivots = np.broadcast_to(piv, (*stacked(name, lu, right), lu.shape[-1]))

    def one(lu: Array, x: Array, index: tuple[int, ...]) -> None:
        conjugate = trans == 2 and x.dtype.kind == "c"
        if conjugate:
            np.conjugate(x, out=x)
        own = lu if element_strides(lu) else lu.copy()
        factor.lu_solve(threads, own, np.ascontiguousarray(pivots[index]), trans != 0, x, engine.Poll())
        if conjugate:
            np.conjugate(x, out=x)

    return solved(name, lu, b, right, overwrite_b, one)
