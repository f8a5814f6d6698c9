"""Products on the threads of a pool: directly by NumPy or the engine, or by a plan with a trace."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._base.progress import reporting
from .._engine import run as engine
from .._engine import stack, tuning
from .._engine.dtypes import DTYPES, flops_per_update
from ..plan import simulate
from ..planners.cover import require_boxes
from ..planners.cuboids import Cuboids
from ..planners.dynamic import DynamicProduct
from ..planners.layers import LayersPlan
from ..planners.matmul import plan_matmul
from ..planners.mesh import MeshPlan
from ..planners.partition import Partition
from ..planners.product import (
    COMMUNICATION,
    ProductPlan,
    Task,
    deep_label,
    in_shared_layers,
    in_triangle,
)
from ..planners.product_domains import members
from ..planners.product_methods import (
    METHODS,
    plan_boxes,
    plan_of_boxes,
    plan_of_demand,
    plan_of_mesh,
    plan_of_partition,
    plan_of_profile,
    require_zones,
)
from ..planners.profile_zones import ProfilePartition
from ..platform import UNIT
from .operands import Operands, as_array, element_strides, operands

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from .._base.progress import Progress
    from ..planners.profile_zones import ZoneProfile
    from ..platform import Platform
    from ..trace import Trace
    from .operands import Array
    from .workers import Resources, Workers

#: How products without a plan are computed: by NumPy; as a stack, where each worker computes some
#: of the products; or by the engine, where all workers share each product.
NUMPY, STACK, ENGINE = "NumPy", "stack", "engine"
#: Products with at most this many multiply-adds go directly to NumPy: dividing them costs more than
#: it saves.
SMALL = tuning.NUMPY_UPDATES
#: So do products that are bound by memory, because packing would double the traffic. These are
#: products with a vector, and products with a side below NUMPY_SIDE if neither the rows nor the
#: columns of the large operand are contiguous. A thin product with a large complex operand in
#: row-major order goes to NumPy too if its smaller side is above tuning.THIN / 2.
NUMPY_SIDE = tuning.NUMPY_SIDE
#: Items of a stack with more multiply-adds are multiplied one after the other, each by all workers
#: together. So are the items of a stack with few items.
LARGE = tuning.STACK_ITEM_UPDATES
#: (multiply-adds of an item, number of items): in a deterministic pool, a stack with items of at
#: most this size is divided by items only if it has at least so many. The threshold does not depend
#: on the number of workers, because the two methods round differently.
_FEW = ((tuning.STACK_MEDIUM_UPDATES, tuning.STACK_MEDIUM_ITEMS), (LARGE, tuning.STACK_LARGE_ITEMS))
#: Method of plans that compute half of a product of a matrix by its own transpose. It is not in
#: METHODS, which are for any product.
TRIANGLE = "triangle"
#: Products with more multiply-adds check for Ctrl-C.
_LONG = 10**8


# ---- without a plan ------------------------------------------------------------------------------


def matmul(
    resources: Resources,
    seen: Any,
    A: Any,
    B: Any,
    out: Array | None,
    alpha: complex,
    beta: complex,
    method: str,
    block: int,
    communication: str,
    trace: bool,
    progress: bool | Progress | None,
) -> Any:
    """Implement `Pool.matmul`, after a look of `fast.product` at the arguments.

    seen : what `fast.product` has returned. True: nothing is left to check.
    """
    if seen is True:
        c = np.empty((A.shape[0], B.shape[1]), A.dtype) if out is None else out
        x = Operands(A, B, c, c, 1.0, 0.0)
        multiply(resources, x, multiplier(x, lambda: resources.workers), None)
        return c
    workers, wishes = resources.workers, (method, block, communication)
    usual = tuple(map(type, wishes)) == (str, int, str) and wishes == ("auto", 1, "once")
    trace, report = check.flag("trace", trace), reporting(progress)
    by_plan = trace or not usual or workers.emulated
    record = None
    with report as tell:
        x = operands(A, B, out, alpha, beta, others=not by_plan)
        if by_plan:
            if trace and x.c.ndim > 2:
                raise ValueError(
                    f"trace is for one product; A and B are stacks of {x.c.shape[:-2]}"
                )
            own = by_own_transpose(x)
            plan = plan_for(workers, *x.sizes, x.c.dtype, *wishes, own_transpose=own)
            require_own_transpose(plan, x)
            for (a, b, c), told in x.products(tell):
                record = run(resources, plan, (a, b, c, x.alpha, x.beta), told)
        else:
            multiply(resources, x, multiplier(x, lambda: workers), tell)
    result = x.result if x.result.ndim or out is not None else x.result[()]
    return (result, record) if trace else result


def multiplier(x: Operands, workers: Callable[[], Workers]) -> str:
    """Which of NUMPY, STACK and ENGINE multiplies without a plan.

    The C code of `fast` finds the most frequent case, two small matrices, by the same rule.
    """
    m, n, k = x.sizes
    count, work = math.prod(x.c.shape[:-2]), m * n * k
    if x.c.dtype not in DTYPES or count * work <= SMALL:
        return NUMPY
    if x.c.ndim > 2 and (work <= SMALL or (work <= LARGE and count >= _few(workers(), work))):
        return STACK
    return NUMPY if is_slow(x.a, x.b) else ENGINE


def _few(workers: Workers, work: int) -> int:
    """Least number of products for which a stack is divided by products.

    work : multiply-adds of one product.
    """
    if not workers.deterministic:
        return tuning.STACK_ITEMS_PER_WORKER * len(workers)
    return next((most for size, most in _FEW if work <= size), 0)


def is_slow(a: Array, b: Array) -> bool:
    """Whether the strides of two matrices, or of two stacks, make the engine slower than NumPy."""
    m, n = a.shape[-2], b.shape[-1]
    if NUMPY_SIDE == 0 or min(m, n) > tuning.THIN:
        return False
    if min(m, n) == 1:
        return True
    # Strides of the large operand, transposed as in the engine.
    down, along = a.strides[-2:] if n <= m else b.strides[:-3:-1]
    by_rows = along == a.itemsize and (down != a.itemsize or max(m, n) <= a.shape[-1])
    if by_rows:
        return min(m, n) > tuning.THIN // 2 and a.dtype.kind == "c"
    return down != a.itemsize and min(m, n) < NUMPY_SIDE


def multiply(resources: Resources, x: Operands, by: str, progress: Progress | None) -> None:
    """Multiply without a plan, by what `multiplier` has found."""
    if by == NUMPY:
        x.by_numpy()
        return
    work = math.prod(x.sizes) * (math.prod(x.c.shape[:-2]) if by == STACK else 1)
    watched = progress is not None or (
        work > _LONG and threading.current_thread() is threading.main_thread()
    )
    threads, workers = resources
    shares = workers.shares[x.c.dtype]
    if by == STACK:
        poll = engine.Poll(progress) if watched else None
        stack.products(threads, x.a, x.b, x.c, x.alpha, x.beta, poll, shares)
        return
    for (a, b, c), told in x.products(progress):
        poll = engine.Poll(told) if watched else None
        engine.gemm(threads, a, b, c, x.alpha, x.beta, shares, poll)


def gram(resources: Resources, A: ArrayLike, out: Array | None, of: str) -> Array:
    """Implement `hs.gram`."""
    threads, workers = resources
    check.choice("of", of, ("rows", "columns"))
    a = as_array("A", A)
    if a.ndim < 2:
        raise ValueError(f"A has shape {a.shape}; a matrix is needed, or a stack of them")
    a = a.astype(a.dtype.newbyteorder("="), copy=False)
    a = a if element_strides(a) else a.copy()
    columns = of == "columns"
    n = a.shape[-1 if columns else -2]
    shape = (*a.shape[:-2], n, n)
    if out is None:
        if math.prod(shape) * a.itemsize > np.iinfo(np.intp).max:
            raise ValueError(f"A of shape {a.shape} has a result larger than the address space")
        target = np.empty(shape, a.dtype)
    else:
        if columns and isinstance(out, np.ndarray) and out.shape != shape:
            raise ValueError(f"out has shape {out.shape}, the product has {shape}")
        target = out
    # The columns of A are the rows of its transpose X, and conj(X) X^T is the transpose of X X^H.
    turned = columns and isinstance(target, np.ndarray) and target.ndim >= 2
    x = a.swapaxes(-1, -2) if columns else a
    checked = operands(
        x, x.swapaxes(-1, -2), target.swapaxes(-1, -2) if turned else target, 1.0, 0.0, others=True
    )
    m, _, k = checked.sizes
    dtype = checked.c.dtype
    if dtype not in DTYPES:
        np.matmul(checked.a, checked.b.conj(), out=checked.c)
    elif dtype.kind == "f" and (m * m * k <= SMALL or m < NUMPY_SIDE) and a.flags.forc:
        np.matmul(checked.a, checked.b, out=checked.c)  # NumPy uses its BLAS's syrk
    else:
        watched = m * m * k > _LONG and threading.current_thread() is threading.main_thread()
        for (xa, xb, c), _told in checked.products(None):
            engine.gemm(
                threads,
                xa,
                xb,
                c,
                1.0,
                0.0,
                workers.shares[dtype],
                engine.Poll() if watched else None,
                dtype.kind == "c",
            )
    return target


# ---- by a plan -----------------------------------------------------------------------------------


def by_own_transpose(x: Operands) -> bool:
    """Whether B is the transpose of A, in the same memory, and C is only written (beta = 0)."""
    a = x.a.swapaxes(-1, -2)
    return (
        x.beta == 0
        and a.shape == x.b.shape
        and a.strides == x.b.strides
        and a.ctypes.data == x.b.ctypes.data
    )


def plan_for(
    workers: Workers,
    m: int,
    n: int,
    k: int,
    dtype: np.dtype[Any],
    method: str,
    block: int,
    communication: str,
    *,
    own_transpose: bool = False,
) -> ProductPlan:
    """Implement `Pool.plan`.

    own_transpose : B is the transpose of A, so that "auto" may become "triangle".
    """
    check.choice("method", method, (*METHODS, TRIANGLE))
    block = check.integer("block", block, low=1)
    check.choice("communication", communication, COMMUNICATION)
    require_zones(workers.deterministic, method, communication)
    platform = workers.platform_for(dtype)
    stepwise = COMMUNICATION[communication][0]
    if method == TRIANGLE and m != n:
        raise ValueError(f"method {method!r} needs m = n, got m = {m}, n = {n}")
    if method == TRIANGLE and stepwise:
        raise ValueError(f"method {method!r} cannot be combined with {communication=}")
    shared = not workers.emulated and method == "auto" and communication == "once"
    flops = flops_per_update(dtype)
    if method == TRIANGLE or (method == "auto" and own_transpose and not stepwise):
        task = Task((m, n, k), platform, block, communication, dtype.itemsize, flops, shared)
        halves = replace(in_triangle(task), asked=method)
        if method == TRIANGLE or not workers.emulated:
            return halves
        whole = plan_for(workers, m, n, k, dtype, method, block, communication)
        return min(halves, whole, key=lambda plan: plan.makespan)
    if shared:
        if block == 1 and len(
            layers := engine.gemm_boxes((m, n, k), len(workers), workers.shares[dtype])
        ):
            task = Task((m, n, k), platform, 1, communication, dtype.itemsize, flops, True)
            return replace(in_shared_layers(layers, task), asked="auto")
        method = "columns" if n >= m else "rows"
    plan = plan_boxes(
        m,
        n,
        k,
        platform,
        method=method,
        block=block,
        communication=communication,
        itemsize=dtype.itemsize,
        flops_per_update=flops,
        shared=shared,
        deterministic=workers.deterministic,
        zones=_engine_zones(workers, (m, n, k), dtype, platform)
        if method == "domains" and block == 1
        else None,
    )
    return replace(plan, asked="auto") if shared else plan


def plan_by_profiles(
    workers: Workers,
    m: int,
    n: int,
    k: int,
    dtype: np.dtype[Any],
    method: str,
    block: int,
    communication: str,
    profiles: Sequence[ZoneProfile],
) -> ProductPlan:
    """Implement `Pool.plan` for times by height and width."""
    workers.require_profiles(profiles)
    plan = plan_matmul(
        m,
        n,
        k,
        profiles=profiles,
        method="best" if method == "auto" else method,
        block=block,
        communication=communication,
        dtype=dtype,
    )
    workers.require_as_many(plan.names, "profiles are")
    return replace(plan, names=workers.platform.names)


def _engine_zones(
    workers: Workers, sizes: tuple[int, int, int], dtype: np.dtype[Any], platform: Platform
) -> NDArray[np.int64] | None:
    """(d, 4) zones of the platform's domains in the engine, if its domains are the same."""
    domains, own = workers.domains, workers.domain_of
    if domains is None or own is None:
        return None
    pairs = set(zip(members(platform)[1].tolist(), own, strict=True))
    if len(pairs) != len(domains) or len({of for of, _ in pairs}) != len(domains):
        return None
    zones = engine.gemm_zones(dtype, sizes, domains, own, workers.shares[dtype])
    return np.ascontiguousarray(zones[[d for _, d in sorted(pairs)]])


