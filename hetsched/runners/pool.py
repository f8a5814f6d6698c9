"""Workers that run plans: the cores of this machine, or emulated workers of any speed."""

from __future__ import annotations

import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base import check
from .._base.progress import reporting
from .._engine import fast
from .._engine import run as engine
from .._engine.dtypes import DTYPES
from .._engine.sites import quota_workers
from ..machine import mask
from ..machine.blocks import everywhere
from ..machine.topology import topology
from ..planners.product import ProductPlan
from ..planners.star_lu import StarLuPlan
from . import cholesky as cholesky_run
from . import factor as factor_run
from . import lu as lu_run
from . import product as product_run
from . import qr as qr_run
from . import stencil as stencil_run
from . import sweep as sweep_run
from .factor import Wish
from .workers import Resources, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from .._base.progress import Progress
    from ..planners.cuboids import Cuboids
    from ..planners.dynamic import DynamicProduct
    from ..planners.factor import FactorPlan, Owner
    from ..planners.layers import LayersPlan
    from ..planners.mesh import MeshPlan
    from ..planners.partition import Partition
    from ..planners.profile_zones import ProfilePartition, ZoneProfile
    from ..planners.reduction import ReductionPlan
    from ..planners.ring import SliceRing
    from ..planners.star import StarPlan
    from ..planners.stencil import StencilPlan
    from ..planners.wavefront import Wavefront
    from ..platform import Platform
    from .bus import BusPlan
    from .operands import Array
    from .recurrence import Kernel, Stencil


