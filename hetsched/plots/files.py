"""Plot of a product of matrices in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .canvas import _axes, _heading, digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..files.plan import FilesPlan

_LINES = 200  # lines of a grid; finer grids are left out
_THIN = 0.08  # least length of a side that is drawn, as a fraction of the longest
_PAPER, _STAYS, _STREAMS = "#f4f4f4", "#77aadd", "#eedd88"


def plot_files(plan: FilesPlan, ax: Axes | None = None) -> Axes:
    """Draw A beside C and B above it, with the first tile of C and the panels that it needs.

    The plot shows what stays in memory and what is streamed.
    """
    from matplotlib.patches import Patch, Rectangle

    ax = _axes(ax, (6.4, 6.0))
    least = max(1.0, _THIN * max(plan.shape))
    m, n, k = (max(float(size), least) for size in plan.shape)  # as drawn
    h, v, d = (
        drawn * min(1.0, part / max(size, 1))
        for drawn, part, size in zip((m, n, k), (*plan.tile, plan.depth), plan.shape, strict=True)
    )
    gap = 0.06 * max(m + k, n + k)
    matrices = {
        "C": (0.0, 0.0, n, m, v, h),
        "A": (-gap - k, 0.0, k, m, d, h),
        "B": (0.0, -gap - k, n, k, v, d),
    }
    for name, (x, y, width, height, across, down) in matrices.items():
        ax.add_patch(Rectangle((x, y), width, height, facecolor=_PAPER, edgecolor="black"))
        if max(width / across, height / down) <= _LINES:
            ax.vlines(x + np.arange(across, width, across), y, y + height, color="#bbbbbb", lw=0.5)
            ax.hlines(y + np.arange(down, height, down), x, x + width, color="#bbbbbb", lw=0.5)
        if name == plan.stationary == "A":
            across = k
        if name == plan.stationary == "B":
            down = k
        colour = _STAYS if name in ("C", plan.stationary) else _STREAMS
        ax.add_patch(Rectangle((x, y), across, down, facecolor=colour, edgecolor="black", lw=0.8))
        ax.text(x + width / 2, y + height / 2, name, ha="center", va="center", fontsize=14)
    ax.set(
        xlim=(-2 * gap - k, n + gap),
        ylim=(m + gap, -2 * gap - k),
        aspect="equal",
        xticks=[],
        yticks=[],
        facecolor="none",
    )
    handles = [Patch(color=_STAYS, label="stays in memory"), Patch(color=_STREAMS, label="streams")]
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False
    )
    _heading(
        ax,
        f"{digits(plan.traffic / 1e9)} GB read and written, at least"
        f" {digits(plan.lower_bound / 1e9)} GB",
    )
    for side in ax.spines.values():
        side.set_visible(False)
    return ax
