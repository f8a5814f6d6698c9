"""The picture of a platform has each speed and each cost, and its text can be read."""

import importlib
import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from inputs import many
from readable import assert_readable, overlap

import hetsched as hs
from hetsched.plots.canvas import digits

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = importlib.import_module("matplotlib.pyplot")
LineCollection = importlib.import_module("matplotlib.collections").LineCollection
PolyCollection = importlib.import_module("matplotlib.collections").PolyCollection


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def random(*shape, seed=0):
    return np.random.default_rng([*shape, seed]).uniform(1.0, 8.0, shape)


def bars(ax):
    """(row, left, length) of each bar, one list for each collection."""
    found = []
    for collection in ax.collections:
        if isinstance(collection, PolyCollection):
            corners = np.array([path.vertices for path in collection.get_paths()])
            low, high = corners.min(1), corners.max(1)
            rows = (low[:, 1] + high[:, 1]) / 2
            found.append(np.stack([rows, low[:, 0], high[:, 0] - low[:, 0]], axis=1))
    return found


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("p", "width"),
    many(
        list(itertools.product([1, 3, 100, 1000], [None, "column"])),
        [(1, None), (3, "column"), (1000, None)],
    ),
)
def test_star(p, width):
    times, costs = random(p), random(p, seed=1)
    costs[1::3] = 0.0
    platform = hs.Platform.star(times, costs, memory=[10 + i for i in range(p)])
    ax = platform.plot(width=width)
    links, speeds = bars(ax)
    assert speeds[:, 0] == pytest.approx(np.arange(p))
    assert speeds[:, 2] / speeds[:, 2].max() == pytest.approx(times.min() / times)
    assert links[:, 0] == pytest.approx(np.flatnonzero(costs)), "a cost of 0 is not drawn"
    assert links[:, 2] / links[:, 2].max() == pytest.approx(costs[costs > 0] / costs.max())
    assert (speeds[:, 1] + speeds[:, 2]).max() < links[:, 1].min()
    assert_readable(ax)
    shown = ax.get_yticks().astype(int)
    assert len(shown) == p or 30 < len(shown) < p
    numbers = [digits(times[i]) for i in shown] + [str(10 + i) for i in shown]
    numbers += [digits(costs[i]) for i in shown if costs[i]]
    heads = ["speed", "cycle-time", "link cost", "", "memory"]
    assert sorted(texts(ax)) == sorted(numbers + heads)