def checked(
    workers: Workers,
    plan: (
        ProductPlan
        | Partition
        | ProfilePartition
        | Cuboids
        | DynamicProduct
        | LayersPlan
        | MeshPlan
    ),
    x: Operands,
    communication: str,
) -> ProductPlan:
    """Return the plan as a ProductPlan; ValueError if it is not for these workers and operands.

    Plans of other kinds are converted.
    """
    flops = flops_per_update(x.c.dtype)
    if isinstance(plan, Partition):
        plan = plan_of_partition(
            plan, *x.sizes, workers.in_gigaflops, x.c.itemsize, flops, communication
        )
    elif isinstance(plan, ProfilePartition):
        plan = plan_of_profile(plan, *x.sizes, workers.in_gigaflops, x.c.itemsize, flops)
    elif isinstance(plan, MeshPlan):
        plan = plan_of_mesh(plan, *x.sizes, workers.in_gigaflops, x.c.itemsize, flops)
    elif isinstance(plan, DynamicProduct):
        plan = plan_of_demand(
            plan, *x.sizes, workers.in_gigaflops, x.c.itemsize, flops, communication
        )
    elif isinstance(plan, Cuboids | LayersPlan):
        plan = plan_of_boxes(
            plan, *x.sizes, workers.in_gigaflops, x.c.itemsize, flops, communication
        )
    if plan.shape != x.sizes:
        raise ValueError(f"plan is for m, n, k = {plan.shape}, A and B have {x.sizes}")
    require_own_transpose(plan, x)
    workers.require_as_many(plan.names)
    if plan.shared and workers.emulated:
        raise ValueError(
            "plan has tiles that real workers share; emulated workers need a plan of their own,"
            " such as pool.plan's"
        )
    require_boxes(plan)
    return plan


