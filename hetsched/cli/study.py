"""`hetsched study`: a table of a function over a grid of parameters, or of a paper's study."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from .._base import check
from .._base.need import need
from .._base.table import Table, table
from .._base.toml import read_toml
from ..studies.ready import READY
from ..studies.results import SUFFIXES
from ..studies.study import study
from .output import require_folder
from .streams import say

_EXAMPLES = """examples:
  hetsched study --list                          list the named studies
  hetsched study rings -o rings.csv --repeats 2
  hetsched study study.toml -o results.parquet --jobs 2    continues if interrupted before

study.toml, for a named study or for a function in a module beside the file:
  function = "package.module:function"           or: study = "rings"
  repeats = 10
  seed = 1
  [grid]                                         all combinations; or [[grid]] for single cells
  p = [4, 8, 16]
With samples = 100, 100 cells are drawn at random. A parameter is drawn from its list of values, or
from a distribution of scipy.stats:
  ratio = {distribution = "loguniform", a = 1, b = 10}
"""
_KEYS = ("study", "function", "grid", "samples", "repeats", "seed")


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "study",
        help="call a function for each cell of a grid of parameters",
        description=(
            "Call a function for each cell of a grid of parameters, or of a random design. Print"
            " or write a table of the results, with the seed, the time and the error of each call."
        ),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "study", nargs="?", metavar="STUDY", help="a .toml file, or the name of a study"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the named studies and what each compares"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the table: .parquet or .csv; a second run continues it",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="number of processes; -1: one per core (default: 1)",
    )
    parser.add_argument(
        "--repeats", type=int, metavar="N", help="calls per cell, instead of the study's own number"
    )
    parser.add_argument(
        "--seed", type=int, metavar="S", help="seed, instead of the study's own (default: 0)"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.set_defaults(command=_study)


def _study(given: argparse.Namespace) -> None:
    if given.list:
        print(table([(name, ready.what) for name, ready in READY.items()]))
        return
    if given.study is None:
        raise ValueError("give a .toml file or the name of a study; --list shows the names")
    if given.output:
        require_folder("--output", given.output)
        if Path(given.output).suffix not in SUFFIXES:
            raise ValueError(f"--output must end in {' or '.join(SUFFIXES)}, got {given.output!r}")
    if given.jobs == 0:
        raise ValueError("--jobs must be the number of processes, or -1 for one per core, got 0")
    content = _read(given.study) if Path(given.study).suffix == ".toml" else {"study": given.study}
    content |= {
        name: value for name in ("repeats", "seed") if (value := getattr(given, name)) is not None
    }
    function, grid, options = _arguments(given.study, content)
    start = time.monotonic()
    try:
        frame = study(
            function, grid, **options, n_jobs=given.jobs, path=given.output, progress=True
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            "; run the same command again to continue" if given.output else ""
        ) from None
    failed = frame["error"].dropna()
    if given.json:
        print(frame.to_json(orient="records"))
    else:
        if not given.output:
            print(Table(frame.astype(object).where(frame.notna(), "").to_dict("records")))
        place = f"{given.output}: " if given.output else ""
        print(
            f"{place}{len(frame)} rows, {len(failed)} with an error,"
            f" {time.monotonic() - start:.3g} s"
        )
    if len(failed):
        say(f"{len(failed)} of {len(frame)} rows have an error, the first: {failed.iloc[0]}")


def _read(path: str) -> dict[str, Any]:
    try:
        content = read_toml(path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    check.keys(content, _KEYS, f" in {path}")
    if ("study" in content) == ("function" in content):
        raise ValueError(
            f"{path}: give either study, a name, or function, as 'package.module:function'"
        )
    return content


def _arguments(
    where: str, content: dict[str, Any]
) -> tuple[Callable[..., Any], Any, dict[str, Any]]:
    """The function, its grid and the options of a study."""
    options: dict[str, Any] = {
        name: content[name] for name in ("samples", "repeats", "seed") if name in content
    }
    grid = content.get("grid", {})
    if not isinstance(grid, dict | list):
        raise ValueError(
            f"{where}: grid must be a table of values by name,"
            f" or an array of such tables, got {grid!r}"
        )
    if isinstance(grid, dict):
        grid = {name: _values(where, name, value) for name, value in grid.items()}
    if "function" in content:
        return _function(where, content["function"]), grid, options
    name = content["study"]
    if name not in READY:
        raise ValueError(
            f"unknown study {name!r}; give one of {', '.join(READY)}, or a file that ends in .toml"
        )
    ready = READY[name]
    return (
        ready.function,
        {**ready.grid, **grid} if isinstance(grid, dict) else grid,
        {"repeats": ready.repeats} | options,
    )


def _values(where: str, name: str, value: Any) -> Any:
    """The values of a parameter, or a distribution of scipy.stats if the table names one."""
    if not isinstance(value, dict) or "distribution" not in value:
        return value
    parameters = dict(value)
    kind = parameters.pop("distribution")
    found: Any = (
        getattr(need("scipy.stats", "distribution"), kind, None) if isinstance(kind, str) else None
    )
    if not hasattr(found, "rvs"):
        raise ValueError(f"{where}: grid.{name}: scipy.stats has no distribution {kind!r}")
    try:
        return found(**parameters)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: grid.{name}: {error}") from None


def _function(where: str, name: Any) -> Callable[..., Any]:
    """Import a function from a module on Python's path or beside the file.

    Python finds modules beside a script in the same way.
    """
    if not isinstance(name, str) or name.count(":") != 1:
        raise ValueError(f"{where}: function must be 'package.module:function', got {name!r}")
    module, _, attributes = name.partition(":")
    if (folder := str(Path(where).resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = import_module(module)
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    except Exception as error:
        raise ValueError(
            f"{where}: function {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    if not callable(found):
        raise ValueError(f"{where}: function {name!r} is a {type(found).__name__}")
    checked: Callable[..., Any] = found
    return checked
