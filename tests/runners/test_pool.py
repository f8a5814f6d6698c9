"""Pools: emulated time, traces, threads, forks, interrupts."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from inputs import many
from interrupted import interrupted

import hetsched as hs
from hetsched._engine import run as engine
from hetsched.plan import Plan


def matrices(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, n)), rng.standard_normal((n, n))


def validate(trace, plan, scale, pace_tolerance=0.0):
    """Replay: a worker does one thing at a time, the port too, nobody computes before its data is
    there or faster than its cycle-time allows; the boxes cover every multiply-add once."""
    own = [[e for e in trace.events if e.worker == w] for w in range(len(trace.workers))]
    for w, events in enumerate(own):
        assert all(e.end >= e.start >= 0 for e in events)
        assert all(b.start >= a.end - 1e-9 for a, b in zip(events, events[1:], strict=False))
        assert {e.kind for e in events} <= {"compute", "transfer", "wait"}
        if events:
            assert events[0].start == 0.0
            assert events[-1].end == trace.makespan
        computed = sum(e.end - e.start for e in events if e.kind == "compute")
        assert (
            computed
            >= plan.flops[w] * plan.cycle_times[w] / 1e9 * scale * (1 - 1e-9) - pace_tolerance
        )
        transfers = [e for e in events if e.kind == "transfer"]
        first = min((e.start for e in events if e.kind == "compute"), default=np.inf)
        assert all(e.end <= first + 1e-6 for e in transfers)
    port = sorted((e for e in trace.events if e.kind == "transfer"), key=lambda e: e.start)
    assert all(b.start >= a.end - 1e-9 for a, b in zip(port, port[1:], strict=False))
    covers(plan)


def covers(plan):
    m, n, k = plan.shape
    painted = np.zeros((m, n), int)
    for _, r, c, d, h, w, length in plan.boxes.tolist():
        assert (d, length) == (0, k)
        painted[r : r + h, c : c + w] += 1
    assert (painted == 1).all()


class TestPlan:
    def test_block_columns_of_the_2001_paper(self):
        with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True) as pool:
            plan = pool.plan(2496, 2496, 2496, method="columns", block=32)
        assert (plan.boxes[:, 5] // 32).tolist() == [40, 24, 14]
        assert plan.makespan == pytest.approx(120 * 32 * 2 * 2496**2 / 1e9)

    @pytest.mark.parametrize("method", ["columns", "rows", "rectangles"])
    @pytest.mark.parametrize("block", [1, 7, 64])
    def test_covers(self, method, block):
        platform = hs.Platform.star([1, 2, 3, 7, 11])
        with hs.Pool(platform) as pool:
            for m, n, k in ((640, 500, 30), (129, 257, 8)):
                if method == "rectangles" and -(-m // block) * -(-n // block) < 5:
                    continue
                plan = pool.plan(m, n, k, method=method, block=block)
                covers(plan)
                assert plan.makespan >= plan.lower_bound > 0
                assert hs.simulate(plan).makespan == pytest.approx(plan.makespan)

    def test_auto_is_the_fastest_in_the_model(self):
        platform = hs.Platform.star([1, 2, 3, 4], link_costs=[5, 5, 5, 5])
        with hs.Pool(platform, emulate=True, time_scale=10) as pool:
            spans = {
                m: pool.plan(900, 900, 100, method=m).makespan
                for m in ("columns", "rows", "rectangles", "auto")
            }
        assert spans["auto"] == min(spans.values())
        assert spans["rectangles"] < spans["columns"]  # it moves less, and moving counts here

    def test_more_workers_than_blocks(self):
        platform = hs.Platform.star([1, 1, 1, 1, 1])
        with hs.Pool(platform) as pool:
            with pytest.raises(
                hs.InfeasibleError, match="2 x 2 blocks are fewer than the 5 workers"
            ):
                pool.plan(64, 64, 64, method="rectangles", block=32)
            covers(pool.plan(64, 64, 64, method="columns", block=32))  # some get nothing
            assert (pool.matmul(np.ones((1, 3)), np.ones((3, 1)), method="columns") == 3).all()

    @pytest.mark.parametrize("bad", [(-1, 2, 3), (1, 2.5, 3), ("1", 2, 3), (2**60, 2, 3)])
    def test_bad_sizes(self, bad):
        with hs.Pool(1) as pool, pytest.raises((ValueError, TypeError), match="[mnk] must be"):
            pool.plan(*bad)

    def test_unsupported_dtype(self):
        with hs.Pool(1) as pool, pytest.raises(TypeError, match="dtype int64"):
            pool.plan(1, 1, 1, dtype=int)


class TestEmulation:
    """The platforms are slow enough for a loaded machine: what is tested is that time is kept, not
    that it is short."""

    @pytest.mark.parametrize("method", ["columns", "rows", "rectangles"])
    def test_workers_take_the_time_they_should(self, method):
        A, B = matrices(500)
        with hs.Pool(hs.Platform.star([3, 5, 8, 6, 7, 4]), emulate=True, time_scale=2) as pool:
            plan = pool.plan(500, 500, 500, method=method)
            C, trace = pool.matmul(A, B, method=method, trace=True)
        np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
        assert trace.kind == "emulated"
        assert trace.unit == "s"
        assert trace.predicted == 2 * plan.makespan
        assert trace.makespan >= trace.predicted
        validate(trace, plan, 2.0)
        assert 0 < trace.efficiency <= 1
        assert len(trace.cpu) == 6

    def test_time_scale(self):
        A, B = matrices(200)
        platform = hs.Platform.star([1, 2])
        for scale in (3.0, 9.0):
            with hs.Pool(platform, emulate=True, time_scale=scale) as pool:
                _, trace = pool.matmul(A, B, trace=True)
                plan = pool.plan(200, 200, 200)
            assert trace.predicted == pytest.approx(plan.makespan * scale)
            validate(trace, plan, scale)

    def test_links(self):
        A, B = matrices(300)
        with hs.Pool(
            hs.Platform.star([1, 2, 3], link_costs=[30, 40, 0]), emulate=True, time_scale=3
        ) as pool:
            plan = pool.plan(300, 300, 300, method="rectangles")
            C, trace = pool.matmul(A, B, method="rectangles", trace=True)
        np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
        assert trace.makespan >= trace.predicted
        assert sum(trace.total("transfer")) == pytest.approx(
            3 * (plan.received * plan.link_costs).sum() / 1e9
        )
        validate(trace, plan, 3.0)

    def test_every_dtype_and_complex_flops(self):
        for dtype in (np.float32, np.complex64, np.complex128):
            A = np.ones((120, 100), dtype)
            B = np.full((100, 80), 1j if np.dtype(dtype).kind == "c" else 1, dtype)
            with hs.Pool(hs.Platform.star([10, 20]), emulate=True) as pool:
                C, trace = pool.matmul(A, B, trace=True)
                plan = pool.plan(120, 80, 100, dtype=dtype)
            assert (100 * B[0, 0] == C).all()
            assert plan.flops.sum() == (8 if np.dtype(dtype).kind == "c" else 2) * 120 * 100 * 80
            validate(trace, plan, 1.0)

    def test_many_more_workers_than_cores(self):
        A, B = matrices(256)
        with hs.Pool(hs.Platform.star([40 + i for i in range(32)]), emulate=True) as pool:
            C, trace = pool.matmul(A, B, trace=True)
        np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
        assert len(trace.workers) == 32

    def test_too_fast_a_platform_is_refused(self):
        with pytest.raises(
            ValueError, match=r"platform is too fast.*GFLOP/s.*time_scale="
        ) as refused:
            hs.Pool(hs.Platform.star(speeds=[1e5, 2e5]), emulate=True)
        scale = float(str(refused.value).split("time_scale=")[1].split()[0])
        hs.Pool(hs.Platform.star(speeds=[1e5, 2e5]), emulate=True, time_scale=1.2 * scale).close()

    def test_the_host_is_asked_once_for_each_dtype(self, monkeypatch):
        asked, A = [], matrices(64)[0]
        with hs.Pool(hs.Platform.star([10, 20]), emulate=True) as pool:
            monkeypatch.setattr(
                "hetsched.runners.workers.Workers.require_capacity",
                lambda *about: asked.append(about[-1]),
            )
            for dtype in (np.float64, np.complex128, np.float64, np.complex128):
                pool.matmul(A.astype(dtype), A.astype(dtype))
        assert asked == ["float64", "complex128"]

    def test_too_late_is_said(self, monkeypatch):
        """Paced for a rate that thin boxes do not reach."""
        # of a slow host
        monkeypatch.setattr("hetsched.runners.workers.Workers.require_capacity", lambda *_: None)
        A, B = np.ones((20000, 1)), np.ones((1, 1000))
        with hs.Pool(hs.Platform.star(speeds=[20.0]), emulate=True, time_scale=1.0) as pool:
            assert pool.plan(20000, 1000, 1).makespan < 0.01
            with pytest.warns(hs.EmulationWarning, match="worker P0 was .* late"):
                pool.matmul(A, B)

    @pytest.mark.parametrize(
        "call",
        [
            lambda pool, a: pool.matmul(a, a),
            lambda pool, a: pool.run(pool.plan(6, 6, 6), a, a),
            lambda pool, a: pool.run(hs.plan_product(1, 1, 1, pool.platform, budget=0), a, a),
            lambda pool, a: pool.run(hs.partition([1.0], shape=(6, 6)), a, a, rebalance=2),
            lambda pool, a: pool.run(hs.layers_star(6, [1.0]), a, a, layers="."),
            lambda pool, a: pool.lu_factor(a),
            lambda pool, a: pool.lu_factor(a, owner=hs.plan_star_lu(3, pool.platform)),
            lambda pool, a: pool.stencil(a, 2),
            lambda pool, a: pool.sweep(
                hs.wavefront(2, 2, [1.0]), a, hs.Stencil([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
            ),
        ],
        ids=[
            "matmul",
            "run",
            "star",
            "zones",
            "layers",
            "lu_factor",
            "star_lu",
            "stencil",
            "sweep",
        ],
    )
    def test_it_is_said_of_the_line_that_calls(self, call, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        a, result = np.arange(36.0).reshape(6, 6) + 9 * np.eye(6), engine.Recorder.result
        monkeypatch.setattr(engine.Recorder, "result", lambda *of: result(*of)._replace(late=[7.0]))
        # of a busy host
        monkeypatch.setattr("hetsched.runners.workers.Workers.require_capacity", lambda *_: None)
        emulated = hs.Pool(hs.Platform.star([0.1], memory=[12]), emulate=True)
        with (
            emulated as pool,
            pytest.warns(hs.EmulationWarning, match="worker P0 was 7 s late") as caught,
        ):
            call(pool, a)
        assert (caught[0].filename, caught[0].lineno) == (__file__, call.__code__.co_firstlineno)

    @pytest.mark.parametrize(
        ("arguments", "keywords", "words"),
        [
            ((2,), {"emulate": True}, "needs a Platform"),
            ((), {"emulate": True}, "needs a Platform"),
            ((2,), {"time_scale": 2.0}, "time_scale is for emulate=True"),
            ((0,), {}, "workers must be in"),
            (
                (hs.Platform.star([1]),),
                {"emulate": True, "time_scale": 0.0},
                "time_scale must be greater than 0",
            ),
            (
                (hs.Platform.star([1]),),
                {"emulate": True, "time_scale": float("nan")},
                "time_scale must be finite",
            ),
        ],
    )
    def test_bad_arguments(self, arguments, keywords, words):
        with pytest.raises(ValueError, match=words):
            hs.Pool(*arguments, **keywords)


class TestRun:
    def test_partition_of_elements_and_of_blocks(self):
        A, B = matrices(300)
        with hs.Pool(hs.Platform.star([3, 5, 8]), emulate=True) as pool:
            for shape in ((300, 300), (10, 10), (8, 8)):
                plan = hs.partition([1, 1, 1], "rows", shape)
                C, trace = pool.run(plan, A, B, trace=True)
                np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
                slowest = -(-300 // shape[0]) * plan.rects[2, 2]  # rows of the slowest worker
                assert trace.predicted >= slowest * 300 * 300 * 2 * 8 / 1e9 * 0.9
                assert trace.makespan >= trace.predicted

    def test_into_c(self):
        A, B = matrices(100)
        with hs.Pool(2) as pool:
            plan = pool.plan(100, 100, 100, method="rectangles")
            C = np.ones((100, 100))
            assert pool.run(plan, A, B, C, alpha=2.0, beta=1.0) is C
        np.testing.assert_allclose(C, 2 * (A @ B) + 1, rtol=0, atol=1e-11)

    def test_wrong_plans(self):
        A, B = matrices(100)
        with hs.Pool(2) as pool, hs.Pool(3) as three:
            for plan, words in (
                (hs.partition([1, 1]), "give partition"),
                (hs.partition([1, 1, 1], shape=(100, 100)), "plan is for 3 workers"),
                (hs.partition([1, 1], shape=(30, 7)), "plan has shape"),
                (pool.plan(100, 100, 99), "plan is for m, n, k"),
                (three.plan(100, 100, 100), "plan is for 3 workers"),
            ):
                with pytest.raises(ValueError, match=words):
                    pool.run(plan, A, B)
            with pytest.raises(TypeError, match="plan must be"):
                pool.run(hs.distribute(3, [1, 2]), A, B)


class TestReal:
    @pytest.mark.parametrize("workers", [1, 2, 5])
    def test_trace(self, workers):
        A, B = matrices(400)
        with hs.Pool(workers) as pool:
            C, trace = pool.matmul(A, B, trace=True)
        np.testing.assert_allclose(C, A @ B, rtol=0, atol=1e-11)
        assert trace.kind == "real"
        assert trace.makespan > 0
        assert trace.predicted > 0

    def test_unequal_platform(self):
        """Shares follow the speeds: with one of them zero-like, the other does it all."""
        A, B = matrices(300)
        with hs.Pool(hs.Platform.star([1.0, 1e9])) as pool:
            np.testing.assert_allclose(pool.matmul(A, B), A @ B, rtol=0, atol=1e-11)
            plan = pool.plan(300, 300, 300, method="columns")
        assert plan.flops[1] == 0

    def test_several_panels_of_columns_dealt_unequally(self):
        """The narrower last panel is dealt differently; tiles taken over in one panel must not be
        mistaken for the next's."""
        rng = np.random.default_rng(7)
        A, B = rng.standard_normal((64, 2031)).T, rng.standard_normal((64, 608))
        with hs.Pool(hs.Platform.star([1 / 30.018, 1 / 7.982])) as pool:
            for out in (np.empty((2031, 608)), np.empty((608, 2031)).T):
                for _ in range(many(20, 5)):
                    np.testing.assert_allclose(
                        pool.matmul(A, B, out=out), A @ B, rtol=0, atol=1e-11
                    )

    def test_a_callback_may_not_use_its_own_pool(self):
        A, B = matrices(100)
        with hs.Pool(hs.Platform.star([2000, 1000]), emulate=True) as pool:
            with pytest.raises(RuntimeError, match="of this very thread"):
                pool.matmul(A, B, progress=lambda _: pool.matmul(A, B))
            # another one it may use; and the pool still works
            with pytest.raises(ZeroDivisionError):
                pool.matmul(A, B, progress=lambda _: (hs.matmul(A, B), 1 / 0))

    def test_threads_of_the_program_share_a_pool(self):
        A, B = matrices(150)
        want, errors = A @ B, []
        with hs.Pool(2) as pool:

            def work():
                for _ in range(20):
                    errors.append(np.abs(pool.matmul(A, B) - want).max())
                    errors.append(np.abs(hs.matmul(A, B) - want).max())

            threads = [threading.Thread(target=work) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(errors) == 240
        assert max(errors) < 1e-11

    def test_closing_while_another_thread_multiplies(self):
        A, B = matrices(700)
        pool = hs.Pool(2)
        results = []
        thread = threading.Thread(target=lambda: results.append(pool.matmul(A, B)))
        thread.start()
        time.sleep(0.005)
        pool.close()
        pool.close()
        thread.join()
        if results:  # it began before the close
            np.testing.assert_allclose(results[0], A @ B, rtol=0, atol=1e-10)

    def test_closed(self):
        pool = hs.Pool(1)
        pool.close()
        with pytest.raises(ValueError, match="the pool is closed"):
            pool.matmul(np.ones((2, 2)), np.ones((2, 2)))
        assert "closed" in repr(pool)

    def test_trace_of_a_stack_is_refused(self):
        with hs.Pool(1) as pool, pytest.raises(ValueError, match="trace is for one product"):
            pool.matmul(np.ones((2, 3, 4)), np.ones((4, 3)), trace=True)

    @pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
    def test_many_pools_leave_no_threads(self):
        before = len(os.listdir("/proc/self/task"))
        for _ in range(30):
            with hs.Pool(4) as pool:
                pool.matmul(np.ones((200, 200)), np.ones((200, 200)))
        until = time.monotonic() + 5  # the system may list a joined thread a moment longer
        while len(os.listdir("/proc/self/task")) > before and time.monotonic() < until:
            time.sleep(0.01)
        assert len(os.listdir("/proc/self/task")) <= before


def python(code, **keywords):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **keywords,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_gets_threads_of_its_own():
    result = python("""
        import os, threading, warnings
        warnings.simplefilter("ignore")
        import numpy as np, hetsched as hs
        A = np.random.default_rng(0).standard_normal((400, 400))
        want = A @ A
        pool = hs.Pool(2)
        hs.matmul(A, A), pool.matmul(A, A)
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                hs.matmul(A, A)
        thread = threading.Thread(target=busy)
        thread.start()
        for _ in range(10):
            child = os.fork()
            if child == 0:
                good = np.allclose(hs.matmul(A, A), want) and np.allclose(pool.matmul(A, A), want)
                pool.close()
                os._exit(0 if good else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        thread.join()
        assert np.allclose(pool.matmul(A, A), want)
        """)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_threads_of_a_forked_child_agree_on_its_threads():
    result = python("""
        import os, threading, warnings
        warnings.simplefilter("ignore")
        import numpy as np, hetsched as hs
        A = np.random.default_rng(0).standard_normal((200, 200))
        want = A @ A
        pool = hs.Pool(2)
        pool.matmul(A, A)
        for _ in range(10):
            child = os.fork()
            if child == 0:
                good = []
                work = lambda: good.append(np.allclose(pool.matmul(A, A), want))
                threads = [threading.Thread(target=work) for _ in range(4)]
                [t.start() for t in threads], [t.join() for t in threads]
                os._exit(0 if good == [True] * 4 else 1)
            assert os.waitpid(child, 0)[1] == 0
        """)
    assert result.returncode == 0, result.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["real", "emulated"])
