"""Methods that plan a matrix product: slices, rectangles, layers, boxes, and the best of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from .._engine import schedule as engine
from ..errors import InfeasibleError
from ..plan import certified
from ..platform import UNIT, Platform, Unit, require_star
from .cover import require_cuboids, require_pieces
from .cuboids import Cuboids, cuboids
from .dynamic import DynamicProduct
from .layers import LayersPlan
from .mesh import InstallmentPlan, MeshPlan, arrivals, round_arrivals
from .partition import Partition, partition
from .product import (
    COMMUNICATION,
    Candidate,
    ProductPlan,
    Task,
    in_layers,
    in_routed_layers,
    in_zones,
    require_few,
)
from .product_domains import counted, members
from .profile_zones import ProfilePartition

#: Besides the methods of `partition`: block columns, block rows, `partition` into columns, layers
#: of the inner dimension, `cuboids`, Cannon's algorithm, zones for the domains of a machine, zones
#: for the nodes of a cluster. "auto" takes the fastest of them.
METHODS = tuple(engine.METHODS)

#: The methods that divide the inner dimension according to the platform.
_DIVIDE = ("layers", "cuboids")

_OVERFLOWS = (
    "the makespan overflows: give the cycle-times and link costs of the platform in a larger unit"
)


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
    zones: NDArray[np.int64] | None = None,
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
    zones : (d, 4) int64, optional
        For method "domains" with block 1: row, col, height, width of the zone of each domain.

    Returns
    -------
    ProductPlan
        Its lower bound is the work divided perfectly over the speeds.
    """
    m, n, k = (check.integer(name, size, low=0) for name, size in (("m", m), ("n", n), ("k", k)))
    block = check.integer("block", block, low=1)
    check.choice("method", method, METHODS)
    check.choice("communication", communication, COMMUNICATION)
    deterministic = check.flag("deterministic", deterministic)
    require_zones(deterministic, method, communication)
    if platform.shape is not None:
        require_star("platform", platform)
    platform = platform.per(Unit.gigaflop(), "a product")
    task = Task((m, n, k), platform, block, communication, itemsize, flops_per_update, shared)
    if m and n and np.isposinf(task.unit_layer).all():
        raise ValueError(_OVERFLOWS)
    _require_method(method, task)
    best, tried = _best(method, task, deterministic, zones)
    return _plan(best, asked=method, tried=check.FrozenDict(tried if method == "auto" else {}))


def _makespan(candidate: Candidate) -> float:
    return candidate.makespan


def _plan(best: Candidate, **fields: Any) -> ProductPlan:
    """The plan of the best candidate."""
    if best.method == "domains":
        zones, k = engine.as_rows(best.boxes[0])[:, [0, 1, 2, 4, 5]], best.task.shape[2]
        fields["domains"] = counted(zones, k, best.task.platform, best.task.itemsize)
    return best.plan(**fields)


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


def _require_method(method: str, task: Task) -> None:
    """Refuse methods that do not fit the platform or the communication."""
    communication, p = task.communication, len(task.platform)
    stepwise = COMMUNICATION[communication][0]
    if method in _DIVIDE and stepwise:
        raise ValueError(
            f"communication {communication!r} has steps along the inner dimension, which"
            f" {method!r} divides"
        )
    if method == "cannon" and all(task.shape):
        if math.isqrt(p) ** 2 != p:
            raise ValueError(
                f"method 'cannon' needs a square number of workers, the platform has {p}"
            )
        if not stepwise:
            raise ValueError(
                f"communication must be 'sequential' or 'parallel', got {communication!r}: method"
                " 'cannon' works in steps"
            )
    if method == "nodes" and (task.platform.nodes is None or not task.linked):
        raise ValueError(
            'platform must have nodes, and links between every two workers, for method "nodes":'
            " see Platform.join"
        )


def _nodes(platform: Platform) -> NDArray[np.int32] | None:
    """(p,) numbers of the workers' nodes."""
    if platform.nodes is None:
        return None
    numbers: NDArray[np.int32] = np.unique(platform.nodes, return_inverse=True)[1].astype(np.int32)
    return numbers


