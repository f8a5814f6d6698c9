"""Plots of rings: the slices around a circle, and how many workers are worth while."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .canvas import (
    _CELLS,
    _axes,
    _fit_text,
    _heading,
    _points,
    _short,
    digits,
    figure_size,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..planners.ring import RingProfile, SliceRing

_INNER, _OUTER = 0.55, 1.0
_INK = "#222222"


def plot_ring(plan: SliceRing, ax: Axes | None = None) -> Axes:
    """Draw the ring clockwise from the top. Each slice is as long as its share.

    A border is the thicker, the more its link costs.
    """
    ax = _axes(ax, figure_size("boxes", 2 * len(plan.ring)))
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Wedge

    ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), xticks=[], yticks=[])
    ax.set_box_aspect(1)
    ax.spines[:].set_visible(False)
    if len(plan.ring) > 1:
        ax.set_xlabel("borders are links, the thicker the dearer")
    members = f"{len(plan.ring)} of {len(plan.cycle_times)} workers"
    _heading(
        ax, f"{plan.method}, {members}, makespan {digits(plan.makespan)}, gap {percent(plan.gap)}"
    )

    shares = plan.shares[plan.ring]
    ends = np.cumsum(shares)
    starts = ends - shares
    for k, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        # the last slice is beside the first
        colour = k % len(_CELLS) or (len(_CELLS) // 2 if k == len(starts) - 1 else 0)
        angles = 90 - 360 * end, 90 - 360 * start
        ax.add_patch(
            Wedge(
                (0, 0),
                _OUTER,
                *angles,
                width=_OUTER - _INNER,
                linewidth=0,
                facecolor=_CELLS[colour],
            )
        )
    if len(plan.ring) > 1:
        after = np.roll(plan.ring, -1)
        costs = plan.links[plan.ring, after] + plan.links[after, plan.ring]
        directions = [
            (math.sin(2 * math.pi * end), math.cos(2 * math.pi * end)) for end in ends.tolist()
        ]
        lines = [[(_INNER * x, _INNER * y), (_OUTER * x, _OUTER * y)] for x, y in directions]
        widths = 0.5 + 3.0 * costs / (costs.max() or 1.0)
        thin = np.minimum(1.0, 40.0 / len(lines))
        ax.add_collection(
            LineCollection(lines, colors=_INK, linewidths=widths * thin), autolim=False
        )
    unit = _points(ax)[0]
    sizes: dict[str, tuple[float, float]] = {}
    for i, share, start in zip(plan.ring.tolist(), shares.tolist(), starts.tolist(), strict=True):
        turn = start + share / 2
        along, across = (_OUTER - _INNER) * unit, min(2 * math.pi * share, 1.0) * _INNER * unit
        x, y = ((_INNER + _OUTER) / 2 * f(2 * math.pi * turn) for f in (math.sin, math.cos))
        angle = 90 - 360 * turn if turn <= 0.5 else 270 - 360 * turn  # never upside down
        room = (along - 4, across - 4)
        name = _short(plan.names[i])
        labels = [(f"{name} {share:.1%}", angle), (name, angle)]
        _fit_text(ax, (x, y), room if angle == 0 else room[::-1], labels, "black", sizes)
    return ax


def plot_profile(profile: RingProfile, ax: Axes | None = None) -> Axes:
    """Draw the members of the best ring against work / volume, which has a logarithmic axis."""
    ax = _axes(ax, (6.4, 3.6))
    jumps = profile.ratios[1:]
    positive = jumps[jumps > 0]
    low, high = (positive.min() / 4, positive.max() * 4) if len(positive) else (0.1, 10.0)
    x = np.concatenate(([low], np.maximum(jumps, low), [high]))
    ax.step(
        x, np.append(profile.sizes, profile.sizes[-1]), where="post", color="#0072b2", linewidth=2
    )
    ax.set(
        xscale="log",
        xlabel="work / volume",
        ylabel="workers",
        xlim=(low, high),
        ylim=(0, len(profile.cycle_times) + 1),
    )
    ax.locator_params(axis="y", integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    jumping = " → ".join(map(str, profile.sizes.tolist()))
    _heading(
        ax, f"best ring: {jumping if len(jumping) < 60 else f'{len(profile.rings)} rings'} workers"
    )
    return ax
