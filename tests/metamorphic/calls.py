"""The planners, and what their arguments mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hetsched as hs
from hetsched.planners.product_methods import plan_boxes
from hetsched.planners.stencil import plan_stencil

from .claims import CLOSE, EXACT, SOLVED

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A planner, and what its arguments mean.

    times: scaled together, the value follows (or, with `free`, does not); rates: scaled the other
    way. workers: arguments with an entry, or a row and a column, for each worker. useless: the
    entries of a worker of no use; two sets of them with a Platform. ranking: methods, each no worse
    than the next ones; `rank` says in what. others: methods without a rank.
    """

    run: Callable[..., Any]
    times: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    useless: dict[str, float | None] = field(default_factory=dict)
    rankings: tuple[tuple[str, ...], ...] = ()
    others: tuple[str, ...] = ()
    selector: str = "method"
    rank: str = "value"
    honours: Callable[[Arguments, Any], None] = lambda given, plan: None
    comparable: Callable[[Arguments], bool] = lambda given: True
    tolerance: float = EXACT


def _sum_of(name: str) -> Callable[[Arguments, Any], None]:
    def honours(given: Arguments, plan: Any) -> None:
        wanted = np.asarray(given[name])
        assert (plan.counts.sum(-1) == wanted).all(), (
            f"counts {plan.counts.tolist()} are not {name} = {given[name]}"
        )

    return honours


def _order_is(given: Arguments, plan: hs.ReductionPlan) -> None:
    assert plan.n == given["n"], f"the order is {plan.n}"
    assert given["block"] in (None, plan.block), f"blocks of {plan.block} columns"


def _size_is(names: Sequence[str]) -> Callable[[Arguments, Any], None]:
    def honours(given: Arguments, plan: Any) -> None:
        assert list(plan.shape) == [given[name] for name in names], f"the shape is {plan.shape}"

    return honours


def _each_task(given: Arguments, plan: Any) -> None:
    count = int(given["n"]) ** (3 if given["kind"] == "matrix" else 2)
    assert len(plan.tasks) == count, f"{len(plan.tasks)} tasks, not {count}"


def _blocks_are(given: Arguments, plan: Any) -> None:
    assert plan.blocks == given["n"], f"{plan.blocks} blocks"


