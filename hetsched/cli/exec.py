"""`hetsched exec`: run a program unchanged, with its matrix products and systems computed by
hetsched."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from contextlib import nullcontext
from typing import Any

from .._base import check
from ..machine.dropin import environment, report
from . import child, streams
from .compare import compare


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    run = commands.add_parser(
        "exec",
        help="run a program with hetsched as its BLAS and LAPACK",
        usage="hetsched exec [options] [--] command [argument ...]",
        description=(
            "Run a program (Python with NumPy, Octave, R or any other). hetsched computes its large"
            " matrix products, solves, factorisations and decompositions. Small ones, and all other"
            " calls, go to the program's own libraries, on as many threads as are good at that"
            " moment. Linux only."
        ),
    )
    run.add_argument(
        "--threads",
        type=int,
        metavar="P",
        help="largest number of workers (default: the number that `hetsched info` shows)",
    )
    run.add_argument(
        "--least",
        metavar="N",
        help=(
            "hetsched computes calls of at least N multiply-adds:"
            ' "1e6" for all functions, "gemm=1e6,dgetrf=3e5" for some (default: as measured)'
        ),
    )
    run.add_argument(
        "--behind",
        metavar="auto|own|N",
        help=(
            "threads of the program's own library in calls that hetsched does not take: as many as"
            " are good at that moment, as many as the program asked for, or at most N (default:"
            " auto)"
        ),
    )
    run.add_argument(
        "--report",
        action="store_true",
        help=(
            "print tables of the calls of the program and of all processes that it starts when it"
            " has ended"
        ),
    )
    run.add_argument(
        "--records",
        metavar="DIRECTORY",
        help=(
            "keep the counts of each process as a file in this directory; without a command, print"
            " the report of the files in it"
        ),
    )
    run.add_argument(
        "--explain",
        action="store_true",
        help="print for each kind of call, once, where it goes and why, when it happens",
    )
    run.add_argument(
        "--compare",
        type=int,
        metavar="N",
        help=(
            "run the command N times with and N times without hetsched, in turns, after one run"
            " that does not count; print the times and how the outputs differ, instead of the"
            " output"
        ),
    )
    run.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="command", help="the program and its arguments"
    )
    run.set_defaults(command=_exec)


def _exec(given: argparse.Namespace) -> None:
    program = given.program[1:] if given.program[:1] == ["--"] else given.program
    if given.records == "":
        raise ValueError("--records must name a directory, got ''")
    if not program and given.records is not None:
        print(report(given.records), end="")
        return
    if not program:
        raise ValueError("command is missing: hetsched exec [options] [--] command [argument ...]")
    if shutil.which(program[0]) is None:
        raise ValueError(f"command {program[0]!r} is not found, or is not executable")
    if given.compare is not None:
        check.integer("--compare", given.compare, low=1)
    if given.compare is None and not given.report:
        child.become(program, _environment(given, given.records))
    child.end_like(_reported(given, program))


def _environment(given: argparse.Namespace, records: str | None) -> dict[str, str]:
    return environment(
        threads=given.threads,
        least=given.least,
        behind=given.behind,
        report=records if records is not None else False,
        explain=given.explain,
    )


def _run(given: argparse.Namespace, program: list[str], records: str | None) -> int:
    made = _environment(given, records)
    if given.compare is None:
        return child.run(program, made)
    return compare(program, made, given.compare)


def _reported(given: argparse.Namespace, program: list[str]) -> int:
    """Run a program, and print the report of its processes if that is asked for. Returns as
    `child.run`."""
    if not given.report:
        return _run(given, program, given.records)
    directory = (
        nullcontext(given.records)
        if given.records is not None
        else tempfile.TemporaryDirectory(prefix="hetsched-records-", ignore_cleanup_errors=True)
    )
    with directory as path:
        before = os.listdir(path) if os.path.isdir(path) else []  # records of earlier runs
        status = _run(given, program, path)
        try:
            print(report(path, before), end="", file=sys.stderr, flush=True)
        except (OSError, MemoryError) as error:  # the status is still that of the program
            streams.say(f"there is no report: {error}")
    return status
