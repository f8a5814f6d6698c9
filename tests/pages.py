"""What the pages of docs/ show of a study."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def in_the_page(study, page):
    """Each claim with its verdict, and how many have which, as the program says."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for claim in study.claims():
        assert "| " + " | ".join(claim.row) + " |" in text
    assert f"\n{study.counted()}.\n" in text
