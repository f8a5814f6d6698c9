"""Whether the text of a picture can be read."""

import itertools

_SMALLEST = 7.0  # points


def overlap(a, b, slack=1e-6):
    return min(a.x1, b.x1) - max(a.x0, b.x0) > slack and min(a.y1, b.y1) - max(a.y0, b.y0) > slack


def drawn_texts(ax):
    if ax.figure.stale:
        ax.figure.draw_without_rendering()
    return [t for t in (*ax.texts, *ax.get_yticklabels()) if t.get_text() and t.get_visible()]


def assert_readable(ax):
    """No text overlaps another, none is too small, none leaves the figure."""
    texts = drawn_texts(ax)
    assert min(t.get_fontsize() for t in texts) >= _SMALLEST
    boxes = [t.get_window_extent() for t in texts]
    for a, b in itertools.combinations(range(len(boxes)), 2):
        assert not overlap(boxes[a], boxes[b]), (texts[a].get_text(), texts[b].get_text())
    figure = ax.figure.bbox
    for box in boxes:
        assert figure.x0 <= box.x0
        assert box.x1 <= figure.x1
        assert figure.y0 <= box.y0
        assert box.y1 <= figure.y1
