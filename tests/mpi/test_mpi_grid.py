"""LU on ranks with square blocks by any map: threads with queues between them; against SciPy, and
byte by byte."""

import warnings

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from mpi_fake import good, on_ranks
from mpi_matrices import DTYPES, eps, multiplied_back, random_matrix
from oracles.mpi import grid_bytes, grid_cholesky_bytes, grid_solve_bytes

import hetsched as hs
from hetsched.mpi.factor import run_cholesky, run_lu, run_solve
from hetsched.mpi.grid import Blocks, Grid, GridMoves
from hetsched.mpi.grid_lu import GridLu
from hetsched.mpi.mail import Kind, Mail
from hetsched.mpi.record import Record
from hetsched.mpi.tournament import exchanges
from hetsched.mpi.work import grid_lu_held, grid_solve_held

MOST = 5
POOLS = [hs.Pool(1) for _ in range(MOST)]


@st.composite
def grids(draw, least=1):
    """A grid by a planned map or a random one, and a root."""
    block = draw(st.integers(1, 20))
    n = draw(
        st.sampled_from([1, 2, block - 1, block, block + 1, 3 * block, 3 * block + 5, 70]).filter(
            lambda n: n >= least
        )
    )
    size, count = draw(st.integers(1, MOST)), -(-n // block)
    how = draw(st.sampled_from(["cyclic", "1d1d", "nested", "columns", "rows", "any"]))
    if how in ("rows", "any"):
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        owner = rng.integers(0, size, (count, count if how == "any" else 1))
        owner = np.broadcast_to(owner, (count, count))
    else:
        times = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
        owner = hs.lu_grid(count, np.array(times, float), how).owner
    owner = np.ascontiguousarray(owner, np.int32)
    return Grid(n, block, owner, size), draw(st.integers(0, size - 1))


# ---- storage -------------------------------------------------------------------------------------


@given(grids(), st.sampled_from(DTYPES))
def test_there_and_back(deal, dtype):
    grid, root = deal
    a = random_matrix(np.random.default_rng(0), (grid.n, grid.n), dtype)
    out = np.empty_like(a)

    def call(ranks):
        blocks = Blocks(grid, ranks.rank, a.dtype)

        async def main(loop):
            moves = GridMoves(loop, blocks, root, Record(False))
            await moves.scatter(a if loop.rank == root else None)
            for j in range(grid.count):
                for i in range(grid.count):
                    assert (i in blocks.rows(j)) == (grid.owner[i, j] == loop.rank)
                expected = a[grid.lines(blocks.rows(j)), grid.slice(j)]
                assert np.array_equal(blocks.column(j), expected)
            await moves.gather(out if loop.rank == root else None)

        ranks.run(main)
        return sum(group.matrix.size for group in blocks.groups)

    found, sent = on_ranks(grid.size, call)
    assert sum(good(found)) == grid.n**2
    assert np.array_equal(out, a)
    moved = a.nbytes - found[root] * a.itemsize
    assert sent.sum() == 2 * moved
    assert sent[root] == moved


def test_one_group_for_each_rank_of_regular_maps():
    for method in ("cyclic", "1d1d"):
        owner = hs.lu_grid(24, [1.0, 2.0, 3.0, 5.0, 8.0, 9.0], method).owner
        grid = Grid(24, 1, owner, 6)
        for rank in range(6):
            assert len(Blocks(grid, rank, np.dtype(float)).groups) == 1


# ---- factors -------------------------------------------------------------------------------------


def factored(grid, a, root=0, listeners=()):
    """The factors and pivots (n + 1,), and by kind the bytes that each rank has sent."""
    lu, mails = np.empty_like(a), [None] * grid.size

    def call(ranks):
        blocks = Blocks(grid, ranks.rank, a.dtype)
        for j in blocks.place:
            blocks.write(j, a)

        async def main(loop):
            record = Record(False)
            mails[loop.rank] = mail = Mail(loop, record)
            run = GridLu(mail, blocks, POOLS[loop.rank], listeners, record)
            await run.run()
            assert sum(mail.bytes.values()) == record.sent
            await GridMoves(loop, blocks, root, Record(False)).gather(
                lu if loop.rank == root else None
            )
            return run.pivots

        return ranks.run(main)

    found = good(on_ranks(grid.size, call)[0])
    known = [found[rank] for rank in {*grid.enrolled, *listeners}]
    for pivots in known[1:]:
        assert np.array_equal(pivots, known[0])
    return lu, known[0], [mail.bytes for mail in mails]


@given(grids(), st.sampled_from(DTYPES), st.integers(0, 2**32 - 1))
def test_factors(deal, dtype, seed):
    grid, root = deal
    a = random_matrix(np.random.default_rng(seed), (grid.n, grid.n), dtype)
    lu, piv, _ = factored(grid, a, root)
    assert piv[-1] == -1
    assert np.abs(multiplied_back(lu, piv[:-1]) - a).max() < 16 * grid.n * eps(dtype) * max(
        1.0, np.abs(lu).max()
    )
    growth = np.abs(np.tril(lu, -1)).max()
    assert growth <= 2.0 ** (grid.block * np.ceil(np.log2(grid.size))) * 1.5  # complex: |re| + |im|
    alone = all(len(set(grid.owner[k:, k].tolist())) == 1 for k in range(grid.count))
    if alone and dtype in ("float64", "complex128"):
        theirs, pivots = scipy.linalg.lu_factor(a)
        assert piv[:-1].tolist() == pivots.tolist()
        np.testing.assert_allclose(lu, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())


@given(st.data())
def test_exchanges(data):
    count = data.draw(st.integers(1, 12))
    order = data.draw(st.permutations(range(count)))
    chosen = order[: data.draw(st.integers(1, count))]
    rows = list(range(count))
    for i, pivot in enumerate(exchanges(np.array(chosen, np.int64)).tolist()):
        assert pivot >= i
        rows[i], rows[pivot] = rows[pivot], rows[i]
    assert rows[: len(chosen)] == chosen


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_panels_are_factored_as_by_block_columns(dtype):
    """The same pivots, and the same factors up to the rounding of products of another width."""
    n, block, size = 75, 16, 3
    line = np.array([2, 0, 1, 1, 0], np.int32)
    a = random_matrix(np.random.default_rng(2), (n, n), dtype)
    grid = Grid(n, block, np.broadcast_to(line, (5, 5)).copy(), size)
    lu, piv, _ = factored(grid, a)
    plan = hs.lu_pattern(5, np.ones(size), owner=line)

    def call(ranks):
        mine = a if ranks.rank == 0 else None
        return run_lu(ranks, mine, POOLS[ranks.rank], plan, block=block)

    theirs, pivots = good(on_ranks(size, call)[0])[0]
    assert piv[:-1].tolist() == pivots.tolist()
    np.testing.assert_allclose(lu, theirs, rtol=0, atol=n * eps(dtype) * np.abs(theirs).max())


# ---- bytes ---------------------------------------------------------------------------------------


FACTORS = (Kind.DIAGONAL, Kind.LEFT, Kind.UPPER)


@pytest.mark.few(3)
@pytest.mark.parametrize("method", ["cyclic", "1d1d", "nested", "columns", "any"])
@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_factors_that_are_sent_are_the_traffic_of_the_plan(method, size):
    count, block = 9, 4
    times = np.arange(1.0, size + 1)
    owner = np.random.default_rng(size).integers(0, size, (count, count))
    given_map = {"owner": owner} if method == "any" else {"method": method}
    plan = hs.lu_grid(count, times, **given_map)
    a = random_matrix(np.random.default_rng(1), (count * block,) * 2, "float32")
    grid = Grid(len(a), block, plan.owner, size)
    _, _, sent = factored(grid, a)
    block_bytes = block * block * 4
    assert sum(mail[kind] for mail in sent for kind in FACTORS) == plan.traffic.sum() * block_bytes


@given(grids(), st.sampled_from(DTYPES))
def test_all_bytes(deal, dtype):
    grid, _ = deal
    a = random_matrix(np.random.default_rng(5), (grid.n, grid.n), dtype)
    _, piv, sent = factored(grid, a)
    expected = grid_bytes(grid.n, grid.block, grid.owner, grid.size, piv[:-1], a.itemsize)
    for kind, bytes_of_ranks in expected.items():
        assert [mail[Kind[kind]] for mail in sent] == bytes_of_ranks.tolist(), kind


# ---- singular matrices, and what is not finite ---------------------------------------------------


def maps(count, size):
    """A map with several owners of each panel, a random one, and one with an idle rank."""
    rng = np.random.default_rng(count)
    return {
        "cyclic": hs.lu_grid(count, np.ones(size), "cyclic").owner,
        "any": rng.integers(0, size, (count, count)).astype(np.int32),
        "idle": rng.integers(1, size, (count, count)).astype(np.int32),
    }


@pytest.mark.few(3)
@pytest.mark.parametrize("which", ["cyclic", "any", "idle"])
@pytest.mark.parametrize("kind", ["zeros", "zero column", "ones", "zero row", "first column"])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_singular(kind, which, dtype):
    n, block = 37, 8
    a = np.zeros((n, n)) if kind == "zeros" else np.ones((n, n))
    if "row" in kind or "column" in kind:
        a = np.random.default_rng(1).integers(-4, 5, (n, n)).astype(float)
        where = {"zero column": (slice(None), 20), "first column": (slice(None), 0)}
        a[where.get(kind, (20, slice(None)))] = 0.0
    a = a.astype(dtype)
    lu, piv, _ = factored(Grid(n, block, maps(5, 4)[which], 4), a)
    with pytest.warns(scipy.linalg.LinAlgWarning):
        theirs = scipy.linalg.lu_factor(a)[0]
    assert piv[-1] == np.flatnonzero(lu.diagonal() == 0)[0]
    if kind != "zero row":  # there rounding may leave a last pivot that is not quite zero
        assert piv[-1] == np.flatnonzero(theirs.diagonal() == 0)[0]
    assert np.isfinite(lu).all()
    assert np.abs(multiplied_back(lu, piv[:-1]) - a).max() < 16 * n * eps(dtype) * 8


@pytest.mark.few(1)
@pytest.mark.parametrize("which", ["cyclic", "any"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_ends(which, bad):
    n = 40
    for place in ((0, 0), (30, 3), (39, 39), slice(None)):
        a = random_matrix(np.random.default_rng(0), (n, n), "float64")
        a[place] = bad
        with np.errstate(all="ignore"):
            lu, piv, _ = factored(Grid(n, 8, maps(5, 4)[which], 4), a)
        assert not np.isfinite(lu).all()
        assert (piv[:-1] >= np.arange(n)).all()
        assert (piv[:-1] < n).all()


# ---- growth --------------------------------------------------------------------------------------


def wilkinson(n):
    """Its growth factor is 2^(n - 1) with partial pivoting (Wilkinson, 1961)."""
    a = np.eye(n) - np.tril(np.ones((n, n)), -1)
    a[:, -1] = 1.0
    return a


def residual(a, lu, piv):
    """Of HPL: about 1 for a stable method, at most 16 by its rules."""
    x_true = np.random.default_rng(0).uniform(-0.5, 0.5, len(a))
    b = a @ x_true
    x = scipy.linalg.lu_solve((lu, piv), b)
    norms = np.abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    return np.abs(a @ x - b).max() / (eps("float64") * norms * len(a))


@pytest.mark.slow
@pytest.mark.parametrize("which", ["cyclic", "any"])
def test_growth_is_about_that_of_partial_pivoting(which):
    n, block, size = 256, 16, 4
    for seed in range(3):
        for make in ("normal", "uniform"):
            a = getattr(np.random.default_rng(seed), make)(-0.5, 0.5, (n, n))
            lu, piv, _ = factored(Grid(n, block, maps(16, size)[which], size), a)
            theirs = scipy.linalg.lu_factor(a)[0]
            assert np.abs(np.triu(lu)).max() < 4 * np.abs(np.triu(theirs)).max()
            assert np.abs(np.tril(lu, -1)).max() < 8
            assert residual(a, lu, piv[:-1]) < 1


@pytest.mark.few(1)
@pytest.mark.parametrize("which", ["cyclic", "any"])
def test_growth_of_adversarial_matrices(which):
    n, block, size = 48, 8, 4
    grid = Grid(n, block, maps(6, size)[which], size)
    a = wilkinson(n)
    lu, piv, _ = factored(grid, a)
    assert np.abs(lu).max() == 2.0 ** (n - 1)
    assert np.array_equal(multiplied_back(lu, piv[:-1]), a)
    # the bound of a tree of height 2, for a matrix that makes partial pivoting exchange rows
    mixed = a[np.random.default_rng(3).permutation(n)] * np.linspace(1.0, 1.5, n)[:, None]
    lu, piv, _ = factored(grid, mixed)
    assert np.abs(np.tril(lu, -1)).max() <= 2.0 ** (2 * block)
    growth = np.abs(np.triu(lu)).max()
    error = np.abs(multiplied_back(lu, piv[:-1]) - mixed).max()
    assert error <= 4 * n * eps("float64") * growth


# ---- calls with a matrix at the root -------------------------------------------------------------


def at(rank, root, value):
    return value if rank == root else None


def plan_of(grid):
    return hs.lu_grid(grid.count, np.ones(grid.size), owner=grid.owner)


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


@given(grids(), st.sampled_from(DTYPES), st.sampled_from(["C", "F"]))
def test_a_matrix_at_the_root(deal, dtype, order):
    grid, root = deal
    a = np.array(random_matrix(np.random.default_rng(1), (grid.n, grid.n), dtype), order=order)
    before = a.copy()
    found, _ = lu_on_ranks(a, grid.size, root, plan=plan_of(grid), block=grid.block)
    good(found)
    assert [each for rank, each in enumerate(found) if rank != root] == [None] * (grid.size - 1)
    lu, piv = found[root]
    own, pivots, _ = factored(grid, a)
    assert np.array_equal(a, before)
    assert lu.flags.f_contiguous
    assert piv.dtype == np.int32
    assert np.array_equal(piv, pivots[:-1])
    assert np.array_equal(lu, own)


@given(
    grids(),
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES),
    st.sampled_from([None, 0, 1, 2, 9]),
)
def test_systems(deal, dtype, kind, cols):
    grid, root = deal
    rng = np.random.default_rng(grid.n)
    a = random_matrix(rng, (grid.n, grid.n), dtype) + 2 * grid.n * np.eye(grid.n, dtype=dtype)
    a = a[rng.permutation(grid.n)]
    b = random_matrix(rng, (grid.n,) if cols is None else (grid.n, cols), kind)
    before = b.copy()
    found, _ = solve_on_ranks(a, b, grid.size, root, plan=plan_of(grid), block=grid.block)
    x = good(found)[root]
    assert np.array_equal(b, before)
    assert x.shape == b.shape
    assert x.dtype == np.result_type(a, b)
    wide = a.astype(np.complex128) @ x.astype(np.complex128) - b
    assert np.abs(wide).max(initial=0.0) < 50 * eps(np.result_type(dtype, kind)) * max(
        1.0, np.abs(b).max(initial=0.0)
    )


@pytest.mark.slow
@given(grids(), st.sampled_from(DTYPES), st.integers(1, 3))
def test_what_ranks_hold_already(deal, dtype, cols):
    grid, root = deal
    rng = np.random.default_rng(grid.n)
    a = random_matrix(rng, (grid.n, grid.n), dtype) + 2 * grid.n * np.eye(grid.n, dtype=dtype)
    b = random_matrix(rng, (grid.n, cols), dtype)
    x, before = b.copy(), np.zeros(grid.size, np.int64)

    def call(ranks):
        blocks = Blocks(grid, ranks.rank, a.dtype)
        for j in blocks.place:
            blocks.write(j, a)
        pivots = grid_lu_held(ranks, blocks, POOLS[ranks.rank])
        ranks.gather(None)
        before[ranks.rank] = ranks.wires.sent[ranks.rank]
        ranks.gather(None)
        mine = at(ranks.rank, root, x)
        grid_solve_held(ranks, blocks, pivots, mine, cols, POOLS[ranks.rank], root)
        return pivots.tolist()

    found, sent = on_ranks(grid.size, call)
    assert all(pivots == found[0] for pivots in good(found))
    assert np.abs(a @ x - b).max() < 100 * eps(dtype) * np.abs(b).max()
    expected = grid_solve_bytes(grid.n, grid.block, grid.owner, grid.size, cols, a.itemsize, root)
    assert (sent - before).tolist() == expected.tolist()


def test_no_elements():
    lu, piv = good(lu_on_ranks(np.empty((0, 0)), 2, plan=hs.lu_grid(1, [1, 1]))[0])[0]
    assert (lu.shape, piv.shape) == ((0, 0), (0,))


@pytest.mark.few(1)
@pytest.mark.parametrize("which", ["cyclic", "any", "idle"])
def test_singular_systems(which):
    n, plan = 37, hs.lu_grid(5, np.ones(4), owner=maps(5, 4)[which])
    a = np.random.default_rng(1).integers(-4, 5, (n, n)).astype(float)
    a[:, 20] = 0.0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        good(lu_on_ranks(a, 4, plan=plan)[0])
    assert [warning.category for warning in said] == [scipy.linalg.LinAlgWarning]
    for error in solve_on_ranks(a, np.ones(n), 4, 1, plan=plan)[0]:
        assert isinstance(error, np.linalg.LinAlgError)
        assert "element 20 of the diagonal of U is zero" in str(error)


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (ValueError, {"plan": hs.lu_grid(6, [1, 1])}, "plan is for 2 ranks"),
        (
            ValueError,
            {"plan": hs.lu_grid(5, [1, 1, 1]), "block": 2},
            "plan has 5 block columns, 12 columns make 6 blocks of 2",
        ),
        (ValueError, {"plan": hs.lu_grid(4, [1, 1, 1]), "cycle_times": [1, 1, 1]}, "platform"),
        (ValueError, {"plan": hs.lu_grid(4, [1, 1, 1]), "a": np.ones((3, 4))}, "A must be square"),
        (
            ValueError,
            {"plan": hs.lu_grid(4, [1, 1, 1]), "a": np.full((12, 12), np.nan)},
            "infs or NaNs",
        ),
    ],
)
def test_refusals_are_those_of_all_ranks(kind, options, said):
    found, sent = lu_on_ranks(**{"a": np.eye(12), "size": 3, "root": 1} | options)
    for rank, error in enumerate(found):
        assert isinstance(error, kind), error
        assert str(error).startswith("" if rank == 1 else "rank 1: ")
        assert said in str(error)
    assert not sent.any()


