"""Matrix products on the ranks of a communicator, and matrices that the ranks hold in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._base.progress import Progress
from .._engine.dtypes import flops_per_update
from ..plan import Plan
from ..planners.cover import require_boxes, require_zones
from ..planners.dynamic import DynamicProduct
from ..planners.matmul import plan_matmul
from ..planners.mesh import MeshPlan
from ..planners.partition import Partition
from ..planners.product import ProductPlan, is_scattered
from ..planners.product_methods import (
    plan_of_boxes,
    plan_of_demand,
    plan_of_mesh,
    plan_of_partition,
    plan_of_profile,
)
from ..planners.profile_zones import ProfilePartition
from ..planners.star import METHODS as CHUNKS
from ..planners.star import StarPlan
from ..platform import Platform, Unit, names_of
from ..runners.pool import Pool
from ..trace import Trace
from . import pools, product
from .arguments import (
    STAR,
    Call,
    agreed,
    as_text,
    beside,
    columns,
    described,
    held,
    trace_of,
    travelled,
)
from .kinds import Boxes, wrong_kind
from .measure import known_speeds
from .ranks import TIMEOUT, Ranks
from .record import Clock, Record, synchronised
from .star import run_star
from .zones import Held, Zone, boxes_of, of_rank, require_ranks, without_empty

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from .loop import Loop


def matmul(
    comm: Any,
    A: ArrayLike | Zone | None = None,
    B: ArrayLike | Zone | None = None,
    plan: Boxes | StarPlan | None = None,
    root: int = 0,
    *,
    method: str = "best",
    platform: Platform | None = None,
    block: int | None = None,
    order: str = "plan",
    pool: Pool | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    timeout: float = TIMEOUT,
) -> Any:
    """Compute A B on the ranks of a communicator. Each rank is one worker of the plan.

    All ranks must call it.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    A, B : (m, k) and (k, n) array_like at the root and None elsewhere; or on every rank its Zone
        float32, float64, complex64 or complex128, promoted as in NumPy; integers are not accepted.
    plan : plan of a product, optional
        A ProductPlan, Partition, ProfilePartition, Cuboids, DynamicProduct, LayersPlan, MeshPlan or
        StarPlan for as many workers as there are ranks, from `hs.plan_matmul`, `hs.partition` with
        a shape, and so on. Ranks other than the root may leave it out. The layers of a MeshPlan go
        to their ranks directly: routes are the business of the network. A StarPlan
        (`hs.plan_product`) is for one worker less: the root is the master, and the other ranks are
        the workers in their order.
    root : int
    method, platform, block : optional
        Used at the root if there is no plan; see `hs.plan_matmul`. The platform can come from
        `measure`. Default: the speeds of the ranks and the links of the root, from a brief
        measurement that is made once for each communicator. For a method of `plan_product` the
        platform needs memory, and may leave out the root.
    order : {"plan", "demand"}
        For a StarPlan; see `Pool.run`.
    pool : Pool, optional
        The pool with which this rank computes. Default: all cores that it may use, or its share if
        other ranks may use the same cores.
    trace, progress :
        See `Pool`. The trace is at the root and has a worker for each rank. The root reports the
        progress.
    timeout : float
        Seconds without an answer after which a rank counts as lost.

    Returns
    -------
        The product at the root and None elsewhere. If A or B is a Zone, every rank gets its Zone
        of the product. With trace=True a pair, the second item of which is the Trace at the root
        and None elsewhere.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument on any rank is invalid.
    LostRank
        If a rank does not answer. The communicator is then unusable, and the process must end.

    Notes
    -----
    Each rank receives every piece of A and B that it needs once. While it computes one step, it
    receives for the next two. The bytes sent are the bytes that the plan counts, less what a rank
    holds already. All ranks sum the layers, each of them some rows.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> C = hs.mpi.matmul(MPI.COMM_WORLD, A, B)  # doctest: +SKIP
    """
    call = Call(comm, root, pool, timeout)
    given = Given(A, B, plan, method, platform, block, order, trace)
    with call.ranks:
        value, record, _ = product_of(call, lambda: given, progress)
    return (value, record) if trace else value


class Given(NamedTuple):
    """What a rank gives for a product: arguments of `matmul`."""

    A: Any = None
    B: Any = None
    plan: Any = None
    method: str = "best"
    platform: Platform | None = None
    block: int | None = None
    order: str = "plan"
    trace: bool = False


class Outcome(NamedTuple):
    """The result of a product.

    The matrix or zone, the trace at the root if it was wanted, and the plan that was followed.
    Only the root knows the plan if it is a StarPlan.
    """

    value: Any
    trace: Trace | None
    plan: Plan | None


def product_of(call: Call, find: Callable[[], Given], progress: bool | Progress | None) -> Outcome:
    """Do the same as `matmul` in a call that has begun, and return the plan too.

    find : what this rank gives. It is called in the first agreement, so its error is raised on all
        ranks.
    """
    ranks, root = call.ranks, call.root
    with call.reporting(progress) as tell:
        mine: list[Given] = []

        def checked() -> tuple[Any, ...]:
            given = find()
            call.require_progress(progress)
            check.choice("order", given.order, ("plan", "demand"))
            (a, of_a), (b, of_b) = (
                described(name, x, ranks.rank, root) for name, x in (("A", given.A), ("B", given.B))
            )
            mine.append(given._replace(A=a, B=b))
            wishes = (
                check.flag("trace", given.trace),
                progress is not None and progress is not False,
                given.platform is None and given.method not in CHUNKS,
            )
            return (of_a, of_b), as_text(given.plan), wishes, pools.here(), root

        shapes, texts, wishes, places, roots = columns(ranks.agree(checked))
        call.require_one_root(roots)
        (given,) = mine
        x, y = (agreed(name, [pair[i] for pair in shapes], root) for i, name in enumerate("AB"))
        if x.shape[1] != y.shape[0]:
            raise ValueError(
                f"A has {x.shape[1]} columns and B {y.shape[0]} rows (shapes {x.shape} and"
                f" {y.shape})"
            )
        dtype = np.promote_types(x.dtype, y.dtype)
        m, k = x.shape
        n = y.shape[1]
        own = call.pool(places)
        made: list[Any] = [given.plan]
        if not any(texts):
            measured = wishes[root][2]
            speeds = known_speeds(ranks, own, dtype, root) if measured else ([], [])

            def planned() -> str | None:
                if call.at_root:
                    made[0] = _planned((m, k, n), given, speeds, places, dtype, root)
                return as_text(made[0])

            texts = ranks.agree(planned)
        if texts[root] == STAR:
            if (x.kind, y.kind) != ("array", "array"):
                raise ValueError(
                    "A and B must be arrays at the root, which is the master of a StarPlan, not"
                    " zones"
                )
            traced = wishes[root][0]
            done = run_star(ranks, made[0], given.A, given.B, root, given.order, own, traced, tell)
            value, record = done if traced else (done, None)
            return Outcome(value, record, made[0])

        gathered = x.kind == y.kind == "array"
        whole: list[NDArray[Any]] = []

        def fitting() -> None:
            made[0] = of_product(travelled(made[0], texts, root), (m, n, k), dtype, ranks.size)
            if gathered and call.at_root:
                whole.append(np.zeros((m, n), dtype))

        ranks.agree(fitting)
        operands = held(x, given.A, root), held(y, given.B, root)
        result = whole if gathered else None
        return _multiply(call, made[0], operands, own, result, wishes[root], tell)


def _planned(
    sizes: tuple[int, int, int],
    given: Given,
    speeds: tuple[list[float], list[float]],
    places: list[pools.Place],
    dtype: np.dtype[Any],
    root: int,
) -> Plan:
    platform = given.platform
    if given.method in CHUNKS:
        if platform is None:
            raise ValueError(
                f"platform must be given for method {given.method!r}: it says how much memory each"
                " worker has"
            )
        platform = beside(platform, root) if len(platform) == len(places) else platform
    if platform is None:
        times, costs = speeds
        platform = Platform.star(times, costs, names=pools.names(places), unit=Unit.gigaflop())
    m, k, n = sizes
    return plan_matmul(m, n, k, platform, method=given.method, block=given.block, dtype=dtype)


def of_product(
    plan: Plan, sizes: tuple[int, int, int], dtype: np.dtype[Any], size: int
) -> ProductPlan:
    """The plan as a ProductPlan for these ranks and this product.

    It is made from a partition, boxes or layers if the plan is one of these.
    """
    if not isinstance(plan, Boxes):
        raise wrong_kind(plan, "a plan of a product")
    require_ranks(plan, size)
    if not isinstance(plan, ProductPlan):
        platform = Platform.star(plan.cycle_times, names=names_of(plan, size))
        rest = (*sizes, platform, dtype.itemsize, flops_per_update(dtype))
        if isinstance(plan, MeshPlan):
            plan = plan_of_mesh(plan, *rest)
        elif isinstance(plan, ProfilePartition):
            plan = plan_of_profile(plan, *rest)
        elif isinstance(plan, DynamicProduct):
            plan = plan_of_demand(plan, *rest, "once")
        elif isinstance(plan, Partition):
            plan = plan_of_partition(plan, *rest, "once")
        else:
            plan = plan_of_boxes(plan, *rest, "once")
    if plan.shape != sizes:
        raise ValueError(f"plan is for m, n, k = {plan.shape}, A and B have {sizes}")
    require_boxes(plan)
    if plan.layers is None:  # a rank stores each of its rectangles separately
        require_zones(
            "plan",
            product.result_boxes(plan),
            plan.shape[:2],
            ("C", "element", "rectangle", "rectangles"),
        )
    elif is_scattered(plan):
        raise ValueError(
            "plan has boxes of a rank at several places of C, which layers cannot have"
        )
    if plan.shared or plan.triangle:
        raise ValueError(
            "plan is for one machine: its boxes"
            f" {'are shared' if plan.shared else 'are half a product'}"
        )
    return plan


def _multiply(
    call: Call,
    plan: ProductPlan,
    operands: tuple[Held, Held],
    pool: Pool,
    whole: list[NDArray[Any]] | None,
    wishes: tuple[bool, bool, bool],
    tell: Progress | None,
) -> Outcome:
    """Run the product and return its outcome.

    whole: the place of the product at the root, empty elsewhere; None if it stays with the ranks.
    """
    ranks, root, shape = call.ranks, call.root, plan.shape[:2]
    traced, watched, _ = wishes
    record, result = Record(traced), product.result_boxes(plan)
    total = max(float(plan.flops.sum()), 1.0)
    dtype = np.promote_types(*(x.dtype for x in operands))

    def heard(_: int, flops: float) -> None:
        call.done += flops
        if tell is not None:
            tell(call.done / total)

    async def run(loop: Loop) -> tuple[Any, list[Clock], float]:
        clocks = [await synchronised(loop, root)] if traced else []
        start = record.now()
        done = (
            None
            if not watched
            else heard
            if call.at_root
            else lambda rank, flops: loop.tell(flops, root)
        )
        parts = await product.Product(loop, plan, operands, dtype, pool, record, done).run()
        if whole is not None:
            wanted = without_empty(np.array([(root, 0, 0, *shape)], np.int64))
            await product.moved(loop, record, Held(result, parts, dtype), wanted, _some(whole))
        if traced:
            clocks.append(await synchronised(loop, root))
        return parts, clocks, start

    parts, clocks, start = ranks.run(run, heard)
    value: Any
    if whole is None:
        value = Zone(shape, result, ranks.rank, parts, dtype)
    else:
        value = whole[0] if whole else None
    return Outcome(value, trace_of(call, plan, record, clocks, start) if traced else None, plan)


def _some(arrays: list[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """The arrays that are not empty; there are boxes only for these."""
    return tuple(array for array in arrays if array.size)


def agree(comm: Any, call: Callable[[], Any]) -> list[Any]:
    """Call a function on each rank and return all results, by rank.

    An error on one rank is raised on all ranks, so no rank waits in vain.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        All ranks must call it.
    call : function
        Called without arguments; its result is pickled.

    Returns
    -------
    list
        The result of each rank, by rank.

    Raises
    ------
    Exception
        The rank's own error. The other ranks raise ValueError, TypeError, OSError or MemoryError
        if the error is one of these, else RuntimeError, with the rank in the text.

    Examples
    --------
    >>> def load():
    ...     return np.load("A.npy") if comm.rank == 0 else None
    >>> A, *_ = hs.mpi.agree(comm, load)  # doctest: +SKIP
    """
    with Ranks(comm) as ranks:
        return ranks.agree(call)


def scatter(
    comm: Any,
    A: ArrayLike | None,
    plan: Plan | None = None,
    root: int = 0,
    *,
    timeout: float = TIMEOUT,
) -> Zone:
    """Give every rank its rectangles of a matrix. All ranks must call it.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    A : 2-D array_like at the root, None elsewhere
        float32, float64, complex64 or complex128.
    plan : Partition, ProductPlan, LuPattern, LuGrid, Wavefront or Distribution
        A plan for as many workers as there are ranks; ranks other than the root may leave it out.
        It gives zones of C, scaled to the shape of A if that is another one; block columns;
        blocks; chunks of lines of tiles; or slices of rows.
    root : int
    timeout : float
        See `matmul`.

    Returns
    -------
    Zone
        The rectangles of this rank.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument on any rank is invalid.
    """
    call = Call(comm, root, None, timeout)
    with call.ranks as ranks:
        mine: list[Any] = []

        def checked() -> tuple[Any, ...]:
            array, shape = described("A", A, ranks.rank, root)
            if shape.kind == "zone":
                raise TypeError("A must be an array, got a Zone, which is already scattered")
            mine.append(array)
            return shape, as_text(plan), root

        shapes, texts, roots = columns(ranks.agree(checked))
        call.require_one_root(roots)
        x = agreed("A", shapes, root)
        made: list[Zone] = []

        def zone() -> None:
            boxes = boxes_of(travelled(plan, texts, root), x.shape, ranks.size)
            dtype = np.dtype(x.dtype)
            parts = tuple(
                np.empty((h, w), dtype) for _, _, _, h, w in of_rank(boxes, ranks.rank).tolist()
            )
            made.append(Zone(x.shape, boxes, ranks.rank, parts, dtype))

        ranks.agree(zone)
        ranks.run(
            lambda loop: product.moved(
                loop, Record(False), held(x, mine[0], root), made[0].boxes, made[0].parts
            )
        )
        return made[0]


def gather(
    comm: Any, zone: Zone, root: int = 0, *, timeout: float = TIMEOUT
) -> NDArray[Any] | None:
    """Collect at the root the matrix that the ranks hold. All ranks must call it with their zones.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    zone : Zone
        The rectangles of this rank.
    root : int
    timeout : float
        See `matmul`.

    Returns
    -------
    ndarray or None
        The matrix at the root; None elsewhere.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument on any rank is invalid.
    """
    call = Call(comm, root, None, timeout)
    with call.ranks as ranks:

        def checked() -> tuple[Any, ...]:
            if not isinstance(zone, Zone):
                raise TypeError(f"zone must be a Zone, got {type(zone).__name__}")
            if call.at_root:
                whole.append(np.empty(zone.shape, zone.dtype))
            return described("zone", zone, ranks.rank, root)[1], root

        whole: list[NDArray[Any]] = []
        shapes, roots = columns(ranks.agree(checked))
        call.require_one_root(roots)
        x = agreed("zone", shapes, root)
        wanted = without_empty(np.array([(root, 0, 0, *x.shape)], np.int64))
        ranks.run(
            lambda loop: product.moved(
                loop, Record(False), held(x, zone, root), wanted, _some(whole)
            )
        )
        return whole[0] if whole else None
