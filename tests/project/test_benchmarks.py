"""bench_citizen.py: its smallest run, what counts as a failure, how its figures are computed."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import dropin_calls
import pytest

import hetsched as hs

dropin_calls.skip_without_library()
pytest.importorskip("sklearn")
pytest.importorskip("joblib")

PLACE = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(PLACE))

from bench_citizen import Cell, Process, control_text, measure, quota, summary, verdict  # noqa: E402

# A program that is measured in one second, by its own account.
MEASURED = "print('ready', flush=True); input(); print(1.0, flush=True)"
HANGS = "import time; time.sleep(600)"


def command(code):
    return [sys.executable, "-c", code], dict(os.environ)


@pytest.mark.slow
def test_smallest_run(tmp_path):
    file = tmp_path / "found.json"
    done = subprocess.run(
        [
            sys.executable,
            PLACE / "bench_citizen.py",
            *("--programs", "tiny_eigh", "--situations", "idle"),
            *("--rounds", "1", "--seconds", "0.001", "--control", "--json", file),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    (cell,) = found["cells"]
    assert (cell["program"], cell["situation"], cell["failed"]) == ("tiny_eigh", "idle", {})
    assert {"default", "1 thread", "exec", "1 thread, again"} <= set(cell["seconds"])
    assert all(len(own) == 1 and own[0] > 0 for own in cell["seconds"].values())
    ratio = cell["seconds"][cell["best static"]][0] / cell["seconds"]["exec"][0]
    assert cell["ratio"] == pytest.approx(ratio)
    assert found["machine"][0] in done.stdout
    assert "all: geometric mean" in done.stdout
    assert "the best static choice beside itself: geometric mean" in done.stdout


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        (HANGS, "hung"),
        (f"print('ready', flush=True); input(); {HANGS}", "hung"),
        (f"{MEASURED}; {HANGS}", "hung"),  # at its end
        ("raise SystemExit(1)", "failed"),
        ("print('ready', flush=True); input(); raise SystemExit(1)", "failed"),
        (f"{MEASURED}; raise SystemExit(1)", "failed"),
    ],
)
def test_failures(code, failed):
    """A choice that fails is not run again, and has no ratio."""
    limit = 0.5 if failed == "hung" else 60.0
    cell = Cell("program", "situation", ["default"])
    measure(cell, {"default": command(code)}, rounds=3, limit=limit)
    assert cell.failed == {"default": failed}
    assert cell.best == ""
    assert math.isnan(cell.ratio(cell.best))


def test_hung_process_is_killed_with_those_that_it_started():
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {HANGS!r}])\n"
        f"print(child.pid, flush=True); {HANGS}"
    )
    process = Process(*command(code), limit=60.0)
    child = int(process.next_line())
    process.close()
    until = time.monotonic() + 60
    while running(child):
        assert time.monotonic() < until
        time.sleep(0.01)


def running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_choices_take_turns(tmp_path):
    """All are ready before the first one begins, and each ends before the next one begins."""
    log = tmp_path / "log"
    code = (
        "def say(*words): print(*words, file=open({log!r}, 'a'))\n"
        "say('ready'); print('ready', flush=True); input(); say({name!r})\n"
        "print(1.0, flush=True); say('end')"
    )
    commands = {name: command(code.format(log=str(log), name=name)) for name in "ab"}
    cell = Cell("program", "situation", ["a"])
    measure(cell, commands, rounds=2, limit=60.0)
    assert log.read_text().split() == ["ready", "ready", "a", "end", "b", "end"] * 2
    assert cell.seconds == {"a": [1.0, 1.0], "b": [1.0, 1.0]}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("seconds", "rounds"),
    [
        ([1.0, 1.0, 9.0, 9.0, 9.0, 9.0], 2),  # not below
        ([9.0, 1.0, 1.0, 1.0, 9.0, 9.0], 3),  # until it is not below
        ([9.0, 9.0, 9.0, 9.0, 9.0, 1.0], 5),  # never more than the most
    ],
)
def test_more_rounds_for_low_ratios(tmp_path, seconds, rounds):
    count = tmp_path / "count"
    count.write_text("0")
    code = (
        "from pathlib import Path\n"
        f"count = Path({str(count)!r}); done = int(count.read_text())\n"
        "print('ready', flush=True); input()\n"
        f"print({seconds}[done], flush=True); count.write_text(str(done + 1))"
    )
    commands = {"default": command(MEASURED), "exec": command(code)}
    cell = Cell("p", "idle", ["default"])
    measure(cell, commands, rounds=2, limit=60.0, most_rounds=5)
    assert cell.seconds["exec"] == seconds[:rounds]
    assert len(cell.seconds["default"]) == rounds


def test_quota_holds_for_the_command_only():
    code = "import hetsched as hs; print(hs.topology().quota)"
    own = hs.topology().quota
    try:
        with quota(0.5) as limited:
            words, environment = command(code)
            done = subprocess.run(
                [*limited, *words], env=environment, capture_output=True, text=True, check=True
            )
    except OSError as error:
        pytest.skip(f"no quota can be set here: {error}")
    assert float(done.stdout) <= 0.5
    assert hs.topology().quota == own
    assert not list(Path("/sys/fs/cgroup").glob(f"**/hetsched-benchmark-{os.getpid()}"))


def test_ratio_is_of_neighbours():
    """The machine became slower from round to round: ratios within rounds do not see it."""
    cell = Cell("p", "idle", ["default", "1 thread"])
    cell.seconds = {
        "default": [2.0, 30.0, 400.0],
        "1 thread": [3.0, 24.0, 500.0],
        "exec": [1.0, 20.0, 100.0],
    }
    assert cell.best == "1 thread"
    assert cell.ratio(cell.best) == 3.0
    assert cell.ratio("default") == 2.0


def test_control():
    """The best choice beside its own second process; cells without one do not count."""
    cells = [Cell("p", "idle", ["default", "1 thread"]) for _ in range(3)]
    for cell, second in zip(cells[:2], ([1.0, 2.5], [4.0, 5.0]), strict=True):
        cell.seconds = {
            "default": [2.0, 2.0],
            "1 thread": [9.0, 9.0],
            "exec": [1.0, 1.0],
            "default, again": second,
            "1 thread, again": [1.0, 1.0],
        }
    cells[2].seconds = {"default": [2.0], "1 thread": [3.0], "exec": [1.0]}
    assert cells[0].control == (2.0 + 0.8) / 2
    assert math.isnan(cells[2].control)
    assert control_text(cells) == "geometric mean 0.79, worst 0.45 (p, idle), 1 of 2 below 0.9"
    assert control_text(cells[2:]) == ""


@pytest.mark.parametrize(
    ("ratios", "met"),
    [([1.0], True), ([1.2, 0.9], True), ([2.0, 0.89], False), ([1.05, 0.91], False), ([], False)],
)
def test_verdict(ratios, met):
    cells = [Cell(f"p{i}", "idle", ["default"]) for i in range(len(ratios))]
    for cell, ratio in zip(cells, ratios, strict=True):
        cell.seconds = {"default": [ratio], "exec": [1.0]}
    assert verdict(cells).endswith("met" if met else "missed")
    if ratios:
        mean, worst, where = summary(cells)
        assert mean == pytest.approx(math.prod(ratios) ** (1 / len(ratios)))
        assert (worst, where) == (min(ratios), f"p{ratios.index(min(ratios))}, idle")


def test_failure_under_hetsched_misses_the_goal():
    good, bad = Cell("good", "idle", ["default"]), Cell("bad", "idle", ["default"])
    good.seconds = {"default": [2.0], "exec": [1.0]}
    bad.seconds = {"default": [2.0]}
    bad.failed = {"exec": "hung"}
    assert bad.ratio_text(bad.best) == "hung"
    assert verdict([good, bad]).endswith(
        "1 failed under hetsched exec: the goal (mean 1.0, worst 0.9) is missed"
    )
