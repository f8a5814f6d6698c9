"""A program that is interrupted while it works."""

import signal
import subprocess
import sys
import textwrap
import threading
import time


def interrupted(program: str, after: float = 0.3, limit: float = 5.0) -> list[str]:
    """What the program says when SIGINT reaches it: it prints "ready", works for what would be
    minutes, prints "interrupted", the time by time.monotonic and perhaps more words and lines,
    which are returned, and ends well. It is killed after a minute.
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(after)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            first, *lines = process.stdout.read().splitlines() or [""]
            process.wait()
        finally:
            watchdog.cancel()
            process.kill()
    word, when, *words = first.split() or ["", "0"]
    assert word == "interrupted"
    assert float(when) - sent < limit  # generous: a loaded machine; without the poll it is minutes
    # Python ends by the signal, though the program caught it, if it came within exec of a string.
    # On a busy machine the program may still import what it works with, and dataclasses are made by
    # exec.
    assert process.returncode in (0, -signal.SIGINT)
    return [*words, *lines]
