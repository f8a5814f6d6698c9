"""Slow and obvious redistributions: all schedules with whole start times, and the bounds of the
paper over all flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

Counts = Sequence[int]


def fastest(
    before: Counts,
    after: Counts,
    following: Sequence[int],
    previous: Sequence[int] | None,
    closed: bool,
) -> int:
    """The least time of all schedules, if messages take whole times >= 1: breadth-first over the
    states at each time. A schedule in which every message starts as early as its order allows has
    whole start times, so no other schedule is faster.

    A state has the items of each member, and for each member what is left of the messages that it
    sends to the next member and to the previous one (0: none).
    """
    q = len(before)
    states = {(tuple(before), (0,) * q, (0,) * q)}
    goal = (tuple(after), (0,) * q, (0,) * q)
    time = 0
    while goal not in states:
        reached = set()
        for state in states:
            for held, right, left in _starts(state, following, previous, closed):
                items = list(held)
                for k in range(q):
                    items[(k + 1) % q] += right[k] == 1
                    items[k - 1] += left[k] == 1
                reached.add(
                    (
                        tuple(items),
                        tuple(max(x - 1, 0) for x in right),
                        tuple(max(x - 1, 0) for x in left),
                    )
                )
        states, time = reached, time + 1
    return time


def _starts(state, following, previous, closed) -> Iterator[tuple]:
    """Every choice of the messages that start now."""
    held, right, left = state
    q = len(held)

    def options(k: int) -> Iterator[int]:
        yield 0
        if held[k] and not right[k] and not left[k]:
            if closed or k < q - 1:
                yield 1
            if previous is not None and (closed or k > 0):
                yield -1

    for choice in product(*map(options, range(q))):
        coming = list(right), list(left)
        for k, side in enumerate(choice):
            if side == 1:
                coming[0][k] = following[k]
            elif side == -1:
                coming[1][k] = previous[k]
        if all(not (coming[0][k - 1] and coming[1][(k + 1) % q]) for k in range(q)):
            items = tuple(n - (side != 0) for n, side in zip(held, choice, strict=True))
            yield items, tuple(coming[0]), tuple(coming[1])


def least_busy(
    before: Counts,
    after: Counts,
    following: Sequence[Fraction],
    previous: Sequence[Fraction] | None,
    closed: bool,
) -> Fraction:
    """The least time of the busiest port, over all flows."""
    q = len(before)
    flat = [sum(before[: k + 1]) - sum(after[: k + 1]) for k in range(q)]
    shifts = range(-max(flat), -min(flat) + 1) if closed else [0]
    if previous is None:
        shifts = [-min(flat)] if closed else [0]
        previous = [Fraction(0)] * q
    best = None
    for shift in shifts:
        flows = [flow + shift for flow in flat]
        ports = []
        for k in range(q):
            out, into = max(flows[k], 0), max(flows[k - 1], 0)
            back_out, back_in = max(-flows[k - 1], 0), max(-flows[k], 0)
            ports += [
                out * following[k] + back_out * previous[k],
                into * following[k - 1] + back_in * previous[(k + 1) % q],
            ]
        best = max(ports) if best is None else min(best, max(ports))
    return best


def unbalanced(before: Counts, after: Counts) -> int:
    """The largest surplus or lack of consecutive members."""
    q = len(before)
    extra = [a - b for a, b in zip(before, after, strict=True)] * 2
    return max(abs(sum(extra[k : k + n])) for k in range(q) for n in range(1, q + 1))
