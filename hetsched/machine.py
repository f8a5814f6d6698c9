"""What this process may use of the machine: cpus, quota, caches, and the threads that are worth starting."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_CPUS = "sys/devices/system/cpu"
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\"))  # the backslash last


@dataclass(frozen=True)
class Cache:
    """A cache of the first allowed cpu.

    Attributes
    ----------
    level : int
    kind : str
        "data", "instruction" or "unified".
    bytes : int
    shared_by : tuple of int
        The logical cpus that share it; () if unknown.
    """

    level: int
    kind: str
    bytes: int
    shared_by: tuple[int, ...]


@dataclass(frozen=True)
class Machine:
    """What the process may use; a field that could not be read is "", () or None.

    Attributes
    ----------
    model : str
        The processor's name.
    logical : int
        Online logical cpus.
    allowed : tuple of int
        The affinity mask, sorted; every cpu where the system has no affinity.
    quota : float or None
        Cpus' worth of the tightest cgroup quota, over the process's groups and their ancestors.
    quota_source : str
        Such as "cgroup v2 /a/b cpu.max".
    siblings : tuple of tuple of int
        The allowed cpus by physical core (SMT groups, of one cpu where there is no SMT).
    caches : tuple of Cache
        Of the first allowed cpu.
    thread_limit : int or None
        From the environment.
    thread_limit_source : str
        The variable that it came from.
    """

    model: str
    logical: int
    allowed: tuple[int, ...]
    quota: float | None
    quota_source: str
    siblings: tuple[tuple[int, ...], ...]
    caches: tuple[Cache, ...]
    thread_limit: int | None
    thread_limit_source: str

    @property
    def workers(self) -> int:
        """How many worker threads are worth starting: the least of affinity, quota and thread limit, at least 1."""
        count = len(self.allowed)
        if self.quota is not None:
            count = min(count, math.floor(self.quota + 1e-9))
        if self.thread_limit is not None:
            count = min(count, self.thread_limit)
        return max(1, count)

    @property
    def cores(self) -> tuple[int, ...]:
        """The cpu to pin each worker to: one of every physical core first, then their second siblings, and so on."""
        turn = {cpu: i for group in self.siblings for i, cpu in enumerate(group)}
        return tuple(sorted(self.allowed, key=lambda cpu: (turn.get(cpu, 0), cpu)))[: self.workers]


def machine(root: str = "/") -> Machine:
    """What this process may use of the machine.

    Parameters
    ----------
    root : str, optional
        Where /proc and /sys are read. Under another root the affinity is that of its /proc/self/status.

    Returns
    -------
    Machine
        Where a file is missing (all of them on macOS), its field is empty and the cpus are those of `os.cpu_count`.
    """
    online = _cpu_list(_read(root, f"{_CPUS}/online")) or tuple(range(os.cpu_count() or 1))
    allowed = _affinity(root, online)
    quota, quota_source = min(_quotas(root), key=lambda found: found[0], default=(None, ""))
    thread_limit, thread_limit_source = _thread_limit()
    return Machine(
        model=_value(_read(root, "proc/cpuinfo"), "model name"),
        logical=len(online),
        allowed=allowed,
        quota=quota,
        quota_source=quota_source,
        siblings=_siblings(root, allowed),
        caches=tuple(_caches(root, allowed[0])),
        thread_limit=thread_limit,
        thread_limit_source=thread_limit_source,
    )


def describe(m: Machine) -> list[tuple[str, str]]:
    """(label, text) lines about a machine, for people."""
    cpus = f"{len(m.allowed)} of {m.logical} cpus" if len(m.allowed) != m.logical else f"all {m.logical} cpus"
    return [
        ("processor", m.model or "unknown"),
        ("cores", f"{m.logical} logical, allowed {_ranges(m.allowed)}, {_smt_text(m.siblings)}"),
        ("caches", _caches_text(m.caches)),
        ("affinity", cpus),
        ("quota", "none found" if m.quota is None else f"{m.quota:g} cpus ({m.quota_source})"),
        ("thread limit", "none" if m.thread_limit is None else f"{m.thread_limit} ({m.thread_limit_source})"),
        ("workers", f"{m.workers} (cpus {_ranges(m.cores)})"),
    ]


def _read(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path.lstrip("/")), encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return ""


def _value(text: str, key: str) -> str:
    """Of the first "key : value" line."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _natural(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _cpu_list(text: str) -> tuple[int, ...]:
    """Parse "0-3,8"; () if it is anything else."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = _natural(first), _natural(last if dash else first)
        if low is None or high is None:
            return ()
        cpus.update(range(low, high + 1))
    return tuple(sorted(cpus))


def _affinity(root: str, online: tuple[int, ...]) -> tuple[int, ...]:
    if root != "/":
        mask = _cpu_list(_value(_read(root, "proc/self/status"), "Cpus_allowed_list"))
        # the file also lists cpus that are not there; sched_getaffinity does not
        return tuple(cpu for cpu in online if cpu in mask) or online
    if hasattr(os, "sched_getaffinity"):
        try:
            return tuple(sorted(os.sched_getaffinity(0))) or online
        except OSError:
            pass
    return online


def _siblings(root: str, allowed: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    groups: list[tuple[int, ...]] = []
    left = set(allowed)
    for cpu in allowed:
        if cpu in left:
            topology = f"{_CPUS}/cpu{cpu}/topology"
            names = ("core_cpus_list", "thread_siblings_list")  # the second is the name before Linux 5.3
            cpus = next((found for name in names if (found := _cpu_list(_read(root, f"{topology}/{name}")))), ())
            if cpu in cpus:
                groups.append(tuple(sibling for sibling in cpus if sibling in left))
                left.difference_update(cpus)
    return tuple(groups)


def _caches(root: str, cpu: int) -> Iterator[Cache]:
    directory = f"{_CPUS}/cpu{cpu}/cache"
    index = 0
    while kind := _read(root, f"{directory}/index{index}/type").strip().lower():
        level = _natural(_read(root, f"{directory}/index{index}/level"))
        size = _read(root, f"{directory}/index{index}/size").strip()
        kib = _natural(size.removesuffix("K")) if size.endswith("K") else None
        if kind in ("data", "instruction", "unified") and level and kib:
            yield Cache(level, kind, kib * 1024, _cpu_list(_read(root, f"{directory}/index{index}/shared_cpu_list")))
        index += 1


def _quotas(root: str) -> Iterator[tuple[float, str]]:
    """Every quota that binds the process, with its source."""
    for line in _read(root, "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for directory, group in _groups(root, path, "cgroup2"):
                cpus = _ratio(*_read(root, f"{directory}/cpu.max").partition(" ")[::2])
                if cpus is not None:
                    yield cpus, f"cgroup v2 {group} cpu.max"
        elif "cpu" in controllers.split(","):
            for directory, group in _groups(root, path, "cgroup"):
                quota, period = (_read(root, f"{directory}/cpu.cfs_{name}_us") for name in ("quota", "period"))
                cpus = _ratio(quota, period)
                if cpus is not None:
                    yield cpus, f"cgroup v1 {group} cpu.cfs_quota_us"


def memory_room(root: str = "/") -> int:
    """Bytes in which the system may keep files: what is available, or the tightest cgroup limit if that is less."""
    room = 2**62
    for line in _read(root, "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            room = 1024 * (_natural(line[13:].replace("kB", "")) or 0)
    for line in _read(root, "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if not controllers or "memory" in controllers.split(","):
            kind, name = ("cgroup", "memory.limit_in_bytes") if controllers else ("cgroup2", "memory.max")
            for directory, _ in _groups(root, path, kind, "memory"):
                room = min(room, _natural(_read(root, f"{directory}/{name}")) or room)
    return room


def _ratio(quota: str, period: str) -> float | None:
    """Cpus' worth of a quota; None for "max", -1 and whatever is not two positive integers."""
    numerator, denominator = _natural(quota), _natural(period)
    return numerator / denominator if numerator and denominator else None


