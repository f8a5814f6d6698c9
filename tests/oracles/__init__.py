"""Slow, obvious and exact: what the engine's answers are compared with. Nothing here uses
hetsched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import isinf, lcm

import numpy as np


def fractions(values: Sequence[float]) -> list[Fraction]:
    """The rationals that the doubles are."""
    return [Fraction(value) for value in values]


def rounded(value: Fraction) -> float:
    """The double nearest to a rational; infinite beyond the range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def distribute_makespan(n: int, times: Sequence[float]) -> Fraction:
    """The n-th smallest of the multiset {k t_i : k = 1, 2, ...}; 0 for n = 0. For small n."""
    finite = [Fraction(t) for t in times if not isinf(t)]
    return sorted(k * t for k in range(1, n + 1) for t in finite)[n - 1] if n else Fraction(0)


def greedy_counts(n: int, times: Sequence[float], makespan: Fraction) -> list[int] | None:
    """The counts of n chunks dealt one by one to the worker that ends first, ties to the lowest
    index, if that makespan is the optimum; None if it is not.

    T is the n-th smallest of {k t_i} if and only if fewer than n elements are below T and at least
    n are not above it. The elements below T are all dealt; those equal to T go to the lowest
    indices, one each where it divides T.
    """
    exact = [None if isinf(t) else Fraction(t) for t in times]
    if n == 0:
        return [0] * len(times) if makespan == 0 else None
    counts = [0 if t is None else -((-makespan) // t) - 1 for t in exact]
    left = n - sum(counts)
    tied = [i for i, t in enumerate(exact) if t is not None and makespan % t == 0]
    if not 0 < left <= len(tied):
        return None
    for i in tied[:left]:
        counts[i] += 1
    return counts


@cache
def _structures(size: int) -> list[tuple[int, ...]]:
    """All ways to cut a row of `size` parts into runs: the ends of the runs."""
    inner = range(1, size)
    return [
        (*(cut for cut in inner if chosen >> (cut - 1) & 1), size)
        for chosen in range(1 << (size - 1))
    ]


def _scaled(areas: Sequence[float]) -> list[int]:
    """Positive areas in ascending order as integers in the same proportions."""
    exact = sorted(Fraction(area) for area in areas if area > 0)
    unit = lcm(*(area.denominator for area in exact))
    return [int(area * unit) for area in exact]


def column_cost(
    areas: Sequence[float], max_columns: int | None = None, max_rows: int | None = None
) -> Fraction | None:
    """Least sum of half perimeters over all cuts of the sorted areas into columns; None if the
    limits allow none."""
    parts = _scaled(areas)
    total, size = sum(parts), len(parts)
    prefix = [sum(parts[:q]) for q in range(size + 1)]
    best = None
    for ends in _structures(size):
        if max_columns is not None and len(ends) > max_columns:
            continue
        starts = (0, *ends[:-1])
        if max_rows is not None and any(
            b - a > max_rows for a, b in zip(starts, ends, strict=True)
        ):
            continue
        cost = sum(
            total + (prefix[b] - prefix[a]) * (b - a) for a, b in zip(starts, ends, strict=True)
        )
        best = cost if best is None else min(best, cost)
    return None if best is None else Fraction(best, total)


def set_partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """All partitions of the items into non-empty sets."""
    if not items:
        yield []
        return
    for smaller in set_partitions(items[1:]):
        yield [[items[0]], *smaller]
        for i, group in enumerate(smaller):
            yield [*smaller[:i], [items[0], *group], *smaller[i + 1 :]]


def column_cost_of_any_sets(
    areas: Sequence[float], max_columns: int | None = None, max_rows: int | None = None
) -> Fraction | None:
    """Least sum of half perimeters over all ways to group the positive areas into columns, sorted
    or not."""
    parts = _scaled(areas)
    total = sum(parts)
    costs = [
        sum(total + sum(group) * len(group) for group in groups)
        for groups in set_partitions(parts)
        if (max_columns is None or len(groups) <= max_columns)
        and (max_rows is None or max(map(len, groups)) <= max_rows)
    ]
    return Fraction(min(costs), total) if costs else None


def covers_exactly(shape: tuple[int, int], rects: Sequence[Sequence[int]]) -> bool:
    """Whether the rectangles (row, col, height, width) paint every cell of the matrix once and
    nothing outside."""
    m, n = shape
    painted = np.zeros(shape, np.int64)
    for row, col, height, width in rects:
        if min(row, col, height, width) < 0 or row + height > m or col + width > n:
            return False
        painted[row : row + height, col : col + width] += 1
    return bool((painted == 1).all())
