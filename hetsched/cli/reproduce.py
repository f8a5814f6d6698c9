"""`hetsched reproduce`: a paper's numbers again."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from .output import require_picture, write_picture


def add_parser(commands: Any) -> None:
    """The options of the command."""
    reproduce = commands.add_parser(
        "reproduce",
        help="the numbers of a paper again",
        description="Plan the instances of a paper, print its figures as tables and its claims beside ours. ppopp2008: matrix "
        "product on master-worker platforms, simulated and emulated. static2001: static allocation, with LU on emulated workers. "
        "layers: layer based partition, on stars and meshes. rings: slices on rings of workers, of 2003.",
    )
    reproduce.add_argument("paper", choices=list(_STUDIES))
    reproduce.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="draw the figures too: .png, .svg or .pdf; a file for each part where there are several",
    )
    reproduce.set_defaults(command=_reproduce)


#: Papers that are reproduced: of each part its name, the module and the function.
_STUDIES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ppopp2008": (("all", "ppopp2008", "reproduce_ppopp2008"),),
    "static2001": (("all", "static2001", "reproduce_static2001"),),
    "layers": (("star", "layers_star", "reproduce_star"), ("mesh", "layers_mesh", "reproduce_layers_mesh")),
    "rings": (("all", "ring2003", "reproduce_rings"),),
}


def _reproduce(given: argparse.Namespace) -> None:
    if given.output:
        require_picture("--output", given.output)
    parts = _STUDIES[given.paper]
    for name, module, function in parts:
        study = getattr(import_module(f"hetsched.studies.{module}"), function)()
        print(study, flush=True)
        if given.output:
            output = Path(given.output)
            write_picture(study.plot(), output if len(parts) == 1 else output.with_stem(f"{output.stem}-{name}"))
