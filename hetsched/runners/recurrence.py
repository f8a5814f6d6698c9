"""Recurrences over a matrix: the rule for each element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._base.frozen import Frozen
from .._engine import run as engine
from .operands import Array

RULES = tuple(engine.STENCIL_RULES)

#: In Python: a callable that takes the array and the row, column, height and width of a tile.
#: In C: the addresses of an hs_tile_function and of its context.
Kernel = Callable[[Array, int, int, int, int], object] | tuple[int, int]


@dataclass(frozen=True, eq=False)
class Stencil(Frozen):
    """An update of each element from its 3 x 3 neighbourhood, in place.

    It goes row by row, or column by column if the plan's mask has "SW". Neighbours that come
    earlier in this order have their new values, the other ones their old values. Neighbours outside
    the matrix do not count.

    Parameters
    ----------
    weights : (3, 3) array_like
        Weights of the neighbours, with the element itself in the middle. A neighbour with weight 0
        (for "sum") or infinity (for "min") is not used.
    rule : {"sum", "min"}
        "sum": the sum of weight * element, as in the Gauss-Seidel method. "min": the least
        element + weight, as in distance transforms and path planning.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.Stencil([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).mask
    ('W', 'N')
    """

    weights: NDArray[np.float64]
    rule: str = "sum"

    def __post_init__(self) -> None:
        check.choice("rule", self.rule, RULES)
        weights = check.reals(f"weights must be real numbers, got {self.weights!r}", self.weights)
        if weights.shape != (3, 3):
            raise ValueError(f"weights must have shape (3, 3), got {weights.shape}")
        if not (np.isfinite(weights) | (weights == self._unused)).all():
            raise ValueError(
                f"weights must be finite{', or infinite for none' * (self.rule == 'min')}, got"
                f" {weights.tolist()}"
            )
        if (weights == self._unused).all():
            raise ValueError("weights use no neighbour")
        object.__setattr__(self, "weights", check.frozen(np.ascontiguousarray(weights)))

    @property
    def _unused(self) -> float:
        return 0.0 if self.rule == "sum" else np.inf

    @property
    def used(self) -> NDArray[np.bool_]:
        """(3, 3) whether each neighbour is used."""
        return np.asarray(self.weights != self._unused)

    @property
    def flops(self) -> float:
        """Flops of one update: two for each neighbour used."""
        return 2.0 * int(self.used.sum())

    @property
    def mask(self) -> tuple[str, ...]:
        """Neighbours that an element waits for, for `wavefront`. "NE" needs rows dealt (axis=0)."""
        used = self.used
        corners = {"NW": used[0, 0], "NE": used[0, 2] or used[2, 0]}
        return ("W", "N", *(name for name, counts in corners.items() if counts))
