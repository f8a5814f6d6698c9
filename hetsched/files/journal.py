"""An append-only record of the completed tiles of a file and the input blocks they were made of.

The record stays valid if the process is killed at any moment.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from typing import Any

from .._base.lines import content_of, line_of

#: (matrix, number of the block) -> checksum.
Blocks = dict[tuple[str, int], int]


class Journal:
    """The open journal of one output, locked against other processes.

    The first line is a pair of braces. The second line says what is computed. Each further line
    says that a block of an input ("A", "B") was read or that a tile of the output ("C") is
    complete. It has the matrix, the block's number and the checksum of the block's bytes. Every
    line ends with its own checksum, so that a line that was cut short does not count. Several
    threads may add lines at the same time.

    Parameters
    ----------
    path : str
    output : str
        Name of the output in messages.

    Raises
    ------
    BlockingIOError
        If another process holds the journal.
    FileExistsError
        If a file of this name is not a journal.
    """

    def __init__(self, path: str, output: str) -> None:
        self.path = path
        self._adding = threading.Lock()
        while True:
            self._file = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666
            )
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                own = os.fstat(self._file)
                if os.path.exists(path) and os.path.samestat(own, os.stat(path)):
                    if own.st_size and not self._ours():
                        os.close(self._file)
                        raise FileExistsError(
                            errno.EEXIST,
                            "is in the way, and no earlier call wrote it; remove it",
                            path,
                        )
                    return
            except BlockingIOError:
                os.close(self._file)
                raise BlockingIOError(
                    errno.EWOULDBLOCK, "another process is writing it", output
                ) from None
            except FileNotFoundError:
                pass
            os.close(self._file)  # the process that held it has just removed it

    def _ours(self) -> bool:
        """Whether the file begins like a journal, possibly with a first line that was cut short."""
        first, end, _ = os.pread(self._file, len(_FIRST) + 1, 0).partition(b"\n")
        return first + end == _FIRST if end else _FIRST.startswith(first)

    def read(self) -> tuple[dict[str, Any] | None, Blocks]:
        """Return the header or None, and the blocks.

        For a block that was added twice the later checksum counts.
        """
        with open(self.path, "rb") as file:
            content = file.read()
        if len(content) > len(_FIRST) and not content.endswith(b"\n"):
            os.write(self._file, b"\n")  # ends a line that was cut short
        lines = [line for raw in content.split(b"\n")[:-1] if (line := content_of(raw)) is not None]
        headers = [line for line in lines if line.startswith(b"{")]
        if not headers:
            return None, {}
        blocks = (line.decode().split() for line in lines if line[:1] in (b"A", b"B", b"C"))
        return json.loads(headers[-1]), {
            (matrix, int(number)): int(checksum) for matrix, number, checksum in blocks
        }

    def start(self) -> None:
        """Clear the journal. From then on a partial file beside the output belongs to it."""
        os.ftruncate(self._file, 0)
        self._append(b"{}")
        os.fsync(self._file)

    def describe(self, header: dict[str, Any]) -> None:
        """Add the header, which says what is computed."""
        self._append(json.dumps(header, sort_keys=True).encode())
        os.fsync(self._file)

    def add(self, matrix: str, number: int, checksum: int) -> None:
        """Record a block that has been read or written."""
        self._append(f"{matrix} {number} {checksum}".encode())

    def _append(self, line: bytes) -> None:
        whole = line_of(line)
        with self._adding:
            written = os.write(self._file, whole)
            if written < len(whole):  # the disk is full: writing the rest would fail
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def remove(self) -> None:
        """Delete the journal, because the product is complete or was not begun."""
        os.unlink(self.path)

    def close(self) -> None:
        os.close(self._file)


_FIRST = line_of(b"{}")
