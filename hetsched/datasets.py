"""Platforms and instances of the papers' experiments."""

from __future__ import annotations

import itertools
import random
from functools import cache

import numpy as np

from .platform import Platform, Unit

# 2008 paper, q = 80: the unit of data is a block, the unit of work a block update, the unit of time the second
_UPDATE = 0.76e-3  # 1.35 GFLOP/s
_BLOCK = 5.12e-3  # 10 MB/s: the "10 Mbps" in print does not go with the run times in print
_BUFFERS = {256: 5242, 512: 10485, 1024: 20971}  # blocks in so many MB
_SEED = 2008
_SIZES = (800, 1000, 1200, 1400, 1600)


def ppopp2008(name: str) -> Platform:
    """A platform of the experiments of the 2008 paper, sections 6.4 to 6.8.

    Cycle-times are seconds per block update, link costs seconds per block, memory is in blocks of q = 80, float64. The paper
    prints ratios only; 0.76 ms, 5.12 ms (10 MB/s) and 20971 blocks (1 GB) reproduce the run times and the numbers of
    enrolled workers in its text.

    Parameters
    ----------
    name : str
        "memory": 2 workers with 256 MB, 4 with 512 MB, 2 with 1 GB. "links": 2 of 10 MB/s, 4 of 5, 2 of 1. "speeds": 2 of
        speed S, 4 of S/2, 2 of S/4. "ratio2", "ratio4": the eight combinations of two link costs, two cycle-times and two
        memory sizes with that ratio. "random0" to "random9": speed, bandwidth and memory between a quarter and the whole of
        the usual ones; the paper does not print its own, so these were drawn here, once. "real2007": 20 equal workers with
        1 GB. "real2006": the first and the last five of them with 256 MB.

    Returns
    -------
    Platform
        A star.

    Raises
    ------
    ValueError
        For another name.

    Notes
    -----
    Dongarra, Pineau, Robert, Vivien (2008). The machines of the real platform ran at 2.4 to 2.8 GHz, which the paper calls
    rather homogeneous and its numbers of enrolled workers (11, and 6 with small memories) confirm: here they are equal.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.datasets.ppopp2008("memory")
    >>> platform.memory
    (5242, 5242, 10485, 10485, 10485, 10485, 20971, 20971)
    >>> round(hs.plan_product(100, 800, 100, platform, "het").makespan)
    2086
    """
    if name not in _platforms(_SEED):
        raise ValueError(f"name must be one of {', '.join(_platforms(_SEED))}, got {name!r}")
    return _platforms(_SEED)[name]


def ppopp2008_instances() -> tuple[tuple[str, tuple[int, int, int]], ...]:
    """The 29 instances of the 2008 paper's experiments: name for `ppopp2008`, and (r, s, t) in blocks.

    Examples
    --------
    >>> import hetsched as hs
    >>> len(hs.datasets.ppopp2008_instances()), hs.datasets.ppopp2008_instances()[0]
    (29, ('memory', (100, 800, 100)))
    """
    columns = {"memory": _SIZES, "links": _SIZES, "speeds": _SIZES, "real2007": (4000,), "real2006": (4000,)}
    return tuple((name, (100, s, 100)) for name in _platforms(_SEED) for s in columns.get(name, (1000,)))


@cache
def _platforms(seed: int) -> dict[str, Platform]:
    """By name, with the random ones of this seed."""
    small, middle, large = _BUFFERS.values()
    rows: dict[str, list[tuple[float, float, int]]] = {  # cycle-time and link cost over the usual ones, blocks
        "memory": [(1.0, 1.0, m) for m in (small,) * 2 + (middle,) * 4 + (large,) * 2],
        "links": [(1.0, c, large) for c in (1.0,) * 2 + (2.0,) * 4 + (10.0,) * 2],
        "speeds": [(w, 1.0, large) for w in (1.0,) * 2 + (2.0,) * 4 + (4.0,) * 2],
    }
    for ratio, least in ((2.0, middle), (4.0, small)):
        pairs = itertools.product((1.0, ratio), (1.0, ratio), (large, least))
        rows[f"ratio{ratio:g}"] = [(w, c, m) for c, w, m in pairs]
    draw = random.Random(seed).random  # the one generator that Python promises to keep as it is
    for k in range(10):
        drawn = [tuple(0.25 + 0.75 * draw() for _ in range(3)) for _ in range(8)]
        rows[f"random{k}"] = [(1 / speed, 1 / bandwidth, int(large * share)) for speed, bandwidth, share in drawn]
    rows["real2007"] = [(1.0, 1.0, large)] * 20
    rows["real2006"] = [(1.0, 1.0, m) for m in (small,) * 5 + (large,) * 10 + (small,) * 5]
    return {
        name: Platform.star(
            [_UPDATE * w for w, _, _ in own], [_BLOCK * c for _, c, _ in own], [m for *_, m in own], unit=Unit.block_update(80)
        )
        for name, own in rows.items()
    }


# Renard, Robert, Vivien, "Static Load-Balancing Techniques for Iterative Computations on Heterogeneous Clusters", HiPC 2003,
# tables 1 to 4: seconds per megaflop, and milliseconds per megabit; - stands on the diagonal.
_LYON_TIMES = "0.0291 0.00874 0.0206 0.0451 0.0206 0.0291 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206"
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
_STRASBOURG_TIMES = "0.00874 0.00874 0.0102 0.00728 0.00728 0.0262 0.00583 0.016 0.00728 0.00874 0.0131 0.00583 0.0131"
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
    >>> hs.datasets.lyon()
    <Platform: complete, 14 workers, cycle-times 0.0291, 0.00874, 0.0206, 0.0451, 0.0206, 0.0291, ...>
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
    return Platform.complete([float(time) for time in times.split()], np.array(table, np.float64) / 1000.0, unit=unit)
