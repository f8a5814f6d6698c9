"""The Linpack benchmark: its matrix and its residual against NumPy, by every map; the command."""

import re
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import mpi_run
import numpy as np
import pytest
from inputs import many
from mpi_fake import good, on_ranks

import hetsched as hs
from hetsched.cli import linpack as command
from hetsched.cli import main as cli
from hetsched.mpi import linpack
from hetsched.mpi.arguments import Call

pytestmark = pytest.mark.usefixtures("fake_ranks")
BLOCK = 8


def runs(pools, size, root=0, **options):
    def call(ranks):
        with (own := Call(ranks, root, pools[ranks.rank], 20.0)).ranks:
            return linpack.linpack(own, **options)

    return on_ranks(size, call)[0]


def system(n, block, seed):
    """The matrix and the right-hand side, block by block."""
    count = -(-n // block)
    sides = [min(block, n - i * block) for i in range(count)]

    def part(i, j, shape):
        return np.random.default_rng([seed, i, j]).random(shape) - 0.5

    a = np.block([[part(i, j, (sides[i], sides[j])) for j in range(count)] for i in range(count)])
    return a, np.concatenate([part(i, count, (sides[i], 1))[:, 0] for i in range(count)])


def residual(a, x, b):
    norm = np.linalg.norm(a, np.inf) * np.abs(x).max() + np.abs(b).max()
    return np.abs(a @ x - b).max() / (2.0**-53 * norm * len(b))


@pytest.mark.few(1)
@pytest.mark.parametrize("which", linpack.MAPS)
@pytest.mark.parametrize(
    "n", [1, *many([2, BLOCK - 1, BLOCK], []), BLOCK + 1, *many([3 * BLOCK + 5], [])]
)
def test_solution_and_residual(pools, monkeypatch, which, n):
    solutions = []

    def kept(solve):
        def solved(ranks, held, *rest):
            solve(ranks, held, *rest)
            x = [each for each in rest if each is None or getattr(each, "shape", ()) == (n, 1)][-1]
            if x is not None and ranks.rank == 1:
                solutions.append(x.copy())
                x += 1e-3  # a wrong solution has a residual that can be compared

        return solved

    for name in ("grid_solve_held", "solve_held"):
        monkeypatch.setattr(linpack, name, kept(getattr(linpack, name)))
    block = min(BLOCK, n)
    found = good(runs(pools, 3, 1, n=n, block=block, seed=5, which=which))
    a, b = system(n, block, 5)
    (x,) = solutions
    np.testing.assert_allclose(x[:, 0], np.linalg.solve(a, b), rtol=1e-9 * np.linalg.cond(a))
    expected = residual(a, x[:, 0] + 1e-3, b)
    for outcome in found:
        assert outcome.residual == pytest.approx(expected, rel=1e-6)
        assert not outcome.passed
        assert outcome.seconds == found[0].seconds > 0
        flops = 2 / 3 * n**3 + 3 / 2 * n**2
        assert outcome.gflops == pytest.approx(flops / outcome.seconds / 1e9)
    assert (found[0].shape[0] == 1) or which != "columns"


@pytest.mark.slow
def test_maps(pools, monkeypatch):
    def plan(times, which="auto"):
        monkeypatch.setattr(linpack, "known_speeds", lambda *_: (times, [0.0, 0.1, 9.0, 0.05]))
        (found, *_) = good(runs(pools, 4, n=64, block=4, which=which))
        assert found.residual < 1
        assert found.passed
        return found.plan

    few = plan([1.0, 1.0, 2.0, 4.0])
    assert isinstance(few, hs.LuPattern)
    assert few.counts[0] > few.counts[3]
    monkeypatch.setattr(linpack, "_FEW", 3)
    assert plan([1.0, 1.05, 1.1, 1.0]).method == "cyclic"
    unequal = plan([1.0, 1.0, 2.0, 4.0])
    assert unequal.method != "cyclic"
    assert unequal.counts[0] > unequal.counts[3]
    assert unequal.link_cost == pytest.approx(0.1 * 8 * 16 / 1e9)
    assert plan([1.0] * 4, "grid").cycle_times[0] == pytest.approx(2 * 64 / 1e9)
    assert isinstance(plan([1.0, 2.0, 3.0, 4.0], "columns"), hs.LuPattern)
    assert plan([1.0, 2.0, 3.0, 4.0], "cyclic").method == "cyclic"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": 0}, "n must be"),
        ({"n": 9, "block": 10}, "nb must be"),
        ({"n": 9, "block": -1}, "nb must be"),
        ({"n": 9, "block": 0}, "nb must be"),
        ({"n": 9, "seed": -1}, "seed must be"),
        ({"n": 9, "which": "torus"}, "map must be"),
    ],
)
def test_refusals(pools, options, said):
    for error in runs(pools, 2, **options):
        assert isinstance(error, ValueError)
        assert said in str(error)


def test_arguments_that_differ(pools):
    def call(ranks):
        with (own := Call(ranks, 0, pools[ranks.rank], 20.0)).ranks:
            return linpack.linpack(own, 9 + ranks.rank)

    for error in on_ranks(2, call)[0]:
        assert "must be the same on all ranks" in str(error)


# ---- the command ---------------------------------------------------------------------------------

NUMBER = r"[-+.\de]+"
LINES = re.compile(
    rf"^WR1-(\w{{4}}) +(\d+) +(\d+) +(\d+) +(\d+) +({NUMBER}) +({NUMBER})$.*"
    rf"^\|\|Ax-b\|\|_oo/\(eps\*\(\|\|A\|\|_oo\*\|\|x\|\|_oo\+\|\|b\|\|_oo\)\*N\)= +({NUMBER})"
    r" \.{6} (PASSED|FAILED)$",
    re.M | re.S,
)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", many([1, 4], [2]))
def test_command_on_ranks(ranks):
    given = "--n", "150", "--nb", "16", "--seed", "3", "--map", "cyclic"
    done = mpi_run.run(ranks, sys.executable, "-m", "hetsched", "linpack", *given)
    assert done.returncode == 0, done.stderr
    (found,) = LINES.findall(done.stdout)
    kind, n, nb, p, q, _, _, error, verdict = found
    assert (kind, n, nb, verdict) == ("CYCL", "150", "16", "PASSED")
    assert int(p) * int(q) == ranks
    assert float(error) < 16


@pytest.mark.parametrize("found", [16.0, np.inf, np.nan])
def test_command_fails(monkeypatch, capsys, found):
    wrong = linpack.Outcome(hs.lu_pattern(2, [1.0]), [1.0], 9, 5, 1.0, found)
    call = SimpleNamespace(at_root=True)
    monkeypatch.setattr(command, "one_voice", lambda: nullcontext(call))
    monkeypatch.setattr(command, "linpack", lambda *_: wrong)
    with pytest.raises(SystemExit) as end:
        cli.main(["linpack", "--n", "9"])
    assert end.value.code == 1
    assert "...... FAILED" in capsys.readouterr().out
