"""`hetsched completion`: Tab completion of commands, options and names of methods."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from .._base.need import need

_SHELLS = ("bash", "zsh", "tcsh")
_EXAMPLES = """examples:
  eval "$(hetsched completion bash)"             in ~/.bashrc
  hetsched completion zsh > FOLDER/_NAME         with NAME hetsched, in a folder of zsh's fpath
"""


def add_parser(commands: Any, whole: argparse.ArgumentParser) -> None:
    """Add the command and its options. `whole` is the parser to be completed."""
    parser = commands.add_parser(
        "completion",
        help="print a shell script for Tab completion",
        description=(
            "Print a shell script for Tab completion of hetsched's commands, options and names of"
            " methods. This needs shtab: pip install 'hetsched[completion]'."
        ),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=_SHELLS)
    parser.set_defaults(command=partial(_completion, whole))


def _completion(whole: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    print(need("shtab", "hetsched completion").complete(whole, shell=given.shell))
