"""Methods with which the paper compares layers on a mesh (section 6.2.2).

They are SUMMA, and pipelines that send all data to every node.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rival(NamedTuple):
    """Makespan, elements over all links, and layers of each node.

    The layers are None for SUMMA, which computes blocks of C.
    """

    makespan: float
    volume: float
    counts: NDArray[np.float64] | None


def summa(
    n: int,
    cycle_times: NDArray[np.float64],
    right: NDArray[np.float64],
    down: NDArray[np.float64],
    *,
    overlap: bool = False,
) -> Rival:
    """SUMMA (van de Geijn and Watts) with equal blocks that are in place at the start.

    In each step a panel of A moves from its column to the left and right, and a panel of B from its
    row up and down, from node to node. Then all nodes multiply. A step ends when all nodes are
    done. O((X + Y) X Y).

    Parameters
    ----------
    n : int
    cycle_times, right, down
        See `hetsched.layers_mesh`.
    overlap : bool
        Whether the panels of the next step move while the nodes multiply.
    """
    x, y = cycle_times.shape
    steps = math.lcm(x, y)
    work = float(n) ** 3 / (x * y * steps) * float(cycle_times.max())
    sends = []
    for step in range(steps):
        row, column = step * x // steps, step * y // steps
        # elements of a node's panel
        a, b = float(n) ** 2 / (x * steps), float(n) ** 2 / (y * steps)
        across = np.maximum(right[:, :column].sum(1), right[:, column:].sum(1)).max(initial=0.0)
        along = np.maximum(down[:row].sum(0), down[row:].sum(0)).max(initial=0.0)
        sends.append(max(a * float(across), b * float(along)))
    middle = (max(work, send) if overlap else work + send for send in sends[1:])
    makespan = sends[0] + sum(middle) + work
    return Rival(makespan, float(n) ** 2 * ((y - 1) + (x - 1)), None)


def pipeline(
    n: int,
    cycle_times: NDArray[np.float64],
    right: NDArray[np.float64],
    down: NDArray[np.float64],
    source: Sequence[int] = (0, 0),
    *,
    chunks: float = 1,
    balanced: bool = False,
    source_computes: bool = True,
) -> Rival:
    """Send all of A and B to every node, which then computes its share of the layers.

    Parameters
    ----------
    n, cycle_times, right, down, source
        See `hetsched.layers_mesh`.
    chunks : int or inf
        Number of chunks; a node sends a chunk on as soon as it has it. With one chunk this is the
        paper's Pipeline, where all links carry all data. With more it is the Modified Pipeline,
        along a tree. Infinitely many give the limit for chunks without start-up costs.
    balanced : bool
        Whether nodes get whole layers such that the last node ends as early as possible. Otherwise
        all get the same fractional number.
    source_computes : bool
        Whether the source also gets a share. The numbers of the paper are reproduced if it does
        here, and does not in layers.

    Notes
    -----
    The last of c chunks arrives along a path after (sum + (c - 1) max) / c, where sum and max are
    taken over the times that the links of the path need for all data. The tree grows from the
    source by the node that is reached first (Dijkstra; Prim for infinitely many chunks).
    """
    x, y = cycle_times.shape
    first = source[0] * y + source[1]
    links: list[list[tuple[int, float]]] = [[] for _ in range(x * y)]
    for i, j in np.ndindex(x, y):
        v = i * y + j
        for other, ok, costs in ((v + 1, j + 1 < y, right), (v + y, i + 1 < x, down)):
            if ok:
                everything = 2.0 * n * n * float(costs[i, j])
                links[v].append((other, everything))
                links[other].append((v, everything))
    start = np.full(x * y, math.inf)
    queue: list[tuple[float, int, float, float]] = [(0.0, first, 0.0, 0.0)]
    while queue:
        now, v, total, most = heapq.heappop(queue)
        if start[v] < math.inf:
            continue
        start[v] = now
        for other, cost in links[v]:
            if start[other] == math.inf:
                whole, slowest = total + cost, max(most, cost)
                arrival = slowest
                if chunks < math.inf:
                    arrival = (whole + (chunks - 1) * slowest) / chunks
                heapq.heappush(queue, (arrival, other, whole, slowest))
    layer = float(n) ** 2 * cycle_times.ravel()
    works = np.ones(x * y, bool)
    works[first] = source_computes
    if balanced:
        counts = _balanced(n, start, layer, works)
    else:
        counts = np.where(works, n / works.sum(), 0.0)
    makespan = float(np.where(counts > 0, start + counts * layer, 0.0).max())
    used = x * y - 1 if chunks > 1 else x * (y - 1) + y * (x - 1)
    return Rival(makespan, 2.0 * n * n * used, counts.reshape(x, y))


def _balanced(
    n: int, start: NDArray[np.float64], layer: NDArray[np.float64], works: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Give one layer after the other to the node that would end it first, which is optimal."""
    counts = np.zeros(len(start))
    queue = [(float(start[v] + layer[v]), v) for v in np.flatnonzero(works).tolist()]
    heapq.heapify(queue)
    for _ in range(n):
        _, v = queue[0]
        counts[v] += 1
        heapq.heapreplace(queue, (float(start[v] + (counts[v] + 1) * layer[v]), v))
    return counts
