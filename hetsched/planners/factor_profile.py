"""Speeds of the workers in each step of a factorisation, from times by height and width."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..platform import UNIT, Platform
from .lu_profile import Profiles, deal_columns, mean_times, table_of
from .profile import rows_of

Times = NDArray[np.float64]


class SpeedsBySteps(NamedTuple):
    """Seconds per gigaflop, from profiles.

    times : (panels, p) of the updates of each step; infinite for a worker without any.
    least : (panels, p) least ones, whatever number of columns the worker has.
    panels : (p,) of panels.
    """

    times: Times
    least: Times
    panels: Times


def workers_of(
    profiles: Profiles, platform: Platform | ArrayLike | None, speeds: ArrayLike | None
) -> int:
    """The number of workers; the platform may only add links and names."""
    if speeds is not None or not (platform is None or isinstance(platform, Platform)):
        raise ValueError(
            "profiles must be given without cycle_times and speeds; a Platform may add links and"
            " names"
        )
    p = len(rows_of(profiles))
    if platform is not None and len(platform) != p:
        raise ValueError(f"profiles must have {len(platform)} entries, one per worker, got {p}")
    return p


def deal_by_profiles(
    m: int,
    n: int,
    block: int,
    blocks: tuple[int, int],
    profiles: Profiles,
    owner: NDArray[np.int32] | None,
    panels: Times | None,
    flops: float,
) -> tuple[NDArray[np.int32], SpeedsBySteps]:
    """The owner of each block column, and the speeds of the workers in each step.

    blocks : of rows and of columns.
    owner : the owners, if they are given.
    panels : given times of panels; None: the speed of one block column, the highest that fits.
    flops : of an update, a multiplication and an addition.
    """
    rows, count = blocks
    rank = min(m, n)
    table = table_of(profiles, (max(rows, 1), max(count, 1)))
    unit = float(block) ** 3 * flops / UNIT  # gigaflops of a block's update
    panels = _panel_times(table[:, :, 0], unit) if panels is None else panels
    ends = np.minimum(np.arange(0, rank, block) + block, rank)
    heights = np.maximum(-(-(m - ends) // block), 1)[: max(count - 1, 0)]
    times, least = np.full((2, len(ends), len(table)), np.inf)
    if rank == 0:  # no work
        idle = np.zeros(count, np.int32) if owner is None else owner
        return idle, SpeedsBySteps(times, least, panels)
    dealt = deal_columns(table, count, heights, owner)
    if owner is None:  # the first column is never updated, and factored before all else
        dealt.owner[0] = np.argmin(panels)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        speeds = dealt.times / (heights[:, None] * dealt.counts * unit)
        times[: len(heights)] = np.where(dealt.counts > 0, speeds, np.inf)
        for k, height in enumerate(heights.tolist()):
            widths = np.arange(1, count - k)
            speeds = table[:, height - 1, : count - k - 1] / (height * widths * unit)
            least[k] = speeds.min(axis=1)
    return dealt.owner, SpeedsBySteps(times, least, panels)


def _panel_times(columns: Times, unit: float) -> Times:
    """(p,) time per gigaflop of one block column, the highest that fits; infinite if none does.

    columns : (p, rows) times by height.
    unit : gigaflops of a block.
    """
    fits = np.isfinite(columns)
    heights = columns.shape[1] - np.argmax(fits[:, ::-1], axis=1)
    with np.errstate(over="ignore"):
        times = columns[np.arange(len(columns)), heights - 1] / (heights * unit)
    return np.where(fits.any(axis=1), times, np.inf)


def mean_update_times(tasks: NDArray[Any], panel_times: Times) -> Times:
    """(p,) mean time per gigaflop of each worker's updates; without updates that of its panels."""
    updates = tasks[tasks["panel"] != tasks["block"]]
    p = len(panel_times)
    if not updates.size:
        return np.where(np.isfinite(panel_times), panel_times, panel_times.min())
    busy, work = np.zeros((2, p))
    np.add.at(busy, updates["worker"], updates["end"] - updates["start"])
    np.add.at(work, updates["worker"], updates["flops"] / UNIT)
    return mean_times(busy, work)
