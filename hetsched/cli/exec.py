"""`hetsched exec`: a program whose products and systems hetsched computes, with no line of it changed."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import Any

from ..machine.dropin import environment


def add_parser(commands: Any) -> None:
    """The options of the command."""
    run = commands.add_parser(
        "exec",
        help="run a program with hetsched as its BLAS and LAPACK",
        usage="hetsched exec [options] [--] command [argument ...]",
        description="Run a program, Python with NumPy, Octave, R or any other, whose large matrix products, systems and "
        "factorisations go to hetsched's workers, and all else, and all that is small, to the libraries that it has anyway. "
        "Linux only.",
    )
    run.add_argument("--threads", type=int, metavar="P", help="workers at most (default: the cores that are worth it)")
    run.add_argument(
        "--least",
        metavar="N",
        help='multiply-adds from which calls are taken: "1e6" for all, "gemm=1e6,dgetrf=3e5" for some (default: as measured)',
    )
    run.add_argument("--report", action="store_true", help="print what became of all calls when the program ends")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="command", help="the program and its arguments")
    run.set_defaults(command=_exec)


def _exec(given: argparse.Namespace) -> None:
    program = given.program[1:] if given.program[:1] == ["--"] else given.program
    if not program:
        raise ValueError("command is missing: hetsched exec [options] [--] command [argument ...]")
    if shutil.which(program[0]) is None:
        raise ValueError(f"command {program[0]!r} is not found, or is no program")
    made = environment(threads=given.threads, least=given.least, report=given.report)
    os.execvpe(program[0], program, made)
