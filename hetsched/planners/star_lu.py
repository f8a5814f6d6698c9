"""LU on a star of workers with limited memory.

The master factors panels and updates some columns; plans of products do the rest, one after the
other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from .._engine.star import LU_MOST, MOST, UNLIMITED, StarLu, Wish
from ..plan import Plan, Step
from ..platform import Platform, Unit, whose
from .star import METHODS, RETURNS, StarPlan, plan_of, star_of, too_many


class LuStep(NamedTuple):
    """The master's part of a step of LU on a star.

    The master factors a panel, solves for the rows beside it, and updates the first `own` block
    columns of the rest. From `end` on the workers update the other columns, by a plan of their own.

    Attributes
    ----------
    first, width : int
        First block and width of the panel, in blocks.
    own : int
        Block columns that the master updates: 0, or the next panel and more.
    start, factored : float
        When the factorisation of the panel begins, and ends.
    solving, end : float
        When the solve for the rows beside it begins, and ends. It begins when the panel is factored
        and the product of the step before has come back.
    updated : float
        When the master has updated its own columns; `end` if it has none.
    """

    first: int
    width: int
    own: int
    start: float
    factored: float
    solving: float
    end: float
    updated: float


_TIME = schema.Real(high=schema.LONG)
_NEAR = 1e-9  # relative difference of times that should be equal, but for rounding


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StarLuPlan(Plan):
    """LU with partial pivoting of a matrix of n x n blocks at a master.

    The master factors panels and updates columns, and most steps have a product on the workers.

    Attributes
    ----------
    blocks : int
        n, the number of blocks of a side of the matrix.
    width : int
        Width of a panel, in blocks; the last one may be narrower.
    makespan : float
        End of the master's last panel, in the unit of the cycle-times.
    panels : tuple of LuStep
        The master's parts.
    products : tuple of StarPlan
        The products of the steps in which the master leaves columns to the workers: C -= A B, with
        A the panel below its diagonal and B the rows beside it. With l x l blocks left after the
        panel, C has l x (l - own) blocks.
    master_time : float
        Time of the master per block update.
    updates : (p,) int64 array
        Block updates of each worker.
    cycle_times, link_costs : (p,) float64 arrays
        Time per block update, and per block on the port.
    memory : (p,) int64 array
        Buffers of each worker, one block each.
    planning_time : float
        Seconds that the planning took.
    """

    blocks: int
    width: int
    makespan: float
    panels: tuple[LuStep, ...]
    products: tuple[StarPlan, ...]
    master_time: float
    updates: NDArray[np.int64]
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]
    memory: NDArray[np.int64]
    planning_time: float = field(compare=False)

    _table: ClassVar = {
        "blocks": schema.Count(1, LU_MOST),
        "width": schema.Integer(1, "blocks"),
        "makespan": schema.Real(),
        "panels": schema.Tuple(
            schema.Record(
                LuStep,
                first=schema.Integer(0, "blocks - 1"),
                width=schema.Integer(1, "blocks"),
                own=schema.Integer(0, "blocks - 1"),
                start=_TIME,
                factored=_TIME,
                solving=_TIME,
                end=_TIME,
                updated=_TIME,
            )
        ),
        "products": schema.Tuple(schema.Part(StarPlan, StarPlan.from_dict)),
        "master_time": schema.Real(schema.LEAST, MOST),
        "updates": schema.Array("i8", "p"),
        "cycle_times": schema.Array("f8", "p", low=schema.LEAST),
        "link_costs": schema.EACH,
        "memory": schema.Array("i8", "p"),
        "planning_time": schema.Real(),
    }

    def _check(self) -> None:
        n, width = self.blocks, self.width
        steps = [(first, min(width, n - first)) for first in range(0, n, width)]
        if [(panel.first, panel.width) for panel in self.panels] != steps:
            raise ValueError(f"panels must be the panels of {n} blocks, each {width} wide")
        for k, panel in enumerate(self.panels):
            rest = n - panel.first - panel.width
            if panel.own and not min(width, rest) <= panel.own <= rest:
                raise ValueError(
                    f"panels[{k}]: own must be 0, or from {min(width, rest)} to {rest}, the widths"
                    f" of the next panel and of the remaining matrix, got {panel.own}"
                )
        wanted = [
            (rest, rest - own, width) for rest, own in zip(self._rests(), self._own(), strict=True)
        ]
        if [product.shape for product in self.products] != [x for x in wanted if x[1]]:
            raise ValueError(
                "products must be those of all steps with columns for the workers,"
                " with the shape of the remaining matrix"
            )
        times = [panel[3:] for panel in self.panels]
        due = [panel[3:] for panel in timed(self, [product.value for product in self.products])]
        if not np.allclose(times, due, rtol=_NEAR, atol=_NEAR * self.makespan):
            raise ValueError("panels must be when the master works, by master_time and products")
        if not math.isclose(self.makespan, self.panels[-1].end, rel_tol=_NEAR):
            raise ValueError("makespan must be the end of the last panel")
        if any(product.names != self.names for product in self.products):
            raise ValueError("products must be for the workers of the plan")
        total = sum((product.updates for product in self.products), np.zeros_like(self.updates))
        if not np.array_equal(self.updates, total):
            raise ValueError("updates must be the sums of the updates of all products")

    def _rests(self) -> list[int]:
        """The side of the matrix after each panel but the last."""
        return [self.blocks - panel.first - panel.width for panel in self.panels[:-1]]

    def _own(self) -> list[int]:
        """The columns of the master in each step."""
        return [panel.own for panel in self.panels[:-1]]

    def _on(self, platform: Platform) -> Plan:
        platform = platform.per(Unit("block update", "block"), "plan_star_lu")
        products = tuple(product._on(platform) for product in self.products)
        lu = _engine_of(self.blocks, platform, self.master_time)
        panels = timed(self, [product.value for product in products])
        makespan = panels[-1].end
        return self._carried(
            platform,
            makespan,
            lu.certificate(makespan)["bound"],
            panels=panels,
            products=products,
            link_costs=check.frozen(platform.link_costs),
            memory=check.frozen(star_of(platform, (self.blocks,) * 3)[2]),
        )

    def _load(self) -> Any:
        return self.updates

    def _rows(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        return (*self.names, MASTER), np.append(self.cycle_times, self.master_time)

    def steps(self) -> list[Step]:
        """The predicted schedule. The master is the worker with the number p."""
        steps, master = [], len(self.names)
        for k, (panel, product) in enumerate(by_step(self)):
            for name, start, end in own_work(k, panel):
                steps.append(Step(master, "compute", start, end, name))
            for step in [] if product is None else product.steps():
                start, end = panel.end + step.start, panel.end + step.end
                steps.append(step._replace(start=start, end=end, what=f"step {k}: {step.what}"))
        return steps


#: The name of the master in traces; its row follows the workers'.
MASTER = "master"


def timed(plan: StarLuPlan, products: Sequence[float]) -> tuple[LuStep, ...]:
    """The panels of a plan, if its products take these times."""
    one, memory = np.ones(1), np.full(1, UNLIMITED, np.int64)  # the master's times need no workers
    lu = StarLu(plan.blocks, plan.width, one, one, memory, plan.master_time)
    return _panels(lu, plan.blocks, plan.width, plan._own(), products)


def by_step(plan: StarLuPlan) -> list[tuple[LuStep, StarPlan | None]]:
    """Each panel with the product that follows it, or None."""
    products = iter(plan.products)
    rests = [*plan._rests(), 0]
    return [
        (panel, next(products) if panel.own < rest else None)
        for panel, rest in zip(plan.panels, rests, strict=True)
    ]


def own_work(k: int, panel: LuStep) -> list[tuple[str, float, float]]:
    """What the master does in step k, as (name, start, end) in the order of time."""
    done = (
        (f"panel {k}", panel.start, panel.factored),
        (f"step {k}: rows", panel.solving, panel.end),
        (f"step {k}: update", panel.end, panel.updated),
    )
    return [(name, start, end) for name, start, end in done if end > start]


def plan_star_lu(
    n: int,
    platform: Platform,
    method: str = "best",
    *,
    width: int | None = None,
    master_time: float | None = None,
    returns: str = "lazy",
    seed: int = 0,
    budget: float | None = None,
) -> StarLuPlan:
    """Plan LU with partial pivoting of a matrix at a master, with workers of limited memory.

    In each step the master factors a panel of block columns and solves for the block rows beside
    it. Of the rest, C -= A B, the master updates some block columns itself, or none. The other
    columns are a product on the star, see `plan_product`. With columns of its own the master looks
    ahead: they include the next panel, which it factors while the workers compute. The next step
    begins when all of the product has come back.

    Parameters
    ----------
    n : int
        Blocks of a side of the matrix, 1 to 2^20.
    platform : Platform
        A star, see `plan_product`.
    method : str
        Method of the products, see `plan_product`; not "exact".
    width : int, optional
        Width of a panel in blocks, at least 1; n leaves all work to the master. Default: the best
        of all widths up to 16 and some larger ones. They are compared with products by the method.
        If that takes long, the best widths with demand-driven products, and n / 2, n / 3 and n / 4,
        are compared with short searches, and the best of them is planned in full. The master's
        columns are chosen for products by the method, or demand-driven ones if that takes long, so
        that master and workers end together.
    master_time : float, optional
        Time of the master per block update, > 0. Default: the time of the fastest worker.
    returns, seed :
        See `plan_product`.
    budget : float, optional
        Seconds for all searches together, half of them for the comparison of widths. Default: 10^7
        messages, about half a second, at least 10^5 messages for each search, and as much for the
        comparison.

    Returns
    -------
    StarLuPlan
        Its lower bound holds for panels of any width and any columns of the master: the least,
        over all widths, of the master's parts and of a bound of each step from work and traffic.

    Raises
    ------
    ValueError, TypeError
        For arguments outside their ranges.

    Notes
    -----
    Dongarra, Pineau, Robert, Vivien (2008), section 10, leaves LU to a companion report. This is
    our own right-looking LU with the paper's products. A panel of h x w blocks takes
    (h w^2 - w^3 / 3) / 2 block updates, and the w rows beside it take w^2 (h - w) / 2. If no
    worker's memory holds a chunk, the master does all updates.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.Platform.star([2, 3], link_costs=[0.1, 0.2], memory=[45, 60])
    >>> plan = hs.plan_star_lu(12, platform, "oddoml", width=2)
    >>> [panel.own for panel in plan.panels], len(plan.products)
    ([4, 4, 3, 2, 2, 0], 4)
    >>> plan.makespan < hs.plan_star_lu(12, platform, width=12).makespan
    True
    """
    start = time.perf_counter()
    n = check.integer("n", n, low=1, high=LU_MOST)
    check.choice("method", method, ("best", *(name for name in METHODS if name != "exact")))
    check.choice("returns", returns, RETURNS)
    seed = check.integer("seed", seed, low=0, high=2**64 - 1)
    if budget is not None:
        budget = check.number("budget", budget, low=0.0)
    if width is not None:
        width = check.integer("width", width, low=1, high=n)
    times, costs, memory = star_of(platform, (n, n, n))
    master = (
        float(times.min())
        if master_time is None
        else _within(check.number("master_time", master_time, above=0.0))
    )
    wish = Wish(method, returns == "eager", None, seed, budget)
    lu = _engine_of(n, platform, master, width or 0)
    try:
        found = lu.best(wish)
    except NotImplementedError:
        raise too_many((n, n, width or 1)) from None
    rests = range(n - found.width, 0, -found.width)
    shapes = [(rest, rest - own, found.width) for rest, own in zip(rests, found.own, strict=True)]
    products = tuple(
        plan_of(product, shape, platform, star_of(platform, shape), wish, start)
        for product, shape in zip(found.products, [x for x in shapes if x[1]], strict=True)
    )
    updates = sum((product.updates for product in products), np.zeros(len(platform), np.int64))
    return StarLuPlan(
        method=method,
        **found.certificate,
        blocks=n,
        width=found.width,
        panels=_panels(lu, n, found.width, found.own, [product.value for product in products]),
        products=products,
        master_time=master,
        updates=check.frozen(updates),
        cycle_times=check.frozen(times),
        link_costs=check.frozen(costs),
        memory=check.frozen(memory),
        **whose(platform, len(platform)),
        planning_time=time.perf_counter() - start,
    )


def _within(master_time: float) -> float:
    if master_time > MOST:
        raise ValueError(f"master_time must be at most {MOST:g}, got {master_time:g}")
    return master_time


def _engine_of(n: int, platform: Platform, master_time: float, width: int = 0) -> StarLu:
    """The problem as the engine sees it; width is 0 to choose it."""
    platform = platform.per(Unit("block update", "block"), "plan_star_lu")
    memory = np.array([UNLIMITED if m is None else m for m in platform.memory], np.int64)
    return StarLu(n, width, platform.cycle_times, platform.link_costs, memory, master_time)


def _panels(
    lu: StarLu, n: int, width: int, own: Sequence[int], products: Sequence[float]
) -> tuple[LuStep, ...]:
    """The panels, with the times of the products of the steps that have one."""
    values = iter(products)
    rests = range(n - width, 0, -width)
    spent = [next(values) if share < rest else 0.0 for share, rest in zip(own, rests, strict=True)]
    times = lu.panels(width, np.array(own, np.int64), np.array(spent, np.float64))
    return tuple(
        LuStep(first, min(width, n - first), share, *when)
        for first, share, when in zip(range(0, n, width), [*own, 0], times.tolist(), strict=True)
    )
