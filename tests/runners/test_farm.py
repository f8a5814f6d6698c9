"""hetsched.map_tasks: results in order, shares as planned, failures by index, no process left
behind."""

from __future__ import annotations

import copyreg
import importlib.util
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched.runners import tasks as farm

ROOT = Path(__file__).parents[2]


def square(x):
    return x * x


def fails_at_seven(x):
    if x == 7:
        raise KeyError("seven")
    return x


class Stubborn(Exception):
    """Cannot be sent: it needs two arguments."""

    def __init__(self, a, b):
        super().__init__(f"{a} {b}")


def fails_stubbornly(x):
    raise Stubborn(x, "unsendable")


def dies(x):
    os._exit(3)


def who(x):
    return os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "order"),
    [
        ("fork", "plan"),
        ("spawn", "demand"),
        ("fork", "demand"),
        ("spawn", "plan"),
    ],
)
def test_results_are_in_the_order_of_the_tasks(order, method):
    seen = []
    found, trace = hs.map_tasks(
        square,
        (x for x in range(101)),
        2,
        order=order,
        start_method=method,
        progress=seen.append,
        trace=True,
    )
    assert found == [x * x for x in range(101)]
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert trace.kind == "real"
    assert sum(int(e.what.split()[0]) for e in trace.events if e.kind == "compute") == 101
    assert (trace.predicted is None) == (order == "demand")
    starts = [e.start for e in trace.events if e.worker == 0 and e.kind == "compute"]
    assert len(starts) > 1
    assert trace.plot() is not None


