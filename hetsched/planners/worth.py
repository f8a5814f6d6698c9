"""How many workers are worth using: the predicted time of a product against their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._base import check, schema
from .._engine.dtypes import DTYPES, flops_per_update
from ..machine.measure import MeasuredPlatform, main_dtype, rate, recent
from ..machine.topology import count_of, topology
from ..plan import Plan, Step, certified
from ..platform import UNIT, Platform, Unit, as_platform, relative_speeds, whose
from .product_methods import plan_boxes

#: Fewer workers are preferred if they are at most this much slower than the fastest number of them.
_TOLERANCE = 0.02


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WorkersWorth(Plan):
    """Predicted times of a product with 1, 2, ... workers, and how many are worth it.

    Attributes
    ----------
    workers : int
        The smallest number with a predicted time within 2 % of the least; it may be 1.
    enrolled : tuple of int
        These workers: the fastest ones, with their links counted.
    times, bounds : (p,) float64 array
        Predicted seconds with 1, 2, ... workers, and lower bounds on these times.
    makespan : float
        The predicted time with that number of workers.
    shape : (int, int, int)
        m, n, k.
    quota : float or None
        Time that all workers together may use, in CPUs.
    dtype : str
    cycle_times : (p,) float64 array
        Seconds per gigaflop of each worker that runs alone.
    """

    workers: int
    enrolled: tuple[int, ...]
    times: NDArray[np.float64]
    bounds: NDArray[np.float64]
    makespan: float
    shape: tuple[int, int, int]
    quota: float | None
    dtype: str
    cycle_times: NDArray[np.float64]

    _scale: ClassVar[str] = "platform and quota"
    _table: ClassVar = {
        "workers": schema.Count(1),
        "enrolled": schema.Tuple(schema.Integer(0, "p - 1"), "workers"),
        "times": schema.EACH,
        "bounds": schema.EACH,
        "makespan": schema.Real(),
        "shape": schema.Sizes("m", "n", "k"),
        "quota": schema.Maybe(schema.Real(schema.LEAST)),
        "dtype": schema.Text(*(dtype.name for dtype in DTYPES)),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        if len(set(self.enrolled)) < len(self.enrolled):
            raise ValueError(f"enrolled must have each worker once, got {self.enrolled}")
        enrolled = np.isin(np.arange(len(self.names)), self.enrolled)
        schema.require_able("enrolled", enrolled, self.cycle_times)

    def _on(self, platform: Platform) -> Plan:
        """The same workers are enrolled, and come first in `times` and `bounds`.

        The other workers follow in the order in which they are worth it on the platform.
        """
        return _plan(self.shape, platform, np.dtype(self.dtype), self.quota, self.enrolled)

    def _load(self) -> Any:
        """Gigaflops of each worker, divided perfectly over the speeds of the enrolled workers."""
        m, n, k = self.shape
        speeds = np.zeros(len(self.names))
        speeds[list(self.enrolled)] = relative_speeds(self.cycle_times[list(self.enrolled)])
        return flops_per_update(np.dtype(self.dtype)) * m * n * k / UNIT * (speeds / speeds.sum())

    def _busy(self) -> NDArray[np.float64]:
        return np.where(self.load > 0, self.makespan, 0.0)

    def steps(self) -> list[Step]:
        return [
            Step(i, "compute", 0.0, self.makespan, "shared tiles")
            for i in sorted(self.enrolled)
            if self.makespan > 0
        ]

    def describe(self) -> str:
        """Text such as "2 workers for a 9 x 9 x 9 product: 1.2 s with 1, 0.65 s with 2 (lower bound
        0.6 s)"."""
        m, n, k = self.shape
        alone, best = f"{self.times[0]:.3g} s with 1", f"{self.makespan:.3g} s with {self.workers}"
        text = alone if self.workers == 1 else f"{alone}, {best}"
        if self.workers < len(self.times):
            text += f", {self.times[-1]:.3g} s with {len(self.times)}"
        under = "" if self.quota is None else f" under a quota of {self.quota:g} cpus"
        return (
            f"{count_of(self.workers, 'worker')} for a {m} x {n} x {k} product{under}:"
            f" {text} (lower bound {self.lower_bound:.3g} s)"
        )


def workers_worth(
    m: int | Sequence[int],
    n: int | Sequence[int],
    k: int | Platform | ArrayLike | None = None,
    platform: Platform | ArrayLike | None = None,
    *,
    dtype: DTypeLike = np.float64,
    quota: float | None = None,
) -> WorkersWorth:
    """Predict how many workers are worth it for a product C (m x n) = A (m x k) B (k x n).

    The result has the predicted time of each number of workers.

    Parameters
    ----------
    m, n, k : int
        Sizes in elements, >= 0. In place of the three, the shapes of A and B.
    platform : Platform or (p,) array_like, optional
        Cycle-times in seconds per gigaflop, link costs in seconds per gigabyte. Default: this
        machine, as `measure` stored it in the cache. Without a stored measurement, equal workers
        with a speed that is measured in a few milliseconds.
    dtype : dtype_like
    quota : float, optional
        Time that all workers together get, in CPUs, for example from a control group. Default: the
        machine's own quota for this machine, otherwise none.

    Returns
    -------
    WorkersWorth
        lower_bound is the work divided perfectly over all workers, each as fast as when it runs
        alone, within the quota.

    Notes
    -----
    The first p workers are the ones that would need the least time for the whole product alone.
    Without links, p of them need start + work / min(sum of speeds, quota x their mean speed). The
    speeds of a measured platform go linearly from the speed of one worker at a time to the speed of
    all at once, without what other programs took of the cores. `start` is the cost of sharing a
    product. With links, the time is the better of two plans, slices of rows or of columns, each for
    exactly these workers.

    Examples
    --------
    Two computers behind a slow network are slower than one:

    >>> import hetsched as hs
    >>> far = hs.Platform.star([0.02, 0.02], link_costs=[0, 10])
    >>> hs.workers_worth(1000, 1000, 1000, far).workers
    1
    >>> even = hs.Platform.star([0.02] * 4)
    >>> [hs.workers_worth(1000, 1000, 1000, even, quota=q).workers for q in (0.5, 1, 1.5, 4)]
    [1, 1, 2, 4]
    """
    if platform is None and isinstance(m, Sequence) or isinstance(k, Platform):  # two shapes
        k, platform = None, k
    m, n, k = check.product_sizes(m, n, k)
    kind = check.dtype(dtype, DTYPES)
    if quota is not None:
        quota = check.number("quota", quota, above=0.0)
    if platform is None:
        host = topology()
        quota = host.quota if quota is None else quota
        platform = recent(host)
        if platform is None or kind.name not in platform.at_once:
            platform = Platform.star([UNIT / rate(kind)] * host.worth)
    else:
        platform = as_platform("platform", platform)
    return _plan((m, n, k), platform, kind, quota, None)


