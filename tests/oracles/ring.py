"""Slow and obvious rings: all subsets and orders in fractions, and the paper's integer program,
corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Numbers = Sequence[float]


def rings(p: int) -> Iterator[tuple[int, ...]]:
    """Every ring of some of p workers, once."""
    for size in range(1, p + 1):
        for first, *others in combinations(range(p), size):
            for order in permutations(others):
                if size < 3 or order[0] < order[-1]:
                    yield (first, *order)


def messages(links: Sequence[Numbers], volume: float, ring: Sequence[int]) -> list[Fraction]:
    """What each member pays."""
    if len(ring) == 1:
        return [Fraction(0)]
    pairs = zip(ring, (*ring[1:], ring[0]), (ring[-1], *ring[:-1]), strict=True)
    return [
        Fraction(volume) * (Fraction(links[i][after]) + Fraction(links[i][before]))
        for i, after, before in pairs
    ]


def balanced(
    times: Numbers,
    links: Sequence[Numbers],
    work: float,
    volume: float,
    ring: Sequence[int],
    overheads: Numbers | None = None,
) -> tuple[Fraction, Fraction]:
    """The time at which all members end together, and what the dearest pays: sum (T - paid) / time
    = work."""
    paid = messages(links, volume, ring)
    if overheads is not None:
        paid = [b + Fraction(overheads[i]) for b, i in zip(paid, ring, strict=True)]
    rates = [1 / Fraction(times[i]) for i in ring]
    time = (Fraction(work) + sum(b * r for b, r in zip(paid, rates, strict=True))) / sum(rates)
    return time, max(paid)


def best_time(
    times: Numbers,
    links: Sequence[Numbers],
    work: float,
    volume: float,
    relays: bool,
    slack: Fraction = Fraction(0),
    overheads: Numbers | None = None,
) -> Fraction:
    """The optimum; without relays a ring counts if all shares are positive by so much of the
    time."""
    best = None
    for ring in rings(len(times)):
        time, most = balanced(times, links, work, volume, ring, overheads)
        if not relays and time * (1 - slack) <= most:
            continue
        value = max(time, most)
        best = value if best is None else min(best, value)
    assert best is not None
    return best


def shortest(times: Numbers, links: Sequence[Numbers], members: Sequence[int]) -> Fraction:
    """The least sum of messages / time of the rings of just these members."""
    first, *others = members
    lengths = []
    for order in permutations(others):
        ring = (first, *order)
        lengths.append(
            sum(b / Fraction(times[i]) for b, i in zip(messages(links, 1, ring), ring, strict=True))
        )
    return min(lengths)


def milp_time(
    times: Numbers, links: Sequence[Numbers], work: float, volume: float, size: int
) -> float:
    """The q-ring program of section 5.2 for q = size >= 2, corrected: shares sum to 1, only members
    have one, nobody is his own neighbour, and what i receives it pays at links[i][before], as the
    text says. Members may have the share 0.
    """
    w, c = np.asarray(times, float), np.asarray(links, float)
    p = len(w)
    count = p * p + 3 * p + 1  # x, share, u, y, T
    x = np.arange(p * p).reshape(p, p)
    share, u, y = (p * p + k * p + np.arange(p) for k in range(3))
    last = count - 1
    rows: list[np.ndarray] = []
    low: list[float] = []
    high: list[float] = []

    def add(entries: dict[int, float], least: float, most: float) -> None:
        row = np.zeros(count)
        for at, value in entries.items():
            row[at] += value
        rows.append(row)
        low.append(least)
        high.append(most)

    for i in range(p):
        spent = {int(share[i]): w[i], last: -1.0}
        for j in range(p):
            if j != i:
                for at in (x[i, j], x[j, i]):
                    spent[int(at)] = spent.get(int(at), 0.0) + volume / work * c[i, j]
        add(spent, -np.inf, 0.0)
        others = [j for j in range(p) if j != i]
        add({**{int(x[j, i]): 1.0 for j in others}, **{int(x[i, j]): -1.0 for j in others}}, 0, 0)
        add({int(x[j, i]): 1.0 for j in range(p)}, 0, 1)
        add({int(share[i]): 1.0, **{int(x[i, j]): -1.0 for j in range(p)}}, -np.inf, 0)
        for j in range(p):
            if i != j:
                order = {
                    int(y[i]): -p,
                    int(y[j]): -p,
                    int(u[i]): 1,
                    int(u[j]): -1,
                    int(x[i, j]): size,
                }
                add(order, -np.inf, size - 1)
    add({int(at): 1.0 for at in x.ravel()}, size, size)
    add({int(at): 1.0 for at in share}, 1, 1)
    add({int(at): 1.0 for at in y}, 1, 1)
    upper = np.ones(count)
    upper[x.diagonal()] = 0.0
    upper[u] = p
    upper[last] = np.inf
    whole = np.ones(count)
    whole[share] = whole[last] = 0
    cost = np.zeros(count)
    cost[last] = 1.0
    found = milp(
        cost,
        integrality=whole,
        bounds=Bounds(np.zeros(count), upper),
        constraints=LinearConstraint(np.array(rows), low, high),
        options={"mip_rel_gap": 0.0},
    )
    assert found.success, found.message
    return float(found.fun * work)
