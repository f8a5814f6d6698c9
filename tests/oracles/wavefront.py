"""Slow, obvious and exact: wavefronts tile by tile, and a judge of their traces. Nothing here uses
hetsched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

OFFSETS = {"W": (0, -1), "N": (-1, 0), "NW": (-1, -1), "NE": (-1, 1), "SW": (1, -1)}
Tile = tuple[int, int]


def neighbours(tile: Tile, shape: Tile, mask: Iterable[str]) -> list[Tile]:
    """The tiles of the mask that are inside the matrix."""
    (row, col), (rows, cols) = tile, shape
    around = [(row + down, col + right) for down, right in (OFFSETS[name] for name in mask)]
    return [(r, c) for r, c in around if 0 <= r < rows and 0 <= c < cols]


def runs(owner: Sequence[int]) -> list[list[int]]:
    """Neighbouring lines of one worker."""
    found: list[list[int]] = []
    for line, worker in enumerate(owner):
        if found and owner[found[-1][-1]] == worker:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def sequences(
    shape: Tile, owner: Sequence[int], mask: Sequence[str], order: str, axis: int
) -> dict[int, list[Tile]]:
    """Each worker's tiles in the order in which it does them."""
    length = shape[1 - axis]
    skew = 1 if {"NE", "SW"} & set(mask) else 0
    result: dict[int, list[Tile]] = {worker: [] for worker in owner}
    for lines in runs(owner):
        cells = [(along, line) for line in lines for along in range(length)]
        if order == "across":
            cells.sort(key=lambda cell: (cell[0] + skew * (cell[1] - lines[0]), cell[1]))
        result[owner[lines[0]]] += [cell if axis == 1 else cell[::-1] for cell in cells]
    return result


def schedule(
    shape: Tile,
    times: Sequence[Fraction],
    owner: Sequence[int],
    mask: Sequence[str],
    order: str,
    axis: int = 1,
) -> tuple[Fraction, dict[Tile, Fraction]]:
    """Makespan and starts: whoever can go on with its next tile does."""
    todo = sequences(shape, owner, mask, order, axis)
    done: dict[Tile, Fraction] = {}
    start: dict[Tile, Fraction] = {}
    free = dict.fromkeys(todo, Fraction(0))
    while any(todo.values()):
        before = len(done)
        for worker, tiles in todo.items():
            while tiles and all(tile in done for tile in neighbours(tiles[0], shape, mask)):
                tile = tiles.pop(0)
                start[tile] = max(
                    [free[worker], *(done[other] for other in neighbours(tile, shape, mask))]
                )
                done[tile] = free[worker] = start[tile] + times[worker]
        assert len(done) > before, "deadlock"
    return max(done.values()), start


def eager(
    shape: Tile, times: Sequence[Fraction], owner: Sequence[int], mask: Sequence[str], axis: int = 1
) -> tuple[Fraction, dict[Tile, Fraction]]:
    """The paper's motivating example, event by event: a free worker takes a ready tile of its
    earliest chunk, and of those the one in the last line."""
    length = shape[1 - axis]
    now, start, done, busy = Fraction(0), {}, set(), {}
    while len(done) < shape[0] * shape[1]:
        for lines in runs(owner):
            worker = owner[lines[0]]
            if worker in busy:
                continue
            tiles = (
                (along, line) if axis == 1 else (line, along)
                for line in reversed(lines)
                for along in range(length)
            )
            for tile in tiles:
                if tile not in start and all(
                    other in done for other in neighbours(tile, shape, mask)
                ):
                    start[tile], busy[worker] = now, (now + times[worker], tile)
                    break
        now = min(end for end, _ in busy.values())
        for worker in [worker for worker, (end, _) in busy.items() if end == now]:
            done.add(busy.pop(worker)[1])
    return now, start


def divided(n: int, times: Sequence[Fraction]) -> list[int]:
    """Counts, one by one to whoever ends first."""
    counts = [0] * len(times)
    for _ in range(n):
        counts[min(range(len(times)), key=lambda i: ((counts[i] + 1) * times[i], i))] += 1
    return counts


