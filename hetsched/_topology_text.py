"""A Topology in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ._linux import ranges

if TYPE_CHECKING:
    from .cpus import Cache, Cpu
    from .topology import Topology


def describe(t: Topology) -> list[tuple[str, str]]:
    """(label, text) lines."""
    own = f"all {count_of(t.cpus, 'online cpu')}" if t.cpus == t.online else f"{t.cpus} of {t.online} online cpus"
    places = [("package", t.packages), ("NUMA node", t.nodes)]
    where = [count_of(count, name) if count else f"{name}s unknown" for name, count in places]
    size = "size unknown" if t.memory is None else f"{t.memory / 2**30:.4g} GiB"
    on = "" if "cpu numbers" in t.unknown else f"; on {_cpus_text(t.places[: t.worth])}"
    lines = [
        ("processor", t.model or "unknown"),
        ("affinity", f"{own} ({ranges(t.allowed)})" + (f", {t.cpuset_source}" if t.cpuset_source else "")),
        ("cores", _cores_text(t)),
        ("caches", _caches_text(t.caches)),
        ("memory", f"{', '.join([size, *where])}{_nodes_text(t.logical)}"),
        ("quota", _quota_text(t)),
        ("thread limit", "none" if t.thread_limit is None else f"{t.thread_limit} ({t.thread_limit_source})"),
        ("load", _load_text(t)),
        ("workers", f"{t.worth} worth starting: {t.why}{on}"),
    ]
    return [*lines, ("unknown", ", ".join(t.unknown))] if t.unknown else lines


def count_of(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _cpus_text(cpus: Sequence[int]) -> str:
    return f"cpu{'' if len(cpus) == 1 else 's'} {ranges(cpus)}"


def types_text(types: dict[str, int]) -> str:
    return ", ".join(f"{count} {'of unknown type' if kind == 'unknown' else kind}" for kind, count in types.items())


def _spread(values: Iterable[float]) -> str:
    low, high = min(found := list(values)), max(found)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _cores_text(t: Topology) -> str:
    """Such as "6: 2 performance (cpus 0-3, 2 threads each, max 5 GHz), 4 efficiency (cpus 4-7, max 3.8 GHz)"."""
    kinds = []
    for kind, count in t.types.items():
        groups = [group for group in t.groups() if group[0].type == kind]
        cpus = [cpu for group in groups for cpu in group]
        parts = [_cpus_text([cpu.number for cpu in cpus])]
        if all(cpu.core is not None for cpu in cpus):
            threads = _spread(len(group) for group in groups)
            parts.append(f"{threads} thread{'' if threads == '1' else 's'} each")
        capacities = [cpu.capacity for cpu in cpus if cpu.capacity]
        if capacities and len(t.types) > 1:
            parts.append(f"capacity {_spread(capacities)}")
        for label, name in (("max", "max_frequency"), ("base", "base_frequency")):
            hertz = [found for cpu in cpus if (found := getattr(cpu, name))]
            if hertz:
                parts.append(f"{label} {_spread(round(h / 1e9, 2) for h in hertz)} GHz")
        name = "" if len(t.types) == 1 and kind == "unknown" else f" {types_text({kind: count}).partition(' ')[2]}"
        kinds.append(f"{count}{name} ({', '.join(parts)})")
    total = "" if len(kinds) == 1 else f"{t.cores or 'unknown'}: "
    source = f"; told apart by {t.type_source}" if t.type_source else ""
    return f"{'unknown, cpus: ' if t.cores is None and not total else ''}{total}{', '.join(kinds)}{source}"


def _caches_text(caches: Sequence[Cache]) -> str:
    """Such as "L1d 2 x 48 KiB (2 cpus each), 4 x 32 KiB; L3 12 MiB (cpus 0-7)"; without those of instructions."""

    def key(c: Cache) -> tuple[int, str, int | None, int]:
        return c.level, c.type, c.bytes, len(c.shared_by or ())

    levels: dict[str, Counter[str]] = {}
    counts = Counter(map(key, caches))
    for cache in caches:
        if cache.type == "instruction":
            continue
        size = "unknown size" if cache.bytes is None else f"{cache.bytes / 2**20:.4g} MiB"
        if cache.bytes is not None and cache.bytes < 2**20:
            size = f"{cache.bytes / 2**10:.4g} KiB"
        if cache.shared_by is not None and counts[key(cache)] == 1:
            size += f" ({_cpus_text(cache.shared_by)})"
        elif cache.shared_by is not None and len(cache.shared_by) > 1:
            size += f" ({len(cache.shared_by)} cpus each)"
        levels.setdefault(f"L{cache.level}{'d' if cache.type == 'data' else ''}", Counter())[size] += 1
    texts = [f"{k} {', '.join(s if n == 1 else f'{n} x {s}' for s, n in sizes.items())}" for k, sizes in levels.items()]
    return "; ".join(texts) or "unknown"


def _nodes_text(logical: Sequence[Cpu]) -> str:
    nodes: dict[int, list[int]] = {}
    for cpu in logical:
        if cpu.node is not None:
            nodes.setdefault(cpu.node, []).append(cpu.number)
    if len(nodes) < 2:
        return ""
    return ": " + ", ".join(f"node {node} ({_cpus_text(cpus)})" for node, cpus in sorted(nodes.items()))


def _quota_text(t: Topology) -> str:
    if t.quota is None:
        return "unknown" if "quota" in t.unknown else "none"
    return f"{t.quota:g} cpus ({t.quota_source})"


def _load_text(t: Topology) -> str:
    text = "unknown" if t.load is None else f"{', '.join(f'{load:g}' for load in t.load)} threads over 1, 5, 15 minutes"
    busy = [cpu for cpu in t.logical if cpu.busy is not None]
    return text + (f"; busy now: {', '.join(f'cpu {cpu.number} {cpu.busy:.0%}' for cpu in busy)}" if busy else "")
