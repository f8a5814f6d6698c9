"""Messages over TCP between a master, rank 0, and its workers. They continue if a worker is lost.

A frame is a tag of 4 bytes, a size of 8 bytes, and that many bytes of data. Each array received is
acknowledged, so a completed send has arrived. The data are not encrypted, and told objects are
pickled: only connections with a complete `handshake` may be used here.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import selectors
import socket
import struct
import time
from collections import defaultdict, deque
from typing import Any

from .loop import Bytes, LostRank

_HEAD = struct.Struct("<iq")
_TOLD, _RECEIVED = -1, -2  # tags of frames that are not arrays
_MOST = 1 << 30  # bytes of a frame
_BELL = -1  # selector key of the wake-up socket, beside the ranks
_AT_ONCE = 1 << 20  # bytes read or written at a time
_LAST = 1.0  # seconds that a worker has to report what is wrong
# seconds, seconds, count
_ALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))


class Post:
    """A message that is being sent or received."""

    __slots__ = ("data", "done")

    def __init__(self, data: Bytes) -> None:
        self.data, self.done = data.data, False


class Line:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _ALIVE:
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self.connection = connection
        self.out: deque[tuple[memoryview, bool]] = deque()  # True: part of an array
        self.moved = False
        self.unacknowledged: deque[Post] = deque()
        self.expected: defaultdict[int, deque[Post]] = defaultdict(deque)
        self._head = bytearray(_HEAD.size)
        self._tag = 0
        # None: no coroutine waits for this message yet
        self._into: memoryview | None = memoryview(self._head)
        self._size = 0
        self._post: Post | None = None  # the message being received
        self._reads_head = True
        self._told = bytearray()
        self._since = 0.0  # when the last frame head arrived

    @property
    def held_up(self) -> bool:
        """Whether a message has arrived that no coroutine waits for yet."""
        return self._into is None

    @property
    def held_for(self) -> float:
        """Seconds for which that message has been waiting; infinity if there is none."""
        return time.monotonic() - self._since if self.held_up else math.inf

    def put(self, tag: int, data: bytes | memoryview = b"") -> None:
        """Queue a frame, to be written when there is room."""
        self.out.append((memoryview(_HEAD.pack(tag, len(data))), False))
        if len(data):
            self.out.append((memoryview(data), tag != _TOLD))

    def write(self) -> None:
        """Write as much as there is room for."""
        with contextlib.suppress(BlockingIOError):
            while self.out:
                first, of_array = self.out[0]
                sent = self.connection.send(first[:_AT_ONCE])
                # Only arrays count: a worker that hangs still takes a question, but not much more.
                self.moved |= of_array
                if sent < len(first):
                    self.out[0] = first[sent:], of_array
                else:
                    self.out.popleft()

    def read(self, found: list[Any]) -> None:
        """Read what has arrived: append told objects, and store arrays where they are expected.

        If the connection ends, what was told before is in the list when the error is raised.
        """
        with contextlib.suppress(BlockingIOError):
            while self._open():
                assert self._into is not None
                if len(self._into):
                    count = self.connection.recv_into(self._into[:_AT_ONCE])
                    if count == 0:
                        raise ConnectionResetError("it has closed its connection")
                    self._into, self.moved = self._into[count:], True
                if not len(self._into):
                    self._complete(found)

    def _open(self) -> bool:
        """Whether there is room for the bytes that come next."""
        if self._into is None and self.expected[self._tag]:
            self._post = self.expected[self._tag].popleft()
            if len(self._post.data) != self._size:
                raise ConnectionError(
                    f"got a message of {self._size} bytes, expected {len(self._post.data)}"
                )
            self._into = self._post.data
        return self._into is not None

    def _complete(self, found: list[Any]) -> None:
        if self._reads_head:
            self._reads_head, self._since = False, time.monotonic()
            self._tag, self._size = _HEAD.unpack(self._head)
            most = 0 if self._tag == _RECEIVED else _MOST
            if self._tag < _RECEIVED or not 0 <= self._size <= most:
                raise ConnectionError(f"got a message of {self._size} bytes with tag {self._tag}")
            self._told = bytearray()
            self._into = None if self._tag >= 0 else self._room()
            return
        if self._tag == _TOLD:
            if len(self._told) < self._size:
                self._into = self._room()
                return
            found.append(pickle.loads(self._told))
        elif self._tag == _RECEIVED:
            if not self.unacknowledged:
                raise ConnectionError("it has acknowledged a message that was not sent")
            self.unacknowledged.popleft().done = True
        elif self._post is not None:
            self._post.done, self._post = True, None
            self.put(_RECEIVED)
        self._reads_head, self._into = True, memoryview(self._head)

    def _room(self) -> memoryview:
        """Room for the next bytes of a told object.

        It grows with the bytes that have arrived, whatever size the frame head claims.
        """
        have = len(self._told)
        self._told = self._told + bytearray(min(max(_AT_ONCE, have), self._size - have))
        return memoryview(self._told)[have:]


class Star:
    """A `loop.Surviving`. The master, rank 0, is connected to each worker, a worker to its master.

    Parameters
    ----------
    rank, size : int
    connections : dict of int to socket
        Connections by rank.
    """

    def __init__(
        self, rank: int, size: int, connections: dict[int, socket.socket] | None = None
    ) -> None:
        self.rank, self.size = rank, size
        self._selector = selectors.DefaultSelector()
        self._lines: dict[int, Line] = {}
        self._found: list[tuple[int, Any]] = []
        self._lost: list[tuple[int, str]] = []
        self._bell, self._rings = socket.socketpair()
        self._bell.setblocking(False)
        self._rings.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ, _BELL)
        for other, connection in (connections or {}).items():
            self.add(other, connection)

    def add(self, rank: int, connection: socket.socket) -> None:
        """Add a connection."""
        self._lines[rank] = Line(connection)
        self._selector.register(connection, selectors.EVENT_READ, rank)

    def send(self, data: Bytes, to: int, tag: int) -> Post:
        post = Post(data)
        if (line := self._lines.get(to)) is not None:
            line.put(tag, post.data)
            line.unacknowledged.append(post)
            self._write(to)
        return post

    def receive(self, data: Bytes, source: int, tag: int) -> Post:
        post = Post(data)
        if (line := self._lines.get(source)) is not None:
            line.expected[tag].append(post)
            self._read(source)
        return post

    def completed(self, requests: list[Post]) -> list[int]:
        self._look(0.0)
        return [i for i, post in enumerate(requests) if post.done]

    def tell(self, what: Any, to: int) -> None:
        if (line := self._lines.get(to)) is not None:
            line.put(_TOLD, pickle.dumps(what))
            self._write(to)

    def heard(self) -> list[tuple[int, Any]]:
        self._look(0.0)
        found, self._found = self._found, []
        return found

    def leave(self) -> bool:
        """Whether everything was sent and acknowledged.

        There is no barrier, because a worker stays for the next product.
        """
        self._look(0.0)
        return not any(line.out or line.unacknowledged for line in self._lines.values())

    def abandon(self, _: list[Post], __: list[Post]) -> None:
        """Close all connections, as it is unknown what the other ranks have received.

        The closed connections tell the workers that the master has stopped. A worker first sends
        the master the error that stopped it.
        """
        if self.rank != 0:
            self._flush(_LAST)
        self.close()

    def gone(self) -> list[tuple[int, str]]:
        lost, self._lost = self._lost, []
        return lost

    def moved(self, patience: float) -> list[int]:
        """Also return ranks with a message that no coroutine waits for: answers come after it."""
        found = [
            rank for rank, line in self._lines.items() if line.moved or line.held_for < patience
        ]
        for rank in found:
            self._lines[rank].moved = False
        return found

    def give_up(self, rank: int) -> None:
        if (line := self._lines.pop(rank, None)) is not None:
            self._selector.unregister(line.connection)
            line.connection.close()

    def rest(self, seconds: float) -> None:
        """Sleep until something arrives.

        A message that no coroutine waits for yet would end this at once, so the sleep is short.
        """
        if any(line.held_up for line in self._lines.values()):
            time.sleep(min(seconds, 0.001))
        else:
            self._look(seconds)

    def wake(self) -> None:
        with contextlib.suppress(OSError):  # already signalled, or closed
            self._rings.send(b"!")

    def close(self) -> None:
        """End all connections."""
        for rank in list(self._lines):
            self.give_up(rank)
        self._selector.close()
        self._bell.close()
        self._rings.close()

    def _flush(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while any(line.out for line in self._lines.values()) and time.monotonic() < end:
            self._look(0.01)

    def _look(self, seconds: float) -> None:
        if not self._lines:
            time.sleep(seconds)
            return
        for key, events in self._selector.select(seconds):
            if key.data == _BELL:
                self._bell.recv(_AT_ONCE)
                continue
            if events & selectors.EVENT_READ and key.data in self._lines:
                self._read(key.data)
            if events & selectors.EVENT_WRITE and key.data in self._lines:
                self._write(key.data)

    def _read(self, rank: int) -> None:
        if (error := self._taken(rank)) is not None:
            self._drop(rank, error)
        else:
            self._write(rank)

    def _taken(self, rank: int) -> Exception | None:
        """Take what has arrived from a rank. Returns the error that ends its connection, if any."""
        told: list[Any] = []
        try:
            self._lines[rank].read(told)
        except Exception as error:
            return error
        finally:
            self._found += [(rank, what) for what in told]
        return None

    def _write(self, rank: int) -> None:
        line = self._lines[rank]
        try:
            line.write()
        except OSError as error:
            self._taken(rank)  # the rank may have said why it ends
            self._drop(rank, error)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.out else 0)
        if self._selector.get_key(line.connection).events != events:
            self._selector.modify(line.connection, events, rank)

    def _drop(self, rank: int, error: Exception) -> None:
        self.give_up(rank)
        why = f"rank {rank}: {error}"
        if self.rank != 0:
            raise LostRank(rank, why)
        self._lost.append((rank, why))
