"""Plots of the 2003 paper's experiments with rings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..plots.canvas import figure_for, small

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .ring2003 import Ring2003


def plot_ring2003(study: Ring2003, figure: Figure | None = None) -> Figure:
    """Figure 3: workers in the best ring and in the heuristic's ring, over work / volume."""
    figure = figure_for(figure, (10.0, 3.6), 0.5, 5.0)
    axes: Any = figure.subplots(1, len(study.campuses), squeeze=False)
    for ax, (name, campus) in zip(axes[0], study.campuses.items(), strict=True):
        ax.step(
            campus.ratios,
            campus.greedy,
            where="mid",
            color="#d55e00",
            linewidth=1.2,
            linestyle="--",
            zorder=3,
            label="greedy heuristic",
        )
        ax.step(
            campus.ratios,
            campus.exact(),
            where="mid",
            color="#0072b2",
            linewidth=1.8,
            label="best ring",
        )
        ax.set(xscale="log", xlabel="work / volume", ylabel="workers")
        ax.set_ylim(bottom=0.0)
        ax.set_title(f"3: {name}", loc="left", fontsize=10)
        ax.legend(frameon=False, fontsize=8)
        small(ax)
        ax.spines[["top", "right"]].set_visible(False)
    return figure
