"""Columns of text."""

from hypothesis import given
from hypothesis import strategies as st

from hetsched._base.table import table

words = st.text(st.characters(categories=["L", "N"]), max_size=6)


@given(
    st.lists(st.lists(words, min_size=1, max_size=4), max_size=5),
    st.sampled_from(["<", ">", "<>", "><>"]),
)
def test_columns(rows, align):
    """Each column begins and ends where its widest cell does, and nothing is lost."""
    lines = table(rows, align).split("\n")
    assert len(lines) == max(1, len(rows))
    for row, line in zip(rows, lines, strict=False):
        assert line == line.rstrip()
        start = 0
        for k, cell in enumerate(row):
            width = max(len(other[k]) for other in rows if k < len(other))
            found = line[start : start + width]
            side = align[min(k, len(align) - 1)]
            assert found.ljust(width) == (cell.rjust(width) if side == ">" else cell.ljust(width))
            start += width + 2


def test_least_widths():
    assert (
        table([("a", "1", "2"), ("b", "10", "3")], "<>", (3, 4))
        == "a       1     2\nb      10     3"
    )
    assert table([], "<") == ""
