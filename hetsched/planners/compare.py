"""The methods of `partition` side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .._base import check
from .._base.drawn import DrawnFigure
from .._base.table import table
from ..errors import InfeasibleError
from .floorplan import METHODS, slow_methods
from .partition import Partition, partition

if TYPE_CHECKING:
    from ..platform import Platform


class Comparison(check.FrozenDict[Partition], DrawnFigure):
    """Partitions by the name of their method, in the order asked for.

    Attributes
    ----------
    skipped : dict of str to str
        The methods that were left out, and the reasons.
    """

    skipped: check.FrozenDict[str]

    def __init__(
        self,
        partitions: Iterable[tuple[str, Partition]] = (),
        skipped: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(partitions)
        self.__dict__["skipped"] = check.FrozenDict(skipped or {})

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"cannot set {name!r}: results cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return Comparison, (tuple(self.items()), self.skipped)

    def __repr__(self) -> str:
        found = [
            (method, f"cost {plan.cost:.6g}", f"gap {plan.gap:.2%}")
            for method, plan in self.items()
        ]
        width = max(map(len, self.skipped), default=0)
        rest = [(method, f"left out: {why}") for method, why in self.skipped.items()]
        return "\n".join(filter(None, (table(found, least=[width, 0]), table(rest))))


def compare_partitions(
    areas: Platform | check.Vector | None = None,
    methods: Sequence[str] | None = None,
    shape: tuple[int, int] | None = None,
    *,
    cycle_times: Platform | check.Vector | None = None,
    speeds: check.Vector | None = None,
    **options: Any,
) -> Comparison:
    """Call `partition` with several methods.

    Parameters
    ----------
    areas : Platform or (p,) array_like
        See `partition`.
    methods : sequence of str, optional
        Default: all that can plan for so many workers, with these options, in about a second.
    shape, cycle_times, speeds, **options
        See `partition`.

    Returns
    -------
    Comparison
        A dict of str to Partition. Its `plot()` draws the partitions side by side; `skipped` says
        why a method is not in it.

    Raises
    ------
    ValueError, TypeError, InfeasibleError
        See `partition`.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.compare_partitions([5, 3, 2, 1, 1], ["best", "columns", "rows"])
    best     cost 4.28571  gap 0.55%
    columns  cost 4.33333  gap 1.67%
    rows     cost 6        gap 40.77%
    >>> hs.compare_partitions([5, 3, 2, 1, 1]).skipped
    {'contiguous': 'needs shape, because it distributes whole cells'}
    """
    given: dict[str, Any] = {"cycle_times": cycle_times, "speeds": speeds, **options}
    if methods is not None:
        wanted = f"some of {', '.join(METHODS)}"
        asked = () if isinstance(methods, str) else check.entries("methods", methods, wanted)
        if not asked or not all(isinstance(method, str) and method in METHODS for method in asked):
            raise ValueError(f"methods must be {wanted}, got {methods!r}")
        return Comparison((method, partition(areas, method, shape, **given)) for method in asked)
    size = int(np.count_nonzero(check.shares("areas", areas, cycle_times, speeds)[0]))
    objective = options.get("objective")
    largest = isinstance(objective, str) and objective == "max"
    skipped = slow_methods(size, shape is not None, options.get("groups") is not None, largest)
    found = {}
    for method in METHODS:
        if method in skipped:
            continue
        try:
            found[method] = partition(areas, method, shape, **given)
        except InfeasibleError as error:
            if method == "best":  # "best" finds a plan whenever there is one
                raise
            skipped[method] = str(error)
    return Comparison(
        found.items(), {method: skipped[method] for method in METHODS if method in skipped}
    )
