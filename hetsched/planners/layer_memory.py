"""What layers of a product take of a worker's memory: section 3.3 of the layer-based partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import check
from ..platform import Platform


def elements_of(given: Any) -> tuple[int | None, ...] | None:
    """The memory of a Platform whose unit says of how much; without one it is in blocks of any size."""
    return given.memory if isinstance(given, Platform) and given.unit is not None else None


def memory_of(given: Any, shape: tuple[int, ...], of: str = "worker") -> NDArray[np.float64]:
    """Elements that each worker (or what they are called) can hold, infinite where there is no limit."""
    if given is None:
        return np.full(shape, np.inf)
    if isinstance(given, list | tuple):
        given = [np.inf if own is None else own for own in given]
    memory = check.reals(lambda: f"memory must be a number or an array of numbers, got {given!r}", given)
    if not (memory >= 0).all():
        i, where = check.first(~(memory >= 0))
        raise ValueError(f"memory{where} must not be negative, got {memory[i]:g}")
    try:
        return np.broadcast_to(memory, shape).copy()
    except ValueError:
        raise ValueError(f"memory of shape {memory.shape} does not broadcast to {shape}, a number for each {of}") from None


def completed(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A plan's keys as they are now, of a file from before memory limited layers."""
    counts = content.get("counts")
    if {"memory", "disk"} & set(content) or not isinstance(counts, list):
        return content
    workers = sum(len(row) if isinstance(row, list) else 1 for row in counts)
    return {**content, "memory": ["Infinity"] * workers, "disk": False}


def beside(n: int, disk: bool) -> int:
    """Elements that a worker holds beside its columns of A and rows of B: its layer, or the row of it that is written next."""
    return n if disk else n**2


def room_of(n: int, memory: NDArray[np.float64], taken: int) -> NDArray[np.int64]:
    """Layers of which each worker can hold the operands, beside the elements that are taken; 0 to n."""
    room: NDArray[np.int64] = np.clip((np.minimum(memory, 2.0**62).astype(np.int64) - taken) // max(2 * n, 1), 0, n)
    return room


def too_little(n: int, disk: bool, held: int, where: str = "") -> str:
    """Why layers do not fit, for an InfeasibleError."""
    hint = "" if disk else "; with disk=True they would keep that on their disks"
    return (
        f"memory{where} is for {held} of {n} layers: each takes {2 * n} elements at its worker, who holds {beside(n, disk)} "
        f"more{hint}"
    )


def require_fit(names: tuple[str, ...], held: NDArray[Any], memory: NDArray[np.float64]) -> None:
    """ValueError where a worker of another platform has less memory than a plan holds there; up to the rounding of flows."""
    if (less := memory * (1 + 1e-9) < held).any():
        i = int(np.argmax(less))
        raise ValueError(f"plan needs {held[i]:.15g} elements of memory at worker {names[i]}, which has {memory[i]:.15g}")
