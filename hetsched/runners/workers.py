"""The workers of a pool: their number and speeds, what this host can emulate, and what runs
record."""

from __future__ import annotations

import math
import os
import warnings
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._base.callers import stacklevel
from .._engine import run as engine
from .._engine.dtypes import DTYPES
from ..errors import EmulationWarning
from ..machine.blocks import everywhere, gangs
from ..machine.measure import MeasuredPlatform, rate, recent
from ..machine.spread import sites, spread
from ..machine.topology import topology
from ..planners.worth import worth_here
from ..platform import UNIT, Platform, Unit, names_of, relative_speeds
from ..trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from .._engine.kernels import Blocking
    from ..planners.factor import FactorPlan
    from ..planners.product import ProductPlan
    from ..planners.reduction import ReductionPlan
    from ..planners.stencil import StencilPlan

#: Shares of the host's measured rate that emulated workers may use: on one core, and in total.
_ONE_CORE, _ALL_CORES = 0.9, 0.8
_DOUBLE = np.dtype(np.float64)


def number_of(workers: Any) -> int:
    """A number of workers that is given in place of a Platform."""
    if isinstance(workers, list | tuple | np.ndarray):
        raise TypeError(
            "workers must be an integer or a Platform, such as Platform.star(cycle_times), got"
            f" {check.shown(workers)}"
        )
    return check.integer("workers", workers, low=1, high=4096)


