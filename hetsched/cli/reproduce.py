"""`hetsched reproduce`: reproduce the numbers of the papers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .._base.replace import replace_file
from ..plots.canvas import write_figure
from ..studies import page
from .announcing import announcing
from .output import require_output, require_picture

_EXAMPLES = """examples:
  hetsched reproduce rings                     tables, and a verdict on each claim of the paper
  hetsched reproduce rings -o figure3.pdf      the same, and the figures
  hetsched reproduce all -o page.html          all papers on one page, in some minutes
  hetsched reproduce layers --csv              only the claims
"""
#: Paper -> parts, each with name, title, module and function.
_STUDIES: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "static2001": (
        (
            "static2001",
            "Static allocation (Beaumont and others, 2001)",
            "static2001",
            "reproduce_static2001",
        ),
    ),
    "rings": (
        (
            "rings",
            "Slices on rings of workers (Renard, Robert, Vivien, 2003)",
            "ring2003",
            "reproduce_rings",
        ),
    ),
    "ppopp2008": (
        (
            "ppopp2008",
            "Master and workers with limited memory (Dongarra and others, 2008)",
            "ppopp2008",
            "reproduce_ppopp2008",
        ),
    ),
    "layers": (
        (
            "layers-star",
            "Layer based partition on stars (Liu and others)",
            "layers_star",
            "reproduce_star",
        ),
        (
            "layers-mesh",
            "Layer based partition on meshes (Liu and others)",
            "layers_mesh",
            "reproduce_layers_mesh",
        ),
    ),
}
_TEXTS: dict[str, Callable[[Sequence[page.Part]], str]] = {
    ".html": page.html,
    ".json": page.to_json,
    ".csv": page.to_csv,
}


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    reproduce = commands.add_parser(
        "reproduce",
        help="compute the papers' results again, and check their claims",
        description=(
            "Plan the instances of a paper. Print its figures as tables, and its claims beside our"
            " results.\n\n"
            "static2001  static allocation, with LU on emulated workers\n"
            "rings       slices on rings of workers (2003)\n"
            "ppopp2008   matrix product on master-worker platforms, simulated and emulated\n"
            "layers      layer based partition on stars and meshes\n"
            "all         all four"
        ),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    reproduce.add_argument(
        "papers",
        nargs="+",
        choices=[*_STUDIES, "all"],
        metavar="PAPER",
        help=f"{', '.join(_STUDIES)} or all",
    )
    reproduce.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=(
            "also write a file: .html for one page with pictures; .json or .csv for the claims;"
            " .png, .svg or .pdf for the figures, with one file per part if there are several"
        ),
    )
    kinds = reproduce.add_mutually_exclusive_group()
    kinds.add_argument("--json", action="store_true", help="print the claims as JSON")
    kinds.add_argument("--csv", action="store_true", help="print the claims as CSV")
    reproduce.set_defaults(command=_reproduce)


def _parts(papers: Sequence[str], quiet: bool = False) -> Iterator[page.Part]:
    for paper in _STUDIES if "all" in papers else dict.fromkeys(papers):
        for name, title, module, function in _STUDIES[paper]:
            with announcing(f"reproducing {name}: {title}", quiet):
                study = getattr(import_module(f"hetsched.studies.{module}"), function)()
            yield page.Part(name, title, study)


def _reproduce(given: argparse.Namespace) -> None:
    suffix = Path(given.output).suffix if given.output else ""
    if suffix in _TEXTS:
        require_output("--output", given.output)
    elif given.output:
        require_picture("--output", given.output, *_TEXTS)
    parts = []
    for part in _parts(given.papers, given.quiet):
        parts.append(part)
        if not (given.json or given.csv):
            print(part.study, flush=True)
    if suffix in _TEXTS:
        with replace_file(given.output) as file:
            file.write(_TEXTS[suffix](parts).encode())
    elif given.output:
        output = Path(given.output)
        for part in parts:
            own = (
                output
                if len(parts) == 1
                else output.with_stem(f"{output.stem}-{part.paper.rpartition('-')[2]}")
            )
            write_figure(part.study.plot(), own)
    if given.json or given.csv:
        print((page.to_json if given.json else page.to_csv)(parts).rstrip())