@pytest.mark.parametrize("culprit", [0, 2])
def test_an_error_on_one_rank_ends_all(culprit):
    closed = hs.Pool(1)
    closed.close()
    plan = hs.lu_grid(12, np.ones(4), "cyclic")

    def call(ranks):
        pool = closed if ranks.rank == culprit else POOLS[ranks.rank]
        return run_lu(ranks, at(ranks.rank, 0, np.eye(96)), pool, plan)

    for error in on_ranks(4, call)[0]:
        assert isinstance(error, ValueError)
        assert "the pool is closed" in str(error)


def test_trace_and_progress():
    n, plan, told = 96, hs.lu_grid(6, [1.0, 2.0, 1.0, 2.0], "1d1d"), []
    a = random_matrix(np.random.default_rng(0), (n, n), "float64")
    found, _ = lu_on_ranks(a, 4, 2, plan=plan, trace=True, progress=told.append)
    assert found[0] == found[1] == (None, None)
    (lu, piv), trace = found[2]
    assert np.abs(multiplied_back(lu, piv) - a).max() < 1e-12
    assert trace.kind == "real"
    assert trace.workers == plan.names
    counts = np.zeros((6, 4), np.int64)
    for event in trace.events:
        what = event.what.split()
        if event.kind == "compute" and what[3:6] == ["blocks", "after", "panel"]:
            counts[int(what[6]), event.worker] += int(what[0]) * int(what[2])
    assert np.array_equal(counts, plan.updates)
    for k in range(1, 5):  # look-ahead: the panel comes before the rest of the update
        for rank in set(plan.owner[k:, k].tolist()):
            own = [e.what for e in trace.events if e.worker == rank and e.kind == "compute"]
            update = [i for i, what in enumerate(own) if what.endswith(f"after panel {k - 1}")]
            assert own[update[0]].split()[2] == "1"
            assert all(own.index(f"panel {k}") < i for i in update[1:])
    assert told == sorted(told)
    assert told[-1] == 1.0


