"""Chunks of a StarPlan in elements: contents of their messages, and pieces that fit another memory.

Operands are numbered as in `held`: 0 is C, 1 is A, 2 is B.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine import star as engine

LOAD, PANEL, RESULT = engine.LOAD, engine.PANEL, engine.RESULT
C, A, B = engine.HOLD_C, engine.HOLD_A, engine.HOLD_B

_LEAST = 3  # blocks: one of each operand

Array = NDArray[Any]


class Chunk(NamedTuple):
    """A row of `StarPlan.chunks`."""

    worker: int
    held: int
    buffers: int
    row: int
    col: int
    height: int
    width: int
    depth: int
    ahead: int


class Step(NamedTuple):
    """A message of a chunk.

    Attributes
    ----------
    kind : int
    first : int
        First layer of a panel, and of its result if the panel has a result of its own.
    after : int
        Number of panels of the pipelined chunks that must have been computed before. A buffer that
        a result leaves is free once the result has arrived.
    """

    kind: int
    first: int
    after: int


class Part(NamedTuple):
    """A rectangle of an operand, in elements."""

    row: int
    col: int
    height: int
    width: int

    @property
    def size(self) -> int:
        return self.height * self.width

    def of(self, array: Array) -> Array:
        """A view of this part of an array."""
        return array[self.row : self.row + self.height, self.col : self.col + self.width]


class Product(NamedTuple):
    """What every rank must know of a product.

    Attributes
    ----------
    dtype : str
    sizes : (int, int, int)
        m, n and k.
    shape : (int, int, int)
        r, s and t: the same in blocks.
    block : int
        Side of a block.
    by_columns : (bool, bool, bool)
        Whether C, A and B are stored by columns in messages. They are stored as at the master, so
        that whole lines are copied.
    alpha : complex
        The factor of A B: C += alpha A B.
    """

    dtype: str
    sizes: tuple[int, int, int]
    shape: tuple[int, int, int]
    block: int
    by_columns: tuple[bool, bool, bool]
    alpha: complex = 1.0


@lru_cache(maxsize=1 << 14)
def traffic_of(chunk: Chunk, t: int) -> engine.Traffic:
    """What the messages of a chunk carry."""
    return engine.chunk_traffic(t, _array([chunk]))


def _array(chunks: Sequence[Chunk]) -> Array:
    return np.array(chunks, engine.STAR_CHUNK)


def streamed(chunk: Chunk) -> int:
    """The operand that is sent block by block; C if there is none."""
    return A if chunk.buffers == engine.STREAM_A else B if chunk.buffers == engine.STREAM_B else C


def along(chunk: Chunk, t: int, first: int) -> bool:
    """Whether the message of panel `first` also carries the operand that stays for a layer.

    That is so for the first streamed block of each layer.
    """
    return first % traffic_of(chunk, t).every == 0


def slots(chunk: Chunk) -> int:
    """Number of panels that fit in the buffers."""
    return max(chunk.buffers, 1)


def needed(chunk: Chunk, t: int) -> int:
    """Blocks of memory that a chunk needs."""
    return int(engine.needs(t, 1, _array([chunk._replace(worker=0)]))[0])


def pipelined(given: Iterable[tuple[int, Chunk]]) -> list[tuple[int, Chunk]]:
    """The first chunk of a worker, and the chunks in a row after it that are sent ahead.

    A chunk is sent ahead if it is sent before the result of the chunk before it. Each chunk is
    given with its number.
    """
    rest = iter(given)
    return [next(rest), *itertools.takewhile(lambda x: x[1].ahead, rest)]


def panels_of(chunk: Chunk, t: int) -> range:
    """The first layer of each panel."""
    return range(0, traffic_of(chunk, t).length, chunk.depth)


def steps_of(chunks: Sequence[Chunk], t: int) -> Iterator[tuple[int, Step]]:
    """The messages of pipelined chunks, in the model's order: (index of the chunk, step)."""
    steps = engine.chunk_steps(t, _array(chunks))
    return ((i, Step(kind, first, after)) for i, first, after, kind in steps.tolist())


def operands_in(kind: int, held: int) -> tuple[int, ...]:
    """The operands that a message holds, in its order."""
    if kind == LOAD:
        return (held,)
    return (C,) if kind == RESULT else tuple(o for o in (C, A, B) if o != held)


def deep(chunk: Chunk, t: int, first: int) -> int:
    """Number of layers of the panel that begins with layer `first`."""
    return min(chunk.depth, traffic_of(chunk, t).length - first)


def blocks_in(chunk: Chunk, t: int, step: Step) -> int:
    """Number of blocks of a message to a worker."""
    x = traffic_of(chunk, t)
    if step.kind == LOAD:
        return x.held
    return deep(chunk, t, step.first) * x.come + x.more * (step.first % x.every == 0)


def blocks_leaving(chunk: Chunk, t: int, first: int) -> int:
    """Number of blocks that leave with a panel: read for the last time, or in its result."""
    x, layers = traffic_of(chunk, t), deep(chunk, t, first)
    return layers * x.come + x.more * ((first + layers) % x.every == 0)


