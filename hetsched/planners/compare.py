"""The methods of `partition` side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check
from .._base.drawn import DrawnFigure
from .._base.table import table
from ..errors import InfeasibleError
from .floorplan import METHODS, slow_methods
from .partition import Partition, partition
from .stacked import PlanStack

if TYPE_CHECKING:
    from ..platform import Platform


#: The methods for a stack of areas, if none are asked for: all others take long for many platforms.
_FAST = ("columns", "interval")

#: An algorithm of the user: rectangles, or a function of the areas that returns them.
Own = Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike


class Comparison(check.FrozenDict[Partition | PlanStack], DrawnFigure):
    """Partitions by the name of their method, in the order asked for; of a stack, PlanStacks.

    Attributes
    ----------
    skipped : dict of str to str
        The methods that were left out, and the reasons.
    """

    skipped: check.FrozenDict[str]

    def __init__(
        self,
        partitions: Iterable[tuple[str, Partition | PlanStack]] = (),
        skipped: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(partitions)
        self.__dict__["skipped"] = check.FrozenDict(skipped or {})

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"cannot set {name!r}: results cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name!r}: results cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return Comparison, (tuple(self.items()), self.skipped)

    def __repr__(self) -> str:
        found = [(method, *_cells(plan)) for method, plan in self.items()]
        width = max(map(len, self.skipped), default=0)
        rest = [(method, f"left out: {why}") for method, why in self.skipped.items()]
        return "\n".join(filter(None, (table(found, least=[width, 0]), table(rest))))


def _cells(plan: Partition | PlanStack) -> tuple[str, str]:
    if isinstance(plan, PlanStack):
        cost, gap = plan.value, plan.gap
        if not cost.size:
            return "no plans", ""
        return f"mean cost {cost.mean():.6g}", f"mean gap {gap.mean():.2%}, at most {gap.max():.2%}"
    return f"cost {plan.cost:.6g}", f"gap {plan.gap:.2%}"


def compare_partitions(
    areas: Platform | ArrayLike | None = None,
    methods: Sequence[str] | None = None,
    shape: tuple[int, int] | None = None,
    *,
    cycle_times: Platform | ArrayLike | None = None,
    speeds: ArrayLike | None = None,
    own: Mapping[str, Own] | None = None,
    **options: Any,
) -> Comparison:
    """Call `partition` with several methods, and judge your own beside them.

    Parameters
    ----------
    areas : Platform, (p,) or (..., p) array_like
        See `partition`.
    methods : sequence of str, optional
        Default: all that can plan for so many workers, with these options, in about a second. For a
        stack of areas: columns and interval, if they take these options.
    shape, cycle_times, speeds :
        See `partition`.
    own : mapping, optional
        Name -> an algorithm of your own: rectangles, as `partition` takes them in `rects`, or a
        function of the (p,) areas, which sum to 1, that returns them. It is called once, or for
        each platform of a stack. Its gap is measured from the lower bound that holds for all
        methods. Not with `groups`.
    **options
        See `partition`. `columns` is for the method columns only.

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

    Your own algorithm, judged:

    >>> def slices(areas):
    ...     tops = areas.cumsum() - areas
    ...     return [(top, 0.0, height, 1.0) for top, height in zip(tops, areas)]
    >>> hs.compare_partitions([5, 3, 2, 1, 1], ["columns"], own={"slices": slices})
    columns  cost 4.33333  gap 1.67%
    slices   cost 6        gap 40.77%
    """
    for name, instead in (("method", "methods"), ("rects", "own")):
        if name in options:
            raise TypeError(f"{name} is not an option of a comparison: give {instead}")
    given: dict[str, Any] = {"cycle_times": cycle_times, "speeds": speeds, **options}
    if methods is not None:
        wanted = f"some of {', '.join(METHODS)}"
        asked = () if isinstance(methods, str) else check.entries("methods", methods, wanted)
        if not asked or not all(isinstance(method, str) and method in METHODS for method in asked):
            raise ValueError(f"methods must be {wanted}, got {methods!r}")
    algorithms = _algorithms({} if own is None else own, options)
    if methods is not None:
        found = [(method, partition(areas, method, shape, **given)) for method in asked]
        return Comparison([*found, *_judged(areas, shape, algorithms, given)])
    refused = _refused(options)
    if any(map(check.is_stack, (areas, cycle_times, speeds))):
        chosen = [method for method in _FAST if method not in refused]
        found = [(method, partition(areas, method, shape, **given)) for method in chosen]
        why = "slow for many platforms, or no better, so only if asked for"
        return Comparison(
            [*found, *_judged(areas, shape, algorithms, given)],
            {m: refused.get(m, why) for m in METHODS if m not in chosen},
        )
    size = int(np.count_nonzero(check.shares("areas", areas, cycle_times, speeds)[0]))
    objective = options.get("objective")
    largest = isinstance(objective, str) and objective == "max"
    skipped = slow_methods(size, shape is not None, options.get("groups") is not None, largest)
    skipped |= refused
    plans: dict[str, Partition | PlanStack] = {}
    for method in METHODS:
        if method in skipped:
            continue
        try:
            plans[method] = partition(areas, method, shape, **given)
        except InfeasibleError as error:
            if method == "best":  # "best" finds a plan whenever there is one
                raise
            skipped[method] = str(error)
    return Comparison(
        [*plans.items(), *_judged(areas, shape, algorithms, given)],
        {method: skipped[method] for method in METHODS if method in skipped},
    )


def _refused(options: Mapping[str, Any]) -> dict[str, str]:
    """The methods that do not take an option, and the reasons."""
    if options.get("columns") is not None:
        return {
            method: "columns is for method columns" for method in METHODS if method != "columns"
        }
    if options.get("groups") is not None:
        return {"columns": "does not take groups"}
    return {}


def _algorithms(own: Any, options: Mapping[str, Any]) -> dict[str, Own]:
    """The checked argument `own`."""
    if not isinstance(own, Mapping):
        raise TypeError(f"own must be a mapping of names, got {type(own).__name__}")
    for name in own:
        if not isinstance(name, str) or name in METHODS:
            raise ValueError(
                f"own must have names that are not those of methods, got {check.shown(name)}"
            )
    if own and options.get("groups") is not None:
        raise ValueError("own must be given without groups")
    return dict(own)


def _judged(
    areas: Any, shape: tuple[int, int] | None, own: Mapping[str, Own], given: dict[str, Any]
) -> list[tuple[str, Partition | PlanStack]]:
    """The certificates of the user's algorithms."""
    given = {name: value for name, value in given.items() if name != "columns"}
    scaled, _ = check.shares("areas", areas, given["cycle_times"], given["speeds"], stacked=True)
    found = []
    for name, algorithm in own.items():
        rects: Any = algorithm
        if callable(algorithm):
            rects = (
                _called(name, algorithm, scaled) if scaled.ndim > 1 else algorithm(scaled.copy())
            )
        if rects is None:
            raise _no_rectangles(name)
        try:
            found.append((name, partition(areas, shape=shape, rects=rects, **given)))
        except (ValueError, TypeError) as error:
            raise type(error)(f"own[{name!r}]: {error}") from error
    return found


def _no_rectangles(name: str) -> TypeError:
    return TypeError(f"own[{name!r}] must be rectangles or return them, got None")


def _called(
    name: str, algorithm: Callable[[NDArray[np.float64]], ArrayLike], areas: NDArray[np.float64]
) -> NDArray[Any]:
    """The rectangles that the user's algorithm makes for each platform of a stack."""
    rows = [algorithm(row.copy()) for row in areas.reshape(-1, areas.shape[-1])]
    if any(row is None for row in rows):
        raise _no_rectangles(name)
    try:
        found = np.asarray(rows) if rows else np.empty((0, areas.shape[-1], 4))
    except ValueError:
        raise ValueError(
            f"own[{name!r}] must return rectangles of one shape for all platforms of a stack"
        ) from None
    return found.reshape(*areas.shape[:-1], *found.shape[1:])
