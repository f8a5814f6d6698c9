"""Schedules of workers whose speeds change while they compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._base import check
from .platform import Platform, Unit

#: (time, (p,) cycle-times from then on) of each change, in the order of their times.
Changes = Sequence[tuple[float, NDArray[np.float64]]]


def changes_of(drift: Any, p: int, unit: Unit | None) -> Changes:
    """The changes that `hs.simulate` is given, for a plan of p workers in this unit."""
    found: list[tuple[float, NDArray[np.float64]]] = []
    for i, entry in enumerate(check.entries("drift", drift, "a sequence of (time, Platform)")):
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise TypeError(f"drift[{i}] must be (time, Platform), got {check.shown(entry)}")
        time, platform = check.number(f"the time of drift[{i}]", entry[0], low=0.0), entry[1]
        if not isinstance(platform, Platform):
            raise TypeError(f"drift[{i}] must be (time, Platform), got a {type(platform).__name__}")
        if len(platform) != p:
            raise ValueError(f"drift[{i}] has {len(platform)} workers, the plan is for {p}")
        if found and time <= found[-1][0]:
            raise ValueError(f"the times of drift must increase, got {time:g} at drift[{i}]")
        own = platform if unit is None else platform.per(unit, "the plan")
        found.append((time, own.cycle_times))
    return found


def end_of(
    worker: int, start: float, work: float, times: NDArray[np.float64], drift: Changes
) -> float:
    """When a worker ends that begins to compute at `start`.

    work : its time with the cycle-times `times`, which hold until the first change.
    """
    if work <= 0.0:
        return start
    if math.isinf(work):  # times a pace of 0 it would be NaN
        return work
    pace = 1.0  # time per unit of that time
    for time, changed in drift:
        if time > start:
            done = (time - start) / pace
            if done >= work:
                break
            work -= done
            start = time
        pace = float(changed[worker] / times[worker])
    return start + work * pace


def ideal_end(work: NDArray[np.float64], times: NDArray[np.float64], drift: Changes) -> float:
    """When all work would be done if it were divided perfectly at every moment.

    work : (p,) of each worker, as its time with the cycle-times `times`.
    """
    fastest = float(times.min())
    left = math.fsum((work * (fastest / times)).tolist())  # in times of the fastest worker
    start, speed = 0.0, float((fastest / times).sum())
    for time, changed in drift:
        if time > start:
            if (time - start) * speed >= left:
                break
            left -= (time - start) * speed
            start = time
        speed = float((fastest / changed).sum())
    return start + left / speed


class Drifted:
    """When a worker ends, whose speed changes meanwhile: finish(worker, begin, time).

    times : (p,) cycle-times that hold until the first change.
    """

    def __init__(self, times: NDArray[np.float64], changes: Changes) -> None:
        self._times, self._changes = times, changes

    def __call__(self, worker: int, begin: float, time: float) -> float:
        return end_of(worker, begin, time, self._times, self._changes)

    @property
    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(c,) times of the changes, and (c, p) cycle-times from then on."""
        moments = np.array([time for time, _ in self._changes], np.float64)
        rows = [own for _, own in self._changes]
        return moments, np.array(rows, np.float64).reshape(len(rows), len(self._times))
