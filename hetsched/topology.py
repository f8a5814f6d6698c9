"""What this process may run on: cpus, cores and their types, caches, NUMA nodes, quota, and the workers worth starting."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from html import escape
from typing import Any

from . import _check
from ._system import cpu_list, cpuset, natural, quotas, read, value
from ._topology_text import count_of, describe, types_text
from .plan import plain

_CPUS = "sys/devices/system/cpu"
#: Where Intel's hybrids list their cpus by type: one counter device for each.
_DEVICES = {"cpu_core": "performance", "cpu_atom": "efficiency", "cpu_lowpower": "efficiency"}
#: Speeds this far apart are two types of core. Favoured cores of one type differ by less: boost by 10 %, ranks step by step.
_GAP = 0.8


@dataclass(frozen=True)
class Cpu:
    """A logical cpu; what the system does not say is None.

    Attributes
    ----------
    number : int
        The system's. On macOS, which numbers none, a label: the fastest cores come first.
    core : int or None
        The physical core: the lowest number among its cpus.
    package, node : int or None
        The socket, and the NUMA node.
    siblings : tuple of int or None
        The online cpus of the same physical core (SMT), itself among them.
    type : str
        "performance", "efficiency", or "unknown" where nothing tells the cores apart.
    capacity : int or None
        The kernel's estimate of its speed; 1024 for the fastest.
    max_frequency, base_frequency : int or None
        Hz.
    busy : float or None
        Fraction of the time sampled in which it was not idle; None unless asked for.
    """

    number: int
    core: int | None = None
    package: int | None = None
    node: int | None = None
    siblings: tuple[int, ...] | None = None
    type: str = "unknown"
    capacity: int | None = None
    max_frequency: int | None = None
    base_frequency: int | None = None
    busy: float | None = None


@dataclass(frozen=True)
class Cache:
    """A cache of an allowed cpu.

    Attributes
    ----------
    level : int
    type : str
        "data", "instruction" or "unified".
    bytes, line : int or None
        Its size, and that of a line.
    shared_by : tuple of int or None
        The online cpus that share it.
    """

    level: int
    type: str
    bytes: int | None
    line: int | None
    shared_by: tuple[int, ...] | None


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

        Two SMT siblings share the units that multiply; a second worker on a core gains little and slows the first.
        """
        return self._limited(len(self.groups()))

    @property
    def why(self) -> str:
        """Why so many workers, in words."""
        cores = self.cores
        text = f"{self.cpus} cpus (cores unknown)" if cores is None else count_of(cores, "core")
        if self.worth == len(self.groups()):
            return text
        quota = math.inf if self.quota is None else max(1, math.floor(self.quota + 1e-9))
        if quota <= self.worth:
            return f"{text}, but a quota of {self.quota:g} cpus ({self.quota_source})"
        return f"{text}, but {self.thread_limit_source} says {self.thread_limit}"

    @property
    def places(self) -> tuple[int, ...]:
        """The cpu to pin each worker to: one of every core first, performance cores before others, then the second siblings, and
        so on; as many as mask, quota and thread limit allow."""
        turn = {cpu.number: i for group in self.groups() for i, cpu in enumerate(group)}
        order = sorted(self.logical, key=lambda cpu: (turn[cpu.number], cpu.type == "efficiency", cpu.number))
        return tuple(cpu.number for cpu in order)[: self._limited(self.cpus)]

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
        rows = "".join(f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in self.describe())
        return f"<table>{rows}</table>"

    def groups(self) -> list[list[Cpu]]:
        """The allowed cpus by physical core."""
        groups: dict[tuple[bool, int], list[Cpu]] = {}
        for cpu in self.logical:
            key = (False, cpu.number) if cpu.core is None else (True, cpu.core)
            groups.setdefault(key, []).append(cpu)
        return list(groups.values())

    def _limited(self, count: int) -> int:
        if self.quota is not None:
            count = min(count, math.floor(self.quota + 1e-9))
        if self.thread_limit is not None:
            count = min(count, self.thread_limit)
        return max(1, count)


