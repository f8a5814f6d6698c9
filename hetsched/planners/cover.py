"""Whether a plan gives away all of the work, each part of it once: asked when it is to be run, before anything is changed.

Planners' own plans do; others come from files and from `dataclasses.replace`. What is in no part would be returned as the memory
was, and what is in two would be written by two workers at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._engine.run import OUTSIDE, OVERLAP, UNCOVERED, Fault, fault_of_boxes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .cuboids import Cuboids
    from .divisible import DivisibleLoad
    from .layers import LayersPlan
    from .partition import Partition
    from .product import ProductPlan
    from .star import StarPlan
    from .star_lu import StarLuPlan
    from .stencil import StencilPlan
    from .tasks import MaxTasks, MinTime


def require_boxes(plan: ProductPlan) -> None:
    """Every multiply-add of C = A B is in one box. Without layers an element of C has one worker, whose boxes add up."""
    require_owners("plan.boxes[:, 0]", plan.boxes[:, 0], len(plan.names))
    apart = plan.layers is None and not plan.shared
    fault = fault_of_boxes(plan.boxes, plan.shape, triangle=plan.triangle, one_worker=apart)
    if fault is not None:
        raise ValueError(_words("plan", fault, plan.boxes, plan.shape, ("C", "element", "box", "boxes")))
    if plan.layers is not None:
        rows, m = plan.layers.rows, plan.shape[0]
        if len(rows) != len(plan.names) + 1 or rows[0] != 0 or rows[-1] != m or (np.diff(rows) < 0).any():
            raise ValueError(f"plan.layers.rows must rise from 0 to m = {m}, one more than workers, got {rows.tolist()}")


def require_pieces(plan: Partition) -> None:
    """Every cell of the matrix is in one piece; for a plan with a shape."""
    assert plan.shape is not None
    require_owners("plan.pieces[:, 0]", plan.pieces[:, 0], len(plan.areas))
    require_zones("plan", plan.pieces.astype(np.int64), plan.shape, ("C", "cell", "piece", "pieces"))


def require_cuboids(plan: Cuboids) -> None:
    """Every iteration is in one box; for a plan with a shape."""
    assert plan.shape is not None
    boxes = np.insert(plan.boxes.astype(np.int64), 0, 0, axis=1)
    if (fault := fault_of_boxes(boxes, plan.shape)) is not None:
        raise ValueError(_words("plan", fault, plan.boxes, plan.shape, ("the iterations", "cell", "box", "boxes")))


def require_layers(plan: LayersPlan) -> None:
    """Every layer has one worker, which gets a message."""
    require_owners("plan.order", plan.order, len(plan.names))
    counts, displs, order = plan.counts, plan.displs, plan.order
    boxes = np.zeros((len(order), 7), np.int64)
    boxes[:, 3], boxes[:, 4:6], boxes[:, 6] = displs[order], 1, counts[order]
    if int(np.abs(counts).sum()) != plan.n or (plan.n and fault_of_boxes(boxes, (1, 1, plan.n)) is not None):
        raise ValueError(
            f"plan.counts and plan.displs must divide {plan.n} layers over the workers of plan.order, {order.tolist()}, got "
            f"{counts.tolist()} and {displs.tolist()}"
        )


def require_nodes(counts: NDArray[Any], n: int) -> None:
    """The layers of a network's nodes add up, up to rounding where they are no integers."""
    lost = 1e-9 * n if counts.dtype.kind == "f" else 0
    if not (counts >= -lost).all() or abs(counts.sum() - n) > lost:
        raise ValueError(f"plan gives its nodes {counts.sum():g} layers, n is {n}; none may have less than 0")


def require_chunks(plan: StarPlan) -> None:
    """Every block of C is in one chunk, and has all of the inner dimension."""
    chunks = plan.chunks
    require_owners("plan.chunks['worker']", chunks["worker"], len(plan.names))
    columns = [chunks[name] for name in ("worker", "row", "col", "height", "width")]
    zones = np.stack(columns, axis=1).astype(np.int64)
    require_zones("plan", zones, plan.shape[:2], ("C", "block", "chunk", "chunks"))


#: What is covered, what of it, and by what.
Nouns = tuple[str, str, str, str]


