"""Layers on a star in rationals, by the definition and by the paper's equations. Nothing here uses
hetsched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Times = Sequence[Fraction]


def per_layer(
    n: int, cycle_times: Sequence[float], link_costs: Sequence[float]
) -> tuple[list[Fraction], list[Fraction]]:
    """Work and message of a layer; cycle-times given as str are read as decimals."""
    return [Fraction(w) * n * n for w in cycle_times], [Fraction(z) * 2 * n for z in link_costs]


def last_end(
    mode: str, work: Times, message: Times, order: Sequence[int], counts: Sequence[int | Fraction]
) -> Fraction:
    """When the last worker with layers ends."""
    link, last = Fraction(0), Fraction(0)
    for i in order:
        begins = link if mode[0] == "s" else Fraction(0)
        comes = begins + counts[i] * message[i]
        ends = (
            comes + counts[i] * work[i]
            if mode[2] == "c"
            else max(comes, begins + counts[i] * work[i])
        )
        link = comes
        if counts[i]:
            last = max(last, ends)
    return last


def compositions(n: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All counts that sum to n, none above its limit."""
    if not most:
        if n == 0:
            yield ()
        return
    for first in range(min(n, most[0]) + 1):
        for rest in compositions(n - first, most[1:]):
            yield (first, *rest)


def least_end(
    mode: str,
    work: Times,
    message: Times,
    n: int,
    order: Sequence[int],
    most: Sequence[int] | None = None,
) -> Fraction | None:
    """The optimum over all counts, or over those within limits; None if there are none."""
    counts = compositions(n, [n] * len(work) if most is None else most)
    return min((last_end(mode, work, message, order, own) for own in counts), default=None)


def least_of_all(
    mode: str, work: Times, message: Times, n: int, most: Sequence[int] | None = None
) -> Fraction | None:
    """The optimum over all counts and orders."""
    ends = [
        least_end(mode, work, message, n, order, most) for order in permutations(range(len(work)))
    ]
    return None if None in ends else min(end for end in ends if end is not None)


def least_end_table(mode: str, work: Sequence[float], message: Sequence[float], n: int) -> float:
    """The optimum in the order given, one link after the other: the whole table, O(p n^2), in
    floating point."""
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    k = np.arange(n + 1)
    for a, b in zip(work[::-1], message[::-1], strict=True):
        hold = a + b if mode == "sccs" else max(a, b)
        least = np.array(
            [
                np.maximum(k[: m + 1] * hold, k[: m + 1] * b + least[m::-1]).min()
                for m in range(n + 1)
            ]
        )
        least[0] = 0.0
    return float(least[n])


def relaxed_end(mode: str, work: Times, message: Times, n: int, order: Sequence[int]) -> Fraction:
    """The optimum for shares that are real numbers: F_i = min over x of max(h_i x, b_i x + (1 - x)
    F_i+1) for one layer."""
    hold = [a + b if mode[2] == "c" else max(a, b) for a, b in zip(work, message, strict=True)]
    if mode[0] == "p":
        return n / sum(1 / h for h in hold)
    last = hold[order[-1]]
    for i in reversed(order[:-1]):
        if message[i] < last:
            x = last / (hold[i] - message[i] + last)
            last = hold[i] * x
    return n * last


def closed_form(mode: str, work: Times, message: Times, n: int) -> tuple[list[Fraction], Fraction]:
    """Equations (10) to (12), (18) to (20), (26) to (28), (31) to (33) as printed; the real shares
    and T_f."""
    if mode[2] == "s":
        # where the paper assumes work >= message
        work = [max(a, b) for a, b in zip(work, message, strict=True)]
    ratios = [Fraction(1)]
    for j in range(1, len(work)):
        above, below = {
            "scss": (work[j - 1] - message[j - 1], work[j]),
            "sccs": (work[j - 1], work[j] + message[j]),
            "pccs": (work[j - 1] + message[j - 1], work[j] + message[j]),
            "pcss": (work[j - 1], work[j]),
        }[mode]
        ratios.append(ratios[-1] * above / below)
    first = n / sum(ratios)
    return [first * r for r in ratios], first * (work[0] + (message[0] if mode[2] == "c" else 0))


def limited_end(
    mode: str,
    work: Sequence[float],
    message: Sequence[float],
    n: int,
    most: Sequence[int],
    order: Sequence[int] | None = None,
    whole: bool = False,
) -> float:
    """The optimum within limits by HiGHS, one link after the other: with an order its rows, for
    real or whole numbers; without one those of every set S of workers, of whom each can at most be
    busy to the end: sum of b x over S is at most T (1 - product of 1 - b/h)."""
    hold = [a + b if mode[2] == "c" else max(a, b) for a, b in zip(work, message, strict=True)]
    p, rows = len(work), []
    for place, i in enumerate(order or ()):
        rows.append(
            [message[j] if j in order[:place] else hold[j] if j == i else 0.0 for j in range(p)]
            + [-1.0]
        )
    for chosen in product((False, True), repeat=p) if order is None else ():
        left = math.prod(1 - message[i] / hold[i] for i in range(p) if chosen[i])
        rows.append([message[i] if chosen[i] else 0.0 for i in range(p)] + [left - 1.0])
    rows += [[hold[i] if j == i else 0.0 for j in range(p)] + [-1.0] for i in range(p)]
    found = milp(
        [0.0] * p + [1.0],
        integrality=[whole] * p + [0],
        bounds=Bounds(0, [*most, np.inf]),
        constraints=[
            LinearConstraint(rows, -np.inf, 0.0),
            LinearConstraint([[1.0] * p + [0.0]], n, n),
        ],
        options={"mip_rel_gap": 0.0},
    )
    assert found.success, found.message
    return float(found.fun)


def rounded(
    mode: str,
    work: Times,
    message: Times,
    shares: Sequence[Fraction],
    n: int,
    most: Sequence[int] | None = None,
) -> list[int]:
    """Section 4.5: a layer for more than half of it; then one more from the first that ends on, or
    one less from the last on. What is above a limit is dealt in the same way to those that have
    room."""
    limits = [n] * len(work) if most is None else most
    counts = [
        min(math.ceil(share - Fraction(1, 2)), limit)
        for share, limit in zip(shares, limits, strict=True)
    ]
    ends, link = [], Fraction(0)
    for i, k in enumerate(counts):
        begins = link if mode[0] == "s" else Fraction(0)
        link = begins + k * message[i]
        ends.append(
            (link + k * work[i] if mode[2] == "c" else max(link, begins + k * work[i]))
            if k
            else Fraction(0)
        )
    ranked = sorted(range(len(counts)), key=lambda i: (ends[i], i))
    while sum(counts) < n:
        for i in ranked:
            if counts[i] < limits[i] and sum(counts) < n:
                counts[i] += 1
    while sum(counts) > n:
        for i in ranked[::-1]:
            if counts[i] and sum(counts) > n:
                counts[i] -= 1
    return counts
