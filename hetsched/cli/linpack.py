"""`hetsched linpack`: the Linpack benchmark on MPI ranks of unequal speed."""

from __future__ import annotations

import argparse
from typing import Any

from ..mpi.linpack import BLOCK, LIMIT, MAPS, Outcome, linpack
from ..planners.lu_grid import LuGrid
from .voice import one_voice

_WIDE = 80


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "linpack",
        help="the Linpack benchmark on the ranks of an MPI program",
        description=(
            "Solve a random system of linear equations by the rules of HPL: `mpiexec -n 4 hetsched"
            " linpack`. By default the owners of the blocks fit the measured speeds of the ranks."
            f" The exit status is 1 if the residual is {LIMIT:g} or more."
        ),
    )
    parser.add_argument(
        "--n",
        type=int,
        default=4000,
        metavar="N",
        help="order of the matrix (default: %(default)s)",
    )
    parser.add_argument(
        "--nb",
        type=int,
        metavar="NB",
        help=f"rows and columns of a block (default: {BLOCK}, or N if it is smaller)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="seed of the random numbers (default: %(default)s)",
    )
    parser.add_argument(
        "--map",
        choices=MAPS,
        default=MAPS[0],
        help=(
            "owners: square blocks for unequal speeds (grid), square blocks in a block-cyclic grid"
            " (cyclic), or block columns (columns). auto (the default): columns on up to 4 ranks;"
            " on more ranks cyclic if the speeds differ by at most 10%%, otherwise grid"
        ),
    )
    parser.set_defaults(command=_linpack)


def _linpack(given: argparse.Namespace) -> None:
    with one_voice() as call:
        found = linpack(call, given.n, given.nb, given.seed, given.map)
    if call.at_root:
        print(_report(found))
    if not found.passed:
        raise SystemExit(1)


def _report(found: Outcome) -> str:
    """The lines of HPL. The last four characters of T/V name the map."""
    plan = found.plan
    kind = "COLS" if not isinstance(plan, LuGrid) else "CYCL" if plan.method == "cyclic" else "GRID"
    p, q = found.shape
    speeds = ", ".join(
        f"{name} {1 / cycle_time:.4g}"
        for name, cycle_time in zip(plan.names, found.cycle_times, strict=True)
    )
    verdict = "PASSED" if found.passed else "FAILED"
    lines = [
        f"Gflops of the ranks, measured briefly: {speeds}",
        # a cyclic map is made for equal speeds, and so is its certificate
        f"Owners: {'cyclic, for equal speeds' if kind == 'CYCL' else plan.certificate}",
        "=" * _WIDE,
        "T/V                N    NB     P     Q               Time                 Gflops",
        "-" * _WIDE,
        f"WR1-{kind}{found.n:12d} {found.block:5d} {p:5d} {q:5d} {found.seconds:18.2f}"
        f"     {found.gflops:18.3e}",
        "-" * _WIDE,
        "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)="
        f" {found.residual:18.7f} ...... {verdict}",
        "=" * _WIDE,
    ]
    return "\n".join(lines)