def require_zones(
    name: str,
    zones: NDArray[np.int64],
    shape: tuple[int, int],
    nouns: Nouns = ("the matrix", "element", "zone", "zones"),
) -> None:
    """Every element of a matrix of that shape is in one of the zones: rows of worker, row, col, height and width."""
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
        return f"{name} has a {one} {first}, {boxes[first].tolist()}, which is not within {tuple(shape)}"
    if fault.kind == UNCOVERED:
        return f"{name} does not cover {whole}: {where} is in no {one}"
    if fault.kind == OVERLAP:
        return f"{name} does not cover {whole} once: {where} is in both {several} {first} and {second}"
    return f"{name} has two workers for {where} in {several} {first} and {second}, and no layers to be summed"


def require_owners(name: str, owners: NDArray[Any], workers: int) -> None:
    """All of them are workers."""
    check.integers(name, owners, low=0, high=workers - 1)


def require_slices(plan: StencilPlan) -> None:
    """The columns of the matrix are divided over the members of the ring."""
    ring, cols = plan.ring, plan.shape[1]
    require_owners("plan.ring", ring, len(plan.names))
    counts = plan.counts[ring]
    if len(np.unique(ring)) != len(ring):
        raise ValueError(f"plan.ring must name different workers, got {ring.tolist()}")
    if (counts < 1).any() or int(counts.sum()) != cols or int(np.abs(plan.counts).sum()) != cols:
        raise ValueError(f"plan.counts must divide the {cols} columns over the ring {ring.tolist()}, got {plan.counts.tolist()}")


def require_tasks(plan: MaxTasks | MinTime) -> None:
    """Each task has a slave that gets a message."""
    _require_orders(plan)
    given = plan.counts[plan.send_order]
    if (plan.counts < 0).any() or int(given.sum()) != plan.tasks or int(plan.counts.sum()) != plan.tasks:
        raise ValueError(
            f"plan.counts must give the {plan.tasks} tasks to the workers of plan.send_order, {plan.send_order.tolist()}, got "
            f"{plan.counts.tolist()}"
        )


def require_load(plan: DivisibleLoad) -> None:
    """The load is divided over the workers that get a message."""
    _require_orders(plan)
    given, all_ = plan.shares[plan.send_order], float(plan.shares.sum())
    fits = abs(float(given.sum()) - plan.amount) <= 1e-9 * plan.amount and abs(all_ - plan.amount) <= 1e-9 * plan.amount
    if not (fits and (plan.shares >= 0).all()):
        raise ValueError(
            f"plan.shares must divide the load of {plan.amount:g} over the workers of plan.send_order, "
            f"{plan.send_order.tolist()}, got {plan.shares.tolist()}"
        )


def _require_orders(plan: MaxTasks | MinTime | DivisibleLoad) -> None:
    for name in ("send_order", "receive_order"):
        order = getattr(plan, name)
        require_owners(f"plan.{name}", order, len(plan.names))
        if len(np.unique(order)) != len(order):
            raise ValueError(f"plan.{name} must name different workers, got {order.tolist()}")
    if len(plan.receive_order) and set(plan.receive_order.tolist()) != set(plan.send_order.tolist()):
        raise ValueError(
            f"plan.receive_order must name the workers of plan.send_order, {plan.send_order.tolist()}, got "
            f"{plan.receive_order.tolist()}"
        )


def require_panels(plan: StarLuPlan) -> None:
    """The panels follow each other up to the last block, and each but the last one has the whole product of what is left."""
    first = 0
    if len(plan.products) != len(plan.panels) - 1:
        raise ValueError(
            f"plan has {len(plan.panels)} panels and {len(plan.products)} products: one for each but the last is needed"
        )
    for k, panel in enumerate(plan.panels):
        if panel.first != first or panel.width < 1 or first + panel.width > plan.blocks:
            raise ValueError(
                f"plan.panels[{k}] is {panel.width} blocks from {panel.first} on, the next of {plan.blocks} blocks is {first}"
            )
        first += panel.width
        left = plan.blocks - first
        if k < len(plan.products) and plan.products[k].shape != (left, left, panel.width):
            raise ValueError(
                f"plan.products[{k}] has shape {plan.products[k].shape}, panel {k} needs {(left, left, panel.width)}"
            )
        if k < len(plan.products):
            require_chunks(plan.products[k])
    if first != plan.blocks:
        raise ValueError(f"plan.panels end with block {first - 1} of {plan.blocks}")
