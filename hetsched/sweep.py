"""Recurrences over a matrix: what is computed for each element, and what a sweep by a plan needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check, _engine
from .operands import Array, element_strides, writable
from .trace import Trace
from .wavefront import ORDERS, Wavefront, tile_label

RULES = ("sum", "min")

#: In Python: called with the array and row, column, height, width of a tile. In C: an hs_tile_function and its context.
Kernel = Callable[[Array, int, int, int, int], object] | tuple[int, int]


@dataclass(frozen=True, eq=False)
class Stencil:
    """An update of each element from its 3 x 3 neighbourhood, in place, row by row.

    Neighbours outside the matrix do not count. Those above and to the left have their new values, the others the old ones.

    Parameters
    ----------
    weights : (3, 3) array_like
        Of the neighbours, the element itself in the middle; 0 for "sum" and infinity for "min" mean: not used.
    rule : {"sum", "min"}
        "sum": the sum of weight * element, as in Gauss-Seidel's method. "min": the least element + weight, as in distance
        transforms and path planning.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.Stencil([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).mask
    ('W', 'N')
    """

    weights: NDArray[np.float64]
    rule: str = "sum"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}")
        weights = _check.reals(f"weights must be real numbers, got {self.weights!r}", self.weights)
        if weights.shape != (3, 3):
            raise ValueError(f"weights must have shape (3, 3), got {weights.shape}")
        if not (np.isfinite(weights) | (weights == self._unused)).all():
            raise ValueError(f"weights must be finite{', or infinite for none' * (self.rule == 'min')}, got {weights.tolist()}")
        if (weights == self._unused).all():
            raise ValueError("weights use no neighbour")
        object.__setattr__(self, "weights", _check.frozen(np.ascontiguousarray(weights)))

    @property
    def _unused(self) -> float:
        return 0.0 if self.rule == "sum" else np.inf

    @property
    def used(self) -> NDArray[np.bool_]:
        """(3, 3) which neighbours count."""
        return np.asarray(self.weights != self._unused)

    @property
    def flops(self) -> float:
        """Of one update: two for each neighbour used."""
        return 2.0 * int(self.used.sum())

    @property
    def mask(self) -> tuple[str, ...]:
        """What an element waits for, for `wavefront`; with "NE" rows must be dealt (axis=0)."""
        used = self.used
        corners = {"NW": used[0, 0], "NE": used[0, 2] or used[2, 0]}
        return ("W", "N", *(name for name, counts in corners.items() if counts))


@dataclass(frozen=True)
class Sweep:
    """Checked arguments of `Pool.sweep`; flops of an element."""

    plan: Wavefront
    image: Array
    kernel: Stencil | Kernel
    flops: float

    def target(self, out: Array | None) -> Array:
        """A copy of the image, to be swept in place."""
        if out is None:
            return self.image.copy() if element_strides(self.image) else np.array(self.image)
        writable(out, self.image.shape, self.image.dtype, "the image")
        if out is not self.image:
            out[...] = self.image
        return out

    def run(
        self, threads: _engine.Threads, array: Array, pace: NDArray[np.float64] | None, progress: Any, record: bool
    ) -> _engine.RunResult:
        """Sweep the array; pace in seconds per flop."""
        plan, kernel = self.plan, self.kernel
        return _engine.run_wavefront(
            threads, array, (kernel.weights, RULES.index(kernel.rule)) if isinstance(kernel, Stencil) else kernel,
            workers=len(plan.names), shape=plan.shape, axis=plan.axis, owner=plan.owner, reach=plan.reach,
            order=ORDERS.index(plan.order), pace=None if pace is None else pace * self.flops, poll=_engine.Poll(progress),
            event_capacity=plan.shape[0] * plan.shape[1] if record else 0,
        )  # fmt: skip

    def predicted_finish(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) when each worker should end, with times in seconds per flop."""
        plan = self.plan
        per_tile = times * (self.flops * self.image.size / (plan.shape[0] * plan.shape[1]))
        _, end = _engine.wavefront_times(plan.shape[1 - plan.axis], plan.owner, per_tile, plan.reach, ORDERS.index(plan.order))
        finish = np.zeros(len(times))
        np.maximum.at(finish, plan.owner, end[-1])
        return finish

    def trace(
        self, result: _engine.RunResult, times: NDArray[np.float64] | None, speeds: NDArray[np.float64], kind: str
    ) -> Trace:
        """What was recorded, with the prediction for times in seconds per flop."""
        plan = self.plan
        finish = None if times is None else self.predicted_finish(times).tolist()
        return Trace.from_steps(
            ((worker, event, start, end, tile_label(tile, plan.shape[1])) for worker, event, start, end, tile in result.events),
            plan.names,
            kind=kind,
            speeds=speeds.tolist(),
            predicted=None if finish is None else max(finish),
            ideal=None if times is None else float(self.flops * self.image.size / (1.0 / times).sum()),
            cpu=result.busy,
            predicted_finish=finish,
        )


def checked(plan: Wavefront, image: ArrayLike, kernel: Stencil | Kernel, flops: float | None, workers: int) -> Sweep:
    """The arguments of `Pool.sweep`, for a pool of so many workers."""
    if not isinstance(plan, Wavefront):
        raise TypeError(f"plan must be a plan of wavefront(), got {type(plan).__name__}")
    if len(plan.names) != workers:
        raise ValueError(f"plan is for {len(plan.names)} workers, the pool has {workers}")
    array = np.asarray(image)
    if array.ndim != 2:
        raise ValueError(f"image must be a matrix, got {array.ndim} dimensions")
    (m, n), (rows, cols) = array.shape, plan.shape
    if rows > m or cols > n:
        raise ValueError(f"plan has {rows} x {cols} tiles, the image only {m} x {n} elements")
    if rows * cols >= 2**31:
        raise ValueError(f"plan has {rows} x {cols} tiles, a sweep can have at most 2**31 - 1")
    if isinstance(kernel, Stencil):
        _check_stencil(plan, array, kernel)
    elif not callable(kernel):
        kernel = _addresses(kernel)
    work = kernel.flops if isinstance(kernel, Stencil) else 1.0
    return Sweep(plan, array, kernel, work if flops is None else _check.number("flops", flops, above=0.0))


def _check_stencil(plan: Wavefront, image: Array, stencil: Stencil) -> None:
    if image.dtype not in (np.float32, np.float64):
        raise TypeError(f"image has dtype {image.dtype}; a Stencil takes float32 and float64")
    if "NE" not in stencil.mask:
        return
    if not plan.reach:
        raise ValueError(f"plan has the mask {plan.mask}, the kernel also needs {'SW' if plan.axis else 'NE'}")
    lines, what = (image.shape[1], "columns") if plan.axis else (image.shape[0], "rows")
    if len(plan.owner) != lines:
        raise ValueError(
            f"plan deals {len(plan.owner)} {what} of tiles; a kernel with {stencil.mask} needs all {lines} {what} one by one"
        )


def _addresses(kernel: Any) -> tuple[int, int]:
    try:
        function, context = kernel
    except (TypeError, ValueError):
        raise TypeError(f"kernel must be a Stencil, a callable, or two addresses, got {kernel!r}") from None
    most = 2**64 - 1
    return _check.integer("kernel[0]", function, low=1, high=most), _check.integer("kernel[1]", context, low=0, high=most)


@cache
def stencil_rate(dtype: np.dtype[Any], rule: str, used: bytes) -> float:
    """Flops per second of one core with a stencil of those neighbours, measured once per process in a few milliseconds."""
    n = 200
    taps = np.frombuffer(used, bool).reshape(3, 3)
    stencil = Stencil(np.where(taps, 0.125, 0.0 if rule == "sum" else np.inf), rule)
    image = np.ones((n, n), dtype)
    return stencil.flops * n * n / _engine.seconds(lambda: _engine.sweep_once(image, stencil.weights, RULES.index(rule)))