# ---- zones ---------------------------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.usefixtures("fake_ranks")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 2), (40, 5), (41, 6)])
def test_zones(dtype, n, count):
    rng = np.random.default_rng(n)
    a, b = random_matrix(rng, (n, n), dtype), random_matrix(rng, (n, 3), dtype)
    plan = hs.lu_grid(count, np.ones(4), owner=rng.integers(0, 4, (count, count)))

    def call(ranks):
        pool = POOLS[ranks.rank]
        mine = at(ranks.rank, 2, a), at(ranks.rank, 2, plan)
        zone = hs.mpi.scatter(ranks, *mine, 2)
        before = [part.copy() for part in zone.parts]
        factors, piv = hs.mpi.lu_factor(ranks, zone, root=2, pool=pool)
        assert all(np.array_equal(*pair) for pair in zip(before, zone.parts, strict=True))
        whole = hs.mpi.gather(ranks, factors, 2)
        right = (at(ranks.rank, 2, each) for each in (b, b[:, 0], b[:, :0]))
        solved = [hs.mpi.lu_solve(ranks, (factors, piv), x, 2, pool=pool) for x in right]
        return whole, piv, *solved

    found = good(on_ranks(4, call)[0])
    assert all(each is None for rank in (0, 1, 3) for each in (found[rank][0], *found[rank][2:]))
    lu, piv, x, y, none = found[2]
    assert all(np.array_equal(piv, other[1]) for other in found)
    assert np.abs(multiplied_back(lu, piv) - a).max() < 16 * n * eps(dtype) * np.abs(lu).max()
    assert np.abs(a @ x - b).max() < 100 * n * eps(dtype) * np.abs(x).max() * np.abs(a).max()
    assert y.shape == (n,)
    assert none.shape == (n, 0)
    np.testing.assert_allclose(y, x[:, 0], rtol=0, atol=1e3 * eps(dtype) * np.abs(x).max())


