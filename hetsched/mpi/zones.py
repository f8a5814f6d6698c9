"""Which rank holds which rectangles of a matrix, and how they move between ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check
from ..plan import Plan
from ..planners.cover import require_zones
from ..planners.distribute import Distribution
from ..planners.lu_grid import LuGrid
from ..planners.lu_pattern import LuPattern
from ..planners.partition import Partition
from ..planners.product import ProductPlan
from ..planners.wavefront import Wavefront
from ..runners.sweep import require_tiles
from .kinds import wrong_kind
from .loop import Loop, Waiting, all_of
from .record import Record
from .windows import Array, Inbox, send_all

_PIECE = 1 << 24  # bytes of a message, unless it is a single row


@dataclass(frozen=True, eq=False)
class Zone:
    """The part of a matrix that one rank holds, and the owners of the rest.

    Attributes
    ----------
    shape : (int, int)
        Shape of the matrix.
    boxes : (b, 5) int64 array
        rank, row, col, height, width of the rectangles of all ranks, in elements. The rectangles
        tile the matrix.
    rank : int
    parts : tuple of 2-D arrays
        This rank's rectangles, in the order of `boxes`.
    dtype : numpy.dtype
    """

    shape: tuple[int, int]
    boxes: NDArray[np.int64]
    rank: int
    parts: tuple[Array, ...]
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        require_zones("boxes", self.boxes, self.shape)
        own = self.own
        if len(own) != len(self.parts):
            raise ValueError(
                f"parts must be the {len(own)} rectangles of rank {self.rank}, got"
                f" {len(self.parts)}"
            )
        for i, (part, box) in enumerate(zip(self.parts, own.tolist(), strict=True)):
            if part.shape != (box[3], box[4]) or part.dtype != self.dtype:
                raise ValueError(
                    f"parts[{i}] must be {box[3]} x {box[4]} of {self.dtype}, got shape"
                    f" {part.shape} of {part.dtype}"
                )

    @property
    def own(self) -> NDArray[np.int64]:
        """The boxes of this rank."""
        return of_rank(self.boxes, self.rank)

    @property
    def array(self) -> Array:
        """The only part of this rank; a 0 x 0 array if it has none.

        Raises
        ------
        ValueError
            If there are several parts.
        """
        if len(self.parts) > 1:
            raise ValueError(
                f"rank {self.rank} holds {len(self.parts)} rectangles: use parts, not array"
            )
        return self.parts[0] if self.parts else np.empty((0, 0), self.dtype)

    def __repr__(self) -> str:
        held = ", ".join(f"{h} x {w} at ({r}, {c})" for _, r, c, h, w in self.own.tolist())
        return (
            f"<Zone of {self.shape[0]} x {self.shape[1]} {self.dtype}: rank {self.rank} holds"
            f" {held or 'nothing'}>"
        )


@dataclass(frozen=True)
class Held:
    """A matrix on the ranks: the rectangles of all ranks, this rank's parts, and the dtype."""

    boxes: NDArray[np.int64]
    parts: tuple[Array, ...]
    dtype: np.dtype[Any]


class Piece(NamedTuple):
    """A rectangle that is sent. `step` is the step that needs it, `of` the number of its matrix."""

    source: int
    target: int
    step: int
    of: int
    row: int
    col: int
    height: int
    width: int


