"""The ranks of an MPI communicator: messages, agreement before a call, and errors that all see."""

from __future__ import annotations

import atexit
import functools
import pickle
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np

from .._base.need import need
from .._base.version import __version__
from .interrupts import Interrupts
from .loop import Bytes, Loop, LostRank, of_rank, told

_TOLD = 0  # tag of told objects; arrays have larger tags
TAG = 1  # the first tag for arrays
TIMEOUT = 60.0
_PAUSE = 2e-4
_GRACE = 0.12  # seconds that the other ranks have to arrive after Ctrl-C


def world() -> Any:
    """All ranks of the program: MPI.COMM_WORLD."""
    return need("mpi4py.MPI", "hetsched.mpi").COMM_WORLD


class Messages:
    """A `loop.Transport` on a communicator that is used for nothing else."""

    def __init__(self, comm: Any) -> None:
        self._mpi = need("mpi4py.MPI", "hetsched.mpi")
        self._comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        # sends of told objects, and requests for messages that come too late
        self._own: list[Any] = []
        self._barriers: list[Any] = []
        self._quiet = False  # all ranks have come to the end: nothing is told any more
        self._abandoned = False

    def send(self, data: Bytes, to: int, tag: int) -> Any:
        # Send synchronously: a message that waits to be received takes no memory at the receiver,
        # and a send that is done has been received.
        return self._comm.Issend([data, self._mpi.BYTE], to, tag)

    def receive(self, data: Bytes, source: int, tag: int) -> Any:
        return self._comm.Irecv([data, self._mpi.BYTE], source, tag)

    def completed(self, requests: list[Any]) -> list[int]:
        return self._mpi.Request.Testsome(requests) or []

    def tell(self, what: Any, to: int) -> None:
        if not self._quiet:
            self._own.append(self._comm.Issend([pickle.dumps(what), self._mpi.BYTE], to, _TOLD))

    def heard(self) -> list[tuple[int, Any]]:
        found = []
        status = self._mpi.Status()
        while (message := self._comm.Improbe(self._mpi.ANY_SOURCE, _TOLD, status)) is not None:
            data = bytearray(status.Get_count(self._mpi.BYTE))
            message.Recv([data, self._mpi.BYTE])
            found.append((status.Get_source(), pickle.loads(data)))
        return found

    def leave(self) -> bool:
        """Leave by the nonblocking consensus of Hoefler, Siebert, Lumsdaine (2010).

        A rank without unfinished sends enters a barrier, and receives messages until all ranks
        have entered it. There are two barriers. After the first one, some ranks still answer
        ranks that have asked whether they are alive. A message that arrives after the communicator
        is gone would be taken for a message of the next one.
        """
        if self._abandoned:
            self._receive_the_rest()
        self._own = [request for request in self._own if not request.Test()]
        if self._barriers and not self._barriers[-1].Test():
            return False
        self._quiet = bool(self._barriers)
        if self._own:
            return False
        if len(self._barriers) == 2:
            return True
        self._barriers.append(self._comm.Ibarrier())
        return False

    def _receive_the_rest(self) -> None:
        status = self._mpi.Status()
        anything = self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status
        while (message := self._comm.Improbe(*anything)) is not None:
            data = bytearray(status.Get_count(self._mpi.BYTE))
            self._own.append(message.Irecv([data, self._mpi.BYTE]))

    def abandon(self, sends: list[Any], receives: list[Any]) -> None:
        self._abandoned = True
        for request in receives:
            request.Cancel()
        self._own += sends + receives


