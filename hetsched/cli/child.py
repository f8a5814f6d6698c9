"""A program in the place of a command: the command becomes the program, or starts it and waits for
it as if it had become the program.

In both cases the program has the process group and the standard streams of the command, so Ctrl-C,
Ctrl-Z and the terminal's other signals reach it directly.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import IO, NoReturn

#: The terminal sends these to the program, too.
_OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
#: Schedulers and users send these to one process.
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


#: Python ignores them, which a new program would inherit.
_OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def become(program: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by a program."""
    for number in _OF_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(program[0], list(program), environment)


def run(
    program: Sequence[str],
    environment: Mapping[str, str],
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
) -> int:
    """Run a program to its end. Returns its exit status, or minus the signal that ended it.

    It has the standard streams of this process, unless others are given.

    Signals to this process are forwarded to the program, but SIGINT and SIGQUIT are left to it:
    the terminal sends them to both. Signals that were ignored before are ignored by both.
    """
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif number not in _OF_TERMINAL:
            child.send_signal(number)

    # The program has the default actions, because handlers end where a program begins.
    before = {
        number: signal.signal(number, forward)
        for number in (*_FORWARDED, *_OF_TERMINAL)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # the status would be lost
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        child = subprocess.Popen(
            list(program), env=environment, close_fds=False, stdin=stdin, stdout=stdout
        )
        for number in early:
            child.send_signal(number)
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_like(status: int) -> None:
    """End this process as the program has ended, whose status `run` has returned."""
    if status < 0:
        with suppress(
            ValueError
        ):  # no second core: with 1, Linux starts no handler of cores either
            resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
        with suppress(OSError):  # SIGKILL has no other action
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
        status = 128 - status  # the first process of a container is not ended by its own signals
    raise SystemExit(status)
