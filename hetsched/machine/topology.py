"""What this process may run on: cpus, cores and their types, caches, NUMA nodes, quota, and the workers worth starting."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from .._base import check
from .._base.table import table
from ..plan import plain
from . import described, domains, hwloc, linux, macos
from .cpus import Cache, Cpu
from .domains import Domain
from .linux import natural, ranges


@dataclass(frozen=True, repr=False)
class Topology:
    """What the process may use; what could not be found out is None, and named in `unknown`.

    Attributes
    ----------
    model : str or None
        The processor's name.
    logical : tuple of Cpu
        The logical cpus that the process may use (affinity mask and cpuset), by number.
    online : int
        How many the system has.
    caches : tuple of Cache
        Of the allowed cpus, each once, by level.
    memory : int or None
        Bytes of main memory, used or not.
    type_source : str
        What tells the types of core apart; "" where nothing does.
    quota : float or None
        Cpus' worth of the tightest cgroup quota, over the process's groups and all their ancestors; None without a quota.
    quota_source, cpuset_source : str
        Such as "cgroup v2 /a/b cpu.max"; "" if none was found.
    thread_limit : int or None
        From the environment: HETSCHED_NUM_THREADS, or else OMP_NUM_THREADS; None if neither is set.
    thread_limit_source : str
        The variable that it came from.
    load : tuple of float or None
        Mean number of runnable threads on the whole system over 1, 5 and 15 minutes.
    unknown : tuple of str
        What the system did not say, of at least one cpu or cache.
    given_domains : tuple of Domain
        Those of a description in TOML; () elsewhere.
    described : str
        The file that HETSCHED_TOPOLOGY names; "" for the machine itself.
    absent : tuple of int
        Cpus of that file that are not this process's to use.
    """

    model: str | None
    logical: tuple[Cpu, ...]
    online: int
    caches: tuple[Cache, ...]
    memory: int | None
    type_source: str
    quota: float | None
    quota_source: str
    cpuset_source: str
    thread_limit: int | None
    thread_limit_source: str
    load: tuple[float, ...] | None
    unknown: tuple[str, ...]
    given_domains: tuple[Domain, ...] = ()
    described: str = ""
    absent: tuple[int, ...] = ()

    @property
    def allowed(self) -> tuple[int, ...]:
        """The numbers of the cpus."""
        return tuple(cpu.number for cpu in self.logical)

    @property
    def cpus(self) -> int:
        """How many logical cpus the process may use."""
        return len(self.logical)

    @property
    def cores(self) -> int | None:
        """How many physical cores these are; None if the system does not say."""
        return len(self.groups()) if all(cpu.core is not None for cpu in self.logical) else None

    @property
    def packages(self) -> int | None:
        """On how many sockets."""
        return _distinct(cpu.package for cpu in self.logical)

    @property
    def nodes(self) -> int | None:
        """On how many NUMA nodes."""
        return _distinct(cpu.node for cpu in self.logical)

    @property
    def types(self) -> dict[str, int]:
        """Physical cores of each type, the fast ones first; a cpu of an unknown core counts as one."""
        counts = Counter(group[0].type for group in self.groups())
        return {kind: counts[kind] for kind in ("performance", "efficiency", "unknown") if counts[kind]}

    @property
    def worth(self) -> int:
        """How many workers are worth starting: one for each core, not more than the quota and the thread limit, at least 1.

        Two SMT siblings share the units that multiply; a second worker on a core gains little and slows the first. Of a quota
        that is no whole number the rest is worth a worker if it adds a tenth: under 1.5 cpus two do 1.5 times the work of one.
        """
        return self._limited(len(self.groups()))

    @property
    def why(self) -> str:
        """Why so many workers, in words."""
        cores = self.cores
        text = f"{self.cpus} cpus (cores unknown)" if cores is None else count_of(cores, "core")
        if self.worth == len(self.groups()):
            return f"one for each of {text}" if self.worth > 1 else text
        if self.quota is not None and _of_quota(self.quota) <= self.worth:
            return f"{text}, but a quota of {self.quota:g} cpus ({self.quota_source})"
        return f"{text}, but {self.thread_limit_source} says {self.thread_limit}"

    @property
    def places(self) -> tuple[int, ...]:
        """The cpu to pin each worker to: one of every core first, performance cores before others, then the second siblings, and
        so on; as many as mask, quota and thread limit allow."""
        turn = {cpu.number: i for group in self.groups() for i, cpu in enumerate(group)}
        order = sorted(self.logical, key=lambda cpu: (turn[cpu.number], cpu.type == "efficiency", cpu.number))
        return tuple(cpu.number for cpu in order)[: self._limited(self.cpus)]

    def pins(self, workers: int) -> tuple[int, ...] | None:
        """The first `places`, where so many workers can be pinned to them.

        Parameters
        ----------
        workers : int

        Returns
        -------
        tuple of int, or None
            None where there are fewer places, or one of them is in HETSCHED_TOPOLOGY only: then nobody is pinned.
        """
        own = self.places[: check.integer("workers", workers, low=0)]
        return own if len(own) == workers and not {*own} & {*self.absent} else None

    def domain_of(self, cpu: int) -> int:
        """Which of `domains` a cpu is in; ValueError for one that is in none.

        Parameters
        ----------
        cpu : int

        Examples
        --------
        >>> import hetsched as hs
        >>> here = hs.topology()
        >>> here.allowed[0] in here.domains[here.domain_of(here.allowed[0])].cpus
        True
        """
        found = self._domain_of.get(check.integer("cpu", cpu, low=0))
        if found is None:
            raise ValueError(f"cpu must be one of {ranges(self.allowed)}, got {cpu!r}")
        return found

    @cached_property
    def _domain_of(self) -> dict[int, int]:
        return {cpu: i for i, domain in enumerate(self.domains) for cpu in domain.cpus}

    def members(self, workers: int) -> tuple[int, ...]:
        """Which of `domains` each of the first `places` is in.

        Parameters
        ----------
        workers : int
            Not more than there are places.
        """
        workers = check.integer("workers", workers, low=0, high=len(self.places))
        return tuple(self.domain_of(cpu) for cpu in self.places[:workers])

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The cpus by what they share: those of one kind of core with one L3 or, where there is none, one L2 of several cores."""
        if self.given_domains:
            return self.given_domains
        if "cpu numbers" in self.unknown:  # workers are not pinned to labels
            return (Domain(self.allowed),)
        return domains.found(self.logical, self.caches)

    def groups(self) -> list[list[Cpu]]:
        """The allowed cpus by physical core; one of an unknown core is by itself."""
        groups: dict[tuple[bool, int], list[Cpu]] = {}
        for cpu in self.logical:
            key = (False, cpu.number) if cpu.core is None else (True, cpu.core)
            groups.setdefault(key, []).append(cpu)
        return list(groups.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        totals = ("cpus", "cores", "packages", "nodes", "types", "worth", "why")
        found = asdict(self) | {"domains": [asdict(domain) for domain in self.domains]}
        del found["given_domains"]
        return {"type": "Topology", **{name: getattr(self, name) for name in totals}, **plain(found)}

    def describe(self) -> list[tuple[str, str]]:
        """(label, text) lines, for people."""
        return describe(self)

    def __str__(self) -> str:
        return table(self.describe())

    def __repr__(self) -> str:
        kinds = "" if set(self.types) == {"unknown"} else f" ({types_text(self.types)})"
        cores = "cores unknown" if self.cores is None else count_of(self.cores, "core")
        return f"<Topology: {count_of(self.cpus, 'cpu')}, {cores}{kinds}, {self.worth} worth starting>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in self.describe())
        return f"<table>{rows}</table>"

    def _limited(self, count: int) -> int:
        if self.quota is not None:
            count = min(count, _of_quota(self.quota))
        if self.thread_limit is not None:
            count = min(count, self.thread_limit)
        return max(1, count)


def topology(source: str | os.PathLike[str] = "/", *, sample: float = 0.0) -> Topology:
    """What this process may run on, or what there is on a machine that was recorded.

    Parameters
    ----------
    source : str or path, optional
        "/" is this machine. Another directory is the root of a recorded tree with the /proc and /sys of a machine, as
        hwloc-gather-topology makes it. The affinity is that of its /proc/self/status, lists of cpus may be masks, and without the
        list of online cpus the folders of the cpus count. Or it has a file sysctl.txt, which is what
        `sysctl hw machdep.cpu.brand_string vm.loadavg` printed on a Mac.
        A file is XML of hwloc 2 or 3, as `lstopo --of xml node.xml` writes it, or a description of ours, whose name ends in .toml
        (docs/guide/unequal-cores.md); these do not know quota and load. Where the environment variable HETSCHED_TOPOLOGY names
        such a file, "/" is what it says, with the quota, the thread limit and the load of this machine.
    sample : float
        Seconds over which to watch how busy each cpu is; 0.0 does not.

    Returns
    -------
    Topology
        Linux says most; macOS says how many cores of each type there are, and what caches; elsewhere, and where /sys knows
        no cores, it is what hwloc's lstopo says, if that is installed, else the counts of Python. What is missing is None and
        listed in `unknown`.

    Raises
    ------
    OSError
        For a source that is not there or cannot be read; for a recorded tree with a pipe, a device, a loop of links or a file of
        more than 64 MiB in the place of one of its files.
    ValueError
        For a file that is not hwloc's, is cut short, is of hwloc 1, or has no cpus; for a description with a wrong key or value,
        which is named. For a directory without a recorded tree, or with something else in the place of a list or mask of cpus:
        the message names the directory and the file. Of HETSCHED_TOPOLOGY the message says so.

    Notes
    -----
    Types of core are those of the first of these that tells: the counter devices of Intel's hybrids (/sys/devices/cpu_core,
    cpu_atom), the scheduler's cpu_capacity (Arm's big.LITTLE), maximal frequencies, acpi_cppc's highest_perf. The last three tell
    only if there is a gap of a fifth between the slowest core of one type and the fastest of the other; frequencies and
    highest_perf are a hint, and marked so. In hwloc's XML these are Intel's CoreType, LinuxCapacity, the efficiency class of
    Windows and macOS (the highest is performance), and maximal frequencies, with the same gap.

    Examples
    --------
    >>> import hetsched as hs
    >>> here = hs.topology()
    >>> 1 <= here.worth <= here.cpus
    True
    """
    sample = check.number("sample", sample, low=0.0)
    source = os.fspath(source)
    found = _facts(source, sample)
    path = os.environ.get(_DESCRIPTION, "") if source == "/" else ""
    return _topology(sample, **(_as_described(path, found) if path else found))


#: The variable that names a file with the machine to be believed in.
_DESCRIPTION = "HETSCHED_TOPOLOGY"


def _as_described(path: str, here: dict[str, Any]) -> dict[str, Any]:
    """The fields of a file; of this machine those that no file knows."""
    try:
        found = _of_file(path)
    except OSError as error:
        raise OSError(f"{_DESCRIPTION} names a file that cannot be read: {error}") from None
    except ValueError as error:
        raise ValueError(f"{_DESCRIPTION}: {error}") from None
    own = {cpu.number for cpu in here["logical"]}
    names = {"quota", "quota_source", "cpuset_source", "load"} | ({"memory"} if found["memory"] is None else set())
    return {
        **found,
        **{name: here[name] for name in names},
        "described": path,
        "absent": tuple(cpu.number for cpu in found["logical"] if cpu.number not in own),
        "unknown": [name for name in ("online", "type") if name in found["unknown"]] + ["quota"] * ("quota" in here["unknown"]),
    }


def _of_file(path: str) -> dict[str, Any]:
    return described.read(path) if path.endswith(".toml") else hwloc.read(path)


def _facts(source: str, sample: float) -> dict[str, Any]:
    if not os.path.isdir(source):
        return _of_file(source)
    if text := macos.sysctl(source):
        return macos.facts(source, text)
    found = linux.facts(source, sample)
    told = source != "/" or any(cpu.core is not None for cpu in found["logical"])
    return found if told else hwloc.here(found)


def _topology(sample: float, *, unknown: list[str], **fields: Any) -> Topology:
    """With the thread limit, and the names of what is missing."""
    logical: tuple[Cpu, ...] = fields["logical"]
    caches: tuple[Cache, ...] = fields["caches"]
    names = ("core", "package", "node", "max_frequency", "base_frequency")
    missing = [name for name in names if any(getattr(cpu, name) is None for cpu in logical)]
    if not caches:
        missing.append("caches")
    for name, label in (("bytes", "cache sizes"), ("line", "cache lines"), ("shared_by", "cache sharing")):
        if any(getattr(cache, name) is None for cache in caches):
            missing.append(label)
    missing += [name for name in ("memory", "model", "load") if fields[name] is None]
    if sample and any(cpu.busy is None for cpu in logical):
        missing.append("busy")
    limit, source = _thread_limit()
    return Topology(
        **fields,
        thread_limit=limit,
        thread_limit_source=source,
        unknown=tuple(name.replace("_", " ") for name in [*unknown, *missing]),
    )


def _of_quota(quota: float) -> int:
    """Workers that a quota is worth."""
    whole = max(1, math.floor(quota + 1e-9))
    return whole + (quota - whole >= 0.1 * whole - 1e-9)


def _thread_limit() -> tuple[int | None, str]:
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "")
        if name == "OMP_NUM_THREADS":
            text = text.partition(",")[0]  # one number for each nesting level
        if limit := natural(text):
            return limit, name
    return None, ""


