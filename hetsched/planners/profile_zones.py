"""Zones of a matrix if a worker's time depends on the height and the width of its zone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._engine import partition as engine
from ..errors import InfeasibleError
from ..plan import Finish, Plan, Step, trusted
from ..platform import Platform, whose
from .distribute import distribute
from .partition import shape_of
from .profile import is_row, limits_of, positive_times, rows_of

ZoneProfile = float | ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike] | Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProfilePartition(Plan):
    """Zones that tile an m x n matrix, planned with the times of zones by height and width.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns of the matrix.
    rects : (p, 4) int64 array
        row, col, height, width of each worker's zone; all zero if it has none.
    times : (p,) float64 array
        Time of each worker for its zone; 0 without a zone.
    makespan : float
        Largest of the times.
    """

    shape: tuple[int, int]
    rects: NDArray[np.int64]
    times: NDArray[np.float64]
    makespan: float

    _table: ClassVar = {
        "shape": schema.Sizes("m", "n", low=1),
        "rects": schema.Array("i8", "p", 4),
        "times": schema.EACH,
        "makespan": schema.Real(),
    }

    def _check(self) -> None:
        schema.require_inside("rects", self.rects, self.shape)
        _require_tiling(self.rects, self.shape)
        schema.require_close("makespan", self.makespan, float(self.times.max()))
        if ((self.times > 0) != (self._load() > 0)).any():
            raise ValueError(
                "times must be positive for the workers with zones, and 0 for the other workers"
            )

    @cached_property
    def cycle_times(self) -> NDArray[np.float64]:
        """(p,) mean time per cell of these zones; infinite for a worker without a zone."""
        cells = self._load()
        with np.errstate(over="ignore"):
            mean = np.maximum(self.times / np.maximum(cells, 1), schema.LEAST)
        return check.frozen(np.where(cells > 0, mean, np.inf))

    @property
    def pieces(self) -> NDArray[np.int64]:
        """(q, 5) worker, row, col, height, width of each zone."""
        used = np.flatnonzero(self._load())
        return np.column_stack((used, self.rects[used]))

    @property
    def half_perimeters(self) -> int:
        """Sum of height + width of the zones: the rows and columns of a product's operands that
        the workers receive."""
        return int(self.rects[:, 2:].sum())

    def _on(self, platform: Platform) -> Plan:
        """The same zones, with times proportional to their areas.

        `partition_profile` reads a Platform in the same way.
        """
        cells = self._load()
        times = np.where(cells > 0, cells * platform.cycle_times, 0.0)
        proof = distribute(math.prod(self.shape), platform, counts=cells)
        return self._carried(platform, proof.makespan, proof.bound, times=check.frozen(times))

    def _load(self) -> Any:
        """Cells of each zone."""
        return self.rects[:, 2] * self.rects[:, 3]

    def _steps(self, finish: Finish) -> list[Step]:
        return [
            Step(i, "compute", 0.0, finish(i, 0.0, float(self.times[i])), f"{height} x {width}")
            for i, _, _, height, width in self.pieces.tolist()
        ]


def partition_profile(
    shape: tuple[int, int],
    profiles: Platform | Sequence[ZoneProfile],
    method: str = "best",
    *,
    memory: int | Sequence[int | None] | None = None,
    rects: ArrayLike | None = None,
    seed: int = 0,
    budget: float | None = None,
) -> ProfilePartition:
    """Tile a matrix so that the largest time is least, for times by a zone's height and width.

    `partition` gives each worker an area in proportion to one speed. This planner knows that a
    device holds only so much, and that thin or small zones may be slow. Among the tilings of the
    least makespan it prefers a small sum of half perimeters.

    Parameters
    ----------
    shape : (m, n)
        Rows and columns: elements, or better blocks. Tables of all times take 8 p m n bytes.
    profiles : Platform or (p,) sequence
        The time that each worker needs for a zone of h rows and w columns. It need not increase
        with them. Careful: plain numbers are cycle-times, as in `distribute_profile`; each is one
        of

        - a number: the time per cell;
        - a 2-D array: entry [h, w] is the time of h rows and w columns. Row 0 and column 0 are
          ignored. For this worker, larger zones than the table has are impossible, and so are zones
          with an infinite time;
        - a triple (heights, widths, times) of measured points, with times of shape (len(heights),
          len(widths)). Between them the time is linear in the height and in the width. Between a
          point that fits and one with an infinite time, nothing fits. Outside the points, the speed
          is the one at the nearest point, so time is proportional to the area;
        - a function time(h, w), called once with two int64 arrays of shape (m, n), and if that
          fails or does not give m x n values, for each h and w.
    method : str
        "best": "guillotine" if the problem is small enough, else the better one of "columns" and
        "rows". "guillotine": the best of all guillotine tilings. "columns": full columns of zones
        above each other; with up to 5 workers the best of all, with more by a search over orders.
        "rows": the same with full rows.
    memory : int or sequence of (int or None), optional
        The zone of a worker has at most so many cells; None is no limit.
    rects : (p, 4) array_like of int, optional
        row, col, height, width of each worker's zone, to be certified as they are; the plan has
        method "given".
    seed : int
        Seed of the search over orders.
    budget : float, optional
        Seconds for that search. Default: a fixed number of orders.

    Returns
    -------
    ProfilePartition
        lower_bound is the least time within which the largest zones of all workers have together m
        n cells. All tilings with one rectangle for each worker count. If all of them were searched,
        it is the makespan: with up to 4 workers by "guillotine", with up to 3 by columns and rows.

    Raises
    ------
    ValueError, TypeError
        For NaN, zero or negative times, sizes that do not increase, a shape that is not two
        positive integers, rects that do not tile it.
    InfeasibleError
        If the zones that fit are too small together, no tiling was found, a given zone does not
        fit, or the problem is too large for "guillotine".

    Notes
    -----
    Functional performance models: Lastovetsky, Reddy, Parallel Computing 33 (2007); in columns:
    Clarke, Lastovetsky, Rychkov, HeteroPar 2011. The method "guillotine" is for 3^w (m n (m + n) +
    64) <= 2^33, with w workers that fit some zone: 8 workers and 80 x 80 cells, or 12 and 20 x 20.
    It takes up to two seconds.

    Examples
    --------
    A GPU that is four times as fast as each of two cores, but holds at most 40 of 80 blocks:

    >>> import hetsched as hs
    >>> plan = hs.partition_profile((8, 10), [1, 4, 4], memory=[40, None, None])
    >>> plan.rects.tolist(), plan.makespan
    ([[0, 5, 8, 5], [0, 0, 4, 5], [4, 0, 4, 5]], 80.0)
    >>> plan.optimal
    True
    """
    m, n = shape_of(shape)
    rows = rows_of(profiles)
    p = len(rows)
    if p * m * n > 2**24:
        raise ValueError(
            f"shape ({m}, {n}) with {p} workers has more than 2**24 times: use larger blocks"
        )
    most = limits_of("memory", m * n if memory is None else memory, p, none=m * n)
    check.choice("method", method, engine.PROFILES)
    given = None if rects is None else _given(rects, p, (m, n))
    if given is not None and method != "best":
        raise ValueError("rects must be given without method")
    seed = check.integer("seed", seed, low=0, high=2**64 - 1)
    budget = None if budget is None else check.number("budget", budget, low=0.0)
    table = np.empty((p, m, n))
    cells = np.arange(1, m + 1)[:, None] * np.arange(1, n + 1)
    for i, profile in enumerate(rows):
        table[i] = zone_times(f"profiles[{i}]", profile, (m, n), cells)
        table[i, cells > most[i]] = np.inf
    if given is not None:
        found, made = given, "given"
        certificate = _certified(table, given)
    else:
        try:
            found, made, certificate = engine.partition_profile(table, method, seed, budget)
        except InfeasibleError:
            raise InfeasibleError(_why(table, cells, method)) from None
        except NotImplementedError:
            raise InfeasibleError(
                f'shape ({m}, {n}) with {p} workers is too large for method "guillotine": use'
                ' "columns", or larger blocks'
            ) from None
    places = np.maximum(found[:, 2:] - 1, 0)
    own = table[np.arange(p), places[:, 0], places[:, 1]]
    return trusted(
        ProfilePartition,
        method=made,
        asked=made if given is not None else method,
        **certificate,
        shape=(m, n),
        rects=check.frozen(found),
        times=check.frozen(np.where(found[:, 2] > 0, own, 0.0)),
        **whose(profiles, p),
    )


def _why(table: NDArray[np.float64], cells: NDArray[np.int64], method: str) -> str:
    """Why there is no tiling."""
    _, m, n = table.shape
    room = int(np.where(np.isfinite(table), cells, 0).max(axis=(1, 2)).sum())
    if room < m * n:
        return (
            f"shape ({m}, {n}) has {m * n} cells, and the largest zones that fit profiles have"
            f" {room}"
        )
    return f'method "{method}" found no zones that fit profiles and tile shape ({m}, {n})'


def _certified(table: NDArray[np.float64], rects: NDArray[np.int64]) -> dict[str, Any]:
    """The certificate of given zones."""
    for i, (_, _, height, width) in enumerate(rects.tolist()):
        if height and np.isinf(table[i, height - 1, width - 1]):
            raise InfeasibleError(
                f"rects[{i}] of {height} x {width} cells does not fit profiles[{i}]"
            )
    return engine.partition_profile_certificate(table, rects)


def _given(rects: ArrayLike, p: int, shape: tuple[int, int]) -> NDArray[np.int64]:
    """The given zones, all zero without an area."""
    given = check.integers("rects", rects, low=0)
    if given.shape != (p, 4):
        raise ValueError(f"rects must have shape ({p}, 4), got {given.shape}")
    given = np.where((given[:, 2:] > 0).all(axis=1, keepdims=True), given, 0)
    schema.require_inside("rects", given, shape)
    _require_tiling(given, shape)
    return given


def _require_tiling(rects: NDArray[np.int64], shape: tuple[int, int]) -> None:
    """ValueError unless the zones, which lie inside the shape, tile it."""
    used = rects[(rects[:, 2:] > 0).all(axis=1)]
    flaw, (first, second) = engine.zones_flaw(*shape, 0.0, used.astype(np.float64))
    if flaw == engine.OVERLAP:
        raise ValueError(
            f"rects must not overlap: {used[first].tolist()} and {used[second].tolist()}"
        )
    if flaw:
        raise ValueError(f"rects must cover all of shape {shape}")


# ---- times of zones ----


def zone_times(
    name: str, profile: Any, shape: tuple[int, int], cells: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(m, n) times of all zones; `cells` are their areas."""
    if callable(profile):
        return _positive(name, _called(name, profile, shape))
    if isinstance(profile, list | tuple) and len(profile) == 3 and all(map(is_row, profile[:2])):
        parts = [
            check.reals(f"{name}[{k}] must be numbers, got {check.shown(part)}", part)
            for k, part in enumerate(profile)
        ]
        if parts[2].ndim == 2:
            return _between(name, parts[0], parts[1], parts[2], shape)
    array = check.reals(
        f"{name} must be a number, a 2-D table, a triple (heights, widths, times) or a function,"
        f" got {check.shown(profile)}",
        profile,
    )
    if array.ndim == 0:
        with np.errstate(over="ignore"):  # such zones are impossible
            return positive_times(name, np.full(1, array)) * cells
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be a number, a 2-D table or a triple (heights, widths, times), got shape"
            f" {array.shape}"
        )
    times = np.full(shape, np.inf)
    own = array[1 : shape[0] + 1, 1 : shape[1] + 1]
    times[: own.shape[0], : own.shape[1]] = own
    return _positive(name, times)


