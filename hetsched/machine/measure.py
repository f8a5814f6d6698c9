"""Measures the speed of this machine's cores.

The results are speed profiles by kernel, dtype and size with one core at a time, and the speeds of
large products on all cores at once.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._base import check
from .._base.drawn import Drawn
from .._base.frozen import Frozen
from .._base.table import table
from .._engine import run
from .._engine.dtypes import DTYPES, flops_per_update
from .._engine.run import seconds
from ..platform import UNIT, Platform, Unit, Worker
from . import blocks as block_sizes
from . import linux
from .blocks import MeasuredBlocks
from .kept import header, keep, kept_record
from .topology import Topology, topology

KERNELS = tuple(run.MEASURED)
#: Default sizes: the side for gemm, the rows for panel, the columns for trsm.
_SIZES = {"gemm": (64, 128, 256, 512, 768), "panel": (128, 512, 2048), "trsm": (64, 256, 1024)}
_KIND = "measure"  # of kept records
_ROUNDS = 3  # a burst of noise affects only one of them
_AT_ONCE = 0.25  # fraction of the time spent on all cores at once
_LONGER = 20.0  # the search for blocks takes up to this many times as long, per kind of domain
_PERIODS = 0.3  # seconds: three usual periods of a quota
_FEW = 8  # up to this many workers are measured one by one, even if their types are equal
_WEEK = 7 * 86400.0
_BRIEFLY = 3600.0  # seconds for which a disturbed measurement is used
_OWN = 0.9  # a worker with at least this fraction of its core counts as alone on it
#: Speeds count as equal if the highest is at most this fraction above the lowest.
_EVEN = 0.05
_UNSTEADY = 0.5  # a larger spread is warned of


@dataclass(frozen=True, eq=False)
class SpeedProfile(Frozen):
    """The speed of one worker in one kernel and dtype.

    It holds while no other worker runs and no other program uses the worker's core.

    Attributes
    ----------
    worker : int
    kernel : {"gemm", "panel", "trsm"}
        A square product; the panel of an LU factorisation, with as many columns as `lu_factor`
        would choose; the triangular solve with the square part of such a panel.
    dtype : str
    sizes : (k,) int64 array
        The side for gemm, the rows for panel, the columns for trsm.
    flops : (k,) float64 array
        Flops of one repetition.
    gflops : (k,) float64 array
        Median of the repetitions, without outliers.
    spread : (k,) float64 array
        Half of the interquartile range of the repetitions, relative to the median.
    """

    worker: int
    kernel: str
    dtype: str
    sizes: NDArray[np.int64]
    flops: NDArray[np.float64]
    gflops: NDArray[np.float64]
    spread: NDArray[np.float64]

    @property
    def seconds(self) -> NDArray[np.float64]:
        """(k,) seconds of one repetition."""
        times: NDArray[np.float64] = self.flops / (self.gflops * UNIT)
        return times

    def at(self, sizes: ArrayLike) -> NDArray[np.float64]:
        """GFLOP/s at other sizes.

        The speed is interpolated linearly between measured sizes. Outside their range it is the
        speed at the nearest size.

        Parameters
        ----------
        sizes : array_like
            Same meaning as the profile's `sizes`.
        """
        return np.interp(
            check.reals(f"sizes must be numbers, got {sizes!r}", sizes), self.sizes, self.gflops
        )


@dataclass(frozen=True, eq=False)
class AtOnce(Frozen):
    """Speeds while all workers compute large products at once, each its own product, in one dtype.

    Attributes
    ----------
    dtype : str
    size : int
        Side of the products.
    gflops : (p,) float64 array
        Speed of each worker over the whole time. Time in which other programs used its core lowers
        it.
    alone : (p,) float64 array
        Speed of each worker while it ran alone and had its core, from the profiles.
    share : (p,) float64 array
        Fraction of the time in which each worker had its core. It is below 1 beside other programs,
        under a quota, and if a hypervisor steals time.
    """

    dtype: str
    size: int
    gflops: NDArray[np.float64]
    alone: NDArray[np.float64]
    share: NDArray[np.float64]

    @property
    def ratio(self) -> float:
        """Total speed of all workers at once, relative to one at a time.

        It shows the cost of sharing caches, memory, power and quota, and of other programs.
        """
        return float(self.gflops.sum() / self.alone.sum())

    @property
    def own(self) -> NDArray[np.float64]:
        """(p,) GFLOP/s of each worker while it had its core."""
        speeds: NDArray[np.float64] = self.gflops / self.share
        return speeds


class MeasuredPlatform(Platform, Drawn):
    """A Platform of this machine's cores, measured by `measure`.

    Its cycle-times are for large products in float64, or in the first measured dtype without
    float64, by all workers at once. Only the time in which a worker had its core counts, because
    other programs come and go. A quota stays. It slows all workers by the same factor.

    Attributes
    ----------
    profiles : dict
        (worker, kernel, dtype) -> SpeedProfile.
    at_once : dict
        dtype -> AtOnce.
    cpus : tuple of int or None
        Cpu that each worker was pinned to; None if it could not be pinned.
    start : float
        Overhead in seconds of a product that all workers share.
    quota : float or None
        CPU quota of the process, in cpus.
    stolen : (p,) float64 array
        Largest fraction of the time that a hypervisor stole from each core, alone or with all at
        once. 0 if the system does not report it.
    measured : float
        Time of the measurement, in seconds since 1970.
    took : float
        Duration of the measurement in seconds.
    notes : tuple of str
        What could not be done, and what disturbed the measurement.
    blocks : dict
        Domain of workers -> the Blocking that `measure(blocks=True)` found for it; empty without
        such a measurement. The key is None on a machine with a single domain, where workers name no
        domain.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        self.at_once = {
            name: AtOnce(
                name, int(x["size"]), *(_positive(x[key]) for key in ("gflops", "alone", "share"))
            )
            for name, x in record["at_once"].items()
        }
        self.profiles = {
            (int(x["worker"]), x["kernel"], x["dtype"]): SpeedProfile(
                int(x["worker"]),
                x["kernel"],
                x["dtype"],
                check.frozen(np.array(x["sizes"], np.int64)),
                _positive(x["flops"]),
                _positive(x["gflops"]),
                check.frozen(np.array(x["spread"], np.float64)),
            )
            for x in record["profiles"]
        }
        self.cpus = tuple(None if cpu is None else int(cpu) for cpu in record["cpus"])
        self.start = float(record["start"])
        self.measured = float(record["measured"])
        self.took = float(record["took"])
        self.quota = None if record["quota"] is None else float(record["quota"])
        self.stolen = check.frozen(np.array(record["stolen"], np.float64))
        self.notes = tuple(map(str, record["notes"]))
        self._record = record
        names = [_name(i, cpu) for i, cpu in enumerate(self.cpus)]
        main = self.at_once[main_dtype(self.at_once)]
        if any(
            len(x) != len(names)
            for once in self.at_once.values()
            for x in (once.gflops, once.alone, once.share)
        ):
            raise ValueError("a measurement needs one speed per worker")
        if self.stolen.shape != (len(names),) or not (np.abs(self.stolen - 0.5) <= 0.5).all():
            raise ValueError("a measurement needs the part that was stolen from each worker")
        for found in self.profiles.values():
            lengths = {len(x) for x in (found.sizes, found.flops, found.gflops, found.spread)}
            if not 0 <= found.worker < len(names) or len(lengths) != 1:
                raise ValueError("a profile needs a worker, and one speed per size")
        of = check.as_many("domains", record.get("domains") or [None] * len(names), len(names))
        workers = [
            Worker(speed=rate, name=name, domain=domain)
            for rate, name, domain in zip(self._rates(main).tolist(), names, of, strict=True)
        ]
        own = record.get("blocks")
        self._measured_blocks = None if own is None else MeasuredBlocks.of_record(own)
        sizes = {} if self._measured_blocks is None else self._measured_blocks.of
        blocks = {
            domain: sizes[0 if domain is None else domain] for domain in dict.fromkeys(of) if sizes
        }
        super().__init__(workers, unit=Unit.gigaflop(), nodes=record.get("nodes"), blocks=blocks)

    @property
    def age(self) -> float:
        """Seconds since the measurement."""
        return time.time() - self.measured

    @property
    def pinned(self) -> bool:
        """Whether every worker was pinned to a cpu of its own."""
        return None not in self.cpus

    @property
    def disturbed(self) -> bool:
        """Whether other programs or a hypervisor used more than a tenth of a core or of the quota.

        If so, the next `measure` measures anew.
        """
        shares = [once.share for once in self.at_once.values()]
        return _disturbance(shares, self.stolen, self.quota) is not None

    def profile(
        self, worker: int, kernel: str = "gemm", dtype: DTypeLike = np.float64
    ) -> SpeedProfile:
        """Return one of `profiles`; raise ValueError if it was not measured.

        Parameters
        ----------
        worker : int
        kernel : {"gemm", "panel", "trsm"}
        dtype : dtype_like
        """
        name = check.dtype(dtype, DTYPES).name
        worker = check.integer("worker", worker, low=0, high=len(self) - 1)
        found = self.profiles.get((worker, check.choice("kernel", kernel, KERNELS), name))
        if found is None:
            raise ValueError(f"kernel {kernel} in {name} of worker {worker} was not measured")
        return found

    def platform(self, dtype: DTypeLike = np.float64) -> Platform:
        """The workers with their cycle-times in another dtype, for which another split may be best.

        Parameters
        ----------
        dtype : dtype_like
        """
        star = Platform.star(
            speeds=self._rates(self._large(dtype)),
            names=list(self.names),
            unit=Unit.gigaflop(),
            domains=self.domains,
        )
        return Platform(star.workers, unit=star.unit, nodes=self.nodes, blocks=self.blocks)

    def chunk_profiles(
        self, flops: float, kernel: str = "gemm", dtype: DTypeLike = np.float64
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """(sizes, times) of each worker for `distribute_profile`, while all workers run.

        Sizes count chunks with the given number of flops. Times are in seconds.

        Parameters
        ----------
        flops : float
            Flops of one chunk.
        kernel : {"gemm", "panel", "trsm"}
        dtype : dtype_like
        """
        flops = check.number("flops", flops, above=0.0)
        factor = self._slowdown(dtype)
        found = [self.profile(i, kernel, dtype) for i in range(len(self))]
        with np.errstate(over="ignore"):
            pairs = [(x.flops / flops, x.seconds * factor[i]) for i, x in enumerate(found)]
        if not all(np.isfinite(sizes).all() for sizes, _ in pairs):
            raise ValueError(f"flops of {flops:g} in a chunk are too few: their number overflows")
        return pairs

    def panel_times(
        self, m: int, n: int, block: int, dtype: DTypeLike = np.float64
    ) -> NDArray[np.float64]:
        """(p, panels) seconds of each worker for each panel of an m x n LU factorisation.

        The other workers are busy meanwhile.

        Parameters
        ----------
        m, n : int
            Sizes of the matrix.
        block : int
            Columns of a panel.
        dtype : dtype_like
        """
        m = check.integer("m", m, low=1)
        n = check.integer("n", n, low=1)
        block = check.integer("block", block, low=1)
        half = flops_per_update(check.dtype(dtype, DTYPES)) / 2
        first = np.arange(0, min(m, n), block)
        width, rows = np.minimum(block, min(m, n) - first), m - first
        flops = half * width**2 * (rows - width / 3)
        rates = np.array([self.profile(i, "panel", dtype).at(rows) for i in range(len(self))])
        times: NDArray[np.float64] = flops / (rates * UNIT) * self._slowdown(dtype)[:, None]
        return times

    def relative(self, dtype: DTypeLike = np.float64) -> NDArray[np.float64] | None:
        """(p,) speeds of the cores themselves, without the effect of other programs.

        None if they are equal within 5 % or were not measured.

        Parameters
        ----------
        dtype : dtype_like
        """
        found = self.at_once.get(check.dtype(dtype, DTYPES).name)
        if found is None or found.own.max() <= (1 + _EVEN) * found.own.min():
            return None
        return found.own

    def _large(self, dtype: DTypeLike) -> AtOnce:
        name = check.dtype(dtype, DTYPES).name
        if name not in self.at_once:
            raise ValueError(f"dtype {name} was not measured, but {', '.join(self.at_once)}")
        return self.at_once[name]

    def _slowdown(self, dtype: DTypeLike) -> NDArray[np.float64]:
        found = self._large(dtype)
        factor: NDArray[np.float64] = found.alone / self._rates(found)
        return factor

    def _rates(self, once: AtOnce) -> NDArray[np.float64]:
        """(p,) GFLOP/s of the cores without other programs.

        A quota slows all cores by the same factor.
        """
        return once.own if self.quota is None else once.own * once.share.mean()

    def record(self) -> dict[str, Any]:
        """Everything as plain Python values, ready for JSON. This is what the cache holds."""
        return self._record

    def table(self) -> str:
        """Text with the profiles in columns: GFLOP/s and spread."""
        lines = ["GFLOP/s by size, median ± spread"]
        for kernel in KERNELS:
            for dtype in self.at_once:
                found = [x for (_, k, d), x in self.profiles.items() if (k, d) == (kernel, dtype)]
                if not found:
                    continue
                rows = [(f"{kernel} {dtype}", *(str(size) for size in found[0].sizes))]
                for x in found:
                    cells = (
                        f"{rate:.4g} ±{spread:4.0%}"
                        for rate, spread in zip(x.gflops, x.spread, strict=True)
                    )
                    rows.append((f"  {self.names[x.worker]}", *cells))
                lines.append(table(rows, "<>", (16, 12)))
        for once in self.at_once.values():
            lines.append(
                f"all at once, {once.dtype}, {once.size} x {once.size}: {once.ratio:.0%} of their"
                " speed one at a time"
            )
            columns = zip(self.names, once.gflops, once.alone, once.share, strict=True)
            rows = [
                (
                    f"  {name}",
                    f"{rate:.4g}",
                    f"{alone:.4g}",
                    f"alone, had its core {share:.0%} of the time",
                )
                for name, rate, alone, share in columns
            ]
            lines.append(table(rows, "<>><", (16, 12)))
        if self._measured_blocks is not None:
            lines.append(block_sizes.table_of(self._measured_blocks))
        notes = [*(f"note: {note}" for note in self.notes), *self._unsteady()]
        return "\n".join([*lines, *notes])

    def _unsteady(self) -> list[str]:
        """A warning if some speeds vary too much to be relied on."""
        found = [
            (spread, size, x)
            for x in self.profiles.values()
            for size, spread in zip(x.sizes.tolist(), x.spread.tolist(), strict=True)
            if spread > _UNSTEADY
        ]
        if not found:
            return []
        spread, size, x = max(found, key=lambda entry: entry[0])
        return [
            f"warning: {len(found)} of {sum(len(x.sizes) for x in self.profiles.values())} speeds"
            f" have a spread above {_UNSTEADY:.0%}, the largest {x.kernel} {x.dtype} {size} on"
            f" {self.names[x.worker]} (±{spread:.0%}): measure again when the machine is quiet, or"
            " for more seconds"
        ]

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        once = self.at_once[main_dtype(self.at_once)]
        rates = ", ".join(f"{rate:.4g}" for rate in once.gflops[:6]) + (
            ", ..." if len(self) > 6 else ""
        )
        workers = f"{len(self)} workers, {rates} GFLOP/s ({once.dtype}, all at once)"
        return f"<MeasuredPlatform: {workers}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.table())}</pre>"


def _lost(share: ArrayLike, quota: float | None) -> tuple[float, int] | None:
    """(fraction, worker): the least fraction that a worker had of its core, if that is too little.

    With a quota it is (fraction, -1), for all workers and the whole quota. Which worker a quota
    stops is chance, so that only the sum of the shares tells whether other programs were running.
    None if the fraction is at least _OWN.
    """
    had = np.asarray(share, np.float64)
    least = int(had.argmin())
    part, who = (had[least], least) if quota is None else (had.sum() / min(quota, len(had)), -1)
    return (float(part), who) if part < _OWN else None


def _disturbance(
    shares: Iterable[ArrayLike], stolen: ArrayLike, quota: float | None
) -> tuple[float, int, str] | None:
    """The worst loss as in `_lost`, with its reason, or None.

    Time stolen by a hypervisor is considered first, because it is missing in the shares as well if
    as much was stolen while all workers ran at once.
    """
    lost = [
        (_lost(1 - np.asarray(stolen), None), "a hypervisor took time"),
        *((_lost(share, quota), "other programs were running") for share in shares),
    ]
    return min(((*found, who) for found, who in lost if found is not None), default=None)


def main_dtype(names: Iterable[str]) -> str:
    found = list(names)
    if not found:
        raise ValueError("a measurement has at least one dtype")
    return "float64" if "float64" in found else found[0]


def _positive(values: Any) -> NDArray[np.float64]:
    array = np.array(values, np.float64)
    if array.ndim != 1 or not ((array > 0) & np.isfinite(array)).all():
        raise ValueError("a measurement has positive numbers")
    return check.frozen(array)


def measure(
    *,
    kernels: Sequence[str] = KERNELS,
    dtypes: Sequence[DTypeLike] = ("float64", "float32"),
    sizes: dict[str, Sequence[int]] | None = None,
    cores: str = "auto",
    seconds: float = 1.5,
    max_age: float = _WEEK,
    refresh: bool = False,
    blocks: bool = False,
) -> MeasuredPlatform:
    """Measure the speeds of this machine's cores.

    The measurement has profiles of each core, one at a time, and large products by all cores at
    once.

    Parameters
    ----------
    kernels : sequence of {"gemm", "panel", "trsm"}
        Products, panels of LU factorisations, triangular solves. The ratios of the cores' speeds
        may differ from kernel to kernel.
    dtypes : sequence of dtype_like
        float32, float64, complex64, complex128.
    sizes : dict, optional
        kernel -> sizes >= 1: sides of products, rows of panels, columns of solves. A size is left
        out if the times of smaller sizes show that it would take too long.
    cores : {"auto", "all", "types"}
        "all": measure every core by itself. "types": measure one core of each type that `topology`
        tells apart; its profiles then hold for all cores of the type. "auto": "all" for up to 8
        cores, otherwise "types". The measurement of all cores at once always uses all of them.
    seconds : float
        Approximate duration of the measurement.
    max_age : float
        Seconds for which an earlier measurement is used. It must be of the same machine, mask,
        quota, kernels and version. If other programs or a hypervisor disturbed it, this call
        measures anew, while pools use it for an hour at most.
    refresh : bool
        Measure anew in any case.
    blocks : bool
        First find the kernel and the block sizes of products that suit each kind of domain best,
        unless that was done within `max_age`. The search takes up to twenty times `seconds` for
        each kind. Pools use the result from then on, however old it is.

    Returns
    -------
    MeasuredPlatform
        It has as many workers as are worth starting by `topology`, each pinned to a cpu. `notes`
        says what could not be done.

    Notes
    -----
    Every kernel runs in the engine's threads, without the GIL, on its own operands. There are three
    rounds over all kernels, sizes and cores. Repetitions further from the median than three
    (scaled) median absolute deviations are outliers. The result is kept in $XDG_CACHE_HOME/hetsched
    or ~/.cache/hetsched (on macOS in ~/Library/Caches/hetsched), if that folder is writable.

    Examples
    --------
    >>> import hetsched as hs
    >>> here = hs.measure(
    ...     kernels=["gemm"], dtypes=["float64"], sizes={"gemm": [32, 64]}, seconds=0.05, max_age=0
    ... )
    >>> len(here) == hs.topology().worth
    True
    >>> here.profile(0).sizes.tolist()
    [32, 64]
    """
    chosen = _chosen(kernels, dtypes, sizes)
    check.choice("cores", cores, ("auto", "all", "types"))
    seconds = check.number("seconds", seconds, above=0.0)
    max_age = check.number("max_age", max_age, low=0.0)
    blocks = check.flag("blocks", blocks)
    host = topology()
    if blocks:
        found = block_sizes.kept(host)
        if refresh or found is None or not 0 <= found.age < max_age:
            block_sizes.measured(host, _LONGER * seconds)
            refresh = True  # the kept speeds were measured with other blocks
    kept = None if refresh else recent(host, max_age=max_age)
    if kept is not None and kept.disturbed:
        kept = None
    if kept is not None and _has(kept, chosen, sizes is not None):
        return kept
    record = _measure(host, chosen, cores, seconds)
    if kept is not None:
        record = _joined(record, kept.record())
    here = MeasuredPlatform(_with_blocks(record, host))
    if kept is not None and here.disturbed:
        return here  # the kept measurement is better
    keep(record)
    for renew in _renewals:
        renew()
    return here


#: Functions called after each new measurement.
_renewals: list[Callable[[], None]] = []


def when_measured(renew: Callable[[], None]) -> None:
    """Call `renew` after each new measurement, to renew divisions made from an earlier one."""
    _renewals.append(renew)


def recent(host: Topology | None = None, *, max_age: float = _WEEK) -> MeasuredPlatform | None:
    """The cached measurement of this machine, or None if there is none or it is too old.

    The call takes a fraction of a millisecond.
    """
    try:
        host = topology() if host is None else host
        record = kept_record(host, _KIND)
        if record is None or not 0 <= time.time() - record["measured"] < max_age:
            return None
        found = MeasuredPlatform(_with_blocks(record, host))
        return None if found.disturbed and found.age >= _BRIEFLY else found
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        LookupError,
        ArithmeticError,
        RecursionError,
    ):
        return None  # missing or damaged: the next measurement replaces it


