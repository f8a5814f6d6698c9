"""`hetsched mpi run` and `hetsched mpi measure`: products and measurements on MPI ranks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._base.table import table
from ..mpi.arguments import Call
from ..mpi.files import Files, product_of_files
from ..mpi.linalg import Given
from ..mpi.measure import measured
from ..mpi.workers import work
from ..planners.star import METHODS as CHUNKS
from ..platform import Platform, Worker, file_kind
from .output import require_output, require_trace, write_trace
from .voice import one_voice

if TYPE_CHECKING:
    from ..plan import Plan

_BRIEFLY = 2.0  # seconds of a measurement for a plan that needs links


def add_parser(commands: Any) -> None:
    """Add the commands and their options."""
    ranks = commands.add_parser(
        "mpi",
        help="products and measurements on the ranks of an MPI program",
        description=(
            "Start these commands with mpiexec or srun: `mpiexec -n 4 hetsched mpi measure`, "
            "`mpiexec -n 4 hetsched mpi run A.npy B.npy -o C.npy`. Each rank is one worker."
        ),
    ).add_subparsers(required=True, metavar="COMMAND")
    run = ranks.add_parser(
        "run",
        help="multiply two files",
        description=(
            "Multiply the matrices of two files, which rank 0 reads. The ranks are the workers."
            " Their speeds come from a short measurement of products, or from the file of"
            " --platform. With a method of plan_product, rank 0 is the master of the other ranks."
        ),
    )
    run.add_argument(
        "A", help="left operand: .npy, .mat (file.mat:name) or HDF5 (file.h5:/group/name)"
    )
    run.add_argument("B", help="right operand")
    run.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="C",
        help="file for the product, .npy; replaced only when the product is complete",
    )
    run.add_argument(
        "--platform",
        metavar="FILE",
        help="platform of the ranks, as written by `hetsched mpi measure -o`",
    )
    run.add_argument(
        "--method",
        default="best",
        help="best, columns, rows, layers, cuboids, het or another method (default: best)",
    )
    run.add_argument(
        "--block",
        type=int,
        metavar="Q",
        help=(
            "cut at multiples of Q elements; side of a block for methods of plan_product"
            " such as het"
        ),
    )
    run.add_argument(
        "--memory",
        type=int,
        metavar="M",
        help="memory of a worker, in blocks, for methods of plan_product such as het",
    )
    run.add_argument(
        "--trace",
        metavar="FILE",
        help="write the trace: .json (Perfetto), .html (a browser), .paje, .csv or a picture",
    )
    run.set_defaults(command=_run)
    measure = ranks.add_parser(
        "measure",
        help="measure how fast the ranks compute and send",
        description=(
            "Measure the speed of each rank while all compute, and the cost of each link."
        ),
    )
    measure.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        metavar="T",
        help="approximate duration (default: %(default)s)",
    )
    measure.add_argument(
        "--dtype", default="float64", metavar="D", help="float32, float64, complex64 or complex128"
    )
    measure.add_argument(
        "-o", "--output", metavar="FILE", help="write the platform, .toml or .json"
    )
    measure.set_defaults(command=_measure)
    worker = ranks.add_parser(
        "worker",
        help="worker of a program; started by hetsched.mpi.Workers",
        description=(
            "Connect to a listening master and work for it. Both must know a secret, which this"
            " command reads as a line from standard input."
        ),
    )
    worker.add_argument(
        "--connect", required=True, metavar="HOST:PORT", help="address of the master"
    )
    worker.add_argument(
        "--rank", required=True, type=int, metavar="R", help="rank of this worker, starting from 1"
    )
    worker.add_argument(
        "--threads", type=int, metavar="P", help="cores to use (default: all worth starting)"
    )
    worker.set_defaults(command=_work)


def _run(given: argparse.Namespace) -> None:
    with one_voice() as call:
        done = product_of_files(
            call, Files(given.A, given.B, given.output), _wishes(call, given), progress=True
        )
    if not call.at_root:
        return
    assert done.trace is not None
    assert done.plan is not None
    if given.trace:
        write_trace(done.trace, given.trace)
    m, n = done.shape
    print(
        f"{given.output}: {m} x {n} {done.dtype}, {done.seconds:.3g} s,"
        f" {done.flops / done.seconds / 1e9:.4g} GFLOP/s"
    )
    print(_ranks_table(done.plan, done.trace))
    if idle := _not_enrolled(done.plan):
        print(idle)
    print(f"plan: {done.plan.certificate}")


def _wishes(call: Call, given: argparse.Namespace) -> Callable[[], Given]:
    """A function for `product_of_files`: what this rank gives.

    All ranks must call this function, which measures the platform if the method needs one and no
    file has it. Options are checked in the first agreement.
    """

    def checked() -> Platform | None:
        if not call.at_root:
            return None
        if given.trace:
            require_trace("--trace", given.trace)
        if given.memory is not None and given.method not in CHUNKS:
            raise ValueError(f"--memory is for {', '.join(CHUNKS)}, got --method {given.method}")
        return Platform.load(given.platform) if given.platform else None

    found: Platform | None = None
    if given.method in CHUNKS and not given.platform:
        found = measured(call, _BRIEFLY, "float64", before=checked).platform

    def wishes() -> Given:
        platform = checked() if found is None else found
        if platform is not None and given.memory is not None:
            workers = [
                Worker(w.cycle_time, w.link_cost, given.memory, w.name) for w in platform.workers
            ]
            platform = Platform(workers, unit=platform.unit)
        return Given(method=given.method, platform=platform, block=given.block, trace=True)

    return wishes


def _ranks_table(plan: Plan, trace: Any) -> str:
    share = plan.load / max(plan.load.sum(), 1e-300)
    rows = [("rank", "cycle-time", "share", "computes", "receives", "ends")]
    computes, receives = trace.total("compute"), trace.total("transfer")
    for i, name in enumerate(plan.names):
        time = plan.cycle_times[i]  # type: ignore[attr-defined]
        rows.append(
            (
                name,
                f"{time:.4g}",
                f"{share[i]:.1%}",
                f"{computes[i]:.4f} s",
                f"{receives[i]:.4f} s",
                f"{trace.finish[i]:.4f} s",
            )
        )
    return table(rows, "<>")


def _not_enrolled(plan: Plan) -> str:
    """A sentence on the workers without work, and why; "" if all workers have work."""
    names = [name for name, load in zip(plan.names, plan.load, strict=True) if load == 0]
    if not names or plan.value == 0:
        return ""
    steps = plan.steps()
    port = sum(step.end - step.start for step in steps if step.kind == "transfer") / plan.value
    busy = sum(step.end - step.start for step in steps if step.kind == "compute") / plan.value
    others = len(plan.names) - len(names)
    why = (
        f"in the plan, messages take {port:.0%} of the makespan; "
        f"the {others} enrolled workers compute {busy / others:.0%} of it on average"
    )
    return f"not enrolled: {', '.join(names)} ({why})"


def _work(given: argparse.Namespace) -> None:
    host, _, port = given.connect.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"--connect must be HOST:PORT, got {given.connect!r}")
    work(host, int(port), given.rank, sys.stdin.readline().strip(), given.threads)


def _measure(given: argparse.Namespace) -> None:
    def writable() -> None:
        if given.output:
            file_kind(given.output)
            require_output("--output", given.output)

    with one_voice() as call:
        found = measured(call, given.seconds, given.dtype, before=writable)
    if call.at_root:
        if given.output:
            found.save(given.output)
        print(found.table())
        print(
            f"{len(found.gflops)} ranks, {found.gflops.sum():.4g} GFLOP/s together; measured in"
            f" {found.seconds:.3g} s"
        )
