"""LU and systems on ranks: threads with queues between them, and real ones; against SciPy, and byte
by byte."""

import warnings
from pathlib import Path

import mpi_run
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import many
from mpi_fake import on_ranks
from mpi_matrices import DTYPES, eps, multiplied_back, random_matrix
from oracles.mpi import cholesky_bytes, lu_bytes, solve_bytes

import hetsched as hs
from hetsched.mpi import panels
from hetsched.mpi.columns import Columns
from hetsched.mpi.factor import default_block, run_cholesky, run_lu, run_solve
from hetsched.mpi.work import lu_held, solve_held
from hetsched.platform import Unit

MOST = 4
POOLS = [hs.Pool(1) for _ in range(MOST)]
PROGRAM = Path(__file__).with_name("mpi_cases_lu.py")


def stored(a, how):
    """The same matrix by rows, by columns, or with gaps."""
    if how == "strided":
        wide = np.full((2 * a.shape[0], 3 * a.shape[1]), np.nan, a.dtype)
        wide[::2, ::3] = a
        return wide[::2, ::3]
    return np.array(a, order=how)


def at(rank, root, value):
    return value if rank == root else None


def lu_on_ranks(a, size, root=0, **options):
    return on_ranks(
        size,
        lambda ranks: run_lu(
            ranks, at(ranks.rank, root, a), POOLS[ranks.rank], root=root, **options
        ),
    )


def solve_on_ranks(a, b, size, root=0, **options):
    def call(ranks):
        mine = (at(ranks.rank, root, x) for x in (a, b))
        return run_solve(ranks, *mine, POOLS[ranks.rank], root=root, **options)

    return on_ranks(size, call)


def good(found, root):
    """What the root has got; the others have nothing."""
    for rank, result in enumerate(found):
        if isinstance(result, BaseException):
            raise result
        assert rank == root or result is None
    return found[root]


