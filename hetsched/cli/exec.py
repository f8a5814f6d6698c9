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
            "Run a program (Python with NumPy, Octave, R or any other). Its large matrix products,"
            " systems and factorisations are computed by hetsched's workers. Small ones, and"
            " everything else, go to its own libraries. Linux only."
        ),
    )
    run.add_argument(
        "--threads",
        type=int,
        metavar="P",
        help="largest number of workers (default: the cores that are worth it)",
    )
    run.add_argument(
        "--least",
        metavar="N",
        help=(
            'multiply-adds from which hetsched computes a call: "1e6" for all,'
            ' "gemm=1e6,dgetrf=3e5" for some (default: as measured)'
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
        raise ValueError(f"command {program[0]!r} is not found, or is no program")
    made = environment(threads=given.threads, least=given.least, report=given.report)
    os.execvpe(program[0], program, made)
