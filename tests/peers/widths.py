"""Calls each function of BLAS libraries through the drop-in library, every call of which is the
engine's, and alone: their results, pivots and info must be the same, whatever the width of the
library's integers; see docs/peers.md.

python tests/peers/widths.py [--in FOLDER ...] [--write FILE]

Libraries are looked for in the system's folders, in those of Python's packages and in FOLDER, with
all folders inside: a tree of unpacked Debian packages, or of an environment with `pip install mkl
scipy-openblas32 scipy-openblas64`. What is not there is skipped. MKL's layers are linked to one
library by gcc. Each library with a LAPACK is also linked to a small program in C. Exits with 1 if
something differs. --write puts the rows into the table of a page.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dropin import LIMITS, calls, preloaded

TESTS = Path(__file__).resolve().parents[1]
MARKS = "<!-- widths -->", "<!-- end of widths -->"


@dataclass(frozen=True)
class Library:
    what: str
    width: str  # plain32, plain64: of dropin_calls
    files: tuple[str, ...]  # names of files, of which those before the last are opened as well
    variables: dict[str, str] = field(default_factory=dict)
    linked: bool = False  # the files are linked to one
    backend: tuple[str, str] | None = None  # a variable, and the file that it names


def mkl() -> Iterator[Library]:
    for layer, bits in (("", 32), ("LP64", 32), ("ILP64", 64)):
        variables = {"MKL_INTERFACE_LAYER": layer} if layer else {}
        yield Library(
            f"MKL, libmkl_rt, {layer or 'no'} MKL_INTERFACE_LAYER",
            f"plain{bits}",
            ("libmkl_rt.so*",),
            variables,
        )
    for layer, bits in (("lp64", 32), ("ilp64", 64)):
        for threads, runtime in (
            ("sequential", ()),
            ("gnu_thread", ("libgomp.so.1",)),
            ("intel_thread", ("libiomp5.so",)),
        ):
            files = (
                f"libmkl_intel_{layer}.so*",
                f"libmkl_{threads}.so*",
                "libmkl_core.so*",
                *runtime,
            )
            yield Library(
                f"MKL, libmkl_intel_{layer}, {threads}", f"plain{bits}", files, linked=True
            )


LIBRARIES = (
    Library("reference BLAS and LAPACK", "plain32", ("blas/libblas.so.3", "lapack/liblapack.so.3")),
    Library(
        "reference BLAS64 and LAPACK64",
        "plain64",
        ("blas64/libblas64.so.3", "lapack64/liblapack64.so.3"),
    ),
    Library("OpenBLAS, libopenblas", "plain32", ("libopenblas.so.0",)),
    Library("OpenBLAS, libopenblas64 (plain names)", "plain64", ("libopenblas64.so.0",)),
    Library("OpenBLAS, scipy-openblas32", "wheel32", ("libscipy_openblas.so",)),
    Library("OpenBLAS, scipy-openblas64", "wheel64", ("libscipy_openblas64_.so",)),
    Library("BLIS, libblis", "plain32", ("libblis.so.4",)),
    Library("BLIS, libblis64", "plain64", ("libblis64.so.4",)),
    Library(
        "FlexiBLAS, libflexiblas",
        "plain32",
        ("libflexiblas.so.3",),
        backend=("FLEXIBLAS", "libopenblas.so.0"),
    ),
    Library(
        "FlexiBLAS, libflexiblas64",
        "plain64",
        ("libflexiblas64.so.3",),
        backend=("FLEXIBLAS64", "libopenblas64.so.0"),
    ),
    *mkl(),
)


def found(pattern: str, folders: list[Path]) -> Path | None:
    """The first file of that name, with at most one folder before it."""
    return next(
        (path for folder in folders for path in sorted(folder.rglob(pattern)) if path.is_file()),
        None,
    )


def ran(command: list[str], variables: dict[str, str]) -> tuple[str, int, int]:
    """What it prints, and of how many calls the engine took how many."""
    env = {name: value for name, value in os.environ.items() if name not in LIMITS} | variables
    env |= {f"{name}_NUM_THREADS": "2" for name in ("MKL", "BLIS")}
    done = subprocess.run(command, env=preloaded(env), capture_output=True, text=True, timeout=600)
    if done.returncode:
        return f"ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}", 0, 0
    taken, count = calls(done.stderr)
    return done.stdout, taken, count


def compiled(*words: str | Path) -> bool:
    return (
        subprocess.run(["gcc", "-w", "-O2", *map(str, words)], capture_output=True).returncode == 0
    )


def tried(
    library: Library, paths: list[Path], backend: Path | None, folder: Path
) -> tuple[str, bool]:
    """A row of the table, and whether all is right."""
    variables = library.variables | {
        "LD_LIBRARY_PATH": ":".join(sorted({str(path.parent) for path in paths}))
    }
    if library.backend and backend:
        variables[library.backend[0]] = str(backend)
    rpaths = [f"-Wl,-rpath,{path.parent}" for path in paths]
    opened = paths
    if library.linked:
        opened = [folder / f"lib{re.sub('[^a-z0-9]', '', library.what.lower())}.so"]
        compiled("-shared", "-o", opened[0], "-Wl,--no-as-needed", *rpaths, *paths)
    said, taken, _ = ran(
        [
            sys.executable,
            str(TESTS / "dropin" / "dropin_widths.py"),
            library.width,
            *map(str, opened),
        ],
        variables,
    )
    count = re.fullmatch(r"(\d+) calls\n", said)
    right = [f"the same in {count[1]} calls" if count else said.strip().replace("\n", ", ")]
    fates = [f"{taken} taken"]
    wrong = not count
    program = folder / f"program-{library.width}"
    source = [f"-DINT=int{library.width[-2:]}_t", "-DMAIN", TESTS / "dropin" / "caller.c"]
    if compiled(
        *source, "-o", program, "-Wl,--no-as-needed", *rpaths, *reversed(paths), "-lm", "-ldl"
    ):
        said, taken, counted = ran([str(program)], variables)
        right.append("the same" if said == "0 0\n" else said.strip())
        fates.append(f"{taken} of {counted} taken")
        wrong |= said != "0 0\n"
    else:  # it has no LAPACK, or names with a prefix
        right.append("-")
        fates.append("-")
    row = (
        f"| {library.what} | {library.width[-2:]} | {right[0]} | {fates[0]} | {right[1]} |"
        f" {fates[1]} |"
    )
    return row, not wrong


def write(page: Path, rows: list[str]) -> None:
    """Into the page's table, where rows of libraries that are not there now stay."""
    start, end = MARKS
    before, _, rest = page.read_text(encoding="utf-8").partition(start)
    table, _, after = rest.partition(end)
    named = {
        row.split("|")[1].strip(): row
        for row in [*table.splitlines(), *rows]
        if row.startswith("|")
    }
    kept = [named[library.what] for library in LIBRARIES if library.what in named]
    head = [
        "",
        "| library | bits of integers | by name | | in a program | |",
        "|---|---|---|---|---|---|",
    ]
    page.write_text(before + "\n".join([start, *head, *kept, end]) + after, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--in", dest="folders", type=Path, nargs="*", default=[])
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.folders] + [
        Path("/usr/lib"),
        Path(sysconfig.get_path("purelib")),
    ]
    rows, right = [], True
    with tempfile.TemporaryDirectory() as made:
        for library in LIBRARIES:
            paths = [found(pattern, folders) for pattern in library.files]
            if None in paths:
                print(f"{library.what}: not there")
                continue
            row, good = tried(
                library,
                paths,
                found(library.backend[1], folders) if library.backend else None,
                Path(made),
            )
            print(row, flush=True)
            rows.append(row)
            right &= good
    if options.write:
        write(options.write, rows)
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
