"""Oracles for iterations on slices: the whole matrix at once, every ring and every division, the
model in fractions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np


def iterated(matrix: np.ndarray, steps: int, weight: float) -> np.ndarray:
    """The definition, on the whole cylinder."""
    old, factor = matrix.copy(), matrix.dtype.type(weight)
    for _ in range(steps):
        new = old.copy()
        left, right = np.roll(old, 1, axis=1), np.roll(old, -1, axis=1)
        for row in range(1, len(old) - 1):
            around = old[row - 1] + old[row + 1] + left[row] + right[row]
            new[row] = old[row] + factor * (around - 4 * old[row])
        old = new
    return old


def divisions(cols: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to give each of so many parts at least one column."""
    for cuts in combinations(range(1, cols), parts - 1):
        yield tuple(b - a for a, b in zip((0, *cuts), (*cuts, cols), strict=True))


def messages(ring: Sequence[int], links: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """What each member pays for the unit of volume."""
    if len(ring) == 1:
        return [Fraction(0)]
    return [links[i][ring[(k + 1) % len(ring)]] + links[i][ring[k - 1]] for k, i in enumerate(ring)]


def step_time(
    ring: Sequence[int],
    counts: Sequence[int],
    column: Sequence[Fraction],
    links: Sequence[Sequence[Fraction]],
    fixed: Sequence[Fraction] | None = None,
) -> Fraction:
    """column: time of each worker for a column; links: for the boundary; fixed: in every step."""
    return max(
        int(n) * column[i] + paid + (fixed[i] if fixed else 0)
        for i, n, paid in zip(ring, counts, messages(ring, links), strict=True)
    )


def best_step(
    cols: int,
    column: Sequence[Fraction],
    links: Sequence[Sequence[Fraction]],
    fixed: Sequence[Fraction] | None = None,
) -> Fraction:
    """Over all rings and all divisions into whole columns."""
    return min(
        step_time(ring, counts, column, links, fixed)
        for size in range(1, min(cols, len(column)) + 1)
        for ring in permutations(range(len(column)), size)
        for counts in divisions(cols, size)
    )


def ends(steps: int, durations: Sequence[Fraction]) -> list[Fraction]:
    """When each member of a ring ends its last step, if it starts one when it and both neighbours
    have ended the last."""
    now = [Fraction(0)] * len(durations)
    for _ in range(steps):
        now = [
            max(now[k - 1], now[k], now[(k + 1) % len(now)]) + durations[k] for k in range(len(now))
        ]
    return now


def validate(
    events: Iterable[tuple[int, str, float, float, str]],
    ring: Sequence[int],
    steps: int,
    names: Sequence[str],
    sides: str,
    least: dict[int, tuple[float, float, float]],
) -> None:
    """Replay a trace. Every member does its steps in order: the update, then the exchange with the
    next and the one before, where these take time (least: of each part). None starts a step before
    its neighbours have ended the last. Waiting is all the rest. sides: what goes before the name of
    a neighbour."""
    place = {worker: k for k, worker in enumerate(ring)}
    started: dict[tuple[int, int], float] = {}
    ended: dict[tuple[int, int], float] = {}
    own: dict[int, list[tuple[str, float, float, str]]] = {worker: [] for worker in ring}
    last = {i: 0.0 for i in range(len(names))}
    for worker, kind, start, end, what in events:
        assert end >= start >= last[worker] - 1e-12, "two at a time, or not in order"
        if kind == "wait":
            assert abs(start - last[worker]) < 1e-12
        else:
            own[worker].append((kind, start, end, what))
        last[worker] = end
    for worker, k in place.items():
        around = ring[(k + 1) % len(ring)], ring[k - 1]
        wanted = [("compute", None)] + [("transfer", f"{sides}{names[i]}") for i in around]
        parts = [
            part
            for part, duration in zip(wanted, least[worker], strict=True)
            if duration > 0 or part[0] == "compute"
        ]
        durations = [
            duration for part, duration in zip(wanted, least[worker], strict=True) if part in parts
        ]
        assert len(own[worker]) == steps * len(parts)
        for at, (kind, start, end, what) in enumerate(own[worker]):
            step, part = divmod(at, len(parts))
            assert (kind, what) == (parts[part][0], parts[part][1] or f"step {step}")
            if part == 0:
                started[worker, step] = start
            if part == len(parts) - 1:
                ended[worker, step] = end
            assert end - start >= -1e-12
        for step in range(steps):  # a late part may eat into the next one, but never into the step
            assert ended[worker, step] - started[worker, step] >= 0
        assert ended.get((worker, steps - 1), 0.0) >= steps * sum(durations) * (1 - 1e-9)
    for (worker, step), start in started.items():
        k = place[worker]
        for other in (ring[k - 1], ring[(k + 1) % len(ring)]):
            assert step == 0 or start >= ended[other, step - 1] - 1e-12, (
                f"{worker} starts step {step} too early"
            )
