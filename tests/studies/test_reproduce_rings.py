"""hetsched.studies.ring2003: figure 3, what tables 5 and 6 cannot be, the tables in their place,
the page and the command."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from oracles.ring import best_time, shortest
from pages import in_the_page

from hetsched._engine.ring import Ring
from hetsched.cli import main as cli
from hetsched.studies.claims import CORRECTED, MET
from hetsched.studies.ring2003 import (
    LENGTH,
    PIP,
    PRINTED,
    RATIOS,
    TIME,
    best_rows,
    printed_rows,
    reproduce_rings,
)

PAGE = Path(__file__).parents[2] / "docs" / "reproduction-ring.md"


@pytest.fixture(scope="module")
def study():
    return reproduce_rings()


def test_claims(study):
    claims = {claim.what: claim for claim in study.claims()}
    assert claims["Figure 3: Lyon, workers by the heuristic"].verdict == MET
    assert claims["Figure 3: Strasbourg, workers of the best ring"].here == "1 6 8 13"
    missed = claims["Figure 3: Strasbourg, workers by the heuristic"]
    assert missed.verdict == CORRECTED
    assert {10, 11} <= set(study.campuses["Strasbourg"].greedy.tolist())
    assert set(study.campuses["Strasbourg"].second.tolist()) == {1, 6, 8, 13}
    assert study.counted() == "10 claims: 4 met, 1 met after the correction, 5 not met"


def test_grown(study):
    """The other reading of the heuristic, checked by a program of its own: exact costs, and each
    insertion compared with all others."""
    campus = study.campuses["Strasbourg"]
    times = [Fraction(w) for w in campus.profile.cycle_times.tolist()]
    links = [[Fraction(c) for c in row] for row in campus.profile.links.tolist()]
    assert [own.start for own in campus.grown] == [6, 11]
    for own in campus.grown:
        ring, rings = [own.start], [[own.start]]
        while len(ring) < len(times):
            ends = {}
            for i in set(range(len(times))) - set(ring):
                for k in range(len(ring)):
                    new = (*ring[: k + 1], i, *ring[k + 1 :])
                    length = sum(
                        (links[a][b] + links[b][a]) / times[a]
                        for a, b in zip(new, (*new[1:], new[0]), strict=True)
                    )
                    ends[new] = (10**6 + length) / sum(1 / times[a] for a in new)
            ring = list(min(ends, key=ends.__getitem__))
            rings.append(ring)
        lengths, speeds = [], []
        for ring in rings:
            around = zip(ring, [*ring[1:], ring[0]], [ring[-1], *ring[:-1]], strict=True)
            paid = [links[a][b] + links[a][c] if b != a else 0 for a, b, c in around]
            speeds.append(sum(1 / times[a] for a in ring))
            lengths.append(sum(b / times[a] for a, b in zip(ring, paid, strict=True)))
        best = set()
        for ratio in campus.ratios.tolist():
            steps = [
                (Fraction(ratio) + length) / speed
                for length, speed in zip(lengths, speeds, strict=True)
            ]
            best.add(steps.index(min(steps)) + 1)
        assert best == set(own.sizes.tolist()) == {1, 10, 11, 13}
        assert own.negative == (10,)


@pytest.mark.parametrize("name", ["Lyon", "Strasbourg"])
def test_figure(study, name):
    """The heuristic's ring takes as long as the best or longer; sizes by the breakpoints."""
    campus = study.campuses[name]
    places = np.searchsorted(campus.profile.ratios, campus.ratios, side="left") - 1
    assert campus.exact().tolist() == campus.profile.sizes[np.maximum(places, 0)].tolist()
    assert campus.greedy_length >= campus.best[-1].length * (1 - 1e-12)


