"""Facts that Linux gives in /proc and /sys, under any root: cpus, caches, control groups, load."""

from __future__ import annotations

import errno
import math
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from .._base.regular import read_regular, unescape_mount
from .cpus import Cache, Cpu
from .mask import cpus as cpus_of_thread

_CPUS, _NODES = "sys/devices/system/cpu", "sys/devices/system/node"
_CAPACITY, _FREQUENCY = "cpu_capacity", "cpufreq/cpuinfo_max_freq"  # files of a cpu
#: Counter devices by which Intel's hybrid processors list their cpus by type.
_DEVICES = {"cpu_core": "performance", "cpu_atom": "efficiency", "cpu_lowpower": "efficiency"}
#: Cores are of two types if the slower ones have at most this fraction of the speed of the others.
#: Cores of one type differ by less: the boost of favoured cores is some 10 % higher, and their
#: ranks differ in small steps.
_GAP = 0.8
MOST_CPUS = 2**20  # a text that claims more is not a list of cpus
MOST_ONLINE = 2**16  # cpus of a machine: eight times what Linux can be built for
_MOST_BYTES = 2**26  # of a file in a tree: several times the /proc/cpuinfo of the largest machine
_MOST_CACHES = 10  # of a cpu
#: Lists in the topology of a cpu, each with its name since Linux 5.3 and the one before.
_CORE, _PACKAGE = ("core_cpus", "thread_siblings"), ("package_cpus", "core_siblings")
#: Errors for files that no recorded tree has: pipes and devices, sockets, loops of links, files
#: that are too large.
_REFUSED = (errno.EINVAL, errno.ENXIO, errno.ELOOP, errno.EFBIG)


