"""Chunks of a product A B = C that no planner would make, for tests of all that takes chunks."""

from __future__ import annotations

import itertools
import random


def random_chunks(rng: random.Random, shape: tuple[int, int, int], p: int) -> tuple[list[tuple[int, ...]], list[int]]:
    """Up to nine chunks that tile C, in any order, and the memory that each of the p workers needs for them.

    A chunk is a row of STAR_CHUNK; it holds A, B or C and takes panels of any depth into one buffer or two, or it holds C and the
    blocks of A or of B come one by one.
    """
    r, s, t = shape
    rows = sorted({0, r, *(rng.randrange(r + 1) for _ in range(2))})
    cols = sorted({0, s, *(rng.randrange(s + 1) for _ in range(2))})
    chunks, memory = [], [0] * p
    for (top, bottom), (left, right) in itertools.product(itertools.pairwise(rows), itertools.pairwise(cols)):
        h, v, i = bottom - top, right - left, rng.randrange(p)
        chunk = (i, rng.randrange(3), rng.randint(1, 2), top, left, h, v, rng.choice([1, 1, 2, 3, 9]))
        stays, layer, length = [(h * v, h + v, t), (h * t, h + t, v), (v * t, v + t, h)][chunk[1]]
        need = stays + chunk[2] * min(chunk[7], length) * layer
        if rng.randrange(4) == 0:
            chunk = (i, 0, -rng.randrange(2), top, left, h, v, 1)
            need = h * v + 1 + (h if chunk[2] else v)
        memory[i] = max(memory[i], need)
        chunks.append(chunk)
    rng.shuffle(chunks)
    return chunks, memory
