"""Plots of layers on a network: how many each worker computes, and which links carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .canvas import _axes, _fit_text, _key, _points, _settle, _short, _title, digits, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.mesh import MeshPlan

_NODE = 0.56  # side of a node; neighbours are 1 apart
_SOURCE, _IDLE, _LINK, _UNUSED = "#eedd88", "#ffffff", "#77aadd", "#cccccc"
# colours of the smallest and the largest share
_PALE, _FULL = np.array([0.90, 0.95, 1.00]), np.array([0.47, 0.67, 0.87])


def plot_mesh(plan: MeshPlan, ax: Axes | None = None) -> Axes:
    """Draw nodes with their layers and links with the layers that they carry.

    A node with more layers is darker, and a link with more layers is wider.

    Parameters
    ----------
    plan : MeshPlan
        A mesh is drawn as it is given. In another network the source is on the left, and links
        lead to the right.
    """
    places = _places(plan)
    extent = places.max(0) + 1.0
    unit = min(1.1, 11.0 / float(extent.max()))
    ax = _axes(ax, (max(4.5, unit * float(extent[0])), unit * float(extent[1]) + 0.75), keys=4)
    from matplotlib.patches import FancyArrowPatch, Patch, Rectangle

    ax.set(xlim=(-0.5, extent[0] - 0.5), ylim=(extent[1] - 0.5, -0.5), xticks=[], yticks=[])
    ax.set_box_aspect(float(extent[1] / extent[0]))
    ax.spines[:].set_visible(False)
    what = f"{len(places)} nodes" if plan.shape is None else "{} x {} mesh".format(*plan.shape)
    layers = plan.flows / (2.0 * plan.n)
    looks: list[tuple[Any, str]] = [(_SOURCE, "source"), (_FULL, "most layers")]
    looks += [(_LINK, "link, the wider the more layers")] if (layers > 0).any() else []
    looks += [(_UNUSED, "unused link")] if (layers <= 0).any() else []
    _title(ax, f"{plan.method}, {what}, makespan {digits(plan.makespan)}, gap {percent(plan.gap)}")
    _settle(ax)
    _key(
        ax,
        [
            Patch(facecolor=colour, edgecolor="#bbbbbb", linewidth=0.5, label=label)
            for colour, label in looks
        ],
    )
    units = _points(ax)
    sizes: dict[str, tuple[float, float]] = {}
    widest = 0.2 * _NODE * min(units)
    most = float(layers.max(initial=0.0)) or 1.0
    for (i, j), carried in zip(plan.links.tolist(), layers.tolist(), strict=True):
        (x0, y0), (x1, y1) = places[i], places[j]
        # from the middle of a node to its border
        away = _NODE / 2 / max(abs(x1 - x0), abs(y1 - y0))
        thick = max(0.6, widest * (carried / most) ** 0.5)
        wide, long = thick + 0.1 * min(units), 0.12 * min(units)
        style = f"simple,tail_width={thick},head_width={wide},head_length={long}"
        ax.add_patch(
            FancyArrowPatch(
                (x0 + away * (x1 - x0), y0 + away * (y1 - y0)),
                (x1 - away * (x1 - x0), y1 - away * (y1 - y0)),
                arrowstyle=style,
                mutation_scale=1,
                shrinkA=0,
                shrinkB=0,
                linewidth=0,
                color=_LINK if carried > 0 else _UNUSED,
            )
        )
    counts = plan.counts.ravel()
    sources = plan.sources or (plan.source,)
    largest = float(counts.max()) or 1.0
    for v, (x, y) in enumerate(places.tolist()):
        shade: Any
        if v in sources:
            shade = _SOURCE
        elif counts[v] == 0:
            shade = _IDLE
        else:
            shade = tuple(_PALE + (_FULL - _PALE) * counts[v] / largest)
        ax.add_patch(
            Rectangle(
                (x - _NODE / 2, y - _NODE / 2),
                _NODE,
                _NODE,
                facecolor=shade,
                edgecolor="#555555",
                linewidth=0.6,
                zorder=2,
            )
        )
        number = f"{counts[v]:.4g}" if counts.dtype.kind == "f" else str(counts[v])
        told = "source" if v in sources and counts[v] == 0 else number
        name = _short(plan.names[v])
        _fit_text(
            ax,
            (x, y),
            (_NODE * units[0], _NODE * units[1]),
            [(f"{name}\n{told}", 0), (told, 0)],
            "black",
            sizes,
        )
    if plan.shape is None:  # links may cross, so they have no numbers
        return ax
    for (i, j), carried in zip(plan.links.tolist(), layers.tolist(), strict=True):
        x, y = ((places[i] + places[j]) / 2).tolist()
        if places[i, 1] == places[j, 1]:  # above the link, or beside it
            centre, room = (x, y - 0.22), ((1 - _NODE) * units[0], 0.2 * units[1])
        else:
            centre, room = (x + 0.24, y), (0.36 * units[0], (1 - _NODE) * units[1])
        if carried > 0:
            _fit_text(ax, centre, room, [(digits(carried), 0)], "#444444", sizes)
    return ax


def _places(plan: MeshPlan) -> NDArray[np.float64]:
    """(p, 2) x and y of each node; neighbours are 1 apart."""
    p = len(plan.cycle_times)
    if plan.shape is not None:
        rows, columns = np.divmod(np.arange(p), plan.shape[1])
        return np.stack([columns, rows], 1).astype(np.float64)
    depth = np.zeros(p, np.int64)
    for _ in range(p):  # the longest path from the source
        deeper = depth.copy()
        np.maximum.at(deeper, plan.links[:, 1], depth[plan.links[:, 0]] + 1)
        if (deeper == depth).all():
            break
        depth = deeper
    places = np.zeros((p, 2))
    high = int(np.bincount(depth).max())
    for level in range(int(depth.max()) + 1):
        nodes = np.flatnonzero(depth == level)
        places[nodes, 0] = 1.6 * level
        places[nodes, 1] = (np.arange(len(nodes)) + 0.5) * high / len(nodes) - 0.5
    return places
