"""Pictures show every event and rectangle, and their text can be read."""

import importlib
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from inputs import many
from readable import assert_readable

import hetsched as hs
from hetsched.plots.allocation import plot_distribution
from hetsched.plots.canvas import digits, figure_size, figure_svg, percent
from hetsched.plots.gantt import plot_trace
from hetsched.plots.zones import cuts_of, plot_boxes, plot_partition
from hetsched.trace import Trace

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = importlib.import_module("matplotlib.pyplot")
LineCollection = importlib.import_module("matplotlib.collections").LineCollection
PolyCollection = importlib.import_module("matplotlib.collections").PolyCollection

WORKERS = [1, 2, 3, 8, 64]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def gantt(p, n=8, overlap=False, names=None, **options):
    """A one-port master serves p workers in turn, n panels each."""
    rng = np.random.default_rng(p)
    steps, port, ready = [], 0.0, [0.0] * p
    for k in range(n * p):
        w = k % p
        start = port if overlap else max(port, ready[w])
        port = start + rng.uniform(0.2, 0.5) / p
        steps.append((w, "transfer", start, port, f"B {k}"))
        begin = max(port, ready[w])
        ready[w] = begin + rng.uniform(0.5, 3.0)
        steps.append((w, "compute", begin, ready[w], f"panel {k // p}"))
    return Trace.from_steps(
        steps, names or [f"P{i}" for i in range(p)], kind="emulated", speeds=[1.0] * p, **options
    )


def bars(ax):
    """Corners of the boxes as (left, top, right, bottom), with colours."""
    (collection,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    corners = [path.vertices for path in collection.get_paths()]
    colours = [matplotlib.colors.to_hex(c) for c in collection.get_facecolors()]
    return [(*v.min(0), *v.max(0)) for v in corners], colours


def assert_labels_inside(ax):
    """Every centred label lies within the box around its centre, once the axes are drawn."""
    boxes, _ = bars(ax)
    labels = [t for t in ax.texts if t.get_ha() == "center"]
    for label in labels:
        x, y = label.get_position()
        (box,) = [b for b in boxes if b[0] < x < b[2] and b[1] < y < b[3]]
        (x0, y0), (x1, y1) = np.sort(ax.transData.transform([box[:2], box[2:]]), axis=0)
        extent = label.get_window_extent()
        assert x0 <= extent.x0
        assert extent.x1 <= x1
        assert y0 <= extent.y0 + 1  # descent of a text that has none
        assert extent.y1 <= y1 + 1
    return labels


@pytest.mark.few(1)
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("p", many(WORKERS, [8]))
def test_trace_draws_every_event(p, overlapping):
    trace = gantt(p, overlap=overlapping, predicted=12.0)
    ax = plot_trace(trace)
    boxes, colours = bars(ax)
    assert len(boxes) == len(trace.events)
    spans = sorted((round(float((b[1] + b[3]) / 2)), float(b[0]), float(b[2])) for b in boxes)
    assert spans == sorted((e.worker, e.start, e.end) for e in trace.events)
    assert len(set(colours)) == len({e.kind for e in trace.events})
    low, high = sorted(ax.get_ylim())
    assert all(
        b[0] >= 0 and b[2] <= ax.get_xlim()[1] and low <= b[1] and b[3] <= high for b in boxes
    )
    assert ax.yaxis_inverted()
    assert_readable(ax)
    assert_labels_inside(ax)


@pytest.mark.slow
def test_trace_splits_rows_only_where_transfers_overlap_computing():
    ax = plot_trace(gantt(3, overlap=True))
    boxes, _ = bars(ax)
    busy = [b for b in boxes if b[3] - b[1] < 0.79]
    assert busy
    for a, b in itertools.combinations(busy, 2):
        assert min(a[2], b[2]) - max(a[0], b[0]) < 1e-9 or min(a[3], b[3]) - max(a[1], b[1]) < 1e-9
    boxes, _ = bars(plot_trace(gantt(3)))
    assert {round(b[3] - b[1], 9) for b in boxes} == {0.8}


@pytest.mark.slow
def test_trace_says_what_it_shows():
    trace = gantt(2, predicted=30.0)  # beyond the makespan
    ax = plot_trace(trace)
    title = ax.get_title(loc="left")
    assert "emulated" in title
    assert f"makespan {digits(trace.makespan)} s" in title
    assert f"efficiency {percent(trace.efficiency)}" in title
    assert ax.get_xlabel() == "time (s)"
    (line,) = ax.lines
    assert list(line.get_xdata()) == [30.0, 30.0]
    assert ax.get_xlim()[1] > 30.0
    assert "predicted 30 s" in [t.get_text() for t in ax.texts]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["compute", "transfer", "wait"]
    assert {"panel 1", "panel 7"} <= {t.get_text() for t in ax.texts}

    ax = plot_trace(hs.simulate(hs.distribute(78, [3, 5, 8])))
    assert ax.get_xlabel() == "time"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["compute", "wait"]
    assert not plot_trace(gantt(2)).lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw", [lambda p: gantt(p, 1).plot, lambda p: hs.distribute(p, [1.0] * p).plot]
)
def test_rows_of_64_workers_are_all_labelled_and_of_400_thinned_out(draw):
    assert len(draw(64)().get_yticks()) == 64
    ax = draw(400)()
    assert 30 < len(ax.get_yticks()) < 200
    assert_readable(ax)
    _, ax = pyplot.subplots(figsize=(4, 3), layout="constrained")
    draw(64)(ax)
    assert 8 < len(ax.get_yticks()) < 64
    assert_readable(ax)


