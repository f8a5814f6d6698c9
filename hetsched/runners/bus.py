"""Runs of plans for a master with one bus: independent tasks, and divisible loads.

The caller is the master. A worker is a thread that calls the user's function on its items. In an
emulated run, messages take the time that the plan gives them, one after the other, and a worker
idles after each item until the emulated worker would have done it. At real speed nothing is paced.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._base.waits import PIECE
from ..errors import TaskError
from ..machine.topology import count_of
from ..planners.divisible import DivisibleLoad
from ..planners.tasks import MaxTasks, MinTime
from ..platform import Unit, relative_speeds
from ..trace import Trace

if TYPE_CHECKING:
    from .._base.progress import Progress
    from .workers import Workers

BusPlan = MaxTasks | MinTime | DivisibleLoad
_STEP = 0.05  # longest sleep of a thread, in seconds, before it checks whether it must end
_SEEN = 0.5  # longest wait of the master, in seconds, for functions that do not end


class Part(NamedTuple):
    """What a worker gets: the number of its first task or row, and tasks or one array of rows."""

    first: int
    items: Sequence[Any]


class Share(NamedTuple):
    """A part with its times.

    send, work, receive : time of the message, of all work, and of the result, in seconds of the
    run.
    """

    first: int
    items: Sequence[Any]
    send: float
    work: float
    receive: float


class _BusThread(threading.Thread):
    """The thread of a worker, with its share of the items."""

    def __init__(self, run: _Run, worker: int, share: Share) -> None:
        super().__init__(daemon=True, name=f"hetsched-{worker}")
        self.run_of, self.worker, self.share = run, worker, share
        self.due = 0.0  # on the emulated clock: when the items arrive, later when they are done
        self.began = self.ended = self.busy = 0.0
        self.values: list[Any] = []
        self.failed: BaseException | None = None
        self.done = threading.Event()

    def run(self) -> None:
        x, run = self.share, self.run_of
        self.began = run.now()
        cpu = time.thread_time()
        try:
            for k, item in enumerate(x.items):
                if run.stopped.is_set():
                    return
                self.values.append(run.function(item))
                run.sleep_until(self.due + x.work * (k + 1) / len(x.items))
        except BaseException as error:  # also of sys.exit(): the master waits for this thread
            self.failed = error
        self.busy = time.thread_time() - cpu
        self.due += x.work
        self.ended = run.now()
        self.done.set()


class _Run:
    """One run of a plan."""

    def __init__(self, function: Callable[[Any], Any], emulated: bool) -> None:
        self.function, self.emulated = function, emulated
        self.stopped = threading.Event()
        self.steps: list[tuple[int, str, float, float, str]] = []
        self.start = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self.start

    def sleep_until(self, due: float) -> None:
        """In an emulated run, sleep until `due`, or until the run is stopped."""
        while self.emulated and (left := due - self.now()) > 0 and not self.stopped.is_set():
            time.sleep(min(left, _STEP))

    def carry_out(
        self, shares: dict[int, Share], back: Sequence[int], progress: Progress | None
    ) -> tuple[dict[int, _BusThread], float]:
        """Send the shares in their order and receive the results of the workers in `back`.

        Returns the workers, and the end of the run on the emulated clock.
        """
        threads = {i: _BusThread(self, i, share) for i, share in shares.items()}
        bus, silent = 0.0, [i for i in shares if i not in set(back)]
        self.start = time.perf_counter()
        try:
            for i, thread in threads.items():
                bus = thread.due = self._message(i, "out", bus, shares[i].send)
                thread.start()
            for n, i in enumerate([*back, *silent]):
                while not threads[i].done.wait(PIECE):
                    pass
                self._require_done(threads[i])
                if n < len(back):
                    bus = self._message(i, "back", max(bus, threads[i].due), shares[i].receive)
                if progress is not None:
                    progress((n + 1) / len(threads))
        except BaseException:
            self.stopped.set()
            for thread in threads.values():
                if thread.is_alive():
                    thread.join(_SEEN / len(threads))
            raise
        return threads, max([bus, *(thread.due for thread in threads.values())])

    def _message(self, worker: int, what: str, ready: float, takes: float) -> float:
        """Pass a message over the bus and return its end on the emulated clock.

        A message that takes no time is not recorded.
        """
        if not takes:
            return ready
        begin = max(self.now(), ready) if self.emulated else self.now()
        self.sleep_until(ready + takes)
        self.steps.append((worker, "transfer", begin, self.now(), what))
        return ready + takes

    def _require_done(self, thread: _BusThread) -> None:
        if thread.failed is not None:
            index = thread.share.first + len(thread.values)
            error = thread.failed
            raise TaskError(
                f"task {index} failed: {type(error).__name__}: {error}", index
            ) from error


def run(
    workers: Workers,
    plan: BusPlan,
    function: Any,
    items: Any,
    trace: bool,
    progress: Progress | None,
) -> tuple[Any, Trace | None]:
    """Run a plan; return the values and the trace or None.

    The values are a list with one result for each task, in the order of the tasks. For a divisible
    load they are one array, the results of all shares joined.
    """
    workers.require_as_many(plan.names)
    if not callable(function):
        raise TypeError(
            f"A must be a function for a plan of type {type(plan).__name__}, got"
            f" {type(function).__name__}"
        )
    parts = parts_of(plan, items, "B")
    shares = _shares(workers, plan, parts)
    back = [i for i in plan.receive_order.tolist() if i in shares]
    own = _Run(function, workers.emulated)
    threads, end = own.carry_out(shares, back, progress)
    values = joined(plan, parts, {i: thread.values for i, thread in threads.items()}, "A")
    late = [max(thread.ended - thread.due, 0.0) for thread in threads.values()]
    if late:
        workers.warn_if_late(late, [plan.names[i] for i in threads], end)
    return values, _trace(workers, plan, own, threads, end) if trace else None


def parts_of(plan: BusPlan, given: Any, name: str) -> dict[int, Part]:
    """What each worker with a share gets of the tasks, or of the rows of a load.

    The worker that gets the first message gets the first tasks.

    Parameters
    ----------
    name : str
        The argument that errors name.
    """
    if isinstance(plan, DivisibleLoad):
        return _rows_of(plan, given, name)
    return _tasks_of(plan, given, name)


def _tasks_of(plan: MaxTasks | MinTime, given: Any, name: str) -> dict[int, Part]:
    tasks = check.entries(name, given, "an iterable of tasks")
    if len(tasks) != plan.tasks:
        raise ValueError(f"{name} must have the {plan.tasks} tasks of the plan, got {len(tasks)}")
    parts, first = {}, 0
    for i in plan.send_order.tolist():
        end = first + int(plan.counts[i])
        parts[i] = Part(first, tasks[first:end])
        first = end
    return parts


def _rows_of(plan: DivisibleLoad, given: Any, name: str) -> dict[int, Part]:
    """The end of each share is rounded to a whole row."""
    array = np.asarray(given)
    if array.ndim == 0:
        raise ValueError(f"{name} must be an array whose rows are the load, got a number")
    rows, order = len(array), plan.send_order.tolist()
    ends = np.rint(np.cumsum(plan.shares[order]) * (rows / plan.amount)).astype(np.int64)
    ends[-1] = rows  # exact, although the sums are rounded
    parts, first = {}, 0
    for i, end in zip(order, ends.tolist(), strict=True):
        if end > first:
            parts[i] = Part(first, [array[first:end]])
            first = end
    return parts


def joined(plan: BusPlan, parts: dict[int, Part], values: dict[int, list[Any]], name: str) -> Any:
    """The results of all workers: a list for tasks, one array for a load.

    Parameters
    ----------
    name : str
        The argument with the function, which errors name.
    """
    order = sorted(parts, key=lambda i: parts[i].first)
    if not isinstance(plan, DivisibleLoad):
        return [value for i in order for value in values[i]]
    pieces = []
    for i in order:
        piece, rows = np.asarray(values[i][0]), len(parts[i].items[0])
        if piece.ndim == 0 or len(piece) != rows:
            raise ValueError(
                f"{name} must return an array with a row for each of its {rows} rows, got shape"
                f" {piece.shape}"
            )
        pieces.append(piece)
    return np.concatenate(pieces) if pieces else np.empty(0)


def _shares(workers: Workers, plan: BusPlan, parts: dict[int, Part]) -> dict[int, Share]:
    """The parts with the times of their messages and of their work."""
    scale, shares = workers.time_scale, {}
    divided = isinstance(plan, DivisibleLoad)
    times = _times(workers, plan)
    rows = sum(len(part.items[0]) for part in parts.values()) if divided else 0
    for i, part in parts.items():
        if isinstance(plan, DivisibleLoad):
            work = len(part.items[0]) / rows * plan.amount
            send = work * float(plan.link_costs[i])
            receive = send * plan.return_ratio
        else:
            work = float(len(part.items))
            send, receive = (
                float(m[i]) if isinstance(m, np.ndarray) else m for m in (plan.send, plan.receive)
            )
        busy = work * float(times[i])
        shares[i] = Share(*part, send * scale, busy * scale, receive * scale)
    return shares


def _times(workers: Workers, plan: BusPlan) -> NDArray[np.float64]:
    """Cycle-times: the pool's if it is emulated, otherwise the plan's."""
    if not workers.emulated:
        return plan.cycle_times
    platform = workers.platform
    if not isinstance(plan, DivisibleLoad):
        platform = platform.per(Unit("task", "message"), f"a plan of type {type(plan).__name__}")
    return platform.cycle_times


def work_text(items: Sequence[Any], divided: bool) -> str:
    """What a worker computes, in an event of a trace: tasks, or the rows of its part of a load."""
    return count_of(len(items[0]), "row") if divided else count_of(len(items), "task")


def _trace(
    workers: Workers, plan: BusPlan, own: _Run, threads: dict[int, _BusThread], end: float
) -> Trace:
    steps = list(own.steps)
    steps += [
        (
            i,
            "compute",
            thread.began,
            thread.ended,
            work_text(thread.share.items, isinstance(plan, DivisibleLoad)),
        )
        for i, thread in threads.items()
    ]
    finish, busy = np.zeros(len(plan.names)), np.zeros(len(plan.names))
    for i, thread in threads.items():
        finish[i], busy[i] = thread.due, thread.busy
    predicted = workers.emulated
    return Trace.from_steps(
        steps,
        plan.names,
        kind=workers.kind,
        speeds=relative_speeds(_times(workers, plan)).tolist(),
        predicted=end if predicted else None,
        cpu=busy.tolist(),
        predicted_finish=finish.tolist() if predicted else None,
    )