def test_ctrl_c_stops_a_long_product(kind):
    """A product that would take minutes ends soon after SIGINT, and the pool works afterwards."""
    maker = (
        "hs.Pool(2)" if kind == "real" else "hs.Pool(hs.Platform.star([1000, 2000]), emulate=True)"
    )
    program = f"""
        import time
        import numpy as np, hetsched as hs
        n = 30_000 if {kind!r} == "real" else 1500
        A = np.broadcast_to(np.ones(1), (n, n))
        out = np.empty((n, 2000 if {kind!r} == "real" else n))
        B = np.broadcast_to(np.ones(1), (n, out.shape[1]))
        pool = {maker}
        print("ready", flush=True)
        try:
            for _ in range(100):
                pool.matmul(A, B, out=out)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), flush=True)
        A = np.ones((2, 2))
        print(pool.matmul(A, A)[0, 0] if {kind!r} == "real" else 2.0)
        """
    assert interrupted(program, after=0.5) == ["2.0"]


def test_progress_and_its_errors():
    A, B = matrices(100)
    seen = []

    class Stop(Exception):
        pass

    def watch(fraction):
        seen.append(fraction)
        if len(seen) == 3:
            raise Stop("enough")

    with (
        hs.Pool(hs.Platform.star([2000, 1000]), emulate=True) as pool,
        pytest.raises(Stop, match="enough"),
    ):
        pool.matmul(A, B, progress=watch)
    assert len(seen) == 3
    assert all(0 <= x <= 1 for x in seen)
    assert seen == sorted(seen)


