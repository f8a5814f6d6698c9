"""Floorplans as plain geometry: rectangles cut out of a box, and every way to do it. Nothing here
uses hetsched.

A box is (height, width); areas are in proportion and fill it. Numbers may be Fractions: everything
is then exact, but for wheels, corners of an L and square roots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, pairwise, permutations, product
from math import ceil, fsum, sqrt
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from oracles import set_partitions

BESIDE, ABOVE, WHEEL, AROUND, CORNERS = -1, -2, -3, -4, -5
OPERANDS = {BESIDE: 2, ABOVE: 2, WHEEL: 5, AROUND: 2, CORNERS: 3}

Number = Any  # float or Fraction
Box = tuple[Number, Number]


class Piece(NamedTuple):
    worker: int
    row: Number
    col: Number
    height: Number
    width: Number


# ---- floorplans ----------------------------------------------------------------------------------


def tree(plan: Sequence[int]) -> Any:
    """The nested form of a postfix floorplan: a worker, or (operator, operands...)."""
    stack: list[Any] = []
    for entry in plan:
        if entry >= 0:
            stack.append(entry)
            continue
        operands = stack[len(stack) - OPERANDS[entry] :]
        assert len(operands) == OPERANDS[entry], "an operator without operands"
        if entry in (AROUND, CORNERS):
            assert isinstance(operands[-1], int), "who goes around must be a worker"
        del stack[-OPERANDS[entry] :]
        stack.append((entry, *operands))
    assert len(stack) == 1, "not one floorplan"
    return stack[0]


def members(node: Any) -> list[int]:
    return (
        [node]
        if isinstance(node, int)
        else [worker for operand in node[1:] for worker in members(operand)]
    )


def scaled(areas: Sequence[Number], box: Box) -> list[Number]:
    """The areas that fill the box."""
    total = sum(areas)
    return [area * box[0] * box[1] / total for area in areas]


def wheel(
    top_left: Number, right: Number, bottom: Number, left: Number, centre: Number
) -> list[tuple[float, ...]]:
    """row, col, height, width of the five in the unit square. The top left one is the width of the
    first x, and the others follow one by one; the bottom one then has its area at one x only."""
    total = top_left + right + bottom + left + centre
    t, r, b, e = (float(area / total) for area in (top_left, right, bottom, left))

    def lengths(x: float) -> tuple[float, float, float]:
        y = t / x  # height of the top left one
        # its height, the width of the left one, the height of the right one
        return y, e / (1 - y), r / (1 - x)

    def surplus(x: float) -> float:
        _, left_width, right_height = lengths(x)
        return (1 - left_width) * (1 - right_height) - b

    x = brentq(surplus, t + e, 1 - r, xtol=1e-16, rtol=1e-15)
    y, z, u = lengths(x)
    return [
        (0, 0, y, x),
        (0, x, u, 1 - x),
        (u, z, 1 - u, 1 - z),
        (y, 0, 1 - y, z),
        (y, z, u - y, x - z),
    ]


def place(node: Any, size: Sequence[Number], box: Piece, weights: Sequence[Number]) -> list[Piece]:
    """The pieces of the workers of a (sub)tree; the worker of `box` does not matter."""
    _, row, col, height, width = box
    if isinstance(node, int):
        return [Piece(node, row, col, height, width)]
    operator, first, second, *others = node
    one, two = (sum(size[worker] for worker in members(operand)) for operand in (first, second))
    if operator == BESIDE:
        cut = width * (one / (one + two))
        parts = [
            Piece(-1, row, col, height, cut),
            Piece(-1, row, col + cut, height, width * (two / (one + two))),
        ]
    elif operator == ABOVE:
        cut = height * (one / (one + two))
        parts = [
            Piece(-1, row, col, cut, width),
            Piece(-1, row + cut, col, height * (two / (one + two)), width),
        ]
    elif operator == WHEEL:
        five = wheel(
            one, two, *(sum(size[worker] for worker in members(operand)) for operand in others)
        )
        parts = [
            Piece(-1, row + r * height, col + c * width, h * height, w * width)
            for r, c, h, w in five
        ]
    else:  # corners with the sides that cost least for what is in them
        whole = sum(size[worker] for worker in members(node))

        def best_sides(contents: Any) -> tuple[Number, Number]:
            area = height * width * (sum(size[worker] for worker in members(contents)) / whole)

            def of_width(w: float) -> float:
                return float(
                    cost(place(contents, size, Piece(-1, 0, 0, area / w, w), weights), weights)
                )

            limits = float(area / height), float(width)
            found = minimize_scalar(
                of_width, bounds=limits, method="bounded", options={"xatol": 1e-12}
            )
            # all rows, or all columns: what is left is a rectangle
            if of_width(limits[0]) <= found.fun:
                return height, area / height
            if of_width(limits[1]) <= found.fun:
                return area / width, width
            return area / float(found.x), float(found.x)

        if operator == CORNERS:
            return around_two(node, size, box, weights, best_sides)
        h, w = best_sides(first)
        inner = Piece(-1, row + height - h, col + width - w, h, w)
        top = Piece(second, row, col, height - inner.height, width)
        side = Piece(second, row + height - inner.height, col, inner.height, width - inner.width)
        return [*place(first, size, inner, weights), top, side]
    pieces = []
    for operand, part in zip(node[1:], parts, strict=True):
        pieces += place(operand, size, part, weights)
    return pieces


def around_two(
    node: Any,
    size: Sequence[Number],
    box: Piece,
    weights: Sequence[Number],
    best_sides: Callable[[Any], tuple[Number, Number]],
) -> list[Piece]:
    """A zone around boxes in its upper left and its lower right corner, as the cells of the grid
    that their sides make: each cell that is in no corner is a piece of the zone."""
    _, first, second, owner = node
    _, row, col, height, width = box
    (h, w), (g, v) = best_sides(first), best_sides(second)
    if h + g > height and w + v > width:  # strips
        area = height * width / sum(size[worker] for worker in members(node))
        h, g = (area * sum(size[i] for i in members(part)) / width for part in (first, second))
        w = v = width
    corners = [Piece(-1, row, col, h, w), Piece(-1, row + height - g, col + width - v, g, v)]
    pieces = [
        *place(first, size, corners[0], weights),
        *place(second, size, corners[1], weights),
    ]
    rows = sorted({row, row + h, row + height - g, row + height})
    cols = sorted({col, col + w, col + width - v, col + width})
    for (top, bottom), (left, right) in product(pairwise(rows), pairwise(cols)):
        cell = Piece(owner, top, left, bottom - top, right - left)
        if not any(common(cell, corner) > 0 for corner in corners):
            pieces.append(cell)
    return pieces


def zones(
    plan: Sequence[int],
    areas: Sequence[Number],
    box: Box = (1, 1),
    weights: Sequence[Number] | None = None,
) -> list[Piece]:
    """The pieces of a postfix floorplan that holds every worker of positive area once."""
    root = tree(plan)
    assert sorted(members(root)) == [worker for worker, area in enumerate(areas) if area > 0]
    return place(root, scaled(areas, box), Piece(-1, 0, 0, *box), weights or [1] * len(areas))


# ---- what is true of any pieces ------------------------------------------------------------------


def length(intervals: Sequence[tuple[Number, Number]]) -> Number:
    """Of the union of [start, start + size)."""
    total: Number = 0
    end: Number = None
    for start, size in sorted(intervals):
        if end is None or start > end:
            end = start
        if start + size > end:
            total += start + size - end
            end = start + size
    return total


def half_perimeters(pieces: Sequence[Piece], workers: int) -> list[Number]:
    """Height + width of the projections of each worker's zone."""
    result = []
    for worker in range(workers):
        own = [
            piece
            for piece in pieces
            if piece.worker == worker and piece.height > 0 and piece.width > 0
        ]
        result.append(
            length([(o.row, o.height) for o in own]) + length([(o.col, o.width) for o in own])
        )
    return result


