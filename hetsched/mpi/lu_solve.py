"""Solves with LU factors that the ranks hold by block columns.

Forward substitution is followed by backward substitution. Each rank sums what its own columns
contribute to later rows. The contributions of the other ranks to the rows of a block are summed
along a chain of the ranks that have any, which ends at the owner of the block. The owner solves
with the triangle on the diagonal, and contributes to the next block first. The messages are blocks
of right-hand sides.
"""

from __future__ import annotations

from collections import deque
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..runners.panel import moved_rows, substitute
from ..runners.pool import Pool, accumulate
from .columns import GATHER, Columns
from .loop import Loop, Waiting, all_of
from .panels import stopping
from .record import Record
from .windows import Array, send_all

_RIGHT, _SUM, _FOUND = GATHER + 3, GATHER + 4, GATHER + 5  # tags
_AHEAD = 4  # messages that a rank has on their way


class Substitution:
    """Solves with the part of the factors that one rank holds.

    Parameters
    ----------
    local : (n, held) array
        The factors as `lu` leaves them.
    cols : int
        Number of right-hand sides.
    """

    _unit = True  # whether the lower factor has ones on its diagonal

    def __init__(
        self,
        loop: Loop,
        columns: Columns,
        local: Array,
        cols: int,
        pool: Pool,
        root: int,
        record: Record,
    ) -> None:
        self._loop, self._columns, self._local, self._pool = loop, columns, local, pool
        self._root, self._record = root, record
        self._place = {k: i for i, k in enumerate(columns.own(loop.rank))}
        # right-hand sides, then solutions
        self._own = [np.empty((columns.width(k), cols), local.dtype) for k in self._place]
        self._sums = np.empty((columns.n if self._place else 0, cols), local.dtype)
        self._under_way: deque[Waiting] = deque()

    async def run(self, pivots: NDArray[np.int32], b: Array | None) -> None:
        """Solve with the pivots of `lu`. b (n, cols), by rows at the root, becomes the solution."""
        if b is not None:
            target, source = moved_rows(pivots[:-1])
            b[target] = b[source]
        await self._substitute(b)

    async def _substitute(self, b: Array | None) -> None:
        """Solve with both factors."""
        dealing = None
        if b is not None:
            for k, i in self._place.items():
                self._own[i][...] = b[self._columns.slice(k)]
            dealing = self._loop.spawn(self._deal(b))
        await self._sweep(backward=False, right=True)
        if dealing is not None:
            await dealing
        coming = [] if b is None else self._collected(b)
        await self._backward()
        for k, i in self._place.items():
            if b is not None:
                b[self._columns.slice(k)] = self._own[i]
            else:
                await self._send(self._own[i], self._root, _FOUND)
        await all_of([*self._under_way, *coming])

    async def _backward(self) -> None:
        await self._sweep(backward=True, right=False)

    async def _deal(self, b: Array) -> None:
        owners = enumerate(self._columns.owner.tolist())
        blocks = ((b[self._columns.slice(k)], rank) for k, rank in owners if rank != self._root)
        await send_all(self._loop, self._record, b.dtype, blocks, _RIGHT, _AHEAD)

    def _collected(self, b: Array) -> list[Waiting]:
        owners = enumerate(self._columns.owner.tolist())
        return [
            self._loop.receive(b[self._columns.slice(k)], rank, _FOUND)
            for k, rank in owners
            if rank != self._root
        ]

    async def _sweep(self, *, backward: bool, right: bool) -> None:
        me, chains = self._loop.rank, self._columns.chains(backward=backward)
        blocks = range(self._columns.count)
        self._sums[...] = 0.0
        # this rank's contributions to the next block, and to all blocks
        soon = later = Waiting(left=0)
        last = -1
        for k in reversed(blocks) if backward else blocks:
            way = (*chains[k], int(self._columns.owner[k]))
            if me not in way:
                continue
            i = way.index(me)
            sums = self._sums[self._columns.slice(k)]
            if k in self._place and right:
                await self._right_side(k)
            coming = np.empty_like(sums)
            if i:
                await self._loop.receive(coming, way[i - 1], _SUM)
            await (soon if abs(k - last) == 1 else later)
            if i:
                sums += coming
            if i + 1 < len(way):
                await self._send(sums.copy(), way[i + 1], _SUM)
            else:
                soon = self._loop.compute(partial(self._solve, k, backward))
                later, last = self._loop.compute(partial(self._contribute, k, backward)), k
        await later

    def _block(self, k: int) -> Array:
        """Room for block k of right-hand sides."""
        return np.empty((self._columns.width(k), self._sums.shape[1]), self._local.dtype)

    async def _right_side(self, k: int) -> None:
        if self._loop.rank != self._root:
            await self._loop.receive(self._own[self._place[k]], self._root, _RIGHT)

    async def _send(self, data: Array, to: int, tag: int) -> None:
        if len(self._under_way) == _AHEAD:
            await self._under_way.popleft()
        self._record.sent += data.nbytes
        self._record.messages += 1
        self._under_way.append(self._loop.send(data, to, tag))

    # ---- on the thread for products ----

    def _solve(self, k: int, backward: bool) -> None:
        """Compute block k of the solution, and its contribution to the next block."""
        i, rows = self._place[k], self._columns.slice(k)
        x = self._own[i]
        x -= self._sums[rows]
        triangle = self._columns.part(self._local, i)[rows]
        with self._record.computing(f"solution of block {k}"):
            substitute(
                self._pool,
                triangle,
                x,
                lower=not backward,
                unit=self._unit and not backward,
                poll=stopping(self._loop),
            )
        following = k - 1 if backward else k + 1
        if 0 <= following < self._columns.count:
            self._add(k, self._columns.first(following), self._columns.first(following + 1))

    def _contribute(self, k: int, backward: bool) -> None:
        """Add the contribution of block k to all blocks after the next one."""
        if backward:
            self._add(k, 0, self._columns.first(max(k - 1, 0)))
        else:
            self._add(k, self._columns.first(k + 2), self._columns.n)

    def _add(self, k: int, begin: int, end: int) -> None:
        i = self._place[k]
        if begin < end:
            with self._record.computing(f"contribution of block {k}"):
                factors = self._columns.part(self._local, i)[begin:end]
                accumulate(
                    self._pool,
                    factors,
                    self._own[i],
                    self._sums[begin:end],
                    1.0,
                    True,
                    stopping(self._loop),
                )
