"""Workers that run plans: this machine's cores, or emulated ones of any speed."""

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
from ..machine import mask
from ..planners.layers import LayersPlan
from ..planners.mesh import MeshPlan
from ..planners.product import ProductPlan
from ..planners.star import StarPlan
from ..planners.star_lu import StarLuPlan
from . import cholesky as cholesky_run
from . import factor as factor_run
from . import lu as lu_run
from . import product as product_run
from . import qr as qr_run
from . import star as star_run
from . import stencil as stencil_run
from . import sweep as sweep_run
from .factor import Wish
from .operands import operands
from .workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from .._base.progress import Progress
    from ..planners.cuboids import Cuboids
    from ..planners.factor import FactorPlan, Owner
    from ..planners.partition import Partition
    from ..planners.ring import SliceRing
    from ..planners.stencil import StencilPlan
    from ..planners.wavefront import Wavefront
    from ..platform import Platform
    from ..trace import Trace
    from .bus import BusPlan
    from .operands import Array
    from .recurrence import Kernel, Stencil


_REAL = (float, int)


class Pool:
    """Persistent worker threads that multiply, factor or sweep over a matrix, by a plan.

    Parameters
    ----------
    workers : int or Platform, optional
        That many workers of equal speed, or one for each worker of a platform; by default as many as are worth starting on
        this machine (`topology`: physical cores, cgroup quota, HETSCHED_NUM_THREADS, OMP_NUM_THREADS; fewer where `measure` has
        found that more do not help). While there are not more than cpus, each is pinned to one. Where `measure` has found these
        cpus to differ by more than 5 %, they count as it says, for each dtype.
    emulate : bool
        Pace the workers by their cycle-times (seconds per gigaflop) and link costs (seconds per gigabyte), whatever the host:
        there may be more of them than cores. The numbers are computed for real. For a plan of `plan_product` both are per
        block, as its memory is: whether the host can keep up with workers of limited memory is seen when a plan is run.
    time_scale : float
        Of an emulated run: real seconds per second of the platform. Above 1 slows a platform that the host cannot keep up
        with; below 1 shortens the wait for a slow one.
    deterministic : bool, optional
        The same bits in a pool of any size. Factorisations, and what is solved with them, are then cut by their sizes alone: else
        more than two workers have narrower blocks where a matrix is small for them, which takes less time. So are stacks of
        matrices that are worth sharing. An emulated pool's method "auto" leaves out those that divide the inner dimension, and
        methods that do so are refused. Default: False, or what the environment variable HETSCHED_DETERMINISTIC says (0 or 1).

    Raises
    ------
    ValueError
        If the host cannot keep up with the emulated platform; the message says what it lacks.

    Notes
    -----
    `matmul`, `run`, `sweep`, `stencil`, `lu_factor`, `cholesky` and `qr` have in common: with trace=True they return a pair, the
    result and a Trace. progress is a function that is called with the fraction done, at most 20 times a second, and with 1.0 in
    the end; True is a bar on the terminal. ValueError and TypeError come before anything is changed; the message names the
    argument. Ctrl-C is seen within 0.2 s: what was to hold the result is then undefined, unless the method says more.

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
        # What the threads are for, and they: replaced as one, so that other threads see all of it or nothing.
        self._own: _Own | None = self._started_here(shrinks=workers is None)

    # ---- life ----

    def close(self) -> None:
        """End the threads, after a product that another thread may be running. Closing twice is allowed."""
        self._own = None

    def trim(self) -> None:
        """Give back the memory that the pool keeps for its next run, after one that another thread may be running: a few MiB for
        each worker as a rule, at most 64."""
        self._live().trim()

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
        return engine.Threads(len(own), own.cores, own.domains or (), own.domain_of or (), deterministic=own.deterministic)

    def _started_here(self, shrinks: bool = False) -> _Own:
        """The threads, for this process and the cpus of this thread; shrinks: fewer workers where the system refuses threads."""
        stamp, cpus, asked = engine.cpus_stamp(), mask.cpus(), len(self)
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
                f"the system refuses to start threads for {asked} workers: this pool has {len(self)} (RLIMIT_NPROC, pids.max)",
                RuntimeWarning,
                stacklevel=3,
            )
        return _Own(os.getpid(), stamp, cpus, threads)

    def _live(self) -> engine.Threads:
        """The threads. A forked child has none of its parent's, and where the cpus of the calling thread are others than before,
        by `taskset -p`, a cgroup or the program, pinned workers may be outside them: both begin with new ones."""
        own = self._own
        if own is not None and (own.pid != os.getpid() or engine.cpus_stamp() not in (0, own.stamp)):
            with _lock:
                own = self._own = self._renewed()
        if own is None:
            raise ValueError("the pool is closed")
        return own.threads

    def _renewed(self) -> _Own | None:
        own = self._own
        if own is None or own.pid != os.getpid():
            return own and self._started_here()
        if not self._is_elsewhere():
            return own._replace(stamp=engine.cpus_stamp() or own.stamp)
        self._workers = self._workers.resized(len(self))
        return self._started_here()

    def _is_elsewhere(self) -> bool:
        """Whether the threads were started for other cpus than the calling thread has now. A worker of a pool, in a tile, is not
        asked for its own: it is pinned."""
        own, stamp = self._own, engine.cpus_stamp()
        return own is not None and stamp not in (0, own.stamp) and mask.cpus() != own.cpus

    def _is_inside(self) -> bool:
        """Whether the calling thread works on a run of the pool."""
        own = self._own
        return own is not None and own.pid == os.getpid() and own.threads.is_inside()

    @property
    def closed(self) -> bool:
        """Whether the threads have been ended."""
        return self._own is None

    @property
    def emulated(self) -> bool:
        """Whether the workers are paced as the platform says."""
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
        """The platform given, or the workers of this machine, in float64: as `measure` found them, else equal ones with a
        cycle-time measured in a few milliseconds."""
        return self._workers.platform

    @property
    def availability(self) -> NDArray[np.float64]:
        """(p,) how much of its speed each worker has had of late, beside the best one, which has 1.

        The work that it did in the last shared products and factorisations (method "auto"), some 20 ms of them, over its speed in
        float64. While somebody has less than 0.9, the next ones are dealt by speeds times these: they follow the load of other
        programs, which comes, goes or moves from core to core. All 1 at first, and in an emulated pool.

        Examples
        --------
        >>> import hetsched as hs
        >>> hs.Pool(2).availability.tolist()
        [1.0, 1.0]
        """
        return check.frozen(self._live().availability(self._workers.shares[np.dtype(np.float64)]))

    # ---- planning ----

    def plan(
        self,
        m: int,
        n: int,
        k: int,
        *,
        dtype: DTypeLike = np.float64,
        method: str = "auto",
        block: int = 1,
        communication: str = "once",
    ) -> ProductPlan:
        """The plan that `matmul` would follow for C (m x n) = A (m x k) B (k x n).

        Parameters
        ----------
        m, n, k : int
            Sizes in elements, >= 0.
        dtype : dtype_like
        method : str
            "columns": block columns of C by `distribute` (2001 paper, section 2.2). "rows": the same with rows. "rectangles":
            `partition` into columns of rectangles (section 3.2), which moves less data. Any other method of `partition`, with
            the link costs as weights. "cannon": s^2 workers pass parts of A and B on to their neighbours, in s steps (only
            "sequential" and "parallel"). "domains": halves of C, along its longer side, for halves of the domains of the
            platform by their speed, and so on; of a domain's zone columns or rows for each of its workers. "layers": each
            worker gets columns of A and rows of B, and the m x n layers that come of it are summed. "cuboids": boxes of
            `cuboids`, summed where they lie above each other. "auto": the one with the smallest predicted makespan. "triangle":
            for B = A.T, whose product is symmetric: block columns of its lower triangle, with half the work, and its mirror
            image; `matmul` takes it where it sees that, unless another method is asked for.
        block : int
            Cuts are at multiples of it. In steps there may be 10**6 boxes, of all workers and steps together.
        communication : str
            "once", or "sccs": every worker gets all its operands, then computes; one port serves the workers one after another.
            "pccs": the same, all at the same time. "scss", "pcss": the work on operands starts with their transfer, and does not
            end before it (sequential or parallel communication, consecutive or simultaneous start, in the words of the paper on
            layers). "sequential" and "parallel" are the outer-product algorithm (section 3.1): step by step a pivot column of A
            and a pivot row of B, `block` wide, go to the workers, one after another or at the same time, and each updates its
            zone. A worker that computes does not receive. On a complete platform A and B lie as C does: a worker gets what it
            does not own from the owners, over the link from each of them, one message after another; of layers and cuboids, for
            which nobody owns anything, no message is counted.

        Returns
        -------
        ProductPlan
            Its lower bound is the work divided perfectly over the speeds.

        Notes
        -----
        On real cores, method "auto" is a plan with shared tiles: slices by speed to begin with, and workers that are early
        take over from those that are late. Where C is small and the inner dimension long it has shared layers.

        The sum of layers: when all have ended, each worker adds up some rows of C, in proportion to its speed. What others hold
        of them comes over its own link; an addition is one flop (two for complex numbers) by its cycle-time.
        """
        m, n, k = (check.integer(name, size, low=0) for name, size in (("m", m), ("n", n), ("k", k)))
        kind = check.dtype(dtype, DTYPES)
        return product_run.plan_for(self._workers, m, n, k, kind, method, block, communication)

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
        """alpha A B + beta out, by the workers of the pool.

        Parameters
        ----------
        A, B : array_like
            Numbers with any strides; 1-D and stacked operands as for numpy.matmul. Mixed dtypes are promoted as there. The
            workers multiply float32, float64, complex64 and complex128; integers, booleans, half and extended precision and
            objects are left to numpy.matmul, where no trace, method or emulated platform asks for a plan. Masked arrays and
            sparse matrices are refused.
        out : ndarray, optional
            Where the result goes: its shape and dtype, no memory in common with A or B.
        alpha, beta : number
            beta needs out; with beta 0 the old content of out does not matter, NaN or not. Of integers and booleans they
            must be such themselves.
        method, block, communication :
            As for `plan`.
        trace, progress :
            See `Pool`; a trace is for operands of at most two dimensions.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            A scalar for two 1-D operands.
        """
        workers = self._workers
        direct = workers.emulated or not (
            trace is False
            and (type(method) is str and method == "auto")
            and (type(block) is int and block == 1)
            and (type(communication) is str and communication == "once")
        )
        if not direct and self._own is not None:
            small = fast.product(A, B, out, alpha, beta, method, trace, progress, product_run.SMALL)
            if small is not None:
                return small
        threads, workers = self._live(), self._workers
        one = type(alpha) in _REAL and alpha == 1 and type(beta) in _REAL and beta == 0
        if one and not direct and (progress is None or progress is False) and product_run.is_plain(A, B, out):
            return product_run.multiply_plain(threads, workers, A, B, out)
        trace, report = check.flag("trace", trace), reporting(progress)
        with report as tell:
            x = operands(A, B, out, alpha, beta, others=not direct)
            if trace and x.c.ndim > 2:
                raise ValueError(f"trace is for one product; A and B are stacks of {x.c.shape[:-2]}")
            record = None
            if direct:
                m, n, k = x.sizes
                own = product_run.by_own_transpose(x)
                plan = product_run.plan_for(workers, m, n, k, x.c.dtype, method, block, communication, own_transpose=own)
                product_run.require_own_transpose(plan, x)
                for (a, b, c), told in x.products(tell):
                    record = product_run.run(threads, workers, plan, (a, b, c, x.alpha, x.beta), told)
            elif x.c.dtype in DTYPES:
                product_run.multiply(threads, workers, x, tell)
            else:
                x.by_numpy()
        result = x.result if x.result.ndim or out is not None else x.result[()]
        return (result, record) if trace else result

    def run(
        self,
        plan: ProductPlan | Partition | Cuboids | LayersPlan | MeshPlan | StarPlan | BusPlan,
        A: Any,
        B: Any,
        C: Array | None = None,
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
        """alpha A B + beta C by a given plan: one of `plan` or `plan_product`, a `partition` of C's elements or square blocks,
        `cuboids` of the iterations, or `layers_star`, `layers_mesh` or `layers_network`, whose n are the elements or blocks of
        the inner dimension.

        Layers have their mode of communication; on a mesh or network they come over its links, as the plan routes them, at the
        times that these have in the pool's platform (a mesh, or one with links between every two workers), and the messages of
        their sum take no time. With layers= they are not summed: each worker's is written to a file in that folder, strip by
        strip of its rows, and C is added up where it is read, by `LayerFiles.sum`. No memory is taken for C then, nor for
        layers but the pages of the files that the system has not yet written, as for the operands only what they take
        themselves. The files are there when all is done; what fails or is interrupted leaves none.

        rebalance and drift are for a partition, whose zones then move between two stretches of the inner dimension: a step is a
        block of it. As of `stencil`, the pool looks up every `rebalance` steps, and goes on with the cuts of `Partition.recut`,
        or with a fresh partition, once moving C pays by `RentOrBuy`. Elements of C that change owner come over the new one's
        link, one worker after another unless communication is "parallel". drift are the platforms of an emulated pool from those
        steps on.

        order is for a plan of `plan_product`: "plan" has the master serve the workers in the plan's order, "demand" the one whose
        request is pending longest, decided as it runs. This thread is the master, with one port: it copies blocks into the
        arenas of the workers, which are as large as their memory, and results back. The blocks are the smallest squares of which
        the operands have r, s and t. An emulated platform's cycle-times are in seconds per block update, its link costs in
        seconds per block, and the trace's prediction is the model's for them; at real speed there is none. The trace's peak is
        the most blocks that each worker held.

        For a plan of `max_tasks` or `min_time` A is a function of one task and B are the tasks, as many as planned; the result is
        the list of what it gives, in their order. For one of `divisible_load` B is an array whose rows are the load, A a function
        of some rows that gives as many; the result is the array of all. The function is called by a thread for each worker. This
        thread is the master: messages take the plan's times on the one bus, there and back, the work those of the pool's
        cycle-times. Shares are rounded to whole rows, which the trace's prediction knows. At real speed nothing is paced. What
        the function raises for a task comes out of a TaskError.

        Parameters
        ----------
        plan : ProductPlan, Partition, Cuboids, LayersPlan, MeshPlan, StarPlan, MaxTasks, MinTime or DivisibleLoad
        A, B : array_like
            The operands; of tasks and of loads a function and what it is for.
        C : ndarray, optional
            Where the result goes, as `out` of `matmul`.
        alpha, beta : number
            As of `matmul`.
        communication : str
            Of a partition, with its blocks as steps, and of cuboids: as of `plan`.
        order : {"plan", "demand"}
            Of a StarPlan: who is served next.
        rebalance : int, optional
            Of a partition: after how many steps each the zones may move.
        drift : sequence of (int, Platform), optional
            Of an emulated partition: the workers from those steps on.
        layers : path, optional
            Of a plan of layers: a folder for files layer-0.npy, ... of the workers with layers.
        trace, progress :
            See `Pool`.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            Of tasks a list in the place of the array, with layers= LayerFiles.

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
        threads, workers = self._live(), self._workers
        trace, report = check.flag("trace", trace), reporting(progress)
        if hasattr(plan, "send_order"):
            from . import bus as bus_run

            assert isinstance(plan, bus_run.BusPlan)
            given = (C, alpha, beta, communication, order, rebalance, drift, layers)
            if C is not None or given[1:] != (1.0, 0.0, "once", "plan", None, None, None):
                raise TypeError(
                    "C, alpha, beta, communication, order, rebalance, drift and layers are for products, "
                    f"got a plan of type {type(plan).__name__}"
                )
            with report as tell:
                done = bus_run.run(workers, plan, A, B, trace, tell)
            return done if trace else done[0]
        if layers is not None and (not isinstance(plan, LayersPlan | MeshPlan) or C is not None):
            raise TypeError(
                f"layers is for a plan of layers and without C, got a {type(plan).__name__}{' and C' * (C is not None)}"
            )
        with report as tell:
            x = operands(A, B, C, alpha, beta, name="C", make=layers is None)
            if x.c.ndim > 2:
                raise ValueError(f"A and B must be matrices, got stacks of {x.c.shape[:-2]}")
            if isinstance(plan, StarPlan | ProductPlan | LayersPlan | MeshPlan) and communication != "once":
                raise ValueError(f"communication is for a partition, got {communication!r} with a {type(plan).__name__}")
            record: Trace | None
            if rebalance is not None or drift is not None:
                from . import zones

                record = zones.run(threads, workers, plan, x, communication, rebalance, drift, tell)
            elif isinstance(plan, StarPlan):
                record = star_run.run(threads, workers, plan, x, order, trace, tell)
            elif order != "plan":
                raise ValueError(f"order is for a plan of plan_product, got {order!r} with a {type(plan).__name__}")
            elif layers is not None:
                from . import layers as layers_run

                files, record = layers_run.run(
                    threads, workers, product_run.checked(workers, plan, x, communication), x, layers, tell
                )
                return (files, record) if trace else files
            else:
                boxes = product_run.checked(workers, plan, x, communication)
                record = product_run.run(threads, workers, boxes, (x.a, x.b, x.c, x.alpha, x.beta), tell)
        return (x.result, record) if trace else x.result

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
        """A recurrence over a matrix, tile by tile as a `wavefront` plans it.

        Parameters
        ----------
        plan : Wavefront
            For as many workers as the pool has. Its tiles divide the image as evenly as integers allow.
        image : (m, n) array_like
            At least one element per tile. With a Stencil float32 or float64, with any strides; else of any dtype.
        kernel : Stencil, callable, or (int, int)
            What a tile does: a Stencil; a Python function of (array, row, column, height, width), which changes the array
            in place and holds the GIL while it does; or the addresses of an hs_tile_function in C and of its context.
        out : ndarray, optional
            Where the result goes: of the image's shape and dtype. Give the image itself to sweep it in place.
        flops : float, optional
            Of the kernel for one element, which says how long an emulated worker takes. Default: those of the Stencil, else 1.
        trace, progress :
            See `Pool`; the trace has one event for each tile.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            With a Stencil the same bits as from a sequential sweep: row by row, or column by column where "SW" is in the
            plan's mask. The trace's prediction is for the pool's cycle-times; on real cores for the Stencil's measured rate.

        Raises
        ------
        Exception
            What the kernel raises. Ctrl-C is seen between tiles.

        Examples
        --------
        >>> import numpy as np, hetsched as hs
        >>> steps = hs.Stencil([[np.inf, 1, np.inf], [1, 0, np.inf], [np.inf] * 3], "min")  # from above and from the left
        >>> image = np.full((2, 4), np.inf)
        >>> image[0, 1] = 0.0
        >>> with hs.Pool(2) as pool:
        ...     pool.sweep(hs.wavefront(2, 2, [1, 1]), image, steps)
        array([[inf,  0.,  1.,  2.],
               [inf,  1.,  2.,  3.]])
        """
        trace = check.flag("trace", trace)
        with reporting(progress) as tell:
            return sweep_run.run(self._live(), self._workers, plan, image, kernel, out, flops, trace, tell)

    def plan_stencil(
        self,
        rows: int,
        cols: int,
        steps: int,
        *,
        dtype: DTypeLike = np.float64,
        ring: SliceRing | Sequence[int] | None = None,
    ) -> StencilPlan:
        """The plan that `stencil` follows for a matrix of rows x cols: whole columns for each worker, and when steps end.

        Parameters
        ----------
        rows, cols : int
            >= 1.
        steps : int
            >= 0.
        dtype : dtype_like
            float32 or float64.
        ring : SliceRing or sequence of int, optional
            The workers in the order of their slices. Default: those of `slice_ring` for the work of a step, 7 (rows - 2) cols
            flops, and the column of rows - 2 elements that two neighbours send each other.

        Returns
        -------
        StencilPlan
            The columns are divided so that a step ends as early as possible; a worker that would have none is left out. The lower
            bound is that of `slice_ring`, for shares that need not be whole columns.

        Raises
        ------
        ValueError, TypeError
            Also for a star whose links have costs: neighbours on a ring need links of their own, `Platform.complete`.

        Notes
        -----
        On real cores messages are not predicted. Without a platform, the cycle-time is measured on a slice of about this size.
        """
        return stencil_run.plan_for(self._workers, rows, cols, steps, check.dtype(dtype, stencil_run.DTYPES), ring)

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
        """Steps of a Jacobi or heat iteration on a cylinder, in vertical slices on a ring of workers.

        Column 0 is beside the last one; the first and the last row stay as they are. In a step every other element becomes
        x + weight * (((above + below) + left) + right - 4 * x), of the old ones.

        Parameters
        ----------
        U : (m, n) array_like
            float32 or float64 with any strides.
        steps : int
            0 <= steps < 2**30.
        weight : float
            1/4 is Jacobi's method for Laplace's equation, less a step of the heat equation. It is rounded to the dtype.
        plan : StencilPlan or SliceRing, optional
            The slices, of `plan_stencil`; or the ring, of `slice_ring`, which is given columns by the times of this pool.
            Default: `plan_stencil`.
        out : ndarray, optional
            Where the result goes: of the shape and dtype of U. It may be U itself or overlap it. It is written as a whole after
            the last step: an interrupted call leaves it as it was, or complete.
        rebalance : int, optional
            Look up after so many steps: divide the columns anew for the speeds that the workers had since, once the loss of not
            doing so adds up to what moving columns costs (`RentOrBuy`). Each look waits for all and copies the matrix twice.
        drift : sequence of (int, Platform), optional
            The platforms that an emulated pool has from those steps on, with as many workers. The plan does not know of them.
        trace, progress :
            See `Pool`; the trace is of the steps, without the copies at both ends, during which Ctrl-C waits.

        Returns
        -------
        ndarray, or (ndarray, Trace)
            The bits do not depend on plan and workers: they are those of the expression above in NumPy.

        Notes
        -----
        Each worker has its slice in memory of its own and exchanges columns with its two neighbours; it waits for nobody else. An
        emulated worker takes 7 flops for each element, then for its exchange with each neighbour the time of a column of m - 2
        elements on the link from it to the neighbour (both columns travel at once): Renard, Robert, Vivien (2003), section 2.

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
            return stencil_run.run(self._live(), self._workers, U, steps, weight, plan, out, rebalance, drift, trace, tell)

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
    ) -> FactorPlan:
        """The plan that `lu_factor`, `cholesky` or `qr` follows for an m x n matrix; see the function `plan_factor`, which takes
        any platform.

        The links of the pool's platform count where it is emulated: real workers share their memory.

        Parameters
        ----------
        m, n, kind, owner, block, dtype, panel_times, link_costs, look_ahead :
            As of the function `plan_factor`.

        Returns
        -------
        FactorPlan
        """
        return factor_run.plan_for(
            self._workers, m, n, kind=kind, owner=owner, block=block, dtype=check.dtype(dtype, DTYPES),
            panel_times=panel_times, link_costs=link_costs,
            look_ahead=look_ahead,
        )  # fmt: skip

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
    ) -> FactorPlan:
        """`plan_factor` of kind "lu".

        Parameters
        ----------
        m, n, owner, block, dtype, panel_times, link_costs, look_ahead :
            As of the function `plan_factor`.

        Returns
        -------
        FactorPlan
        """
        return self.plan_factor(
            m, n, owner=owner, block=block, dtype=dtype, panel_times=panel_times, link_costs=link_costs, look_ahead=look_ahead
        )

    def lu_factor(
        self,
        A: ArrayLike,
        overwrite_a: bool = False,
        check_finite: bool = True,
        *,
        owner: Owner | FactorPlan | StarLuPlan | None = None,
        block: int | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """LU factorisation with partial pivoting by the workers of the pool: P A = L U, as scipy.linalg.lu_factor has it.

        Parameters
        ----------
        A : (m, n) array_like
            float32, float64, complex64 or complex128 with any strides; integers become float64.
        overwrite_a : bool
            Put the result into A where that is possible: an array of these dtypes whose columns lie side by side. After Ctrl-C
            its content is undefined.
        check_finite : bool
            Look for infinities and NaN first.
        owner : optional
            The worker of each block of columns: a method of `lu_pattern`, its result, or an array. Default: "pattern", with equal
            workers "cyclic". On real cores a worker that would wait takes tasks over; emulated ones never do. Or a plan of
            `plan_lu`, with all that it says: an emulated run paces its panels and messages too. Or one of `plan_star_lu`, for a
            pool as its plans of products need it: this thread is the master, and A is square.
        block : int, optional
            Columns of a block. Default: such that the owners given have one each, else by the size of the matrix.
        trace, progress :
            See `Pool`; the trace has the prediction of `plan_lu`.

        Returns
        -------
        (lu, piv), or ((lu, piv), Trace)
            lu: (m, n) array by columns, U and below its diagonal L without its ones. piv: (min(m, n),) int32 array, row i was
            exchanged with row piv[i], one after the other.

        Warns
        -----
        RuntimeWarning
            If U has a zero on its diagonal: scipy.linalg.LinAlgWarning, where SciPy is installed.

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
            return lu_run.run(self._live(), self._workers, A, overwrite_a, check_finite, Wish(owner, block, trace, tell))

    def cholesky(
        self,
        A: ArrayLike,
        lower: bool = True,
        overwrite_a: bool = False,
        check_finite: bool = True,
        *,
        owner: Owner | FactorPlan | None = None,
        block: int | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """Cholesky factorisation by the workers of the pool: A = L L^H, or with lower=False U^H U.

        Parameters
        ----------
        A : (n, n) array_like
            Of which one triangle is read.
        lower, overwrite_a, check_finite : bool
            As of `hs.cholesky`.
        owner, block, trace, progress :
            As of `lu_factor`; a plan is one of `plan_factor` of kind "cholesky".

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
            c, record = cholesky_run.by_plan(self._live(), self._workers, A, lower, overwrite_a, check_finite, wish)
        return (c, record) if trace else c

    def qr(
        self,
        A: ArrayLike,
        overwrite_a: bool = False,
        mode: str = "economic",
        check_finite: bool = True,
        *,
        owner: Owner | FactorPlan | None = None,
        block: int | None = None,
        trace: bool = False,
        progress: bool | Progress | None = None,
    ) -> Any:
        """QR factorisation by the workers of the pool, by blocks of Householder reflectors.

        Parameters
        ----------
        A : (m, n) array_like
        overwrite_a, mode, check_finite :
            As of `hs.qr`.
        owner, block, trace, progress :
            As of `lu_factor`; a plan is one of `plan_factor` of kind "qr". Q is made of the reflectors afterwards, at full speed,
            and is not part of the trace.

        Returns
        -------
        tuple, or (tuple, Trace)
            (Q, R); (R,) of mode "r"; ((qr, tau), R) of mode "raw".

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
            found, record = qr_run.by_plan(self._live(), self._workers, A, overwrite_a, mode, check_finite, wish)
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
        """`hs.map_tasks` with a process for each worker of this pool, its platform's names and relative speeds.

        The threads of the pool have no part in it: a Python function needs processes to use several cores.

        Parameters
        ----------
        function, tasks, order, cycle_times, send, start_method, progress, trace :
            As of the function `map_tasks`.

        Returns
        -------
        list, or (list, Trace)
            The results in the order of the tasks.
        """
        from .tasks import map_tasks

        workers = self._workers
        if workers.emulated:
            raise ValueError("tasks in Python run at the speed of this machine: use a Pool without emulate=True")
        options: dict[str, Any] = dict(
            order=order, cycle_times=cycle_times, send=send, start_method=start_method, progress=progress, trace=trace
        )
        return map_tasks(function, tasks, workers.given if cycle_times is None and workers.given else len(workers), **options)


def accumulate(pool: Pool, a: Array, b: Array, c: Array, alpha: complex, onto: bool, poll: engine.Poll) -> None:
    """C = alpha A B, or C += alpha A B; whatever the size not by NumPy, whose BLAS has buffers of its own."""
    engine.gemm(pool._live(), a, b, c, alpha, float(onto), pool._workers.shares[c.dtype], poll)


class _Own(NamedTuple):
    """Threads of a pool, with the process that they are in, and the cpus of the thread that started them."""

    pid: int
    stamp: int  # of these cpus, as it is quickly found out
    cpus: frozenset[int]
    threads: engine.Threads


# For what a forked child and other cpus replace. A signal handler may multiply while it is held by the thread that it interrupts.
_lock = threading.RLock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