def cost(pieces: Sequence[Piece], weights: Sequence[Number]) -> Number:
    halves = half_perimeters(pieces, len(weights))
    return sum(weight * half for weight, half in zip(weights, halves, strict=True))


def area_of(pieces: Sequence[Piece], workers: int) -> list[Number]:
    return [
        sum(piece.height * piece.width for piece in pieces if piece.worker == worker)
        for worker in range(workers)
    ]


def common(one: Piece, two: Piece) -> Number:
    """Area of the intersection."""
    rows = min(one.row + one.height, two.row + two.height) - max(one.row, two.row)
    cols = min(one.col + one.width, two.col + two.width) - max(one.col, two.col)
    return rows * cols if rows > 0 and cols > 0 else 0


def covers(pieces: Sequence[Piece], box: Box = (1, 1), tolerance: float = 0.0) -> bool:
    """Inside the box, disjoint and as large together: a tiling, up to the tolerance (of lengths, in
    boxes)."""
    height, width = box
    for piece in pieces:
        if (
            min(piece.height, piece.width) < 0
            or piece.row < -tolerance * height
            or piece.col < -tolerance * width
        ):
            return False
        if piece.row + piece.height > height * (
            1 + tolerance
        ) or piece.col + piece.width > width * (1 + tolerance):
            return False
    if any(common(one, two) > tolerance * height * width for one, two in combinations(pieces, 2)):
        return False
    return bool(
        abs(sum(piece.height * piece.width for piece in pieces) - height * width)
        <= tolerance * height * width
    )


