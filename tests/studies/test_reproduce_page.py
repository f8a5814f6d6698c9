"""The papers on one page, and their claims as JSON and CSV."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser

import pytest

from hetsched.cli import main as cli
from hetsched.cli import reproduce
from hetsched.studies.claims import Claim, Study, items
from hetsched.studies.page import Part, html, to_csv, to_json

CLAIMS = [
    Claim("Figure 1: a < b", "1", "1"),
    Claim("Figure 1: c", "2", "3", "it is odd"),
    Claim("Table 2: d", "2", "3", "a misprint", corrected=("3", "3")),
    Claim("Figure 1: ours alone", "", "7"),
    Claim("said", "yes", "yes", within="always", holds=True),
]


class Small(Study):
    def tables(self):
        return "first line\n<not a tag> & more"

    def claims(self):
        return CLAIMS

    def plot(self, figure=None, *, width=None):
        figure.add_subplot().set_title("drawn")
        return figure


PARTS = [Part("small", "A paper & its title", Small()), Part("again", "Another", Small())]


class Balanced(HTMLParser):
    """Fails where tags are not closed in the order in which they were opened."""

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_items_follow_from_the_claims():
    figure, table, text = items(CLAIMS)
    assert (figure.name, figure.met, figure.corrected, figure.missed) == ("Figure 1", 1, 0, 1)
    assert (figure.verdict, figure.reasons) == ("1 of 2 not reproduced", ("it is odd",))
    assert (table.name, table.verdict, table.reasons) == (
        "Table 2",
        "reproduced after a correction",
        ("a misprint",),
    )
    assert (text.name, text.verdict, text.reasons) == ("in the text", "reproduced", ())


def test_page():
    pytest.importorskip("matplotlib").use("Agg")
    page = html(PARTS)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    for text in (
        "A paper & its title",
        "Figure 1: a < b",
        "drawn",
        "not met",
        "4 claims: 2 met, 1 met",
    ):
        assert any(text in found for found in parser.texts), text
    assert page.count("<svg") == 2
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/", "")


def test_json_and_csv():
    content = json.loads(to_json(PARTS))
    assert [study["paper"] for study in content["studies"]] == ["small", "again"]
    first = content["studies"][0]
    assert [claim["verdict"] for claim in first["claims"]] == [
        "met",
        "not met",
        "met after the correction",
        "",
        "met",
    ]
    assert [item["verdict"] for item in first["items"]] == [
        "1 of 2 not reproduced", "reproduced after a correction", "reproduced",
    ]  # fmt: skip
    rows = list(csv.reader(to_csv(PARTS).splitlines()))
    assert rows[0] == ["study", "what", "paper", "here", "within", "verdict", "why"]
    assert len(rows) == 1 + 2 * len(CLAIMS)
    assert rows[2] == ["small", "Figure 1: c", "2", "3", "as printed", "not met", "it is odd"]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr("hetsched.studies.ring2003.reproduce_rings", Small, raising=True)
    monkeypatch.setattr("hetsched.studies.static2001.reproduce_static2001", Small, raising=True)


def test_commands(small, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    for name, start in (("p.html", "<!DOCTYPE html>"), ("p.json", "{"), ("p.csv", "study,")):
        assert (
            cli.main(["reproduce", "rings", "static2001", "rings", "-o", str(tmp_path / name)]) == 0
        )
        assert (tmp_path / name).read_text().startswith(start)
        assert capsys.readouterr().out.count("first line") == 2
    assert cli.main(["reproduce", "rings", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "rings,Figure 1: a < b,1,1,as printed,met,"
    assert cli.main(["reproduce", "rings", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["studies"]) == 1
    assert cli.main(["reproduce", "rings", "-o", str(tmp_path / "no" / "p.html")]) == 1
    assert "there is no folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["reproduce"])
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "rings", "--csv", "--json"])


def test_all_are_the_four_papers(monkeypatch):
    made = []
    monkeypatch.setattr(
        "hetsched.cli.reproduce.import_module", lambda name: made.append(name) or Everything()
    )

    class Everything:
        def __getattr__(self, name):
            return Small

    names = [part.paper for part in reproduce._parts(["all"])]
    assert names == ["static2001", "rings", "ppopp2008", "layers-star", "layers-mesh"]
    assert len(made) == 5
