"""Plots of measured speeds, and of how many workers are worth it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .canvas import _SMALL, _axes, _heading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..machine.measure import MeasuredPlatform
    from ..planners.worth import WorkersWorth

# The colours of Okabe and Ito, one for each kernel.
_KERNELS = {"gemm": "#0072b2", "panel": "#d55e00", "trsm": "#009e73"}
_STYLES = ("-", "--", ":", "-.")  # one for each dtype
_MARKS = "osv^D<>p*h"  # one for each worker
_UNIT = {"gemm": "side", "panel": "rows", "trsm": "columns"}


def plot_measured(platform: MeasuredPlatform, ax: Axes | None = None) -> Axes:
    """Draw speed against size for each worker, kernel and dtype.

    Bars show the spread, crosses the speeds when all workers compute at the same time.
    """
    from matplotlib.lines import Line2D

    ax = _axes(ax, (7.5, 5.0))
    dtypes = list(platform.at_once)
    for (worker, kernel, dtype), x in platform.profiles.items():
        style, mark = _STYLES[dtypes.index(dtype) % 4], _MARKS[worker % len(_MARKS)]
        ax.errorbar(
            x.sizes,
            x.gflops,
            x.gflops * x.spread,
            color=_KERNELS[kernel],
            ls=style,
            marker=mark,
            ms=4,
            lw=1.2,
            capsize=2,
        )
    for once in platform.at_once.values():
        ax.plot([once.size] * len(platform), once.gflops, "x", color="black", ms=7, zorder=5)
    kernels = [kernel for kernel in _KERNELS if any(key[1] == kernel for key in platform.profiles)]
    handles = [Line2D([], [], color=_KERNELS[k], label=f"{k} ({_UNIT[k]})") for k in kernels]
    handles += [
        Line2D([], [], color="black", ls=_STYLES[i % 4], label=name)
        for i, name in enumerate(dtypes)
    ]
    handles += [
        Line2D([], [], color="black", ls="", marker=mark, ms=4, label=", ".join(names))
        for i, mark in enumerate(_MARKS)
        if (names := platform.names[i :: len(_MARKS)])
    ]
    handles.append(Line2D([], [], color="black", ls="", marker="x", label="all at once (gemm)"))
    ax.legend(
        handles=handles, fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5)
    )
    sizes = sorted({int(size) for x in platform.profiles.values() for size in x.sizes})
    ax.set(xscale="log", xlabel="size", ylabel="GFLOP/s", xticks=sizes, ylim=(0, None))
    ax.set_xticks([], minor=True)
    ax.set_xticklabels([str(size) for size in sizes], fontsize=8)
    ratios = ", ".join(f"{once.ratio:.0%} in {name}" for name, once in platform.at_once.items())
    _heading(ax, f"all at once / one at a time: {ratios}")
    return ax


def plot_worth(plan: WorkersWorth, ax: Axes | None = None) -> Axes:
    """Draw predicted time against the number of workers, with the bound and the number worth it."""
    ax = _axes(ax, (6.4, 4.0))
    counts = np.arange(1, len(plan.times) + 1)
    ax.plot(counts, plan.times, "o-", color="#0072b2", label="predicted")
    ax.plot(counts, plan.bounds, ".--", color="#888888", label="bound")
    ax.plot(plan.workers, plan.makespan, "o", color="#e69f00", ms=10, zorder=5, label="worth it")
    m, n, k = plan.shape
    ax.set(xlabel="workers", ylabel="seconds", ylim=(0, None))
    ax.set_xticks(
        counts if len(counts) <= 16 else np.unique(np.linspace(1, len(counts), 9).astype(int))
    )
    ax.legend(frameon=False, fontsize=_SMALL)
    _heading(ax, f"{m} x {n} x {k}: {plan.workers} of {len(counts)} workers")
    return ax
