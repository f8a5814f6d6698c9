"""Cases of products of a StarPlan that all ranks run, rank 0 or another the master; started by
test_mpi_star.py."""

from __future__ import annotations

import itertools

import mpi_run
import numpy as np
import pytest
from mpi4py import MPI

import hetsched as hs
from hetsched.mpi.ranks import Ranks
from hetsched.mpi.star import run_star

POOL = hs.Pool(1)


def platform(p):
    return hs.Platform.star(
        [2 + i for i in range(p)], link_costs=[1] * p, memory=[12 + 9 * i for i in range(p)]
    )


def integers(shape, dtype, seed=0):
    """Small ones, whose products are exact in every dtype."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-9, 10, shape)
    return (
        (found + 1j * rng.integers(-9, 10, shape)).astype(dtype)
        if np.dtype(dtype).kind == "c"
        else found.astype(dtype)
    )


def product(comm, plan, A, B, root=0, order="plan", trace=False, progress=None, everywhere=False):
    mine = comm.rank == root
    with Ranks(comm, 30.0) as ranks:
        given = (plan if mine or everywhere else None, A if mine else None, B if mine else None)
        return run_star(ranks, *given, root, order, POOL, trace, progress)


def case_methods(comm):
    A, B = integers((4 * 7 - 3, 3 * 7 - 1), float), integers((3 * 7 - 1, 8 * 7 - 6), float)
    for method, order in itertools.product(
        ("best", "het", "bmm", "orroml", "hom", "overlap"), ("plan", "demand")
    ):
        C = product(
            comm,
            hs.plan_product(4, 8, 3, platform(comm.size - 1), method, budget=0),
            A,
            B,
            order=order,
        )
        assert (C == A @ B).all() if comm.rank == 0 else C is None


def case_dtypes_and_roots(comm):
    plan = hs.plan_product(4, 8, 3, platform(comm.size - 1), budget=0)
    for root, dtype in enumerate((np.float32, np.float64, np.complex64, np.complex128)):
        root %= comm.size
        A, B = integers((40, 30), dtype), np.asfortranarray(integers((30, 80), dtype, 1))
        C, trace = product(comm, plan, A, B, root, trace=True, everywhere=True)
        if comm.rank == root:
            assert C.dtype == dtype
            assert (C == A @ B).all()
            assert trace.workers == plan.names
            assert all(peak <= memory for peak, memory in zip(trace.peak, plan.memory, strict=True))
            port = sorted((e for e in trace.events if e.kind == "transfer"), key=lambda e: e.start)
            assert len(port) == len(plan.messages)
            assert all(b.start >= a.end for a, b in itertools.pairwise(port))
        else:
            assert (C, trace) == (None, None)


def case_large_messages(comm):
    """Beyond what MPI sends before it is asked for."""
    plan = hs.plan_product(2, 4, 2, platform(comm.size - 1), "het")
    A, B = integers((2 * 300, 2 * 300), float), integers((2 * 300, 4 * 300 - 7), float)
    C = product(comm, plan, A, B, order="demand")
    assert comm.rank or (C == A @ B).all()


def case_errors_are_those_of_all(comm):
    A, B = np.ones((8, 6)), np.ones((6, 16))
    wrong = [
        (
            (hs.plan_product(4, 8, 3, platform(comm.size), budget=0), A, B),
            {},
            ValueError,
            "ranks beside the root",
        ),
        (
            (hs.plan_product(4, 8, 3, platform(comm.size - 1), budget=0), A, B[:5]),
            {},
            ValueError,
            "must be equal",
        ),
        (
            (hs.plan_product(4, 8, 3, platform(comm.size - 1), budget=0), A[:3], B),
            {},
            ValueError,
            "which no size of blocks",
        ),
        (
            (hs.plan_product(4, 8, 3, platform(comm.size - 1), budget=0), A, B),
            {"order": "best"},
            ValueError,
            "order must be one of",
        ),
        ((hs.distribute(8, [1, 2]), A, B), {}, TypeError, "plan must be a StarPlan"),
    ]
    for arguments, options, kind, words in wrong:
        with pytest.raises(kind, match=words) as error:
            product(comm, *arguments, **options)
        assert str(error.value).startswith("rank 0: ") == (comm.rank > 0)


def case_progress_and_its_error(comm):
    A, B = np.ones((8, 6)), np.ones((6, 16))
    plan = hs.plan_product(4, 8, 3, platform(comm.size - 1), budget=0)
    seen = []
    product(comm, plan, A, B, progress=seen.append)
    assert bool(seen) == (comm.rank == 0)

    def enough(_):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="^enough$" if comm.rank == 0 else "^rank 0: enough$"):
        product(comm, plan, A, B, progress=enough)
    C = product(comm, plan, A, B)  # the communicator is as good as before
    assert comm.rank or (C == A @ B).all()


if __name__ == "__main__":
    mpi_run.main(MPI.COMM_WORLD, dict(globals()))
