"""Zones of block columns or of square blocks, as factorisations hold them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..runners.pool import Pool
from .cholesky_held import cholesky_held, cholesky_solve_held
from .columns import Columns
from .grid import Blocks, Grid
from .grid_cholesky_held import grid_cholesky_held, grid_cholesky_solve_held
from .ranks import Ranks
from .windows import Array
from .work import grid_lu_held, grid_solve_held, lu_held, solve_held
from .zones import Zone


class ZoneFactor(Protocol):
    """A copy of the part of a matrix that a rank holds. All ranks call the same methods."""

    def lu(self, ranks: Ranks, pool: Pool) -> NDArray[np.int32]:
        """Factor the matrix in place; (n + 1,) pivots as from `lu_held`."""

    def lu_solve(
        self,
        ranks: Ranks,
        pivots: NDArray[np.int32],
        b: Array | None,
        cols: int,
        pool: Pool,
        root: int,
    ) -> None:
        """Solve with the factors; see `solve_held`."""

    def cholesky(self, ranks: Ranks, pool: Pool) -> None:
        """Factor the matrix in place; see `cholesky_held`."""

    def cholesky_solve(
        self, ranks: Ranks, b: Array | None, cols: int, pool: Pool, root: int
    ) -> None:
        """Solve with the factor; see `cholesky_solve_held`."""

    def parts(self) -> tuple[Array, ...]:
        """The rectangles of this rank, in the order of the zone."""


class ColumnFactor:
    """Block columns side by side."""

    def __init__(self, zone: Zone, block: int, owner: NDArray[np.int32], size: int) -> None:
        self._columns = Columns(zone.shape[0], block, owner, size)
        self._order = np.argsort(zone.own[:, 2])  # the parts from left to right
        self._local = np.empty((zone.shape[0], self._columns.held(zone.rank)), zone.dtype)
        for i, at in enumerate(self._order):
            self._columns.part(self._local, i)[...] = zone.parts[at]

    def lu(self, ranks: Ranks, pool: Pool) -> NDArray[np.int32]:
        return lu_held(ranks, self._columns, self._local, pool)

    def lu_solve(
        self,
        ranks: Ranks,
        pivots: NDArray[np.int32],
        b: Array | None,
        cols: int,
        pool: Pool,
        root: int,
    ) -> None:
        solve_held(ranks, self._columns, self._local, pivots, b, cols, pool, root)

    def cholesky(self, ranks: Ranks, pool: Pool) -> None:
        cholesky_held(ranks, self._columns, self._local, pool)

    def cholesky_solve(
        self, ranks: Ranks, b: Array | None, cols: int, pool: Pool, root: int
    ) -> None:
        cholesky_solve_held(ranks, self._columns, self._local, b, cols, pool, root)

    def parts(self) -> tuple[Array, ...]:
        places = np.argsort(self._order)
        return tuple(self._columns.part(self._local, int(i)).copy() for i in places)


class GridFactor:
    """Square blocks."""

    def __init__(self, zone: Zone, block: int, owner: NDArray[np.int32], size: int) -> None:
        self._zone = zone
        self._blocks = Blocks(Grid(zone.shape[0], block, owner, size), zone.rank, zone.dtype)
        for place, part in zip(self._places(), zone.parts, strict=True):
            place[...] = part

    def _places(self) -> list[Array]:
        """Where the rectangles of the zone are."""
        blocks, block, found = self._blocks, self._blocks.grid.block, []
        for _, row, col, height, _ in self._zone.own.tolist():
            found.append(blocks.column(col // block, row // block)[:height])
        return found

    def lu(self, ranks: Ranks, pool: Pool) -> NDArray[np.int32]:
        return grid_lu_held(ranks, self._blocks, pool)

    def lu_solve(
        self,
        ranks: Ranks,
        pivots: NDArray[np.int32],
        b: Array | None,
        cols: int,
        pool: Pool,
        root: int,
    ) -> None:
        grid_solve_held(ranks, self._blocks, pivots, b, cols, pool, root)

    def cholesky(self, ranks: Ranks, pool: Pool) -> None:
        grid_cholesky_held(ranks, self._blocks, pool)

    def cholesky_solve(
        self, ranks: Ranks, b: Array | None, cols: int, pool: Pool, root: int
    ) -> None:
        grid_cholesky_solve_held(ranks, self._blocks, b, cols, pool, root)

    def parts(self) -> tuple[Array, ...]:
        return tuple(place.copy() for place in self._places())


def zone_factor(name: str, zone: Any, size: int) -> ZoneFactor:
    """A copy of the rectangles of a zone.

    Raises
    ------
    TypeError, ValueError
        If it is no Zone of block columns or square blocks of one width.
    """
    if not isinstance(zone, Zone):
        raise TypeError(f"{name} must be a Zone, got {type(zone).__name__}")
    n, boxes = zone.shape[1], zone.boxes
    if zone.shape[0] != n or n == 0:
        raise ValueError(f"{name} must be square with at least one row, got shape {zone.shape}")
    block = int(boxes[:, 4].max())
    count = -(-n // block)
    firsts = np.arange(count) * block
    widths = np.minimum(block, n - firsts)
    ranks, rows, cols, heights, lengths = boxes.T
    i, j = rows // block, cols // block
    aligned = (cols == firsts[j]).all() and (lengths == widths[j]).all()
    if aligned and (rows == 0).all() and (heights == n).all():
        owner = np.empty(count, np.int32)
        owner[j] = ranks
        return ColumnFactor(zone, block, owner, size)
    if aligned and (rows == firsts[i]).all() and (heights == widths[i]).all():
        owner = np.empty((count, count), np.int32)
        owner[i, j] = ranks
        return GridFactor(zone, block, owner, size)
    raise ValueError(
        f"{name} must be held by block columns or square blocks of one width, as from scatter with"
        " a LuPattern or LuGrid"
    )
