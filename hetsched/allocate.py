"""Who gets how many: one-dimensional allocation of equal, independent chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check, _engine
from .plan import Plan, Step, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .platform import Platform


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Distribution(Plan):
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
    names : tuple of str
        The platform's, or P0, P1, ...
    """

    counts: NDArray[np.int64]
    displs: NDArray[np.int64]
    makespan: float
    cycle_times: NDArray[np.float64]
    names: tuple[str, ...]

    _value: ClassVar[str] = "makespan"

    @property
    def worker_names(self) -> tuple[str, ...]:
        return self.names

    def steps(self) -> list[Step]:
        return [
            Step(i, "compute", 0.0, float(count * time), f"{count} chunks")
            for i, (count, time) in enumerate(zip(self.counts.tolist(), self.cycle_times.tolist(), strict=True))
            if count
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        from .plot import plot_distribution

        return plot_distribution(self, ax)


def distribute(n: int, cycle_times: Platform | ArrayLike | None = None, *, speeds: ArrayLike | None = None) -> Distribution:
    """Distribute n equal, independent chunks so that the last worker ends as early as possible.

    Parameters
    ----------
    n : int
        Number of chunks, 0 <= n <= 2**53.
    cycle_times : Platform or (p,) array_like
        Time per chunk of each worker, > 0. A worker with an infinite cycle-time gets nothing.
    speeds : (p,) array_like, optional
        1 / cycle_times, instead of them; 0 is allowed.

    Returns
    -------
    Distribution
        Always optimal; ties go to the lowest index.

    Raises
    ------
    ValueError, TypeError
        For NaN, zero or negative cycle-times, an empty platform, n outside its range.

    Notes
    -----
    Algorithm 2 of Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 2.2, in O(p log p) whatever n. The optimum is
    the n-th smallest element of the multiset {k t_i}; comparisons are exact, so rounding cannot make it second best.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.distribute(78, [3, 5, 8])
    >>> plan.counts.tolist(), plan.makespan, plan.optimal
    ([40, 24, 14], 120.0, True)
    """
    n = _check.integer("n", n, low=0)
    times = _check.cycle_times(cycle_times, speeds)
    counts, makespan = _engine.distribute(n, times)
    displs = np.concatenate(([0], np.cumsum(counts[:-1])))
    return Distribution(
        method="distribute",
        lower_bound=makespan,
        optimal=True,
        scope="all allocations",
        counts=_check.frozen(counts),
        displs=_check.frozen(displs),
        makespan=makespan,
        cycle_times=_check.frozen(times),
        names=names_of(cycle_times, len(times)),
    )
