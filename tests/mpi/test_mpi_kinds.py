"""The table of kinds of plans on ranks: every plan of Pool.run has a function, each function says
which one, and products of all kinds of plans are right on ranks that are threads."""

from __future__ import annotations

import numpy as np
import pytest
from mpi_fake import good, on_ranks

import hetsched as hs
from hetsched.mpi import kinds
from hetsched.runners import plans

pytestmark = pytest.mark.usefixtures("fake_ranks")
SIZE = 3
STAR = hs.Platform.star([1.0, 1.0], memory=[12, 12])


def product(pools, plan, A, B, root=1):
    def call(ranks):
        given = (A, B, plan) if ranks.rank == root else (None, None, None)
        return hs.mpi.matmul(ranks, *given, root, pool=pools[ranks.rank])

    found, sent = on_ranks(SIZE, call)
    good(found)
    assert [each for rank, each in enumerate(found) if rank != root] == [None] * (SIZE - 1)
    return found[root], sent


def integers(shape):
    return np.random.default_rng(0).integers(-9, 10, shape).astype(float)


def test_every_plan_of_a_pool_has_a_function():
    """But plans for workers that share the memory of the matrix."""
    for kind in plans._KINDS.keys() - {hs.ReductionPlan}:
        assert any(issubclass(kind, known) and "hs.mpi." in use for known, use in kinds._USE), kind


def test_zones_by_times_of_every_size(pools):
    rng = np.random.default_rng(1)
    tables = [np.outer(np.arange(13), np.arange(11)) * rng.uniform(1, 3) for _ in range(SIZE)]
    plan = hs.partition_profile((12, 10), tables)
    A, B = integers((36, 20)), integers((20, 30))
    C, sent = product(pools, plan, A, B)
    np.testing.assert_array_equal(C, A @ B)
    assert sent.sum() > 0


def test_tasks_that_were_dealt_on_demand(pools):
    plan = hs.dynamic_product(6, [1.0, 2.0, 3.0])
    A, B = integers((24, 18)), integers((18, 30))
    C, _ = product(pools, plan, A, B)
    np.testing.assert_array_equal(C, A @ B)
    # a rank would sum layers of many places of C
    plan = hs.dynamic_product(3, [1.0, 2.0, 3.0], kind="matrix")
    with pytest.raises(ValueError, match="at several places of C, which layers cannot have"):
        product(pools, plan, A, B)


def calls(comm, plan):
    """Each function with a plan that may be of another kind; arguments are right otherwise."""
    A = np.ones((12, 12))
    return {
        "matmul": lambda: hs.mpi.matmul(comm, A, A, plan),
        "lu_factor": lambda: hs.mpi.lu_factor(comm, A, plan),
        "solve": lambda: hs.mpi.solve(comm, A, A, plan),
        "cholesky": lambda: hs.mpi.cholesky(comm, A, plan),
        "stencil": lambda: hs.mpi.stencil(comm, A, 3, plan=plan),
        "sweep": lambda: hs.mpi.sweep(comm, plan, A, hs.Stencil(np.ones((3, 3)) - np.eye(3)[::-1])),
        "map_tasks": lambda: hs.mpi.map_tasks(comm, abs, range(3), plan=plan),
        "scatter": lambda: hs.mpi.scatter(comm, A, plan),
    }


@pytest.mark.parametrize(
    ("plan", "use", "by"),
    [
        (
            hs.lu_pattern(3, [1.0]),
            "hs.mpi.lu_factor",
            {"lu_factor", "solve", "cholesky", "scatter"},
        ),
        (
            hs.lu_grid(3, [1.0]),
            "hs.mpi.lu_factor, solve or cholesky",
            {"lu_factor", "solve", "cholesky", "scatter"},
        ),
        (
            hs.max_tasks(3, [1.0]),
            "hs.mpi.map_tasks",
            {"map_tasks"},
        ),
        (hs.slice_ring([1.0], 0.0, 1.0, 0.0), "hs.mpi.stencil", {"stencil"}),
        (hs.distribute(12, [1.0]), "hs.mpi.scatter", {"scatter"}),
        (hs.partition([1.0], "columns", (12, 12)), "hs.mpi.matmul", {"matmul", "scatter"}),
        (hs.wavefront(3, 3, [1.0]), "hs.mpi.sweep", {"sweep", "scatter"}),
        (
            hs.plan_star_lu(3, hs.Platform.star([1.0], memory=[12])),
            "hs.mpi.lu_factor",
            {"lu_factor"},
        ),
    ],
)
def test_the_error_says_what_to_use(plan, use, by):
    names = calls(None, None)
    for name in names.keys() - by:
        (error,) = on_ranks(1, lambda ranks, name=name: calls(ranks, plan)[name]())[0]
        assert isinstance(error, TypeError), (name, error)
        assert f"got {type(plan).__name__}: use {use}" in str(error), name


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "call",
    [
        lambda comm, A, **rest: hs.mpi.matmul(comm, A, A, **rest),
        lambda comm, A, **rest: hs.mpi.stencil(comm, A, 3, **rest),
        lambda comm, A, **rest: hs.mpi.lu_factor(comm, A, **rest),
        lambda comm, A, **rest: hs.mpi.cholesky(comm, A, **rest),
        lambda comm, A, **rest: hs.mpi.solve(comm, A, A, **rest),
        lambda comm, A, **rest: hs.mpi.lu_factor(
            comm, A, None if A is None else hs.plan_star_lu(3, STAR), **rest
        ),
        lambda comm, A, **rest: hs.mpi.map_tasks(comm, abs, A, **rest),
        lambda comm, A, **rest: hs.mpi.sweep(
            comm, hs.wavefront(2, 2, [1.0, 1.0, 1.0]), A, hs.Stencil(np.eye(3)), **rest
        ),
    ],
)
def test_a_wrong_progress_is_refused_on_every_rank(call):
    def at_root(ranks):
        root = ranks.rank == 1
        return call(ranks, np.eye(12) if root else None, root=1, progress=5 if root else None)

    for each in on_ranks(SIZE, at_root)[0]:
        assert isinstance(each, TypeError), each
        assert "progress must be a function of the fraction done" in str(each)
