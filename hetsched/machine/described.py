"""Descriptions of machines in TOML: files of hetsched that list the domains."""

from __future__ import annotations

from typing import Any

from .._base import check
from .._base.toml import read_toml
from .._engine.kernels import SETS
from . import domains
from .cpus import Cache, Cpu
from .domains import Domain
from .linux import cpu_list

KINDS = ("performance", "efficiency", "unknown")
_CACHES = ("l1d", "l2", "l3")
_KEYS = ("cpus", "kind", "kernel", "node", *_CACHES, *(f"{name}_ways" for name in _CACHES))
_MOST_CPUS, _MOST_WORKERS = 65536, 4096  # cpu numbers that the engine can pin to; workers of a pool


def read(path: str) -> dict[str, Any]:
    """The fields of a Topology, from a file."""
    try:
        return facts(read_toml(path))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def facts(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Topology, from the content of a file."""
    check.keys(content, ("model", "domain"), " in a description of a machine")
    model, tables = content.get("model"), content.get("domain")
    if not isinstance(model, str | None):
        raise TypeError(f"model must be a string, got {model!r:.60}")
    if not isinstance(tables, list) or not tables:
        raise ValueError("a description of a machine needs tables [[domain]]")
    own: list[Domain] = []
    taken: dict[int, int] = {}
    for i, table in enumerate(tables):
        try:
            domain = _domain(table)
        except (ValueError, TypeError) as error:
            raise ValueError(f"domain {i}: {error}") from None
        for cpu in domain.cpus:
            if taken.setdefault(cpu, i) != i:
                raise ValueError(f"domain {i}: cpus has {cpu}, which domain {taken[cpu]} has too")
        own.append(domain)
    if len(taken) > _MOST_WORKERS:
        raise ValueError(f"the domains have {len(taken)} cpus, more than {_MOST_WORKERS}")
    logical = [
        Cpu(number=cpu, core=cpu, node=domain.node, siblings=(cpu,), type=domain.kind)
        for domain in own
        for cpu in domain.cpus
    ]
    return dict(
        model=model,
        logical=tuple(sorted(logical, key=lambda cpu: cpu.number)),
        online=len(logical),
        caches=tuple(cache for domain in own for cache in _caches(domain)),
        memory=None,
        type_source="the description" if len({domain.kind for domain in own}) > 1 else "",
        quota=None,
        quota_source="",
        cpuset_source="",
        load=None,
        given_domains=domains.in_order(own),
        unknown=[
            "affinity",
            *(["type"] if any(domain.kind == "unknown" for domain in own) else []),
            "quota",
        ],
    )


def _domain(table: Any) -> Domain:
    if not isinstance(table, dict):
        raise TypeError(f"it must be a table, got {table!r:.60}")
    check.keys(table, _KEYS)
    text = table.get("cpus")
    cpus = cpu_list(text) if isinstance(text, str) else ()
    if not cpus or cpus[-1] >= _MOST_CPUS:
        raise ValueError(
            f'cpus must be a list such as "0-3,8", of numbers below {_MOST_CPUS}, got {text!r:.60}'
        )
    kind = check.choice("kind", table.get("kind", "unknown"), KINDS)
    kernel = None if "kernel" not in table else check.choice("kernel", table["kernel"], SETS)
    node = None if "node" not in table else check.integer("node", table["node"], low=0)
    last = next((name for name in reversed(_CACHES[1:]) if name in table), None)
    l1d, l2, l3 = (_cache(name, table, cpus if name == last else cpus[:1]) for name in _CACHES)
    return Domain(cpus, kind, node, l1d, l2, l3, kernel)


def _cache(name: str, table: dict[str, Any], cpus: tuple[int, ...]) -> Cache | None:
    """The cache of the first cpu, from the keys `name` and `name`_ways."""
    ways = (
        None
        if f"{name}_ways" not in table
        else check.integer(f"{name}_ways", table[f"{name}_ways"], low=1, high=2**31 - 1)
    )
    if name not in table:
        if ways is not None:
            raise ValueError(f"{name}_ways needs {name}, its bytes")
        return None
    size = check.integer(name, table[name], low=1, high=2**40)
    return Cache(int(name[1]), "data" if name == "l1d" else "unified", size, None, cpus, ways)


def _caches(domain: Domain) -> list[Cache]:
    """All caches of a domain, from the caches of its first cpu."""
    found = []
    for cache in domain.caches:
        if cache is not None and cache.shared_by == domain.cpus:
            found.append(cache)
        elif cache is not None:
            found += [
                Cache(cache.level, cache.type, cache.bytes, cache.line, (cpu,), cache.ways)
                for cpu in domain.cpus
            ]
    return found
