"""Plans for a master with one bus on ranks: independent tasks, and divisible loads.

The root is the master. It sends each worker its share, in the order of the plan, and then takes the
results in theirs. One message at a time is on the bus: the root announces a message, and begins the
next one only when this one has been received.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base.progress import Progress
from ..planners.divisible import DivisibleLoad
from ..platform import relative_speeds
from ..runners.bus import BusPlan, Part, joined, work_text
from ..runners.tasks import Piece, work
from ..trace import Trace
from .loop import Condition, Loop
from .ranks import Ranks
from .record import FIRST, Clock, Record, Recorded, on_one_clock, synchronised
from .windows import Array

_TAG = FIRST


class Job(NamedTuple):
    """What all ranks must know of a run.

    Attributes
    ----------
    enrolled : tuple of int
        The ranks with a share.
    divided : bool
        Whether a share is an array for one call of the function, not a list of tasks.
    trace : bool
    """

    enrolled: tuple[int, ...]
    divided: bool
    trace: bool


class Given(NamedTuple):
    """What only the root has: the plan, and what each worker with a share gets, in their order."""

    plan: BusPlan
    parts: dict[int, Part]


def job_of(given: Given, ranks: Ranks, root: int, trace: bool) -> Job:
    """What the root tells the other ranks of a run."""
    others = [rank for rank in range(ranks.size) if rank != root]
    enrolled = tuple(others[i] for i in given.parts)
    return Job(enrolled, isinstance(given.plan, DivisibleLoad), trace)


class Form(NamedTuple):
    """How a message is to be read: an array with this shape and dtype, or pickled objects."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    pickled: bool


def packed(value: Any) -> tuple[Form, Array]:
    """What is sent of a value: an array as it is, and anything else pickled."""
    if isinstance(value, np.ndarray) and value.dtype.itemsize and not value.dtype.hasobject:
        return Form(value.shape, value.dtype, pickled=False), np.ascontiguousarray(value)
    data = np.frombuffer(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), np.uint8)
    return Form(data.shape, data.dtype, pickled=True), data


def unpacked(form: Form, data: Array) -> Any:
    """The value of a message."""
    return pickle.loads(data.tobytes()) if form.pickled else data


class Worker:
    """A rank that computes its share. Whether it is divided: see `Job`."""

    def __init__(self, function: Callable[[Any], Any], root: int, *, divided: bool) -> None:
        self._function, self._root, self._divided = function, root, divided
        self._share: tuple[int, Form] | None = None
        self._asked = False
        self._told = Condition()

    def heard(self, _: int, what: Any) -> None:
        """Take what the root says: the first task of the share and its form, or its request."""
        if what is None:
            self._asked = True
        else:
            self._share = what
        self._told.changed()

    async def run(self, loop: Loop, record: Record) -> None:
        """Receive the share, compute, and return the results when the root asks for them.

        A task that fails is reported at once.
        """
        await self._told.until(loop, lambda: self._share is not None)
        assert self._share is not None
        first, form = self._share
        data = np.empty(form.shape, form.dtype)
        await loop.receive(data, self._root, _TAG)
        record.received += data.nbytes
        found = await loop.compute(partial(self._compute, loop, record, first, form, data))
        if isinstance(found, Piece):
            loop.tell(found, self._root)
            return
        await self._told.until(loop, lambda: self._asked)
        form, data = found
        loop.tell(form, self._root)
        record.sent += data.nbytes
        await loop.send(data, self._root, _TAG)

    def _compute(
        self, loop: Loop, record: Record, first: int, form: Form, data: Array
    ) -> tuple[Form, Array] | Piece:
        """What is sent of the results, or the piece with the task that failed."""
        given = unpacked(form, data)
        tasks = [given] if self._divided else given

        def call(task: Any) -> Any:
            loop.go_on()
            return self._function(task)

        with record.computing(work_text(tasks, self._divided)):
            piece = work(call, first, tasks)
        if piece.error is not None:
            return piece._replace(values=[None] * len(piece.values))
        return packed(np.asarray(piece.values[0]) if self._divided else piece.values)


