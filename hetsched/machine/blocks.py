"""Kernel and blocks of the workers of this machine.

They are the measured ones if there are any, otherwise the ones of the cache model or of the kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._engine import kernels, run
from .._engine.kernels import Blocking
from ..plan import plain
from ..platform import Platform
from . import domains
from .block_search import TYPES, Kind, Shape, Timer, search
from .domains import Domain
from .kept import header, keep, kept_record
from .linux import ranges
from .topology import Topology

_KIND = "blocks"  # of kept records


@dataclass(frozen=True)
class MeasuredBlocks:
    """The result of `measured`.

    Attributes
    ----------
    measured : float
        Time of the measurement, in seconds since 1970.
    whole : bool
        Whether there was time to try everything.
    of : dict
        Number of a domain of the topology -> its blocks.
    """

    measured: float
    whole: bool
    of: dict[int, Blocking]

    @property
    def age(self) -> float:
        """Seconds since the measurement."""
        return time.time() - self.measured

    def record(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        own = [{"domain": i, **plain(asdict(x))} for i, x in self.of.items()]
        return {"measured": self.measured, "whole": self.whole, "blocks": own}

    @classmethod
    def of_record(cls, record: Any) -> MeasuredBlocks:
        """The inverse of `record`. A wrong record raises one of several exceptions."""
        found: dict[int, Blocking] = {}
        for entry in record["blocks"]:
            own = dict(entry)
            domain = int(own.pop("domain"))
            found[domain] = Blocking(**own)
            kernels.sizes(found[domain].kernel)
        return cls(float(record["measured"]), bool(record["whole"]), found)


def kept(host: Topology) -> MeasuredBlocks | None:
    """The blocks measured on this machine with these kernels and this version, or None.

    Their age does not matter: block sizes do not become outdated.
    """
    record = kept_record(host, _KIND)
    try:
        found = None if record is None else MeasuredBlocks.of_record(record)
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError, NotImplementedError):
        return None  # damaged: treated as not measured
    return found if found is not None and found.of.keys() <= set(range(len(host.domains))) else None


def gangs(
    host: Topology, members: Sequence[int], given: Platform | None = None
) -> tuple[tuple[Blocking, ...], tuple[int, ...]] | tuple[None, None]:
    """The blocks of each domain with workers, and the number of each worker's domain among these.

    Parameters
    ----------
    host : Topology
    members : sequence of int
        The domain of each worker; see `Topology.members`.
    given : Platform, optional
        Platform of these workers. If all workers of a domain have the same blocks in it, these
        blocks come before measured ones.

    Returns
    -------
    (tuple of Blocking, tuple of int), or (None, None)
        (None, None) if all workers are in one domain with the kernel in use and its own blocks.
        Then all of them are one gang.

    Raises
    ------
    ValueError
        If this processor does not have a kernel.
    """
    used = sorted(set(members))
    found = kept(host)
    measured = [_given(given, members, i) or (found and found.of.get(i)) or None for i in used]
    blocks = domains.blocking_of(
        [host.domains[i] for i in used],
        [members.count(i) for i in used],
        measured,
        host.domains[0],
    )
    if blocks == (Blocking(),):
        return None, None
    return blocks, tuple(used.index(i) for i in members)


def everywhere(host: Topology) -> Blocking | None:
    """The blocks of workers that are not pinned: the domains' blocks if these are equal.

    Otherwise None, for the kernel's own blocks.
    """
    found = set(gangs(host, host.members(len(host.places)))[0] or ())
    return found.pop() if len(found) == 1 else None


def _given(platform: Platform | None, members: Sequence[int], domain: int) -> Blocking | None:
    """The blocks that a platform gives for a domain of this machine, if they are unique."""
    if platform is None:
        return None
    own = {
        platform.blocks.get(name)
        for name, i in zip(platform.domains, members, strict=True)
        if i == domain
    }
    return own.pop() if len(own) == 1 else None


# ---- text ----


def describe(host: Topology) -> str:
    """Kernel and blocks of each domain with workers, and their source, for `hetsched info`."""
    found = kept(host)
    members = host.members(host.worth)
    blocks, of = gangs(host, members)
    if blocks is None or of is None:
        blocks, of = (Blocking(),), (0,) * len(members)
    texts = []
    for i, own in enumerate(blocks):
        cpus = [cpu for cpu, domain in zip(host.places, of, strict=False) if domain == i]
        domain = members[of.index(i)]
        if found is not None and domain in found.of:
            source = f"measured on {_date(found.measured)}"
        else:
            source = (
                "by the model of its caches"
                if any(own.depth + own.rows + own.cols)
                else "the kernel's own"
            )
        where = f"cpu{'s' * (len(cpus) > 1)} {ranges(cpus)}: " if len(blocks) > 1 else ""
        texts.append(f"{where}{text_of(own)} ({source})")
    return "; ".join(texts)


def text_of(blocks: Blocking) -> str:
    """Text such as "kernel avx2, float32 depth 384, rows 192, columns 2048, float64 depth ..."."""
    own = kernels.sizes(blocks.kernel)
    parts = [f"kernel {blocks.kernel or 'as above'}"]
    for t, name in enumerate(TYPES):
        sizes = zip((blocks.depth[t], blocks.rows[t], blocks.cols[t]), own[t].blocks, strict=True)
        depth, rows, cols = (size or usual for size, usual in sizes)
        parts.append(f"{name} depth {depth}, rows {rows}, columns {cols}")
    return ", ".join(parts)


def table_of(found: MeasuredBlocks) -> str:
    """Lines for `MeasuredPlatform.table`."""
    late = "" if found.whole else "; there was not time for all that was to be tried"
    lines = [f"  domain {i}: {text_of(own)}" for i, own in found.of.items()]
    return "\n".join([f"blocks, measured on {_date(found.measured)}{late}", *lines])


def _date(when: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(when))


# ---- measuring ----


def measured(host: Topology, seconds: float) -> MeasuredBlocks:
    """Find the best kernel and blocks for each kind of domain with workers, and keep them.

    Parameters
    ----------
    host : Topology
    seconds : float
        Approximate upper limit for each kind.
    """
    begin, members = time.time(), host.members(host.worth)
    used = sorted(set(members))
    of_kinds = [
        tuple(used[i] for i in kind) for kind in domains.kinds([host.domains[i] for i in used])
    ]
    teams = [[w for w, domain in enumerate(members) if domain in kind] for kind in of_kinds]
    usual = domains.blocking_of([host.domains[i] for i in used], [members.count(i) for i in used])
    kinds = [
        _kind(host.domains[kind[0]], usual[used.index(kind[0])], len(team), members.count(kind[0]))
        for kind, team in zip(of_kinds, teams, strict=True)
    ]
    until = run.clock() + seconds * len(kinds)
    found = search(kinds, _products(host, members, teams), lambda: run.clock() > until)
    best = {
        i: _with_zeros(blocks)
        for kind, blocks in zip(of_kinds, found.blocks, strict=True)
        for i in kind
    }
    result = MeasuredBlocks(begin, found.whole, dict(sorted(best.items())))
    keep({**header(host, _KIND), **result.record()})
    return result


def _kind(domain: Domain, usual: Blocking, workers: int, sharing: int) -> Kind:
    """What to try for a kind: kernels, and blocks to begin with, the ones in use first.

    The kernels are the one that a description names, or the one in use and each of our own sets.
    """
    names: list[str | None] = [domain.kernel]
    if domain.kernel is None:
        in_use = kernels.kernel()
        names += [
            name
            for name in kernels.SETS
            if _is_there(name) and (in_use["name"], in_use["set"]) != ("c", name)
        ]
    starts: dict[str | None, Sequence[Blocking]] = {}
    tiles: dict[str | None, Sequence[tuple[int, int]] | None] = {}
    for name in names:
        own = _without_zeros(Blocking(name))
        tiles[name], starts[name] = None, (own,)
        if not domains.is_whole(name):
            model = _without_zeros(domains.modelled(domain, name, sharing))
            first = _without_zeros(usual) if name == usual.kernel else own
            starts[name] = tuple(dict.fromkeys((first, own, model)))
            tiles[name] = tuple(sizes.tile for sizes in kernels.sizes(name))
    return Kind(workers, starts, tiles)


def _is_there(name: str) -> bool:
    try:
        kernels.sizes(name)
    except NotImplementedError:
        return False
    return True


def _without_zeros(blocks: Blocking) -> Blocking:
    return _each_size(blocks, lambda size, own: size or own)


def _with_zeros(blocks: Blocking) -> Blocking:
    """Replace sizes that are the kernel's own by zeros.

    If all sizes are zero, a pool is made as without a measurement.
    """
    return _each_size(blocks, lambda size, own: 0 if size == own else size)


def _each_size(blocks: Blocking, change: Callable[[int, int], int]) -> Blocking:
    own = kernels.sizes(blocks.kernel)
    given = zip(blocks.depth, blocks.rows, blocks.cols, strict=True)
    changed = [tuple(map(change, sizes, own[t].blocks)) for t, sizes in enumerate(given)]
    depth, rows, cols = zip(*changed, strict=True)
    return Blocking(blocks.kernel, depth, rows, cols)


def _products(host: Topology, members: Sequence[int], teams: Sequence[Sequence[int]]) -> Timer:
    """A function that times products by all workers of a kind, each on its cpu.

    The latest pools and operands are cached.
    """
    pins = host.pins(len(members))

    @lru_cache(maxsize=2 * len(teams))
    def pool(kind: int, blocks: Blocking) -> run.Threads:
        own = [members[w] for w in teams[kind]]
        used = sorted(set(own))
        cores = None if pins is None else [pins[w] for w in teams[kind]]
        return run.Threads(len(own), cores, [blocks] * len(used), [used.index(i) for i in own])

    operands = lru_cache(maxsize=2)(_operands)

    def timer(kind: int, dtype: str, blocks: Blocking, shape: Shape) -> float:
        threads, (a, b, c) = pool(kind, blocks), operands(dtype, shape)
        start = run.clock()
        run.gemm(threads, a, b, c, 1.0, 0.0, None, None)
        return run.clock() - start

    return timer


def _operands(dtype: str, shape: Shape) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    m, k, n = shape
    return np.ones((m, k), dtype), np.ones((k, n), dtype), np.zeros((m, n), dtype)
