"""What all pictures share: figures, axes, labels that fit, colours."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from .._base.need import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Okabe and Ito's blue and orange; waiting should look like nothing.
_COLOURS = {"wait": "#efefef", "compute": "#0072b2", "transfer": "#e69f00"}
_INK = {"compute": "white", "transfer": "black"}
# Paul Tol's "light" scheme: colour-blind safe under black text.
_CELLS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#dddddd", "#aaaa00")

_SMALLEST, _LARGEST = 7.0, 10.0  # points; what does not fit at the smallest is left out
_STRIP = 14.0  # points kept free above the rows for the label of a line
_LONGEST = 24  # characters of a worker's name
_MANY = 1000  # bars; beyond this a vector picture would be too large
_OWN = "hetsched figure"  # label of figures that take the size the picture wants


def figure_size(kind: str, workers: int, aspect: float = 1.0) -> tuple[float, float]:
    """Width and height in inches; kind is "rows" or "boxes", aspect is height / width of the boxes."""
    if kind == "rows":
        return 9.0, 1.2 + min(0.4 * max(workers, 1), 2.4 + 0.12 * workers, 14.0)
    side = 4.0 + min(4.0, workers / 16)
    width = min(side / math.sqrt(aspect), 9.0, 11.0 / aspect)
    return width + 0.6, width * aspect + 0.7


def figure_svg(draw: Callable[..., Any]) -> str:
    """The picture that draw(ax) makes, such as `trace.plot`, as large as it wants to be: an <svg> element for notebooks and for
    reports; "" without matplotlib."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return ""

    unique = f"hs{uuid4().hex[:12]}-"  # several pictures may be on one page
    with rc_context({"svg.hashsalt": unique, "svg.fonttype": "none"}):
        figure = Figure(layout="constrained", label=_OWN)
        FigureCanvasAgg(figure)  # measures text much faster than the base canvas
        draw(figure.add_subplot())
        content = io.StringIO()
        figure.savefig(content, format="svg", dpi=144, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    svg = content.getvalue()
    svg = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{unique}", svg[svg.index("<svg") :])
    svg = re.sub(r"<style.*?</style>", "", svg, count=1, flags=re.DOTALL)  # it would hold for the whole page
    style = "max-width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt"
    return svg.replace("<svg", f'<svg style="{style}"', 1)


def figure_for(figure: Figure | None, size: tuple[float, float]) -> Figure:
    """The figure to draw on, as large as the picture wants it unless it is the user's."""
    if figure is None:
        figure = need("matplotlib.pyplot", "plotting").figure(figsize=size, layout="constrained")
    elif figure.get_label() == _OWN:
        figure.set_size_inches(size)
    return figure


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The same for a picture of one pair of axes."""
    if ax is None:
        return figure_for(None, size).add_subplot()
    if ax.figure.get_label() == _OWN:
        ax.figure.canvas.figure.set_size_inches(size)
    return ax


def _settle(ax: Axes) -> None:
    """Lay the figure out, so that sizes can be measured."""
    ax.figure.canvas.figure.draw_without_rendering()


def _title(ax: Axes, text: str, **kwargs: Any) -> Text:
    return ax.set_title(text, fontsize=_LARGEST, parse_math=False, **kwargs)


def _heading(ax: Axes, text: str, **kwargs: Any) -> None:
    """A title that is no wider than the axes; the figure is laid out, so that sizes can be measured."""
    title = _title(ax, text, **kwargs)
    _settle(ax)
    _narrow(ax, title)


def _narrow(ax: Axes, title: Text) -> None:
    """Make a title no wider than the axes, as far as it stays readable."""
    fitting = _LARGEST * ax.get_window_extent().width / title.get_window_extent().width
    title.set_fontsize(min(_LARGEST, max(_SMALLEST, fitting)))


def _dpi(ax: Axes) -> float:
    return ax.figure.canvas.figure.dpi


def _points(ax: Axes) -> tuple[float, float]:
    """Points per unit of x and of y."""
    box = ax.get_window_extent()
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    return box.width * 72 / _dpi(ax) / abs(x1 - x0), box.height * 72 / _dpi(ax) / abs(y1 - y0)


def _rows(ax: Axes, title: Text, names: Sequence[str], strip: bool) -> float:
    """Set up a row per worker and return its height in points; with free space above for a line's label."""
    p = max(len(names), 1)
    _settle(ax)
    height = ax.get_window_extent().height * 72 / _dpi(ax)
    row = max(height - _STRIP * strip, height / 2) / p
    ax.set_ylim(p - 0.5, p - 0.5 - height / row)
    every, size = _thinned(row)
    shown = range(0, len(names), every)
    ax.set_yticks(shown, [_short(names[i]) for i in shown], fontsize=size, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    _settle(ax)
    _narrow(ax, title)
    return row


def _bar(row: float) -> float:
    """Height of a bar, as a part of a row of that height (in points): no gaps where they would eat the bars."""
    return 0.8 if row > 4.0 else 1.0


def _thinned(row: float) -> tuple[int, float]:
    """Which rows of that height (in points) to label, and the font size."""
    size = min(_LARGEST, max(_SMALLEST, row * 0.75))
    return max(1, math.ceil(size * 1.2 / row)), size


def _line(ax: Axes, x: float, label: str) -> None:
    """A vertical dashed line, labelled in the strip above the rows."""
    ax.axvline(x, color="#222222", linestyle="--", linewidth=1.2)
    right = x > sum(ax.get_xlim()) / 2
    ax.annotate(
        label, (x, 1), xycoords=ax.get_xaxis_transform(), xytext=(-4 if right else 4, -2), textcoords="offset points",
        ha="right" if right else "left", va="top", fontsize=8, parse_math=False,
    )  # fmt: skip


def _draw_boxes(
    ax: Axes,
    left: NDArray[np.float64],
    top: NDArray[np.float64],
    right: NDArray[np.float64],
    bottom: NDArray[np.float64],
    colours: Sequence[str],
    narrow: NDArray[np.float64],
) -> None:
    """Boxes in one collection; white edges, where `narrow` (points) leaves room for them."""
    from matplotlib.collections import PolyCollection

    corners: Any = np.array([[left, top], [right, top], [right, bottom], [left, bottom]]).transpose(2, 0, 1)
    many = len(colours) > _MANY
    ax.add_collection(
        PolyCollection(
            corners,
            facecolors=colours,
            edgecolors="white",
            linewidths=np.clip((narrow - 2) / 6, 0.0, 0.8),
            antialiaseds=not many,  # blending many bars within a pixel would make it pale
            rasterized=many,
        ),
        autolim=False,
    )


def _fit_text(
    ax: Axes,
    centre: tuple[float, float],
    room: tuple[float, float],
    labels: Sequence[tuple[str, int]],
    colour: str,
    sizes: dict[str, tuple[float, float]],
) -> None:
    """The first of the labels (text, rotation) that is readable in that room (points), as large as it fits."""
    for text, rotation in labels:
        if not text:
            continue
        along, across = room if rotation == 0 else room[::-1]
        if max(map(len, text.split("\n"))) * 0.25 * _SMALLEST > along:  # not even if it is all i's
            continue
        if text not in sizes:
            trial = ax.text(0, 0, text, fontsize=10, parse_math=False)
            box = trial.get_window_extent()
            trial.remove()
            sizes[text] = box.width * 7.2 / _dpi(ax), box.height * 7.2 / _dpi(ax)
        wide, high = sizes[text]  # per point of font size
        size = min(_LARGEST, (along - 3) / wide, (across - 1) / high)
        if size >= _SMALLEST:
            ax.text(
                *centre, text, fontsize=size, rotation=rotation, color=colour, ha="center", va="center",
                clip_on=True, parse_math=False,
            )  # fmt: skip
            return


def _aspect(shape: tuple[float, float]) -> float:
    """Height / width of the picture: true to the matrix, unless that would be too thin to read."""
    return min(max(shape[0] / shape[1], 1 / 3), 3.0)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[1 - _LONGEST // 2 :]}"
