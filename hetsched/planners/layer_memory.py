"""Memory that layers of a product need at a worker: section 3.3 of the layer-based partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._engine.layers import layers_room
from ..platform import Platform


def elements_of(given: Any) -> tuple[int | None, ...] | None:
    """The memory of a Platform that has a unit, else None.

    The unit says how large the memory is. Without a unit, memory is in blocks of any size.
    """
    return given.memory if isinstance(given, Platform) and given.unit is not None else None


def memory_of(given: Any, shape: tuple[int, ...], of: str = "worker") -> NDArray[np.float64]:
    """Elements that each worker (or `of`) can hold; infinite without a limit."""
    if given is None:
        return np.full(shape, np.inf)
    if isinstance(given, list | tuple):
        given = [np.inf if own is None else own for own in given]
    memory = check.reals(
        lambda: f"memory must be a number or an array of numbers, got {given!r}", given
    )
    if not (memory >= 0).all():
        i, where = check.first(~(memory >= 0))
        raise ValueError(f"memory{where} must not be negative, got {memory[i]:g}")
    try:
        return np.broadcast_to(memory, shape).copy()
    except ValueError:
        raise ValueError(
            f"memory of shape {memory.shape} does not broadcast to {shape}, a number for each {of}"
        ) from None


def completed(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The current keys of a plan, for a file from before layers had memory limits."""
    counts = content.get("counts")
    if {"memory", "disk"} & set(content) or not isinstance(counts, list):
        return content
    workers = sum(len(row) if isinstance(row, list) else 1 for row in counts)
    return {**content, "memory": ["Infinity"] * workers, "disk": False}


def beside(n: int, disk: bool) -> int:
    """Elements that a worker holds besides its columns of A and rows of B.

    These are its layer, or with `disk` the row of it that is written next.
    """
    return n if disk else n**2


def room_of(n: int, memory: NDArray[np.float64], taken: int) -> NDArray[np.int64]:
    """Layers with operands that each worker can hold besides `taken` elements, from 0 to n."""
    return layers_room(n, taken, memory)


def too_little(n: int, disk: bool, held: int, where: str = "") -> str:
    """Text for an InfeasibleError: why the layers do not fit."""
    hint = "" if disk else "; with disk=True, workers keep these on disk"
    return (
        f"memory{where} has room for {held} of {n} layers: each layer takes {2 * n} elements at its"
        f" worker, which holds {beside(n, disk)} elements more{hint}"
    )


def require_fit(names: tuple[str, ...], held: NDArray[Any], memory: NDArray[np.float64]) -> None:
    """ValueError if a worker of another platform has less memory than the plan needs there.

    The rounding of flows is allowed for.
    """
    if (less := memory * (1 + 1e-9) < held).any():
        i = int(np.argmax(less))
        raise ValueError(
            f"plan needs {held[i]:.15g} elements of memory at worker {names[i]}, which has"
            f" {memory[i]:.15g}"
        )
