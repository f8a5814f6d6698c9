"""Ctrl-C ends planners that take long, in the midst of it, and nothing of them goes on."""

from __future__ import annotations

import pytest
from inputs import many
from interrupted import interrupted

LONG = {
    "assign": "i = np.arange(2500.0); problem = np.outer(i, i)|hs.assign(problem)",
    "wavefront": "t = rng.uniform(1, 2, 50)|hs.wavefront(20000, 20000, t)",
    "max_tasks": "t, s = rng.uniform(1, 2, (2, 3000))|hs.max_tasks(1e4, t, send=s, receive=s)",
    "guillotine": (
        "t = rng.uniform(1, 2, 16)|hs.partition(t, 'guillotine', link_costs=10.0 ** rng.uniform(0,"
        " 4, 16))"
    ),
    "largest": "t = rng.uniform(1, 2, 256)|hs.partition(t, 'interval', objective='max')",
    "some intervals": "t = rng.lognormal(0, 2.5, 1000)|[hs.partition(t) for _ in range(10)]",
    "ring": (
        "t, c = rng.uniform(1, 2, 2000), rng.uniform(1, 2, (2000, 2000))|hs.slice_ring(t, c, 1e5,"
        " 1.0, 'multistart')"
    ),
    "ring without end": (
        "problem = [1.0, 2.0], [[0.0, 1.0], [2.0, 0.0]], 3.0, 1.0|hs.slice_ring(*problem, 'search',"
        " budget=1e308)"
    ),
    "one wavefront": "t = rng.uniform(1, 2, 50)|hs.wavefront(100_000, 100_000, t, method='cyclic')",
    "starts": (
        "plan = hs.wavefront(10_000, 5000, rng.uniform(1, 2, 50), method='cyclic')|plan.starts"
    ),
    "lu": "t = rng.uniform(1, 2, 8)|hs.plan_lu(46_340, 46_340, t, block=1)",
    "grid": "t = rng.uniform(1, 2, 8)|hs.lu_grid(20_000, t)",
    "distribute": "t = rng.uniform(1, 2, 3 * 10**6)|[hs.distribute(10**9, t) for _ in range(100)]",
    "slots": "t = rng.uniform(1, 2, 5000)|hs.max_tasks(1e4, t, send=1.0)",
    "cuboids": "t = rng.uniform(1, 2, 64)|hs.cuboids(t, orders=10**9)",
    "greedy ring": (
        "t, c = rng.uniform(1, 2, 6000), rng.uniform(1, 2, (6000, 6000))|hs.slice_ring(t, c, 1e5,"
        " 1.0, 'greedy')"
    ),
    "axial": (
        "t, s, r = rng.uniform(1, 2, (3, 12))|[hs.max_tasks(30.0, t, send=s, receive=r) for _ in"
        " range(1000)]"
    ),
    "recursive": "t = rng.uniform(1, 2, 2 * 10**6)|hs.partition(t, 'recursive')",
    "tiling": "t = rng.uniform(1, 2, 10**5)|hs.partition(t, 'recursive', shape=(10**6, 10**6))",
    "pattern": "t = rng.uniform(1, 2, 10**5)|hs.lu_pattern(10**7, t)",
    "plan": (
        "pool = hs.Pool(hs.Platform.star(t := rng.uniform(1, 2, 60), t),"
        " emulate=True)|[pool.plan(100, 100, 10000, communication='sequential', method='columns')"
        " for _ in range(100)]"
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("planner", many(list(LONG), list(LONG)[::5]))
def test_a_planner(planner):
    setup, call = LONG[planner].split("|")
    program = f"""
        import _thread, time
        import numpy as np
        import hetsched as hs
        rng = np.random.default_rng(0)
        # Import everything now: Python 3.11 ends the program on an interrupt of an import in exec.
        for name in hs.__all__:
            getattr(hs, name)
        {setup}
        print("ready", flush=True)
        try:
            {call}
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), flush=True)
        for _ in range(100):
            if _thread._count():
                time.sleep(0.01)
        print(_thread._count())
        """
    assert interrupted(program) == ["0"]
