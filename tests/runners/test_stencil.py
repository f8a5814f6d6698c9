"""Pool.stencil: the bits of the whole matrix at once for any ring and slices, plans against all
others, time kept on emulated workers, nobody before its neighbours."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupted import interrupted
from oracles.stencil import best_step, divisions, ends, iterated, step_time, validate

import hetsched as hs
from hetsched._engine import allocate
from hetsched.planners.stencil import Members, plan_stencil
from hetsched.runners.stencil import update_rate

LINKS = [[0, 2, 9], [4, 0, 3], [9, 1, 0]]
PLATFORM = hs.Platform.complete([3, 5, 8], LINKS)


@pytest.fixture(scope="module")
def pools():
    made = [hs.Pool(1), hs.Pool(2), hs.Pool(5), hs.Pool(hs.Platform.star([1, 4, 2]))]
    yield made
    for pool in made:
        pool.close()


# slow enough for a sanitized engine on a host that is at a third of its speed for a moment
SCALE = 10.0


@pytest.fixture(scope="module")
def emulated():
    with hs.Pool(PLATFORM, emulate=True, time_scale=SCALE) as pool:
        yield pool


def matrix(m, n, dtype="d", seed=0):
    return np.random.default_rng(seed).standard_normal((m, n)).astype(dtype)


def layouts(array):
    """The same values with other strides."""
    m, n = array.shape
    spread = np.zeros((2 * m, 3 * n), array.dtype)[::2, ::3]
    spread[...] = array
    return [array, np.asfortranarray(array), spread, array[::-1, ::-1].copy()[::-1, ::-1]]


class TestBits:
    @given(data=st.data())
    def test_any_ring_and_slices(self, pools, data):
        draw = data.draw
        m, n, steps = draw(st.integers(1, 12)), draw(st.integers(1, 40)), draw(st.integers(0, 7))
        weight = draw(st.sampled_from([0.25, 0.1, 1 / 3, 1.0, 0.0, -2.7]))
        pool = draw(st.sampled_from(pools))
        order = draw(st.permutations(range(len(pool))))
        ring = order[: draw(st.integers(1, min(n, len(pool))))]
        array = matrix(m, n, draw(st.sampled_from("fd")), draw(st.integers(0, 99)))
        given_array = draw(st.sampled_from(layouts(array)))
        out = draw(st.sampled_from([None, *layouts(np.ones_like(array))]))
        plan = draw(
            st.sampled_from([None, pool.plan_stencil(m, n, steps, dtype=array.dtype, ring=ring)])
        )
        result, trace = pool.stencil(
            given_array, steps, weight=weight, plan=plan, out=out, trace=True
        )
        assert result.dtype == array.dtype
        assert out is None or result is out
        np.testing.assert_array_equal(result.view(), iterated(array, steps, weight))
        np.testing.assert_array_equal(given_array, array)
        members = (plan or pool.plan_stencil(m, n, steps, dtype=array.dtype)).ring.tolist()
        validate(
            trace.events,
            members,
            steps,
            trace.workers,
            "with ",
            {i: (0.0, 0.0, 0.0) for i in members},
        )
        assert trace.kind == "real"

    def test_wide_enough_for_vectors_and_many_looks_for_a_cancel(self, pools):
        for dtype in "fd":
            array = matrix(700, 1003, dtype)
            want = iterated(array, 3, 0.2)
            for pool in pools:
                np.testing.assert_array_equal(pool.stencil(array, 3, weight=0.2), want)
                np.testing.assert_array_equal(
                    pool.stencil(np.asfortranarray(array), 3, weight=0.2), want
                )

    def test_zeros_infinities_and_nan(self, pools):
        array = matrix(6, 20)
        array[2, 3:6] = np.inf, np.nan, -0.0
        with np.errstate(invalid="ignore"):
            want = iterated(array, 4, 0.25)
        assert np.isnan(want).any()
        for pool in pools:
            np.testing.assert_array_equal(pool.stencil(array, 4), want)

    def test_in_place_and_overlapping(self, pools):
        array = matrix(30, 40)
        want = iterated(array, 5, 0.25)
        for pool in pools:
            own = array.copy()
            assert pool.stencil(own, 5, out=own) is own
            np.testing.assert_array_equal(own, want)
            shifted = np.zeros((31, 40))
            shifted[1:] = array
            pool.stencil(shifted[1:], 5, out=shifted[:-1])
            np.testing.assert_array_equal(shifted[:-1], want)
            np.testing.assert_array_equal(pool.stencil(array.tolist(), 5), want)
        unaligned = np.frombuffer(b"x" + array.tobytes(), np.uint8)[1:].view("f8").reshape(30, 40)
        np.testing.assert_array_equal(pools[1].stencil(unaligned, 5), want)

    def test_fewer_columns_than_workers(self, pools):
        for cols in (1, 2, 3, 4):
            array = matrix(5, cols)
            plan = pools[2].plan_stencil(5, cols, 6)
            assert len(plan.ring) == cols
            np.testing.assert_array_equal(pools[2].stencil(array, 6), iterated(array, 6, 0.25))


fractions = st.integers(1, 30).map(lambda k: Fraction(k, 4))


class TestPlans:
    @given(data=st.data())
    def test_against_all_rings_and_divisions(self, data):
        draw = data.draw
        p, cols = draw(st.integers(1, 4)), draw(st.integers(1, 7))
        scale = draw(st.sampled_from([Fraction(1, 8), Fraction(1), Fraction(8)]))
        times = [draw(fractions) for _ in range(p)]
        links = [
            [scale * draw(fractions) if i != j else Fraction(0) for j in range(p)] for i in range(p)
        ]
        platform = hs.Platform.complete([float(t) for t in times], np.array(links, float))
        with hs.Pool(platform, emulate=True) as pool:
            plan = pool.plan_stencil(10, cols, 3, dtype="f4")
            ring = draw(st.permutations(range(p)))[: draw(st.integers(1, p))]
            chosen = pool.plan_stencil(10, cols, 3, dtype="f4", ring=ring)
        column = [Fraction(7 * 8, 10**9) * t for t in times]
        boundary = [[Fraction(8 * 4, 10**9) * c for c in row] for row in links]
        best = best_step(cols, column, boundary)
        for x in (plan, chosen):
            counts = x.counts[x.ring].tolist()
            assert min(counts) >= 1
            assert sum(counts) == x.counts.sum() == cols
            assert x.displs[x.ring].tolist() == np.cumsum([0, *counts[:-1]]).tolist()
            assert x.step_time == pytest.approx(
                float(step_time(x.ring.tolist(), counts, column, boundary)), rel=1e-12
            )
            assert x.makespan == 3 * x.step_time
            assert x.lower_bound <= 3 * float(best) * (1 + 1e-12)
            assert x.step_time >= float(best) * (1 - 1e-12)
            if x.optimal:
                assert x.step_time == pytest.approx(float(best), rel=1e-11)
        if len(ring) <= cols:  # members that cost more than they do may be left out
            own = min(
                step_time(ring, counts, column, boundary) for counts in divisions(cols, len(ring))
            )
            assert chosen.step_time <= float(own) * (1 + 1e-12)
        members = [i for i in ring if chosen.counts[i]]
        assert chosen.ring.tolist() == members
        fewer = [
            step_time(members, counts, column, boundary) for counts in divisions(cols, len(members))
        ]
        assert chosen.step_time == pytest.approx(float(min(fewer)), rel=1e-12)

    def test_a_worker_that_only_slows_down_is_left_out(self):
        links = np.array([[0, 1, 50], [1, 0, 50], [50, 50, 0]]) * 100.0
        with hs.Pool(hs.Platform.complete([3, 5, 8], links), emulate=True) as pool:
            assert pool.plan_stencil(100, 300, 1).ring.tolist() == [0, 1]
            assert pool.plan_stencil(100, 300, 1, ring=[2, 0, 1]).ring.tolist() == [0, 1]
            assert pool.plan_stencil(100, 3, 1).ring.tolist() == [0]
            assert pool.plan_stencil(100, 30_000, 1).ring.tolist() == [0, 1, 2]

    def test_whole_columns_may_be_too_coarse_for_a_ring(self):
        """Halves would pay: 1.5 columns and messages as long as 1.25. Two columns and messages do
        not."""
        with hs.Pool(
            hs.Platform.complete([1, 1], np.full((2, 2), 1.25 * 7 / 16)),
            emulate=True,
            time_scale=1e3,
        ) as pool:
            plan = pool.plan_stencil(10, 3, 1)
            assert plan.counts.tolist() == [3, 0]
            assert plan.lower_bound == pytest.approx(plan.makespan * 2.75 / 3)
            assert pool.plan_stencil(10, 30, 1).counts.tolist() == [15, 15]

    def test_a_relay_gets_one_column(self):
        """Its messages alone take longer than balanced shares would; without it the ring of the
        others is dearer."""
        # times of messages in hundredths of the work on one
        links = 8.75 * np.array([[0, 8, 1], [8, 0, 1], [30, 30, 0]])
        with hs.Pool(hs.Platform.complete([1, 1, 1], links), emulate=True, time_scale=1e3) as pool:
            plan = pool.plan_stencil(102, 1000, 1)
            ring = hs.slice_ring(pool.platform, work=7000, volume=8, relays=True)
            assert (ring.shares > 0).tolist() == [True, True, False]
            for x in (plan, pool.plan_stencil(102, 1000, 1, ring=ring)):
                assert sorted(x.counts.tolist()) == [1, 499, 500]
                assert x.step_time / (x.work / 100) == pytest.approx(60.1)
                assert x.lower_bound / (x.work / 100) == pytest.approx(60)
            assert hs.slice_ring(pool.platform, work=100, volume=8 / 70).makespan == pytest.approx(
                66
            )

    @pytest.mark.parametrize(("name", "members"), [("lyon", 14), ("strasbourg", 8)])
    def test_the_papers_platforms(self, name, members):
        """Where a column is worth as much as W/H = 100, integers cost little."""
        source = getattr(hs.datasets, name)()
        platform = hs.Platform.complete(source.cycle_times, source.links * (7 * 10_000 / 100 / 8))
        with hs.Pool(platform, emulate=True, time_scale=1e3) as pool:
            plan = pool.plan_stencil(1002, 10_000, 1)
        assert plan.work / (plan.volume * 7 * 10_000 / 100 / 8) == pytest.approx(100)
        ring = hs.slice_ring(source, work=100, volume=1)
        assert plan.ring.tolist() == ring.ring.tolist()
        assert len(plan.ring) == members
        assert plan.lower_bound == pytest.approx(ring.makespan * plan.work / 100)
        assert plan.gap < 1e-3
        np.testing.assert_allclose(plan.counts / 10_000, ring.shares, atol=1e-4)

    @given(
        st.lists(
            st.tuples(fractions, st.integers(1, 9), fractions, fractions), min_size=1, max_size=5
        ),
        st.integers(0, 12),
    )
    def test_simulation(self, members, steps):
        """The model step by step, also where the last steps are uneven."""
        q = len(members)
        times, counts = [t for t, *_ in members], [n for _, n, *_ in members]
        links = [[0.0] * q for _ in range(q)]
        for k, (*_, after, before) in enumerate(members):
            if q > 1:
                links[k][k - 1] = float(before)
                links[k][(k + 1) % q] = float(after)
        update = [Fraction(7, 10**9) * n * t for n, t in zip(counts, times, strict=True)]
        pairs = [
            (
                (Fraction(links[k][(k + 1) % q]), Fraction(links[k][k - 1]))
                if q > 1
                else (Fraction(0),) * 2
            )
            for k in range(q)
        ]
        durations = [
            u + Fraction(8, 10**9) * (a + b) for u, (a, b) in zip(update, pairs, strict=True)
        ]
        slowest = float(max(durations))
        plan = hs.StencilPlan(
            method="",
            bound=0.0,
            optimal=False,
            scope="",
            shape=(3, sum(counts)),
            iterations=steps,
            ring=np.arange(q),
            counts=np.array(counts),
            displs=np.cumsum(counts) - counts,
            step_time=slowest,
            makespan=steps * slowest,
            itemsize=8,
            names=("",) * q,
            cycle_times=np.array(times, float),
            links=np.array(links),
        )
        want = [float(end) for end in ends(steps, durations)]
        np.testing.assert_allclose(plan.finish, want, rtol=1e-12)
        simulated = hs.simulate(plan)
        np.testing.assert_allclose(simulated.finish, want, rtol=1e-12)
        assert simulated.makespan == pytest.approx(plan.makespan)
        least = {
            k: (float(u), *(8e-9 * float(c) for c in pair))
            for k, (u, pair) in enumerate(zip(update, pairs, strict=True))
        }
        validate(simulated.events, range(q), steps, plan.names, "with ", least)

    @given(data=st.data())
    def test_affine_costs_against_all_rings_and_divisions(self, data):
        """A worker with a large overhead gets less, or nothing; also one alone pays its own. A
        message takes its latency whatever its size."""
        draw = data.draw
        p, cols = draw(st.integers(1, 4)), draw(st.integers(1, 6))
        times = [draw(fractions) for _ in range(p)]
        links = [[draw(fractions) if i != j else Fraction(0) for j in range(p)] for i in range(p)]
        column = [Fraction(7 * 8, 10**9) * t for t in times]
        fixed = [draw(st.sampled_from([0, 1, 3, 20])) * min(column) for _ in range(p)]
        waits = [
            [draw(st.sampled_from([0, 1, 3])) * min(column) for _ in range(p)] for _ in range(p)
        ]
        platform = hs.Platform.complete([float(t) for t in times], np.array(links, float))
        given_times = [float(x) for x in fixed]
        costs = {"overheads": given_times, "latencies": np.array(waits, float).reshape(p, p)}
        with hs.Pool(platform, emulate=True) as pool:
            plan = pool.plan_stencil(10, cols, 3, dtype="f4", **costs)
            again = hs.Plan.from_dict(plan.to_dict()).on(platform)
        boundary = [
            [Fraction(8 * 4, 10**9) * c + x for c, x in zip(row, own, strict=True)]
            for row, own in zip(links, waits, strict=True)
        ]
        best = best_step(cols, column, boundary, fixed)
        own = step_time(plan.ring.tolist(), plan.counts[plan.ring], column, boundary, fixed)
        assert plan.step_time == pytest.approx(float(own), rel=1e-12)
        assert plan.step_time >= float(best) * (1 - 1e-12)
        assert plan.lower_bound <= 3 * float(best) * (1 + 1e-12)
        assert not plan.optimal or plan.step_time == pytest.approx(float(best), rel=1e-11)
        assert (again.step_time, hs.simulate(plan).makespan) == pytest.approx(
            (plan.step_time, plan.makespan), rel=1e-12
        )
        if any(fixed):
            assert again.overheads.tolist() == given_times

    def test_the_worker_with_the_least_time_and_overhead_works_alone(self):
        platform = hs.Platform.complete([3, 5], [[0, 1e6], [1e6, 0]])
        with hs.Pool(platform, emulate=True) as pool:
            fixed = [3e-3, 0.0]
            assert pool.plan_stencil(100, 300, 1).counts.tolist() == [300, 0]
            assert pool.plan_stencil(100, 300, 1, overheads=fixed).counts.tolist() == [0, 300]
            assert pool.plan_stencil(100, 300, 1, overheads=0.0).overheads is None
            assert pool.plan_stencil(100, 300, 1, latencies=0.0).latencies is None

    def test_what_a_plan_says(self):
        with hs.Pool(PLATFORM, emulate=True) as pool:
            plan = pool.plan_stencil(302, 400, 5, ring=hs.slice_ring(PLATFORM, work=1, volume=0.01))
        assert plan.ring.tolist() == [0, 1, 2]
        assert plan.work == pytest.approx(7 * 300 * 400 / 1e9)
        assert plan.volume == pytest.approx(300 * 8 / 1e9)
        np.testing.assert_allclose(plan.exchange_times / plan.volume, [[2, 9], [3, 4], [9, 1]])
        np.testing.assert_allclose(plan.update_times, plan.work * plan.counts / 400 * [3, 5, 8])
        assert plan.step_time == pytest.approx(
            (plan.update_times + plan.exchange_times.sum(1)).max()
        )
        assert plan.exchange_labels == [
            ("with P1", "with P2"),
            ("with P2", "with P0"),
            ("with P0", "with P1"),
        ]
        assert plan.to_dict()["counts"] == plan.counts.tolist()
        assert "(given ring)" in str(plan.certificate)
        assert plan.names == ("P0", "P1", "P2")

    @pytest.mark.slow
    def test_picture(self, emulated):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        for steps, shown in ((0, 0), (2, 2), (50, 3)):
            ax = emulated.plan_stencil(102, 400, steps).plot()
            assert (
                len({text.get_text() for text in ax.texts if text.get_text().startswith("step")})
                == shown
            )
            matplotlib.pyplot.close("all")

    def test_nothing_to_do(self, pools, emulated):
        for pool in (*pools, emulated):
            for rows, steps in ((1, 5), (2, 5), (9, 0)):
                plan = pool.plan_stencil(rows, 30, steps)
                assert plan.makespan == plan.lower_bound == plan.gap == 0.0
                assert plan.optimal
                array = matrix(rows, 30)
                result, trace = pool.stencil(array, steps, trace=True)
                np.testing.assert_array_equal(result, array)
                assert trace.predicted == 0.0

    @pytest.mark.parametrize(("ring", "entries"), [([1], 1), ([0, 1], 6)])
    def test_entries_of_a_schedule(self, emulated, monkeypatch, ring, entries):
        """Three for each member in a step, but none of an exchange that takes no time."""
        monkeypatch.setattr("hetsched.planners.stencil.MOST_STEPS", 4 * entries)
        assert len(emulated.plan_stencil(9, 8, 4, ring=ring).steps()) == 4 * entries
        with pytest.raises(ValueError, match="more than .* entries"):
            emulated.plan_stencil(9, 8, 5, ring=ring).steps()

    def test_a_given_ring_needs_no_search(self, emulated, monkeypatch):
        """Between stretches of a run with many workers all workers would wait for it."""
        monkeypatch.setattr("hetsched.planners.stencil.slice_ring", None)
        members = Members(np.ones(3), np.ones((3, 3)), ("a", "b", "c"))
        plan = plan_stencil(9, 8, 3, members, 8, [2, 0, 1], bounded=False)
        assert plan.bound == 0.0
        assert plan.ring.tolist() == [2, 0, 1]

    def test_deterministic(self, emulated):
        plans = [emulated.plan_stencil(50, 70, 2).to_dict() for _ in range(3)]
        assert plans[0] == plans[1] == plans[2]


class TestDistributeAfter:
    @given(
        st.lists(st.tuples(st.floats(0.01, 100), st.floats(0, 300)), min_size=1, max_size=6),
        st.integers(0, 200),
    )
    def test_one_by_one(self, workers, n):
        times, starts = (np.array(x) for x in zip(*workers, strict=True))
        counts = allocate.distribute_after(n, times, starts)
        assert counts.sum() == n
        greedy = [0] * len(times)
        for _ in range(n):
            greedy[
                min(
                    range(len(times)),
                    key=lambda i: Fraction(starts[i]) + (greedy[i] + 1) * Fraction(times[i]),
                )
            ] += 1
        latest = [
            max((s + k * t for k, t, s in zip(x, times, starts, strict=True) if k), default=0.0)
            for x in (counts, greedy)
        ]
        assert latest[0] == pytest.approx(latest[1], rel=1e-14)


class TestEmulation:
    def test_workers_take_the_time_they_should(self, emulated):
        array = matrix(302, 400)
        plan = emulated.plan_stencil(302, 400, 6)
        result, trace = emulated.stencil(array, 6, trace=True)
        np.testing.assert_array_equal(result, iterated(array, 6, 0.25))
        assert trace.kind == "emulated"
        assert trace.predicted == pytest.approx(SCALE * plan.makespan)
        assert trace.makespan >= trace.predicted
        assert trace.predicted_finish == pytest.approx(
            [SCALE * t for t in hs.simulate(plan).finish]
        )
        assert all(
            real >= wanted - 1e-9
            for real, wanted in zip(trace.finish, trace.predicted_finish, strict=True)
        )
        assert trace.ideal == pytest.approx(SCALE * 6 * plan.work / (1 / 3 + 1 / 5 + 1 / 8))
        parts = {
            i: tuple(SCALE * t for t in (u, *pair))
            for i, u, pair in zip(
                plan.ring.tolist(), plan.update_times, plan.exchange_times.tolist(), strict=True
            )
        }
        validate(trace.events, plan.ring.tolist(), 6, trace.workers, "with ", parts)
        simulated = hs.simulate(plan)
        for worker in range(3):  # the same events in the same order
            assert [e[1::3] for e in trace.events if e.worker == worker and e.kind != "wait"] == [
                e[1::3] for e in simulated.events if e.worker == worker and e.kind != "wait"
            ]

    def test_overheads_take_their_time(self, emulated):
        """In every step, within the update; the plan's, as the pool has none."""
        array, fixed = matrix(302, 90), [4e-4, 0.0, 2e-4]
        plain = emulated.plan_stencil(302, 90, 5)
        plan = emulated.plan_stencil(302, 90, 5, ring=[0, 1, 2], overheads=fixed)
        assert plan.ring.tolist() == [0, 1, 2]
        assert plan.counts[0] < plain.counts[0]
        result, trace = emulated.stencil(array, 5, plan=plan, trace=True)
        np.testing.assert_array_equal(result, iterated(array, 5, 0.25))
        assert trace.makespan >= trace.predicted == pytest.approx(SCALE * plan.makespan)
        updates = plan.work / 90 * plan.counts * [3, 5, 8] + fixed
        np.testing.assert_allclose(plan.update_times, updates, rtol=1e-12)
        parts = {
            i: tuple(SCALE * t for t in (updates[i], *pair))
            for i, pair in enumerate(plan.exchange_times.tolist())
        }
        validate(trace.events, [0, 1, 2], 5, trace.workers, "with ", parts)
        assert all(
            real >= wanted - 1e-9
            for real, wanted in zip(trace.finish, trace.predicted_finish, strict=True)
        )
        alone = emulated.plan_stencil(302, 90, 5, ring=[1], overheads=1e-3)
        _, trace = emulated.stencil(array, 5, plan=alone, trace=True)
        assert trace.predicted == pytest.approx(SCALE * 5 * (alone.work * 5 + 1e-3))
        assert trace.makespan >= trace.predicted

    def test_latencies_take_their_time(self, emulated):
        array, waits = matrix(302, 90), np.array([[0, 3, 1], [2, 0, 4], [1, 2, 0]]) * 1e-4
        plan = emulated.plan_stencil(302, 90, 5, ring=[0, 1, 2], latencies=waits)
        plain = emulated.plan_stencil(302, 90, 5, ring=[0, 1, 2])
        pairs = [[3e-4, 1e-4], [4e-4, 2e-4], [1e-4, 2e-4]]
        np.testing.assert_allclose(plan.exchange_times, plain.exchange_times + pairs, rtol=1e-12)
        result, trace = emulated.stencil(array, 5, plan=plan, trace=True)
        np.testing.assert_array_equal(result, iterated(array, 5, 0.25))
        assert trace.makespan >= trace.predicted == pytest.approx(SCALE * plan.makespan)
        parts = {
            i: tuple(SCALE * t for t in (own, *pair))
            for i, own, pair in zip(
                range(3), plan.update_times, plan.exchange_times.tolist(), strict=True
            )
        }
        validate(trace.events, [0, 1, 2], 5, trace.workers, "with ", parts)

    def test_overheads_on_real_cores_are_only_planned(self):
        with hs.Pool(2) as pool:
            plan = pool.plan_stencil(30, 40, 3, overheads=10.0)
            assert plan.makespan >= 30.0
            _, trace = pool.stencil(matrix(30, 40), 3, plan=plan, trace=True)
            assert trace.makespan < 10.0

    def test_every_ring_takes_its_own_time(self, emulated):
        array = matrix(302, 90)
        predicted = set()
        for ring in [*permutations(range(3)), (0, 1), (2, 1), (1,)]:
            plan = emulated.plan_stencil(302, 90, 2, ring=ring)
            assert sorted(plan.ring.tolist()) == sorted(i for i in ring if plan.counts[i])
            result, trace = emulated.stencil(array, 2, plan=plan, trace=True)
            np.testing.assert_array_equal(result, iterated(array, 2, 0.25))
            assert trace.makespan >= trace.predicted == pytest.approx(SCALE * plan.makespan)
            predicted.add(round(plan.makespan, 12))
        assert len(predicted) > 3

    def test_the_pools_times_count(self, emulated):
        """A plan made for others is kept, with what it takes here; a ring is divided anew."""
        with hs.Pool(hs.Platform.star([1, 1, 1]), emulate=True, time_scale=20.0) as other:
            plan = other.plan_stencil(102, 90, 9)
            assert plan.counts.tolist() == [30, 30, 30]
            _, trace = other.stencil(np.ones((102, 90)), 1, plan=plan, trace=True)
            assert not any(trace.total("transfer"))
        _, trace = emulated.stencil(np.ones((102, 90)), 2, plan=plan, trace=True)
        step = float(
            step_time(
                [0, 1, 2],
                [30] * 3,
                [Fraction(7 * t, 10**7) for t in (3, 5, 8)],
                [[Fraction(c * 8, 10**7) for c in row] for row in LINKS],
            )
        )
        assert trace.predicted == pytest.approx(SCALE * 2 * step)
        ring = hs.slice_ring([1, 1, 1], 0.001, 1, 1)
        _, trace = emulated.stencil(np.ones((102, 90)), 2, plan=ring, trace=True)
        assert trace.predicted < SCALE * 2 * step

    def test_waiting_takes_no_core(self):
        """Two fast neighbours of a slow worker, which has far too much to do."""
        slow = hs.Platform.star([1, 400, 1])
        with hs.Pool(hs.Platform.star([1, 1, 1]), emulate=True, time_scale=20.0) as pool:
            plan = pool.plan_stencil(102, 90, 9)
        with hs.Pool(slow, emulate=True, time_scale=8.0) as pool:
            _, trace = pool.stencil(np.ones((102, 90)), 4, plan=plan, trace=True)
        assert trace.makespan >= trace.predicted > 0.2
        assert sum(trace.cpu) < 0.5 * trace.makespan

    def test_what_the_host_cannot_do(self):
        rate = 1.5e-9 * update_rate(np.dtype("f8"), 300, 300)
        fast, message = (
            hs.Platform.star(speeds=[rate]),
            r"platform is too fast .*this stencil, float64",
        )
        with hs.Pool(fast, emulate=True) as pool, pytest.raises(ValueError, match=message):
            pool.stencil(np.ones((300, 300)), 1)
        with hs.Pool(hs.Platform.star([3, 5], [0.1, 0.1]), emulate=True) as pool:
            with pytest.raises(ValueError, match="the platform is a star whose links have costs"):
                pool.stencil(np.ones((30, 30)), 1)
            with pytest.raises(ValueError, match="the platform is a star whose links have costs"):
                pool.plan_stencil(30, 30, 1)
        # at real speed they do not matter
        with hs.Pool(hs.Platform.star([3, 5], [0.1, 0.1])) as pool:
            assert pool.stencil(np.ones((30, 30)), 1).sum() == 900


