"""hetsched.star: the paper's algorithms against the rules in exact arithmetic, and a judge that
knows only the model."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many
from oracles.star import (
    count_of_orders,
    every_log,
    het,
    homogeneous,
    judge,
    least_makespan,
    makespan,
    pair_side,
    selections,
    shared,
    side_of,
    simulate_given,
    simulate_selected,
    steady_state,
    toledo_side,
)
from random_chunks import random_chunks

import hetsched as hs
from hetsched._engine import ffi
from hetsched._engine import star as engine
from hetsched._engine.star import STAR_CHUNK, Star, star_side
from hetsched.planners import star as star_module

METHODS = star_module.PAPER
ROUND_ROBIN, DEMAND, PANELS, LISTED = range(4)
FIRST = (4, 8, 3, (1, 2), (2, 3), (12, 21))
SECOND = (6, 9, 4, (1, 1, 1), (3, 3, 3), (12, 12, 12))
THIRD = (3, 7, 2, (1, 1), (1, 4), (32, 12))  # mu > r


def platform_of(costs, times, memory):
    return hs.Platform.star(times, link_costs=costs, memory=memory)


def plan_of(instance, method="best", **options):
    r, s, t, costs, times, memory = instance
    return hs.plan_product(r, s, t, platform_of(costs, times, memory), method, **options)


def chunks_of(rows):
    """Of rows of STAR_CHUNK; without the last column no chunk is ahead."""
    return np.array([(*row, 0)[:9] for row in rows], STAR_CHUNK)


def drawn(seed, *, most=4):
    """A small random instance."""
    rng = random.Random(seed)
    p = rng.randint(1, most)
    scale = rng.choice([1, 1, 0.25])
    costs = tuple(scale * rng.randint(0 if rng.random() < 0.2 else 1, 4) for _ in range(p))
    times = tuple(scale * rng.randint(1, 6) for _ in range(p))
    memory = [rng.choice([0, 3, 4, 5, 7, 12, 21, 32, 45, 60, 300]) for _ in range(p)]
    memory[rng.randrange(p)] = rng.choice([5, 12, 21, 35])
    return rng.randint(1, 9), rng.randint(1, 12), rng.randint(1, 5), costs, times, tuple(memory)


def valid(instance, plan):
    r, s, t, costs, times, memory = instance
    chunks, messages = plan.chunks.tolist(), plan.messages.tolist()
    assert judge((r, s, t), costs, times, memory, chunks, messages) == plan.makespan
    assert plan.columns.sum() == s
    assert plan.updates.sum() == r * s * t
    if set(plan.chunks["height"].tolist()) == {r}:
        assert plan.updates.tolist() == (plan.columns * r * t).tolist()
    assert plan.enrolled.tolist() == [i for i, own in enumerate(plan.updates) if own]
    assert 0 < plan.lower_bound <= plan.makespan
    return True


class TestPaper:
    @pytest.mark.parametrize(
        ("instance", "makespans"),
        [
            (FIRST, [272, 288, 250, 299, 288, 276, 340]),
            (SECOND, [420, 420, 401, 420, 401, 399, 456]),
            (THIRD, [97, 97, 97, 93, 90, 100, 98]),
        ],
    )
    def test_golden_makespans(self, instance, makespans):
        assert [plan_of(instance, method).makespan for method in METHODS] == makespans
        best = plan_of(instance, "best", budget=0)
        assert best.makespan <= min(makespans)
        assert best.method == "search" or makespans[METHODS.index(best.method)] == best.makespan

    @pytest.mark.parametrize(
        ("instance", "method", "columns"),
        [
            (FIRST, "hom", [4, 4]),
            (FIRST, "homi", [8, 0]),
            (FIRST, "het", [5, 3]),
            (FIRST, "ommoml", [8, 0]),
            (SECOND, "hom", [4, 3, 2]),
            (SECOND, "het", [4, 3, 2]),
            (THIRD, "hom", [7, 0]),
            (THIRD, "orroml", [5, 2]),
        ],
    )
    def test_golden_columns(self, instance, method, columns):
        assert plan_of(instance, method).columns.tolist() == columns

    def test_eight_variants(self):
        plan = plan_of(FIRST, "het")
        assert list(plan.variants.values()) == [250, 288] * 4
        assert list(plan.variants) == [
            "global",
            "global+c",
            "global+ahead",
            "global+ahead+c",
            "local",
            "local+c",
            "local+ahead",
            "local+ahead+c",
        ]
        assert plan.variant == "global"
        for name, value in plan.variants.items():
            alone = plan_of(FIRST, "het", variant=name)
            assert (alone.makespan, alone.variant, alone.variants) == (value, name, {})

    @pytest.mark.parametrize(
        ("instance", "value"),
        [((2, 4, 2, (1, 2), (2, 3), (12, 12)), 56), ((3, 6, 3, (1, 2), (3, 2), (12, 21)), 158)],
    )
    def test_not_the_optimum(self, instance, value):
        """TestExact has what is."""
        assert plan_of(instance, "het").makespan == value

    def test_sides(self):
        sides = [[star_side(m, layout) for layout in (1, 0, 2)] for m in (21, 5242, 10485, 20971)]
        assert sides == [[4, 3, 2], [71, 70, 41], [101, 100, 59], [144, 142, 83]]
        for m in (*range(400), *range(2**20 - 50, 2**20 + 50)):
            assert star_side(m, 2) == math.isqrt(m // 3)
            assert star_side(m, 0) == max(math.isqrt(m + 4) - 2, 0)
        for m in range(120):
            sides = [side_of(m), side_of(m, True), toledo_side(m), pair_side(m)]
            assert [star_side(m, layout) for layout in range(4)] == sides
        assert star_side(2**53, 0) == math.isqrt(2**53 + 4) - 2


class TestRules:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("seed", range(many(12, 4)))
    def test_message_by_message(self, seed):
        """Every message of every method is the one that the rules give."""
        for k in range(6):
            instance = drawn(100 * seed + k)
            for returns in ("lazy", "eager"):
                for method, log in every_log(*instance, eager=returns == "eager").items():
                    if method == "overlap" and max(instance[5]) < 6:
                        continue
                    plan = plan_of(instance, method, returns=returns)
                    messages = [(x[0], x[1], x[4], x[5]) for x in plan.messages.tolist()]
                    assert messages == [message[:4] for message in log], (instance, method)
                    computed = [(x[6], x[7]) for x in plan.messages.tolist() if x[1] == 1]
                    assert computed == [message[4] for message in log if message[4]]

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(10))
    def test_virtual_platforms(self, seed):
        """The choice of equal workers, where there are many thresholds and many workers can be
        enough."""
        for k in range(12):
            rng = random.Random(1000 * seed + k)
            p = rng.randint(4, 7)
            costs, times = (
                [rng.randint(1, 6) for _ in range(p)],
                [rng.randint(1, 12) for _ in range(p)],
            )
            memory = [rng.choice([5, 12, 21, 32]) for _ in range(p)]
            instance = (
                rng.randint(1, 6),
                rng.randint(4, 14),
                rng.randint(1, 4),
                costs,
                times,
                memory,
            )
            for method in ("hom", "homi"):
                log, sides = homogeneous(*instance, improved=method == "homi")
                plan = plan_of(instance, method)
                assert (plan.mu.tolist(), plan.makespan) == (sides, makespan(log)), (
                    instance,
                    method,
                )

    def test_enough_workers(self):
        """0.3 / 0.1 rounds to more than 3, but three panels keep the port busy."""
        plan = hs.plan_product(3, 15, 2, platform_of([0.05] * 5, [0.1] * 5, [21] * 5), "hom")
        assert plan.enrolled.tolist() == [0, 1, 2]

    @pytest.mark.parametrize("seed", range(many(25, 6)))
    def test_variants(self, seed):
        instance = drawn(seed + 7000)
        r, s, t, costs, times, memory = instance
        for returns in ("lazy", "eager"):
            runs = het(*instance, eager=returns == "eager")
            plan = plan_of(instance, "het", returns=returns)
            assert list(plan.variants.values()) == [run[0] for run in runs]
            best = min(range(8), key=lambda k: runs[k][0])
            assert plan.variant == list(plan.variants)[best]
            assert plan.columns.tolist() == runs[best][1]
            for best_of, ahead in (
                ("global", False),
                ("local", False),
                ("global", True),
                ("local", True),
            ):
                name = best_of + "+ahead" * ahead + "+spread-c"
                sides = [side_of(m) for m in memory]
                if t not in (1, 2, 4):  # 2 mu^2 / t must be exact, so that ties are ties
                    continue
                chosen = selections(
                    r, s, t, costs, times, sides, best=best_of, c_cost="amortised", ahead=ahead
                )
                log, columns = simulate_selected(
                    r, s, t, costs, times, sides, chosen, eager=returns == "eager"
                )
                plan_spread = plan_of(instance, "het", variant=name, returns=returns)
                assert (plan_spread.makespan, plan_spread.columns.tolist()) == (
                    makespan(log),
                    columns,
                )


class TestModel:
    @pytest.mark.few(3)
    @pytest.mark.parametrize("seed", range(many(15, 5)))
    def test_every_schedule_is_valid(self, seed):
        for k in range(20):
            instance = drawn(1000 * seed + k, most=6)
            for method in METHODS:
                for returns in ("lazy", "eager"):
                    assert valid(instance, plan_of(instance, method, returns=returns))

    def test_larger(self):
        instance = (23, 61, 9, (1, 2, 1, 3, 2), (4, 3, 9, 2, 8), (140, 60, 32, 221, 96))
        for method in METHODS:
            assert valid(instance, plan_of(instance, method))

    @pytest.mark.parametrize("method", METHODS)
    def test_the_same_again_from_its_log(self, method):
        """The chunks in the order of the log give the log."""
        for seed in range(20):
            instance = drawn(seed + 500)
            r, s, t, costs, times, memory = instance
            plan = plan_of(instance, method)
            star = Star(
                (r, s, t),
                np.array(times, float),
                np.array(costs, float),
                np.array(memory, np.int64),
            )
            served = plan.messages["worker"].astype(np.int32)
            again, messages = star.simulate(plan.chunks, LISTED, served, False)
            assert again == plan.makespan
            assert messages.tolist() == plan.messages.tolist()
            panels = served[plan.messages["kind"] == 1]
            value, messages = star.simulate(plan.chunks, PANELS, panels, False)
            assert (
                judge((r, s, t), costs, times, memory, plan.chunks.tolist(), messages.tolist())
                == value
            )
            for order in (ROUND_ROBIN, DEMAND):
                value, messages = star.simulate(plan.chunks, order, panels[:0], True)
                assert (
                    judge((r, s, t), costs, times, memory, plan.chunks.tolist(), messages.tolist())
                    == value
                )

    def test_given_chunks(self):
        """Rectangles of any shape, one by hand: C 0-2, panels 2-5 and 5-8, computed 5-9 and 9-13,
        result 13-15."""
        star = Star((1, 2, 2), np.array([2.0]), np.array([1.0]), np.array([8], np.int64))
        value, messages = star.simulate(
            chunks_of([(0, 0, 2, 0, 0, 1, 2, 1)]), DEMAND, np.zeros(0, np.int32), False
        )
        assert value == 15
        assert messages[["start", "end", "compute_start", "compute_end"]].tolist() == [
            (0, 2, 2, 2), (2, 5, 5, 9), (5, 8, 9, 13), (13, 15, 15, 15)
        ]  # fmt: skip

    @pytest.mark.parametrize("seed", range(many(60, 15)))
    def test_whatever_is_held(self, seed):
        """Chunks that hold A, B or C, of panels of any depth: every message as the model says, and
        in any order valid."""
        rng = random.Random(seed)
        r, s, t, p = rng.randint(1, 7), rng.randint(1, 7), rng.randint(1, 6), rng.randint(1, 3)
        costs, times = ([rng.randint(low, 5) for _ in range(p)] for low in (0, 1))
        chunks, memory = random_chunks(rng, (r, s, t), p)
        star = Star(
            (r, s, t), np.array(times, float), np.array(costs, float), np.array(memory, np.int64)
        )
        nobody = np.zeros(0, np.int32)
        for order in (ROUND_ROBIN, DEMAND):
            value, messages = star.simulate(chunks_of(chunks), order, nobody, False)
            log = simulate_given((r, s, t), costs, times, chunks, demand=order == DEMAND)
            assert messages[["worker", "kind", "depth", "start", "end"]].tolist() == log
            assert judge((r, s, t), costs, times, memory, chunks, messages.tolist()) == value
            value, messages = star.simulate(chunks_of(chunks), order, nobody, True)
            assert judge((r, s, t), costs, times, memory, chunks, messages.tolist()) == value
        served = messages["worker"].copy()
        rng.shuffle(served)
        for order, in_order in (
            (LISTED, served),
            (PANELS, np.repeat(np.arange(p, dtype=np.int32), len(served))),
        ):
            value, messages = star.simulate(chunks_of(chunks), order, in_order, False)
            assert judge((r, s, t), costs, times, memory, chunks, messages.tolist()) == value
        for i in {chunk[0] for chunk in chunks}:
            less = np.array(memory) - (np.arange(p) == i)
            star = Star((r, s, t), np.array(times, float), np.array(costs, float), less)
            with pytest.raises(ValueError, match="outside its documented range"):
                star.simulate(chunks_of(chunks), DEMAND, nobody, False)

    @pytest.mark.parametrize(
        ("chunk", "order", "served"),
        [
            ((0, 0, 2, 0, 0, 1, 3, 1), ROUND_ROBIN, []),  # outside C
            ((0, 0, 2, 0, 0, 2, 2, 1), ROUND_ROBIN, []),  # 4 + 2 * 4 blocks
            ((1, 0, 2, 0, 0, 1, 2, 1), ROUND_ROBIN, []),
            ((0, 0, 2, 0, 0, 1, 0, 1), ROUND_ROBIN, []),
            ((0, 0, 2, -1, 0, 1, 1, 1), ROUND_ROBIN, []),
            ((0, 0, 2, 0, 0, 1, 2, 1), LISTED, [0, 0, 0]),
            ((0, 0, 2, 0, 0, 1, 2, 1), LISTED, [0] * 5),
            ((0, 0, 2, 0, 0, 1, 2, 1), PANELS, [0]),
            ((0, 0, 2, 0, 0, 1, 2, 1), PANELS, [1]),
            ((0, 0, 2, 0, 0, 1, 2, 1), 6, []),
        ],
    )
    def test_refused_chunks(self, chunk, order, served):
        star = Star((2, 2, 2), np.array([2.0]), np.array([1.0]), np.array([8], np.int64))
        with pytest.raises(ValueError, match="outside its documented range"):
            star.simulate(chunks_of([chunk]), order, np.array(served, np.int32), False)

    @pytest.mark.parametrize(("h", "v"), [(308761440, 29172033), (2**31 - 1, 2**31 - 1)])
    def test_one_buffer_too_few(self, h, v):
        """h v + h + v is 2^53 + 1, which no double is, or more than 2^62."""
        star = Star((h, v, 1), np.ones(1), np.ones(1), np.array([2**53]))
        with pytest.raises(ValueError, match="outside its documented range"):
            star.simulate(
                chunks_of([(0, 0, 1, 0, 0, h, v, 1)]), DEMAND, np.zeros(0, np.int32), False
            )
        less = h - 1 - max(0, h * v + h + v - 2**53) // v
        value, _ = star.simulate(
            chunks_of([(0, 0, 1, 0, 0, less, v, 1)]), DEMAND, np.zeros(0, np.int32), False
        )
        assert value == pytest.approx(3 * less * v + less + v)

    @pytest.mark.parametrize("held", range(3))
    def test_panels_of_any_depth(self, held):
        """A panel holds at most all layers; entries of the list beyond it are skipped."""
        star = Star((2, 3, 4), np.ones(1), np.ones(1), np.array([100]))
        ends = set()
        for depth in (4, 5, 2**62, 2**63 - 1):
            chunks = chunks_of([(0, held, 2, 0, 0, 2, 3, depth)])
            ends |= {
                star.simulate(chunks, order, np.zeros(3, np.int32), False)[0]
                for order in (DEMAND, PANELS)
            }
        assert len(ends) == 1


class TestBounds:
    @pytest.mark.parametrize("seed", range(many(60, 15)))
    def test_below_every_makespan(self, seed):
        instance = drawn(seed + 3000)
        r, s, t, costs, times, memory = instance
        for method in (*METHODS, "best"):
            plan = plan_of(instance, method) if method != "best" else plan_of(instance, budget=0)
            valid_for_all = ("work", "traffic", "transfer", "re-use")
            names = plan.bounds if plan.method != "search" else valid_for_all
            assert max(plan.bounds[name] for name in names) <= plan.makespan
            assert plan.lower_bound == min(
                plan.makespan, max(plan.bounds[name] for name in valid_for_all)
            )
            assert plan.bounds[plan.binding] == max(plan.bounds[name] for name in valid_for_all)
            side = {
                "bmm": toledo_side,
                "maxreuse": lambda m: side_of(m, single=True),
                "overlap": pair_side,
            }.get(plan.method, side_of)
            sides = [side(m) for m in memory]
            for name, with_c in (("steady state", False), ("steady state with C", True)):
                exact = float(steady_state(r, s, t, costs, times, sides, with_c=with_c))
                assert plan.bounds[name] <= exact
                assert math.isclose(plan.bounds[name], exact, rel_tol=1e-9)
            able = [i for i, m in enumerate(memory) if m >= 3]
            work = r * s * t / sum(1 / Fraction(times[i]) for i in able)
            assert plan.bounds["work"] <= work
            assert math.isclose(plan.bounds["work"], work, rel_tol=1e-9)
            once = Fraction(1, r) + Fraction(1, s) + Fraction(2, t)
            exact = float(
                shared(r * s * t, [(Fraction(costs[i]) * once, Fraction(times[i])) for i in able])
            )
            assert plan.bounds["traffic"] <= exact
            assert math.isclose(plan.bounds["traffic"], exact, rel_tol=1e-9)
            assert plan.bounds["transfer"] >= plan.bounds["traffic"] * (1 - 1e-9)
            assert plan.bounds["re-use"] >= plan.bounds["traffic"] * (1 - 1e-9)

    @pytest.mark.slow
    def test_transfer_of_one_worker(self):
        """X = 64000 updates with 100 buffers: at least 2 X / 10 - 200 blocks there, and C back."""
        plan = hs.plan_product(40, 40, 40, platform_of([3], [0.01], [100]))
        assert math.isclose(plan.bounds["transfer"], 3 * (6400 * 2 - 200 + 1600), rel_tol=1e-6)
        assert math.isclose(
            plan.bounds["re-use"], 3 * (64000 * math.sqrt(27 / 800) - 100), rel_tol=1e-6
        )
        assert plan.binding == "transfer"

    @pytest.mark.parametrize("seed", range(10))
    def test_transfer_of_two_workers(self, seed):
        """No division of the updates is below the bound, and one reaches it."""
        rng = random.Random(seed)
        costs, times, memory = ([rng.randint(1, 9) * f for _ in range(2)] for f in (1.0, 0.4, 5))
        updates = 30**3
        star = Star((30, 30, 30), np.array(times), np.array(costs), np.array(memory, np.int64))
        bound = star.bounds(0)["transfer"]
        first = np.linspace(0, updates, 200001)
        shares = np.array([first, updates - first])
        blocks = (2 / np.sqrt(np.array(memory)) + 1 / 30)[:, None] * shares - 2 * np.array(memory)[
            :, None
        ]
        blocks = np.maximum(shares * 4 / 30, blocks)
        port = np.array(costs) @ blocks
        times_needed = np.maximum(port, (shares * np.array(times)[:, None]).max(axis=0)).min()
        assert bound <= times_needed
        assert math.isclose(bound, times_needed, rel_tol=1e-4)

    def test_proof_of_optimality(self):
        """One worker that never waits for a link: the work is the bound."""
        plan = hs.plan_product(2, 2, 3, platform_of([0], [1], [12]))
        assert plan.makespan == 12
        assert plan.gap < 1e-12
        assert plan.optimal


class TestMaximumReuse:
    """Section 3 of the paper: A comes block by block, so that larger chunks of C fit."""

    @pytest.mark.parametrize("seed", range(15))
    def test_every_schedule_is_valid(self, seed):
        for k in range(10):
            instance = drawn(1000 * seed + k, most=5)
            for returns in ("lazy", "eager"):
                plan = plan_of(instance, "maxreuse", returns=returns)
                assert valid(instance, plan)
                assert plan.mu.tolist() == [side_of(m, single=True) for m in instance[-1]]
                assert set(plan.chunks["buffers"].tolist()) == {0}
                assert (
                    np.maximum(plan.chunks["height"], plan.chunks["width"])
                    <= plan.mu[plan.chunks["worker"]]
                ).all()

    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        ("memory", "mu"),
        [(3, 1), (21, 4), *many([(6, 1), (7, 2), (13, 3), (20, 3), (57, 7)], [])],
    )
    def test_one_worker_bound_by_the_port(self, memory, mu):
        """The paper's example has mu = 4 for m = 21. Each chunk costs 2 h w blocks of C and h + w a
        layer; a block of A is computed before the next one comes. "best" is not slower, which with
        two panels alone it was by 7 to 33 %.
        """
        n, w = 40, 0.001
        platform = platform_of([1], [w], [memory])
        plan = hs.plan_product(n, n, n, platform, "maxreuse")
        sides = [min(mu, n - at) for at in range(0, n, mu)]
        blocks = sum(2 * h * v + n * (h + v) for h in sides for v in sides)
        assert plan.mu.tolist() == [mu]
        assert plan.makespan == pytest.approx(blocks + n**3 * w, rel=1e-9)
        best = hs.plan_product(n, n, n, platform)
        assert best.makespan <= plan.makespan * (1 + 1e-9)
        if memory >= 7:
            assert plan.makespan < 0.95 * min(
                hs.plan_product(n, n, n, platform, m).makespan for m in METHODS
            )

    @pytest.mark.slow
    def test_bound_by_the_port_ratio(self):
        """2 / sqrt(m) blocks an update for large t, the paper's CCR; both bounds are below it."""
        plan = hs.plan_product(56, 56, 4000, platform_of([1], [1e-6], [57]), "maxreuse")
        assert plan.makespan / (56 * 56 * 4000) == pytest.approx(2 / 7, rel=0.01)
        assert plan.bounds["re-use"] < plan.bounds["transfer"] < plan.makespan

    @pytest.mark.slow
    def test_each_is_taken_where_it_gains(self):
        """Where computing is dear the worker should receive meanwhile."""
        for w, streamed in ((1e-3, True), (10.0, False)):
            plan = hs.plan_product(12, 12, 12, platform_of([1], [w], [21]))
            assert (plan.chunks["buffers"] < 1).any() == streamed

    @pytest.mark.slow
    def test_by_rows(self):
        """Transposed, the blocks of B come one by one."""
        plans = [
            hs.plan_product(r, s, 9, platform_of([1, 1], [1e-3, 1e-3], [9, 17]), "search")
            for r, s in ((5, 30), (30, 5))
        ]
        assert plans[0].makespan == pytest.approx(plans[1].makespan, rel=0.02)
        assert {int(b) for plan in plans for b in plan.chunks["buffers"]} & {0, -1}


