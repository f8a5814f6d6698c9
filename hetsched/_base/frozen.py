"""Results are immutable, wherever they come from, and equal if their values are equal."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from . import check


class Frozen:
    """A frozen dataclass with arrays: equal by value, also read-only after pickling or copying."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make arrays read-only again: they come back writable from pickling or copying."""
        self.__dict__.update({name: _frozen(value) for name, value in state.items()})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        compared = [f.name for f in fields(self) if f.compare]  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in compared)

    def __hash__(self) -> int:
        values = (getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return hash((type(self), *(v for v in values if isinstance(v, str | float | int))))


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return check.frozen(value)
    if isinstance(value, tuple) and any(isinstance(inner, np.ndarray) for inner in value):
        return getattr(value, "_make", tuple)(map(_frozen, value))
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and np.array_equal(a, b)
        )
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)
