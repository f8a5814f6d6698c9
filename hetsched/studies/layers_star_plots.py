"""Pictures of the experiments on layer based partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plots.canvas import figure_for
from .layers_star import BOUND, EVEN, LAYERS, METHODS, SUMMED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .layers_star import LayersStar, Sweep, Values

# Okabe and Ito's, with a shape for each method that the eye finds again without colour.
_STYLES = {
    LAYERS: ("#d55e00", "o", "-"),
    SUMMED: ("#d55e00", "*", "--"),
    BOUND: ("#888888", "", ":"),
    "NRRP": ("#0072b2", "s", "-"),
    "Recursive": ("#009e73", "^", "-"),
    "PERI-SUM": ("#e69f00", "D", "-"),
    EVEN: ("#000000", "X", "-"),
}


def plot_layers_star(study: LayersStar, figure: Figure | None = None) -> Figure:
    """Figure 6: volumes over N^2 and finishing times over those of LBP, by size and by workers; bars are standard deviations."""
    figure = figure_for(figure, (11, 7))
    from matplotlib.ticker import ScalarFormatter

    rows = figure.subplots(2, 2, sharex="row")
    for (left, right), sweep, title in zip(
        rows, (study.by_size, study.by_workers), ("16 workers", f"N = {study.by_workers.sizes[0]}"), strict=True
    ):
        _lines(left, sweep, sweep.per_square(), tuple(sweep.volumes))
        left.set_yscale("log", base=2)
        left.yaxis.set_major_formatter(ScalarFormatter())
        left.set_ylabel("volume / N²")
        _lines(right, sweep, sweep.relative_times(), METHODS)
        right.set_ylabel(f"finishing time over {LAYERS}'s")
        for ax, part in ((left, "volume"), (right, "finishing time")):
            ax.set_title(f"{part}, {title}", loc="left", fontsize=10)
            ax.set_xlabel(sweep.axis)
            if sweep.axis == "p":
                ax.set_xscale("log", base=2)
                ax.set_xticks(sweep.points, [str(p) for p in sweep.points])
    handles, labels = rows[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _lines(ax: Axes, sweep: Sweep, values: Values, names: tuple[str, ...]) -> None:
    for name in names:
        colour, marker, line = _STYLES[name]
        ax.errorbar(
            sweep.points, values[name].mean(axis=1), values[name].std(axis=1), color=colour, marker=marker, linestyle=line,
            markersize=7 if marker == "*" else 4.5, linewidth=1.2, elinewidth=0.8, capsize=2, label=name,
        )  # fmt: skip
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
