"""What the documentation shows is what happens: examples, printed results, command lines."""

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.cli import main as cli

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(
        path
        for folder in ("docs", "docs/api", "docs/guide")
        for path in sorted((ROOT / folder).glob("*.md"))
    ),
]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.M | re.S)
SHOWN = re.compile(r"# -> (.*)$", re.M)  # what a print of the block must say
# the one runs in the build only, the other the command
NOT_IMPORTED = {"hetsched._engine.emit_wrapper", "hetsched.__main__"}


@pytest.fixture(autouse=True)
def _without_windows(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    importlib.import_module("matplotlib.pyplot").close("all")


INCLUDED = re.compile(r"^```\{include\} (\S+)\n((?::.*\n)*)", re.M)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_includes_is_there(path):
    """The texts where the included part starts and ends, in this order."""
    for name, options in INCLUDED.findall(path.read_text(encoding="utf-8")):
        included = (path.parent / name).read_text(encoding="utf-8")
        place = 0
        for marker in re.findall(r'^:(?:start-after|end-before): "(.*)"$', options, re.M):
            place = included.find(marker, place)
            assert place >= 0, f"{name} has no {marker!r}"


#: The papers' figures and studies, and the bounds beside them.
LONG = (
    "docs/theory.md",
    "docs/reproduction-2001.md",
    "docs/reproduction-mesh.md",
    "docs/guide/zones.md",
)


def page(path):
    """A page of which the examples take one or two seconds is slow."""
    name = str(path.relative_to(ROOT))
    marks = [pytest.mark.slow] if name in LONG else []
    return pytest.param(path, id=name, marks=marks)


@pytest.mark.parametrize("path", [page(path) for path in PAGES])
def test_page(path, tmp_path, monkeypatch, capsys):
    """Python blocks run in order in one namespace; `hetsched` lines of sh blocks succeed; printed
    results are as shown."""
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": path.stem}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(2))
        language, source = block.groups()
        if language == "sh":
            for command in source.splitlines():
                if command.startswith("hetsched "):
                    assert cli.main(shlex.split(command, comments=True)[1:]) == 0, command
            continue
        capsys.readouterr()
        # tracebacks give the line of the page
        exec(compile("\n" * line + source, str(path), "exec"), namespace)
        if shown := SHOWN.findall(source):
            assert capsys.readouterr().out.splitlines() == shown, f"{path.name}, line {line}"


def modules():
    found = [module.name for module in pkgutil.walk_packages(hs.__path__, "hetsched.")]
    return [
        "hetsched",
        *(name for name in found if name not in NOT_IMPORTED and "._hetsched" not in name),
    ]


@pytest.mark.parametrize("name", modules())
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_docstring_examples():
    finder = doctest.DocTestFinder()
    assert (
        sum(
            len(test.examples)
            for name in modules()
            for test in finder.find(importlib.import_module(name))
        )
        >= 10
    )


def test_security_names_tests_that_exist():
    """Each promise has one, and so has each file that it names."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|csrc)/[\w./]+)((?:::\w+)*)`", text)
    assert len(named) > 30
    for file, within in named:
        assert (ROOT / file).exists(), file
        names = within.split("::")[1:]
        body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body if names else []
        for name in names:
            found = [
                node
                for node in body
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
            ]
            assert found, f"{file} has no {'::'.join(names)}"
            body = found[0].body


def test_files_that_contributors_are_sent_to_exist():
    text = (ROOT / "docs" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/.])(?:benchmarks|csrc|docs|hetsched|tests|tools)/[\w./-]*\w", text)
    assert len(set(named)) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []
