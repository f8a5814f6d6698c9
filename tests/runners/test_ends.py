"""Programs that end while a daemon thread computes end well: with status 0, without a word, in
bounded time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import pytest
from inputs import many

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
PROGRAM = Path(__file__).with_name("ends.py")


def ends(*arguments, before=(), **changes):
    command = [*before, sys.executable, str(PROGRAM), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=580, check=False, env=os.environ | changes
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FEW = ["pool", "two threads", "lu", "stacks", "progress", "sweep", "emulated", "planner", "bus"]


def test_in_every_phase():
    """Python ended the thread in a callback: its run went on on a stack that was gone, mostly up to
    a segmentation fault."""
    phases = many([], FEW)  # none: all 31
    assert ends("1", *phases) == f"{len(phases) or 31} ends\n"


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["emulated", "linear programs", "map_tasks"])
def test_often(phase):
    assert ends("8", phase) == "8 ends\n"


@pytest.mark.slow
@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2,
    reason="on one core every call is OpenBLAS's, which is not safe at the end",
)
def test_executed():
    calls.skip_without_library()
    found = ends(
        "4",
        "numpy: products",
        before=[sys.executable, "-m", "hetsched", "exec", "--"],
        OPENBLAS_NUM_THREADS="2",
    )
    assert found == "4 ends\n"


FORKED = """
import os, sys, threading, time
from hetsched.planners import mesh_lp

class Slow:
    def run(self):
        time.sleep(1.0)

program = mesh_lp.Program.__new__(mesh_lp.Program)
program._solver, program._stopped = Slow(), threading.Event()
begun = threading.Thread(target=lambda: program._solved(), daemon=True)
begun.start()
while not mesh_lp._calls:
    time.sleep(0.001)
if not (child := os.fork()):
    sys.exit(0 if not mesh_lp._calls else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
os._exit(0)
"""


def test_a_child_does_not_wait_for_its_parents_solvers():
    """The threads that would end them are not there: it waited for ten seconds."""
    pytest.importorskip("highspy")
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "0\n", done.stderr


BUILT = """
import os, threading, time
import numpy as np
import hetsched as hs
from hetsched.planners import mesh_lp

def slow(*given):
    time.sleep(0.3)
    os.write(1, b"imported")
    return need(*given)

need, mesh_lp.need = mesh_lp.need, slow
mesh = hs.Platform.mesh(np.ones((2, 2)), np.full((2, 1), 0.01), np.full((1, 2), 0.01))
threading.Thread(target=lambda: hs.layers_mesh(20, mesh), daemon=True).start()
while not mesh_lp._calls:
    time.sleep(0.001)
"""


def test_the_end_waits_for_a_program_that_is_built():
    """highspy calls Python back when it gets its first array: the process aborted."""
    pytest.importorskip("highspy")
    done = subprocess.run(
        [sys.executable, "-c", BUILT], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "imported"), done.stderr
