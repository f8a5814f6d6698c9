"""The command `hetsched`."""

from __future__ import annotations

import argparse
import dis
import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout

from .._base.progress import no_bars
from .._base.version import __version__
from . import bench, completion, demo, exec, info, join, measure, mpi, planning, reproduce, run, streams, study


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status: 0, 1 for an error, 2 for wrong usage, 130 after Ctrl-C."""
    streams.prepare()
    try:
        status = _run(_parser().parse_args(arguments))
    except SystemExit as end:  # after --help, wrong usage, an error on another rank
        if not streams.finish() and not end.code:
            end.code = 1
        raise
    return status if streams.finish() else status or 1


def _run(given: argparse.Namespace) -> int:
    """The exit status of a command."""
    try:
        with _hushed(given) if given.quiet else nullcontext():
            given.command(given)
    except BrokenPipeError:  # the reader has seen enough
        return 0
    except KeyboardInterrupt as stopped:
        streams.say(f"interrupted{stopped}")
        return 130
    except Exception as error:
        if given.verbose:
            streams.say(traceback.format_exc())
        if not isinstance(error, OSError) or error.filename or streams.finish():  # else it was that of the output, and is told
            streams.say(_sentence(error) if _is_the_users(error) else _fault(error))
        return 1
    return 0


@contextmanager
def _hushed(given: argparse.Namespace) -> Iterator[None]:
    """No bars; nothing on standard output either, unless it is for programs."""
    with no_bars(), ExitStack() as stack:
        if not (getattr(given, "json", False) or getattr(given, "csv", False)):
            stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w", encoding="utf-8", errors="replace"))))
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