@pytest.mark.slow
def test_extra_memory_is_small():
    """Peak memory of a product beyond its operands, in a fresh process."""
    result = python("""
        import resource
        import numpy as np, hetsched as hs
        n = 2000
        A, B, C = np.ones((n, n)), np.ones((n, n)), np.zeros((n, n))
        C += 1
        hs.matmul(A[:300, :300], B[:300, :300])  # threads and libraries are there
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        hs.matmul(A, B, out=C)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (3 * A.nbytes))
        """)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 0.15


def test_trim():
    a = np.ones((300, 300))
    with hs.Pool(2) as pool:
        pool.trim()
        assert pool.matmul(a, a)[0, 0] == 300.0
        pool.trim()
        assert pool.matmul(a, a)[-1, -1] == 300.0
    with pytest.raises(ValueError, match="closed"):
        pool.trim()


def test_plans_have_certificates():
    with hs.Pool(hs.Platform.star([3, 5, 8])) as pool:
        plan = pool.plan(640, 640, 64)
    assert isinstance(plan, Plan)
    assert plan.shared
    assert plan.gap >= 0
    assert plan.lower_bound <= plan.makespan
    assert plan.to_dict()["type"] == "ProductPlan"
    assert "lower bound" in repr(plan)


class TestPlanArguments:
    @pytest.mark.parametrize("k", [10**30, -1, 2.5, 2**63])
    def test_sizes(self, k):
        with hs.Pool(2) as pool, pytest.raises(ValueError, match="k must be"):
            pool.plan(3, 4, k)

    def test_integral_floats_are_integers(self):
        with hs.Pool(2) as pool:
            assert pool.plan(3, 4, 285.0).shape == pool.plan(3, 4, 285).shape
            assert pool.plan(-0.0, 4, -0.0).makespan == 0.0

    @pytest.mark.parametrize("value", [None, ["layers"], np.ones(2), 3])
    def test_words(self, value):
        with hs.Pool(2) as pool:
            for name in ("method", "communication"):
                with pytest.raises(ValueError, match=f"{name} must be one of"):
                    pool.plan(3, 4, 5, **{"method": "rows", name: value})
            with pytest.raises(TypeError, match="dtype must be one of"):
                pool.plan(3, 4, 5, dtype="nothing" if value is None else value)

    def test_transfer_label(self):
        with hs.Pool(2) as pool:
            plan = pool.plan(2, 2, 2, method="columns")
        assert plan.transfer_label(0, 1) == "0 MB" or plan.transfer_label(0, 1).endswith(" MB")
        for wrong in (100000, -1, True, np.ones(2), 2**64):
            with pytest.raises((ValueError, TypeError), match="box must be"):
                plan.transfer_label(wrong, 0)
            with pytest.raises((ValueError, TypeError), match="worker must be"):
                plan.transfer_label(0, wrong)

    def test_emulate_is_no_array(self):
        with pytest.raises(TypeError, match="emulate must be True or False"):
            hs.Pool(emulate=np.ones(2))

    def test_errors_name_the_output_as_the_method_does(self):
        with hs.Pool(2) as pool:
            plan = pool.plan(2, 2, 2)
            with pytest.raises(TypeError, match="out must be an array"):
                pool.run(plan, np.ones((2, 2)), np.ones((2, 2)), [[1.0, 1.0], [1.0, 1.0]])
            for name in ("alpha", "beta"):
                with pytest.raises(TypeError, match=f"{name} must be a number"):
                    pool.matmul(np.ones((2, 2)), np.ones((2, 2)), **{name: np.zeros(0)})
            with pytest.raises(TypeError, match="out must be an array"):
                pool.matmul(np.ones((2, 2)), np.ones((2, 2)), [[1.0, 1.0], [1.0, 1.0]])

    def test_a_plan_of_nothing_is_drawn(self):
        plt = pytest.importorskip("matplotlib.pyplot")
        with hs.Pool(2) as pool:
            for shape in ((0, 5, 2), (8, 0, 1), (0, 0, 0)):
                pool.plan(*shape, method="columns").plot()
        plt.close("all")


