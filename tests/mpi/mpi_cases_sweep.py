"""Cases for all ranks: sweeps by wavefronts. Started by test_mpi_sweep.py."""

import mpi_run
import numpy as np
import pytest
from mpi4py import MPI
from oracles.wavefront import swept

import hetsched as hs

GAUSS_SEIDEL = hs.Stencil([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])


def at(comm, value, root=0):
    return value if comm.rank == root else None


def matrix(rows, cols, dtype="float64"):
    return np.random.default_rng(rows).standard_normal((rows, cols)).astype(dtype)


def times(comm):
    return np.arange(1.0, comm.size + 1.0)


def case_the_image_of_the_root(comm):
    root = comm.size - 1
    for dtype in ("float32", "float64"):
        for axis in (0, 1):
            image = matrix(41, 60, dtype)
            plan = hs.wavefront(12, 13, times(comm), axis=axis)
            given = (plan, image, GAUSS_SEIDEL) if comm.rank == root else ()
            found = hs.mpi.sweep(comm, *given, root=root)
            assert (found is None) == (comm.rank != root)
            if comm.rank == root:
                want = swept(image, GAUSS_SEIDEL.weights, "sum")
                np.testing.assert_array_equal(found, want, strict=True)


def case_corners(comm):
    weights = np.array([[0.1, 0.2, 0.1], [0.2, 0.1, 0.1], [0.1, 0.1, 0.05]])
    for axis, mask in ((0, "W N NW NE"), (1, "W N NW SW")):
        image = matrix(20, 24)
        plan = hs.wavefront(*((20, 6) if axis == 0 else (6, 24)), times(comm), mask=mask, axis=axis)
        found = hs.mpi.sweep(comm, plan, at(comm, image), hs.Stencil(weights))
        if comm.rank == 0:
            want = swept(image, weights, "sum", by_columns=axis == 1)
            np.testing.assert_array_equal(found, want)


def case_scattered_chunks_and_a_trace(comm):
    image, plan = matrix(30, 50), hs.wavefront(6, 10, times(comm))
    zone = hs.mpi.scatter(comm, at(comm, image), plan)
    for _ in range(2):
        zone, trace = hs.mpi.sweep(comm, plan, zone, GAUSS_SEIDEL, trace=True)
    found = hs.mpi.gather(comm, zone)
    assert (trace is None) == (comm.rank > 0)
    if comm.rank == 0:
        want = swept(swept(image, GAUSS_SEIDEL.weights, "sum"), GAUSS_SEIDEL.weights, "sum")
        np.testing.assert_array_equal(found, want)
        assert sum(event.kind == "compute" for event in trace.events) == 60


def case_functions(comm):
    def add(a, row, col, height, width):
        for i in range(row, row + height):
            for j in range(col, col + width):
                a[i, j] += (a[i - 1, j] if i else 0) + (a[i, j - 1] if j else 0)

    image = np.ones((12, 15), int)
    plan = hs.wavefront(5, 6, times(comm))
    found = hs.mpi.sweep(comm, plan, at(comm, image), add)
    if comm.rank == 0:
        add(image, 0, 0, 12, 15)
        np.testing.assert_array_equal(found, image)


def case_errors_leave_the_communicator_usable(comm):
    image, plan = matrix(9, 40), hs.wavefront(9, 10, times(comm))
    with pytest.raises(ValueError, match="kernel must be given at the root"):
        hs.mpi.sweep(comm, plan, at(comm, image))

    def fail(a, row, col, height, width):
        if row == 4 and plan.owner[col // 4] == comm.size - 1:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        hs.mpi.sweep(comm, plan, at(comm, image), fail)
    found = hs.mpi.sweep(comm, plan, at(comm, image), GAUSS_SEIDEL)
    assert comm.rank or np.array_equal(found, swept(image, GAUSS_SEIDEL.weights, "sum"))


if __name__ == "__main__":
    mpi_run.main(MPI.COMM_WORLD, dict(globals()))
