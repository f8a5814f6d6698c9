"""The picture of a machine has a box for everything that the system reports, in the right place."""

import importlib
import itertools
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from readable import assert_readable
from trees import MACHINES, V2_MOUNT, Tree, intel_hybrid, nested_container, old_container

import hetsched as hs
from hetsched.machine.cpus import Cache
from hetsched.plots.machine import machine_boxes

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = importlib.import_module("matplotlib.pyplot")
PolyCollection = importlib.import_module("matplotlib.collections").PolyCollection

CORES = ("performance", "efficiency", "unknown")
LSTOPO = Path(__file__).parents[1] / "machine" / "lstopo"


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS", "HETSCHED_TOPOLOGY"):
        monkeypatch.delenv(name, raising=False)
    yield
    pyplot.close("all")


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def server(tree, cores, nodes, packages):
    """Cores of two threads, numbered as servers are, with an L3 for each NUMA node."""

    def parts(count):
        each = cores // count
        return [
            f"{i}-{i + each - 1},{i + cores}-{i + cores + each - 1}" for i in range(0, cores, each)
        ]

    tree.cpus(f"0-{2 * cores - 1}", f"0-{2 * cores - 1}").cgroup("0::/", V2_MOUNT)
    tree.smt(*(f"{core},{core + cores}" for core in range(cores))).node(*parts(nodes))
    for number, cpus in enumerate(parts(packages)):
        each = {"c" + cpus.replace("-", "_").replace(",", "_c"): number}
        tree.each("topology/physical_package_id", **each)
    return hs.topology(str(tree.cache("3 Unified 32768K " + "|".join(parts(nodes)))))


def inside(box, outer, slack=1e-9):
    return (
        outer.left <= box.left + slack
        and box.right <= outer.right + slack
        and outer.top <= box.top + slack
        and box.bottom <= outer.bottom + slack
    )


def apart(a, b):
    return min(a.right, b.right) <= max(a.left, b.left) or min(a.bottom, b.bottom) <= max(
        a.top, b.top
    )


def assert_nested(t, boxes):
    """Of two boxes one is in the other, with all its cpus, or they share neither room nor cpus."""
    for a, b in itertools.combinations(boxes, 2):
        if b.cpus <= a.cpus:
            assert inside(b, a), (a, b)
        else:
            assert not a.cpus & b.cpus, (a, b)
            assert apart(a, b), (a, b)
    assert all(box.left < box.right and box.top < box.bottom for box in boxes)
    cpus = sorted(min(box.cpus) for box in boxes if box.kind == "cpu")
    assert cpus == list(t.allowed)


def count(t):
    return Counter(box.kind for box in machine_boxes(t))


def colours(ax):
    (collection,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    return [matplotlib.colors.to_hex(colour) for colour in collection.get_facecolors()]


@pytest.mark.few(2)
@pytest.mark.parametrize("room", [(9.0, 5.5), (2.0, 30.0), (30.0, 2.0), (1.0, 1.0)])
@pytest.mark.parametrize("build", MACHINES, ids=lambda build: build.__name__)
def test_recorded_machines(build, room, tree):
    build(tree)
    t = hs.topology(str(tree))
    boxes = machine_boxes(t, room)
    assert_nested(t, boxes)
    found = Counter(box.kind for box in boxes)
    assert {kind: found[kind] for kind in CORES if found[kind]} == (t.types if t.cores else {})
    assert found["package"] == (t.packages or 0)
    assert found["node"] == (t.nodes or 0)


@pytest.mark.few(3)
@pytest.mark.parametrize("build", MACHINES, ids=lambda build: build.__name__)
@pytest.mark.parametrize("width", [None, "column"])
def test_recorded_machines_can_be_read(build, width, tree):
    build(tree)
    t = hs.topology(str(tree))
    ax = t.plot(width=width)
    assert_readable(ax)
    texts = {text.get_text() for text in ax.texts}
    assert {f"cpu {cpu}" for cpu in t.allowed} <= texts
    assert f"{t.worth} worth starting" in ax.get_title(loc="left").replace("\n", " ")


@pytest.mark.few(1)
@pytest.mark.parametrize("path", sorted(LSTOPO.glob("*.xml")), ids=lambda path: path.stem)
def test_files_of_hwloc(path):
    t = hs.topology(path)
    assert_nested(t, machine_boxes(t))
    assert_readable(t.plot())


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "nodes", "packages"), [(32, 4, 2), (128, 8, 2)])
def test_servers(cores, nodes, packages, tree):
    t = server(tree, cores, nodes, packages)
    boxes = machine_boxes(t)
    assert_nested(t, boxes)
    assert Counter(box.kind for box in boxes) == {
        "package": packages, "node": nodes, "cache": nodes, "unknown": cores, "cpu": 2 * cores,
    }  # fmt: skip
    ax = t.plot()
    assert_readable(ax)
    assert {str(cpu) for cpu in t.allowed} <= {text.get_text() for text in ax.texts}
    assert len(colours(ax)) == len(boxes)
    assert t.plot(width="column").figure.get_figheight() < 9.5  # a page


