"""Plots of boxes in three dimensions: an exploded view, and cross-sections that show every box."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .canvas import (
    _CELLS,
    _SMALLEST,
    Sheet,
    _aspect,
    _axes,
    _draw_boxes,
    _fit_text,
    _heading,
    _points,
    _short,
    digits,
    figure_size,
    percent,
)
from .zones import plot_boxes, set_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.cuboids import Cuboids
    from ..planners.product import ProductPlan

_NAMES = ("row", "column", "depth")
# horizontal and vertical axis of the section through an axis: B, A, C
_PLANES = ((1, 2), (2, 0), (1, 0))
_APART = 0.45  # how far the view is exploded, as a fraction of the distance from the middle
_SLANT = (0.52, 0.36)  # direction of the depth: right and up
_GAP, _STRIP = 0.14, 0.24  # between panels; above a section, for its label
_INCHES = 2.3  # per unit, the largest side of the cube
_ACROSS = 4  # number of sections side by side
_LABEL = 0.36  # inches: two lines of text
_SECTION = 60.0  # points: the least width of a section in a figure of given width


def plot_cuboids(cuboids: Cuboids, ax: Axes | None = None) -> Axes:
    """Draw the boxes pulled apart, and beside them cross-sections with names and shares.

    There are as few cross-sections as show every box. Rows go down, columns go to the right, and
    the depth goes to the back.
    """
    workers = np.flatnonzero(cuboids.boxes[:, 3:].all(axis=1))
    names = [cuboids.names[i] for i in workers]
    title = f"{cuboids.method}, cost {digits(cuboids.cost)}, gap {percent(cuboids.gap)}"
    return _plot_solid(cuboids.boxes[workers].astype(float), cuboids.shape, names, title, ax)


def plot_product(plan: ProductPlan, ax: Axes | None = None) -> Axes:
    """Draw the boxes of a product: zones of C, or as for cuboids if boxes lie above each other."""
    title = f"{plan.method}, makespan {digits(plan.makespan)}, gap {percent(plan.gap)}"
    if plan.layers is not None:
        names = [plan.names[i] for i in plan.boxes[:, 0]]
        return _plot_solid(plan.boxes[:, 1:].astype(float), plan.shape, names, title, ax)
    shape = plan.shape[0] or 1, plan.shape[1] or 1
    ax = _axes(ax, figure_size("boxes", len(plan.names), _aspect(shape)))
    set_up(ax, shape)
    _heading(ax, title)
    rects = [(i, r, c, h, w) for i, r, c, depth, h, w, _ in plan.boxes.tolist() if depth == 0]
    return plot_boxes(plan.shape[:2], rects, plan.names, ax)


def _plot_solid(
    given: NDArray[np.float64],
    cells: tuple[int, int, int] | None,
    names: list[str],
    title: str,
    ax: Axes | Sheet | None,
) -> Axes:
    """Draw (b, 6) boxes that tile a block of cells, or the unit cube."""
    shape = np.array(cells or (1, 1, 1), float)
    # proportional to the shape, unless that would be too thin to read
    sides = np.maximum(shape / shape.max(), 1 / 3)
    shares = 100 * (given[:, 3:] / shape).prod(axis=1)
    low, high = given[:, :3] / shape * sides, (given[:, :3] + given[:, 3:]) / shape * sides
    axis, places = min(
        ((q, _places(low[:, q], high[:, q])) for q in (2, 0, 1)), key=lambda found: len(found[1])
    )

    solid = _exploded(low, high, sides)
    view_width, view_height = np.ptp(solid.reshape(-1, 2), axis=0)
    across, down = _PLANES[axis]
    wide = sides[across] + _GAP
    columns = min(len(places), _ACROSS)
    while (
        columns > 1
        and isinstance(ax, Sheet)
        and ax.width * 72 * wide < _SECTION * (view_width + _GAP + columns * wide)
    ):
        columns -= 1
    rows = math.ceil(len(places) / columns)
    width = view_width + _GAP + columns * wide
    strip = max(_STRIP, _LABEL * width / ax.width) if isinstance(ax, Sheet) else _STRIP
    high_panel = sides[down] + _GAP + strip
    height = max(view_height + _GAP, rows * high_panel)
    ax = _axes(ax, (max(4.0, _INCHES * width), _INCHES * height + 0.4))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.set_axis_off()
    _heading(ax, title)

    colours = _colours(low, high)
    _draw_solids(ax, solid + (0.0, (height - view_height) / 2), colours, _back_to_front(low, high))

    unit = _points(ax)
    sizes: dict[str, tuple[float, float]] = {}
    for number, place in enumerate(places):
        left = view_width + _GAP + number % columns * wide
        top = height - (height - rows * high_panel) / 2 - number // columns * high_panel - strip
        cut = (low[:, axis] <= place) & (place < high[:, axis])
        x0, x1 = left + low[cut, across], left + high[cut, across]
        y0, y1 = top - low[cut, down], top - high[cut, down]
        room = np.array([(x1 - x0) * unit[0], (y0 - y1) * unit[1]])
        _draw_boxes(ax, x0, y0, x1, y1, [colours[i] for i in np.flatnonzero(cut)], room.min(axis=0))
        ax.text(
            left, top + 0.03, _label(axis, place / sides[axis], cells, number == 0),
            fontsize=_SMALLEST + 1, ha="left", va="bottom",
        )  # fmt: skip
        for i, box in enumerate(np.flatnonzero(cut)):
            name, share = _short(names[box]), f"{shares[box]:.3g}%"
            labels = [
                (f"{name}\n{share}", 0),
                (f"{name} {share}", 0),
                (f"{name} {share}", 90),
                (name, 0),
                (name, 90),
            ]
            _fit_text(
                ax,
                ((x0[i] + x1[i]) / 2, (y0[i] + y1[i]) / 2),
                (room[0, i], room[1, i]),
                labels,
                "black",
                sizes,
            )
    return ax


def _label(axis: int, place: float, shape: tuple[int, int, int] | None, first: bool) -> str:
    across, down = (_NAMES[q] for q in _PLANES[axis])
    where = f"{place:.2g}" if shape is None else f"{int(place * shape[axis])} of {shape[axis]}"
    return f"{across} →, {down} ↓\n" * first + f"{_NAMES[axis]} {where}"


def _places(low: NDArray[np.float64], high: NDArray[np.float64]) -> list[float]:
    """As few places as hit every interval [low, high).

    Each place is in the middle of what its intervals share.
    """
    places: list[float] = []
    left = np.ones(len(low), bool)
    while left.any():
        end = high[left].min()
        hit = left & (low < end * (1 - 1e-9))
        if not hit.any():  # only boxes that are thinner than the tolerance are left here
            hit = left & (high <= end)
        places.append(float(low[hit].max() + end) / 2)
        left &= ~hit
    return places


def _exploded(
    low: NDArray[np.float64], high: NDArray[np.float64], sides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(boxes, 3 faces, 4 corners, 2): front, top and right faces of the boxes pulled apart.

    The origin is the lower left corner.
    """
    moved = _APART * ((low + high) / 2 - sides / 2)
    (row, col, depth), (bottom, right, back) = (low + moved).T, (high + moved).T
    faces = (
        ((row, col, depth), (row, right, depth), (bottom, right, depth), (bottom, col, depth)),
        ((row, col, depth), (row, right, depth), (row, right, back), (row, col, back)),
        ((row, right, depth), (row, right, back), (bottom, right, back), (bottom, right, depth)),
    )
    corners = np.array(
        [[(x + _SLANT[0] * z, _SLANT[1] * z - y) for y, x, z in face] for face in faces]
    )
    solid: NDArray[np.float64] = corners.transpose(3, 0, 1, 2)
    solid -= solid.reshape(-1, 2).min(axis=0)
    return solid


