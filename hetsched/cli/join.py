"""`hetsched join`: join the platform files of several computers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..platform import Platform, file_kind
from .streams import as_text


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    join = commands.add_parser(
        "join",
        help="join the platforms of several computers",
        description=(
            "Join the platform files of several computers into one, for example the files that"
            " `hetsched measure -o` wrote on each. Workers are named node/core. Nodes have the"
            " names of their files unless --names is given."
        ),
    )
    join.add_argument(
        "files", nargs="+", metavar="FILE", help="platform of each node, .toml or .json"
    )
    join.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the joined platform, .toml or .json"
    )
    join.add_argument(
        "--names", nargs="+", metavar="NODE", help="names of the nodes, in the order of the files"
    )
    join.add_argument(
        "--link",
        type=float,
        metavar="X",
        help="time per unit of data between workers of different nodes",
    )
    join.set_defaults(command=_join)


def _join(given: argparse.Namespace) -> None:
    file_kind(given.output)
    names = [
        as_text("--names", name)
        for name in given.names or [Path(path).stem for path in given.files]
    ]
    platform = Platform.join([Platform.load(path) for path in given.files], names, links=given.link)
    platform.save(given.output)
    print(f"{given.output}: {len(platform)} workers in {len(set(platform.nodes or ()))} nodes")