def test_a_pool_that_is_not_the_measured_one_has_its_own_size():
    """More workers than places to measure: what `measure` found is of fewer."""
    found = hs.measure(kernels=("gemm",), dtypes=("float64",), sizes={"gemm": [16]}, seconds=0.01)
    with hs.Pool(len(found) + 1) as pool:
        assert len(pool.platform) == len(pool) == len(found) + 1
        assert (
            pool.matmul(np.ones((3, 1)), np.ones((1, 5)), method="rows").tolist()
            == np.ones((3, 5)).tolist()
        )
    with pytest.raises(TypeError, match="trace must be True or False"), hs.Pool(1) as pool:
        pool.matmul(np.ones((3, 1)), np.ones((1, 5)), trace=np.ones(2))


@pytest.mark.parametrize(
    "run",
    [
        lambda pool, trace: pool.sweep(
            hs.wavefront(2, 2, [1]), np.ones((2, 2)), lambda *tile: None, trace=trace
        ),
        lambda pool, trace: pool.stencil(np.ones((3, 3)), 1, trace=trace),
        lambda pool, trace: pool.lu_factor(np.eye(2), trace=trace),
        lambda pool, trace: pool.run(pool.plan(2, 2, 2), np.eye(2), np.eye(2), trace=trace),
    ],
)
def test_a_trace_is_wanted_or_not(run):
    with pytest.raises(TypeError, match="trace must be True or False"), hs.Pool(1) as pool:
        run(pool, "yes")