def _groups(root: str, path: str, kind: str, controller: str = "cpu") -> Iterator[tuple[str, str]]:
    """(directory, name) of a cgroup and of its ancestors, where the controller's hierarchy of this kind is mounted."""
    mounts: dict[str, str] = {}  # mount point -> the group that is seen there
    for line in _read(root, "proc/self/mountinfo").splitlines():
        head, _, tail = line.partition(" - ")
        fields, source = head.split(" "), tail.split(" ")
        if len(fields) < 6 or len(source) < 3 or source[0] != kind:
            continue
        if kind == "cgroup2" or controller in source[2].split(","):
            mounts[_unescape(fields[4])] = _unescape(fields[3])
    views = [(point, top, inner) for point, top in mounts.items() if (inner := _inside(path, top)) is not None]
    if not views:  # a container whose mount does not show what /proc/self/cgroup names: its top is the nearest known
        views = [(point, top, []) for point, top in list(mounts.items())[:1]]
    for point, top, inner in views:
        for depth in range(len(inner), -1, -1):
            below = "/".join(inner[:depth])
            yield f"{point}/{below}", f"{top.rstrip('/')}/{below}".rstrip("/") or "/"


def _inside(path: str, top: str) -> list[str] | None:
    """The names that lead from the group `top` down to `path`; None if path is not under it."""
    prefix = top.rstrip("/") + "/"
    names = [name for name in path[len(prefix) :].split("/") if name]
    return names if (path + "/").startswith(prefix) and ".." not in names else None


def _unescape(field: str) -> str:
    for code, character in _ESCAPES:
        field = field.replace(code, character)
    return field


def _thread_limit() -> tuple[int | None, str]:
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "")
        if name == "OMP_NUM_THREADS":
            text = text.partition(",")[0]  # one number for each nesting level
        if limit := _natural(text):
            return limit, name
    return None, ""


def _ranges(cpus: tuple[int, ...]) -> str:
    """Such as "0-3,8"."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _smt_text(siblings: tuple[tuple[int, ...], ...]) -> str:
    sizes = Counter(map(len, siblings))
    groups = ", ".join(f"{count} of {size}" for size, count in sorted(sizes.items(), reverse=True))
    return f"SMT groups: {groups or 'unknown'}"


def _caches_text(caches: tuple[Cache, ...]) -> str:
    data = [cache for cache in caches if cache.kind != "instruction"]
    # the first level is the core's own: what no other cpus share is the core's too
    private = [cache for cache in data if cache.shared_by and cache.shared_by == data[0].shared_by]
    texts = []
    for cache in data:
        size = f"{cache.bytes / 2**20:.4g} MiB" if cache.bytes >= 2**20 else f"{cache.bytes / 2**10:.4g} KiB"
        text = f"L{cache.level}{'d' if cache.kind == 'data' else ''} {size}"
        if private and cache is private[-1]:
            text += " (per core)"
        elif cache.shared_by and cache not in private:
            text += f" shared by {len(cache.shared_by)}"
        texts.append(text)
    return ", ".join(texts) or "unknown"
