"""LU by a plan of plan_star_lu on ranks that are threads, and on those of a real MPI program:
against SciPy, and bytes counted from the plan."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path

import mpi_run
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from mpi_fake import good, on_ranks

import hetsched as hs

pytestmark = pytest.mark.usefixtures("fake_ranks")
PROGRAM = Path(__file__).with_name("mpi_cases_star_lu.py")
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
MOST = 4


def run(pools, plan, A, *, root=0, size=None, call=None, **options):
    """What lu_factor returns or raises on each rank, and the bytes that each has sent."""
    function = hs.mpi.lu_factor if call is None else call

    def on_rank(ranks):
        mine = ranks.rank == root
        given = (A, plan) if mine else (None, None)
        return function(ranks, *given, root, pool=pools[ranks.rank], **options)

    return on_ranks(len(plan.names) + 1 if size is None else size, on_rank)


def matrix(n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return (A + 1j * rng.standard_normal((n, n)) if np.dtype(dtype).kind == "c" else A).astype(
        dtype
    )


def right(A, lu, piv):
    """The factors are SciPy's, within what rounding may change."""
    wanted, pivots = scipy.linalg.lu_factor(A)
    assert lu.dtype == A.dtype
    assert piv.tolist() == pivots.tolist()
    eps = np.finfo(A.dtype).eps
    assert abs(lu - wanted).max() <= 1000 * eps * max(1.0, abs(wanted).max()) * len(A)


def bytes_of(plan, n, q, itemsize):
    """(p, 2) to and from each worker, by the operands that each message of each product has."""
    found = np.zeros((len(plan.names), 2), np.int64)
    ends = np.minimum(np.arange(1, plan.blocks + 1) * q, n)
    widths = np.diff([0, *ends])
    panels = iter(plan.panels)
    products = list(plan.products)
    while products:
        panel = next(panels)
        after = panel.first + panel.width
        product = products[0]
        if product.shape != (plan.blocks - after, plan.blocks - after - panel.own, panel.width):
            continue  # the master does all of this step
        products.pop(0)
        rows, cols = widths[after:], widths[after + panel.own :]
        inner = widths[panel.first : after]
        for worker, kind, number, first in product.messages[
            ["worker", "kind", "chunk", "depth"]
        ].tolist():
            _, held, _, row, col, height, width, depth, _ = product.chunks[number].tolist()
            y, x = slice(row, row + height), slice(col, col + width)
            assert held == 0, "the methods of these tests hold C"
            if kind == 1:  # a panel: columns of A and rows of B
                z = inner[first : first + depth].sum()
                elements = (rows[y].sum() + cols[x].sum()) * z
            else:
                elements = rows[y].sum() * cols[x].sum()
            found[worker, int(kind == 2)] += int(elements) * itemsize
    return found


def platform(p):
    times = [2e-4, 3e-4, 7e-4][:p]
    return hs.Platform.star(times, link_costs=[2e-5, 4e-5, 3e-5][:p], memory=[21, 45, 12][:p])


