"""docs/theory.md on the papers' theorems: the tests that it names are there; and a proposition that
no other test checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs

TESTS = Path(__file__).parents[1]
TABLE = (
    (TESTS.parent / "docs" / "theory.md")
    .read_text(encoding="utf-8")
    .partition("## The papers' theorems")[2]
    .partition("\n## ")[0]
)


def named():
    """(file, class or test, test of the class) of every test in the table; "::x" is of the file
    named before it."""
    found = []
    for file, names in re.findall(r"`(test_\w+\.py)?((?:::\w+)*)`", TABLE):
        if file or names.startswith("::"):
            found.append((file or found[-1][0], [name for name in names.split("::") if name]))
    return found


def test_the_table_names_tests_that_are_there():
    assert len(named()) >= 18
    for file, names in named():
        text = next(TESTS.rglob(file)).read_text(encoding="utf-8")
        for name in names:
            assert re.search(rf"^\s*(?:def|class) {name}\b", text, re.MULTILINE), (file, name)


@given(
    st.lists(st.floats(0.2, 5), min_size=1, max_size=7),
    st.floats(0.01, 5),
    st.floats(0.1, 50),
    st.floats(0.01, 5),
)
def test_equal_links(times, link, work, volume):
    """2003 paper, proposition 1: the fastest alone, or all: min(W min w, W / sum(1 / w) + 2 H
    c)."""
    alone = work * min(times)
    together = work / sum(1 / w for w in times) + 2 * volume * link if len(times) > 1 else alone
    plan = hs.slice_ring(times, [[link] * len(times) for _ in times], work, volume)
    assert plan.makespan == pytest.approx(min(alone, together), rel=1e-12)