class Ranks:
    """All ranks in one call: a context in which they agree, and then run coroutines.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    timeout : float
        See `Loop`.

    Attributes
    ----------
    rank, size : int
    refused : Exception or None
        An error of this rank's arguments, which the first agreement raises on all ranks.
    """

    def __init__(self, comm: Any, timeout: float = TIMEOUT) -> None:
        mpi = self._mpi = need("mpi4py.MPI", "hetsched.mpi")
        if not isinstance(comm, mpi.Intracomm) or comm == mpi.COMM_NULL:
            raise TypeError(
                "comm must be a communicator of mpi4py, such as MPI.COMM_WORLD, got"
                f" {type(comm).__name__}"
            )
        if mpi.Query_thread() < mpi.THREAD_SERIALIZED and not mpi.Is_thread_main():
            raise RuntimeError(
                "hetsched.mpi must be called by the main thread: this MPI has no THREAD_SERIALIZED"
            )
        self.rank, self.size, self.timeout = comm.Get_rank(), comm.Get_size(), timeout
        self.refused: Exception | None = None
        self._given = comm
        self._interrupts = Interrupts()

    def __enter__(self) -> Ranks:
        self._interrupts.__enter__()
        try:
            self.comm, request = self._given.Idup()
            self._wait(request)
        except BaseException as error:
            self._interrupts.__exit__(type(error))
            raise
        self.whole = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.whole:
            self.comm.Free()
        else:
            _abort_at_exit(self._mpi)
        self._interrupts.__exit__(kind)

    def _wait(self, request: Any) -> None:
        """Wait for a collective operation.

        After Ctrl-C the other ranks still have a moment to arrive, and the next step tells them of
        it. Without that moment they would wait for this rank forever.
        """
        pause, end = 0.0, None
        while not request.Test():
            time.sleep(pause)
            pause = min(pause + _PAUSE / 20, _PAUSE)
            if self._interrupts.pending:
                end = time.monotonic() + _GRACE if end is None else end
                if time.monotonic() > end:
                    self.whole = False
                    _abort_at_exit(self._mpi)
                    raise KeyboardInterrupt

    # ---- before anything is changed ----

    def gather(self, value: Any) -> list[Any]:
        """The small objects of all ranks, on every rank."""
        own = np.frombuffer(pickle.dumps(value), np.uint8)
        sizes = np.empty(self.size, np.int64)
        self._wait(self.comm.Iallgather(np.array([len(own)], np.int64), sizes))
        joined = np.empty(int(sizes.sum()), np.uint8)
        self._wait(self.comm.Iallgatherv(own, [joined, sizes.tolist()]))
        cuts = np.concatenate(([0], np.cumsum(sizes)))
        return [
            pickle.loads(joined[a:b].tobytes()) for a, b in zip(cuts[:-1], cuts[1:], strict=True)
        ]

    def agree(self, check: Callable[[], Any]) -> list[Any]:
        """What `check` returns on each rank. An error on one rank is raised on all ranks.

        On the other ranks the error has the rank in its text. It keeps its class if that class
        says what is wrong with an argument.
        """
        error: BaseException | None = None
        value = None
        try:
            with self._interrupts.raised():
                if self.refused is not None:
                    raise self.refused
                value = check()
        except BaseException as caught:
            error = caught
        found = self.gather((THIS, value, None if error is None else _sendable(self.rank, error)))
        if error is not None:
            raise error
        for rank, (version, _, _) in enumerate(found):
            if version != THIS:
                raise RuntimeError(
                    f"rank {rank} runs {_said(version)}, rank {self.rank} {_said(THIS)}: they must"
                    " be the same"
                )
        for _, _, theirs in found:
            if theirs is not None:
                raise theirs
        return [value for _, value, _ in found]

    def kept(self, key: Any, find: Callable[[], Any]) -> Any:
        """What ``find()`` returned on these ranks when it was first called for this key.

        All ranks call ``find()`` unless all of them know the result. The results are kept with the
        communicator that was given.
        """
        cache = self._given.Get_attr(_keyval(self._mpi))
        if cache is None:
            self._given.Set_attr(_keyval(self._mpi), cache := {})
        if not all(self.gather(key in cache)):
            cache[key] = find()
        return cache[key]

    # ---- the run ----

    def run(
        self,
        main: Callable[[Loop], Coroutine[Any, Any, Any]],
        heard: Callable[[int, Any], None] | None = None,
    ) -> Any:
        """Run ``main(loop)`` and return its value, once all ranks have ended their coroutines."""
        self.whole = False
        loop = Loop(Messages(self.comm), self.timeout, heard)
        loop.look = self._interrupts.look
        try:
            return loop.run(main(loop))
        finally:
            self.whole = not loop.broken


THIS = (__version__, np.dtype(np.intp).itemsize, sys.byteorder)


def _said(version: tuple[str, int, str]) -> str:
    return f"hetsched {version[0]}, {8 * version[1]} bits, {version[2]}-endian"


def _sendable(rank: int, error: BaseException) -> BaseException:
    return told(of_rank(rank, error))


@functools.cache
def _keyval(mpi: Any) -> Any:
    return mpi.Comm.Create_keyval()


_registered = threading.Event()


def _abort_at_exit(mpi: Any) -> None:
    """Abort at exit: ranks that did not come together would wait forever in MPI_Finalize."""
    if not _registered.is_set():
        _registered.set()
        atexit.register(mpi.COMM_WORLD.Abort, 1)


__all__ = ["TAG", "THIS", "TIMEOUT", "LostRank", "Messages", "Ranks", "world"]
