"""`hetsched info`: what multiplies, on which cores."""

from __future__ import annotations

import argparse
from typing import Any

from .._base.table import table
from .._base.version import __version__
from .._engine import kernels
from .._engine.kernels import version
from ..machine.domains import blocking_of
from ..machine.measure import describe, recent
from ..machine.topology import Topology, topology
from ..planners.worth import workers_worth


def add_parser(commands: Any) -> None:
    """The options of the command."""
    info = commands.add_parser("info", help="what multiplies, on which cores, and how many workers are worth starting")
    info.set_defaults(command=_info)


def _info(_: argparse.Namespace) -> None:
    kernel, host = kernels.kernel(), topology()
    sources = {"c": "hetsched's own", "blis": "BLIS's", "openblas": "OpenBLAS's"}
    multipliers = ", ".join(
        f"{name} {sources[source]} {rows} x {cols}" for name, (source, rows, cols) in kernel["kernels"].items()
    )
    library = "hetsched's own kernels in C" if kernel["name"] == "c" else f"{kernel['name']} {kernel['version']}".strip()
    without = "" if kernel["name"] == "blis" else f" ({kernel['refused'] or 'no BLIS in this build'})"
    lines = [
        ("hetsched", f"{__version__} (engine {version()})"),
        ("library", library + without),
        ("kernel set", f"{kernel['set']} ({kernel['reason']})"),
        ("micro-kernels", multipliers),
        *host.describe(),
        *_blocks(host),
        ("speeds", describe(recent(host))),
        ("worth it", workers_worth(4000, 4000, 4000).describe()),
    ]
    print(table(lines))


def _blocks(host: Topology) -> list[tuple[str, str]]:
    """With what each of several domains multiplies float64, and by whose blocks."""
    if len(host.domains) < 2:
        return []
    places = [host.domain_of(cpu) for cpu in host.places[: host.worth]]
    used = sorted(set(places))
    blocks = blocking_of([host.domains[i] for i in used], [places.count(i) for i in used])
    texts = []
    for i, found in zip(used, blocks, strict=True):
        sizes = ", ".join(str(size) if size else "its own" for size in (found.depth[1], found.rows[1], found.cols[1]))
        own = "its own" if not found.depth[1] else f"{sizes} (depth, rows, columns of float64, by the model of its caches)"
        texts.append(f"domain {i}: {found.kernel or 'the kernels above'}, blocks {own}")
    return [("blocks", "; ".join(texts))]