def parts(product: Product, chunk: Chunk, first: int) -> tuple[Part, Part, Part]:
    """Parts of C, of A and of B for the panel that begins with layer `first`.

    The part that the chunk holds is the same for all panels.
    """
    (m, n, k), q, t = product.sizes, product.block, product.shape[2]
    if streamed(chunk):
        layer, place = divmod(first, traffic_of(chunk, t).every)
        strip = (
            (chunk.row + place, 1, chunk.col, chunk.width)
            if streamed(chunk) == A
            else (chunk.row, chunk.height, chunk.col + place, 1)
        )
        rows = _elements(*strip[:2], q, m)
        cols = _elements(*strip[2:], q, n)
        inner = _elements(layer, 1, q, k)
        return _of_box(rows, cols, inner)
    layers = (first, deep(chunk, t, first))
    rows = (
        _elements(chunk.row + first, layers[1], q, m)
        if chunk.held == B
        else _elements(chunk.row, chunk.height, q, m)
    )
    cols = (
        _elements(chunk.col + first, layers[1], q, n)
        if chunk.held == A
        else _elements(chunk.col, chunk.width, q, n)
    )
    inner = _elements(*layers, q, k) if chunk.held == C else (0, k)
    return _of_box(rows, cols, inner)


def _of_box(
    rows: tuple[int, int], cols: tuple[int, int], inner: tuple[int, int]
) -> tuple[Part, Part, Part]:
    (row, height), (col, width), (depth, thick) = rows, cols, inner
    return (
        Part(row, col, height, width),
        Part(row, depth, height, thick),
        Part(depth, col, thick, width),
    )


def _elements(start: int, count: int, q: int, size: int) -> tuple[int, int]:
    return start * q, min(count * q, size - start * q)


def whole(product: Product, chunk: Chunk) -> Part:
    """The part of C of a chunk."""
    (m, n, _), q = product.sizes, product.block
    row, height = _elements(chunk.row, chunk.height, q, m)
    col, width = _elements(chunk.col, chunk.width, q, n)
    return Part(row, col, height, width)


def message_parts(product: Product, chunk: Chunk, step: Step) -> list[tuple[int, Part]]:
    """(operand, part) for each operand in a message.

    If the chunk holds C, its result has all layers, whichever panel is given.
    """
    if other := streamed(chunk):
        if step.kind != PANEL:
            return [(C, whole(product, chunk))]
        own = parts(product, chunk, step.first)
        stays = (
            [(A + B - other, own[A + B - other])]
            if along(chunk, product.shape[2], step.first)
            else []
        )
        return [*stays, (other, own[other])]
    all_parts = parts(product, chunk, step.first)
    return [(o, all_parts[o]) for o in operands_in(step.kind, chunk.held)]


def elements_in(product: Product, chunk: Chunk, step: Step) -> int:
    """Number of elements of a message."""
    return sum(part.size for _, part in message_parts(product, chunk, step))


def views(data: Array, product: Product, of: list[tuple[int, Part]]) -> dict[int, Array]:
    """The operands of a message as matrices, which are views of its data."""
    found, at = {}, 0
    for o, part in of:
        line, at = data[at : at + part.size], at + part.size
        found[o] = (
            line.reshape(part.width, part.height).T
            if product.by_columns[o]
            else line.reshape(part.height, part.width)
        )
    return found


# ---- work of a lost worker ----


def without(chunk: Chunk, layers: int) -> Chunk:
    """The rest of a chunk that holds A or B, when the results of its first layers have arrived."""
    if chunk.held == A:
        return chunk._replace(col=chunk.col + layers, width=chunk.width - layers)
    return chunk._replace(row=chunk.row + layers, height=chunk.height - layers)


def halved(chunk: Chunk) -> tuple[Chunk, Chunk]:
    """Cut a chunk into two rectangles."""
    if chunk.height >= chunk.width:
        half = chunk.height // 2
        return chunk._replace(height=half), chunk._replace(
            row=chunk.row + half, height=chunk.height - half
        )
    half = chunk.width // 2
    return chunk._replace(width=half), chunk._replace(
        col=chunk.col + half, width=chunk.width - half
    )


def shared(chunks: list[Chunk], count: int) -> list[Chunk]:
    """Cut chunks in two until there are at least `count`, or each is one block; largest first."""
    found = sorted(chunks, key=_area, reverse=True)
    while found and len(found) < count and _area(found[0]) > 1:
        found = sorted([*found[1:], *halved(found[0])], key=_area, reverse=True)
    return found


def _area(chunk: Chunk) -> int:
    return chunk.height * chunk.width


def fitted(chunk: Chunk, t: int, memory: int) -> tuple[Chunk, list[Chunk]] | None:
    """Cut a piece from a chunk for a worker with this many blocks of memory.

    Returns the piece and the rest, or None if nothing fits. A chunk that fits is returned whole.
    Otherwise the piece is a rectangle of it, nearly square, with C in the worker's memory and
    buffers for two panels if there is room, else for one.
    """
    if needed(chunk, t) <= memory:
        return chunk, []
    if memory < _LEAST:
        return None
    buffers = 2 if memory > 4 else 1
    side = math.isqrt(memory + buffers**2) - buffers  # side^2 + 2 buffers side <= memory
    height = min(chunk.height, max(side, 1))
    width = min(chunk.width, (memory - buffers * height) // (height + buffers))
    if width == chunk.width:
        height = min(chunk.height, (memory - buffers * width) // (width + buffers))
    piece = chunk._replace(held=C, buffers=buffers, depth=1, height=height, width=width)
    right = chunk._replace(height=height, col=chunk.col + width, width=chunk.width - width)
    below = chunk._replace(row=chunk.row + height, height=chunk.height - height)
    return piece, [rest for rest in (right, below) if rest.height and rest.width]
