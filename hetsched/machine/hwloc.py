"""Reads a machine from the XML of hwloc's lstopo (versions 2 and 3)."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Collection
from typing import Any, NamedTuple
from xml.parsers import expat

from .._base.regular import read_regular
from .cpus import Cache, Cpu
from .linux import MOST_CPUS, natural, split_types

_CORE_TYPES = {"IntelCore": "performance", "IntelAtom": "efficiency", "IntelLowPower": "efficiency"}
#: Most nested elements, and most objects of one cpu: several times as many as on any machine.
_DEEPEST, _MOST_OBJECTS = 256, 256
_CACHE_TYPES = {"0": "unified", "1": "data", "2": "instruction"}


class _Element(NamedTuple):
    kind: str  # type of an object, such as "Core"; otherwise the tag, such as "cpukind"
    attributes: dict[str, str]
    infos: dict[str, str]


#: Elements, each with the cpus in its cpuset that the file lists.
_Found = list[tuple[_Element, tuple[int, ...]]]


def read(path: str) -> dict[str, Any]:
    """The fields of a Topology, from a file."""
    data = read_regular(path)
    try:
        return facts(data)
    except ValueError as error:
        raise ValueError(
            f"{path} must be a directory or XML as lstopo of hwloc 2 or 3 writes it: {error}"
        ) from None


def here(counted: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Topology of this machine, completed by lstopo.

    `counted` are the fields found without hwloc. They are returned unchanged if lstopo gives no
    result.
    """
    masked = "affinity" not in counted["unknown"]
    try:
        found = facts(lstopo(), {cpu.number for cpu in counted["logical"]} if masked else None)
    except ValueError:
        return counted
    told = {
        name: found[name]
        for name in ("model", "logical", "online", "caches", "memory", "type_source")
        if found[name]
    }
    unknown = [name for name in counted["unknown"] if name != "type"]
    return {
        **counted,
        **told,
        "unknown": unknown + [name for name in ("online", "type") if name in found["unknown"]],
    }


@functools.cache
def lstopo() -> bytes:
    """XML of this machine, created once; empty if lstopo is missing or fails."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if program is None:
        return b""
    command = [program, "--of", "xml", "--disallowed", "--no-io"]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=True
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return b""


def facts(data: bytes, mask: Collection[int] | None = None) -> dict[str, Any]:
    """The fields of a Topology with the cpus that the file, and the mask if given, allow."""
    root, *elements = _elements(data)
    version = root.attributes.get("version", "1")
    if version.partition(".")[0] not in ("2", "3"):
        raise ValueError(f"its version is {version}")
    numbers = [_natural(e.attributes, "os_index") for e in elements if e.kind == "PU"]
    cpus = {cpu for cpu in numbers if cpu is not None and cpu < MOST_CPUS}
    if not numbers or len(cpus) < len(numbers):
        raise ValueError("not every PU has its own os_index" if numbers else "it has no PU")
    everything = sum(1 << cpu for cpu in cpus)
    cpusets = [_bitmap(e.attributes.get("cpuset") or "0x0") & everything for e in elements]
    if sum(bits.bit_count() for bits in cpusets) > _MOST_OBJECTS * len(cpus):
        raise ValueError("too many objects have the same cpus")
    found = list(zip(elements, map(_members, cpusets), strict=True))
    machine = elements[0].attributes
    given = set(_members(_bitmap(machine.get("allowed_cpuset") or "0xf...f") & everything))
    allowed = sorted(given if mask is None else given.intersection(mask))
    if not allowed:
        raise ValueError("none of its cpus is allowed")
    kinds: dict[int, dict[str, str]] = {cpu: {} for cpu in cpus}
    for element, own in found:
        for cpu in own if element.kind == "cpukind" else ():
            kinds[cpu] = element.attributes | element.infos
    types, type_source, compared = _types(kinds)
    siblings = {cpu: own for element, own in found if element.kind == "Core" for cpu in own}
    packages, nodes = _places(found, "Package"), _places(found, "NUMANode")
    complete = _bitmap(machine.get("complete_cpuset") or "0x0")
    online = (max(complete, 0) | everything).bit_count()
    return dict(
        model=next(
            (e.infos["CPUModel"].strip() for e in elements if e.infos.get("CPUModel")), None
        ),
        logical=tuple(
            Cpu(
                number=cpu,
                core=min(siblings[cpu]) if cpu in siblings else None,
                package=packages.get(cpu),
                node=nodes.get(cpu),
                siblings=siblings.get(cpu),
                type=types.get(cpu, "unknown"),
                capacity=_natural(kinds[cpu], "LinuxCapacity") or None,
                max_frequency=(_natural(kinds[cpu], "FrequencyMaxMHz") or 0) * 10**6 or None,
                base_frequency=(_natural(kinds[cpu], "FrequencyBaseMHz") or 0) * 10**6 or None,
            )
            for cpu in allowed
        ),
        online=online,
        caches=_caches(found, allowed),
        memory=sum(
            _natural(e.attributes, "local_memory") or 0 for e in elements if e.kind == "NUMANode"
        )
        or None,
        type_source=type_source,
        quota=None,
        quota_source="",
        cpuset_source="hwloc allowed_cpuset" if len(given) < len(cpus) else "",
        load=None,
        unknown=[
            *(["online"] if online > len(cpus) else []),  # offline, or hidden from lstopo
            "affinity",
            *([] if compared else ["type"]),
            "quota",
        ],
    )


def _of_all(kinds: dict[int, dict[str, str]], name: str) -> dict[int, int]:
    """The number of this name for each cpu; empty unless all cpus have it."""
    found = {cpu: n for cpu in kinds if (n := _natural(kinds[cpu], name)) is not None}
    return found if len(found) == len(kinds) else {}


def _types(kinds: dict[int, dict[str, str]]) -> tuple[dict[int, str], str, bool]:
    """Types of the cpus, the source that tells them apart, and whether there is any source."""
    named = {
        cpu: _CORE_TYPES[kind["CoreType"]]
        for cpu, kind in kinds.items()
        if kind.get("CoreType") in _CORE_TYPES
    }
    if len(set(named.values())) == 2:
        return named, "hwloc CoreType", True
    capacities = _of_all(kinds, "LinuxCapacity")
    ranks = _of_all(kinds, "forced_efficiency")
    frequencies = _of_all(kinds, "FrequencyMaxMHz")
    if capacities:
        ranks = {}  # on Linux they follow from the capacities and hide their gaps
    best = max(ranks.values(), default=0)
    for source, speeds in (
        ("hwloc LinuxCapacity", capacities),
        ("hwloc efficiency", {cpu: int(rank == best) for cpu, rank in ranks.items()}),
        ("hwloc FrequencyMaxMHz, a hint", frequencies),
    ):
        if types := split_types(speeds):
            return types, source, True
    return {}, "", bool(capacities or ranks or frequencies)


def _places(found: _Found, kind: str) -> dict[int, int]:
    """Number of each cpu's object of a kind: the smallest object, among equal ones the first."""
    own = [(element, cpus) for element, cpus in found if element.kind == kind]
    numbers = [
        n for element, _ in own if (n := _natural(element.attributes, "os_index")) is not None
    ]
    if len(numbers) < len(own):  # on Windows packages have no numbers
        numbers = list(range(len(own)))
    order = sorted(
        ((len(cpus), number, cpus) for number, (_, cpus) in zip(numbers, own, strict=True)),
        reverse=True,
    )
    return {cpu: number for _, number, cpus in order for cpu in cpus}


