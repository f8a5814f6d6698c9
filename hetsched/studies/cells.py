"""The cells of a parameter study: the arguments and the seed of each call of its function."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._base import check

#: A value in a cell of a table.
Scalar = None | bool | int | float | str

#: Names of columns that are neither parameters nor measures.
RESERVED = ("repeat", "seed", "seconds", "error")
_MOST = 10**7  # runs; a table of more rows takes gigabytes
_NUMBERS = 2**63
_BY_NAME = "give values of other kinds by name, as {'name': value}"


class Value(NamedTuple):
    """One value of a parameter: the argument, its identity in plain values, its text in a table."""

    given: Any
    key: Any
    shown: Scalar


class Cell(NamedTuple):
    """Arguments by name, the columns that show them, and a key independent of other cells."""

    given: dict[str, Any]
    shown: dict[str, Scalar]
    key: str


def text(value: str) -> str:
    r"""Write unpaired surrogates as \udxxx, because UTF-8 cannot encode them."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def value_of(name: str, given: Any) -> Value:
    """A number, a string, a list or table of these, or an object with a name or a `to_dict`.

    Raises ValueError for other objects.
    """
    plain = _plain(name, given)
    if plain is not None or given is None:
        if isinstance(plain, list | dict):
            return Value(given, plain, json.dumps(plain))
        return Value(plain, plain, plain)
    if isinstance(given, os.PathLike):  # its name is only its last component
        path = text(os.fsdecode(given))
        return Value(given, path, path)
    for attribute in ("name", "__name__"):
        if isinstance(label := getattr(given, attribute, None), str):
            return Value(given, text(label), text(label))
    if (
        callable(to_dict := getattr(given, "to_dict", None))
        and (content := _plain(name, to_dict())) is not None
    ):
        return Value(given, content, text(repr(given)))
    raise ValueError(f"{name} is of type {type(given).__name__}; {_BY_NAME}")