def topology(root: str = "/", *, sample: float = 0.0) -> Topology:
    """What this process may run on.

    Parameters
    ----------
    root : str, optional
        Where /proc and /sys are read, for trees recorded elsewhere. Under another root the affinity is that of its
        /proc/self/status, and a file sysctl.txt is what `sysctl hw machdep.cpu.brand_string vm.loadavg` printed on a Mac.
    sample : float
        Seconds over which to watch how busy each cpu is; 0.0 does not.

    Returns
    -------
    Topology
        Linux says most; macOS says how many cores of each type there are, and what caches; elsewhere there are the counts of
        Python. What is missing is None and listed in `unknown`.

    Notes
    -----
    Types of core are those of the first of these that tells: the counter devices of Intel's hybrids (/sys/devices/cpu_core,
    cpu_atom), the scheduler's cpu_capacity (Arm's big.LITTLE), maximal frequencies, acpi_cppc's highest_perf. The last three tell
    only if there is a gap of a fifth between the slowest core of one type and the fastest of the other; frequencies and
    highest_perf are a hint, and marked so.

    Examples
    --------
    >>> import hetsched as hs
    >>> here = hs.topology()
    >>> 1 <= here.worth <= here.cpus
    True
    """
    sample = _check.number("sample", sample, low=0.0)
    text = _sysctl(root)
    return _of_sysctl(text) if text else _of_files(root, sample)


# ---- Linux ------------------------------------------------------------------------------------------------------


def _of_files(root: str, sample: float) -> Topology:
    online = cpu_list(read(root, f"{_CPUS}/online"))
    guessed = not online
    if guessed:
        online = tuple(range(os.cpucount_of() or 1))
    allowed, source, masked = _allowed(root, online)
    types, type_source, compared = _types(root, online)
    siblings = _siblings(root, allowed)
    nodes = _nodes(root)
    busy = _busy(root, sample) if sample else {}
    logical = tuple(
        Cpu(
            number=cpu,
            core=min(siblings[cpu]) if cpu in siblings else None,
            package=natural(read(root, f"{_CPUS}/cpu{cpu}/topology/physical_package_id")),  # -1: unknown
            node=nodes.get(cpu),
            siblings=siblings.get(cpu),
            type=types.get(cpu, "unknown"),
            capacity=_capacity(root, cpu),
            max_frequency=_max_frequency(root, cpu),
            base_frequency=_base_frequency(root, cpu),
            busy=busy.get(cpu),
        )
        for cpu in allowed
    )
    found = list(quotas(root))
    quota, quota_source = min(found, key=lambda pair: pair[0], default=(math.inf, ""))
    model = value(read(root, "proc/cpuinfo"), "model name") or read(root, "proc/device-tree/model").strip("\0\n ")
    return _topology(
        model=model or None,
        logical=logical,
        online=len(online),
        caches=_caches(root, allowed),
        type_source=type_source,
        quota=None if quota == math.inf else quota,
        quota_source="" if quota == math.inf else quota_source,
        cpuset_source=source,
        load=_load(root),
        unknown=[
            *(["online"] if guessed and root != "/" else []),
            *([] if masked else ["affinity"]),
            *([] if compared else ["type"]),
            *([] if found else ["quota"]),
            *(["busy"] if sample and any(cpu.busy is None for cpu in logical) else []),
        ],
    )


def _allowed(root: str, online: tuple[int, ...]) -> tuple[tuple[int, ...], str, bool]:
    """The affinity mask and what a cpuset leaves of it, the cpuset if it leaves less, and whether there is a mask."""
    mask: tuple[int, ...] = ()
    if root != "/":
        listed = set(cpu_list(value(read(root, "proc/self/status"), "Cpus_allowed_list")))
        mask = tuple(cpu for cpu in online if cpu in listed)  # cpus that are not there are listed too
    elif hasattr(os, "sched_getaffinity"):
        try:
            mask = tuple(sorted(os.sched_getaffinity(0)))
        except OSError:
            mask = ()
    cpus, source = cpuset(root)
    both = tuple(cpu for cpu in mask or online if cpu in cpus)
    if both and len(both) < len(mask or online):  # rarely: the kernel keeps the mask inside the cpuset
        return both, source, bool(mask)
    return mask or online, source if cpus and len(cpus) < len(online) else "", bool(mask)


