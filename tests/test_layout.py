"""Arrows between folders point down only: imports of the package, `#include` lines of the engine."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Folders of csrc on their floors, from the ground up: each may include what is on floors below, and itself.
FLOORS = (
    {"include"},
    {"core"},
    {"allocate", "assign", "partition", "ring", "star", "layers", "kernel"},
    {"threads"},
    {"run"},
)
FLOOR = {folder: number for number, folders in enumerate(FLOORS) for folder in folders}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def includes():
    """(file, folder, what it includes) of the engine, without its tests."""
    for path in sorted((ROOT / "csrc").rglob("*.[ch]")):
        file = path.relative_to(ROOT / "csrc")
        if file.parts[0] not in ("tests", "fuzz"):
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                yield file, file.parts[0], name


def test_every_folder_has_a_floor():
    folders = {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()} - {"tests", "fuzz"}
    assert folders == set(FLOOR)


def test_includes_point_down():
    wrong = []
    for file, folder, name in includes():
        target = "include" if name.startswith("hetsched") else name.split("/")[0]
        same = target == folder
        below = target in FLOOR and FLOOR[target] < FLOOR[folder]
        if not same and not below:
            wrong.append(f"{file} includes {name}")
        if target != "include":
            assert (ROOT / "csrc" / name).is_file(), f"{file}: {name} is not written from csrc on"
    assert not wrong


def test_headers_include_each_other_without_circles():
    graph: dict[str, set[str]] = {}
    for file, _, name in includes():
        if file.suffix == ".h":
            graph.setdefault(str(file), set()).add(f"include/{name}" if name.startswith("hetsched") else name)
    done: set[str] = set()

    def visit(name, above):
        assert name not in above, " -> ".join([*above, name])
        for other in graph.get(name, ()):
            if other not in done:
                visit(other, (*above, name))
        done.add(name)

    for name in graph:
        visit(name, ())


def test_there_are_includes_to_look_at():
    found = list(includes())
    assert len(found) > 50
    assert {folder for _, folder, _ in found} == set(FLOOR)


def test_imports_point_down():
    """The contracts in pyproject.toml."""
    done = subprocess.run([Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def modules():
    """(file, its folder in hetsched) of the package."""
    for path in sorted((ROOT / "hetsched").rglob("*.py")):
        yield path, path.relative_to(ROOT / "hetsched").parts[0]


def test_private_names_stay_in_their_folder():
    """No module imports `_names` of another folder; the engine is `_engine`, what all stand on `_base`."""
    wrong = []
    for path, folder in modules():
        depth = len(path.relative_to(ROOT / "hetsched").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                inside = node.level < depth or (folder == "_engine" and node.level == 1)
                names = [alias.name for alias in node.names if alias.name.startswith("_") and not alias.name.startswith("__")]
                wrong += [f"{path.name} takes {name}" for name in names if not inside and name != "_engine"]
    assert not wrong


def test_only_the_engine_touches_the_ffi():
    for path, folder in modules():
        if folder != "_engine":
            assert not re.search(r"\bffi\b|\blib\.hs_|import cffi|_hetsched", path.read_text(encoding="utf-8")), path


def test_live_threads_of_pools_stay_in_runners():
    for path, folder in modules():
        if folder != "runners":
            assert not re.search(r"\bpool\._|\bPool\._", path.read_text(encoding="utf-8")), path