@pytest.mark.few(3)
@pytest.mark.usefixtures("fake_ranks")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 2), (9, 3), (40, 5), (41, 6)])
@pytest.mark.parametrize("seed", range(many(5, 1)))
def test_cholesky_of_zones(dtype, n, count, seed):
    rng = np.random.default_rng([n, seed])
    x, b = random_matrix(rng, (n, n), dtype), random_matrix(rng, (n, 3), dtype)
    a = (x @ x.conj().T + n * np.eye(n)).astype(dtype)
    half = a.copy()
    half[np.triu_indices(n, 1)] = 1e30  # is not read
    plan = hs.lu_grid(count, np.ones(4), owner=rng.integers(0, 4, (count, count)))

    def call(ranks):
        pool = POOLS[ranks.rank]
        zone = hs.mpi.scatter(ranks, at(ranks.rank, 2, half), at(ranks.rank, 2, plan), 2)
        before = [part.copy() for part in zone.parts]
        factor = hs.mpi.cholesky(ranks, zone, root=2, pool=pool)
        assert all(np.array_equal(*pair) for pair in zip(before, zone.parts, strict=True))
        whole = hs.mpi.gather(ranks, factor, 2)
        for (_, row, col, *_), part in zip(factor.own.tolist(), factor.parts, strict=True):
            if row <= col:  # only the lower triangle is read
                part[np.triu_indices_from(part, 1) if row == col else ...] = np.nan
        right = (at(ranks.rank, 2, each) for each in (b, b[:, 0], b[:, :0]))
        solved = [hs.mpi.cho_solve(ranks, factor, x, 2, pool=pool) for x in right]
        return whole, *solved

    found = good(on_ranks(4, call)[0])
    assert all(each is None for rank in (0, 1, 3) for each in found[rank])
    L, x, y, none = found[2]
    assert not np.triu(L, 1).any()
    assert np.abs(L @ L.conj().T - a).max() < 8 * n * eps(dtype) * np.abs(a).max()
    assert np.abs(a @ x - b).max() < 100 * n * eps(dtype) * np.abs(x).max() * np.abs(a).max()
    assert y.shape == (n,)
    assert none.shape == (n, 0)
    np.testing.assert_allclose(y, x[:, 0], rtol=0, atol=1e3 * eps(dtype) * np.abs(x).max())


