"""Plans for products of matrices in files: what stays in memory while the rest is streamed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from .._engine.dtypes import DTYPES, flops_per_update
from ..errors import InfeasibleError
from ..plan import Plan, certified
from ..platform import UNIT
from .stored import STAGE

Int = NDArray[np.int64]
Real = NDArray[np.float64]

#: Bytes for everything except buffers: stacks of threads, objects of the interpreter.
RESERVE = 4 * 2**20
#: Cost of a separate piece of a line, and of an update, in bytes that could be read in the same
#: time.
_SEEK, _UPDATE = 2**12, 2**16
#: Flops done while a byte is read; and the relative loss of speed that the model assumes for an
#: update of h x v x d: _EDGE / h + _EDGE / v + _SHALLOW / d.
_BALANCE, _EDGE, _SHALLOW = 100.0, 30.0, 10.0
#: Products run at full speed with panels of at least this depth. Less depth is a last resort.
_DEEP = 128
#: Bounds on packed blocks in a run: depth, least number of packed columns, bytes of a worker's
#: block of A.
_PACK_DEPTH, _PACK_COLS, _PACK_BLOCK = 512, 512, 3 * 2**19
_NAMES = ("C", "A", "B")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_memory(given: Any) -> int:
    """Convert a number or a text such as "2G", "512M" or "1.5GiB" to bytes.

    K, M, G and T are powers of 1024.
    """
    if not isinstance(given, str):
        return check.integer("memory", given, low=1)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?)(?:i?B)?\s*", given, re.I)
    if found is None:
        raise ValueError(
            f'memory must be a number of bytes or a text such as "2G" or "512M", got {given!r}'
        )
    return check.integer("memory", math.floor(float(found[1]) * _UNITS[found[2].upper()]), low=1)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FilesPlan(Plan):
    """How a product C = A B of matrices in files is computed in limited memory.

    C is computed tile by tile. For each tile, chunks of `depth` columns of A's rows and `depth`
    rows of B's columns are read and multiplied.

    Attributes
    ----------
    shape : (int, int, int)
        m, n, k.
    dtype : str
        Dtype of the computation and of C.
    tile : (int, int)
        Height and width of the tiles of C; the last ones may be smaller.
    depth : int
        Columns of A and rows of B read at a time.
    stationary : {"C", "A", "B"}
        What stays in memory. "C": only the tile of C. "A", "B": also the rows of A or the columns
        of B that the tile needs, until all tiles that need them are done.
    read : (int, int)
        Bytes read of A and of B.
    written : int
        Bytes written.
    traffic : int
        Bytes read and written in total.
    compulsory : int
        Bytes of A, B and C, which every plan reads and writes.
    io_bound : float
        Lower bound, in bytes, for any order of the multiply-adds with this memory of M elements:
        2 m n k / sqrt(M) - 2 M elements.
    pieces : int
        Number of separate stretches of files that are read and written.
    memory : int
        Bytes allowed.
    peak : int
        Predicted peak, in bytes beyond what the process has before.
    """

    shape: tuple[int, int, int]
    dtype: str
    tile: tuple[int, int]
    depth: int
    stationary: str
    read: tuple[int, int]
    written: int
    traffic: int
    compulsory: int
    io_bound: float
    pieces: int
    memory: int
    peak: int

    _value: ClassVar[str] = "traffic"
    _table: ClassVar = {
        "names": schema.Tuple(schema.Text(), 1),
        "shape": schema.Sizes("m", "n", "k"),
        "dtype": schema.Text(*(dtype.name for dtype in DTYPES)),
        "tile": schema.Sizes("height", "width", low=1),
        "depth": schema.Integer(1),
        "stationary": schema.Text(*_NAMES),
        "read": schema.Sizes("A", "B", high=2**63 - 1),
        "written": schema.Integer(),
        "traffic": schema.Integer(),
        "compulsory": schema.Integer(),
        "io_bound": schema.Real(),
        "pieces": schema.Integer(),
        "memory": schema.Integer(),
        "peak": schema.Integer(),
    }
    _fixed: ClassVar[str] = (
        "it is of one machine, and what it reads and writes does not depend on speeds"
    )

    def _load(self) -> Any:
        """Work in gigaflops."""
        m, n, k = self.shape
        return np.array([flops_per_update(np.dtype(self.dtype)) * m * n * k / UNIT])

    def _check(self) -> None:
        if sum(self.read) + self.written != self.traffic:
            raise ValueError("traffic must be the sum of read and written")

    @property
    def grid(self) -> tuple[int, int, int]:
        """Number of tiles down C, tiles across C, chunks of the inner dimension (at least 1)."""
        (m, n, k), (h, v) = self.shape, self.tile
        return -(-m // h), -(-n // v), max(1, -(-k // self.depth))

    def describe(self) -> str:
        """Text on the plan in a few lines."""
        (m, n, k), (h, v), (rows, cols, _) = self.shape, self.tile, self.grid
        parts = {"C": "tiles", "A": "rows", "B": "columns"}
        stays = f"{parts[self.stationary]} of {self.stationary} stay"
        reads = sum(self.read)
        return (
            f"C ({m} x {n}) = A ({m} x {k}) B ({k} x {n}), {self.dtype}\nplan: {rows} x {cols}"
            f" tiles of {h} x {v}, panels {self.depth} deep; {stays} in memory\n      reads"
            f" {reads / 1e9:.4g} GB, writes {self.written / 1e9:.4g} GB; no plan moves less than"
            f" {self.lower_bound / 1e9:.4g} GB in this memory (gap {self.gap:.1%})\n      predicted"
            f" peak {self.peak / 2**20:.4g} MiB of {self.memory / 2**20:.4g} MiB"
        )


class Side(NamedTuple):
    """A matrix in a file, for a plan.

    itemsize : bytes of an element.
    transposed : whether columns are contiguous.
    chunk : rows and columns of a chunk, or None.
    extra : bytes of memory that reading takes.
    """

    itemsize: int
    transposed: bool
    chunk: tuple[int, int] | None
    extra: int


class Problem(NamedTuple):
    """A product to plan. Each of the workers packs blocks of A."""

    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    a: Side
    b: Side
    c: Side
    memory: int
    workers: int


class _Choices(NamedTuple):
    """Candidates, one for each element of the arrays."""

    stationary: Int  # 0, 1, 2: C, A, B
    h: Int
    v: Int
    d: Int


def plan_tiles(problem: Problem) -> FilesPlan:
    """The cheapest candidate. In a tie the smaller peak wins, then the first candidate."""
    k = problem.shape[2]
    depths = _depths(problem)
    found = _widest(problem, [d for d in depths if d >= min(k, _DEEP)])
    if not len(found.h):
        found = _widest(problem, depths)
    if not len(found.h):
        least = int(_peak(problem, _one(problem, 0, 1, 1, 1))[0])
        raise InfeasibleError(
            f"memory of {problem.memory} bytes is too little for this product:"
            f" at least {least} are needed"
        )
    traffic, pieces, updates = _costs(problem, found)
    slower = (
        2.0
        * math.prod(problem.shape)
        * (_EDGE / found.h + _EDGE / found.v + _SHALLOW / found.d)
        / _BALANCE
    )
    cost = traffic.sum(axis=0) + _SEEK * pieces + _UPDATE * updates + slower
    best = int(np.lexsort((_peak(problem, found), cost))[0])
    return make_plan(
        problem,
        _NAMES[found.stationary[best]],
        (int(found.h[best]), int(found.v[best])),
        int(found.d[best]),
    )


def make_plan(problem: Problem, stationary: str, tile: tuple[int, int], depth: int) -> FilesPlan:
    """Make the plan with these tiles."""
    m, n, k = problem.shape
    a, b, c = problem.a.itemsize, problem.b.itemsize, problem.c.itemsize
    choice = _one(problem, _NAMES.index(stationary), *tile, depth)
    traffic, pieces, _ = _costs(problem, choice)
    read_a, read_b, written = (int(x) for x in traffic[:, 0])
    compulsory = (m * k * a if n else 0) + (k * n * b if m else 0) + m * n * c
    least = min(a, b, c)
    elements = problem.memory / least
    io_bound = max(0.0, least * (2.0 * m * n * k / math.sqrt(elements) - 2.0 * elements))
    total = read_a + read_b + written
    return FilesPlan(
        method=f"{stationary} stationary",
        **certified(max(float(compulsory), io_bound), traffic=total),
        names=("this machine",),
        shape=problem.shape,
        dtype=problem.dtype.name,
        tile=tile,
        depth=depth,
        stationary=stationary,
        read=(read_a, read_b),
        written=written,
        compulsory=compulsory,
        io_bound=io_bound,
        pieces=int(pieces[0]),
        memory=problem.memory,
        peak=int(_peak(problem, choice)[0]),
    )


def _one(problem: Problem, stationary: int, h: int, v: int, d: int) -> _Choices:
    return _Choices(*(np.array([x], np.int64) for x in (stationary, h, v, d)))


def _depths(problem: Problem) -> list[int]:
    """Candidate depths: powers of two, the same times the chunks of chunked files, and all."""
    k = max(problem.shape[2], 1)
    grains = {side.chunk[axis] for side, axis in ((problem.a, 1), (problem.b, 0)) if side.chunk}
    powers = [2**i for i in range(k.bit_length())]
    return sorted({min(k, d) for d in (*powers, *(g * p for g in grains for p in powers), k)})


def _sizes(length: int, grain: int) -> list[int]:
    """Sizes that cut a length into about equal parts, down to 1; multiples of the grain as well."""
    length = max(length, 1)
    parts = sorted(
        {min(length, p) for p in (*range(1, 65), *(int(64 * 1.2**i) for i in range(1, 100)))}
    )
    sizes = {-(-length // p) for p in parts}
    return sorted(sizes | {min(length, -(-s // grain) * grain) for s in sizes}, reverse=True)


def _widest(problem: Problem, depths: list[int]) -> _Choices:
    """The widest tiles that fit into memory, for each stationary matrix, height and depth.

    The widths are then reduced so that all tiles are about equal.
    """
    m, n, _ = problem.shape
    grain = [
        side.chunk[axis] if side.chunk else 1 for side, axis in ((problem.a, 0), (problem.b, 1))
    ]
    grid = np.meshgrid(np.arange(3), _sizes(m, grain[0]), depths, indexing="ij")
    way, h, d = (x.ravel() for x in grid)
    low, high = np.zeros(len(way), np.int64), np.full(len(way), max(n, 1), np.int64)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = _peak(problem, _Choices(way, h, np.maximum(middle, 1), d)) <= problem.memory
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    inside = low > 0
    way, h, d, v = way[inside], h[inside], d[inside], low[inside]
    even = -(-max(n, 1) // -(-max(n, 1) // v))
    grained = v // grain[1] * grain[1]  # whole chunks
    v = np.where((grained > 0) & (grain[1] > 1) & (even < max(n, 1)), grained, even)
    return _Choices(way, h, v, d)


def _counts(problem: Problem, x: _Choices) -> tuple[Int, Int, Int]:
    m, n, k = problem.shape
    return -(-m // x.h), -(-n // x.v), -(-k // x.d)


def buffers(grid: tuple[Any, Any, Any], stationary: Any) -> tuple[Any, Any, Any]:
    """Number of buffers for blocks of A, B and C.

    There are two, so that one is read or written while another one is used. The rows of A
    or columns of B that stay in memory have a buffer for each chunk.
    """
    rows, cols, depth = grid
    more = np.minimum(2, np.maximum(rows * cols * depth, 1))
    return (
        np.where(stationary == 1, depth + (rows > 1), more),
        np.where(stationary == 2, depth + (cols > 1), more),
        np.minimum(2, np.maximum(rows * cols, 1)),
    )


def _peak(problem: Problem, x: _Choices) -> Int:
    e = problem.dtype.itemsize
    a, b, c = buffers(_counts(problem, x), x.stationary)
    held = e * (a * x.h * x.d + b * x.d * x.v + c * x.h * x.v)
    complex_ = 2 if problem.dtype.kind == "c" else 1
    deep = np.minimum(x.d, _PACK_DEPTH)
    side = np.maximum(x.h, x.v) + 64
    packed = (
        e * (x.h * x.d + x.d * x.v + x.h * x.v) // 20
        + 2 * e * np.minimum(side, _PACK_COLS) * deep * complex_
    )
    blocks = problem.workers * np.minimum(_PACK_BLOCK, e * side * deep * complex_)
    fixed = problem.a.extra + problem.b.extra + problem.c.extra + STAGE
    total: Int = (held + packed + blocks + fixed + RESERVE).astype(np.int64)
    return total


def _costs(problem: Problem, x: _Choices) -> tuple[Real, Real, Int]:
    """(3, candidates) bytes of A, B and C; separate pieces; updates."""
    m, n, k = problem.shape
    rows, cols, depth = _counts(problem, x)
    # float64 is exact up to 2^53 bytes.
    again_a = np.where(x.stationary == 1, np.minimum(cols, 1), cols).astype(np.float64)
    again_b = np.where(x.stationary == 2, np.minimum(rows, 1), rows).astype(np.float64)
    read_a = float(m * k * problem.a.itemsize) * again_a
    read_b = float(k * n * problem.b.itemsize) * again_b
    written = np.full(len(rows), float(m * n * problem.c.itemsize))
    pieces = (
        _pieces(problem.a, (m, k), (x.h, x.d), (rows, depth)) * again_a
        + _pieces(problem.b, (k, n), (x.d, x.v), (depth, cols)) * again_b
        + _pieces(problem.c, (m, n), (x.h, x.v), (rows, cols))
    )
    return np.stack((read_a, read_b, written)), pieces, rows * cols * depth


def _pieces(
    side: Side, shape: tuple[int, int], block: tuple[Int, Int], grid: tuple[Int, Int]
) -> Int:
    """Number of separate stretches if the matrix is read once, block by block.

    In a chunked file, a chunk that is read several times counts each time.
    """
    if side.chunk:
        across = [-(-b // c) * g for b, c, g in zip(block, side.chunk, grid, strict=True)]
        weight = max(1, side.chunk[0] * side.chunk[1] * side.itemsize // _SEEK)
        return (across[0] * across[1] * weight).astype(np.int64)
    (lines, length), (high, wide), (down, over) = shape, block, grid
    if side.transposed:
        lines, length, high, wide, down, over = length, lines, wide, high, over, down
    pieces: Int = np.where(over <= 1, down, lines * over).astype(np.int64)
    return pieces
