"""hetsched.reproduce_static: the 2001 paper's printed numbers, and figures 7 and 10 as runs."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from pages import in_the_page

from hetsched import EmulationWarning
from hetsched.cli import main as cli
from hetsched.studies.claims import CORRECTED
from hetsched.studies.static2001 import SLICE, STEP, TIMES, reproduce_static2001

PAGE = Path(__file__).parents[2] / "docs" / "reproduction-2001.md"
DIFFERENT = {"8: average cost of 1 to 10 chunks", "17: horizontal slices"}


@pytest.fixture(scope="module")
def study():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmulationWarning)  # of a loaded machine
        return reproduce_static2001(0.3)


def test_claims(study):
    claims = study.claims()
    assert {claim.what for claim in claims if claim.verdict == CORRECTED} == DIFFERENT
    assert study.counted() == "40 claims: 38 met, 2 met after the correction, 0 not met"
    in_the_page(study, "reproduction-2001.md")
    assert PAGE.read_text(encoding="utf-8").count("\n| ") == len(claims) + 1 + 5


def test_runs(study):
    """A paced worker is never early: what is measured is not below the model."""
    assert list(study.figure7) == ["contiguous", "pattern"]
    assert list(study.figure10) == ["pattern", "cyclic"]
    blocks = {("contiguous"): (7, 24, 14), "pattern": (23, 14, 8)}
    for name, run in study.figure7.items():
        assert run.predicted == pytest.approx(0.3)
        assert run.measured >= run.predicted * (1 - 1e-9)
        for value, count, time in zip(run.updates[STEP - 1], blocks[name], TIMES, strict=True):
            assert value >= count * time * (1 - 1e-9)
    steps = {"pattern": [15, 15, 12, 10, 9, 8, 6, 5, 3], "cyclic": [24, 24, 16, 16, 16, 8, 8, 8, 3]}
    for name, run in study.figure10.items():
        assert len(run.updates) == SLICE
        for step, least in zip(run.updates, steps[name], strict=False):
            assert max(step) >= least * (1 - 1e-9)


def test_text(study):
    lines = str(study).splitlines()
    claims = next(i for i, line in enumerate(lines) if line.startswith("figure: number"))
    assert lines[claims].split() == ["figure:", "number", "paper", "here", "within", "verdict"]
    assert len(lines) == claims + 2 + len(study.claims())
    assert sum(line.startswith("  contiguous") for line in lines) == 1
    assert sum(line.startswith("  cyclic") for line in lines) == 1
    assert lines[claims - 5].startswith("  7, contiguous ")
    assert all("%" in line for line in lines[claims - 5 : claims - 1])


@pytest.mark.slow
def test_plot(study):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    left, right, tiles, *zones = study.plot().get_axes()
    assert len(tiles.patches) == 24
    assert [ax.get_title(loc="left").partition(":")[0] for ax in (tiles, *zones)] == [
        "5",
        "12",
        "13",
        "14",
        "15",
        "19",
    ]
    bars = [bar.get_height() for bar in left.patches]
    assert bars == [
        *study.figure7["contiguous"].updates[STEP - 1],
        *study.figure7["pattern"].updates[STEP - 1],
    ]
    assert list(right.get_lines()[1].get_ydata()) == [
        max(step) for step in study.figure10["cyclic"].updates[: SLICE - 1]
    ]
    assert study.plot(pyplot.figure()) is not None
    pyplot.close("all")


@pytest.mark.slow
def test_command(tmp_path, capsys, monkeypatch, study):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr("hetsched.studies.static2001.reproduce_static2001", lambda: study)
    assert cli.main(["reproduce", "static2001", "-o", str(tmp_path / "f.svg")]) == 0
    assert "Figure 7, measured" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "f.svg").read_text(encoding="utf-8")
