"""The coroutines of one rank, which wait for messages and for products, and the loop that polls for all of them.

Only the thread that calls `Loop.run` sends and receives: an MPI without THREAD_MULTIPLE will do. Products run on another one, so
that messages arrive meanwhile also where the MPI progresses only when it is called.
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

_SPIN = 1e-4  # seconds without news before the loop sleeps
_NAP, _LONGEST, _SHARE = 5e-5, 5e-3, 0.005  # that it sleeps at least, at most; else this part of the time without news
_IDLE = 0.1  # seconds that it sleeps where whatever comes wakes it
_PART = 1 << 30  # bytes of a message; longer arrays are sent as several
_PATIENCE = 5.0  # seconds that ranks have to end together after an error

Bytes = NDArray[np.uint8]


class Transport(Protocol):
    """What the loop needs of an MPI communicator, or of something else that carries messages between ranks 0 .. size - 1.

    Messages from one rank to another with one tag arrive in the order in which they were sent.
    """

    rank: int
    size: int

    def send(self, data: Bytes, to: int, tag: int) -> Any:
        """Begin to send; the data must stay as they are until that is done."""

    def receive(self, data: Bytes, source: int, tag: int) -> Any:
        """Begin to receive a message of exactly that many bytes."""

    def completed(self, requests: list[Any]) -> list[int]:
        """Indices of those that are done now."""

    def tell(self, what: Any, to: int) -> None:
        """Send a small object; it is `heard` there."""

    def heard(self) -> list[tuple[int, Any]]:
        """(source, object) of what has been told since the last call."""

    def leave(self) -> bool:
        """To be called until it is true: everybody has come here, and everything that was sent has been received."""

    def abandon(self, sends: list[Any], receives: list[Any]) -> None:
        """These will not be waited for; messages that come from now on are thrown away."""


class Surviving(Transport, Protocol):
    """One on which the others go on when a rank is lost."""

    def gone(self) -> list[tuple[int, str]]:
        """(rank, sentence) of those whose connection has ended since the last call."""

    def moved(self, patience: float) -> list[int]:
        """Ranks that have sent or taken a part of something since the last call: who is busy with that lives. So does one whose
        message nobody here has waited for yet, for so many seconds."""

    def give_up(self, rank: int) -> None:
        """Nothing is sent to it any more, and nothing comes from it."""

    def rest(self, seconds: float) -> None:
        """Sleep until something comes, or somebody calls `wake`, so long at most."""

    def wake(self) -> None:
        """End the rest; another thread may call it."""


class Waiting:
    """What a coroutine can wait for, once or more often."""

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
    """What coroutines can wait for that hangs on more than one thing."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Loop, Waiting]] = []

    async def until(self, loop: Loop, holds: Callable[[], bool]) -> None:
        """Wait until it holds."""
        while not holds():
            self._waiting.append((loop, changed := Waiting()))
            await changed

    def changed(self) -> None:
        """Who waits looks again."""
        waiting, self._waiting = self._waiting, []
        for loop, each in waiting:
            loop.fulfil(each)


class Window:
    """At most so many at a time: `await window.enter()`, then `window.leave()`."""

    def __init__(self, loop: Loop, size: int) -> None:
        self._loop, self._free = loop, size
        self._waiting: deque[Waiting] = deque()

    async def enter(self) -> None:
        """Wait for room."""
        if self._free:
            self._free -= 1
            return
        self._waiting.append(turn := Waiting())
        await turn

    def leave(self) -> None:
        """Make room for the next."""
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
    """Another rank had an error that has no better class here."""


