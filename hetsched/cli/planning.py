"""`hetsched distribute`, `partition`, `plan` and `simulate`.

They print plans as tables, CSV or JSON, and draw pictures.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from contextlib import suppress
from typing import Any

import numpy as np

from .._base.table import Table
from ..errors import InfeasibleError
from ..plan import FORMAT, Plan, simulate
from ..planners.distribute import distribute
from ..planners.floorplan import METHODS as PARTITIONS
from ..planners.matmul import plan_matmul
from ..planners.partition import Partition, partition
from ..planners.product import ProductPlan
from ..planners.replan import replan
from ..platform import UNIT, Platform
from ..plots.canvas import free_figure, write_figure
from ..trace import Trace
from .output import require_output, require_picture, require_trace, write_trace

_DISTRIBUTE = """examples:
  hetsched distribute 78 3 5 8            78 chunks for workers with these cycle-times
  hetsched distribute 1000 --platform cluster.toml --csv
"""
_PARTITION = """examples:
  hetsched partition 1 2 4 --shape 100x100    zones of a matrix in proportion to these areas
  hetsched partition --platform cluster.toml --method columns --plot zones.pdf
"""
_PLAN = """examples:
  hetsched plan 4000 4000 4000 --platform cluster.toml -o plan.json
  hetsched plan 4000 4000 200 --platform cluster.toml --method columns --block 32 --json
"""
_SIMULATE = """examples:
  hetsched simulate plan.json                          what the plan predicts
  hetsched simulate plan.json --platform tonight.toml  the same plan on workers of other speeds
  hetsched simulate plan.json --trace plan.paje        for ViTE; .json for Perfetto, .csv
"""


def add_parser(commands: Any) -> None:
    """Add the commands and their options."""
    parser = _command(
        commands,
        "distribute",
        "distribute equal chunks among workers of unequal speed",
        _DISTRIBUTE,
        _distribute,
    )
    parser.add_argument("chunks", type=int, metavar="N", help="number of chunks")
    _add_workers(parser, "TIME", "cycle-time of each worker: time for one chunk")
    _add_output(parser)

    what = "divide a square or a matrix into zones in proportion to speeds or areas"
    parser = _command(commands, "partition", what, _PARTITION, _partition)
    _add_workers(parser, "AREA", "relative area, or speed, of each worker")
    parser.add_argument(
        "--shape", metavar="MxN", help="divide a matrix of M x N cells; default: the unit square"
    )
    parser.add_argument(
        "--method",
        default="best",
        metavar="M",
        help=f"one of {', '.join(PARTITIONS)} (default: best)",
    )
    _add_output(parser)

    parser = _command(
        commands,
        "plan",
        "plan a matrix product C = A B, where A is m x k and B is k x n",
        _PLAN,
        _plan,
    )
    for name in ("m", "n", "k"):
        parser.add_argument(name, type=int)
    parser.add_argument(
        "--platform", required=True, metavar="FILE", help="workers and their links, .toml or .json"
    )
    parser.add_argument(
        "--method", default="best", metavar="M", help="a method of hs.plan_matmul (default: best)"
    )
    parser.add_argument(
        "--block",
        type=int,
        metavar="Q",
        help="cut at multiples of Q elements; with limited memory: side of a block",
    )
    parser.add_argument(
        "--communication",
        default="once",
        metavar="C",
        help="once, sequential or parallel (default: once)",
    )
    parser.add_argument(
        "--dtype", default="float64", metavar="D", help="dtype of the elements (default: float64)"
    )
    _add_output(parser)

    parser = _command(commands, "simulate", "simulate a plan step by step", _SIMULATE, _simulate)
    parser.add_argument("plan", metavar="PLAN", help="a plan file, as written by -o")
    parser.add_argument(
        "--platform", metavar="FILE", help="simulate the same plan on these workers instead"
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write the trace: .json (Perfetto), .html (a browser), .paje, .csv or a picture",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the times of each worker as JSON"
    )
    parser.add_argument("--plot", metavar="FILE", help="plot the trace: .png, .svg or .pdf")


def _command(
    commands: Any, name: str, what: str, examples: str, run: Any
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=what, description=what[0].upper() + what[1:] + ".", epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(command=run)
    return parser


def _add_workers(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    parser.add_argument("values", type=float, nargs="*", metavar=name, help=what)
    parser.add_argument(
        "--platform", metavar="FILE", help="workers, .toml or .json, instead of numbers"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json", action="store_true", help="print the whole plan as JSON (docs/plan-format.md)"
    )
    form.add_argument(
        "--csv", action="store_true", help="print one line of CSV for each worker or rectangle"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the plan as JSON, for `hetsched simulate`"
    )
    parser.add_argument("--plot", metavar="FILE", help="plot the plan: .png, .svg or .pdf")


def _workers(given: argparse.Namespace) -> Platform | list[float]:
    if bool(given.values) == bool(given.platform):
        raise ValueError("give numbers for the workers, or --platform")
    return Platform.load(given.platform) if given.platform else list(given.values)


def _distribute(given: argparse.Namespace) -> None:
    _require_files(given)
    _show(given, distribute(given.chunks, _workers(given)))


def _partition(given: argparse.Namespace) -> None:
    _require_files(given)
    _show(given, partition(_workers(given), given.method, _shape(given.shape)))


def _shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        m, n = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise ValueError(
            f"--shape must be two whole numbers such as 100x80, got {text!r}"
        ) from None
    return m, n


def _plan(given: argparse.Namespace) -> None:
    _require_files(given)
    platform = Platform.load(given.platform)
    options = {
        "method": given.method,
        "block": given.block,
        "communication": given.communication,
        "dtype": given.dtype,
    }
    _show(given, plan_matmul(given.m, given.n, given.k, platform, **options))


def _require_files(given: argparse.Namespace) -> None:
    """Raise if an output file cannot be written; called before any work."""
    if given.output:
        require_output("--output", given.output)
    if given.plot:
        require_picture("--plot", given.plot)


def _show(given: argparse.Namespace, plan: Plan) -> None:
    if given.output:
        plan.save(given.output)
    if given.plot:
        _draw(plan, given.plot)
    if given.json:
        print(json.dumps({**FORMAT, **plan.to_dict()}))
    elif given.csv:
        print(_csv(plan), end="")
    else:
        print(_rows(plan))
        print(_certificate(plan))


def _certificate(plan: Plan) -> str:
    """The certificate's sentence, and the unit of times if it is known."""
    sentence = plan.certificate
    if plan.unit is None or sentence.objective != "makespan":
        return str(sentence)
    return f"{sentence}\ntimes in seconds, cycle-times in seconds per {plan.unit.work}"