def boxes_of(plan: Plan, shape: tuple[int, int], size: int) -> NDArray[np.int64]:
    """(b, 5) rank, row, col, height, width: the rectangles of a matrix that a plan gives each rank.

    Parameters
    ----------
    plan : Partition, ProductPlan, LuPattern, LuGrid, Wavefront or Distribution
        It gives zones of C, scaled to the shape; block columns; blocks; chunks of lines of tiles;
        or slices of rows.

    Raises
    ------
    TypeError, ValueError
        If the plan is of another kind or for another number of ranks, or the shape cannot have its
        blocks.
    """
    if not isinstance(
        plan, Partition | ProductPlan | LuPattern | LuGrid | Wavefront | Distribution
    ):
        raise wrong_kind(plan, "a plan that assigns rectangles of a matrix to ranks")
    require_ranks(plan, size)
    rows, cols = shape
    if isinstance(plan, LuPattern):
        cuts = blocks("plan", len(plan.owner), cols)
        boxes = [
            (owner, 0, cuts[j], rows, cuts[j + 1] - cuts[j])
            for j, owner in enumerate(plan.owner.tolist())
        ]
    elif isinstance(plan, LuGrid):
        down, along = (blocks("plan", len(plan.owner), side) for side in shape)
        boxes = [
            (owner, down[i], along[j], down[i + 1] - down[i], along[j + 1] - along[j])
            for i, line in enumerate(plan.owner.tolist())
            for j, owner in enumerate(line)
        ]
    elif isinstance(plan, Wavefront):
        boxes = _chunks(plan, shape)
    elif isinstance(plan, Distribution):
        if int(plan.counts.sum()) != rows:
            raise ValueError(f"plan is for {int(plan.counts.sum())} rows, the matrix has {rows}")
        boxes = [
            (i, start, 0, count, cols)
            for i, (start, count) in enumerate(zip(plan.displs, plan.counts, strict=True))
        ]
    elif isinstance(plan, Partition):
        if plan.shape is None:
            raise ValueError("plan is a partition of the unit square: give partition() a shape")
        boxes = _scaled(plan.pieces.tolist(), plan.shape, shape)
    elif plan.layers is not None:
        lines = plan.layers.rows.tolist()
        given = [(i, lines[i], 0, lines[i + 1] - lines[i], plan.shape[1]) for i in range(size)]
        boxes = _scaled(given, plan.shape[:2], shape)
    else:
        zones = np.unique(plan.boxes[:, [0, 1, 2, 4, 5]], axis=0)
        boxes = _scaled(zones.tolist(), plan.shape[:2], shape)
    return check.frozen(without_empty(np.array(boxes, np.int64).reshape(-1, 5)))


def _chunks(plan: Wavefront, shape: tuple[int, int]) -> list[tuple[int, int, int, int, int]]:
    """The chunks of a wavefront, from the first line on."""
    require_tiles(plan, shape, "matrix")
    cuts = tile_cuts(shape[plan.axis], plan.shape[plan.axis])
    found = []
    for rank, first, count in plan.chunks.tolist():
        start, size = cuts[first], cuts[first + count] - cuts[first]
        found.append(
            (rank, 0, start, shape[0], size) if plan.axis == 1 else (rank, start, 0, size, shape[1])
        )
    return found


