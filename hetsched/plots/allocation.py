"""Plots of one-dimensional allocations: numbers of chunks, stacks of them, and owners of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .canvas import (
    _COLOURS,
    _axes,
    _bar,
    _dpi,
    _line,
    _points,
    _rows,
    _settle,
    _thinned,
    _title,
    digits,
    figure_size,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.distribute import Distribution, DistributionStack
    from ..planners.lu_pattern import LuPattern
    from ..planners.profile import ProfileDistribution

_BINS = 2000  # most columns of an image: more than a plot has pixels


def plot_distribution(
    distribution: Distribution | ProfileDistribution, ax: Axes | None = None
) -> Axes:
    """Draw a bar for each worker: the time for which it computes, with its number of chunks."""
    counts, makespan = distribution.counts, distribution.makespan
    p = len(counts)
    ax = _axes(ax, figure_size("rows", p), 0.5)
    ax.set_xlabel("time")
    heading = _title(ax, f"{int(counts.sum())} chunks over {p} worker{'s' * (p != 1)}")
    ax.set_xlim(0, makespan * 1.01 if makespan > 0 else 1.0)
    row = _rows(ax, heading, distribution.names, True)
    _line(ax, makespan, f"makespan {digits(makespan)}")
    times = np.zeros(p)
    for step in distribution.steps():
        times[step.worker] = step.end
    ax.barh(np.arange(p), times, height=_bar(row), color=_COLOURS["compute"])
    every, size = _thinned(row)
    unit = _points(ax)[0]
    for i in range(0, p, every):
        label = ax.text(
            times[i], i, str(counts[i]), fontsize=size, va="center_baseline", clip_on=True
        )
        inside = label.get_window_extent().width * 72 / _dpi(ax) + 8 < times[i] * unit
        label.set(ha="right" if inside else "left", color="white" if inside else "black")
        label.set_x(times[i] + (-4 if inside else 4) / unit)
    return ax


def plot_stack(stack: DistributionStack, ax: Axes | None = None) -> Axes:
    """Draw a row for each distribution and a column for each worker: its share of the chunks.

    Parameters
    ----------
    stack : DistributionStack
        A stack of several dimensions is drawn in the order of its elements.
    """
    p = stack.counts.shape[-1]
    counts = stack.counts.reshape(-1, p)
    rows = len(counts)
    ax = _axes(ax, figure_size("boxes", p))
    ax.set(
        xlabel="worker",
        ylabel="distribution",
        xlim=(-0.5, p - 0.5),
        ylim=(max(rows, 1) - 0.5, -0.5),
    )
    many = f"{rows} distribution{'s' * (rows != 1)}"
    _title(ax, f"{many}, makespans up to {digits(stack.value)}")
    if rows:
        share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        picture = _image(ax, share, (-0.5, p - 0.5, rows - 0.5, -0.5), vmax=float(share.max()))
        ax.figure.colorbar(picture, ax=ax, label="share of the chunks")
    ax.locator_params(integer=True)
    _settle(ax)
    return ax


def plot_pattern(pattern: LuPattern, ax: Axes | None = None) -> Axes:
    """Draw a row for each worker and a column for each block column: dark where it owns the block.

    Parameters
    ----------
    pattern : LuPattern
        With more than 2000 block columns, each column of the image shows the mean over several of
        them, and the darkest colour is the largest share that occurs.
    """
    n, p = len(pattern.owner), len(pattern.counts)
    ax = _axes(ax, figure_size("rows", p), 0.5)
    ax.set_xlabel("block column")
    heading = _title(
        ax,
        f"{pattern.method}, cost of the updates {digits(pattern.cost)}, gap {percent(pattern.gap)}",
    )
    _rows(ax, heading, pattern.names, False)
    bins = min(n, _BINS)
    share = np.zeros((p, bins))
    column = np.arange(n) * bins // n
    np.add.at(share, (pattern.owner, column), 1.0)
    share /= np.bincount(column, minlength=bins)
    _image(ax, share, (-0.5, n - 0.5, p - 0.5, -0.5), vmax=float(share.max()))
    ax.set_xlim(-0.5, n - 0.5)
    ax.locator_params(axis="x", integer=True)
    for edge in np.arange(p - 1) + 0.5:
        ax.axhline(edge, color="#bbbbbb", linewidth=0.5)
    return ax


def _image(ax: Axes, values: Any, extent: tuple[float, float, float, float], vmax: float) -> Any:
    """Draw an image, pale for 0 and dark for vmax. vmax is positive unless the image is empty."""
    limits = ax.get_xlim(), ax.get_ylim()
    picture = ax.imshow(
        values,
        extent=extent,
        aspect="auto",
        interpolation="nearest",
        cmap="Blues",
        vmin=0.0,
        vmax=vmax or 1.0,
    )
    ax.set(xlim=limits[0], ylim=limits[1])
    return picture