def _with_blocks(record: dict[str, Any], host: Topology) -> dict[str, Any]:
    """A record of speeds together with the kept blocks, which are valid for longer."""
    found = block_sizes.kept(host)
    return record if found is None else {**record, "blocks": found.record()}


def rate(dtype: np.dtype[Any]) -> float:
    """Flops per second of one core in a small product, by the third shortest time of eight.

    Takes a few milliseconds.
    """
    found = run.measure_kernel(
        run.Threads(1, None), "gemm", dtype, 256, workers=1, worker=0, least=8
    )
    return found.flops / float(np.sort(found.times[0])[2])


# ---- measuring -----------------------------------------------------------------------------------


def _chosen(
    kernels: Sequence[str], dtypes: Sequence[DTypeLike], sizes: dict[str, Sequence[int]] | None
) -> dict[tuple[str, str], list[int]]:
    """(kernel, dtype) -> increasing sizes."""
    kernels, dtypes = (
        check.entries(name, x, "a sequence")
        for name, x in (("kernels", kernels), ("dtypes", dtypes))
    )
    names = [check.dtype(given, DTYPES, "dtypes").name for given in dtypes]
    if sizes is not None and not isinstance(sizes, dict):
        raise TypeError(f"sizes must be a dict of kernels and their sizes, got {sizes!r}")
    for name, words in (("kernels", kernels), ("sizes", sizes or ())):
        for kernel in words:
            check.choice(name, kernel, KERNELS)
    if not kernels or not names:
        raise ValueError(
            f"{'dtypes' if kernels else 'kernels'} is empty: there is nothing to measure"
        )
    chosen = {}
    for kernel in dict.fromkeys(kernels):
        wanted = check.integers(
            f"sizes[{kernel!r}]", list((sizes or {}).get(kernel, _SIZES[kernel])), low=1, high=2**15
        )
        if wanted.ndim != 1 or not len(wanted):
            raise ValueError(f"sizes[{kernel!r}] must be a sequence of integers")
        chosen.update({(kernel, name): sorted(set(wanted.tolist())) for name in names})
    return chosen


