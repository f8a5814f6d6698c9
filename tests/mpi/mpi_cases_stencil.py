"""Cases for all ranks: iterations on slices. Started by test_mpi_stencil.py."""

import mpi_run
import numpy as np
import pytest
from mpi4py import MPI
from oracles.stencil import iterated

import hetsched as hs


def at(comm, value, root=0):
    return value if comm.rank == root else None


def matrix(rows, cols, dtype="float64"):
    return np.random.default_rng(rows).standard_normal((rows, cols)).astype(dtype)


def planned(comm, shape, steps, times=None):
    """Slices of all ranks: a plan that is made with the call leaves a small matrix on one rank."""
    with hs.Pool(hs.Platform.star(times or [1.0] * comm.size), emulate=True) as pool:
        return pool.plan_stencil(*shape, steps)


def case_the_matrix_of_the_root(comm):
    """The speeds are measured; any rank may be the root."""
    for dtype in ("float32", "float64"):
        U, root = matrix(40, 61, dtype), comm.size - 1
        found = hs.mpi.stencil(comm, at(comm, U, root), 37, root=root, weight=0.2)
        assert (found is None) == (comm.rank != root)
        if comm.rank == root:
            np.testing.assert_array_equal(found, iterated(U, 37, 0.2), strict=True)


def case_scattered_slices_and_a_trace(comm):
    U = matrix(20, 80)
    star = hs.Platform.star(np.arange(1.0, comm.size + 1.0))
    zone = hs.mpi.scatter(comm, at(comm, U), hs.plan_matmul(20, 80, 9, star, method="columns"))
    plan = planned(comm, U.shape, 50, star.cycle_times.tolist())
    zone, trace = hs.mpi.stencil(comm, zone, 50, plan=plan, rebalance=10, trace=True)
    found = hs.mpi.gather(comm, zone)
    assert (trace is None) == (comm.rank > 0)
    if comm.rank == 0:
        np.testing.assert_array_equal(found, iterated(U, 50, 0.25))
        assert len(trace.workers) == comm.size


def case_tolerance_and_progress(comm):
    U, seen = matrix(6, 40), []
    found = hs.mpi.stencil(
        comm,
        at(comm, U),
        1000,
        plan=planned(comm, U.shape, 1000),
        tolerance=1e-4,
        every=5,
        progress=seen.append,
    )
    assert found.steps < 1000
    assert found.steps % 5 == 0
    assert bool(seen) == (comm.rank == 0)
    if comm.rank == 0:
        np.testing.assert_array_equal(found.value, iterated(U, found.steps, 0.25))


def case_errors_leave_the_communicator_usable(comm):
    U = matrix(6, 40)
    with pytest.raises(ValueError, match="weight must be finite"):
        hs.mpi.stencil(comm, at(comm, U), 5, weight=np.nan if comm.rank == 0 else 0.25)

    def enough(_):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        hs.mpi.stencil(comm, at(comm, U), 5, progress=enough)
    found = hs.mpi.stencil(comm, at(comm, U), 5, plan=planned(comm, U.shape, 5))
    assert comm.rank or np.array_equal(found, iterated(U, 5, 0.25))


if __name__ == "__main__":
    mpi_run.main(MPI.COMM_WORLD, dict(globals()))
