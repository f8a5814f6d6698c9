"""Products of a StarPlan on ranks: against NumPy, the model's judge, and bytes counted from the
plan."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from pathlib import Path

import mpi_run
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi_fake_star import Hub, together
from oracles.star import judge
from random_chunks import random_chunks

import hetsched as hs
from hetsched._engine.star import STAR_CHUNK, Star
from hetsched.mpi import chunks as chunks_of
from hetsched.mpi import star
from hetsched.mpi.loop import LostRank
from hetsched.mpi.worker import Worker
from hetsched.planners.star import METHODS

PROGRAM = Path(__file__).with_name("mpi_cases_star.py")
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


@pytest.fixture(scope="module")
def pool():
    with hs.Pool(1) as made:
        yield made


def matrix(rng, shape, dtype, order="C"):
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return np.array(found.astype(dtype), order=order)


def near(C, A, B):
    """Within the usual bound of a sum of k products, element by element."""
    wanted = A.astype(complex) @ B.astype(complex)
    size = abs(A).astype(float) @ abs(B).astype(float)
    return (abs(C - wanted) <= 4 * (A.shape[1] + 4) * np.finfo(C.dtype).eps * size).all()


def plan_of_chunks(shape, costs, times, memory, table):
    """A StarPlan of any chunks, demand driven."""
    platform = hs.Platform.star(times, link_costs=costs, memory=[max(m, 3) for m in memory])
    plan = hs.plan_product(*shape, platform, "bmm")
    table = np.array([(*chunk, 0)[:9] for chunk in table], STAR_CHUNK)
    model = Star(shape, np.array(times, float), np.array(costs, float), np.array(memory, np.int64))
    makespan, messages = model.simulate(table, 1, np.zeros(0, np.int32), False)
    return replace(
        plan, chunks=table, messages=messages, makespan=makespan, memory=np.array(memory, np.int64)
    )


def whatever(seed):
    """A plan whose chunks hold A, B or C, with just the memory that they need."""
    rng = random.Random(seed)
    r, s, t, p = rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 5), rng.randint(1, 3)
    costs, times = ([rng.randint(low, 5) for _ in range(p)] for low in (0, 1))
    table, memory = random_chunks(rng, (r, s, t), p)
    return plan_of_chunks((r, s, t), costs, times, memory, table)


def sizes(plan, q, rng):
    """m, n, k of blocks of q, the last ones of any size that leaves q the smallest."""
    found = [int(b * q - rng.integers(0, q)) for b in plan.shape]
    found[int(np.argmax(plan.shape))] = max(plan.shape) * q  # else smaller blocks might do
    return found


def run(
    plan, A, B, order, pool, *, killed=None, hung=None, timeout=30.0, progress=None, traced=False
):
    """The master, after a run on ranks that are threads, the operands and the hub."""
    p = len(plan.names)
    hub = Hub(p + 1, 0, killed, hung)
    x = star.operands_of(A, B)
    product, _ = star.product_of(plan, x, order)
    master = star.master_of(plan, product, x, order, list(range(1, p + 1)), progress)
    workers = [Worker(0) for _ in range(p)]
    mains = [lambda loop: master.run(loop, traced)]
    mains += [lambda loop, own=own: own.run(loop, product, pool, traced) for own in workers]
    errors = together(
        hub, mains, [master.heard, *(own.heard for own in workers)], master.lost, timeout
    )
    if errors:
        raise errors[min(errors)]
    return master, x, hub


def bytes_of(plan, messages, q, m, n, k, itemsize):
    """(p, 2) to and from each worker, counted element by element of what the messages say."""
    rows, cols, inner = (
        np.minimum(np.arange(b) * q + q, size) - np.arange(b) * q
        for b, size in zip(plan.shape, (m, n, k), strict=True)
    )
    found = np.zeros((len(plan.names), 2), np.int64)
    for worker, kind, number, first in messages[["worker", "kind", "chunk", "depth"]].tolist():
        _, held, _, row, col, height, width, depth, _ = plan.chunks[number].tolist()
        y, x, z = (
            list(range(row, row + height)),
            list(range(col, col + width)),
            list(range(plan.shape[2])),
        )
        lines = (z, x, y)[held]
        if kind != 0 and not (kind == 2 and held == 0):
            passing = lines[first : first + depth]
            y, x, z = (
                (passing if held == 2 else y),
                (passing if held == 1 else x),
                (passing if held == 0 else z),
            )
        areas = {0: (rows[y], cols[x]), 1: (rows[y], inner[z]), 2: (inner[z], cols[x])}
        which = {0: [held], 1: [o for o in range(3) if o != held], 2: [0]}[kind]
        for o in which:
            a, b = areas[o]
            found[worker, int(kind == 2)] += int(a.sum()) * int(b.sum()) * itemsize
    return found


def check(plan, A, B, order, pool):
    master, x, hub = run(plan, A, B, order, pool)
    assert near(x.result, A, B)
    q, itemsize = master.product.block, x.c.itemsize
    messages = star.messages_of(master)
    fields = ["worker", "kind", "chunk", "depth"]
    if order == "plan":
        assert (messages[fields] == plan.messages[fields]).all()
    for i in range(len(plan.names)):  # a worker's own messages have one order
        assert (
            messages[messages["worker"] == i][fields]
            == plan.messages[plan.messages["worker"] == i][fields]
        ).all()
    counted = bytes_of(plan, plan.messages, q, *x.sizes, itemsize)
    assert [(hub.bytes[0, i + 1], hub.bytes[i + 1, 0]) for i in range(len(plan.names))] == [
        tuple(row) for row in counted.tolist()
    ]
    assert (master.sent, master.received) == tuple(counted.sum(0))
    assert [(peer.report.received, peer.report.sent) for peer in master.peers] == [
        tuple(row) for row in counted.tolist()
    ]
    assert hub.at_once == 1
    assert hub.unasked == 0
    for peer, limit in zip(master.peers, plan.memory.tolist(), strict=True):
        assert peer.peak <= limit
        assert peer.report.allocated <= limit * q * q * itemsize
    memory = [max(limit, 1) for limit in plan.memory.tolist()]
    judge(plan.shape, None, None, memory, plan.chunks.tolist(), messages.tolist())
    return master, x


class TestProducts:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("order", ["plan", "demand"])
    def test_methods(self, pool, method, order):
        rng = np.random.default_rng(0)
        platform = hs.Platform.star([2, 3], link_costs=[1, 2], memory=[12, 21])
        plan = hs.plan_product(4, 8, 3, platform, method)
        A, B = (
            matrix(rng, (4 * 7 - 3, 3 * 7 - 1), np.float64),
            matrix(rng, (3 * 7 - 1, 8 * 7 - 6), np.float64),
        )
        before = A.copy(), B.copy()
        check(plan, A, B, order, pool)
        assert (before[0] == A).all()
        assert (before[1] == B).all()

    @pytest.mark.few(1)
    @pytest.mark.parametrize("order", ["plan", "demand"])
    @given(
        seed=st.integers(0, 10**6),
        q=st.integers(1, 5),
        dtype=st.sampled_from(DTYPES),
        layout=st.sampled_from(["CC", "FC", "CF", "FF"]),
    )
    def test_whatever_is_held(self, pool, order, seed, q, dtype, layout):
        rng = np.random.default_rng(seed)
        plan = whatever(seed)
        m, n, k = sizes(plan, q, rng)
        check(
            plan,
            matrix(rng, (m, k), dtype, layout[0]),
            matrix(rng, (k, n), dtype, layout[1]),
            order,
            pool,
        )

    def test_demand(self, pool):
        """What does not hang on time: at first all ask at once; then each panel's request is as old
        as its worker's C."""
        plan = plan_of_chunks(
            (1, 3, 4), [1] * 3, [1] * 3, [5] * 3, [(i, 0, 2, 0, i, 1, 1, 1) for i in range(3)]
        )
        # not the order of the plan
        plan = replace(plan, messages=np.sort(plan.messages, order=["worker", "start"]))
        messages = star.messages_of(run(plan, np.ones((1, 4)), np.ones((4, 3)), "demand", pool)[0])
        assert messages["worker"][:3].tolist() == [0, 1, 2]
        first = messages[np.isin(messages["depth"], (0, 1)) & (messages["kind"] == 1)]
        assert first["worker"].tolist() == [0, 0, 1, 1, 2, 2]

    def test_one_worker_and_idle_ones(self, pool):
        A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
        for p in (1, 4):
            plan = plan_of_chunks(
                (2, 4, 3), [1] * p, [1] * p, [30] + [0] * (p - 1), [(0, 2, 2, 0, 0, 2, 4, 1)]
            )
            check(plan, A, B, "plan", pool)

    def test_vectors(self, pool):
        plan = plan_of_chunks((1, 1, 3), [1], [1], [30], [(0, 0, 2, 0, 0, 1, 1, 1)])
        a = np.arange(6.0)
        assert run(plan, a, a, "plan", pool)[1].result == a @ a

    def test_arguments(self):
        plan = hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], memory=[12, 21]), budget=0)
        x = star.operands_of(np.ones((4, 3)), np.ones((3, 8)))
        with pytest.raises(ValueError, match="order must be one of plan, demand, got 'best'"):
            star.product_of(plan, x, "best")
        with pytest.raises(ValueError, match="A has 3 rows, which no size of blocks"):
            star.product_of(plan, star.operands_of(np.ones((3, 3)), np.ones((3, 8))), "plan")
        with pytest.raises(ValueError, match="A and B must be matrices"):
            star.operands_of(np.ones((2, 4, 3)), np.ones((3, 8)))

    def test_progress(self, pool):
        plan = hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], memory=[12, 21]), "het")
        seen = []
        run(plan, np.ones((4, 3)), np.ones((3, 8)), "plan", pool, progress=seen.append)
        assert seen
        assert seen == sorted(seen)
        assert all(0 < x <= 1 for x in seen)

    def test_trace(self, pool):
        platform = hs.Platform.star(
            [2, 3], link_costs=[1, 2], memory=[12, 21], unit=hs.Unit.block_update(2)
        )
        plan = hs.plan_product(4, 8, 3, platform, "het")
        A, B = np.ones((8, 6)), np.ones((6, 16))
        master, x, _ = run(plan, A, B, "plan", pool, traced=True)
        _, simulated = star.product_of(plan, x, "plan")
        without = star.trace_of(replace(plan, unit=None), x, simulated, master)
        assert (without.predicted, without.ideal, without.predicted_finish) == (None, None, None)
        trace = star.trace_of(plan, x, simulated, master)
        assert (trace.kind, trace.unit, trace.workers) == ("real", "s", plan.names)
        assert trace.predicted == plan.makespan
        assert trace.predicted_finish == pytest.approx(list(hs.simulate(plan).finish))
        assert trace.predicted_peak == (12, 21)
        assert all(0 < peak <= limit for peak, limit in zip(trace.peak, plan.memory, strict=True))
        assert trace.clock_error >= 0
        for i, kind in itertools.product((0, 1), ("transfer", "compute")):
            own = [e.what for e in trace.events if (e.worker, e.kind) == (i, kind)]
            assert own == [s.what for s in plan.steps() if (s.worker, s.kind) == (i, kind)]
        port = sorted((e for e in trace.events if e.kind == "transfer"), key=lambda e: e.start)
        assert all(b.start >= a.end for a, b in itertools.pairwise(port))


