"""Search for the best block sizes of each kind of core, by noisy measurements.

The search changes one size at a time, beginning with the better of two starts.

The time of a product depends on a size only if the product is cut by it. So each product is three
times as long in that direction as the larger of the two sizes compared. In a comparison of column
sizes the packed panels hold at most a twentieth of the operands, because otherwise `hs_gemm` takes
narrower ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from .._engine.kernels import LEAST_DEPTH, MOST, Blocking
from .._engine.tuning import PACKED_SHARE

TYPES = ("float32", "float64")
_NAMES = ("depth", "rows", "cols")
_FACTORS = ((1, 2), (3, 4), (4, 3), (2, 1))
_PARTS = 3  # multiples of the larger size in a product: that is 4 or 6 of the smaller one
_DEPTH_STEP, _LEAST_DEPTH, _MOST = 4, LEAST_DEPTH, MOST
_ROUNDS = 15  # enough for dozens of comparisons without a wrong result by chance
_LOOKS = (3, 7)  # rounds after which a challenger that is not faster is given up
_MARGIN = 0.02  # fraction of the time: smaller differences count as equal
_USUAL, _LONGEST = 0.03, 0.5  # seconds of a product: usual, and at most
_LEAST_COLS, _MOST_COLS = 512, 2048  # columns of products that compare depth or rows
_GUESS = 20e9  # flops per second, before the first product

Sizes = tuple[int, int, int]


class Shape(NamedTuple):
    """Sizes of a product: C is m x n, the inner dimension is k."""

    m: int
    k: int
    n: int

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.k * self.n


#: (number of a kind, dtype, blocks, shape) -> seconds of a product by all workers of the kind.
Timer = Callable[[int, str, Blocking, Shape], float]


@dataclass(frozen=True)
class Kind:
    """What to try for the workers in domains of one kind.

    Attributes
    ----------
    workers : int
    starts : mapping
        Kernel -> blocks to begin with, without zeros. The first blocks of the first kernel are the
        ones used without a measurement.
    tiles : mapping
        Kernel -> the register tiles of float32 and float64; None for a kernel with fixed blocks.
    """

    workers: int
    starts: Mapping[str | None, Sequence[Blocking]]
    tiles: Mapping[str | None, Sequence[tuple[int, int]] | None]


class Found(NamedTuple):
    """Result of a search.

    blocks : for each kind, without zeros; the depth is the same for all kinds.
    whole : whether the search ended before the time limit. Sizes whose product would take longer
        than half a second are not tried, and do not count here.
    """

    blocks: tuple[Blocking, ...]
    whole: bool


def search(kinds: Sequence[Kind], timer: Timer, is_late: Callable[[], bool]) -> Found:
    """Find the fastest kernel and blocks for each kind of worker, with one depth for all kinds.

    A challenger replaces the best blocks so far if it takes at least 2 % less time, and if the gain
    is larger than the variation of the times. So the search ends. Without a clear winner the result
    is the blocks in use. Nothing is claimed about sizes that were not tried.

    Parameters
    ----------
    kinds : sequence of Kind
    timer : callable
        Times a product.
    is_late : callable
        Whether the time is over. If so, the best blocks so far are returned.
    """
    return _Search(kinds, timer, is_late).run()


def is_sooner(challenger: Callable[[], float], incumbent: Callable[[], float]) -> bool:
    """Whether the challenger takes clearly less time than the incumbent.

    The two take turns. The first time of each does not count.

    Parameters
    ----------
    challenger, incumbent : callable
        Each call returns a time in seconds.
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
        self._rates: dict[tuple[int, int], float] = {}  # (kind, type) -> see `_rate`

    def run(self) -> Found:
        found = [self._start(i, self._kernel(i)) for i in range(len(self._kinds))]
        for t in reversed(range(len(TYPES))):  # float64 first, if there is no time for both
            alone = [self._descend(i, t, blocks, _NAMES) for i, blocks in enumerate(found)]
            found = self._of_one_depth(t, alone)
        return Found(tuple(found), self._whole)

    # ---- the stages ----

    def _kernel(self, i: int) -> Blocking:
        """The first blocks of the kernel that is fastest over both types."""
        first, *others = (blocks[0] for blocks in self._kinds[i].starts.values())
        for other in others:
            pairs = [(t, self._shape(i, t, (first, other))) for t in range(len(TYPES))]
            if self._is_sooner(self._both(i, other, pairs), self._both(i, first, pairs)):
                first = other
        return first

    def _both(
        self, i: int, blocks: Blocking, pairs: Sequence[tuple[int, Shape]]
    ) -> Callable[[], float]:
        """Geometric mean over the types, so that both types count equally."""
        return lambda: math.sqrt(
            math.prod(self._timer(i, TYPES[t], blocks, shape) for t, shape in pairs)
        )

    def _start(self, i: int, first: Blocking) -> Blocking:
        """Take depth and rows of the better start for each type.

        Columns are left to `_descend`: they are compared with products of another shape.
        """
        for other in self._kinds[i].starts[first.kernel][1:]:
            for t in range(len(TYPES)):
                first = self._better(
                    i, t, first, _changed(first, t, (*_of(other, t)[:2], first.cols[t])), "rows"
                )
        return first

    def _descend(self, i: int, t: int, best: Blocking, names: Sequence[str]) -> Blocking:
        """Change one size at a time until no change is better. No sizes are tried twice."""
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
        """Give all kinds the same depth, as a pool needs it.

        The depth is the one of the kinds' depths with which all kinds together are fastest. If none
        is clearly better, it is the least one. Then the other sizes are searched again for this
        depth.
        """
        depths = sorted({blocks.depth[t] for blocks in alone})
        best = [self._deepened(i, t, blocks, depths[0]) for i, blocks in enumerate(alone)]
        for depth in depths[1:]:
            other = [self._deepened(i, t, blocks, depth) for i, blocks in enumerate(alone)]
            shapes = [
                self._shape(i, t, pair) for i, pair in enumerate(zip(best, other, strict=True))
            ]
            if self._is_sooner(self._together(t, other, shapes), self._together(t, best, shapes)):
                best = other
        changed = [blocks.depth[t] != own.depth[t] for blocks, own in zip(best, alone, strict=True)]
        return [self._descend(i, t, x, _NAMES[1:]) if changed[i] else x for i, x in enumerate(best)]

    def _together(
        self, t: int, blocks: Sequence[Blocking], shapes: Sequence[Shape]
    ) -> Callable[[], float]:
        """Seconds per flop of all kinds together, if each is as fast as alone."""
        return lambda: (
            1.0
            / sum(x.flops / self._timer(i, TYPES[t], blocks[i], x) for i, x in enumerate(shapes))
        )

    # ---- sizes ----

    def _neighbours(self, i: int, t: int, blocks: Blocking, name: str) -> Iterator[Sizes]:
        """Yield sizes that differ in the size `name`.

        A change of the depth also changes the rows, so that blocks of A fill the same part of their
        cache.
        """
        kind = self._kinds[i]
        tiles = kind.tiles[blocks.kernel]
        if tiles is None:
            return
        depth, rows, cols = _of(blocks, t)
        tile_rows, tile_cols = tiles[t]
        for factor in _FACTORS:
            if name == "depth":
                yield _of(
                    self._deepened(i, t, blocks, _scaled(depth, factor, _DEPTH_STEP, _LEAST_DEPTH)),
                    t,
                )
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

    def _better(
        self, i: int, t: int, incumbent: Blocking, challenger: Blocking, name: str
    ) -> Blocking:
        """The faster blocks, by a product with a time that depends on the size `name`.

        The incumbent stays if such a product would take too long.
        """
        shape = self._shape(i, t, (incumbent, challenger), by_cols=name == "cols")
        if shape.flops > _LONGEST * self._rate(i, t, incumbent):
            return incumbent
        new = partial(self._timer, i, TYPES[t], challenger, shape)
        old = partial(self._timer, i, TYPES[t], incumbent, shape)
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
            return Shape(max(m, -(-(PACKED_SHARE * packed - k * n) // (n + k)) + 1), k, n)
        k = _PARTS * depth
        wanted = _USUAL * self._rate(i, t, pair[0]) / (2.0 * m * k)
        return Shape(m, k, int(min(max(wanted, _LEAST_COLS), _MOST_COLS)))

    def _rate(self, i: int, t: int, blocks: Blocking) -> float:
        """Approximate flops per second, from the second product with the first call's blocks."""
        if (i, t) not in self._rates:
            self._rates[i, t] = _GUESS
            shape = self._shape(i, t, (blocks,))
            self._timer(i, TYPES[t], blocks, shape)
            self._rates[i, t] = shape.flops / self._timer(i, TYPES[t], blocks, shape)
        return self._rates[i, t]


def _scaled(size: int, factor: tuple[int, int], step: int, least: int) -> int:
    """`size` times over / under, as a multiple of `step` between `least` and the largest size.

    It is rounded towards `size`, so that the smaller of the two is nearly always more than half of
    the larger one.
    """
    over, under = factor
    steps = size * over // (under * step) if over > under else -(-size * over // (under * step))
    return max(-(-least // step) * step, min(_MOST // step, steps) * step)


def _of(blocks: Blocking, t: int) -> Sizes:
    return blocks.depth[t], blocks.rows[t], blocks.cols[t]


def _changed(blocks: Blocking, t: int, sizes: Sizes) -> Blocking:
    """The blocks with other sizes for one type."""
    depth, rows, cols = (
        (size, pair[1]) if t == 0 else (pair[0], size)
        for size, pair in zip(sizes, (blocks.depth, blocks.rows, blocks.cols), strict=True)
    )
    return Blocking(blocks.kernel, depth, rows, cols)
