"""Runs of given plans: which runner takes which kind of plan, and with which options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..planners.cuboids import Cuboids
from ..planners.divisible import DivisibleLoad
from ..planners.dynamic import DynamicProduct
from ..planners.layers import LayersPlan
from ..planners.mesh import MeshPlan
from ..planners.partition import Partition
from ..planners.product import ProductPlan
from ..planners.profile_zones import ProfilePartition
from ..planners.reduction import ReductionPlan
from ..planners.star import StarPlan
from ..planners.tasks import MaxTasks, MinTime
from . import bus, product, reduction, star, zones
from . import layers as layers_run
from .operands import operands

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from .._base.progress import Progress
    from ..platform import Platform
    from ..trace import Trace
    from .operands import Array, Operands
    from .workers import Resources


class Call(NamedTuple):
    """The arguments of `Pool.run` besides the plan."""

    A: Any
    B: Any
    out: Array | None
    alpha: complex
    beta: complex
    communication: str
    order: str
    rebalance: int | None
    drift: Sequence[tuple[int, Platform]] | None
    layers: str | PathLike[str] | None
    trace: bool

    def operands(self) -> Operands:
        """The checked operands. With layers= there is no memory for C."""
        x = operands(self.A, self.B, self.out, self.alpha, self.beta, make=self.layers is None)
        if x.c.ndim > 2:
            raise ValueError(f"A and B must be matrices, got stacks of {x.c.shape[:-2]}")
        return x


def run(
    resources: Resources, plan: Any, call: Call, progress: Progress | None
) -> tuple[Any, Trace | None]:
    """Implement `Pool.run`: return the result, and the trace if the run made one."""
    kind = next((_KINDS[each] for each in type(plan).__mro__ if each in _KINDS), None)
    if kind is None:
        raise TypeError(
            "plan must be a plan of a product, such as Pool.plan or plan_matmul makes, got"
            f" {type(plan).__name__}"
        )
    _require_options(kind, type(plan).__name__, call)
    return kind.run(resources, plan, call, progress)


# ---- the runners ---------------------------------------------------------------------------------


def _run_product(
    resources: Resources, plan: Any, call: Call, progress: Progress | None
) -> tuple[Any, Trace]:
    x = call.operands()
    boxes = product.checked(resources.workers, plan, x, call.communication)
    return x.result, product.run(resources, boxes, (x.a, x.b, x.c, x.alpha, x.beta), progress)


def _run_partition(
    resources: Resources, plan: Partition, call: Call, progress: Progress | None
) -> tuple[Any, Trace]:
    if call.rebalance is None and call.drift is None:
        return _run_product(resources, plan, call, progress)
    x = call.operands()
    return x.result, zones.run(
        resources, plan, x, call.communication, call.rebalance, call.drift, progress
    )


def _run_layers(
    resources: Resources, plan: LayersPlan | MeshPlan, call: Call, progress: Progress | None
) -> tuple[Any, Trace]:
    if call.layers is None:
        return _run_product(resources, plan, call, progress)
    x = call.operands()
    boxes = product.checked(resources.workers, plan, x, call.communication)
    return layers_run.run(resources, boxes, x, call.layers, progress)


def _run_star(
    resources: Resources, plan: StarPlan, call: Call, progress: Progress | None
) -> tuple[Any, Trace | None]:
    x = call.operands()
    return x.result, star.run(resources, plan, x, call.order, call.trace, progress)


def _run_tasks(
    resources: Resources, plan: bus.BusPlan, call: Call, progress: Progress | None
) -> tuple[Any, Trace | None]:
    return bus.run(resources.workers, plan, call.A, call.B, call.trace, progress)


def _run_reduction(
    resources: Resources, plan: ReductionPlan, call: Call, progress: Progress | None
) -> tuple[Any, Trace]:
    if call.B is not None:
        raise TypeError("B is for products, tasks and loads: a reduction has one matrix")
    return reduction.run(resources, plan, call.A, progress)


# ---- kinds of plans and their options ------------------------------------------------------------


class _Kind(NamedTuple):
    """What runs plans of a kind, and the options that it accepts, names of _OPTIONS."""

    run: Callable[[Resources, Any, Call, Progress | None], tuple[Any, Trace | None]]
    options: tuple[str, ...]


class _Option(NamedTuple):
    """An argument that is not for all plans: its default, and the error for the other plans."""

    default: Any
    error: type[ValueError | TypeError]
    text: str


_PRODUCT = ("out", "alpha", "beta")
_KINDS = {
    ProductPlan: _Kind(_run_product, _PRODUCT),
    Partition: _Kind(_run_partition, (*_PRODUCT, "communication", "rebalance", "drift")),
    ProfilePartition: _Kind(_run_product, _PRODUCT),
    Cuboids: _Kind(_run_product, (*_PRODUCT, "communication")),
    DynamicProduct: _Kind(_run_product, (*_PRODUCT, "communication")),
    LayersPlan: _Kind(_run_layers, (*_PRODUCT, "layers")),
    MeshPlan: _Kind(_run_layers, (*_PRODUCT, "layers")),
    StarPlan: _Kind(_run_star, (*_PRODUCT, "order")),
    MaxTasks: _Kind(_run_tasks, ()),
    MinTime: _Kind(_run_tasks, ()),
    DivisibleLoad: _Kind(_run_tasks, ()),
    ReductionPlan: _Kind(_run_reduction, ()),
}
_PRODUCTS_ONLY = (
    "out, alpha, beta, communication, order, rebalance, drift and layers are for products, got a"
    " plan of type {kind}"
)
_PARTITION_ONLY = "plan must be a partition for rebalance and drift, got a {kind}"
_OPTIONS = {
    "out": _Option(None, TypeError, _PRODUCTS_ONLY),
    "alpha": _Option(1.0, TypeError, _PRODUCTS_ONLY),
    "beta": _Option(0.0, TypeError, _PRODUCTS_ONLY),
    "layers": _Option(
        None, TypeError, "layers is for a plan of layers and without out, got a {kind}{also}"
    ),
    "communication": _Option(
        "once", ValueError, "communication is for a partition, got {value!r} with a {kind}"
    ),
    "rebalance": _Option(None, TypeError, _PARTITION_ONLY),
    "drift": _Option(None, TypeError, _PARTITION_ONLY),
    "order": _Option(
        "plan", ValueError, "order is for a plan of plan_product, got {value!r} with a {kind}"
    ),
}


def _require_options(kind: _Kind, name: str, call: Call) -> None:
    """Refuse an option that is not for this kind of plan, and layers= together with out."""
    for option, (default, error, text) in _OPTIONS.items():
        if option in kind.options and (option != "layers" or call.out is None):
            continue
        value = getattr(call, option)
        if value is None if default is None else value == default:
            continue
        if not kind.options:
            raise TypeError(_PRODUCTS_ONLY.format(kind=name))
        also = "" if call.out is None else " and out"
        raise error(text.format(kind=name, value=value, also=also))
