"""LU factorisation on the threads of a pool; systems and determinants."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._base import check
from .._engine import factor as engine
from .._engine.run import Poll, RunResult, Threads
from .._engine.dtypes import DTYPES, flops_per_update
from ..errors import LinAlgWarning
from ..plan import simulate
from ..planners.lu import LuPlan, plan_lu
from ..platform import UNIT
from .operands import Array, as_array, element_strides, operand

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
    threads: Threads, workers: Workers, A: ArrayLike, overwrite_a: bool, check_finite: bool,
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
        if overwrite_a and a is A and a.flags.f_contiguous and a.flags.writeable:
            return cls(None, a, piv)
        return cls(a, _columns(a.shape, a.dtype), piv)

    def run(
        self,
        threads: Threads,
        workers: Workers,
        plan: LuPlan | None = None,
        progress: Progress | None = None,
        events: int = 0,
    ) -> tuple[int, RunResult]:
        """The first zero of the diagonal or -1, and what was recorded."""
        pace = panel_pace = links = None
        if plan is not None and workers.emulated:
            scale, flops = workers.time_scale, flops_per_update(self.lu.dtype)
            finite = np.where(np.isfinite(plan.cycle_times), plan.cycle_times, 0.0)  # who has no blocks
            pace, panel_pace = finite * (scale / UNIT), plan.panel_times * (scale * flops / UNIT)
            links = None if plan.links is None else plan.links * (scale * self.lu.itemsize / UNIT)
        order = None
        if plan is not None:
            order = engine.Order(plan.block, plan.owner, pace, panel_pace, links, not plan.look_ahead)
        return engine.run(
            threads, "lu", self.a, self.lu, pivots=self.piv, workers=len(workers), order=order, poll=Poll(progress), event_capacity=events
        )


def matrix(name: str, value: ArrayLike) -> Array:
    """A matrix of a supported dtype; integers and booleans become float64."""
    array = numbers(name, value)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {array.shape}")
    return array


def square(name: str, value: ArrayLike) -> Array:
    """The same, as many rows as columns."""
    array = matrix(name, value)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    return array


def right_sides(value: ArrayLike, n: int) -> Array:
    """One or several for n unknowns, of a supported dtype."""
    right = numbers("b", value)
    if right.ndim not in (1, 2) or right.shape[0] != n:
        raise ValueError(f"b must have shape ({n},) or ({n}, k), got {right.shape}")
    return right


def numbers(name: str, value: ArrayLike) -> Array:
    array = as_array(name, value)
    return operand(name, array.astype(np.float64) if array.dtype.kind in "biu" else array)


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


def _warn_singular(column: int) -> None:
    """As scipy.linalg.lu_factor. `run` calls this, and is called by a function on the user's line."""
    try:
        from scipy.linalg import LinAlgWarning as kind
    except ImportError:
        kind = LinAlgWarning
    warnings.warn(f"Diagonal number {column + 1} is exactly zero. Singular matrix.", kind, stacklevel=4)


# ---- systems ------------------------------------------------------------------------------------------------------


def solution(
    threads: Threads,
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
    lu = square("lu", given)
    n = len(lu)
    piv = np.ascontiguousarray(check.integers("piv", as_array("piv", pivots), low=0, high=max(n - 1, 0)), np.int32)
    if piv.shape != (n,):
        raise ValueError(f"piv must have shape ({n},), got {piv.shape}")
    overwrite_b, check_finite = check.flag("overwrite_b", overwrite_b), check.flag("check_finite", check_finite)
    if isinstance(trans, np.ndarray) or trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, got {trans!r}")
    right = right_sides(b, n)
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
    engine.lu_solve(threads, lu, piv, trans != 0, x[:, None] if x.ndim == 1 else x, Poll())
    if conjugate:
        np.conjugate(x, out=x)
    return x


#: Mantissas that can be multiplied without leaving the range: each is at least 1/2, and of complex numbers at most 2**(1/2).
_TOGETHER = 512


def determinant(lu: Array, piv: NDArray[np.int32]) -> Any:
    """From the factors; in double precision, as scipy.linalg.det. A value beyond the range is judged by numpy.errstate."""
    mantissa, exponent = _mantissa(lu, piv)
    with np.errstate(all="ignore"):
        value = np.ldexp(mantissa, exponent)  # rounded once
    size = abs(value).max()
    if not np.isfinite(size):
        np.linalg.det(np.diag([1e200, 1e200]))  # overflows: NumPy warns, raises or calls as it is told to, in its own words
    elif size < np.finfo(np.float64).tiny and mantissa.any():
        np.linalg.det(np.diag([1e-200, 1e-200]))
    return value.view(_wide(lu))[0]


def sign_and_log(lu: Array, piv: NDArray[np.int32]) -> tuple[Any, Any]:
    """The determinant's sign, or for complex numbers its direction, and the logarithm of its size; 0 and -inf for 0."""
    parts, exponent = _mantissa(lu, piv)
    mantissa = parts.view(_wide(lu))[0]
    with np.errstate(all="ignore"):
        size = abs(mantissa)
        return (mantissa / size if size != 0 else mantissa), np.log(size) + exponent * np.log(2.0)


def _wide(lu: Array) -> Any:
    return np.complex128 if lu.dtype.kind == "c" else np.float64


def _mantissa(lu: Array, piv: NDArray[np.int32]) -> tuple[NDArray[np.float64], int]:
    """The determinant as a number of moderate size, in one or two parts, times a power of two: factors may be anywhere in the
    range, and so may be the product of some."""
    exchanges = int(np.count_nonzero(piv != np.arange(len(piv))))
    values = np.append(lu.diagonal(), (-1) ** exchanges).astype(_wide(lu))
    exponent = 0
    with np.errstate(all="ignore"):
        while True:
            parts = values.view(np.float64).reshape(len(values), -1)
            _, powers = np.frexp(abs(parts).max(axis=1))
            powers[~np.isfinite(parts).all(axis=1)] = 0  # C leaves it open
            parts = np.ldexp(parts, -powers[:, None])
            exponent += int(powers.sum(dtype=np.int64))
            if len(parts) == 1:
                return parts[0], exponent
            values = np.multiply.reduceat(parts.view(_wide(lu))[:, 0], np.arange(0, len(parts), _TOGETHER))
