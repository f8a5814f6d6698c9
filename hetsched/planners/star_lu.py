"""LU on a star of workers with limited memory.

The master factors panels; plans of products do the rest, one after the other.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from .._engine.star import ALL_VARIANTS, Star
from ..errors import InfeasibleError
from ..plan import Plan, Step, certified
from ..platform import Platform, Unit, whose
from .star import EFFORT, LEAST_MEMORY, METHODS, OVERLAP, RETURNS, REUSE, StarPlan, planned, star_of

_MOST = 2**20  # most blocks of a side: their cube fits a double exactly
#: Widths are compared by the given method if it is one of these.
_QUICK = ("orroml", "ommoml", "oddoml", "bmm", REUSE, OVERLAP)
_FEW = 16  # all widths up to this are tried, then the widths of a geometric sequence
_LEAST = 10**5  # messages that each search may try at least
_COMPARED = 3  # widths, the best with quick products, that are also compared with short searches
_STEPS = 2048  # a width with more steps is not tried


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
        "blocks": schema.Count(1, _MOST),
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
        panels, makespan = _in_turn(
            self.blocks, self.width, self.master_time, [product.value for product in products]
        )
        return self._carried(
            platform,
            makespan,
            _bound(self.blocks, platform.cycle_times, self.master_time),
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
        Its lower bound is n^3 / 3 block updates divided perfectly over the workers and the master,
        without messages. It holds for every plan.

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
    n = check.integer("n", n, low=1, high=_MOST)
    check.choice("method", method, ("best", *(name for name in METHODS if name != "exact")))
    check.choice("returns", returns, RETURNS)
    seed = check.integer("seed", seed, low=0, high=2**64 - 1)
    end = None if budget is None else start + check.number("budget", budget, low=0.0)
    if width is not None:
        width = check.integer("width", width, low=1, high=n)
    times, costs, memory = star_of(platform, (n, n, n))
    master = (
        float(times.min())
        if master_time is None
        else check.number("master_time", master_time, above=0.0)
    )
    common: dict[str, Any] = {"platform": platform, "method": method, "returns": returns}
    widths = [width] if width is not None else _widths(n, method, master, times, costs, memory)

    def in_turn(option: tuple[int, list[StarPlan]]) -> tuple[tuple[LuStep, ...], float]:
        return _in_turn(n, option[0], master, [product.makespan for product in option[1]])

    options: list[tuple[int, list[StarPlan]]] = []  # widths, with products of short searches
    for i, own in enumerate(widths if len(widths) > 1 else []):
        until = None
        if end is not None:
            now = time.perf_counter()
            until = now + max(0.0, (start + end) / 2 - now) / (len(widths) - i)
        with suppress(InfeasibleError):  # the method needs more memory
            options.append((own, _products(n, own, seed, until, EFFORT // len(widths), common)))
    chosen = min(options, key=lambda option: in_turn(option)[1])[0] if options else widths[0]
    full = chosen, _products(n, chosen, seed, end, EFFORT, common)
    # a short search may have been the luckier one
    best = min([full, *options], key=lambda option: in_turn(option)[1])
    chosen, products = best
    panels, makespan = in_turn(best)
    updates = sum((product.updates for product in products), np.zeros(len(platform), np.int64))
    return StarLuPlan(
        method=method,
        **certified(_bound(n, times, master), makespan=makespan),
        blocks=n,
        width=chosen,
        panels=panels,
        products=tuple(products),
        master_time=master,
        updates=check.frozen(updates),
        cycle_times=check.frozen(times),
        link_costs=check.frozen(costs),
        memory=check.frozen(memory),
        **whose(platform, len(platform)),
        planning_time=time.perf_counter() - start,
    )


def _products(
    n: int, width: int, seed: int, end: float | None, effort: int, common: dict[str, Any]
) -> list[StarPlan]:
    """The products between the panels of this width.

    end : when all searches must have ended, or None. effort : messages of all searches together.
    """
    products = []
    remaining = [n - first - width for first in range(0, n - width, width)]
    weights = np.cumsum(np.array(remaining[::-1], float) ** 2)[::-1]
    for k, (side, weight) in enumerate(zip(remaining, weights.tolist(), strict=True)):
        left = None if end is None else max(0.0, end - time.perf_counter()) * (side * side / weight)
        own = max(_LEAST, int(effort * side * side / weights[0]))
        products.append(
            planned(side, side, width, seed=(seed + k) % 2**64, budget=left, effort=own, **common)
        )
    return products


def _widths(
    n: int,
    method: str,
    master: float,
    times: NDArray[np.float64],
    costs: NDArray[np.float64],
    memory: NDArray[np.int64],
) -> list[int]:
    """The widths to compare: the one with the earliest end if the method is quick, else some.

    It is n alone if no worker's memory holds a chunk.
    """
    names = (method,) if method in _QUICK else ("oddoml", REUSE)
    rules = [name for name in names if memory.max() >= LEAST_MEMORY.get(name, 5)]
    if not rules:
        return [n]
    parts = [-(-n // count) for count in (2, 3, 4)]
    some = [int(_FEW * 1.25**k) for k in range(1, 64)]
    widths = [*range(1, min(n, _FEW) + 1), *some, *parts, n]
    ends = []
    for width in sorted({width for width in widths if width <= n <= width * _STEPS}):
        products = []
        for first in range(0, n - width, width):
            star = Star((n - first - width, n - first - width, width), times, costs, memory)
            try:
                products.append(
                    min(
                        star.plan(rule, ALL_VARIANTS, False, 0, n > _FEW).makespan for rule in rules
                    )
                )
            except NotImplementedError:  # too many messages
                products.append(math.inf)
        ends.append((_in_turn(n, width, master, products)[1], width))
    found = [width for end, width in sorted(ends) if end < math.inf] or [n]
    if method in _QUICK:
        return found[:1]
    return list(dict.fromkeys([*found[:_COMPARED], *(w for w in parts if w in found), n]))


def _in_turn(
    n: int, width: int, master: float, products: list[float]
) -> tuple[tuple[LuStep, ...], float]:
    """The panels and the end, with the given makespans of the products between the panels."""
    panels, now = [], 0.0
    for first, product in zip(range(0, n, width), [*products, 0.0], strict=True):
        own = min(width, n - first)
        end = now + master * _by_master(n - first, own)
        panels.append(LuStep(first, own, now, end))
        now = end + product
    return tuple(panels), now


def _by_master(h: int, w: int) -> float:
    """Block updates of a panel with h rows and w columns of blocks, and of the rows beside it."""
    return (h * w * w - w**3 / 3) / 2 + w * w * (h - w) / 2


def _bound(n: int, times: NDArray[np.float64], master: float) -> float:
    return float(n) ** 3 / 3 / (float((1.0 / times).sum()) + 1.0 / master)
