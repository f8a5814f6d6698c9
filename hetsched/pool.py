"""Workers that run plans: this machine's cores, or emulated ones of any speed."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _check, _engine, star_run, stencil
from .cuboids import Cuboids
from .errors import EmulationWarning
from .layers import LayersPlan
from .lu import Factors, LuPlan, Owner, plan_lu, trace_of, warn_singular
from .measure import MeasuredPlatform, rate, recent
from .operands import Array, Operands, operands
from .partition import Partition
from .plan import names_of, relative_speeds
from .platform import Platform
from .product import COMMUNICATION, UNIT, ProductPlan, Task, in_shared_layers
from .product_methods import plan_matmul, plan_of_boxes, plan_of_partition
from .ring import SliceRing
from .simulate import simulate
from .star import StarPlan
from .stencil import StencilPlan, plan_stencil
from .sweep import Kernel, Stencil, checked, stencil_rate
from .topology import topology
from .trace import Trace
from .wavefront import Wavefront
from .worth import worth_here

#: Products with fewer multiply-adds go straight to NumPy: dividing them costs more than it brings.
_SMALL = 100**3
#: So do those with a side below this: they are bound by memory, and packing would double the traffic.
_THIN = 6
#: Shares of the host's measured rate that emulated workers may ask for, of one core and of all together.
_ONE_CORE, _ALL_CORES = 0.9, 0.8
#: Longer ones look for Ctrl-C.
_LONG = 10**8
_DOUBLE = np.dtype(np.float64)

Progress = Callable[[float], object]


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

    Raises
    ------
    ValueError
        If the host cannot keep up with the emulated platform; the message says what it lacks.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> A = B = np.ones((300, 300))
    >>> with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True) as pool:
    ...     C, trace = pool.matmul(A, B, trace=True)
    >>> C[0, 0], trace.kind
    (np.float64(300.0), 'emulated')
    """

    def __init__(self, workers: int | Platform | None = None, *, emulate: bool = False, time_scale: float = 1.0) -> None:
        self._time_scale = _check.number("time_scale", time_scale, above=0.0)
        if not emulate and self._time_scale != 1.0:
            raise ValueError("time_scale is for emulate=True")
        self._emulate = bool(emulate)
        host = topology()
        self._platform: Platform | None = None
        self._measured: MeasuredPlatform | None = None
        if isinstance(workers, Platform):
            self._platform = workers
            self._size = len(workers)
        else:
            found = recent(host)
            self._size = (
                worth_here(found, host.worth) if workers is None else _check.integer("workers", workers, low=1, high=4096)
            )
            if found is not None and found.cpus == host.places[: self._size]:
                self._measured = found
        if self._emulate:
            if self._platform is None:
                raise ValueError("emulate=True needs a Platform: it says how fast each worker is")
            if all(m is None for m in self._platform.memory):  # else the unit may be the block
                self._require_capacity(self._platform.speeds, _rate(np.dtype(np.float32)), "float32")
        self._cores = None if self._emulate or self._size > len(host.places) else host.places[: self._size]
        self._shares: dict[Any, NDArray[np.float64] | None] = {}  # dtype -> speeds, None where equal
        for kind in _engine.DTYPES:
            if self._platform is not None:
                self._shares[kind] = self._platform.speeds if np.ptp(self._platform.speeds) > 0 else None
            else:
                self._shares[kind] = None if self._measured is None else self._measured.relative(kind)
        # The process and its threads, replaced as one: other threads see both or neither.
        self._own: tuple[int, _engine.Threads] | None = (os.getpid(), _engine.Threads(self._size, self._cores))

    # ---- life ----

    def close(self) -> None:
        """End the threads, after a product that another thread may be running. Closing twice is allowed."""
        self._own = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        kind = f"emulated, time_scale {self._time_scale:g}" if self._emulate else "real"
        return f"<Pool: {self._size} workers, {kind}{', closed' if self._own is None else ''}>"

    def _live(self) -> _engine.Threads:
        own = self._own
        if own is not None and own[0] != os.getpid():  # a forked child has none of its parent's threads
            with _lock:
                own = self._own
                if own is not None and own[0] != os.getpid():
                    own = self._own = (os.getpid(), _engine.Threads(self._size, self._cores))
        if own is None:
            raise ValueError("the pool is closed")
        return own[1]

    @property
    def time_scale(self) -> float:
        """Real seconds per second of an emulated platform."""
        return self._time_scale

    @property
    def platform(self) -> Platform:
        """The platform given, or the workers of this machine, in float64: as `measure` found them, else equal ones with a
        cycle-time measured in a few milliseconds."""
        return self._platform_for(_DOUBLE)

    def _platform_for(self, dtype: np.dtype[Any]) -> Platform:
        if self._platform is not None:
            return self._platform
        if self._measured is not None and dtype.name in self._measured.at_once:
            return self._measured.platform(dtype)
        return _equal_workers(self._size, dtype)

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
            the link costs as weights. "layers": each worker gets columns of A and rows of B, and the m x n layers that come of it
            are summed. "cuboids": boxes of `cuboids`, summed where they lie above each other. "auto": the one with the
            smallest predicted makespan.
        block : int
            Cuts are at multiples of it.
        communication : str
            "once", or "sccs": every worker gets all its operands, then computes; one port serves the workers one after another.
            "pccs": the same, all at the same time. "scss", "pcss": the work on operands starts with their transfer, and does not
            end before it (sequential or parallel communication, consecutive or simultaneous start, in the words of the paper on
            layers). "sequential" and "parallel" are the outer-product algorithm (section 3.1): step by step a pivot column of A
            and a pivot row of B, `block` wide, go to the workers, one after another or at the same time, and each updates its
            zone. A worker that computes does not receive.

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
        m, n = _check.integer("m", m, low=0), _check.integer("n", n, low=0)
        kind = np.dtype(dtype)
        if kind not in _engine.DTYPES:
            raise TypeError(f"dtype {kind} is not one of {', '.join(d.name for d in _engine.DTYPES)}")
        platform = self._platform_for(kind)
        shared = not self._emulate and method == "auto" and communication == "once"
        flops = _engine.flops_per_update(kind)
        if shared:
            if layers := _engine.gemm_boxes((m, n, k), self._size, self._shares[kind]):
                return in_shared_layers(layers, Task((m, n, k), platform, 1, communication, kind.itemsize, flops, True))
            method = "columns" if n >= m else "rows"
        return plan_matmul(
            m,
            n,
            k,
            platform,
            method=method,
            block=block,
            communication=communication,
            itemsize=kind.itemsize,
            flops_per_update=flops,
            shared=shared,
        )

    # ---- running ----

    @overload
    def matmul(
        self, A: ArrayLike, B: ArrayLike, out: Array | None = None, alpha: complex = 1.0, beta: complex = 0.0, *,
        method: str = "auto", block: int = 1, communication: str = "once", trace: Literal[False] = False,
        progress: Progress | None = None,
    ) -> Any: ...  # fmt: skip
    @overload
    def matmul(
        self, A: ArrayLike, B: ArrayLike, out: Array | None = None, alpha: complex = 1.0, beta: complex = 0.0, *,
        method: str = "auto", block: int = 1, communication: str = "once", trace: Literal[True],
        progress: Progress | None = None,
    ) -> tuple[Any, Trace]: ...  # fmt: skip
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
        progress: Progress | None = None,
    ) -> Any:
        """alpha A B + beta out, by the workers of the pool.

        Parameters
        ----------
        A, B : array_like
            float32, float64, complex64 or complex128 with any strides; 1-D and stacked operands as for numpy.matmul. Mixed
            dtypes are promoted.
        out : ndarray, optional
            Where the result goes: its shape and dtype, no memory in common with A or B. After an interrupted call its
            content is undefined.
        alpha, beta : number
            beta needs out; with beta 0 the old content of out does not matter, NaN or not.
        method, block, communication :
            As for `plan`.
        trace : bool
            Also return a Trace; for operands of at most two dimensions.
        progress : callable, optional
            Called with the fraction done, at most 20 times a second.

        Returns
        -------
        ndarray, or (ndarray, Trace) with trace=True
            A scalar for two 1-D operands.

        Raises
        ------
        ValueError, TypeError
            Before anything is changed; the message names the argument.
        KeyboardInterrupt
            Ctrl-C is seen within 0.2 s.
        """
        threads = self._live()
        direct = self._emulate or trace or (method, block, communication) != ("auto", 1, "once")
        if not direct and alpha == 1 and beta == 0 and progress is None and _is_plain(A, B, out):
            return self._multiply_plain(threads, A, B, out)
        x = operands(A, B, out, alpha, beta)
        if trace and x.c.ndim > 2:
            raise ValueError(f"trace is for one product; A and B are stacks of {x.c.shape[:-2]}")
        record = None
        if direct:
            m, n, k = x.sizes
            plan = self.plan(m, n, k, dtype=x.c.dtype, method=method, block=block, communication=communication)
            for a, b, c in x:
                record = self._run(threads, plan, a, b, c, x.alpha, x.beta, progress)
        else:
            self._multiply(threads, x, progress)
        result = x.result if x.result.ndim or out is not None else x.result[()]
        return (result, record) if trace else result

    def run(
        self,
        plan: ProductPlan | Partition | Cuboids | LayersPlan | StarPlan,
        A: ArrayLike,
        B: ArrayLike,
        C: Array | None = None,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        *,
        communication: str = "once",
        order: str = "plan",
        trace: bool = False,
        progress: Progress | None = None,
    ) -> Any:
        """alpha A B + beta C by a given plan: one of `plan` or `plan_product`, a `partition` of C's elements or square blocks,
        `cuboids` of the iterations, or `layers_star`, whose n are the elements or blocks of the inner dimension.

        Parameters and results are those of `matmul`, with C for out; communication is for a partition, with its blocks as steps,
        and for cuboids. Layers have their mode.

        order is for a plan of `plan_product`: "plan" has the master serve the workers in the plan's order, "demand" the one whose
        request is pending longest, decided as it runs. This thread is the master, with one port: it copies blocks into the
        arenas of the workers, which are as large as their memory, and results back. The blocks are the smallest squares of which
        the operands have r, s and t. An emulated platform's cycle-times are in seconds per block update, its link costs in
        seconds per block, and the trace's prediction is the model's for them; at real speed there is none. The trace's peak is
        the most blocks that each worker held.

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
        threads = self._live()
        x = operands(A, B, C, alpha, beta)
        if x.c.ndim > 2:
            raise ValueError(f"A and B must be matrices, got stacks of {x.c.shape[:-2]}")
        if isinstance(plan, StarPlan | ProductPlan | LayersPlan) and communication != "once":
            raise ValueError(f"communication is for a partition, got {communication!r} with a {type(plan).__name__}")
        if isinstance(plan, StarPlan):
            record = self._run_star(threads, plan, x, order, progress, trace)
            return (x.result, record) if trace else x.result
        if order != "plan":
            raise ValueError(f"order is for a plan of plan_product, got {order!r} with a {type(plan).__name__}")
        flops = _engine.flops_per_update(x.c.dtype)
        if isinstance(plan, Partition):
            plan = plan_of_partition(plan, *x.sizes, self.platform, x.c.itemsize, flops, communication)
        elif isinstance(plan, Cuboids | LayersPlan):
            plan = plan_of_boxes(plan, *x.sizes, self.platform, x.c.itemsize, flops, communication)
        elif not isinstance(plan, ProductPlan):
            raise TypeError(f"plan must be a plan of a product, got {type(plan).__name__}")
        if plan.shape != x.sizes:
            raise ValueError(f"plan is for m, n, k = {plan.shape}, A and B have {x.sizes}")
        if len(plan.names) != self._size:
            raise ValueError(f"plan is for {len(plan.names)} workers, the pool has {self._size}")
        record = self._run(threads, plan, x.a, x.b, x.c, x.alpha, x.beta, progress)
        return (x.result, record) if trace else x.result

    def _multiply_plain(self, threads: _engine.Threads, a: Any, b: Any, out: Array | None) -> Array:
        (m, k), n = a.shape, b.shape[1]
        work = m * n * k
        if work <= _SMALL or m < _THIN or n < _THIN:
            product: Array = np.matmul(a, b, out=out)
            return product
        c: Array = np.empty((m, n), a.dtype) if out is None else out
        watched = work > _LONG and threading.current_thread() is threading.main_thread()
        _engine.gemm(threads, a, b, c, 1.0, 0.0, self._shares[a.dtype], _engine.Poll() if watched else None)
        return c

    def _multiply(self, threads: _engine.Threads, x: Operands, progress: Progress | None) -> None:
        m, n, k = x.sizes
        if m * n * k <= _SMALL or min(m, n) < _THIN:
            _by_numpy(x)
            return
        watched = progress is not None or (m * n * k > _LONG and threading.current_thread() is threading.main_thread())
        for a, b, c in x:
            poll = _engine.Poll(progress) if watched else None
            _engine.gemm(threads, a, b, c, x.alpha, x.beta, self._shares[c.dtype], poll)

    def _accumulate(self, a: Array, b: Array, c: Array, alpha: complex, onto: bool, poll: _engine.Poll) -> None:
        """C = alpha A B, or C += alpha A B; whatever the size not by NumPy, whose BLAS has buffers of its own."""
        _engine.gemm(self._live(), a, b, c, alpha, float(onto), self._shares[c.dtype], poll)

    def _run(
        self,
        threads: _engine.Threads,
        plan: ProductPlan,
        a: Array,
        b: Array,
        c: Array,
        alpha: complex,
        beta: complex,
        progress: Progress | None,
    ) -> Trace:
        pace = receive = sum_receive = None
        layers = plan.layers
        if self._emulate:
            self._require_capacity(self.platform.speeds, _rate(c.dtype), str(c.dtype))
            pace = self.platform.cycle_times * self._time_scale / UNIT
            if plan.link_costs.any():
                receive = plan.receive * self._time_scale
                sum_receive = None if layers is None else layers.receive * self._time_scale
        m, n, k = plan.shape
        tiles = plan.shared and layers is None
        result = _engine.run_product(
            threads, a, b, c, alpha, beta,
            workers=self._size, boxes=[(0, 0, 0, 0, m, n, k)] if tiles else plan.boxes.tolist(),
            cooperative=plan.shared, speeds=self._shares[c.dtype] if plan.shared else None, pace=pace, receive=receive,
            layered=layers is not None, sum_rows=None if layers is None or plan.shared else layers.rows, sum_receive=sum_receive,
            overlap=COMMUNICATION[plan.communication][2],
            poll=_engine.Poll(progress), event_capacity=1000 + 200 * self._size + 4 * len(plan.boxes),
        )  # fmt: skip
        labels = ["shared tiles"] if tiles else [*plan.box_labels, "sum"]
        steps = [
            (worker, kind, start, end, labels[box] if kind == "compute" else plan.transfer_label(box, worker))
            for worker, kind, start, end, box in result.events
        ]
        trace = Trace.from_steps(
            steps,
            plan.names,
            kind="emulated" if self._emulate else "real",
            speeds=(1.0 / plan.cycle_times).tolist(),
            predicted=plan.makespan * self._time_scale,
            ideal=plan.lower_bound * self._time_scale,
            cpu=result.busy,
            predicted_finish=[t * self._time_scale for t in simulate(plan).finish],
        )
        if self._emulate:
            _warn_if_late(result.late, plan.names, plan.makespan * self._time_scale, 4)
        return trace

    def _run_star(
        self, threads: _engine.Threads, plan: StarPlan, x: Operands, order: str, progress: Progress | None, record: bool
    ) -> Trace | None:
        if len(plan.names) != self._size:
            raise ValueError(f"plan is for {len(plan.names)} workers, the pool has {self._size}")
        times = costs = None
        memory: tuple[int | None, ...] = (None,) * self._size
        if self._emulate:
            times, costs = (t * self._time_scale for t in (self.platform.cycle_times, self.platform.link_costs))
            memory = self.platform.memory
        run = star_run.checked(plan, x, order, times, costs, memory)
        if self._emulate:
            flops, rate, carried, copied = run.rates()
            self._require_capacity(flops * self._time_scale / UNIT, rate, f"panels of this plan, {x.c.dtype}")
            self._require_links(carried, copied)
        result = run.run(threads, progress)
        if self._emulate:
            makespan = float(run.simulated["end"].max())
            _warn_if_late([*result.late, result.port_late], plan.names, makespan, 4)
        return run.trace(result, "emulated" if self._emulate else "real") if record else None

    def sweep(
        self,
        plan: Wavefront,
        image: ArrayLike,
        kernel: Stencil | Kernel,
        out: Array | None = None,
        *,
        flops: float | None = None,
        trace: bool = False,
        progress: Progress | None = None,
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
            Where the result goes: of the image's shape and dtype. Give the image itself to sweep it in place. After an
            interrupted call its content is undefined.
        flops : float, optional
            Of the kernel for one element, which says how long an emulated worker takes. Default: those of the Stencil, else 1.
        trace : bool
            Also return a Trace, with one event for each tile.
        progress : callable, optional
            Called with the fraction done, at most 20 times a second.

        Returns
        -------
        ndarray, or (ndarray, Trace) with trace=True
            With a Stencil the same bits as from a sequential sweep: row by row, or column by column where "SW" is in the
            plan's mask. The trace's prediction is for the pool's cycle-times; on real cores for the Stencil's measured rate.

        Raises
        ------
        ValueError, TypeError
            Before anything is changed; the message names the argument. What the kernel raises is raised again.
        KeyboardInterrupt
            Ctrl-C is seen between tiles, within 0.2 s and one tile.

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
        threads = self._live()
        x = checked(plan, image, kernel, flops, self._size)
        rate = None
        if isinstance(kernel, Stencil):
            rate = stencil_rate(x.image.dtype, kernel.rule, kernel.used.tobytes()) * x.flops / kernel.flops
        times = pace = None
        if self._emulate:
            if rate is not None:
                self._require_capacity(self.platform.speeds, rate, f"this stencil, {x.image.dtype}")
            times = pace = self.platform.cycle_times * (self._time_scale / UNIT)
        elif rate is not None:
            times = 1.0 / (rate * relative_speeds(self.platform.cycle_times))
        array = x.target(out)
        result = x.run(threads, array, pace, progress, trace)
        if self._emulate:
            _warn_if_late(result.late, plan.names, max(result.finish), 3)
        if not trace:
            return array
        kind = "emulated" if self._emulate else "real"
        return array, x.trace(result, times, 1.0 / self.platform.cycle_times, kind)

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
        kind = np.dtype(dtype)
        if kind not in stencil.DTYPES:
            raise TypeError(f"dtype must be float32 or float64, got {kind}")
        rows, cols = _check.integer("rows", rows, low=1), _check.integer("cols", cols, low=1)
        return plan_stencil(rows, cols, steps, self._ring_members(rows, cols, kind), kind.itemsize, ring)

    def _ring_members(self, rows: int, cols: int, dtype: np.dtype[Any]) -> stencil.Members:
        names = names_of(self._platform, self._size)
        none = np.broadcast_to(np.float64(0.0), (self._size, self._size))
        if self._platform is None:
            rate = stencil.update_rate(dtype, rows, -(-cols // self._size))
            return stencil.Members(np.full(self._size, UNIT / rate), none, names)
        links = self._platform.links
        if self._emulate and links is None and self._platform.link_costs.any():
            raise ValueError(
                "the platform is a star whose links have costs: a ring needs a link between every two workers (Platform.complete)"
            )
        return stencil.Members(self._platform.cycle_times, none if links is None or not self._emulate else links, names)

    def stencil(
        self,
        U: ArrayLike,
        steps: int,
        *,
        weight: float = 0.25,
        plan: StencilPlan | SliceRing | None = None,
        out: Array | None = None,
        trace: bool = False,
        progress: Progress | None = None,
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
        trace : bool
            Also return a Trace of the steps, without the copies at both ends.
        progress : callable, optional
            Called with the fraction done, at most 20 times a second.

        Returns
        -------
        ndarray, or (ndarray, Trace) with trace=True
            The bits do not depend on plan and workers: they are those of the expression above in NumPy.

        Raises
        ------
        ValueError, TypeError
            Before anything is changed; the message names the argument.
        KeyboardInterrupt
            Ctrl-C is seen within 0.2 s, but for the copies.

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
        threads = self._live()
        matrix = stencil.checked_matrix(U)
        factor = stencil.checked_weight(weight, matrix.dtype)
        target = stencil.target_of(matrix, out)
        rows, cols = matrix.shape
        members = self._ring_members(rows, cols, matrix.dtype)
        if plan is None or isinstance(plan, SliceRing):
            own = plan_stencil(rows, cols, steps, members, matrix.itemsize, plan)
        else:
            own = stencil.checked_plan(plan, matrix, steps, members)
        if self._emulate and own.makespan:
            rate = stencil.update_rate(matrix.dtype, rows, -(-cols // len(own.ring)))
            wanted = np.where(own.counts > 0, self.platform.speeds, 0.0)
            self._require_capacity(wanted, rate, f"this stencil, {matrix.dtype}")
        run = stencil.StencilRun(own, matrix, factor)
        result = run.run(threads, target, self._time_scale if self._emulate else None, progress, trace)
        if self._emulate:
            _warn_if_late(result.late, own.names, own.makespan * self._time_scale, 3)
        if not trace:
            return target
        return target, run.trace(result, self._time_scale, "emulated" if self._emulate else "real")

    def _require_links(self, wanted: NDArray[np.float64], copied: float) -> None:
        """Refuse links, in bytes per second, that are faster than this host copies."""
        excess = float(wanted.max()) / (_ONE_CORE * copied)
        if excess > 1.0:
            raise ValueError(
                f"platform's links are too fast for this host: they carry up to {wanted.max() / UNIT:.4g} GB/s, the host can "
                f"emulate {_ONE_CORE * copied / UNIT:.4g}; {self._sufficient(excess)}"
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
    ) -> LuPlan:
        """The plan that `lu_factor` follows for an m x n matrix; see `plan_lu`, the function, which takes any platform.

        The links of the pool's platform count where it is emulated: real workers share their memory.
        """
        kind = np.dtype(dtype)
        if link_costs is None and not self._emulate:
            link_costs = 0.0
        platform = self._platform_for(kind if kind in _engine.DTYPES else _DOUBLE)
        return plan_lu(
            m,
            n,
            platform,
            owner=owner,
            block=block,
            dtype=kind,
            panel_times=panel_times,
            link_costs=link_costs,
            look_ahead=look_ahead,
        )

    def lu_factor(
        self,
        A: ArrayLike,
        overwrite_a: bool = False,
        check_finite: bool = True,
        *,
        owner: Owner | LuPlan | None = None,
        block: int | None = None,
        trace: bool = False,
        progress: Progress | None = None,
    ) -> Any:
        """LU factorisation with partial pivoting by the workers of the pool: P A = L U, as scipy.linalg.lu_factor has it.

        Parameters
        ----------
        A : (m, n) array_like
            float32, float64, complex64 or complex128 with any strides; integers become float64.
        overwrite_a : bool
            Put the result into A where that is possible: an array of these dtypes whose columns lie side by side.
        check_finite : bool
            Look for infinities and NaN first.
        owner : optional
            The worker of each block of columns: a method of `lu_pattern`, its result, or an array. Default: "pattern", with equal
            workers "cyclic". On real cores a worker that would wait takes tasks over; emulated ones never do. Or a plan of
            `plan_lu`, with all that it says: an emulated run paces its panels and messages too.
        block : int, optional
            Columns of a block. Default: such that the owners given have one each, else by the size of the matrix.
        trace : bool
            Also return a Trace, with the prediction of `plan_lu`.
        progress : callable, optional
            Called with the fraction done, at most 20 times a second.

        Returns
        -------
        (lu, piv), or ((lu, piv), Trace) with trace=True
            lu: (m, n) array by columns, U and below its diagonal L without its ones. piv: (min(m, n),) int32 array, row i was
            exchanged with row piv[i], one after the other.

        Raises
        ------
        ValueError, TypeError
            Before anything is changed.
        KeyboardInterrupt
            Ctrl-C is seen within 0.2 s. With overwrite_a the content of A is then undefined.

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
        return self._lu_factor(A, overwrite_a, check_finite, owner, block, trace, progress, 4)

    def _lu_factor(
        self,
        A: ArrayLike,
        overwrite_a: bool,
        check_finite: bool,
        owner: Owner | LuPlan | None,
        block: int | None,
        trace: bool,
        progress: Progress | None,
        depth: int,
    ) -> Any:
        threads = self._live()
        x = Factors.of(A, overwrite_a, check_finite)
        (m, n), dtype = x.lu.shape, x.lu.dtype
        plan = None
        if isinstance(owner, LuPlan):
            plan = self._checked_lu(owner, m, n, dtype, block)
        elif self._emulate or trace or owner is not None or self._shares[dtype] is not None:
            if owner is None:
                owner = "cyclic" if self._shares[dtype] is None and not self._emulate else "pattern"
            plan = self.plan_lu(m, n, owner=owner, block=block, dtype=dtype)
        elif block is not None:
            plan = self.plan_lu(m, n, owner="cyclic", block=block, dtype=dtype)
        if self._emulate:
            self._require_capacity(self.platform.speeds, _rate(dtype), str(dtype))
        events = len(plan.tasks) + len(plan.messages) if plan is not None and trace else 0
        singular, result = x.run(threads, self._size, plan, self._time_scale if self._emulate else None, progress, events)
        if singular >= 0:
            warn_singular(singular, depth)
        if self._emulate and plan is not None:
            _warn_if_late(result.late, plan.names, plan.makespan * self._time_scale, depth)
        if not trace or plan is None:
            return x.lu, x.piv
        return (x.lu, x.piv), trace_of(plan, result, self._emulate, self._time_scale)

    def _checked_lu(self, plan: LuPlan, m: int, n: int, dtype: np.dtype[Any], block: int | None) -> LuPlan:
        """The plan, if it is for this matrix and these workers."""
        if plan.shape != (m, n) or plan.dtype != dtype.name:
            raise ValueError(f"owner is a plan for {plan.shape} {plan.dtype}, A is {(m, n)} {dtype.name}")
        if block is not None and block != plan.block:
            raise ValueError(f"block must be the plan's, {plan.block}, or be left out, got {block!r}")
        if len(plan.names) != self._size:
            raise ValueError(f"owner is a plan for {len(plan.names)} workers, the pool has {self._size}")
        if self._emulate and not np.array_equal(plan.cycle_times, self.platform.cycle_times):
            raise ValueError(f"owner is a plan for cycle-times {plan.cycle_times}, the pool has {self.platform.cycle_times}")
        return plan

    def map_tasks(
        self,
        function: Callable[[Any], Any],
        tasks: Iterable[Any],
        *,
        order: str = "plan",
        cycle_times: ArrayLike | None = None,
        send: float = 0.0,
        start_method: str | None = None,
        progress: bool | Progress = False,
        trace: bool = False,
    ) -> Any:
        """`hs.map_tasks` with a process for each worker of this pool, its platform's names and relative speeds.

        The threads of the pool have no part in it: a Python function needs processes to use several cores.
        """
        from .farm import map_tasks

        if self._emulate:
            raise ValueError("tasks in Python run at the speed of this machine: use a Pool without emulate=True")
        options: dict[str, Any] = dict(
            order=order, cycle_times=cycle_times, send=send, start_method=start_method, progress=progress, trace=trace
        )
        return map_tasks(function, tasks, self._platform if cycle_times is None and self._platform else self._size, **options)

    def _require_capacity(self, speeds: NDArray[np.float64], rate: float, what: str) -> None:
        """Refuse workers, in gigaflops per second of the platform, that this host, with so many flops per second on a core,
        cannot emulate."""
        wanted = speeds / self._time_scale
        one = rate / UNIT
        host = topology()
        cores = min(float(host.worth), math.inf if host.quota is None else host.quota)
        excess = max(float(wanted.max()) / (_ONE_CORE * one), float(wanted.sum()) / (_ALL_CORES * one * cores))
        if excess > 1.0:
            raise ValueError(
                f"platform is too fast for this host: its workers do {wanted.sum():.4g} GFLOP/s together and up to "
                f"{wanted.max():.4g} alone, the host can emulate {_ALL_CORES * one * cores:.4g} and {_ONE_CORE * one:.4g} "
                f"({what}, {cores:g} core{'s' * (cores != 1)}); {self._sufficient(excess)}"
            )

    def _sufficient(self, excess: float) -> str:
        return f"time_scale={float(f'{1.1 * excess * self._time_scale:.2g}'):g} would do"


