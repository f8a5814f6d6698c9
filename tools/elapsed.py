"""Runs a command and prints every eight seconds how long it has been running:

    python tools/elapsed.py WHAT ABOUT COMMAND ...

WHAT says what the command does, and ABOUT how long it takes. The exit status is that of the
command, or 128 + n if signal n ended it.
"""

import signal
import subprocess
import sys
import time

PERIOD = 8.0  # seconds


def run(what: str, about: str, *command: str) -> int:
    """Run the command and return its exit status; it ends before this function does.

    The command gets Ctrl-C from the terminal. Other signals are passed on to it.
    """
    print(f"{what}: {about}", flush=True)
    start = time.monotonic()
    running: list[subprocess.Popen[bytes]] = []
    early: list[int] = []  # signals that came before the command ran

    def pass_on(number: int, _: object) -> None:
        if not running:
            early.append(number)
        elif number != signal.SIGINT:
            running[0].send_signal(number)

    # before the command starts, since it may answer before this function goes on
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, pass_on)
    with subprocess.Popen(command) as process:
        running.append(process)
        for number in early:
            process.send_signal(number)
        while True:
            try:
                status = process.wait(PERIOD)
            except subprocess.TimeoutExpired:
                print(f"{what}: {time.monotonic() - start:.0f} s", flush=True)
            else:
                return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
