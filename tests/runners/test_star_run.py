"""Plans of plan_product, run: results against NumPy, measured logs against the judge that knows
only the model."""

from __future__ import annotations

import itertools
import os
import random
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inputs import many
from interrupted import interrupted
from oracles.star import judge
from random_chunks import random_chunks

import hetsched as hs
from hetsched._engine import kernels
from hetsched._engine.star import STAR_CHUNK, Star
from hetsched._engine.star import peaks as peaks_of
from hetsched.planners.star import METHODS
from hetsched.runners import star as star_run
from hetsched.runners.operands import operands
from hetsched.runners.pool import resources_of

DEMAND = 1
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
LAYOUTS = ("C", "F", "every second", "backwards")
SHAPE = (4, 8, 3)
PLATFORM = hs.Platform.star([2e-4, 3e-4], link_costs=[1e-4, 2e-4], memory=[12, 21])


def matrix(rng, shape, dtype, layout="C"):
    full = rng.standard_normal((2 * shape[0], 3 * shape[1]))
    if np.dtype(dtype).kind == "c":
        full = full + 1j * rng.standard_normal(full.shape)
    full = full.astype(dtype)
    if layout == "every second":
        return full[::2, ::3]
    part = np.array(full[: shape[0], : shape[1]], order="F" if layout == "F" else "C")
    return part[::-1, ::-1] if layout == "backwards" else part


def near(C, A, B, alpha=1.0, beta=0.0, old=None):
    """Within the usual bound of a sum of k products, element by element."""
    wanted = alpha * (A.astype(complex) @ B.astype(complex))
    size = abs(alpha) * (abs(A).astype(float) @ abs(B).astype(float))
    if old is not None:
        wanted, size = wanted + beta * old, size + abs(beta) * abs(old)
    return (abs(C - wanted) <= 4 * (A.shape[1] + 4) * np.finfo(C.dtype).eps * size).all()


def plan_of_chunks(shape, costs, times, memory, chunks):
    """A StarPlan of any chunks, demand driven."""
    platform = hs.Platform.star(times, link_costs=costs, memory=[max(m, 3) for m in memory])
    plan = hs.plan_product(*shape, platform, "bmm")
    table = np.array([(*chunk, 0)[:9] for chunk in chunks], STAR_CHUNK)
    star = Star(shape, np.array(times, float), np.array(costs, float), np.array(memory, np.int64))
    makespan, messages = star.simulate(table, DEMAND, np.zeros(0, np.int32), False)
    return platform, replace(
        plan, chunks=table, messages=messages, makespan=makespan, memory=np.array(memory, np.int64)
    )


def whatever(seed):
    """shape, costs, times, memory and chunks that hold A, B or C, with just the memory that they
    need."""
    rng = random.Random(seed)
    r, s, t, p = rng.randint(1, 7), rng.randint(1, 7), rng.randint(1, 6), rng.randint(1, 3)
    costs, times = ([1e-5 * rng.randint(low, 5) for _ in range(p)] for low in (0, 1))
    chunks, memory = random_chunks(rng, (r, s, t), p)
    return (r, s, t), costs, times, memory, chunks


def logged(pool, plan, A, B, order, emulate):
    """C, and what the engine says of the run."""
    x = operands(A, B, None, 1.0, 0.0)
    times, costs = (
        (pool.platform.cycle_times, pool.platform.link_costs) if emulate else (None, None)
    )
    run = star_run.checked(plan, x, order, times, costs, (None,) * len(plan.names))
    return x.result, run, run.run(resources_of(pool).threads, None)