def test_only_what_a_platform_has_is_drawn():
    ax = hs.Platform.star([3, 5, 8]).plot()
    assert len(bars(ax)) == 1
    assert texts(ax) == ["speed", "cycle-time", "3", "5", "8"]
    assert ax.get_title(loc="left") == "star, 3 workers"
    ax = hs.Platform.star([3, 5], memory=[None, 7], names=["$a$", "b"]).plot()
    assert "memory" in texts(ax)
    assert "None" not in texts(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$a$", "b"]


def test_the_title_has_the_unit():
    title = hs.Platform.star([3, 5], unit=hs.Unit.block_update(80)).plot().get_title(loc="left")
    assert "cycle-times in seconds per block update" in title
    assert "link costs in seconds per block" in title


def numbers_in_cells(ax, p):
    """(row, column) of the matrix -> the text in that cell."""
    left, right, _, _ = ax.images[0].get_extent()
    found = {}
    for text in ax.texts:
        x, y = text.get_position()
        if text.get_ha() == "center":
            found[round(y), int((x - left) / (right - left) * p)] = text.get_text()
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("p", [1, 2, 6, 16, 40])
def test_links_between_all_workers_are_a_matrix(p):
    costs = random(p, p)
    platform = hs.Platform.complete(random(p), costs)
    ax = platform.plot()
    (image,) = ax.images
    share = np.asarray(image.get_array())
    assert share == pytest.approx(platform.links / max(platform.links.max(), 1e-300))
    left, right, bottom, top = image.get_extent()
    assert (bottom, top) == (p - 0.5, -0.5)
    (speeds,) = bars(ax)
    assert (speeds[:, 1] + speeds[:, 2]).max() < left < right <= 1.0 + 1e-9
    assert_readable(ax)
    if p <= 6:
        cells = {(i, j): digits(platform.links[i, j]) for i in range(p) for j in range(p) if i != j}
        assert numbers_in_cells(ax, p) == cells
    assert len(ax.figure.axes) == 1 + (p > 16), "a scale where there are no numbers"
    if 1 < p <= 6:
        assert [label.get_text() for label in ax.get_xticklabels()] == list(platform.names)


@pytest.mark.slow
@pytest.mark.parametrize("p", [9, 16])
def test_names_below_a_narrow_matrix_do_not_overlap(p):
    parts = [hs.Platform.star([1.0] * (p // 3)) for _ in range(3)]
    platform = hs.Platform.join(parts, ["first-rack", "second-rack", "third-rack"], links=0.5)
    ax = platform.plot(width="column")
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) > 2
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    assert_readable(ax)


@pytest.mark.parametrize("width", [None, "column"])
def test_mesh(width):
    times, right, down = random(3, 4), random(3, 3, seed=1), random(2, 4, seed=2)
    platform = hs.Platform.mesh(times, right, down)
    ax = platform.plot(width=width)
    (nodes,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    assert len(nodes.get_paths()) == 12
    light = nodes.get_facecolors()[:, :3].sum(1)
    assert (np.argsort(light) == np.argsort(times.ravel())).all(), "fast ones are dark"
    (lines,) = (c for c in ax.collections if isinstance(c, LineCollection))
    assert len(lines.get_segments()) == right.size + down.size
    assert_readable(ax)
    assert len(ax.texts) == 12 + right.size + down.size
    if width is None:
        for i in range(12):
            assert texts(ax)[i] == f"P{i}\n{digits(times.ravel()[i])}"
        costs = [*right.ravel(), *down.ravel()]
        assert texts(ax)[12:] == [digits(cost) for cost in costs]


def test_meshes_of_one_row_and_with_memory():
    workers = [hs.Worker(2.0, memory=60), hs.Worker(4.0)]
    ax = hs.Platform(workers, shape=(1, 2), right=[[3.0]]).plot()
    assert texts(ax) == ["P0\n2\nmemory 60", "P1\n4", "3"]
    assert_readable(hs.Platform.mesh(random(1, 1)).plot())
    assert_readable(hs.Platform.mesh(random(1, 9), random(1, 8)).plot())


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e308])
def test_numbers_of_any_size(scale):
    ones = np.ones((2, 2))
    for platform in (
        hs.Platform.star([scale, scale], [scale, 0.0]),
        hs.Platform.complete([scale, scale], scale * ones),
        hs.Platform.mesh(scale * ones, scale * ones[:, :1], scale * ones[:1]),
    ):
        assert_readable(platform.plot())


@pytest.mark.slow
def test_given_axes():
    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained")
    platforms = (
        hs.Platform.star([3, 5, 8], [1, 2, 3]),
        hs.Platform.complete([3, 5, 8], random(3, 3)),
        hs.Platform.mesh(random(2, 2), random(2, 1), random(1, 2)),
    )
    for ax, platform in zip(axes, platforms, strict=True):
        assert platform.plot(ax) is ax
        assert_readable(ax)
    assert tuple(figure.get_size_inches()) == (12, 4)


def test_notebooks():
    platform = hs.Platform.star([3, 5], [1, 0], memory=[60, None], names=["<b>", "$x$"])
    html = platform._repr_html_()
    assert html.count("<svg") == 1
    assert "<b>" not in html
    ET.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])
    table = html[html.index("<pre>") :]
    for word in ("name", "cycle-time", "link cost", "memory", "60", "no limit", "&lt;b&gt;"):
        assert word in table
    assert (
        "link cost"
        not in hs.Platform.complete([1, 2], np.ones((2, 2)))._repr_html_().split("<pre>")[1]
    )