class TestOverlap:
    """The end of section 4: the next chunk comes before the result of the last one goes."""

    @pytest.mark.parametrize("seed", range(many(15, 5)))
    def test_every_schedule_is_valid(self, seed):
        """ "best" is never slower, and no bound is above it."""
        for k in range(10):
            instance = drawn(1000 * seed + k, most=5)
            if max(instance[-1]) < 6:
                with pytest.raises(
                    hs.InfeasibleError, match="'overlap' needs at least 6 blocks, the largest is 5"
                ):
                    plan_of(instance, "overlap")
                continue
            for returns in ("lazy", "eager"):
                plan = plan_of(instance, "overlap", returns=returns)
                assert valid(instance, plan)
                assert plan.mu.tolist() == [pair_side(m) for m in instance[-1]]
                first = np.unique(plan.chunks["worker"], return_index=True)[1]
                assert not plan.chunks["ahead"][first].any()
                assert plan_of(instance, budget=0, returns=returns).makespan <= plan.makespan

    @pytest.mark.parametrize(("n", "t"), [(1, 1), (2, 1), (2, 2), (5, 2), (9, 4)])
    def test_a_slow_worker_never_waits(self, n, t):
        """From its first panel to its last update; one chunk at a time it waits for what goes
        through the port between two."""
        plan = hs.plan_product(1, n, t, platform_of([1], [10], [6]), "overlap")
        assert plan.makespan == 1 + 2 + 10 * n * t + 1
        assert hs.plan_product(1, n, t, platform_of([1], [10], [6]), "oddoml").makespan == n * (
            1 + 2 + 10 * t + 1
        )
        assert plan.chunks["ahead"].tolist() == [0] + [1] * (n - 1)

    @pytest.mark.parametrize("t", [5, 20, 100])
    def test_what_it_gains_is_what_was_lost(self, t):
        """Section 4's example, w = 4.5, c = 2, mu = 4 (32 blocks of memory, with two chunks 48): 2
        c of every t w are lost for C, and a panel's time. It is gained while the port has time for
        it; five workers leave it none.
        """

        def gain(p):
            times = [
                hs.plan_product(
                    4, 400, t, platform_of([2] * p, [4.5] * p, [memory] * p), method
                ).makespan
                for memory, method in ((32, "oddoml"), (48, "overlap"))
            ]
            return times[0] / times[1] - 1

        assert gain(1) == pytest.approx((2 * 2 + 8 * 2 / 16) / (4.5 * t), rel=0.02)
        assert gain(1) < gain(2) < 1.3 * gain(1)
        assert 0 < gain(5) < 0.1 * gain(1)

    @pytest.mark.slow
    def test_each_is_taken_where_it_gains(self):
        """A worker that computes long, and whose memory holds neither A nor B, gets its chunks
        ahead; one that waits for the port does better with larger ones."""
        for w, ahead in ((3.0, True), (1e-3, False)):
            plan = hs.plan_product(18, 27, 40, platform_of([1], [w], [60]))
            assert plan.chunks["ahead"].any() == ahead

    @given(seed=st.integers(0, 10**9), exponent=st.integers(-300, 300))
    def test_relations(self, seed, exponent):
        """Another unit of time, other names of the workers, and one without chunks."""
        rng = random.Random(seed)
        shape, p = (rng.randint(1, 7), rng.randint(1, 7), rng.randint(1, 6)), rng.randint(1, 3)
        costs, times = ([rng.randint(low, 5) for _ in range(p)] for low in (0, 1))
        chunks, memory = random_chunks(rng, shape, p)
        numbers = [np.array(times, float), np.array(costs, float), np.array(memory, np.int64)]
        value, messages = Star(shape, *numbers).simulate(
            chunks_of(chunks), DEMAND, np.zeros(0, np.int32), False
        )
        served = messages["worker"].copy()
        scaled = Star(
            shape, np.ldexp(numbers[0], exponent), np.ldexp(numbers[1], exponent), numbers[2]
        )
        assert scaled.simulate(chunks_of(chunks), DEMAND, served[:0], False)[0] == math.ldexp(
            value, exponent
        )
        names = np.array(rng.sample(range(p + 1), p), np.int32)  # one of p + 1 is of no use
        larger = [np.ones(p + 1), np.ones(p + 1), np.zeros(p + 1, np.int64)]
        for old, new in zip(numbers, larger, strict=True):
            new[names] = old
        renamed = [(names[i], *rest) for i, *rest in chunks]
        again, log = Star(shape, *larger).simulate(chunks_of(renamed), LISTED, names[served], False)
        assert again == value
        assert (
            log[["start", "end", "compute_end"]].tolist()
            == messages[["start", "end", "compute_end"]].tolist()
        )

    @pytest.mark.parametrize("seed", range(many(40, 10)))
    def test_room_on_another_platform(self, seed):
        """Memory is needed as the simulation asks for it."""
        rng = random.Random(seed)
        shape, p = (rng.randint(1, 7), rng.randint(1, 7), rng.randint(1, 6)), rng.randint(1, 3)
        chunks, memory = random_chunks(rng, shape, p)
        plan = hs.plan_product(*shape, platform_of([1] * p, [1] * p, [100] * p), "bmm")
        star = Star(shape, np.ones(p), np.ones(p), np.array(memory, np.int64))
        makespan, log = star.simulate(chunks_of(chunks), DEMAND, np.zeros(0, np.int32), False)
        plan = dataclasses.replace(plan, chunks=chunks_of(chunks), messages=log, makespan=makespan)
        assert plan.on(platform_of([1] * p, [1] * p, memory)).makespan == makespan
        for i in {chunk[0] for chunk in chunks}:
            less = [m - (k == i) for k, m in enumerate(memory)]
            with pytest.raises(
                ValueError,
                match=(
                    f"plan needs {memory[i]} blocks of memory at worker P{i}, which has {less[i]}"
                ),
            ):
                plan.on(platform_of([1] * p, [1] * p, less))