def _back_to_front(low: NDArray[np.float64], high: NDArray[np.float64]) -> list[int]:
    """An order in which no box is drawn over one in front of it. Guillotine tilings have one."""
    apart = low[:, None] >= high[None] - 1e-12  # [i, j, axis]: i is beyond j
    behind = np.asarray(apart[..., 0] | apart[..., 2] | apart[..., 1].T)
    # where both hold, the two boxes are side by side in the plot
    over: NDArray[np.bool_] = np.asarray(behind & ~behind.T)
    order: list[int] = []
    waiting, left = over.sum(axis=0), np.ones(len(low), bool)
    while left.any():
        i = int(np.argmin(np.where(left, waiting, len(low) + 1)))
        order.append(i)
        left[i] = False
        waiting = waiting - over[i]
    return order


def _draw_solids(
    ax: Axes, solid: NDArray[np.float64], colours: list[str], order: list[int]
) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb

    faces = [
        tuple(min(1.0, shade * part) for part in to_rgb(colours[i]))
        for i in order
        for shade in (1.0, 1.12, 0.82)
    ]
    corners: Any = solid[order].reshape(-1, 4, 2)
    ax.add_collection(
        PolyCollection(
            corners, facecolors=faces, edgecolors="white", linewidths=0.5, joinstyle="round"
        ),
        autolim=False,
    )


def _colours(low: NDArray[np.float64], high: NDArray[np.float64]) -> list[str]:
    """A colour for each box, such that boxes that touch differ, as far as there are colours."""
    shared = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    touching: NDArray[np.bool_] = np.asarray((shared >= -1e-9).all(axis=2))
    chosen: list[int] = []
    for i in range(len(low)):
        taken = [chosen[j] for j in np.flatnonzero(touching[i, :i])]
        chosen.append(
            min(((i + shift) % len(_CELLS) for shift in range(len(_CELLS))), key=taken.count)
        )
    return [_CELLS[c] for c in chosen]
