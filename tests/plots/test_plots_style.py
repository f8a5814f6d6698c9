"""One style for all pictures: figures for papers, colours for every eye, digits that mean
something."""

import importlib
import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many

import hetsched as hs
from hetsched.plots import canvas
from hetsched.plots.canvas import digits, percent
from hetsched.plots.gantt import phases, plot_trace, step_colour
from hetsched.trace import Event, Trace

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = importlib.import_module("matplotlib.pyplot")
text_type = importlib.import_module("matplotlib.text").Text

# Linear RGB as a dichromat has it: Machado, Oliveira, Fernandes (2009), table 1, severity 1.
EYES = {
    "usual": np.eye(3),
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}
XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]
DISTINCT = 20.0  # CIE 1976 L*a*b*; a just noticeable difference is about 2.3


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def lab(colour, eye):
    """CIE L*a*b* of a colour, D65."""
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(EYES[eye]) @ linear, 0, 1)
    x, y, z = np.array(XYZ) @ seen / [0.95047, 1.0, 1.08883]
    f = [np.cbrt(v) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def closest(colours, eye):
    return min(
        float(np.linalg.norm(lab(a, eye) - lab(b, eye)))
        for a, b in itertools.combinations(colours, 2)
    )


class TestColours:
    @pytest.mark.parametrize("eye", EYES)
    def test_those_of_the_first_workers_differ_to_every_eye(self, eye):
        assert len(canvas._CELLS) == 8
        assert closest(canvas._CELLS, eye) >= DISTINCT

    def test_the_measure_finds_colours_that_do_not(self):
        """Tol's light scheme, which has a pair that a deutan eye takes for one."""
        assert closest(["#77aadd", "#ffaabb", "#dddddd"], "deutan") < DISTINCT / 1.5

    @pytest.mark.parametrize("eye", EYES)
    def test_those_of_a_gantt_chart_differ(self, eye):
        assert closest(canvas._COLOURS.values(), eye) >= DISTINCT
        waits, _, transfers = canvas._COLOURS.values()
        assert (
            closest([waits, transfers, step_colour(0, 2), step_colour(1, 2), "#10254a"], eye)
            >= 10.0
        )
        assert (
            lab(step_colour(0, 9), eye)[0]
            > lab(step_colour(4, 9), eye)[0]
            > lab(step_colour(8, 9), eye)[0]
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("p", [16, 64, 1000])
    def test_many_workers_go_from_dark_to_light_with_their_speed(self, p):
        times = np.random.default_rng(p).uniform(1.0, 8.0, p)
        grid = hs.lu_grid(12, times)
        ax = grid.plot()
        picture = ax.images[0].get_array()
        owner = grid.owner.ravel()
        light = [lab(colour, "deutan")[0] for colour in np.asarray(picture)[..., :3].reshape(-1, 3)]
        ranked = sorted(
            dict(zip(owner.tolist(), light, strict=True)).items(),
            key=lambda found: -times[found[0]],
        )
        assert all(a[1] <= b[1] for a, b in itertools.pairwise(ranked))


class TestDigits:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (1.51444, "1.514"),
            (0.460346, "0.46"),
            (120.0, "120"),
            (9.999, "10"),
            (24976.1, "25000"),
            (0.0, "0"),
            (2.5e9, "2.5e+09"),
            (-1.9996, "-2"),
            (0.00012345, "0.0001234"),
            (1e-7, "1e-07"),
            (float("inf"), "inf"),
        ],
    )
    def test_three_or_four(self, value, text):
        assert digits(value) == text

    @given(st.floats(1e-300, 1e300))
    def test_what_is_left_out_is_small(self, value):
        assert abs(float(digits(value)) / value - 1) <= 0.5e-2
        assert significant(digits(value)) <= 4

    @pytest.mark.parametrize(
        ("share", "text"),
        [
            (0.0, "0.00%"),
            (0.17123, "17.1%"),
            (0.0106, "1.06%"),
            (1.77871, "178%"),
            (1.0, "100%"),
            (0.999, "99.9%"),
        ],
    )
    def test_shares(self, share, text):
        assert percent(share) == text


def significant(text):
    """Of the number in a text that has the most."""
    found = re.findall(r"\d+(?:\.\d+)?(?:e[+-]\d+)?", text)
    return max(
        (len(number.partition("e")[0].replace(".", "").strip("0")) for number in found), default=0
    )


