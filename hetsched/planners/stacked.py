"""Plans for many platforms in one call: arrays of their values, and each plan on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._base.frozen import Frozen
from .._base.need import need
from .._base.progress import Progress
from ..machine.limits import threads_here
from ..plan import Plan

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanStack(Frozen):
    """The plans of one planner for a stack of platforms, with the numbers that each has alone.

    `stack[i]`, or `stack[i, j]`, is the plan of one platform, made when it is asked for. Any other
    index gives a part of the stack. The arrays are attributes as well, such as `stack.cost` and
    `stack.rects`.

    Attributes
    ----------
    shape : tuple of int
        Shape of the stack: the shape of the arguments without the axes of one platform.
    method : str
        The method asked for.
    objective : str
        Name of a plan's value, such as "cost" or "makespan".
    names : tuple of str
        Names of the arrays.
    arrays : tuple of arrays
        The value, the bound, and what else the planner returns; each begins with the shape.
    planner, stacked, common :
        The function that makes one plan, its arguments with an entry for each platform, and its
        other arguments.
    """

    shape: tuple[int, ...]
    method: str
    objective: str
    names: tuple[str, ...]
    arrays: tuple[NDArray[Any], ...]
    planner: Callable[..., Plan] = field(compare=False)
    #: arguments with an entry for each platform, flat
    stacked: Mapping[str, NDArray[Any]] = field(compare=False)
    common: Mapping[str, Any] = field(compare=False)

    @property
    def results(self) -> dict[str, NDArray[Any]]:
        """The arrays by their names."""
        return dict(zip(self.names, self.arrays, strict=True))

    @property
    def value(self) -> NDArray[Any]:
        """(...) value of each plan."""
        return self.results[self.objective]

    @property
    def gap(self) -> NDArray[np.float64]:
        """(...) largest distance of each plan from the optimum, relative to its bound.

        It is infinite if the bound is 0.
        """
        value, bound = self.value.astype(np.float64), self.results["bound"].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return check.frozen(
                np.where(value == bound, 0.0, np.abs(value - bound) / np.minimum(value, bound))
            )

    if not TYPE_CHECKING:  # otherwise type checkers would accept every name

        def __getattr__(self, name: str) -> Any:
            names = self.__dict__.get("names", ())
            if name not in names:
                raise AttributeError(
                    f"the plans of this stack have {', '.join(names)}, not {name!r}",
                    name=name,
                    obj=self,
                )
            return self.arrays[names.index(name)]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.names})

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Plan | PlanStack]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Plan | PlanStack:
        places = np.arange(self.value.size).reshape(self.shape)[index]
        flat = [array.reshape(-1, *array.shape[len(self.shape) :]) for array in self.arrays]
        if places.ndim == 0:
            return self.planner(
                **{name: values[places] for name, values in self.stacked.items()}, **self.common
            )
        return replace(
            self,
            shape=places.shape,
            arrays=tuple(check.frozen(array[places]) for array in flat),
            stacked={name: values[places.reshape(-1)] for name, values in self.stacked.items()},
        )

    def to_frame(self) -> DataFrame:
        """A table with a row for each plan: its place in the stack, value, bound, gap, and what
        else is one number for each plan.

        Returns
        -------
        pandas.DataFrame
            Its columns are i (or i, j, ...), the names of `names` with one number, and gap.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pandas = need("pandas", "to_frame")
        places = np.indices(self.shape).reshape(len(self.shape), -1)
        axes = ["ijklmn"[axis] if axis < 6 else f"axis{axis}" for axis in range(len(self.shape))]
        numbers = {
            name: array.reshape(-1)
            for name, array in self.results.items()
            if array.shape == self.shape
        }
        return pandas.DataFrame(
            {**dict(zip(axes, places, strict=True)), **numbers, "gap": self.gap.reshape(-1)}
        )

    def __repr__(self) -> str:
        if not self.value.size:
            return f"<PlanStack: no plans ({self.method})>"
        low, high = float(self.value.min()), float(self.value.max())
        gap = float(self.gap.max())
        worth = f"{self.objective} {low:.6g} to {high:.6g}, gap at most {gap:.2%}"
        return f"<PlanStack: {self.value.size} plans, {worth} ({self.method})>"


def stack_of(
    shape: tuple[int, ...],
    method: str,
    objective: str,
    results: Mapping[str, NDArray[Any]],
    planner: Callable[..., Plan],
    stacked: Mapping[str, NDArray[Any]],
    common: Mapping[str, Any],
) -> PlanStack:
    """A stack of plans from flat results and arguments, with one row for each plan."""
    return PlanStack(
        shape=shape,
        method=method,
        objective=objective,
        names=tuple(results),
        arrays=tuple(
            check.frozen(array.reshape(*shape, *array.shape[1:])) for array in results.values()
        ),
        planner=planner,
        stacked=stacked,
        common=common,
    )


def plan_alone(
    planner: Callable[..., Plan],
    row: int,
    stacked: Mapping[str, Sequence[Any] | NDArray[Any]],
    common: Mapping[str, Any],
) -> None:
    """Make the plan of one row of a stack; its error says which row it is."""
    try:
        planner(**{name: values[row] for name, values in stacked.items()}, **common)
    except (ValueError, TypeError) as error:
        raise type(error)(f"platform {row} of the stack: {error}") from error


def threads_for(brief: bool, progress: Progress | None) -> int:
    """Threads to start for a stack: none if that is brief and no progress is reported.

    They are only counted where they are needed, because that reads the machine's topology.
    """
    return 0 if brief and progress is None else threads_here()
