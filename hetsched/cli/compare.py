"""`hetsched exec --compare`: a program with and without hetsched in turns, its times and its
output."""

from __future__ import annotations

import os
import re
import stat
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, NamedTuple

from .._base.table import table
from . import child, streams

_NUMBER = re.compile(rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b", re.I)


class Difference(NamedTuple):
    """How two outputs differ.

    Attributes
    ----------
    line : int
        Where, counted from 1.
    numbers : (bytes, bytes) or None
        The two numbers with the largest difference, relative to the larger one; None if the outputs
        differ in more than numbers.
    relative : float
    """

    line: int
    numbers: tuple[bytes, bytes] | None = None
    relative: float = 0.0


def compare(program: Sequence[str], environment: Mapping[str, str], turns: int) -> int:
    """Run a program `turns` times with and without hetsched, and print what it gains.

    Before that comes a run that does not count, which reads its files into memory. With and without
    begin in turn. The program's standard output is compared, not printed. Its standard input is
    empty, unless this process reads a file: then each run reads it from the same place on.

    Parameters
    ----------
    environment :
        That of the program with hetsched. Without, it has the environment of this process.

    Returns
    -------
    int
        0, or the status of the first run that fails, as `child.run` returns it.
    """
    ways: dict[str, Mapping[str, str]] = {"without": os.environ, "with": environment}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    with ExitStack() as stack:
        outputs: dict[str, list[IO[bytes]]] = {way: [] for way in ways}
        for turn in range(turns + 1):
            for way in _order(turn):
                output = stack.enter_context(tempfile.TemporaryFile())
                with _input() as given:
                    start = time.perf_counter()
                    status = child.run(program, ways[way], given, output)
                    took = time.perf_counter() - start
                if status:
                    what = f"status {status}" if status > 0 else f"signal {-status}"
                    streams.say(f"a run {way} hetsched ended with {what}")
                    return status
                if turn:
                    seconds[way].append(took)
                if len(outputs[way]) < 2:
                    outputs[way].append(output)
                else:
                    output.close()
        print(_times(seconds))
        print("\n".join(_outputs(outputs)))
    return 0


def _order(turn: int) -> tuple[str, ...]:
    """First a run without hetsched alone, then both; each of them begins every second turn."""
    if turn == 0:
        return ("without",)
    return ("without", "with") if turn % 2 else ("with", "without")


def _input() -> IO[bytes]:
    """What a run reads: the file that is the standard input, from where it stands, or nothing."""
    try:
        if stat.S_ISREG(os.fstat(0).st_mode):
            file = open("/proc/self/fd/0", "rb", buffering=0)  # noqa: SIM115  # its own position
            file.seek(os.lseek(0, 0, os.SEEK_CUR))
            return file
    except OSError:
        pass
    return open(os.devnull, "rb")


def _times(seconds: Mapping[str, Sequence[float]]) -> str:
    pairs = list(zip(seconds["without"], seconds["with"], strict=True))
    ratios = [without / own for without, own in pairs]
    rows = [("run", "without", "with hetsched", "ratio")]
    rows += [
        (str(i + 1), f"{without:.3f} s", f"{own:.3f} s", f"{without / own:.2f}")
        for i, (without, own) in enumerate(pairs)
    ]
    middle = statistics.median(ratios)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else "one pair of runs"
    return (
        f"{table(rows, '>')}\n"
        f"With hetsched the program is {middle:.2f} times as fast: the median ratio ({spread})."
    )


def _outputs(outputs: Mapping[str, Sequence[IO[bytes]]]) -> Iterator[str]:
    yield (
        f"Output with and without: {_said(difference(outputs['without'][0], outputs['with'][0]))}"
    )
    yield f"Output of two runs without: {_said(difference(*outputs['without']))}"


def _said(found: Difference | None) -> str:
    if found is None:
        return "the same."
    if found.numbers is None:
        return f"they differ in more than numbers, at line {found.line}."
    one, other = (number.decode() for number in found.numbers)
    return (
        f"only numbers differ, at most by {found.relative:.1e} of the larger one ({one} and {other}"
        f" at line {found.line})."
    )


def difference(one: IO[bytes], other: IO[bytes]) -> Difference | None:
    """How two outputs differ, from their beginnings on; None if they are equal.

    Blanks do not count beside numbers, whose widths may differ.
    """
    one.seek(0)
    other.seek(0)
    worst: Difference | None = None
    line = 0
    while True:
        line += 1
        lines = one.readline(), other.readline()
        if not any(lines):
            return worst
        if lines[0] == lines[1]:
            continue
        texts = [[b" ".join(part.split()) for part in _NUMBER.split(text)] for text in lines]
        if texts[0] != texts[1] or not all(lines):
            return Difference(line)
        for numbers in zip(*map(_NUMBER.findall, lines), strict=True):
            relative = _relative(*map(float, numbers))
            if relative > (0.0 if worst is None else worst.relative):
                worst = Difference(line, numbers, relative)


def _relative(a: float, b: float) -> float:
    if a == b or (a != a and b != b):
        return 0.0
    return abs(a - b) / max(abs(a), abs(b)) if abs(a - b) < float("inf") else float("inf")