@pytest.mark.few(2)
@pytest.mark.parametrize("order", ["plan", "demand"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_tasks(order, count):
    assert hs.map_tasks(square, range(count), 3, order=order) == [x * x for x in range(count)]


def shares(trace):
    counts = [0] * len(trace.workers)
    for event in trace.events:
        if event.kind == "compute":
            counts[event.worker] += int(event.what.split()[0])
    return counts


def test_the_plan_is_followed():
    found, trace = hs.map_tasks(who, range(40), 3, cycle_times=[1, 3, np.inf], trace=True)
    assert shares(trace) == hs.distribute(40, [1, 3]).counts.tolist() + [0]
    assert len(set(found[:30])) == 2  # both work from the start
    plan = hs.min_time(40, [1.0, 3.0], send=2)
    assert (
        shares(hs.map_tasks(who, range(40), 2, cycle_times=[1, 3], send=2, trace=True)[1])
        == plan.counts.tolist()
    )
    platform = hs.Platform.star([1, 4], names=["near", "far"])
    _, trace = hs.map_tasks(who, range(50), platform, trace=True)
    assert trace.workers == ("near", "far")
    assert trace.predicted is None  # the platform's times are not seconds per task
    assert shares(trace) == [40, 10]
    with hs.Pool(platform) as pool:
        found, trace = pool.map_tasks(square, range(50), trace=True)
    assert found == [x * x for x in range(50)]
    assert shares(trace) == [40, 10]
    with hs.Pool(2) as pool:
        assert pool.map_tasks(square, [3], order="demand") == [9]


def test_pieces():
    assert farm._sizes(0) == []
    for count in (1, 15, 16, 17, 100):
        sizes = farm._sizes(count)
        assert sum(sizes) == count
        assert min(sizes) > 0
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("order", ["plan", "demand"])
def test_a_failing_task_is_named(order):
    with pytest.raises(hs.TaskError, match="task 7 failed: KeyError: 'seven'") as caught:
        hs.map_tasks(fails_at_seven, range(400), 2, order=order)  # in the middle of a piece
    assert caught.value.index == 7
    assert isinstance(caught.value.__cause__, KeyError)
    assert "fails_at_seven" in caught.value.__cause__.__notes__[0]  # where it was raised
    assert pickle.loads(pickle.dumps(caught.value)).index == 7


def exits_at_seven(x):
    if x == 7:
        sys.exit(0)
    return x


class Wordless(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def fails_without_words(x):
    if x == 7:
        raise Wordless
    return x


def gives_a_lambda(x):
    return (lambda: x) if x == 7 else x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (exits_at_seven, "task 7 failed: SystemExit"),
        (fails_without_words, "task 7 failed: Wordless"),
        (gives_a_lambda, "the tasks from [0-7] on, or their results, cannot be pickled"),
    ],
)
@pytest.mark.parametrize("order", ["plan", "demand"])
def test_tasks_that_end_the_worker_or_cannot_answer(function, words, order):
    with pytest.raises(hs.TaskError, match=words):
        hs.map_tasks(function, range(12), 2, order=order)


@pytest.mark.parametrize("order", ["plan", "demand"])
def test_a_worker_with_an_infinite_time_gets_no_task(order):
    found, trace = hs.map_tasks(abs, range(40), 2, order=order, cycle_times=[1, np.inf], trace=True)
    assert found == [*range(40)]
    assert not trace.total("compute")[1]


def test_failures_that_cannot_be_sent():
    # tblib, which Dask imports in another test, registers all exceptions as ones that can be sent
    copyreg.dispatch_table.pop(Stubborn, None)
    with pytest.raises(hs.TaskError, match="task 0 failed: RuntimeError: Stubborn: 5 unsendable"):
        hs.map_tasks(fails_stubbornly, [5], 1)
    with pytest.raises(RuntimeError, match="worker P0 died"):
        hs.map_tasks(dies, [5], 1)


SLEEPERS = """
import os, signal, sys, time
import hetsched as hs

# SIGINT is ignored if a shell started pytest in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

def sleep(path):
    with open(os.path.join(path, str(os.getpid())), "w"):
        pass
    time.sleep(60)

if __name__ == "__main__":
    hs.map_tasks(sleep, [sys.argv[1]] * 2, 3, start_method=sys.argv[2], order=sys.argv[3])
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.few(1)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize(
    ("method", "order", "kill"),
    [("fork", "plan", "SIGINT"), ("spawn", "demand", "SIGINT"), ("fork", "demand", "SIGKILL")],
)
def test_no_process_is_left_behind(method, order, kill, tmp_path):
    script = tmp_path / "sleepers.py"
    script.write_text(SLEEPERS)
    (tmp_path / "pids").mkdir()
    command = [sys.executable, str(script), str(tmp_path / "pids"), method, order]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            deadline = time.monotonic() + 60
            while len(pids := os.listdir(tmp_path / "pids")) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert len(pids) == 2
            if kill == "SIGINT":
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
            else:
                process.kill()
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode in (-signal.SIGINT, 1, -signal.SIGKILL)
    if kill == "SIGINT":
        assert errors.decode().strip().endswith("KeyboardInterrupt")
        # the workers, of which one has nothing to do, say nothing
        assert errors.decode().count("Traceback") == 1
        assert "sleepers.py" in errors.decode()
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in pids)


def test_threads_and_children_end():
    before = threading.active_count()
    hs.map_tasks(square, range(10), 2)
    assert threading.active_count() == before


def test_the_example_runs(monkeypatch, capsys):
    path = ROOT / "examples" / "monte_carlo.py"
    spec = importlib.util.spec_from_file_location("monte_carlo", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "monte_carlo", module)
    spec.loader.exec_module(module)
    module.main(40, 5000)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(abs(float(re.search(r"pi = (\S+)", line)[1]) - np.pi) < 0.03 for line in lines[1:])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: hs.map_tasks(lambda x: x, [1], 1),
            TypeError,
            "function must be picklable, so no lambda",
        ),
        (lambda: hs.map_tasks(3, [1], 1), TypeError, "function must be callable: .*, got 3"),
        (lambda: hs.map_tasks(square, [1], 0), ValueError, "workers must be in"),
        (
            lambda: hs.map_tasks(square, [1], 2, order="x"),
            ValueError,
            "order must be one of plan, demand, got 'x'",
        ),
        (
            lambda: hs.map_tasks(square, [1], 2, cycle_times=[1]),
            ValueError,
            "cycle_times must have 2 entries",
        ),
        (lambda: hs.map_tasks(square, [1], 2, send=-1), ValueError, "send must be at least 0"),
        (
            lambda: hs.map_tasks(square, [1], 2, start_method="x"),
            ValueError,
            "start_method must be one of",
        ),
        (
            lambda: hs.map_tasks(square, [1], 2, progress=3),
            TypeError,
            "progress must be a function",
        ),
        (
            lambda: hs.map_tasks(square, [1], hs.Platform.star([1]), cycle_times=[1]),
            TypeError,
            "not both",
        ),
        (
            lambda: hs.Pool(hs.Platform.star([1e3]), emulate=True).map_tasks(square, [1]),
            ValueError,
            "use a Pool without emulate=True",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
