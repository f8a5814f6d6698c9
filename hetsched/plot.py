"""Pictures of plans and traces, drawn with matplotlib."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from .allocate import Distribution
    from .profile import ProfileDistribution
    from .trace import Trace
    from .wavefront import Wavefront

# Okabe and Ito's blue and orange; waiting should look like nothing.
_COLOURS = {"wait": "#efefef", "compute": "#0072b2", "transfer": "#e69f00"}
_INK = {"compute": "white", "transfer": "black"}
# Paul Tol's "light" scheme: colour-blind safe under black text.
_CELLS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#dddddd", "#aaaa00")

_SMALLEST, _LARGEST = 7.0, 10.0  # points; what does not fit at the smallest is left out
_STRIP = 14.0  # points kept free above the rows for the label of a line
_LONGEST = 24  # characters of a worker's name
_MANY = 1000  # bars; beyond this a vector picture would be too large
_FRONT = 400  # points of a front in each direction
_OWN = "hetsched figure"  # label of figures that take the size the picture wants


def figure_size(kind: str, workers: int, aspect: float = 1.0) -> tuple[float, float]:
    """Width and height in inches; kind is "rows" or "boxes", aspect is height / width of the boxes."""
    if kind == "rows":
        return 9.0, 1.2 + min(0.4 * max(workers, 1), 2.4 + 0.12 * workers, 14.0)
    side = 4.0 + min(4.0, workers / 16)
    width = min(side / math.sqrt(aspect), 9.0, 11.0 / aspect)
    return width + 0.6, width * aspect + 0.7


def plot_trace(trace: Trace, ax: Axes | None = None) -> Axes:
    """Gantt chart: a row per worker, worker 0 at the top; where transfers overlap computing, they are drawn below it.

    Parameters
    ----------
    trace : Trace
    ax : matplotlib Axes, optional
        Default: a new pyplot figure, as high as the workers need.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    p = len(trace.workers)
    ax = _axes(ax, figure_size("rows", p))
    from matplotlib.patches import Patch

    unit = f" {trace.unit}" if trace.unit else ""
    kinds = [kind for kind in ("compute", "transfer", "wait") if any(e.kind == kind for e in trace.events)]
    ax.set_xlabel(f"time ({trace.unit})" if trace.unit else "time", parse_math=False)
    title = f"{trace.kind}, makespan {trace.makespan:.6g}{unit}, efficiency {trace.efficiency:.1%}"
    heading = _title(ax, title, loc="left", pad=22 if kinds else 6)
    if kinds:
        ax.legend(
            handles=[Patch(facecolor=_COLOURS[kind], edgecolor="#bbbbbb", linewidth=0.5, label=kind) for kind in kinds],
            loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8, borderpad=0.4,
            borderaxespad=0, handlelength=1.2, columnspacing=1.4,
        )  # fmt: skip
    longest = max(trace.makespan, trace.predicted or 0.0)
    ax.set_xlim(0, longest * 1.01 if longest > 0 else 1.0)
    row = _rows(ax, heading, trace.workers, trace.predicted is not None)
    if trace.predicted is not None:
        _line(ax, trace.predicted, f"predicted {trace.predicted:.6g}{unit}")

    events = [e for kind in _COLOURS for e in trace.events if e.kind == kind]
    worker, start, end = (np.array([e[i] for e in events], float) for i in (0, 2, 3))
    half = _bar(row) / 2
    top, bottom = np.full(len(events), -half), np.full(len(events), half)
    if trace.overlapped:
        kind_of = np.array([e.kind for e in events])
        bottom[kind_of == "compute"] = top[kind_of == "transfer"] = 0.3 * half
    width, height = (end - start) * _points(ax)[0], (bottom - top) * row
    colours = [_COLOURS[e.kind] for e in events]
    _draw_boxes(ax, start, worker + top, end, worker + bottom, colours, np.minimum(width, height))
    sizes: dict[str, tuple[float, float]] = {}
    for i in np.flatnonzero(width > _SMALLEST):
        what, kind = events[i].what, events[i].kind
        if what and kind in _INK:
            middle = worker[i] + (top[i] + bottom[i]) / 2
            _fit_text(ax, ((start[i] + end[i]) / 2, middle), (width[i], height[i]), [(what, 0)], _INK[kind], sizes)
    return ax


