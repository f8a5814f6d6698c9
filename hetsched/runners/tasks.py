"""Real master and workers: a Python function applied to tasks, in processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import check
from .._base.progress import Progress, reporting
from .._base.waits import PIECE
from ..errors import TaskError
from ..machine.topology import topology
from ..planners.distribute import distribute
from ..planners.tasks import min_time
from ..platform import Platform, Unit
from ..trace import Trace
from .workers import number_of

T = TypeVar("T")
R = TypeVar("R")

_ORDERS = ("plan", "demand")
_SAMPLE = 20  # 1 / _SAMPLE of a worker's equal share is timed before the rest is planned
_PIECES = 16  # a planned share is sent in at most this many messages, so that progress is seen


class Piece(NamedTuple):
    """Results of tasks first .. first + len(values) - 1 of one worker, up to a task that failed."""

    first: int
    values: list[Any]
    start: float
    end: float
    error: BaseException | None

    def require_done(self) -> None:
        """Raise TaskError if a task failed."""
        if self.error is not None:
            index = self.first + len(self.values)
            raise TaskError(
                f"task {index} failed: {type(self.error).__name__}: {_text_of(self.error)}", index
            ) from self.error


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _enter() -> None:
    """Prepare a new worker. It ignores Ctrl-C (the master handles it), and ends with the master."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def work(function: Callable[[Any], Any], first: int, tasks: Sequence[Any]) -> Piece:
    """Do tasks first, first + 1, ... in their order, until one fails."""
    values: list[Any] = []
    start = time.monotonic()  # one clock for all processes
    failure: BaseException | None = None
    try:
        for task in tasks:
            values.append(function(task))
    except BaseException as error:  # also of sys.exit(): it would end the master
        failure = _portable(error)
    return Piece(first, values, start, time.monotonic(), failure)


def _text_of(error: BaseException) -> str:
    """The text of an exception, also if its class has a wrong __str__."""
    try:
        return str(error)
    except Exception:
        return "(no text)"


def _portable(error: BaseException) -> BaseException:
    """Add the traceback to the exception as a note.

    An exception that cannot be pickled is replaced by a RuntimeError with the same text.
    """
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {_text_of(error)}")
    error.add_note(f"In the worker:\n{text}")
    return error


class Stop:
    """Whether the call of a daemon thread has to end, and whether it has ended."""

    def __init__(self) -> None:
        self.is_set = False
        self.ended = threading.Event()

    def require_go(self) -> None:
        """End the daemon thread silently if it has to end."""
        if self.is_set:
            raise SystemExit


_PATIENCE = 10.0  # seconds that the end of Python waits for calls of daemon threads
_stops: set[Stop] = set()
_exiting = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stops.clear)  # a child lacks the parent's other threads


@contextmanager
def _stopped_at_exit() -> Iterator[Stop]:
    """A context for executors, which ends before Python ends if it belongs to a daemon thread."""
    stop = Stop()
    try:
        if threading.current_thread().daemon:
            _stops.add(stop)
            stop.is_set = _exiting
            stop.require_go()
        yield stop
    finally:
        _stops.discard(stop)
        stop.ended.set()


def _stop_all() -> None:
    """Stop the calls of daemon threads.

    At the end of Python, concurrent.futures and multiprocessing shut down the executors that they
    know. One that a daemon thread starts meanwhile never ends, and Python waits for it.
    """
    global _exiting
    _exiting = True
    until = time.monotonic() + _PATIENCE
    stops = list(_stops)
    for stop in stops:
        stop.is_set = True
    for stop in stops:
        stop.ended.wait(max(0.0, until - time.monotonic()))


# Those registered last are called first, so this comes before the end of concurrent.futures.
threading._register_atexit(_stop_all)  # type: ignore[attr-defined]


