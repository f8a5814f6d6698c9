"""A rank that hangs or fails, at random messages of each kind of plan: every other rank raises an
error that names the rank and the cause."""

from __future__ import annotations

import random
import sys
import threading

import mpi_fake
import mpi_run
import numpy as np
import pytest
from inputs import many
from mpi_fake import on_ranks

import hetsched as hs
from hetsched.mpi import LostRank, arguments

SIZE = 3
TIMEOUT = 0.4
STAR = hs.Platform.star([2e-4, 3e-4], link_costs=[2e-5, 4e-5], memory=[21, 45])


@pytest.fixture(autouse=True)
def _fake(monkeypatch):
    monkeypatch.setattr(arguments, "Ranks", lambda comm: comm)


def tasks_by_a_plan(comm, root, _):
    plan = hs.min_time(12, [1.0, 2.0], send=0.1, receive=0.1)
    tasks = range(12) if comm.rank == root else None
    return hs.mpi.map_tasks(comm, abs, tasks, root, plan=plan, timeout=TIMEOUT)


def a_load(comm, root, _):
    plan = hs.divisible_load(1.0, [1.0, 2.0], 0.1, return_ratio=0.5)
    load = np.ones((30, 2)) if comm.rank == root else None
    return hs.mpi.map_tasks(comm, np.cos, load, root, plan=plan, trace=True, timeout=TIMEOUT)


def lu_at_a_master(comm, root, pool):
    plan = hs.plan_star_lu(5, STAR, "oddoml", width=1, master_time=1e-3)
    A = np.random.default_rng(0).standard_normal((30, 30))
    given = (A, plan) if comm.rank == root else (None, None)
    return hs.mpi.lu_factor(comm, *given, root, pool=pool, timeout=TIMEOUT)


def a_product_by_zones(comm, root, pool):
    plan = hs.partition([1.0, 2.0, 3.0], "columns", (12, 12))
    given = (np.ones((24, 24)),) * 2 if comm.rank == root else (None, None)
    return hs.mpi.matmul(comm, *given, plan, root, pool=pool, timeout=TIMEOUT)


def lu_by_block_columns(comm, root, pool):
    plan = hs.lu_pattern(6, [1.0, 2.0, 3.0])
    A = np.random.default_rng(0).standard_normal((30, 30)) if comm.rank == root else None
    return hs.mpi.lu_factor(comm, A, plan, root, pool=pool, timeout=TIMEOUT)


def a_system_by_square_blocks(comm, root, pool):
    plan = hs.lu_grid(6, [1.0, 1.0, 2.0], owner=np.arange(36).reshape(6, 6) * 5 % 7 % 3)
    A = np.random.default_rng(0).standard_normal((30, 30)) if comm.rank == root else None
    return hs.mpi.solve(comm, A, A, plan, root, pool=pool, timeout=TIMEOUT)


def slices_of_a_ring(comm, root, pool):
    links = np.full((SIZE, SIZE), 0.01)
    np.fill_diagonal(links, 0.0)
    with hs.Pool(hs.Platform.complete([1.0, 1.0, 1.0], links), emulate=True) as workers:
        plan = workers.plan_stencil(9, 60, 20)
    U = np.ones((9, 60)) if comm.rank == root else None
    options = {"plan": plan, "tolerance": 0.0, "every": 5, "timeout": TIMEOUT}
    return hs.mpi.stencil(comm, U, 20, root=root, pool=pool, **options)


def tiles_of_a_wavefront(comm, root, pool):
    plan = hs.wavefront(4, 9, [1.0, 2.0, 1.0], period=4)
    image = np.ones((12, 30)) if comm.rank == root else None
    kernel = hs.Stencil([[0, 0.5, 0], [0.5, 0, 0.1], [0, 0, 0]])
    options = {"root": root, "pool": pool, "trace": True, "timeout": TIMEOUT}
    return hs.mpi.sweep(comm, plan, image, kernel, **options)


def _product(comm, root, pool, plan, m, n, k):
    given = (np.ones((m, k)), np.ones((k, n)), plan) if comm.rank == root else (None, None, None)
    return hs.mpi.matmul(comm, *given, root, pool=pool, timeout=TIMEOUT)


def a_product_by_layers_of_a_star(comm, root, pool):
    return _product(comm, root, pool, hs.layers_star(24, [1.0, 2.0, 3.0]), 24, 20, 24)


def a_product_by_layers_of_a_mesh(comm, root, pool):
    line = np.ones((1, 3)), np.full((1, 2), 0.1), np.empty((0, 3))
    plan = hs.layers_mesh(24, *line, source_computes=True)
    return _product(comm, root, pool, plan, 24, 20, 24)


def a_product_by_cuboids(comm, root, pool):
    plan = hs.cuboids(hs.Platform.star([1.0, 2.0, 3.0]), shape=(24, 20, 16))
    return _product(comm, root, pool, plan, 24, 20, 16)


def a_product_on_a_star(comm, root, pool):
    return _product(comm, root, pool, hs.plan_product(4, 8, 3, STAR, budget=0), 24, 48, 18)


def a_product_in_zones(comm, root, pool):
    """The zones are multiplied where they lie, and collected afterwards."""
    plan = hs.partition([1.0, 2.0, 3.0], "columns", (24, 24))
    A = np.ones((24, 24)) if comm.rank == root else None
    zone = hs.mpi.scatter(comm, A, plan, root, timeout=TIMEOUT)
    zone = hs.mpi.matmul(comm, zone, zone, plan, root, pool=pool, timeout=TIMEOUT)
    return hs.mpi.gather(comm, zone, root, timeout=TIMEOUT)


