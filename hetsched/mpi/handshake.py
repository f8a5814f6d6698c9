"""Handshakes on new connections: both sides prove that they know a secret before they trust data.

A handshake is a generator. It yields (bytes to send, number of bytes to receive), gets the bytes
that were received, and returns its result. `Handshake` runs it on a connection without waiting,
`shake` waits for one handshake, and a `Door` runs many at a time. A stranger can take one of a
limited number of connections, for a limited time, and no more bytes are read from it than a step
asks for.
"""

from __future__ import annotations

import hmac
import json
import secrets
import selectors
import socket
import time
from collections.abc import Generator
from typing import Any

Steps = Generator[tuple[bytes, int], bytes, Any]

SHAKE = 10.0  # seconds that a connection has for its whole handshake
_NONCE = 32  # bytes; a proof has as many
_LINE = 4096  # bytes that a peer may send to introduce itself after its proof
# connections at a time without a complete handshake, in addition to the expected ones
_STRANGERS = 128


def proof(secret: bytes, serves: bool) -> Steps:
    """Prove to each other that both sides know the secret, which is not sent.

    Each side sends the HMAC-SHA256 of the random bytes of the other side.

    The side that connects sends its proof first, so a stranger learns nothing about the secret. The
    random bytes are new for each connection, and a proof names its side. So a proof that was
    recorded earlier, or one that is sent back, is of no use.

    Raises
    ------
    ConnectionError
        If the other side does not know the secret.
    """
    own = secrets.token_bytes(_NONCE)
    other = yield own, _NONCE
    me, you = (b"master", b"worker") if serves else (b"worker", b"master")
    mine = hmac.digest(secret, me + other + own, "sha256")
    theirs = yield b"" if serves else mine, _NONCE
    if not hmac.compare_digest(theirs, hmac.digest(secret, you + own + other, "sha256")):
        raise ConnectionError("the other side does not know the secret")
    if serves:
        yield mine, 0


def introduce(secret: bytes, *who: Any) -> Steps:
    """Steps of the side that connects: the proof, then a line that introduces it."""
    yield from proof(secret, False)
    yield json.dumps(who).encode() + b"\n", 0


def welcome(secret: bytes) -> Steps:
    """Steps of the side that serves: the proof, then the line that introduces the other side."""
    yield from proof(secret, True)
    line = b""
    while not line.endswith(b"\n"):
        if len(line) == _LINE:
            raise ConnectionError("the line that introduces the other side is too long")
        # one byte at a time: what follows the line is not part of the handshake
        line += yield b"", 1
    return json.loads(line)


class Handshake:
    """One side of a handshake.

    Attributes
    ----------
    end : float
        Time by `time.monotonic` at which the handshake must be complete.
    found : object
        The result of the steps, once they are complete.
    """

    def __init__(self, connection: socket.socket, steps: Steps, seconds: float) -> None:
        connection.setblocking(False)
        self.connection, self.end, self.found = connection, time.monotonic() + seconds, None
        self._steps, self._got = steps, b""
        self._say, self._count = next(steps)

    def go_on(self) -> bool:
        """Do what is possible without waiting; return whether the handshake is complete.

        Raises
        ------
        OSError, ValueError
            If the other side breaks the protocol or has gone.
        """
        while True:
            # a new connection has room for more bytes than a handshake
            if self._say and self._sent() < len(self._say):
                raise ConnectionError("the connection does not accept a few bytes")
            self._say = b""
            if len(self._got) < self._count:
                try:
                    more = self.connection.recv(self._count - len(self._got))
                except BlockingIOError:
                    return False
                if not more:
                    raise ConnectionError("the connection has ended")
                self._got += more
                continue
            try:
                (self._say, self._count), self._got = self._steps.send(self._got), b""
            except StopIteration as end:
                self.found = end.value
                return True
            except RecursionError:  # the line is nested too deeply
                raise ValueError("the line that introduces the other side cannot be read") from None

    def _sent(self) -> int:
        try:
            return self.connection.send(self._say)
        except BlockingIOError:
            return 0


def shake(connection: socket.socket, steps: Steps, seconds: float) -> Any:
    """Run a handshake to its end and return its result.

    Raises
    ------
    OSError, ValueError
        See `Handshake.go_on`.
    TimeoutError
        If the handshake takes longer.
    """
    handshake = Handshake(connection, steps, seconds)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        while not handshake.go_on():
            if not selector.select(max(0.0, handshake.end - time.monotonic())):
                raise TimeoutError("the other side does not answer")
            if time.monotonic() > handshake.end:
                raise TimeoutError("the other side takes too long to identify itself")
    return handshake.found


class Door:
    """Handshakes with all peers that connect, at the same time.

    If too many are open, the oldest one is given up. A peer that knows the secret needs only the
    time of a message and its answer.

    Parameters
    ----------
    listener : socket
    secret : bytes
    expected : int
        Number of peers that are expected.
    """

    def __init__(self, listener: socket.socket, secret: bytes, expected: int) -> None:
        listener.setblocking(False)
        self._listener, self._secret, self._most = listener, secret, expected + _STRANGERS
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._open: dict[socket.socket, Handshake] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._open)

    def look(self, seconds: float) -> list[tuple[socket.socket, Any]]:
        """Wait at most this long for events; return the peers that have proved the secret.

        Returns (connection, what the peer says of itself) for each of them.
        """
        known = []
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._listener:
                known += self._accept()
            elif key.data.connection in self._open:  # it may have just made room for another one
                known += self._advance(key.data)
        now = time.monotonic()
        for handshake in [each for each in self._open.values() if each.end < now]:
            self._send_away(handshake)
        return known

    def _accept(self) -> list[tuple[socket.socket, Any]]:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):  # it has gone already
            return []
        except OSError:  # such as too many open files
            if not self._open:
                raise
            self._send_away(next(iter(self._open.values())))
            return []
        if len(self._open) == self._most:
            self._send_away(next(iter(self._open.values())))
        handshake = Handshake(connection, welcome(self._secret), SHAKE)
        self._open[connection] = handshake
        self._selector.register(connection, selectors.EVENT_READ, handshake)
        return self._advance(handshake)

    def _advance(self, handshake: Handshake) -> list[tuple[socket.socket, Any]]:
        """The connection, if its handshake is now complete."""
        try:
            if not handshake.go_on():
                return []
        except (OSError, ValueError):
            self._send_away(handshake)
            return []
        self._forget(handshake)
        return [(handshake.connection, handshake.found)]

    def _forget(self, handshake: Handshake) -> None:
        del self._open[handshake.connection]
        self._selector.unregister(handshake.connection)

    def _send_away(self, handshake: Handshake) -> None:
        self._forget(handshake)
        handshake.connection.close()

    def close(self) -> None:
        """Close all connections without a complete handshake."""
        for handshake in list(self._open.values()):
            self._send_away(handshake)
        self._selector.close()
