"""Pictures of owner maps: who has which block and what the steps cost, who has which columns and where the wavefront is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .canvas import _CELLS, _SMALLEST, _aspect, _axes, _heading, _points, _short, figure_size
from .zones import plot_boxes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.lu_grid import LuGrid
    from ..planners.wavefront import Wavefront

_FRONT = 400  # points of a front in each direction
_NAMED = 24  # workers up to which there is a legend


def plot_grid(grid: LuGrid, ax: Axes | None = None) -> Axes:
    """The map, block (0, 0) at the top left: a colour for each worker; its number in the blocks, where they are large enough.

    Parameters
    ----------
    grid : LuGrid
        Of more than nine workers some share a colour, with a darker shade for every round.
    """
    n, p = len(grid.owner), len(grid.names)
    ax = _axes(ax, _with_legend(figure_size("boxes", max(p, n)), p))
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    rounds = max(1, math.ceil(p / len(_CELLS)))
    colours = np.array([to_rgb(_CELLS[i % len(_CELLS)]) for i in range(p)])
    colours *= (1.0 - 0.55 * (np.arange(p) // len(_CELLS)) / rounds)[:, None]
    ax.set_box_aspect(1.0)
    ax.set(xlabel="block column", ylabel="block row")
    sent = int(grid.traffic.sum())
    picture: Any = colours[grid.owner]
    ax.imshow(picture, extent=(-0.5, n - 0.5, n - 0.5, -0.5), aspect="auto", interpolation="nearest")
    ax.locator_params(integer=True)
    if 1 < p <= _NAMED:
        handles = [
            Patch(facecolor=colours[i], edgecolor="#bbbbbb", linewidth=0.5, label=f"{_short(grid.names[i])}: {count}")
            for i, count in enumerate(grid.counts.tolist())
        ]
        legend = ax.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8, borderaxespad=0.0,
            handlelength=1.2, title="blocks", title_fontsize=8,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)
    _heading(ax, f"{grid.method}, updates {grid.makespan:.6g}, gap {grid.gap:.2%}, {sent} blocks sent", loc="left")
    block = min(_points(ax))
    if block > 1.6 * _SMALLEST and n * n <= 2000:
        for i, row in enumerate(grid.owner.tolist()):
            for j, worker in enumerate(row):
                ink = "black" if colours[worker].mean() > 0.45 else "white"
                ax.text(j, i, str(worker), ha="center", va="center_baseline", fontsize=_SMALLEST, color=ink)
    return ax


def _with_legend(size: tuple[float, float], p: int) -> tuple[float, float]:
    return (size[0] + 1.2, size[1]) if 1 < p <= _NAMED else size


def plot_wavefront(plan: Wavefront, ax: Axes | None = None) -> Axes:
    """The chunks of each worker, and lines that join tiles with the same start: the wavefront at equal intervals of time."""
    rows, cols = plan.shape
    ax = _axes(ax, figure_size("boxes", len(plan.names), _aspect(plan.shape)))
    ax.set_box_aspect(_aspect(plan.shape))
    _heading(ax, f"{plan.method}, period {plan.period}, makespan {plan.makespan:.6g}, gap {plan.gap:.2%}")
    whole = (lambda first, lines: (0, first, rows, lines)) if plan.axis == 1 else (lambda first, lines: (first, 0, lines, cols))
    plot_boxes(plan.shape, [(worker, *whole(first, lines)) for worker, first, lines in plan.chunks.tolist()], plan.names, ax)
    if min(rows, cols) > 1:
        step = -(-max(rows, cols) // _FRONT)  # as fine as a picture can be
        down, along = np.arange(0, rows, step), np.arange(0, cols, step)
        levels = plan.makespan * np.arange(1, 10) / 10
        if min(len(down), len(along)) > 1:
            ax.contour(
                along + 0.5, down + 0.5, plan.starts[::step, ::step], levels, colors="#222222", linewidths=0.8, linestyles="--"
            )
    return ax
