"""Cases of tasks and loads by plans that all ranks run; started by test_mpi_bus.py."""

from __future__ import annotations

import mpi_run
import numpy as np
import pytest
from mpi4py import MPI

import hetsched as hs


def at(comm, value, root=0):
    return value if comm.rank == root else None


def case_tasks(comm):
    times = np.arange(1.0, comm.size)
    for root, count in ((0, 0), (comm.size - 1, 30)):
        plan = hs.min_time(count, times, send=0.1, receive=0.1)
        tasks = at(comm, [(i, "x" * i) for i in range(count)], root)
        found, trace = hs.mpi.map_tasks(comm, str, tasks, root, plan=plan, trace=True)
        assert (trace is None) == (comm.rank != root)
        if comm.rank == root:
            assert found == [str((i, "x" * i)) for i in range(count)]
            assert len(trace.workers) == comm.size - 1


def case_a_large_load(comm):
    plan = hs.divisible_load(1.0, np.arange(1.0, comm.size), 0.1, return_ratio=1.0)
    load = np.random.default_rng(0).standard_normal((3000, 200))
    found = hs.mpi.map_tasks(comm, lambda rows: rows.cumsum(axis=1), at(comm, load), plan=plan)
    if comm.rank == 0:
        np.testing.assert_array_equal(found, load.cumsum(axis=1), strict=True)


def case_a_task_that_fails_leaves_the_communicator_usable(comm):
    def fails(x):
        if x == 5:
            raise KeyError("five")
        return x

    plan = hs.min_time(20, np.ones(comm.size - 1), send=0.1)
    with pytest.raises(RuntimeError, match="task 5 failed"):
        hs.mpi.map_tasks(comm, fails, at(comm, range(20)), plan=plan)
    found = hs.mpi.map_tasks(comm, abs, at(comm, range(20)), plan=plan)
    assert comm.rank or found == list(range(20))


if __name__ == "__main__":
    mpi_run.main(MPI.COMM_WORLD, dict(globals()))
