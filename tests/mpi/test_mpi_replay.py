"""Programs for SimGrid: the bytes of a run on ranks, the flops of the plan, and the times of an
interpreter of our own and of SimGrid itself."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpi_fake import good, on_ranks
from oracles.replay import flops, read, replayed, sent

import hetsched as hs

pytestmark = pytest.mark.usefixtures("fake_ranks")
METHODS = ("best", "columns", "rectangles", "layers")


def complete(times, seed=0, cost=1.0):
    links = cost * np.random.default_rng(seed).uniform(0.5, 2.0, (len(times), len(times)))
    np.fill_diagonal(links, 0.0)
    return hs.Platform.complete(times, links)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("replay")


@settings(max_examples=40)
@given(
    sizes=st.tuples(*[st.sampled_from([1, 2, 7, 24, 60, 300])] * 3),
    times=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=4),
    method=st.sampled_from(METHODS),
    dtype=st.sampled_from(["float32", "float64", "complex128"]),
    linked=st.booleans(),
)
def test_bytes_of_ranks_and_flops_of_the_plan(pools, folder, sizes, times, method, dtype, linked):
    m, n, k = sizes
    platform = complete(times) if linked else hs.Platform.star(times)
    try:
        plan = hs.plan_matmul(m, n, k, platform, method=method, dtype=dtype)
    except hs.InfeasibleError:  # fewer blocks than workers
        assume(False)
    hs.mpi.save_replay(plan, folder)
    speeds, bandwidth, programs = read(folder)
    np.testing.assert_allclose(flops(programs), plan.flops, rtol=1e-12)
    np.testing.assert_allclose(speeds, 1e9 / plan.cycle_times)
    size = len(times)
    A, B = np.ones((m, k), dtype), np.ones((k, n), dtype)

    def zones(X):
        call = lambda r: hs.mpi.scatter(r, *((X, plan) if r.rank == 0 else (None, None)))  # noqa: E731
        return good(on_ranks(size, call)[0])

    a, b = zones(A), zones(B)
    found, bytes_sent = on_ranks(
        size, lambda r: hs.mpi.matmul(r, a[r.rank], b[r.rank], plan, pool=pools[r.rank])
    )
    good(found)
    out = sent(programs)
    assert [sum(out[i, j] for j in range(size)) for i in range(size)] == bytes_sent.tolist()
    end = replayed(speeds, bandwidth, programs)
    alone = (plan.flops * plan.cycle_times).max(initial=0.0) / 1e9
    assert end >= alone * (1 - 1e-9)
    if not linked:  # messages take no time
        assert end <= alone * (1 + 1e-6) + 1e-9


def test_two_steps_ahead(folder):
    """Eight steps of 150 layers. Rank 0 holds the columns of A for the first four, rank 1 those for
    the last four, and each has all the rows of its columns of B."""
    plan = hs.plan_matmul(40, 40, 1200, complete([1.0, 1.0]), method="columns")
    hs.mpi.save_replay(plan, folder)
    letters = {"irecv": "r", "wait": "w", "compute": "c"}
    found = [
        "".join(letters.get(x[0], "") for x in actions if x[0] != "wait" or int(x[1]) != rank)
        for rank, actions in enumerate(read(folder)[2])
    ]
    assert sorted(found) == sorted(["ccrcrcrwcrwcwcwc", "rrrwcrwcwcwccccc"])


def test_the_interpreter_by_hand(folder):
    """Two ranks: two messages share a link of 10 bytes per second, while the receiver computes."""
    programs = [
        ["init", "isend 1 0 30", "isend 1 1 10", "wait 0 1 1", "compute 8", "wait 0 1 0"],
        ["init", "irecv 0 0 30", "irecv 0 1 10", "compute 1", "wait 0 1 0", "compute 3"],
    ]
    actions = [[line.split() for line in program] for program in programs]
    # the small one ends at 2 s, the large one at 4 s
    assert replayed([4.0, 1.0], {(0, 1): 10.0, (1, 0): 1.0}, actions) == pytest.approx(7.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cost", [0.0, 300.0, 30_000.0])
def test_simgrid_finds_the_same_time(tmp_path, method, cost):
    if shutil.which("smpirun") is None:
        pytest.skip("no smpirun: install libsimgrid-dev")
    platform = complete([3000.0, 5000.0, 8000.0, 2000.0], 1, cost)
    plan = hs.plan_matmul(300, 280, 320, platform, method=method)
    command = hs.mpi.save_replay(plan, tmp_path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    (found,) = re.findall(r"Simulation time (\S+)", done.stderr)
    np.testing.assert_allclose(float(found), replayed(*read(tmp_path)), rtol=1e-4, atol=1e-6)


def test_errors(tmp_path):
    plan = hs.plan_matmul(30, 30, 30, hs.Platform.star([1.0, 2.0]))
    with pytest.raises(TypeError, match="plan must be a plan of plan_matmul, got Wavefront"):
        hs.mpi.save_replay(hs.wavefront(3, 3, [1.0]), tmp_path)
    with pytest.raises(FileNotFoundError):
        hs.mpi.save_replay(plan, tmp_path / "none")
    with hs.Pool(2) as pool, pytest.raises(ValueError, match="plan is for one machine"):
        hs.mpi.save_replay(pool.plan(300, 300, 300), tmp_path)
    assert not list(tmp_path.iterdir())
