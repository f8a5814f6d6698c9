"""Bytes that ranks send in factorisations and solves by block columns, counted block by block.

A deal is n, the columns of a block, the owner of each block, and the number of ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Sent(NamedTuple):
    """Bytes that each rank sends, (p,) each."""

    scatter: np.ndarray  # the matrix, from the root
    panels: np.ndarray  # each panel with its pivots, once over each hop of its way
    pivots: np.ndarray  # all pivots at the end, from the owner of the last block
    gather: np.ndarray  # the result, to the root


def blocks(n, block, owner):
    """First column, width and owner of each block."""
    return [(k * block, min(block, n - k * block), int(own)) for k, own in enumerate(owner)]


def by_next_block(owner, others):
    """The ranks that own one of these blocks, apart from `owner`: those of the first ones first."""
    return [int(rank) for rank in dict.fromkeys(others.tolist()) if rank != owner]


def sent(deal, itemsize, root, kind):
    n, block, owner, size = deal
    scatter, panels, pivots, gather = np.zeros((4, size), np.int64)
    for k, (first, width, own) in enumerate(blocks(n, block, owner)):
        panel = (n - first) * width * itemsize
        moved = panel if kind == "cholesky" else n * width * itemsize
        if own != root:
            scatter[root] += moved
            gather[own] += moved
        for sender in [own, *by_next_block(own, owner[k + 1 :])][:-1]:
            panels[sender] += panel + (4 * width if kind == "lu" else 0)
    if kind == "lu":  # the first zero on the diagonal of U comes with the pivots
        last = int(owner[-1])
        pivots[last] = 4 * (n + 1) * len({*owner.tolist(), root} - {last})
    return Sent(scatter, panels, pivots, gather)


def lu_bytes(deal, itemsize, root):
    """An LU factorisation of a matrix at the root, and back to the root."""
    return sent(deal, itemsize, root, "lu")


def cholesky_bytes(deal, itemsize, root):
    """The same of Cholesky. The rows above the diagonal block of a block column stay."""
    return sent(deal, itemsize, root, "cholesky")


def solve_bytes(deal, cols, itemsize, root):
    """(p,) bytes of a solve with this many right sides at the root.

    Each rank with blocks on the side that is solved first adds to the sum of a block.
    """
    n, block, owner, size = deal
    found = np.zeros(size, np.int64)
    for backward in (False, True):
        for k, (_, width, own) in enumerate(blocks(n, block, owner)):
            data = width * cols * itemsize
            for rank in by_next_block(own, owner[k + 1 :] if backward else owner[:k]):
                found[rank] += data
            if own != root:
                found[own if backward else root] += data
    return found
