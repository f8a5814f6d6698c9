"""What Linux says in /proc and /sys, under any root: cpus, caches, control groups, load."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from .._base.regular import read_regular
from .cpus import Cache, Cpu

_CPUS = "sys/devices/system/cpu"
_CAPACITY, _FREQUENCY = "cpu_capacity", "cpufreq/cpuinfo_max_freq"  # files of a cpu
#: Where Intel's hybrids list their cpus by type: one counter device for each.
_DEVICES = {"cpu_core": "performance", "cpu_atom": "efficiency", "cpu_lowpower": "efficiency"}
#: Speeds this far apart are two types of core. Favoured cores of one type differ by less: boost by 10 %, ranks step by step.
_GAP = 0.8
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\"))  # the backslash last
MOST_CPUS = 2**20  # what claims more is no list of cpus


def facts(root: str, sample: float) -> dict[str, Any]:
    """The fields of a Topology."""
    online = cpu_list(read(root, f"{_CPUS}/online"))
    guessed = not online
    if guessed:
        online = tuple(range(os.cpu_count() or 1))
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
            capacity=_of_cpu(root, cpu, _CAPACITY),
            max_frequency=_of_cpu(root, cpu, _FREQUENCY, 1000),
            base_frequency=_base_frequency(root, cpu),
            busy=busy.get(cpu),
        )
        for cpu in allowed
    )
    found = list(quotas(root))
    quota, quota_source = min(found, key=lambda pair: pair[0], default=(math.inf, ""))
    model = value(read(root, "proc/cpuinfo"), "model name") or read(root, "proc/device-tree/model").strip("\0\n ")
    return dict(
        model=model or None,
        logical=logical,
        online=len(online),
        caches=_caches(root, allowed),
        memory=1024 * (natural(value(read(root, "proc/meminfo"), "MemTotal").removesuffix("kB")) or 0) or None,
        type_source=type_source,
        quota=None if quota == math.inf else quota,
        quota_source="" if quota == math.inf else quota_source,
        cpuset_source=source,
        load=load(read(root, "proc/loadavg")),
        unknown=[
            *(["online"] if guessed and root != "/" else []),
            *([] if masked else ["affinity"]),
            *([] if compared else ["type"]),
            *([] if found else ["quota"]),
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


def _of_cpu(root: str, cpu: int, file: str, unit: int = 1) -> int | None:
    """What a file of a cpu counts in that unit; None where it says 0 or nothing."""
    return (natural(read(root, f"{_CPUS}/cpu{cpu}/{file}")) or 0) * unit or None


def _base_frequency(root: str, cpu: int) -> int | None:
    return _of_cpu(root, cpu, "cpufreq/base_frequency", 1000) or _of_cpu(root, cpu, "acpi_cppc/nominal_freq", 10**6)


def _types(root: str, online: tuple[int, ...]) -> tuple[dict[int, str], str, bool]:
    """The types of the cpus, what told, and whether there was anything that could have. Cpus that are not allowed count: those
    that are may all be of one type."""
    lists = {device: cpu_list(read(root, f"sys/devices/{device}/cpus")) for device in _DEVICES}
    listed = {cpu: _DEVICES[device] for device, cpus in lists.items() for cpu in cpus}
    if len(set(listed.values())) == 2:
        return listed, " and ".join(device for device, cpus in lists.items() if cpus), True
    compared = False
    for source, file in (
        ("cpu_capacity", _CAPACITY),
        ("max frequencies, a hint", _FREQUENCY),
        ("acpi_cppc highest_perf, a hint", "acpi_cppc/highest_perf"),
    ):
        speeds = {cpu: speed for cpu in online if (speed := _of_cpu(root, cpu, file)) is not None}
        if len(speeds) == len(online):
            compared = True
            if found := split_types(speeds):
                return found, source, True
    return {}, "", compared


def split_types(speeds: dict[int, int]) -> dict[int, str]:
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
                ways = natural(read(root, f"{directory}/ways_of_associativity")) or None
                found.append(Cache(level, kind, kib * 1024 if kib else None, line, shared, ways))
                seen.update((other, level, kind) for other in shared or ())
            index += 1
    return tuple(sorted(found, key=lambda cache: (cache.level, cache.type)))


def load(text: str) -> tuple[float, ...] | None:
    """The first three numbers, over 1, 5 and 15 minutes; None if they are none."""
    try:
        one, five, fifteen = map(float, text.split()[:3])
    except ValueError:
        return None
    return one, five, fifteen


class Ticks(NamedTuple):
    """Of a cpu's time since the system was started: idle, taken by a hypervisor while it had work to do, and all."""

    idle: int
    stolen: int
    total: int