def _is_plain(A: Any, B: Any, out: Any) -> bool:
    """Whether the operands are the usual ones: contiguous matrices of one supported dtype, out apart from them. Everything
    else takes the general way, which also finds the words for what is wrong."""
    if type(A) is not np.ndarray or type(B) is not np.ndarray or A.ndim != 2 or B.ndim != 2:
        return False
    dtype = A.dtype
    if dtype is not B.dtype or dtype not in _engine.DTYPES or A.shape[1] != B.shape[0]:
        return False
    if not ((A.flags.forc and A.flags.aligned) and (B.flags.forc and B.flags.aligned)):
        return False
    if out is None:
        return True
    return (
        type(out) is np.ndarray
        and out.dtype is dtype
        and out.shape == (A.shape[0], B.shape[1])
        and out.flags.carray
        and not np.may_share_memory(out, A)
        and not np.may_share_memory(out, B)
    )


def _warn_if_late(late: list[float], names: tuple[str, ...], makespan: float, depth: int) -> None:
    """Say on whose account an emulated run took longer than it should have: the workers', then the port's if there is one; depth:
    of the calls from the user's."""
    if max(late) > max(0.01 * makespan, 0.005):
        i = int(np.argmax(late))
        who = f"worker {names[i]}" if i < len(names) else "the master's port"
        warnings.warn(
            f"the host could not keep up: {who} was {max(late):.3g} s late; use a larger time_scale",
            EmulationWarning,
            stacklevel=depth,
        )


def _by_numpy(x: Operands) -> None:
    if x.alpha == 1 and x.beta == 0:
        np.matmul(x.a, x.b, out=x.c)
        return
    product: Array = np.matmul(x.a, x.b)
    product *= x.c.dtype.type(x.alpha)
    if x.beta != 0:
        product += x.c.dtype.type(x.beta) * x.c
    x.c[...] = product


@cache
def _rate(dtype: np.dtype[Any]) -> float:
    """Flops per second of one core, measured once per process."""
    return rate(dtype)


@cache
def _equal_workers(p: int, dtype: np.dtype[Any]) -> Platform:
    return Platform.star([UNIT / _rate(dtype)] * p)


_lock = threading.Lock()  # for what a forked child replaces


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
