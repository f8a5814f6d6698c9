"""Two-dimensional partition: zones of given areas that tile a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check, schema
from .._base.frozen import Frozen
from .._base.later import Lazy, later
from .._base.progress import Progress, reporting
from .._engine import partition as engine
from .._engine.rows import RowError
from ..errors import InfeasibleError
from ..plan import Finish, Plan, Step, plain, trusted
from ..platform import Platform, names_of, whose
from .floorplan import (
    CORNERS,
    FULL_COLUMNS,
    METHODS,
    Pieces,
    areas_of,
    most_workers,
    require_floorplan,
    require_kind,
    require_times,
    zones,
)
from .stacked import PlanStack, plan_alone, stack_of, threads_for

OBJECTIVES = ("sum", "max")
_PIECES, _TABLE = 16, 10_000_000  # most pieces of a worker, if workers times pieces exceed _TABLE


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Partition(Lazy, Plan):
    """Zones that tile the unit square or an m x n matrix: one or several rectangles per worker.

    Attributes
    ----------
    pieces : (q, 5) array
        worker, row, col, height, width of every rectangle: float64 in the unit square, int64 in a
        matrix. A worker with a zone that is not a rectangle has several. A worker that gets nothing
        has none.
    columns : tuple of tuple of int
        The workers of each column, left to right, top to bottom; () for a method without columns.
    floorplan : tuple of int
        The arrangement of the zones in postfix notation. A number >= 0 is a worker. -1 puts the two
        zones before it side by side. -2 puts the first of the two above the second. -3 makes a
        pinwheel of five zones (top, right, bottom, left, centre). -4 puts the first of the two in
        the lower right corner of the second. -5 puts the first of three in the upper left corner of
        the third, and the second in its lower right corner. Empty for method "contiguous".
    cost : float
        Sum over the workers of link_cost * (height + width) of their zones, which is their
        communication in a product. For a zone that is not a rectangle, height and width are what it
        spans. With objective "max" the cost is the largest term instead. Groups add group_cost *
        (height + width) of each group's rectangle.
    bound : float
        Lower bound on the cost of zones with the areas that these zones have. If given rectangles
        do not have the areas asked for (in a matrix, within less than a cell), `optimal` is False.
        A cost that equals the bound then has the scope "zones of the areas that they have".
    areas : (p,) float64 array
        The areas asked for, scaled to sum 1.
    shape : (int, int) or None
        Rows and columns of the matrix; None for the unit square.
    cycle_times : (p,) float64 array
        Time per cell of the matrix (or for the whole square): the platform's, or 1 / area.
    objective : {"sum", "max"}
    link_costs : (p,) float64 array
    groups : (p,) int32 array or None
    group_cost : float
    """

    pieces: Pieces
    columns: tuple[tuple[int, ...], ...]
    floorplan: tuple[int, ...]
    cost: float
    areas: NDArray[np.float64]
    shape: tuple[int, int] | None
    cycle_times: NDArray[np.float64]
    objective: str
    link_costs: NDArray[np.float64]
    groups: NDArray[np.int32] | None
    group_cost: float

    _given: ClassVar = "areas"
    _value: ClassVar[str] = "cost"
    _derived: ClassVar[tuple[str, ...]] = ("rects",)
    _scale: ClassVar[str] = "link_costs and group_cost"
    _table: ClassVar = {
        "pieces": schema.Array(("f8", "i8"), "pieces", 5),
        "columns": schema.Tuple(schema.Tuple(schema.Integer(0, "p - 1"))),
        "floorplan": schema.Tuple(schema.Integer(CORNERS, "p - 1")),
        "cost": schema.Real(),
        "areas": schema.Array("f8", "p", high=1.0),
        "shape": schema.Maybe(schema.Sizes("m", "n", low=1)),
        "cycle_times": schema.CYCLE_TIMES,
        "objective": schema.Text(*OBJECTIVES),
        "link_costs": schema.Array("f8", "p", low=schema.LEAST),
        "groups": schema.Maybe(schema.Array("i4", "p", high="p - 1")),
        "group_cost": schema.Real(),
    }

    def _check(self) -> None:
        schema.require_close("sum of areas", float(self.areas.sum()), 1.0)
        if (times := self.__dict__.get("cycle_times")) is not None:
            require_times("areas", self.areas * math.prod(self.shape or (1,)), times)
        if (pieces := self.__dict__.get("pieces")) is not None:
            require_kind("pieces", pieces, self.shape)
            owners = pieces[:, 0]
            if (
                not len(pieces)
                or owners[-1] >= len(self.areas)
                or (owners[1:] < owners[:-1]).any()
                or (owners % 1).any()
            ):
                raise ValueError(
                    f"pieces[:, 0] must be workers below {len(self.areas)}, in ascending order"
                )
            if (bad := self.areas[owners.astype(np.int64)] == 0).any():
                raise ValueError(
                    f"pieces[{int(np.argmax(bad))}] must belong to a worker with a positive area"
                )
            if (
                len(pieces) * len(self.areas) > _TABLE
                and int(np.bincount(owners.astype(np.int64)).max()) > _PIECES
            ):
                # rects has room for the most pieces of any worker, for all workers
                raise ValueError(
                    f"pieces must be at most {_PIECES} for each worker of so many workers"
                )
            schema.require_inside(
                "pieces", pieces[:, 1:], self.shape or (1, 1), 0.0 if self.shape else 1e-9
            )
        if floorplan := self.__dict__.get("floorplan"):
            require_floorplan(floorplan)

    @cached_property
    def rects(self) -> Pieces:
        """(p, 4) row, col, height, width of each worker's rectangle; all zero if it gets nothing.

        If some zone is not a rectangle, the shape is (p, k, 4): k rectangles of each worker, all
        zero after its last one. In both cases, rects[..., 2:] are sides.
        """
        owners = self.pieces[:, 0].astype(np.int64)  # ascending
        counts = np.bincount(owners, minlength=len(self.areas))
        most = int(counts.max())
        rects = np.zeros((len(self.areas), most, 4), self.pieces.dtype)
        firsts = np.cumsum(counts) - counts
        rects[owners, np.arange(len(owners)) - firsts[owners]] = self.pieces[:, 1:]
        return check.frozen(rects if most > 1 else rects[:, 0])

    @cached_property
    def actual_areas(self) -> NDArray[np.float64]:
        """(p,) areas of the zones, as fractions of the whole."""
        cells = areas_of(self.pieces, len(self.areas))
        return check.frozen(
            cells if self.shape is None else cells / (self.shape[0] * self.shape[1])
        )

    @property
    def imbalance(self) -> float:
        """Largest ratio of actual area to asked area: 1.0 is perfect balance.

        Integer cuts cost a little.
        """
        given = self.areas > 0
        return float((self.actual_areas[given] / self.areas[given]).max())

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """(p, 2) rows and columns that each zone spans: what its worker needs of A and of B."""
        return check.frozen(zones(self.pieces, len(self.areas)))

    @property
    def guarantee(self) -> float | None:
        """Proven upper bound on the cost, or None.

        For full columns it is sqrt(r) (1 + 1 / sqrt(p)) times 2 sum(sqrt(area)), with r the ratio
        of the largest to the smallest of p areas (2001 paper, section 3.2.4). For "snrpp", and for
        "nonrectangular", which is never dearer, it is sqrt(3 / 2) times that sum (Beaumont,
        Eyraud-Dubois, Lambert, IPDPS 2016). It is None for other methods, in a matrix, with link
        costs, with a given number of columns, with objective "max", and for a recut plan that costs
        more.
        """
        given = self.areas[self.areas > 0]
        least = 2 * float(np.sqrt(given).sum())
        if self.method == "columns" and self.scope == FULL_COLUMNS:
            ratio = float(given.max() / given.min())
            return math.sqrt(ratio) * (1 + 1 / math.sqrt(len(given))) * least
        if (
            self.method in ("snrpp", "nonrectangular")
            and self.shape is None
            and self.objective == "sum"
            and weights_of(self) is None
        ):
            most = math.sqrt(1.5) * least
            # a recut plan has the cuts of other areas, and can be dearer
            return most if self.cost <= most * (1 + 1e-12) else None
        return None

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "rects": plain(self.rects)}

    def recut(
        self,
        areas: Platform | check.Vector | None = None,
        *,
        cycle_times: Platform | check.Vector | None = None,
        speeds: check.Vector | None = None,
    ) -> Recut:
        """Plan other areas with the same floorplan: the cuts move, but little of the matrix moves.

        Parameters
        ----------
        areas, cycle_times, speeds
            One of them, see `partition`, for the same workers. A worker without a zone cannot get
            one, and a worker with a zone cannot lose it.

        Returns
        -------
        Recut
            With a fresh partition by the same method for comparison.
        """
        return _recut(self, areas, cycle_times, speeds)

    def _on(self, platform: Platform) -> Plan:
        return replace(self, **self._workers(platform))

    def _load(self) -> Any:
        """Cells of the matrix, or areas in the unit square."""
        areas = areas_of(self.pieces, len(self.areas))
        # a load may have more cells than an int64 can count
        return areas if areas.max(initial=0.0) >= 2.0**63 else areas.astype(self.pieces.dtype)

    def _steps(self, finish: Finish) -> list[Step]:
        cells = 1 if self.shape is None else self.shape[0] * self.shape[1]
        steps = []
        for i, (height, width) in enumerate(self.spans.tolist()):
            area, time = float(self.actual_areas[i]), float(self.cycle_times[i])
            if area > 0:  # an overflowing time is 1 / area of a sliver
                duration = (
                    area * cells * time
                    if math.isfinite(time)
                    else cells * area / float(self.areas[i])
                )
                steps.append(
                    Step(i, "compute", 0.0, finish(i, 0.0, duration), f"{height:.4g} x {width:.4g}")
                )
        return steps


@overload
def partition(
    areas: Platform | check.Vector | None = None,
    method: str = "best",
    shape: tuple[int, int] | None = None,
    *,
    cycle_times: Platform | check.Vector | None = None,
    speeds: check.Vector | None = None,
    rects: ArrayLike | None = None,
    objective: str = "sum",
    link_costs: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    group_cost: float = 1.0,
    columns: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> Partition: ...
@overload
def partition(
    areas: Platform | ArrayLike | None = None,
    method: str = "best",
    shape: tuple[int, int] | None = None,
    *,
    cycle_times: Platform | ArrayLike | None = None,
    speeds: ArrayLike | None = None,
    rects: ArrayLike | None = None,
    objective: str = "sum",
    link_costs: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    group_cost: float = 1.0,
    columns: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> Partition | PlanStack: ...
@np.errstate(over="ignore", invalid="ignore")  # an overflow shows in the cost
def partition(
    areas: Platform | ArrayLike | None = None,
    method: str = "best",
    shape: tuple[int, int] | None = None,
    *,
    cycle_times: Platform | ArrayLike | None = None,
    speeds: ArrayLike | None = None,
    rects: ArrayLike | None = None,
    objective: str = "sum",
    link_costs: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    group_cost: float = 1.0,
    columns: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> Partition | PlanStack:
    """Tile a square or a matrix with one zone per worker, of given areas and small half perimeters.

    In a matrix product over the zones of C, the half perimeter of a zone is the amount of A and B
    that its worker receives. So the cost is the communication.

    Parameters
    ----------
    areas : (p,) or (..., p) array_like or Platform
        Relative areas, >= 0, at least one positive; for a Platform, the speeds. Careful: a plain
        list means areas. Given a list of cycle-times, the slowest worker would get most. An array
        with more than one axis is a stack: one partition for each set of workers, computed on all
        cores.
    method : str
        "best": the best of all methods below, improved by a search over orders. Above 128 workers
        it tries only some of the cuts of "interval", which can then be some hundredths of a percent
        better. The slow methods "nonrectangular" above 64 workers and "guillotine" above 12 are not
        tried; they can be some tenths of a percent better.
        Rectangles: "columns" (the best full columns), "interval" (the best guillotine cuts of the
        list sorted by area), "guillotine" (the best of all guillotine cuts, up to 16 workers; with
        pinwheels up to 8), "rows", "recursive" (Crandall and Quinn), "kaddoura" (the same,
        refined), "nagamochi-abe", "mohammadi-behroozi", "kalinov-lastovetsky".
        Other zones: "nonrectangular" (like "interval" or "snrpp", but a zone may lie around other
        zones in one corner or in two opposite corners), "snrpp", "contiguous" (runs of cells, row
        by row; needs shape).
    shape : (m, n), optional
        Tile an m x n matrix exactly, with integer zones. There must be at least one cell per
        worker. A worker with a share that rounds to nothing gets nothing.
    cycle_times : Platform or (p,) or (..., p) array_like, optional
        Given instead of areas, which are proportional to 1 / cycle_times. Infinite for a worker
        that gets nothing.
    speeds : (p,) or (..., p) array_like, optional
        Given instead of areas; the plan has cycle_times 1 / speeds.
    rects : (p, 4) or (p, k, 4) array_like, optional
        row, col, height, width of each worker's rectangle (or rectangles); for a stack of areas
        (..., p, 4) or (..., p, k, 4). They are certified as they are; the plan has method "given".
        Rectangles without height or width are left out. They must tile the shape, or the unit
        square up to 1e-9 of its side. `imbalance` says how far they are from the areas.
    objective : {"sum", "max"}
        Minimise the sum of the half perimeters, or the largest one. Only "best", "interval" and
        "guillotine" minimise the largest; the other methods report it.
    link_costs : (p,) array_like, optional
        Weights > 0 of the workers' half perimeters; default 1.
    groups : (p,) array_like of int, optional
        A group number for each worker. The workers of a group (a cluster) lie in one rectangle. For
        methods "best" and "interval".
    group_cost : float
        Weight of the half perimeter of each group's rectangle, added to the costs of its workers.
    columns : int, optional
        Number of columns for method "columns", instead of the best number.
    seed : int
        Seed of the search of "best".
    budget : float, optional
        Seconds for that search. Default: a fixed number of steps, the same on every machine, which
        take a fraction of a second.
    progress : bool or callable, optional
        For a stack: True shows a bar; a function is called with the fraction done.

    Returns
    -------
    Partition
        lower_bound is the sum of 2 sqrt(area), because every zone spans at best a square. For up to
        three workers it also uses the corners of the matrix. For a matrix, it uses the areas
        of the integer zones. For a stack: a PlanStack with cost, bound and optimal
        (...). In the unit square, with a method that gives each worker one rectangle, it also has
        rects (..., p, 4).

    Raises
    ------
    ValueError, TypeError
        For NaN, negative or infinite areas, an unknown method, a shape that is not two positive
        integers.
    InfeasibleError
        For more workers than cells, or too many workers for the method. Also for "interval" and
        "guillotine" if link costs are so far apart (15 decades and more) that only one zone
        matters, which then has too many forms to keep, or if some hundred areas have only a few
        values. "best" goes on without these methods.

    Notes
    -----
    Beaumont, Boudet, Legrand, Rastello, Robert (2001), section 3.2; the guide names the sources of
    the other methods.

    Examples
    --------
    >>> import hetsched as hs
    >>> areas = [0.05, 0.05, 0.08, 0.1, 0.1, 0.12, 0.2, 0.3]
    >>> round(hs.partition(areas, "columns").cost, 9), round(hs.partition(areas).cost, 9)
    (5.5, 5.46)
    """
    check.choice("method", method, METHODS)
    check.choice("objective", objective, OBJECTIVES)
    if any(map(check.is_stack, (areas, cycle_times, speeds))):
        common = {
            "method": method,
            "shape": shape,
            "objective": objective,
            "link_costs": link_costs,
            "groups": groups,
            "group_cost": group_cost,
            "columns": columns,
            "seed": seed,
            "budget": budget,
        }
        return _partition_stack(areas, cycle_times, speeds, rects, common, progress)
    if progress is not None and progress is not False:
        raise ValueError("progress is for stacks of areas")
    scaled, times = check.shares("areas", areas, cycle_times, speeds)
    p = len(scaled)
    given = None if rects is None else _given(rects, scaled, shape)
    problem = _problem(
        p, method, shape, objective, link_costs, groups, group_cost, columns, given is not None
    )
    _require_room(problem, int(np.count_nonzero(scaled)))
    seed, budget = _effort(seed, budget)
    who = whose(areas if cycle_times is None else cycle_times, p, lazily=True)
    if given is None:
        who["asked"] = method
    with _told_apart(problem, scaled, given):
        found = engine.partition_best(problem, scaled, given, seed, budget)
    return _finished(found, problem, scaled, times, who)


def _problem(
    p: int,
    method: str,
    shape: tuple[int, int] | None,
    objective: str,
    link_costs: ArrayLike | None,
    groups: ArrayLike | None,
    group_cost: float,
    columns: int | None,
    given: bool,
) -> engine.Problem:
    """The options of a partition, or of each one of a stack; `given` means that rects are given."""
    sides = None if shape is None else shape_of(shape)
    group_cost = check.number("group_cost", group_cost, low=0.0)
    if groups is not None and (method not in ("best", "interval") or objective != "sum"):
        raise ValueError('groups are for methods "best" and "interval" with objective "sum"')
    if columns is not None and method != "columns":
        raise ValueError(f'columns is for method "columns", got "{method}"')
    if given and (method != "best" or groups is not None):
        raise ValueError("rects must be given without method and groups")
    if method == "contiguous" and sides is None:
        raise ValueError('method "contiguous" needs shape, because it distributes whole cells')
    return engine.Problem(
        method="given" if given else method,
        sides=sides,
        largest=objective == "max",
        weights=None if link_costs is None else _weights(link_costs, p),
        groups=None if groups is None else _groups(groups, p),
        group_cost=group_cost,
        columns=None if columns is None else check.integer("columns", columns, low=1),
    )


def _effort(seed: int, budget: float | None) -> tuple[int, float | None]:
    return (
        check.integer("seed", seed, low=0, high=2**64 - 1),
        None if budget is None else check.number("budget", budget, low=0.0),
    )


def _require_room(problem: engine.Problem, size: int) -> None:
    """Raise InfeasibleError if `size` workers of positive area are too many, or columns too few."""
    if problem.sides is not None and size > math.prod(problem.sides):
        m, n = problem.sides
        raise InfeasibleError(
            f"shape ({m}, {n}) has {m * n} cells, fewer than the {size} workers of areas"
        )
    method = "interval" if problem.groups is not None else problem.method
    limit = most_workers(method, problem.largest)
    if limit is not None and size > limit:
        aim = ' with objective "max"' if problem.largest else ""
        raise InfeasibleError(
            f'method "{method}"{aim} is for up to {limit} workers, areas has {size}'
        )
    if method == "contiguous" and problem.sides is not None and math.prod(problem.sides) > 2**53:
        raise InfeasibleError(
            f'method "contiguous" is for at most 2**53 cells, and shape {problem.sides} has more'
        )
    if problem.columns is not None:
        m, n = problem.sides or (size, size)
        if problem.columns > min(n, size):
            raise InfeasibleError(
                f"columns must be at most {min(n, size)}, the number of columns of the matrix"
                f" and of workers, got {problem.columns}"
            )
        if problem.columns * m < size:
            raise InfeasibleError(
                f"columns must be at least {-(-size // m)} for {size} workers, got"
                f" {problem.columns}"
            )


@contextmanager
def _told_apart(
    problem: engine.Problem, areas: NDArray[np.float64], rects: NDArray[np.float64] | None
) -> Iterator[None]:
    """Say why the engine refuses a problem."""
    try:
        yield
    except NotImplementedError:  # the engine keeps all forms that a zone may have
        method = "interval" if problem.groups is not None else problem.method
        raise InfeasibleError(
            f'method "{method}" would not end: link_costs or areas are too far apart, or have too'
            ' few values, for so many workers. Use "columns" or "best"'
        ) from None
    except ValueError:
        if rects is not None:
            _require_tiling(rects, areas, problem.sides)
        weights = len(areas) if problem.weights is None else problem.weights.sum()
        if math.isfinite(
            sum(problem.sides or (1, 1)) * (weights + problem.group_cost * len(areas))
        ):
            raise
        raise ValueError(
            "the cost overflows: give link_costs and group_cost in a larger unit"
        ) from None


def _finished(
    found: engine.Zones,
    problem: engine.Problem,
    areas: NDArray[np.float64],
    times: NDArray[np.float64] | None,
    who: dict[str, Any],
    *,
    method: str | None = None,
    with_columns: bool = True,
) -> Partition:
    """The Partition that the engine has found; times are 1 / area if None."""
    certificate = found.certificate
    if problem.columns is not None and certificate["scope"]:
        plural = "s" if problem.columns > 1 else ""
        certificate["scope"] = f"partitions into {problem.columns} full column{plural}"
    return trusted(
        Partition,
        method=method or found.method,
        **certificate,
        pieces=later(lambda: check.frozen(found.pieces)),
        columns=later(lambda: found.columns if with_columns else ()),
        floorplan=later(lambda: found.floorplan),
        areas=check.frozen(areas),
        shape=problem.sides,
        cycle_times=later(lambda: check.inverse(areas)) if times is None else check.frozen(times),
        **who,
        objective="max" if problem.largest else "sum",
        link_costs=(
            later(lambda: check.frozen(np.ones(len(areas))))
            if problem.weights is None
            else check.frozen(problem.weights)
        ),
        groups=None if problem.groups is None else check.frozen(problem.groups),
        group_cost=problem.group_cost,
    )


def _partition_stack(
    areas: Any,
    cycle_times: Any,
    speeds: Any,
    rects: Any,
    common: dict[str, Any],
    progress: bool | Progress | None,
) -> PlanStack:
    """One partition for each row of the stack."""
    scaled, _ = check.shares("areas", areas, cycle_times, speeds, stacked=True)
    ((name, given),) = (
        (n, g)
        for n, g in (("areas", areas), ("cycle_times", cycle_times), ("speeds", speeds))
        if g is not None
    )
    shape, p = scaled.shape[:-1], scaled.shape[-1]
    rows = scaled.reshape(-1, p)
    stacked = {name: np.array(given, np.float64).reshape(-1, p)}
    options = {key: value for key, value in common.items() if key not in ("seed", "budget")}
    problem = _problem(p, **options, given=rects is not None)
    seed, budget = _effort(common["seed"], common["budget"])
    zones = None
    if rects is not None:
        zones = stacked["rects"] = _rows_of_rects(rects, shape, p)
        zones = zones[:, :, None] if zones.ndim == 3 else zones
    with reporting(progress) as tell:
        try:
            _require_room_for_rows(problem, rows)
            threads = threads_for(engine.is_brief_batch(problem.method, *rows.shape), tell)
            results = engine.partition_batch(problem, rows, zones, seed, budget, threads, tell)
        except RowError as error:
            plan_alone(partition, error.row, stacked, common)
            raise
    return stack_of(shape, problem.method, "cost", results, partition, stacked, common)


def _require_room_for_rows(problem: engine.Problem, rows: NDArray[np.float64]) -> None:
    """RowError of the first row that is not feasible."""
    if problem.columns is None:
        with suppress(InfeasibleError):
            _require_room(problem, rows.shape[1])
            return
    sizes, firsts = np.unique(np.count_nonzero(rows, axis=-1), return_index=True)
    for size, row in sorted(zip(sizes.tolist(), firsts.tolist(), strict=True), key=itemgetter(1)):
        try:
            _require_room(problem, size)
        except InfeasibleError as error:
            raise RowError(row) from error


def _rows_of_rects(rects: Any, shape: tuple[int, ...], p: int) -> NDArray[np.float64]:
    """(platforms, p, 4) or (platforms, p, k, 4) rectangles of a stack of that shape."""
    given = check.reals(
        lambda: f"rects must be an array of real numbers, got {check.shown(rects)}", rects
    )
    if given.shape[: len(shape) + 1] != (*shape, p) or given.shape[len(shape) + 1 :][-1:] != (4,):
        raise ValueError(
            f"rects must have shape {(*shape, p, 4)}, or with k rectangles for each worker, got"
            f" {given.shape}"
        )
    return given.reshape(-1, *given.shape[len(shape) :])


def _given(
    rects: ArrayLike, areas: NDArray[np.float64], shape: tuple[int, int] | None
) -> NDArray[np.float64]:
    """The given zones (p, k, 4), in cells if there is a shape."""
    p = len(areas)
    given = check.reals(lambda: f"rects must be an array of real numbers, got {rects!r}", rects)
    if given.ndim not in (2, 3) or (len(given), given.shape[-1]) != (p, 4):
        raise ValueError(f"rects must have shape ({p}, 4) or ({p}, k, 4), got {given.shape}")
    if shape is not None:
        check.integers("rects", rects, low=0)
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("rects must be finite and not negative")
    given = given.reshape(p, -1, 4)
    idle = (given[..., 2:] > 0).all(axis=-1).any(axis=-1) & (areas == 0)
    if idle.any():
        raise ValueError(f"rects[{np.argmax(idle)}] must be all zero: the worker has no area")
    return given


def _require_tiling(
    rects: NDArray[np.float64], areas: NDArray[np.float64], sides: tuple[int, int] | None
) -> None:
    """ValueError unless the rectangles (p, k, 4) tile the matrix, or the unit square up to 1e-9."""
    m, n = sides or (1, 1)
    found = rects[(rects[..., 2:] > 0).all(axis=-1)]
    flaw, (first, second) = engine.zones_flaw(m, n, 0.0 if sides else 1e-9, found)
    shown = (found if sides is None else found.astype(np.int64)).tolist()
    if flaw == engine.OUTSIDE:
        raise ValueError(f"rects must lie in the {m} x {n} box, got {shown[first]}")
    if flaw == engine.OVERLAP:
        raise ValueError(f"rects must not overlap: {shown[first]} and {shown[second]}")
    if flaw == engine.AREA:
        covered = sum(h * w for _, _, h, w in shown)
        raise ValueError(
            f"rects must cover the {m} x {n} box, but cover {covered:.12g} of its area {m * n}"
        )


def weights_of(plan: Partition) -> NDArray[np.float64] | None:
    """The link costs of a plan; None if they are all 1, as they are if none were given."""
    return None if (plan.link_costs == 1.0).all() else plan.link_costs


def _weights(link_costs: ArrayLike, p: int) -> NDArray[np.float64]:
    weights = check.positive("link_costs", check.vector("link_costs", link_costs))
    if not np.isfinite(weights).all():
        raise ValueError(f"link_costs[{int(np.argmax(np.isinf(weights)))}] must be finite")
    if len(weights) != p:
        raise ValueError(f"link_costs must have {p} entries like areas, got {len(weights)}")
    return weights


def _groups(groups: ArrayLike, p: int) -> NDArray[np.int32]:
    """The groups, renumbered from 0."""
    try:
        given = np.asarray(groups)
    except ValueError:  # ragged
        given = np.empty(0)
    if given.dtype.kind not in "iu" or given.shape != (p,):
        raise ValueError(f"groups must be {p} integers, one for each of areas, got {groups!r}")
    return np.unique(given, return_inverse=True)[1].astype(np.int32)


def shape_of(shape: tuple[int, int]) -> tuple[int, int]:
    try:
        m, n = shape
    except (TypeError, ValueError):
        raise TypeError(
            f"shape must be a pair of integers such as (100, 80), got {check.shown(shape)}"
        ) from None
    return check.integer("shape[0]", m, low=1), check.integer("shape[1]", n, low=1)


# ---- other areas in an old floorplan ----


@dataclass(frozen=True, kw_only=True, eq=False)
class Recut(Frozen):
    """A partition recut for other areas, and a fresh one for comparison.

    Attributes
    ----------
    old, plan, fresh : Partition
        The partition before; the same floorplan with new cuts; a fresh one by the same method.
    moved, fresh_moved : float
        Fraction of the matrix that changes owner from `old` to `plan`, and from `old` to `fresh`.
    moved_bound : float
        Half the sum of the changes of the areas, the smaller value of both plans: neither plan
        moves less. In a matrix the areas are whole cells, and may differ between the plans.
    """

    old: Partition
    plan: Partition
    fresh: Partition
    moved: float
    moved_bound: float
    fresh_moved: float

    def __repr__(self) -> str:
        return (
            f"<Recut: moves {self.moved:.2%} of the matrix (at least {self.moved_bound:.2%}; "
            f"a fresh partition {self.fresh_moved:.2%}), "
            f"cost {self.plan.cost:.6g} (fresh {self.fresh.cost:.6g})>"
        )


def _recut(
    old: Partition,
    areas: Platform | check.Vector | None,
    cycle_times: Platform | check.Vector | None,
    speeds: check.Vector | None,
) -> Recut:
    """See `Partition.recut`."""
    if not old.floorplan:
        raise ValueError(f'a partition by method "{old.method}" has no cuts to move')
    scaled, times = check.shares("areas", areas, cycle_times, speeds)
    if len(scaled) != len(old.areas):
        raise ValueError(
            f"areas must have {len(old.areas)} entries like the partition's areas, got"
            f" {len(scaled)}"
        )
    changed = (scaled > 0) != (old.areas > 0)
    if changed.any():
        i = int(np.argmax(changed))
        raise ValueError(
            f"areas[{i}] is {scaled[i]:g}, it was {old.areas[i]:g}:"
            " a new floorplan is needed, call partition()"
        )
    problem = engine.Problem(
        method="given",
        sides=old.shape,
        largest=old.objective == "max",
        weights=weights_of(old),
        groups=old.groups,
        group_cost=old.group_cost,
        floorplan=np.array(old.floorplan, np.int32),
    )
    who = {"asked": old.asked, **whose(areas if cycle_times is None else cycle_times, len(scaled))}
    if who["names"] == names_of(None, len(scaled)):
        who["names"] = old.names
    with _told_apart(problem, scaled, None):
        found = engine.partition_best(problem, scaled)
    columns = bool(old.columns)
    plan = _finished(found, problem, scaled, times, who, method=old.method, with_columns=columns)
    fresh = partition(
        areas,
        old.asked,
        old.shape,
        cycle_times=cycle_times,
        speeds=speeds,
        objective=old.objective,
        link_costs=problem.weights,
        groups=old.groups,
        group_cost=old.group_cost,
    )
    return Recut(
        old=old,
        plan=plan,
        fresh=fresh,
        moved=max(moved(old, plan), _changed(old, plan)),
        moved_bound=min(_changed(old, plan), _changed(old, fresh)),
        fresh_moved=max(moved(old, fresh), _changed(old, fresh)),
    )


def _changed(old: Partition, new: Partition) -> float:
    """Half the sum of the changes of the areas: the least that must move, up to rounding."""
    return float(np.abs(new.actual_areas - old.actual_areas).sum() / 2)


def moved(old: Partition, new: Partition) -> float:
    """Fraction of the matrix that has another owner in `new`.

    Parameters
    ----------
    old, new : Partition
        Partitions of the same shape, for the same workers.

    Returns
    -------
    float
        1 - the area that each worker's zones in both partitions have in common, over all workers.
    """
    if old.shape != new.shape or len(old.areas) != len(new.areas):
        raise ValueError(
            f"new is for shape {new.shape} and {len(new.areas)} workers, old for {old.shape} and"
            f" {len(old.areas)}"
        )
    m, n = old.shape or (1, 1)
    kept = sum(
        _common(
            old.pieces[old.pieces[:, 0] == worker, 1:], new.pieces[new.pieces[:, 0] == worker, 1:]
        )
        for worker in range(len(old.areas))
    )
    return max(0.0, 1.0 - kept / (m * n))


def gained(before: NDArray[Any], after: NDArray[Any], p: int) -> NDArray[np.float64]:
    """(p,) area of each worker's pieces in `after` that it did not have in `before`."""
    area = areas_of(after, p)
    for i in range(p):
        area[i] -= _common(before[before[:, 0] == i, 1:], after[after[:, 0] == i, 1:])
    return np.maximum(area, 0.0)


def _common(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    x, y = a.astype(np.float64)[:, None], b.astype(np.float64)[None]
    sides = np.minimum(x[..., :2] + x[..., 2:], y[..., :2] + y[..., 2:]) - np.maximum(
        x[..., :2], y[..., :2]
    )
    return float(np.prod(np.maximum(sides, 0.0), axis=-1).sum())