def painted(m: int, n: int, pieces: Sequence[Sequence[int]]) -> NDArray[np.int64] | None:
    """The worker of each cell of an m x n matrix; None where the pieces overlap, leave a hole or go
    outside."""
    owner = np.full((m, n), -1)
    for worker, row, col, height, width in pieces:
        if min(row, col, height, width) < 0 or row + height > m or col + width > n:
            return None
        if (owner[row : row + height, col : col + width] != -1).any():
            return None
        owner[row : row + height, col : col + width] = worker
    return None if (owner == -1).any() else owner


def painted_cost(owner: NDArray[np.int64], weights: Sequence[Number]) -> Number:
    """Rows touched + columns touched, weighted."""
    masks = [owner == worker for worker in range(len(weights))]
    return sum(
        w * int(mask.any(0).sum() + mask.any(1).sum())
        for w, mask in zip(weights, masks, strict=True)
    )


def moved(before: Sequence[Piece], after: Sequence[Piece]) -> Number:
    """Share of the box that changes hands."""
    kept = sum(common(old, new) for old in before for new in after if old.worker == new.worker)
    return 1 - kept / sum(piece.height * piece.width for piece in before)


# ---- the best of a class, by trying all ----------------------------------------------------------


def pairs(parts: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """All pairs of non-empty sets; the first part is always in the first set."""
    for size in range(len(parts) - 1):
        for chosen in combinations(range(1, len(parts)), size):
            first = (0, *chosen)
            yield (
                tuple(parts[i] for i in first),
                tuple(parts[i] for i in range(len(parts)) if i not in first),
            )


def runs(parts: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """All cuts of a sequence in two."""
    return ((parts[:cut], parts[cut:]) for cut in range(1, len(parts)))


def search(
    parts: Sequence[Any],
    size: Callable[[Any], Number],
    leaf: Callable[[Any, Number, Number], Number],
    box: Box,
    *,
    splits: Callable[[tuple[Any, ...]], Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]] = pairs,
    together: Callable[[Sequence[Number]], Number] = sum,
    wheels: bool = False,
) -> Number:
    """Least value over all ways to cut the box. No direction, order or shape is left out: the
    mirror image of a floorplan has the same half perimeters, so it is not tried."""

    @cache
    def total(some: tuple[Any, ...]) -> Number:
        return sum(size(part) for part in some)

    @cache
    def fives(some: tuple[Any, ...]) -> list[tuple[Any, list[tuple[float, ...]]]]:
        sets = [tuple(map(tuple, five)) for five in set_partitions(some) if len(five) == 5]
        return [(order, wheel(*map(total, order))) for five in sets for order in permutations(five)]

    @cache
    def least(some: tuple[Any, ...], height: Number, width: Number) -> Number:
        if len(some) == 1:
            return leaf(some[0], height, width)
        values = []
        for one, two in splits(some):
            share = total(one) / total(some)
            for a, b in ((height, share * width), (share * height, width)):
                rest = (height, width - b) if a == height else (height - a, width)
                values.append(together([least(one, a, b), least(two, *rest)]))
        for five, rects in fives(some) if wheels else []:
            inner = [
                least(part, h * height, w * width)
                for part, (_, _, h, w) in zip(five, rects, strict=True)
            ]
            values.append(together(inner))
        return min(values)

    return least(tuple(parts), *box)


def _leaves(areas: Sequence[Number], box: Box, weights: Sequence[Number] | None) -> dict[str, Any]:
    size, weight = scaled(areas, box), weights or [1] * len(areas)
    return {
        "size": size.__getitem__,
        "leaf": lambda worker, height, width: weight[worker] * (height + width),
        "box": box,
    }


def _enrolled(areas: Sequence[Number]) -> list[int]:
    return [worker for worker, area in enumerate(areas) if area > 0]


def ascending(areas: Sequence[Number]) -> list[int]:
    return sorted(_enrolled(areas), key=lambda worker: areas[worker])


def best_guillotine(
    areas: Sequence[Number], box: Box = (1, 1), weights: Sequence[Number] | None = None
) -> Number:
    """Over all slicing trees. For up to 6 or 7 areas."""
    return search(_enrolled(areas), **_leaves(areas, box, weights))


def best_interval(
    areas: Sequence[Number],
    box: Box = (1, 1),
    weights: Sequence[Number] | None = None,
    order: Sequence[int] | None = None,
) -> Number:
    """Over the slicing trees whose boxes hold runs of the order (by ascending area)."""
    return search(order or ascending(areas), **_leaves(areas, box, weights), splits=runs)


def best_rectangles(
    areas: Sequence[Number], box: Box = (1, 1), weights: Sequence[Number] | None = None
) -> Number:
    """Over all partitions into rectangles, for up to 6 areas (`floorplans` says why 6)."""
    return search(_enrolled(areas), **_leaves(areas, box, weights), wheels=True)


def best_peri_max(
    areas: Sequence[Number],
    box: Box = (1, 1),
    weights: Sequence[Number] | None = None,
    order: Sequence[int] | None = None,
) -> Number:
    """Least largest weighted half perimeter over all slicing trees, or over those with runs of the
    order."""
    return search(
        order or _enrolled(areas),
        **_leaves(areas, box, weights),
        together=max,
        splits=runs if order else pairs,
    )


def best_groups(
    areas: Sequence[Number],
    groups: Sequence[int],
    group_cost: Number = 1,
    box: Box = (1, 1),
    weights: Sequence[Number] | None = None,
    *,
    intervals: bool = False,
) -> Number:
    """Every group in a rectangle of its own, which costs group_cost * its half perimeter too. With
    intervals: groups by ascending sum of their areas, workers in them by ascending area, and runs
    of both."""
    size = scaled(areas, box)
    inside = {
        group: tuple(
            w for w in (ascending(areas) if intervals else _enrolled(areas)) if groups[w] == group
        )
        for group in dict.fromkeys(groups[w] for w in _enrolled(areas))
    }
    heavy = {group: sum(size[w] for w in inside[group]) for group in inside}
    splits = runs if intervals else pairs
    leaves = _leaves(areas, box, weights)

    @cache
    def leaf(group: int, height: Number, width: Number) -> Number:
        within = search(
            inside[group], leaves["size"], leaves["leaf"], (height, width), splits=splits
        )
        return group_cost * (height + width) + within

    order = sorted(inside, key=heavy.__getitem__) if intervals else list(inside)
    return search(order, heavy.__getitem__, leaf, box, splits=splits)


def floorplans(most: int) -> list[int]:
    """How many floorplans of 1 .. most rectangles are made of straight cuts and wheels (two, left
    and right handed).

    All there are is counted by the Baxter numbers 1, 2, 6, 22, 92, 422, 2074: for up to 6
    rectangles nothing else exists.
    """
    every = [0] * (most + 1)
    # those that a vertical line divides, at the first such line: the left part is not divided
    cut = [0] * (most + 1)
    every[1] = 1
    for p in range(2, most + 1):
        cut[p] = sum((every[a] - cut[a]) * every[p - a] for a in range(1, p))
        powers = [1, *[0] * p]
        for _ in range(5):
            powers = [
                sum(powers[a] * every[k - a] for a in range(k)) if k else 0 for k in range(p + 1)
            ]
        every[p] = 2 * cut[p] + 2 * powers[p]
    return every[1:]


# ---- the rules of others -------------------------------------------------------------------------


def best_columns(areas: Sequence[Number], box: Box = (1, 1)) -> Number:
    """Over all ways to group the areas into full columns."""
    size = [area for area in scaled(areas, box) if area > 0]
    height = box[0]
    return min(
        sum(height + len(column) * sum(column) / height for column in columns)
        for columns in set_partitions(size)
    )


def rows_cost(areas: Sequence[Number], box: Box = (1, 1)) -> Number:
    return len(_enrolled(areas)) * box[1] + box[0]


def recursive_cost(areas: Sequence[Number], box: Box = (1, 1)) -> Number:
    """Crandall and Quinn: the larger half of the workers in one part; the longer side is cut, the
    width of a square."""

    def least(some: list[Number], height: Number, width: Number) -> Number:
        if len(some) == 1:
            return height + width
        first, second = some[: ceil(len(some) / 2)], some[ceil(len(some) / 2) :]
        share = sum(first) / sum(some)
        if height <= width:
            return least(first, height, share * width) + least(
                second, height, width - share * width
            )
        return least(first, share * height, width) + least(second, height - share * height, width)

    return least(sorted((area for area in scaled(areas, box) if area > 0), reverse=True), *box)


def equal_columns_cost(areas: Sequence[Number], columns: int, box: Box = (1, 1)) -> Number:
    """Kalinov and Lastovetsky: columns of equally many workers in their order, the longer columns
    first."""
    size = [area for area in scaled(areas, box) if area > 0]
    ends = [0]
    for column in range(columns):
        ends.append(ends[-1] + len(size) // columns + (column < len(size) % columns))
    return sum(box[0] + (b - a) * sum(size[a:b]) / box[0] for a, b in pairwise(ends))


def contiguous(m: int, n: int, cells: Sequence[int]) -> NDArray[np.int64]:
    """Owners of an m x n matrix dealt row by row, the given number of cells to each worker."""
    assert sum(cells) == m * n
    return np.repeat(np.arange(len(cells)), cells).reshape(m, n)


# ---- lower bounds for zones of any form ----------------------------------------------------------


def bound(
    areas: Sequence[Number], box: Box = (1, 1), weights: Sequence[Number] | None = None
) -> float:
    """No zones, whatever their form, cost less.

    A zone of area s is within the product R x C of its projections:

    1. |R| |C| >= s with |R| <= height, |C| <= width, so |R| + |C| >= 2 sqrt(s), or >= m + s / m if
       the square does not fit in the shorter side m.
    2. Two zones: where the one leaves a row and a column free, the other has them and so both full
       projections. Where it has all rows and not all columns the other one has all rows too. The
       cost is H + W + min(H, W, 2 sqrt(s)) at least.
    3. Three zones: every row and every column meets a zone in common. So the sets of zones that
       rows meet and those that columns meet are such that any two have a zone in common, and the
       cases below are all that there are, with rows and columns either way round.
    """
    height, width = map(float, box)
    size = [float(area) for area in scaled(areas, box)]
    weight = [float(w) for w in weights or [1] * len(size)]
    short = min(height, width)
    given = [(s, w) for s, w in zip(size, weight, strict=True) if s > 0]
    slices = [w * (short + s / short) for s, w in given]
    plain = [
        w * 2 * sqrt(s) if sqrt(s) <= short else sliced
        for (s, w), sliced in zip(given, slices, strict=True)
    ]
    total = fsum(plain)
    if len(given) == 2:
        (s, v), (t, w) = given
        around = min(v * (height + width) + plain[1], w * (height + width) + plain[0])
        return max(
            total,
            min(around, *((v + w) * side + (v * s + w * t) / side for side in (height, width))),
        )
    if len(given) == 3:
        return max(total, min(_cases_of_three(given, plain, height, width)))
    return total


def _cases_of_three(
    given: Sequence[tuple[float, float]], plain: Sequence[float], height: float, width: float
) -> Iterator[float]:
    """Least costs of three zones (area, weight), case by case. plain: each zone's cost alone."""
    for around in range(3):  # in all rows and all columns
        yield given[around][1] * (height + width) + sum(plain) - plain[around]
    for h, w in ((height, width), (width, height)):
        yield fsum(c * (h + s / h) for s, c in given)  # all three in all rows
        for corner in range(3):  # both others in all rows, and one of them in each column
            (s, c), (t, d) = (given[i] for i in range(3) if i != corner)
            columns = min(c * x + d * (w - x) for x in (s / h, w - t / h))
            yield (c + d) * h + columns + plain[corner]
        for first in range(3):
            others = [given[i] for i in range(3) if i != first]
            yield _least_of_strip(given[first][1], sorted(others, key=itemgetter(1)), h, w)
    # two zones in each row and in each column
    light = sorted(range(3), key=lambda i: given[i][1])
    c, d, e = (given[i][1] for i in light)
    yield (c + d) * (height + width) + (e - d) * plain[light[2]] / e


def _least_of_strip(own: float, others: Sequence[tuple[float, float]], h: float, w: float) -> float:
    """A zone of weight `own` is in all rows, each of them with another zone; each column is of this
    zone or of both others, x columns not of it."""
    (s, c), (t, d) = others
    strip = (s + t) / h

    def cost(x: float) -> float:
        columns = min(max(x, t / h, sqrt(t)), w)
        return own * (h + w - x) + c * (h + strip + x) + (d - c) * (columns + t / columns)

    low, high = 0.0, strip
    for _ in range(100):  # it is convex
        third = (high - low) / 3
        if cost(low + third) <= cost(high - third):
            high -= third
        else:
            low += third
    return min(cost(low), cost(high))


def least_projections(
    m: int, n: int, cells: Sequence[int], weights: Sequence[int] | None = None
) -> int:
    """Least weighted sum of projections over all colourings of an m x n grid with that many cells
    of each colour.

    Rows (and columns) count only by the set of colours that they may hold; colours can be given to
    the cells, each from what its row and its column allow, if no set of colours has more cells that
    allow nothing else than it needs (Hall).
    """
    colours = len(cells)
    assert sum(cells) == m * n
    kinds = np.arange(1, 1 << colours)
    price = np.array(
        [
            sum((weights or [1] * colours)[i] for i in range(colours) if kind >> i & 1)
            for kind in kinds
        ]
    )

    def lines(count: int) -> NDArray[np.int64]:
        chosen = combinations_with_replacement(range(len(kinds)), count)
        return np.array([np.bincount(choice, minlength=len(kinds)) for choice in chosen])

    rows, cols = lines(m), lines(n)
    feasible = np.ones((len(rows), len(cols)), bool)
    allowed = kinds[:, None] & kinds[None, :]
    for some in range(1 << colours):
        only = ((allowed & ~some) == 0).astype(np.int64)
        feasible &= rows @ only @ cols.T <= sum(cells[i] for i in range(colours) if some >> i & 1)
    sums = (rows @ price)[:, None] + (cols @ price)[None, :]
    return int(sums[feasible].min())


def least_projections_plainly(m: int, n: int, cells: Sequence[int]) -> int:
    """The same by painting every colouring. For up to 9 or 12 cells."""

    def paint(left: tuple[int, ...], so_far: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if not any(left):
            yield so_far
        for colour, count in enumerate(left):
            if count:
                yield from paint(
                    (*left[:colour], count - 1, *left[colour + 1 :]), (*so_far, colour)
                )

    def value(colouring: tuple[int, ...]) -> int:
        places = [(colour, *divmod(cell, n)) for cell, colour in enumerate(colouring)]
        return len({(colour, row) for colour, row, _ in places}) + len(
            {(colour, col) for colour, _, col in places}
        )

    return min(map(value, paint(tuple(cells), ())))


# a square of side 1/9 amid four rectangles of 4/9 x 5/9
PINWHEEL = [Fraction(20, 81)] * 4 + [Fraction(1, 81)]


def least_load(plan: Sequence[int], areas: Sequence[Number], shape: tuple[int, int]) -> float:
    """Least largest (cells given / cells asked for) over all integer cuts of a floorplan of
    straight cuts."""
    size = scaled(areas, shape)

    @cache
    def load(node: Any, height: int, width: int) -> float:
        if height == 0 or width == 0:
            return 0.0
        if isinstance(node, int):
            return float(height * width / size[node])
        operator, first, second = node
        if operator == BESIDE:
            return min(
                max(load(first, height, cut), load(second, height, width - cut))
                for cut in range(width + 1)
            )
        return min(
            max(load(first, cut, width), load(second, height - cut, width))
            for cut in range(height + 1)
        )

    return load(tree(plan), *shape)