def test_progress_and_its_errors(emulated):
    seen = []

    def watch(fraction):
        seen.append(fraction)
        if len(seen) == 3:
            raise EOFError("enough")

    out = np.full((302, 400), 7.0)
    with pytest.raises(EOFError, match="enough"):
        emulated.stencil(matrix(302, 400), 10_000, out=out, progress=watch)
    assert len(seen) == 3
    assert seen == sorted(seen)
    assert all(0 <= x <= 1 for x in seen)
    assert (out == 7).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "workers",
    ["2", "hs.Platform.complete([3, 5, 8], [[0, 2, 9], [4, 0, 3], [9, 1, 0]]), emulate=True"],
)
def test_ctrl_c_leaves_out_alone(workers):
    code = f"""
        import time
        import numpy as np, hetsched as hs
        pool, out = hs.Pool({workers}), np.full((500, 500), 7.0)
        print("ready", flush=True)
        try:
            pool.stencil(np.ones((500, 500)), 10**8, out=out)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), (out == 7).all(), flush=True)
        """
    assert interrupted(code) == ["True"]


SQUARE = np.ones((4, 4))
READ_ONLY = np.ones((4, 4))
READ_ONLY.flags.writeable = False
with hs.Pool(2) as _two, hs.Pool(3) as _three:
    PLAN, OTHER = _two.plan_stencil(4, 4, 1), _three.plan_stencil(4, 4, 1)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        (
            (np.ones(4), 1),
            {},
            ValueError,
            r"U must be a matrix with at least one element, got shape \(4,\)",
        ),
        (
            (np.ones((4, 0)), 1),
            {},
            ValueError,
            r"U must be a matrix with at least one element, got shape \(4, 0\)",
        ),
        (
            (np.ones((4, 4), int), 1),
            {},
            TypeError,
            "U has dtype int64; a stencil takes float32 and float64",
        ),
        ((SQUARE.astype(">f8"), 1), {}, TypeError, "U has dtype >f8"),
        ((SQUARE.astype(complex), 1), {}, TypeError, "U has dtype complex128"),
        ((SQUARE, -1), {}, ValueError, "steps must be in"),
        ((SQUARE, 2**30), {}, ValueError, "steps must be in"),
        ((SQUARE, 1.5), {}, ValueError, "steps must be an integer"),
        ((SQUARE, "1"), {}, TypeError, "steps must be an integer"),
        ((SQUARE, -1), {"plan": PLAN}, ValueError, "steps must be in"),
        (
            (SQUARE, 2**29),
            {"trace": True},
            ValueError,
            "trace would have up to 3221225472 events, at most 2147483647 are possible",
        ),
        ((SQUARE, 1), {"weight": np.nan}, ValueError, "weight must be finite, got nan"),
        ((SQUARE, 1), {"weight": "1"}, TypeError, "weight must be a number"),
        (
            (SQUARE.astype("f"), 1),
            {"weight": 1e39},
            ValueError,
            r"weight must be finite in float32, got 1e\+39",
        ),
        (
            (SQUARE, 1),
            {"plan": hs.distribute(4, [1, 2])},
            TypeError,
            "plan must be one of plan_stencil or slice_ring",
        ),
        ((SQUARE, 1), {"plan": OTHER}, ValueError, "plan is for 3 workers, the pool has 2"),
        (
            (SQUARE, 1),
            {"plan": hs.slice_ring([1, 2, 3], 0.0, 1, 1)},
            ValueError,
            "plan is for 3 workers, the pool has 2",
        ),
        (
            (np.ones((4, 5)), 1),
            {"plan": PLAN},
            ValueError,
            r"plan is for a matrix of 4 x 4, U has shape \(4, 5\)",
        ),
        ((SQUARE, 1), {"out": [[1.0]]}, TypeError, "out must be an array"),
        (
            (SQUARE, 1),
            {"out": np.ones((4, 5))},
            ValueError,
            r"out has shape \(4, 5\), U has \(4, 4\)",
        ),
        ((SQUARE, 1), {"out": np.ones((4, 4), "f")}, TypeError, "out has dtype <f4, U has <f8"),
        ((SQUARE, 1), {"out": READ_ONLY}, ValueError, "out is read-only"),
        (
            (SQUARE, 1),
            {"out": np.lib.stride_tricks.as_strided(np.ones(7), (4, 4), (8, 8))},
            ValueError,
            "out overlaps itself",
        ),
    ],
)
def test_bad_arguments(arguments, keywords, error, message):
    with hs.Pool(2) as pool, pytest.raises(error, match=message):
        pool.stencil(*arguments, **keywords)
    assert (SQUARE == 1).all()


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((0, 4, 1), {}, ValueError, "rows must be in"),
        ((4, 0, 1), {}, ValueError, "cols must be in"),
        ((4, 4, -1), {}, ValueError, "steps must be in"),
        (
            (4, 4, 1),
            {"dtype": "complex64"},
            TypeError,
            "dtype complex64 is not one of float32, float64",
        ),
        ((4, 4, 1), {"ring": [0, 2]}, ValueError, r"ring\[1\] must be an integer in \[0, 1\]"),
        (
            (4, 4, 1),
            {"ring": [0, 0]},
            ValueError,
            r"ring must be a sequence of different workers, got \[0, 0\]",
        ),
        ((4, 4, 1), {"ring": []}, (ValueError, TypeError), "ring must be"),
        ((4, 4, 1), {"ring": 0}, ValueError, "ring must be a sequence of different workers"),
        ((4, 4, 1), {"overheads": -1.0}, ValueError, "overheads must be at least 0"),
        ((4, 4, 1), {"overheads": [1.0]}, ValueError, "overheads must be a number or have 2"),
        ((4, 4, 1), {"overheads": "x"}, TypeError, "overheads must be a number"),
        ((4, 4, 1), {"latencies": -1.0}, ValueError, "latencies must be"),
        ((4, 4, 1), {"latencies": [1.0, 2.0]}, ValueError, "latencies must"),
        ((4, 4, 1), {"latencies": "x"}, TypeError, "latencies must"),
        ((4, 4, 1), {"ring": "ab"}, TypeError, "ring must be an integer or an array of integers"),
    ],
)
def test_bad_plans(arguments, keywords, error, message):
    with hs.Pool(2) as pool, pytest.raises(error, match=message):
        pool.plan_stencil(*arguments, **keywords)


def test_closed_pool():
    pool = hs.Pool(2)
    pool.close()
    with pytest.raises(ValueError, match="the pool is closed"):
        pool.stencil(SQUARE, 1)


def test_a_schedule_too_long_to_write_down():
    """2^30 steps were made one by one; the makespan and the ends need none of them."""
    platform = hs.Platform.complete([1, 2, 3, 4], np.full((4, 4), 1e-3))
    with hs.Pool(platform, emulate=True, time_scale=8) as pool:
        long, short = (pool.plan_stencil(100, 100, steps) for steps in (2**30 - 1, 1000))
    with pytest.raises(ValueError, match="schedule of 1073741823 steps"):
        hs.simulate(long)
    assert max(long.finish) == pytest.approx(long.makespan, rel=1e-12)
    np.testing.assert_allclose(
        long.makespan - long.finish[long.ring], short.makespan - short.finish[short.ring], atol=1e-6
    )
