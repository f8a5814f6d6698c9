"""hetsched.lu_grid: maps dealt line by line, loads and traffic against a recount of every step."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
import stages
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.grid import ABOVE, BESIDE, deal, recount, step_bound

import hetsched as hs
from hetsched.planners.lu_grid import METHODS

INF, NAN = float("inf"), float("nan")
METHODS_OF_ITS_OWN = [m for m in METHODS if m != "best"]


@st.composite
def plans(draw, workers):
    """A floorplan of straight cuts of the given workers."""
    if len(workers) == 1:
        return [workers[0]]
    cut = draw(st.integers(1, len(workers) - 1))
    return [
        *draw(plans(workers[:cut])),
        *draw(plans(workers[cut:])),
        draw(st.sampled_from([BESIDE, ABOVE])),
    ]


class TestEngine:
    @given(
        n=st.integers(1, 9),
        times=st.lists(st.integers(1, 6).map(float), min_size=1, max_size=5),
        data=st.data(),
    )
    def test_any_map(self, n, times, data):
        p = len(times)
        rows = data.draw(
            st.lists(
                st.lists(st.integers(0, p - 1), min_size=n, max_size=n), min_size=n, max_size=n
            )
        )
        owner = np.array(rows, np.int32)
        before = owner.copy()
        loads, traffic, received = stages.lu_grid_evaluate(owner, np.array(times))
        wanted = recount(rows, times)
        assert (loads.tolist(), traffic.tolist(), received.tolist()) == (
            [float(x) for x in wanted[0]],
            *wanted[1:],
        )
        assert (owner == before).all()

    @given(
        n=st.integers(1, 12),
        times=st.lists(st.integers(1, 8).map(float), min_size=1, max_size=7),
        data=st.data(),
    )
    def test_any_floorplan(self, n, times, data):
        order = data.draw(st.permutations(range(len(times))))
        plan = data.draw(plans(order))
        owner = stages.lu_grid_deal(n, np.array(times), np.array(plan, np.int32))
        assert owner.tolist() == deal(n, times, plan)

    @given(
        n=st.integers(1, 8), times=st.lists(st.integers(1, 9).map(float), min_size=1, max_size=4)
    )
    def test_bound(self, n, times):
        bounds = stages.lu_grid_bound(n, np.array(times)).tolist()
        assert bounds == [float(step_bound((n - 1 - k) ** 2, times)) for k in range(n)]

    @pytest.mark.parametrize(
        "plan", [[], [0, 1], [0, 0, BESIDE], [0, BESIDE], [0, 3, BESIDE], [0, 1, 2, 0, 1, -3], [2]]
    )
    def test_no_floorplan(self, plan):
        with pytest.raises(ValueError, match="outside its documented range"):
            stages.lu_grid_deal(4, np.array([1.0, 2.0, INF]), np.array(plan, np.int32))

    def test_deep_floorplan(self):
        """A spiral that cuts off one line after another."""
        n, p = 60, 119
        plan = [0]
        for w in range(1, p):
            plan += [w, BESIDE if w % 2 else ABOVE]
        times = np.concatenate(([1.0], 2.0 ** np.minimum(np.arange(p - 1), 40)))
        owner = stages.lu_grid_deal(n, times, np.array(plan, np.int32))
        assert owner.tolist() == deal(n, times.tolist(), plan)


class TestMethods:
    @pytest.mark.parametrize("method", METHODS)
    @settings(max_examples=15)
    @given(
        n=st.integers(1, 10),
        times=st.lists(st.sampled_from([1.0, 2.0, 2.5, 3.0, 7.0, INF]), min_size=1, max_size=6),
    )
    def test_plan(self, method, n, times):
        if not np.isfinite(times).any():
            times = [*times, 1.0]
        given_times = np.array(times)
        grid = hs.lu_grid(n, given_times, method)
        loads, traffic, received = recount(grid.owner.tolist(), times)
        assert grid.loads.tolist() == [float(x) for x in loads]
        assert grid.traffic.tolist() == traffic
        assert grid.received.tolist() == received
        assert grid.counts.tolist() == [int((grid.owner == w).sum()) for w in range(len(times))]
        assert not grid.counts[np.isinf(times)].any()
        assert grid.makespan == pytest.approx(float(sum(loads)))
        bound = float(sum(step_bound((n - 1 - k) ** 2, times) for k in range(n)))
        assert grid.lower_bound == pytest.approx(min(bound, grid.makespan))
        assert grid.lower_bound <= grid.makespan
        rate = sum(1 / Fraction(t) for t in times if t < INF)
        assert grid.ideal.tolist() == pytest.approx(
            [float((n - 1 - k) ** 2 / rate) for k in range(n)]
        )
        assert (grid.ideal <= grid.loads * (1 + 1e-12)).all()
        assert grid.optimal == (grid.makespan <= bound * (1 + 1e-12))
        assert grid.cost == grid.makespan
        assert hs.simulate(grid).makespan == pytest.approx(grid.makespan)
        busy = np.zeros(len(times))
        for step in grid.steps():
            busy[step.worker] += step.end - step.start
        finite = np.where(np.isinf(times), 0.0, times)
        assert busy == pytest.approx((grid.updates * finite).sum(axis=0))
        assert (grid.updates * finite).max(axis=1) == pytest.approx(grid.loads)
        assert (given_times == np.array(times)).all()

    @given(n=st.integers(1, 40), times=st.lists(st.floats(0.5, 9.0), min_size=1, max_size=9))
    def test_columns_are_the_pattern(self, n, times):
        pattern = hs.lu_pattern(n, times)
        grid = hs.lu_grid(n, times, "columns")
        assert (grid.owner == pattern.owner).all()
        assert grid.loads[:-1] == pytest.approx(pattern.step_costs * np.arange(n - 1, 0, -1.0))

    @pytest.mark.parametrize(("n", "q"), [(7, 1), (12, 2), (13, 3), (30, 4)])
    def test_equal_speeds_give_the_loads_of_block_cyclic(self, n, q):
        p = q * q
        lines = np.arange(n)
        cyclic = np.add.outer(lines % q * q, lines % q).astype(np.int32)
        loads, traffic, _ = stages.lu_grid_evaluate(cyclic, np.ones(p))
        for method in ("1d1d", "cyclic", "best"):
            grid = hs.lu_grid(n, [1.0] * p, method)
            assert grid.loads.tolist() == loads.tolist()
            assert grid.traffic.sum() == pytest.approx(traffic.sum(), rel=0.05)
        assert hs.lu_grid(n, [1.0] * p, "cyclic").traffic.tolist() == traffic.tolist()

    def test_best_is_the_least_cost(self):
        rng = np.random.default_rng(0)
        chosen = set()
        for _ in range(12):
            times = 1 / rng.uniform(0.1, 1.0, int(rng.integers(2, 9)))
            for link_cost in (0.0, 0.02, 5.0):
                best = hs.lu_grid(24, times, link_cost=link_cost)
                others = [
                    hs.lu_grid(24, times, method, link_cost=link_cost)
                    for method in METHODS_OF_ITS_OWN
                ]
                assert best.cost == min(other.cost for other in others)
                chosen.add(best.method)
                for grid in (best, *others):
                    sent = int(grid.traffic.sum())
                    assert grid.cost == pytest.approx(grid.makespan + link_cost * sent)
                    assert grid.certificate[:4] == ("cost", "min", grid.cost, grid.lower_bound)
                    assert grid.lower_bound <= best.cost
        assert chosen >= {"1d1d", "nested"}

    @pytest.mark.parametrize("link_cost", [0.0, 0.01, 0.3, 1.0, 4.0, 1e6])
    @pytest.mark.parametrize(
        ("n", "times"),
        [(3, [1.0, 1.0]), (3, [1.0, 3.0]), (2, [1.0, 1.0, 2.0]), (2, [2.0, 3.0, 5.0, INF])],
    )
    def test_no_map_is_below_the_bound(self, n, times, link_cost):
        """All maps of few blocks; where messages are dear, one worker does all, and the bound says
        so."""
        bound = hs.lu_grid(n, times, link_cost=link_cost).lower_bound
        least = INF
        for flat in itertools.product([w for w, t in enumerate(times) if t < INF], repeat=n * n):
            loads, traffic, _ = recount([flat[i * n : (i + 1) * n] for i in range(n)], times)
            least = min(least, float(sum(loads)) + link_cost * sum(traffic))
        assert bound <= least * (1 + 1e-12)
        if link_cost == 1e6:
            assert bound == pytest.approx(least)

    def test_bound_of_dear_messages(self):
        """Two workers who get half of the updates each send at least so much that one alone is
        better, or not."""
        for link_cost in (0.0, 0.5, 2.0, 100.0):
            grid = hs.lu_grid(64, [1.0] * 4, link_cost=link_cost)
            one = sum(k * k for k in range(64))
            assert grid.lower_bound <= min(one, grid.cost)
        assert grid.lower_bound == pytest.approx(one)

    def test_nested_sends_less(self):
        """Spec: 0 to 3.6 % less traffic for 0 to 1.7 % more load than 1d1d; here on the mean of a
        few, with room."""
        rng = np.random.default_rng(1)
        ratios = []
        for _ in range(12):
            times = 1 / rng.uniform(0.1, 1.0, 8)
            one, nested = (hs.lu_grid(64, times, method) for method in ("1d1d", "nested"))
            ratios.append(
                (nested.makespan / one.makespan, nested.traffic.sum() / one.traffic.sum())
            )
            columns = hs.lu_grid(64, times, "columns")
            assert columns.traffic.sum() > 1.5 * one.traffic.sum()
            assert one.gap < columns.gap
        load, traffic = np.mean(ratios, axis=0)
        assert 0.995 < load < 1.017
        assert 0.96 < traffic < 1.0

    def test_cyclic_of_unequal_workers(self):
        grid = hs.lu_grid(20, [3, 5, 8], "cyclic")
        assert grid.makespan > 1.3 * hs.lu_grid(20, [3, 5, 8], "1d1d").makespan
        assert hs.lu_grid(6, [1, INF, 1], "cyclic").counts.tolist() == [18, 0, 18]

    def test_many_workers(self):
        rng = np.random.default_rng(2)
        for p in (40, 200):
            times = 1 / rng.uniform(0.1, 1.0, p)
            one, nested = (hs.lu_grid(48, times, method) for method in ("1d1d", "nested"))
            # few lines for each: rounding at every cut costs more than it saves
            assert 0 < one.gap < min(0.4, nested.gap)
            assert nested.counts.sum() == 48 * 48
        assert hs.lu_grid(2, [1.0] * 50, "1d1d").counts.max() == 1  # more workers than blocks

    def test_extremes(self):
        for times in ([1e-310, 1e300], [1e300, 3e300], [5e-324, 5e-324, 1e-323]):
            for method in METHODS:
                grid = hs.lu_grid(5, times, method)
                assert (grid.owner >= 0).all()
                assert grid.lower_bound <= grid.makespan

    def test_deterministic(self):
        times = 1 / np.random.default_rng(3).uniform(0.1, 1.0, 12)
        first, second = (hs.lu_grid(30, times) for _ in range(2))
        assert (first.owner == second.owner).all()
        assert first.method == second.method


class TestForms:
    def test_platform_and_speeds(self):
        platform = hs.Platform.star([1, 2], names=["fast", "slow"])
        grid = hs.lu_grid(6, platform)
        assert grid.names == ("fast", "slow")
        assert (hs.lu_grid(6, speeds=[1, 0.5]).owner == grid.owner).all()
        assert hs.lu_grid(6, speeds=[1, 0]).counts.tolist() == [36, 0]

    def test_result(self):
        grid = hs.lu_grid(6, [1, 2, 3])
        assert json.loads(json.dumps(grid.to_dict()))["owner"] == grid.owner.tolist()
        for name in ("owner", "counts", "loads", "ideal", "traffic", "received"):
            assert not getattr(grid, name).flags.writeable
        assert "lower bound" in str(grid.certificate)
        one = hs.lu_grid(6, [2.0])
        assert one.optimal
        assert one.scope
        assert not one.traffic.any()

    def test_to_chameleon(self, tmp_path):
        grid = hs.lu_grid(5, [1, 2, 3])
        grid.to_chameleon(tmp_path / "map.txt")
        lines = (tmp_path / "map.txt").read_text().splitlines()
        assert lines[0] == "5 5"
        assert [[int(w) for w in line.split()] for line in lines[1:]] == grid.owner.tolist()
        assert {path.name for path in tmp_path.iterdir()} == {"map.txt"}

    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        ("n", "times"),
        [(1, [1]), (12, [3, 5, 8]), (64, list(range(3, 11))), (9, [1.0 + k for k in range(30)])],
    )
    def test_plot(self, n, times):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        from matplotlib import pyplot

        grid = hs.lu_grid(n, times)
        ax = grid.plot()
        colours = np.asarray(ax.get_images()[0].get_array())
        assert colours.shape == (n, n, 3)
        for worker in np.unique(grid.owner):
            assert len(np.unique(colours[grid.owner == worker], axis=0)) == 1
        assert len(np.unique(colours.reshape(-1, 3), axis=0)) == len(np.unique(grid.owner))
        legend = ax.get_legend()
        if 1 < len(times) <= 24:
            assert [text.get_text() for text in legend.get_texts()] == [
                f"P{i}: {count}" for i, count in enumerate(grid.counts.tolist())
            ]
        else:
            assert legend is None
        assert [text.get_text() for text in ax.texts] == (
            [str(w) for w in grid.owner.ravel()] if n < 64 else []
        )
        if n == 1:
            assert grid._repr_html_().count("<svg") == 1
        pyplot.close("all")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, [1]), ValueError, r"n must be in \[1, 46340\], got 0"),
        ((46341, [1]), ValueError, r"n must be in \[1, 46340\]"),
        ((2.5, [1]), ValueError, "n must be an integer"),
        (("3", [1]), TypeError, "n must be an integer"),
        ((3, [1, NAN]), ValueError, r"cycle_times\[1\] is NaN"),
        ((3, [1, 0]), ValueError, r"cycle_times\[1\] must be positive"),
        ((3, []), ValueError, "cycle_times is empty"),
        ((3, [INF]), ValueError, "cycle_times are all infinite"),
        ((3,), TypeError, "give either cycle_times or speeds"),
        (
            (3, [1], "greedy"),
            ValueError,
            "method must be one of best, 1d1d, nested, columns, cyclic, got 'greedy'",
        ),
        ((3, [1], None), ValueError, "method must be one of"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        hs.lu_grid(*arguments)


def test_bad_link_cost():
    for bad, error in ((-1, ValueError), (NAN, ValueError), (INF, ValueError), ("1", TypeError)):
        with pytest.raises(error, match="link_cost must be"):
            hs.lu_grid(3, [1, 2], link_cost=bad)


def test_owner_in_any_memory_order():
    plan = hs.lu_grid(400, [1, 2, 3], "1d1d")
    again = hs.lu_grid(400, [1, 2, 3], owner=np.asfortranarray(plan.owner))
    assert (again.owner == plan.owner).all()
    assert again.traffic.tolist() == plan.traffic.tolist()