@given(
    blocks=st.integers(1, 7),
    q=st.integers(1, 6),
    p=st.integers(1, 3),
    method=st.sampled_from(["oddoml", "overlap", "orroml", "hom"]),
    dtype=st.sampled_from(DTYPES),
    data=st.data(),
)
def test_factors_and_bytes(pools, blocks, q, p, method, dtype, data):
    root = data.draw(st.integers(0, p))
    width = data.draw(st.integers(1, blocks))
    master_time = data.draw(st.sampled_from([None, 1e-5, 1e-2]))
    short = data.draw(st.integers(0, q - 1)) if blocks > 1 else 0
    n = blocks * q - short
    if -(-n // blocks) != q:
        n = blocks * q
    plan = hs.plan_star_lu(blocks, platform(p), method, width=width, master_time=master_time)
    A = matrix(n, dtype, blocks)
    before = A.copy()
    found, sent = run(pools, plan, A, root=root)
    lu, piv = good(found)[root]
    right(A, lu, piv)
    assert (before == A).all()
    others = [rank for rank in range(p + 1) if rank != root]
    assert [found[rank] for rank in others] == [None] * p
    wanted = bytes_of(plan, n, q, A.itemsize)
    assert sent[root] == wanted[:, 0].sum()
    assert sent[others].tolist() == wanted[:, 1].tolist()


def test_the_factors_of_a_pool(pools):
    plan = hs.plan_star_lu(7, platform(2), "oddoml", width=1)
    A = matrix(7 * 13)
    lu, piv = good(run(pools, plan, A)[0])[0]
    with hs.Pool(2) as pool:
        local, pivots = pool.lu_factor(A, owner=plan)
    np.testing.assert_array_equal(piv, pivots)
    np.testing.assert_allclose(lu, local, rtol=1e-10, atol=1e-10)


def test_a_trace(pools):
    plan = hs.plan_star_lu(6, platform(2), "oddoml", width=1, master_time=3e-4)
    found, _ = run(pools, plan, matrix(36), root=1, trace=True)
    (lu, piv), trace = good(found)[1]
    right(matrix(36), lu, piv)
    assert [found[0], found[2]] == [(None, None)] * 2
    wanted = [event for event in hs.simulate(plan).events if event.kind != "wait"]
    events = [event for event in trace.events if event.kind != "wait"]
    master = len(plan.names)
    assert [e.what for e in events if e.worker == master] == [
        *(e.what for e in wanted if e.worker == master),
        f"step {len(plan.panels) - 1}: rows",
    ]
    for i in range(master):
        own = sorted(e.what for e in events if e.worker == i)
        assert own == sorted(e.what for e in wanted if e.worker == i)
    port = [e for e in events if e.worker < master and e.kind == "transfer"]
    port.sort(key=lambda event: event.start)
    assert all(b.start >= a.end - 1e-9 for a, b in itertools.pairwise(port))
    assert all(peak <= limit for peak, limit in zip(trace.peak, plan.memory, strict=False))
    assert (trace.kind, trace.predicted) == ("real", None)


def test_nobody_but_the_master(pools):
    """No products: the workers have nothing to do."""
    small = hs.Platform.star([2.0, 3.0], link_costs=[1.0, 1.0], memory=[2, 1])
    plan = hs.plan_star_lu(6, small, "oddoml", width=2, master_time=0.5)
    assert plan.products == ()
    A = matrix(18)
    found, sent = run(pools, plan, A)
    right(A, *good(found)[0])
    assert not sent.any()


def test_singular_and_progress(pools):
    plan = hs.plan_star_lu(5, platform(2), "oddoml", width=1)
    A = matrix(20)
    A[:, 7] = 0.0
    told = []
    with pytest.warns(scipy.linalg.LinAlgWarning, match="Diagonal number 8 is exactly zero"):
        found, _ = run(pools, plan, A, progress=told.append)
    lu, piv = good(found)[0]
    with warnings.catch_warnings(action="ignore"):
        wanted, pivots = scipy.linalg.lu_factor(A)
    np.testing.assert_array_equal(piv, pivots)
    np.testing.assert_allclose(lu, wanted, atol=1e-10)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_refused_on_every_rank(pools):
    plan = hs.plan_star_lu(5, platform(2), "oddoml")
    A = matrix(20)
    nan = A.copy()
    nan[3, 4] = np.nan
    cases = [
        ({"A": None}, ValueError, "A must be given at the root"),
        ({"A": A[:3]}, ValueError, "A must be square"),
        ({"A": nan}, ValueError, "infs or NaNs"),
        ({"A": matrix(4)}, ValueError, "which no size of blocks makes the plan's n = 5 blocks"),
        ({"A": matrix(6)}, ValueError, "which no size of blocks"),
        ({"block": 4}, ValueError, "block must be left out with a plan of plan_star_lu"),
        ({"platform": platform(2)}, ValueError, "platform must be left out"),
        ({"size": 2}, ValueError, "plan is for 2 workers, there are 1 ranks beside the root"),
    ]
    for changes, kind, words in cases:
        options = {"A": A} | changes
        found, sent = run(pools, plan, options.pop("A"), **options)
        for error in found:
            assert isinstance(error, kind), (changes, error)
            assert words in str(error)
        assert not sent.any()
    found, _ = run(pools, plan, nan, check_finite=False)
    good(found)
    for error in run(pools, plan, A, call=hs.mpi.cholesky)[0]:
        assert isinstance(error, TypeError)
        assert "got StarLuPlan: use hs.mpi.lu_factor" in str(error)


@pytest.fixture(scope="module")
def results():
    return mpi_run.results(3, PROGRAM)


@pytest.mark.slow
@pytest.mark.parametrize("case", mpi_run.cases_of(PROGRAM))
def test_real_ranks(results, case):
    assert results[case] == ""
