"""Map a Python function over many tasks, with all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .._base import check
from .._base.progress import Progress
from ..runners.bus import BusPlan, parts_of
from ..runners.tasks import Piece, guided, work
from .arguments import Call, as_text, columns, travelled
from .bus import Given, Job, job_of, run_bus
from .kinds import wrong_kind
from .loop import Loop, Waiting
from .ranks import TIMEOUT
from .star import require_workers


def map_tasks(
    comm: Any,
    function: Callable[[Any], Any],
    tasks: Iterable[Any] | None = None,
    root: int = 0,
    *,
    plan: BusPlan | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    timeout: float = TIMEOUT,
) -> Any:
    """Apply a function to every task; the tasks are dealt on demand, or by a plan.

    Without a plan a rank gets another piece when it has finished one. The pieces become smaller and
    smaller.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        All ranks must call it. Without a plan the root also works.
    function : callable
        Called with one task. The same on all ranks, each of which calls its own.
    tasks : iterable at the root, None elsewhere
        The tasks and the results are pickled. For a DivisibleLoad an array whose rows are the load:
        each worker calls the function with its rows, and it must return an array with as many.
    root : int
    plan : MaxTasks, MinTime or DivisibleLoad, optional
        A plan for one worker less than there are ranks; ranks other than the root may leave it out.
        The root is the master. It sends the shares in the order of the plan, and then takes the
        results in the order of the plan, one message at a time. Results for which the plan has no
        message come last.
    trace : bool
        With a plan, also return a Trace at the root, with a worker for each other rank.
    progress, timeout :
        See `matmul`.

    Returns
    -------
    list, ndarray or None
        The results in the order of the tasks at the root, for a DivisibleLoad in one array; None
        elsewhere. With trace=True a pair, the second item of which is the Trace at the root and
        None elsewhere.

    Raises
    ------
    TaskError
        At the root, if a task fails: `index` is the index of the task, and the error of the task is
        the cause. The other ranks get a RuntimeError that says so.
    ValueError, TypeError, LostRank
        See `matmul`.

    Examples
    --------
    >>> tasks = [-1, 2, -3] if comm.rank == 0 else None  # doctest: +SKIP
    >>> sizes = hs.mpi.map_tasks(comm, abs, tasks)  # doctest: +SKIP
    >>> plan = hs.min_time(3, [2.0, 3.0], send=0.1)  # doctest: +SKIP
    >>> sizes = hs.mpi.map_tasks(comm, abs, tasks, plan=plan)  # doctest: +SKIP
    """
    call = Call(comm, root, None, timeout)
    with call.ranks as ranks, call.reporting(progress) as tell:
        todo: list[Any] = []
        given: list[Given] = []

        def checked() -> tuple[int, str | None, Job | None]:
            if not callable(function):
                raise TypeError(f"function must be callable, got {function!r}")
            if tasks is not None and not call.at_root:
                raise ValueError(
                    f"tasks must be None on rank {ranks.rank}: they are at the root, rank {root}"
                )
            call.require_progress(progress)
            traced = check.flag("trace", trace)
            if plan is not None and not isinstance(plan, BusPlan):
                raise wrong_kind(plan, "one of max_tasks, min_time or divisible_load")
            if not call.at_root:
                return root, as_text(plan), None
            if plan is None:
                if traced:
                    raise ValueError("trace is for a plan, got trace=True without one")
                todo.extend(check.entries("tasks", tasks, "an iterable"))
                return root, None, None
            require_workers(plan, ranks)
            given.append(Given(plan, parts_of(plan, tasks, "tasks")))
            return root, as_text(plan), job_of(given[0], ranks, root, traced)

        roots, texts, jobs = columns(ranks.agree(checked))
        call.require_one_root(roots)
        if any(texts):
            travelled(plan, texts, root)
            job: Job = jobs[root]
            done = run_bus(ranks, job, function, given[0] if given else None, root, tell)
            return done if job.trace else done[0]
        if call.at_root:
            dealer = _Dealer(function, todo, root, tell)
            ranks.run(dealer.run, dealer.heard)
            return dealer.results
        worker = _Worker(function)
        ranks.run(lambda loop: worker.run(loop, lambda piece: loop.tell(piece, root)), worker.heard)
        return None


class _Worker:
    """A rank that computes pieces until there are none left.

    The next piece is already on its way while the rank computes one.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._pieces: list[tuple[int, list[Any]] | None] = []
        self._news: tuple[Loop, Waiting] | None = None

    def heard(self, _: int, piece: tuple[int, list[Any]] | None) -> None:
        self._pieces.append(piece)
        if self._news is not None:
            loop, waiting = self._news
            self._news = None
            loop.fulfil(waiting)

    async def run(self, loop: Loop, report: Callable[[Piece], None]) -> None:
        """Compute the pieces, and report each one when it is done."""
        while True:
            if not self._pieces:
                self._news = loop, Waiting()
                await self._news[1]
            if (piece := self._pieces.pop(0)) is None:
                return
            first, tasks = piece
            report(await loop.compute(partial(work, self._function, first, tasks)))


class _Dealer:
    """The root, which deals the pieces and also computes some."""

    def __init__(
        self, function: Callable[[Any], Any], tasks: list[Any], root: int, tell: Progress | None
    ) -> None:
        self.results: list[Any] = [None] * len(tasks)
        self._tasks, self._root, self._tell = tasks, root, tell
        self._given = self._finished = 0
        self._own = _Worker(function)
        self._loop: Loop | None = None
        self._all = Waiting()

    def heard(self, source: int, piece: Piece) -> None:
        """Take the results of a piece, and give the next piece to the rank that computed it."""
        assert self._loop is not None
        piece.require_done()
        self.results[piece.first : piece.first + len(piece.values)] = piece.values
        self._finished += len(piece.values)
        if self._tell is not None:
            self._tell(self._finished / len(self._tasks))
        self._give(source)
        if self._finished == len(self._tasks):
            self._end()

    async def run(self, loop: Loop) -> None:
        self._loop = loop
        for rank in [*range(loop.size)] * 2:
            self._give(rank)
        if not self._tasks:
            self._end()
        await self._own.run(loop, lambda piece: self.heard(self._root, piece))
        await self._all

    def _give(self, rank: int) -> None:
        assert self._loop is not None
        if count := guided(len(self._tasks) - self._given, self._loop.size):
            piece = self._given, self._tasks[self._given : self._given + count]
            self._given += count
            self._pass(rank, piece)

    def _end(self) -> None:
        assert self._loop is not None
        for rank in range(self._loop.size):
            self._pass(rank, None)
        self._loop.fulfil(self._all)

    def _pass(self, rank: int, piece: tuple[int, list[Any]] | None) -> None:
        assert self._loop is not None
        if rank == self._root:
            self._own.heard(rank, piece)
        else:
            self._loop.tell(piece, rank)