@pytest.mark.slow
def test_names_are_shortened_and_not_read_as_formulas():
    names = [f"node-{i}.cluster.example.org/$core_{i}$ with spaces" for i in range(3)]
    ax = plot_trace(gantt(3, names=names, predicted=5.0))
    ax.figure.canvas.draw()
    shown = [t.get_text() for t in ax.get_yticklabels()]
    assert all(len(t) <= 24 for t in shown)
    assert shown[0].startswith("node-0")
    assert ax.get_window_extent().width > 0.7 * ax.figure.bbox.width
    plot_boxes((1, 1), [(0, 0, 0, 1, 1)], ["$\\broken{"]).figure.canvas.draw()


@pytest.mark.slow
def test_100_000_events_make_a_small_svg():
    trace = gantt(10, 4000)
    assert len(trace.events) > 100_000
    assert len(figure_svg(trace.plot)) < 500_000


@pytest.mark.slow
def test_trace_without_events_or_workers():
    for workers in (["a", "b"], []):
        plot_trace(
            Trace.from_steps([], workers, kind="real", speeds=[1.0] * len(workers))
        ).figure.canvas.draw()


@pytest.mark.few(1)
@pytest.mark.parametrize("p", many(WORKERS, [8]))
def test_distribution_bars_are_the_times(p):
    plan = hs.distribute(100 * p, np.random.default_rng(p).uniform(1, 5, p))
    ax = plot_distribution(plan)
    assert [patch.get_width() for patch in ax.patches] == pytest.approx(
        plan.counts * plan.cycle_times
    )
    assert [t.get_text() for t in ax.texts] == [
        f"makespan {digits(plan.makespan)}",
        *map(str, plan.counts),
    ]
    assert ax.get_xlim()[1] > plan.makespan
    (line,) = ax.lines
    assert list(line.get_xdata()) == [plan.makespan] * 2
    assert_readable(ax)


