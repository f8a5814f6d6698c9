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
    """(p,) bytes of a solve with this many right-hand sides at the root.

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


def grid_bytes(n, block, owner, size, piv, itemsize):
    """(p,) bytes that each rank sends of each kind of message in LU of square blocks."""
    count = len(owner)
    kinds = "CANDIDATES", "PIVOTS", "DISPLACED", "DIAGONAL", "LEFT", "UPPER", "ROWS"
    found = {kind: np.zeros(size, np.int64) for kind in kinds}
    width = [min(block, n - k * block) for k in range(count)]
    for k, w in enumerate(width):
        lead = owner[k, k]
        panel = list(dict.fromkeys(owner[k:, k].tolist()))
        row = list(dict.fromkeys(owner[k, k + 1 :].tolist()))
        found["PIVOTS"][lead] += 4 * (w + 1) * (len(set(owner.ravel().tolist())) - 1)
        found["DIAGONAL"][lead] += w * w * itemsize * len({*panel, *row} - {lead})
        rows = [sum(width[i] for i in range(k, count) if owner[i, k] == rank) for rank in panel]
        while len(rows) > 1:  # a level of the tree
            rows = [min(each, w) for each in rows]
            for i in range(1, len(rows), 2):
                found["CANDIDATES"][panel[i]] += rows[i] * (w * itemsize + 8)
            rows = [sum(rows[i : i + 2]) for i in range(0, len(rows), 2)]
            panel = panel[::2]
        for i in range(k + 1, count):
            right = {*owner[i, k + 1 :].tolist()} - {owner[i, k]}
            found["LEFT"][owner[i, k]] += len(right) * width[i] * w * itemsize
            below = {*owner[k + 1 :, i].tolist()} - {owner[k, i]}
            found["UPPER"][owner[k, i]] += len(below) * width[i] * w * itemsize
        order = list(range(n))  # of the rows, after the exchanges
        for i in range(k * block, k * block + w):
            order[i], order[piv[i]] = order[piv[i]], order[i]
        for target, source in enumerate(order):
            for j in range(count):
                giver, taker = owner[source // block, j], owner[target // block, j]
                if giver != taker and j != k:
                    found["ROWS"][giver] += width[j] * itemsize
                elif giver != taker and target >= k * block + w:
                    found["DISPLACED"][giver] += w * itemsize
    return found


def grid_solve_bytes(n, block, owner, size, cols, itemsize, root):
    """(p,) bytes of a solve with the factors in square blocks; right-hand sides at the root."""
    count = len(owner)
    found = np.zeros(size, np.int64)
    for k in range(count):
        lead, data = owner[k, k], min(block, n - k * block) * cols * itemsize
        if lead != root:
            found[root] += data
            found[lead] += data
        for past, future in ((range(k), range(k + 1, count)), (range(k + 1, count), range(k))):
            for rank in {owner[k, j] for j in past} - {lead}:
                found[rank] += data
            found[lead] += data * len({owner[i, k] for i in future} - {lead})
    return found


def grid_cholesky_bytes(n, block, owner, size, itemsize, root):
    """(p,) bytes of a Cholesky factorisation in square blocks, from the root and back to it."""
    count = len(owner)
    found = np.zeros(size, np.int64)
    width = [min(block, n - k * block) for k in range(count)]
    for k, w in enumerate(width):
        for i in range(k, count):
            if owner[i, k] != root:
                found[root] += width[i] * w * itemsize
                found[owner[i, k]] += width[i] * w * itemsize
            if i > k:
                users = {*owner[i, k + 1 : i + 1].tolist(), *owner[i:, i].tolist()}
                found[owner[i, k]] += len(users - {owner[i, k]}) * width[i] * w * itemsize
        found[owner[k, k]] += len({*owner[k + 1 :, k].tolist()} - {owner[k, k]}) * w * w * itemsize
    return found
