"""Blocks of L or U of one step, and the messages that bring them to the ranks that need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .grid import Grid
from .loop import Waiting, all_of
from .mail import Kind, Mail
from .windows import Array


class Lines(NamedTuple):
    """Blocks of L or of U of one step, as columns of an array (w, m)."""

    grid: Grid
    blocks: list[int]
    data: Array

    def pick(self, blocks: list[int]) -> Array:
        """Some of the blocks, side by side, in a contiguous array."""
        if blocks == self.blocks:
            return self.data
        return np.ascontiguousarray(self.data[:, self.grid.inside(self.blocks, blocks)])


async def spread(
    mail: Mail,
    kind: Kind,
    own: Lines,
    owners: list[int],
    wanted: Callable[[int, int], list[int]],
) -> Lines:
    """Send own blocks to the ranks that need them. Return all blocks that are needed here.

    Two ranks exchange at most one message. Ranks that need the same blocks get the same array.

    Parameters
    ----------
    owners : list of int
        The ranks that have blocks of this step.
    wanted : function of an owner and another rank
        Returns the blocks that the rank needs of the owner, ascending.
    """
    grid, me = own.grid, mail.loop.rank
    packed: dict[tuple[int, ...], Array] = {}
    if me in owners:
        for rank in grid.enrolled:
            if rank != me and (blocks := wanted(me, rank)):
                key = tuple(blocks)
                if key not in packed:
                    packed[key] = own.pick(blocks)
                mail.send(kind, packed[key], rank)
    coming = {rank: blocks for rank in owners if (blocks := wanted(rank, me))}
    needed = sorted(i for blocks in coming.values() for i in blocks)
    if list(coming) == [me]:
        return Lines(grid, needed, own.pick(needed))
    data = np.empty((len(own.data), grid.extent(needed)), own.data.dtype)
    parts: list[tuple[list[int], Array, Waiting]] = []
    for rank, blocks in coming.items():
        if rank == me:
            parts.append((blocks, own.pick(blocks), Waiting(left=0)))
            continue
        part = data if blocks == needed else np.empty((len(data), grid.extent(blocks)), data.dtype)
        parts.append((blocks, part, mail.receive(kind, part, rank)))
    await all_of(waiting for _, _, waiting in parts)
    for blocks, part, _ in parts:
        if part is not data:
            data[:, grid.inside(needed, blocks)] = part
    return Lines(grid, needed, data)
