"""Plot of a machine: packages, NUMA nodes, shared caches, cores and cpus as nested boxes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ..machine.topology import count_of, size_text
from .canvas import (
    _CELLS,
    _LARGEST,
    _SMALLEST,
    Sheet,
    _axes,
    _dpi,
    _draw_boxes,
    _key,
    _points,
    _settle,
    _title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    from ..machine.cpus import Cache
    from ..machine.topology import Topology

_KINDS = {"performance": _CELLS[1], "efficiency": _CELLS[6], "unknown": _CELLS[0]}
_FRAMES = {"package": "#e4e4e4", "node": "#f4f4f4", "cache": "#ffffff"}
_CPU, _ABSENT, _PALE = "#ffffff", "#dddddd", "#888888"
_EDGE = "#666666"
_ROOM = (9.0, 5.5)  # inches: the machine in a new figure, if it fits
_PAGE = 8.5  # inches: most height in a figure of a given width
_LEAST = 5.0  # inches: least width of a new figure, for the title
_TRIALS = 16  # widths for which boxes are arranged, of which the best is taken

# Sizes in inches. Boxes are stretched to fill the plot, and shrunk where they have to be.
_PAD = 0.05  # around the boxes in a box, and between them
_HEAD = 0.16  # height of the line with the label of a box
_LETTER = 0.068  # width of a letter in that line
_FONT = 8.0  # points
_ROOMY = 32  # number of cpus up to which cores have labels and cells are wide
_WIDE, _NARROW = (0.5, 0.22), (0.31, 0.18)  # width and height of the cell of a cpu
_THIN = 0.025  # around the cells in a core without a label, and between them


@dataclass(frozen=True)
class Box:
    """A box of the picture: left, top, right and bottom, y down.

    `kind` is "package", "node", "cache", "cpu", or the type of a core. `labels` are the texts that
    may stand in it, the best one first.
    """

    kind: str
    labels: tuple[str, ...]
    cpus: frozenset[int]
    left: float
    top: float
    right: float
    bottom: float


@dataclass(eq=False)
class _Part:
    """A part of the machine with the parts in it. `arrange` sets its least size in inches."""

    kind: str
    labels: tuple[str, ...]
    cpus: frozenset[int]
    parts: list[_Part] = field(default_factory=list)
    owner: dict[int, _Part] = field(default_factory=dict)  # cpu -> the part in it that has the cpu
    runs: list[list[list[_Part]]] = field(default_factory=list)  # rows of parts of one kind
    width: float = 0.0
    height: float = 0.0

    @property
    def pad(self) -> float:
        """The space around the parts, and between them."""
        return _PAD if self.labels or self.kind not in _KINDS else _THIN

    @property
    def head(self) -> float:
        """Height of the line with the label."""
        return _HEAD if self.labels else 0.0

    def add(self, part: _Part) -> None:
        """Put a part into the smallest part that contains it.

        It is left out if it crosses the border of another part.
        """
        inner = self.owner.get(min(part.cpus))
        if inner is not None and part.cpus <= inner.cpus:
            inner.add(part)
        elif not part.cpus & self.owner.keys():
            self.parts.append(part)
            self.owner.update(dict.fromkeys(part.cpus, part))

    def arrange(self, width: float, cell: tuple[float, float]) -> None:
        """Put the parts into rows of at most this width, if they can be that narrow."""
        if self.kind == "cpu":
            self.width, self.height = cell
            return
        inner = width - 2 * self.pad
        for part in self.parts:
            part.arrange(inner, cell)
        self.runs = [
            _rows_of(list(own), inner, self.pad)
            for _, own in groupby(self.parts, lambda part: part.kind)
        ]
        rows = [row for run in self.runs for row in run]
        self.width = 2 * self.pad + max(
            _LETTER * len(self.labels[-1]) if self.labels else 0.0,
            *(_width(row, self.pad) for row in rows),
        )
        self.height = self.head + self.pad + sum(self.pad + _height(row) for row in rows)

    def place(self, left: float, top: float, width: float, height: float) -> Iterable[Box]:
        """The boxes of this part and of all parts in it, which fill a room of the given size."""
        if self.kind != "machine":
            yield Box(self.kind, self.labels, self.cpus, left, top, left + width, top + height)
        rows = [row for run in self.runs for row in run]
        if not rows:
            return
        pad = self.pad
        higher = (height - self.head - pad * (len(rows) + 1)) / sum(map(_height, rows))
        down = top + self.head + pad
        for run in self.runs:
            widest = max(run, key=lambda row: _width(row, pad))
            wider = (width - pad * (len(widest) + 1)) / sum(part.width for part in widest)
            for row in run:
                along, high = left + pad, _height(row) * higher
                for part in row:
                    yield from part.place(along, down, part.width * wider, high)
                    along += part.width * wider + pad
                down += high + pad


def _width(row: list[_Part], pad: float) -> float:
    return sum(part.width for part in row) + pad * (len(row) - 1)


def _height(row: list[_Part]) -> float:
    return max(part.height for part in row)


def _rows_of(parts: list[_Part], width: float, pad: float) -> list[list[_Part]]:
    """Parts of one kind in rows. Equal parts are in rows of equal length, if that costs little."""
    n = len(parts)
    if len({round(part.width, 6) for part in parts}) == 1:
        most = int(min(n, max(1.0, (width + pad + 1e-9) / (parts[0].width + pad))))
        even = max(count for count in range(1, most + 1) if n % count == 0)
        each = even if 2 * even > most else -(-n // -(-n // most))
        return [parts[i : i + each] for i in range(0, n, each)]
    rows: list[list[_Part]] = [[]]
    for part in parts:
        if rows[-1] and _width([*rows[-1], part], pad) > width + 1e-9:
            rows.append([])
        rows[-1].append(part)
    return rows


def _parts_of(t: Topology) -> _Part:
    """The machine. Only parts that the system reports are in it."""
    siblings = {cpu.number: {*(cpu.siblings or (cpu.number,))} for cpu in t.logical}
    frames: list[_Part] = []
    for kind in ("package", "node"):
        for number in sorted({getattr(cpu, kind) for cpu in t.logical} - {None}):
            own = frozenset(cpu.number for cpu in t.logical if getattr(cpu, kind) == number)
            name = f"{kind} {number}"
            labels: tuple[str, ...] = (f"NUMA {name}", name) if kind == "node" else (name,)
            frames.append(_Part(kind, labels, own))
    for cache in sorted(t.caches, key=lambda cache: -cache.level):
        shared = frozenset(cache.shared_by or ())
        own = shared & {*siblings}
        # not the cache of a single core
        if own and cache.type != "instruction" and shared - siblings[min(own)]:
            frames.append(_Part("cache", _cache_labels(cache), own))
    groups = t.groups()
    cores = [frozenset(cpu.number for cpu in group) for group in groups]
    parts = [  # without those that have a part of a core
        frame
        for frame in frames
        if all(core <= frame.cpus or not core & frame.cpus for core in cores)
    ]
    for group, own in zip(groups, cores, strict=True):
        if (core := group[0].core) is not None:
            labels = (f"core {core}",) if t.cpus <= _ROOMY else ()
            parts.append(_Part(group[0].type, labels, own))
    machine = _Part("machine", (), frozenset(t.allowed))
    # From large to small. Of equal ones, a package is around a node, and an L3 around an L2.
    for part in sorted(parts, key=lambda part: -len(part.cpus)):
        machine.add(part)
    for cpu in t.allowed:
        machine.add(_Part("cpu", (f"cpu {cpu}", str(cpu)), frozenset((cpu,))))
    _sort(machine)
    return machine


def _cache_labels(cache: Cache) -> tuple[str, ...]:
    name = f"L{cache.level}"
    return (name,) if cache.bytes is None else (f"{name} {size_text(cache.bytes)}", name)


def _sort(part: _Part) -> None:
    """Order the parts in a part by their lowest cpu, with parts of one kind beside each other."""
    first: dict[str, int] = {}
    for inner in part.parts:
        lowest = min(inner.cpus)
        first[inner.kind] = min(first.get(inner.kind, lowest), lowest)
        _sort(inner)
    part.parts.sort(key=lambda inner: (first[inner.kind], min(inner.cpus)))


def _arrange(machine: _Part, room: tuple[float, float]) -> float:
    """Arrange the boxes for a room in inches.

    Returns the scale at which they fit, at most 1. Of the arrangements with the largest scale the
    lowest one is taken.
    """
    cell = _WIDE if len(machine.cpus) <= _ROOMY else _NARROW

    def scale_at(width: float) -> float:
        machine.arrange(width, cell)
        return min(1.0, room[0] / machine.width, room[1] / machine.height)

    scale_at(np.inf)
    trials = {}
    for width in np.geomspace(1.0, max(machine.width, 1.0), _TRIALS).tolist() + [room[0]]:
        trials[width] = (-scale_at(width), machine.height)
    return scale_at(min(trials, key=lambda width: trials[width]))


def machine_boxes(topology: Topology, room: tuple[float, float] = _ROOM) -> list[Box]:
    """The boxes of the picture, outer ones before those in them. They fill a room in inches.

    If the room is too small for them, they fill a larger one of the same shape.
    """
    machine = _parts_of(topology)
    scale = _arrange(machine, room)
    return list(machine.place(0.0, 0.0, room[0] / scale, room[1] / scale))


def plot_machine(topology: Topology, ax: Axes | Sheet | None = None) -> Axes:
    """Draw packages, NUMA nodes, caches of several cores, cores and cpus as nested boxes.

    Cores are coloured by their type. Cpus that the process may not use are left out, or grey if
    they are only in the file that HETSCHED_TOPOLOGY names.

    Parameters
    ----------
    topology : Topology
        What the system does not report is left out. A cpu of an unknown core has a cell with the
        colour of its type.
    """
    from matplotlib.patches import Patch

    what = "cpu" if topology.cores is None else "core"
    looks = [
        (_KINDS[kind], what if kind == "unknown" else f"{kind} {what}") for kind in topology.types
    ]
    looks += [(_ABSENT, "not available here")] if topology.absent else []
    machine = _parts_of(topology)
    if isinstance(ax, Sheet):
        scale = _arrange(machine, (ax.width - 0.1, _PAGE))
        size = (ax.width, machine.height * scale + 0.65)
    else:
        _arrange(machine, _ROOM)
        size = (max(machine.width + 0.1, _LEAST), machine.height + 0.65)
    ax = _axes(ax, size, keys=len(looks))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    _title(ax, _heading_of(topology))
    _settle(ax)
    _key(
        ax,
        [
            Patch(facecolor=colour, edgecolor=_EDGE, linewidth=0.5, label=label)
            for colour, label in looks
        ],
    )
    box = ax.get_window_extent()
    boxes = machine_boxes(topology, (box.width / _dpi(ax), box.height / _dpi(ax)))
    ax.set(
        xlim=(0.0, max(box.right for box in boxes) + _PAD),
        ylim=(max(box.bottom for box in boxes) + _PAD, 0.0),
    )
    _draw(ax, boxes, topology)
    return ax


def _heading_of(t: Topology) -> str:
    cpus = count_of(t.cpus, "cpu") if t.cpus == t.online else f"{t.cpus} of {t.online} online cpus"
    parts = [
        t.model,
        "cores unknown" if t.cores is None else count_of(t.cores, "core"),
        cpus,
        None if t.memory is None else f"{t.memory / 2**30:.4g} GiB",
        None if t.quota is None else f"quota {t.quota:g} cpus",
        None if t.thread_limit is None else f"thread limit {t.thread_limit}",
        f"{t.worth} worth starting",
    ]
    return ", ".join(part for part in parts if part)


def _draw(ax: Axes, boxes: list[Box], t: Topology) -> None:
    types = {cpu.number: cpu.type for cpu in t.logical}
    absent = frozenset(t.absent)
    in_core = frozenset[int]().union(*(box.cpus for box in boxes if box.kind in _KINDS))

    def colour(box: Box) -> str:
        if box.kind != "cpu":
            return _FRAMES[box.kind] if box.kind in _FRAMES else _KINDS[box.kind]
        if box.cpus <= absent:
            return _ABSENT
        white = box.cpus <= in_core and t.cpus <= _ROOMY
        return _CPU if white else _KINDS[types[min(box.cpus)]]

    left, top, right, bottom = np.array(
        [(box.left, box.top, box.right, box.bottom) for box in boxes]
    ).T
    unit = min(_points(ax))
    narrow = np.minimum(right - left, bottom - top) * unit
    _draw_boxes(ax, left, top, right, bottom, [colour(box) for box in boxes], narrow, _EDGE)
    size = min(_LARGEST, max(_SMALLEST, _FONT * unit / 72))
    cells = [box for box in boxes if box.kind == "cpu"]
    for which in range(2):  # all cells have labels of one form
        written = [_write(ax, box, box.labels[which], size, box.cpus <= absent) for box in cells]
        if all(written):
            break
        for text in filter(None, written):
            text.remove()
    for box in boxes:
        if box.kind != "cpu":
            any(_write(ax, box, label, size) for label in box.labels)  # the first with room


def _write(ax: Axes, box: Box, label: str, size: float, pale: bool = False) -> Text | None:
    """Write a label in the middle of a cpu or at the top of another box, if it has room there."""
    across, down = _points(ax)
    cell = box.kind == "cpu"
    x = (box.left + box.right) / 2 if cell else box.left + _PAD
    y = (box.top + box.bottom) / 2 if cell else box.top + (_HEAD + _PAD) / 2
    text = ax.text(
        x,
        y,
        label,
        fontsize=size,
        color=_PALE if pale else "black",
        ha="center" if cell else "left",
        va="center_baseline" if cell else "center",
        clip_on=True,
        parse_math=False,
    )
    extent = text.get_window_extent()
    wide, high = extent.width * 72 / _dpi(ax), extent.height * 72 / _dpi(ax)
    room = (box.bottom - box.top if cell else _HEAD + _PAD) * down
    if wide <= (box.right - box.left) * across - (2 if cell else 4) and high <= room:
        return text
    text.remove()
    return None