class TestSearch:
    @pytest.mark.parametrize("seed", range(many(100, 25)))
    def test_schedules(self, seed):
        """Valid, the same again, and no worse than the others."""
        for k in range(3):
            instance = drawn(7000 + 3 * seed + k)
            returns = ("lazy", "eager")[k % 2]
            plan = plan_of(instance, "search", budget=0, seed=k, returns=returns)
            assert valid(instance, plan)
            again = plan_of(instance, "search", budget=0, seed=k, returns=returns)
            assert again.messages.tolist() == plan.messages.tolist()
            assert again.chunks.tolist() == plan.chunks.tolist()
        least = {"bmm": 3, "maxreuse": 3, "overlap": 6}
        methods = [
            method
            for method in (*METHODS, "maxreuse", "overlap")
            if max(instance[5]) >= least.get(method, 5)
        ]
        others = [plan_of(instance, method).makespan for method in methods]
        best = plan_of(instance, budget=0)
        assert best.makespan <= min(others)
        assert best.makespan <= plan_of(instance, "search", budget=0).makespan

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(4))
    def test_rows_and_columns_alike(self, seed):
        """A plan of C^T = B^T A^T is as good, whichever way it lies."""
        r, s, t, costs, times, memory = drawn(seed + 82)
        plan, turned = (
            plan_of((*shape, costs, times, memory), "search")
            for shape in ((r, 3 * s, t), (3 * s, r, t))
        )
        assert math.isclose(plan.makespan, turned.makespan, rel_tol=0.02)

    @pytest.mark.slow
    def test_by_rows(self):
        """Two columns for three workers: shared out by rows."""
        instance = (60, 2, 6, (1, 1, 1), (8, 8, 8), (60, 60, 60))
        plan = plan_of(instance, "search")
        assert valid(instance, plan)
        assert plan.enrolled.tolist() == [0, 1, 2]
        assert plan.columns.tolist() == [1, 1, 0]
        assert plan.updates.sum() == 720
        assert plan.makespan < 1.1 * 720 * 8 / 3

    @pytest.mark.slow
    def test_each_operand_can_be_the_one_to_hold(self):
        """Long in one dimension, the face across it is held."""
        for shape, held in (((5, 5, 60), 0), ((5, 60, 5), 1), ((60, 5, 5), 2)):
            plan = hs.plan_product(*shape, platform_of([1], [0.5], [45]), "search")
            assert set(plan.chunks["held"].tolist()) == {held}
            # each block passes once, what is held in C twice; the bound of the traffic, and little
            # else
            assert plan.makespan < 1.1 * plan.bounds["traffic"]

    @pytest.mark.slow
    def test_the_gain_on_the_calibrated_platform(self):
        """2 x 256 MB, 4 x 512, 2 x 1024; spec: 20 % below Het, 1.35 times the bound."""
        platform = platform_of([5.12e-3] * 8, [0.76e-3] * 8, [5242] * 2 + [10485] * 4 + [20971] * 2)
        het, best = (hs.plan_product(100, 800, 100, platform, method) for method in ("het", "best"))
        assert round(het.makespan) == 2086
        assert best.makespan < 0.78 * het.makespan
        assert best.makespan < 1.3 * best.lower_bound
        assert best.method == "search"
        assert 0 < best.planning_time < 60

    @pytest.mark.slow
    def test_a_budget(self):
        """Rounds until the time is over, the best of them; with 0 a short one that is always the
        same."""
        instance = (20, 60, 20, (1, 2, 3, 4), (30, 20, 10, 5), (60, 120, 200, 300))
        short, again, long = (
            plan_of(instance, "search", budget=seconds) for seconds in (0, 0, 0.5)
        )
        assert short.messages.tolist() == again.messages.tolist()
        assert long.makespan < short.makespan
        assert plan_of(instance, "search").makespan < short.makespan
        assert valid(instance, long)

    def test_a_budget_for_the_proof(self):
        """It is tried again with more messages while there is time."""
        instance = (4, 12, 3, (1, 2), (2, 3), (12, 21))
        with pytest.raises(ValueError, match="need a larger budget"):
            plan_of(instance, "exact", budget=0)
        found = plan_of(instance, "exact", budget=100)
        assert found.scope == "panels of full columns, one chunk at a time"
        assert found.makespan == plan_of(instance, "exact").makespan

    @pytest.mark.slow
    def test_many_panels_are_searched_coarsely(self):
        """More messages than a thousandth of the effort: fewer panels while searching, the plan
        itself is exact."""
        instance = (40, 40, 300, (1, 2), (1, 1), (90, 45))
        plan = plan_of(instance, "search", budget=0)
        assert valid(instance, plan)
        assert set(plan.chunks["depth"].tolist()) == {1}

    def test_zero_link_costs(self):
        """Nothing to save on the port: the work is the bound."""
        plan = hs.plan_product(6, 12, 3, platform_of([0, 0], [1, 2], [300, 300]), "search")
        assert plan.makespan == 6 * 3 * 8
        assert plan.optimal


