"""LU factorisation by a plan of plan_star_lu.

The calling thread is the master. The products go to the workers like the product of any StarPlan.
While it waits for a product, a thread of its own updates the master's columns and factors the next
panel.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._base.progress import share_of
from .._base.waits import PIECE
from .._engine import run as engine
from ..planners.cover import require_chunks
from ..planners.star_lu import MASTER, LuStep, StarLuPlan, by_step, own_work, timed
from ..platform import divided_time, relative_speeds
from ..trace import Trace
from . import star
from .factor import Problem
from .operands import Operands, operands
from .triangular import substitute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._base.progress import Progress
    from ..planners.star import StarPlan
    from .operands import Array
    from .workers import Resources


def perform(
    resources: Resources,
    plan: StarLuPlan,
    problem: Problem,
    trace: bool,
    progress: Progress | None,
) -> tuple[int, Trace | None]:
    """Factor; return (column of the first zero on the diagonal of U or -1, trace or None)."""
    threads, workers = resources
    pivots, lu = problem.pivots, problem.x
    assert pivots is not None
    workers.require_as_many(plan.names, "owner is a plan")
    # star.run checks each product again, but only when a part of the matrix is already factored.
    for x in plan.products:
        require_chunks(x)
    scale = workers.time_scale if workers.emulated else None
    master = Master(plan, lu, pivots, scale)
    if problem.a is not None:
        lu[...] = problem.a
    steps = by_step(plan)
    looks_ahead = ahead_in(steps)
    beside = engine.Threads(1, None) if any(looks_ahead) else threads
    records: list[tuple[int, float, Trace]] = []
    updates, done = plan.updates.sum(), 0
    for k, (_, product) in enumerate(steps):
        if k == 0 or not looks_ahead[k - 1]:
            master.factor(threads, k)
        master.solve(threads, k)
        if product is None:
            master.update(threads, k)
            continue
        own = int(product.updates.sum())
        told = share_of(progress, done / updates, own / updates)
        at, due, recorded = master.now(), master.due, trace or workers.emulated
        with _beside(master, beside, k) if looks_ahead[k] else nullcontext():
            record = star.run(resources, product, master.operands(k), "plan", recorded, told)
        if record is not None:
            master.returned = due + (record.predicted or 0.0)
            records.append((k, at, record))
        done += own
    workers.warn_if_late(
        [0.0] * (len(plan.names) + 1) + [master.late],
        plan.names,
        plan.makespan * workers.time_scale,
    )
    if not trace:
        return master.singular, None
    return master.singular, trace_of(plan, master, records, workers.kind, scale)


def ahead_in(steps: Sequence[tuple[LuStep, StarPlan | None]]) -> list[bool]:
    """In which steps the master factors the next panel during the product of the workers."""
    return [panel.own > 0 and product is not None for panel, product in steps]


def _block(plan: StarLuPlan, shape: tuple[int, ...]) -> int:
    """Rows and columns of one block of the plan."""
    m, n = shape
    if m != n:
        raise ValueError(f"a must be square for a plan of plan_star_lu, got shape {shape}")
    q = -(-n // plan.blocks)
    if n < plan.blocks or -(-n // q) != plan.blocks:
        raise ValueError(
            f"A has {n} rows, which no size of blocks makes the plan's n = {plan.blocks} blocks"
        )
    return q


class Master:
    """The master's own work on a matrix, in place, and the record of it.

    scale : seconds of the run per time of the plan, if the master is emulated and keeps its pace.
    stopped : event after which work in other threads ends early.
    singular : column of the first zero on the diagonal of U, or -1.
    due : when its last work should have ended, on the clock of the emulated platform. Work that
    the host began late ends when it is due, if it can.
    returned : when the last product should have ended, on the same clock.
    late : by how many seconds it missed a deadline, at most.
    steps : (name, start, end) of all that it did. cpu : CPU seconds of it.
    """

    def __init__(
        self,
        plan: StarLuPlan,
        lu: Array,
        pivots: NDArray[np.int32],
        scale: float | None = None,
    ) -> None:
        self.plan, self.lu, self.pivots, self.q = plan, lu, pivots, _block(plan, lu.shape)
        self.singular, self.late, self.cpu = -1, 0.0, 0.0
        self.due = self.returned = 0.0
        self.steps: list[tuple[str, float, float]] = []
        self._scale = scale
        self.stopped = threading.Event()
        self._times = [
            {name: end - start for name, start, end in own_work(k, panel)}
            for k, panel in enumerate(plan.panels)
        ]
        self._begin = time.perf_counter()

    def now(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._begin

    def columns(self, k: int) -> tuple[int, int, int]:
        """First column of a panel, of the rest, and of the workers' part of the rest."""
        panel = self.plan.panels[k]
        end = panel.first + panel.width
        return panel.first * self.q, end * self.q, (end + panel.own) * self.q

    def operands(self, k: int) -> Operands:
        """The operands of the workers' product C -= A B of a step."""
        first, end, rest = self.columns(k)
        lu = self.lu
        return operands(lu[end:, first:end], lu[first:end, rest:], lu[end:, rest:], -1.0, 1.0)

    def factor(self, threads: engine.Threads, k: int) -> None:
        """Factor a panel. Other columns stay as they are."""
        first, end, _ = self.columns(k)
        own = self.pivots[first:end]

        def factor() -> None:
            panel = self.lu[first:, first:end].copy(order="F")
            failed, _ = Problem("lu", None, panel, pivots=own).run(threads, progress=self._look)
            self.lu[first:, first:end] = panel
            if self.singular < 0 <= failed:
                self.singular = first + failed

        self._do(f"panel {k}", k, factor)

    def solve(self, threads: engine.Threads, k: int) -> None:
        """Exchange the rows of all columns beside a panel, and solve for the rows of U."""
        first, end, _ = self.columns(k)
        own = self.pivots[first:end]

        def solve() -> None:
            order = np.arange(len(self.lu) - first)
            for i, other in enumerate(own.tolist()):
                order[[i, other]] = order[[other, i]]
            moved = np.flatnonzero(order != np.arange(len(order)))
            for columns in (self.lu[first:, :first], self.lu[first:, end:]):
                columns[moved] = columns[order[moved]]
            own[...] += first
            corner = self.lu[first:end, first:end]
            substitute(threads, corner, self.lu[first:end, end:], lower=True, unit=True)

        self._do(f"step {k}: rows", k, solve)

    def update(self, threads: engine.Threads, k: int) -> None:
        """Update the master's own columns of the rest."""
        first, end, rest = self.columns(k)
        a, b, c = self.lu[end:, first:end], self.lu[first:end, end:rest], self.lu[end:, end:rest]
        if c.size:
            poll = engine.Poll(self._look)
            self._do(
                f"step {k}: update",
                k,
                lambda: engine.gemm(threads, a, b, c, -1.0, 1.0, None, poll),
            )

    def ahead(self, threads: engine.Threads, k: int) -> None:
        """Update the own columns, and factor the next panel, which is the first of them."""
        self.update(threads, k)
        self.factor(threads, k + 1)

    def _look(self, _: float) -> None:
        if self.stopped.is_set():
            raise InterruptedError

    def _do(self, name: str, k: int, work: Callable[[], None]) -> None:
        """Do some work, in the time that the plan says if the run is emulated."""
        start, used = self.now(), time.thread_time()
        work()
        self.cpu += time.thread_time() - used
        if self._scale is not None:
            self.due = max(self.due, self.returned) + self._times[k].get(name, 0.0) * self._scale
            self.late = max(self.late, self.now() - self.due)
            while (left := self.due - self.now()) > 0:
                self.stopped.wait(min(left, PIECE))
                self._look(0.0)
        self.steps.append((name, start, self.now()))