def random(p, seed=0):
    return np.random.default_rng([p, seed]).uniform(1.0, 8.0, p)


#: A picture each, of p workers.
PLANS = {
    "distribute": lambda p: hs.distribute(37 * p, random(p)),
    "pattern": lambda p: hs.lu_pattern(3 * p, random(p)),
    "grid": lambda p: hs.lu_grid(max(8, int(2 * p**0.5)), random(p)),
    "partition": lambda p: hs.partition(random(p), "columns"),
    "cuboids": lambda p: hs.cuboids(random(min(p, 64)), method="guillotine" if p < 3 else "best"),
    "wavefront": lambda p: hs.wavefront(40, max(40, 3 * p), random(p)),
    "ring": lambda p: hs.slice_ring(
        random(min(p, 64)), np.full((min(p, 64),) * 2, 0.1), 100.0, 1.0
    ),
    "layers": lambda p: hs.layers_star(100 * p, random(p), random(p, 1) / 20),
    "mesh": lambda p: mesh(
        1 if p == 2 else min(int(p**0.5), 12), 2 if p == 2 else min(int(p**0.5), 12)
    ),
    "product": lambda p: hs.plan_matmul(500, 700, 600, hs.Platform.star(random(p))),
    "trace": lambda p: hs.simulate(hs.lu_pattern(min(2 * p, 100), random(p))),
    "lu": lambda p: hs.simulate(
        hs.plan_factor(40 * p, 40 * p, random(p), block=40 if p < 100 else 400)
    ),
    "star": lambda p: hs.plan_product(
        6, 6, 9, hs.Platform.star(random(p), random(p, 2) / 9, memory=[60] * p), method="het"
    ),
    "bus": lambda p: hs.divisible_load(100.0, random(p), 0.01),
}


def mesh(rows, columns):
    rng = np.random.default_rng(rows)
    links = rng.uniform(0.1, 1.0, (rows, columns - 1)), rng.uniform(0.1, 1.0, (rows - 1, columns))
    return hs.layers_mesh(400, rng.uniform(1.0, 8.0, (rows, columns)), *links, method="heuristic")


def texts(figure):
    """What can be read, with its extent; the numbers on an axis only within its limits."""
    figure.canvas.draw()
    found, ticks = [], {}
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                within = ax.axison and low - 1e-9 <= tick.get_loc() <= high + 1e-9
                ticks[id(tick.label1)] = ticks[id(tick.label2)] = within
    for text in figure.findobj(text_type):
        if (
            text.get_text().strip()
            and text.get_visible()
            and ticks.get(
                id(text), text.axes is None or text.axes.axison or text in text.axes.texts
            )
        ):
            found.append((text, text.get_window_extent()))
    return found


def assert_within(figure):
    """Everything that can be read, which is returned, is inside the figure."""
    edge, found = figure.bbox, texts(figure)
    for text, box in found:
        inside = (
            edge.x0 - 1 <= box.x0
            and box.x1 <= edge.x1 + 1
            and edge.y0 - 1 <= box.y0
            and box.y1 <= edge.y1 + 1
        )
        assert inside, (text.get_text(), box.bounds, edge.bounds)
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("p", many([2, 16, 64], [16]))
@pytest.mark.parametrize("name", PLANS)
def test_fits_a_column(name, p):
    plan = PLANS[name](p)
    ax = plan.plot(width="column")
    assert ax.figure.get_figwidth() == 3.4
    assert ax.figure.get_figheight() < 9.5  # a page
    assert ax.get_title(loc="left")
    assert not ax.get_title()
    for text, _ in assert_within(ax.figure):
        if text.axes is ax and text.get_text() == ax.get_title(loc="left"):
            assert significant(text.get_text()) <= 4, text.get_text()
        assert text.get_fontsize() >= 6.99


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["distribute", "pattern", "grid", "partition", "trace", "lu", "wavefront"]
)
def test_a_thousand_workers_fit_a_page(name):
    ax = PLANS[name](1000).plot(width="page")
    assert ax.figure.get_figwidth() == 7.0
    assert_within(ax.figure)


