"""Pools follow what their workers have of their cores."""

import contextlib
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import hetsched as hs
from hetsched.machine.topology import topology

HOG = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


@contextlib.contextmanager
def hogs(cpu, count=3):
    """Programs that leave a worker on that cpu one part of count + 1."""
    processes = [subprocess.Popen([sys.executable, "-c", HOG, str(cpu)]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_all_at_first_and_read_only():
    with hs.Pool(3) as pool:
        found = pool.availability
        assert found.tolist() == [1.0, 1.0, 1.0]
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 0.5
    with pytest.raises(ValueError, match="closed"):
        _ = pool.availability


@pytest.mark.parametrize("method", ["columns", "rows"])
def test_static_plans_teach_nothing(method):
    a = np.ones((600, 600))
    with hs.Pool(hs.Platform.star([1.0, 1000.0])) as pool:
        pool.matmul(a, a, method=method)
        assert pool.availability.tolist() == [1.0, 1.0]


def test_emulated_workers_teach_nothing():
    a = np.ones((200, 200))
    with hs.Pool(hs.Platform.star([3.0, 5.0]), emulate=True) as pool:
        pool.matmul(a, a)
        assert pool.availability.tolist() == [1.0, 1.0]


def test_wrong_speeds_are_seen():
    """Of two equal workers one is said to be a hundred times as fast."""
    a = np.random.default_rng(0).standard_normal((1000, 1000))
    with hs.Pool(hs.Platform.star([1.0, 100.0])) as pool:
        for _ in range(3):
            np.testing.assert_allclose(pool.matmul(a, a), a @ a, atol=1e-9)
        assert pool.availability[1] == 1.0  # which does more than it was said to
        assert pool.availability[0] < 0.9


HOLDS = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="programs cannot be held on a cpu"
)


@pytest.mark.slow
@HOLDS
@pytest.mark.parametrize("what", ["matmul", "lu_factor"])
def test_a_slow_callback_runs_where_its_program_wants_it(what):
    """While it sleeps its thread has no core, like one whose core was taken away."""
    a = np.random.default_rng(0).standard_normal((2500, 2500))
    cpus = []

    def progress(_):
        time.sleep(0.06)
        cpus.append(os.sched_getaffinity(0))

    with hs.Pool(2) as pool:
        before = os.sched_getaffinity(0)
        for _ in range(4):
            getattr(pool, what)(*[a] * (2 if what == "matmul" else 1), progress=progress)
            assert os.sched_getaffinity(0) == before
        assert cpus
        assert all(found == before for found in cpus)


SHARE = """if True:
    import os, sys, time
    os.sched_setaffinity(0, {int(sys.argv[1])})
    wall, own = time.perf_counter(), time.process_time()
    while time.perf_counter() < wall + 0.3: pass
    print((time.process_time() - own) / (time.perf_counter() - wall))"""


def share_of(cpu):
    """What a program gets of that cpu now."""
    done = subprocess.run(
        [sys.executable, "-c", SHARE, str(cpu)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return float(done.stdout)


@pytest.mark.slow
@HOLDS
@pytest.mark.parametrize("what", ["matmul", "lu_factor"])
def test_follows_a_hog_from_core_to_core(what):
    places = topology().places[:2]
    if len(places) < 2:
        pytest.skip("one core")
    a = np.random.default_rng(0).standard_normal((1000, 1000))
    expected = a @ a
    with hs.Pool(2) as pool:
        for slow in (1, 0, 1):
            with hogs(places[slow]):
                until = time.monotonic() + 30
                while time.monotonic() < until:
                    if what == "matmul":
                        np.testing.assert_allclose(pool.matmul(a, a), expected, atol=1e-9)
                    else:
                        pool.lu_factor(a)
                    lately = pool.availability
                    assert lately.max() == 1.0
                    if lately[slow] < 0.7:
                        break
                if lately[slow] >= 0.7 and share_of(places[slow]) > 0.6 * share_of(
                    places[1 - slow]
                ):
                    pytest.skip("other programs keep the other core as busy")
                assert lately[slow] < 0.7
