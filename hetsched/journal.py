"""Which tiles of a file are done: an append-only record that survives being killed at any moment."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import zlib
from typing import Any


class Journal:
    """The open journal of one output, locked against other processes.

    The first line says what is computed, each further one that a tile is done and the checksum of its bytes. Every line ends
    with its own checksum, so that one that was cut short does not count.

    Parameters
    ----------
    path : str
    output : str
        For messages.

    Raises
    ------
    BlockingIOError
        If another process has it.
    """

    def __init__(self, path: str, output: str) -> None:
        self.path = path
        while True:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                own = os.fstat(self._file)
                if os.path.exists(path) and os.path.samestat(own, os.stat(path)):
                    return
            except BlockingIOError:
                os.close(self._file)
                raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing it", output) from None
            except FileNotFoundError:
                pass
            os.close(self._file)  # the process that had it has just removed it

    def read(self) -> tuple[dict[str, Any] | None, dict[int, int]]:
        """The header, if there is one, and the checksums of the tiles done."""
        with open(self.path, "rb") as file:
            content = file.read()
        if content and not content.endswith(b"\n"):
            os.write(self._file, b"\n")  # ends a line that was cut short
        lines = [line for raw in content.split(b"\n")[:-1] if (line := _checked(raw)) is not None]
        if not lines or not lines[0].startswith(b"{"):
            return None, {}
        tiles = (line.split() for line in lines[1:])
        return json.loads(lines[0]), {int(tile): int(checksum) for tile, checksum in tiles}

    def start(self, header: dict[str, Any]) -> None:
        """Forget what is there and write the header."""
        os.ftruncate(self._file, 0)
        self._append(json.dumps(header, sort_keys=True).encode())
        os.fsync(self._file)

    def add(self, tile: int, checksum: int) -> None:
        """Record a tile that has been written."""
        self._append(b"%d %d" % (tile, checksum))

    def _append(self, line: bytes) -> None:
        line = b"%s %08x\n" % (line, zlib.crc32(line))
        written = os.write(self._file, line)
        if written < len(line):  # a full disk; the rest would say so
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def remove(self) -> None:
        """The product is complete, or nothing has been begun."""
        os.unlink(self.path)

    def close(self) -> None:
        os.close(self._file)


def _checked(raw: bytes) -> bytes | None:
    line, _, checksum = raw.rpartition(b" ")
    return line if checksum == b"%08x" % zlib.crc32(line) else None