def test_widths():
    plan = hs.distribute(78, [3, 5, 8])
    assert plan.plot(width=5).figure.get_figwidth() == 5.0
    for wrong in ("wide", ""):
        with pytest.raises(
            ValueError, match='width must be "column", "page" or a number of inches, got'
        ):
            plan.plot(width=wrong)
    with pytest.raises(ValueError, match=r"width must be at least 2, got 1\.5"):
        plan.plot(width=1.5)
    with pytest.raises(TypeError, match="width must be a number"):
        plan.plot(width=[3])
    with pytest.raises(ValueError, match="width is for new figures: it cannot be given with ax"):
        plan.plot(pyplot.figure().add_subplot(), width="page")


@pytest.mark.slow
def test_comparisons_have_as_many_panels_beside_each_other_as_fit():
    found = hs.compare_partitions([5, 4, 3, 2, 1], ["best", "columns", "rows"])
    for width, beside in (("column", 2), (2.5, 1), ("page", 3)):
        figure = found.plot(width=width)
        tops = {round(float(ax.get_position().x0), 3) for ax in figure.axes}
        assert len(tops) == beside, width
        assert_within(figure)
    with pytest.raises(ValueError, match="cannot be given with figure"):
        found.plot(pyplot.figure(), width="page")


@pytest.mark.slow
def test_studies_fit_a_page_and_refuse_a_column():
    from hetsched.studies.ring2003 import reproduce_rings

    study = reproduce_rings(points=20)
    figure = study.plot(width="page")
    assert figure.get_figwidth() == 7.0
    assert_within(figure)
    with pytest.raises(
        ValueError, match=r"width must be at least 5 inches for this picture, got 3\.4"
    ):
        study.plot(width="column")


class TestFactorisations:
    plan = hs.plan_factor(400, 400, [3, 5, 8], block=40)

    def test_panels_and_updates_differ_and_updates_darken(self):
        trace = hs.simulate(self.plan)
        ax = plot_trace(trace)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[:3] == [
            "panel",
            "update, step 0",
            f"update, step {max(step for look, step in phases(trace.events) if look == 'update')}",
        ]
        assert labels[-1] == "from panel to panel"
        colours = [matplotlib.colors.to_hex(c) for c in ax.collections[0].get_facecolors()]
        events = [e for kind in canvas._COLOURS for e in trace.events if e.kind == kind]
        of = {}
        for event, colour in zip(events, colours, strict=True):
            if event.kind == "compute":
                of.setdefault(
                    event.what.split()[-1] if "after" in event.what else "panel", set()
                ).add(colour)
        assert all(len(found) == 1 for found in of.values())
        assert len({min(found) for found in of.values()}) == len(of)

    def test_a_line_joins_the_panels_in_their_order(self):
        trace = hs.simulate(self.plan)
        line = next(line for line in plot_trace(trace).lines if len(line.get_xdata()) > 2)
        panels = sorted(
            (int(e.what.split()[1]), e)
            for e in trace.events
            if re.fullmatch(r"panel \d+", e.what) and e.kind == "compute"
        )
        assert list(line.get_ydata()[::2]) == [event.worker for _, event in panels]
        assert list(line.get_xdata()[::2]) == [event.start for _, event in panels]

    def test_other_runs_are_as_they_were(self):
        events = [Event(0, "compute", 0.0, 1.0, "panel 3"), Event(0, "compute", 1.0, 2.0, "step 2")]
        assert phases(events[:1]) == [("compute", -1)]
        # steps of a stencil, of which none comes after a panel
        assert phases(events) == [("compute", -1)] * 2
        assert phases([*events, Event(0, "compute", 2.0, 3.0, "step 2: 5 updates")])[2] == (
            "update",
            2,
        )
        assert phases(
            [
                Event(0, "transfer", 0.0, 1.0, "panel 3"),
                Event(0, "compute", 0.0, 1.0, "block 4 after panel 3"),
            ]
        ) == [
            ("transfer", -1),
            ("update", 3),
        ]


@pytest.mark.slow
def test_charts_beside_each_other_can_have_one_time_axis():
    short, long = (
        Trace.from_steps([(0, "compute", 0.0, end, "")], ["P0"], kind="real", speeds=[1.0])
        for end in (1.0, 4.0)
    )
    limits = {plot_trace(trace, until=4.0).get_xlim() for trace in (short, long)}
    assert len(limits) == 1
    assert plot_trace(long, until=1.0).get_xlim()[1] > 4.0
