"""Where the workers of a pool run that needs fewer cores than this process may use."""

from __future__ import annotations

from .._engine.sites import Site, spread_workers
from . import domains
from .topology import Topology


def sites(host: Topology) -> tuple[Site, ...]:
    """The cpus of each domain, as sites of workers.

    Parameters
    ----------
    host : Topology
    """
    kinds = domains.kinds(host.domains)
    kind_of = {i: kind for kind, alike in enumerate(kinds) for i in alike}
    core_of = {cpu.number: i for i, group in enumerate(host.groups()) for cpu in group}
    return tuple(
        Site(domain.cpus, len({core_of[cpu] for cpu in domain.cpus}), kind_of[i])
        for i, domain in enumerate(host.domains)
    )


def spread(host: Topology, workers: int) -> tuple[int, ...]:
    """Choose the domain of each worker, in ascending order, by which cores are free.

    Parameters
    ----------
    host : Topology
    workers : int
        At least 1.
    """
    chosen = spread_workers(workers, sites(host))
    return tuple(i for i, count in enumerate(chosen) for _ in range(count))
