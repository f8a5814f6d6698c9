"""What all plots share: figures, axes, labels that fit, colours."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from .._base import check
from .._base.need import need
from .._base.replace import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Blue and orange of Okabe and Ito; waiting should look like nothing.
_COLOURS = {"wait": "#efefef", "compute": "#0072b2", "transfer": "#e69f00"}
_INK = {"compute": "white", "transfer": "black"}
# Eight colours under black text. They were searched such that any two are at least 20 apart in CIE
# 1976 L*a*b* to the usual eye and as a deutan and a protan eye see them (Machado et al. 2009,
# severity 1); to the usual eye 40.
_CELLS = ("#6d94e5", "#d58756", "#efe28a", "#87a18a", "#46d5ff", "#c87ab1", "#94fcbe", "#fce2f2")

_SMALLEST, _LARGEST = 7.0, 10.0  # points; text that does not fit at the smallest size is left out
_STRIP = 14.0  # points kept free above the rows, for the label of a line
_LONGEST = 24  # characters of a worker's name that are shown
_MANY = 1000  # bars; with more, a vector plot would be too large
_OWN = "hetsched figure"  # label of figures that take the size that the plot wants
_WIDTHS = {"column": 3.4, "page": 7.0}  # inches, as in two-column journals
_NARROWEST = 2.0  # inches; below this width not even the labels of the axes fit
FORMATS = (".png", ".svg", ".pdf")  # of pictures in files
_SAVED = 300  # dots per inch: PNG, and parts of a PDF or SVG that are drawn as pixels
_SMALL = 8.0  # points: the size of numbers on axes and of legends


def digits(value: float) -> str:
    """A number with three significant digits, four if the first is 1, without trailing zeros."""
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    rounded = float(f"{value:.{3 if f'{abs(value):e}'[0] == '1' else 2}e}")
    return (
        np.format_float_positional(rounded, trim="-")
        if 1e-4 <= abs(rounded) < 1e6
        else f"{rounded:g}"
    )


def percent(share: float) -> str:
    """A share as a percentage, with at most two decimals."""
    size = 100.0 * abs(share)
    return f"{share:.{2 if size < 9.995 else 1 if size < 99.95 else 0}%}"


@dataclass(frozen=True)
class Sheet:
    """The place of a new figure with a given width in inches."""

    width: float

    def size(
        self, wanted: tuple[float, float], power: float, least: float, keys: int
    ) -> tuple[float, float]:
        """Size of a figure that wants to be as large as `wanted`.

        Its height goes with the width to the given power, except for titles, labels of axes and
        legends. `keys` is the number of legend entries that are in the way.
        """
        if self.width < least:
            raise ValueError(
                f"width must be at least {least:g} inches for this picture, got {self.width:g}"
            )
        fixed = 1.1 if power < 1.0 else 0.5
        legend = 0.17 * (math.ceil(1.45 * keys / self.width) - 1) if keys else 0.0
        return self.width, fixed + (wanted[1] - fixed) * (self.width / wanted[0]) ** power + legend


def sheet(width: Any) -> Sheet:
    """A sheet of a width in inches, or "column" or "page" of a two-column paper."""
    if isinstance(width, str):
        if width not in _WIDTHS:
            raise ValueError(f'width must be "column", "page" or a number of inches, got {width!r}')
        return Sheet(_WIDTHS[width])
    return Sheet(check.number("width", width, low=_NARROWEST))


def figure_size(kind: str, workers: int, aspect: float = 1.0) -> tuple[float, float]:
    """Width and height in inches; kind is "rows" or "boxes", aspect is height / width of boxes."""
    if kind == "rows":
        return 9.0, 1.2 + min(0.4 * max(workers, 1), 2.4 + 0.12 * workers, 14.0)
    side = 4.0 + min(4.0, workers / 16)
    width = min(side / math.sqrt(aspect), 9.0, 11.0 / aspect)
    return width + 0.6, width * aspect + 0.7


def figure_svg(draw: Callable[..., Any]) -> str:
    """The plot that draw(ax) makes, such as `trace.plot`, as an <svg> element.

    It has the size that the plot wants. It is for notebooks and reports; "" without matplotlib.
    """
    try:
        from matplotlib import rc_context
    except ImportError:
        return ""

    unique = f"hs{uuid4().hex[:12]}-"  # several plots may be on one page
    with rc_context({"svg.hashsalt": unique, "svg.fonttype": "none"}):
        figure = free_figure("plotting")
        draw(figure.add_subplot())
        content = io.StringIO()
        figure.savefig(
            content,
            format="svg",
            dpi=144,
            metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
        )
    svg = content.getvalue()
    svg = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{unique}", svg[svg.index("<svg") :])
    # it would apply to the whole page
    svg = re.sub(r"<style.*?</style>", "", svg, count=1, flags=re.DOTALL)
    style = "max-width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt"
    return svg.replace("<svg", f'<svg style="{style}"', 1)


def save_plot(draw: Callable[..., Any], path: str | PathLike[str], options: dict[str, Any]) -> None:
    """Write the plot that draw(**options) makes to a file. See `Drawn.save_plot`."""
    path = check.path("path", path)
    if Path(path).suffix not in FORMATS:
        raise ValueError(f"path must end in .pdf, .svg or .png, got {path!r}")
    pyplot = need("matplotlib.pyplot", "plotting")
    with pyplot.ioff():
        given = pyplot.get_fignums()
        drawn = draw(**options)
        figure = drawn.figure.canvas.figure
        try:
            write_figure(figure, path, dpi=_SAVED)
        finally:
            if getattr(figure, "number", None) not in given:
                pyplot.close(figure)


def write_figure(figure: Figure, path: str | PathLike[str], **options: Any) -> None:
    """Write a figure in the format of the file's suffix. The file appears only when it is complete.

    See savefig for the options.
    """
    from matplotlib import rc_context

    kind = Path(path).suffix
    if kind != ".png":
        # For parts drawn as pixels because they have too many lines, such as 10^5 bars.
        options.setdefault("dpi", _SAVED)
    # TrueType instead of Type 3, which many journals refuse; text of an SVG can be searched
    with replace_file(path) as file, rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"}):
        figure.savefig(file, format=kind[1:], **options)


def free_figure(what: str) -> Figure:
    """A figure outside pyplot that gets the size its plot wants.

    Without matplotlib, ImportError says that `what` needs it.
    """
    made: Figure = need("matplotlib.figure", what).Figure(layout="constrained", label=_OWN)
    # measures text much faster than the base canvas
    need("matplotlib.backends.backend_agg", what).FigureCanvasAgg(made)
    return made


def figure_for(
    figure: Figure | Sheet | None,
    size: tuple[float, float],
    power: float = 1.0,
    least: float = _NARROWEST,
    keys: int = 0,
) -> Figure:
    """The figure to draw on, as large as the plot wants unless the user gave it."""
    if figure is None or isinstance(figure, Sheet):
        size = figure.size(size, power, least, keys) if figure else size
        made: Figure = need("matplotlib.pyplot", "plotting").figure(
            figsize=size, layout="constrained"
        )
        return made
    if figure.get_label() == _OWN:
        figure.set_size_inches(size)
    return figure


def _axes(
    ax: Axes | Sheet | None, size: tuple[float, float], power: float = 1.0, keys: int = 0
) -> Axes:
    """The axes to draw on, as in `figure_for`, for a plot with one pair of axes."""
    if ax is None or isinstance(ax, Sheet):
        ax = figure_for(ax, size, power, keys=keys).add_subplot()
    elif ax.figure.get_label() == _OWN:
        ax.figure.canvas.figure.set_size_inches(size)
    else:
        return ax
    small(ax)
    return ax


def small(ax: Axes) -> None:
    """Set the sizes that all our plots have: numbers on the axes and labels of the axes."""
    ax.tick_params(labelsize=_SMALL)
    ax.xaxis.label.set_fontsize(_SMALL + 1)
    ax.yaxis.label.set_fontsize(_SMALL + 1)


def _settle(ax: Axes) -> None:
    """Lay the figure out, so that sizes can be measured."""
    ax.figure.canvas.figure.draw_without_rendering()


def _title(ax: Axes, text: str, **kwargs: Any) -> Text:
    return ax.set_title(text, fontsize=_LARGEST, parse_math=False, loc="left", **kwargs)


def _heading(ax: Axes, text: str, **kwargs: Any) -> None:
    """A title that is no wider than the axes. The figure is laid out, so that sizes are known."""
    title = _title(ax, text, **kwargs)
    _settle(ax)
    _narrow(ax, title)


def _narrow(ax: Axes, title: Text) -> None:
    """Make a title no wider than the axes: with a smaller font, then in several lines.

    If nothing else is to the right of the axes, the title may also use that space.
    """
    whole, box = ax.figure.canvas.figure, ax.get_window_extent()
    right = whole.bbox.x1 - 0.06 * _dpi(ax) if len(whole.axes) == 1 else box.x1
    room = max(right - box.x0, 1.0)
    fitting = float(title.get_fontsize()) * room / max(title.get_window_extent().width, 1.0)
    title.set_fontsize(min(_LARGEST, max(_SMALL, fitting)))
    # letters end at pixels
    while title.get_window_extent().width > room and (size := float(title.get_fontsize())) > _SMALL:
        title.set_fontsize(max(_SMALL, size - 0.2))
    if title.get_window_extent().width <= room:
        return
    lines: list[str] = []
    for part in title.get_text().split(", "):
        title.set_text(f"{lines[-1]}, {part}" if lines else part)
        if lines and title.get_window_extent().width <= room:
            lines[-1] = title.get_text()
        else:
            lines.append(part)
    title.set_text(",\n".join(lines))
    title.set_fontsize(min(_SMALL, max(_SMALLEST, _SMALL * room / title.get_window_extent().width)))
    _settle(ax)


def _key(ax: Axes, handles: Sequence[Any]) -> None:
    """Draw a legend between the title and the axes, in as few rows as fit."""
    text = ax.get_title(loc="left").replace(",\n", ", ")
    for columns in range(len(handles), 0, -1):
        legend = ax.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=columns,
            frameon=False,
            fontsize=_SMALL,
            borderpad=0.4,
            borderaxespad=0,
            handlelength=1.2,
            columnspacing=1.4,
        )
        box = legend.get_window_extent()
        if ax.get_window_extent().x0 + box.width <= ax.figure.canvas.figure.bbox.x1:
            break
    _heading(ax, text, pad=6 + box.height * 72 / _dpi(ax))


def _dpi(ax: Axes) -> float:
    return ax.figure.canvas.figure.dpi


def _points(ax: Axes) -> tuple[float, float]:
    """Points per unit of x and per unit of y."""
    box = ax.get_window_extent()
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    return box.width * 72 / _dpi(ax) / abs(x1 - x0), box.height * 72 / _dpi(ax) / abs(y1 - y0)


def _rows(ax: Axes, title: Text, names: Sequence[str], strip: bool) -> float:
    """Set up a row for each worker and return its height in points.

    strip: leave space above the rows, for the label of a line.
    """
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
    """Height of a bar, as a fraction of a row of this height in points.

    There are no gaps where they would take most of the bars.
    """
    return 0.8 if row > 4.0 else 1.0


def _thinned(row: float) -> tuple[int, float]:
    """Which rows of this height in points to label, and the font size."""
    size = min(_LARGEST, max(_SMALLEST, row * 0.75))
    return max(1, math.ceil(size * 1.2 / row)), size


def _line(ax: Axes, x: float, label: str) -> None:
    """Draw a vertical dashed line, labelled in the strip above the rows."""
    ax.axvline(x, color="#222222", linestyle="--", linewidth=1.2)
    right = x > sum(ax.get_xlim()) / 2
    ax.annotate(
        label,
        (x, 1),
        xycoords=ax.get_xaxis_transform(),
        xytext=(-4 if right else 4, -2),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        fontsize=_SMALL,
        parse_math=False,
    )


def _draw_boxes(
    ax: Axes,
    left: NDArray[np.float64],
    top: NDArray[np.float64],
    right: NDArray[np.float64],
    bottom: NDArray[np.float64],
    colours: Sequence[str],
    narrow: NDArray[np.float64],
    edge: str = "white",
) -> None:
    """Draw boxes in one collection, with edges if `narrow` (points) leaves room for them."""
    from matplotlib.collections import PolyCollection

    corners: Any = np.array([[left, top], [right, top], [right, bottom], [left, bottom]]).transpose(
        2, 0, 1
    )
    many = len(colours) > _MANY
    ax.add_collection(
        PolyCollection(
            corners,
            facecolors=colours,
            edgecolors=edge,
            linewidths=np.clip((narrow - 2) / 6, 0.0, 0.8),
            antialiaseds=not many,  # blending many bars in a pixel would make it pale
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
    """Draw the first of the labels (text, rotation) that is readable in this room in points.

    It is drawn as large as it fits.
    """
    for text, rotation in labels:
        if not text:
            continue
        along, across = room if rotation == 0 else room[::-1]
        # too long even if all letters are i
        if max(map(len, text.split("\n"))) * 0.25 * _SMALLEST > along:
            continue
        if text not in sizes:
            trial = ax.text(0, 0, text, fontsize=10, parse_math=False)
            box = trial.get_window_extent()
            trial.remove()
            sizes[text] = box.width * 7.2 / _dpi(ax), box.height * 7.2 / _dpi(ax)
        wide, high = sizes[text]  # for each point of font size
        size = min(_LARGEST, (along - 3) / wide, (across - 1) / high)
        while size >= _SMALLEST:
            label = ax.text(
                *centre,
                text,
                fontsize=size,
                rotation=rotation,
                color=colour,
                ha="center",
                va="center",
                clip_on=True,
                parse_math=False,
            )
            box = label.get_window_extent()
            if max(box.width / room[0], box.height / room[1]) * 72 <= _dpi(ax):
                return
            label.remove()
            size -= 0.2  # letters end at pixels before matplotlib 3.11


def _aspect(shape: tuple[float, float]) -> float:
    """Height / width of the plot: true to the matrix, unless that would be too thin to read."""
    return min(max(shape[0] / shape[1], 1 / 3), 3.0)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[1 - _LONGEST // 2 :]}"
