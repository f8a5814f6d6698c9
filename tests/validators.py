"""A judge for every public plan: its value computed anew from its own content, by slow and obvious replays.

`validate` raises AssertionError, in words, for a plan that contradicts itself or the model that it is a plan for. Of hetsched
only the types of the plans are used; what a plan says of itself by methods (steps, certificates) is judged too, never trusted.
"""

from __future__ import annotations

import itertools
import math
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np
import oracles_divisible
import oracles_floorplan
import oracles_grid
import oracles_layers
import oracles_lu
import oracles_mesh
import oracles_ring
import oracles_stencil
import oracles_tasks
import oracles_wavefront

import hetsched as hs
from hetsched.plan import Plan
from hetsched.planners.compare import Comparison

EXACT, CLOSE = 1e-12, 1e-9  # relative: of sums of a few doubles; of long chains and of what solvers leave
TILES = 600  # work up to which the slow oracles are asked: tiles, blocks, pairs of boxes
FLOPS = {"float32": 2.0, "float64": 2.0, "complex64": 8.0, "complex128": 8.0}
BYTES = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}


def validate(plan: Any) -> None:
    """Raise AssertionError if anything about the plan is wrong."""
    kind = type(plan)
    if isinstance(plan, Comparison):
        for part in plan.values():
            validate(part)
        return
    assert kind in VALIDATORS, f"no validator for {kind.__name__}"
    _arrays(plan)
    if isinstance(plan, Plan):
        _certificate(plan)
    try:
        VALIDATORS[kind](plan)
    except AssertionError as error:
        if str(error):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]  # an oracle's, without words
        raise AssertionError(f"the replay of a {kind.__name__} fails in {place.name}: {place.line}") from error


# ---- what all have ------------------------------------------------------------------------------------------------


def _same(name: str, given: Any, wanted: Any, tolerance: float = 0.0, scale: float = 0.0) -> None:
    """Equal up to the relative tolerance, and the same again of the scale."""
    mine, own = np.asarray(given, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    assert mine.shape == own.shape, f"{name} has shape {mine.shape}, not {own.shape}"
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(own), max(scale, 1e-300))  # of denormal numbers a rounding is much
        equal = (mine == own) | (np.abs(mine - own) <= tolerance * size)
    assert equal.all(), f"{name} is {given!r}, by its own content {wanted!r}"


def _arrays(plan: Any) -> None:
    """Read-only, without NaN."""
    for field in fields(plan):
        value = getattr(plan, field.name)
        parts = value if isinstance(value, tuple) else (value,)
        for part in parts:
            if isinstance(part, np.ndarray):
                assert not part.flags.writeable, f"{field.name} can be written to"
                if part.dtype.kind == "f":
                    assert not np.isnan(part).any(), f"{field.name} has a NaN"
            elif isinstance(part, float):
                assert not math.isnan(part), f"{field.name} is NaN"


def _certificate(plan: Plan) -> None:
    assert isinstance(plan.method, str), "method is no string"
    assert plan.method, "method is empty"
    assert isinstance(plan.scope, str), "scope is no string"
    assert type(plan.optimal) is bool, f"optimal is {plan.optimal!r}, no bool"
    value, bound = plan.value, plan.bound
    assert math.isfinite(value), f"the value is {value}"
    assert isinstance(bound, int | float), f"the bound is {bound!r}"
    assert math.isfinite(bound), f"the bound is {bound}"
    assert bound >= 0, f"the bound {bound} is negative"
    assert bound <= value if plan.sense == "min" else value <= bound, f"the bound {bound!r} is not one of the value {value!r}"
    assert plan.gap >= 0, f"gap {plan.gap}"
    if not isinstance(plan, hs.MaxTasks):
        _same("gap", plan.gap, 0.0 if value == bound else (value - bound) / bound if bound else math.inf, EXACT)
        assert not plan.optimal or value <= bound * (1 + EXACT), f"optimal, but the value {value!r} is above its bound {bound!r}"
        assert plan.optimal or value > bound, "the value is its own bound, but optimal is False"
    certificate = plan.certificate
    assert certificate[:7] == (plan._value, plan.sense, value, bound, plan.gap, plan.optimal, plan.scope), "another certificate"
    assert isinstance(plan, hs.DistributionStack) or str(certificate) in repr(plan), "repr without the certificate"
    names = plan.names
    assert isinstance(names, tuple), "names are no tuple"
    assert names, "nobody has a name"
    assert all(isinstance(name, str) for name in names), f"names are {names}"
    times = getattr(plan, "cycle_times", None)
    if isinstance(times, np.ndarray):
        assert times.shape[-1] == len(names), f"{len(names)} names for {times.shape[-1]} workers"
        assert (times > 0).all(), "a cycle-time is not positive"
    assert plan.to_dict()["type"] == type(plan).__name__, "to_dict has another type"


def _ints(name: str, array: Any, shape: tuple[int, ...] | None = None, kind: str = "i") -> list[Any]:
    assert isinstance(array, np.ndarray), f"{name} is no array"
    assert array.dtype.kind == kind, f"{name} has dtype {array.dtype}"
    assert shape is None or array.shape == shape, f"{name} has shape {array.shape}, not {shape}"
    return array.tolist()


def _dealt(counts: list[int], displs: list[int] | None, times: Sequence[float]) -> None:
    assert all(count >= 0 for count in counts), f"counts {counts} have a negative one"
    if displs is not None:
        assert displs == [sum(counts[:i]) for i in range(len(counts))], f"displs {displs} do not follow from counts {counts}"
    idle = [i for i, (count, time) in enumerate(zip(counts, times, strict=True)) if count and math.isinf(time)]
    assert not idle, f"worker {idle} has something to do and an infinite cycle-time"


