"""Who is who on a new connection: both sides prove that they know a secret before either believes anything else.

A handshake is a generator of (bytes to send, number of bytes to receive), which gets what was received; it returns what it found.
`Handshake` carries it out on a connection without waiting, `shake` waits for one, and a `Door` has many at a time. A stranger
costs one connection of a limited number, for a limited time, and no byte is taken from it beyond those that a step asks for.
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

SHAKE = 10.0  # seconds that a stranger has for its whole handshake
_NONCE = 32  # bytes, of a proof as well
_LINE = 4096  # bytes that who is known may say of itself
_STRANGERS = 128  # unknown connections at a time, beside those that are expected


def proof(secret: bytes, serves: bool) -> Steps:
    """Prove to each other that both know the secret, which is not sent: by HMAC-SHA256 of the other's random bytes.

    The side that connects proves it first, so that a stranger learns nothing of the secret. The random bytes are new for each
    connection and a proof names its side: neither one that was heard before nor one that is sent back is of use.

    Raises
    ------
    ConnectionError
        If the other does not know it.
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
    """Of the side that connects: the proof, and then a line that says who it is."""
    yield from proof(secret, False)
    yield json.dumps(who).encode() + b"\n", 0


def welcome(secret: bytes) -> Steps:
    """Of the side that serves: the proof, and then who the other says that it is."""
    yield from proof(secret, True)
    line = b""
    while not line.endswith(b"\n"):
        if len(line) == _LINE:
            raise ConnectionError("a line without an end")
        line += yield b"", 1  # what follows the line is no part of the handshake
    return json.loads(line)


class Handshake:
    """One side of a handshake.

    Attributes
    ----------
    end : float
        By `time.monotonic`, when it must be complete.
    found : object
        What the steps have returned, once it is.
    """

    def __init__(self, connection: socket.socket, steps: Steps, seconds: float) -> None:
        connection.setblocking(False)
        self.connection, self.end, self.found = connection, time.monotonic() + seconds, None
        self._steps, self._got = steps, b""
        self._say, self._count = next(steps)

    def go_on(self) -> bool:
        """Do what can be done without waiting; whether it is complete.

        Raises
        ------
        OSError, ValueError
            If the other side is not what it should be, or has gone.
        """
        while True:
            if self._say and self._sent() < len(self._say):  # a new connection has room for more than a handshake
                raise ConnectionError("the connection does not take a few bytes")
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
            except RecursionError:  # a line that is nested too deeply
                raise ValueError("a line that cannot be read") from None

    def _sent(self) -> int:
        try:
            return self.connection.send(self._say)
        except BlockingIOError:
            return 0


def shake(connection: socket.socket, steps: Steps, seconds: float) -> Any:
    """What the steps return, when they are complete.

    Raises
    ------
    OSError, ValueError
        As of `Handshake.go_on`.
    TimeoutError
        If it takes longer.
    """
    handshake = Handshake(connection, steps, seconds)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        while not handshake.go_on():
            if not selector.select(max(0.0, handshake.end - time.monotonic())):
                raise TimeoutError("the other side does not answer")
            if time.monotonic() > handshake.end:
                raise TimeoutError("the other side takes too long to say who it is")
    return handshake.found


class Door:
    """Handshakes with all that connect, side by side.

    Where too many are open the oldest is given up: one that knows the secret needs no longer than a message takes to go and come.

    Parameters
    ----------
    listener : socket
    secret : bytes
    expected : int
        How many are to come.
    """

    def __init__(self, listener: socket.socket, secret: bytes, expected: int) -> None:
        listener.setblocking(False)
        self._listener, self._secret, self._most = listener, secret, expected + _STRANGERS
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._open: dict[socket.socket, Handshake] = {}  # in the order in which they came

    def __len__(self) -> int:
        return len(self._open)

    def look(self, seconds: float) -> list[tuple[socket.socket, Any]]:
        """Those that have proved that they know the secret, with what they say of themselves; waits so long for something to
        happen at most."""
        known = []
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._listener:
                known += self._accept()
            elif key.data.connection in self._open:  # it has not just made room
                known += self._advance(key.data)
        now = time.monotonic()
        for handshake in [each for each in self._open.values() if each.end < now]:
            self._send_away(handshake)
        return known

    def _accept(self) -> list[tuple[socket.socket, Any]]:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):  # it has gone again
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
        """The connection, if that makes it known."""
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
        """Send away all that have not proved that they know the secret."""
        for handshake in list(self._open.values()):
            self._send_away(handshake)
        self._selector.close()