def test_distribution_with_idle_workers_and_without_chunks():
    ax = plot_distribution(hs.distribute(9, speeds=[1, 0, 2, 0.1]))
    assert [patch.get_width() for patch in ax.patches] == [3.0, 0.0, 3.0, 0.0]
    # inside the bar, or beside it
    assert [t.get_ha() for t in ax.texts[1:]] == ["right", "left", "right", "left"]
    plot_distribution(hs.distribute(0, [1, 2])).figure.canvas.draw()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("p", "method", "shape"),
    many(
        list(itertools.product(WORKERS, ["columns", "rows"], [None, (300, 1000), (4000, 64)])),
        [
            (1, "columns", None),
            (2, "rows", (300, 1000)),
            (3, "columns", (4000, 64)),
            (8, "columns", None),
            (8, "rows", (300, 1000)),
            (64, "rows", None),
            (64, "columns", (4000, 64)),
        ],
    ),
)
def test_partition_is_drawn_as_it_is(p, method, shape):
    plan = hs.partition(np.random.default_rng(p).uniform(0.2, 3, p), method, shape)
    ax = plot_partition(plan)
    boxes, colours = bars(ax)
    given = [pytest.approx(rect) for rect in plan.rects.tolist() if rect[2] > 0]
    assert [(b[1], b[0], b[3] - b[1], b[2] - b[0]) for b in boxes] == given
    rows, columns = shape or (1, 1)
    assert ax.get_ylim() == (rows, 0)
    assert ax.get_xlim() == (0, columns)
    assert_readable(ax)
    labels = assert_labels_inside(ax)
    if shape is None and method == "columns":
        assert len(labels) == p
        assert labels[0].get_text().split()[1] == f"{100 * plan.actual_areas[0]:.3g}%"
    for a, b in itertools.combinations(range(len(boxes)), 2):
        down = min(boxes[a][3], boxes[b][3]) - max(boxes[a][1], boxes[b][1])
        along = min(boxes[a][2], boxes[b][2]) - max(boxes[a][0], boxes[b][0])
        if min(down / rows, along / columns) > -1e-9:
            assert colours[a] != colours[b], "neighbours"


@pytest.mark.slow
@pytest.mark.parametrize("p", [9, 16, 64])
def test_labels_fit_where_letters_end_at_pixels(p, monkeypatch):
    """Before matplotlib 3.11 a text of another size is some pixels larger than in proportion."""
    exact = matplotlib.text.Text.get_window_extent

    def rounded(text, *args, **options):
        box = exact(text, *args, **options)
        return box if text.get_fontsize() == 10 else box.padded(2.5)

    monkeypatch.setattr(matplotlib.text.Text, "get_window_extent", rounded)
    ax = plot_partition(hs.partition(np.random.default_rng(p).uniform(0.2, 3, p), "columns"))
    assert_readable(ax)
    assert assert_labels_inside(ax)


def test_partition_leaves_out_workers_without_a_rectangle():
    ax = plot_partition(hs.partition([1, 0, 2]))
    assert len(bars(ax)[0]) == 2
    assert [t.get_text().split()[0] for t in ax.texts] == ["P0", "P2", "1"]


def numbers(ax):
    return [t for t in ax.texts if re.fullmatch(r"\d+", t.get_text())]


