"""Cases of LU by a plan of plan_star_lu that all ranks run; started by test_mpi_star_lu.py."""

from __future__ import annotations

import mpi_run
import numpy as np
import pytest
import scipy.linalg
from mpi4py import MPI

import hetsched as hs

POOL = hs.Pool(1)


def plan_of(comm, blocks):
    p = comm.size - 1
    star = hs.Platform.star(1.0 + np.arange(p), link_costs=[0.1] * p, memory=[45] * p)
    return hs.plan_star_lu(blocks, star, "oddoml", width=1)


def case_factors(comm):
    """Blocks of 80 x 80: messages beyond what MPI sends before it is asked for."""
    plan = plan_of(comm, 6)
    for root, dtype in enumerate((np.float64, np.complex64)):
        A = np.random.default_rng(1).standard_normal((475, 475)).astype(dtype)
        mine = comm.rank == root
        given = (A, plan) if mine else (None, None)
        found, trace = hs.mpi.lu_factor(comm, *given, root, pool=POOL, trace=True)
        assert (found is None, trace is None) == (not mine, not mine)
        if mine:
            (lu, piv), rows = found, np.arange(len(A))
            for i, j in enumerate(piv.tolist()):
                rows[[i, j]] = rows[[j, i]]
            L, U = np.tril(lu, -1) + np.eye(len(A), dtype=dtype), np.triu(lu)
            # pivots may differ from LAPACK's where two elements differ by rounding only
            assert (np.abs(L.real) + np.abs(L.imag) < 1.001).all()
            most = 4 * len(A) * np.finfo(dtype).eps * np.abs(U).max()
            assert np.abs(L @ U - A[rows]).max() < most
            assert trace.workers == (*plan.names, "master")


def case_errors_leave_the_communicator_usable(comm):
    plan, A = plan_of(comm, 5), np.random.default_rng(2).standard_normal((40, 40))
    given = (A, plan) if comm.rank == 0 else (None, None)

    def enough(_):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        hs.mpi.lu_factor(comm, *given, pool=POOL, progress=enough)
    found = hs.mpi.lu_factor(comm, *given, pool=POOL)
    assert comm.rank or (found[1] == scipy.linalg.lu_factor(A)[1]).all()


if __name__ == "__main__":
    mpi_run.main(MPI.COMM_WORLD, dict(globals()))