class Workers:
    """The checked arguments of `Pool`, and the properties of its workers.

    Attributes
    ----------
    given : Platform or None
        The platform that `Pool` was given.
    measured : MeasuredPlatform or None
        What `measure` has found about these cpus, if no platform is given.
    cores : tuple of int or None
        The cpus that the workers are pinned to, if each core has one of them.
    sites : tuple of Site
        The cpus of each domain, if there are fewer workers than cores; otherwise ().
    site_of : tuple of int
        The sites where the workers of each domain start.
    domains : tuple of Blocking or None
        How the workers of each domain of this machine multiply. None if all workers form one gang.
    domain_of : tuple of int or None
        The domain of each worker.
    shares : dict
        dtype -> (p,) relative speeds, or None if they are equal.
    emulated : bool
    time_scale : float
        Real seconds per second of an emulated platform; 1 at real speed.
    deterministic : bool
        Nothing that changes how results are rounded may depend on the number of workers. None: by
        the environment.
    """

    def __init__(
        self,
        workers: int | Platform | None,
        emulate: bool,
        time_scale: float,
        deterministic: bool | None = None,
    ) -> None:
        if deterministic is None:
            deterministic = os.environ.get("HETSCHED_DETERMINISTIC", "0") not in ("", "0")
        self.deterministic = check.flag("deterministic", deterministic)
        self.time_scale = check.number("time_scale", time_scale, above=0.0)
        self.emulated = check.flag("emulate", emulate)
        if not self.emulated and self.time_scale != 1.0:
            raise ValueError("time_scale is for emulate=True")
        host = topology()
        self._possible: set[np.dtype[Any]] = set()
        self.given: Platform | None = None
        self.measured: MeasuredPlatform | None = None
        if isinstance(workers, Platform):
            self.given = workers
            self._size = len(workers)
        else:
            found = recent(host)
            self._size = worth_here(found, host.worth) if workers is None else number_of(workers)
            if (
                found is not None
                and len(found) == self._size
                and found.cpus == host.places[: self._size]
            ):
                self.measured = found
        if self.emulated:
            if self.given is None:
                raise ValueError("emulate=True needs a Platform: it says how fast each worker is")
            if self._runs_products(self.given):  # else it is checked when a plan is run
                self.require_products(np.dtype(np.float32))
        placed = not self.emulated and self._size <= len(host.places)
        spreads = placed and self._size < len(host.groups())
        self.cores = None if self.emulated or spreads else host.pins(self._size)
        self.sites = sites(host) if spreads else ()
        members: tuple[int, ...] = ()
        if placed:
            members = spread(host, self._size) if spreads else host.members(self._size)
        self._members = members if len(host.domains) > 1 else ()
        self.site_of = tuple(sorted(set(members))) if spreads else ()
        self.domains: tuple[Blocking, ...] | None = None
        self.domain_of: tuple[int, ...] | None = None
        if placed:
            self.domains, self.domain_of = gangs(host, members, self.given)
        elif (blocks := everywhere(host)) is not None:
            self.domains, self.domain_of = (blocks,), (0,) * self._size
        self.shares: dict[Any, NDArray[np.float64] | None] = {}
        for kind in DTYPES:
            if self.given is not None:
                self.shares[kind] = self.given.speeds if np.ptp(self.given.speeds) > 0 else None
            else:
                self.shares[kind] = None if self.measured is None else self.measured.relative(kind)

    def resized(self, size: int) -> Workers:
        """The workers for the cpus that there are now, `size` of them.

        Workers of a platform keep their number. Emulated workers stay the same.
        """
        if self.emulated:
            return self
        return Workers(size if self.given is None else self.given, False, 1.0, self.deterministic)

    def __len__(self) -> int:
        return self._size

    @property
    def names(self) -> tuple[str, ...]:
        return names_of(self.given, self._size)

    @property
    def platform(self) -> Platform:
        """`Pool.platform`."""
        return self.platform_for(_DOUBLE) if self.given is None else self.given

    @staticmethod
    def _runs_products(given: Platform) -> bool:
        """Whether the numbers are per gigaflop, or can be converted.

        A platform without a unit and without memory limits is taken to be per gigaflop. One with a
        memory limit may be meant for plans of blocks.
        """
        if given.unit is None:
            return all(m is None for m in given.memory)
        return given.unit.flops is not None and given.unit.bytes is not None

    @cached_property
    def _converted(self) -> Platform:
        assert self.given is not None
        return self.given.per(Unit.gigaflop(), "a run in flops")

    @property
    def in_gigaflops(self) -> Platform:
        """The platform in seconds per gigaflop and per gigabyte."""
        return self.platform_for(_DOUBLE)

    def platform_for(self, dtype: np.dtype[Any]) -> Platform:
        """The same for a given dtype."""
        if self.given is not None:
            return self._converted
        if self.measured is not None and dtype.name in self.measured.at_once:
            return self.measured.platform(dtype)
        return _equal_workers(self._size, dtype, self._members)

    def require_as_many(self, names: Sequence[str], what: str = "plan is") -> None:
        """Refuse a plan if it is for another number of workers."""
        if len(names) != self._size:
            raise ValueError(f"{what} for {len(names)} workers, the pool has {self._size}")

    def require_profiles(self, profiles: Sequence[Any] | None) -> None:
        """Refuse profiles for emulated workers, which have one speed each."""
        if profiles is not None and self.emulated:
            raise ValueError(
                "profiles are for real workers: plan without the pool, and emulate"
                " Platform.star(plan.cycle_times)"
            )

    # ---- what the host can emulate ----

    def require_products(self, dtype: np.dtype[Any]) -> None:
        """Refuse workers if this host cannot emulate their products of this dtype, all at once.

        It checks each dtype only once, because reading the properties of the host takes as long as
        a small run. If the host changes later, runs report that they were late.
        """
        if dtype not in self._possible:
            self.require_capacity(self.in_gigaflops.speeds, _rate(dtype), str(dtype))
            self._possible.add(dtype)

    def require_capacity(self, speeds: NDArray[np.float64], rate: float, what: str) -> None:
        """Refuse workers that this host cannot emulate.

        speeds are in gigaflops per second of the platform. rate is in flops per second of a core of
        this host.
        """
        wanted = speeds / self.time_scale
        one = rate / UNIT
        host = topology()
        own = max(1, host.cpus - len(host.absent))
        cores = min(float(host.worth), float(own), math.inf if host.quota is None else host.quota)
        excess = max(
            float(wanted.max()) / (_ONE_CORE * one),
            float(wanted.sum()) / (_ALL_CORES * one * cores),
        )
        if excess > 1.0:
            raise ValueError(
                f"platform is too fast for this host: its workers do {wanted.sum():.4g} GFLOP/s"
                f" together and up to {wanted.max():.4g} alone, the host can emulate"
                f" {_ALL_CORES * one * cores:.4g} and {_ONE_CORE * one:.4g} ({what}, {cores:g}"
                f" core{'s' * (cores != 1)}); {self._sufficient(excess)}"
            )

    def require_links(self, wanted: NDArray[np.float64], copied: float) -> None:
        """Refuse links that are faster than this host copies; both in bytes per second."""
        excess = float(wanted.max()) / (_ONE_CORE * copied)
        if excess > 1.0:
            raise ValueError(
                "platform's links are too fast for this host: they carry up to"
                f" {wanted.max() / UNIT:.4g} GB/s, the host can emulate"
                f" {_ONE_CORE * copied / UNIT:.4g}; {self._sufficient(excess)}"
            )

    def _sufficient(self, excess: float) -> str:
        return f"time_scale={float(f'{1.1 * excess * self.time_scale:.2g}'):g} would do"

    # ---- what runs record ----

    @property
    def kind(self) -> str:
        """The kind of traces."""
        return "emulated" if self.emulated else "real"

    def trace(
        self,
        plan: ProductPlan | FactorPlan | ReductionPlan | StencilPlan,
        result: engine.RunResult,
        label: Callable[[int, str, int], str],
        ideal: float,
        finish: Iterable[float],
    ) -> Trace:
        """The trace of a run, with the predictions of the plan.

        label names the box of a worker's event of a kind. ideal (the work divided perfectly) and
        finish (the ends of the workers) are in the plan's unit.
        """
        return Trace.from_steps(
            (
                (worker, kind, start, end, label(worker, kind, box))
                for worker, kind, start, end, box in result.events
            ),
            plan.names,
            kind=self.kind,
            speeds=relative_speeds(plan.cycle_times).tolist(),
            predicted=plan.makespan * self.time_scale,
            ideal=ideal * self.time_scale,
            cpu=result.busy,
            predicted_finish=[t * self.time_scale for t in finish],
        )

    def warn_if_late(self, late: list[float], names: Sequence[str], makespan: float) -> None:
        """Warn if an emulated run took longer than it should, and name the worker, the port or the
        master that was late.

        late has the workers' times, followed by the port's if there is a port, and by the time of
        the master's own work if it has any.
        """
        if self.emulated and max(late) > max(0.01 * makespan, 0.005):
            i = int(np.argmax(late))
            others = ("the master's port", "the master")
            who = f"worker {names[i]}" if i < len(names) else others[i - len(names)]
            warnings.warn(
                f"the host could not keep up: {who} was {max(late):.3g} s late;"
                " use a larger time_scale",
                EmulationWarning,
                stacklevel=stacklevel(),
            )


class Resources(NamedTuple):
    """What a run needs of a pool: the engine's threads, and what is known of its workers."""

    threads: engine.Threads
    workers: Workers


@cache
def _rate(dtype: np.dtype[Any]) -> float:
    """Flops per second of one core, measured once per process."""
    return rate(dtype)


@cache
def _equal_workers(p: int, dtype: np.dtype[Any], domains: tuple[int, ...]) -> Platform:
    return Platform.star([UNIT / _rate(dtype)] * p, domains=domains or None)


@cache
def here() -> int:
    """How many workers the shared pool has or will have without a limit. No thread is started."""
    return len(Workers(None, False, 1.0))
