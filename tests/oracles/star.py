"""Slow and obvious: the one-port model and the paper's rules in exact arithmetic, and a check of
finished schedules."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

LOAD, PANEL, RETURN = range(3)


def side_of(memory, single=False):
    """Largest mu with mu^2 + 4 mu <= memory, by counting; single: 1 + mu + mu^2."""
    fits = (
        (lambda mu: 1 + mu + mu * mu <= memory)
        if single
        else (lambda mu: mu * mu + 4 * mu <= memory)
    )
    return next(mu for mu in itertools.count() if not fits(mu + 1))


def toledo_side(memory):
    return next(q for q in itertools.count() if 3 * (q + 1) ** 2 > memory)


class Desk:
    """One worker: its messages in their fixed order, each with the earliest time at which the
    worker can take part in it."""

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
            ready = [
                d
                for d in desks
                if d.queue and d.queue[0][0] == RETURN and d.earliest() <= self.port
            ]
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
                options = [
                    rate(
                        sides[i] ** 2 + sides[j] ** 2,
                        step(j, now, after, picks[j] + (i == j)),
                        port,
                    )
                    for j in usable
                ]
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
        Desk(
            i,
            r,
            t,
            Fraction(costs[i]),
            Fraction(times[i]),
            sides[i],
            1,
            2,
            lambda w, _: owned[w].pop(0) if owned[w] else 0,
        )
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


VARIANTS = [
    (best, c_cost, ahead)
    for best in ("global", "local")
    for ahead in (False, True)
    for c_cost in ("none", "first")
]


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
        thresholds = list(
            itertools.product(sorted(set(memory)), sorted(set(costs)), sorted(set(times)))
        )
    for m, c, w in thresholds:
        who = [
            i
            for i in range(p)
            if memory[i] >= m and (c is None or (costs[i] <= c and times[i] <= w))
        ]
        side = side_of(m)
        if not who or side == 0:
            continue
        slow_c, slow_w = (
            (max(costs[i] for i in who), max(times[i] for i in who)) if c is None else (c, w)
        )
        count = next(
            n
            for n in itertools.count(1)
            if n == len(who) or 2 * side * t * slow_c * n >= side**2 * t * slow_w
        )
        value = makespan(
            simulate_dealt(
                r,
                s,
                t,
                [slow_c] * count,
                [slow_w] * count,
                [side] * count,
                demand=False,
                eager=eager,
            )
        )
        if best is None or value < best:
            best, chosen = value, [side if i in who[:count] else 0 for i in range(p)]
    return simulate_dealt(r, s, t, costs, times, chosen, demand=False, eager=eager), chosen


def every_log(r, s, t, costs, times, memory, *, eager=False):
    """Method -> log of the seven methods, and of "overlap"."""
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
        "bmm": simulate_dealt(
            *args, [toledo_side(m) for m in memory], demand=True, toledo=True, eager=eager
        ),
        "overlap": simulate_overlap(*args, [pair_side(m) for m in memory], eager=eager),
    }


def steady_state(r, s, t, costs, times, sides, *, with_c=False):
    """The bandwidth-centric bound: fill the port with the workers that need least of it per
    update."""
    needs = []
    for c, w, side in zip(costs, times, sides, strict=True):
        if side:
            blocks = (
                Fraction(1, min(side, r))
                + Fraction(1, min(side, s))
                + (Fraction(2, t) if with_c else 0)
            )
            needs.append((blocks * Fraction(c), Fraction(w)))
    return shared(r * s * t, needs)


def shared(updates, needs):
    """Time for `updates`, each at (port time, compute time) of the worker that does it."""
    port, rate = Fraction(1), Fraction(0)
    for need, w in sorted(needs):
        x = 1 / w if need == 0 else min(1 / w, port / need)
        rate += x
        port -= x * need
    return updates / rate


def queue_of(shape, chunk):
    """The messages of a chunk in their order: (kind, layer, blocks, updates, index of the message
    whose end it waits for)."""
    r, s, t = shape
    _, held, buffers, _, _, h, v, depth, _ = chunk
    if (
        buffers < 1
        # the blocks of A (of B) come one by one, for a row (a column) of the chunk each; v (h) of
        # the other for a layer
    ):
        many, few = (h, v) if buffers == 0 else (v, h)
        blocks = [(few + 1 if place == 0 else 1) for _ in range(t) for place in range(many)]
        panels = [(PANEL, number, size, few, number) for number, size in enumerate(blocks)]
        return [(LOAD, 0, h * v, 0, None), *panels, (RETURN, 0, h * v, 0, len(blocks))]
    stays, arrives, returns, length = [
        (h * v, h + v, 0, t),
        (h * t, h + t, h, v),
        (v * t, v + t, v, h),
    ][held]
    panels = [(low, min(depth, length - low)) for low in range(0, length, depth)]
    queue, at, results = [(LOAD, 0, stays, 0, None)], {}, {}

    def result(n):
        low, deep = panels[n]
        results[n] = len(queue)
        queue.append((RETURN, low, deep * returns, 0, at[n]))

    for n, (low, deep) in enumerate(panels):
        if returns and n >= buffers:
            result(n - buffers)
        waits = (
            results[n - buffers]
            if returns and n >= buffers
            else at[n - buffers]
            if n >= buffers
            else 0
        )
        at[n] = len(queue)
        queue.append((PANEL, low, deep * arrives, deep * h * v * t // length, waits))
    if returns:
        for n in range(max(0, len(panels) - buffers), len(panels)):
            result(n)
    else:
        queue.append((RETURN, 0, stays, 0, at[len(panels) - 1]))
    return queue


def sequence_of(shape, chunks):
    """The messages of a worker's chunks, as of `queue_of`, the index among all. A chunk that is
    ahead comes before the last message of the one before, but for the panels that have no buffer
    yet."""
    # of chunks each ahead of the one before: panels' places, how many fit, the load
    found, panels, buffers, start = [], [], 2, 0
    for number, chunk in enumerate(chunks):
        queue, own = queue_of(shape, chunk), max(chunk[2], 1)
        ahead = number > 0 and chunk[8]
        result = found.pop() if ahead else None
        if not ahead:
            panels, buffers, start = [], own, len(found)
        before, first = len(panels), len(found)
        where = {}  # of each message of the queue, in all
        for k, (kind, layer, blocks, updates, waits) in enumerate(queue):
            count = len(panels) - before
            if result is not None and (count == own or kind == RETURN):
                found.append(result)
                result = None
            if kind == LOAD:
                waits = next((n for n in reversed(range(first)) if found[n][0] != PANEL), None)
            elif kind == PANEL and ahead and count < own:
                nth = before - 1 if buffers == 1 else len(panels) - own
                waits = panels[nth] if nth >= 0 else start
            else:
                waits = where[waits]
            where[k] = len(found)
            if kind == PANEL:
                panels.append(len(found))
            found.append((kind, layer, blocks, updates, waits))
        buffers = own
    return found


def simulate_given(shape, costs, times, chunks, *, demand):
    """(worker, kind, layer, start, end) of each message of given chunks, in turn or demand
    driven."""
    p = len(costs)
    own = [sequence_of(shape, [chunk for chunk in chunks if chunk[0] == i]) for i in range(p)]
    done, busy = [[] for _ in range(p)], [Fraction(0)] * p
    port, log, turn = Fraction(0), [], 0

    def earliest(i):
        waits = own[i][len(done[i])][4]
        return Fraction(0) if waits is None else done[i][waits]

    while True:
        asking = [i for i in range(p) if len(done[i]) < len(own[i])]
        if not asking:
            return log
        i = (
            min(asking, key=lambda x: (earliest(x), x))
            if demand
            else min(asking, key=lambda x: (x - turn) % p)
        )
        turn = i + 1
        kind, layer, blocks, updates, _ = own[i][len(done[i])]
        start = max(port, earliest(i))
        port = start + blocks * Fraction(costs[i])
        log.append((i, kind, layer, start, port))
        if kind == PANEL:
            busy[i] = max(port, busy[i]) + updates * Fraction(times[i])
        done[i].append(busy[i] if kind == PANEL else port)


def pair_side(memory):
    """Largest mu with 2 mu^2 + 4 mu <= memory."""
    return next(mu for mu in itertools.count() if 2 * (mu + 1) ** 2 + 4 * (mu + 1) > memory)


def simulate_overlap(r, s, t, costs, times, sides, *, eager=False):
    """Demand driven, each worker's next chunk before the result of the last one where there is a
    next one: (worker, kind, start, end, when computed) of each message."""
    p, left, port, log = len(sides), s, Fraction(0), []
    rows, width = [r] * p, [0] * p  # below: dealt columns, and the row that comes next
    # panels of the last chunk, (h, v) of it and of the one before
    sent, work, owed = [None] * p, [None] * p, [None] * p
    passed, ends = [Fraction(0)] * p, [[] for _ in range(p)]  # the last load or result; of panels
    # the first load; when the result owed is ready
    come, due = [Fraction(0)] * p, [Fraction(0)] * p

    def request(i):
        """(when it can start, kind) of the next message, or None."""
        more = rows[i] < r or left > 0
        if work[i] and sent[i] < t and not (owed[i] and sent[i] >= 2):
            return (ends[i][-2] if len(ends[i]) > 1 else come[i]), PANEL
        if owed[i]:
            return due[i], RETURN
        if more:
            return passed[i], LOAD
        return (ends[i][-1], RETURN) if work[i] else None

    while True:
        asking = [(*request(i), i) for i in range(p) if sides[i] and request(i)]
        if not asking:
            return log
        ready = [x for x in asking if eager and x[1] == RETURN and x[0] <= port]
        since, kind, i = min(ready or asking, key=lambda x: (x[0], x[2]))
        start, then = max(port, since), None
        if kind == LOAD:
            if rows[i] == r:
                width[i], rows[i] = min(sides[i], left), 0
                left -= width[i]
            if work[i]:
                owed[i], due[i] = work[i], ends[i][-1]
            else:
                ends[i] = []
            work[i], sent[i] = (min(sides[i], r - rows[i]), width[i]), 0
            rows[i] += work[i][0]
            blocks = math.prod(work[i])
        elif kind == PANEL:
            blocks, sent[i] = sum(work[i]), sent[i] + 1
        elif owed[i]:
            blocks, owed[i] = math.prod(owed[i]), None
        else:
            blocks, work[i] = math.prod(work[i]), None
        port = start + blocks * Fraction(costs[i])
        if kind == PANEL:
            begin = max([port, *ends[i][-1:]])
            then = begin, begin + math.prod(work[i]) * Fraction(times[i])
            ends[i].append(then[1])
        else:
            passed[i] = port
        if kind == LOAD and not owed[i]:
            come[i] = port
        log.append((i, kind, start, port, then))


def splits(columns, widest):
    """Ordered lists of widths, 1 to widest, that sum to columns."""
    return (
        [
            [v, *rest]
            for v in range(1, min(columns, widest) + 1)
            for rest in splits(columns - v, widest)
        ]
        if columns
        else [[]]
    )


def dealings(s, sides):
    """For each worker the widths of its panels."""
    for bars in itertools.product(range(s + 1), repeat=len(sides)):
        if sum(bars) == s and all(side or not own for own, side in zip(bars, sides, strict=True)):
            yield from itertools.product(
                *(splits(own, side) for own, side in zip(bars, sides, strict=True))
            )


def messages_of(r, t, widths, side):
    """(kind, blocks, updates) of a worker with panels of these widths."""
    parts = [(min(side, r - top), v) for v in widths for top in range(0, r, side)] if side else []
    return [
        m
        for h, v in parts
        for m in [(LOAD, h * v, 0), *[(PANEL, h + v, h * v)] * t, (RETURN, h * v, 0)]
    ]


def count_of_orders(r, s, t, sides):
    """How many dealings, each in how many orders."""
    total = 0
    for dealt in dealings(s, sides):
        lengths = [
            len(messages_of(r, t, widths, side)) for widths, side in zip(dealt, sides, strict=True)
        ]
        total += math.factorial(sum(lengths)) // math.prod(math.factorial(n) for n in lengths)
    return total


def least_makespan(r, s, t, costs, times, memory):
    """Over all dealings and orders: no bound and no dominance, the same state is only gone through
    once. Exact for integers."""
    sides, p = [side_of(m) for m in memory], len(memory)

    def best_order(queues):
        @functools.cache
        def best_from(port, workers):
            """Workers: (messages sent, the last two ends in its chunk: of the panels, before them
            of its C)."""
            ways = []
            for i in range(p):
                sent, ends = workers[i]
                if sent == len(queues[i]):
                    continue
                kind, blocks, updates = queues[i][sent]
                waits = 0 if kind == LOAD else ends[-1] if kind == RETURN else ends[0]
                end = max(port, waits) + blocks * costs[i]
                ends = (
                    (ends[-1], max(end, ends[-1]) + updates * times[i]) if kind == PANEL else (end,)
                )
                ways.append(best_from(end, (*workers[:i], (sent + 1, ends), *workers[i + 1 :])))
            return min(ways, default=port)

        return best_from(0, ((0, (0,)),) * p)

    return min(
        best_order(
            [messages_of(r, t, widths, side) for widths, side in zip(dealt, sides, strict=True)]
        )
        for dealt in dealings(s, sides)
    )


def judge(
    shape,
    costs,
    times,
    memory,
    chunks: Iterable[Any],
    messages: Iterable[Any],
    peaks: list[int] | None = None,
) -> float:
    """Asserts that a schedule is valid and complete, from nothing but its chunks and the port's
    log; returns its end.

    What a worker holds is C (h x v, goes back), or A (h x t) or B (t x v); the others pass, layer
    by layer.

    Times must be exact: integers, or multiples of a power of two. Without costs and times (None)
    nothing is said of how long something lasts: so a log that was measured can be judged. peaks
    gets the most blocks that each worker held.
    """
    r, s, t = shape
    chunks = [tuple(chunk) for chunk in chunks]
    painted: dict[tuple[int, int], int] = {}
    for index, (_, _, _, row, col, height, width, *_) in enumerate(chunks):
        for cell in itertools.product(range(row, row + height), range(col, col + width)):
            assert cell not in painted, "a block of C in two chunks"
            painted[cell] = index
    assert set(painted) == set(itertools.product(range(r), range(s))), "blocks of C in no chunk"

    port = 0.0
    # first layer, layers, computed at
    sent: list[list[tuple[int, int, float]]] = [[] for _ in chunks]
    back = [0] * len(chunks)  # layers
    loaded, over = [False] * len(chunks), [False] * len(chunks)
    # time, release before acquire, blocks
    stored: list[list[tuple[float, int, int]]] = [[] for _ in memory]
    computing: list[list[tuple[float, float]]] = [[] for _ in memory]
    for worker, kind, chunk, layer, start, end, begin, done in messages:
        owner, held, buffers, _, _, h, v, depth, ahead = chunks[chunk]
        stays, arrives, returns, length = [
            (h * v, h + v, 0, t),
            (h * t, h + t, h, v),
            (v * t, v + t, v, h),
        ][held]
        updates = h * v * t // length
        many, few = (h, v) if buffers == 0 else (v, h)
        if buffers < 1:
            assert held == 0
            arrives, length, updates = 1, t * many, few
        assert worker == owner
        assert start >= port, "the port has one message at a time"
        assert not over[chunk]
        port = end
        if kind == LOAD:
            assert not loaded[chunk]
            assert not sent[chunk]
            others = [over[k] for k in range(len(chunks)) if chunks[k][0] == worker and loaded[k]]
            assert others.count(False) == (ahead and len(others) > 0), (
                "before the result of the one before, or not though ahead"
            )
            loaded[chunk] = True
            blocks = stays
            stored[worker].append((start, 1, blocks))
        elif kind == PANEL:
            low = sum(x[1] for x in sent[chunk])
            assert loaded[chunk]
            assert layer == low < length, "the panels cover the layers, once and in order"
            deep = min(depth, length - low)
            blocks = deep * arrives
            assert begin >= end
            assert (
                done >= begin if times is None else done == begin + updates * deep * times[worker]
            )
            if buffers < 1 and low % many == 0:  # what the blocks of this layer meet
                blocks += few
                stored[worker].append((start, 1, few))
            if buffers < 1 and low % many == many - 1:
                stored[worker].append((done, 0, -few))
            stored[worker].append((start, 1, deep * arrives))
            # what only comes is free once computed; a column of C stays until its result has left
            stored[worker].append((done, 0, -deep * (arrives - returns)))
            computing[worker].append((begin, done))
            sent[chunk].append((low, deep, done))
        elif held == 0:
            assert sum(x[1] for x in sent[chunk]) == length, "a result before the last update"
            assert start >= max(x[2] for x in sent[chunk])
            blocks, over[chunk] = stays, True
            stored[worker].append((end, 0, -blocks))
        else:
            assert layer == back[chunk], "results in the order of the panels"
            deep, done = next((x[1], x[2]) for x in sent[chunk] if x[0] == layer)
            assert start >= done, "a result before its update"
            blocks, back[chunk] = deep * returns, back[chunk] + deep
            stored[worker].append((end, 0, -blocks))
            if back[chunk] == length:
                over[chunk] = True
                stored[worker].append((end, 0, -stays))
        assert end >= start if costs is None else end == start + blocks * costs[worker]
    assert all(over), "a chunk that is not done"
    for worker, limit in enumerate(memory):
        for (_, first), (second, _) in itertools.pairwise(sorted(computing[worker])):
            assert second >= first, "a worker computes one panel at a time"
        inside = peak = 0
        for _, _, blocks in sorted(stored[worker]):
            inside += blocks
            peak = max(peak, inside)
            assert 0 <= inside <= limit, "buffers"
        if peaks is not None:
            peaks.append(peak)
        assert inside == 0
    return port
