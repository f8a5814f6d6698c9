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
        help="one platform of several computers",
        description="Join the platform files of several computers, such as `hetsched measure -o` writes on each, into one. "
        "Workers are named node/core, nodes like their files unless --names says otherwise.",
    )
    join.add_argument("files", nargs="+", metavar="FILE", help="of each node, .toml or .json")
    join.add_argument("-o", "--output", required=True, metavar="FILE", help="the platform of all, .toml or .json")
    join.add_argument("--names", nargs="+", metavar="NODE", help="names of the nodes, in the order of the files")
    join.add_argument("--link", type=float, metavar="X", help="time per unit of data between workers of two nodes")
    join.set_defaults(command=_join)


def _join(given: argparse.Namespace) -> None:
    file_kind(given.output)
    names = [as_text("--names", name) for name in given.names or [Path(path).stem for path in given.files]]
    platform = Platform.join([Platform.load(path) for path in given.files], names, links=given.link)
    platform.save(given.output)
    print(f"{given.output}: {len(platform)} workers in {len(set(platform.nodes or ()))} nodes")
