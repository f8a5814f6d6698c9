"""Studies of the papers on one HTML page, and their claims as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from .._base.version import __version__
from .claims import CORRECTED, MET, NOT_MET, Claim, Study, items

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222;
  max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1rem; }
h3 { font-size: 1.05rem; }
table { border-collapse: collapse; font-size: .9rem; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem;
  border-bottom: 1px solid #ddd; }
pre { background: #f5f5f5; padding: .8rem; overflow-x: auto; font-size: .8rem; }
figure { margin: 1.5rem 0; }
svg { max-width: 100%; height: auto; }
.good::before { content: "\\2713 "; color: #007a4d; }
.better::before { content: "\\2248 "; color: #8a6100; }
.bad::before { content: "\\2717 "; color: #b02020; }
"""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style></head><body>
<h1>{title}</h1>
<p>Computed by hetsched {version}. Each verdict follows from the two numbers on its left and their
tolerance.</p>
{body}
</body></html>
"""
_MARKS = {MET: "good", CORRECTED: "better", NOT_MET: "bad"}


class Part(NamedTuple):
    """A study and the name of its paper."""

    paper: str
    title: str
    study: Study


def html(parts: Sequence[Part]) -> str:
    """A self-contained page: the verdicts by figure, claims, plots and tables of each study."""
    body = "\n".join(map(_section, parts))
    return _PAGE.format(
        title="The papers' numbers, computed again",
        style=_STYLE,
        version=escape(__version__),
        body=body,
    )


def _section(part: Part) -> str:
    study, claims = part.study, part.study.claims()
    rows = [
        (item.name, item.met, item.corrected, item.missed, item.verdict, "; ".join(item.reasons))
        for item in items(claims)
    ]
    marks = ["bad" if row[3] else "better" if row[2] else "good" for row in rows]
    counts = _table(
        (study.heading.partition(":")[0], "met", "after a correction", "not met", "verdict", "why"),
        rows,
        4,
        marks,
    )
    heads = (study.heading, "paper", "here", "within", "verdict", "")
    every = _table(
        heads,
        [claim.row for claim in claims],
        4,
        [_MARKS.get(claim.verdict, "") for claim in claims],
    )
    tables = study.tables()
    first = tables.strip().splitlines()[0]
    return "\n".join(
        (
            f'<h2 id="{escape(part.paper)}">{escape(part.title)}</h2>',
            f"<p>{escape(study.counted())}</p>",
            counts,
            "<h3>All claims</h3>",
            every,
            "<h3>Figures</h3>",
            f"<figure>{_picture(study)}</figure>",
            "<h3>Tables</h3>",
            f"<details><summary>{escape(first)} ...</summary><pre>{escape(tables)}</pre></details>",
        )
    )


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], marked: int, marks: Sequence[str]
) -> str:
    """An HTML table in which one cell of each row, in column `marked`, has a mark."""
    lines = ["<tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr>"]
    for row, mark in zip(rows, marks, strict=True):
        cells = [f"<td>{escape(str(cell))}</td>" for cell in row]
        if mark:
            cells[marked] = cells[marked].replace("<td>", f'<td class="{mark}">', 1)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "<table>" + "\n".join(lines) + "</table>"


def _picture(study: Study) -> str:
    """The figures of a study as one <svg>; empty without matplotlib."""
    from ..plots.canvas import figure_svg

    def draw(ax: Any) -> None:
        figure = ax.figure
        ax.remove()
        study.plot(figure)

    return figure_svg(draw)


def _claim(claim: Claim) -> dict[str, Any]:
    names = ("what", "paper", "here", "within", "verdict", "why")
    return dict(zip(names, claim.row, strict=True))


def to_json(parts: Sequence[Part]) -> str:
    """{"hetsched": version, "studies": [{"paper", "title", "items", "claims"}]}."""
    studies = []
    for part in parts:
        claims = part.study.claims()
        found = [
            {**item._asdict(), "reasons": list(item.reasons), "verdict": item.verdict}
            for item in items(claims)
        ]
        studies.append(
            {
                "paper": part.paper,
                "title": part.title,
                "items": found,
                "claims": [_claim(claim) for claim in claims],
            }
        )
    return json.dumps({"hetsched": __version__, "studies": studies}, indent=1)


def to_csv(parts: Sequence[Part]) -> str:
    """A line for each claim."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("study", "what", "paper", "here", "within", "verdict", "why"))
    for part in parts:
        writer.writerows((part.paper, *claim.row) for claim in part.study.claims())
    return out.getvalue()
