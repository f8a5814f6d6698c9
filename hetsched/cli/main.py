"""The command `hetsched`."""

from __future__ import annotations

import argparse
import dis
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout

from .._base.progress import no_bars
from .._base.version import __version__
from . import bench, completion, demo, exec, info, join, measure, mpi, planning, reproduce, run, study


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status: 0, 1 for an error, 2 for wrong usage, 130 after Ctrl-C."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        with _hushed(given) if given.quiet else nullcontext():
            given.command(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stopped:
        print(f"hetsched: interrupted{stopped}", file=sys.stderr)
        return 130
    except Exception as error:
        if given.verbose:
            traceback.print_exception(error)
        print(f"hetsched: {_sentence(error) if _is_the_users(error) else _fault(error)}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _hushed(given: argparse.Namespace) -> Iterator[None]:
    """No bars; nothing on standard output either, unless it is for programs."""
    with no_bars(), ExitStack() as stack:
        if not (getattr(given, "json", False) or getattr(given, "csv", False)):
            stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w"))))
        yield


def _is_the_users(error: Exception) -> bool:
    """Whether an error is about what was asked for, and no fault of ours: every check of ours raises its own TypeError or
    ValueError. One that Python itself raised in our code is no check's, and no other library is given what users type."""
    if isinstance(error, (OSError, MemoryError, ImportError)):
        return True
    if not isinstance(error, (ValueError, TypeError)):
        return False
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    if where is None:
        return True
    ours = where.tb_frame.f_globals.get("__name__", "").startswith("hetsched.")
    raised = where.tb_frame.f_code.co_code[where.tb_lasti] in _RAISES
    return raised if ours else isinstance(error, ValueError)  # a reader of files says what is wrong with one


#: What `raise` is compiled to.
_RAISES = (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])


def _fault(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    return f"a fault of hetsched, not of what was asked: {text} (-v shows where; please report it)"


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hetsched", description="Plan, simulate and run dense linear algebra on workers of unequal speed."
    )
    parser.add_argument("--version", action="version", version=f"hetsched {__version__}")
    parser.set_defaults(command=lambda _: parser.print_help())
    commands = parser.add_subparsers(metavar="COMMAND")
    for module in (demo, info, measure, join, planning, run, mpi, exec, reproduce, study, bench):
        module.add_parser(commands)
    completion.add_parser(commands, parser)
    for command, default in ((parser, False), *((command, argparse.SUPPRESS) for command in commands.choices.values())):
        command.add_argument(
            "-v", "--verbose", action="store_true", default=default, help="show where in the program an error comes from"
        )
        command.add_argument(
            "-q",
            "--quiet",
            action="store_true",
            default=default,
            help="print nothing but errors, and what --json or --csv ask for",
        )
    return parser
