"""Reads sysctl on macOS: numbers of cores of each type, caches, load."""

from __future__ import annotations

import os
import sys
from typing import Any

from .cpus import Cache, Cpu
from .linux import MOST_ONLINE, load, natural, read, value

_MOST_LEVELS = 16  # most kinds of core


def sysctl(root: str) -> str:
    """Output of the command; "" on other systems."""
    if root != "/":
        return read(root, "sysctl.txt")
    if sys.platform != "darwin":
        return ""
    import subprocess

    command = ["/usr/sbin/sysctl", "hw", "machdep.cpu.brand_string", "vm.loadavg"]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=False, env={"LC_ALL": "C"}
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


def facts(root: str, text: str) -> dict[str, Any]:
    """The fields of a Topology, from the output of sysctl.

    macOS neither numbers its cpus nor pins threads to them. Raises ValueError if a recorded output
    of another machine lacks the number of cpus.
    """

    def number(name: str) -> int | None:
        return natural(value(text, name)) or None

    prefixes = [
        f"hw.perflevel{level}." for level in range(min(number("hw.nperflevels") or 0, _MOST_LEVELS))
    ]
    complete = prefixes and all(number(f"{prefix}logicalcpu") for prefix in prefixes)
    levels = prefixes if complete else ["hw."]
    logical: list[Cpu] = []
    caches: list[Cache] = []
    for i, prefix in enumerate(levels):
        cpus = number(f"{prefix}logicalcpu")
        if root != "/" and (cpus is None or cpus > MOST_ONLINE):
            raise ValueError(
                f"{root}: sysctl.txt must have {prefix}logicalcpu from 1 to {MOST_ONLINE}, got"
                f" {cpus}"
            )
        cpus = cpus or os.cpu_count() or 1
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
                    siblings=(
                        None if own is None or threads is None else tuple(range(own, own + threads))
                    ),
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
                groups = (
                    [tuple(numbers[k : k + sharing]) for k in range(0, cpus, sharing)]
                    if sharing
                    else [None]
                )
                caches += [Cache(level, cache_type, size, line, group) for group in groups]
    # Intel Macs have one type of core.
    known = complete or (
        not prefixes and value(text, "machdep.cpu.brand_string").startswith("Intel")
    )
    return dict(
        model=value(text, "machdep.cpu.brand_string") or None,
        logical=tuple(logical),
        online=len(logical),
        caches=tuple(sorted(caches, key=lambda cache: (cache.level, cache.type))),
        memory=number("hw.memsize"),
        type_source="hw.perflevel" if len(levels) > 1 else "",
        quota=None,
        quota_source="",
        cpuset_source="",
        load=load(value(text, "vm.loadavg").strip("{} ")),
        unknown=["cpu numbers", *([] if known else ["type"])],
    )


def _level_type(name: str, level: int) -> str:
    """Type of the cores of a performance level. A lower level is faster."""
    usual = "efficiency" if level else "performance"  # if the name is neither of the two
    return name.lower() if name.lower() in ("performance", "efficiency") else usual
