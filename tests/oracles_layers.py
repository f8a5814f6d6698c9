"""Layers on a star in rationals, by the definition and by the paper's equations. Nothing here uses hetsched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

Times = Sequence[Fraction]


def per_layer(n: int, cycle_times: Sequence[float], link_costs: Sequence[float]) -> tuple[list[Fraction], list[Fraction]]:
    """Work and message of a layer; cycle-times given as str are read as decimals."""
    return [Fraction(w) * n * n for w in cycle_times], [Fraction(z) * 2 * n for z in link_costs]


def last_end(mode: str, work: Times, message: Times, order: Sequence[int], counts: Sequence[int | Fraction]) -> Fraction:
    """When the last worker with layers ends."""
    link, last = Fraction(0), Fraction(0)
    for i in order:
        begins = link if mode[0] == "s" else Fraction(0)
        comes = begins + counts[i] * message[i]
        ends = comes + counts[i] * work[i] if mode[2] == "c" else max(comes, begins + counts[i] * work[i])
        link = comes
        if counts[i]:
            last = max(last, ends)
    return last


def compositions(n: int, p: int) -> Iterator[tuple[int, ...]]:
    if p == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, p - 1):
            yield (first, *rest)


def least_end(mode: str, work: Times, message: Times, n: int, order: Sequence[int]) -> Fraction:
    """The optimum over all counts."""
    return min(last_end(mode, work, message, order, counts) for counts in compositions(n, len(work)))


def least_of_all(mode: str, work: Times, message: Times, n: int) -> Fraction:
    """The optimum over all counts and orders."""
    return min(least_end(mode, work, message, n, order) for order in permutations(range(len(work))))


def least_end_table(mode: str, work: Sequence[float], message: Sequence[float], n: int) -> float:
    """The optimum in the order given, one link after the other: the whole table, O(p n^2), in floating point."""
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    k = np.arange(n + 1)
    for a, b in zip(work[::-1], message[::-1], strict=True):
        hold = a + b if mode == "sccs" else max(a, b)
        least = np.array([np.maximum(k[: m + 1] * hold, k[: m + 1] * b + least[m::-1]).min() for m in range(n + 1)])
        least[0] = 0.0
    return float(least[n])


def relaxed_end(mode: str, work: Times, message: Times, n: int, order: Sequence[int]) -> Fraction:
    """The optimum for shares that are real numbers: F_i = min over x of max(h_i x, b_i x + (1 - x) F_i+1) for one layer."""
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
    """Equations (10) to (12), (18) to (20), (26) to (28), (31) to (33) as printed; the real shares and T_f."""
    if mode[2] == "s":
        work = [max(a, b) for a, b in zip(work, message, strict=True)]  # where the paper assumes work >= message
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


def rounded(mode: str, work: Times, message: Times, shares: Sequence[Fraction], n: int) -> list[int]:
    """Section 4.5: a layer for more than half of it; then one more from the first that ends on, or one less from the last on."""
    counts = [math.ceil(share - Fraction(1, 2)) for share in shares]
    ends, link = [], Fraction(0)
    for i, k in enumerate(counts):
        begins = link if mode[0] == "s" else Fraction(0)
        link = begins + k * message[i]
        ends.append((link + k * work[i] if mode[2] == "c" else max(link, begins + k * work[i])) if k else Fraction(0))
    ranked = sorted(range(len(counts)), key=lambda i: (ends[i], i))
    while sum(counts) < n:
        for i in ranked[: n - sum(counts)]:
            counts[i] += 1
    while sum(counts) > n:
        for i in ranked[::-1]:
            if counts[i] and sum(counts) > n:
                counts[i] -= 1
    return counts