def _distinct(values: Iterable[int | None]) -> int | None:
    found = set(values)
    return None if None in found else len(found)


# ---- in words ----


def describe(t: Topology) -> list[tuple[str, str]]:
    """(label, text) lines."""
    own = f"all {count_of(t.cpus, 'online cpu')}" if t.cpus == t.online else f"{t.cpus} of {t.online} online cpus"
    places = [("package", t.packages), ("NUMA node", t.nodes)]
    where = [count_of(count, name) if count else f"{name}s unknown" for name, count in places]
    size = "size unknown" if t.memory is None else f"{t.memory / 2**30:.4g} GiB"
    on = "" if "cpu numbers" in t.unknown else f"; on {_cpus_text(t.places[: t.worth])}"
    lines = [
        ("processor", (t.model or "unknown") + (f", described by {t.described} ({_DESCRIPTION})" if t.described else "")),
        ("affinity", f"{own} ({ranges(t.allowed)})" + (f", {t.cpuset_source}" if t.cpuset_source else "")),
        ("cores", _cores_text(t)),
        ("caches", _caches_text(t.caches)),
        *_domains_text(t),
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


def _domains_text(t: Topology) -> list[tuple[str, str]]:
    """A line for several domains, such as "2: cpus 0-3 (performance), cpus 4-7 (efficiency, kernel avx2)"."""
    texts = []
    for domain in t.domains:
        parts = [domain.kind] * (domain.kind != "unknown") + [f"kernel {domain.kernel}"] * (domain.kernel is not None)
        texts.append(_cpus_text(domain.cpus) + (f" ({', '.join(parts)})" if parts else ""))
    return [("domains", f"{len(texts)}: {', '.join(texts)}")] if len(texts) > 1 else []


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
