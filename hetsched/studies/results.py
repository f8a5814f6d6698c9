"""Results of a parameter study: a table, files, and a journal that survives a kill at any time."""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import io
import json
import os
import re
import sys
import zlib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._base import check
from .._base.lines import content_of, line_of
from .._base.need import need
from .._base.regular import open_regular, read_text, require_regular
from .._base.replace import replace_file
from .cells import RESERVED, Cell, Scalar

if TYPE_CHECKING:
    from pandas import DataFrame

SUFFIXES = (".parquet", ".csv")
_FORMAT, _VERSION = "hetsched-study", 2
_METADATA, _CHECKSUM = _FORMAT.encode(), "checksum"
_ANEW = "remove the file to begin again"
_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?(\d+\.?\d*(e[-+]?\d+)?|inf|nan)")


class Run(NamedTuple):
    """The result of one call: rows of measures, its duration in seconds, its error in words."""

    rows: list[dict[str, Scalar]]
    seconds: float
    error: str | None


class Design(NamedTuple):
    """All calls of a study, in their order."""

    function: str
    cells: list[Cell]
    repeats: int
    seeds: list[int]
    seed: int

    def fingerprint(self) -> dict[str, Scalar]:
        """A dict that is equal for equal studies. Functions are told apart by their names only."""
        digest = hashlib.sha256("\n".join(cell.key for cell in self.cells).encode()).hexdigest()
        return {
            "function": self.function,
            "grid": digest,
            "repeats": self.repeats,
            "seed": self.seed,
        }

    def parameters(self) -> list[str]:
        """Names of the parameters, in the order in which they are met."""
        return list(dict.fromkeys(chain.from_iterable(cell.shown for cell in self.cells)))

    def place(self, number: int) -> tuple[Cell, int, int]:
        """The cell, the repeat and the seed of a call."""
        cell, repeat = divmod(number, self.repeats)
        return self.cells[cell], repeat, self.seeds[number]


def frame(design: Design, runs: dict[int, Run]) -> DataFrame:
    """A table with a row for each row of measures, whatever the order in which the calls ended."""
    pandas = need("pandas", "study")
    rows: list[dict[str, Scalar]] = []
    measures: dict[str, None] = {}
    for number in range(len(design.seeds)):
        cell, repeat, seed = design.place(number)
        run = runs[number]
        for own in run.rows:
            measures.update(dict.fromkeys(own))
            rows.append(
                {
                    **cell.shown,
                    "repeat": repeat,
                    "seed": seed,
                    **own,
                    "seconds": run.seconds,
                    "error": run.error,
                }
            )
    names = [*design.parameters(), "repeat", "seed", *measures, "seconds", "error"]
    return pandas.DataFrame(
        {name: _column(pandas, name, [row.get(name) for row in rows]) for name in names}
    )


def _column(pandas: Any, name: str, values: list[Scalar]) -> Any:
    """A column of one kind of values, as every file format needs; missing values stay missing."""
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
    """Check before any work that a file can be written."""
    found = Path(check.path("path", path))
    if found.suffix not in SUFFIXES:
        raise ValueError(f"path must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    if found.suffix == ".parquet":
        need("pyarrow.parquet", "a path that ends in .parquet")
    if not found.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist", str(path))
    if found.exists():
        require_regular(found, path)
    return found


def write(path: Path, table: DataFrame, design: Design) -> None:
    """Write a table in the format of the file's suffix, completely or not at all."""
    with replace_file(path) as file:
        if path.suffix == ".csv":
            text = table.to_csv(index=False, lineterminator="\n")
            if "\r" in text:  # to readers the end of a line, but to_csv does not quote it
                text = table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
            file.write(text.encode())
            return
        content = need("pyarrow", "path").Table.from_pandas(table, preserve_index=False)
        about = {**design.fingerprint(), _CHECKSUM: _checksum(content.to_pylist())}
        own = {**content.schema.metadata, _METADATA: json.dumps(about).encode()}
        need("pyarrow.parquet", "path").write_table(content.replace_schema_metadata(own), file)


def read(path: Path, design: Design) -> dict[int, Run]:
    """The runs in a file of `write`; ValueError if it is damaged or belongs to another study."""
    rows = _csv_rows(path) if path.suffix == ".csv" else _parquet_rows(path, design)
    others = {*design.parameters(), *RESERVED}
    runs: dict[int, Run] = {}
    number = -1
    for i, row in enumerate(rows):
        if number < 0 or (row.get("repeat"), row.get("seed")) != design.place(number)[1:]:
            number += 1
            if (
                number == len(design.seeds)
                or (row.get("repeat"), row.get("seed")) != design.place(number)[1:]
            ):
                raise _other(path, "other rows")
            seconds, error = row.get("seconds"), row.get("error")
            if not isinstance(seconds, int | float):
                raise _damaged(path, f"row {i + 1} has {seconds!r} seconds")
            runs[number] = Run([], float(seconds), None if error is None else str(error))
        runs[number].rows.append({name: value for name, value in row.items() if name not in others})
    if number + 1 != len(design.seeds):
        raise _other(path, "other rows")
    return runs


def _other(path: Path, what: str) -> ValueError:
    return ValueError(
        f"path: {path} belongs to another study, with {what}; remove it or give another path"
    )


def _damaged(path: Path, what: str, do: str = _ANEW) -> ValueError:
    return ValueError(f"path: {path} is damaged: {what}; {do}")


def _checksum(rows: list[dict[str, Scalar]]) -> int:
    """zlib.crc32 of all contents of the table."""
    result = 0
    for row in rows:
        result = zlib.crc32(json.dumps(row).encode(), result)
    return result


def _parquet_rows(path: Path, design: Design) -> list[dict[str, Scalar]]:
    try:
        with open_regular(path) as file:
            table = need("pyarrow.parquet", "path").read_table(file)
            about = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
            rows: list[dict[str, Scalar]] = table.to_pylist()
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # whatever Arrow raises for a broken file
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"path: {path} is not a readable Parquet file: {error}; {_ANEW}") from None
    for name, value in design.fingerprint().items():
        if not isinstance(about, dict) or about.get(name) != value:
            raise _other(path, f"another {name}")
    if about.get(_CHECKSUM) != _checksum(rows):
        raise _damaged(path, "its rows do not match their checksum")
    return rows