def _has(kept: MeasuredPlatform, chosen: dict[tuple[str, str], list[int]], exactly: bool) -> bool:
    """Whether a measurement has all kernels and dtypes of a call; `exactly`: and all sizes."""
    for (kernel, dtype), sizes in chosen.items():
        found = kept.profiles.get((0, kernel, dtype))
        if (
            found is None
            or dtype not in kept.at_once
            or (exactly and not set(sizes) <= set(found.sizes.tolist()))
        ):
            return False
    return True


def _joined(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Add old profiles for kernels and dtypes that the new record lacks.

    The result then has the age of the old record.
    """
    have = {(x["worker"], x["kernel"], x["dtype"]) for x in new["profiles"]}
    more = [x for x in old["profiles"] if (x["worker"], x["kernel"], x["dtype"]) not in have]
    if not more or old["cpus"] != new["cpus"]:
        return new
    at_once = {
        **{name: x for name, x in old["at_once"].items() if name not in new["at_once"]},
        **new["at_once"],
    }
    return {
        **new,
        "profiles": new["profiles"] + more,
        "at_once": at_once,
        "measured": min(new["measured"], old["measured"]),
    }


def _measure(
    host: Topology, chosen: dict[tuple[str, str], list[int]], cores: str, seconds: float
) -> dict[str, Any]:
    begin = time.time()
    p = host.worth
    places = host.places[:p]
    domains, members = block_sizes.gangs(host, host.members(p))
    threads = run.Threads(p, host.pins(p), domains or (), members or ())
    held = run.pinned(threads, p)
    cpus = [cpu if ok else None for cpu, ok in zip(places, held, strict=True)]
    twins = _twins(host, places, cores)
    samples, stolen = _one_by_one(
        threads, cpus, sorted(set(twins)), chosen, seconds * (1 - _AT_ONCE)
    )
    profiles = [
        _profile(
            i,
            kernel,
            dtype,
            {
                size: x
                for (k, d, size, w), x in samples.items()
                if (k, d, w) == (kernel, dtype, twin)
            },
        )
        for kernel, dtype in chosen
        for i, twin in enumerate(twins)
    ]
    names = list(dict.fromkeys(dtype for _, dtype in chosen))
    at_once = {}
    for name in names:
        sides = {x["dtype"]: x["sizes"][-1] for x in profiles if x["kernel"] == "gemm"}
        window = max(seconds * _AT_ONCE / len(names), _PERIODS if host.quota is not None else 0.0)
        at_once[name], taken = _together(threads, cpus, name, sides.get(name, 256), window)
        stolen = np.maximum(stolen, taken)
        alone = [x["gflops"][-1] for x in profiles if (x["kernel"], x["dtype"]) == ("gemm", name)]
        at_once[name]["alone"] = alone or at_once[name]["gflops"]
    return {
        **header(host, _KIND),
        "measured": begin,
        "took": time.time() - begin,
        "cpus": cpus,
        "domains": list(host.members(p)) if len(host.domains) > 1 else [None] * p,
        "nodes": _nodes_of(host, p),
        "quota": host.quota,
        "stolen": stolen.tolist(),
        "start": _start_cost(threads, p),
        "profiles": profiles,
        "at_once": at_once,
        "notes": _notes(host, cpus, at_once, stolen, cores == "types" or len(set(twins)) < p),
    }


def _notes(
    host: Topology,
    cpus: Sequence[int | None],
    at_once: dict[str, Any],
    stolen: NDArray[np.float64],
    by_type: bool,
) -> list[str]:
    """Notes on what could not be done and on what disturbed the measurement."""
    notes = []
    if None in cpus:
        missed = ", ".join(
            str(place) for place, cpu in zip(host.places, cpus, strict=False) if cpu is None
        )
        notes.append(
            f"threads could not be pinned to cpus {missed}:"
            " the system chose the cpus for these measurements"
        )
    if host.quota is not None:
        notes.append(f"measured under a quota of {host.quota:g} cpus ({host.quota_source})")
    if lost := _disturbance([once["share"] for once in at_once.values()], stolen, host.quota):
        part, i, why = lost
        had = f"the workers had {part:.0%} of the quota"
        if i >= 0:
            had = f"{_name(i, cpus[i])} had its core for {part:.0%} of the time"
        notes.append(
            f"{why}: {had}; the speeds do not count the lost time, and the next call measures again"
        )
    if by_type:
        notes.append("only one core of each type was profiled")
    return notes


def _name(worker: int, cpu: int | None) -> str:
    return f"worker {worker}" if cpu is None else f"cpu {cpu}"


def _nodes_of(host: Topology, workers: int) -> list[str] | None:
    """NUMA node of each of the first `places`; None if there is one node or a node is unknown."""
    by_number = {cpu.number: cpu.node for cpu in host.logical}
    nodes = [by_number[cpu] for cpu in host.places[:workers]]
    return None if None in nodes or len(set(nodes)) < 2 else [f"node{node}" for node in nodes]


def _twins(host: Topology, places: tuple[int, ...], cores: str) -> list[int]:
    """For each worker, the worker with its profiles: itself, or the first worker of its type."""
    if cores == "all" or (cores == "auto" and len(places) <= _FEW):
        return list(range(len(places)))
    by_number = {cpu.number: cpu for cpu in host.logical}
    kinds = [(by_number[cpu].type, by_number[cpu].capacity) for cpu in places]
    return [kinds.index(kind) for kind in kinds]


class _Stolen:
    """Time that a hypervisor steals from the workers' cores.

    CPU time does not show it, because it keeps running meanwhile.
    """

    def __init__(self, cpus: Sequence[int | None]) -> None:
        self._cpus = cpus
        self._ticks = np.zeros((2, len(cpus)))  # stolen, all

    @contextlib.contextmanager
    def watching(self, workers: Iterable[int]) -> Iterator[None]:
        """Count stolen time while the block runs, for the workers that the block keeps busy."""
        before = linux.ticks()
        yield
        after = linux.ticks()
        for i in workers:
            cpu = self._cpus[i]
            if cpu in before and cpu in after:
                start, end = before[cpu], after[cpu]
                self._ticks[:, i] += end.stolen - start.stolen, end.total - start.total

    @property
    def part(self) -> NDArray[np.float64]:
        """(p,) stolen fraction of the time, as far as it is certain.

        One tick is left out, because it may have begun before.
        """
        part: NDArray[np.float64] = np.clip(
            (self._ticks[0] - 1) / np.maximum(self._ticks[1], 1), 0.0, 1.0
        )
        return part


def _one_by_one(
    threads: run.Threads,
    cpus: Sequence[int | None],
    workers: list[int],
    chosen: dict[tuple[str, str], list[int]],
    seconds: float,
) -> tuple[dict[tuple[str, str, int, int], tuple[float, list[float]]], NDArray[np.float64]]:
    """Measure one worker at a time.

    Returns (kernel, dtype, size, worker) -> (flops, times of all repetitions), and the stolen
    fraction of each worker's time.
    """
    count = sum(map(len, chosen.values())) * len(workers)
    share = seconds / (_ROUNDS * count)
    found: dict[tuple[str, str, int, int], tuple[float, list[float]]] = {}
    stolen = _Stolen(cpus)
    for turn in range(_ROUNDS):
        for ((kernel, dtype), sizes), worker in itertools.product(chosen.items(), workers):
            before = None
            with stolen.watching([worker]):
                for size in sizes:
                    key = (kernel, dtype, size, worker)
                    if turn == 0 and before is not None:  # skip sizes that would take too long
                        last, least = before
                        if least * (size / last) ** (3 if kernel == "gemm" else 2) > 0.2 * seconds:
                            break
                    if turn > 0 and (key not in found or min(found[key][1]) > 4 * share):
                        continue
                    result = run.measure_kernel(
                        threads,
                        kernel,
                        np.dtype(dtype),
                        size,
                        workers=len(cpus),
                        worker=worker,
                        seconds=share,
                    )
                    times = result.times[worker].tolist()
                    found.setdefault(key, (result.flops, []))[1].extend(times)
                    before = size, min(times)
    return found, stolen.part


def _profile(
    worker: int, kernel: str, dtype: str, samples: dict[int, tuple[float, list[float]]]
) -> dict[str, Any]:
    rows = [(size, flops, *typical(times)) for size, (flops, times) in sorted(samples.items())]
    sizes, flops, medians, spreads = zip(*rows, strict=True)
    gflops = [work / (median * UNIT) for work, median in zip(flops, medians, strict=True)]
    return {
        "worker": worker,
        "kernel": kernel,
        "dtype": dtype,
        "sizes": list(sizes),
        "flops": list(flops),
        "gflops": gflops,
        "spread": list(spreads),
    }


def typical(times: ArrayLike) -> tuple[float, float]:
    """Median without outliers, and half the interquartile range relative to the median."""
    x = np.asarray(times, np.float64)
    middle = np.median(x)
    deviation = 1.4826 * np.median(np.abs(x - middle))
    kept = x[np.abs(x - middle) <= 3 * max(float(deviation), 1e-3 * float(middle))]
    low, median, high = np.quantile(kept, [0.25, 0.5, 0.75])
    return float(median), float((high - low) / (2 * median))


def _together(
    threads: run.Threads, cpus: Sequence[int | None], dtype: str, size: int, seconds: float
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """Measure all workers at once.

    Returns a record with the sustained speeds and the shares of the cores that the workers had, and
    the stolen fraction of each worker's time.

    An operating system kernel that knows of its hypervisor does not count stolen time as CPU time,
    another one does. So the share is the smaller one of both estimates.
    """
    stolen = _Stolen(cpus)
    with stolen.watching(range(len(cpus))):
        result = run.measure_kernel(
            threads, "gemm", np.dtype(dtype), size, workers=len(cpus), seconds=seconds, least=3
        )
    done = np.array([len(times) for times in result.times]) * result.batch * result.flops
    share = np.clip(np.minimum(result.busy / result.elapsed, 1 - stolen.part), 1e-3, 1.0)
    return {
        "size": size,
        "gflops": (done / result.elapsed / UNIT).tolist(),
        "share": share.tolist(),
    }, stolen.part


def _start_cost(threads: run.Threads, p: int) -> float:
    """Overhead in seconds of a small product shared by all workers: its time minus its work / p."""
    a = np.ones((100, 100))  # smaller products are not shared
    c, one = np.empty_like(a), run.Threads(1, None)
    both, alone = (
        seconds(lambda t=t: run.gemm(t, a, a, c, 1.0, 0.0, None, None))  # type: ignore[misc]
        for t in (threads, one)
    )
    return max(0.0, both - alone / p)


# ---- the cache -----------------------------------------------------------------------------------


def describe(found: MeasuredPlatform | None) -> str:
    """Text on the speeds in use, for `hetsched info`."""
    if found is None:
        return "not measured: cores count as equal (run `hetsched measure` to measure them)"
    once = found.at_once[main_dtype(found.at_once)]
    rates = ", ".join(
        f"{name} {speed:.4g}"
        for name, speed in zip(found.names[:8], found.speeds.tolist(), strict=False)
    )
    used = found.relative(once.dtype) is not None
    use = "used by matmul and lu_factor" if used else "counted as equal"
    if found.disturbed:
        use += " for an hour only, because other programs or a hypervisor took time"
    return (
        f"measured {_ago(found.age)} ago: {rates} GFLOP/s ({once.dtype}, all at once"
        f" {once.ratio:.0%} of one at a time), {use}"
    )


def _ago(age: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if age >= length:
            return f"{age / length:.0f} {unit}"
    return f"{age:.0f} s"
