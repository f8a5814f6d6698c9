"""`hetsched exec`: run a program unchanged, with its matrix products and systems computed by
hetsched."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import Any

from ..machine.dropin import environment


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    run = commands.add_parser(
        "exec",
        help="run a program with hetsched as its BLAS and LAPACK",
        usage="hetsched exec [options] [--] command [argument ...]",
        description=(
            "Run a program (Python with NumPy, Octave, R or any other). hetsched computes its large"
            " matrix products, solves and factorisations. Small ones, and all other calls, go to"
            " the program's own libraries, on as many threads as are good at that moment."
            " Linux only."
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
        "--report", action="store_true", help="print a table of all calls when the program ends"
    )
    run.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="command", help="the program and its arguments"
    )
    run.set_defaults(command=_exec)


def _exec(given: argparse.Namespace) -> None:
    program = given.program[1:] if given.program[:1] == ["--"] else given.program
    if not program:
        raise ValueError("command is missing: hetsched exec [options] [--] command [argument ...]")
    if shutil.which(program[0]) is None:
        raise ValueError(f"command {program[0]!r} is not found, or is not executable")
    made = environment(
        threads=given.threads, least=given.least, behind=given.behind, report=given.report
    )
    os.execvpe(program[0], program, made)