def test_cuts_are_numbered_from_the_whole_down():
    plan = hs.partition([1, 1, 1, 1, 2], "columns")  # three columns
    cuts = cuts_of(plan)
    assert [cut.depth for cut in cuts] == [0] * (len(plan.columns) - 1) + [1] * (
        5 - len(plan.columns)
    )
    ax = plot_partition(plan)
    assert [t.get_text() for t in numbers(ax)] == ["1", "2", "3", "4"]
    for cut, number in zip(cuts, numbers(ax), strict=True):
        assert number.xy in cut.lines[0]
    (lines,) = (
        c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_segments()) == 4
    )
    assert list(lines.get_linewidths()) == sorted(lines.get_linewidths()), (
        "the first are thick and on top"
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", [None, (60, 90)])
def test_pinwheels_corners_and_groups(shape):
    (wheel,) = cuts_of(hs.partition([20, 20, 20, 20, 1], "guillotine", shape))
    rows, columns = shape or (1, 1)
    assert {line for line in wheel.lines if 0 in (line[0][1], line[1][0]) or columns in line[1]}
    around = hs.partition([20, 1], "nonrectangular", shape)
    (corner,) = cuts_of(around)
    assert len(corner.lines) == 2
    ax = plot_partition(around)
    assert sorted(t.get_text().split()[0] for t in ax.texts) == ["1", "P0", "P1"]
    assert_readable(ax)
    ax = plot_partition(hs.partition([4, 2, 2, 1, 1], shape=shape, groups=[0, 0, 0, 1, 1]))
    boxes = [(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in ax.patches]
    assert sum(w * h for *_, w, h in boxes) == pytest.approx(rows * columns)
    assert len(boxes) == 2


@pytest.mark.slow
def test_cuts_of_workers_without_cells_and_many():
    assert len(cuts_of(hs.partition([1000, 1e-3, 1e-3, 5], "columns", (4, 4)))) < 3
    assert cuts_of(hs.partition([1, 2, 3], "contiguous", (4, 4))) == []
    assert len(cuts_of(hs.partition([1.0] * 900, "rows"))) == 899
    assert numbers(plot_partition(hs.partition([1.0] * 17, "columns"))) == []
    assert_readable(plot_partition(hs.partition(np.random.default_rng(3).random(16), "columns")))


@pytest.mark.slow
def test_comparison():
    found = hs.compare_partitions([3, 2, 1])
    assert "contiguous" not in found
    assert found["best"].cost == min(plan.cost for plan in found.values())
    figure = found.plot()
    assert [ax.get_title(loc="left").split()[0] for ax in figure.axes] == list(found)
    for ax, plan in zip(figure.axes, found.values(), strict=True):
        assert f"{digits(plan.cost)}, gap {percent(plan.gap)}" in ax.get_title(loc="left")
        assert_readable(ax)
    assert list(hs.compare_partitions([3, 2, 1], ["rows", "best"], (5, 5), seed=1)) == [
        "rows",
        "best",
    ]
    assert "contiguous" in hs.compare_partitions([3, 2, 1], shape=(5, 5))
    assert list(hs.compare_partitions([3, 2, 1], groups=[0, 0, 1])) == ["best", "interval"]
    assert "guillotine" not in hs.compare_partitions([1.0] * 8, objective="max")
    for wrong in ("best", [], ["best", "worst"]):
        with pytest.raises(ValueError, match="methods must be some of"):
            hs.compare_partitions([3, 2, 1], wrong)


def test_comparisons_with_options():
    stack = [[3, 2, 1], [4, 4, 1]]
    one = hs.compare_partitions([3, 2, 1], columns=2)
    assert list(one) == ["columns"]
    assert one.skipped["best"] == "columns is for method columns"
    assert list(hs.compare_partitions(stack, columns=2)) == ["columns"]
    grouped = hs.compare_partitions(stack, groups=[0, 0, 1])
    assert list(grouped) == ["interval"]
    assert grouped.skipped["columns"] == "does not take groups"
    own = {"mine": lambda areas: hs.partition(areas, "rows").rects}
    assert list(hs.compare_partitions([3, 2, 1], ["columns"], own=own, columns=2)) == [
        "columns",
        "mine",
    ]
    for options, kind, words in (
        ({"groups": [0, 0, 1], "own": own}, ValueError, "own must be given without groups"),
        ({"objective": "foo", "own": own}, ValueError, "^objective must be"),
        ({"method": "best"}, TypeError, "method is not an option of a comparison: give methods"),
        ({"rects": [[0, 0, 1, 1]]}, TypeError, "rects is not an option of a comparison: give own"),
    ):
        with pytest.raises(kind, match=words):
            hs.compare_partitions([3, 2, 1], ["best"], **options)
    for result, words in (
        (None, r"own\['x'\] must be rectangles or return them, got None"),
        ([], r"own\['x'\]"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            hs.compare_partitions(stack, own={"x": lambda areas, found=result: found})
    with pytest.raises(AttributeError, match="cannot delete 'skipped'"):
        del one.skipped


def test_boxes_of_several_rectangles_per_worker():
    rects = [((3 * i + 5 * j) % 7, i, j, 1, 1) for i in range(4) for j in range(7)]
    ax = plot_boxes((4, 7), rects, "ABCDEFG")
    _, colours = bars(ax)
    assert len(set(colours)) == 7
    assert all(
        len({c for c, r in zip(colours, rects, strict=True) if r[0] == w}) == 1 for w in range(7)
    )
    texts = [t.get_text() for t in ax.texts]
    assert len(texts) == 28
    assert sorted(t for t in texts if "%" in t) == [f"{name}\n14.3%" for name in "ABCDEFG"]
    ax.figure.draw_without_rendering()
    assert_labels_inside(ax)


@pytest.mark.slow
def test_plots_into_given_axes_leave_the_figure_as_it_is():
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 4))
    assert plot_trace(gantt(8), axes[0]) is axes[0]
    assert plot_distribution(hs.distribute(20, [1, 2]), axes[1]) is axes[1]
    assert plot_partition(hs.partition([1, 2]), axes[2]) is axes[2]
    assert tuple(figure.get_size_inches()) == (10, 4)
    assert pyplot.get_fignums() == [figure.number]


@pytest.mark.slow
@pytest.mark.parametrize("p", [2, 64])
def test_svg_is_well_formed_and_has_the_size_of_the_plot(p):
    before = dict(matplotlib.rcParams)
    for draw in (
        gantt(p).plot,
        hs.distribute(9, [1.0] * p).plot,
        hs.partition([1.0] * p, "columns").plot,
    ):
        svg = figure_svg(draw)
        assert svg.startswith("<svg ")
        root = ET.fromstring(svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        kind = "boxes" if draw.__self__.__class__ is hs.Partition else "rows"
        assert [float(root.get(side)[:-2]) / 72 for side in ("width", "height")] == pytest.approx(
            figure_size(kind, p)
        )
        assert "<style" not in svg  # it would hold for the whole page
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == []


@pytest.mark.slow
def test_svgs_on_one_page_share_no_ids():
    draw = gantt(2).plot
    pages = [figure_svg(draw), figure_svg(draw)]
    ids = [set(re.findall(r'\sid="([^"]*)"', page)) for page in pages]
    assert len(ids[0]) > 10
    assert not ids[0] & ids[1]
    for page, own in zip(pages, ids, strict=True):
        used = re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', page)
        assert used
        assert {a or b for a, b in used} <= own


@pytest.mark.slow
def test_notebooks_show_plans_and_traces():
    plan = hs.distribute(78, [3, 5, 8])
    assert "<svg" in plan._repr_html_()
    assert "<svg" in hs.simulate(plan)._repr_html_()


@pytest.fixture
def _no_matplotlib(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("_no_matplotlib")
def test_without_matplotlib():
    plan = hs.distribute(78, [3, 5, 8])
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plan.plot()
    assert figure_svg(plan.plot) == ""
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plan.save_plot("picture.pdf")


@pytest.mark.usefixtures("_no_matplotlib")
def test_notebooks_without_matplotlib_show_tables():
    assert hs.topology()._repr_html_().startswith("<table>")
    html = hs.Platform.star([3, 5, 8])._repr_html_()
    assert "<svg" not in html
    assert "cycle-time  link cost" in html


@pytest.mark.usefixtures("_no_matplotlib")
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("studies.plots", "plot_ppopp2008"),
        ("studies.plots", "plot_static2001"),
        ("studies.plots", "plot_layers_star"),
        ("studies.plots", "plot_layers_mesh"),
        ("studies.ring_plots", "plot_ring2003"),
        ("plots.zones", "plot_comparison"),
        ("plots.zones", "plot_partition"),
    ],
)
def test_pictures_of_studies_without_matplotlib(module, name):
    plans = hs.compare_partitions([1, 2], methods=["columns"])
    given = {"plot_comparison": plans, "plot_partition": plans.get("columns")}
    with pytest.raises(ImportError, match="plotting needs matplotlib: pip install matplotlib"):
        getattr(importlib.import_module(f"hetsched.{module}"), name)(given.get(name))


def test_import_stays_light():
    code = (
        "import sys, hetsched.plots.canvas, hetsched.trace; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