def require_own_transpose(plan: ProductPlan, x: Operands) -> None:
    """Raise ValueError if the plan is of a triangle and the product is not A by its transpose."""
    if plan.triangle and not by_own_transpose(x):
        raise ValueError(
            "the plan computes one triangle of C: B must be A.T, a view of A's memory, and beta"
            " must be 0"
        )


class Kept(NamedTuple):
    """Where the boxes of each worker go instead of C.

    layers : one matrix for each worker.
    boxes : parts of the plan's boxes, in the order in which they are done.
    of : for each part, the number of the plan's box that it belongs to.
    receive : for each part, the transfer (start, end) that it waits for.
    """

    layers: Sequence[Array | None]
    boxes: NDArray[np.int64]
    of: NDArray[np.int64]
    receive: NDArray[np.float64]


def run(
    resources: Resources,
    plan: ProductPlan,
    product: tuple[Array, Array, Array, complex, complex],
    progress: Progress | None,
    kept: Kept | None = None,
) -> Trace:
    """Compute C = alpha A B + beta C, or the layers to be kept.

    `product` is (A, B, C, alpha, beta).
    """
    threads, workers = resources
    dtype = product[2].dtype
    pace = receive = sum_receive = None
    layers = plan.layers
    boxes, transfers = (plan.boxes, plan.receive) if kept is None else (kept.boxes, kept.receive)
    if workers.emulated:
        workers.require_products(dtype)
        pace = workers.in_gigaflops.cycle_times * workers.time_scale / UNIT
        times = [plan.receive] if layers is None else [plan.receive, layers.receive]
        if any((own[:, 1] > own[:, 0]).any() for own in times):
            receive = transfers * workers.time_scale
            sum_receive = None if layers is None else layers.receive * workers.time_scale
    m, n, k = plan.shape
    tiles = plan.shared and layers is None
    a, b, c, alpha, beta = product
    # The engine multiplies C by beta with the first part of the inner dimension. If a worker does
    # not begin with that part, C is scaled here.
    if layers is None and kept is None and not _in_depth_order(plan):
        with np.errstate(all="ignore"):
            c[...] = 0 if beta == 0 else c * dtype.type(beta)
        beta = 1.0
    result = engine.run_product(
        threads,
        a,
        b,
        c,
        alpha,
        beta,
        workers=len(workers),
        boxes=np.array([(0, 0, 0, 0, m, n, k)]) if tiles else boxes,
        cooperative=plan.shared,
        speeds=workers.shares[dtype] if plan.shared else None,
        pace=pace,
        receive=receive,
        layered=layers is not None,
        sum_rows=None if layers is None or plan.shared else layers.rows,
        sum_receive=sum_receive,
        layers=None if kept is None else kept.layers,
        halves=plan.triangle,
        overlap=receive is not None and COMMUNICATION[plan.communication][2],
        poll=engine.Poll(progress),
        event_capacity=1000 + 200 * len(workers) + 4 * len(boxes),
    )
    workers.warn_if_late(result.late, plan.names, plan.makespan * workers.time_scale)
    labels = (
        ["shared tiles"]
        if tiles
        else [*plan.box_labels, "sum"]
        if kept is None
        else [*map(deep_label, boxes.tolist())]
    )
    of = range(len(labels)) if kept is None else kept.of.tolist()
    return workers.trace(
        plan,
        result,
        lambda worker, kind, box: (
            labels[box] if kind == "compute" else plan.transfer_label(of[box], worker)
        ),
        plan.lower_bound,
        simulate(plan).finish,
    )


def _in_depth_order(plan: ProductPlan) -> bool:
    """Whether each worker does its boxes in increasing order of the inner dimension, from 0 on."""
    own = plan.boxes[np.argsort(plan.boxes[:, 0], kind="stable")]
    first, depth = np.diff(own[:, 0], prepend=-1) > 0, own[:, 3]
    return not (depth[first].any() or (np.diff(depth, prepend=0)[~first] < 0).any())
