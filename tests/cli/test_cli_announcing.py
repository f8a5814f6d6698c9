"""The first words of commands that take long."""

import threading

import pytest

from hetsched.cli import announcing, bench, demo, measure
from hetsched.cli import main as cli
from hetsched.studies import ring2003

#: Command -> what its first line has.
COMMANDS = {
    "bench": "timing products, solves and planners, 5 rounds of each",
    "demo": "running the demonstration, about half a minute",
    "reproduce rings": "reproducing rings: Slices on rings of workers",
    "measure": "measuring the speeds of the cores, about 1.5 s\n",
    "measure --seconds 2 --blocks": "and first block sizes, up to 40 s for each kind of core",
    "measure --blas": "timing each BLAS and LAPACK function, about a minute",
}


class AtOnce(threading.Timer):
    """A timer whose time has come when it is started."""

    def start(self):
        self.function(*self.args)


@pytest.fixture
def _begun(monkeypatch):
    """A second has passed when the work begins, and the work ends with an error."""

    def fail(*_, **__):
        raise OSError("the work has begun")

    monkeypatch.setattr(announcing.threading, "Timer", AtOnce)
    monkeypatch.setattr(measure, "library", lambda: None)
    for module, name in (
        (bench, "_cases"),
        (demo, "run_demo"),
        (ring2003, "reproduce_rings"),
        (measure.measuring, "measure"),
        (measure.least, "measured"),
    ):
        monkeypatch.setattr(module, name, fail)


@pytest.mark.usefixtures("_begun")
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_said(command, capsys):
    assert cli.main(command.split()) == 1
    said = capsys.readouterr()
    first, second = said.err.splitlines(keepends=True)
    assert said.out == ""
    assert first.startswith("hetsched: ")
    assert COMMANDS[command] in first
    assert second == "hetsched: the work has begun\n"


@pytest.mark.usefixtures("_begun")
@pytest.mark.parametrize("command", COMMANDS)
def test_quiet(command, capsys):
    assert cli.main([*command.split(), "-q"]) == 1
    assert capsys.readouterr() == ("", "hetsched: the work has begun\n")


def test_what_ends_within_a_second_says_nothing(monkeypatch, capsys):
    class Kept:
        def table(self):
            return "the speeds"

    monkeypatch.setattr(announcing, "_DELAY", 600.0)
    monkeypatch.setattr(measure.measuring, "measure", lambda **_: Kept())
    assert cli.main(["measure"]) == 0
    timers = [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
    assert all(one.finished.is_set() for one in timers)  # none says anything later
    assert capsys.readouterr() == ("the speeds\n", "")
