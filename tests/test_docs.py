"""What the documentation shows is what happens: examples, printed results, signatures, command lines."""

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.cli import main as cli
from hetsched.plan import Plan

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.M | re.S)
SHOWN = re.compile(r"# -> (.*)$", re.M)  # what a print of the block must say
PLANS = [name for name in hs.__all__ if inspect.isclass(kind := getattr(hs, name)) and issubclass(kind, Plan)]
NOT_IMPORTED = {"hetsched._engine.emit_wrapper", "hetsched.__main__"}  # the one runs in the build only, the other the command


@pytest.fixture(autouse=True)
def _without_windows(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    importlib.import_module("matplotlib.pyplot").close("all")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page(path, tmp_path, monkeypatch, capsys):
    """Python blocks run in order in one namespace; `hetsched` lines of sh blocks succeed; printed results are as shown."""
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
        exec(compile("\n" * line + source, str(path), "exec"), namespace)  # tracebacks give the line of the page
        if shown := SHOWN.findall(source):
            assert capsys.readouterr().out.splitlines() == shown, f"{path.name}, line {line}"


def modules():
    found = [module.name for module in pkgutil.walk_packages(hs.__path__, "hetsched.")]
    return ["hetsched", *(name for name in found if name not in NOT_IMPORTED and "._hetsched" not in name)]


@pytest.mark.parametrize("name", modules())
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_docstring_examples():
    finder = doctest.DocTestFinder()
    assert sum(len(test.examples) for name in modules() for test in finder.find(importlib.import_module(name))) >= 10


class TestReference:
    """docs/api.md lists everything public, with the true signatures."""

    TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    CALLS = re.findall(r"^\| `hs\.([\w.]+)(\(.*?\))` \|", TEXT, re.M)

    def test_tables_are_whole(self):
        """A line break in a row, or one | too many, ends a table half way."""
        for table in re.findall(r"(?:^\|.*\n)+", self.TEXT, re.M):
            rows = table.splitlines()
            columns = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
            assert set(columns) == {columns[0]}, rows[0]
            assert re.fullmatch(r"\|(---\|)+", rows[1]), rows[0]
            assert all(row.endswith("|") for row in rows)

    @pytest.mark.parametrize("name", hs.__all__)
    def test_public_name(self, name):
        assert re.search(rf"`hs\.{name}\b", self.TEXT)

    @pytest.mark.parametrize(("name", "given"), CALLS, ids=[name for name, _ in CALLS])
    def test_signature(self, name, given):
        target = hs
        for part in name.split("."):
            owner, target = target, getattr(target, part)
        signature = inspect.signature(target)
        parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        if inspect.isclass(owner) and inspect.isfunction(target):
            parameters = parameters[1:]  # self
        true = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
        assert given == re.sub(r"<class '(.*?)'>", r"\1", true)

    @pytest.mark.parametrize(
        "name",
        [
            "AtOnce",
            "Cache",
            "Cpu",
            "MeasuredPlatform",
            "Platform",
            "Pool",
            "SpeedProfile",
            "Stencil",
            "Topology",
            "Trace",
            "Worker",
            *PLANS,
        ],
    )
    def test_members(self, name):
        """Every public method, property and field of a class is named on the page."""
        kind = getattr(hs, name)
        members = {m for m in (*dir(kind), *getattr(kind, "__dataclass_fields__", ())) if not m.startswith("_")}
        assert {m for m in members if not re.search(rf"[`.]{m}\b", self.TEXT)} == set()