def _plain(name: str, value: Any) -> Any:
    """The value as JSON can hold it; None if JSON cannot hold it."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        if not -_NUMBERS <= value < _NUMBERS:
            raise ValueError(f"{name} must fit in 64 bits, got {value!r:.40}")
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, np.ndarray):
        return _plain(name, value.tolist())
    if isinstance(value, list | tuple):
        entries = [(entry, _plain(name, entry)) for entry in value]
        return (
            None
            if any(own is None and entry is not None for entry, own in entries)
            else [own for _, own in entries]
        )
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        rows = {text(key): (entry, _plain(name, entry)) for key, entry in value.items()}
        if any(own is None and entry is not None for entry, own in rows.values()):
            return None
        return {key: own for key, (_, own) in rows.items()}
    return None


def make_cells(grid: Any, samples: int | None, repeats: int, seed: int) -> list[Cell]:
    """The cells of a grid, of a sequence of cells, or of a random design; see `study`."""
    if not isinstance(grid, Mapping):
        if samples is not None:
            raise ValueError(
                "samples needs a grid that maps names to values or distributions,"
                " not a sequence of cells"
            )
        return _listed(
            check.entries(
                "grid", grid, "a mapping of names to values, or a sequence of such mappings"
            ),
            repeats,
        )
    _require_names(grid)
    if samples is not None:
        _require_few(samples * repeats)
        choices = {name: _choices(name, values) for name, values in grid.items()}
        return [_drawn(choices, number, seed) for number in range(samples)]
    values = {name: _values(name, given) for name, given in grid.items()}
    _require_few(math.prod(map(len, values.values())) * repeats)
    return [
        _cell(dict(zip(values, row, strict=True))) for row in itertools.product(*values.values())
    ]


def _cell(values: Mapping[str, Value], number: int | None = None) -> Cell:
    content: Any = {name: value.key for name, value in values.items()}
    key = json.dumps(content if number is None else [number, content], sort_keys=True)
    return Cell(
        {n: v.given for n, v in values.items()}, {n: v.shown for n, v in values.items()}, key
    )


def _require_names(grid: Iterable[Any]) -> None:
    for name in grid:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"grid has {name!r}, which cannot be the name of an argument")
        if name in RESERVED:
            raise ValueError(f"grid has {name!r}, a column that the study itself writes")


def _require_few(runs: int) -> None:
    if runs > _MOST:
        raise ValueError(
            f"grid has {runs} runs with all repeats, at most {_MOST} can be kept in a table"
        )


def _values(name: str, given: Any) -> list[Value]:
    """The values of a parameter, which must all be different."""
    if hasattr(given, "rvs") or callable(given):
        raise ValueError(f"grid[{name!r}] is a distribution: give samples, the number of cells")
    found = _listed_values(name, given)
    for part in ("key", "shown"):
        if twice := check.repeated(
            json.dumps(getattr(value, part), sort_keys=True) for value in found
        ):
            raise ValueError(
                f"grid[{name!r}] has {twice} twice; "
                + (
                    "use repeats, or if the values differ give them names: {'name': value, ...}"
                    if part == "key"
                    else _BY_NAME
                )
            )
    return found


def _listed_values(name: str, given: Any) -> list[Value]:
    if isinstance(given, Mapping):
        if not all(isinstance(label, str) for label in given):
            raise ValueError(
                f"grid[{name!r}] must have strings as the names of its values, got {list(given)!r}"
            )
        found = [Value(value, text(label), text(label)) for label, value in given.items()]
    else:
        entries = check.entries(f"grid[{name!r}]", given, "a sequence of values")
        found = [value_of(f"grid[{name!r}][{i}]", value) for i, value in enumerate(entries)]
    if not found:
        raise ValueError(f"grid[{name!r}] is empty")
    return found


def _listed(given: list[Any], repeats: int) -> list[Cell]:
    if not given:
        raise ValueError("grid is empty: at least one cell is needed")
    _require_few(len(given) * repeats)
    cells: list[Cell] = []
    places: dict[str, int] = {}
    for i, row in enumerate(given):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"grid[{i}] must be a mapping of names to values, such as {{'n': 10}}, got {row!r}"
            )
        _require_names(row)
        cells.append(
            _cell({name: value_of(f"grid[{i}][{name!r}]", value) for name, value in row.items()})
        )
        if (first := places.setdefault(cells[i].key, i)) != i:
            raise ValueError(f"grid[{i}] is the same cell as grid[{first}]; use repeats")
    return cells


def _choices(name: str, given: Any) -> Any:
    """What a parameter is drawn from: a distribution, a function of a generator, or values."""
    if hasattr(given, "rvs") or callable(given):
        return given
    return _listed_values(name, given)


def _drawn(choices: Mapping[str, Any], number: int, seed: int) -> Cell:
    """Draw each parameter from its own stream: more samples or parameters do not change values."""
    values: dict[str, Value] = {}
    for name, choice in choices.items():
        rng = np.random.default_rng(_sequence(f"{number} of {name}", seed))
        if isinstance(choice, list):
            values[name] = choice[int(rng.integers(len(choice)))]
        else:
            drawn = choice.rvs(random_state=rng) if hasattr(choice, "rvs") else choice(rng)
            values[name] = value_of(
                f"a value drawn for grid[{name!r}]",
                drawn[()] if isinstance(drawn, np.ndarray) else drawn,
            )
    return _cell(values, number)


def seed_of(cell: Cell, repeat: int, seed: int) -> int:
    """A seed below 2**32, which every library accepts. It depends on no other cell."""
    return int(_sequence(f"repeat {repeat} of {cell.key}", seed).generate_state(1)[0])


def _sequence(what: str, seed: int) -> np.random.SeedSequence:
    words = np.frombuffer(hashlib.sha256(what.encode()).digest(), "<u4")
    return np.random.SeedSequence(seed, spawn_key=tuple(words.tolist()))
