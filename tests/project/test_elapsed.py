"""tools/elapsed.py, and where the Makefile uses it."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "elapsed.py"


def command(*words):
    return [sys.executable, str(SCRIPT), "work", "about a minute", *words]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 15)", 128 + 15),
    ],
)
def test_the_exit_status_is_kept(code, status):
    done = subprocess.run(
        command(sys.executable, "-c", code), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (status, "work: about a minute\n")


def test_it_says_how_long(monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("elapsed", SCRIPT)
    elapsed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(elapsed)
    monkeypatch.setattr(elapsed, "PERIOD", 0.01)
    monkeypatch.setattr(elapsed.signal, "signal", lambda *_: None)
    # the end comes after at least one period
    assert elapsed.run("work", "long", sys.executable, "-c", "import time; time.sleep(0.2)") == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "work: long"
    assert others
    assert all(line.startswith("work: ") and line.endswith(" s") for line in others)


@pytest.mark.parametrize(
    ("number", "whole"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False)]
)
def test_no_process_is_left(number, whole):
    """Ctrl-C goes to the whole group; other signals, sent to this process alone, are passed on."""
    code = "print('ready', flush=True); import time; time.sleep(600)"
    process = subprocess.Popen(
        command(sys.executable, "-c", code),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    with process:
        while process.stdout.readline() != "ready\n":
            pass
        (os.killpg if whole else os.kill)(process.pid, number)
        assert process.wait() == 128 + number
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_signal_while_the_command_starts():
    code = (
        "import importlib.util, os, signal, subprocess, sys\n"
        f"spec = importlib.util.spec_from_file_location('elapsed', {str(SCRIPT)!r})\n"
        "elapsed = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(elapsed)\n"
        "class Early(subprocess.Popen):\n"
        "    def __init__(self, *words):\n"
        "        super().__init__(*words)\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "elapsed.subprocess.Popen = Early\n"
        "raise SystemExit(elapsed.run('work', 'long', 'sleep', '600'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 128 + signal.SIGTERM


@pytest.mark.skipif(not (ROOT / "csrc").is_dir(), reason="needs the source tree")
def test_make_demo_and_make_test_say_what_takes_long(tmp_path):
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    for goal in ("demo", "pytest"):
        planned = subprocess.run(
            [make, "-n", goal, f"VENV={tmp_path / 'venv'}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        slow = [line for line in planned.splitlines() if " install -q " in line]
        assert slow
        assert all("tools/elapsed.py" in line for line in slow)
        assert '"compiling the engine" "about ' in planned
