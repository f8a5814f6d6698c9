"""Products on a star of workers with limited memory.

A plan says which worker gets which columns, and in which order the master's port serves them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, cast, overload

import numpy as np
from numpy.typing import NDArray

from .._base import check, schema
from .._base.progress import Progress, reporting
from .._engine import star as engine
from .._engine.rows import RowError
from ..errors import InfeasibleError
from ..machine.limits import threads_here
from ..plan import Plan, Step, trusted
from ..platform import Platform, Unit, require_star, whose
from .stacked import PlanStack, plan_alone, stack_of

PAPER = ("hom", "homi", "het", "orroml", "ommoml", "oddoml", "bmm")
OVERLAP = "overlap"  # the remark at the end of section 4
METHODS = tuple(name for name in engine.METHODS if name != "best")
RETURNS = ("lazy", "eager")
_FOR_ALL = ("work", "traffic", "transfer", "re-use")  # bounds that hold for every plan
_LARGEST = 2**31 - 1  # most blocks along a side
_LONG = 10**6  # updates, times workers; for more, Ctrl-C is checked


_SEARCHES = ("best", "search", "exact")
#: Cycle-times, link costs and memory.
Star = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StarPlan(Plan):
    """C (r x s blocks) += A (r x t) B (t x s): each worker's chunks of C, and the port's messages.

    Attributes
    ----------
    shape : (int, int, int)
        r, s and t in blocks.
    makespan : float
        In the unit of the cycle-times.
    columns : (p,) int64 array
        Block columns of C of each worker; they sum to s. If C is divided by rows, the number of
        columns that the worker's blocks are worth, rounded.
    enrolled : (k,) int64 array
        The workers that have blocks of C.
    mu : (p,) int64 array
        Largest side of square chunks in each worker's memory; 0 for a worker that the method does
        not consider.
    chunks : structured array
        worker, held (the operand of the chunk that stays with the worker: 0 C, 1 A, 2 B), buffers
        (number of panels of the other operands that fit; 0 if A comes block by block and B's part
        of a layer stays, -1 if B comes block by block and A's part stays), row, col, height, width
        in C, depth (layers in a panel), ahead (1: the chunk is sent before the result of the
        worker's previous chunk). A worker computes its chunks in this order.
    messages : structured array
        Log of the port: worker, kind (0 the held operand, 1 panel of the other operands, 2 result),
        chunk, depth (the first layer of a panel and of its result; if blocks come one by one, the
        number of the block), start, end, and for panels compute_start and compute_end.
    updates : (p,) int64 array
        Block updates of each worker; they sum to r s t.
    bounds : dict of str to float
        Lower bounds. "work", "traffic", "transfer" and "re-use" (section 3 of the paper) hold for
        every plan. "steady state" (without and with the traffic of C) holds for square chunks of at
        most the side that the memory allows.
    returns : {"lazy", "eager", ""}
        When results go back: just before the worker's next chunk, or as soon as the port is free.
        "" for method "exact", which sends them when that is best.
    variant : str
        Variant of "het", otherwise "".
    variants : dict of str to float
        Makespans of the variants of "het", if all were tried.
    cycle_times, link_costs : (p,) float64 arrays
        Time per block update, and per block on the port.
    memory : (p,) int64 array
        Buffers of each worker, one block each.
    planning_time : float
        Seconds that the planning took.
    """

    shape: tuple[int, int, int]
    makespan: float
    columns: NDArray[np.int64]
    enrolled: NDArray[np.int64]
    mu: NDArray[np.int64]
    chunks: NDArray[Any]
    messages: NDArray[Any]
    updates: NDArray[np.int64]
    bounds: dict[str, float]
    returns: str
    variant: str
    variants: dict[str, float]
    cycle_times: NDArray[np.float64]
    link_costs: NDArray[np.float64]
    memory: NDArray[np.int64]
    planning_time: float = field(compare=False)

    _table: ClassVar = {
        "shape": schema.Sizes("r", "s", "t", low=1, high=_LARGEST),
        "makespan": schema.Real(),
        "columns": schema.Array("i8", "p", high="s"),
        "enrolled": schema.Array("i8", "enrolled", high="p - 1"),
        "mu": schema.Array("i8", "p"),
        "chunks": schema.Columns(
            engine.STAR_CHUNK,
            "chunks",
            added=1,
            worker=(0, "p - 1"),
            held=(0, len(engine.HELD) - 1),
            buffers=(engine.STREAM_B, 2**31 - 1),
            height=(1, "r"),
            width=(1, "s"),
            depth=(1, 2**63 - 1),
            ahead=(0, 1),
        ),  # older files do not have the column ahead
        "messages": schema.Columns(
            engine.STAR_MESSAGE,
            "messages",
            worker=(0, "p - 1"),
            kind=(engine.LOAD, engine.RESULT),
            chunk=(0, "chunks - 1"),
        ),
        "updates": schema.Array("i8", "p"),
        "bounds": schema.Numbers(engine.BOUNDS, _FOR_ALL),
        "returns": schema.Text(*RETURNS, ""),
        "variant": schema.Text(*engine.VARIANTS, ""),
        "variants": schema.Numbers(engine.VARIANTS),
        "cycle_times": schema.Array("f8", "p", low=schema.LEAST, high=engine.MOST),
        "link_costs": schema.Array("f8", "p", high=engine.MOST),
        "memory": schema.Array("i8", "p"),
        "planning_time": schema.Real(),
    }

    def _check(self) -> None:
        (r, s, t), chunks, messages = self.shape, self.chunks, self.messages
        if r * s * t >= 2**63:
            raise ValueError(f"shape must have less than 2^63 block updates, got {self.shape}")
        for start, length, side in (("row", "height", r), ("col", "width", s)):
            if (bad := chunks[start] > side - chunks[length]).any():
                raise ValueError(
                    f"chunks[{int(np.argmax(bad))}] must lie inside the {r} x {s} blocks of C"
                )
        if (bad := messages["worker"] != chunks["worker"][messages["chunk"]]).any():
            raise ValueError(
                f"messages[{int(np.argmax(bad))}] must have the same worker as its chunk"
            )
        for first, last in (("start", "end"), ("compute_start", "compute_end")):
            if (bad := messages[first] > messages[last]).any():
                raise ValueError(f"messages[{int(np.argmax(bad))}]: {first} must be at most {last}")
        if not np.array_equal(self.enrolled, np.flatnonzero(self.updates)):
            raise ValueError("enrolled must be the workers with updates, ascending")

    @property
    def binding(self) -> str:
        """Name of the largest bound that holds for every plan."""
        return max(_FOR_ALL, key=self.bounds.__getitem__)

    @property
    def processor_time(self) -> float:
        """Makespan times the number of enrolled workers; the paper compares it as relative work."""
        return self.makespan * len(self.enrolled)

    def _on(self, platform: Platform) -> Plan:
        """The same chunks; the port serves the workers in the same order."""
        times, costs, memory = star_of(platform, self.shape)
        require_room(self, memory)
        star = engine.Star(self.shape, times, costs, memory)
        makespan, log = port_log(self, star, engine.LISTED)
        bounds = star.bounds(engine.DOUBLE)
        return self._carried(
            platform,
            makespan,
            max(bounds[name] for name in _FOR_ALL),
            messages=check.frozen(log),
            variant="",
            mu=check.frozen(_sides(memory, engine.DOUBLE)),
            bounds=check.FrozenDict(bounds),
            variants=check.FrozenDict(),
            cycle_times=check.frozen(times),
            link_costs=check.frozen(costs),
            memory=check.frozen(memory),
        )

    def _load(self) -> Any:
        return self.updates

    def steps(self) -> list[Step]:
        steps, held = [], self.chunks["held"].tolist()
        for (
            worker,
            kind,
            chunk,
            depth,
            start,
            end,
            compute_start,
            compute_end,
        ) in self.messages.tolist():
            layer = kind == engine.PANEL or (kind == engine.RESULT and held[chunk])
            names = {engine.PANEL: "panel", engine.RESULT: "result"}
            name = names.get(kind) or engine.HELD[held[chunk]]
            what = f"{name} {depth} of chunk {chunk}" if layer else f"{name} of chunk {chunk}"
            steps.append(Step(worker, "transfer", start, end, what))
            if kind == engine.PANEL:
                steps.append(Step(worker, "compute", compute_start, compute_end, what))
        return steps


@overload
def plan_product(
    r: int,
    s: int,
    t: int,
    platform: Platform,
    method: str = "best",
    *,
    returns: str = "lazy",
    variant: str | None = None,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> StarPlan: ...
@overload
def plan_product(
    r: int,
    s: int,
    t: int,
    platform: Sequence[Platform],
    method: str = "best",
    *,
    returns: str = "lazy",
    variant: str | None = None,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> PlanStack: ...
def plan_product(
    r: int,
    s: int,
    t: int,
    platform: Platform | Sequence[Platform],
    method: str = "best",
    *,
    returns: str = "lazy",
    variant: str | None = None,
    seed: int = 0,
    budget: float | None = None,
    progress: bool | Progress | None = None,
) -> StarPlan | PlanStack:
    """Plan C (r x s blocks) += A (r x t) B (t x s) on a star of workers with limited memory.

    The master holds the matrices and has one port: one message at a time, in either direction. A
    worker receives a chunk of C, then one panel of A and B after another while it computes, and
    sends the chunk back.

    Parameters
    ----------
    r, s, t : int
        Size in blocks of q x q elements, each at least 1.
    platform : Platform
        A star, with cycle_times per block update, link_costs per block, and memory in blocks. A
        worker without a memory limit can hold any chunk. Several platforms with the same number of
        workers are a stack: one plan for each, computed on all cores.
    method : str
        "best", "search", "exact", "overlap", "maxreuse", or one of the paper's seven algorithms:
        incremental selection ("het"); the best homogeneous platform for a memory size ("hom"), or
        for memory, link cost and cycle-time ("homi"); all workers in turn ("orroml"); min-min
        ("ommoml"); demand driven ("oddoml"); Toledo's blocks ("bmm").
        "maxreuse" is the paper's maximum re-use, demand driven. Blocks of A come one by one, so
        chunks are larger, but a worker does not compute while it receives.
        "overlap" is "oddoml" with room for two chunks of C, a remark of the paper. The next chunk
        comes before the result goes, so a worker computes without a pause, but chunks are smaller.
        "search" chooses for each worker what it holds (C, A or B), whether blocks come one by one
        or chunks ahead of results, the shape of its chunks, and how much it does, by rows or
        columns. It also chooses the order of the port. It begins with a relaxation, followed by
        annealing on simulated makespans.
        "best" is the best of all these. It leaves out "het" or "homi" if that method alone would
        take many seconds.
        "exact" is for small instances, and not tried by "best". It gives the least makespan if C
        stays with the worker, one chunk at a time, and two panels fit, over panels of full columns
        of any width up to mu and every order of the port.
    returns : {"lazy", "eager"}
        When results go back: just before the worker's next chunk, or as soon as they are ready and
        the port is free. Not for "exact".
    variant : str, optional
        For "het": "global" or "local", then "+ahead" for look-ahead, then "+c" to charge a worker's
        first chunk of C, as the paper does, or "+spread-c" to charge a share of it with every
        panel. Default: the best of the eight without "+spread-c".
    seed : int
        Seed of the search, 0 to 2**64 - 1. Without a budget, or with 0, the same arguments give the
        same plan.
    budget : float, optional
        Seconds for the search, or for the proof of "exact". Default: a fixed number of messages,
        10^7, which takes half a second for the search and about five for "exact".
    progress : bool or callable, optional
        For a stack: True shows a bar; a function is called with the fraction done.

    Returns
    -------
    StarPlan
        lower_bound holds for every plan, also for other shapes of chunks. With "exact", scope is
        "panels of full columns, one chunk at a time". For a stack: a PlanStack with makespan, bound
        and optimal (n,), and columns (n, p).

    Raises
    ------
    InfeasibleError
        If no worker's memory holds a chunk: 5 blocks, or 3 for "bmm" and "maxreuse", 6 for
        "overlap".
    ValueError, TypeError
        For arguments outside their ranges; ValueError also if "exact" finds no proof in its time.

    Notes
    -----
    Dongarra, Pineau, Robert, Vivien (2008), sections 4 to 6. mu is the largest integer with
    mu^2 + 4 mu <= memory. The search is our own; the plan's method says which method was best.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.Platform.star([2, 3], link_costs=[1, 2], memory=[12, 21])
    >>> plan = hs.plan_product(4, 8, 3, platform, "het")
    >>> plan.makespan, plan.columns.tolist(), plan.mu.tolist(), plan.variant
    (250.0, [5, 3], [2, 3], 'global')
    >>> plan = hs.plan_product(4, 8, 3, platform)
    >>> plan.makespan, plan.columns.tolist(), plan.method
    (195.0, [4, 4], 'search')
    >>> plan = hs.plan_product(4, 8, 3, platform, "exact")
    >>> print(plan.certificate)  # doctest: +NORMALIZE_WHITESPACE
    makespan 220, lower bound 131.507, gap 67.29%, optimal among panels of full columns, one chunk
    at a time (exact)
    """
    if (
        isinstance(platform, list | tuple)
        and platform
        and all(isinstance(one, Platform) for one in platform)
    ):
        common = {
            "r": r,
            "s": s,
            "t": t,
            "method": method,
            "returns": returns,
            "variant": variant,
            "seed": seed,
            "budget": budget,
        }
        return _star_stack(platform, common, progress)
    if progress is not None and progress is not False:
        raise ValueError("progress is for several platforms")
    return planned(
        r,
        s,
        t,
        cast(Platform, platform),
        method,
        returns=returns,
        variant=variant,
        seed=seed,
        budget=budget,
    )


def _star_stack(
    platforms: Sequence[Platform], common: dict[str, Any], progress: bool | Progress | None
) -> PlanStack:
    """One plan for each platform."""
    for i, one in enumerate(platforms):
        check.as_many(f"platform[{i}]", one.names, len(platforms[0]))

    def alone(row: int) -> NoReturn:
        """Raise the error of a row."""
        plan_alone(plan_product, row, {"platform": platforms}, common)
        raise ValueError(f"platform {row} of the stack has no plan in the time of its budget")

    own = dict(common)
    shape = _shape_of(*(own.pop(name) for name in ("r", "s", "t")))
    rows = []
    for i, one in enumerate(platforms):
        try:
            rows.append(star_of(one, shape))
        except (ValueError, TypeError):
            alone(i)
    times, costs, memory = (np.stack(arrays) for arrays in zip(*rows, strict=True))
    wish = _wish_of(**own)
    with reporting(progress) as tell:
        try:
            results = engine.star_batch(shape, times, costs, memory, wish, threads_here(), tell)
        except RowError as error:
            alone(error.row)
    stacked = {"platform": np.fromiter(platforms, object, len(platforms))}
    return stack_of(
        (len(platforms),), common["method"], "makespan", results, plan_product, stacked, common
    )


def _shape_of(r: int, s: int, t: int) -> tuple[int, int, int]:
    return (
        check.integer("r", r, low=1, high=_LARGEST),
        check.integer("s", s, low=1, high=_LARGEST),
        check.integer("t", t, low=1, high=_LARGEST),
    )


def _wish_of(
    method: str,
    returns: str,
    variant: str | None,
    seed: int,
    budget: float | None,
    effort: int = 0,
) -> engine.Wish:
    """The checked options of `plan_product`."""
    check.choice("method", method, engine.METHODS)
    check.choice("returns", returns, RETURNS)
    if returns != "lazy" and method == "exact":
        raise ValueError(
            "returns is not for method='exact',"
            f" which sends results when that is best, got {returns!r}"
        )
    if variant is not None and method != "het":
        raise ValueError(f"variant is for method='het', got {variant!r} with {method!r}")
    if variant is not None:
        check.choice("variant", variant, engine.VARIANTS)
    seed = check.integer("seed", seed, low=0, high=2**64 - 1)
    if budget is not None:
        budget = check.number("budget", budget, low=0.0)
    return engine.Wish(method, returns == "eager", variant, seed, budget, effort)


def planned(
    r: int,
    s: int,
    t: int,
    platform: Platform,
    method: str,
    *,
    returns: str = "lazy",
    variant: str | None = None,
    seed: int = 0,
    budget: float | None = None,
    effort: int = 0,
) -> StarPlan:
    """The plan of `plan_product`; effort is the number of messages of a search without a budget, 0
    for the default."""
    start = time.perf_counter()
    shape = _shape_of(r, s, t)
    times, costs, memory = star_of(platform, shape)
    wish = _wish_of(method, returns, variant, seed, budget, effort)
    least = engine.least_memory(method)
    if memory.max() < least:
        raise InfeasibleError(
            f"platform: no worker's memory holds a chunk: {method!r} needs at least {least} blocks,"
            f" the largest is {memory.max()}"
        )
    if (updates := math.prod(shape)) >= 2**63:
        raise ValueError(f"r * s * t must be less than 2^63 block updates, got {updates}")
    star = engine.Star(shape, times, costs, memory)
    failure = (
        "method='exact' is for small instances:"
        f" r, s, t = {shape} on {np.count_nonzero(memory >= least)} workers"
    )
    if method == "exact" and (most := star.most_of_exact()[1]) > engine.EXACT_MESSAGES:
        raise ValueError(
            f"{failure} can need {most} messages, at most {engine.EXACT_MESSAGES} are tried"
        )
    try:
        found = star.best(wish, method in _SEARCHES or updates * len(times) > _LONG)
    except NotImplementedError:
        if method == "exact":
            raise ValueError(f"{failure} need a larger budget, or use method 'search'") from None
        raise too_many(shape) from None
    return plan_of(found, shape, platform, (times, costs, memory), wish, start)


def too_many(shape: tuple[int, int, int]) -> ValueError:
    return ValueError(
        f"r, s, t = {shape} need more messages, at most {engine.MOST_MESSAGES} can be simulated:"
        " sizes are in blocks of q x q elements"
    )


def plan_of(
    found: engine.Decision,
    shape: tuple[int, int, int],
    platform: Platform,
    star: Star,
    wish: engine.Wish,
    start: float,
) -> StarPlan:
    """The plan of a decision of the engine."""
    times, costs, memory = star
    parts = found.parts
    return trusted(
        StarPlan,
        method=found.method,
        asked=wish.method,
        **found.certificate,
        shape=shape,
        columns=check.frozen(parts["columns"]),
        enrolled=check.frozen(np.flatnonzero(parts["updates"])),
        mu=check.frozen(parts["side"]),
        chunks=check.frozen(found.chunks),
        messages=check.frozen(found.messages),
        updates=check.frozen(parts["updates"]),
        bounds=check.FrozenDict(found.bounds),
        returns="" if found.method == "exact" else RETURNS[wish.eager],
        variant=found.variant,
        variants=check.FrozenDict(found.variants),
        cycle_times=check.frozen(times),
        link_costs=check.frozen(costs),
        memory=check.frozen(memory),
        **whose(platform, len(platform)),
        planning_time=time.perf_counter() - start,
    )


def _sides(memory: NDArray[np.int64], layout: int) -> NDArray[np.int64]:
    return np.array([engine.star_side(int(m), layout) for m in memory], np.int64)


def port_log(plan: StarPlan, star: engine.Star, order: int) -> tuple[float, NDArray[Any]]:
    """Makespan and messages of a plan's chunks on another star; order is an hs_star_order.

    Raises
    ------
    ValueError
        If no port can send the chunks and their messages in that order.
    """
    served = np.ascontiguousarray(plan.messages["worker"])
    try:
        return star.simulate(plan.chunks, order, served, False, len(served) > _LONG)
    except ValueError as error:
        raise no_port(error) from error


def no_port(error: ValueError) -> ValueError:
    """The error for a plan that the engine refuses to simulate."""
    return ValueError(f"plan has chunks and messages that no port can send: {error}")


def star_of(platform: Platform, shape: tuple[int, ...]) -> Star:
    """Checked cycle-times, link costs and memory of a star."""
    if not isinstance(platform, Platform):
        raise TypeError(
            "platform must be a Platform with link costs and memory, such as"
            f" Platform.star(cycle_times, link_costs, memory), got {type(platform).__name__}"
        )
    require_star("platform", platform)
    platform = platform.per(Unit("block update", "block"), "plan_product")
    for name, values in (
        ("cycle_times", platform.cycle_times),
        ("link_costs", platform.link_costs),
    ):
        if (values > engine.MOST).any():
            raise ValueError(
                f"platform.{name}[{int(np.argmax(values))}] must be at most {engine.MOST:g}, got"
                f" {values.max():g}"
            )
    side = min(max(shape), 2**26)
    unlimited = min(side * side + 4 * side, 2**53)
    memory = np.array([unlimited if m is None else m for m in platform.memory], np.int64)
    return platform.cycle_times, platform.link_costs, memory


def require_room(plan: StarPlan, memory: NDArray[np.int64]) -> None:
    """ValueError if a worker's memory is too small for a chunk and the panels that it holds."""
    try:
        needs = engine.needs(plan.shape[2], len(plan.names), plan.chunks)
    except ValueError as error:
        raise ValueError(f"plan has chunks that no worker can hold: {error}") from error
    if (less := memory < needs).any():
        i = int(np.argmax(less))
        raise ValueError(
            f"plan needs {needs[i]} blocks of memory at worker {plan.names[i]},"
            f" which has {memory[i]}"
        )