class _Farm:
    """One process per worker, each with an executor of its own, so that pieces can be addressed.

    It gives up once the `Stop` is set.
    """

    def __init__(self, workers: int, start_method: str | None, stop: Stop) -> None:
        context = multiprocessing.get_context(start_method)
        self._executors = [
            ProcessPoolExecutor(1, mp_context=context, initializer=_enter) for _ in range(workers)
        ]
        self._pids: list[int] = []
        self._owner: dict[Future[Any], tuple[int, int]] = {}  # worker, first task
        self._stop = stop

    def start(self) -> None:
        ready = [self._submitted(worker, os.getpid) for worker in range(len(self._executors))]
        try:
            while wait(ready, PIECE).not_done:
                self._stop.require_go()
            self._pids = [future.result() for future in ready]
        except BrokenProcessPool as error:
            raise RuntimeError(
                "a worker process did not start; a script that uses the start method 'spawn' or"
                " 'forkserver' must call map_tasks under if __name__ == '__main__'"
            ) from error

    def submit(
        self, worker: int, function: Callable[[Any], Any], first: int, tasks: Sequence[Any]
    ) -> None:
        self._owner[self._submitted(worker, work, function, first, tasks)] = worker, first

    def _submitted(self, worker: int, *call: Any) -> Future[Any]:
        self._stop.require_go()
        return self._executors[worker].submit(*call)

    def done(self) -> Iterator[tuple[int, Piece]]:
        """Yield (worker, piece) as pieces are completed, until no piece is left."""
        while self._owner:
            self._stop.require_go()
            for future in wait(self._owner, PIECE, FIRST_COMPLETED).done:
                worker, first = self._owner.pop(future)
                try:
                    piece = future.result()
                except BrokenProcessPool as error:
                    raise RuntimeError(
                        f"worker P{worker} died: killed, out of memory, or ended by a task"
                    ) from error
                except Exception as error:
                    raise TaskError(
                        f"the tasks from {first} on, or their results, cannot be pickled:"
                        f" {_text_of(error)}",
                        first,
                    ) from error
                yield worker, piece

    def close(self, at_once: bool) -> None:
        """End the processes. With `at_once`, end them in the middle of a task too."""
        for pid in self._pids if at_once else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        for executor in self._executors:
            executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _farm(workers: int, start_method: str | None) -> Iterator[_Farm]:
    """A farm whose processes end with the context."""
    with _stopped_at_exit() as stop:
        farm = _Farm(workers, start_method, stop)
        try:
            farm.start()
            yield farm
        except BaseException:
            farm.close(at_once=True)
            raise
        farm.close(at_once=False)


@overload
def map_tasks(
    function: Callable[[T], R], tasks: Iterable[T], workers: int | Platform | None = None, *,
    order: str = "plan", cycle_times: ArrayLike | None = None, send: float = 0.0,
    start_method: str | None = None, progress: bool | Progress | None = False,
    trace: Literal[False] = False,
) -> list[R]: ...  # fmt: skip


@overload
def map_tasks(
    function: Callable[[T], R], tasks: Iterable[T], workers: int | Platform | None = None, *,
    order: str = "plan", cycle_times: ArrayLike | None = None, send: float = 0.0,
    start_method: str | None = None, progress: bool | Progress | None = False,
    trace: Literal[True],
) -> tuple[list[R], Trace]: ...  # fmt: skip


def map_tasks(
    function: Callable[[T], R],
    tasks: Iterable[T],
    workers: int | Platform | None = None,
    *,
    order: str = "plan",
    cycle_times: ArrayLike | None = None,
    send: float = 0.0,
    start_method: str | None = None,
    progress: bool | Progress | None = False,
    trace: bool = False,
) -> Any:
    """Apply a function to independent tasks, in processes of this machine, divided by plan or on
    demand.

    Parameters
    ----------
    function : callable
        Takes one task. The function, the tasks and the results must be picklable.
    tasks : iterable
    workers : int or Platform, optional
        Number of processes; by default the number of cores that this process may use. A Platform
        gives their names and cycle-times.
    order : {"plan", "demand"}
        "plan": a few tasks are timed on each worker. Then the rest is divided by `distribute` (with
        `send`: by `min_time`) and given out in the planned order. "demand": a worker that finishes
        a piece gets another one, and the pieces become smaller and smaller. Use it for tasks or
        workers with speeds that are not known beforehand.
    cycle_times : (p,) array_like, optional
        Time per task of each worker, used instead of measured times. If `send` is 0, only the
        ratios matter. A worker with an infinite time gets no task. With "demand" nothing else
        is read of them.
    send : float
        Time of the message to a worker, for the plan. In seconds, or in the unit of the given
        cycle-times. Not used with "demand".
    start_method : {"fork", "spawn", "forkserver"}, optional
        How processes are started; by default multiprocessing's default method.
    progress : bool or callable
        Called with the fraction done after each piece, and with 1.0 at the end. True shows a
        progress bar on the terminal.
    trace : bool
        Also return a Trace, with one event for each piece. It has a prediction if tasks were
        timed.

    Returns
    -------
    list, or (list, Trace) with trace=True
        The results in the order of the tasks.

    Raises
    ------
    TaskError
        If a task fails. Its `index` is the task's index, its cause is the exception of the task.
        The other tasks are stopped.
    KeyboardInterrupt
        On Ctrl-C. It ends the workers at once, in the middle of their tasks.

    Notes
    -----
    The processes are started by concurrent.futures. They end with the call, or with the parent
    process.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.map_tasks(abs, [-1, 2, -3], 2)
    [1, 2, 3]
    """
    trace = check.flag("trace", trace)
    message = check.number("send", send, low=0.0)
    if not callable(function):
        raise TypeError(
            f"function must be callable: map_tasks(function, tasks), got {check.shown(function)}"
        )
    todo = check.entries("tasks", tasks, "an iterable")
    names: tuple[str, ...] | None = None
    if isinstance(workers, Platform):
        if cycle_times is not None:
            raise TypeError("give cycle_times or a Platform, not both")
        if message > 0:
            workers = workers.per(Unit("task", "message"), "workers: map_tasks with send")
        names, cycle_times = workers.names, workers.cycle_times
        p = len(workers)
    else:
        p = topology().worth if workers is None else number_of(workers)
        names = tuple(f"P{i}" for i in range(p))
    times = (
        None
        if cycle_times is None
        else check.as_many("cycle_times", check.cycle_times(cycle_times, None), p)
    )
    check.choice("order", order, _ORDERS)
    if start_method is not None:
        check.choice("start_method", start_method, multiprocessing.get_all_start_methods())
    try:
        pickle.dumps(function)
    except Exception as error:
        raise TypeError(
            f"function must be picklable, so no lambda and no inner function: {error}"
        ) from error
    with reporting(progress) as tell:
        run = _Run(function, todo, p, tell)
        if todo:
            run.all(start_method, order, times, message)
    return (run.results, run.trace(names)) if trace else run.results


