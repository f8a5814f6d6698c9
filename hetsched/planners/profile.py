"""Numbers of chunks if time is not proportional to them: speeds that depend on the size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine import allocate as engine
from ..errors import InfeasibleError
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose
from .distribute import displs_of, distribute

Profile = float | ArrayLike | tuple[ArrayLike, ArrayLike] | Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProfileDistribution(Plan):
    """Counts of chunks per worker, planned with profiles.

    Attributes
    ----------
    counts : (p,) int64 array
        Chunks of each worker; they sum to n.
    displs : (p,) int64 array
        First chunk of each worker, if the chunks are dealt in worker order.
    times : (p,) float64 array
        Time of each worker for its chunks; 0 without chunks.
    makespan : float
        Largest of the times.
    """

    counts: NDArray[np.int64]
    displs: NDArray[np.int64]
    times: NDArray[np.float64]
    makespan: float

    _table: ClassVar = {
        "counts": schema.Array("i8", "p", high=schema.COUNT),
        "displs": schema.Array("i8", "p", high=schema.COUNT),
        "times": schema.EACH,
        "makespan": schema.Real(),
    }

    def _check(self) -> None:
        schema.require_dealt("counts", self.counts, displs=self.displs)
        schema.require_close("makespan", self.makespan, float(self.times.max()))
        if ((self.times > 0) != (self.counts > 0)).any():
            raise ValueError(
                "times must be positive for the workers with chunks, and 0 for the other workers"
            )

    @cached_property
    def cycle_times(self) -> NDArray[np.float64]:
        """(p,) mean time per chunk at these counts; infinite for a worker without chunks.

        If no worker has chunks, it is 1 for all workers.
        """
        if not self.counts.any():
            return check.frozen(np.ones(len(self.counts)))
        with np.errstate(over="ignore"):
            mean = np.maximum(self.times / np.maximum(self.counts, 1), schema.LEAST)
            return check.frozen(np.where(self.counts > 0, mean, np.inf))

    def _on(self, platform: Platform) -> Plan:
        """The same counts, with times proportional to them.

        As in `distribute_profile`, a Platform stands for constant times per chunk. The bound
        ignores min_chunk and memory, which the plan does not record.
        """
        times = np.where(self.counts > 0, self.counts * platform.cycle_times, 0.0)
        proof = distribute(int(self.counts.sum()), platform, counts=self.counts)
        return self._carried(platform, proof.makespan, proof.bound, times=check.frozen(times))

    def _steps(self, finish: Finish) -> list[Step]:
        pairs = zip(self.counts.tolist(), self.times.tolist(), strict=True)
        return [
            Step(i, "compute", 0.0, finish(i, 0.0, time), f"{count} chunks")
            for i, (count, time) in enumerate(pairs)
            if count
        ]


def distribute_profile(
    n: int,
    profiles: Platform | Sequence[Profile],
    *,
    min_chunk: ArrayLike = 0,
    memory: int | Sequence[int | None] | None = None,
) -> ProfileDistribution:
    """Distribute n chunks so that the last worker ends as early as possible, for any dependence of
    time on size.

    Parameters
    ----------
    n : int
        Number of chunks.
    profiles : Platform or sequence of p profiles
        The time of each worker for x chunks. Times are positive. They may fall as x rises, as
        measured times do. No chunks take no time, whatever the profile says. A profile is one of

        - a number: time per chunk, for any x;
        - a 1-D array: the times for x = 0, 1, 2, ...; this worker cannot do x chunks if the array
          has no entry x, or an infinite one;
        - a pair (sizes, times) of measured points, sizes increasing: time is linear between two
          points. Outside the points the speed is the one at the nearest point, so time is
          proportional to x;
        - a function time(x). It is called once with the int64 array 1 .. end, where end is n or
          the worker's limit in `memory`. If that fails or does not give `end` values, it is called
          for each x.
    min_chunk : int or (p,) array_like
        A worker gets nothing or at least this many chunks.
    memory : int or sequence of (int or None), optional
        A worker gets at most this many chunks; None is no limit.

    Returns
    -------
    ProfileDistribution
        Always optimal. Ties are decided from the last worker to the first: each gets as many chunks
        as it can do in less than the makespan, if the other workers can do the rest, and otherwise
        as many as it can do in exactly that time. For constant times these are the counts of
        `distribute`, up to the rounding of time * x.

    Raises
    ------
    ValueError, TypeError
        For NaN, zero or negative times, sizes that do not increase, limits that are not integers.
    InfeasibleError
        If no allowed counts sum to n.

    Notes
    -----
    Bisection over all times that occur. A makespan T is feasible if n is a sum of one element of
    each set {0} and {x : time_i(x) <= T}, which bitsets decide exactly. The table of times takes
    8 p (n + 1) bytes.

    Examples
    --------
    A GPU that is slow for few chunks and out of memory above 60, and two cores:

    >>> import hetsched as hs
    >>> gpu = ([1, 10, 60], [8, 10, 30])
    >>> plan = hs.distribute_profile(80, [gpu, 3, 4], memory=[60, None, None])
    >>> plan.counts.tolist(), plan.makespan
    ([60, 12, 8], 36.0)
    """
    n = check.integer("n", n, low=0)
    rows = rows_of(profiles)
    p = len(rows)
    least = limits_of("min_chunk", min_chunk, p)
    most = limits_of("memory", n if memory is None else memory, p, none=n)
    table = np.full((p, n + 1), np.inf)
    for i, profile in enumerate(rows):
        end = min(n, int(most[i]))
        times = _times(f"profiles[{i}]", profile, end)
        table[i, 1 : len(times) + 1] = times
        table[i, 1 : min(int(least[i]), n + 1)] = np.inf
    try:
        counts, makespan = engine.distribute_profile(n, table)
    except InfeasibleError:
        finite = np.isfinite(table[:, 1:])
        room = int(np.where(finite.any(1), n - np.argmax(finite[:, ::-1], axis=1), 0).sum())
        reason = (
            f"profiles, min_chunk and memory allow {room} at most"
            if room < n
            else "no counts that profiles, min_chunk and memory allow sum to it"
        )
        raise InfeasibleError(f"n = {n} chunks cannot be distributed: {reason}") from None
    times = np.where(counts > 0, table[np.arange(p), counts], 0.0)
    return trusted(
        ProfileDistribution,
        method="distribute_profile",
        bound=makespan,
        optimal=True,
        scope="all allocations",
        counts=check.frozen(counts),
        displs=displs_of(counts),
        times=check.frozen(times),
        makespan=makespan,
        **whose(profiles, p),
    )


def rows_of(profiles: Platform | Sequence[Any]) -> list[Any]:
    given: Any = getattr(profiles, "cycle_times", profiles)
    if isinstance(given, str | bytes | dict) or callable(given):
        raise TypeError(
            f"profiles must be a sequence with one profile per worker, got {type(given).__name__}"
        )
    try:
        rows = list(given)
    except TypeError:
        raise TypeError(
            f"profiles must be a sequence with one profile per worker, got {given!r}"
        ) from None
    if not rows:
        raise ValueError("profiles is empty: at least one worker is needed")
    return rows


def limits_of(name: str, values: Any, p: int, none: int | None = None) -> NDArray[np.int64]:
    """(p,) integers >= 0; `none` replaces None if None is allowed."""
    if none is not None and isinstance(values, list | tuple):
        values = [none if value is None else value for value in values]
    array = check.integers(name, values, low=0)
    if array.ndim > 1 or array.shape not in ((), (p,)):
        raise ValueError(
            f"{name} must be an integer or one for each of the {p} workers, got shape {array.shape}"
        )
    return np.broadcast_to(array, (p,))


def _times(name: str, profile: Any, end: int) -> NDArray[np.float64]:
    """The times of 1, 2, ... chunks, up to `end` or to the end of the table."""
    if callable(profile):
        return positive_times(name, _called(name, profile, end))
    sized = isinstance(profile, list | tuple) or (
        isinstance(profile, np.ndarray) and profile.ndim > 0
    )
    if sized and len(profile) == 2 and all(map(is_row, profile)):
        sizes, times = (check.vector(f"{name}[{k}]", part) for k, part in enumerate(profile))
        return positive_times(name, _interpolated(name, sizes, times, end))
    array = check.reals(
        f"{name} must be a number, a table, a pair (sizes, times) or a function, got {profile!r}",
        profile,
    )
    if array.ndim == 0:
        with np.errstate(over="ignore"):  # so many chunks are impossible
            return positive_times(name, np.full(1, array)) * np.arange(1, end + 1)
    if array.ndim > 1:
        raise ValueError(
            f"{name} must be a number, a 1-D table or a pair (sizes, times), got shape"
            f" {array.shape}"
        )
    return positive_times(name, array[1 : end + 1])


def is_row(part: Any) -> bool:
    if isinstance(part, list | tuple):
        return not any(isinstance(x, list | tuple) or getattr(x, "ndim", 0) for x in part)
    return np.ndim(part) == 1


def _called(name: str, time: Callable[[Any], Any], end: int) -> NDArray[np.float64]:
    message = f"{name} must return real numbers"
    sizes = np.arange(1, end + 1)
    try:
        values = check.reals(message, time(sizes))
    except Exception:  # the function does not take arrays
        values = np.empty(0)
    if values.shape != sizes.shape:
        values = check.reals(message, [time(x) for x in range(1, end + 1)])
    if values.shape != sizes.shape:
        raise TypeError(message)
    return values


def _interpolated(
    name: str, sizes: NDArray[np.float64], times: NDArray[np.float64], end: int
) -> NDArray[np.float64]:
    if sizes.shape != times.shape:
        raise ValueError(
            f"{name} must have as many sizes as times, got {len(sizes)} and {len(times)}"
        )
    if not (
        np.isfinite(sizes).all() and (np.diff(sizes) > 0).all() and sizes[0] >= 0 and sizes[-1] > 0
    ):
        raise ValueError(
            f"{name}: sizes must be finite, increasing and not negative, got {sizes.tolist()}"
        )
    if not (np.isfinite(times) & ((times > 0) | (sizes == 0) & (times == 0))).all():
        raise ValueError(f"{name}: times must be finite and positive, got {times.tolist()}")
    x = np.arange(1, end + 1)
    with np.errstate(over="ignore"):
        values = np.interp(x, sizes, times)
        for side, point in ((x < sizes[0], 0), (x > sizes[-1], -1)):
            values[side] = times[point] * (x[side] / sizes[point])
    return values


def positive_times(name: str, times: NDArray[np.float64]) -> NDArray[np.float64]:
    bad = ~(times > 0)
    if bad.any():
        x = int(np.argmax(bad)) + 1
        raise ValueError(
            f"{name}: the time of {x} chunk{'s' * (x != 1)} must be positive, got {times[x - 1]:g}"
        )
    return times
