"""Solves with LU factors that the ranks hold by square blocks.

Forward substitution is followed by backward substitution. The owner of a diagonal block collects
what the blocks beside it contribute, one sum from each rank, and solves with the triangle. It sends
this block of the solution to the owners of the blocks below (backward: above), which add their
products with it to their sums. The messages are blocks of right-hand sides.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..runners.panel import moved_rows, substitute
from ..runners.pool import Pool, accumulate
from .grid import Blocks
from .loop import Waiting, all_of
from .mail import Kind, Mail
from .panels import stopping
from .record import Record
from .windows import Array

_AHEAD = 4  # steps whose messages may be under way


class GridSubstitution:
    """Solves with the factors that one rank holds.

    Parameters
    ----------
    blocks : Blocks
        The factors as `GridLu` leaves them.
    cols : int
        Number of right-hand sides.
    """

    _unit = True  # L has a unit diagonal, which is not stored

    def __init__(
        self, mail: Mail, blocks: Blocks, cols: int, pool: Pool, root: int, record: Record
    ) -> None:
        self._mail, self._blocks, self._pool = mail, blocks, pool
        self._loop, self._grid, self._me = mail.loop, blocks.grid, mail.loop.rank
        self._root, self._record = root, record
        self._leads = blocks.grid.owner.diagonal().tolist()
        # right-hand sides, then solutions, of the diagonal blocks of this rank
        self._own = {
            k: np.empty((blocks.grid.width(k), cols), blocks.dtype)
            for k, lead in enumerate(self._leads)
            if lead == self._me
        }
        self._sums = np.zeros((blocks.grid.n if blocks.groups else 0, cols), blocks.dtype)

    async def run(self, pivots: NDArray[np.int32] | None, b: Array | None) -> None:
        """Solve with the pivots of `GridLu`, or without any.

        b (n, cols), by rows at the root and None elsewhere, becomes the solution.
        """
        await all_of(self._right_sides(pivots, b))
        await self._sweep(backward=False)
        coming = self._collected(b)
        await self._sweep(backward=True)
        for k, x in self._own.items():
            if b is None:
                self._mail.send(Kind.FOUND, x, self._root)
            else:
                b[self._grid.slice(k)] = x
        await all_of(coming)
        await self._mail.next_step(0)

    def _right_sides(self, pivots: NDArray[np.int32] | None, b: Array | None) -> list[Waiting]:
        """Bring the right-hand sides to the owners of the diagonal blocks; the root has them."""
        if b is None:
            receive = partial(self._mail.receive, Kind.RIGHT, source=self._root)
            return [receive(x) for x in self._own.values()]
        if pivots is not None:
            target, source = moved_rows(pivots[:-1])
            b[target] = b[source]
        for k, lead in enumerate(self._leads):
            if lead == self._me:
                self._own[k][...] = b[self._grid.slice(k)]
            else:
                self._mail.send(Kind.RIGHT, b[self._grid.slice(k)].copy(), lead)
        return []

    def _collected(self, b: Array | None) -> list[Waiting]:
        """Receive the solution at the root."""
        if b is None:
            return []
        return [
            self._mail.receive(Kind.FOUND, b[self._grid.slice(k)], lead)
            for k, lead in enumerate(self._leads)
            if lead != self._me
        ]

    async def _sweep(self, *, backward: bool) -> None:
        steps = range(self._grid.count)
        self._sums[...] = 0
        for k in reversed(steps) if backward else steps:
            before, after = self._sides(k, backward)
            lead, x = self._leads[k], np.empty((0, 0), self._blocks.dtype)
            if self._me == lead:
                x = self._own[k]
                await self._add_sums(k, before, x)
                await self._loop.compute(partial(self._solve, k, backward, x))
                for rank in after:
                    self._mail.send(Kind.SUM, x.copy(), rank)
            elif self._me in before:
                self._mail.send(Kind.SUM, self._sums[self._grid.slice(k)].copy(), lead)
            if self._me in after:
                x = np.empty((self._grid.width(k), self._sums.shape[1]), self._blocks.dtype)
                await self._mail.receive(Kind.SUM, x, lead)
            if x.size:
                await self._loop.compute(partial(self._contribute, k, backward, x))
            await self._mail.next_step(_AHEAD)

    def _sides(self, k: int, backward: bool) -> tuple[list[int], list[int]]:
        """The ranks besides the owner that contribute to block k, and that need its solution."""
        owner, lead = self._grid.owner, self._leads[k]
        row, column = (
            (owner[k, k + 1 :], owner[:k, k]) if backward else (owner[k, :k], owner[k + 1 :, k])
        )
        before, after = (sorted({*side.tolist()} - {lead}) for side in (row, column))
        return before, after

    async def _add_sums(self, k: int, before: list[int], x: Array) -> None:
        """Subtract from a right-hand side what this rank and the other ranks contribute."""
        x -= self._sums[self._grid.slice(k)]
        sums = [np.empty_like(x) for _ in before]
        coming = [
            self._mail.receive(Kind.SUM, data, rank)
            for data, rank in zip(sums, before, strict=True)
        ]
        await all_of(coming)
        for data in sums:
            x -= data

    # ---- on the thread for products ----

    def _triangle(self, k: int, backward: bool) -> Array:
        """L, or backward U, of a diagonal block; the other triangle is not read."""
        return self._blocks.column(k, k)[: self._grid.width(k)]

    def _solve(self, k: int, backward: bool, x: Array) -> None:
        with self._record.computing(f"solution of block {k}"):
            substitute(
                self._pool,
                self._triangle(k, backward),
                x,
                lower=not backward,
                unit=self._unit and not backward,
                poll=stopping(self._loop),
            )

    def _contribute(self, k: int, backward: bool, x: Array) -> None:
        """Add the products of this rank's blocks below (backward: above) the diagonal."""
        if backward:
            rows = [i for i in self._blocks.rows(k) if i < k]
            factors = self._blocks.column(k)[: self._grid.extent(rows)]
        else:
            rows, factors = self._blocks.rows(k, k + 1), self._blocks.column(k, k + 1)
        if rows:
            with self._record.computing(f"contribution of block {k}"):
                found = np.empty((len(factors), x.shape[1]), x.dtype)
                poll = stopping(self._loop)
                accumulate(self._pool, factors, x, found, 1.0, False, poll)
                self._sums[self._grid.lines(rows)] += found