@pytest.mark.parametrize("name", ["Lyon", "Strasbourg"])
def test_best(study, name):
    """Rings of few workers against all of them, in fractions; the others against the profile."""
    campus = study.campuses[name]
    times, links = campus.profile.cycle_times.tolist(), campus.profile.links.tolist()
    rates = [1 / Fraction(w) for w in times]
    for q, best in enumerate(campus.best[:3], 1):
        lengths = {
            members: shortest(times, links, members)
            for members in combinations(range(len(times)), q)
        }
        assert best.length == pytest.approx(float(min(lengths.values())), rel=1e-12)
        for ratio, time in zip(RATIOS, best.times, strict=True):
            least = min(
                (Fraction(ratio) + length) / sum(rates[i] for i in members)
                for members, length in lengths.items()
            )
            assert time == pytest.approx(float(least), rel=1e-12)
    assert [best.length for best in campus.best] == pytest.approx(
        campus.profile.least_lengths.tolist(), rel=1e-12
    )
    for best in campus.best:
        ring = best.ring
        paid = (
            [links[i][ring[k - 1]] + links[i][ring[(k + 1) % best.q]] for k, i in enumerate(ring)]
            if best.q > 1
            else [0]
        )
        assert len(set(ring)) == best.q
        assert sum(b / times[i] for b, i in zip(paid, ring, strict=True)) == pytest.approx(
            best.length, rel=1e-12
        )
    for k, ratio in enumerate(RATIOS):
        assert min(best.times[k] for best in campus.best) == pytest.approx(
            campus.profile.makespan(ratio, 1), rel=1e-12
        )


def test_few(study):
    """All rings of the first five workers: what is proven is the optimum, what is not is below
    it."""
    campus = study.campuses["Strasbourg"]
    times, links = campus.profile.cycle_times[:5].tolist(), campus.profile.links[:5, :5].tolist()
    for ratio, k in ((100, 1), (1000, 3)):
        assert min(best.times[k] for best in campus.best[:5]) <= float(
            best_time(times, links, ratio, 1, False)
        )


@pytest.mark.parametrize("name", ["Lyon", "Strasbourg"])
def test_rows(study, name):
    """A row is ruled out as a time where it is too small for every ratio; one that is not has a
    ratio where it is not."""
    campus = study.campuses[name]
    lengths = [Fraction(best.length) for best in campus.best]
    times, links = campus.profile.cycle_times, campus.profile.links
    p = len(times)
    every = Ring(times, links, 1.0, 1.0).lengths()
    members = [[i for i in range(p) if subset >> i & 1] for subset in range(2**p)]
    speeds = np.array([sum(1 / times[own]) for own in members])
    sizes = np.array([len(own) for own in members])
    for row, printed in zip(campus.rows, PRINTED[name], strict=True):
        assert row.printed == printed
        share = Fraction(printed, PIP[name])
        assert row.length == (share < lengths[row.q - 1] / lengths[-1])
        subsets = np.flatnonzero(sizes == row.q)
        short = [
            float(share) * (1 + h * every[-1]) / speeds[-1]
            < ((1 + h * every[subsets]) / speeds[subsets]).min() * (1 - 1e-12)
            for h in (0.0, *(10.0**k for k in range(-6, 7)))
        ]
        assert row.time == all(short)
        assert row.verdict == " and ".join([LENGTH] * row.length + [TIME] * row.time)
    out = {"Lyon": (9, 11), "Strasbourg": (0, 8)}[name]
    assert (sum(row.length for row in campus.rows), sum(row.time for row in campus.rows)) == out


def test_page(study):
    in_the_page(study, "reproduction-ring.md")
    text = PAGE.read_text(encoding="utf-8")
    for campus in study.campuses.values():
        for row in (*printed_rows(campus), *best_rows(campus)):
            assert "| " + " | ".join(row) + " |" in text


@pytest.mark.slow
def test_command(tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    assert cli.main(["reproduce", "rings", "-o", str(tmp_path / "f.svg")]) == 0
    printed = capsys.readouterr().out
    assert "Strasbourg: 1 from 0, 6 from 7.95752, 8 from 37.8784, 13 from 282.027" in printed
    assert "<svg" in (tmp_path / "f.svg").read_text(encoding="utf-8")


def test_plot(study):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    axes = study.plot().get_axes()
    for ax, campus in zip(axes, study.campuses.values(), strict=True):
        assert [line.get_ydata().tolist() for line in ax.get_lines()] == [
            campus.greedy.tolist(),
            campus.exact().tolist(),
        ]
    pyplot.close("all")