@pytest.mark.usefixtures("fake_ranks")
def test_a_zone_that_is_not_definite():
    plan = hs.lu_grid(3, np.ones(2), owner=[[0, 1, 0], [1, 0, 1], [0, 1, 1]])

    a = np.diag([1.0] * 4 + [-1.0] + [1.0] * 4)

    def call(ranks):
        given = (a, plan) if ranks.rank == 0 else (None, None)
        zone = hs.mpi.scatter(ranks, *given)
        return hs.mpi.cholesky(ranks, zone, pool=POOLS[ranks.rank])

    for error in on_ranks(2, call)[0]:
        assert isinstance(error, np.linalg.LinAlgError)
        assert "5-th leading minor" in str(error)


@pytest.mark.usefixtures("fake_ranks")
@pytest.mark.parametrize(
    "boxes",
    [
        [(0, 0, 0, 4, 8), (1, 4, 0, 4, 8)],
        [(0, 0, 0, 8, 3), (1, 0, 3, 8, 5)],
        [(0, 0, 0, 4, 4), (1, 0, 4, 4, 4), (0, 4, 0, 4, 5), (1, 4, 5, 4, 3)],
        [(0, 0, 0, 4, 4), (1, 4, 0, 4, 4), (0, 0, 4, 8, 4)],
    ],
)
def test_other_zones(boxes):
    boxes = np.array(boxes, np.int64)

    def call(ranks):
        parts = tuple(np.ones(box[3:]) for box in boxes if box[0] == ranks.rank)
        zone = hs.mpi.Zone((8, 8), boxes, ranks.rank, parts, np.dtype(float))
        return hs.mpi.lu_factor(ranks, zone, pool=POOLS[ranks.rank])

    found, sent = on_ranks(2, call)
    for error in found:
        assert isinstance(error, ValueError)
        assert "A must be held by block columns or square blocks of one width" in str(error)
    assert not sent.any()


