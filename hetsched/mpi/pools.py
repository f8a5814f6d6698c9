"""The pool with which each rank computes, and its speed."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .._engine import run as engine
from .._engine.dtypes import flops_per_update
from ..machine.topology import topology
from ..platform import UNIT
from ..runners.pool import Pool, accumulate
from ..runners.shared import shared_pool, unpinned_pool
from .ranks import Ranks

_BRIEF = 0.15  # seconds of a measurement that is made without being asked for
_SIDE = 256  # of the products that are timed; rows, columns and depth


class Place(NamedTuple):
    """Where a rank runs. Ranks with the same host and the same cpus share these cpus."""

    host: str
    cpus: tuple[int, ...]


def here() -> Place:
    """The place of this process."""
    mask = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
    return Place(socket.gethostname(), _cpus(mask))


@cache
def _cpus(_: tuple[int, ...]) -> tuple[int, ...]:
    """One cpu for each core, of the cores that a process with this affinity mask may use."""
    return tuple(topology().places)


def require_real_cores(pool: Any) -> None:
    """Raise TypeError unless the argument `pool` is a Pool of real cores."""
    if not isinstance(pool, Pool) or pool.emulated:
        raise TypeError(f"pool must be a Pool of real cores, got {pool!r}")


def own_pool(places: list[Place], rank: int) -> Pool:
    """A pool of this process's cores, or of its share if other ranks have the same cores."""
    sharing = places.count(places[rank])
    if sharing == 1:
        return shared_pool()
    return _part(max(1, topology().worth // sharing))


@cache
def _part(size: int) -> Pool:
    return unpinned_pool(size)


def names(places: list[Place]) -> list[str]:
    """A name for each rank: its host, with the rank's number there if the host has several."""
    hosts = [place.host for place in places]
    return [
        host if hosts.count(host) == 1 else f"{host}:{hosts[:rank].count(host)}"
        for rank, host in enumerate(hosts)
    ]


def rates(
    ranks: Ranks, pool: Pool, dtype: np.dtype[Any], seconds: float, rounds: int = 3
) -> list[list[float]]:
    """Flops per second of each rank's pool, for each round. All ranks compute at the same time."""
    square = np.ones((_SIDE, _SIDE), dtype)
    c = np.empty_like(square)

    def product() -> None:
        accumulate(pool, square, square, c, 1.0, False, engine.Poll())

    flops = flops_per_update(dtype) * float(_SIDE) ** 3
    return [[flops / each for each in own] for own in timed(ranks, product, seconds, rounds)]


def timed(
    ranks: Ranks, call: Callable[[], None], seconds: float = _BRIEF, rounds: int = 3
) -> list[list[float]]:
    """Seconds of a call on each rank, for each round.

    All ranks repeat their calls at the same time, until the round is over: a single call of some
    milliseconds would not see that a quota ends.
    """
    found = []
    for _ in range(rounds):
        ranks.gather(None)
        start, count = time.perf_counter(), 0
        while (passed := time.perf_counter() - start) < seconds / rounds or count == 0:
            call()
            count += 1
        found.append(passed / count)
    return ranks.gather(found)


def cycle_times(
    ranks: Ranks, pool: Pool, dtype: np.dtype[Any], seconds: float = _BRIEF
) -> list[float]:
    """Seconds per gigaflop of each rank, from the median of the rounds."""
    return [UNIT / float(np.median(own)) for own in rates(ranks, pool, dtype, seconds)]
