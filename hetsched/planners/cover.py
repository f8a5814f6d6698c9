"""Checks that the boxes, zones or chunks of a plan cover all of the work, each part once.

They run before the plan is run. The boxes of planners pass them; other boxes come from files and
from `dataclasses.replace`. Elements in no box would be returned with whatever the memory held
before, and elements in two boxes would be written by two workers at the same time. Counts and
owners are checked when a plan is made (its table).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine.run import OUTSIDE, OVERLAP, UNCOVERED, Fault, fault_of_boxes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .cuboids import Cuboids
    from .partition import Partition
    from .product import ProductPlan
    from .star import StarPlan


def require_boxes(plan: ProductPlan) -> None:
    """Require every multiply-add of C = A B to be in one box.

    Without layers, each element of C has one worker, and the boxes of this worker add up.
    """
    apart = plan.layers is None and not plan.shared
    fault = fault_of_boxes(plan.boxes, plan.shape, triangle=plan.triangle, one_worker=apart)
    if fault is not None:
        raise ValueError(
            _words("plan", fault, plan.boxes, plan.shape, ("C", "element", "box", "boxes"))
        )


def require_pieces(plan: Partition) -> None:
    """Require every cell of the matrix to be in one piece; for a plan with a shape."""
    assert plan.shape is not None
    require_zones(
        "plan", plan.pieces.astype(np.int64), plan.shape, ("C", "cell", "piece", "pieces")
    )


def require_cuboids(plan: Cuboids) -> None:
    """Require every iteration to be in one box; for a plan with a shape."""
    assert plan.shape is not None
    boxes = np.insert(plan.boxes.astype(np.int64), 0, 0, axis=1)
    if (fault := fault_of_boxes(boxes, plan.shape)) is not None:
        raise ValueError(
            _words(
                "plan", fault, plan.boxes, plan.shape, ("the iterations", "cell", "box", "boxes")
            )
        )


def require_chunks(plan: StarPlan) -> None:
    """Require every block of C to be in one chunk with the whole inner dimension."""
    chunks = plan.chunks
    columns = [chunks[name] for name in ("worker", "row", "col", "height", "width")]
    zones = np.stack(columns, axis=1).astype(np.int64)
    require_zones("plan", zones, plan.shape[:2], ("C", "block", "chunk", "chunks"))


#: Names in messages: the whole, one element of it, the part that covers it, and its plural.
Nouns = tuple[str, str, str, str]


def require_zones(
    name: str,
    zones: NDArray[np.int64],
    shape: tuple[int, int],
    nouns: Nouns = ("the matrix", "element", "zone", "zones"),
) -> None:
    """Require every element of a matrix of that shape to be in one zone.

    The rows of `zones` are worker, row, col, height and width.
    """
    boxes = np.zeros((len(zones), 7), np.int64)
    boxes[:, [0, 1, 2, 4, 5]], boxes[:, 6] = zones, 1
    if (fault := fault_of_boxes(boxes, (*shape, 1))) is not None:
        raise ValueError(_words(name, fault, zones, shape, nouns))


def _words(name: str, fault: Fault, boxes: NDArray[Any], shape: Sequence[int], nouns: Nouns) -> str:
    (first, second), (whole, element, one, several) = fault.boxes, nouns
    where = f"{element} ({fault.row}, {fault.col})"
    if fault.depth:
        where += f", layer {fault.depth} of the inner dimension,"
    if fault.kind == OUTSIDE:
        return (
            f"{name} has a {one} {first}, {boxes[first].tolist()}, which is not within"
            f" {tuple(shape)}"
        )
    if fault.kind == UNCOVERED:
        return f"{name} does not cover {whole}: {where} is in no {one}"
    if fault.kind == OVERLAP:
        return (
            f"{name} does not cover {whole} once: {where} is in both {several} {first} and {second}"
        )
    return (
        f"{name} has two workers for {where} in {several} {first} and {second},"
        " and no layers to be summed"
    )