def _siblings(root: str, allowed: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """The cpus of each cpu's core."""
    found: dict[int, tuple[int, ...]] = {}
    for cpu in allowed:
        for name in ("core_cpus_list", "thread_siblings_list"):  # the second is the name before Linux 5.3
            cpus = cpu_list(read(root, f"{_CPUS}/cpu{cpu}/topology/{name}"))
            if cpu in cpus:
                found[cpu] = cpus
                break
    return found


def _nodes(root: str) -> dict[int, int]:
    directory = "sys/devices/system/node"
    return {
        cpu: node
        for node in cpu_list(read(root, f"{directory}/online"))
        for cpu in cpu_list(read(root, f"{directory}/node{node}/cpulist"))
    }


def _capacity(root: str, cpu: int) -> int | None:
    return natural(read(root, f"{_CPUS}/cpu{cpu}/cpu_capacity")) or None


def _max_frequency(root: str, cpu: int) -> int | None:
    kilohertz = natural(read(root, f"{_CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"))
    return kilohertz * 1000 if kilohertz else None


def _base_frequency(root: str, cpu: int) -> int | None:
    if kilohertz := natural(read(root, f"{_CPUS}/cpu{cpu}/cpufreq/base_frequency")):
        return kilohertz * 1000
    megahertz = natural(read(root, f"{_CPUS}/cpu{cpu}/acpi_cppc/nominal_freq"))
    return megahertz * 10**6 if megahertz else None


def _highest_performance(root: str, cpu: int) -> int | None:
    return natural(read(root, f"{_CPUS}/cpu{cpu}/acpi_cppc/highest_perf")) or None


def _types(root: str, online: tuple[int, ...]) -> tuple[dict[int, str], str, bool]:
    """The types of the cpus, what told, and whether there was anything that could have. Cpus that are not allowed count: those
    that are may all be of one type."""
    lists = {device: cpu_list(read(root, f"sys/devices/{device}/cpus")) for device in _DEVICES}
    listed = {cpu: _DEVICES[device] for device, cpus in lists.items() for cpu in cpus}
    if len(set(listed.values())) == 2:
        return listed, " and ".join(device for device, cpus in lists.items() if cpus), True
    compared = False
    evidence: list[tuple[str, Callable[[int], int | None]]] = [
        ("cpu_capacity", partial(_capacity, root)),
        ("max frequencies, a hint", partial(_max_frequency, root)),
        ("acpi_cppc highest_perf, a hint", partial(_highest_performance, root)),
    ]
    for source, read_one in evidence:
        speeds = {cpu: speed for cpu in online if (speed := read_one(cpu)) is not None}
        if len(speeds) == len(online):
            compared = True
            if found := _split_types(speeds):
                return found, source, True
    return {}, "", compared


def _split_types(speeds: dict[int, int]) -> dict[int, str]:
    """Two types, apart at the widest relative gap between speeds; {} if there is none as wide as _GAP."""
    steps = sorted(set(speeds.values()))
    ratio, cut = min(((low / high, high) for low, high in zip(steps, steps[1:], strict=False)), default=(1.0, 0))
    if ratio > _GAP:
        return {}
    return {cpu: "performance" if speed >= cut else "efficiency" for cpu, speed in speeds.items()}


def _caches(root: str, allowed: Iterable[int]) -> tuple[Cache, ...]:
    found: list[Cache] = []
    seen: set[tuple[int, int, str]] = set()  # (cpu, level, type)
    for cpu in allowed:
        index = 0
        while kind := read(root, f"{_CPUS}/cpu{cpu}/cache/index{index}/type").strip().lower():
            directory = f"{_CPUS}/cpu{cpu}/cache/index{index}"
            level = natural(read(root, f"{directory}/level"))
            if kind in ("data", "instruction", "unified") and level and (cpu, level, kind) not in seen:
                shared = cpu_list(read(root, f"{directory}/shared_cpu_list")) or None
                size = read(root, f"{directory}/size").strip()
                kib = natural(size.removesuffix("K")) if size.endswith("K") else None
                line = natural(read(root, f"{directory}/coherency_line_size")) or None
                found.append(Cache(level, kind, kib * 1024 if kib else None, line, shared))
                seen.update((other, level, kind) for other in shared or ())
            index += 1
    return tuple(sorted(found, key=lambda cache: (cache.level, cache.type)))


def _load(root: str) -> tuple[float, ...] | None:
    try:
        one, five, fifteen = map(float, read(root, "proc/loadavg").split()[:3])
    except ValueError:
        return None
    return one, five, fifteen


def _busy(root: str, seconds: float) -> dict[int, float]:
    before = _ticks(root)
    time.sleep(seconds)
    after = _ticks(root)
    busy = {}
    for cpu in before.keys() & after.keys():
        idle, total = (after[cpu][i] - before[cpu][i] for i in (0, 1))
        if total > 0:
            busy[cpu] = min(1.0, max(0.0, 1 - idle / total))
    return busy


def _ticks(root: str) -> dict[int, tuple[int, int]]:
    """Idle and all ticks of each cpu since the system was started; guests' are in users' already."""
    found = {}
    for line in read(root, "proc/stat").splitlines():
        name, *numbers = line.split()
        cpu, ticks = natural(name.removeprefix("cpu")), [natural(number) for number in numbers[:8]]
        if name.startswith("cpu") and cpu is not None and len(ticks) > 4:
            known = [tick or 0 for tick in ticks]
            found[cpu] = (known[3] + known[4], sum(known))
    return found


# ---- macOS ------------------------------------------------------------------------------------------------------


def _sysctl(root: str) -> str:
    if root != "/":
        return read(root, "sysctl.txt")
    if sys.platform != "darwin":
        return ""
    command = ["/usr/sbin/sysctl", "hw", "machdep.cpu.brand_string", "vm.loadavg"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


def _of_sysctl(text: str) -> Topology:
    """Of the output of sysctl. The system neither numbers its cpus nor pins threads to them."""

    def number(name: str) -> int | None:
        return natural(value(text, name)) or None

    prefixes = [f"hw.perflevel{level}." for level in range(number("hw.nperflevels") or 0)]
    complete = prefixes and all(number(f"{prefix}logicalcpu") for prefix in prefixes)
    levels = prefixes if complete else ["hw."]
    logical: list[Cpu] = []
    caches: list[Cache] = []
    for i, prefix in enumerate(levels):
        cpus = number(f"{prefix}logicalcpu") or os.cpucount_of() or 1
        cores = number(f"{prefix}physicalcpu")
        first = len(logical)
        numbers = range(first, first + cpus)
        kind = _level_type(value(text, f"{prefix}name"), i) if len(levels) > 1 else "unknown"
        threads = cpus // cores if cores and cpus % cores == 0 else None
        for cpu in numbers:
            own = None if threads is None else cpu - (cpu - first) % threads
            logical.append(
                Cpu(
                    number=cpu,
                    core=own,
                    package=0 if number("hw.packages") == 1 else None,
                    siblings=None if own is None or threads is None else tuple(range(own, own + threads)),
                    type=kind,
                    max_frequency=number("hw.cpufrequency_max"),
                    base_frequency=number("hw.cpufrequency"),
                )
            )
        for level, cache_type, name in (
            (1, "data", "l1dcachesize"),
            (1, "instruction", "l1icachesize"),
            (2, "unified", "l2cachesize"),
            (3, "unified", "l3cachesize"),
        ):
            if size := number(f"{prefix}{name}"):
                sharing = threads if level == 1 else number(f"{prefix}cpusperl{level}")
                line = number("hw.cachelinesize")
                if sharing is None:
                    caches.append(Cache(level, cache_type, size, line, None))
                else:
                    groups = [tuple(numbers[k : k + sharing]) for k in range(0, cpus, sharing)]
                    caches += [Cache(level, cache_type, size, line, group) for group in groups]
    try:
        one, five, fifteen = map(float, value(text, "vm.loadavg").strip("{} ").split())
    except ValueError:
        load = None
    else:
        load = (one, five, fifteen)
    known = prefixes or value(text, "machdep.cpu.brand_string").startswith("Intel")  # no Intel Mac had two types
    return _topology(
        model=value(text, "machdep.cpu.brand_string") or None,
        logical=tuple(logical),
        online=len(logical),
        caches=tuple(sorted(caches, key=lambda cache: (cache.level, cache.type))),
        type_source="hw.perflevel" if len(levels) > 1 else "",
        quota=None,
        quota_source="",
        cpuset_source="",
        load=load,
        unknown=["cpu numbers", *([] if known else ["type"])],
    )


def _level_type(name: str, level: int) -> str:
    """Of a performance level; the lower its index the faster it is."""
    names = {"super": "performance", "performance": "performance", "efficiency": "efficiency"}
    return names.get(name.lower(), "efficiency" if level else "performance")


# ---- both -------------------------------------------------------------------------------------------------------


def _topology(*, unknown: list[str], **fields: Any) -> Topology:
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
    missing += [name for name in ("model", "load") if fields[name] is None]
    limit, source = _thread_limit()
    return Topology(
        **fields,
        thread_limit=limit,
        thread_limit_source=source,
        unknown=tuple(name.replace("_", " ") for name in [*unknown, *missing]),
    )


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
