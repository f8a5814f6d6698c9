"""Domains of a machine: cpus of one kind that share a cache, and the blocks of a product that suit them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._engine import kernels
from .._engine.kernels import Blocking
from .cpus import Cache, Cpu
from .linux import ranges


@dataclass(frozen=True)
class Domain:
    """Cpus of one kind of core and one NUMA node that share a cache: an L3 or, where there is none, an L2 of several cores.

    Attributes
    ----------
    cpus : tuple of int
        Their numbers, those that the process may use.
    kind : str
        "performance", "efficiency", or "unknown" where nothing tells the cores apart.
    node : int or None
        The NUMA node.
    l1d, l2, l3 : Cache or None
        Those of its first cpu.
    kernel : str or None
        The instruction set of its micro-kernels, as a description names it: "avx512", "avx2", "neon" or "plain". None: the kernel
        in use.
    """

    cpus: tuple[int, ...]
    kind: str = "unknown"
    node: int | None = None
    l1d: Cache | None = None
    l2: Cache | None = None
    l3: Cache | None = None
    kernel: str | None = None

    @property
    def caches(self) -> tuple[Cache | None, Cache | None, Cache | None]:
        """The three."""
        return self.l1d, self.l2, self.l3


def found(logical: Sequence[Cpu], caches: Iterable[Cache]) -> tuple[Domain, ...]:
    """The domains of cpus, from their caches; performance cores before others, then by number."""
    by_level = {level: _of_cpus(caches, level) for level in (1, 2, 3)}
    core = {cpu.number: cpu.core for cpu in logical}
    groups: dict[tuple[object, ...], list[Cpu]] = {}
    for cpu in logical:
        own = [by_level[level].get(cpu.number) for level in (3, 2)]
        shared = own[0] or (own[1] if own[1] is not None and _of_several(own[1], core) else None)
        groups.setdefault((shared and shared.shared_by, cpu.node, cpu.type), []).append(cpu)
    domains = []
    for cpus in groups.values():
        l1d, l2, l3 = (by_level[level].get(cpus[0].number) for level in (1, 2, 3))
        domains.append(Domain(tuple(cpu.number for cpu in cpus), cpus[0].type, cpus[0].node, l1d, l2, l3))
    return in_order(domains)


def in_order(domains: Iterable[Domain]) -> tuple[Domain, ...]:
    """Performance cores before others, then by number."""
    return tuple(sorted(domains, key=lambda domain: (domain.kind == "efficiency", domain.cpus)))


def blocking_of(
    domains: Sequence[Domain], sharing: Sequence[int], measured: Sequence[Blocking | None] | None = None
) -> tuple[Blocking, ...]:
    """The blocks of each domain, with so many workers in it.

    Those that were measured for it. Else, as the kernels' own blocks are measured on the usual core, a domain like the first one
    keeps them, and another one has those of the model of its caches (`hs_blocking`).

    Parameters
    ----------
    domains : sequence of Domain
    sharing : sequence of int
        Workers of each.
    measured : sequence of Blocking or None, optional
        Of each, where there are some.

    Raises
    ------
    ValueError
        For a kernel that this processor does not have.
    """
    blocks = []
    for domain, workers, own in zip(domains, sharing, measured or [None] * len(domains), strict=True):
        sizes_of(domain, domain.kernel if own is None else own.kernel)
        if own is not None:
            blocks.append(own)
        elif is_whole(domain.kernel) or _are_alike(domain, domains[0]):
            blocks.append(Blocking(domain.kernel))
        else:
            blocks.append(modelled(domain, domain.kernel, workers))
    return tuple(blocks)


def kinds(domains: Sequence[Domain]) -> tuple[tuple[int, ...], ...]:
    """Domains, by number, that the same blocks and kernel suit: cores of one kind with one kernel, and caches of the same sizes.

    Parameters
    ----------
    domains : sequence of Domain
    """
    found: list[list[int]] = []
    for i, domain in enumerate(domains):
        for kind in found:
            first = domains[kind[0]]
            if first.kernel == domain.kernel and _are_alike(first, domain):
                kind.append(i)
                break
        else:
            found.append([i])
    return tuple(map(tuple, found))


def modelled(domain: Domain, kernel: str | None, workers: int) -> Blocking:
    """The blocks that the model of a domain's caches gives for a kernel and so many workers.

    Parameters
    ----------
    domain : Domain
    kernel : str or None
        As of `Blocking`.
    workers : int
    """
    ways = [(cache and cache.ways) or 0 for cache in domain.caches]
    own = [len({*cache.shared_by} & {*domain.cpus}) if cache and cache.shared_by else 0 for cache in domain.caches]
    sharing = [-(-workers * cpus // len(domain.cpus)) for cpus in own]
    depth, rows, cols = zip(
        *(
            kernels.blocking(_sizes(domain), ways, sharing, sizes.tile, itemsize)
            for sizes, itemsize in zip(sizes_of(domain, kernel), (4, 8), strict=True)
        ),
        strict=True,
    )
    return Blocking(kernel, depth, rows, cols)


def is_whole(kernel: str | None) -> bool:
    """Whether it is a library that has only a whole product to offer, whose blocks are its own business.

    Parameters
    ----------
    kernel : str or None
    """
    return kernel is None and kernels.kernel()["name"] == "openblas"


def sizes_of(domain: Domain, kernel: str | None) -> tuple[kernels.Sizes, kernels.Sizes]:
    """Of a kernel for a domain: its sizes for float32 and float64; ValueError for one that this processor does not have.

    Parameters
    ----------
    domain : Domain
    kernel : str or None
    """
    try:
        return kernels.sizes(kernel)
    except NotImplementedError:
        raise ValueError(
            f"the domain of cpus {ranges(domain.cpus)} has kernel {kernel!r}, which this processor does not have"
        ) from None


def _are_alike(one: Domain, other: Domain) -> bool:
    """Whether blocks that suit the one suit the other: cores of one kind, with caches of the same sizes."""
    return one.kind == other.kind and _sizes(one) == _sizes(other)


def _sizes(domain: Domain) -> list[int]:
    return [(cache and cache.bytes) or 0 for cache in domain.caches]


def _of_cpus(caches: Iterable[Cache], level: int) -> dict[int, Cache]:
    """The data cache of that level of each cpu; none where the system does not say who shares it."""
    own = [cache for cache in caches if cache.level == level and cache.type != "instruction"]
    return {cpu: cache for cache in own for cpu in cache.shared_by or ()}


def _of_several(cache: Cache, core: dict[int, int | None]) -> bool:
    """Whether cpus of more than one core share it; a cpu of an unknown core is by itself."""
    own = {(False, cpu) if core[cpu] is None else (True, core[cpu]) for cpu in cache.shared_by or () if cpu in core}
    return len(own) > 1
