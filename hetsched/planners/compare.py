"""The methods of `partition` side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._base import check
from .._base.drawn import draw
from .._base.table import table
from .floorplan import METHODS, quick_methods
from .partition import Partition, partition

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..platform import Platform


class Comparison(dict[str, Partition]):
    """Partitions by the name of their method, in the order asked for."""

    def plot(self, figure: Figure | None = None) -> Figure:
        """Draw them side by side with matplotlib; returns the figure."""
        drawn: Figure = draw(self, figure)
        return drawn

    def __repr__(self) -> str:
        return table((method, f"cost {plan.cost:.6g}", f"gap {plan.gap:.2%}") for method, plan in self.items())


def compare_partitions(
    areas: Platform | ArrayLike,
    methods: Sequence[str] | None = None,
    shape: tuple[int, int] | None = None,
    **options: Any,
) -> Comparison:
    """`partition` by several methods.

    Parameters
    ----------
    areas : (p,) array_like or Platform
    methods : sequence of str, optional
        Default: all that take so many workers, and these options, in about a second.
    shape : (m, n), optional
    **options
        Others of `partition`.

    Returns
    -------
    dict of str to Partition
        With `plot()`, which draws them side by side.

    Raises
    ------
    ValueError, TypeError, InfeasibleError
        As `partition` does.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.compare_partitions([5, 3, 2, 1, 1], ["best", "columns", "rows"])
    best     cost 4.28571  gap 0.55%
    columns  cost 4.33333  gap 1.67%
    rows     cost 6        gap 40.77%
    """
    if methods is None:
        size = int(np.count_nonzero(check.shares("areas", areas)[0]))
        objective = options.get("objective")
        largest = isinstance(objective, str) and objective == "max"
        methods = quick_methods(size, shape is not None, options.get("groups") is not None, largest)
    else:
        wanted = f"some of {', '.join(METHODS)}"
        given = () if isinstance(methods, str) else check.entries("methods", methods, wanted)
        if not given or not all(isinstance(method, str) and method in METHODS for method in given):
            raise ValueError(f"methods must be {wanted}, got {methods!r}")
        methods = given
    return Comparison((method, partition(areas, method, shape, **options)) for method in methods)
