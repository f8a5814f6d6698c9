"""The command `hetsched`."""

from __future__ import annotations

import argparse
import dis
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout, suppress
from importlib import import_module
from typing import Any

from .._base.progress import no_bars
from .._base.version import __version__
from . import c_flags, completion, streams


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point. Returns the exit status: 0, 1 (an error), 2 (wrong usage) or 130 (Ctrl-C)."""
    streams.prepare()
    words = sys.argv[1:] if arguments is None else arguments
    try:
        status = _run(_parser(words).parse_args(words))
    except SystemExit as end:  # after --help, wrong usage, an error on another rank
        if not streams.finish() and not end.code:
            end.code = 1
        raise
    return status if streams.finish() else status or 1


def _run(given: argparse.Namespace) -> int:
    """Run a command and return its exit status."""
    try:
        with _hushed(given) if given.quiet else nullcontext():
            given.command(given)
    except BrokenPipeError:  # the reader of the output has closed the pipe
        return 0
    except KeyboardInterrupt as stopped:
        streams.say(f"interrupted{stopped}")
        return 130
    except Exception as error:
        if given.verbose:
            streams.say(traceback.format_exc())
        # If the output itself failed, `streams.finish` has reported the error.
        if not isinstance(error, OSError) or error.filename or streams.finish():
            streams.say(_sentence(error) if _is_the_users(error) else _fault(error))
        return 1
    return 0


@contextmanager
def _hushed(given: argparse.Namespace) -> Iterator[None]:
    """Suppress progress bars, and standard output unless it is for programs (JSON or CSV)."""
    with no_bars(), ExitStack() as stack:
        if not (getattr(given, "json", False) or getattr(given, "csv", False)):
            stack.enter_context(
                redirect_stdout(
                    stack.enter_context(open(os.devnull, "w", encoding="utf-8", errors="replace"))
                )
            )
        yield


def _is_the_users(error: Exception) -> bool:
    """Whether the user caused an error, and not a bug in hetsched.

    Every check of hetsched raises its own TypeError or ValueError, so an error that Python itself
    raises in code of hetsched is a bug. Other libraries do not get the user's input.
    """
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
    # A ValueError from another library comes from a reader of files and says what is wrong with a
    # file.
    return raised if ours else isinstance(error, ValueError)


#: Opcodes of `raise`.
_RAISES = (dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"])


def _fault(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    return (
        f"internal error in hetsched: {text} (not caused by your input; -v shows the traceback;"
        " please report it)"
    )


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


class _Parser(argparse.ArgumentParser):
    """A parser that exits with its own status if the stream of a message is full.

    Newer Pythons do the same; argparse of Python 3.11.2 raises OSError instead.
    """

    def _print_message(self, message: str, file: Any = None) -> None:
        with suppress(OSError):
            super()._print_message(message, file)


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of these arguments. If all are options for C programs it has no commands."""
    parser = _Parser(
        prog="hetsched",
        description="Plan, simulate and run dense linear algebra on workers of unequal speed.",
    )
    parser.add_argument("--version", action="version", version=f"hetsched {__version__}")
    c_flags.add_options(parser)
    parser.set_defaults(
        command=lambda given: c_flags.print_flags(given) if given.c_flags else parser.print_help()
    )
    _add_common(parser, False)
    if not words or not set(words) <= set(c_flags.OPTIONS):
        _add_commands(parser, words)
    return parser


#: The modules of the commands, in the order of --help. `planning` has several commands; each other
#: module has one, with the name of the module.
_MODULES = (
    "demo",
    "info",
    "measure",
    "join",
    "planning",
    "run",
    "mpi",
    "linpack",
    "exec",
    "reproduce",
    "study",
    "bench",
)


def _add_commands(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Add all commands, or only the one that the first argument names, if its module has no other.

    Modules are loaded only if they are needed: scripts start hundreds of programs by
    `hetsched exec`, and makefiles ask for --cflags.
    """
    first = words[0] if words else ""
    is_one = first in _MODULES and first != "planning"
    commands = parser.add_subparsers(metavar="COMMAND")
    for name in (first,) if is_one else _MODULES:
        import_module(f".{name}", __package__).add_parser(commands)
    if not is_one:
        completion.add_parser(commands, parser)
    for command in commands.choices.values():
        _add_common(command, argparse.SUPPRESS)


def _add_common(parser: argparse.ArgumentParser, default: object) -> None:
    """Add the options that the program and each command have."""
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        default=default,
        help="show the traceback of an error",
    )
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        default=default,
        help="print only errors, and the output of --json or --csv",
    )