def _caches(found: _Found, allowed: Collection[int]) -> tuple[Cache, ...]:
    caches = []
    for element, cpus in found:
        if re.fullmatch(r"L[1-9]i?Cache", element.kind) and not set(cpus).isdisjoint(allowed):
            level = int(element.kind[1])
            kind = _CACHE_TYPES.get(element.attributes.get("cache_type", ""), "unified")
            size, line, ways = (
                _natural(element.attributes, f"cache_{name}") or None
                for name in ("size", "linesize", "associativity")
            )
            caches.append(Cache(level, kind, size, line, cpus, ways))
    return tuple(sorted(caches, key=lambda cache: (cache.level, cache.type, cache.shared_by)))


# ---- text ----------------------------------------------------------------------------------------


def _elements(data: bytes) -> list[_Element]:
    """All elements in the order of the file. Infos are stored in their elements."""
    found: list[_Element] = []
    around: list[_Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if not around and tag != "topology":
            raise ValueError(f"its root is <{tag[:40]}>, not <topology>")
        if len(around) == _DEEPEST:
            raise ValueError(f"there are more than {_DEEPEST} elements within each other")
        if tag == "info":
            around[-1].infos[attributes.get("name", "")] = attributes.get("value", "")
        element = _Element(attributes.get("type", "") if tag == "object" else tag, attributes, {})
        around.append(element)
        if tag != "info":
            found.append(element)

    def end(_: str) -> None:
        around.pop()

    def doctype(name: str, system: str | None, public: str | None, internal: int) -> None:
        # Internal definitions could expand to huge texts. hwloc's own DTD is a separate file, which
        # is not read.
        if internal:
            raise ValueError("it has definitions of its own in its DOCTYPE")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError) as error:  # LookupError: unknown encoding
        raise ValueError(str(error)) from None
    return found


def _bitmap(text: str) -> int:
    """The number of a bitmap such as "0x1,,0xffffffff": words of 32 bits, the lowest one last.

    Negative if all higher bits are ones, as in "0xf...f,0x0".
    """
    words = text.split(",")
    ones = words[0] == "0xf...f"
    if not all(re.fullmatch(r"(0x[0-9a-f]{1,8})?", word) for word in words[ones:]):
        raise ValueError(f"{text[:40]!r} is no bitmap")
    bits = int("0" + "".join(word[2:].zfill(8) for word in words[ones:]), 16)
    return bits - (1 << 32 * (len(words) - 1)) if ones else bits


def _members(bits: int) -> tuple[int, ...]:
    return tuple(one.start() for one in re.finditer("1", f"{bits:b}"[::-1]))


def _natural(values: dict[str, str], name: str) -> int | None:
    return natural(values.get(name, ""))