class Master:
    """The root of a run.

    Parameters
    ----------
    parts : dict of int to Part
        What each worker with a share gets, in the order of the messages to them.
    ranks : list of int
        The rank of each worker of the plan.

    Attributes
    ----------
    result : list or array
        All results, in the order of the tasks or rows.
    port : list of (worker, kind, start, end, what)
        The messages in their order, by the clock of this rank.
    """

    def __init__(
        self, plan: BusPlan, parts: dict[int, Part], ranks: list[int], progress: Progress | None
    ) -> None:
        self._plan, self._parts, self._ranks, self._progress = plan, parts, ranks, progress
        self._divided = isinstance(plan, DivisibleLoad)
        self._forms: dict[int, Form] = {}
        self._told = Condition()
        self.result: Any = None
        self.port: list[tuple[int, str, float, float, str]] = []

    def heard(self, source: int, what: Form | Piece) -> None:
        """Take what a worker says: the form of its results, or a task that failed."""
        if isinstance(what, Piece):
            what.require_done()
        else:
            self._forms[source] = what
        self._told.changed()

    async def run(self, loop: Loop, record: Record) -> None:
        """Send all shares, then take all results."""
        values: dict[int, list[Any]] = {}
        for i, part in self._parts.items():
            form, data = packed(part.items[0] if self._divided else part.items)
            loop.tell((part.first, form), self._ranks[i])
            record.sent += data.nbytes
            start = record.now()
            await loop.send(data, self._ranks[i], _TAG)
            self.port.append((i, "transfer", start, record.now(), "out"))
        for i in self._returning():
            rank = self._ranks[i]
            loop.tell(None, rank)
            await self._told.until(loop, lambda rank=rank: rank in self._forms)  # type: ignore[misc]
            form = self._forms[rank]
            data = np.empty(form.shape, form.dtype)
            start = record.now()
            await loop.receive(data, rank, _TAG)
            self.port.append((i, "transfer", start, record.now(), "back"))
            value = unpacked(form, data)
            values[i] = [value] if self._divided else value
            if self._progress is not None:
                self._progress(len(values) / len(self._parts))
        self.result = joined(self._plan, self._parts, values, "function")

    def _returning(self) -> list[int]:
        """The workers in the order of their results; those without a place in it come last."""
        planned = [i for i in self._plan.receive_order.tolist() if i in self._parts]
        return [*planned, *(i for i in self._parts if i not in planned)]


def run_bus(
    ranks: Ranks,
    job: Job,
    function: Callable[[Any], Any],
    given: Given | None,
    root: int,
    progress: Progress | None,
) -> tuple[Any, Trace | None]:
    """Run a plan; return the results and the trace at the root, None elsewhere.

    Parameters
    ----------
    ranks : Ranks
        The root is the master; the other ranks are the workers of the plan in their order.
    given : Given
        At the root.
    """
    record, clocks = Record(job.trace), []
    others = [rank for rank in range(ranks.size) if rank != root]
    own: Worker | Master = (
        Worker(function, root, divided=job.divided)
        if given is None
        else Master(*given, others, progress)
    )
    takes_part = given is not None or ranks.rank in job.enrolled

    async def run(loop: Loop) -> float:
        if job.trace:
            clocks.append(await synchronised(loop, root))
        start = record.now()
        if takes_part:
            await own.run(loop, record)
        if job.trace:
            clocks.append(await synchronised(loop, root))
        return start

    start = ranks.run(run, own.heard)
    found = ranks.gather((record.events, *clocks, record.received)) if job.trace else []
    if given is None:
        return None, None
    assert isinstance(own, Master)
    return own.result, _trace(given.plan, own.port, found, others, start) if job.trace else None


def _trace(
    plan: BusPlan,
    port: list[tuple[int, str, float, float, str]],
    found: list[tuple[list[Recorded], Clock, Clock, int]],
    ranks: list[int],
    start: float,
) -> Trace:
    computed, error = on_one_clock([each[:3] for each in found], start)
    steps = [(i, kind, begin - start, end - start, what) for i, kind, begin, end, what in port]
    steps += [(ranks.index(rank), *event) for rank, *event in computed]  # type: ignore[misc]
    return Trace.from_steps(
        steps,
        plan.names,
        kind="real",
        speeds=relative_speeds(plan.cycle_times).tolist(),
        clock_error=error,
        received=[found[rank][3] for rank in ranks],
    )
