"""One-dimensional allocation: how many equal, independent chunks each worker gets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.later import Lazy, later
from .._engine import allocate as engine
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Distribution(Lazy, Plan):
    """Counts of equal chunks per worker.

    Attributes
    ----------
    counts : (p,) int64 array
        Chunks of each worker; they sum to n.
    displs : (p,) int64 array
        First chunk of each worker, if the chunks are dealt in worker order (as for MPI_Scatterv).
    makespan : float
        max(counts * cycle_times), in the unit of the cycle-times.
    cycle_times : (p,) float64 array
    """

    counts: NDArray[np.int64]
    displs: NDArray[np.int64]
    makespan: float
    cycle_times: NDArray[np.float64]

    _table: ClassVar = {
        "counts": schema.Array("i8", "p", high=schema.COUNT),
        "displs": schema.Array("i8", "p", high=schema.COUNT),
        "makespan": schema.Real(),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        schema.require_dealt("counts", self.counts, displs=self.__dict__.get("displs"))
        schema.require_close(
            "makespan", self.makespan, schema.require_able("counts", self.counts, self.cycle_times)
        )

    def _on(self, platform: Platform) -> Plan:
        return distribute(int(self.counts.sum()), platform, counts=self.counts)

    def _steps(self, finish: Finish) -> list[Step]:
        return [
            Step(i, "compute", 0.0, finish(i, 0.0, float(count * time)), f"{count} chunks")
            for i, (count, time) in enumerate(
                zip(self.counts.tolist(), self.cycle_times.tolist(), strict=True)
            )
            if count
        ]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributionStack(Lazy, Plan):
    """Distributions of many workloads over as many sets of workers.

    stack[i] or stack[i, j] is a Distribution. As a plan, its value is the largest makespan.

    Attributes
    ----------
    counts : (..., p) int64 array
        Chunks of each worker.
    displs : (..., p) int64 array
        First chunk of each worker.
    makespan : (...) float64 array
        max(counts * cycle_times) over the workers; each is the least possible one.
    cycle_times : (..., p) float64 array
    """

    counts: NDArray[np.int64]
    displs: NDArray[np.int64]
    makespan: NDArray[np.float64]
    cycle_times: NDArray[np.float64]

    _table: ClassVar = {
        "counts": schema.Array("i8", "*stack", "p", high=schema.COUNT),
        "displs": schema.Array("i8", "*stack", "p", high=schema.COUNT),
        "makespan": schema.Array("f8", "*stack", high=math.inf),
        "cycle_times": schema.Array("f8", "*stack", "p", low=schema.LEAST, high=math.inf),
    }
    _fixed: ClassVar[str] = "each distribution has its own; take one, such as stack[0]"

    def _check(self) -> None:
        if self.makespan.ndim == 0:
            raise ValueError(
                "makespan must have at least one dimension: a single distribution is a Distribution"
            )
        schema.require_dealt("counts", self.counts, displs=self.__dict__.get("displs"))
        longest = schema.require_able("counts", self.counts, self.cycle_times)
        schema.require_close("largest makespan", self.value, longest)

    @property
    def value(self) -> float:
        return float(self.makespan.max(initial=0.0))

    def _load(self) -> Any:
        """Chunks of each worker in all distributions together."""
        return self.counts.reshape(-1, len(self.names)).sum(axis=0)

    def __len__(self) -> int:
        return len(self.makespan)

    def __getitem__(self, index: Any) -> Distribution | DistributionStack:
        makespan = self.makespan[index]
        rows = (*index, slice(None)) if isinstance(index, tuple) else (index, slice(None))
        parts: dict[str, Any] = {
            name: check.frozen(getattr(self, name)[rows])
            for name in ("counts", "displs", "cycle_times")
        }
        single = np.ndim(makespan) == 0
        parts["makespan"] = float(makespan) if single else check.frozen(makespan)
        return (Distribution if single else DistributionStack)(
            method=self.method,
            bound=float(np.max(makespan, initial=0.0)),
            optimal=self.optimal,
            scope=self.scope,
            names=later(lambda: self.names),
            **parts,
        )

    def __repr__(self) -> str:
        if self.makespan.size == 0:
            return f"<DistributionStack: no distributions ({self.method})>"
        spread = f"makespans {float(self.makespan.min()):.6g} to {self.value:.6g}"
        return (
            f"<DistributionStack: {self.makespan.size} distributions, {spread}, gap 0.00%, each"
            f" optimal ({self.method})>"
        )

    def steps(self) -> list[Step]:
        raise TypeError(
            "a DistributionStack cannot be simulated:"
            " take one of its distributions, such as stack[0]"
        )


@overload
def distribute(
    n: int,
    cycle_times: Platform | check.Vector | None = None,
    *,
    speeds: check.Vector | None = None,
    counts: ArrayLike | None = None,
) -> Distribution: ...
@overload
def distribute(
    n: ArrayLike,
    cycle_times: Platform | ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> Distribution | DistributionStack: ...
def distribute(
    n: ArrayLike,
    cycle_times: Platform | ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    counts: ArrayLike | None = None,
) -> Distribution | DistributionStack:
    """Distribute n equal, independent chunks so that the last worker ends as early as possible.

    Parameters
    ----------
    n : int
        Number of chunks, 0 <= n <= 2**53. With a stack of cycle-times, also an integer array that
        broadcasts against (...).
    cycle_times : Platform, (p,) or (..., p) array_like
        Time per chunk of each worker, > 0. A worker with an infinite cycle-time gets nothing.
    speeds : (p,) or (..., p) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    counts : (p,) array_like of int, optional
        Chunks of each worker, n in all. They are certified as they are; the plan has method
        "given".

    Returns
    -------
    Distribution, or DistributionStack for cycle-times of more than one dimension
        Optimal, unless counts are given. Ties go to the lowest index.

    Raises
    ------
    ValueError, TypeError
        For NaN, zero or negative cycle-times, an empty platform, n outside its range, shapes that
        do not broadcast.

    Notes
    -----
    Algorithm 2 of Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 2.2, in O(p log p)
    for any n. The optimum is the n-th smallest element of the multiset {k t_i}. Comparisons are
    exact, so rounding cannot make the result second best.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.distribute(78, cycle_times=[3, 5, 8])
    >>> plan.counts.tolist(), plan.makespan, plan.optimal
    ([40, 24, 14], 120.0, True)
    >>> hs.distribute([78, 10], [[3, 5, 8], [8, 5, 3]]).counts.tolist()
    [[40, 24, 14], [2, 3, 5]]
    """
    check.amount_first("distribute", "n", n, cycle_times)
    times = check.cycle_times(cycle_times, speeds, stacked=True)
    if times.ndim > 1:
        if counts is not None:
            raise ValueError(
                f"counts are for cycle_times of one dimension, got shape {times.shape}"
            )
        return _distribute_stack(check.integers("n", n, low=0), times)
    chunks = check.integer("n", n, low=0)
    if counts is None:
        dealt, least = engine.distribute(chunks, times)
        proof: dict[str, Any] = {"makespan": least, "bound": least, "optimal": True}
    else:
        dealt = _given(counts, chunks, times)
        proof = engine.distribute_certificate(chunks, times, dealt)
    if proof["optimal"]:
        proof["scope"] = "all allocations"
    return trusted(
        Distribution,
        method="distribute" if counts is None else "given",
        **proof,
        counts=check.frozen(dealt),
        displs=later(lambda: displs_of(dealt)),
        cycle_times=check.frozen(times),
        **whose(cycle_times, len(times), lazily=True),
    )


def _given(counts: ArrayLike, n: int, times: NDArray[np.float64]) -> NDArray[np.int64]:
    """The given counts, if they deal n chunks to workers that can work."""
    given = check.integers("counts", counts, low=0).copy()
    if given.shape != times.shape:
        raise ValueError(
            f"counts must have {len(times)} entries, one for each worker, got shape {given.shape}"
        )
    if (total := sum(given.tolist())) != n:
        raise ValueError(f"counts must sum to n = {n}, got {total}")
    if (bad := (given > 0) & np.isinf(times)).any():
        raise ValueError(
            f"counts[{int(np.argmax(bad))}] must be 0: the worker has an infinite cycle-time"
        )
    return given


def _distribute_stack(n: NDArray[np.int64], times: NDArray[np.float64]) -> DistributionStack:
    try:
        shape = np.broadcast_shapes(n.shape, times.shape[:-1])
    except ValueError:
        raise ValueError(
            f"n of shape {n.shape} does not broadcast against cycle_times of shape {times.shape}"
        ) from None
    p = times.shape[-1]
    times = np.ascontiguousarray(np.broadcast_to(times, (*shape, p)))
    chunks = np.ascontiguousarray(np.broadcast_to(n, shape)).reshape(-1)
    counts, makespans = engine.distribute_batch(chunks, times.reshape(-1, p))
    counts = counts.reshape(times.shape)
    return DistributionStack(
        method="distribute",
        bound=float(makespans.max(initial=0.0)),
        optimal=True,
        scope="all allocations",
        counts=check.frozen(counts),
        displs=later(lambda: displs_of(counts)),
        makespan=check.frozen(makespans.reshape(shape)),
        cycle_times=check.frozen(times),
        **whose(None, p, lazily=True),
    )


def displs_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """First chunk of each worker along the last axis, read-only."""
    return check.frozen(np.cumsum(counts, axis=-1) - counts)
