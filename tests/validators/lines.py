"""Plans in one dimension: distributions, LU factorisations, wavefronts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import oracles.factor_grid
import oracles.grid
import oracles.lu
import oracles.reduction
import oracles.wavefront

import hetsched as hs

from .common import (
    BYTES,
    CLOSE,
    EXACT,
    FLOPS,
    TILES,
    dealt,
    fastest_division,
    ints,
    judges,
    replayed,
    same,
    validate,
)


@judges(hs.Distribution)
def _distribution(plan: hs.Distribution) -> None:
    times = plan.cycle_times.tolist()
    counts = ints("counts", plan.counts, (len(times),))
    dealt(counts, ints("displs", plan.displs, (len(times),)), times)
    same(
        "makespan",
        plan.makespan,
        max([0.0, *(c * t for c, t in zip(counts, times, strict=True) if c)]),
    )
    assert plan.optimal or plan.method == "given", "a distribution is always optimal"
    least = float(fastest_division(sum(counts), times))
    same("lower_bound, of the best counts", plan.lower_bound, least, EXACT)
    assert plan.optimal == (plan.makespan == plan.lower_bound), "optimal or not"
    if sum(counts) and len(counts) <= TILES:
        replayed(plan, end=plan.makespan)


@judges(hs.DistributionStack)
def _stack(plan: hs.DistributionStack) -> None:
    shape, p = plan.makespan.shape, len(plan.names)
    for name in ("counts", "displs", "cycle_times"):
        assert getattr(plan, name).shape == (
            *shape,
            p,
        ), f"{name} has shape {getattr(plan, name).shape}"
    for index in itertools.islice(np.ndindex(shape), TILES):
        one = plan[index]
        assert isinstance(one, hs.Distribution), f"plan[{index}] is a {type(one).__name__}"
        validate(one)
        same(f"makespan{list(index)}", plan.makespan[index], one.makespan)
    same("value", plan.value, plan.makespan.max(initial=0.0))
    assert plan.optimal, "distributions are always optimal"


@judges(hs.ProfileDistribution)
def _profile(plan: hs.ProfileDistribution) -> None:
    p = len(plan.names)
    counts, times = ints("counts", plan.counts, (p,)), plan.times.tolist()
    dealt(counts, ints("displs", plan.displs, (p,)), times)
    for i, (count, time) in enumerate(zip(counts, times, strict=True)):
        assert (time > 0) == (count > 0), f"worker {i} needs {time} for {count} chunks"
    same("makespan", plan.makespan, max(times))
    assert plan.optimal or plan.method == "given", "always optimal"
    mean = (
        [t / c if c else math.inf for c, t in zip(counts, times, strict=True)]
        if any(counts)
        else [1.0] * p
    )
    same("cycle_times", plan.cycle_times, mean)
    replayed(plan, end=plan.makespan)


@judges(hs.LuPattern)
def _lu_pattern(plan: hs.LuPattern) -> None:
    times, owner = plan.cycle_times.tolist(), ints("owner", plan.owner)
    p, n = len(times), len(owner)
    assert all(0 <= w < p for w in owner), "an owner that does not exist"
    counts = ints("counts", plan.counts, (p,))
    assert counts == [owner.count(w) for w in range(p)], (
        f"counts {counts} are not those of owner {owner}"
    )
    dealt(counts, None, times)
    if plan.period is not None:
        assert 1 <= plan.period < n, f"period {plan.period} of {n}"
        assert all(a == b for a, b in zip(owner[::-1], owner[::-1][plan.period :], strict=False)), (
            "the period is another"
        )
    if plan.times is not None:
        _pattern_by_profiles(plan, owner, p)
        return
    if n > TILES:
        return
    costs, left, bounds = [], [0] * p, [0.0]
    for k in range(n - 1, 0, -1):
        left[owner[k]] += 1
        costs.append(max(c * t for c, t in zip(left, times, strict=True) if c))
    same("step_costs", plan.step_costs, costs[::-1])
    same("cost", plan.cost, float(sum(map(Fraction, costs))), EXACT)
    greedy = [0] * p
    for _ in range(n - 1):
        i = min(range(p), key=lambda w: (greedy[w] + 1) * times[w])
        greedy[i] += 1
        bounds.append(max(bounds[-1], greedy[i] * times[i]))
    same("lower_bound", plan.lower_bound, math.fsum(bounds), EXACT)
    assert plan.method != "pattern" or plan.period or plan.optimal, (
        "the pattern of one slice is optimal"
    )
    if n <= 100:
        replayed(plan, end=plan.cost)


def _pattern_by_profiles(plan: hs.LuPattern, owner: list[int], p: int) -> None:
    """Times of each step, which only the profiles know, go with the owners."""
    assert plan.times is not None, "no times"
    times = plan.times.tolist()
    assert len(times) == len(owner) - 1, f"times of {len(times)} steps"
    for k, own in enumerate(times):
        for i in range(p):
            updates = owner[k + 1 :].count(i)
            assert (own[i] > 0) == (updates > 0), f"worker {i} needs {own[i]} for {updates} updates"
    same("step_costs", plan.step_costs, [max(own) for own in times])
    same("cost", plan.cost, float(sum(map(Fraction, map(max, times)))), EXACT)
    work = [sum(j for j, w in enumerate(owner) if w == i) for i in range(p)]
    spent = [math.fsum(own[i] for own in times) for i in range(p)]
    means = [t / c for t, c in zip(spent, work, strict=True) if c] or [1.0]
    usual = [t / c if c else max(means) for t, c in zip(spent, work, strict=True)]
    same("cycle_times", plan.cycle_times, usual, EXACT)
    assert plan.lower_bound <= plan.cost, "the bound is above the cost"
    assert plan.method in ("profiles", "given"), f"method {plan.method}"
    replayed(plan, end=plan.cost)


@judges(hs.LuGrid)
def _lu_grid(plan: hs.LuGrid) -> None:
    times, owner = plan.cycle_times.tolist(), ints("owner", plan.owner)
    p, n = len(times), len(owner)
    assert plan.owner.shape == (n, n), f"owner has shape {plan.owner.shape}"
    flat = [w for row in owner for w in row]
    assert all(0 <= w < p for w in flat), "an owner that does not exist"
    counts = ints("counts", plan.counts, (p,))
    assert counts == [flat.count(w) for w in range(p)], "counts are not those of owner"
    dealt(counts, None, times)
    traffic, received = ints("traffic", plan.traffic, (n,)), ints("received", plan.received, (p,))
    assert sum(traffic) == sum(received), "what is sent is not what is received"
    same("makespan", plan.makespan, math.fsum(plan.loads.tolist()), EXACT)
    sent = sum(traffic)
    same("cost", plan.cost, plan.makespan + plan.link_cost * sent, EXACT)
    speed = sum(1 / Fraction(t) for t in times if not math.isinf(t))
    same("ideal", plan.ideal, [float((n - 1 - k) ** 2 / speed) for k in range(n)], EXACT)
    if n <= 12:
        loads, sends, gets = oracles.grid.recount(owner, times)
        same("loads", plan.loads, [float(load) for load in loads], EXACT)
        assert traffic == sends, f"traffic {traffic}, counted {sends}"
        assert received == gets, f"received {received}, counted {gets}"
        least = sum(fastest_division((n - 1 - k) ** 2, times) for k in range(n))
        if plan.link_cost > 0:
            least = sum(
                max(fastest_division(m * m, times), _least_with_messages(m, times, plan.link_cost))
                for m in range(n)
            )
        same("lower_bound", plan.lower_bound, min(float(least), plan.cost), EXACT)
        replayed(plan, end=plan.makespan)


def _least_with_messages(m: int, times: Sequence[float], link_cost: float) -> float:
    """No step with m x m updates costs less: over the numbers of workers that do all they can
    within the load."""
    speeds = sorted((1 / t for t in times if not math.isinf(t)), reverse=True)
    costs = []
    for q in range(1, len(speeds) + 1):
        rate = math.fsum(speeds[:q])
        sides = math.fsum(2 * m * math.sqrt(speed / rate) for speed in speeds[:q])
        costs.append(m * m / rate + link_cost * (sides - 2 * m))
    return min(costs)


def _divides(
    T: float, updates: float, panels: float, times: Sequence[float], panel_times: Sequence[float]
) -> bool:
    """Whether workers can do so much of both kinds in time T: panels go to whoever is best at them,
    in comparison."""
    workers = [(t, q) for t, q in zip(times, panel_times, strict=True) if not math.isinf(t)]
    done = 0.0
    for t, q in sorted(workers, key=lambda w: w[1] / w[0]):
        spent = min(T, panels * q) if panels > 0 else 0.0
        panels = 0.0 if panels * q <= T else panels - T / q
        done += (T - spent) / t
    return panels <= 0 and done >= updates


@judges(hs.ReductionPlan)
def _reduction_plan(plan: hs.ReductionPlan) -> None:
    times, panel_times = plan.cycle_times.tolist(), plan.panel_times.tolist()
    p, owner = len(times), ints("owner", plan.owner)
    assert all(0 <= w < p for w in owner), "an owner that does not exist"
    counts = ints("counts", plan.counts, (p,))
    assert counts == [owner.count(w) for w in range(p)], "counts are not those of owner"
    dealt(counts, None, times)
    assert len(oracles.reduction.edges(plan.n, plan.block)) == len(owner), "owners of other blocks"
    rate = Fraction(FLOPS[plan.dtype]) / Fraction(10) ** 9
    exact, slow = (
        [None if math.isinf(t) else Fraction(t) * rate for t in each]
        for each in (times, panel_times)
    )
    tasks = oracles.reduction.replay(plan.n, plan.block, owner, exact, slow)
    assert len(plan.tasks) == len(tasks), f"{len(plan.tasks)} tasks instead of {len(tasks)}"
    kinds = ("panel", "product", "update")
    for task, (kind, worker, panel, block, start, end, work) in zip(
        plan.tasks.tolist(), tasks, strict=True
    ):
        assert task[:4] == (kinds.index(kind), worker, panel, block), f"a task is {task}"
        same("start", task[4], float(start), CLOSE)
        same("end", task[5], float(end), CLOSE)
        same("flops", task[6], float(work) * FLOPS[plan.dtype], CLOSE)
    same("makespan", plan.makespan, float(oracles.reduction.makespan(tasks)), CLOSE)
    own, shared = (
        sum((task[-1] for task in tasks if (task[0] == "panel") == panels), Fraction(0))
        for panels in (True, False)
    )
    replayed(plan, end=None)
    if plan.ideal > 1e-290:  # of a denormal number a rounding is much
        flops = float(shared * rate), float(own * rate)
        assert _divides(plan.ideal * (1 + CLOSE), *flops, times, panel_times), "ideal is too short"
        assert not _divides(plan.ideal * (1 - CLOSE), *flops, times, panel_times), (
            "ideal is too long"
        )
    assert plan.lower_bound >= min(plan.ideal, plan.makespan) * (1 - CLOSE), (
        "the bound is below the ideal"
    )
    able = [w for w in range(p) if exact[w] is not None and slow[w] is not None]
    if len(able) ** len(owner) <= 300:
        least = oracles.reduction.best(
            plan.n, plan.block, [exact[w] for w in able], [slow[w] for w in able]
        )
        assert plan.lower_bound <= float(least) * (1 + CLOSE), "the bound is above the best plan"


@judges(hs.FactorPlan)
def _factor_plan(plan: hs.FactorPlan) -> None:
    times, panel_times = plan.cycle_times.tolist(), plan.panel_times.tolist()
    (m, n), p, owner = plan.shape, len(times), ints("owner", plan.owner)
    grid = plan.owner.ndim == 2
    blocks, flat = plan.owner.shape[-1], [w for row in owner for w in row] if grid else owner
    assert all(0 <= w < p for w in flat), "an owner that does not exist"
    counts = ints("counts", plan.counts, (p,))
    assert counts == [flat.count(w) for w in range(p)], "counts are not those of owner"
    dealt(counts, None, times)
    assert plan.block >= 1, f"block {plan.block}"
    if min(m, n) == 0:
        same("makespan", plan.makespan, 0.0)
        return
    cuts = oracles.lu.edges(m, n, plan.block)
    assert len(cuts) - 1 == blocks, f"{blocks} owners of {len(cuts) - 1} blocks"
    assert plan.makespan > 0, "work that takes no time"
    steps = plan.tasks["panel"] == plan.tasks["block"]
    updates, panels = (float(plan.tasks["flops"][which].sum()) / 1e9 for which in (~steps, steps))
    by_steps = plan.step_cycle_times
    if plan.ideal > 1e-290 and by_steps is None:  # of a denormal number a rounding is much
        assert _divides(plan.ideal * (1 + CLOSE), updates, panels, times, panel_times), (
            "ideal is too short"
        )
        assert not _divides(plan.ideal * (1 - CLOSE), updates, panels, times, panel_times), (
            "ideal is too long"
        )
    assert plan.lower_bound >= min(plan.ideal, plan.makespan) * (1 - EXACT), (
        "the bound is below the ideal"
    )
    same("efficiency", plan.efficiency, plan.ideal / plan.makespan, EXACT)
    if blocks > 24:
        return
    flops, data = FLOPS[plan.dtype], BYTES[plan.dtype]
    if grid:
        rows, late = len(oracles.lu.edges(n, m, plan.block)) - 1, not plan.look_ahead
        assert len(owner) == rows, f"{len(owner)} rows of owners of {rows} rows of blocks"
        assert plan.links is None, "links of a grid"
        end, work = oracles.factor_grid.simulated(
            plan.kind, m, n, plan.block, plan.owner, times, panel_times, late
        )
        same("makespan", plan.makespan, end * flops / 1e9, CLOSE)
        same("flops", float(plan.tasks["flops"].sum()), work * flops, CLOSE)
        replayed(plan, end=None)
        return
    unit = Fraction(10) ** 9
    rates = [Fraction(t) * Fraction(flops) / unit if not math.isinf(t) else None for t in times]
    slow = [
        Fraction(t) * Fraction(flops) / unit if not math.isinf(t) else None for t in panel_times
    ]
    links = (
        None
        if plan.links is None
        else [[Fraction(c) * data / unit for c in row] for row in plan.links.tolist()]
    )
    steps = (
        None
        if by_steps is None
        else [
            [Fraction(t) * Fraction(flops) / unit if not math.isinf(t) else None for t in own]
            for own in by_steps.tolist()
        ]
    )
    tasks, messages = oracles.lu.schedule(
        m,
        n,
        plan.block,
        owner,
        rates,
        slow,
        links,
        plan.look_ahead,
        plan.kind,
        steps,
        2**20 // data,
    )
    assert len(plan.tasks) == len(tasks), f"{len(plan.tasks)} tasks, there are {len(tasks)}"
    for worker, panel, block, start, end, _ in plan.tasks.tolist():
        assert (worker, panel, block) in tasks, f"worker {worker} does panel {panel}, block {block}"
        same(
            "a task's times",
            (start, end),
            [float(x) for x in tasks[worker, panel, block]],
            CLOSE,
            plan.makespan,
        )
    assert len(plan.messages) == len(messages), (
        f"{len(plan.messages)} messages, there are {len(messages)}"
    )
    for panel, sender, receiver, start, end in plan.messages.tolist():
        assert (panel, sender, receiver) in messages, f"panel {panel} from {sender} to {receiver}"
        same(
            "a message's times",
            (start, end),
            [float(x) for x in messages[panel, sender, receiver]],
            CLOSE,
            plan.makespan,
        )
    same("makespan", plan.makespan, float(max(end for _, end in tasks.values())), CLOSE)
    replayed(plan, end=None)


@judges(hs.Wavefront)
def _wavefront(plan: hs.Wavefront) -> None:
    times, owner = plan.cycle_times.tolist(), ints("owner", plan.owner)
    p, (rows, cols) = len(times), plan.shape
    assert len(owner) == plan.shape[plan.axis], f"{len(owner)} lines have owners"
    assert all(0 <= w < p for w in owner), "an owner that does not exist"
    counts = ints("counts", plan.counts, (p,))
    assert counts == [owner.count(w) for w in range(p)], "counts are not those of owner"
    dealt(counts, None, times)
    assert {"W", "N"} <= set(plan.mask) <= set(oracles.wavefront.OFFSETS), f"mask {plan.mask}"
    assert plan.reach == int(bool({"NE", "SW"} & set(plan.mask))), "reach is not that of the mask"
    assert plan.period >= 1, f"period {plan.period}"
    if plan.method == "panels" and not plan.redistributed:
        assert all(a == b for a, b in zip(owner, owner[plan.period :], strict=False)), (
            "the panels differ"
        )
    if rows * cols > TILES:
        return
    exact = [Fraction(0) if math.isinf(t) else Fraction(t) for t in times]
    makespan, _ = oracles.wavefront.schedule(
        plan.shape, exact, owner, plan.mask, plan.order, plan.axis
    )
    same("makespan", plan.makespan, float(makespan), EXACT * (rows + cols))
    oracles.wavefront.validate(plan.steps(), plan.shape, owner, plan.mask, plan.axis)
    replayed(plan, end=plan.makespan)
    if rows * cols <= 6 and p <= 2 and plan.axis == 1 and all(exact):
        least = float(oracles.wavefront.least_makespan(plan.shape, exact, plan.mask))
        assert plan.lower_bound <= least * (1 + EXACT), (
            f"lower_bound {plan.lower_bound!r} is above the optimum {least!r}"
        )
