"""Waits of the main thread for calls of the engine, other threads and processes: Ctrl-C ends them
at once, whenever it comes."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hetsched as hs
from hetsched._engine import ffi
from hetsched._engine.rows import over_rows
from hetsched.files.stored import Raw

LIMIT = 20.0  # seconds after which what is not interrupted ends by itself, and the test fails


def interrupt(send, told):
    """Interrupt the main thread and wait until told to end; whether that came."""
    time.sleep(0.2)  # the main thread is asleep
    send()
    end = time.monotonic() + LIMIT
    while not told() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(told())


def to_the_main_thread():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def to_this_thread():
    """Such a signal wakes the main thread as little as one that comes in the moment before it
    sleeps."""
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("send", [to_the_main_thread, to_this_thread])
def test_cancelled(send):
    """What interrupts the wait for a long computation ends it, and passes on when it has ended."""
    told = []

    def work(cancel):
        told.append(interrupt(send, lambda: cancel[0]))
        return 0

    with pytest.raises(KeyboardInterrupt):
        ffi.cancellable(work, True)
    assert told == [True]


def test_cancelled_rows():
    told = queue.SimpleQueue()

    def work(_first, _last, cancel):
        told.put(interrupt(to_this_thread, lambda: cancel[0]))
        return 0

    with pytest.raises(KeyboardInterrupt):
        over_rows(work, 1, 1)
    assert told.get()


def test_cancelled_shares():
    """The master waits for a worker's function."""
    over, ended = threading.Event(), threading.Event()

    def work(_item):
        interrupt(to_this_thread, over.is_set)
        ended.set()

    with hs.Pool(1) as pool, pytest.raises(KeyboardInterrupt):
        pool.run(hs.min_time(1, [1.0]), work, [0])
    assert not ended.is_set()
    over.set()
    ended.wait()


def test_cancelled_processes():
    """The master waits for a worker's process."""
    program = """if True:
        import os, signal, threading, time
        import hetsched as hs

        begun, begin = os.pipe()

        def nap(_item):
            os.write(begin, b"1")
            time.sleep(20.0)
            print("ended", flush=True)

        def interrupt():
            os.read(begun, 1)
            time.sleep(0.2)
            signal.raise_signal(signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            hs.map_tasks(nap, [0, 1], 2, start_method="fork")
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "interrupted\n"


@pytest.mark.parametrize("work", ["read", "write"])
def test_cancelled_files(tmp_path, monkeypatch, work):
    """The multiplication waits for the reader, or its end for the writer."""
    told = []

    def last(*given):
        told.append(interrupt(to_this_thread, given[-1]))
        raise OSError("after it was told to end, or by itself")

    monkeypatch.setattr(Raw, work, last)
    np.save(tmp_path / "A.npy", np.ones((9, 9)))
    with pytest.raises(KeyboardInterrupt):
        hs.matmul_files(tmp_path / "A.npy", tmp_path / "A.npy", tmp_path / "C.npy", memory="8M")
    assert told == [True]


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

    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks at this when settrace is called
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
    """Of the bytecode; the call goes on meanwhile, or has ended. Between the end of the wait and
    that of its block all hung."""
    code = AT_EVERY_STEP.replace("WAIT", str(wait))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert int(done.stdout) > 50


POOLS_AT_EVERY_STEP = """if True:
    import os, sys, time
    import hetsched as hs
    from hetsched._engine import run
    from hetsched._engine.kernels import Blocking
    from hetsched.runners.pool import Pool

    followed = {Pool.__init__.__code__, Pool._started.__code__, run.Threads.__init__.__code__}
    threads = lambda: len(os.listdir("/proc/self/task"))

    def interrupting(step):
        # Raises before the step-th operation of a constructor of pools.
        count = 0
        def follow(frame, event, _):
            nonlocal count
            if frame.f_code not in followed:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                count += 1
                if count == step:
                    raise KeyboardInterrupt
            return follow
        return follow

    def interrupted(make):
        step, interrupts = 0, 0
        while interrupts == step:
            step += 1
            sys.settrace(interrupting(step))
            try:
                make()
            except KeyboardInterrupt:
                interrupts += 1
            finally:
                sys.settrace(None)
        return interrupts

    sys._getframe().f_trace_opcodes = True  # Python 3.12 looks at this when settrace is called
    hs.Pool(2)
    before, gang = threads(), Blocking(None, (0, 0), (0, 0), (0, 0))
    makers = [lambda: hs.Pool(2), lambda: run.Threads(2, None, [gang], [0, 0])]
    counts = [interrupted(make) for make in makers]
    for _ in range(1000):  # of a thread that was joined the system may know a moment longer
        if threads() == before:
            break
        time.sleep(0.01)
    print(*counts, threads() - before, len(run._living))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_interrupts_at_every_step_of_a_constructor():
    """No thread is left. Those of a pool were, where the interrupt came between its making and its
    owner's."""
    done = subprocess.run(
        [sys.executable, "-c", POOLS_AT_EVERY_STEP],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pool, domains, left, living = map(int, done.stdout.split())
    assert pool > 80
    assert domains > 80
    assert (left, living) == (0, 0)
