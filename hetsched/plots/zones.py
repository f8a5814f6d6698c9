"""Plots of partitions: zones with cuts in a possible order, and several methods side by side."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..planners.floorplan import ABOVE, AROUND, BESIDE, CORNERS, WHEEL, Pieces
from ..planners.stacked import PlanStack
from .canvas import (
    _CELLS,
    _MANY,
    _SMALL,
    _SMALLEST,
    Sheet,
    _aspect,
    _axes,
    _draw_boxes,
    _fit_text,
    _heading,
    _points,
    _settle,
    _short,
    _title,
    digits,
    figure_for,
    figure_size,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..planners.partition import Partition
    from ..planners.profile_zones import ProfilePartition

_WIDTHS = (3.2, 2.2, 1.5, 1.1, 0.8)  # points: width of the cuts of the whole, of its parts, ...
_NUMBERED = 16  # number of workers up to which the cuts are numbered
_PANEL = 1.5  # inches: least width of one of several panels
_INK = "#222222"

Box = tuple[float, float, float, float]  # top, left, bottom, right
# (x, y) of both ends, x to the right and y down
Line = tuple[tuple[float, float], tuple[float, float]]


@dataclass(eq=False)
class _Node:
    """A box of a floorplan. Parallel cuts next to each other share one node."""

    op: int
    box: Box
    parts: list[_Node] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Cut:
    """What divides a box of the given depth: one line, four of a pinwheel, or two around a corner.

    Depth 0 is the whole.
    """

    op: int
    depth: int
    lines: list[Line]


def plot_boxes(
    shape: tuple[float, float],
    rects: Sequence[tuple[int, float, float, float, float]],
    names: Sequence[str],
    ax: Axes | None = None,
    *,
    zones: bool = False,
    note: str = "",
) -> Axes:
    """Draw rectangles in a matrix, coloured by worker, with the first row at the top.

    Parameters
    ----------
    shape : (rows, columns)
    rects : sequence of (worker, row, col, height, width)
        Empty ones are not drawn. The largest one of a worker is labelled with its name and its
        share of the matrix, the remaining ones with its name.
    names : (p,) sequence of str
    zones : bool
        Whether the rectangles of a worker are one zone, without lines where they touch and with
        one label.
    note : str
        A line of text below the plot.
    """
    # there are axes even if there is nothing to show
    rows, columns = shape = shape[0] or 1, shape[1] or 1
    ax = _axes(ax, figure_size("boxes", len(names), _aspect(shape)))
    set_up(ax, shape, note)
    _settle(ax)

    boxes = np.array([rect for rect in rects if rect[3] > 0 and rect[4] > 0], float).reshape(-1, 5)
    worker, top, left, height, width = boxes[:, 0].astype(int), *boxes.T[1:]
    area = height * width
    total = np.bincount(worker, area, len(names)) / (rows * columns)
    largest = {worker[i]: i for i in np.argsort(area, kind="stable")}
    across, down = _points(ax)
    colour = _cell_colours(boxes, len(names), 1e-9 * max(shape))
    narrow = np.minimum(width * across, height * down)
    _draw_boxes(
        ax, left, top, left + width, top + height, [_CELLS[colour[w]] for w in worker], narrow
    )
    if zones:
        _join(ax, boxes, [_CELLS[c] for c in colour])
    sizes: dict[str, tuple[float, float]] = {}
    for i in np.flatnonzero(narrow > _SMALLEST):
        if zones and largest[worker[i]] != i:
            continue
        name = _short(names[worker[i]])
        labels: list[tuple[str, int]] = [(name, 0), (name, 90)]
        if largest[worker[i]] == i:
            share = f"{100 * total[worker[i]]:.3g}%"
            labels[:0] = [(f"{name}\n{share}", 0), (f"{name} {share}", 0), (f"{name} {share}", 90)]
        centre = (left[i] + width[i] / 2, top[i] + height[i] / 2)
        _fit_text(ax, centre, (width[i] * across, height[i] * down), labels, "black", sizes)
    return ax


def set_up(ax: Axes, shape: tuple[float, float], note: str = "") -> None:
    """Set up the axes of a matrix, with the first row at the top."""
    ax.set(
        xlim=(0, shape[1]),
        ylim=(shape[0], 0),
        xlabel=f"column\n{note}" if note else "column",
        ylabel="row",
    )
    ax.set_box_aspect(_aspect(shape))
    ax.locator_params(nbins=5)


def plot_partition(partition: Partition, ax: Axes | None = None, *, cut_order: bool = True) -> Axes:
    """Draw the zones, first row at the top, with the workers' names and shares where they fit.

    Groups have a dark outline.

    Parameters
    ----------
    partition : Partition
    cut_order : bool
        Whether to show in which order the cuts are made. A cut that has to be made earlier is
        thicker. With up to 16 workers, a small number at its end says when it is made.
    """
    shape = partition.shape or (1, 1)
    ax = _axes(ax, figure_size("boxes", len(partition.areas), _aspect(shape)))
    pieces = [(int(worker), *rect) for worker, *rect in partition.pieces.tolist()]
    cuts = cuts_of(partition) if cut_order and len(pieces) <= _MANY else []
    numbered = bool(cuts) and np.count_nonzero(partition.areas) <= _NUMBERED
    note = "(small numbers: order of the cuts)" if numbered else ""
    set_up(ax, shape, note)
    _heading(ax, f"{partition.method}, cost {digits(partition.cost)}, gap {percent(partition.gap)}")
    plot_boxes(shape, pieces, partition.names, ax, zones=True, note=note)
    if cuts:
        _draw_cuts(ax, cuts, partition.pieces.astype(float))
        if numbered:
            _number(ax, cuts, partition.pieces.astype(float))
    if partition.groups is not None:
        _outline(ax, partition.pieces, partition.groups)
    return ax


def plot_profile_zones(plan: ProfilePartition, ax: Axes | None = None) -> Axes:
    """Draw the zones, first row at the top, with the workers' names and shares where they fit.

    Parameters
    ----------
    plan : ProfilePartition
    """
    ax = _axes(ax, figure_size("boxes", len(plan.names), _aspect(plan.shape)))
    _heading(ax, f"{plan.method}, makespan {digits(plan.makespan)}, gap {percent(plan.gap)}")
    return plot_boxes(plan.shape, plan.pieces.tolist(), plan.names, ax)


def plot_comparison(
    partitions: Mapping[str, Partition],
    figure: Figure | Sheet | None = None,
    *,
    cut_order: bool = True,
) -> Figure:
    """Draw partitions side by side, each with its method, cost and gap above it.

    Parameters
    ----------
    partitions : mapping of str to Partition
        Must not be empty; all partitions must have the same shape.
    cut_order : bool
        See `plot_partition`.
    """
    plans = list(partitions.values())
    if isinstance(plans[0], PlanStack):
        raise TypeError(
            "partitions are stacks of plans, which have no plot: compare the methods for one"
            " platform"
        )
    aspect = _aspect(plans[0].shape or (1, 1))
    ideal = min(len(plans), max(1, round(math.sqrt(len(plans) * 1.6 * aspect))))
    across = min((ideal, ideal + 1), key=lambda columns: -len(plans) % columns)
    if isinstance(figure, Sheet):
        across = min(across, max(1, int(figure.width / _PANEL)))
    down = math.ceil(len(plans) / across)
    width, height = (2.3 * side for side in (1 / math.sqrt(aspect), math.sqrt(aspect)))
    size = (across * (max(width, 1.6) + 0.15), down * (height + 0.5))
    if isinstance(figure, Sheet):  # the text above the panels does not shrink with them
        size = (
            figure.width,
            down * (height * (figure.width / across - 0.15) / max(width, 1.6) + 0.5) + 0.25,
        )
    figure = figure_for(figure, size)
    panels = [figure.add_subplot(down, across, 1 + place) for place in range(len(plans))]
    for ax in panels:
        ax.set(xticks=[], yticks=[])
    for ax, (method, plan) in zip(panels, partitions.items(), strict=True):
        plan.plot(ax, cut_order=cut_order)
        _title(ax, f"{method}\ncost {digits(plan.cost)}, gap {percent(plan.gap)}").set_fontsize(
            _SMALL
        )
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    if cut_order and len(plans[0].areas) <= _NUMBERED:
        figure.supxlabel("small numbers: order of the cuts", fontsize=_SMALL)
    _settle(panels[0])  # with squares to place, the layout is right only at the second time
    return figure


def cuts_of(partition: Partition) -> list[Cut]:
    """The cuts between the zones in an order in which a guillotine cutter can make them.

    Cuts of the whole come first.
    """
    spans: dict[int, Box] = {}
    for worker, row, col, height, width in partition.pieces.tolist():
        here = row, col, row + height, col + width
        spans[int(worker)] = _around([spans.get(int(worker), here), here])
    stack: list[_Node | None] = []  # None for workers that get nothing
    for op in partition.floorplan:
        if op >= 0:
            stack.append(_Node(op, spans[op]) if op in spans else None)
            continue
        count = {WHEEL: 5, CORNERS: 3}.get(op, 2)
        operands = [node for node in stack[-count:] if node is not None]
        del stack[-count:]
        if len(operands) < 2:
            stack.append(operands[0] if operands else None)
            continue
        joined = _Node(op, _around([node.box for node in operands]))
        for node in operands:
            joined.parts += node.parts if node.op == op and op in (BESIDE, ABOVE) else [node]
        stack.append(joined)

    found: list[Cut] = []
    waiting = deque((node, 0) for node in stack if node is not None)
    while waiting:
        node, depth = waiting.popleft()
        if node.op in (BESIDE, ABOVE):
            found += [
                Cut(node.op, depth, _edges(part.box, node.box, node.op)) for part in node.parts[:-1]
            ]
        elif node.op < 0:
            inside = node.parts[:-1] if node.op in (AROUND, CORNERS) else node.parts
            found.append(
                Cut(
                    node.op,
                    depth,
                    [line for part in inside for line in _edges(part.box, node.box, node.op)],
                )
            )
        waiting.extend((part, depth + 1) for part in node.parts)
    return found


def _around(boxes: list[Box]) -> Box:
    tops, lefts, bottoms, rights = zip(*boxes, strict=True)
    return min(tops), min(lefts), max(bottoms), max(rights)


def _edges(box: Box, whole: Box, op: int) -> list[Line]:
    """The edges of a box inside the whole: right for BESIDE, lower for ABOVE, else all edges."""
    top, left, bottom, right = box
    if op == BESIDE:
        return [((right, whole[0]), (right, whole[2]))]
    if op == ABOVE:
        return [((whole[1], bottom), (whole[3], bottom))]
    slack = 1e-9 * max(whole[2] - whole[0], whole[3] - whole[1])
    lines = [
        ((x, top), (x, bottom)) for x in (right, left) if whole[1] + slack < x < whole[3] - slack
    ]
    return lines + [
        ((left, y), (right, y)) for y in (top, bottom) if whole[0] + slack < y < whole[2] - slack
    ]


def _draw_cuts(ax: Axes, cuts: list[Cut], pieces: NDArray[np.float64]) -> None:
    from matplotlib.collections import LineCollection

    lines, widths = [], []
    for cut in reversed(cuts):  # the first cuts are on top
        for line in cut.lines:
            lines.append(line)
            room = _beside(line, pieces, _points(ax))
            widths.append(
                float(np.clip((room - 2) / 6, 0.0, _WIDTHS[min(cut.depth, len(_WIDTHS) - 1)]))
            )
    ax.add_collection(
        LineCollection(lines, colors="white", linewidths=widths, capstyle="butt"), autolim=False
    )


def _beside(line: Line, pieces: NDArray[np.float64], unit: tuple[float, float]) -> float:
    """Distance in points to the nearest parallel edge of a piece that touches the line."""
    (x0, y0), (x1, y1) = line
    upright = x0 == x1
    at, low, high = (x0, y0, y1) if upright else (y0, x0, x1)
    across, along = (2, 1) if upright else (1, 2)
    start, length = pieces[:, across], pieces[:, across + 2]
    slack = 1e-9 * max(1.0, abs(at))
    touching = (np.abs(start - at) <= slack) | (np.abs(start + length - at) <= slack)
    touching &= (pieces[:, along] < high - slack) & (
        pieces[:, along] + pieces[:, along + 2] > low + slack
    )
    return float(length[touching].min(initial=np.inf)) * unit[not upright]


def _number(ax: Axes, cuts: list[Cut], pieces: NDArray[np.float64]) -> None:
    """Write the number of each cut at its end, where a zone has room for it beside its name."""
    taken = [text.get_window_extent() for text in ax.texts]
    ends = np.stack(
        [pieces[:, 2], pieces[:, 1] + pieces[:, 3], pieces[:, 2] + pieces[:, 4], pieces[:, 1]],
        axis=1,
    )
    zones = ax.transData.transform(ends.reshape(-1, 2)).reshape(-1, 4)
    for number, cut in enumerate(cuts, 1):
        (x0, y0), (x1, y1) = cut.lines[0]
        far = 0.5 * _WIDTHS[min(cut.depth, len(_WIDTHS) - 1)] + 1.5
        upright = x0 == x1
        places = [
            ((x0, y0), "left", "top"),
            ((x1, y1), "left", "bottom") if upright else ((x1, y1), "right", "top"),
        ]
        if cut.op in (AROUND, CORNERS):  # outside the corner
            places = [((x1, y1), "right", "bottom") if upright else ((x0, y0), "left", "bottom")]
        for place, ha, va in places:
            offset = (far if ha == "left" else -far, -far if va == "top" else far)
            label = ax.annotate(
                str(number),
                place,
                xytext=offset,
                textcoords="offset points",
                fontsize=_SMALLEST,
                color=_INK,
                ha=ha,
                va=va,
                annotation_clip=False,
            )
            box = label.get_window_extent()
            inside = (
                (zones[:, 0] <= box.x0)
                & (zones[:, 1] <= box.y0)
                & (box.x1 <= zones[:, 2])
                & (box.y1 <= zones[:, 3])
            )
            if inside.any() and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            label.remove()


def _outline(ax: Axes, pieces: Pieces, groups: NDArray[np.int32]) -> None:
    from matplotlib.patches import Rectangle

    own = groups[pieces[:, 0].astype(np.int64)]
    for group in np.unique(own):
        rows, cols, heights, widths = pieces[own == group, 1:].astype(float).T
        top, left = rows.min(), cols.min()
        style: dict[str, Any] = {
            "fill": False,
            "edgecolor": _INK,
            "linewidth": 2.8,
            "joinstyle": "miter",
            "zorder": 3,
        }
        ax.add_patch(
            Rectangle(
                (left, top), (cols + widths).max() - left, (rows + heights).max() - top, **style
            )
        )


def _join(ax: Axes, boxes: NDArray[np.float64], colours: Sequence[str]) -> None:
    """Paint over the edge between two boxes of a worker."""
    from matplotlib.collections import LineCollection

    across, down = (0.5 / unit for unit in _points(ax))  # leave the outline visible
    lines, inks = [], []
    for worker in np.flatnonzero(np.bincount(boxes[:, 0].astype(int)) > 1).tolist():
        for _, top, left, height, width in boxes[boxes[:, 0] == worker]:
            for _, other_top, other_left, other_height, other_width in boxes[boxes[:, 0] == worker]:
                low = max(left, other_left) + across
                high = min(left + width, other_left + other_width) - across
                first = max(top, other_top) + down
                last = min(top + height, other_top + other_height) - down
                if abs(top + height - other_top) < 1e-3 * down and low < high:
                    lines.append([(low, other_top), (high, other_top)])
                    inks.append(colours[worker])
                if abs(left + width - other_left) < 1e-3 * across and first < last:
                    lines.append([(other_left, first), (other_left, last)])
                    inks.append(colours[worker])
    ax.add_collection(
        LineCollection(lines, colors=inks, linewidths=2.6, capstyle="butt"), autolim=False
    )


def _cell_colours(boxes: NDArray[np.float64], p: int, slack: float) -> list[int]:
    """An index of _CELLS for each worker, such that workers that touch have different ones."""
    worker, top, left = boxes[:, 0].astype(int), boxes[:, 1], boxes[:, 2]
    bottom, right = top + boxes[:, 3], left + boxes[:, 4]
    touching: list[set[int]] = [set() for _ in range(p)]
    for i, own in enumerate(worker):
        down = np.minimum(bottom, bottom[i]) - np.maximum(top, top[i])
        along = np.minimum(right, right[i]) - np.maximum(left, left[i])
        touching[own].update(worker[(down >= -slack) & (along >= -slack)].tolist())
    colour = [-1] * p
    for own in range(p):
        taken = [colour[other] for other in touching[own] if other != own]
        preferred = [(own + shift) % len(_CELLS) for shift in range(len(_CELLS))]
        colour[own] = min(preferred, key=taken.count)
    return colour