def facts(root: str, sample: float) -> dict[str, Any]:
    """The fields of a Topology."""
    online = _online(root)
    allowed, source, masked = _allowed(root, online)
    types, type_source, compared = _types(root, online)
    there = frozenset(online)
    siblings = {cpu: _both(cpus, there) for cpu in allowed if (cpus := _beside(root, cpu, _CORE))}
    packages = _packages(root, online)
    nodes = _nodes(root)
    busy = _busy(root, sample) if sample else {}
    logical = tuple(
        Cpu(
            number=cpu,
            core=min(siblings[cpu]) if cpu in siblings else None,
            package=packages.get(cpu),
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
    model = value(read(root, "proc/cpuinfo"), "model name") or read(root, "proc/device-tree/model")
    return dict(
        model=model or None,
        logical=logical,
        online=len(online),
        caches=_caches(root, allowed, there, siblings),
        memory=1024
        * (natural(value(read(root, "proc/meminfo"), "MemTotal").removesuffix("kB")) or 0)
        or None,
        type_source=type_source,
        quota=None if quota == math.inf else quota,
        quota_source="" if quota == math.inf else quota_source,
        cpuset_source=source,
        load=load(read(root, "proc/loadavg")),
        unknown=[
            *([] if masked else ["affinity"]),
            *([] if compared else ["type"]),
            *([] if found else ["quota"]),
        ],
    )


def _allowed(root: str, online: tuple[int, ...]) -> tuple[tuple[int, ...], str, bool]:
    """The cpus of the affinity mask that are in the cpuset, the source of the cpuset if it leaves
    fewer cpus, and whether there is a mask."""
    mask: tuple[int, ...] = ()
    if root != "/":
        status = read(root, "proc/self/status")
        listed = _as_cpus(
            root, "Cpus_allowed_list in proc/self/status", value(status, "Cpus_allowed_list")
        )
        if listed is None:
            listed = _as_cpus(
                root, "Cpus_allowed in proc/self/status", value(status, "Cpus_allowed"), masked=True
            )
        mask = _both(online, frozenset(listed or ()))  # cpus that are not there are listed too
    else:
        mask = tuple(sorted(cpus_of_thread()))
    cpus, source = cpuset(root)
    both = _both(mask or online, frozenset(cpus))
    # This is rare, because the kernel keeps the mask inside the cpuset.
    if both and len(both) < len(mask or online):
        return both, source, bool(mask)
    return mask or online, source if cpus and len(cpus) < len(online) else "", bool(mask)


def _online(root: str) -> tuple[int, ...]:
    """The cpus that are online.

    A recorded tree may lack the list, which Linux has had since 2.6.26. Then they are the cpus of
    the cpu folders, or else of /proc/cpuinfo.
    """
    online = _cpus_in(root, f"{_CPUS}/online")
    if root == "/":
        return online or tuple(range(os.cpu_count() or 1))
    if online is None:
        online = tuple(
            cpu
            for cpu in _numbered(root, _CPUS, "cpu")
            if _is_online(root, f"{_CPUS}/cpu{cpu}/online")
        )
    if not online:
        online = cpu_list(
            ",".join(re.findall(r"^processor\s*:?\s*(\d+)", read(root, "proc/cpuinfo"), re.M))
        )
    if not online:
        raise ValueError(
            f"{root} must have the tree of a recorded machine: no {_CPUS}/online, cpu0 or"
            " proc/cpuinfo says its cpus"
        )
    if len(online) > MOST_ONLINE:
        raise ValueError(
            f"{root}: {_CPUS}/online must list at most {MOST_ONLINE} cpus, it lists {len(online)}"
        )
    return online


def _is_online(root: str, file: str) -> bool:
    """Whether a cpu is online by its file. A cpu that cannot be taken offline has no file."""
    text = read(root, file)
    if text not in ("", "0", "1") and root != "/":
        raise ValueError(f"{root}: {file} must be 0 or 1, got {text!r:.60}")
    return text != "0"


def _packages(root: str, online: tuple[int, ...]) -> dict[int, int | None]:
    """The package of each cpu: its number, or its lowest cpu if a package has no number of its own.

    The number is -1 on POWER and Arm. The sockets of an s390 have the same numbers in each book.
    """
    numbers = {
        cpu: natural(read(root, f"{_CPUS}/cpu{cpu}/topology/physical_package_id")) for cpu in online
    }
    first: dict[int, int] = {}
    for cpu in online:
        if cpu not in first:
            own = _beside(root, cpu, _PACKAGE)
            if not own:
                return numbers
            for other in own:
                first.setdefault(other, cpu)
    of_packages = [numbers[cpu] for cpu in online if first[cpu] == cpu]
    if None not in of_packages and len(set(of_packages)) == len(of_packages):
        return {cpu: numbers[first[cpu]] for cpu in online}
    return {cpu: first[cpu] for cpu in online}


def _beside(root: str, cpu: int, names: Iterable[str]) -> tuple[int, ...]:
    """The cpus beside a cpu, by the first of these files of its topology that contains the cpu
    itself. Each name stands for a list of cpus, or else for a mask; () if no file does."""
    for name in names:
        path = f"{_CPUS}/cpu{cpu}/topology/{name}"
        if cpus := _own(root, cpu, f"{path}_list", path):
            return cpus
    return ()


def _own(root: str, cpu: int, path: str, mask: str) -> tuple[int, ...] | None:
    """The cpus of a list, or else of a mask, that contains the cpu itself.

    The result is () if neither contains it, None if neither exists.
    """
    listed = _as_cpus(root, path, read(root, path))
    if listed is not None and cpu in listed:
        return listed
    masked = _as_cpus(root, mask, read(root, mask), masked=True)
    if masked is not None and cpu in masked:
        return masked
    return None if listed is None and masked is None else ()


def _nodes(root: str) -> dict[int, int]:
    """The node of each cpu. If a cpu is in several nodes, it is the node with the fewest cpus, and
    the first of equal ones."""
    listed = _cpus_in(root, f"{_NODES}/online")
    cpus = {
        node: _cpus_in(root, f"{_NODES}/node{node}/cpulist", f"{_NODES}/node{node}/cpumap") or ()
        for node in _numbered(root, _NODES, "node")
        if listed is None or node in listed
    }
    return {
        cpu: node
        for node in sorted(cpus, key=lambda node: (-len(cpus[node]), -node))
        for cpu in cpus[node]
    }


def _of_cpu(root: str, cpu: int, file: str, unit: int = 1) -> int | None:
    """The count in a file of a cpu, times the unit; None if it is 0 or missing."""
    return (natural(read(root, f"{_CPUS}/cpu{cpu}/{file}")) or 0) * unit or None


def _base_frequency(root: str, cpu: int) -> int | None:
    return _of_cpu(root, cpu, "cpufreq/base_frequency", 1000) or _of_cpu(
        root, cpu, "acpi_cppc/nominal_freq", 10**6
    )


def _types(root: str, online: tuple[int, ...]) -> tuple[dict[int, str], str, bool]:
    """The types of the cpus, the source of this information, and whether there was any source that
    could tell.

    Cpus that are not allowed count, too, because the allowed cpus may all be of one type.
    """
    lists = {device: _cpus_in(root, f"sys/devices/{device}/cpus") or () for device in _DEVICES}
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
    """Divide cpus into two types at the widest relative gap between speeds; {} if no gap is as wide
    as _GAP."""
    steps = sorted(set(speeds.values()))
    ratio, cut = min(
        ((low / high, high) for low, high in zip(steps, steps[1:], strict=False)), default=(1.0, 0)
    )
    if ratio > _GAP:
        return {}
    return {cpu: "performance" if speed >= cut else "efficiency" for cpu, speed in speeds.items()}


def _caches(
    root: str, allowed: Iterable[int], online: Collection[int], siblings: dict[int, tuple[int, ...]]
) -> tuple[Cache, ...]:
    found: list[Cache] = []
    seen: set[tuple[int, int, str]] = set()  # (cpu, level, type)
    for cpu in allowed:
        for index in range(_MOST_CACHES):
            directory = f"{_CPUS}/cpu{cpu}/cache/index{index}"
            if not (text := read(root, f"{directory}/level")):
                break
            level, kind = natural(text), read(root, f"{directory}/type").lower() or "unified"
            if (
                kind in ("data", "instruction", "unified")
                and level
                and (cpu, level, kind) not in seen
            ):
                shared = _own(
                    root, cpu, f"{directory}/shared_cpu_list", f"{directory}/shared_cpu_map"
                )
                if shared is not None:
                    # the masks are empty on IA-64
                    shared = _both(shared or siblings.get(cpu, ()), online) or None
                size = read(root, f"{directory}/size")
                kib = natural(size.removesuffix("K")) if size.endswith("K") else None
                line = natural(read(root, f"{directory}/coherency_line_size")) or None
                ways = natural(read(root, f"{directory}/ways_of_associativity")) or None
                found.append(Cache(level, kind, kib * 1024 if kib else None, line, shared, ways))
                seen.update((other, level, kind) for other in shared or ())
    return tuple(sorted(found, key=lambda cache: (cache.level, cache.type)))


def load(text: str) -> tuple[float, ...] | None:
    """The load averages over 1, 5 and 15 minutes: the first three numbers. None if the text has no
    such numbers."""
    try:
        one, five, fifteen = map(float, text.split()[:3])
    except ValueError:
        return None
    return one, five, fifteen


class Ticks(NamedTuple):
    """A cpu's time since the system was started: idle, taken by a hypervisor while the cpu had work
    to do, and total."""

    idle: int
    stolen: int
    total: int


def ticks(root: str = "/") -> dict[int, Ticks]:
    """The ticks of each cpu; {} without /proc/stat. The time of guests is already part of the time
    of users."""
    found = {}
    for line in read(root, "proc/stat").splitlines():
        name, *numbers = line.split() or [""]
        cpu = natural(name.removeprefix("cpu"))
        known = [natural(number) or 0 for number in numbers[:8]]
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


# ---- control groups ------------------------------------------------------------------------------


def quotas(root: str) -> Iterator[tuple[float, str]]:
    """(number of cpus, source) for the process's cgroups and all their ancestors; infinite if there
    is no limit."""
    for version, directory, group in _groups(root, "cpu"):
        if version == 2:
            quota, _, period = read(root, f"{directory}/cpu.max").partition(" ")
            yield _ratio(quota, period), f"cgroup v2 {group} cpu.max"
        else:
            quota = read(root, f"{directory}/cpu.cfs_quota_us")
            period = read(root, f"{directory}/cpu.cfs_period_us")
            yield _ratio(quota, period), f"cgroup v1 {group} cpu.cfs_quota_us"


def cpuset(root: str) -> tuple[tuple[int, ...], str]:
    """The cpus of the nearest cgroup that lists them, and the source.

    The ancestors of this cgroup need not have these cpus: a partition takes its cpus from its
    parent.
    """
    # "cpus" is the name in a hierarchy that is mounted with noprefix.
    names = {2: ("cpuset.cpus.effective",), 1: ("cpuset.effective_cpus", "cpuset.cpus", "cpus")}
    for version, directory, group in chain(_groups(root, "cpuset"), _named_cpuset(root)):
        for name in names[version]:
            if cpus := _cpus_in(root, f"{directory}/{name}"):
                return cpus, f"cgroup v{version} {group} {name}"
    return (), ""


def _named_cpuset(root: str) -> Iterator[tuple[int, str, str]]:
    """The cpuset that /proc/self/cpuset names, in the form of `_groups`.

    It is for kernels before cgroups and for trees without /proc/self/cgroup.
    """
    if name := read(root, "proc/self/cpuset"):
        for version, kind, controller in (
            (2, "cgroup2", ""),
            (1, "cgroup", "cpuset"),
            (1, "cpuset", ""),
        ):
            yield from ((version, *found) for found in _ancestors(root, name, kind, controller))


def memory_room(root: str = "/") -> int:
    """Bytes in which the system may keep files: the available memory, or the tightest cgroup limit
    if that is less."""
    room = 2**62
    if available := value(read(root, "proc/meminfo"), "MemAvailable"):
        room = 1024 * (natural(available.replace("kB", "").strip()) or 0)
    for version, directory, _ in _groups(root, "memory"):
        name = "memory.max" if version == 2 else "memory.limit_in_bytes"
        room = min(room, natural(read(root, f"{directory}/{name}")) or room)
    return room


def _ratio(quota: str, period: str) -> float:
    """The number of cpus of a quota; infinite for "max", -1 and anything but two positive
    integers."""
    numerator, denominator = natural(quota), natural(period)
    return numerator / denominator if numerator and denominator else float("inf")


def _groups(root: str, controller: str) -> Iterator[tuple[int, str, str]]:
    """(version, directory, name) of the process's groups in the hierarchies that may have the
    controller, innermost first."""
    for line in read(root, "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield from ((2, *found) for found in _ancestors(root, path, "cgroup2", ""))
        elif controller in controllers.split(","):
            yield from ((1, *found) for found in _ancestors(root, path, "cgroup", controller))


def _ancestors(root: str, path: str, kind: str, controller: str) -> Iterator[tuple[str, str]]:
    """(directory, name) of a cgroup and of its ancestors, where the hierarchy is mounted."""
    mounts = {
        point: top
        for point, top, type_, options in _mounts(root)
        if type_ == kind and (not controller or controller in options)
    }
    views = [
        (point, top, inner)
        for point, top in mounts.items()
        if (inner := _inside(path, top)) is not None
    ]
    # In a container the mount may not show the group that /proc/self/cgroup names. Its top is the
    # nearest known group.
    if not views:
        views = [(point, top, []) for point, top in list(mounts.items())[:1]]
    for point, top, inner in views:
        for depth in range(len(inner), -1, -1):
            below = "/".join(inner[:depth])
            yield f"{point}/{below}", f"{top.rstrip('/')}/{below}".rstrip("/") or "/"


def _mounts(root: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """(mount point, group that is visible there, type, options) of each mount."""
    if text := read(root, "proc/self/mountinfo"):
        for line in text.splitlines():
            head, _, tail = line.partition(" - ")
            fields, source = head.split(" "), tail.split(" ")
            if len(fields) >= 6 and len(source) >= 3:
                yield (
                    unescape_mount(fields[4]),
                    unescape_mount(fields[3]),
                    source[0],
                    source[2].split(","),
                )
        return
    # hwloc-gather-topology records this file instead.
    for line in read(root, "proc/mounts").splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:
            yield unescape_mount(fields[1]), "/", fields[2], fields[3].split(",")


def _inside(path: str, top: str) -> list[str] | None:
    """The names that lead from the group `top` down to `path`; None if path is not under it."""
    prefix = top.rstrip("/") + "/"
    names = [name for name in path[len(prefix) :].split("/") if name]
    return names if (path + "/").startswith(prefix) and ".." not in names else None


# ---- text ----------------------------------------------------------------------------------------


def read(root: str, path: str) -> str:
    """A file's text, without white space and NULs at its end; "" if it cannot be read.

    Raises OSError if a file of a recorded tree is of a kind that no such tree has: a pipe, a
    device, a loop of links, or a file that is too large.
    """
    inner = path.lstrip("/")
    if ".." in inner.split("/"):  # the tree names a mount point outside itself
        return ""
    try:
        data = read_regular(os.path.join(root, inner), _MOST_BYTES)
    except ValueError:  # a NUL in the path
        return ""
    except OSError as error:
        if root != "/" and error.filename is not None and error.errno in _REFUSED:
            raise
        return ""
    return data.decode(errors="surrogateescape").rstrip("\0 \t\r\n")


def _numbered(root: str, directory: str, name: str) -> tuple[int, ...]:
    """The numbers of the directory entries with a name that is `name` and a number."""
    try:
        entries = os.listdir(os.path.join(root, directory))
    except OSError:
        return ()
    numbers = (natural(entry.removeprefix(name)) for entry in entries if entry.startswith(name))
    return tuple(sorted(number for number in numbers if number is not None and number < MOST_CPUS))


def _cpus_in(root: str, path: str, mask: str = "") -> tuple[int, ...] | None:
    """The cpus of a list or, if there is no list, of a mask beside it; None if there is neither."""
    cpus = _as_cpus(root, path, read(root, path))
    return _as_cpus(root, mask, read(root, mask), masked=True) if cpus is None and mask else cpus


def _as_cpus(root: str, where: str, text: str, masked: bool = False) -> tuple[int, ...] | None:
    """The cpus of a list or of a mask; None without text. ValueError if a recorded tree has
    something else there."""
    if not text:
        return None
    cpus = cpu_mask(text) if masked else cpu_list(text) or None
    if cpus is None and root != "/":
        form = 'words of 32 bits such as "1,000000ff"' if masked else 'a list such as "0-3,8"'
        raise ValueError(
            f"{root}: {where} must be {form}, of cpus below {MOST_CPUS}, got {text!r:.60}"
        )
    return cpus


def value(text: str, key: str) -> str:
    """The value of the first "key : value" line; "" if there is none."""
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
    listed = 0
    for part in text.split(",") if len(text) <= MOST_CPUS else ("",):
        first, dash, last = part.partition("-")
        low, high = natural(first), natural(last if dash else first)
        if low is None or high is None or not low <= high < MOST_CPUS:
            return ()
        listed += high - low + 1
        if listed > 2 * MOST_CPUS:  # an endless list of overlapping ranges
            return ()
        cpus.update(range(low, high + 1))
    return tuple(sorted(cpus))


def cpu_mask(text: str) -> tuple[int, ...] | None:
    """Parse "1,000000ff", words of 32 bits in hexadecimal digits, the highest first; None if it is
    anything else."""
    words = text.strip().split(",")
    if len(words) > MOST_CPUS // 32 or not all(
        re.fullmatch("[0-9a-fA-F]{1,8}", word) for word in words
    ):
        return None
    bits = int("".join(word.zfill(8) for word in words), 16)
    return tuple(one.start() for one in re.finditer("1", f"{bits:b}"[::-1]))


def _both(one: Iterable[int], other: Collection[int]) -> tuple[int, ...]:
    """The numbers of `one` that are in `other`, too."""
    return tuple(number for number in one if number in other)


def ranges(cpus: Iterable[int]) -> str:
    """Format cpus as "0-3,8", the inverse of `cpu_list`."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
