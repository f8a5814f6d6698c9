"""Plots of owner maps: owners of blocks and costs of steps; owners of columns and wavefronts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .canvas import (
    _CELLS,
    _SMALLEST,
    _aspect,
    _axes,
    _dpi,
    _heading,
    _key,
    _points,
    _settle,
    _short,
    digits,
    figure_size,
    percent,
)
from .zones import plot_boxes, set_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.lu_grid import LuGrid
    from ..planners.wavefront import Wavefront

_FRONT = 400  # points of a front in each direction
_NAMED = 24  # number of workers up to which there is a legend
_ORDERED = "cividis"
_LUMINANCE = (0.2126, 0.7152, 0.0722)
_LEGEND = 0.25  # inches
_KEYS = 13.0  # points: height of a row of the legend
_APART = 5.0  # points: least size of a block that has a line around it


def plot_grid(grid: LuGrid, ax: Axes | None = None) -> Axes:
    """Draw the map, block (0, 0) at the top left, with a colour for each worker.

    Blocks that are large enough have the worker's number.

    Parameters
    ----------
    grid : LuGrid
        With more than eight workers, the colours go from dark for the slowest worker to light for
        the fastest.
    """
    n, p = len(grid.owner), len(grid.names)
    ax = _axes(ax, _with_legend(figure_size("boxes", max(p, n)), p))
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Patch

    colours, order = _worker_colours(grid.cycle_times)
    ax.set_box_aspect(1.0)
    ax.set(xlabel="block column", ylabel="block row")
    sent = int(grid.traffic.sum())
    picture: Any = colours[grid.owner]
    ax.imshow(
        picture, extent=(-0.5, n - 0.5, n - 0.5, -0.5), aspect="auto", interpolation="nearest"
    )
    ax.locator_params(integer=True)
    _settle(ax)
    if 1 < p <= _NAMED and _KEYS * (p + 1) < ax.get_window_extent().height * 72 / _dpi(ax):
        handles = [
            Patch(
                facecolor=colours[i],
                edgecolor="#bbbbbb",
                linewidth=0.5,
                label=f"{_short(grid.names[i])}: {grid.counts[i]}",
            )
            for i in order
        ]
        legend = ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            frameon=False,
            fontsize=8,
            borderaxespad=0.0,
            handlelength=1.2,
            title="blocks",
            title_fontsize=8,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    elif p > 1:
        bar = ax.figure.colorbar(
            ScalarMappable(cmap=_ORDERED), ax=ax, fraction=0.04, label="workers by speed"
        )
        bar.set_ticks([0.0, 1.0], labels=["slowest", "fastest"], fontsize=8)
        bar.ax.yaxis.label.set_fontsize(9)
    _heading(
        ax,
        f"{grid.method}, updates {digits(grid.makespan)}, gap {percent(grid.gap)},"
        f" {digits(sent)} blocks sent",
    )
    block = min(_points(ax))
    if p > len(_CELLS) and block > _APART:
        for at in np.arange(n - 1) + 0.5:
            ax.axhline(at, color="white", linewidth=0.6)
            ax.axvline(at, color="white", linewidth=0.6)
    if block > 1.6 * _SMALLEST and n * n <= 2000:
        for i, row in enumerate(grid.owner.tolist()):
            for j, worker in enumerate(row):
                ink = "black" if colours[worker] @ _LUMINANCE > 0.4 else "white"
                ax.text(
                    j,
                    i,
                    str(worker),
                    ha="center",
                    va="center_baseline",
                    fontsize=_SMALLEST,
                    color=ink,
                )
    return ax


def _worker_colours(cycle_times: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[int]]:
    """(p, 3) colours of the workers, and the workers in the order of the legend.

    Colours that only go from dark to light have an order that every eye sees, and have a meaning
    instead of repeating.
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    p = len(cycle_times)
    if p <= len(_CELLS):
        return np.array([to_rgb(colour) for colour in _CELLS[:p]]).reshape(p, 3), list(range(p))
    order = np.argsort(cycle_times, kind="stable")
    rank = np.empty(p)
    rank[order] = np.linspace(1.0, 0.0, p)
    return np.asarray(colormaps[_ORDERED](rank))[:, :3], order.tolist()


def _with_legend(size: tuple[float, float], p: int) -> tuple[float, float]:
    return (size[0] + 1.2, size[1]) if 1 < p <= _NAMED else size


def plot_wavefront(plan: Wavefront, ax: Axes | None = None) -> Axes:
    """Draw the chunks of each worker, and the wavefront at equal intervals of time.

    A line of the wavefront joins tiles with the same start.
    """
    from matplotlib.lines import Line2D

    rows, cols = plan.shape
    size = figure_size("boxes", len(plan.names), _aspect(plan.shape))
    ax = _axes(ax, (size[0], size[1] + _LEGEND), keys=1)
    set_up(ax, plan.shape)
    _heading(
        ax,
        f"{plan.method}, period {plan.period}, makespan {digits(plan.makespan)}, gap"
        f" {percent(plan.gap)}",
    )
    if min(rows, cols) > 1:
        _key(
            ax,
            [
                Line2D(
                    [],
                    [],
                    color="#222222",
                    linewidth=0.8,
                    linestyle="--",
                    label="front, at tenths of the makespan",
                )
            ],
        )
    whole = (
        (lambda first, lines: (0, first, rows, lines))
        if plan.axis == 1
        else (lambda first, lines: (first, 0, lines, cols))
    )
    plot_boxes(
        plan.shape,
        [(worker, *whole(first, lines)) for worker, first, lines in plan.chunks.tolist()],
        plan.names,
        ax,
    )
    if min(rows, cols) > 1:
        step = -(-max(rows, cols) // _FRONT)  # as fine as a plot can be
        down, along = np.arange(0, rows, step), np.arange(0, cols, step)
        levels = plan.makespan * np.arange(1, 10) / 10
        if min(len(down), len(along)) > 1:
            ax.contour(
                along + 0.5,
                down + 0.5,
                plan.starts[::step, ::step],
                levels,
                colors="#222222",
                linewidths=0.8,
                linestyles="--",
            )
    return ax
