"""Writes docs/coverage.md: what the tests reach of csrc, those in C and those in Python together (make coverage)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage.md"
BIN = Path(sys.executable).parent
JUDGED = "## Lines of csrc/exec that no test reaches"


def say(*words: str | Path, **env: str) -> None:
    subprocess.run([str(w) for w in words], cwd=ROOT, env={**os.environ, **env}, check=True)


def build(name: str, *options: str) -> Path:
    folder = ROOT / "build" / name
    common = ["-DHETSCHED_COVERAGE=ON", "-DHETSCHED_BLIS=OFF", "-DCMAKE_BUILD_TYPE=Debug"]
    say(BIN / "cmake", "-S", ROOT, "-B", folder, *common, *options)
    say(BIN / "cmake", "--build", folder, "-j2")
    for counts in folder.rglob("*.gcda"):
        counts.unlink()
    return folder


def run() -> list[Path]:
    """The folders of both builds, with their counts."""
    tests, extension = (
        build("coverage-ctest", "-DHETSCHED_TESTS=ON"),
        build("coverage-ext", "-DSKBUILD=ON", f"-DPython_EXECUTABLE={sys.executable}"),
    )
    say(BIN / "ctest", "--test-dir", tests, "-j2", "--output-on-failure")
    (library,) = (extension / "hetsched" / "_engine").glob("_hetsched*.so")
    say(
        sys.executable, "-m", "pytest", "-p", "instrumented", "-q", "-n", "2", "--dist", "loadfile",
        HETSCHED_EXTENSION=str(library), PYTHONPATH="tests",
    )  # fmt: skip
    return [tests, extension]


def measured(folders: list[Path]) -> dict[str, list[dict]]:
    """Lines of each file, with their branches, by gcovr."""
    words = [
        sys.executable,
        "-m",
        "gcovr",
        "--root",
        ".",
        "--filter",
        "csrc/(?!tests/|fuzz/)",
        "--json",
        "-",
        "--gcov-ignore-parse-errors=all",
    ]
    words += ["--merge-mode-functions=merge-use-line-min"]
    text = subprocess.run([*words, *map(str, folders)], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {file["file"]: file["lines"] for file in json.loads(text)["files"]}


def share(reached: int, all_: int) -> str:
    return f"{reached} of {all_} ({100 * reached / all_:.1f} %)" if all_ else "-"


def table(files: dict[str, list[dict]]) -> str:
    folders: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, lines in files.items():
        for total in (folders[str(Path(name).parent)], folders["all"]):
            for line in lines:
                branches = line.get("branches", [])
                counts = (line["count"] > 0, 1, sum(b["count"] > 0 for b in branches), len(branches))
                total[:] = [a + b for a, b in zip(total, counts, strict=True)]
    rows = [
        f"| {folder} | {share(*n[:2])} | {share(*n[2:])} |"
        for folder, n in sorted(folders.items(), key=lambda x: (x[0] == "all", x[0]))
    ]
    return "\n".join(["| Folder | Lines | Branches |", "| --- | --- | --- |", *rows])


def unreached(files: dict[str, list[dict]]) -> list[tuple[str, str]]:
    """File and text of each line of the executors without a count; the text, unlike the number, stays when others change."""
    found = []
    for name, lines in sorted(files.items()):
        if name.startswith("csrc/exec/"):
            text = (ROOT / name).read_text().splitlines()
            found += [(name, text[line["line_number"] - 1].strip()) for line in lines if line["count"] == 0]
    return found


def judgements() -> dict[tuple[str, str], str]:
    """Those of the page as it is."""
    if not PAGE.exists():
        return {}
    rows = (
        line.strip("|").split(" | ") for line in PAGE.read_text().partition(JUDGED)[2].splitlines() if line.startswith("| csrc")
    )
    return {(file.strip(), code.strip().strip("`").replace("\\|", "|")): judged.strip() for file, code, judged in rows}


def main() -> None:
    files = measured([ROOT / "build" / name for name in ("coverage-ctest", "coverage-ext")] if "--page" in sys.argv else run())
    known = judgements()
    rows = [
        f"| {file} | `{code.replace('|', chr(92) + '|')}` | {known.get((file, code), '**not judged**')} |"
        for file, code in dict.fromkeys(unreached(files))
    ]
    head = """# What the tests reach

Written by `make coverage` (gcc, gcovr): all tests in C and in Python together, without BLIS, with the instruction sets of one
machine. The judgements are ours, and stay as long as the line does.
"""
    PAGE.write_text("\n".join([head, table(files), "", JUDGED, "", "| File | Line | Why |", "| --- | --- | --- |", *rows, ""]))


if __name__ == "__main__":
    main()
