"""When speeds change: new cuts in the old floorplan, what they move, and whether moving pays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check
from .floorplan import Request, columns_of, laid_out
from .partition import Partition, finish, partition
from .plan import names_of

if TYPE_CHECKING:
    from .platform import Platform


@dataclass(frozen=True, kw_only=True, eq=False)
class Recut:
    """A partition recut for other areas, beside a fresh one.

    Attributes
    ----------
    old, plan, fresh : Partition
        Before; the same floorplan with new cuts; by the same method from nothing.
    moved, fresh_moved : float
        Fraction of the matrix that changes its owner on the way from `old` to `plan`, and to `fresh`.
    moved_bound : float
        Half the sum of the changes of the areas, the lesser of both plans: neither moves less. Those of a matrix are of
        whole cells, and may differ.
    """

    old: Partition
    plan: Partition
    fresh: Partition
    moved: float
    moved_bound: float
    fresh_moved: float

    def __repr__(self) -> str:
        return (
            f"<Recut: moves {self.moved:.2%} of the matrix (at least {self.moved_bound:.2%}; "
            f"a fresh partition {self.fresh_moved:.2%}), "
            f"cost {self.plan.cost:.6g} (fresh {self.fresh.cost:.6g})>"
        )


def recut(old: Partition, areas: Platform | ArrayLike) -> Recut:
    """See `Partition.recut`."""
    if not old.floorplan:
        raise ValueError(f'a partition by method "{old.method}" has no cuts to move')
    scaled, times = _check.shares("areas", areas)
    if len(scaled) != len(old.areas):
        raise ValueError(f"areas must have {len(old.areas)} entries like those of the partition, got {len(scaled)}")
    changed = (scaled > 0) != (old.areas > 0)
    if changed.any():
        i = int(np.argmax(changed))
        raise ValueError(f"areas[{i}] is {scaled[i]:g}, it was {old.areas[i]:g}: a new floorplan is needed, call partition()")
    request = Request(
        areas=scaled,
        weights=None if (old.link_costs == 1.0).all() else old.link_costs,
        groups=old.groups,
        group_cost=old.group_cost,
        objective=old.objective,
        sides=old.shape,
        seed=0,
        budget=None,
    )
    names = old.names if names_of(areas, len(scaled)) == names_of(None, len(scaled)) else names_of(areas, len(scaled))
    floorplan = np.array(old.floorplan, np.int32)
    found = laid_out(floorplan, request, columns_of(floorplan) if old.columns else ())
    plan = finish(old.method, replace(found, scope=""), request, times, names)
    fresh = partition(
        areas,
        old.method,
        old.shape,
        objective=old.objective,
        link_costs=request.weights,
        groups=old.groups,
        group_cost=old.group_cost,
    )
    return Recut(
        old=old,
        plan=plan,
        fresh=fresh,
        moved=max(moved(old, plan), _changed(old, plan)),
        moved_bound=min(_changed(old, plan), _changed(old, fresh)),
        fresh_moved=max(moved(old, fresh), _changed(old, fresh)),
    )


def _changed(old: Partition, new: Partition) -> float:
    """Half the sum of the changes of the areas: what moves at least, but for rounding."""
    return float(np.abs(new.actual_areas - old.actual_areas).sum() / 2)


def moved(old: Partition, new: Partition) -> float:
    """Fraction of the matrix whose owner is another in `new`.

    Parameters
    ----------
    old, new : Partition
        Of the same shape, for the same workers.

    Returns
    -------
    float
        1 - the area of the common parts of each worker's zones.
    """
    if old.shape != new.shape or len(old.areas) != len(new.areas):
        raise ValueError(f"new is for shape {new.shape} and {len(new.areas)} workers, old for {old.shape} and {len(old.areas)}")
    m, n = old.shape or (1, 1)
    kept = sum(
        _common(old.pieces[old.pieces[:, 0] == worker, 1:], new.pieces[new.pieces[:, 0] == worker, 1:])
        for worker in range(len(old.areas))
    )
    return max(0.0, 1.0 - kept / (m * n))


def _common(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    x, y = a.astype(np.float64)[:, None], b.astype(np.float64)[None]
    sides = np.minimum(x[..., :2] + x[..., 2:], y[..., :2] + y[..., 2:]) - np.maximum(x[..., :2], y[..., :2])
    return float(np.prod(np.maximum(sides, 0.0), axis=-1).sum())


class RentOrBuy:
    """When to remap: go on with the old plan until what it has lost adds up to what moving costs.

    The ski-rental rule, for one change of speeds. The time lost and spent moving is at most twice that of the best decision made
    knowing the future, plus what the last run before moving lost: a loss is known only after the run.

    Parameters
    ----------
    move_cost : float
        Time to move everything that changes its owner, >= 0.

    Examples
    --------
    >>> import hetsched as hs
    >>> rule = hs.RentOrBuy(move_cost=1.0)
    >>> [rule.should_move(makespan, 2.0) for makespan in (2.4, 2.4, 2.4)]
    [False, False, True]
    """

    def __init__(self, move_cost: float) -> None:
        self.move_cost = _check.number("move_cost", move_cost, low=0.0)
        self.lost = 0.0

    def should_move(self, makespan: float, after: float) -> bool:
        """Count a run of the old plan; True if it is time to move. Then start again with a new rule.

        Parameters
        ----------
        makespan : float
            What the run took.
        after : float
            What it would have taken after moving.
        """
        self.lost += max(0.0, _check.number("makespan", makespan, low=0.0) - _check.number("after", after, low=0.0))
        return self.lost >= self.move_cost and self.lost > 0.0
