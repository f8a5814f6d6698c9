"""Which tiles of a file are done, and what they were made of: an append-only record that survives being killed at any moment."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from typing import Any

from .._base.lines import content_of, line_of

#: Checksums of blocks by matrix and number.
Blocks = dict[tuple[str, int], int]


class Journal:
    """The open journal of one output, locked against other processes.

    The first line is empty braces, the second one says what is computed, each further one that a block of an input ("A", "B")
    was read or a tile of the output ("C") is done: the matrix, the block's number and the checksum of its bytes. Every line
    ends with its own checksum, so that one that was cut short does not count. Threads may add lines at the same time.

    Parameters
    ----------
    path : str
    output : str
        For messages.

    Raises
    ------
    BlockingIOError
        If another process has it.
    FileExistsError
        If a file of that name is not a journal.
    """

    def __init__(self, path: str, output: str) -> None:
        self.path = path
        self._adding = threading.Lock()
        while True:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                own = os.fstat(self._file)
                if os.path.exists(path) and os.path.samestat(own, os.stat(path)):
                    if own.st_size and not self._ours():
                        os.close(self._file)
                        raise FileExistsError(errno.EEXIST, "is in the way, and no earlier call wrote it; remove it", path)
                    return
            except BlockingIOError:
                os.close(self._file)
                raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing it", output) from None
            except FileNotFoundError:
                pass
            os.close(self._file)  # the process that had it has just removed it

    def _ours(self) -> bool:
        """Whether the first line is ours, or cut short."""
        first, end, _ = os.pread(self._file, len(_FIRST) + 1, 0).partition(b"\n")
        return first + end == _FIRST if end else _FIRST.startswith(first)

    def read(self) -> tuple[dict[str, Any] | None, Blocks]:
        """The header, if there is one, and the blocks; of one that was added twice the later checksum."""
        with open(self.path, "rb") as file:
            content = file.read()
        if len(content) > len(_FIRST) and not content.endswith(b"\n"):
            os.write(self._file, b"\n")  # ends a line that was cut short
        lines = [line for raw in content.split(b"\n")[:-1] if (line := content_of(raw)) is not None]
        headers = [line for line in lines if line.startswith(b"{")]
        if not headers:
            return None, {}
        blocks = (line.decode().split() for line in lines if line[:1] in (b"A", b"B", b"C"))
        return json.loads(headers[-1]), {(matrix, int(number)): int(checksum) for matrix, number, checksum in blocks}

    def start(self) -> None:
        """Forget what is there; what is then found beside the output is ours."""
        os.ftruncate(self._file, 0)
        self._append(b"{}")
        os.fsync(self._file)

    def describe(self, header: dict[str, Any]) -> None:
        """Say what is computed."""
        self._append(json.dumps(header, sort_keys=True).encode())
        os.fsync(self._file)

    def add(self, matrix: str, number: int, checksum: int) -> None:
        """Record a block that has been read or written."""
        self._append(f"{matrix} {number} {checksum}".encode())

    def _append(self, line: bytes) -> None:
        whole = line_of(line)
        with self._adding:
            written = os.write(self._file, whole)
            if written < len(whole):  # a full disk; the rest would say so
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def remove(self) -> None:
        """The product is complete, or nothing has been begun."""
        os.unlink(self.path)

    def close(self) -> None:
        os.close(self._file)


_FIRST = line_of(b"{}")