def tiny(seed, *, most):
    """An instance with at most so many dealings and orders, and more than one of each if there are
    as many workers."""
    rng = random.Random(seed)
    while True:
        p = rng.choice([1, 2, 2, 2, 3])
        costs, times = (
            [rng.randint(low, high) for _ in range(p)]
            for low, high in ((rng.random() < 0.8, 4), (1, 6))
        )
        memory = [rng.choice([4, 5, 12, 12, 21]) for _ in range(p)]
        if rng.random() < 0.3:
            costs, times, memory = ([values[0]] * p for values in (costs, times, memory))
        shape = rng.randint(1, 4), rng.randint(2, 5), rng.randint(1, 3)
        if max(memory) >= 5 and count_of_orders(*shape, [side_of(m) for m in memory]) <= most:
            return (*shape, tuple(costs), tuple(times), tuple(memory))


def middling(seed, *, workers=3):
    """Out of reach for brute force."""
    rng = random.Random(seed)
    costs, times = (
        tuple(rng.randint(low, high) for _ in range(workers)) for low, high in ((0, 4), (1, 9))
    )
    memory = tuple(rng.choice([5, 12, 21, 32, 45]) for _ in range(workers))
    return rng.randint(1, 6), rng.randint(2, 8), rng.randint(1, 4), costs, times, memory


