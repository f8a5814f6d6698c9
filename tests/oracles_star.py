"""Slow and obvious: the one-port model and the paper's rules in exact arithmetic, and a check of finished schedules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

LOAD, PANEL, RETURN = range(3)


def side_of(memory, single=False):
    """Largest mu with mu^2 + 4 mu <= memory, by counting; single: 1 + mu + mu^2."""
    fits = (lambda mu: 1 + mu + mu * mu <= memory) if single else (lambda mu: mu * mu + 4 * mu <= memory)
    return next(mu for mu in itertools.count() if not fits(mu + 1))


def toledo_side(memory):
    return next(q for q in itertools.count() if 3 * (q + 1) ** 2 > memory)


class Desk:
    """One worker: its messages in their fixed order, each with the earliest time at which the worker can take part in it."""

    def __init__(self, index, r, t, cost, time, side, depth, buffers, columns):
        self.index, self.r, self.t, self.cost, self.time = index, r, t, cost, time
        self.side, self.depth, self.buffers, self.columns = side, depth, buffers, columns
        self.queue, self.released, self.ends, self.updates = [], Fraction(0), [], 0

    def refill(self):
        if self.queue:
            return True
        width = self.columns(self.index, self.side)
        if width == 0:
            return False
        for top in range(0, self.r, self.side):
            h = min(self.side, self.r - top)
            self.queue.append((LOAD, h * width, 0))
            for low in range(0, self.t, self.depth):
                d = min(self.depth, self.t - low)
                self.queue.append((PANEL, d * (h + width), h * width * d))
            self.queue.append((RETURN, h * width, 0))
        return True

    def earliest(self):
        kind = self.queue[0][0]
        if kind == LOAD:
            return self.released
        if kind == RETURN:
            return self.ends[-1]
        return self.ends[-self.buffers] if len(self.ends) > self.buffers else self.ends[0]

    def serve(self, port):
        kind, blocks, updates = self.queue[0]
        start = max(port, self.earliest())
        self.queue.pop(0)
        end = start + blocks * self.cost
        compute = None
        if kind == LOAD:
            self.ends = [end]  # all that the first panels wait for
        elif kind == PANEL:
            compute = (max(end, self.ends[-1]), max(end, self.ends[-1]) + updates * self.time)
            self.ends.append(compute[1])
            self.updates += updates
        else:
            self.released = end
        return (self.index, kind, start, end, compute)


class Run:
    """The port's log."""

    def __init__(self, eager):
        self.port, self.log, self.eager = Fraction(0), [], eager

    def serve(self, desk):
        self.log.append(desk.serve(self.port))
        self.port = self.log[-1][3]

    def sweep(self, desks):
        """Eager: results that are ready now come first."""
        while self.eager:
            ready = [d for d in desks if d.queue and d.queue[0][0] == RETURN and d.earliest() <= self.port]
            if not ready:
                return
            self.serve(min(ready, key=lambda d: (d.earliest(), d.index)))


def dealer(s):
    left = [s]

    def columns(_, side):
        width = min(side, left[0])
        left[0] -= width
        return width

    return columns


def simulate_dealt(r, s, t, costs, times, sides, *, demand, toledo=False, eager=False):
    """Round robin or demand driven over the workers with a side."""
    columns = dealer(s)
    desks = [
        Desk(i, r, t, Fraction(c), Fraction(w), q, q if toledo else 1, 1 if toledo else 2, columns)
        for i, (c, w, q) in enumerate(zip(costs, times, sides, strict=True))
        if q > 0
    ]
    run = Run(eager)
    if demand:
        while True:
            run.sweep(desks)
            # who has nothing asks for columns; they are only taken when it is served
            waiting = [(d.earliest() if d.queue else d.released, d.index, d) for d in desks]
            served = False
            for _, _, desk in sorted(waiting, key=lambda w: w[:2]):
                if desk.refill():
                    run.serve(desk)
                    served = True
                    break
            if not served:
                return run.log
    while True:
        served = False
        for desk in desks:
            run.sweep(desks)
            if desk.refill():
                run.serve(desk)
                served = True
        if not served:
            return run.log


def makespan(log):
    return max(message[3] for message in log)


