"""Divisible loads by SciPy's linear programs over all orders. Nothing here uses hetsched."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from scipy.optimize import linprog


def makespan_of_orders(times: Sequence[float], sends: Sequence[float], backs: Sequence[float], out: tuple, back: tuple) -> float:
    """The least makespan of a load of 1, messages in these orders."""
    p = len(times)
    rows = np.zeros((p + 1, p))
    for i in range(p):
        for j in out[: out.index(i) + 1]:
            rows[i, j] += sends[j]
        for j in back[back.index(i) :]:
            rows[i, j] += backs[j]
        rows[i, i] += times[i]
    rows[p] = np.add(sends, backs)
    return -1 / linprog(-np.ones(p), rows, np.ones(p + 1)).fun


def makespans(times: Sequence[float], sends: Sequence[float], backs: Sequence[float]) -> dict[str, float]:
    """The best over all pairs of orders, over all with the first in being the first out, and the last in the first out."""
    orders = list(permutations(range(len(times))))

    def best(pairs: list[tuple[tuple, tuple]]) -> float:
        return min(makespan_of_orders(times, sends, backs, *pair) for pair in pairs)

    return {
        "best": best([(a, b) for a in orders for b in orders]),
        "fifo": best([(a, a) for a in orders]),
        "lifo": best([(a, a[::-1]) for a in orders]),
    }
