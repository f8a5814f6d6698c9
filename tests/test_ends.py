"""Programs that end while a daemon thread computes end well: with status 0, without a word, in bounded time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
PROGRAM = Path(__file__).with_name("ends.py")


def ends(*arguments, before=(), **changes):
    command = [*before, sys.executable, str(PROGRAM), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False, env=os.environ | changes)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_in_every_phase():
    """Python ended the thread in a callback: its run went on on a stack that was gone, mostly up to a segmentation fault."""
    assert ends("1") == "31 ends\n"


@pytest.mark.parametrize("phase", ["emulated", "linear programs"])
def test_often(phase):
    assert ends("8", phase) == "8 ends\n"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one core every call is OpenBLAS's, which is not safe at the end")
def test_executed():
    calls.skip_without_library()
    found = ends("4", "numpy: products", before=[sys.executable, "-m", "hetsched", "exec", "--"], OPENBLAS_NUM_THREADS="2")
    assert found == "4 ends\n"