def ticks(root: str = "/") -> dict[int, Ticks]:
    """Those of each cpu; {} where there is no /proc/stat. Guests' are in users' already."""
    found = {}
    for line in read(root, "proc/stat").splitlines():
        name, *numbers = line.split()
        cpu, known = natural(name.removeprefix("cpu")), [natural(number) or 0 for number in numbers[:8]]
        if name.startswith("cpu") and cpu is not None and len(known) > 4:
            found[cpu] = Ticks(known[3] + known[4], sum(known[7:]), sum(known))
    return found


def _busy(root: str, seconds: float) -> dict[int, float]:
    before = ticks(root)
    time.sleep(seconds)
    after = ticks(root)
    busy = {}
    for cpu in before.keys() & after.keys():
        idle, _, total = (end - start for start, end in zip(before[cpu], after[cpu], strict=True))
        if total > 0:
            busy[cpu] = min(1.0, max(0.0, 1 - idle / total))
    return busy


# ---- control groups ---------------------------------------------------------------------------------------------


def quotas(root: str) -> Iterator[tuple[float, str]]:
    """(cpus' worth, source) of the process's cgroups and all their ancestors; infinite where there is no limit."""
    for version, directory, group in _groups(root, "cpu"):
        if version == 2:
            quota, _, period = read(root, f"{directory}/cpu.max").partition(" ")
            yield _ratio(quota, period), f"cgroup v2 {group} cpu.max"
        else:
            quota, period = (read(root, f"{directory}/cpu.cfs_{name}_us") for name in ("quota", "period"))
            yield _ratio(quota, period), f"cgroup v1 {group} cpu.cfs_quota_us"


def cpuset(root: str) -> tuple[tuple[int, ...], str]:
    """The cpus of the nearest cgroup that says which, and its source. Its ancestors need not have them: a partition takes its
    cpus from its parent."""
    names = {2: ("cpuset.cpus.effective",), 1: ("cpuset.effective_cpus", "cpuset.cpus")}
    for version, directory, group in _groups(root, "cpuset"):
        for name in names[version]:
            if cpus := cpu_list(read(root, f"{directory}/{name}")):
                return cpus, f"cgroup v{version} {group} {name}"
    return (), ""


def memory_room(root: str = "/") -> int:
    """Bytes in which the system may keep files: what is available, or the tightest cgroup limit if that is less."""
    room = 2**62
    if available := value(read(root, "proc/meminfo"), "MemAvailable"):
        room = 1024 * (natural(available.replace("kB", "").strip()) or 0)
    for version, directory, _ in _groups(root, "memory"):
        name = "memory.max" if version == 2 else "memory.limit_in_bytes"
        room = min(room, natural(read(root, f"{directory}/{name}")) or room)
    return room


def _ratio(quota: str, period: str) -> float:
    """Cpus' worth of a quota; infinite for "max", -1 and whatever is not two positive integers."""
    numerator, denominator = natural(quota), natural(period)
    return numerator / denominator if numerator and denominator else float("inf")


def _groups(root: str, controller: str) -> Iterator[tuple[int, str, str]]:
    """(version, directory, name) of the process's groups in the hierarchies that may have the controller, inside out."""
    for line in read(root, "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from ((2, *found) for found in _ancestors(root, path, "cgroup2", ""))
        elif controller in controllers.split(","):
            yield from ((1, *found) for found in _ancestors(root, path, "cgroup", controller))


def _ancestors(root: str, path: str, kind: str, controller: str) -> Iterator[tuple[str, str]]:
    """(directory, name) of a cgroup and of its ancestors, where the hierarchy is mounted."""
    mounts: dict[str, str] = {}  # mount point -> the group that is seen there
    for line in read(root, "proc/self/mountinfo").splitlines():
        head, _, tail = line.partition(" - ")
        fields, source = head.split(" "), tail.split(" ")
        if len(fields) < 6 or len(source) < 3 or source[0] != kind:
            continue
        if not controller or controller in source[2].split(","):
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


# ---- text -------------------------------------------------------------------------------------------------------


def read(root: str, path: str) -> str:
    """A file's text; "" if it cannot be read."""
    try:
        return read_regular(os.path.join(root, path.lstrip("/"))).decode(errors="surrogateescape")
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return ""


def value(text: str, key: str) -> str:
    """Of the first "key : value" line; "" without one."""
    for line in text.splitlines():
        name, _, found = line.partition(":")
        if name.strip() == key:
            return found.strip()
    return ""


def natural(text: str) -> int | None:
    """A number in decimal digits; None for anything else."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def cpu_list(text: str) -> tuple[int, ...]:
    """Parse "0-3,8"; () if it is anything else."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = natural(first), natural(last if dash else first)
        if low is None or high is None or not low <= high < MOST_CPUS:
            return ()
        cpus.update(range(low, high + 1))
    return tuple(sorted(cpus))


def ranges(cpus: Iterable[int]) -> str:
    """The inverse: "0-3,8"."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
