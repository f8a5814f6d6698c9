"""Calls of the engine beside the main thread: Ctrl-C ends them at once, whenever it comes."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from hetsched._engine import ffi


def test_cancelled():
    """What interrupts the wait for a long computation ends it, and passes on when it has ended."""
    ended = []

    def work(cancel):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        while not cancel[0]:
            time.sleep(0.01)
        ended.append(True)
        return 0

    with pytest.raises(KeyboardInterrupt):
        ffi.cancellable(work, True)
    assert ended == [True]


@pytest.mark.parametrize("error", [OverflowError("as it is"), SystemExit(3)])
def test_errors_of_the_side_thread_pass(error):
    """They were called a thread that the system refused."""

    def fail(_cancel):
        raise error

    with pytest.raises(type(error)) as caught:
        ffi.cancellable(fail, True)
    assert caught.value is error


AT_EVERY_STEP = """if True:
    import _thread, sys, time
    from hetsched._engine import ffi

    def interrupting(step):
        # Raises before the step-th operation of cancellable, counted over its main thread's frame.
        count = 0
        def follow(frame, event, _):
            nonlocal count
            if frame.f_code is not ffi.cancellable.__code__:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                count += 1
                if count == step:
                    time.sleep(WAIT)
                    raise KeyboardInterrupt
            return follow
        return follow

    def call(cancel):
        for _ in range(4):
            time.sleep(0.001)
            if cancel[0]:
                break
        return 0

    step, interrupts = 0, 0
    while interrupts == step:
        step += 1
        sys.settrace(interrupting(step))
        try:
            ffi.cancellable(call, True)
        except KeyboardInterrupt:
            interrupts += 1
        finally:
            sys.settrace(None)
    while _thread._count():
        time.sleep(0.001)
    print(interrupts)
"""


@pytest.mark.parametrize("wait", [0.0, 0.01])
def test_interrupts_at_every_step(wait):
    """Of the bytecode; the call goes on meanwhile, or has ended. Between the end of the wait and that of its block all hung."""
    code = AT_EVERY_STEP.replace("WAIT", str(wait))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) > 50