def _plan(
    shape: tuple[int, int, int],
    platform: Platform,
    kind: np.dtype[Any],
    quota: float | None,
    given: tuple[int, ...] | None,
) -> WorkersWorth:
    """The plan, or the plan that enrols the given workers."""
    m, n, k = shape
    start = 0.0
    if not isinstance(platform, MeasuredPlatform):
        platform = platform.per(Unit.gigaflop(), "workers_worth")
    if isinstance(platform, MeasuredPlatform):
        start = platform.start
        quota = platform.quota if quota is None else quota
    flops = flops_per_update(kind)
    work = flops * m * n * k / UNIT
    alone, crowded = _speeds(platform, kind)
    p = len(alone)
    order = _enrolment(-alone, given)
    with np.errstate(over="ignore"):  # an overflowing speed takes no time
        if platform.link_costs.any():
            order, times, bounds = _linked(m, n, k, platform, kind, given)
            if quota is not None:
                times = np.maximum(times, work / (quota * alone.max()))
        else:
            lone, full = alone[order], crowded[order]
            times, bounds = np.empty(p), np.empty(p)
            for i in range(1, p + 1):
                speeds = lone[:i] + (full[:i] - lone[:i]) * ((i - 1) / max(1, p - 1))
                total = speeds.sum() if quota is None else min(speeds.sum(), quota * speeds.mean())
                times[i - 1] = (start if i > 1 else 0.0) + (work / total if work else 0.0)
                bounds[i - 1] = work / lone[:i].sum()
        if quota is not None:
            bounds = np.maximum(bounds, work / (quota * alone.max()))
        bounds = np.minimum(bounds, times)
    if given is None:
        workers = int(np.argmax(times <= (1 + _TOLERANCE) * times.min())) + 1
    else:
        workers = len(given)
    makespan = float(times[workers - 1])
    return WorkersWorth(
        method="workers_worth" if given is None else "given",
        **certified(float(bounds.min()), makespan=makespan),
        workers=workers,
        enrolled=tuple(order[:workers].tolist()),
        times=check.frozen(times),
        bounds=check.frozen(bounds),
        shape=shape,
        quota=quota,
        dtype=kind.name,
        cycle_times=check.frozen(1.0 / alone),
        **whose(platform, p),
    )


def _speeds(
    platform: Platform, dtype: np.dtype[np.generic]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """GFLOP/s of each worker alone, and among all workers while it has its core.

    Both are without quotas and other programs.
    """
    if isinstance(platform, MeasuredPlatform):
        if dtype.name not in platform.at_once:
            raise ValueError(
                f"dtype {dtype.name} was not measured, only {', '.join(platform.at_once)}"
            )
        once = platform.at_once[dtype.name]
        return np.maximum(once.alone, once.own), once.own
    speeds = platform.speeds
    if not np.isfinite(speeds).all():
        raise ValueError("platform has a cycle-time too small for this: its speed overflows")
    return speeds, speeds


def _enrolment(times: NDArray[np.float64], given: tuple[int, ...] | None) -> NDArray[np.int64]:
    """The workers sorted by their time for everything, after the given workers."""
    order = np.argsort(times, kind="stable")
    return (
        order
        if given is None
        else np.concatenate((np.array(given, np.int64), order[~np.isin(order, given)]))
    )


def _linked(
    m: int,
    n: int,
    k: int,
    platform: Platform,
    dtype: np.dtype[np.generic],
    given: tuple[int, ...] | None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Order of enrolment, and times and bounds by plans for the first 1, 2, ... workers."""
    options = {"itemsize": dtype.itemsize, "flops_per_update": flops_per_update(dtype)}

    def plan(chosen: list[int]) -> tuple[float, float]:
        part = Platform(platform.workers[i] for i in chosen)
        plans = [
            plan_boxes(m, n, k, part, method=method, **options)  # type: ignore[arg-type]
            for method in ("columns", "rows")
        ]
        best = min(plans, key=lambda found: found.makespan)
        return best.makespan, best.lower_bound

    order = _enrolment(np.array([plan([i])[0] for i in range(len(platform))]), given)
    pairs = [plan(order[: i + 1].tolist()) for i in range(len(platform))]
    times, bounds = map(np.array, zip(*pairs, strict=True))
    return order, times, bounds


def worth_here(found: MeasuredPlatform | None, otherwise: int) -> int:
    """Number of workers of the default pool.

    With a measurement, it is the number worth it for a large product. Without one it is
    `otherwise`, the number that `topology` gives.
    """
    if found is None:
        return otherwise
    return workers_worth(4000, 4000, 4000, found, dtype=main_dtype(found.at_once)).workers
