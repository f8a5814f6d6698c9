"""Domains of a machine: cpus of one kind that share a cache. Block sizes for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._engine import kernels
from .._engine.kernels import Blocking
from .cpus import Cache, Cpu
from .linux import ranges


@dataclass(frozen=True)
class Domain:
    """Cpus of one kind of core and one NUMA node that share a cache.

    The cache is the L3, or without an L3 an L2 of several cores.

    Attributes
    ----------
    cpus : tuple of int
        Numbers of the cpus that the process may use.
    kind : str
        "performance" or "efficiency"; "unknown" if the types cannot be told apart.
    node : int or None
        NUMA node.
    l1d, l2, l3 : Cache or None
        Caches of the first cpu.
    kernel : str or None
        Instruction set of the micro-kernels that a description names: "avx512", "avx2", "neon" or
        "plain". None for the kernel in use.
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
        """(l1d, l2, l3)."""
        return self.l1d, self.l2, self.l3


def found(logical: Sequence[Cpu], caches: Iterable[Cache]) -> tuple[Domain, ...]:
    """The domains of cpus, by their caches, in the order of `in_order`."""
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
        domains.append(
            Domain(tuple(cpu.number for cpu in cpus), cpus[0].type, cpus[0].node, l1d, l2, l3)
        )
    return in_order(domains)


def in_order(domains: Iterable[Domain]) -> tuple[Domain, ...]:
    """Sort domains by number, with efficiency cores last."""
    return tuple(sorted(domains, key=lambda domain: (domain.kind == "efficiency", domain.cpus)))


def blocking_of(
    domains: Sequence[Domain],
    sharing: Sequence[int],
    measured: Sequence[Blocking | None] | None = None,
    usual: Domain | None = None,
) -> tuple[Blocking, ...]:
    """The blocks of each domain.

    Measured blocks come first. Without a measurement the usual domain keeps the kernel's own
    blocks, which were measured on the usual core, and so does every domain like it. The other
    domains get the blocks of the cache model (`hs_blocking`).

    Parameters
    ----------
    domains : sequence of Domain
    sharing : sequence of int
        Number of workers in each domain.
    measured : sequence of Blocking or None, optional
        Measured blocks of each domain, or None.
    usual : Domain, optional
        The usual domain. Default: the first one.

    Raises
    ------
    ValueError
        If this processor does not have a kernel.
    """
    blocks = []
    measured = measured or [None] * len(domains)
    usual = usual or domains[0]
    for domain, workers, own in zip(domains, sharing, measured, strict=True):
        sizes_of(domain, domain.kernel if own is None else own.kernel)
        if own is not None:
            blocks.append(own)
        elif is_whole(domain.kernel) or _are_alike(domain, usual):
            blocks.append(Blocking(domain.kernel))
        else:
            blocks.append(modelled(domain, domain.kernel, workers))
    return tuple(blocks)


def kinds(domains: Sequence[Domain]) -> tuple[tuple[int, ...], ...]:
    """Group the numbers of domains that the same kernel and blocks suit.

    These have the same kind of core, the same kernel, and caches of the same sizes.

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
    """The blocks by the cache model, for a domain with a kernel and a number of workers.

    Parameters
    ----------
    domain : Domain
    kernel : str or None
        See `Blocking`.
    workers : int
    """
    ways = [(cache and cache.ways) or 0 for cache in domain.caches]
    own = [
        len({*cache.shared_by} & {*domain.cpus}) if cache and cache.shared_by else 0
        for cache in domain.caches
    ]
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
    """Whether the kernel is a library that offers only whole products, with its own blocks.

    Parameters
    ----------
    kernel : str or None
    """
    return kernel is None and kernels.kernel()["name"] == "openblas"


def sizes_of(domain: Domain, kernel: str | None) -> tuple[kernels.Sizes, kernels.Sizes]:
    """Sizes of a kernel for float32 and float64.

    Raises ValueError, which names the domain, if this processor does not have the kernel.

    Parameters
    ----------
    domain : Domain
    kernel : str or None
    """
    try:
        return kernels.sizes(kernel)
    except NotImplementedError:
        raise ValueError(
            f"the domain of cpus {ranges(domain.cpus)} has kernel {kernel!r}, which this processor"
            " does not have"
        ) from None


def _are_alike(one: Domain, other: Domain) -> bool:
    """Whether two domains suit the same blocks: one kind of core, and caches of the same sizes."""
    return one.kind == other.kind and _sizes(one) == _sizes(other)


def _sizes(domain: Domain) -> list[int]:
    return [(cache and cache.bytes) or 0 for cache in domain.caches]


def _of_cpus(caches: Iterable[Cache], level: int) -> dict[int, Cache]:
    """The data cache of each cpu on a level. Caches with unknown sharing are left out."""
    own = [cache for cache in caches if cache.level == level and cache.type != "instruction"]
    return {cpu: cache for cache in own for cpu in cache.shared_by or ()}


def _of_several(cache: Cache, core: dict[int, int | None]) -> bool:
    """Whether several cores share the cache. A cpu of an unknown core counts as a core."""
    own = {
        (False, cpu) if core[cpu] is None else (True, core[cpu])
        for cpu in cache.shared_by or ()
        if cpu in core
    }
    return len(own) > 1
