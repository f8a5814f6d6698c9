"""Arrows between folders point down only: imports of the package, `#include` lines of the
engine."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Folders of csrc on their floors, from the ground up: each may include what is on floors below,
#: and itself.
FLOORS = (
    {"include"},
    {"core"},
    {"allocate", "assign", "partition", "ring", "star", "layers", "schedule", "kernel"},
    {"threads"},
    {"run"},
    {"product", "stack", "sweep"},
    {"factor"},
    {"measure", "spectral"},
    {"blas"},
)
#: Folders of which one must not include the other, though it is on a floor below.
APART = {("factor", "product"), ("factor", "sweep")}
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
        below = target in FLOOR and FLOOR[target] < FLOOR[folder] and (folder, target) not in APART
        if not same and not below:
            wrong.append(f"{file} includes {name}")
        if target != "include":
            assert (ROOT / "csrc" / name).is_file(), f"{file}: {name} is not written from csrc on"
    assert not wrong


def test_headers_include_each_other_without_circles():
    graph: dict[str, set[str]] = {}
    for file, _, name in includes():
        if file.suffix == ".h":
            graph.setdefault(str(file), set()).add(
                f"include/{name}" if name.startswith("hetsched") else name
            )
    done: set[str] = set()

    def visit(name, above):
        assert name not in above, " -> ".join([*above, name])
        for other in graph.get(name, ()):
            if other not in done:
                visit(other, (*above, name))
        done.add(name)

    for name in graph:
        visit(name, ())


#: A function of the engine that other files can call, from the start of its definition to its body.
DEFINITION = re.compile(r"^(?!static|typedef|[#\s}/])[^;{}=]*?\b(hs_\w+)\([^;{}]*\)\s*\{", re.M)


def calls():
    """File -> files of the engine whose functions it names."""
    code = {
        path.relative_to(ROOT / "csrc"): re.sub(
            r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S
        )
        for path in sorted((ROOT / "csrc").rglob("*.c"))
        if path.parent.name not in ("tests", "fuzz")
    }
    owner = {name: file for file, text in code.items() for name in DEFINITION.findall(text)}
    assert len(owner) > 300
    return {
        file: {
            owner[name] for name in re.findall(r"\bhs_\w+", text) if owner.get(name, file) != file
        }
        for file, text in code.items()
    }


def test_files_call_each_other_without_circles():
    sorter = TopologicalSorter(calls())
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(map(str, error.args[1])))


def test_every_program_of_csrc_tests_is_built():
    """A merge had dropped one from the list."""
    lists = (ROOT / "csrc/tests/CMakeLists.txt").read_text(encoding="utf-8")
    sets = re.findall(r"^set\((?:threaded|single) ([^)]*)\)", lists, re.M)
    built = {name for names in sets for name in names.split()}
    built |= set(re.findall(r"add_executable\(test_(\w+) ", lists))
    programs = {path.stem.removeprefix("test_") for path in (ROOT / "csrc/tests").glob("test_*.c")}
    assert programs - built == set()
    assert len(programs) > 50


def test_there_are_includes_to_look_at():
    found = list(includes())
    assert len(found) > 50
    assert {folder for _, folder, _ in found} == set(FLOOR)


def test_imports_point_down():
    """The contracts in pyproject.toml."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def modules():
    """(file, its folder in hetsched) of the package."""
    for path in sorted((ROOT / "hetsched").rglob("*.py")):
        yield path, path.relative_to(ROOT / "hetsched").parts[0]


#: Private by their form only: of NamedTuples, of the standard library and of NumPy.
OTHERS = {"_replace", "_asdict", "_make", "_exit", "_mmap", "_getframe", "_register_atexit"}


def private(name):
    return name.startswith("_") and not name.startswith("__") and name not in OTHERS


def taken_from_others(sources):
    """(file, name) of each private name that is used in another folder than those where it is made;
    a file at the top is a folder of its own. sources: file in the package -> text. Made are
    functions, classes, variables and attributes; used are imports, attributes of anything but self,
    which may be a base's, and names in strings that are looked up by getattr.
    """
    made, used = {}, []
    for file, text in sources.items():
        own = made.setdefault(file.parts[0], set())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                own.add(node.name)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                own.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif (
                isinstance(node, ast.Subscript)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.slice, ast.Constant)
            ):
                own.add(node.slice.value)  # of a __dict__
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") != "self":
                used.append((file, node.attr))
            elif isinstance(node, ast.ImportFrom):
                used += [
                    (file, alias.name)
                    for alias in node.names
                    if alias.name not in ("_engine", "_base", "_hetsched")
                ]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                "getattr",
                "setattr",
                "hasattr",
            ):
                used += [(file, x.value) for x in node.args[1:2] if isinstance(x, ast.Constant)]
    return [
        (str(file), name)
        for file, name in used
        if private(name) and name not in made[file.parts[0]]
    ]


def test_private_names_stay_in_their_folder():
    assert (
        taken_from_others(
            {
                path.relative_to(ROOT / "hetsched"): path.read_text(encoding="utf-8")
                for path, _ in modules()
            }
        )
        == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "from ..runners.pool import _lock",
        "from hetsched.runners.pool import _lock",
        "from ..runners import pool\npool._lock",
        "from ..runners import pool\ndef f():\n    return pool.Pool()._live()",
        "getattr(pool, '_live')",
    ],
)
def test_private_names_of_others_are_found(text):
    pool = "_lock = 1\nclass Pool:\n    def _live(self): return _lock"
    assert (
        len(taken_from_others({Path("runners/pool.py"): pool, Path("files/product.py"): text})) == 1
    )
    assert taken_from_others({Path("runners/pool.py"): pool, Path("runners/star.py"): text}) == []


def test_only_the_engine_touches_the_ffi():
    for path, folder in modules():
        if folder != "_engine":
            assert not re.search(
                r"\bffi\b|\blib\.hs_|import cffi|_hetsched", path.read_text(encoding="utf-8")
            ), path


def test_private_members_of_pools_stay_in_their_module():
    for path, _ in modules():
        if path != ROOT / "hetsched/runners/pool.py":
            assert not re.search(r"\b[Pp]ool\._|\b_shared\._", path.read_text(encoding="utf-8")), (
                path
            )