# ---- Cholesky ------------------------------------------------------------------------------------


def cholesky_on_ranks(a, size, root=0, **options):
    return on_ranks(
        size,
        lambda ranks: run_cholesky(
            ranks, at(ranks.rank, root, a), POOLS[ranks.rank], root=root, **options
        ),
    )


@given(grids(), st.sampled_from(DTYPES), st.sampled_from(["C", "F"]), st.booleans())
def test_cholesky(deal, dtype, order, lower):
    grid, root = deal
    n = grid.n
    x = random_matrix(np.random.default_rng(n), (n, n), dtype)
    a = (x @ x.conj().T + n * np.eye(n)).astype(dtype)
    half = np.array(a, order=order)
    half[np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)] = 1e30  # is not read
    plan = plan_of(grid)
    found, sent = cholesky_on_ranks(half, grid.size, root, plan=plan, block=grid.block, lower=lower)
    c = good(found)[root]
    assert [each for rank, each in enumerate(found) if rank != root] == [None] * (grid.size - 1)
    assert c.dtype == a.dtype
    factor = c if lower else c.conj().T
    assert not np.triu(factor, 1).any()
    assert (factor.diagonal().real > 0).all()
    np.testing.assert_allclose(
        factor, np.linalg.cholesky(a), rtol=0, atol=8 * n * eps(dtype) * np.abs(a).max()
    )
    expected = grid_cholesky_bytes(n, grid.block, grid.owner, grid.size, a.itemsize, root)
    assert sent.tolist() == expected.tolist()


@pytest.mark.parametrize("which", ["cyclic", "any", "idle"])
def test_cholesky_of_what_is_not_positive_definite(which):
    a = np.eye(37)
    a[33, 33] = -1.0
    plan = hs.lu_grid(5, np.ones(4), owner=maps(5, 4)[which])
    for error in cholesky_on_ranks(a, 4, plan=plan)[0]:
        assert isinstance(error, np.linalg.LinAlgError)
        assert "34-th leading minor of the array is not positive definite" in str(error)
    c, trace = good(cholesky_on_ranks(np.eye(37) * 4, 4, plan=plan, trace=True)[0])[0]
    assert np.array_equal(c, 2 * np.eye(37))
    assert sum(event.what.startswith("panel ") for event in trace.events) == 5
