"""Sweeps over a matrix by a wavefront, on the threads of a pool."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._engine import allocate
from .._engine import run as engine
from .._engine.run import seconds
from ..planners.wavefront import Wavefront, tile_label, wavefront
from ..platform import UNIT, divided_time, relative_speeds
from ..trace import Trace
from .operands import Array, as_array, element_strides, writable
from .recurrence import Kernel, Stencil

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .._base.progress import Progress
    from .workers import Resources, Workers

_PARTS = 4  # for each worker, parts of a tile in each direction
_LOW, _NARROW = 16, 64  # rows and columns of a part, at least


def run(
    resources: Resources,
    plan: Wavefront,
    image: ArrayLike,
    kernel: Stencil | Kernel,
    out: Array | None,
    flops: float | None,
    trace: bool,
    progress: Progress | None,
) -> Any:
    """Implement `Pool.sweep`."""
    threads, workers = resources
    x, how, work = _checked(workers, plan, image, kernel, flops)
    rate = None
    if isinstance(kernel, Stencil):
        rate = stencil_rate(x.dtype, kernel.rule, kernel.used.tobytes()) * work / kernel.flops
    times = pace = None  # seconds per flop
    if workers.emulated:
        if rate is not None:
            workers.require_capacity(workers.in_gigaflops.speeds, rate, f"this stencil, {x.dtype}")
        times = workers.in_gigaflops.cycle_times * (workers.time_scale / UNIT)
        pace = times * work
    elif rate is not None:
        times = 1.0 / (rate * relative_speeds(workers.in_gigaflops.cycle_times))
    array = _target(x, out)
    rows, cols = plan.shape
    result = engine.run_wavefront(
        threads,
        array,
        how,
        workers=len(workers),
        shape=plan.shape,
        axis=plan.axis,
        owner=plan.owner,
        reach=plan.reach,
        order=plan.order,
        pace=pace,
        poll=engine.Poll(progress),
        event_capacity=rows * cols if trace else 0,
    )
    workers.warn_if_late(result.late, plan.names, max(result.finish))
    if not trace:
        return array
    finish = ideal = None
    if times is not None:
        finish = _finish(plan, times * (work * x.size / (rows * cols))).tolist()
        ideal = divided_time(work * x.size, times)
    return array, Trace.from_steps(
        (
            (worker, event, start, end, tile_label(tile, cols))
            for worker, event, start, end, tile in result.events
        ),
        plan.names,
        kind=workers.kind,
        speeds=relative_speeds(workers.in_gigaflops.cycle_times).tolist(),
        predicted=None if finish is None else max(finish),
        ideal=ideal,
        cpu=result.busy,
        predicted_finish=finish,
    )


def _target(image: Array, out: Array | None) -> Array:
    """A copy of the image, in `out` if it is given. The sweep changes it in place."""
    if out is None:
        return image.copy() if element_strides(image) else np.array(image)
    writable(out, image.shape, image.dtype, "the image")
    if out is not image:
        out[...] = image
    return out


def _finish(plan: Wavefront, per_tile: NDArray[np.float64]) -> NDArray[np.float64]:
    """(p,) predicted end of each worker."""
    _, end = allocate.wavefront_times(
        plan.shape[1 - plan.axis], plan.owner, per_tile, plan.reach, plan.order
    )
    finish = np.zeros(len(per_tile))
    np.maximum.at(finish, plan.owner, end[-1])
    return finish


def _checked(
    workers: Workers,
    plan: Wavefront,
    image: ArrayLike,
    kernel: Stencil | Kernel,
    flops: float | None,
) -> tuple[Array, Any, float]:
    """The image, the kernel in the engine's form, and the kernel's flops for one element."""
    if not isinstance(plan, Wavefront):
        raise TypeError(f"plan must be a plan of wavefront(), got {type(plan).__name__}")
    workers.require_as_many(plan.names)
    array = as_array("image", image)
    if array.ndim != 2:
        raise ValueError(f"image must be a matrix, got {array.ndim} dimensions")
    require_tiles(plan, array.shape)
    rows, cols = plan.shape
    if rows * cols >= 2**31:
        raise ValueError(f"plan has {rows} x {cols} tiles, a sweep can have at most 2**31 - 1")
    how: Any = kernel
    if isinstance(kernel, Stencil):
        require_stencil(plan, kernel, array.shape, array.dtype)
        how = kernel.weights, kernel.rule
    elif not callable(kernel):
        how = _addresses(kernel)
    if flops is None:
        return array, how, kernel.flops if isinstance(kernel, Stencil) else 1.0
    return array, how, check.number("flops", flops, above=0.0)


def require_tiles(plan: Wavefront, shape: tuple[int, ...], what: str = "image") -> None:
    """Raise ValueError unless there is an element for each tile."""
    (m, n), (rows, cols) = shape, plan.shape
    if rows > m or cols > n:
        raise ValueError(f"plan has {rows} x {cols} tiles, the {what} only {m} x {n} elements")


def require_stencil(
    plan: Wavefront, stencil: Stencil, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    """Raise an error unless the order of the plan's tiles is right for a Stencil."""
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"image has dtype {dtype}; a Stencil takes float32 and float64")
    if "NE" not in stencil.mask:
        return
    if not plan.reach:
        raise ValueError(
            f"plan has the mask {plan.mask}, the kernel also needs {'SW' if plan.axis else 'NE'}"
        )
    lines, what = (shape[1], "columns") if plan.axis else (shape[0], "rows")
    if len(plan.owner) != lines:
        raise ValueError(
            f"plan deals {len(plan.owner)} {what} of tiles; a kernel with {stencil.mask} needs all"
            f" {lines} {what} one by one"
        )


