"""Floorplans and the partition rules of others, slow and obvious. Nothing here uses hetsched.

A tree is a worker (an int) or (operator, first, second).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

BESIDE, ABOVE, AROUND = -1, -2, -4
TIE = Fraction(1, 2**40)  # what is nearer than this is equal

Tree = Any
Rect = tuple[float, float, float, float]  # row, col, height, width


def tree_of(plan: Sequence[int]) -> Tree:
    """The tree of a postfix floorplan with two operands per operator."""
    stack: list[Tree] = []
    for entry in plan:
        if entry >= 0:
            stack.append(entry)
        else:
            assert entry in (BESIDE, ABOVE, AROUND)
            second, first = stack.pop(), stack.pop()
            assert entry != AROUND or isinstance(second, int)
            stack.append((entry, first, second))
    (tree,) = stack
    return tree


def workers_of(tree: Tree) -> list[int]:
    return [tree] if isinstance(tree, int) else workers_of(tree[1]) + workers_of(tree[2])


# ---- geometry ------------------------------------------------------------------------------------


def zones(
    tree: Tree, areas: Sequence[float], aspect: float, *, stretched: bool = True
) -> dict[int, list[Rect]]:
    """The rectangles of each worker in a box of area 1; with stretched=False all corners are
    squares."""
    total = math.fsum(areas)
    found: dict[int, list[Rect]] = {}

    def area(part: Tree) -> float:
        return math.fsum(areas[worker] for worker in workers_of(part)) / total

    def sides(part: Tree, height: float, width: float) -> list[tuple[float, float]]:
        """Height and width of every zone whose sides are fixed shares of the box's."""
        if isinstance(part, int) or part[0] == AROUND:
            return [(height, width)]
        share, rest = area(part[1]) / area(part), area(part[2]) / area(part)
        if part[0] == BESIDE:
            return sides(part[1], height, width * share) + sides(part[2], height, width * rest)
        return sides(part[1], height * share, width) + sides(part[2], height * rest, width)

    def place(part: Tree, row: float, col: float, height: float, width: float) -> None:
        if isinstance(part, int):
            found[part] = [(row, col, height, width)]
            return
        operator, first, second = part
        share, rest = area(first) / area(part), area(second) / area(part)
        if operator == BESIDE:
            place(first, row, col, height, width * share)
            place(second, row, col + width * share, height, width * rest)
        elif operator == ABOVE:
            place(first, row, col, height * share, width)
            place(second, row + height * share, col, height * rest, width)
        else:
            heights, widths = zip(*sides(first, 1.0, 1.0), strict=True)
            wish = math.sqrt(sum(heights) / sum(widths)) if stretched else 1.0
            inner_width = min(max(math.sqrt(area(first)) * wish, area(first) / height), width)
            inner_height = min(area(first) / inner_width, height)
            upper, left = height - inner_height, width - inner_width
            place(first, row + upper, col + left, inner_height, inner_width)
            pieces = [(row, col, upper, width), (row + upper, col, inner_height, left)]
            found[second] = [piece for piece in pieces if piece[2] > 0 and piece[3] > 0]

    place(tree, 0.0, 0.0, 1 / math.sqrt(aspect), math.sqrt(aspect))
    return found


def covered(intervals: Sequence[tuple[float, float]]) -> float:
    """Length of a union of intervals (start, length)."""
    length, reached = 0.0, -math.inf
    for start, size in sorted(intervals):
        length += max(start + size, reached) - max(start, reached) if reached > start else size
        reached = max(reached, start + size)
    return length


def half_perimeter(pieces: Sequence[Sequence[float]]) -> float:
    """Rows touched plus columns touched."""
    return covered([(piece[0], piece[2]) for piece in pieces]) + covered(
        [(piece[1], piece[3]) for piece in pieces]
    )


# ---- rules ---------------------------------------------------------------------------------------


def exact(areas: Sequence[float]) -> list[Fraction]:
    return [Fraction(area) for area in areas]


def chain(operator: int, parts: Sequence[Tree]) -> Tree:
    tree, *rest = parts
    for part in rest:
        tree = (operator, tree, part)
    return tree


def rows(areas: Sequence[float], aspect: float) -> Tree:
    return chain(ABOVE, [i for i, area in enumerate(areas) if area > 0])


