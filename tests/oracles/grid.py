"""Slow, obvious counterparts of LU on a grid of blocks: every step counted anew, and lines dealt
one by one. Nothing here uses hetsched."""

from __future__ import annotations

from fractions import Fraction
from math import isinf

BESIDE, ABOVE = -1, -2


def recount(owner, times):
    """Loads (Fractions), traffic and what each worker receives, step by step from the
    definition."""
    n, p = len(owner), len(times)
    loads, traffic, received = [], [], [0] * p
    for k in range(n):
        trailing = [(i, j) for i in range(k + 1, n) for j in range(k + 1, n)]
        counts = [sum(owner[i][j] == w for i, j in trailing) for w in range(p)]
        loads.append(
            max([Fraction(0), *(c * Fraction(t) for c, t in zip(counts, times, strict=True) if c)])
        )
        sent = 0
        for w in range(p):
            needs = {(i, k) for i, j in trailing if owner[i][j] == w} | {
                (k, j) for i, j in trailing if owner[i][j] == w
            }
            if any(owner[i][k] == w or owner[k][i] == w for i in range(k + 1, n)):
                needs.add((k, k))
            foreign = sum(owner[i][j] != w for i, j in needs)
            sent += foreign
            received[w] += foreign
        traffic.append(sent)
    return loads, traffic, received


def step_bound(blocks, times):
    """The least max c_i t_i of so many blocks, as the blocks-th smallest multiple."""
    finite = [Fraction(t) for t in times if not isinf(t)]
    counts = [0] * len(finite)
    load = Fraction(0)
    for _ in range(blocks):
        i = min(range(len(finite)), key=lambda w: (counts[w] + 1) * finite[w])
        counts[i] += 1
        load = max(load, counts[i] * finite[i])
    return load


def tree(plan):
    """(operator, parts...) of a postfix plan; parallel cuts next to each other are one."""
    stack = []
    for entry in plan:
        if entry >= 0:
            stack.append(entry)
            continue
        second, first = stack.pop(), stack.pop()
        parts = []
        for part in (first, second):
            parts += part[1:] if isinstance(part, tuple) and part[0] == entry else [part]
        stack.append((entry, *parts))
    assert len(stack) == 1
    return stack[0]


def flat(part):
    """The workers of a part."""
    return [part] if not isinstance(part, tuple) else [w for piece in part[1:] for w in flat(piece)]


def deal(n, times, plan):
    """The owner map of a plan: each cut deals its lines, the last one first, to the part that would
    end it first."""
    owner = [[None] * n for _ in range(n)]
    together = {}
    # (workers, time): the time of every set that is a subtree, in the plan's own order of sums
    stack = []
    for entry in plan:
        if entry >= 0:
            stack.append((frozenset([entry]), times[entry]))
        else:
            (b, second), (a, first) = stack.pop(), stack.pop()
            rate = (1.0 / first if first else 0.0) + (1.0 / second if second else 0.0)
            stack.append((a | b, 1.0 / rate))
        together[stack[-1][0]] = stack[-1][1]

    def place(part, rows, columns):
        if not isinstance(part, tuple):
            for i in rows:
                for j in columns:
                    owner[i][j] = part
            return
        lines = columns if part[0] == BESIDE else rows
        parts = part[1:]
        paces = [together[frozenset(flat(piece))] for piece in parts]
        own = [[] for _ in parts]
        for line in reversed(lines):
            c = min(
                (c for c in range(len(parts)) if not isinf(paces[c])),
                key=lambda c: (len(own[c]) + 1) * Fraction(paces[c]),
            )
            own[c].append(line)
        for piece, given in zip(parts, own, strict=True):
            place(piece, *((rows, given[::-1]) if part[0] == BESIDE else (given[::-1], columns)))

    place(tree(plan), list(range(n)), list(range(n)))
    return owner
