"""A function over a grid of parameters or a random design: rows with seeds, times and errors."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from .._base import check
from .._base.need import need
from .._base.progress import Progress, reporting
from .._base.replace import require_replaceable
from ..plan import Plan
from . import results
from .cells import RESERVED, Cell, Scalar, make_cells, seed_of, text, value_of
from .results import Design, Journal, Run

if TYPE_CHECKING:
    from pandas import DataFrame

_PROCESSES = 2**16
_LOOK = 0.5  # seconds between checks that the parent is alive
# prefix of the names of joblib's processes; processes of other backends may be elsewhere
_LOKY = "LokyProcess"
_Call = tuple[int, dict[str, Any]]


def study(
    function: Callable[..., Any],
    grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    samples: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int = 1,
    path: str | os.PathLike[str] | None = None,
    progress: bool | Progress | None = None,
) -> DataFrame:
    """Call a function for every combination of parameter values and collect the results in a table.

    Parameters
    ----------
    function : callable
        Called with the parameters of a cell by name, and with `seed`, an int below 2**32, if it has
        an argument of that name or takes any (``**kwargs``). It returns a number (column "value"),
        a mapping or named tuple of measures, a list of mappings (a row for each), or a Plan
        (columns "value", "bound", "gap" and "optimal"). If it raises an exception, this becomes the
        error of the row.
    grid : mapping of str to sequence, or sequence of mappings
        The values of each parameter; all combinations are taken, and the last parameter varies
        fastest. Or the cells one by one. Values are numbers, strings, lists or tables of these, and
        objects with a name or a `to_dict`, such as a Platform. A mapping instead of a sequence
        names values of any kind; the table shows the names.
    samples : int, optional
        Number of cells to draw instead. Each parameter is drawn from a distribution of scipy.stats,
        by a function of a numpy.random.Generator, or with equal chances from a sequence.
    repeats : int
        Number of calls for each cell, each with another seed.
    seed : int
        >= 0. The seed of a call depends on this seed, on the cell's own values and on the number of
        the repeat. More values, more samples, more repeats and another order do not change the
        seeds of the remaining calls.
    n_jobs : int
        Number of processes, by joblib; -1 for one on each core, -2 for one less. With 1 the
        function is called in this process.
    path : str or path, optional
        A .parquet or .csv file for the table. Until it is complete, each completed call is kept in
        `path`.journal, and the same call of `study` continues where an earlier one was interrupted
        or killed. If the file is complete, it is read and nothing is called. A file or journal of a
        study with another function name (which a .csv file does not have), grid, repeats or seed
        is refused. Damage is an error; checksums detect it in the journal's lines and in a
        .parquet file, but a .csv file has none. Calls that failed are not tried again: remove the
        file to repeat them.
    progress : bool or callable, optional
        True for a bar on standard error, or a function that is called with the fraction done.

    Returns
    -------
    pandas.DataFrame
        A row for each call, or for each mapping of its list, in the order of the grid. Columns: the
        parameters, "repeat", "seed", the measures, "seconds" that the call took, and "error", which
        is missing if there was none.

    Raises
    ------
    ValueError
        If a name, a value or a size is invalid, or `path` belongs to another study or is damaged.
    TypeError
        If the function does not take the names of the grid.
    OSError
        If a file cannot be read or written, or another process is writing it.
    ImportError
        If pandas is not installed, or pyarrow for .parquet files, or joblib for several processes.

    Notes
    -----
    Ctrl-C ends the processes, even in the middle of a call, and keeps completed calls.

    Examples
    --------
    >>> import hetsched as hs
    >>> def cost(method, p, seed):
    ...     return hs.partition(hs.datasets.random("uniform", p, seed=seed), method).cost
    >>> table = hs.study(cost, {"method": ["columns", "best"], "p": [4, 8]}, repeats=3)
    >>> len(table), list(table.columns)
    (12, ['method', 'p', 'repeat', 'seed', 'value', 'seconds', 'error'])
    """
    if not callable(function):
        raise TypeError(f"function must be callable, got {function!r}")
    repeats = check.integer("repeats", repeats, low=1)
    samples = None if samples is None else check.integer("samples", samples, low=1)
    seed = check.integer("seed", seed, low=0)
    jobs = check.integer("n_jobs", n_jobs, low=-_PROCESSES, high=_PROCESSES)
    if jobs == 0:
        raise ValueError(
            "n_jobs must be the number of processes, or -1 for one on each core, got 0"
        )
    need("pandas", "study")
    output = None if path is None else results.require_output(path)
    with reporting(progress) as tell:
        cells = make_cells(grid, samples, repeats, seed)
        with_seed = _takes_seed(function, cells)
        seeds = [seed_of(cell, repeat, seed) for cell in cells for repeat in range(repeats)]
        design = Design(_name(function), cells, repeats, seeds, seed)
        if output is None:
            return results.frame(
                design, _completed(design, function, with_seed, jobs, tell, {}, None)
            )
        if output.exists() and not os.path.exists(f"{output}.journal"):
            return results.frame(design, results.read(output, design))
        require_replaceable(output)
        with closing(Journal(output, design)) as journal:
            table = results.frame(
                design, _completed(design, function, with_seed, jobs, tell, journal.runs, journal)
            )
            results.write(output, table, design)
            journal.remove()
        return table


def _name(function: Callable[..., Any]) -> str:
    """The name of a function, which is the same in another process."""
    inner = function.func if isinstance(function, partial) else function
    return f"{inner.__module__}:{getattr(inner, '__qualname__', type(inner).__qualname__)}"


def _takes_seed(function: Callable[..., Any], cells: Iterable[Cell]) -> bool:
    """Whether the function takes an argument `seed`; TypeError if it does not take the cells'."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    named = [
        p.name
        for p in signature.parameters.values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    with_seed = "seed" in named or any(
        p.kind is p.VAR_KEYWORD for p in signature.parameters.values()
    )
    for names in dict.fromkeys(tuple(cell.given) for cell in cells):
        try:
            signature.bind(**dict.fromkeys((*names, "seed") if with_seed else names))
        except TypeError as error:
            raise TypeError(
                f"function {_name(function)} does not take what grid gives: {error}"
            ) from None
    return with_seed


