"""Programs for SimGrid of plans with a master: products and LU on a star, tasks, and loads."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..planners.divisible import DivisibleLoad
from ..planners.star import StarPlan
from ..planners.star_lu import StarLuPlan, by_step
from ..runners.bus import BusPlan
from . import chunks
from .actions import GIGA, Message, Numbers, compute
from .chunks import Chunk


class _Master:
    """The programs of rank 0 and of the workers behind it, and the costs of the links between them.

    Parameters
    ----------
    largest : float
        The largest message, in units of data.
    out, back : (p,) float64 array
        Times per unit of data to the workers, and from them.

    Raises
    ------
    ValueError
        If the times of bytes are out of range.
    """

    def __init__(self, largest: float, out: NDArray[np.float64], back: NDArray[np.float64]) -> None:
        # SimGrid counts the bytes of a message in 32 bits
        digits = 9 - math.ceil(math.log10(largest)) if largest else 0
        size = 1 + len(out)
        self.costs = np.zeros((size, size))
        if abs(digits) <= 300:
            self._unit = 10.0**digits
            with np.errstate(over="ignore"):
                self.costs[0, 1:], self.costs[1:, 0] = out, back
                self.costs *= GIGA / self._unit
        if abs(digits) > 300 or not np.isfinite(self.costs).all():
            raise ValueError(
                f"plan has messages of {largest:.3g} units of data: give them in another unit"
            )
        self.programs: list[list[str]] = [[] for _ in range(size)]
        self.numbers = Numbers()

    def send(self, worker: int, units: float) -> Message:
        """A message of the master, which it ends before it begins the next one."""
        message = self.numbers.message(0, worker + 1, round(self._unit * units), 0)
        self.programs[0] += [message.send, message.wait]
        return message

    def receive(self, worker: int, units: float) -> Message:
        message = self.numbers.message(worker + 1, 0, round(self._unit * units), 0)
        self.programs[0] += [message.receive, message.wait]
        return message


def of_star(plan: StarPlan) -> tuple[list[list[str]], NDArray[np.float64]]:
    """The actions of the master and of each worker, and the costs of the links."""
    log = _log(plan)
    master = _Master(max(blocks for *_, blocks in log), plan.link_costs, plan.link_costs)
    _add_product(master, plan, log)
    return master.programs, master.costs


def of_star_lu(plan: StarLuPlan) -> tuple[list[list[str]], NDArray[np.float64]]:
    """The actions of the master's port, of each worker, and of the master's computing."""
    steps = by_step(plan)
    logs = [[] if product is None else _log(product) for _, product in steps]
    largest = max((blocks for log in logs for *_, blocks in log), default=0)
    master = _Master(largest, plan.link_costs, plan.link_costs)
    port, own, last = master.programs[0], [], len(master.programs)
    speed = GIGA / plan.master_time
    before = 0  # the master's columns of the step before
    back: list[str] = []  # what it waits for until the product of that step has come back
    for (panel, product), log in zip(steps, logs, strict=True):
        factor = compute((panel.factored - panel.start) * speed)
        rows = compute((panel.end - panel.solving) * speed)
        # without columns of its own the master gets the panel from the workers
        own += [factor, *back, rows] if before else [*back, factor, rows]
        before, back = panel.own, []
        if product is not None:
            begin, end = (master.numbers.message(*way, 0, 0) for way in ((last, 0), (0, last)))
            own += [begin.send, begin.wait]
            port += [begin.receive, begin.wait]
            _add_product(master, product, log)
            port += [end.send, end.wait]
            back = [end.receive, end.wait]
        own.append(compute((panel.updated - panel.end) * speed))
    return [*master.programs, own], master.costs


#: Worker, kind, chunk, first layer and blocks of each message.
_Log = list[tuple[int, int, int, int, int]]


def _log(plan: StarPlan) -> _Log:
    table, t = [Chunk(*row) for row in plan.chunks.tolist()], plan.shape[2]

    def blocks_of(kind: int, chunk: Chunk, first: int) -> int:
        if kind != chunks.RESULT:
            return chunks.blocks_in(chunk, t, chunks.Step(kind, first, 0))
        x = chunks.traffic_of(chunk, t)
        return x.back * chunks.deep(chunk, t, first) if x.back else x.held

    return [
        (worker, kind, number, first, blocks_of(kind, table[number], first))
        for worker, kind, number, first, *_ in plan.messages.tolist()
    ]


def _add_product(master: _Master, plan: StarPlan, log: _Log) -> None:
    """Add the actions of a product to the programs of the master and of the workers."""
    own: list[list[tuple[int, Chunk]]] = [[] for _ in plan.names]
    for number, row in enumerate(plan.chunks.tolist()):
        chunk = Chunk(*row)
        own[chunk.worker].append((number, chunk))
    workers = [_StarWorker(plan.shape[2], each) for each in own]
    for worker, kind, number, first, blocks in log:
        way = master.receive if kind == chunks.RESULT else master.send
        master.programs[worker + 1] += workers[worker].post(
            way(worker, blocks), kind, number, first
        )
    for program, each in zip(master.programs[1:], workers, strict=True):
        program += each.end()


class _StarWorker:
    """A worker of a star. It begins a message once it has room for it, and computes in between.

    The master has received a result before it sends what needs the result's room.
    """

    def __init__(self, t: int, own: list[tuple[int, Chunk]]) -> None:
        self._t, self._chunks = t, dict(own)
        #: For each message the number of panels that must be computed before.
        self._after: dict[tuple[int, int, int], int] = {}
        left, panels = deque(own), 0
        while left:
            group = [left.popleft() for _ in chunks.pipelined(left)]
            before = panels
            for i, step in chunks.steps_of([chunk for _, chunk in group], self._t):
                self._after[group[i][0], step.kind, step.first] = before + step.after
                panels += step.kind == chunks.PANEL
        self._computed = 0
        #: For each panel that is not computed: waits for what it needs, and its work.
        self._panels: list[list[str]] = []
        self._loads: list[str] = []
        self._results: list[str] = []

    def post(self, message: Message, kind: int, number: int, first: int) -> Iterator[str]:
        """What the worker does up to the beginning of its next message."""
        yield from self._compute(self._after[number, kind, first])
        if kind == chunks.RESULT:
            yield message.send
            self._results.append(message.wait)
            return
        yield message.receive
        if kind == chunks.LOAD:
            self._loads.append(message.wait)
            return
        chunk = self._chunks[number]
        updates = chunks.traffic_of(chunk, self._t).work * chunks.deep(chunk, self._t, first)
        self._panels.append([*self._loads, message.wait, compute(updates * GIGA)])
        self._loads = []

    def end(self) -> Iterator[str]:
        yield from self._compute(self._computed + len(self._panels))
        yield from self._results

    def _compute(self, count: int) -> Iterator[str]:
        """Compute until so many panels are done."""
        while self._computed < count:
            yield from self._panels.pop(0)
            self._computed += 1


def of_bus(plan: BusPlan) -> tuple[list[list[str]], NDArray[np.float64]]:
    """The actions of the master and of each worker, and the costs of the links."""
    if isinstance(plan, DivisibleLoad):
        work, out, back = plan.shares, plan.link_costs, plan.link_costs
        given, answer = work, work * plan.return_ratio
    else:
        work, given = plan.counts.astype(float), np.ones(len(plan.counts))
        answer = given
        out, back = (np.broadcast_to(x, work.shape) for x in (plan.send, plan.receive))
    master = _Master(max(given.max(), answer.max()), out, back)
    for i in plan.send_order.tolist():
        message = master.send(i, given[i])
        share = compute(GIGA * float(work[i]))
        master.programs[i + 1] += [message.receive, message.wait, share]
    for i in plan.receive_order.tolist():
        message = master.receive(i, answer[i])
        master.programs[i + 1] += [message.send, message.wait]
    return master.programs, master.costs
