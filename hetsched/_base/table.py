"""Lines of text in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]], align: str = "<", least: Sequence[int] = ()) -> str:
    """Rows of cells as lines, two spaces between columns that are as wide as their widest cell.

    Parameters
    ----------
    rows : iterable of sequences of str
        A row may have fewer cells than others.
    align : str
        "<" or ">" for each column; the last one stands for all that follow.
    least : sequence of int
        Widths below which columns do not go, so that several tables are alike; the last one stands for all that follow.

    Returns
    -------
    str
        Without spaces at the ends of lines.

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
        return "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(cells, sides, widths, strict=False)).rstrip()

    return "\n".join(map(line, lines))
