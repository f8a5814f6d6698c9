"""The script of docs/scale.md: what it says of few workers, by brute force, and that the page is
what it writes."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scale():
    spec = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks" / "scale.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_levels(scale):
    """Two groups of two: the groups' zones, and the workers' in them, have the areas and perimeters
    that they should."""
    found = scale.two_levels(4, 2)
    own = scale.speeds(4)
    assert found["flat"] == pytest.approx(hs.partition(own, "columns").cost)
    first = (own[0] + own[1]) / own.sum()
    assert found["between"] == pytest.approx(3.0)  # two slices of a square
    inner = []
    for share, pair in ((first, own[:2]), (1 - first, own[2:])):
        sides = (
            (1.0, share)
            if hs.partition([first, 1 - first], "columns").rects[0, 2] == 1.0
            else (share, 1.0)
        )
        cut = hs.partition(pair, "columns").rects[:, 2:]
        inner.append(sum(h * sides[0] + w * sides[1] for h, w in cut.tolist()))
    assert found["levels"] == pytest.approx(sum(inner))
    assert found["levels"] >= found["bound"]


@pytest.mark.slow
def test_master(scale):
    """The port of a master is busy for as long as its messages take, and no plan uses more than all
    speeds."""
    text, verdict = scale.master((2, 4), (100,), 8)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]
    for row, p in zip(rows, (2, 4), strict=True):
        assert row[:3] == ["100", str(p), "8"]
        ideal = 8**3 * 2.0 * 1000**3 / scale.speeds(p).sum()
        assert float(row[5][:-1]) / 100 == pytest.approx(ideal / float(row[3]), abs=0.01)
        assert 0 < float(row[4][:-1]) <= 100
    assert "with 100 blocks" in verdict


def test_lu(scale):
    """Of two workers and three columns, counted by hand: the first updates two columns, the second
    one."""
    text, _ = scale.lu((2,), (3,))
    s = np.sort(scale.speeds(2))[::-1]
    cost = min(max(1 / s[1], 1 / s[0]), 2 / s[0]) + 1 / s[0]
    assert text.splitlines()[-1].split("|")[4].strip() == f"{3 / s.sum() / cost:.0%}"


def test_the_page_has_what_the_script_writes():
    page = (ROOT / "docs" / "scale.md").read_text()
    for name in ("master", "zones", "lu", "planning"):
        text = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", page, re.S)[1]
        assert text.startswith("| ")
        assert text.count("\n") >= 4
