"""Demand-driven products, one request after the other, with sets of blocks and lists of tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

MASK = 2**64 - 1


def draws(seed: int) -> Iterator[int]:
    """splitmix64."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def operands_of(task: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
    if len(task) == 2:
        return [("A", task[:1]), ("B", task[1:])]
    i, j, k = task
    return [("A", (i, k)), ("B", (k, j)), ("C", (i, j))]


def handed_out(
    n: int, axes: int, times: Sequence[float], method: str, beta: float, seed: int
) -> tuple[list[tuple[int, ...]], list[list[int]], list[set]]:
    """(worker, *task) of each task in the order of the requests, the blocks of A, B and C that its
    worker was sent since its task before, and the blocks of each worker at the end. A request can
    bring blocks without a task."""
    random = draws(seed)
    every = list(itertools.product(range(n), repeat=axes))
    left = list(every)
    held: list[set] = [set() for _ in times]
    counted: list[set] = [set() for _ in times]  # the blocks that were sent with tasks
    known: list[list[list[int]]] = [[[] for _ in range(axes)] for _ in times]
    unknown = [[list(range(n)) for _ in range(axes)] for _ in times]
    ready = [0.0 if math.isfinite(t) else math.inf for t in times]
    log, sent = [], []

    def send(worker, task):
        held[worker] |= set(operands_of(task))

    def give(worker, task):
        at = left.index(task)  # the last one takes its place
        left[at] = left[-1]
        left.pop()
        send(worker, task)
        log.append((worker, *task))
        names = [name for name, _ in held[worker] - counted[worker]]
        counted[worker] = set(held[worker])
        sent.append([names.count(name) for name in "ABC"])
        ready[worker] += times[worker]

    while left:
        worker = min(range(len(times)), key=lambda w: ready[w])
        growing = method == "dynamic" or (
            method == "dynamic-2phases" and len(left) >= math.exp(-beta) * len(every)
        )
        if method == "sorted":
            give(worker, min(left))
        elif not growing:
            give(worker, left[next(random) % len(left)])
        else:
            for axis in range(axes):
                rest = unknown[worker][axis]
                at = next(random) % len(rest)
                known[worker][axis].append(rest[at])
                rest[at] = rest[0]
                rest.pop(0)
            mine = known[worker]
            newest = len(mine[0]) - 1
            fresh = [
                tuple(mine[axis][x] for axis, x in enumerate(place))
                for place in itertools.product(range(newest + 1), repeat=axes)
                if max(place) == newest
            ]
            for task in fresh:  # the blocks of a whole square or cube, whoever has its tasks
                send(worker, task)
            for task in fresh:
                if task in left:
                    give(worker, task)
    return log, sent, held
