"""Slow, obvious and exact: what the engine's boxes are compared with. Nothing here uses
hetsched."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, floor

import numpy as np

Sides = tuple[Fraction, Fraction, Fraction]  # height, width, length


def box_cost(sides: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    """alpha times the face of A, beta times that of B, gamma times that of C."""
    height, width, length = sides
    return weights[0] * height * length + weights[1] * length * width + weights[2] * height * width


def guillotine_cost(
    volumes: Sequence[Fraction],
    weights: Sequence[Fraction],
    axes: Sequence[int] = (0, 1, 2),
    sides: Sides | None = None,
) -> Fraction:
    """Least cost over all trees of cuts along the axes, for every way to share the volumes out, in
    a box (the unit cube)."""
    sides = sides or (Fraction(1), Fraction(1), Fraction(1))
    if len(volumes) == 1:
        return box_cost(sides, weights)
    total, best = sum(volumes), None
    others = range(1, len(volumes))
    for size in range(len(volumes) - 1):
        for chosen in combinations(others, size):  # with volume 0 on the first side
            first = [volumes[i] for i in (0, *chosen)]
            second = [volumes[i] for i in others if i not in chosen]
            for axis in axes:
                a, b = list(sides), list(sides)
                a[axis] *= sum(first) / total
                b[axis] *= sum(second) / total
                cost = guillotine_cost(first, weights, axes, tuple(a)) + guillotine_cost(
                    second, weights, axes, tuple(b)
                )
                best = cost if best is None else min(best, cost)
    return best


def half_perimeters(
    areas: Sequence[Fraction], height: Fraction = Fraction(1), width: Fraction = Fraction(1)
) -> Fraction:
    """Least sum of height + width over all guillotine tilings of a rectangle."""
    if len(areas) == 1:
        return height + width
    total, costs = sum(areas), []
    others = range(1, len(areas))
    for size in range(len(areas) - 1):
        for chosen in combinations(others, size):
            first = [areas[i] for i in (0, *chosen)]
            second = [areas[i] for i in others if i not in chosen]
            r = sum(first) / total
            costs.append(
                half_perimeters(first, height * r, width)
                + half_perimeters(second, height * (1 - r), width)
            )
            costs.append(
                half_perimeters(first, height, width * r)
                + half_perimeters(second, height, width * (1 - r))
            )
    return min(costs)


def tile_load(
    tree: Sequence[int], volumes: Sequence[Fraction], shape: tuple[int, int, int], reach: int | None
) -> Fraction:
    """Least maximum of actual / asked volume over all integer cuts of a postfix tree whose sides
    stay within `reach` of the ideal ones (None: over all cuts)."""
    stack: list = []
    for node in tree:
        stack.append(node if node >= 0 else (-1 - node, stack.pop(-2), stack.pop()))
    unit = Fraction(shape[0] * shape[1] * shape[2]) / volume_of(stack[0], volumes)

    def least(node, sides: tuple[int, int, int], ideal: Sequence[Fraction]) -> Fraction:
        if isinstance(node, int):
            return sides[0] * sides[1] * sides[2] / (volumes[node] * unit)
        axis, first, second = node
        share = volume_of(first, volumes) / volume_of(node, volumes)
        ideal_a, ideal_b = list(ideal), list(ideal)
        ideal_a[axis], ideal_b[axis] = ideal[axis] * share, ideal[axis] * (1 - share)
        loads = []
        for cut in range(sides[axis] + 1):
            a, b = list(sides), list(sides)
            a[axis], b[axis] = cut, sides[axis] - cut
            if reach is None or all(
                ceil(i - reach) <= s <= floor(i + reach)
                for i, s in ((ideal_a[axis], a[axis]), (ideal_b[axis], b[axis]))
            ):
                loads.append(max(least(first, tuple(a), ideal_a), least(second, tuple(b), ideal_b)))
        return min(loads)

    return least(stack[0], shape, [Fraction(side) for side in shape])


def volume_of(node, volumes: Sequence[Fraction]) -> Fraction:
    return (
        volumes[node]
        if isinstance(node, int)
        else volume_of(node[1], volumes) + volume_of(node[2], volumes)
    )


def covers_exactly(shape: tuple[int, int, int], boxes: Sequence[Sequence[int]]) -> bool:
    """Whether the boxes (row, col, depth, height, width, length) fill every cell once and nothing
    outside."""
    filled = np.zeros(shape, np.int64)
    for box in boxes:
        start, sides = box[:3], box[3:]
        if min(box) < 0 or any(
            s + e > limit for s, e, limit in zip(start, sides, shape, strict=True)
        ):
            return False
        filled[tuple(slice(s, s + e) for s, e in zip(start, sides, strict=True))] += 1
    return bool((filled == 1).all())


def least_separate_cost(volume: float, weights: Sequence[float], steps: int) -> float:
    """Least cost of one box of that volume in the unit cube, over a grid of heights and widths on a
    log scale."""
    grid = volume ** np.linspace(0, 1, steps)
    height, width = np.meshgrid(grid, grid)
    length = volume / (height * width)
    cost = weights[0] * height * length + weights[1] * length * width + weights[2] * height * width
    return float(cost[length <= 1 + 1e-9].min())
