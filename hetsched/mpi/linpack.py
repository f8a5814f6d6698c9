"""The Linpack benchmark by the rules of HPL, on the ranks of a communicator.

Each rank makes its own blocks of a random matrix, which depends on the seed and the size of the
blocks but not on the owners. The time of the factorisation and of the solve counts. The residual is
computed from the matrix made anew.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check
from ..planners.lu_grid import LuGrid, lu_grid
from ..planners.lu_pattern import LuPattern, lu_pattern
from ..runners.pool import Pool
from . import pools
from .arguments import Call, columns
from .columns import GATHER, SCATTER, Columns
from .grid import Blocks, Grid
from .loop import Loop, all_of
from .measure import known_speeds
from .ranks import Ranks
from .windows import Array
from .work import grid_lu_held, grid_solve_held, lu_held, solve_held

MAPS = ("auto", "grid", "cyclic", "columns")
LIMIT = 16.0  # residuals below it pass
BLOCK = 128
_FEW = 4  # ranks: block columns were faster with 2 and 4 at order 3000, on an idle machine
_EQUAL = 0.1  # speeds count as equal if the slowest is slower than the fastest by at most this
_GIGA = 1e9
_EPS = 2.0**-53  # of a rounding; the eps of HPL
_SOLUTION, _SUMS = SCATTER, GATHER  # tags


class Outcome(NamedTuple):
    """What a run of the benchmark found, on every rank.

    Attributes
    ----------
    plan : LuGrid or LuPattern
        The owners of the blocks.
    cycle_times : list of float
        Seconds per gigaflop of each rank, from a brief measurement.
    block : int
        Rows and columns of a block.
    seconds : float
        Time of the factorisation and the solve on the slowest rank.
    residual : float
        ||A x - b|| / (eps (||A|| ||x|| + ||b||) n) in the maximum norm, with eps = 2^-53.
    """

    plan: LuGrid | LuPattern
    cycle_times: list[float]
    n: int
    block: int
    seconds: float
    residual: float

    @property
    def gflops(self) -> float:
        """Billions of flops per second, for 2/3 n^3 + 3/2 n^2 flops."""
        return (2 / 3 * self.n**3 + 3 / 2 * self.n**2) / self.seconds / _GIGA

    @property
    def passed(self) -> bool:
        """Whether the residual is small enough."""
        return self.residual < LIMIT

    @property
    def shape(self) -> tuple[int, int]:
        """The most ranks that share a block column, and a block row."""
        owner = np.atleast_2d(self.plan.owner)
        return _most(owner.T), _most(owner)


def _most(lines: NDArray[np.int32]) -> int:
    return max(len(set(line)) for line in lines.tolist())


def linpack(
    call: Call, n: int, block: int | None = None, seed: int = 0, which: str = "auto"
) -> Outcome:
    """Run the benchmark in a call that has begun. All ranks must give the same arguments.

    Parameters
    ----------
    n : int
        Order of the matrix, >= 1.
    block : int, optional
        Rows and columns of a block. Default: 128, or n if it is smaller.
    seed : int
        >= 0.
    which : {"auto", "grid", "cyclic", "columns"}
        "grid": `lu_grid` for the measured speeds and the median cost of the root's links.
        "cyclic": the best block-cyclic grid. "columns": block columns by `lu_pattern`. "auto":
        "columns" on at most 4 ranks, where a step has fewer messages one after the other; on more
        ranks "cyclic" if the speeds differ by at most 10 %, else "grid".

    Raises
    ------
    ValueError, TypeError, MemoryError
        On every rank.
    """
    ranks = call.ranks

    def checked() -> tuple[Any, ...]:
        check.choice("map", which, MAPS)
        order = check.integer("n", n, low=1, high=2**31 - 1)
        width = min(BLOCK, order) if block is None else block
        width = check.integer("nb", width, low=1, high=order)
        return pools.here(), (order, width, check.integer("seed", seed, low=0), which)

    places, given = columns(ranks.agree(checked))
    if any(other != given[0] for other in given):
        raise ValueError("n, nb, seed and map must be the same on all ranks")
    order, width, first, _ = given[0]
    pool = call.pool(places)
    speeds = known_speeds(ranks, pool, np.dtype(np.float64), call.root)
    links = [cost for rank, cost in enumerate(speeds[1]) if rank != call.root]
    plan = _planned(-(-order // width), width, which, speeds[0], links)
    matrix = _Matrix(order, width, first)
    x, seconds = _solved(ranks, pool, plan, matrix, call.root)
    norms = ranks.run(lambda loop: _residual(loop, plan, matrix, x, call.root))
    seconds, residual = max(ranks.gather(seconds)), ranks.gather(norms)[call.root]
    return Outcome(plan, speeds[0], order, width, seconds, residual)


def _planned(
    count: int, block: int, which: str, times: list[float], links: list[float]
) -> LuGrid | LuPattern:
    if which == "columns" or (which == "auto" and len(times) <= _FEW):
        return lu_pattern(count, times)
    alike = max(times) <= (1 + _EQUAL) * min(times)
    if which == "cyclic" or (which == "auto" and alike):
        return lu_grid(count, np.ones(len(times)), "cyclic")
    updates = np.asarray(times) * 2 * block**3 / _GIGA
    usual = float(np.median(links)) if links else 0.0
    return lu_grid(count, updates, link_cost=usual * 8 * block**2 / _GIGA)


class _Matrix:
    """The matrix and the right-hand side, which are made block by block."""

    def __init__(self, n: int, block: int, seed: int) -> None:
        self.n, self.block, self._seed = n, block, seed
        self.count = -(-n // block)

    def lines(self, i: int) -> slice:
        """The rows of block row i."""
        return slice(i * self.block, min((i + 1) * self.block, self.n))

    def part(self, i: int, j: int) -> Array:
        """Block (i, j), uniform in [-0.5, 0.5)."""
        return self._random(i, j, (self._width(i), self._width(j)))

    def right(self) -> Array:
        """The right-hand side (n, 1)."""
        parts = [self._random(i, self.count, (self._width(i), 1)) for i in range(self.count)]
        return np.concatenate(parts)

    def _width(self, i: int) -> int:
        return min(self.block, self.n - i * self.block)

    def _random(self, i: int, j: int, shape: tuple[int, int]) -> Array:
        return np.random.default_rng([self._seed, i, j]).random(shape) - 0.5


def _solved(
    ranks: Ranks, pool: Pool, plan: LuGrid | LuPattern, matrix: _Matrix, root: int
) -> tuple[Array | None, float]:
    """The solution (n, 1) at the root, and the seconds on this rank."""
    owner, made = np.ascontiguousarray(plan.owner, np.int32), _Made(None, None, None)
    held = Columns(matrix.n, matrix.block, owner, ranks.size)
    grid = Grid(matrix.n, matrix.block, owner, ranks.size)

    def make() -> None:
        nonlocal made
        x = matrix.right() if ranks.rank == root else None
        if isinstance(plan, LuGrid):
            made = _Made(x, _made_blocks(grid, ranks.rank, matrix), None)
        else:
            made = _Made(x, None, _made_columns(held, ranks.rank, matrix))

    ranks.agree(make)
    x, blocks, local = made
    start = _together(ranks)
    if blocks is not None:
        pivots = grid_lu_held(ranks, blocks, pool)
        grid_solve_held(ranks, blocks, pivots, x, 1, pool, root)
    elif local is not None:
        pivots = lu_held(ranks, held, local, pool)
        solve_held(ranks, held, local, pivots, x, 1, pool, root)
    return x, _together(ranks) - start


class _Made(NamedTuple):
    """What a rank has made: the right-hand side, and its blocks or its block columns."""

    right: Array | None
    blocks: Blocks | None
    local: Array | None


def _made_blocks(grid: Grid, rank: int, matrix: _Matrix) -> Blocks:
    blocks = Blocks(grid, rank, np.dtype(np.float64))
    for j in blocks.place:
        column = blocks.column(j)
        for at, i in enumerate(blocks.rows(j)):
            column[at * grid.block : (at + 1) * grid.block] = matrix.part(i, j)
    return blocks


def _made_columns(held: Columns, rank: int, matrix: _Matrix) -> Array:
    local = np.empty((held.n, held.held(rank)))
    for at, j in enumerate(held.own(rank)):
        for i in range(held.count):
            held.part(local, at)[held.slice(i)] = matrix.part(i, j)
    return local


def _together(ranks: Ranks) -> float:
    """The time when all ranks have come here."""
    ranks.gather(None)
    return time.perf_counter()


async def _residual(
    loop: Loop, plan: LuGrid | LuPattern, matrix: _Matrix, x: Array | None, root: int
) -> float:
    """The residual, at the root."""
    n, others = matrix.n, [rank for rank in range(loop.size) if rank != root]
    solution = np.empty((n, 1)) if x is None else x
    if x is None:
        await loop.receive(solution, root, _SOLUTION)
    await all_of([loop.send(solution, rank, _SOLUTION) for rank in others if x is not None])
    sums = await loop.compute(lambda: _row_sums(loop, plan, matrix, solution))
    if x is None:
        await loop.send(sums, root, _SUMS)
        return 0.0
    for rank in others:
        theirs = np.empty_like(sums)
        await loop.receive(theirs, rank, _SUMS)
        sums += theirs
    b = matrix.right()
    norm = sums[1].max() * np.abs(x).max() + np.abs(b).max()
    return float(np.abs(sums[0] - b[:, 0]).max() / (_EPS * norm * n))


def _row_sums(loop: Loop, plan: LuGrid | LuPattern, matrix: _Matrix, x: Array) -> Array:
    """(2, n) what the blocks of this rank contribute to A x, and to the row sums of |A|."""
    sums = np.zeros((2, matrix.n))
    owner = np.broadcast_to(plan.owner, (matrix.count, matrix.count))
    for i, j in np.argwhere(owner == loop.rank).tolist():
        loop.go_on()
        part, lines = matrix.part(i, j), matrix.lines(i)
        sums[0, lines] += part @ x[matrix.lines(j), 0]
        sums[1, lines] += np.abs(part).sum(axis=1)
    return sums
