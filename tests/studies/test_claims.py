"""hetsched.studies.claims: verdicts of numbers and statements, and the pages that show them."""

from __future__ import annotations

import pytest
from pages import DOCS

from hetsched.studies.claims import CORRECTED, MET, NOT_MET, Claim, counted, numbers


@pytest.mark.parametrize(
    ("paper", "here", "options", "verdict"),
    [
        ("40 24 14", "40 24 14", {}, MET),
        ("40 24 14", "40 24 15", {}, NOT_MET),
        ("40 24 14", "40 24", {}, NOT_MET),
        ("9%", "9.0%", {}, MET),
        ("2000 to 3500 s", "2100 to 3400 s", {"within": 0.05}, MET),
        ("2000 to 3500 s", "2101 to 3400 s", {"within": 0.05}, NOT_MET),
        ("40%", "38% to 42%", {"within": 0.05}, MET),
        ("40%", "37% to 42%", {"within": 0.05}, NOT_MET),
        ("66.7% / 87.2%", "66.7 ± 1.2% / 86.7 ± 1.1%", {"within": 0.01}, MET),
        ("3", "3 ± 1e-5", {}, MET),
        ("8", "9", {"corrected": ("9", "9")}, CORRECTED),
        ("8", "9", {"corrected": ("8", "7")}, NOT_MET),
        ("far fewer", "3", {"within": "half", "holds": True}, MET),
        ("far fewer", "3", {"within": "half", "holds": False}, NOT_MET),
        ("0", "0", {"within": 0.1}, MET),
        ("0", "0.001", {"within": 0.1}, NOT_MET),
        ("3", "none", {}, NOT_MET),
        ("", "7", {}, ""),
    ],
)
def test_verdicts(paper, here, options, verdict):
    assert Claim("x", paper, here, **options).verdict == verdict


def test_what_is_shown():
    assert Claim("x", "1", "1.0", "y", 0.05).row == ("x", "1", "1.0", "5 %", "met", "y")
    assert Claim("x", "1", "2").row == ("x", "1", "2", "as printed", "not met", "")
    assert Claim("x", "", "2", "ours").row == ("x", "", "2", "", "", "ours")
    assert Claim("x", "few", "2", "", "3 at most", True).tolerance == "3 at most"


def test_a_statement_must_say_whether_it_holds():
    with pytest.raises(ValueError, match="x: a statement without a number needs `holds`"):
        _ = Claim("x", "few", "2").verdict


def test_counts_and_numbers():
    claims = [
        Claim("a", "1", "1"),
        Claim("b", "1", "2"),
        Claim("c", "", "2"),
        Claim("d", "1", "2", "e", 0.0, None, ("2", "2")),
    ]
    assert counted(claims) == "3 claims: 1 met, 1 met after the correction, 1 not met"
    assert numbers("-2.5 ± 0.1% / +1e-3, of 0.25 GB") == [-2.5, 1e-3, 0.25]


def rows_of(page):
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if "| paper | here | within | verdict |" in line)
    end = next(i for i, line in enumerate(lines) if i > start and not line.startswith("|"))
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[start + 2 : end]
    ], lines[end + 1]


@pytest.mark.parametrize(
    "page",
    sorted(
        path.name
        for path in DOCS.glob("reproduction-*.md")
        if "| verdict |" in path.read_text("utf-8")
    ),
)
def test_verdicts_of_the_pages(page):
    """Each follows from the row's own numbers and tolerance, and the count from the rows."""
    rows, count = rows_of(page)
    for what, paper, here, within, verdict, why in rows:
        assert verdict in (("",) if not paper else (MET, CORRECTED, NOT_MET))
        if verdict == CORRECTED:
            assert why
        elif paper and (
            within == "as printed" or (within.endswith(" %") and numbers(paper) and len(within) < 6)
        ):
            tolerance = 0.0 if within == "as printed" else float(within[:-2]) / 100
            assert Claim(what, paper, here, within=tolerance).verdict == verdict, what
    verdicts = [row[4] for row in rows]
    met, corrected, missed = (verdicts.count(each) for each in (MET, CORRECTED, NOT_MET))
    claims = met + corrected + missed
    assert (
        count
        == f"{claims} claims: {met} met, {corrected} met after the correction, {missed} not met."
    )