def plot_distribution(distribution: Distribution | ProfileDistribution, ax: Axes | None = None) -> Axes:
    """Bar per worker: the time it computes, with its number of chunks.

    Parameters
    ----------
    distribution : Distribution or ProfileDistribution
    ax : matplotlib Axes, optional
        Default: a new pyplot figure, as high as the workers need.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    counts, makespan = distribution.counts, distribution.makespan
    p = len(counts)
    ax = _axes(ax, figure_size("rows", p))
    ax.set_xlabel("time")
    heading = _title(ax, f"{int(counts.sum())} chunks over {p} worker{'s' * (p != 1)}", loc="left")
    ax.set_xlim(0, makespan * 1.01 if makespan > 0 else 1.0)
    row = _rows(ax, heading, distribution.worker_names, True)
    _line(ax, makespan, f"makespan {makespan:.6g}")
    times = np.zeros(p)
    for step in distribution.steps():
        times[step.worker] = step.end
    ax.barh(np.arange(p), times, height=_bar(row), color=_COLOURS["compute"])
    every, size = _thinned(row)
    unit = _points(ax)[0]
    for i in range(0, p, every):
        label = ax.text(times[i], i, str(counts[i]), fontsize=size, va="center_baseline", clip_on=True)
        inside = label.get_window_extent().width * 72 / _dpi(ax) + 8 < times[i] * unit
        label.set(ha="right" if inside else "left", color="white" if inside else "black")
        label.set_x(times[i] + (-4 if inside else 4) / unit)
    return ax


def plot_boxes(
    shape: tuple[float, float],
    rects: Sequence[tuple[int, float, float, float, float]],
    names: Sequence[str],
    ax: Axes | None = None,
    *,
    zones: bool = False,
) -> Axes:
    """Rectangles in a matrix, first row at the top, coloured by worker.

    Parameters
    ----------
    shape : (rows, columns)
    rects : sequence of (worker, row, col, height, width)
        Empty ones are not drawn. A worker's largest is labelled with its name and its share of the matrix, the others
        with its name.
    names : (p,) sequence of str
    ax : matplotlib Axes, optional
        Default: a new pyplot figure.
    zones : bool
        Those of a worker are one zone: no line where they touch, and one label.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    rows, columns = shape = shape[0] or 1, shape[1] or 1  # axes where there is nothing to show
    ax = _axes(ax, figure_size("boxes", len(names), _aspect(shape)))
    ax.set(xlim=(0, columns), ylim=(rows, 0), xlabel="column", ylabel="row")
    ax.set_box_aspect(_aspect(shape))
    ax.locator_params(nbins=5)
    _settle(ax)

    boxes = np.array([rect for rect in rects if rect[3] > 0 and rect[4] > 0], float).reshape(-1, 5)
    worker, top, left, height, width = boxes[:, 0].astype(int), *boxes.T[1:]
    area = height * width
    total = np.bincount(worker, area, len(names)) / (rows * columns)
    largest = {worker[i]: i for i in np.argsort(area, kind="stable")}
    across, down = _points(ax)
    colour = _cell_colours(boxes, len(names), 1e-9 * max(shape))
    narrow = np.minimum(width * across, height * down)
    _draw_boxes(ax, left, top, left + width, top + height, [_CELLS[colour[w]] for w in worker], narrow)
    if zones:
        _join(ax, boxes, [_CELLS[c] for c in colour])
    sizes: dict[str, tuple[float, float]] = {}
    for i in np.flatnonzero(narrow > _SMALLEST):
        if zones and largest[worker[i]] != i:
            continue
        name = _short(names[worker[i]])
        labels: list[tuple[str, int]] = [(name, 0), (name, 90)]
        if largest[worker[i]] == i:
            share = f"{100 * total[worker[i]]:.3g}%"
            labels[:0] = [(f"{name}\n{share}", 0), (f"{name} {share}", 0), (f"{name} {share}", 90)]
        centre = (left[i] + width[i] / 2, top[i] + height[i] / 2)
        _fit_text(ax, centre, (width[i] * across, height[i] * down), labels, "black", sizes)
    return ax


