"""Plot of a matrix product in layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .canvas import (
    _CELLS,
    _axes,
    _draw_boxes,
    _fit_text,
    _heading,
    _points,
    _short,
    digits,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.layers import LayersPlan

_GAP = 0.3  # between the matrices, which have side 1
_DEPTH = 0.45  # from the first layer to the last, across and down


def plot_layers(plan: LayersPlan, ax: Axes | None = None) -> Axes:
    """Draw A cut into columns, B cut into rows, and the layers of C, the first one in front."""
    ax = _axes(ax, (9.0, 4.0))
    q = len(plan.order)
    step = min(0.16, _DEPTH / max(q - 1, 1))
    depth = step * max(q - 1, 0)
    places = {"A": 0.0, "B": 1.0 + _GAP, "C": 2.0 + 2.0 * _GAP}
    right = places["C"] + 1.0 + depth
    ax.set(
        xlim=(-0.05, right + 0.05), ylim=(1.05, -depth - 0.2), xticks=[], yticks=[], aspect="equal"
    )
    ax.spines[:].set_visible(False)
    members = f"{q} of {len(plan.counts)} workers"
    _heading(
        ax,
        f"{plan.mode}, {plan.method}, {members}, makespan {digits(plan.makespan)}, gap"
        f" {percent(plan.gap)}",
    )

    owners = np.flatnonzero(plan.counts)  # in the order in which columns are dealt
    first = plan.displs[owners].astype(np.float64) / max(plan.n, 1)
    last = (plan.displs + plan.counts)[owners].astype(np.float64) / max(plan.n, 1)
    colours = [_CELLS[k % len(_CELLS)] for k in range(q)]
    unit = _points(ax)[0]
    nothing, whole = np.zeros(q), np.ones(q)
    x = places["B"]
    _draw_boxes(ax, first, nothing, last, whole, colours, (last - first) * unit)
    _draw_boxes(ax, x + nothing, first, x + whole, last, colours, (last - first) * unit)
    shifts = step * np.arange(q, dtype=np.float64)[::-1]
    left = places["C"] + shifts
    _draw_boxes(
        ax,
        left,
        -shifts,
        left + 1.0,
        1.0 - shifts,
        colours[::-1],
        np.full(q, min(step, 1.0) * unit),
    )
    for name, x in places.items():
        ax.text(x, -0.03 - (depth if name == "C" else 0.0), name, fontsize=10, va="bottom")
    for x, sign in ((1.0 + _GAP / 2, "×"), (2.0 + 1.5 * _GAP, "=")):
        ax.text(x, 0.5, sign, fontsize=14, ha="center", va="center")

    sizes: dict[str, tuple[float, float]] = {}
    for k, (i, start, end) in enumerate(
        zip(owners.tolist(), first.tolist(), last.tolist(), strict=True)
    ):
        name, count = _short(plan.names[i]), str(plan.counts[i])
        middle, across = (start + end) / 2, (end - start) * unit
        _fit_text(ax, (middle, 0.5), (across, unit), [(count, 0), (count, 90)], "black", sizes)
        _fit_text(
            ax,
            (places["B"] + 0.5, middle),
            (unit, across),
            [(f"{name}: {count}", 0), (count, 0)],
            "black",
            sizes,
        )
        room = step if k else 1.0
        top = 0.5 if k == 0 else -step * k + step / 2
        _fit_text(
            ax,
            (places["C"] + 0.5 + step * k, top),
            (unit, room * unit),
            [(name, 0)],
            "black",
            sizes,
        )
    return ax
