"""Plans of a master with one port: assignments, tasks, divisible loads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import oracles.divisible
import oracles.tasks

import hetsched as hs

from .common import CLOSE, EXACT, dealt, ints, judges, replayed, same


@judges(hs.Assignment)
def _assignment(found: hs.Assignment) -> None:
    rows, cols = ints("rows", found.rows), ints("cols", found.cols)
    m, n = len(found.row_prices), len(found.col_prices)
    assert len(rows) == len(cols) == min(m, n), (
        f"{len(rows)} rows and {len(cols)} columns of {m} x {n}"
    )
    assert rows == sorted(set(rows)), "rows do not ascend"
    assert len(set(cols)) == len(cols), "a column twice"
    assert all(0 <= i < m for i in rows), "a row outside"
    assert all(0 <= j < n for j in cols), "a column outside"
    prices = [Fraction(x) for x in (*found.row_prices.tolist(), *found.col_prices.tolist())]
    most = float(max(map(abs, prices)))
    same("bound", found.bound, float(sum(prices)), EXACT, most)
    if isinstance(found.cost, int):
        assert found.bound == sum(prices), "the bound is not the sum of the prices"
        assert found.optimal == (found.cost == found.bound), "optimal, or not, for no reason"
    else:
        assert math.isfinite(found.cost), f"the cost is {found.cost}"
        assert found.optimal == (abs(found.cost - found.bound) <= EXACT * most * len(rows)), (
            "optimal, or not, for no reason"
        )
    assert "cost" in repr(found), "repr without the cost"


def _bus(
    counts: Sequence[Any],
    send_order: list[int],
    receive_order: list[int],
    times: list[float],
    out: Any,
    back: Any,
) -> Fraction:
    """The exact end: messages out one after the other, then those back as soon as worker and bus
    are ready."""
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


@judges(hs.MaxTasks, hs.MinTime)
def _tasks(plan: Any) -> None:
    times = plan.cycle_times.tolist()
    p = len(times)
    counts = ints("counts", plan.counts, (p,))
    dealt(counts, None, times)
    assert sum(counts) == plan.tasks, f"{sum(counts)} tasks are dealt, {plan.tasks} said"
    send, receive = (np.broadcast_to(x, p).tolist() for x in (plan.send, plan.receive))
    order, back = ints("send_order", plan.send_order), ints("receive_order", plan.receive_order)
    busy = [i for i in range(p) if counts[i]]
    assert sorted(order) == busy, f"messages go to {order}, tasks are with {busy}"
    if any(receive):
        assert sorted(back) == busy, f"answers come from {back}, tasks are with {busy}"
    else:
        assert not back, "answers without messages"
    end = _bus(
        counts, order, back, times, lambda i: Fraction(send[i]), lambda i: Fraction(receive[i])
    )
    same("makespan", plan.makespan, float(end), 1e-13)
    replayed(plan, end=plan.makespan)
    few = p <= 3 and all(not math.isinf(t) for t in times)
    if isinstance(plan, hs.MinTime):
        if few and plan.tasks:
            before = Fraction(plan.lower_bound) * (1 - Fraction(1, 10**12))
            assert _most(before, times, send, receive) < plan.tasks, (
                "there is time to do more before the bound"
            )
        return
    assert end <= Fraction(plan.T), (
        f"the last one ends at {float(end)!r}, later than T = {plan.T!r}"
    )
    assert plan.tasks <= plan.upper_bound, (
        f"tasks {plan.tasks} are more than upper_bound {plan.upper_bound}"
    )
    assert plan.optimal == (plan.tasks == plan.upper_bound), "optimal, or not, for no reason"
    same(
        "gap",
        plan.gap,
        (plan.upper_bound - plan.tasks) / plan.upper_bound if plan.upper_bound else 0.0,
        EXACT,
    )
    if few:
        most = _most(plan.T, times, send, receive)
        assert plan.tasks <= most <= plan.upper_bound, (
            f"{most} tasks are possible, not from {plan.tasks} to {plan.upper_bound}"
        )


def _most(T: float | Fraction, times: list[float], send: list[float], receive: list[float]) -> int:
    return oracles.tasks.most_tasks_linked(T, times, send, receive) if T > 0 else 0


@judges(hs.DivisibleLoad)
def _divisible(plan: hs.DivisibleLoad) -> None:
    times, costs, shares = (x.tolist() for x in (plan.cycle_times, plan.link_costs, plan.shares))
    dealt([math.ceil(x) for x in shares], None, times)
    same("sum of shares", math.fsum(shares), plan.amount, CLOSE)
    order, back = ints("send_order", plan.send_order), ints("receive_order", plan.receive_order)
    busy = [i for i, x in enumerate(shares) if x > 0]
    assert all(x >= 0 for x in shares), "a negative share"
    assert sorted(order) == busy == list(plan.enrolled), (
        f"messages go to {order}, shares are with {busy}"
    )
    assert sorted(back) == (busy if plan.return_ratio else []), (
        f"results come from {back}, shares are with {busy}"
    )
    end = _bus(
        [Fraction(x) for x in shares],
        order,
        back,
        times,
        lambda i: Fraction(shares[i]) * Fraction(costs[i]),
        lambda i: Fraction(shares[i]) * Fraction(plan.return_ratio) * Fraction(costs[i]),
    )
    same("makespan", plan.makespan, float(end), CLOSE)
    replayed(plan, end=plan.makespan)
    finite = [i for i, t in enumerate(times) if not math.isinf(t)]
    if 0 < len(finite) <= 2 and plan.return_ratio:
        t, c = [Fraction(times[i]) for i in finite], [Fraction(costs[i]) for i in finite]
        least = Fraction(plan.amount) * oracles.divisible.exact_makespan(
            t, c, [Fraction(plan.return_ratio) * x for x in c]
        )
        slack = 1 + Fraction(1, 10**9)
        assert Fraction(plan.lower_bound) <= least * slack, (
            f"lower_bound {plan.lower_bound!r} is above the optimum"
        )
