"""Methods that plan a matrix product: slices, rectangles, layers, boxes, and the best of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._engine.layers import Layers
from ..errors import InfeasibleError
from ..platform import UNIT, Platform, Unit
from .cover import require_cuboids, require_pieces
from .cuboids import Cuboids, cuboids
from .distribute import distribute
from .floorplan import METHODS as PARTITIONS
from .layers import LayersPlan
from .mesh import InstallmentPlan, MeshPlan, arrivals, round_arrivals
from .partition import Partition, partition
from .product import (
    COMMUNICATION,
    ProductPlan,
    Task,
    in_cannon,
    in_domains,
    in_layers,
    in_routed_layers,
    in_zones,
)
from .product_domains import domain_zones

#: Besides the methods of `partition`: block columns, block rows, `partition` into columns, layers
#: of the inner dimension, `cuboids`, Cannon's algorithm, zones for the domains of a machine, zones
#: for the nodes of a cluster. "auto" takes the fastest of them.
_OWN = ("columns", "rows", "rectangles", "layers", "cuboids")
METHODS = (
    "auto",
    *_OWN,
    "cannon",
    "domains",
    "nodes",
    *(name for name in PARTITIONS if name not in _OWN),
)

#: What the half perimeter of a node's zone costs relative to that of a worker: "nodes" tries them.
_NODE_COSTS = (1.0, 10.0, 100.0)

#: Most workers for which "auto" also searches for the best partition and the best boxes.
_FEW = 64

#: The methods that divide the inner dimension according to the platform.
_DIVIDE = ("layers", "cuboids")

_OVERFLOWS = (
    "the makespan overflows: give the cycle-times and link costs of the platform in a larger unit"
)

_MOST = 1e80  # a larger ratio of times counts as infinite


@np.errstate(over="ignore", invalid="ignore")  # an overflow shows in the makespan
def plan_boxes(
    m: int,
    n: int,
    k: int,
    platform: Platform,
    *,
    method: str = "auto",
    block: int = 1,
    communication: str = "once",
    itemsize: int = 8,
    flops_per_update: float = 2.0,
    shared: bool = False,
    deterministic: bool = False,
) -> ProductPlan:
    """Plan C = A B, A m x k, B k x n, for a star platform.

    Parameters
    ----------
    m, n, k : int
        Sizes in elements, >= 0.
    platform : Platform
        Cycle-times in seconds per gigaflop, and link costs in seconds per gigabyte.
    method, block, communication :
        See `Pool.plan`.
    itemsize, flops_per_update :
        Bytes of an element; flops of one multiply-add (8 for complex).
    shared : bool
        See `ProductPlan`.
    deterministic : bool
        Whether only zones of C are allowed. Their product has the same bits for all workers and
        speeds.

    Returns
    -------
    ProductPlan
        Its lower bound is the work divided perfectly over the speeds.
    """
    m, n, k = (check.integer(name, size, low=0) for name, size in (("m", m), ("n", n), ("k", k)))
    block = check.integer("block", block, low=1)
    check.choice("method", method, METHODS)
    check.choice("communication", communication, COMMUNICATION)
    require_zones(check.flag("deterministic", deterministic), method, communication)
    platform = platform.per(Unit.gigaflop(), "a product")
    task = Task((m, n, k), platform, block, communication, itemsize, flops_per_update, shared)
    if m and n and np.isposinf(task.unit_layer[0]).all():
        raise ValueError(_OVERFLOWS)
    plans = []
    names = _candidates(task) if method == "auto" else [method]
    for name in [name for name in names if not (deterministic and name in _DIVIDE)]:
        try:
            plans.append(_by_method(name, task, search=method != "auto"))
        except InfeasibleError as error:
            # fewer blocks than workers: slices still work, or there is nothing to divide
            if method != "auto":
                raise InfeasibleError(
                    f"method {method!r} has too little to divide: {error}"
                ) from None
    best = min(plans, key=_makespan)
    require_finite(best)
    tried = {plan.method: _makespan(plan) for plan in plans} if method == "auto" else {}
    return replace(best, asked=method, tried=check.FrozenDict(tried))


def _makespan(plan: ProductPlan) -> float:
    """The makespan; infinite if it overflows."""
    return plan.makespan if math.isfinite(plan.makespan) else math.inf


def require_zones(deterministic: bool, method: str, communication: str) -> None:
    """Refuse methods that do not sum each element of C in the order that `hs.matmul` uses."""
    if deterministic and method in (*_DIVIDE, "cannon"):
        raise ValueError(
            "deterministic=True is for zones of C only,"
            f" but method {method!r} divides the inner dimension"
        )
    if deterministic and COMMUNICATION[communication][0]:
        raise ValueError(
            f"deterministic=True is for zones of C only, but communication {communication!r}"
            " divides the inner dimension in steps"
        )


def require_finite(plan: ProductPlan) -> None:
    if not math.isfinite(plan.makespan):
        raise ValueError(_OVERFLOWS)


def _candidates(task: Task) -> list[str]:
    names = ["columns", "rows", "rectangles"]
    if task.linked:  # owners of A and B are defined for zones only
        few = len(task.platform) <= _FEW
        many_nodes = 1 < len(set(task.platform.nodes or ())) < len(task.platform)
        return names + ["best", "contiguous"] * few + ["nodes"] * (few and many_nodes)
    if len(task.platform) <= _FEW:
        linked, stepwise = task.platform.link_costs.any(), COMMUNICATION[task.communication][0]
        names += (["best", "contiguous"] if linked else []) + (
            [] if stepwise else ["layers"] + ["cuboids"] * bool(linked)
        )
    return names


def _by_method(name: str, task: Task, search: bool) -> ProductPlan:
    m, n, k = task.shape
    block = task.block
    if name in ("layers", "cuboids"):
        if COMMUNICATION[task.communication][0]:
            raise ValueError(
                f"communication {task.communication!r} has steps along the inner dimension, which"
                f" {name!r} divides"
            )
        if m and n and k:
            return _layers(task) if name == "layers" else _cuboids(task, search)
        name = "columns"  # there is nothing to divide
    if name == "cannon":
        if m and n and k:
            return in_cannon(task)
        name = "columns"
    if name == "nodes":
        return _nodes(task)
    if name == "domains":
        return in_domains(
            _in_elements(domain_zones(-(-m // block), -(-n // block), task.platform), block), task
        )
    return in_zones(
        name,
        _in_elements(_pieces(name, -(-m // block), -(-n // block), task.platform), block),
        task,
    )


def _nodes(task: Task) -> ProductPlan:
    """The best plan of two levels: a zone for each node, and in it zones of the node's workers.

    Where that is faster, data that several workers of a node need comes from another node once.
    """
    m, n, _ = task.shape
    nodes = task.platform.nodes
    if nodes is None or not task.linked:
        raise ValueError(
            'platform must have nodes, and links between every two workers, for method "nodes":'
            " see Platform.join"
        )
    groups = np.unique(nodes, return_inverse=True)[1].astype(np.int64)
    shape = -(-m // task.block), -(-n // task.block)
    plans = []
    for cost in _NODE_COSTS:
        zones = partition(task.platform, shape=shape, groups=groups, group_cost=cost)
        pieces = _in_elements(zones.pieces, task.block)
        plans += [in_zones("nodes", pieces, task._replace(groups=own)) for own in (None, groups)]
    return min(plans, key=_makespan)


def _layers(task: Task) -> ProductPlan:
    """The best plan of layers for any number of workers.

    For each number, the workers with the least time for a layer and its transfer divide the layers.
    The makespan including the sum of layers decides.
    """
    m, n, k = task.shape
    block, p = task.block, len(task.platform)
    least = task.unit_layer[0].min()
    compute, send = (np.minimum(times / least, _MOST) for times in task.unit_layer)
    send[send < 1.0 / _MOST] = 0.0
    port = np.argsort(send, kind="stable")  # the best order of messages
    speed = np.argsort(compute + send, kind="stable")
    mode = "sccs" if task.communication == "once" else task.communication
    plans = []
    for enrolled in range(1, p + 1) if p <= _FEW else (p,):
        time = np.full(p, np.inf)
        time[speed[:enrolled]] = compute[speed[:enrolled]]
        counts = np.zeros(p, np.int64)
        counts[port] = block * Layers(mode, -(-k // block), time[port], send[port]).exact()[0]
        boxes = np.zeros((p, 7), np.int64)
        boxes[:, 0] = port
        boxes[:, 3] = np.cumsum(counts[port]) - counts[port]
        boxes[:, 4:] = (m, n, 0)
        boxes[:, 6] = counts[port]
        plans.append(in_layers("layers", boxes, task))
    return min(plans, key=_makespan)


def _cuboids(task: Task, search: bool) -> ProductPlan:
    m, n, k = task.shape
    block, p = task.block, len(task.platform)
    found = cuboids(
        task.platform,
        shape=(-(-m // block), -(-n // block), -(-k // block)),
        orders=None if search else 0,
    )
    boxes = np.concatenate((np.arange(p)[:, None], block * found.boxes.astype(np.int64)), axis=1)
    return in_layers("cuboids", boxes, task)


@np.errstate(over="ignore", invalid="ignore")
def plan_of_partition(
    given: Partition,
    m: int,
    n: int,
    k: int,
    platform: Platform,
    itemsize: int,
    flops_per_update: float,
    communication: str,
) -> ProductPlan:
    """The product over the zones of a partition of the elements or blocks of C."""
    if given.shape is None:
        raise ValueError("plan is a partition of the unit square: give partition() a shape")
    if len(given.areas) != len(platform):
        raise ValueError(f"plan is for {len(given.areas)} workers, the pool has {len(platform)}")
    check.choice("communication", communication, COMMUNICATION)
    require_pieces(given)
    rows, cols = given.shape
    block = max(1, -(-m // rows))
    if -(-m // block) != rows or -(-n // block) != cols:
        raise ValueError(
            f"plan has shape {given.shape},"
            f" which is neither ({m}, {n}) nor its number of square blocks"
        )
    task = Task((m, n, k), platform, block, communication, itemsize, flops_per_update, False)
    pieces = _in_elements(given.pieces, block)
    plan = in_zones(given.method, pieces, task)
    # a group may share the data that comes from other groups
    if given.groups is not None and task.linked:
        plan = min(
            plan,
            in_zones(given.method, pieces, task._replace(groups=np.array(given.groups, np.int64))),
            key=_makespan,
        )
    require_finite(plan)
    return plan


@np.errstate(over="ignore", invalid="ignore")
def plan_of_boxes(
    given: Cuboids | LayersPlan,
    m: int,
    n: int,
    k: int,
    platform: Platform,
    itemsize: int,
    flops_per_update: float,
    communication: str,
) -> ProductPlan:
    """The product over boxes of its iterations, or over layers, counted in elements or blocks.

    Layers have their own mode of communication.
    """
    p = len(given.names)
    if p != len(platform):
        raise ValueError(f"plan is for {p} workers, the pool has {len(platform)}")
    if isinstance(given, LayersPlan):
        block = max(1, -(-k // max(given.n, 1)))
        if -(-k // block) != given.n:
            raise ValueError(
                f"plan has n = {given.n}, which is neither k = {k} nor its number of blocks"
            )
        boxes = np.zeros((p, 7), np.int64)
        boxes[:, 0] = np.arange(p)
        boxes[:, 3] = block * given.displs
        boxes[:, 6] = block * given.counts
        boxes[:, 4:6] = m, n
        boxes, communication = boxes[given.order], given.mode
    elif given.shape is None:
        raise ValueError("plan has boxes of the unit cube: give cuboids() a shape")
    else:
        require_cuboids(given)
        block = max(1, -(-m // given.shape[0]))
        if tuple(-(-size // block) for size in (m, n, k)) != given.shape:
            raise ValueError(
                f"plan has shape {given.shape},"
                f" which is neither ({m}, {n}, {k}) nor its number of blocks"
            )
        boxes = np.concatenate(
            (np.arange(p)[:, None], block * given.boxes.astype(np.int64)), axis=1
        )
    if (
        not isinstance(communication, str)
        or communication not in COMMUNICATION
        or COMMUNICATION[communication][0]
    ):
        raise ValueError(
            "communication must be one of once, scss, sccs, pccs, pcss for such a plan, got"
            f" {communication!r}"
        )
    task = Task((m, n, k), platform, block, communication, itemsize, flops_per_update, False)
    if not (m and n and k):
        return _by_method("columns", task, search=False)  # nothing to divide
    plan = in_layers("layers" if isinstance(given, LayersPlan) else "cuboids", boxes, task)
    require_finite(plan)
    return plan


def plan_of_mesh(
    given: MeshPlan,
    m: int,
    n: int,
    k: int,
    platform: Platform,
    itemsize: int,
    flops_per_update: float,
) -> ProductPlan:
    """The product over layers (of elements or blocks) that arrive over the links of a network.

    Fractional layers are rounded.
    """
    if len(given.names) != len(platform):
        raise ValueError(f"plan is for {len(given.names)} workers, the pool has {len(platform)}")
    if isinstance(given, InstallmentPlan):
        rounds = given.round_counts.T
    else:
        rounds = given.counts.reshape(-1, 1)
    counts, block = rounds.ravel(), max(1, -(-k // given.n))  # by worker, then by installment
    if counts.dtype.kind == "f":
        ends = np.rint(np.cumsum(counts) * (k / given.n)).astype(np.int64)
    elif -(-k // block) != given.n:
        raise ValueError(
            f"plan has n = {given.n}, which is neither k = {k} nor its number of blocks"
        )
    else:
        ends = block * np.cumsum(counts)
    boxes = np.zeros((len(counts), 7), np.int64)
    boxes[:, 0], boxes[1:, 3] = np.repeat(np.arange(len(rounds)), rounds.shape[1]), ends[:-1]
    boxes[:, 6] = np.diff(ends, prepend=0)
    boxes[:, 4:6] = m, n
    communication = given.mode if given.mode in ("scss", "pcss") else "once"
    task = Task((m, n, k), platform, block, communication, itemsize, flops_per_update, False)
    if not (m and n and k):
        return _by_method("columns", task, search=False)  # nothing to divide
    data = itemsize * (m + n) * (k / given.n)
    if isinstance(given, InstallmentPlan):
        come = round_arrivals(given, platform, data / UNIT).transpose(1, 0, 2).reshape(-1, 2)
        flows = given.round_flows
    else:
        come, flows = arrivals(given, platform, data / UNIT), given.flows[None]
    sent = np.array(
        [np.bincount(given.links[:, 1], own / (2.0 * given.n), len(rounds)) for own in flows]
    ).T.ravel()
    plan = in_routed_layers(boxes, come, (data * sent).astype(np.float64), task)
    require_finite(plan)
    return plan


def _in_elements(pieces: NDArray[Any], block: int) -> NDArray[np.int64]:
    elements: NDArray[np.int64] = pieces.astype(np.int64) * np.array(
        [1, block, block, block, block]
    )
    return elements


def _slices(
    along: int, across: int, platform: Platform
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    plan = distribute(along if across else 0, platform)
    return plan.displs, plan.counts, np.where(plan.counts > 0, across, 0)


def _columns(rows: int, cols: int, platform: Platform) -> NDArray[np.int64]:
    start, width, height = _slices(cols, rows, platform)
    return np.stack((np.arange(len(platform)), np.zeros_like(start), start, height, width), axis=1)


def _rows(rows: int, cols: int, platform: Platform) -> NDArray[np.int64]:
    start, height, width = _slices(rows, cols, platform)
    return np.stack((np.arange(len(platform)), start, np.zeros_like(start), height, width), axis=1)


def _pieces(method: str, rows: int, cols: int, platform: Platform) -> NDArray[np.int64]:
    if method == "columns":
        return _columns(rows, cols, platform)
    if method == "rows":
        return _rows(rows, cols, platform)
    if rows * cols < len(platform):
        raise InfeasibleError(
            f"method {method!r} gives every worker a block, but {rows} x {cols} blocks are fewer"
            f" than the {len(platform)} workers"
        )
    if method == "rectangles":
        return partition(platform, "columns", (rows, cols)).pieces.astype(np.int64)
    costs = platform.link_costs
    found = partition(
        platform, method, (rows, cols), link_costs=costs if (costs > 0).all() else None
    )
    return found.pieces.astype(np.int64)
