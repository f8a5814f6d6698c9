"""Owners of the block columns of an LU or QR factorisation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine import allocate as engine
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose

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
        Block columns in a slice; None if there is only one.
    cycle_times : (p,) float64 array
        Time to update one block column.
    """

    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    step_costs: NDArray[np.float64]
    cost: float
    period: int | None
    cycle_times: NDArray[np.float64]

    _value: ClassVar[str] = "cost"
    _table: ClassVar = {
        "owner": schema.Array("i4", "n", high="p - 1"),
        "counts": schema.Array("i8", "p", high="n"),
        "step_costs": schema.Array("f8", "n - 1"),
        "cost": schema.Real(),
        "period": schema.Maybe(schema.Integer(1)),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        schema.require_owners("owner", self.owner, self.counts, self.cycle_times)
        schema.require_able("counts", self.counts, self.cycle_times)
        schema.require_close("cost", self.cost, float(self.step_costs.sum()))

    def _on(self, platform: Platform) -> Plan:
        return lu_pattern(len(self.owner), platform, owner=self.owner)

    def _load(self) -> Any:
        """Block column updates of each worker; block column j has j of them."""
        return np.bincount(self.owner, np.arange(len(self.owner)), len(self.names)).astype(np.int64)

    def _steps(self, finish: Finish) -> list[Step]:
        """The updates of each step, which starts when the step before has ended.

        Panels and messages take no time.
        """
        left = self.counts.tolist()
        updates = []
        for pivot in self.owner[:-1].tolist():
            left[pivot] -= 1
            updates.append(left.copy())
        return update_steps(updates, self.cycle_times, finish)


def update_steps(
    updates: Iterable[list[int]], cycle_times: NDArray[np.float64], finish: Finish
) -> list[Step]:
    """The updates of each step of LU, which starts when the step before has ended.

    updates : for each step, the number of updates of each worker.
    """
    steps: list[Step] = []
    times, start = cycle_times.tolist(), 0.0
    for k, counts in enumerate(updates):
        ends = [
            finish(i, start, count * times[i]) if count else start for i, count in enumerate(counts)
        ]
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
        Repeat the pattern of that many block columns. If the first slice is incomplete, it has the
        end of the pattern. Default: one slice of n. Only for method "pattern".
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    method : {"best", "pattern", "cyclic", "contiguous"}
        "pattern", which is the best: the reversed incremental allocation. For comparison, "cyclic"
        takes the workers in turn, and "contiguous" takes the counts of `distribute`, with each
        worker's blocks side by side.
    owner : (n,) array_like of int, optional
        The worker of each block column. They are certified as they are; the plan has method
        "given".

    Returns
    -------
    LuPattern
        lower_bound is the sum of the least costs of the single steps, as if the blocks could be
        dealt anew before each. The pattern of one slice attains it in every step, so it is optimal
        for any non-negative weights of the steps.

    Raises
    ------
    ValueError, TypeError
        For NaN, zero or negative cycle-times, n or period below 1, an unknown method.

    Notes
    -----
    The dynamic programming algorithm of Beaumont, Boudet, Legrand, Rastello, Robert (2001), section
    2.4, in O(n log p).

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.lu_pattern(10, cycle_times=[3, 5, 8])
    >>> plan.owner.tolist(), plan.cost
    ([2, 1, 0, 0, 1, 0, 2, 0, 1, 0], 83.0)
    >>> hs.lu_pattern(10, cycle_times=[3, 5, 8], method="cyclic").cost
    123.0
    """
    check.amount_first("lu_pattern", "n", n, cycle_times)
    n = check.integer("n", n, low=1)
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
    if owner is not None and (method != "pattern" or period is not None):
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