def selections(r, s, t, costs, times, sides, *, best="global", c_cost="none", ahead=False):
    """Phase 1: workers in the order of their messages."""
    p = len(sides)
    costs, times = [Fraction(c) for c in costs], [Fraction(w) for w in times]
    port, ready, work, chosen, credited, picks = Fraction(0), [Fraction(0)] * p, 0, [], 0, [0] * p
    usable = [i for i in range(p) if sides[i] > 0]

    def step(i, port, ready, picked):
        send = 2 * sides[i] * costs[i]
        if c_cost == "first" and not picked:
            send += sides[i] ** 2 * costs[i]
        if c_cost == "amortised":
            send += Fraction(2 * sides[i] ** 2, t) * costs[i]
        return max(port + send, ready[i])

    def rate(gained, now, since):
        if best == "global":
            gained, since = gained + work, Fraction(0)
        return math.inf if now == since else gained / (now - since)

    while credited < s:
        value, who = None, None
        for i in usable:
            now = step(i, port, ready, picks[i])
            end = now + sides[i] ** 2 * times[i]
            if best == "end":
                options = [-end]
            elif not ahead:
                options = [rate(sides[i] ** 2, now, port)]
            else:
                after = list(ready)
                after[i] = end
                options = [rate(sides[i] ** 2 + sides[j] ** 2, step(j, now, after, picks[j] + (i == j)), port) for j in usable]
            for option in options:
                if value is None or option > value:
                    value, who = option, i
        port = step(who, port, ready, picks[who])
        ready[who] = port + sides[who] ** 2 * times[who]
        work += sides[who] ** 2
        picks[who] += 1
        chosen.append(who)
        if picks[who] % (t * -(-r // sides[who])) == 0:
            credited += sides[who]
    return chosen


def simulate_selected(r, s, t, costs, times, sides, chosen, *, eager=False):
    """Phase 2."""
    p = len(sides)
    picks, owned, left = [0] * p, [[] for _ in range(p)], s
    for i in chosen:
        picks[i] += 1
        if picks[i] % (t * -(-r // sides[i])) == 0:
            width = min(sides[i], left)
            left -= width
            if width:
                owned[i].append(width)
    columns = [sum(o) for o in owned]
    desks = [
        Desk(i, r, t, Fraction(costs[i]), Fraction(times[i]), sides[i], 1, 2, lambda w, _: owned[w].pop(0) if owned[w] else 0)
        for i in range(p)
    ]
    run = Run(eager)
    for i in chosen:
        desk = desks[i]
        if sides[i] == 0:
            continue
        run.sweep(desks)
        while True:
            if not desk.refill():
                break
            kind = desk.queue[0][0]
            if kind == RETURN and not any(q[0] == PANEL for q in desk.queue) and not owned[i]:
                break  # the last result waits for the end
            run.serve(desk)
            if kind == PANEL:
                break
            run.sweep(desks)
    while rest := [d for d in desks if d.queue]:
        run.serve(min(rest, key=lambda d: (d.earliest(), d.index)))
    return run.log, columns


VARIANTS = [(best, c_cost, ahead) for best in ("global", "local") for ahead in (False, True) for c_cost in ("none", "first")]


def het(r, s, t, costs, times, memory, *, eager=False):
    """(makespan, columns, log) of each of the eight variants."""
    sides = [side_of(m) for m in memory]
    runs = []
    for best, c_cost, ahead in VARIANTS:
        chosen = selections(r, s, t, costs, times, sides, best=best, c_cost=c_cost, ahead=ahead)
        log, columns = simulate_selected(r, s, t, costs, times, sides, chosen, eager=eager)
        runs.append((makespan(log), columns, log))
    return runs


def ommoml(r, s, t, costs, times, memory, *, eager=False):
    sides = [side_of(m) for m in memory]
    chosen = selections(r, s, t, costs, times, sides, best="end")
    return simulate_selected(r, s, t, costs, times, sides, chosen, eager=eager)


def homogeneous(r, s, t, costs, times, memory, *, improved, eager=False):
    """Hom and HomI: the log of the run on the real workers."""
    sides = [side_of(m) for m in memory]
    p = len(sides)
    best, chosen = None, None
    thresholds = [(m, None, None) for m in sorted(set(memory))]
    if improved:
        thresholds = list(itertools.product(sorted(set(memory)), sorted(set(costs)), sorted(set(times))))
    for m, c, w in thresholds:
        who = [i for i in range(p) if memory[i] >= m and (c is None or (costs[i] <= c and times[i] <= w))]
        side = side_of(m)
        if not who or side == 0:
            continue
        slow_c, slow_w = (max(costs[i] for i in who), max(times[i] for i in who)) if c is None else (c, w)
        count = next(n for n in itertools.count(1) if n == len(who) or 2 * side * t * slow_c * n >= side**2 * t * slow_w)
        value = makespan(simulate_dealt(r, s, t, [slow_c] * count, [slow_w] * count, [side] * count, demand=False, eager=eager))
        if best is None or value < best:
            best, chosen = value, [side if i in who[:count] else 0 for i in range(p)]
    return simulate_dealt(r, s, t, costs, times, chosen, demand=False, eager=eager), chosen


def every_log(r, s, t, costs, times, memory, *, eager=False):
    """Method -> log of the seven methods."""
    sides = [side_of(m) for m in memory]
    args = (r, s, t, costs, times)
    runs = het(*args, memory, eager=eager)
    return {
        "hom": homogeneous(*args, memory, improved=False, eager=eager)[0],
        "homi": homogeneous(*args, memory, improved=True, eager=eager)[0],
        "het": min(runs, key=lambda run: run[0])[2],
        "orroml": simulate_dealt(*args, sides, demand=False, eager=eager),
        "ommoml": ommoml(*args, memory, eager=eager)[0],
        "oddoml": simulate_dealt(*args, sides, demand=True, eager=eager),
        "bmm": simulate_dealt(*args, [toledo_side(m) for m in memory], demand=True, toledo=True, eager=eager),
    }


def steady_state(r, s, t, costs, times, sides, *, with_c=False):
    """The bandwidth-centric bound: fill the port with the workers that need least of it per update."""
    needs = []
    for c, w, side in zip(costs, times, sides, strict=True):
        if side:
            blocks = Fraction(1, min(side, r)) + Fraction(1, min(side, s)) + (Fraction(2, t) if with_c else 0)
            needs.append((blocks * Fraction(c), Fraction(w)))
    port, rate = Fraction(1), Fraction(0)
    for need, w in sorted(needs):
        x = 1 / w if need == 0 else min(1 / w, port / need)
        rate += x
        port -= x * need
    return r * s * t / rate


def judge(shape, costs, times, memory, chunks: Iterable[Any], messages: Iterable[Any], *, toledo: bool = False) -> float:
    """Asserts that a schedule is valid and complete, from nothing but its chunks and the port's log; returns its end.

    Times must be exact: integers, or multiples of a power of two.
    """
    r, s, t = shape
    chunks = [tuple(chunk) for chunk in chunks]
    painted: dict[tuple[int, int], int] = {}
    for index, (_, row, col, height, width) in enumerate(chunks):
        for cell in itertools.product(range(row, row + height), range(col, col + width)):
            assert cell not in painted, "a block of C in two chunks"
            painted[cell] = index
    assert set(painted) == set(itertools.product(range(r), range(s))), "blocks of C in no chunk"

    port = 0.0
    stages: list[list[Any]] = [[] for _ in chunks]
    held: list[list[tuple[float, int, int]]] = [[] for _ in memory]  # time, release before acquire, blocks
    computing: list[list[tuple[float, float]]] = [[] for _ in memory]
    for worker, kind, chunk, depth, start, end, begin, done in messages:
        owner, _, _, height, width = chunks[chunk]
        assert worker == owner
        assert start >= port, "the port has one message at a time"
        port = end
        before = stages[chunk]
        if kind == LOAD:
            assert not before
            blocks = height * width
            held[worker].append((start, 1, blocks))
        elif kind == PANEL:
            low = depth
            assert before
            assert before[0][0] == LOAD
            assert low == sum(x[1] for x in before[1:]), "the panels cover the inner dimension, once and in order"
            deep = min(math.isqrt(memory[worker] // 3), t - low) if toledo else 1
            blocks = deep * (height + width)
            assert begin >= end
            assert done == begin + height * width * deep * times[worker]
            held[worker] += [(start, 1, blocks), (done, 0, -blocks)]
            computing[worker].append((begin, done))
        else:
            assert sum(x[1] for x in before) == t, "a result before the last update"
            assert start >= max(x[2] for x in before)
            blocks = height * width
            held[worker].append((end, 0, -blocks))
        assert end == start + blocks * costs[worker]
        before.append((kind, deep if kind == PANEL else 0, done))
    assert all(len(x) >= 3 and x[-1][0] == RETURN and sum(y[0] == RETURN for y in x) == 1 for x in stages)
    for worker, limit in enumerate(memory):
        for (_, first), (second, _) in itertools.pairwise(sorted(computing[worker])):
            assert second >= first, "a worker computes one panel at a time"
        inside = 0
        for _, _, blocks in sorted(held[worker]):
            inside += blocks
            assert 0 <= inside <= limit, "buffers"
        assert inside == 0
    return port
