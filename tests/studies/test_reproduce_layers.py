"""hetsched.reproduce_layers: figure 6, what the text claims of it, the page, the pictures and the
command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pages import in_the_page

import hetsched as hs
from hetsched.cli import main as cli
from hetsched.cli import reproduce
from hetsched.studies.claims import CORRECTED, MET
from hetsched.studies.layers_star import (
    BOUND,
    EVEN,
    LAYERS,
    METHODS,
    RECTANGLES,
    SUMMED,
    random_star,
    reproduce_star,
    spread,
)


@pytest.fixture(scope="module")
def study():
    return reproduce_star()


@pytest.fixture(scope="module")
def small():
    return reproduce_star((20, 30), (1, 2, 5), seeds=2)


@pytest.mark.slow
def test_claims(study):
    """Measured reductions are about 75 % for all; the paper's are the bound times the factors
    proven, to half a point."""
    claims = {claim.what: claim for claim in study.claims()}
    figure_6 = [claim for what, claim in claims.items() if what.startswith(("6a:", "6b:"))]
    assert [claim.paper for claim in figure_6] == ["75%", "78%", "79.7%", "85.1%", "about 40%"]
    assert [claim.verdict for claim in figure_6] == [MET, *[CORRECTED] * 3, MET]
    assert claims["6: LBP ends as early as the balanced rectangles"].verdict == MET
    gains = claims["6.1: the gain grows with the star"]
    by_workers = study.by_workers.volumes
    means = 1 - by_workers[LAYERS] / by_workers["PERI-SUM"]
    assert gains.here == " ".join(f"{row.mean():.0%}" for row in means)
    assert (gains.verdict == MET) == bool((np.diff(means.mean(axis=1)) > 0).all())
    for name in (BOUND, *RECTANGLES):
        reduction = 1 - study.by_size.volumes[LAYERS] / study.by_size.volumes[name]
        assert 0.743 < reduction.mean() < 0.755
    for (name, (_, factor)), paper in zip(RECTANGLES.items(), (0.78, 0.797, 0.851), strict=True):
        guaranteed = 1 - study.by_size.volumes[LAYERS][-1] / (
            factor * study.by_size.volumes[BOUND][-1]
        )
        assert guaranteed.mean() == pytest.approx(paper, abs=0.005)
        assert f"{guaranteed.mean():.1%}" in claims[f"6a: LBP below {name}"].why
        assert (study.by_size.volumes[name] <= factor * study.by_size.volumes[BOUND]).all()
    times = {name: values[-1].mean() for name, values in study.by_size.times.items()}
    assert all(0.38 < 1 - times[name] / times[EVEN] < 0.42 for name in (LAYERS, *RECTANGLES))


@pytest.mark.slow
def test_example(study):
    """Figure 1 by its own numbers: workers of 1, 1, 2, 4 and two matrices of 8 x 8; the source in
    the middle of a mesh."""
    claims = {claim.what: claim for claim in study.claims()}
    example = [claim for what, claim in claims.items() if what.startswith("1:")]
    assert {claim.verdict for claim in example} == {MET}
    assert claims["5: a source in the middle is better than one in the corner"].verdict == MET
    assert [claim.here for claim in example] == [
        # 4 zones of 4 x 8 and 8 x 4; a column of A and a row of B for each of 8 layers
        "256 / 128 / 128",
        "128 / 128",  # the slowest: 16 elements of 8 products, 2 layers of 64
        "1 1 2 4",
        "64",
    ]
    mirrored = claims["6.2: the other quadrants of a central source are similar"]
    assert mirrored.verdict == ""  # they are equal by construction
    quarters = mirrored.here.split()
    assert len(quarters) == 4
    assert len(set(quarters)) == 1


@pytest.mark.slow
def test_honest_total(study):
    """With the sum LBP moves more than twice as much as rectangles at p = 16."""
    squares = study.by_size.per_square()
    assert (squares[LAYERS] == 2).all()
    assert (squares[SUMMED] == 17).all()
    assert (squares[EVEN] == 17).all()
    assert 7.8 < squares["PERI-SUM"].mean() < 8
    assert (
        study.by_workers.per_square()[SUMMED]
        == np.array([[p + 1] for p in study.by_workers.points])
    ).all()


@pytest.mark.slow
def test_sweeps(small):
    """By the model alone: what a worker receives and computes in columns; layers are never
    later."""
    sweep = small.by_workers
    assert (sweep.points, sweep.sizes) == ((1, 2, 5), (30, 30, 30))
    assert small.by_size.points == small.by_size.sizes == (20, 30)
    for k, p in enumerate(sweep.points):
        for seed in range(2):
            cycle, link = random_star(p, seed)
            columns = [30 // p] * p
            ends = [
                30 * (30 + c) * z + 30 * 30 * c * w
                for c, w, z in zip(columns, cycle, link, strict=True)
            ]
            assert sweep.times[EVEN][k, seed] == pytest.approx(max(ends))
            assert sweep.volumes[EVEN][k, seed] == 30 * (30 * p + 30)
            plan = hs.layers_star(30, cycle, link)
            assert sweep.times[LAYERS][k, seed] == plan.makespan
            zones = hs.partition(1 / cycle, "columns", (30, 30))
            ends = [
                30 * (h + w) * z + 30 * h * w * t
                for (_, _, h, w), t, z in zip(zones.rects.tolist(), cycle, link, strict=True)
            ]
            assert sweep.times["PERI-SUM"][k, seed] == pytest.approx(max(ends))
            assert sweep.volumes["PERI-SUM"][k, seed] == 30 * zones.cost
    for values in sweep.times.values():
        assert (values >= sweep.times[LAYERS] * (1 - 1e-12)).all()
    again = reproduce_star((20, 30), (1, 2, 5), seeds=2)
    assert str(again) == str(small)


def test_random_stars():
    cycle, link = random_star(1000, 3)
    assert 0.0002 <= cycle.min() < 0.00021
    assert 0.00069 < cycle.max() <= 0.0007
    assert 0.0003 <= link.min() < 0.00031
    assert 0.00079 < link.max() <= 0.0008
    assert random_star(1000, 3)[0].tolist() == cycle.tolist()
    assert random_star(1000, 4)[0].tolist() != cycle.tolist()


def test_spread():
    assert spread([1, 3], ".2f") == "2.00 ± 1.00"
    assert spread([2, 2], ".1f") == "2.0"


@pytest.mark.slow
def test_documentation(study):
    """The tables of docs/reproduction-layers.md."""
    text = (Path(__file__).parents[2] / "docs" / "reproduction-layers.md").read_text(
        encoding="utf-8"
    )
    in_the_page(study, "reproduction-layers.md")
    sweep = study.by_workers
    squares, times = sweep.per_square(), sweep.relative_times()
    for k, p in enumerate(sweep.points):
        row = [
            str(p),
            *(
                spread(squares[name][k], ".2f")
                for name in (LAYERS, BOUND, *RECTANGLES, EVEN, SUMMED)
            ),
        ]
        assert "| " + " | ".join(row) + " |" in text
        row = [str(p), *(spread(times[name][k], ".3f") for name in (*RECTANGLES, EVEN))]
        assert "| " + " | ".join(row) + " |" in text


def test_plot(small):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    figure = small.plot()
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == [
        "volume, 16 workers",
        "finishing time, 16 workers",
        "volume, N = 30",
        "finishing time, N = 30",
    ]
    labels = [figure.axes[k].get_legend_handles_labels()[1] for k in range(2)]
    assert sorted(labels[0]) == sorted([*METHODS, BOUND, SUMMED])
    assert labels[1] == list(METHODS)
    assert small.plot(pyplot.figure()) is not figure
    pyplot.close("all")


@pytest.mark.slow
def test_command(tmp_path, capsys, monkeypatch, small):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr("hetsched.studies.layers_star.reproduce_star", lambda: small)
    monkeypatch.setattr("hetsched.studies.layers_mesh.reproduce_layers_mesh", lambda: small)
    assert cli.main(["reproduce", "layers", "-o", str(tmp_path / "f.png")]) == 0
    assert "6a: LBP below NRRP" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f-mesh.png", "f-star.png"]
    assert (tmp_path / "f-star.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setitem(reproduce._STUDIES, "layers", reproduce._STUDIES["layers"][:1])
    assert cli.main(["reproduce", "layers", "-o", str(tmp_path / "g.svg")]) == 0
    assert (tmp_path / "g.svg").exists()
    assert cli.main(["reproduce", "layers"]) == 0
    assert cli.main(["reproduce", "layers", "-o", "f.txt"]) == 1
    assert (
        "--output must end in .html, .json, .csv, .png, .svg or .pdf, got 'f.txt'"
        in capsys.readouterr().err
    )