def _rows(plan: Plan) -> Table:
    """One row for each worker; for each rectangle of a partition, each box of a product."""
    places: tuple[str, ...]
    if isinstance(plan, Partition):
        places, pieces = ("row", "col", "height", "width"), plan.pieces
        sizes = pieces[:, 3:].prod(axis=1)
    elif isinstance(plan, ProductPlan) and len(plan.boxes):
        places, pieces = ("row", "col", "depth", "height", "width", "length"), plan.boxes
        sizes = pieces[:, 4:].astype(np.float64).prod(axis=1)
    else:
        return plan.table()
    shares = sizes / max(float(sizes.sum()), 1e-300)  # a product may have nothing to compute
    table = Table(
        {
            "worker": plan.names[int(piece[0])],
            **dict(zip(places, piece[1:], strict=True)),
            "share": share,
        }
        for piece, share in zip(pieces.tolist(), shares.tolist(), strict=True)
    )
    if isinstance(plan, ProductPlan):
        times = plan.flops.sum() / UNIT * plan.cycle_times[pieces[:, 0]]
        for row, time in zip(table, times.tolist(), strict=True):
            row["busy"] = row["share"] * time
    return table


def _draw(what: Plan | Trace, path: str) -> None:
    figure = free_figure("--plot")
    what.plot(figure.add_subplot())
    write_figure(figure, path)


def _csv(plan: Plan) -> str:
    rows, text = _rows(plan), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return text.getvalue()


def _simulate(given: argparse.Namespace) -> None:
    if given.trace:
        require_trace("--trace", given.trace)
    if given.plot:
        require_picture("--plot", given.plot)
    plan: Plan = Plan.load(given.plan)
    again = None
    if given.platform:
        platform, before = Platform.load(given.platform), plan
        plan = before.on(platform)
        with suppress(TypeError, InfeasibleError):  # of another kind, or there is no plan
            again = replan(before, platform)
    trace = simulate(plan)
    if given.trace:
        write_trace(trace, given.trace)
    if given.plot:
        _draw(trace, given.plot)
    kinds = {kind: trace.total(kind) for kind in ("compute", "transfer")}
    columns = {"worker": trace.workers, **kinds, "end": trace.finish}
    rows = Table(
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    )
    if given.json:
        times = {"makespan": trace.makespan, "unit": trace.unit}
        if again is not None:
            times["makespan_of_new_plan"] = again.value
        print(json.dumps({**times, "workers": list(rows)}))
        return
    print(rows)
    print(_certificate(plan))
    if again is not None:
        print(f"a new plan for these workers: {again.certificate}")
