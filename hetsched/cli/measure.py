"""`hetsched measure`: measure the speed of each core."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .._base.table import table
from ..machine import least
from ..machine import measure as measuring
from ..machine.dropin import library
from ..machine.topology import topology
from ..machine.zones import measure_zones
from ..platform import file_kind
from ..plots.canvas import write_figure
from .announcing import announcing
from .output import require_output, require_picture


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    measure = commands.add_parser(
        "measure",
        help="measure the speed of each core, by kernel, dtype and size",
        description=(
            "Measure the speed of each core in matrix products, panels of LU factorisations and"
            " triangular solves, one core at a time and all at once. The result is cached, and"
            " matmul and lu_factor divide their work by it."
        ),
    )
    measure.add_argument(
        "--seconds",
        type=float,
        default=1.5,
        metavar="T",
        help="approximate duration (default: %(default)s)",
    )
    measure.add_argument(
        "--cores",
        choices=["auto", "all", "types"],
        default="auto",
        help="measure all cores, or one of each type (auto: all of up to 8 cores)",
    )
    measure.add_argument(
        "--dtype",
        action="append",
        metavar="D",
        help="float32, float64, complex64 or complex128; may be repeated",
    )
    measure.add_argument(
        "--max-age",
        type=float,
        metavar="T",
        help="reuse an earlier measurement that is at most T seconds old (default: a week)",
    )
    measure.add_argument(
        "--blas",
        action="store_true",
        help=(
            "find the least size at which `hetsched exec` should compute each BLAS and LAPACK"
            " function, on all threads and on one (takes a minute)"
        ),
    )
    measure.add_argument(
        "--blocks",
        action="store_true",
        help=(
            "find the best kernel and block sizes for each kind of core"
            " (up to twenty times --seconds for each)"
        ),
    )
    measure.add_argument(
        "--zones",
        nargs=3,
        type=int,
        metavar=("M", "N", "K"),
        help=(
            "measure the time of each core for zones of an M x K by K x N product, by height and"
            " width, for `partition_profile` and `plan_matmul`; it is not cached"
        ),
    )
    measure.add_argument(
        "--refresh",
        action="store_true",
        help="measure again, even if a recent measurement is cached",
    )
    measure.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=(
            "write the platform, .toml or .json, for `hetsched run --platform` and `hetsched join`"
        ),
    )
    measure.add_argument("--plot", metavar="FILE", help="plot the speeds: .png, .svg or .pdf")
    measure.add_argument("--json", action="store_true", help="print the whole measurement as JSON")
    measure.set_defaults(command=_measure)


def _measure(given: argparse.Namespace) -> None:
    if given.blas and given.zones:
        raise ValueError("--blas and --zones are measurements of their own: give one of them")
    if given.blas or given.zones:
        for option, value in (("--output", given.output), ("--plot", given.plot)):
            if value:
                raise ValueError(
                    f"{option} is for the speeds of the cores, which --blas and --zones do not"
                    " measure"
                )
    if given.plot:
        require_picture("--plot", given.plot)
    if given.output:
        file_kind(given.output)
        require_output("--output", given.output)
    if given.blas:
        with announcing("timing each BLAS and LAPACK function, about a minute", given.quiet):
            multiply_adds = least.measured(topology(), library())
        print(json.dumps(multiply_adds, indent=1) if given.json else least.table(multiply_adds))
        return
    if given.zones:
        _measure_zones(given)
        return
    options = {"dtypes": given.dtype, "max_age": given.max_age}
    options = {name: value for name, value in options.items() if value is not None}
    what = f"measuring the speeds of the cores, about {given.seconds:g} s"
    if given.blocks:
        what += f", and first block sizes, up to {20 * given.seconds:g} s for each kind of core"
    with announcing(what, given.quiet):
        found = measuring.measure(
            cores=given.cores,
            seconds=given.seconds,
            refresh=given.refresh,
            blocks=given.blocks,
            **options,
        )
    if given.output:
        found.save(given.output)
    if given.plot:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, 5.0), layout="constrained")
        found.plot(figure.add_subplot())
        write_figure(figure, given.plot)
    print(json.dumps(found.record(), indent=1) if given.json else found.table())


def _measure_zones(given: argparse.Namespace) -> None:
    """Print the times of zones: of each worker in the first dtype that is given."""
    dtype = (given.dtype or ["float64"])[0]
    with announcing(f"timing zones, about {given.seconds:g} s", given.quiet):
        profiles = measure_zones(*given.zones, dtype=dtype, seconds=given.seconds)
    if given.json:
        print(json.dumps([[part.tolist() for part in own] for own in profiles], indent=1))
        return
    for i, (heights, widths, times) in enumerate(profiles):
        head = [f"worker {i}: seconds", *(f"width {width:g}" for width in widths)]
        rows = [
            [f"height {height:g}", *(f"{time:.4g}" for time in row)]
            for height, row in zip(heights, times, strict=True)
        ]
        print(table([head, *rows]))