def kalinov_lastovetsky(areas: Sequence[float], aspect: float) -> Tree:
    """Before the j-th cut are the workers with more than half of their area in the first j /
    columns of the whole."""
    given = [(i, Fraction(area)) for i, area in enumerate(areas) if area > 0]
    total = sum(area for _, area in given)
    squares = len(given) * Fraction(aspect)
    columns = min(len(given), max(1, math.isqrt(squares.numerator // squares.denominator)))
    cuts = [0]
    middles = [
        (sum(area for _, area in given[:q]) + given[q][1] / 2) / total for q in range(len(given))
    ]
    for j in range(1, columns):
        before = sum(middle < Fraction(j, columns) - TIE for middle in middles)
        cuts.append(min(max(before, cuts[-1] + 1), len(given) - (columns - j)))
    cuts.append(len(given))
    runs = [[worker for worker, _ in given[a:b]] for a, b in zip(cuts, cuts[1:], strict=False)]
    return chain(BESIDE, [chain(ABOVE, run) for run in runs])


def descending(areas: Sequence[float]) -> list[int]:
    return sorted((i for i, area in enumerate(areas) if area > 0), key=lambda i: (-areas[i], i))


def cut(
    height: Fraction, width: Fraction, share: Fraction
) -> tuple[int, tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Across the longer side: the operator, and the sides of both parts."""
    if width / height > 1 - TIE:
        return BESIDE, (height, width * share), (height, width * (1 - share))
    return ABOVE, (height * share, width), (height * (1 - share), width)


def _recursive(areas: Sequence[float], aspect: float, count: Any) -> Tree:
    value = exact(areas)

    def divide(workers: list[int], height: Fraction, width: Fraction) -> Tree:
        if len(workers) == 1:
            return workers[0]
        first, second = workers[: count(workers)], workers[count(workers) :]
        share = sum(value[i] for i in first) / sum(value[i] for i in workers)
        operator, sides, others = cut(height, width, share)
        return (operator, divide(first, *sides), divide(second, *others))

    return divide(descending(areas), Fraction(1), Fraction(aspect))


def recursive(areas: Sequence[float], aspect: float) -> Tree:
    return _recursive(areas, aspect, lambda workers: math.ceil(len(workers) / 2))


def nagamochi_abe(areas: Sequence[float], aspect: float) -> Tree:
    value = exact(areas)

    def count(workers: list[int]) -> int:
        total = sum(value[i] for i in workers)
        return next(
            k
            for k in range(1, len(workers))
            if sum(value[i] for i in workers[:k]) / total >= (1 - TIE) / 3
        )

    return _recursive(areas, aspect, count)


def snrpp(areas: Sequence[float], aspect: float) -> Tree:
    """As published, from the interval: a prefix in it is cut off, of several the one nearest to
    half."""
    value = exact(areas)

    def divide(workers: list[int], height: Fraction, width: Fraction) -> Tree:
        if len(workers) == 1:
            return workers[0]
        total = sum(value[i] for i in workers)
        low = min(height / width, width / height) / 3
        shares = [(k, sum(value[i] for i in workers[:k]) / total) for k in range(1, len(workers))]
        if shares[-1][1] < low * (1 - TIE):
            assert not any(low <= share <= 1 - low for _, share in shares)
            return (AROUND, divide(workers[:-1], Fraction(1), Fraction(1)), workers[-1])
        within = [(k, share) for k, share in shares if low - 2 * TIE <= share <= 1 - low + 2 * TIE]
        nearest = min(abs(share - Fraction(1, 2)) for _, share in within)
        k, share = next(
            (k, share) for k, share in within if abs(share - Fraction(1, 2)) <= nearest + TIE
        )
        operator, sides, others = cut(height, width, share)
        return (operator, divide(workers[:k], *sides), divide(workers[k:], *others))

    ascending = sorted((i for i, area in enumerate(areas) if area > 0), key=lambda i: (areas[i], i))
    return divide(ascending, Fraction(1), Fraction(aspect))


def kaddoura_cost(areas: Sequence[float], aspect: float) -> float:
    """The cost of the recursive rule with boxes of up to four parts cut in the best of all ways."""

    def least(parts: list[float], height: float, width: float) -> float:
        if len(parts) == 1:
            return height + width
        costs = []
        for inner in range(1, 2 ** len(parts) - 1):
            first = [area for k, area in enumerate(parts) if inner >> k & 1]
            second = [area for k, area in enumerate(parts) if not inner >> k & 1]
            share = math.fsum(first) / math.fsum(parts)
            costs.append(
                least(first, height, width * share) + least(second, height, width * (1 - share))
            )
            costs.append(
                least(first, height * share, width) + least(second, height * (1 - share), width)
            )
        return min(costs)

    def divide(parts: list[float], height: Fraction, width: Fraction) -> float:
        if len(parts) <= 4:
            return least(parts, float(height), float(width))
        count = math.ceil(len(parts) / 2)
        share = sum(exact(parts[:count]), Fraction(0)) / sum(exact(parts), Fraction(0))
        _, sides, others = cut(height, width, share)
        return divide(parts[:count], *sides) + divide(parts[count:], *others)

    parts = [areas[i] for i in descending(areas)]
    return divide(parts, Fraction(1), Fraction(aspect)) / math.sqrt(aspect)


def mohammadi_behroozi_cost(areas: Sequence[float], aspect: float) -> float:
    """The two smallest areas of a box are joined until two are left, for every box anew. Of equal
    ones a single area goes before a joined one, and an earlier one before a later one."""

    def divide(parts: list[Fraction], height: Fraction, width: Fraction) -> float:
        if len(parts) == 1:
            return float(height + width)
        heap = [(area, k, [area]) for k, area in enumerate(parts)]
        while len(heap) > 2:
            (small, _, first), (large, _, second), *heap = sorted(heap)
            heap.append((small + large, 2 * len(parts) - len(heap), first + second))
        (_, _, second), (share, _, first) = sorted(heap)
        _, sides, others = cut(height, width, share / sum(parts))
        return divide(sorted(first), *sides) + divide(sorted(second), *others)

    parts = sorted(exact([area for area in areas if area > 0]))
    return divide(parts, Fraction(1), Fraction(aspect)) / math.sqrt(aspect)


RULES = {
    "rows": rows,
    "kalinov-lastovetsky": kalinov_lastovetsky,
    "recursive": recursive,
    "nagamochi-abe": nagamochi_abe,
    "snrpp": snrpp,
}
