"""Oracles for profiles and patterns: slow, obvious and exact. Nothing here uses hetsched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray


def compositions(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All tuples of that many non-negative integers with sum n."""
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, parts - 1):
            yield (first, *rest)


def profile_optimum(
    n: int, tables: Sequence[Sequence[float]]
) -> tuple[tuple[int, ...] | None, float]:
    """Best counts by enumeration, and their makespan; (None, inf) if there are none. Entry 0 of a
    table does not matter.

    Of several optima: from the last worker to the first, rather less than the makespan, then rather
    more chunks.
    """

    def time(i: int, x: int) -> float:
        if x == 0:
            return 0.0
        return tables[i][x] if x < len(tables[i]) else inf

    every = [
        (max(time(i, x) for i, x in enumerate(counts)), counts)
        for counts in compositions(n, len(tables))
    ]
    best = min(makespan for makespan, _ in every)
    if best == inf:
        return None, inf

    def preference(counts: tuple[int, ...]) -> list[tuple[bool, int]]:
        return [(time(i, x) < best or x == 0, x) for i, x in reversed(list(enumerate(counts)))]

    return max((counts for makespan, counts in every if makespan == best), key=preference), best


def profile_makespan(n: int, tables: NDArray[np.float64]) -> float:
    """Least makespan for (p, n + 1) tables by dynamic programming over the workers, O(p n^2)."""
    best = np.full(n + 1, inf)
    best[0] = 0.0
    for table in tables:
        own = np.concatenate(([0.0], table[1:]))
        best = np.array([np.maximum(best[: m + 1], own[m::-1]).min() for m in range(n + 1)])
    return float(best[n])


def best_owners(
    n: int, p: int, steps: Sequence[Sequence[Sequence[float]]]
) -> tuple[float, tuple[int, ...] | None, float]:
    """By enumeration: the least cost of all owners of n block columns, the first such owners, and
    the sum of the least costs of the steps. steps[k][i][c] is the time of worker i for c of the
    columns right of k; infinite costs are impossible."""
    best, found, single = inf, None, [inf] * len(steps)
    for owner in product(range(p), repeat=n):
        costs = profile_costs(owner, p, steps)
        single = [min(pair) for pair in zip(single, costs, strict=True)]
        if sum(costs) < best:
            best, found = sum(costs), owner
    return best, found, sum(single)


def profile_costs(
    owner: Sequence[int], p: int, steps: Sequence[Sequence[Sequence[float]]]
) -> list[float]:
    """The largest time of each step."""
    costs = []
    for k, tables in enumerate(steps):
        own = [list(owner[k + 1 :]).count(i) for i in range(p)]
        costs.append(max(tables[i][c] for i, c in enumerate(own) if c))
    return costs


def update_costs(owner: Sequence[int], times: Sequence[Fraction]) -> list[Fraction]:
    """For each k the largest load among the block columns right of k."""
    rights = [owner[k + 1 :] for k in range(len(owner) - 1)]
    return [max(right.count(i) * t for i, t in enumerate(times) if i in right) for right in rights]


def every_owner(n: int, workers: int) -> Iterator[tuple[int, ...]]:
    """All ways to give n block columns to workers."""
    return product(range(workers), repeat=n)
