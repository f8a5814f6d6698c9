"""What Linux says in /proc and /sys, parsed, under any root: values, lists of cpus, control groups."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\"))  # the backslash last
_MOST_CPUS = 2**20  # what claims more is no list of cpus


def read(root: str, path: str) -> str:
    """A file's text; "" if it cannot be read."""
    try:
        with open(os.path.join(root, path.lstrip("/")), encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
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
        if low is None or high is None or not low <= high < _MOST_CPUS:
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
