"""Arrows between folders point down only: `#include` lines of the engine."""

import re
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
