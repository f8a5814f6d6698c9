"""Logical cpus and caches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cpu:
    """A logical cpu. Values that the system does not report are None.

    Attributes
    ----------
    number : int
        Number given by the system. macOS has no numbers: there it is a label, with the fastest
        cores first.
    core : int or None
        Physical core: the lowest number among the core's cpus.
    package, node : int or None
        Socket and NUMA node.
    siblings : tuple of int or None
        Online cpus of the same physical core (SMT), including this one.
    type : str
        "performance" or "efficiency"; "unknown" if the types cannot be told apart.
    capacity : int or None
        The operating system kernel's estimate of the speed; 1024 for the fastest cpu.
    max_frequency, base_frequency : int or None
        In Hz.
    busy : float or None
        Fraction of the sampled time in which the cpu was not idle; None if not sampled.
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
        Size of the cache and of a cache line.
    shared_by : tuple of int or None
        Online cpus that share the cache.
    ways : int or None
        Associativity.
    """

    level: int
    type: str
    bytes: int | None
    line: int | None
    shared_by: tuple[int, ...] | None
    ways: int | None = None
