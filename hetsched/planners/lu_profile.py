"""Block columns of LU for workers with times by the height and the width of their parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import schema
from .._engine import allocate as engine
from ..errors import InfeasibleError
from ..platform import Platform
from .profile import rows_of
from .profile_zones import ZoneProfile, zone_times

#: Times in the tables of all workers, at most.
MOST_TIMES = 2**24

Profiles = Platform | Sequence[ZoneProfile]


class Dealt(NamedTuple):
    """Owners of block columns, planned with profiles.

    owner : (n,) the worker of each block column.
    counts : (steps, p) columns of each worker that the step updates.
    times : (steps, p) their times; 0 without columns.
    proof : cost, bound, optimal, scope.
    """

    owner: NDArray[np.int32]
    counts: NDArray[np.int64]
    times: NDArray[np.float64]
    proof: dict[str, Any]


def table_of(profiles: Profiles, shape: tuple[int, int]) -> NDArray[np.float64]:
    """(p, *shape) times of each worker for 1, 2, ... block rows and columns."""
    rows = rows_of(profiles)
    if len(rows) * shape[0] * shape[1] > MOST_TIMES:
        raise ValueError(
            f"profiles of {len(rows)} workers for {shape[0]} x {shape[1]} blocks have more than"
            " 2**24 times: use larger blocks"
        )
    cells = np.arange(1, shape[0] + 1)[:, None] * np.arange(1, shape[1] + 1)
    table = np.empty((len(rows), *shape))
    for i, profile in enumerate(rows):
        table[i] = zone_times(f"profiles[{i}]", profile, shape, cells)
    return table


def deal_columns(
    table: NDArray[np.float64],
    n: int,
    heights: NDArray[np.int64],
    owner: NDArray[np.int32] | None = None,
) -> Dealt:
    """Deal n block columns so that the sum of the largest times of all steps is small.

    table : (p, h, w) times, from `table_of`.
    heights : (steps,) block rows that each step updates, at least 1.
    owner : certify these owners instead.

    Raises InfeasibleError if no owners were found, or the given ones do not fit.
    """
    p, steps = len(table), len(heights)
    most = float(np.max(table, where=np.isfinite(table), initial=0.0))
    if not math.isfinite(most * n):
        raise ValueError(
            f"profiles have times up to {most:.3g}, of which {n} overflow: give them in a larger"
            " unit"
        )
    times = np.ones((steps, p, n))
    times[:, :, 1:] = table[:, heights - 1, : n - 1].swapaxes(0, 1)
    if owner is None:
        mine = np.zeros(n, np.int32)
        try:
            proof = engine.pattern_profile(mine, times)
        except InfeasibleError:
            raise InfeasibleError(
                f"{n} block columns cannot be dealt: no owners were found with parts that fit"
                " profiles in every step"
            ) from None
        counts = columns_right(mine, p)[:steps]
    else:
        mine, counts = owner, columns_right(owner, p)[:steps]
        proof = {}
    own = np.take_along_axis(times, counts[:, :, None], axis=2)[:, :, 0]
    own[counts == 0] = 0.0
    if owner is not None:
        _require_fit(own, counts, heights)
        proof = engine.pattern_profile_certificate(mine, times)
    return Dealt(mine, counts, own, proof)


def columns_right(owner: NDArray[np.int32], p: int) -> NDArray[np.int64]:
    """(n, p) block columns of each worker to the right of each column."""
    own = np.zeros((len(owner), p), np.int64)
    own[np.arange(len(owner)), owner] = 1
    right: NDArray[np.int64] = own.sum(axis=0) - own.cumsum(axis=0)
    return right


def mean_times(times: NDArray[np.float64], work: NDArray[np.float64]) -> NDArray[np.float64]:
    """(p,) time per unit of work of each worker.

    A worker without work has the largest time of the other workers, or 1 if no worker has any.

    times, work : (p,) of each worker.
    """
    if not (used := work > 0).any():
        return np.ones(len(work))
    with np.errstate(over="ignore"):
        means = np.maximum(times[used] / work[used], schema.LEAST)
    found = np.full(len(work), means.max())
    found[used] = means
    return found


def _require_fit(
    times: NDArray[np.float64], counts: NDArray[np.int64], heights: NDArray[np.int64]
) -> None:
    bad = np.isinf(times)
    if bad.any():
        k, i = map(int, np.argwhere(bad)[0])
        raise InfeasibleError(
            f"owner gives worker {i} {counts[k, i]} block columns in step {k}; {heights[k]} x"
            f" {counts[k, i]} blocks do not fit profiles[{i}]"
        )
