"""What pytest does with a test that does not end, in the settings of this folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: In one file what a signal interrupts, then a lock of C, which no signal does; in another a
#: process that ends.
WAITS = """
import ctypes, threading
import pytest

threading.Thread(target=threading.Event().wait, name="beside", daemon=True).start()

@pytest.mark.timeout(0.5)
def test_waits():
    threading.Event().wait()

def test_after():
    pass

def test_locks():
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)
"""
ENDS = """
import os

def test_ends():
    os._exit(0)
"""


@pytest.mark.slow
def test_tests_that_hang_and_end_their_process(tmp_path):
    """Each of them fails by name, with the stacks of all threads; the run ends with an error."""
    (tmp_path / "test_waits.py").write_text(WAITS)
    (tmp_path / "test_ends.py").write_text(ENDS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-c",
        ROOT / "pyproject.toml",
        "--rootdir",
        tmp_path,
    ]
    options = [
        "-n",
        "2",
        "--dist",
        "loadfile",
        "-p",
        "no:cacheprovider",
        tmp_path,
    ]
    where = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "HS_TEST_PATIENCE": "5"}
    run = subprocess.run(
        [*command, *options],
        cwd=tmp_path,
        env=where,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 1
    assert "FAILED test_waits.py::test_waits - Failed: Timeout (>0.5s)" in run.stdout
    assert "Stack of beside" in run.stdout
    assert "crashed while running 'test_waits.py::test_locks'" in run.stdout
    assert "in test_locks" in run.stderr
    assert "crashed while running 'test_ends.py::test_ends'" in run.stdout
    assert "3 failed, 1 passed" in run.stdout