class TestExact:
    @pytest.mark.parametrize(
        ("instance", "value"),
        [
            ((2, 4, 2, (1, 2), (2, 3), (12, 12)), 47),
            ((3, 6, 3, (1, 2), (3, 2), (12, 21)), 136),
            (FIRST, 220),
        ],
    )
    def test_golden(self, instance, value):
        plan = plan_of(instance, "exact")
        assert plan.makespan == value
        assert valid(instance, plan)
        scope = "panels of full columns, one chunk at a time"
        assert (plan.method, plan.scope, plan.optimal, plan.returns) == ("exact", scope, False, "")
        assert f"optimal among {scope} (exact)" in str(plan.certificate)
        assert plan.mu.tolist() == [side_of(m) for m in instance[5]]

    @pytest.mark.few(5)
    @pytest.mark.parametrize("seed", range(many(60, 12)))
    def test_brute_force(self, seed):
        """Every dealing of columns and every order of the messages, in integers."""
        for k in range(5):
            instance = tiny(5 * seed + k, most=20000 if k else 200000)
            plan = plan_of(instance, "exact")
            assert plan.makespan == least_makespan(*instance), instance
            assert valid(instance, plan)

    @pytest.mark.parametrize("seed", range(many(40, 10)))
    def test_never_above_the_seven(self, seed):
        """But Toledo's blocks; equal workers in turn are cut to the least memory among them."""
        instance = middling(seed)
        plan = plan_of(instance, "exact")
        assert valid(instance, plan)
        r, s, t, *_, memory = instance
        sides = plan.mu[plan.chunks["worker"]]
        assert (plan.chunks["width"] <= sides).all()
        assert (plan.chunks["height"] == np.minimum(sides, r - plan.chunks["row"])).all()
        assert (
            plan.chunks[["held", "buffers", "depth"]]
            == np.array((0, 2, 1), plan.chunks[["held", "buffers", "depth"]].dtype)
        ).all()
        for method in METHODS[:-1]:
            for returns in ("lazy", "eager"):
                other = plan_of(instance, method, returns=returns)
                if (np.minimum(other.mu, r) == np.minimum(plan.mu, r))[other.enrolled].all():
                    assert plan.makespan <= other.makespan
        again = plan_of(instance, "exact")
        assert again.messages.tolist() == plan.messages.tolist()
        assert again.chunks.tolist() == plan.chunks.tolist()

    @pytest.mark.parametrize("seed", range(many(25, 6)))
    def test_relations(self, seed):
        """What an optimum must do when the instance changes, beyond the reach of brute force."""
        r, s, t, costs, times, memory = middling(seed + 400)
        least = plan_of((r, s, t, costs, times, memory), "exact").makespan
        order = random.Random(seed).sample(range(3), 3)
        assert (
            plan_of(
                (r, s, t, *([values[i] for i in order] for values in (costs, times, memory))),
                "exact",
            ).makespan
            == least
        )
        assert (
            plan_of(
                (r, s, t, [c / 8 for c in costs], [w / 8 for w in times], memory), "exact"
            ).makespan
            == least / 8
        )
        assert plan_of((r, s, t, (*costs, 1), (*times, 1), (*memory, 4)), "exact").makespan == least
        assert plan_of((r, s, t, costs[1:], times[1:], memory[1:]), "exact").makespan >= least
        assert plan_of((r, s - 1, t, costs, times, memory), "exact").makespan <= least
        assert plan_of((r, s, t + 1, costs, times, memory), "exact").makespan >= least
        assert (
            plan_of(
                (r, s, t, costs, [w + (i == 1) for i, w in enumerate(times)], memory), "exact"
            ).makespan
            >= least
        )
        assert (
            plan_of(
                (r, s, t, [c + (i == 2) for i, c in enumerate(costs)], times, memory), "exact"
            ).makespan
            >= least
        )

    @pytest.mark.slow
    def test_many_equal_workers(self):
        """More of them never harm; those that the port cannot feed change nothing."""
        spans = [
            plan_of((2, 5, 2, (1,) * p, (3,) * p, (12,) * p), "exact").makespan for p in range(1, 8)
        ]
        assert spans == sorted(spans, reverse=True)
        assert spans[:2] == [least_makespan(2, 5, 2, (1,) * p, (3,) * p, (12,) * p) for p in (1, 2)]
        assert spans[3:] == [spans[3]] * 4

    def test_narrow_panels_of_a_wide_worker(self):
        """mu is larger than r and s: a chunk is all of C at most."""
        instance = (2, 3, 2, (1, 2), (4, 5), (10**9, 12))
        plan = plan_of(instance, "exact")
        assert plan.makespan == least_makespan(*instance)
        assert (
            hs.plan_product(3, 5, 2, hs.Platform.star([1], link_costs=[1]), "exact").makespan
            == 15 + 8 + 15 + 15 + 15
        )

    def test_little_memory(self):
        instance = (2, 3, 2, (0, 1), (1, 5), (4, 5))
        plan = plan_of(instance, "exact")
        assert plan.enrolled.tolist() == [1]
        assert valid(instance, plan)
        with pytest.raises(
            hs.InfeasibleError, match="'exact' needs at least 5 blocks, the largest is 4"
        ):
            plan_of((2, 3, 2, (1, 1), (1, 5), (4, 3)), "exact")

    def test_the_search_goes_further(self):
        """What is held and lower or oblong chunks are outside the class."""
        assert plan_of(FIRST, "search").makespan == 195 < plan_of(FIRST, "exact").makespan


