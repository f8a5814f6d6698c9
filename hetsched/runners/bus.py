"""Runs of plans for a master with one bus: independent tasks, and divisible loads.

The caller is the master. Messages take the time that the plan gives them, one after the other. A
worker is a thread that calls the user's function on its items, and then idles until the emulated
worker would be done. Results come back over the bus.
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


class Share(NamedTuple):
    """What a worker gets.

    first : number of the first item. items : the tasks, or one array of rows. send, work, receive :
    time of the message, of all work, and of the result, in seconds of the run.
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
        self.failed: Exception | None = None
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
        except Exception as error:
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
    shares = (
        _divided(workers, plan, items)
        if isinstance(plan, DivisibleLoad)
        else _dealt(workers, plan, items)
    )
    back = [i for i in plan.receive_order.tolist() if i in shares]
    own = _Run(function, workers.emulated)
    threads, end = own.carry_out(shares, back, progress)
    in_order = sorted(threads.values(), key=lambda thread: thread.share.first)
    values: Any = [value for thread in in_order for value in thread.values]
    if isinstance(plan, DivisibleLoad):
        values = _together(values, shares)
    late = [max(thread.ended - thread.due, 0.0) for thread in threads.values()]
    if late:
        workers.warn_if_late(late, [plan.names[i] for i in threads], end)
    return values, _trace(workers, plan, own, threads, end) if trace else None


def _dealt(workers: Workers, plan: MaxTasks | MinTime, tasks: Any) -> dict[int, Share]:
    """Tasks by the plan's counts. The worker that gets the first message gets the first tasks."""
    given = check.entries("B", tasks, "an iterable of tasks")
    if len(given) != plan.tasks:
        raise ValueError(f"B must have the {plan.tasks} tasks of the plan, got {len(given)}")
    times, scale = _times(workers, plan, Unit("task", "message")), workers.time_scale
    shares, first = {}, 0
    for i in plan.send_order.tolist():
        count = int(plan.counts[i])
        messages = (plan.send, plan.receive)
        send, receive = (float(m[i]) if isinstance(m, np.ndarray) else m for m in messages)
        shares[i] = Share(
            first,
            given[first : first + count],
            send * scale,
            count * float(times[i]) * scale,
            receive * scale,
        )
        first += count
    return shares


def _divided(workers: Workers, plan: DivisibleLoad, load: Any) -> dict[int, Share]:
    """Rows of an array by the plan's shares. The end of each share is rounded to a whole row."""
    array = np.asarray(load)
    if array.ndim == 0:
        raise ValueError("B must be an array whose rows are the load, got a number")
    rows, scale = len(array), workers.time_scale
    times = _times(workers, plan, None)
    order = plan.send_order.tolist()
    ends = np.rint(np.cumsum(plan.shares[order]) * (rows / plan.amount)).astype(np.int64)
    ends[-1] = rows  # exact, although the sums are rounded
    shares, first = {}, 0
    for i, end in zip(order, ends.tolist(), strict=True):
        if end > first:
            part = (end - first) / rows * plan.amount
            send = part * float(plan.link_costs[i]) * scale
            shares[i] = Share(
                first,
                [array[first:end]],
                send,
                part * float(times[i]) * scale,
                send * plan.return_ratio,
            )
            first = end
    return shares


def _times(workers: Workers, plan: BusPlan, unit: Unit | None) -> NDArray[np.float64]:
    """Cycle-times: the pool's if it is emulated, otherwise the plan's."""
    if not workers.emulated:
        return plan.cycle_times
    platform = workers.platform
    return (
        platform if unit is None else platform.per(unit, f"a plan of type {type(plan).__name__}")
    ).cycle_times


def _together(values: list[Any], shares: dict[int, Share]) -> NDArray[Any]:
    pieces = [np.asarray(value) for value in values]
    in_order = sorted(shares.values(), key=lambda share: share.first)
    for piece, share in zip(pieces, in_order, strict=True):
        rows = len(share.items[0])
        if piece.ndim == 0 or len(piece) != rows:
            raise ValueError(
                f"A must return an array with a row for each of its {rows} rows, got shape"
                f" {piece.shape}"
            )
    return np.concatenate(pieces) if pieces else np.empty(0)


def _trace(
    workers: Workers, plan: BusPlan, own: _Run, threads: dict[int, _BusThread], end: float
) -> Trace:
    steps = list(own.steps)
    steps += [
        (i, "compute", thread.began, thread.ended, f"{len(thread.values)} tasks")
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
        speeds=relative_speeds(plan.cycle_times).tolist(),
        predicted=end if predicted else None,
        cpu=busy.tolist(),
        predicted_finish=finish.tolist() if predicted else None,
    )
