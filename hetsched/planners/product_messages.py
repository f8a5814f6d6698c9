"""Messages of a product on a platform with links between every two workers.

They come from the owners of zones of A and B, or from neighbours on a torus.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..platform import UNIT

#: What a box waits for: the sender, the number of bytes, and the box with the transfer that brings
#: the data to the sender; -1 if the sender has the data.
MESSAGE = np.dtype([("box", "i8"), ("sender", "i8"), ("bytes", "f8"), ("after", "i8")])

_MOST = 4_000_000  # most messages of a plan; to list so many takes some seconds


def from_owners(
    zones: NDArray[np.int64],
    shape: tuple[int, int, int],
    itemsize: int,
    depths: NDArray[np.int64],
    first: NDArray[np.int64],
    groups: NDArray[np.int64] | None,
) -> NDArray[Any]:
    """The messages of the outer-product algorithm.

    In each step a zone needs its rows of some columns of A and its columns of some rows of B. Its
    worker receives from the owners what it does not own. A and B are distributed like C, stretched
    where their sides differ.

    Parameters
    ----------
    zones : (q, 5) array
        worker, row, col, height, width of pieces of C, in elements, sorted by worker.
    shape : (int, int, int)
        m, n, k.
    depths : (s + 1,) array
        Where the steps begin along the inner dimension, and the end of the last step.
    first : (s, w) array
        The first box of each worker that has a zone, in each step.
    groups : (p,) array or None
        Group number of each worker. Workers of one group share the data from other groups: it is
        sent once, to the first of them with a zone, which passes on what the other workers of the
        group need (2001 paper, section 3.2.2, figure 14).
    """
    m, n, k = shape
    workers, starts = np.unique(zones[:, 0], return_index=True)
    if not len(workers) or not k:
        return np.zeros(0, MESSAGE)
    teams = (
        np.arange(len(workers))
        if groups is None
        else np.unique(groups[workers], return_inverse=True)[1]
    )
    head = np.array([int(np.argmax(teams == team)) for team in teams], np.int64)
    sides = _shared(zones, zones[:, 0], workers)
    wholes = (
        sides
        if groups is None
        else _shared(zones, teams[np.searchsorted(workers, zones[:, 0])], np.unique(teams))
    )
    found: list[tuple[int, int, float, int]] = []
    for step, (begin, end) in enumerate(
        zip(depths[:-1].tolist(), depths[1:].tolist(), strict=True)
    ):
        owned = (
            _in_band(zones[:, 2], zones[:, 4], begin, end, n, k),
            _in_band(zones[:, 1], zones[:, 3], begin, end, m, k),
        )
        need, shared = (
            itemsize * np.add.reduceat(rows * owned[0] + cols * owned[1], starts, axis=1)
            for rows, cols in (sides, wholes)
        )
        for i in range(len(workers)):
            inside, leader = teams == teams[i], int(head[i])
            passed_on = 0.0 if leader == i else float(need[i, ~inside].sum())
            amount = np.where(inside, need[i], shared[teams[i]] if leader == i else 0.0)
            amount[leader] += passed_on
            amount[i] = 0.0
            for j in np.flatnonzero(amount).tolist():
                after = int(first[step, j]) if passed_on and j == leader else -1
                found.append((int(first[step, i]), int(workers[j]), float(amount[j]), after))
        if len(found) > _MOST:
            raise ValueError(
                f"block makes more than {_MOST} messages between the workers: give a larger block"
            )
    return np.array(found, MESSAGE)


def _shared(
    zones: NDArray[np.int64], owners: NDArray[np.int64], who: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(w, q) rows, and columns, of each piece in which a zone of each owner lies."""
    found = []
    for axis in (1, 2):
        begin, end = zones[:, axis], zones[:, axis] + zones[:, axis + 2]
        lines = np.zeros((len(who), len(zones)))
        for k, one in enumerate(who.tolist()):
            for low, high in _union(begin[owners == one], end[owners == one]):
                lines[k] += np.maximum(np.minimum(end, high) - np.maximum(begin, low), 0)
        found.append(lines)
    return found[0], found[1]


def _union(begin: NDArray[np.int64], end: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The union of intervals, as intervals without gaps or overlaps."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(zip(begin.tolist(), end.tolist(), strict=True)):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _in_band(
    start: NDArray[np.int64], length: NDArray[np.int64], begin: int, end: int, side: int, k: int
) -> NDArray[np.float64]:
    """(q,) number of the lines begin .. end - 1 of the inner dimension that each piece owns.

    The lines are columns of A or rows of B. The side of C is stretched to the length k.
    """
    overlap = np.minimum((start + length) * k, end * side) - np.maximum(start * k, begin * side)
    found: NDArray[np.float64] = np.maximum(overlap, 0) / side
    return found


def on_torus(grid: int, boxes: NDArray[np.int64], itemsize: int) -> NDArray[Any]:
    """The messages of Cannon's algorithm on grid x grid workers, numbered row by row.

    In the first step, parts of A and B come from their owners (the skewing). Later they come from
    the worker to the right and from the worker below, which received them one step before.

    Parameters
    ----------
    boxes : (grid, grid^2, 7) array
        worker, row, col, depth, height, width, length of each step and worker.
    """
    found = []
    for step, of_step in enumerate(boxes.tolist()):
        for worker, (_, _, _, _, height, width, length) in enumerate(of_step):
            i, j = divmod(worker, grid)
            if step == 0:
                right, below = i * grid + (i + j) % grid, (i + j) % grid * grid + j
            else:
                right, below = i * grid + (j + 1) % grid, (i + 1) % grid * grid + j
            for sender, lines in ((right, height), (below, width)):
                if sender != worker and lines * length:
                    after = (step - 1) * grid * grid + sender if step else -1
                    found.append(
                        (
                            step * grid * grid + worker,
                            sender,
                            float(itemsize * lines * length),
                            after,
                        )
                    )
    return np.array(found, MESSAGE)


def transfers_of(
    messages: NDArray[Any], boxes: NDArray[np.int64], links: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(b,) time that each box waits for its messages, which a worker gets one after another."""
    times = messages["bytes"] * links[messages["sender"], boxes[messages["box"], 0]] / UNIT
    found: NDArray[np.float64] = np.bincount(messages["box"], times, len(boxes)).astype(np.float64)
    return found


def bytes_of(messages: NDArray[Any], count: int) -> NDArray[np.float64]:
    """(b,) bytes that each of `count` boxes waits for."""
    return np.bincount(messages["box"], messages["bytes"], count).astype(np.float64)


def earlier(messages: NDArray[Any], count: int) -> list[list[int]]:
    """For each box, the boxes with the transfers that bring its data to the senders."""
    found: list[list[int]] = [[] for _ in range(count)]
    for box, after in zip(messages["box"].tolist(), messages["after"].tolist(), strict=True):
        if after >= 0:
            found[box].append(after)
    return found
