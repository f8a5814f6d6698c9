"""Three-dimensional partition: boxes of given volumes that tile the iterations of a product."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.later import Lazy, later
from .._engine import partition as engine
from ..errors import InfeasibleError
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose
from .floorplan import require_kind, require_times

METHODS = ("best", "guillotine", "interval", "layers", "rectangles")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Cuboids(Lazy, Plan):
    """Boxes that tile the unit cube, or the m x n x k iterations of C (m x n) = A (m x k) B (k x
    n).

    Attributes
    ----------
    boxes : (p, 6) array
        row, col, depth, height, width, length of each worker's box: float64 in the unit cube, int64
        for a shape. All zero for a worker that gets nothing.
    cost : float
        Sum of alpha * height * length + beta * length * width + gamma * height * width over the
        boxes.
    weights : (float, float, float)
        alpha, beta, gamma.
    volumes : (p,) float64 array
        The volumes asked for, scaled to sum 1.
    shape : (int, int, int) or None
        m, n, k; None for the unit cube.
    cycle_times : (p,) float64 array
        Time per iteration (or for the whole cube): the platform's, or 1 / volume.
    """

    boxes: NDArray[np.float64] | NDArray[np.int64]
    cost: float
    weights: tuple[float, float, float]
    volumes: NDArray[np.float64]
    shape: tuple[int, int, int] | None
    cycle_times: NDArray[np.float64]

    _given: ClassVar = "volumes"
    _value: ClassVar[str] = "cost"
    _scale: ClassVar[str] = "alpha, beta and gamma"
    _table: ClassVar = {
        "boxes": schema.Array(("f8", "i8"), "p", 6),
        "cost": schema.Real(),
        "weights": schema.Tuple(schema.Real(), 3),
        "volumes": schema.Array("f8", "p", high=1.0),
        "shape": schema.Maybe(schema.Sizes("m", "n", "k", low=1)),
        "cycle_times": schema.CYCLE_TIMES,
    }

    def _check(self) -> None:
        require_kind("boxes", self.boxes, self.shape)
        schema.require_inside(
            "boxes", self.boxes, self.shape or (1, 1, 1), 0.0 if self.shape else 1e-9
        )
        solid = (self.boxes[:, 3:] > 0).all(axis=1)
        if not solid.any():
            raise ValueError("boxes must not all be empty")
        if (bad := (self.volumes == 0) & solid).any():
            raise ValueError(
                f"boxes[{int(np.argmax(bad))}] must be empty: the worker has no volume"
            )
        schema.require_close("sum of volumes", math.fsum(self.volumes.tolist()), 1.0)
        if (times := self.__dict__.get("cycle_times")) is not None:
            require_times("volumes", self.volumes * math.prod(self.shape or (1,)), times)

    @cached_property
    def actual_volumes(self) -> NDArray[np.float64]:
        """(p,) volumes of the boxes, as fractions of the whole."""
        sides: NDArray[np.float64] = self.boxes[:, 3:] / np.array(
            self.shape or (1, 1, 1), np.float64
        )
        return check.frozen(sides.prod(axis=1))

    @property
    def imbalance(self) -> float:
        """Largest ratio of actual volume to asked volume: 1.0 is perfect balance.

        Integer cuts cost a little.
        """
        given = self.volumes > 0
        return float((self.actual_volumes[given] / self.volumes[given]).max())

    def _on(self, platform: Platform) -> Plan:
        return replace(self, **self._workers(platform))

    def _load(self) -> Any:
        """Iterations, or volumes in the unit cube."""
        # a load may have more iterations than an int64 can count
        large = self.shape is not None and math.prod(self.shape) >= 2**63
        return self.boxes[:, 3:].prod(axis=1, dtype=np.float64 if large else None)

    def _steps(self, finish: Finish) -> list[Step]:
        cells = math.prod(self.shape or (1,))
        steps = []
        for i, (_, _, _, height, width, length) in enumerate(self.boxes.tolist()):
            volume, time = float(self.actual_volumes[i]), float(self.cycle_times[i])
            if volume > 0:  # an overflowing time is 1 / volume of a sliver
                duration = (
                    volume * cells * time
                    if math.isfinite(time)
                    else cells * volume / float(self.volumes[i])
                )
                steps.append(
                    Step(
                        i,
                        "compute",
                        0.0,
                        finish(i, 0.0, duration),
                        f"{height:.4g} x {width:.4g} x {length:.4g}",
                    )
                )
        return steps


def cuboids(
    volumes: Platform | ArrayLike | None = None,
    gamma: float = 1.0,
    *,
    cycle_times: Platform | ArrayLike | None = None,
    speeds: ArrayLike | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    method: str = "best",
    shape: tuple[int, int, int] | None = None,
    seed: int = 0,
    orders: int | None = None,
) -> Cuboids:
    """Tile the iterations of a product C = A B with one box per worker, of given volumes and small
    faces.

    A worker with a box of height x width x length (rows and columns of C, inner dimension) needs a
    height x length part of A and a length x width part of B, and computes its height x width part
    of C. The cost is the weighted sum of these faces. Rectangles of C (no cut across the inner
    dimension) and layers (only such cuts) are special cases.

    Parameters
    ----------
    volumes : (p,) array_like or Platform
        Relative volumes, >= 0, at least one positive; for a Platform, the speeds. A plain list
        means volumes.
    gamma : float
        Cost of a unit of C, >= 0, relative to a unit of A and B: 1 if partial results are sent
        once, 0 if they cost nothing.
    cycle_times : Platform or (p,) array_like, optional
        Given instead of volumes, which are proportional to 1 / cycle_times. Infinite for a worker
        that gets nothing.
    speeds : (p,) array_like, optional
        Given instead of volumes; the plan has cycle_times 1 / speeds.
    alpha, beta : float
        Cost of a unit of A and of B, >= 0. One of the three costs must be positive.
    method : {"best", "guillotine", "interval", "layers", "rectangles"}
        "best": the exact search for up to ten positive volumes; for more, "interval" and a search
        over the orders of the workers. "guillotine": the cheapest tiling made by cutting boxes in
        two, for up to ten positive volumes. "interval": the volumes in ascending order, cut as
        runs. "layers": cuts across the inner dimension only.
        "rectangles": "best" without such cuts.
    shape : (m, n, k), optional
        Tile m x n x k iterations exactly, with integer boxes. There must be at least one iteration
        per worker. A worker with a share that rounds to nothing gets nothing.
    seed : int
        Seed of the search over orders, which is deterministic. 0 <= seed < 2**63.
    orders : int, optional
        Number of orders that the search tries. The default takes about a second at most. With more
        than 64 positive volumes there is no search.

    Returns
    -------
    Cuboids
        lower_bound takes every box alone in the cube, with its best sides. For up to four boxes in
        the unit cube it is the true optimum. For a shape, it and `optimal` hold for boxes with the
        integer volumes of this plan: volumes that are rounded in another way can cost less.

    Raises
    ------
    ValueError, TypeError
        For NaN, negative or infinite volumes or weights, an unknown method, "guillotine" for more
        than ten positive volumes, a shape that is not three positive integers.
    InfeasibleError
        For more workers than iterations.

    Notes
    -----
    A tree of cuts costs a mk + b kn + c mn in an m x n x k box, where a, b, c depend only on the
    ratios of the volumes. The interval DP keeps the cheapest tree of each run for 21 to 91 ratios
    of the sides: O(p^3), a heuristic. Cuts of the integer boxes come from a DP on the tree: each
    side stays within 2 of its ideal, and the largest load is the least that this allows.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.cuboids(volumes=[1] * 8)
    >>> plan.boxes[0].tolist(), plan.cost, plan.optimal
    ([0.0, 0.0, 0.0, 0.5, 0.5, 0.5], 6.0, True)
    >>> volumes, methods = [3, 2, 2, 1, 5, 6], ("best", "rectangles", "layers")
    >>> plans = [hs.cuboids(volumes=volumes, method=method) for method in methods]
    >>> [round(plan.cost, 3) for plan in plans]
    [5.421, 5.796, 8.0]
    """
    check.choice("method", method, METHODS)
    weights = (
        abs(check.number("alpha", alpha, low=0.0)),  # turns -0.0 into 0.0
        abs(check.number("beta", beta, low=0.0)),
        abs(check.number("gamma", gamma, low=0.0)),
    )
    if not any(weights):
        raise ValueError("alpha, beta and gamma are all zero: there is nothing to minimise")
    seed = check.integer("seed", seed, low=0, high=2**63 - 1)
    scaled, times = check.shares("volumes", volumes, cycle_times, speeds)
    enrolled = int((scaled > 0).sum())
    sides = None if shape is None else _shape(shape, enrolled)
    if orders is not None:
        orders = check.integer("orders", orders, low=0)
    if method == "guillotine" and enrolled > engine.CUBOIDS_EXACT:
        raise ValueError(
            f"method 'guillotine' takes at most {engine.CUBOIDS_EXACT} positive volumes, got"
            f" {enrolled}; 'best' takes more"
        )

    try:
        found, boxes, proof = engine.cuboids_best(scaled, weights, sides, method, orders, seed)
    except ValueError:  # all arguments are in their ranges
        raise ValueError(
            "the cost overflows: give alpha, beta and gamma in a larger unit"
        ) from None
    return trusted(
        Cuboids,
        method=found,
        asked=method,
        **proof,
        boxes=check.frozen(boxes),
        weights=weights,
        volumes=check.frozen(scaled),
        shape=sides,
        cycle_times=later(lambda: check.inverse(scaled)) if times is None else check.frozen(times),
        **whose(volumes if cycle_times is None else cycle_times, len(scaled), lazily=True),
    )


def _shape(shape: tuple[int, int, int], workers: int) -> tuple[int, int, int]:
    try:
        m, n, k = shape
    except (TypeError, ValueError):
        raise TypeError(f"shape must be three integers, got {shape!r}") from None
    m, n, k = (check.integer(f"shape[{i}]", side, low=1) for i, side in enumerate((m, n, k)))
    if workers > m * n * k:
        raise InfeasibleError(
            f"shape ({m}, {n}, {k}) has {m * n * k} iterations,"
            f" fewer than the {workers} workers of volumes"
        )
    return m, n, k