def tile_cuts(size: int, parts: int) -> list[int]:
    """Where tiles begin that divide a side as evenly as integers allow, and the end."""
    return [size // parts * i + size % parts * i // parts for i in range(parts + 1)]


def of_rank(boxes: NDArray[np.int64], rank: int) -> NDArray[np.int64]:
    """The boxes of one rank."""
    own: NDArray[np.int64] = boxes[boxes[:, 0] == rank]
    return own


def without_empty(boxes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The boxes that have both rows and columns."""
    found: NDArray[np.int64] = boxes[(boxes[:, 3:] > 0).all(axis=1)]
    return found


def require_ranks(plan: Plan, size: int) -> None:
    if len(plan.names) != size:
        raise ValueError(f"plan is for {len(plan.names)} ranks, the communicator has {size}")


def blocks(name: str, count: int, side: int) -> list[int]:
    """Where `count` blocks of equal size begin, and the end; the last block may be smaller."""
    q = max(1, -(-side // max(count, 1)))
    if -(-side // q) != count:
        raise ValueError(
            f"{name} has {count} blocks along a side, but no block size makes so many of {side}"
            " elements"
        )
    return [min(i * q, side) for i in range(count + 1)]


def _scaled(
    boxes: Iterable[Any], of: tuple[int, int], to: tuple[int, int]
) -> list[tuple[int, int, int, int, int]]:
    """The rectangles for another shape.

    Cells become square blocks if that is possible, else cuts are rounded.
    """
    q = max(1, -(-to[0] // max(of[0], 1)))
    in_blocks = tuple(-(-side // q) for side in to) == tuple(of)

    def cut(x: int, axis: int) -> int:
        return (
            min(x * q, to[axis])
            if in_blocks
            else (2 * x * to[axis] + of[axis]) // max(2 * of[axis], 1)
        )

    return [
        (rank, cut(r, 0), cut(c, 1), cut(r + h, 0) - cut(r, 0), cut(c + w, 1) - cut(c, 1))
        for rank, r, c, h, w in boxes
    ]


def overlaps(
    boxes: NDArray[np.int64], row: int, col: int, height: int, width: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """(rank, row, col, height, width) of the overlap of each box with a rectangle, in box order."""
    top, left = np.maximum(boxes[:, 1], row), np.maximum(boxes[:, 2], col)
    low = np.minimum(boxes[:, 1] + boxes[:, 3], row + height)
    right = np.minimum(boxes[:, 2] + boxes[:, 4], col + width)
    for i in np.flatnonzero((low > top) & (right > left)).tolist():
        yield (
            int(boxes[i, 0]),
            int(top[i]),
            int(left[i]),
            int(low[i] - top[i]),
            int(right[i] - left[i]),
        )


def in_parts(piece: Piece, itemsize: int) -> Iterator[Piece]:
    """Cut a piece by rows into pieces of at most 16 MiB, or of one row if a row is longer."""
    lines = max(1, _PIECE // max(piece.width * itemsize, 1))
    for row in range(piece.row, piece.row + piece.height, lines):
        yield piece._replace(row=row, height=min(lines, piece.row + piece.height - row))


class Exchange:
    """Sends and receives pieces: between two ranks in their order, a few at a time.

    Parameters
    ----------
    read : function of a Piece
        Returns the array of a piece that this rank sends.
    placed : function of a Piece and an array
        Called with a piece that has arrived and its array.
    opened : function of a step, optional
        Returns the event to wait for before pieces for this step are received.
    counted : bool
        Whether received bytes are counted in the record.
    """

    def __init__(
        self,
        loop: Loop,
        record: Record,
        dtype: np.dtype[Any],
        tag: int,
        read: Callable[[Piece], Array],
        placed: Callable[[Piece, Array], None],
        opened: Callable[[int], Waiting] | None = None,
        counted: bool = True,
    ) -> None:
        self._loop, self._record, self._dtype, self._tag = loop, record, dtype, tag
        self._read, self._placed, self._opened, self._counted = read, placed, opened, counted

    async def run(self, pieces: Iterable[Piece], *, in_order: bool = False) -> None:
        """Send and receive the pieces of this rank. Pieces that stay here are placed in their turn.

        in_order: pieces are placed in the order of all pieces, not only in the order of each
        source.
        """
        me = self._loop.rank
        outgoing: dict[int, list[Piece]] = {}
        incoming: dict[int, list[Piece]] = {}
        for piece in pieces:
            if piece.source == me and piece.target != me:
                outgoing.setdefault(piece.target, []).append(piece)
            elif piece.target == me:
                incoming.setdefault(0 if in_order else piece.source, []).append(piece)
        running = [self._loop.spawn(self._send(own)) for own in outgoing.values()]
        running += [self._loop.spawn(self._receive(own)) for own in incoming.values()]
        await all_of(running)

    async def _send(self, pieces: list[Piece]) -> None:
        sent = ((self._read(piece), piece.target) for piece in pieces)
        await send_all(self._loop, self._record, self._dtype, sent, self._tag)

    async def _receive(self, pieces: list[Piece]) -> None:
        inbox = Inbox(self._loop, self._tag, self._use)
        for piece in pieces:
            if self._opened is not None and not (room := self._opened(piece.step)).done:
                await inbox.empty()
                await room
            if piece.source == self._loop.rank:
                self._placed(piece, self._read(piece))
                continue
            shape = piece.height, piece.width
            await inbox.receive(piece, piece.source, partial(np.empty, shape, self._dtype))
        await inbox.empty()

    def _use(self, piece: Piece, data: Array, since: float) -> None:
        what = f"{data.nbytes / 1e6:.4g} MB from rank {piece.source}"
        self._record.add("transfer", since, self._record.now(), what)
        self._record.received += data.nbytes if self._counted else 0
        self._placed(piece, data)


def copied(
    held: NDArray[np.int64], wanted: NDArray[np.int64], itemsize: int, *, me: int | None = None
) -> Iterator[Piece]:
    """The pieces that bring a matrix from the ranks that hold it to the ranks that want it.

    With `me`, only pieces that this rank sends or receives.
    """
    for target, row, col, height, width in wanted.tolist():
        boxes = held if me is None or me == target else of_rank(held, me)
        for source, r, c, h, w in overlaps(boxes, row, col, height, width):
            yield from in_parts(Piece(source, target, 0, 0, r, c, h, w), itemsize)


def reader(boxes: NDArray[np.int64], parts: Iterable[Array]) -> Callable[[Piece], Array]:
    """A function that finds pieces in the rectangles that a rank holds."""
    places = list(zip(boxes[:, 1:].tolist(), parts, strict=True))

    def read(piece: Piece) -> Array:
        for (row, col, height, width), part in places:
            r, c = piece.row - row, piece.col - col
            if min(r, c) >= 0 and r + piece.height <= height and c + piece.width <= width:
                return part[r : r + piece.height, c : c + piece.width]
        raise AssertionError(f"{piece} is not held here")

    return read
