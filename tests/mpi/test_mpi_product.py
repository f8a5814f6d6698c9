"""Products, zones and measurements on the ranks of real MPI programs."""

import sys
from pathlib import Path

import mpi_run
import numpy as np
import pytest
from inputs import many

import hetsched as hs

PROGRAM = Path(__file__).with_name("mpi_cases_product.py")


@pytest.fixture(scope="module", params=(1, 4))
def found(request):
    return mpi_run.results(request.param, PROGRAM)


@pytest.mark.slow
@pytest.mark.parametrize("case", mpi_run.cases_of(PROGRAM))
def test_on_ranks(found, case):
    assert not found[case], found[case]


_LOST = """
import os, signal
import numpy as np
from mpi4py import MPI
import hetsched as hs
from hetsched.mpi import product
comm = MPI.COMM_WORLD
a = np.ones((300, 300)) if comm.rank == 0 else None
star = hs.Platform.star([1.0] * 3)
plan = hs.plan_matmul(300, 300, 300, star, method="columns", communication="sequential")
multiply = product.Product._multiply
def stops(self, step, begun):
    if step == 50:
        os.kill(os.getpid(), signal.SIGNAL)
    multiply(self, step, begun)
if comm.rank == 1:
    product.Product._multiply = stops
try:
    hs.mpi.matmul(comm, a, a, plan, timeout=2.0)
    print("done", flush=True)
except hs.mpi.LostRank as lost:
    print(f"lost {lost.rank}: {lost}", flush=True)
"""


@pytest.mark.slow
def test_a_rank_that_hangs_is_named_and_all_end(tmp_path):
    program = tmp_path / "lost.py"
    program.write_text(_LOST.replace("SIGNAL", "SIGSTOP"))
    done = mpi_run.run(3, sys.executable, program, timeout=60.0)
    assert done.returncode != 0
    assert "lost 1: rank 1 has not answered for" in done.stdout


@pytest.mark.slow
def test_a_rank_that_is_killed_ends_all(tmp_path):
    """The launcher does, and names it."""
    program = tmp_path / "lost.py"
    program.write_text(_LOST.replace("SIGNAL", "SIGKILL"))
    done = mpi_run.run(3, sys.executable, program, timeout=60.0)
    assert done.returncode != 0
    assert "done" not in done.stdout


# ---- the commands ----


def command(ranks, *arguments):
    return mpi_run.run(ranks, sys.executable, "-m", "hetsched", "mpi", *arguments)


@pytest.mark.slow
def test_run_and_measure(tmp_path):
    a, b = np.arange(600.0).reshape(20, 30), np.arange(1200.0).reshape(30, 40)
    np.save(tmp_path / "A.npy", a)
    np.save(tmp_path / "B.npy", b)
    measured = command(3, "measure", "--seconds", "0.3", "-o", tmp_path / "cluster.toml")
    assert measured.returncode == 0, measured.stderr
    assert "3 ranks, " in measured.stdout
    assert len(hs.Platform.load(tmp_path / "cluster.toml")) == 3
    for options in (
        (),
        (
            "--platform",
            tmp_path / "cluster.toml",
            "--method",
            "layers",
            "--trace",
            tmp_path / "trace.json",
        ),
    ):
        (tmp_path / "C.npy").unlink(missing_ok=True)
        done = command(
            3, "run", tmp_path / "A.npy", tmp_path / "B.npy", "-o", tmp_path / "C.npy", *options
        )
        assert done.returncode == 0, done.stderr
        assert "C.npy: 20 x 40 float64, " in done.stdout
        assert "plan: makespan " in done.stdout
        np.testing.assert_array_equal(np.load(tmp_path / "C.npy"), a @ b)
    assert (tmp_path / "trace.json").stat().st_size > 0


@pytest.mark.parametrize(
    ("ranks", "options", "text"),
    [
        (3, ("A.npy", "--method", "no"), "method must be one of"),
        *many(
            [
                (3, ("nothing.npy",), "nothing.npy: No such file"),
                (1, ("A.npy", "--platform", "nothing.toml"), "No such file"),
                (1, ("A.npy", "--trace", "trace.txt"), "--trace must end in"),
                (2, ("A.npy", "--method", "het", "--trace", "trace.txt"), "--trace must end in"),
                (2, ("A.npy", "--method", "het", "--memory", "-1"), "memory must"),
            ],
            [],
        ),
    ],
)
def test_errors_are_said_once(tmp_path, monkeypatch, ranks, options, text):
    monkeypatch.chdir(tmp_path)
    np.save("A.npy", np.ones((4, 4)))
    done = command(ranks, "run", options[0], "A.npy", "-o", "C.npy", *options[1:])
    assert done.returncode == 1
    assert [text in line for line in done.stderr.splitlines() if line.startswith("hetsched:")] == [
        True
    ]
    assert not Path("C.npy").exists()


_COUNTED = """
import sys
from mpi4py import MPI
from hetsched.cli import voice
from hetsched.cli.main import main
from hetsched.mpi import linalg
from hetsched.mpi.ranks import Ranks

calls = []


class Counted(MPI.Intracomm):
    def Idup(self):
        calls.append("communicator")
        return super().Idup()


def agree(self, check, own=Ranks.agree):
    calls.append("agreement")
    return own(self, check)


def speeds(*given, own=linalg.known_speeds):
    calls.append("speeds")
    return own(*given)


linalg.known_speeds = speeds
voice.world = lambda: Counted(MPI.COMM_WORLD)
Ranks.agree = agree
main(sys.argv[1:])
if MPI.COMM_WORLD.rank == 0:
    print(*calls, sep=", ")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ((), ["arguments", "speeds", "plan", "memory", "file"]),
        (("--platform", "ranks.toml"), ["arguments", "plan", "memory", "file"]),
        (
            ("--method", "het", "--memory", "60", "--block", "4"),
            ["measurement", "arguments", "plan", "memory", "file"],
        ),
        (("--method", "orroml"), ["measurement", "arguments", "plan", "memory", "file"]),
    ],
    ids=["alone", "platform", "star", "star of usual blocks"],
)
def test_run_agrees_no_more_than_needed(tmp_path, monkeypatch, options, calls):
    """One communicator, and an agreement on each of these."""
    monkeypatch.chdir(tmp_path)
    Path("counted.py").write_text(_COUNTED)
    np.save("A.npy", np.ones((8, 8)))
    hs.Platform.star([1, 2], [0, 1], unit=hs.Unit.gigaflop()).save("ranks.toml")
    run = ("mpi", "run", "A.npy", "A.npy", "-o", "C.npy", *options)
    done = mpi_run.run(2, sys.executable, "counted.py", *run)
    assert done.returncode == 0, done.stderr
    expected = ["speeds" if call == "speeds" else "agreement" for call in calls]
    assert done.stdout.splitlines()[-1].split(", ") == ["communicator", *expected]
    assert (np.load("C.npy") == 8).all()


def test_without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    with pytest.raises(ImportError, match="hetsched.mpi needs mpi4py: pip install mpi4py"):
        hs.mpi.matmul(None, None, None)
