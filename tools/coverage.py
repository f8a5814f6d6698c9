"""Writes docs/coverage.md: what all tests in C and in Python reach of csrc (make coverage).

With --page it takes the counts of the last run. A test that fails counts too: `make test` reports
failures. tools/unreached.toml gives the reasons for lines of the executors that no test reaches.
The page is written in any case. The exit status is 1 if a line has no reason, or a reason no line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage.md"
REASONS = ROOT / "tools" / "unreached.toml"
BIN = Path(sys.executable).parent
BUILDS = {  # of their own folders: counters of two builds do not mix
    "coverage-ctest": ["-DHETSCHED_TESTS=ON"],
    "coverage-ext": ["-DSKBUILD=ON", f"-DPython_EXECUTABLE={sys.executable}"],
}
# Not run: tests of the Python around the engine, and tests in programs that have the usual engine.
LEFT_OUT = [
    "cli", "docs", "export", "files", "fuzz", "hwloc", "import", "interrupted_planners",
    "notebooks", "peers", "platform", "plot", "relations", "reproduce", "reproduce_layers",
    "reproduce_mesh", "reproduce_rings", "reproduce_static", "scarce", "simgrid", "topology",
]  # fmt: skip
LEFT_OUT_NAMES = ["interrupt", "ctrl_c", "process", "killed", "fork", "docs", "peak", "plot"]

Line = dict  # of gcovr's report


def say(*words: str | Path, check: bool = True, **env: str) -> None:
    subprocess.run([str(w) for w in words], cwd=ROOT, env={**os.environ, **env}, check=check)


def build(name: str) -> Path:
    folder = ROOT / "build" / name
    common = ["-DHETSCHED_COVERAGE=ON", "-DHETSCHED_BLIS=OFF", "-DCMAKE_BUILD_TYPE=Debug"]
    say(BIN / "cmake", "-S", ROOT, "-B", folder, *common, *BUILDS[name])
    say(BIN / "cmake", "--build", folder, "-j2")
    for counts in folder.rglob("*.gcda"):
        counts.unlink()
    return folder


def run() -> None:
    tests, extension = map(build, BUILDS)
    say(BIN / "ctest", "--test-dir", tests, "-j2", "--output-on-failure", check=False)
    (library,) = (extension / "hetsched" / "_engine").glob("_hetsched*.so")
    ignored = [
        f"--ignore={path}"
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.stem.removeprefix("test_") in LEFT_OUT
    ]
    say(
        sys.executable, "-m", "pytest", "-p", "instrumented", "-q", "-n", "2", "--dist", "loadfile",
        "-k", f"not ({' or '.join(LEFT_OUT_NAMES)})", *ignored,
        check=False, HETSCHED_EXTENSION=str(library), PYTHONPATH="tests",
    )  # fmt: skip


def measured() -> dict[str, list[Line]]:
    """Lines of each file, with their branches, by gcovr."""
    words = "--root . --filter csrc/(?!tests/|fuzz/) --json - --gcov-ignore-parse-errors=all"
    words += " --gcov-ignore-errors=no_working_dir_found --merge-mode-functions=merge-use-line-min"
    folders = [f"build/{name}" for name in BUILDS]
    report = subprocess.run(
        [sys.executable, "-m", "gcovr", *words.split(), *folders],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return {file["file"]: file["lines"] for file in json.loads(report.stdout)["files"]}


def merged(lines: list[Line]) -> dict[int, tuple[bool, list[bool]]]:
    """Number of each line: whether it is reached, and which of its branches are.

    A line may be there once for each function that it is compiled into.
    """
    found: dict[int, tuple[bool, list[bool]]] = {}
    for line in lines:
        reached, branches = found.get(line["line_number"], (False, []))
        more = [b["count"] > 0 for b in line.get("branches", [])]
        found[line["line_number"]] = (reached or line["count"] > 0, branches + more)
    return found


def share(reached: int, all_: int) -> str:
    return f"{reached} of {all_} ({100 * reached / all_:.1f} %)" if all_ else "-"


def table(files: dict[str, list[Line]]) -> str:
    folders: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, lines in files.items():
        for total in (folders[str(Path(name).parent)], folders["all"]):
            for reached, branches in merged(lines).values():
                counts = (reached, 1, sum(branches), len(branches))
                total[:] = [a + b for a, b in zip(total, counts, strict=True)]
    rows = [
        f"| {folder} | {share(*n[:2])} | {share(*n[2:])} |"
        for folder, n in sorted(folders.items(), key=lambda x: (x[0] == "all", x[0]))
    ]
    return "\n".join(["| Folder | Lines | Branches |", "| --- | --- | --- |", *rows])


#: Folders of csrc that run plans.
EXECUTORS = (
    "kernel",
    "threads",
    "run",
    "product",
    "stack",
    "sweep",
    "factor",
    "spectral",
    "measure",
)
Key = tuple[
    str, str
]  # file and text of a line: the text, unlike the number, stays when others change


def unreached(files: dict[str, list[Line]]) -> dict[Key, list[int]]:
    """Where each line of the executors is that nothing reaches."""
    found: dict[Key, list[int]] = defaultdict(list)
    for name, lines in sorted(files.items()):
        if name.split("/")[1] in EXECUTORS:
            text = (ROOT / name).read_text(encoding="utf-8").splitlines()
            for number, (reached, _) in sorted(merged(lines).items()):
                if not reached:
                    found[name, text[number - 1].strip()].append(number)
    return found


def reasons() -> list[dict]:
    """Each with its file, the texts of its lines, why they are not reached, whether some may be.

    A text that occurs twice is there twice. A line may be reached on another machine, or if threads
    take turns in another order.
    """
    return tomllib.loads(REASONS.read_text(encoding="utf-8"))["unreached"]


def ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][-1] + 1:
            parts[-1].append(n)
        else:
            parts.append([n])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


def judged(found: dict[Key, list[int]]) -> tuple[list[str], list[str]]:
    """Rows of the page, and what does not agree."""
    rows: list[tuple[str, int, str]] = []
    wrong = []
    left = {key: list(numbers) for key, numbers in found.items()}
    for reason in reasons():
        numbers = []
        for text, count in Counter(reason["lines"]).items():
            there = left.get((reason["file"], text), [])
            numbers += there[:count]
            if len(there) < count and not reason.get("some", False):
                wrong.append(f"reached, or gone, but judged: {reason['file']}: {text}")
            del there[:count]
        if numbers:
            rows.append(
                (
                    reason["file"],
                    min(numbers),
                    f"| {reason['file']} | {ranges(numbers)} | {reason['why'].strip()} |",
                )
            )
    for (name, text), numbers in left.items():
        wrong += [f"not judged: {name}:{n}: {text}" for n in numbers]
        rows += [(name, n, f"| {name} | {n} | **not judged** |") for n in numbers]
    return [row for _, _, row in sorted(rows)], wrong


def main() -> None:
    if "--page" not in sys.argv:
        run()
    files = measured()
    rows, wrong = judged(unreached(files))
    from_ = f"""Written by `make coverage` (gcc -Og, gcovr) from a run of all tests in C and of
these in Python together: {", ".join(sorted(ran()))}.
The others run the engine from programs of their own, test what is beside it, or repeat what these
reach; left out are also tests with one of these words in their names:
{", ".join(LEFT_OUT_NAMES)}."""
    head = f"""# What the tests reach

{textwrap.fill(from_, 100)}

The build is without BLIS, on one machine, with its instruction sets: code that is not compiled
there is not counted. A branch is one of gcc's: a line with several conditions has two for each, and
code that is compiled once for each type or instruction set (csrc/assign, csrc/kernel) has them once
for each. Counts that two threads spoil may hide a branch that was reached.
"""
    exec_ = """## Lines of the executors (csrc/kernel and above) that no test reaches

Each with its reason (tools/unreached.toml, by the text of the line); `make coverage` fails if a
line has none.
"""
    parts = [
        head,
        table(files),
        "",
        exec_,
        "| File | Lines | Why |",
        "| --- | --- | --- |",
        *rows,
        "",
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    sys.exit("\n".join(wrong) or None)


def ran() -> list[str]:
    names = [path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")]
    return [name for name in names if name not in LEFT_OUT]


if __name__ == "__main__":
    main()