def _best(
    method: str,
    task: Task,
    deterministic: bool = False,
    zones: NDArray[np.int64] | None = None,
) -> tuple[Candidate, dict[str, float]]:
    """The best plan by a method, or by those that "auto" tries, and the makespan of each."""
    try:
        found = task.engine.best(
            method,
            task.block,
            stepwise=COMMUNICATION[task.communication][0],
            zones_only=deterministic,
            nodes=_nodes(task.platform),
            domains=members(task.platform)[1].astype(np.int32) if method == "domains" else None,
            zones=zones,
        )
    except engine.NoPlanError as error:
        require_few(error.boxes, error.messages, task)
        if error.overflows:
            raise ValueError("the makespan overflows: give cycle_times in a larger unit") from None
        if math.prod(task.blocks[:2]) >= len(task.platform):
            _divide_again(method, task)
        raise ValueError(
            f"the cycle-times or link costs of the platform are too small or too large: {error}"
        ) from None
    except (InfeasibleError, NotImplementedError):
        reason = _too_little(method, task)
        raise InfeasibleError(f"method {method!r} has too little to divide: {reason}") from None
    best = Candidate(
        task,
        found.method,
        found.boxes,
        found.schedule,
        found.messages,
        found.layers,
        found.proof,
    )
    return best, found.tried


def _divide_again(method: str, task: Task) -> None:
    """Divide C, or its iterations, alone: the planner says what is wrong with the arguments."""
    shape, costs = task.blocks[:2], task.platform.link_costs
    if method == "cuboids":
        cuboids(task.platform, shape=task.blocks, orders=0)
    elif method == "nodes":
        partition(task.platform, shape=shape, groups=_nodes(task.platform))
    elif method not in ("columns", "rows", "rectangles", "layers", "cannon", "domains"):
        weights = costs if (costs > 0).all() else None
        name = "best" if method == "auto" else method
        partition(task.platform, name, shape, link_costs=weights)


def _too_little(method: str, task: Task) -> str:
    """Why a method has too little to divide, or too much."""
    (rows, cols, _), p = task.blocks, len(task.platform)
    if method == "cannon":
        grid, (m, n, k) = math.isqrt(p), task.shape
        return (
            f"m, n, k = {m}, {n}, {k} are too small for method 'cannon', which cuts A, B and C into"
            f" {grid} x {grid} parts"
        )
    if method not in ("cuboids", "nodes") and rows * cols < p:
        return (
            f"method {method!r} gives every worker a block, but {rows} x {cols} blocks are fewer"
            f" than the {p} workers"
        )
    try:
        _divide_again(method, task)
    except InfeasibleError as error:
        return str(error)
    return f"it does not fit {p} workers"


def _require_at_once(communication: Any) -> None:
    """Refuse communication in steps, and what is none."""
    if (
        not isinstance(communication, str)
        or communication not in COMMUNICATION
        or COMMUNICATION[communication][0]
    ):
        raise ValueError(
            "communication must be one of once, scss, sccs, pccs, pcss for such a plan, got"
            f" {communication!r}"
        )


def _boxes_of(found: Cuboids, block: int) -> NDArray[np.int64]:
    """The boxes of a plan in blocks, in elements."""
    workers = np.arange(len(found.boxes))[:, None]
    return np.concatenate((workers, block * found.boxes.astype(np.int64)), axis=1)


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
    block = _block_of(given.shape, m, n)
    task = Task((m, n, k), platform, block, communication, itemsize, flops_per_update, False)
    pieces = _in_elements(given.pieces, block)
    best = in_zones(given.method, pieces, task)
    # a group may share the data that comes from other groups
    if given.groups is not None and task.linked:
        groups = np.array(given.groups, np.int64)
        best = min(best, in_zones(given.method, pieces, task, groups), key=_makespan)
    return _plan(best)


