"""Runs Octave's own tests and R's own examples of linear algebra with the drop-in library, every
call of which is the engine's, and without it; see docs/peers.md.

python tests/peers/octave_and_r.py [--write FILE]

What is not installed is skipped. Exits with 1 if something that known.txt does not name passes
without the library and not with it, or an example's output has other numbers. An example whose
output changes from run to run without the library is not compared. --write puts the counts into the
table of a page.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dropin import LIMITS, calls, preloaded
from known import differences as known_differences

HERE = Path(__file__).resolve().parent
MARKS = "<!-- octave and r -->", "<!-- end of octave and r -->"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
ADDRESS = re.compile(r"0x[0-9a-f]+|/tmp/\S+")


@dataclass(frozen=True)
class Result:
    """Of a program: passed and all tests of each file or topic, and what the topic has printed."""

    tests: dict[str, tuple[int, int]]
    texts: dict[str, str]
    taken: int  # calls by the engine

    @property
    def passed(self) -> int:
        return sum(passed for passed, _ in self.tests.values())

    @property
    def all(self) -> int:
        return sum(count for _, count in self.tests.values())


def environment(dropin: bool) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name not in LIMITS} | {
        "LC_ALL": "C.UTF-8",
        "R_ENVIRON_USER": "",
    }
    return preloaded(env) if dropin else env


def output(command: list[str], dropin: bool) -> tuple[str, int]:
    """What it prints, and how many calls the engine took: the first column of the table that the
    library prints in the end."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(dropin),
            capture_output=True,
            text=True,
            timeout=3600,
        )
    taken, _ = calls(done.stderr)
    if not re.search(r"^@ (?:topic )?end\b", done.stdout, re.M) or (dropin and not taken):
        raise SystemExit(
            f"{command[0]} ended with {done.returncode}, {taken} calls"
            f" taken\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout, taken


def octave(dropin: bool) -> Result:
    text, taken = output(
        ["octave-cli", "--no-init-file", "--no-history", str(HERE / "suite.m")], dropin
    )
    found = re.findall(r"^@ (\S+) (\d+) (\d+)$", text, re.M)
    return Result(
        {f"octave::{name}": (int(passed), int(count)) for name, passed, count in found}, {}, taken
    )


def r(dropin: bool) -> Result:
    text, taken = output(["Rscript", "--vanilla", str(HERE / "suite.R")], dropin)
    topics = re.findall(r"^@ topic (\S+) \n(.*?)^@ (passed|failed)$", text, re.M | re.S)
    return Result(
        {name: (int(end == "passed"), 1) for name, _, end in topics},
        {name: said for name, said, _ in topics},
        taken,
    )


def agree(a: str, b: str) -> bool:
    """Whether two texts have the same words, and numbers as good as the same: six digits are
    printed, rounded."""
    a, b = ADDRESS.sub("", a), ADDRESS.sub("", b)
    if NUMBER.sub("#", a).split() != NUMBER.sub("#", b).split():
        return False
    pairs = (
        (float(x), float(y)) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
    )
    return all(abs(x - y) <= 1e-4 * max(abs(x), abs(y)) + 1e-12 for x, y in pairs)


def differences(alone: Result, again: Result, dropin: Result) -> list[str]:
    """Files with other counts than without the library, topics with other output where that is the
    same each time without."""
    found = []
    for name, before in alone.tests.items():
        passed, count = dropin.tests.get(name, (0, 0))
        if (passed, count) != before:
            found.append(f"{name} {passed} of {count}")
    for name, text in alone.texts.items():
        if agree(text, again.texts.get(name, "")) and not agree(text, dropin.texts.get(name, "")):
            found.append(f"{name} output")
    return found


def write(page: Path, rows: list[str]) -> None:
    start, end = MARKS
    head = [
        "",
        "| program | passed with the library | without | of | other results | calls taken |",
        "|---|---|---|---|---|---|",
    ]
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    if end not in rest:
        raise SystemExit(f"{page} has no {start}")
    lines = "\n".join([start, *head, *rows, end])
    page.write_text(before + lines + rest.partition(end)[2], encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows, wrong = [], False
    known = {line for line, _ in known_differences("octave_and_r")}
    for program, what, suite in (
        ("octave-cli", "Octave: tests", octave),
        ("Rscript", "R: examples", r),
    ):
        if not shutil.which(program):
            print(f"{what}: {program} is not installed")
            continue
        alone = suite(False)
        again = suite(False) if alone.texts else alone
        dropin = suite(True)
        found = differences(alone, again, dropin)
        new = [line for line in found if line not in known]
        wrong |= bool(new)
        rows.append(
            f"| {what} | {dropin.passed} | {alone.passed} | {alone.all} | {len(found)} |"
            f" {dropin.taken} |"
        )
        print(
            f"{what}: {dropin.passed} passed, {alone.passed} without the library, of {alone.all};"
            f" {dropin.taken} calls taken",
            flush=True,
        )
        for line in found:
            print("   ", line, "(known)" if line in known else "", flush=True)
    if options.write and rows:
        write(options.write, rows)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