class Pool:
    """Persistent worker threads that multiply, factor or sweep over a matrix, by a plan.

    Parameters
    ----------
    workers : int or Platform, optional
        The number of workers, of equal speed, or a platform with one worker for each of its
        workers. Default: as many workers as are worth starting on this machine (`topology`:
        physical cores, cgroup quota, HETSCHED_NUM_THREADS, OMP_NUM_THREADS; fewer if `measure` has
        found that more do not help). If each core has a worker, each worker is pinned to a cpu. If
        there are fewer workers than cores, they run where other programs leave cores free: on the
        cpus of one domain, or of as few as possible. While other programs use all cores, the
        calling thread does brief runs alone; a pool of a given number of workers always uses all
        of them. If `measure` has found that the speeds of these cpus differ by more than 5 %, the
        measured speeds are used, for each dtype.
    emulate : bool
        Pace the workers by their cycle-times (seconds per gigaflop) and link costs (seconds per
        gigabyte), whatever the host is: there may be more workers than cores. The results are
        computed for real. For a plan of `plan_product` cycle-times and link costs are per block,
        like the memory. Whether the host can keep up with workers of limited memory is checked when
        a plan is run.
    time_scale : float
        Real seconds per second of an emulated platform, > 0. A value above 1 slows down a platform
        that the host cannot keep up with. A value below 1 shortens the run of a slow platform.
    deterministic : bool, optional
        Give the same bits in a pool of any size. Factorisations, and solves with them, are then cut
        by the size of the matrix alone, and so are stacks of matrices that are worth sharing.
        Otherwise a pool of more than two workers uses narrower blocks for small matrices, which
        takes less time. In an emulated pool, method "auto" does not use methods that divide the
        inner dimension, and such methods are refused. Default: the environment variable
        HETSCHED_DETERMINISTIC (0 or 1) if it is set, else False.

    Raises
    ------
    ValueError
        If the host cannot keep up with the emulated platform. The message says what it lacks.

    Notes
    -----
    These rules hold for `matmul`, `run`, `sweep`, `stencil`, `lu_factor`, `cholesky` and `qr`:

    - With trace=True they return a pair, the result and a Trace.
    - progress is a function that is called with the fraction done, at most 20 times a second, and
      with 1.0 at the end. True shows a bar on the terminal.
    - ValueError and TypeError are raised before anything is changed. The message names the
      argument.
    - Ctrl-C takes effect within 0.2 s. The content of the output array is then undefined, unless
      the method says otherwise.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> A = B = np.ones((300, 300))
    >>> with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True) as pool:
    ...     C, trace = pool.matmul(A, B, trace=True)
    >>> C[0, 0], trace.kind
    (np.float64(300.0), 'emulated')
    """

    def __init__(
        self,
        workers: int | Platform | None = None,
        *,
        emulate: bool = False,
        time_scale: float = 1.0,
        deterministic: bool | None = None,
    ) -> None:
        self._workers = Workers(workers, emulate, time_scale, deterministic)
        self._elastic = workers is None
        # The threads and the conditions they were started for. They are replaced together, so that
        # other threads see either the old or the new state.
        self._own: _Own | None = self._started_here(shrinks=self._elastic)

    # ---- life ----

    def close(self) -> None:
        """End the threads, after the runs of other threads. Closing twice is allowed."""
        self._own = None

    def trim(self) -> None:
        """Free the memory that the pool keeps for its next run.

        It is freed after the runs of other threads. For each thread that runs something at the
        same time the pool usually keeps a few MiB per worker, and at most 64. For decompositions it
        keeps at most 128 MiB more.
        """
        self._live().threads.trim()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._workers)

    def __repr__(self) -> str:
        kind = f"emulated, time_scale {self.time_scale:g}" if self._workers.emulated else "real"
        return f"<Pool: {len(self)} workers, {kind}{', closed' if self._own is None else ''}>"

    def _started(self) -> engine.Threads:
        own = self._workers
        return engine.Threads(
            len(own),
            own.cores,
            own.domains or (),
            own.domain_of or (),
            sites=own.sites,
            site_of=own.site_of,
            deterministic=own.deterministic,
            elastic=self._elastic,
        )

    def _started_here(self, shrinks: bool = False) -> _Own:
        """Start the threads, for this process and the cpus of the calling thread.

        shrinks: use fewer workers if the system refuses to start threads.
        """
        stamp, cpus, quota = engine.cpus_stamp(), mask.cpus(), quota_workers()
        asked = len(self)
        while True:
            try:
                with mask.whole():
                    threads = self._started()
                break
            except engine.ThreadsRefused:
                if not shrinks or len(self) == 1:
                    raise
                self._workers = self._workers.resized(len(self) - 1)
        if len(self) < asked:
            warnings.warn(
                f"the system refuses to start threads for {asked} workers: this pool has"
                f" {len(self)} (RLIMIT_NPROC, pids.max)",
                RuntimeWarning,
                stacklevel=3,
            )
        return _Own(os.getpid(), stamp, cpus, quota, Resources(threads, self._workers))

    def _live(self) -> Resources:
        """Implement `resources_of`.

        A forked child has none of its parent's threads. If the cpus of the calling thread have
        changed (by `taskset -p`, a cgroup or the program), pinned workers may be outside them.
        """
        own = self._own
        if own is not None and (
            own.pid != os.getpid() or engine.cpus_stamp() not in (0, own.stamp)
        ):
            with _lock:
                own = self._own = self._renewed()
        if own is None:
            raise ValueError("the pool is closed")
        return own.resources

    def _renewed(self) -> _Own | None:
        own = self._own
        if own is None:
            return None
        if is_elsewhere(self):
            self._workers = self._workers.resized(len(self))
        elif own.pid == os.getpid():
            return own._replace(stamp=engine.cpus_stamp() or own.stamp)
        return self._started_here()

    @property
    def closed(self) -> bool:
        """Whether the threads have been ended."""
        return self._own is None

    @property
    def emulated(self) -> bool:
        """Whether the workers are paced by the cycle-times of the platform."""
        return self._workers.emulated

    @property
    def deterministic(self) -> bool:
        """Whether results have the same bits in a pool of any size."""
        return self._workers.deterministic

    @property
    def time_scale(self) -> float:
        """Real seconds per second of an emulated platform."""
        return self._workers.time_scale

    @property
    def platform(self) -> Platform:
        """The given platform, or else the workers of this machine for float64.

        The speeds of this machine's workers are those that `measure` found. Without a measurement
        all workers are equal, with a cycle-time that is measured in a few milliseconds.
        """
        return self._workers.platform

    @property
    def availability(self) -> NDArray[np.float64]:
        """(p,) fraction of its speed that each worker has had recently; the best worker has 1.
        It is the work that a worker did in the last shared products and factorisations (method
        "auto"), over about 20 ms of such runs, divided by its speed in float64. While a worker has
        less than 0.9, the next shared runs are divided by speed times availability. In this way
        they follow the load of other programs, which comes, goes or moves from core to core. All
        values are 1 at first, and in an emulated pool.

        Examples
        --------
        >>> import hetsched as hs
        >>> hs.Pool(2).availability.tolist()
        [1.0, 1.0]
        """
        threads, workers = self._live()
        return check.frozen(threads.availability(workers.shares[np.dtype(np.float64)]))

    # ---- planning ----

    def plan(
        self,
        m: int | Sequence[int],
        n: int | Sequence[int],
        k: int | None = None,
        *,
        dtype: DTypeLike = np.float64,
        method: str = "auto",
        block: int = 1,
        communication: str = "once",
        profiles: Sequence[ZoneProfile] | None = None,
    ) -> ProductPlan:
        """The plan that `matmul` would follow for C (m x n) = A (m x k) B (k x n).

        Parameters
        ----------
        m, n, k : int
            Sizes in elements, >= 0. In place of the three, the shapes of A and B.
        dtype : dtype_like
        method : str
            - "auto": the method with the smallest predicted makespan.
            - "columns": block columns of C by `distribute` (2001 paper, section 2.2). "rows": the
              same with rows.
            - "rectangles": `partition` into columns of rectangles (section 3.2), which moves less
              data. Any other method of `partition` is allowed, too, with the link costs as weights.
            - "cannon": s^2 workers pass parts of A and B on to their neighbours, in s steps (only
              with communication "sequential" or "parallel").
            - "domains": the longer side of C is cut in two, in proportion to the speeds of two
              halves of the platform's domains, and so on. The zone of a domain is divided into
              columns or rows for its workers.
            - "nodes": for a platform with nodes and links (`Platform.join`): a zone for each node,
              and in it zones of its workers, so that little data goes from node to node.
            - "layers": each worker gets columns of A and rows of B, and the resulting m x n layers
              are summed.
            - "cuboids": boxes of `cuboids`, summed where they lie above each other.
            - "triangle": for B = A.T, which gives a symmetric product: block columns of its lower
              triangle, with half the work, and its mirror image. `matmul` uses it if it recognises
              such a product, unless another method is given.
        block : int
            Cuts are at multiples of it. A plan in steps may have 10**6 boxes, of all workers and
            steps together.
        communication : str
            - "once", or "sccs": each worker gets all its operands, then computes. One port serves
              the workers one after another.
            - "pccs": the same, with all transfers at the same time.
            - "scss", "pcss": the work on operands starts when their transfer starts, and does not
              end before the transfer ends. These names (sequential or parallel communication,
              consecutive or simultaneous start) are from the paper on layers.
            - "sequential", "parallel": the outer-product algorithm (section 3.1). In each step a
              pivot column of A and a pivot row of B, `block` wide, go to the workers, one after
              another or at the same time, and each worker updates its zone. A worker that computes
              does not receive.

            On a complete platform A and B are distributed like C. A worker gets the parts that it
            does not own from their owners, over the link from each owner, one message after
            another. The operands of layers and cuboids have no owner, so no message is counted for
            them.
        profiles : (p,) sequence, optional
            The seconds that each worker takes for its zone of C, by height and width in blocks: see
            `plan_matmul`. `measure_zones` measures them on this machine. Each worker then has one
            zone at most; method is "auto" or one of `partition_profile`. Not for emulated workers.

        Returns
        -------
        ProductPlan
            Its lower bound is the work divided perfectly over the speeds; with profiles, see
            `partition_profile`.

        Notes
        -----
        On real cores, method "auto" is a plan with shared tiles: the workers begin with slices by
        speed, and then balance the load by work stealing. If C is small and the inner dimension
        long, it has shared layers.

        Layers are summed when all workers have ended: each worker adds up some rows of C, in
        proportion to its speed. The parts of these rows that the other workers hold come over its
        own link. An addition counts as one flop (two for complex numbers) by its cycle-time.
        """
        m, n, k = check.product_sizes(m, n, k)
        kind = check.dtype(dtype, DTYPES)
        wishes = method, block, communication
        if profiles is not None:
            return product_run.plan_by_profiles(self._workers, m, n, k, kind, *wishes, profiles)
        return product_run.plan_for(self._workers, m, n, k, kind, *wishes)

    # ---- running ----

    def matmul(
        self,
        A: ArrayLike,
        B: ArrayLike,
        out: Array | None = None,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        *,
        method: str = "auto",
        block: int = 1,
        communication: str = "once",
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """Compute alpha A B + beta out on the workers of the pool.

        Parameters
        ----------
        A, B : array_like
            Numbers with any strides. 1-D and stacked operands are treated as in numpy.matmul, and
            mixed dtypes are promoted as there. The workers multiply float32, float64, complex64 and
            complex128. Integers, booleans, half and extended precision and objects are passed to
            numpy.matmul, unless a trace, a method or an emulated platform needs a plan. Masked
            arrays and sparse matrices are refused.
        out : ndarray, optional
            Where the result goes. It must have the shape and dtype of the result and share no
            memory with A or B.
        alpha, beta : number
            beta needs out. With beta 0 the old content of out is ignored, even NaN. For integer and
            boolean operands both must be numbers of that kind.
        method, block, communication :
            See `plan`.
        trace, progress :
            See `Pool`. A trace needs operands of at most two dimensions.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            A scalar for two 1-D operands.
        """
        seen, limit = None, product_run.SMALL
        if self._own is not None and not self._workers.emulated:
            seen = fast.product(
                A, B, out, alpha, beta, method, trace, progress, limit, block, communication
            )
            if seen is not None and seen is not True:
                return seen
        wishes = method, block, communication, trace, progress
        return product_run.matmul(self._live(), seen, A, B, out, alpha, beta, *wishes)

    def run(
        self,
        plan: (
            ProductPlan
            | Partition
            | ProfilePartition
            | Cuboids
            | DynamicProduct
            | LayersPlan
            | MeshPlan
            | StarPlan
            | BusPlan
            | ReductionPlan
        ),
        A: Any,
        B: Any = None,
        out: Array | None = None,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        *,
        communication: str = "once",
        order: str = "plan",
        rebalance: int | None = None,
        drift: Sequence[tuple[int, Platform]] | None = None,
        layers: str | PathLike[str] | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """Compute alpha A B + beta C by a given plan, or run one of tasks, a load or a reduction.

        Parameters
        ----------
        plan : Plan
            For products: a plan of `plan` or `plan_product`, a `partition` or `partition_profile`
            of C's elements or square blocks, `cuboids` of the iterations, a `dynamic_product` (the
            sides are cut as evenly as possible), or a plan of `layers_star`, `layers_mesh` or
            `layers_network`, with n elements or blocks of the inner dimension. For Python
            functions: a plan of `max_tasks`, `min_time` or `divisible_load`. For a Hermitian
            matrix: a plan of `plan_reduction`.
        A, B : array_like
            The operands. For tasks and loads A is a function and B are the data for it. For a
            reduction A is the matrix, of which the lower triangle is read, and there is no B.
        out : ndarray, optional
            C: see `matmul`.
        alpha, beta : number
            See `matmul`.
        communication : str
            For a partition, with its blocks as steps, for cuboids and for demand-driven products:
            see `plan`.
        order : {"plan", "demand"}
            For a StarPlan: which worker is served next.
        rebalance : int, optional
            For a partition: the number of steps after which the zones may move.
        drift : sequence of (int, Platform), optional
            For a partition in an emulated pool: the workers from these steps on.
        layers : path, optional
            For a plan of layers: a folder for the files layer-0.npy, ... of the workers with
            layers.
        trace, progress :
            See `Pool`.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            With tasks a list takes the place of the array, with layers= LayerFiles. For a reduction
            it is the band with the eigenvalues of A, (block + 1, n), as scipy.linalg.eig_banded
            takes it with lower=True.

        Notes
        -----
        Layers have their own mode of communication. On a mesh or network they travel over its
        links, as the plan routes them, in the times that these links have in the pool's platform (a
        mesh, or a platform with links between every two workers). The messages of their sum take no
        time.

        With layers= the layers are not summed. Each worker's layer is written to a file in that
        folder, strip by strip of its rows. C is added up where it is read, by `LayerFiles.sum`.
        Then no memory is used for C. Layers use only the pages of the files that the system has not
        yet written, and operands only their own memory. The files appear when all work is done. A
        run that fails or is interrupted leaves no file.

        rebalance and drift are for a partition. Its zones then move between two stretches of the
        inner dimension, of which a block is one step. As in `stencil`, the pool checks the speeds
        every `rebalance` steps. It goes on with the cuts of `Partition.recut`, or with a new
        partition, as soon as moving C pays by `RentOrBuy`. Elements of C that change owner come
        over the link of the new owner, one worker after another unless communication is "parallel".
        drift gives the platforms of an emulated pool from these steps on.

        order is for a plan of `plan_product`. With "plan" the master serves the workers in the
        plan's order. With "demand" it serves the worker with the longest pending request, decided
        during the run. The calling thread is the master, with one port: it copies blocks into the
        arenas of the workers, which are as large as their memory, and copies results back. The
        blocks are the smallest squares of which the operands have r, s and t. The cycle-times of an
        emulated platform are in seconds per block update, its link costs in seconds per block, and
        the trace's prediction is the model's for them. At real speed there is no prediction. The
        trace's peak is the largest number of blocks that each worker held.

        For a plan of `max_tasks` or `min_time`, A is a function of one task and B are the tasks, as
        many as planned. The result is the list of the returned values, in the order of the tasks.
        For a plan of `divisible_load`, B is an array of which the rows are the load, and A is a
        function of some rows that returns as many. The result is the array of all. A thread for
        each worker calls the function, and the calling thread is the master. Messages take the
        plan's times on the one bus, in both directions, and work takes the times of the pool's
        cycle-times. Shares are rounded to whole rows, and the trace's prediction takes this into
        account. At real speed nothing is paced. An exception that the function raises for a task
        leads to a TaskError.

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> platform = hs.Platform.star([0.002, 0.003], link_costs=[0.001, 0.002], memory=[12, 21])
        >>> plan = hs.plan_product(4, 8, 3, platform)
        >>> A, B = np.ones((64, 48)), np.ones((48, 128))  # blocks of 16 x 16
        >>> with hs.Pool(platform, emulate=True) as pool:
        ...     C, trace = pool.run(plan, A, B, trace=True)
        >>> C[0, 0], round(trace.predicted, 6), trace.peak
        (np.float64(48.0), 0.195, (11, 16))
        """
        from . import plans

        call = plans.Call(
            A,
            B,
            out,
            alpha,
            beta,
            communication,
            order,
            rebalance,
            drift,
            layers,
            check.flag("trace", trace),
        )
        with reporting(progress) as tell:
            result, record = plans.run(self._live(), plan, call, tell)
        return (result, record) if call.trace else result

    def sweep(
        self,
        plan: Wavefront,
        image: ArrayLike,
        kernel: Stencil | Kernel,
        out: Array | None = None,
        *,
        flops: float | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """Compute a recurrence over a matrix, tile by tile, by a plan of `wavefront`.

        Parameters
        ----------
        plan : Wavefront
            For as many workers as the pool has. Its tiles divide the image as evenly as integers
            allow.
        image : (m, n) array_like
            At least one element per tile. With a Stencil float32 or float64, with any strides; else
            any dtype.
        kernel : Stencil, callable, or (int, int)
            What a tile does: a Stencil; a Python function of (array, row, column, height, width),
            which changes the array in place and holds the GIL while it does; or the addresses of an
            hs_tile_function in C and of its context.
        out : ndarray, optional
            Where the result goes. It must have the shape and dtype of the image. Pass the image
            itself to sweep it in place.
        flops : float, optional
            Flops of the kernel for one element, from which the time of an emulated worker follows.
            Default: the flops of the Stencil, else 1.
        trace, progress :
            See `Pool`. The trace has one event for each tile.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            With a Stencil the same bits as a sequential sweep: row by row, or column by column if
            "SW" is in the plan's mask. The trace's prediction is for the pool's cycle-times; on
            real cores for the measured rate of the Stencil.

        Raises
        ------
        Exception
            Any exception that the kernel raises. Ctrl-C takes effect between tiles.

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> weights = [[np.inf, 1, np.inf], [1, 0, np.inf], [np.inf] * 3]  # above and on the left
        >>> steps = hs.Stencil(weights, "min")
        >>> image = np.full((2, 4), np.inf)
        >>> image[0, 1] = 0.0
        >>> with hs.Pool(2) as pool:
        ...     pool.sweep(hs.wavefront(2, 2, cycle_times=[1, 1]), image, steps)
        array([[inf,  0.,  1.,  2.],
               [inf,  1.,  2.,  3.]])
        """
        trace = check.flag("trace", trace)
        with reporting(progress) as tell:
            return sweep_run.run(self._live(), plan, image, kernel, out, flops, trace, tell)

    def plan_stencil(
        self,
        rows: int,
        cols: int,
        steps: int,
        *,
        dtype: DTypeLike = np.float64,
        ring: SliceRing | Sequence[int] | None = None,
        latencies: ArrayLike | None = None,
        overheads: ArrayLike | None = None,
    ) -> StencilPlan:
        """The plan that `stencil` follows for a matrix of rows x cols.

        It gives whole columns to each worker and predicts when the steps end.

        Parameters
        ----------
        rows, cols : int
            >= 1.
        steps : int
            >= 0.
        dtype : dtype_like
            float32 or float64.
        ring : SliceRing or sequence of int, optional
            The workers in the order of their slices. Default: the ring of `slice_ring` for the work
            of a step, 7 (rows - 2) cols flops, and the column of rows - 2 elements that two
            neighbours send each other.
        latencies : (p, p) array_like or float, optional
            Additional seconds of each message from row to column, >= 0. An emulated worker takes
            them in `stencil`; on real cores they are only planned for. Default: none.
        overheads : (p,) array_like or float, optional
            Additional seconds of each member's update in every step, >= 0. An emulated worker takes
            them in `stencil`; on real cores they are only planned for. Default: none.

        Returns
        -------
        StencilPlan
            The columns are divided so that a step ends as early as possible. A worker that would
            get no column is left out. The lower bound is the bound of `slice_ring`, for shares that
            need not be whole columns.

        Raises
        ------
        ValueError, TypeError
            Also for a star with link costs: neighbours on a ring need links of their own,
            `Platform.complete`.

        Notes
        -----
        On real cores messages are not predicted. Without a platform, the cycle-time is measured on
        a slice of about this size.
        """
        return stencil_run.plan_for(
            self._workers,
            rows,
            cols,
            steps,
            check.dtype(dtype, stencil_run.DTYPES),
            ring,
            latencies,
            overheads,
        )

    def stencil(
        self,
        U: ArrayLike,
        steps: int,
        *,
        weight: float = 0.25,
        plan: StencilPlan | SliceRing | None = None,
        out: Array | None = None,
        rebalance: int | None = None,
        drift: Sequence[tuple[int, Platform]] | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """Run steps of a Jacobi or heat iteration on a cylinder, in vertical slices on a ring of
        workers.

        Column 0 is adjacent to the last column. The first and the last row do not change. In a step
        every other element becomes x + weight * (((above + below) + left) + right - 4 * x),
        computed from the old elements.

        Parameters
        ----------
        U : (m, n) array_like
            float32 or float64 with any strides.
        steps : int
            0 <= steps < 2**30.
        weight : float
            1/4 gives Jacobi's method for Laplace's equation, a smaller weight a step of the heat
            equation. It is rounded to the dtype.
        plan : StencilPlan or SliceRing, optional
            The slices, from `plan_stencil`; or the ring, from `slice_ring`, to which columns are
            given by the times of this pool. Default: `plan_stencil`.
        out : ndarray, optional
            Where the result goes. It must have the shape and dtype of U, and may be U itself or
            overlap it. It is written as a whole after the last step: an interrupted call leaves it
            unchanged or complete.
        rebalance : int, optional
            Check the speeds every `rebalance` steps. The columns are divided anew for the speeds
            that the workers had since the last check, once the accumulated loss of the old division
            reaches the cost of moving columns (`RentOrBuy`), and if the steps left gain more than
            that. Columns go to their new owners directly or along the ring (`redistribute`),
            whichever takes less time. Each check waits for all workers and copies the matrix twice.
        drift : sequence of (int, Platform), optional
            The platforms that an emulated pool has from these steps on, with as many workers. The
            plan does not know of them.
        trace, progress :
            See `Pool`. The trace covers the steps, without the copies before and after them. Ctrl-C
            waits during the copies.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            The bits do not depend on the plan or the workers: they are equal to the result of the
            expression above in NumPy.

        Notes
        -----
        Each worker has its slice in its own memory, exchanges columns with its two neighbours and
        waits for no other worker. An emulated worker takes 7 flops for each element, and its
        overhead in the plan. Then, for its exchange with each neighbour, it takes the time of a
        column of m - 2 elements on the link from it to the neighbour (both columns travel at once).
        See Renard, Robert, Vivien (2003), section 2.

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> U = np.zeros((5, 6))
        >>> U[0] = 64.0
        >>> with hs.Pool(2) as pool:
        ...     pool.stencil(U, 3)[:, 0].tolist()
        [64.0, 29.0, 8.0, 1.0, 0.0]
        """
        trace = check.flag("trace", trace)
        with reporting(progress) as tell:
            return stencil_run.run(
                self._live(),
                U,
                steps,
                weight,
                plan,
                out,
                rebalance,
                drift,
                trace,
                tell,
            )

    def plan_factor(
        self,
        m: int,
        n: int,
        *,
        kind: str = "lu",
        owner: Owner = "pattern",
        block: int | None = None,
        dtype: DTypeLike = np.float64,
        panel_times: ArrayLike | None = None,
        link_costs: ArrayLike | None = None,
        look_ahead: bool = True,
        profiles: Sequence[ZoneProfile] | None = None,
    ) -> FactorPlan:
        """The plan that `lu_factor`, `cholesky` or `qr` follows for an m x n matrix.

        See the function `plan_factor`, which takes any platform. The links of the pool's platform
        count only if the pool is emulated, because real workers share their memory.

        Parameters
        ----------
        m, n, kind, owner, block, dtype, panel_times, link_costs, look_ahead, profiles :
            See the function `plan_factor`. profiles are for real workers, such as `measure_zones`
            measures.

        Returns
        -------
        FactorPlan
        """
        return factor_run.plan_for(
            self._workers,
            m,
            n,
            kind=kind,
            owner=owner,
            block=block,
            dtype=check.dtype(dtype, DTYPES),
            panel_times=panel_times,
            link_costs=link_costs,
            look_ahead=look_ahead,
            profiles=profiles,
        )

    def plan_lu(
        self,
        m: int,
        n: int,
        *,
        owner: Owner = "pattern",
        block: int | None = None,
        dtype: DTypeLike = np.float64,
        panel_times: ArrayLike | None = None,
        link_costs: ArrayLike | None = None,
        look_ahead: bool = True,
        profiles: Sequence[ZoneProfile] | None = None,
    ) -> FactorPlan:
        """`plan_factor` of kind "lu".

        Parameters
        ----------
        m, n, owner, block, dtype, panel_times, link_costs, look_ahead, profiles :
            See `plan_factor`.

        Returns
        -------
        FactorPlan
        """
        return self.plan_factor(
            m,
            n,
            owner=owner,
            block=block,
            dtype=dtype,
            panel_times=panel_times,
            link_costs=link_costs,
            look_ahead=look_ahead,
            profiles=profiles,
        )

    def lu_factor(
        self,
        a: ArrayLike,
        overwrite_a: bool = False,
        check_finite: bool = True,
        *,
        owner: Owner | FactorPlan | StarLuPlan | None = None,
        block: int | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """LU factorisation with partial pivoting on the workers of the pool, P A = L U, in the form
        of scipy.linalg.lu_factor.

        Parameters
        ----------
        a : (m, n) array_like
            float32, float64, complex64 or complex128 with any strides. Integers become float64.
        overwrite_a : bool
            Store the result in a if possible, that is, if it is an array of these dtypes with
            adjacent columns. After Ctrl-C its content is undefined.
        check_finite : bool
            Check for infinities and NaN first.
        owner : optional
            The worker of each block of columns: a method of `lu_pattern`, its result, or an array.
            Default: "pattern", or "cyclic" for equal workers. On real cores a worker that would
            wait steals tasks; emulated workers never do. A plan of `plan_lu` is followed with all
            its settings: an emulated run also paces its panels and messages. A plan of
            `plan_star_lu` needs a square a and a pool like its plans of products. The calling
            thread is the master; another thread does the master's work while workers compute.
        block : int, optional
            Columns of a block. Default: one block for each given owner, else by the size of the
            matrix.
        trace, progress :
            See `Pool`. The trace has the prediction of `plan_lu`.

        Returns
        -------
        (lu, piv), or ((lu, piv), Trace)
            lu: (m, n) array by columns, with U, and below its diagonal L without its ones. piv:
            (min(m, n),) int32 array; row i was exchanged with row piv[i], one after the other.

        Warns
        -----
        RuntimeWarning
            If U has a zero on its diagonal: scipy.linalg.LinAlgWarning, if SciPy is installed.

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True) as pool:
        ...     lu, piv = pool.lu_factor([[1.0, 2.0], [4.0, 6.0]])
        >>> lu.tolist(), piv.tolist()
        ([[4.0, 6.0], [0.25, 0.5]], [1, 1])
        """
        trace = check.flag("trace", trace)
        with reporting(progress) as tell:
            return lu_run.run(
                self._live(),
                a,
                overwrite_a,
                check_finite,
                Wish(owner, block, trace, tell),
            )

    def cholesky(
        self,
        a: ArrayLike,
        lower: bool = True,
        overwrite_a: bool = False,
        check_finite: bool = True,
        *,
        owner: Owner | FactorPlan | None = None,
        block: int | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """Cholesky factorisation on the workers of the pool: A = L L^H, or with lower=False U^H U.

        Parameters
        ----------
        a : (n, n) array_like
            Only one triangle is read.
        lower, overwrite_a, check_finite : bool
            See `hs.cholesky`.
        owner, block, trace, progress :
            See `lu_factor`. A plan must be from `plan_factor` with kind "cholesky".

        Returns
        -------
        ndarray, or (ndarray, Trace)

        Raises
        ------
        numpy.linalg.LinAlgError
            "k-th leading minor of the array is not positive definite".

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True) as pool:
        ...     L, trace = pool.cholesky([[4.0, 2.0], [2.0, 10.0]], trace=True)
        >>> L.tolist(), trace.kind
        ([[2.0, 0.0], [1.0, 3.0]], 'emulated')
        """
        trace = check.flag("trace", trace)
        with reporting(progress) as tell:
            wish = Wish(owner, block, trace, tell)
            c, record = cholesky_run.by_plan(
                self._live(), a, lower, overwrite_a, check_finite, wish
            )
        return (c, record) if trace else c

    def qr(
        self,
        a: ArrayLike,
        overwrite_a: bool = False,
        mode: str = "economic",
        check_finite: bool = True,
        *,
        owner: Owner | FactorPlan | None = None,
        block: int | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """QR factorisation on the workers of the pool, by blocks of Householder reflectors.

        Parameters
        ----------
        a : (m, n) array_like
        overwrite_a, mode, check_finite :
            See `hs.qr`.
        owner, block, trace, progress :
            See `lu_factor`. A plan must be from `plan_factor` with kind "qr". Q is formed from the
            reflectors afterwards, at full speed, and is not part of the trace.

        Returns
        -------
        tuple, or (tuple, Trace)
            (Q, R); (R,) for mode "r"; ((qr, tau), R) for mode "raw".

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True) as pool:
        ...     Q, R = pool.qr([[3.0, 1.0], [4.0, 2.0]])
        >>> np.round(Q @ R, 12).tolist()
        [[3.0, 1.0], [4.0, 2.0]]
        """
        trace = check.flag("trace", trace)
        with reporting(progress) as tell:
            wish = Wish(owner, block, trace, tell)
            found, record = qr_run.by_plan(self._live(), a, overwrite_a, mode, check_finite, wish)
        return (found, record) if trace else found

    def map_tasks(
        self,
        function: Callable[[Any], Any],
        tasks: Iterable[Any],
        *,
        order: str = "plan",
        cycle_times: ArrayLike | None = None,
        send: float = 0.0,
        start_method: str | None = None,
        progress: bool | Progress | None = False,
        trace: bool = False,
    ) -> Any:
        """`hs.map_tasks` with a process for each worker of this pool, with the names and relative
        speeds of its platform.

        The threads of the pool are not used: a Python function needs processes to use several
        cores.

        Parameters
        ----------
        function, tasks, order, cycle_times, send, start_method, progress, trace :
            See the function `map_tasks`.

        Returns
        -------
        list, or (list, Trace)
            The results in the order of the tasks.
        """
        from .tasks import map_tasks

        workers = self._workers
        if workers.emulated:
            raise ValueError(
                "tasks in Python run at the speed of this machine: use a Pool without emulate=True"
            )
        options: dict[str, Any] = dict(
            order=order,
            cycle_times=cycle_times,
            send=send,
            start_method=start_method,
            progress=progress,
            trace=trace,
        )
        return map_tasks(
            function,
            tasks,
            workers.given if cycle_times is None and workers.given else len(workers),
            **options,
        )


class UnpinnedPool(Pool):
    """Workers that are not pinned, because other threads or processes use the cpus, too."""

    def _started(self) -> engine.Threads:
        # The block sizes of the whole pool: another depth would give other bits.
        blocks = everywhere(topology())
        own = () if blocks is None else (blocks,)
        return engine.Threads(
            len(self), None, own, (0,) * len(self), deterministic=self.deterministic
        )


# ---- a pool as the other runners see it ----------------------------------------------------------


def resources_of(pool: Pool, *, seen: bool = False) -> Resources:
    """What a run needs of a pool. New threads are started where the old ones cannot be used.

    seen : `is_here` was true a moment ago. A second look at the mask would take as long as the rest
    of a small call.
    """
    own = pool._own
    return own.resources if seen and own is not None else pool._live()


def is_here(pool: Pool) -> bool:
    """Whether the mask of the calling thread and the quota are those that the pool has last seen.

    It is a quick look. If it says no, `is_elsewhere` and `has_other_quota` know what has changed.
    """
    own = pool._own
    return own is not None and engine.cpus_stamp() in (0, own.stamp)


def is_elsewhere(pool: Pool) -> bool:
    """Whether the threads were started for other cpus than the calling thread has now.

    A worker of a pool, inside a tile, does not count, because it is pinned.
    """
    own, stamp = pool._own, engine.cpus_stamp()
    return own is not None and stamp not in (0, own.stamp) and mask.cpus() != own.cpus


def has_other_quota(pool: Pool) -> bool:
    """Whether another number of workers has become worth starting, by the quota of the process."""
    own = pool._own
    return own is not None and own.quota != quota_workers()


def is_inside(pool: Pool) -> bool:
    """Whether the calling thread works on a run of the pool."""
    own = pool._own
    return own is not None and own.resources.threads.is_inside()


def accumulate(
    pool: Pool, a: Array, b: Array, c: Array, alpha: complex, onto: bool, poll: engine.Poll
) -> None:
    """Compute C = alpha A B, or C += alpha A B.

    NumPy is not used for any size, because its BLAS has buffers of its own.
    """
    threads, workers = pool._live()
    engine.gemm(threads, a, b, c, alpha, float(onto), workers.shares[c.dtype], poll)


def sweep(pool: Pool, matrix: Array, weight: float, steps: int, poll: engine.Poll) -> None:
    """Do steps of the iteration of `Pool.stencil` on a matrix, in place."""
    stencil_run.sweep(pool._live(), matrix, weight, steps, poll)


def update(
    pool: Pool, array: Array, stencil: Stencil, box: tuple[int, int, int, int], poll: engine.Poll
) -> None:
    """Update a part of a matrix in place: row, column, height and width."""
    sweep_run.update(pool._live(), array, stencil, box, poll)


class _Own(NamedTuple):
    """What runs need of a pool, with their process and the cpus of the thread that started them."""

    pid: int
    stamp: int  # identifies these cpus and the quota, and is read quickly
    cpus: frozenset[int]
    quota: int  # workers worth starting
    resources: Resources


# Held while the threads are replaced, after a fork or for other cpus. It is reentrant, because a
# signal handler may multiply while the thread that it interrupts holds the lock.
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
