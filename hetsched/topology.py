"""What this process may run on: cpus, cores and their types, caches, NUMA nodes, quota, and the workers worth starting."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from . import _check, _hwloc, _linux, _macos
from ._linux import natural
from ._topology_text import count_of, describe, types_text
from .cpus import Cache, Cpu
from .plan import plain


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
        content = {name: _plain(found) for name, found in asdict(self).items()}
        return {"type": "Topology", **{name: getattr(self, name) for name in totals}, **content}

    def describe(self) -> list[tuple[str, str]]:
        """(label, text) lines, for people."""
        return describe(self)

    def __str__(self) -> str:
        lines = self.describe()
        width = max(len(label) for label, _ in lines)
        return "\n".join(f"{label:<{width}}  {text}" for label, text in lines)

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
        "/" is this machine. Another directory is the root of a tree with its /proc and /sys, where the affinity is that of
        /proc/self/status, and a file sysctl.txt is what `sysctl hw machdep.cpu.brand_string vm.loadavg` printed on a Mac.
        A file is XML of hwloc 2 or 3, as `lstopo --of xml node.xml` writes it; it does not know quota and load.
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
        For a source that is not there or cannot be read.
    ValueError
        For a file that is not hwloc's, is cut short, is of hwloc 1, or has no cpus.

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
    sample = _check.number("sample", sample, low=0.0)
    return _topology(sample, **_facts(os.fspath(source), sample))


def _facts(source: str, sample: float) -> dict[str, Any]:
    if not os.path.isdir(source):
        return _hwloc.read(source)
    if text := _macos.sysctl(source):
        return _macos.facts(text)
    found = _linux.facts(source, sample)
    told = source != "/" or any(cpu.core is not None for cpu in found["logical"])
    return found if told else _hwloc.here(found)


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


def _plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _plain(inner) for name, inner in found.items()}
    return [_plain(inner) for inner in found] if isinstance(found, tuple | list) else plain(found)
