"""hetsched.studies.claims: verdicts of numbers and statements, and the pages that show them."""

from __future__ import annotations

import pytest

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
    claims = [Claim("a", "1", "1"), Claim("b", "1", "2"), Claim("c", "", "2"), Claim("d", "1", "2", "e", 0.0, None, ("2", "2"))]
    assert counted(claims) == "3 claims: 1 met, 1 met after the correction, 1 not met"
    assert numbers("-2.5 ± 0.1% / +1e-3, of 0.25 GB") == [-2.5, 1e-3, 0.25]