def _csv_rows(path: Path) -> list[dict[str, Scalar]]:
    try:
        names, *rows = list(csv.reader(io.StringIO(read_text(path, sys.maxsize), newline=""))) or [
            []
        ]
        for i, row in enumerate(rows):
            if len(row) != len(names):
                raise ValueError(f"row {i + 1} has {len(row)} entries, not {len(names)}")
        return [dict(zip(names, map(_parsed, row), strict=True)) for row in rows]
    except (ValueError, csv.Error) as error:
        raise _damaged(path, str(error)) from None


def _parsed(entry: str) -> Scalar:
    """CSV has no types: an entry that looks like a number is one."""
    if entry in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[entry]
    if _INTEGER.fullmatch(entry):
        return int(entry)
    return float(entry) if _FLOAT.fullmatch(entry) else entry


class Journal:
    """The completed runs, a line of JSON for each, beside the file that they will be in.

    The first line says to which study it belongs. The file is locked against other processes. Each
    line has a checksum. A last line without an end was cut short, and is ignored.

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    FileExistsError
        If a file of that name is not a journal.
    ValueError
        If it belongs to another study or another version, or is damaged.
    """

    def __init__(self, path: Path, design: Design) -> None:
        self.path = Path(f"{path}.journal")
        self._open()
        try:
            self.runs = self._read(design)
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        while True:
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115
            try:
                require_regular(self._file.fileno(), self.path)
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path)):
                    return
            except BlockingIOError:
                self._file.close()
                raise BlockingIOError(
                    errno.EWOULDBLOCK, "another process is writing it", str(self.path)
                ) from None
            except FileNotFoundError:
                pass
            except OSError:
                self._file.close()
                raise
            self._file.close()  # the process that held the lock has just removed the file

    def _read(self, design: Design) -> dict[int, Run]:
        header = {"format": _FORMAT, "version": _VERSION, **design.fingerprint()}
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        start = line_of(json.dumps(header).encode())
        if not whole and start.startswith(content):  # killed in the first line
            self._file.truncate(0)
            self._add(header)
            return {}
        first, *lines = content[:whole].split(b"\n")[:-1] if whole else [content]
        self._require_header(first, header)
        runs: dict[int, Run] = {}
        for i, line in enumerate(lines, 2):
            number, run = _run_of(content_of(line))
            if run is None or number in runs or not 0 <= number < len(design.seeds):
                raise _damaged(
                    self.path,
                    f"line {i} was changed after it was written",
                    f"remove that line to repeat its call, or {_ANEW}",
                )
            runs[number] = run
        self._file.truncate(whole)
        return runs

    def _require_header(self, line: bytes, header: dict[str, Any]) -> None:
        """Raise unless the first line is this header."""
        if not line.startswith(_START):
            raise FileExistsError(
                errno.EEXIST,
                "is in the way, and no earlier call wrote it; remove it",
                str(self.path),
            )
        content = content_of(line)
        found = _decoded(line if content is None else content)
        if found is not None and found.get("version") != _VERSION:
            raise ValueError(
                f"path: {self.path} is the journal of another version of hetsched; {_ANEW}"
            )
        if content is None or found is None:
            raise _damaged(self.path, "line 1 was changed after it was written")
        for name, value in header.items():
            if found.get(name) != value:
                raise _other(self.path, f"another {name}")

    def add(self, number: int, run: Run) -> None:
        """Add a completed run; it is in the file when this returns."""
        self._add({"run": number, **run._asdict()})

    def _add(self, content: dict[str, Any]) -> None:
        line = line_of(json.dumps(content).encode())
        if self._file.write(line) != len(line):  # the disk is full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def remove(self) -> None:
        """Remove the journal: the results are in their file."""
        self.path.unlink()

    def close(self) -> None:
        self._file.close()


#: The beginning of the first line in every version.
_START = json.dumps({"format": _FORMAT})[:-1].encode()


def _decoded(line: bytes) -> dict[str, Any] | None:
    """The JSON object in a line; None if there is none."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _run_of(line: bytes | None) -> tuple[int, Run | None]:
    """The number and the result of a run, from the content of a line; None if there is none."""
    match None if line is None else _decoded(line):
        case {
            "run": int(number),
            "rows": [*rows],
            "seconds": float(seconds),
            "error": str() | None as error,
        }:
            if rows and all(isinstance(row, dict) for row in rows):
                return number, Run(rows, seconds, error)
    return -1, None