def plot_wavefront(plan: Wavefront, ax: Axes | None = None) -> Axes:
    """The chunks of each worker, and lines that join tiles with the same start: the wavefront at equal intervals of time.

    Parameters
    ----------
    plan : Wavefront
    ax : matplotlib Axes, optional
        Default: a new pyplot figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    rows, cols = plan.shape
    ax = _axes(ax, figure_size("boxes", len(plan.names), _aspect(plan.shape)))
    ax.set_box_aspect(_aspect(plan.shape))
    heading = _title(ax, f"{plan.method}, period {plan.period}, makespan {plan.makespan:.6g}, gap {plan.gap:.2%}")
    _settle(ax)
    _narrow(ax, heading)
    whole = (lambda first, lines: (0, first, rows, lines)) if plan.axis == 1 else (lambda first, lines: (first, 0, lines, cols))
    plot_boxes(plan.shape, [(worker, *whole(first, lines)) for worker, first, lines in plan.chunks.tolist()], plan.names, ax)
    if min(rows, cols) > 1:
        step = -(-max(rows, cols) // _FRONT)  # as fine as a picture can be
        down, along = np.arange(0, rows, step), np.arange(0, cols, step)
        levels = plan.makespan * np.arange(1, 10) / 10
        if min(len(down), len(along)) > 1:
            ax.contour(
                along + 0.5, down + 0.5, plan.starts[::step, ::step], levels, colors="#222222", linewidths=0.8, linestyles="--"
            )
    return ax


def figure_svg(draw: Callable[..., Any]) -> str:
    """The picture that draw(ax) makes, as an <svg> element for notebooks and reports; "" without matplotlib.

    Parameters
    ----------
    draw : callable
        Such as `trace.plot`; the figure takes the size that it wants.
    """
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


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("plotting needs matplotlib: pip install hetsched[plot]") from None


def _figure(figure: Figure | None, size: tuple[float, float]) -> Figure:
    """The figure to draw on, as large as the picture wants it unless it is the user's."""
    _require_matplotlib()
    if figure is None:
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout="constrained")
    if figure.get_label() == _OWN:
        figure.set_size_inches(size)
    return figure


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The same for a picture of one pair of axes."""
    _require_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=size, layout="constrained")[1]
    if ax.figure.get_label() == _OWN:
        ax.figure.canvas.figure.set_size_inches(size)
    return ax


def _settle(ax: Axes) -> None:
    """Lay the figure out, so that sizes can be measured."""
    ax.figure.canvas.figure.draw_without_rendering()


def _title(ax: Axes, text: str, **kwargs: Any) -> Text:
    return ax.set_title(text, fontsize=_LARGEST, parse_math=False, **kwargs)


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


def _join(ax: Axes, boxes: NDArray[np.float64], colours: Sequence[str]) -> None:
    """Paint over the edge between two boxes of a worker."""
    from matplotlib.collections import LineCollection

    across, down = (0.5 / unit for unit in _points(ax))  # leave the outline
    lines, inks = [], []
    for worker in np.flatnonzero(np.bincount(boxes[:, 0].astype(int)) > 1).tolist():
        for _, top, left, height, width in boxes[boxes[:, 0] == worker]:
            for _, other_top, other_left, other_height, other_width in boxes[boxes[:, 0] == worker]:
                low, high = max(left, other_left) + across, min(left + width, other_left + other_width) - across
                first, last = max(top, other_top) + down, min(top + height, other_top + other_height) - down
                if abs(top + height - other_top) < 1e-3 * down and low < high:
                    lines.append([(low, other_top), (high, other_top)])
                    inks.append(colours[worker])
                if abs(left + width - other_left) < 1e-3 * across and first < last:
                    lines.append([(other_left, first), (other_left, last)])
                    inks.append(colours[worker])
    ax.add_collection(LineCollection(lines, colors=inks, linewidths=2.6, capstyle="butt"), autolim=False)


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


def _cell_colours(boxes: NDArray[np.float64], p: int, slack: float) -> list[int]:
    """An index of _CELLS for each worker, such that workers that touch differ."""
    worker, top, left = boxes[:, 0].astype(int), boxes[:, 1], boxes[:, 2]
    bottom, right = top + boxes[:, 3], left + boxes[:, 4]
    touching: list[set[int]] = [set() for _ in range(p)]
    for i, own in enumerate(worker):
        down = np.minimum(bottom, bottom[i]) - np.maximum(top, top[i])
        along = np.minimum(right, right[i]) - np.maximum(left, left[i])
        touching[own].update(worker[(down >= -slack) & (along >= -slack)].tolist())
    colour = [-1] * p
    for own in range(p):
        taken = [colour[other] for other in touching[own] if other != own]
        preferred = [(own + shift) % len(_CELLS) for shift in range(len(_CELLS))]
        colour[own] = min(preferred, key=taken.count)
    return colour


def _aspect(shape: tuple[float, float]) -> float:
    """Height / width of the picture: true to the matrix, unless that would be too thin to read."""
    return min(max(shape[0] / shape[1], 1 / 3), 3.0)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[1 - _LONGEST // 2 :]}"
