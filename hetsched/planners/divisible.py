"""A load that can be divided into any fractions, sent over one bus, with results that come back."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine import assign as engine
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, require_star, whose

_METHODS = engine.DIVISIBLE_METHODS[:3]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DivisibleLoad(Plan):
    """Shares of a divisible load, and the orders of the messages.

    Attributes
    ----------
    shares : (p,) float64 array
        Share of each worker; their sum is the amount.
    amount : float
        The load that was given.
    makespan : float
        When the last result is back.
    send_order, receive_order : (q,) int64 arrays
        The workers with a share, in the order of the messages to them, and back from them.
    enrolled : tuple of int
        The workers with a share, ascending.
    return_ratio : float
        Size of a worker's results relative to its share.
    cycle_times, link_costs : (p,) float64 arrays
        Time per unit of load: to work on it, and to send it.
    """

    shares: NDArray[np.float64]
    amount: float
    makespan: float
    send_order: NDArray[np.int64]
    receive_order: NDArray[np.int64]
    enrolled: tuple[int, ...]
    return_ratio: float
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]

    _table: ClassVar = {
        "shares": schema.EACH,
        "amount": schema.Real(schema.LEAST),
        "makespan": schema.Real(),
        "send_order": schema.Array("i8", "served", high="p - 1"),
        "receive_order": schema.Array("i8", "returning", high="p - 1"),
        "enrolled": schema.Tuple(schema.Integer(0, "p - 1")),
        "return_ratio": schema.Real(),
        "cycle_times": schema.CYCLE_TIMES,
        "link_costs": schema.EACH,
    }

    def _check(self) -> None:
        schema.require_close("sum of shares", math.fsum(self.shares.tolist()), self.amount, 1e-6)
        schema.require_able("shares", self.shares, self.cycle_times)
        messages = sum(
            share * cost
            for share, cost in zip(self.shares.tolist(), self.link_costs.tolist(), strict=True)
        )
        if not messages * (1.0 + self.return_ratio) <= schema.MOST:
            raise ValueError(
                "link_costs make messages too long for a double: give them in a larger unit"
            )
        schema.require_order("send_order", self.send_order, self.shares)
        if self.return_ratio or len(self.receive_order):
            schema.require_order("receive_order", self.receive_order, self.shares)
        if list(self.enrolled) != np.flatnonzero(self.shares).tolist():
            raise ValueError("enrolled must be the workers with a share, ascending")

    def _on(self, platform: Platform) -> Plan:
        """The same shares and orders.

        For up to 6 workers, and without results, the bound is the best of all orders.
        """
        costs, few = self._star_links(platform), len(platform) <= engine.DIVISIBLE_PROVEN
        method = "best" if few and self.return_ratio else "fifo"
        fresh = divisible_load(
            self.amount, platform, costs, return_ratio=self.return_ratio, method=method
        )
        moved = replace(self, cycle_times=platform.cycle_times, link_costs=costs)
        return self._carried(
            platform, max(step.end for step in moved.steps()), fresh.bound, link_costs=costs
        )

    def _load(self) -> Any:
        return self.shares

    def _steps(self, finish: Finish) -> list[Step]:
        """Messages one after the other.

        They go out from the start, and come back as soon as the worker and the bus are ready.
        """
        steps: list[Step] = []
        ends: dict[int, float] = {}
        bus = 0.0
        for i in self.send_order.tolist():
            share, start = float(self.shares[i]), bus
            if message := share * float(self.link_costs[i]):
                bus = start + message
                steps.append(Step(i, "transfer", start, bus, "out"))
            ends[i] = finish(i, bus, share * float(self.cycle_times[i]))
            steps.append(Step(i, "compute", bus, ends[i], f"{share:.6g}"))
        for i in self.receive_order.tolist():
            if message := float(self.shares[i]) * (self.return_ratio * float(self.link_costs[i])):
                start = max(bus, ends[i])
                bus = start + message
                steps.append(Step(i, "transfer", start, bus, "back"))
        return steps


def divisible_load(
    load: float,
    cycle_times: Platform | ArrayLike | None = None,
    link_costs: ArrayLike | None = None,
    *,
    speeds: ArrayLike | None = None,
    return_ratio: float = 0.0,
    method: str = "best",
) -> DivisibleLoad:
    """Divide a load over workers that the master reaches one at a time.

    The last result is back as early as possible.

    Parameters
    ----------
    load : float
        Size of the load, > 0.
    cycle_times : Platform or (p,) array_like
        Time per unit of load, > 0. A worker with an infinite one does nothing.
    link_costs : float or (p,) array_like, optional
        Time to send a unit, >= 0. Default: the link costs of the Platform, or 0.
    speeds : (p,) array_like, optional
        1 / cycle_times, given instead of them; 0 is allowed.
    return_ratio : float
        Size of the results relative to the load, >= 0; their messages cost
        return_ratio * link_costs.
    method : {"best", "fifo", "lifo"}
        "fifo": results come back in the order in which the shares went out, the cheapest links
        first (last, if return_ratio > 1). "lifo": results come back in the opposite order, and the
        cheapest links go out first. "best": any two orders. For up to 6 workers all of them are
        tried, for more there is a search that starts from the other two methods.

    Returns
    -------
    DivisibleLoad
        The shares are optimal for the plan's orders. "best" is optimal for up to 6 workers, and if
        return_ratio is 0: no orders and no shares take less than makespan * (1 - 1e-12). This is
        proven for each pair of orders; `optimal` says so.

    Raises
    ------
    ValueError
        Also if the makespan, a share, or the time of a worker for a unit of load is beyond the
        range of normal numbers.

    Notes
    -----
    Beaumont, Marchal, Robert, Scheduling divisible loads with return messages on heterogeneous
    master-worker platforms (2005). For given orders a linear program gives the shares and says
    which workers are enrolled. For "fifo" and "lifo" the orders are the best of their kind. The
    best two orders can be neither, and no polynomial algorithm is known. Without results, cheapest
    links first is optimal. The programs are solved in floating point. All values that are compared
    or claimed are computed from the shares, and from prices of the dual programs, with all
    roundings counted.

    Examples
    --------
    >>> import hetsched as hs
    >>> links = [0.2, 0.5, 0.3]
    >>> plan = hs.divisible_load(
    ...     100, cycle_times=[2, 3, 4], link_costs=links, return_ratio=0.5
    ... )
    >>> plan.shares.round(2).tolist(), plan.send_order.tolist(), plan.receive_order.tolist()
    ([51.84, 24.85, 23.3], [0, 2, 1], [1, 2, 0])
    >>> round(plan.makespan, 2), plan.optimal
    (119.24, True)
    """
    check.amount_first("divisible_load", "load", load, cycle_times)
    size = check.number("load", load, above=0.0)
    times = check.cycle_times(cycle_times, speeds)
    p = len(times)
    if link_costs is None:
        require_star("cycle_times", cycle_times)
    given = getattr(cycle_times, "link_costs", 0.0) if link_costs is None else link_costs
    costs = check.each("link_costs", given, p)
    ratio = check.number("return_ratio", return_ratio, low=0.0)
    check.choice("method", method, _METHODS)
    with np.errstate(over="ignore", under="ignore"):
        back = ratio * costs
        alone = (times + costs + back)[np.isfinite(times)]
    if not (np.isfinite(alone).all() and math.isfinite(float(alone.min()) * size)):
        raise ValueError("the makespan overflows: give times or the load in a larger unit")
    try:
        found, certificate = engine.divisible_best(
            size, times, costs, back if ratio else None, method
        )
    except ValueError:
        raise ValueError(
            "the makespan or a share underflows: give times or the load in a smaller unit"
        ) from None
    return trusted(
        DivisibleLoad,
        method=found.method,
        asked=method,
        **certificate,
        shares=check.frozen(found.shares),
        amount=size,
        send_order=check.frozen(found.send_order),
        receive_order=check.frozen(found.receive_order),
        enrolled=tuple(sorted(found.send_order.tolist())),
        return_ratio=ratio,
        cycle_times=check.frozen(times),
        link_costs=check.frozen(costs),
        **whose(cycle_times, p),
    )