def _addresses(kernel: Any) -> tuple[int, int]:
    # Only a pair of integers is taken for addresses, because the function is called.
    pair = isinstance(kernel, tuple) and len(kernel) == 2
    if not pair or not all(
        isinstance(x, int | np.integer) and not isinstance(x, bool) for x in kernel
    ):
        raise TypeError(f"kernel must be a Stencil, a callable, or two addresses, got {kernel!r}")
    function, context = kernel
    most = 2**64 - 1
    return check.integer("kernel[0]", function, low=1, high=most), check.integer(
        "kernel[1]", context, low=0, high=most
    )


def update(
    resources: Resources,
    array: Array,
    stencil: Stencil,
    box: tuple[int, int, int, int],
    poll: engine.Poll,
) -> None:
    """Update a part of a matrix in place: row, column, height and width.

    All workers share it unless it is small or its elements wait for a neighbour at a corner: then
    the calling thread updates it, without a poll.
    """
    threads, workers = resources
    p, (_, _, height, width) = len(workers), box
    rows, cols = min(_PARTS * p, height // _LOW), min(_PARTS * p, width // _NARROW)
    if p == 1 or min(rows, cols) < 2 or "NE" in stencil.mask:
        engine.sweep_once(array, stencil.weights, stencil.rule, box)
        return
    speeds = workers.shares[array.dtype]
    plan = _divided(rows, cols, p, None if speeds is None else tuple(speeds.tolist()))
    engine.run_wavefront(
        threads,
        array,
        (stencil.weights, stencil.rule),
        workers=p,
        shape=plan.shape,
        axis=plan.axis,
        owner=plan.owner,
        reach=plan.reach,
        order=plan.order,
        pace=None,
        poll=poll,
        event_capacity=0,
        box=box,
    )


@lru_cache(maxsize=64)
def _divided(rows: int, cols: int, p: int, speeds: tuple[float, ...] | None) -> Wavefront:
    return wavefront(rows, cols, speeds=speeds or (1.0,) * p)


@cache
def stencil_rate(dtype: np.dtype[Any], rule: str, used: bytes) -> float:
    """Flops per second of one core with a stencil of these neighbours.

    Measured once per process in a few milliseconds.
    """
    n = 200
    taps = np.frombuffer(used, bool).reshape(3, 3)
    stencil = Stencil(np.where(taps, 0.125, 0.0 if rule == "sum" else np.inf), rule)
    image = np.ones((n, n), dtype)
    return stencil.flops * n * n / seconds(lambda: engine.sweep_once(image, stencil.weights, rule))
