"""Chunks of a product A B = C that no planner would make, for tests of all that takes chunks."""

from __future__ import annotations

import itertools
import random


def random_chunks(
    rng: random.Random, shape: tuple[int, int, int], p: int
) -> tuple[list[tuple[int, ...]], list[int]]:
    """Up to nine chunks that tile C, in any order, and the memory that each of the p workers needs
    for them.

    A chunk is a row of STAR_CHUNK; it holds A, B or C and takes panels of any depth into one buffer
    or two, or it holds C and the blocks of A or of B come one by one. Some that hold C after
    another one that does are ahead of it.
    """
    r, s, t = shape
    rows = sorted({0, r, *(rng.randrange(r + 1) for _ in range(2))})
    cols = sorted({0, s, *(rng.randrange(s + 1) for _ in range(2))})
    chunks = []
    for (top, bottom), (left, right) in itertools.product(
        itertools.pairwise(rows), itertools.pairwise(cols)
    ):
        h, v, i, held = bottom - top, right - left, rng.randrange(p), rng.choice([0, 0, 1, 2])
        chunk = (i, held, rng.randint(1, 2), top, left, h, v, rng.choice([1, 1, 2, 3, 9]))
        if rng.randrange(4) == 0:
            chunk = (i, 0, -rng.randrange(2), top, left, h, v, 1)
        chunks.append(chunk)
    rng.shuffle(chunks)
    held_before = [0] * p
    for k, (i, held, *rest) in enumerate(chunks):
        chunks[k] = (i, held, *rest, int(held == 0 and held_before[i] == 0 and rng.random() < 0.6))
        held_before[i] = held
    return chunks, memory_of(shape, chunks, p)


def memory_of(shape: tuple[int, int, int], chunks: list[tuple[int, ...]], p: int) -> list[int]:
    """Blocks that each worker needs: of chunks each ahead of the one before what two neighbours
    hold, and the panels of one."""
    memory = [0] * p
    for i in range(p):
        chains: list[list[tuple[int, int]]] = []  # of each chunk what it holds, and its panels
        for chunk in (chunk for chunk in chunks if chunk[0] == i):
            if not chains or not chunk[8]:
                chains.append([])
            chains[-1].append(room_of(shape, chunk))
        for chain in chains:
            held = [stays for stays, _ in chain]
            memory[i] = max(
                memory[i],
                max(map(sum, zip([0, *held], held, strict=False)))
                + max(passes for _, passes in chain),
            )
    return memory


def room_of(shape: tuple[int, int, int], chunk: tuple[int, ...]) -> tuple[int, int]:
    """Blocks of what a chunk holds, and of the panels that it has at a time."""
    _, held, buffers, _, _, h, v, depth, _ = chunk
    t = shape[2]
    if buffers < 1:
        return h * v, 1 + (h if buffers else v)
    stays, layer, length = [(h * v, h + v, t), (h * t, h + t, v), (v * t, v + t, h)][held]
    return stays, buffers * min(depth, length) * layer