@given(
    seed=st.integers(0, 10**9),
    method=st.sampled_from((*METHODS, "search")),
    exponent=st.integers(-300, 300),
)
def test_unit_of_time_does_not_matter(seed, method, exponent):
    r, s, t, costs, times, memory = drawn(seed)
    plan = hs.plan_product(r, s, t, platform_of(costs, times, memory), method, budget=0)
    scaled = [[math.ldexp(x, exponent) for x in values] for values in (costs, times)]
    again = hs.plan_product(r, s, t, platform_of(*scaled, memory), method, budget=0)
    assert again.makespan == math.ldexp(plan.makespan, exponent)
    assert again.columns.tolist() == plan.columns.tolist()


@given(
    seed=st.integers(0, 10**9),
    method=st.sampled_from(METHODS),
    at=st.integers(0, 4),
    memory=st.integers(0, 2),
)
def test_a_worker_without_memory_changes_nothing(seed, method, at, memory):
    instance = drawn(seed)
    plan = plan_of(instance, method)
    r, s, t, *lists = instance
    larger = [list(values) for values in lists]
    for values, value in zip(larger, (1, 1, memory), strict=True):
        values.insert(at, value)
    again = plan_of((r, s, t, *larger), method)
    i = min(at, len(plan.names))
    assert again.makespan == plan.makespan
    assert again.columns[i] == 0 == again.mu[i]
    assert np.delete(again.columns, i).tolist() == plan.columns.tolist()