class _Run:
    def __init__(
        self,
        function: Callable[[Any], Any],
        tasks: list[Any],
        workers: int,
        report: Progress | None,
    ) -> None:
        self.function, self.tasks, self.workers, self.report = function, tasks, workers, report
        self.results: list[Any] = [None] * len(tasks)
        self.steps: list[tuple[int, str, float, float, str]] = []
        self.given = self.finished = 0
        self.start = time.monotonic()
        self.predicted: float | None = None

    def all(
        self, start_method: str | None, order: str, times: NDArray[np.float64] | None, send: float
    ) -> None:
        """Do all tasks, in processes that end with this call."""
        with _farm(self.workers, start_method) as farm:
            if order == "demand":
                self.on_demand(farm, times)
            else:
                self.by_plan(farm, times, send)

    def give(self, farm: _Farm, worker: int, count: int) -> None:
        """Give the next `count` tasks to a worker."""
        if count:
            farm.submit(
                worker, self.function, self.given, self.tasks[self.given : self.given + count]
            )
            self.given += count

    def collect(self, worker: int, piece: Piece) -> None:
        count = len(piece.values)
        piece.require_done()
        self.results[piece.first : piece.first + count] = piece.values
        what = f"{count} tasks" if count != 1 else "1 task"
        self.steps.append(
            (worker, "compute", max(piece.start - self.start, 0.0), piece.end - self.start, what)
        )
        self.finished += count
        if self.report is not None:
            self.report(self.finished / len(self.tasks))

    def on_demand(self, farm: _Farm, times: NDArray[np.float64] | None) -> None:
        """Give each worker a second piece while it does the first, so that no worker waits."""
        able = range(self.workers) if times is None else np.flatnonzero(np.isfinite(times)).tolist()

        def next_piece(worker: int) -> None:
            left = len(self.tasks) - self.given
            self.give(farm, worker, guided(left, len(able)))

        for worker in [*able] * 2:
            next_piece(worker)
        for worker, piece in farm.done():
            self.collect(worker, piece)
            next_piece(worker)

    def by_plan(self, farm: _Farm, times: NDArray[np.float64] | None, send: float) -> None:
        timed = times is None
        if times is None:
            times = self.timed(farm)
        left = len(self.tasks) - self.given
        now = time.monotonic() - self.start
        if send:
            plan = min_time(left, times, send)
            order, counts, makespan = plan.send_order.tolist(), plan.counts, plan.makespan
        else:
            shares = distribute(left, times)
            order = list(range(self.workers))
            counts = shares.counts
            makespan = float(shares.makespan)
        if timed:
            self.predicted = now + makespan
        queues = [deque(_sizes(int(counts[i]))) for i in range(self.workers)]
        # All first pieces go out before the second ones, so that no worker waits while the pieces
        # of other workers are pickled.
        for rank in range(_PIECES):
            for i in order:
                if rank < len(queues[i]):
                    self.give(farm, i, queues[i][rank])
        for worker, piece in farm.done():
            self.collect(worker, piece)

    def timed(self, farm: _Farm) -> NDArray[np.float64]:
        """Time a few tasks on each worker; return its seconds per task.

        A worker that got no task gets the median of the other workers.
        """
        each = max(1, len(self.tasks) // (_SAMPLE * self.workers))
        for worker in range(self.workers):
            self.give(farm, worker, min(each, len(self.tasks) - self.given))
        times = np.full(self.workers, np.nan)
        for worker, piece in farm.done():
            self.collect(worker, piece)
            times[worker] = max(piece.end - piece.start, 1e-9) / len(piece.values)
        return np.where(np.isnan(times), np.nanmedian(times), times)

    def trace(self, names: Sequence[str]) -> Trace:
        return Trace.from_steps(
            self.steps, names, kind="real", speeds=[1.0] * len(names), predicted=self.predicted
        )


def guided(left: int, workers: int) -> int:
    """Number of tasks of the next piece: a quarter of the tasks left, divided by the workers.

    Source: guided self-scheduling, Polychronopoulos and Kuck, 1987.
    """
    return min(left, max(1, left // (4 * workers)))


def _sizes(count: int) -> list[int]:
    """Divide a share into at most _PIECES pieces; their sizes differ by at most one task."""
    pieces = min(_PIECES, count)
    return [count * (k + 1) // pieces - count * k // pieces for k in range(pieces)]
