"""`hetsched --cflags --libs`: what a compiler of C programs needs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable

from .._engine.c_library import compiler_words, include_folder, pkgconfig_folder

#: Option -> what it prints, and its help.
OPTIONS: dict[str, tuple[Callable[[], list[str]], str]] = {
    "--cflags": (lambda: compiler_words("Cflags"), "print the options that compile a C program"),
    "--libs": (
        lambda: compiler_words("Libs"),
        "print the options that link it, so that it finds the library when it runs",
    ),
    "--includedir": (lambda: [str(include_folder())], "print the folder of hetsched.h"),
    "--pkgconfigdir": (
        lambda: [str(pkgconfig_folder())],
        "print the folder of hetsched.pc, for PKG_CONFIG_PATH",
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. Without a command they are what the program prints."""
    group = parser.add_argument_group("for C programs", "cc plan.c $(hetsched --cflags --libs)")
    for option, (_, text) in OPTIONS.items():
        group.add_argument(
            option, action="append_const", dest="c_flags", const=option, help=text, default=[]
        )


def print_flags(given: argparse.Namespace) -> None:
    """Print the words of the given options on one line, in the order of the options."""
    print(shlex.join(word for option in given.c_flags for word in OPTIONS[option][0]()))
