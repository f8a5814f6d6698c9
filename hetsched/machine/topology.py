"""The resources of this process.

Cpus, cores and their types, caches, NUMA nodes, quota, and the number of workers worth starting.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from .._base import check
from .._base.drawn import Drawn
from .._base.table import table
from .._engine.sites import workers_for_quota
from ..plan import plain
from . import described, domains, hwloc, linux, macos
from .cpus import Cache, Cpu
from .domains import Domain
from .linux import natural, ranges


@dataclass(frozen=True, repr=False)
class Topology(Drawn):
    """What the process may use. Unknown values are None and listed in `unknown`.

    Attributes
    ----------
    model : str or None
        Name of the processor.
    logical : tuple of Cpu
        Logical cpus that the process may use (affinity mask and cpuset), by number.
    online : int
        Number of online cpus of the system.
    caches : tuple of Cache
        Caches of the allowed cpus, each cache once, by level.
    memory : int or None
        Bytes of main memory, used or not.
    type_source : str
        Source that tells the types of core apart; "" if there is none.
    quota : float or None
        Tightest cgroup quota, in cpus, over the groups of the process and all their ancestors. None
        if there is none, or if it is unknown.
    quota_source, cpuset_source : str
        Source such as "cgroup v2 /a/b cpu.max"; "" if there is none.
    thread_limit : int or None
        Value of the environment variable HETSCHED_NUM_THREADS. If that is not a positive number,
        the value of OMP_NUM_THREADS. None if neither is.
    thread_limit_source : str
        The variable with the limit.
    load : tuple of float or None
        Mean number of runnable threads on the whole system over 1, 5 and 15 minutes.
    unknown : tuple of str
        Names of the values that the system does not report, or not for every cpu and cache.
    given_domains : tuple of Domain
        Domains of a description in TOML; otherwise ().
    described : str
        The file that HETSCHED_TOPOLOGY names; "" for the machine itself.
    absent : tuple of int
        Cpus of that file that this process may not use.
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
        """Numbers of the cpus."""
        return tuple(cpu.number for cpu in self.logical)

    @property
    def cpus(self) -> int:
        """Number of logical cpus that the process may use."""
        return len(self.logical)

    @property
    def cores(self) -> int | None:
        """Number of physical cores of these cpus; None if it is unknown."""
        return len(self.groups()) if all(cpu.core is not None for cpu in self.logical) else None

    @property
    def packages(self) -> int | None:
        """Number of sockets with these cpus; None if it is unknown."""
        return _distinct(cpu.package for cpu in self.logical)

    @property
    def nodes(self) -> int | None:
        """Number of NUMA nodes with these cpus; None if it is unknown."""
        return _distinct(cpu.node for cpu in self.logical)

    @property
    def types(self) -> dict[str, int]:
        """Physical cores of each type, fast ones first. A cpu of unknown core counts as a core."""
        counts = Counter(group[0].type for group in self.groups())
        return {
            kind: counts[kind] for kind in ("performance", "efficiency", "unknown") if counts[kind]
        }

    @property
    def worth(self) -> int:
        """Number of workers worth starting: one per core, at most quota and thread limit, but >= 1.

        Two SMT siblings share the units that multiply, so a second worker on a core gains little
        and slows the first one. A fractional quota is rounded up if the fraction adds a tenth to
        the speed. For example, under a quota of 1.5 cpus two workers do 1.5 times the work of one.
        """
        return self._limited(len(self.groups()))

    @property
    def most_workers(self) -> int:
        """`worth` without the quota, which may change while a program runs."""
        count = len(self.groups())
        return max(1, count if self.thread_limit is None else min(count, self.thread_limit))

    @property
    def why(self) -> str:
        """Text that explains `worth`."""
        cores = self.cores
        text = f"{self.cpus} cpus (cores unknown)" if cores is None else count_of(cores, "core")
        if self.worth == len(self.groups()):
            return f"one for each of {text}" if self.worth > 1 else text
        if self.quota is not None and workers_for_quota(self.quota) <= self.worth:
            return f"{text}, but a quota of {self.quota:g} cpus ({self.quota_source})"
        return f"{text}, but {self.thread_limit_source} says {self.thread_limit}"

    @property
    def places(self) -> tuple[int, ...]:
        """The cpu to pin each worker to.

        The order is: one cpu of each core, with efficiency cores last; then the second siblings;
        and so on. There are as many as mask, quota and thread limit allow.
        """
        return self.candidates[: self._limited(self.cpus)]

    @cached_property
    def candidates(self) -> tuple[int, ...]:
        """All cpus in the order of `places`, whatever quota and thread limit allow."""
        turn = {cpu.number: i for group in self.groups() for i, cpu in enumerate(group)}
        order = sorted(
            self.logical, key=lambda cpu: (turn[cpu.number], cpu.type == "efficiency", cpu.number)
        )
        return tuple(cpu.number for cpu in order)

    def pins(self, workers: int) -> tuple[int, ...] | None:
        """The first `places`, if all workers can be pinned to them.

        Parameters
        ----------
        workers : int

        Returns
        -------
        tuple of int, or None
            None if there are fewer places, or if a place exists only in the file of
            HETSCHED_TOPOLOGY. Then no worker is pinned.
        """
        own = self.places[: check.integer("workers", workers, low=0)]
        return own if len(own) == workers and not {*own} & {*self.absent} else None

    def domain_of(self, cpu: int) -> int:
        """Index of the domain of a cpu in `domains`; ValueError if it has none.

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
        """Index in `domains` of the domain of each of the first `places`.

        Parameters
        ----------
        workers : int
            At most the number of places.
        """
        workers = check.integer("workers", workers, low=0, high=len(self.places))
        return tuple(self.domain_of(cpu) for cpu in self.places[:workers])

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """The cpus in groups with one kind of core, one NUMA node and a shared cache.

        The cache is the L3, or without an L3 an L2 of several cores.
        """
        if self.given_domains:
            return self.given_domains
        if "cpu numbers" in self.unknown:  # the numbers are labels, to which no worker is pinned
            return (Domain(self.allowed),)
        return domains.found(self.logical, self.caches)

    def groups(self) -> list[list[Cpu]]:
        """The allowed cpus by physical core. A cpu of an unknown core is a group by itself."""
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
        return {
            "type": "Topology",
            **{name: getattr(self, name) for name in totals},
            **plain(found),
        }

    def describe(self) -> list[tuple[str, str]]:
        """(label, text) lines, for people."""
        return describe(self)

    def __str__(self) -> str:
        return table(self.describe())

    def __repr__(self) -> str:
        kinds = "" if set(self.types) == {"unknown"} else f" ({types_text(self.types)})"
        cores = "cores unknown" if self.cores is None else count_of(self.cores, "core")
        cpus = count_of(self.cpus, "cpu")
        return f"<Topology: {cpus}, {cores}{kinds}, {self.worth} worth starting>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>"
            for label, text in self.describe()
        )
        svg: str = import_module("hetsched.plots.canvas").figure_svg(self.plot)
        return f"{svg}<table>{rows}</table>"

    def _limited(self, count: int) -> int:
        if self.quota is not None:
            count = min(count, workers_for_quota(self.quota))
        if self.thread_limit is not None:
            count = min(count, self.thread_limit)
        return max(1, count)


def topology(source: str | os.PathLike[str] = "/", *, sample: float = 0.0) -> Topology:
    """Find the cpus, caches and limits of this process, or of a recorded machine.

    Parameters
    ----------
    source : str or path, optional
        "/" is this machine. Other sources are:

        - A directory that is the root of a recorded tree with the /proc and /sys of a machine, as
          hwloc-gather-topology makes it. The affinity is the one in its /proc/self/status. Lists of
          cpus may be masks. Without the list of online cpus, the folders of the cpus count.
        - A directory with a file sysctl.txt, the output of
          `sysctl hw machdep.cpu.brand_string vm.loadavg` on a Mac.
        - A file with XML of hwloc 2 or 3, as `lstopo --of xml node.xml` writes it. It has no quota
          and no load.
        - A description in TOML (docs/guide/unequal-cores.md): a file with a name that ends in
          .toml. It has no quota and no load.

        If the environment variable HETSCHED_TOPOLOGY names such a file, "/" is the machine in the
        file, with the quota, the thread limit and the load of this machine.
    sample : float
        Seconds for which to measure how busy each cpu is; 0.0 for no measurement. Files, and the
        machine of HETSCHED_TOPOLOGY, have none.

    Returns
    -------
    Topology
        Linux reports the most. macOS reports the cores of each type, and the caches. On other
        systems, and where /sys has no cores, hwloc's lstopo gives the result if it is
        installed, otherwise Python's counts do. Missing values are None and listed in `unknown`.

    Raises
    ------
    OSError
        If a source does not exist or cannot be read, or if a recorded tree has a pipe, a device, a
        loop of links or a file of more than 64 MiB in the place of one of its files.
    ValueError
        If a file is not hwloc's, is cut short, is of hwloc 1, or has no cpus. If a description has
        a wrong key or value, which the message names. If a directory has no recorded tree, or
        something else in the place of a list or mask of cpus; the message names the directory and
        the file. If HETSCHED_TOPOLOGY names the file, the message says so.

    Notes
    -----
    The types of cores come from the first of these sources that tells them apart:

    1. the counter devices of Intel's hybrids (/sys/devices/cpu_core, cpu_atom),
    2. the scheduler's cpu_capacity (Arm's big.LITTLE),
    3. maximal frequencies,
    4. acpi_cppc's highest_perf.

    The last three need a gap of a fifth between the slowest core of one type and the fastest core
    of the other. The last two are hints, and marked so. In hwloc's XML the sources are Intel's
    CoreType, LinuxCapacity, the efficiency class of Windows and macOS (the highest is performance),
    and maximal frequencies, with the same gap.

    Examples
    --------
    >>> import hetsched as hs
    >>> here = hs.topology()
    >>> 1 <= here.worth <= here.cpus
    True
    """
    sample = check.number("sample", sample, low=0.0)
    source = check.path("source", source)
    path = os.environ.get(_DESCRIPTION, "") if source == "/" else ""
    found = _facts(source, 0.0 if path else sample)
    return _topology(sample, **(_as_described(path, found) if path else found))


#: The variable with the file of a machine that is taken for this one.
_DESCRIPTION = "HETSCHED_TOPOLOGY"


def _as_described(path: str, here: dict[str, Any]) -> dict[str, Any]:
    """The fields of a file, and the fields of this machine that no file contains."""
    try:
        found = _of_file(path)
    except OSError as error:
        raise OSError(f"{_DESCRIPTION} names a file that cannot be read: {error}") from None
    except ValueError as error:
        raise ValueError(f"{_DESCRIPTION}: {error}") from None
    own = {cpu.number for cpu in here["logical"]}
    names = {"quota", "quota_source", "cpuset_source", "load"} | (
        {"memory"} if found["memory"] is None else set()
    )
    return {
        **found,
        **{name: here[name] for name in names},
        "described": path,
        "absent": tuple(cpu.number for cpu in found["logical"] if cpu.number not in own),
        "unknown": (
            [name for name in ("online", "type") if name in found["unknown"]]
            + ["quota"] * ("quota" in here["unknown"])
        ),
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
    """Add the thread limit and the names of missing values."""
    logical: tuple[Cpu, ...] = fields["logical"]
    caches: tuple[Cache, ...] = fields["caches"]
    names = ("core", "package", "node", "max_frequency", "base_frequency")
    missing = [name for name in names if any(getattr(cpu, name) is None for cpu in logical)]
    if not caches:
        missing.append("caches")
    for name, label in (
        ("bytes", "cache sizes"),
        ("line", "cache lines"),
        ("shared_by", "cache sharing"),
    ):
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


# ---- text ----


def describe(t: Topology) -> list[tuple[str, str]]:
    """(label, text) lines."""
    own = (
        f"all {count_of(t.cpus, 'online cpu')}"
        if t.cpus == t.online
        else f"{t.cpus} of {t.online} online cpus"
    )
    places = [("package", t.packages), ("NUMA node", t.nodes)]
    where = [count_of(count, name) if count else f"{name}s unknown" for name, count in places]
    size = "size unknown" if t.memory is None else f"{t.memory / 2**30:.4g} GiB"
    on = f"; on {_cpus_text(t.places[: t.worth])}"
    if t.worth < len(t.groups()) or t.pins(t.worth) is None:
        on = "; where cores are free"
    if "cpu numbers" in t.unknown:
        on = ""
    lines = [
        (
            "processor",
            (t.model or "unknown")
            + (f", described by {t.described} ({_DESCRIPTION})" if t.described else ""),
        ),
        (
            "affinity",
            f"{own} ({ranges(t.allowed)})" + (f", {t.cpuset_source}" if t.cpuset_source else ""),
        ),
        ("cores", _cores_text(t)),
        ("caches", _caches_text(t.caches)),
        *_domains_text(t),
        ("memory", f"{', '.join([size, *where])}{_nodes_text(t.logical)}"),
        ("quota", _quota_text(t)),
        (
            "thread limit",
            "none" if t.thread_limit is None else f"{t.thread_limit} ({t.thread_limit_source})",
        ),
        ("load", _load_text(t)),
        ("workers", f"{t.worth} worth starting: {t.why}{on}"),
    ]
    return [*lines, ("unknown", ", ".join(t.unknown))] if t.unknown else lines


def count_of(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _cpus_text(cpus: Sequence[int]) -> str:
    return f"cpu{'' if len(cpus) == 1 else 's'} {ranges(cpus)}"


def types_text(types: dict[str, int]) -> str:
    return ", ".join(
        f"{count} {'of unknown type' if kind == 'unknown' else kind}"
        for kind, count in types.items()
    )


def _spread(values: Iterable[float]) -> str:
    low, high = min(found := list(values)), max(found)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _cores_text(t: Topology) -> str:
    """Text on the cores.

    Such as "6: 2 performance (cpus 0-3, 2 threads each, max 5 GHz), 4 efficiency (cpus 4-7,
    max 3.8 GHz)".
    """
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
        name = ""
        if len(t.types) > 1 or kind != "unknown":
            name = f" {types_text({kind: count}).partition(' ')[2]}"
        kinds.append(f"{count}{name} ({', '.join(parts)})")
    if len(kinds) > 1:
        total = f"{t.cores or 'unknown'}: "
    else:
        total = "unknown, cpus: " if t.cores is None else ""
    source = f"; told apart by {t.type_source}" if t.type_source else ""
    return f"{total}{', '.join(kinds)}{source}"


def size_text(size: int) -> str:
    """The size of a cache, such as "48 KiB"."""
    return f"{size / 2**20:.4g} MiB" if size >= 2**20 else f"{size / 2**10:.4g} KiB"


def _caches_text(caches: Sequence[Cache]) -> str:
    """Text such as "L1d 2 x 48 KiB (2 cpus each), 4 x 32 KiB; L3 12 MiB (cpus 0-7)".

    Instruction caches are left out.
    """

    def key(c: Cache) -> tuple[int, str, int | None, int]:
        return c.level, c.type, c.bytes, len(c.shared_by or ())

    levels: dict[str, Counter[str]] = {}
    counts = Counter(map(key, caches))
    for cache in caches:
        if cache.type == "instruction":
            continue
        size = "unknown size" if cache.bytes is None else size_text(cache.bytes)
        if cache.shared_by is not None and counts[key(cache)] == 1:
            size += f" ({_cpus_text(cache.shared_by)})"
        elif cache.shared_by is not None and len(cache.shared_by) > 1:
            size += f" ({len(cache.shared_by)} cpus each)"
        level = f"L{cache.level}{'d' if cache.type == 'data' else ''}"
        levels.setdefault(level, Counter())[size] += 1
    texts = [
        f"{k} {', '.join(s if n == 1 else f'{n} x {s}' for s, n in sizes.items())}"
        for k, sizes in levels.items()
    ]
    return "; ".join(texts) or "unknown"


def _domains_text(t: Topology) -> list[tuple[str, str]]:
    """A line if there are several domains.

    Such as "2: cpus 0-3 (performance), cpus 4-7 (efficiency, kernel avx2)".
    """
    texts = []
    for domain in t.domains:
        parts = [domain.kind] * (domain.kind != "unknown") + [f"kernel {domain.kernel}"] * (
            domain.kernel is not None
        )
        texts.append(_cpus_text(domain.cpus) + (f" ({', '.join(parts)})" if parts else ""))
    return [("domains", f"{len(texts)}: {', '.join(texts)}")] if len(texts) > 1 else []


def _nodes_text(logical: Sequence[Cpu]) -> str:
    nodes: dict[int, list[int]] = {}
    for cpu in logical:
        if cpu.node is not None:
            nodes.setdefault(cpu.node, []).append(cpu.number)
    if len(nodes) < 2:
        return ""
    return ": " + ", ".join(
        f"node {node} ({_cpus_text(cpus)})" for node, cpus in sorted(nodes.items())
    )


def _quota_text(t: Topology) -> str:
    if t.quota is None:
        return "unknown" if "quota" in t.unknown else "none"
    return f"{t.quota:g} cpus ({t.quota_source})"


def _load_text(t: Topology) -> str:
    text = (
        "unknown"
        if t.load is None
        else f"{', '.join(f'{load:g}' for load in t.load)} threads over 1, 5, 15 minutes"
    )
    busy = [cpu for cpu in t.logical if cpu.busy is not None]
    return text + (
        f"; busy now: {', '.join(f'cpu {cpu.number} {cpu.busy:.0%}' for cpu in busy)}"
        if busy
        else ""
    )
