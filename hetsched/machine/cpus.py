"""Logical cpus and caches."""

from __future__ import annotations

from dataclasses import dataclass


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
    ways : int or None
        Its associativity.
    """

    level: int
    type: str
    bytes: int | None
    line: int | None
    shared_by: tuple[int, ...] | None
    ways: int | None = None