def _size_of_product(given: Arguments, plan: Any) -> None:
    """On a star of workers with limited memory it is in blocks, whose side the platform's unit
    tells where nobody else does."""
    side = 1 if not isinstance(plan, hs.StarPlan) else given["block"]
    if side is not None:
        assert list(plan.shape) == [-(-given[name] // side) for name in ("m", "n", "k")], (
            f"the shape is {plan.shape}"
        )


def _owners(given: Arguments, plan: Any) -> None:
    assert len(plan.owner) == given["n"], f"{len(plan.owner)} owners of n = {given['n']}"


def _in_profile(given: Arguments, plan: hs.ProfileDistribution) -> None:
    _sum_of("n")(given, plan)
    p = len(plan.names)
    for name, wrong in (("min_chunk", np.less), ("memory", np.greater)):
        limits = np.broadcast_to([given["n"] if x is None else x for x in np.ravel(given[name])], p)
        bad = wrong(plan.counts, limits) & (plan.counts > 0)
        assert not bad.any(), f"counts {plan.counts.tolist()}, {name} {limits.tolist()}"


def _in_zone_profile(given: Arguments, plan: hs.ProfilePartition) -> None:
    _shape_is_asked(given, plan)
    most = [math.inf if x is None else x for x in np.ravel(given["memory"])]
    bad = plan.load > np.broadcast_to(np.array(most, float), len(plan.names))
    assert not bad.any(), f"{plan.load.tolist()} cells, memory {most}"


def _shape_is_asked(given: Arguments, plan: Any) -> None:
    assert plan.shape == tuple(given["shape"]), f"the shape is {plan.shape}"


def _like_costs(given: Arguments, plan: hs.Assignment) -> None:
    costs = np.asarray(given["costs"])
    sign = -1 if given["maximize"] else 1
    chosen = costs[plan.rows, plan.cols].tolist()
    assert plan.cost == (sum(chosen) if isinstance(plan.cost, int) else math.fsum(chosen)), (
        "cost is not the sum of the pairs"
    )
    from fractions import Fraction

    rows, cols = [
        [Fraction(x) for x in prices.tolist()] for prices in (plan.row_prices, plan.col_prices)
    ]
    for i, row in enumerate(costs.tolist()):
        for j, cost in enumerate(row):
            over = not math.isinf(cost) and sign * (rows[i] + cols[j]) > sign * Fraction(cost)
            assert not over, f"the prices of row {i} and column {j} are more than their cost"
    longer = (rows if len(rows) > len(cols) else []) + (cols if len(cols) > len(rows) else [])
    assert all(sign * x <= 0 for x in longer), "a price on the longer side has the wrong sign"


def _asked_tasks(given: Arguments, plan: hs.MinTime) -> None:
    assert plan.tasks == given["tasks"], f"{plan.tasks} tasks, {given['tasks']} asked for"


def _asked_time(given: Arguments, plan: hs.MaxTasks) -> None:
    assert float(given["T"]) == plan.T, f"T is {plan.T}"


def _asked_load(given: Arguments, plan: hs.DivisibleLoad) -> None:
    assert plan.amount == float(given["load"]), f"the load is {plan.amount}"


def _asked_layers(given: Arguments, plan: Any) -> None:
    assert plan.n == given["n"], f"n is {plan.n}"


def _asked_items(given: Arguments, plan: hs.Redistribution) -> None:
    for name in ("before", "after", "ring"):
        asked = range(len(plan.names)) if given[name] is None else given[name]
        assert getattr(plan, name).tolist() == list(asked), f"another {name}"


def _asked_ring(given: Arguments, plan: hs.SliceRing) -> None:
    assert (plan.work, plan.volume) == (
        float(given["work"]),
        float(given["volume"]),
    ), "another work or volume"


def _asked_sides(given: Arguments, plan: Any) -> None:
    assert plan.shape == (None if given["shape"] is None else tuple(given["shape"])), (
        f"the shape is {plan.shape}"
    )


def _without_limits(given: Arguments) -> bool:
    """Of a platform's memory: plans that know it and plans that do not have other bounds."""
    return all(memory is None for memory in getattr(given["platform"], "memory", ()))


def _in_square(given: Arguments) -> bool:
    return given["shape"] is None and given.get("budget") is None


_RECTANGLES = (
    "columns",
    "rows",
    "recursive",
    "nagamochi-abe",
    "kalinov-lastovetsky",
    "kaddoura",
    "mohammadi-behroozi",
)

CALLS: dict[str, Call] = {
    "distribute": Call(
        hs.distribute,
        ("cycle_times",),
        ("speeds",),
        workers=("cycle_times", "speeds", "counts"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "counts": 0},
        honours=_sum_of("n"),
    ),
    "distribute_profile": Call(
        hs.distribute_profile,
        ("profiles",),
        workers=("profiles", "min_chunk", "memory"),
        honours=_in_profile,
    ),
    "partition_profile": Call(
        hs.partition_profile,
        ("profiles",),
        workers=("profiles", "memory"),
        rankings=(("best", "guillotine", "columns"), ("best", "rows")),
        comparable=lambda given: given["budget"] is None,
        honours=_in_zone_profile,
    ),
    "lu_pattern": Call(
        hs.lu_pattern,
        ("cycle_times", "profiles"),
        ("speeds",),
        workers=("cycle_times", "speeds", "profiles"),
        useless={"cycle_times": math.inf, "speeds": 0.0},
        rankings=(("pattern", "cyclic"), ("pattern", "contiguous")),
        honours=_owners,
    ),
    "lu_grid": Call(
        hs.lu_grid,
        ("cycle_times", "link_cost"),
        ("speeds",),
        workers=("cycle_times", "speeds"),
        useless={"cycle_times": math.inf, "speeds": 0.0},
        rank="cost",
        honours=_owners,
        rankings=tuple(("best", other) for other in ("1d1d", "nested", "columns", "cyclic")),
    ),
    "plan_lu": Call(
        hs.plan_lu,
        ("cycle_times", "panel_times", "link_costs"),
        ("speeds",),
        selector="owner",
        workers=("cycle_times", "speeds", "panel_times", "link_costs"),
        others=("pattern", "cyclic", "contiguous"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "panel_times": 1.0, "link_costs": 0.0},
        honours=_size_is(("m", "n")),
    ),
    "plan_factor": Call(
        hs.plan_factor,
        ("cycle_times", "panel_times", "link_costs"),
        ("speeds",),
        selector="owner",
        workers=("cycle_times", "speeds", "panel_times", "link_costs"),
        others=("pattern", "cyclic", "contiguous"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "panel_times": 1.0, "link_costs": 0.0},
        honours=_size_is(("m", "n")),
    ),
    "plan_reduction": Call(
        hs.plan_reduction,
        ("cycle_times", "panel_times"),
        ("speeds",),
        selector="owner",
        workers=("cycle_times", "speeds", "panel_times"),
        others=("greedy", "pattern", "cyclic", "contiguous"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "panel_times": 1.0},
        honours=_order_is,
    ),
    "wavefront": Call(
        hs.wavefront,
        ("cycle_times",),
        ("speeds",),
        workers=("cycle_times", "speeds"),
        others=("panels", "cyclic"),
        useless={"cycle_times": math.inf, "speeds": 0.0},
        honours=_size_is(("rows", "cols")),
    ),
    "partition": Call(
        hs.partition,
        ("link_costs",),
        free=("areas",),
        workers=("areas", "cycle_times", "speeds", "link_costs", "groups"),
        useless={
            "areas": 0.0,
            "cycle_times": math.inf,
            "speeds": 0.0,
            "link_costs": 1.0,
            "groups": 0,
        },
        comparable=_in_square,
        honours=_asked_sides,
        rankings=(
            *(
                ("best", other)
                for other in (*_RECTANGLES, "interval", "guillotine", "nonrectangular", "snrpp")
            ),
            *(("guillotine", other) for other in (*_RECTANGLES, "interval")),
        ),
    ),
    "cuboids": Call(
        hs.cuboids,
        ("alpha", "beta", "gamma"),
        free=("volumes",),
        workers=("volumes", "cycle_times", "speeds"),
        useless={"volumes": 0.0, "cycle_times": math.inf, "speeds": 0.0},
        comparable=_in_square,
        honours=_asked_sides,
        rankings=tuple(
            ("best", other) for other in ("guillotine", "interval", "layers", "rectangles")
        ),
    ),
    "dynamic_product": Call(
        hs.dynamic_product,
        free=("cycle_times",),
        workers=("cycle_times", "speeds"),
        useless={"cycle_times": math.inf, "speeds": 0.0},
        honours=_each_task,
        comparable=lambda given: False,  # other draws and other loads
    ),
    "assign": Call(hs.assign, ("costs",), honours=_like_costs),
    "max_tasks": Call(
        hs.max_tasks,
        ("T", "cycle_times", "send", "receive"),
        ("speeds",),
        workers=("cycle_times", "speeds", "send", "receive"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "send": 0.0, "receive": 0.0},
        others=("best", "paper", "fastest"),
        honours=_asked_time,
    ),
    "min_time": Call(
        hs.min_time,
        ("cycle_times", "send", "receive"),
        ("speeds",),
        workers=("cycle_times", "speeds", "send", "receive"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "send": 0.0, "receive": 0.0},
        honours=_asked_tasks,
    ),
    "divisible_load": Call(
        hs.divisible_load,
        ("cycle_times", "link_costs"),
        ("speeds",),
        workers=("cycle_times", "speeds", "link_costs"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "link_costs": 1.0},
        honours=_asked_load,
        tolerance=CLOSE,
        rankings=(("best", "fifo"), ("best", "lifo")),
    ),
    "slice_ring": Call(
        hs.slice_ring,
        ("cycle_times", "links", "latencies", "overheads"),
        ("speeds",),
        workers=("cycle_times", "speeds", "links", "latencies", "overheads"),
        useless={
            "cycle_times": math.inf,
            "speeds": 0.0,
            "links": 1.0,
            "latencies": 1.0,
            "overheads": 1.0,
        },
        honours=_asked_ring,
        tolerance=CLOSE,
        rankings=(("exact", "best", "search", "multistart", "greedy"), ("exact", "all")),
    ),
    "shared_ring": Call(
        hs.shared_ring,
        honours=_asked_ring,
        tolerance=CLOSE,
        rankings=(("exact", "best", "search", "greedy"),),
    ),
    "ring_profile": Call(
        hs.ring_profile,
        ("cycle_times", "links", "latencies", "overheads"),
        ("speeds",),
        workers=("cycle_times", "speeds", "links", "latencies", "overheads"),
        useless={
            "cycle_times": math.inf,
            "speeds": 0.0,
            "links": 1.0,
            "latencies": 1.0,
            "overheads": 1.0,
        },
    ),
    "redistribute": Call(hs.redistribute, ("links", "latencies"), honours=_asked_items),
    "plan_product": Call(
        hs.plan_product,
        ("platform",),
        workers=("platform",),
        useless={"platform": None},
        honours=_size_is(("r", "s", "t")),
        rankings=tuple(
            ("best", other)
            for other in ("search", "hom", "homi", "het", "orroml", "ommoml", "oddoml", "bmm")
        ),
    ),
    "plan_star_lu": Call(
        hs.plan_star_lu,
        ("platform", "master_time"),
        workers=("platform",),
        useless={"platform": None},
        honours=_blocks_are,
    ),
    "layers_star": Call(
        hs.layers_star,
        ("cycle_times", "link_costs"),
        ("speeds",),
        workers=("cycle_times", "speeds", "link_costs", "memory"),
        useless={"cycle_times": math.inf, "speeds": 0.0, "link_costs": 1.0, "memory": math.inf},
        honours=_asked_layers,
        rankings=(("best", "exact", "paper"),),
    ),
    "layers_mesh": Call(
        hs.layers_mesh,
        ("cycle_times", "right", "down"),
        ("speeds",),
        honours=_asked_layers,
        tolerance=SOLVED,
        rankings=(("relaxed", "milp", "neighbours", "pmft"), ("milp", "heuristic")),
    ),
    "layers_network": Call(
        hs.layers_network,
        ("cycle_times",),
        ("speeds",),
        honours=_asked_layers,
        tolerance=SOLVED,
        rankings=(("relaxed", "milp", "neighbours", "pmft"), ("milp", "heuristic")),
    ),
    "plan_boxes": Call(
        plan_boxes,
        ("platform",),
        workers=("platform",),
        useless={"platform": None},
        honours=_size_of_product,
        rankings=tuple(("auto", other) for other in ("columns", "rows", "rectangles")),
        others=("layers", "cuboids", "domains", "best"),
    ),
    "plan_matmul": Call(
        hs.plan_matmul,
        ("platform",),
        workers=("platform",),
        useless={"platform": None},
        honours=_size_of_product,
        rankings=tuple(("best", other) for other in ("columns", "rows", "rectangles")),
        others=("layers", "cuboids", "domains"),
        comparable=_without_limits,
    ),
    "plan_stencil": Call(
        plan_stencil,
        ("members",),
        workers=("members",),
        useless={"members": 0.0},
        honours=_size_is(("rows", "cols")),
        tolerance=CLOSE,
    ),
    "workers_worth": Call(
        hs.workers_worth,
        ("platform",),
        workers=("platform",),
        useless={"platform": None},
        honours=_size_is(("m", "n", "k")),
    ),
}
