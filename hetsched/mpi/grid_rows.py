"""Exchanges of rows between the blocks of all ranks: one message for each pair of ranks and step.

Block rows of one class have the same owner in each block column, so that all moves from one class
to another go between the same ranks. A block-cyclic map with q rows of ranks has q classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .grid import Blocks
from .loop import all_of
from .mail import Kind, Mail
from .windows import Array

Rows = NDArray[np.intp]


class _Piece(NamedTuple):
    """Rows that move from one rank to another, or within a rank, and their block columns."""

    giver: int
    taker: int
    source: Rows
    target: Rows
    cols: list[int]


class RowExchange:
    """Moves whole rows, except for one block column, between the blocks of all ranks."""

    def __init__(self, mail: Mail, blocks: Blocks) -> None:
        self._mail, self._blocks, self._grid = mail, blocks, blocks.grid
        self._me = mail.loop.rank
        classes = np.unique(self._grid.owner, axis=0, return_inverse=True)[1]
        self._class = classes.reshape(-1)

    async def run(self, k: int, target: Rows, source: Rows) -> None:
        """Write row source[i] to row target[i] for all i at once, but not in block column k."""
        me, pieces = self._me, list(self._pieces(k, target, source))
        # All rows are read before any row is written.
        given = [(piece, self._read(piece)) for piece in pieces if piece.giver == me]
        for rank in sorted({piece.taker for piece, _ in given} - {me}):
            parts = [data.reshape(-1) for piece, data in given if piece.taker == rank]
            self._mail.send(Kind.ROWS, np.concatenate(parts), rank)
        incoming = []
        for rank in sorted({piece.giver for piece in pieces} - {me}):
            coming = [piece for piece in pieces if piece.giver == rank]
            data = np.empty(sum(self._size(piece) for piece in coming), self._blocks.dtype)
            incoming.append((coming, data, self._mail.receive(Kind.ROWS, data, rank)))
        await all_of(waiting for _, _, waiting in incoming)
        for piece, data in given:
            if piece.taker == me:
                self._write(piece, data)
        for coming, data, _ in incoming:
            ends = np.cumsum([self._size(piece) for piece in coming])[:-1]
            for piece, part in zip(coming, np.split(data, ends), strict=True):
                self._write(piece, part.reshape(len(piece.target), -1))

    def _pieces(self, k: int, target: Rows, source: Rows) -> Iterator[_Piece]:
        """The pieces that this rank gives or takes, in an order that is the same on all ranks."""
        grid, block, me = self._grid, self._grid.block, self._me
        pairs = self._class[source // block] * grid.count + self._class[target // block]
        for pair in np.unique(pairs):
            moves = np.flatnonzero(pairs == pair)
            givers = grid.owner[source[moves[0]] // block].astype(np.int64)
            takers = grid.owner[target[moves[0]] // block]
            concerned = (givers == me) | (takers == me)
            concerned[k] = False
            both = givers * grid.size + takers
            for one in np.unique(both[concerned]):
                cols = np.flatnonzero(concerned & (both == one)).tolist()
                giver, taker = divmod(int(one), grid.size)
                yield _Piece(giver, taker, source[moves], target[moves], cols)

    def _parts(self, cols: list[int]) -> Iterator[tuple[int, slice, slice]]:
        """Adjacent columns that are in one group: the group, and their places there and in a piece.

        Whole rows are copied several times faster than single elements.
        """
        grid, places = self._grid, [self._blocks.place[j] for j in cols]
        begin = 0
        for end in range(1, len(cols) + 1):
            g, at = places[begin]
            if end < len(cols) and places[end] == (g, at + end - begin):
                continue
            width, there, own = grid.extent(cols[begin:end]), begin * grid.block, at * grid.block
            yield g, slice(own, own + width), slice(there, there + width)
            begin = end

    def _size(self, piece: _Piece) -> int:
        return len(piece.source) * self._grid.extent(piece.cols)

    def _read(self, piece: _Piece) -> Array:
        shape = len(piece.source), self._grid.extent(piece.cols)
        data = np.empty(shape, self._blocks.dtype)
        for g, own, there in self._parts(piece.cols):
            columns = self._blocks.groups[g].matrix[:, own]
            data[:, there] = columns[self._blocks.lines(g, piece.source)]
        return data

    def _write(self, piece: _Piece, data: Array) -> None:
        for g, own, there in self._parts(piece.cols):
            columns = self._blocks.groups[g].matrix[:, own]
            columns[self._blocks.lines(g, piece.target)] = data[:, there]
