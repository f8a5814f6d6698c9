"""Owners of tiles, for MPI codes of one's own: tiles of any sizes and their ranks. Needs no MPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._base.frozen import Frozen
from .._base.replace import replace_file
from ..plan import Plan, require_plan
from ..planners.cover import require_zones
from .zones import boxes_of


@dataclass(frozen=True, eq=False)
class Tiles(Frozen):
    """A matrix cut by rows and columns into tiles, each with an owner.

    Attributes
    ----------
    heights : (mt,) int64 array
        Rows of the tiles in each row of tiles.
    widths : (nt,) int64 array
        Columns of the tiles in each column of tiles.
    owner : (mt, nt) int32 array
        The rank of each tile.
    size : int
        Number of ranks.
    """

    heights: NDArray[np.int64]
    widths: NDArray[np.int64]
    owner: NDArray[np.int32]
    size: int

    @property
    def local(self) -> NDArray[np.int64]:
        """(mt, nt) the number of each tile among the tiles of its owner, column by column, from 0.

        ScaLAPACK's INDXG2L gives this number for uniform block-cyclic maps; these maps are not
        uniform.
        """
        owner = self.owner.T.reshape(-1)
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=self.size)
        found = np.empty(len(owner), np.int64)
        found[order] = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return check.frozen(np.ascontiguousarray(found.reshape(self.owner.T.shape).T))

    @property
    def lshape_map(self) -> NDArray[np.int64]:
        """(size, 2) rows and columns of each rank: target_map of Heat's `DNDarray.redistribute_`.

        Raises
        ------
        ValueError
            If the ranks do not hold slices of rows, or of columns, in the order of the ranks.
        """
        for axis, sizes in enumerate((self.heights, self.widths)):
            lines = self.owner if axis == 0 else self.owner.T
            first = lines[:, 0] if lines.size else np.zeros(0, np.int32)
            if (lines == first[:, None]).all() and (np.diff(first) >= 0).all():
                found = np.zeros((self.size, 2), np.int64)
                found[:, axis] = np.bincount(first, sizes, self.size)
                found[:, 1 - axis] = (self.widths, self.heights)[axis].sum()
                return check.frozen(found)
        raise ValueError("Heat needs ranks that hold slices of rows, or of columns, in rank order")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tiles as text.

        The lines are "mt nt size", the heights, the widths, and the owners of each row of tiles.

        Parameters
        ----------
        path : path
        """
        lines = [
            [*self.owner.shape, self.size],
            self.heights.tolist(),
            self.widths.tolist(),
            *self.owner.tolist(),
        ]
        with replace_file(path) as file:
            file.write("".join(" ".join(map(str, line)) + "\n" for line in lines).encode())


def tiles(plan: Plan, shape: Sequence[int]) -> Tiles:
    """Cut a matrix of a given shape into tiles with owners, for SLATE and codes with owner maps.

    Parameters
    ----------
    plan : Partition, ProductPlan, LuPattern, LuGrid, Wavefront or Distribution
        Zones of C, block columns, blocks, chunks of lines of tiles, or slices of rows, as in
        `scatter`. A cut goes through the whole matrix wherever a rectangle begins.
    shape : (int, int)
        Rows and columns of the matrix, in elements.

    Returns
    -------
    Tiles

    Raises
    ------
    TypeError, ValueError
        If the plan is of another kind, its zones do not tile the matrix, or the shape cannot have
        its blocks.

    Examples
    --------
    >>> import hetsched as hs
    >>> found = hs.mpi.tiles(hs.lu_pattern(5, cycle_times=[3, 5, 8]), (100, 90))
    >>> found.widths.tolist(), found.owner.tolist(), found.local.tolist()
    ([18, 18, 18, 18, 18], [[0, 2, 0, 1, 0]], [[0, 0, 1, 0, 2]])
    """
    rows, cols = (
        check.integer(f"shape[{i}]", x, low=0)
        for i, x in enumerate(
            check.as_many("shape", check.entries("shape", shape, "two sizes"), 2, "dimension")
        )
    )
    require_plan(plan)
    boxes = boxes_of(plan, (rows, cols), len(plan.names))
    require_zones("plan", boxes, (rows, cols))
    down, along = (
        _cuts(boxes[:, [1 + axis, 3 + axis]], side) for axis, side in enumerate((rows, cols))
    )
    owner = np.zeros((len(down) - 1, len(along) - 1), np.int32)
    for rank, row, col, height, width in boxes.tolist():
        i = np.searchsorted(down, [row, row + height])
        j = np.searchsorted(along, [col, col + width])
        owner[i[0] : i[1], j[0] : j[1]] = rank
    return Tiles(
        check.frozen(np.diff(down)),
        check.frozen(np.diff(along)),
        check.frozen(owner),
        len(plan.names),
    )


def _cuts(sides: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Where tiles begin, and where the last one ends."""
    return np.unique(np.concatenate(([0, length], sides[:, 0], sides.sum(axis=1))))
