"""The results of a parameter study: as a table, in files, and in a journal that survives being killed at any moment."""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import json
import os
import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._base.need import need
from .._base.replace import replace_file
from .cells import RESERVED, Cell, Scalar

if TYPE_CHECKING:
    from pandas import DataFrame

SUFFIXES = (".parquet", ".csv")
_METADATA = b"hetsched-study"
_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?(\d+\.?\d*(e[-+]?\d+)?|inf|nan)")


class Run(NamedTuple):
    """What became of one call: a row of measures, or several, the seconds that it took, and its error in words."""

    rows: list[dict[str, Scalar]]
    seconds: float
    error: str | None


class Design(NamedTuple):
    """All calls of a study in their order."""

    function: str
    cells: list[Cell]
    repeats: int
    seeds: list[int]
    seed: int

    def fingerprint(self) -> dict[str, Scalar]:
        """Equal for equal studies. Of two functions only the names can be told apart."""
        digest = hashlib.sha256("\n".join(cell.key for cell in self.cells).encode()).hexdigest()
        return {"function": self.function, "grid": digest, "repeats": self.repeats, "seed": self.seed}

    def parameters(self) -> list[str]:
        """Their names, in the order in which they are met."""
        return list(dict.fromkeys(chain.from_iterable(cell.shown for cell in self.cells)))

    def place(self, number: int) -> tuple[Cell, int, int]:
        """Cell, repeat and seed of a call."""
        cell, repeat = divmod(number, self.repeats)
        return self.cells[cell], repeat, self.seeds[number]


def frame(design: Design, runs: dict[int, Run]) -> DataFrame:
    """A row for each row of measures, whatever the order in which the calls ended."""
    pandas = need("pandas", "study")
    rows: list[dict[str, Scalar]] = []
    measures: dict[str, None] = {}
    for number in range(len(design.seeds)):
        cell, repeat, seed = design.place(number)
        run = runs[number]
        for own in run.rows:
            measures.update(dict.fromkeys(own))
            rows.append({**cell.shown, "repeat": repeat, "seed": seed, **own, "seconds": run.seconds, "error": run.error})
    names = [*design.parameters(), "repeat", "seed", *measures, "seconds", "error"]
    return pandas.DataFrame({name: _column(pandas, name, [row.get(name) for row in rows]) for name in names})


def _column(pandas: Any, name: str, values: list[Scalar]) -> Any:
    """One kind of values in each column, so that every file takes it; what is missing stays missing."""
    kinds = {type(value) for value in values if value is not None}
    missing = None in values
    if kinds == {bool}:
        return pandas.Series(values, dtype="boolean" if missing else "bool")
    if kinds == {int}:
        return pandas.Series(values, dtype="Int64" if missing else "int64")
    if kinds and kinds <= {int, float}:
        return pandas.Series(values, dtype="float64")
    if not kinds and name != "error":
        return pandas.Series([float("nan")] * len(values), dtype="float64")
    return pandas.Series([None if value is None else str(value) for value in values], dtype="str")


def require_output(path: str | os.PathLike[str]) -> Path:
    """A file that can be written, before any work."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be the name of a file, got {path!r}")
    found = Path(path)
    if found.suffix not in SUFFIXES:
        raise ValueError(f"path must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    if found.suffix == ".parquet":
        need("pyarrow.parquet", "a path that ends in .parquet")
    if not found.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist", str(path))
    return found


def write(path: Path, table: DataFrame, design: Design) -> None:
    """As the file's name says, whole or not at all."""
    with replace_file(path) as file:
        if path.suffix == ".csv":
            text = table.to_csv(index=False, lineterminator="\n")
            if "\r" in text:  # which readers take for the end of a line, and writers do not quote
                text = table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
            file.write(text.encode())
            return
        content = need("pyarrow", "path").Table.from_pandas(table, preserve_index=False)
        own = {**content.schema.metadata, _METADATA: json.dumps(design.fingerprint()).encode()}
        need("pyarrow.parquet", "path").write_table(content.replace_schema_metadata(own), file)


