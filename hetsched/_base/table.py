"""Tables as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_HEAD, _TAIL = 40, 5  # rows of a long table that are shown: first, last


def table(rows: Iterable[Sequence[str]], align: str = "<", least: Sequence[int] = ()) -> str:
    """Format rows of cells as lines, with two spaces between columns as wide as their widest cell.

    Parameters
    ----------
    rows : iterable of sequences of str
        A row may have fewer cells than other rows.
    align : str
        "<" or ">" for each column; the last one stands for all that follow.
    least : sequence of int
        Least widths of the columns, so that several tables look alike; the last one stands for all
        that follow.

    Returns
    -------
    str
        The lines, without spaces at their ends.

    Examples
    --------
    >>> print(table([("worker", "time"), ("fast", "3"), ("slow", "12.5")], "<>"))
    worker  time
    fast       3
    slow    12.5
    """
    lines = [tuple(row) for row in rows]
    columns = max(map(len, lines), default=0)
    widths = [max(len(line[k]) for line in lines if k < len(line)) for k in range(columns)]
    if least:
        widths = [max(width, least[min(k, len(least) - 1)]) for k, width in enumerate(widths)]
    sides = [align[min(k, len(align) - 1)] for k in range(columns)]

    def line(cells: tuple[str, ...]) -> str:
        return "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths, strict=False)
        ).rstrip()

    return "\n".join(map(line, lines))


class Table(list[dict[str, Any]]):
    """Rows by column name: a list of dicts.

    As text, also in a notebook, it is shown as lines in columns. Of a long table only the first and
    the last rows are shown.
    """

    def _cells(self) -> list[tuple[str, ...]]:
        """The column names, then the rows, as text."""
        if not self:
            return []
        rows = [
            tuple(_cell(name, value) for name, value in row.items())
            for row in (*self[:_HEAD], *self[_HEAD:][-_TAIL:])
        ]
        left = len(self) - len(rows)
        return [
            tuple(self[0]),
            *rows[:_HEAD],
            *([(f"... {left} more",)] if left else []),
            *rows[_HEAD:],
        ]

    def __str__(self) -> str:
        return table(self._cells(), "<>")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _cell(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2%}" if name == "share" else f"{value:.6g}"
    return str(value)
