"""Platforms and instances of the papers' experiments, and random platforms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from random import Random
from statistics import NormalDist
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import check
from .platform import Platform, Unit

__all__ = ["lyon", "ppopp2008", "ppopp2008_instances", "random", "strasbourg"]

# 2008 paper, q = 80: the unit of data is a block, the unit of work a block update, the unit of time
# the second
_UPDATE = 0.76e-3  # 1.35 GFLOP/s
_BLOCK = 5.12e-3  # 10 MB/s: the "10 Mbps" in print does not agree with the run times in print
_BUFFERS = {256: 5242, 512: 10485, 1024: 20971}  # MB of memory: blocks that fit
_SEED = 2008
_DEVIATIONS = 2.0  # standard deviations of "lognormal" on either side
_SIZES = (800, 1000, 1200, 1400, 1600)


def ppopp2008(name: str) -> Platform:
    """A platform of the experiments of the 2008 paper, sections 6.4 to 6.8.

    Cycle-times are seconds per block update, link costs seconds per block, and memory is in blocks
    of q = 80, float64. The paper prints ratios only. The values 0.76 ms, 5.12 ms (10 MB/s) and
    20971 blocks (1 GB) reproduce the run times and the numbers of enrolled workers in its text.

    Parameters
    ----------
    name : str
        "memory": 2 workers with 256 MB, 4 with 512 MB, 2 with 1 GB. "links": 2 with 10 MB/s, 4 with
        5, 2 with 1. "speeds": 2 of speed S, 4 of S/2, 2 of S/4. "ratio2", "ratio4": the eight
        combinations of two link costs, two cycle-times and two memory sizes with that ratio.
        "random0" to "random9": speed, bandwidth and memory between a quarter and the whole of the
        usual ones. The paper does not print its own values, so these were drawn here, once.
        "real2007": 20 equal workers with 1 GB. "real2006": the first and the last five of them with
        256 MB.

    Returns
    -------
    Platform
        A star.

    Raises
    ------
    ValueError
        For an unknown name.

    Notes
    -----
    Dongarra, Pineau, Robert, Vivien (2008). The machines of the real platform ran at 2.4 to
    2.8 GHz. The paper calls them rather homogeneous, and its numbers of enrolled workers (11, and 6
    with small memories) confirm that. Here they are equal.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.datasets.ppopp2008("memory")
    >>> platform.memory
    (5242, 5242, 10485, 10485, 10485, 10485, 20971, 20971)
    >>> round(hs.plan_product(100, 800, 100, platform, "het").makespan)
    2086
    """
    return drawn_platforms(_SEED)[check.choice("name", name, drawn_platforms(_SEED))]


def ppopp2008_instances() -> tuple[tuple[str, tuple[int, int, int]], ...]:
    """The 29 instances of the 2008 paper's experiments.

    Each has a name for `ppopp2008`, and (r, s, t) in blocks.

    Returns
    -------
    tuple of (str, (int, int, int))

    Examples
    --------
    >>> import hetsched as hs
    >>> len(hs.datasets.ppopp2008_instances()), hs.datasets.ppopp2008_instances()[0]
    (29, ('memory', (100, 800, 100)))
    """
    columns = {
        "memory": _SIZES,
        "links": _SIZES,
        "speeds": _SIZES,
        "real2007": (4000,),
        "real2006": (4000,),
    }
    return tuple(
        (name, (100, s, 100)) for name in drawn_platforms(_SEED) for s in columns.get(name, (1000,))
    )


@cache
def drawn_platforms(seed: int) -> dict[str, Platform]:
    """Platforms by name; the random ones are drawn with this seed."""
    small, middle, large = _BUFFERS.values()
    # relative cycle-time, relative link cost, blocks
    rows: dict[str, list[tuple[float, float, int]]] = {
        "memory": [(1.0, 1.0, m) for m in (small,) * 2 + (middle,) * 4 + (large,) * 2],
        "links": [(1.0, c, large) for c in (1.0,) * 2 + (2.0,) * 4 + (10.0,) * 2],
        "speeds": [(w, 1.0, large) for w in (1.0,) * 2 + (2.0,) * 4 + (4.0,) * 2],
    }
    for ratio, least in ((2.0, middle), (4.0, small)):
        pairs = itertools.product((1.0, ratio), (1.0, ratio), (large, least))
        rows[f"ratio{ratio:g}"] = [(w, c, m) for c, w, m in pairs]
    draw = Random(seed).random  # the only generator that Python promises to keep as it is
    for k in range(10):
        drawn = [tuple(0.25 + 0.75 * draw() for _ in range(3)) for _ in range(8)]
        rows[f"random{k}"] = [
            (1 / speed, 1 / bandwidth, int(large * share)) for speed, bandwidth, share in drawn
        ]
    rows["real2007"] = [(1.0, 1.0, large)] * 20
    rows["real2006"] = [(1.0, 1.0, m) for m in (small,) * 5 + (large,) * 10 + (small,) * 5]
    return {
        name: Platform.star(
            [_UPDATE * w for w, _, _ in own],
            [_BLOCK * c for _, c, _ in own],
            [m for *_, m in own],
            unit=Unit.block_update(80),
        )
        for name, own in rows.items()
    }


# Renard, Robert, Vivien, "Static Load-Balancing Techniques for Iterative Computations on
# Heterogeneous Clusters", HiPC 2003, tables 1 to 4: seconds per megaflop, and milliseconds per
# megabit; "-" is the diagonal.
_LYON_TIMES = (
    "0.0291 0.00874 0.0206 0.0451 0.0206 0.0291 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206"
    " 0.0206"
)
_LYON_LINKS = """
- 198 1702 1702 262 198 1702 1702 262 262 262 262 262 262
198 - 1702 1702 262 198 1702 1702 262 262 262 262 262 262
1702 1702 - 248 248 1702 248 248 248 248 248 248 248 248
1702 1702 248 - 248 1702 248 248 248 248 248 248 248 248
262 262 248 248 - 262 248 248 248 248 248 248 248 248
198 198 1702 1702 262 - 1702 1702 262 262 262 262 262 262
1702 1702 248 248 248 1702 - 248 248 248 248 248 248 248
1702 1702 248 248 248 1702 248 - 248 248 248 248 248 248
262 262 248 248 248 262 248 248 - 248 248 248 248 248
262 262 248 248 248 262 248 248 248 - 248 248 248 248
262 262 248 248 248 262 248 248 248 248 - 248 248 248
262 262 248 248 248 262 248 248 248 248 248 - 248 248
262 262 248 248 248 262 248 248 248 248 248 248 - 248
262 262 248 248 248 262 248 248 248 248 248 248 248 -
"""
_STRASBOURG_TIMES = (
    "0.00874 0.00874 0.0102 0.00728 0.00728 0.0262 0.00583 0.016 0.00728 0.00874 0.0131 0.00583"
    " 0.0131"
)
_STRASBOURG_LINKS = """
- 48 19 17 19 147 151 154 147 48 17 16 151
48 - 48 48 48 147 151 154 147 17 48 48 151
19 48 - 19 19 147 151 154 147 48 19 19 151
17 48 19 - 19 147 151 154 147 48 17 18 151
19 48 19 19 - 147 151 154 147 48 19 19 151
147 147 147 147 147 - 151 154 147 147 147 147 151
151 151 151 151 151 151 - 154 151 151 151 151 151
154 154 154 154 154 154 154 - 154 154 154 154 154
147 147 147 147 147 147 151 154 - 147 147 147 151
48 17 48 48 48 147 151 154 147 - 48 48 151
17 48 19 17 19 147 151 154 147 48 - 18 151
16 48 19 18 19 147 151 154 147 48 18 - 151
151 151 151 151 151 151 151 154 151 151 151 151 -
"""


def lyon() -> Platform:
    """The 14 processors of ENS Lyon, with a link between every two.

    Returns
    -------
    Platform
        Cycle-times in seconds per megaflop, links in seconds per megabit.

    Notes
    -----
    Renard, Robert, Vivien (2003), tables 1 and 2.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.datasets.lyon()  # doctest: +NORMALIZE_WHITESPACE
    <Platform: complete, 14 workers, cycle-times 0.0291, 0.00874, 0.0206, 0.0451, 0.0206, 0.0291,
    ...>
    """
    return _complete(_LYON_TIMES, _LYON_LINKS)


def strasbourg() -> Platform:
    """The 13 processors of the University of Strasbourg, with a link between every two.

    Returns
    -------
    Platform
        Cycle-times in seconds per megaflop, links in seconds per megabit.

    Notes
    -----
    Renard, Robert, Vivien (2003), tables 3 and 4.

    Examples
    --------
    >>> import hetsched as hs
    >>> len(hs.datasets.strasbourg())
    13
    """
    return _complete(_STRASBOURG_TIMES, _STRASBOURG_LINKS)


def _complete(times: str, links: str) -> Platform:
    table = [line.replace("-", "0").split() for line in links.strip().splitlines()]
    unit = Unit("megaflop", "megabit", 1e6, 1e6 / 8)
    return Platform.complete(
        [float(time) for time in times.split()], np.array(table, np.float64) / 1000.0, unit=unit
    )


#: Distributions of the speeds in `random`.
KINDS = ("equal", "uniform", "loguniform", "lognormal", "two-kinds", "zipf")
TOPOLOGIES = ("star", "complete", "mesh")


@overload
def random(
    kind: str, p: int, seed: int, *, ratio: float = 10.0, fast: float = 0.5,
    cycle_time: float = 1.0, topology: str = "star", link_costs: ArrayLike = 0.0,
    memory: ArrayLike | None = None, size: None = None,
) -> Platform: ...  # fmt: skip
@overload
def random(
    kind: str, p: int, seed: int, *, ratio: float = 10.0, fast: float = 0.5,
    cycle_time: float = 1.0, size: int | Sequence[int],
) -> NDArray[np.float64]: ...  # fmt: skip
def random(
    kind: str,
    p: int,
    seed: int,
    *,
    ratio: float = 10.0,
    fast: float = 0.5,
    cycle_time: float = 1.0,
    topology: str = "star",
    link_costs: ArrayLike = 0.0,
    memory: ArrayLike | None = None,
    size: int | Sequence[int] | None = None,
) -> Platform | NDArray[np.float64]:
    """Make a random platform, or the cycle-times of many.

    The same arguments give the same platform, up to rounding, with every version of NumPy.

    Parameters
    ----------
    kind : {"equal", "uniform", "loguniform", "lognormal", "two-kinds", "zipf"}
        Distribution of the speeds between 1 / ratio and 1, where 1 is the speed of a worker with
        the `cycle_time`. "equal": all are 1. "uniform": uniform between the two. "loguniform":
        their logarithms are uniform, so that slow workers are frequent. "lognormal": around
        1 / sqrt(ratio), with a standard deviation of a quarter of log(ratio), cut off at two
        standard deviations. "two-kinds": 1 and 1 / ratio. "zipf": the speed of the k-th fastest
        worker is a power of 1 / k, from 1 down to 1 / ratio.
    p : int
        Number of workers, at least 1.
    seed : int
        Seed, >= 0.
    ratio : float
        How much faster the fastest worker can be than the slowest, >= 1.
    fast : float
        For "two-kinds": fraction of fast workers, from 0 to 1; which workers are fast is drawn.
    cycle_time : float
        Cycle-time of a worker of speed 1.
    topology : {"star", "complete", "mesh"}
        A master with a link to each worker; a link between every two workers; or rows and columns
        as equal as p allows.
    link_costs : float or (2,) array_like
        Cost of every link, or the least and the largest cost, between which costs are drawn
        uniformly.
    memory : int or (2,) array_like of int, optional
        Buffers of every worker, or the least and the largest number, between which it is drawn too.
        Only for a star.
    size : int or tuple of int, optional
        Make that many platforms, as an array for planners that take a stack. Only for stars without
        costs of links and memory.

    Returns
    -------
    Platform, or (..., p) ndarray of cycle-times
        With `size`, the first row is the platform without it. Speeds, links and memory are drawn
        independently: with other links the speeds are the same.

    Raises
    ------
    ValueError
        For an unknown kind or topology, and for numbers outside these ranges.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.datasets.random("zipf", 4, seed=1, ratio=4).speeds.round(6).tolist()
    [1.0, 0.333333, 0.25, 0.5]
    >>> hs.datasets.random("two-kinds", 6, seed=1, topology="mesh", link_costs=(0.1, 0.2))
    <Platform: 2 x 3 mesh, 6 workers, cycle-times 1, 10, 10, 1, 1, 10>
    >>> stack = hs.datasets.random("uniform", 4, seed=1, size=1000)
    >>> stack.shape, hs.partition(cycle_times=stack, method="columns").cost.shape
    ((1000, 4), (1000,))
    """
    check.choice("kind", kind, KINDS)
    check.choice("topology", topology, TOPOLOGIES)
    p, seed = check.integer("p", p, low=1), check.integer("seed", seed, low=0)
    ratio, fast = check.number("ratio", ratio, low=1.0), check.number("fast", fast, low=0.0)
    if fast > 1.0:
        raise ValueError(f"fast must be at most 1, got {fast!r}")
    unit = check.number("cycle_time", cycle_time, above=0.0)
    if not math.isfinite(1.001 * unit * ratio):
        raise ValueError(f"cycle_time times ratio overflows, got {unit!r} and {ratio!r}")
    link = _between("link_costs", link_costs)
    buffers = None if memory is None else _between("memory", memory)
    if buffers is not None:
        if topology != "star":
            raise ValueError(f"memory is for a star, not for the topology {topology!r}")
        check.integers("memory", memory, low=0)
    rows = _rows(size)
    count = math.prod(rows) * p
    times = unit / _speeds(
        kind,
        _uniform(seed, 0, count).reshape(*rows, p),
        _uniform(seed, 1, count).reshape(*rows, p).argsort(kind="stable"),
        ratio,
        round(fast * p),
    )
    if size is not None:
        if topology != "star" or memory is not None or link != (0.0, 0.0):
            raise ValueError("size is for stars without topology, link_costs and memory")
        return times

    def links(*shape: int) -> NDArray[np.float64]:
        return link[0] + (link[1] - link[0]) * _uniform(seed, 2, math.prod(shape)).reshape(shape)

    if topology == "complete":
        costs = np.triu(links(p, p), 1)
        return Platform.complete(times, costs + costs.T)
    if topology == "mesh":
        high = next(side for side in range(math.isqrt(p), 0, -1) if p % side == 0)
        wide = p // high
        along = links(high * (wide - 1) + (high - 1) * wide)
        cut = high * (wide - 1)
        return Platform.mesh(
            times.reshape(high, wide),
            along[:cut].reshape(high, wide - 1),
            along[cut:].reshape(high - 1, wide),
        )
    if buffers is None:
        return Platform.star(times, links(p))
    least, most = buffers
    held = np.minimum(least + np.floor((most - least + 1) * _uniform(seed, 3, p)), most)
    return Platform.star(times, links(p), [int(blocks) for blocks in held])


def _speeds(
    kind: str, u: NDArray[np.float64], order: NDArray[np.intp], ratio: float, fast: int
) -> NDArray[np.float64]:
    """(..., p) speeds in [1 / ratio, 1], from uniform numbers or from a random order of workers."""
    p, low = u.shape[-1], 1.0 / ratio
    if kind == "equal":
        return np.ones(u.shape)
    if kind == "uniform":
        return low + (1.0 - low) * u
    if kind == "loguniform":
        return np.maximum(ratio ** (u - 1.0), low)
    if kind == "lognormal":
        normal = NormalDist()
        tail = normal.cdf(-_DEVIATIONS)
        found = np.array(
            [normal.inv_cdf(tail + (1.0 - 2.0 * tail) * x) for x in u.ravel().tolist()]
        )
        found = found.reshape(u.shape).clip(-_DEVIATIONS, _DEVIATIONS)
        return np.maximum(ratio ** (found / (2.0 * _DEVIATIONS) - 0.5), low)
    if kind == "two-kinds":
        ranked = np.where(np.arange(p) < fast, 1.0, low)
    else:
        power = math.log(ratio) / math.log(p) if p > 1 else 0.0
        ranked = np.maximum(np.arange(1.0, p + 1.0) ** -power, low)
    speeds = np.empty(u.shape)
    np.put_along_axis(speeds, order, np.broadcast_to(ranked, u.shape), -1)
    return speeds


def _rows(size: Any) -> tuple[int, ...]:
    """The shape of a stack of platforms; () for one platform."""
    if size is None:
        return ()
    sides = tuple(size) if isinstance(size, Sequence) else (size,)
    return tuple(check.integer("size", side, low=0, high=10**9) for side in sides)


def _uniform(seed: int, what: int, count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1), from bits that NumPy promises to keep as they are.

    NumPy does not promise that for its distributions.
    """
    bits = np.random.PCG64(np.random.SeedSequence([_SEED, what, seed])).random_raw(count)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _between(name: str, given: ArrayLike) -> tuple[float, float]:
    """The least and the largest value."""
    values = np.atleast_1d(
        check.reals(f"{name} must be a number, or the least and the largest, got {given!r}", given)
    )
    if values.ndim != 1 or not 1 <= len(values) <= 2:
        raise ValueError(
            f"{name} must be a number, or the least and the largest, got shape {values.shape}"
        )
    check.not_negative(name, values)
    if values[0] > values[-1]:
        raise ValueError(f"{name} must be the least and the largest, got {given!r}")
    return float(values[0]), float(values[-1])