@st.composite
def deals(draw, least=1):
    """n, block, owners of the block columns, ranks, root."""
    block = draw(st.integers(1, 40))
    n = draw(
        st.sampled_from([1, 2, block - 1, block, block + 1, 3 * block, 75]).filter(
            lambda n: n >= least
        )
    )
    size = draw(st.integers(1, MOST))
    owner = draw(
        st.lists(st.integers(0, size - 1), min_size=-(-n // block), max_size=-(-n // block))
    )
    return n, block, np.array(owner, np.int32), size, draw(st.integers(0, size - 1))


@given(
    deals(),
    st.sampled_from(DTYPES),
    st.sampled_from(["C", "F", "strided"]),
    st.integers(0, 2**32 - 1),
)
def test_factors_are_those_of_scipy(deal, dtype, how, seed):
    n, block, owner, size, root = deal
    a = random_matrix(np.random.default_rng(seed), (n, n), dtype)
    given_matrix = stored(a, how)
    plan = hs.lu_pattern(len(owner), np.ones(size), owner=owner)
    found, sent = lu_on_ranks(given_matrix, size, root, plan=plan, block=block)
    lu, piv = good(found, root)
    assert np.array_equal(given_matrix, a)
    assert lu.dtype == a.dtype
    assert lu.flags.f_contiguous
    assert piv.dtype == np.int32
    assert np.abs(multiplied_back(lu, piv) - a).max() < 8 * n * eps(dtype) * np.abs(a).max()
    assert (np.abs(np.tril(lu, -1)) < 1.5).all()  # of complex elements |re| + |im| is compared
    if dtype in ("float64", "complex128"):
        theirs, pivots = scipy.linalg.lu_factor(a)
        assert piv.tolist() == pivots.tolist()
        np.testing.assert_allclose(lu, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())
    assert sent.tolist() == sum(lu_bytes((n, block, owner, size), a.itemsize, root)).tolist()


@given(
    deals(),
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES),
    st.sampled_from([None, 0, 1, 2, 9]),
    st.integers(0, 2**32 - 1),
)
def test_systems(deal, dtype, kind, cols, seed):
    n, block, owner, size, root = deal
    rng = np.random.default_rng(seed)
    a = random_matrix(rng, (n, n), dtype) + 2 * n * np.eye(n, dtype=dtype)
    b = random_matrix(rng, (n,) if cols is None else (n, cols), kind)
    before = b.copy()
    plan = hs.lu_pattern(len(owner), np.ones(size), owner=owner)
    found, sent = solve_on_ranks(a, b, size, root, plan=plan, block=block)
    x = good(found, root)
    assert np.array_equal(b, before)
    assert x.shape == b.shape
    assert x.dtype == np.result_type(a, b)
    wide = a.astype(np.complex128) @ x.astype(np.complex128) - b
    assert np.abs(wide).max(initial=0.0) < 50 * eps(np.result_type(dtype, kind)) * max(
        1.0, np.abs(b).max(initial=0.0)
    )
    inner = np.result_type(a.dtype, b.real.dtype)
    sides = (1 if cols is None else cols) * (
        2 if np.dtype(kind).kind == "c" and inner.kind == "f" else 1
    )
    parts = lu_bytes(deal[:4], inner.itemsize, root)
    solved = solve_bytes(deal[:4], sides, inner.itemsize, root)
    assert sent.tolist() == (parts.scatter + parts.panels + parts.pivots + solved).tolist()


@given(deals())
def test_ways_of_panels(deal):
    n, block, owner, size, _ = deal
    columns = Columns(n, block, owner, size)
    for k, way in enumerate(columns.routes):
        right = owner[k + 1 :].tolist()
        assert set(way) == set(right) - {owner[k]}
        assert len(way) == len(set(way))
        assert [right.index(rank) for rank in way] == sorted(right.index(rank) for rank in way)
    for backward in (False, True):
        for k, chain in enumerate(columns.chains(backward=backward)):
            past = owner[k + 1 :].tolist() if backward else owner[:k][::-1].tolist()
            assert set(chain) == set(past) - {owner[k]}
            assert [past.index(rank) for rank in chain] == sorted(
                (past.index(rank) for rank in chain), reverse=True
            )


@settings(max_examples=many(30, 15))
@given(deals(), st.sampled_from(DTYPES))
def test_what_ranks_hold_already(deal, dtype):
    n, block, owner, size, root = deal
    rng = np.random.default_rng(n)
    a = random_matrix(rng, (n, n), dtype) + 2 * n * np.eye(n, dtype=dtype)
    b = random_matrix(rng, (n, 3), dtype)
    columns = Columns(n, block, owner, size)
    kept = [[j for j in range(n) if owner[j // block] == rank] for rank in range(size)]
    x, lu = b.copy(), np.empty_like(a)

    def call(ranks):
        local = a[:, kept[ranks.rank]].copy()
        pivots = lu_held(ranks, columns, local, POOLS[ranks.rank])
        lu[:, kept[ranks.rank]] = local
        solve_held(
            ranks, columns, local, pivots, at(ranks.rank, root, x), 3, POOLS[ranks.rank], root
        )
        return pivots.tolist()

    found, _ = on_ranks(size, call)
    assert all(pivots == found[0] for pivots in found)
    *piv, zero = found[0]
    assert zero == -1
    assert np.abs(multiplied_back(lu, piv) - a).max() < 8 * n * eps(dtype) * np.abs(a).max()
    assert np.abs(a @ x - b).max() < 100 * eps(dtype) * np.abs(b).max()


def test_bytes_of_a_small_case():
    """Two ranks in turn, four columns one by one, by hand."""
    sent = lu_bytes((4, 1, np.array([0, 1, 0, 1]), 2), 8, 0)
    assert sent.scatter.tolist() == [64, 0]
    assert sent.gather.tolist() == [0, 64]
    assert sent.panels.tolist() == [4 * 8 + 4 + 2 * 8 + 4, 3 * 8 + 4]
    assert sent.pivots.tolist() == [0, 20]


def test_panels_in_pieces(monkeypatch):
    monkeypatch.setattr("hetsched.mpi.panels.SEGMENT", 1000)
    n, size = 130, 4
    a = random_matrix(np.random.default_rng(5), (n, n), "float64")
    owner = np.array([3, 0, 1, 2, 2, 1, 0, 3, 1], np.int32)
    found, sent = lu_on_ranks(a, size, plan=hs.lu_pattern(9, np.ones(size), owner=owner), block=16)
    lu, piv = good(found, 0)
    assert np.abs(multiplied_back(lu, piv) - a).max() < 1e-12
    assert sent.tolist() == sum(lu_bytes((n, 16, owner, size), 8, 0)).tolist()


# ---- relations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [45, 97])
def test_who_does_it_does_not_matter(n):
    a = random_matrix(np.random.default_rng(n), (n, n), "float64")
    lu, piv = good(lu_on_ranks(a, 1, block=16)[0], 0)
    for times, root in (
        ([1.0, 3.0, 2.0], 0),
        ([2.0, 1.0, 3.0], 2),
        ([3.0, 2.0, 1.0, np.inf], 1),
        ([np.inf, 1.0, 2.0], 0),
    ):
        found, sent = lu_on_ranks(a, len(times), root, block=16, cycle_times=times)
        theirs, pivots = good(found, root)
        assert pivots.tolist() == piv.tolist()
        np.testing.assert_allclose(theirs, lu, rtol=0, atol=1e-11)
        for rank, time in enumerate(times):
            if np.isinf(time) and rank != root:
                assert sent[rank] == 0


def test_memory_for_panels(monkeypatch):
    made = []
    aligned = panels._aligned
    monkeypatch.setattr(panels, "_aligned", lambda size: made.append(size) or aligned(size))
    for times in ([1.0, 1.0, 1.0], [1.0, np.inf, 9.0]):
        made.clear()
        good(lu_on_ranks(np.eye(400), 3, block=8, cycle_times=times)[0], 0)
        enrolled = np.isfinite(times).sum()
        assert enrolled <= len(made) <= 4 * enrolled
        assert set(made) == {400 * 8 * 8 + 4 * 8}


def test_no_elements():
    lu, piv = good(lu_on_ranks(np.empty((0, 0), np.float32), 2)[0], 0)
    assert (lu.shape, lu.dtype, piv.shape, piv.dtype) == ((0, 0), np.float32, (0,), np.int32)
    x = good(solve_on_ranks(np.empty((0, 0)), np.empty((0, 3)), 2)[0], 0)
    assert x.shape == (0, 3)
    _, trace = lu_on_ranks(np.empty((0, 0)), 2, trace=True)[0][0]
    assert trace.makespan == 0.0


def test_integers_become_doubles():
    lu, piv = good(lu_on_ranks([[1, 2], [4, 6]], 2, block=1)[0], 0)
    assert lu.tolist() == [[4.0, 6.0], [0.25, 0.5]]
    assert piv.tolist() == [1, 1]


def test_default_block():
    assert default_block(1, 1) == default_block(400, 4) == 32
    assert default_block(10**6, 2) == 192
    assert all(default_block(n, 3) % 32 == 0 for n in range(1, 20_000, 371))


# ---- singular matrices and what is not finite ----------------------------------------------------


@pytest.mark.parametrize("kind", ["zeros", "zero column", "ones", "zero row"])
def test_singular(kind):
    n = 37
    a = np.zeros((n, n)) if kind == "zeros" else np.ones((n, n))
    if kind.startswith("zero "):
        a = np.random.default_rng(1).standard_normal((n, n))
        a[(slice(None), 20) if kind == "zero column" else (20, slice(None))] = 0.0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with hs.Pool(1) as pool:
            lu, piv = pool.lu_factor(a, block=8)
        own = [str(warning.message) for warning in said]
        said.clear()
        theirs, pivots = good(lu_on_ranks(a, 3, 1, block=8, cycle_times=[1, 2, 3])[0], 1)
        assert [str(warning.message) for warning in said] == own
        assert issubclass(said[0].category, scipy.linalg.LinAlgWarning)
    assert pivots.tolist() == piv.tolist()
    np.testing.assert_allclose(theirs, lu, atol=1e-12)
    assert np.flatnonzero(theirs.diagonal() == 0)[0] == np.flatnonzero(lu.diagonal() == 0)[0]
    found, _ = solve_on_ranks(a, np.ones(n), 3, 1, block=8)
    for error in found:
        assert isinstance(error, np.linalg.LinAlgError)
        assert (
            f"element {np.flatnonzero(lu.diagonal() == 0)[0]} of the diagonal of U is zero"
            in str(error)
        )


def test_nan():
    a = np.eye(40)
    a[30, 3] = np.nan
    found, sent = lu_on_ranks(a, 3)
    for error in found:
        assert isinstance(error, ValueError)
        assert "infs or NaNs" in str(error)
    assert not sent.any()
    lu, piv = good(lu_on_ranks(a, 3, block=8, check_finite=False)[0], 0)
    with hs.Pool(1) as pool:
        own, pivots = pool.lu_factor(a, check_finite=False, block=8)
    assert np.array_equal(np.isnan(lu), np.isnan(own))
    assert piv.tolist() == pivots.tolist()


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (ValueError, {"a": np.ones((3, 4))}, "A must be square, got shape (3, 4)"),
        (ValueError, {"a": None}, "A must be given at the root, rank 1"),
        (TypeError, {"a": np.ones((2, 2), object)}, "A has dtype object"),
        (
            ValueError,
            {"plan": hs.lu_pattern(3, [1, 1])},
            "plan is for 2 ranks, the communicator has 3",
        ),
        (
            ValueError,
            {"plan": hs.lu_pattern(7, [1, 1, 1])},
            "plan has 7 block columns, 12 columns make 6 blocks of 2",
        ),
        (
            ValueError,
            {"plan": hs.lu_pattern(4, [1, 1, 1]), "block": 2},
            "plan has 4 block columns, 12 columns make 6 blocks of 2",
        ),
        (
            TypeError,
            {"plan": hs.distribute(12, [1, 1, 1])},
            "plan must be a plan of lu_pattern, plan_factor or lu_grid, got Distribution",
        ),
        (
            ValueError,
            {"plan": hs.plan_factor(12, 12, [1, 1, 1], kind="qr")},
            'plan must be of kind "lu"',
        ),
        (
            ValueError,
            {"plan": hs.plan_factor(13, 13, [1, 1, 1])},
            "plan is for (13, 13) float64, A is (12, 12) float64",
        ),
        (
            ValueError,
            {"plan": hs.plan_factor(12, 12, [1, 1, 1], block=3), "block": 4},
            "block must be the plan's, 3, or",
        ),
        (
            ValueError,
            {"plan": hs.lu_pattern(4, [1, 1, 1]), "cycle_times": [1, 1, 1]},
            "platform must be left out",
        ),
        (
            ValueError,
            {"cycle_times": [1, 1]},
            "platform must have one worker for each of 3 ranks, got 2",
        ),
        (ValueError, {"block": 0}, "block must be"),
        (TypeError, {"trace": [1, 2]}, "trace must be"),
        (TypeError, {"check_finite": np.ones(2)}, "check_finite must be"),
    ],
)
def test_refusals_are_those_of_all_ranks(kind, options, said):
    found, sent = lu_on_ranks(**{"a": np.eye(12), "size": 3, "root": 1} | options)
    for rank, error in enumerate(found):
        assert isinstance(error, kind), error
        assert str(error).startswith("" if rank == 1 else "rank 1: ")
        assert said in str(error)
    assert not sent.any()


def test_other_refusals():
    for shape in ((11,), (12, 2, 2), ()):
        for error in solve_on_ranks(np.eye(12), np.ones(shape), 2)[0]:
            assert isinstance(error, ValueError)
            assert "b must have shape" in str(error)
    for error in on_ranks(2, lambda ranks: run_lu(ranks, np.eye(4), POOLS[0], root=ranks.rank))[0]:
        assert isinstance(error, ValueError)
        assert "root must be the same on all ranks, got [0, 1]" in str(error)
    for error in on_ranks(2, lambda ranks: run_lu(ranks, np.eye(4), POOLS[0], root=2 * ranks.rank))[
        0
    ]:
        assert isinstance(error, ValueError)
        assert "root must be" in str(error)
    for error in on_ranks(
        2, lambda ranks: run_lu(ranks, np.eye(4), POOLS[0] if ranks.rank else None)
    )[0]:
        assert isinstance(error, TypeError)
        assert "pool must be a Pool of real cores" in str(error)


@pytest.mark.parametrize("culprit", [0, 2])
def test_an_error_on_one_rank_ends_all(culprit):
    closed = hs.Pool(1)
    closed.close()

    def call(ranks):
        pool = closed if ranks.rank == culprit else POOLS[ranks.rank]
        return run_lu(ranks, at(ranks.rank, 0, np.eye(90)), pool, block=8)

    for error in on_ranks(3, call)[0]:
        assert isinstance(error, ValueError)
        assert "the pool is closed" in str(error)


# ---- Cholesky ------------------------------------------------------------------------------------


def cholesky_on_ranks(a, size, root=0, **options):
    return on_ranks(
        size,
        lambda ranks: run_cholesky(
            ranks, at(ranks.rank, root, a), POOLS[ranks.rank], root=root, **options
        ),
    )


@given(
    deals(),
    st.sampled_from(DTYPES),
    st.sampled_from(["C", "F", "strided"]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_cholesky(deal, dtype, how, lower, seed):
    n, block, owner, size, root = deal
    x = random_matrix(np.random.default_rng(seed), (n, n), dtype)
    a = (x @ x.conj().T + n * np.eye(n)).astype(dtype)
    half = a.copy()
    half[np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)] = 1e30  # is not read
    plan = hs.lu_pattern(len(owner), np.ones(size), owner=owner)
    found, sent = cholesky_on_ranks(
        stored(half, how), size, root, plan=plan, block=block, lower=lower
    )
    c = good(found, root)
    assert c.dtype == a.dtype
    factor = c if lower else c.conj().T
    assert not np.triu(factor, 1).any()
    assert (factor.diagonal().real > 0).all()
    assert np.abs(factor @ factor.conj().T - a).max() < 8 * n * eps(dtype) * np.abs(a).max()
    assert sent.tolist() == sum(cholesky_bytes((n, block, owner, size), a.itemsize, root)).tolist()


def test_cholesky_of_what_is_not_positive_definite():
    a = np.eye(50)
    a[33, 33] = -1.0
    for rank, error in enumerate(cholesky_on_ranks(a, 3, block=8, cycle_times=[1, 2, 3])[0]):
        assert isinstance(error, np.linalg.LinAlgError), rank
        assert "34-th leading minor of the array is not positive definite" in str(error)
    assert cholesky_on_ranks(np.empty((0, 0)), 2)[0][0].shape == (0, 0)
    plan = hs.plan_factor(50, 50, [1, 2], kind="cholesky", block=16)
    c, trace = cholesky_on_ranks(np.eye(50) * 4, 2, plan=plan, trace=True)[0][0]
    assert np.array_equal(c, 2 * np.eye(50))
    assert trace.predicted == plan.makespan


# ---- traces and progress -------------------------------------------------------------------------


def test_trace():
    n, block = 90, 20
    a = random_matrix(np.random.default_rng(0), (n, n), "float64")
    platform = hs.Platform.star([3.0, 5.0, 8.0], unit=Unit.gigaflop(), names=["a", "b", "c"])
    plan = hs.lu_pattern(5, platform)
    found, _ = lu_on_ranks(a, 3, 2, plan=plan, block=block, trace=True)
    assert found[0] == found[1] == (None, None)
    (lu, piv), trace = found[2]
    assert np.abs(multiplied_back(lu, piv) - a).max() < 1e-12
    assert trace.kind == "real"
    assert trace.workers == ("a", "b", "c")
    assert trace.predicted == hs.plan_factor(n, n, platform, owner=plan.owner, block=block).makespan
    computed = [event for event in trace.events if event.kind == "compute"]
    for k, owner in enumerate(plan.owner.tolist()):
        assert [event.worker for event in computed if event.what == f"panel {k}"] == [owner]
        for rank in range(3):
            updates = [
                e.what for e in computed if e.worker == rank and e.what.endswith(f"after panel {k}")
            ]
            assert sum(int(what.split()[0]) for what in updates) == np.count_nonzero(
                plan.owner[k + 1 :] == rank
            )
            came = [
                e.what
                for e in trace.events
                if e.kind == "transfer" and e.worker == rank and e.what.startswith(f"panel {k} ")
            ]
            assert len(came) == (rank != owner and rank in plan.owner[k + 1 :])
    made = {event.what: event.end for event in computed}
    came = [event for event in trace.events if event.kind == "transfer"]
    assert all(e.start >= min(made[e.what.partition(" from")[0]], e.end) for e in came)
    bare = hs.lu_pattern(5, [3, 5, 8])
    assert lu_on_ranks(a, 3, plan=bare, block=block, trace=True)[0][0][1].predicted is None
    whole = hs.plan_lu(n, n, platform, block=block)
    assert lu_on_ranks(a, 3, plan=whole, trace=True)[0][0][1].predicted == whole.makespan
    x, trace = solve_on_ranks(a, a, 3, block=block, trace=True)[0][0]
    np.testing.assert_allclose(x, np.eye(n), atol=1e-9)
    assert {f"solution of block {k}" for k in range(5)} <= {event.what for event in trace.events}


def test_progress():
    told = []
    good(
        lu_on_ranks(np.eye(64), 3, 1, block=8, cycle_times=[1, np.inf, 1], progress=told.append)[0],
        1,
    )
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert 0.0 in told
    assert len(told) == 8 + 1


# ---- real ranks ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real():
    return mpi_run.results(3, PROGRAM)


@pytest.mark.slow
@pytest.mark.parametrize("case", mpi_run.cases_of(PROGRAM))
def test_real_ranks(real, case):
    assert real[case] == ""