@given(
    numbers=st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(1e-3, 1e6), st.integers(5, 100)),
        min_size=1,
        max_size=5,
    ),
    r=st.integers(1, 20),
    s=st.integers(1, 20),
    t=st.integers(1, 6),
    method=st.sampled_from((*METHODS, "best")),
)
def test_any_numbers(numbers, r, s, t, method):
    costs, times, memory = zip(*numbers, strict=True)
    platform = platform_of(costs, times, memory)
    plan = hs.plan_product(r, s, t, platform, method, budget=0)
    assert plan.columns.sum() == s
    assert plan.makespan == plan.messages["end"][-1]
    names = plan.bounds if plan.method != "search" else ("work", "traffic", "transfer", "re-use")
    assert max(plan.bounds[name] for name in names) <= plan.makespan * (1 + 1e-9)
    assert (np.diff(plan.messages["start"]) >= 0).all()
    assert (
        hs.plan_product(r, s, t, platform, method, budget=0).messages.tolist()
        == plan.messages.tolist()
    )


class TestPlan:
    def test_fields(self):
        platform = hs.Platform.star(
            [2, 3], link_costs=[1, 2], memory=[12, 21], names=["quick", "slow"]
        )
        plan = hs.plan_product(4, 8, 3, platform, "het")
        assert (plan.shape, plan.method, plan.returns, plan.optimal, plan.scope) == (
            (4, 8, 3),
            "het",
            "lazy",
            False,
            "",
        )
        assert plan.mu.tolist() == [2, 3]
        assert plan.names == ("quick", "slow")
        assert plan.memory.tolist() == [12, 21]
        assert plan.link_costs.tolist() == [1, 2]
        assert plan.cycle_times.tolist() == [2, 3]
        assert plan.processor_time == 500
        assert plan.value == 250
        assert plan_of(FIRST, "homi").mu.tolist() == [2, 0]
        for name in ("columns", "chunks", "messages", "mu", "updates"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(plan, name)[...] = 0

    def test_unlimited_memory(self):
        plan = hs.plan_product(3, 5, 2, hs.Platform.star([1], link_costs=[1]), "het")
        assert plan.mu.tolist() == [5]
        assert plan.chunks.tolist() == [(0, 0, 2, 0, 0, 3, 5, 1, 0)]
        assert plan.makespan == 15 + 8 + 15 + 15 + 15

    def test_only_toledo_fits(self):
        platform = platform_of([1, 1], [1, 1], [4, 2])
        assert hs.plan_product(2, 2, 2, platform, "bmm").columns.tolist() == [2, 0]
        best = hs.plan_product(2, 2, 2, platform, budget=0)
        assert best.makespan <= hs.plan_product(2, 2, 2, platform, "bmm").makespan
        with pytest.raises(
            hs.InfeasibleError, match="'het' needs at least 5 blocks, the largest is 4"
        ):
            hs.plan_product(2, 2, 2, platform, "het")
        with pytest.raises(
            hs.InfeasibleError, match="'best' needs at least 3 blocks, the largest is 2"
        ):
            hs.plan_product(2, 2, 2, platform_of([1], [1], [2]))
        with pytest.raises(hs.InfeasibleError, match="3 blocks, the largest is 2"):
            hs.plan_product(2, 2, 2, platform_of([1], [1], [2]), "bmm")

    def test_simulate(self):
        plan = plan_of(FIRST, "het")
        trace = hs.simulate(plan)
        assert trace.makespan == trace.predicted == 250
        assert trace.total("compute") == tuple(float(x) for x in plan.updates * plan.cycle_times)
        busy = sum(end - start for _, kind, start, end, _ in trace.events if kind == "transfer")
        assert busy == sum(x["end"] - x["start"] for x in plan.messages)
        assert {"C of chunk 0", "panel 2 of chunk 1", "result of chunk 0"} <= {
            event.what for event in trace.events
        }

    @pytest.mark.slow
    def test_plot(self):
        pytest.importorskip("matplotlib").use("Agg")
        from matplotlib import pyplot

        plan = plan_of(FIRST, "het")
        ax = plan.plot()
        assert [label.get_text() for label in ax.get_yticklabels()] == ["port", "P0", "P1"]
        assert "het, makespan 250" in ax.get_title(loc="left")
        assert plan.plot(ax) is ax
        assert "<svg" in plan._repr_html_()
        pyplot.close("all")

    def test_to_dict(self):
        plan = plan_of(FIRST, "het")
        content = json.loads(json.dumps(plan.to_dict()))
        assert content["type"] == "StarPlan"
        assert content["makespan"] == 250
        assert content["columns"] == [5, 3]
        assert len(content["messages"]) == len(plan.messages)
        assert content["bounds"] == plan.bounds

    def test_files_from_before_chunks_were_ahead(self):
        """Their rows are shorter, and mean that none is."""
        plan = plan_of(FIRST, "het")
        content = plan.to_dict()
        short = content | {"chunks": [row[:-1] for row in content["chunks"]]}
        assert hs.Plan.from_dict(short) == plan == hs.Plan.from_dict(content)
        ahead = plan_of((6, 12, 3, (1, 2), (9, 8), (40, 50)), "overlap")
        assert hs.Plan.from_dict(ahead.to_dict()) == ahead
        assert ahead.chunks["ahead"].any()
        wrong = [
            [row[:-2] for row in content["chunks"]],
            [content["chunks"][0], *short["chunks"][1:]],
            [3],
        ]
        for rows in wrong:
            with pytest.raises(
                ValueError, match=r"content\['chunks'\] is not valid for a StarPlan"
            ):
                hs.Plan.from_dict(content | {"chunks": rows})

    def test_small_memory_beside_a_large_one(self, monkeypatch):
        """Many messages are possible, so Ctrl-C is looked for."""
        called = []
        monkeypatch.setattr(
            engine,
            "cancellable",
            lambda call, long: called.append(long) or ffi.check_status(call(ffi.ffi.NULL)),
        )
        hs.plan_product(
            1000, 1000, 2, platform_of([1, 0], [1, 1], [10**7, 5]), "het", variant="local"
        )
        assert called[0]

    @pytest.mark.slow
    def test_too_many_messages_beside_a_large_memory(self, monkeypatch):
        """What a plan may need is told from the largest memory: a small one beside it, or A that
        stays, needs far more."""
        shape = 4, 2**31 - 1, 4
        for method in ("oddoml", "search"):
            with pytest.raises(
                ValueError, match="need more messages, at most 100000000 can be simulated"
            ):
                hs.plan_product(*shape, platform_of([1, 2], [2, 3], [2**40, 21]), method)
        vast = platform_of([1, 2], [2, 3], [2**53, 2**53])
        assert len(hs.plan_product(*shape, vast).messages) < 2000

    def test_ctrl_c_can_be_looked_for(self, monkeypatch):
        expected = {method: plan_of(SECOND, method).makespan for method in METHODS}
        monkeypatch.setattr(star_module, "_LONG", 0)
        assert {method: plan_of(SECOND, method).makespan for method in METHODS} == expected


class TestBadInput:
    PLATFORM = platform_of([1, 2], [2, 3], [12, 21])

    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"r": 0}, ValueError, r"r must be in \[1, 2147483647\], got 0"),
            ({"s": 2.5}, ValueError, "s must be an integer, got 2.5"),
            ({"t": "3"}, TypeError, "t must be an integer, got '3'"),
            ({"t": 2**31}, ValueError, "t must be in"),
            (
                {"method": "greedy"},
                ValueError,
                "method must be one of best, hom, .*, exact, got 'greedy'",
            ),
            (
                {"method": "exact", "returns": "eager"},
                ValueError,
                "returns is not for method='exact', .*, got 'eager'",
            ),
            (
                {"method": "exact", "s": 40, "budget": 0},
                ValueError,
                r"\(4, 40, 3\) on 2 workers need a larger budget",
            ),
            (
                {"method": "exact", "s": 10**6},
                ValueError,
                "on 2 workers can need 10000000 messages, at most 1048576 are tried",
            ),
            ({"returns": "soon"}, ValueError, "returns must be one of lazy, eager, got 'soon'"),
            ({"seed": -1}, ValueError, r"seed must be in \[0, 18446744073709551615\], got -1"),
            ({"method": np.array(["het", "hom"])}, ValueError, "method must be one of best, hom"),
            (
                {"variant": ["c"], "method": "het"},
                ValueError,
                r"variant must be one of global, .*, got \['c'\]",
            ),
            ({"budget": -1}, ValueError, "budget must be at least 0, got -1"),
            ({"budget": math.inf}, ValueError, "budget must be finite, got inf"),
            (
                {"variant": "c", "method": "het"},
                ValueError,
                "variant must be one of global, .*, got 'c'",
            ),
            (
                {"variant": "global", "method": "hom"},
                ValueError,
                "variant is for method='het', got 'global' with 'hom'",
            ),
            ({"platform": [1, 2]}, TypeError, "platform must be a Platform .*, got list"),
            (
                {"platform": hs.Platform.complete([1, 2], [[0, 1], [1, 0]])},
                ValueError,
                "platform must be a star",
            ),
            (
                {"platform": platform_of([1, 2e200], [1, 1], 9)},
                ValueError,
                r"link_costs\[1\] must be at most 1e\+200",
            ),
            (
                {"platform": platform_of([1, 2], [2e200, 1], 9)},
                ValueError,
                r"cycle_times\[0\] must be at most 1e\+200",
            ),
            ({"r": 10**6, "s": 10**6}, ValueError, "need more messages, at most 100000000"),
            (
                {"r": 50000, "s": 50000, "t": 2**31 - 1, "platform": hs.Platform.star([1], [1])},
                ValueError,
                "need more messages",
            ),
            (
                {"r": 2**21, "s": 2**21, "t": 2**21, "method": "bmm"},
                ValueError,
                r"less than 2\^63 block updates, got 9223372036854775808",
            ),
        ],
    )
    def test_message(self, changes, error, message):
        arguments = {"r": 4, "s": 8, "t": 3, "platform": self.PLATFORM} | changes
        with pytest.raises(error, match=message):
            hs.plan_product(**arguments)

    @pytest.mark.parametrize("number", [np.int8, np.uint8, np.int32, np.float16, float])
    def test_small_types_do_not_overflow(self, number):
        plan = hs.plan_product(number(20), number(30), number(10), self.PLATFORM, "het")
        assert plan.shape == (20, 30, 10)
        assert plan.makespan == hs.plan_product(20, 30, 10, self.PLATFORM, "het").makespan
        with pytest.raises(
            ValueError, match=r"less than 2\^63 block updates, got 9223372036854775808"
        ):
            hs.plan_product(*[np.int64(2**21)] * 3, self.PLATFORM, "bmm")