def _cholesky(comm, root, pool, plan):
    A = np.eye(30) + 1.0 if comm.rank == root else None
    return hs.mpi.cholesky(comm, A, plan, root, pool=pool, timeout=TIMEOUT)


def cholesky_by_block_columns(comm, root, pool):
    return _cholesky(comm, root, pool, hs.lu_pattern(6, [1.0, 2.0, 3.0]))


def cholesky_by_square_blocks(comm, root, pool):
    return _cholesky(comm, root, pool, hs.lu_grid(6, [1.0, 1.0, 2.0]))


CALLS = [
    tasks_by_a_plan,
    a_load,
    lu_at_a_master,
    slices_of_a_ring,
    a_system_by_square_blocks,
    tiles_of_a_wavefront,
    a_product_on_a_star,
    cholesky_by_square_blocks,
    *many(
        [
            a_product_by_zones,
            a_product_by_layers_of_a_star,
            a_product_by_layers_of_a_mesh,
            a_product_by_cuboids,
            a_product_in_zones,
            lu_by_block_columns,
            cholesky_by_block_columns,
        ],
        [],
    ),
]


class Fault:
    """What happens to one rank when it begins its n-th message; n is 0 for nothing."""

    def __init__(self, rank, n, error):
        self.rank, self.n, self.error = rank, n, error
        self.begun = [0] * SIZE
        self.over = threading.Event()

    def begin(self, rank):
        self.begun[rank] += 1
        if (rank, self.begun[rank]) != (self.rank, self.n):
            return
        if self.error is None:
            self.over.wait(60)  # it answers nothing until all others have ended
            raise SystemExit
        raise self.error


def run(monkeypatch, pools, call, root, fault):
    """What a call returns or raises on each rank."""

    class Messages(mpi_fake.Messages):
        __init__ = OWN.__init__

        def _post(self, data, key, side):
            fault.begin(self.rank)
            return OWN._post(self, data, key, side)

    ended = []

    def on_rank(ranks):
        try:
            return call(ranks, root, pools[ranks.rank])
        finally:
            ended.append(ranks.rank)
            if set(ended) >= set(range(SIZE)) - {fault.rank}:
                fault.over.set()

    with monkeypatch.context() as patch:
        patch.setattr(mpi_fake, "Messages", Messages)
        return on_ranks(SIZE, on_rank)[0]


OWN = mpi_fake.Messages


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(many(50, 1)))
@pytest.mark.parametrize("call", CALLS)
def test_a_rank_that_hangs(monkeypatch, pools, call, seed):
    rng = random.Random(f"{call.__name__} {seed}")
    root, rank = rng.randrange(SIZE), rng.randrange(SIZE)
    whole = Fault(rank, 0, None)
    assert not any(isinstance(x, BaseException) for x in run(monkeypatch, pools, call, root, whole))
    n = rng.randint(1, whole.begun[rank])
    found = run(monkeypatch, pools, call, root, Fault(rank, n, None))
    for other in {*range(SIZE)} - {rank}:
        assert isinstance(found[other], LostRank), (rank, n, found[other])
        assert found[other].rank == rank
        assert f"rank {rank} has not answered for" in str(found[other])


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(many(50, 3)))
@pytest.mark.parametrize("call", CALLS)
def test_a_rank_that_fails(monkeypatch, pools, call, seed):
    rng = random.Random(f"{call.__name__} {seed}")
    root, rank = rng.randrange(SIZE), rng.randrange(SIZE)
    whole = Fault(rank, 0, None)
    run(monkeypatch, pools, call, root, whole)
    n = rng.randint(1, whole.begun[rank])
    full = OSError(28, "No space left on device")
    found = run(monkeypatch, pools, call, root, Fault(rank, n, full))
    assert found[rank] is full
    for other in {*range(SIZE)} - {rank}:
        assert isinstance(found[other], OSError), (rank, n, found[other])
        assert str(found[other]) == f"rank {rank}: [Errno 28] No space left on device"


_STOPPED = """
import os, signal
import numpy as np
from mpi4py import MPI
import hetsched as hs
from hetsched.mpi import worker
comm = MPI.COMM_WORLD
def stop(*_):
    os.kill(os.getpid(), signal.SIGSTOP)
def tasks():
    plan = hs.min_time(8, [1.0, 1.0], send=0.1)
    hs.mpi.map_tasks(comm, lambda x: stop() if comm.rank == 2 else x, range(8) if comm.rank == 0
                     else None, plan=plan, timeout=2.0)
def sweep():
    plan = hs.wavefront(4, 6, [1.0, 1.0, 1.0], method="cyclic")
    image = np.ones((8, 12)) if comm.rank == 0 else None
    hs.mpi.sweep(comm, plan, image, lambda *_: stop() if comm.rank == 2 else None, timeout=2.0)
def lu():
    star = hs.Platform.star([2.0, 1.0], link_costs=[0.1, 0.1], memory=[3, 45])
    plan = hs.plan_star_lu(6, star, "oddoml", width=1, master_time=100.0)
    assert plan.updates[1] > 0
    given = (np.eye(60), plan) if comm.rank == 0 else ()
    if comm.rank == 2:
        worker.accumulate = stop
    hs.mpi.lu_factor(comm, *given, timeout=2.0)
try:
    CALL()
    print("done", flush=True)
except hs.mpi.LostRank as lost:
    print(f"lost {lost.rank}: {lost}", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", ["tasks", "lu", "sweep"])
def test_a_process_that_is_stopped(tmp_path, call):
    program = tmp_path / "stopped.py"
    program.write_text(_STOPPED.replace("CALL", call))
    done = mpi_run.run(SIZE, sys.executable, program, timeout=60.0)
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert "lost 2: rank 2 has not answered for" in done.stdout
