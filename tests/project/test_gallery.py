"""Every example of the gallery runs alone and draws something; its first lines are what
sphinx-gallery wants."""

import ast
import importlib.util
import runpy
import warnings
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
EXAMPLES = sorted(GALLERY.rglob("plot_*.py"))
WIDEST = 88  # columns that a box of code has on the site
NEEDS = {"plot_layers_mesh": "highspy"}  # of an example, beyond NumPy and matplotlib


def test_there_are_examples():
    assert 20 <= len(EXAMPLES) <= 30
    assert (
        (GALLERY / "GALLERY_HEADER.rst")
        .read_text(encoding="utf-8")
        .splitlines()[1]
        .startswith("===")
    )


def test_groups_and_their_order():
    spec = importlib.util.spec_from_file_location("order", GALLERY.parent / "gallery_order.py")
    order = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(order)
    groups = {path.parent.name for path in EXAMPLES} - {GALLERY.name}
    assert groups == set(order.ORDER)
    for folder, stems in order.ORDER.items():
        title, underline, *_ = (
            (GALLERY / folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
        )
        assert underline == "-" * len(title)
        files = {path.stem for path in EXAMPLES if path.parent.name == folder}
        assert set(stems) <= files
        sort_key = order.TeachingOrder(folder)
        shown = sorted((f"{stem}.py" for stem in files), key=sort_key)
        assert shown[: len(stems)] == [f"{stem}.py" for stem in stems]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_has_a_title_a_paragraph_and_words_for_its_picture(path):
    source = path.read_text(encoding="utf-8")
    lines = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert len(lines) >= 4, "a title, its line, nothing, a paragraph"
    title, underline, empty, *paragraph = lines
    assert title[0].isupper()
    assert not title.endswith(".")
    assert underline == "=" * len(title)
    assert empty == ""
    assert " ".join(paragraph).endswith(".")
    assert source.count("\n# %%\n# ") == 1, "one block of text says what the picture shows"
    assert len(source.splitlines()) <= 66
    assert max(map(len, source.splitlines())) <= WIDEST
    assert source.endswith("plt.show()\n")


def test_titles_differ():
    titles = [path.read_text(encoding="utf-8").splitlines()[1] for path in EXAMPLES]
    assert len(set(titles)) == len(titles)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_draws(path, monkeypatch, capsys):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.close("all")
        monkeypatch.setattr(plt, "show", lambda: None)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("default", "the host could not keep up", RuntimeWarning)
                runpy.run_path(str(path), run_name="__main__")
                figures = [plt.figure(number) for number in plt.get_fignums()]
                assert len(figures) == 1
                for figure in figures:
                    figure.canvas.draw()  # what cannot be laid out says so now
                    assert any(ax.has_data() or ax.texts for ax in figure.axes)
        finally:
            plt.close("all")
    assert capsys.readouterr().out, "an example prints the numbers that its picture shows"
