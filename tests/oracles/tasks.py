"""Master-worker tasking by brute force, in rationals on a common denominator. Nothing here uses
hetsched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import permutations


def integers(values: Iterable[float | Fraction]) -> list[int]:
    """The values, times the least number that makes them whole."""
    rationals = [Fraction(x) for x in values]
    scale = math.lcm(*(x.denominator for x in rationals))
    return [x.numerator * (scale // x.denominator) for x in rationals]


def most_tasks(
    T: float | Fraction, times: Sequence[float], send: float, receive: float = 0.0
) -> int:
    """The most tasks over all sets of workers that the bus can serve and all orders of their
    messages."""
    bound, s, r, *times = integers([T, send, receive, *times])
    best = 0
    for q in range(1, len(times) + 1):
        if q * (s + r) > bound:
            break
        backs = list(permutations(range(1, q + 1))) if r else [(0,) * q]
        for served in permutations(times, q):
            left = [bound - (j + 1) * s for j in range(q)]
            for back in backs:
                best = max(
                    best,
                    sum(
                        max(0, (x - k * r) // t) for x, k, t in zip(left, back, served, strict=True)
                    ),
                )
    return best


def least_time(tasks: int, times: Sequence[float], send: float) -> Fraction:
    """The least of {j send + k t_i} in which the tasks can be done, without messages back."""
    candidates = sorted(
        {
            j * Fraction(send) + k * Fraction(t)
            for j in range(1, len(times) + 1)
            for t in times
            for k in range(1, tasks + 1)
        }
    )
    return (
        next(c for c in candidates if most_tasks(c, times, send) >= tasks) if tasks else Fraction(0)
    )


def most_tasks_linked(
    T: float, times: Sequence[float], sends: Sequence[float], receives: Sequence[float]
) -> int:
    """The most tasks with a message time for each worker: all subsets, all orders out, all orders
    back."""
    p, (bound, *whole) = len(times), integers([T, *times, *sends, *receives])
    t, s, r = whole[:p], whole[p : 2 * p], whole[2 * p :]
    best = 0
    for q in range(1, len(t) + 1):
        for out in permutations(range(len(t)), q):
            if sum(s[i] + r[i] for i in out) > bound:
                continue
            for back in permutations(out) if any(receives) else [out]:
                left = {i: bound - sum(s[j] for j in out[: d + 1]) for d, i in enumerate(out)}
                for d, i in enumerate(back):
                    left[i] -= sum(r[j] for j in back[: d + 1])
                best = max(best, sum(max(0, left[i] // t[i]) for i in out))
    return best
