"""LU on a star of workers with limited memory.

The master factors panels; plans of products do the rest, one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from .._engine.star import LU_MOST, MOST, UNLIMITED, StarLu, Wish, least_memory
from ..errors import InfeasibleError
from ..plan import Plan, Step
from ..platform import Platform, Unit, whose
from .star import METHODS, RETURNS, StarPlan, plan_of, star_of, too_many


class LuStep(NamedTuple):
    """The master's part of a step of LU on a star.

    The workers' part begins when it ends, and is a plan of its own.

    Attributes
    ----------
    first, width : int
        First block and width of the panel, in blocks.
    start, end : float
        When the master starts, and ends, to factor the panel and to solve for the rows beside it.
    """

    first: int
    width: int
    start: float
    end: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StarLuPlan(Plan):
    """LU with partial pivoting of a matrix of n x n blocks at a master.

    The master factors panels, and each step has a product on the workers.

    Attributes
    ----------
    blocks : int
        n, the number of blocks of a side of the matrix.
    width : int
        Width of a panel, in blocks; the last one may be narrower.
    makespan : float
        Time of the master's parts and the products, one after the other, in the unit of the
        cycle-times.
    panels : tuple of LuStep
        The master's parts.
    products : tuple of StarPlan
        The product after each panel but the last: C -= A B, (n - end) x (n - end) blocks, with A
        the panel below its diagonal and B the rows beside it.
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
                start=schema.Real(high=schema.LONG),
                end=schema.Real(high=schema.LONG),
            )
        ),
        "products": schema.Tuple(schema.Part(StarPlan, StarPlan.from_dict)),
        "master_time": schema.Real(schema.LEAST),
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
        left = [n - first - width for first, _ in steps[:-1]]
        if [product.shape for product in self.products] != [(side, side, width) for side in left]:
            raise ValueError(
                "products must follow all panels but the last,"
                " with the shape of the remaining matrix"
            )
        if any(product.names != self.names for product in self.products):
            raise ValueError("products must be for the workers of the plan")
        total = sum((product.updates for product in self.products), np.zeros_like(self.updates))
        if not np.array_equal(self.updates, total):
            raise ValueError("updates must be the sums of the updates of all products")

    def _on(self, platform: Platform) -> Plan:
        platform = platform.per(Unit("block update", "block"), "plan_star_lu")
        products = tuple(product._on(platform) for product in self.products)
        lu = _engine_of(self.blocks, platform, self.master_time)
        panels = _panels(lu, self.blocks, self.width, products)
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

    def steps(self) -> list[Step]:
        steps = []
        for k, (panel, product) in enumerate(zip(self.panels, self.products, strict=False)):
            for step in product.steps():
                start, end = panel.end + step.start, panel.end + step.end
                steps.append(step._replace(start=start, end=end, what=f"step {k}: {step.what}"))
        return [
            *steps,
            Step(0, "transfer", self.makespan, self.makespan, "the end of the master's last panel"),
        ]


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
    it. The rest, C -= A B, is a product on the star, see `plan_product`. The next step begins when
    all of the product has come back.

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
        are compared with short searches, and the best of them is planned in full.
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
        Its lower bound holds for panels of any width: the least, over all widths, of the master's
        parts and of each product's bound from work and traffic.

    Raises
    ------
    InfeasibleError
        If no worker's memory holds a chunk, and the given width leaves work to the workers.
    ValueError, TypeError
        For arguments outside their ranges.

    Notes
    -----
    Dongarra, Pineau, Robert, Vivien (2008), section 10, leaves LU to a companion report. This is
    our own right-looking LU with the paper's products. A panel of h x w blocks takes
    (h w^2 - w^3 / 3) / 2 block updates, and the w rows beside it take w^2 (h - w) / 2. The master
    and the workers do not work at the same time.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.Platform.star([2, 3], link_costs=[0.1, 0.2], memory=[45, 60])
    >>> plan = hs.plan_star_lu(12, platform, "oddoml")
    >>> plan.width, len(plan.products)
    (4, 2)
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
        chosen, makespan, proof, found = lu.best(wish)
    except InfeasibleError:
        raise InfeasibleError(
            "platform: no worker's memory holds a chunk of each product:"
            f" {method!r} needs at least {least_memory(method)} blocks"
        ) from None
    except NotImplementedError:
        raise too_many((n, n, width or 1)) from None
    products = tuple(
        plan_of(product, shape, platform, star_of(platform, shape), wish, start)
        for product, shape in zip(found, _shapes(n, chosen), strict=True)
    )
    updates = sum((product.updates for product in products), np.zeros(len(platform), np.int64))
    return StarLuPlan(
        method=method,
        **proof,
        blocks=n,
        width=chosen,
        panels=_panels(lu, n, chosen, products),
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


def _shapes(n: int, width: int) -> list[tuple[int, int, int]]:
    """The shapes of the products between the panels."""
    left = range(n - width, 0, -width)
    return [(side, side, width) for side in left]


def _panels(lu: StarLu, n: int, width: int, products: Sequence[Plan]) -> tuple[LuStep, ...]:
    """The panels with the products between them."""
    times = lu.panels(width, np.array([product.value for product in products], np.float64))
    return tuple(
        LuStep(first, min(width, n - first), *own)
        for first, own in zip(range(0, n, width), times.T.tolist(), strict=True)
    )