@np.errstate(over="ignore", invalid="ignore")
def plan_of_profile(
    given: ProfilePartition,
    m: int,
    n: int,
    k: int,
    platform: Platform | None,
    itemsize: int,
    flops_per_update: float,
    block: int | None = None,
) -> ProductPlan:
    """The product over zones that are planned with the times of zones of depth k, in seconds.

    platform : the link costs and names of the workers; None without links. The cycle-time of each
    worker is what its zone implies; without a zone it is the largest of the others.
    block : side of the blocks that the plan counts, if it is known.
    """
    p = len(given.times)
    links = None
    if platform is not None:
        if len(platform) != p:
            raise ValueError(f"plan is for {p} workers, the platform has {len(platform)}")
        require_star("platform", platform)
        links = platform.per(Unit.gigaflop(), "a product").link_costs
    block = _block_of(given.shape, m, n) if block is None else block
    pieces = _in_elements(given.pieces, block)
    ends = np.minimum(pieces[:, 1:3] + pieces[:, 3:], (m, n))
    work = flops_per_update * k * (ends - pieces[:, 1:3]).prod(axis=1, dtype=np.float64) / UNIT
    means = np.maximum(given.times[pieces[:, 0]] / work, schema.LEAST)
    cycle_times = np.full(p, means.max())
    cycle_times[pieces[:, 0]] = means
    names = list(given.names if platform is None else platform.names)
    star = Platform.star(cycle_times, links, names=names, unit=Unit.gigaflop())
    task = Task((m, n, k), star, block, "once", itemsize, flops_per_update, False)
    best = in_zones("profiles", pieces, task)
    proof = certified(given.bound, makespan=best.schedule.makespan)
    # of all plans that profiles have times for: they have none for a part of the inner dimension
    scope = "one zone for each worker" if proof["optimal"] else ""
    return _plan(best, **proof | {"scope": scope})


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
        boxes = _boxes_of(given, block)
    _require_at_once(communication)
    task = Task((m, n, k), platform, block, communication, itemsize, flops_per_update, False)
    if not (m and n and k):
        return _plan(_best("columns", task)[0])  # nothing to divide
    return _plan(in_layers("layers" if isinstance(given, LayersPlan) else "cuboids", boxes, task))


@np.errstate(over="ignore", invalid="ignore")
def plan_of_demand(
    given: DynamicProduct,
    m: int,
    n: int,
    k: int,
    platform: Platform,
    itemsize: int,
    flops_per_update: float,
    communication: str,
) -> ProductPlan:
    """The product over the tasks of a demand-driven run. All sides are cut as evenly as possible.

    A block of A or B that is sent counts with the average size of its operand's blocks; blocks of C
    are sent for the sum of layers.
    """
    if len(given.names) != len(platform):
        raise ValueError(f"plan is for {len(given.names)} workers, the pool has {len(platform)}")
    _require_at_once(communication)
    task = Task((m, n, k), platform, 1, communication, itemsize, flops_per_update, False)
    if not (m and n and k):
        return _plan(_best("columns", task)[0])  # nothing to divide
    if not given.n:
        raise ValueError(f"plan has no blocks, but C has shape ({m}, {n})")
    deep, boxes = given.kind == "matrix", np.zeros((len(given.tasks), 7), np.int64)
    boxes[:, 0] = given.tasks[:, 0]
    for axis, side in enumerate((m, n, k)):
        parts = given.n if deep or axis < 2 else 1
        cuts = np.arange(parts + 1) * side // parts
        place = given.tasks[:, 1 + axis]
        boxes[:, 1 + axis], boxes[:, 4 + axis] = cuts[place], np.diff(cuts)[place]
    some = (boxes[:, 4:] > 0).all(axis=1)
    bytes_of_blocks = itemsize * np.array([m * k, k * n]) / given.n ** (2 if deep else 1)
    sent = np.ascontiguousarray(given.sent[some, :2] @ bytes_of_blocks)
    (chosen, _), layers = task.engine.layers(engine.as_boxes(boxes[some]))
    schedule = task.engine.schedule(chosen, sent, layers=layers)
    return _plan(Candidate(task, given.method, (chosen, sent), schedule, layers=layers))


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
        return _plan(_best("columns", task)[0])  # nothing to divide
    data = itemsize * (m + n) * (k / given.n)
    if isinstance(given, InstallmentPlan):
        come = round_arrivals(given, platform, data / UNIT).transpose(1, 0, 2).reshape(-1, 2)
        flows = given.round_flows
    else:
        come, flows = arrivals(given, platform, data / UNIT), given.flows[None]
    sent = np.array(
        [np.bincount(given.links[:, 1], own / (2.0 * given.n), len(rounds)) for own in flows]
    ).T.ravel()
    return _plan(in_routed_layers(boxes, come, (data * sent).astype(np.float64), task))


def _block_of(shape: tuple[int, int], m: int, n: int) -> int:
    """The side of the square blocks of m x n elements that a plan of this shape counts."""
    block = max(1, -(-m // shape[0]))
    if (-(-m // block), -(-n // block)) != shape:
        raise ValueError(
            f"plan has shape {shape}, which is neither ({m}, {n}) nor its number of square blocks"
        )
    return block


def _in_elements(pieces: NDArray[Any], block: int) -> NDArray[np.int64]:
    elements: NDArray[np.int64] = pieces.astype(np.int64) * np.array(
        [1, block, block, block, block]
    )
    return elements
