"""csrc/threads/sites: where the workers of a pool run that needs not all cores; quotas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .ffi import check_status, doubles, ffi, int32s, lib, or_null

lib.hs_watch_load()


class Site(NamedTuple):
    """hs_site: cpus, the number of their cores, and their kind."""

    cpus: tuple[int, ...]
    cores: int
    kind: int


def sites_of(sites: Sequence[Site]) -> tuple[Any, list[Any]]:
    """The array of hs_site, and the objects that must stay alive with it."""
    cpus = [ffi.new("int32_t[]", site.cpus) for site in sites]
    fields = [
        (len(site.cpus), own, site.cores, site.kind) for site, own in zip(sites, cpus, strict=True)
    ]
    return ffi.new("hs_site[]", fields), cpus


def spread_workers(workers: int, sites: Sequence[Site]) -> tuple[int, ...]:
    """hs_spread_workers: the number of workers on each site, by the cores that are free now."""
    given, _cpus = sites_of(sites)
    chosen = np.empty(len(sites), np.int32)
    check_status(lib.hs_spread_workers(workers, len(sites), given, int32s(chosen)))
    return tuple(chosen.tolist())


def choose_sites(
    workers: int,
    sites: Sequence[Site],
    free_cores: NDArray[np.float64] | None,
    preferred: int = -1,
    seed: int = 0,
) -> tuple[int, ...]:
    """hs_choose_sites: the number of workers on each site."""
    given, _cpus = sites_of(sites)
    chosen = np.empty(len(sites), np.int32)
    free = or_null(free_cores, doubles, len(sites))
    check_status(
        lib.hs_choose_sites(workers, len(sites), given, free, preferred, seed, int32s(chosen))
    )
    return tuple(chosen.tolist())


def workers_for_quota(quota: float) -> int:
    """hs_workers_for_quota: workers worth starting under a quota in cpus."""
    return lib.hs_workers_for_quota(quota)  # type: ignore[no-any-return]


def quota_workers() -> int:
    """The same for the quota of this process now."""
    return workers_for_quota(lib.hs_cpu_quota())
