"""Plots of the papers' experiments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..plots.canvas import figure_for, small
from .layers_mesh import SHOWN
from .layers_star import BOUND, EVEN, LAYERS, METHODS, SUMMED
from .ppopp2008 import FIGURES, label
from .static2001 import SLICE, STEP, TIMES, drawn_partitions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .layers_mesh import LayersMesh
    from .layers_star import LayersStar, Sweep, Values
    from .ppopp2008 import Ppopp2008, Table
    from .static2001 import Static2001

# The colours of Okabe and Ito, and for each method a shape that is recognised without colour.
_STYLES = {
    "het": ("#d55e00", "o"),
    "oddoml": ("#0072b2", "s"),
    "bmm": ("#000000", "X"),
    "hom": ("#e69f00", "^"),
    "homi": ("#009e73", "v"),
    "orroml": ("#56b4e9", "D"),
    "ommoml": ("#cc79a7", "p"),
    "best": ("#d4b000", "*"),
}
# Colour, marker, line, and the shift of the markers in steps of _APART, where they would be hidden.
_LAYERS = {
    LAYERS: ("#d55e00", "o", "-", 0.0),
    SUMMED: ("#d55e00", "*", "--", 0.6),
    BOUND: ("#888888", "", ":", 0.0),
    "NRRP": ("#0072b2", "s", "-", -1.0),
    "Recursive": ("#009e73", "^", "-", 0.0),
    "PERI-SUM": ("#e69f00", "D", "-", 1.0),
    EVEN: ("#000000", "X", "-", -0.6),
}
_MESHES = {"pmft": -1.0, "heuristic": 1.0}
_LEAST = 6.5  # inches: several panels side by side
# fraction of the axis between markers at the same place, which would hide each other
_APART = 0.015
_SUMMARY = ("bmm", "oddoml", "het", "best")  # methods in figure 9; the last one is on top


def plot_ppopp2008(study: Ppopp2008, figure: Figure | None = None) -> Figure:
    """Figures 4 to 8 of the 2008 paper, relative cost above relative work, and figure 9 below."""
    figure = figure_for(figure, (14, 9), 0.5, _LEAST)
    tables = study.relative("makespan"), study.relative("processor_time")
    counts = [sum(name in names for name, _ in study.plans) for _, _, names in FIGURES]
    parts: Any = figure.subfigures(2, 1, height_ratios=[2, 1])
    upper, lower = parts
    rows = upper.subplots(
        2,
        len(FIGURES),
        sharex="col",
        sharey="row",
        gridspec_kw={"width_ratios": [max(n, 3) for n in counts]},
    )
    for (cost, work), (number, what, names) in zip(rows.T, FIGURES, strict=True):
        title = f"{number}: {what}"
        # figure 8 has the fewest instances, so it is narrow
        _name(cost, title.replace(" platform", "\nplatform") if _narrow(figure, 12.0) else title)
        for ax, table in ((cost, tables[0]), (work, tables[1])):
            _marks(
                ax,
                {i: row for i, row in table.items() if i[0] in names},
                study.seconds,
                joined=False,
            )
        first = next(i for i in study.plans if i[0] in names)
        texts = [label(i).rpartition(", ")[2] for i in study.plans if i[0] in names]
        work.set_xticks(
            range(len(texts)),
            texts,
            rotation=90 if len(names) > 1 or _narrow(figure) else 0,
            fontsize=8,
        )
        if label(first) != first[0]:
            work.set_xlabel("s (blocks)", fontsize=9)
    rows[0][0].set_ylabel("relative cost")
    rows[1][0].set_ylabel("relative work")
    upper.legend(
        *rows[0][0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(_STYLES),
        frameon=False,
        fontsize=9,
        columnspacing=1.2,
    )

    for ax, table, title in zip(
        lower.subplots(1, 2), tables, ("relative cost", "relative work"), strict=True
    ):
        shown = [method for method in _SUMMARY if method in study.seconds]
        _marks(ax, table, shown, joined=True)
        _name(ax, f"9: {title}, all experiments")
        ax.set_ylabel(title)
        ends = [sum(counts[:k]) - 0.5 for k in range(len(counts) + 1)]
        for end in ends[1:-1]:
            ax.axvline(end, color="#bbbbbb", linewidth=0.6)
        ax.set_xticks(
            [(x + y) / 2 for x, y in zip(ends, ends[1:], strict=False)],
            [f"figure {n}" for n, _, _ in FIGURES],
        )
        ax.tick_params(axis="x", length=0, labelsize=8)
        ax.legend(frameon=False, fontsize=8)
    return figure


def _narrow(part: Any, inches: float = 9.0) -> bool:
    """Whether a figure is narrower than this, as figures for a page are."""
    return bool(part.bbox.width / part.dpi < inches)


def _name(ax: Axes, text: str) -> None:
    """Write what a panel shows above it."""
    ax.set_title(text, loc="left", fontsize=8 if _narrow(ax.figure.canvas.figure) else 10)


def _marks(ax: Axes, table: Table, methods: Iterable[str], *, joined: bool) -> None:
    """Draw an instance per place and a marker per method, joined by lines or side by side."""
    shown = list(methods)
    for k, method in enumerate(shown):
        colour, marker = _STYLES[method]
        values = [row[method] for row in table.values()]
        shift = 0.0 if joined else 0.8 * ((k + 0.5) / len(shown) - 0.5)
        ax.plot(
            [at + shift for at in range(len(values))],
            values,
            linestyle="-" if joined else "",
            linewidth=0.8,
            color=colour,
            marker=marker,
            markersize=7 if marker == "*" else 4.5,
            markeredgewidth=0.0,
            label=method,
        )
    if not joined:
        for at in range(0, len(table), 2):
            ax.axvspan(at - 0.5, at + 0.5, color="#f2f2f2", linewidth=0, zorder=0)
    ax.set_xlim(-0.5, len(table) - 0.5)
    _rule(ax)


def _rule(ax: Axes) -> None:
    small(ax)
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)


def plot_static2001(study: Static2001, figure: Figure | None = None) -> Figure:
    """Figures 7 and 10 of the 2001 paper, measured on emulated workers.

    Figures 5, 12 to 15 and 19 are drawn below them.
    """
    figure = figure_for(figure, (10.0, 9.6), 0.5, _LEAST)
    parts: Any = figure.subfigures(2, 1, height_ratios=[3.4, 6.2])
    axes: Any = parts[0].subplots(1, 2)
    _drawings(parts[1].subplots(2, 3))
    parts[1].supxlabel("small numbers: order of the cuts", fontsize=9)
    colours = {"pattern": "#0072b2", "contiguous": "#d55e00", "cyclic": "#d55e00"}
    for at, (name, run) in enumerate(study.figure7.items()):
        places = [w + 0.4 * at - 0.2 for w in range(len(TIMES))]
        axes[0].bar(places, run.updates[STEP - 1], width=0.38, color=colours[name], label=name)
    axes[0].set_xticks(
        range(len(TIMES)), [f"P{w + 1}\ncycle-time {t}" for w, t in enumerate(TIMES)]
    )
    _name(axes[0], f"7: updates in step {STEP}")
    for name, run in study.figure10.items():
        steps = [max(step) for step in run.updates[: SLICE - 1]]
        axes[1].step(range(1, SLICE), steps, where="mid", color=colours[name], label=name)
    _name(axes[1], "10: updates of each step, slowest worker")
    axes[1].set_xlabel("step")
    for ax in axes:
        ax.set_ylim(bottom=0.0)
        ax.set_ylabel("time")
        ax.legend(frameon=False, fontsize=8)
        small(ax)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _drawings(rows: Any) -> None:
    """Draw the figures without numbers: tiles that wait for their neighbours, and zones."""
    tiles, *others = rows.ravel()
    for row in range(4):
        for col in range(6):
            tiles.add_patch(_square(col, row))
            if col < 5:
                tiles.annotate(
                    "",
                    (col + 1.25, row + 0.5),
                    (col + 0.75, row + 0.5),
                    arrowprops={"arrowstyle": "->"},
                )
            if row < 3:
                tiles.annotate(
                    "",
                    (col + 0.5, row + 1.25),
                    (col + 0.5, row + 0.75),
                    arrowprops={"arrowstyle": "->"},
                )
    tiles.set(
        xlim=(0, 6),
        ylim=(0, 4),
        aspect="equal",
        xticks=[],
        yticks=[],
        xlabel="$N_2$ tiles",
        ylabel="$N_1$ tiles",
    )
    _name(tiles, "5: a tile waits for two others")
    for ax, (title, plan) in zip(others, drawn_partitions(), strict=True):
        plan.plot(ax).set(xlabel="", ylabel="", xticks=[], yticks=[])
        _name(ax, title)


def _square(col: int, row: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((col, row), 1, 1, facecolor="none", edgecolor="#888888", linewidth=0.8)


def plot_layers_star(study: LayersStar, figure: Figure | None = None) -> Figure:
    """Figure 6: volumes over N^2 and finishing times relative to LBP, by size and by workers.

    Bars are standard deviations.
    """
    figure = figure_for(figure, (11, 7.2), 0.5, _LEAST)
    from matplotlib.ticker import ScalarFormatter

    rows = figure.subplots(2, 2, sharex="row")
    for (left, right), sweep, title in zip(
        rows,
        (study.by_size, study.by_workers),
        ("16 workers", f"N = {study.by_workers.sizes[0]}"),
        strict=True,
    ):
        _lines(left, sweep, sweep.per_square(), tuple(sweep.volumes))
        left.set_yscale("log", base=2)
        left.yaxis.set_major_formatter(ScalarFormatter())
        left.set_ylabel("volume / N²")
        _lines(right, sweep, sweep.relative_times(), METHODS)
        right.set_ylabel(f"finishing time over {LAYERS}'s")
        for ax, part in ((left, "volume"), (right, "finishing time")):
            _name(ax, f"{part}, {title}")
            ax.set_xlabel({"N": "N (rows of the matrices)", "p": "p (workers)"}[sweep.axis])
            if sweep.axis == "p":
                ax.set_xscale("log", base=2)
                ax.set_xticks(sweep.points, [str(p) for p in sweep.points])
    figure.supxlabel(
        "bars: one standard deviation; marks that would cover each other are side by side",
        fontsize=9,
    )
    handles, labels = rows[0][0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=4 if _narrow(figure) else len(labels),
        frameon=False,
        fontsize=9,
        columnspacing=1.0,
        handlelength=1.8,
    )
    return figure


def _lines(ax: Axes, sweep: Sweep, values: Values, names: tuple[str, ...]) -> None:
    for name in names:
        colour, marker, line, steps = _LAYERS[name]
        ax.errorbar(
            _beside(sweep.points, steps, sweep.axis == "p"),
            values[name].mean(axis=1),
            values[name].std(axis=1),
            color=colour,
            marker=marker,
            linestyle=line,
            markersize=7 if marker == "*" else 4.5,
            linewidth=1.2,
            elinewidth=0.8,
            capsize=2,
            label=name,
        )
    _rule(ax)


def _beside(points: Sequence[int], steps: float, logarithmic: bool) -> NDArray[np.float64]:
    """Places of markers that are shifted to the right by this many steps."""
    places: NDArray[np.float64] = np.log(points) if logarithmic else np.asarray(points, float)
    places = places + _APART * steps * np.ptp(places)
    return np.exp(places) if logarithmic else places


def plot_layers_mesh(study: LayersMesh, figure: Figure | None = None) -> Figure:
    """Figures 7 and 8 of the paper, in a column for each mesh size, with figure 9 below them."""
    figure = figure_for(figure, (13, 10), 0.5, _LEAST)
    parts: Any = figure.subfigures(2, 1, height_ratios=[2.1, 1])
    rows = parts[0].subplots(2, len(study.sizes), sharex="col", squeeze=False)
    for row, (number, value, what) in zip(
        rows,
        ((7, "volume", "volume / n²"), (8, "makespan", "finishing time (units of the model)")),
        strict=True,
    ):
        for ax, size in zip(row, study.sizes, strict=True):
            for method, name, colour, marker in SHOWN:
                _curve(
                    ax,
                    study,
                    size,
                    method,
                    value,
                    name,
                    colour,
                    marker,
                    "--" if method == "heuristic" else "-",
                    _MESHES.get(method, 0.0),
                )
            _name(ax, f"{number}: {size} × {size} mesh")
            if number == 7:
                ax.set(yscale="log", ylim=(6, 400))
                ax.set_yticks([], minor=True)
                ax.set_yticks(ticks := [10, 20, 50, 100, 200], map(str, ticks))
            else:
                ax.set_ylim(bottom=0)
        row[0].set_ylabel(what)
    for ax in rows[-1]:
        ax.set_xlabel("n (rows of the matrices)", fontsize=9)
    parts[0].legend(
        *rows[0][0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(SHOWN),
        frameon=False,
        fontsize=9,
        columnspacing=1.2,
    )
    ax = parts[1].subplots()
    for size, shade in zip(study.sizes, ("#56b4e9", "#0072b2", "#222222", "#cc79a7"), strict=False):
        _curve(ax, study, size, "pmft", "from_scratch", f"LBP, {size} × {size}", shade, "o", "-")
        _curve(
            ax,
            study,
            size,
            "heuristic",
            "from_scratch",
            f"LBP-heuristic, {size} × {size}",
            shade,
            "x",
            "--",
        )
    _name(ax, "9: simplex iterations of a plan, every linear program from scratch")
    ax.set(
        xlabel=(
            "n (rows of the matrices)\nbands: one standard deviation; marks that would hide each"
            " other are drawn side by side"
        ),
        ylabel="iterations",
    )
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _curve(
    ax: Axes,
    study: LayersMesh,
    size: int,
    method: str,
    value: str,
    name: str,
    colour: str,
    marker: str,
    line: str,
    steps: float = 0.0,
) -> None:
    """Draw means, with a band of one standard deviation."""
    means, spreads = np.array(
        [study.mean(size, side, method, value) for side in study.sides(size)]
    ).T
    sides = _beside(study.sides(size), steps, logarithmic=False)
    ax.plot(
        sides,
        means,
        line,
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.0,
        label=name,
        zorder=3 if "LBP" in name else 2,
    )
    ax.fill_between(sides, means - spreads, means + spreads, color=colour, alpha=0.15, linewidth=0)
    _rule(ax)
    ax.spines[["top", "right"]].set_visible(False)
