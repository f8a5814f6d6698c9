"""Measures how long this machine's cores take for zones of a product, by height and width."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._base import check
from .._engine import run
from .._engine.dtypes import DTYPES
from . import blocks as block_sizes
from .measure import typical
from .topology import topology

_DEPTH = 256  # of the products that are timed: a panel of the kernels
_LARGEST = 4096  # elements: larger sides have the same speed


def measure_zones(
    m: int,
    n: int,
    k: int,
    *,
    block: int = 1,
    dtype: DTypeLike = np.float64,
    points: int = 4,
    seconds: float = 1.5,
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """Measure the time of each core for zones of C (m x n) = A (m x k) B (k x n).

    Parameters
    ----------
    m, n, k : int
        Sizes in elements, from 1.
    block : int
        Heights and widths are multiples of it, and counted in it; at most 4096.
    dtype : dtype_like
    points : int
        Most heights and widths, at least 2; small matrices have fewer. They are geometric, from
        small ones to all of C, or to 4096 elements. Larger zones have the speed of these.
    seconds : float
        Approximate duration. Zones that take longer are timed once.

    Returns
    -------
    list of (heights, widths, times)
        For each worker, profiles for `partition_profile` and `plan_matmul`: heights and widths in
        blocks, and seconds of shape (len(heights), len(widths)). All workers compute at the same
        time, each its own zone of the same size.

    Notes
    -----
    Products deeper than 256 are timed at this depth; the time is taken to be proportional to the
    depth beyond it. There are as many workers as `topology` finds worth starting; run the plan on
    `Pool(len(profiles))`. Nothing is kept for later calls.

    Examples
    --------
    >>> import hetsched as hs
    >>> profiles = hs.measure_zones(96, 64, 32, block=8, points=2, seconds=0.01)
    >>> heights, widths, times = profiles[0]
    >>> heights.tolist(), widths.tolist(), times.shape
    ([1.0, 12.0], [1.0, 8.0], (2, 2))
    """
    m, n, k = check.product_sizes(m, n, k, low=1)
    block = check.integer("block", block, low=1, high=_LARGEST)
    kind = check.dtype(dtype, DTYPES)
    points = check.integer("points", points, low=2, high=100)
    seconds = check.number("seconds", seconds, above=0.0)
    host = topology()
    p = host.worth
    domains, members = block_sizes.gangs(host, host.members(p))
    threads = run.Threads(p, host.pins(p), domains or (), members or ())
    heights, widths = (_sizes(-(-min(side, _LARGEST) // block), points) for side in (m, n))
    depth = min(k, _DEPTH)
    times = np.empty((p, len(heights), len(widths)))
    for a, height in enumerate(heights.tolist()):
        for b, width in enumerate(widths.tolist()):
            found = run.measure_kernel(
                threads,
                "gemm",
                kind,
                depth,
                workers=p,
                seconds=seconds / (len(heights) * len(widths)),
                sides=(min(int(height) * block, m), min(int(width) * block, n)),
            )
            times[:, a, b] = [typical(own)[0] * (k / depth) for own in found.times]
    return [(heights, widths, check.frozen(own)) for own in times]


def _sizes(most: int, points: int) -> NDArray[np.float64]:
    """Up to so many sizes from a sixteenth of the largest to the largest, increasing."""
    sizes = np.geomspace(max(1.0, most / 16), most, points)
    return check.frozen(np.unique(np.rint(sizes)))
