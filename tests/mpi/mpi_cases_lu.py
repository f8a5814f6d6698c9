"""Cases for all ranks: LU and systems. Started by test_mpi_lu.py."""

import signal
import threading

import mpi_run
import numpy as np
import pytest
import scipy.linalg
from mpi4py import MPI

import hetsched as hs
from hetsched.mpi.factor import run_cholesky, run_lu, run_solve
from hetsched.mpi.ranks import Ranks

POOL = hs.Pool(1)


def matrix(n, dtype="float64", seed=0):
    rng = np.random.default_rng([n, seed])
    x = rng.standard_normal((n, n))
    return (x + 1j * rng.standard_normal((n, n)) if np.dtype(dtype).kind == "c" else x).astype(
        dtype
    )


def at(comm, value, root=0):
    return value if comm.rank == root else None


def case_factors(comm):
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for n, root in ((1, 0), (33, comm.size - 1), (200, 0)):
            a = matrix(n, dtype)
            with Ranks(comm, 20.0) as ranks:
                found = run_lu(
                    ranks,
                    at(comm, a, root),
                    POOL,
                    root=root,
                    block=32,
                    cycle_times=range(1, comm.size + 1),
                )
            if comm.rank != root:
                assert found is None
                continue
            lu, piv = found
            pivots = scipy.linalg.lu_factor(a)[1]
            assert piv.tolist() == pivots.tolist() or dtype in ("float32", "complex64")
            product = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
            np.testing.assert_allclose(
                product, multiplied(piv, a), atol=50 * n * np.finfo(dtype).eps
            )


def multiplied(piv, a):
    a = a.copy()
    for i, pivot in enumerate(piv):
        a[[i, pivot]] = a[[pivot, i]]
    return a


def case_many_blocks(comm):
    a = matrix(700)
    with Ranks(comm, 20.0) as ranks:
        found, trace = run_lu(ranks, at(comm, a), POOL, block=16, trace=True)
    if comm.rank == 0:
        assert found[1].tolist() == scipy.linalg.lu_factor(a)[1].tolist()
        assert (
            sum(
                event.what.startswith("panel ") for event in trace.events if event.kind == "compute"
            )
            == 44
        )


def case_square_blocks(comm):
    n = 300
    for dtype in ("float64", "complex64"):
        for method in ("cyclic", "1d1d", "nested"):
            a, root = matrix(n, dtype), comm.size - 1
            plan = hs.lu_grid(10, [*range(1, comm.size + 1)], method)
            found = hs.mpi.lu_factor(comm, at(comm, a, root), plan, root, pool=POOL)
            b = np.ones((n, 2), dtype)
            mine = at(comm, a, root), at(comm, b, root)
            x = hs.mpi.solve(comm, *mine, plan, root, pool=POOL)
            if comm.rank != root:
                assert (found, x) == (None, None)
                continue
            lu, piv = found
            product = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
            atol = 50 * n * np.finfo(dtype).eps
            np.testing.assert_allclose(product, multiplied(piv, a), atol=atol)
            theirs = np.linalg.solve(a.astype(complex), b)
            error = np.abs(x - theirs).max() / np.abs(theirs).max()
            assert error < 10 * np.linalg.cond(a) * np.finfo(dtype).eps


def case_systems(comm):
    a = matrix(150) + 20 * np.eye(150)
    for shape in ((150,), (150, 7)):
        b = np.random.default_rng(3).standard_normal(shape)
        with Ranks(comm, 20.0) as ranks:
            x = run_solve(ranks, at(comm, a, 1), at(comm, b, 1), POOL, root=1, block=16)
        if comm.rank == 1:
            np.testing.assert_allclose(a @ x, b, atol=1e-10)
        else:
            assert x is None


def case_cholesky(comm):
    x = matrix(300)
    a = x @ x.T + 300 * np.eye(300)
    with Ranks(comm, 20.0) as ranks:
        c = run_cholesky(ranks, at(comm, a), POOL, block=32)
    grid = hs.lu_grid(10, np.ones(comm.size), "1d1d")
    d = hs.mpi.cholesky(comm, at(comm, a), grid, pool=POOL)
    if comm.rank == 0:
        np.testing.assert_allclose(c, np.linalg.cholesky(a), atol=1e-11)
        np.testing.assert_allclose(d, np.linalg.cholesky(a), atol=1e-11)
    with (
        Ranks(comm, 20.0) as ranks,
        pytest.raises(np.linalg.LinAlgError, match="1-th leading minor"),
    ):
        run_cholesky(ranks, at(comm, -a), POOL, block=32)


def case_refusals(comm):
    for a, options, said in (
        (np.ones((2, 3)), {}, "A must be square"),
        (np.full((4, 4), np.nan), {}, "infs or NaNs"),
        (
            np.eye(4),
            {"plan": hs.lu_pattern(4, np.ones(comm.size + 1))},
            f"plan is for {comm.size + 1} ranks",
        ),
        (np.eye(4), {"plan": hs.lu_pattern(5, np.ones(comm.size))}, "plan has 5 block columns"),
    ):
        with Ranks(comm, 20.0) as ranks, pytest.raises(ValueError, match=said):
            run_lu(ranks, at(comm, a), POOL, **options)


def case_interrupt(comm):
    """Of one rank, in the midst of it."""
    a = matrix(3000) if comm.rank < 2 else None
    main = threading.get_ident()
    begun, sent = threading.Event(), threading.Event()

    def send():
        signal.pthread_kill(main, signal.SIGINT)
        sent.set()

    def soon(done):
        if not begun.is_set():
            begun.set()
            threading.Timer(0.01, send).start()
        else:
            sent.wait(20.0)  # a busy machine may start the timer's thread late

    grid = hs.lu_grid(30, np.ones(comm.size), "cyclic")
    for root, plan in ((0, None), (1, None), (0, grid), (1, grid)):
        begun.clear()
        sent.clear()
        with Ranks(comm, 20.0) as ranks, pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
            run_lu(ranks, at(comm, a, root), POOL, plan, root=root, progress=soon)
        if comm.rank == root:
            assert caught.type is KeyboardInterrupt
        else:
            said = str(caught.value)
            assert f"rank {root} stopped: KeyboardInterrupt" in said, said


if __name__ == "__main__":
    mpi_run.main(MPI.COMM_WORLD, dict(globals()))
