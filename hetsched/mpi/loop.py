"""The coroutines of one rank, which wait for messages and products, and the loop that polls them.

Only the thread that calls `Loop.run` sends and receives, so an MPI without THREAD_MULTIPLE is
sufficient. Products run on another thread, so messages also arrive during a product if the MPI
makes progress only inside its own calls.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_SPIN = 1e-4  # seconds without an event before the loop sleeps
# shortest and longest sleep in seconds; between them, this fraction of the time without an event
_NAP, _LONGEST, _SHARE = 5e-5, 5e-3, 0.05
_IDLE = 0.1  # seconds of sleep on a transport that wakes the loop at every event
_PART = 1 << 30  # bytes of a message; a longer array is sent as several messages
_PATIENCE = 5.0  # seconds that the ranks have to end together after an error

Bytes = NDArray[np.uint8]


class Transport(Protocol):
    """What the loop needs of MPI, or of another carrier of messages between ranks 0 .. size - 1.

    Messages from one rank to another with one tag arrive in the order in which they were sent.
    """

    rank: int
    size: int

    def send(self, data: Bytes, to: int, tag: int) -> Any:
        """Begin to send. The data must not change until the send is complete."""

    def receive(self, data: Bytes, source: int, tag: int) -> Any:
        """Begin to receive a message of exactly the size of `data`."""

    def completed(self, requests: list[Any]) -> list[int]:
        """Indices of the requests that are complete now."""

    def tell(self, what: Any, to: int) -> None:
        """Send a small object, which `heard` returns on the other rank."""

    def heard(self) -> list[tuple[int, Any]]:
        """(source, object) for each object told since the last call."""

    def leave(self) -> bool:
        """Whether all ranks have come here and everything that was sent has been received.

        It must be called until it returns True.
        """

    def abandon(self, sends: list[Any], receives: list[Any]) -> None:
        """Do not wait for these requests. Messages that arrive from now on are discarded."""


class Surviving(Transport, Protocol):
    """A transport on which the other ranks continue when a rank is lost."""

    def gone(self) -> list[tuple[int, str]]:
        """(rank, sentence) for each rank that lost its connection since the last call."""

    def moved(self, patience: float) -> list[int]:
        """Ranks that are alive: they sent or took part of a message since the last call.

        A rank also counts as alive for `patience` seconds if it has sent a message that no
        coroutine here waits for yet.
        """

    def give_up(self, rank: int) -> None:
        """Send nothing to this rank any more, and take nothing from it."""

    def rest(self, seconds: float) -> None:
        """Sleep until something arrives or `wake` is called, at most this long."""

    def wake(self) -> None:
        """End `rest`. Another thread may call this."""


class Waiting:
    """An event that coroutines can wait for, once or several times."""

    __slots__ = ("_then", "done", "error", "left", "value", "whom")

    def __init__(self, whom: int | None = None, left: int = 1) -> None:
        self.done, self.left, self.whom = left == 0, left, whom
        self.value: Any = None
        self.error: BaseException | None = None
        self._then: list[Any] = []

    def __await__(self) -> Generator[Waiting, None, Any]:
        if not self.done:
            yield self
        if self.error is not None:
            raise self.error
        return self.value


class Condition:
    """A condition that coroutines can wait for and that depends on more than one event."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Loop, Waiting]] = []

    async def until(self, loop: Loop, holds: Callable[[], bool]) -> None:
        """Wait until ``holds()`` is true."""
        while not holds():
            self._waiting.append((loop, changed := Waiting()))
            await changed

    def changed(self) -> None:
        """Let the waiting coroutines check their conditions again."""
        waiting, self._waiting = self._waiting, []
        for loop, each in waiting:
            loop.fulfil(each)