class TestLost:
    """On a transport that survives it."""

    @given(seed=st.integers(0, 10**6), q=st.integers(1, 3), data=st.data())
    def test_at_any_message(self, pool, seed, q, data):
        """The others do what is lost, each update once: the integers of the result are exact."""
        rng = np.random.default_rng(seed)
        plan = whatever(seed)
        p = len(plan.names)
        order = data.draw(st.sampled_from(["plan", "demand"]))
        killed = data.draw(st.dictionaries(st.integers(1, p), st.integers(1, 12), max_size=p))
        m, n, k = sizes(plan, q, rng)
        A, B = (rng.integers(-9, 10, shape).astype(float) for shape in ((m, k), (k, n)))
        try:
            master, x, hub = run(plan, A, B, order, pool, killed=killed)
        except LostRank as error:
            living = [i for i in range(p) if i + 1 not in killed]
            assert not living or max(plan.memory[living]) < 3
            said = str(error)
            assert "all workers are lost" in said or "no other worker has memory" in said
            return
        assert (x.result == A @ B).all()
        assert hub.at_once <= 1
        for peer, limit in zip(master.peers, plan.memory.tolist(), strict=True):
            assert peer.peak <= limit

    @pytest.mark.parametrize("held", [0, 1, 2])
    @pytest.mark.parametrize("buffers", [1, 2])
    @pytest.mark.parametrize("order", ["plan", "demand"])
    def test_at_each_message(self, pool, held, buffers, order):
        """Also at the last, which has come; the messages of the others are those of what is
        left."""
        halves = [(0, held, buffers, 0, 0, 2, 2, 1), (1, 0, 2, 0, 2, 2, 2, 1)]
        plan = plan_of_chunks((2, 4, 3), [1] * 2, [1] * 2, [40] * 2, halves)
        A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
        count = int((plan.messages["worker"] == 0).sum())
        for n in range(1, count + 1):
            master, x, hub = run(plan, A, B, order, pool, killed={1: n})
            assert (x.result == A @ B).all()
            assert master.peers[0].alive is False
            assert hub.carried[1] == n
            assert (hub.carried[2] == 5) == (n == count)
        assert run(plan, A, B, order, pool)[0].peers[0].alive

    def test_that_hangs(self, pool):
        quarters = [(i % 3, 0, 2, 2 * (i // 2), 2 * (i % 2), 2, 2, 1) for i in range(4)]
        plan = plan_of_chunks((4, 4, 3), [1] * 3, [1] * 3, [30] * 3, quarters)
        A, B = np.arange(12.0).reshape(4, 3), np.arange(12.0).reshape(3, 4)
        master, x, _ = run(plan, A, B, "plan", pool, hung={2: 2}, timeout=0.3)
        assert (x.result == A @ B).all()
        assert not master.peers[1].alive

    def test_no_memory_for_what_is_lost(self, pool):
        plan = plan_of_chunks((2, 2, 2), [1, 1], [1, 1], [12, 2], [(0, 0, 2, 0, 0, 2, 2, 1)])
        with pytest.raises(
            LostRank, match="P0 is lost, and no other worker has memory for its chunks"
        ):
            run(plan, np.ones((2, 2)), np.ones((2, 2)), "plan", pool, killed={1: 1})

    @given(seed=st.integers(0, 10**6), memory=st.integers(0, 60))
    def test_pieces_fit_and_cover(self, seed, memory):
        plan = whatever(seed)
        t, cells = plan.shape[2], set()
        pile = chunks_of.shared([chunks_of.Chunk(*row) for row in plan.chunks.tolist()], 5)
        assert len(pile) >= min(5, math.prod(plan.shape[:2]))
        while pile:
            found = chunks_of.fitted(pile.pop(), t, memory)
            if found is None:
                assert memory < 3
                return
            piece, rest = found
            pile += rest
            assert chunks_of.needed(piece, t) <= memory
            own = set(
                itertools.product(
                    range(piece.row, piece.row + piece.height),
                    range(piece.col, piece.col + piece.width),
                )
            )
            assert own
            assert not own & cells
            cells |= own
        assert cells == set(itertools.product(range(plan.shape[0]), range(plan.shape[1])))


@pytest.fixture(scope="module")
def results():
    return mpi_run.results(4, PROGRAM)


@pytest.mark.slow
@pytest.mark.parametrize("case", mpi_run.cases_of(PROGRAM))
def test_real_ranks(results, case):
    assert results[case] == ""
