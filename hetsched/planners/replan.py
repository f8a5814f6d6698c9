"""A new plan for the work of another plan, when the workers have changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numpy.typing import ArrayLike

from ..plan import Plan, require_plan
from ..platform import Platform, as_platform
from .distribute import Distribution, distribute
from .divisible import DivisibleLoad, divisible_load
from .factor import FactorPlan, plan_factor
from .layers import LayersPlan, layers_star
from .lu_grid import LuGrid, lu_grid
from .lu_pattern import LuPattern, lu_pattern
from .partition import Partition, partition, weights_of
from .product import COMMUNICATION, ProductPlan
from .product_methods import plan_boxes
from .reduction import ReductionPlan, plan_reduction
from .ring import SliceRing, slice_ring
from .shared_ring import shared_ring
from .star import StarPlan, plan_product
from .tasks import MinTime, min_time
from .wavefront import Wavefront, wavefront

#: plan, platform, and {"method": the method asked for}, or {} if that was not one of the planner's.
_Again = Callable[[Any, Any, Any], Plan]


def _require_speeds(plan: Plan) -> None:
    """TypeError for a plan of a triangle, or from profiles, which a platform does not have."""
    function = ""
    if isinstance(plan, ProductPlan):
        if plan.triangle:
            raise TypeError("plan must be of all of C, not of a triangle")
        function = "plan_matmul" if plan.method == "profiles" else ""
    elif isinstance(plan, FactorPlan):
        function = "" if plan.step_cycle_times is None else "plan_factor"
    elif isinstance(plan, LuPattern):
        function = "" if plan.times is None else "lu_pattern"
    if function:
        raise TypeError(f"plan was made from profiles: plan again with {function}(profiles=)")


def _boxes(plan: ProductPlan, platform: Platform, method: dict[str, Any]) -> Plan:
    m, n, k = plan.shape
    updates = float(m) * n * k
    stepwise, *_ = COMMUNICATION[plan.communication]
    return plan_boxes(
        m, n, k, platform,
        block=int(plan.boxes[:, 6].max(initial=1)) if stepwise else 1,
        communication=plan.communication,
        itemsize=plan.itemsize,
        flops_per_update=float(plan.flops.sum()) / updates if updates else 2.0,
        **method,
    )  # fmt: skip


def _ring(plan: SliceRing, platform: Platform, method: dict[str, Any]) -> Plan:
    given: dict[str, Any] = {
        "work": plan.work,
        "volume": plan.volume,
        "latencies": plan.latencies,
        "overheads": plan.overheads,
    }
    if plan.network is None or platform.links is not None or platform.shape is not None:
        return cast(Plan, slice_ring(platform, relays=plan.relays, **given, **method))
    if len(platform) != len(plan.names):
        raise ValueError(
            f"platform has {len(platform)} workers, the network of the plan is for"
            f" {len(plan.names)}"
        )
    return shared_ring(platform, plan.network, duplex=plan.duplex, **given, **method)


_PLANNERS: dict[type[Plan], _Again] = {
    Distribution: lambda plan, platform, _: distribute(int(plan.counts.sum()), platform),
    DivisibleLoad: lambda plan, platform, method: divisible_load(
        plan.amount, platform, return_ratio=plan.return_ratio, **method
    ),
    FactorPlan: lambda plan, platform, _: plan_factor(
        plan.shape[0], plan.shape[1], platform, kind=plan.kind, block=plan.block,
        dtype=plan.dtype, look_ahead=plan.look_ahead,
    ),
    LayersPlan: lambda plan, platform, method: layers_star(
        plan.n, platform, mode=plan.mode, disk=plan.disk, **method
    ),
    LuGrid: lambda plan, platform, method: lu_grid(
        len(plan.owner), platform, link_cost=plan.link_cost, **method
    ),
    LuPattern: lambda plan, platform, method: lu_pattern(len(plan.owner), platform, **method),
    MinTime: lambda plan, platform, _: min_time(
        plan.tasks, platform, send=plan.send, receive=plan.receive
    ),
    Partition: lambda plan, platform, method: partition(
        platform, shape=plan.shape, objective=plan.objective, link_costs=weights_of(plan),
        groups=plan.groups, group_cost=plan.group_cost, **method,
    ),
    ProductPlan: _boxes,
    ReductionPlan: lambda plan, platform, _: plan_reduction(
        plan.n, platform, block=plan.block, dtype=plan.dtype
    ),
    SliceRing: _ring,
    StarPlan: lambda plan, platform, method: plan_product(
        plan.shape[0], plan.shape[1], plan.shape[2], platform, returns=plan.returns, **method
    ),
    Wavefront: lambda plan, platform, method: wavefront(
        plan.shape[0], plan.shape[1], platform, order=plan.order, mask=plan.mask, axis=plan.axis,
        **method,
    ),
}  # fmt: skip


def replan(plan: Plan, platform: Platform | ArrayLike) -> Plan:
    """A new plan of the same work for other workers, by the planner and method of the first plan.

    ``replan(plan, platform).makespan`` beside ``plan.on(platform).makespan`` says what planning
    again would gain.

    Parameters
    ----------
    plan : Plan
        From `distribute`, `divisible_load`, `layers_star`, `lu_grid`, `lu_pattern`, `min_time`,
        `partition`, `plan_factor`, `plan_matmul`, `plan_product`, `plan_reduction`, `slice_ring` or
        `wavefront`. Options that the plan does not hold, such as a period, a seed, a budget, or
        `block` and `deterministic` of products, are the planner's defaults. Plans in steps keep
        their width.
    platform : Platform or (p,) array_like
        Any number of workers, with links if the plan has messages; or cycle-times alone.

    Returns
    -------
    Plan
        Of the same type.

    Raises
    ------
    TypeError
        For other kinds of plans, for plans from profiles, and for products of a triangle.
    ValueError, InfeasibleError
        From the planner.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.distribute(78, cycle_times=[3, 5, 8])
    >>> plan.on([3, 5, 16]).makespan, hs.replan(plan, [3, 5, 16]).makespan
    (224.0, 132.0)
    """
    require_plan(plan)
    if type(plan) not in _PLANNERS:
        kinds = ", ".join(kind.__name__ for kind in _PLANNERS)
        raise TypeError(f"plan must be one of {kinds}, got a {type(plan).__name__}")
    _require_speeds(plan)
    platform = as_platform("platform", platform)
    if plan.unit is not None:
        platform = platform.per(plan.unit, "the plan")
    # "given": the decisions were an argument, so no method was asked for
    method = {} if plan.asked == "given" else {"method": plan.asked}
    try:
        return _PLANNERS[type(plan)](plan, platform, method)
    except (TypeError, ValueError) as error:  # about an argument that the platform stands for
        if str(error).startswith("platform"):
            raise
        raise type(error)(f"platform does not suit the plan: {error}") from error