def _completed(
    design: Design,
    function: Callable[..., Any],
    with_seed: bool,
    jobs: int,
    tell: Progress | None,
    runs: dict[int, Run],
    journal: Journal | None,
) -> dict[int, Run]:
    """All runs: the given ones, and the missing ones, which are computed here."""
    left: list[_Call] = []
    for number in range(len(design.seeds)):
        if number not in runs:
            cell, _, seed = design.place(number)
            left.append((number, cell.given | {"seed": seed} if with_seed else cell.given))
    if tell is not None and runs:
        tell(len(runs) / len(design.seeds))
    with closing(_results(partial(_run, function, os.getpid()), left, jobs)) as ended:
        for number, run in ended:
            runs[number] = run
            if journal is not None:
                journal.add(number, run)
            if tell is not None:
                tell(len(runs) / len(design.seeds))
    return runs


def _results(
    run: Callable[[_Call], tuple[int, Run]], calls: list[_Call], jobs: int
) -> Generator[tuple[int, Run]]:
    """The results, in the order in which the calls end."""
    if jobs != 1 and len(calls) > 1:
        joblib = need("joblib", "n_jobs")
        processes = min(joblib.effective_n_jobs(jobs), len(calls))
        if processes > 1:
            parallel = joblib.Parallel(n_jobs=processes, return_as="generator_unordered")
            with closing(parallel(joblib.delayed(run)(call) for call in calls)) as ended:
                yield from ended
            return
    for call in calls:
        yield run(call)


@cache
def _follow(parent: int) -> None:
    """End this process of joblib when its parent ends, even in the middle of a call."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _run(function: Callable[..., Any], master: int, call: _Call) -> tuple[int, Run]:
    if os.getpid() != master and multiprocessing.current_process().name.startswith(_LOKY):
        if os.getppid() != master:  # the parent died while the call was being sent
            os._exit(1)
        _follow(master)
    number, given = call
    start = time.perf_counter()
    try:
        rows, error = _rows(function(**given), given), None
    except Exception as failure:
        rows, error = [{}], text(f"{type(failure).__name__}: {failure}".rstrip(": "))
    return number, Run(rows, time.perf_counter() - start, error)


def _rows(result: Any, given: dict[str, Any]) -> list[dict[str, Scalar]]:
    """The measures that a function has returned, as rows."""
    if isinstance(result, list):
        return [_measures(row, given) for row in result] or [{}]
    if isinstance(result, Plan):
        return [
            _measures(
                {name: getattr(result, name) for name in ("value", "bound", "gap", "optimal")},
                given,
            )
        ]
    if not isinstance(result, Mapping) and not hasattr(result, "_asdict"):
        result = {} if result is None else {"value": result}
    return [_measures(result, given)]


def _measures(result: Any, given: dict[str, Any]) -> dict[str, Scalar]:
    found = result._asdict() if hasattr(result, "_asdict") else result
    if not isinstance(found, Mapping):
        raise TypeError(
            f"a list that the function returns must have mappings, got {type(found).__name__}"
        )
    for name in found:
        if not isinstance(name, str):
            raise TypeError(
                f"the name of a measure must be a string, got {name!r} from the function"
            )
        if name in given or name in RESERVED:
            raise ValueError(
                f"the function returned a measure {name!r},"
                " but the table has another column of that name"
            )
    return {
        text(name): value_of(f"the measure {name!r}", value).shown for name, value in found.items()
    }
