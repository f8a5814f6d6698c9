"""The command `hetsched`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .._base.version import __version__
from . import demo, info, measure, reproduce, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status: 0, 1 for an error, 2 for wrong usage, 130 after Ctrl-C."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        given.command(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stopped:
        print(f"hetsched: interrupted{stopped}", file=sys.stderr)
        return 130
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        print(f"hetsched: {_sentence(error)}", file=sys.stderr)
        return 1
    return 0


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hetsched", description="Plan, simulate and run dense linear algebra on workers of unequal speed."
    )
    parser.add_argument("--version", action="version", version=f"hetsched {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (demo, info, measure, run, reproduce):
        command.add_parser(commands)
    return parser