def read(path: Path, design: Design) -> dict[int, Run]:
    """The runs in a file that `write` has written; ValueError if they are not those of this study."""
    rows = _csv_rows(path) if path.suffix == ".csv" else _parquet_rows(path, design)
    others = {*design.parameters(), *RESERVED}
    runs: dict[int, Run] = {}
    number = -1
    for row in rows:
        if number < 0 or (row.get("repeat"), row.get("seed")) != design.place(number)[1:]:
            number += 1
            if number == len(design.seeds) or (row.get("repeat"), row.get("seed")) != design.place(number)[1:]:
                raise _other(path, "other rows")
            error = row.get("error")
            runs[number] = Run([], float(row.get("seconds") or 0.0), None if error is None else str(error))
        runs[number].rows.append({name: value for name, value in row.items() if name not in others})
    if number + 1 != len(design.seeds):
        raise _other(path, "other rows")
    return runs


def _other(path: Path, what: str) -> ValueError:
    return ValueError(f"path: {path} is of another study, with {what}; remove it or give another path")


def _parquet_rows(path: Path, design: Design) -> list[dict[str, Scalar]]:
    try:
        table = need("pyarrow.parquet", "path").read_table(path)
    except ValueError as error:  # pyarrow's own is one
        raise ValueError(f"path: {path} is no Parquet file: {error}") from None
    found = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
    for name, value in design.fingerprint().items():
        if found.get(name) != value:
            raise _other(path, f"another {name}")
    rows: list[dict[str, Scalar]] = table.to_pylist()
    return rows


def _csv_rows(path: Path) -> list[dict[str, Scalar]]:
    import csv

    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    if not lines:
        return []
    return [dict(zip(lines[0], map(_parsed, line), strict=False)) for line in lines[1:]]


def _parsed(entry: str) -> Scalar:
    """CSV knows no kinds: what looks like a number is one."""
    if entry in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[entry]
    if _INTEGER.fullmatch(entry):
        return int(entry)
    return float(entry) if _FLOAT.fullmatch(entry) else entry


class Journal:
    """The runs that are done, a line of JSON for each, beside the file that they will be in; the first line says of which study.

    It is locked against other processes. A line that was cut short does not count.

    Raises
    ------
    BlockingIOError
        If another process has it.
    FileExistsError
        If a file of that name is not a journal.
    ValueError
        If it is of another study.
    """

    def __init__(self, path: Path, design: Design) -> None:
        self.path = Path(f"{path}.journal")
        header = {"format": "hetsched-study", "version": 1, **design.fingerprint()}
        self._open()
        try:
            self.runs = self._read(header)
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        while True:
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path)):
                    return
            except BlockingIOError:
                self._file.close()
                raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing it", str(self.path)) from None
            except FileNotFoundError:
                pass
            self._file.close()  # the process that had it has just removed it

    def _read(self, header: dict[str, Any]) -> dict[int, Run]:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        start = json.dumps(header).encode()
        if not whole and start.startswith(content):  # killed in the first line
            self._file.truncate(0)
            self._add(header)
            return {}
        lines = content[:whole].splitlines()
        found = _decoded(lines[0]) if lines else {}
        if any(found.get(name) != header[name] for name in ("format", "version")):
            raise FileExistsError(errno.EEXIST, "is in the way, and no earlier call wrote it; remove it", str(self.path))
        for name, value in header.items():
            if found.get(name) != value:
                raise _other(self.path, f"another {name}")
        self._file.truncate(whole)
        done = [line for line in map(_decoded, lines[1:]) if line]
        return {line["run"]: Run(line["rows"], line["seconds"], line["error"]) for line in done}

    def add(self, number: int, run: Run) -> None:
        """A run is done; it is in the file when this returns."""
        self._add({"run": number, **run._asdict()})

    def _add(self, content: dict[str, Any]) -> None:
        line = json.dumps(content).encode() + b"\n"
        if self._file.write(line) != len(line):  # a full disk; the rest would say so
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def remove(self) -> None:
        """The results are in their file."""
        self.path.unlink()

    def close(self) -> None:
        self._file.close()


def _decoded(line: bytes) -> dict[str, Any]:
    """Of a line; empty where it is no object in JSON."""
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