class Window:
    """Admits at most `size` at a time: `await window.enter()`, then `window.leave()`."""

    def __init__(self, loop: Loop, size: int) -> None:
        self._loop, self._free = loop, size
        self._waiting: deque[Waiting] = deque()

    async def enter(self) -> None:
        """Wait until there is room."""
        if self._free:
            self._free -= 1
            return
        self._waiting.append(turn := Waiting())
        await turn

    def leave(self) -> None:
        """Make room for the next one."""
        if self._waiting:
            self._loop.fulfil(self._waiting.popleft())
        else:
            self._free += 1


class LostRank(RuntimeError):
    """A rank that does not answer.

    Attributes
    ----------
    rank : int
    """

    def __init__(self, rank: int, text: str) -> None:
        super().__init__(text)
        self.rank = rank


class Stopped(RuntimeError):
    """Another rank stopped with an error that has no better class here."""


class Loop:
    """Run coroutines until they have ended on all ranks.

    Parameters
    ----------
    transport : Transport
    timeout : float
        Seconds without an answer after which a rank that is waited for counts as lost.
    told : function, optional
        Called with (source, object) for each object that another rank sends by `tell`.
    lost : function, optional
        Called with (rank, sentence) when a rank is lost, on a transport that survives it. Whatever
        waits for that rank then raises LostRank. Default: the run ends.
    """

    def __init__(
        self, transport: Transport, timeout: float, told: Callable[[int, Any], None] | None = None,
        lost: Callable[[int, str], None] | None = None,
    ) -> None:  # fmt: skip
        self.transport, self.timeout = transport, timeout
        self.rank, self.size = transport.rank, transport.size
        self.stopped = threading.Event()
        # the ranks did not come together after an error: the transport is unusable
        self.broken = False
        self._told, self._lost = told, lost
        self._surviving: Surviving | None = transport if lost is not None else None  # type: ignore[assignment]
        self._sleep = time.sleep if self._surviving is None else self._surviving.rest
        self.gone: dict[int, str] = {}  # lost ranks, and why they are lost
        self._ready: deque[tuple[Any, Waiting]] = deque()
        self._requests: list[Any] = []
        self._whose: list[tuple[Waiting, bool]] = []  # for each request; True: it is a send
        self._ended: SimpleQueue[tuple[Waiting, Any, BaseException | None]] = SimpleQueue()
        self._lanes: dict[int, tuple[SimpleQueue[Any], threading.Thread]] = {}
        self._alive: list[Coroutine[Any, Any, Any]] = []
        self._asked: list[float | None] = [None] * self.size  # since when each rank owes an answer
        self._looked = time.monotonic()  # when lost ranks were last searched
        # called in every round, to raise an error that has been noted
        self.look: Callable[[], None] | None = None

    # ---- for coroutines ----

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Waiting:
        """Start the coroutine. The returned event is done when the coroutine has ended."""
        self._alive.append(coroutine)
        self._ready.append((coroutine, end := Waiting()))
        return end

    def send(self, array: NDArray[Any], to: int, tag: int) -> Waiting:
        """Send a contiguous array, which must not change until the returned event is done."""
        return self._message(self.transport.send, True, array, to, tag)

    def receive(self, array: NDArray[Any], source: int, tag: int) -> Waiting:
        """Receive into a contiguous array that has the size of the message."""
        return self._message(self.transport.receive, False, array, source, tag)

    def compute(self, job: Callable[[], Any], lane: int = 0) -> Waiting:
        """Call the job on the thread for products, after all jobs that were given before.

        lane : the thread. Each lane has its own, which is started for its first job.
        """
        if lane not in self._lanes:
            wake = (lambda: None) if self._surviving is None else self._surviving.wake
            jobs: SimpleQueue[Any] = SimpleQueue()
            thread = threading.Thread(target=_work, args=(jobs, self._ended, wake), daemon=True)
            self._lanes[lane] = jobs, thread
            thread.start()
        end = Waiting()
        self._lanes[lane][0].put((job, end))
        return end

    def fulfil(self, waiting: Waiting, value: Any = None) -> None:
        """Mark the event as done and resume the coroutines that wait for it."""
        waiting.done, waiting.value = True, value
        self._ready.extend(waiting._then)
        waiting._then.clear()

    def tell(self, what: Any, to: int) -> None:
        """Send a small object to another rank, where `told` is called with it."""
        self.transport.tell(("told", what), to)

    def go_on(self) -> None:
        """Raise if the run has been stopped. Long jobs call this now and then."""
        if self.stopped.is_set():
            raise Stopped("the run was stopped")

    # ---- running ----

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run the coroutine and all that it spawns; return its value once all ranks have ended.

        Raises
        ------
        Exception
            The first error on this rank or on another one, with that rank in the text. The other
            ranks are told.
        LostRank
            If a rank does not answer.
        """
        end = self.spawn(main)
        try:
            self._until(lambda: not self._unfinished())
            self._until(self.transport.leave)
        except BaseException as error:
            self._fail(error)
            raise
        finally:
            self._close_lanes()
        return end.value

    def _close_lanes(self) -> None:
        for jobs, _ in self._lanes.values():
            jobs.put(None)

    def _unfinished(self) -> bool:
        return bool(self._alive or self._requests)

    def _until(self, reached: Callable[[], bool]) -> None:
        since = time.monotonic()
        while True:
            if self.look is not None:
                self.look()
            if self._round():
                since = time.monotonic()
            elif reached():
                return
            else:
                self._sleep(self._nap(time.monotonic() - since))
                self._look_for_the_lost()

    def _nap(self, silent: float) -> float:
        if self._surviving is not None:
            return min(_IDLE, self.timeout / 16)  # every event ends the sleep
        return 0.0 if silent < _SPIN else min(max(_NAP, _SHARE * silent), _LONGEST)

    def _round(self) -> bool:
        """Check everything once; return whether anything happened."""
        news = False
        if self._requests:
            done = self.transport.completed(self._requests)
            if done:
                news = True
                ended = [self._whose[i][0] for i in done]
                for i in sorted(done, reverse=True):
                    del self._requests[i], self._whose[i]
                for waiting in ended:
                    if waiting.whom is not None:
                        self._asked[waiting.whom] = None
                    waiting.left -= 1
                    if waiting.left == 0:
                        self.fulfil(waiting)
        while not self._ended.empty():
            news = True
            waiting, value, error = self._ended.get()
            waiting.error = error
            self.fulfil(waiting, value)
        for source, message in self.transport.heard():
            news = True
            self._hear(source, message)
        if self._surviving is not None:
            # patience: every other rank may be waited for first
            for rank in self._surviving.moved(self.size * self.timeout):
                self._asked[rank] = None
            for rank, why in self._surviving.gone():
                news = True
                self._lose(rank, why)
        while self._ready:
            news = True
            self._step(*self._ready.popleft())
        return news

    def _step(self, coroutine: Coroutine[Any, Any, Any], end: Waiting) -> None:
        try:
            waiting = coroutine.send(None)
        except StopIteration as ended:
            self._alive.remove(coroutine)
            self.fulfil(end, ended.value)
            return
        if waiting.done:
            self._ready.append((coroutine, end))
        else:
            waiting._then.append((coroutine, end))

    def _message(
        self,
        begin: Callable[[Bytes, int, int], Any],
        sends: bool,
        array: NDArray[Any],
        whom: int,
        tag: int,
    ) -> Waiting:
        if whom in self.gone:
            (waiting := Waiting(whom, 0)).error = LostRank(whom, self.gone[whom])
            return waiting
        data = array.reshape(-1).view(np.uint8)
        parts = [data[i : i + _PART] for i in range(0, len(data), _PART)]
        waiting = Waiting(whom, len(parts))
        for part in parts:
            self._requests.append(begin(part, whom, tag))
            self._whose.append((waiting, sends))
        return waiting

    # ---- errors ----

    def _hear(self, source: int, message: Any) -> None:
        self._asked[source] = None
        kind, what = message
        if kind == "ping":
            self.transport.tell(("pong", None), source)
        elif kind == "stop":
            raise what
        elif kind == "told" and self._told is not None:
            self._told(source, what)

    def _look_for_the_lost(self) -> None:
        """Ask the ranks that are waited for, then find the ranks that did not answer in time."""
        now = time.monotonic()
        if now - self._looked < self.timeout / 4:
            return
        self._looked = now
        whom = {waiting.whom for waiting, _ in self._whose if waiting.whom is not None}
        if not whom or self._surviving is not None:
            whom = set(range(self.size)) - {self.rank}
        for rank in sorted(whom - set(self.gone)):
            asked = self._asked[rank]
            if asked is None:
                self._asked[rank] = now
                self.transport.tell(("ping", None), rank)
            elif now - asked > 0.75 * self.timeout:
                self._lose(rank, f"rank {rank} has not answered for {now - asked:.3g} s")

    def _lose(self, rank: int, why: str) -> None:
        if self._surviving is None or self._lost is None:
            raise LostRank(rank, why)
        if rank in self.gone:
            return
        self.gone[rank] = why
        self._surviving.give_up(rank)
        pairs = list(zip(self._requests, self._whose, strict=True))
        self._requests = [request for request, (waiting, _) in pairs if waiting.whom != rank]
        self._whose = [whose for _, whose in pairs if whose[0].whom != rank]
        for waiting in dict.fromkeys(waiting for _, (waiting, _) in pairs if waiting.whom == rank):
            waiting.error = LostRank(rank, why)
            self.fulfil(waiting)
        self._lost(rank, why)

    def _fail(self, error: BaseException) -> None:
        """Tell the other ranks, end what runs here, and wait until all ranks have come together."""
        self.stopped.set()
        for coroutine in self._alive:
            with contextlib.suppress(BaseException):
                coroutine.close()
        self._close_lanes()
        for _, thread in self._lanes.values():
            thread.join()
        report = _for_others(self.rank, error)
        if report is not None:
            for rank in range(self.size):
                if rank != self.rank:
                    self.transport.tell(("stop", report), rank)
        pairs = list(zip(self._requests, self._whose, strict=True))
        self.transport.abandon(
            *(
                [request for request, (_, sends) in pairs if sends is wanted]
                for wanted in (True, False)
            )
        )
        end = time.monotonic() + (0.0 if isinstance(error, LostRank) else _PATIENCE)
        while not self.transport.leave():
            if time.monotonic() > end:
                self.broken = True
                return
            time.sleep(_NAP)


def _work(jobs: SimpleQueue[Any], ended: SimpleQueue[Any], wake: Callable[[], None]) -> None:
    while (given := jobs.get()) is not None:
        job, waiting = given
        try:
            ended.put((waiting, job(), None))
        except BaseException as error:
            ended.put((waiting, None, error))
        wake()


_KINDS = (np.linalg.LinAlgError, ValueError, TypeError, MemoryError, OSError)


def _for_others(rank: int, error: BaseException) -> BaseException | None:
    """The error that the other ranks raise; None if they know of it already."""
    if knows(error):
        return None
    if isinstance(error, LostRank):
        return told(LostRank(error.rank, str(error)))
    return told(of_rank(rank, error))


def told(error: BaseException) -> BaseException:
    """Mark an error as known to all ranks."""
    error.hetsched_told = True  # type: ignore[attr-defined]
    return error


def knows(error: BaseException) -> bool:
    """Whether all ranks know of the error."""
    return bool(getattr(error, "hetsched_told", False))


def of_rank(rank: int, error: BaseException) -> BaseException:
    """The error to raise for an error of another rank: of the same class if it is in `_KINDS`."""
    text = str(error) or type(error).__name__
    for kind in _KINDS:
        if isinstance(error, kind):
            return kind(f"rank {rank}: {text}")
    return Stopped(
        f"rank {rank} stopped: {type(error).__name__}{f': {error}' if str(error) else ''}"
    )


async def all_of(waiting: Iterable[Any]) -> None:
    """Wait for each event."""
    for each in waiting:
        await each
