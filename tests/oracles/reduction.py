"""The reduction of a Hermitian matrix to a band, step by step in exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction


def edges(n: int, block: int) -> list[tuple[int, int]]:
    """The first and the last column + 1 of each block."""
    return [(first, min(first + block, n)) for first in range(0, n, block)]


def panels(n: int, block: int) -> int:
    """Block columns with at least two rows below the band."""
    return sum(1 for _, last in edges(n, block) if n - last >= 2 and last % block == 0)


def panel_work(n: int, block: int, k: int) -> Fraction:
    """A QR factorisation of the rows below the band, and half as much again for T."""
    few, many = sorted((n - (k + 1) * block, block))
    return Fraction(3, 2) * few**2 * (many - Fraction(few, 3))


def product_work(n: int, block: int, k: int, rows: int) -> int:
    """Some rows of A V, then of (A V) T, and their part of V^H Y."""
    return rows * (n - (k + 1) * block) * block + 2 * rows * block**2


def update_work(n: int, block: int, first: int, last: int) -> int:
    """Two products of depth block from the first diagonal element on, and Y - V X^H."""
    return (last - first) * ((n - first) * 2 * block + block**2)


#: kind, worker, panel, block, start, end, multiply-adds
Task = tuple[str, int, int, int, Fraction, Fraction, Fraction]


def replay(
    n: int,
    block: int,
    owner: Sequence[int],
    times: Sequence[Fraction | None],
    panel_times: Sequence[Fraction | None],
) -> list[Task]:
    """All tasks, with times per multiply-add; None: infinite."""
    blocks, steps = edges(n, block), panels(n, block)
    tasks: list[Task] = []
    free = [Fraction(0)] * len(times)

    def do(kind: str, panel: int, j: int, work: Fraction) -> None:
        worker = owner[j]
        start = free[worker]
        free[worker] += work * (panel_times if kind == "panel" else times)[worker]
        tasks.append((kind, worker, panel, j, start, free[worker], work))

    def meet() -> None:
        free[:] = [max(free)] * len(free)

    if steps:
        do("panel", 0, 0, panel_work(n, block, 0))
    for k in range(steps):
        meet()
        for j in range(k + 1, len(blocks)):
            first, last = blocks[j]
            do("product", k, j, Fraction(product_work(n, block, k, last - first)))
        meet()
        for j in range(k + 1, len(blocks)):
            do("update", k, j, Fraction(update_work(n, block, *blocks[j])))
            if j == k + 1 < steps:
                do("panel", j, j, panel_work(n, block, j))
    return tasks


def makespan(tasks: Sequence[Task]) -> Fraction:
    return max((task[5] for task in tasks), default=Fraction(0))


def best(
    n: int,
    block: int,
    times: Sequence[Fraction],
    panel_times: Sequence[Fraction],
) -> Fraction:
    """The least makespan of all owners."""
    count = len(edges(n, block))
    return min(
        makespan(replay(n, block, owner, times, panel_times))
        for owner in itertools.product(range(len(times)), repeat=count)
    )