@contextmanager
def _beside(master: Master, threads: engine.Threads, k: int) -> Iterator[None]:
    """Meanwhile, look ahead in a thread."""
    ended = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            master.ahead(threads, k)
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=work, name="hetsched master", daemon=True)
    thread.start()
    try:
        yield
        _await(ended)
    except BaseException:  # for example, Ctrl-C: the thread must not go on writing
        master.stopped.set()
        _await(ended)
        raise
    thread.join()
    if errors:
        raise errors[0]


def _await(ended: threading.Event) -> None:
    while not ended.wait(PIECE):
        pass


def trace_of(
    plan: StarLuPlan,
    master: Master,
    records: list[tuple[int, float, Trace]],
    kind: str,
    scale: float | None = None,
) -> Trace:
    """The traces of the products one after the other, and the master's own work.

    records : step, start and trace of each product.
    scale : see `Master`.
    """
    names, times = (*plan.names, MASTER), np.append(plan.cycle_times, plan.master_time)
    p = len(plan.names)
    cpu, peaks = np.zeros(p), np.zeros((2, p), np.int64)
    steps = [(p, "compute", start, end, name) for name, start, end in master.steps]
    for k, at, record in records:
        steps += [
            (e.worker, e.kind, at + e.start, at + e.end, f"step {k}: {e.what}")
            for e in record.events
            if e.kind != "wait"
        ]
        cpu += np.array(record.cpu)
        peaks = np.maximum(peaks, np.array([record.peak, record.predicted_peak]))
    predicted = ideal = finish = None
    if scale is not None:
        panels = timed(plan, [(record.predicted or 0.0) / scale for _, _, record in records])
        predicted = panels[-1].end * scale
        ideal = divided_time(plan.blocks**3 / 3, times) * scale
        finish = np.zeros(p + 1)
        finish[p] = predicted
        for k, _, record in records:
            busy = np.array(record.predicted_finish)
            ends = panels[k].end * scale + busy
            finish[:p] = np.where(busy > 0.0, ends, finish[:p])
    trace = Trace.from_steps(
        steps,
        names,
        kind=kind,
        speeds=relative_speeds(times).tolist(),
        predicted=predicted,
        ideal=ideal,
        cpu=[*cpu.tolist(), master.cpu],
        predicted_finish=None if finish is None else finish.tolist(),
    )
    whole = plan.blocks**2
    return replace(
        trace,
        peak=(*peaks[0].tolist(), whole),
        predicted_peak=(*peaks[1].tolist(), whole),
    )
