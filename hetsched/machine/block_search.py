"""The search for the blocks that suit kinds of core best, by times that vary: size by size, from the better of two starts.

A product shows a size only if it is cut by it: each one here is three of the larger of the two sizes long in that direction, and
where columns count it has no more than a twentieth of its operands in packed panels: else `hs_gemm` takes narrower ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from .._engine.kernels import Blocking

TYPES = ("float32", "float64")
_NAMES = ("depth", "rows", "cols")
_FACTORS = ((1, 2), (3, 4), (4, 3), (2, 1))
_PARTS = 3  # of the larger size in a product: 4 of the smaller one, or 6
_SHARE = 20  # of packed panels in the operands, at most
_DEPTH_STEP, _LEAST_DEPTH, _MOST = 4, 16, 2**20
_ROUNDS = 15  # so many that chance does not have the say, in dozens of comparisons
_LOOKS = (3, 7)  # rounds after which one that is not sooner is given up
_MARGIN = 0.02  # of the time: what is sooner by less is as fast
_USUAL, _LONGEST = 0.03, 0.5  # seconds of a product
_LEAST_COLS, _MOST_COLS = 512, 2048  # of products for depth and rows
_GUESS = 20e9  # flops per second, before the first product

Sizes = tuple[int, int, int]


class Shape(NamedTuple):
    """Of a product: C is m x n, the inner dimension k."""

    m: int
    k: int
    n: int

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.k * self.n


#: Seconds of a product by all workers of a kind, given by its number, in a dtype and blocks.
Timer = Callable[[int, str, Blocking, Shape], float]


@dataclass(frozen=True)
class Kind:
    """What is tried for the workers of the domains of a kind.

    Attributes
    ----------
    workers : int
    starts : mapping
        Kernel -> blocks to begin with, without zeros. The first ones of the first kernel are those in use without a measurement.
    tiles : mapping
        Kernel -> the register tiles of float32 and float64; None for one whose blocks cannot be changed.
    """

    workers: int
    starts: Mapping[str | None, Sequence[Blocking]]
    tiles: Mapping[str | None, Sequence[tuple[int, int]] | None]


class Found(NamedTuple):
    """Blocks of each kind, without zeros and of one depth; and whether there was time for all that was to be tried."""

    blocks: tuple[Blocking, ...]
    whole: bool


def search(kinds: Sequence[Kind], timer: Timer, is_late: Callable[[], bool]) -> Found:
    """The kernel and the blocks with which the workers of each kind are fastest, all in one depth.

    What replaces what was best so far takes 2 % less of the time, and less by more than the times vary. So it ends, and without a
    clear winner at what is in use. No claim is made beyond the sizes that were tried.

    Parameters
    ----------
    kinds : sequence of Kind
    timer : callable
        Times a product.
    is_late : callable
        Whether the time is over: then what is best so far is returned.
    """
    return _Search(kinds, timer, is_late).run()


def is_sooner(challenger: Callable[[], float], incumbent: Callable[[], float]) -> bool:
    """Whether one takes clearly less time than the other: they take turns, after one time of each that does not count.

    Parameters
    ----------
    challenger, incumbent : callable
        Seconds.
    """
    challenger(), incumbent()
    ratios: list[float] = []
    for turn in range(_ROUNDS):
        if turn % 2:
            new, old = challenger(), incumbent()
        else:
            old, new = incumbent(), challenger()
        ratios.append(new / old)
        if turn + 1 in _LOOKS and np.median(ratios) >= 1.0 - _MARGIN:
            return False
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return bool(middle < 1.0 - max(_MARGIN, high - low))


class _Search:
    def __init__(self, kinds: Sequence[Kind], timer: Timer, is_late: Callable[[], bool]) -> None:
        self._kinds, self._timer, self._is_late = kinds, timer, is_late
        self._whole = True
        self._rates: dict[tuple[int, int], float] = {}  # flops per second of a kind in a type, of its first product

    def run(self) -> Found:
        found = [self._start(i, self._kernel(i)) for i in range(len(self._kinds))]
        for t in reversed(range(len(TYPES))):  # if there is not time for both, then for float64
            alone = [self._descend(i, t, blocks, _NAMES) for i, blocks in enumerate(found)]
            found = self._of_one_depth(t, alone)
        return Found(tuple(found), self._whole)

    # ---- the stages ----

    def _kernel(self, i: int) -> Blocking:
        """The first blocks of the kernel that is soonest done, by both types."""
        first, *others = (blocks[0] for blocks in self._kinds[i].starts.values())
        for other in others:
            pairs = [(t, self._shape(i, t, (first, other))) for t in range(len(TYPES))]
            if self._is_sooner(self._both(i, other, pairs), self._both(i, first, pairs)):
                first = other
        return first

    def _both(self, i: int, blocks: Blocking, pairs: Sequence[tuple[int, Shape]]) -> Callable[[], float]:
        """The geometric mean: neither type's time hides the other's."""
        return lambda: math.sqrt(math.prod(self._timer(i, TYPES[t], blocks, shape) for t, shape in pairs))

    def _start(self, i: int, first: Blocking) -> Blocking:
        """For each type the depth and rows of the better start; columns are seen in another product."""
        for other in self._kinds[i].starts[first.kernel][1:]:
            for t in range(len(TYPES)):
                first = self._better(i, t, first, _changed(first, t, (*_of(other, t)[:2], first.cols[t])), "rows")
        return first

    def _descend(self, i: int, t: int, best: Blocking, names: Sequence[str]) -> Blocking:
        """One size after the other, until none is better; what was tried once is not tried again."""
        tried = {_of(best, t)}
        again = True
        while again:
            again = False
            for name in names:
                for sizes in self._neighbours(i, t, best, name):
                    if sizes not in tried:
                        tried.add(sizes)
                        better = self._better(i, t, best, _changed(best, t, sizes), name)
                        again, best = again or better != best, better
        return best

    def _of_one_depth(self, t: int, alone: list[Blocking]) -> list[Blocking]:
        """As a pool will have it: in that depth of one of the kinds in which all together are fastest, in the least if none is
        clearly better; then the other sizes in that."""
        depths = sorted({blocks.depth[t] for blocks in alone})
        best = [self._deepened(i, t, blocks, depths[0]) for i, blocks in enumerate(alone)]
        for depth in depths[1:]:
            other = [self._deepened(i, t, blocks, depth) for i, blocks in enumerate(alone)]
            shapes = [self._shape(i, t, pair) for i, pair in enumerate(zip(best, other, strict=True))]
            if self._is_sooner(self._together(t, other, shapes), self._together(t, best, shapes)):
                best = other
        changed = [blocks.depth[t] != own.depth[t] for blocks, own in zip(best, alone, strict=True)]
        return [self._descend(i, t, x, _NAMES[1:]) if changed[i] else x for i, x in enumerate(best)]

    def _together(self, t: int, blocks: Sequence[Blocking], shapes: Sequence[Shape]) -> Callable[[], float]:
        """Seconds per flop of all kinds at once, each for itself as fast as it is alone."""
        return lambda: 1.0 / sum(x.flops / self._timer(i, TYPES[t], blocks[i], x) for i, x in enumerate(shapes))

    # ---- sizes ----

    def _neighbours(self, i: int, t: int, blocks: Blocking, name: str) -> Iterator[Sizes]:
        """Those that differ in one size; of the depth, with blocks of A that take as much of their cache."""
        kind = self._kinds[i]
        tiles = kind.tiles[blocks.kernel]
        if tiles is None:
            return
        depth, rows, cols = _of(blocks, t)
        tile_rows, tile_cols = tiles[t]
        for factor in _FACTORS:
            if name == "depth":
                yield _of(self._deepened(i, t, blocks, _scaled(depth, factor, _DEPTH_STEP, _LEAST_DEPTH)), t)
            elif name == "rows":
                yield depth, _scaled(rows, factor, tile_rows, tile_rows), cols
            else:
                yield depth, rows, _scaled(cols, factor, tile_cols, tile_cols)
        if name == "cols":
            yield from ((depth, rows, other.cols[t]) for other in kind.starts[blocks.kernel])

    def _deepened(self, i: int, t: int, blocks: Blocking, depth: int) -> Blocking:
        tiles = self._kinds[i].tiles[blocks.kernel]
        rows = blocks.rows[t]
        if tiles is not None and depth != blocks.depth[t]:
            tile = tiles[t][0]
            rows = max(tile, min(_MOST, round(rows * blocks.depth[t] / depth / tile) * tile))
        return _changed(blocks, t, (depth, rows, blocks.cols[t]))

    # ---- products ----

    def _better(self, i: int, t: int, incumbent: Blocking, challenger: Blocking, name: str) -> Blocking:
        """The one of two blocks that a product in which this size is seen tells to be faster; without such a one the first."""
        shape = self._shape(i, t, (incumbent, challenger), by_cols=name == "cols")
        if shape.flops > _LONGEST * self._rate(i, t, incumbent):
            return incumbent
        new, old = (partial(self._timer, i, TYPES[t], blocks, shape) for blocks in (challenger, incumbent))
        return challenger if self._is_sooner(new, old) else incumbent

    def _is_sooner(self, challenger: Callable[[], float], incumbent: Callable[[], float]) -> bool:
        if self._is_late():
            self._whole = False
            return False
        return is_sooner(challenger, incumbent)

    def _shape(self, i: int, t: int, pair: Sequence[Blocking], *, by_cols: bool = False) -> Shape:
        workers = self._kinds[i].workers
        depth, rows, cols = (max(getattr(blocks, name)[t] for blocks in pair) for name in _NAMES)
        m = workers * _PARTS * rows
        if by_cols:
            k, n = depth, _PARTS * cols
            packed = depth * ((2 if workers > 1 else 1) * cols + workers * rows)
            return Shape(max(m, -(-(_SHARE * packed - k * n) // (n + k)) + 1), k, n)
        k = _PARTS * depth
        wanted = _USUAL * self._rate(i, t, pair[0]) / (2.0 * m * k)
        return Shape(m, k, int(min(max(wanted, _LEAST_COLS), _MOST_COLS)))

    def _rate(self, i: int, t: int, blocks: Blocking) -> float:
        """Flops per second, roughly: of the second product in the blocks that are asked about first."""
        if (i, t) not in self._rates:
            self._rates[i, t] = _GUESS
            shape = self._shape(i, t, (blocks,))
            self._timer(i, TYPES[t], blocks, shape)
            self._rates[i, t] = shape.flops / self._timer(i, TYPES[t], blocks, shape)
        return self._rates[i, t]


def _scaled(size: int, factor: tuple[int, int], step: int, least: int) -> int:
    """A multiple of step, rounded towards `size`, so that a product is cut into whole parts by both."""
    over, under = factor
    steps = size * over // (under * step) if over > under else -(-size * over // (under * step))
    return max(-(-least // step) * step, min(_MOST // step, steps) * step)


def _of(blocks: Blocking, t: int) -> Sizes:
    return blocks.depth[t], blocks.rows[t], blocks.cols[t]


def _changed(blocks: Blocking, t: int, sizes: Sizes) -> Blocking:
    """With other sizes of a type."""
    depth, rows, cols = (
        (size, pair[1]) if t == 0 else (pair[0], size)
        for size, pair in zip(sizes, (blocks.depth, blocks.rows, blocks.cols), strict=True)
    )
    return Blocking(blocks.kernel, depth, rows, cols)
