"""Factors that stay on the ranks, against SciPy: ranks that are threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from mpi_fake import good, on_ranks
from oracles.mpi import cholesky_bytes

import hetsched as hs
from hetsched.mpi.loop import Loop

pytestmark = pytest.mark.usefixtures("fake_ranks")
DTYPES = ("float32", "float64", "complex64", "complex128")
MOST = 4


def random_matrix(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def definite(seed, n, dtype):
    x = random_matrix(seed, (n, n), dtype)
    return (x @ x.conj().T + n * np.eye(n)).astype(dtype)


@st.composite
def deals(draw):
    """n, owners of the block columns, ranks, root."""
    block = draw(st.integers(1, 20))
    n = draw(st.sampled_from([n for n in (1, 2, block - 1, block, block + 1, 3 * block, 45) if n]))
    size = draw(st.integers(1, MOST))
    count = -(-n // block)
    if -(-n // -(-n // count)) != count:  # the width that a LuPattern takes makes fewer blocks
        count = 1
    owner = draw(st.lists(st.integers(0, size - 1), min_size=count, max_size=count))
    return n, owner, size, draw(st.integers(0, size - 1))


def held(A, owner, size):
    """A zone of block columns on each rank."""
    plan = hs.lu_pattern(len(owner), np.ones(size), owner=np.array(owner, np.int32))
    given = (A, plan)
    return good(
        on_ranks(size, lambda r: hs.mpi.scatter(r, *(given if r.rank == 0 else (None, None))))[0]
    )


def solved(pools, zones, b, root):
    size = len(zones)
    return on_ranks(
        size,
        lambda r: hs.mpi.cho_solve(
            r, zones[r.rank], b if r.rank == root else None, root, pool=pools[r.rank]
        ),
    )


@given(deals(), st.sampled_from(DTYPES), st.sampled_from([None, 0, 1, 3]), st.integers(0, 99))
def test_factors_and_solutions(pools, deal, dtype, cols, seed):
    n, owner, size, root = deal
    a = definite(seed, n, dtype)
    half = a.copy()
    half[np.triu_indices(n, 1)] = 1e30  # is not read
    zones = held(half, owner, size)
    kept = [[part.copy() for part in zone.parts] for zone in zones]
    factors, sent = on_ranks(
        size, lambda r: hs.mpi.cholesky(r, zones[r.rank], pool=pools[r.rank], root=root)
    )
    for zone, parts in zip(zones, kept, strict=True):
        assert all(map(np.array_equal, zone.parts, parts))
    block = -(-n // len(owner))
    panels = cholesky_bytes((n, block, np.array(owner), size), a.itemsize, 0).panels
    assert sent.tolist() == panels.tolist()
    L = good(on_ranks(size, lambda r: hs.mpi.gather(r, good(factors)[r.rank]))[0])[0]
    eps = np.finfo(dtype).eps
    assert L.dtype == a.dtype
    assert not np.triu(L, 1).any()
    assert np.abs(L @ L.conj().T - a).max() < 8 * n * eps * np.abs(a).max()
    b = random_matrix(seed, (n,) if cols is None else (n, cols), dtype)
    given_b = b.copy()
    found, _ = solved(pools, factors, b, root)
    x = good(found)[root]
    assert [each is None for each in found] == [rank != root for rank in range(size)]
    np.testing.assert_array_equal(b, given_b)
    assert x.dtype == a.dtype
    want = scipy.linalg.solve(a.astype("complex128"), b, assume_a="pos")
    np.testing.assert_allclose(x, want, rtol=0, atol=500 * eps * np.abs(b).max(initial=1.0))


def test_messages_of_a_solve(pools, monkeypatch):
    """Each block of the solution goes once to each other rank with blocks before it."""
    owner = [0, 1, 2, 1, 0, 0]
    a = definite(0, 30, "float64")
    zones = held(a, owner, 3)
    factors = good(on_ranks(3, lambda r: hs.mpi.cholesky(r, zones[r.rank], pool=pools[r.rank]))[0])
    blocks, send = [], Loop.send

    def counted(loop, array, to, tag):
        if tag == hs.mpi.cholesky_held._BLOCK:
            blocks.append((loop.rank, to, array.shape))
        return send(loop, array, to, tag)

    monkeypatch.setattr(Loop, "send", counted)
    good(solved(pools, factors, np.ones((30, 2)), 0)[0])
    wanted = [(owner[k], rank, (5, 2)) for k in range(6) for rank in set(owner[:k]) - {owner[k]}]
    assert sorted(blocks) == sorted(wanted)


def test_refused_on_every_rank(pools):
    zones = held(definite(0, 6, "float64"), [0, 1, 0], 2)
    wide = held(np.ones((5, 6)), [0, 1, 0], 2)
    minus = held(-np.eye(6), [0, 1, 0], 2)
    rows = [
        hs.mpi.Zone((6, 6), np.array([[0, 0, 0, 3, 6], [1, 3, 0, 3, 6]]), i, (np.eye(6)[:3],),
                    np.dtype("float64"))
        for i in range(2)
    ]  # fmt: skip

    def factor(A, **options):
        return lambda r: hs.mpi.cholesky(r, A[r.rank], pool=pools[r.rank], **options)

    def solve(L, b):
        return lambda r: hs.mpi.cho_solve(r, L[r.rank], b[r.rank], pool=pools[r.rank])

    ones = [np.ones(6), None]
    cases = [
        (factor(zones, lower=False), ValueError, "lower must be True if A is a Zone"),
        (factor([zones[0], None]), ValueError, "A must be a Zone on all ranks or on none"),
        (factor(zones[::-1]), ValueError, "A is the zone of rank"),
        (factor(wide), ValueError, "A must be square"),
        (factor(rows), ValueError, "A must be held by block columns"),
        (factor(minus), np.linalg.LinAlgError, "1-th leading minor"),
        (solve([zones[0], None], ones), TypeError, "L must be a Zone, got NoneType"),
        (solve(rows, ones), ValueError, "L must be held by block columns"),
        (solve(zones, [np.ones(5), None]), ValueError, "b must have 6 rows"),
        (solve(zones, [None, None]), ValueError, "b must have 6 rows"),
        (solve(zones, [np.ones((6, 1, 1)), None]), ValueError, "b must have 6 rows"),
        (solve(zones, [1j * np.ones(6), None]), TypeError, "b has dtype complex128, which"),
        (solve(zones, [np.full(6, "1.5"), None]), TypeError, "b has dtype <U3, which"),
        (lambda r: hs.mpi.lu_solve(r, None, ones[r.rank]), TypeError, "lu_and_piv must be the"),
        (
            lambda r: hs.mpi.lu_solve(r, zones[r.rank], ones[r.rank]),
            TypeError,
            "lu_and_piv must be the pair (Zone, pivots)",
        ),
    ]
    for call, kind, words in cases:
        for each in on_ranks(2, call)[0]:
            assert isinstance(each, kind), (words, each)
            assert words in str(each)


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (call, wrong)
        for call in ("matmul", "solve", "lu_factor", "scatter", "cho_solve")
        for wrong in ({"root": 9}, {"root": 0.5}, {"pool": "x"}, {"timeout": -1.0})
        if call != "scatter" or "pool" not in wrong  # which it does not take
    ],
)
def test_wrong_on_one_rank(pools, call, wrong):
    """An argument that is wrong on one rank is refused on all, and none of them waits."""
    a = definite(0, 6, "float64")
    zones = held(a, [0, 1, 0], 2)

    def run(r):
        own = {} if call == "scatter" else {"pool": pools[r.rank]}
        given = own | (wrong if r.rank == 1 else {})
        here, there = (a, a[0]) if r.rank == 0 else (None, None)
        if call == "cho_solve":
            return hs.mpi.cho_solve(r, zones[r.rank], there, **given)
        if call == "solve":
            return hs.mpi.solve(r, here, there, **given)
        if call == "matmul":
            return hs.mpi.matmul(r, here, here, **given)
        if call == "scatter":
            return hs.mpi.scatter(r, here, hs.distribute(6, [1.0, 2.0]), **given)
        return hs.mpi.lu_factor(r, here, **given)

    (name,) = wrong
    for each in on_ranks(2, run)[0]:
        assert isinstance(each, TypeError | ValueError)
        assert f"{name} must be" in str(each)


def test_what_the_root_leaves_out(pools):
    a = definite(0, 6, "float64")
    empty = np.zeros((0, 0))
    cases = [
        (lambda r, x: hs.mpi.solve(r, x, None, pool=pools[r.rank]), a, "b must be given at the"),
        (
            lambda r, x: hs.mpi.lu_factor(r, x, plan="nonsense", pool=pools[r.rank], trace=True),
            empty,
            "plan must be a plan",
        ),
        (
            lambda r, x: hs.mpi.lu_factor(r, x, hs.lu_pattern(4, [1, 1, 1]), pool=pools[r.rank]),
            empty,
            "plan is for 3 ranks, the communicator has 2",
        ),
    ]
    for call, matrix, words in cases:
        given = (matrix, None)
        for each in on_ranks(2, lambda r, call=call, given=given: call(r, given[r.rank]))[0]:
            assert isinstance(each, TypeError | ValueError)
            assert words in str(each)