class Loop:
    """Runs coroutines until they have ended on all ranks.

    Parameters
    ----------
    transport : Transport
    timeout : float
        Seconds without an answer after which a rank that is waited for counts as lost.
    told : function, optional
        Called with (source, object) for what other ranks say by `tell`.
    lost : function, optional
        Called with (rank, sentence) for a rank that is lost, on a transport that survives it; what waits for that rank raises
        LostRank then. Default: the run ends.
    """

    def __init__(
        self, transport: Transport, timeout: float, told: Callable[[int, Any], None] | None = None,
        lost: Callable[[int, str], None] | None = None,
    ) -> None:  # fmt: skip
        self.transport, self.timeout = transport, timeout
        self.rank, self.size = transport.rank, transport.size
        self.stopped = threading.Event()
        self.broken = False  # ranks did not come together after an error: the transport is of no use any more
        self._told, self._lost = told, lost
        self._surviving: Surviving | None = transport if lost is not None else None  # type: ignore[assignment]
        self._sleep = time.sleep if self._surviving is None else self._surviving.rest
        self.gone: dict[int, str] = {}  # ranks that are lost, and why
        self._ready: deque[tuple[Any, Waiting]] = deque()
        self._requests: list[Any] = []
        self._whose: list[tuple[Waiting, bool]] = []  # of each request; True: it sends
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._ended: SimpleQueue[tuple[Waiting, Any, BaseException | None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._alive: list[Coroutine[Any, Any, Any]] = []
        self._asked: list[float | None] = [None] * self.size  # since when each rank owes an answer
        self._looked = time.monotonic()  # for the lost
        self.look: Callable[[], None] | None = None  # called in every round, to raise what has been noted

    # ---- for coroutines ----

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Waiting:
        """Start it; what is returned is done when it has ended."""
        self._alive.append(coroutine)
        self._ready.append((coroutine, end := Waiting()))
        return end

    def send(self, array: NDArray[Any], to: int, tag: int) -> Waiting:
        """Send a contiguous array, which must stay as it is until this is done."""
        return self._message(self.transport.send, True, array, to, tag)

    def receive(self, array: NDArray[Any], source: int, tag: int) -> Waiting:
        """Receive into a contiguous array, which has the size of what is sent."""
        return self._message(self.transport.receive, False, array, source, tag)

    def compute(self, job: Callable[[], Any]) -> Waiting:
        """Call it on the thread for products, after those given before."""
        if self._thread is None:
            wake = (lambda: None) if self._surviving is None else self._surviving.wake
            self._thread = threading.Thread(target=_work, args=(self._jobs, self._ended, wake), daemon=True)
            self._thread.start()
        end = Waiting()
        self._jobs.put((job, end))
        return end

    def fulfil(self, waiting: Waiting, value: Any = None) -> None:
        """It is done: who waits for it goes on."""
        waiting.done, waiting.value = True, value
        self._ready.extend(waiting._then)
        waiting._then.clear()

    def tell(self, what: Any, to: int) -> None:
        """Say something small to another rank, whose `told` is called."""
        self.transport.tell(("told", what), to)

    def go_on(self) -> None:
        """Raise if the run has been stopped: for long jobs, to be called now and then."""
        if self.stopped.is_set():
            raise Stopped("the run was stopped")

    # ---- running ----

    def run(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run it and all that it spawns; returns its value once all ranks have come to the end.

        Raises
        ------
        Exception
            The first error here, or that of another rank, with the rank in its text. The others are told.
        LostRank
            For a rank that does not answer.
        """
        end = self.spawn(main)
        try:
            self._until(lambda: not self._unfinished())
            self._until(self.transport.leave)
        except BaseException as error:
            self._fail(error)
            raise
        finally:
            self._jobs.put(None)
        return end.value

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
            return min(_IDLE, self.timeout / 16)  # whatever comes ends it
        return 0.0 if silent < _SPIN else min(max(_NAP, _SHARE * silent), _LONGEST)

    def _round(self) -> bool:
        """Look for everything once; whether something came of it."""
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
            for rank in self._surviving.moved(self.size * self.timeout):  # while each of the others is waited for
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

    def _message(self, begin: Callable[[Bytes, int, int], Any], sends: bool, array: NDArray[Any], whom: int, tag: int) -> Waiting:
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
        """Ask those that are waited for, and then see who has not answered in the time that they have."""
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
        """Tell the others, end what runs here, and wait until all have come together."""
        self.stopped.set()
        for coroutine in self._alive:
            with contextlib.suppress(BaseException):
                coroutine.close()
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()
        report = _for_others(self.rank, error)
        if report is not None:
            for rank in range(self.size):
                if rank != self.rank:
                    self.transport.tell(("stop", report), rank)
        pairs = list(zip(self._requests, self._whose, strict=True))
        self.transport.abandon(*([request for request, (_, sends) in pairs if sends is wanted] for wanted in (True, False)))
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
    """What the other ranks raise; None where they know already."""
    if knows(error):
        return None
    if isinstance(error, LostRank):
        return told(LostRank(error.rank, str(error)))
    return told(of_rank(rank, error))


def told(error: BaseException) -> BaseException:
    """An error that all ranks know of."""
    error.hetsched_told = True  # type: ignore[attr-defined]
    return error


def knows(error: BaseException) -> bool:
    """Whether all ranks know of it."""
    return bool(getattr(error, "hetsched_told", False))


def of_rank(rank: int, error: BaseException) -> BaseException:
    """The error of another rank: of the same kind, where that is one that says what is wrong."""
    text = str(error) or type(error).__name__
    for kind in _KINDS:
        if isinstance(error, kind):
            return kind(f"rank {rank}: {text}")
    return Stopped(f"rank {rank} stopped: {type(error).__name__}{f': {error}' if str(error) else ''}")


async def all_of(waiting: Iterable[Any]) -> None:
    """Wait for each of them."""
    for each in waiting:
        await each
