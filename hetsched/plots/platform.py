"""Plots of platforms: speeds of the workers, and costs of their links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..platform import relative_speeds
from .allocation import _image
from .canvas import (
    _COLOURS,
    _SMALL,
    Sheet,
    _axes,
    _bar,
    _dpi,
    _draw_boxes,
    _fit_text,
    _heading,
    _points,
    _rows,
    _short,
    _thinned,
    _title,
    digits,
    figure_size,
)
from .mesh import _FULL, _NODE, _PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..platform import Platform

_GAP = 10.0  # points between columns
_NUMBERED = 16  # number of workers up to which a matrix of links has numbers instead of a scale
_DARK = 0.55  # share of the largest cost from which a number is white
_LEAST = 0.15  # least width of bars, as a share of the axes
_LINE = "#77aadd"


def plot_platform(platform: Platform, ax: Axes | Sheet | None = None) -> Axes:
    """Draw speeds as bars relative to the fastest worker, with cycle-times, link costs and memory.

    The links of a star are bars beside the speeds. Links between all workers are a matrix: its row
    is the sender, its column the receiver. A mesh is drawn as a grid. A faster worker is darker
    there, and numbers beside the lines are the costs of the links.

    Parameters
    ----------
    platform : Platform
        If it has many workers, only some rows have names and numbers.
    """
    if platform.shape is not None:
        return _plot_grid(platform, ax)
    return _plot_rows(platform, ax)


def _heading_of(platform: Platform) -> str:
    p = len(platform)
    if platform.shape is not None:
        kind = "{} x {} mesh".format(*platform.shape)
    else:
        kind = f"{'star' if platform.links is None else 'complete'}, {p} worker{'s' * (p != 1)}"
    if platform.unit is None:
        return kind
    work, data = platform.unit.work, platform.unit.data
    return f"{kind}, cycle-times in seconds per {work}, link costs in seconds per {data}"


def _plot_rows(platform: Platform, ax: Axes | Sheet | None) -> Axes:
    p, links, costs = len(platform), platform.links, platform.link_costs
    ax = _axes(ax, figure_size("rows", p), 0.5)
    ax.set(xlim=(0.0, 1.0), xticks=[])
    ax.spines[["left", "bottom"]].set_visible(False)
    most = 0.0 if links is None else float(links.max())
    share = None if links is None else links / (most or 1.0)  # cannot overflow
    picture: Any = None
    if share is not None:
        # drawn here so that what is beside and below it is laid out before sizes are measured
        picture = _image(ax, share, (0.0, 1.0, p - 0.5, -0.5), vmax=1.0)
        if p <= _NUMBERED:
            names = [_short(name) for name in platform.names]
            ax.set_xticks(np.linspace(0.0, 1.0, p), names, rotation=90, parse_math=False)
            ax.tick_params(axis="x", length=0)
        else:
            bar = ax.figure.colorbar(picture, ax=ax, fraction=0.03, aspect=40, ticks=[0.0, 1.0])
            bar.ax.set_yticklabels(["0", digits(most)], fontsize=_SMALL)
            bar.set_label("link cost", fontsize=_SMALL)
    row = _rows(ax, _title(ax, _heading_of(platform)), platform.names, True)
    every, size = _thinned(row)
    shown = range(0, p, every)

    # head of each column, and its texts; None for bars and for the matrix
    columns: list[tuple[str, list[str] | None]] = [
        ("speed", None),
        ("cycle-time", [digits(platform.cycle_times[i]) for i in shown]),
    ]
    if share is not None or costs.any():
        columns.append(("link cost", None))
    if share is None and costs.any():
        columns.append(("", [digits(costs[i]) if costs[i] else "" for i in shown]))
    if any(own is not None for own in platform.memory):
        own = [platform.memory[i] for i in shown]
        columns.append(("memory", ["" if blocks is None else str(blocks) for blocks in own]))
    places = _columns(ax, columns, size, p * row if share is not None else np.inf)
    if share is not None:
        picture.set_extent((*places[2], p - 0.5, -0.5))
        if p <= _NUMBERED and not _label_matrix(ax, platform, share, places[2]):
            columns[2] = (f"cost up to {digits(most)}", None)
    elif costs.any():
        _draw_bars(ax, costs / costs.max(), places[2], row, _COLOURS["transfer"])
    _draw_bars(ax, relative_speeds(platform.cycle_times), places[0], row, _COLOURS["compute"])
    for (head, texts), (left, right) in zip(columns, places, strict=True):
        ax.annotate(
            head,
            (right if texts else left, 1.0),
            xycoords=ax.get_xaxis_transform(),
            xytext=(0, -2),
            textcoords="offset points",
            ha="right" if texts else "left",
            va="top",
            fontsize=_SMALL,
        )
        for i, text in zip(shown, texts or [""] * len(shown), strict=True):
            if text:
                ax.text(
                    right, i, text, fontsize=size, ha="right", va="center_baseline", clip_on=True
                )
    return ax


def _columns(
    ax: Axes, columns: Sequence[tuple[str, list[str] | None]], size: float, square: float
) -> list[tuple[float, float]]:
    """Left and right of each column, as shares of the axes.

    Columns of texts are as wide as their widest text. The speeds get 3/5 of what is left, and the
    links 2/5; or a half each if they are a matrix, which is at most `square` points wide.
    """
    whole = ax.get_window_extent().width * 72 / _dpi(ax)

    def width(text: str, font: float) -> float:
        trial = ax.text(0.0, 0.0, text, fontsize=font)
        extent = trial.get_window_extent().width * 72 / _dpi(ax)
        trial.remove()
        return float(extent) / whole

    widths = [
        0.0 if texts is None else max(width(head, _SMALL), width("0" * max(map(len, texts)), size))
        for head, texts in columns
    ]
    gap = _GAP / whole
    left = max(1.0 - sum(widths) - gap * (len(columns) - 1), 2 * _LEAST)
    bars = [k for k, (_, texts) in enumerate(columns) if texts is None]
    if len(bars) == 2:
        widths[bars[1]] = min((0.4 if np.isinf(square) else 0.5) * left, square / whole)
    widths[0] = left - sum(widths[k] for k in bars[1:])
    ends = np.cumsum(widths) + gap * np.arange(len(columns))
    return [(end - width, end) for end, width in zip(ends.tolist(), widths, strict=True)]


def _draw_bars(
    ax: Axes,
    lengths: NDArray[np.float64],
    place: tuple[float, float],
    row: float,
    colour: str,
) -> None:
    """Draw a bar in each row of that height in points; a length of 1 fills the column."""
    rows, half = np.flatnonzero(lengths), np.float64(_bar(row) / 2)
    left = np.full(len(rows), place[0])
    right = place[0] + lengths[rows] * (place[1] - place[0])
    narrow = np.full(len(rows), 2 * row * half)
    _draw_boxes(ax, left, rows - half, right, rows + half, [colour] * len(rows), narrow)


def _label_matrix(
    ax: Axes, platform: Platform, share: NDArray[np.float64], place: tuple[float, float]
) -> bool:
    """Write the costs into the matrix, and the names of the receivers below it.

    Returns whether all costs have room.
    """
    p, links = len(platform), platform.links
    assert links is not None
    wide = (place[1] - place[0]) / p
    middle = (place[0] + wide * (np.arange(p) + 0.5)).tolist()
    across, down = _points(ax)
    every, size = _thinned(wide * across)  # where names are upright
    labels = [_short(name) for name in platform.names]
    ax.set_xticks(middle, labels, rotation=0, fontsize=_SMALL, parse_math=False)
    names = ax.get_xticklabels()
    if any(name.get_window_extent().width * 72 / _dpi(ax) > wide * across - 2 for name in names):
        ax.set_xticks(
            middle[::every],
            labels[::every],
            rotation=90,
            fontsize=min(_SMALL, size),
            parse_math=False,
        )
    sizes: dict[str, tuple[float, float]] = {}
    before = len(ax.texts)
    pairs = np.argwhere(~np.eye(p, dtype=bool)).tolist()
    for i, j in pairs:
        ink = "white" if share[i, j] > _DARK else "black"
        text = [(digits(links[i, j]), 0)]
        _fit_text(ax, (middle[j], i), (wide * across, down), text, ink, sizes)
    return len(ax.texts) - before == len(pairs)


def _plot_grid(platform: Platform, ax: Axes | Sheet | None) -> Axes:
    """Draw a mesh: nodes with cycle-times, and lines between them with link costs."""
    from matplotlib.collections import LineCollection

    assert platform.shape is not None
    assert platform.right is not None
    assert platform.down is not None
    rows, columns = platform.shape
    unit = min(1.1, 11.0 / max(rows, columns))
    ax = _axes(ax, (max(4.5, unit * columns), unit * rows + 0.6))
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), xticks=[], yticks=[])
    ax.set_box_aspect(rows / columns)
    ax.spines[:].set_visible(False)
    _heading(ax, _heading_of(platform))
    y, x = np.divmod(np.arange(rows * columns), columns)
    node = np.arange(rows * columns).reshape(rows, columns)
    links = [  # (node, neighbour, cost)
        *zip(node[:, :-1].flat, node[:, 1:].flat, platform.right.flat, strict=True),
        *zip(node[:-1].flat, node[1:].flat, platform.down.flat, strict=True),
    ]
    lines = [[(x[i], y[i]), (x[j], y[j])] for i, j, _ in links]
    ax.add_collection(LineCollection(lines, colors=_LINE, linewidths=2.0, zorder=0), autolim=False)
    shade = _PALE + (_FULL - _PALE) * relative_speeds(platform.cycle_times)[:, None]
    across, down = _points(ax)
    half = _NODE / 2
    _draw_boxes(
        ax, x - half, y - half, x + half, y + half, shade.tolist(),
        np.full(len(x), _NODE * min(across, down)), "#555555",
    )  # fmt: skip
    sizes: dict[str, tuple[float, float]] = {}
    for i, worker in enumerate(platform.workers):
        name, time = _short(platform.names[i]), worker.cycle_time
        numbers = digits(time), f"{time:.2g}"
        labels = [f"{name}\n{number}" for number in numbers] + list(numbers)
        if worker.memory is not None:
            labels.insert(0, f"{name}\n{numbers[0]}\nmemory {worker.memory}")
        room = (_NODE * across, _NODE * down)
        _fit_text(ax, (x[i], y[i]), room, [(label, 0) for label in labels], "black", sizes)
    room = ((1 - _NODE) * across, 0.2 * down)
    for one, other, cost in links:  # above a line along a row, right of a line along a column
        right, up = (0.0, 0.12) if y[one] == y[other] else (0.26, 0.0)
        centre = ((x[one] + x[other]) / 2 + right, (y[one] + y[other]) / 2 - up)
        _fit_text(ax, centre, room, [(digits(cost), 0), (f"{cost:.2g}", 0)], "#444444", sizes)
    return ax
