"""Owners of the block columns of an LU or QR factorisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine import allocate as engine
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose
from .lu_profile import Profiles, columns_right, deal_columns, mean_times, table_of

PATTERNS = ("pattern", "cyclic", "contiguous")
METHODS = ("best", *PATTERNS)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LuPattern(Plan):
    """Owners of block columns, and the cost of the updates.

    Attributes
    ----------
    owner : (n,) int32 array
        The worker of each block column, from the left.
    counts : (p,) int64 array
        Block columns of each worker.
    step_costs : (n - 1,) float64 array
        Time of each step's updates: step k updates the block columns k + 1 .. n - 1, each worker
        its own.
    cost : float
        Sum of the step costs: the time of all updates.
    period : int or None
        Block columns after which the pattern repeats; None if it does not repeat.
    cycle_times : (p,) float64 array
        Time to update one block column; from profiles, the mean time of the updates of each worker.
    times : (n - 1, p) float64 array or None
        From profiles: the time of each worker in each step. Else None: block columns times
        cycle_times.
    """

    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    step_costs: NDArray[np.float64]
    cost: float
    period: int | None
    cycle_times: NDArray[np.float64]
    times: NDArray[np.float64] | None = None

    _value: ClassVar[str] = "cost"
    _table: ClassVar = {
        "owner": schema.Array("i4", "n", high="p - 1"),
        "counts": schema.Array("i8", "p", high="n"),
        "step_costs": schema.Array("f8", "n - 1"),
        "cost": schema.Real(),
        "period": schema.Maybe(schema.Integer(1)),
        "cycle_times": schema.CYCLE_TIMES,
        "times": schema.Maybe(schema.Array("f8", "n - 1", "p")),
    }

    def _check(self) -> None:
        schema.require_owners("owner", self.owner, self.counts, self.cycle_times)
        schema.require_able("counts", self.counts, self.cycle_times)
        schema.require_close("cost", self.cost, float(self.step_costs.sum()))
        if self.times is None:
            updates = self._updates
            with np.errstate(invalid="ignore"):  # 0 * inf, of workers without updates
                busy = np.where(updates > 0, updates * self.cycle_times, 0.0)
            if not np.allclose(self.step_costs, busy.max(axis=1), rtol=1e-9, atol=0.0):
                raise ValueError("step_costs must be the largest times of the steps")
            return
        if not np.array_equal(self.step_costs, self.times.max(axis=1)):
            raise ValueError("step_costs must be the largest times of the steps")
        if ((self.times > 0) != (self._updates > 0)).any():
            raise ValueError(
                "times must be positive for the workers with updates, and 0 for the other workers"
            )

    @property
    def _updates(self) -> NDArray[np.int64]:
        """(n - 1, p) updates of each worker in each step."""
        return columns_right(self.owner, len(self.counts))[:-1]

    def _on(self, platform: Platform) -> Plan:
        return lu_pattern(len(self.owner), platform, owner=self.owner)

    def _load(self) -> Any:
        """Block column updates of each worker; block column j has j of them."""
        return np.bincount(self.owner, np.arange(len(self.owner)), len(self.names)).astype(np.int64)

    def _steps(self, finish: Finish) -> list[Step]:
        """The updates of each step, which starts when the step before has ended.

        Panels and messages take no time.
        """
        return update_steps(self._updates, self.cycle_times, finish, self.times)


def update_steps(
    updates: NDArray[np.int64],
    cycle_times: NDArray[np.float64],
    finish: Finish,
    times: NDArray[np.float64] | None = None,
) -> list[Step]:
    """The updates of each step of LU, which starts when the step before has ended.

    updates : (steps, p) number of updates of each worker.
    times : (steps, p) their times; None: in proportion to the cycle-times.
    """
    if times is None:
        times = np.zeros(updates.shape)
        np.multiply(updates, cycle_times, out=times, where=updates > 0)
    steps: list[Step] = []
    start = 0.0
    for k, (counts, own) in enumerate(zip(updates.tolist(), times.tolist(), strict=True)):
        ends = [finish(i, start, own[i]) if count else start for i, count in enumerate(counts)]
        steps += [
            Step(i, "compute", start, ends[i], f"step {k}: {count} updates")
            for i, count in enumerate(counts)
            if count
        ]
        start = max(ends)
    return steps


def lu_pattern(
    n: int,
    cycle_times: Platform | ArrayLike | None = None,
    period: int | None = None,
    *,
    speeds: ArrayLike | None = None,
    method: str = "best",
    owner: ArrayLike | None = None,
    profiles: Profiles | None = None,
) -> LuPattern:
    """Deal n block columns of a matrix to workers, so that the updates of every step of LU or QR
    are balanced.

    Step k factors the block column k and updates the n - 1 - k block columns to its right, which
    are equal and independent.

    Parameters
    ----------
    n : int
        Number of block columns, at least 1.
    cycle_times : Platform or (p,) array_like
        Time of each worker to update one block column, > 0. A worker with an infinite cycle-time
        gets nothing.
    period : int, optional
        Repeat the pattern of that many block columns. The first repetition may be incomplete; it is
        then the end of the pattern. Default: no repetition. Only for method "pattern".
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    method : {"best", "pattern", "cyclic", "contiguous"}
        "pattern", which is the best: the reversed incremental allocation. For comparison, "cyclic"
        takes the workers in turn, and "contiguous" takes the counts of `distribute`, with each
        worker's blocks side by side.
    owner : (n,) array_like of int, optional
        The worker of each block column. They are certified as they are; the plan has method
        "given".
    profiles : Platform or (p,) sequence, optional
        In place of cycle-times: the time that each worker needs to update w block columns of h
        block rows, in any of the forms of `partition_profile`, such as a function time(h, w). The
        matrix has n block rows, so step k takes the times at h = n - 1 - k. The plan has method
        "profiles".

    Returns
    -------
    LuPattern
        lower_bound is the sum of the least costs of the single steps, as if the blocks could be
        dealt anew before each. Without `period` the pattern attains it in every step, so it is
        optimal for any non-negative weights of the steps. With profiles, this bound may be
        unattainable; the plan is then optimal if all possible numbers of block columns were
        searched.

    Raises
    ------
    ValueError, TypeError
        For NaN, zero or negative times, n or period below 1, an unknown method.
    InfeasibleError
        If no owners were found with parts that fit the profiles in every step, or the given ones do
        not fit.

    Notes
    -----
    The dynamic programming algorithm of Beaumont, Boudet, Legrand, Rastello, Robert (2001), section
    2.4, in O(n log p). With profiles, a shortest path through the numbers of block columns that the
    workers can have. All are searched if a step has at most 2**22 / (n p) of them, such as with 3
    workers and 100 block columns; otherwise the best ones are kept in each step. Functional
    performance models: Lastovetsky, Reddy, Parallel Computing 33 (2007).

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.lu_pattern(10, cycle_times=[3, 5, 8])
    >>> plan.owner.tolist(), plan.cost
    ([2, 1, 0, 0, 1, 0, 2, 0, 1, 0], 83.0)
    >>> hs.lu_pattern(10, cycle_times=[3, 5, 8], method="cyclic").cost
    123.0

    A GPU with room for 30 blocks, and a core:

    >>> gpu = lambda h, w: np.where(h * w <= 30, 2.0 + 0.1 * h * w, np.inf)
    >>> plan = hs.lu_pattern(10, profiles=[gpu, 1])
    >>> plan.owner.tolist(), plan.optimal
    ([0, 1, 1, 1, 1, 1, 0, 0, 0, 1], True)
    """
    check.amount_first("lu_pattern", "n", n, cycle_times)
    n = check.integer("n", n, low=1)
    if profiles is not None:
        if cycle_times is not None or speeds is not None:
            raise ValueError("profiles must be given without cycle_times and speeds")
        if period is not None or method != "best":
            raise ValueError("profiles must be given without period and method")
        return _by_profiles(n, profiles, owner)
    times = check.cycle_times(cycle_times, speeds)
    asked = check.choice("method", method, METHODS)
    if method == "best":
        method = "pattern"
    if period is not None:
        if method != "pattern":
            raise ValueError(
                f'period is for method "pattern" only, got period={period!r} with method {method!r}'
            )
        period = check.integer("period", period, low=1)
    if owner is not None and (asked != "best" or period is not None):
        raise ValueError("owner must be given without method and period")
    mine = np.empty(n, np.int32)
    if owner is not None:
        method, mine = "given", check.owners("owner", owner, (n,), times)
    step_costs, proof = engine.pattern(mine, times, method, min(period or 0, n))
    return trusted(
        LuPattern,
        method=method,
        asked=asked if method != "given" else "",
        **proof,
        owner=check.frozen(mine),
        counts=check.frozen(np.bincount(mine, minlength=len(times))),
        step_costs=check.frozen(step_costs),
        period=None if period is None or period >= n else period,
        cycle_times=check.frozen(times),
        **whose(cycle_times, len(times)),
    )


def _by_profiles(n: int, profiles: Profiles, owner: ArrayLike | None) -> LuPattern:
    """The plan of `lu_pattern` from profiles."""
    table = table_of(profiles, (max(n - 1, 1), max(n - 1, 1)))
    p = len(table)
    given = None if owner is None else check.owners("owner", owner, (n,), np.ones(p))
    dealt = deal_columns(table, n, np.arange(n - 1, 0, -1), given)
    updates = dealt.counts.sum(axis=0).astype(np.float64)
    return trusted(
        LuPattern,
        method="profiles" if given is None else "given",
        asked="best" if given is None else "",
        **dealt.proof,
        owner=check.frozen(dealt.owner),
        counts=check.frozen(np.bincount(dealt.owner, minlength=p)),
        step_costs=check.frozen(dealt.times.max(axis=1, initial=0.0)),
        period=None,
        cycle_times=check.frozen(mean_times(dealt.times.sum(axis=0), updates)),
        times=check.frozen(dealt.times),
        **whose(profiles, p) | {"unit": None},  # the times are of block columns
    )