def panels(lines: int, times: Sequence[Fraction], period: int, anew: bool) -> list[int]:
    """Owners of the lines; those left over are the first ones of a panel, or divided anew."""
    owner: list[int] = []
    while len(owner) < lines:
        counts = divided(min(period, lines - len(owner)) if anew else period, times)
        for worker in sorted(range(len(times)), key=lambda i: (counts[i] * times[i], i)):
            owner += [worker] * counts[worker]
    return owner[:lines]


def extensions(shape: Tile, mask: Sequence[str]) -> Iterator[list[Tile]]:
    """All sequences of the tiles in which none comes before those that it waits for."""

    def grow(sequence: list[Tile], left: set[Tile]) -> Iterator[list[Tile]]:
        if not left:
            yield sequence
        for tile in sorted(left):
            if not left & set(neighbours(tile, shape, mask)):
                yield from grow([*sequence, tile], left - {tile})

    yield from grow([], set(product(range(shape[0]), range(shape[1]))))


def least_makespan(shape: Tile, times: Sequence[Fraction], mask: Sequence[str]) -> Fraction:
    """Over all owners of the columns and all orders of the tiles: every schedule that starts tiles
    as soon as it can."""
    best = None
    for sequence in extensions(shape, mask):
        for owner in product(range(len(times)), repeat=shape[1]):
            done: dict[Tile, Fraction] = {}
            free = [Fraction(0)] * len(times)
            for tile in sequence:
                worker = owner[tile[1]]
                begin = max(
                    [free[worker], *(done[other] for other in neighbours(tile, shape, mask))]
                )
                done[tile] = free[worker] = begin + times[worker]
            best = max(free) if best is None else min(best, max(free))
    assert best is not None
    return best


def validate(
    events: Iterable[tuple[int, str, float, float, str]],
    shape: Tile,
    owner: Sequence[int],
    mask: Sequence[str],
    axis: int,
) -> None:
    """Replay a trace: every tile once and by its owner, never before those that it waits for, one
    at a time."""
    seen: dict[Tile, tuple[float, float]] = {}
    own: dict[int, list[tuple[float, float]]] = {}
    for worker, kind, start, end, what in events:
        if kind != "compute":
            continue
        match = re.fullmatch(r"tile \((\d+), (\d+)\)", what)
        assert match, what
        tile = int(match[1]), int(match[2])
        assert tile not in seen, f"{what} twice"
        assert owner[tile[axis]] == worker, what
        assert end >= start >= 0
        seen[tile] = start, end
        own.setdefault(worker, []).append((start, end))
    assert set(seen) == set(product(range(shape[0]), range(shape[1]))), "tiles are missing"
    for tile, (start, _) in seen.items():
        assert all(seen[other][1] <= start for other in neighbours(tile, shape, mask)), (
            f"{tile} came too early"
        )
    for stretches in own.values():
        stretches.sort()
        assert all(
            end <= start for (_, end), (start, _) in zip(stretches, stretches[1:], strict=False)
        ), "two at a time"


def swept(
    image: np.ndarray, weights: np.ndarray, rule: str, by_columns: bool = False
) -> np.ndarray:
    """The sequential sweep, element by element, in place on a copy; neighbours outside the image do
    not count."""
    a = image.copy()
    rows, cols = a.shape
    zero = a.dtype.type(0 if rule == "sum" else np.inf)
    places = product(range(rows), range(cols))
    for i, j in sorted(places, key=lambda place: place[::-1]) if by_columns else places:
        value = zero
        for down, right in product((-1, 0, 1), repeat=2):
            weight = a.dtype.type(weights[down + 1][right + 1])
            if weight == zero or not (0 <= i + down < rows and 0 <= j + right < cols):
                continue
            x = a[i + down, j + right]
            if rule == "sum":
                value = value + weight * x
            elif x + weight < value:
                value = x + weight
        a[i, j] = value
    return a