def _called(
    name: str, time: Callable[[Any, Any], Any], shape: tuple[int, int]
) -> NDArray[np.float64]:
    message = f"{name} must return real numbers"
    m, n = shape
    h, w = np.meshgrid(np.arange(1, m + 1), np.arange(1, n + 1), indexing="ij")
    try:
        values = check.reals(message, time(h, w))
    except Exception:  # the function does not take arrays
        values = np.empty(0)
    if values.shape != shape:
        pairs = [[time(a, b) for b in range(1, n + 1)] for a in range(1, m + 1)]
        values = check.reals(message, pairs)
    if values.shape != shape:
        raise TypeError(message)
    return values


def _between(
    name: str,
    heights: NDArray[np.float64],
    widths: NDArray[np.float64],
    times: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """The times between measured points."""
    if times.shape != (len(heights), len(widths)):
        raise ValueError(
            f"{name}: times must have shape ({len(heights)}, {len(widths)}) like heights and"
            f" widths, got {times.shape}"
        )
    for what, sizes in (("heights", heights), ("widths", widths)):
        if not (
            len(sizes) and np.isfinite(sizes).all() and sizes[0] > 0 and (np.diff(sizes) > 0).all()
        ):
            raise ValueError(
                f"{name}: {what} must be finite, positive and increasing, got"
                f" {check.shown(sizes.tolist())}"
            )
    if not (times > 0).all():
        raise ValueError(f"{name}: times must be positive, got {check.shown(times.tolist())}")
    return engine.zone_times(heights, widths, times, shape)


def _positive(name: str, times: NDArray[np.float64]) -> NDArray[np.float64]:
    bad = ~(times > 0)
    if bad.any():
        h, w = np.unravel_index(int(np.argmax(bad)), bad.shape)
        raise ValueError(
            f"{name}: the time of {h + 1} x {w + 1} cells must be positive, got {times[h, w]:g}"
        )
    return times
