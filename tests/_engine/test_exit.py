"""Planners of daemon threads, when the program ends: they have left C before the interpreter is
gone."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

#: What the daemon thread computes: a call of its own, and one that has threads.
PLANS = {
    "one": "hs.partition(rng.random(15), 'guillotine')",
    "a stack": "hs.partition(rng.random((200_000, 8)), 'columns')",
}


@pytest.mark.few(1)
@pytest.mark.parametrize("plan", PLANS)
def test_calls_have_ended_before_the_interpreter(plan):
    program = f"""
    import atexit, threading, time
    atexit.register(lambda: print(seen[0], len(ffi._calls)))  # what comes first is called last
    import numpy as np
    import hetsched as hs
    from hetsched._engine import ffi
    rng = np.random.default_rng(0)
    seen = []

    def again():
        while True:
            {PLANS[plan]}

    hs.partition(rng.random(3), 'columns')
    threading.Thread(target=again, daemon=True).start()
    until = time.monotonic() + 60
    while not ffi._calls and time.monotonic() < until:
        time.sleep(0.001)
    seen.append(len(ffi._calls) > 0)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 0\n", "")
