"""hetsched.dynamic_product: every decision against a slow master with the same draws, the expected
volume against the mean of draws, drifting speeds against static plans, runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from oracles.dynamic import handed_out
from validators import validate

import hetsched as hs
from hetsched.mpi.linalg import of_product
from hetsched.planners.cover import require_boxes
from hetsched.planners.dynamic import KINDS, METHODS
from hetsched.planners.product_methods import plan_of_demand

AXES = {"outer": 2, "matrix": 3}


@given(
    st.sampled_from(KINDS), st.sampled_from(METHODS), st.integers(0, 7),
    st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0, math.inf]), min_size=1, max_size=5).filter(
        lambda times: min(times) < math.inf
    ),
    st.floats(0, 5), st.integers(0, 2**63 - 1),
)  # fmt: skip
def test_decisions(kind, method, n, times, beta, seed):
    n = min(n, 4) if kind == "matrix" else n
    options = {"beta": beta} if method == "dynamic-2phases" else {}
    plan = hs.dynamic_product(n, times, kind=kind, method=method, seed=seed, **options)
    log, sent, held = handed_out(n, AXES[kind], times, method, beta, seed)
    width = 1 + AXES[kind]
    assert plan.tasks[:, :width].tolist() == [list(task) for task in log]
    assert plan.sent.tolist() == sent
    for worker, blocks in enumerate(held):
        names = [name for name, _ in blocks]
        assert plan.blocks[worker].tolist() == [names.count(name) for name in "ABC"]
    validate(plan)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_small_sizes(kind, method):
    d = AXES[kind]
    for n in (0, 1, 2):
        for p in (1, 2, 9):  # also more workers than tasks
            plan = hs.dynamic_product(n, [1.0] * p, kind=kind, method=method)
            validate(plan)
            assert len(plan.tasks) == n**d
            if p == 1:
                assert plan.volume == plan.bound == d * n ** (d - 1)
                assert plan.optimal
                assert plan.makespan == plan.makespan_bound == n**d
    if method != "sorted":
        assert hs.dynamic_product(0, [1.0], kind=kind, method=method).predicted == 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["random", "dynamic", "dynamic-2phases"])
def test_expected_volume(kind, method):
    """The mean of draws is near the prediction. Of "dynamic" it is below: a worker with few indices
    left to draw gets batches, where the differential equation has single tasks."""
    near = {"random": 0.02, "dynamic": 0.15, "dynamic-2phases": 0.07}[method]
    rng = np.random.default_rng(1)
    n = 60 if kind == "outer" else 20
    for p in (10, 40):
        speeds = rng.uniform(10, 100, p)
        plans = [
            hs.dynamic_product(n, speeds=speeds, kind=kind, method=method, seed=seed)
            for seed in range(many(10, 4))
        ]
        mean = np.mean([plan.volume for plan in plans])
        assert mean == pytest.approx(plans[0].predicted, rel=near)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n", "p"), [("outer", 100, 20), ("matrix", 40, 100)])
def test_the_threshold_is_best(kind, n, p):
    """Near the analysed beta the volume is least: no other beta is better by more than 3 %."""
    speeds = np.random.default_rng(5).uniform(10, 100, p)

    def volume(beta):
        plans = [
            hs.dynamic_product(n, speeds=speeds, kind=kind, beta=beta, seed=s) for s in range(3)
        ]
        return np.mean([plan.volume for plan in plans])

    best = hs.dynamic_product(n, speeds=speeds, kind=kind).beta
    others = [volume(beta) for beta in np.arange(1.0, 9.0, 0.5)]
    assert volume(best) <= 1.03 * min(others)
    # and two phases beat the methods that they are made of
    for method in ("random", "dynamic", "sorted"):
        other = hs.dynamic_product(n, speeds=speeds, kind=kind, method=method)
        assert volume(best) < other.volume


def test_a_worker_that_asks_is_never_idle():
    """For one task at a time: the last one begins before all others can have been done."""
    rng = np.random.default_rng(2)
    for seed in range(20):
        times = rng.uniform(0.5, 3.0, int(rng.integers(1, 8)))
        for method in ("random", "sorted"):
            plan = hs.dynamic_product(7, times, method=method, seed=seed)
            most = (49 - 1) / (1 / times).sum() + times.max()
            assert plan.makespan <= most * (1 + 1e-12)


def test_scaled_and_permuted():
    times = np.array([1.0, 3.0, 4.0, 0.5])
    plan = hs.dynamic_product(12, times)
    twice = hs.dynamic_product(12, 2 * times)
    assert np.array_equal(twice.tasks, plan.tasks)
    assert twice.makespan == 2 * plan.makespan
    # one task at a time: who asks first is decided by the times alone, but at the start
    odd = np.sqrt([2.0, 3.0, 5.0, 7.0])
    one = hs.dynamic_product(12, odd, method="sorted")
    two = hs.dynamic_product(12, odd[::-1], method="random")
    assert one.load.tolist() == two.load.tolist()[::-1]
    assert one.makespan == two.makespan
    useless = hs.dynamic_product(12, [*times, math.inf])
    assert np.array_equal(useless.tasks, plan.tasks)
    assert useless.volume == plan.volume


class TestDrift:
    """The run is planned with the speeds as they change, so it loses nothing to them."""

    times = [1.0, 1.0, 2.0]
    drift = [(60.0, hs.Platform.star([6.0, 1.0, 0.5]))]

    @pytest.mark.parametrize("method", METHODS)
    def test_the_run_is_the_simulation(self, method):
        plan = hs.dynamic_product(20, self.times, method=method, drift=self.drift)
        validate(plan)
        run = hs.simulate(plan, drift=self.drift)
        assert run.makespan >= run.ideal * (1 - 1e-12)
        # at the end no worker waits longer than another one takes for what it was given at once
        most = 6.0 * (1 if method in ("random", "sorted") else 40)
        assert run.makespan - min(run.finish) <= most
        last: dict[int, float] = {}
        for event in sorted(run.events, key=lambda e: e.start):
            assert event.start >= last.get(event.worker, 0.0)
            last[event.worker] = event.end

    def test_static_zones_lose(self):
        static = hs.partition(hs.Platform.star(self.times), shape=(20, 20))
        demand = hs.dynamic_product(20, self.times, drift=self.drift)
        slow, fast = (hs.simulate(plan, drift=self.drift) for plan in (static, demand))
        assert fast.makespan < 0.6 * slow.makespan
        assert fast.makespan <= 1.1 * fast.ideal
        assert demand.volume > static.cost  # what it costs

    def test_no_change_is_no_drift(self):
        plan = hs.dynamic_product(9, self.times, seed=3)
        late = hs.dynamic_product(9, self.times, seed=3, drift=[(1e9, hs.Platform.star([1, 1, 1]))])
        assert late.to_dict() == plan.to_dict()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [(50, 60, 20), (3, 4, 5), (8, 1, 1), (0, 5, 3), (5, 6, 0)])
def test_runs(kind, method, sizes):
    (m, n, k), rng = sizes, np.random.default_rng(0)
    A, B = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    plan = hs.dynamic_product(6, [1.0, 2.0, 2.0], kind=kind, method=method)
    with hs.Pool(3) as pool:
        C, trace = pool.run(plan, A, B, trace=True)
        np.testing.assert_allclose(C, A @ B, rtol=1e-12, atol=1e-12)
        assert {event.worker for event in trace.events} <= {0, 1, 2}
        out = np.ones((m, n))
        pool.run(plan, A, B, out, 2.0, 0.5)
        np.testing.assert_allclose(out, 2 * A @ B + 0.5, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_as_a_product(kind, method):
    """The boxes of the run: the same tasks in the same order, the same bytes, the same time."""
    platform = hs.Platform.star([1.0, 2.0, 3.5], unit=hs.Unit.gigaflop())
    plan, side = hs.dynamic_product(6, platform, kind=kind, method=method), 120
    found = plan_of_demand(plan, side, side, side, platform, 8, 2.0, "once")
    require_boxes(found)
    assert found.boxes[:, 0].tolist() == plan.tasks[:, 0].tolist()
    assert (found.boxes[:, 1:4] // 20).tolist() == plan.tasks[:, 1:].tolist()
    depth = 20 if kind == "matrix" else side
    assert found.boxes[:, 4:].tolist() == [[20, 20, depth]] * len(plan.tasks)
    assert found.sent.sum() == plan.blocks[:, :2].sum() * 20 * depth * 8
    end = found.makespan if found.layers is None else found.layers.start
    assert end == pytest.approx(plan.makespan * 2 * 20 * 20 * depth / 1e9, rel=1e-12)
    if found.layers is not None:  # each worker has a layer of nearly all of C, and is sent the rest
        held = sum(
            np.prod(np.ptp(np.concatenate((own[:, :2], own[:, :2] + 1)), axis=0)) * 400
            for own in (plan.tasks[plan.tasks[:, 0] == w, 1:] for w in range(3))
        )
        added = found.layers.flops.sum() + side * side
        assert added == held


class TestArguments:
    def test_refused(self):
        for options, error, words in [
            ({"n": -1}, ValueError, "n must be in"),
            ({"n": 1001}, ValueError, r"n must give at most 1000000 tasks, got 1001\*\*2"),
            ({"n": 101, "kind": "matrix"}, ValueError, "at most 1000000 tasks"),
            ({"kind": "inner"}, ValueError, "kind must be one of outer, matrix"),
            ({"method": "greedy"}, ValueError, "method must be one of dynamic-2phases"),
            ({"beta": -1.0}, ValueError, "beta must be at least 0"),
            ({"beta": math.nan}, ValueError, "beta must be finite"),
            ({"beta": 1.0, "method": "random"}, ValueError, "beta is for method"),
            ({"seed": -1}, ValueError, "seed must be in"),
            ({"drift": 3}, TypeError, "drift must be a sequence"),
            ({"drift": [(1.0, hs.Platform.star([1.0]))]}, ValueError, "drift.0. has 1 workers"),
            ({"cycle_times": [1e308, 1e308]}, ValueError, "the makespan overflows"),
            (
                {"cycle_times": [1.0, 1e308], "drift": [(0.0, hs.Platform.star([1.0, 0.1]))]},
                ValueError,
                "the makespan overflows",
            ),
            ({"cycle_times": [0.0, 1.0]}, ValueError, "cycle_times.0. must be positive"),
        ]:
            given = {"n": 3, "cycle_times": [1.0, 2.0]} | options
            with pytest.raises(error, match=words):
                hs.dynamic_product(**given)
        with pytest.raises(TypeError, match="n must come first"):
            hs.dynamic_product([1.0, 2.0], 3)

    def test_plans_by_hand(self):
        plan = hs.dynamic_product(3, [1.0, 2.0])
        other = plan.tasks.copy()
        other[0] = other[1]
        fewer = plan.sent.copy()
        fewer[0, 0] -= 1
        for changed, words in [
            ({"tasks": other}, "each of 9 tasks once"),
            ({"tasks": plan.tasks + [0, 3, 0, 0]}, "must be worker, row, col, depth below"),
            ({"sent": fewer, "volume": plan.volume - 1}, "sent must give worker . at least the"),
            ({"volume": plan.volume + 1}, "volume must be the sum of sent"),
            ({"n": 4}, "each of 16 tasks once"),
        ]:
            with pytest.raises(ValueError, match=words):
                replace(plan, **changed)

    def test_runs_are_refused(self):
        ones = np.ones((6, 6))
        with hs.Pool(2) as pool:
            with pytest.raises(ValueError, match="the pool has 2"):
                pool.run(hs.dynamic_product(3, [1.0] * 3), ones, ones)
            plan = hs.dynamic_product(3, [1.0] * 2)
            with pytest.raises(ValueError, match="communication must be one of once"):
                pool.run(plan, ones, ones, communication="sequential")
            with pytest.raises(ValueError, match="plan has no blocks"):
                pool.run(hs.dynamic_product(0, [1.0] * 2), ones, ones)

    def test_ranks_have_layers_in_one_place(self):
        platform = hs.Platform.star([1.0, 2.0], unit=hs.Unit.gigaflop())
        plan = hs.dynamic_product(3, platform, kind="matrix")
        boxes = plan_of_demand(plan, 9, 9, 9, platform, 8, 2.0, "once")
        with pytest.raises(ValueError, match="boxes of a rank at several places of C"):
            of_product(boxes, (9, 9, 9), np.dtype(np.float64), 2)
