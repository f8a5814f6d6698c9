"""Statements of the 2001 paper that one example cannot judge: figures 2 and 3, and random draws."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ..datasets import random
from ..planners.partition import partition
from ..planners.tasks import max_tasks
from .claims import Claim

#: Start times in figures 2 and 3, row by row.
FIGURE2 = ("0 1 2 3 4 5 6 7 8 9", "2 3 4 5 6 7 8 9", "4 5 6 7 8 9", "6 7 8 9", "8 9")
FIGURE3 = (
    "0 1 3 6 10 14 18 22 26 30",
    "2 4 7 11 15 19 23 27 31",
    "5 8 12 16 20 24 28 32",
    "9 13 17 21 25 29 33",
    "14 18 22 26 30 34",
    "20 24 28 32 36",
    "26 30 34 38",
)
_DRAWS = 100  # instances of each size
_COLS = 24  # columns of the pixels; those at the right end have no neighbour


def start_times(owners: list[int], times: list[int], cols: int = _COLS) -> list[list[int]]:
    """(rows, cols) times at which the pixels of figure 1 start, as soon as possible.

    A pixel needs its north-west, north, north-east and west neighbours. A worker of owners[row]
    computes one pixel at a time, first those in its last row that can start.
    """
    rows = len(owners)
    ends = [[math.inf] * cols for _ in range(rows)]
    starts = [[0] * cols for _ in range(rows)]
    nexts, free, now = [0] * rows, [0] * len(times), 0
    while min(nexts) < cols:
        for row in reversed(range(rows)):
            col, worker = nexts[row], owners[row]
            if col == cols or free[worker] > now:
                continue
            above = ends[row - 1][max(0, col - 1) : col + 2] if row else []
            before = ends[row][col - 1 : col] if col else []
            if max([*above, *before], default=0) <= now:
                starts[row][col] = now
                free[worker] = now + times[worker]
                ends[row][col] = free[worker]
                nexts[row] += 1
        now += 1
    return starts


def _figure(what: str, printed: tuple[str, ...], owners: list[int], times: list[int]) -> Claim:
    found = start_times(owners, times)
    here = " / ".join(
        " ".join(map(str, row[: len(line.split())]))
        for row, line in zip(found, printed, strict=True)
    )
    return Claim(what, " / ".join(printed), here)


@cache
def drawn_claims() -> tuple[Claim, ...]:
    """Figures 2 and 3, the guarantee of section 3.2.4 and theorem 1 on random draws."""
    shares, sets = [], 0
    for p in (2, 3, 5, 8, 13, 21, 34):
        speeds = 1 / random("uniform", p, seed=p, size=_DRAWS, ratio=100)
        plans = [partition(row, "columns") for row in speeds]
        shares += [plan.cost / guarantee for plan in plans if (guarantee := plan.guarantee)]
        sets += len(plans)
    lost, draw = [], np.random.default_rng(2001)
    for p in (2, 3, 4, 5, 6):
        times = draw.integers(1, 10, (_DRAWS, p)).astype(np.float64)
        messages, bounds = draw.integers(1, 4, (_DRAWS, 2)), draw.integers(8, 41, _DRAWS)
        for own, (send, receive), bound in zip(times, messages, bounds, strict=True):
            given = float(bound), own, float(send), float(receive)
            paper, best = max_tasks(*given, method="paper"), max_tasks(*given)
            assert best.optimal
            lost.append((best.tasks - paper.tasks) / p)
    return (
        _figure("2: start times", FIGURE2, list(range(5)), [1] * 5),
        _figure("3: start times", FIGURE3, [0, 0, 0, 0, 1, 1, 2], [1, 2, 4]),
        Claim(
            "3.2.4: cost of columns over sqrt(r) (1 + 1 / sqrt(p)) times the bound",
            "at most 1",
            f"{max(shares):.3f} at most, of {sets} random sets of 2 to 34 areas",
            "",
            "not above 1",
            max(shares) <= 1,
        ),
        Claim(
            "Theorem 1: tasks that the two matchings lose, over p",
            "at most 1",
            f"{max(lost):.2f} at most, {np.mean(lost):.3f} on average, of {len(lost)} random"
            " instances of 2 to 6 workers",
            "",
            "not above 1",
            max(lost) <= 1,
        ),
    )
