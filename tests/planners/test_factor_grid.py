"""Factorisations whose blocks are dealt in both directions: against an event-by-event simulation
and the matrices themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.factor_grid import cuts, simulated
from random_matrices import definite

import hetsched as hs

KINDS = ("lu", "cholesky", "qr")
THREE = [3.0, 5.0, 8.0]


@pytest.fixture
def rng():
    return np.random.default_rng(18)


def shape_of(kind, m, n):
    return (m, m) if kind == "cholesky" else (m, n)


def grid(m, n, block, p, rng):
    rank = min(m, n)
    return rng.integers(
        0, p, (len(cuts(m, rank, block)) - 1, len(cuts(n, rank, block)) - 1)
    ).astype(np.int32)


class TestPlans:
    @given(
        st.sampled_from(KINDS),
        st.integers(0, 40),
        st.integers(0, 40),
        st.integers(1, 12),
        st.integers(1, 4),
        st.integers(0, 10**6),
        st.booleans(),
        st.booleans(),
    )
    def test_against_a_simulation(self, kind, m, n, block, p, seed, ahead, own_panels):
        m, n = shape_of(kind, m, n)
        rng = np.random.default_rng(seed)
        owner, times = grid(m, n, block, p, rng), rng.uniform(1, 5, p)
        panels = rng.uniform(1, 5, p) if own_panels else None
        plan = hs.plan_factor(
            m,
            n,
            times,
            kind=kind,
            owner=owner,
            block=block,
            look_ahead=ahead,
            panel_times=panels,
            dtype=np.float32,
        )
        makespan, work = simulated(
            kind, m, n, block, owner, times, times if panels is None else panels, not ahead
        )
        assert plan.makespan == pytest.approx(makespan * 2e-9, rel=1e-9)
        assert plan.flops.sum() == pytest.approx(2 * work, rel=1e-9)
        assert plan.lower_bound <= plan.makespan * (1 + 1e-9)

    @pytest.mark.parametrize("kind", KINDS)
    def test_equal_rows_are_columns(self, kind, rng):
        columns = rng.integers(0, 3, 9)
        m, n = shape_of(kind, 85, 70)
        columns = columns[: -(-n // 10)]
        rows = len(cuts(m, min(m, n), 10)) - 1
        one = hs.plan_factor(m, n, THREE, kind=kind, owner=columns, block=10)
        both = hs.plan_factor(m, n, THREE, kind=kind, owner=np.tile(columns, (rows, 1)), block=10)
        assert both.makespan == one.makespan
        np.testing.assert_array_equal(both.tasks, one.tasks)

    @pytest.mark.parametrize("kind", KINDS)
    def test_names_and_units_of_workers(self, kind, rng):
        owner, order = grid(70, 70, 10, 3, rng), rng.permutation(3)
        plan = hs.plan_factor(70, 70, THREE, kind=kind, owner=owner)
        turned = hs.plan_factor(
            70, 70, np.array(THREE)[order], kind=kind, owner=np.argsort(order)[owner]
        )
        assert turned.makespan == plan.makespan
        assert (
            hs.plan_factor(70, 70, 4 * np.array(THREE), kind=kind, owner=owner).makespan
            == 4 * plan.makespan
        )

    def test_result_of_lu_grid(self):
        given = hs.lu_grid(8, THREE)
        plan = hs.plan_factor(80, 80, THREE, owner=given)
        assert plan.block == 10
        np.testing.assert_array_equal(plan.owner, given.owner)
        assert plan.method == given.method
        again = hs.FactorPlan.from_dict(plan.to_dict())
        assert again == plan
        assert again.owner.shape == (8, 8)
        assert plan.on(hs.Platform.star([1, 1, 1])).owner.shape == (8, 8)
        assert hs.simulate(plan).makespan == pytest.approx(plan.makespan)
        assert plan.step_table().count("\n") >= 8
        assert len(plan.steps()) == len(plan.tasks)

    @pytest.mark.parametrize(
        ("owner", "options", "words"),
        [
            (np.zeros((3, 4), int), {}, r"owner has shape \(3, 4\)"),
            (np.zeros((4, 4, 1), int), {}, "owner must have one dimension or two"),
            (np.full((4, 4), 3), {}, "owner"),
            (np.zeros((4, 4), int), {"link_costs": 1.0}, "link_costs must be 0"),
        ],
    )
    def test_refusals(self, owner, options, words):
        with pytest.raises(ValueError, match=words):
            hs.plan_factor(40, 40, THREE, owner=owner, block=10, **options)

    def test_an_infinite_worker(self):
        owner = np.zeros((4, 4), int)
        owner[3, 1] = 1
        with pytest.raises(ValueError, match=r"owner\[3, 1\] is a worker"):
            hs.plan_factor(40, 40, [1, np.inf], owner=owner, block=10)


def agrees(kind, a, result):
    limit = 1000 * np.finfo(a.dtype).eps * max(1.0, abs(a).max())
    if kind == "lu":
        p, lower, upper = result
        assert abs(p @ lower @ upper - a).max() <= limit
        assert abs(np.tril(lower, -1)).max(initial=0) <= 2
    elif kind == "cholesky":
        assert abs(result @ result.conj().T - a).max() <= limit
    else:
        q, r = result
        assert abs(q @ r - a).max() <= limit
        assert abs(q.conj().T @ q - np.eye(q.shape[1])).max() <= limit


def factored(pool, kind, a, **options):
    """P, L, U; L; Q, R."""
    if kind == "cholesky":
        return pool.cholesky(a, **options)
    if kind == "qr":
        return pool.qr(a, **options)
    lu, pivots = pool.lu_factor(a, **options)
    m, n = a.shape
    rank, order = min(m, n), np.arange(m)
    for i, pivot in enumerate(pivots):
        order[[i, pivot]] = order[[pivot, i]]
    return (
        np.eye(m, dtype=a.dtype)[:, order],
        np.tril(lu[:, :rank], -1) + np.eye(m, rank, dtype=a.dtype),
        np.triu(lu[:rank]),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("kind", KINDS)
class TestRuns:
    @pytest.mark.parametrize(
        "shape", [(1, 1), (29, 29), (30, 30), (31, 31), (170, 170), (200, 90), (90, 200)]
    )
    def test_random_maps(self, kind, dtype, shape, rng):
        if kind == "cholesky":
            shape = shape[0], shape[0]
        a = definite(200, dtype)[: shape[0], : shape[1]]
        with hs.Pool(3) as pool:
            for block in (30, 17):
                agrees(
                    kind, a, factored(pool, kind, a, owner=grid(*shape, block, 3, rng), block=block)
                )

    def test_emulated(self, kind, dtype):
        a = definite(150, dtype)
        with hs.Pool(hs.Platform.star(THREE), emulate=True, time_scale=4) as pool:
            plan = pool.plan_factor(150, 150, kind=kind, owner=hs.lu_grid(5, THREE), dtype=dtype)
            options = {"owner": plan, "trace": True}
            *_, trace = (
                pool.lu_factor(a, **options) if kind == "lu" else factored(pool, kind, a, **options)
            )
        assert trace.predicted == 4 * plan.makespan
        assert trace.makespan >= 0.999 * trace.predicted

    def test_progress(self, kind, dtype, rng):
        a, told = definite(400, dtype), []
        with hs.Pool(2) as pool:
            agrees(
                kind,
                a,
                factored(
                    pool, kind, a, owner=grid(400, 400, 50, 2, rng), block=50, progress=told.append
                ),
            )
        assert told[-1] == 1.0
