"""Divisible loads by linear programs over all orders, of SciPy and in exact arithmetic. Nothing
here uses hetsched."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
from scipy.optimize import linprog


def makespan_of_orders(
    times: Sequence[float], sends: Sequence[float], backs: Sequence[float], out: tuple, back: tuple
) -> float:
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


def makespans(
    times: Sequence[float], sends: Sequence[float], backs: Sequence[float]
) -> dict[str, float]:
    """The best over all pairs of orders, over all with the first in being the first out, and the
    last in the first out."""
    orders = list(permutations(range(len(times))))

    def best(pairs: list[tuple[tuple, tuple]]) -> float:
        return min(makespan_of_orders(times, sends, backs, *pair) for pair in pairs)

    return {
        "best": best([(a, b) for a in orders for b in orders]),
        "fifo": best([(a, a) for a in orders]),
        "lifo": best([(a, a[::-1]) for a in orders]),
    }


def most_exact(rows: list[list[Fraction]]) -> Fraction:
    """The largest sum of x >= 0 with rows x <= 1, rows >= 0: the simplex method with Bland's rule,
    in exact arithmetic."""
    n = len(rows[0])
    table = [
        [*row, *(Fraction(int(k == r)) for k in range(len(rows))), Fraction(1)]
        for r, row in enumerate(rows)
    ]
    gain = [Fraction(1)] * n + [Fraction(0)] * (len(rows) + 1)
    basic = [n + r for r in range(len(rows))]
    while (column := next((c for c, g in enumerate(gain[:-1]) if g > 0), None)) is not None:
        ratios = [
            (row[-1] / row[column], basic[r], r) for r, row in enumerate(table) if row[column] > 0
        ]
        pivot = min(ratios)[2]
        table[pivot] = [x / table[pivot][column] for x in table[pivot]]
        basic[pivot] = column
        for r, row in enumerate(table):
            if r != pivot and row[column]:
                table[r] = [x - row[column] * y for x, y in zip(row, table[pivot], strict=True)]
        gain = [x - gain[column] * y for x, y in zip(gain, table[pivot], strict=True)]
    return -gain[-1]


def exact_makespan(
    times: Sequence[float | Fraction],
    sends: Sequence[float | Fraction],
    backs: Sequence[float | Fraction],
) -> Fraction:
    """The least makespan of a load of 1 over all pairs of orders, without a rounding."""
    w, c, d = ([Fraction(x) for x in given] for given in (times, sends, backs))
    p = len(w)

    def row(i: int, out: tuple, back: tuple) -> list[Fraction]:
        before, after = out[: out.index(i) + 1], back[back.index(i) :]
        return [c[j] * (j in before) + d[j] * (j in after) + w[j] * (i == j) for j in range(p)]

    orders = list(permutations(range(p)))
    bus = [a + b for a, b in zip(c, d, strict=True)]
    return 1 / max(
        most_exact([bus, *(row(i, a, b) for i in range(p))]) for a in orders for b in orders
    )


def exact_one_way(times: Sequence[float], sends: Sequence[float]) -> Fraction:
    """The least makespan of a load of 1 whose results take no time: the cheapest links first,
    everyone busy to the end."""
    most, left = Fraction(0), Fraction(1)
    for c, w in sorted(
        (Fraction(float(c)), Fraction(float(w))) for w, c in zip(times, sends, strict=True)
    ):
        most += left / (c + w)
        left -= left / (c + w) * c
    return 1 / most


def replay(
    times: Sequence[float],
    sends: Sequence[float],
    backs: Sequence[float],
    shares: Sequence[float],
    out: Sequence[int],
    back: Sequence[int],
) -> Fraction:
    """When the last result of these shares is back, everything as early as the orders allow;
    without a rounding."""
    w, c, d, x = ([Fraction(float(v)) for v in given] for given in (times, sends, backs, shares))
    ready, bus = {}, Fraction(0)
    for i in out:
        bus += x[i] * c[i]
        ready[i] = bus + x[i] * w[i]
    last = max(ready[i] for i in out if x[i])
    for i in back:
        if x[i] * d[i]:
            bus = max(bus, ready[i]) + x[i] * d[i]
            last = max(last, bus)
    return last