class TestResults:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("order", ["plan", "demand"])
    def test_methods(self, method, order):
        rng = np.random.default_rng(0)
        plan = hs.plan_product(*SHAPE, PLATFORM, method)
        A, B = (
            matrix(rng, (4 * 7 - 3, 3 * 7 - 1), np.float64),
            matrix(rng, (3 * 7 - 1, 8 * 7 - 6), np.float64),
        )
        before = A.copy(), B.copy()
        with hs.Pool(PLATFORM, emulate=True) as pool:
            C, trace = pool.run(plan, A, B, order=order, trace=True)
        assert near(C, A, B)
        assert trace.makespan >= trace.predicted * (1 - 1e-9) or order == "demand"
        assert all(peak <= memory for peak, memory in zip(trace.peak, plan.memory, strict=True))
        assert (before[0] == A).all()
        assert (before[1] == B).all()

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("seed", range(8))
    def test_types_strides_edges(self, dtype, seed):
        rng = np.random.default_rng(seed)
        q = int(rng.integers(1, 30))
        m, n, k = (int(b * q - rng.integers(min(q, 1 + b * q // 8))) for b in SHAPE)
        layout = [LAYOUTS[i] for i in rng.integers(4, size=3)]
        A, B, C = (
            matrix(rng, shape, dtype, own)
            for shape, own in zip(((m, k), (k, n), (m, n)), layout, strict=True)
        )
        alpha, beta = [(1, 0), (-2, 1), (0.5, 3), (1, 1)][seed % 4]
        if np.dtype(dtype).kind == "c" and seed % 2:
            alpha, beta = alpha + 1j, beta - 2j
        old = C.copy()
        if beta == 0:
            C[...] = np.nan
        plan = hs.plan_product(*SHAPE, PLATFORM, METHODS[seed % len(METHODS)])
        with hs.Pool(2) as pool:
            if sizes_by_trial(SHAPE, (m, n, k)) is None:
                with pytest.raises(ValueError, match="blocks"):
                    pool.run(plan, A, B, C, alpha, beta)
                return
            result = pool.run(plan, A, B, C, alpha, beta)
        assert result is C
        assert near(C, A, B, alpha, beta, old if beta else None)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("kernel", kernels.KERNELS)
    def test_kernels(self, kernel):
        rng = np.random.default_rng(3)
        before = kernels.kernel()["name"]
        try:
            kernels.use_kernel(kernel)
        except ValueError:
            pytest.skip(f"no {kernel} here")
        try:
            for dtype, held in itertools.product(DTYPES, range(3)):
                chunks = [(0, held, 2, 0, 0, 2, 1, 1), (1, held, 1, 0, 1, 2, 2, 2)]
                _, plan = plan_of_chunks((2, 3, 3), [1, 1], [1, 1], [16, 26], chunks)
                A, B = matrix(rng, (126, 190), dtype), matrix(rng, (190, 190), dtype, "F")
                with hs.Pool(2) as pool:
                    assert near(pool.run(plan, A, B), A, B)
        finally:
            kernels.use_kernel(before)

    def test_mixed_types_and_no_copy_of_alpha_zero(self):
        plan = hs.plan_product(*SHAPE, PLATFORM, "het")
        A, B, C = np.full((4, 3), np.nan, np.float32), np.ones((3, 8)), np.full((4, 8), 2.0)
        with hs.Pool(2) as pool:
            assert pool.run(plan, np.ones((4, 3), np.float32), B).dtype == np.float64
            assert (pool.run(plan, A, B, C, 0.0, 3.0) == 6).all()

    def test_broadcast_inputs(self):
        plan = hs.plan_product(*SHAPE, PLATFORM, "het")
        A, B = (
            np.broadcast_to(np.float32(2), (40, 30)),
            np.broadcast_to(np.arange(80, dtype=np.float32), (30, 80)),
        )
        with hs.Pool(2) as pool:
            assert (pool.run(plan, A, B) == 60 * np.arange(80)).all()


class TestModel:
    @pytest.mark.parametrize("seed", range(many(40, 10)))
    def test_whatever_is_held(self, seed):
        """Any chunks: the product, and a log that the judge accepts, in both orders, emulated and
        at real speed."""
        shape, costs, times, memory, chunks = whatever(seed)
        platform, plan = plan_of_chunks(shape, costs, times, memory, chunks)
        rng = np.random.default_rng(seed)
        r, s, t = shape
        q = int(rng.integers(1, 9))
        A, B = rng.standard_normal((r * q, t * q)), rng.standard_normal((t * q, s * q))
        emulate = seed % 2 == 0
        with hs.Pool(platform, emulate=emulate) as pool:
            for order in ("plan", "demand"):
                C, run, result = logged(pool, plan, A, B, order, emulate)
                assert near(C, A, B)
                end = judge(shape, None, None, memory, chunks, result.messages.tolist())
                assert (
                    end >= result.simulated["end"].max() * (1 - 1e-9)
                    or not emulate
                    or order == "demand"
                )
                peaks = []
                judge(shape, None, None, memory, chunks, result.simulated.tolist(), peaks)
                assert run.simulated().tolist() == result.simulated.tolist()
                assert (
                    peaks_of(shape[2], len(memory), plan.chunks, result.simulated).tolist() == peaks
                )
                for i, (peak, limit) in enumerate(zip(result.peak, memory, strict=True)):
                    assert peak <= limit
                    assert peak >= max(
                        (need(shape, chunk) for chunk in chunks if chunk[0] == i), default=0
                    )
                fields = ["worker", "kind", "chunk", "depth"]
                if order == "plan":
                    assert (result.messages[fields] == plan.messages[fields]).all()
                for i in range(len(memory)):  # a worker's own messages have one order
                    own = [x[x["worker"] == i][fields] for x in (result.messages, plan.messages)]
                    assert (own[0] == own[1]).all()

    def test_demand(self):
        """What does not hang on time: at first all ask at once; then each panel's request is as old
        as its worker's C."""
        chunks = [(i, 0, 2, 0, i, 1, 1, 1) for i in range(3)]
        shape, memory = (1, 3, 4), [5, 5, 5]
        platform, plan = plan_of_chunks(shape, [1e-5] * 3, [1e-3] * 3, memory, chunks)
        # not the order of the plan
        plan = replace(plan, messages=np.sort(plan.messages, order=["worker", "start"]))
        for emulate in (True, False):
            with hs.Pool(platform, emulate=emulate) as pool:
                _, _, result = logged(
                    pool, plan, np.ones((1, 4)), np.ones((4, 3)), "demand", emulate
                )
            assert result.messages["worker"][:3].tolist() == [0, 1, 2]
            first = result.messages[
                np.isin(result.messages["depth"], (0, 1)) & (result.messages["kind"] == 1)
            ]
            assert first["worker"].tolist() == [0, 0, 1, 1, 2, 2]

    def test_a_platform_other_than_the_plans(self):
        plan = hs.plan_product(*SHAPE, PLATFORM, "het")
        other = hs.Platform.star([1e-4, 1e-4], link_costs=[1e-4, 1e-4], memory=[50, 50])
        with hs.Pool(other, emulate=True, time_scale=2.0) as pool:
            C, trace = pool.run(plan, np.ones((8, 6)), np.ones((6, 16)), trace=True)
        star = Star(SHAPE, np.full(2, 1e-4), np.full(2, 1e-4), np.array([50, 50], np.int64))
        wanted, _ = star.simulate(plan.chunks, 3, plan.messages["worker"].copy(), False)
        assert trace.predicted == pytest.approx(2 * wanted)
        assert (C == 6).all()

    def test_trace(self, tmp_path):
        plan = hs.plan_product(*SHAPE, PLATFORM, "het")
        A, B = np.ones((16, 12)), np.ones((12, 32))
        with hs.Pool(PLATFORM, emulate=True, time_scale=1.5) as pool:
            assert pool.run(plan, A, B, order="demand", trace=True)[1].predicted == pytest.approx(
                1.5 * 0.026
            )  # not the plan's 0.025
            _, trace = pool.run(plan, A, B, trace=True)
        assert (trace.kind, trace.unit, trace.workers) == ("emulated", "s", plan.names)
        assert trace.predicted == pytest.approx(1.5 * plan.makespan)
        assert trace.predicted_finish == pytest.approx([1.5 * x for x in hs.simulate(plan).finish])
        assert trace.ideal == pytest.approx(1.5 * plan.updates.sum() / (1 / plan.cycle_times).sum())
        assert trace.predicted_peak == (12, 21)
        rows = list(itertools.product((0, 1), KINDS))
        planned = [[s.what for s in plan.steps() if (s.worker, s.kind) == own] for own in rows]
        assert [
            [e.what for e in trace.events if (e.worker, e.kind) == own]
            for own in itertools.product((0, 1), KINDS)
        ] == planned
        port = sorted((e for e in trace.events if e.kind == "transfer"), key=lambda e: e.start)
        assert all(b.start >= a.end for a, b in itertools.pairwise(port))
        assert [e.worker for e in port] == plan.messages["worker"].tolist()
        for i in (0, 1):
            computing = [e for e in trace.events if (e.worker, e.kind) == (i, "compute")]
            assert all(b.start >= a.end for a, b in itertools.pairwise(computing))
        trace.to_csv(tmp_path / "trace.csv")
        pytest.importorskip("matplotlib").use("Agg")
        assert "emulated" in trace.plot().get_title(loc="left")
        with hs.Pool(2) as pool:
            _, trace = pool.run(plan, A, B, trace=True)
        assert (trace.kind, trace.predicted, trace.predicted_finish) == ("real", None, None)
        assert max(trace.peak) <= 21


KINDS = ("transfer", "compute")


def need(shape, chunk):
    """What is held and one panel."""
    _, held, buffers, _, _, h, v, depth, _ = chunk
    t = shape[2]
    if buffers < 1:
        return h * v + 1 + (h if buffers else v)
    stays, layer, length = [(h * v, h + v, t), (h * t, h + t, v), (v * t, v + t, h)][held]
    return stays + min(depth, length) * layer


def sizes_by_trial(shape, sizes):
    r, s, t = shape
    m, n, k = sizes
    return next(
        (q for q in range(1, max(sizes) + 1) if (-(-m // q), -(-n // q), -(-k // q)) == (r, s, t)),
        None,
    )


class TestArguments:
    @given(st.tuples(*[st.integers(1, 6)] * 3), st.tuples(*[st.integers(0, 40)] * 3))
    @example((4, 8, 3), (310, 640, 240))
    @example((1, 1, 1), (5, 1, 3))
    @example((1, 2, 1), (3, 7, 3))
    def test_block(self, shape, sizes):
        wanted = sizes_by_trial(shape, sizes)
        if wanted is None:
            with pytest.raises(
                ValueError, match=r"^[AB] has \d+ (rows|columns), which .* [rst] = \d+"
            ):
                star_run.block_of(shape, sizes)
        else:
            assert star_run.block_of(shape, sizes) == wanted

    @pytest.mark.parametrize(
        ("change", "error", "words"),
        [
            (
                {"A": np.ones((3, 3))},
                ValueError,
                "A has 3 rows, which no size of blocks makes the plan's r = 4 blocks",
            ),
            (
                {"A": np.ones((5, 3))},
                ValueError,
                "A has 5 rows, which no size of blocks makes the plan's r = 4 blocks",
            ),
            (
                {"A": np.ones((8, 3))},
                ValueError,
                "B has 8 columns, which are 4 in blocks of 2, the plan has s = 8; .* many for A",
            ),
            ({"A": np.ones((2, 4, 3))}, ValueError, "A and B must be matrices"),
            ({"out": np.ones((4, 7))}, ValueError, "out has shape"),
            ({"beta": 1.0}, ValueError, "beta needs out"),
            ({"A": np.ones((4, 3), np.longdouble)}, TypeError, "A and B have dtypes"),
            ({"order": "plans"}, ValueError, "order must be one of plan, demand, got 'plans'"),
            ({"plan": hs.distribute(8, [1, 2])}, TypeError, "plan must be a plan of a product"),
            (
                {"plan": hs.partition([1, 1], shape=(4, 8)), "order": "demand"},
                ValueError,
                "order is for a plan of plan_product",
            ),
            (
                {"communication": "parallel"},
                ValueError,
                "communication is for a partition, got 'parallel' with a StarPlan",
            ),
            (
                {
                    "plan": hs.plan_product(
                        4, 8, 3, hs.Platform.star([1] * 3, memory=[9] * 3), budget=0
                    )
                },
                ValueError,
                "3 workers, the pool has 2",
            ),
        ],
    )
    def test_bad(self, change, error, words):
        given = {
            "plan": hs.plan_product(*SHAPE, PLATFORM, "het"),
            "A": np.ones((4, 3)),
            "B": np.ones((3, 8)),
            **change,
        }
        with hs.Pool(2) as pool, pytest.raises(error, match=words):
            pool.run(**given)

    def test_memory_of_the_pool(self):
        plan = hs.plan_product(*SHAPE, PLATFORM, "het")
        small = hs.Platform.star(
            PLATFORM.cycle_times, link_costs=PLATFORM.link_costs, memory=[12, 20], names=["a", "b"]
        )
        with (
            hs.Pool(small, emulate=True) as pool,
            pytest.raises(
                ValueError, match="plan needs 21 blocks of memory at worker P1, which has 20"
            ),
        ):
            pool.run(plan, np.ones((4, 3)), np.ones((3, 8)))
        deep = hs.plan_product(*SHAPE, PLATFORM, "bmm")  # one buffer of 2 (2 + 2) blocks beside 4
        with (
            hs.Pool(2) as pool,
            pytest.raises(
                ValueError, match="plan needs 12 blocks of memory at worker P0, which has 11"
            ),
        ):
            pool.run(replace(deep, memory=np.array([11, 21])), np.ones((4, 3)), np.ones((3, 8)))
        with (
            hs.Pool(2) as pool,
            pytest.raises(
                ValueError, match="plan needs 21 blocks of memory at worker P1, which has 20"
            ),
        ):
            pool.run(replace(plan, memory=np.array([12, 20])), np.ones((4, 3)), np.ones((3, 8)))

    @pytest.mark.parametrize(
        ("times", "costs", "words"),
        [
            (1e-12, 0, "platform is too fast for this host: its workers do .* GFLOP/s together"),
            (1, 1e-12, "platform's links are too fast for this host: they carry up to .* GB/s"),
        ],
    )
    def test_too_fast(self, times, costs, words):
        platform = hs.Platform.star([times] * 2, link_costs=[costs] * 2, memory=[12, 21])
        plan = hs.plan_product(*SHAPE, platform, "het")
        A, B = np.ones((4 * 32, 3 * 32)), np.ones((3 * 32, 8 * 32))
        with (
            hs.Pool(platform, emulate=True) as pool,
            pytest.raises(ValueError, match=words) as refused,
        ):
            pool.run(plan, A, B)
        assert float(str(refused.value).split("time_scale=")[1].split()[0]) > 1
        if times < 1:
            scale = 3 * float(str(refused.value).split("time_scale=")[1].split()[0])
            with hs.Pool(platform, emulate=True, time_scale=scale) as pool:
                assert (pool.run(plan, A, B) == 96).all()

    def test_endless(self):
        plan = hs.plan_product(*SHAPE, PLATFORM, "het")
        never = hs.Platform.star([1, 1e250], memory=[12, 21])
        with (
            hs.Pool(never, emulate=True) as pool,
            pytest.raises(ValueError, match="worker P1 of the pool has a cycle-time of 1e\\+250"),
        ):
            pool.run(plan, np.ones((4, 3)), np.ones((3, 8)))

    def test_pools_of_limited_memory_are_checked_when_they_run(self):
        fast = hs.Platform.star(speeds=[1e5, 2e5], memory=[12, 12])
        with (
            hs.Pool(fast, emulate=True) as pool,
            pytest.raises(ValueError, match=r"platform is too fast.*time_scale="),
        ):
            pool.matmul(np.ones((200, 200)), np.ones((200, 200)))


class TestThreads:
    def test_several_at_once(self):
        rng = np.random.default_rng(0)
        plans = [hs.plan_product(*SHAPE, PLATFORM, method) for method in METHODS]
        inputs = [
            (rng.standard_normal((4 * q, 3 * q)), rng.standard_normal((3 * q, 8 * q)))
            for q in (1, 8, 17)
        ]
        right = []

        def work(k):
            for plan in plans:
                A, B = inputs[k % 3]
                right.append(near(pool.run(plan, A, B, order=("plan", "demand")[k % 2]), A, B))

        with hs.Pool(2) as pool:
            threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert right == [True] * 6 * len(METHODS)

    @pytest.mark.parametrize("order", ["plan", "demand"])
    def test_progress_and_its_errors(self, order):
        slow = hs.Platform.star([50, 50], link_costs=[1e-3, 1e-3], memory=[12, 21])
        plan = hs.plan_product(*SHAPE, slow, "het")
        seen = []

        class Stop(Exception):
            pass

        def watch(fraction):
            seen.append(fraction)
            if len(seen) == 3:
                raise Stop("enough")

        with hs.Pool(slow, emulate=True) as pool, pytest.raises(Stop, match="enough"):
            pool.run(plan, np.ones((4, 3)), np.ones((3, 8)), order=order, progress=watch)
        assert len(seen) == 3
        assert all(0 <= x <= 1 for x in seen)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
    def test_in_a_forked_child(self):
        plan = hs.plan_product(*SHAPE, PLATFORM, "het")
        with hs.Pool(2) as pool:
            pool.run(plan, np.ones((4, 3)), np.ones((3, 8)))
            child = os.fork()
            if child == 0:
                os._exit(0 if (pool.run(plan, np.ones((4, 3)), np.ones((3, 8))) == 3).all() else 1)
            assert os.waitpid(child, 0)[1] == 0

    @pytest.mark.slow
    @pytest.mark.parametrize("slow", ["links", "workers"])
    def test_interrupt(self, slow):
        program = f"""
            import time
            import numpy as np, hetsched as hs
            times, costs = [1e-3] * 2, [1e3] * 2
            if {slow!r} == "workers":
                times, costs = costs, times
            platform = hs.Platform.star(times, link_costs=costs, memory=[12, 21])
            plan = hs.plan_product(4, 8, 3, platform, budget=0)
            with hs.Pool(platform, emulate=True) as pool:
                print("ready", flush=True)
                try:
                    pool.run(plan, np.ones((4, 3)), np.ones((3, 8)))
                except KeyboardInterrupt:
                    print("interrupted", time.monotonic(), flush=True)
            """
        assert interrupted(program) == []
