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
        pieces = list(self._pieces(k, target, source))
        values = [
            self._read(piece) if piece.giver == self._me else self._room(piece) for piece in pieces
        ]
        incoming = []
        for rank in sorted({r for piece in pieces for r in (piece.giver, piece.taker)}):
            if rank == self._me:
                continue
            outgoing = [
                data for data, piece in zip(values, pieces, strict=True) if piece.taker == rank
            ]
            if outgoing:
                self._mail.send(Kind.ROWS, _joined(outgoing), rank)
            coming = [i for i, piece in enumerate(pieces) if piece.giver == rank]
            if coming:
                data = np.empty(sum(values[i].size for i in coming), self._blocks.dtype)
                incoming.append((self._mail.receive(Kind.ROWS, data, rank), data, coming))
        await all_of(waiting for waiting, _, _ in incoming)
        for _, data, coming in incoming:
            ends = np.cumsum([values[i].size for i in coming])[:-1]
            for i, part in zip(coming, np.split(data, ends), strict=True):
                values[i] = part.reshape(values[i].shape)
        for piece, data in zip(pieces, values, strict=True):
            if piece.taker == self._me:
                self._write(piece, data)

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

    def _room(self, piece: _Piece) -> Array:
        """An array without memory of its own that has the shape of a piece."""
        shape = len(piece.source), self._grid.extent(piece.cols)
        return np.broadcast_to(np.zeros((), self._blocks.dtype), shape)

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


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([part.reshape(-1) for part in parts])
