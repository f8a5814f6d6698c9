"""`hetsched info`: the library and kernels in use, and the cores."""

from __future__ import annotations

import argparse
from typing import Any

from .._base.table import table
from .._base.version import __version__
from .._engine import kernels
from .._engine.kernels import version
from ..machine import blocks
from ..machine.measure import describe, recent
from ..machine.topology import topology
from ..planners.worth import workers_worth


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    info = commands.add_parser(
        "info", help="show kernels, cores and limits, and how many workers are worth starting"
    )
    info.set_defaults(command=_info)


def _info(_: argparse.Namespace) -> None:
    kernel, host = kernels.kernel(), topology()
    sources = {"c": "hetsched's own", "blis": "BLIS's", "openblas": "OpenBLAS's"}
    multipliers = ", ".join(
        f"{name} {sources[source]} {rows} x {cols}"
        for name, (source, rows, cols) in kernel["kernels"].items()
    )
    library = (
        "hetsched's own kernels in C"
        if kernel["name"] == "c"
        else f"{kernel['name']} {kernel['version']}".strip()
    )
    if kernel["name"] != "blis":
        library += f" ({kernel['refused'] or 'no BLIS in this build'})"
    lines = [
        ("hetsched", f"{__version__} (engine {version()})"),
        ("library", library),
        ("kernel set", f"{kernel['set']} ({kernel['reason']})"),
        ("micro-kernels", multipliers),
        *host.describe(),
        ("blocks", blocks.describe(host)),
        ("speeds", describe(recent(host))),
        ("worth it", workers_worth(4000, 4000, 4000).describe()),
    ]
    print(table(lines))