def _fastest_division(n: int, times: Sequence[float]) -> Fraction:
    """The n-th smallest of all multiples of the times, by bisection over the rationals."""
    finite = [Fraction(t) for t in times if not math.isinf(t)]
    if n == 0:
        return Fraction(0)
    best = None
    for t in finite:  # the least multiple of each that n multiples are not above
        low, high = 1, n
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if sum(middle * t // other for other in finite) >= n else (middle + 1, high)
        if sum(low * t // other for other in finite) >= n:
            best = low * t if best is None else min(best, low * t)
    assert best is not None
    return best


def _replayed(plan: Plan, *, end: float | None, shared: bool = False, scale: float = 0.0) -> None:
    """The steps: inside the plan, the last one at its end, no worker computes two things at a time (unless shared)."""
    own: dict[int, list[tuple[float, float]]] = {}
    last = 0.0
    for worker, kind, start, stop, what in plan.steps():
        assert 0 <= worker < len(plan.names), f"a step of worker {worker}"
        assert kind in ("compute", "transfer"), f"a step of kind {kind!r}"
        assert isinstance(what, str), "a step without words"
        assert math.isfinite(start), f"a step starts at {start}"
        assert math.isfinite(stop), f"a step ends at {stop}"
        assert 0 <= start <= stop, f"a step from {start} to {stop}"
        last = max(last, stop)
        if kind == "compute":
            own.setdefault(worker, []).append((start, stop))
    slack = CLOSE * max(last, scale)
    for worker, stretches in own.items():
        for (_, stop), (start, _) in itertools.pairwise(sorted(stretches)):
            assert shared or start >= stop - slack, f"worker {worker} does two things at a time"
    if end is not None:
        _same("the end of the last step", last, end, CLOSE, scale)


# ---- one dimension ------------------------------------------------------------------------------------------------


def _distribution(plan: hs.Distribution) -> None:
    times = plan.cycle_times.tolist()
    counts = _ints("counts", plan.counts, (len(times),))
    _dealt(counts, _ints("displs", plan.displs, (len(times),)), times)
    _same("makespan", plan.makespan, max([0.0, *(c * t for c, t in zip(counts, times, strict=True) if c)]))
    assert plan.optimal or plan.method == "given", "a distribution is always optimal"
    least = float(_fastest_division(sum(counts), times))
    _same("lower_bound, of the best counts", plan.lower_bound, least, EXACT)
    assert plan.optimal == (plan.makespan == plan.lower_bound), "optimal or not"
    if sum(counts) and len(counts) <= TILES:
        _replayed(plan, end=plan.makespan)


def _stack(plan: hs.DistributionStack) -> None:
    shape, p = plan.makespan.shape, len(plan.names)
    for name in ("counts", "displs", "cycle_times"):
        assert getattr(plan, name).shape == (*shape, p), f"{name} has shape {getattr(plan, name).shape}"
    for index in itertools.islice(np.ndindex(shape), TILES):
        one = plan[index]
        assert isinstance(one, hs.Distribution), f"plan[{index}] is a {type(one).__name__}"
        validate(one)
        _same(f"makespan{list(index)}", plan.makespan[index], one.makespan)
    _same("value", plan.value, plan.makespan.max(initial=0.0))
    assert plan.optimal, "distributions are always optimal"


def _profile(plan: hs.ProfileDistribution) -> None:
    p = len(plan.names)
    counts, times = _ints("counts", plan.counts, (p,)), plan.times.tolist()
    _dealt(counts, _ints("displs", plan.displs, (p,)), times)
    for i, (count, time) in enumerate(zip(counts, times, strict=True)):
        assert (time > 0) == (count > 0), f"worker {i} needs {time} for {count} chunks"
    _same("makespan", plan.makespan, max(times))
    assert plan.optimal or plan.method == "given", "always optimal"
    mean = [t / c if c else math.inf for c, t in zip(counts, times, strict=True)] if any(counts) else [1.0] * p
    _same("cycle_times", plan.cycle_times, mean)
    _replayed(plan, end=plan.makespan)


def _lu_pattern(plan: hs.LuPattern) -> None:
    times, owner = plan.cycle_times.tolist(), _ints("owner", plan.owner)
    p, n = len(times), len(owner)
    assert all(0 <= w < p for w in owner), "an owner that does not exist"
    counts = _ints("counts", plan.counts, (p,))
    assert counts == [owner.count(w) for w in range(p)], f"counts {counts} are not those of owner {owner}"
    _dealt(counts, None, times)
    if plan.period is not None:
        assert 1 <= plan.period < n, f"period {plan.period} of {n}"
        assert all(a == b for a, b in zip(owner[::-1], owner[::-1][plan.period :], strict=False)), "the period is another"
    if n > TILES:
        return
    costs, left, bounds = [], [0] * p, [0.0]
    for k in range(n - 1, 0, -1):
        left[owner[k]] += 1
        costs.append(max(c * t for c, t in zip(left, times, strict=True) if c))
    _same("step_costs", plan.step_costs, costs[::-1])
    _same("cost", plan.cost, float(sum(map(Fraction, costs))), EXACT)
    greedy = [0] * p
    for _ in range(n - 1):
        i = min(range(p), key=lambda w: (greedy[w] + 1) * times[w])
        greedy[i] += 1
        bounds.append(max(bounds[-1], greedy[i] * times[i]))
    _same("lower_bound", plan.lower_bound, math.fsum(bounds), EXACT)
    assert plan.method != "pattern" or plan.period or plan.optimal, "the pattern of one slice is optimal"
    if n <= 100:
        _replayed(plan, end=plan.cost)


def _lu_grid(plan: hs.LuGrid) -> None:
    times, owner = plan.cycle_times.tolist(), _ints("owner", plan.owner)
    p, n = len(times), len(owner)
    assert plan.owner.shape == (n, n), f"owner has shape {plan.owner.shape}"
    flat = [w for row in owner for w in row]
    assert all(0 <= w < p for w in flat), "an owner that does not exist"
    counts = _ints("counts", plan.counts, (p,))
    assert counts == [flat.count(w) for w in range(p)], "counts are not those of owner"
    _dealt(counts, None, times)
    traffic, received = _ints("traffic", plan.traffic, (n,)), _ints("received", plan.received, (p,))
    assert sum(traffic) == sum(received), "what is sent is not what is received"
    _same("makespan", plan.makespan, math.fsum(plan.loads.tolist()), EXACT)
    sent = sum(traffic)
    _same("cost", plan.cost, plan.makespan + plan.link_cost * sent, EXACT)
    speed = sum(1 / Fraction(t) for t in times if not math.isinf(t))
    _same("ideal", plan.ideal, [float((n - 1 - k) ** 2 / speed) for k in range(n)], EXACT)
    if n <= 12:
        loads, sends, gets = oracles_grid.recount(owner, times)
        _same("loads", plan.loads, [float(load) for load in loads], EXACT)
        assert traffic == sends, f"traffic {traffic}, counted {sends}"
        assert received == gets, f"received {received}, counted {gets}"
        least = sum(_fastest_division((n - 1 - k) ** 2, times) for k in range(n))
        if plan.link_cost > 0:
            least = sum(max(_fastest_division(m * m, times), _least_with_messages(m, times, plan.link_cost)) for m in range(n))
        _same("lower_bound", plan.lower_bound, min(float(least), plan.cost), EXACT)
        _replayed(plan, end=plan.makespan)


def _least_with_messages(m: int, times: Sequence[float], link_cost: float) -> float:
    """No step with m x m updates costs less: over the numbers of workers that do all they can within the load."""
    speeds = sorted((1 / t for t in times if not math.isinf(t)), reverse=True)
    costs = []
    for q in range(1, len(speeds) + 1):
        rate = math.fsum(speeds[:q])
        sides = math.fsum(2 * m * math.sqrt(speed / rate) for speed in speeds[:q])
        costs.append(m * m / rate + link_cost * (sides - 2 * m))
    return min(costs)


def _divides(T: float, updates: float, panels: float, times: Sequence[float], panel_times: Sequence[float]) -> bool:
    """Whether workers can do so much of both kinds in time T: panels go to whoever is best at them, in comparison."""
    workers = [(t, q) for t, q in zip(times, panel_times, strict=True) if not math.isinf(t)]
    done = 0.0
    for t, q in sorted(workers, key=lambda w: w[1] / w[0]):
        spent = min(T, panels * q) if panels > 0 else 0.0
        panels = 0.0 if panels * q <= T else panels - T / q
        done += (T - spent) / t
    return panels <= 0 and done >= updates


def _lu_plan(plan: hs.LuPlan) -> None:
    times, panel_times = plan.cycle_times.tolist(), plan.panel_times.tolist()
    (m, n), p, owner = plan.shape, len(times), _ints("owner", plan.owner)
    blocks = len(owner)
    assert all(0 <= w < p for w in owner), "an owner that does not exist"
    counts = _ints("counts", plan.counts, (p,))
    assert counts == [owner.count(w) for w in range(p)], "counts are not those of owner"
    _dealt(counts, None, times)
    assert plan.block >= 1, f"block {plan.block}"
    if min(m, n) == 0:
        _same("makespan", plan.makespan, 0.0)
        return
    cuts = oracles_lu.edges(m, n, plan.block)
    assert len(cuts) - 1 == blocks, f"{blocks} owners of {len(cuts) - 1} blocks"
    assert plan.makespan > 0, "work that takes no time"
    steps = plan.tasks["panel"] == plan.tasks["block"]
    updates, panels = (float(plan.tasks["flops"][which].sum()) / 1e9 for which in (~steps, steps))
    if plan.ideal > 1e-290:  # of a denormal number a rounding is much
        assert _divides(plan.ideal * (1 + CLOSE), updates, panels, times, panel_times), "ideal is too short"
        assert not _divides(plan.ideal * (1 - CLOSE), updates, panels, times, panel_times), "ideal is too long"
    assert plan.lower_bound >= min(plan.ideal, plan.makespan) * (1 - EXACT), "the bound is below the ideal"
    _same("efficiency", plan.efficiency, plan.ideal / plan.makespan, EXACT)
    if blocks > 24:
        return
    flops, data = FLOPS[plan.dtype], BYTES[plan.dtype]
    unit = Fraction(10) ** 9
    rates = [Fraction(t) * Fraction(flops) / unit if not math.isinf(t) else None for t in times]
    slow = [Fraction(t) * Fraction(flops) / unit if not math.isinf(t) else None for t in panel_times]
    links = None if plan.links is None else [[Fraction(c) * data / unit for c in row] for row in plan.links.tolist()]
    tasks, messages = oracles_lu.schedule(m, n, plan.block, owner, rates, slow, links, plan.look_ahead)
    assert len(plan.tasks) == len(tasks), f"{len(plan.tasks)} tasks, there are {len(tasks)}"
    for worker, panel, block, start, end, _ in plan.tasks.tolist():
        assert (worker, panel, block) in tasks, f"worker {worker} does panel {panel}, block {block}"
        _same("a task's times", (start, end), [float(x) for x in tasks[worker, panel, block]], CLOSE, plan.makespan)
    assert len(plan.messages) == len(messages), f"{len(plan.messages)} messages, there are {len(messages)}"
    for panel, sender, receiver, start, end in plan.messages.tolist():
        assert owner[panel] == sender, "a panel that another worker sends"
        _same("a message's times", (start, end), [float(x) for x in messages[panel, receiver]], CLOSE, plan.makespan)
    _same("makespan", plan.makespan, float(max(end for _, end in tasks.values())), CLOSE)
    _replayed(plan, end=None)


def _wavefront(plan: hs.Wavefront) -> None:
    times, owner = plan.cycle_times.tolist(), _ints("owner", plan.owner)
    p, (rows, cols) = len(times), plan.shape
    assert len(owner) == plan.shape[plan.axis], f"{len(owner)} lines have owners"
    assert all(0 <= w < p for w in owner), "an owner that does not exist"
    counts = _ints("counts", plan.counts, (p,))
    assert counts == [owner.count(w) for w in range(p)], "counts are not those of owner"
    _dealt(counts, None, times)
    assert {"W", "N"} <= set(plan.mask) <= set(oracles_wavefront.OFFSETS), f"mask {plan.mask}"
    assert plan.reach == int(bool({"NE", "SW"} & set(plan.mask))), "reach is not that of the mask"
    assert plan.period >= 1, f"period {plan.period}"
    if plan.method == "panels" and not plan.redistributed:
        assert all(a == b for a, b in zip(owner, owner[plan.period :], strict=False)), "the panels differ"
    if rows * cols > TILES:
        return
    exact = [Fraction(0) if math.isinf(t) else Fraction(t) for t in times]
    makespan, _ = oracles_wavefront.schedule(plan.shape, exact, owner, plan.mask, plan.order, plan.axis)
    _same("makespan", plan.makespan, float(makespan), EXACT * (rows + cols))
    oracles_wavefront.validate(plan.steps(), plan.shape, owner, plan.mask, plan.axis)
    _replayed(plan, end=plan.makespan)
    if rows * cols <= 6 and p <= 2 and plan.axis == 1 and all(exact):
        least = float(oracles_wavefront.least_makespan(plan.shape, exact, plan.mask))
        assert plan.lower_bound <= least * (1 + EXACT), f"lower_bound {plan.lower_bound!r} is above the optimum {least!r}"


# ---- two and three dimensions -------------------------------------------------------------------------------------


def _span(stretches: Iterable[tuple[float, float]]) -> float:
    """Length of a union of (start, length)."""
    total, reached = 0.0, -math.inf
    for start, length in sorted(stretches):
        total += length if start >= reached else max(0.0, start + length - reached)
        reached = max(reached, start + length)
    return total


def _tiles(boxes: list[list[float]], sides: Sequence[float], tolerance: float) -> None:
    """Boxes (starts, lengths) inside the sides, apart from each other, and as large together."""
    dims = len(sides)
    for box in boxes:
        for start, length, side in zip(box[:dims], box[dims:], sides, strict=True):
            assert length > 0, f"{box} is empty"
            assert start >= -tolerance * side, f"{box} begins outside"
            assert start + length <= side * (1 + tolerance), f"{box} ends outside"
    volumes = [math.prod(box[dims:]) for box in boxes]
    whole = math.prod(sides)
    total = sum(volumes) if tolerance == 0 else math.fsum(volumes)
    assert abs(total - whole) <= tolerance * whole, f"the zones are {total} together, the whole is {whole}"
    if len(boxes) ** 2 > 100 * TILES:
        return
    for one, two in itertools.combinations(boxes, 2):
        common = [
            min(a + x, b + y) - max(a, b) for a, x, b, y in zip(one[:dims], one[dims:], two[:dims], two[dims:], strict=True)
        ]
        over = any(c <= tolerance * side for c, side in zip(common, sides, strict=True))
        assert over, f"{one} and {two} overlap"


def _postfix(plan: Sequence[int]) -> list[int]:
    """The workers of a floorplan, each operator with its operands before it."""
    stack, workers = 0, []
    for entry in plan:
        if entry >= 0:
            workers.append(entry)
            stack += 1
        else:
            takes = {-1: 2, -2: 2, -3: 5, -4: 2}[entry]
            assert stack >= takes, "a floorplan with too few zones for a cut"
            stack -= takes - 1
    assert stack == 1, f"a floorplan that ends with {stack} parts"
    return workers


def _partition(plan: hs.Partition) -> None:
    p, whole = len(plan.areas), plan.shape or (1, 1)
    assert len(plan.names) == p, "a name for each worker"
    _same("sum of areas", plan.areas.sum(), 1.0, EXACT)
    kind = "f" if plan.shape is None else "i"
    pieces = _ints("pieces", plan.pieces, (len(plan.pieces), 5), kind)
    owners = [int(piece[0]) for piece in pieces]
    assert owners == sorted(owners), "pieces are not sorted by worker"
    assert all(0 <= w < p for w in owners), "a worker that does not exist"
    _tiles([piece[1:] for piece in pieces], whole, 0.0 if plan.shape else CLOSE)
    spans = np.zeros((p, 2))
    for w in range(p):
        own = [piece[1:] for piece in pieces if piece[0] == w]
        spans[w] = [_span((piece[a], piece[a + 2]) for piece in own) for a in (0, 1)]
        area = sum(piece[2] * piece[3] for piece in own)
        _same(f"actual_areas[{w}]", plan.actual_areas[w], area / math.prod(whole), EXACT)
        if plan.shape is None:
            _same(f"area of worker {w}", area, plan.areas[w], CLOSE, 1e-6)
        assert plan.areas[w] > 0 or not own, f"worker {w} has a zone and no area"
    several = [w for w in set(owners) if owners.count(w) > 1]  # lengths of unions are differences of places
    _same("spans", np.delete(plan.spans, several, 0), np.delete(spans, several, 0))
    _same("spans of several pieces", plan.spans[several], spans[several], EXACT, 1e-3 * max(whole))
    costs = plan.link_costs * spans.sum(axis=1)
    if plan.objective == "max":
        cost = float(costs.max())
    else:
        cost = math.fsum(costs.tolist())
        if plan.groups is not None:
            for group in set(plan.groups.tolist()):
                own = [piece[1:] for piece in pieces if plan.groups[int(piece[0])] == group]
                cost += plan.group_cost * math.fsum(_span((piece[a], piece[a + 2]) for piece in own) for a in (0, 1))
                if plan.shape is None and own:  # a rectangle
                    box = math.prod(max(x[a] + x[a + 2] for x in own) - min(x[a] for x in own) for a in (0, 1))
                    _same("area of a group's rectangle", sum(x[2] * x[3] for x in own), box, CLOSE)
    _same("cost", plan.cost, cost, EXACT * 10)
    given = [i for i in range(p) if plan.areas[i] > 0]
    if plan.objective == "sum" and plan.groups is None:
        there = [i for i in range(p) if plan.actual_areas[i] > 0]
        sizes, weights = plan.actual_areas[there].tolist(), plan.link_costs[there].tolist()
        least = oracles_floorplan.bound(sizes, whole, weights)
        if len(there) == 3 and len(set(weights)) == 1:
            least = max(least, weights[0] * oracles_floorplan.bound_of_three(sizes, whole))
        _same("lower_bound", plan.lower_bound, min(least, plan.cost), CLOSE)
    _same("imbalance", plan.imbalance, max(plan.actual_areas[i] / plan.areas[i] for i in given), EXACT)
    if plan.floorplan:
        assert sorted(_postfix(plan.floorplan)) == given, "the floorplan has other workers than those with an area"
    if plan.columns:
        assert sorted(itertools.chain(*plan.columns)) == sorted(set(owners)), "columns have other workers than pieces"
    if len(set(owners)) == len(owners):
        rects = np.zeros((p, 4))
        rects[owners] = [piece[1:] for piece in pieces]
        _same("rects", plan.rects, rects)
    _replayed(plan, end=None)


def _cuboids(plan: hs.Cuboids) -> None:
    p, whole = len(plan.volumes), plan.shape or (1, 1, 1)
    kind = "f" if plan.shape is None else "i"
    boxes = _ints("boxes", plan.boxes, (p, 6), kind)
    _same("sum of volumes", plan.volumes.sum(), 1.0, EXACT)
    used = [i for i in range(p) if any(boxes[i][3:])]
    assert all(boxes[i] == [0] * 6 for i in range(p) if i not in used), "an empty box that is somewhere"
    assert all(plan.volumes[i] > 0 for i in used), "a box for a worker without volume"
    _tiles([boxes[i] for i in used], whole, 0.0 if plan.shape else CLOSE)
    alpha, beta, gamma = plan.weights
    sizes = [boxes[i][3:] for i in used]
    _same("cost", plan.cost, math.fsum(alpha * h * k + beta * k * w + gamma * h * w for h, w, k in sizes), EXACT * 10)
    actual = [math.prod(box[3:]) / math.prod(whole) for box in boxes]
    _same("actual_volumes", plan.actual_volumes, actual, EXACT)
    if plan.shape is None:
        _same("volumes of the boxes", actual, plan.volumes, CLOSE, 1e-6)
    given = [i for i in range(p) if plan.volumes[i] > 0]
    _same("imbalance", plan.imbalance, max(plan.actual_volumes[i] / plan.volumes[i] for i in given), EXACT)
    _replayed(plan, end=None)


def _recut(found: hs.Recut) -> None:
    for part in (found.old, found.plan, found.fresh):
        validate(part)
    assert found.plan.floorplan == found.old.floorplan, "the floorplan has changed"
    assert found.plan.shape == found.old.shape == found.fresh.shape, "the shapes differ"
    for name, new in (("moved", found.plan), ("fresh_moved", found.fresh)):
        kept = 0.0
        for one, two in itertools.product(found.old.pieces.tolist(), new.pieces.tolist()):
            if one[0] == two[0]:
                across = [min(one[a] + one[a + 2], two[a] + two[a + 2]) - max(one[a], two[a]) for a in (1, 2)]
                kept += max(across[0], 0.0) * max(across[1], 0.0)
        _same(name, getattr(found, name), 1.0 - kept / math.prod(found.old.shape or (1, 1)), CLOSE, 1.0)
        least = np.abs(new.actual_areas - found.old.actual_areas).sum() / 2
        assert getattr(found, name) >= least - CLOSE, f"{name} is less than the areas change"
    changes = [np.abs(new.actual_areas - found.old.actual_areas).sum() / 2 for new in (found.plan, found.fresh)]
    _same("moved_bound", found.moved_bound, min(changes), CLOSE, 1.0)
    assert found.moved_bound <= min(found.moved, found.fresh_moved), "moved less than its bound"


# ---- one bus ------------------------------------------------------------------------------------------------------


def _assignment(found: hs.Assignment) -> None:
    rows, cols = _ints("rows", found.rows), _ints("cols", found.cols)
    m, n = len(found.row_prices), len(found.col_prices)
    assert len(rows) == len(cols) == min(m, n), f"{len(rows)} rows and {len(cols)} columns of {m} x {n}"
    assert rows == sorted(set(rows)), "rows do not ascend"
    assert len(set(cols)) == len(cols), "a column twice"
    assert all(0 <= i < m for i in rows), "a row outside"
    assert all(0 <= j < n for j in cols), "a column outside"
    prices = [Fraction(x) for x in (*found.row_prices.tolist(), *found.col_prices.tolist())]
    most = float(max(map(abs, prices)))
    _same("bound", found.bound, float(sum(prices)), EXACT, most)
    if isinstance(found.cost, int):
        assert found.bound == sum(prices), "the bound is not the sum of the prices"
        assert found.optimal == (found.cost == found.bound), "optimal, or not, for no reason"
    else:
        assert math.isfinite(found.cost), f"the cost is {found.cost}"
        assert found.optimal == (abs(found.cost - found.bound) <= EXACT * most * len(rows)), "optimal, or not, for no reason"
    assert "cost" in repr(found), "repr without the cost"


def _bus(
    counts: Sequence[Any], send_order: list[int], receive_order: list[int], times: list[float], out: Any, back: Any
) -> Fraction:
    """The exact end: messages out one after the other, then those back as soon as worker and bus are ready."""
    bus, end = Fraction(0), Fraction(0)
    done = {}
    for i in send_order:
        bus += out(i)
        done[i] = bus + Fraction(counts[i]) * Fraction(times[i])
        end = max(end, done[i])
    for i in receive_order:
        if length := back(i):
            bus = max(bus, done[i]) + length
            end = max(end, bus)
    return end


def _tasks(plan: Any) -> None:
    times = plan.cycle_times.tolist()
    p = len(times)
    counts = _ints("counts", plan.counts, (p,))
    _dealt(counts, None, times)
    assert sum(counts) == plan.tasks, f"{sum(counts)} tasks are dealt, {plan.tasks} said"
    send, receive = (np.broadcast_to(x, p).tolist() for x in (plan.send, plan.receive))
    order, back = _ints("send_order", plan.send_order), _ints("receive_order", plan.receive_order)
    busy = [i for i in range(p) if counts[i]]
    assert sorted(order) == busy, f"messages go to {order}, tasks are with {busy}"
    if any(receive):
        assert sorted(back) == busy, f"answers come from {back}, tasks are with {busy}"
    else:
        assert not back, "answers without messages"
    end = _bus(counts, order, back, times, lambda i: Fraction(send[i]), lambda i: Fraction(receive[i]))
    _same("makespan", plan.makespan, float(end), 1e-13)
    _replayed(plan, end=plan.makespan)
    few = p <= 3 and all(not math.isinf(t) for t in times)
    if isinstance(plan, hs.MinTime):
        if few and plan.tasks:
            before = Fraction(plan.lower_bound) * (1 - Fraction(1, 10**12))
            assert _most(before, times, send, receive) < plan.tasks, "there is time to do more before the bound"
        return
    assert end <= Fraction(plan.T), f"the last one ends at {float(end)!r}, later than T = {plan.T!r}"
    assert plan.tasks <= plan.upper_bound, f"tasks {plan.tasks} are more than upper_bound {plan.upper_bound}"
    assert plan.optimal == (plan.tasks == plan.upper_bound), "optimal, or not, for no reason"
    _same("gap", plan.gap, (plan.upper_bound - plan.tasks) / plan.upper_bound if plan.upper_bound else 0.0, EXACT)
    if few:
        most = _most(plan.T, times, send, receive)
        assert plan.tasks <= most <= plan.upper_bound, f"{most} tasks are possible, not from {plan.tasks} to {plan.upper_bound}"


def _most(T: float | Fraction, times: list[float], send: list[float], receive: list[float]) -> int:
    return oracles_tasks.most_tasks_linked(T, times, send, receive) if T > 0 else 0


def _divisible(plan: hs.DivisibleLoad) -> None:
    times, costs, shares = (x.tolist() for x in (plan.cycle_times, plan.link_costs, plan.shares))
    _dealt([math.ceil(x) for x in shares], None, times)
    _same("sum of shares", math.fsum(shares), plan.amount, CLOSE)
    order, back = _ints("send_order", plan.send_order), _ints("receive_order", plan.receive_order)
    busy = [i for i, x in enumerate(shares) if x > 0]
    assert all(x >= 0 for x in shares), "a negative share"
    assert sorted(order) == busy == list(plan.enrolled), f"messages go to {order}, shares are with {busy}"
    assert sorted(back) == (busy if plan.return_ratio else []), f"results come from {back}, shares are with {busy}"
    end = _bus(
        [Fraction(x) for x in shares], order, back, times, lambda i: Fraction(shares[i]) * Fraction(costs[i]),
        lambda i: Fraction(shares[i]) * Fraction(plan.return_ratio) * Fraction(costs[i]),
    )  # fmt: skip
    _same("makespan", plan.makespan, float(end), CLOSE)
    _replayed(plan, end=plan.makespan)
    finite = [i for i, t in enumerate(times) if not math.isinf(t)]
    if len(finite) <= 2 and plan.return_ratio and max(times[i] for i in finite) < 1e6 * min(times[i] for i in finite):
        unit = min(times[i] for i in finite)
        t, c = [times[i] / unit for i in finite], [costs[i] / unit for i in finite]
        least = plan.amount * unit * min(oracles_divisible.makespans(t, c, [plan.return_ratio * x for x in c]).values())
        assert plan.lower_bound <= least * (1 + 1e-6), f"lower_bound {plan.lower_bound!r} is above the optimum {least!r}"


# ---- rings --------------------------------------------------------------------------------------------------------


def _paid(links: np.ndarray, ring: list[int]) -> list[float]:
    """What each member pays for a unit of volume."""
    if len(ring) == 1:
        return [0.0]
    return [float(links[i, ring[(k + 1) % len(ring)]]) + float(links[i, ring[k - 1]]) for k, i in enumerate(ring)]


def _ring_order(ring: list[int], p: int) -> None:
    assert ring, "nobody is in the ring"
    assert len(set(ring)) == len(ring), f"somebody is twice in {ring}"
    assert set(ring) <= set(range(p)), f"{ring} has a worker that does not exist"


def _slice_ring(plan: hs.SliceRing) -> None:
    times = plan.cycle_times.tolist()
    p, ring, shares = len(times), _ints("ring", plan.ring), plan.shares.tolist()
    _ring_order(ring, p)
    assert ring[0] == min(ring), f"{ring} does not begin with its lowest member"
    assert len(ring) < 3 or ring[1] < ring[-1], f"{ring} does not go towards the lower neighbour"
    _same("sum of shares", math.fsum(shares), 1.0, EXACT * 10)
    assert all(share >= 0 for share in shares), "a negative share"
    assert all(shares[i] == 0 for i in range(p) if i not in ring), "a share outside the ring"
    assert plan.relays or all(shares[i] > 0 for i in ring), "a member without work"
    assert not any(math.isinf(times[i]) for i in ring), "a member with an infinite cycle-time"
    paid = [plan.volume * x for x in _paid(plan.links, ring)]
    _same("transfers", plan.transfers, paid, EXACT)
    ends = [shares[i] * plan.work * times[i] + x for i, x in zip(ring, paid, strict=True)]
    _same("makespan", plan.makespan, max(ends), CLOSE)
    working = [end for i, end in zip(ring, ends, strict=True) if shares[i] > 0]
    together = plan.makespan if len(working) == len(ring) else max(working)  # a relay's messages may take longer
    for i, end in zip(ring, ends, strict=True):
        if shares[i] > 0 and plan.method != "given":
            _same(f"end of worker {i}", end, together, CLOSE)
    able = [i for i in range(p) if not math.isinf(times[i])]
    if len(able) <= 3:
        links = [[float(plan.links[i, j]) for j in able] for i in able]
        least = oracles_ring.best_time([times[i] for i in able], links, plan.work, plan.volume, plan.relays)
        assert plan.lower_bound <= float(least) * (1 + CLOSE), (
            f"lower_bound {plan.lower_bound!r}, but {float(least)!r} is possible"
        )
        assert not plan.optimal or plan.makespan <= float(least) * (1 + CLOSE), f"optimal, but {float(least)!r} is possible"
    _replayed(plan, end=plan.makespan)


def _ring_profile(profile: hs.RingProfile) -> None:
    times = profile.cycle_times.tolist()
    p, k = len(times), len(profile.rings)
    ratios, lengths = profile.ratios.tolist(), profile.lengths.tolist()
    assert len(ratios) == len(lengths) == len(profile.proven) == k > 0, "parts of different lengths"
    assert ratios[0] == 0, "the first ratio is not 0"
    assert all(a < b for a, b in itertools.pairwise(ratios)), f"ratios {ratios} do not ascend"
    assert profile.sizes.tolist() == [len(ring) for ring in profile.rings], "sizes are not those of the rings"
    assert len(profile.names) == p, "a name for each worker"
    able = sum(not math.isinf(t) for t in times)
    speeds = []
    for at, ring in enumerate(profile.rings):
        members = _ints("ring", ring)
        assert not ring.flags.writeable, "a ring can be written to"
        _ring_order(members, p)
        length = math.fsum(x / times[i] for i, x in zip(members, _paid(profile.links, members), strict=True))
        _same(f"lengths[{at}]", lengths[at], length, EXACT * 10)
        least = float(profile.least_lengths[len(members) - 1])
        assert least <= lengths[at] * (1 + EXACT * 10), "a ring is shorter than the least length of its size"
        speeds.append(math.fsum(1 / times[i] for i in members))
    assert all(a < b for a, b in itertools.pairwise(speeds)), "more work for less speed"
    for at in range(1, k):  # two lines meet where they change
        before, after = ((ratios[at] + lengths[i]) / speeds[i] for i in (at - 1, at))
        _same(f"times at ratios[{at}]", before, after, CLOSE)
    assert np.isfinite(profile.least_lengths[:able]).all(), "a size without a ring"
    assert np.isinf(profile.least_lengths[able:]).all(), "a ring of workers who cannot work"
    assert "workers" in repr(profile), "repr"


def _stencil(plan: hs.StencilPlan) -> None:
    (rows, cols), times = plan.shape, plan.cycle_times.tolist()
    p, ring, counts, displs = len(times), _ints("ring", plan.ring), _ints("counts", plan.counts), _ints("displs", plan.displs)
    _ring_order(ring, p)
    assert len(counts) == len(displs) == p, "counts or displs are not for each worker"
    _dealt(counts, None, times)
    assert sum(counts) == cols, f"{sum(counts)} columns are dealt, there are {cols}"
    assert all((counts[i] > 0) == (i in ring) for i in range(p)), "a member without columns, or columns without a member"
    first = 0
    for i in ring:
        assert displs[i] == first, f"displs[{i}] is {displs[i]}, not {first}"
        first += counts[i]
    inner = max(rows - 2, 0)
    paid = [x * inner * plan.itemsize / 1e9 for x in _paid(plan.links, ring)]
    busy = [counts[i] * times[i] * inner * 7.0 / 1e9 for i in ring]
    _same("update_times", plan.update_times, busy, EXACT * 10)
    _same("exchange_times", plan.exchange_times.sum(axis=1), paid, EXACT * 10)
    _same("step_time", plan.step_time, max(a + b for a, b in zip(busy, paid, strict=True)), EXACT * 10)
    _same("makespan", plan.makespan, plan.iterations * plan.step_time, EXACT)
    assert plan.lower_bound <= plan.makespan, "bound"
    if plan.iterations * len(ring) <= TILES:
        ends = oracles_stencil.ends(plan.iterations, [Fraction(a) + Fraction(b) for a, b in zip(busy, paid, strict=True)])
        finish = [0.0] * p
        for i, end in zip(ring, ends, strict=True):
            finish[i] = float(end)
        _same("finish", plan.finish, finish, CLOSE, plan.makespan)
        _replayed(plan, end=plan.makespan if plan.iterations else 0.0)


# ---- products -----------------------------------------------------------------------------------------------------


def _star(plan: hs.StarPlan) -> None:
    (r, s, t), p = plan.shape, len(plan.names)
    chunks, messages = plan.chunks.tolist(), plan.messages.tolist()
    updates, columns = _ints("updates", plan.updates, (p,)), _ints("columns", plan.columns, (p,))
    assert sum(updates) == r * s * t, f"{sum(updates)} updates of {r * s * t}"
    assert sum(columns) == s, f"{sum(columns)} columns of {s}"
    assert min(columns) >= 0, "a negative number of columns"
    assert _ints("enrolled", plan.enrolled) == [i for i in range(p) if updates[i]], "enrolled are others than work"
    own = [0] * p
    for worker, _, _, _, _, height, width, _ in chunks:
        own[worker] += height * width * t
    assert own == updates, f"updates {updates}, by the chunks {own}"
    for name in ("work", "traffic", "transfer"):
        assert plan.bounds[name] <= plan.makespan * (1 + EXACT), f"the bound {name} {plan.bounds[name]} is above the makespan"
    _same("lower_bound", plan.lower_bound, min(plan.makespan, max(plan.bounds[x] for x in ("work", "traffic", "transfer"))))
    able = [1 / Fraction(x) for x, room in zip(plan.cycle_times.tolist(), plan.memory.tolist(), strict=True) if room >= 3]
    speed = sum(able)  # of those that can hold a block of each operand
    assert plan.bounds["work"] <= float(r * s * t / speed) * (1 + EXACT), "the bound of the work is above the work"
    if len(messages) <= 100 * TILES and r * s <= 10 * TILES:
        _same("makespan", plan.makespan, _port(plan, chunks, messages), EXACT)
        _replayed(plan, end=plan.makespan)
    for name, makespan in plan.variants.items():
        assert plan.makespan <= makespan, f"the variant {name} is better"
    assert plan.planning_time >= 0, "a negative time"


def _port(plan: hs.StarPlan, chunks: list[Any], messages: list[Any]) -> float:
    """Replay the port's log: one message at a time, panels in order, results after the work, memory never above its limit."""
    (r, s, t), costs, times = plan.shape, plan.link_costs.tolist(), plan.cycle_times.tolist()
    owner = np.full((r, s), -1)
    for index, (_, _, _, row, col, height, width, _) in enumerate(chunks):
        assert (owner[row : row + height, col : col + width] == -1).all(), "a block of C in two chunks"
        owner[row : row + height, col : col + width] = index
    assert (owner >= 0).all(), "a block of C in no chunk"
    assert sum(chunk[5] * chunk[6] for chunk in chunks) == r * s, "a chunk outside C"
    port, free = 0.0, [0.0] * len(costs)
    inside: list[int] = [0] * len(costs)
    leaving: list[list[tuple[float, int]]] = [[] for _ in costs]
    layers, back, loaded = [0] * len(chunks), [0] * len(chunks), [False] * len(chunks)
    done: list[dict[int, tuple[float, int]]] = [{} for _ in chunks]  # of each panel: end of its update, layers
    for worker, kind, chunk, layer, start, end, begin, stop in messages:
        own, held, _, _, _, h, w, depth = chunks[chunk]
        stays, comes, goes, length = [(h * w, h + w, 0, t), (h * t, h + t, h, w), (w * t, w + t, w, h)][held]
        assert worker == own, "a message to another worker than the chunk's"
        assert start >= port, "two messages at a time"
        port = end
        for _, blocks in (gone for gone in leaving[worker] if gone[0] <= start):
            inside[worker] -= blocks
        leaving[worker] = [gone for gone in leaving[worker] if gone[0] > start]
        if kind == 0:
            assert not loaded[chunk], "a chunk that is sent twice"
            loaded[chunk], blocks = True, stays
            inside[worker] += blocks
        elif kind == 1:
            assert loaded[chunk], "a panel before what is held"
            assert layer == layers[chunk] < length, "the panels are not in order"
            deep = min(depth, length - layer)
            layers[chunk], blocks = layer + deep, deep * comes
            assert begin >= max(end, free[worker]), "an update before its panel, or two at a time"
            _same("an update's length", stop - begin, h * w * t // length * deep * times[worker], CLOSE, plan.makespan)
            free[worker], done[chunk][layer] = stop, (stop, deep)
            inside[worker] += blocks
            leaving[worker].append((stop, deep * (comes - goes)))
        elif held == 0:
            assert layers[chunk] == t, "a result before the last panel"
            assert start >= max(x for x, _ in done[chunk].values()), "a result before the last update"
            blocks, back[chunk] = stays, length
            leaving[worker].append((end, stays))
        else:
            assert layer == back[chunk], "results are not in order"
            assert start >= done[chunk][layer][0], "a result before its update"
            blocks = done[chunk][layer][1] * goes
            back[chunk] += done[chunk][layer][1]
            leaving[worker].append((end, blocks + (stays if back[chunk] == length else 0)))
        assert 0 <= inside[worker] <= plan.memory[worker], f"{inside[worker]} blocks with worker {worker}"
        _same("a message's length", end - start, blocks * costs[worker], CLOSE, plan.makespan)
    wanted = [(t, w, h)[held] for _, held, _, _, _, h, w, _ in chunks]
    assert layers == back == wanted, "a chunk that is not done"
    return port


def _layers(plan: hs.LayersPlan) -> None:
    n, times, costs = plan.n, plan.cycle_times.tolist(), plan.link_costs.tolist()
    p = len(times)
    counts, order = _ints("counts", plan.counts, (p,)), _ints("order", plan.order)
    _dealt(counts, _ints("displs", plan.displs, (p,)), times)
    assert sum(counts) == n, f"{sum(counts)} layers of {n}"
    busy = [i for i in range(p) if counts[i]]
    assert sorted(order) == busy, f"messages go to {order}, layers are with {busy}"
    assert _ints("memory", plan.memory, (p,)) == [2 * n * c + n * n if c else 0 for c in counts], "memory"
    assert plan.volume == 2 * n * n, f"volume {plan.volume}"
    assert plan.volume_with_sum == (2 + max(len(busy) - 1, 0)) * n * n, f"volume_with_sum {plan.volume_with_sum}"
    able = [i for i in range(p) if not math.isinf(times[i])]
    work, message = oracles_layers.per_layer(n, [times[i] for i in able], [costs[i] for i in able])
    place = {i: k for k, i in enumerate(able)}
    own = [counts[i] for i in able]
    end = oracles_layers.last_end(plan.mode, work, message, [place[i] for i in order], own)
    _same("makespan", plan.makespan, float(end), EXACT * 10)
    link = 0.0
    for i in order:
        (begin, stop), (start, done) = plan.receive[i].tolist(), plan.compute[i].tolist()
        if plan.mode[0] == "s":
            _same(f"start of the message to {i}", begin, link, CLOSE, plan.makespan)
            link = stop
        else:
            assert begin == 0, "a message that waits"
        _same("a message's length", stop - begin, 2 * n * counts[i] * costs[i], CLOSE, plan.makespan)
        _same("start of the work", start, begin if plan.mode in ("scss", "pcss") else stop, EXACT)
        _same("end of the work", done, max(stop, start + n * n * counts[i] * times[i]), CLOSE)
    assert not plan.receive[[i for i in range(p) if i not in order]].any(), "a message without layers"
    _same("sum of shares", math.fsum(plan.shares.tolist()), float(n), CLOSE)
    assert (plan.shares >= 0).all(), "a negative share"
    if n and plan.method == "exact":
        _same("relaxed", plan.relaxed, float(oracles_layers.relaxed_end(plan.mode, work, message, n, range(len(able)))), CLOSE)
        assert plan.relaxed <= plan.makespan * (1 + CLOSE), "whole layers are faster than any"
    if len(able) <= 3 and n <= 7:
        least = float(oracles_layers.least_of_all(plan.mode, work, message, n))
        assert plan.lower_bound <= least * (1 + EXACT * 10), f"lower_bound {plan.lower_bound!r} is above the optimum {least!r}"
        assert not plan.optimal or plan.makespan <= least * (1 + EXACT * 10), f"optimal, but {least!r} is possible"
    _replayed(plan, end=plan.makespan, shared=False)


def _mesh(plan: hs.MeshPlan) -> None:
    assert plan.counts.shape == plan.start.shape == plan.finish.shape == (plan.shape or plan.cycle_times.shape), "shapes differ"
    kinds = {"relaxed": "f", "given": "if"}.get(plan.method, "i")
    assert plan.counts.dtype.kind in kinds, f"counts have dtype {plan.counts.dtype}"
    oracles_mesh.replay(plan)
    idle = np.isinf(plan.cycle_times)
    assert not (plan.counts.ravel()[idle] > 0).any(), "layers for a node that cannot compute"
    held = np.zeros(len(plan.cycle_times))
    np.add.at(held, plan.links[:, 1], plan.flows)
    held[plan.source] = 2.0 * plan.n**2
    _same("memory", plan.memory.ravel(), held + (plan.counts.ravel() > 0) * float(plan.n) ** 2, CLOSE)
    _same("volume", plan.volume, math.fsum(plan.flows.tolist()), CLOSE)
    assert plan.volume <= plan.volume_with_sum, "a sum that is sent by itself"
    assert plan.lp_solves > 0, "no linear program was solved"
    _replayed(plan, end=plan.makespan)


MODES = {  # in steps, at the same time, work from the start of the transfer on
    "once": (False, False, False), "sequential": (True, False, False), "parallel": (True, True, False),
    "scss": (False, False, True), "sccs": (False, False, False), "pccs": (False, True, False), "pcss": (False, True, True),
}  # fmt: skip


def _product(plan: hs.ProductPlan) -> None:
    (m, n, k), p = plan.shape, len(plan.names)
    times, costs = plan.cycle_times.tolist(), plan.link_costs.tolist()
    boxes = _ints("boxes", plan.boxes, (len(plan.boxes), 7))
    assert all(0 <= box[0] < p for box in boxes), "a worker that does not exist"
    if m and n and k and len(boxes) ** 2 <= 100 * TILES:
        _tiles([box[1:] for box in boxes], plan.shape, 0)
    volumes = [math.prod(box[4:]) for box in boxes]
    assert sum(volumes) == m * n * k, f"the boxes have {sum(volumes)} iterations of {m * n * k}"
    flops = [0] * p
    for box, volume in zip(boxes, volumes, strict=True):
        flops[box[0]] += volume
    rate = next((f for f in (2.0, 8.0) if sum(plan.flops.tolist()) == f * m * n * k), None)
    assert rate is not None, f"{plan.flops.sum()} flops for {m * n * k} updates"
    _same("flops", plan.flops, [rate * x for x in flops], EXACT)
    stepwise, parallel, overlap = MODES[plan.communication]
    speed = sum(1 / Fraction(t) for t in times)
    ideal = float(Fraction(rate) * m * n * k / speed / 10**9)
    _same("lower_bound", plan.lower_bound, min(ideal, plan.makespan), EXACT * 10)
    port, ready = 0.0, [0.0] * p
    sent, receive = plan.sent.tolist(), plan.receive.tolist()
    assert len(sent) == len(receive) == len(boxes), "sent or receive are not for each box"
    for box, volume, data, (start, end) in zip(boxes, volumes, sent, receive, strict=True):
        worker = box[0]
        wanted = max(ready[worker], 0.0 if parallel or not data * costs[worker] else port)
        _same("start of a transfer", start, wanted, CLOSE, plan.makespan)
        _same("a transfer's length", end - start, data * costs[worker] / 1e9, CLOSE, plan.makespan)
        if end > start:
            port = end
        ready[worker] = max((start if overlap else end) + rate * volume * times[worker] / 1e9, end)
    last = max(ready)
    if not stepwise and plan.layers is None and not plan.shared:
        _sent(plan, boxes, sent)
    if plan.layers is not None:
        last += _layer_sum(plan, boxes, rate, last)
    else:
        assert all(box[3] == 0 for box in boxes) or stepwise, "boxes above each other, and no sum"
    _same("makespan", plan.makespan, last, CLOSE)
    assert plan.shared or plan.received.sum() >= 0, "received"
    _replayed(plan, end=None, shared=plan.shared, scale=plan.makespan)


def _sent(plan: hs.ProductPlan, boxes: list[list[int]], sent: list[float]) -> None:
    """Each worker gets the rows of A and the columns of B that its zone spans, all of them with its first box."""
    size = None
    for worker in {box[0] for box in boxes}:
        own = [i for i, box in enumerate(boxes) if box[0] == worker]
        spans = sum(_span((boxes[i][a], boxes[i][a + 3]) for i in own) for a in (1, 2))
        data = sent[own[0]]
        assert not any(sent[i] for i in own[1:]), f"worker {worker} gets something twice"
        if spans * plan.shape[2]:
            size = data / (spans * plan.shape[2]) if size is None else size
            assert size in (4, 8, 16), f"elements of {size} bytes"
            _same(f"bytes for worker {worker}", data, size * spans * plan.shape[2])


def _layer_sum(plan: hs.ProductPlan, boxes: list[list[int]], rate: float, last: float) -> float:
    """How long the sum of the layers takes."""
    layers = plan.layers
    assert layers is not None
    (m, n, _), p = plan.shape, len(plan.names)
    rows = layers.rows.tolist()
    assert rows[0] == 0, "the sum does not begin with the first row"
    assert rows[-1] == m, "the sum does not end with the last row"
    assert rows == sorted(rows), "the rows of the sum do not ascend"
    _same("start of the sum", layers.start, last, CLOSE)
    if plan.shared:
        return plan.makespan - last
    adds = 1.0 if rate == 2.0 else 2.0
    _, parallel, overlap = MODES[plan.communication]
    port = longest = 0.0
    size = None
    for w in range(p):
        held = foreign = 0
        for worker, row, _, _, height, width, _ in boxes:
            cells = max(0, min(rows[w + 1], row + height) - max(rows[w], row)) * width
            held += cells
            foreign += cells if worker != w else 0
        if foreign:
            size = layers.sent[w] / foreign if size is None else size
            assert size in (4, 8, 16), f"elements of {size} bytes"
        _same(f"bytes of the sum for worker {w}", layers.sent[w], (size or 0) * foreign)
        _same(f"additions of worker {w}", layers.flops[w], adds * max(0, held - (rows[w + 1] - rows[w]) * n))
        length = float(layers.sent[w] * plan.link_costs[w] / 1e9)
        start = port if length and not parallel else 0.0
        _same(f"sum's transfer to worker {w}", layers.receive[w], (start, start + length), CLOSE, plan.makespan)
        port = max(port, start + length) if length else port
        work = float(layers.flops[w] * plan.cycle_times[w] / 1e9)
        longest = max(longest, (start if overlap else start + length) + work, start + length)
    return longest


def _files(plan: hs.FilesPlan) -> None:
    (m, n, k), (h, v) = plan.shape, plan.tile
    assert plan.stationary in "ABC", f"stationary {plan.stationary!r}"
    assert h >= 1, f"tiles {h} high"
    assert v >= 1, f"tiles {v} wide"
    assert plan.depth >= 1, f"chunks {plan.depth} deep"
    assert plan.peak <= plan.memory, f"needs {plan.peak} bytes of {plan.memory}"
    rows, cols = len(range(0, m, h)), len(range(0, n, v))
    assert plan.grid == (rows, cols, max(1, len(range(0, k, plan.depth)))), f"grid {plan.grid}"
    passes = (min(cols, 1) if plan.stationary == "A" else cols, min(rows, 1) if plan.stationary == "B" else rows)
    sizes = []
    for what, elements, times in (("A", m * k, passes[0]), ("B", k * n, passes[1])):
        read = plan.read["AB".index(what)]
        if elements * times:
            size, rest = divmod(read, elements * times)
            assert rest == 0, f"{read} bytes of {what} are not {times} times {elements} elements"
            assert 1 <= size <= 16, f"{what} has elements of {size} bytes"
            sizes.append((size, elements))
        else:
            assert read == 0, f"{read} bytes of {what}, which has none"
    assert plan.written == m * n * BYTES[plan.dtype], f"{plan.written} bytes written"
    assert plan.traffic == sum(plan.read) + plan.written, "traffic is not the sum of its parts"
    assert plan.compulsory == sum(size * elements for size, elements in sizes) + plan.written, "compulsory"
    if len(sizes) == 2:
        least = min(BYTES[plan.dtype], *(size for size, _ in sizes))
        elements = plan.memory / least
        wanted = max(0.0, least * (2.0 * m * n * k / math.sqrt(elements) - 2.0 * elements))
        _same("communication", plan.communication, wanted, EXACT)
    _same("lower_bound", plan.lower_bound, min(plan.traffic, max(plan.compulsory, plan.communication)), EXACT)
    held = BYTES[plan.dtype] * (h * plan.depth + plan.depth * v + h * v)
    assert plan.peak >= held, f"a peak of {plan.peak} bytes for tiles of {held}"


def _worth(plan: hs.WorkersWorth) -> None:
    times, bounds, p = plan.times.tolist(), plan.bounds.tolist(), len(plan.names)
    assert len(times) == len(bounds) == p, "not a time for each number of workers"
    assert 1 <= plan.workers <= p, f"{plan.workers} of {p} workers"
    enough = [i + 1 for i, time in enumerate(times) if time <= 1.02 * min(times)]
    assert plan.workers == enough[0] or plan.method == "given", f"{plan.workers} workers, {enough[0]} are within 2 %"
    assert len(set(plan.enrolled)) == len(plan.enrolled) == plan.workers, f"enrolled {plan.enrolled}"
    assert set(plan.enrolled) <= set(range(p)), f"enrolled {plan.enrolled}"
    _same("makespan", plan.makespan, times[plan.workers - 1])
    assert all(bound <= time for bound, time in zip(bounds, times, strict=True)), "a time below its bound"
    _same("lower_bound", plan.lower_bound, min(min(bounds), plan.makespan))
    assert str(plan.workers) in plan.describe(), "describe"
    _replayed(plan, end=plan.makespan)


VALIDATORS: dict[type, Callable[[Any], None]] = {
    hs.Assignment: _assignment,
    hs.Cuboids: _cuboids,
    hs.Distribution: _distribution,
    hs.DistributionStack: _stack,
    hs.DivisibleLoad: _divisible,
    hs.FilesPlan: _files,
    hs.LayersPlan: _layers,
    hs.LuGrid: _lu_grid,
    hs.LuPattern: _lu_pattern,
    hs.LuPlan: _lu_plan,
    hs.MaxTasks: _tasks,
    hs.MeshPlan: _mesh,
    hs.MinTime: _tasks,
    hs.Partition: _partition,
    hs.ProductPlan: _product,
    hs.ProfileDistribution: _profile,
    hs.Recut: _recut,
    hs.RingProfile: _ring_profile,
    hs.SliceRing: _slice_ring,
    hs.StarPlan: _star,
    hs.StencilPlan: _stencil,
    hs.Wavefront: _wavefront,
    hs.WorkersWorth: _worth,
}
