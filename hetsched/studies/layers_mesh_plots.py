"""Figures 7 to 9 of the paper on layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..plots.canvas import figure_for
from .layers_mesh import SHOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .layers_mesh import LayersMesh


def plot_layers_mesh(study: LayersMesh, figure: Figure | None = None) -> Figure:
    """Figures 7 and 8 of the paper, one below the other for each size of the mesh, and below them figure 9."""
    figure = figure_for(figure, (13, 10))
    parts: Any = figure.subfigures(2, 1, height_ratios=[2.1, 1])
    rows = parts[0].subplots(2, len(study.sizes), sharex="col", squeeze=False)
    for row, (number, value, label) in zip(rows, ((7, "volume", "volume / n²"), (8, "makespan", "finishing time")), strict=True):
        for ax, size in zip(row, study.sizes, strict=True):
            for method, name, colour, marker in SHOWN:
                _curve(ax, study, size, method, value, name, colour, marker, "-")
            ax.set_title(f"{number}: {size} × {size} mesh", loc="left", fontsize=10)
            if number == 7:
                ax.set(yscale="log", ylim=(6, 400))
                ax.set_yticks([], minor=True)
                ax.set_yticks(ticks := [10, 20, 50, 100, 200], map(str, ticks))
            else:
                ax.set_ylim(bottom=0)
        row[0].set_ylabel(label)
    for ax in rows[-1]:
        ax.set_xlabel("n", fontsize=9)
    parts[0].legend(*rows[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(SHOWN), frameon=False)
    ax = parts[1].subplots()
    for size, shade in zip(study.sizes, ("#56b4e9", "#0072b2", "#222222", "#cc79a7"), strict=False):
        _curve(ax, study, size, "pmft", "from_scratch", f"LBP, {size} × {size}", shade, "o", "-")
        _curve(ax, study, size, "heuristic", "from_scratch", f"LBP-heuristic, {size} × {size}", shade, "x", "--")
    ax.set_title("9: simplex iterations of a plan, every linear program from scratch", loc="left", fontsize=10)
    ax.set(xlabel="n", ylabel="iterations")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _curve(
    ax: Axes, study: LayersMesh, size: int, method: str, value: str, name: str, colour: str, marker: str, line: str
) -> None:
    """Means, and a band of one standard deviation."""
    sides = study.sides(size)
    means, spreads = np.array([study.mean(size, side, method, value) for side in sides]).T
    ax.plot(
        sides, means, line, color=colour, marker=marker, markersize=4, linewidth=1.0, label=name, zorder=3 if "LBP" in name else 2
    )
    ax.fill_between(sides, means - spreads, means + spreads, color=colour, alpha=0.15, linewidth=0)
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
