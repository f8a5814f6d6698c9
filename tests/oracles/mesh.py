"""Slow oracles of layers on a network: a replay in fractions, the paper's program with SciPy, all
counts, all sets of links."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp


def replay(plan):
    """Checks a plan by the model alone; waits for unused links only where the plan does. Returns
    the makespan."""
    n, p = plan.n, len(plan.cycle_times)
    counts, starts, finishes = (
        getattr(plan, name).ravel().tolist() for name in ("counts", "start", "finish")
    )
    flows = [Fraction(f) for f in plan.flows.tolist()]
    links = [tuple(pair) for pair in plan.links.tolist()]
    costs = [Fraction(c) for c in plan.link_costs.tolist()]
    scale = Fraction(2 * n * n)
    assert all(k >= 0 for k in counts)
    assert abs(sum(map(Fraction, counts)) - n) <= n * Fraction(1, 10**12)
    assert all(f >= 0 for f in flows)
    latest = given = Fraction(0)
    for v in range(p):
        comes = sum(
            (f for f, (_, head) in zip(flows, links, strict=True) if head == v), Fraction(0)
        )
        goes = sum((f for f, (tail, _) in zip(flows, links, strict=True) if tail == v), Fraction(0))
        kept = 2 * n * Fraction(counts[v])
        if v in (plan.sources or (plan.source,)):
            assert comes == 0
            given += goes + kept
            assert plan.source_computes or kept == 0
            assert starts[v] == 0
        else:
            assert abs(comes - goes - kept) <= scale / 10**12
        into = [e for e, (_, head) in enumerate(links) if head == v and flows[e] > 0]
        leaves = []  # messages from one node one after the other, in the order of the links
        for e in into:
            ahead = (
                (i for i in range(e) if links[i][0] == links[e][0])
                if plan.mode in ("scss", "sccs")
                else ()
            )
            leaves.append(
                Fraction(starts[links[e][0]])
                + sum((flows[i] * costs[i] for i in ahead), Fraction(0))
            )
        arrivals = [leave + flows[e] * costs[e] for e, leave in zip(into, leaves, strict=True)]
        start = Fraction(starts[v])
        assert all(start >= arrival * (1 - Fraction(1, 10**12)) for arrival in arrivals)
        assert finishes[v] >= starts[v]
        if counts[v] > 0:
            begin = start
            if plan.mode in ("scss", "pcss"):  # as soon as all links bring something
                begin = Fraction(plan.begin.ravel().tolist()[v])
                assert all(begin >= leave * (1 - Fraction(1, 10**12)) for leave in leaves)
            end = max(
                start, begin + Fraction(counts[v]) * n * n * Fraction(float(plan.cycle_times[v]))
            )
            assert abs(end - Fraction(finishes[v])) <= end / 10**12
            latest = max(latest, end)
        else:
            assert finishes[v] == starts[v]
    assert abs(given - scale) <= scale / 10**12, (
        "what the sources keep and send is everything, once"
    )
    assert abs(latest - Fraction(plan.makespan)) <= latest / 10**12
    return float(latest)


def program(
    n,
    times,
    links,
    source=0,
    *,
    source_computes=False,
    counts=None,
    whole=False,
    gap=0.0,
    memory=None,
    beside=0,
):
    """Makespan of MFT-LBP by (48) to (59) in its own units, with elements and SciPy; counts fixes
    the layers. With memory, in elements: what comes in to a node that can have a layer is all
    beside that, and of others all. None if nothing fits.
    """
    p, m = len(times), len(links)
    k, start, finish, flow, last = 0, p, 2 * p, 3 * p, 3 * p + m
    columns = 3 * p + m + 1
    scale = n * n * max(t for t in times if np.isfinite(t))  # of times

    def row(**entries):
        values = np.zeros(columns)
        for name, amount in entries.items():
            values[int(name[1:])] += amount
        return values

    upper, equal, right, limits = [], [], [], []
    for e, (tail, head, cost) in enumerate(links):  # T_s(tail) + phi z <= T_s(head)
        line = np.zeros(columns)
        line[start + tail] += 1
        line[start + head] -= 1
        line[flow + e] += cost * 2 * n / scale  # flows in units of 2 n
        upper.append(line)
    for v in range(p):
        equal.append(row(**{f"c{finish + v}": 1.0, f"d{start + v}": -1.0}))
        works = np.isfinite(times[v]) and (v != source or source_computes)
        equal[-1][k + v] = -n * n * times[v] / scale if works else 0.0
        right.append(0.0)
        upper.append(row(**{f"c{finish + v}": 1.0, f"d{last}": -1.0}))
        balance = np.zeros(columns)
        for e, (tail, head, _) in enumerate(links):
            balance[flow + e] += (head == v) - (tail == v)
        balance[k + v] = -1.0
        equal.append(balance)
        right.append(-float(n) if v == source else 0.0)
        if counts is not None:
            equal.append(row(**{f"c{k + v}": 1.0}))
            right.append(float(counts[v]))
    able = [np.isfinite(times[v]) and (v != source or source_computes) for v in range(p)]
    for v in range(p) if memory is not None else ():
        if v != source and memory[v] < np.inf:
            able[v] = able[v] and memory[v] - beside >= 2 * n
            line = np.zeros(columns)
            for e, (_, head, _) in enumerate(links):
                line[flow + e] = head == v
            limits.append((line, (memory[v] - beside * able[v]) // (2 * n)))
    low, high = np.zeros(columns), np.full(columns, np.inf)
    high[:p] = np.where(able, n, 0.0)
    high[start + source] = 0.0
    goal = row(**{f"c{last}": 1.0})
    if whole:
        constraints = [LinearConstraint(np.array(equal), right, right)]
        if upper:
            constraints.append(LinearConstraint(np.array(upper), -np.inf, 0.0))
        constraints += [LinearConstraint(line[None], -np.inf, limit) for line, limit in limits]
        kinds = (np.arange(columns) < p).astype(int)
        found = milp(
            goal,
            integrality=kinds,
            bounds=Bounds(low, high),
            constraints=constraints,
            options={"mip_rel_gap": gap},
        )
    else:
        lines, ends = (
            [*upper, *(line for line, _ in limits)],
            [0.0] * len(upper) + [limit for _, limit in limits],
        )
        found = linprog(
            goal,
            np.array(lines),
            ends,
            np.array(equal),
            right,
            np.stack([low, high], 1),
            method="highs",
        )
    if memory is not None and found.status == 2:
        return None
    assert found.status == 0, found.message
    return found.fun * scale


def program_in_mode(n, times, links, source, mode, *, source_computes=False, counts=None):
    """The least makespan in a mode, with a variable for when each message leaves and for when each
    node begins to compute."""
    p, m = len(times), len(links)
    scale = n * n * max(t for t in times if np.isfinite(t))
    firsts = {
        "k": (0, p),
        "start": (p, p),
        "begin": (2 * p, p),
        "leave": (3 * p, m),
        "flow": (3 * p + m, m),
    }
    k, start, begin, leave, flow = (first + np.arange(size) for first, size in firsts.values())
    last = 3 * p + 2 * m
    sequential, overlapping = mode in ("scss", "sccs"), mode in ("scss", "pcss")
    rows, equal, right = [], [], []

    def later(first, second, after=None, amount=0.0):
        """Variable second >= variable first + amount * variable after."""
        line = np.zeros(last + 1)
        line[first] += 1
        line[second] -= 1
        if after is not None:
            line[after] += amount
        rows.append(line)

    takes = [2 * n * cost / scale for _, _, cost in links]
    for e, (tail, head, _) in enumerate(links):
        later(start[tail], leave[e])
        later(leave[e], start[head], flow[e], takes[e])
        later(leave[e] if overlapping else start[head], begin[head])
        for i in range(e):
            if sequential and links[i][0] == tail:
                later(leave[i], leave[e], flow[i], takes[i])
    able = [np.isfinite(t) and (v != source or source_computes) for v, t in enumerate(times)]
    for v in range(p):
        later(start[v], last)
        if able[v]:
            later(begin[v], last, k[v], n * n * times[v] / scale)
        line = np.zeros(last + 1)
        for e, (tail, head, _) in enumerate(links):
            line[flow[e]] += (head == v) - (tail == v)
        line[k[v]] = -1.0
        equal.append(line)
        right.append(-float(n) if v == source else 0.0)
    high = np.full(last + 1, np.inf)
    high[:p] = np.where(able, n, 0.0) if counts is None else counts
    low = np.zeros(last + 1)
    if counts is not None:
        low[:p] = counts
    goal = (np.arange(last + 1) == last).astype(float)
    found = linprog(
        goal,
        np.array(rows),
        np.zeros(len(rows)),
        np.array(equal),
        right,
        np.stack([low, high], 1),
        method="highs",
    )
    assert found.status == 0, found.message
    return found.fun * scale


def replay_installments(plan):
    """Checks a plan of several installments in fractions: a link carries one after the other, a
    node has one when all its links have brought their part of it, and computes one after the other.
    Returns the makespan."""
    n, p, near = plan.n, len(plan.names), Fraction(1, 10**12)
    links, costs = plan.links.tolist(), [Fraction(c) for c in plan.link_costs.tolist()]
    times = [None if np.isinf(t) else Fraction(t) for t in plan.cycle_times.tolist()]
    sources, everything = plan.sources or (plan.source,), 2 * Fraction(n) ** 2
    free, ready, given, last = (
        [Fraction(0)] * len(links),
        [Fraction(0)] * p,
        Fraction(0),
        Fraction(0),
    )
    for j in range(plan.installments):
        counts = [Fraction(k) for k in plan.round_counts[j].tolist()]
        flows = [Fraction(f) for f in plan.round_flows[j].tolist()]
        assert min(counts) >= 0
        assert all(f >= 0 for f in flows)
        has: dict[int, Fraction] = dict.fromkeys(sources, Fraction(0))
        leaves = [Fraction(0)] * len(links)
        while len(has) < p:
            v = next(
                v
                for v in range(p)
                if v not in has and all(i in has for i, head in links if head == v)
            )
            into = [e for e, (_, head) in enumerate(links) if head == v]
            for e in into:
                leaves[e] = max(has[links[e][0]], free[e])
            has[v] = max(leaves[e] + flows[e] * costs[e] for e in into)
        free = [leave + f * c for leave, f, c in zip(leaves, flows, costs, strict=True)]
        for v in range(p):
            comes = sum((flows[e] for e, (_, head) in enumerate(links) if head == v), Fraction(0))
            goes = sum((flows[e] for e, (tail, _) in enumerate(links) if tail == v), Fraction(0))
            if v in sources:
                assert comes == 0
                assert plan.source_computes or counts[v] == 0
                given += goes + 2 * n * counts[v]
            else:
                assert abs(comes - goes - 2 * n * counts[v]) <= everything * near
            assert counts[v] == 0 or times[v] is not None
            done = max(has[v], ready[v]) + (counts[v] * n * n * times[v] if counts[v] else 0)
            for mine, said in ((has[v], plan.round_start[j, v]), (done, plan.round_finish[j, v])):
                assert abs(mine - Fraction(said)) <= max(mine, 1) * near
            ready[v] = done
    last = max(ready)
    assert abs(given - everything) <= everything * near, (
        "what the sources keep and send is everything, once"
    )
    assert abs(last - Fraction(plan.makespan)) <= last * near
    return float(last)


def program_in_installments(n, times, links, source, rounds, *, source_computes=False):
    """The least makespan of real shares in so many installments, by SciPy."""
    p, m = len(times), len(links)
    scale = n * n * max(t for t in times if np.isfinite(t))
    k, has, done = (
        first + np.arange(rounds * p).reshape(rounds, p)
        for first in (0, rounds * p, 2 * rounds * p)
    )
    leave, flow = (
        3 * rounds * p + first + np.arange(rounds * m).reshape(rounds, m)
        for first in (0, rounds * m)
    )
    last = 3 * rounds * p + 2 * rounds * m
    able = [np.isfinite(t) and (v != source or source_computes) for v, t in enumerate(times)]
    rows, equal, right = [], [], []

    def later(first, second, after, amount):
        line = np.zeros(last + 1)
        line[first] += 1
        line[second] -= 1
        line[after] += amount
        rows.append(line)

    for j in range(rounds):
        for e, (tail, head, cost) in enumerate(links):
            takes = 2 * n * cost / scale
            later(has[j, tail], leave[j, e], flow[j, e], 0.0)
            later(leave[j, e], has[j, head], flow[j, e], takes)
            if j:
                later(leave[j - 1, e], leave[j, e], flow[j - 1, e], takes)
        for v in range(p):
            work = n * n * times[v] / scale if able[v] else 0.0
            later(has[j, v], done[j, v], k[j, v], work)
            if j:
                later(done[j - 1, v], done[j, v], k[j, v], work)
            later(done[j, v], last, k[j, v], 0.0)
            if v != source:
                line = np.zeros(last + 1)
                for e, (tail, head, _) in enumerate(links):
                    line[flow[j, e]] += (head == v) - (tail == v)
                line[k[j, v]] = -1.0
                equal.append(line)
                right.append(0.0)
    equal.append(np.isin(np.arange(last + 1), k).astype(float))
    right.append(float(n))
    high = np.full(last + 1, np.inf)
    high[k] = np.where(able, float(n), 0.0)
    goal = (np.arange(last + 1) == last).astype(float)
    limits = np.stack([np.zeros(last + 1), high], 1)
    found = linprog(
        goal, np.array(rows), np.zeros(len(rows)), np.array(equal), right, limits, method="highs"
    )
    assert found.status == 0, found.message
    return found.fun * scale


def all_counts(n, able):
    """Every way to divide n layers among those who may have some."""
    places = [v for v, may in enumerate(able) if may]
    for bars in combinations(range(n + len(places) - 1), len(places) - 1):
        ends = (-1, *bars, n + len(places) - 1)
        counts = [0] * len(able)
        for v, low, high in zip(places, ends[:-1], ends[1:], strict=True):
            counts[v] = high - low - 1
        yield counts


def best_counts(n, times, links, source=0, *, source_computes=False):
    """The least makespan over all whole counts."""
    able = [np.isfinite(t) and (v != source or source_computes) for v, t in enumerate(times)]
    options = {"source_computes": source_computes}
    return min(
        program(n, times, links, source, counts=counts, **options) for counts in all_counts(n, able)
    )


def best_links(n, times, links, source=0, *, whole):
    """The least makespan over all sets of links; nodes that are not reached get nothing."""
    best = np.inf
    for size in range(1, len(links) + 1):
        for chosen in combinations(links, size):
            reached = {source}
            while True:
                more = reached | {head for tail, head, _ in chosen if tail in reached}
                if more == reached:
                    break
                reached = more
            own = [t if v in reached else np.inf for v, t in enumerate(times)]
            if any(np.isfinite(own[v]) for v in reached - {source}):
                inner = [link for link in chosen if link[0] in reached]
                best = min(best, program(n, own, inner, source, whole=whole))
    return best