def test_labels_and_colours_of_a_hybrid(tree):
    t = hs.topology(str(intel_hybrid(tree)))
    ax = t.plot()
    texts = [text.get_text() for text in ax.texts]
    assert {"package 0", "NUMA node 0", "L3 12 MiB", "L2 2 MiB", "core 0", "core 4"} <= set(texts)
    assert not any("1.25 MiB" in text for text in texts), "the L2 of one core"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "performance core",
        "efficiency core",
    ]
    of = dict(zip(machine_boxes(t), colours(ax), strict=True))
    by_kind = {kind: {c for box, c in of.items() if box.kind == kind} for kind in CORES[:2]}
    assert all(len(found) == 1 for found in by_kind.values())
    assert by_kind["performance"] != by_kind["efficiency"]


def test_the_title_has_the_limits(tree, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    title = hs.topology(str(nested_container(tree))).plot().get_title(loc="left")
    for part in ("4 of 8 online cpus", "quota 1.5 cpus", "thread limit 3", "2 worth starting"):
        assert part in title.replace(",\n", ", ")


def test_cpus_that_may_not_be_used_are_left_out(tree):
    t = hs.topology(str(old_container(tree)))
    assert (t.cpus, t.online) == (4, 8)
    assert count(t)["cpu"] == 4


def test_cpus_that_exist_only_in_the_file_are_grey(tmp_path, monkeypatch):
    path = tmp_path / "machine.toml"
    path.write_text('domain = [{ cpus = "0,4000-4002", l3 = 1048576 }]', encoding="utf-8")
    monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
    t = hs.topology()
    assert {4000, 4001, 4002} <= {*t.absent}
    ax = t.plot()
    of = dict(zip(machine_boxes(t), colours(ax), strict=True))
    grey = {min(box.cpus) for box, colour in of.items() if colour == "#dddddd"}
    assert grey == {*t.absent}
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "not available here"


def test_unknown_cores_and_caches(tree):
    tree.cpus("0-5", "0-5")
    t = hs.topology(str(tree))
    assert t.cores is None
    assert count(t) == {"cpu": 6}
    ax = t.plot()
    assert "cores unknown" in ax.get_title(loc="left")
    assert len(set(colours(ax))) == 1
    assert_readable(ax)


def test_one_cpu(tree):
    tree.cpus("0-7", "5").smt(*"01234567").cache("3 Unified 8192K 0-7")
    t = hs.topology(str(tree))
    assert count(t) == {"cache": 1, "unknown": 1, "cpu": 1}
    assert_readable(t.plot())


def test_parts_that_cross_are_left_out(tree):
    """The L3 of cpus 1 and 2 is around half of two cores."""
    tree.cpus("0-3", "0-3").smt("0-1", "2-3")
    t = replace(
        hs.topology(str(tree)),
        caches=(
            Cache(3, "unified", 2**20, None, (1, 2)),
            Cache(3, "unified", None, None, (0, 1, 2, 3)),
            Cache(3, "unified", None, None, None),
        ),
    )
    boxes = machine_boxes(t)
    assert_nested(t, boxes)
    assert [box.labels[0] for box in boxes if box.kind == "cache"] == ["L3"]
    assert count(t)["unknown"] == 2


def test_given_axes_are_filled_and_the_figure_stays(tree):
    t = server(tree, 32, 4, 2)
    figure, axes = pyplot.subplots(1, 2, figsize=(7, 3), layout="constrained")
    assert t.plot(axes[0]) is axes[0]
    assert tuple(figure.get_size_inches()) == (7, 3)
    assert len(colours(axes[0])) == len(machine_boxes(t))
    assert all(text.get_fontsize() >= 7 for text in axes[0].texts)


def test_notebooks(tree):
    t = replace(hs.topology(str(intel_hybrid(tree))), model="<b> & $x$")
    html = t._repr_html_()
    assert html.startswith("<svg ")
    assert html.count("<tr>") == len(t.describe())
    assert "<b>" not in html
    svg = html[: html.index("</svg>") + len("</svg>")]
    words = [text for node in ET.fromstring(svg).iter() for text in [node.text] if text]
    assert any("<b> & $x$" in word for word in words)


def test_this_machine():
    ax = hs.topology().plot()
    assert len(ax.collections) == 1
    assert_readable(ax)


def test_kinds_of_cores_are_beside_each_other(tree):
    """Where their numbers alternate."""
    tree.cpus("0-7", "0-7").smt(*"01234567")
    tree.write("sys/devices/cpu_core/cpus", "0,2,4,6").write("sys/devices/cpu_atom/cpus", "1,3,5,7")
    t = hs.topology(str(tree))
    boxes = [box for box in machine_boxes(t) if box.kind in CORES]
    assert [box.kind for box in boxes] == ["performance"] * 4 + ["efficiency"] * 4
