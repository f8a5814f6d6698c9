"""Pictures as files, and pictures without the order of the cuts."""

import importlib
import xml.etree.ElementTree as ET

import pytest

import hetsched as hs

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = importlib.import_module("matplotlib.pyplot")
LineCollection = importlib.import_module("matplotlib.collections").LineCollection

PLAN = hs.partition([5, 4, 3, 2, 1], "columns")
DRAWN = {
    "plan": lambda: PLAN,
    "trace": lambda: hs.simulate(hs.distribute(78, [3, 5, 8])),
    "platform": lambda: hs.Platform.star([3, 5, 8]),
    "topology": hs.topology,
    "comparison": lambda: hs.compare_partitions([3, 2, 1], ["columns", "rows"]),
}


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.close("all")  # those of other files
    yield
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DRAWN))
def test_fonts(name, tmp_path):
    before = dict(matplotlib.rcParams)
    thing = DRAWN[name]()
    for suffix in ("pdf", "svg", "png"):
        thing.save_plot(tmp_path / f"picture.{suffix}")
    content = (tmp_path / "picture.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/FontFile2" in content  # TrueType
    assert b"/Type3" not in content
    root = ET.parse(tmp_path / "picture.svg").getroot()
    assert any(node.tag.endswith("}text") for node in root.iter())
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == []
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.slow
def test_the_measure_finds_other_fonts(tmp_path):
    with matplotlib.rc_context({"pdf.fonttype": 3}):
        PLAN.plot().figure.savefig(tmp_path / "picture.pdf")
    assert b"/Type3" in (tmp_path / "picture.pdf").read_bytes()


@pytest.mark.slow
def test_arguments_of_the_plot(tmp_path):
    path = tmp_path / "picture.svg"
    PLAN.save_plot(path, width="column", cut_order=False)
    root = ET.parse(path).getroot()
    assert float(root.get("width")[:-2]) == pytest.approx(3.4 * 72)
    assert "order of the cuts" not in path.read_text(encoding="utf-8")
    figure, ax = pyplot.subplots()
    PLAN.save_plot(path, ax=ax)
    assert pyplot.get_fignums() == [figure.number], "the user's figure stays open"
    assert "order of the cuts" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["picture.eps", "picture", "picture.PDF.txt", ".pdf"])
def test_other_endings(name, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.pdf, \.svg or \.png, got '"):
        PLAN.save_plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "picture.png"
    path.write_text("old")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        PLAN.save_plot(path, colour="red")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        PLAN.save_plot(tmp_path / "none" / "picture.png")


def cut_lines(ax):
    return [c for c in ax.collections if isinstance(c, LineCollection) and c.get_segments()]


def test_without_the_order_of_the_cuts():
    shown, hidden = PLAN.plot(), PLAN.plot(cut_order=False)
    assert cut_lines(shown)
    assert not cut_lines(hidden)
    assert "order" in shown.get_xlabel()
    assert hidden.get_xlabel() == "column"
    names = [text.get_text() for text in shown.texts if not text.get_text().isdigit()]
    assert [text.get_text() for text in hidden.texts] == names
    assert len(names) < len(shown.texts)


@pytest.mark.slow
def test_comparisons_without_the_order_of_the_cuts():
    found = DRAWN["comparison"]()
    assert found.plot().get_supxlabel() == "small numbers: order of the cuts"
    figure = found.plot(cut_order=False)
    assert figure.get_supxlabel() == ""
    assert not any(cut_lines(ax) for ax in figure.axes)


def test_options_of_other_pictures():
    trace = DRAWN["trace"]()
    assert trace.plot(until=1000.0).get_xlim()[1] > 1000.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'cut_order'"):
        trace.plot(cut_order=False)
